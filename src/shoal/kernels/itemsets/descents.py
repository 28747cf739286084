"""Which rows may go a level down: node u in them is replaced by its children, as far as nothing becomes too rare; and which rows must
keep u as well, so that sets which stand in too few of them stand in enough.

The rows in question hold u (they come first) or a child of it already; they are written with the children in place. Tokens 1 to
`n_children` are children of u, larger ones all else. A row has its children first, each token once. Every pair with a child
has a counter, so has every token beside u, and a row that goes back up updates them on the spot: a sweep over the rows costs their
pairs with a child and nothing else. Triples are settled child by child in the same way. Rows only ever go up, and which are left when
nothing is rare does not depend on the order in which they go.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels import compiler as nb
from shoal.kernels.arrays import sort_range
from shoal.kernels.itemsets.prefixes import Gathered
from shoal.kernels.itemsets.rare_sets import find_rare_sets


class WrittenRows(NamedTuple):
    """Row r has its children of u at `tokens[starts[r]:behind[r]]`, ascending, and all else at `tokens[behind[r]:starts[r + 1]]`."""

    starts: npt.NDArray[np.int64]
    behind: npt.NDArray[np.int64]
    tokens: npt.NDArray[np.int32]


@nb.njit(cache=True, nogil=True)
def rows_around(below, node, row_of, u, children, is_child, seen, clock):
    """Rows in which something below u is published as u, then those where it is published as a child; and how many are the former.

    A row is never both: what it publishes is a cut. `is_child` is all False, before and after, and no entry of `seen` is `clock`.
    """
    rows = np.empty(len(below), np.int64)
    movers = 0
    others = len(below)
    for child in children:
        is_child[child] = True
    for p in below:
        row = row_of[p]
        if seen[row] == clock or (node[p] != u and not is_child[node[p]]):
            continue
        seen[row] = clock
        if node[p] == u:
            rows[movers] = row
            movers += 1
        else:
            others -= 1
            rows[others] = row
    for child in children:
        is_child[child] = False
    size = movers + len(below) - others
    for i in range(movers, size):
        rows[i] = rows[others + i - movers]
    return rows[:size], movers


@nb.njit(cache=True, nogil=True)
def finer_nodes(rows, offsets, node, position, u, children, starts, fine, times, used):
    """Write what each occurrence of these rows is when u gives way to its children, count how often each node then stands there, and list
    the nodes that do: how many. The leaves below `children` begin at the positions `starts`, ascending."""
    at = 0
    n_used = 0
    for row in rows:
        for p in range(offsets[row], offsets[row + 1]):
            v = node[p]
            if v == u:
                low = 0
                high = len(starts)
                while high - low > 1:
                    middle = (low + high) >> 1
                    if starts[middle] <= position[p]:
                        low = middle
                    else:
                        high = middle
                v = children[low]
            fine[at] = v
            at += 1
            if times[v] == 0:
                used[n_used] = v
                n_used += 1
            times[v] += 1
    return n_used


@nb.njit(cache=True, nogil=True)
def write_tokens(rows, offsets, fine, number, n_children, ascending, last, written):
    """Write the rows, each node as its number; all else in a row is only put in order where `ascending` says so."""
    starts, behind, tokens = written
    at = 0
    end = 0
    for i in range(len(rows)):
        starts[i] = end
        children_end = end
        for _ in range(offsets[rows[i] + 1] - offsets[rows[i]]):
            token = number[fine[at]]
            at += 1
            if last[token] == i:
                continue
            last[token] = i
            if token <= n_children:
                tokens[end] = tokens[children_end]
                tokens[children_end] = token
                children_end += 1
            else:
                tokens[end] = token
            end += 1
        sort_range(tokens, starts[i], children_end)
        if ascending:
            sort_range(tokens, children_end, end)
        behind[i] = children_end
    starts[len(rows)] = end


@nb.njit(cache=True, nogil=True)
def settle_pairs(rows, n_movers, n_children, n_tokens, k, pairs, down):
    """Sets `down` of the first `n_movers` rows to False where they keep u. Returns the number of tokens looked at.

    At the end each child, and with `pairs` each pair with a child, stands in no row or in k; so do u and the pairs with u. First the rows
    with something rare go up, until there are none; then, row by row, as many more as the pairs with u still need.
    """
    starts, behind, tokens = rows
    together = np.zeros((n_children + 1) * n_tokens, np.int32)
    beside_u = np.zeros(n_tokens, np.int32)  # the first entry counts the rows that keep u
    looked = np.int64(0)
    for row in range(len(behind)):
        for p in range(starts[row], behind[row]):
            base = tokens[p] * np.int64(n_tokens)
            for q in range(p, starts[row + 1]):
                together[base + tokens[q]] += 1
        looked += starts[row + 1] - starts[row]
    filling = False
    while True:
        went_up = False
        for row in range(n_movers):
            if not down[row]:
                continue
            stop = starts[row + 1]
            looked += stop - starts[row]
            goes_up = False
            if filling:
                if 0 < beside_u[0] < k:
                    goes_up = True
                elif pairs:
                    for q in range(behind[row], stop):
                        if 0 < beside_u[tokens[q]] < k:
                            goes_up = True
                            break
            else:
                for p in range(starts[row], behind[row]):
                    base = tokens[p] * np.int64(n_tokens)
                    for q in range(p, stop if pairs else p + 1):
                        if together[base + tokens[q]] < k:
                            goes_up = True
                            break
                    if goes_up:
                        break
            if goes_up:
                went_up = True
                down[row] = False
                for p in range(starts[row], behind[row]):
                    base = tokens[p] * np.int64(n_tokens)
                    for q in range(p, stop):
                        together[base + tokens[q]] -= 1
                beside_u[0] += 1
                for q in range(behind[row], stop):
                    beside_u[tokens[q]] += 1
        if filling and not went_up:
            return looked
        filling = not went_up


@nb.njit(cache=True, nogil=True)
def settle_triples(rows, n_movers, n_children, n_tokens, k, most, down, asked):
    """Sets `down` of the first `n_movers` rows to False until no child, no pair and no triple with one stands in fewer than k of those
    that go down, none aside. Looks at the children that are `asked`, and at others whose rows went up meanwhile.

    Returns the number of tokens looked at, or -1 where a child has more company than `most` counters are for.
    """
    starts, behind, tokens = rows
    places_of = np.zeros(n_children + 2, np.int64)
    for row in range(len(behind)):
        for p in range(starts[row], behind[row]):
            places_of[tokens[p] + 1] += 1
    for child in range(1, n_children + 2):
        places_of[child] += places_of[child - 1]
    filled = places_of.copy()
    places = np.empty(places_of[n_children + 1], np.int64)
    row_of = np.empty(places_of[n_children + 1], np.int64)
    for row in range(len(behind)):
        for p in range(starts[row], behind[row]):
            places[filled[tokens[p]]] = p
            row_of[filled[tokens[p]]] = row
            filled[tokens[p]] += 1
    together = np.zeros(1024, np.int32)
    count = np.zeros(n_tokens, np.int32)
    local = np.empty(n_tokens, np.int64)
    touched = np.empty(n_tokens, np.int32)
    looked = np.int64(0)
    again = True
    while again:
        again = False
        for child in range(1, n_children + 1):
            if not asked[child]:
                continue
            asked[child] = False
            n = 0
            n_rows = 0
            for i in range(places_of[child], places_of[child + 1]):
                if down[row_of[i]]:
                    n_rows += 1
                    for p in range(places[i] + 1, starts[row_of[i] + 1]):
                        token = tokens[p]
                        if count[token] == 0:
                            local[token] = n
                            touched[n] = token
                            n += 1
                        count[token] += 1
            if n * n > most:
                return np.int64(-1)
            if n * n > len(together):
                together = np.zeros(2 * n * n, np.int32)
            for i in range(places_of[child], places_of[child + 1]):
                if down[row_of[i]]:
                    add_pairs(tokens, places[i] + 1, starts[row_of[i] + 1], local, n, together, 1)
            went_up = True
            while went_up:
                went_up = False
                for i in range(places_of[child], places_of[child + 1]):
                    row = row_of[i]
                    if row >= n_movers or not down[row]:
                        continue
                    stop = starts[row + 1]
                    looked += stop - places[i]
                    goes_up = n_rows < k
                    for p in range(places[i] + 1, stop):
                        if goes_up or count[tokens[p]] < k:
                            goes_up = True
                            break
                        base = local[tokens[p]] * n
                        for q in range(p + 1, stop):
                            if together[base + local[tokens[q]]] < k:
                                goes_up = True
                                break
                    if goes_up:
                        went_up = True
                        down[row] = False
                        n_rows -= 1
                        for p in range(places[i] + 1, stop):
                            count[tokens[p]] -= 1
                        add_pairs(tokens, places[i] + 1, stop, local, n, together, -1)
                        for p in range(starts[row], behind[row]):
                            if tokens[p] != child:
                                asked[tokens[p]] = True
                                again = True
            for i in range(places_of[child], places_of[child + 1]):
                if down[row_of[i]]:
                    add_pairs(tokens, places[i] + 1, starts[row_of[i] + 1], local, n, together, 0)
            for t in range(n):
                count[touched[t]] = 0
    return looked


@nb.step
def add_pairs(tokens, start, stop, local, n, together, step):
    """Add `step` to the counter of each pair of these tokens, or clear it where that is 0."""
    for p in range(start, stop):
        base = local[tokens[p]] * n
        for q in range(p + 1, stop):
            at = base + local[tokens[q]]
            together[at] = together[at] + step if step != 0 else 0


def rare_beside(
    rows: WrittenRows, stay: npt.NDArray[np.bool_], n_tokens: int, k: int, m: int, most: int
) -> npt.NDArray[np.int32]:
    """Sets of the fewest tokens, at most m, u among them as token 0, that too few of the rows which `stay` hold: at most so many of them,
    one a line."""
    tails, entries = company_of(rows, stay)
    support = np.zeros(n_tokens, np.int64)
    support[0] = len(entries)
    room, nothing = np.empty(4096, np.int64), np.empty(0, np.uint8)
    gathered = Gathered(tails, np.array([0, len(entries)]), entries, room, room.copy())
    for size in range(1, m + 1):
        sets = find_rare_sets(gathered, support, support, None, 0, 1, k, size, most, nothing) if k > 1 else room[:0]
        if len(sets):
            break
    return np.asarray(sets, np.int32).reshape(-1, size)


@nb.njit(cache=True, nogil=True)
def company_of(rows, stay):
    """What stands beside u in the rows that keep it, each row ended by -(row + 1), and the places right before."""
    starts, behind, tokens = rows
    size = 1
    n_rows = 0
    for row in range(len(stay)):
        if stay[row]:
            size += starts[row + 1] - behind[row] + 1
            n_rows += 1
    tails = np.empty(size, np.int32)
    entries = np.empty(n_rows, np.int64)
    at = 1
    n_rows = 0
    for row in range(len(stay)):
        if stay[row]:
            entries[n_rows] = at - 1
            n_rows += 1
            for p in range(behind[row], starts[row + 1]):
                tails[at] = tokens[p]
                at += 1
            tails[at] = -(row + 1)
            at += 1
    return tails, entries


@nb.njit(cache=True, nogil=True)
def rows_to_fill(rows, sets, stay, k):
    """Row by row, those that do not stay yet and hold all of a set (ascending, u aside, unused places -1, one a line) that fewer than k
    of those which stay hold."""
    n_rows = len(stay)
    n_sets = sets.shape[0]
    count = np.zeros(n_sets, np.int64)
    joined = np.zeros(n_rows, np.bool_)
    for wanted in (True, False):
        for row in range(n_rows):
            if stay[row] != wanted:
                continue
            needed = wanted
            for s in range(n_sets):
                if not needed and count[s] < k and holds(rows, row, sets, s):
                    needed = True
            if needed:
                joined[row] = not wanted
                for s in range(n_sets):
                    if holds(rows, row, sets, s):
                        count[s] += 1
    return joined


@nb.step
def holds(rows, row, sets, s):
    """Whether the row has all tokens of set s beside u."""
    starts, behind, tokens = rows
    p = behind[row]
    stop = starts[row + 1]
    for place in range(sets.shape[1]):
        token = sets[s, place]
        if token <= 0:
            continue
        while p < stop and tokens[p] < token:
            p += 1
        if p == stop or tokens[p] != token:
            return False
    return True


@nb.njit(cache=True, nogil=True)
def take_down(rows, offsets, down, u, fine, number, level, own, node, costs):
    """Publish the children in place of u in the rows that go down, and add up what the occurrences cost as each child's number."""
    at = 0
    for i in range(len(rows)):
        for p in range(offsets[rows[i]], offsets[rows[i] + 1]):
            if i < len(down) and down[i] and node[p] == u:
                node[p] = fine[at]
                costs[number[node[p]]] += level[node[p]] - own[p]
            at += 1
