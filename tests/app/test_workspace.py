from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.app.project.drafts import set_numeric, set_role
from shoal.app.project.own_files import LONGEST_NAME, free_name, safe_name
from shoal.app.project.project import paths_of, relocate
from shoal.app.project.workspace import Workspace
from shoal.errors import InputError


def rights(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def workspace(tmp_path):
    found = Workspace(tmp_path / "work")
    yield found
    found.unlock()


def uploaded(workspace, name, data=b"a,b\n1,2\n"):
    async def chunks():
        yield data

    return asyncio.run(workspace.keep_upload(name, chunks()))


def test_only_the_owner_may_enter(workspace):
    project = workspace.new_project("data.csv")
    project.change({"version": 1})
    project.set(seen=True)
    kept = uploaded(workspace, "data.csv")
    workspace.set(theme="dark")
    for folder in (workspace.folder, workspace.own, workspace.uploads, project.folder, project.folder / "jobs"):
        assert rights(folder) == 0o700
    for file in (kept, project.folder / "plan.yaml", project.folder / "settings.json", workspace.own / "settings.json"):
        assert rights(file) == 0o600


def test_a_folder_that_was_there_keeps_its_rights(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    workspace = Workspace(folder)
    assert rights(folder) == 0o755
    assert rights(workspace.own) == 0o700


@given(st.text(max_size=300))
def test_names_are_names(given_name):
    name = safe_name(given_name)
    assert name
    assert name == os.path.basename(name)
    assert name not in (".", "..")
    assert not name.startswith((".", "-"))
    assert not set(name) & set('/\\:*?"<>|\x00\n')
    assert len(name.encode()) <= LONGEST_NAME + 4
    assert safe_name(name) == name


@pytest.mark.parametrize(
    ("given_name", "name"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\me\\data.csv", "data.csv"),
        ("患者.csv", "患者.csv"),
        ("Zoë's data (1).csv", "Zoë's data (1).csv"),
        ("", "data"),
        ("..", "data"),
        (".bashrc", "bashrc"),
        ("con.csv", "con-.csv"),
        ("a\u202egpj.csv", "agpj.csv"),
    ],
)
def test_names_of_uploads(given_name, name):
    assert safe_name(given_name) == name


def test_names_that_are_taken_get_a_number(tmp_path):
    for expected in ("data.csv.gz", "data-2.csv.gz", "data-3.csv.gz"):
        path = free_name(tmp_path, "data.csv.gz")
        assert path.name == expected
        path.touch()


def test_files_of_the_workspace_can_be_named(workspace):
    (workspace.folder / "sub").mkdir()
    inside = workspace.folder / "sub" / "data.csv"
    inside.write_text("a\n1\n")
    (workspace.folder / "same.csv").symlink_to(inside)
    assert workspace.file_called("sub/data.csv") == inside
    assert workspace.file_called("same.csv") == inside
    assert workspace.file_called(str(inside)) == inside


@pytest.mark.parametrize("how", ["absolute", "above", "link", "linked folder", "missing outside", "through a link"])
def test_nothing_outside_can_be_named(workspace, tmp_path, how):
    outside = tmp_path / "secret.csv"
    outside.write_text("a\n1\n")
    (workspace.folder / "link.csv").symlink_to(outside)
    (workspace.folder / "folder").symlink_to(tmp_path)
    given_name = {
        "absolute": str(outside),
        "above": "../secret.csv",
        "link": "link.csv",
        "linked folder": "folder/secret.csv",
        "missing outside": "../nothing.csv",
        "through a link": "folder/work/../secret.csv",
    }[how]
    with pytest.raises(InputError, match="outside the workspace"):
        workspace.file_called(given_name)
    assert not [file for file in workspace.files() if "secret" in file.path.resolve().name]


@pytest.mark.parametrize("given_name", ["", "nothing.csv", "a\x00b", ".", "pipe", ".shoal/projects", "x" * 5000])
def test_what_is_no_file_of_data_is_refused(workspace, given_name):
    os.mkfifo(workspace.folder / "pipe")
    with pytest.raises(InputError):
        workspace.file_called(given_name)


def test_files_of_the_app_are_no_data(workspace):
    project = workspace.new_project("x")
    with pytest.raises(InputError, match="belongs to the app"):
        workspace.file_called(f".shoal/projects/{project.id}/settings.json")
    kept = uploaded(workspace, "x.csv")
    assert workspace.file_called(".shoal/uploads/x.csv") == kept


@pytest.mark.parametrize(
    "document",
    [
        {"input": {"path": "/etc/passwd"}},
        {"input": {"path": "-"}},
        {"input": {"path": "postgresql://host/db?table=t"}},
        {"input": {"path": "../../../data.csv"}, "hierarchies": {"age": "/etc/passwd"}},
        {"input": {"path": "../../../data.csv"}, "hierarchies": "/etc/passwd"},
        {"input": {"path": "../../../data.csv"}, "sensitive_file": "/etc/passwd"},
        {"input": {"path": "../../../data.csv"}, "options": {"knowledge": "/etc/passwd"}},
        {"input": {"path": "../../../data.csv"}, "outputs": {"data": "x.csv", "sign": "/etc/passwd"}},
        {"input": {"path": "../../../data.csv"}, "outputs": {"data": "/tmp/x.csv"}},
    ],
)
def test_plans_that_leave_the_workspace_are_refused(workspace, document):
    (workspace.folder / "data.csv").write_text("a\n1\n")
    project = workspace.new_project("x")
    with pytest.raises(InputError):
        workspace.check(document, project.folder)


def test_broken_uploads_leave_nothing(workspace):
    async def chunks():
        yield b"a,b\n"
        raise ConnectionError

    with pytest.raises(ConnectionError):
        asyncio.run(workspace.keep_upload("data.csv", chunks()))
    assert not list(workspace.uploads.iterdir())
    assert not list(workspace.passing.iterdir())


def test_uploads_are_wiped_and_files_in_place_stay(workspace):
    (workspace.folder / "mine.csv").write_text("a\n1\n")
    uploaded(workspace, "x.csv")
    uploaded(workspace, "x.csv")
    assert [file.name for file in workspace.files()] == ["x-2.csv", "x.csv", "mine.csv"]
    for file in workspace.idle_uploads():
        file.path.unlink()
    assert [file.name for file in workspace.files()] == ["mine.csv"]
    workspace.new_project("x")
    workspace.wipe()
    assert workspace.projects() == []
    assert (workspace.folder / "mine.csv").exists()


def test_one_app_at_a_time(workspace):
    workspace.lock()
    with pytest.raises(InputError, match="open in another"):
        Workspace(workspace.folder).lock()
    workspace.unlock()
    other = Workspace(workspace.folder)
    other.lock()
    other.unlock()


def test_ids_are_no_paths(workspace):
    project = workspace.new_project("x")
    assert workspace.project(project.id) is not None
    for id in ("..", "../projects", "", "0" * 12, project.id.upper() + "/"):
        assert workspace.project(id) is None


def test_changes_are_undone_and_redone(workspace):
    project = workspace.new_project("x")
    assert not project.undo()
    project.change({"version": 1})
    project.change(lambda document: document.update(columns={"age": None}))
    project.change(lambda document: document["columns"].update(age="quasi"))
    assert project.undo()
    assert project.draft["columns"] == {"age": None}
    assert project.redo()
    assert project.draft["columns"] == {"age": "quasi"}
    project.undo()
    project.change({"keep_order": True})
    assert not project.can_redo
    assert type(project)(project.folder).draft == {"version": 1, "columns": {"age": None}, "keep_order": True}


@given(st.dictionaries(st.text(min_size=1, max_size=8), st.sampled_from(["quasi", "drop", None]), max_size=4))
def test_drafts_come_back_as_they_were(columns):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        project = Workspace(Path(folder, "w")).new_project("x")
        shared = ["a"]
        document = {"version": 1, "columns": columns, "sensitive_items": shared, "other": shared}
        project.change(document)
        assert project.draft == document
        assert b"&id" not in (project.folder / "plan.yaml").read_bytes()


def test_numbers_follow_the_roles(workspace):
    project = workspace.new_project("x")
    project.change(
        {"version": 1, "input": {"path": "p.csv"}, "columns": {"age": "quasi", "zip": "quasi", "codes": "items"}}
    )
    set_numeric(project, False)
    assert project.draft["input"]["numeric"] == "none"
    set_role(project, "zip", "drop")
    assert project.draft["input"]["numeric"] == "none"
    set_role(project, "age", "drop")  # sets alone have no columns of numbers
    assert "numeric" not in project.draft["input"]
    project.undo()
    project.change(lambda document: document["input"].update(numeric=["age", "zip"]))
    set_role(project, "zip", "keep")
    assert project.draft["input"]["numeric"] == ["age", "zip"]
    set_role(project, "zip", "drop")
    assert project.draft["input"]["numeric"] == ["age"]
    set_numeric(project, True)
    assert "numeric" not in project.draft["input"]


def test_incomplete_drafts_say_what_is_missing(workspace):
    project = workspace.new_project("x")
    assert "No data" in project.problem()
    (workspace.folder / "data.csv").write_text("age,name\n1,x\n")
    project.change(
        {
            "version": 1,
            "input": {"path": "../../../data.csv"},
            "columns": {"age": "quasi", "name": None},
            "guarantee": {"model": "k", "k": 2},
        }
    )
    assert project.open_columns == ["name"]
    assert project.problem().startswith("Column “name”: it has no role")
    project.change(lambda document: document["columns"].update(name="drop"))
    assert project.problem() is None
    assert project.data == workspace.folder / "data.csv"


def test_plans_move_with_their_paths(tmp_path):
    document = {
        "input": {"path": "../data.csv"},
        "hierarchies": {"age": "intervals:5", "zip": "zip.csv"},
        "outputs": {"data": "out.csv", "sign": "/keys/mine"},
    }
    there = relocate(document, tmp_path / "a", tmp_path / "a" / "jobs" / "1")
    assert dict(paths_of(there)) == {
        "input.path": "../../../data.csv",
        "hierarchies.zip": "../../zip.csv",
        "outputs.data": "../../out.csv",
        "outputs.sign": os.path.relpath("/keys/mine", tmp_path / "a" / "jobs" / "1"),
    }
    assert there["hierarchies"]["age"] == "intervals:5"
    assert document["input"]["path"] == "../data.csv"
