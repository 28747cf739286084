"""The RT algorithms on the paper's example (Figures 1 and 2), against their naive twins, and what must hold for any table."""

from __future__ import annotations

import csv
import gzip
import os
from functools import partial
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import naive_rt as naive
from rt_tables import HIERARCHIES, as_naive, as_records, column, example, published_rows, records, tables, tree
from shoal.algorithms.recoding import Options
from shoal.algorithms.rt.cluster_recoding import TRANSACTIONS, RTOptions
from shoal.algorithms.rt.clusters import clusters, joined_alike, number_groups
from shoal.algorithms.rt.joint import joint
from shoal.algorithms.rt.merges import (
    initial_clusters,
    rfirst,
    rmerge_r,
    rmerge_rt,
    rmerge_t,
    tmerge_r,
    tmerge_rt,
    tmerge_t,
)
from shoal.algorithms.rt.merging import ItemOrder, Merging
from shoal.algorithms.rt.task import task_of
from shoal.algorithms.rt.tfirst import tfirst
from shoal.algorithms.rt.transaction import generalize, set_label
from shoal.errors import InputError, Unreachable
from shoal.guarantees.lm import LmDiversity
from shoal.guarantees.rt import RTAnonymity
from shoal.hierarchy.build import balanced_tree
from shoal.records.baskets import Baskets
from shoal.records.records import Records

DATA = Path(os.environ.get("SHOAL_DATA") or "nowhere")
RMERGE = {"r": rmerge_r, "t": rmerge_t, "rt": rmerge_rt}
TMERGE = {"r": tmerge_r, "t": tmerge_t, "rt": tmerge_rt}
EVERYTHING = {"joint": joint, "rfirst": rfirst, "tfirst": tfirst} | {
    f"{name}-{way}": f for name, family in (("rmerge", RMERGE), ("tmerge", TMERGE)) for way, f in family.items()
}
ITEM_TREE = {**dict.fromkeys("ABC", "ABC*"), **dict.fromkeys("DEF", "DEF*"), "ABC*": "*", "DEF*": "*"}

as_printed = partial(RTOptions, transaction="sets")
"""With the items in sets, as the paper has them."""


def parts(of_row):
    """The clusters as sorted lists of rows."""
    return sorted(np.flatnonzero(of_row == c).tolist() for c in np.unique(of_row))


def seed_of(wanted):
    """A seed with which CLUSTER draws the clusters that the paper shows."""
    for seed in range(200):
        found = rfirst(example(), RTAnonymity(2, 2), HIERARCHIES, Options(seed=seed))
        if parts(found.of_row) == wanted:
            return seed
    raise AssertionError(wanted)


