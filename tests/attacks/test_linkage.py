"""The linkage attack, against a look at every published record for every person."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rt_tables import FIGURE_1A, FIGURE_1B, HIERARCHIES, KINDS, example, tables
from rt_tables import as_records as table_of
from shoal.attacks.linkage import linkage
from shoal.errors import InputError
from shoal.hierarchy.build import balanced_tree
from shoal.hierarchy.meanings import token_meanings
from shoal.records.baskets import Baskets
from shoal.records.records import Column, Records

TOKENS = {"a": "a", "b": "b", "c": "c", "d": "d", "(a,b)": "ab", "(b,c,d)": "bcd", "(c,d)": "cd"}


@settings(max_examples=150)
@given(
    st.lists(st.sets(st.sampled_from("abcd")), min_size=1, max_size=10),
    st.lists(st.sets(st.sampled_from(sorted(TOKENS))), min_size=1, max_size=10),
    st.integers(0, 3),
    st.integers(0, 5),
)
def test_a_record_matches_if_it_may_hold_all_that_is_known(original, published, m, seed):
    original = [*original, set("abcd")]
    found = linkage(Baskets.from_rows(original), Baskets.from_rows(published), m=m, k=3, seed=seed)
    assert found.people.tolist() == list(range(len(original)))
    for row, known, before, after in zip(
        original, found.known, found.before.tolist(), found.after.tolist(), strict=True
    ):
        assert set(known) <= row
        assert len(known) == min(m, len(row))
        assert before == sum(set(known) <= other for other in original)
        assert after == sum(all(any(item in TOKENS[t] for t in other) for item in known) for other in published)
    figures = found.to_dict()["after"]
    assert figures["singled_out"] == sum(n == 1 for n in found.after.tolist())
    assert figures["fewer_than_k"] == sum(0 < n < 3 for n in found.after.tolist())
    assert figures["not_found"] == sum(n == 0 for n in found.after.tolist())


def may_be(value, text):
    """Whether a published text may stand for a number (None: missing)."""
    if text == "*":
        return True
    if text.startswith("["):
        low, high = map(int, text[1:-1].split(":"))
        return value is not None and low <= value <= high
    return text == ("" if value is None else str(value))


@settings(max_examples=150)
@given(tables(max_rows=8, items="ABC"), st.data())
def test_values_are_matched_through_ranges_and_trees(rows, data):
    original, trees = table_of(rows)
    above = {name: {name, KINDS[name], "*"} for name in "abcde"}
    numbers = st.sampled_from(["*", "[0:3]", "[2:6]", "5", ""])
    texts = [(data.draw(numbers), data.draw(st.sampled_from([*"abcde", "ab", "cd", "*"]))) for _ in rows]
    columns = (
        Column.from_texts("n", "quasi", [n for n, _ in texts], numeric=False),
        Column.from_texts("name", "quasi", [name for _, name in texts]),
    )
    known_names = {v for values, _ in rows for v in [values[1]]}
    published = Records(columns, original.items)
    found = linkage(original, published, trees, m=1, k=2)
    for (values, _), known, after in zip(rows, found.known, found.after.tolist(), strict=True):
        assert after == sum(
            may_be(values[0], n) and name in above[values[1]] and set(known) <= set(items)
            for (n, name), (_, items) in zip(texts, rows, strict=True)
        )
    assert known_names <= set(above)


def test_the_papers_figure_hides_people_from_who_knows_either_but_not_from_who_knows_both():
    """Figure 1b is 2-anonymous in its columns and 2^2-anonymous in its items, and still gives four of six people away."""
    columns = zip(*(values for values, _ in FIGURE_1B), strict=True)
    published = Records(
        tuple(
            Column.from_texts(name, "quasi", values)
            for name, values in zip(("Age", "Origin", "Gender"), columns, strict=True)
        ),
        Baskets.from_rows(items for _, items in FIGURE_1B),
        sensitive_items=frozenset("GH"),
    )
    original = example()
    assert linkage(original, published, HIERARCHIES, m=0, k=2).after.tolist() == [2] * 6
    items = [Records((), side.items, sensitive_items=frozenset("GH")) for side in (original, published)]
    assert linkage(*items, m=2, k=2).after.min() >= 2
    both = linkage(original, published, HIERARCHIES, m=2, k=2)
    assert both.before.tolist() == [1] * len(FIGURE_1A)
    assert both.after.tolist() == [2, 2, 1, 1, 1, 1]
    assert both.to_dict()["after"]["singled_out"] == 4
    assert all(set(known) <= set("ABCDEF") for known in both.known)


def test_tokens_are_read_by_the_hierarchy_or_the_rules():
    original = Baskets.from_rows([["a", "c"], ["b", "c"], ["d"]])
    tree = balanced_tree(original.vocabulary, 2)
    token = tree.names[int(tree.parent[tree.leaves_of(["a"])[0]])]
    published = Baskets.from_rows([[token, "c"], [token, "c"], ["d"]])
    by_tree = linkage(original, published, tree, m=2, k=2)
    assert by_tree.after.tolist() == [2, 2, 1]
    meanings = token_meanings(published.vocabulary, original.vocabulary, rules={token: ("a", "b")})
    by_rules = linkage(original, published, meanings=meanings, m=2, k=2)
    assert by_rules.after.tolist() == [2, 2, 1]
    with pytest.raises(InputError, match="give the hierarchy or the rules"):
        linkage(original, published)


def test_the_sample_is_drawn_by_the_seed():
    baskets = Baskets.from_rows([[str(i), str(i % 7), "x"] for i in range(200)])
    first, again, other = (linkage(baskets, baskets, sample=50, seed=seed) for seed in (3, 3, 4))
    assert len(first) == 50
    assert first.people.tolist() == again.people.tolist()
    assert first.known == again.known
    assert first.people.tolist() != other.people.tolist()
    assert first.before.tolist() == first.after.tolist()


def test_no_items_no_people_and_refusals():
    empty = Baskets.from_rows([[], []])
    assert linkage(empty, empty).after.tolist() == [2, 2]
    assert linkage(empty, empty, sample=0).to_dict()["after"]["median"] == 0.0
    with pytest.raises(InputError, match="m must be a whole number of at least 0"):
        linkage(empty, empty, m=-1)
