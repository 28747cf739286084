"""The panels, in the order in which one walks through them. Each is a folder with a module `NAME_panel` that ends in `PANEL`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoal.app.server.shell import View

ORDER = ("data", "risk", "hierarchies", "promise", "run", "result", "release")


@dataclass(frozen=True)
class Panel:
    """A step of the way."""

    name: str
    title: str
    lead: str
    """One sentence: what one does here, and why."""
    build: Callable[[View], Awaitable[None] | None]
    """Makes the panel's elements. It is called anew whenever the page is loaded: what is to last goes into the project."""
    blocked: Callable[[View], str | None]
    """Why one cannot be here yet, as a sentence that names the remedy; None when one can."""
    done: Callable[[View], bool] = lambda view: False
    """Whether what is to be decided here is decided."""
    stale: Callable[[View], str | None] = lambda view: None
    """Why what is here is no longer what the plan says, as a sentence that names the remedy; None where it is."""


@cache
def panels() -> tuple[Panel, ...]:
    return tuple(import_module(f"{__name__}.{name}.{name}_panel").PANEL for name in ORDER)


def panel(name: str) -> Panel | None:
    return next((found for found in panels() if found.name == name), None)


def never(view: View) -> None:
    """For a panel that one may always enter."""


def needs_data(view: View) -> str | None:
    """Every panel after the first needs data whose columns all have a role."""
    project = view.project
    if not project.draft:
        return "First choose the data."
    if project.data is None:
        return "The file of data is gone; choose it again in Data."
    without = project.open_columns
    if without:
        names = ", ".join(f"“{name}”" for name in without[:3]) + (", …" if len(without) > 3 else "")
        have = "column {} has" if len(without) == 1 else "columns {} have"
        return f"First decide in Data: {have.format(names)} no role."
    return None
