"""What a page says of its own standing: what is out of date, what a job waits for, what to do when the app is gone."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from serving import done_here, serving
from shoal.app.jobs.queue import Jobs
from shoal.app.panels.release.handover import out_of_date
from shoal.app.project.drafts import project_of
from shoal.app.project.wording import in_app
from shoal.app.project.workspace import Workspace
from shoal.errors import InputError

SETS = "items\n" + "".join(f"i{i % 3}|i{i % 5}\n" for i in range(60))


@pytest.fixture
def workspace(tmp_path):
    found = Workspace(tmp_path / "work")
    (found.folder / "sets.csv").write_text(SETS)
    (found.folder / "other.csv").write_text(SETS)
    return found


def strengthen(project):
    project.change(lambda document: document["guarantee"].update(k=document["guarantee"]["k"] + 1))


def test_a_changed_plan_marks_what_is_out_of_date(workspace):
    project, jobs = project_of(workspace, workspace.folder / "sets.csv"), Jobs(workspace)
    view = SimpleNamespace(project=project, jobs=jobs)
    assert out_of_date(view) is None  # there is nothing yet
    first = done_here(jobs, project)
    assert out_of_date(view) is None
    strengthen(project)
    assert "The plan was changed after this run" in out_of_date(view)
    project.undo()
    assert out_of_date(view) is None
    strengthen(project)
    done_here(jobs, project)
    assert out_of_date(view) is None
    project.set(shown_run=first.id)
    assert "choose it there" in out_of_date(view)


def test_a_job_names_what_it_waits_for(workspace):
    jobs = Jobs(workspace)
    one, other = (project_of(workspace, workspace.folder / name) for name in ("sets.csv", "other.csv"))
    running = jobs.submit(one, task="risk")
    jobs._running[running.id] = jobs._waiting.pop(running.id), SimpleNamespace(news=list)
    second, third = jobs.submit(one), jobs.submit(other)
    assert (
        jobs.waiting_words(second) == "It waits for the count of who is rare of this project; one job runs at a time."
    )
    assert (
        jobs.waiting_words(third)
        == "It waits for the count of who is rare of “sets.csv” and one more job; one job runs at a time."
    )
    jobs._running.clear()
    assert jobs.waiting_words(second) == "It is next, and starts at once."


def test_uploads_have_a_limit_with_a_way_round(workspace):
    async def chunks():
        for _ in range(3):
            yield b"x" * 1000

    workspace.upload_limit = 2500
    with pytest.raises(InputError, match="read where it lies"):
        asyncio.run(workspace.keep_upload("large.csv", chunks()))
    assert not [*workspace.uploads.iterdir(), *workspace.passing.iterdir()]
    workspace.upload_limit = 3000
    assert asyncio.run(workspace.keep_upload("large.csv", chunks())).stat().st_size == 3000


def test_roles_are_spoken_of_as_pages_name_them():
    assert in_app("quasi", "race,gender, age") == "the role “Others may know it” for race, gender, age"


def test_a_page_finds_the_app_again_after_a_restart(tmp_path, browser):
    from playwright.sync_api import expect

    expect.set_options(timeout=20_000)
    page = browser.new_context().new_page()  # its console tells of an app that is gone, as it should

    start = "import sys; from shoal.app.server.serve import serve; serve(sys.argv[1], 0, open_browser=False, upload_limit=1000)"
    with serving(tmp_path / "work", start) as first:
        project = first.upload(page, "sets.csv", SETS)
        page.goto(first.base)
        page.wait_for_selector("text=Your projects")
        page.set_input_files("input[type=file]", {"name": "l.csv", "mimeType": "text/csv", "buffer": b"x" * 1001})
        expect(page.get_by_text("This file is larger than")).to_be_visible()
        page.goto(f"{first.base}/p/{project}/data")
        expect(page.get_by_text("1 to 25 of 60 rows")).to_be_visible()
    expect(page.locator(".sh-gone")).to_contain_text("start it again with shoal app")
    with serving(tmp_path / "work", start) as again:
        assert again.base == first.base
        expect(page.locator(".sh-gone")).to_contain_text("Open its address with the token once more")
        other = page.context.new_page()
        other.goto(again.url)
        other.wait_for_selector("text=Your projects")
        expect(page.locator(".sh-gone")).to_have_count(0)
        expect(page.get_by_text("1 to 25 of 60 rows")).to_be_visible()
    page.context.close()
