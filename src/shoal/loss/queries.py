"""Queries that count rows, and how far published rows lead them astray: ARE, the average relative error (section 6 of the RT paper).

A query asks for rows with certain values in some columns and with all of certain items. On published rows the answer is an expected
one: each row is any of the originals that it may stand for, all equally likely. A range is one number in it (whole numbers are
counted, others measured by length), a label one of the leaves under its node, `*` any value of the column. A generalized item is
any non-empty subset of the s items that it stands for (set semantics): 2^(s-q) of those 2^s - 1 subsets hold q given items, so the
chance is 2^-q / (1 - 2^-s), which no s overflows. It is not the q-th power of the chance of one item: items of one token are not
independent, since once one of them is there, the others are free. Columns, and the tokens of a row, are independent. What is
published as itself, sensitive items among it, is certain, and what was left out is taken to be absent. In a bucketized release a row
has any of the sensitive values of its bucket, each with its share of the bucket.

Conditions are looked at once for each class of rows that are equal in the columns asked for, items in one walk over the rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.errors import InputError
from shoal.hierarchy.meanings import TokenMeanings, bounds_in, node_meanings, number_in, token_meanings
from shoal.hierarchy.tree import Hierarchy
from shoal.kernels.measures.query_answers import expected_rows
from shoal.kernels.parallel import even_blocks, over_blocks
from shoal.loss.relational import ANYTHING
from shoal.numbers import Bools, Codes, Floats, Ints
from shoal.records.baskets import Baskets
from shoal.records.buckets import Buckets
from shoal.records.records import MISSING, Column, Records, row_classes

Trees = Mapping[str, Hierarchy | None] | Hierarchy | None
"""A tree per column, the items' one under the name of their column; for baskets, that tree alone."""

MOST_ITEMS = 16
"""In one query: tokens that overlap in q of its items take 2^q steps for a row."""


@dataclass(frozen=True)
class Between:
    """A number from `low` to `high`, both included."""

    column: str
    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise InputError(f"column {self.column!r}: there is no number from {self.low} to {self.high}")


@dataclass(frozen=True)
class Among:
    """One of some values; `MISSING` may be one of them."""

    column: str
    values: frozenset[str]


@dataclass(frozen=True)
class Query:
    """How many rows meet all conditions and hold all items?"""

    conditions: tuple[Between | Among, ...] = ()
    items: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        names = [condition.column for condition in self.conditions]
        twice = [name for name in names if names.count(name) > 1]
        if twice:
            raise InputError(f"a query has two conditions on column {twice[0]!r}; join them into one")
        if len(self.items) > MOST_ITEMS:
            raise InputError(f"a query asks for {len(self.items)} items; ask for at most {MOST_ITEMS}")


def answers(records: Records | Baskets, workload: Sequence[Query], *, threads: int | None = None) -> Ints:
    """The count that each query gives on original rows."""
    exact = estimates(records, workload, records, threads=threads)
    return np.rint(exact).astype(np.int64)


def estimates(
    published: Records | Baskets | Buckets | Sequence[Buckets],
    workload: Sequence[Query],
    original: Records | Baskets | None = None,
    hierarchies: Trees = None,
    *,
    threads: int | None = None,
) -> Floats:
    """The count that each query is expected to give on published rows.

    Of `original`, only the domains are used: the values of each column and the names of the items, never a row. `hierarchies` are those
    that labels come from. A category without one has a flat one, a number without one is published in ranges. Without `original`, what
    is published is its own domain: all that is needed where nothing was generalized, as in buckets. Those of several sensitive columns are
    given together, each over the same rows.
    """
    if not isinstance(published, Records | Baskets):
        every = (published,) if isinstance(published, Buckets) else published
        return _expected_in_buckets(every, workload, original, threads)
    published = Records.of(published)
    original = published if original is None else Records.of(original)
    columns = read_columns(published, original, hierarchies, workload)
    wanted = frozenset[str]().union(*(query.items for query in workload))
    tree = _trees(hierarchies, original, published).get(original.items_name)
    holding = _holding(published, original, tree) if wanted else None

    def expected_rows_of(query: Query) -> float:
        weight = columns.weights(query)
        if not query.items or holding is None:
            return float((columns.sizes * weight).sum())
        return holding.expected_rows(query.items, columns.group, weight)

    return each_query(expected_rows_of, workload, threads)


@dataclass(frozen=True, eq=False)
class ColumnReadings:
    """What published columns mean, for each class of rows that are equal in those that are asked for."""

    group: Ints
    """The class of each row."""
    sizes: Floats
    """Rows of each class."""
    readings: Mapping[str, _Labels | _Ranges]
    codes: Mapping[str, Codes]
    """Per column, the published value of each class."""

    def weights(self, query: Query) -> Floats:
        """Per class, the chance that one of its rows meets all conditions of a query."""
        weight = np.ones(len(self.sizes), np.float64)
        for condition in query.conditions:
            weight *= self.readings[condition.column].chances(condition)[self.codes[condition.column]]
        return weight


