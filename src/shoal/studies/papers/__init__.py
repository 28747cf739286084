"""Reproducing: the experiments of the four papers, with what each states beside what comes out here.

There is one module a paper, by the name that the command knows it by, with TITLE, MEASURES and figures(mode).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from shoal.errors import InputError

PAPERS = ("km", "pta", "injector", "rt")


def paper(name: str) -> Any:
    """The module of a paper."""
    if name not in PAPERS:
        raise InputError(f"there is no paper {name!r}; choose {', '.join(PAPERS)} or all")
    return import_module(f"{__name__}.{name}")
