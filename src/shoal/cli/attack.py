"""`shoal attack`: what an attacker with background knowledge makes of published buckets."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli import options
from shoal.cli.terminal import announce_compilation, console, counted, print_json, printable, progress, table

SUCCEEDED = 3


def attack(
    data: options.Data,
    knowledge: options.Knowledge = None,
    raw: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="The raw table: its rules are what the attacker knows.",
            rich_help_panel="What the attacker knows",
        ),
    ] = None,
    min_exp: options.MinExp = None,
    max_length: options.MaxLength = None,
    l: options.L = None,  # noqa: E741
    quasi: options.Quasi = None,
    sensitive: options.Sensitive = None,
    hierarchy: options.HierarchySpecs = None,
    examples: Annotated[int, typer.Option(min=0, help="Rows to show.")] = 5,
    threads: options.Threads = None,
    keep: options.Keep = None,
    drop: options.Drop = None,
    numeric: options.Numeric = None,
    format: options.Format = None,
    json: options.Json = False,
) -> int:
    """Cross out, in the buckets of a release, what cannot be, and count the rows with fewer than l values left.

    The attacker knows rules such as "men do not have ovarian cancer": those of --knowledge, those that the --raw table shows, or, without
    either, those that the release itself shows (a value that stands in no bucket with such a row). The attacker also knows that every
    value of a bucket belongs to exactly one of its rows. Exit code 0: every row has l possible values; 3: some have fewer.

    [bold]shoal attack public.csv --raw adult.csv --quasi age,sex --sensitive occupation --l 3[/bold]
    """
    from shoal.algorithms.recoding import Options
    from shoal.attacks.background import background_attack
    from shoal.guarantees.diversity import MatchingDiversity
    from shoal.models import Roles
    from shoal.models import buckets as model

    wanted = 3 if l is None else l
    announce_compilation()
    with progress() as tell:
        reading = options.reading(None, None, drop, None, format, numeric)
        roles, promise = Roles(sensitive, quasi, keep), MatchingDiversity(wanted)
        source, _ = model.read(data, promise, roles, reading)
        records = source.records
        if raw is not None:
            records = model.read(raw, promise, roles, options.reading(None, None, drop, None, None, numeric))[0].records
        trees = model.hierarchies(records, options.hierarchies(hierarchy), None)
        mined = records if raw is not None or knowledge is not None else model.possible_pairs(model.auditable(records))
        if raw is None and knowledge is not None:
            known = model.edits_of(records, trees, knowledge).added
        else:
            known = model.knowledge(
                mined,
                trees,
                min_exp=min_exp,
                max_length=max_length,
                knowledge=knowledge,
                options=Options(threads=threads, progress=tell),
            )
        found = background_attack(model.auditable(source.records), known, wanted, examples=examples, threads=threads)
    if json:
        print_json(found.to_dict() | {"input": data, "input_sha256": source.sha256})
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
    for example in found.examples:
        out.print(f"for example: {printable(str(example))}", soft_wrap=True)
    if found.contradicted:
        out.print(f"note: {found.contradicted:,} rows are in buckets that the rules contradict", style="yellow")
    return SUCCEEDED if found.narrowed else 0
