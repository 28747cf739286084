"""The audit of (k,k^m)-anonymity against a brute-force auditor, the paper's figures, and outputs damaged on purpose."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_rt as naive
from rt_tables import FIGURE_1A, FIGURE_1B, HIERARCHIES, as_records, column, example, records, tables
from shoal.algorithms.recoding import Options
from shoal.algorithms.rt.merges import rfirst
from shoal.errors import InputError
from shoal.guarantees.k import open_and_sensitive
from shoal.guarantees.km import KmAnonymity
from shoal.guarantees.rt import RTAnonymity
from shoal.guarantees.table import TableAnonymity
from shoal.records.baskets import Baskets
from shoal.records.records import Column, Records

FIGURE_2A = """
    [19:22] Europe Male   E F (B,D) G
    [19:22] Europe Male   E F (B,D) H
    [28:39] Europe Female (B,C,F) (D,E) G
    [28:39] Europe Female (B,C,F) (D,E) H
    [55:70] Africa All    (A,E,F) G
    [55:70] Africa All    (A,E,F) H
"""
FIGURE_2B = """
    [19:70] All All E F (A,B,C,D) G
    [19:70] All All E F (A,B,C,D) H
    [19:70] All All E (A,B,C,D) G
    [19:70] All All F (A,B,C,D) H
    [19:70] All All E G
    [19:70] All All F (A,B,C,D) H
"""
FIGURE_2C = """
    [19:39] Europe All E F (B,C,D) G
    [19:39] Europe All E F (B,C,D) H
    [19:39] Europe All E (B,C,D) G
    [19:39] Europe All F (B,C,D) H
    [55:70] Africa All (A,E,F) G
    [55:70] Africa All (A,E,F) H
"""
FIGURE_2D = """
    [19:70] All All E F (A,B,D) G
    [19:70] All All E F (A,B,D) H
    [19:70] All All E G
    [19:70] All All F (A,B,D) H
    [28:39] Europe Female (B,C,F) (D,E) G
    [28:39] Europe Female (B,C,F) (D,E) H
