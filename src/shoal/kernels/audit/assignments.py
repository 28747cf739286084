"""Which sensitive values a row of a bucket may have, if each value of the bucket belongs to exactly one of its rows (Injector,
Definition 1): those that it has in some assignment of all values to all rows that breaks no rule.

Rows that the rules treat alike are one kind, so an assignment is a table of counts: how many rows of a kind get a value. One is
found by moving values along paths until every row has one. From there every other is reached by exchanges in a circle: a kind takes one
more of a value, the kind that gives it up takes another instead, and so on until the circle closes. So a value that a kind has none
of is open to it just if it lies in a circle with a value that the kind has.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.kernels import compiler as nb
from shoal.kernels.audit.threads import blocks_of_work, in_threads

BLOCKS = 64


def open_values(
    of_row: npt.NDArray[np.int32],
    kind: npt.NDArray[np.int32],
    excluded: npt.NDArray[np.bool_],
    offsets: npt.NDArray[np.int64],
    values: npt.NDArray[np.int32],
    counts: npt.NDArray[np.int64],
    counted: npt.NDArray[np.bool_],
    threads: int | None = None,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """(group of each row, its bucket, its kind, its number of open values): a group is the rows of a bucket of the same kind.

    Of the open values, those that are not `counted` do not count. The number is -1 where every assignment breaks a rule: then the rules
    contradict the bucket.
    """
    n_kinds = max(len(excluded), 1)
    keys, group, many = np.unique(of_row.astype(np.int64) * n_kinds + kind, return_inverse=True, return_counts=True)
    bucket, kind_of = keys // n_kinds, keys % n_kinds
    first = np.searchsorted(bucket, np.arange(len(offsets))).astype(np.int64)
    number = np.zeros(len(keys), np.int64)
    rows = many.astype(np.int64)
    work = (np.diff(first) * np.diff(offsets)).astype(np.float64) + 1
    in_threads(
        lambda a, b: count_open(a, b, first, kind_of, rows, offsets, values, counts, excluded, counted, number),
        blocks_of_work(work, BLOCKS),
        threads,
    )
    return group.reshape(-1).astype(np.int64), bucket, kind_of, number


@nb.njit(cache=True, nogil=True)
def count_open(low, high, first, kind_of, rows, offsets, values, counts, excluded, counted, number):
    """Fill in the number of open values that count of every group of the buckets [low, high), -1 where there is no assignment."""
    for b in range(low, high):
        n_kinds, n_values = first[b + 1] - first[b], offsets[b + 1] - offsets[b]
        allowed = np.empty((n_kinds, n_values), np.bool_)
        all_allowed = True
        for i in range(n_kinds):
            for j in range(n_values):
                allowed[i, j] = not excluded[kind_of[first[b] + i], values[offsets[b] + j]]
                all_allowed = all_allowed and allowed[i, j]
        if not all_allowed and not keep_open(
            rows[first[b] : first[b + 1]], counts[offsets[b] : offsets[b + 1]], allowed
        ):
            number[first[b] : first[b + 1]] = -1
            continue
        for i in range(n_kinds):
            for j in range(n_values):
                number[first[b] + i] += allowed[i, j] and counted[values[offsets[b] + j]]


@nb.njit(cache=True, nogil=True)
def keep_open(rows, counts, allowed):
    """Keep in `allowed` only the values that are open to each kind, given its rows and the copies of each value.

    False where no assignment gives each row a value that is allowed.
    """
    n_kinds, n_values = allowed.shape
    has = np.zeros((n_kinds, n_values), np.int64)
    if not _assign(rows, counts, allowed, has):
        return False
    circle = _circles(has > 0, allowed)
    reached = np.full(n_values, -1, np.int64)  # per circle, the last kind that has a value of it
    for i in range(n_kinds):
        for j in range(n_values):
            if has[i, j] > 0:
                reached[circle[j]] = i
        for j in range(n_values):
            if has[i, j] == 0 and reached[circle[j]] != i:
                allowed[i, j] = False
    return True


@nb.part
def _circles(has, allowed):
    """Values that chains of exchanges lead to from each other get the same number."""
    n_values = has.shape[1]
    circle = np.full(n_values, -1, np.int64)
    for j in range(n_values):
        if circle[j] < 0:
            after, before = _reached(j, has, allowed), _reached(j, allowed, has)
            for other in range(n_values):
                if after[other] and before[other]:
                    circle[other] = j
    return circle


@nb.step
def _reached(value, out, into):
    """The values that a chain leads to: out of a value to a kind, from the kind into another value, and so on."""
    n_kinds, n_values = out.shape
    used = np.zeros(n_kinds, np.bool_)
    reached = np.zeros(n_values, np.bool_)
    waiting = np.empty(n_values, np.int64)
    reached[value] = True
    waiting[0] = value
    n = 1
    while n > 0:
        n -= 1
        j = waiting[n]
        for i in range(n_kinds):
            if out[i, j] and not used[i]:
                used[i] = True
                for other in range(n_values):
                    if into[i, other] and not reached[other]:
                        reached[other] = True
                        waiting[n] = other
                        n += 1
    return reached


@nb.part
def _assign(rows, counts, allowed, has):
    """Fill in how many rows of each kind get each value, one for every row; False if that cannot be."""
    n_kinds, n_values = allowed.shape
    free = np.empty(n_values, np.int64)  # copies that nobody has
    for j in range(n_values):
        free[j] = counts[j]
    taker = np.empty(n_values, np.int64)  # on the path: the kind that would take this value, -1 if it is not reached
    giver = np.empty(n_kinds, np.int64)  # and the value that this kind would give up for it, -1 if it is not reached
    waiting = np.empty(n_values, np.int64)
    for i in range(n_kinds):
        need = rows[i]
        for j in range(n_values):
            if allowed[i, j]:
                taken = min(need, free[j])
                has[i, j] += taken
                free[j] -= taken
                need -= taken
        while need > 0:
            # The shortest path of exchanges from this kind to a value with a free copy.
            for j in range(n_values):
                taker[j] = -1
            for other in range(n_kinds):
                giver[other] = -1
            head = tail = 0
            for j in range(n_values):
                if allowed[i, j]:
                    taker[j] = i
                    waiting[tail] = j
                    tail += 1
            end = -1
            while head < tail and end < 0:
                j = waiting[head]
                head += 1
                if free[j] > 0:
                    end = j
                    break
                for other in range(n_kinds):
                    if has[other, j] > 0 and other != i and giver[other] < 0:
                        giver[other] = j
                        for next_value in range(n_values):
                            if allowed[other, next_value] and taker[next_value] < 0:
                                taker[next_value] = other
                                waiting[tail] = next_value
                                tail += 1
            if end < 0:
                return False
            # As many rows as all steps of the path allow move along it.
            step = min(need, free[end])
            j = end
            while taker[j] != i:
                j_given = giver[taker[j]]
                step = min(step, has[taker[j], j_given])
                j = j_given
            free[end] -= step
            need -= step
            j = end
            while taker[j] != i:
                j_given = giver[taker[j]]
                has[taker[j], j] += step
                has[taker[j], j_given] -= step
                j = j_given
            has[i, j] += step
    return True
