"""Limits on columns: the table in blocks of rows that may share a class, each released by itself.

What a limit allows is decided by the values alone (`shoal.hierarchy.kinds.ceilings`), and so is whether there is a release at all: no block
may have fewer than k rows. A block knows all values and items of the table, so a range or a category costs what it costs there, and
losses of blocks add up to that of the table. A bound on the loss holds in every block, and so on average.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from shoal.algorithms.recoding import Options
from shoal.algorithms.rt.cluster_recoding import ClusterRecoding, ItemTokens, RTOptions
from shoal.algorithms.rt.clusters import cluster_facts, number_groups
from shoal.algorithms.rt.task import Hierarchies
from shoal.algorithms.rt.transaction import class_rows, places_of
from shoal.errors import InputError, Unreachable, option
from shoal.hierarchy.kinds.ceilings import blocks_of_values
from shoal.numbers import Ints
from shoal.records.records import Records

Algorithm = Callable[..., ClusterRecoding]
Rows = Ints
MOST_NOTES = 3
"""Notes of single blocks that are told."""


def within_limits(
    run: Algorithm, records: Records, guarantee: object, hierarchies: Hierarchies, options: Options, rt: RTOptions
) -> ClusterRecoding:
    """What an algorithm makes of a table under the limits of `rt`: block by block, or at once if there are none."""
    if not rt.limits:
        return run(records, guarantee, hierarchies, options, rt)
    if getattr(guarantee, "t", None) is not None:
        raise InputError(
            f"{guarantee} compares classes with the whole table, and limits part it into blocks; leave out {option('limits')}, or "
            f"{option('t')}"
        )
    blocks = limited_blocks(records, hierarchies, rt)
    k = int(getattr(guarantee, "k", 1))
    sizes = np.array([len(rows if records.people is None else np.unique(records.people[rows])) for rows in blocks])
    if small := int(np.count_nonzero(sizes < k)):
        gone = sum(len(rows) for rows, size in zip(blocks, sizes.tolist(), strict=True) if size < k)
        who = "rows, themselves" if records.people is None else "people, their own"
        held = " and ".join(f"{name}={limit}" for name, limit in rt.limits.items())
        raise Unreachable(
            f"{guarantee} cannot be reached within the limits ({held}): {gone:,} of {len(records):,} rows are alike within them to fewer "
            f"than k = {k:,} {who} included, in {small:,} of {len(sizes):,} blocks; widen a limit ({option('limits')}), or leave these "
            "rows out of the data"
        )
    recodings = []
    for number, rows in enumerate(blocks):
        options.tell("blocks within the limits", number / len(blocks))
        try:
            recodings.append(run(records.take(rows), guarantee, hierarchies, options, rt))
        except Unreachable as reason:
            raise reason.within(
                f"in one of the {len(blocks):,} blocks that the limits allow, ",
                f"; or widen a limit ({option('limits')})",
            ) from None
    return joined_blocks(records, blocks, recodings)


def limited_blocks(records: Records, hierarchies: Hierarchies, rt: RTOptions) -> list[Rows]:
    """The rows of each block, in the order of their first rows."""
    known = {column.name: column for column in records.of_role("quasi")}
    strange = [name for name in rt.limits if name not in known]
    if strange:
        raise InputError(f"limit of {strange[0]!r}: there is no such quasi-identifier; there are {', '.join(known)}")
    block = np.zeros(len(records), np.int64)
    for name, limit in rt.limits.items():
        column = known[name]
        of_value = blocks_of_values(column, hierarchies.get(name), str(limit))
        _, place = np.unique(of_value, return_inverse=True)
        block = number_groups(block * (len(place) + 1) + place.reshape(-1)[column.codes])[0].astype(np.int64)
    return class_rows(block, int(block.max(initial=-1)) + 1)


def joined_blocks(records: Records, blocks: Sequence[Rows], recodings: Sequence[ClusterRecoding]) -> ClusterRecoding:
    """One recoding of all rows from those of the blocks."""
    first = recodings[0]
    of_row = np.empty(len(records), np.int32)
    n = 0
    for rows, one in zip(blocks, recodings, strict=True):
        of_row[rows] = one.of_row + n
        n += len(next(iter(one.values.values())))
    items = [len(rows) if records.items is None else int(records.items.lengths[rows].sum()) for rows in blocks]
    rows_of = [len(rows) for rows in blocks]
    same = {
        name: value for name, value in first.facts.items() if all(one.facts.get(name) == value for one in recodings)
    }
    notes = list(dict.fromkeys(note for one in recodings for note in one.notes))
    more = (f"and {len(notes) - MOST_NOTES:,} more such notes about other blocks",) if len(notes) > MOST_NOTES else ()
    return replace(
        first,
        of_row=of_row,
        values={name: tuple(text for one in recodings for text in one.values[name]) for name in first.values},
        tokens=_joined_tokens(records, blocks, recodings),
        ncp=_mean([one.ncp for one in recodings], rows_of),
        ncp_by_column={
            name: _mean([one.ncp_by_column[name] for one in recodings], rows_of) for name in first.ncp_by_column
        },
        ul=None if first.ul is None else _mean([one.ul or 0.0 for one in recodings], rows_of),
        items_ncp=None if first.items_ncp is None else _mean([one.items_ncp or 0.0 for one in recodings], items),
        optimal=None,
        bound=None,
        facts={**same, **cluster_facts(of_row, n), **_formation(recodings), "blocks": len(blocks)},
        notes=(*notes[:MOST_NOTES], *more),
    )


def _formation(recodings: Sequence[ClusterRecoding]) -> dict[str, str]:
    """How classes were formed, which may differ from block to block."""
    ways = sorted({str(one.facts["formation"]) for one in recodings if "formation" in one.facts})
    return {"formation": " and ".join(ways)} if ways else {}


def _joined_tokens(records: Records, blocks: Sequence[Rows], recodings: Sequence[ClusterRecoding]) -> ItemTokens | None:
    """What the items of all rows are published as, over one list of tokens."""
    if records.items is None:
        return None
    items = records.items.split_off(records.sensitive_items)[0]
    place: dict[str, int] = {}
    token = np.full(len(items.items), -1, np.int32)
    sizes, weights = list[int](), list[float]()
    for rows, recoding in zip(blocks, recodings, strict=True):
        one = recoding.tokens
        assert one is not None
        for name, size, weight in zip(one.tokens, one.sizes.tolist(), one.weights.tolist(), strict=True):
            if name not in place:
                place[name] = len(place)
                sizes.append(size)
                weights.append(weight)
        number = np.array([*(place[name] for name in one.tokens), -1], np.int32)  # the last for what is deleted
        token[places_of(items, rows)] = number[one.token]
    return ItemTokens(items, token, tuple(place), np.array(sizes, np.int64), np.array(weights, np.float64))


def _mean(values: Sequence[float], weights: Sequence[int]) -> float:
    return float(np.dot(values, weights) / max(1, sum(weights)))
