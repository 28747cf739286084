"""Slow, obvious readers and writers of every text format, for the fast ones to be compared with."""

from __future__ import annotations

import csv
import io
import json
import re

Rows = list[list[str]]


def dat_rows(text: bytes) -> Rows:
    """FIMI and SPMF text, line by line."""
    lines = text.decode("utf-8-sig").split("\n")
    if lines[-1] == "":
        lines.pop()
    names: dict[str, str] = {}
    while lines and lines[0].startswith(("@CONVERTED_FROM", "@ITEM=", "# ", "% ")):
        line = lines.pop(0).strip()
        if line.startswith("@ITEM="):
            number, name = line.removeprefix("@ITEM=").split("=", 1)
            names[number] = name
    rows = [re.findall(r"[^ \t\v\f\r]+", line) for line in lines if not line.startswith(("# ", "% "))]
    filled = [row for row in rows if row]
    if filled and is_marked(filled[0]):
        rows = [[token for token in row if token not in ("-1", "-2")] for row in rows]
    return [[names.get(token, token) for token in row] for row in rows]


def is_marked(row: list[str]) -> bool:
    """Whether -1 follows each item, or several, and -2 ends the row."""
    return re.fullmatch(r"(([^,]+,)+-1,)*-2", ",".join(row)) is not None and not re.search(
        r"(^|-1,)-1,|-2,", ",".join(row)
    )


def split_cell(cell: str, separator: str) -> list[str]:
    if separator == " ":
        return re.findall(r"[^ \t\n\v\f\r]+", cell)
    return [token for part in cell.split(separator) if (token := part.strip(" \t\n\v\f\r"))]


def csv_rows(text: bytes, column: str, separator: str, delimiter: str = ",") -> Rows:
    """A set column of CSV, through the standard library's parser."""
    table = csv.DictReader(io.StringIO(text.decode("utf-8-sig"), newline=""), delimiter=delimiter)
    return [split_cell(row[column], separator) for row in table]


def long_rows(text: bytes, id: str, column: str, delimiter: str = ",") -> Rows:
    """A long table, grouped by a dictionary."""
    table = csv.DictReader(io.StringIO(text.decode("utf-8-sig"), newline=""), delimiter=delimiter)
    sets: dict[str, list[str]] = {}
    for row in table:
        items = sets.setdefault(row[id], [])
        if row[column]:
            items.append(row[column])
    return list(sets.values())


def jsonl_rows(text: bytes, field: str = "items") -> Rows:
    """JSON lines, one by one."""
    rows: Rows = []
    for line in text.decode().splitlines():
        if line.strip():
            value = json.loads(line)
            items = value.get(field) if isinstance(value, dict) else value
            rows.append([str(item) for item in items or []])
    return rows


def dat_text(rows: Rows) -> bytes:
    return "".join(" ".join(row) + "\n" for row in rows).encode()


def csv_text(rows: Rows, separator: str, delimiter: str = ",") -> bytes:
    """A single set column as the standard library writes it, formulas guarded."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(["items"])
    for row in rows:
        writer.writerow([separator.join(f"'{name}" if name[0] in "=+-@\t\r" else name for name in row)])
    return out.getvalue().encode()


def jsonl_text(rows: Rows) -> bytes:
    return "".join(json.dumps({"items": row}, ensure_ascii=False) + "\n" for row in rows).encode()
