"""Limits on columns: nothing is published more coarsely, or nothing is published at all."""

from __future__ import annotations

import datetime
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import InputError, Unreachable
from shoal.hierarchy.kinds.ceilings import blocks_of_values
from shoal.hierarchy.spec import column_hierarchy
from shoal.records.baskets import Baskets
from shoal.records.records import Column, Records

DAY = datetime.date(2020, 1, 1)


def table(rows, items=False):
    """Records with an age, a day and a code; rows are triples of numbers."""
    texts = {
        "age": [str(age) for age, _, _ in rows],
        "day": [str(DAY + datetime.timedelta(day)) for _, day, _ in rows],
        "code": [f"8{code:03}" for _, _, code in rows],
    }
    columns = tuple(Column.from_texts(name, "quasi", column, numeric=name == "age") for name, column in texts.items())
    sets = Baskets.from_rows([("x", "y") if n % 2 else ("x",) for n in range(len(rows))]) if items else None
    return Records(columns, sets)


def naive_block(row, limits):
    age, day, code = row
    date = DAY + datetime.timedelta(day)
    told = {
        "age": age // int(limits.get("age", 10**6)),
        "day": {"year": date.year, "quarter": (date.year, (date.month - 1) // 3), "month": (date.year, date.month)}.get(
            limits.get("day"), 0
        ),
        "code": f"8{code:03}"[: int(limits.get("code", 0))],
    }
    return tuple(told[name] for name in limits)


rows = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 500), st.integers(0, 999)), min_size=4, max_size=40)
limits = st.fixed_dictionaries(
    {},
    optional={
        "age": st.sampled_from(["10", "20y", "7"]).map(lambda text: text.rstrip("y")),
        "day": st.sampled_from(["year", "quarter", "month"]),
        "code": st.sampled_from(["1", "2"]),
    },
).filter(bool)


@given(rows, limits, st.sampled_from(["better-of-two", "cluster", "mondrian"]), st.integers(2, 3))
@settings(max_examples=60, deadline=None)
def test_rows_share_a_class_only_within_the_limits(rows, limits, algorithm, k):
    blocks = Counter(naive_block(row, limits) for row in rows)
    how = {"hierarchy": {"code": "prefix"}, "limits": limits, "algorithm": algorithm, "keep_order": True}
    if min(blocks.values()) < k:
        with pytest.raises(Unreachable, match=r"cannot be reached within the limits .*; widen a limit"):
            shoal.anonymize(table(rows), shoal.TableAnonymity(k=k), **how)
        return
    release = shoal.anonymize(table(rows), shoal.TableAnonymity(k=k), **how)
    assert release.audit.holds
    alike = {}
    for row, published in zip(rows, zip(*(c.texts() for c in release.published.columns), strict=True), strict=True):
        alike.setdefault(published, set()).add(naive_block(row, limits))
    assert all(len(held) == 1 for held in alike.values())


@pytest.mark.parametrize("algorithm", ["rfirst", "rmerge-r", "rmerge-rt", "tmerge-t", "tfirst"])
def test_items_and_merges_stay_within_the_limits_and_losses_are_those_of_all_rows(algorithm):
    draw = np.random.default_rng(3)
    rows = [(int(a), 0, 0) for a in draw.integers(0, 60, 120)]
    how = {"limits": {"age": 20}, "algorithm": algorithm, "keep_order": True}
    how |= {"delta": 0.9} if algorithm.startswith("tmerge") else {}
    release = shoal.anonymize(table(rows, items=True), shoal.RTAnonymity(k=3, m=1), **how)
    assert release.audit.holds
    assert release.details["facts"]["blocks"] == 3
    widths, domain = [], max(a for a, _, _ in rows) - min(a for a, _, _ in rows)
    for text, (age, _, _) in zip(release.published["age"].texts(), rows, strict=True):
        low, _, high = text.strip("[]").partition(":")
        low, high = int(low), int(high or low)
        assert low <= age <= high
        assert low // 20 == high // 20
        widths.append((high - low) / domain)
    assert release.details["ncp_by_column"]["age"] == pytest.approx(sum(widths) / len(widths))


