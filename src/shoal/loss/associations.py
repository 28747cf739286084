"""What a bucketized release still tells about its sensitive column: expected counts, positive rules, errors (Li and Li 2008, VI-C).

A bucket of n rows that has a value c times gives it to each of its rows with a chance of c / n, so the rows that meet some conditions
have the value as often as the sum of those chances says. This is all that the release alone tells. `expected_counts` does that for
all values of a column, `associations` mines rules X => s by conviction over such counts, and the two errors compare what is
mined, or how sure it looks, with the original. The original itself is the case in which every value is a bucket of its own, and
is counted by the same kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from shoal.errors import InputError
from shoal.hierarchy.build import flat_tree
from shoal.hierarchy.tree import Hierarchy
from shoal.kernels.measures.positive_rules import counted_associations, mined_associations
from shoal.kernels.parallel import even_blocks, over_blocks
from shoal.numbers import Codes, Floats, Ints
from shoal.records.buckets import Buckets, sensitive_column
from shoal.records.knowledge import covers
from shoal.records.records import Records

BLOCKS = 24
"""Parts into which the nodes of each attribute, or the rules to count, are cut."""


@dataclass(frozen=True)
class Association:
    """One rule, for reading: rows that meet the conditions tend to have the value."""

    conditions: Mapping[str, str]
    """Attribute and the node that its value lies under."""
    value: str
    covered: int
    """Rows that meet the conditions."""
    together: float
    """Those among them that have the value, by expectation on a release."""
    confidence: float
    """The share of the covered rows that have the value."""
    conviction: float
    """P(X) P(not s) / P(X and not s): how many times as often it would fail if the value came by chance; infinite if it never fails."""

    def __str__(self) -> str:
        return f"{' & '.join(f'{name}={node}' for name, node in self.conditions.items())} => {self.value}"


@dataclass(frozen=True, eq=False)
class Associations:
    """A table of rules, short ones first, then by nodes and value."""

    hierarchies: Mapping[str, Hierarchy]
    """Per attribute that may stand in a rule, the tree over its values; their order is that of the columns of `nodes`."""
    sensitive: str
    values: tuple[str, ...]
    frequency: Floats
    """Per value, its share of all rows."""
    rows: int
    nodes: Codes
    """(rules, attributes): the node of each attribute, -1 where the rule says nothing about it."""
    value: Codes
    covered: Ints
    together: Floats

    def __post_init__(self) -> None:
        for array in (self.frequency, self.nodes, self.value, self.covered, self.together):
            array.setflags(write=False)

    def __len__(self) -> int:
        return len(self.value)

    def __repr__(self) -> str:
        return f"Associations({len(self):,} with {self.sensitive})"

    def __iter__(self) -> Iterator[Association]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, i: int) -> Association:
        return Association(
            dict(self._conditions(i)),
            self.values[self.value[i]],
            int(self.covered[i]),
            float(self.together[i]),
            float(self.confidence[i]),
            float(self.conviction[i]),
        )

    @cached_property
    def support(self) -> Floats:
        """Per rule, the share of all rows that meet it whole: P(X and s)."""
        return np.asarray(self.together / max(1, self.rows))

    @cached_property
    def confidence(self) -> Floats:
        """Per rule, P(s | X); 0 where no row meets the conditions."""
        return np.asarray(self.together / np.maximum(self.covered, 1))

    @cached_property
    def conviction(self) -> Floats:
        """Per rule, P(X) P(not s) / P(X and not s)."""
        fails = np.maximum(self.covered - self.together, 0.0)
        never = fails <= 1e-9 * self.covered  # shares that add up to 1 may end just below
        by_chance = self.covered * (1 - self.frequency[self.value])
        return np.asarray(np.divide(by_chance, fails, out=np.full(len(self), np.inf), where=~never), np.float64)

    def keys(self) -> set[tuple[tuple[tuple[str, str], ...], str]]:
        """The rules in words, for comparing tables."""
        return {(self._conditions(i), self.values[self.value[i]]) for i in range(len(self))}

    def _conditions(self, i: int) -> tuple[tuple[str, str], ...]:
        return tuple(
            (name, tree.names[node])
            for (name, tree), node in zip(self.hierarchies.items(), self.nodes[i].tolist(), strict=True)
            if node >= 0
        )


@dataclass(frozen=True)
class IdentificationError:
    """How far the rules found on a release are not those of the original, as shares of the latter (Figure 7)."""

    false_positive: float
    """Rules that only the release shows."""
    false_negative: float
    """Rules that it does not show."""


def expected_counts(published: Buckets, column: str) -> Floats:
    """(values of the column, sensitive values): how many rows are expected to have both. The cross table of the two columns."""
    rows = published.rows[column]
    n = max(1, len(published))
    pairs, many = np.unique(rows.codes.astype(np.int64) * n + published.of_row, return_counts=True)
    code, bucket = np.divmod(pairs, n)
    lengths = np.diff(published.offsets)[bucket]
    pair = np.repeat(np.arange(len(pairs)), lengths)
    place = published.offsets[bucket[pair]] + np.arange(len(pair)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    width = len(published.vocabulary)
    cells = np.bincount(
        code[pair] * width + published.values[place],
        many[pair] * published.share[place],
        minlength=len(rows.values) * width,
    )
    return np.asarray(cells.reshape(len(rows.values), width), np.float64)


def associations(
    data: Records | Buckets,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    *,
    min_support: float = 0.01,
    min_conviction: float = 1.25,
    max_length: int | None = None,
    threads: int | None = None,
) -> Associations:
    """All rules X => s with a support P(X and s) and a conviction of at least these, on original rows or on a release.

    Conditions are nodes of the hierarchies of quasi columns, roots left out (flat trees where none is given), at most `max_length` of them.
    On a release, counts are the expected ones.
    """
    _check(min_support, min_conviction, max_length)
    buckets = _as_buckets(data)
    quasi = buckets.rows.of_role("quasi")
    given = hierarchies or {}
    unknown = [name for name in given if all(column.name != name for column in quasi)]
    if unknown:
        raise InputError(f"a hierarchy is given for {unknown[0]!r}, which is not a quasi column of the table")
    trees = {column.name: given.get(column.name) or flat_tree(column.values) for column in quasi if column.values}
    n = len(buckets.rows)
    frequency = buckets.totals / max(1, n)
    none = np.zeros(0)
    empty = Associations(
        trees,
        buckets.sensitive,
        buckets.vocabulary,
        frequency,
        n,
        np.zeros((0, len(trees)), np.int32),
        np.zeros(0, np.int32),
        np.zeros(0, np.int64),
        none,
    )
    if not trees or not n:
        return empty
    above = covers(buckets.rows, trees)
    ends = [*above.base[1:].tolist(), len(above.start) - 1]
    parts = []
    for a, (tree, first, last) in enumerate(zip(trees.values(), above.base.tolist(), ends, strict=True)):
        nodes = above.node[above.start[first] : above.start[last]]
        times = np.repeat(np.bincount(above.codes[a], minlength=last - first), np.diff(above.start[first : last + 1]))
        work = np.bincount(nodes, times, minlength=tree.n_nodes)
        parts += [(a, low, high) for low, high in even_blocks(work + 1e-9, BLOCKS) if work[low:high].any()]

    def run(first: int, last: int) -> Any:
        a, low, high = parts[first]
        return mined_associations(
            above.codes,
            buckets.of_row,
            above.base,
            above.start,
            above.node,
            buckets.offsets,
            buckets.values,
            buckets.share,
            1 - frequency,
            min_support * n,
            float(min_conviction),
            above.most_nodes,
            a,
            low,
            high,
            len(trees) if max_length is None else max_length,
        )

    mined = over_blocks(run, [(i, i + 1) for i in range(len(parts))], threads)
    nodes, value, covered, together = (np.concatenate([part[i] for part in mined]) for i in range(4))
    order = np.lexsort((value, *nodes.T[::-1], np.count_nonzero(nodes >= 0, axis=1)))
    return replace(empty, nodes=nodes[order], value=value[order], covered=covered[order], together=together[order])


def recount(rules: Associations, data: Records | Buckets, *, threads: int | None = None) -> Associations:
    """The same rules with the counts that other rows, or a release, give them."""
    buckets = _as_buckets(data)
    n, names = len(buckets.rows), list(rules.hierarchies)
    place = {name: code for code, name in enumerate(buckets.vocabulary)}
    there = np.array([place.get(name, -1) for name in rules.values], np.int32)
    share = np.append(buckets.totals / max(1, n), 0.0)[there]
    same = replace(rules, frequency=share, rows=n)
    if not len(rules):
        return same
    position = np.array([_positions(buckets.rows, name, rules.hierarchies[name]) for name in names], np.int64)
    combinations, which = np.unique(rules.nodes, axis=0, return_inverse=True)
    which = which.reshape(-1)
    low = np.zeros(combinations.shape, np.int64)
    high = np.zeros(combinations.shape, np.int64)
    for a, tree in enumerate(rules.hierarchies.values()):
        span = np.concatenate((tree.span, [[0, tree.n_leaves]]))  # -1, no node, is the entry at the end
        low[:, a], high[:, a] = span[combinations[:, a], 0], span[combinations[:, a], 1]
    order = np.argsort(which, kind="stable")
    start = np.searchsorted(which[order], np.arange(len(combinations) + 1)).astype(np.int64)
    wanted = there[rules.value[order]]

    def run(first: int, last: int) -> Any:
        return counted_associations(
            position.reshape(len(names), n),
            buckets.of_row,
            buckets.offsets,
            buckets.values,
            buckets.share,
            low,
            high,
            start,
            wanted,
            len(buckets.vocabulary),
            first,
            last,
        )

    counts = over_blocks(run, even_blocks(np.ones(len(combinations)), BLOCKS), threads)
    together = np.empty(len(rules), np.float64)
    together[order] = np.concatenate([part[1] for part in counts])
    return replace(same, covered=np.concatenate([part[0] for part in counts])[which], together=together)


def confidence_error(rules: Associations, published: Records | Buckets, *, threads: int | None = None) -> float:
    """How far a release is off about the confidence of the original's rules, relative to it, on average (Figure 6); 0 for no rules."""
    if not len(rules):
        return 0.0
    there = recount(rules, published, threads=threads).confidence
    return float((np.abs(there - rules.confidence) / rules.confidence).mean())


