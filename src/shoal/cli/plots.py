"""The picture that a command draws beside its tables."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli.terminal import say
from shoal.errors import InputError

Plot = Annotated[
    str | None,
    typer.Option(
        metavar="FILE.svg",
        help="Draw it, too. The picture shows figures, not rows.",
        rich_help_panel="Output",
        show_default=False,
    ),
]


def check_plot(path: str | None) -> None:
    """Raises if the picture could not be written: said before the work."""
    if path is None:
        return
    from shoal.records.storage.publication import check_targets, display_name

    if not path.lower().endswith(".svg"):
        raise InputError(f"{display_name(path)}: pictures are SVG; give a name that ends in .svg")
    check_targets([path])


def write_plot(path: str | None, svg: str) -> None:
    if path is None:
        return
    from shoal.records.storage.publication import Publication, display_name

    with Publication([path]) as publication, publication.file(path) as file:
        file.write(svg.encode())
    say(f"drew {display_name(path)}")
