"""Which rows may go a level down: node u in them is replaced by its children, as far as no token and no pair becomes too rare; and which
rows must keep u as well, so that sets which stand in too few of them stand in enough.

Rows are laid out as in `shoal.kernels.itemsets.prefixes`, with the children in place: tokens 1 to `n_children` are children of u, larger
ones all else. Every pair with a child has a counter, so has every token beside u, and a row that goes back up updates them on the spot:
a sweep over the rows costs their pairs with a child and nothing else. Rows only ever go up, so the sweeps come to an end.
"""

import numpy as np

from shoal.kernels import compiler as nb


@nb.njit(cache=True, nogil=True)
def settle_pairs(rows, n_movers, n_children, k, pairs, down):
    """Sets `down` of the first `n_movers` rows to False where they keep u. Returns the number of tokens looked at.

    At the end each child, and with `pairs` each pair with a child, stands in no row or in k; so do u and the pairs with u. First the rows
    with something rare go up, until there are none; then, row by row, as many more as the pairs with u still need.
    """
    offsets, tails, lengths, n_tokens = rows.offsets, rows.tails, rows.lengths, len(rows.support)
    together = np.zeros((n_children + 1) * n_tokens, np.int32)
    beside_u = np.zeros(n_tokens, np.int32)  # the first entry counts the rows that keep u
    others = np.empty(n_movers, np.int64)
    looked = np.int64(0)
    for row in range(len(lengths)):
        start = offsets[row] + row
        stop = start + lengths[row]
        p = start
        while p < stop and tails[p] <= n_children:
            base = tails[p] * np.int64(n_tokens)
            for q in range(p, stop):
                together[base + tails[q]] += 1
            p += 1
        if row < n_movers:
            others[row] = p
        looked += stop - start
    filling = False
    while True:
        went_up = False
        for row in range(n_movers):
            if not down[row]:
                continue
            start = offsets[row] + row
            stop = start + lengths[row]
            looked += stop - start
            goes_up = False
            if filling:
                if 0 < beside_u[0] < k:
                    goes_up = True
                elif pairs:
                    for q in range(others[row], stop):
                        if 0 < beside_u[tails[q]] < k:
                            goes_up = True
                            break
            else:
                for p in range(start, others[row]):
                    base = tails[p] * np.int64(n_tokens)
                    for q in range(p, stop if pairs else p + 1):
                        if together[base + tails[q]] < k:
                            goes_up = True
                            break
                    if goes_up:
                        break
            if goes_up:
                went_up = True
                down[row] = False
                for p in range(start, others[row]):
                    base = tails[p] * np.int64(n_tokens)
                    for q in range(p, stop):
                        together[base + tails[q]] -= 1
                beside_u[0] += 1
                for q in range(others[row], stop):
                    beside_u[tails[q]] += 1
        if filling and not went_up:
            return looked
        filling = not went_up


@nb.njit(cache=True, nogil=True)
def rows_to_fill(rows, sets, inside, k):
    """Row by row, those outside that hold a set (ascending, unused places -1, one a line) of which fewer than k rows are inside yet."""
    n_rows = len(rows.lengths)
    n_sets = sets.shape[0]
    count = np.zeros(n_sets, np.int64)
    joined = np.zeros(n_rows, np.bool_)
    for wanted in (True, False):
        for row in range(n_rows):
            if inside[row] != wanted:
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


@nb.njit(cache=True, nogil=True)
def holds(rows, row, sets, s):
    """Whether the row has all tokens of set s."""
    tails = rows.tails
    p = rows.offsets[row] + row
    stop = p + rows.lengths[row]
    for place in range(sets.shape[1]):
        token = sets[s, place]
        if token < 0:
            continue
        while p < stop and tails[p] < token:
            p += 1
        if p == stop or tails[p] != token:
            return False
    return True
