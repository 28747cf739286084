"""Rows from which single tokens can be deleted, kept free of rare itemsets while the cut above them changes.

Row r lies at `offsets[r] + r` in three arrays: `tok` (nodes of the hierarchy, ascending, ended by -(r + 1)), `weight` (how
many original items a token stands for) and `alive` (whether it still stands). A row never has more tokens than original
items, so it can be rewritten in its place.

Everything rests on one walk, `walk_rare`: over the itemsets that start with one token it reports the rows that hold a rare
one. The rows that hold a node are one stretch of `leaf_rows` (leaves depth first), so a small database of just these rows is
quickly made, with that token in front. Whatever changes in the search only concerns itemsets with certain tokens: those
alone are walked again.
"""

import numba as nb
import numpy as np

from shoal.kernels.arrays import grown, sort_range

LOOK_UP = 200
"""Looking up one itemset costs about as much as walking over this many rows of a token."""


@nb.njit(cache=True, nogil=True)
def token_rows(offsets, items, node_of_item, tok, weight, alive, first, last):
    """Write rows [first, last) under a cut, with nothing deleted."""
    for row in range(first, last):
        start = offsets[row] + row
        stop = start
        for p in range(offsets[row], offsets[row + 1]):
            tok[stop] = node_of_item[items[p]]
            stop += 1
        sort_range(tok, start, stop)
        end = stop
        stop = start
        for p in range(start, end):
            if stop > start and tok[p] == tok[stop - 1]:
                weight[stop - 1] += 1
            else:
                tok[stop] = tok[p]
                weight[stop] = 1
                alive[stop] = True
                stop += 1
        tok[stop] = -(row + 1)


@nb.njit(cache=True, nogil=True)
def walk_rare(
    tails, entries, n_first, token, k, m, n_counted, report_from, count, slot, touched, work, occ_row, occ, n_occ
):
    """Report rows (numbered `report_from` or higher) that hold a rare itemset of up to m tokens starting with `token`.

    `entries[:n_first]` are the places right before the tails behind that token; a tail ends with -(row + 1). Only rows
    numbered below `n_counted` count; an itemset is rare when fewer than k of them hold it. Supersets of a rare prefix are not
    reported. The counters (`count` all 0, `slot`, `touched`) have an entry per token; the steps are
    added to `work[0]`. A reported occurrence is a row and m
    places for tokens, unused ones -1. Returns the arrays of occurrences, grown if need be, and their number.
    """
    support = 0
    stop_of = np.empty(n_first + 16, np.int64)
    pos = np.empty(n_first + 16, np.int64)
    for i in range(n_first):
        pos[i] = entries[i]
        p = pos[i] + 1
        while tails[p] >= 0:
            p += 1
        stop_of[i] = p
        support += -tails[p] - 1 < n_counted
    if support < k:
        for i in range(n_first):
            row = -tails[stop_of[i]] - 1
            if row >= report_from:
                if n_occ == len(occ_row):
                    occ_row = grown(occ_row, n_occ + 1)
                    occ = grown(occ, (n_occ + 1) * m)
                occ_row[n_occ] = row
                occ[n_occ * m] = token
                for j in range(1, m):
                    occ[n_occ * m + j] = -1
                n_occ += 1
        return occ_row, occ, n_occ
    if m == 1:
        return occ_row, occ, n_occ

    prefix = np.empty(m, np.int32)
    frame_next = np.zeros(m + 1, np.int64)
    frame_stop = np.zeros(m + 1, np.int64)
    frame_entries = np.zeros(m + 1, np.int64)
    child_token = np.empty(64, np.int32)
    child_support = np.empty(64, np.int64)
    child_from = np.empty(64, np.int64)
    child_to = np.empty(64, np.int64)
    child_token[0] = token
    child_support[0] = support
    child_from[0] = 0
    child_to[0] = n_first
    frame_stop[0] = 1
    frame_entries[0] = n_first
    depth = 0
    while depth >= 0:
        if frame_next[depth] == frame_stop[depth]:
            depth -= 1
            continue
        child = frame_next[depth]
        frame_next[depth] += 1
        begin, end = child_from[child], child_to[child]
        prefix[depth] = child_token[child]
        size = depth + 1
        n_touched = 0
        # While counting, count is one too high (0 means untouched) and slot is the number of rows to report.
        for i in range(begin, end):
            row = -tails[stop_of[i]] - 1
            work[0] += stop_of[i] - pos[i]
            counts = row < n_counted
            reports = row >= report_from
            for p in range(pos[i] + 1, stop_of[i]):
                item = tails[p]
                if count[item] == 0:
                    touched[n_touched] = item
                    n_touched += 1
                    slot[item] = 0
                    count[item] = 1
                count[item] += counts
                slot[item] += reports
        n_rare = 0
        n_children = frame_stop[depth]
        if n_children + n_touched > len(child_token):
            child_token = grown(child_token, n_children + n_touched)
            child_support = grown(child_support, n_children + n_touched)
            child_from = grown(child_from, n_children + n_touched)
            child_to = grown(child_to, n_children + n_touched)
        at = frame_entries[depth]
        for t in range(n_touched):
            item = touched[t]
            held = count[item] - 1
            reported = slot[item]
            count[item] = 0
            slot[item] = -1
            if reported == 0:
                continue
            if held < k:
                n_rare += reported
                slot[item] = -2
            elif size + 1 < m and held < child_support[child]:
                # (In all rows of the prefix: adds nothing to what the prefix and its other children tell.)
                child_token[n_children] = item
                child_support[n_children] = held
                child_from[n_children] = at
                child_to[n_children] = at
                slot[item] = n_children
                at += reported if report_from == 0 else held + reported
                n_children += 1
        if n_rare == 0 and n_children == frame_stop[depth]:
            continue
        if at > len(pos):
            pos = grown(pos, at)
            stop_of = grown(stop_of, at)
        if n_occ + n_rare > len(occ_row):
            occ_row = grown(occ_row, n_occ + n_rare)
            occ = grown(occ, (n_occ + n_rare) * m)
        for i in range(begin, end):
            row = -tails[stop_of[i]] - 1
            for p in range(pos[i] + 1, stop_of[i]):
                where = slot[tails[p]]
                if where >= 0:
                    pos[child_to[where]] = p
                    stop_of[child_to[where]] = stop_of[i]
                    child_to[where] += 1
                elif where == -2 and row >= report_from:
                    occ_row[n_occ] = row
                    for j in range(m):
                        occ[n_occ * m + j] = prefix[j] if j < size else -1
                    occ[n_occ * m + size] = tails[p]
                    n_occ += 1
        if n_children > frame_stop[depth]:
            depth += 1
            frame_next[depth] = frame_stop[depth - 1]
            frame_stop[depth] = n_children
            frame_entries[depth] = at
    return occ_row, occ, n_occ


