import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from random_trees import leaves_below
from shoal.errors import InputError
from shoal.hierarchy.build import balanced_tree, frequency_tree, prefix_tree

NAMES = st.lists(st.text(alphabet="A12.", min_size=1, max_size=5), min_size=1, max_size=30, unique=True)


def tree(h, v=None):
    """The tree as nested pairs (label, children), leaves as plain names."""
    v = h.root if v is None else v
    return (h.labels[v], [tree(h, c) for c in h.children[v]]) if h.children[v] else h.labels[v]


def test_balanced_groups_consecutive_items_and_keeps_a_single_last_node():
    assert tree(balanced_tree(list("abcdefg"), 3)) == (
        "*",
        [("items[1:3]", ["a", "b", "c"]), ("items[4:6]", ["d", "e", "f"]), ("items[7:7]", ["g"])],
    )


def test_balanced_groups_again_and_again_up_to_one_root():
    h = balanced_tree(list("abcde"), 2)
    assert tree(h) == (
        "*",
        [
            ("items[1:4]", [("items[1:2]", ["a", "b"]), ("items[3:4]", ["c", "d"])]),
            ("items[5:5]", [("items[5:5]", ["e"])]),
        ],
    )
    assert h.source == "balanced:2"


def test_balanced_orders_integers_by_value_and_others_by_code_point():
    assert balanced_tree(["10", "9", "-1"], 2).labels == ("-1", "9", "10", "items[1:2]", "items[3:3]", "*")
    assert balanced_tree(["10", "9", "x"], 2).labels == ("10", "9", "x", "items[1:2]", "items[3:3]", "*")


@pytest.mark.parametrize("n", [2, 5, 1000])
def test_a_single_item_gets_a_root_above_it(n):
    for h in (balanced_tree(["a"], n), frequency_tree(["a"], np.array([1]), n), prefix_tree(["a"])):
        assert tree(h) == ("*", ["a"])


@given(st.integers(1, 60), st.integers(2, 7))
def test_balanced_is_the_definition_to_the_letter(count, n):
    items = [f"{i:03}" for i in range(count)]
    h = balanced_tree(items, n)
    level: list[list[str]] = [[item] for item in items]
    expected = list(level)
    while len(level) > 1 or len(expected) == count:
        level = [[item for group in level[i : i + n] for item in group] for i in range(0, len(level), n)]
        expected += level
    assert [sorted(h.labels[leaf] for leaf in leaves_below(h, v)) for v in range(h.n_nodes)] == expected
    assert list(h.labels[:count]) == items
    assert h.labels[-1] == "*"
    assert set(h.depth[:count]) == {h.height}


def test_frequency_ranks_by_support_with_ties_in_natural_order():
    h = frequency_tree(["10", "9", "8", "7"], np.array([3, 3, 1, 5]), 2)
    assert tree(h) == ("*", [("rank[1:2]", ["7", "9"]), ("rank[3:4]", ["10", "8"])])
    assert h.source == "frequency:2"


@given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.integers(2, 5))
def test_frequency_is_balanced_over_ranks(supports, n):
    items = [str(i) for i in range(len(supports))]
    h = frequency_tree(items, np.array(supports), n)
    assert list(h.labels[: len(items)]) == sorted(items, key=lambda i: (-supports[int(i)], int(i)))
    assert np.array_equal(h.parent, balanced_tree(items, n).parent)


@pytest.mark.parametrize("n", [1, 0, -3])
def test_groups_of_less_than_two_are_refused(n):
    with pytest.raises(InputError, match="at least 2"):
        balanced_tree(["a", "b"], n)
    with pytest.raises(InputError, match="at least 2"):
        frequency_tree(["a", "b"], np.array([1, 1]), n)


def test_no_items_and_repeated_items_are_refused():
    for build in (lambda v: balanced_tree(v, 2), lambda v: frequency_tree(v, np.ones(len(v)), 2), prefix_tree):
        with pytest.raises(InputError, match="no items"):
            build([])
        with pytest.raises(InputError, match="but 1 repeat"):
            build(["a", "b", "b"])


def test_frequency_needs_a_support_for_every_item():
    with pytest.raises(InputError, match="one support for each of the 2 items"):
        frequency_tree(["a", "b"], np.array([1]), 2)


def test_prefix_groups_codes_by_leading_characters_and_ignores_dots():
    assert tree(prefix_tree(["250", "250.01", "250.02", "250.1", "251", "401.9", "3", "V45"])) == (
        "*",
        [
            "3",
            "401.9",
            "V45",
            ("25*", ["251", ("250*", ["250", "250.1", ("250.0*", ["250.01", "250.02"])])]),
        ],
    )


def test_the_root_of_prefix_says_what_all_codes_begin_with():
    assert tree(prefix_tree(["A10", "A11", "A2"])) == ("A*", ["A2", ("A1*", ["A10", "A11"])])


def test_prefix_keeps_codes_apart_that_differ_in_dots_only():
    assert tree(prefix_tree(["2.50", "25.0", "3"])) == ("*", ["3", ("2.50*", ["2.50", "25.0"])])


@given(NAMES)
def test_prefix_nodes_are_exactly_the_places_where_codes_part(names):
    h = prefix_tree(names)
    keys = {name: name.replace(".", "") for name in names}
    longest = max(map(len, keys.values()))
    groups = set()
    for length in range(longest + 1):
        for key in keys.values():
            if len(key) >= length:
                groups.add(frozenset(n for n in names if len(keys[n]) >= length and keys[n].startswith(key[:length])))
    expected = {group for group in groups if len(group) > 1} | {frozenset(names)}
    inner = [frozenset(h.labels[leaf] for leaf in leaves_below(h, v)) for v in range(h.n_leaves, h.n_nodes)]
    assert set(inner) == expected
    assert len(inner) == len(expected)
    assert sorted(h.labels[: h.n_leaves]) == sorted(names)
    assert len(set(h.labels[h.n_leaves :])) == h.n_nodes - h.n_leaves


@given(NAMES)
def test_labels_of_made_nodes_hold_no_blanks(names):
    for h in (balanced_tree(names, 2), frequency_tree(names, np.ones(len(names)), 2), prefix_tree(names)):
        assert not any(map(str.isspace, "".join(h.labels)))
        assert h.labels[-1].endswith("*")


def test_seventy_thousand_items_are_built_without_recursion():
    items = [str(i) for i in range(70_000)]
    supports = np.arange(70_000)
    for h in (balanced_tree(items, 5), frequency_tree(items, supports, 5), prefix_tree(items)):
        assert h.n_leaves == h.leaf_count[h.root] == 70_000
        assert len(set(h.names)) == h.n_nodes
