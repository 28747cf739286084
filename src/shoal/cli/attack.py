"""`shoal attack`: linkage, homogeneity, and background knowledge against a release, or several releases put together."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import options
from shoal.cli.evaluate import show_risk
from shoal.cli.first_use import prepare
from shoal.cli.plots import Plot, check_plot, write_plot
from shoal.cli.terminal import console, print_json, printable, progress, table, values_shown
from shoal.errors import InputError, number_of
from shoal.options import KNOWLEDGE

if TYPE_CHECKING:
    from rich.console import Console

    from shoal.attacks.background import BackgroundAttack
    from shoal.attacks.homogeneity import Homogeneity
    from shoal.attacks.several_releases import SeveralReleases
    from shoal.evaluation.evaluation import Evaluation

SUCCEEDED = 3
PEOPLE = 1000
"""How many are looked for unless it is said."""


@options.takes(
    *("knowledge", "min_exp", "max_length", "l", "k", "m", "sensitive", "missing", "hierarchy", "threads"),
    *options.TABLES,
    k=options.option_with("k", "The crowd: nobody is narrowed down to fewer than k rows."),
)
def attack(
    data: Annotated[
        list[str],
        options.argument(
            "DATA...",
            "The release; with --series, several in their order. A file of sets or a table, - for standard input, or a table of a "
            "database, as for shoal anonymize.",
        ),
    ],
    series: Annotated[
        bool, options.flag("--series", "Put releases of the same people together, the oldest first.", KNOWLEDGE)
    ] = False,
    originals: Annotated[
        list[str] | None,
        options.value(
            "FILE",
            "Series: what a release was made from; once for each, in the same order. With --person, people are counted.",
            KNOWLEDGE,
        ),
    ] = None,
    raw: Annotated[
        str | None,
        options.value(
            "FILE",
            "The raw data: whom the attacker looks for or, for buckets, whose rules the attacker knows.",
            KNOWLEDGE,
        ),
    ] = None,
    sample: Annotated[
        int, typer.Option(min=1, help="Linkage: how many people to look for.", rich_help_panel=KNOWLEDGE)
    ] = PEOPLE,
    seed: Annotated[
        int, typer.Option(min=0, help="Linkage: fixes which people are drawn.", rich_help_panel=KNOWLEDGE)
    ] = 0,
    rules: Annotated[
        str | None,
        options.value("FILE", "Linkage: the file that anonymize --rules wrote with the release.", KNOWLEDGE),
    ] = None,
    examples: Annotated[int, typer.Option(min=0, help="Buckets: rows to show; series: sets, of each two.")] = 5,
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

    Series (--series A B ...): what two releases of the same people tell together that neither tells alone: who came in between, what one
    says finer than the other, which rows are one person's. With --originals and --person, how many people are found: exactly where rows
    stand in the order of their originals, otherwise about.

    Exit code 0: nobody is found, or too little can be compared to say so; 3: somebody is.

    [bold]shoal attack public.csv --raw baskets.csv --hierarchy tree.csv --k 5 --m 2[/bold]

    [bold]shoal attack public.csv --quasi age,sex --sensitive diagnosis[/bold]

    [bold]shoal attack buckets.csv --raw adult.csv --quasi age,sex --sensitive occupation --l 3[/bold]

    [bold]shoal attack --series march.csv april.csv --hierarchy tree.csv --k 5 --m 2[/bold]
    """
    if series:
        unused: dict[str, Any] = {"--raw": raw, "--rules": rules, "--plot": plot}
        unused |= {"--sample": None if sample == PEOPLE else sample, "--seed": seed or None}
        unused |= {"--" + name.replace("_", "-"): value for name, value in given.items() if name not in _FOR_SERIES}
        return _attack_series(data, originals or [], unused, json, examples=examples, **given)
    from shoal.studies.attack import attack as play

    if len(data) > 1 or originals:
        what = "several releases" if len(data) > 1 else "--originals"
        raise InputError(f"{what} are for --series; add it, or leave them out")
    check_plot(plot)
    prepare()
    with progress() as tell:
        found = play(data[0], raw=raw, rules=rules, sample=sample, seed=seed, examples=examples, progress=tell, **given)
    write_plot(plot, found.svg())
    if json:
        print_json(found.to_dict())
    else:
        out = console()
        out.print()
        _SHOWN[found.kind](found.outcome, out)
    return SUCCEEDED if found else 0


_FOR_SERIES = ("k", "m", "hierarchy", "items", "id", "person", "drop", "separator", "format")


