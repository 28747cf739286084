"""Files that are tables, but not as Shoal reads them: in another encoding, with another mark between columns, with lines above the header
or without one.

What is odd is told from the first lines. The remedy is a copy; the file itself stays as it is.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from shoal.errors import InputError
from shoal.records.values import is_number

GAPS = ("?", "NA", "N/A", "n/a", "NULL", "null", "NaN", "nan", "None", "#N/A", "-", "--", ".")
"""What stands for a missing value in files of other programs. Here an empty cell does."""
_BYTES, _LINES = 1 << 16, 60
_USUAL, _UNUSUAL = ";,\t", "|^~¦"
_SURE = 0.9
"""The share of lines that must have the same number of columns."""


@dataclass(frozen=True)
class Oddity:
    """How a file is to be read."""

    encoding: str = "utf-8"
    mark: str | None = None
    """What stands between columns; None to leave the lines as they are."""
    above: int = 0
    """Lines above the header."""
    headless: bool = False
    """Whether its first line is a row, and nothing names the columns."""

    def in_words(self) -> str:
        """What is odd, in a sentence."""
        odd = []
        if self.encoding != "utf-8":
            name = {"cp1252": "Windows-1252, as spreadsheet programs write it", "utf-16": "UTF-16"}[self.encoding]
            odd.append(f"its text seems to be {name}")
        if self.mark is not None and self.mark in _UNUSUAL:
            odd.append(f"its columns seem to be separated by “{self.mark}”")
        if self.above:
            lines = "line stands" if self.above == 1 else f"{self.above} lines stand"
            odd.append(f"the first {lines} above the names of the columns")
        if self.headless:
            odd.append("its first line seems to be a row: nothing names the columns, which get numbers then")
        text = ", and ".join(odd)
        return f"{text[:1].upper()}{text[1:]}."


def oddity(path: Path, *, unreadable: bool = False) -> Oddity | None:
    """What may be odd about a file that could not be read, or only as one column. An unreadable one is looked through for its encoding."""
    with path.open("rb") as file:
        start = file.read(_BYTES)
    if start[:2] in (b"\x1f\x8b", b"PK", b"\x28\xb5") or start[:4] in (b"PAR1", b"ARRO"):
        return None
    is_utf16 = start[:2] in (b"\xff\xfe", b"\xfe\xff")
    if b"\0" in start and not is_utf16:  # no text at all
        return None
    encoding = "utf-16" if is_utf16 else "cp1252" if unreadable and not _is_utf8(path) else "utf-8"
    lines = start.decode(encoding, "replace").splitlines()[: _LINES if len(start) < _BYTES else -1][:_LINES]
    mark, above = _columns(lines)
    if encoding == "utf-8" and (mark is None or (mark in _USUAL and not above)):
        return None
    rewritten = mark is not None and (mark in _UNUSUAL or above > 0)
    return Oddity(encoding, mark if rewritten else None, above if rewritten else 0)


def missing_header(path: Path) -> Oddity | None:
    """How a text is read whose first line seems to be a row: a cell of it is a number among numbers, or most stand again below."""
    with path.open("rb") as file:
        start = file.read(_BYTES)
    try:
        lines = start.decode("utf-8-sig").splitlines()[: _LINES if len(start) < _BYTES else -1][:_LINES]
    except UnicodeError:
        return None
    mark, above = _columns(lines)
    if mark is None or above or mark in _UNUSUAL:
        return None
    first, *rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=mark) if row]
    below = [[row[column] for row in rows if column < len(row) and row[column]] for column in range(len(first))]
    filled = [(cell, cells) for cell, cells in zip(first, below, strict=True) if cell and cells]
    numbers = any(is_number(cell) and all(map(is_number, cells)) for cell, cells in filled)
    again = sum(cell in cells for cell, cells in filled)
    return Oddity(mark=mark, headless=True) if numbers or 2 * again > len(first) else None


def rewrite(path: Path, odd: Oddity, target: Path) -> None:
    """Writes a copy of a file as Shoal reads it. Raises `InputError` if the text is not what it seemed to be."""
    try:
        with (
            target.open("w", encoding="utf-8", newline="") as written,
            path.open(encoding="utf-8-sig" if odd.encoding == "utf-8" else odd.encoding, newline="") as file,
        ):
            if odd.mark is None:
                while text := file.read(_BYTES):
                    written.write(text)
            else:
                rows = csv.reader(islice(file, odd.above, None), delimiter=odd.mark)
                target_rows = csv.writer(written, lineterminator="\n")
                if odd.headless and (first := next(rows, None)) is not None:
                    target_rows.writerows(([f"column {n + 1}" for n in range(len(first))], first))
                target_rows.writerows(rows)
    except (UnicodeError, csv.Error) as error:
        raise InputError(f"{path.name} cannot be read this way, either; save it as CSV in UTF-8") from error


def missing_marks(path: Path) -> dict[str, str]:
    """Per column of a text, what seems to stand for a missing value in it, by its first lines: `?` or `NA` beside other values."""
    with path.open("rb") as file:
        start = file.read(16 * _BYTES)
    try:
        lines = start.decode("utf-8-sig", "strict" if len(start) < 16 * _BYTES else "ignore").splitlines()
    except UnicodeError:
        return {}
    mark, above = _columns(lines[:_LINES])
    if mark is None or above or mark in _UNUSUAL:
        return {}
    try:
        header, *rows = csv.reader(lines, delimiter=mark)
    except (csv.Error, ValueError):
        return {}
    found = {}
    for column, name in enumerate(header):
        counts = Counter(row[column].strip() for row in rows if column < len(row))
        marks = [text for text in GAPS if counts[text]]
        if len(marks) == 1 and len(counts) > 2:
            found[name.strip()] = marks[0]
    return found


def empty_marks(path: Path, marks: Mapping[str, str], target: Path) -> None:
    """Writes a copy of a text in which cells that hold the mark of their column are empty."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        mark, _ = _columns(list(islice(file, _LINES)))
        file.seek(0)
        with target.open("w", encoding="utf-8", newline="") as written:
            rows, copy = csv.reader(file, delimiter=mark or ","), csv.writer(written, lineterminator="\n")
            header = next(rows)
            copy.writerow(header)
            chosen = [(column, marks[name.strip()]) for column, name in enumerate(header) if name.strip() in marks]
            for row in rows:
                for column, text in chosen:
                    if column < len(row) and row[column].strip() == text:
                        row[column] = ""
                copy.writerow(row)


def _is_utf8(path: Path) -> bool:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            while file.read(_BYTES):
                pass
    except UnicodeError:
        return False
    return True


def _columns(lines: list[str]) -> tuple[str | None, int]:
    """(what separates most columns in nearly all lines, how many lines stand above them)."""
    best: tuple[int, str, int] | None = None
    for mark in _USUAL + _UNUSUAL:
        try:
            widths = [len(row) for row in csv.reader(lines, delimiter=mark)]
        except csv.Error:
            continue
        filled = [width for width in widths if width > 1]
        if not filled:
            continue
        width, times = Counter(filled).most_common(1)[0]
        above = widths.index(width)
        if times >= 2 and times >= _SURE * (len(widths) - above) and (best is None or width > best[0]):
            best = width, mark, above
    return (None, 0) if best is None else (best[1], best[2])
