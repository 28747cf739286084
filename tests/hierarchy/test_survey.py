import json

import numpy as np
from hypothesis import given

from random_trees import trees
from shoal.hierarchy.build import balanced_tree
from shoal.hierarchy.spec import Values
from shoal.hierarchy.survey import Fit, outline, summary
from shoal.hierarchy.tree import Hierarchy

STORE = Hierarchy.from_parents(
    [4, 4, 5, 6, 7, 7, 7, -1], ["ham", "sausage", "milk", "candle", "sausage", "dairy", "rest", "*"], "store"
)


def test_an_outline_shows_each_node_above_its_children():
    assert list(outline(STORE)) == [
        (0, "*", 4),
        (1, "sausage", 2),
        (2, "ham", 1),
        (2, "sausage", 1),
        (1, "dairy", 1),
        (2, "milk", 1),
        (1, "rest", 1),
        (2, "candle", 1),
    ]


def test_an_outline_stops_at_a_depth_and_folds_long_lists():
    h = balanced_tree([str(i) for i in range(1, 11)], 10)
    assert list(outline(h, depth=0)) == [(0, "*", 10)]
    assert list(outline(h, limit=2)) == [(0, "*", 10), (1, "1", 1), (1, "2", 1), (1, "... 8 more", 8)]
    assert len(list(outline(h, limit=9))) == 11  # one more line says as much as the one that would stand for it


@given(trees())
def test_a_whole_outline_has_a_line_for_every_node(h):
    lines = list(outline(h))
    assert sorted(line.label for line in lines) == sorted(h.labels)
    assert sum(line.leaves for line in lines if line.indent == 1) == h.n_leaves


def test_a_summary_gives_the_shape_in_figures():
    assert json.loads(json.dumps(summary(STORE))) == {
        "source": "store",
        "leaves": 4,
        "nodes": 8,
        "height": 2,
        "nodes_per_level": [1, 3, 4],
        "widest": {"label": "*", "children": 3},
        "single_child_nodes": 2,
        "repeated_labels": 1,
    }


def test_problems_come_gravest_first():
    found = Fit.of(STORE, Values(["ham", "milk", "candle", "tea"], np.array([9, 5, 2, 1]))).findings(5)
    assert [(f.kind, f.grade, f.labels) for f in found] == [
        ("missing", "error", ("tea",)),
        ("rare", "warning", ("rest",)),
        ("unused", "note", ("sausage",)),
        ("chain", "note", ("dairy", "rest")),
        ("repeated", "note", ("sausage",)),
    ]
    assert found[0].text.startswith(
        "1 item is in the data but not among the leaves; add it, or hang it under the root (unknown="
    )
    assert "1 top-level node is rarer than k = 5, so" in found[1].text
    assert "12.50% of all occurrences" in found[1].text


def test_a_category_without_data_is_not_rare():
    found = Fit.of(STORE, Values(["ham"], np.array([9]))).findings(5)
    assert "rare" not in [f.kind for f in found]


def test_rarity_needs_a_k_and_a_good_hierarchy_has_no_problems():
    items = [str(i) for i in range(25)]
    fit = Fit.of(balanced_tree(items, 5), Values(items, np.ones(25, np.int64)))
    assert fit.findings() == []
    assert [finding.kind for finding in fit.findings(6)] == ["rare"]
