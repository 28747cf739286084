"""How many rows hold what a row holds of a protected set.

Of a set of up to 60 items, what a row holds (its trace) is a bit each in one number. A part of the set that occurs lies in the trace of
some row, and stands in at least as many rows as that trace does: so all parts of the set stand in k rows or in none if, and only if, each
trace that occurs does. There are no more traces than rows, whatever the number of parts.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.kernels import compiler as nb


@nb.njit(cache=True, nogil=True)
def rows_of_items(offsets, items, n_items):
    """(starts, rows): the rows of item i are `rows[starts[i]:starts[i + 1]]`, ascending."""
    starts = np.zeros(n_items + 1, np.int64)
    for p in range(len(items)):
        starts[items[p] + 1] += 1
    for i in range(n_items):
        starts[i + 1] += starts[i]
    rows = np.empty(len(items), np.int64)
    at = starts.copy()
    for row in range(len(offsets) - 1):
        for p in range(offsets[row], offsets[row + 1]):
            rows[at[items[p]]] = row
            at[items[p]] += 1
    return starts, rows


@nb.njit(cache=True, nogil=True)
def count_traces(starts, rows, n_rows, bounds, members, k, first, last, exposed, unique):
    """Of the sets from `first` to `last`: (traces that occur, those in fewer than k rows, the rarest trace, its rows).

    Set s has the items `members[bounds[s]:bounds[s + 1]]`. Unless they are empty, `exposed` marks the rows whose trace fewer than k rows
    hold, and `unique` those whose trace no other row holds.
    """
    checked = np.zeros(last - first, np.int64)
    rare = np.zeros(last - first, np.int64)
    rarest = np.zeros(last - first, np.int64)
    least = np.zeros(last - first, np.int64)
    trace = np.zeros(n_rows, np.int64)
    touched = np.empty(n_rows, np.int64)
    for s in range(first, last):
        n = 0
        for b in range(bounds[s + 1] - bounds[s]):
            item = members[bounds[s] + b]
            bit = np.int64(1) << np.int64(b)
            for p in range(starts[item], starts[item + 1]):
                if trace[rows[p]] == 0:
                    touched[n] = rows[p]
                    n += 1
                trace[rows[p]] |= bit
        seen = np.empty(n, np.int64)
        for p in range(n):
            seen[p] = trace[touched[p]]
        seen.sort()
        times = np.empty(n, np.int64)
        different = 0
        for p in range(n):
            if p > 0 and seen[p] == seen[different - 1]:
                times[different - 1] += 1
            else:
                seen[different] = seen[p]
                times[different] = 1
                different += 1
        checked[s - first] = different
        for one in range(different):
            support = np.int64(0)
            for other in range(one, different):  # a trace that holds another is the larger number
                if seen[other] & seen[one] == seen[one]:
                    support += times[other]
                    if support >= k:
                        break
            if support < k:
                if rare[s - first] == 0 or support < least[s - first]:
                    least[s - first] = support
                    rarest[s - first] = seen[one]
                rare[s - first] += 1
                if len(exposed) > 0:
                    for p in range(n):
                        if trace[touched[p]] == seen[one]:
                            exposed[touched[p]] = 1
                            if support == 1:
                                unique[touched[p]] = 1
        for p in range(n):
            trace[touched[p]] = 0
    return checked, rare, rarest, least


def members_of(trace: int, items: npt.NDArray[np.int64]) -> list[int]:
    """The items of a set that a trace holds."""
    return [int(item) for b, item in enumerate(items.tolist()) if trace >> b & 1]
