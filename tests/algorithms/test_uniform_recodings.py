"""Recodings that are the same for all rows of a table: levels, proven best, and cuts from above and from below."""

from __future__ import annotations

import csv
import gzip
import os
from collections import Counter
from math import log2
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_tables as naive
import shoal
from rt_tables import KINDS, column, tree
from shoal.algorithms.recoding import Options
from shoal.algorithms.rt.cluster_recoding import RTOptions
from shoal.algorithms.tables import full_domain as lattice
from shoal.algorithms.tables.bottom_up import bottom_up
from shoal.algorithms.tables.fields import fields_of, made_levels
from shoal.algorithms.tables.full_domain import full_domain
from shoal.algorithms.tables.top_down import top_down
from shoal.errors import InputError, Unreachable
from shoal.guarantees.table import TableAnonymity
from shoal.hierarchy.files import read_hierarchy
from shoal.price.information import entropy_bits
from shoal.records.records import Column, Records

ALL = {"full-domain": full_domain, "top-down": top_down, "bottom-up": bottom_up}
AGES = {
    "0": "0-1",
    "1": "0-1",
    "2": "2-3",
    "3": "2-3",
    "4": "4-6",
    "5": "4-6",
    "6": "4-6",
    "0-1": "0-3",
    "2-3": "0-3",
    "0-3": "*",
    "4-6": "*",
}
"""A tree of which one side is higher than the other."""
TREES = {"age": tree(AGES), "kind": tree(KINDS)}

drawn_rows = st.lists(st.tuples(st.sampled_from("0123456"), st.sampled_from("abcde")), min_size=2, max_size=24)
budgets = st.sampled_from([0.0, 0.0, 0.1, 0.3, 1.0])
prices = st.sampled_from(["information", "ncp"])


def table_of(rows, told=None):
    columns = [column("age", [age for age, _ in rows], numeric=False), column("kind", [kind for _, kind in rows])]
    return Records((*columns, *([] if told is None else [column("told", told, "sensitive")])))


def naive_of(rows, holds, price, share, weights=None):
    budget = int(share * len(rows) + 1e-9)
    return naive.Table(rows, list(TREES.values()), holds, price=price, budget=budget, weights=weights)


def holds_of(rows, k, l=1, told=None, l_kind="distinct"):  # noqa: E741
    def holds(members):
        values = Counter(told[r] for r in members) if told else {}
        if l == 1:
            return len(members) >= k
        if l_kind == "distinct":
            return len(members) >= k and len(values) >= l
        return len(members) >= k and max(values.values()) * l <= len(members)

    return holds


@settings(max_examples=100)
@given(drawn_rows, st.integers(2, 4), prices, budgets, st.sampled_from([None, (3.0, 1.0), (0.0, 1.0)]))
def test_no_choice_of_levels_loses_less(rows, k, price, share, weights):
    twin = naive_of(rows, holds_of(rows, k), price, share, weights)
    given_weights = dict(zip(TREES, weights, strict=True)) if weights else {}
    how = (TableAnonymity(k), TREES, Options(price=price), RTOptions(suppress_rows=share, weights=given_weights))
    if len(rows) < k:
        with pytest.raises(Unreachable, match="there are only"):
            full_domain(table_of(rows), *how)
        return
    found = full_domain(table_of(rows), *how)
    best = naive.best_levels(twin)
    assert found.optimal
    assert found.facts["lost"] == pytest.approx(best, abs=1e-9)
    if found.stay is not None and price == "information":
        assert found.bound is None  # a row that leaves is taken for an average one
    else:
        assert found.bound == pytest.approx(best, abs=1e-9)
    stay = np.arange(len(rows)) if found.stay is None else found.stay
    assert len(rows) - len(stay) <= share * len(rows)
    assert TableAnonymity(k).audit(found.apply(table_of(rows).take(stay))).holds


