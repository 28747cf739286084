"""Sets under k^m-anonymity: the cut, the loss and the verdict of the local engine, bit for bit.

Where all rows fit one task, the local engine's algorithm, any of them, runs there (`whole_sets`). Beyond that `local` and `lra` run in
blocks of rows (`parted`), each in a task; `exact` and `aa` run on the driver, on ground that the executors have laid: they ask for
supports of nodes and for rare sets, and only the hierarchy, the cut, the names of items with their counts and the rare sets are ever where
they run.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import pyarrow as pa

from shoal.algorithms import entry
from shoal.algorithms.km.apriori import aa_on
from shoal.algorithms.km.exact import exact_on
from shoal.algorithms.recoding import Options, Recoding
from shoal.errors import InputError
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.tree import Hierarchy
from shoal.limits import shown_size
from shoal.loss.common_pairs import share_kept
from shoal.loss.worth import worth_notes
from shoal.models import basket_notes, km
from shoal.numbers import Codes
from shoal.price.ncp import leaf_occurrences, ncp
from shoal.spark.data.executors import map_groups, map_rows, store
from shoal.spark.data.frame_roles import read_frame
from shoal.spark.data.one_task import SETTING, TO_CHANGE, TO_COUNT, bytes_needed, fits, task_memory
from shoal.spark.data.packing import PACKED, pack, pack_by_key, pieces, together
from shoal.spark.data.sets import SparkSets
from shoal.spark.data.shuffling import places_of
from shoal.spark.data.worth_counts import common_pairs_of
from shoal.spark.search.proposals import Asked, PackedRows, SparkProposal, certified_sets, tokens_of
from shoal.spark.search.sets.parted import IN_PARTS, propose_parts
from shoal.spark.search.sets.paths import SparkCountTree
from shoal.spark.search.sets.projection import recode_items
from shoal.spark.search.sets.spark_problem import SparkProblem
from shoal.spark.search.sets.whole_sets import propose_whole

TOGETHER = 1 << 21
"""Occurrences whose rows are put into their order together, about."""
IN_BLOCKS = (*IN_PARTS, "exact", "aa")
"""Algorithms for more rows than one task can hold, the default first."""
_WHY_NOT = {
    "oa": "it looks at every cut, each of which would be a pass over the cluster; exact finds the same optimum",
    "da": "it walks all itemsets in one thread, changing the cut under way; aa does the same size by size",
    "hybrid": "it deletes single occurrences, which it chooses by looking at whole rows",
}


def check(guarantee: KmAnonymity, asked: Asked) -> None:
    """All algorithms run on Spark, as long as the rows fit a task."""


read = read_frame


def propose(rows: SparkSets, guarantee: KmAnonymity, asked: Asked, options: Options) -> SparkProposal:
    asked = {**asked, "algorithm": algorithm_for(rows, asked["algorithm"])}
    options = km.with_defaults(asked["algorithm"], asked, options)
    spec = km.HIERARCHY if asked["hierarchy"] is None else asked["hierarchy"]
    alike = cast(Any, rows)  # these ask for names and counts only
    tree = km.resolve_hierarchy(spec, alike, unknown=asked["unknown"])
    if fits(rows, need_of(asked["algorithm"])):
        return propose_whole(rows, guarantee, tree, asked, options)
    if asked["algorithm"] in IN_PARTS:
        return propose_parts(rows, guarantee, tree, asked, options)
    recoding = recoding_of(rows, guarantee, tree, asked["algorithm"], options)
    options.tell("recoding", 0.0)
    worth = km.cut_worth(recoding, alike, _pairs_kept(rows, recoding))
    loss = {**worth.lost, **ncp(recoding.cut, leaf_occurrences(tree, alike))}
    packed = pack_published(rows, recoding)
    return SparkProposal(
        published=packed.by_names(),
        packed=packed,
        raw=rows,
        guarantee=guarantee,
        algorithm=recoding.algorithm,
        loss=loss,
        kept=worth.kept,
        remains=worth.remains,
        parameters={
            "price": options.price,
            "suppress": options.suppress,
            "time_limit": options.time_limit,
            "unknown": asked["unknown"],
        },
        details={
            **km.cut_details(recoding, alike, loss),
            "deleted_shares": {},
            "hierarchy": {"source": tree.source, "leaves": tree.n_leaves, "height": tree.height},
        },
        recoding=recoding,
        optimal=recoding.optimal,
        bound=recoding.bound,
        certified=certified_sets(tree, guarantee.k, loss["deleted"] if options.suppress else None, asked["unknown"]),
        warnings=tuple(km.warnings_of(recoding, options.suppress)),
        notes=basket_notes(alike, empty_stay=True) + recoding.notes + worth_notes(loss, worth.kept),
    )


def algorithm_for(rows: SparkSets, name: str | None) -> str:
    """The algorithm that is asked for, or the default one for so many rows; raises if it needs them in one task, and they do not fit."""
    if fits(rows, need_of(name)):
        return entry("km", name)[0]
    if name is None or name in IN_BLOCKS:
        return name or IN_BLOCKS[0]
    why = _WHY_NOT.get(name, "it looks at whole rows")
    raise InputError(
        f"algorithm {name} does not run on Spark here: {why}, so that one task has to hold them all; they take about "
        f"{shown_size(bytes_needed(rows, need_of(name)))}, and a task may take {shown_size(task_memory(rows.session))} ({SETTING}); "
        "use local, exact or aa, set it higher, or use the local engine"
    )


def need_of(name: str | None) -> int:
    """Bytes that an algorithm takes for an occurrence."""
    return TO_COUNT if name == "exact" else TO_CHANGE


def _pairs_kept(rows: SparkSets, recoding: Recoding) -> float | None:
    """As `pairs_kept`: under a cut, an item that is published as it is stands in all of its rows."""
    pairs = common_pairs_of(rows)
    itself = recoding.node == recoding.cut.hierarchy.leaves_of(rows.vocabulary)
    return share_kept(pairs, np.where(itself[pairs.one] & itself[pairs.other], pairs.rows, 0))


def recoding_of(rows: SparkSets, guarantee: KmAnonymity, hierarchy: Hierarchy, name: str, options: Options) -> Recoding:
    """The recoding that algorithm `name` proposes: the local one."""
    started = time.monotonic()
    until = None if options.time_limit is None else started + options.time_limit
    ground = SparkProblem(rows, guarantee, hierarchy, options.price, until)
    return aa_on(SparkCountTree(ground), options) if name == "aa" else exact_on(ground, options, started)


def pack_published(sets: SparkSets, recoding: Recoding) -> PackedRows:
    """The sets as they would be published, in an order that says nothing."""
    token_of, names = tokens_of(recoding.cut.hierarchy, recoding.node)
    how = {"token": token_of[recoding.node], "n_tokens": len(names), "secret": os.urandom(32)}
    groups = max(2 * sets.parallel, 1 + sets.occurrences // TOGETHER)
    placed = map_rows(sets.rows, _recode, f"key int, {PACKED}", groups=groups, **how)
    rows = store(map_groups(placed, "key", _by_place, PACKED))
    return PackedRows(rows, names, sets.column, rows)


def _recode(
    batches: Iterator[pa.RecordBatch], token: Codes, n_tokens: int, secret: bytes, groups: int
) -> Iterator[pa.RecordBatch]:
    """On a worker: rows of published tokens, numbered by the place that the secret gives them."""
    for rows, baskets in pieces(batches):
        offsets, tokens = recode_items(baskets, token, n_tokens)
        place = places_of(rows, secret, 8).view("<u8").reshape(-1)
        yield from pack_by_key(place % groups, place.view("<i8"), offsets[:-1], np.diff(offsets), tokens)


def _by_place(table: pa.Table) -> pa.Table:
    """On a worker: the rows of a group in the order of their places."""
    return pa.table(pack(*together(table)))
