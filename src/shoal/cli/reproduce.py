"""`shoal reproduce`: the experiments of the four papers, with what each states beside what comes out here."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from shoal.cli import options
from shoal.cli.terminal import announce_compilation, console, counted, print_json, printable, progress, say, table
from shoal.errors import InputError

SECONDS_BETWEEN_LINES = 30.0
"""Of progress where nobody watches a terminal."""


def reproduce(
    paper: Annotated[str, typer.Argument(metavar="PAPER", help="km, pta, injector, rt, or all.", show_default=False)],
    full: Annotated[
        bool,
        typer.Option("--full/--quick", help="Whole sweeps, in tens of minutes, or the ends of each, in a few minutes."),
    ] = False,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="For page.html, a CSV and plots for each figure, and figures.json.",
            show_default="reproduced-PAPER",
        ),
    ] = None,
    jobs: Annotated[
        int,
        typer.Option(min=1, help="Measurements at a time. More than 1 is sooner done, but times disturb each other."),
    ] = 1,
    most_rows: Annotated[
        int | None,
        typer.Option(min=50, metavar="N", help="Take no more than N rows of any data set.", show_default="all"),
    ] = None,
    json: options.Json = False,
) -> None:
    """Run the experiments of the papers that Shoal is built on, as far as their data are here.

    Data are looked for as by shoal datasets, and in the folder that SHOAL_DATA names. Interrupted, the same command goes on where it was.

    [bold]shoal reproduce km[/bold]
    """
    import shoal
    from shoal.reproducing import page
    from shoal.reproducing.figure import Mode
    from shoal.reproducing.papers import PAPERS
    from shoal.reproducing.papers import paper as module
    from shoal.reproducing.running import Cells, duration, estimated, machine, wanted
    from shoal.reproducing.sources import SEED

    names = PAPERS if paper == "all" else (paper,)
    mode = Mode(full, most_rows)
    figures = [figure for name in names for figure in module(name).figures(mode)]
    folder = Path(output or f"reproduced-{paper}")
    page.check_folder(folder)
    announce_compilation()
    with progress() as tell:
        cells = Cells(folder, jobs, tell or _lines())
        left = cells.missing(figures)
        known = len(wanted(figures)) - len(left)
        say(
            f"{counted(len(left), 'measurement')} to make, about {duration(estimated(left, jobs))}"
            + (f"; {known:,} are in {folder} already" if known else "")
        )
        try:
            outcomes = cells.outcomes(figures)
        except KeyboardInterrupt:
            say(f"what was measured is kept in {folder}; the same command goes on from there")
            raise
    facts = {"shoal": shoal.__version__, "papers": list(names), "mode": mode.name, "jobs": jobs}
    facts |= {"most_rows": most_rows, "seed": SEED, "machine": machine()}
    numbers = page.write(folder, outcomes, facts)
    if not any(outcome.ran for outcome in outcomes):
        reasons = [reason for outcome in outcomes for reason in outcome.why_not()]
        raise InputError(f"none of the experiments could run: {reasons[0] if reasons else 'there are none'}")
    if json:
        print_json(numbers | {"folder": str(folder)})
        return
    out = console()
    shown = table("figure", "what", "the paper's statements")
    for outcome in outcomes:
        words = ", ".join(outcome.words())
        shown.add_row(outcome.figure.name, printable(outcome.figure.title), words)
    out.print(shown)
    for note in dict.fromkeys(note for outcome in outcomes for note in outcome.stand_ins):
        out.print(f"note: {printable(note)}", style="yellow", soft_wrap=True)
    if most_rows is not None:
        note = f"no data set has more than {most_rows:,} rows: for a first look, not for results"
        out.print(f"note: {note}", style="yellow", soft_wrap=True)
    out.print(f"page         {printable(str(folder / page.PAGE))}", soft_wrap=True)


def _lines() -> Callable[[str, float], None]:
    """Progress for a log: a line now and then."""
    said = [time.monotonic()]

    def tell(doing: str, share: float) -> None:
        if time.monotonic() - said[0] >= SECONDS_BETWEEN_LINES:
            said[0] = time.monotonic()
            say(doing)

    return tell