class TestFigures:
    """Figure 1a, k = 2, m = 2, with G and H sensitive."""

    table, promise = example(), RTAnonymity(2, 2)
    seed = seed_of([[0, 1], [2, 3], [4, 5]])

    def run(self, algorithm, delta=None):
        found = algorithm(self.table, self.promise, HIERARCHIES, Options(seed=self.seed), as_printed(delta=delta))
        assert self.promise.audit(found.apply(self.table)).holds
        return found

    def rows(self, found):
        return [
            (" ".join(values), " ".join(sorted(items))) for values, items in published_rows(found.apply(self.table))
        ]

    def test_rfirst_gives_the_clusters_and_items_of_figure_2a(self):
        rows = self.rows(self.run(rfirst))
        assert [values for values, _ in rows[::2]] == [
            "[19:22] Europe Male",
            "[28:39] Europe Female",
            "[55:70] Africa All",
        ]
        assert [items for _, items in rows[:2]] == ["(B,D) E F G", "(B,D) E F H"]
        assert [items for _, items in rows[4:]] == ["(A,E,F) G", "(A,E,F) H"]
        # Five items that occur once each: two generalized items, of two and three, as in the figure.
        assert sorted(len(token) for token in rows[2][1].split()) == [1, 5, 7]

    def test_rmerge_r_gives_figure_2c_to_the_letter(self):
        found = self.run(rmerge_r, 0.66)
        assert parts(found.of_row) == [[0, 1, 2, 3], [4, 5]]
        assert self.rows(found) == [
            ("[19:39] Europe All", "(B,C,D) E F G"),
            ("[19:39] Europe All", "(B,C,D) E F H"),
            ("[19:39] Europe All", "(B,C,D) E G"),
            ("[19:39] Europe All", "(B,C,D) F H"),
            ("[55:70] Africa All", "(A,E,F) G"),
            ("[55:70] Africa All", "(A,E,F) H"),
        ]

    def test_rmerge_t_gives_figure_2d(self):
        found = self.run(rmerge_t, 0.8)
        assert parts(found.of_row) == [[0, 1, 4, 5], [2, 3]]
        rows = self.rows(found)
        assert [rows[r] for r in (0, 1, 4, 5)] == [
            ("[19:70] All All", "(A,B,D) E F G"),
            ("[19:70] All All", "(A,B,D) E F H"),
            ("[19:70] All All", "E G"),
            ("[19:70] All All", "(A,B,D) F H"),
        ]
        assert rows[2][0] == "[28:39] Europe Female"

    def test_tfirst_gives_one_group_with_few_generalized_items_as_figure_2b(self):
        rows = self.rows(self.run(tfirst))
        assert {values for values, _ in rows} == {"[19:70] All All"}
        assert sum("," in items for _, items in rows) <= 5

    def test_no_solution_names_the_smallest_delta_that_works(self):
        with pytest.raises(Unreachable, match=r"smallest delta that works is 0\.\d{4}") as refusal:
            self.run(rmerge_r, 0.1)
        self.run(rmerge_r, float(str(refusal.value).split()[-1]))
        with pytest.raises(Unreachable, match="smallest delta that works") as refusal:
            self.run(tmerge_r, 0.05)
        self.run(tmerge_r, float(str(refusal.value).split()[-1]))

    def test_losses_by_hand(self):
        """[19:22] is 3 of 51 years, Europe 4 of 6 countries, and so on; a third each."""
        found = self.run(rfirst)
        age, origin, gender = (3 + 11 + 15) / 51, (4 + 4 + 2) / 6, 1
        assert found.ncp == pytest.approx((age + origin + gender) / 9)
        assert found.ncp_by_column == pytest.approx({"Age": age / 3, "Origin": origin / 3, "Gender": gender / 3})
        assert found.items_ncp == pytest.approx((2 * 2 + (3 + 3 + 2 + 2 + 3) + 3 * 3) / (14 * 6), abs=0.02)


@settings(max_examples=100)
@given(tables(min_rows=4, max_rows=14), st.integers(2, 4), st.integers(0, 5), st.integers(1, 10))
def test_cluster_is_what_its_naive_twin_says(rows, k, seed, weight):
    assume(len(rows) >= k)
    table, hierarchies = as_records(rows)
    task = task_of(table, RTAnonymity(1, 1), hierarchies, Options(), as_printed(weights={"n": float(weight)}))
    of_row, _ = clusters(task.space, k, seed)
    expected = as_naive(rows, weights=[weight, 1]).cluster(k, naive.seeds(seed, len(rows)))
    assert parts(of_row) == expected


@settings(max_examples=80)
@given(
    tables(min_rows=4, max_rows=14, empty=False), st.integers(2, 3), st.sampled_from(["r", "t", "rt"]), st.floats(0, 1)
)
def test_rmerge_is_what_its_naive_twin_says(rows, k, way, share):
    table, hierarchies = as_records(rows)
    naive_table = as_naive(rows)
    start = clusters(task_of(table, RTAnonymity(1, 1), hierarchies, Options(), as_printed()).space, k, 0)[0]
    first = [np.flatnonzero(start == c).tolist() for c in range(start.max() + 1)]
    least = naive_table.rum(first)
    delta = min(1.0, least + share * (1 - least))
    expected = naive_table.rmerge(way, first, delta)
    alike = {}
    for c in expected:
        alike.setdefault(naive_table.published(c), []).extend(c)
    found = RMERGE[way](table, RTAnonymity(k, 1), hierarchies, Options(), as_printed(delta=delta))
    assert parts(found.of_row) == sorted(sorted(c) for c in alike.values())
    assert found.ncp == pytest.approx(naive_table.rum(expected), abs=1e-12)


