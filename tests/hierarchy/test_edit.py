from __future__ import annotations

import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import InputError
from shoal.hierarchy.edit import hang, merge, merge_into, move, remove, rename, set_apart, unambiguous
from shoal.hierarchy.files import read_hierarchy, write_hierarchy
from shoal.hierarchy.tree import Hierarchy
from strategies import trees


def store():
    labels = ["apple", "pear", "leek", "cod", "fruit", "greens", "fish", "plants", "*"]
    return Hierarchy(np.array([4, 4, 5, 6, 7, 7, 8, 8, -1], np.int32), tuple(labels), 4)


def node(tree, label):
    return tree.labels.index(label)


def outline(tree):
    """{label: label of its parent}, a slow and obvious view."""
    return {
        label: None if p < 0 else tree.labels[p] for label, p in zip(tree.labels, tree.parent.tolist(), strict=True)
    }


def covered(tree):
    """{label: the items below it}."""
    found = {label: set() for label in tree.labels}
    for leaf in range(tree.n_leaves):
        v = leaf
        while v >= 0:
            found[tree.labels[v]].add(tree.labels[leaf])
            v = int(tree.parent[v])
    return found


def test_a_node_gets_another_name():
    tree = rename(store(), 4, "  sweet things ")
    assert outline(tree)["apple"] == "sweet things"
    assert tree.labels[:4] == store().labels[:4]


def test_a_node_moves_with_all_below_it():
    tree = move(store(), [node(store(), "greens")], node(store(), "fish"))
    assert outline(tree) == outline(store()) | {"greens": "fish"}
    assert covered(tree)["fish"] == {"cod", "leek"}


def test_what_is_left_without_children_goes():
    tree = store()
    tree = move(tree, [node(tree, "fruit")], tree.root)
    assert outline(tree)["plants"] == "*"
    tree = move(tree, [node(tree, "leek")], node(tree, "fish"))
    assert "greens" not in tree.labels
    assert "plants" not in tree.labels
    assert covered(tree)["fish"] == {"leek", "cod"}


def test_siblings_become_one_new_node():
    before = store()
    tree = merge(move(before, [node(before, "fish")], node(before, "plants")), [4, 5], "garden")
    assert outline(tree)["garden"] == "plants"
    assert covered(tree)["garden"] == {"apple", "pear", "leek"}
    assert not {"fruit", "greens"} & set(tree.labels)


def test_items_are_put_under_a_new_node():
    before = hang(store(), ["plum"], node(store(), "fruit"))
    tree = merge(before, [node(before, "apple"), node(before, "plum")], "round")
    assert outline(tree) | {"plum": "round", "round": "fruit"} == outline(tree)
    assert set(tree.labels[: tree.n_leaves]) == {"apple", "pear", "leek", "cod", "plum"}


def test_a_merged_node_may_take_the_name_of_one_of_them():
    before = hang(store(), ["salt"], node(store(), "plants"))
    tree = merge(before, [node(before, "fruit"), node(before, "salt")], "fruit")
    assert covered(tree)["fruit"] == {"apple", "pear", "salt"}


def test_what_is_set_apart_hangs_below_the_root():
    before = store()
    tree = set_apart(before, [node(before, "apple"), node(before, "greens")], "left out")
    assert outline(tree)["left out"] == "*"
    assert covered(tree)["left out"] == {"apple", "leek"}
    again = set_apart(tree, [node(tree, "cod")], "left out")
    assert covered(again)["left out"] == {"apple", "leek", "cod"}
    assert "fish" not in again.labels


def test_one_node_is_merged_into_another():
    tree = merge_into(store(), node(store(), "fish"), node(store(), "fruit"))
    assert outline(tree)["cod"] == "fruit"
    assert "fish" not in tree.labels


def test_a_step_is_taken_out():
    tree = remove(store(), node(store(), "plants"))
    assert outline(tree)["fruit"] == "*"
    assert tree.n_nodes == store().n_nodes - 1


