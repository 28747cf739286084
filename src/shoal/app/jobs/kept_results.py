"""Kept: results of workers found again by what they are about, so that a reload costs nothing.

The key of a result (`shoal.app.project.contents`) travels among the options of its job. Whoever asks for another result of the same
task ends the search for the one before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.app.jobs.queue import ENDED, LIVE, Job, Jobs
from shoal.app.project.project import Project

KEPT = 16
"""Ended jobs of a task that stay; older ones make room."""


def job_of(jobs: Jobs, project: Project, task: str, key: str) -> Job | None:
    """The newest job of a task with a key that has ended, or is on its way; what was cancelled was never asked for."""
    for job in jobs.of(project, task):
        if job.about.get("options", {}).get("key") == key and job.status != "cancelled":
            return job
    return None


def ask(
    jobs: Jobs, project: Project, task: str, key: str, document: Mapping[str, Any], options: Mapping[str, Any]
) -> Job:
    """The job of a key: the one that is kept, or a new one. Others of the task that wait or run are ended."""
    found = job_of(jobs, project, task, key)
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
