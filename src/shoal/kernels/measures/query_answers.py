"""The expected number of published rows that hold all of some items: when a generalized item is any non-empty subset of its items, and when
every item below it has a chance of its own.

A query has a bit for each of its items, a token the bits of those that it may stand for. A row whose tokens miss a bit is left at once.
"""

import numpy as np

from shoal.kernels import compiler as nb


@nb.njit(cache=True, nogil=True)
def expected_rows(offsets, tokens, group, weight, mask, void, wanted):
    """The sum over rows of the weight of their group times the chance that they hold all wanted items.

    `mask` is per token its bits of `wanted`, `void` is 2^-s for the s items that it stands for. Tokens of a row are independent; they
    may overlap. An item of one token only is there with that token's chance; over items of several, which one token or the other may
    bring, inclusion and exclusion sums up.
    """
    total = 0.0
    for row in range(len(offsets) - 1):
        if weight[group[row]] == 0.0:
            continue
        once, twice = np.int64(0), np.int64(0)
        for p in range(offsets[row], offsets[row + 1]):
            bits = mask[tokens[p]]
            twice |= once & bits
            once |= bits
        if once != wanted:
            continue
        chance, absent, sign = 0.0, twice, _sign(twice)
        while True:
            term = sign
            for p in range(offsets[row], offsets[row + 1]):
                t = tokens[p]
                if mask[t]:
                    term *= _chance(mask[t] & ~twice, mask[t] & absent, void[t])
            chance += term
            if absent == 0:
                break
            absent = (absent - 1) & twice  # the next smaller set of those bits
            sign = _sign(absent)
        total += weight[group[row]] * chance
    return total


@nb.part
def _chance(present, absent, void):
    """That a non-empty subset of s items holds some given items and lacks some others: 2^(s-p-a) / (2^s - 1), less one set if p = 0."""
    share = 0.5 ** _ones(present | absent)
    return (share if present else share - void) / (1.0 - void)


@nb.njit(cache=True, nogil=True)
def _sign(bits):
    return -1.0 if _ones(bits) % 2 else 1.0


@nb.step
def _ones(bits):
    count = 0
    while bits:
        bits &= bits - 1
        count += 1
    return count


@nb.njit(cache=True, nogil=True)
def likely_rows(offsets, tokens, group, weight, mask, chance, along, size):
    """The sum over rows of the weight of their group times the chance that they hold all of some items.

    `chance[i, t]` is how likely a row with token t holds item i, for the bits i of `mask[t]`. Several tokens may bring an item. A second
    item whose narrowest token (by `size`) is that of another comes along with the chance `along[t]` times its own.
    """
    n = len(chance)
    wanted = (1 << n) - 1
    total = 0.0
    absent, narrowest = np.empty(n), np.empty(n, np.int64)
    for row in range(len(offsets) - 1):
        if weight[group[row]] == 0.0:
            continue
        covered = np.int64(0)
        for p in range(offsets[row], offsets[row + 1]):
            covered |= mask[tokens[p]]
        if covered != wanted:
            continue
        absent[:] = 1.0
        narrowest[:] = -1
        for p in range(offsets[row], offsets[row + 1]):
            t = tokens[p]
            if mask[t]:
                for i in range(n):
                    if mask[t] >> i & 1:
                        absent[i] *= 1.0 - chance[i, t]
                        if narrowest[i] < 0 or size[t] < size[narrowest[i]]:
                            narrowest[i] = t
        found = weight[group[row]]
        for i in range(n):
            found *= 1.0 - absent[i]
            for j in range(i):
                if narrowest[j] == narrowest[i]:
                    found *= along[narrowest[i]]
                    break
        total += found
    return total
