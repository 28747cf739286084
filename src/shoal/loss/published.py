"""What a published file lost, found by comparing it with its original, whatever tool made it.

Rows of a release are shuffled, so counts are compared: a token ought to stand in as many rows as hold one of its items, and what is
missing was deleted. That is exact where a token stands for one item, or lost all or nothing; else the deleted rows are taken to hold as
many items of the token as the others (`estimated`). Where the user says that rows correspond, each occurrence is looked up in its row
and nothing is estimated.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.hierarchy.meanings import CellMeanings, TokenMeanings
from shoal.kernels.itemsets.prefixes import laid_out
from shoal.loss.relational import column_shares
from shoal.numbers import Bools, Ints
from shoal.price.edits import check_correspond
from shoal.price.information import Fates
from shoal.records.baskets import Baskets
from shoal.records.records import Records

_BLOCK = 1 << 21
"""Pairs of occurrences and tokens that are looked at together."""


@dataclass(frozen=True)
class ItemsLoss:
    """NCP of the items with its two parts, as shares of the original occurrences."""

    ncp: float
    generalized: float
    deleted: float
    added: int
    """Published tokens of which the row has no item, or that stand in more rows than they should."""
    estimated: bool

    def to_dict(self) -> dict[str, Any]:
        return {"ncp": self.ncp, "generalized": self.generalized, "deleted": self.deleted, "estimated": self.estimated}


def items_loss(
    original: Baskets,
    published: Baskets,
    meanings: TokenMeanings,
    *,
    sensitive: Collection[str] = (),
    same_order: bool = False,
    spread: Fates | None = None,
) -> ItemsLoss:
    """NCP of the published items. Items that were added are counted, but cost nothing here: `edits` is about them.

    Where an item may be published in several ways and rows do not correspond, `spread` says what became of it, if the caller knows better
    than by the sizes of tokens.
    """
    hidden = np.array([name in sensitive for name in meanings.domain], np.bool_)
    counted = ~hidden[original.items]
    total = int(np.count_nonzero(counted))
    if same_order:
        breadth, added = _breadths_in_rows(original, published, meanings)
        wide = breadth[counted]
        deleted = float(np.count_nonzero(wide == 0))
        cost, estimated = float(np.where(wide > 1, wide, 0).sum()), False
    elif meanings.disjoint:
        cost, deleted, added, estimated = _by_counts(original, published, meanings, hidden)
    else:
        cost, deleted, added, estimated = _by_shares(original, published, meanings, hidden)
        if spread is not None and estimated:
            there = spread.token >= 0
            cost = float(
                (spread.times * np.where(meanings.breadth > 1, meanings.breadth, 0)[spread.token])[there].sum()
            )
            deleted = spread.deleted * spread.occurrences
    size = meanings.size_of_domain
    generalized, gone = (cost / (size * total), deleted / total) if total else (0.0, 0.0)
    return ItemsLoss(generalized + gone, generalized, gone, added, estimated)


def _by_counts(
    original: Baskets, published: Baskets, meanings: TokenMeanings, hidden: Bools
) -> tuple[float, float, int, bool]:
    """(leaves times occurrences, deleted occurrences, rows too many, whether it is an estimate), each item having one token."""
    token_of = np.full(len(meanings.domain), -1, np.int32)
    token_of[meanings.members] = meanings.owner
    token_of[hidden] = -1
    n = len(meanings.tokens)
    supports = original.supports()
    of_item = token_of[: len(supports)]
    kept = of_item >= 0
    deleted = float(supports[~kept & ~hidden[: len(supports)]].sum())
    occurrences = np.bincount(of_item[kept], supports[kept], minlength=n).astype(np.int64)
    expected = laid_out(original.offsets, original.items, token_of, n).support
    stands_for_hidden = np.zeros(n, np.bool_)
    stands_for_hidden[meanings.owner[hidden[meanings.members]]] = True
    there = np.where(stands_for_hidden, expected, published.supports())
    gone = np.maximum(expected - there, 0) / np.maximum(expected, 1)
    lost = occurrences * gone
    breadth = np.where(meanings.breadth > 1, meanings.breadth, 0)
    unsure = (gone > 0) & (gone < 1) & (occurrences != expected)
    added = int(np.maximum(there - expected, 0).sum())
    return float((breadth * (occurrences - lost)).sum()), deleted + float(lost.sum()), added, bool(unsure.any())


def _by_shares(
    original: Baskets, published: Baskets, meanings: TokenMeanings, hidden: Bools
) -> tuple[float, float, int, bool]:
    """The same where an item may be published in several ways, as when each class of rows has its own recoding.

    What is not published as itself is in the wider tokens, in proportion to their rows times the items that each would hold on average
    if all non-empty sets of its items were equally likely. Nothing is taken to be deleted.
    """
    supports = published.supports()
    wide = meanings.breadth > 1
    single = np.flatnonzero(~wide)
    exact = np.zeros(len(meanings.domain), np.int64)
    exact[meanings.members[meanings.offsets[single]]] = supports[single]
    before = np.zeros(len(meanings.domain), np.int64)
    before[: len(original.vocabulary)] = original.supports()
    added = int(np.maximum(exact - before, 0)[~hidden].sum())
    rest = float(np.maximum(before - exact, 0)[~hidden].sum())
    sizes = meanings.sizes[wide].astype(np.float64)
    mass = supports[wide] * sizes / 2 / -np.expm1(-sizes * np.log(2))
    if not mass.sum():
        return 0.0, rest, added, False
    return float((mass / mass.sum() * rest * meanings.breadth[wide]).sum()), 0.0, added, True


def _breadths_in_rows(original: Baskets, published: Baskets, meanings: TokenMeanings) -> tuple[Ints, int]:
    """Per original occurrence, the leaves under the narrowest token of its row that covers it, 0 for none; and tokens that cover none."""
    check_correspond(len(original), len(published))
    offsets, holders = meanings.holders
    n = max(1, len(meanings.tokens))
    many = np.diff(offsets)[original.items]
    row = np.repeat(np.arange(len(original), dtype=np.int64), original.lengths)
    there = np.repeat(np.arange(len(published), dtype=np.int64), published.lengths) * n + published.items
    covered = np.zeros(len(there), np.bool_)
    breadth = np.zeros(len(original.items), np.int64)
    ends = np.cumsum(many)
    start = 0
    while start < len(many):
        before = int(ends[start] - many[start])
        stop = max(start + 1, int(np.searchsorted(ends, before + _BLOCK, side="right")))
        part = slice(start, stop)
        occurrence = np.repeat(np.arange(start, stop), many[part])
        within = np.arange(len(occurrence)) - np.repeat(ends[part] - many[part] - before, many[part])
        token = holders[offsets[original.items[occurrence]] + within].astype(np.int64)
        key = row[occurrence] * n + token
        at = np.minimum(np.searchsorted(there, key), max(0, len(there) - 1))
        held = there[at] == key if len(there) else np.zeros(len(key), np.bool_)
        covered[at[held]] = True
        narrowest = np.full(stop - start, np.iinfo(np.int64).max)
        np.minimum.at(narrowest, occurrence[held] - start, meanings.breadth[token[held]])
        breadth[part] = np.where(narrowest == np.iinfo(np.int64).max, 0, narrowest)
        start = stop
    return breadth, int(np.count_nonzero(~covered))


def columns_loss(
    original: Records, published: Records, cells: Mapping[str, CellMeanings], weights: Mapping[str, float] | None = None
) -> dict[str, Any]:
    """NCP of the quasi-identifier columns: the mean over all columns by their weights, and each; a row that was left out costs 1."""
    rows, gone = len(published), max(0, len(original) - len(published))
    by_column = {}
    for name, meaning in cells.items():
        cost = float(meaning.cost[published[name].codes].sum()) + gone
        by_column[name] = cost / max(1, rows + gone)
    shares = column_shares(list(by_column), weights or {}).tolist() if by_column else []
    ncp = sum(share * cost for share, cost in zip(shares, by_column.values(), strict=True))
    return {"ncp": ncp, "by_column": by_column, "suppressed_rows": gone}
