"""Preview: a few rows of a file at a time, however long it is, without a copy of it.

Text is read forward in the batches of the readers, of which the last few are kept: the next page and the one before cost nothing, a far
jump reads the file up to there, about as fast as it can be parsed. Nothing but the rows of a page ever goes to the browser.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from pathlib import Path
from threading import Lock
from typing import Any

import pyarrow as pa

from shoal.errors import InputError
from shoal.records.formats.columnar import columnar_table
from shoal.records.formats.peek import column_names, table_in
from shoal.records.layout import format_of
from shoal.records.storage.streams import Input

PAGE = 25
LONGEST_CELL = 160
MOST_COLUMNS = 60
_KEPT = 3


class Preview:
    """A file, opened for looking at."""

    def __init__(self, path: Path, format: str | None = None) -> None:
        self.path = path
        with Input(path) as opened:
            magic = opened.magic if opened.magic in ("parquet", "arrow") else None
            form = format or format_of(path.name)[0] or magic
            first = next(opened.text_blocks(), None) if form == "jsonl" else None
        if form is None:
            raise InputError(f"{path.name}: its name does not tell a format; choose one")
        self.format = form
        self._bare = form == "dat" or (first is not None and first.data.lstrip()[:1] == b"[")
        self.columns = ["items"] if self._bare else column_names(path, form)
        self._lock = Lock()
        self._source: Iterator[pa.RecordBatch] | None = None
        self._kept: deque[tuple[int, pa.RecordBatch]] = deque(maxlen=_KEPT)
        self._next = 0
        self._ended = False
        self._total: int | None = None

    def page(self, start: int, count: int = PAGE) -> list[list[str]]:
        """The texts of up to `count` rows from `start` on; fewer at the end."""
        with self._lock:
            if self._source is None or (self._kept and start < self._kept[0][0]):
                self._restart()
            while self._next < start + count and not self._ended:
                self._read_on()
            return [
                [_text(batch.column(place)[row]) for place in range(min(MOST_COLUMNS, batch.num_columns))]
                for at, batch in self._kept
                for row in range(max(0, start - at), min(len(batch), start + count - at))
            ]

    def rows(self) -> int:
        """How many rows there are. Reads the whole file, once, unless the file itself knows."""
        if self._total is None:
            self._total = self._known_rows()
            if self._total is None:
                self._total = sum(map(len, self._batches(self.columns[:1])))
        return self._total

    def _known_rows(self) -> int | None:
        if self.format not in ("parquet", "arrow"):
            return None
        with Input(self.path) as opened:
            return columnar_table(opened, self.format).rows

    def _restart(self) -> None:
        self._source, self._next, self._ended = self._batches(self.columns[:MOST_COLUMNS]), 0, False
        self._kept.clear()

    def _read_on(self) -> None:
        assert self._source is not None
        batch = next(self._source, None)
        if batch is None:
            self._ended, self._total = True, self._next
        elif len(batch):
            self._kept.append((self._next, batch))
            self._next += len(batch)

    def _batches(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        with Input(self.path) as opened:
            if self._bare:
                for block in opened.text_blocks():
                    lines = [line.decode() for line in block.data.splitlines() if line.strip()]
                    yield pa.record_batch({"items": pa.array(lines, pa.string())})
                return
            yield from table_in(opened, self.format, self.columns).batches(columns)


def _text(cell: Any) -> str:
    value = cell.as_py()
    if value is None:
        return ""
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= LONGEST_CELL else f"{text[: LONGEST_CELL - 1]}…"
