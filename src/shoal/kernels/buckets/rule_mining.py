"""Negative rules by a vertical walk: combinations of nodes with the rows that satisfy them (Injector, section IV-C).

A combination is extended attribute by attribute. One pass over its rows finds the rows of all nodes of the next attribute
at once, since every value knows the nodes above it; a second pass over those counts each sensitive value. A value stays
alive in a branch only while a rule about it is still possible there: enough rows must be left without it. Rows weigh as much
as there are equal ones, or as much as they belong to the fuzzy nodes of the combination.
"""

import numpy as np

from shoal.kernels import compiler as nb
from shoal.kernels.arrays import larger

ALMOST = 1e-9
"""Relative slack of comparisons between sums of weights and the thresholds computed by logarithms."""


@nb.njit(cache=True, nogil=True)
def mined_rules(
    codes,
    sensitive,
    weight,
    cover_base,
    cover_start,
    cover_node,
    cover_share,
    need,
    most_nodes,
    attribute,
    first_node,
    last_node,
    min_conf,
    max_length,
    keep_redundant,
):
    """All rules whose first attribute is `attribute`, with one of its nodes from `first_node` up to `last_node`.

    `codes[a, r]` is the value of row r; the nodes above value c of attribute a are those from `cover_start[cover_base[a] + c]` on.
    Sensitive values are numbered so that `need`, the rows that a rule about each must cover, ascends. Returns (nodes, value, support,
    exceptions): per rule a node per attribute or -1, the value, the weight of its rows, and of those among them that have the value.
    Without `keep_redundant`, the branch of a rule is not searched for further rules about the same value.
    """
    n_attributes, n_rows = codes.shape
    n_values = len(need)
    # The rules found so far.
    n_rules = 0
    out_nodes = np.empty(64 * n_attributes, np.int32)
    out_value = np.empty(64, np.int32)
    out_support = np.empty(64, np.float64)
    out_exceptions = np.empty(64, np.float64)
    # Rows and living values of the combinations on the stack; what lies above the one in hand is free.
    rows = np.empty(2 * n_rows + 16, np.int32)
    share = np.empty(2 * n_rows + 16, np.float64)
    alive = np.empty(2 * n_values + 16, np.int32)
    # A frame is a combination and the attribute by which to extend it next.
    frame = np.empty((64, 7), np.int64)  # attribute, length, first and last row, first and last living value, unused
    path = np.empty((64, n_attributes), np.int32)
    # Scratch, zero between uses.
    total = np.zeros(most_nodes, np.float64)
    many = np.zeros(most_nodes, np.int64)
    place = np.zeros(most_nodes, np.int64)
    touched = np.empty(most_nodes, np.int32)
    seen = np.zeros(n_values, np.float64)

    for r in range(n_rows):
        rows[r] = r
        share[r] = weight[r]
    for s in range(n_values):
        alive[s] = s
    frame[0, 0], frame[0, 1], frame[0, 2], frame[0, 3], frame[0, 4], frame[0, 5] = attribute, 0, 0, n_rows, 0, n_values
    for a in range(n_attributes):
        path[0, a] = -1
    depth = 1
    while depth > 0:
        depth -= 1
        a, length, low, high = frame[depth, 0], frame[depth, 1], frame[depth, 2], frame[depth, 3]
        living, dead = frame[depth, 4], frame[depth, 5]
        mine = depth  # whose path the children take over
        if length > 0 and a + 1 < n_attributes:
            frame[depth, 0] = a + 1  # the same combination waits below its children for the attribute after this one
            depth += 1
        n_touched = 0
        for p in range(low, high):
            value = cover_base[a] + codes[a, rows[p]]
            for q in range(cover_start[value], cover_start[value + 1]):
                v = cover_node[q]
                if length == 0 and (v < first_node or v >= last_node):
                    continue
                if many[v] == 0:
                    touched[n_touched] = v
                    n_touched += 1
                many[v] += 1
                total[v] += share[p] * cover_share[q]
        least = need[alive[living]]
        top = high
        for i in range(n_touched):
            v = touched[i]
            place[v] = -1
            if total[v] >= least * (1 - ALMOST):
                place[v] = top
                top += many[v]
        if top > len(rows):
            rows = larger(rows, top)
            share = larger(share, top)
        for p in range(low, high):
            value = cover_base[a] + codes[a, rows[p]]
            for q in range(cover_start[value], cover_start[value + 1]):
                v = cover_node[q]
                if length == 0 and (v < first_node or v >= last_node):
                    continue
                if place[v] >= 0:
                    rows[place[v]] = rows[p]
                    share[place[v]] = share[p] * cover_share[q]
                    place[v] += 1
        free = dead
        for i in range(n_touched):
            v = touched[i]
            support = total[v]
            stop = place[v]
            start = stop - many[v]
            many[v] = 0
            total[v] = 0.0
            if stop < 0:
                continue
            for p in range(start, stop):
                seen[sensitive[rows[p]]] += share[p]
            if free + dead - living > len(alive):
                alive = larger(alive, free + dead - living)
            first_alive = free
            for j in range(living, dead):
                s = alive[j]
                if need[s] * (1 - ALMOST) > support:
                    break
                exceptions = seen[s]
                rule = exceptions <= (1 - min_conf) * support * (1 + ALMOST)
                if rule:
                    if n_rules == len(out_value):
                        out_nodes = larger(out_nodes, len(out_nodes))
                        out_value = larger(out_value, n_rules)
                        out_support = larger(out_support, n_rules)
                        out_exceptions = larger(out_exceptions, n_rules)
                    for b in range(n_attributes):
                        out_nodes[n_rules * n_attributes + b] = path[mine, b]
                    out_nodes[n_rules * n_attributes + a] = v
                    out_value[n_rules] = s
                    out_support[n_rules] = support
                    out_exceptions[n_rules] = exceptions
                    n_rules += 1
                # Whatever is more special has no more rows without the value than this, and a rule needs min_conf * need of them.
                if (keep_redundant or not rule) and support - exceptions >= min_conf * need[s] * (1 - ALMOST):
                    alive[free] = s
                    free += 1
            for p in range(start, stop):
                seen[sensitive[rows[p]]] = 0.0
            if free > first_alive and length + 1 < max_length and a + 1 < n_attributes:
                if depth == len(frame):
                    frame = _doubled(frame)
                    path = _doubled(path)
                frame[depth, 0], frame[depth, 1] = a + 1, length + 1
                frame[depth, 2], frame[depth, 3] = start, stop
                frame[depth, 4], frame[depth, 5] = first_alive, free
                for b in range(n_attributes):
                    path[depth, b] = path[mine, b]
                path[depth, a] = v
                depth += 1
    return (
        out_nodes[: n_rules * n_attributes].reshape(n_rules, n_attributes),
        out_value[:n_rules],
        out_support[:n_rules],
        out_exceptions[:n_rules],
    )


