"""The heaviest set of nodes that may stand open together: branch and bound on bitsets.

A node of the hierarchy is open when the cut lies below it. Some nodes cannot be open side by side (conflicts), nor some larger families
of them (clashes); a node can only be open if the one above it is. Conflicts are passed on to all nodes below, so a heaviest
independent set of the conflict graph is closed towards the root by itself where weights are positive: what lies above
excludes no more than what lies below. A clash with all but two of its members open is a conflict of these two, and with all but one open it
closes the last.

The search takes a node together with all above it, or leaves it closed with all below it. What can still be gained is bounded by a
weighted cover of the candidates with cliques of the conflict graph, of each of which one node can be open at most (Babel 1994);
the nodes that do not fit below the bound are those to branch on (Tavares 2016). A node that weighs as much as all that it excludes is
taken at once. Where conflicts are many, as they are between categories that seldom meet, these bounds are far better than the linear
relaxation, which is content with half of everything.

Branches of the hierarchy may be dropped within a budget: their top node then stays closed. These nodes, whose weight may be negative, are
decided first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels import compiler as nb
from shoal.kernels.arrays import larger

Bits = npt.NDArray[np.uint64]
ONE = np.uint64(1)
NO_LIMIT = np.int64(1) << np.int64(62)


class OpenNodes(NamedTuple):
    """A program: nodes numbered so that whatever lies above a node comes before it."""

    weight: npt.NDArray[np.int64]
    """What opening each node gains."""
    parent: npt.NDArray[np.int64]
    """The node above, or -1."""
    dropped: npt.NDArray[np.int64]
    """Per node, what counts against the budget if it stays closed; 0 except at the top of branches that may be dropped."""
    budget: int
    below: Bits
    """Per node, itself and all below it."""
    conflicts: Bits
    """Per node, those that cannot be open beside it."""
    starts: npt.NDArray[np.int64]
    """Clash c is `members[starts[c]:starts[c + 1]]`, three nodes or more."""
    members: npt.NDArray[np.int32]
    of_starts: npt.NDArray[np.int64]
    """The clashes of node v are `of_node[of_starts[v]:of_starts[v + 1]]`."""
    of_node: npt.NDArray[np.int32]


class Search(NamedTuple):
    """Where a search stands, so that it can go on later."""

    candidates: Bits
    """Per level, what may still be opened."""
    branching: Bits
    """Per level, on which of them to branch."""
    gain: npt.NDArray[np.int64]
    """Per level, what the open nodes weigh."""
    n_open: npt.NDArray[np.int64]
    """Per level, how many are open."""
    n_changed: npt.NDArray[np.int64]
    """Per level, how many changes of the conflicts to keep on the way back."""
    seen: npt.NDArray[np.int64]
    """Per level, how many improvements there had been when the branching was laid out; -1: not yet."""
    open: npt.NDArray[np.int32]
    """The open nodes, in the order in which they were opened."""
    is_open: npt.NDArray[np.bool_]
    n_members: npt.NDArray[np.int32]
    """Per clash, its open members."""
    best: npt.NDArray[np.bool_]
    """The best set so far."""
    numbers: npt.NDArray[np.int64]
    """Level, gain of the best, improvements, steps, changes of the conflicts, and whether the level is new."""


LEVEL, BEST, IMPROVEMENTS, STEPS, CHANGES, IS_NEW = range(6)


def new_search(nodes: OpenNodes) -> Search:
    """At the start: everything may be opened, nothing is."""
    n, words = nodes.conflicts.shape
    levels = n + 2
    candidates = np.zeros((levels, words), np.uint64)
    candidates[0] = bit_rows(np.ones((1, n), np.bool_))[0]
    numbers = np.zeros(6, np.int64)
    numbers[BEST], numbers[IS_NEW] = -NO_LIMIT, 1
    return Search(
        candidates,
        np.zeros((levels, words), np.uint64),
        np.zeros(levels, np.int64),
        np.zeros(levels, np.int64),
        np.zeros(levels, np.int64),
        np.full(levels, -1, np.int64),
        np.empty(n, np.int32),
        np.zeros(n, np.bool_),
        np.zeros(len(nodes.starts) - 1, np.int32),
        np.zeros(n, np.bool_),
        numbers,
    )


def bit_rows(flags: npt.NDArray[np.bool_]) -> Bits:
    """Rows of flags as words of 64 bits."""
    rows, n = flags.shape
    words = max(1, -(-n // 64))
    wide = np.zeros((rows, 64 * words), np.bool_)
    wide[:, :n] = flags
    return np.packbits(wide, axis=1, bitorder="little").view("<u8").astype(np.uint64).reshape(rows, words)


@nb.step
def lowest(word):
    """The place of the lowest bit of a word that is not 0."""
    place = 0
    if word & np.uint64(0xFFFFFFFF) == 0:
        place += 32
        word >>= np.uint64(32)
    if word & np.uint64(0xFFFF) == 0:
        place += 16
        word >>= np.uint64(16)
    if word & np.uint64(0xFF) == 0:
        place += 8
        word >>= np.uint64(8)
    if word & np.uint64(0xF) == 0:
        place += 4
        word >>= np.uint64(4)
    if word & np.uint64(0x3) == 0:
        place += 2
        word >>= np.uint64(2)
    return place + (word & ONE == 0)


@nb.step
def has(bits, v):
    return (bits[v >> 6] >> np.uint64(v & 63)) & ONE != 0


@nb.step
def clear(bits, v):
    bits[v >> 6] &= ~(ONE << np.uint64(v & 63))


@nb.step
def cover(candidates, conflicts, weight, most, outside):
    """(bound, steps): a cover with cliques that weighs no more than `most`; the candidates that did not fit are set in `outside`.

    As long as nodes outside are closed, no set of candidates weighs more than the bound.
    """
    words = len(candidates)
    left = np.zeros(64 * words, np.int64)
    waiting = np.empty(words, np.uint64)
    common = np.empty(words, np.uint64)
    clique = np.empty(64 * words, np.int64)
    steps = words
    for i in range(words):
        waiting[i] = candidates[i]
        outside[i] = 0
        word = candidates[i]
        while word:
            v = 64 * i + lowest(word)
            word &= word - ONE
            if weight[v] > 0:
                left[v] = weight[v]
            else:
                clear(waiting, v)
    total = np.int64(0)
    i = 0
    while i < words:
        if waiting[i] == 0:
            i += 1
            continue
        v = 64 * i + lowest(waiting[i])
        clique[0], size, least = v, 1, left[v]
        for j in range(i, words):
            common[j] = waiting[j] & conflicts[v, j]
        steps += words - i
        j = i
        while j < words:
            if common[j] == 0:
                j += 1
                continue
            u = 64 * j + lowest(common[j])
            clique[size] = u
            size += 1
            least = left[u] if left[u] < least else least
            for p in range(j, words):
                common[p] &= conflicts[u, p]
            steps += words - j
        if total + least > most:
            outside[i] |= ONE << np.uint64(v & 63)
            clear(waiting, v)
            continue
        total += least
        for j in range(size):
            left[clique[j]] -= least
            if left[clique[j]] == 0:
                clear(waiting, clique[j])
    return total, steps


@nb.step
def connect(nodes, candidates, a, b, trail):
    """A conflict of two nodes and of all below them; what is changed is noted in the trail, (places, words, how many)."""
    places, olds, n = trail
    words = len(candidates)
    for _ in range(2):
        for i in range(words):
            word = candidates[i] & nodes.below[a, i]
            while word:
                v = 64 * i + lowest(word)
                word &= word - ONE
                for j in range(words):
                    more = nodes.below[b, j] & ~nodes.conflicts[v, j]
                    if more:
                        if n == len(places):
                            places, olds = larger(places, n + 1), larger(olds, n + 1)
                        places[n], olds[n] = v * words + j, nodes.conflicts[v, j]
                        n += 1
                        nodes.conflicts[v, j] |= more
        a, b = b, a
    return places, olds, n


@nb.step
def open_candidate(nodes, search, v, level, trail):
    """Open a candidate, and before it whatever lies above it; returns the trail."""
    candidates = search.candidates[level]
    numbers = search.numbers
    words = len(candidates)
    while v >= 0:
        if not has(candidates, v):
            v = nodes.parent[v]
            continue
        search.open[search.n_open[level]] = v
        search.n_open[level] += 1
        search.is_open[v] = True
        search.gain[level] += nodes.weight[v]
        clear(candidates, v)
        for i in range(words):
            candidates[i] &= ~nodes.conflicts[v, i]
        numbers[STEPS] += words + nodes.of_starts[v + 1] - nodes.of_starts[v]
        for p in range(nodes.of_starts[v], nodes.of_starts[v + 1]):
            c = nodes.of_node[p]
            search.n_members[c] += 1
            closed = nodes.starts[c + 1] - nodes.starts[c] - search.n_members[c]
            if closed > 2:
                continue
            numbers[STEPS] += 4
            first, second = -1, -1
            for q in range(nodes.starts[c], nodes.starts[c + 1]):
                if not search.is_open[nodes.members[q]]:
                    first, second = second, nodes.members[q]
            if closed == 1:
                if has(candidates, second):
                    for i in range(words):
                        candidates[i] &= ~nodes.below[second, i]
            elif has(candidates, first) and has(candidates, second) and not has(nodes.conflicts[first], second):
                before = trail[2]
                trail = connect(nodes, candidates, first, second, trail)
                numbers[STEPS] += words + trail[2] - before
        v = nodes.parent[v]
    return trail


@nb.step
def go_back(nodes, search, level, n_open, trail):
    """Close what was opened after the first `n_open` nodes, and take back the conflicts that the level has added."""
    places, olds, n = trail
    words = nodes.conflicts.shape[1]
    for i in range(search.n_open[level] - 1, n_open - 1, -1):
        v = search.open[i]
        search.is_open[v] = False
        for p in range(nodes.of_starts[v], nodes.of_starts[v + 1]):
            search.n_members[nodes.of_node[p]] -= 1
    while n > search.n_changed[level]:
        n -= 1
        nodes.conflicts[places[n] // words, places[n] % words] = olds[n]
    return places, olds, n


@nb.step
def clashes(nodes, search, v, candidates):
    """Whether a clash of the node may still come about."""
    for p in range(nodes.of_starts[v], nodes.of_starts[v + 1]):
        c = nodes.of_node[p]
        alive = True
        for q in range(nodes.starts[c], nodes.starts[c + 1]):
            u = nodes.members[q]
            search.numbers[STEPS] += 1
            if u != v and not search.is_open[u] and not has(candidates, u):
                alive = False
                break
        if alive:
            return True
    return False


@nb.part
def open_the_safe(nodes, search, level, trail):
    """Open every candidate below an open node (or at the top) that weighs as much as all candidates in conflict with it together."""
    candidates = search.candidates[level]
    words = len(candidates)
    for i in range(words):
        word = candidates[i]
        while word:
            v = 64 * i + lowest(word)
            word &= word - ONE
            above = nodes.parent[v]
            if nodes.weight[v] < 0 or not has(candidates, v) or (above >= 0 and has(candidates, above)):
                continue
            rest = nodes.weight[v]
            for j in range(words):
                others = candidates[j] & nodes.conflicts[v, j]
                while others and rest >= 0:
                    u = 64 * j + lowest(others)
                    others &= others - ONE
                    rest -= NO_LIMIT if nodes.dropped[u] else max(0, nodes.weight[u])
                    search.numbers[STEPS] += 1
                if rest < 0:
                    break
            search.numbers[STEPS] += words
            if rest >= 0 and not clashes(nodes, search, v, candidates):
                trail = open_candidate(nodes, search, v, level, trail)
    return trail


@nb.part
def undecided_branch(nodes, search, level, branches):
    """(a branch that may yet be dropped or not, or -1; what is dropped already; what is if the undecided ones are, too)."""
    candidates = search.candidates[level]
    first = -1
    gone = np.int64(0)
    open_yet = np.int64(0)
    for v in branches:
        if search.is_open[v]:
            continue
        if has(candidates, v):
            open_yet += nodes.dropped[v]
            if first < 0:
                first = v
        else:
            gone += nodes.dropped[v]
    return first, gone, gone + open_yet


@nb.step
def note_best(nodes, search, level):
    """The open nodes are the best set so far."""
    search.numbers[BEST] = search.gain[level]
    search.numbers[IMPROVEMENTS] += 1
    for v in range(len(search.best)):
        search.best[v] = search.is_open[v]


@nb.njit(cache=True, nogil=True)
def try_order(nodes, search, order, trail):
    """Before a search: open nodes in this order where that is possible, and note the set if it is the best so far."""
    for i in range(search.candidates.shape[1]):
        search.candidates[1, i] = search.candidates[0, i]
    search.n_open[1], search.gain[1], search.n_changed[1] = 0, 0, trail[2]
    for v in order:
        if has(search.candidates[1], v):
            trail = open_candidate(nodes, search, v, 1, trail)
    gone = np.int64(0)
    for v in range(len(nodes.dropped)):
        if not search.is_open[v]:
            gone += nodes.dropped[v]
    if gone <= nodes.budget and search.gain[1] > search.numbers[BEST]:
        note_best(nodes, search, 1)
    return go_back(nodes, search, 1, 0, trail)


@nb.njit(cache=True, nogil=True)
def search_on(nodes, search, branches, most_steps, trail):
    """Search until all is searched (the level is then -1) or so many steps are done in all; returns the trail.

    `branches` are the nodes that count against the budget.
    """
    numbers, words = search.numbers, nodes.conflicts.shape[1]
    level = numbers[LEVEL]
    while level >= 0 and numbers[STEPS] < most_steps:
        candidates, branching = search.candidates[level], search.branching[level]
        undecided, fits = -1, True
        if numbers[IS_NEW]:
            trail = open_the_safe(nodes, search, level, trail)
            search.seen[level] = -1
            numbers[IS_NEW] = 0
        if len(branches):
            undecided, gone, all_gone = undecided_branch(nodes, search, level, branches)
            fits = gone <= nodes.budget
            if all_gone <= nodes.budget and search.gain[level] > numbers[BEST]:
                note_best(nodes, search, level)
        elif search.gain[level] > numbers[BEST]:
            note_best(nodes, search, level)
        if fits and (undecided >= 0 or search.seen[level] != numbers[IMPROVEMENTS]):
            _, steps = cover(candidates, nodes.conflicts, nodes.weight, numbers[BEST] - search.gain[level], branching)
            numbers[STEPS] += steps
            search.seen[level] = numbers[IMPROVEMENTS]
        # The last of those that did not fit: it has the most conflicts, and the candidates before it stay for the others.
        b = -1
        if fits:
            for i in range(words - 1, -1, -1):
                word = branching[i] & candidates[i]
                if word:
                    b = 64 * i
                    while word > ONE:
                        word >>= ONE
                        b += 1
                    break
        if undecided >= 0 and fits and search.gain[level] > numbers[BEST]:
            b = undecided
        if b < 0:
            n_open = search.n_open[level - 1] if level else 0
            trail = go_back(nodes, search, level, n_open, trail)
            level -= 1
            continue
        if undecided >= 0:
            b = undecided
        search.n_open[level + 1], search.gain[level + 1] = search.n_open[level], search.gain[level]
        search.n_changed[level + 1] = trail[2]
        for i in range(words):
            search.candidates[level + 1, i] = candidates[i]
            candidates[i] &= ~nodes.below[b, i]
        level += 1
        trail = open_candidate(nodes, search, b, level, trail)
        numbers[IS_NEW] = 1
        numbers[STEPS] += 2 * words
    numbers[LEVEL], numbers[CHANGES] = level, trail[2]
    return trail


@nb.njit(cache=True, nogil=True)
def most_possible(nodes, search):
    """No set weighs more, as far as the search has come."""
    most = search.numbers[BEST]
    outside = np.empty(nodes.conflicts.shape[1], np.uint64)
    for level in range(search.numbers[LEVEL] + 1):
        bound, _ = cover(search.candidates[level], nodes.conflicts, nodes.weight, NO_LIMIT, outside)
        most = max(most, search.gain[level] + bound)
    return most


def forced_nodes(
    weight: npt.NDArray[np.int64], below: Bits, conflicts: Bits, least: int
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_], int]:
    """(must be open, must be closed, bound): nodes without or with which no set weighs as much as `least`, and what none exceeds."""
    n = len(conflicts)
    whole, bounds = bit_rows(np.ones((1, n), np.bool_))[0], np.empty(2 * n + 1, np.int64)
    _bounds_without(weight, below, conflicts, whole, np.empty_like(whole), np.empty_like(whole), bounds)
    return bounds[:n] < least, bounds[n:-1] < least, int(bounds[-1])


@nb.njit(cache=True, nogil=True)
def _bounds_without(weight, below, conflicts, whole, candidates, outside, bounds):
    """What no set exceeds that has none of what is below a node, of what conflicts with one, and of nothing."""
    n = len(conflicts)
    for v in range(len(bounds)):
        for i in range(len(whole)):
            candidates[i] = whole[i]
            if v < 2 * n:
                candidates[i] &= ~(below[v, i] if v < n else conflicts[v - n, i])
        bounds[v] = cover(candidates, conflicts, weight, NO_LIMIT, outside)[0]


@nb.njit(cache=True, nogil=True)
def cliques(conflicts):
    """Cliques that cover every conflict: clique c is `members[starts[c]:starts[c + 1]]`."""
    n, words = conflicts.shape
    left = conflicts.copy()
    common = np.empty(words, np.uint64)
    starts, members = np.zeros(64, np.int64), np.empty(256, np.int32)
    n_cliques, size = 0, 0
    for v in range(n):
        for i in range(words):
            while left[v, i]:
                if n_cliques + 2 > len(starts):
                    starts = larger(starts, n_cliques + 2)
                first = size
                u = v
                for j in range(words):
                    common[j] = conflicts[v, j]
                while u >= 0:
                    if size == len(members):
                        members = larger(members, size + 1)
                    members[size] = u
                    size += 1
                    if u != v:
                        for j in range(words):
                            common[j] &= conflicts[u, j]
                    # Rather a node whose conflict with v is not covered yet.
                    u, other = -1, -1
                    for j in range(words):
                        if common[j] & left[v, j]:
                            u = 64 * j + lowest(common[j] & left[v, j])
                            break
                        if common[j] and other < 0:
                            other = 64 * j + lowest(common[j])
                    u = max(u, other) if u < 0 else u
                n_cliques += 1
                starts[n_cliques] = size
                for p in range(first, size):
                    for q in range(first, size):
                        clear(left[members[p]], members[q])
    return starts[: n_cliques + 1], members[:size]
