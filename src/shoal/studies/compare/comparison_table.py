"""The table of a comparison: one row for each cell, with its settings, its losses, and how it stands beside the others.

Three columns come from the other rows. `above_optimum` is the loss beyond that of a proven optimum with the same promise, hierarchies and
share of suppression, where the grid has one. `front` marks the rows that no other beats: none promises at least as much and loses
less, or promises more and loses as little. `frontier` does so for tables with items: no row with the same promise loses less of the
columns' information and no more of the items', or the other way round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from shoal.drawing.charts import Point, front_of
from shoal.errors import Message, option
from shoal.records.formats.text import csv_cell, guard
from shoal.showing import fields_of
from shoal.studies.compare.cell import DONE, WORDS
from shoal.studies.compare.comparison import Results
from shoal.studies.compare.field import by_rank

Row = dict[str, Any]

PROMISE = ("k", "m", "l")
KEPT = "kept_"
"""What the columns of what is kept begin with."""
SIDES = ("info_columns", "info_items")
"""What the two sides of a table lose."""
COMPARED = ("above_optimum", "front", "frontier")
"""What a row says of the others."""
FIGURES = ("optimal", "bound", *COMPARED, "seconds", "peak_mb", "start_mb", "rows", "classes", "checked")
LAST = ("threads", "jobs", "warm", "limit", "guarantee", "reason", "key")
BELOW = {
    "hybrid": "hybrid may delete single items, which the optimum of generalization may not",
    "lra": "lra may publish an item in one row as itself and in another as a category, which the optimum among cuts may not",
    "local": "local may publish an item as itself or as a category, row by row, and delete some, which the optimum among cuts may not",
}
"""Why an algorithm can lose less than the optimum that it stands beside."""
_WHOLE = {"row", "rank", "k", "m", "l", "repeat", "rows", "classes", "checked", "threads", "jobs"}
_TRUTHS = {"holds", "optimal", "front", "frontier", "warm"}
_TEXTS = {"algorithm", "hierarchies", "status", "guarantee", "reason", "key"}


def rows_of(results: Results) -> list[Row]:
    """The rows of the finished cells, numbered as the cells of the grid are, from 1."""
    rows = []
    for number, (task, outcome) in enumerate(zip(results.tasks, results.outcomes, strict=True), start=1):
        if outcome is None:
            continue
        row: Row = {"row": number, **task.cell.settings, "repeat": task.repeat, "status": outcome.status}
        row |= {"holds": outcome.holds, "loss": dict(outcome.loss), "kept": dict(outcome.kept)}
        row["price_of_search"] = outcome.price
        rows.append(row | {name: getattr(outcome, name) for name in (*FIGURES, *LAST) if hasattr(outcome, name)})
    front = _front([row for row in rows if row["status"] == DONE], main_loss(rows))
    optima, frontiers = _optima(rows), _frontiers(rows)
    for row in rows:
        row["above_optimum"] = _above(row, optima)
        row["front"] = row["row"] in front if row["status"] == DONE else None
        sides = sides_of(row)
        row["frontier"] = None if sides is None else sides in frontiers[_promise(row)]
    return by_rank(rows, [*PROMISE, "repeat"]) if results.comparison.is_field else rows


def losses_of(rows: Sequence[Row]) -> list[str]:
    """The measures of loss that occur."""
    return list(dict.fromkeys(name for row in rows for name in row["loss"]))


def shares_of(rows: Sequence[Row]) -> list[str]:
    """The columns of shares: the information that is lost, what is kept, and the other losses."""
    kept = list(dict.fromkeys(KEPT + name for row in rows for name in row["kept"]))
    losses = losses_of(rows)
    return [*losses[:1], *kept, *losses[1:]]


def telling_losses(rows: Sequence[Row]) -> list[str]:
    """Those measures that tell something: not 0 in every row, and not the same as one before. The first always does."""
    found: dict[tuple[Any, ...], str] = {}
    for name in losses_of(rows):
        figures = tuple(row["loss"].get(name) for row in rows)
        if not found or any(figures):
            found.setdefault(figures, name)
    return list(found.values())


def main_loss(rows: Sequence[Row]) -> str | None:
    """The measure that a model is first of all about."""
    return next(iter(losses_of(rows)), None)


def settings_in(rows: Sequence[Row]) -> list[str]:
    """The names of settings, in the order of the table."""
    apart = {"row", "rank", "repeat", "status", "holds", "loss", "kept", "price_of_search", *FIGURES, *LAST}
    return list(dict.fromkeys(name for row in rows for name in row if name not in apart))


def columns_of(rows: Sequence[Row]) -> list[str]:
    """The columns of the files."""
    return [*numbers_of(rows), *settings_in(rows), "repeat", "status", "holds", *shares_of(rows), *FIGURES, *LAST]


def numbers_of(rows: Sequence[Row]) -> list[str]:
    """The number of a row, and its rank where rows are ranked."""
    return ["row", *(["rank"] if any("rank" in row for row in rows) else [])]


def cell_of(row: Row, column: str) -> Any:
    """What a row has in a column; None where it has nothing."""
    if column in row["loss"]:
        return row["loss"][column]
    return row["kept"].get(column.removeprefix(KEPT)) if column.startswith(KEPT) else row.get(column)


def frame_of(rows: Sequence[Row]) -> pa.Table:
    """The table as Arrow has it."""
    data: dict[str, pa.Array] = {}
    for column in columns_of(rows):
        values = [cell_of(row, column) for row in rows]
        if column in _WHOLE:
            kind: Any = pa.int64()
        elif column in _TRUTHS:
            kind = pa.bool_()
        elif column in _TEXTS or any(isinstance(value, str) for value in values):
            kind, values = pa.string(), [None if value is None else str(value) for value in values]
        else:
            kind, values = pa.float64(), [None if value is None else float(value) for value in values]
        data[column] = pa.array(values, kind)
    return pa.table(data)


def csv_text(rows: Sequence[Row]) -> str:
    """The table as CSV. A text that a spreadsheet would run as a formula is guarded."""
    columns = columns_of(rows)
    lines = [",".join(columns)]
    lines += [",".join(_csv(cell_of(row, column)) for column in columns) for row in rows]
    return "\n".join(lines) + "\n"


def _csv(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return csv_cell(guard(value), ",") if isinstance(value, str) else repr(value)


def _problem(row: Row) -> tuple[Any, ...]:
    """What two rows must have in common for the optimum of one to be the optimum for the other."""
    return (*(row.get(name) for name in PROMISE), row.get("hierarchies"), row.get("unknown"), row.get("suppress") or 0)


def measure_of(row: Row) -> str:
    """What an optimum of this row's algorithm is proven in."""
    return "info" if row["price_of_search"] == "information" else "ncp"


