"""What a reader answers to queries, against plain code, against estimates of counts, and against the truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from random_trees import path
from shoal.analysis.answers import FLATTEN_SETS, ROUNDS, item_weights, reader_estimates
from shoal.analysis.evidence import FLATTEN, Evidence
from shoal.hierarchy.files import read_hierarchy
from shoal.hierarchy.meanings import token_meanings
from shoal.loss.queries import Among, Query, answers, estimates
from shoal.loss.workloads import random_workload
from shoal.records.baskets import Baskets
from shoal.records.records import Column, Records
from shoal.records.samples.grocery import grocery
from strategies import worlds

ITEMS = "ABCDE"


def label(members):
    return members[0] if len(members) == 1 else f"({','.join(members)})"


@st.composite
def releases(draw):
    """(the class of each row, its tokens as tuples of items): tokens of a row may overlap."""
    token = st.sets(st.sampled_from(ITEMS), min_size=1, max_size=4).map(lambda some: tuple(sorted(some)))
    rows = draw(st.lists(st.tuples(st.sampled_from("xy"), st.sets(token, max_size=3)), min_size=1, max_size=8))
    return [group for group, _ in rows], [sorted(tokens) for _, tokens in rows]


def nested(tokens):
    return all(not a & b or a <= b or b <= a for a in tokens for b in tokens)


def plain_weights(rows):
    """By item: how often it stands as itself, or what expectation maximization adds to that, flattened."""
    tokens = {frozenset(token) for row in rows for token in row}
    support = {token: sum(token in map(frozenset, row) for row in rows) for token in tokens}
    own = {item: support.get(frozenset(item), 0) + 0.5 for item in ITEMS}
    if nested(tokens):
        return {item: own[item] ** FLATTEN for item in ITEMS}
    count = dict(own)
    for _ in range(ROUNDS):
        shares = {
            (item, token): support[token] * count[item] / sum(count[one] for one in token)
            for token in tokens
            if len(token) > 1
            for item in token
        }
        count = {item: own[item] + sum(n for (one, _), n in shares.items() if one == item) for item in ITEMS}
    return {item: count[item] ** FLATTEN_SETS for item in ITEMS}


def plain_estimate(groups, rows, wanted_group, wanted):
    """Row by row, straight from the definition."""
    weight, n = plain_weights(rows), len(rows)

    def share(token):
        return sum(token in row for row in rows) / n

    def chance(item, token):
        if len(token) == 1:
            return 1.0
        f = min(share(token), 1 - 0.5 / n)
        return (1 - (1 - f) ** (weight[item] / sum(weight[one] for one in token))) / f

    def together(items, row):
        found, seen = 1.0, []
        for item in sorted(items):
            covering = [token for token in row if item in token]
            if not covering:
                return 0.0
            found *= 1 - np.prod([1 - chance(item, token) for token in covering])
            narrowest = min(covering, key=len)
            found *= share(narrowest) if narrowest in seen else 1
            seen.append(narrowest)
        return found

    counts = [sum(together({item}, row) for row in rows) for item in wanted]
    met = [row for group, row in zip(groups, rows, strict=True) if wanted_group in (None, group)]
    return min(sum(together(wanted, row) for row in met), len(met), *counts)


def narrowest_is_clear(rows):
    """Of two tokens of one size that cover the same item in a row, either may be the narrowest."""
    return all(
        len({len(token) for token in row if item in token}) == sum(item in token for token in row)
        for row in rows
        for item in ITEMS
    )


@settings(max_examples=200, deadline=None)
@given(releases(), st.sampled_from("xyz"), st.sets(st.sampled_from(ITEMS), min_size=1, max_size=3))
def test_queries_are_answered_as_plain_code_answers_them(release, group, wanted):
    groups, rows = release
    if not narrowest_is_clear(rows) or not any(rows):
        return
    shown = Baskets.from_rows([label(token) for token in row] for row in rows)
    column = Column.from_texts("group", "quasi", groups)
    published = Records((column,), shown)
    original = Records((column,), Baskets.from_rows([[*ITEMS] for _ in rows]))
    conditions = () if group == "z" else (Among("group", frozenset(group)),)
    [found] = reader_estimates(published, [Query(conditions, frozenset(wanted))], original)
    assert found == pytest.approx(plain_estimate(groups, rows, None if group == "z" else group, wanted))


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sets(st.sampled_from(ITEMS), min_size=1), min_size=1, max_size=6))
def test_tokens_are_nested_as_plain_code_finds_them(sets):
    tokens = sorted({label(sorted(one)) for one in sets})
    assert token_meanings(tokens, ITEMS).nested == nested({frozenset(one) for one in sets})


@settings(max_examples=100, deadline=None)
@given(worlds(min_leaves=2, max_leaves=6, max_rows=8), st.data())
def test_under_a_tree_a_reader_answers_what_counts_are_estimated_by(world, data):
    tree, rows, _, _ = world
    shown = [[data.draw(st.sampled_from(path(tree, leaf))) for leaf in sorted(row)] for row in rows]
    if np.any(tree.only_child >= 0) or not any(shown):
        return
    published = Baskets.from_rows([tree.names[v] for v in row] for row in shown)
    leaves = data.draw(st.lists(st.integers(0, tree.n_leaves - 1), min_size=1, max_size=3, unique=True))
    original = Baskets.from_rows([tree.labels[leaf] for leaf in range(tree.n_leaves)] for _ in rows)
    evidence = Evidence(published, tree)
    guess = min(evidence.rows_of(some).guess for some in (leaves, *([leaf] for leaf in leaves)))
    [found] = reader_estimates(published, [Query((), frozenset(tree.labels[v] for v in leaves))], original, tree)
    assert found == pytest.approx(guess)


def test_what_was_deleted_is_put_back_but_not_for_sensitive_items():
    rows = Baskets.from_rows([["A", "B"], ["A"], ["B"], ["A", "B"]])
    queries = [Query((), frozenset(one)) for one in ("A", "B", "AB")]
    assert reader_estimates(rows, queries).tolist() == [3, 3, 2]
    more = reader_estimates(rows, queries, deleted=0.25)
    assert (more > [3, 3, 2]).all()
    table = Records((), rows, sensitive_items=frozenset("A"))
    assert reader_estimates(table, queries, deleted=0.25).tolist() == pytest.approx([3, *more[1:2], more[2]])


def test_no_items_are_asked_for():
    table = Records((Column.from_texts("sex", "quasi", ["F", "M", "F"]),), Baskets.from_rows([["A"], [], ["B"]]))
    assert reader_estimates(table, [Query((Among("sex", frozenset("F")),))]).tolist() == [2]
    assert reader_estimates(table, [Query((Among("sex", frozenset("F")),), frozenset("A"))]).tolist() == [1]


def test_weights_do_not_depend_on_rows_where_nothing_is_generalized():
    meanings = token_meanings(["A", "B"], ["A", "B"])
    assert item_weights(meanings, np.array([4, 1])).tolist() == pytest.approx([4.5**FLATTEN, 1.5**FLATTEN])


@pytest.mark.parametrize("algorithm", ["local", "lra", "exact"])
def test_a_reader_is_nearer_the_truth_than_any_set_of_items(algorithm, tmp_path):
    data, paths = grocery(2000, seed=3)
    (tmp_path / "tree.csv").write_text("".join(f"{';'.join(path)}\n" for path in paths))
    tree = read_hierarchy(tmp_path / "tree.csv")
    release = shoal.anonymize(data, shoal.KmAnonymity(5, 2), hierarchy=tree, algorithm=algorithm)
    asked = random_workload(data, 100, "items", 1)
    truth = answers(data, asked)
    told = (
        reader_estimates(release.published, asked, data, tree, deleted=release.loss["deleted"]),
        estimates(release.published, asked, data, tree),
    )
    reader, paper = (float((np.abs(one - truth) / np.maximum(truth, 1)).mean()) for one in told)
    assert reader < 0.5 * paper
