"""Audits on Spark say what the local ones say: by the hundred on a pretended data frame, and once each on a real one."""

from __future__ import annotations

import json
from datetime import date

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shoal
import shoal.models.km
import shoal.spark
import strategies
from rt_tables import FIGURE_1A, FIGURE_1B, as_records, records, tables
from shoal.algorithms.buckets.negative_rules import value_hierarchies
from shoal.algorithms.buckets.rule_files import rule_edits
from shoal.errors import InputError
from shoal.guarantees.diversity import MatchingDiversity, PlainDiversity
from shoal.guarantees.km_local import LocalKmAnonymity
from shoal.guarantees.lm import LmDiversity
from shoal.guarantees.rt import RTAnonymity
from shoal.guarantees.table import TableAnonymity
from shoal.hierarchy.build import balanced_tree
from shoal.records.baskets import Baskets
from shoal.records.buckets import Buckets
from shoal.records.records import Column, Records, same_records
from shoal.records.source import load_records
from shoal.spark.audits import audit_rows, km
from shoal.spark.data import executors
from shoal.spark.data.frame_records import FrameRoles, code_records, local_records
from spark.pretend import add_up, pretended, pretended_records

pytestmark = pytest.mark.xdist_group("spark")
many = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
few_or_many = st.sampled_from([0, 1, 3, 10_000])


@pytest.fixture(autouse=True)
def _counted_here(request, monkeypatch):
    if "spark" not in request.fixturenames:
        monkeypatch.setattr(executors, "add_up", add_up)


def there(table, guarantee, **how):
    return audit_rows(pretended_records(table), guarantee, **how)


@many
@given(tables(max_rows=16), st.integers(1, 4), st.integers(1, 4), st.sampled_from(["", "EF"]), few_or_many)
def test_k_km_anonymity_is_audited_as_locally(rows, k, m, sensitive, keep):
    table, guarantee = as_records(rows, sensitive)[0], RTAnonymity(k, m)
    assert there(table, guarantee, witnesses=keep) == guarantee.audit(table, witnesses=keep)
    quick, expected = (
        audit(table, yes_or_no=True) for audit in (lambda t, **how: there(t, guarantee, **how), guarantee.audit)
    )
    assert (quick.holds, quick.complete) == (expected.holds, expected.complete)


@pytest.mark.parametrize("figure", [FIGURE_1A, FIGURE_1B])
def test_the_table_of_the_paper_is_audited_as_locally(figure):
    table, guarantee = records(figure), RTAnonymity(2, 2)
    assert there(table, guarantee) == guarantee.audit(table)


@many
@given(tables(max_rows=16), st.integers(1, 4), st.integers(1, 4), st.integers(1, 3), few_or_many)
def test_k_lm_diversity_is_audited_as_locally(rows, k, l, m, keep):  # noqa: E741
    table, guarantee = as_records(rows, "EF")[0], LmDiversity(k, l, m)
    assert there(table, guarantee, witnesses=keep) == guarantee.audit(table, witnesses=keep)


@many
@given(
    st.lists(st.tuples(*[st.sampled_from(["", "1", "2", "10", "x"])] * 4), min_size=1, max_size=25),
    st.integers(2, 4),
    st.integers(1, 3),
    few_or_many,
)
def test_k_anonymity_of_tables_is_audited_as_locally(rows, k, l, keep):  # noqa: E741
    roles = ("quasi", "sensitive", "quasi", "sensitive")
    table = Records(tuple(Column.from_texts(f"c{i}", role, [row[i] for row in rows]) for i, role in enumerate(roles)))
    guarantee = TableAnonymity(k, l)
    assert there(table, guarantee, witnesses=keep) == guarantee.audit(table, witnesses=keep)


def test_more_sets_than_can_be_counted_are_told_as_locally(monkeypatch):
    table = records([((1, "a", "b"), [str(i) for i in range(20)])] * 3)
    monkeypatch.setattr("shoal.guarantees.km.COUNTED", 2_000)
    for k in (3, 4):
        guarantee = RTAnonymity(k, 4)
        assert there(table, guarantee) == guarantee.audit(table)