def read_columns(
    published: Records, original: Records, hierarchies: Trees, workload: Sequence[Query]
) -> ColumnReadings:
    """What the columns mean that the queries of a workload ask for."""
    trees = _trees(hierarchies, original, published)
    names = list(dict.fromkeys(condition.column for query in workload for condition in query.conditions))
    group, first = row_classes([published[name] for name in names], len(published))
    return ColumnReadings(
        group,
        np.bincount(group, minlength=len(first)).astype(np.float64),
        {name: _reading(published[name], original[name], trees.get(name)) for name in names},
        {name: published[name].codes[first] for name in names},
    )


def relative_errors(
    original: Records | Baskets,
    published: Records | Baskets | Buckets | Sequence[Buckets],
    workload: Sequence[Query],
    hierarchies: Trees = None,
    *,
    sanity: float = 1.0,
    threads: int | None = None,
) -> Floats:
    """Of each query, |estimate - answer| / max(answer, sanity).

    With the sanity bound of 1, every answer but 0 is its own yardstick, as in the paper; where tiny answers should not weigh that much,
    the literature takes a small share of the rows instead.
    """
    if not sanity > 0:
        raise InputError(f"the sanity bound is {sanity}; give a number of rows, more than 0")
    exact = answers(original, workload, threads=threads)
    expected = estimates(published, workload, original, hierarchies, threads=threads)
    errors: Floats = np.abs(expected - exact) / np.maximum(exact, sanity)
    return errors


def are(
    original: Records | Baskets,
    published: Records | Baskets | Buckets | Sequence[Buckets],
    workload: Sequence[Query],
    hierarchies: Trees = None,
    *,
    sanity: float = 1.0,
    threads: int | None = None,
) -> float:
    """The average relative error, the mean of `relative_errors`; 0 for no queries."""
    errors = relative_errors(original, published, workload, hierarchies, sanity=sanity, threads=threads)
    return float(errors.mean()) if len(errors) else 0.0


def _expected_in_buckets(
    every: Sequence[Buckets], workload: Sequence[Query], original: Records | Baskets | None, threads: int | None
) -> Floats:
    """Rows are exact except in the sensitive columns: those that meet the other conditions are counted bucket by bucket, and each bucket
    has its share of the values asked for; several columns are dealt independently of each other."""
    domain = None if original is None else Records.of(original)
    if any(query.items for query in workload):
        raise InputError("a query asks for items; buckets have none")
    published, secrets = every[0], {each.sensitive: each for each in every}
    names = list(dict.fromkeys(condition.column for query in workload for condition in query.conditions))
    columns = {name: _spread(secrets[name]) if name in secrets else published.rows[name] for name in names}
    readings = {
        name: _reading(column, column if domain is None else domain[name], None) for name, column in columns.items()
    }

    def expected_rows_of(query: Query) -> float:
        meeting = np.ones(len(published.rows), np.float64)
        wanted: Floats = np.ones(len(published), np.float64)
        for condition in query.conditions:
            chances = readings[condition.column].chances(condition)
            if condition.column in secrets:
                each = secrets[condition.column]
                wanted *= np.bincount(each.owner, each.share * chances[each.values], len(each))
            else:
                meeting *= chances[columns[condition.column].codes]
        return float((np.bincount(published.of_row, meeting, minlength=len(published)) * wanted).sum())

    return each_query(expected_rows_of, workload, threads)


def _spread(published: Buckets) -> Column:
    """The values of the sensitive column as a column with a row for each: numbers, if they all are."""
    values = Column.from_codes(
        published.sensitive, "sensitive", np.arange(len(published.vocabulary)), published.vocabulary
    )
    if values.values == published.vocabulary:
        return values
    return Column(values.name, values.role, np.arange(len(published.vocabulary), dtype=np.int32), published.vocabulary)


@dataclass(frozen=True, eq=False)
class _Labels:
    """What the values of a published column mean, as nodes of a tree over the original values; several nodes make a set of values."""

    tree: Hierarchy
    numbers: Floats | None
    """For a numeric column, the number of each leaf, NaN where it is none."""
    node: Ints
    value: Ints
    """The published value, ascending, that each node belongs to."""

    def chances(self, condition: Between | Among) -> Floats:
        """Per published value, the share of its leaves that meet the condition."""
        met = self.tree.sums(self._meeting(condition).astype(np.int64))
        wanted, all_leaves = (np.bincount(self.value, count[self.node]) for count in (met, self.tree.leaf_count))
        share: Floats = wanted / all_leaves
        return share

    def _meeting(self, condition: Between | Among) -> Bools:
        """Whether each leaf meets the condition; numbers are compared as numbers, however they are spelled."""
        if isinstance(condition, Between):
            if self.numbers is None:
                raise InputError(f"column {condition.column!r} is not numeric; ask for values, not for a range")
            inside: Bools = (condition.low <= self.numbers) & (self.numbers <= condition.high)
            return inside
        leaves = self.tree.labels[: self.tree.n_leaves]
        meeting = np.fromiter((leaf in condition.values for leaf in leaves), np.bool_, len(leaves))
        if self.numbers is not None:
            meeting |= np.isin(self.numbers, _numbers(condition.values))
        return meeting


