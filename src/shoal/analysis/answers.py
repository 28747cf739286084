"""What a sensible reader of a release answers to queries on items, and on items and columns together.

`loss.queries` reads a token as the RT paper does, as any set of the items below it; a row of one category then holds half of them. Here
a token is read as in `evidence`: its rows are shared out among its items by weight, and what was deleted is put back as in `gaps`.
Tokens may also be sets such as `(A,B)` that differ from class to class and overlap. Then hardly any item stands as itself, and weights
follow counts that expectation maximization finds: each token is shared out by the counts so far, and shares are added up to new
ones. It is stopped early, since in the end it gives all rows to a few items.

Columns are read as there: a range or a label is any of the values that it covers. What a query asks of columns is a weight for each
class of rows, and items are looked for in one walk over the rows of classes that have one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property, lru_cache

import numpy as np

from shoal.analysis.evidence import FLATTEN
from shoal.analysis.gaps import Losses, gaps_of_share
from shoal.hierarchy.meanings import TokenMeanings, token_meanings
from shoal.kernels.measures.query_answers import likely_rows
from shoal.loss.queries import Query, Trees, each_query, estimates, read_columns
from shoal.numbers import Floats, Ints
from shoal.records.baskets import Baskets
from shoal.records.records import Records

ROUNDS = 20
"""Of expectation maximization."""
FLATTEN_SETS = 0.75
"""As `FLATTEN`, for counts that were found that way."""


def reader_estimates(
    published: Records | Baskets,
    workload: Sequence[Query],
    original: Records | Baskets | None = None,
    hierarchies: Trees = None,
    *,
    meanings: TokenMeanings | None = None,
    deleted: float = 0.0,
    threads: int | None = None,
) -> Floats:
    """The count that a reader takes each query to have on the original rows.

    As `loss.queries.estimates`, of which this differs in the items. `meanings` are those of the published tokens, if hierarchies do not say
    it all; `deleted` is the share of original occurrences that is known to be missing.
    """
    published = Records.of(published)
    original = published if original is None else Records.of(original)
    columns = read_columns(published, original, hierarchies, workload)
    if not any(query.items for query in workload) or published.items is None or original.items is None:
        return estimates(published, workload, original, hierarchies, threads=threads)
    if meanings is None:
        tree = hierarchies.get(original.items_name) if isinstance(hierarchies, dict) else hierarchies
        sensitive = published.sensitive_items | original.sensitive_items
        meanings = token_meanings(published.items.vocabulary, original.items.vocabulary, tree, sensitive=sensitive)  # type: ignore[arg-type]
    reader = _Reader(published.items, meanings, deleted, published.sensitive_items | original.sensitive_items)

    def rows_of(query: Query) -> float:
        weight = columns.weights(query)
        rows = float((columns.sizes * weight).sum())
        return min(rows, reader.rows(query.items, columns.group, weight)) if query.items else rows

    return each_query(rows_of, workload, threads)


class _Reader:
    """Published sets, and what is taken to be below their tokens."""

    def __init__(self, sets: Baskets, meanings: TokenMeanings, deleted: float, sensitive: Collection[str]) -> None:
        self.sets, self.meanings, self.sensitive = sets, meanings, frozenset(sensitive)
        self.place = {name: i for i, name in enumerate(meanings.domain)}
        self.support = sets.supports()
        self.losses = Losses(gaps_of_share(deleted), self.support)
        self.along = self.support / max(1, len(sets))
        self.single = meanings.breadth <= 1
        self._alone = lru_cache(1 << 16)(self._of_item)
        self._everywhere = np.zeros(len(sets), np.int64)

    @cached_property
    def chance(self) -> Floats:
        """Per entry of `meanings.members`: how likely a row with the token holds the item."""
        meanings = self.meanings
        item, token = meanings.members, meanings.owner
        weight = item_weights(meanings, self.support)
        below = np.bincount(token, weight[item], minlength=len(self.support))
        share = np.minimum(self.along, 1 - 0.5 / max(1, len(self.sets)))[token]
        with np.errstate(divide="ignore", invalid="ignore"):
            guess = -np.expm1(np.log1p(-share) * weight[item] / below[token]) / share
        return np.where(self.single[token] | (share == 0), 1.0, guess)

    @cached_property
    def _entries(self) -> Ints:
        """The entries of `meanings.members`, item by item, as `meanings.holders` has them."""
        return np.argsort(self.meanings.members, kind="stable")

    def rows(self, items: Collection[str], group: Ints, weight: Floats) -> float:
        """The sum over rows of the weight of their group times the chance that they hold these items."""
        alone = [self._alone(item) for item in sorted(items)]
        # As in `counts`: a row loses two items often by the same, and no set is in more rows than its items.
        found = self._likely(items, group, weight) * max(times for _, times in alone)
        return min(found, *(rows * times for rows, times in alone))

    def _of_item(self, item: str) -> tuple[float, float]:
        """The rows that hold an item, and by which factor these are too few."""
        rows = self._likely((item,), self._everywhere, np.ones(1))
        return rows, 1.0 if item in self.sensitive else self.losses.times(rows)[0]

    def _likely(self, items: Collection[str], group: Ints, weight: Floats) -> float:
        offsets, holders = self.meanings.holders
        covers = np.zeros(len(self.support), np.int64)
        chance = np.zeros((len(items), len(self.support)))
        for bit, item in enumerate(sorted(items)):
            if (i := self.place.get(item)) is not None:
                own = slice(offsets[i], offsets[i + 1])
                covers[holders[own]] |= 1 << bit
                chance[bit, holders[own]] = self.chance[self._entries[own]]
        return float(
            likely_rows(
                self.sets.offsets, self.sets.items, group, weight, covers, chance, self.along, self.meanings.sizes
            )
        )


def item_weights(meanings: TokenMeanings, support: Ints) -> Floats:
    """Per item, how much of the rows of a wider token it is likely to take."""
    item, token = meanings.members, meanings.owner
    wide = meanings.breadth[token] > 1
    own = np.bincount(item[~wide], support[token[~wide]], minlength=len(meanings.domain)) + 0.5
    if meanings.nested:
        return np.asarray(own**FLATTEN, np.float64)
    count = own
    for _ in range(ROUNDS):
        below = np.bincount(token, count[item], minlength=len(support))
        part = support[token[wide]] * count[item[wide]] / below[token[wide]]
        count = own + np.bincount(item[wide], part, minlength=len(own))
    return np.asarray(count**FLATTEN_SETS, np.float64)
