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
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from shoal.errors import VALUES, InputError
from shoal.hierarchy.meanings import set_members
from shoal.hierarchy.tree import Hierarchy, count_of
from shoal.loss.relational import ANYTHING, flat
from shoal.records.baskets import Baskets
from shoal.records.buckets import Buckets, sensitive_column
from shoal.records.records import MISSING, Column, Records

__all__ = [
    "Among",
    "Between",
    "Query",
    "answers",
    "are",
    "estimates",
    "random_workload",
    "relative_errors",
    "subset_workload",
]

Floats = npt.NDArray[np.float64]
Trees = Mapping[str, Hierarchy | None] | Hierarchy | None
"""A tree per column, the items' one under the name of their column; for baskets, that tree alone."""

MOST_ITEMS = 16
"""In one query: tokens that overlap in q of its items take 2^q steps for a row."""
DRAWS = 1000
"""How often a query of random subsets is drawn at most, for each that is asked for, until some row meets it."""
NEAR = 0.1
"""How far a random range reaches to either side of a number, as a share of the distinct numbers."""

_RANGE = re.compile(r"\[([^:\[\]()]+):([^:\[\]()]+)([\])])")


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


def random_workload(
    records: Records | Baskets,
    n: int = 100,
    kind: Literal["relational", "items", "mixed"] = "relational",
    seed: int = 0,
    *,
    columns: Sequence[str] | None = None,
    n_columns: int = 2,
    n_items: int = 2,
) -> tuple[Query, ...]:
    """`n` queries on columns, on items (pairs unless told otherwise, as in the paper), or on both; the same seed gives the same ones.

    Each query is drawn from a row drawn at random, so that none has the answer 0 and what is frequent is asked for often: `n_columns` of
    the row's values (of the quasi-identifiers, or the `columns` given) and `n_items` of its items. A category is asked for as
    it is, a number as a range around it that reaches over at most a tenth of the distinct numbers to either side.
    """
    records = Records.of(records)
    if kind not in ("relational", "items", "mixed"):
        raise InputError(f"queries of kind {kind!r} are not known; choose relational, items or mixed")
    if n < 0 or n_columns < 1 or not 1 <= n_items <= MOST_ITEMS:
        raise InputError(f"a query asks for at least one column and for 1 to {MOST_ITEMS} items")
    asked = [records[name] for name in columns] if columns is not None else list(records.of_role("quasi"))
    rows = np.arange(len(records))
    if kind != "relational":
        if records.items is None:
            raise InputError(f"queries of kind {kind} ask for items; the table has none")
        rows = np.flatnonzero(records.items.lengths >= n_items)
    if kind != "items" and not asked:
        raise InputError(f"queries of kind {kind} ask for columns; no column is a quasi-identifier and none is named")
    if n and not len(rows):
        raise InputError(f"no row holds {n_items} items to ask for; ask for fewer")
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        row = int(rows[rng.integers(len(rows))])
        conditions: tuple[Between | Among, ...] = ()
        items: frozenset[str] = frozenset()
        if kind != "items":
            picked = np.sort(rng.choice(len(asked), min(n_columns, len(asked)), replace=False))
            conditions = tuple(_condition(asked[j], row, rng) for j in picked.tolist())
        if kind != "relational" and records.items is not None:
            sets = records.items
            held = sets.items[sets.offsets[row] : sets.offsets[row + 1]]
            items = frozenset(sets.vocabulary[i] for i in rng.choice(held, n_items, replace=False).tolist())
        found.append(Query(conditions, items))
    return tuple(found)


def subset_workload(records: Records, n: int = 1000, *, dim: int, sel: float, seed: int = 0) -> tuple[Query, ...]:
    """`n` queries of the form that section VI-D of the Injector paper asks; the same seed gives the same ones.

    `dim` of the quasi-identifiers, drawn at random, and the sensitive column: of each, some of its values, drawn at random as well, from 1
    up to the share `sel` of them. A query that no row meets is drawn again: there is no relative error of 0.
    """
    sensitive = sensitive_column(records)
    quasi = records.of_role("quasi")
    if not 0 <= dim <= len(quasi):
        raise InputError(f"dim must be a number of quasi-identifiers, from 0 to {len(quasi)}, not {dim!r}")
    if not 0 < sel <= 1:
        raise InputError(f"sel must be a share of the values, greater than 0 and at most 1, not {sel!r}")
    if n and not len(records):
        raise InputError("there are no rows to ask for")
    rng = np.random.default_rng(seed)
    found: list[Query] = []
    for _ in range(DRAWS):
        drawn = []
        for _ in range(n - len(found)):
            picked = np.sort(rng.choice(len(quasi), dim, replace=False)).tolist()
            drawn.append(Query(tuple(_subset(c, sel, rng) for c in (*(quasi[j] for j in picked), sensitive))))
        found += [query for query, count in zip(drawn, answers(records, drawn), strict=True) if count]
        if len(found) == n:
            return tuple(found)
    raise InputError(
        f"hardly any row meets {dim} conditions on at most {sel:.0%} of the values; ask for a smaller dim or a larger sel"
    )


