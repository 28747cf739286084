"""Files that are tables, but not as Shoal reads them: in another encoding, with another mark between columns, with lines above the header
or without one, or as a sheet of a workbook.

What is odd is told from the first lines. The remedy is a copy; the file itself stays as it is.
"""

from __future__ import annotations

import contextlib
import csv
import zipfile
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

from shoal.errors import InputError, ShoalError
from shoal.limits import input_limit
from shoal.processes import Child, Teller
from shoal.records.values import is_number

WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
GAPS = ("?", "NA", "N/A", "n/a", "NULL", "null", "NaN", "nan", "None", "#N/A", "-", "--", ".")
"""What stands for a missing value in files of other programs. Here an empty cell does."""
_HELD = 16
"""How many bytes of memory a byte of an unpacked workbook may take."""
_ITSELF = 1 << 30
"""Bytes that the process that reads workbooks needs for itself, at most."""
WORKBOOK_SECONDS = 300.0
"""By the clock; a machine may be crowded."""
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


def sheet_names(path: Path) -> list[str]:
    """The sheets of a workbook that hold something, in its order."""
    names: list[str] = _of_workbook(path, {})
    return names


def write_sheet(path: Path, sheet: str, target: Path) -> None:
    """Writes a sheet of a workbook as CSV: each cell as its text, dates as 2024-05-31, whole numbers without a point."""
    _of_workbook(path, {"sheet": sheet, "target": str(target.absolute())})


def _of_workbook(path: Path, asked: Mapping[str, str]) -> Any:
    """What a process of its own says of a workbook: one that is made to break its reader ends that process alone."""
    try:
        import python_calamine  # noqa: F401 - a word on how to get it, before a process is started
    except ImportError:
        raise InputError(A_WORKBOOK + " With pip install 'shoal[excel]' it is read as it is.") from None
    child = Child("shoal.records.formats.oddities:read_workbook", background=True)
    try:
        child.ask({"path": str(path.absolute()), **asked})
        answer = child.answer(WORKBOOK_SECONDS)
    finally:
        child.end()
    if answer is None:
        raise InputError(f"{path.name} takes too long to read as a workbook; save the sheet as CSV")
    if isinstance(answer.error, ShoalError):
        raise answer.error
    if answer.error is not None:
        raise InputError(f"{path.name} cannot be read as a workbook; save the sheet as CSV, without a password")
    return answer.result


def read_workbook(request: Mapping[str, str], tell: Teller) -> list[str] | None:
    """The work of that process: names the sheets that hold something, or writes one as CSV."""
    import python_calamine  # noqa: F401 - what is loaded is no part of what is read

    path = Path(request["path"])
    _limit_memory()
    with _workbook(path) as book:
        if "sheet" not in request:
            return [name for name in book.sheet_names if book.get_sheet_by_name(name).height > 0]
        with open(request["target"], "w", encoding="utf-8", newline="") as written:
            rows = book.get_sheet_by_name(request["sheet"]).to_python(skip_empty_area=True)
            csv.writer(written, lineterminator="\n").writerows([_cell_text(cell) for cell in row] for row in rows)
    return None


def _limit_memory() -> None:
    """Lets the system keep this process to what may be read of a file, however much a workbook claims to hold."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        most = _data_held() + _ITSELF + input_limit()
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def _data_held() -> int:
    """Bytes that the limit on data counts already, where the system tells: libraries reserve more than they use."""
    with contextlib.suppress(OSError, StopIteration):
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmData:"))
    return 0


def _workbook(path: Path) -> Any:
    """A workbook, opened; refused where it would unpack to more than memory should hold."""
    import python_calamine

    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as packed:
            if sum(part.file_size for part in packed.infolist()) > input_limit() // _HELD:
                raise InputError(f"{path.name} unpacks to more than is read of a workbook; save the sheet as CSV")
    try:
        return python_calamine.CalamineWorkbook.from_path(str(path))
    except Exception as error:  # whatever the library makes of a damaged or locked file
        raise InputError(
            f"{path.name} cannot be read as a workbook; save the sheet as CSV, without a password"
        ) from error


def _cell_text(cell: Any) -> str:
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == time() else cell.isoformat(sep=" ")
    if isinstance(cell, date | time):
        return cell.isoformat()
    return str(cell.total_seconds()) if isinstance(cell, timedelta) else str(cell)


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
