"""What an edit of a tree costs, counted and not timed, and that the fast ways give what the slow ones do."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.app.jobs.queue import Jobs
from shoal.app.panels.hierarchies import column_tree as kept_trees
from shoal.app.panels.hierarchies.column_tree import ColumnTree
from shoal.app.panels.hierarchies.loaded_tree import Loaded
from shoal.app.panels.hierarchies.tree_browser import Browser
from shoal.app.panels.hierarchies.tree_values import keep_values, kept_values, needs
from shoal.app.project.drafts import begin
from shoal.app.project.workspace import Workspace
from shoal.errors import InputError
from shoal.hierarchy.build import balanced_tree
from shoal.hierarchy.edit import hang, merge, merge_into, move, remove, rename
from shoal.hierarchy.files import read_hierarchy
from shoal.hierarchy.spec import Values
from strategies import trees


def values_of(tree):
    return Values(tree.labels[: tree.n_leaves], np.arange(1, tree.n_leaves + 1))


@given(trees(max_leaves=9))
def test_what_is_counted_over_arrays_is_what_one_counts_by_hand(tree):
    loaded = Loaded.of(tree, values_of(tree)).warm()
    below = [[] for _ in range(tree.n_nodes)]
    for leaf in range(tree.n_leaves):
        v = leaf
        while v >= 0:
            below[v].append(leaf)
            v = int(tree.parent[v])
    assert tree.leaf_count.tolist() == [len(leaves) for leaves in below]
    assert loaded.first.tolist() == [min(leaves) for leaves in below]
    assert loaded.counts.tolist() == [sum(leaf + 1 for leaf in leaves) for leaves in below]
    for v in range(tree.n_nodes):
        assert loaded.children(v) == sorted(tree.children[v], key=lambda child: min(below[child]))
        assert loaded.fanout(v) == len(tree.children[v])
        assert loaded.node(tree.names[v]) == v
    assert loaded.node("nowhere") is None


@given(trees(max_leaves=9), st.data())
def test_after_an_edit_the_counts_are_those_of_the_tree_loaded_anew(tree, data):
    before = Loaded.of(tree, values_of(tree))
    inner = st.integers(tree.n_leaves, tree.n_nodes - 1)
    verbs = [
        lambda: rename(tree, data.draw(inner), "another"),
        lambda: move(tree, [data.draw(st.integers(0, tree.n_nodes - 1))], data.draw(inner)),
        lambda: remove(tree, data.draw(inner)),
        lambda: hang(tree, ["new"], data.draw(inner)),
    ]
    try:
        after = data.draw(st.sampled_from(verbs))()
    except InputError:
        return
    quick, slow = before.after(after, values_of(tree)), Loaded.of(after, values_of(tree))
    for name in ("counts", "first"):
        assert getattr(quick, name).tolist() == getattr(slow, name).tolist()
    assert [quick.node(name) for name in after.names] == list(range(after.n_nodes))
    assert (quick.missing, quick.known) == (slow.missing, slow.known)


class Bench:
    """A project whose tree has so many items."""

    def __init__(self, folder, items):
        workspace = Workspace(folder)
        names = [f"i{v:06}" for v in range(items)]
        (folder / "data.csv").write_text("items\n" + "".join(f"{name}\n" for name in names))
        self.workspace, self.jobs = workspace, Jobs(workspace)
        self.project = workspace.new_project("data")
        begin(self.project, folder / "data.csv")
        self.need = needs(self.project)[0]
        keep_values(self.project)
        self.tree = ColumnTree(self.project, self.need, kept_values(self.project, self.jobs)[self.need.column])
        self.project.change({"hierarchies": "balanced:20"})
        assert self.loaded().tree.n_leaves == items

    def loaded(self):
        return self.tree.load(self.workspace, self.jobs)

    def edit(self, verb):
        loaded = self.loaded()
        self.tree.edit(loaded, lambda tree: verb(tree, loaded), "did it")
        return Browser(self.loaded())


def merge_two(tree, loaded):
    return merge(tree, loaded.children(loaded.children(tree.root)[0])[:2], "two")


def melt(tree, loaded):
    one, other = loaded.children(loaded.children(tree.root)[0])[:2]
    return merge_into(tree, one, other)


def move_one(tree, loaded):
    tops = loaded.children(tree.root)
    return move(tree, [loaded.children(tops[0])[0]], tops[1])


EDITS = {
    "rename": lambda tree, loaded: rename(tree, loaded.children(tree.root)[0], "another"),
    "move": move_one,
    "merge": merge_two,
    "merge into": melt,
    "take out": lambda tree, loaded: remove(tree, loaded.children(tree.root)[0]),
}


def calls(work):
    """How many functions are called, Python's own and those of C."""
    count = 0

    def note(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_is_done_over_arrays(tmp_path, name):
    """Ten times the items take hardly more calls: one per item, where labels are put into another order, and none without."""
    counted, undone = [], []
    for items in (2_000, 20_000):
        folder = tmp_path / str(items)
        folder.mkdir()
        bench = Bench(folder, items)
        bench.edit(lambda tree, loaded: rename(tree, tree.root, "all"))  # what is loaded at the first time is loaded
        counted.append(calls(lambda bench=bench: bench.edit(EDITS[name])))
        undone.append(calls(lambda bench=bench: (bench.tree.step(-1), bench.loaded())))
    more = counted[1] - counted[0]
    assert more < (0.1 if name == "rename" else 1.2) * 18_000, counted
    assert undone[1] - undone[0] < 1_000, undone


def test_the_way_back_is_in_memory_and_on_disk(tmp_path, monkeypatch):
    bench = Bench(tmp_path, 500)
    for number in range(5):
        bench.edit(lambda tree, loaded, number=number: rename(tree, tree.root, f"all {number}"))

    def refuse(path):
        raise AssertionError(f"{path} was read")

    with monkeypatch.context() as patched:
        patched.setattr(kept_trees, "read_hierarchy", refuse)
        for number in (3, 2, 1, 0):
            bench.tree.step(-1)
            assert bench.loaded().tree.names[-1] == f"all {number}"
    kept_trees._LOADED.clear()  # as after a restart
    kept_trees._READ.clear()
    bench.tree.step(1)
    assert bench.loaded().tree.names[-1] == "all 1"
    assert read_hierarchy(bench.project.folder / bench.tree.spec).names[-1] == "all 1"


def test_memory_for_the_way_back_has_a_bound(monkeypatch):
    monkeypatch.setattr(kept_trees, "KEPT_NODES", 40)
    monkeypatch.setattr(kept_trees, "_LOADED", type(kept_trees._LOADED)())
    tree = balanced_tree([f"i{v}" for v in range(10)], 10)
    for number in range(8):
        kept_trees.hold((number,), Loaded.of(tree, values_of(tree)))
    assert list(kept_trees._LOADED) == [(5,), (6,), (7,)]
    large = balanced_tree([f"i{v}" for v in range(100)], 10)
    kept_trees.hold(("large",), Loaded.of(large, values_of(large)))
    assert list(kept_trees._LOADED) == [("large",)]
