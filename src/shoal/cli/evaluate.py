"""`shoal evaluate`: what a release costs, and what an attacker still learns from it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import options
from shoal.cli.plots import Plot, check_plot, write_plot
from shoal.cli.terminal import announce_compilation, console, print_json, printable, progress, table

if TYPE_CHECKING:
    from rich.console import Console

    from shoal.evaluation.evaluation import Evaluation

_BETWEEN, _MEASURES = "What lies between them", "What is measured"
_OF_PLAN = (
    *("hierarchy", "unknown", "sensitive", "quasi", "keep", "weights"),
    *("format", "separator", "numeric", "items", "id", "drop"),
)
"""What a plan says of the files on both sides of a release."""


@options.takes(
    *("hierarchy", "unknown", "k", "m", "weights", "threads", "sensitive"),
    *options.TABLES,
    hierarchy=options.changed(
        "hierarchy",
        "The hierarchy that published names come from, as for anonymize; for tables one per column.",
        group=_BETWEEN,
        default=None,
    ),
    k=options.changed("k", "The crowd that a person should hide in."),
    m=options.changed("m", "How many items of a person an attacker may know."),
    weights=options.changed("weights", "Tables: how much the loss of a column counts.", group=_MEASURES),
)
def evaluate(
    original: Annotated[
        str,
        typer.Argument(metavar="ORIGINAL", help="The file as it was; as DATA of other commands.", show_default=False),
    ],
    published: Annotated[
        str, typer.Argument(metavar="PUBLISHED", help="What was made of it, by any tool.", show_default=False)
    ],
    plan: Annotated[
        str | None,
        typer.Option(
            metavar="PLAN",
            help="The plan of the release: it says how to read both files, what names stand for, k and m. Flags beside it go first.",
            rich_help_panel=_BETWEEN,
        ),
    ] = None,
    rules: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="The file that anonymize --rules wrote with the release.", rich_help_panel=_BETWEEN
        ),
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
        typer.Option(
            metavar="FILE",
            help='Your own queries, one JSON object a line: {"items": ["milk"], "between": {"age": [20, 30]}, "among": {"sex": ["F"]}}.',
            rich_help_panel=_MEASURES,
        ),
    ] = None,
    pairs: Annotated[
        int, typer.Option(min=0, help="How many of the most frequent pairs to follow.", rich_help_panel=_MEASURES)
    ] = 100,
    sample: Annotated[
        int, typer.Option(min=0, help="How many people the linkage attack looks for.", rich_help_panel=_MEASURES)
    ] = 1000,
    seed: Annotated[
        int, typer.Option(min=0, help="For random queries and the sample of people.", rich_help_panel=_MEASURES)
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
    from shoal.records.database.address import queried

    check_plot(plot)
    original = queried(original, given.pop("query", None))
    given.pop("input_limit", None)
    terms: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
    said: dict[str, Any] = {}
    if plan is not None:
        from shoal.plan import read_plan
        from shoal.release import check_hash

        written_down = read_plan(plan)
        terms, said = written_down.speaking(), {name: written_down.request[name] for name in _OF_PLAN}
        said |= {name: getattr(written_down.guarantee, name, None) for name in ("k", "m")}
    asked = {name: value for name, value in (said | given).items() if value is not None}
    announce_compilation()
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
    write_plot(plot, before_after_plot(found))
    if json:
        print_json(found.to_dict())
    else:
        show_evaluation(found, console())


def show_evaluation(found: Evaluation, out: Console) -> None:
    """Loss, utility and risk as tables in words; what is not defined is left out and told at the end."""
    out.print()
    for side in (found.original, found.published):
        out.print(printable(side.source), style="bold", end="")
        out.print(
            f"  {side.rows:,} rows"
            + (f", {side.items:,} items, {side.occurrences:,} occurrences" if side.items else "")
        )
    for title, figure, rows in (
        ("What was lost", ">share", _lost(found)),
        ("What can still be asked", ">figure", _utility(found)),
    ):
        shown = table("", figure, "", title=title)
        for cells in rows:
            shown.add_row(*map(printable, cells))
        if shown.row_count:
            out.print(shown)
    classes = table(
        "classes", ">number", ">smallest", ">average", ">largest", ">discernibility", title="Rows that are equal"
    )
    for which, figures in found.classes.items():
        classes.add_row(
            which,
            f"{figures['classes']:,}",
            f"{figures['smallest']:,}",
            f"{figures['average']:.1f}",
            f"{figures['largest']:,}",
            f"{figures['discernibility']:,}",
        )
    out.print(classes)
    show_risk(found, out)
    for note in found.notes:
        out.print(f"note: {printable(note)}", style="yellow", soft_wrap=True)
    for measure, reason in found.not_defined.items():
        if measure in _TOLD and not reason.startswith(_LACKING):
            out.print(f"{_TOLD[measure]}: {printable(reason)}", style="dim", soft_wrap=True)


def show_risk(found: Evaluation, out: Console) -> None:
    """Who is found by what is known, before and after, and the linkage attack."""
    risk = table(
        "who knows", ">", f">risk over 1/{found.k}", ">alone", ">highest", ">average", title="Risk of being found"
    )
    for line in _risk(found):
        risk.add_row(*line)
    out.print(risk)
    _show_linkage(found, out)


_LACKING = ("not defined: there are no", "not defined for tables without items", "none were asked")
"""Nobody expects queries on columns of a file without columns."""
_TOLD = {
    "loss.items": "NCP of the items",
    "loss.edits": "items added and removed",
    "utility.pairs": "pairs",
    "utility.queries.items": "queries on items",
    "utility.queries.relational": "queries on columns",
    "utility.queries.mixed": "queries on both",
}


def _lost(found: Evaluation) -> Iterator[tuple[str, str, str]]:
    if found.items is not None:
        about = "estimated from counts" if found.items.estimated else ""
        yield "items (NCP)", f"{found.items.ncp:.2%}", about
        yield "  generalized", f"{found.items.generalized:.2%}", ""
        yield "  deleted", f"{found.items.deleted:.2%}", "of the original occurrences"
    if found.edits is not None:
        yield "items (IL)", f"{found.edits['il']:.2%}", "of the original occurrences"
        yield "  added", f"{found.edits['added']:.2%}", ""
        yield "  removed", f"{found.edits['removed']:.2%}", ""
    if found.columns is not None:
        yield "columns (NCP)", f"{found.columns['ncp']:.2%}", ""
        for name, share in found.columns["by_column"].items():
            yield f"  {name}", f"{share:.2%}", ""
        if found.ul is not None:
            yield "items (UL)", f"{found.ul['published']:.2%}", f"of the original itself: {found.ul['original']:.2%}"
    if found.ambiguity is not None:
        yield "ambiguity", f"{found.ambiguity:.2%}", "a guess by the bucket misses the row's own value"


def _utility(found: Evaluation) -> Iterator[tuple[str, str, str]]:
    if found.frequencies is not None:
        figures = found.frequencies.to_dict()
        yield "count of an item", f"{figures['weighted']:.2%}", "off, an average over all occurrences"
        yield "", f"{figures['median']:.2%}", "off at most, half of the items"
        yield "", f"{figures['exact']:.1%}", "of the items have their true count"
    if found.pairs is not None:
        figures = found.pairs.to_dict()
        yield (
            "frequent pairs",
            f"{figures['survival']:.1%}",
            f"of the {figures['top']:,} most frequent are so in the release",
        )
        yield "", f"{figures['support_error']:.2%}", "off, the counts of these pairs on average"
    if found.rules is not None and found.rules.rules:
        figures = found.rules.to_dict()
        yield "rules", f"{figures['missed']:.1%}", f"of {figures['rules']:,} rules (a => b) are missed"
        yield "", f"{figures['extra']:.1%}", "as many are shown that are none"
        yield "", f"{figures['confidence_error']:.2%}", "off, their confidence on average"
    if found.associations is not None and found.associations["rules"]:
        figures = dict(found.associations)
        yield "rules on values", f"{figures['missed']:.1%}", f"of {figures['rules']:,} rules (X => s) are missed"
        yield "", f"{figures['extra']:.1%}", "as many are shown that are none"
        yield "", f"{figures['confidence_error']:.2%}", "off, their confidence on average"
    for kind, name in _KINDS.items():
        figures_of_kind = found.queries.get(kind)
        if figures_of_kind:
            yield (
                name,
                f"{figures_of_kind['are']:.2%}",
                f"off (ARE), the answers to {figures_of_kind['queries']:,}; half of them at most {figures_of_kind['median']:.2%}",
            )


_KINDS = {
    "relational": "queries on columns",
    "items": "queries on items",
    "mixed": "queries on both",
    "workload": "your queries",
}


def _risk(found: Evaluation) -> Iterator[tuple[str, ...]]:
    """The curve over m, then everything; the release below the original."""
    columns = bool(found.columns)
    sets = found.original.items > 0
    sizes = sorted({exposure.m for curve in found.uniqueness.values() for exposure in curve})
    for m in sizes:
        for side, curve in found.uniqueness.items():
            who = _who(m, columns) if side == "before" else ""
            rows = (found.original if side == "before" else found.published).rows
            exposure = next((one for one in curve if one.m == m), None)
            if exposure is None:
                yield who, side, "-", "-", "", ""
                continue
            risk = found.prosecutor_m[side] if m == found.m or not sets else None
            last = (f"{risk.highest:.1%}", f"{risk.average:.2%}") if risk else ("", "")
            yield who, side, _share(exposure.exposed, rows), _share(exposure.unique, rows), *last
    if sets or not sizes:
        for side, risk in found.prosecutor.items():
            who = ("all columns and items" if columns and sets else "all items") if side == "before" else ""
            yield (
                who,
                side,
                _share(risk.over, risk.rows),
                _share(risk.unique, risk.rows),
                f"{risk.highest:.1%}",
                f"{risk.average:.2%}",
            )


def _who(m: int, columns: bool) -> str:
    if m == 0:
        return "all columns"
    items = "1 item" if m == 1 else f"up to {m} items"
    return f"all columns and {items}" if columns else items


def _show_linkage(found: Evaluation, out: Console) -> None:
    if found.linkage is None or not len(found.linkage):
        return
    figures: dict[str, Any] = found.linkage.to_dict()
    known = []
    if figures["columns_known"]:
        known.append(", ".join(figures["columns_known"]))
    if found.original.items:
        known.append(f"{found.m} items, drawn by lot" if found.m > 1 else "1 item, drawn by lot")
    shown = table(
        "people looked for",
        ">found alone",
        f">among fewer than {found.k}",
        ">not found",
        ">median crowd",
        title=f"Linkage: {len(found.linkage):,} people, known by {printable(' and '.join(known))}",
    )
    for side, where in (("before", "in the original"), ("after", "in the release")):
        one = figures[side]
        shown.add_row(
            where,
            f"{one['singled_out']:,}",
            f"{one['fewer_than_k']:,}",
            f"{one['not_found']:,}",
            f"{one['median']:,.0f}",
        )
    out.print(shown)


def _share(count: int, rows: int) -> str:
    return f"{count:,} ({count / max(1, rows):.1%})"
