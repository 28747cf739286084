"""Whose row it is: a column of people's numbers is noticed, marked by a click and counted by, and what counts rows is refused."""

from __future__ import annotations

import re

import pytest

from serving import done_here
from shoal.app.jobs.queue import Jobs
from shoal.app.jobs.tasks import risk_task
from shoal.app.panels.promise import estimates
from shoal.app.panels.result.results import brief, counts_people, risks, verdict
from shoal.app.panels.risk import risk_words
from shoal.app.project import promises
from shoal.app.project.drafts import project_of, set_role
from shoal.app.project.workspace import Workspace
from shoal.estimates.trials import Trials
from shoal.plan import plan_of
from shoal.plan.draft import draft
from shoal.processes import Teller

# Fifty people; one has bought "zinc" in all of her five rows, and nobody else has.
VISITS = "patient_id,codes\n" + "".join(
    f"p{row % 50:02},{'iron|' if row % 3 else ''}{'zinc' if row % 50 == 7 else 'milk'}\n" for row in range(250)
)


@pytest.fixture
def project(tmp_path):
    workspace = Workspace(tmp_path / "work")
    (workspace.folder / "visits.csv").write_text(VISITS)
    return project_of(workspace, workspace.folder / "visits.csv")


def quiet():
    return Teller(lambda facts: None)


def risk_of(project):
    return risk_task.work(plan_of(risk_words.known_document(project.draft | {"input": at(project)})), None, quiet())


def at(project):
    return project.draft["input"] | {"path": str(project.data)}


def test_a_column_that_numbers_people_and_returns_is_noticed(tmp_path):
    for name, values, whose in (
        ("patient_id", range(30), True),
        ("Customer", range(30), True),
        ("user_ids", range(60), False),  # none returns: every row is a person
        ("visit_id", range(30), False),
        ("patient_age", range(30), False),
        ("patient_id", range(3), False),
    ):
        given = [values[row % len(values)] for row in range(60)]
        path = tmp_path / "visits.csv"
        path.write_text(f"{name},codes\n" + "".join(f"x{one},a|b\n" for one in given))
        assert draft(str(path)).guesses[0].whose is whose, name


def test_risk_counts_people_who_have_several_rows(project):
    set_role(project, "codes", "items")
    set_role(project, "patient_id", "drop")
    assert risk_words.headline(risk_of(project)) == "None of 250 rows is unique by 2 items."
    set_role(project, "patient_id", "person")
    found = risk_of(project)
    assert found["people"] == 50
    assert risk_words.headline(found) == "5 of 250 rows, which 50 people have, lead to one person by 2 items."
    assert " among fewer than 5 people: whoever knows" in risk_words.second_line(found)
    columns = {"columns": {"patient_id": "person", "codes": "items", "age": "quasi"}}
    assert risk_words.known_document(project.draft | columns)["columns"]["patient_id"] == "person"


def test_one_column_says_whose_a_row_is(project):
    set_role(project, "patient_id", "person")
    set_role(project, "codes", "person")
    assert project.roles == {"patient_id": "drop", "codes": "person"}
    assert [line.words for line in brief(project)][1] == "left out: patient_id; saying whose a row is: codes"


def test_what_counts_rows_is_refused_in_a_sentence(project):
    set_role(project, "codes", "items")
    set_role(project, "patient_id", "person")
    assert promises.kind_of(project.draft) == "km"
    assert [promises.misfit(kind, project.draft) for kind in ("km", "k", "rt")] == [
        None
    ] * 3  # all of them count people
    project.change(lambda document: promises.choose_algorithm(document, "lra"))
    assert (
        "lra counts rows, not people (the role “Whose row it is”); choose one of local, exact, hybrid, oa"
        in project.problem()
    )


def test_a_run_counts_people_and_says_so(project, tmp_path):
    set_role(project, "codes", "items")
    set_role(project, "patient_id", "person")
    plan = plan_of(project.draft | {"input": at(project)})
    found = Trials().trial(plan, quiet())
    assert found["people"]
    assert "fewer than k people, and traces 5 to one person" in estimates.protection_words(found)
    result = done_here(Jobs(Workspace(tmp_path / "work")), project).result
    assert counts_people(result)
    assert verdict(result).counted.endswith(
        "Counted in people, not rows: all rows of a person count as one. There are 50 people."
    )
    assert risks(result)[-1].alone_before == 5
    assert not counts_people({"release": {"audit": {}}})


def test_a_click_makes_a_column_say_whose_a_row_is(served, page):
    project = served.upload(page, "visits.csv", VISITS)
    page.get_by_text("Column patient_id seems to say whose a row is, and people have several.").wait_for()
    page.get_by_role("button", name="Count people by patient_id").click()
    page.get_by_role("combobox", name="Role of column patient_id").wait_for()
    page.get_by_role("button", name="Count people by patient_id").wait_for(state="detached")
    page.goto(f"{served.base}/p/{project}/risk")
    page.locator(".sh-headline", has_text=re.compile("which 50 people have, lead to one person")).wait_for(
        timeout=120_000
    )
    page.goto(f"{served.base}/p/{project}/promise")
    page.get_by_text("Counted in people, not rows: all rows of a person count as one.").wait_for()
