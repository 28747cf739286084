"""`shoal reproduce`: the experiments of the four papers, with what each states beside what comes out here."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli import options
from shoal.cli.first_use import prepare
from shoal.cli.terminal import console, duration, print_json, printable, say, show_notes, study_progress, table
from shoal.errors import InputError, number_of

if TYPE_CHECKING:
    from shoal.studies.study import Tally

SECONDS_BETWEEN_LINES = 30.0
"""Of progress where nobody watches a terminal."""


def reproduce(
    paper: Annotated[str, options.argument("PAPER", "km, pta, injector, rt, or all.")],
    full: Annotated[
        bool,
        typer.Option("--full/--quick", help="Whole sweeps, in tens of minutes, or the ends of each, in a few minutes."),
    ] = False,
    output: Annotated[
        str | None,
        options.output(
            "FOLDER", "For page.html, a CSV and plots for each figure, and figures.json.", "reproduced-PAPER"
        ),
    ] = None,
    jobs: Annotated[
        int,
        typer.Option(min=1, help="Measurements at a time. More than 1 is faster, but they disturb each other's times."),
    ] = 1,
    most_rows: Annotated[
        int | None,
        typer.Option(min=50, metavar="N", help="Take no more than N rows of any data set.", show_default="all"),
    ] = None,
    json: options.Json = False,
) -> None:
    """Run the experiments of the papers that Shoal is built on, as far as their data are available.

    Data are looked for as by shoal datasets, and in the folder that SHOAL_DATA names. After an interruption the same command resumes.

    [bold]shoal reproduce km[/bold]
    """
    import shoal
    from shoal.studies.papers import PAPERS, paper_page
    from shoal.studies.papers import paper as module
    from shoal.studies.papers.figure import Mode
    from shoal.studies.papers.reproduction import Reproduction, machine, seconds_ahead, tasks_of
    from shoal.studies.papers.sources import SEED

    names = PAPERS if paper == "all" else (paper,)
    mode = Mode(full, most_rows)
    figures = [figure for name in names for figure in module(name).figures(mode)]
    folder = Path(output or f"reproduced-{paper}")
    study = Reproduction(folder)
    study.folder.make()
    prepare()
    left = study.missing(figures)
    known = len(tasks_of(figures)) - len(left)
    say(
        f"{number_of(len(left), 'measurement')} to make, about {duration(seconds_ahead(left, jobs))}"
        + (f"; {known:,} are in {folder} already" if known else "")
    )
    try:
        with study_progress(_words, SECONDS_BETWEEN_LINES) as watch:
            outcomes = study.outcomes(figures, jobs, watch)
    except KeyboardInterrupt:
        say(f"what was measured is kept in {folder}; the same command goes on from there")
        raise
    facts = {"shoal": shoal.__version__, "papers": list(names), "mode": mode.name, "jobs": jobs}
    facts |= {"most_rows": most_rows, "seed": SEED, "machine": machine()}
    numbers = paper_page.write_results(folder, outcomes, facts)
    if not any(outcome.ran for outcome in outcomes):
        reasons = [reason for outcome in outcomes for reason in outcome.why_not()]
        raise InputError(f"none of the experiments could run: {reasons[0] if reasons else 'there are none'}")
    if json:
        print_json(numbers | {"folder": str(folder)})
        return
    out = console()
    shown = table("figure", "what", "the paper's statements")
    for outcome in outcomes:
        words = ", ".join(outcome.words()) + (f"; {gap}" if (gap := outcome.gap()) else "")
        shown.add_row(outcome.figure.name, printable(outcome.figure.title), words)
    out.print(shown)
    show_notes(dict.fromkeys(note for outcome in outcomes for note in outcome.stand_ins), out)
    if most_rows is not None:
        note = f"no data set has more than {most_rows:,} rows: for a first look, not for results"
        out.print(f"note: {note}", style="yellow", soft_wrap=True)
    out.print(f"page         {printable(str(folder / paper_page.PAGE))}", soft_wrap=True)


def _words(state: Tally) -> str:
    left = "" if state.remaining is None else f", about {duration(state.remaining)} left"
    at = min(state.finished + 1, state.total)
    return f"{at:,} of {number_of(state.total, 'measurement')}{left}: {state.latest}"[:150]
