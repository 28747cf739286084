"""Kept: results of workers found again by what they are about, so that a reload costs nothing.

A key is a hash of the bytes of all files that a document reads and of everything else that matters; it travels among the options of a job.
Whoever asks for another result of the same task ends the search for the one before.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from shoal.app.files import read_json, write_json
from shoal.app.jobs import ENDED, LIVE, Job, Jobs
from shoal.app.project import Project, paths_of

KEPT = 16
"""Ended jobs of a task that stay; older ones make room."""


def key_of(project: Project, document: Mapping[str, Any], **besides: Any) -> str:
    """What a result on a document depends on: the document without its outputs, the bytes it reads, and what is named besides."""
    asked = {name: part for name, part in document.items() if name != "outputs"}
    files = {key: _hash(project, project.folder / path) for key, path in paths_of(asked)}
    return sha256(json.dumps([asked, files, besides], sort_keys=True).encode()).hexdigest()[:32]


def kept(jobs: Jobs, project: Project, task: str, key: str) -> Job | None:
    """The newest job of a task with a key that has ended, or is on its way; what was cancelled was never asked for."""
    for job in jobs.of(project, task):
        if job.about.get("options", {}).get("key") == key and job.status != "cancelled":
            return job
    return None


def ask(
    jobs: Jobs, project: Project, task: str, key: str, document: Mapping[str, Any], options: Mapping[str, Any]
) -> Job:
    """The job of a key: the one that is kept, or a new one. Others of the task that wait or run are ended."""
    found = kept(jobs, project, task, key)
    if found is not None:
        return found
    forget_live(jobs, project, task)
    for old in [job for job in jobs.of(project, task) if job.status in ENDED][KEPT - 1 :]:
        jobs.remove(old)
    return jobs.submit(project, task=task, document=document, options={**options, "key": key})


def forget_live(jobs: Jobs, project: Project, task: str) -> None:
    """Ends and removes what waits or runs of a task."""
    for job in jobs.of(project, task):
        if job.status in LIVE:
            jobs.remove(job)


def forget(jobs: Jobs, project: Project, task: str, key: str) -> None:
    """Removes what is kept under a key, to try once more."""
    for job in jobs.of(project, task):
        if job.about.get("options", {}).get("key") == key:
            jobs.remove(job)


def _hash(project: Project, path: Path) -> str | None:
    """The hash of a file's bytes. It is remembered for as long as size, time and place of the file stay the same."""
    from shoal.records.streams import fingerprint

    try:
        found = path.resolve(strict=True)
        status = found.stat()
    except (OSError, RuntimeError):
        return None
    mark = [os.fspath(found), status.st_size, status.st_mtime_ns, status.st_ino]
    known = read_json(project.folder / "hashes.json")
    name = sha256(os.fsencode(found)).hexdigest()[:16]
    if known.get(name, {}).get("mark") != mark:
        known[name] = {"mark": mark, "sha256": fingerprint(found)}
        write_json(project.folder / "hashes.json", known)
    return str(known[name]["sha256"])
