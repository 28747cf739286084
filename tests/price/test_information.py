"""The measure of information and the two prices, against the definition spelled out."""

from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.hierarchy.tree import Hierarchy
from shoal.price.information import Fates
from shoal.price.levels import BIT, information_price, ncp_price

TREE = Hierarchy.from_parents(
    [4, 4, 5, 5, 6, 6, -1], ["milk", "cheese", "bread", "rolls", "dairy", "bakery", "everything"]
)


def naive(fates):
    """(information lost, as they are), from triples of item, token or None, and times."""
    of_item, of_token, of_both, gone = {}, {}, {}, 0
    for item, token, times in fates:
        of_item[item] = of_item.get(item, 0) + times
        if token is None:
            gone += times
        else:
            of_token[token] = of_token.get(token, 0) + times
            of_both[item, token] = of_both.get((item, token), 0) + times
    total = sum(of_item.values())
    entropy = sum(n / total * log2(total / n) for n in of_item.values() if n)
    unknown = sum(n * log2(of_token[token] / n) for (_, token), n in of_both.items() if n)
    exact = sum(n for (item, token), n in of_both.items() if item == token) / max(1, total)
    lost = (unknown + entropy * gone) / (total * entropy) if entropy else gone / max(1, total)
    return lost, exact


def fates_of(triples):
    item, token, times = (np.array(part, np.int64) for part in zip(*triples, strict=True))
    return Fates(item, token, times, item == token)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(-1, 9), st.integers(0, 20)), min_size=1).filter(
        lambda triples: sum(times for *_, times in triples) > 0
    )
)
def test_information_is_what_the_definition_says(triples):
    fates = fates_of(triples)
    lost, exact = naive([(x, None if t < 0 else t, n) for x, t, n in triples])
    assert fates.info == pytest.approx(lost, abs=1e-9)
    assert fates.exact == pytest.approx(exact)


def test_nothing_is_lost_where_all_stands_and_everything_at_the_root():
    stands = fates_of([(0, 0, 3), (1, 1, 5), (2, 2, 8)])
    at_root = fates_of([(0, 9, 3), (1, 9, 5), (2, 9, 8)])
    assert (stands.info, stands.exact) == (0.0, 1.0)
    assert (at_root.info, at_root.exact) == (pytest.approx(1.0), 0.0)


def test_a_token_that_stands_for_one_item_only_loses_nothing():
    assert fates_of([(0, 9, 3), (1, 1, 5)]).info == 0.0


def test_a_single_item_loses_by_deletion_alone():
    assert fates_of([(0, 9, 3), (0, -1, 1)]).info == 0.25


def test_no_occurrences_lose_nothing():
    nothing = Fates(*(np.zeros(0, np.int64) for _ in range(3)), np.zeros(0, np.bool_))
    assert (nothing.info, nothing.exact, nothing.deleted) == (0.0, 0.0, 0.0)


@given(st.lists(st.integers(0, 40), min_size=4, max_size=4))
def test_the_levels_of_a_cut_add_up_to_the_measure(times):
    occurrences = np.array(times, np.int64)
    price = information_price(TREE, occurrences)
    costs = price.of_nodes(TREE, occurrences)
    dairy, bakery = TREE.names.index("dairy"), TREE.names.index("bakery")
    leaves = [TREE.names.index(name) for name in ("milk", "cheese", "bread", "rolls")]
    cut = [(leaf, int(TREE.parent[leaf]), int(occurrences[leaf])) for leaf in leaves]
    if sum(times) and len([n for n in times if n]) > 1:
        cost = int(costs[[dairy, bakery]].sum())
        assert price.share(cost, int(occurrences.sum())) == pytest.approx(naive(cut)[0], abs=1e-5)


def test_levels_never_fall_towards_the_root():
    occurrences = np.array([7, 0, 3, 12], np.int64)
    for price in (ncp_price(TREE), information_price(TREE, occurrences)):
        inner = np.flatnonzero(TREE.parent >= 0)
        assert (price.level[TREE.parent[inner]] >= price.level[inner]).all()
        assert price.deletion > 0


def test_a_bit_is_a_bit():
    price = information_price(TREE, np.array([4, 4, 8, 0], np.int64))
    dairy = TREE.names.index("dairy")
    assert price.level[dairy] - price.level[TREE.names.index("milk")] == BIT
