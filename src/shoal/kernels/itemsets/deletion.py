"""Rows from which single tokens can be deleted, kept free of rare itemsets while the cut above them changes.

Row r lies at `offsets[r] + r` in four arrays: `tok` (nodes of the hierarchy, ascending, ended by -(r + 1)), `weight` (how
many original items a token stands for), `cost` (what it costs to publish them as it) and `alive` (whether it still stands). A row
never has more tokens than original items, so it can be rewritten in its place.

Everything rests on one walk, `walk_rare`: over the itemsets that start with one token it reports the rows that hold a rare
one. The rows that hold a node are one stretch of `under.rows` (leaves depth first), so a small database of just these rows is
quickly made, with that token in front. Whatever changes in the search only concerns itemsets with certain tokens: those
alone are walked again.

Where several rows are one person's, a set is rare when fewer than k people have rows that hold it (`prefixes`). The rows of a node are then
put in order before they are counted.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels import compiler as nb
from shoal.kernels.arrays import larger, sort_range, with_place
from shoal.kernels.itemsets.nodes import LeafRows, covers, width
from shoal.kernels.itemsets.prefixes import Walk, close_frame, new_walk, note_person, start_walk, with_children

LOOK_UP = 200
"""Looking up one itemset costs about as much as walking over this many rows of a token."""

AHEAD = 12
"""Rows that are fetched into the cache before they are read."""

MANY = 32
"""One in so many rows is worth asking all of them, to have these in order."""

LINEAR = 48
"""Among more tokens than this, the best is kept on top of a heap."""

CELLS = 1 << 17
"""Counters, at most, of a child and a token behind it, ..."""
DENSE = 8
"""... and so many for each place of a child."""

FINE = 64
"""Parts of a deletion, of which what it takes off is counted in whole ones."""


class TokenRows(NamedTuple):
    """The rows as they stand, and the promise: an itemset of up to m tokens is rare when fewer than k rows hold it."""

    offsets: npt.NDArray[np.int64]
    tok: npt.NDArray[np.int32]
    weight: npt.NDArray[np.int32]
    cost: npt.NDArray[np.int64]
    alive: npt.NDArray[np.bool_]
    under: LeafRows
    places: npt.NDArray[np.int64]
    """Where the tokens of `under.rows` stand, if rows are not rewritten and each node has its own; else none."""
    k: int
    m: int
    people: npt.NDArray[np.int32] | None = None
    """Per row its person, ascending; None where every row is a person."""


class Choice(NamedTuple):
    """What decides which token of a row goes, apart from what the deletion costs in the end."""

    rarity: npt.NDArray[np.int32]
    """Nodes numbered, the most frequent first."""
    dear: npt.NDArray[np.int32]
    """Per node, what a token weighs for each item that it stands for."""
    lost: int
    """What a deletion costs, to take off what is saved by no longer publishing the token; 0 where that does not count."""


class Prices(NamedTuple):
    """What decides about deletions."""

    level: npt.NDArray[np.int64]
    """Per node; an occurrence of a leaf costs as much as its node is above it."""
    at: npt.NDArray[np.int64]
    """The levels of the leaves, in depth-first order."""
    lost: int
    """What a deleted one costs."""
    choice: Choice


class Scratch(NamedTuple):
    """Counters and marks that calls share."""

    walk: Walk
    """Over nodes."""
    seen: npt.NDArray[np.int32]
    """A stamp per row; the last entry is the last stamp used."""
    is_near: npt.NDArray[np.int32]
    """The same per node."""
    work: npt.NDArray[np.int64]
    """The steps that were made."""
    held: npt.NDArray[np.int32]
    """Room for all rows, ..."""
    spot: npt.NDArray[np.int64]
    """... and for a place in each."""
    hits: npt.NDArray[np.int32]
    """A counter per node, all 0."""
    by_token: npt.NDArray[np.int32]
    wanted: npt.NDArray[np.bool_]
    """A mark per row, none set."""


class Asked(NamedTuple):
    """Tokens, each with those that matter beside it: `near[near_from[i]:near_to[i]]`; all do where `near_from[i]` is negative."""

    tokens: npt.NDArray[np.int32]
    near_from: npt.NDArray[np.int64]
    near_to: npt.NDArray[np.int64]
    near: npt.NDArray[np.int32]


def new_scratch(n_nodes: int, n_rows: int, m: int, people: npt.NDArray[np.int32] | None = None) -> Scratch:
    return Scratch(
        walk=new_walk.py_func(n_nodes, m, people),  # nothing to compile for a few arrays
        seen=np.zeros(n_rows + 1, np.int32),
        is_near=np.zeros(n_nodes + 1, np.int32),
        work=np.zeros(1, np.int64),
        held=np.empty(n_rows, np.int32),
        spot=np.empty(n_rows, np.int64),
        hits=np.zeros(n_nodes, np.int32),
        by_token=np.zeros(n_nodes, np.int32),
        wanted=np.zeros(n_rows, np.bool_),
    )


def about_all(tokens: npt.NDArray[Any]) -> Asked:
    """These tokens, with whatever stands beside them."""
    everything = np.full(len(tokens), -1, np.int64)
    return Asked(tokens.astype(np.int32), everything, everything, np.zeros(0, np.int32))


@nb.njit(cache=True, nogil=True)
def write_rows(rows, items, node_of_item, cost_of_item, first, last):
    """Write rows [first, last) under a cut, with nothing deleted."""
    offsets, tok, weight, cost, alive = rows.offsets, rows.tok, rows.weight, rows.cost, rows.alive
    for row in range(first, last):
        start = offsets[row] + row
        stop = start
        for p in range(offsets[row], offsets[row + 1]):
            tok[stop] = node_of_item[items[p]]
            stop += 1
        sort_range(tok, start, stop)
        end = stop
        stop = start
        for p in range(start, end):
            if stop > start and tok[p] == tok[stop - 1]:
                weight[stop - 1] += 1
            else:
                tok[stop] = tok[p]
                weight[stop] = 1
                cost[stop] = 0
                alive[stop] = True
                stop += 1
        tok[stop] = -(row + 1)
        for p in range(offsets[row], offsets[row + 1]):
            if cost_of_item[items[p]]:
                cost[start + np.searchsorted(tok[start:stop], node_of_item[items[p]])] += cost_of_item[items[p]]


@nb.step
def _people_held(people, held, n_held):
    """How many people the rows held are of."""
    if people is None:
        return n_held
    n_people = 0
    for h in range(n_held):
        n_people += h == 0 or people[held[h]] != people[held[h - 1]]
    return n_people


@nb.step
def _people_or_rows(people, walk, token, rows_counted):
    """What has to reach k."""
    if people is None:
        return np.int64(rows_counted)
    return np.int64(walk.crowd[token])


@nb.step
def _is_more(people, held, n_held, row):
    """1 if the row is of a person whom none of the rows held is of."""
    if people is None:
        return np.int64(1)
    low, high = np.int64(0), np.int64(n_held)
    while low < high:
        middle = (low + high) // 2
        if people[held[middle]] < people[row]:
            low = middle + 1
        else:
            high = middle
    return np.int64(low == n_held or people[held[low]] != people[row])


@nb.step
def _with_person(people, who, n, row):
    """The person of the row among the first n, who stand in order: how many there are now. Nobody asks who, where every row is a person."""
    if people is not None:
        at = np.searchsorted(who[:n], people[row])
        if at < n and who[at] == people[row]:
            return n
        for i in range(n, at, -1):
            who[i] = who[i - 1]
        who[at] = people[row]
    return n + 1


@nb.step
def _row_of(tok, p):
    while tok[p] >= 0:
        p += 1
    return -tok[p] - 1


@nb.step
def _place_of(offsets, tok, row, token):
    """The place of the token in the row; that of the row's end if it is not there."""
    p = offsets[row] + row
    while tok[p] >= 0 and tok[p] != token:
        p += 1
    return p