"""


def figure(text):
    lines = [line.split() for line in text.strip().splitlines()]
    return records([(tuple(line[:3]), line[3:]) for line in lines], sensitive="GH")


def classes(table):
    return list(zip(*(c.texts() for c in table.of_role("quasi")), strict=True))


def test_figure_1b_is_refused_though_both_its_parts_are_anonymous():
    published = records(FIGURE_1B, sensitive="GH")
    assert TableAnonymity(2).audit(published).holds
    assert KmAnonymity(2, 2).audit(open_and_sensitive(published.items, "GH")[0]).holds
    audit = RTAnonymity(2, 2).audit(published)
    assert not audit.holds
    jim = [w for w in audit.witnesses if w.rows == (6,)]
    assert ("F",) in {w.items for w in jim}
    assert {(w.group, w.support) for w in jim} == {(("[55:70]", "Africa", "All"), 1)}


@pytest.mark.parametrize("text", [FIGURE_2A, FIGURE_2B, FIGURE_2C, FIGURE_2D])
def test_figure_2_keeps_the_promise_as_printed(text):
    assert RTAnonymity(2, 2).audit(figure(text)).holds


def test_with_g_and_h_known_the_figures_would_not_hold():
    assert not RTAnonymity(2, 2).audit(Records(figure(FIGURE_2A).columns, figure(FIGURE_2A).items)).holds


def test_the_raw_table_shows_everybody():
    audit = RTAnonymity(2, 2).audit(example())
    assert not audit.holds
    assert audit.by_size[0] == (6, 6)


@settings(max_examples=150)
@given(tables(max_rows=16), st.integers(1, 5), st.integers(1, 4))
def test_audit_counts_what_brute_force_counts(rows, k, m):
    table, _ = as_records(rows)
    audit = RTAnonymity(k, m).audit(table, witnesses=10_000)
    longest = min(m, table.items.longest)
    rare = naive.rt_breaches(classes(table), list(table.items.rows()), k, longest)
    assert audit.holds == (not rare)
    assert audit.violations == len(rare)
    shown = {(w.group, tuple(w.items)): w.support for w in audit.witnesses}
    assert shown.items() <= rare.items()
    assert bool(shown) == bool(rare)
    assert all(len(w.rows) == w.support for w in audit.witnesses)


@given(tables(max_rows=16), st.integers(1, 5), st.integers(1, 4))
def test_yes_or_no_gives_the_same_verdict(rows, k, m):
    table, _ = as_records(rows)
    assert RTAnonymity(k, m).audit(table, yes_or_no=True).holds == RTAnonymity(k, m).audit(table).holds


@given(tables(max_rows=16), st.integers(1, 5))
def test_sensitive_items_are_not_what_an_attacker_knows(rows, k):
    table, _ = as_records(rows, sensitive="A")
    without, _ = as_records([(values, [i for i in items if i != "A"]) for values, items in rows])
    assert RTAnonymity(k, 2).audit(table).to_dict() == RTAnonymity(k, 2).audit(without).to_dict()


def test_values_that_read_the_same_are_one_class():
    twice = Column("n", "quasi", np.array([0, 1], np.int32), ("x", "x"))
    assert RTAnonymity(2, 1).audit(Records((twice,), Baskets.from_rows([["A"], ["A"]]))).holds


class TestDamage:
    """A release that holds does no longer hold after one small change."""

    recoding = rfirst(example(), RTAnonymity(2, 2), HIERARCHIES, Options(seed=0))
    published = recoding.apply(example())

    def test_it_holds_as_it_is(self):
        assert RTAnonymity(2, 2).audit(self.published).holds

    def test_an_item_slipped_into_one_row_is_found(self):
        rows = [list(row) for row in self.published.items.rows()]
        rows[3].append("secret")
        damaged = Records(self.published.columns, Baskets.from_rows(rows), sensitive_items=frozenset("GH"))
        audit = RTAnonymity(2, 2).audit(damaged)
        assert not audit.holds
        assert (("secret",), (4,)) in {(w.items, w.rows) for w in audit.witnesses}

    def test_a_value_left_as_it_was_is_found(self):
        age = self.published["Age"].texts()
        age[0] = "19"
        damaged = Records(
            (column("Age", age), *self.published.columns[1:]), self.published.items, sensitive_items=frozenset("GH")
        )
        audit = RTAnonymity(2, 2).audit(damaged)
        assert not audit.holds
        assert audit.by_size[0][1] == 2
        assert any(w.rows == (1,) and w.reason == "1 of 2 rows" for w in audit.witnesses)

    def test_a_missing_row_is_found(self):
        assert not RTAnonymity(2, 2).audit(self.published.take(np.arange(5))).holds


def test_rows_without_items_are_hidden_by_their_class_alone():
    audit = RTAnonymity(2, 2).audit(records([((1, "a", "b"), []), ((1, "a", "b"), [])]))
    assert audit.holds
    assert "2 rows hold no items" in audit.notes[0]


def test_a_table_without_items_is_refused_with_a_remedy():
    with pytest.raises(InputError, match="KAnonymity"):
        RTAnonymity(2, 2).audit(Records(example().columns))


@pytest.mark.parametrize("bad", [{"k": 0, "m": 2}, {"k": 2, "m": 0}, {"k": True, "m": 1}, {"k": 2.5, "m": 1}])
def test_impossible_parameters_are_refused(bad):
    with pytest.raises(InputError):
        RTAnonymity(**bad)


def test_it_says_what_it_promises_and_names_itself():
    promise = RTAnonymity(25, 2)
    assert str(promise) == "(25,25^2)-anonymity"
    assert promise.to_dict() == {"model": "rt", "k": 25, "m": 2, "name": "(25,25^2)-anonymity"}
    assert "up to 2 items" in promise.promise()[0]
    assert len(promise.limits()) > 3


class TestTable:
    """k-anonymity of a table without items, with distinct l-diversity."""

    @given(tables(max_rows=16), st.integers(2, 5))
    def test_classes_are_counted(self, rows, k):
        table, _ = as_records(rows)
        own = classes(table)
        audit = TableAnonymity(k).audit(table, witnesses=100)
        small = {c for c in own if own.count(c) < k}
        assert (audit.holds, audit.violations, audit.checked) == (not small, len(small), len(set(own)))
        assert {w.group for w in audit.witnesses} == small

    @given(
        st.lists(st.tuples(st.sampled_from("xy"), st.sampled_from("uvw")), min_size=1, max_size=12), st.integers(2, 3)
    )
    def test_sensitive_values_are_counted_in_each_class(self, rows, l):  # noqa: E741
        table = Records((column("q", [q for q, _ in rows]), column("s", [s for _, s in rows], "sensitive")))
        values = {q: {s for other, s in rows if other == q} for q, _ in rows}
        sizes = {q: sum(other == q for other, _ in rows) for q, _ in rows}
        bad = {q for q in values if len(values[q]) < l or sizes[q] < 2}
        audit = TableAnonymity(2, l).audit(table, witnesses=10)
        assert audit.violations == len(bad)
        assert {w.group for w in audit.witnesses} == {(q,) for q in bad}

    def test_l_without_a_sensitive_column_is_refused(self):
        with pytest.raises(InputError, match="sensitive="):
            TableAnonymity(2, 2).audit(Records((column("q", ["x", "x"]),)))

    def test_figure_1a_is_not_anonymous(self):
        assert TableAnonymity(2).audit(records(FIGURE_1A)).violations == 6