def answers(
    records: Records | Baskets, workload: Sequence[Query], *, threads: int | None = None
) -> npt.NDArray[np.int64]:
    """The count that each query gives on original rows."""
    exact = estimates(records, workload, records, threads=threads)
    return np.rint(exact).astype(np.int64)


def estimates(
    published: Records | Baskets | Buckets,
    workload: Sequence[Query],
    original: Records | Baskets | None = None,
    hierarchies: Trees = None,
    *,
    threads: int | None = None,
) -> Floats:
    """The count that each query is expected to give on published rows.

    Of `original`, only the domains are used: the values of each column and the names of the items, never a row. `hierarchies` are those
    that labels come from. A category without one has a flat one, a number without one is published in ranges. Without `original`, what
    is published is its own domain: all that is needed where nothing was generalized, as in buckets.
    """
    from shoal.kernels.parallel import even_blocks, over_blocks

    if isinstance(published, Buckets):
        return _expected_in_buckets(published, workload, original, threads)
    published = Records.of(published)
    original = published if original is None else Records.of(original)
    trees = _trees(hierarchies, original, published)
    names = list(dict.fromkeys(condition.column for query in workload for condition in query.conditions))
    readings = {name: _reading(published[name], original[name], trees.get(name)) for name in names}
    group, first = _groups([published[name] for name in names], len(published))
    codes = {name: published[name].codes[first] for name in names}
    sizes = np.bincount(group, minlength=len(first)).astype(np.float64)
    wanted = frozenset[str]().union(*(query.items for query in workload))
    meanings = _meanings(published, original, trees.get(original.items_name), wanted) if wanted else None

    def expected(query: Query) -> float:
        weight = np.ones(len(first), np.float64)
        for condition in query.conditions:
            weight *= readings[condition.column].chances(condition)[codes[condition.column]]
        if not query.items or meanings is None or published.items is None:
            return float((sizes * weight).sum())
        return _expected_rows(published.items, group, weight, meanings, sorted(query.items))

    parts = over_blocks(
        lambda a, b: [expected(query) for query in workload[a:b]], even_blocks(np.ones(len(workload)), 64), threads
    )
    return np.array([count for part in parts for count in part], np.float64)


def relative_errors(
    original: Records | Baskets,
    published: Records | Baskets | Buckets,
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
    published: Records | Baskets | Buckets,
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
    published: Buckets, workload: Sequence[Query], original: Records | Baskets | None, threads: int | None
) -> Floats:
    """Rows are exact but for the sensitive column: what meets the other conditions is counted by buckets, and every bucket has its share of
    the values asked for."""
    from shoal.kernels.parallel import even_blocks, over_blocks

    domain = None if original is None else Records.of(original)
    if any(query.items for query in workload):
        raise InputError("a query asks for items; buckets have none")
    values = _spread(published)
    names = list(dict.fromkeys(condition.column for query in workload for condition in query.conditions))
    columns = {name: values if name == published.sensitive else published.rows[name] for name in names}
    readings = {
        name: _reading(column, column if domain is None else domain[name], None) for name, column in columns.items()
    }
    owner = np.repeat(np.arange(len(published), dtype=np.int64), np.diff(published.offsets))
    share = published.counts / published.sizes[owner]

    def expected(query: Query) -> float:
        meeting = np.ones(len(published.rows), np.float64)
        wanted: Floats = np.ones(len(published), np.float64)
        for condition in query.conditions:
            chances = readings[condition.column].chances(condition)
            if condition.column == published.sensitive:
                wanted = np.bincount(owner, share * chances[published.values], len(published)).astype(np.float64)
            else:
                meeting *= chances[columns[condition.column].codes]
        return float((np.bincount(published.of_row, meeting, minlength=len(published)) * wanted).sum())

    parts = over_blocks(
        lambda a, b: [expected(query) for query in workload[a:b]], even_blocks(np.ones(len(workload)), 64), threads
    )
    return np.array([count for part in parts for count in part], np.float64)


def _spread(published: Buckets) -> Column:
    """The values of the sensitive column as a column with a row for each: numbers, if they all are."""
    found = Column.from_codes(
        published.sensitive, "sensitive", np.arange(len(published.vocabulary)), published.vocabulary
    )
    if found.values == published.vocabulary:
        return found
    return Column(found.name, found.role, np.arange(len(published.vocabulary), dtype=np.int32), published.vocabulary)