@nb.step
def _living(rows, scratch, token, dead):
    """Fill `held` with the rows in which the token stands, and `spot` with its places there; behind them, if `dead` is 1, with those
    wanted rows in which it has been deleted, if it is 2, with all of these: how many of the former, and of both."""
    offsets, tok, alive = rows.offsets, rows.tok, rows.alive
    places, held, spot = rows.places, scratch.held, scratch.spot
    is_fixed = len(places) > 0
    under, work, wanted = rows.under, scratch.work, scratch.wanted
    begin, n_under = under.starts[token], under.starts[token + 1] - under.starts[token]
    if not is_fixed:
        n_under = _rows_under(under, rows.people, scratch.seen, held, token)
    n_living = n = 0
    for h in range(n_under):
        if is_fixed:
            if h + AHEAD < n_under:
                nb.fetch(alive, places[begin + h + AHEAD])
            row = under.rows[begin + h]
            p = places[begin + h]
        else:
            if h + AHEAD < n_under:
                nb.fetch(tok, offsets[held[h + AHEAD]] + held[h + AHEAD])
                nb.fetch(alive, offsets[held[h + AHEAD]] + held[h + AHEAD])
            row = held[h]
            work[0] += offsets[row + 1] - offsets[row] + 2
            p = _place_of(offsets, tok, row, token)
            if tok[p] != token:
                continue
        held[n], spot[n] = row, p
        if n > n_living and alive[p]:
            held[n], spot[n] = held[n_living], spot[n_living]
            held[n_living], spot[n_living] = row, p
        n += alive[p] or (dead > 0 and (dead > 1 or wanted[row]))
        n_living += alive[p]
    return n_living, n


@nb.step
def _rows_under(under, people, seen, held, node):
    """Fill `held` with the rows that have an item under the node, each once: how many there are."""
    span, starts, leaf_rows = under.span, under.starts, under.rows
    seen[-1] += 1
    stamp = seen[-1]
    n = 0
    for e in range(starts[span[node, 0]], starts[span[node, 1]]):
        row = leaf_rows[e]
        if seen[row] != stamp:
            seen[row] = stamp
            held[n] = row
            n += 1
    # Rows in order lie one behind the other: less to wait for. (Those of people have to be.)
    if span[node, 1] - span[node, 0] > 1 and (people is not None or n * MANY >= len(seen)):
        _put_in_order(held, n, seen)
    return n


@nb.step
def _put_in_order(held, n, seen):
    """Sort the n rows held, which have the last stamp: where they are many, by asking every row for it."""
    if n * MANY < len(seen):
        sort_range(held, 0, n)
        return
    n = 0
    for row in range(np.uint64(len(seen) - 1)):
        held[np.uint64(n)] = row
        n += seen[row] == seen[-1]


@nb.step
def _count_beside(offsets, tok, alive, people, walk, held, spot, n_living, later_only):
    """Count the living tokens of the rows held, or those behind the places in `spot`, in `walk.slot`: how many were touched."""
    tally, touched = walk.slot, walk.touched
    n_touched = 0
    for h in range(n_living):
        if h + AHEAD < n_living:
            nb.fetch(tok, spot[h + AHEAD])
        p = spot[h] + 1 if later_only else offsets[held[h]] + held[h]
        while tok[p] >= 0:
            count = tally[tok[p]]
            touched[n_touched] = tok[p]
            n_touched += (count == 0) & alive[p]
            note_person(people, walk, tok[p], held[h], count, alive[p])
            tally[tok[p]] = count + alive[p]
            p += 1
    return n_touched


@nb.step
def _report_below(
    tails, places, ends, k, n_counted, report_from, walk, depth, n_children, n_touched, work, occ_row, occ, n_occ
):
    """As `walk_rare` does for the new children of a prefix, whose sets are the largest, without a visit of each.

    One pass over the rows of the prefix counts all children with what stands behind them, a second one reports. Steps are those of visits.
    """
    number, mark, touched, first, m = walk.slot, walk.counter, walk.touched, walk.last[depth], depth + 3
    begin, end = walk.begin[walk.following[depth] - 1], walk.end[walk.following[depth] - 1]
    for t in range(n_touched):
        number[touched[t]] = t
    # Rows that count, and above them those to report; then a mark: whether there are too few. Reports stand child by child.
    cells, at = np.zeros((n_children - first) * n_touched, np.int64), np.empty(n_children - first + 1, np.int64)
    steps = np.int64(0)
    for i in range(begin, end):
        stop = ends[i]
        each = np.int64(-tails[stop] - 1 < n_counted) + (np.int64(-tails[stop] - 1 >= report_from) << 32)
        for p in range(np.uint64(places[i] + 1), np.uint64(stop)):
            child = mark[np.uint32(tails[p])]
            if child >= 0:
                steps += stop - np.int64(p)
                base = (child - first) * n_touched
                for q in range(p + np.uint64(1), np.uint64(stop)):
                    cells[np.uint64(base + number[np.uint32(tails[q])])] += each
    work[0] += steps
    at[0] = n_occ
    for child in range(n_children - first):
        at[child + 1] = at[child]
        for c in range(child * n_touched, (child + 1) * n_touched):
            is_rare = (cells[c] & 0xFFFFFFFF) < k
            at[child + 1] += (cells[c] >> 32) * is_rare
            cells[c] = is_rare
        if at[child + 1] == at[child]:
            mark[walk.token[first + child]] = -1
    last = at[n_children - first]
    if last > len(occ_row):
        occ_row, occ = larger(occ_row, last), larger(occ, last * m)
    for i in range(begin, end if last > n_occ else begin):
        stop = ends[i]
        row = -tails[stop] - 1
        for p in range(np.uint64(places[i] + 1), np.uint64(stop if row >= report_from else places[i] + 1)):
            child = mark[np.uint32(tails[p])]
            if child >= 0:
                base = (child - first) * n_touched
                for q in range(p + np.uint64(1), np.uint64(stop)):
                    if cells[np.uint64(base + number[np.uint32(tails[q])])]:
                        o = at[child - first]
                        at[child - first] += 1
                        occ_row[o] = row
                        for d in range(m - 2):
                            occ[o * m + d] = walk.token[walk.following[d] - 1]
                        occ[o * m + m - 2], occ[o * m + m - 1] = tails[p], tails[q]
    for t in range(n_touched):
        number[touched[t]] = 0
    return occ_row, occ, last


