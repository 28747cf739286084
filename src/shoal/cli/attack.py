"""`shoal attack`: linkage, homogeneity, and background knowledge against a release."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import options
from shoal.cli.evaluate import show_risk
from shoal.cli.first_use import prepare
from shoal.cli.plots import Plot, check_plot, write_plot
from shoal.cli.terminal import (
    console,
    number_of,
    print_json,
    printable,
    progress,
    table,
    values_shown,
)
from shoal.errors import InputError
from shoal.options import KNOWLEDGE
from shoal.records.database.address import without_password

if TYPE_CHECKING:
    from rich.console import Console

SUCCEEDED = 3


@options.takes(
    *("knowledge", "min_exp", "max_length", "l", "k", "m", "sensitive", "missing", "hierarchy", "threads"),
    *options.TABLES,
    k=options.option_with("k", "The crowd: nobody is narrowed down to fewer than k rows."),
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
    seed: Annotated[
        int, typer.Option(min=0, help="Linkage: fixes which people are drawn.", rich_help_panel=KNOWLEDGE)
    ] = 0,
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

    Linkage: look for random people of the --raw data in the release, by all --quasi columns and up to m of their items;
    how many are found alone, or among fewer than k?

    Homogeneity (--sensitive, without --raw): whoever finds the rows that agree in all --quasi columns and all other items takes the
    sensitive value that most of them have. Of how many people is that certain, or, with --l, likelier than 1/l?

    Buckets (a table with a column `bucket`): the attacker knows rules such as "men do not have ovarian cancer": those of --knowledge,
    those that the --raw table shows, or, without either, those that the release itself shows (a value that is in no bucket with
    such a row); and that every value of a bucket belongs to exactly one of its rows. How many rows have fewer than l values left?

    Exit code 0: nobody is found; 3: somebody is.

    [bold]shoal attack public.csv --raw baskets.csv --hierarchy tree.csv --k 5 --m 2[/bold]

    [bold]shoal attack public.csv --quasi age,sex --sensitive diagnosis[/bold]

    [bold]shoal attack buckets.csv --raw adult.csv --quasi age,sex --sensitive occupation --l 3[/bold]
    """
    from shoal.guarantees.diversity import BUCKET
    from shoal.records.database.address import with_query
    from shoal.records.formats.peek import column_names

    check_plot(plot)
    data = with_query(data, given.pop("query", None))
    given.pop("input_limit", None)
    if BUCKET in column_names(data, given.get("format")):
        _refuse(
            f"is for linkage, and {data} has buckets; leave it out",
            given | {"rules": rules},
            "items",
            "m",
            "rules",
            "id",
        )
        outcome = _background(data, raw, given, examples)
    else:
        _refuse(f"is for buckets, and there is no column {BUCKET!r}; leave it out", given, "knowledge")
        if raw is not None:
            _refuse("is for homogeneity and buckets; leave it out, or leave out --raw", given, "missing", "l")
            asked = {name: value for name, value in given.items() if name not in ("min_exp", "max_length")}
            outcome = _linkage(raw, data, rules=rules, sample=sample, seed=seed, **asked)
        elif "sensitive" in given:
            unused = ("m", "rules", "hierarchy", "min_exp")
            _refuse("has no use without --raw; leave it out", given | {"rules": rules}, *unused)
            outcome = _homogeneity(data, given, examples)
        else:
            raise InputError(
                "whom does the attacker look for? give the raw data with --raw, or what the attacker wants to learn with "
                f"--sensitive (a column {BUCKET!r} would make it buckets)"
            )
    write_plot(plot, outcome.svg)
    if json:
        print_json(outcome.facts)
    else:
        out = console()
        out.print()
        outcome.show(out)
    return SUCCEEDED if outcome.succeeded else 0


def _refuse(why: str, given: Mapping[str, Any], *names: str) -> None:
    """Raises for a flag that was given and has no use."""
    for name in names:
        if given.get(name) is not None:
            raise InputError(f"--{name.replace('_', '-')} {why}")


@dataclass(frozen=True)
class _Outcome:
    """What came of an attack."""

    succeeded: bool
    facts: dict[str, Any]
    svg: str
    show: Callable[[Console], None]


