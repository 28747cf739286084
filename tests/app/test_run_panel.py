"""The Run panel: a run that outlives its page, a cancel, a failure, two windows at once."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from serving import until
from shoal.app.jobs.queue import Job
from shoal.app.project.project import Project

SETS = "items\n" + "\n".join("|".join("abcdefgh"[(i + j) % 8] for j in range(3)) for i in range(120)) + "\n"
ENDLESS = {
    "hierarchies": None,
    "guarantee": {"model": "k", "k": 5},
    "algorithm": "gray-tsp",
    "options": {"generations": 1_000_000, "population": 1_000},
}


def project_of(served, id):
    return Project(served.folder / ".shoal" / "projects" / id)


def opened(served, page, change=None):
    """A project of sets with its Run panel open."""
    id = served.upload(page, "sets.csv", SETS)
    if change is not None:
        project_of(served, id).change(change)
    page.goto(f"{served.base}/p/{id}/run")
    page.wait_for_selector("text=Nothing has been run yet")
    return id


def runs(page, kind):
    return page.locator(f"li.sh-job .sh-tag{kind}")


def is_alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_run_outlives_its_page(served, page):
    from playwright.sync_api import expect

    id = opened(served, page)
    expect(page.get_by_role("row", name=re.compile("^Promise"))).to_contain_text("or at least 5")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("li.sh-job")).to_have_count(1)
    page.goto(served.base)
    page.wait_for_selector("text=Your projects")  # the tab looks at something else
    page.goto(f"{served.base}/p/{id}/run")
    expect(runs(page, "-good")).to_have_count(1, timeout=60_000)
    expect(page.locator("li.sh-job")).to_contain_text("It took")
    expect(page.get_by_text("This very plan was run already.")).to_be_visible()
    page.get_by_role("button", name=re.compile("^See the result of")).click()
    expect(page.get_by_text("The promise holds.")).to_be_visible(timeout=30_000)
    project_of(served, id).change({"guarantee": {"model": "km", "k": 7, "m": 2}})  # as another window does
    expect(page.get_by_text("The plan was changed after this run")).to_be_visible(timeout=30_000)
    expect(page.get_by_label("Steps").get_by_text("out of date")).to_have_count(2)
    project_of(served, id).undo()
    expect(page.get_by_text("The plan was changed after this run")).to_have_count(0, timeout=30_000)


def test_a_cancel_in_one_window_shows_in_the_other(served, page):
    from playwright.sync_api import expect

    id = opened(served, page, ENDLESS)
    other = page.context.new_page()
    other.goto(page.url)
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("li.sh-stage-now", has_text="Making the release")).to_be_visible(timeout=60_000)
    page.get_by_role("button", name="Queue another run").click()
    expect(page.get_by_text("It waits for a run of this project")).to_be_visible()
    expect(other.locator("li.sh-job")).to_have_count(2, timeout=30_000)
    folder = project_of(served, id).folder / "jobs"
    first = min(folder.iterdir())
    worker = json.loads((first / "state.json").read_text())["pid"]
    page.reload()  # in the middle of a run
    expect(page.locator("li.sh-stage-now", has_text="Making the release")).to_be_visible()
    expect(page.get_by_text("so far;")).to_be_visible()
    assert json.loads((first / "state.json").read_text())["pid"] == worker
    assert is_alive(worker)
    other.get_by_role("button", name=re.compile("^Cancel")).first.click()  # the one that waits
    expect(runs(other, "-warn")).to_have_count(1, timeout=30_000)
    other.get_by_role("button", name=re.compile("^Cancel")).click()
    expect(runs(other, "-warn")).to_have_count(2, timeout=30_000)
    expect(runs(page, "-warn")).to_have_count(2, timeout=30_000)
    until(lambda: not is_alive(worker))
    for job in folder.iterdir():
        assert {path.name for path in job.iterdir()} <= {"job.json", "plan.yaml", "state.json", "log.txt"}
    page.get_by_role("button", name=re.compile("^Remove")).first.click()
    expect(page.locator("li.sh-job")).to_have_count(1)


def test_a_failed_run_says_why_and_can_be_run_again(served, page):
    from playwright.sync_api import expect

    id = opened(served, page, {"guarantee": {"model": "km", "k": 500, "m": 2}})
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_role("alert").get_by_text("only 120 rows")).to_be_visible(timeout=60_000)
    assert "Traceback" not in page.inner_text("main")
    project_of(served, id).change({"guarantee": {"model": "km", "k": 7, "m": 2}})  # as another window does
    expect(page.get_by_role("row", name=re.compile("^Promise"))).to_contain_text("or at least 7", timeout=30_000)
    page.reload()
    expect(page.get_by_role("alert").get_by_text("only 120 rows")).to_be_visible()
    page.get_by_role("button", name=re.compile("^Run it again")).click()  # the plan of that run, not the new one
    expect(page.get_by_role("alert")).to_have_count(2, timeout=60_000)


def test_what_is_missing_in_the_plan_is_said_with_the_way_there(served, page):
    from playwright.sync_api import expect

    id = opened(served, page, lambda document: document.pop("guarantee"))
    expect(page.locator("main .sh-notice-warn")).to_be_visible()
    expect(page.get_by_role("button", name="Run", exact=True)).to_have_count(0)
    expect(page.get_by_role("link", name="Go to the data")).to_have_attribute("href", f"/p/{id}/data")
    page.goto(f"{served.base}/p/{id}/result")
    expect(page.locator("main").get_by_text("First run the plan").first).to_be_visible()


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ({"status": "running", "started": 100.0, "ended": 104.0}, "4 s so far; the estimate comes"),
        ({"status": "running", "started": 100.0, "ended": 104.0, "estimate": 90.0}, "estimated at 1 min 30 s"),
        ({"status": "running", "started": 100.0, "ended": 190.0, "estimate": 3.0}, "longer than the 3 s"),
    ],
)
def test_time_is_told_as_it_is_known(tmp_path, state, words):
    pytest.importorskip("nicegui")
    from shoal.app.panels.run.run_panel import time_words

    assert words in time_words(Job(tmp_path, {}, state))


def test_the_best_so_far_comes_with_its_gap(tmp_path):
    pytest.importorskip("nicegui")
    from shoal.app.panels.run.run_panel import best_words

    assert best_words(Job(tmp_path, {}, {})) == ""
    found = best_words(Job(tmp_path, {}, {"best": 0.041, "bound": 0.033}))
    assert found == "Best so far: 4.10% lost. No release can lose less than 3.30%. Gap: 0.80 percentage points."
