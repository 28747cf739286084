"""The app in a process of its own, for tests: `serving(folder)`, and `until(condition)` to wait for what takes a while."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

START = "import sys; from shoal.app.server.serve import serve; serve(sys.argv[1], 0, open_browser=False)"


def until(condition: Callable[[], Any], seconds: float = 60) -> Any:
    """What a condition gives once it holds."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)
    return found


def ended(jobs: Any, project: Any, job: Any) -> Any:
    """The job, once it is neither waiting nor running, and all about it is measured."""

    def look() -> Any:
        jobs.tick()
        found = jobs.get(project, job.id)
        return found if found.status not in ("queued", "running") and not found.is_measuring else None

    return until(look, 120)


def done_here(jobs: Any, project: Any, **asked: Any) -> Any:
    """A job that is done in this process, which starts sooner than one of its own."""
    from shoal.app.jobs.tasks import work
    from shoal.processes import Teller

    job = jobs.submit(project, **asked)
    jobs._waiting.pop(job.id)
    work(str(job.folder), Teller(lambda facts: None))
    jobs._write(job.folder, {"status": "done"})
    return jobs.get(project, job.id)


def violations(page: Any) -> list[tuple[str, str]]:
    """(rule, element) of what axe-core finds to be hard to reach on a page; nothing where axe-core is not installed."""
    try:
        from axe_playwright_python.sync_playwright import Axe
    except ImportError:
        return []
    ours = {"exclude": [["#q-loading-bar"], [".q-loading-bar"]]}  # Quasar's own bar at the top of a page that loads
    found = Axe().run(page, context=ours).response["violations"]
    return [(one["id"], node["html"][:200]) for one in found for node in one["nodes"]]


@dataclass(frozen=True)
class Served:
    """A running app."""

    url: str
    """The start URL, with the token."""
    base: str
    """`http://127.0.0.1:PORT`."""
    token: str
    folder: Path
    """The workspace."""
    process: subprocess.Popen[str]

    def upload(self, page: Any, name: str, text: str | bytes) -> str:
        """Uploads a file on the first page and returns the project's id; the page is then at its first panel."""
        data = text if isinstance(text, bytes) else text.encode()
        page.goto(self.url)
        page.wait_for_selector("text=Your projects")
        page.set_input_files("input[type=file]", {"name": name, "mimeType": "text/plain", "buffer": data})
        page.wait_for_url(re.compile(r"/p/[0-9a-f]+/data$"))
        return page.url.split("/")[-2]


@contextlib.contextmanager
def serving(folder: Path, start: str = START, *arguments: str) -> Iterator[Served]:
    """The app on a free port with a workspace of its own."""
    environment = os.environ | {"SHOAL_KEY": str(folder.parent / "owner.key")}
    process = subprocess.Popen(
        [sys.executable, "-c", start, str(folder), *arguments], stderr=subprocess.PIPE, text=True, env=environment
    )
    try:
        line = process.stderr.readline()
        found = re.search(r"(http://127\.0\.0\.1:\d+)/\?token=(\S+)", line)
        assert found, line + process.stderr.read()
        yield Served(found[0], found[1], found[2], folder, process)
    finally:
        process.terminate()
        process.communicate(timeout=30)