def bucketed(rows, excluded=None):
    """(records, rules) from rows of (who, value) and what {who} cannot have."""
    table = Records(
        (
            Column.from_texts("who", "quasi", [who for who, _ in rows]),
            Column.from_texts("s", "sensitive", [value for _, value in rows]),
        )
    )
    lines = [
        json.dumps({"if": {"who": who}, "never": value})
        for who, values in (excluded or {}).items()
        for value in sorted(values)
        if who in table["who"].values and value in table["s"].values
    ]
    return table, rule_edits(lines, value_hierarchies(table, {}), table["s"]).added if lines else None


@many
@given(
    st.lists(st.tuples(*map(st.sampled_from, ("abc", "pqrs", "xyz"))), min_size=1, max_size=15),
    st.dictionaries(st.sampled_from("abc"), st.sets(st.sampled_from("pqrs"))),
    st.integers(2, 4),
    few_or_many,
)
def test_buckets_are_audited_as_locally(rows, excluded, l, keep):  # noqa: E741
    table, rules = bucketed([row[:2] for row in rows], excluded)
    names = sorted({row[2] for row in rows})
    buckets = Buckets.of(table, np.array([names.index(row[2]) for row in rows]), names=names)
    published = pretended_records(table, [row[2] for row in rows])
    for guarantee in (
        MatchingDiversity(l, rules),
        *(PlainDiversity(l, kind, c=1.5) for kind in ("distinct", "entropy", "recursive")),
    ):
        expected = guarantee.audit(buckets, witnesses=keep)
        assert audit_rows(published, guarantee, witnesses=keep) == expected


@st.composite
def mixed_releases(draw):
    """(hierarchy, rows of nodes of any level, k, m)."""
    hierarchy = draw(strategies.trees(1, 6))
    rows = draw(st.lists(st.sets(st.integers(0, hierarchy.n_nodes - 1), max_size=4), min_size=1, max_size=10))
    return hierarchy, rows, draw(st.integers(1, 4)), draw(st.integers(1, 4))


@many
@given(mixed_releases())
def test_local_recoding_is_audited_as_locally(release):
    hierarchy, rows, k, m = release
    baskets = Baskets.from_rows([hierarchy.names[v] for v in row] for row in rows)
    for tree in (hierarchy, None):
        guarantee = LocalKmAnonymity(k, m, tree)
        expected, found = guarantee.audit(baskets), audit_rows(pretended(baskets), guarantee)
        if tree is not None:
            assert found == expected
        assert (found.holds, found.complete, found.notes) == (expected.holds, expected.complete, expected.notes)


def test_rows_that_cannot_be_spelled_out_are_refused_with_the_reason(monkeypatch):
    tree = balanced_tree(tuple(str(i) for i in range(8)), 2)
    baskets = Baskets.from_rows([[tree.names[tree.n_nodes - 1]], ["1"]])
    monkeypatch.setattr(km, "SPELLED_OUT", 1)
    with pytest.raises(InputError, match="use the local engine, which looks for a breach without"):
        audit_rows(pretended(baskets), LocalKmAnonymity(2, 2, tree))