@settings(max_examples=60)
@given(
    tables(min_rows=4, max_rows=14, empty=False),
    st.integers(2, 3),
    st.sampled_from(["r", "t", "rt"]),
    st.sampled_from(["discernibility", "c-avg"]),
    st.floats(0, 1),
)
def test_rmerge_by_the_sizes_of_classes_is_what_its_naive_twin_says(rows, k, way, measure, share):
    table, hierarchies = as_records(rows)
    naive_table = as_naive(rows)
    naive_table.measure = measure
    start = clusters(task_of(table, RTAnonymity(1, 1), hierarchies, Options(), as_printed()).space, k, 0)[0]
    first = [np.flatnonzero(start == c).tolist() for c in range(start.max() + 1)]
    least = naive_table.rum(first)
    delta = min(1.0, least + share * (1 - least))
    expected = naive_table.rmerge(way, first, delta)
    assert naive_table.rum(expected) <= delta + 1e-9
    alike = {}
    for c in expected:
        alike.setdefault(naive_table.published(c), []).extend(c)
    found = RMERGE[way](table, RTAnonymity(k, 1), hierarchies, Options(), as_printed(delta=delta, rum=measure))
    assert parts(found.of_row) == sorted(sorted(c) for c in alike.values())
    assert found.facts["rum_published"] == pytest.approx(naive_table.rum(list(alike.values())), abs=1e-12)
    told = any("clusters that came out alike" in note for note in found.notes)
    assert told == (found.facts["rum_published"] > delta + 1e-12)


@settings(max_examples=60)
@given(tables(min_rows=4, max_rows=12, empty=False), st.sampled_from(["r", "t", "rt"]), st.floats(0.1, 1))
def test_tmerge_is_what_its_naive_twin_says(rows, way, delta):
    k = 2
    table, hierarchies = as_records(rows)
    task = task_of(table, RTAnonymity(k, 2), hierarchies, Options(), as_printed())
    merging, _ = initial_clusters(task)
    first = [merging.rows(c).tolist() for c in range(len(merging.alive))]

    def ul(found):
        return sum(generalize(task, np.array(sorted(c))).ul for c in found) / len(rows)

    expected = as_naive(rows).tmerge(way, first, delta, ul)
    if ul(expected) > delta + 1e-12:
        with pytest.raises(Unreachable):
            TMERGE[way](table, RTAnonymity(k, 2), hierarchies, Options(), as_printed(delta=delta))
        return
    found = TMERGE[way](table, RTAnonymity(k, 2), hierarchies, Options(), as_printed(delta=delta))
    assert parts(found.of_row) == sorted(sorted(c) for c in expected)
    assert found.ul <= delta + 1e-12
    assert found.ul == pytest.approx(ul(expected), abs=1e-12)


@settings(max_examples=100)
@given(tables(min_rows=2, max_rows=14), st.data())
def test_rum_and_btd_are_kept_up_to_date(rows, data):
    table, hierarchies = as_records(rows)
    naive_table = as_naive(rows)
    of_row, n = number_groups(np.array(data.draw(st.lists(st.integers(0, 5), min_size=len(rows), max_size=len(rows)))))
    task = task_of(table, RTAnonymity(1, 1), hierarchies, Options(), as_printed())
    merging = Merging(task.space, of_row, n)
    order = ItemOrder(task, merging)
    found = {c: np.flatnonzero(of_row == c).tolist() for c in range(n)}
    while len(found) > 1:
        c = data.draw(st.sampled_from(sorted(found)))
        together, apart = merging.beside(c), order.beside(c)
        after = merging.rum_after(c, together)
        for o in found:
            if o != c:
                assert together[o] == pytest.approx(naive_table.ncp(found[c] + found[o]))
                assert apart[o] == naive_table.btd(found[c] + found[o])
                merged = [rows for i, rows in found.items() if i not in (c, o)]
                assert after[o] == pytest.approx(naive_table.rum([*merged, found[c] + found[o]]), abs=1e-12)
        o = data.draw(st.sampled_from(sorted(set(found) - {c})))
        merging.merge(c, o, float(together[o]))
        order.merge(c, o, float(apart[o]))
        found[c] = sorted(found[c] + found.pop(o))
        assert merging.rows(c).tolist() == found[c]
        assert merging.rum == pytest.approx(naive_table.rum(found.values()), abs=1e-12)


