"""Sets of tokens whose rows lack what is demanded of sensitive columns.

The rows of a class hold tokens; a set of at most m of them that occurs has a list of rows, and these have counts of sensitive values.
The walk goes from each set to those with one token more, and stops at the first that lacks something.
"""

import numpy as np

from shoal.kernels import compiler as nb
from shoal.kernels.tables.demands import count_row, shortfall


@nb.njit(cache=True, nogil=True)
def lacking_tokens(offsets, tokens, n, rows, demands):
    """Per token, whether the rows that hold it lack something; row i of the sets is row rows[i] of the demands."""
    holders = np.zeros(n + 1, np.int64)
    for token in tokens:
        holders[token + 1] += 1
    holders = np.cumsum(holders)
    at, of_token = holders[:-1].copy(), np.empty(len(tokens), np.int64)
    for i in range(len(rows)):
        for p in range(offsets[i], offsets[i + 1]):
            of_token[at[tokens[p]]] = rows[i]
            at[tokens[p]] += 1
    lacks = np.zeros(n, np.bool_)
    counts = np.zeros(demands.start[-1], np.int64)
    for token in range(n):
        held = of_token[holders[token] : holders[token + 1]]
        if len(held) > 0:
            lacks[token] = _lacks(demands, counts, held)
    return lacks


@nb.njit(cache=True, nogil=True)
def lacking_set(offsets, tokens, n, rows, m, demands):
    """The first set of at most m tokens whose rows lack something; empty if there is none."""
    size = len(rows)
    lists, length = np.empty((m + 1, size), np.int64), np.zeros(m + 1, np.int64)
    lists[0] = np.arange(size)
    length[0] = size
    members, following = np.full(m + 1, -1, np.int64), np.zeros(m + 1, np.int64)
    held = np.zeros((m + 1, n), np.bool_)  # what stands in the rows of a set
    counts = np.zeros(demands.start[-1], np.int64)
    depth = 0
    _note_tokens(offsets, tokens, lists[0], size, held[0])
    while depth >= 0:
        token = following[depth]
        while token < n and not held[depth, token]:
            token += 1
        if depth == m or token == n:
            depth -= 1
            continue
        following[depth] = token + 1
        depth += 1
        members[depth] = token
        length[depth] = 0
        for i in range(length[depth - 1]):
            row = lists[depth - 1, i]
            for p in range(offsets[row], offsets[row + 1]):
                if tokens[p] == token:
                    lists[depth, length[depth]] = row
                    length[depth] += 1
                    break
        if _lacks(demands, counts, rows[lists[depth, : length[depth]]]):
            return members[1 : depth + 1].copy()
        following[depth] = token + 1
        _note_tokens(offsets, tokens, lists[depth], length[depth], held[depth])
    return members[:0].copy()


@nb.njit(cache=True, nogil=True)
def _note_tokens(offsets, tokens, rows, n_rows, held):
    held[:] = False
    for i in range(n_rows):
        for p in range(offsets[rows[i]], offsets[rows[i] + 1]):
            held[tokens[p]] = True


@nb.njit(cache=True, nogil=True)
def _lacks(demands, counts, rows):
    """Whether these rows lack something. Leaves the counts at 0."""
    for row in rows:
        count_row(demands, counts, row, 1)
    lacking = shortfall(demands, counts, len(rows)) > 0
    for row in rows:
        count_row(demands, counts, row, -1)
    return lacking
