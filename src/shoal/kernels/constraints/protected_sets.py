"""Of protected sets, whose items are published as tokens: in how many rows an attacker who knows what a row holds of them faces too few.

Every token has a bit per row. A set's row is bad if its trace, what the row holds of the set's tokens, stands in fewer than k rows: each of
these rows has to lose something of it, or the trace has to become commoner. Most sets are done with one look: where all tokens stand
together in k rows, so do all parts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels import compiler as nb
from shoal.kernels.classes.bitmaps import ones

FEW, SMALL = 5, 12
"""Tokens of a set up to which rows are counted word by word, and up to which every trace has a counter of its own."""


class Sets(NamedTuple):
    """The protected sets, by their items, and what each item is in."""

    bounds: npt.NDArray[np.int64]
    items: npt.NDArray[np.int64]
    family: npt.NDArray[np.int64]
    """Per set, the family that it is of, -1 for none: in such a set, the tokens that have an item of the family count."""
    starts: npt.NDArray[np.int64]
    """Per item, where its sets begin in `of_item`."""
    of_item: npt.NDArray[np.int64]


class State(NamedTuple):
    """What each item is published as. A token is known by one of its items."""

    token: npt.NDArray[np.int64]
    """Per item, -1 for one that is left out."""
    rows: npt.NDArray[np.uint64]
    """Per token, a bit for each row."""
    support: npt.NDArray[np.int64]
    """Per token, its rows."""
    of_family: npt.NDArray[np.bool_]
    """Per token and family, whether one of its items is of the family."""


class Room(NamedTuple):
    """What a count needs for a while."""

    traces: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]
    words: npt.NDArray[np.uint64]
    tokens: npt.NDArray[np.int64]
    stamp: npt.NDArray[np.int64]


def room_for(state: State, n_sets: int) -> Any:
    n_rows = 64 * state.rows.shape[1]
    return Room(
        np.empty(n_rows, np.int64),
        np.zeros(1 << SMALL, np.int64),
        np.empty(1 << FEW, np.uint64),
        np.empty(64, np.int64),
        np.full(n_sets, -1, np.int64),
    )


@nb.njit(cache=True, nogil=True)
def rows_as_bits(offsets, items, place, n_items):
    """Per item that has a place (others: -1), a bit for each row that holds it."""
    n_rows = len(offsets) - 1
    bits = np.zeros((n_items, (n_rows + 63) // 64), np.uint64)
    for row in range(n_rows):
        for p in range(offsets[row], offsets[row + 1]):
            if place[items[p]] >= 0:
                bits[place[items[p]], row >> 6] |= np.uint64(1) << np.uint64(row & 63)
    return bits


@nb.step
def bits_in(word):
    return np.int64(ones(word))  # a sum of signed and unsigned would be a float


@nb.step
def tokens_of(sets, state, s, one, other, every, tokens):
    """The tokens of a set that count into `tokens`, or `every` one, and how many: `one` and `other` are one token, `one`."""
    n = 0
    family = sets.family[s]
    for p in range(sets.bounds[s], sets.bounds[s + 1]):
        token = state.token[sets.items[p]]
        if token < 0:
            continue
        if not every and family >= 0 and not state.of_family[token, family]:
            joined = other >= 0 and token in (one, other)
            if not (joined and (state.of_family[one, family] or state.of_family[other, family])):
                continue
        if token == other:
            token = one
        new = True
        for q in range(n):
            new = new and tokens[q] != token
        if new:
            tokens[n] = token
            n += 1
    return n


@nb.step
def common_rows(rows, tokens, n):
    """The rows that hold all n tokens; `rows` has their bits."""
    support = 0
    if n == 1:
        own = rows[tokens[0]]
        for w in range(len(own)):
            support += bits_in(own[w])
    elif n == 2:  # the most sets are pairs
        own, other = rows[tokens[0]], rows[tokens[1]]
        for w in range(len(own)):
            support += bits_in(own[w] & other[w])
    else:
        for w in range(rows.shape[1]):
            word = rows[tokens[0], w]
            for q in range(1, n):
                if word == np.uint64(0):
                    break
                word &= rows[tokens[q], w]
            if word != np.uint64(0):
                support += bits_in(word)
    return support


@nb.step
def traces_of(rows, tokens, n, traces, at):
    """The trace of each row that holds any of the tokens into `traces`, its row into `at` if there is room; how many rows."""
    found = 0
    for w in range(rows.shape[1]):
        union = np.uint64(0)
        for q in range(n):
            union |= rows[tokens[q], w]
        bit = 0
        while union != np.uint64(0):
            low = union & (~union + np.uint64(1))
            bit = bits_in(low - np.uint64(1))
            trace = np.int64(0)
            for q in range(n):
                if rows[tokens[q], w] & low:
                    trace |= np.int64(1) << np.int64(q)
            traces[found] = trace
            if len(at) > 0:
                at[found] = 64 * w + bit
            found += 1
            union ^= low
    return found


@nb.part
def _bad_among_few(rows, tokens, n, k, room):
    """As `bad_rows`, from how many rows hold each part of the set."""
    counts, words = room.counts, room.words
    counts[: 1 << n] = 0
    for w in range(rows.shape[1]):
        for q in range(n):
            words[1 << q] = rows[tokens[q], w]
        for part in range(1, 1 << n):
            rest = part & (part - 1)
            if rest:
                words[part] = words[rest] & words[part ^ rest]
            if words[part] != np.uint64(0):
                counts[part] += bits_in(words[part])
    for part in range(1, 1 << n):
        words[part] = np.uint64(counts[part] < k)
    for q in range(n):  # of each part, the rows that hold it and nothing else of the set
        for part in range(1 << n):
            if part >> q & 1 == 0:
                counts[part] -= counts[part | 1 << q]
    bad = 0
    for part in range(1, 1 << n):
        if words[part]:
            bad += counts[part]
    return bad


@nb.step
def bad_rows(state, tokens, n, k, room):
    """Rows whose trace on the tokens stands in fewer than k rows."""
    if n == 0:
        return 0
    rows = state.rows
    whole = common_rows(rows, tokens, n)
    if whole >= k:
        return 0
    if n == 1:
        return whole
    if n == 2:
        bad = whole
        for q in range(2):
            support = state.support[tokens[q]]
            if support < k:
                bad += support - whole
        return bad
    if n <= FEW:
        return _bad_among_few(rows, tokens, n, k, room)
    found = traces_of(rows, tokens, n, room.traces, room.traces[:0])
    if n <= SMALL:
        counts = room.counts[: 1 << n]
        counts[:] = 0
        for p in range(found):
            counts[room.traces[p]] += 1
        for q in range(n):  # of each part, the rows that hold it and more
            for part in range(1 << n):
                if part >> q & 1 == 0:
                    counts[part] += counts[part | 1 << q]
        bad = 0
        for p in range(found):
            bad += counts[room.traces[p]] < k
        return bad
    seen = np.sort(room.traces[:found])
    bad = 0
    p = 0
    while p < found:
        same = p
        while same < found and seen[same] == seen[p]:
            same += 1
        support = same - p
        for q in range(same, found):
            if support >= k:
                break
            support += seen[q] & seen[p] == seen[p]
        if support < k:
            bad += same - p
        p = same
    return bad


@nb.njit(cache=True, nogil=True)
def bad_rows_of_sets(sets, state, k, which, room):
    """Per set, its bad rows, and how many rows hold all of its tokens, be they of its family or not: of a join, one may become so."""
    bad = np.zeros(len(which), np.int64)
    whole = np.zeros(len(which), np.int64)
    for i in range(len(which)):
        n = tokens_of(sets, state, which[i], -1, -1, False, room.tokens)
        bad[i] = bad_rows(state, room.tokens, n, k, room)
        n = tokens_of(sets, state, which[i], -1, -1, True, room.tokens)
        if n > 0:
            whole[i] = common_rows(state.rows, room.tokens, n)
    return bad, whole


@nb.njit(cache=True, nogil=True)
def rows_of_union(state, one, others):
    """Per token, the rows that hold it or `one`."""
    found = np.zeros(len(others), np.int64)
    for i in range(len(others)):
        for w in range(state.rows.shape[1]):
            found[i] += bits_in(state.rows[one, w] | state.rows[others[i], w])
    return found


@nb.njit(cache=True, nogil=True)
def relief(sets, state, k, bad, one, others, own, bounds, theirs, room):
    """Per token of `others`, how many bad rows fewer there are, over all sets, where it becomes one with `one`.

    `own` are the sets of `one` that a join can change, `theirs[bounds[i]:bounds[i + 1]]` those of `others[i]`; `bad` has the bad rows of
    each set now.
    """
    found = np.zeros(len(others), np.int64)
    alone, support = state.rows[one].copy(), state.support[one]
    for i in range(len(others)):
        room.stamp[own] = i
        state.support[one] = 0
        for w in range(len(alone)):  # as if they were one
            state.rows[one, w] = alone[w] | state.rows[others[i], w]
            state.support[one] += bits_in(state.rows[one, w])
        for p in range(len(own) + bounds[i + 1] - bounds[i]):
            if p < len(own):
                s = own[p]
            else:
                s = theirs[bounds[i] + p - len(own)]
                if room.stamp[s] == i:
                    continue
            n = tokens_of(sets, state, s, one, others[i], False, room.tokens)
            found[i] += bad[s] - bad_rows(state, room.tokens, n, k, room)
    state.rows[one], state.support[one] = alone, support
    room.stamp[:] = -1
    return found


@nb.njit(cache=True, nogil=True)
def images(sets, state, which, width):
    """Per set, its family and all its tokens, ascending, up to `width` of them; -1 where there are no more."""
    found = np.full((len(which), width + 1), -1, np.int64)
    tokens = np.empty(64, np.int64)
    for i in range(len(which)):
        n = tokens_of(sets, state, which[i], -1, -1, True, tokens)
        found[i, 0] = sets.family[which[i]]
        found[i, 1 : n + 1] = np.sort(tokens[:n])
    return found


@nb.njit(cache=True, nogil=True)
def bad_traces(sets, state, k, which, room):
    """(rows, sets): each bad row of each of these sets; one entry for each token that its trace holds, in `tokens`, so many in `sizes`."""
    rows = np.empty(1024, np.int64)
    sizes = np.empty(1024, np.int64)
    tokens = np.empty(4096, np.int64)
    found = held = 0
    at = np.empty(len(room.traces), np.int64)
    for i in range(len(which)):
        n = tokens_of(sets, state, which[i], -1, -1, False, room.tokens)
        if n == 0 or bad_rows(state, room.tokens, n, k, room) == 0:
            continue
        there = traces_of(state.rows, room.tokens, n, room.traces, at)
        seen = np.sort(room.traces[:there])
        for p in range(there):
            trace = room.traces[p]
            support = 0
            for q in range(np.searchsorted(seen, trace), there):
                support += seen[q] & trace == trace
                if support >= k:
                    break
            if support >= k:
                continue
            if found == len(rows):
                rows = np.concatenate((rows, np.empty(len(rows), np.int64)))
                sizes = np.concatenate((sizes, np.empty(len(sizes), np.int64)))
            if held + n > len(tokens):
                tokens = np.concatenate((tokens, np.empty(len(tokens) + n, np.int64)))
            rows[found] = at[p]
            sizes[found] = 0
            for q in range(n):
                if trace >> q & 1:
                    tokens[held] = room.tokens[q]
                    sizes[found] += 1
                    held += 1
            found += 1
    return rows[:found], sizes[:found], tokens[:held]


@nb.njit(cache=True, nogil=True)
def tokens_to_delete(order, starts, sizes, tokens, price):
    """Which tokens to take from rows so that each bad trace loses one: (row by its place in `order`, token).

    The traces of row r are `order[starts[r]:starts[r + 1]]`, places in `sizes`; `price` is what it costs to take a token from a row.
    """
    at = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
    row = np.empty(len(sizes), np.int64)
    token = np.empty(len(sizes), np.int64)
    found = 0
    hits = np.zeros(len(price), np.int64)
    done = np.zeros(len(sizes), np.bool_)
    for r in range(len(starts) - 1):
        left = starts[r + 1] - starts[r]
        while left > 0:
            best = -1
            for side in range(2):  # count, then forget
                for p in range(starts[r], starts[r + 1]):
                    if done[order[p]]:
                        continue
                    for q in range(at[order[p]], at[order[p] + 1]):
                        if side == 0:
                            hits[tokens[q]] += 1
                            if best < 0 or hits[tokens[q]] * price[best] > hits[best] * price[tokens[q]]:
                                best = tokens[q]
                        else:
                            hits[tokens[q]] = 0
            row[found] = r
            token[found] = best
            found += 1
            for p in range(starts[r], starts[r + 1]):
                if done[order[p]]:
                    continue
                for q in range(at[order[p]], at[order[p] + 1]):
                    if tokens[q] == best:
                        done[order[p]] = True
                if done[order[p]]:
                    left -= 1
    return row[:found], token[:found]


@nb.njit(cache=True, nogil=True)
def put_back(sets, state, k, rows, tokens, bounds, of_token, room):
    """Gives tokens back to rows where that makes no trace rare, one after the other; whether each came back.

    The sets of token t are `of_token[bounds[t]:bounds[t + 1]]`.
    """
    back = np.zeros(len(rows), np.bool_)
    for i in range(len(rows)):
        token, w = tokens[i], rows[i] >> 6
        bit = np.uint64(1) << np.uint64(rows[i] & 63)
        if state.rows[token, w] & bit:
            continue
        state.rows[token, w] |= bit
        safe = True
        for p in range(bounds[token], bounds[token + 1]):
            n = tokens_of(sets, state, of_token[p], -1, -1, False, room.tokens)
            held = 0  # of this row
            for q in range(n):
                if state.rows[room.tokens[q], w] & bit:
                    room.tokens[held] = room.tokens[q]
                    held += 1
            if common_rows(state.rows, room.tokens, held) < k:
                safe = False
                break
        if safe:
            back[i] = True
            state.support[token] += 1
        else:
            state.rows[token, w] ^= bit
    return back
