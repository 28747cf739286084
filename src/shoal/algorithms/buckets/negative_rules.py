"""Negative association rules (Li and Li 2008, section IV): which quasi-identifiers never go with which sensitive value.

X => not s is a rule if no row with X has s (or few, with min_conf below 1) although it would be expected: were s independent
of X, it would turn up among that many rows with a probability of at least min_exp. So a frequent value needs few rows and a
rare one many (the paper's Sup_Y), and the least of these bounds prunes the search.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Required, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from shoal.errors import InputError
from shoal.hierarchy.build import flat_tree
from shoal.hierarchy.spec import column_hierarchy
from shoal.hierarchy.tree import Hierarchy
from shoal.kernels.buckets.rule_mining import marked_among_mined, marked_redundant, mined_rules
from shoal.kernels.parallel import even_blocks, over_blocks
from shoal.numbers import Bools, Codes, Floats, Ints
from shoal.records.buckets import sensitive_column
from shoal.records.knowledge import Covers, Rules, covers
from shoal.records.records import Column, Records

BLOCKS = 24
"""Parts into which the nodes of each attribute are cut, as first conditions of rules."""
SLACK = 1e-9
"""Relative, for supports that reach a bound by logarithms exactly."""


class Asked(TypedDict, total=False):
    """Which rules are asked for, as `search_for` describes it."""

    min_exp: Required[float]
    min_conf: float
    max_length: int | None
    fuzzy: Mapping[str, float] | None
    redundant: bool


def negative_rules(
    records: Records,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    *,
    threads: int | None = None,
    progress: Callable[[float], None] | None = None,
    **asked: Unpack[Asked],
) -> Rules:
    """All rules with an expectation of at least `min_exp` and a confidence of at least `min_conf`, the most general first."""
    column = sensitive_column(records)
    search = search_for(records, hierarchies, np.bincount(column.codes, minlength=len(column.values)), **asked)
    above = search.above
    if not search.names or not len(records):
        return search.rules([])
    codes, sensitive, weight = distinct_rows(above.codes, search.rank[column.codes])
    rows = [np.bincount(own, minlength=many) for own, many in zip(above.codes, search.n_values, strict=True)]
    parts = [
        (a, low, high)
        for a, support in enumerate(search.supports(rows))
        for low, high in even_blocks(np.where(support >= search.least, support, 0) + 1e-9, BLOCKS)
        if support[low:high].max() >= search.least
    ]

    def run(first: int, last: int) -> Any:
        a, low, high = parts[first]
        return search.mine(tuple(range(a, len(codes))), codes[a:], sensitive, weight, low, high)

    return search.rules(over_blocks(run, [(i, i + 1) for i in range(len(parts))], threads, progress))


Mined = tuple[Codes, Codes, Floats, Floats]
"""Rules as a search finds them: a node per attribute or -1, the place of the value in `by_need`, support, exceptions."""


@dataclass(frozen=True, eq=False)
class Search:
    """What is looked for, and all that has to be known besides the rows. Attributes stand in the order in which they are extended."""

    trees: Mapping[str, Hierarchy]
    """In the order of the table."""
    column: Column
    """The sensitive one."""
    names: tuple[str, ...]
    """Bushy trees first: their branches are many and small."""
    above: Covers
    by_need: Ints
    """The values that occur, those that need the fewest rows for a rule first."""
    rank: Codes
    """Of each value, its place in `by_need`."""
    need: Floats
    """Of these, the rows that a rule must cover."""
    min_exp: float
    min_conf: float
    max_length: int
    redundant: bool
    """Whether rules that follow from others are kept."""

    @property
    def least(self) -> float:
        """No rule covers fewer rows than this."""
        return float(self.need[0]) * (1 - SLACK) if len(self.need) else math.inf

    @property
    def n_values(self) -> Ints:
        """Per attribute, how many values it has."""
        return np.diff(np.append(self.above.base, len(self.above.start) - 1))

    def supports(self, rows: Sequence[npt.NDArray[np.integer]]) -> list[Floats]:
        """Per attribute, the rows under each node, from those of each value."""
        above, found = self.above, []
        ends = [*above.base[1:].tolist(), len(above.start) - 1]
        for own, name, first, last in zip(rows, self.names, above.base.tolist(), ends, strict=True):
            part = slice(above.start[first], above.start[last])
            times = np.repeat(own, np.diff(above.start[first : last + 1]))
            nodes = self.trees[name].n_nodes
            found.append(np.bincount(above.node[part], times * above.share[part], minlength=nodes).astype(np.float64))
        return found

    def mine(
        self, attributes: tuple[int, ...], codes: Codes, sensitive: Codes, weight: Floats, low: int, high: int
    ) -> Mined:
        """All rules about some of the attributes whose first condition is a node of the first of them, from `low` up to `high`.

        Rows are given by their values of these attributes, the place of their sensitive value in `by_need`, and how many there are.
        """
        nodes, value, support, exceptions = mined_rules(
            codes,
            sensitive,
            weight,
            self.above.base[list(attributes)],
            self.above.start,
            self.above.node,
            self.above.share,
            self.need,
            self.above.most_nodes,
            0,
            low,
            high,
            float(self.min_conf),
            self.max_length,
            self.redundant,
        )
        wide = np.full((len(value), len(self.names)), -1, np.int32)
        wide[:, list(attributes)] = nodes
        return wide, value, support, exceptions

    def rules(self, found: Sequence[Mined]) -> Rules:
        """All that was found, each rule once, as a table of rules."""
        if not found:
            return _no_rules(self.trees, self.column, self.min_exp, self.min_conf)
        as_mined, places, support, exceptions = (np.concatenate([part[i] for part in found]) for i in range(4))
        nodes = np.ascontiguousarray(as_mined[:, [self.names.index(name) for name in self.trees]])
        value = self.by_need[places].astype(np.int32)
        mining_order = {name: self.trees[name] for name in self.names}
        follows = _follows(self.trees, nodes, value, as_mined, mining_order if self.min_conf == 1 else None)
        given = np.zeros(len(value), np.bool_)
        table = (nodes, value, support, exceptions, follows, given)
        rules = Rules(
            self.trees, self.column.name, self.column.values, *table, min_exp=self.min_exp, min_conf=self.min_conf
        )
        order = _order(self.trees, nodes, value, support)
        return rules.take(order if self.redundant else order[~follows[order]])


def search_for(
    records: Records,
    hierarchies: Mapping[str, Hierarchy] | None,
    counts: npt.NDArray[np.integer],
    *,
    min_exp: float,
    min_conf: float = 1.0,
    max_length: int | None = None,
    fuzzy: Mapping[str, float] | None = None,
    redundant: bool = False,
) -> Search:
    """The search of `negative_rules`, from how many rows have each sensitive value. Of the records themselves, only values count.

    Conditions are nodes of the hierarchies of quasi columns (flat ones where none is given), at most `max_length` of them in a rule.
    `fuzzy` gives numeric columns whose nodes are fuzzy, with the distance over which membership fades out. Rules that follow from
    more general ones are left out, or with `redundant` kept and marked.
    """
    _check(min_exp, min_conf, max_length)
    column = sensitive_column(records)
    trees = value_hierarchies(records, hierarchies or {})
    _check_fuzzy(fuzzy, trees)
    names = tuple(sorted(trees, key=lambda name: -trees[name].n_nodes))
    need = needed_rows(counts, int(counts.sum()), min_exp)
    by_need = np.argsort(need, kind="stable")
    by_need = by_need[counts[by_need] > 0]
    rank = np.zeros(len(need), np.int32)
    rank[by_need] = np.arange(len(by_need))
    return Search(
        trees=trees,
        column=column,
        names=names,
        above=covers(records, {name: trees[name] for name in names}, fuzzy),
        by_need=by_need,
        rank=rank,
        need=need[by_need],
        min_exp=min_exp,
        min_conf=min_conf,
        max_length=len(names) if max_length is None else min(max_length, len(names)),
        redundant=redundant,
    )


def needed_rows(counts: npt.NDArray[np.integer], n: int, min_exp: float) -> Floats:
    """n * Sup_Y for every sensitive value: the rows that a rule about it must cover, log(1 - min_exp) / log(1 - P(s))."""
    share = counts / max(n, 1)
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(share > 0, math.log1p(-min_exp) / np.minimum(np.log1p(-share), -1e-300), np.inf))


def value_hierarchies(records: Records, given: Mapping[str, Hierarchy]) -> dict[str, Hierarchy]:
    """A hierarchy for every quasi column: the given one, or all values right under the root."""
    quasi = {column.name: column for column in records.of_role("quasi")}
    unknown = [name for name in given if name not in quasi]
    if unknown:
        raise InputError(
            f"a hierarchy is given for {unknown[0]!r}, which is not a quasi column; those are {', '.join(quasi)}"
        )
    found = {}
    for name, column in quasi.items():
        if name in given:
            tree = column_hierarchy(column, given[name])
            assert tree is not None  # only a column without a given tree may have none
            found[name] = tree
        elif column.values:
            found[name] = flat_tree(column.values)
    return found


def mark_redundant(rules: Rules) -> Rules:
    """The same rules, the most general first, with those marked that follow from others. Each rule is kept once."""
    follows = _follows(rules.hierarchies, rules.nodes, rules.value, None, None)
    _, first = np.unique(np.column_stack((rules.nodes, rules.value)), axis=0, return_index=True)
    once = np.zeros(len(rules), np.bool_)
    once[first] = True
    order = _order(rules.hierarchies, rules.nodes, rules.value, rules.support)
    return replace(rules, redundant=follows).take(order[once[order]])


def _no_rules(trees: Mapping[str, Hierarchy], column: Column, min_exp: float, min_conf: float) -> Rules:
    none, no = np.zeros(0), np.zeros(0, np.bool_)
    nodes = np.zeros((0, len(trees)), np.int32)
    return Rules(trees, column.name, column.values, nodes, np.zeros(0, np.int32), none, none, no, no, min_exp, min_conf)


def _depths(trees: Mapping[str, Hierarchy], nodes: Codes) -> Ints:
    """How special a rule is: the depths of its nodes together."""
    total = np.zeros(len(nodes), np.int64)
    for a, tree in enumerate(trees.values()):
        total += np.append(tree.depth, 0)[nodes[:, a]]  # -1, no node, is the entry at the end
    return total


def _order(trees: Mapping[str, Hierarchy], nodes: Codes, value: Codes, support: Floats) -> npt.NDArray[np.intp]:
    """Few conditions first, then many rows, then nodes high up: a rule stands before all that follow from it."""
    length = np.count_nonzero(nodes >= 0, axis=1)
    return np.lexsort((value, *nodes.T[::-1], _depths(trees, nodes), -np.nan_to_num(support), length))


def _follows(
    trees: Mapping[str, Hierarchy],
    nodes: Codes,
    value: Codes,
    as_mined: Codes | None,
    mining_order: Mapping[str, Hierarchy] | None,
) -> Bools:
    """Which rules follow from a more general one. Rules as mined with min_conf = 1 (their nodes in mining order) take a short cut."""
    if as_mined is not None and mining_order is not None:
        return np.asarray(marked_among_mined(as_mined, value, *_parents(mining_order)))
    order = np.lexsort((value, *nodes.T[::-1], _depths(trees, nodes)))
    redundant = np.empty(len(value), np.bool_)
    redundant[order] = marked_redundant(np.ascontiguousarray(nodes[order]), value[order], *_parents(trees))
    return redundant


def _parents(trees: Mapping[str, Hierarchy]) -> tuple[Ints, Codes]:
    """(where the nodes of each tree begin, the node above each node), -1 above the children of a root."""
    sizes = [tree.n_nodes for tree in trees.values()]
    base = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int64)
    above = [np.where(tree.parent == tree.root, -1, tree.parent) for tree in trees.values()]
    return base, np.concatenate(above).astype(np.int32)


def distinct_rows(codes: Codes, sensitive: Codes) -> tuple[Codes, Codes, Floats]:
    """(codes, sensitive values, how many): rows that agree in everything stand once."""
    key = sensitive.astype(np.int64)
    for part in codes:
        width = int(part.max(initial=0)) + 1
        if int(key.max(initial=0)) >= 2**62 // width:
            key = np.unique(key, return_inverse=True)[1].reshape(-1).astype(np.int64)
        key = key * width + part
    _, first, many = np.unique(key, return_index=True, return_counts=True)
    return np.ascontiguousarray(codes[:, first]), sensitive[first], many.astype(np.float64)


def _check(min_exp: float, min_conf: float, max_length: int | None) -> None:
    if not 0 < min_exp < 1:
        raise InputError(f"min_exp must be a number between 0 and 1, not {min_exp!r}")
    if not 0 < min_conf <= 1:
        raise InputError(f"min_conf must be a number greater than 0 and at most 1, not {min_conf!r}")
    if max_length is not None and (isinstance(max_length, bool) or not isinstance(max_length, int) or max_length < 1):
        raise InputError(f"max_length must be a whole number of at least 1, not {max_length!r}")


def _check_fuzzy(fuzzy: Mapping[str, float] | None, trees: Mapping[str, Hierarchy]) -> None:
    unknown = [name for name in fuzzy or {} if name not in trees]
    if unknown:
        raise InputError(
            f"fuzzy nodes are asked for {unknown[0]!r}, which is not a quasi column; those are {', '.join(trees)}"
        )
