"""k^m-anonymity under local recoding, audited on Spark: tokens as they stand first, then rows spelled out in leaves.

How a token is spelled out depends on the tree and on the published names alone, which the driver has; every row is then spelled out by
itself, on the workers, and counted as plain sets are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.engines.spark.itemsets import affordable_size, km_audited
from shoal.engines.spark.packing import PACKED, packed, pieces
from shoal.engines.spark.ragged import Ints, Longs, row_of
from shoal.engines.spark.sets import SparkSets
from shoal.engines.spark.workers import on_workers, summed
from shoal.errors import InputError
from shoal.guarantees.audit import Audit
from shoal.guarantees.km import KmAnonymity
from shoal.guarantees.km_local import SPELLED_OUT, LocalKmAnonymity, _Published, nodes_of
from shoal.records.baskets import Baskets


def local_km_audited(sets: SparkSets, guarantee: LocalKmAnonymity, witnesses: int, yes_or_no: bool) -> Audit:
    """As `LocalKmAnonymity.audit`; raises where rows would have to be walked in one place."""
    tree = guarantee.hierarchy
    node = None if tree is None else nodes_of(sets.vocabulary, tree)  # a token from elsewhere is an error in any case
    plain = replace(km_audited(sets, guarantee, witnesses, True), guarantee=guarantee.to_dict())
    if plain.holds:
        return plain
    if tree is None or node is None:
        note = (
            "some tokens stand together in too few rows; whether known items then match too few rows depends on the hierarchy, "
            "which was not given"
        )
        return replace(plain, notes=(*plain.notes, note))
    names = _Published(Baskets(np.zeros(1, np.int64), np.zeros(0, np.int32), sets.vocabulary), tree)
    place = np.empty(tree.n_nodes, np.int32)
    place[names.nodes] = np.arange(len(names.nodes), dtype=np.int32)
    how = {"place": place[node], "end": names.end, "before": names.atoms_before}
    atoms = tuple(names.leaf_name(t) for t in np.flatnonzero(names.has_leaf).tolist())
    counts = summed(sets.rows.mapInArrow(on_workers(_atom_counts, **how), "key bigint, count bigint"), len(atoms))
    lengths = summed(sets.rows.mapInArrow(on_workers(_atom_lengths, **how), "key bigint, count bigint"), len(atoms) + 1)
    different = np.flatnonzero(lengths)
    m = min(int(guarantee.m), int(different.max(initial=0)))
    if counts.sum() > SPELLED_OUT or affordable_size(different, lengths[different], m) < m:
        raise InputError(
            f"{guarantee} cannot be decided on Spark here: tokens stand together in too few rows, and spelled out in the leaves of the "
            "hierarchy the rows have too many sets to count; use the local engine, which looks for a breach without spelling them out"
        )
    rows = sets.rows.mapInArrow(on_workers(_spelled_out, **how), PACKED)
    spelled = SparkSets(rows, atoms, counts, different, lengths[different], 0, sets.column)
    exact = km_audited(spelled, KmAnonymity(guarantee.k, guarantee.m), witnesses, yes_or_no)
    return replace(exact, guarantee=guarantee.to_dict())


def spelled(baskets: Baskets, place: Ints, end: Longs, before: Longs) -> tuple[Longs, Ints]:
    """Rows of tokens as (offsets, leaves), one leaf for all that are matched alike; as `_Published` does it.

    `place` is the depth-first number of each token, `end` where what lies below it ends, `before` the leaves before it. What lies below
    another token of its row is left out.
    """
    n = len(end)
    row = row_of(baskets.offsets)
    key = np.unique(row * (n + 1) + place[baskets.items])
    row, token = key // (n + 1), key % (n + 1)
    reach = np.maximum.accumulate(row * (n + 1) + end[token]) if len(key) else key
    outer = np.ones(len(key), np.bool_)
    outer[1:] = key[1:] >= reach[:-1]
    row, token = row[outer], token[outer]
    low, width = before[token], before[end[token]] - before[token]
    offsets = np.zeros(len(baskets) + 1, np.int64)
    np.cumsum(np.bincount(row, width, minlength=len(baskets)).astype(np.int64), out=offsets[1:])
    leaves = np.repeat(low - (np.cumsum(width) - width), width) + np.arange(int(width.sum()))
    return offsets, leaves.astype(np.int32)


def _spelled_out(batches: Iterator[pa.RecordBatch], place: Ints, end: Longs, before: Longs) -> Iterator[pa.RecordBatch]:
    for rows, baskets in pieces(batches):
        yield pa.record_batch(packed(rows, *spelled(baskets, place, end, before)))


def _atom_counts(batches: Iterator[pa.RecordBatch], place: Ints, end: Longs, before: Longs) -> Iterator[pa.RecordBatch]:
    """On a worker: its rows that would hold each leaf."""
    for _, baskets in pieces(batches):
        yield _counts(spelled(baskets, place, end, before)[1])


def _atom_lengths(
    batches: Iterator[pa.RecordBatch], place: Ints, end: Longs, before: Longs
) -> Iterator[pa.RecordBatch]:
    """On a worker: how many of its rows would have each length."""
    for _, baskets in pieces(batches):
        yield _counts(np.diff(spelled(baskets, place, end, before)[0]))


def _counts(values: npt.NDArray[np.integer]) -> pa.RecordBatch:
    key, count = np.unique(values, return_counts=True)
    return pa.record_batch({"key": key.astype(np.int64), "count": count.astype(np.int64)})