@nb.njit(cache=True, nogil=True)
def find_rare(
    offsets,
    tok,
    alive,
    span,
    leaf_starts,
    leaf_rows,
    tokens,
    near_from,
    near_to,
    near,
    first,
    last,
    later_only,
    k,
    m,
    count,
    slot,
    touched,
    seen,
    is_near,
    work,
):
    """Occurrences of rare itemsets that hold one of `tokens[first:last]`: (rows, members).

    Where `near_from[i] >= 0`, only itemsets of `tokens[i]` and of `near[near_from[i]:near_to[i]]` are asked for; a
    negative entry asks for all. With `later_only` just those in which the token is the first, so that each itemset
    is met once when all tokens are asked for. `seen` has an entry per row and `is_near` one per node; their last entry is
    the last stamp used in them.
    """
    occ_row = np.empty(256, np.int32)
    occ = np.empty(256 * m, np.int32)
    n_occ = 0
    mini = np.empty(1024, np.int32)
    entries = np.empty(256, np.int64)
    n_rows = len(offsets) - 1
    for i in range(first, last):
        token = tokens[i]
        seen[n_rows] += 1
        stamp = seen[n_rows]
        few = near_from[i] >= 0
        if few:
            subsets = 1.0
            for j in range(1, m):
                subsets = subsets * (near_to[i] - near_from[i]) / j
            if subsets * LOOK_UP < _width(token, span, leaf_starts):
                occ_row, occ, n_occ = rare_near(
                    offsets,
                    tok,
                    alive,
                    span,
                    leaf_starts,
                    leaf_rows,
                    token,
                    near,
                    near_from[i],
                    near_to[i],
                    k,
                    m,
                    seen,
                    occ_row,
                    occ,
                    n_occ,
                )
                continue
        is_near[-1] += 1
        if few:
            for e in range(near_from[i], near_to[i]):
                is_near[near[e]] = is_near[-1]
        n_entries = 0
        size = np.int64(1)
        for e in range(leaf_starts[span[token, 0]], leaf_starts[span[token, 1]]):
            row = leaf_rows[e]
            if seen[row] == stamp:
                continue
            seen[row] = stamp
            work[0] += offsets[row + 1] - offsets[row] + 2
            room = size + offsets[row + 1] - offsets[row] + 1
            if room > len(mini):
                mini = grown(mini, room)
            begin = size
            stands = False
            p = offsets[row] + row
            while tok[p] >= 0:
                if alive[p]:
                    if tok[p] == token:
                        stands = True
                    elif (not later_only or tok[p] > token) and (not few or is_near[tok[p]] == is_near[-1]):
                        mini[size] = tok[p]
                        size += 1
                p += 1
            if not stands:
                size = begin
                continue
            mini[size] = tok[p]
            size += 1
            if n_entries == len(entries):
                entries = grown(entries, n_entries + 1)
            entries[n_entries] = begin - 1
            n_entries += 1
        work[0] += size
        if n_entries > 0:
            occ_row, occ, n_occ = walk_rare(
                mini, entries, n_entries, token, k, m, n_rows, 0, count, slot, touched, work, occ_row, occ, n_occ
            )
    return occ_row[:n_occ], occ[: n_occ * m]


