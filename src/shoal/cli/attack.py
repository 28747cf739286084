"""`shoal attack`: linkage, homogeneity, and background knowledge against a release."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from shoal.cli import options
from shoal.cli.evaluate import show_risk
from shoal.cli.plots import Plot, check_plot, write_plot
from shoal.cli.terminal import (
    announce_compilation,
    console,
    counted,
    print_json,
    printable,
    progress,
    table,
    values_shown,
)
from shoal.errors import InputError
from shoal.options import KNOWLEDGE
from shoal.records.database.address import without_password

SUCCEEDED = 3


@options.takes(
    *("knowledge", "min_exp", "max_length", "l", "k", "m", "sensitive", "missing", "hierarchy", "threads"),
    *options.TABLES,
    k=options.changed("k", "The crowd: nobody is narrowed down to fewer than k rows."),
)
def attack(
    data: options.Data,
    raw: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The raw data: whom the attacker looks for or, for buckets, whose rules the attacker knows.",
            rich_help_panel=KNOWLEDGE,
        ),
    ] = None,
    sample: Annotated[
        int, typer.Option(min=1, help="Linkage: how many people to look for.", rich_help_panel=KNOWLEDGE)
    ] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Linkage: for the draw of people.", rich_help_panel=KNOWLEDGE)] = 0,
    rules: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Linkage: the file that anonymize --rules wrote with the release.",
            rich_help_panel=KNOWLEDGE,
        ),
    ] = None,
    examples: Annotated[int, typer.Option(min=0, help="Buckets: rows to show.")] = 5,
    plot: Plot = None,
    show_values: options.ShowValues = False,
    json: options.Json = False,
    **given: Any,
) -> int:
    """Play the attacker on a release.

    Linkage: people of the --raw data, drawn by lot, are looked for in the release by all --quasi columns and up to m of their items;
    how many are found alone, or among fewer than k?

    Homogeneity (--sensitive, without --raw): whoever finds the rows that agree in all --quasi columns and all other items takes the
    sensitive value that most of them have. Of how many people is that certain, or, with --l, likelier than 1/l?

    Buckets (a table with a column `bucket`): the attacker knows rules such as "men do not have ovarian cancer": those of --knowledge,
    those that the --raw table shows, or, without either, those that the release itself shows (a value that stands in no bucket with
    such a row); and that every value of a bucket belongs to exactly one of its rows. How many rows have fewer than l values left?

    Exit code 0: nobody is found; 3: somebody is.

    [bold]shoal attack public.csv --raw baskets.csv --hierarchy tree.csv --k 5 --m 2[/bold]

    [bold]shoal attack public.csv --quasi age,sex --sensitive diagnosis[/bold]

    [bold]shoal attack buckets.csv --raw adult.csv --quasi age,sex --sensitive occupation --l 3[/bold]
    """
    from shoal.guarantees.diversity import BUCKET
    from shoal.records.database.address import queried
    from shoal.records.formats.peek import column_names

    check_plot(plot)
    data = queried(data, given.pop("query", None))
    given.pop("input_limit", None)
    if BUCKET not in column_names(data, given.get("format")):
        if "knowledge" in given:
            raise InputError(f"--knowledge is for buckets, and there is no column {BUCKET!r}; leave it out")
        if raw is None:
            if "sensitive" not in given:
                raise InputError(
                    "whom does the attacker look for? give the raw data with --raw, or what the attacker wants to learn with "
                    f"--sensitive (a column {BUCKET!r} would make it buckets)"
                )
            for name, value in (("m", given.get("m")), ("rules", rules), ("hierarchy", given.get("hierarchy"))):
                if value is not None:
                    raise InputError(f"--{name} has no use without --raw; leave it out")
            if "min_exp" in given:
                raise InputError("--min-exp has no use without --raw; leave it out")
            return _homogeneity(data, given, examples, plot, json)
        for name in ("missing", "l"):
            if name in given:
                raise InputError(f"--{name} is for homogeneity and buckets; leave it out, or leave out --raw")
        between = {name: value for name, value in given.items() if name not in ("min_exp", "max_length")}
        how = {"k": 5, "m": 2, "rules": rules, "sample": sample, "seed": seed}
        return _linkage(raw, data, plot, json, **(how | between))
    for name, value in (*((name, given.get(name)) for name in ("items", "m", "id")), ("rules", rules)):
        if value is not None:
            raise InputError(f"--{name} is for linkage, and {data} has buckets; leave it out")
    from shoal.algorithms.recoding import Options
    from shoal.attacks.background import background_attack
    from shoal.drawing.risk_plots import values_left_plot
    from shoal.guarantees.diversity import MatchingDiversity, buckets_of
    from shoal.models import Roles
    from shoal.models import buckets as model

    wanted, unsaid = given.get("l", 3), given.get("missing", "unknown")
    knowledge, threads = given.get("knowledge"), given.get("threads")
    announce_compilation()
    with progress() as tell:
        reading: dict[str, Any] = {name: given[name] for name in ("drop", "numeric", "format") if name in given}
        roles = Roles(*(given.get(name) for name in ("sensitive", "quasi", "keep")))
        promise = MatchingDiversity(wanted, missing=unsaid)
        source, _ = model.read(data, promise, roles, reading)
        records = source.records
        if raw is not None:
            records = model.read(raw, promise, roles, {**reading, "format": None})[0].records
        trees = model.hierarchies(records, given.get("hierarchy"), None)
        mined = records if raw is not None or knowledge is not None else model.possible_pairs(buckets_of(records))
        if raw is None and knowledge is not None:
            known = model.edits_of(records, trees, knowledge).added
        else:
            asked: dict[str, Any] = {name: given.get(name) for name in ("min_exp", "max_length", "knowledge")}
            searching = Options(threads=threads, progress=tell)
            known = model.knowledge(mined, trees, missing=unsaid, options=searching, **asked)
        found = background_attack(
            buckets_of(source.records), known, wanted, missing=unsaid, examples=examples, threads=threads
        )
    write_plot(plot, values_left_plot(found))
    if json:
        print_json(found.to_dict() | {"input": without_password(data), "input_sha256": source.sha256})
        return SUCCEEDED if found.narrowed else 0
    out = console()
    out.print()
    if found.narrowed:
        out.print(f"{counted(found.narrowed, 'row')} of {found.rows:,}", style="bold red", end="")
        out.print(
            f" ({found.share:.2%}) are narrowed down to fewer than {wanted} values, {found.certain:,} of them to a single one"
        )
    else:
        out.print(f"All {found.rows:,} rows", style="bold green", end="")
        out.print(f" keep {wanted} possible values or more against {counted(found.rules, 'rule')}")
    left = table("values left", ">rows")
    for number, rows in enumerate(found.by_values):
        if rows:
            left.add_row(str(number), f"{rows:,}")
    out.print(left)
    for example in found.examples if values_shown(sys.stdout) else ():
        out.print(f"for example: {printable(str(example))}", soft_wrap=True)
    if found.contradicted:
        out.print(f"note: {found.contradicted:,} rows are in buckets that the rules contradict", style="yellow")
    return SUCCEEDED if found.narrowed else 0


def _homogeneity(data: str, given: dict[str, Any], examples: int, plot: str | None, json: bool) -> int:
    """Guess what is sensitive from the crowd that a person is in."""
    from shoal.attacks.homogeneity import homogeneity
    from shoal.drawing.risk_plots import confidence_plot
    from shoal.evaluation.evaluation import read_release

    announce_compilation()
    reading = {name: value for name, value in given.items() if name in (*options.TABLES, "sensitive")}
    l = given.get("l")  # noqa: E741
    records, side = read_release(data, **reading)
    how = {"missing": given.get("missing", "unknown"), "separator": given.get("separator")}
    found = homogeneity(records, l, examples=examples, **how)
    write_plot(plot, confidence_plot(found))
    if json:
        named = {"input": without_password(data), "input_sha256": side.sha256, "found": bool(found.likely)}
        print_json(found.to_dict() | named)
        return SUCCEEDED if found.likely else 0
    out = console()
    out.print()
    sure = "certain" if l is None else f"likelier than 1/{l}"
    if found.likely:
        out.print(f"Of {counted(found.likely, 'row')} of {found.rows:,}", style="bold red", end="")
        out.print(f" ({found.likely / max(1, found.rows):.2%}) a sensitive value is {sure}", end="")
        out.print("" if l is None else f", of {found.certain:,} of them certain")
    else:
        out.print("Of nobody", style="bold green", end="")
        out.print(f" in {counted(found.rows, 'row')} is a sensitive value {sure}")
    shown = table("the attacker is", ">rows", title=f"{counted(found.crowds, 'crowd')} of rows that agree")
    for place, rows in enumerate(found.by_confidence):
        if rows:
            shown.add_row("certain" if place == 10 else f"up to {place + 1}0% sure", f"{rows:,}")
    out.print(shown)
    for guess in found.examples if values_shown(sys.stdout) else ():
        out.print(f"for example: {printable(str(guess))}", soft_wrap=True)
    return SUCCEEDED if found.likely else 0


def _linkage(raw: str, data: str, plot: str | None, json: bool, **how: Any) -> int:
    """Look for people of the raw data in the release."""
    from shoal.drawing.risk_plots import before_after_plot
    from shoal.evaluation.evaluation import evaluate

    announce_compilation()
    with progress() as tell:
        found = evaluate(raw, data, queries=0, pairs=0, progress=tell, **how)
    write_plot(plot, before_after_plot(found))
    after = found.linkage.to_dict()["after"] if found.linkage is not None else {}
    facts = found.to_dict()
    won = bool(after.get("fewer_than_k") or after.get("singled_out"))
    if json:
        print_json(
            {"input": without_password(data), "raw": without_password(raw), "found": won}
            | {"linkage": facts["risk"]["linkage"], "risk": facts["risk"]}
        )
        return SUCCEEDED if won else 0
    out = console()
    out.print()
    if found.linkage is None:
        out.print(
            printable(found.not_defined.get("risk.linkage", "linkage is not defined for this release")), style="yellow"
        )
    elif won:
        out.print(f"{after['fewer_than_k']:,} of {len(found.linkage):,} people", style="bold red", end="")
        out.print(f" are found among fewer than {found.k} rows, {after['singled_out']:,} of them alone")
    else:
        out.print("Nobody", style="bold green", end="")
        out.print(f" of {len(found.linkage):,} people is found among fewer than {found.k} rows")
    show_risk(found, out)
    return SUCCEEDED if won else 0
