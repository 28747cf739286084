"""Learned hierarchies: valid for any data, deterministic, at most N children, and worth their name on public data."""

import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from random_trees import leaves_below
from shoal.algorithms.km.exact import exact
from shoal.algorithms.km.learning import WAYS, candidates, grow_groups, learned_tree
from shoal.algorithms.recoding import Options
from shoal.errors import InputError
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.build import frequency_tree
from shoal.hierarchy.learned import mass_tree, relabel, tree_of_groups
from shoal.hierarchy.spec import Values, resolve
from shoal.price.levels import PRICES
from shoal.records.baskets import Baskets

DATA = Path(os.environ.get("SHOAL_DATA") or "nowhere")
ROWS = st.lists(st.sets(st.sampled_from([f"i{i}" for i in range(12)])), min_size=1, max_size=40).filter(any)


def assert_valid(tree, vocabulary, n):
    assert set(tree.labels[: tree.n_leaves]) == set(vocabulary)
    assert tree.n_leaves == len(vocabulary)
    children = np.bincount(tree.parent[:-1], minlength=tree.n_nodes)[tree.n_leaves :]
    assert children.max() <= n
    assert len(vocabulary) == 1 or children.min() >= 2
    assert len(set(tree.names)) == tree.n_nodes
    assert tree.source == f"learned:{n}"


def loss(baskets, tree, promise, price="information"):
    recoding = exact(baskets, promise, tree, Options(price=price))
    assert recoding.optimal
    return recoding.bound


@settings(max_examples=60)
@given(ROWS, st.integers(2, 6), st.none() | st.builds(KmAnonymity, st.integers(1, 6), st.integers(1, 4)))
def test_a_learned_tree_is_valid_for_any_data(rows, n, promise):
    baskets = Baskets.from_rows(rows)
    tree = learned_tree(baskets, n, promise)
    assert_valid(tree, baskets.vocabulary, n)
    again = learned_tree(baskets, n, promise, Options(threads=1))
    assert again.labels == tree.labels
    assert np.array_equal(again.parent, tree.parent)


@settings(max_examples=60)
@given(ROWS, st.integers(2, 5), st.integers(2, 5), st.integers(1, 3), st.sampled_from(PRICES))
def test_the_optimum_is_at_most_what_the_tree_was_chosen_for(rows, n, k, m, price):
    baskets, promise = Baskets.from_rows(rows), KmAnonymity(k, m)
    if len(baskets) - baskets.empty < k:
        return
    for candidate in candidates(baskets, n, promise, Options(price=price)):
        if len(baskets.vocabulary) > 2:
            assert loss(baskets, candidate.tree, promise, price) <= candidate.loss + 1e-9


