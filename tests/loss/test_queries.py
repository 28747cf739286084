"""Query workloads and ARE, against all worlds that a published table may stand for."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_rt as naive
from rt_tables import FIGURE_1A, FIGURE_1B, HIERARCHIES, KINDS, as_records, column, example, tables, tree
from shoal.algorithms.rt.transaction import set_label
from shoal.errors import InputError
from shoal.hierarchy.build import balanced_tree
from shoal.hierarchy.spec import column_hierarchy
from shoal.loss.queries import MOST_ITEMS, Among, Between, Query, answers, are, estimates, relative_errors
from shoal.loss.workloads import random_workload
from shoal.records.baskets import Baskets
from shoal.records.records import MISSING, Column, Records
from strategies import baskets_of, worlds

ITEMS = "ABCD"


def subsets(members):
    """All non-empty ones."""
    return list(chain.from_iterable(combinations(members, size) for size in range(1, len(members) + 1)))


def meets(query, values, items):
    """Whether a record, values by column name, is counted; a missing number is None."""
    for condition in query.conditions:
        value = values[condition.column]
        if isinstance(condition, Between):
            if value is None or not condition.low <= value <= condition.high:
                return False
        elif ("" if value is None else str(value)) not in condition.values:
            return False
    return query.items <= items


def naive_estimate(query, rows):
    """Per row, the share of its possible worlds that meet the query, added up. A row is (possible values by column, tokens as sets)."""
    total = Fraction(0)
    for columns, tokens in rows:
        possible = met = 0
        for values in product(*columns.values()):
            for chosen in product(*map(subsets, tokens)):
                possible += 1
                met += meets(query, dict(zip(columns, values, strict=True)), set(chain.from_iterable(chosen)))
        total += Fraction(met, possible)
    return total


def numbers_in(text, numbers):
    """The numbers, None for a missing one, that a published text stands for."""
    if text == "*":
        known = [n for n in numbers if n is not None]
        return [*range(min(known), max(known) + 1), *([None] if None in numbers else [])]
    if text.startswith("["):
        low, high = map(int, text[1:-1].split(":"))
        return list(range(low, high + 1))
    return [int(text) if text else None]


@st.composite
def publications(draw):
    """(original rows, published texts, tokens as sets of items) with the same number of rows. Tokens may overlap."""
    rows = draw(tables(max_rows=4, items=ITEMS))
    numbers = [n for (n, _), _ in rows]
    known = sorted({n for n in numbers if n is not None})
    texts = [str(n) for n in known] + ([""] if None in numbers else []) + (["*"] if known else [])
    texts += [f"[{a}:{b}]" for a, b in combinations(known, 2)]
    sets = st.sets(st.sampled_from(ITEMS), min_size=1, max_size=3).map(lambda some: tuple(sorted(some)))
    published = [
        (
            draw(st.sampled_from(texts)),
            draw(st.sampled_from([*"abcde", "ab", "cd", "*"])),
            sorted(draw(st.sets(sets, max_size=3))),
        )
        for _ in rows
    ]
    return rows, published


def queries():
    number = st.one_of(
        st.none(),
        st.tuples(st.integers(-1, 7), st.integers(0, 5)).map(lambda at: Between("n", at[0], at[0] + at[1])),
        st.sets(st.sampled_from(["", *"0123456"]), min_size=1).map(lambda some: Among("n", frozenset(some))),
    )
    name = st.one_of(
        st.none(), st.sets(st.sampled_from("abcde"), min_size=1).map(lambda some: Among("name", frozenset(some)))
    )
    items = st.sets(st.sampled_from(ITEMS)).map(frozenset)
    return st.builds(lambda n, c, i: Query(tuple(x for x in (n, c) if x), i), number, name, items)


@settings(max_examples=150, deadline=None)
@given(publications(), st.lists(queries(), min_size=1, max_size=4))
def test_estimates_are_shares_of_all_possible_worlds(case, workload):
    rows, published = case
    original, trees = as_records(rows)
    original = Records(original.columns, Baskets.from_rows([*original.items.rows(), ITEMS]).take(np.arange(len(rows))))
    numbers = [n for (n, _), _ in rows]
    table = Records(
        (
            Column.from_texts("n", "quasi", [n for n, _, _ in published], numeric=False),
            Column.from_texts("name", "quasi", [name for _, name, _ in published]),
        ),
        Baskets.from_rows([set_label(token, set()) for token in tokens] for _, _, tokens in published),
    )
    slow = [
        ({"n": numbers_in(n, numbers), "name": sorted(naive.leaves(KINDS, name))}, tokens)
        for n, name, tokens in published
    ]
    expected = [float(naive_estimate(query, slow)) for query in workload]
    found = estimates(table, workload, original, trees)
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert np.array_equal(found, estimates(table, workload, original, trees, threads=1))


@settings(max_examples=150, deadline=None)
@given(tables(items=ITEMS), st.lists(queries(), min_size=1, max_size=6))
def test_answers_count_rows(rows, workload):
    records, trees = as_records(rows)
    counts = [sum(meets(q, {"n": n, "name": name}, set(items)) for (n, name), items in rows) for q in workload]
    assert answers(records, workload).tolist() == counts
    # Nothing is generalized: nothing is estimated.
    assert estimates(records, workload, records, trees).tolist() == counts
    assert are(records, records, workload, trees) == 0.0


@settings(max_examples=100, deadline=None)
@given(worlds(max_leaves=6, max_rows=5), st.data())
def test_categories_of_baskets_stand_for_the_leaves_below_them(world, data):
    """Nodes of one row may lie below each other; a sensitive item below a node is none of its possible items."""
    hierarchy, rows, _, _ = world
    leaves = hierarchy.labels[: hierarchy.n_leaves]
    hidden = set(data.draw(st.sets(st.sampled_from(leaves), max_size=1)))
    order, span = hierarchy.leaf_order, hierarchy.span
    below = {name: {leaves[v] for v in order[span[i, 0] : span[i, 1]]} for i, name in enumerate(hierarchy.names)}
    below = {name: some if len(some) == 1 and name in some else some - hidden for name, some in below.items()}
    tokens = sorted(name for name, some in below.items() if some)
    published = [sorted(data.draw(st.sets(st.sampled_from(tokens), max_size=3))) for _ in rows]
    workload = [Query((), frozenset(data.draw(st.sets(st.sampled_from(leaves), min_size=1, max_size=3))))]
    table = Records((), Baskets.from_rows(published), sensitive_items=frozenset(hidden))
    slow = [({}, [sorted(below[token]) for token in row]) for row in published]
    found = estimates(table, workload, baskets_of(rows, hierarchy), hierarchy)
    assert found[0] == pytest.approx(float(naive_estimate(workload[0], slow)), rel=1e-12, abs=1e-12)


def test_figure_1b_by_hand():
    """Fig. 1b: E, F, (A,B,C,D), G and Europe with four leaves."""
    texts = list(zip(*(values for values, _ in FIGURE_1B), strict=True))
    published = Records(
        tuple(
            Column.from_texts(name, "quasi", some)
            for name, some in zip(("Age", "Origin", "Gender"), texts, strict=True)
        ),
        Baskets.from_rows(items for _, items in FIGURE_1B),
        sensitive_items=frozenset("GH"),
    )
    workload = [
        Query((Between("Age", 20, 30),)),  # 2 x 3/4 of [19:22], 2 x 3/12 of [28:39]
        Query((Among("Origin", frozenset({"Greece", "Nigeria"})),)),  # 4 x 1/4, 2 x 1/2
        Query((), frozenset("A")),  # in 5 rows, 8/15 each
        Query((), frozenset("AB")),  # 4/15, not (8/15)^2
        Query((), frozenset("ABCD")),
        Query((), frozenset("AG")),  # 8/15 in rows 0 and 2; G is certain
        Query((Among("Gender", frozenset({"Male"})),), frozenset("EG")),  # row 0, and half of row 4
    ]
    found = estimates(published, workload, example(), HIERARCHIES)
    assert found == pytest.approx([2.0, 2.0, 5 * 8 / 15, 5 * 4 / 15, 5 / 15, 16 / 15, 1.5])
    exact = answers(example(), workload)
    assert exact.tolist() == [2, 2, 1, 0, 0, 0, 1]
    errors = np.abs(found - exact) / np.maximum(exact, 1)
    assert relative_errors(example(), published, workload, HIERARCHIES) == pytest.approx(errors)
    assert are(example(), published, workload, HIERARCHIES) == pytest.approx(errors.mean())
    assert are(example(), published, workload, HIERARCHIES, sanity=10) == pytest.approx(
        np.abs(found - exact).mean() / 10
    )


def test_a_token_of_thousands_of_items_overflows_nowhere():
    items = [f"i{v}" for v in range(5000)]
    original = Baskets.from_rows([items])
    published = Baskets.from_rows([[set_label(items, set())]])
    workload = [Query((), frozenset(items[:q])) for q in (1, 2, MOST_ITEMS)]
    assert estimates(published, workload, original) == pytest.approx([0.5, 0.25, 0.5**MOST_ITEMS])
    root = balanced_tree(original.vocabulary, 5)
    by_label = estimates(Baskets.from_rows([[root.names[-1]]]), workload, original, root)
    assert by_label == pytest.approx([0.5, 0.25, 0.5**MOST_ITEMS])


def test_what_was_left_out_is_taken_to_be_absent():
    original = Baskets.from_rows(["AB", "A", "B"])
    published = Baskets.from_rows(["A", "A", ""])
    assert estimates(published, [Query((), frozenset("B")), Query((), frozenset("Z"))], original).tolist() == [0, 0]
    assert are(original, published, [Query((), frozenset("B"))]) == 1.0


def test_numbers_that_are_not_whole_are_measured_by_length():
    original = Records((column("x", [0.5, 1.5, 2.0, 4.5, None]),))
    published = Records((Column.from_texts("x", "quasi", ["[0.5:4.5]", "[0.5:4.5]", "2.0", "", "*"]),))
    workload = [
        Query((Between("x", 1.5, 2.5),)),
        Query((Between("x", 2, 2),)),
        Query((Among("x", frozenset({"2", MISSING})),)),
        Query((Between("x", -np.inf, np.inf),)),
    ]
    # `*` is missing with chance 1/5: four numbers occur, and a missing one.
    assert estimates(published, workload, original) == pytest.approx([0.5 + 1 + 0.2, 1.0, 2.2, 3.8])


def test_half_open_intervals_of_whole_numbers():
    original = Records((column("age", [20, 21, 24, 25]),))
    published = Records((Column.from_texts("age", "quasi", ["[20:25)", "[20:25)", "[20:25)", "25"]),))
    assert estimates(published, [Query((Between("age", 24, 25),))], original) == pytest.approx([3 / 5 + 1])
    intervals = column_hierarchy(original["age"], "intervals:5")
    named = Records((Column.from_texts("age", "quasi", ["[20:24]", "[20:24]", "[20:24]", "25"]),))
    # By their hierarchy, intervals are the three ages that occur.
    found = estimates(named, [Query((Between("age", 24, 25),))], original, {"age": intervals})
    assert found == pytest.approx([3 / 3 + 1])


def test_categories_published_as_sets_and_stars():
    original = Records((column("town", ["Bonn", "Ulm", "Kiel", "a,b"]),))
    published = Records((Column.from_texts("town", "quasi", ["(Bonn,Ulm)", "*", '(Kiel,"a,b")', "Ulm"]),))
    workload = [Query((Among("town", frozenset({name})),)) for name in ("Ulm", "a,b")]
    assert estimates(published, workload, original) == pytest.approx([0.5 + 0.25 + 1, 0.25 + 0.5])


@pytest.mark.parametrize("label", ["(A,B)", "((A,B))", '("A",B)'])
def test_set_labels_are_read_as_they_are_written(label):
    original = Baskets.from_rows(["AB"])
    assert estimates(Baskets.from_rows([[label]]), [Query((), frozenset("A"))], original) == pytest.approx([2 / 3])


def test_set_labels_with_commas_quotes_and_brackets():
    names = ["a,b", 'say "x"', "(c)", "d"]
    original = Baskets.from_rows([names])
    published = Baskets.from_rows([[set_label(names, {"d"})]])
    workload = [Query((), frozenset([name])) for name in names]
    assert estimates(published, workload, original) == pytest.approx([8 / 15] * 4)


@pytest.mark.parametrize("kind", ["relational", "items", "mixed"])
def test_random_queries_are_seeded_and_never_answered_by_none(kind):
    records = example()
    workload = random_workload(records, 60, kind, seed=3)
    assert workload == random_workload(records, 60, kind, seed=3)
    assert workload != random_workload(records, 60, kind, seed=4)
    assert len(workload) == 60
    assert answers(records, workload).min() >= 1
    assert {len(query.conditions) for query in workload} == {0 if kind == "items" else 2}
    assert {len(query.items) for query in workload} == {0 if kind == "relational" else 2}
    assert are(records, records, workload, HIERARCHIES) == 0.0


def test_random_queries_about_given_columns_and_more_items():
    workload = random_workload(example(), 20, "mixed", columns=["Age"], n_items=3)
    assert {condition.column for query in workload for condition in query.conditions} == {"Age"}
    assert {len(query.items) for query in workload} == {3}
    missing = Records((column("n", [None, None], numeric=True),))
    assert set(random_workload(missing, 3)) == {Query((Among("n", frozenset({MISSING})),))}


def test_one_class_of_everything_leads_queries_astray():
    records = example()
    workload = random_workload(records, 80, "mixed", n_items=2)
    rows = [("[19:70]", "All", "All") for _ in FIGURE_1A]
    published = Records(
        tuple(
            Column.from_texts(name, "quasi", some)
            for name, some in zip(("Age", "Origin", "Gender"), zip(*rows, strict=True), strict=True)
        ),
        Baskets.from_rows(
            [set_label("ABCDEF", set()), *(item for item in items if item in "GH")] for _, items in FIGURE_1A
        ),
        sensitive_items=frozenset("GH"),
    )
    assert are(records, published, workload, HIERARCHIES) > 0.5


def test_empty_tables_and_empty_workloads():
    none = Baskets.from_rows([])
    assert answers(none, [Query(), Query((), frozenset("A"))]).tolist() == [0, 0]
    assert are(none, none, []) == 0.0
    assert answers(Baskets.from_rows(["", "A"]), [Query()]).tolist() == [2]


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        (lambda: Query((Between("n", 0, 1), Among("n", frozenset("a")))), "two conditions on column 'n'"),
        (lambda: Query((), frozenset(map(str, range(MOST_ITEMS + 1)))), "at most"),
        (lambda: Between("n", 2, 1), "no number from 2 to 1"),
        (lambda: random_workload(example(), kind="all"), "not known"),
        (lambda: random_workload(Baskets.from_rows(["A"]), kind="mixed"), "ask for columns"),
        (lambda: random_workload(Baskets.from_rows(["A"]), kind="items"), "no row holds 2 items"),
        (lambda: random_workload(Records((column("n", [1]),)), kind="items"), "the table has none"),
        (lambda: random_workload(example(), n_items=0), "1 to"),
        (lambda: answers(example(), [Query((Between("Origin", 0, 1),))]), "'Origin' is not numeric"),
        (lambda: answers(example(), [Query((Between("town", 0, 1),))]), "no column 'town'"),
        (lambda: answers(Records((column("n", [1]),)), [Query((), frozenset("A"))]), "the table has none"),
        (lambda: are(example(), example(), [Query()], sanity=0), "sanity"),
        (
            lambda: estimates(Baskets.from_rows([["(A,Q)", "food"]]), [Query((), frozenset("A"))], example()),
            "2 published items are neither",
        ),
        (
            lambda: estimates(
                Records((column("Origin", ["Asia"]),)), [Query((Among("Origin", frozenset()),))], example(), HIERARCHIES
            ),
            "a published value is neither",
        ),
        (
            lambda: estimates(Records((column("Age", ["[9:x]"]),)), [Query((Between("Age", 0, 1),))], example()),
            "neither an original value nor a range",
        ),
    ],
)
def test_refusals(asked, complaint):
    with pytest.raises(InputError, match=complaint):
        asked()


def test_a_release_by_algorithm_is_estimated_from_its_rows_and_trees_alone():
    import shoal

    rng = np.random.default_rng(1)
    values = [(int(rng.integers(0, 60)), "abcde"[rng.integers(5)]) for _ in range(300)]
    rows = [(v, sorted(set(rng.choice(list("ABCDEFGH"), rng.integers(0, 5)).tolist()))) for v in values]
    records, _ = as_records(rows)
    trees = {"name": tree(KINDS)}
    release = shoal.anonymize(records, shoal.RTAnonymity(5, 2), hierarchy=trees)
    for kind in ("relational", "items", "mixed"):
        workload = random_workload(records, 40, kind)
        found = estimates(release.published, workload, records, trees)
        assert np.all((found >= 0) & (found <= len(rows)))
        assert 0 < are(records, release.published, workload, trees) < 5
    # Every row counts once: the estimates for all categories add up to the rows.
    split = [Query((Among("name", frozenset({name})),)) for name in "abcde"]
    assert estimates(release.published, split, records, trees).sum() == pytest.approx(300)
    everything = [Query((Between("n", 0, 60),))]
    assert estimates(release.published, everything, records, trees) == pytest.approx([300])


@pytest.mark.parametrize("promise", ["km", "k"])
def test_releases_of_baskets_are_estimated_too(promise):
    import shoal

    rng = np.random.default_rng(2)
    baskets = Baskets.from_rows([str(i) for i in rng.choice(20, rng.integers(1, 6), replace=False)] for _ in range(200))
    guarantee = shoal.KmAnonymity(4, 2) if promise == "km" else shoal.KAnonymity(4)
    hierarchy = balanced_tree(baskets.vocabulary, 3) if promise == "km" else None
    release = shoal.anonymize(baskets, guarantee, hierarchy=hierarchy)
    workload = random_workload(baskets, 50, "items")
    assert 0 < are(baskets, release.published, workload, hierarchy) < 20
    if promise == "k":
        # What is published is taken at its word.
        assert np.array_equal(estimates(release.published, workload, baskets), answers(release.published, workload))
