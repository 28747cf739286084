"""The audit of k^m-anonymity on Spark, equal to the local one: the same counts, the same witnesses, in the same rows.

Where all rows fit one task, the local audit runs there. Beyond that, items are numbered rarest first, and an itemset is counted at its
first number. A row is sent once to every block of numbers of which it holds one, from that one on, and the kernel of the local audit counts
there. None of this is shared with the search, which projects rows by code of its own. Witnesses are the rarest itemsets, then the smallest,
then those that the walk meets first; that order does not depend on the blocks, so the best of every block together hold the best of all.

Under local recoding, tokens are counted as they stand first, and then rows spelled out in leaves. How a token is spelled out depends on the
tree and on the published names alone, which the driver has; every row is spelled out by itself, on the workers, and counted as plain
sets are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.errors import InputError
from shoal.guarantees.audit import Audit, Witness, empty_sets
from shoal.guarantees.km import KmAnonymity, affordable_size
from shoal.guarantees.km_local import SPELLED_OUT, LocalKmAnonymity, _Published, nodes_of
from shoal.kernels.audit.itemset_counts import counted_itemsets
from shoal.kernels.audit.numbered_rows import numbered_rows
from shoal.kernels.audit.row_sets import first_unsound_row
from shoal.kernels.audit.threads import blocks_of_work
from shoal.numbers import Codes, Ints
from shoal.records.baskets import Baskets
from shoal.records.storage.digest import row_digest
from shoal.spark.data.executors import count_batch, count_keys, fetch, map_groups, map_rows
from shoal.spark.data.one_task import TO_CHANGE, ask_all, cores_of_task, fits
from shoal.spark.data.packing import PACKED, frozen, offsets_of, pack, pack_by_key, pieces, row_of, together
from shoal.spark.data.sets import SparkSets, rows_holding

VOLUME = 16_000_000
"""Numbers that a block is sent, about."""
MOST_BLOCKS = 4096
_SCHEMA = "block int, checked array<bigint>, rare array<bigint>, support array<bigint>, size array<bigint>, members array<int>"


def audit_km(sets: SparkSets, guarantee: KmAnonymity, witnesses: int, yes_or_no: bool) -> Audit:
    """As `KmAnonymity.audit`."""
    if fits(sets):
        return audit_in_one_task(sets, guarantee, witnesses, yes_or_no)[0]
    m = min(int(guarantee.m), sets.longest)
    full = m if yes_or_no else affordable_size(sets.lengths, sets.of_length, m)
    checked, rare, rarest = _count(sets, guarantee.k, full, witnesses, only_one=yes_or_no)
    complete = not (rare.any() if yes_or_no else full < m)
    if full < m and not rare.any():
        # No breach among the sizes that can be counted: the larger ones decide, and the first breach is enough.
        checked, rare, rarest = _count(sets, guarantee.k, m, witnesses, only_one=True)
        complete = not rare.any()
    return Audit(
        guarantee=guarantee.to_dict(),
        holds=not rare.any(),
        checked=int(checked.sum()),
        violations=int(rare.sum()),
        by_size={size: (int(checked[size]), int(rare[size])) for size in range(1, len(checked))},
        complete=complete,
        witnesses=_witnesses(sets, rarest),
        notes=empty_sets(sets.empty),
    )


def audit_in_one_task(
    sets: SparkSets, guarantee: KmAnonymity, witnesses: int, yes_or_no: bool, *, hashed: bool = False
) -> tuple[Audit, str]:
    """The audit of the local engine; and, if it is asked for, the hash of the rows, which are then brought there once for both."""
    how = {"witnesses": witnesses, "yes_or_no": yes_or_no, "threads": cores_of_task(sets.session)}
    told = ask_all(sets, _audit_all, guarantee=guarantee, how=how, hashed=hashed)
    told["by_size"] = {int(size): tuple(counts) for size, counts in told["by_size"].items()}
    told["witnesses"] = tuple(Witness(tuple(items), support, tuple(rows)) for items, support, rows in told["witnesses"])
    digest = told.pop("digest")
    return Audit(guarantee=guarantee.to_dict(), **told | {"notes": tuple(told["notes"])}), digest


def _audit_all(baskets: Baskets, guarantee: KmAnonymity, how: dict[str, Any], hashed: bool) -> dict[str, Any]:
    """On a worker: what the audit says of all rows."""
    check_rows(baskets, len(baskets.vocabulary))
    verdict = guarantee.audit(baskets, **how)
    told = {name: getattr(verdict, name) for name in ("holds", "checked", "violations", "by_size", "complete", "notes")}
    told["digest"] = row_digest(baskets) if hashed else ""
    return told | {"witnesses": [[one.items, one.support, one.rows] for one in verdict.witnesses]}


def _count(
    sets: SparkSets, k: int, m: int, keep: int, *, only_one: bool
) -> tuple[Any, Any, list[tuple[int, int, list[int]]]]:
    """Itemsets and rare ones per size, and up to `keep` of the rare ones: (support, size, item ids)."""
    if m < 1:
        return np.zeros(1, np.int64), np.zeros(1, np.int64), []
    support = sets.supports()
    by_rank = np.argsort(support, kind="stable")
    rank = np.empty(len(support), np.int32)
    rank[by_rank] = np.arange(len(support), dtype=np.int32)
    blocks = _blocks(support[by_rank], len(sets), sets.parallel)
    first = np.array([first for first, _ in blocks], np.int64)
    behind = map_rows(sets.rows, _rows_behind, f"key int, {PACKED}", rank=rank, first=first)
    how = {"n_items": len(rank), "k": int(k), "m": m, "keep": keep, "only_one": only_one}
    table = fetch(map_groups(behind, "key", _count_block, _SCHEMA, blocks=blocks, **how))
    table = table.take(pa.array(np.argsort(table["block"].to_numpy(), kind="stable")))
    checked, rare = (np.array(table[name].to_pylist(), np.int64).sum(axis=0) for name in ("checked", "rare"))
    kept = [
        (support, size, sorted(by_rank[members[:size]].tolist()))
        for supports, sizes, numbers in zip(*(table[name] for name in ("support", "size", "members")), strict=True)
        for support, size, members in zip(
            supports.as_py(), sizes.as_py(), numbers.values.to_numpy().reshape(-1, m), strict=True
        )
    ]
    kept.sort(key=lambda witness: witness[:2])
    return checked, rare, kept[:keep]


def _blocks(support: Ints, n_rows: int, parallel: int) -> list[tuple[int, int]]:
    """Ranges of numbers, of about equal work, as far as supports tell, and small enough for a worker."""
    behind = (support.sum() - np.cumsum(support)) / max(1, n_rows)
    work = support * (behind + 1.0) + 1.0
    blocks: list[tuple[int, int]] = blocks_of_work(
        work, min(max(2 * parallel, int(work.sum() // VOLUME) + 1), MOST_BLOCKS)
    )
    return blocks


def _rows_behind(batches: Iterator[pa.RecordBatch], rank: Codes, first: Ints) -> Iterator[pa.RecordBatch]:
    """On a worker: every row once for each block of which it holds a number, from the first such number on."""
    for rows, baskets in pieces(batches):
        check_rows(baskets, len(rank))
        tails = numbered_rows(baskets.offsets, baskets.items, rank, threads=1).tails
        numbers = tails[tails >= 0]  # without the ends rows lie where they lay
        row, block = row_of(baskets.offsets), np.searchsorted(first, numbers, side="right") - 1
        new = np.ones(len(numbers), np.bool_)
        new[1:] = (row[1:] != row[:-1]) | (block[1:] != block[:-1])
        start = np.flatnonzero(new)
        yield from pack_by_key(block[start], rows[row[start]], start, baskets.offsets[row[start] + 1] - start, numbers)


def check_rows(rows: Baskets, n_items: int) -> None:
    """On a worker: raises unless the rows are sets of items; what is counted from them would mean nothing."""
    if first_unsound_row(rows.offsets, rows.items, n_items, 1) >= 0:
        raise RuntimeError("published rows are not sound: one has items twice, out of order or without a name")


def _count_block(
    table: pa.Table, blocks: list[tuple[int, int]], n_items: int, k: int, m: int, keep: int, only_one: bool
) -> pa.Table:
    """On a worker: the itemsets whose rarest item is in a block."""
    block = table["key"][0].as_py()
    _, offsets, numbers = together(table)
    rows = numbered_rows(frozen(offsets), frozen(numbers), np.arange(n_items, dtype=np.int32), threads=1)
    none, stop = np.zeros(0, np.uint8), np.zeros(1, np.bool_)
    first, last = blocks[block]
    checked, rare, support, size, members = counted_itemsets(rows, first, last, k, m, keep, only_one, stop, none, none)
    answer = {"checked": checked, "rare": rare, "support": support, "size": size, "members": members.reshape(-1)}
    return pa.table(
        {"block": pa.array([block], pa.int32())} | {name: pa.array([values]) for name, values in answer.items()}
    )


def _witnesses(sets: SparkSets, rare: list[tuple[int, int, list[int]]]) -> tuple[Witness, ...]:
    """The rare itemsets by name, with the rows that hold them."""
    if not rare:
        return ()
    rows = rows_holding(sets, [items for _, _, items in rare])
    return tuple(
        Witness(tuple(sets.vocabulary[i] for i in items), support, tuple((held + 1).tolist()))
        for (support, _, items), held in zip(rare, rows, strict=True)
    )


def audit_local_km(sets: SparkSets, guarantee: LocalKmAnonymity, witnesses: int, yes_or_no: bool) -> Audit:
    """As `LocalKmAnonymity.audit`; raises where rows would have to be walked in one place."""
    tree = guarantee.hierarchy
    node = None if tree is None else nodes_of(sets.vocabulary, tree)  # a token from elsewhere is an error in any case
    if fits(sets, TO_CHANGE):  # rows may have to be spelled out
        return audit_in_one_task(sets, guarantee, witnesses, yes_or_no)[0]
    plain = replace(audit_km(sets, guarantee, witnesses, True), guarantee=guarantee.to_dict())
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
    # How often each leaf occurs, and behind them how often each length of a row.
    counts = count_keys(sets.rows, _count_leaves, 2 * len(atoms) + 1, n_leaves=len(atoms), **how)
    counts, of_length = counts[: len(atoms)], counts[len(atoms) :]
    lengths = np.flatnonzero(of_length)
    m = min(int(guarantee.m), int(lengths.max(initial=0)))
    if counts.sum() > SPELLED_OUT or affordable_size(lengths, of_length[lengths], m) < m:
        raise InputError(
            f"{guarantee} cannot be decided on Spark here: tokens stand together in too few rows, and spelled out in the leaves of the "
            "hierarchy the rows have too many sets to count; use the local engine, which looks for a breach without spelling them out"
        )
    rows = map_rows(sets.rows, _spell_rows, PACKED, **how)
    spelled = SparkSets(rows, atoms, counts, lengths, of_length[lengths], 0, sets.column)
    exact = audit_km(spelled, KmAnonymity(guarantee.k, guarantee.m), witnesses, yes_or_no)
    return replace(exact, guarantee=guarantee.to_dict())


def spell_out(baskets: Baskets, place: Codes, end: Ints, before: Ints) -> tuple[Ints, Codes]:
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
    offsets = offsets_of(np.bincount(row, width, minlength=len(baskets)).astype(np.int64))
    leaves = np.repeat(low - (np.cumsum(width) - width), width) + np.arange(int(width.sum()))
    return offsets, leaves.astype(np.int32)


def _spell_rows(batches: Iterator[pa.RecordBatch], place: Codes, end: Ints, before: Ints) -> Iterator[pa.RecordBatch]:
    for rows, baskets in pieces(batches):
        yield pa.record_batch(pack(rows, *spell_out(baskets, place, end, before)))


def _count_leaves(
    batches: Iterator[pa.RecordBatch], n_leaves: int, place: Codes, end: Ints, before: Ints
) -> Iterator[pa.RecordBatch]:
    """On a worker: its rows that would hold each leaf, and behind them how many would have each length."""
    for _, baskets in pieces(batches):
        offsets, leaves = spell_out(baskets, place, end, before)
        yield count_batch(np.concatenate((leaves, n_leaves + np.diff(offsets))))
