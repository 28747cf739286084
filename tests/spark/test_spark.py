"""Releases and audits on a real Spark: equal to the local ones, and no row of data on the driver."""

from __future__ import annotations

import itertools
import json
import os
import sys
import sysconfig
from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import shoal
import shoal.spark
from shoal.algorithms.recoding import Recoding
from shoal.errors import InputError, ShoalError, Unreachable
from shoal.guarantees.km import KmAnonymity
from shoal.guarantees.km_local import LocalKmAnonymity
from shoal.hierarchy.cut import Cut
from shoal.hierarchy.tree import Hierarchy
from shoal.records.baskets import Baskets
from shoal.spark import release as spark_release
from shoal.spark.data.executors import TimeUp, fetch, jobs_within
from shoal.spark.data.one_task import SETTING
from shoal.spark.data.packing import together
from shoal.spark.data.sets import encode_sets
from shoal.spark.data.storage import frame_of
from shoal.spark.search import propose
from shoal.spark.search.km import pack_published
from shoal.spark.search.sets import parted

pytestmark = pytest.mark.xdist_group("spark")

# Figures 1 and 2 of the 2008 paper.
FIGURE_1 = Hierarchy(np.array([4, 4, 5, 5, 6, 6, -1], np.int32), ("a1", "a2", "b1", "b2", "A", "B", "ALL"), 4)
FIGURE_2A = [["a1", "b1", "b2"], ["a2", "b1"], ["a2", "b1", "b2"], ["a1", "a2", "b2"]]


def frame(spark, rows, element="string"):
    return spark.createDataFrame([(row,) for row in rows], f"items array<{element}>")


def random_rows(seed, rows, items):
    rng = np.random.default_rng(seed)
    return [sorted({f"i{i}" for i in (rng.zipf(1.4, rng.integers(0, 7)) % items).tolist()}) for _ in range(rows)]


def published_rows(df):
    return Counter(frozenset(row[0]) for row in df.collect())


def assert_same(here, there):
    """A local release and one on Spark: the same cut, loss, verdict and rows. Of several optimal cuts `exact` may take another."""
    assert (here.optimal, here.bound) == (there.optimal, there.bound)
    same = np.array_equal(here.recoding.cut.node, there.recoding.cut.node)
    if here.recoding.algorithm == "exact" and not same:
        assert here.optimal
        assert here.audit.holds == there.audit.holds
        return
    assert same
    assert (dict(here.loss), here.optimal, here.bound) == (dict(there.loss), there.optimal, there.bound)
    assert (dict(here.kept), here.remains) == (dict(there.kept), there.remains)
    assert here.audit == there.audit
    assert published_rows(there.published) == Counter(here.published)


def test_figure_2_is_recoded_as_in_the_paper(spark):
    how = {"hierarchy": FIGURE_1, "algorithm": "exact"}
    release = shoal.spark.anonymize(frame(spark, FIGURE_2A), KmAnonymity(2, 2), **how)
    assert release.loss["ncp"] == pytest.approx(2.5 / 11, abs=1e-15)
    assert dict(release.recoding.rules()) == {"a1": "A", "a2": "A", "b1": "b1", "b2": "b2"}
    assert release.published.columns == ["items"]
    here = shoal.anonymize(Baskets.from_rows(FIGURE_2A), KmAnonymity(2, 2), **how)
    assert_same(here, release)
    release.forget()


@pytest.fixture
def in_blocks(spark):
    """Nothing fits one task."""
    spark.conf.set(SETTING, "0")
    yield
    spark.conf.unset(SETTING)


