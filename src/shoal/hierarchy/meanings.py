"""What published values may stand for: the original items of a token, the original values of a cell.

A token is an original item, a node of the hierarchy, what a rules file says it is, a set of items such as `(A,B)`, or `*`; a cell is an
original value, a node, a range such as `[20:29]` or `2024-03-01..2024-04-15`, or `*`. All measures that compare an original with a
release, and the attack that links the two, look through these. Nothing here looks at a row.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from shoal.errors import VALUES, InputError
from shoal.hierarchy.build import ROOT, flat_tree
from shoal.hierarchy.kinds.stretches import stretches_of
from shoal.hierarchy.kinds.widths import DIGITS, node_widths, whole_step
from shoal.hierarchy.tree import Hierarchy, count_of
from shoal.numbers import Bools, Codes, Floats, Ints

if TYPE_CHECKING:
    from shoal.records.records import Column

_MISSING = ""
_RANGE = re.compile(r"\[([^:\[\]()]+):([^:\[\]()]+)([\])])")
_MEMBER = re.compile(r'(?:"((?:[^"]|"")*)"|([^,"()]+))(?:,|\Z)')


@dataclass(frozen=True, eq=False)
class TokenMeanings:
    """Per published token, the items that it may stand for: `members[offsets[t]:offsets[t + 1]]`, as places in `domain`."""

    tokens: tuple[str, ...]
    domain: tuple[str, ...]
    """The original items, and those that only the hierarchy knows."""
    n_items: int
    """The first of the domain: those of the original data, in its order."""
    offsets: Ints
    members: Codes
    breadth: Ints
    """Per token, how many leaves of the hierarchy it covers, sensitive ones among them; 1 for an item that is published as itself."""
    size_of_domain: int
    """What NCP divides by: the leaves of the hierarchy, or the items that may be generalized."""

    @cached_property
    def sizes(self) -> Ints:
        """Per token, how many items it may stand for."""
        return np.diff(self.offsets)

    @cached_property
    def owner(self) -> Ints:
        """The token of each entry of `members`."""
        return np.repeat(np.arange(len(self.tokens), dtype=np.int64), self.sizes)

    @cached_property
    def holders(self) -> tuple[Ints, Codes]:
        """(offsets, tokens): the tokens that may stand for item i are `tokens[offsets[i]:offsets[i + 1]]`, ascending."""
        order = np.argsort(self.members, kind="stable")
        many = np.bincount(self.members, minlength=len(self.domain))
        return np.concatenate(([0], np.cumsum(many))).astype(np.int64), self.owner[order].astype(np.int32)

    @property
    def disjoint(self) -> bool:
        """Whether no item is in two tokens: then each item was published as one token everywhere, or left out."""
        return int(np.bincount(self.members, minlength=1).max(initial=0)) <= 1

    @property
    def nested(self) -> bool:
        """Whether of two tokens that share an item one holds all items of the other, as in a tree."""
        order = np.lexsort((self.owner, self.sizes[self.owner], self.members))
        item, token = self.members[order], self.owner[order]
        beside = np.flatnonzero(item[1:] == item[:-1])
        # All items of a token have to have the same next wider one.
        pairs, shared = np.unique(np.column_stack((token[beside], token[beside + 1])), axis=0, return_counts=True)
        return bool(np.all(shared == self.sizes[pairs[:, 0]]))


def token_meanings(
    tokens: Sequence[str],
    items: Sequence[str],
    tree: Hierarchy | None = None,
    *,
    rules: Mapping[str, Collection[str]] | None = None,
    sensitive: Collection[str] = (),
) -> TokenMeanings:
    """What each published token means; raises if some mean nothing.

    `items` are those of the original; `rules` has, per token, the items that became it. A sensitive item travels as it is: no token but
    itself stands for it.
    """
    place = {name: i for i, name in enumerate(items)}
    if tree is not None:
        for name in tree.labels[: tree.n_leaves]:
            place.setdefault(name, len(place))
    inner = {} if tree is None else {tree.names[v]: v for v in range(tree.n_leaves, tree.n_nodes)}
    hidden, became = set(sensitive), rules or {}
    lengths, members, breadth, strange = [], list[int](), [], list[str]()
    for token in tokens:
        if token in place and set(became.get(token, ())) <= {token}:
            meant, leaves = [place[token]], 1
        elif tree is not None and token in inner:
            start, stop = tree.span[inner[token]].tolist()
            names = [tree.labels[v] for v in tree.leaf_order[start:stop].tolist()]
            meant, leaves = [place[name] for name in names if name not in hidden], stop - start
        else:
            items_of = tuple(name for name in became.get(token, ()) if name in place) or set_members(token, place)
            if not items_of and tree is None and token == ROOT:  # anything
                items_of = tuple(name for name in place if name not in hidden)
            meant, leaves = [place[name] for name in items_of if name not in hidden], len(items_of)
        if not meant:
            strange.append(token)
        lengths.append(len(meant))
        members.extend(sorted(meant))
        breadth.append(leaves)
    if strange:
        raise InputError(
            f"{count_of(strange, 'published item is', 'published items are')} neither original items nor sets of them"
            f"{VALUES}; give the hierarchy or the rules that they were published with",
            values=strange,
        )
    return TokenMeanings(
        tuple(tokens),
        tuple(place),
        len(items),
        np.concatenate(([0], np.cumsum(np.array(lengths, np.int64)))).astype(np.int64),
        np.array(members, np.int32),
        np.array(breadth, np.int64),
        max(1, sum(name not in hidden for name in items) if tree is None else tree.n_leaves),
    )


def set_members(label: str, known: Collection[str]) -> tuple[str, ...]:
    """The names in `(A,B,C)`, names with commas, brackets or quotes being quoted; none unless all of them are known."""
    while label.startswith("(") and label.endswith(")"):
        label = label[1:-1]
        names, position = [], 0
        while position < len(label) and (member := _MEMBER.match(label, position)):
            names.append(member[1].replace('""', '"') if member[1] is not None else member[2])
            position = member.end()
        if names and position == len(label):
            return tuple(names) if all(name in known for name in names) else ()
    return ()


@dataclass(frozen=True, eq=False)
class CellMeanings:
    """What the published values of one column may stand for: leaves of a tree, or numbers from `low` to `high`."""

    column: str
    values: tuple[str, ...]
    cost: Floats
    """NCP of each published value: 0 for an original one, 1 for `*`."""
    low: Floats
    """Of each range; for a tree, of each stretch of its leaf order."""
    high: Floats
    """Included."""
    value: Ints
    """The published value that each stretch belongs to."""
    place: Mapping[str, float]
    """Where an original value lies among the stretches; NaN for a missing number."""
    missing: Bools
    """Per published value, whether it may stand for a missing number."""
    width: Floats
    """How wide each published value is, in units: 10 for `[50:59]` among whole numbers, 2.5 for `[2.5:5)`, 3 for a node with 3 values."""
    unit: str = ""
    """What a width counts: `values`, `days`, `months`, or, if it is empty, whatever the numbers of the column count."""

    def fitting(self, original: str) -> Bools:
        """Per published value, whether it may stand for this original one."""
        at = self.place.get(original)
        if at is None:
            return np.zeros(len(self.values), np.bool_)
        if math.isnan(at):
            return self.missing
        fits = np.zeros(len(self.values), np.bool_)
        fits[self.value[(self.low <= at) & (at <= self.high)]] = True
        return fits


def cell_meanings(published: Column, original: Column, tree: Hierarchy | None = None) -> CellMeanings:
    """What the published values of a column mean; raises on the first that means nothing.

    A category without a tree has a flat one, a number without one is published in ranges.
    """
    if tree is None and original.numbers is not None:
        return _ranges(published, original)
    tree, nodes, value = node_meanings(published, original, tree)
    leaves = np.bincount(value, tree.leaf_count[nodes], minlength=len(published.values))
    cost = np.where(leaves > 1, leaves / tree.n_leaves, 0.0)
    if (stretches := stretches_of(tree)) is not None:  # from the first place to the last, as with numbers
        cost = np.minimum(1.0, np.maximum(leaves - 1.0, 0.0) / max(1, len(stretches.leaves) - 1))
    span = tree.span[nodes].astype(np.float64)
    position = tree.span[: tree.n_leaves, 0].tolist()
    width, unit = node_widths(tree, nodes, value, published.values, numeric=original.numbers is not None)
    return CellMeanings(
        published.name,
        published.values,
        cost,
        span[:, 0],
        span[:, 1] - 1,
        value,
        {name: float(at) for name, at in zip(tree.labels[: tree.n_leaves], position, strict=True)},
        np.zeros(len(published.values), np.bool_),
        width,
        unit,
    )


def node_meanings(published: Column, original: Column, tree: Hierarchy | None) -> tuple[Hierarchy, Ints, Ints]:
    """(tree over the original values, nodes, the published value, ascending, that each belongs to); raises on the first unknown value.

    A set of values has several nodes. Without a tree there is a flat one.
    """
    tree = flat_tree(original.values) if tree is None or tree.n_nodes == 1 else tree.with_unknown(original.values)
    known = {name: v for v, name in enumerate(tree.names)}
    known.setdefault(ROOT, tree.root)
    nodes, value, stretches = list[int](), list[int](), stretches_of(tree)
    for i, text in enumerate(published.values):
        meant = [known[name] for name in ((text,) if text in known else set_members(text, known))]
        if not meant and stretches is not None:
            meant = stretches.members(text)
        if not meant:
            raise _unclear(published.name)
        nodes += meant
        value += [i] * len(meant)
    return tree, np.array(nodes, np.int64), np.array(value, np.int64)


def _ranges(published: Column, original: Column) -> CellMeanings:
    assert original.numbers is not None
    known = original.numbers[~np.isnan(original.numbers)]
    width = float(known.max() - known.min()) if len(known) else 0.0
    low, high = (np.zeros(len(published.values), np.float64) for _ in range(2))
    cost, missing = np.zeros(len(published.values), np.float64), np.zeros(len(published.values), np.bool_)
    is_open = np.zeros(len(published.values), np.bool_)
    for i, text in enumerate(published.values):
        if text in (_MISSING, ROOT):
            low[i], high[i] = (-np.inf, np.inf) if text == ROOT else (np.inf, -np.inf)
            cost[i], missing[i] = float(text == ROOT), True
        else:
            low[i], high[i], is_open[i] = bounds_in(text, published.name)
            if is_open[i]:
                high[i] = max(low[i], math.nextafter(high[i], -math.inf))
            cost[i] = (high[i] - low[i]) / width if width else float(high[i] > low[i])
    closed = ~missing & ~is_open
    step = whole_step(np.concatenate((low[closed], high[closed])))
    wide = np.where(missing, np.where(cost > 0, width, 0.0), high - low) + np.where(is_open, 0.0, step)
    return CellMeanings(
        published.name,
        published.values,
        np.minimum(cost, 1.0),
        low,
        high,
        np.arange(len(published.values), dtype=np.int64),
        dict(zip(original.values, original.numbers.tolist(), strict=True)),
        missing,
        np.round(wide, DIGITS),
    )


def bounds_in(text: str, column: str) -> tuple[float, float, bool]:
    """The numbers that a published text reaches from and to, and whether the upper one is outside, as in `[2.5:5)`."""
    if (number := number_in(text)) is not None:
        return number, number, False
    bounds = _RANGE.fullmatch(text)
    low, high = (number_in(bounds[1]), number_in(bounds[2])) if bounds else (None, None)
    if bounds is None or low is None or high is None or low > high:
        raise _unclear(column)
    return low, high, bounds[3] == ")"


def _unclear(column: str) -> InputError:
    return InputError(
        f"column {column!r}: a published value is neither an original value nor a range, nor a label of its "
        "hierarchy; give the hierarchy that it was published with"
    )


def number_in(text: str) -> float | None:
    """The number that a text spells; None if it is none, or not finite."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def tree_of_tokens(meanings: TokenMeanings, tokens: Collection[str]) -> Hierarchy | None:
    """A tree over the domain in which these tokens are nodes, for estimators that ask for one; None if they overlap without nesting."""
    wanted = set(tokens)
    sets = sorted(
        ((frozenset(meanings.members[a:b].tolist()), token) for token, a, b in _stretches(meanings) if token in wanted),
        key=lambda entry: (len(entry[0]), entry[1]),
    )
    n = len(meanings.domain)
    root = n + len(sets)
    parent = np.full(root + 1, root, np.int64)
    parent[root] = -1
    top = np.arange(n)  # the highest node so far above each item
    covered = np.ones(root, np.int64)
    for number, (members, _) in enumerate(sets):
        inside = np.fromiter(members, np.int64, len(members))
        below = np.unique(top[inside])
        if covered[below].sum() != len(inside):
            return None
        covered[n + number] = len(inside)
        parent[below] = n + number
        top[inside] = n + number
    label = ROOT
    while label in meanings.tokens or label in meanings.domain:
        label += ROOT
    return Hierarchy.from_parents(parent.tolist(), [*meanings.domain, *(token for _, token in sets), label], "rules")


def _stretches(meanings: TokenMeanings) -> Iterator[tuple[str, int, int]]:
    yield from zip(meanings.tokens, meanings.offsets[:-1].tolist(), meanings.offsets[1:].tolist(), strict=True)
