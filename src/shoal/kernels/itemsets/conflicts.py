"""Which nodes cannot be open together: rare sets over all levels of the hierarchy at once.

A row is laid out with every node that any cut may publish one of its items as, so one walk finds the rare sets of all cuts. What a rare
set says is said by the nodes above its members: not all of these can be open. Most sets say the same as others, so the walk keeps
them by what they say: a node that must close, two that conflict, or a larger clash, each once. Of a node and one below it the one
above needs no mention. And where two nodes conflict already, no set with both says anything new, so the walk does not go there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels import compiler as nb
from shoal.kernels.arrays import larger, sort_range
from shoal.kernels.itemsets.open_sets import Bits, has
from shoal.kernels.itemsets.prefixes import (
    LONG,
    Rows,
    add_child,
    clear_counts,
    close_frame,
    count_tails,
    gathered_tails,
    home_of,
    new_walk,
    note_person,
    row_behind,
    spread_places,
    start_walk,
    with_children,
)
from shoal.kernels.parallel import even_row_blocks, over_blocks

Pulse = Callable[[float], None] | None
MOST_CLASHES = 20_000
"""Clashes that a walk over one block of first tokens keeps; the others are found once the first are known."""


class Paths(NamedTuple):
    """The tokens that item i may be published as: `tokens[starts[i]:starts[i + 1]]`."""

    starts: npt.NDArray[np.int64]
    tokens: npt.NDArray[np.int32]
    n_tokens: int


class Conflicts(NamedTuple):
    """What rare sets say about the nodes above their members."""

    pairs: npt.NDArray[np.int64]
    """Two nodes that cannot both be open; twice the same for a node that must close."""
    clashes: npt.NDArray[np.int32]
    """More nodes that cannot all be open, unused places -1."""
    are_all: bool
    """Whether no clash was left out."""
    steps: int


class Relations(NamedTuple):
    """What is known of the nodes that may be open."""

    above: npt.NDArray[np.int32]
    """Per token, the number of the node above it."""
    below: Bits
    """Per node, itself and all below it."""
    conflicts: Bits
    """Per node, those that cannot be open beside it; itself if it must close."""


def lengths_at_all_levels(
    offsets: npt.NDArray[np.int64], items: npt.NDArray[np.int32], paths: Paths, threads: int | None, pulse: Pulse
) -> npt.NDArray[np.int32]:
    """How many tokens each row has."""
    home = home_of(items)
    lengths = np.empty(len(offsets) - 1, np.int32) if home is None else home.empty(len(offsets) - 1, np.int32)
    over_blocks(
        lambda a, b: _count_tokens(offsets, items, paths, lengths, a, b, np.full(paths.n_tokens, -1, np.int64)),
        even_row_blocks(offsets, 16),
        threads,
        pulse,
    )
    return lengths


def rows_at_all_levels(
    offsets: npt.NDArray[np.int64],
    items: npt.NDArray[np.int32],
    paths: Paths,
    lengths: npt.NDArray[np.int32],
    threads: int | None,
    pulse: Pulse,
    people: npt.NDArray[np.int32] | None = None,
) -> Rows:
    """The rows with all tokens of their items, laid out for walks."""
    home = home_of(items)
    room = np.empty if home is None else home.map_array
    at = room(len(offsets), np.int64)
    at[0] = 0
    np.cumsum(lengths, out=at[1:])
    at.flags.writeable = False  # as the offsets of data are: kernels are compiled for either
    tails = room(int(at[-1]) + len(lengths), np.int32)

    def write(a: int, b: int) -> npt.NDArray[np.int64]:
        counts = np.zeros((3, paths.n_tokens), np.int64)
        _write_tokens(offsets, items, paths, at, tails, a, b, *counts)
        return counts

    counts = over_blocks(write, even_row_blocks(at, 16), threads, pulse)
    support, volume = np.zeros(paths.n_tokens, np.int64), np.zeros(paths.n_tokens, np.int64)
    for more_support, more_volume, _ in counts:
        support += more_support
        volume += more_volume
    volume[support == 1] = 0
    return Rows(at, tails, lengths, support, volume, support).of_people(people)


def conflicts(rows: Rows, first: int, last: int, k: int, m: int, relations: Relations) -> Conflicts:
    """What the rare sets of up to m tokens say that begin in [first, last)."""
    gathered = gathered_tails(rows, first, last, m)
    found = relations.conflicts.copy()
    if m == 2:
        walk = new_walk.py_func(len(rows.support), 2, rows.people)  # nothing to compile for a few arrays
        steps = find_conflicting_pairs(
            gathered, rows.support, rows.crowd, rows.people, first, last, k, relations, found, walk
        )
        clashes = np.empty((0, m), np.int32)
    else:
        clashes, steps = find_conflicts(
            gathered, rows.support, rows.crowd, rows.people, first, last, k, m, relations, found, MOST_CLASHES
        )
    found &= ~relations.conflicts
    return Conflicts(_bits_set(found), clashes, len(clashes) < MOST_CLASHES, int(steps))


def _bits_set(bits: Bits) -> npt.NDArray[np.int64]:
    """Row and place of each bit, in order."""
    rows, words = np.nonzero(bits)
    of_word, place = np.nonzero(
        np.unpackbits(bits[rows, words].astype("<u8").view(np.uint8), bitorder="little").reshape(-1, 64)
    )
    return np.stack((rows[of_word], 64 * words[of_word] + place), axis=1)


@nb.njit(cache=True, nogil=True)
def _count_tokens(offsets, items, paths, lengths, first, last, seen):
    for row in range(first, last):
        n = 0
        for p in range(offsets[row], offsets[row + 1]):
            for q in range(paths.starts[items[p]], paths.starts[items[p] + 1]):
                if seen[paths.tokens[q]] != row:
                    seen[paths.tokens[q]] = row
                    n += 1
        lengths[row] = n


@nb.njit(cache=True, nogil=True)
def _write_tokens(offsets, items, paths, at, tails, first, last, support, volume, seen):
    """Write rows [first, last); per token, count its rows and what gathering would copy for it. No row is seen yet."""
    for row in range(first, last):
        start = at[row] + row
        stop = start
        for p in range(offsets[row], offsets[row + 1]):
            for q in range(paths.starts[items[p]], paths.starts[items[p] + 1]):
                token = paths.tokens[q]
                if seen[token] != row + 1:
                    seen[token] = row + 1
                    tails[stop] = token
                    stop += 1
        sort_range(tails, start, stop)
        tails[stop] = -(row + 1)
        for p in range(start, stop):
            support[tails[p]] += 1
            if stop - start <= LONG:
                volume[tails[p]] += stop - p


@nb.njit(cache=True, nogil=True)
def find_conflicting_pairs(gathered, support_of, crowd_of, people, first, last, k, relations, found, walk):
    """`find_conflicts` where m is 2: the steps."""
    tails, entries, starts = gathered.tails, gathered.entries, gathered.starts
    above, below = relations.above, relations.below
    count, crowd, touched = walk.counter, walk.crowd, walk.touched
    steps = np.int64(0)
    for a in range(first, last):
        if crowd_of[a] < k or crowd_of[a] < 2 or above[a] < 0 or has(found[above[a]], above[a]):
            continue
        n_touched = 0
        for i in range(starts[a - first], starts[a - first] + support_of[a]):
            p = entries[i] + 1
            row = row_behind(tails, p, people)
            while tails[p] >= 0:
                touched[n_touched] = tails[p]
                n_touched += count[tails[p]] == 0
                note_person(people, walk, tails[p], row, count[tails[p]], True)
                count[tails[p]] += 1
                p += 1
            steps += p - entries[i]
        for t in range(n_touched):
            u, v = np.int64(above[a]), np.int64(above[touched[t]])
            if crowd[touched[t]] < k and not has(found[u], v) and not has(found[v], v):
                # Of a node and one below it the one above needs no mention.
                u, v = v if has(below[u], v) else u, u if has(below[v], u) else v
                set_bit(found, u, v)
                set_bit(found, v, u)
            count[touched[t]] = 0
    return steps


@nb.njit(cache=True, nogil=True)
def find_conflicts(gathered, support_of, crowd_of, people, first, last, k, m, relations, found, most):
    """Add what rare sets say about one or two nodes to `found`; returns (clashes, steps), at most `most` clashes."""
    tails, starts, entries, places, ends = gathered
    walk = new_walk(len(support_of), m, people)
    prefix = np.empty(m + 1, np.int32)
    said = np.empty(m + 1, np.int32)
    table = np.full(1024, -1, np.int64)
    clashes = np.empty((256, m), np.int32)
    n_clashes = 0
    steps = np.int64(0)
    for a in range(first, last):
        n_first = support_of[a]
        above = relations.above[a]
        if crowd_of[a] < max(k, 2) or m == 1 or above < 0 or has(found[above], above):
            continue
        if n_first > len(places):
            places, ends = np.empty(2 * n_first, np.int64), np.empty(2 * n_first, np.int64)
        for i in range(n_first):
            places[i] = entries[starts[a - first] + i]
        start_walk(walk, a, n_first)
        depth = 0
        while depth >= 0:
            if walk.following[depth] == walk.last[depth]:
                depth -= 1
                continue
            child = walk.following[depth]
            walk.following[depth] += 1
            begin, end = walk.begin[child], walk.end[child]
            prefix[depth] = relations.above[walk.token[child]]
            size = depth + 1
            n_touched = count_tails(tails, places, ends, begin, end, walk, people)
            for i in range(begin, end):
                steps += ends[i] - places[i]
            for t in range(n_touched):
                if walk.crowd[walk.touched[t]] >= k:
                    continue
                prefix[size] = relations.above[walk.touched[t]]
                n_said = what_it_says(prefix, size, relations.below, found, said)
                if n_said > 2 and n_clashes < most:
                    table, clashes, n_clashes = put_clash(table, clashes, n_clashes, said, n_said)
            if size + 1 == m:
                clear_counts(walk, n_touched)
                continue
            if walk.last[depth] + n_touched > len(walk.token):
                walk = with_children(walk, walk.last[depth] + n_touched)
            if open_free_frame(walk, depth, n_touched, k, end - begin, prefix, relations.above, found):
                if walk.top[depth + 1] > len(places):
                    places, ends = larger(places, walk.top[depth + 1]), larger(ends, walk.top[depth + 1])
                spread_places(tails, places, ends, begin, end, walk.slot, walk.end)
                depth += 1
    return clashes[:n_clashes], steps


@nb.part
def open_free_frame(walk, depth, n_touched, k, support, prefix, above, found):
    """As `open_frame`, without tokens whose node above conflicts with one of the prefix."""
    child, top = walk.last[depth], walk.top[depth]
    for t in range(n_touched):
        token = walk.touched[t]
        walk.slot[token] = -1
        if k <= walk.crowd[token] and walk.counter[token] < support:
            free = not has(found[above[token]], above[token])
            for i in range(depth + 1):
                if has(found[prefix[i]], above[token]):
                    free = False
            if free:
                add_child(walk, child, token, top)
                top += walk.counter[token]
                child += 1
        walk.counter[token] = 0
    return close_frame(walk, depth, child, top)


@nb.step
def what_it_says(nodes, last, below, found, said):
    """Note what it means that nodes [0, last] are not all open, unless that is known; if three or more are left, they are in `said`.

    Returns how many are left, 0 if it was known.
    """
    new = nodes[last]
    for i in range(last + 1):
        if has(found[nodes[i]], new):
            return 0
    n = 0
    for i in range(last + 1):
        v = nodes[i]
        needed = True
        for j in range(last + 1):
            # Of equal ones the first stays.
            if j != i and has(below[v], nodes[j]) and (nodes[j] != v or j < i):
                needed = False
                break
        if needed:
            at = n
            while at > 0 and said[at - 1] > v:
                said[at] = said[at - 1]
                at -= 1
            said[at] = v
            n += 1
    if n == 2 and has(found[said[0]], said[1]):
        return 0
    if n <= 2:
        set_bit(found, said[0], said[n - 1])
        set_bit(found, said[n - 1], said[0])
    return n


@nb.step
def set_bit(bits, v, u):
    bits[v, u >> 6] |= np.uint64(1) << np.uint64(u & 63)


@nb.part
def put_clash(table, clashes, n_clashes, said, n_said):
    """Keep a clash unless it is there already: (table of places, clashes, how many)."""
    m = clashes.shape[1]
    at = place_of_clash(table, clashes, said, n_said)
    if table[at] >= 0:
        return table, clashes, n_clashes
    if n_clashes == len(clashes):
        more = np.empty((2 * n_clashes, m), np.int32)
        for c in range(n_clashes):
            for i in range(m):
                more[c, i] = clashes[c, i]
        clashes = more
    for i in range(m):
        clashes[n_clashes, i] = said[i] if i < n_said else -1
    table[at] = n_clashes
    n_clashes += 1
    if 2 * n_clashes > len(table):
        table = np.full(4 * len(table), -1, np.int64)
        for c in range(n_clashes):
            n = 0
            while n < m and clashes[c, n] >= 0:
                n += 1
            table[place_of_clash(table, clashes, clashes[c], n)] = c
    return table, clashes, n_clashes


@nb.step
def place_of_clash(table, clashes, said, n_said):
    """Where the clash stands in the table, or the free place where it belongs."""
    key = np.uint64(n_said)
    for i in range(n_said):
        key = (key ^ np.uint64(said[i])) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    at = np.int64(key & np.uint64(len(table) - 1))
    while table[at] >= 0:
        c = table[at]
        same = True
        for i in range(n_said):
            if clashes[c, i] != said[i]:
                same = False
                break
        if same and (n_said == clashes.shape[1] or clashes[c, n_said] < 0):
            break
        at = (at + 1) & (len(table) - 1)
    return at
