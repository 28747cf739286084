"""Disassociation and its audit as they are defined, slow and obvious: sets of numbers and of texts, no code of the house."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, permutations, product


def clusters_of(rows, k, most):
    """HORPART: lists of row numbers."""
    found = []

    def part(numbers, ignored):
        if len(numbers) <= most:
            found.append(numbers)
            return
        count = Counter(item for i in numbers for item in rows[i] if item not in ignored)
        item = min(count, key=lambda one: (-count[one], one), default=None)
        if item is None or count[item] < k:
            alike = sorted(numbers, key=lambda i: tuple(sorted(rows[i])))
            n = -(-len(numbers) // most)
            size, more = divmod(len(alike), n)
            for j in range(n):
                first = j * size + min(j, more)
                found.append(sorted(alike[first : first + size + (j < more)]))
        elif len(numbers) - count[item] < k:
            part(numbers, ignored | {item})
        else:
            part([i for i in numbers if item in rows[i]], ignored | {item})
            part([i for i in numbers if item not in rows[i]], ignored)

    part(list(range(len(rows))), frozenset())
    return found


def is_anonymous(sets, k, m):
    """Whether every combination of up to m items stands in none or k of the sets."""
    count = Counter(chosen for one in sets for size in range(1, m + 1) for chosen in combinations(sorted(one), size))
    return all(times >= k for times in count.values())


def chunks_of_items(projections, items, k, m):
    """The greedy part of VERPART: lists of items."""
    support = Counter(item for one in projections for item in one if item in items)
    waiting, chunks = sorted((i for i in items if support[i]), key=lambda i: (-support[i], i)), []
    while waiting:
        chunk = []
        for item in waiting:
            if is_anonymous([one & {*chunk, item} for one in projections], k, m):
                chunk.append(item)
        chunks.append(chunk)
        waiting = [item for item in waiting if item not in chunk]
    return chunks


class Leaf:
    def __init__(self, rows, numbers, k, m):
        self.sets = [rows[i] for i in numbers]
        self.numbers, self.k, self.m = numbers, k, m
        support = Counter(item for one in self.sets for item in one)
        self.chunks = chunks_of_items(self.sets, {i for i in support if support[i] >= k}, k, m)
        self.rest = {i for i in support if support[i] < k}
        while not self.rest and self.chunks and not self.is_covered():
            self.rest = {self.chunks[-1].pop()}
            self.chunks = [chunk for chunk in self.chunks if chunk]

    leaves = property(lambda self: [self])
    size = property(lambda self: len(self.sets))
    domain = property(lambda self: {item for chunk in self.chunks for item in chunk})

    def is_covered(self):
        pieces = sum(bool(one & set(chunk)) for one in self.sets for chunk in self.chunks)
        return pieces >= self.size + self.k * (max(1, min(self.m, len(self.chunks))) - 1)


class Joined:
    def __init__(self, one, other, chunks):
        self.parts, self.chunks = (one, other), chunks

    leaves = property(lambda self: [leaf for part in self.parts for leaf in part.leaves])
    size = property(lambda self: sum(part.size for part in self.parts))
    rest = property(lambda self: set().union(*(leaf.rest for leaf in self.leaves)))
    domain = property(
        lambda self: {item for chunk in self.chunks for item in chunk}.union(*(part.domain for part in self.parts))
    )


def joint(one, other, k, m):
    leaves = [*one.leaves, *other.leaves]
    listed = [one & leaf.rest for leaf in leaves for one in leaf.sets]
    support = Counter(item for row in listed for item in row)
    both = {i for i in one.rest & other.rest if support[i] >= k} - one.domain - other.domain
    for leaf in leaves if both else ():
        if not leaf.is_covered() and leaf.rest <= both:
            if not leaf.rest:
                return None
            both.discard(min(leaf.rest, key=lambda i: (support[i], i)))
    chunks = chunks_of_items(listed, both, k, m)
    shared = {item for chunk in chunks for item in chunk}
    entries = sum(len(leaf.rest & shared) for leaf in leaves)
    if not shared or sum(support[item] for item in shared) < entries:
        return None
    for leaf in leaves:
        leaf.rest = leaf.rest - shared
    return Joined(one, other, chunks)


def disassociated(rows, k, m, most, most_joined):
    """Clusters and joined ones."""
    nodes = [Leaf(rows, numbers, k, m) for numbers in clusters_of(rows, k, most)]
    limit = most_joined * max(node.size for node in nodes)
    tried = set()
    while True:
        times = Counter(item for node in nodes for item in node.rest)
        rank = {item: place for place, item in enumerate(sorted(times, key=lambda i: (-times[i], i)))}
        nodes.sort(key=lambda node: sorted(rank[item] for item in node.rest))
        found, place, any_joined = [], 0, False
        while place < len(nodes):
            together = None
            if place + 1 < len(nodes):
                one, other = nodes[place : place + 2]
                if (one, other) not in tried and (other, one) not in tried and one.size + other.size <= limit:
                    together = joint(one, other, k, m)
                    if together is None:
                        tried.add((one, other))
            if together is None:
                found.append(nodes[place])
                place += 1
            else:
                found.append(together)
                place, any_joined = place + 2, True
        nodes = found
        if not any_joined:
            return nodes


# The audit.


def worlds(table):
    """Every way to put the pieces of a table into records: lists of sets. Items of rests are given to all records of their cluster, which
    is the most that can be. Ways that leave a record empty are left out if there are others."""
    sizes = {cluster: size for cluster, size, _, _ in table}
    leaves = [cluster for cluster in sizes if not any(other.startswith(cluster + ".") for other in sizes)]
    slots = [(leaf, i) for leaf in leaves for i in range(sizes[leaf])]
    chunks = {}
    for cluster, _, chunk, items in table:
        if chunk != "rest":
            chunks.setdefault((cluster, chunk), []).append(frozenset(items))
    rests = {cluster: frozenset(items) for cluster, _, chunk, items in table if chunk == "rest"}
    homes = {}
    """Per leaf and item, where all of its occurrences in that leaf are."""
    for (cluster, chunk), pieces in sorted(chunks.items(), key=lambda one: -len(one[0][0])):
        for leaf in leaves:
            if leaf == cluster or leaf.startswith(cluster + "."):
                for item in frozenset().union(*pieces):
                    homes.setdefault((leaf, item), (cluster, chunk))
    ways = []
    for place, pieces in chunks.items():
        own = [slot for slot in slots if slot[0] == place[0] or slot[0].startswith(place[0] + ".")]
        ways.append(
            [
                dict(zip(chosen, pieces, strict=True))
                for chosen in permutations(own, len(pieces))
                if all(
                    homes[slot[0], item] == place for slot, piece in zip(chosen, pieces, strict=True) for item in piece
                )
            ]
        )
    found = [
        [rests[slot[0]].union(*(one.get(slot, frozenset()) for one in way)) for slot in slots] for way in product(*ways)
    ]
    full = [world for world in found if all(world)]
    return full or found


def keeps_promise(table, k, m):
    """Guarantee 1 of the paper: of each m items that may stand together, k records may hold them; and in their chunks k pieces do."""
    every = worlds(table)
    items = sorted({item for _, _, _, own in table for item in own})
    for size in range(1, m + 1):
        for known in map(frozenset, combinations(items, size)):
            if 0 < max(sum(known <= record for record in world) for world in every) < k:
                return False
    pieces = {}
    for cluster, _, chunk, own in table:
        if chunk != "rest":
            pieces.setdefault((cluster, chunk), []).append(set(own))
    return all(is_anonymous(sets, k, m) for sets in pieces.values())
