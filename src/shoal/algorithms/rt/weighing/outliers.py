"""Rows that leave a table so that the others are published more exactly.

First those without whom there is no release: that the limits leave fewer than k alike, or that hold items where fewer than k do. Then those
that are farthest from the rows of their class or, beside items, whose items lost most; `balance` weighs the two. The others form
classes anew. They have to lose less than all rows did: else these rows stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from shoal.algorithms.recoding import Options
from shoal.algorithms.rt.blocks import Algorithm, Rows, limited_blocks, within_limits
from shoal.algorithms.rt.cluster_recoding import ClusterRecoding, ItemTokens, RTOptions
from shoal.algorithms.rt.task import Hierarchies
from shoal.errors import Unreachable
from shoal.kernels.tables.boxes import boxes_around
from shoal.loss.relational import Space, space
from shoal.numbers import Codes, Floats
from shoal.price.information import Fates, entropy_bits
from shoal.records.records import Records

MATES = 8
"""Rows of its class that a row is compared with."""


def without_outliers(
    run: Algorithm,
    records: Records,
    guarantee: Any,
    hierarchies: Hierarchies,
    options: Options,
    rt: RTOptions,
    share: float,
) -> tuple[Rows, ClusterRecoding]:
    """(rows that stay, what the algorithm makes of them): up to `share` of the rows leave."""
    room, stay = int(share * len(records)), np.arange(len(records))
    if room:
        gone = _lonely(records, int(guarantee.k), limited_blocks(records, hierarchies, rt) if rt.limits else [stay])
        if len(gone) <= room:  # else the refusal names them all
            stay, room = np.delete(stay, gone), room - len(gone)

    def made_of(rows: Rows) -> ClusterRecoding:
        return within_limits(run, records.take(rows), guarantee, hierarchies, options, rt)

    made = made_of(stay)
    if not room:
        return stay, made
    laid = space(records.take(stay), hierarchies, rt.weights)
    told = np.zeros(len(stay)) if made.tokens is None else _lost_by_rows(made.tokens)
    w = 1.0 if made.tokens is None else rt.balance
    fewer = stay[np.sort(_rows_that_stay(laid, made.of_row, w, told, room))]
    try:
        finer = made_of(fewer)
    except Unreachable:
        return stay, made
    return (fewer, finer) if _loss(finer, rt) < _loss(made, rt) else (stay, made)


def _rows_that_stay(space: Space, of_row: Codes, w: float, lost_items: Floats, room: int) -> Rows:
    """All but `room` rows, by the choice after which the same classes lose least.

    The farthest rows leave, those whose items lost most, both together, or those of the farthest classes, there those first that are near
    each other: they may be strangers together.
    """
    far = remoteness(space, of_row)
    both = w * far + (1 - w) * lost_items
    mean = np.bincount(of_row, both) / np.maximum(np.bincount(of_row), 1)
    choices = [np.argsort(-score, kind="stable") for score in (both, far, lost_items)]
    choices.append(np.lexsort((far, of_row, -mean[of_row])))

    def lost(rows: Rows) -> float:
        left, group = np.unique(of_row[rows], return_inverse=True)
        boxes = boxes_around(space.metric, space.points[space.tuple_of[rows]], group.reshape(-1), len(left))
        return w * float(space.costs(boxes)[group.reshape(-1)].sum()) + (1 - w) * float(lost_items[rows].sum())

    return min((order[room:] for order in choices), key=lost)


def _lonely(records: Records, k: int, blocks: Sequence[Rows]) -> Rows:
    """Rows that no class of their block can hide: all of them where there are fewer than k, those with items where only these are."""

    def members(rows: Rows) -> int:
        return len(rows if records.people is None else np.unique(records.people[rows]))

    gone = []
    for rows in blocks:
        if members(rows) < k:
            gone.append(rows)
        elif records.items is not None:
            filled = rows[records.items.split_off(records.sensitive_items)[0].lengths[rows] > 0]
            gone += [filled] if members(filled) < k else []
    return np.concatenate(gone).astype(np.int64) if gone else np.zeros(0, np.int64)


def _loss(made: ClusterRecoding, rt: RTOptions) -> float:
    """What a recoding loses of the columns (NCP) and, beside them, of the items (information)."""
    if made.tokens is None:
        return made.ncp
    item, token, times = made.tokens.counts()
    items = Fates(item, token, times, np.zeros(len(item), np.bool_)).info
    return rt.balance * made.ncp + (1 - rt.balance) * items


def _lost_by_rows(tokens: ItemTokens) -> Floats:
    """Per row, what its occurrences lost on average, where 1 is as much as an occurrence says; 0 for a row without items."""
    items, token = tokens.items, tokens.token.astype(np.int64)
    bits = entropy_bits(items.supports()) / max(1, items.occurrences)
    width = len(tokens.tokens) + 1
    _, place, times = np.unique(items.items * width + token + 1, return_inverse=True, return_counts=True)
    behind = np.bincount(token + 1, minlength=width)
    lost = np.log2(behind[token + 1] / times[place.reshape(-1)]) / bits if bits else np.zeros(len(token))
    row = np.repeat(np.arange(len(items)), items.lengths)
    total = np.bincount(row, np.where(token >= 0, lost, 1.0), minlength=len(items))
    return np.asarray(total / np.maximum(items.lengths, 1), np.float64)


def remoteness(space: Space, of_row: Codes) -> Floats:
    """Per row, what it costs on average to publish it alike with one row of its class: of those that come next in it, round about."""
    order = np.argsort(of_row, kind="stable")
    classes = of_row[order]
    first = np.searchsorted(classes, classes)
    sizes = np.bincount(of_row)[classes]
    pairs = np.tile(np.arange(len(order)), 2)
    total = np.zeros(len(order), np.float64)
    for step in range(1, MATES + 1):
        mate = first + (np.arange(len(order)) - first + step) % sizes
        points = space.points[space.tuple_of[np.concatenate((order, order[mate]))]]
        total += space.costs(boxes_around(space.metric, points, pairs, len(order)))
    far = np.empty(len(order), np.float64)
    far[order] = total / MATES
    return far