@pytest.mark.parametrize("name", EVERYTHING)
@settings(max_examples=60)
@given(tables(min_rows=2, max_rows=20), st.integers(1, 4), st.integers(1, 3), st.sampled_from(TRANSACTIONS))
def test_the_promise_holds_for_any_table(name, rows, k, m, transaction):
    """Sixty random tables per algorithm: audited, checked by brute force, rows kept, sensitive items untouched, bound respected."""
    table, hierarchies = as_records(rows, sensitive="F")
    promise, options = RTAnonymity(k, m), RTOptions(transaction=transaction, delta=1.0)
    try:
        found = EVERYTHING[name](table, promise, hierarchies | {"items": tree(ITEM_TREE)}, Options(), options)
    except Unreachable:
        filled = sum(bool(set(items) - {"F"}) for _, items in rows)
        assert len(rows) < k or 0 < filled < k
        return
    published = found.apply(table)
    assert promise.audit(published).holds
    shown = published_rows(published)
    assert not naive.rt_breaches([v for v, _ in shown], [[t for t in i if t != "F"] for _, i in shown], k, m)
    assert len(shown) == len(rows)
    for (values, tokens), (own, items) in zip(shown, rows, strict=True):
        assert ("F" in tokens) == ("F" in items)
        assert stands_for(values[0], own[0])
        assert own[1] in naive.leaves(as_naive(rows).trees[1], values[1])
        meant = {t: set(t.strip("()").split(",")) if "*" not in t else naive.leaves(ITEM_TREE, t) for t in tokens}
        assert all(any(i in meaning for meaning in meant.values()) for i in items)
        assert all(meaning & set(items) for meaning in meant.values())
    assert 0 <= found.ncp <= 1 + 1e-12
    assert 0 <= found.items_ncp <= 1
    assert found.facts["smallest_cluster"] >= k


def stands_for(text, number):
    if number is None:
        return text in ("", "*")
    if text == "*":
        return True
    low, _, high = text.strip("[]").partition(":")
    return int(low) <= number <= int(high or low)


@settings(max_examples=60)
@given(tables(min_rows=6, max_rows=24), st.sampled_from(sorted(RMERGE)), st.integers(2, 3), st.floats(0, 1))
def test_rmerge_respects_its_bound(rows, way, k, delta):
    table, hierarchies = as_records(rows)
    try:
        found = RMERGE[way](table, RTAnonymity(k, 2), hierarchies, Options(), as_printed(delta=delta))
    except Unreachable:
        return
    assert found.ncp <= delta + 1e-11
    merged = RMERGE[way](table, RTAnonymity(k, 2), hierarchies, Options(), as_printed(delta=1.0))
    assert merged.facts["clusters"] <= found.facts["clusters"]


@settings(max_examples=60)
@given(
    tables(min_rows=2, max_rows=20),
    st.integers(1, 3),
    st.integers(2, 3),
    st.integers(1, 3),
    st.sampled_from(["sets", "aa", "local"]),
)
def test_lm_diversity_holds_for_any_table(rows, k, l, m, transaction):  # noqa: E741
    table, hierarchies = as_records(rows, sensitive="EF")
    promise, options = LmDiversity(k, l, m), RTOptions(transaction=transaction, delta=1.0)
    for algorithm in (joint, rfirst, rmerge_r, tfirst):
        try:
            found = algorithm(table, promise, hierarchies | {"items": tree(ITEM_TREE)}, Options(), options)
        except Unreachable:
            filled = [row for row in rows if set(row[1]) - set("EF")]
            bad = len(rows) < k or 0 < len(filled) < k
            for some in (rows, filled):
                bad |= any(l * sum(s in items for _, items in some) > len(some) for s in "EF")
            assert bad
            return
        assert promise.audit(found.apply(table)).holds


