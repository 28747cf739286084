"""Risk: what the raw data give away, counted by a worker, in words, and in the browser."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serving import until, violations
from shoal.app.jobs import kept_results as kept
from shoal.app.jobs.queue import Jobs
from shoal.app.jobs.tasks.risk_task import work
from shoal.app.panels.risk import risk_words as risks
from shoal.app.project import contents
from shoal.app.project.workspace import Workspace
from shoal.estimates.raw_profile import profile
from shoal.evaluation.column_risk import column_risk
from shoal.plan import plan_of
from shoal.processes import Teller
from shoal.records.records import Column, Records

PEOPLE = "name,age,sex,codes,pay\n" + "".join(
    f"p{i},{30 + i % 9},{'MF'[i % 2]},{'|'.join('ABCDEFGH'[: 1 + i % 5])}{'|Z' if i == 7 else ''},{i % 4}\n"
    for i in range(90)
)
ROLES = {"name": "drop", "age": "quasi", "sex": "quasi", "codes": "items", "pay": "sensitive"}


@pytest.fixture
def people(tmp_path, monkeypatch):
    (tmp_path / "people.csv").write_text(PEOPLE)
    monkeypatch.chdir(tmp_path)
    return {"version": 1, "input": {"path": "people.csv", "separator": "|"}}


def found_for(people, k=5, **roles):
    document = risks.known_document(people | {"columns": ROLES | roles})
    return work(plan_of(document), None, Teller(lambda facts: None), k=k)


def naive_known(rows, names, wanted, k):
    places = [names.index(name) for name in wanted]
    crowd = Counter(tuple(row[at] for at in places) for row in rows)
    sizes = [crowd[tuple(row[at] for at in places)] for row in rows]
    return len(crowd), sum(size == 1 for size in sizes), sum(size < k for size in sizes)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 5).flatmap(lambda width: st.lists(st.tuples(*[st.sampled_from("abc1")] * width), min_size=1)),
    st.integers(1, 6),
)
def test_column_risk_counts_every_subset(rows, k):
    names = [f"c{i}" for i in range(len(rows[0]))]
    columns = tuple(Column.from_texts(name, "quasi", [row[at] for row in rows]) for at, name in enumerate(names))
    found = column_risk(Records(columns), k)
    told = [*found.single, *found.pairs, *found.without]
    assert {one.columns for one in found.single} == {(name,) for name in names}
    assert {one.columns for one in found.pairs} == set(combinations(names, 2))
    assert len(found.without) == (len(names) if len(names) > 2 else 0)
    for one in told:
        assert (one.combinations, one.unique, one.few) == naive_known(rows, names, one.columns, k)
    assert [one.unique for one in found.single] == sorted((one.unique for one in found.single), reverse=True)
    for one, without in zip(found.single, found.without, strict=False):
        assert set(without.columns) == set(names) - set(one.columns)


def test_many_columns_are_named_as_left_out():
    columns = tuple(Column.from_texts(f"c{i}", "quasi", ["a", "b"]) for i in range(20))
    found = column_risk(Records(columns), 2, most=4)
    assert (len(found.single), len(found.pairs), len(found.without), found.left_out) == (4, 6, 0, 16)


def test_only_what_others_know_counts(people):
    document = risks.known_document(people | {"columns": ROLES, "guarantee": {"model": "diversity", "l": 3}})
    assert document["columns"] == ROLES | {"pay": "drop"}
    assert document["guarantee"]["model"] == "rt"
    nobody = dict.fromkeys(ROLES, "drop") | {"pay": "keep"}
    assert risks.known_document(people | {"columns": nobody}) is None
    assert risks.known_document({"version": 1, "input": {"path": "sets.dat"}})["guarantee"]["model"] == "km"


def test_the_task_tells_what_the_profile_tells(people):
    found = found_for(people)
    expected = profile(
        "people.csv", 5, 4, quasi=["age", "sex"], items="codes", separator="|", drop=["name", "pay"]
    ).to_dict()
    assert found["profile"] == expected | {"outlook": None}, "the app tells what is kept beside the promise instead"
    singled_out = risks.curve_picture(found["profile"]).series[1]
    assert [value for _, value in singled_out.points] == [one["unique"] / 90 for one in expected["exposures"]]
    assert found["everything"]["rows"] == 90
    assert found["columns"]["pairs"][0]["columns"] == ["age", "sex"]


def test_nobody_is_taken_to_know_sensitive_items(people):
    """As the audit of a promise with sensitive items sees it: they are what others want to learn."""
    with open("without.csv", "w") as file:
        for line in PEOPLE.splitlines():
            *cells, codes, pay = line.split(",")
            kept = [code for code in codes.split("|") if code not in ("A", "E")]
            file.write(",".join([*cells, "|".join(kept), pay]) + "\n")
    for roles in ({}, {"age": "drop", "sex": "drop"}):
        found = found_for(people | {"sensitive_items": ["A", "E"]}, **roles)
        expected = found_for(people | {"input": people["input"] | {"path": "without.csv"}}, **roles)
        assert found["profile"]["exposures"] == expected["profile"]["exposures"]
        assert found["everything"] == expected["everything"]
        assert found["columns"] == expected["columns"]
        assert found["profile"]["items"] == expected["profile"]["items"]
        assert found["profile"]["source"] == "people.csv"
        assert risks.not_known(found).startswith("The 2 sensitive items are not counted as known")
        assert risks.not_known(expected) is None
    Path("names.txt").write_text("A\nE\n")
    by_file = found_for(people | {"sensitive_file": "names.txt"})
    assert by_file["profile"]["exposures"] == found_for(people | {"sensitive_items": "A,E"})["profile"]["exposures"]


def test_sets_alone_and_columns_alone(people):
    sets = found_for(people, age="drop", sex="drop")
    assert sets["columns"] is None
    assert risks.headline(sets) == "1 of 90 rows is unique by 2 items."
    assert risks.severity(sets) == "bad"
    columns = found_for(people, codes="keep")
    assert [one["m"] for one in columns["profile"]["exposures"]] == [0]
    assert risks.headline(columns) == "None of 90 rows is unique by “age” and “sex”."
    assert risks.severity(columns) == "good"
    assert risks.severity(found_for(people, k=6, codes="keep")) == "warn"


def test_words_hold_for_empty_sets(tmp_path, monkeypatch):
    (tmp_path / "sets.jsonl").write_text("[]\n[]\n")
    monkeypatch.chdir(tmp_path)
    document = risks.known_document({"version": 1, "input": {"path": "sets.jsonl"}})
    found = work(plan_of(document), None, Teller(lambda facts: None))
    assert risks.headline(found) == "None of the 2 rows holds anything that others may know."
    assert risks.over_m(found) == risks.examples(found) == []
    assert risks.by_columns(found) == ([], [])


def test_examples_are_told_with_their_columns(people):
    told = risks.examples(found_for(people))
    assert ("age 30, sex F, E", "row 10 alone") in told
    assert len(told) <= 12


def test_what_cannot_be_seen_is_shown_as_such():
    assert risks.visible("a\u202eb\nc") == "a·b·c"
    assert len(risks.visible("x" * 500)) == 120


def test_a_tie_of_columns_names_them_all(people):
    rows = "age,zip,sex\n1,1,M\n1,2,M\n2,1,M\n2,2,M\n1,1,F\n1,1,F\n2,2,F\n2,2,F\n1,2,F\n1,2,F\n2,1,F\n2,1,F\n"
    with open("people.csv", "w") as file:
        file.write(rows)
    document = risks.known_document(people | {"columns": dict.fromkeys(("age", "zip", "sex"), "quasi")})
    found = work(plan_of(document), None, Teller(lambda facts: None), k=3)
    assert risks.headline(found) == "4 of 12 rows are unique by “age”, “zip” and “sex”."
    assert risks.worst_column(found) == (
        "Leave out “age” or “sex” or “zip”, and no row would be unique by the columns instead of 4."
    )


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "people.csv").write_text(PEOPLE)
    return Workspace(tmp_path / "work")


def test_results_are_kept_by_content(workspace):
    project = workspace.new_project("people")
    project.change({"version": 1, "input": {"path": "../../../people.csv", "separator": "|"}, "columns": ROLES})
    document = risks.known_document(project.draft)
    jobs = Jobs(workspace)
    try:
        key = contents.key_of(project, document, k=5)
        first = kept.ask(jobs, project, "risk", key, document, {"k": 5})
        assert kept.ask(jobs, project, "risk", key, document, {"k": 5}).id == first.id
        until(lambda: (jobs.tick(), jobs.get(project, first.id).status == "done")[1])
        assert kept.job_of(jobs, project, "risk", key).result["profile"]["rows"] == 90
        assert contents.key_of(project, document, k=5) == key != contents.key_of(project, document, k=6)
        (workspace.folder / "people.csv").write_text(PEOPLE + "x,1,M,A,1\n")
        assert contents.key_of(project, document, k=5) != key
        second = kept.ask(jobs, project, "risk", "other", document, {"k": 5})
        third = kept.ask(jobs, project, "risk", "another", document, {"k": 5})
        assert jobs.get(project, second.id) is None
        assert [job.id for job in jobs.of(project, "risk")] == [third.id, first.id]
    finally:
        jobs.close()


def test_old_results_make_room(workspace):
    project = workspace.new_project("people")
    project.change({"version": 1, "input": {"path": "../../../people.csv"}, "columns": ROLES})
    jobs = Jobs(workspace)
    for number in range(kept.KEPT + 5):
        job = kept.ask(jobs, project, "risk", str(number), project.draft, {})
        jobs._end(job.folder, "failed", "no")
    assert len(jobs.of(project, "risk")) == kept.KEPT


def test_the_panel_tells_it_and_keeps_it(served, page):
    project = served.upload(page, "people.csv", PEOPLE)
    page.wait_for_selector("text=1 to 25 of 90 rows")
    page.get_by_label("Role of column pay").click()
    page.get_by_role("option", name="Leave out").click()
    page.wait_for_selector("text=Every column has a role.")
    page.goto(f"{served.base}/p/{project}/risk")
    page.locator(".sh-headline").wait_for(timeout=240_000)
    assert page.locator(".sh-headline").inner_text() == "19 of 90 rows are unique by “age”, “sex” and 2 items."
    assert page.get_by_role("table", name="What is given away, by how much is known").locator("tbody tr").count() == 5
    page.locator(".sh-figure svg").wait_for()
    assert violations(page) == []
    assert not page.get_by_text("row 10 alone").first.is_visible()
    page.get_by_text("Show examples").click()
    page.get_by_text("row 10 alone").first.wait_for()
    page.get_by_text("for you, not for publication").wait_for()
    page.reload()
    page.locator(".sh-headline").wait_for()
    page.get_by_label("A crowd is too small with").click()
    page.get_by_role("option", name="fewer than 10", exact=True).click()
    page.get_by_text("Rows among fewer than 10").wait_for(timeout=240_000)
    folders = list((served.folder / ".shoal" / "projects" / project / "jobs").iterdir())
    assert len(folders) == 2  # the reload has asked for nothing new


def test_nothing_known_is_explained(served, page):
    project = served.upload(page, "notes.csv", "pay\n" + "".join(f"{i % 4}\n" for i in range(40)))
    page.get_by_label("Role of column pay").click()
    page.get_by_role("option", name="Keep as it is").click()
    page.wait_for_selector("text=Every column has a role.")
    page.goto(f"{served.base}/p/{project}/risk")
    page.get_by_text("Nobody knows anything yet").wait_for()
