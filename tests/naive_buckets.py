"""Slow, obvious twins of rules, matchings and buckets: straight from the definitions of Li and Li 2008."""

from __future__ import annotations

import math
from itertools import permutations, product


def ancestors(tree, leaf_name):
    """A value's node and all above it, without the root, by number."""
    v = tree.labels.index(leaf_name)
    found = []
    while v != tree.root:
        found.append(v)
        v = int(tree.parent[v])
    return found


def membership(tree, node, text, reach=None):
    """Mem(Z[i], t[a_i]): 1 inside the node; less the further away, where a reach is given."""
    if node in ancestors(tree, text):
        return 1.0
    if reach is None:
        return 0.0
    inside = [label for label in tree.labels[: tree.n_leaves] if node in ancestors(tree, label)]
    return max(0.0, 1 - min(abs(float(text) - float(label)) for label in inside) / reach)


def rules(rows, sensitive, trees, min_exp, min_conf=1.0, max_length=None, fuzzy=None):
    """{(node or None per attribute, value): (support, exceptions)}, by counting every combination of nodes."""
    n = len(rows)
    found = {}
    choices = [[None, *range(tree.n_nodes - 1)] for tree in trees]
    for nodes in product(*choices):
        length = sum(node is not None for node in nodes)
        if length == 0 or (max_length is not None and length > max_length):
            continue
        shares = [
            math.prod(
                membership(tree, node, text, (fuzzy or {}).get(a))
                for a, (tree, node, text) in enumerate(zip(trees, nodes, row, strict=True))
                if node is not None
            )
            for row in rows
        ]
        support = sum(shares)
        for value in sorted(set(sensitive)):
            p = sensitive.count(value) / n
            need = math.log(1 - min_exp) / math.log(1 - p) if p < 1 else 0.0
            exceptions = sum(share for share, s in zip(shares, sensitive, strict=True) if s == value)
            if support > 0 and support >= need - 1e-9 and exceptions <= (1 - min_conf) * support + 1e-12:
                found[nodes, value] = (support, exceptions)
    return found


def more_general(one, other, trees):
    """Whether rule `one` is another and more general than `other`: each of its nodes stands above or is the other's."""
    if one == other or one[1] != other[1]:
        return False
    for tree, above, below in zip(trees, one[0], other[0], strict=True):
        if above is None:
            continue
        v = below
        while v is not None and v != above:
            v = int(tree.parent[v]) if v != tree.root else None
        if v != above:
            return False
    return True


def redundant(found, trees):
    return {rule for rule in found if any(more_general(other, rule, trees) for other in found)}


def impossible(rows, found, trees):
    """IVS: per row, the values that some rule excludes."""
    return [
        {
            value
            for nodes, value in found
            if all(
                node is None or node in ancestors(tree, text)
                for tree, node, text in zip(trees, nodes, row, strict=True)
            )
        }
        for row in rows
    ]


def valid(sets, values, unknown=()):
    """Per row of a bucket, the values it has in some assignment that obeys the impossible sets; all empty if there is none.

    What is unknown may be any value: no set keeps it from a row, and it is none of the values.
    """
    found = [set() for _ in sets]
    for assignment in set(permutations(values)):
        if all(value in unknown or value not in bad for value, bad in zip(assignment, sets, strict=True)):
            for row, value in enumerate(assignment):
                found[row].add(value)
    return [held - set(unknown) for held in found]


def completions(values, domain, unknown=""):
    """All ways to fill in what is unknown."""
    return product(*(domain if value == unknown else [value] for value in values))


def partitions(n):
    """All ways to put n rows into buckets, as a bucket per row."""
    if n == 0:
        yield []
        return
    for rest in partitions(n - 1):
        for bucket in range(max(rest, default=-1) + 2):
            yield [*rest, bucket]


def largest_l(sets, values, unknown=()):
    """The largest l that some partition keeps: in the best one, the fewest values valid for a row; 0 if none fits the rules."""
    best = 0
    for of_row in partitions(len(values)):
        fewest = len(values)
        for bucket in set(of_row):
            members = [i for i, b in enumerate(of_row) if b == bucket]
            left = valid([sets[i] for i in members], [values[i] for i in members], unknown)
            fewest = min(fewest, *map(len, left))
        best = max(best, fewest)
    return best


def largest_l_without_repeats(values, unknown=()):
    """The largest l for which some partition gives every bucket l values, none of them twice."""
    best = 0
    for of_row in partitions(len(values)):
        buckets = [[v for v, b in zip(values, of_row, strict=True) if b == bucket] for bucket in set(of_row)]
        known = [[v for v in bucket if v not in unknown] for bucket in buckets]
        if all(len(set(bucket)) == len(bucket) for bucket in known):
            best = max(best, min(map(len, known)))
    return best


def incompatible(one, other):
    """Definition 2, on (value, impossible values) pairs."""
    return one[0] == other[0] or other[0] in one[1] or one[0] in other[1]


def nit(group, tuples):
    """How many of the tuples are incompatible with the group."""
    return sum(any(incompatible(t, member) for member in group) for t in tuples)


def grouping(cells, counts, l):  # noqa: E741
    """Lines 1 to 17 of Figure 2 on cells (value, impossible values) in order: lists of the groups' (cell, n-th row of the cell).

    Of equally good rows the one of the first cell starts a group; the next is of the value that costs least by itself.
    """
    left = list(counts)
    groups = []

    def tuples():
        return [cell for cell, many in zip(cells, left, strict=True) for _ in range(many)]

    while sum(left) >= l:
        start = max((c for c in range(len(cells)) if left[c]), key=lambda c: (nit([cells[c]], tuples()), -c))
        members = [start]
        places = [counts[start] - left[start]]
        left[start] -= 1
        while len(members) < l:
            group = [cells[c] for c in members]
            fitting = [
                c for c in range(len(cells)) if left[c] and not any(incompatible(cells[c], member) for member in group)
            ]
            if not fitting:
                break
            rest = tuples()
            c = min(
                fitting,
                key=lambda c: (
                    nit([*group, cells[c]], rest),
                    nit([*group, (cells[c][0], frozenset())], rest),
                    cells[c][0],
                    c,
                ),
            )
            members.append(c)
            places.append(counts[c] - left[c])
            left[c] -= 1
        if len(members) == l:
            groups.append(list(zip(members, places, strict=True)))
        else:
            for c in members[1:]:
                left[c] += 1
    return groups


def parted(rows, l):  # noqa: E741
    """A way to part rows, tuples of sensitive values, so that every bucket keeps them apart; None if there is none."""
    for of_row in partitions(len(rows)):
        buckets = [[row for row, at in zip(rows, of_row, strict=True) if at == b] for b in set(of_row)]
        if all(keeps_apart(bucket, l) for bucket in buckets):
            return buckets
    return None


def keeps_apart(bucket, l):  # noqa: E741
    """Whether no known value stands twice in a column of a bucket, and at least l stand there; None is unknown."""
    columns = [[value for value in column if value is not None] for column in zip(*bucket, strict=True)]
    return all(len(set(values)) == len(values) >= l for values in columns)
