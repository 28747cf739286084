"""`shoal anonymize`: one release from flags."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import options
from shoal.cli.terminal import announce_compilation, console, counted, print_json, printable, progress, say, table
from shoal.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from shoal.release import Release

_OUTPUT, _SEARCH = "Writing", "The search"


def anonymize(
    data: options.Data,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="The file to publish, in the format its name tells; - for standard output.",
            rich_help_panel=_OUTPUT,
            show_default="none: only show what it would cost",
        ),
    ] = None,
    certificate: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Where the certificate goes.",
            rich_help_panel=_OUTPUT,
            show_default="OUT.certificate.json",
        ),
    ] = None,
    rules: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="A CSV that says what each original item became. For you, not for publication.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    force: Annotated[bool, options.flag("--force", "Overwrite files that exist.", _OUTPUT)] = False,
    keep_order: Annotated[
        bool, options.flag("--keep-order", "Do not shuffle the rows. Their order can give people away.", _OUTPUT)
    ] = False,
    model: options.Model = "km",
    k: options.K = 5,
    m: options.M = 2,
    hierarchy: options.HierarchySpec = "frequency:5",
    unknown: options.Unknown = None,
    algorithm: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="exact (the proven optimum); hybrid (also deletes single occurrences, for real hierarchies); or oa, da, aa as the 2008 "
            "paper has them.",
            show_default="exact",
            rich_help_panel=_SEARCH,
        ),
    ] = None,
    suppress: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            min=0,
            max=1,
            help="Up to this share of item occurrences may go: whole top-level categories (exact) or single occurrences (hybrid).",
            show_default="0, hybrid: 0.05",
            rich_help_panel=_SEARCH,
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Stop searching after this and take the best found so far (exact and hybrid).",
            rich_help_panel=_SEARCH,
        ),
    ] = None,
    threads: options.Threads = None,
    items: options.Items = None,
    id: options.Id = None,
    drop: options.Drop = None,
    separator: options.Separator = None,
    format: options.Format = None,
    json: options.Json = False,
) -> None:
    """Generalize a file of sets just enough to keep the promise, check it, and write it.

    Items move up a hierarchy (brie -> cheese -> dairy) until whoever knows up to m items of a person faces at least k rows.
    The result is audited as it stands in the file; if the promise does not hold, nothing is written.

    [bold]shoal anonymize baskets.csv -o public.csv --k 5 --m 2 --hierarchy tree.csv[/bold]
    """
    from shoal import release as way

    if output == "-" and json:
        raise InputError("-o - and --json both need standard output; write to a file, or leave --json out")
    if output is None and (certificate or rules or force):
        raise InputError("--certificate, --rules and --force need -o; without it nothing is written")
    guarantee = options.promise(model, k, m)
    if output is not None:
        way.Targets.of(output, certificate, rules).check(force=force, inputs=(data, hierarchy))
    announce_compilation()
    with progress() as tell:
        release = way.anonymize(
            data,
            guarantee,
            hierarchy=hierarchy,
            algorithm=algorithm,
            unknown=unknown,
            suppress=suppress,
            time_limit=time_limit,
            threads=threads,
            keep_order=keep_order,
            progress=tell,
            **options.reading(items, id, drop, separator, format),
        )
        if output is not None:
            release.write(output, certificate, rules, force, progress=tell)
    if json:
        print_json(release.to_dict())
    else:
        show_release(release, console(stderr=output == "-"))
    if output is None:
        say("nothing was written; name a file with -o to publish")


def show_release(release: Release, out: Console) -> None:
    """The promise, what it cost, how far items moved, and the files."""
    facts = release.to_dict()
    audit = release.audit
    out.print()
    out.print(f"{release.guarantee} holds", style="bold green", end="")
    out.print(
        f"  {counted(audit.checked, 'itemset')} counted in the published rows, none of them in fewer than {release.guarantee.k}"
    )
    out.print(release.guarantee.promise()[0])
    out.print(_figures(facts))
    moves = table("items", ">kinds", ">occurrences", ">share")
    for step in facts["levels"]:
        moves.add_row(
            _step(step["levels_up"]), f"{step['items']:,}", f"{step['occurrences']:,}", f"{step['share']:.1%}"
        )
    if facts["levels"]:
        out.print(moves)
    for note in facts["notes"]:
        out.print(f"note: {printable(note)}", style="yellow", soft_wrap=True)
    for what in ("output", "certificate", "rules"):
        if facts[what] not in (None, "-"):
            out.print(f"{what:<12} {printable(facts[what])}", soft_wrap=True)


def _figures(facts: dict[str, Any]) -> Any:
    from rich.table import Table

    loss, dropped = facts["loss"], facts["suppressed"]
    lines = Table.grid(padding=(0, 2))
    lines.add_row()
    lines.add_row("lost (NCP)", f"{loss['ncp']:.2%}", _proof(facts))
    if dropped["occurrences"]:
        lines.add_row(
            "  dropped",
            f"{dropped['share']:.2%}",
            f"{counted(dropped['occurrences'], 'occurrence')}, "
            + (
                f"{counted(dropped['categories'], 'whole category', 'whole categories')}"
                if dropped["categories"]
                else "one by one, where they made an itemset rare"
            ),
        )
    lines.add_row(
        "algorithm", facts["algorithm"], f"over {facts['hierarchy']['source']}, {facts['hierarchy']['leaves']:,} leaves"
    )
    lines.add_row("rows", f"{facts['rows']:,}", facts["row_order"])
    peak = f"{facts['peak_mb']:,.0f} MB at most" if facts["peak_mb"] else ""
    lines.add_row("time", f"{facts['seconds']:.1f} s", peak)
    return lines


def _proof(facts: dict[str, Any]) -> str:
    if facts["optimal"]:
        return "proven optimal: no cut through this hierarchy loses less"
    if facts["bound"] is not None and facts["bound"] >= 0.00005:  # less is shown as 0.00%, which says nothing
        means = "generalizing and deleting" if facts["algorithm"] == "hybrid" else "a cut through this hierarchy"
        return f"no release by {means} loses less than {facts['bound']:.2%}"
    return "not known to be optimal" + ("" if facts["algorithm"] == "hybrid" else "; --algorithm exact proves it")


def _step(levels_up: int | None) -> str:
    if levels_up is None:
        return "dropped"
    return {0: "as they are", 1: "1 level up"}.get(levels_up, f"{levels_up} levels up")
