"""Estimates from a release, against the truth, against plain code, and with what nobody should ask."""

from __future__ import annotations

import doctest
import json
from itertools import combinations
from math import log1p

import numpy as np
import polars
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from random_trees import path
from shoal.analysis import counts
from shoal.analysis.evidence import FLATTEN, Evidence
from shoal.hierarchy.tree import Hierarchy
from shoal.records.baskets import Baskets
from shoal.records.samples.grocery import grocery
from strategies import worlds

TREE = Hierarchy.from_parents(
    [5, 5, 6, 6, 7, 7, 7, 8, -1], ["milk", "cheese", "bread", "rolls", "soap", "dairy", "bakery", "food", "everything"]
)


@st.composite
def releases(draw):
    """(tree, original rows of leaves, published rows of nodes, share deleted): every occurrence goes anywhere above it, or away."""
    tree, rows, _, _ = draw(worlds(min_leaves=2, max_leaves=6, max_rows=8))
    deleting = draw(st.booleans())
    published, gone, total = [], 0, 0
    for row in rows:
        tokens = set()
        for leaf in sorted(row):
            fates = [*path(tree, leaf), *([None] if deleting else [])]
            fate = draw(st.sampled_from(fates))
            total += 1
            gone += fate is None
            tokens |= set() if fate is None else {fate}
        published.append(tokens)
    return tree, rows, published, gone / max(1, total)


def published_baskets(tree, published):
    return Baskets.from_rows([tree.names[v] for v in row] for row in published)


@settings(max_examples=200, deadline=None)
@given(releases(), st.data())
def test_the_truth_is_always_within_the_certain_range(world, data):
    tree, rows, published, gone = world
    items = [tree.labels[leaf] for leaf in range(tree.n_leaves)]
    sets = [list(one) for size in (1, 2, 3) for one in combinations(items, size)]
    if gone == 1:
        return  # nothing is left to speak of
    found = shoal.estimate_counts(published_baskets(tree, published), sets, hierarchy=tree, deleted=gone)
    for wanted, count in zip(sets, found, strict=True):
        leaves = {items.index(name) for name in wanted}
        truth = sum(leaves <= set(row) for row in rows)
        assert count.least <= truth <= count.most
        assert count.least <= count.low <= count.value <= count.high <= count.most
    one, other = data.draw(st.permutations(range(tree.n_leaves)))[:2]
    first, second, both = (sum(leaves <= set(row) for row in rows) for leaves in ({one}, {other}, {one, other}))
    if first and second:
        [rule] = shoal.estimate_rules(
            published_baskets(tree, published), [(items[one], items[other])], hierarchy=tree, deleted=gone
        )
        figures = (both / len(rows), both / first, both * len(rows) / (first * second))
        for figure, found_range in zip(figures, (rule.support, rule.confidence, rule.lift), strict=True):
            assert found_range.least - 1e-9 <= figure <= found_range.most + 1e-9
            assert found_range.low <= found_range.value + 1e-9
            assert found_range.value <= found_range.high + 1e-9


def plain_rows(tree, published, leaves):
    """(sure, possible, guess): row by row, straight from the definition."""
    stands = [sum(v in row for row in published) for v in range(tree.n_nodes)]
    weight = [(stands[leaf] + 0.5) ** FLATTEN for leaf in range(tree.n_leaves)]
    below = {
        v: sum(weight[leaf] for leaf in range(tree.n_leaves) if v in path(tree, leaf)) for v in range(tree.n_nodes)
    }
    n = len(published)
    sure, possible, guess = 0, 0, 0.0
    for row in published:
        chance, lowest = 1.0, []
        for leaf in leaves:
            covering = [v for v in path(tree, leaf) if v in row]
            if not covering:
                chance = None
                break
            absent = 1.0
            for v in covering:
                share = min(stands[v] / n, 1 - 0.5 / n)
                absent *= 1 - (1 if v == leaf else (1 - (1 - share) ** (weight[leaf] / below[v])) / share)
            chance *= 1 - absent
            if covering[0] in lowest:
                chance *= stands[covering[0]] / n
            lowest.append(covering[0])
        if chance is None:
            continue
        possible += 1
        guess += chance
        sure += all(leaf in row for leaf in leaves)
    return sure, possible, guess


