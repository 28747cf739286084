"""Plans that were written elsewhere: brought whole, saved as they were, run as they say, or refused with the way there."""

from __future__ import annotations

import re

import pytest
import yaml

from serving import done_here
from shoal.app.jobs.question_answers import answer
from shoal.app.jobs.queue import Jobs
from shoal.app.panels.release.ending import make_bundle
from shoal.app.panels.release.handover import recipe
from shoal.app.panels.result.results import algorithm_words
from shoal.app.project import column_choices as choices
from shoal.app.project import promises
from shoal.app.project.drafts import project_of, read_as_missing, set_role
from shoal.app.project.plan_files import project_of_plan
from shoal.app.project.project import relocate
from shoal.app.project.workspace import Workspace
from shoal.errors import InputError
from shoal.estimates.trials import Trials
from shoal.plan import plan_of
from shoal.processes import Teller

VISITS = "person,born,price,note,codes\n" + "".join(
    f"p{i % 60},{1 + i % 28:02}.{1 + i % 12:02}.19{50 + i % 40},{10 + i % 7},{'x' * (1 + i % 3)},{'ABCD'[i % 4]}|{'EF'[i % 2]}\n".replace(
        f",{10 + i % 7},", f',"{10 + i % 7},{i % 10}0",'
    )
    for i in range(240)
)
WHOLE = {
    "version": 1,
    "input": {"path": "visits.csv", "format": "csv", "separator": "|", "spelling": {"born": "dmy", "price": "comma"}},
    "columns": {"person": "person", "born": "quasi", "price": "quasi", "note": "drop", "codes": "items"},
    "sensitive_items": ["A"],
    "hierarchies": {"codes": "codes.csv", "price": "bands:5"},
    "guarantee": {"model": "lm", "k": 3, "m": 1, "l": 2},
    "algorithm": "joint",
    "options": {
        "threads": 1,
        "balance": 0.25,
        "limits": {"price": 20.0},
        "weights": {"born": 2.0},
        "shift": {"born": 3.0},
    },
    "outputs": {"data": "public/visits.csv", "certificate": "public/proof.json", "rules": "mine/rules.csv"},
    "keep_order": True,
}


@pytest.fixture
def workspace(tmp_path):
    found = Workspace(tmp_path / "work")
    (found.folder / "study").mkdir()
    (found.folder / "study" / "visits.csv").write_text(VISITS)
    (found.folder / "study" / "codes.csv").write_text(
        "".join(f"{one};{'early' if one < 'D' else 'late'};*\n" for one in "ABCDEF")
    )
    return found


def written(workspace, document, folder="study"):
    path = workspace.folder / folder / "plan.yaml"
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return path


def without(document, *keys):
    return {name: part for name, part in document.items() if name not in keys}


def test_a_plan_is_brought_and_saved_as_it_was(workspace):
    project = project_of_plan(workspace, written(workspace, WHOLE))
    home = workspace.folder / "study"
    assert relocate(project.draft, project.folder, home) == WHOLE
    assert project.problem() is None
    assert not project.can_undo
    assert project.settings["guesses"]["codes"]["role"] == "items"
    set_role(project, "note", "keep")  # a change elsewhere leaves all else as it was
    set_role(project, "note", "drop")
    assert relocate(project.draft, project.folder, home) == WHOLE


def test_a_plan_that_was_brought_runs_as_it_says(workspace):
    plan = without(WHOLE, "sensitive_items", "hierarchies") | {"guarantee": {"model": "rt", "k": 3, "m": 1}}
    plan["options"] = {"threads": 1, "balance": 0.9, "limits": {"price": 20.0}}
    project = project_of_plan(workspace, written(workspace, plan))
    jobs = Jobs(workspace)
    run = done_here(jobs, project)
    assert run.result["release"]["audit"]["people"] == 60
    again = yaml.safe_load(recipe(workspace, run, "visits.csv").plan)
    assert relocate(again, workspace.folder, workspace.folder / "study") == plan
    make_bundle(run, run, "visits.csv")