@settings(max_examples=60)
@given(drawn_rows, st.integers(2, 3), st.sampled_from(["distinct", "frequency"]), budgets, st.data())
def test_no_choice_of_levels_loses_less_under_diversity(rows, l, l_kind, share, data):  # noqa: E741
    told = data.draw(st.lists(st.sampled_from("xyz"), min_size=len(rows), max_size=len(rows)))
    promise, table = TableAnonymity(2, l, l_kind=l_kind), table_of(rows, told)
    holds = holds_of(rows, 2, l, told, l_kind)
    twin = naive_of(rows, holds, "ncp", share)
    if not holds(range(len(rows))):
        with pytest.raises(Unreachable, match="column 'told'"):
            full_domain(table, promise, TREES, Options(price="ncp"), RTOptions(suppress_rows=share))
        return
    found = full_domain(table, promise, TREES, Options(price="ncp"), RTOptions(suppress_rows=share))
    assert found.bound == pytest.approx(naive.best_levels(twin), abs=1e-9)
    stay = np.arange(len(rows)) if found.stay is None else found.stay
    assert promise.audit(found.apply(table.take(stay))).holds


@pytest.mark.parametrize("name", ["top-down", "bottom-up"])
@settings(max_examples=60)
@given(drawn_rows, st.integers(2, 4), prices, budgets)
def test_cuts_are_those_of_the_slow_search(name, rows, k, price, share):
    if len(rows) < k:
        return
    twin = naive_of(rows, holds_of(rows, k), price, share)
    expected = {"top-down": naive.top_down, "bottom-up": naive.bottom_up}[name](twin, k)
    how = (TableAnonymity(k), TREES, Options(price=price), RTOptions(suppress_rows=share))
    found = ALL[name](table_of(rows), *how)
    assert found.optimal is None
    assert found.facts["lost"] == pytest.approx(expected, abs=1e-9)
    assert len(rows) - len(found.of_row) <= share * len(rows)


@pytest.mark.parametrize("name", ALL)
@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.one_of(st.none(), st.integers(0, 90)), st.sampled_from("abcde")), min_size=6, max_size=40),
    st.sampled_from([{}, {"l": 2}, {"l": 2, "l_kind": "frequency"}, {"t": 0.5}]),
    st.sampled_from([None, 0.2, 1.0]),
    st.sampled_from(["value", "unknown"]),
    st.booleans(),
)
def test_releases_pass_the_audit(name, rows, more, share, missing, limited):
    told = ["xyz"[i % 3] for i in range(len(rows))]
    records = Records(
        (
            column("age", [age for age, _ in rows], numeric=True),
            column("kind", [kind for _, kind in rows]),
            column("told", told, "sensitive" if more else "keep"),
            column("row", list(range(len(rows))), "keep"),
        )
    )
    asked = {"hierarchy": {"kind": tree(KINDS)}, "algorithm": name, "suppress_rows": share, "keep_order": True}
    asked |= {"missing_quasi": {"age": missing}, "limits": {"age": 20, "kind": 2} if limited else None}
    if share and "t" in more:
        with pytest.raises(InputError, match="changes with every row that leaves"):
            shoal.anonymize(records, TableAnonymity(2, **more), **asked)
        return
    try:
        release = shoal.anonymize(records, TableAnonymity(2, **more), **asked)
    except Unreachable as reason:
        unreachable = str(reason)
    else:
        unreachable = ""
    if unreachable:
        assert limited
        assert "within the limits (age=20 and kind=2)" in unreachable
        return
    assert release.audit.holds
    assert len(rows) - release.rows <= (share or 0) * len(rows)
    # Each value is published as one thing, and its release tells what it did.
    raw = {str(i): rows[i] for i in range(len(rows))}
    told_as: dict[object, set[str]] = {}
    for age, kind, number in zip(*(release.published[c].texts() for c in ("age", "kind", "row")), strict=True):
        told_as.setdefault(("age", raw[number][0]), set()).add(age)
        told_as.setdefault(("kind", raw[number][1]), set()).add(kind)
        assert kind in {raw[number][1], *naive_ancestors(raw[number][1])}
        if limited:
            assert kind in "abcde" or kind in ("ab", "cd")
            assert ":" not in age or np.ptp([int(n) for n in age.strip("[]").split(":")]) < 20
    assert all(len(texts) == 1 for texts in told_as.values())
    if not share:
        assert release.loss["info"] == pytest.approx(release.details["facts"]["lost"], abs=1e-9)