@nb.njit(cache=True, nogil=True)
def rare_near(
    offsets, tok, alive, span, leaf_starts, leaf_rows, token, near, near_from, near_to, k, m, seen, occ_row, occ, n_occ
):
    """Occurrences of rare itemsets of `token` and up to m - 1 tokens of `near[near_from:near_to]`.

    Itemsets are looked up one by one: the rows of their rarest member are read until k of them hold the itemset, which for
    all but the rare ones is soon.
    """
    members = np.empty(m, np.int32)
    at = np.empty(m, np.int64)
    held = np.empty(k, np.int32)
    members[0] = token
    size = 1
    at[0] = near_from - 1
    while size > 0:
        # Count the itemset `members[:size]`, then go on to the next in depth-first order.
        rarest = members[0]
        for j in range(1, size):
            if _width(members[j], span, leaf_starts) < _width(rarest, span, leaf_starts):
                rarest = members[j]
        seen[-1] += 1
        support = 0
        for e in range(leaf_starts[span[rarest, 0]], leaf_starts[span[rarest, 1]]):
            row = leaf_rows[e]
            if seen[row] == seen[-1]:
                continue
            seen[row] = seen[-1]
            found = 0
            p = offsets[row] + row
            while tok[p] >= 0:
                if alive[p]:
                    for j in range(size):
                        found += tok[p] == members[j]
                p += 1
            if found == size:
                held[support] = row
                support += 1
                if support == k:
                    break
        if 0 < support < k:
            for i in range(support):
                if n_occ == len(occ_row):
                    occ_row = grown(occ_row, n_occ + 1)
                    occ = grown(occ, (n_occ + 1) * m)
                occ_row[n_occ] = held[i]
                for j in range(m):
                    occ[n_occ * m + j] = members[j] if j < size else -1
                n_occ += 1
        if support == k and size < m:
            at[size] = at[size - 1]
            size += 1
        while size > 0:
            if size == 1:
                return occ_row, occ, n_occ
            at[size - 1] += 1
            while at[size - 1] < near_to and near[at[size - 1]] == token:
                at[size - 1] += 1
            if at[size - 1] < near_to:
                members[size - 1] = near[at[size - 1]]
                break
            size -= 1
    return occ_row, occ, n_occ


@nb.njit(cache=True, nogil=True)
def _width(node, span, leaf_starts):
    return leaf_starts[span[node, 1]] - leaf_starts[span[node, 0]]