def test_what_is_spelled_in_its_owners_way_is_measured_and_shown_so(workspace):
    plan = without(WHOLE, "sensitive_items", "hierarchies", "options") | {"guarantee": {"model": "rt", "k": 9, "m": 1}}
    plan["columns"] = plan["columns"] | {"born": "drop", "person": "drop"}
    plan["input"] = plan["input"] | {"spelling": {"price": "comma"}}
    run = done_here(Jobs(workspace), project_of_plan(workspace, written(workspace, plan)))
    result = run.result
    assert re.search(r"\[1[0-9],[0-9]0:1[0-9],[0-9]0\]", run.output("visits.csv").read_text())
    before, after = result["release"]["loss"], result["evaluation"]["loss"]
    assert after["info_columns"] == pytest.approx(before["info_columns"])  # rows are in order: no reader has to guess
    record = result["records"][0]
    assert re.fullmatch("1[0-9],[0-9]0", record["before"]["price"])
    asked = {"items": [], "column": "price", "value": record["before"]["price"]}
    told = answer(run.folder, asked, Teller(lambda facts: None))
    assert (told["question"], told["true"] > 0) == (f"price is {record['before']['price']}", True)
    assert not any("." in one["question"] for one in result["answers"]["counts"])


def test_a_plan_in_brief_says_options_of_columns_in_words():
    words = algorithm_words(
        WHOLE | {"options": {"balance": 0.25, "limits": {"price": 20.0, "born": "year"}, "threads": 1}}
    )
    assert words == "joint (balance 0.25; limits price 20, born year; threads 1)"


def test_an_estimate_reads_numbers_as_they_are_spelled(workspace):
    plan = without(WHOLE, "sensitive_items", "hierarchies", "options") | {"guarantee": {"model": "rt", "k": 3, "m": 1}}
    project = project_of_plan(workspace, written(workspace, plan))
    asked = without(project.draft, "outputs")
    asked["input"] = asked["input"] | {"path": str(project.data)}
    assert Trials().trial(plan_of(asked), Teller(lambda facts: None))["people"]


def test_what_a_plan_does_not_name_is_to_be_decided(workspace):
    named = {name: role for name, role in WHOLE["columns"].items() if name != "note"}
    project = project_of_plan(workspace, written(workspace, WHOLE | {"columns": named}))
    assert project.open_columns == ["note"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"series": {"ledger": "mine.ledger"}}, "It belongs to a series of releases"),
        ({"engine": "spark"}, "It runs on Spark"),
        ({"input": {"path": "visits.csv", "one_hot": True}}, "Its items have a column each"),
        ({"input": {"path": "duckdb:shop.duckdb?table=visits"}}, "Its data are not a file of the workspace"),
        ({"input": {"path": "s3://bucket/visits.csv"}}, "Its data are not a file of the workspace"),
        ({"input": {"path": "visits.xlsx?sheet=one"}}, "It reads a sheet of a workbook"),
        ({"guarantee": {"model": "constraints", "k": 3, "policy": "policy.yaml"}}, "It goes by a policy"),
        ({"guarantee": {"model": "chunks", "k": 3, "m": 2}}, "The app shows rows"),
    ],
)
def test_what_runs_elsewhere_is_refused_with_the_way_there(workspace, change, why):
    plan = {"version": 1, "input": {"path": "visits.csv"}, "guarantee": {"model": "km", "k": 3, "m": 2}} | change
    if "engine" in change:
        plan |= {"columns": {"codes": "items"}, "input": {"path": "visits.parquet"}}
    with pytest.raises(InputError) as told:
        project_of_plan(workspace, written(workspace, plan))
    assert str(told.value).startswith(f"plan.yaml: {why}")
    assert str(told.value).endswith("Run it there: shoal run plan.yaml")
    assert workspace.projects() == []


