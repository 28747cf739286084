"""What is left when somebody says that it should go: a folder is searched for values that stood in the data alone."""

from __future__ import annotations

import asyncio
import json
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from serving import done_here
from shoal import verify
from shoal.app.jobs.queue import Jobs
from shoal.app.panels.hierarchies import column_tree, tree_values
from shoal.app.panels.hierarchies.column_tree import ColumnTree
from shoal.app.panels.promise import estimates
from shoal.app.project.drafts import begin
from shoal.app.project.workspace import RELEASES, Workspace
from shoal.app.server.home import removal_words, remove_project

CANARY = "canary7f3a"
ROWS = 60
PEOPLE = "age,town,codes\n" + "".join(
    f"{30 + i % 4},{CANARY if i == 7 else 'ab'[i % 2]},{'x|y' if i % 2 else f'x|{CANARY}' if i == 8 else 'x'}\n"
    for i in range(ROWS)
)


@pytest.fixture
def jobs(tmp_path):
    return Jobs(Workspace(tmp_path / "work"))


def bring(workspace: Workspace, name: str, text: str = PEOPLE):
    async def chunks():
        yield text.encode()

    path = asyncio.run(workspace.keep_upload(name, chunks()))
    project = workspace.new_project(name)
    begin(project, path)
    return project


def use(jobs: Jobs, project) -> None:
    """Leaves in a project all that a user would: values, an edited tree, an estimate, a risk, a release in two formats."""
    tree_values.keep_values(project)
    values = tree_values.kept_values(project, jobs)
    need = next(need for need in tree_values.needs(project) if need.column == "codes")
    tree = ColumnTree(project, need, values["codes"])
    tree.take("balanced:2", "took one")
    tree.edit(tree.load(jobs.workspace, jobs), lambda tree: tree, f"hung {CANARY} somewhere")
    estimates.keep(project, "0" * 32, "base", {"rare": CANARY})
    done_here(jobs, project, task="risk", options={"k": 5, "key": "risk"})
    run = done_here(jobs, project)
    done_here(jobs, project, task="rewrite", options={"job": run.id, "name": "people-public.jsonl"})


def holding(folder: Path) -> list[str]:
    """The files in which the canary stands, packed or not."""
    found = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        data = path.read_bytes()
        if path.suffix == ".parquet":
            data += json.dumps(pq.read_table(path).to_pydict(), default=str).encode()
        elif path.suffix == ".zst":
            data += pa.decompress(data, codec="zstd", asbytes=True, decompressed_size=10**7)
        elif path.suffix == ".pdf":
            data += b"".join(map(_inflated, data.split(b"stream\n")[1:]))
        if CANARY.encode() in data:
            found.append(str(path.relative_to(folder)))
    return found


def _inflated(data: bytes) -> bytes:
    try:
        return zlib.decompressobj().decompress(data)
    except zlib.error:
        return b""


def test_nothing_of_a_project_is_left_but_what_was_released(jobs):
    workspace = jobs.workspace
    project, other = bring(workspace, "people.csv"), bring(workspace, "other.csv", PEOPLE.replace(CANARY, "z"))
    use(jobs, project)
    before = holding(workspace.folder)
    for part in (
        "uploads/people.csv",
        "trees/values-",
        "trees/codes-",
        "estimates/",
        "tables/",
        "rules.csv",
        "result.json",
    ):
        assert any(part in name for name in before), part
    words = " ".join(removal_words(workspace.belongings(project)))
    assert "people.csv" in words
    assert "other.csv" not in words
    remove_project(workspace, jobs, project, releases=False)
    assert holding(workspace.folder) == []
    assert tree_values.HELD == {} == column_tree._LOADED
    assert [found.id for found in workspace.projects()] == [other.id]
    assert other.data is not None
    kept = sorted(workspace.folder.glob(f"{RELEASES}/people/*/*"))
    names = {path.name for path in kept}
    assert {"people-public.csv", "people-public.jsonl", "certificate.json", "certificate.html"} <= names
    for path in kept:
        if path.suffix in (".csv", ".jsonl"):
            assert verify(path.parent / "certificate.json", path).holds


def test_releases_go_where_the_user_says_so(jobs):
    workspace = jobs.workspace
    project = bring(workspace, "people.csv")
    use(jobs, project)
    remove_project(workspace, jobs, project)
    left = {path.name for path in workspace.folder.rglob("*") if path.is_file()}
    assert left <= {".gitignore", "lock", "settings.json"}
    workspace.wipe()


def test_what_another_project_reads_stays(jobs):
    workspace = jobs.workspace
    project = bring(workspace, "people.csv")
    other = workspace.new_project("the same")
    begin(other, workspace.uploads / "people.csv")
    assert workspace.belongings(project).shared == {"people.csv": ("the same",)}
    remove_project(workspace, jobs, project)
    assert other.data is not None
    remove_project(workspace, jobs, other)
    assert list(workspace.uploads.iterdir()) == []


def test_copies_and_files_that_were_not_taken_go_with_their_project(jobs):
    workspace = jobs.workspace
    project = bring(workspace, "odd.csv")
    begin(project, bring(workspace, "odd-read.csv").data)  # another file in its place
    left = [found for found in workspace.projects() if found.id != project.id]
    for found in left:
        workspace.remove_project(found, uploads=False)

    async def chunks():
        yield b"a"

    asyncio.run(workspace.keep_upload("idle.csv", chunks()))
    assert [file.name for file in workspace.idle_uploads()] == ["idle.csv"]
    remove_project(workspace, jobs, project)
    assert [path.name for path in workspace.uploads.iterdir()] == ["idle.csv"]
