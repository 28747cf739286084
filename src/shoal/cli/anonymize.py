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
            help="The file to publish, in the format its name tells; - for standard output; an address with a new table for a "
            "database.",
            rich_help_panel=_OUTPUT,
            show_default="none: only show what it would cost",
        ),
    ] = None,
    certificate: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Where the certificate goes: .json, .html or .pdf.",
            rich_help_panel=_OUTPUT,
            show_default="OUT.certificate.json; for a table it must be named",
        ),
    ] = None,
    rules: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="A CSV that says what each original item, or class of rows, became. For you, not for publication.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    report: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="A JSON with all figures, exact, also those that the certificate rounds or keeps back. For you, not for publication.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    sign: Annotated[
        str | None,
        typer.Option(
            metavar="KEY",
            help="Sign the certificate with this private key (ed25519, PEM; shoal verify --new-key makes one).",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    force: Annotated[bool, options.flag("--force", "Overwrite files and replace a table that exist.", _OUTPUT)] = False,
    keep_order: Annotated[
        bool, options.flag("--keep-order", "Do not shuffle the rows. Their order can give people away.", _OUTPUT)
    ] = False,
    model: options.Model = "km",
    k: options.Crowd = None,
    m: options.M = None,
    l: options.L = None,  # noqa: E741
    sensitive: options.Sensitive = None,
    missing: options.Missing = None,
    hierarchy: options.HierarchySpecs = None,
    unknown: options.Unknown = None,
    algorithm: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="km: [bold]exact[/bold] (the proven optimum), [bold]hybrid[/bold] (also deletes single occurrences), "
            "lra (each part of the rows with a cut of its own), or oa, da, aa as the 2008 paper has them. "
            "k: [bold]split[/bold] (loses least), or pta, gsc, gray-tsp as the 2017 paper has "
            "them; in tables cluster or mondrian. rt and lm: rmerge-r, -t or -rt (relational loss within --delta), tmerge-r, -t or -rt "
            "(item loss within it), rfirst, tfirst. diversity: injector, balanced (smaller buckets) or anatomy (knows no rules).",
            show_default="the first of each",
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
            help="Stop searching after this and take the best found so far (exact, hybrid, lra and split).",
            rich_help_panel=_SEARCH,
        ),
    ] = None,
    segments: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="pta and gray-tsp: cut the sorted rows into N parts. Unless given, as many as leave each about 100 rows, or 4k if that is "
            "more, so that the distances in a segment fit the cache of a processor. lra: the most parts with a cut of their own.",
            show_default="rows / 100",
            rich_help_panel=_SEARCH,
        ),
    ] = None,
    population: Annotated[
        int | None,
        typer.Option(metavar="N", help="gray-tsp: loops that evolve.", show_default="50", rich_help_panel=_SEARCH),
    ] = None,
    generations: Annotated[
        int | None,
        typer.Option(metavar="N", help="gray-tsp: rounds of evolution.", show_default="100", rich_help_panel=_SEARCH),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="For what draws lots (split, gray-tsp, and cluster, which the merges start from).",
            show_default="0",
            rich_help_panel=_SEARCH,
        ),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            min=0,
            max=1,
            help="rmerge: the largest loss (NCP) of the quasi columns; tmerge: the largest loss (UL) of the items. The other side loses as "
            "little as it can.",
            show_default="0.65",
            rich_help_panel=_SEARCH,
        ),
    ] = None,
    formation: Annotated[
        str | None,
        typer.Option(
            help="rt and lm: how clusters are formed before they are merged, cluster or mondrian (faster).",
            show_default="cluster",
            rich_help_panel=_SEARCH,
        ),
    ] = None,
    transaction: Annotated[
        str | None,
        typer.Option(
            help="rt and lm: how items are generalized inside a cluster: sets (no hierarchy), aa or exact (under one). Unless named, aa "
            "under a hierarchy, and sets where that would leave nothing but its root.",
            show_default="sets, aa under a hierarchy",
            rich_help_panel=_SEARCH,
        ),
    ] = None,
    ordering: Annotated[
        str | None,
        typer.Option(
            help="rt and lm: how near two clusters are in items: btd (fast) or ul (the paper's slow baseline).",
            show_default="btd",
            rich_help_panel=_SEARCH,
        ),
    ] = None,
    weight: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COL=NUMBER",
            help="Tables: how much the loss of a column counts; may be repeated.",
            show_default="1 each",
            rich_help_panel=_SEARCH,
        ),
    ] = None,
    item_weight: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ITEM=NUMBER",
            help="rt and lm: how much an item matters for UL, from 0 to 1; may be repeated.",
            show_default="1 each",
            rich_help_panel=_SEARCH,
        ),
    ] = None,
    min_exp: options.MinExp = None,
    min_conf: options.MinConf = None,
    max_length: options.MaxLength = None,
    fuzzy: options.Fuzzy = None,
    knowledge: options.Knowledge = None,
    threads: options.Threads = None,
    memory_limit: options.MemoryLimit = None,
    quasi: options.Quasi = None,
    items: options.Items = None,
    keep: options.Keep = None,
    numeric: options.Numeric = None,
    id: options.Id = None,
    drop: options.Drop = None,
    separator: options.Separator = None,
    format: options.Format = None,
    query: options.Query = None,
    engine: options.Engine = None,
    print_plan: Annotated[
        bool,
        options.flag("--print-plan", "Print the plan that these flags stand for, for shoal run, and do nothing else."),
    ] = False,
    input_limit: options.InputLimit = None,
    show_values: options.ShowValues = False,
    json: options.Json = False,
) -> None:
    """Change a file of sets, or a table, just enough to keep the promise, check it, and write it.

    With --model km, items move up a hierarchy (brie -> cheese -> dairy) until whoever knows up to m items of a person faces at least k
    rows. With --model k, items are added and removed until every row has k - 1 twins. With --model rt and lm, a table with columns and
    items is clustered, and values and items are generalized in each cluster. The result is audited as it stands in the file; if the
    promise does not hold, nothing is written.

    [bold]shoal anonymize baskets.csv -o public.csv --k 5 --m 2 --hierarchy tree.csv[/bold]

    [bold]shoal anonymize baskets.csv -o public.csv --model k --k 10[/bold]

    [bold]shoal anonymize patients.csv -o public.csv --model rt --k 10 --quasi age,sex --items diagnoses --drop id[/bold]

    [bold]shoal anonymize 'sqlite:clinic.db?table=visits' -o public.csv --items codes --drop id,age[/bold]
    """
    from shoal import release as way
    from shoal.records.database.address import queried

    if output == "-" and json:
        raise InputError("-o - and --json both need standard output; write to a file, or leave --json out")
    if output is None and (certificate or rules or report or force or sign):
        raise InputError("--certificate, --rules, --report, --sign and --force need -o; without it nothing is written")
    guarantee = options.promise(model, k, m, l, quasi, missing=missing)
    trees = options.hierarchies(hierarchy)
    on_spark = options.is_spark(engine)
    if output is not None and not on_spark:
        specs = trees.values() if isinstance(trees, dict) else [trees]
        inputs = tuple(given for given in (queried(data, query), *specs, sensitive, knowledge) if given is not None)
        way.Targets.of(output, certificate, rules, sign, report).check(force=force, inputs=inputs)
    asked = {
        "hierarchy": trees,
        "algorithm": algorithm,
        "unknown": unknown,
        "sensitive": sensitive,
        "quasi": quasi,
        "keep": keep,
        "suppress": suppress,
        "time_limit": time_limit,
        "segments": segments,
        "population": population,
        "generations": generations,
        "seed": seed,
        "delta": delta,
        "formation": formation,
        "transaction": transaction,
        "ordering": ordering,
        "weights": options.numbers(weight, "--weight", "age=2"),
        "item_weights": options.numbers(item_weight, "--item-weight", "HIV=1"),
        "min_exp": min_exp,
        "min_conf": min_conf,
        "max_length": max_length,
        "fuzzy": options.numbers(fuzzy, "--fuzzy", "age=5"),
        "knowledge": knowledge,
        "threads": threads,
        "memory_limit": memory_limit,
        "input_limit": input_limit,
        "keep_order": keep_order,
        **options.reading(items, id, drop, separator, format, numeric, query),
    }
    if print_plan:
        from shoal.plan import plan_from, plan_yaml

        kept: dict[str, Any] = {"certificate": certificate, "rules": rules, "report": report, "sign": sign}
        plan = plan_from(data, guarantee, output=output, engine=engine, **kept, **asked)
        typer.echo(plan_yaml(plan), nl=False)
        return
    if on_spark:
        from shoal.cli.spark import anonymize_on_spark

        asked |= {"rules": rules, "report": report, "sign": sign, "force": force}
        anonymize_on_spark(engine, data, guarantee, asked, output=output, certificate=certificate, json=json)
        return
    announce_compilation()
    with progress() as tell:
        release = way.anonymize(data, guarantee, progress=tell, **asked)
        if output is not None:
            release.write(output, certificate, rules, force, sign=sign, report=report, progress=tell)
    if json:
        print_json(release.to_dict())
    else:
        show_release(release, console(stderr=output == "-"))
    if output is None:
        say("nothing was written; name a file with -o to publish")