PEOPLE = pa.table(
    {
        "age": pa.array([31.0, 31.5, None, float("nan"), 31.0, 31.0] * 4),
        "code": ["7", "7.0", "", "10", None, "7"] * 4,
        "born": pa.array([date(1990, 1, 1 + i % 2) for i in range(24)]),
        "items": [["a", "b"], ["b"], [], None, ["a", "c", "a"], ["b", "a"]] * 4,
        "hidden": [["x"], ["x", "y"], ["x"], [], ["y"], None] * 4,
        "bucket": [i // 4 for i in range(24)],
        "ill": [*"pqrpqs"] * 4,
        "name": [str(i) for i in range(24)],
    }
)


def people(spark):
    return spark.createDataFrame(PEOPLE)


def in_order(df):
    """The rows here, in the order in which Spark gives them."""
    return df.toArrow()


def test_values_are_read_as_locally(spark):
    df = people(spark)
    here = load_records(
        in_order(df), quasi=["age", "code", "born"], items="items", sensitive_sets="hidden", drop="bucket,ill,name"
    )
    found = code_records(df, FrameRoles("items", ("age", "code", "born")), "hidden")
    rows, seen = local_records(found.rows.toArrow(), found.template)
    assert rows.tolist() == list(range(24))
    assert same_records(seen, here.records)
    assert [c.values for c in seen.columns] == [c.values for c in here.records.columns]
    assert found.sets.duplicates == here.records.items.duplicates == 4
    found.forget()


@pytest.mark.parametrize(
    ("guarantee", "roles"),
    [
        (shoal.KAnonymity(6, l=2), {"items": "items", "sensitive": "hidden"}),
        (shoal.KAnonymity(9, sensitive=["b"]), {"items": "items"}),
        (TableAnonymity(5, 2), {"quasi": ["age", "code"], "sensitive": ["ill"]}),
        (LmDiversity(4, 2, 2), {"quasi": ["age", "code"], "items": "items", "sensitive": "hidden"}),
        (MatchingDiversity(4), {"quasi": ["age", "born"], "sensitive": "ill"}),
    ],
)
def test_an_audit_on_spark_is_the_local_one(spark, tmp_path, guarantee, roles):
    df = people(spark)
    named = {name for names in roles.values() for name in ([names] if isinstance(names, str) else names)}
    others = [
        name for name in df.columns if name not in (*named, *(["bucket"] if guarantee.model == "diversity" else []))
    ]
    if guarantee.model == "diversity":
        rules = tmp_path / "rules.jsonl"
        rules.write_text('{"if": {"age": "31"}, "never": "p"}\n')
        roles = roles | {"knowledge": rules}
    found = shoal.spark.audit(df, guarantee, **roles)
    assert found == shoal.audit(in_order(df), guarantee, **roles, drop=others)
    assert not found.holds


def test_a_tree_decides_on_spark_too(spark):
    tree = shoal.models.km.resolve_hierarchy("balanced:2", Baskets.from_rows([["a", "b", "c", "d"]]))
    rows = [["a", "b"], [tree.names[-1]], ["c"], [tree.names[4], "c"]] * 3
    df = spark.createDataFrame([(row,) for row in rows], "items array<string>")
    for k in (3, 7):
        guarantee = LocalKmAnonymity(k, 2, tree)
        assert shoal.spark.audit(df, shoal.KmAnonymity(k, 2), hierarchy=tree) == guarantee.audit(
            Baskets.from_rows(rows)
        )


@pytest.mark.parametrize(
    ("guarantee", "roles", "message"),
    [
        (shoal.KmAnonymity(2, 2), {"quasi": "age"}, "quasi has no use"),
        (shoal.KmAnonymity(2, 2), {"sensitive": "x"}, "sensitive has no use"),
        (
            shoal.KAnonymity(2, sensitive=["z"]),
            {"items": "items"},
            "1 of the sensitive items that are named do not occur in the data",
        ),
        (RTAnonymity(2, 2), {"items": "items"}, "no column is named as quasi-identifier"),
        (RTAnonymity(2, 2), {"items": "items", "quasi": "size"}, "no column 'size'"),
        (RTAnonymity(2, 2), {"items": "items", "quasi": "hidden"}, "'hidden' holds no single values"),
        (TableAnonymity(2), {"items": "items", "quasi": "age"}, "tables without items"),
        (TableAnonymity(2, 2), {"quasi": "age"}, "no column is sensitive"),
        (MatchingDiversity(2), {"quasi": "age"}, "one sensitive column"),
    ],
)
def test_roles_that_do_not_fit_are_refused(spark, guarantee, roles, message):
    with pytest.raises(InputError, match=message):
        shoal.spark.audit(people(spark), guarantee, **roles)


def test_a_column_with_too_many_values_is_refused(spark, monkeypatch):
    monkeypatch.setattr("shoal.spark.data.frame_records.MOST_VALUES", 20)
    with pytest.raises(InputError, match=r"name have more than 20 different values.*use the local engine"):
        shoal.spark.audit(people(spark), TableAnonymity(2), quasi=["name"])