def without_single_children(tree, row):
    lowest = set()
    for v in row:
        while tree.only_child[v] >= 0:
            v = int(tree.only_child[v])
        lowest.add(v)
    return lowest


@settings(max_examples=150, deadline=None)
@given(releases(), st.data())
def test_rows_are_counted_as_plain_code_counts_them(world, data):
    tree, _, published, _ = world
    published = [without_single_children(tree, row) for row in published]
    leaves = data.draw(st.lists(st.integers(0, tree.n_leaves - 1), min_size=1, max_size=3, unique=True))
    evidence = Evidence(published_baskets(tree, published), tree)
    found = evidence.rows_of(leaves)
    assert (found.sure, found.possible) == plain_rows(tree, published, leaves)[:2]
    assert found.guess == pytest.approx(plain_rows(tree, published, leaves)[2])
    assert found.low <= found.guess + 1e-9
    assert found.guess <= found.high + 1e-9


@settings(max_examples=100, deadline=None)
@given(releases(), st.integers(1, 8))
def test_common_pairs_are_those_that_stand_most_often(world, n):
    tree, _, published, _ = world
    published = [without_single_children(tree, row) for row in published]
    evidence = Evidence(published_baskets(tree, published), tree)
    times = {pair: sum(set(pair) <= row for row in published) for pair in combinations(range(tree.n_leaves), 2)}
    best = sorted((t for t in times.values() if t), reverse=True)[:n]
    assert [times[tuple(sorted(pair))] for pair in evidence.common_pairs(n)] == best


def test_a_release_that_changed_nothing_is_exact():
    rows = [["milk", "bread"], ["milk"], ["soap"], []]
    [milk, pair, none] = shoal.estimate_counts(rows, ["milk", ["bread", "milk"], ["soap", "milk"]], hierarchy=TREE)
    assert (milk.value, milk.low, milk.high, milk.least, milk.most) == (2, 2, 2, 2, 2)
    assert (pair.items, pair.value, pair.most) == (("bread", "milk"), 1, 1)
    assert (none.value, none.most) == (0, 0)
    [rule] = shoal.estimate_rules(rows, [("milk", "bread")], hierarchy=TREE)
    assert (rule.support.value, rule.confidence.value, rule.lift.value) == (0.25, 0.5, 2.0)


def test_rows_of_a_category_are_shared_out_and_bounded():
    rows = [["milk"]] * 6 + [["dairy"]] * 4 + [["soap"]] * 990
    milk, cheese = shoal.estimate_counts(rows, ["milk", "cheese"], hierarchy=TREE)
    assert (milk.least, milk.most) == (6, 10)
    assert (cheese.least, cheese.most) == (0, 4)
    assert milk.value - 6 > cheese.value > 0
    weight = 6.5**0.25 / (6.5**0.25 + 0.5**0.25)
    assert milk.value == pytest.approx(6 + 4 * (1 - np.exp(log1p(-0.004) * weight)) / 0.004)


def test_where_no_item_of_a_category_stands_as_itself_the_range_reaches_all_its_rows():
    [milk] = shoal.estimate_counts([["dairy"]] * 40 + [["soap"]] * 60, ["milk"], hierarchy=TREE)
    assert (milk.high, milk.most) == (40, 40)
    assert milk.low < milk.value < milk.high


def test_deletions_raise_the_estimate_and_the_certain_range():
    rows = [["milk", "bread"]] * 50 + [["soap"]] * 100
    [milk] = shoal.estimate_counts(rows, ["milk"], hierarchy=TREE, deleted=0.2)
    assert milk.least == 50
    assert milk.most == 50 + 50  # a fifth of all is a quarter of the 200 that are left
    assert 50 < milk.value < milk.high <= milk.most
    [rolls] = shoal.estimate_counts(rows, ["rolls"], hierarchy=TREE, deleted=0.2)
    assert (rolls.value, rolls.high) == (0, 50)


