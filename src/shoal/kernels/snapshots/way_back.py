"""Contributions to a snapshot, taken back until every set of tokens with its traces has k people or none.

Entry e says that person `whose[e]` had, or has, the old item `old[e]`: a token with the releases it was published in before, within
the person's former crowd. In the new release each entry is of one of three kinds: its person is not in it, or is in it without the token,
or with it (`mark[e]`). `bare[e]` marks tokens that were never published of the person: such an item is there only where it is marked.
A set of items is an array of codes `3 * old + kind`, unused places -1. What changes goes one way: in `fix_sets` marks go and people leave
the release, in `hold_back` they return.
"""

import numpy as np

from shoal.kernels import compiler as nb

OUT, WITHOUT, WITH = 0, 1, 2
LOOKED_AT = 64
"""People, those with the least past, of whom it is counted what their leaving would ask of others."""
MIX = np.uint64(0x9E3779B97F4A7C15)


@nb.step
def kind_of(e, p, inside, mark):
    """The kind of an entry of person p."""
    if not inside[p]:
        return OUT
    return WITH if mark[e] else WITHOUT


@nb.step
def entry_of(entries, p, item):
    """The entry of person p about the old item, or -1."""
    low, high = entries.offsets[p], entries.offsets[p + 1]
    end = high
    while low < high:
        middle = (low + high) // 2
        if entries.old[middle] < item:
            low = middle + 1
        else:
            high = middle
    return low if low < end and entries.old[low] == item else -1


@nb.part
def marks_of(entries, p, mark):
    n = 0
    for e in range(entries.offsets[p], entries.offsets[p + 1]):
        n += mark[e]
    return n


@nb.step
def leave(entries, p, inside, mark):
    """Person p is not in the release."""
    inside[p] = 0
    for e in range(entries.offsets[p], entries.offsets[p + 1]):
        mark[e] = 0


