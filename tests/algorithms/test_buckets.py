"""Injector and Anatomy: the promise always holds, nothing is lost, nothing betrays an owner, every choice is the paper's."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_buckets
from shoal.algorithms.buckets.anatomy import anatomy
from shoal.algorithms.buckets.balanced import balanced, evenly_grouped
from shoal.algorithms.buckets.bucketization import cells_of_rows
from shoal.algorithms.buckets.injector import injector, nit_grouped
from shoal.algorithms.buckets.negative_rules import negative_rules, value_hierarchies
from shoal.algorithms.buckets.rule_files import rule_edits
from shoal.algorithms.recoding import Options
from shoal.errors import InputError, Unreachable
from shoal.guarantees.diversity import MatchingDiversity, PlainDiversity
from shoal.kernels.buckets.grouping import anatomy_groups
from shoal.records.buckets import Buckets
from shoal.records.records import Column, Records

TABLE_I = (
    ["F", "F", "M", "M", "F", "M", "M", "M", "M"],
    ["Ovarian Cancer"] * 2 + ["Prostate Cancer", "Flu"] + ["Heart Disease"] * 3 + ["Flu"] * 2,
)


def records_of(sensitive, **quasi):
    columns = [Column.from_texts(name, "quasi", texts) for name, texts in quasi.items()]
    return Records((*columns, Column.from_texts("s", "sensitive", sensitive)))


@st.composite
def tables(draw, max_rows=40):
    values = "pqrstuv"[: draw(st.integers(2, 7))]
    row = st.tuples(st.sampled_from(values), st.sampled_from("abc"), st.sampled_from("xy"))
    rows = draw(st.lists(row, min_size=1, max_size=max_rows))
    return records_of([r[0] for r in rows], a=[r[1] for r in rows], b=[r[2] for r in rows])


def check_release(records, buckets):
    """All rows are there, with their quasi-identifiers, and all values; values stand in order."""
    assert len(buckets.of_row) == len(records)
    assert [c.name for c in buckets.rows.columns] == [c.name for c in records.columns if c.role != "sensitive"]
    for column in buckets.rows.columns:
        assert column.texts() == records[column.name].texts()
    column = records.of_role("sensitive")[0]
    assert np.array_equal(buckets.totals, np.bincount(column.codes, minlength=len(column.values)))
    for b in range(len(buckets)):
        truth = Counter(column.values[c] for c in column.codes[buckets.of_row == b])
        assert buckets.content(b) == truth
        assert list(buckets.content(b)) == sorted(truth)


@pytest.mark.parametrize("method", [injector, balanced])
@given(tables(), st.integers(2, 4), st.sampled_from([0.3, 0.6, 0.9]), st.sampled_from([1.0, 0.8]), st.integers(0, 3))
@settings(max_examples=200)
def test_the_promise_is_kept_or_said_to_be_out_of_reach(method, records, l, min_exp, min_conf, seed):  # noqa: E741
    rules = negative_rules(records, min_exp=min_exp, min_conf=min_conf)
    guarantee = MatchingDiversity(l, rules)
    whole = guarantee.audit(Buckets.of(records, np.zeros(len(records))))
    try:
        found = method(records, guarantee, None, Options(seed=seed))
    except Unreachable as error:
        # No partition keeps it: even a single bucket of all rows does not.
        assert not whole.holds
        if "largest l that works is" in str(error):
            largest = int(str(error).rsplit(" ", 1)[1])
            assert largest < l
            method(records, MatchingDiversity(largest, rules), None, Options())
        return
    assert whole.holds
    check_release(records, found.buckets)
    audit = guarantee.audit(found.buckets)
    assert audit.holds, audit
    again = method(records, guarantee, None, Options(seed=seed, threads=1))
    assert np.array_equal(again.buckets.of_row, found.buckets.of_row)


@given(tables(), st.integers(2, 4), st.integers(0, 3))
@settings(max_examples=150)
def test_anatomy_never_repeats_a_value_in_a_bucket(records, l, seed):  # noqa: E741
    counts = np.bincount(records["s"].codes)
    if counts.max() * l > len(records):
        why = "more than one in" if np.count_nonzero(counts) >= l else "different value"
        with pytest.raises(Unreachable, match=why):
            anatomy(records, MatchingDiversity(l), None, Options(seed=seed))
        return
    found = anatomy(records, MatchingDiversity(l), None, Options(seed=seed))
    check_release(records, found.buckets)
    assert PlainDiversity(l).audit(found.buckets).holds
    assert found.buckets.counts.max() == 1
    assert found.facts["remaining"] < l
    assert len(found.buckets) == len(records) // l
    again = anatomy(records, MatchingDiversity(l), None, Options(seed=seed))
    assert np.array_equal(again.buckets.of_row, found.buckets.of_row)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.integers(1, 4))
@settings(max_examples=200)
def test_every_round_of_anatomy_takes_the_largest(counts, l):  # noqa: E741
    start = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    group, n_groups = anatomy_groups(l, start, np.argsort(-np.array(counts), kind="stable"))
    left = list(counts)
    for g in range(n_groups):
        values = [int(np.searchsorted(start, place, side="right")) - 1 for place in np.flatnonzero(group == g)]
        assert len(set(values)) == l
        assert sorted((left[v] for v in values), reverse=True) == sorted(left, reverse=True)[:l]
        for v in values:
            left[v] -= 1
    assert sum(n > 0 for n in left) < l
    assert sum(left) == np.count_nonzero(group < 0)


@st.composite
def cell_tables(draw):
    """(value and kind of each row, impossible values per kind)."""
    n_values = draw(st.integers(2, 6))
    sets = draw(st.lists(st.sets(st.integers(0, n_values - 1), max_size=3), min_size=1, max_size=4))
    pairs = st.tuples(st.integers(0, n_values - 1), st.integers(0, len(sets) - 1)).filter(
        lambda p: p[0] not in sets[p[1]]
    )
    rows = draw(st.lists(pairs, min_size=1, max_size=24))
    excluded = np.zeros((len(sets), n_values), np.bool_)
    for kind, values in enumerate(sets):
        excluded[kind, list(values)] = True
    return np.array([r[0] for r in rows], np.int32), np.array([r[1] for r in rows], np.int32), excluded


@given(cell_tables(), st.integers(2, 4))
@settings(max_examples=300)
def test_every_choice_of_the_grouping_has_the_least_nit_by_definition(table, l):  # noqa: E741
    """Lines 1 to 17 of Figure 2, with NIT counted tuple by tuple."""
    codes, kind, excluded = table
    cells = cells_of_rows(codes, kind, excluded, seed=1)
    group, n_groups = nit_grouped(cells, l)
    described = [
        (int(value), frozenset(np.flatnonzero(cells.excluded[k]).tolist()))
        for value, k in zip(cells.value, cells.kind, strict=True)
    ]
    expected = naive_buckets.grouping(described, np.diff(cells.start).tolist(), l)
    assert n_groups == len(expected)
    for g, members in enumerate(expected):
        assert set(np.flatnonzero(group == g).tolist()) == {int(cells.start[c]) + nth for c, nth in members}


@given(cell_tables(), st.integers(2, 4))
@settings(max_examples=150)
def test_balanced_groups_are_compatible(table, l):  # noqa: E741
    codes, kind, excluded = table
    cells = cells_of_rows(codes, kind, excluded, seed=1)
    group, n_groups = evenly_grouped(cells, l)
    cell_of = np.repeat(np.arange(len(cells.value)), np.diff(cells.start))
    for g in range(n_groups):
        members = cell_of[group == g]
        assert len(members) == len(set(cells.value[members].tolist())) == l
        assert not any(cells.excluded[cells.kind[a], cells.value[b]] for a in members for b in members)


def test_balanced_makes_smaller_buckets_than_injector():
    random = np.random.default_rng(8)
    sex = random.choice(["F", "M"], 3000)
    common = random.choice(list("pqrstu"), 3000, p=[0.16, 0.16, 0.16, 0.16, 0.16, 0.2])
    value = np.where((common == "u") & (sex == "M"), "v", common)
    records = records_of(value.tolist(), sex=sex.tolist())
    guarantee = MatchingDiversity(5, negative_rules(records, min_exp=0.9))
    assert len(guarantee.rules) == 2
    found, other = (method(records, guarantee, None, Options()) for method in (balanced, injector))
    assert guarantee.audit(found.buckets).holds
    assert found.facts["remaining"] < other.facts["remaining"]
    assert found.facts["average_bucket"] < other.facts["average_bucket"]


def test_injector_says_when_cells_are_too_many_to_count(monkeypatch):
    records = records_of("pqrs" * 5, a="xy" * 10)
    assert injector(records, MatchingDiversity(2), None, Options()).notes == ()
    monkeypatch.setattr("shoal.algorithms.buckets.injector.EXACT", -1.0)
    assert "as by algorithm balanced" in injector(records, MatchingDiversity(2), None, Options()).notes[0]


@given(tables(), st.integers(2, 3), st.sampled_from([1.0, 0.8]))
@settings(max_examples=100)
def test_the_promise_holds_also_when_few_groups_are_looked_at(records, l, min_conf):  # noqa: E741
    guarantee = MatchingDiversity(l, negative_rules(records, min_exp=0.5, min_conf=min_conf))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shoal.algorithms.buckets.bucketization.LOOKS", 1.0)
        try:
            found = balanced(records, guarantee, None, Options())
        except Unreachable:
            return
    check_release(records, found.buckets)
    assert guarantee.audit(found.buckets).holds


def test_table_1_in_two_buckets_that_hold():
    """Table I of the paper at l = 2: nobody who knows that males do not have ovarian cancer learns anything."""
    records = records_of(TABLE_I[1], sex=TABLE_I[0])
    rules = negative_rules(records, min_exp=0.75)
    guarantee = MatchingDiversity(2, rules)
    found = injector(records, guarantee, None, Options())
    assert guarantee.audit(found.buckets).holds
    published = Buckets.of(records, np.array([0, 0, 0, 1, 1, 1, 2, 2, 2]))  # Table II
    assert MatchingDiversity(2).audit(published).holds
    audit = guarantee.audit(published)
    assert {row: witness.items for witness in audit.witnesses for row in witness.rows} == {
        1: ("Ovarian Cancer",),
        2: ("Ovarian Cancer",),
        3: ("Prostate Cancer",),
    }


def test_a_value_that_is_too_frequent_for_anatomy_is_told_with_its_share():
    records = records_of("ppppqqrrst", a="x" * 10)
    with pytest.raises(Unreachable) as error:
        anatomy(records, MatchingDiversity(3), None, Options())
    assert str(error.value) == (
        "3-diversity cannot be reached by anatomy: 4 of 10 rows (40.00%) have the same s, more than one in 3, and it gives no value to two "
        "rows of a bucket; with anatomy the largest l that works is 2; injector and balanced have no such bound"
    )
    assert error.value.exit_code == 3
    assert len(anatomy(records, MatchingDiversity(2), None, Options()).buckets) == 5
    for method in (injector, balanced):
        assert MatchingDiversity(3).audit(method(records, MatchingDiversity(3), None, Options()).buckets).holds


@pytest.mark.parametrize("method", [injector, balanced])
def test_definition_1_puts_no_bound_on_how_frequent_a_value_is(method):
    records = records_of(["Flu"] * 6 + ["Cold", "Asthma", "Gout"], a="x" * 9)
    for l in (2, 3, 4):  # noqa: E741
        assert MatchingDiversity(l).audit(method(records, MatchingDiversity(l), None, Options()).buckets).holds
    with pytest.raises(Unreachable, match=r"only 4 different values of s; the largest l that works is 4$"):
        method(records, MatchingDiversity(5), None, Options())


@st.composite
def tiny_tables(draw):
    """(records, rules, impossible values of each row, values): few enough rows to try every partition; some values are missing."""
    rows = draw(
        st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from(["p", "q", "r", "s", ""])), max_size=6, min_size=1)
    )
    records = records_of([value for _, value in rows], a=[who for who, _ in rows])
    lines = [
        json.dumps({"if": {"a": who}, "never": value})
        for who in "xyz"
        for value in draw(st.sets(st.sampled_from("pqrs"), max_size=2))
        if who in records["a"].values and value in records["s"].values
    ]
    rules = rule_edits(lines, value_hierarchies(records, {}), records["s"]).added
    never = [{rule.value for rule in rules if rule.conditions["a"] == who} for who, _ in rows]
    return records, rules, never, [value for _, value in rows]


@pytest.mark.parametrize("missing", ["unknown", "value"])
@given(tiny_tables(), st.integers(2, 5))
@settings(max_examples=80, deadline=None)
def test_what_is_refused_cannot_be_kept_and_the_largest_l_is_true(missing, table, l):  # noqa: E741
    """Against every partition of the rows."""
    records, rules, never, values = table
    unknown = {""} if missing == "unknown" else set()
    bests = {
        injector: naive_buckets.largest_l(never, values, unknown),
        balanced: naive_buckets.largest_l(never, values, unknown),
        anatomy: naive_buckets.largest_l_without_repeats(values, unknown),
    }
    for method, best in bests.items():
        guarantee = MatchingDiversity(l, None if method is anatomy else rules, missing)
        if best >= l:
            assert guarantee.audit(method(records, guarantee, None, Options()).buckets).holds
            continue
        told = rf"the largest l that works is {best}\b" if best >= 2 else "no l of at least 2 works"
        with pytest.raises(Unreachable, match=told if best else f"{told}|contradict"):
            method(records, guarantee, None, Options())


@pytest.mark.parametrize("method", [injector, balanced])
@given(tiny_tables())
@settings(max_examples=60, deadline=None)
def test_who_knows_whose_value_is_missing_learns_no_more_where_that_can_be(method, table):
    """The known values of each bucket keep the promise by themselves if those of the whole table do."""
    records, rules, never, values = table
    known = [i for i, value in enumerate(values) if value]
    if not known or min(map(len, naive_buckets.valid([never[i] for i in known], [values[i] for i in known]))) < 2:
        return
    try:
        buckets = method(records, MatchingDiversity(2, rules), None, Options()).buckets
    except Unreachable:  # a row whose value is missing has too few possible ones
        return
    for bucket in range(len(buckets)):
        own = [i for i in known if buckets.of_row[i] == bucket]
        assert all(len(left) >= 2 for left in naive_buckets.valid([never[i] for i in own], [values[i] for i in own]))


def test_a_row_that_rules_leave_too_few_values_is_named():
    """Women of this table have p or q only; no grouping gives them a third value."""
    sensitive = "pq" * 6 + "rst" * 8
    records = records_of(sensitive, sex="F" * 12 + "M" * 24)
    rules = negative_rules(records, min_exp=0.8)
    with pytest.raises(Unreachable, match=r"leave row 1 2 possible values of s; .* the largest l that works is 2"):
        injector(records, MatchingDiversity(3, rules), None, Options())
    guarantee = MatchingDiversity(2, rules)
    assert guarantee.audit(injector(records, guarantee, None, Options()).buckets).holds


def test_rules_with_exceptions_are_kept_and_said():
    """min_conf below 1: two rows have a value that the rule excludes for them, and every bucket still fits the rules."""
    sensitive = "pqrs" * 30 + "qrs" * 39 + "p" + "qp"
    records = records_of(sensitive, sex="F" * 120 + "M" * 120)
    rules = negative_rules(records, min_exp=0.9, min_conf=0.95)
    assert [str(rule) for rule in rules] == ["sex=M => not p"]
    assert rules[0].exceptions == 2
    guarantee = MatchingDiversity(3, rules)
    found = injector(records, guarantee, None, Options())
    audit = guarantee.audit(found.buckets)
    assert audit.holds
    assert not audit.facts["contradicted_rows"]
    assert found.facts["exceptions"] == 2
    assert "2 rows have a value that the rules exclude" in found.notes[0]
    assert any("exceptions" in line for line in guarantee.limits())


def test_small_and_empty_tables():
    empty = Records((Column.from_texts("a", "quasi", []), Column.from_texts("s", "sensitive", [])))
    for method in (injector, balanced, anatomy):
        assert len(method(empty, MatchingDiversity(2), None, Options()).buckets) == 0
        two = method(records_of("pq", a="xy"), MatchingDiversity(2), None, Options())
        assert two.buckets.sizes.tolist() == [2]
        with pytest.raises(Unreachable, match="no l of at least 2 works"):
            method(records_of("p", a="x"), MatchingDiversity(2), None, Options())


def test_the_single_table_is_dealt_at_random():
    records = records_of("pqrs" * 500, a="x" * 2000)
    buckets = anatomy(records, MatchingDiversity(4), None, Options()).buckets
    one, other = (buckets.deal(np.random.default_rng(seed)) for seed in (1, 2))
    assert Buckets.of(Records((*buckets.rows.columns, one)), buckets.of_row).counts.tolist() == buckets.counts.tolist()
    truth = records["s"].codes
    assert 0.2 < np.mean(one.codes == truth) < 0.3
    assert 0.2 < np.mean(one.codes == other.codes) < 0.3


@given(tables(max_rows=12), st.data())
@settings(max_examples=60)
def test_the_order_of_published_values_says_nothing(records, data):
    """Exchanging the sensitive values within a bucket leaves what is published as it was, to the byte."""
    bucket = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(records), max_size=len(records))))
    one = Buckets.of(records, bucket)
    codes = records["s"].codes.copy()
    for b in set(bucket.tolist()):
        rows = np.flatnonzero(bucket == b)
        codes[rows] = codes[data.draw(st.permutations(rows.tolist()))]
    exchanged = Records((*records.columns[:-1], Column("s", "sensitive", codes, records["s"].values)))
    other = Buckets.of(exchanged, bucket)
    for name in ("of_row", "offsets", "values", "counts"):
        assert np.array_equal(getattr(one, name), getattr(other, name))


def test_tables_that_buckets_cannot_take_are_refused():
    column = Column.from_texts("s", "sensitive", "pq")
    with pytest.raises(InputError, match="no column is sensitive"):
        anatomy(Records((Column.from_texts("a", "quasi", "xy"),)), MatchingDiversity(2), None, Options())
    with pytest.raises(InputError, match="one at a time"):
        balanced(Records((column, Column.from_texts("t", "sensitive", "pq"))), MatchingDiversity(2), None, Options())
    with pytest.raises(InputError, match="only column"):
        anatomy(Records((column,)), MatchingDiversity(2), None, Options())
    with pytest.raises(InputError, match="bucket 1 has 2 rows but 3 values"):
        Buckets(
            Records((Column.from_texts("a", "quasi", "xy"),)),
            np.zeros(2, np.int32),
            "s",
            ("p",),
            np.array([0, 1]),
            np.zeros(1, np.int32),
            np.array([3]),
        )
