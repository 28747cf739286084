"""The Result and Release panels, and the tables, formats and words behind them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from serving import ended, violations
from shoal import KAnonymity, KmAnonymity, RTAnonymity, anonymize, read, verify
from shoal.app.jobs.queue import Job, Jobs
from shoal.app.panels.release.handover import (
    ask_for,
    formats_of,
    made_name,
    recipe,
    remove_run,
    standing,
    stem_of,
    table_of,
    wanted_name,
)
from shoal.app.panels.result.results import (
    brief,
    commonest_rows,
    comparison_chart,
    frontier_chart,
    losses,
    risks,
    short_promise,
    unknown,
    verdict,
    width_rows,
    worth,
    worth_words,
)
from shoal.app.panels.result.run_tables import (
    ABOVE,
    BELOW,
    DROPPED,
    PUBLISHED,
    children_of,
    class_bins,
    items_table,
    page_of,
    tree_table,
)
from shoal.app.project.workspace import Workspace
from shoal.app.widgets.pictures import rows_of
from shoal.errors import InputError
from shoal.plan import plan_of, read_plan
from shoal.release import run as run_plan

SETS = [[f"i{(i * i + 3 * j) % 11}" for j in range(1 + i % 4)] for i in range(90)]
TEXT = "items\n" + "\n".join("|".join(dict.fromkeys(row)) for row in SETS) + "\n"
PLAN = {
    "version": 1,
    "input": {"path": "../../../sets.csv", "separator": "|"},
    "columns": {"items": "items"},
    "hierarchies": "balanced:3",
    "guarantee": {"model": "km", "k": 8, "m": 2},
    "algorithm": "exact",
    "outputs": {"data": "public.csv"},
}


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """(workspace, jobs, project, run): a run that is done."""
    folder = tmp_path_factory.mktemp("result") / "work"
    folder.mkdir()
    (folder / "sets.csv").write_text(TEXT)
    workspace = Workspace(folder)
    project = workspace.new_project("sets.csv")
    project.change(PLAN)
    jobs = Jobs(workspace)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHOAL_KEY", str(folder.parent / "owner.key"))
        run = ended(jobs, project, jobs.submit(project))
    assert run.status == "done", run.error
    yield workspace, jobs, project, run
    jobs.close()


# Tables.


@pytest.mark.parametrize("algorithm", ["exact", "hybrid", "lra", "local", "aa"])
@pytest.mark.parametrize("k", [2, 8, 30])
def test_the_items_lose_together_what_the_release_lost(algorithm, k):
    baskets = read(SETS)
    release = anonymize(baskets, KmAnonymity(k=k, m=2), hierarchy="balanced:3", algorithm=algorithm)
    table = items_table(release, baskets)
    lost, occurrences = table["lost"].to_numpy(), table["occurrences"].to_numpy()
    assert (lost * occurrences).sum() / occurrences.sum() == pytest.approx(release.loss["ncp"])
    assert sorted(table["item"].to_pylist()) == sorted(baskets.vocabulary)
    exact = table["exact"].to_numpy()
    assert (exact * occurrences).sum() / occurrences.sum() == pytest.approx(release.kept["exact"])
    assert np.all(np.diff((1 - exact) * occurrences) <= 1e-9)


def test_items_of_tables_lose_together_what_the_release_lost():
    from shoal.records.source import load_records

    ages, sexes = ([values[i % len(values)] for i in range(len(SETS))] for values in (list(range(20, 27)), "MF"))
    rows = pa.table({"age": ages, "sex": sexes, "items": [list(dict.fromkeys(row)) for row in SETS]})
    for tree in (None, {"items": "balanced:3"}):
        release = anonymize(rows, RTAnonymity(k=6, m=2), quasi=("age", "sex"), items="items", hierarchy=tree)
        records = load_records(rows, quasi=("age", "sex"), items="items").records
        table = items_table(release, records)
        lost, occurrences = table["lost"].to_numpy(), table["occurrences"].to_numpy()
        assert (lost * occurrences).sum() / occurrences.sum() == pytest.approx(release.loss["items_ncp"])
        exact = table["exact"].to_numpy()
        assert (exact * occurrences).sum() / occurrences.sum() == pytest.approx(release.kept["exact"])
        assert tree_table(release, records) is None


def test_edits_of_each_item_add_up():
    baskets = read(SETS)
    release = anonymize(baskets, KAnonymity(k=10))
    table = items_table(release, baskets)
    total = baskets.occurrences
    assert table["removed"].to_numpy().sum() / total == pytest.approx(release.loss["removed"])
    assert table["added"].to_numpy().sum() / total == pytest.approx(release.loss["added"])


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.sets(st.sampled_from("abcdefghij"), max_size=4).map(sorted), min_size=4, max_size=30), st.integers(2, 4)
)
def test_the_cut_parts_the_tree(rows, k):
    assume(sum(map(bool, rows)) >= k)
    baskets = read(rows)
    release = anonymize(baskets, KmAnonymity(k=k, m=1), hierarchy="balanced:2", algorithm="exact", suppress=0.5)
    nodes = tree_table(release, baskets).to_pylist()
    cut = release.recoding.cut.lowest()
    for leaf in range(release.recoding.cut.hierarchy.n_leaves):
        way = [leaf]
        while nodes[way[-1]]["parent"] >= 0:
            way.append(nodes[way[-1]]["parent"])
        published = [v for v in way if nodes[v]["state"] == PUBLISHED]
        if cut.node[leaf] < 0:
            assert published == []
            assert nodes[leaf]["state"] == DROPPED
        else:
            assert published == [cut.node[leaf]]
            place = way.index(published[0])
            assert {nodes[v]["state"] for v in way[:place]} <= {BELOW}
            assert {nodes[v]["state"] for v in way[place + 1 :]} <= {ABOVE}


@given(st.lists(st.integers(1, 3000), max_size=40), st.integers(1, 60))
def test_every_class_is_in_one_bin(sizes, k):
    bins = class_bins(np.array(sizes, np.int64), k)
    assert sum(one["classes"] for one in bins) == len(sizes)
    assert sum(one["rows"] for one in bins) == sum(sizes)
    assert k in {one["low"] for one in bins}


def test_tables_are_leafed_through(done):
    _, _, _, run = done
    items, tree = table_of(run, "items"), table_of(run, "tree")
    first = page_of(items, 0, 4)
    assert (len(first.rows), first.start, first.total) == (4, 0, 11)
    assert page_of(items, 99, 4).start == 8
    assert {one["item"] for one in page_of(items, 0, 20, column="item", search="I1").rows} == {"i1", "i10"}
    found, way = children_of(tree, None, 0, 10)
    assert [node["depth"] for node in way] == [0]
    inner = next(node for node in found.rows if node["items"] > 1)
    below, way = children_of(tree, inner["node"], 0, 10)
    assert [node["name"] for node in way][-1] == inner["name"]
    assert sum(node["items"] for node in below.rows) == inner["items"]
    assert [node["name"] for node in children_of(tree, None, 0, 10, "i10")[0].rows] == ["i10"]
    assert run.output(".tables") is None


# Words.


def test_a_result_is_told_in_words(done):
    _, jobs, project, run = done
    result = run.result
    assert verdict(result).holds
    assert "0 break the promise" in verdict(result).counted
    assert [share for _, share in losses(result)] == [result["release"]["loss"]["ncp"]]
    assert list(worth(result)) == ["info", "exact", "pairs"]
    assert worth_words(result).startswith(f"{1 - result['release']['loss']['info']:.1%} of the information is kept; ")
    assert [name for name, _, _ in width_rows(result)] == ["the items"]
    assert [row[1] for row in commonest_rows(result)] == sorted((row[1] for row in commonest_rows(result)), key=int)[
        ::-1
    ]
    assert len(commonest_rows(result)) == 10
    assert all(risk.after == 0 for risk in risks(result))
    assert short_promise(PLAN["guarantee"]) == "k = 8, m = 2"
    lines = {line.label: line for line in brief(project)}
    assert "at least 8" in lines["Promise"].words
    assert lines["Algorithm"].words == "exact"
    _, told = rows_of(comparison_chart(jobs.of(project, "release")))
    assert [row[-1].startswith("run 1: 8^2-anonymity, exact") for row in told] == [True]
    assert told[0][-1].endswith("of the items' information is lost")
    assert comparison_chart([]) is None


# Formats.


def test_another_format_has_the_same_rows_in_the_same_order(done):
    _, jobs, project, run = done
    assert made_name(run) == "public.csv"
    assert standing(jobs, project, run, "public.csv").is_there
    assert standing(jobs, project, run, "other.parquet").job is None
    job = ended(jobs, project, ask_for(jobs, project, run, "other.parquet"))
    assert job.status == "done", job.error
    assert ask_for(jobs, project, run, "other.parquet").id == job.id  # it is kept
    made, original = job.output("other.parquet"), run.output("public.csv")
    assert read(made) == read(original, separator="|")
    for form in ("json", "html"):
        assert verify(job.output(f"certificate.{form}"), made).holds
    assert not verify(job.output("certificate.json"), original).holds
    facts, before = (json.loads(one.output("certificate.json").read_text()) for one in (job, run))
    assert facts["output"]["file"] == "other.parquet"
    assert {key: facts[key] for key in facts if key != "output"} == {
        key: before[key] for key in before if key != "output"
    }


def test_a_release_that_was_changed_is_not_written_again(done):
    _, jobs, project, run = done
    path = run.output("public.csv")
    text = path.read_text()
    path.write_text(text + "i1\n")
    try:
        job = ended(jobs, project, ask_for(jobs, project, run, "changed.jsonl"))
    finally:
        path.write_text(text)
    assert job.status == "failed"
    assert "changed after it was certified" in job.error
    other = ended(jobs, project, jobs.submit(project, task="rewrite", options={"job": "../../x", "name": "a.csv"}))
    assert "is gone" in other.error


@pytest.mark.parametrize(
    ("given", "form", "name"),
    [
        ("people-public", "csv", "people-public.csv"),
        ("people.csv.gz", "parquet", "people.parquet"),
        ("../../etc/passwd", "csv", "passwd.csv"),
        ("v1.2", "dat", "v1.2.dat"),
    ],
)
def test_names_of_releases(given, form, name):
    assert wanted_name(given, form) == name


@pytest.mark.parametrize("given", ["", "  ", "certificate", "rules"])
def test_names_that_releases_cannot_have(given):
    with pytest.raises(InputError):
        wanted_name(given, "csv")


def test_endings_that_tell_a_format_are_no_part_of_a_name():
    assert [stem_of(name) for name in ("a.csv", "a.b.csv.gz", ".csv", "a.parquet", "a")] == [
        "a",
        "a.b",
        ".csv",
        "a",
        "a",
    ]


def test_formats_fit_the_data(done, tmp_path):
    _, _, _, run = done
    assert "dat" in formats_of(run)
    folder = tmp_path / "job"
    folder.mkdir()
    (folder / "result.json").write_text(json.dumps({"kind": "rt"}))
    assert "dat" not in formats_of(Job(folder, {}, {"status": "done"}))


def test_the_recipe_makes_the_same_release_again(done, monkeypatch):
    workspace, _, _, run = done
    found = recipe(workspace, run, "again.csv")
    monkeypatch.chdir(workspace.folder)
    Path("plan.yaml").write_text(found.plan)
    release = run_plan(read_plan("plan.yaml"), force=True)
    assert release.loss == run.result["release"]["loss"]
    assert Path("again.csv").is_file()
    assert "sets.csv --output again.csv" in found.command
    compile(found.script, "script.py", "exec")
    assert ".." not in found.plan


def test_a_run_goes_with_what_was_written_from_it(done):
    _, jobs, project, _ = done
    run = ended(jobs, project, jobs.submit(project))
    other = ended(jobs, project, ask_for(jobs, project, run, "tsv.tsv"))
    remove_run(jobs, project, run)
    assert not run.folder.exists()
    assert not other.folder.exists()


def a_run(algorithm, columns, items, k=5):
    """A run of a table, as far as charts look at it."""
    promise = {"model": "rt", "k": k, "m": 2}
    loss = {"info": (columns + items) / 2, "info_columns": columns, "info_items": items}
    release = {"guarantee": promise, "loss": loss, "algorithm": algorithm}
    return SimpleNamespace(result={"release": release}, document={"guarantee": promise, "algorithm": algorithm})


def test_runs_of_a_table_have_a_frontier_of_columns_against_items():
    runs = [a_run("rfirst", 0.1, 0.5), a_run("tfirst", 0.4, 0.2), a_run("rfirst", 0.2, 0.6), a_run("rfirst", 0, 0, k=9)]
    _, told = rows_of(frontier_chart(runs, runs[0]))
    assert "run 4: rfirst, 10.0% of the columns' information is lost, 50.0% of the items' information is lost" in [
        row[-1] for row in told
    ]
    assert not any(row[-1].startswith("run 1") for row in told)  # it promises something else
    assert frontier_chart(runs, runs[3]) is None


def test_a_run_of_an_older_version_is_told_by_what_it_measured():
    old = {"kind": "rt", "release": {"loss": {"ncp": 0.25, "ul": 0.1, "items_ncp": 0.0625}}}
    assert worth(old) == {}
    assert worth_words(old) == "25.00% of the columns' detail is lost; 6.25% of the items' detail is lost"
    assert unknown(old) == losses(old)
    new = {"kind": "rt", "release": {"loss": {"info": 0.3, "info_columns": 0.4, "info_items": 0.2, "ncp": 0.1}}}
    assert [share for _, share in unknown(new)] == [0.4, 0.2]


# Pages.


def test_a_result_can_be_looked_at_and_released(served, page, tmp_path):
    from playwright.sync_api import expect

    id = served.upload(page, "sets.csv", TEXT)
    page.goto(f"{served.base}/p/{id}/run")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("li.sh-job .sh-tag-good")).to_have_count(1, timeout=60_000)
    page.get_by_role("link", name="Next: Result").click()
    expect(page.get_by_text("The promise holds.")).to_be_visible(timeout=30_000)
    expect(page.get_by_text("of the information is kept")).to_be_visible()
    expect(page.get_by_role("link", name="Save sets-public.csv")).to_be_visible()
    pairs = page.get_by_role("region", name="The ten commonest pairs")
    expect(pairs.locator("tbody tr")).to_have_count(10, timeout=60_000)
    page.get_by_label("Item, or items with commas").fill("i1, i4")
    page.get_by_role("button", name="Count it").click()
    truth = sum({"i1", "i4"} <= set(row) for row in SETS)
    answered = page.get_by_role("region", name="Your questions").locator("tbody tr")
    expect(answered).to_contain_text(f"i1 and i4{truth}", timeout=240_000)
    expect(page.get_by_role("region", name="The record, column by column")).to_be_visible()
    page.get_by_role("button", name="Another record").click()
    assert violations(page) == []
    expect(page.get_by_text("a row does not stand beside the one it came from")).to_be_visible()
    page.get_by_role("button", name="Next rows: The release").click()
    expect(page.get_by_text("11 to 20 of 90 rows")).to_be_visible()
    page.get_by_label("Search an item").fill("i10")
    expect(page.get_by_role("region", name="Loss of each item").locator("tbody tr")).to_have_count(1)
    page.get_by_role("button", name=re.compile("^Open ")).first.click()
    expect(page.get_by_label("The way to this part of the tree").get_by_role("button")).to_have_count(1)
    expect(page.get_by_role("img", name="Information lost against guarantee")).to_be_visible()
    shares = "boxes => boxes.map(box => box.offsetWidth / box.parentElement.offsetWidth)"
    assert min(page.locator(".sh-figure:visible").evaluate_all(shares)) > 0.95  # of its card
    scrolls = "boxes => boxes.every(box => getComputedStyle(box).overflowX === 'auto')"
    assert page.locator(".sh-table-box").evaluate_all(scrolls)  # columns beyond the edge can be reached
    for width in (700, 390):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=width)
    page.set_viewport_size({"width": 1280, "height": 900})
    assert page.locator("main *").count() < 1500
    page.reload()
    expect(page.get_by_text("The promise holds.")).to_be_visible(timeout=30_000)
    page.get_by_role("link", name="Next: Release").click()
    expect(page.get_by_text("Safe to publish")).to_be_visible(timeout=30_000)
    expect(page.get_by_text("Do not publish these.")).to_be_visible()
    page.get_by_label("Format").click()
    page.get_by_role("option", name="Parquet").click()
    page.get_by_role("button", name="Write sets-public.parquet").click()
    expect(page.get_by_role("link", name="Save sets-public.parquet")).to_be_visible(timeout=60_000)
    page.reload()
    kept = {}
    for name in (
        "Save sets-public.parquet",
        "Certificate, JSON",
        "Certificate, web page",
        "Rules, CSV",
        "Plan for this workspace, YAML",
    ):
        with page.expect_download() as arriving:
            page.get_by_role("link", name=name).click()
        kept[name] = tmp_path / arriving.value.suggested_filename
        arriving.value.save_as(kept[name])
    data = kept["Save sets-public.parquet"]
    assert pq.read_table(data).num_rows == 90
    for name in ("Certificate, JSON", "Certificate, web page"):
        assert verify(kept[name], data).holds
    assert kept["Rules, CSV"].read_text().startswith("item,published,rows\n")
    import yaml

    assert (
        plan_of(yaml.safe_load(kept["Plan for this workspace, YAML"].read_text())).outputs.data == "sets-public.parquet"
    )
    expect(page.get_by_label("The command")).to_contain_text("shoal anonymize")
    expect(page.get_by_label("The Python script")).to_contain_text("from shoal import")