def show_release(release: Release, out: Console) -> None:
    """The promise, what it cost, how items changed, and the files."""
    from shoal.algorithms import kind_of

    facts = release.to_dict()
    out.print()
    out.print(f"{release.guarantee} holds", style="bold green", end="")
    out.print(f"  {_counted(release)}")
    out.print(release.guarantee.promise()[0])
    out.print(_FIGURES[kind_of(release.guarantee)](facts))
    if facts.get("levels"):
        moves = table("items", ">kinds", ">occurrences", ">share")
        for step in facts["levels"]:
            moves.add_row(
                _step(step["levels_up"]), f"{step['items']:,}", f"{step['occurrences']:,}", f"{step['share']:.1%}"
            )
        out.print(moves)
    for note in [*facts["notes"], *release.audit.notes]:
        out.print(f"note: {printable(note)}", style="yellow", soft_wrap=True)
    for what in ("output", "certificate", "rules", "report"):
        if facts[what] not in (None, "-"):
            out.print(f"{what:<12} {printable(facts[what])}", soft_wrap=True)


def _counted(release: Release) -> str:
    checked = release.audit.checked
    if release.guarantee.model == "diversity":
        fewest = release.audit.facts["fewest_values"]
        return f"{counted(checked, 'row')} looked at, each with {fewest} possible values or more"
    k = release.guarantee.k
    if release.guarantee.model == "k":
        return f"{counted(checked, 'class', 'classes')} of equal rows counted, none of fewer than {k}"
    if release.guarantee.model in ("rt", "lm"):
        what = counted(checked, "class and itemset", "classes and itemsets")
        return f"{what} counted in the published table, none in fewer than {k} rows"
    return f"{counted(checked, 'itemset')} counted in the published rows, none of them in fewer than {k}"


