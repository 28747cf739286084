"""`shoal app`: the same in a browser."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Annotated, Any

import typer

from shoal.cli.options import flag, takes
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
        typer.Option(
            metavar="DIR",
            help="The folder for uploads, plans and releases. Data files in it are used without a copy; nothing outside of "
            "it is read.",
        ),
    ] = WORKSPACE,
    upload_limit: Annotated[
        str, typer.Option(metavar="SIZE", help="The largest file that a browser may bring, such as 500MB.")
    ] = "4GB",
    **given: Any,
) -> None:
    """Walk through a release in a browser: data, risk, hierarchies, promise, run, result, certificate.

    It runs on this machine alone, behind a token in its address, and asks nothing of the network. Each step ends in a plan, and the last
    page shows the command and the script that make the same release.

    [bold]shoal app --demo[/bold]

    [bold]shoal app --workspace .[/bold] uses files of the current folder without copying them.
    """
    if find_spec("nicegui") is None:
        raise InputError("the app needs NiceGUI; pip install 'shoal[app]'")
    from shoal.app.server.serve import serve
    from shoal.limits import size_in_bytes

    limit = size_in_bytes(upload_limit, "upload limit")
    serve(workspace, port, demo=demo, open_browser=not no_browser, upload_limit=limit)