@nb.njit(cache=True, nogil=True)
def fix_sets(entries, sets, support, inside, mark, k, most, room):
    """Make each set that fewer than k people have one that nobody or k people have, by the cheaper of what is there to do.

    Sets have up to `most` items. `room` is as for `give_back`, of the people outside and those who may have to follow them; once it is
    taken, the sets that are left are for another round.
    """
    m = sets.shape[1]
    keys = np.zeros(room[0], np.uint64)
    counts = np.zeros(room[0], np.int32)
    sums = np.empty(room[1], np.uint64)
    values = np.empty(room[1], np.uint64)
    taken = 0
    for p in range(len(inside)):
        if not inside[p]:
            n_sums = subset_sums(
                values, values_beside(entries, p, -1, inside, mark, values), most, np.uint64(0), sums, False
            )
            taken += n_sums
            add_to(keys, counts, sums, n_sums, 1)
    has = np.empty(m, np.int64)
    longest = 0
    for c in range(len(entries.starts) - 1):
        longest = max(longest, entries.starts[c + 1] - entries.starts[c])
    matching = np.empty(longest, np.int64)
    others = np.empty(longest, np.int64)
    worth = np.empty(longest, np.int64)
    by_pattern = np.zeros(1 << m, np.int64)
    for s in range(len(sets)):
        size, shortest, wanted, bare = 0, 0, 0, 0
        while size < m and sets[s, size] >= 0:
            item = sets[s, size] // 3
            if len_of(entries, item) < len_of(entries, sets[s, shortest] // 3):
                shortest = size
            if sets[s, size] % 3 == WITH:
                wanted |= 1 << size
            if entries.bare[entries.holding[entries.starts[item]]]:
                bare |= 1 << size
            size += 1
        outside = sets[s, 0] % 3 == OUT
        by_pattern[: 1 << size] = 0
        n, n_others, n_outside = 0, 0, 0
        item = sets[s, shortest] // 3
        for i in range(entries.starts[item], entries.starts[item + 1]):
            p = entries.whose[entries.holding[i]]
            pattern, all_there = 0, True
            for j in range(size):
                has[j] = entry_of(entries, p, sets[s, j] // 3)
                if has[j] < 0:
                    all_there = False
                    break
                if mark[has[j]]:
                    pattern |= 1 << j
            if not all_there:
                continue
            if not inside[p]:
                n_outside += 1
            else:
                by_pattern[pattern] += 1
            if inside[p] != outside and (outside or pattern == wanted):
                matching[n] = p
                n += 1
            elif inside[p]:
                others[n_others] = p
                worth[n_others] = past_of(entries, p) if outside else count_bits(pattern)
                n_others += 1
        if n == 0 or n >= k:
            continue
        if outside:
            order = np.argsort(worth[:n_others], kind="mergesort")[:LOOKED_AT]
            for place in order:
                n_sums = sums_outside(entries, others[place], values, most, sums)
                worth[place] = 0
                for i in range(n_sums):
                    count = counts[place_of(keys, sums[i])]
                    worth[place] += k - 1 if count == 0 else -1 if count < k else 0
            order = order[np.argsort(worth[order], kind="mergesort")]
            for i in range(min(k - n, len(order))):
                leave(entries, others[order[i]], inside, mark)
                n_sums = sums_outside(entries, others[order[i]], values, most, sums)
                taken += n_sums
                add_to(keys, counts, sums, n_sums, 1)
            if 2 * taken > room[0]:
                return
        elif wanted:
            gone = cheapest_part(sets[s], wanted, bare, by_pattern, support, n, k)
            for i in range(n):
                for j in range(size):
                    if gone >> j & 1:
                        mark[entry_of(entries, matching[i], sets[s, j] // 3)] = 0
        else:
            order = np.argsort(worth[:n_others], kind="mergesort")
            pulled, waiting = 0, 0
            for i in range(min(k - n, n_others)):
                pulled += worth[order[i]]
            for i in range(n):
                waiting += 1 + marks_of(entries, matching[i], mark)
            if n + n_others < k or (n_outside + n >= k and waiting < pulled):
                for i in range(n):
                    leave(entries, matching[i], inside, mark)
            else:
                for i in range(k - n):
                    for j in range(size):
                        mark[entry_of(entries, others[order[i]], sets[s, j] // 3)] = 0


@nb.njit(cache=True, nogil=True)
def hold_back(entries, sets, inside, mark, held, leaving, losing, k):
    """Let people stay as they were published, or keep what they lost, where a set would have fewer than k people, though some.

    `leaving` marks people who would leave the release now, `losing` entries that would go, and `held` the marks as they are while all of
    them stay. A set that is too rare is made by changes: of its own people, then all of these are undone; or of people who had it as
    long as nothing changed, of whom as many change nothing as it lacks. Returns how many changes were undone.
    """
    m = sets.shape[1]
    has = np.empty(m, np.int64)
    longest = 0
    for c in range(len(entries.starts) - 1):
        longest = max(longest, entries.starts[c + 1] - entries.starts[c])
    own, kin = np.empty(longest, np.int64), np.empty(longest, np.int64)
    undone = 0
    for s in range(len(sets)):
        size, shortest = 0, 0
        while size < m and sets[s, size] >= 0:
            if len_of(entries, sets[s, size] // 3) < len_of(entries, sets[s, shortest] // 3):
                shortest = size
            size += 1
        n, n_own, n_kin = 0, 0, 0
        item = sets[s, shortest] // 3
        for i in range(entries.starts[item], entries.starts[item + 1]):
            p = entries.whose[entries.holding[i]]
            changes, matches, all_there = leaving[p] > 0, True, True
            for j in range(size):
                has[j] = entry_of(entries, p, sets[s, j] // 3)
                if has[j] < 0:
                    all_there = False
                    break
                changes |= losing[has[j]] > 0
                matches &= kind_of(has[j], p, inside, mark) == sets[s, j] % 3
            if not all_there:
                continue
            n += matches
            if matches and changes:
                own[n_own] = p
                n_own += 1
            elif changes:
                kin[n_kin] = p
                n_kin += 1
        if n == 0 or n >= k:
            continue
        if n_own:
            kin[:n_own] = own[:n_own]
            n_kin = n_own
        else:
            n_kin = min(n_kin, k - n)
        for i in range(n_kin):
            p = kin[i]
            undone += 1
            if leaving[p]:
                come_back(entries, p, inside, mark, held, leaving)
            else:
                for j in range(size):
                    e = entry_of(entries, p, sets[s, j] // 3)
                    if losing[e]:
                        losing[e] = 0
                        mark[e] = 1
    return undone


@nb.part
def come_back(entries, p, inside, mark, held, leaving):
    """Person p does not leave after all."""
    leaving[p], inside[p] = 0, 1
    for e in range(entries.offsets[p], entries.offsets[p + 1]):
        mark[e] = held[e]


@nb.part
def past_of(entries, p):
    """How many items of the person were published before."""
    n = 0
    for e in range(entries.offsets[p], entries.offsets[p + 1]):
        n += not entries.bare[e]
    return n


@nb.step
def sums_outside(entries, p, values, most, sums):
    """The sets that the person would have outside the release; how many."""
    n = 0
    for e in range(entries.offsets[p], entries.offsets[p + 1]):
        if not entries.bare[e]:
            values[n] = mix_of(3 * entries.old[e] + OUT)
            n += 1
    return subset_sums(values, n, most, np.uint64(0), sums, False)


@nb.step
def len_of(entries, item):
    return entries.starts[item + 1] - entries.starts[item]


@nb.part
def count_bits(pattern):
    n = 0
    while pattern:
        n += pattern & 1
        pattern >>= 1
    return n


@nb.part
def cheapest_part(codes, wanted, bare, by_pattern, support, n, k):
    """Which marked members of a set go: the fewest, then the rarest, that leave nothing or join a crowd; all, if none does."""
    best, least = wanted, np.int64(1) << 62
    part = wanted
    while part:
        if part & bare or by_pattern[wanted & ~part] + n >= k:
            price = np.int64(0)
            for j in range(len(codes)):
                if part >> j & 1:
                    price += (np.int64(1) << 40) + support[codes[j]]
            if price < least:
                best, least = part, price
        part = (part - 1) & wanted
    return best


@nb.step
def mix_of(code):
    """A number of 64 bits for an item; those of a set add up to the set's."""
    x = (np.uint64(code) + np.uint64(1)) * MIX
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@nb.step
def subset_sums(values, n, most, base, sums, with_base):
    """Fill `sums` with base + the sum of each set of up to `most` values; how many. Without the base alone if asked."""
    size = 1
    sums[0] = base
    first_of_last, chosen = 0, np.empty(len(sums), np.int64)
    chosen[0] = 0
    for _ in range(most):
        end = size
        for at in range(first_of_last, end):
            for j in range(chosen[at], n):
                sums[size] = sums[at] + values[j]
                chosen[size] = j + 1
                size += 1
        first_of_last = end
    if not with_base:
        size -= 1
        sums[0] = sums[size]
    return size


@nb.step
def place_of(keys, key):
    """Where the key stands in a table of open addresses, or the empty place where it would."""
    at = key & np.uint64(len(keys) - 1)
    while keys[at] != 0 and keys[at] != key:
        at = (at + np.uint64(1)) & np.uint64(len(keys) - 1)
    return at


@nb.step
def add_to(keys, counts, sums, n, by):
    for i in range(n):
        at = place_of(keys, sums[i])
        keys[at] = sums[i]
        counts[at] += by


@nb.step
def all_have(keys, counts, sums, n, least):
    """Whether each of these sets has so many people."""
    fewest = least
    for i in range(n):
        fewest = min(fewest, counts[place_of(keys, sums[i])])
    return fewest >= least


@nb.step
def values_beside(entries, p, e, inside, mark, values):
    """The mixed codes of the person's items but that of entry e; how many."""
    n = 0
    for other in range(entries.offsets[p], entries.offsets[p + 1]):
        kind = kind_of(other, p, inside, mark)
        if other != e and not (entries.bare[other] and kind != WITH):
            values[n] = mix_of(3 * entries.old[other] + kind)
            n += 1
    return n


@nb.njit(cache=True, nogil=True)
def give_back(entries, had, was_inside, inside, mark, crowds, room, k, m):
    """Let people return, and put marks back, one at a time, wherever everybody keeps a crowd.

    `had` and `was_inside` say what was there to publish; `crowds[c]` are the people (outside, inside) of each former crowd. `room` are
    the places of the table of sets, a power of 2, and the most sets that one person has.
    """
    keys = np.zeros(room[0], np.uint64)
    counts = np.zeros(room[0], np.int32)
    lost, won = np.empty(room[1], np.uint64), np.empty(room[1], np.uint64)
    longest = 0
    for p in range(len(inside)):
        longest = max(longest, entries.offsets[p + 1] - entries.offsets[p])
    values = np.empty(longest, np.uint64)
    nothing = np.uint64(0)
    for p in range(len(inside)):
        n = values_beside(entries, p, -1, inside, mark, values)
        add_to(keys, counts, lost, subset_sums(values, n, m, nothing, lost, False), 1)
    for p in range(len(inside)):
        crowd = entries.crowd[p]
        if was_inside[p] and not inside[p]:
            if crowds[crowd, 1] < k or (crowd > 0 and crowds[crowd, 0] <= k):
                continue
            n = subset_sums(values, values_beside(entries, p, -1, inside, mark, values), m, nothing, lost, False)
            inside[p] = 1
            n_won = subset_sums(values, values_beside(entries, p, -1, inside, mark, values), m, nothing, won, False)
            if not (all_have(keys, counts, lost, n, k + 1) and all_have(keys, counts, won, n_won, k - 1)):
                inside[p] = 0
                continue
            add_to(keys, counts, lost, n, -1)
            add_to(keys, counts, won, n_won, 1)
            crowds[crowd, 0] -= 1
            crowds[crowd, 1] += 1
        if not inside[p]:
            continue
        for e in range(entries.offsets[p], entries.offsets[p + 1]):
            if mark[e] or not had[e]:
                continue
            beside = values_beside(entries, p, e, inside, mark, values)
            n = 0
            if not entries.bare[e]:
                n = subset_sums(values, beside, m - 1, mix_of(3 * entries.old[e] + WITHOUT), lost, True)
            n_won = subset_sums(values, beside, m - 1, mix_of(3 * entries.old[e] + WITH), won, True)
            if all_have(keys, counts, won, n_won, k - 1) and all_have(keys, counts, lost, n, k + 1):
                add_to(keys, counts, lost, n, -1)
                add_to(keys, counts, won, n_won, 1)
                mark[e] = 1
