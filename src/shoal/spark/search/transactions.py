"""k-anonymous transactions on Spark: rows in Gray order (`near_rows`), then grouped block by block.

Every block has at least k rows, so no class is ever too small for want of a neighbour.

`gsc` is then the local algorithm, row for row: blocks are whole numbers of classes. `split` runs inside blocks of about `ROWS`
rows, with items ranked by frequency; rows of different blocks never share a class, which is what it loses against the local one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa

from shoal.algorithms.recoding import Options
from shoal.algorithms.transactions.classes import Classes
from shoal.algorithms.transactions.split import split
from shoal.errors import InputError, Unreachable, only_so_many
from shoal.guarantees.k import KAnonymity
from shoal.kernels.classes.centres import class_centres
from shoal.models import basket_notes
from shoal.models.transactions import CENTRES, certified_facts
from shoal.numbers import Bools, Codes, Ints
from shoal.price.edits import edits
from shoal.records.baskets import Baskets
from shoal.spark.data.executors import fetch, map_groups, map_rows, store
from shoal.spark.data.frame_records import SparkRecords
from shoal.spark.data.frame_roles import read_frame
from shoal.spark.data.packing import lists, names_of, offsets_of, pieces, row_of, take_marked
from shoal.spark.data.sets import SparkSets
from shoal.spark.data.shuffling import shuffle_rows
from shoal.spark.search.proposals import Asked, SparkProposal
from shoal.spark.search.sets.near_rows import common_first, cut_into_blocks, gray_order, rows_of_block

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS = 50_000
"""Rows of a block, about."""
_ON_SPARK = ("split", "gsc")
_WHY_NOT = {
    "pta": "its segments are walked as tours of the whole of each, which blocks would cut",
    "gray-tsp": "its genetic search keeps loops through all rows in one place",
}


def check(guarantee: KAnonymity, asked: Asked) -> None:
    name = asked["algorithm"]
    if name not in _ON_SPARK:
        raise InputError(
            f"algorithm {name} does not run on Spark: {_WHY_NOT[name]}; use split or gsc, or the local engine"
        )
    if guarantee.l > 1:
        raise InputError(
            f"{guarantee} cannot be reached on Spark: classes with few sensitive items are merged with their neighbours, which may stand "
            "in another block; leave out l, or use the local engine"
        )
    if asked["time_limit"] is not None:
        raise InputError(
            "a time limit has no use for transactions on Spark, where every block takes its own time; leave it out"
        )


read = read_frame


@dataclass(frozen=True, eq=False)
class Grouped:
    """Published rows on the executors, and what the driver knows of their classes."""

    rows: DataFrame
    """`row` and `items`: the ids of the centre of its class, and its own sensitive ones."""
    added: int
    removed: int
    classes: dict[str, Any]
    """`count`, `smallest`, `largest`, `average`."""
    blocks: int


def propose(rows: SparkSets | SparkRecords, guarantee: KAnonymity, asked: Asked, options: Options) -> SparkProposal:
    sets, hidden = rows.sets, rows.sets.marks(guarantee.sensitive)
    groups = group_rows(sets, guarantee, asked["algorithm"], options)
    options.tell("recoding", 0.0)
    total = max(1, sets.occurrences - int(sets.counts[hidden].sum()))
    loss = {
        # What is not removed stands as it was: the loss of information is that of the removed.
        "info": groups.removed / total,
        "il": (groups.added + groups.removed) / total,
        "added": groups.added / total,
        "removed": groups.removed / total,
    }

    def certificate_facts(published: SparkSets | SparkRecords) -> dict[str, Any]:
        seen = published.sets
        occurrences = int(seen.counts[~seen.marks(guarantee.sensitive)].sum())
        lost = {name: share for name, share in loss.items() if name != "info"}
        return certified_facts(lost, occurrences, len(seen.vocabulary), guarantee.k)

    return SparkProposal(
        published=_publish(groups.rows, sets, hidden, None if rows.template is None else rows.template.sensitive_name),
        raw=rows,
        guarantee=guarantee,
        algorithm=asked["algorithm"],
        loss=loss,
        kept={"exact": 1 - loss["info"]},
        parameters={"seed": options.seed} if asked["algorithm"] == "split" else {},
        details={"classes": groups.classes, "facts": {"blocks": groups.blocks}},
        certified=certificate_facts,
        warnings=(CENTRES,),
        notes=basket_notes(cast(Any, sets), empty_stay=False),
        stored=groups.rows,
    )


def group_rows(sets: SparkSets, guarantee: KAnonymity, name: str, options: Options) -> Grouped:
    """Classes of at least k rows, each published as its centre. The executors keep the rows until they are forgotten."""
    from pyspark.sql import functions as sf

    n, k = len(sets), int(guarantee.k)
    if k > n:
        raise Unreachable(
            f"{guarantee} cannot be reached: there {only_so_many(n, 'transaction')}, fewer than k = {k:,}; choose a smaller k"
        )
    hidden = sets.marks(guarantee.sensitive)
    ordered = store(gray_order(sets, _ranks(sets, name), hidden))
    try:
        bounds = block_bounds(n, k, name)
        blocked = cut_into_blocks(ordered, bounds)
        schema = "row bigint, items array<int>, added int, removed int, leads int"
        how = {"guarantee": guarantee, "hidden": hidden, "name": name, "seed": options.seed}
        rows = store(map_groups(blocked, "block", _group_block, schema, **how))
        leads = sf.when(sf.col("leads") > 0, sf.col("leads"))
        facts = fetch(
            rows.agg(
                sf.count("*").alias("rows"),
                sf.sum("added").alias("added"),
                sf.sum("removed").alias("removed"),
                sf.count(leads).alias("count"),
                sf.min(leads).alias("smallest"),
                sf.max(leads).alias("largest"),
            )
        ).to_pylist()[0]
    finally:
        ordered.unpersist()
    classes = {name: facts[name] for name in ("count", "smallest", "largest")} | {"average": n / max(1, facts["count"])}
    return Grouped(rows, facts["added"], facts["removed"], classes, len(bounds) - 1)


def block_bounds(n: int, k: int, name: str) -> Ints:
    """Places at which blocks begin, and n: every block has at least k rows, and for `gsc` all but the last a multiple of k."""
    if name == "gsc":
        per_block = max(1, ROWS // k) * k
        return np.append(np.arange(max(1, n // per_block), dtype=np.int64) * per_block, n)
    blocks = max(1, n // max(ROWS, 2 * k))
    return np.arange(blocks + 1, dtype=np.int64) * n // blocks


def _ranks(sets: SparkSets, name: str) -> Codes:
    """The place of each item among the bits: by id as the paper has it, or by frequency."""
    return np.arange(len(sets.vocabulary), dtype=np.int32) if name == "gsc" else common_first(sets)


def _group_block(table: pa.Table, guarantee: KAnonymity, hidden: Bools, name: str, seed: int) -> pa.Table:
    """On a worker: the rows of one block as their classes are published."""
    rows, offsets, ids = rows_of_block(table)
    row = row_of(offsets)
    known = ~hidden[ids]
    used, code = np.unique(ids[known], return_inverse=True)
    quasi = Baskets(offsets_of(known)[offsets], code.reshape(-1).astype(np.int32), tuple(map(str, range(len(used)))))
    classes = _CLASSES[name](quasi, guarantee, seed)
    centres = classes.apply()
    changes = edits(quasi, centres)
    # Centre and sensitive items of a row together, ascending.
    width = len(hidden) + 1
    key = np.concatenate(
        (row_of(centres.offsets) * width + used[centres.items].astype(np.int64), row[~known] * width + ids[~known])
    )
    key.sort()
    ends = np.searchsorted(key // width, np.arange(len(rows) + 1))
    leads = np.zeros(len(rows), np.int32)
    leads[np.unique(classes.of_row, return_index=True)[1]] = classes.sizes
    return pa.table(
        {
            "row": rows,
            "items": lists(ends, (key % width).astype(np.int32)),
            "added": changes.added_in_row.astype(np.int32),
            "removed": changes.removed_in_row.astype(np.int32),
            "leads": leads,
        }
    )


def _consecutive(rows: Baskets, guarantee: KAnonymity, seed: int) -> Classes:
    """Every k rows a class, as `gsc` has it; they are in Gray order already."""
    n, k = len(rows), int(guarantee.k)
    bounds = np.append(np.arange(0, n // k * k, k, dtype=np.int64), n)
    centres = class_centres(rows.offsets, rows.items, len(rows.vocabulary), np.arange(n, dtype=np.int64), bounds, 1)
    of_row = np.repeat(np.arange(n // k, dtype=np.int32), np.diff(bounds))
    return Classes(of_row, Baskets(centres.offsets, centres.items, rows.vocabulary), algorithm="gsc")


def _split(rows: Baskets, guarantee: KAnonymity, seed: int) -> Classes:
    return split(rows, guarantee, None, Options(seed=seed, threads=1))


_CLASSES: dict[str, Callable[[Baskets, KAnonymity, int], Classes]] = {"gsc": _consecutive, "split": _split}


def _publish(rows: DataFrame, sets: SparkSets, hidden: Bools, apart: str | None) -> DataFrame:
    """Rows of ids by their names, in an order that says nothing; sensitive ones in the column `apart`, if they came in one."""
    columns = {"items": sets.column} | ({} if apart is None else {"hidden": apart})
    how = {"names": sets.vocabulary, "hidden": hidden if apart is not None else np.zeros_like(hidden)}
    texts = map_rows(rows, _name_items, "row bigint, items array<string>, hidden array<string>", **how)
    return shuffle_rows(texts, dict.fromkeys(columns, "array<string>")).withColumnsRenamed(columns)


def _name_items(batches: Iterator[pa.RecordBatch], names: tuple[str, ...], hidden: Bools) -> Iterator[pa.RecordBatch]:
    """On a worker: ids as names, those that stand apart in a list of their own."""
    for rows, baskets in pieces(batches):
        apart = hidden[baskets.items]
        yield pa.record_batch(
            {
                "row": rows,
                "items": names_of(take_marked(baskets, ~apart), names),
                "hidden": names_of(take_marked(baskets, apart), names),
            }
        )