def test_the_default_runs_in_one_task_and_brings_no_row_of_data_to_the_driver(spark, brought):
    rows = random_rows(1, 1_500, 20)
    df = frame(spark, rows).repartition(3)
    with brought() as found:
        release = shoal.spark.anonymize(df, KmAnonymity(4, 3), hierarchy="balanced:3")
    here = shoal.anonymize([row[0] for row in df.collect()], KmAnonymity(4, 3), hierarchy="balanced:3")
    assert (release.algorithm, release.recoding) == ("local", None)
    assert (dict(release.loss), release.audit, dict(release.details)) == (dict(here.loss), here.audit, here.details)
    assert (dict(release.kept), release.remains) == (dict(here.kept), here.remains)
    assert published_rows(release.published) == Counter(here.published)
    # Names with their counts, a report, again the names, the audit with the hash of the rows.
    assert len(found) == 4
    assert max(table.num_rows for table in found) <= 200
    assert max(table.nbytes for table in found) < 20_000
    release.forget()


def test_local_in_a_single_block_is_the_release_of_the_local_engine(spark, brought, in_blocks):
    rows = random_rows(3, 800, 20)
    how = {"hierarchy": "balanced:3"}
    with brought() as found:
        release = shoal.spark.anonymize(frame(spark, rows).repartition(3), KmAnonymity(4, 2), **how)
    here = shoal.anonymize(rows, KmAnonymity(4, 2), **how)
    assert (release.algorithm, here.algorithm, release.guarantee) == ("local", "local", here.guarantee)
    assert (dict(release.loss), dict(release.kept)) == (pytest.approx(dict(here.loss)), dict(here.kept))
    assert release.remains == here.remains
    assert {**release.details, "local": None} == {**here.details, "local": None}
    assert published_rows(release.published) == Counter(here.published)
    assert max(table.num_rows for table in found) <= 400
    release.forget()


@pytest.mark.parametrize("name", ["local", "lra"])
def test_each_block_keeps_the_promise_by_itself_and_so_do_all_together(spark, tmp_path, in_blocks, monkeypatch, name):
    monkeypatch.setattr(parted, "LEAST", 300)
    rows = random_rows(4, 900, 15)
    how = {"hierarchy": "balanced:3", "algorithm": name}
    release = shoal.spark.anonymize(frame(spark, rows), KmAnonymity(3, 2), **how)
    assert release.details["local"]["blocks"] > 4
    assert any("blocks" in note for note in release.notes)
    here = shoal.anonymize(rows, KmAnonymity(3, 2), **how)
    published = [frozenset(row[0]) for row in release.published.collect()]
    assert len(published) == len(rows)
    supports = Counter(pair for row in published for pair in itertools.combinations(sorted(row), 2))
    assert min(supports.values()) >= 3
    assert here.loss["info"] <= release.loss["info"] < 1
    left_out = 1 - sum(map(len, published)) / sum(map(len, rows))
    assert release.loss["deleted"] <= left_out + 1e-12  # two items of a row may become one token
    release.write(str(tmp_path / "out"))
    certificate = tmp_path / "out.certificate.json"
    assert shoal.verify(certificate, tmp_path / "out").holds
    release.forget()


@pytest.mark.parametrize("algorithm", ["local", "exact"])
@pytest.mark.parametrize("memory", ["0", "1g"])
def test_packed_rows_that_break_the_promise_and_texts_that_are_not_theirs_are_refused(
    spark, tmp_path, monkeypatch, memory, algorithm
):
    def broken(*given):
        proposal = propose(*given)
        packed = proposal.packed
        if len(promises) == 1:  # less is promised to the search than to the audit
            return replace(proposal, guarantee=replace(proposal.guarantee, k=promises[0]))
        names = packed.names[1:] + packed.names[:1]
        return replace(proposal, published=replace(packed, names=names).by_names())

    monkeypatch.setattr(spark_release, "propose", broken)
    spark.conf.set(SETTING, memory)
    try:
        df, how = frame(spark, random_rows(6, 200, 12)), {"hierarchy": "balanced:3", "algorithm": algorithm}
        promises = [60]
        with pytest.raises(ShoalError, match="the audit refuses what"):
            shoal.spark.anonymize(df, KmAnonymity(3, 2), **how)
        promises = []
        release = shoal.spark.anonymize(df, KmAnonymity(3, 2), **how)
        with pytest.raises(ShoalError, match="reads as other rows"):
            release.write(str(tmp_path / "out"))
        assert not list(tmp_path.iterdir())
        release.forget()
    finally:
        spark.conf.unset(SETTING)