def test_missing_items_are_hung_under_a_node():
    tree = hang(store(), ["fig", "date", "fig"], node(store(), "fruit"))
    assert covered(tree)["fruit"] == {"apple", "pear", "fig", "date"}
    assert covered(tree)["fish"] == {"cod"}


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (lambda t: rename(t, 0, "x"), "“apple” is an item of the data"),
        (lambda t: rename(t, 4, "cod"), "“cod” is the name of another node"),
        (lambda t: rename(t, 4, "  "), "needs a name"),
        (lambda t: rename(t, 4, "a\nb"), "one line of text"),
        (lambda t: rename(t, 99, "x"), "no such node"),
        (lambda t: move(t, [8], 4), "“[*]” is the root"),
        (lambda t: move(t, [7], 4), "“fruit” is inside “plants”"),
        (lambda t: move(t, [7], 7), "cannot hang under itself"),
        (lambda t: move(t, [4], 0), "“apple” is an item of the data"),
        (lambda t: move(t, [4], 7), "under “plants” already"),
        (lambda t: move(t, [7, 4], 6), "“fruit” is inside “plants” and moves with it"),
        (lambda t: move(t, [], 6), "no node is chosen"),
        (lambda t: merge(t, [4], "x"), "at least two"),
        (lambda t: merge(t, [4, 6], "x"), "hang under different nodes"),
        (lambda t: merge(t, [4, 5], "x"), "all that hangs under “plants”"),
        (lambda t: merge(hang(t, ["x"], 7), [5, 6], "fish"), "“fish” is the name of another"),
        (lambda t: merge_into(t, 0, 4), "“apple” is an item of the data"),
        (lambda t: merge_into(t, 7, 4), "“fruit” is inside “plants”"),
        (lambda t: merge_into(t, 8, 4), "is the root"),
        (lambda t: remove(t, 8), "is the root"),
        (lambda t: remove(t, 1), "“pear” is an item of the data"),
        (lambda t: set_apart(t, [8], "x"), "“[*]” is the root"),
        (lambda t: set_apart(t, [7, 4], "x"), "“fruit” is inside “plants” and moves with it"),
        (lambda t: set_apart(t, [0], "fruit"), "“fruit” is the name of another"),
        (lambda t: hang(t, ["apple"], 4), "1 item is in the tree already"),
        (lambda t: hang(t, [""], 4), "without a name"),
        (lambda t: hang(t, ["fig"], 0), "nothing can hang under it"),
    ],
)
def test_refusals_say_why(edit, reason):
    with pytest.raises(InputError, match=reason.replace("[*]", r"\*")):
        edit(store())


@st.composite
def edits(draw):
    """A tree, and the same after some random verbs, of which those that refused did nothing."""
    before = after = draw(trees(max_leaves=9))
    for step in range(draw(st.integers(1, 5))):
        inner = st.integers(after.n_leaves, after.n_nodes - 1)
        some = st.lists(st.integers(0, after.n_nodes - 1), min_size=1, max_size=3)
        family = after.children[draw(inner)]
        siblings = st.lists(st.sampled_from(family), min_size=1, max_size=3)
        label = st.just(f"new{step}")
        verb, arguments = draw(
            st.sampled_from(
                [
                    (rename, (inner, label)),
                    (move, (some, inner)),
                    (merge, (siblings, label)),
                    (merge_into, (inner, inner)),
                    (remove, (inner,)),
                    (set_apart, (some, label)),
                ]
            )
        )
        with contextlib.suppress(InputError):
            after = verb(after, *(draw(a) for a in arguments))
    return before, after


@given(edits())
def test_what_comes_out_is_a_tree_over_the_same_items(pair):
    before, after = pair
    Hierarchy(after.parent.copy(), after.labels, after.n_leaves)  # it refuses what is no tree
    assert after.labels[: after.n_leaves] == before.labels[: before.n_leaves]
    assert set(after.labels) <= set(before.labels) | {f"new{step}" for step in range(5)}
    assert all(covered(after).values())


@given(trees(max_leaves=9), st.data())
def test_a_move_changes_the_nodes_it_is_about_alone(tree, data):
    v, parent = (data.draw(st.integers(0, tree.n_nodes - 1)) for _ in range(2))
    try:
        after = move(tree, [v], parent)
    except InputError:
        return
    was, now = covered(tree), covered(after)
    assert now[tree.labels[v]] == was[tree.labels[v]]
    assert outline(after)[tree.labels[v]] == tree.labels[parent]
    for label, links in outline(after).items():
        assert label == tree.labels[v] or links == outline(tree)[label]
    assert {label for label in was if label not in now} == {
        label for label in was if not was[label] - was[tree.labels[v]] and label not in now
    }


@given(trees(max_leaves=9), st.data())
def test_removing_a_node_leaves_all_others_as_they_were(tree, data):
    v = data.draw(st.integers(0, tree.n_nodes - 1))
    try:
        after = remove(tree, v)
    except InputError:
        assert v < tree.n_leaves or v == tree.root
        return
    was = covered(tree)
    del was[tree.labels[v]]
    assert covered(after) == was


def test_repeated_labels_become_the_published_names(tmp_path):
    tree = Hierarchy(np.array([3, 3, 4, 4, -1], np.int32), ("ham", "pate", "tofu", "ham", "*"), 3)
    plain = unambiguous(tree)
    assert plain.labels == tree.names
    assert len(set(plain.labels)) == 5
    write_hierarchy(plain, tmp_path / "t.csv", "parent-child")
    assert outline(read_hierarchy(tmp_path / "t.csv")) == outline(plain)
    assert unambiguous(plain) is plain


def test_a_large_tree_is_edited_as_a_whole():
    from shoal.hierarchy.build import balanced_tree

    tree = balanced_tree([f"i{v}" for v in range(70_000)], 10)
    top = tree.top
    after = merge(move(tree, [0, 1, 2], top[-1]), [50_000, 50_001], "pair")
    assert after.n_leaves == 70_000
    assert after.n_nodes == tree.n_nodes + 1