@nb.step
def walk_rare(tails, entries, n_first, token, k, m, n_counted, report_from, walk, work, occ_row, occ, n_occ, people):
    """Report rows (numbered `report_from` or higher) that hold a rare itemset of two to m tokens starting with `token`.

    `entries[:n_first]` are the places right before the tails behind that token; a tail ends with -(row + 1). Only rows
    numbered below `n_counted` count; an itemset is rare when fewer than k of them, or of their people, hold it. Supersets of a rare
    prefix are not reported. The steps are added to `work[0]`. Returns the arrays of occurrences, larger if need be, and their number.
    """
    places, ends = np.empty(n_first + 16, np.int64), np.empty(n_first + 16, np.int64)
    for i in range(n_first):
        places[i] = entries[i]
        p = entries[i] + 1
        while tails[p] >= 0:
            p += 1
        ends[i] = p
    prefix = np.empty(m, np.int32)
    # While counting, a tally has the rows to report above the rows that count; afterwards, the counter is the child or a mark.
    tally, mark, touched = walk.slot, walk.counter, walk.touched
    start_walk(walk, token, n_first)
    depth = 0
    while depth >= 0:
        if walk.following[depth] == walk.last[depth]:
            depth -= 1
            continue
        child = walk.following[depth]
        walk.following[depth] += 1
        begin, end = walk.begin[child], walk.end[child]
        prefix[depth] = walk.token[child]
        size = depth + 1
        n_touched, support, steps = 0, np.int64(0), np.int64(0)
        for i in range(begin, end):
            stop = ends[i]
            row = -tails[stop] - 1
            steps += stop - places[i]
            each = np.int64(row < n_counted) + (np.int64(row >= report_from) << 32)
            support += each & 1
            # (An index without a sign is not asked whether it counts from the end.)
            for p in range(np.uint64(places[i] + 1), np.uint64(stop)):
                item = np.uint32(tails[p])
                before = tally[item]
                touched[np.uint64(n_touched)] = item
                n_touched += before == 0
                note_person(people, walk, tails[p], row, before, row < n_counted)
                tally[item] = before + each
        work[0] += steps
        n_rare = 0
        n_children, top = walk.last[depth], walk.top[depth]
        if n_children + n_touched > len(walk.token):
            walk = with_children(walk, n_children + n_touched)
        for t in range(n_touched):
            item = touched[t]
            held, reported = tally[item] & 0xFFFFFFFF, tally[item] >> 32
            tally[item] = 0
            mark[item] = -1
            if reported == 0:
                continue
            if _people_or_rows(people, walk, item, held) < k:
                n_rare += reported
                mark[item] = -2
            elif size + 1 < m and held < support:
                # (In all rows of the prefix: adds nothing to what the prefix and its other children tell.)
                walk.token[n_children] = item
                walk.begin[n_children] = walk.end[n_children] = top
                mark[item] = n_children
                top += reported if report_from == 0 else held + reported
                n_children += 1
        if n_rare == 0 and n_children == walk.last[depth]:
            continue
        n_cells = (n_children - walk.last[depth]) * n_touched if size + 2 == m and people is None else 0
        is_counted = 0 < n_cells < min(CELLS, DENSE * (top - walk.top[depth]))
        if top > len(places) and not is_counted:
            places, ends = larger(places, top), larger(ends, top)
        if n_occ + n_rare > len(occ_row):
            occ_row, occ = larger(occ_row, n_occ + n_rare), larger(occ, (n_occ + n_rare) * m)
        child_end = walk.end
        for i in range(begin, end if n_rare > 0 or not is_counted else begin):
            row = -tails[ends[i]] - 1
            for p in range(np.uint64(places[i] + 1), np.uint64(ends[i])):
                where = mark[np.uint32(tails[p])]
                if where >= 0 and not is_counted:
                    at = np.uint64(child_end[np.uint32(where)])
                    places[at] = p
                    ends[at] = ends[i]
                    child_end[np.uint32(where)] += 1
                elif where == -2 and row >= report_from:
                    occ_row[n_occ] = row
                    for j in range(m):
                        occ[n_occ * m + j] = prefix[j] if j < size else -1
                    occ[n_occ * m + size] = tails[p]
                    n_occ += 1
        if is_counted:
            occ_row, occ, n_occ = _report_below(
                tails,
                places,
                ends,
                k,
                n_counted,
                report_from,
                walk,
                depth,
                n_children,
                n_touched,
                work,
                occ_row,
                occ,
                n_occ,
            )
        elif close_frame(walk, depth, n_children, top):
            depth += 1
    return occ_row, occ, n_occ


