"""What can be said of each column that others may know, and of sensitive ones: in the plan, and in the browser."""

from __future__ import annotations

import random

import pytest

from serving import until
from shoal.app.project import column_choices as choices
from shoal.app.project import promises
from shoal.app.project.drafts import begin, set_role
from shoal.app.project.workspace import Workspace
from shoal.options import OPTIONS
from shoal.release import run


def patients(rows=240, seed=2):
    lots = random.Random(seed)
    lines = ["age,admitted,stay,zip,band,codes,pay"]
    for i in range(rows):
        day = f"20{20 + i % 3}-{1 + lots.randrange(12):02}-{1 + lots.randrange(28):02}"
        band = lots.choice(["[50-60)", "[60-70)", "[70-80)", "[80-90)"])
        codes = "|".join(sorted({lots.choice("AABBCDEFGH") for _ in range(lots.randint(1, 4))}))
        stay = f"{lots.randint(1, 30)} days"
        lines.append(
            f"{lots.randint(20, 60)},{day},{stay},{lots.choice(['4711', '4712', '5001'])},{band},{codes},{lots.randrange(4)}"
        )
    return "\n".join(lines) + "\n"


@pytest.fixture
def project(tmp_path):
    workspace = Workspace(tmp_path)
    (tmp_path / "patients.csv").write_text(patients())
    project = workspace.new_project("patients")
    begin(project, tmp_path / "patients.csv")
    for name in ("age", "admitted", "stay", "zip", "band"):
        set_role(project, name, "quasi")
    set_role(project, "codes", "items")
    set_role(project, "pay", "drop")
    return project


def guess(project, name):
    return project.settings["guesses"][name]


def test_kinds_are_recognised_with_their_reason(project):
    words = {name: choices.found_words(guess(project, name)) for name in ("age", "admitted", "stay", "band")}
    assert words["age"][0] == "As recognised: numbers, in ranges that fit"
    assert words["admitted"][0] == "As recognised: dates"
    assert words["stay"][0] == "As recognised: durations"
    assert words["band"][0] == "As recognised: bands"
    assert all(reason for _, reason in words.values())
    assert set(choices.kinds_for(guess(project, "age"))) >= {"bands", "round", "top", "bottom", "prefix"}
    assert set(choices.kinds_for(guess(project, "admitted"))) >= {"dates", "durations", "bands", "prefix", "mask"}


@pytest.mark.parametrize(
    ("column", "kind", "parameter", "spec"),
    [
        ("age", "round", "", "round:5"),
        ("age", "bands", "20", "bands:20"),
        ("age", "top", "50", "top:50"),
        ("age", "bottom", " 30 ", "bottom:30"),
        ("admitted", "dates", "", "dates"),
        ("admitted", "dates", "year, month", "dates:year,month"),
        ("stay", "durations", "1d,7d", "durations:1d,7d"),
        ("band", "bands", "", "bands"),
        ("admitted", "dates:ranges", "", "dates:ranges"),
        ("band", "bands:ranges", "", "bands:ranges"),
        ("zip", "prefix", "2", "prefix:2"),
        ("zip", "mask", "", "mask"),
        ("band", "flat", "", "flat"),
    ],
)
def test_each_kind_gives_a_plan_that_runs(project, column, kind, parameter, spec):
    chosen = choices.kinds_for(guess(project, column))[kind]
    project.change(lambda document: choices.choose_kind(document, column, chosen, parameter))
    assert project.draft["hierarchies"][column] == spec
    told = "" if kind == spec else spec.partition(":")[2]
    assert choices.chosen_kind(project.draft, column) == (kind, told)
    for name in project.of_role("quasi"):
        if name not in (column, "age"):
            set_role(project, name, "drop")
    assert run(project.plan()).audit.holds
    project.change(lambda document: choices.choose_kind(document, column, None))
    assert choices.chosen_kind(project.draft, column) == (choices.AS_FOUND, "")


def test_limits_and_missing_values_are_in_the_plan_as_long_as_the_column_is_known(project):
    project.change(lambda document: choices.put_limit(document, "age", "20"))
    project.change(lambda document: choices.put_missing(document, "zip", "drop"))
    assert project.draft["options"]["limits"] == {"age": "20"}
    assert project.draft["options"]["missing_quasi"] == {"zip": "drop"}
    assert project.problem() is None
    assert choices.limit_of(project.draft, "age") == "20"
    assert choices.missing_in(project.draft, "zip") == "drop"
    project.change(lambda document: choices.put_missing(document, "zip", "value"))
    assert "missing_quasi" not in project.draft["options"]
    set_role(project, "age", "drop")
    assert "limits" not in project.draft.get("options", {})
    assert set(choices.MISSING) == set(OPTIONS["missing_quasi"].kind.words)