def _optima(rows: Sequence[Row]) -> dict[tuple[Any, ...], tuple[str, float]]:
    """Per problem that was solved to a proven optimum, the measure and the least loss."""
    found: dict[tuple[Any, ...], tuple[str, float]] = {}
    for row in rows:
        if row["status"] == DONE and row["optimal"]:
            measure = measure_of(row)
            if (least := row["loss"].get(measure)) is not None:
                found.setdefault(_problem(row), (measure, least))
    return found


def _above(row: Row, optima: Mapping[tuple[Any, ...], tuple[str, float]]) -> float | None:
    if row["status"] != DONE or _problem(row) not in optima:
        return None
    measure, least = optima[_problem(row)]
    lost = row["loss"].get(measure)
    return None if lost is None else float(lost - least)


def _promise(row: Row) -> tuple[int, ...]:
    return tuple(row.get(name, 1) for name in PROMISE)


def _front(rows: Sequence[Row], measure: str | None) -> set[int]:
    """The numbers of the rows that no other beats. Of the rows with one promise, only the least loss can beat others."""
    known = [row for row in rows if measure is not None and row["loss"].get(measure) is not None]
    least: dict[tuple[int, ...], float] = {}
    for row in known:
        lost = row["loss"][measure]
        least[_promise(row)] = min(lost, least.get(_promise(row), lost))

    def beaten(promise: tuple[int, ...], loses: float) -> bool:
        return any(
            all(mine >= theirs for mine, theirs in zip(other, promise, strict=True))
            and (lost < loses or (lost == loses and other != promise))
            for other, lost in least.items()
        )

    return {row["row"] for row in known if not beaten(_promise(row), row["loss"][measure])}


def sides_of(row: Row) -> Point | None:
    """What columns and items lose of their information; None where a row has not both."""
    lost = [row["loss"].get(side) for side in SIDES]
    return None if row["status"] != DONE or None in lost else (float(lost[0]), float(lost[1]))


def _frontiers(rows: Sequence[Row]) -> dict[tuple[int, ...], set[Point]]:
    """Per promise, what those rows lose of columns and items that no other beats."""
    points: dict[tuple[int, ...], list[Point]] = {}
    for row in rows:
        if (sides := sides_of(row)) is not None:
            points.setdefault(_promise(row), []).append(sides)
    return {promise: set(front_of(lost)) for promise, lost in points.items()}


def reasons_of(rows: Sequence[Row]) -> list[str]:
    """Why cells failed, each reason once with the rows that it is about."""
    found: dict[str, list[int]] = {}
    for row in rows:
        if row["status"] != DONE:
            found.setdefault(f"{WORDS[row['status']]}: {row['reason']}", []).append(row["row"])
    return [f"{'row' if len(about) == 1 else 'rows'} {ranges(about)}: {reason}" for reason, about in found.items()]


def ranges(numbers: Sequence[int]) -> str:
    """`3, 7-9`."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    return ", ".join(str(part[0]) if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


def document_of(results: Results, rows: Sequence[Row]) -> dict[str, Any]:
    """The whole comparison, as JSON has it."""
    comparison = results.comparison
    return {
        "plan": comparison.origin.name,
        "folder": results.folder,
        "axes": list(comparison.axes),
        "cells": len(results.tasks),
        **fields_of(results, "done", "failed", "missing", "kept", "interrupted", "jobs"),
        "notes": list(notes_of(results, rows)),
        "rows": [dict(row) for row in rows],
    }


def notes_of(results: Results, rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """What a reader of the table must know."""
    notes = list(results.comparison.notes)
    if any((row["jobs"] or 1) > 1 and row["seconds"] is not None for row in rows):
        text = "cells that ran side by side shared the machine: their times are for orientation"
        notes.append(Message(f"{text}; {option('jobs', 1)} measures"))
    if any(row["warm"] is False for row in rows):
        notes.append("some cells ran without a warm-up: their times may include loading or compiling")
    below = {str(row["algorithm"]) for row in rows if (row["above_optimum"] or 0) < -1e-12}
    notes += [f"below the optimum: {why}" for name, why in BELOW.items() if name in below]
    trees = {row["hierarchies"] for row in rows if row.get("hierarchies") is not None}
    if len(trees) > 1:
        notes.append(
            "losses along different hierarchies have different scales: a deeper tree makes the same step smaller"
        )
    return tuple(notes)