def test_a_node_above_a_single_item_says_the_item():
    tree = Hierarchy.from_parents([2, 3, 3, -1], ["a", "b", "only a", "all"])
    [count] = shoal.estimate_counts([["only a"], ["a"], ["all"]], ["a"], hierarchy=tree)
    assert (count.least, count.most) == (2, 3)


def test_all_items_are_estimated_unless_some_are_named():
    assert [count.items[0] for count in shoal.estimate_counts([["milk"]], hierarchy=TREE)] == list(TREE.labels[:5])


def test_pairs_and_rules_that_are_published_are_found():
    rows = [["milk", "bread"]] * 3 + [["milk", "soap"]] * 2 + [["dairy", "soap"]]
    pairs = shoal.estimate_pairs(rows, hierarchy=TREE)
    assert [(pair.items, pair.least) for pair in pairs] == [(("milk", "bread"), 3), (("milk", "soap"), 2)]
    rules = shoal.estimate_rules(rows, top=1, hierarchy=TREE)
    assert [(rule.given, rule.then) for rule in rules] == [(("milk",), ("bread",)), (("bread",), ("milk",))]
    assert shoal.estimate_pairs([["food"]], hierarchy=TREE) == []


def test_estimates_become_rows_of_a_frame():
    rows = [["milk", "bread"], ["dairy"]]
    frame = polars.DataFrame([count.to_dict() for count in shoal.estimate_counts(rows, hierarchy=TREE)])
    assert frame.columns == ["value", "low", "high", "least", "most", "items"]
    rules = polars.DataFrame([rule.to_dict() for rule in shoal.estimate_rules(rows, hierarchy=TREE)])
    assert {"given", "then", "support", "support_low", "confidence_most", "lift"} <= set(rules.columns)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """The demo's baskets and tree, and a release by hybrid with its files."""
    folder = tmp_path_factory.mktemp("store")
    baskets, paths = grocery()
    (folder / "tree.csv").write_text("\n".join(";".join(row) for row in paths))
    tree = shoal.read_hierarchy(folder / "tree.csv")
    release = shoal.anonymize(baskets, shoal.KmAnonymity(5, 3), hierarchy=tree, algorithm="hybrid")
    release.write(folder / "public.jsonl", folder / "public.json")
    return folder, baskets, tree, release


def test_readers_and_owners_estimate_from_what_each_of_them_has(store):
    folder, baskets, tree, release = store
    truth = dict(zip(baskets.vocabulary, baskets.supports().tolist(), strict=True))
    items = sorted(truth, key=lambda name: -truth[name])[:100]
    certificate = folder / "public.json"
    readers = shoal.estimate_counts(
        folder / "public.jsonl", items, hierarchy=folder / "tree.csv", certificate=certificate
    )
    owners = shoal.estimate_counts(release, items)
    for count in (*readers, *owners):
        assert count.least <= truth[count.items[0]] <= count.most
    for estimates in (readers, owners):
        assert np.mean([count.low <= truth[count.items[0]] <= count.high for count in estimates]) >= 0.95
    assert all(own.most <= other.most for own, other in zip(owners, readers, strict=True))
    frame = shoal.to_pandas(release.published)
    assert shoal.estimate_counts(frame, items, hierarchy=tree, certificate=certificate) == readers


def tree_of_paths(paths):
    above = {row[i]: row[i + 1] for row in paths for i in range(len(row) - 1) if row[i] != row[i + 1]}
    names = list(dict.fromkeys(name for row in paths for name in row))
    return Hierarchy.from_parents([names.index(above[name]) if name in above else -1 for name in names], names)


@pytest.mark.parametrize("algorithm", ["exact", "hybrid", "lra"])
def test_estimates_are_nearer_the_truth_than_what_stands_in_the_file(algorithm):
    baskets, paths = grocery(4000)
    tree = tree_of_paths(paths)
    release = shoal.anonymize(baskets, shoal.KmAnonymity(5, 2), hierarchy=tree, algorithm=algorithm)
    true = shoal.estimate_pairs(baskets, hierarchy=tree)
    counted = shoal.estimate_pairs(release, [pair.items for pair in true])
    covered = [one.low <= pair.value <= one.high for pair, one in zip(true, counted, strict=True)]
    errors = [
        np.mean([abs(getattr(one, part) - pair.value) / pair.value for pair, one in zip(true, counted, strict=True)])
        for part in ("value", "least")
    ]
    assert all(one.least <= pair.value <= one.most for pair, one in zip(true, counted, strict=True))
    assert np.mean(covered) >= 0.9
    assert errors[0] < errors[1]


