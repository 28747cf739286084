"""`shoal app`: the same in a browser."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.options import flag, takes, value
from shoal.errors import InputError

WORKSPACE = "shoal-workspace"


@takes()
def app(
    demo: Annotated[bool, flag("--demo", "Begin with a made-up grocery store.")] = False,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Where it listens, on this machine alone.", show_default="a free one")
    ] = 0,
    no_browser: Annotated[bool, flag("--no-browser", "Do not open a browser; print the address.")] = False,
    workspace: Annotated[
        str,
        value(
            "DIR",
            "The folder for uploads, plans and releases. Data files in it are used without a copy; nothing outside of "
            "it is read.",
        ),
    ] = WORKSPACE,
    behind: Annotated[
        str | None,
        value(
            "URL",
            "The public address of this app, such as https://shoal.example/anna, where a reverse proxy ends TLS and passes "
            "requests on as they came. One app serves one person.",
        ),
    ] = None,
    listen: Annotated[
        str | None,
        value(
            "ADDRESS:PORT|unix:FILE", "With --behind: where it waits for the proxy, if not at a port of this machine."
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        value(
            "FILE",
            "With --behind: the file that keeps the token, for its owner alone; made where there is none. Without it, the token is "
            "new at every start, and printed.",
        ),
    ] = None,
    upload_limit: Annotated[str, value("SIZE", "The largest file that a browser may bring, such as 500MB.")] = "4GB",
    **given: Any,
) -> None:
    """Walk through a release in a browser: data, risk, hierarchies, promise, run, result, certificate.

    It runs on this machine alone, behind a token in its address, and asks nothing of the network; a small office can put it behind its
    reverse proxy. Each step ends in a plan, and the last
    page shows the command and the script that make the same release.

    [bold]shoal app --demo[/bold]

    [bold]shoal app --workspace .[/bold] uses files of the current folder without copying them.
    """
    if find_spec("nicegui") is None:
        raise InputError("the app needs NiceGUI; pip install 'shoal[app]'")
    if behind is None and (listen or token_file):
        raise InputError(
            "--listen and --token-file are for an app behind a proxy; say with --behind which address that has"
        )
    if port and listen:
        raise InputError("--port and --listen both say where it listens; leave one of them out")
    from shoal.app.server.office import Front, Office
    from shoal.app.server.serve import serve
    from shoal.limits import size_in_bytes

    limit = size_in_bytes(upload_limit, "upload limit")
    office = None if behind is None else Office(Front.of(behind), listen, token_file)
    serve(workspace, port, demo=demo, open_browser=not no_browser, upload_limit=limit, office=office)
