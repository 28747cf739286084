"""Is there a set of up to m known items that matches some rows, but fewer than k, when rows hold tokens of different levels?

Published tokens are numbered in depth-first order: those below token t are t + 1 to `end[t]` - 1. A token is known for itself if it
covers a leaf that no token below it covers (`atoms_before` counts such tokens); knowing such a leaf matches the rows that hold
the token or one above it. Rows hold no token below another of theirs.

Where rows are not people, those of a person stand together, and what is counted is people. Their rows by token may be rows of the same
people, so that people cannot be added up over a token and those above it: they are counted at each.

Rows are never spelled out in leaves. Among the rows that match a prefix, all that lies below the same lowest token of theirs is
interchangeable, so one representative per token that stands in these rows is enough, and a pass over them counts all.
"""

import numpy as np

from shoal.kernels import compiler as nb
from shoal.kernels.audit.lists import ascend, longer


@nb.njit(cache=True, nogil=True)
def rare_choice(
    offsets, tokens, holder_starts, holders, above, end, atoms_before, next_atom, first, last, k, m, stop, people
):
    """Looks at the sets with a first member in [first, last): (met, support, members), support 0 if no set is too rare.

    The walk ends at the first rare set, here or (through `stop`) in another call.
    """
    n_tokens = len(end)
    members = np.full(m, -1, np.int32)
    met = np.int64(0)
    count = np.zeros(n_tokens, np.int64)
    touched = np.empty(n_tokens, np.int32)
    total = np.zeros(n_tokens, np.int64)
    own = np.zeros(n_tokens, np.int64)
    free = np.zeros(n_tokens, np.int64)
    if people is not None:
        crowd = np.zeros(n_tokens, np.int64)
        latest = np.zeros(n_tokens, np.int64)
        place = np.zeros(n_tokens, np.int64)
    open_tokens = np.empty(n_tokens, np.int32)
    row_stack = np.empty(1024, np.int32)
    kid_token = np.empty(1024, np.int32)
    kid_atom = np.empty(1024, np.int32)
    rows_from = np.zeros(m + 1, np.int64)
    rows_to = np.zeros(m + 1, np.int64)
    kid_next = np.zeros(m + 1, np.int64)
    kid_stop = np.zeros(m + 1, np.int64)
    for v in range(first, last):
        if stop[0]:
            break
        if atoms_before[v + 1] == atoms_before[v]:
            continue
        n_rows = np.int64(0)
        t = v
        while t >= 0:
            size = holder_starts[t + 1] - holder_starts[t]
            if n_rows + size > len(row_stack):
                row_stack = longer(row_stack, n_rows + size)
            for p in range(holder_starts[t], holder_starts[t + 1]):
                row_stack[n_rows] = holders[p]
                n_rows += 1
            t = above[t]
        support = n_rows
        if people is not None:
            ascend(row_stack, 0, n_rows)  # the rows of a person together again
            support = np.int64(0)
            for i in range(n_rows):
                support += i == 0 or people[row_stack[i]] != people[row_stack[i - 1]]
        members[0] = v
        met += 1
        if support < k:
            stop[0] = True
            return met, support, members
        if m == 1:
            continue
        rows_from[0], rows_to[0] = 0, n_rows
        depth = 0
        fresh = True
        kids = np.int64(0)
        while depth >= 0:
            if fresh:
                # The rows of a new prefix: what else stands in them, and how often, tokens above included.
                fresh = False
                n_touched = 0
                for i in range(rows_from[depth], rows_to[depth]):
                    row = row_stack[i]
                    for p in range(offsets[row], offsets[row + 1]):
                        t = tokens[p]
                        if count[t] == 0:
                            touched[n_touched] = t
                            n_touched += 1
                        count[t] += 1
                ascend(touched, 0, n_touched)
                n_open = 0
                for i in range(n_touched):
                    t = touched[i]
                    while n_open > 0 and end[open_tokens[n_open - 1]] <= t:
                        n_open -= 1
                    own[t] = atoms_before[end[t]] - atoms_before[t]
                    free[t] = t
                    total[t] = count[t]
                    if n_open > 0:
                        p = open_tokens[n_open - 1]
                        total[t] += total[p]
                        own[p] -= own[t]
                        if atoms_before[t] == atoms_before[free[p]]:
                            free[p] = end[t]
                    open_tokens[n_open] = t
                    n_open += 1
                if people is not None:
                    for i in range(n_touched):
                        crowd[touched[i]] = 0
                        place[touched[i]] = i
                    for i in range(rows_from[depth], rows_to[depth]):
                        person = np.int64(people[row_stack[i]])
                        for p in range(offsets[row_stack[i]], offsets[row_stack[i] + 1]):
                            below = place[tokens[p]]
                            while below < n_touched and touched[below] < end[tokens[p]]:
                                t = touched[below]
                                if crowd[t] == 0 or latest[t] != person:
                                    crowd[t] += 1
                                    latest[t] = person
                                below += 1
                if kids + n_touched > len(kid_token):
                    kid_token = longer(kid_token, kids + n_touched)
                    kid_atom = longer(kid_atom, kids + n_touched)
                kid_next[depth] = kids
                n_rows = rows_to[depth] - rows_from[depth]
                for i in range(n_touched):
                    t = touched[i]
                    count[t] = 0
                    if own[t] == 0 or total[t] == n_rows:
                        continue
                    met += 1
                    support = total[t]
                    if people is not None:
                        support = crowd[t]
                    if support < k:
                        members[depth + 1] = next_atom[free[t]]
                        for j in range(depth + 2, m):
                            members[j] = -1
                        stop[0] = True
                        return met, support, members
                    if depth + 2 < m:
                        kid_token[kids] = t
                        kid_atom[kids] = next_atom[free[t]]
                        kids += 1
                kid_stop[depth] = kids
            if kid_next[depth] == kid_stop[depth]:
                depth -= 1
                if depth >= 0:
                    kids = kid_stop[depth]
                continue
            kid = kid_next[depth]
            kid_next[depth] += 1
            members[depth + 1] = kid_atom[kid]
            t = kid_token[kid]
            at = rows_to[depth]
            if at + at - rows_from[depth] > len(row_stack):
                row_stack = longer(row_stack, 2 * at - rows_from[depth])
            for i in range(rows_from[depth], rows_to[depth]):
                row = row_stack[i]
                for p in range(offsets[row], offsets[row + 1]):
                    if tokens[p] <= t < end[tokens[p]]:
                        row_stack[at] = row
                        at += 1
                        break
            depth += 1
            rows_from[depth], rows_to[depth] = rows_to[depth - 1], at
            fresh = True
        for j in range(1, m):
            members[j] = -1
    return met, np.int64(0), members