@settings(max_examples=60)
@given(ROWS, st.sampled_from(WAYS), st.integers(2, 5))
def test_grown_groups_keep_their_promises_one_inside_the_other(rows, way, k):
    baskets = Baskets.from_rows(rows)
    promises = (KmAnonymity(k, 1), KmAnonymity(k, 2), KmAnonymity(k, 3))
    partitions, _ = grow_groups(baskets, way, promises, Options())
    for promise, partition in zip(promises, partitions, strict=True):
        published = Baskets.from_rows([{str(partition[baskets.vocabulary.index(i)]) for i in row} for row in baskets])
        assert promise.audit(published).holds or len(set(partition.tolist())) == 1
    for fine, coarse in pairwise(partitions):
        assert len(set(zip(fine.tolist(), coarse.tolist(), strict=True))) == len(set(fine.tolist()))


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40), st.integers(2, 6), st.data())
def test_every_group_of_every_partition_is_a_node(supports, n, data):
    items = [f"{i:02}" for i in range(len(supports))]
    fine = data.draw(st.lists(st.integers(0, 6), min_size=len(items), max_size=len(items)))
    partitions = [np.array(fine), np.array(fine) // 2]
    tree = tree_of_groups(items, np.array(supports), partitions, n, f"learned:{n}")
    assert_valid(tree, items, n)
    nodes = {frozenset(tree.labels[leaf] for leaf in leaves_below(tree, v)) for v in range(tree.n_nodes)}
    for partition in partitions:
        for group in set(partition.tolist()):
            assert frozenset(items[i] for i in np.flatnonzero(partition == group)) in nodes


@given(st.lists(st.integers(0, 99), min_size=1, max_size=40), st.integers(2, 6))
def test_labels_tell_places_and_sizes_but_no_names(supports, n):
    items = [f"{i:02}" for i in range(len(supports))]
    for tree in (
        mass_tree(items, np.array(supports), n),
        relabel(frequency_tree(items, np.array(supports), n), np.sort(supports)[::-1], f"learned:{n}"),
    ):
        assert_valid(tree, items, n)
        assert tree.labels[-1] == "*"
        for v in range(tree.n_leaves, tree.root):
            first, last = map(int, tree.labels[v][len("learned[") : -1].split(":"))
            assert last - first + 1 == tree.leaf_count[v]


def test_mass_hangs_frequent_items_near_the_root():
    tree = mass_tree(list("abcdefg"), np.array([90, 40, 20, 10, 5, 3, 2]), 2)
    depth = dict(zip(tree.labels, tree.depth.tolist(), strict=True))
    assert depth["a"] == 1
    assert depth["g"] > depth["b"]


@settings(max_examples=100)
@given(st.data(), st.integers(1, 12), st.integers(1, 5), st.integers(0, 7))
def test_mates_are_those_of_the_definition(data, n, window, together):
    from shoal.kernels.itemsets.mates import mates

    sets = data.draw(st.lists(st.sets(st.integers(0, n + 3), max_size=6), min_size=n, max_size=n))
    figures = st.lists(st.integers(1, 9), min_size=n, max_size=n)
    size, occurrences = data.draw(figures), data.draw(figures)
    starts = np.concatenate(([0], np.cumsum([len(s) for s in sets]))).astype(np.int64)
    partners = np.array([p for s in sets for p in sorted(s)], np.int64)
    expected, free = [-1] * n, list(range(n))

    def worth(i, j):
        added = size[i] * occurrences[j] + size[j] * occurrences[i]
        added += sum(occurrences[x] for x in (i, j) if size[x] == 1)
        return (1 + len(sets[i] & sets[j]) + together * (j in sets[i])) / added

    while free:
        i = free.pop(0)
        if near := free[:window]:
            j = max(near, key=lambda j: worth(i, j))
            expected[i], expected[j] = j, i
            free.remove(j)
    found = mates(starts, partners, np.array(size), np.array(occurrences), False, window, together)
    assert found.tolist() == expected


def with_unused_names(rows, unused):
    """Baskets with names that never occur, as a part of larger data has them."""
    baskets = Baskets.from_rows([*rows, [f"unused{i}" for i in range(unused)]])
    return baskets.take(np.arange(len(rows)))


def test_names_that_never_occur_do_not_make_learning_slow(monkeypatch):
    """They cost nothing and mend nothing: whoever merges with them has to merge again."""
    from shoal.algorithms.km import learning

    rows = [[f"i{i % 9}", f"i{i * i % 11}", f"i{i % 4}"] for i in range(40)] + [["alone"]]
    rounds = []
    merge = learning._Groups._merge
    monkeypatch.setattr(learning._Groups, "_merge", lambda self, pairs: rounds.append(len(pairs)) or merge(self, pairs))
    for way in WAYS:
        for unused in (0, 500):
            grow_groups(with_unused_names(rows, unused), way, (KmAnonymity(5, 2),), Options())
    assert len(rounds) < 60
    baskets = with_unused_names(rows, 500)
    assert_valid(learned_tree(baskets, 3, KmAnonymity(5, 2)), baskets.vocabulary, 3)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.integers(2, 5))
def test_mass_makes_no_chain_of_names_that_never_occur(supports, n):
    names = [f"i{i}" for i in range(len(supports) + 200)]
    tree = mass_tree(names, np.array(supports + [0] * 200, np.int64), n)
    assert_valid(tree, names, n)
    assert tree.height <= 2 * len(supports) + 12


def test_the_spec_needs_somebody_who_learns():
    baskets = Baskets.from_rows([{"a", "b"}, {"a", "c"}])
    with pytest.raises(InputError, match="learned from rows of items"):
        resolve("learned:3", Values.of_items(baskets))
    tree = resolve("learned:3", Values.of_items(baskets), learn=lambda n: learned_tree(baskets, n))
    assert_valid(tree, baskets.vocabulary, 3)
    for spec in ("learned", "learned:1", "learned:x"):
        with pytest.raises(InputError, match="is not complete"):
            resolve(spec, Values.of_items(baskets))


@pytest.mark.parametrize(
    "rows", [[{"a"}], [{"a"}] * 9, [{"a", "b"}] * 9, [{str(i)} for i in range(30)], [set("abcde")] * 6]
)
def test_odd_data_has_a_tree_too(rows):
    baskets = Baskets.from_rows(rows)
    for n in (2, 5, 1000):
        for promise in (None, KmAnonymity(5, 2), KmAnonymity(1, 1), KmAnonymity(50, 3)):
            assert_valid(learned_tree(baskets, n, promise), baskets.vocabulary, n)


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("name", ["bms_webview1/bms_webview1.dat.gz", "groceries/groceries.dat.gz"])
def test_the_optimum_is_lower_than_under_frequency_on_public_data(name, m):
    if not (DATA / name).exists():
        pytest.skip("SHOAL_DATA does not name a folder with it")
    from shoal.records.source import read

    baskets, promise = read(DATA / name), KmAnonymity(5, m)
    ours = loss(baskets, learned_tree(baskets, 5, promise), promise)
    assert ours < 0.75 * loss(baskets, frequency_tree(baskets.vocabulary, baskets.supports(), 5), promise)
