"""Which sensitive values are valid for the rows of a bucket (Injector, Definition 1 and Figure 1), without trying assignments.

Rows of one kind are interchangeable, and so are equal values: a perfect matching of a bucket is a flow from kinds to values.
One flow is found by augmenting paths. A value is valid for a kind if it gets some of its flow, or can by exchange around a
cycle of the residual graph: that is, if both lie in the same strongly connected component. So one flow and one search for
components answer for all rows of a bucket, where the paper computes a matching for every pair of rows.
"""

from __future__ import annotations

import numpy as np

from shoal.kernels import compiler as nb
from shoal.kernels.arrays import sort_range


@nb.njit(cache=True, nogil=True)
def count_valid(low, high, first, kind_of, many, offsets, values, counts, excluded, counted, number):
    """Fill in the number of valid values that count of every group of the buckets from `low` to `high`, -1 without a perfect matching."""
    for b in range(low, high):
        n_kinds, n_values = first[b + 1] - first[b], offsets[b + 1] - offsets[b]
        n_counted = 0
        for p in range(offsets[b], offsets[b + 1]):
            n_counted += counted[values[p]]
        free = True
        for g in range(first[b], first[b + 1]):
            for p in range(offsets[b], offsets[b + 1]):
                if excluded[kind_of[g], values[p]]:
                    free = False
                    break
        if free:  # no rule says anything here: every value is valid for every row
            for g in range(first[b], first[b + 1]):
                number[g] = n_counted
            continue
        allowed = np.empty((n_kinds, n_values), np.bool_)
        rows = np.empty(n_kinds, np.int64)
        wanted = np.empty(n_values, np.int64)
        for i in range(n_kinds):
            rows[i] = many[first[b] + i]
            for j in range(n_values):
                allowed[i, j] = not excluded[kind_of[first[b] + i], values[offsets[b] + j]]
        for j in range(n_values):
            wanted[j] = counts[offsets[b] + j]
        matched = valid_pairs(rows, wanted, allowed)
        for i in range(n_kinds):
            number[first[b] + i] = 0 if matched else -1
            for j in range(n_values if matched else 0):
                number[first[b] + i] += allowed[i, j] and counted[values[offsets[b] + j]]


@nb.njit(cache=True, nogil=True)
def valid_pairs(rows, wanted, allowed):
    """Whether `rows[i]` rows of each kind i can be matched with `wanted[j]` copies of each value j; in `allowed` only valid pairs stay."""
    n_kinds, n_values = allowed.shape
    flow = np.zeros((n_kinds, n_values), np.int64)
    if not _matched(rows, wanted, allowed, flow):
        return False
    component = _components(allowed, flow)
    for i in range(n_kinds):
        for j in range(n_values):
            if flow[i, j] == 0 and component[i] != component[n_kinds + j]:
                allowed[i, j] = False
    return True


@nb.part
def _matched(rows, wanted, allowed, flow):
    """Fill in a flow that matches every row; False if there is none."""
    n_kinds, n_values = allowed.shape
    left = np.empty(n_values, np.int64)
    for j in range(n_values):
        left[j] = wanted[j]
    from_kind = np.empty(n_values, np.int64)  # the step by which a value was reached, -1 when it was not
    from_value = np.empty(n_kinds, np.int64)  # and a kind; -2 for the kind at which the search began
    queue = np.empty(n_kinds, np.int64)
    # The choosiest kinds first, and the values that the fewest rows may have first: then little has to be exchanged later.
    kind_order = np.empty(n_kinds, np.int64)
    value_order = np.zeros(n_values, np.int64)
    for i in range(n_kinds):
        choices = 0
        for j in range(n_values):
            choices += allowed[i, j]
            value_order[j] += rows[i] * allowed[i, j]
        kind_order[i] = choices * n_kinds + i
    for j in range(n_values):
        value_order[j] = value_order[j] * n_values + j
    sort_range(kind_order, 0, n_kinds)
    sort_range(value_order, 0, n_values)
    for place in range(n_kinds):
        i = kind_order[place] % n_kinds
        need = rows[i]
        for seat in range(n_values):
            j = value_order[seat] % n_values
            if allowed[i, j] and left[j] > 0:
                step = min(need, left[j])
                flow[i, j] += step
                left[j] -= step
                need -= step
        while need > 0:
            for j in range(n_values):
                from_kind[j] = -1
            for k in range(n_kinds):
                from_value[k] = -1
            from_value[i] = -2
            queue[0] = i
            head, tail = 0, 1
            end = -1
            while head < tail and end < 0:
                k = queue[head]
                head += 1
                for j in range(n_values):
                    if not allowed[k, j] or from_kind[j] >= 0:
                        continue
                    from_kind[j] = k
                    if left[j] > 0:
                        end = j
                        break
                    for other in range(n_kinds):
                        if flow[other, j] > 0 and from_value[other] == -1:
                            from_value[other] = j
                            queue[tail] = other
                            tail += 1
            if end < 0:
                return False
            step = min(need, left[end])
            j = end
            while from_value[from_kind[j]] >= 0:
                k = from_kind[j]
                j = from_value[k]
                step = min(step, flow[k, j])
            left[end] -= step
            need -= step
            j = end
            while True:
                k = from_kind[j]
                flow[k, j] += step
                j = from_value[k]
                if j < 0:
                    break
                flow[k, j] -= step
    return True


@nb.part
def _components(allowed, flow):
    """The strongly connected component of each kind and then of each value (Tarjan): kinds lead to the values they may take, values
    to the kinds that take them."""
    n_kinds, n_values = allowed.shape
    n = n_kinds + n_values
    component = np.full(n, -1, np.int64)
    index = np.full(n, -1, np.int64)
    lowest = np.zeros(n, np.int64)
    at = np.zeros(n, np.int64)  # the neighbour to look at next
    open_nodes = np.empty(n, np.int64)
    path = np.empty(n, np.int64)
    n_open = n_found = n_components = 0
    for root in range(n):
        if index[root] >= 0:
            continue
        path[0] = root
        depth = 1
        while depth > 0:
            v = path[depth - 1]
            if index[v] < 0:
                index[v] = lowest[v] = n_found
                n_found += 1
                open_nodes[n_open] = v
                n_open += 1
            is_kind = v < n_kinds
            limit = n_values if is_kind else n_kinds
            deeper = -1
            while at[v] < limit:
                w = at[v]
                at[v] += 1
                if is_kind:
                    if not allowed[v, w]:
                        continue
                    w += n_kinds
                elif flow[w, v - n_kinds] == 0:
                    continue
                if index[w] < 0:
                    deeper = w
                    break
                if component[w] < 0:
                    lowest[v] = min(lowest[v], index[w])
            if deeper >= 0:
                path[depth] = deeper
                depth += 1
                continue
            depth -= 1
            if depth > 0:
                above = path[depth - 1]
                lowest[above] = min(lowest[above], lowest[v])
            if lowest[v] == index[v]:
                while True:
                    n_open -= 1
                    w = open_nodes[n_open]
                    component[w] = n_components
                    if w == v:
                        break
                n_components += 1
    return component