@nb.step
def _doubled(table):
    bigger = np.empty((2 * table.shape[0], table.shape[1]), table.dtype)
    for i in range(table.shape[0]):
        for j in range(table.shape[1]):
            bigger[i, j] = table[i, j]
    return bigger


@nb.njit(cache=True, nogil=True)
def _hash(nodes, value):
    mixed = np.uint64(value) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(1)
    for a in range(len(nodes)):
        mixed ^= np.uint64(nodes[a] + 2)
        mixed *= np.uint64(0xFF51AFD7ED558CCD)
        mixed ^= mixed >> np.uint64(32)
    return mixed


@nb.step
def _found(slots, nodes, value, wanted, wanted_value):
    """The slot of a rule in the table, or -1 - (the slot where it would go)."""
    mask = np.uint64(len(slots) - 1)
    at = _hash(wanted, wanted_value) & mask
    while slots[at] >= 0:
        i = slots[at]
        if value[i] == wanted_value:
            same = True
            for a in range(len(wanted)):
                if nodes[i, a] != wanted[a]:
                    same = False
                    break
            if same:
                return np.int64(at)
        at = (at + np.uint64(1)) & mask
    return -1 - np.int64(at)


@nb.njit(cache=True, nogil=True)
def _table(n_rules):
    size = 16
    while size < 2 * n_rules:
        size *= 2
    return np.full(size, -1, np.int32)