@pytest.mark.parametrize(
    ("values", "spec", "limit", "blocks"),
    [
        (["41", "44", "49", "50", ""], None, "10", [["41", "44", "49"], ["50"], [""]]),
        (["41", "44", "49", "50"], "intervals:5,10,20", "10", [["41", "44", "49"], ["50"]]),
        (["41", "44", "49", "50"], "intervals:5,10,20", "7", [["41", "44"], ["49"], ["50"]]),
        (["41", "44", "88", "97"], "bands:10,top:80", "10y", [["41", "44"], ["88", "97"]]),
        (["41", "44", "46", "49"], "round:5", "10", [["41", "44", "46"], ["49"]]),
        (["[0-10)", "[10-20)", "[20-30)"], "bands", "20", [["[0-10)", "[10-20)"], ["[20-30)"]]),
        (["2020-01-03", "2020-01-09", "2020-02-01"], None, "month", [["2020-01-03", "2020-01-09"], ["2020-02-01"]]),
        (["80331", "80335", "80999", ""], "prefix", "3", [["80331", "80335"], ["80999"], [""]]),
        (["3 days", "6 days", "8 days"], None, "7d", [["3 days", "6 days"], ["8 days"]]),
        (["2020-01-03"], None, "month", [["2020-01-03"]]),
        (["a", "b", "c", "d"], "balanced:2", "2", [["a", "b"], ["c", "d"]]),
    ],
)
def test_a_limit_parts_the_values_of_a_column(values, spec, limit, blocks):
    column = Column.from_texts("x", "quasi", values)
    block = blocks_of_values(column, column_hierarchy(column, spec), limit)
    held = {}
    for value, number in zip(column.values, block.tolist(), strict=True):
        held.setdefault(number, []).append(value)
    assert sorted(sorted(one) for one in held.values()) == sorted(sorted(one) for one in blocks)


@pytest.mark.parametrize(
    ("values", "spec", "limit", "why"),
    [
        (["1", "2"], None, "month", "it holds numbers; give for example"),
        (["1", "2"], None, "0", "it holds numbers"),
        (["1", "2"], "bands:20", "10", "bands:20 publishes it more coarsely than its limit"),
        (["2020-01-03", "2020-01-09"], None, "10", "for dates name one of year, quarter"),
        (["ab", "ac"], "prefix", "month", "has no tree of dates"),
        (["3 days", "6 days"], None, "7", "it holds durations"),
        (["a", "b"], None, "3", "no hierarchy that it could be about"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused_with_one_that_does(values, spec, limit, why):
    column = Column.from_texts("x", "quasi", values)
    with pytest.raises(InputError, match=why):
        blocks_of_values(column, column_hierarchy(column, spec), limit)


def test_a_limit_of_an_unknown_column_is_refused():
    with pytest.raises(InputError, match="there is no such quasi"):
        shoal.anonymize(table([(1, 1, 1)] * 4), shoal.TableAnonymity(k=2), limits={"height": 10})


def test_closeness_is_to_the_whole_table_and_not_to_a_block(tmp_path):
    (tmp_path / "t.csv").write_text("age,ill\n1,a\n2,b\n")
    with pytest.raises(InputError, match="limits cut the table into blocks"):
        shoal.anonymize(
            tmp_path / "t.csv", shoal.TableAnonymity(2, t=0.5), quasi="age", sensitive="ill", limits={"age": 5}
        )


def test_limits_do_not_go_together_with_closeness():
    records = table([(1, 1, 1)] * 4)
    sick = Records((*records.columns, Column.from_texts("ill", "sensitive", ["a", "b", "a", "b"])))
    with pytest.raises(InputError, match="compares classes with the whole table"):
        shoal.anonymize(sick, shoal.TableAnonymity(k=2, t=0.5), limits={"age": 10})
