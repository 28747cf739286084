"""What the Spark engine does on its workers and on the driver, against the local engine on random data; without Spark."""

from __future__ import annotations

import json
from collections import Counter
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shoal.spark
from shoal.algorithms import algorithm
from shoal.algorithms.km.problem import Problem
from shoal.algorithms.recoding import Options
from shoal.errors import InputError, Unreachable
from shoal.guarantees.km import KmAnonymity
from shoal.guarantees.km_local import LocalKmAnonymity
from shoal.hierarchy.build import balanced_tree
from shoal.loss import common_pairs
from shoal.models import km as local_km
from shoal.records.baskets import Baskets
from shoal.records.storage.digest import row_digest
from shoal.spark.audits import audit_rows, verdict_and_digest
from shoal.spark.data import executors, one_task, worth_counts
from shoal.spark.data import spark_session as session_module
from shoal.spark.data.packing import together
from shoal.spark.data.shuffling import places_of
from shoal.spark.data.spark_session import HERE, master_of
from shoal.spark.search import km
from shoal.spark.search.sets import parted, paths, projection, whole_sets
from shoal.spark.search.sets.spark_problem import SparkProblem
from spark.pretend import add_up, pretended
from strategies import baskets_of, worlds

many = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(autouse=True)
def _counted_here(monkeypatch):
    monkeypatch.setattr(executors, "add_up", add_up)


def both(world, name, **options):
    """The recodings found here and on Spark."""
    hierarchy, rows, k, m = world
    baskets, guarantee = baskets_of(rows, hierarchy), KmAnonymity(k, m)
    given = Options(**options)
    here = algorithm("km", name)(baskets, guarantee, hierarchy, given)
    there = km.recoding_of(pretended(baskets), guarantee, hierarchy, name, given)
    return here, there


def assert_same(here, there):
    """The same cut; of several optimal ones, which cost the same, `exact` may take another."""
    proven = (here.algorithm, here.optimal) == ("exact", True)
    assert proven or np.array_equal(here.cut.node, there.cut.node)
    assert proven or here.facts == there.facts
    assert (here.optimal, here.bound, here.vocabulary) == (there.optimal, there.bound, there.vocabulary)


@many
@given(
    st.lists(st.sets(st.integers(0, 9), max_size=6), min_size=1, max_size=30),
    st.integers(1, 8),
    st.sampled_from([1, 4, 20, 1 << 20]),
)
def test_common_pairs_are_the_local_ones_whatever_a_block_leaves_out(rows, n, most):
    baskets = Baskets.from_rows([str(item) for item in row] for row in rows)
    frame = pretended(baskets).rows

    def count(rank, low, high):
        total = np.zeros((high - low) * high, np.int64)
        for task in frame.tasks:
            for batch in worth_counts._count_pairs(iter(task), rank, low, high):
                total[batch.column("key").to_numpy()] += batch.column("count").to_numpy()
        best = np.sort(total)[::-1]
        total[total < (best[n - 1] if len(best) >= n else 0)] = 0
        return total.reshape(high - low, high)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(common_pairs, "_FIRST", min(4, most))
        here = common_pairs.common_pairs(baskets, n)
        there = common_pairs.pairs_by_counts(baskets.supports(), baskets.occurrences, count, n, most=most)
    for part in ("one", "other", "rows"):
        assert getattr(here, part).tolist() == getattr(there, part).tolist()


@many
@given(worlds(max_leaves=12, max_rows=30))
def test_exact_finds_a_cut_of_the_same_loss(world):
    assert_same(*both(world, "exact"))


@many
@given(worlds(max_leaves=12, max_rows=30), st.sampled_from([0.1, 0.5]))
def test_exact_loses_the_same_with_dropping(world, suppress):
    assert_same(*both(world, "exact", suppress=suppress))


@many
@given(worlds(max_leaves=12, max_rows=30))
def test_aa_finds_the_same_cut(world):
    assert_same(*both(world, "aa"))


