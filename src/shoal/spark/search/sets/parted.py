"""Local recoding of more rows than one task can hold: each block of rows that share their common items keeps the promise by itself.

A set of tokens then stands in no row of a block or in at least k, and so in no row at all or in at least k: what is published keeps the
promise as a whole, which is for the audit to see. A set is rarer in a block than among all rows, and that is what is lost against one
task; rows that share their common items share most of their sets.

A block is searched by the local engine's code in a task of its own. It returns a report (items and nodes of the tree with their counts, and
in how many rows the commonest pairs still stand) and rows of nodes, by the place that a keyed hash gives them among all rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pyarrow as pa

from shoal.algorithms import algorithm
from shoal.algorithms.recoding import Options
from shoal.errors import Unreachable
from shoal.guarantees.km import KmAnonymity
from shoal.guarantees.km_local import LocalKmAnonymity
from shoal.hierarchy.tree import Hierarchy
from shoal.loss.common_pairs import CommonPairs, own_tokens, published_rows, share_kept
from shoal.loss.fates import Coverage, row_fates
from shoal.loss.worth import Names, Worth, items_worth, worth_notes
from shoal.models import basket_notes, km
from shoal.numbers import Codes
from shoal.price.information import Fates
from shoal.price.ncp import local_ncp
from shoal.records.baskets import Baskets
from shoal.spark.data.encoding import once_in_a_row
from shoal.spark.data.executors import map_groups, store
from shoal.spark.data.one_task import BASE, TO_CHANGE, bytes_of, cores_of_task, document, task_memory
from shoal.spark.data.packing import PACKED, pack, pack_by_key, together
from shoal.spark.data.sets import SparkSets
from shoal.spark.data.shuffling import places_of
from shoal.spark.data.worth_counts import common_pairs_of
from shoal.spark.search.proposals import Asked, PackedRows, SparkProposal, certified_sets, reports_of, tokens_of
from shoal.spark.search.sets.near_rows import common_first, cut_into_blocks, gray_order, rows_of_block

IN_PARTS = ("local", "lra")
"""Algorithms that recode each row by itself, the default first."""
TO_MOVE = 20
"""Bytes for an occurrence of a block beside those of the search: as it comes, and as it goes."""
LEAST = 1 << 20
"""Occurrences of a block, about, however little memory a task may take."""
TOGETHER = 1 << 21
"""Occurrences whose rows are put into their order together, about."""


@dataclass(frozen=True, eq=False)
class BlockTask:
    """What a worker does with a block."""

    name: str
    """Of the algorithm."""
    guarantee: KmAnonymity
    tree: Hierarchy
    options: Options
    vocabulary: tuple[str, ...]
    pairs: CommonPairs
    secret: bytes
    groups: int
    """In which rows are put into their order."""


def number_of_blocks(rows: SparkSets) -> int:
    """Blocks such that a task can hold the larger ones."""
    needed = bytes_of(len(rows), rows.occurrences, TO_CHANGE + TO_MOVE)
    return max(1, min(-(-needed // max(1, task_memory(rows.session) - BASE)), rows.occurrences // LEAST))


def propose_parts(
    rows: SparkSets, guarantee: KmAnonymity, tree: Hierarchy, asked: Asked, options: Options
) -> SparkProposal:
    """What the local engine's algorithm proposes for each block of rows."""
    name, blocks = str(asked["algorithm"]), number_of_blocks(rows)
    options.tell("common pairs", 0.0)
    pairs = common_pairs_of(rows)
    waves = -(-blocks // rows.parallel)
    limit = None if options.time_limit is None else options.time_limit / waves
    task = BlockTask(
        name,
        guarantee,
        tree,
        replace(options, progress=None, threads=cores_of_task(rows.session), time_limit=limit),
        rows.vocabulary,
        pairs,
        os.urandom(32),
        max(2 * rows.parallel, 1 + rows.occurrences // TOGETHER),
    )
    options.tell(f"{name} in {blocks:,} blocks of rows", 0.1)
    packed, reports = _recoded(rows, task, blocks)
    fates, counts = (_added(reports, what, tree.n_nodes) for what in ("fates", "counts"))
    worth = _worth(rows, tree, fates, share_kept(pairs, np.array([r["pairs"] for r in reports], np.int64).sum(axis=0)))
    loss = {**worth.lost, **local_ncp(tree, *counts[1:])}
    suppress = options.suppress if name == "local" else 0.0
    return SparkProposal(
        published=packed.by_names(),
        packed=packed,
        raw=rows,
        guarantee=LocalKmAnonymity(guarantee.k, guarantee.m, tree),
        algorithm=name,
        loss=loss,
        kept=worth.kept,
        remains=worth.remains,
        parameters=km.local_parameters(name, asked, options),
        details=km.local_details(tree, rows.vocabulary, counts, {"blocks": blocks}),
        certified=certified_sets(
            tree, guarantee.k, loss["deleted"] if suppress else None, asked["unknown"], local=True
        ),
        warnings=km.local_warnings(tree, suppress),
        notes=basket_notes(cast(Any, rows), empty_stay=True)
        + tuple(dict.fromkeys(note for report in reports for note in report["notes"]))
        + worth_notes(loss, worth.kept)
        + _note_on(blocks),
    )


def _note_on(blocks: int) -> tuple[str, ...]:
    if blocks == 1:
        return ()
    return (
        f"the rows did not fit one task: they were recoded in {blocks:,} blocks, each of which keeps the promise by itself; "
        "more memory for a task makes fewer blocks, which lose less",
    )


def _recoded(rows: SparkSets, task: BlockTask, blocks: int) -> tuple[PackedRows, list[dict[str, Any]]]:
    """The rows of all blocks in one order that says nothing, and what each block has to say."""
    from pyspark.sql import functions as sf

    hidden = np.zeros(len(rows.vocabulary), np.bool_)
    ordered = store(gray_order(rows, common_first(rows), hidden))
    bounds = np.arange(blocks + 1, dtype=np.int64) * rows.occurrences // blocks
    with ExitStack() as kept:
        kept.callback(ordered.unpersist)
        blocked = cut_into_blocks(ordered, bounds, by_items=True)
        made = store(map_groups(blocked, "block", _recode_block, f"key int, {PACKED}, report string", task=task))
        kept.callback(made.unpersist)
        reports = reports_of(made)
        fault = next((report["fault"] for report in reports if "fault" in report), None)
        if fault is not None:
            raise Unreachable(
                fault if blocks == 1 else f"in one of {blocks:,} blocks of rows, {fault}; or give a task more memory"
            )
        token_of, names = tokens_of(task.tree, [node for report in reports for node in report["counts"][1]])
        placed = made.where(sf.col("report").isNull()).drop("report")
        stored = store(map_groups(placed, "key", _by_place, PACKED, token_of=token_of))
        packed = PackedRows(stored, names, rows.column, stored)
        if len(packed.as_sets()) != len(rows):  # fills the store, so that the blocks are not needed any more
            stored.unpersist()
            raise RuntimeError("blocks have lost rows")
    return packed, reports


def _added(reports: Sequence[Mapping[str, Any]], what: str, n_nodes: int) -> km.Counts:
    """(items, nodes, occurrences) of all blocks, each pair once, by item, -1 and the lowest node first."""
    item, node, times = (np.concatenate([np.array(report[what][i], np.int64) for report in reports]) for i in range(3))
    pairs, place = np.unique(item * (n_nodes + 1) + node + 1, return_inverse=True)
    total = np.bincount(place.reshape(-1), times, minlength=len(pairs)).astype(np.int64)
    return pairs // (n_nodes + 1), pairs % (n_nodes + 1) - 1, total


def _worth(rows: SparkSets, tree: Hierarchy, counts: km.Counts, pairs: float | None) -> Worth:
    """What the release is worth, as the local engine has it."""
    item, node, times = counts
    as_it_is = node == tree.leaves_of(rows.vocabulary)[item]
    return items_worth(Fates(item, node, times, as_it_is), pairs, Names(rows.vocabulary, tree.names, tree.leaf_count))


def _recode_block(table: pa.Table, task: BlockTask) -> pa.Table:
    """On a worker: the rows of one block as they would be published, in groups, and a report on them; or why they cannot be."""
    numbers, offsets, ids = rows_of_block(table)
    used, code = np.unique(ids, return_inverse=True)
    baskets = Baskets(offsets, code.reshape(-1).astype(np.int32), tuple(task.vocabulary[i] for i in used.tolist()))
    try:
        recoding = algorithm("km", task.name)(baskets, task.guarantee, task.tree, task.options)
    except Unreachable as fault:
        return _with_report([], {"fault": str(fault)})
    published = recoding.apply(baskets, task.options.threads)
    called = {name: v for v, name in enumerate(task.tree.names)}
    node = np.array([called[name] for name in published.vocabulary], np.int64)
    items, nodes, times = recoding.counts(baskets)
    fates = row_fates(baskets, published, Coverage.of_tree(task.tree, baskets, published))
    there = fates.times > 0
    item, token, often = fates.item[there], fates.token[there], fates.times[there]
    report = {
        "counts": [used[items], nodes, times],
        "fates": [used[item], np.where(token < 0, -1, np.append(node, -1)[token]), often],
        "pairs": published_rows(task.pairs, published, own_tokens(task.vocabulary, published.vocabulary)),
        "notes": recoding.notes,
    }
    place = places_of(numbers, task.secret, 8).view("<u8").reshape(-1)
    key, values = place % task.groups, node[published.items]
    packed = pack_by_key(key, place.view("<i8"), published.offsets[:-1], published.lengths, values)
    return _with_report(packed, report)


def _with_report(packed: Iterable[pa.RecordBatch], report: dict[str, Any]) -> pa.Table:
    none = dict.fromkeys(("rows", "lengths", "items"), pa.array([None], pa.binary()))
    told = {"key": pa.array([-1], pa.int32()), **none, "report": pa.array([document(report)], pa.string())}
    rows = [batch.append_column("report", pa.array([None] * len(batch), pa.string())) for batch in packed]
    return pa.Table.from_batches([pa.record_batch(told), *rows])


def _by_place(table: pa.Table, token_of: Codes) -> pa.Table:
    """On a worker: the rows of a group in the order of their places, by the numbers of their tokens."""
    rows, offsets, nodes = together(table)
    return pa.table(pack(rows, *once_in_a_row(offsets, token_of[nodes])))
