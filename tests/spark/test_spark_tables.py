"""Tables on Spark: parts of near rows, the local algorithms inside them, and an audit of the whole."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shoal
import shoal.spark
from rt_tables import as_records, tables
from shoal.algorithms.recoding import Options
from shoal.algorithms.rt.cluster_recoding import RTOptions
from shoal.errors import InputError, Unreachable
from shoal.guarantees.diversity import MatchingDiversity
from shoal.guarantees.lm import LmDiversity
from shoal.guarantees.rt import RTAnonymity
from shoal.guarantees.table import TableAnonymity
from shoal.loss.common_pairs import common_pairs
from shoal.spark.data import executors
from shoal.spark.search import near_parts as parts
from shoal.spark.search import tables as clusters
from spark.pretend import add_up, pretended_records

pytestmark = pytest.mark.xdist_group("spark")


@given(tables(min_rows=4, max_rows=40), st.integers(1, 3), st.sampled_from([4, 9, 16]))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_parts_are_boxes_with_enough_rows_each(rows, k, size):
    table, trees = as_records(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "ROWS", size)
        patch.setattr(executors, "add_up", add_up)
        found = parts.parts_of(pretended_records(table), trees, k)
    frame = pretended_records(table).rows
    batches = [batch for task in frame.tasks for batch in task if len(batch)]
    part = np.concatenate([found.bins_and_nodes(batch)[1] for batch in batches])
    bins = np.concatenate([found.bins_and_nodes(batch)[0] for batch in batches])
    assert set(part.tolist()) <= set(found.leaves.tolist())
    if len(rows) > size and len(found.leaves) > 1:
        filled = np.array([bool(items) for _, items in rows])
        sizes = [np.count_nonzero(part == leaf) for leaf in found.leaves]
        assert min(sizes) >= max(k, size // 4)
        assert not filled.any() or min(np.count_nonzero(filled[part == leaf]) for leaf in found.leaves) >= k
        # Of two parts, one lies beside the other in some column.
        boxes = [(bins[part == leaf].min(axis=0), bins[part == leaf].max(axis=0)) for leaf in found.leaves]
        for i, (low, high) in enumerate(boxes):
            for other_low, other_high in boxes[:i]:
                assert np.any((low > other_high) | (other_low > high))


@given(tables(min_rows=6, max_rows=30), st.integers(1, 3), st.sampled_from(["rfirst", "rmerge-r", "tmerge-t"]))
@settings(max_examples=40, deadline=None)
def test_what_parts_publish_keeps_the_promise_together(rows, k, name):
    table, trees = as_records(rows)
    guarantee = RTAnonymity(k, 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "ROWS", 8)
        patch.setattr(executors, "add_up", add_up)
        records = pretended_records(table)
        found = parts.parts_of(records, trees, k)
    batches = [one for task in records.rows.tasks for one in clusters._with_parts(iter(task), found)]
    whole = pa.Table.from_batches(batches)
    out = []
    for part in sorted(set(whole["part"].to_pylist())):
        own = whole.filter(pa.compute.equal(whole["part"], part))
        task = clusters.PartTask(
            guarantee, {**trees, "items": None}, name, Options(), RTOptions(), common_pairs(table.items)
        )
        out.append(clusters._cluster_part(own, records.template, task))
    together = pa.concat_tables(out)
    if -1 in together["row"].to_pylist():
        # Too few rows with items at all, or a bound that a part cannot keep: told, not published.
        told = [text for text in together["report"].to_pylist() if text is not None and "fault" in text]
        assert sum(bool(items) for _, items in rows) < k or all("delta" in text for text in told)
        return
    assert sorted(together["row"].to_pylist()) == list(range(len(rows)))
    values = together["values"].to_pylist()
    released = pa.table(
        {"n": [v[0] for v in values], "name": [v[1] for v in values], "items": together["items"].combine_chunks()}
    )
    assert shoal.audit(released, guarantee, quasi=["n", "name"], items="items").holds


def people(rows, seed=0):
    """Ages, towns and diagnoses that go with them."""
    rng = np.random.default_rng(seed)
    age, town = rng.integers(18, 90, rows), rng.integers(0, 6, rows)
    codes = [sorted({f"d{(a // 12 + c) % 9}" for c in rng.integers(0, 3, rng.integers(0, 4))}) for a in age]
    return pa.table(
        {
            "id": [str(i) for i in range(rows)],
            "age": age,
            "town": [f"t{t}" for t in town],
            "codes": codes,
            "ill": [f"s{i}" for i in rng.integers(0, 4, rows)],
            "year": [str(2000 + i % 3) for i in range(rows)],
        }
    )


def test_a_table_with_items_is_released_in_parts_and_loses_about_what_it_loses_locally(
    spark, monkeypatch, tmp_path, brought
):
    data, guarantee = people(1_200), RTAnonymity(4, 2)
    how = {"items": "codes", "quasi": ["age", "town"], "keep": "year", "drop": ["id", "ill"], "algorithm": "rfirst"}
    how["transaction"] = "sets"
    here = shoal.anonymize(data, guarantee, **how)
    monkeypatch.setattr(parts, "ROWS", 300)
    df = spark.createDataFrame(data)
    with brought() as found:
        release = shoal.spark.anonymize(df, guarantee, **how)
    # Values and names, histograms of parts, counts and hashes: no row.
    assert max(table.num_rows for table in found) <= 700
    assert max(table.nbytes for table in found) < 20_000
    assert release.audit.holds
    assert release.details["facts"]["parts"] >= 4
    assert release.details["classes"]["smallest"] >= 4
    assert release.published.columns == ["age", "town", "year", "codes"]
    published = release.published.toArrow()
    assert published.num_rows == 1_200
    assert Counter(published["year"].to_pylist()) == Counter(data["year"].to_pylist())
    assert shoal.audit(published, guarantee, items="codes", quasi="age,town", keep="year").holds
    # When this was written, here and in parts: NCP 0.0469 and 0.0486, UL 0.699 and 0.6985, NCP of items 0.294 and 0.278.
    assert release.loss["ncp"] < 1.1 * here.loss["ncp"]
    assert release.loss["ul"] < 1.05 * here.loss["ul"]
    assert release.loss["items_ncp"] < 1.1 * here.loss["items_ncp"]
    certificate = release.write(tmp_path / "public")
    assert certificate["columns"] == {"age": "quasi", "town": "quasi", "year": "keep"}
    assert certificate["withheld"]["loss"][-1] == "items_ncp"
    release.forget()


def test_a_table_without_items_and_one_with_sensitive_items_are_released_in_one_part_as_locally(spark):
    data = people(150, seed=1)
    how = {"quasi": ["age", "town"], "sensitive": ["ill"], "drop": ["id", "codes", "year"], "algorithm": "mondrian"}
    here = shoal.anonymize(data, TableAnonymity(3, 2), **how)
    release = shoal.spark.anonymize(spark.createDataFrame(data), TableAnonymity(3, 2), **how)
    assert dict(release.loss) == pytest.approx(dict(here.loss), abs=1e-12)
    assert_worth_is(release, here)
    assert (release.audit.facts, release.audit.checked) == (here.audit.facts, here.audit.checked)
    release.forget()
    how = {"quasi": ["age", "town"], "items": "codes", "sensitive": ["d1"], "drop": ["id", "ill", "year"]}
    how |= {"algorithm": "rfirst", "transaction": "sets"}
    here = shoal.anonymize(data, LmDiversity(3, 2, 1), **how)
    release = shoal.spark.anonymize(spark.createDataFrame(data), LmDiversity(3, 2, 1), **how)
    assert dict(release.loss) == pytest.approx(dict(here.loss), abs=1e-12)
    assert_worth_is(release, here)
    assert release.audit.by_size == here.audit.by_size
    release.forget()


def test_rows_are_left_out_as_locally_and_in_parts_within_the_budget(spark, monkeypatch, tmp_path):
    data = people(400, seed=3)
    ages = [
        300 + 7 * i if i < 15 else age for i, age in enumerate(data["age"].to_pylist())
    ]  # some are far from all others
    data = data.set_column(data.column_names.index("age"), "age", pa.array(ages))
    how = {"quasi": ["age", "town"], "drop": ["id", "codes", "year", "ill"], "suppress_rows": 0.05}
    here = shoal.anonymize(data, TableAnonymity(4), **how)
    df = spark.createDataFrame(data)
    release = shoal.spark.anonymize(df, TableAnonymity(4), **how)
    assert here.details["suppressed_rows"] == 20 == release.details["suppressed_rows"]
    assert dict(release.loss) == pytest.approx(dict(here.loss), abs=1e-12)
    assert_worth_is(release, here)
    assert release.details["ncp_by_column"] == pytest.approx(dict(here.details["ncp_by_column"]))
    assert [note for note in release.notes if "left out" in note] == [note for note in here.notes if "left out" in note]
    assert release.rows == release.published.count() == 380
    release.forget()
    monkeypatch.setattr(parts, "ROWS", 100)
    release = shoal.spark.anonymize(df, TableAnonymity(4), **how)
    assert release.details["facts"]["parts"] > 1
    assert 380 <= release.rows < 400
    certificate = release.write(tmp_path / "public")
    assert certificate["output"]["rows"] == release.rows
    assert any("left out" in warning for warning in certificate["warnings"])
    assert shoal.spark.verify(spark.read.parquet(str(tmp_path / "public")), tmp_path / "public.certificate.json").holds
    release.forget()


def assert_worth_is(release, here):
    """What is kept and what remains is what the local engine says."""
    assert dict(release.kept) == pytest.approx(dict(here.kept))
    assert set(release.remains) == set(here.remains)
    for name, column in here.remains["columns"].items():
        assert release.remains["columns"][name] == pytest.approx(column)
    if "items" in here.remains:
        mine, theirs = (dict(one.remains["items"]) for one in (release, here))
        commonest = [
            [(each["item"], each["exact"], each["deleted"]) for each in one.pop("commonest")] for one in (mine, theirs)
        ]
        assert commonest[0] == commonest[1]
        assert mine == pytest.approx(theirs)


@pytest.mark.parametrize(
    "how", [{}, {"algorithm": "rfirst"}, {"hierarchy": {"codes": "balanced:3"}}], ids=["joint", "rfirst", "tree"]
)
def test_local_inside_classes_deletes_and_is_worth_what_it_is_locally(spark, monkeypatch, how):
    data, guarantee = people(600), RTAnonymity(4, 2)
    how = {"items": "codes", "quasi": ["age", "town"], "drop": ["id", "ill", "year"], **how}
    here = shoal.anonymize(data, guarantee, **how)
    assert here.loss["deleted"] > 0.01
    release = shoal.spark.anonymize(spark.createDataFrame(data), guarantee, **how)
    assert release.details["facts"]["parts"] == 1
    assert dict(release.loss) == pytest.approx(dict(here.loss), abs=1e-12)
    assert_worth_is(release, here)
    release.forget()
    monkeypatch.setattr(parts, "ROWS", 200)
    release = shoal.spark.anonymize(spark.createDataFrame(data), guarantee, **how)
    assert release.details["facts"]["parts"] > 1
    assert release.audit.holds
    # Every part has the budget of the whole, as a share.
    assert 0.005 < release.loss["deleted"] <= release.parameters["suppress"]
    assert release.loss["info"] < 1.5 * here.loss["info"]
    found = shoal.evaluate(
        data,
        release.published.toArrow(),
        items="codes",
        quasi="age,town",
        drop="id,ill,year",
        hierarchy=how.get("hierarchy"),
    )
    assert found["kept.exact"] == pytest.approx(release.kept["exact"])
    assert found["kept.pairs"] == pytest.approx(release.kept["pairs"])
    assert found["kept.cells"] == pytest.approx(release.kept["cells"])
    release.forget()


def test_missing_sensitive_values_and_sets_in_cells_are_read_as_locally(spark, tmp_path):
    data = pa.table({"age": [str(20 + i // 3 % 6) for i in range(36)], "ill": (["flu", "hiv", None] * 12)})
    df, how = spark.createDataFrame(data), {"quasi": "age", "sensitive": "ill"}
    for promise in (TableAnonymity(6, 2), TableAnonymity(6, 3, missing="value")):
        release = shoal.spark.anonymize(df, promise, **how)
        assert release.audit.holds
        assert release.guarantee.missing == promise.missing
    release.write(tmp_path / "public")
    written, proof = spark.read.parquet(str(tmp_path / "public")), tmp_path / "public.certificate.json"
    assert shoal.spark.verify(written, proof).holds
    assert not shoal.spark.audit(written, TableAnonymity(6, 3), **how).holds
    with pytest.raises(Unreachable, match="only 2 different values"):
        shoal.spark.anonymize(df, TableAnonymity(6, 3), **how)
    buckets = shoal.spark.anonymize(df, MatchingDiversity(2), **how)
    assert buckets.audit.holds
    assert all(
        len({row["ill"] for row in rows} - {None}) >= 2
        for rows in _by_bucket(buckets.published.toArrow().to_pylist()).values()
    )
    with pytest.raises(Unreachable, match="only 2 different values of ill; the largest l that works is 2"):
        shoal.spark.anonymize(df, MatchingDiversity(3), **how)
    for guarantee in (TableAnonymity(6, 2, missing={"age": "value"}), MatchingDiversity(2, missing={"age": "value"})):
        with pytest.raises(InputError, match="the column is not sensitive"):
            shoal.spark.anonymize(df, guarantee, **how)
    sets = spark.createDataFrame(data.set_column(1, "ill", pa.array(["flu", "asthma|flu", "gout"] * 12)))
    for guarantee in (TableAnonymity(6, 2), MatchingDiversity(2)):
        with pytest.raises(InputError, match="1 of the 3 values of 'ill' hold several items"):
            shoal.spark.anonymize(sets, guarantee, **how)
    with pytest.raises(InputError, match="hold several items"):
        shoal.spark.audit(sets, TableAnonymity(6, 2), **how)


def _by_bucket(rows):
    found = {}
    for row in rows:
        found.setdefault(row["bucket"], []).append(row)
    return found


def test_codes_that_look_like_numbers_stay_apart_as_locally(spark):
    from shoal.spark.data.frame_records import FrameRoles, code_records

    rows = [("250.0", "34", "7.0"), ("250.00", "35", "7.00"), ("250.0", "34", "7.0"), ("250.00", "35", "7.00")]
    df = spark.createDataFrame(rows, "code string, age string, kept string")
    found = shoal.spark.audit(df, TableAnonymity(4), quasi="code")
    assert (found.holds, found.violations) == (False, 2)
    for numeric, are in ((None, [False, True]), (("none",), [False, False]), (("code,age",), [True, True])):
        records = code_records(df, FrameRoles(quasi=("code", "age"), keep=("kept",), numeric=numeric))
        assert [column.numbers is not None for column in records.template.columns] == are
        assert records.template.columns[0].values == ("250.0", "250.00")
        assert [note for note in records.notes if "'code'" in note] or numeric == ("none",)
        records.forget()
    with pytest.raises(InputError, match="'other' for numeric= is not one of its columns"):
        code_records(df, FrameRoles(quasi=("code",), numeric=("other",)))
    release = shoal.spark.anonymize(df, TableAnonymity(4), quasi="code,age", keep="kept", numeric="none")
    assert Counter(row.kept for row in release.published.collect()) == {"7.0": 2, "7.00": 2}
    release.forget()


def test_a_column_without_a_role_and_a_promise_out_of_reach_are_refused(spark):
    df = spark.createDataFrame(people(20))
    with pytest.raises(InputError, match=r"'ill', 'year' have no role"):
        shoal.spark.anonymize(df, RTAnonymity(2, 2), quasi="age,town", items="codes", drop="id")
    with pytest.raises(Unreachable, match="only 20 rows"):
        shoal.spark.anonymize(df, RTAnonymity(30, 2), quasi="age,town", items="codes", drop="id,ill,year")


@pytest.mark.parametrize(
    ("guarantee", "given", "message"),
    [
        (RTAnonymity(2, 2), {"algorithm": "tfirst", "quasi": "a"}, "tfirst does not run on Spark"),
        (TableAnonymity(2), {"algorithm": "top-down", "quasi": "a", "drop": "items"}, "top-down does not run on Spark"),
        (RTAnonymity(2, 2), {}, "no column is quasi"),
        (RTAnonymity(2, 2), {"quasi": "a", "hierarchy": "frequency:3"}, "cannot be made on Spark for a table"),
        (LmDiversity(2, 2, 2), {"quasi": "a"}, "needs sensitive items"),
        (TableAnonymity(2, 2), {"quasi": "a"}, "nothing is sensitive"),
        (TableAnonymity(2), {"quasi": "a", "delta": 0.5}, "delta"),
        (TableAnonymity(2), {"quasi": "a", "missing_quasi": {"a": "drop"}}, "a value of its own"),
    ],
)
def test_what_is_not_for_spark_is_refused_before_anything_runs(guarantee, given, message):
    with pytest.raises(InputError, match=message):
        shoal.spark.anonymize(object(), guarantee, **given)
