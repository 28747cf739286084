"""The folder of a comparison: one file for each finished cell, named by what the cell is recognised by, and the tables made of them.

Every file appears whole or not at all, so that an interrupt at any moment, or a second comparison in the same folder, can neither lose nor
spoil a finished cell.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass

from shoal.comparing.cells import Outcome
from shoal.errors import InputError, option
from shoal.passwords import without_passwords
from shoal.records.storage.publication import Publication, writing_errors

CELLS = "cells"
TABLES = ("comparison.csv", "comparison.parquet", "comparison.html")


@dataclass(frozen=True)
class Folder:
    """Where a comparison is kept."""

    path: str

    def make(self, *, force: bool = False) -> None:
        """Makes the folder, or takes one that holds a comparison. Raises if it holds something else."""
        name = os.path.basename(os.path.normpath(without_passwords(self.path))) or self.path
        if os.path.lexists(self.path) and not os.path.isdir(self.path):
            raise InputError(f"{name}: it is a file; name a folder for the comparison with -o")
        cells = os.path.join(self.path, CELLS)
        if os.path.isdir(self.path) and not os.path.isdir(cells) and not force:
            with writing_errors(self.path):
                others = os.listdir(self.path)
            if others:
                raise InputError(
                    f"{name}: it holds other files; name a folder of its own with {option('output')}, or pass {option('force')}"
                )
        with writing_errors(self.path):
            os.makedirs(cells, exist_ok=True)

    def cell(self, key: str) -> str:
        return os.path.join(self.path, CELLS, f"{key}.json")

    def kept(self, key: str) -> Outcome | None:
        """The outcome of a finished cell; None for one that is not there or damaged, which is then computed again."""
        try:
            with open(self.cell(key), encoding="utf-8") as file:
                found = Outcome.of(json.load(file))
        except (OSError, ValueError, TypeError):
            return None
        return found if found is not None and found.key == key else None

    def keep(self, outcome: Outcome) -> None:
        text = json.dumps(outcome.to_dict(), indent=1) + "\n"
        self._write({self.cell(outcome.key): text.encode()})

    def write_tables(self, contents: Mapping[str, bytes]) -> None:
        """The tables and the page, together."""
        self._write({os.path.join(self.path, name): content for name, content in contents.items()})

    def _write(self, contents: Mapping[str, bytes]) -> None:
        with Publication(list(contents), force=True) as publication, contextlib.ExitStack() as stack:
            for target, content in contents.items():
                stack.enter_context(publication.file(target)).write(content)