def find_rare(
    rows: TokenRows, scratch: Scratch, asked: Asked, first: int, last: int, later_only: bool
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Occurrences of rare itemsets that hold one of `asked.tokens[first:last]`, and what matters beside it: (rows, members).

    With `later_only` just those in which the token is the first, so that each itemset is met once when all tokens are asked for.
    """
    asked = Asked(asked.tokens[first:last], asked.near_from[first:last], asked.near_to[first:last], asked.near)
    few = few_near.py_func(rows, asked)
    occ_row, occ = (find_rare_pairs if rows.m <= 2 else find_rare_sets)(rows, scratch, asked, few, later_only)
    if few.any():
        more_rows, more = find_rare_near(rows, scratch.seen, asked, few)
        occ_row, occ = np.concatenate((occ_row, more_rows)), np.concatenate((occ, more))
    return occ_row, occ


@nb.njit(cache=True, nogil=True)
def few_near(rows, asked):
    """Whether the sets of each token that is asked for and what is near it are looked up faster than its rows are walked over."""
    span, starts = rows.under.span, rows.under.starts
    subsets = np.ones(len(asked.tokens))
    for j in range(1, rows.m):
        subsets = subsets * (asked.near_to - asked.near_from) / j
    n_under = starts[span[:, 1][asked.tokens]] - starts[span[:, 0][asked.tokens]]
    return (asked.near_from >= 0) & (subsets * LOOK_UP < n_under)


@nb.njit(cache=True, nogil=True)
def find_rare_pairs(rows, scratch, asked, few, later_only):
    """`find_rare` where m is at most 2, but for tokens with few others near."""
    offsets, tok, alive = rows.offsets, rows.tok, rows.alive
    k, m, work = rows.k, rows.m, scratch.work
    held, spot, is_near = scratch.held, scratch.spot, scratch.is_near
    walk, people = scratch.walk, rows.people
    tally, touched = walk.slot, walk.touched
    occ_row, occ = np.empty(256, np.int32), np.empty(256 * m, np.int32)
    n_occ = 0
    for i in range(len(few)):
        if few[i]:
            continue
        token = asked.tokens[i]
        n_living, _ = _living(rows, scratch, token, 0)
        n_rare = n_living
        work[0] += n_living
        is_rare = _people_held(people, held, n_living) < k
        n_touched = 0
        if not is_rare:
            if m < 2:
                continue
            _mark_near(asked, i, is_near)
            n_touched = _count_beside(offsets, tok, alive, people, walk, held, spot, n_living, later_only)
            n_rare = beside = 0
            tally[token] = 0
            for t in range(n_touched):
                other = touched[t]
                if asked.near_from[i] >= 0 and is_near[other] != is_near[-1]:
                    tally[other] = k
                    continue
                beside += tally[other]
                support = _people_or_rows(people, walk, other, tally[other])
                n_rare += tally[other] if support < k else 0
                tally[other] = support
            work[0] += 2 * (beside + n_living) + 1
            tally[token] = k
        if n_occ + n_rare > len(occ_row):
            occ_row, occ = larger(occ_row, n_occ + n_rare), larger(occ, (n_occ + n_rare) * m)
        if is_rare:
            n_occ = _put_alone(held, n_living, m, token, occ_row, occ, n_occ)
            continue
        for h in range(n_living if n_rare > 0 else 0):
            if h + AHEAD < n_living:
                nb.fetch(tok, spot[h + AHEAD])
            p = spot[h] + 1 if later_only else offsets[held[h]] + held[h]
            while tok[p] >= 0:
                if alive[p] and tally[tok[p]] < k:
                    occ_row[n_occ] = held[h]
                    occ[2 * n_occ] = token
                    occ[2 * n_occ + 1] = tok[p]
                    n_occ += 1
                p += 1
        tally[token] = 0
        for t in range(n_touched):
            tally[touched[t]] = 0
    return occ_row[:n_occ], occ[: n_occ * m]


@nb.njit(cache=True, nogil=True)
def find_rare_sets(rows, scratch, asked, few, later_only):
    """`find_rare` where m is more than 2, but for tokens with few others near."""
    offsets, tok, alive, m = rows.offsets, rows.tok, rows.alive, rows.m
    is_near, work, held = scratch.is_near, scratch.work, scratch.held
    occ_row, occ = np.empty(256, np.int32), np.empty(256 * m, np.int32)
    n_occ = 0
    mini, entries = np.empty(1024, np.int32), np.empty(256, np.int64)
    for i in range(len(few)):
        if few[i]:
            continue
        token = asked.tokens[i]
        n_living, _ = _living(rows, scratch, token, 0)
        work[0] += n_living
        if _people_held(rows.people, scratch.held, n_living) < rows.k:
            if n_occ + n_living > len(occ_row):
                occ_row, occ = larger(occ_row, n_occ + n_living), larger(occ, (n_occ + n_living) * m)
            n_occ = _put_alone(held, n_living, m, token, occ_row, occ, n_occ)
            continue
        _mark_near(asked, i, is_near)
        size = np.int64(1)
        entries = with_place(entries, n_living)
        for h in range(n_living):
            if h + AHEAD < n_living:
                nb.fetch(tok, scratch.spot[h + AHEAD])
            row = held[h]
            room = size + offsets[row + 1] - offsets[row] + 1
            if room > len(mini):
                mini = larger(mini, room)
            entries[h] = size - 1
            start = scratch.spot[h] + 1 if later_only else offsets[row] + row
            size = _copied(tok, alive, is_near, asked.near_from[i] >= 0, token, start, mini, size)
            mini[size] = -(row + 1)
            size += 1
        work[0] += size
        n_rows, walk = len(offsets) - 1, scratch.walk
        occ_row, occ, n_occ = walk_rare(
            mini, entries, n_living, token, rows.k, m, n_rows, 0, walk, work, occ_row, occ, n_occ, rows.people
        )
    return occ_row[:n_occ], occ[: n_occ * m]


@nb.step
def _copied(tok, alive, is_near, few, token, start, mini, size):
    """Append the living tokens of a row from a place on, but one, and if `few` near ones alone: the size then.

    Nothing is guessed: what does not count is overwritten by what comes next.
    """
    p, at = np.uint64(start), np.uint64(size)
    while tok[p] >= 0:
        mini[at] = tok[p]
        is_wanted = (not few) | (is_near[np.uint32(tok[p])] == is_near[-1])
        at += np.uint64(alive[p] & (tok[p] != token) & is_wanted)
        p += np.uint64(1)
    return np.int64(at)


@nb.part
def _put_alone(held, n_held, m, token, occ_row, occ, n_occ):
    """Report the rows held, in which the token is rare by itself: how many there are now."""
    for h in range(n_held):
        occ_row[n_occ] = held[h]
        for j in range(m):
            occ[n_occ * m + j] = token if j == 0 else -1
        n_occ += 1
    return n_occ


@nb.part
def _mark_near(asked, i, is_near):
    """Give what is near token i that is asked for the last stamp, a new one."""
    is_near[-1] += 1
    for e in range(asked.near_from[i], asked.near_to[i]):  # none where all matter
        is_near[asked.near[e]] = is_near[-1]


@nb.njit(cache=True, nogil=True)
def find_rare_near(rows, seen, asked, few):
    """Occurrences of rare itemsets of tokens that are asked for and have few others near, and of up to m - 1 of those.

    Itemsets are looked up one by one: the rows of their rarest member are read until k of them hold the itemset, which for
    all but the rare ones is soon.
    """
    offsets, tok, alive = rows.offsets, rows.tok, rows.alive
    k, m, under = rows.k, rows.m, rows.under
    near, starts, span = asked.near, under.starts, under.span
    members, at = np.empty(m, np.int32), np.empty(m, np.int64)
    held, who = np.empty(k, np.int32), np.empty(k, np.int32)
    occ_row, occ = np.empty(256, np.int32), np.empty(256 * m, np.int32)
    i = n_occ = size = 0
    while i < len(few):
        if not few[i]:
            i += 1
            continue
        token, near_to = asked.tokens[i], asked.near_to[i]
        if size == 0:
            members[0], at[0], size = token, asked.near_from[i] - 1, 1
        # Count the itemset `members[:size]`, then go on to the next in depth-first order.
        rarest = members[0]
        for j in range(1, size):
            if width(under, members[j]) < width(under, rarest):
                rarest = members[j]
        seen[-1] += 1
        stamp = seen[-1]
        support = crowd = 0
        for e in range(starts[span[rarest, 0]], starts[span[rarest, 1]]):
            row = under.rows[e]
            if seen[row] == stamp:
                continue
            seen[row] = stamp
            there = 0
            p = offsets[row] + row
            while tok[p] >= 0:
                if alive[p]:
                    for j in range(size):
                        there += tok[p] == members[j]
                p += 1
            if there == size:
                crowd = _with_person(rows.people, who, crowd, row)
                held = with_place(held, support)
                held[support] = row
                support += 1
                if crowd == k:
                    break
        if 0 < crowd < k:
            if n_occ + support > len(occ_row):
                occ_row, occ = larger(occ_row, n_occ + support), larger(occ, (n_occ + support) * m)
            for h in range(support):
                occ_row[n_occ] = held[h]
                for j in range(m):
                    occ[n_occ * m + j] = members[j] if j < size else -1
                n_occ += 1
        if crowd == k and size < m:
            at[size] = at[size - 1]
            size += 1
        while size > 1:
            at[size - 1] += 1
            while at[size - 1] < near_to and near[at[size - 1]] == token:
                at[size - 1] += 1
            if at[size - 1] < near_to:
                members[size - 1] = near[at[size - 1]]
                break
            size -= 1
        if size == 1:  # on to the next token
            i, size = i + 1, 0
    return occ_row[:n_occ], occ[: n_occ * m]


@nb.part
def _sink(heap, n, at, known, tokens, weight):
    """Let the entry move down to where none below it hits more sets per weight, or as many with a smaller number."""
    moving = heap[at]
    while 2 * at + 1 < n:
        child = 2 * at + 1
        top = heap[child]
        if child + 1 < n:
            a = heap[child + 1]
            mine, other = known[a] * weight[tokens[top]], known[top] * weight[tokens[a]]
            if mine > other or (mine == other and tokens[a] < tokens[top]):
                child += 1
                top = a
        mine, other = known[top] * weight[tokens[moving]], known[moving] * weight[tokens[top]]
        if mine < other or (mine == other and tokens[top] > tokens[moving]):
            break
        heap[at] = top
        at = child
    heap[at] = moving


@nb.njit(cache=True, nogil=True)
def hitting_places(rows, scratch, occ_row, occ, choice):
    """For every row with rare itemsets, the places of a cheap set of tokens that hits them all.

    Tokens are taken greedily by sets hit per weight; then those that turn out not to be needed are left out again. Among equally good
    tokens the more frequent one is taken: what stands beside it is rarely near the limit, so its loss makes hardly anything else rare.
    """
    offsets, tok, m = rows.offsets, rows.tok, rows.m
    held, seen, last_of = scratch.held, scratch.seen, scratch.spot
    by_token, hits, rarity = scratch.by_token, scratch.hits, choice.rarity
    # The sets of each row are a list from the last one back.
    before, nth = np.empty(len(occ_row), np.int64), np.empty(len(occ_row), np.int64)
    n_rows = most = 0
    seen[-1] += 1
    for i in range(len(occ_row)):
        row = occ_row[i]
        if seen[row] != seen[-1]:
            seen[row] = seen[-1]
            held[n_rows] = row
            n_rows += 1
            before[i], nth[i] = -1, 1
        else:
            before[i], nth[i] = last_of[row], nth[last_of[row]] + 1
        last_of[row] = i
        most = nth[i] if nth[i] > most else most
    _put_in_order(held, n_rows, seen)
    # In a row the tokens get numbers of their own, in the sets too, and each the list of its sets, from starts[t] to starts[t + 1].
    sets, sets_of = np.empty(most * m, np.int64), np.empty(most * m, np.int64)
    tokens, starts = np.empty(most * m, np.int64), np.empty(most * m + 1, np.int64)
    unhit, known = np.empty(most * m, np.int64), np.empty(most * m, np.int64)
    heap, chosen = np.empty(most * m, np.int64), np.empty(most, np.int64)
    times, gone = np.empty(most, np.int64), np.empty(len(occ_row), np.int64)
    n_gone = 0
    for h in range(n_rows):
        row = held[h]
        begin = offsets[row] + row
        p = begin
        while tok[p] >= 0:
            worth = 1 * rows.weight[p]
            if choice.lost > 0:
                worth = FINE * (worth * choice.lost - rows.cost[p]) // choice.lost
                worth = worth if worth > 1 else 1
            by_token[rarity[tok[p]]] = worth * choice.dear[tok[p]]
            p += 1
        i = last_of[row]
        n_sets = n_tokens = 0
        while i >= 0:
            for j in range(m):
                at = n_sets * m + j
                sets[at] = -1
                if occ[i * m + j] >= 0:
                    t = rarity[occ[i * m + j]]
                    if hits[t] == 0:
                        tokens[n_tokens], known[n_tokens] = t, 0
                        n_tokens += 1
                        hits[t] = n_tokens
                    sets[at] = t = hits[t] - 1
                    known[t] += 1
            times[n_sets] = 0
            n_sets += 1
            i = before[i]
        at = 0
        for t in range(n_tokens):
            hits[tokens[t]] = 0
            heap[t], unhit[t] = t, known[t]
            at += known[t]
            starts[t] = at
        starts[n_tokens] = at
        for i in range(n_sets * m):
            if sets[i] >= 0:
                starts[sets[i]] -= 1
                sets_of[starts[sets[i]]] = i // m
        n_chosen, left, at = 0, n_sets, n_tokens // 2
        while left > 0:
            # What a token hits only falls, so the heap may lag behind: its top is right once what is known of it is.
            while n_tokens > LINEAR and at >= 0:
                _sink(heap, n_tokens, at, known, tokens, by_token)
                at -= 1
                if at < 0 and known[heap[0]] != unhit[heap[0]]:
                    known[heap[0]] = unhit[heap[0]]
                    at = 0
            best = heap[0]
            for t in range(1, 0 if n_tokens > LINEAR else n_tokens):
                mine, other = unhit[t] * by_token[tokens[best]], unhit[best] * by_token[tokens[t]]
                if mine > other or (mine == other and tokens[t] < tokens[best]):
                    best = t
            chosen[n_chosen] = best
            n_chosen += 1
            for e in range(starts[best], starts[best + 1]):
                i = sets_of[e]
                if times[i] == 0:
                    left -= 1
                    for j in range(i * m, i * m + m):
                        if sets[j] >= 0:
                            unhit[sets[j]] -= 1
                times[i] += 1
            at = 0
        for c in range(n_chosen):
            t = chosen[c]
            needed = False
            for e in range(starts[t], starts[t + 1]):
                needed |= times[sets_of[e]] == 1
            if needed:
                by_token[tokens[t]] = -1
            for e in range(starts[t], starts[t] if needed else starts[t + 1]):
                times[sets_of[e]] -= 1
        p = begin
        while tok[p] >= 0:
            if by_token[rarity[tok[p]]] == -1:
                gone[n_gone] = p
                n_gone += 1
            p += 1
    return gone[:n_gone]


def neighbours(rows: TokenRows, places: npt.NDArray[np.int64]) -> Asked:
    """The tokens at these places, each with all tokens that stand with it there."""
    in_row = np.searchsorted(rows.offsets + np.arange(len(rows.offsets)), places, "right") - 1
    keys = np.empty((rows.offsets[in_row + 1] - rows.offsets[in_row]).sum(), np.int64)
    keys = np.unique(keys[: _pairs_at(rows, places, in_row, keys)])
    tokens, first = np.unique(keys >> 32, return_index=True)
    return Asked(tokens.astype(np.int32), first, np.append(first, len(keys))[1:], (keys & 0xFFFFFFFF).astype(np.int32))


@nb.njit(cache=True, nogil=True)
def _pairs_at(rows, places, in_row, keys):
    """Write each token at these places with every token that stands with it there, in one number: how many."""
    tok, n_keys = rows.tok, 0
    for i in range(len(places)):
        token = np.int64(tok[places[i]])
        p = rows.offsets[in_row[i]] + in_row[i]
        while tok[p] >= 0:
            if rows.alive[p]:
                keys[n_keys] = (token << 32) | tok[p]
                n_keys += 1
            p += 1
    return n_keys


@nb.step
def _neighbours(rows, places):
    """As `neighbours`, for kernels."""
    in_row = np.empty(len(places), np.int64)
    n_keys = 0
    for i in range(len(places)):
        in_row[i] = row = _row_of(rows.tok, places[i])
        n_keys += rows.offsets[row + 1] - rows.offsets[row]
    keys = np.empty(n_keys, np.int64)
    n_keys = _keep_distinct(keys, _pairs_at(rows, places, in_row, keys))
    tokens = np.empty(len(places), np.int32)
    near_from = np.empty(len(places), np.int64)
    near_to = np.empty(len(places), np.int64)
    near = np.empty(n_keys, np.int32)
    n_tokens = 0
    for i in range(n_keys):
        token = keys[i] >> 32
        if n_tokens == 0 or tokens[n_tokens - 1] != token:
            tokens[n_tokens] = token
            near_from[n_tokens] = i
            n_tokens += 1
        near[i] = keys[i] & 0xFFFFFFFF
        near_to[n_tokens - 1] = i + 1
    return Asked(tokens[:n_tokens], near_from[:n_tokens], near_to[:n_tokens], near[:n_keys])


@nb.step
def _keep_distinct(values, n):
    """Sort the first n values and keep each once: how many are left."""
    sort_range(values, 0, n)
    kept = 0
    for i in range(n):
        if kept == 0 or values[i] != values[kept - 1]:
            values[kept] = values[i]
            kept += 1
    return kept


def put_back(
    rows: TokenRows, scratch: Scratch, tokens: npt.NDArray[np.int32], everywhere: bool
) -> npt.NDArray[np.int64]:
    """Restore, token by token, every deleted occurrence whose return makes nothing rare; returns the places.

    Unless it is `everywhere`, only occurrences in wanted rows are tried. Returning only raises supports, so what can return alone can
    return together with all others of the same token.
    """
    back = np.empty(np.count_nonzero(~rows.alive), np.int64)
    return back[: (put_back_pairs if rows.m <= 2 else put_back_sets)(rows, scratch, tokens, everywhere, back)]


@nb.njit(cache=True, nogil=True)
def put_back_pairs(rows, scratch, tokens, everywhere, back):
    """`put_back` where m is at most 2."""
    offsets, tok, alive = rows.offsets, rows.tok, rows.alive
    k, m, work = rows.k, rows.m, scratch.work
    held, spot, walk = scratch.held, scratch.spot, scratch.walk
    people, tally, touched = rows.people, walk.slot, walk.touched
    n_back = 0
    for token in tokens:
        n_living, n = _living(rows, scratch, token, 2 if everywhere else 1)
        n_people = _people_held(people, held, n_living)
        if n == n_living or n_people + 1 < k:
            continue
        n_touched = 0
        if m == 2:
            n_touched = _count_beside(offsets, tok, alive, people, walk, held, spot, n_living, False)
            work[0] += n_living
            for t in range(n_touched):
                tally[touched[t]] = _people_or_rows(people, walk, touched[t], tally[touched[t]])
            tally[token] = k
        for c in range(n_living, n):
            more = _is_more(people, held, n_living, held[c])
            p = offsets[held[c]] + held[c]
            refused = n_people + more < k
            while m == 2 and tok[p] >= 0 and not refused:
                refused = alive[p] and tally[tok[p]] + more < k
                p += 1
            if not refused:
                back[n_back] = spot[c]
                n_back += 1
                held[c] = -1
        for c in range(n_living, n):
            if held[c] < 0:
                alive[spot[c]] = True
        tally[token] = 0
        for t in range(n_touched):
            work[0] += tally[touched[t]]
            tally[touched[t]] = 0
    return n_back


@nb.njit(cache=True, nogil=True)
def put_back_sets(rows, scratch, tokens, everywhere, back):
    """`put_back` where m is more than 2."""
    offsets, tok, alive, k, m = rows.offsets, rows.tok, rows.alive, rows.k, rows.m
    is_near, held, spot = scratch.is_near, scratch.held, scratch.spot
    occ_row, occ = np.empty(256, np.int32), np.empty(256 * m, np.int32)
    mini, entries = np.empty(1024, np.int32), np.empty(256, np.int64)
    n_back = 0
    for token in tokens:
        n_living, n = _living(rows, scratch, token, 2 if everywhere else 1)
        n_people = _people_held(rows.people, held, n_living)
        if n == n_living or n_people + 1 < k:
            continue
        # Who is new to the token adds one to each of its sets; of whom rows hold it already, no set is sure to get any.
        n_new = n_living
        for c in range(n_living, n):
            if _is_more(rows.people, held, n_living, held[c]):
                spot[n_new], spot[c] = spot[c], spot[n_new]
                held[n_new], held[c] = held[c], held[n_new]
                n_new += 1
        for more in range(1, -1, -1):
            begin, end = (n_living, n_new) if more else (n_new, n)
            if begin == end or n_people + more < k:
                continue
            # Only what stands beside a candidate matters.
            is_near[-1] += 1
            for c in range(begin, end):
                p = offsets[held[c]] + held[c]
                while tok[p] >= 0:
                    is_near[tok[p]] = is_near[-1]
                    p += 1
            # Living rows are numbered first, then the candidates.
            n_all = n_living + end - begin
            entries = with_place(entries, n_all)
            size = np.int64(1)
            for h in range(n_all):
                if h + AHEAD < n_living:
                    nb.fetch(tok, spot[h + AHEAD])
                row = held[h] if h < n_living else held[begin + h - n_living]
                room = size + offsets[row + 1] - offsets[row] + 1
                if room > len(mini):
                    mini = larger(mini, room)
                entries[h] = size - 1
                size = _copied(tok, alive, is_near, True, token, offsets[row] + row, mini, size)
                mini[size] = -(h + 1)
                size += 1
            people = _people_of_entries(rows.people, held, n_living, n_all)
            walk, work, none = scratch.walk, scratch.work, np.int64(0)
            occ_row, occ, n_occ = walk_rare(
                mini, entries, n_all, token, k - more, m, n_living, n_living, walk, work, occ_row, occ, none, people
            )
            for o in range(n_occ):
                held[begin + occ_row[o] - n_living] = -1
            for c in range(begin, end):
                if held[c] >= 0:
                    alive[spot[c]] = True
                    back[n_back] = spot[c]
                    n_back += 1
    return n_back


@nb.step
def _people_of_entries(people, held, n_held, n_entries):
    """Per entry of a small database that begins with the rows held, its person; what stands behind these is not counted."""
    if people is None:
        return None
    of_entry = np.zeros(n_entries, np.int32)
    for h in range(n_held):
        of_entry[h] = people[held[h]]
    return of_entry


@nb.njit(cache=True, nogil=True)
def mark_beside(rows, places, is_beside):
    """Mark the tokens that stand in the rows of these places."""
    for i in range(len(places)):
        row = _row_of(rows.tok, places[i])
        p = rows.offsets[row] + row
        while rows.tok[p] >= 0:
            is_beside[rows.tok[p]] = True
            p += 1


class Change(NamedTuple):
    """The rows that a move rewrites, and what they were: row i had `tok[starts[i]:starts[i + 1]]`, its end included."""

    rows: npt.NDArray[np.int32]
    starts: npt.NDArray[np.int64]
    tok: npt.NDArray[np.int32]
    weight: npt.NDArray[np.int32]
    cost: npt.NDArray[np.int64]
    alive: npt.NDArray[np.bool_]


@nb.njit(cache=True, nogil=True)
def try_move(rows, scratch, prices, top, parts, room, anew, quick, enough, at_most):
    """Replace the tokens below `top` by `parts`, delete and put back what that asks for; undo it all unless the loss falls.

    With `anew`, whatever has been deleted in the rows that change comes back first and has to go again only if it must: a
    better answer, for more work. With `quick`, the move is given up once it adds more than `enough`. It is made if the change of the
    loss is `at_most` that, and if no more than `room` further original occurrences are deleted. Returns (whether the move stays, change
    of the loss, further original occurrences deleted).
    """
    offsets, tok, alive, wanted = rows.offsets, rows.tok, rows.alive, scratch.wanted
    weight, cost, lost = rows.weight, rows.cost, prices.lost
    change, revived, loss, gone = _take_out(rows, scratch, lost, top, anew)
    loss += _put_in(rows, prices, parts)
    for i in range(len(revived)):
        revived[i] = _place_of(offsets, tok, revived[i] >> 32, revived[i] & 0xFFFFFFFF)

    # Deletions, round by round, starting from the new tokens; places in other rows are remembered.
    flips = np.empty(64, np.int64)
    n_flips = 0
    more_rows = np.empty(64, np.int32)
    n_more = 0
    asked = _with_tokens(_neighbours(rows, revived), parts)
    while len(asked.tokens) > 0 and (not quick or loss <= enough):
        few = few_near(rows, asked)
        if rows.m <= 2:
            occ_row, occ = find_rare_pairs(rows, scratch, asked, few, False)
        else:
            occ_row, occ = find_rare_sets(rows, scratch, asked, few, False)
        if few.any():
            more_rare, more = find_rare_near(rows, scratch.seen, asked, few)
            occ_row, occ = np.concatenate((occ_row, more_rare)), np.concatenate((occ, more))
        if len(occ_row) == 0:
            break
        out = hitting_places(rows, scratch, occ_row, occ, prices.choice)
        asked = _neighbours(rows, out)
        for i in range(len(out)):
            p = out[i]
            alive[p] = False
            loss += weight[p] * lost - cost[p]
            gone += weight[p]
            flips = with_place(flips, n_flips)
            flips[n_flips] = p
            n_flips += 1
            row = _row_of(tok, p)
            if not wanted[row]:
                wanted[row] = True
                more_rows = with_place(more_rows, n_more)
                more_rows[n_more] = row
                n_more += 1

    # Put back: tokens that are dead in a row that changed. (A quick look that leads nowhere does without, and sees a little
    # too much loss.)
    dead = np.empty(64, np.int32)
    n_dead = 0
    n_changed = len(change.rows)
    for i in range(n_changed + n_more if not quick or loss <= at_most else 0):
        row = change.rows[i] if i < n_changed else more_rows[i - n_changed]
        p = offsets[row] + row
        while tok[p] >= 0:
            if not alive[p]:
                dead = with_place(dead, n_dead)
                dead[n_dead] = tok[p]
                n_dead += 1
            p += 1
    back = np.empty(n_dead, np.int64)
    dead = dead[: _keep_distinct(dead, n_dead)]
    n_back = (
        put_back_pairs(rows, scratch, dead, False, back)
        if rows.m <= 2
        else put_back_sets(rows, scratch, dead, False, back)
    )
    for i in range(n_back):
        p = back[i]
        loss -= weight[p] * lost - cost[p]
        gone -= weight[p]
    for i in range(n_changed):
        wanted[change.rows[i]] = False
    for i in range(n_more):
        wanted[more_rows[i]] = False

    stays = loss <= at_most and (gone <= room or gone <= 0)
    if not stays:
        # Backwards: what came back, what went, then the rewritten rows.
        for i in range(n_back):
            alive[back[i]] = False
        for i in range(n_flips):
            alive[flips[i]] = True
        _take_back(rows, change)
    return stays, loss, gone


@nb.part
def _take_out(rows, scratch, lost, top, anew):
    """Take the tokens below `top` out of the rows; with `anew`, let what has been deleted there stand again.

    Returns (the change, row and token in one number of what was revived, change of the loss, change of the occurrences deleted); the rows
    are wanted now.
    """
    offsets, tok, weight, cost, alive = rows.offsets, rows.tok, rows.weight, rows.cost, rows.alive
    n_changed = _rows_under(rows.under, rows.people, scratch.seen, scratch.held, top)
    starts = np.zeros(n_changed + 1, np.int64)
    for i in range(n_changed):
        row = scratch.held[i]
        starts[i + 1] = starts[i] + offsets[row + 1] - offsets[row] + 1
    room = starts[n_changed]
    change = Change(
        scratch.held[:n_changed].copy(),
        starts,
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty(room, np.int64),
        np.empty(room, np.bool_),
    )
    revived = np.empty(64, np.int64)
    n_revived = 0
    loss = np.int64(0)
    gone = np.int64(0)
    at = np.int64(0)
    for i in range(n_changed):
        row = change.rows[i]
        scratch.work[0] += 2 * (offsets[row + 1] - offsets[row] + 2)
        scratch.wanted[row] = True
        starts[i] = at
        p = offsets[row] + row
        q = p
        while tok[p] >= 0:
            change.tok[at], change.weight[at], change.cost[at], change.alive[at] = tok[p], weight[p], cost[p], alive[p]
            at += 1
            if covers(rows.under.span, top, tok[p]):
                loss -= cost[p] if alive[p] else weight[p] * lost
                gone -= 0 if alive[p] else weight[p]
            else:
                if anew and not alive[p]:
                    # Back for now: what stood in its way may be gone, for several rows together.
                    loss -= weight[p] * lost - cost[p]
                    gone -= weight[p]
                    revived = with_place(revived, n_revived)
                    revived[n_revived] = (np.int64(row) << 32) | tok[p]
                    n_revived += 1
                tok[q] = tok[p]
                weight[q] = weight[p]
                cost[q] = cost[p]
                alive[q] = alive[p] or anew
                q += 1
            p += 1
        change.tok[at] = tok[p]
        at += 1
        tok[q] = -(row + 1)
    starts[n_changed] = at
    return change, revived[:n_revived], loss, gone


@nb.part
def _put_in(rows, prices, parts):
    """Let the items under each part stand as that part: what it costs."""
    offsets, tok, weight, cost, alive = rows.offsets, rows.tok, rows.weight, rows.cost, rows.alive
    span, starts, leaf_rows = rows.under
    loss = np.int64(0)
    for j in range(len(parts)):
        part = parts[j]
        for leaf in range(span[part, 0], span[part, 1]):
            each = prices.level[part] - prices.at[leaf]
            loss += each * (starts[leaf + 1] - starts[leaf])
            for e in range(starts[leaf], starts[leaf + 1]):
                row = leaf_rows[e]
                p = offsets[row] + row
                while tok[p] >= 0 and tok[p] < part:
                    p += 1
                if tok[p] == part:
                    weight[p] += 1
                    cost[p] += each
                    continue
                end = p
                while tok[end] >= 0:
                    end += 1
                tok[end + 1] = tok[end]
                for q in range(end, p, -1):
                    tok[q], weight[q], cost[q], alive[q] = tok[q - 1], weight[q - 1], cost[q - 1], alive[q - 1]
                tok[p], weight[p], cost[p], alive[p] = part, 1, each, True
    return loss


@nb.njit(cache=True, nogil=True)
def _take_back(rows, change):
    """Rewrite the changed rows as they were."""
    for i in range(len(change.rows)):
        p = rows.offsets[change.rows[i]] + change.rows[i]
        for c in range(change.starts[i], change.starts[i + 1]):
            rows.tok[p] = change.tok[c]
            if change.tok[c] >= 0:
                rows.weight[p] = change.weight[c]
                rows.cost[p] = change.cost[c]
                rows.alive[p] = change.alive[c]
            p += 1


@nb.part
def _with_tokens(asked, tokens):
    """The same asked for, and behind it some tokens beside which everything matters."""
    n = len(asked.tokens)
    both = np.empty(n + len(tokens), np.int32)
    near_from = np.full(len(both), -1, np.int64)
    near_to = np.full(len(both), -1, np.int64)
    for i in range(n):
        both[i], near_from[i], near_to[i] = asked.tokens[i], asked.near_from[i], asked.near_to[i]
    for j in range(len(tokens)):
        both[n + j] = tokens[j]
    return Asked(both, near_from, near_to, asked.near)