def items_of_many(n=600, n_items=40, seed=0):
    """A table large enough for clusters that differ: numbers, and items that follow them."""
    rng = np.random.default_rng(seed)
    return as_records(
        [
            (
                (int(age), str(rng.choice(list("abcde")))),
                {f"i{int(x) % n_items}" for x in rng.exponential(n_items * age / 500, 4)},
            )
            for age in rng.integers(20, 80, n)
        ]
    )


def ul_path(table, hierarchies, k):
    """UL as clusters merge, a third of them at a time."""
    task = task_of(table, RTAnonymity(k, 2), hierarchies, Options(), as_printed())
    merging, _ = initial_clusters(task)
    path = []
    while True:
        path.append(sum(generalize(task, rows).ul for rows in merging.clusters()) / len(table))
        left = int(np.count_nonzero(merging.alive))
        if left == 1:
            return path
        for _ in range(max(1, left // 3)):
            merging.join_nearest(merging.seed())


def test_ul_falls_as_clusters_merge():
    path = ul_path(*items_of_many(1000, 400), 10)
    assert path[-1] < path[0] / 2
    assert all(after < before + 0.01 for before, after in pairwise(path))


@pytest.mark.skipif(not DATA.exists(), reason="SHOAL_DATA is not set")
def test_ul_falls_with_every_third_of_the_merges_on_diabetes():
    path = ul_path(diabetes(4000), {}, 25)
    assert path == sorted(path, reverse=True)
    assert path[-1] < path[0] / 10


@pytest.mark.skipif(not DATA.exists(), reason="SHOAL_DATA is not set")
@pytest.mark.parametrize("name", ["rmerge-r", "rmerge-t", "rmerge-rt"])
def test_diabetes_keeps_its_promise(name):
    table = diabetes(20_000)
    found = EVERYTHING[name](table, RTAnonymity(25, 2), {}, Options(), as_printed())
    assert RTAnonymity(25, 2).audit(found.apply(table)).holds
    assert found.ncp <= 0.65
    assert found.items_ncp < 0.1


def diabetes(n):
    """The first n patients of Diabetes-130."""
    with gzip.open(DATA / "diabetes130" / "diabetes130_rt.csv.gz", "rt") as file:
        rows = list(islice(csv.DictReader(file), n))
    columns = tuple(column(name, [row[name] for row in rows], numeric=False) for name in ("race", "gender", "age"))
    return Records(columns, Baskets.from_rows(row["items"].split() for row in rows))


@pytest.mark.parametrize("name", EVERYTHING)
def test_threads_and_runs_change_nothing(name):
    table, hierarchies = items_of_many(300)
    one, two, other = (
        EVERYTHING[name](table, RTAnonymity(5, 2), hierarchies, Options(threads=t, seed=s), as_printed(delta=0.7))
        for t, s in ((1, 3), (2, 3), (2, 4))
    )
    assert np.array_equal(one.of_row, two.of_row)
    assert one.loss == two.loss
    assert one.apply(table).items == two.apply(table).items
    assert name == "tfirst" or not np.array_equal(one.of_row, other.of_row)


@pytest.mark.parametrize("way", ["t", "rt"])
def test_ordering_by_ul_is_the_slow_twin_of_btd(way):
    table, hierarchies = items_of_many(200)
    losses = {}
    for ordering in ("btd", "ul"):
        found = RMERGE[way](table, RTAnonymity(5, 2), hierarchies, Options(), as_printed(delta=0.6, ordering=ordering))
        assert RTAnonymity(5, 2).audit(found.apply(table)).holds
        losses[ordering] = found.ul
    assert losses["btd"] <= 2 * losses["ul"] + 0.05


def test_mondrian_forms_clusters_too():
    table, hierarchies = items_of_many()
    for algorithm in (rfirst, rmerge_t):
        found = algorithm(table, RTAnonymity(5, 2), hierarchies, Options(), as_printed(formation="mondrian"))
        assert RTAnonymity(5, 2).audit(found.apply(table)).holds
        assert found.facts["formation"] == "mondrian"


def test_a_cluster_with_too_few_filled_rows_joins_its_nearest():
    rows = [((n, "a"), ["A"] if n == 0 else []) for n in (0, 1)] + [((n, "b"), ["A", "B"]) for n in (8, 9)]
    table, hierarchies = as_records(rows)
    found = rfirst(table, RTAnonymity(2, 2), hierarchies, Options(seed=0))
    assert RTAnonymity(2, 2).audit(found.apply(table)).holds
    assert parts(found.of_row) == [[0, 1, 2, 3]]
    merged = rmerge_r(table, RTAnonymity(2, 2), hierarchies, Options(seed=0), as_printed(delta=1.0))
    assert "joined with the nearest" in merged.notes[0]


class TestRefusals:
    def test_k_larger_than_the_table(self):
        with pytest.raises(Unreachable, match="only 6 rows"):
            rfirst(example(), RTAnonymity(7, 2), HIERARCHIES, Options())

    def test_too_few_rows_with_items(self):
        table = records([((1, "a", "b"), [i] if i == "A" else []) for i in "AXXX"])
        with pytest.raises(Unreachable, match="only 1 row holds any item"):
            rfirst(table, RTAnonymity(2, 2), {}, Options())

    def test_a_sensitive_item_that_too_many_have(self):
        table = records(
            [((1, "a", "b"), ["A", "HIV"]), ((2, "a", "b"), ["A", "HIV"]), ((3, "a", "b"), ["A"])], sensitive=["HIV"]
        )
        with pytest.raises(Unreachable, match="a sensitive item is in 2 of all 3 rows, more than 1/2"):
            rmerge_r(table, LmDiversity(1, 2, 1), {}, Options())

    def test_no_items_and_no_quasi_identifiers(self):
        with pytest.raises(InputError, match="no items"):
            rfirst(Records(example().columns), RTAnonymity(2, 2), {}, Options())
        alone = rfirst(Records((), Baskets.from_rows([["A"], ["A"]])), RTAnonymity(2, 2), {}, Options())
        assert alone.of_row.tolist() == [0, 0]  # nothing parts rows where nothing is known of them

    def test_a_cut_without_a_hierarchy(self):
        with pytest.raises(InputError, match="give one for 'items'"):
            rfirst(example(), RTAnonymity(2, 2), HIERARCHIES, Options(), RTOptions(transaction="aa"))

    def test_a_category_called_like_a_sensitive_item(self):
        with pytest.raises(InputError, match="called like a sensitive item"):
            rfirst(
                example(),
                RTAnonymity(2, 2),
                HIERARCHIES | {"items": tree({**dict.fromkeys("ABCDEF", "G"), "G": "*"})},
                Options(),
            )

    @pytest.mark.parametrize(
        "bad",
        [{"delta": 1.5}, {"formation": "kmeans"}, {"transaction": "coat"}, {"ordering": "random"}, {"rum": "size"}],
    )
    def test_unknown_options(self, bad):
        with pytest.raises(InputError):
            RTOptions(**bad)

    def test_impossible_weights(self):
        for bad in ({"weights": {"Age": -1.0}}, {"weights": {"Shoe": 1.0}}, {"item_weights": {"A": 2.0}}):
            with pytest.raises(InputError, match="weight"):
                rfirst(example(), RTAnonymity(2, 2), HIERARCHIES, Options(), RTOptions(**bad))

    def test_a_recoding_is_for_its_own_records(self):
        found = rfirst(example(), RTAnonymity(2, 2), HIERARCHIES, Options())
        with pytest.raises(InputError, match="not the records that were recoded"):
            found.apply(records([(values, "Z") for values, _ in published_rows(example())]))


def test_identical_rows_lose_nothing():
    table = records([((30, "x", "y"), ["A", "B"])] * 7)
    for name, algorithm in EVERYTHING.items():
        found = algorithm(table, RTAnonymity(7, 2), {}, Options(), as_printed(delta=1.0))
        assert (found.ncp, found.items_ncp) == (0.0, 0.0), name
        assert published_rows(found.apply(table)) == [(("30", "x", "y"), ["A", "B"])] * 7


def test_missing_numbers_with_numbers_say_nothing_and_alone_stay_missing():
    rows = [((None, "a"), ["A"]), ((None, "a"), ["A"]), ((None, "e"), ["A"]), ((5, "e"), ["A"]), ((1, "e"), ["A"])]
    table, hierarchies = as_records(rows)
    of_row = np.array([0, 0, 1, 1, 1])
    space = task_of(table, RTAnonymity(1, 1), hierarchies, Options(), as_printed()).space
    boxes = space.boxes(of_row.astype(np.int32), 2)
    assert [space.text_of(0, box) for box in boxes] == ["", "*"]
    assert space.column_costs(boxes).tolist() == [[0, 0], [1, 0]]


def test_a_missing_category_is_a_value_of_its_own():
    table = Records((column("name", ["", "a", "", "a"], numeric=False),), Baskets.from_rows([["A"]] * 4))
    found = rfirst(table, RTAnonymity(2, 1), {"name": tree({"a": "*", "b": "*"})}, Options())
    assert [v for (v,), _ in published_rows(found.apply(table))] == ["", "a", "", "a"]


def test_labels_of_sets_never_read_alike():
    assert set_label(["A"], set()) == "A"
    assert set_label(["A", "B"], set()) == "(A,B)"
    assert set_label(["A,B", "C"], set()) == '("A,B",C)'
    assert set_label(["A", "B"], {"(A,B)"}) == "((A,B))"


def test_weights_of_items_steer_what_is_generalized_and_count_in_ul():
    rows = [((1, "a", "b"), [i]) for i in "AABBC"] + [((1, "a", "b"), ["D"])] * 2
    table = records(rows)
    plain = rfirst(table, RTAnonymity(2, 1), {}, Options(), as_printed())
    # C alone is rare. B matters little: C joins it rather than A.
    light = rfirst(table, RTAnonymity(2, 1), {}, Options(), as_printed(item_weights={"B": 0.1, "C": 0.1}))
    assert plain.tokens.tokens[0] == "(A,C)"
    assert "(B,C)" in light.tokens.tokens
    assert light.ul < plain.ul


def test_sixteen_thousand_items_and_long_rows():
    rng = np.random.default_rng(1)
    n_items = 16_500
    rows = [rng.choice(n_items, size, replace=False).astype(str) for size in [2000, 1500] + [12] * 400]
    columns = (column("n", rng.integers(0, 9, len(rows)).tolist()),)
    table = Records(columns, Baskets.from_rows(rows))
    found = rmerge_t(table, RTAnonymity(4, 2), {}, Options(), as_printed(delta=0.9))
    assert RTAnonymity(4, 2).audit(found.apply(table)).holds
    assert 0 <= found.ul <= 1


def test_a_hierarchy_of_items_is_used_when_there_is_one():
    table, hierarchies = items_of_many(300)
    cut = balanced_tree(table.items.vocabulary, 3)
    promise, trees = RTAnonymity(5, 2), hierarchies | {"items": cut}
    found = {
        way: rfirst(table, promise, trees, Options(suppress=0.1), RTOptions(transaction=way))
        for way in ("local", "hybrid", "exact", "aa")
    }
    for one in found.values():
        assert set(one.tokens.tokens) <= set(cut.names)
        assert promise.audit(one.apply(table)).holds
        assert np.mean(one.tokens.token < 0) <= 0.1
    assert found["exact"].items_ncp <= found["aa"].items_ncp + 1e-12
    assert not (found["aa"].tokens.token < 0).any()
    as_is = {way: sum(item == token for _, item, token, _ in one.item_rules()) for way, one in found.items()}
    assert as_is["local"] > as_is["aa"]


def test_without_a_hierarchy_items_stand_as_they_are_or_as_anything():
    table, hierarchies = items_of_many(300)
    found = rfirst(table, RTAnonymity(5, 2), hierarchies, Options(suppress=0.05))
    assert set(found.tokens.tokens) <= {*table.items.vocabulary, "*"}
    assert RTAnonymity(5, 2).audit(found.apply(table)).holds


def test_clusters_published_alike_are_one():
    table, hierarchies = as_records([((1, "a"), ["A"])] * 6)
    space = task_of(table, RTAnonymity(1, 1), hierarchies, Options(), as_printed()).space
    of_row, n = joined_alike(space, np.array([0, 0, 1, 1, 2, 2], np.int32), 3)
    assert n == 1
    assert not of_row.any()