@nb.njit(cache=True, nogil=True)
def cheapest_hit(sets, n_sets, m, weight, hits, chosen):
    """Tokens that hit all the given sets, greedily by sets hit per weight, ties to the smaller number;
    then those that turn out not to be needed are left out again: how many. `hits` is a counter per token, all 0."""
    n_chosen = 0
    left = n_sets
    for i in range(n_sets * m):
        if sets[i] >= 0:
            hits[sets[i]] += 1
    while left > 0:
        best = -1
        for i in range(left * m):
            t = sets[i]
            if t >= 0 and t != best:
                if best < 0:
                    best = t
                else:
                    mine = np.int64(hits[t]) * weight[best]
                    other = np.int64(hits[best]) * weight[t]
                    if mine > other or (mine == other and t < best):
                        best = t
        chosen[n_chosen] = best
        n_chosen += 1
        i = 0
        while i < left:
            hit = False
            for j in range(m):
                hit = hit or sets[i * m + j] == best
            if hit:
                left -= 1
                for j in range(m):
                    t = sets[i * m + j]
                    if t >= 0:
                        hits[t] -= 1
                    sets[i * m + j] = sets[left * m + j]
                    sets[left * m + j] = t
            else:
                i += 1
    kept = 0
    for c in range(n_chosen):
        hits[chosen[c]] = 1
    for c in range(n_chosen):
        t = chosen[c]
        needed = False
        for i in range(n_sets):
            has = False
            times = 0
            for j in range(m):
                u = sets[i * m + j]
                if u >= 0:
                    times += hits[u]
                    has = has or u == t
            if has and times == 1:
                needed = True
                break
        if needed:
            chosen[kept] = t
            kept += 1
        else:
            hits[t] = 0
    for c in range(kept):
        hits[chosen[c]] = 0
    return kept


@nb.njit(cache=True, nogil=True)
def hitting_places(occ_row, occ, m, offsets, tok, weight, rarity, hits, by_token):
    """For every row with rare itemsets, the places of a cheap set of tokens that hits them all.

    Among equally good tokens the more frequent one is taken (`rarity` numbers tokens, most frequent first): what stands
    beside it is rarely near the limit, so its loss makes hardly anything else rare.
    """
    keys = np.empty(len(occ_row), np.int64)
    for i in range(len(occ_row)):
        keys[i] = (np.int64(occ_row[i]) << 32) | i
    sort_range(keys, 0, len(keys))
    sets = np.empty(64 * m, np.int32)
    chosen = np.empty(64, np.int32)
    gone = np.empty(64, np.int64)
    n_gone = 0
    begin_at = 0
    while begin_at < len(keys):
        row = keys[begin_at] >> 32
        end_at = begin_at
        while end_at < len(keys) and keys[end_at] >> 32 == row:
            end_at += 1
        n_sets = end_at - begin_at
        if n_sets * m > len(sets):
            sets = grown(sets, n_sets * m)
            chosen = grown(chosen, n_sets * m)
        for i in range(n_sets):
            for j in range(m):
                t = occ[(keys[begin_at + i] & 0xFFFFFFFF) * m + j]
                sets[i * m + j] = rarity[t] if t >= 0 else -1
        begin = offsets[row] + row
        p = begin
        while tok[p] >= 0:
            by_token[rarity[tok[p]]] = weight[p]
            p += 1
        n_chosen = cheapest_hit(sets, n_sets, m, by_token, hits, chosen)
        for c in range(n_chosen):
            p = begin
            while rarity[tok[p]] != chosen[c]:
                p += 1
            if n_gone == len(gone):
                gone = grown(gone, n_gone + 1)
            gone[n_gone] = p
            n_gone += 1
        begin_at = end_at
    return gone[:n_gone]


@nb.njit(cache=True, nogil=True)
def neighbours(places, offsets, tok, alive):
    """The tokens at these places, each with all tokens that stand with it there: (tokens, near_from, near_to, near)."""
    n_keys = 0
    for i in range(len(places)):
        row = _row_of(tok, places[i])
        n_keys += offsets[row + 1] - offsets[row]
    keys = np.empty(n_keys, np.int64)
    n_keys = 0
    for i in range(len(places)):
        token = np.int64(tok[places[i]])
        p = offsets[_row_of(tok, places[i])] + _row_of(tok, places[i])
        while tok[p] >= 0:
            if alive[p]:
                keys[n_keys] = (token << 32) | tok[p]
                n_keys += 1
            p += 1
    sort_range(keys, 0, n_keys)
    tokens = np.empty(len(places), np.int32)
    near_from = np.empty(len(places), np.int64)
    near_to = np.empty(len(places), np.int64)
    near = np.empty(n_keys, np.int32)
    n_tokens = 0
    n_near = 0
    for i in range(n_keys):
        if i > 0 and keys[i] == keys[i - 1]:
            continue
        token = keys[i] >> 32
        if n_tokens == 0 or tokens[n_tokens - 1] != token:
            tokens[n_tokens] = token
            near_from[n_tokens] = n_near
            n_tokens += 1
        near[n_near] = keys[i] & 0xFFFFFFFF
        n_near += 1
        near_to[n_tokens - 1] = n_near
    return tokens[:n_tokens], near_from[:n_tokens], near_to[:n_tokens], near[:n_near]


