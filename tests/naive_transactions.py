"""Slow, obvious versions of k-anonymity for transactions: PTA module by module, GSC, majority centres and their loss.

Transactions are lists of sets of item numbers; item 0 is the most significant bit. Ties are read as shared/papers/NOTES.md does.
"""

from __future__ import annotations

from collections import Counter


def gray_number(bits):
    """The number a Gray code word stands for: each binary digit is the parity of the bits up to it."""
    number, digit = 0, 0
    for bit in bits:
        digit ^= bit
        number = 2 * number + digit
    return number


def bitmap(row, n_items, rank=None):
    bits = [0] * n_items
    for item in row:
        bits[item if rank is None else rank[item]] = 1
    return bits


def gray_order(rows, n_items, rank=None):
    return sorted(range(len(rows)), key=lambda r: gray_number(bitmap(rows[r], n_items, rank)))


def hamming(a, b):
    return len(a ^ b)


def majority(rows):
    """Strictly more than half of the rows have the item."""
    counts = Counter(item for row in rows for item in row)
    return {item for item, count in counts.items() if 2 * count > len(rows)}


def loss(rows, centre):
    """(items added, items removed) when every row is published as the centre."""
    return sum(len(centre - row) for row in rows), sum(len(row - centre) for row in rows)


def segments(order, m):
    """m parts whose sizes differ by at most one, the larger ones first."""
    parts, start = [], 0
    for i in range(m):
        size = len(order) // m + (i < len(order) % m)
        parts.append(order[start : start + size])
        start += size
    return parts


def prim_loop(distance):
    """Algorithm 1 for one segment: (loop from its first node along the destination's side, length with the closing edge)."""
    nodes = range(len(distance))
    best_loop, best_length = None, float("inf")
    for v in nodes:
        loop, star, dest, length = [v], v, v, 0
        unvisited = [u for u in nodes if u != v]
        while unvisited:
            near_star = min(unvisited, key=lambda u: distance[star][u])
            others = [u for u in unvisited if u != near_star] or unvisited
            near_dest = min(others, key=lambda u: distance[dest][u])
            if distance[star][near_star] > distance[dest][near_dest]:
                length += distance[dest][near_dest]
                dest = near_dest
                loop.append(dest)
                unvisited.remove(dest)
            else:
                length += distance[star][near_star]
                star = near_star
                loop.insert(0, star)
                unvisited.remove(star)
        length += distance[star][dest]
        if length < best_length:
            first = loop.index(v)
            best_loop, best_length = loop[first:] + loop[:first], length
    return best_loop, best_length


def mapped_groups(loop, rows, k):
    """Algorithm 2, line by line: [(nodes, centre, loss)] in loop order."""
    n = len(loop)
    groups = []
    for i, v in enumerate(loop):
        reach = (k - 1) // 2 + (k - 1) % 2
        nodes = [loop[(j + n) % n] for j in range(i - (reach - 1), i + (reach - 1) + 1)]
        before, after = loop[(i - reach + n) % n], loop[(i + reach + n) % n]
        if k % 2 == 1:
            nodes += [before, after]
        elif hamming(rows[before], rows[v]) < hamming(rows[after], rows[v]):
            nodes.append(before)
        else:
            nodes.append(after)
        if k == 1:
            nodes = [v]  # as printed, the node would enter twice
        members = [rows[u] for u in nodes]
        centre = majority(members)
        groups.append((nodes, centre, sum(hamming(row, centre) for row in members)))
    return groups


def chosen_classes(loop, rows, groups):
    """Algorithm 3 for one segment: [(voters, centre, all members)], leftovers in segment order."""
    left = list(groups)
    classes = []
    while left:
        nodes, centre, _ = best = min(left, key=lambda group: group[2])
        classes.append((nodes, centre, list(nodes)))
        left = [group for group in left if group is not best and not set(group[0]) & set(nodes)]
    assigned = {node for nodes, _, _ in classes for node in nodes}
    for node in sorted(set(loop) - assigned):
        min(classes, key=lambda c: hamming(c[1], rows[node]))[2].append(node)
    return classes


def pta(rows, n_items, k, m):
    """The classes of PTA, segment after segment: [(centre, rows that are published as it)]."""
    found = []
    for part in segments(gray_order(rows, n_items), m):
        inside = [rows[r] for r in part]
        loop, _ = prim_loop([[hamming(a, b) for b in inside] for a in inside])
        classes = chosen_classes(loop, inside, mapped_groups(loop, inside, k))
        found += [(centre, {part[node] for node in members}) for _, centre, members in classes]
    return found


def gsc(rows, n_items, k):
    order = gray_order(rows, n_items)
    starts = range(0, len(rows) - k + 1, k)
    parts = [order[a : a + k] if a + 2 * k <= len(rows) else order[a:] for a in starts]
    return [(majority([rows[r] for r in part]), set(part)) for part in parts]


def order_crossover(one, other, low, high):
    """OX: one[low:high] stays in place; from `high` on and around, the rest as it follows `high` in the other parent."""
    n = len(one)
    kept = one[low:high]
    rest = [other[(high + i) % n] for i in range(n) if other[(high + i) % n] not in kept]
    child = [None] * n
    child[low:high] = kept
    for i, node in enumerate(rest):
        child[(high + i) % n] = node
    return child