def _attack_series(releases: list[str], originals: list[str], unused: dict[str, Any], json: bool, **given: Any) -> int:
    """Put releases together."""
    from shoal.studies.series_attack import attack_series

    if name := next((name for name, value in unused.items() if value is not None), None):
        raise InputError(f"{name} has no use with --series; leave it out")
    if given.get("person") is not None and not originals:
        raise InputError("published files do not say whose their rows are; give the --originals, or leave --person out")
    asked = {name: value for name, value in given.items() if value is not None}
    found = attack_series(releases, originals=originals, **asked)
    if json:
        print_json(found.to_dict())
    else:
        _show_series(found.outcome, console())
    return SUCCEEDED if found else 0


def _show_series(found: SeveralReleases, out: Console) -> None:
    from shoal.attacks.several_releases import MOSTLY

    k, m, people = found.k, found.m, found.people
    out.print()
    if people is not None and people.together:
        about = "about " * people.guessed
        out.print(
            f"{about}{people.together:,} of {number_of(people.people, 'person', 'people')}", style="bold red", end=""
        )
        out.print(f" share what can be known of them in all releases with fewer than {k}")
    elif people is not None:
        out.print("Nobody", style="bold green", end="")
        out.print(f" of {people.people:,} people shares what can be known of them in all releases with fewer than {k}")
    elif found.found:
        out.print("Put together, the releases can give people away", style="bold red", end="")
        out.print(f" to whoever knows up to {number_of(m, 'item')}, though each may keep its promise")
    elif found.found is None:
        out.print("Not known", style="bold yellow", end="")
        out.print(" whether anybody is found: too little of these published files can be compared")
    else:
        out.print("Nobody", style="bold green", end="")
        out.print(" is found by putting these published files together")
    if people is not None:
        alone = table("release", f">people found in it alone (fewer than {k} alike)")
        for number, exposed in enumerate(people.alone, 1):
            alone.add_row(str(number), f"{exposed:,}")
        alone.add_row("together", f"{'about ' * (people.guessed and people.together > 0)}{people.together:,}")
        out.print(alone)
        if people.guessed:
            out.print(
                "note: the rows do not stand in the order of the originals, so each was given to somebody whom it fits; where that is "
                "wrong, a crowd can look smaller than it is",
                style="yellow",
                soft_wrap=True,
            )
    shown = table(
        "releases", f">sets that gained or lost 1 to {k - 1} rows", ">finer and coarser tokens", ">rows linked"
    )
    for number, step in enumerate(found.steps, 1):
        shown.add_row(
            f"{number} and {number + 1}",
            f"{step.changed:,} of {step.checked:,}",
            number_of(step.mixed, "pair"),
            f"{step.linked:,} of {step.rows:,}",
        )
    out.print(shown)
    if people is None and found.least_compared < MOSTLY:
        out.print(
            f"note: these releases say the same at several levels, and {1 - found.least_compared:.0%} of it can be compared only as what "
            "lies above; the --originals, with --person, tell how many people are found",
            style="yellow",
            soft_wrap=True,
        )
    for step in found.steps:
        _show_examples(step.examples, out)


def _show_background(found: BackgroundAttack, out: Console) -> None:
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
        out.print(
            f"note: {number_of(found.contradicted, 'row is', 'rows are')} in buckets that the rules contradict",
            style="yellow",
        )


def _show_homogeneity(found: Homogeneity, out: Console) -> None:
    l = found.l  # noqa: E741
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


def _show_linkage(found: Evaluation, out: Console) -> None:
    linkage = found["risk.linkage"]
    after, people = found.to_dict()["risk"]["linkage"]["after"], len(linkage)
    if after["fewer_than_k"] or after["singled_out"]:
        out.print(f"{after['fewer_than_k']:,} of {people:,} people", style="bold red", end="")
        out.print(f" are found among fewer than {found.k} rows, {after['singled_out']:,} of them alone")
    else:
        out.print("Nobody", style="bold green", end="")
        out.print(f" of {people:,} people is found among fewer than {found.k} rows")
    show_risk(found, out)


_SHOWN: dict[str, Callable[[Any, Console], None]] = {
    "background": _show_background,
    "homogeneity": _show_homogeneity,
    "linkage": _show_linkage,
}


def _show_examples(examples: Iterable[object], out: Console) -> None:
    for example in examples if values_shown(sys.stdout) else ():
        out.print(f"for example: {printable(str(example))}", soft_wrap=True)