def test_rows_that_hold_nothing_stay_in_blocks_too(spark, in_blocks):
    rows = [[], ["a"], [], ["a", "b"], ["b"], ["a"], ["b", "a"]]
    release = shoal.spark.anonymize(frame(spark, rows), KmAnonymity(2, 2), hierarchy="balanced:2")
    assert published_rows(release.published) == Counter(map(frozenset, rows))
    release.forget()
    release = shoal.spark.anonymize(frame(spark, [[], [], []]), KmAnonymity(2, 2), hierarchy="balanced:2")
    assert published_rows(release.published) == Counter({frozenset(): 3})
    assert release.loss["info"] == 0
    release.forget()


def test_a_block_that_cannot_keep_the_promise_is_named(spark, in_blocks, monkeypatch):
    monkeypatch.setattr(parted, "LEAST", 10)
    with pytest.raises(Unreachable, match=r"in one of [\d,]+ blocks of rows, .*more memory"):
        shoal.spark.anonymize(frame(spark, random_rows(5, 60, 9)), KmAnonymity(50, 2), hierarchy="balanced:3")


def test_aa_in_blocks_brings_no_row_of_data_to_the_driver_and_finds_the_local_cut(spark, brought, in_blocks):
    rows = random_rows(1, 1_500, 20)
    df, how = frame(spark, rows), {"hierarchy": "balanced:3", "algorithm": "aa"}
    with brought() as found:
        release = shoal.spark.anonymize(df, KmAnonymity(4, 3), **how)
    assert_same(shoal.anonymize(rows, KmAnonymity(4, 3), **how), release)
    # Names, counts of nodes and of sets, lengths per partition: far from 1,500 rows.
    assert max(table.num_rows for table in found) <= 400
    assert max(table.nbytes for table in found) < 20_000
    release.forget()


def test_jobs_end_when_their_time_is_up(spark, in_blocks):
    def without_end(batches):
        while True:
            pass

    with pytest.raises(TimeUp), jobs_within(spark, 2.0):
        fetch(spark.range(1).mapInArrow(without_end, "id bigint"))
    assert fetch(spark.range(3)).num_rows == 3
    # The best so far, with what no cut can go below, in blocks and in one task.
    how = {"hierarchy": "balanced:3", "algorithm": "exact", "time_limit": 1e-3}
    for memory in ("0", "1g"):
        spark.conf.set(SETTING, memory)
        release = shoal.spark.anonymize(frame(spark, random_rows(1, 200, 20)), KmAnonymity(4, 2), **how)
        assert release.optimal is False
        assert release.bound < release.loss["info"]
        assert any("time limit" in note for note in release.notes)
        release.forget()


def test_a_release_is_written_read_again_and_certified_or_not_published_at_all(spark, tmp_path):
    rows = random_rows(2, 150, 20)
    how = {"hierarchy": "balanced:3", "suppress": 0.3, "algorithm": "exact"}
    here = shoal.anonymize(rows, KmAnonymity(5, 2), **how)
    release = shoal.spark.anonymize(frame(spark, rows), KmAnonymity(5, 2), **how)
    assert_same(here, release)
    assert [note for note in release.notes if "empty" in note] == [note for note in here.notes if "empty" in note]
    target = tmp_path / "public"
    certificate = release.write(target)
    assert published_rows(frame_of(spark, target)) == published_rows(release.published)
    assert json.loads((tmp_path / "public.certificate.json").read_text()) == certificate
    assert certificate["holds"]
    assert certificate["output"]["rows"] == 150
    assert certificate["row_order"].startswith("shuffled")
    for part, said in here.proposal.certified().items():
        # Pairs are not counted where the rows are with the executors.
        assert certificate[part] == {name: said[name] for name in said if (part, name) != ("kept", "pairs")}
    assert certificate["withheld"] == {"loss": ["ncp", "deleted"]}
    assert _visible(tmp_path) == {"public", "public.certificate.json"}
    with pytest.raises(InputError, match="there already"):
        release.write(target)
    release.write(table="public_clicks")
    assert frame_of(spark, "table:public_clicks").count() == 150
    with pytest.raises(InputError, match="there already"):
        release.write(table="public_clicks")
    release.forget()
    # As if other rows had been written than those that were audited.
    object.__setattr__(release, "published", frame(spark, [["odd"]] + [["even"]] * 149))
    with pytest.raises(ShoalError, match="nothing was published"):
        release.write(tmp_path / "another")
    with pytest.raises(ShoalError, match="nothing was published"):
        release.write(table="another")
    assert _visible(tmp_path) == {"public", "public.certificate.json"}
    assert not spark.catalog.tableExists("another")


