"""The audit of k^m-anonymity on Spark, equal to the local one: the same counts, the same witnesses, in the same rows.

Itemsets are counted on prefix-projected blocks, each with the kernel of the local audit. Its witnesses are the rarest itemsets, then
the smallest, then those that the walk meets first; that order does not depend on the blocks, so the best of every block
together hold the best of all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.engines.spark.packing import pieces
from shoal.engines.spark.projection import blocks_of, by_items, found_in_blocks, parallelism
from shoal.engines.spark.ragged import Longs, row_of
from shoal.engines.spark.sets import SparkSets, rows_holding
from shoal.engines.spark.workers import on_workers, summed
from shoal.guarantees.audit import Audit, Witness
from shoal.guarantees.km import COUNTED, KmAnonymity

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_SCHEMA = "checked array<bigint>, rare array<bigint>, support array<bigint>, size array<bigint>, members array<int>"


def km_audited(sets: SparkSets, guarantee: KmAnonymity, witnesses: int, yes_or_no: bool) -> Audit:
    """As `KmAnonymity.audit`."""
    m = min(int(guarantee.m), sets.longest)
    full = m if yes_or_no else affordable_size(sets.lengths, sets.of_length, m)
    checked, rare, found = _counted(sets, guarantee.k, full, witnesses, only_one=yes_or_no)
    complete = not (rare.any() if yes_or_no else full < m)
    if full < m and not rare.any():
        # No breach among the sizes that can be counted: the larger ones decide, and the first breach is enough.
        checked, rare, found = _counted(sets, guarantee.k, m, witnesses, only_one=True)
        complete = not rare.any()
    return Audit(
        guarantee=guarantee.to_dict(),
        holds=not rare.any(),
        checked=int(checked.sum()),
        violations=int(rare.sum()),
        by_size={size: (int(checked[size]), int(rare[size])) for size in range(1, len(checked))},
        complete=complete,
        witnesses=_witnesses(sets, found),
        notes=(f"{sets.empty:,} transactions are empty; they hold no items and are safe",) if sets.empty else (),
    )


def _counted(
    sets: SparkSets, k: int, m: int, keep: int, *, only_one: bool
) -> tuple[Any, Any, list[tuple[int, int, list[int]]]]:
    """Itemsets and rare ones per size, and up to `keep` of the rare ones: (support, size, item ids)."""
    if m < 1:
        return np.zeros(1, np.int64), np.zeros(1, np.int64), []
    support = sets.supports()
    by_rank = np.argsort(support, kind="stable")
    rank = np.empty(len(support), np.int32)
    rank[by_rank] = np.arange(len(support), dtype=np.int32)
    answers = found_in_blocks(
        sets,
        blocks_of(support[by_rank], len(sets), parallelism(sets)),
        by_items,
        {"token": rank, "n_tokens": len(rank)},
        _itemsets,
        {"k": int(k), "m": m, "keep": keep, "only_one": only_one},
        _SCHEMA,
    )
    checked = np.array([a["checked"].to_numpy() for a in answers]).sum(axis=0)
    rare = np.array([a["rare"].to_numpy() for a in answers]).sum(axis=0)
    kept = [
        (support, size, sorted(by_rank[members[:size]].tolist()))
        for a in answers
        for support, size, members in zip(
            a["support"].to_pylist(), a["size"].to_pylist(), a["members"].to_numpy().reshape(-1, m), strict=True
        )
    ]
    kept.sort(key=lambda witness: witness[:2])
    return checked, rare, kept[:keep]


def _itemsets(rows: Any, first: int, last: int, k: int, m: int, keep: int, only_one: bool) -> dict[str, Any]:
    """On a worker: the itemsets whose rarest item is in a block."""
    from shoal.kernels.itemsets import count_itemsets

    none, stop = np.zeros(0, np.uint8), np.zeros(1, np.bool_)
    checked, rare, support, size, members = count_itemsets(
        rows.offsets,
        rows.tails,
        rows.lengths,
        rows.support,
        rows.volume,
        first,
        last,
        k,
        m,
        keep,
        only_one,
        stop,
        none,
        none,
    )
    return {"checked": checked, "rare": rare, "support": support, "size": size, "members": members.reshape(-1)}


def _witnesses(sets: SparkSets, found: list[tuple[int, int, list[int]]]) -> tuple[Witness, ...]:
    """The rare itemsets by name, with the rows that hold them."""
    if not found:
        return ()
    rows = rows_holding(sets, [items for _, _, items in found])
    return tuple(
        Witness(tuple(sets.vocabulary[i] for i in items), support, tuple((held + 1).tolist()))
        for (support, _, items), held in zip(found, rows, strict=True)
    )


def affordable_size(lengths: Longs, of_length: Longs, m: int) -> int:
    """The largest size, at least 2, up to which all subsets of all rows are few enough to be counted (as the local audit has it)."""
    ways = of_length.astype(np.float64) * lengths
    total = ways.sum()
    for size in range(2, m + 1):
        ways *= np.maximum(lengths - size + 1, 0) / size
        total += ways.sum()
        if size > 2 and total > COUNTED:
            return size - 1
    return m


def lengths_without(rows: DataFrame, wanted: npt.NDArray[np.bool_], longest: int) -> tuple[Longs, Longs]:
    """Different numbers of `wanted` items in a row, ascending, and how many rows have each."""
    count = summed(rows.mapInArrow(on_workers(_lengths, wanted=wanted), "key bigint, count bigint"), longest + 1)
    found = np.flatnonzero(count)
    return found.astype(np.int64), count[found]


def _lengths(batches: Iterator[pa.RecordBatch], wanted: npt.NDArray[np.bool_]) -> Iterator[pa.RecordBatch]:
    """On a worker: how many of its rows hold so many of the wanted items."""
    for rows, baskets in pieces(batches):
        held = np.bincount(row_of(baskets.offsets)[wanted[baskets.items]], minlength=len(rows))
        length, count = np.unique(held, return_counts=True)
        yield pa.record_batch({"key": length.astype(np.int64), "count": count.astype(np.int64)})
