"""Rows into buckets: Injector's grouping and group assignment (Figure 2), Balanced's, and Anatomy's rounds (Xiao and Tao 2006).

Injector sees rows as cells: rows of the same sensitive value s and the same set S' of impossible values are interchangeable,
and N[s][S'] counts them. How many rows are incompatible with a group (NIT) is a sum over values, of which little changes
from member to member: a row's set is hit by the group's values for the first time only once. With the rows left of each
value and those among them whose set holds v kept up to date, a candidate costs as many additions as its own set
has values, and a value whose cheapest candidate would be too dear is not looked into.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels import compiler as nb
from shoal.kernels.buckets.matchings import valid_pairs

LOOKED = 64
"""Cells of a value that are looked at for one that fits."""


class CellTable(NamedTuple):
    """The cells of rows that groups are formed of. A place is a place in the order of rows by cell."""

    value: npt.NDArray[np.int32]
    kind: npt.NDArray[np.int32]
    """Of each cell; rows of a kind have the same impossible values."""
    start: npt.NDArray[np.int64]
    """Cell c has the places from `start[c]` on."""
    value_cells: npt.NDArray[np.int64]
    """The cells of value s are those from `value_cells[s]` on."""
    kind_start: npt.NDArray[np.int64]
    kind_values: npt.NDArray[np.int32]
    """The impossible values of kind k are those from `kind_start[k]` on."""
    excluded: npt.NDArray[np.bool_]
    """The same as a table of kinds and values."""


class Left(NamedTuple):
    """The rows that no group has taken, by what NIT is counted from."""

    of_cell: npt.NDArray[np.int64]
    of_value: npt.NDArray[np.int64]
    holding: npt.NDArray[np.int32]
    """Per value and ruled value, the rows whose set holds it."""
    column: npt.NDArray[np.int64]
    """The same for all values together."""


class Hit(NamedTuple):
    """The rows that are left and that the values of the group in hand hit: their sets hold one of them."""

    stamp: npt.NDArray[np.int64]
    """Per cell, the last round in which it was hit."""
    cells: npt.NDArray[np.int32]
    of_value: npt.NDArray[np.int64]
    holding: npt.NDArray[np.int32]
    column: npt.NDArray[np.int64]


@nb.step
def _move(cells, ruled, left, cell, by):
    """Take a row out of a cell (by = -1), or put it back or in (by = 1 or more)."""
    s, k = cells.value[cell], cells.kind[cell]
    left.of_cell[cell] += by
    left.of_value[s] += by
    for p in range(cells.kind_start[k], cells.kind_start[k + 1]):
        r = ruled[cells.kind_values[p]]
        left.holding[s, r] += by
        left.column[r] += by


@nb.njit(cache=True, nogil=True, inline="always")
def _nit_of_one(cells, ruled, left, cell):
    """NIT of a group that consists of one row of the cell."""
    s, k = cells.value[cell], cells.kind[cell]
    r = ruled[s]
    number = left.of_value[s]
    if r >= 0:
        number += left.column[r] - left.holding[s, r]
    for p in range(cells.kind_start[k], cells.kind_start[k + 1]):
        v = cells.kind_values[p]
        number += left.of_value[v] - (left.holding[v, r] if r >= 0 else 0)
    return number


@nb.njit(cache=True, nogil=True, inline="always")
def _fits(cells, members, size, cell):
    """Whether the rules let rows of this cell have the values of all members."""
    fits = True
    for i in range(size):
        if cells.excluded[cells.kind[cell], cells.value[members[i]]]:
            fits = False
            break
    return fits


@nb.step
def _holders(cells, ruled, n_ruled):
    """Cells by the values in their sets: (starts, cells)."""
    starts = np.zeros(n_ruled + 1, np.int64)
    for c in range(len(cells.value)):
        for p in range(cells.kind_start[cells.kind[c]], cells.kind_start[cells.kind[c] + 1]):
            starts[ruled[cells.kind_values[p]] + 1] += 1
    for r in range(n_ruled):
        starts[r + 1] += starts[r]
    holders = np.empty(starts[n_ruled], np.int32)
    at = np.zeros(n_ruled, np.int64)
    for c in range(len(cells.value)):
        for p in range(cells.kind_start[cells.kind[c]], cells.kind_start[cells.kind[c] + 1]):
            r = ruled[cells.kind_values[p]]
            holders[starts[r] + at[r]] = c
            at[r] += 1
    return starts, holders


@nb.njit(cache=True, nogil=True, inline="always")
def _added(left, hit, u, r):
    """Rows of value u that become incompatible when u is closed to a group that value number r of the ruled ones joins."""
    number = left.of_value[u] - hit.of_value[u]
    if r >= 0:
        number -= left.holding[u, r] - hit.holding[u, r]
    return number


@nb.njit(cache=True, nogil=True)
def grouped_cells(l, cells, ruled, n_ruled):  # noqa: E741
    """Lines 1 to 17 of Figure 2: (group of each place, number of groups).

    The group is -1 for remaining rows. `ruled[v]` numbers the values that stand in some set. Of equally good rows the one of the first
    cell starts a group; the next is of the value that costs least by itself.
    """
    n_cells, n_values = len(cells.value), len(cells.value_cells) - 1
    kind_start, kind_values = cells.kind_start, cells.kind_values
    left = Left(
        np.zeros(n_cells, np.int64),
        np.zeros(n_values, np.int64),
        np.zeros((n_values, n_ruled), np.int32),
        np.zeros(n_ruled, np.int64),
    )
    for c in range(n_cells):
        _move(cells, ruled, left, c, cells.start[c + 1] - cells.start[c])
    n_left = cells.start[n_cells]
    n_alive = 0  # values with rows left
    for s in range(n_values):
        n_alive += left.of_value[s] > 0
    holders_start, holders = _holders(cells, ruled, n_ruled)
    hit = Hit(
        np.full(n_cells, -1, np.int64),
        np.empty(n_cells, np.int32),
        np.zeros(n_values, np.int64),
        np.zeros((n_values, n_ruled), np.int32),
        np.zeros(n_ruled, np.int64),
    )
    closed = np.zeros(n_values, np.bool_)  # IS[g], the values of the group and those that a member cannot take
    closed_values = np.empty(n_values, np.int32)
    base = np.empty(n_values, np.int64)
    members = np.empty(l, np.int32)
    places = np.empty(l, np.int64)
    group = np.full(n_left, -1, np.int32)
    n_groups = n_rounds = 0
    # A group needs l different values: with fewer left there is none.
    while n_left >= l and n_alive >= l:
        c, most = -1, np.int64(-1)
        for other in range(n_cells):  # line 3
            if left.of_cell[other] > 0:
                number = _nit_of_one(cells, ruled, left, other)
                if number > most:
                    c, most = other, number
        n_rounds += 1
        size = n_closed = n_hit = 0
        sum_hit = np.int64(0)
        while True:
            # The row of cell c joins.
            s, k = cells.value[c], cells.kind[c]
            members[size] = c
            places[size] = cells.start[c + 1] - left.of_cell[c]
            size += 1
            _move(cells, ruled, left, c, -1)
            n_left -= 1
            n_alive -= left.of_value[s] == 0
            if size == l:
                break
            if not closed[s]:
                closed[s] = True
                closed_values[n_closed] = s
                n_closed += 1
            for p in range(kind_start[k], kind_start[k + 1]):
                v = kind_values[p]
                if not closed[v]:
                    closed[v] = True
                    closed_values[n_closed] = v
                    n_closed += 1
            r = ruled[s]
            if r >= 0:
                for q in range(holders_start[r], holders_start[r + 1]):
                    other = holders[q]
                    rows = left.of_cell[other]
                    if rows == 0 or hit.stamp[other] == n_rounds:
                        continue
                    hit.stamp[other] = n_rounds
                    hit.cells[n_hit] = other
                    n_hit += 1
                    hit.of_value[cells.value[other]] += rows
                    sum_hit += rows
                    for p in range(kind_start[cells.kind[other]], kind_start[cells.kind[other] + 1]):
                        hit.holding[cells.value[other], ruled[kind_values[p]]] += rows
                        hit.column[ruled[kind_values[p]]] += rows
            # What joining costs at least, per value: NIT with nothing in the set that is not closed already.
            for v in range(n_values):
                base[v] = -1
                if closed[v] or left.of_value[v] == 0:
                    continue
                r = ruled[v]
                number = sum_hit + left.of_value[v] - hit.of_value[v]
                if r >= 0:
                    number += left.column[r] - hit.column[r] - (left.holding[v, r] - hit.holding[v, r])
                for i in range(n_closed):
                    number += _added(left, hit, closed_values[i], r)
                base[v] = number
            best, least = -1, np.int64(0)
            while True:
                v = -1
                for u in range(n_values):
                    if base[u] >= 0 and (v < 0 or base[u] < base[v]):
                        v = u
                if v < 0 or (best >= 0 and base[v] >= least):
                    break
                r = ruled[v]
                for other in range(cells.value_cells[v], cells.value_cells[v + 1]):
                    if left.of_cell[other] == 0 or not _fits(cells, members, size, other):
                        continue
                    k = cells.kind[other]
                    number = base[v]
                    for p in range(kind_start[k], kind_start[k + 1]):
                        if not closed[kind_values[p]]:
                            number += _added(left, hit, kind_values[p], r)
                    if best < 0 or number < least:
                        best, least = other, number
                    if number <= base[v]:
                        break
                base[v] = -1
            if best < 0:
                break
            c = best
        if size == l:
            for i in range(l):
                group[places[i]] = n_groups
            n_groups += 1
        else:  # the first row remains, the others go back
            for i in range(1, size):
                n_alive += left.of_value[cells.value[members[i]]] == 0
                _move(cells, ruled, left, members[i], 1)
                n_left += 1
        for i in range(n_closed):
            closed[closed_values[i]] = False
        for i in range(n_hit):
            other = hit.cells[i]
            hit.of_value[cells.value[other]] = 0
            for p in range(kind_start[cells.kind[other]], kind_start[cells.kind[other] + 1]):
                hit.holding[cells.value[other], ruled[kind_values[p]]] = 0
                hit.column[ruled[kind_values[p]]] = 0
    return group, n_groups


@nb.njit(cache=True, nogil=True)
def evenly_grouped_cells(l, cells, starts):  # noqa: E741
    """Groups of compatible rows, chosen without counting NIT anew for each: (group of each place, number of groups).

    Groups start with the cells in the order of `starts`, and grow by the value with the most rows left of which a row fits; rows with
    few impossible values are tried first.
    """
    n_cells, n_values = len(cells.value), len(cells.value_cells) - 1
    left = np.empty(n_cells, np.int64)
    of_value = np.zeros(n_values, np.int64)
    for c in range(n_cells):
        left[c] = cells.start[c + 1] - cells.start[c]
        of_value[cells.value[c]] += left[c]
    n_left, n_alive = cells.start[n_cells], 0
    for v in range(n_values):
        n_alive += of_value[v] > 0
    closed = np.full(n_values, -1, np.int64)  # the round in which a value was closed to the group, or tried in vain
    opening = np.empty(n_values, np.int64)  # the first cell of each value that may have rows left
    for v in range(n_values):
        opening[v] = cells.value_cells[v]
    members = np.empty(l, np.int32)
    places = np.empty(l, np.int64)
    group = np.full(n_left, -1, np.int32)
    n_groups = n_rounds = at = 0
    while n_left >= l and n_alive >= l:
        while left[starts[at]] == 0:
            at += 1
        c = starts[at]
        n_rounds += 1
        size = 0
        while c >= 0:
            s, k = cells.value[c], cells.kind[c]
            members[size] = c
            places[size] = cells.start[c + 1] - left[c]
            size += 1
            left[c] -= 1
            of_value[s] -= 1
            n_left -= 1
            n_alive -= of_value[s] == 0
            if size == l:
                break
            closed[s] = n_rounds
            for p in range(cells.kind_start[k], cells.kind_start[k + 1]):
                closed[cells.kind_values[p]] = n_rounds
            c = -1
            while c < 0:
                v = -1
                for u in range(n_values):
                    if closed[u] != n_rounds and of_value[u] > 0 and (v < 0 or of_value[u] > of_value[v]):
                        v = u
                if v < 0:
                    break
                closed[v] = n_rounds
                while left[opening[v]] == 0:
                    opening[v] += 1
                tried = 0
                for other in range(opening[v], cells.value_cells[v + 1]):
                    if left[other] == 0:
                        continue
                    if _fits(cells, members, size, other):
                        c = other
                        break
                    tried += 1
                    if tried == LOOKED:
                        break
        if size == l:
            for i in range(l):
                group[places[i]] = n_groups
            n_groups += 1
        else:
            for i in range(1, size):
                s = cells.value[members[i]]
                n_alive += of_value[s] == 0
                left[members[i]] += 1
                of_value[s] += 1
                n_left += 1
                opening[s] = min(opening[s], members[i])
    return group, n_groups


class PlacedRows(NamedTuple):
    """The value and the kind of the row at each place, and per kind the values that the rules exclude."""

    value: npt.NDArray[np.int32]
    kind: npt.NDArray[np.int32]
    cell: npt.NDArray[np.int32]
    excluded: npt.NDArray[np.bool_]


class Chains(NamedTuple):
    """The places of each group, one behind the other."""

    head: npt.NDArray[np.int64]
    tail: npt.NDArray[np.int64]
    following: npt.NDArray[np.int64]


@nb.njit(cache=True, nogil=True)
def assigned_rest(l, group, n_groups, pending, rows, counted, looked):  # noqa: E741
    """Lines 18 to 23 of Figure 2: put the remaining rows into groups, merging groups until every row of theirs has l valid values.

    `pending` are the places without a group, those of a cell together, and last those whose own value the rules exclude or is not
    `counted` among the l. Among at most `looked` groups, taken in turn, the one with the fewest rows that are incompatible is chosen.
    `group` is changed; returns how many merges there were.
    """
    n_places = len(group)
    most = max(n_groups, 1)
    chains = Chains(np.full(most, -1, np.int64), np.full(most, -1, np.int64), np.full(n_places, -1, np.int64))
    head, tail, following = chains
    for p in range(n_places):
        if group[p] >= 0:
            _append(chains, group[p], p)
    alive = np.arange(n_groups)
    place_of = np.arange(n_groups)  # where a group stands in `alive`
    n_alive = n_groups
    if n_groups == 0:  # not one group could be formed: everything becomes one
        for p in range(n_places):
            group[p] = 0
        return 0
    score = np.empty(n_groups, np.int64)
    seen = np.full(len(counted), -1, np.int64)
    stamp = 0
    kind_at = np.full(len(rows.excluded), -1, np.int64)
    value_at = np.full(len(counted), -1, np.int64)
    cursor = merges = 0
    i = 0
    while i < len(pending):
        cell, s, k = rows.cell[pending[i]], rows.value[pending[i]], rows.kind[pending[i]]
        many = min(n_alive, looked)
        cursor = cursor % n_alive if many < n_alive else 0
        least = n_places + 1
        for j in range(many):
            g = alive[(cursor + j) % n_alive]
            number = 0
            p = head[g]
            while p >= 0 and number <= least:
                number += rows.value[p] == s or not _exchange(rows, p, s, k)
                p = following[p]
            score[j] = number
            least = min(least, number)
        merged = False
        for j in range(many):
            if score[j] != least or merged or i == len(pending) or rows.cell[pending[i]] != cell:
                continue
            g = alive[(cursor + j) % n_alive]
            p = pending[i]
            i += 1
            group[p] = g
            _append(chains, g, p)
            stamp += 1
            if not rows.excluded[k, s] and _exchangeable(rows, s, k, chains, g, counted, seen, stamp) >= l:
                continue
            while n_alive > 1 and not _holds(l, rows, chains, g, counted, kind_at, value_at):
                stamp += 1
                p = head[g]
                while p >= 0:
                    seen[rows.value[p]] = stamp
                    p = following[p]
                mine = stamp
                other, most = -1, -1
                for t in range(min(n_alive, looked)):
                    candidate = alive[(cursor + t) % n_alive]
                    if candidate == g:
                        continue
                    stamp += 1
                    number = 0
                    p = head[candidate]
                    while p >= 0:
                        v = rows.value[p]
                        if counted[v] and seen[v] != mine and seen[v] != stamp:
                            number += 1
                            seen[v] = stamp
                        p = following[p]
                    if number > most:
                        other, most = candidate, number
                if other < 0:
                    other = alive[0] if alive[0] != g else alive[1]
                p = head[other]
                while p >= 0:
                    group[p] = g
                    p = following[p]
                following[tail[g]] = head[other]
                tail[g] = tail[other]
                n_alive -= 1
                alive[place_of[other]] = alive[n_alive]
                place_of[alive[n_alive]] = place_of[other]
                merges += 1
                merged = True
        cursor += many
    return merges


@nb.step
def _append(chains, g, p):
    if chains.head[g] < 0:
        chains.head[g] = p
    else:
        chains.following[chains.tail[g]] = p
    chains.tail[g] = p


@nb.njit(cache=True, nogil=True, inline="always")
def _exchange(rows, p, s, k):
    """Whether the row at a place and one of value s and kind k can exchange their values."""
    return not rows.excluded[k, rows.value[p]] and not rows.excluded[rows.kind[p], s]


@nb.part
def _exchangeable(rows, s, k, chains, g, counted, seen, stamp):
    """The values that count and that a row of value s and kind k can get by exchange with one other row of its group, and its own: all
    are valid."""
    number = 1 if counted[s] else 0
    seen[s] = stamp
    p = chains.head[g]
    while p >= 0:
        v = rows.value[p]
        if counted[v] and seen[v] != stamp and _exchange(rows, p, s, k):
            seen[v] = stamp
            number += 1
        p = chains.following[p]
    return number


@nb.njit(cache=True, nogil=True)
def _holds(l, rows, chains, g, counted, kind_at, value_at):  # noqa: E741
    """Whether every row of a group has at least l valid values that count. `kind_at` and `value_at` hold -1, and do so again afterwards."""
    n_kinds = n_values = 0
    p = chains.head[g]
    while p >= 0:
        if kind_at[rows.kind[p]] < 0:
            kind_at[rows.kind[p]] = n_kinds
            n_kinds += 1
        if value_at[rows.value[p]] < 0:
            value_at[rows.value[p]] = n_values
            n_values += 1
        p = chains.following[p]
    kinds = np.empty(n_kinds, np.int64)
    values = np.empty(n_values, np.int64)
    of_kind = np.zeros(n_kinds, np.int64)
    wanted = np.zeros(n_values, np.int64)
    p = chains.head[g]
    while p >= 0:
        i, j = kind_at[rows.kind[p]], value_at[rows.value[p]]
        kinds[i], values[j] = rows.kind[p], rows.value[p]
        of_kind[i] += 1
        wanted[j] += 1
        p = chains.following[p]
    allowed = np.empty((n_kinds, n_values), np.bool_)
    for i in range(n_kinds):
        kind_at[kinds[i]] = -1
        for j in range(n_values):
            allowed[i, j] = not rows.excluded[kinds[i], values[j]]
    for j in range(n_values):
        value_at[values[j]] = -1
    if not valid_pairs(of_kind, wanted, allowed):
        return False
    for i in range(n_kinds):
        number = 0
        for j in range(n_values):
            number += allowed[i, j] and counted[values[j]]
        if number < l:
            return False
    return True


@nb.njit(cache=True, nogil=True)
def anatomy_groups(l, value_start, order):  # noqa: E741
    """(group of each place, number of groups): every round takes a row of each of the l values with the most rows left.

    Value v has the places from `value_start[v]` on; `order` are the values, the most frequent first. They stay sorted by the rows they
    have left: of those that tie for the last seats the ones at the end of the tie are taken, so that counting them down leaves the
    order as it is. Rows that no round takes have group -1; there are at most l - 1 where no value has more than 1/l of the rows.
    """
    n_values = len(value_start) - 1
    group = np.full(value_start[n_values], -1, np.int32)
    left = np.empty(n_values, np.int64)
    for v in range(n_values):
        left[v] = value_start[v + 1] - value_start[v]
    n_groups = 0
    while n_values >= l and left[order[l - 1]] > 0:
        last = left[order[l - 1]]
        low, high = 0, n_values  # the first place after the tie
        while low < high:
            middle = (low + high) // 2
            if left[order[middle]] >= last:
                low = middle + 1
            else:
                high = middle
        end = low
        sure = l - 1
        while sure >= 0 and left[order[sure]] == last:
            sure -= 1
        sure += 1  # values before the tie
        for i in range(l):
            v = order[i] if i < sure else order[end - l + i]
            group[value_start[v + 1] - left[v]] = n_groups
            left[v] -= 1
        n_groups += 1
    return group, n_groups