def test_force_replaces_a_release_and_nothing_else(spark, tmp_path):
    old, new = (
        shoal.spark.anonymize(
            frame(spark, random_rows(2, 60, 12)), KmAnonymity(k, 1), hierarchy="balanced:3", algorithm="exact"
        )
        for k in (2, 20)
    )
    target = tmp_path / "public"
    old.write(target)
    assert {path.name for path in tmp_path.iterdir()} == {"public", "public.certificate.json"}
    before = (tmp_path / "public.certificate.json").read_bytes()
    # A failure on the way leaves the old release.
    object.__setattr__(new, "published", new.published.limit(3))
    with pytest.raises(ShoalError, match="nothing was published"):
        new.write(target, force=True)
    assert (tmp_path / "public.certificate.json").read_bytes() == before
    assert shoal.verify(tmp_path / "public.certificate.json", target).holds
    assert {path.name for path in tmp_path.iterdir()} == {"public", "public.certificate.json"}
    old.write(tmp_path / "again", force=True)
    old.write(tmp_path / "again", force=True)
    assert shoal.verify(tmp_path / "again.certificate.json", tmp_path / "again").holds
    # What is no release stays.
    (target / "thesis.txt").write_text("mine")
    with pytest.raises(InputError, match="no part of a release"):
        old.write(target, force=True)
    (target / "thesis.txt").rename(target / "_thesis.txt")
    with pytest.raises(InputError, match="no part of a release"):
        old.write(target, force=True)
    (target / "_thesis.txt").unlink()
    (tmp_path / "public.certificate.json").unlink()
    with pytest.raises(InputError, match="only a release is replaced"):
        old.write(target, force=True)
    old.write(table="replaced_clicks")
    with pytest.raises(InputError, match="only a folder of this machine is replaced"):
        old.write(table="replaced_clicks", force=True)
    old.forget()
    new.forget()


def _visible(folder):
    return {path.name for path in folder.iterdir() if not path.name.startswith(".")}


def test_an_audit_shows_the_same_witnesses_in_the_same_rows(spark):
    rows = random_rows(4, 120, 15)
    df = frame(spark, rows).repartition(3)  # in another order, which Spark gives again and again
    here = shoal.audit([row[0] for row in df.collect()], KmAnonymity(3, 3))
    assert shoal.spark.audit(df, KmAnonymity(3, 3)) == here
    assert not here.holds


def test_equal_rows_are_counted_as_locally(spark):
    rows = [row[:3] for row in random_rows(7, 200, 6)]
    df = frame(spark, rows)
    assert shoal.spark.audit(df, shoal.KAnonymity(4), witnesses=30) == shoal.audit(
        rows, shoal.KAnonymity(4), witnesses=30
    )
    same = frame(spark, [["a"]] * 3)
    assert shoal.spark.audit(same, shoal.KAnonymity(3)) == shoal.audit([["a"]] * 3, shoal.KAnonymity(3))


