import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from random_trees import leaves_below, path, trees
from shoal.errors import InputError
from shoal.hierarchy.cut import Cut
from shoal.hierarchy.tree import Hierarchy


@st.composite
def cuts(draw):
    """A random tree and the nodes of a random cut through it: go down from the root, stop anywhere."""
    h = draw(trees())
    nodes, waiting = [], [h.root]
    while waiting:
        v = waiting.pop()
        if h.children[v] and draw(st.booleans()):
            waiting += h.children[v]
        else:
            nodes.append(v)
    return h, draw(st.permutations(nodes))


@pytest.fixture
def figure_1():
    return Hierarchy(np.array([4, 4, 5, 5, 6, 6, -1], np.int32), ("a1", "a2", "b1", "b2", "A", "B", "ALL"), 4)


def test_a_cut_of_the_papers_hierarchy_maps_each_item(figure_1):
    cut = Cut.at(figure_1, [4, 2, 3])
    assert [figure_1.names[v] for v in cut.node] == ["A", "A", "b1", "b2"]
    assert cut.nodes.tolist() == [2, 3, 4]
    assert repr(cut) == "Cut(b1, b2, A)"


@given(cuts())
def test_a_cut_publishes_every_leaf_as_the_node_above_it(case):
    h, nodes = case
    cut = Cut.at(h, nodes)
    assert sorted(nodes) == cut.nodes.tolist()
    for leaf in range(h.n_leaves):
        assert set(path(h, leaf)) & set(nodes) == {cut.node[leaf]}


@given(cuts(), st.data())
def test_a_cut_that_misses_a_node_is_refused(case, data):
    h, nodes = case
    gone = data.draw(st.sampled_from(nodes))
    with pytest.raises(InputError, match="does not cover every leaf") as caught:
        Cut.at(h, [v for v in nodes if v != gone])
    assert set(caught.value.values) <= {h.labels[leaf] for leaf in leaves_below(h, gone)}


@given(cuts(), st.data())
def test_a_cut_with_one_node_too_many_is_refused(case, data):
    h, nodes = case
    with pytest.raises(InputError, match="overlaps"):
        Cut.at(h, [*nodes, data.draw(st.integers(0, h.root))])


@given(cuts())
def test_the_lowest_cut_covers_the_same_leaves_with_no_single_child_left(case):
    h, nodes = case
    cut = Cut.at(h, nodes)
    lowest = cut.lowest()
    assert all(len(h.children[v]) != 1 for v in lowest.nodes)
    assert {frozenset(leaves_below(h, v)) for v in lowest.nodes} == {frozenset(leaves_below(h, v)) for v in nodes}
    assert Cut.at(h, lowest.nodes) == lowest
    assert lowest.lowest() == lowest


def test_the_leaves_are_the_bottommost_cut(figure_1):
    assert Cut.leaves(figure_1) == Cut.at(figure_1, range(4))


def test_dropped_categories_are_remembered(figure_1):
    cut = Cut.at(figure_1, [2, 3], dropped=[4])
    assert cut.node.tolist() == [-1, -1, 2, 3]
    assert cut.dropped == (4,)
    assert cut.nodes.tolist() == [2, 3]
    assert cut.lowest() == cut
    assert repr(cut) == "Cut(b1, b2, dropped A)"


def test_only_top_level_categories_can_be_dropped(figure_1):
    with pytest.raises(InputError, match="1 of the nodes cannot be dropped"):
        Cut.at(figure_1, [1, 5], dropped=[0])


@pytest.mark.parametrize("strange", [-1, 7])
def test_a_node_that_does_not_exist_is_refused(figure_1, strange):
    with pytest.raises(InputError, match=f"node {strange} of the cut does not exist"):
        Cut.at(figure_1, [strange])
