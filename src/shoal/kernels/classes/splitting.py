"""The best split of an order of rows into consecutive classes of k to 2k - 1 rows, by dynamic programming.

The loss of a window is kept up to date as rows join and leave it: on counts (kernels/classes/majority.py), or, where rows are
bitmaps, on counts whose binary digits lie in planes of 64 items each: one addition then serves 64 items at once.
Windows are visited like a snake (one start with growing ends, the next with shrinking ends): each differs from the one
before by one row, and all windows of a start together cost k steps. A class of 2k or more rows never loses less than the
same rows in two classes, so k to 2k - 1 rows are enough. For large k, classes end only at every k/16-th row or so.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.kernels import compiler as nb
from shoal.kernels.classes.bitmaps import ones
from shoal.kernels.classes.majority import join_row, leave_row
from shoal.kernels.parallel import over_blocks

FINE = 32
"""Up to this k a class may begin at any row unless a grid is given; beyond, at the multiples of k // 16."""
BLOCK = 2048
"""Starts of windows that are weighed together."""
CHUNK = 1 << 16
"""Starts whose losses are held at a time."""


def best_split(
    offsets: npt.NDArray[np.int64],
    items: npt.NDArray[np.int32],
    bitmaps: npt.NDArray[np.uint64],
    order: npt.NDArray[np.int32],
    n_items: int,
    k: int,
    threads: int | None = None,
    grid: int | None = None,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Where the classes of the best split begin and end (from 0 to the number of rows), and what each of them loses.

    With a `grid`, the best of the splits whose classes begin at its multiples and have at most about 3k/2 rows, in a
    fraction of the time.
    """
    n = len(order)
    longest = 2 * k - 1
    if grid is not None:
        longest = k + k // 2 + grid
    elif k > FINE:
        grid = k // 16
        longest = 2 * k + grid
    else:
        grid = 1
    points = np.arange(0, n + 1, grid, dtype=np.int64)
    if points[-1] != n:
        points = np.append(points, n)
    ends = np.searchsorted(points, points + k)  # the first end of each start
    widths = (longest - k) // grid + 2
    best = np.full(len(points), -1, np.int64)
    came = np.full(len(points), -1, np.int64)
    best[0] = 0
    step = max(1, min(BLOCK, CHUNK // widths))
    losses = np.empty((min(CHUNK, len(points)), widths), np.int32)
    for low in range(0, len(points), CHUNK):
        high = min(low + CHUNK, len(points))
        blocks = [(a, min(a + step, high)) for a in range(low, high, step)]
        over_blocks(
            lambda a, b, low=low: window_losses(  # type: ignore[misc]
                offsets, items, bitmaps, order, n_items, points, ends, longest, a, b, losses, a - low
            ),
            blocks,
            threads,
        )
        relax(points, ends, longest, low, high, losses, best, came)
    if best[-1] < 0:
        # So few rows cannot be divided along this grid.
        return best_split(offsets, items, bitmaps, order, n_items, k, threads)
    at = [len(points) - 1]
    while at[-1] > 0:
        at.append(int(came[at[-1]]))
    return points[at[::-1]], np.diff(best[at[::-1]])


@nb.njit(cache=True, nogil=True)
def window_losses(offsets, items, bitmaps, order, n_items, points, ends, longest, first, last, losses, at):
    """losses[at + i, t] of order[points[first + i]:points[ends[first + i] + t]], for all lengths up to `longest`."""
    words = bitmaps.shape[1]
    planes = 1
    while longest >> planes > 0:
        planes += 1
    count = np.zeros((1, 0 if words else n_items), np.int32)
    having = np.zeros((1, longest + 2), np.int32)
    bits = np.zeros((words, planes), np.uint64)
    low = points[first]
    high = low
    loss = np.int64(0)
    major = np.int64(0)
    for i in range(first, last):
        start = points[i]
        while low < start and low < high:
            if words:
                loss -= without(bitmaps, order[low], bits, planes, high - low)
            else:
                loss, major = leave_row(offsets, items, order[low], count, having, 0, high - low, loss, major)
            low += 1
        b = ends[i]
        n_ends = 0
        while b + n_ends < len(points) and points[b + n_ends] - start <= longest:
            n_ends += 1
        if n_ends == 0:
            break  # no later start has an end either
        for step in range(n_ends):
            t = step if (i - first) % 2 == 0 else n_ends - 1 - step
            end = points[b + t]
            while high < end:
                if words:
                    loss += within(bitmaps, order[high], bits, planes, high - low)
                else:
                    loss, major = join_row(offsets, items, order[high], count, having, 0, high - low, loss, major)
                high += 1
            while high > end:
                high -= 1
                if words:
                    loss -= without(bitmaps, order[high], bits, planes, high + 1 - low)
                else:
                    loss, major = leave_row(offsets, items, order[high], count, having, 0, high + 1 - low, loss, major)
            losses[at + i - first, t] = loss


@nb.njit(cache=True, nogil=True)
def within(bitmaps, row, bits, planes, size):
    """Let the row join a window of `size` rows whose counts are bits[word, plane]; returns what that costs."""
    cost = np.uint64(0)
    for w in range(bitmaps.shape[1]):
        word = bitmaps[row, w]
        cost += differing(word, bits, planes, size, w)
        carry = word
        for p in range(planes):
            here = bits[w, p]
            bits[w, p] = here ^ carry
            carry &= here
    return np.int64(cost)


@nb.njit(cache=True, nogil=True)
def without(bitmaps, row, bits, planes, size):
    """Let the row leave a window of `size` rows; returns what that saves."""
    cost = np.uint64(0)
    for w in range(bitmaps.shape[1]):
        word = bitmaps[row, w]
        borrow = word
        for p in range(planes):
            here = bits[w, p]
            bits[w, p] = here ^ borrow
            borrow &= ~here
        cost += differing(word, bits, planes, size - 1, w)
    return np.int64(cost)


@nb.njit(cache=True, nogil=True)
def differing(word, bits, planes, size, w):
    """In how many items of one word the row differs from the centre, items of exactly half of the window being free."""
    above = np.uint64(0)
    equal = ~np.uint64(0)
    for p in range(planes - 1, -1, -1):
        # Counts are compared with size // 2 in all columns at once, from the highest binary digit down.
        if (size >> (p + 1)) & 1:
            equal &= bits[w, p]
        else:
            above |= equal & bits[w, p]
            equal &= ~bits[w, p]
    if size & 1:
        equal = np.uint64(0)
    return ones((word ^ above) & ~equal)


@nb.njit(cache=True, nogil=True)
def relax(points, ends, longest, first, last, losses, best, came):
    """Carry the best loss up to each point on to the ends of the windows that start there."""
    for i in range(first, last):
        if best[i] < 0:
            continue
        b = ends[i]
        t = 0
        while b + t < len(points) and points[b + t] - points[i] <= longest:
            total = best[i] + losses[i - first, t]
            if best[b + t] < 0 or total < best[b + t]:
                best[b + t] = total
                came[b + t] = i
            t += 1