def test_a_plan_that_is_none_leaves_no_project(workspace):
    for text, why in (
        (
            "guarantee: {model: km, k: x, m: 2}\ninput: {path: visits.csv}\nversion: 1\n",
            r"plan.yaml: guarantee.k \(line 1\)",
        ),
        ("version: 1\ninput: {path: gone.csv}\nguarantee: {model: km, k: 3, m: 2}\n", "no such file in the workspace"),
        (
            "version: 1\ninput: {path: ../../secret.csv}\nguarantee: {model: km, k: 3, m: 2}\n",
            "lies outside the workspace",
        ),
        ("version: 1\ninput: {path: .}\nguarantee: {model: km, k: 3, m: 2}\n", "folders, such as FHIR exports"),
    ):
        path = workspace.folder / "study" / "plan.yaml"
        path.write_text(text)
        with pytest.raises(InputError, match=why):
            project_of_plan(workspace, path)
        assert workspace.projects() == []
    assert (workspace.folder / "study" / "visits.csv").is_file()


def test_a_plan_that_a_browser_brings_finds_data_in_the_workspace(workspace):
    path = workspace.uploads / "plan.yaml"
    path.write_text(
        yaml.safe_dump(
            WHOLE | {"input": WHOLE["input"] | {"path": "study/visits.csv"}, "hierarchies": {"price": "bands:5"}}
        )
    )
    project = project_of_plan(workspace, path)
    assert project.data == workspace.folder / "study" / "visits.csv"
    workspace.remove_project(project)
    assert not path.exists()


def test_a_series_is_never_run_here(workspace):
    project = project_of_plan(workspace, written(workspace, WHOLE))
    project.change({"series": {"ledger": "mine.ledger"}})  # as by hand, in the file
    with pytest.raises(InputError, match=r"does not run in the app\. It belongs to a series"):
        Jobs(workspace).submit(project)


def test_what_was_decided_stays_when_a_mark_is_read_as_missing(workspace):
    plan = without(WHOLE, "outputs")
    (workspace.folder / "study" / "visits.csv").write_text(VISITS.replace(",xx,", ",?,"))
    project = project_of_plan(workspace, written(workspace, plan))
    before = project.draft
    read_as_missing(workspace, project, project.data, {"note": "?"})
    assert ",?," not in project.data.read_text()
    assert without(project.draft, "input") == without(before, "input")
    assert project.draft["input"]["spelling"] == WHOLE["input"]["spelling"]
    assert project.problem() is None


def test_how_a_column_is_spelled_can_be_said(workspace):
    project = project_of(workspace, workspace.folder / "study" / "visits.csv")
    for name, role in WHOLE["columns"].items():
        set_role(project, name, role)
    guess = project.settings["guesses"]["price"]
    assert choices.asks_spelling(project.draft, "price", guess)
    assert not choices.asks_spelling(project.draft, "price", {"numeric": True})
    assert "bands" not in {kind.name for kind in choices.kinds_for(guess).values() if kind.numbers}
    project.change(lambda document: choices.put_spelling(document, "price", "comma"))
    assert project.draft["input"]["spelling"] == {"price": "comma"}
    assert choices.found_words(guess, "comma")[0] == "As recognised: numbers, in ranges that fit"
    assert {"bands", "top"} <= set(choices.kinds_for(guess, "comma"))
    assert project.problem() is None
    # A promise that reads values as they stand puts it aside, and another brings it back.
    document = project.draft
    aside = promises.choose_model(document, "km", {})
    assert "spelling" not in document["input"]
    aside = promises.choose_model(document, "rt", aside)
    assert document["input"]["spelling"] == {"price": "comma"}
    choices.put_spelling(document, "price", "")
    promises.choose_model(document, "rt", promises.choose_model(document, "km", aside))
    assert "spelling" not in document["input"]  # what was taken back stays so
    set_role(project, "price", "drop")
    assert "spelling" not in project.draft["input"]