@nb.njit(cache=True, nogil=True)
def put_back(
    offsets, tok, alive, span, leaf_starts, leaf_rows, tokens, wanted, k, m, count, slot, touched, seen, is_near, work
):
    """Restore, token by token, every deleted occurrence whose return makes nothing rare; returns the places.

    With `wanted` (a mark per row, or empty for all) only occurrences in these rows are tried. Returning only raises
    supports, so what can return alone can return together with all others of the same token.
    """
    n_rows = len(offsets) - 1
    occ_row = np.empty(256, np.int32)
    occ = np.empty(256 * m, np.int32)
    mini = np.empty(1024, np.int32)
    entries = np.empty(256, np.int64)
    candidate = np.empty(256, np.int64)
    back = np.empty(64, np.int64)
    refused = np.empty(256, np.bool_)
    n_back = 0
    for i in range(len(tokens)):
        token = tokens[i]
        # Candidates first; if there are none, the rows need not be gathered.
        n_candidates = 0
        seen[n_rows] += 1
        stamp = seen[n_rows]
        for e in range(leaf_starts[span[token, 0]], leaf_starts[span[token, 1]]):
            row = leaf_rows[e]
            if seen[row] == stamp or (len(wanted) > 0 and not wanted[row]):
                continue
            seen[row] = stamp
            work[0] += offsets[row + 1] - offsets[row] + 2
            p = offsets[row] + row
            while tok[p] >= 0 and tok[p] != token:
                p += 1
            if tok[p] == token and not alive[p]:
                if n_candidates == len(candidate):
                    candidate = grown(candidate, n_candidates + 1)
                candidate[n_candidates] = p
                n_candidates += 1
        if n_candidates == 0:
            continue
        # Only what stands beside a candidate matters.
        is_near[-1] += 1
        for c in range(n_candidates):
            p = candidate[c]
            while tok[p] >= 0:
                p += 1
            p = offsets[-tok[p] - 1] - tok[p] - 1
            while tok[p] >= 0:
                is_near[tok[p]] = is_near[-1]
                p += 1
        # Living rows are numbered first, then the candidates.
        n_entries = 0
        size = np.int64(1)
        seen[n_rows] += 1
        stamp = seen[n_rows]
        n_alive = 0
        for e in range(leaf_starts[span[token, 0]], leaf_starts[span[token, 1]]):
            row = leaf_rows[e]
            if seen[row] == stamp:
                continue
            seen[row] = stamp
            work[0] += offsets[row + 1] - offsets[row] + 2
            p = offsets[row] + row
            while tok[p] >= 0 and tok[p] != token:
                p += 1
            if tok[p] == token and alive[p]:
                n_alive += 1
                size, n_entries, mini, entries = _with_row(
                    offsets, tok, alive, is_near, row, token, size, n_entries, mini, entries
                )
        if n_alive + 1 < k:
            continue
        for c in range(n_candidates):
            row = _row_of(tok, candidate[c])
            size, n_entries, mini, entries = _with_row(
                offsets, tok, alive, is_near, row, token, size, n_entries, mini, entries
            )
        occ_row, occ, n_occ = walk_rare(
            mini,
            entries,
            n_entries,
            token,
            k - 1,
            m,
            n_alive,
            n_alive,
            count,
            slot,
            touched,
            work,
            occ_row,
            occ,
            np.int64(0),
        )
        if n_candidates > len(refused):
            refused = np.empty(2 * n_candidates, np.bool_)
        for c in range(n_candidates):
            refused[c] = False
        for o in range(n_occ):
            refused[occ_row[o] - n_alive] = True
        for c in range(n_candidates):
            if not refused[c]:
                alive[candidate[c]] = True
                if n_back == len(back):
                    back = grown(back, n_back + 1)
                back[n_back] = candidate[c]
                n_back += 1
    return back[:n_back]


@nb.njit(cache=True, nogil=True)
def _row_of(tok, p):
    while tok[p] >= 0:
        p += 1
    return -tok[p] - 1


