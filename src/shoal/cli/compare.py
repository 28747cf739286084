"""`shoal compare`: many algorithms and parameters, one table and its plots."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import options
from shoal.cli.first_use import prepare
from shoal.cli.terminal import (
    console,
    duration,
    on_command_line,
    print_json,
    printable,
    say,
    show_notes,
    study_progress,
    table,
)
from shoal.errors import InputError, number_of

if TYPE_CHECKING:
    from rich.console import Console

    from shoal.studies.compare import Comparison, Results, Row, Tally

INTERRUPTED = 130
SECONDS_BETWEEN_LINES = 15.0
"""Of progress where nobody watches a terminal."""


@options.takes()
def compare(
    plan: Annotated[
        str,
        options.argument(
            "PLAN",
            "A plan, YAML or .json, with a grid under the key compare; without one, all algorithms of its model are compared.",
        ),
    ],
    output: Annotated[
        str | None,
        options.output(
            "DIR",
            "The folder of the comparison. Cells that are already there are kept.",
            "PLAN-comparison, beside PLAN",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, help="Cells to compute at a time; 1 for clean times.", show_default="the number of cores"),
    ] = None,
    limit: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Stop a cell that takes longer.", show_default="none")
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="How often each cell is computed, for times.")] = 1,
    field: Annotated[
        bool,
        options.flag(
            "--field",
            "Every algorithm that there is for the promise, whichever the plan names, ranked by what is kept.",
        ),
    ] = False,
    retry: Annotated[bool, options.flag("--retry", "Compute cells again that failed.")] = False,
    check: Annotated[
        bool, options.flag("--check", "Show the cells and which of them are there; compute nothing.")
    ] = False,
    print_plan: Annotated[
        int | None,
        typer.Option(
            metavar="ROW", min=1, help="Print the plan of one row, which runs by itself, and exit.", show_default=False
        ),
    ] = None,
    force: Annotated[bool, options.flag("--force", "Take a folder that holds other files.")] = False,
    show_values: options.ShowValues = False,
    json: options.Json = False,
    **given: Any,
) -> None:
    """Compare algorithms and parameters: one audited release for each cell of a grid, in a table, in files and on a page with plots.

    Finished cells are kept in the folder and recognized by content: Ctrl-C loses nothing, and the same command resumes. A cell that cannot
    be computed is a row with its reason. No release and no value of the data is written.

    [bold]shoal compare plan.yaml -o comparison[/bold]
    [bold]shoal compare plan.yaml --field --limit 60[/bold]
    """
    from shoal.studies.compare import compare as run
    from shoal.studies.compare import read_comparison, rows_of, write_files
    from shoal.studies.compare.comparison_table import document_of

    wanted = read_comparison(plan, field=field)
    if print_plan is not None:
        _print_plan(wanted, print_plan, repeats, json)
        return
    folder = output or default_folder(plan)
    if check:
        _check(wanted, folder, repeats, json)
        return
    prepare()
    with study_progress(_words, SECONDS_BETWEEN_LINES) as watch:
        results = run(wanted, folder, jobs=jobs, limit=limit, repeats=repeats, retry=retry, force=force, watch=watch)
    rows = rows_of(results)
    if rows:
        write_files(results, rows, on_command_line)
    if json:
        print_json(document_of(results, rows))
    else:
        show(results, rows, console())
    _end(results, rows)


def default_folder(plan: str) -> str:
    """Beside the plan, named after it."""
    return f"{os.path.splitext(plan)[0]}-comparison"


def show(results: Results, rows: Sequence[Row], out: Console) -> None:
    """The table, reasons, notes, and where the files are."""
    from shoal.studies.compare.comparison_page import is_figure, shown_cell, table_columns
    from shoal.studies.compare.comparison_table import notes_of, reasons_of

    if rows:
        columns, headings = _fitting(table_columns(results, rows), rows, out.width)
        made = table(*((">" if is_figure(rows, name) else "") + headings[name] for name in columns))
        for name, column in zip(columns, made.columns, strict=True):
            column.no_wrap = name != "hierarchies"
        for row in rows:
            made.add_row(*(printable(shown_cell(row, name)) for name in columns))
        out.print(made)
    for reason in reasons_of(rows):
        out.print(printable(reason), soft_wrap=True)
    show_notes(notes_of(results, rows), out)
    counts = [number_of(results.done, "audited release")]
    counts += [f"{results.failed:,} failed"] if results.failed else []
    counts += [f"{results.missing:,} not computed"] if results.missing else []
    kept = f" ({results.kept:,} kept from before)" if results.kept else ""
    out.print(f"{', '.join(counts)}{kept}", style="bold")
    if rows:
        out.print(f"table and plots: {printable(os.path.join(results.folder, 'comparison.html'))}", soft_wrap=True)


def _fitting(columns: Sequence[str], rows: Sequence[Row], width: int) -> tuple[list[str], dict[str, str]]:
    """The columns that fit on the terminal, and their headings.

    Headings are broken where it helps; then other losses go, then counts and memory, then what is kept, and last what the sides of a
    table lose. The files have all.
    """
    from shoal.studies.compare.comparison_page import HEADINGS, shown_cell
    from shoal.studies.compare.comparison_table import KEPT, SIDES, telling_losses

    headings = {name: HEADINGS.get(name, name) for name in columns}
    cells = {name: max(len(shown_cell(row, name)) for row in rows) for name in columns}

    def wide(names: Sequence[str]) -> int:
        return sum(max(cells[name], *map(len, headings[name].split("\n"))) + 3 for name in names)

    if wide(columns) > width:
        headings = {name: heading.replace(" ", "\n") for name, heading in headings.items()}
    kept = list(columns)
    shares = [name for name in columns if name.startswith(KEPT)]
    others = [name for name in telling_losses(rows)[1:] if name not in SIDES]
    for name in (*reversed(others), "classes", "peak_mb", *reversed(shares), *SIDES):
        if name in kept and wide(kept) > width:
            kept.remove(name)
    return kept, headings


def _end(results: Results, rows: Sequence[Row]) -> None:
    """Raises what the exit code asks for."""
    if results.interrupted:
        say(f"{number_of(results.missing, 'cell')} left; the same command goes on from here")
        raise typer.Exit(INTERRUPTED)
    if not results.done:
        from shoal.studies.compare.cell import UNREACHABLE

        say("no cell came to a release; the rows say why")
        raise typer.Exit(3 if all(row["status"] == UNREACHABLE for row in rows) else 2)


def _print_plan(wanted: Comparison, row: int, repeats: int, json: bool) -> None:
    from shoal.plan import plan_yaml

    if row > len(wanted.cells) * repeats:
        raise InputError(f"there is no row {row:,}; the comparison has {len(wanted.cells) * repeats:,}")
    cell = wanted.cells[(row - 1) // repeats]
    if cell.refused is not None:
        raise InputError(f"row {row:,} is not a plan that could be run: {cell.refused}")
    if json:
        print_json(dict(cell.document))
    else:
        typer.echo(plan_yaml(cell.plan(wanted.origin)), nl=False)


def _check(wanted: Comparison, folder: str, repeats: int, json: bool) -> None:
    """What would be computed."""
    from shoal.studies.compare.comparison import is_kept, tasks_of

    tasks = tasks_of(wanted, repeats)
    known = [is_kept(folder, task) for task in tasks]
    if json:
        cells: list[dict[str, Any]] = [
            {"row": i, **task.cell.settings, "repeat": task.repeat, "kept": kept, "refused": task.cell.refused}
            for i, (task, kept) in enumerate(zip(tasks, known, strict=True), start=1)
        ]
        print_json(
            {"plan": wanted.origin.name, "folder": folder, "axes": list(wanted.axes), "notes": list(wanted.notes)}
            | {"cells": cells}
        )
        return
    out = console()
    names = list(dict.fromkeys(name for task in tasks for name in task.cell.settings))
    states = [
        "there already" if kept else "refused" if task.cell.refused else ""
        for task, kept in zip(tasks, known, strict=True)
    ]
    made = table(">", *names, *([""] if any(states) else []))
    for i, (task, state) in enumerate(zip(tasks, states, strict=True), start=1):
        settings = [printable(str(task.cell.settings.get(name, ""))) for name in names]
        made.add_row(str(i), *settings, *([state] if any(states) else []))
    out.print(made)
    show_notes(wanted.notes, out)
    out.print(f"{number_of(len(tasks), 'cell')}, {sum(known):,} there already; nothing was computed", style="bold")


def _words(state: Tally) -> str:
    parts = [f"{state.finished:,} of {number_of(state.total, 'cell')}"]
    parts += [f"{state.kept:,} kept"] if state.kept else []
    parts += [f"{state.failed:,} failed"] if state.failed else []
    if state.remaining is not None and state.finished < state.total:
        parts.append(f"about {duration(state.remaining)} left")
    return ", ".join(parts)
