"""Server: NiceGUI under uvicorn on loopback, behind the guard, with the queue of jobs beside it.

All assets come from the installed packages. NiceGUI's own persistence, sessions and documentation pages are off: state is in the
workspace, and there is one user. Behind the proxy of an office it waits where it is told to.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import tempfile
import webbrowser
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn

from shoal.app import STATIC
from shoal.app.jobs.queue import Jobs
from shoal.app.project.workspace import UPLOAD_LIMIT, Workspace
from shoal.app.server.demo_project import demo_project
from shoal.app.server.guard import Guard
from shoal.app.server.office import Office, listening_at, token_in
from shoal.errors import InputError, way_to
from shoal.processes import without_pandas

if TYPE_CHECKING:
    from fastapi import FastAPI

    from shoal.app.server.shell import App

HOST = "127.0.0.1"
TICK = 0.3
"""Seconds between two looks at the queue."""


def serve(
    workspace: str | os.PathLike[str],
    port: int = 0,
    *,
    demo: bool = False,
    open_browser: bool = True,
    upload_limit: int = UPLOAD_LIMIT,
    office: Office | None = None,
) -> None:
    """Serves the app until it is interrupted. Port 0 takes the last one of this workspace, so that pages that are still open find it
    again, or a free one. The start URL goes to standard error, once; a token that is kept in a file does not."""
    without_pandas()
    place = Workspace(workspace)
    place.upload_limit = upload_limit
    place.lock()
    token = None
    if office is not None:
        place.host = office.front.host
        token = None if office.token_file is None else token_in(office.token_file)
    if office is not None and office.listen is not None:
        listening = listening_at(office.listen)
    else:
        listening = _listening_again(place) if port == 0 else _listening(port)
    where = listening.getsockname()
    # What browsers send is split into temporary files before it reaches us: those, too, stay in the workspace.
    tempfile.tempdir = str(place.passing)
    os.environ["NICEGUI_STORAGE_PATH"] = str(place.own / "nicegui")
    os.umask(0o077)
    _log_to(place.own / "server.log")
    try:
        from shoal.app.server.shell import App  # NiceGUI looks at its storage path when it is imported

        app = App(place, Jobs(place))
        guard = Guard(_application(app), 0 if office else where[1], token, office.front if office else None)
        config = uvicorn.Config(
            guard,
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws_max_size=2**20,
        )
        server = uvicorn.Server(config)
        if demo:
            guard.start = f"/p/{demo_project(place).id}/data"
        # Uvicorn takes the signal, ends its connections and raises it again: then our jobs are ended, too.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(_run(server, listening, app.jobs, partial(_tell, guard, where, office, open_browser)))
    finally:
        listening.close()
        if isinstance(where, str):
            Path(where).unlink(missing_ok=True)
        place.unlock()


async def _tell(guard: Guard, where: Any, office: Office | None, open_browser: bool) -> None:
    """Says where the app is, and opens it."""
    if office is None:
        print(f"shoal: open {guard.url()}", file=sys.stderr, flush=True)
        print("shoal: only this machine can reach it; end it with Ctrl+C", file=sys.stderr, flush=True)
        if open_browser:
            await asyncio.to_thread(webbrowser.open, guard.url_once())
        return
    kept = office.token_file is not None
    start = f"{office.front.url} and give it the token in {office.token_file}" if kept else guard.url()
    place = f"unix:{where}" if isinstance(where, str) else f"{where[0]}:{where[1]}"
    print(f"shoal: open {start}", file=sys.stderr, flush=True)
    print(f"shoal: its proxy can reach it at {place}; end it with Ctrl+C", file=sys.stderr, flush=True)


async def _run(
    server: uvicorn.Server, listening: socket.socket, jobs: Jobs, tell: Callable[[], Coroutine[Any, Any, None]]
) -> None:
    async def look_after_jobs() -> None:
        while not server.started and not server.should_exit:
            await asyncio.sleep(0.05)
        if server.started:
            await tell()
        while True:
            jobs.tick()
            await asyncio.sleep(TICK)

    looking = asyncio.create_task(look_after_jobs())
    try:
        with contextlib.suppress(KeyboardInterrupt):
            await server.serve(sockets=[listening])
    finally:
        looking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await looking
        jobs.close()


def _log_to(path: Path) -> None:
    """What goes wrong in the server goes to a file of the owner's: the terminal is for the address, pages are for sentences."""
    file = logging.FileHandler(path, mode="w", encoding="utf-8")
    path.chmod(0o600)
    file.setFormatter(_WithoutValues("%(asctime)s %(name)s %(levelname)s %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[file], force=True)


class _WithoutValues(logging.Formatter):
    """Tells where something went wrong, not what it said: that may quote the data."""

    def formatException(self, ei: Any) -> str:  # noqa: N802 - the library's name
        return way_to(ei[1]) if ei[1] is not None else ""


def _listening_again(place: Workspace) -> socket.socket:
    """Where the app of this workspace listened last, if that is still free; else anywhere."""
    last = place.settings.get("port")
    try:
        found = _listening(last if isinstance(last, int) and 1024 <= last <= 65535 else 0)
    except InputError:
        found = _listening(0)
    place.set(port=found.getsockname()[1])
    return found


def _listening(port: int) -> socket.socket:
    if not 0 <= port <= 65535:
        raise InputError(f"port {port} does not exist; give one from 1024 to 65535, or leave it out")
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((HOST, port))
        found.listen(128)
    except OSError as error:
        found.close()
        raise InputError(f"port {port} cannot be used ({error.strerror}); give another, or leave it out") from None
    return found


def _application(app: App) -> FastAPI:
    from fastapi import FastAPI
    from nicegui import ui

    outer = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.add_routes(outer)
    ui.run_with(
        outer,
        title="Shoal",
        favicon=str(STATIC / "favicon.svg"),
        dark=None,
        language="en-US",
        tailwind=False,
        reconnect_timeout=20,
        show_welcome_message=False,
        storage_secret=None,
    )
    return outer