def naive_ancestors(kind):
    while kind in KINDS:
        kind = KINDS[kind]
        yield kind


PATIENTS = [
    ("1/21/76", "Male", "53715"),
    ("4/13/86", "Female", "53715"),
    ("2/28/76", "Male", "53703"),
    ("1/21/76", "Male", "53703"),
    ("4/13/86", "Female", "53706"),
    ("2/28/76", "Female", "53706"),
]
"""Figure 1 of LeFevre, DeWitt and Ramakrishnan (2005), without the disease."""
ZIP = {"53715": "5371*", "53710": "5371*", "53706": "5370*", "53703": "5370*", "5371*": "537**", "5370*": "537**"}


def test_the_patients_of_incognito():
    """2-anonymous are, at the least, <B1,S1,Z0>, <B1,S0,Z2> and <B0,S1,Z2>; the second loses most bits of the three."""
    birth = dict.fromkeys(dict.fromkeys(row[0] for row in PATIENTS), "*")
    trees = {"birth": tree(birth), "sex": tree({"Male": "Person", "Female": "Person"}), "zip": tree(ZIP)}
    names = ("birth", "sex", "zip")
    table = Records(
        tuple(
            column(n, list(texts), numeric=False) for n, texts in zip(names, zip(*PATIENTS, strict=True), strict=True)
        )
    )
    found = full_domain(table, TableAnonymity(2), trees, Options())
    assert found.optimal
    assert found.bound == pytest.approx((log2(3) + 1) / (2 * log2(3) + 1))
    assert found.facts["choices"] == 12
    assert found.facts["levels"] in (
        "birth 1 of 1, sex 1 of 1, zip 0 of 2",
        "birth 0 of 1, sex 1 of 1, zip 2 of 2",
    )
    # Whoever wants the sexes gives them a weight.
    rt = RTOptions(weights={"sex": 5})
    found = full_domain(table, TableAnonymity(2), trees, Options(), rt)
    assert found.facts["levels"] == "birth 1 of 1, sex 0 of 1, zip 2 of 2"


ARX = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation", "salary-class")
"""Columns in the order of ARX's copy of Adult."""


@pytest.mark.skipif("SHOAL_DATA" not in os.environ, reason="needs the public data sets")
@pytest.mark.parametrize(
    ("k", "levels", "bits"),
    [(5, (1, 2, 1, 1, 3, 2, 2, 1, 1), 407289.5388925293), (100, (0, 4, 1, 1, 3, 2, 2, 1, 1), 453196.8932458743)],
)
def test_adult_has_the_levels_and_the_loss_that_arx_records(k, levels, bits):
    """Without suppression and by non-uniform entropy: src/test/org/deidentifier/arx/test/TestAnonymizationKAnonymity.java."""
    folder = Path(os.environ["SHOAL_DATA"]) / "adult"
    with gzip.open(folder / "adult.csv.gz", "rt") as file:
        rows = [tuple(row[name].strip() for name in ARX) for row in csv.DictReader(file, skipinitialspace=True)]
    rows = [row for row in rows if "?" not in row]
    columns = [Column.from_texts(n, "quasi", texts) for n, texts in zip(ARX, zip(*rows, strict=True), strict=True)]
    trees = {name: read_hierarchy(folder / f"hierarchies_arx/adult_hierarchy_{name}.csv") for name in ARX}
    found = full_domain(Records(tuple(columns)), TableAnonymity(k), trees, Options())
    assert found.optimal
    told = [f"{name} {level} of " for name, level in zip(ARX, levels, strict=True)]
    assert all(one.startswith(start) for one, start in zip(found.facts["levels"].split(", "), told, strict=True))
    said = sum(entropy_bits(np.bincount(one.codes)) for one in columns)
    assert found.facts["lost"] * said == pytest.approx(bits, abs=1e-6)