def test_what_is_promised_of_sensitive_values_follows_the_roles(project):
    assert not promises.takes_t(project.draft)
    assert "t" not in promises.knobs_of(project.draft)
    set_role(project, "pay", "sensitive")
    assert promises.value_of(project.draft, "t") == 1
    for kind in ("rt", "lm"):
        project.change(lambda document, kind=kind: promises.choose_model(document, kind, {}) and None)
        assert "t" in promises.knobs_of(project.draft)
        project.change(lambda document: promises.turn(document, "t", 0.4))
        assert project.draft["guarantee"]["t"] == 0.4
        project.change(lambda document: promises.set_word(document, "distance", "ordered"))
        assert project.problem() is None
        assert promises.guarantee_of(project.draft).t == 0.4
        assert promises.counts_missing(project.draft)
    project.change(lambda document: promises.turn(document, "t", 1))
    assert not {"t", "distance", "missing"} & set(project.draft["guarantee"])
    project.change(lambda document: promises.turn(document, "t", 0.4))
    project.set(promise_chosen=True)
    set_role(project, "pay", "keep")
    assert "t" not in project.draft["guarantee"]


def test_l_can_be_counted_by_frequency_in_tables_without_items(project):
    set_role(project, "pay", "sensitive")
    set_role(project, "codes", "drop")
    project.change(lambda document: promises.choose_model(document, "table", {}) and None)
    project.change(lambda document: promises.turn(document, "l", 3))
    assert promises.takes_l_kind(project.draft)
    project.change(lambda document: promises.set_word(document, "l_kind", "frequency"))
    assert promises.guarantee_of(project.draft).by_frequency
    assert project.problem() is None
    project.change(lambda document: promises.turn(document, "l", 1))
    assert "l_kind" not in project.draft["guarantee"]


def test_rows_that_may_leave_can_be_turned_for_tables_with_items_and_without(project):
    assert "suppress_rows" in promises.knobs_of(project.draft)
    project.change(lambda document: promises.turn(document, "suppress_rows", 0.02))
    assert project.draft["options"]["suppress_rows"] == 0.02
    assert project.problem() is None
    project.change(lambda document: promises.choose_model(document, "km", {}) and None)
    assert "suppress_rows" not in project.draft.get("options", {})


def choose(page, label, option):
    page.get_by_label(label, exact=True).click()
    page.get_by_role("option", name=option).click()
    page.get_by_role("option").first.wait_for(state="detached")


def test_the_browser_changes_kinds_limits_and_missing_values(served, page):
    name = served.upload(page, "patients.csv", patients(120))
    plan = served.folder / ".shoal" / "projects" / name / "plan.yaml"
    page.wait_for_selector("text=What is in the columns?")
    for column, role in (
        ("admitted", "Others may know it"),
        ("age", "Others may know it"),
        ("stay", "Leave out"),
        ("zip", "Leave out"),
        ("band", "Leave out"),
        ("pay", "Others want to learn it"),
    ):
        choose(page, f"Role of column {column}", role)
        said = {"Others may know it": "quasi", "Leave out": "drop", "Others want to learn it": "sensitive"}[role]
        until(lambda column=column, said=said: f"{column}: {said}" in plan.read_text())
    page.wait_for_selector("text=Every column has a role.")
    page.wait_for_selector("text=How columns that others may know become coarser")
    page.get_by_text("Dates, into months, quarters and years").first.wait_for()
    choose(page, "Kind of column age", "Rounded numbers")
    until(lambda: "age: round:5" in plan.read_text())
    page.get_by_label("To multiples of, column age").fill("10")
    page.keyboard.press("Tab")
    until(lambda: "age: round:10" in plan.read_text())
    page.get_by_label("Column admitted never coarser than").fill("year")
    page.keyboard.press("Tab")
    until(lambda: "admitted: year" in plan.read_text())
    choose(page, "A missing value of column age", "The row is left out")
    until(lambda: "age: drop" in plan.read_text())
    page.get_by_label("Column admitted never coarser than").fill("")
    page.keyboard.press("Tab")
    until(lambda: "admitted: year" not in plan.read_text())
    page.goto(f"{served.base}/p/{name}/promise")
    page.get_by_label("t, how far a crowd may be from the whole table, as a number").fill("60")
    until(lambda: "t: 0.6" in plan.read_text())
    page.wait_for_selector("text=How far are two values from each other?")
    page.get_by_label("Rows that may be left out, as a number").fill("2")
    until(lambda: "suppress_rows: 0.02" in plan.read_text())
    page.wait_for_selector("text=with 0.6-closeness by joint", timeout=240_000)
    for width in (900, 500):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=width)