@dataclass(frozen=True, eq=False)
class _Labels:
    """What the values of a published column mean, as nodes of a tree over the original values; several nodes make a set of values."""

    tree: Hierarchy
    numbers: Floats | None
    """For a numeric column, the number of each leaf, NaN where it is none."""
    node: npt.NDArray[np.int64]
    value: npt.NDArray[np.int64]
    """The published value, ascending, that each node belongs to."""

    def chances(self, condition: Between | Among) -> Floats:
        """Per published value, the share of its leaves that meet the condition."""
        met = self.tree.sums(self._meeting(condition).astype(np.int64))
        wanted, all_leaves = (np.bincount(self.value, count[self.node]) for count in (met, self.tree.leaf_count))
        share: Floats = wanted / all_leaves
        return share

    def _meeting(self, condition: Between | Among) -> npt.NDArray[np.bool_]:
        """Whether each leaf meets the condition; numbers are compared as numbers, however they are spelled."""
        if isinstance(condition, Between):
            if self.numbers is None:
                raise InputError(f"column {condition.column!r} is not numeric; ask for values, not for a range")
            inside: npt.NDArray[np.bool_] = (condition.low <= self.numbers) & (self.numbers <= condition.high)
            return inside
        leaves = self.tree.labels[: self.tree.n_leaves]
        found = np.fromiter((leaf in condition.values for leaf in leaves), np.bool_, len(leaves))
        if self.numbers is not None:
            found |= np.isin(self.numbers, _numbers(condition.values))
        return found


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
        found = np.zeros(len(self.low), np.float64)
        for number in _numbers(condition.values):
            found += self._inside(number, number)
        return (1.0 - self.missing) * found + (self.missing if MISSING in condition.values else 0.0)

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


@dataclass(frozen=True, eq=False)
class _Meanings:
    """What published tokens mean: how likely the empty set is for each, and which may hold a wanted item."""

    void: Floats
    """2^-s for the s items that a token stands for."""
    holders: Mapping[str, npt.NDArray[np.int64]]


def _expected_rows(
    sets: Baskets, group: npt.NDArray[np.int64], weight: Floats, meanings: _Meanings, items: Sequence[str]
) -> float:
    from shoal.kernels.measures.query_answers import expected_rows

    mask = np.zeros(len(sets.vocabulary), np.int64)
    for bit, item in enumerate(items):
        mask[meanings.holders[item]] |= 1 << bit
    wanted = (1 << len(items)) - 1
    return float(expected_rows(sets.offsets, sets.items, group, weight, mask, meanings.void, wanted))


def _trees(given: Trees, original: Records, published: Records) -> dict[str, Hierarchy | None]:
    trees: dict[str, Hierarchy | None] = (
        {original.items_name: given} if isinstance(given, Hierarchy) else dict(given or {})
    )
    if published.items_name != original.items_name and published.items_name in trees:
        trees.setdefault(original.items_name, trees[published.items_name])
    return trees


def _subset(column: Column, sel: float, rng: np.random.Generator) -> Among:
    """From 1 up to a share of the values of a column."""
    size = int(rng.integers(1, max(1, math.floor(sel * len(column.values) + 1e-9)) + 1))
    picked = rng.choice(len(column.values), size, replace=False)
    return Among(column.name, frozenset(column.values[code] for code in picked.tolist()))


def _condition(column: Column, row: int, rng: np.random.Generator) -> Between | Among:
    code = int(column.codes[row])
    if column.numbers is None or np.isnan(column.numbers[code]):
        return Among(column.name, frozenset((column.values[code],)))
    numbers = column.numbers[~np.isnan(column.numbers)]
    place, reach = int(np.searchsorted(numbers, column.numbers[code])), math.ceil(NEAR * len(numbers))
    low = int(rng.integers(max(0, place - reach), place + 1))
    high = int(rng.integers(place, min(len(numbers) - 1, place + reach) + 1))
    if low == high and not _is_whole(numbers):
        # A single number has no length: nothing but itself would ever be expected to meet it.
        low, high = (low, high + 1) if high + 1 < len(numbers) else (max(0, low - 1), high)
    return Between(column.name, float(numbers[low]), float(numbers[high]))