def test_a_step_down_that_saves_much_for_a_large_class_comes_first():
    """By hand: 4 + 4 rows of two kinds and 6 + 2 of two sides; k = 2. Kinds leave classes of 4, sides of 2, and kinds say more."""
    rows = [("x", side) for side in "lllr"] + [("y", side) for side in "lllr"]
    trees = {"kind": tree({"x": "*", "y": "*"}), "side": tree({"l": "*", "r": "*"})}
    table = Records((column("kind", [r[0] for r in rows]), column("side", [r[1] for r in rows])))
    found = top_down(table, TableAnonymity(2), trees, Options())
    # After the kinds, a side would leave single rows.
    assert dict(Counter(zip(*(c.texts() for c in found.apply(table).columns), strict=True))) == {
        ("x", "*"): 4,
        ("y", "*"): 4,
    }
    assert found.facts["steps"] == 1
    found = bottom_up(table, TableAnonymity(2), trees, Options())
    # From below, joining the sides hides two rows for 6.49 bits, joining the kinds two for 8.
    assert found.facts["steps"] == 1
    assert found.values["side"] == ("*", "*")


def test_a_level_counts_from_the_root_and_is_left_out_where_it_joins_nothing():
    table = table_of([("0", "a"), ("2", "b"), ("4", "e")])
    age, kind = fields_of(table, TREES, {})
    # Nobody is 1 or 3, nor c or d: only two levels of either say something.
    told = [[one.texts[v] for v in node[one.places]] for one in (age, kind) for node in one.levels]
    assert told == [["0", "2", "4"], ["0-3", "0-3", "4-6"], ["*"] * 3, ["a", "b", "e"], ["ab", "ab", "e"], ["*"] * 3]


def test_numbers_without_a_tree_get_intervals():
    assert made_levels(column("age", [17, 90])) == "intervals:5,10,20,40"
    assert made_levels(column("children", [0, 3, 9])) == "intervals:2,4,8"
    assert made_levels(column("dose", [0.02, 0.1])) == "intervals:0.005,0.010,0.020,0.040"
    assert made_levels(column("pay", [0, 99_999])) == "intervals:5000,10000,20000,40000,80000"
    table = Records((column("age", [17, 18, 23, 24, 90, 91]),))
    found = full_domain(table, TableAnonymity(2), {}, Options())
    assert set(found.values["age"]) == {"[15:19]", "[20:24]", "[90:94]"}
    assert "has no hierarchy, so its values are joined in intervals:5,10,20,40" in found.notes[0]
    same = Records((Column.from_texts("age", "quasi", ["1", "1.0", "2", "2.0"], numeric=True),))
    assert set(full_domain(same, TableAnonymity(2), {}, Options()).values["age"]) == {"1", "2"}


def test_a_search_that_is_stopped_tells_how_far_it_may_be_from_the_best():
    rows = [(str(i % 7), "abcde"[i % 5]) for i in range(35)] + [("0", "a")] * 3
    stopped = full_domain(table_of(rows), TableAnonymity(2), TREES, Options(time_limit=1e-9))
    best = full_domain(table_of(rows), TableAnonymity(2), TREES, Options())
    assert (best.optimal, stopped.optimal) == (True, False)
    assert (stopped.bound or 0.0) <= (best.bound or 0.0)
    assert stopped.facts["gap"] > 0
    assert "stopped by the time limit" in stopped.notes[-1]
    assert TableAnonymity(2).audit(stopped.apply(table_of(rows))).holds


def test_too_many_choices_are_refused_with_a_remedy(monkeypatch):
    monkeypatch.setattr(lattice, "MOST_CHOICES", 8)
    with pytest.raises(InputError, match=r"have 12 choices of levels together.*or the algorithm top-down"):
        full_domain(table_of([(str(i % 7), "abcde"[i % 5]) for i in range(35)]), TableAnonymity(2), TREES, Options())


@pytest.mark.parametrize("name", ALL)
def test_unknown_limits_are_refused(name):
    with pytest.raises(InputError, match="limit of 'agee': there is no such quasi-identifier; there are age, kind"):
        ALL[name](table_of([("1", "a")] * 3), TableAnonymity(2), TREES, Options(), RTOptions(limits={"agee": 3}))