@pytest.mark.parametrize("seed", range(12))
def test_aa_finds_the_same_cut_however_few_paths_are_sent_at_a_time(monkeypatch, seed):
    rng = np.random.default_rng(seed)
    baskets = Baskets.from_rows(
        [str(i) for i in rng.choice(40, rng.integers(1, 7), replace=False, p=_falling(40))] for _ in range(150)
    )
    tree, guarantee = (
        balanced_tree(baskets.vocabulary, 3),
        KmAnonymity(int(rng.integers(2, 7)), int(rng.integers(2, 4))),
    )
    here = algorithm("km", "aa")(baskets, guarantee, tree, Options())
    monkeypatch.setattr(paths, "MOST", int(rng.integers(1, 4)))
    monkeypatch.setattr(paths, "AHEAD", 5)
    assert_same(here, km.recoding_of(pretended(baskets), guarantee, tree, "aa", Options()))


def _falling(n):
    weight = 1 / np.arange(1, n + 1)
    return weight / weight.sum()


@many
@given(worlds(max_leaves=12, max_rows=30))
def test_rare_sets_are_the_local_ones_in_the_same_order(world):
    hierarchy, rows, k, m = world
    baskets, guarantee = baskets_of(rows, hierarchy), KmAnonymity(k, m)
    here, there = Problem(baskets, guarantee, hierarchy), SparkProblem(pretended(baskets), guarantee, hierarchy)
    assert here.support.tolist() == there.support.tolist()
    leaves = np.arange(hierarchy.n_leaves, dtype=np.int32)
    for size in range(1, here.m + 1):
        expected, found = (at.one_per_parents(at.rare_sets(leaves, size)) for at in (here, there))
        assert np.array_equal(expected, found)


@many
@given(worlds(max_leaves=12, max_rows=30), st.booleans())
def test_supports_of_sets_are_counted(world, long):
    hierarchy, rows, k, m = world
    baskets, guarantee = baskets_of(rows, hierarchy), KmAnonymity(k, m)
    here, there = Problem(baskets, guarantee, hierarchy), SparkProblem(pretended(baskets), guarantee, hierarchy)
    nodes = range(hierarchy.n_nodes)
    asked = [(u, v) for u in nodes for v in nodes if u <= v][: 60 if long else 5]
    assert there.supports_of(asked).tolist() == [here.support_of(pair) for pair in asked]


@many
@given(world=worlds(max_leaves=12, max_rows=30), volume=st.sampled_from([1, 1_000_000]), keep=st.integers(0, 12))
def test_the_audit_says_the_same(monkeypatch, world, volume, keep):
    monkeypatch.setattr(projection, "VOLUME", volume)
    hierarchy, rows, k, m = world
    baskets, guarantee = baskets_of(rows, hierarchy), KmAnonymity(k, m)
    here = guarantee.audit(baskets, witnesses=keep)
    assert audit_rows(pretended(baskets), guarantee, witnesses=keep) == here


@many
@given(worlds(max_leaves=12, max_rows=30))
def test_the_short_audit_gives_the_same_verdict(world):
    hierarchy, rows, k, m = world
    baskets, guarantee = baskets_of(rows, hierarchy), KmAnonymity(k, m)
    here = guarantee.audit(baskets, yes_or_no=True)
    there = audit_rows(pretended(baskets), guarantee, yes_or_no=True)
    assert (here.holds, here.complete) == (there.holds, there.complete)


def test_more_sets_than_can_be_counted_are_told_as_locally(monkeypatch):
    rows = [[str(i) for i in range(30)]] * 3
    baskets, guarantee = Baskets.from_rows(rows), KmAnonymity(3, 6)
    monkeypatch.setattr("shoal.guarantees.km.COUNTED", 20_000)
    here = guarantee.audit(baskets)
    assert audit_rows(pretended(baskets), guarantee) == here