def _background(data: str, raw: str | None, given: Mapping[str, Any], examples: int) -> _Outcome:
    """Rule out values of rows in buckets by rules that the attacker knows."""
    from shoal.algorithms.recoding import Options
    from shoal.attacks.background import background_attack
    from shoal.drawing.risk_plots import values_left_plot
    from shoal.guarantees.diversity import MatchingDiversity, buckets_of
    from shoal.models import Roles
    from shoal.models import buckets as model

    how = {"missing": given.get("missing", "unknown")}
    knowledge, threads = given.get("knowledge"), given.get("threads")
    reading: dict[str, Any] = {name: given[name] for name in ("drop", "numeric", "format") if name in given}
    roles = Roles(*(given.get(name) for name in ("sensitive", "quasi", "keep")))
    promise = MatchingDiversity(given.get("l", 3), **how)
    prepare()
    with progress() as tell:
        source, _ = model.read(data, promise, roles, reading)
        records = source.records
        if raw is not None:
            records = model.read(raw, promise, roles, {**reading, "format": None})[0].records
        trees = model.hierarchies(records, given.get("hierarchy"), None)
        if raw is None and knowledge is not None:
            known = model.edits_of(records, trees, knowledge).added
        else:
            mined = records if raw is not None else model.possible_pairs(buckets_of(records))
            asked = {name: given.get(name) for name in ("min_exp", "max_length", "knowledge")}
            searching = Options(threads=threads, progress=tell)
            known = model.knowledge(mined, trees, asked, options=searching, **how)
        found = background_attack(
            buckets_of(source.records), known, promise.l, examples=examples, threads=threads, **how
        )

    def show(out: Console) -> None:
        if found.narrowed:
            out.print(f"{number_of(found.narrowed, 'row')} of {found.rows:,}", style="bold red", end="")
            out.print(
                f" ({found.share:.2%}) are narrowed down to fewer than {found.l} values, {found.certain:,} of them to a single one"
            )
        else:
            out.print(f"All {found.rows:,} rows", style="bold green", end="")
            out.print(f" keep {found.l} possible values or more against {number_of(found.rules, 'rule')}")
        left = table("values left", ">rows")
        for number, rows in enumerate(found.by_values):
            if rows:
                left.add_row(str(number), f"{rows:,}")
        out.print(left)
        _show_examples(found.examples, out)
        if found.contradicted:
            out.print(f"note: {found.contradicted:,} rows are in buckets that the rules contradict", style="yellow")

    facts = found.to_dict() | {"input": without_password(data), "input_sha256": source.sha256}
    return _Outcome(bool(found.narrowed), facts, values_left_plot(found), show)


def _homogeneity(data: str, given: Mapping[str, Any], examples: int) -> _Outcome:
    """Guess what is sensitive from the crowd that a person is in."""
    from shoal.attacks.homogeneity import homogeneity
    from shoal.drawing.risk_plots import confidence_plot
    from shoal.evaluation.pair import Reader

    prepare()
    records, side = Reader(given).read(data)
    l = given.get("l")  # noqa: E741
    how = {"missing": given.get("missing", "unknown"), "separator": given.get("separator")}
    found = homogeneity(records, l, examples=examples, **how)

    def show(out: Console) -> None:
        sure = "certain" if l is None else f"likelier than 1/{l}"
        if found.likely:
            out.print(f"Of {number_of(found.likely, 'row')} of {found.rows:,}", style="bold red", end="")
            out.print(f" ({found.likely / max(1, found.rows):.2%}) a sensitive value is {sure}", end="")
            out.print("" if l is None else f", of {found.certain:,} of them certain")
        else:
            out.print("Of nobody", style="bold green", end="")
            out.print(f" in {number_of(found.rows, 'row')} is a sensitive value {sure}")
        shown = table("the attacker is", ">rows", title=f"{number_of(found.crowds, 'crowd')} of rows that agree")
        for place, rows in enumerate(found.by_confidence):
            if rows:
                shown.add_row("certain" if place == 10 else f"up to {place + 1}0% sure", f"{rows:,}")
        out.print(shown)
        _show_examples(found.examples, out)

    named = {"input": without_password(data), "input_sha256": side.sha256, "found": bool(found.likely)}
    return _Outcome(bool(found.likely), found.to_dict() | named, confidence_plot(found), show)


def _linkage(raw: str, data: str, **asked: Any) -> _Outcome:
    """Look for people of the raw data in the release."""
    from shoal.drawing.risk_plots import before_after_plot
    from shoal.evaluation.evaluation import evaluate

    prepare()
    with progress() as tell:
        found = evaluate(raw, data, queries=0, pairs=0, progress=tell, **asked)
    risk = found.to_dict()["risk"]
    after, people = risk["linkage"]["after"], len(found["risk.linkage"])
    won = bool(after["fewer_than_k"] or after["singled_out"])

    def show(out: Console) -> None:
        if won:
            out.print(f"{after['fewer_than_k']:,} of {people:,} people", style="bold red", end="")
            out.print(f" are found among fewer than {found.k} rows, {after['singled_out']:,} of them alone")
        else:
            out.print("Nobody", style="bold green", end="")
            out.print(f" of {people:,} people is found among fewer than {found.k} rows")
        show_risk(found, out)

    named = {"input": without_password(data), "raw": without_password(raw), "found": won}
    return _Outcome(won, named | {"linkage": risk["linkage"], "risk": risk}, before_after_plot(found), show)


def _show_examples(examples: Iterable[object], out: Console) -> None:
    for example in examples if values_shown(sys.stdout) else ():
        out.print(f"for example: {printable(str(example))}", soft_wrap=True)
