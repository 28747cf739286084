"""The audit of k^m-anonymity on Spark, equal to the local one: the same counts, the same witnesses, in the same rows.

Items are numbered rarest first, and an itemset is counted at its first number. A row is sent once to every block of numbers of which it
holds one, from that one on, and the kernel of the local audit counts there. None of this is shared with the search, which projects rows
by code of its own. Witnesses are the rarest itemsets, then the smallest, then those that the walk meets first; that order does not
depend on the blocks, so the best of every block together hold the best of all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.engines.spark.packing import PACKED, packed_by, pieces, together
from shoal.engines.spark.ragged import Ints, Longs, frozen, row_of
from shoal.engines.spark.sets import SparkSets, rows_holding
from shoal.engines.spark.workers import collected, on_workers, summed
from shoal.guarantees.audit import Audit, Witness
from shoal.guarantees.km import COUNTED, KmAnonymity
from shoal.records.baskets import Baskets

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

VOLUME = 16_000_000
"""Numbers that a block is sent, about."""
MOST_BLOCKS = 4096
_SCHEMA = "block int, checked array<bigint>, rare array<bigint>, support array<bigint>, size array<bigint>, members array<int>"


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
    first_numbers, parts = _blocks(support[by_rank], len(sets), sets.session.sparkContext.defaultParallelism)
    behind = sets.rows.mapInArrow(on_workers(_behind, rank=rank, first=first_numbers), f"key int, {PACKED}")
    counted = behind.groupBy("key").applyInArrow(
        on_workers(_itemsets, parts=parts, n_items=len(rank), k=int(k), m=m, keep=keep, only_one=only_one), _SCHEMA
    )
    answers = _in_order_of_blocks(collected(counted))
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


def _blocks(support: Longs, n_rows: int, parallel: int) -> tuple[Longs, list[tuple[int, int]]]:
    """(first number of each block, its range): of about equal work, as far as supports tell, and small enough for a worker."""
    from shoal.kernels.audit.threads import blocks_of_work

    behind = (support.sum() - np.cumsum(support)) / max(1, n_rows)
    work = support * (behind + 1.0) + 1.0
    parts = blocks_of_work(work, min(max(2 * parallel, int(work.sum() // VOLUME) + 1), MOST_BLOCKS))
    return np.array([first for first, _ in parts], np.int64), parts


def _behind(batches: Iterator[pa.RecordBatch], rank: Ints, first: Longs) -> Iterator[pa.RecordBatch]:
    """On a worker: every row once for each block of which it holds a number, from the first such number on."""
    from shoal.kernels.audit.numbered_rows import numbered_rows

    for rows, baskets in pieces(batches):
        check_rows(baskets, len(rank))
        tails = numbered_rows(baskets.offsets, baskets.items, rank, threads=1).tails
        numbers = tails[tails >= 0]  # without the ends rows lie where they lay
        row, block = row_of(baskets.offsets), np.searchsorted(first, numbers, side="right") - 1
        new = np.ones(len(numbers), np.bool_)
        new[1:] = (row[1:] != row[:-1]) | (block[1:] != block[:-1])
        start = np.flatnonzero(new)
        lengths = baskets.offsets[row[start] + 1] - start
        # One row of many numbers stands in many blocks: what is sent at a time is bounded as well.
        for some in np.array_split(np.arange(len(start)), 1 + int(lengths.sum()) // (1 << 22)):
            at = start[some]
            yield from packed_by(block[at], rows[row[at]], at, lengths[some], numbers)


def check_rows(rows: Baskets, n_items: int) -> None:
    """On a worker: raises unless the rows are sets of items; what is counted from them would mean nothing."""
    from shoal.kernels.audit.soundness import first_unsound_row

    if first_unsound_row(rows.offsets, rows.items, n_items, 1) >= 0:
        raise RuntimeError("published rows are not sound: one has items twice, out of order or without a name")


def _itemsets(
    table: pa.Table, parts: list[tuple[int, int]], n_items: int, k: int, m: int, keep: int, only_one: bool
) -> pa.Table:
    """On a worker: the itemsets whose rarest item is in a block."""
    from shoal.kernels.audit.itemset_counts import counted_itemsets
    from shoal.kernels.audit.numbered_rows import numbered_rows

    block = table["key"][0].as_py()
    _, offsets, numbers = together(table)
    rows = numbered_rows(frozen(offsets), frozen(numbers), np.arange(n_items, dtype=np.int32), threads=1)
    none, stop = np.zeros(0, np.uint8), np.zeros(1, np.bool_)
    first, last = parts[block]
    checked, rare, support, size, members = counted_itemsets(rows, first, last, k, m, keep, only_one, stop, none, none)
    found = {"checked": checked, "rare": rare, "support": support, "size": size, "members": members.reshape(-1)}
    return pa.table(
        {"block": pa.array([block], pa.int32())} | {name: pa.array([list_]) for name, list_ in found.items()}
    )


def _in_order_of_blocks(table: pa.Table) -> list[dict[str, Any]]:
    order = np.argsort(table["block"].to_numpy(), kind="stable").tolist()
    return [{name: table[name][i].values for name in table.column_names if name != "block"} for i in order]


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