@pytest.mark.parametrize("algorithm", ["local", "lra"])
def test_ranges_of_items_that_never_stand_as_themselves_hold_the_truth(algorithm):
    """Shops at random: 97 of 100 ranges are to hold."""
    held = hidden = 0
    for seed in range(3):
        shop, paths = grocery(6_000, seed=seed)
        release = shoal.anonymize(shop, shoal.KmAnonymity(5, 2), hierarchy=tree_of_paths(paths), algorithm=algorithm)
        in_truth = dict(zip(shop.vocabulary, shop.supports().tolist(), strict=True))
        for count in shoal.estimate_counts(release, shop.vocabulary):
            if count.items[0] not in release.published.vocabulary:
                assert count.least <= in_truth[count.items[0]] <= count.most
                hidden += 1
                held += count.low <= in_truth[count.items[0]] <= count.high
    assert hidden > 200
    assert held >= 0.97 * hidden, (held, hidden)


def test_a_certificate_that_keeps_the_share_back_still_says_what_was_allowed(store, tmp_path):
    folder, *_ = store
    facts = json.loads((folder / "public.json").read_text())
    del facts["loss"]["deleted"]
    (tmp_path / "c.json").write_text(json.dumps(facts))
    known = {"hierarchy": folder / "tree.csv"}
    [told], [untold] = (
        shoal.estimate_counts(folder / "public.jsonl", ["apples"], certificate=certificate, **known)
        for certificate in (folder / "public.json", tmp_path / "c.json")
    )
    assert untold.most >= told.most


def test_a_certificate_of_another_file_is_refused(store, tmp_path):
    folder, *_ = store
    (tmp_path / "other.jsonl").write_text('["apples"]\n')
    with pytest.raises(shoal.InputError, match="certificate of another file"):
        shoal.estimate_counts(
            tmp_path / "other.jsonl", hierarchy=folder / "tree.csv", certificate=folder / "public.json"
        )


ROWS = [["milk"]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: shoal.estimate_counts(ROWS), "need the hierarchy"),
        (lambda: shoal.estimate_counts(ROWS, "milk", hierarchy=TREE), "put a single one into one"),
        (lambda: shoal.estimate_counts(ROWS, [[]], hierarchy=TREE), "an empty set is in every row"),
        (lambda: shoal.estimate_counts(ROWS, [[f"{i}" for i in range(99)]], hierarchy=TREE), "99 items is too large"),
        (lambda: shoal.estimate_counts(ROWS, [7], hierarchy=TREE), "given by name"),
        (lambda: shoal.estimate_counts(ROWS, ["gin"], hierarchy=TREE), "not among its leaves"),
        (lambda: shoal.estimate_counts([["gin"]], hierarchy=TREE), "1 published token is no node of it"),
        (lambda: shoal.estimate_counts(ROWS, hierarchy=TREE, deleted=1.5), "deleted"),
        (lambda: shoal.estimate_counts(ROWS, hierarchy=TREE, deleted=0.1, certificate="c.json"), "either of the two"),
        (lambda: shoal.estimate_pairs(ROWS, [["milk", "milk"]], hierarchy=TREE), "two different items"),
        (lambda: shoal.estimate_pairs(ROWS, top=0, hierarchy=TREE), "top"),
        (lambda: shoal.estimate_rules(ROWS, ["milk"], hierarchy=TREE), "what is given and what follows"),
        (lambda: shoal.estimate_rules(ROWS, [("milk", ["milk", "soap"])], hierarchy=TREE), "different items"),
    ],
)
def test_bad_requests_get_one_clear_sentence(call, message):
    with pytest.raises(shoal.InputError, match=message):
        call()


def test_the_examples_in_the_docstrings_run():
    assert doctest.testmod(counts).failed == 0
