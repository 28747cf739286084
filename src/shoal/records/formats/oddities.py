"""Files that are tables, but not as Shoal reads them: in another encoding, with another mark between columns, with lines above the header.

What is odd is told from the first lines. The remedy is a copy; the file itself stays as it is.
"""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from shoal.errors import InputError

WORKBOOKS = (".xlsx", ".xlsm", ".xls", ".ods", ".numbers")
A_WORKBOOK = "This is a workbook of a spreadsheet program. Save the sheet as CSV there (in Excel: CSV UTF-8), and bring that file."
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
        text = ", and ".join(odd)
        return f"{text[:1].upper()}{text[1:]}."


def oddity(path: Path, *, unreadable: bool = False) -> Oddity | None:
    """What may be odd about a file that could not be read, or only as one column. An unreadable one is looked through for its encoding."""
    with path.open("rb") as file:
        start = file.read(_BYTES)
    if start[:2] in (b"\x1f\x8b", b"PK", b"\x28\xb5") or start[:4] in (b"PAR1", b"ARRO"):
        return None
    is_utf16 = start[:2] in (b"\xff\xfe", b"\xfe\xff")
    encoding = "utf-16" if is_utf16 else "cp1252" if unreadable and not _is_utf8(path) else "utf-8"
    lines = start.decode(encoding, "replace").splitlines()[: _LINES if len(start) < _BYTES else -1][:_LINES]
    mark, above = _columns(lines)
    if encoding == "utf-8" and (mark is None or (mark in _USUAL and not above)):
        return None
    rewritten = mark is not None and (mark in _UNUSUAL or above > 0)
    return Oddity(encoding, mark if rewritten else None, above if rewritten else 0)


def rewrite(path: Path, odd: Oddity, target: Path) -> None:
    """Writes a copy of a file as Shoal reads it. Raises `InputError` if the text is not what it seemed to be."""
    try:
        with (
            target.open("w", encoding="utf-8", newline="") as written,
            path.open(encoding=odd.encoding, newline="") as file,
        ):
            if odd.mark is None:
                while text := file.read(_BYTES):
                    written.write(text)
            else:
                rows = csv.reader(islice(file, odd.above, None), delimiter=odd.mark)
                csv.writer(written, lineterminator="\n").writerows(rows)
    except (UnicodeError, csv.Error) as error:
        raise InputError(f"{path.name} cannot be read this way, either; save it as CSV in UTF-8") from error


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