@dataclass(frozen=True, eq=False)
class _Ranges:
    """What the values of a published column of numbers mean: a number from `low` to `high`, or a missing one."""

    low: Floats
    high: Floats
    missing: Floats
    """The chance that it is missing."""
    whole: bool
    """Whether only whole numbers are meant."""

    def chances(self, condition: Between | Among) -> Floats:
        """Per published value, the chance that its number meets the condition."""
        if isinstance(condition, Between):
            return (1.0 - self.missing) * self._inside(condition.low, condition.high)
        share = np.zeros(len(self.low), np.float64)
        for number in _numbers(condition.values):
            share += self._inside(number, number)
        return (1.0 - self.missing) * share + (self.missing if MISSING in condition.values else 0.0)

    def _inside(self, low: float, high: float) -> Floats:
        """The share of each range that lies between the two numbers."""
        if self.whole:
            low, high = float(np.ceil(low)), float(np.floor(high))
        unit = float(self.whole)
        over = np.minimum(self.high, high) - np.maximum(self.low, low) + unit
        length = self.high - self.low + unit
        within = (self.low >= low) & (self.high <= high)
        share: Floats = np.where(within, 1.0, np.maximum(over, 0.0) / np.where(length > 0, length, 1.0))
        return share


class _Holding:
    """Published sets, and what their tokens mean."""

    def __init__(self, published: Baskets, meanings: TokenMeanings) -> None:
        self.published, self.meanings = published, meanings
        self.place = {name: i for i, name in enumerate(meanings.domain)}
        self.void = np.exp2(-meanings.sizes.astype(np.float64))
        """Per token, how likely the empty set is: 2^-s for the s items that it stands for."""

    def expected_rows(self, items: Collection[str], group: Ints, weight: Floats) -> float:
        """The sum over rows of the weight of their group times the chance that they hold these items."""
        sets, (offsets, holders) = self.published, self.meanings.holders
        mask = np.zeros(len(sets.vocabulary), np.int64)
        for bit, item in enumerate(sorted(items)):
            if (i := self.place.get(item)) is not None:
                mask[holders[offsets[i] : offsets[i + 1]]] |= 1 << bit
        return float(expected_rows(sets.offsets, sets.items, group, weight, mask, self.void, (1 << len(items)) - 1))


def _holding(published: Records, original: Records, tree: Hierarchy | None) -> _Holding:
    if published.items is None or original.items is None:
        raise InputError("a query asks for items; the table has none")
    sensitive = published.sensitive_items | original.sensitive_items
    tokens, items = published.items.vocabulary, original.items.vocabulary
    return _Holding(published.items, token_meanings(tokens, items, tree, sensitive=sensitive))


def each_query(count: Callable[[Query], float], workload: Sequence[Query], threads: int | None) -> Floats:
    """What is counted for each query, by threads."""
    parts = over_blocks(lambda a, b: [*map(count, workload[a:b])], even_blocks(np.ones(len(workload)), 64), threads)
    return np.array([rows for part in parts for rows in part], np.float64)


def _trees(given: Trees, original: Records, published: Records) -> dict[str, Hierarchy | None]:
    trees: dict[str, Hierarchy | None] = (
        {original.items_name: given} if isinstance(given, Hierarchy) else dict(given or {})
    )
    if published.items_name != original.items_name and published.items_name in trees:
        trees.setdefault(original.items_name, trees[published.items_name])
    return trees


def _reading(published: Column, original: Column, tree: Hierarchy | None) -> _Labels | _Ranges:
    """What the published values of a column mean; raises on the first that means nothing."""
    if tree is None and original.numbers is not None:
        return _ranges(published, original)
    tree, node, value = node_meanings(published, original, tree)
    numbers = None
    if original.numbers is not None:
        spelled = map(number_in, tree.labels[: tree.n_leaves])
        numbers = np.array([np.nan if number is None else number for number in spelled], np.float64)
    return _Labels(tree, numbers, node, value)


def _ranges(published: Column, original: Column) -> _Ranges:
    assert original.numbers is not None
    known = original.numbers[~np.isnan(original.numbers)]
    whole = is_whole(known)
    first, last = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
    domain = (last - first + 1 if whole else len(np.unique(known))) if len(known) else 0
    low, high, missing = (np.zeros(len(published.values), np.float64) for _ in range(3))
    for i, value in enumerate(published.values):
        if value == MISSING:
            missing[i] = 1.0
        elif value == ANYTHING:
            # A missing number is one more value of the domain, as a missing category is.
            low[i], high[i] = first, last
            missing[i] = 1 / (domain + 1) if MISSING in original.values else 0.0
        else:
            low[i], high[i], is_open = bounds_in(value, published.name)
            if whole and is_open:
                high[i] = max(low[i], math.ceil(high[i]) - 1.0)
    return _Ranges(low, high, missing, whole and bool(np.all(low == np.floor(low)) and np.all(high == np.floor(high))))


def is_whole(numbers: Floats) -> bool:
    return bool(np.all(numbers == np.floor(numbers)))


def _numbers(texts: Collection[str]) -> list[float]:
    """The different numbers among some texts, ascending."""
    return sorted({number for text in texts if (number := number_in(text)) is not None})