def _generalized(facts: dict[str, Any]) -> Any:
    loss, dropped = facts["loss"], facts["suppressed"]
    lines = _lines()
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
    return _ended(lines, facts)


def _grouped(facts: dict[str, Any]) -> Any:
    loss, classes = facts["loss"], facts["classes"]
    lines = _lines()
    bound = facts["bound"]
    told = f"no release of this kind loses less than {bound:.2%}" if bound and bound >= 0.00005 else ""
    lines.add_row("lost", f"{loss['il']:.2%}", told or "of the item occurrences, added and removed together")
    lines.add_row("  added", f"{loss['added']:.2%}")
    lines.add_row("  removed", f"{loss['removed']:.2%}")
    lines.add_row(
        "classes",
        f"{classes['count']:,}",
        f"of {classes['smallest']:,} to {classes['largest']:,} rows, {classes['average']:.1f} on average",
    )
    lines.add_row("algorithm", facts["algorithm"], _parameters(facts))
    return _ended(lines, facts)


def _parameters(facts: dict[str, Any]) -> str:
    segments = facts["facts"].get("segments")
    return counted(segments, "segment") if segments else ""


def _lines() -> Any:
    from rich.table import Table

    lines = Table.grid(padding=(0, 2))
    lines.add_row()
    return lines