def _groups(columns: Sequence[Column], n: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The class of each row by the codes of these columns, and a row of each class."""
    group = np.zeros(n, np.int64)
    first = np.zeros(min(n, 1), np.int64)
    for column in columns:
        keys = group * max(1, len(column.values)) + column.codes
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        group = inverse.reshape(-1).astype(np.int64)
    return group, first.astype(np.int64)


def _reading(published: Column, original: Column, tree: Hierarchy | None) -> _Labels | _Ranges:
    """What the published values of a column mean; raises on the first that means nothing."""
    if tree is None and original.numbers is not None:
        return _ranges(published, original)
    if tree is None:
        tree = flat(original.values)
    elif tree.n_nodes > 1:
        tree = tree.with_unknown(original.values)
    names = tree.labels[: tree.n_leaves]
    numbers = None
    if original.numbers is not None:
        numbers = np.array([np.nan if (number := _number(name)) is None else number for name in names], np.float64)
    known = {name: v for v, name in enumerate(tree.names)}
    known.setdefault(ANYTHING, tree.root)
    node: list[int] = []
    value: list[int] = []
    for i, text in enumerate(published.values):
        members = (text,) if text in known else set_members(text, known)
        if not members:
            raise _unclear(published.name)
        node += [known[name] for name in members]
        value += [i] * len(members)
    return _Labels(tree, numbers, np.array(node, np.int64), np.array(value, np.int64))


def _ranges(published: Column, original: Column) -> _Ranges:
    assert original.numbers is not None
    known = original.numbers[~np.isnan(original.numbers)]
    whole = _is_whole(known)
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
            low[i], high[i] = _bounds(value, published.name, whole)
    return _Ranges(low, high, missing, whole and bool(np.all(low == np.floor(low)) and np.all(high == np.floor(high))))


def _bounds(value: str, column: str, whole: bool) -> tuple[float, float]:
    if (number := _number(value)) is not None:
        return number, number
    found = _RANGE.fullmatch(value)
    low, high = (_number(found[1]), _number(found[2])) if found else (None, None)
    if found is None or low is None or high is None or low > high:
        raise _unclear(column)
    if whole and found[3] == ")":
        high = max(low, math.ceil(high) - 1.0)
    return low, high


def _unclear(column: str) -> InputError:
    return InputError(
        f"column {column!r}: a published value is neither an original value nor a range, nor a label of its "
        "hierarchy; give the hierarchy that it was published with"
    )


def _is_whole(numbers: Floats) -> bool:
    return bool(np.all(numbers == np.floor(numbers)))


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _numbers(texts: Collection[str]) -> list[float]:
    """The different numbers among some texts, ascending."""
    return sorted({number for text in texts if (number := _number(text)) is not None})


def _meanings(published: Records, original: Records, tree: Hierarchy | None, wanted: Collection[str]) -> _Meanings:
    """What the tokens of published sets mean; raises if some mean nothing."""
    if published.items is None or original.items is None:
        raise InputError("a query asks for items; the table has none")
    tokens = published.items.vocabulary
    known = set(original.items.vocabulary)
    sensitive = published.sensitive_items | original.sensitive_items
    inner: dict[str, int] = {}
    if tree is not None:
        known.update(tree.labels[: tree.n_leaves])
        inner = {tree.names[v]: v for v in range(tree.n_leaves, tree.n_nodes)}
    size = np.ones(len(tokens), np.float64)
    holders: dict[str, list[int]] = {item: [] for item in wanted}
    nodes, at, strange = [], [], []
    for t, token in enumerate(tokens):
        if token in known:
            members: tuple[str, ...] = (token,)
        elif token in inner:
            nodes.append(inner[token])
            at.append(t)
            continue
        else:
            members = set_members(token, known)
        if not members:
            strange.append(token)
        size[t] = len(members)
        for item in members:
            if item in holders:
                holders[item].append(t)
    if strange:
        raise InputError(
            f"{count_of(strange, 'published item is', 'published items are')} neither original items nor sets of them"
            f"{VALUES}; give the hierarchy that they were published with",
            values=strange,
        )
    if tree is not None and nodes:
        _under_nodes(tree, np.array(nodes), np.array(at), sensitive, size, holders)
    return _Meanings(np.exp2(-size), {item: np.array(some, np.int64) for item, some in holders.items()})


def _under_nodes(
    tree: Hierarchy,
    nodes: npt.NDArray[np.int64],
    at: npt.NDArray[np.int64],
    sensitive: Collection[str],
    size: Floats,
    holders: dict[str, list[int]],
) -> None:
    """Enter the tokens that are categories. A sensitive item travels as it is: no category stands for it, though it lies below."""
    leaf = {name: v for v, name in enumerate(tree.labels[: tree.n_leaves])}
    open_to_all = np.array([name not in sensitive for name in leaf], np.int64)
    size[at] = np.maximum(tree.sums(open_to_all)[nodes], 1)
    for item, some in holders.items():
        if item in leaf and item not in sensitive:
            place = tree.span[leaf[item], 0]
            under = (tree.span[nodes, 0] <= place) & (place < tree.span[nodes, 1])
            some.extend(at[under].tolist())
