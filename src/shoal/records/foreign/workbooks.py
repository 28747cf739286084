"""Workbooks of spreadsheet programs: a sheet becomes text, in a process of its own, and is read as CSV.

A path may end in `?sheet=NAME`; without it, the workbook has to have one sheet that holds something. What is read is the copy, and what is
hashed is the workbook. One that is made to break its reader ends that process alone, which may take only so much memory and time.
"""

from __future__ import annotations

import contextlib
import csv
import hashlib
import os
import re
import zipfile
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from shoal.errors import InputError, ShoalError, number_of
from shoal.limits import input_limit
from shoal.processes import Child, Teller
from shoal.records.stores.once import held_copy, private_file

WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
_HELD = 16
"""How many bytes of memory a byte of an unpacked workbook may take."""
_ITSELF = 1 << 30
"""Bytes that the process that reads workbooks needs for itself, at most."""
WORKBOOK_SECONDS = 300.0
"""By the clock; a machine may be crowded."""
_TO_READ = "it is a workbook; pip install 'shoal[excel]' to read it, or save the sheet as CSV (in Excel: CSV UTF-8)"
_NAMED = 5
"""Sheets that a message names."""
_SHEET = re.compile(r"(?P<path>.+)\?sheet=(?P<sheet>.*)", re.DOTALL)


def workbook_of(source: str | os.PathLike[str]) -> tuple[str, str | None] | None:
    """(the path, the sheet that is named) of a workbook; None for anything else."""
    text, sheet = os.fspath(source), None
    if (found := _SHEET.fullmatch(text)) is not None:
        text, sheet = found["path"], unquote(found["sheet"])
    return (text, sheet) if text.lower().endswith(WORKBOOKS) and "://" not in text else None


class SheetCopy:
    """A sheet of a workbook as CSV, in a file that is gone when it is closed."""

    def __init__(self, path: str, sheet: str | None) -> None:
        self._stack = contextlib.ExitStack()
        book = Path(path)
        try:
            with open(book, "rb") as file:
                self.sha256 = hashlib.file_digest(file, "sha256").hexdigest()
            self.path, _ = private_file(self._stack, book.name)
            write_sheet(book, sheet_of(book, sheet), Path(self.path))
            with open(book, "rb") as file:
                if hashlib.file_digest(file, "sha256").hexdigest() != self.sha256:
                    raise InputError(
                        f"{book.name}: it was changed while it was read; read it when nothing writes to it"
                    )
        except BaseException:
            self._stack.close()
            raise

    def close(self) -> None:
        self._stack.close()


def sheet_copy(path: str, sheet: str | None) -> tuple[SheetCopy, Callable[[], None]]:
    """The copy of a sheet, and what to call when it is read."""
    return held_copy(f"{path}?sheet={sheet}", lambda: SheetCopy(path, sheet))


def sheet_of(book: Path, wanted: str | None) -> str:
    """The sheet that is named, or the only one that holds something."""
    names = sheet_names(book)
    if wanted in names or (wanted is None and len(names) == 1):
        return wanted or names[0]
    if not names:
        raise InputError(f"{book.name}: none of its sheets holds anything; name a workbook with one that does")
    which = "it has no such sheet" if wanted is not None else f"{len(names)} of its sheets hold something"
    ways = ", ".join(f"'{book.name}?sheet={quote(name, safe=' ')}'" for name in names[:_NAMED])
    raise InputError(f"{book.name}: {which}; name one of them: {ways}{' ...' if len(names) > _NAMED else ''}")


def sheet_names(path: Path) -> list[str]:
    """The sheets of a workbook that hold something, in its order."""
    names: list[str] = _of_workbook(path, {})
    return names


def write_sheet(path: Path, sheet: str, target: Path) -> None:
    """Writes a sheet of a workbook as CSV: each cell as its text, dates as 2024-05-31, whole numbers without a point, and no empty rows."""
    _of_workbook(path, {"sheet": sheet, "target": str(target.absolute())})


def _of_workbook(path: Path, asked: Mapping[str, str]) -> Any:
    """What a process of its own says of a workbook: one that is made to break its reader ends that process alone."""
    try:
        import python_calamine  # noqa: F401 - a word on how to get it, before a process is started
    except ImportError:
        raise InputError(f"{path.name}: {_TO_READ}") from None
    child = Child("shoal.records.foreign.workbooks:read_workbook", background=True)
    try:
        child.ask({"path": str(path.absolute()), **asked})
        answer = child.answer(WORKBOOK_SECONDS)
    finally:
        child.end()
    if answer is None:
        raise InputError(f"{path.name}: it takes too long to read as a workbook; save the sheet as CSV")
    if isinstance(answer.error, ShoalError):
        raise answer.error
    if answer.error is not None:
        raise InputError(f"{path.name}: it cannot be read as a workbook; save the sheet as CSV, without a password")
    return answer.result


def read_workbook(request: Mapping[str, str], tell: Teller) -> list[str] | None:
    """The work of that process: names the sheets that hold something, or writes one as CSV."""
    import python_calamine  # noqa: F401 - what is loaded is no part of what is read

    path = Path(request["path"])
    _limit_memory()
    with _workbook(path) as book:
        if "sheet" not in request:
            return [name for name in book.sheet_names if book.get_sheet_by_name(name).height > 0]
        sheet = book.get_sheet_by_name(request["sheet"])
        if joined := sum(top != bottom for (top, _), (bottom, _) in sheet.merged_cell_ranges or ()):
            raise InputError(
                f"{path.name}: {number_of(joined, 'cell')} in this sheet {'is' if joined == 1 else 'are'} merged over several rows, "
                "of which only the first has the value; unmerge them, and fill each row"
            )
        with open(request["target"], "w", encoding="utf-8", newline="") as written:
            rows = ([_cell_text(cell) for cell in row] for row in sheet.to_python(skip_empty_area=True))
            # An empty row of a table is nobody; where there is one column alone, it is an empty set.
            csv.writer(written, lineterminator="\n").writerows(row for row in rows if any(row) or len(row) == 1)
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
                raise InputError(f"{path.name}: it unpacks to more than is read of a workbook; save the sheet as CSV")
    try:
        return python_calamine.CalamineWorkbook.from_path(str(path))
    except Exception as error:  # whatever the library makes of a damaged or locked file
        raise InputError(
            f"{path.name}: it cannot be read as a workbook; save the sheet as CSV, without a password"
        ) from error


def _cell_text(cell: Any) -> str:
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, timedelta):
        cell = cell.total_seconds()
    if isinstance(cell, float) and cell.is_integer() and abs(cell) <= 2**53:
        return str(int(cell))
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == time() else cell.isoformat(sep=" ")
    if isinstance(cell, date | time):
        return cell.isoformat()
    return str(cell)