def _ended(lines: Any, facts: dict[str, Any]) -> Any:
    lines.add_row("rows", f"{facts['rows']:,}", facts["row_order"])
    peak = f"{facts['peak_mb']:,.0f} MB at most" if facts["peak_mb"] else ""
    lines.add_row("time", f"{facts['seconds']:.1f} s", peak)
    return lines


def _clustered(facts: dict[str, Any]) -> Any:
    loss, classes = facts["loss"], facts["classes"]
    lines = _lines()
    by_column = ", ".join(f"{column} {lost:.1%}" for column, lost in facts["ncp_by_column"].items())
    lines.add_row("columns lost", f"{loss['ncp']:.2%}", f"NCP ({by_column})")
    if "ul" in loss:
        lines.add_row("items lost", f"{loss['items_ncp']:.2%}", f"NCP; UL {loss['ul']:.4f}")
    lines.add_row(
        "classes",
        f"{classes['count']:,}",
        f"of {classes['smallest']:,} to {classes['largest']:,} rows, {classes['average']:.1f} on average",
    )
    delta = facts["parameters"].get("delta")
    lines.add_row("algorithm", facts["algorithm"], "" if delta is None else f"within delta = {delta:g}")
    return _ended(lines, facts)


def _bucketized(facts: dict[str, Any]) -> Any:
    buckets, known = facts["buckets"], facts["knowledge"]
    lines = _lines()
    lines.add_row(
        "ambiguity",
        f"{facts['loss']['ambiguity']:.2%}",
        "of the rows, dealt a value by lot, get another than their own",
    )
    lines.add_row(
        "buckets",
        f"{buckets['buckets']:,}",
        f"of {buckets['smallest_bucket']:,} to {buckets['largest_bucket']:,} rows, {buckets['average_bucket']:.2f} on average",
    )
    if known is not None:
        lines.add_row(
            "rules",
            f"{known['rules'] - known['redundant']:,}",
            "that an attacker may know; --rules FILE writes them for you",
        )
    lines.add_row(
        "algorithm", facts["algorithm"], "" if known is not None else "it knows no rules: look at shoal attack"
    )
    return _ended(lines, facts)


_FIGURES = {
    "diversity": _bucketized,
    "km": _generalized,
    "k": _grouped,
    "table": _clustered,
    "rt": _clustered,
    "lm": _clustered,
}


def _proof(facts: dict[str, Any]) -> str:
    if facts["optimal"]:
        return "proven optimal: no cut through this hierarchy loses less"
    if facts["bound"] is not None and facts["bound"] >= 0.00005:  # less is shown as 0.00%, which says nothing
        means = "generalizing and deleting" if facts["algorithm"] == "hybrid" else "a cut through this hierarchy"
        return f"no release by {means} loses less than {facts['bound']:.2%}"
    if "local" in facts:
        return f"one cut for all rows would lose {facts['local']['ncp_of_cut']:.2%}"
    return "not known to be optimal" + ("" if facts["algorithm"] == "hybrid" else "; --algorithm exact proves it")


def _step(levels_up: int | None) -> str:
    if levels_up is None:
        return "dropped"
    return {0: "as they are", 1: "1 level up"}.get(levels_up, f"{levels_up} levels up")
