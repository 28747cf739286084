"""Positive rules about a sensitive value, on exact rows and on buckets alike (Injector, section VI-C).

A row may have any value of its bucket, each with its share of it. So a combination of nodes is counted by the buckets of its rows first,
and these counts are dealt out to the values of the buckets after. Exact rows are the case in which every value is a bucket of
its own. Combinations are walked attribute by attribute, as negative rules are.
"""

import numpy as np

from shoal.kernels import compiler as nb
from shoal.kernels.arrays import larger

ALMOST = 1e-9
"""Relative slack of comparisons between sums of shares and thresholds."""


@nb.njit(cache=True, nogil=True)
def mined_associations(
    codes,
    bucket,
    cover_base,
    cover_start,
    cover_node,
    value_start,
    value,
    value_share,
    without,
    least,
    min_conviction,
    most_nodes,
    attribute,
    first_node,
    last_node,
    max_length,
):
    """All rules whose first attribute is `attribute`, with one of its nodes from `first_node` up to `last_node`.

    `codes[a, r]` is the value of row r; the nodes above value c of attribute a are those from `cover_start[cover_base[a] + c]` on. The
    values of bucket b with their shares are those from `value_start[b]` on; `without[s]` is the share of all rows without value s. A
    rule needs `least` rows with all of it, by expectation, and `min_conviction`. Returns (nodes, value, covered, together): per rule a
    node per attribute or -1, the value, the rows that meet the conditions, and those expected to have the value too.
    """
    n_attributes, n_rows = codes.shape
    n_values = len(without)
    n_rules = 0
    out_nodes = np.empty(64 * n_attributes, np.int32)
    out_value = np.empty(64, np.int32)
    out_covered = np.empty(64, np.int64)
    out_together = np.empty(64, np.float64)
    # Rows of the combinations on the stack; what lies above the one in hand is free.
    rows = np.empty(2 * n_rows + 16, np.int32)
    frame = np.empty(
        (n_attributes * most_nodes + n_attributes + 2, 4), np.int64
    )  # attribute, length, first and last row
    path = np.empty((len(frame), n_attributes), np.int32)
    # Scratch, zero between uses.
    many = np.zeros(most_nodes, np.int64)
    place = np.zeros(most_nodes, np.int64)
    touched = np.empty(most_nodes, np.int32)
    hits = np.zeros(len(value_start) - 1, np.int64)
    hit = np.empty(len(value_start) - 1, np.int32)
    seen = np.zeros(n_values, np.float64)

    for r in range(n_rows):
        rows[r] = r
    frame[0, 0], frame[0, 1], frame[0, 2], frame[0, 3] = attribute, 0, 0, n_rows
    for a in range(n_attributes):
        path[0, a] = -1
    depth = 1
    while depth > 0:
        depth -= 1
        a, length, low, high = frame[depth, 0], frame[depth, 1], frame[depth, 2], frame[depth, 3]
        mine = depth  # whose path the children take over
        if length > 0 and a + 1 < n_attributes:
            frame[depth, 0] = a + 1  # the same combination waits below its children for the attribute after this one
            depth += 1
        n_touched = 0
        for p in range(low, high):
            c = cover_base[a] + codes[a, rows[p]]
            for q in range(cover_start[c], cover_start[c + 1]):
                v = cover_node[q]
                if length == 0 and (v < first_node or v >= last_node):
                    continue
                if many[v] == 0:
                    touched[n_touched] = v
                    n_touched += 1
                many[v] += 1
        top = high
        for i in range(n_touched):
            v = touched[i]
            place[v] = -1
            if many[v] >= least * (1 - ALMOST):
                place[v] = top
                top += many[v]
        if top > len(rows):
            rows = larger(rows, top)
        for p in range(low, high):
            c = cover_base[a] + codes[a, rows[p]]
            for q in range(cover_start[c], cover_start[c + 1]):
                v = cover_node[q]
                if length == 0 and (v < first_node or v >= last_node):
                    continue
                if place[v] >= 0:
                    rows[place[v]] = rows[p]
                    place[v] += 1
        for i in range(n_touched):
            v = touched[i]
            covered = many[v]
            stop = place[v]
            start = stop - covered
            many[v] = 0
            if stop < 0:
                continue
            n_hit = 0
            for p in range(start, stop):
                b = bucket[rows[p]]
                if hits[b] == 0:
                    hit[n_hit] = b
                    n_hit += 1
                hits[b] += 1
            for h in range(n_hit):
                b = hit[h]
                for q in range(value_start[b], value_start[b + 1]):
                    seen[value[q]] += hits[b] * value_share[q]
                hits[b] = 0
            alive = False
            for s in range(n_values):
                together = seen[s]
                seen[s] = 0.0
                if together < least * (1 - ALMOST):
                    continue
                alive = True  # whatever is more special has no more rows with it
                if covered * without[s] < min_conviction * max(covered - together, 0.0) * (1 - ALMOST):
                    continue
                if n_rules == len(out_value):
                    out_nodes = larger(out_nodes, len(out_nodes))
                    out_value = larger(out_value, n_rules)
                    out_covered = larger(out_covered, n_rules)
                    out_together = larger(out_together, n_rules)
                for other in range(n_attributes):
                    out_nodes[n_rules * n_attributes + other] = path[mine, other]
                out_nodes[n_rules * n_attributes + a] = v
                out_value[n_rules] = s
                out_covered[n_rules] = covered
                out_together[n_rules] = together
                n_rules += 1
            if alive and length + 1 < max_length and a + 1 < n_attributes:
                frame[depth, 0], frame[depth, 1] = a + 1, length + 1
                frame[depth, 2], frame[depth, 3] = start, stop
                for other in range(n_attributes):
                    path[depth, other] = path[mine, other]
                path[depth, a] = v
                depth += 1
    return (
        out_nodes[: n_rules * n_attributes].reshape(n_rules, n_attributes),
        out_value[:n_rules],
        out_covered[:n_rules],
        out_together[:n_rules],
    )


@nb.njit(cache=True, nogil=True)
def counted_associations(
    position, bucket, value_start, value, value_share, low, high, rule_start, rule_value, n_values, first, last
):
    """(covered, together) of the combinations from `first` up to `last`: the rows of each, and per rule those expected to have its value.

    `position[a, r]` is the place of row r's leaf in the tree of attribute a; combination c takes the places from `low[c, a]` up to
    `high[c, a]`. Its rules are those from `rule_start[c]` on, each with a value, or -1 for one that no bucket has.
    """
    n_attributes, n_rows = position.shape
    covered = np.zeros(last - first, np.int64)
    together = np.zeros(rule_start[last] - rule_start[first], np.float64)
    hits = np.zeros(len(value_start) - 1, np.int64)
    seen = np.zeros(n_values, np.float64)
    for c in range(first, last):
        rows = 0
        for r in range(n_rows):
            inside = True
            for a in range(n_attributes):
                if position[a, r] < low[c, a] or position[a, r] >= high[c, a]:
                    inside = False
                    break
            if inside:
                hits[bucket[r]] += 1
                rows += 1
        covered[c - first] = rows
        for b in range(len(hits)):
            if hits[b] > 0:
                for q in range(value_start[b], value_start[b + 1]):
                    seen[value[q]] += hits[b] * value_share[q]
                hits[b] = 0
        for i in range(rule_start[c], rule_start[c + 1]):
            if rule_value[i] >= 0:
                together[i - rule_start[first]] = seen[rule_value[i]]
        for s in range(n_values):
            seen[s] = 0.0
    return covered, together