@pytest.mark.parametrize(
    "rows", [[[]], [[], []], [["a"]], [["a"], []], [["a", "b"]] * 3, [[str(i) for i in range(3000)]] * 2]
)
def test_strange_data_is_audited_as_locally(rows):
    baskets, guarantee = Baskets.from_rows(rows), KmAnonymity(2, 2)
    assert audit_rows(pretended(baskets), guarantee) == guarantee.audit(baskets)


@pytest.mark.parametrize("name", ["exact", "aa"])
def test_more_rare_sets_than_are_kept_and_long_rows_are_dealt_with_as_locally(name):
    # 400 items, so that a token starts more rare pairs than a round keeps, and rows longer than what is copied whole.
    rng = np.random.default_rng(3)
    rows = [set(rng.choice(400, size, replace=False).tolist()) for size in (*[300] * 6, *[8] * 60)]
    baskets = Baskets.from_rows(map(str, row) for row in rows)
    tree, guarantee = balanced_tree(baskets.vocabulary, 4), KmAnonymity(6, 2)
    here = algorithm("km", name)(baskets, guarantee, tree, Options())
    there = km.recoding_of(pretended(baskets), guarantee, tree, name, Options())
    assert_same(here, there)
    assert name == "aa" or there.facts["rounds"] > there.cut.hierarchy.height


def test_too_few_rows_are_refused_as_locally():
    baskets, told = Baskets.from_rows([["a"], ["b"], []]), []
    tree = balanced_tree(baskets.vocabulary, 2)
    how = (KmAnonymity(3, 1), tree)
    for recode in (
        lambda: algorithm("km", "exact")(baskets, *how, Options()),
        lambda: km.recoding_of(pretended(baskets), *how, "exact", Options()),
    ):
        with pytest.raises(Unreachable) as refusal:
            recode()
        told.append(str(refusal.value))
    assert told[0] == told[1]


def test_huge_rows_are_cut_into_pieces(monkeypatch):
    monkeypatch.setattr("shoal.spark.data.packing.MOST", 4)
    baskets = Baskets.from_rows([[], [str(i) for i in range(20)], ["1"], [], ["2", "3"], ["1", "2", "3"], []])
    guarantee = KmAnonymity(2, 3)
    assert audit_rows(pretended(baskets), guarantee) == guarantee.audit(baskets)


@pytest.fixture
def roomy(monkeypatch):
    """Everything fits one task."""
    monkeypatch.setattr(one_task, "task_memory", lambda session: 1 << 40)


@many
@given(worlds(max_leaves=12, max_rows=30), st.sampled_from([None, "exact", "hybrid", "aa"]))
def test_one_task_proposes_what_the_local_engine_proposes(world, name):
    hierarchy, rows, k, m = world
    baskets, guarantee = baskets_of(rows, hierarchy), KmAnonymity(k, m)
    asked = {"hierarchy": hierarchy, "unknown": None, "algorithm": name, "suppress": None, "price": None}
    how = {"guarantee": guarantee, "asked": asked, "options": Options(threads=1), "secret": bytes(32), "size": 7}
    try:
        here = local_km.proposal_of(baskets, guarantee, asked, Options(threads=1))
    except Unreachable as refusal:
        here = refusal
    report, *packed = one_task.map_all(pretended(baskets), whole_sets._propose, "", **how).tasks[0]
    told = json.loads(report["report"][0].as_py())
    if isinstance(here, Unreachable):
        assert (str(whole_sets._fault(told)), packed) == (str(here), [])
        return
    assert told == json.loads(one_task.document(told))
    for figure in ("loss", "kept", "remains", "details", "parameters", "optimal", "bound", "algorithm"):
        assert told[figure] == getattr(here, figure), figure
    assert told["cut"] == (here.recoding.cut.node.tolist() if name in ("exact", "hybrid", "aa") else None)
    assert told["sha256"] == row_digest(baskets)
    place, offsets, tokens = together(pa.Table.from_batches(packed).drop_columns(["report"]))
    published = Baskets(offsets, tokens, tuple(told["tokens"]))
    assert Counter(published) == Counter(here.published)
    by_number = here.published.take(
        np.argsort(places_of(np.arange(len(baskets)), bytes(32), 8).view("<i8").reshape(-1))
    )
    assert list(published) == list(by_number)
    assert (np.diff(place) > 0).all()


