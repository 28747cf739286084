"""How results show themselves: in JSON, as HTML in notebooks, as plots, as a line of progress. Drawn by whoever is above (`shoal.drawing`).

Nouns of every room are shown, and the audit must import none that draws: so the drawing is looked up by name, when somebody looks.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from importlib import import_module
from typing import Any

log = logging.getLogger("shoal")
"""What was done, and how long it took: counts and names of algorithms, never a value of the data."""
log.addHandler(logging.NullHandler())

_EVERY = 0.2
"""Seconds between two lines of progress."""


def fields_of(thing: object, *names: str) -> dict[str, Any]:
    """These of its fields, as JSON has them."""
    return {name: getattr(thing, name) for name in names}


class Shown:
    """A result that notebooks display."""

    def _repr_html_(self) -> str:
        html: str = import_module("shoal.drawing.notebook").html_of(self)
        return html


class Plotted(Shown):
    """A result that can be plotted as well."""

    def plot(self, ax: Any = None) -> Any:
        """A plot of it by matplotlib (`pip install 'shoal[plots]'`), into the axes that are given, or into new ones, which are returned."""
        return import_module("shoal.drawing.axes").plot_of(self, ax)


@contextmanager
def watching(progress: Callable[..., Any] | bool | None) -> Iterator[Any]:
    """Whoever is told of progress: the given function, or with True a line of its own, which goes when the work is done."""
    if progress is not True:
        yield progress or None
        return
    line = _Line()
    try:
        yield line
    finally:
        line.end()


class _Line:
    """One line that is written again and again, in a notebook or a terminal."""

    def __init__(self) -> None:
        self._since, self._said = time.monotonic(), 0.0
        self._place = _notebook_place()

    def __call__(self, doing: str, share: float, *, best: float | None = None, bound: float | None = None) -> None:
        now = time.monotonic()
        if now - self._said < _EVERY:
            return
        self._said = now
        done = f"{doing} {share:.0%}" if share else doing
        told = f"{done}, {now - self._since:.0f} s" + ("" if best is None else f", best so far {best:.2%} lost")
        self._show(told)

    def end(self) -> None:
        if self._said:
            self._show("")

    def _show(self, told: str) -> None:
        if self._place is not None:
            self._place.update({"text/html": f"<small>{escape(told)}</small>", "text/plain": told}, raw=True)
        elif sys.stderr is not None and sys.stderr.isatty():
            print(f"\r\x1b[K{told}", end="", file=sys.stderr, flush=True)


def _notebook_place() -> Any:
    """A place in the output of a notebook's cell that can be written again; None where there is no notebook."""
    interactive = sys.modules.get("IPython")
    shell = None if interactive is None else interactive.get_ipython()
    if shell is None or getattr(shell, "kernel", None) is None:
        return None
    return import_module("IPython.display").display({"text/plain": ""}, raw=True, display_id=True)