def test_whole_numbers_repeats_and_missing_sets_are_read_as_locally(spark):
    rows = [[3, 10, 3], None, [], [7], [10, 7]] * 4
    sets, here = encode_sets(frame(spark, rows, "int")), Baskets.from_rows(map(str, row or ()) for row in rows)
    assert sets.vocabulary == here.vocabulary == ("3", "7", "10")
    assert (len(sets), sets.empty, sets.longest, sets.occurrences) == (20, 8, 2, here.occurrences)
    assert (sets.duplicates, sets.supports().tolist()) == (here.duplicates, here.supports().tolist())
    numbers, offsets, ids = together(sets.rows.toArrow())
    assert numbers.tolist() == list(range(20))
    assert (offsets.tolist(), ids.tolist()) == (here.offsets.tolist(), here.items.tolist())
    sets.forget()


def test_the_digest_of_rows_does_not_depend_on_their_order(spark):
    df = frame(spark, random_rows(5, 60, 10))
    mixed, fewer = df.repartition(5).orderBy("items"), df.limit(59)
    first, second, third = (encode_sets(each).digest() for each in (df, mixed, fewer))
    assert first == second != third


def test_rows_change_their_places_from_run_to_run(spark):
    names = tuple(f"i{i}" for i in range(40))
    tree = Hierarchy(np.array([40] * 40 + [-1], np.int32), (*names, "ALL"), 40)
    sets = encode_sets(frame(spark, [[name] for name in names]))
    as_they_are = Recoding(Cut.leaves(tree), sets.vocabulary, algorithm="none")
    first, second = ([row[0][0] for row in pack_published(sets, as_they_are).by_names().collect()] for _ in range(2))
    assert first != second
    assert list(names) not in (first, second)
    assert sorted(first) == sorted(second) == sorted(names)
    sets.forget()


@pytest.mark.parametrize(
    ("rows", "schema", "given", "message"),
    [
        ([(1,)], "a int", {}, "no column of it holds arrays"),
        ([(["a"], ["b"])], "a array<string>, b array<string>", {}, "a, b hold arrays; name the one"),
        ([(["a"],)], "a array<string>", {"items": "b"}, "no column 'b' of arrays"),
        ([([0.5],)], "a array<double>", {}, "holds double"),
        ([(["a", None],)], "a array<string>", {}, "holds an item that is missing"),
        ([(["a", ""],)], "a array<string>", {}, "holds an item that is empty"),
    ],
)
def test_data_without_sets_is_refused(spark, rows, schema, given, message):
    with pytest.raises(InputError, match=message):
        shoal.spark.audit(spark.createDataFrame(rows, schema), KmAnonymity(2, 2), **given)


@pytest.mark.parametrize(
    ("guarantee", "given", "message"),
    [
        (KmAnonymity(2, 2), {"algorithm": "hybird"}, "is not known for"),
        (KmAnonymity(2, 2), {"algorithm": "aa", "suppress": 0.1}, "suppress"),
        (KmAnonymity(2, 2), {"time_limit": 0}, "time limit"),
        (KmAnonymity(2, 2), {"keep": "id"}, "has no use for keep="),
        (KmAnonymity(2, 2), {"sensitive": "id"}, "has no sensitive items"),
        (LocalKmAnonymity(2, 2), {}, "cannot be reached on Spark; use the local engine"),
    ],
)
def test_what_is_not_there_is_refused_before_anything_runs(guarantee, given, message):
    with pytest.raises(InputError, match=message):
        shoal.spark.anonymize(object(), guarantee, **given)


def test_an_audit_that_is_not_there_is_refused_before_anything_runs():
    class Another(KmAnonymity):
        """Counted in a way that Spark does not know."""

    with pytest.raises(InputError, match="cannot be audited on Spark; use the local engine"):
        shoal.spark.audit(None, Another(2, 2))


@pytest.mark.parametrize("place", ["/nowhere/at/all", "table:nowhere"])
def test_data_that_spark_cannot_read_is_named(spark, place):
    with pytest.raises(InputError, match=f"{place}: Spark cannot read it"):
        frame_of(spark, place)


def test_data_that_is_no_frame_is_refused():
    with pytest.raises(InputError, match="give a data frame of a Spark session"):
        shoal.spark.audit([["a"]], KmAnonymity(2, 2))