def identification_error(original: Associations, mined: Associations) -> IdentificationError:
    """Rules that a release shows wrongly, and that it hides. Mine both with the same hierarchies and thresholds."""
    true, shown = original.keys(), mined.keys()
    if not true:
        return IdentificationError(float("inf") if shown else 0.0, 0.0)
    return IdentificationError(len(shown - true) / len(true), len(true - shown) / len(true))


def _as_buckets(data: Records | Buckets) -> Buckets:
    """A release as it is, and original rows as buckets of equal values, in which nothing is left open."""
    return data if isinstance(data, Buckets) else Buckets.of(data, sensitive_column(data).codes)


def _positions(rows: Records, name: str, tree: Hierarchy) -> Ints:
    """Per row, the place of its value among the leaves of a tree, in the order that spans speak of."""
    column = rows[name]
    try:
        leaves = tree.leaves_of(column.values)
    except InputError as error:
        raise error.within(f"column {name!r}: ") from None
    return np.asarray(tree.span[leaves, 0][column.codes], np.int64)


def _check(min_support: float, min_conviction: float, max_length: int | None) -> None:
    if not 0 < min_support <= 1:
        raise InputError(f"min_support must be a share of the rows, greater than 0 and at most 1, not {min_support!r}")
    if not 0 <= min_conviction < float("inf"):
        raise InputError(f"min_conviction must be a number of at least 0, not {min_conviction!r}")
    if max_length is not None and (isinstance(max_length, bool) or not isinstance(max_length, int) or max_length < 1):
        raise InputError(f"max_length must be a whole number of at least 1, not {max_length!r}")
