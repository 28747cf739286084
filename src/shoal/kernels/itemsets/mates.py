"""Which groups of items are best put together: each takes, from those next to it in a given order, the one that mends most for its cost."""

import numpy as np

from shoal.kernels import compiler as nb


@nb.step
def _charge(size, occurrences, information):
    """What a group of so many items and occurrences costs, but for what its items cost by themselves: o log2 o, or by NCP u * o."""
    if information:
        return occurrences * np.log2(max(1, occurrences))
    return float(size * occurrences) if size > 1 else 0.0


@nb.njit(cache=True, nogil=True)
def mates(starts, partners, size, occurrences, information, window, together):
    """For every group its mate, or -1; groups stand in the order in which they choose, from the next `window` that are still free.

    `partners[starts[i]:starts[i + 1]]` are the groups (ascending) that group i forms rare sets with. Two groups are worth
    1 + the partners that they share (+ `together` when they are rare with each other),
    over what the merge adds to the cost, by the price of `information` or by NCP.
    """
    n = len(size)
    mate = np.full(n, -1, np.int64)
    after = np.empty(n + 1, np.int64)  # the next group that is still free, from each on
    for i in range(n + 1):
        after[i] = i + 1
    for i in range(n):
        if mate[i] >= 0:
            continue
        best, chosen, before_chosen = -1.0, -1, -1
        before, j = i, after[i]
        for _ in range(window):
            if j >= n:
                break
            shared, rare = 0, False
            p, q = starts[i], starts[j]
            while p < starts[i + 1] and q < starts[j + 1]:
                if partners[p] == partners[q]:
                    shared += 1
                    p += 1
                    q += 1
                elif partners[p] < partners[q]:
                    p += 1
                else:
                    q += 1
            for p in range(starts[i], starts[i + 1]):
                if partners[p] == j:
                    rare = True
                    break
            added = _charge(size[i] + size[j], occurrences[i] + occurrences[j], information)
            added -= _charge(size[i], occurrences[i], information) + _charge(size[j], occurrences[j], information)
            worth = (1 + shared + (together if rare else 0)) / max(1, added)
            if worth > best:
                best, chosen, before_chosen = worth, j, before
            before, j = j, after[j]
        if chosen >= 0:
            mate[i], mate[chosen] = chosen, i
            after[before_chosen] = after[chosen]
    return mate
