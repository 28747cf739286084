"""`shoal evaluate`: what a release costs, and what an attacker still learns from it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import options
from shoal.cli.anonymize import fate_table
from shoal.cli.first_use import prepare
from shoal.cli.plots import Plot, check_plot, write_plot
from shoal.cli.terminal import console, print_json, printable, progress, share, show_notes, table
from shoal.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from shoal.evaluation.evaluation import Evaluation

_BETWEEN, _MEASURES = "What lies between them", "What is measured"
_OF_PLAN = ("hierarchy", "unknown", "sensitive", "quasi", "keep", "weights")
"""What a plan says of the files on both sides of a release, besides how they are read."""


@options.takes(
    *("hierarchy", "unknown", "k", "m", "weights", "threads", "sensitive"),
    *options.TABLES,
    hierarchy=options.option_with(
        "hierarchy",
        "The hierarchy that published names come from, as for anonymize; for tables one per column.",
        group=_BETWEEN,
        default=None,
    ),
    k=options.option_with("k", "The crowd that a person should hide in."),
    m=options.option_with("m", "How many items of a person an attacker may know."),
    weights=options.option_with("weights", "Tables: how much the loss of a column counts.", group=_MEASURES),
)
def evaluate(
    original: Annotated[
        str,
        options.argument("ORIGINAL", "The original file, as DATA of other commands."),
    ],
    published: Annotated[str, options.argument("PUBLISHED", "What was made of it, by any tool.")],
    plan: Annotated[
        str | None,
        options.value(
            "PLAN",
            "The plan of the release: it says how to read both files, what names stand for, k and m. Flags override it.",
            _BETWEEN,
        ),
    ] = None,
    rules: Annotated[
        str | None,
        options.value("FILE", "The file that anonymize --rules wrote with the release.", _BETWEEN),
    ] = None,
    same_order: Annotated[
        bool,
        options.flag(
            "--same-order",
            "Row 1 of PUBLISHED is row 1 of ORIGINAL, and so on (anonymize --keep-order): some measures are exact or "
            "possible only then.",
            _BETWEEN,
        ),
    ] = False,
    queries: Annotated[int, typer.Option(min=0, help="Random queries of each kind.", rich_help_panel=_MEASURES)] = 100,
    workload: Annotated[
        str | None,
        options.value(
            "FILE",
            'Your own queries, one JSON object per line: {"items": ["milk"], "between": {"age": [20, 30]}, "among": {"sex": ["F"]}}.',
            _MEASURES,
        ),
    ] = None,
    pairs: Annotated[
        int, typer.Option(min=0, help="How many of the most frequent pairs to follow.", rich_help_panel=_MEASURES)
    ] = 100,
    sample: Annotated[
        int, typer.Option(min=0, help="How many people the linkage attack looks for.", rich_help_panel=_MEASURES)
    ] = 1000,
    seed: Annotated[
        int, typer.Option(min=0, help="Fixes the random queries and the sample of people.", rich_help_panel=_MEASURES)
    ] = 0,
    plot: Plot = None,
    show_values: options.ShowValues = False,
    json: options.Json = False,
    **given: Any,
) -> None:
    """Measure what a release lost, how well it answers questions, and the risk before and after.

    It works on any pair of files. What a published name stands for comes from --plan, --hierarchy or --rules; names such as (A,B) and
    [20:29] explain themselves. Rows may be in any order.

    [bold]shoal evaluate baskets.csv public.csv --plan plan.yaml[/bold]

    [bold]shoal evaluate baskets.csv public.csv --hierarchy tree.csv[/bold]

    [bold]shoal evaluate patients.csv public.csv --quasi age,sex --items diagnoses --drop id[/bold]
    """
    from shoal.drawing.risk_plots import before_after_plot
    from shoal.evaluation.evaluation import evaluate as evaluated
    from shoal.records.database.address import with_query

    check_plot(plot)
    original = with_query(original, given.pop("query", None))
    given.pop("input_limit", None)
    terms: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
    said: dict[str, Any] = {}
    if plan is not None:
        from shoal.plan import read_plan
        from shoal.publish import check_hash

        written_down = read_plan(plan)
        terms, said = (
            written_down.speaking(),
            {name: written_down.request[name] for name in _OF_PLAN} | written_down.reading(),
        )
        said |= {name: getattr(written_down.guarantee, name, None) for name in ("k", "m")}
    asked = {name: value for name, value in (said | given).items() if value is not None}
    prepare()
    with progress() as tell, terms:
        found = evaluated(
            original,
            published,
            rules=rules,
            same_order=same_order,
            queries=queries,
            workload=workload,
            pairs=pairs,
            sample=sample,
            seed=seed,
            progress=tell,
            **asked,
        )
    if plan is not None:
        check_hash(written_down, found.original.sha256)
    if plot is not None and found["risk.uniqueness"] is None:
        raise InputError("there are no rows in a release in chunks to plot the risk of; leave out --plot")
    write_plot(plot, before_after_plot(found))
    if json:
        print_json(found.to_dict())
    else:
        show_evaluation(found, console())


def show_evaluation(found: Evaluation, out: Console) -> None:
    """Loss, utility and risk as tables in words; what is not defined is left out and listed at the end."""
    out.print()
    for side in (found.original, found.published):
        out.print(printable(side.source), style="bold", end="")
        out.print(
            f"  {side.rows:,} rows"
            + (f", {side.items:,} items, {side.occurrences:,} occurrences" if side.items else "")
        )
    for title, figure, part in (
        ("What is kept", ">share", "kept"),
        ("What was lost", ">share", "loss"),
        ("What can still be asked", ">figure", "utility"),
    ):
        shown = table("", figure, "", title=title)
        for cells in found.lines(part):
            shown.add_row(*map(printable, cells))
        if shown.row_count:
            out.print(shown)
        if part == "kept" and (items := found.measures.get("kept.items")):
            out.print(fate_table(items["commonest"]))
    classes = table(
        "classes", ">number", ">smallest", ">average", ">largest", ">discernibility", title="Rows that are equal"
    )
    for which, figures in (found["loss.classes"] or {}).items():
        classes.add_row(
            which,
            f"{figures['classes']:,}",
            f"{figures['smallest']:,}",
            f"{figures['average']:.1f}",
            f"{figures['largest']:,}",
            f"{figures['discernibility']:,}",
        )
    if classes.row_count:
        out.print(classes)
    if found["risk.uniqueness"] is not None:
        show_risk(found, out)
    show_notes(found.notes, out)
    for title, reason in found.surprises():
        out.print(f"{title}: {printable(reason)}", style="dim", soft_wrap=True)


def show_risk(found: Evaluation, out: Console) -> None:
    """Who is found by what is known, before and after, and the linkage attack."""
    risk = table(
        "who knows", ">", f">risk over 1/{found.k}", ">alone", ">highest", ">average", title="Risk of being found"
    )
    for line in _risk(found):
        risk.add_row(*line)
    out.print(risk)
    _show_linkage(found, out)


def _risk(found: Evaluation) -> Iterator[tuple[str, ...]]:
    """The curve over m, then everything; the release below the original."""
    columns = bool(found["loss.columns"])
    sets = found.original.items > 0
    curves = found["risk.uniqueness"]
    sizes = sorted({exposure.m for curve in curves.values() for exposure in curve.exposures})
    for m in sizes:
        for side, curve in curves.items():
            who = _who(m, columns) if side == "before" else ""
            exposure = next((one for one in curve.exposures if one.m == m), None)
            if exposure is None:
                yield who, side, "-", "-", "", ""
                continue
            risk = found["risk.prosecutor_m"][side] if m == found.m or not sets else None
            last = (f"{risk.highest:.1%}", f"{risk.average:.2%}") if risk else ("", "")
            yield who, side, share(exposure.exposed, curve.rows), share(exposure.unique, curve.rows), *last
    if sets or not sizes:
        for side, risk in found["risk.prosecutor"].items():
            who = ("all columns and items" if columns and sets else "all items") if side == "before" else ""
            over, alone = share(risk.over, risk.rows), share(risk.unique, risk.rows)
            yield who, side, over, alone, f"{risk.highest:.1%}", f"{risk.average:.2%}"


def _who(m: int, columns: bool) -> str:
    if m == 0:
        return "all columns"
    items = "1 item" if m == 1 else f"up to {m} items"
    return f"all columns and {items}" if columns else items


def _show_linkage(found: Evaluation, out: Console) -> None:
    linkage = found["risk.linkage"]
    if not len(linkage):
        return
    figures: dict[str, Any] = linkage.to_dict()
    known = []
    if figures["columns_known"]:
        known.append(", ".join(figures["columns_known"]))
    if found.original.items:
        known.append(f"{found.m} random items" if found.m > 1 else "1 random item")
    shown = table(
        "people looked for",
        ">found alone",
        f">among fewer than {found.k}",
        ">not found",
        ">median crowd",
        title=f"Linkage: {len(linkage):,} people, known by {printable(' and '.join(known))}",
    )
    for side, where in (("before", "in the original"), ("after", "in the release")):
        one = figures[side]
        counts = (f"{one[name]:,}" for name in ("singled_out", "fewer_than_k", "not_found"))
        shown.add_row(where, *counts, f"{one['median']:,.0f}")
    out.print(shown)
