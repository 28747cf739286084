"""What a reader can count of a release's worth: against the truth that it must not fall short of, and against plain counting."""

from collections import Counter
from itertools import combinations
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from random_trees import path, trees
from shoal.hierarchy.tree import Hierarchy
from shoal.loss.readers_view import exact_pairs, exact_share, most_information_lost, published_nodes
from shoal.records.baskets import Baskets

TREE = Hierarchy.from_parents(
    [4, 4, 5, 5, 6, 6, -1], ["milk", "cheese", "bread", "rolls", "dairy", "bakery", "everything"]
)


def bits(counts):
    total = sum(counts)
    return sum(n * log2(total / n) for n in counts if n)


def lost_of(pairs):
    """The share of information lost, of a Counter of (item, token)."""
    items, tokens = Counter(), Counter()
    for (item, token), n in pairs.items():
        items[item] += n
        tokens[token] += n
    unknown = bits(pairs.values()) - bits(tokens.values())
    whole = bits(items.values())
    return unknown / whole if whole else 0.0


def bound(tree, pairs):
    tokens = Counter()
    for (_, token), n in pairs.items():
        tokens[token] += n
    nodes = np.array(sorted(tokens), np.int64)
    return most_information_lost(tree, nodes, np.array([tokens[v] for v in nodes.tolist()], np.int64))


@given(st.data())
def test_no_local_recoding_loses_more_than_a_reader_sees(data):
    tree = data.draw(trees())
    pairs = Counter()
    for leaf in range(tree.n_leaves):
        for node in path(tree, leaf):
            pairs[leaf, node] += data.draw(st.integers(0, 9))
    if sum(pairs.values()):
        assert lost_of(+pairs) <= bound(tree, +pairs) + 1e-9


def test_a_cut_whose_items_are_equally_frequent_loses_all_that_a_reader_sees():
    pairs = Counter({(0, 4): 6, (1, 4): 6, (2, 2): 3, (3, 3): 5})
    assert bound(TREE, pairs) == pytest.approx(lost_of(pairs))
    assert bound(TREE, pairs) > 0.3


def test_items_as_they_are_lose_nothing_and_the_root_everything():
    assert bound(TREE, Counter({(0, 0): 2, (3, 3): 7})) == 0
    assert bound(TREE, Counter({(0, 6): 2, (3, 6): 7})) == 1
    assert most_information_lost(TREE, np.zeros(0, np.int64), np.zeros(0, np.int64)) == 0


def test_other_items_behind_the_same_tokens_look_the_same():
    one, other = Counter({(0, 4): 11, (1, 4): 1, (2, 2): 5}), Counter({(0, 4): 6, (1, 4): 6, (2, 2): 5})
    assert bound(TREE, one) == bound(TREE, other)
    assert lost_of(one) < lost_of(other)


@given(st.lists(st.lists(st.sampled_from(["milk", "cheese", "bread", "bakery", "dairy"]), max_size=4), max_size=30))
def test_shares_of_items_and_pairs_are_counted_in_the_rows(rows):
    rows = [sorted(set(row)) for row in rows]
    baskets = Baskets.from_rows(rows)
    nodes = published_nodes(TREE, baskets.vocabulary)
    is_item = nodes < TREE.n_leaves
    stand = [token for row in rows for token in row]
    items = sum(token in TREE.labels[:4] for token in stand)
    assert exact_share(baskets.supports(), is_item) == pytest.approx(items / max(1, len(stand)))
    pairs = {pair: n for pair, n in Counter(pair for row in rows for pair in combinations(row, 2)).items() if n > 1}
    both = sum(set(pair) <= set(TREE.labels[:4]) for pair in pairs)
    assert exact_pairs(baskets, is_item) == (pytest.approx(both / len(pairs)) if pairs else None)


def test_pairs_that_tie_with_the_next_are_left_out(monkeypatch):
    monkeypatch.setattr("shoal.loss.readers_view.TOP", 2)
    rows = [["a", "b"]] * 5 + [["c", "d"]] * 3 + [["e", "f"]] * 3
    baskets = Baskets.from_rows(rows)
    is_item = np.array([name in "abc" for name in baskets.vocabulary])
    assert exact_pairs(baskets, is_item) == 1
    assert exact_pairs(Baskets.from_rows(rows[5:] + [["a", "b"]] * 3), is_item) is None