def test_workers_run_the_python_of_the_driver(spark):
    def python(batches):
        yield from (pa.record_batch({"python": [sys.executable]}) for _ in batches)

    assert {row.python for row in spark.range(2).mapInArrow(python, "python string").collect()} == {sys.executable}


def test_a_worker_without_the_package_is_named(spark, tmp_path, monkeypatch):
    # Without `site`, the folder with the installed packages is searched, but not what they point to: the package itself.
    bare = tmp_path / "python"
    packages = sysconfig.get_paths()["purelib"]
    if os.path.isdir(os.path.join(packages, "shoal")):
        pytest.skip("the package is installed among the others, not from its checkout")
    bare.write_text(f'#!/bin/sh\nPYTHONPATH="{packages}:$PYTHONPATH" exec "{sys.executable}" -S "$@"\n')
    bare.chmod(0o755)
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(bare))
    with pytest.raises(
        InputError, match=r"the workers have no shoal: install it there, or ship it with spark\.archives"
    ):
        shoal.spark.audit(frame(spark, FIGURE_2A), KmAnonymity(2, 2))


def test_a_worker_with_another_version_is_named(spark, monkeypatch):
    monkeypatch.setattr("shoal.spark.data.executors.__version__", "0.0.0")
    with pytest.raises(InputError, match=r"another shoal than the driver \(shoal \S+ on a worker, 0.0.0 on the driver"):
        shoal.spark.audit(frame(spark, FIGURE_2A), KmAnonymity(2, 2))


@pytest.mark.skipif(not os.environ.get("SHOAL_DATA"), reason="SHOAL_DATA does not name the folder of data sets")
def test_web_view_1_is_released_as_locally_in_blocks_and_in_one_task(spark):
    from shoal.records.samples.datasets import get

    baskets = shoal.read(get("bms-webview-1"))
    df = frame(spark, list(baskets.rows()))
    how = {"hierarchy": "balanced:5", "algorithm": "exact"}
    here = shoal.anonymize(baskets, KmAnonymity(5, 2), **how)
    for memory in ("0", "1g"):
        spark.conf.set(SETTING, memory)
        there = shoal.spark.anonymize(df, KmAnonymity(5, 2), **how)
        assert np.array_equal(here.recoding.cut.node, there.recoding.cut.node)
        assert (dict(here.loss), here.bound) == (dict(there.loss), there.bound)
        assert dict(here.kept) == dict(there.kept)
        assert here.audit == there.audit
        there.forget()
    spark.conf.unset(SETTING)


@pytest.mark.parametrize("size", [2**31 + 1, 10**30])
def test_promises_of_any_size_are_counted_there_too(spark, size):
    rows = [(34, "x", ["a", "b"], "flu", 1), (34, "x", ["a"], "gout", 1)] * 3
    people = spark.createDataFrame(rows, "age int, job string, items array<string>, ill string, bucket int")
    sets = people.select("items")
    table = {"quasi": ["age", "job"]}
    asked = (
        (sets, KmAnonymity(size, 1), {}),
        (sets, KmAnonymity(size, size), {}),
        (sets, shoal.KAnonymity(size), {}),
        (people, shoal.TableAnonymity(2, size), table | {"sensitive": "ill"}),
        (people, shoal.RTAnonymity(size, size), table | {"items": "items"}),
        (people, shoal.LmDiversity(2, size, size), table | {"items": "items", "sensitive": ["b"]}),
        (people, shoal.MatchingDiversity(size), table | {"sensitive": "ill"}),
        (people, shoal.PlainDiversity(size, "entropy"), table | {"sensitive": "ill"}),
    )
    for frame_, guarantee, how in asked:
        found = shoal.spark.audit(frame_, guarantee, **how)
        assert not found, guarantee
        assert found.guarantee == guarantee.to_dict()
    assert shoal.spark.audit(sets, KmAnonymity(3, size))
    assert shoal.spark.anonymize(sets, KmAnonymity(3, size)).audit
    with pytest.raises(Unreachable):
        shoal.spark.anonymize(sets, KmAnonymity(size, 2))
