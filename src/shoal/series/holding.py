"""Holding back: which rows of a batch go out under the cut of their series, and which wait for others like them.

A row that holds a rare set of tokens breaks the promise unless it waits, or occurrences of it are deleted. Of rows alone the answer is
unique: two sets of rows that each keep the promise keep it together, so there is one largest (`publishable`), found by leaving out
exposed rows until there are none. (All of this is counted in people where rows say whose they are.) With deletions there is a choice. It
is made as `hybrid` makes it, under the given cut; while that takes more than the budget, the rows that would lose most are held back,
and the rest is looked at anew. At the end all rows come back that can as they are. Where rows that have waited long enough lose more than
the budget, the cut becomes coarser: the parents of the tokens that they would lose, those first that save most for what they cost, by the
price of information.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from shoal.algorithms.km.hybrid import deletions_under
from shoal.algorithms.km.problem import Problem, crowd_of, rows_by_person
from shoal.algorithms.recoding import Deletions, Options, Recoding
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.cut import Cut
from shoal.kernels.itemsets.prefixes import laid_out
from shoal.kernels.itemsets.rare_sets import mark_exposed
from shoal.kernels.parallel import over_blocks
from shoal.numbers import Bools, Ints
from shoal.records.baskets import Baskets

Rows = Ints
Marks = Bools


@dataclass(frozen=True, eq=False)
class Going:
    """What goes out of a batch."""

    rows: Rows
    """Ascending; the others wait."""
    recoding: Recoding
    """Of these rows."""


def going_out(
    baskets: Baskets, guarantee: KmAnonymity, cut: Cut, overdue: Marks, options: Options, algorithm: str
) -> Going:
    """The rows that go out under the cut, or under a coarser one where `overdue` rows need it; at most `suppress` of them is deleted."""
    nothing = Deletions(np.zeros(0, np.int64), np.zeros(0, np.int32))
    if crowd_of(baskets) < guarantee.k:  # so few that no cut helps
        return Going(np.flatnonzero(baskets.lengths == 0), Recoding(cut, baskets.vocabulary, algorithm=algorithm))
    rows, widest = np.arange(len(baskets), dtype=np.int64), None
    while True:
        part, late = baskets.take(rows), overdue[rows]
        if crowd_of(part) < guarantee.k:
            late &= part.lengths > 0
            if not late.any():
                rows = rows[part.lengths == 0]
                return _with_returned(
                    baskets, guarantee, rows, Recoding(cut, baskets.vocabulary, nothing, algorithm=algorithm), options
                )
            assert widest is not None  # all rows together were enough
            problem, deletions, excess = widest
            cut = _coarser(problem, cut, deletions, excess)
            rows, widest = np.arange(len(baskets), dtype=np.int64), None
            continue
        problem = Problem(part, guarantee, cut.hierarchy, options.threads, price=options.price)
        deletions = deletions_under(cut, problem)
        lost = _lost_by_row(part, cut, deletions)
        budget = int(options.suppress * part.occurrences + 1e-9)
        if lost.sum() <= budget:
            return _with_returned(
                baskets, guarantee, rows, Recoding(cut, baskets.vocabulary, deletions, algorithm=algorithm), options
            )
        widest = widest or (problem, deletions, int(lost.sum()) - budget)
        if lost[late].sum() > budget:
            of_late = late[deletions.row]
            deletions = Deletions(deletions.row[of_late], deletions.node[of_late])
            cut = _coarser(problem, cut, deletions, int(lost[late].sum()) - budget)
            rows, widest = np.arange(len(baskets), dtype=np.int64), None
            continue
        rows = np.delete(rows, _worst(lost, part.lengths, late, options.suppress))


def publishable(tokens: Baskets, guarantee: KmAnonymity, threads: int | None = None) -> Marks:
    """The largest set of rows that keeps the promise by itself."""
    stays = np.ones(len(tokens), np.bool_)
    while True:
        rows = np.flatnonzero(stays)
        exposed = exposed_rows(tokens.take(rows), guarantee, threads)
        if not exposed.any():
            return stays
        stays[rows[exposed]] = False


def exposed_rows(tokens: Baskets, guarantee: KmAnonymity, threads: int | None = None) -> Marks:
    """The rows that hold a set of up to m tokens which fewer than k rows hold, or those of fewer people."""
    if (order := rows_by_person(tokens.people)) is not None:
        tokens = tokens.take(order)
    people = None if order is None else tokens.people
    support, k = tokens.supports(), int(guarantee.k)
    rarest = np.argsort(support, kind="stable")
    number = np.empty(len(support), np.int32)
    number[rarest] = np.arange(len(support), dtype=np.int32)
    exposed = np.zeros(len(tokens), np.uint8)
    rows = laid_out(tokens.offsets, tokens.items, number, len(support), threads, people=people)
    exposed[tokens.rows_with(rows.crowd[number] < k)] = 1
    for size in range(2, min(int(guarantee.m), tokens.longest) + 1):

        def mark(a: int, b: int, size: int = size) -> None:
            mark_exposed(rows, a, b, k, size, exposed)

        over_blocks(mark, rows.blocks(), threads)
    is_exposed = exposed > 0
    if order is not None:
        is_exposed[order] = exposed > 0
    return is_exposed


def _lost_by_row(baskets: Baskets, cut: Cut, deletions: Deletions) -> Rows:
    """Per row, how many occurrences are deleted."""
    n, node = cut.hierarchy.n_nodes, Recoding(cut, baskets.vocabulary, algorithm="").node
    row = np.repeat(np.arange(len(baskets), dtype=np.int64), baskets.lengths)
    gone = np.isin(row * n + node[baskets.items], deletions.row * n + deletions.node)
    return np.bincount(row[gone], minlength=len(baskets)).astype(np.int64)


def _worst(lost: Rows, lengths: Rows, late: Marks, share: float) -> Rows:
    """The fewest rows, none of them late, without which the rest would fit what remains of the budget."""
    order = np.lexsort((np.arange(len(lost)), -lost))
    order = order[(lost[order] > 0) & ~late[order]]
    left = lost.sum() - np.cumsum(lost[order])
    allowed = share * (lengths.sum() - np.cumsum(lengths[order]))
    enough = np.flatnonzero(left <= allowed)
    return order[: int(enough[0]) + 1] if len(enough) else order


def _with_returned(baskets: Baskets, guarantee: KmAnonymity, rows: Rows, recoding: Recoding, options: Options) -> Going:
    """What goes out of these rows, and the others that can come back as they are."""
    deletions = recoding.deletions
    assert deletions is not None
    everywhere = replace(deletions, row=rows[deletions.row]) if len(deletions.row) else None
    tokens = replace(recoding, deletions=everywhere).apply(baskets, options.threads)
    back = np.union1d(rows, np.flatnonzero(publishable(tokens, guarantee, options.threads)))
    at = np.searchsorted(back, rows[deletions.row])
    order = np.lexsort((deletions.node, at))
    kept = Deletions(at[order], deletions.node[order]) if len(at) else None
    return Going(back, replace(recoding, deletions=kept))


def _coarser(problem: Problem, cut: Cut, deletions: Deletions, excess: int) -> Cut:
    """The cut with some branches closed: parents of tokens that would be deleted, until the excess is covered."""
    h, now = cut.hierarchy, cut.lowest()
    up = h.parent[deletions.node]
    while len(same := np.flatnonzero(h.leaf_count[up] == h.leaf_count[deletions.node])):
        up[same] = h.parent[up[same]]
    saves = np.bincount(up, minlength=h.n_nodes)
    parents = np.flatnonzero(saves)
    first = h.span[now.nodes, 0]
    order = np.argsort(first)
    running = np.concatenate(([0], np.cumsum(problem.cost[now.nodes[order]])))
    low, high = (np.searchsorted(first[order], h.span[parents, side]) for side in (0, 1))
    costs = problem.cost[parents] - (running[high] - running[low])
    best = parents[np.lexsort((parents, -saves[parents] / (costs + 1.0)))]
    closed = best[: int(np.searchsorted(np.cumsum(saves[best]), excess)) + 1]
    node = now.node.copy()
    for parent in sorted(closed.tolist(), key=lambda v: int(h.leaf_count[v])):  # of two, one may lie in the other
        node[h.leaf_order[slice(*h.span[parent])]] = parent
    return Cut(h, node)
