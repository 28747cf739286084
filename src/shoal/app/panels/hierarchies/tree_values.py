"""What the trees of a project are about: the columns that are generalized, their values, and how often each occurs.

Values are read once, small files at once and large ones by a job (task `trees`), and kept in the project's folder under a key of
the file (its path, size and time) and of how it is read. Missing values are left out: they hang under the root of any tree.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shoal.app.jobs.queue import LIVE, Job, Jobs
from shoal.app.project.own_files import own_folder, read_json, write_own
from shoal.app.project.project import Project, relocate
from shoal.hierarchy.spec import Values
from shoal.plan import Plan, plan_of
from shoal.release import read_for

if TYPE_CHECKING:
    from shoal.records.baskets import Baskets

AT_ONCE = 4_000_000
"""Bytes of data up to which values are read in the server, in a thread; more is work for a job."""
HELD: dict[str, dict[str, Values]] = {}
"""The values that were last asked for."""
FOLDER = "trees"
TASK, VALUES, TREE = "trees", "values.json", "tree.csv"
_READ = ("version", "input", "columns", "sensitive_items", "sensitive_file", "guarantee")


@dataclass(frozen=True)
class Need:
    """A column that the promise generalizes, or the items."""

    column: str
    is_items: bool
    model: str
    """km, rt, lm, table or diversity."""

    @property
    def must_have(self) -> bool:
        """Whether there is no release without a tree."""
        return self.model == "km"


def needs(project: Project) -> list[Need]:
    """The columns whose values a release would generalize, by the promise as it stands; the items first."""
    document = project.draft
    model = str(document.get("guarantee", {}).get("model", "k"))
    quasi, items = project.of_role("quasi"), project.of_role("items")
    if model == "km":
        return [Need("+".join(items) or "items", True, model)]
    if model == "k" and not quasi:
        return []
    kind = "table" if model == "k" else model
    sets = [Need("+".join(items), True, kind)] if items and kind in ("rt", "lm") else []
    return [*sets, *(Need(name, False, kind) for name in quasi)]


def reading_document(project: Project) -> dict[str, Any]:
    """The draft without what is decided about trees and algorithms: a plan that can be read whatever stands there."""
    return {key: value for key, value in project.draft.items() if key in _READ}


def values_key(project: Project, *, promise: bool = False) -> str:
    """What the values depend on; with `promise`, what a learned tree depends on."""
    data = project.data
    document = reading_document(project)
    about: list[Any] = [document if promise else document | {"guarantee": document.get("guarantee", {}).get("model")}]
    if data is not None:
        now = data.stat()
        about += [str(data), now.st_size, now.st_mtime_ns]
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:24]


def trees_folder(project: Project) -> Path:
    """Where a project keeps values and the trees that were edited."""
    return own_folder(project.folder / FOLDER)


def read_values(plan: Plan) -> tuple[dict[str, Values], Baskets | None]:
    """The values of all columns that are generalized, as a release reads them, and the sets."""
    source, _ = read_for(plan)
    items = "+".join(plan.of_role("items")) or "items"
    values = {column.name: Values.of_column(column) for column in source.records.of_role("quasi")}
    if source.records.items is None:
        return values, None
    sets = source.records.items.split_off(source.records.sensitive_items)[0]
    return {items: Values.of_items(sets)} | values, sets


def values_text(values: Mapping[str, Values]) -> bytes:
    """Values as a file."""
    document = {
        name: {"names": v.names, "counts": v.counts.tolist(), "numeric": v.numeric} for name, v in values.items()
    }
    return json.dumps(document, ensure_ascii=False).encode("utf-8", "backslashreplace")


def kept_values(project: Project, jobs: Jobs) -> dict[str, Values] | None:
    """The values, if they have been read, here or by a job that is done."""
    key = values_key(project)
    if key in HELD:
        return HELD[key]
    path = trees_folder(project) / f"values-{key}.json"
    if not path.is_file():
        job = latest_job(project, jobs)
        made = job.output(VALUES) if job is not None and job.status == "done" else None
        if made is None:
            return None
        write_own(path, made.read_bytes())
    document = read_json(path)
    while len(HELD) >= 2:
        HELD.pop(next(iter(HELD)), None)
    HELD[key] = {
        name: Values(tuple(kept["names"]), np.array(kept["counts"], np.int64), bool(kept["numeric"]))
        for name, kept in document.items()
    }
    return HELD[key]


def is_small(project: Project) -> bool:
    """Whether the data can be read while a page waits."""
    data = project.data
    return data is not None and data.stat().st_size <= AT_ONCE


def keep_values(project: Project) -> None:
    """Reads the values and keeps them."""
    key = values_key(project)
    values, _ = read_values(plan_of(relocate(reading_document(project), project.folder, Path())))
    folder = trees_folder(project)
    for old in folder.glob("values-*.json"):
        old.unlink(missing_ok=True)
    write_own(folder / f"values-{key}.json", values_text(values))


def latest_job(project: Project, jobs: Jobs, learn: int | None = None) -> Job | None:
    """The newest job that reads these values, or learns this tree."""
    key = values_key(project, promise=learn is not None)
    for job in jobs.of(project, TASK):
        options = job.about.get("options", {})
        if options.get("key") == key and options.get("learn") == learn:
            return job
    return None


def submit(project: Project, jobs: Jobs, learn: int | None = None) -> Job:
    """Queues the reading of the values, or the learning of a tree with at most `learn` children a node, unless it is queued already."""
    job = latest_job(project, jobs, learn)
    if job is not None and job.status in LIVE:
        return job
    options = {"key": values_key(project, promise=learn is not None), "learn": learn}
    return jobs.submit(project, task=TASK, document=reading_document(project), options=options)
