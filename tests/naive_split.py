"""Slow, obvious twins of everything that `split` does: sets, lists and all partitions."""

from __future__ import annotations

from itertools import combinations


def centre(rows):
    """The items that strictly more than half of the rows have."""
    return {x for x in set().union(*rows) if 2 * sum(x in row for row in rows) > len(rows)}


def loss(rows):
    """What a class loses: items added or removed to make every row its centre."""
    z = centre(rows)
    return sum(len(row ^ z) for row in rows)


def consecutive_splits(n, k):
    """All ways to cut n places into consecutive parts of at least k, as lists of ends."""
    if n == 0:
        yield []
    for last in range(k, n + 1):
        for ends in consecutive_splits(n - last, k):
            yield [*ends, n]


def best_split_loss(rows, k):
    """The least loss over all ways to cut the order into classes of at least k."""
    return min(
        sum(loss(rows[a:b]) for a, b in zip([0, *ends], ends, strict=False))
        for ends in consecutive_splits(len(rows), k)
    )


def partitions(places, k):
    """All partitions of the places into classes of at least k."""
    if not places:
        yield []
        return
    first, rest = places[0], places[1:]
    for size in range(k - 1, len(rest) + 1):
        for others in combinations(rest, size):
            for more in partitions([p for p in rest if p not in others], k):
                yield [[first, *others], *more]


def least_loss(rows, k):
    """The least loss over all partitions into classes of at least k."""
    return min(sum(loss([rows[i] for i in part]) for part in parts) for parts in partitions(list(range(len(rows))), k))


def nearest_sum(rows, k):
    """Over all rows, the sum of the distances to the k - 1 nearest others."""
    total = 0
    for i, row in enumerate(rows):
        total += sum(sorted(len(row ^ other) for j, other in enumerate(rows) if j != i)[: k - 1])
    return total


def tree_leaves(rows, favour, mirrored=False):
    """The leaves of the tree from left to right: rows that are not divided any further."""
    size = len(rows)
    held = {x: sum(x in row for row in rows) for x in sorted(set().union(*rows))} if rows else {}
    even = {x: min(c, size - c) * favour[x] for x, c in held.items() if c > 1}
    best = max(even.values(), default=0)
    if size <= 2 or best == 0:
        return [rows] if rows else []
    x = min(x for x, e in even.items() if e == best)
    having, lacking = [row for row in rows if x in row], [row for row in rows if x not in row]
    first, second = (having, lacking) if mirrored else (lacking, having)
    return tree_leaves(first, favour, False) + tree_leaves(second, favour, True)
