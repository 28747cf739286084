"""The icicle: what is laid out is what one would lay out by hand, every node can be reached, and little is looked at."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.drawing.icicle import HANDLE, LEVELS, MORE, Widths, icicle
from shoal.hierarchy.build import balanced_tree
from shoal.hierarchy.tree import Hierarchy
from strategies import trees


def weighed(tree, per_leaf):
    return Widths.of(tree, tree.sums(np.array(per_leaf, np.int64)))


def naive_cells(tree, per_leaf, width, least):
    """What lies below the first two rows of a window at the root, cell by cell, from the bounds of what is above it."""

    def leaves(v):
        return [v] if v < tree.n_leaves else [leaf for child in tree.children[v] for leaf in leaves(child)]

    def weight(v):
        return sum(per_leaf[leaf] + 1 / (tree.n_leaves + 1) for leaf in leaves(v))

    def rows(above, level):
        if level == LEVELS or above.more is not None or not tree.children[above.node]:
            return
        scale, at, hidden = (above.right - above.left) / weight(above.node), above.left, []
        for child in sorted(tree.children[above.node], key=lambda v: (-round(weight(v), 9), v)):
            if weight(child) * scale * width < least:
                hidden.append(child)
                continue
            cell = type(above)(child, level, at, at + weight(child) * scale)
            at = cell.right
            yield cell
            yield from rows(cell, level + 1)
        if hidden and (above.right - at) * width >= least:
            shown = len(tree.children[above.node]) - len(hidden)
            yield type(above)(above.node, level, at, above.right, (shown, len(hidden)))

    return rows


@given(trees(max_leaves=9), st.data())
def test_it_is_what_one_lays_out_by_hand(tree, data):
    per_leaf = data.draw(st.lists(st.integers(0, 60), min_size=tree.n_leaves, max_size=tree.n_leaves))
    width = data.draw(st.sampled_from([37.3, 211.7, 1013.3]))  # no weight is on the border, where rounding decides
    cells = icicle(weighed(tree, per_leaf), tree.root, width=width, least=1.0)
    rows = naive_cells(tree, per_leaf, width, 1.0)
    expected = cells[:1] + [cell for cell in cells if cell.level == 1]
    for cell in expected[1:]:
        expected = [*expected, *rows(cell, 2)]
    by_place = sorted(expected, key=lambda cell: (cell.level, cell.left))
    assert [(cell.node, cell.level, cell.more) for cell in cells] == [
        (cell.node, cell.level, cell.more) for cell in by_place
    ]
    for cell, other in zip(cells, by_place, strict=True):
        assert (cell.left, cell.right) == pytest.approx((other.left, other.right))


@given(trees(max_leaves=9), st.data())
def test_cells_lie_side_by_side_below_what_they_hang_under(tree, data):
    per_leaf = data.draw(st.lists(st.integers(0, 500), min_size=tree.n_leaves, max_size=tree.n_leaves))
    top = data.draw(st.integers(0, tree.n_nodes - 1))
    widths = weighed(tree, per_leaf)
    first = data.draw(st.integers(0, max(0, widths.fanout(top) - 1)))
    width = data.draw(st.sampled_from([120.0, 999.0]))
    cells = icicle(widths, top, first, width=width)
    where = {cell.node: cell for cell in cells if cell.more is None}
    for level in range(LEVELS):
        row = [cell for cell in cells if cell.level == level]
        assert all(one.right <= other.left + 1e-9 for one, other in pairwise(row))
    for cell in cells:
        assert 0 <= cell.left < cell.right <= 1 + 1e-9
        if cell.level > 0:
            above = where[cell.node if cell.more else int(tree.parent[cell.node])]
            assert above.level == cell.level - 1
            assert above.left - 1e-9 <= cell.left
            assert cell.right <= above.right + 1e-9
    first_row = [cell for cell in cells if cell.level == 1]
    if first_row:
        assert first_row[-1].right == pytest.approx(1.0)
        shown = [cell for cell in first_row if cell.more is None]
        count = shown and len(shown) + sum(cell.more[1] for cell in first_row if cell.more)
        assert count == widths.fanout(top) - first


@given(st.lists(st.integers(0, 10_000), min_size=2, max_size=400), st.sampled_from([60.0, 300.0, 900.0]))
def test_every_child_is_reached_by_going_on(per_leaf, width):
    n = len(per_leaf)
    tree = Hierarchy(np.array([n] * n + [-1], np.int32), tuple(f"i{v}" for v in range(n + 1)), n)
    widths = weighed(tree, per_leaf)
    reached, first = [], 0
    while True:
        row = icicle(widths, tree.root, first, width=width)[1:]
        reached += [cell.node for cell in row if cell.more is None]
        more = [cell for cell in row if cell.more is not None]
        assert all((cell.right - cell.left) * width >= 1 - 1e-6 for cell in row)
        if not more:
            break
        assert more[0].right - more[0].left <= max(MORE, HANDLE / width) + 1e-9
        assert more[0].more[0] == first + len(row) - 1
        first = more[0].more[0]
    assert reached == sorted(range(n), key=lambda v: (-per_leaf[v], v))


def test_what_never_occurs_has_a_place():
    tree = balanced_tree([f"i{v}" for v in range(6)], 3)
    cells = icicle(weighed(tree, [0] * 6), tree.root)
    assert {cell.node for cell in cells} == set(range(tree.n_nodes))
    one = icicle(weighed(tree, [9, 9, 9, 0, 0, 0]), tree.root)
    assert one[-1].more is not None or len([cell for cell in one if cell.level == 1]) == 2


def test_a_leaf_is_a_window_of_one_cell():
    tree = balanced_tree(["a", "b", "c"], 2)
    widths = weighed(tree, [1, 2, 3])
    assert icicle(widths, 1) == [(1, 0, 0.0, 1.0, None)]
    assert [widths.place(v) for v in widths.children(tree.root)] == list(range(widths.fanout(tree.root)))


def test_the_size_of_a_window_depends_on_its_width_alone():
    tree = balanced_tree([f"i{v}" for v in range(70_000)], 40)
    widths = weighed(tree, np.random.default_rng(1).zipf(1.3, 70_000).clip(max=100_000))
    for width in (200.0, 1200.0):
        cells = icicle(widths, tree.root, width=width)
        per_level = np.bincount([cell.level for cell in cells])
        assert per_level.max() <= 2 * width
