"""The end of the way: signing under limits that were read, and the bundle."""

from __future__ import annotations

import re
import shutil
import zipfile

import pytest

from serving import done_here
from shoal import read_plan, run, verify
from shoal.app.jobs.queue import Jobs
from shoal.app.panels.release.ending import bundle_name, certificate_of, keys_in, make_bundle, make_key, sign_release
from shoal.app.project.drafts import begin, set_role
from shoal.app.project.workspace import Workspace
from shoal.certificate.facts import limits_of
from shoal.errors import InputError

SETS = "items\n" + "".join(
    f"{'|'.join(dict.fromkeys(f'i{(i * i + 3 * j) % 7}' for j in range(1 + i % 4)))}\n" for i in range(60)
)
SECRET = "correct horse 7f3a"


def a_run(workspace: Workspace):
    """(jobs, project, run): a release that is done."""
    data = workspace.folder / "sets.csv"
    data.write_text(SETS)
    project = workspace.new_project("sets.csv")
    begin(project, data)
    set_role(project, "items", "items")
    jobs = Jobs(workspace)
    return jobs, project, done_here(jobs, project)


def test_a_release_is_signed_under_its_limits_and_packed(tmp_path, monkeypatch):
    workspace = Workspace(tmp_path / "work")
    _jobs, _project, job = a_run(workspace)
    name = job.result["release"]["output"]
    key = make_key(workspace, "Ada", SECRET, SECRET)
    assert keys_in(workspace) == {str(key): "Ada"}
    limits = limits_of(certificate_of(job))
    before = (job.folder / "out" / "certificate.json").read_bytes()
    for passphrase, ticked in (("wrong", limits), ("", limits), (SECRET, limits[1:])):
        with pytest.raises(InputError):
            sign_release(job, name, key, passphrase, ticked)
    assert (job.folder / "out" / "certificate.json").read_bytes() == before
    packed = make_bundle(job, job, name)
    sign_release(job, name, key, SECRET, limits)
    assert not packed.exists()  # what it holds is not signed
    packed = make_bundle(job, job, name)
    assert packed.name == bundle_name(name) == "sets-public-bundle.zip"
    for path in workspace.folder.rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes()
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(tmp_path / "there")
    there = tmp_path / "there"
    for form in ("json", "html", "pdf"):
        found = verify(there / "publish" / f"certificate.{form}", there / "publish" / name, key=f"{key}.pub")
        assert found.vouched
        assert list(found.certificate["acknowledged"]) == limits
    shutil.copy(workspace.folder / "sets.csv", there / "rebuild")
    shutil.rmtree(workspace.folder)
    monkeypatch.chdir(tmp_path)
    again = run(read_plan(there / "rebuild" / "plan.yaml"))
    assert again.audit.holds


def test_a_file_that_was_changed_is_neither_signed_nor_packed(tmp_path):
    workspace = Workspace(tmp_path / "work")
    _, _, job = a_run(workspace)
    name = job.result["release"]["output"]
    key = make_key(workspace, "Ada", SECRET, SECRET)
    (job.folder / "out" / name).write_text("items\ni1\n")
    with pytest.raises(InputError, match="changed after it was certified"):
        sign_release(job, name, key, SECRET, limits_of(certificate_of(job)))
    with pytest.raises(InputError, match="changed after it was certified"):
        make_bundle(job, job, name)


@pytest.mark.parametrize("asked", [("", SECRET, SECRET), ("Ada", "short", "short"), ("Ada", SECRET, SECRET[1:])])
def test_keys_need_a_name_and_a_passphrase_twice(tmp_path, asked):
    workspace = Workspace(tmp_path / "work")
    with pytest.raises(InputError):
        make_key(workspace, *asked)
    make_key(workspace, "Ada", SECRET, SECRET)
    with pytest.raises(InputError, match="never replaced"):
        make_key(workspace, "Ada", SECRET, SECRET)


def test_the_page_signs_packs_and_fits_a_telephone(served, page, tmp_path):
    from playwright.sync_api import expect

    workspace = Workspace(served.folder)
    _, project, _job = a_run(workspace)
    page.goto(served.url)
    page.get_by_text("Your projects").wait_for()
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(f"{served.base}/p/{project.id}/release")
    expect(page.get_by_text("Safe to publish")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("document.documentElement.lang") == "en-US"
    page.get_by_label("Name of the key, such as yours").fill("Ada")
    page.get_by_label("A passphrase").fill(SECRET)
    page.get_by_label("The same once more").fill(SECRET)
    page.get_by_role("button", name="Make it").click()
    sign = page.get_by_role("button", name="Sign the certificate")
    expect(sign).to_be_disabled()
    for box in page.get_by_role("list", name="Limits to acknowledge").get_by_role("checkbox").all():
        box.click()
    expect(sign).to_be_enabled()
    page.get_by_label("Its passphrase").fill(SECRET)
    sign.click()
    expect(page.get_by_text("The certificate is signed, in all its forms")).to_be_visible()
    page.get_by_role("button", name="Make the bundle").click()
    with page.expect_download() as arriving:
        page.get_by_role("link", name=re.compile("^Save .*-bundle.zip$")).click()
    arriving.value.save_as(tmp_path / "bundle.zip")
    with zipfile.ZipFile(tmp_path / "bundle.zip") as archive:
        assert {"publish/certificate.json", "publish/signed-by.pub", "rebuild/rebuild.ipynb"} <= set(archive.namelist())
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
