"""`shoal profile`: what m known items single out in raw data."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from shoal.cli import options
from shoal.cli.first_use import prepare
from shoal.cli.plots import Plot, check_plot, write_plot
from shoal.cli.terminal import (
    console,
    print_json,
    printable,
    progress,
    share,
    show_notes,
    table,
    values_shown,
)
from shoal.options import SPECS, Text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from shoal.estimates.outlook import Outlook
    from shoal.estimates.raw_profile import Profile
    from shoal.guarantees.audit import Witness
    from shoal.records.values import Kind


_KEPT = {
    "info": ("information kept", ""),
    "exact": ("items as they are", ""),
    "pairs": ("pairs kept", "of the 100 commonest"),
    "cells": ("cells as they are", ""),
}


@options.takes(
    *("k", "m", "hierarchy", "unknown", "threads"),
    *options.TABLES,
    k=options.option_with("k", "The crowd: nobody is narrowed down to fewer than k rows."),
    m=options.option_with("m", "Look at attackers who know 1, 2, ... up to m items.", default="3"),
    hierarchy=options.option_with(
        "hierarchy",
        f"A hierarchy to look at as well: which of its categories would cost a release all detail? {SPECS}",
        kind=Text(),
        metavar="SPEC",
        default=None,
    ),
)
def profile(
    data: options.Data,
    plot: Plot = None,
    show_values: options.ShowValues = False,
    json: options.Json = False,
    **given: Any,
) -> None:
    """Show how many transactions a few known items single out in raw data, with examples; in a table also how many the columns alone do.

    Then what a release would keep, by the default algorithm and for two known items unless --m asks for others: tried for a moment on a
    sample, and so a range, or on all rows.

    It names rare items and rows: it is for you, not for publication.

    [bold]shoal profile baskets.csv --k 5 --hierarchy tree.csv[/bold]

    [bold]shoal profile patients.csv --k 5 --quasi age,sex --items diagnoses --drop id[/bold]
    """
    from shoal.drawing.risk_plots import exposure_plot
    from shoal.estimates.raw_profile import profile as profiled
    from shoal.records.database.address import with_query

    check_plot(plot)
    data = with_query(data, given.pop("query", None))
    given.pop("input_limit", None)
    prepare()
    with progress() as tell:
        if tell:
            tell("counting", 0.0)
        found = profiled(data, given.pop("k", 5), given.pop("m", None), progress=tell, **given)
    write_plot(plot, exposure_plot(found))
    if json:
        print_json(found.to_dict())
    else:
        show_profile(found, console())


def show_profile(found: Profile, out: Console, *, examples: bool = True) -> None:
    """The sizes, the risk by number of known items, and an example each."""
    out.print()
    out.print(printable(found.source), style="bold", end="")
    out.print(
        f"  {found.rows:,} transactions, {found.items:,} items, {found.average:.1f} a transaction, {found.longest:,} in the longest"
    )
    for count, text in ((found.empty, "empty transactions"), (found.duplicates, "repeated items, folded into one")):
        if count:
            out.print(f"note: {text}: {count:,}", style="yellow")
    risk = table(
        "items known",
        ">itemsets",
        f">rarer than {found.k}",
        f">transactions among fewer than {found.k}",
        ">singled out",
    )
    if found.columns:
        out.print(f"The attacker also knows {printable(', '.join(found.columns))}.")
        out.print(f"Read as {printable(_kinds(found.columns))}.", soft_wrap=True)
    for exposure in found.exposures:
        risk.add_row(
            {0: "none", 1: "1"}.get(exposure.m, f"up to {exposure.m}"),
            f"{exposure.itemsets:,}",
            f"{exposure.rare:,}",
            share(exposure.exposed, found.rows),
            share(exposure.unique, found.rows),
        )
    if found.exposures:
        out.print(risk)
    for exposure in found.exposures if examples else ():
        for witness in exposure.examples[:1]:
            shown = example(witness) if values_shown(sys.stdout) else _example_by_rows(witness)
            out.print(f"for example: {shown}", soft_wrap=True)
    if found.outlook is not None:
        show_outlook(found.outlook, out)
    show_notes(found.notes, out)


def show_outlook(outlook: Outlook, out: Console) -> None:
    """What a release would keep, and how that was found out."""
    part = "all" if outlook.sample == outlook.rows else f"{outlook.sample:,} of {outlook.rows:,}"
    out.print()
    out.print(f"A release with {outlook.guarantee} by {outlook.algorithm}, tried on {part} transactions:")
    for name, (what, told) in _KEPT.items():
        if name in outlook.kept:
            out.print(f"  {what:<18} {outlook.kept[name]!s:>12}  {told}".rstrip())


def _kinds(columns: Mapping[str, Kind]) -> str:
    """Which columns are numbers, which are dates and the like, and which are neither; why, where it may surprise."""
    from shoal.records.values import NO_NUMBER

    told: dict[str, list[str]] = {"numbers": []}
    for name, kind in columns.items():
        why = "" if kind.recognised or kind.reason == NO_NUMBER else f" ({kind.reason})"
        what = kind.reason if kind.recognised else "numbers" if kind.numeric else "categories"
        told.setdefault(what, []).append(name + why)
    return "; ".join(f"{what}: {', '.join(names)}" for what, names in told.items() if names)


def example(witness: Witness) -> str:
    """A rare itemset as a sentence."""
    items = " and ".join(witness.items) if len(witness.items) < 3 else ", ".join(witness.items)
    if witness.group:
        group = ", ".join(value or "(missing)" for value in witness.group)
        items = f"{group} and {items}" if items else group
    items = printable(items)
    if len(witness.rows) == 1:
        return f"transaction {witness.rows[0]:,} is the only one with {items}"
    return f"only transactions {', '.join(f'{row:,}' for row in witness.rows)} have {items}"


def _example_by_rows(witness: Witness) -> str:
    """A rare itemset where no value may be shown."""
    items = f"{len(witness.items)} of its items" if witness.items else "its columns"
    if len(witness.rows) == 1:
        return f"transaction {witness.rows[0]:,} is the only one with {items} (--show-values names them)"
    return f"only transactions {', '.join(f'{row:,}' for row in witness.rows)} share {items} (--show-values names them)"
