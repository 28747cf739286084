"""What became of items and cells where rows do not correspond, as in most releases, which are shuffled: from counts.

What stands as it was is counted: an item is published as itself as often as its own token stands there. Where each item has one other token
and no row of it is missing, the rest is in that token, and nothing is estimated. Else the rest of each item is spread over the tokens that
cover it by iterative proportional fitting: shares are scaled in turns until each item has all of its rest and each token the occurrences
that its rows hold, as many in each as in the rows of the original that hold any of its items. What does not fit was deleted.
"""

from __future__ import annotations

import numpy as np

from shoal.hierarchy.meanings import CellMeanings, TokenMeanings, number_in
from shoal.kernels.itemsets.prefixes import laid_out
from shoal.kernels.measures.row_fates import rows_covered
from shoal.numbers import Floats, Ints
from shoal.price.information import Fates
from shoal.records.baskets import Baskets
from shoal.records.records import Column

ROUNDS = 60
"""Of scaling; the shares hardly move after."""


def shuffled_item_fates(
    original: Baskets, published: Baskets, meanings: TokenMeanings, *, may_delete: bool = True
) -> tuple[Fates, bool]:
    """(what became of the items, whether that is an estimate). Both sides without sensitive items; `meanings` may know more."""
    place = {name: i for i, name in enumerate(meanings.domain)}
    number = {name: i for i, name in enumerate(meanings.tokens)}
    domain = np.array([place[name] for name in original.vocabulary], np.int64)
    n = np.zeros(len(meanings.domain), np.int64)
    n[domain] = original.supports()
    stands = np.zeros(len(meanings.tokens), np.int64)
    stands[[number[name] for name in published.vocabulary]] = published.supports()
    item, token = meanings.members.astype(np.int64), meanings.owner
    itself = meanings.breadth[token] <= 1
    own = np.zeros(len(item), np.float64)
    own[itself] = np.minimum(n[item], stands[token])[itself]
    rest: Floats = np.asarray(n - np.bincount(item, own, minlength=len(n)), np.float64)
    wide = ~itself & (stands[token] > 0) & (rest[item] > 0)
    pairs, of = item[wide], token[wide]
    if meanings.disjoint:
        there, sure = _one_token_each(original, domain, pairs, of, stands, rest)
    else:
        there, sure = _spread(pairs, of, rest, _mass(original, domain, pairs, of, stands), may_delete), False
    gone = rest - np.bincount(pairs, there, minlength=len(n))
    sure &= not np.any((stands[token] > n[item])[itself])  # items were added, so that counts tell little about rows
    return _fates(item[itself], token[itself], own[itself], pairs, of, there, gone), not sure


def _one_token_each(
    original: Baskets, domain: Ints, item: Ints, token: Ints, stands: Ints, rest: Floats
) -> tuple[Floats, bool]:
    """Each item in its one token, but for the share of the rows that the token should stand in and does not."""
    token_of = np.full(len(rest), -1, np.int32)
    token_of[item] = token
    expected = laid_out(original.offsets, original.items, token_of[domain], len(stands)).support
    share = np.minimum(1.0, stands[token] / np.maximum(expected[token], 1))
    held = np.bincount(token, rest[item], minlength=len(stands))
    unsure = (share < 1) & (held[token] != expected[token])
    return rest[item] * share, not unsure.any()


def _mass(original: Baskets, domain: Ints, item: Ints, token: Ints, stands: Ints) -> Floats:
    """Per token, the occurrences in its rows: as many in each as in a row of the original that holds any of its items."""
    known = np.full(int(max(item.max(initial=0), domain.max(initial=0))) + 1, -1, np.int64)
    known[domain] = np.arange(len(domain))
    own = known[item]
    order = np.argsort(own, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(own, minlength=len(domain))))).astype(np.int64)
    rows = rows_covered(original.offsets, original.items, starts, token[order], len(stands))
    occurrences = np.bincount(token, original.supports()[own], minlength=len(stands))
    return np.asarray(stands * np.maximum(1.0, occurrences / np.maximum(rows, 1)), np.float64)


def _spread(item: Ints, token: Ints, rest: Floats, mass: Floats, may_delete: bool) -> Floats:
    """The occurrences of each pair: by items they add up to the rest, less what is deleted, by tokens to their mass."""
    if not len(item):
        return np.zeros(0)
    covered = np.zeros(len(rest), np.bool_)
    covered[item] = True
    whole = float(rest[covered].sum())
    mass = np.where(np.bincount(token, minlength=len(mass)) > 0, mass, 0.0)
    kept = min(1.0, mass.sum() / max(whole, 1e-9)) if may_delete else 1.0
    due = rest * kept
    mass = mass * (due[covered].sum() / max(mass.sum(), 1e-9))
    there = rest[item].astype(np.float64)
    for _ in range(ROUNDS):
        there *= (mass / np.maximum(np.bincount(token, there, minlength=len(mass)), 1e-300))[token]
        there *= (due / np.maximum(np.bincount(item, there, minlength=len(due)), 1e-300))[item]
    return there


def shuffled_column_fates(original: Column, published: Column, meaning: CellMeanings) -> tuple[Fates, bool]:
    """(what became of the values of a column, whether that is an estimate)."""
    n = np.bincount(original.codes, minlength=len(original.values)).astype(np.int64)
    stands = np.bincount(published.codes, minlength=len(published.values)).astype(np.int64)
    fits = np.array([meaning.fitting(value) for value in original.values], np.bool_).reshape(len(n), len(stands))
    value, cell = np.nonzero(fits)
    place = {text: i for i, text in enumerate(published.values)}
    same = np.array([place.get(text, -1) for text in original.values], np.int64)[value] == cell
    if original.numbers is not None:
        numbers = np.array([np.nan if (x := number_in(text)) is None else x for text in published.values], np.float64)
        same |= numbers[cell] == original.numbers[value]
    same &= meaning.cost[cell] == 0  # a rounded number may be called like one that is not
    own = np.where(same, np.minimum(n[value], stands[cell]), 0).astype(np.float64)
    rest: Floats = np.asarray(n - np.bincount(value, own, minlength=len(n)), np.float64)
    wide = ~same & (stands[cell] > 0) & (rest[value] > 0)
    item, token = value[wide], cell[wide]
    there = _spread(item, token, rest, stands.astype(np.float64), len(published.codes) < len(original.codes))
    gone = np.maximum(0.0, rest - np.bincount(item, there, minlength=len(n)))
    sure = np.bincount(item, minlength=1).max(initial=0) <= 1 and len(published.codes) == len(original.codes)
    return _fates(value[same], cell[same], own[same], item, token, there, gone), not sure


def _fates(item: Ints, token: Ints, own: Floats, pairs: Ints, of: Ints, there: Floats, gone: Floats) -> Fates:
    n = np.arange(len(gone))
    return Fates(
        np.concatenate((item, pairs, n)),
        np.concatenate((token, of, np.full(len(n), -1))),
        np.concatenate((own, there, np.maximum(gone, 0.0))),
        np.repeat([True, False], [len(item), len(pairs) + len(n)]),
    )
