"""In how many published rows some items are together: for sure, possibly, and as the sum of their chances.

A row is looked at once, by way of the lowest of its tokens that covers the first item; a row that covers not all of them is left.
"""

import numpy as np

from shoal.kernels import compiler as nb


@nb.njit(cache=True, nogil=True)
def likely_rows(offsets, tokens, ends, rows, path, node, covers, missing, along):
    """(rows in which all items stand as themselves, rows that may hold all, and three sums of chances).

    `rows[ends[t]:ends[t + 1]]` are the rows with token t, `path` the tokens that cover the first item, `node` of each token is smaller
    the lower it stands. `covers[t]` has a bit for each item that t covers; `missing[i, t]` are three chances that a row with t does
    not hold item i. The chances of a later item below the same token as an earlier one are multiplied by `along[t]`.
    """
    n = len(missing)
    everything = (1 << n) - 1
    sure, possible = 0, 0
    sums, chance, absent = np.zeros(3), np.empty(3), np.empty((n, 3))
    lowest = np.empty(n, np.int64)
    for start in path:
        for at in range(ends[start], ends[start + 1]):
            row = rows[at]
            covered = 0
            for p in range(offsets[row], offsets[row + 1]):
                covered |= covers[tokens[p]]
            if covered != everything:
                continue
            absent[:] = 1.0
            lowest[:] = -1
            for p in range(offsets[row], offsets[row + 1]):
                t = tokens[p]
                if covers[t]:
                    for i in range(n):
                        if covers[t] >> i & 1:
                            for c in range(3):
                                absent[i, c] *= missing[i, t, c]
                            if lowest[i] < 0 or node[t] < node[lowest[i]]:
                                lowest[i] = t
            if lowest[0] != start:  # seen by way of a lower token
                continue
            certain = True
            chance[:] = 1.0
            for i in range(n):
                low = lowest[i]
                certain = certain and missing[i, low, 0] == 0.0
                for c in range(3):
                    chance[c] *= 1.0 - absent[i, c]
                for j in range(i):
                    if lowest[j] == low:
                        for c in range(3):
                            chance[c] *= along[low, c]
                        break
            possible += 1
            sure += certain
            for c in range(3):
                sums[c] += chance[c]
    return sure, possible, sums
