import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from random_trees import leaves_below, path, shape, trees
from shoal.errors import InputError
from shoal.hierarchy.build import balanced_tree
from shoal.hierarchy.tree import Hierarchy


@pytest.fixture
def figure_1():
    """The sample hierarchy of the k^m paper: a1, a2 under A; b1, b2 under B; A and B under ALL."""
    return Hierarchy(np.array([4, 4, 5, 5, 6, 6, -1], np.int32), ("a1", "a2", "b1", "b2", "A", "B", "ALL"), 4)


def test_the_papers_sample_hierarchy_has_its_shape(figure_1):
    assert figure_1.root == 6
    assert figure_1.height == 2
    assert figure_1.top == (4, 5)
    assert figure_1.children[4:] == ((0, 1), (2, 3), (4, 5))
    assert figure_1.leaf_count.tolist() == [1, 1, 1, 1, 2, 2, 4]
    assert figure_1.names == figure_1.labels


def test_sums_add_up_over_the_leaves_below_each_node(figure_1):
    assert figure_1.sums(np.array([2, 3, 3, 3])).tolist() == [2, 3, 3, 3, 5, 6, 11]


@given(trees())
def test_cached_figures_agree_with_a_walk_up_every_path(h):
    for v in range(h.n_nodes):
        below = leaves_below(h, v)
        assert h.depth[v] == len(path(h, v)) - 1
        assert h.leaf_count[v] == len(below)
        start, stop = h.span[v]
        assert set(h.leaf_order[start:stop].tolist()) == below
        assert h.children[v] == tuple(u for u in range(h.n_nodes) if h.parent[u] == v)
        assert h.only_child[v] == (h.children[v][0] if len(h.children[v]) == 1 else -1)
    assert h.height == max(h.depth)
    assert h.top == h.children[h.root]


@given(trees(), st.data())
def test_sums_agree_with_adding_one_by_one(h, data):
    figures = data.draw(st.lists(st.integers(-9, 9), min_size=h.n_leaves, max_size=h.n_leaves))
    expected = [sum(figures[leaf] for leaf in leaves_below(h, v)) for v in range(h.n_nodes)]
    assert h.sums(np.array(figures)).tolist() == expected


@given(trees())
def test_published_names_are_unique_and_leaves_keep_theirs(h):
    assert len(set(h.names)) == h.n_nodes
    assert h.names[: h.n_leaves] == h.labels[: h.n_leaves]
    for v in range(h.n_nodes):
        if h.labels.count(h.labels[v]) == 1:
            assert h.names[v] == h.labels[v]


def test_a_category_called_like_its_item_is_published_with_its_path():
    h = Hierarchy(np.array([2, 2, 3, -1], np.int32), ("sausage", "liver loaf", "sausage", "food"), 2)
    assert h.names == ("sausage", "liver loaf", "food/sausage", "food")


def test_of_one_label_the_node_that_can_be_published_keeps_it():
    # a and b under S, which is the only child of another S; c beside it.
    h = Hierarchy.from_parents([3, 3, 5, 4, 5, -1], ["a", "b", "c", "S", "S", "*"])
    assert h.names == ("a", "b", "c", "S", "*/S", "*")
    # 2 is the sausage of the category sausage.
    h = Hierarchy.from_parents([3, 4, 4, 4, 5, -1], ["2", "3", "4", "sausage", "sausage", "*"])
    assert h.names == ("2", "3", "4", "sausage/sausage", "sausage", "*")
    tokens = balanced_tree([str(i) for i in range(20)], 2).names
    assert "items[17:20]" in tokens


def test_a_long_chain_of_one_label_gets_short_names_that_differ():
    n = 5_000
    h = Hierarchy.from_parents([*range(1, n), -1], ["x"] * n)
    assert h.names[0] == "x"
    assert len(set(h.names)) == n
    assert max(map(len, h.names)) < 30


@given(trees(), st.randoms(use_true_random=False))
def test_nodes_in_any_order_give_the_same_tree(h, random):
    order = list(range(h.n_nodes))
    random.shuffle(order)
    place = {v: i for i, v in enumerate(order)} | {-1: -1}
    shuffled = Hierarchy.from_parents([place[int(h.parent[v])] for v in order], [h.labels[v] for v in order])
    assert shape(shuffled) == shape(h)


def test_a_long_chain_needs_no_recursion():
    n = 20_000
    h = Hierarchy.from_parents([*range(1, n), -1], [str(i) for i in range(n)])
    assert (h.height, h.n_leaves) == (n - 1, 1)
    assert h.span.tolist() == [[0, 1]] * n


@pytest.mark.parametrize(
    ("parent", "labels", "n_leaves", "words"),
    [
        ([], (), 0, "no leaves"),
        ([1, -1], ("a",), 1, "differ in number"),
        ([-1, 0], ("a", "b"), 1, "root last"),
        ([2, 2, -1], ("a", "b", "*"), 1, "no children"),
        ([1, 2, -1], ("a", "b", "*"), 2, "leaf has children"),
        ([2, 2, -1], ("a", "a", "*"), 2, "1 leaf stands in two places"),
    ],
)
def test_arrays_that_are_no_tree_are_refused(parent, labels, n_leaves, words):
    with pytest.raises(InputError, match=words):
        Hierarchy(np.array(parent, np.int32), labels, n_leaves)


@pytest.mark.parametrize("parent", [[], [-1, -1], [1, 0], [1, 5], [-1, -2]])
def test_links_that_are_no_tree_are_refused(parent):
    with pytest.raises(InputError, match="one root"):
        Hierarchy.from_parents(parent, ["x"] * len(parent))


def test_a_cycle_beside_the_tree_is_refused():
    with pytest.raises(InputError, match="cycle"):
        Hierarchy.from_parents([1, -1, 3, 2], list("abcd"))


def test_items_find_their_leaves_in_any_order(figure_1):
    assert figure_1.leaves_of(["b2", "a1"]).tolist() == [3, 0]


def test_unknown_items_are_refused_with_their_number_and_the_first_five(figure_1):
    with pytest.raises(InputError, match=r"7 items are not among its leaves; .*unknown='root'"):
        figure_1.leaves_of([f"c{i}" for i in range(7)])


def test_an_item_that_is_a_category_is_pointed_out(figure_1):
    with pytest.raises(InputError, match=r"1 item is not among its leaves \(1 of them a category there"):
        figure_1.leaves_of(["a1", "A"])


def test_a_leaf_that_differs_in_blanks_alone_is_pointed_out():
    h = Hierarchy(np.array([1, -1], np.int32), ("cream cheese ", "*"), 1)
    with pytest.raises(InputError, match=r"\(1 of them a leaf there, but with blanks around its name\)"):
        h.leaves_of(["cream cheese"])


def test_unknown_items_hang_under_the_root(figure_1):
    h = figure_1.with_unknown(["a1", "c", "d", "c"])
    assert h.labels[:6] == ("a1", "a2", "b1", "b2", "c", "d")
    assert [h.labels[v] for v in h.top] == ["c", "d", "A", "B"]
    assert [h.labels[p] for p in h.parent[:6]] == ["A", "A", "B", "B", "ALL", "ALL"]
    assert h.with_unknown(["c"]) is h


def test_a_single_node_takes_no_unknown_items():
    with pytest.raises(InputError, match="one node only"):
        Hierarchy(np.array([-1], np.int32), ("a",), 1).with_unknown(["b"])
