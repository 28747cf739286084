"""Estimates for readers of a release: counts of items and itemsets, pairs, and association rules, each with a range.

    for count in estimate_counts("public.csv", ["milk", "bread"], hierarchy="tree.csv", certificate="public.csv.certificate.json"):
        print(count.items, count.value, count.low, count.high)

Two ranges come with every figure. `least` and `most` are certain: rows that name the items hold them, and no row can hold them that
names neither them nor a category above them, but for what was deleted. `low` and `high` are narrower and rest on assumptions, about
how the rows of a category divide (`evidence`) and from what deletion takes (`gaps`). They were measured against the truth, see
`docs/guide/estimating.md`.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from math import ceil, floor, prod, sqrt
from typing import Any

import numpy as np

from shoal.analysis.chunk_counts import ChunkCounts
from shoal.analysis.evidence import Evidence, Rows
from shoal.analysis.gaps import Gaps, Losses, gaps_of_certificate, gaps_of_release, gaps_of_share
from shoal.analysis.reconstruction import drawn_records, is_in_chunks, release_in_chunks
from shoal.errors import VALUES, InputError
from shoal.guarantees.chunks import Chunks
from shoal.hierarchy.files import read_hierarchy
from shoal.hierarchy.tree import Hierarchy
from shoal.loss.common_pairs import common_pairs
from shoal.numbers import whole_number
from shoal.options import File as Path
from shoal.records.baskets import Baskets
from shoal.records.source import load_sets

TOP = 100
LESS, MORE = 0.5, 2.0
"""By how much an estimate of what stands in different chunks may be too high or too low."""
MOST_ITEMS = 62
"""Of a set: each has a bit."""


@dataclass(frozen=True)
class Range:
    """A figure of the original, as its release suggests it.

    Attributes:
        low: The lower end of the range that it is likely in.
        least: The lower end of the range that it is in for sure.

    >>> import shoal
    >>> shoal.Range(value=2.6, low=2, high=3, least=2, most=3).value
    2.6
    """

    value: float
    """The estimate."""
    low: float
    high: float
    """The range that it is likely in."""
    least: float
    most: float
    """The range that it is in for sure."""


@dataclass(frozen=True)
class CountEstimate(Range):
    """In how many rows of the original some items are together.

    Attributes:
        items: The items, by name.

    >>> import shoal
    >>> tree = shoal.Hierarchy.from_parents([2, 2, -1], ["milk", "cheese", "dairy"])
    >>> [count] = shoal.estimate_counts([["milk"], ["dairy"]], ["milk"], hierarchy=tree)
    >>> count.items, count.least, count.most
    (('milk',), 1, 2)
    """

    items: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"items": list(self.items)}


@dataclass(frozen=True)
class RuleEstimate:
    """A rule `given => then`: how many rows have both, how many of those with the first, and how much more than by chance.

    Attributes:
        given: The items that are given.
        then: Those that follow.
        confidence: As a share of the rows with what is given.
        lift: How many times as often as by chance.

    >>> import shoal
    >>> tree = shoal.Hierarchy.from_parents([2, 2, -1], ["milk", "bread", "food"])
    >>> [rule] = shoal.estimate_rules([["milk", "bread"], ["milk"]], [("milk", "bread")], hierarchy=tree)
    >>> rule.to_dict()["support"]
    0.5
    """

    given: tuple[str, ...]
    then: tuple[str, ...]
    support: Range
    """As a share of all rows."""
    confidence: Range
    lift: Range

    def to_dict(self) -> dict[str, Any]:
        """One flat row: `support`, `support_low`, and so on."""
        row: dict[str, Any] = {"given": list(self.given), "then": list(self.then)}
        for name in ("support", "confidence", "lift"):
            row |= {name if part == "value" else f"{name}_{part}": v for part, v in asdict(getattr(self, name)).items()}
        return row


def estimate_counts(
    release: Any,
    items: Iterable[str | Iterable[str]] | None = None,
    *,
    hierarchy: Hierarchy | Path | Any = None,
    certificate: Path | Mapping[str, Any] | None = None,
    deleted: float | None = None,
) -> list[CountEstimate]:
    """How many rows of the original hold each of these items, or sets of items; all items of the tree unless some are named.

    `release` is what was published under model km, or in chunks: a path, a data frame, Baskets, or the owner's Release, which knows its
    tree and its deletions. One in chunks needs no more; its certificate says k, which makes estimates better. Of model km, others
    give the `hierarchy` it was made with, and the `certificate`, or the share of occurrences that was `deleted`; without either, nothing
    was. A file that needs a word on how to be read goes through `shoal.read` first.

    Args:
        release: What was published.
        items: Items, or sets of them; all items of the tree unless given.
        hierarchy: The tree that the release was made with.
        certificate: The certificate, which says what was deleted.
        deleted: The share of occurrences that was deleted, where there is no certificate.

    Raises:
        InputError: The release cannot be read, the hierarchy is missing, or an item is not in it.

    >>> import shoal
    >>> rows = [["milk"], ["milk", "bread"], ["dairy"], ["bread"]]
    >>> tree = shoal.Hierarchy.from_parents([3, 3, 4, 4, -1], ["milk", "cheese", "bread", "dairy", "food"])
    >>> [count] = shoal.estimate_counts(rows, ["milk"], hierarchy=tree)
    >>> count.least, count.most, round(count.value, 1)
    (2, 3, 2.6)
    """
    estimator = _estimator(release, hierarchy, certificate, deleted)
    wanted = estimator.names if items is None else items
    return [estimator.count(_names(one)) for one in _listed(wanted, "items")]


def estimate_pairs(
    release: Any,
    pairs: Iterable[Iterable[str]] | None = None,
    *,
    top: int = TOP,
    hierarchy: Hierarchy | Path | Any = None,
    certificate: Path | Mapping[str, Any] | None = None,
    deleted: float | None = None,
) -> list[CountEstimate]:
    """How many rows of the original hold both items of these pairs; of the `top` pairs that are published most often unless some are named.

    A pair whose items never stand as themselves is not among those that are found: name it. The rest is as for `estimate_counts`.

    Args:
        release: What was published.
        pairs: Pairs of items; the `top` commonest unless given.
        top: How many pairs are looked for.
        hierarchy: The tree that the release was made with.
        certificate: The certificate, which says what was deleted.
        deleted: The share of occurrences that was deleted, where there is no certificate.

    Raises:
        InputError: The release cannot be read, the hierarchy is missing, or an item is not in it.

    >>> import shoal
    >>> tree = shoal.Hierarchy.from_parents([3, 3, 4, 4, -1], ["milk", "cheese", "bread", "dairy", "food"])
    >>> [pair] = shoal.estimate_pairs([["milk", "bread"], ["dairy", "bread"]], hierarchy=tree)
    >>> pair.items, pair.least, pair.most
    (('bread', 'milk'), 1, 2)
    """
    estimator = _estimator(release, hierarchy, certificate, deleted)
    return [estimator.count(pair) for pair in _pairs(estimator, pairs, top)]


def estimate_rules(
    release: Any,
    rules: Iterable[tuple[str | Iterable[str], str | Iterable[str]]] | None = None,
    *,
    top: int = TOP,
    hierarchy: Hierarchy | Path | Any = None,
    certificate: Path | Mapping[str, Any] | None = None,
    deleted: float | None = None,
) -> list[RuleEstimate]:
    """Support, confidence and lift of rules, each an item or a set and what follows from it; both ways of the `top` pairs unless given.

    The rest is as for `estimate_counts`.

    Args:
        release: What was published.
        rules: Pairs of what is given and what follows, each an item or a set.
        top: How many pairs are looked for, where no rules are given.
        hierarchy: The tree that the release was made with.
        certificate: The certificate, which says what was deleted.
        deleted: The share of occurrences that was deleted, where there is no certificate.

    Raises:
        InputError: The release cannot be read, the hierarchy is missing, or an item is not in it.

    >>> import shoal
    >>> tree = shoal.Hierarchy.from_parents([3, 3, 4, 4, -1], ["milk", "cheese", "bread", "dairy", "food"])
    >>> [rule] = shoal.estimate_rules([["milk", "bread"], ["milk"], ["bread"]], [("milk", "bread")], hierarchy=tree)
    >>> rule.confidence.value, rule.lift.value
    (0.5, 0.75)
    """
    estimator = _estimator(release, hierarchy, certificate, deleted)
    wanted: list[tuple[tuple[str, ...], tuple[str, ...]]]
    if rules is None:
        pairs = _pairs(estimator, None, top)
        wanted = [rule for one, other in pairs for rule in (((one,), (other,)), ((other,), (one,)))]
    else:
        wanted = [_rule(rule) for rule in _listed(rules, "rules")]
    return [estimator.rule(given, then) for given, then in wanted]


class _Reader(ABC):
    """Whoever estimates from a release."""

    rows: int

    @property
    @abstractmethod
    def names(self) -> Iterable[str]:
        """All items."""

    @abstractmethod
    def count(self, items: tuple[str, ...]) -> CountEstimate:
        """The estimate of a set."""

    @abstractmethod
    def common_pairs(self, top: int) -> list[tuple[str, ...]]:
        """The pairs that are likely to be the commonest."""

    def rule(self, given: tuple[str, ...], then: tuple[str, ...]) -> RuleEstimate:
        n = max(1, self.rows)
        both, first, second = (self.count(items) for items in (given + then, given, then))
        support = Range(*(part / n for part in (both.value, both.low, both.high, both.least, both.most)))
        confidence = Range(
            min(1.0, _ratio(both.value, first.value)),
            _ratio(both.low, first.high),
            min(1.0, _ratio(both.high, first.low, above=1.0)),
            _ratio(both.least, first.most),
            min(1.0, _ratio(both.most, first.least, above=1.0)),
        )
        lift = Range(
            n * _ratio(both.value, first.value * second.value),
            n * _ratio(both.low, first.high * second.high),
            _most_lift(n, both.high, first.low, second.low),
            n * _ratio(both.least, first.most * second.most),
            _most_lift(n, both.most, first.least, second.least),
        )
        return RuleEstimate(given, then, support, confidence, lift)


class _ChunkEstimator(_Reader):
    """A release in chunks."""

    def __init__(self, chunks: Chunks, k: int | None) -> None:
        self.chunks, self.k = chunks, k
        self.counts = ChunkCounts(chunks, k)
        self.rows = self.counts.records

    @property
    def names(self) -> Iterable[str]:
        return self.chunks.items.vocabulary

    def count(self, items: tuple[str, ...]) -> CountEstimate:
        strange = [name for name in items if name not in self.counts.code]
        if strange:
            raise InputError(f"the release does not hold {len(strange):,} of the items{VALUES}", values=strange)
        found = self.counts.count(items)
        low = max(found.least, floor(found.exact + LESS * found.guess - 2 * found.spread))
        high = min(found.most, ceil(found.exact + MORE * found.guess + 2 * found.spread))
        return CountEstimate(found.value, low, high, found.least, found.most, items)

    def common_pairs(self, top: int) -> list[tuple[str, ...]]:
        drawn = drawn_records(self.chunks, self.k, np.random.default_rng(0))
        pairs = common_pairs(drawn, top)
        names = drawn.vocabulary
        return [(names[a], names[b]) for a, b in zip(pairs.one.tolist(), pairs.other.tolist(), strict=True)]


class _Estimator(_Reader):
    """A release, and what is known about it."""

    def __init__(self, evidence: Evidence, gaps: Gaps) -> None:
        self.evidence = evidence
        published = evidence.support > 0
        self.losses = Losses(gaps, evidence.support[published])
        self.deleted = self.losses.occurrences(evidence.tree.leaf_count[published])
        self.rows = len(evidence.rows)
        self._alone = lru_cache(1 << 16)(self._of_item)

    @property
    def names(self) -> Iterable[str]:
        return self.evidence.tree.labels[: self.evidence.tree.n_leaves]

    def common_pairs(self, top: int) -> list[tuple[str, ...]]:
        names = self.evidence.tree.names
        return [(names[one], names[other]) for one, other in self.evidence.common_pairs(top)]

    def _of_item(self, leaf: int) -> tuple[CountEstimate, float, float]:
        """The estimate of one item, and by which factors its count is too low: by the guess, and at the most."""
        rows, tokens = self.evidence.rows_of([leaf]), self.evidence.tokens_of(leaf)
        name = self.evidence.rows.vocabulary[tokens[0]] if tokens else None
        times = self.losses.times(rows.guess, name)
        return self._estimate((leaf,), rows, *times, gone=not tokens), *times

    def count(self, items: tuple[str, ...]) -> CountEstimate:
        """The estimate of a set. It is never above those of its items."""
        leaves = tuple(self.evidence.tree.leaves_of(items).tolist())
        alone = [self._alone(leaf) for leaf in leaves]
        if len(leaves) == 1:
            return alone[0][0]
        # A row loses an item by what is rare beside it, and two items often by the same: the larger factor, not the product.
        guess, most = max(one[1] for one in alone), prod(one[2] for one in alone)
        gone = any(not self.evidence.tokens_of(leaf) for leaf in leaves)
        found = self._estimate(leaves, self.evidence.rows_of(leaves), guess, most, gone=gone)
        top = {part: min(getattr(one[0], part) for one in alone) for part in ("value", "high", "most")}
        value, high = min(found.value, top["value"]), min(found.high, top["high"])
        return replace(found, value=value, low=min(found.low, value), high=high, most=min(found.most, top["most"]))

    def _estimate(self, leaves: Sequence[int], rows: Rows, guess: float, most: float, *, gone: bool) -> CountEstimate:
        """From published rows, and the factors by which deletion made them fewer. `gone`: nothing is left of one of the items."""
        gaps = self.losses.gaps
        possible = min(self.rows, floor(rows.possible + self.deleted + 1e-6)) if gaps.any else rows.possible
        low, value, high = rows.low, rows.guess * guess, rows.high * most
        low -= 2 * sqrt(max(0.0, low - rows.sure))
        high += 2 * sqrt(max(0.0, high - rows.sure))
        if gaps.any:
            rarest = int(self.losses.support.min()) if len(self.losses.support) else 1
            high += (gaps.k or rarest) - 1  # what stands in no row may have been in so many
        high = possible if gone else min(ceil(high - 1e-9), possible)
        value = min(max(value, rows.sure), high)
        low = max(rows.sure, floor(min(low, value)))
        return CountEstimate(value, low, high, rows.sure, possible, tuple(self.evidence.tree.names[v] for v in leaves))


def _ratio(part: float, whole: float, above: float = 0.0) -> float:
    """`above` is what a part of nothing, or of perhaps nothing, may be."""
    if part <= 0:
        return 0.0
    return part / whole if whole > 0 else above


def _most_lift(n: int, both: float, first: float, second: float) -> float:
    """Items are together no more often than the rarer of them, so that lift is at most n over the more common."""
    if both <= 0:
        return 0.0
    bound = n / max(first, second, 1.0)
    return min(bound, n * both / (first * second)) if first * second > 0 else bound


def _estimator(
    release: Any, hierarchy: Any, certificate: Path | Mapping[str, Any] | None, deleted: float | None
) -> _Reader:
    if is_in_chunks(getattr(release, "published", release)):
        return _chunk_estimator(release, hierarchy, certificate, deleted)
    if certificate is not None and deleted is not None:
        raise InputError("the certificate says what was deleted; give either of the two")
    given = gaps_of_share(deleted) if deleted is not None else None
    if hasattr(release, "published") and hasattr(release, "recoding"):
        rows = release.published
        if not isinstance(rows, Baskets):
            raise InputError("estimates are for releases of sets (model km); this one is a table")
        tree = _tree_of(release.recoding) if hierarchy is None else hierarchy
        gaps = gaps_of_release(release)
    else:
        if hierarchy is None:
            raise InputError("estimates need the hierarchy that the release was made with; give a file or a Hierarchy")
        source = load_sets(release)
        rows, tree, gaps = source.baskets, hierarchy, Gaps()
        if certificate is not None:
            gaps = gaps_of_certificate(certificate, source.sha256 if isinstance(release, str | os.PathLike) else None)
    tree = tree if isinstance(tree, Hierarchy) else read_hierarchy(tree)
    return _Estimator(Evidence(rows, tree), given or gaps)


def _chunk_estimator(release: Any, hierarchy: Any, certificate: Any, deleted: float | None) -> _ChunkEstimator:
    for name, given in (("hierarchy", hierarchy), ("deleted", deleted)):
        if given is not None:
            raise InputError(f"{name} has no use for a release in chunks, where items are as they are; leave it out")
    return _ChunkEstimator(*release_in_chunks(release, certificate=certificate))


def _tree_of(recoding: Any) -> Hierarchy:
    tree = getattr(recoding, "hierarchy", None) or getattr(getattr(recoding, "cut", None), "hierarchy", None)
    if tree is None:
        raise InputError("estimates are for releases over a hierarchy (model km); this one has none")
    return tree  # type: ignore[no-any-return]


def _pairs(estimator: _Reader, pairs: Iterable[Iterable[str]] | None, top: int) -> list[tuple[str, ...]]:
    if pairs is None:
        whole_number("top", top, 1)
        return estimator.common_pairs(top)
    wanted = [_names(pair) for pair in _listed(pairs, "pairs")]
    if any(len(pair) != 2 for pair in wanted):
        raise InputError("a pair has two different items; estimate_counts takes sets of any size")
    return wanted


def _rule(rule: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    try:
        given, then = map(_names, rule)
    except (TypeError, ValueError):
        raise InputError("a rule is what is given and what follows, such as ('milk', 'bread')") from None
    if set(given) & set(then):
        raise InputError("a rule has different items on its two sides")
    return given, then


def _names(one: Any) -> tuple[str, ...]:
    """The items of a set, each once."""
    names = (one,) if isinstance(one, str) else tuple(dict.fromkeys(one)) if isinstance(one, Iterable) else ()
    if len(names) > MOST_ITEMS:
        raise InputError(f"a set of {len(names):,} items is too large to estimate; {MOST_ITEMS} are the most")
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError("items are given by name, and sets of them as a list of names; an empty set is in every row")
    return names


def _listed(wanted: Iterable[Any], what: str) -> Iterator[Any]:
    if isinstance(wanted, str):
        raise InputError(f"{what} are a list; put a single one into one, such as [{wanted!r}]")
    return iter(wanted)
