"""Sets of items that are rare, or tell too much of a sensitive item, against counting by hand."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.kernels.tables.item_groups import Promise, first_bad_set

N_ITEMS, N_SENSITIVE = 5, 3
SETS = st.lists(
    st.tuples(
        st.frozensets(st.integers(0, N_ITEMS - 1), max_size=4),
        st.frozensets(st.integers(0, N_SENSITIVE - 1), max_size=2),
    ),
    min_size=1,
    max_size=12,
)


def flat(sets):
    offsets = np.concatenate(([0], np.cumsum([len(one) for one in sets]))).astype(np.int64)
    return offsets, np.array([item for one in sets for item in sorted(one)], np.int32)


def is_bad(rows, members, k, l):  # noqa: E741
    there = [told for items, told in rows if set(members) <= items]
    most = max((sum(s in told for told in there) for s in range(N_SENSITIVE)), default=0)
    return bool(there) and (len(there) < k or (l > 1 and most * l > len(there)))


@given(SETS, st.integers(1, 4), st.integers(1, 3), st.integers(1, 3))
def test_first_bad_set_is_bad_and_is_there_if_any_is(rows, k, m, l):  # noqa: E741
    used = sorted(frozenset().union(*(items for items, _ in rows)))
    rows = [(frozenset(used.index(item) for item in items), told) for items, told in rows]
    offsets, items = flat([items for items, _ in rows])
    told = flat([told for _, told in rows])
    members = first_bad_set(offsets, items, len(used), Promise(k, m, l, *told, N_SENSITIVE if l > 1 else 0)).tolist()
    any_is = any(
        is_bad(rows, members, k, l) for size in range(1, m + 1) for members in combinations(range(len(used)), size)
    )
    assert bool(members) == any_is
    assert not members or is_bad(rows, members, k, l)
    assert len(set(members)) == len(members) <= m