@many
@given(world=worlds(max_leaves=12, max_rows=30), keep=st.integers(0, 12), yes_or_no=st.booleans())
def test_one_task_audits_as_the_local_engine_does(roomy, world, keep, yes_or_no):
    hierarchy, rows, k, m = world
    baskets = baskets_of(rows, hierarchy)
    for guarantee in (KmAnonymity(k, m), LocalKmAnonymity(k, m, hierarchy)):
        here = guarantee.audit(baskets, witnesses=keep, yes_or_no=yes_or_no, threads=1)
        there = audit_rows(pretended(baskets), guarantee, witnesses=keep, yes_or_no=yes_or_no)
        assert there == here
    assert pretended(baskets).digest() == row_digest(baskets)


def test_an_audit_brings_the_hash_of_the_rows_with_it(request):
    """In one task, where they are there already, as in two passes over blocks."""
    rows = [["a", "b"], ["a"], ["b", "c"], []] * 3
    tree = balanced_tree(Baskets.from_rows(rows).vocabulary, 2)
    for guarantee in (KmAnonymity(4, 2), KmAnonymity(2**40, 1), LocalKmAnonymity(3, 1, tree)):
        sets = pretended(Baskets.from_rows(rows))
        apart = verdict_and_digest(sets, guarantee)
        assert apart == (audit_rows(sets, guarantee), sets.digest())
    request.getfixturevalue("roomy")
    for guarantee in (KmAnonymity(4, 2), KmAnonymity(2**40, 1), LocalKmAnonymity(3, 1, tree)):
        sets = pretended(Baskets.from_rows(rows))
        assert verdict_and_digest(sets, guarantee) == (audit_rows(sets, guarantee), sets.digest())


@pytest.mark.parametrize("said", [None, *session_module._OPTIONS_OF_JAVA, "spark.driver.extraJavaOptions -Xss8m"])
def test_the_garbage_collector_is_chosen_where_nobody_else_does(said, monkeypatch, tmp_path):
    """Java refuses to start with two."""
    for name in session_module._OPTIONS_OF_JAVA:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(session_module.os, "cpu_count", lambda: 2)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    if said in session_module._OPTIONS_OF_JAVA:
        monkeypatch.setenv(said, "-XX:+UseZGC")
    elif said:
        (tmp_path / "spark-defaults.conf").write_text(said)
    chosen = session_module.garbage_collector("local[2]")
    assert chosen == ({} if said else {"spark.driver.extraJavaOptions": "-XX:+UseSerialGC"})
    assert session_module.garbage_collector("spark://127.0.0.1:7077") == {}
    monkeypatch.setattr(session_module.os, "cpu_count", lambda: 16)
    assert session_module.garbage_collector("local[*]") == {}


def test_a_task_that_lacks_rows_says_so(roomy):
    some = pretended(Baskets.from_rows([["a"], ["b"]] * 5))
    some.rows.tasks.pop()
    with pytest.raises(RuntimeError, match="rows of 10"):
        some.digest()


@pytest.mark.parametrize("name", ["oa", "da", "hybrid"])
def test_what_needs_all_rows_is_refused_with_the_reason_where_they_do_not_fit(name):
    rows = pretended(Baskets.from_rows([["a"], ["b"]]))
    with pytest.raises(
        InputError, match=f"{name} does not run on Spark here: .* 315 MB, and a task may take 0 MB .*exact or aa"
    ):
        km.algorithm_for(rows, name)