@nb.njit(cache=True, nogil=True)
def _with_row(offsets, tok, alive, is_near, row, token, size, n_entries, mini, entries):
    """Append the living tokens of a row that are near, but one, numbered by its place in the small database."""
    room = size + offsets[row + 1] - offsets[row] + 1
    if room > len(mini):
        mini = grown(mini, room)
    if n_entries == len(entries):
        entries = grown(entries, n_entries + 1)
    entries[n_entries] = size - 1
    p = offsets[row] + row
    while tok[p] >= 0:
        if alive[p] and tok[p] != token and is_near[tok[p]] == is_near[-1]:
            mini[size] = tok[p]
            size += 1
        p += 1
    mini[size] = -(n_entries + 1)
    return size + 1, n_entries + 1, mini, entries


@nb.njit(cache=True, nogil=True)
def try_move(
    offsets,
    tok,
    weight,
    alive,
    span,
    leaf_starts,
    leaf_rows,
    top,
    parts,
    price,
    lost,
    budget,
    deleted,
    rarity,
    k,
    m,
    count,
    slot,
    touched,
    seen,
    is_near,
    work,
    hits,
    by_token,
    wanted,
    anew,
    quick,
    enough,
    at_most,
):
    """Replace the tokens below `top` by `parts`, delete and put back what that asks for; undo it all unless the loss falls.

    With `anew`, whatever has been deleted in the rows that change comes back first and has to go again only if it must: a
    better answer, for more work. With `quick`, the move is given up once it adds more than `enough`. It is made if the change of the
    loss is `at_most` that.

    `price[v]` is what an occurrence published as node v costs, `lost` what a deleted one costs; `deleted` original
    occurrences are gone so far, and no more than `budget` may be. Returns (whether the move stays, change of the loss, change
    of `deleted`).
    """
    n_rows = len(offsets) - 1
    # Rows that change, with a copy of what they were.
    seen[n_rows] += 1
    stamp = seen[n_rows]
    rows = np.empty(256, np.int32)
    copy_at = np.empty(257, np.int64)
    copy_at[0] = 0
    old_tok = np.empty(1024, np.int32)
    old_weight = np.empty(1024, np.int32)
    old_alive = np.empty(1024, np.bool_)
    n_changed = 0
    revived = np.empty(64, np.int64)
    n_revived = 0
    loss = np.int64(0)
    gone = np.int64(0)
    for e in range(leaf_starts[span[top, 0]], leaf_starts[span[top, 1]]):
        row = leaf_rows[e]
        if seen[row] == stamp:
            continue
        seen[row] = stamp
        work[0] += 2 * (offsets[row + 1] - offsets[row] + 2)
        if n_changed + 2 > len(rows):
            rows = grown(rows, n_changed + 2)
            copy_at = grown(copy_at, n_changed + 3)
        room = copy_at[n_changed] + offsets[row + 1] - offsets[row] + 1
        if room > len(old_tok):
            old_tok = grown(old_tok, room)
            old_weight = grown(old_weight, room)
            old_alive = grown(old_alive, room)
        at = copy_at[n_changed]
        p = offsets[row] + row
        q = p
        while True:
            old_tok[at] = tok[p]
            if tok[p] >= 0:
                old_weight[at] = weight[p]
                old_alive[at] = alive[p]
            at += 1
            if tok[p] < 0:
                break
            inside = span[top, 0] <= span[tok[p], 0] and span[tok[p], 1] <= span[top, 1]
            if inside:
                loss -= weight[p] * (price[tok[p]] if alive[p] else lost)
                gone -= 0 if alive[p] else weight[p]
            else:
                if anew and not alive[p]:
                    # Back for now: what stood in its way may be gone, for several rows together.
                    loss -= weight[p] * (lost - price[tok[p]])
                    gone -= weight[p]
                    if n_revived == len(revived):
                        revived = grown(revived, n_revived + 1)
                    revived[n_revived] = (np.int64(row) << 32) | tok[p]
                    n_revived += 1
                tok[q] = tok[p]
                weight[q] = weight[p]
                alive[q] = alive[p] or anew
                q += 1
            p += 1
        tok[q] = -(row + 1)
        rows[n_changed] = row
        wanted[row] = True
        n_changed += 1
        copy_at[n_changed] = at
    for j in range(len(parts)):
        part = parts[j]
        for e in range(leaf_starts[span[part, 0]], leaf_starts[span[part, 1]]):
            row = leaf_rows[e]
            p = offsets[row] + row
            while tok[p] >= 0 and tok[p] < part:
                p += 1
            if tok[p] == part:
                weight[p] += 1
            else:
                end = p
                while tok[end] >= 0:
                    end += 1
                tok[end + 1] = tok[end]
                for q in range(end, p, -1):
                    tok[q] = tok[q - 1]
                    weight[q] = weight[q - 1]
                    alive[q] = alive[q - 1]
                tok[p] = part
                weight[p] = 1
                alive[p] = True
            loss += price[part]

    # Deletions, round by round, starting from the new tokens; places in other rows are remembered.
    flips = np.empty(64, np.int64)
    n_flips = 0
    more_rows = np.empty(64, np.int32)
    n_more = 0
    for i in range(n_revived):
        p = offsets[revived[i] >> 32] + (revived[i] >> 32)
        while tok[p] != (revived[i] & 0xFFFFFFFF):
            p += 1
        revived[i] = p
    around, around_from, around_to, near = neighbours(revived[:n_revived], offsets, tok, alive)
    queue = np.empty(len(parts) + len(around), np.int32)
    near_from = np.full(len(queue), -1, np.int64)
    near_to = np.full(len(queue), -1, np.int64)
    for i in range(len(around)):
        queue[i] = around[i]
        near_from[i] = around_from[i]
        near_to[i] = around_to[i]
    for j in range(len(parts)):
        queue[len(around) + j] = parts[j]
    while len(queue) > 0 and (not quick or loss <= enough):
        occ_row, occ = find_rare(
            offsets,
            tok,
            alive,
            span,
            leaf_starts,
            leaf_rows,
            queue,
            near_from,
            near_to,
            near,
            0,
            len(queue),
            False,
            k,
            m,
            count,
            slot,
            touched,
            seen,
            is_near,
            work,
        )
        if len(occ_row) == 0:
            break
        out = hitting_places(occ_row, occ, m, offsets, tok, weight, rarity, hits, by_token)
        queue, near_from, near_to, near = neighbours(out, offsets, tok, alive)
        for i in range(len(out)):
            p = out[i]
            alive[p] = False
            loss += weight[p] * (lost - price[tok[p]])
            gone += weight[p]
            row = _row_of(tok, p)
            if n_flips == len(flips):
                flips = grown(flips, n_flips + 1)
            flips[n_flips] = p
            n_flips += 1
            if not wanted[row]:
                wanted[row] = True
                if n_more == len(more_rows):
                    more_rows = grown(more_rows, n_more + 1)
                more_rows[n_more] = row
                n_more += 1

    # Put back: tokens that are dead in a row that changed. (A quick look that leads nowhere does without, and sees a little
    # too much loss.)
    dead = np.empty(64, np.int32)
    n_dead = 0
    for i in range(n_changed + n_more if not quick or loss <= at_most else 0):
        row = rows[i] if i < n_changed else more_rows[i - n_changed]
        p = offsets[row] + row
        while tok[p] >= 0:
            if not alive[p]:
                if n_dead == len(dead):
                    dead = grown(dead, n_dead + 1)
                dead[n_dead] = tok[p]
                n_dead += 1
            p += 1
    back = put_back(
        offsets,
        tok,
        alive,
        span,
        leaf_starts,
        leaf_rows,
        _distinct(dead, n_dead),
        wanted,
        k,
        m,
        count,
        slot,
        touched,
        seen,
        is_near,
        work,
    )
    for i in range(len(back)):
        p = back[i]
        loss -= weight[p] * (lost - price[tok[p]])
        gone -= weight[p]
    for i in range(n_changed):
        wanted[rows[i]] = False
    for i in range(n_more):
        wanted[more_rows[i]] = False

    stays = loss <= at_most and (deleted + gone <= budget or gone <= 0)
    if not stays:
        # Backwards: what came back, what went, then the rewritten rows.
        for i in range(len(back)):
            alive[back[i]] = False
        for i in range(n_flips):
            alive[flips[i]] = True
        for i in range(n_changed):
            p = offsets[rows[i]] + rows[i]
            for c in range(copy_at[i], copy_at[i + 1]):
                tok[p] = old_tok[c]
                if old_tok[c] >= 0:
                    weight[p] = old_weight[c]
                    alive[p] = old_alive[c]
                p += 1
    return stays, loss, gone


@nb.njit(cache=True, nogil=True)
def _distinct(values, n):
    sort_range(values, 0, n)
    kept = 0
    for i in range(n):
        if kept == 0 or values[i] != values[kept - 1]:
            values[kept] = values[i]
            kept += 1
    return values[:kept].copy()
