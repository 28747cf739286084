"""What is handed over at the end: the release in a chosen format with its certificates, its plan, and the same as a command and a script.

Every file that can be saved lies in the folder of a job: of the run itself, or of a `rewrite` of it, which is kept and found again by
its name. The plan is given as it must read in the workspace's own folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.app.jobs.files_of_runs import check_name
from shoal.app.jobs.queue import LIVE, Job, Jobs
from shoal.app.panels.result.results import is_of_draft
from shoal.app.panels.result.run_tables import FOLDER
from shoal.app.project.own_files import safe_name, write_own
from shoal.app.project.project import Project, plan_text, relocate
from shoal.app.project.workspace import Workspace
from shoal.errors import InputError
from shoal.plan import plan_of
from shoal.plan.scripts import command_of, script_of
from shoal.records.layout import format_of

if TYPE_CHECKING:
    from shoal.app.server.shell import View

TASK = "rewrite"
FORMATS = {
    "csv": "CSV",
    "tsv": "TSV, separated by tabs",
    "parquet": "Parquet",
    "jsonl": "JSON lines",
    "arrow": "Arrow (Feather)",
    "dat": "FIMI text, one set a line",
}
PLAN = "plan.yaml"


def out_of_date(view: View) -> str | None:
    """Why what is shown is not what the plan would give now; None where it is."""
    project, runs = view.project, [job for job in view.jobs.of(view.project, "release") if job.status == "done"]
    chosen = str(project.settings.get("shown_run") or "")
    shown = next((job for job in runs if job.id == chosen), next(iter(runs), None))
    if shown is None or is_of_draft(project, shown):
        return None
    if any(is_of_draft(project, job) for job in runs):
        return (
            "This run is of another plan than the one you have now. A run of that one is in the list: choose it there."
        )
    return (
        "The plan was changed after this run: what is here is of the plan before. Run the new one to see what it gives."
    )


def formats_of(job: Job) -> dict[str, str]:
    """Formats that a run's release can have: text without columns is for sets alone."""
    result = job.result
    has_columns = result.get("kind") not in ("km", "k") or len((result.get("checked") or {}).get("columns") or {}) > 1
    return {name: words for name, words in FORMATS.items() if name != "dat" or not has_columns}


def made_name(job: Job) -> str:
    """The name of the file that the run itself wrote."""
    return str(job.result["release"]["output"])


def stem_of(name: str) -> str:
    """The name without the endings that tell a format."""
    while True:
        stem, dot, ending = name.rpartition(".")
        if not dot or not stem or (ending not in ("gz", "zst") and format_of(f"x.{ending}")[0] is None):
            return name
        name = stem


def wanted_name(given: str, form: str) -> str:
    """The file's name for what the user typed and the format chosen. Raises `InputError` if it cannot be one."""
    if form not in FORMATS:
        raise InputError(f"{form!r} is not a format for a release; take one of {', '.join(FORMATS)}")
    if not given.strip():
        raise InputError("The release has no name; type one")
    name = f"{safe_name(stem_of(given.strip()))}.{form}"
    check_name(name)
    return name


@dataclass(frozen=True)
class Standing:
    """Where a release of a wanted name stands: the job whose folder holds it, once there is one that is done."""

    name: str
    job: Job | None
    """Done, running, waiting or failed; None when nobody has asked for it."""

    @property
    def is_there(self) -> bool:
        return self.job is not None and self.job.status == "done"

    @property
    def is_coming(self) -> bool:
        return self.job is not None and self.job.status in LIVE


def standing(jobs: Jobs, project: Project, run: Job, name: str) -> Standing:
    """Where the release of a run under a name stands."""
    if name == made_name(run):
        return Standing(name, run)
    asked = {"job": run.id, "name": name}
    return Standing(name, next((job for job in jobs.of(project, TASK) if job.about.get("options") == asked), None))


def ask_for(jobs: Jobs, project: Project, run: Job, name: str) -> Job:
    """Queues the writing of a run's release under another name, unless it is there or on its way."""
    found = standing(jobs, project, run, name)
    if found.job is not None and (found.is_there or found.is_coming):
        return found.job
    document = relocate(run.document, run.folder, project.folder)
    return jobs.submit(project, task=TASK, document=document, options={"job": run.id, "name": name})


def remove_run(jobs: Jobs, project: Project, run: Job) -> None:
    """Removes a run, and with it all that was written from it."""
    for job in jobs.of(project, TASK):
        if (job.about.get("options") or {}).get("job") == run.id:
            jobs.remove(job)
    jobs.remove(run)


@dataclass(frozen=True)
class Recipe:
    """The same without the app, for a shell in the workspace's folder."""

    plan: str
    command: str
    script: str


def recipe(workspace: Workspace, run: Job, name: str) -> Recipe:
    """How the release of a run, under a name, is made without the app."""
    document = relocate(run.document, run.folder, workspace.folder)
    document["outputs"] = _outputs(document, name)
    plan = plan_of(document)
    return Recipe(plan_text(document).decode(), command_of(plan, PLAN), script_of(plan))


def put_plan(run_or_rewrite: Job, text: str) -> None:
    """Lays the plan beside the release that it is for, so that it can be saved with it."""
    path = run_or_rewrite.folder / "out" / PLAN
    if path.parent.is_dir() and (not path.is_file() or path.read_bytes() != text.encode()):
        write_own(path, text.encode())


def _outputs(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    """What is written, under a name; what a plan that was brought says of its other files stays."""
    given = dict(document.get("outputs") or {})
    if Path(str(given.get("data") or "")).name == name and len(given) > 1:
        return given
    usual = {"data": name, "rules": f"{stem_of(name)}-rules.csv", "report": f"{stem_of(name)}-report.json"}
    return usual | ({"sign": given["sign"]} if "sign" in given else {})


def table_of(job: Job, name: str) -> Path | None:
    """A table of a run that pages leaf through."""
    path = job.folder / "out" / FOLDER / f"{name}.parquet"
    return path if path.is_file() else None