def test_the_default_is_the_local_one_whether_rows_fit_or_not(monkeypatch):
    rows = pretended(Baskets.from_rows([["a", "b"]] * 1000))
    room = one_task.BASE + 1000 * (2 * one_task.TO_CHANGE + one_task.PER_ROW)
    for memory, whole in ((0, False), (room - 1, False), (room, True)):
        monkeypatch.setattr(one_task, "task_memory", lambda session, memory=memory: memory)
        assert one_task.fits(rows, km.need_of(None)) == whole
        assert km.algorithm_for(rows, None) == "local"


def test_blocks_are_as_few_as_tasks_can_hold(monkeypatch):
    rows = pretended(Baskets.from_rows([["a", "b"]] * 1000))
    monkeypatch.setattr(parted, "LEAST", 100)
    needed = 1000 * (2 * (one_task.TO_CHANGE + parted.TO_MOVE) + one_task.PER_ROW)
    for room, blocks in ((needed, 1), (needed - 1, 2), (-(-needed // 7), 7), (needed // 50, 20), (-one_task.BASE, 20)):
        monkeypatch.setattr(parted, "task_memory", lambda session, room=room: one_task.BASE + room)
        assert parted.number_of_blocks(rows) == blocks


@pytest.mark.parametrize(
    ("settings", "memory"),
    [
        ({"spark.master": "yarn"}, 384 << 20),
        ({"spark.master": "yarn", "spark.executor.memory": "8g"}, (8 << 30) // 10),
        ({"spark.master": "yarn", "spark.executor.memoryOverhead": "2g"}, 2 << 30),
        ({"spark.master": "yarn", "spark.executor.memoryOverhead": "2048"}, 2 << 30),
        (
            {"spark.master": "k8s://x", "spark.executor.memory": "5g", "spark.executor.memoryOverheadFactor": "0.4"},
            2 << 30,
        ),
        ({"spark.master": "yarn", "spark.executor.pyspark.memory": "6g", "spark.executor.cores": "3"}, 2 << 30),
        ({"spark.master": "yarn", "spark.shoal.task.memory": "3g"}, 3 << 30),
        ({"spark.master": "local[2]", "spark.shoal.task.memory": "3g"}, 3 << 30),
    ],
)
def test_a_task_may_take_what_spark_grants_its_python(settings, memory):
    session = SimpleNamespace(conf=SimpleNamespace(get=lambda name, default=None: settings.get(name, default)))
    assert one_task.task_memory(session) == memory


def test_public_names_are_functions_whatever_is_imported_before():
    for name in shoal.spark.__all__:
        import_module(getattr(shoal.spark, name).__module__)
        assert callable(getattr(shoal.spark, name))


def test_a_frame_of_spark_connect_is_refused_in_one_sentence():
    frame = type("DataFrame", (), {"__module__": "pyspark.sql.connect.dataframe", "mapInArrow": None})()
    for ask in (shoal.spark.anonymize, shoal.spark.audit):
        with pytest.raises(InputError, match=r"is of Spark Connect .*; run Shoal in the driver itself") as refusal:
            ask(frame, KmAnonymity(2, 2))
        assert str(refusal.value).count(". ") == 0


def test_an_option_without_use_is_refused():
    with pytest.raises(InputError, match="suppress"):
        shoal.spark.anonymize(object(), KmAnonymity(2, 2), algorithm="aa", suppress=0.1)


@pytest.mark.parametrize(
    ("engine", "master"),
    [
        (None, None),
        ("local", None),
        ("spark", HERE),
        ("spark=local[4]", "local[4]"),
        ("spark=spark://host:7077", "spark://host:7077"),
    ],
)
def test_an_engine_stands_for_a_master(engine, master):
    assert master_of(engine) == master


@pytest.mark.parametrize("engine", ["dask", "spark=", "local=2", "=x"])
def test_an_engine_that_is_not_there_is_refused(engine):
    with pytest.raises(InputError, match="engine"):
        master_of(engine)