@nb.njit(cache=True, nogil=True)
def marked_among_mined(nodes, value, parent_base, parent):
    """Which of the rules that `mined_rules` found with min_conf = 1 follow from a more general one. Rules stand in any order.

    A combination between a rule and a more special rule is itself a rule: none of its rows has the value. So it is enough to go one
    step up from each node in turn. That rule was found, or its branch was cut off at a rule that is its beginning.
    """
    n_rules, n_attributes = nodes.shape
    redundant = np.zeros(n_rules, np.bool_)
    slots = _table(n_rules)
    for i in range(n_rules):
        slots[-1 - _found(slots, nodes, value, nodes[i], value[i])] = i
    turn = np.empty(n_attributes, np.int32)
    for i in range(n_rules):
        for a in range(n_attributes):
            if nodes[i, a] < 0 or redundant[i]:
                continue
            for b in range(n_attributes):
                turn[b] = -1
            for b in range(n_attributes):  # ever longer beginnings, at last the whole
                turn[b] = nodes[i, b] if b != a else parent[parent_base[a] + nodes[i, a]]
                if turn[b] >= 0 and _found(slots, nodes, value, turn, value[i]) >= 0:
                    redundant[i] = True
                    break
    return redundant


@nb.njit(cache=True, nogil=True)
def marked_redundant(nodes, value, parent_base, parent):
    """Which of any rules follow from a more general one; rules stand most general first (by the depth of their nodes).

    `parent[parent_base[a] + v]` is the node above v, -1 below the root: all generalizations of a rule are reached by steps upwards. If
    they are more than the rules about its value that were kept so far, those are gone through instead.
    """
    n_rules, n_attributes = nodes.shape
    redundant = np.zeros(n_rules, np.bool_)
    slots = _table(n_rules)
    n_values = 0
    for i in range(n_rules):
        n_values = max(n_values, value[i] + 1)
    newest = np.full(n_values, -1, np.int32)  # kept rules of a value, as a chain from the newest on
    before = np.empty(n_rules, np.int32)
    kept = np.zeros(n_values, np.int64)
    turn = np.empty(n_attributes, np.int32)
    for i in range(n_rules):
        ways = 1.0
        for a in range(n_attributes):
            steps = 1
            v = nodes[i, a]
            while v >= 0:
                v = parent[parent_base[a] + v]
                steps += 1
            ways *= steps
        if ways > kept[value[i]]:
            j = newest[value[i]]
            while j >= 0 and not redundant[i]:
                above = True
                for a in range(n_attributes):
                    v = nodes[i, a]
                    while v != nodes[j, a] and v >= 0:
                        v = parent[parent_base[a] + v]
                    if v != nodes[j, a]:
                        above = False
                        break
                redundant[i] = above
                j = before[j]
        else:
            for a in range(n_attributes):
                turn[a] = nodes[i, a]
            while not redundant[i]:
                a = 0  # the next generalization, as an odometer counts
                while a < n_attributes and turn[a] < 0:
                    turn[a] = nodes[i, a]
                    a += 1
                if a == n_attributes:
                    break
                turn[a] = parent[parent_base[a] + turn[a]]
                redundant[i] = _found(slots, nodes, value, turn, value[i]) >= 0
        if not redundant[i]:
            slots[-1 - _found(slots, nodes, value, nodes[i], value[i])] = i
            before[i] = newest[value[i]]
            newest[value[i]] = i
            kept[value[i]] += 1
    return redundant
