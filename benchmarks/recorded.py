"""What was measured, as it is kept: one file per section in benchmarks/results, valid JSON with one row a line.

A section is kept until it is measured again, so every one carries the run it is from. Cells are kept as they are printed;
`number` reads one. `rivals.json` is written by hand: other tools are not run by `make bench`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from measuring import Row, Run

RESULTS = Path(__file__).parent / "results"
NUMBER = re.compile(r"-?[\d,]*\.?\d+(?:e-?\d+)?")


@dataclass(frozen=True)
class Recorded:
    """The rows of one section, and the run they are from."""

    run: Run
    rows: list[Row]

    def where(self, **wanted: Any) -> Iterator[Row]:
        """The rows with these cells; thousands may be printed with commas."""
        return (row for row in self.rows if all(_plain(row[name]) == _plain(value) for name, value in wanted.items()))


def _plain(cell: Any) -> str:
    return str(cell).replace(",", "")


def recorded(section: str, folder: Path = RESULTS) -> Recorded | None:
    """What is kept of a section."""
    path = folder / f"{section}.json"
    if not path.exists():
        return None
    return read_record(json.loads(path.read_text(encoding="utf-8")))


def read_record(kept: dict[str, Any]) -> Recorded:
    """What a file holds; older ones do not say all of a run."""
    known = {field.name for field in fields(Run)}
    return Recorded(Run(**{name: value for name, value in kept["run"].items() if name in known}), kept["rows"])


def record(section: str, what: Recorded, folder: Path = RESULTS) -> None:
    folder.mkdir(exist_ok=True)
    run = json.dumps(asdict(what.run), ensure_ascii=False)
    rows = ",\n".join("    " + json.dumps(row, ensure_ascii=False) for row in what.rows)
    text = f'{{\n  "section": {json.dumps(section)},\n  "run": {run},\n  "rows": [\n{rows}\n  ]\n}}\n'
    (folder / f"{section}.json").write_text(text, encoding="utf-8")


def number(cell: Any) -> float:
    """The first number of a cell, percentages as shares: 0.1152 for `11.52%`, 0.0641 for `0.0641 (0.0056 dropped)`."""
    found = NUMBER.search(str(cell))
    if found is None:
        raise ValueError(f"{cell!r} holds no number")
    value = float(found[0].replace(",", ""))
    return value / 100 if str(cell)[found.end() :].startswith("%") else value
