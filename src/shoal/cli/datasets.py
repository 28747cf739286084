"""`shoal datasets list|get|make`: the public data sets by name, and made-up ones of any size."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli import options
from shoal.cli.terminal import console, print_json, printable, progress, say, show_rows, table
from shoal.errors import InputError

app = typer.Typer(rich_markup_mode="rich", invoke_without_command=True)


@app.callback()
def datasets(context: typer.Context) -> None:
    """The public data sets of the papers by name, and made-up baskets of any size."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), nl=False)


@app.command("list", cls=options.Command)
def list_(json: options.Json = False) -> None:
    """List the data sets, their published figures, and where they are on this machine.

    [bold]SHOAL_DATA=folder shoal datasets list[/bold]
    """
    from dataclasses import asdict

    from shoal.records.samples.datasets import listing

    known = listing()
    if json:
        print_json({"datasets": [asdict(one.dataset) | {"path": str(one.path) if one.path else None} for one in known]})
        return
    shown = table("name", "what", ">transactions", ">items", ">longest", ">average", "where")
    for one in known:
        d = one.dataset
        longest = f"{d.longest:,}" if d.longest is not None else "?"
        average = f"{d.average:.1f}" if d.average is not None else "?"
        shown.add_row(d.name, d.title, f"{d.transactions:,}", f"{d.items:,}", longest, average, printable(one.where))
    console().print(shown)


@app.command(cls=options.Command)
def get(
    name: Annotated[str, options.argument("NAME", "A name from shoal datasets list.")],
    output: Annotated[
        str | None,
        options.output("FOLDER", "Where to look first, and where to download to.", "the user's cache"),
    ] = None,
    json: options.Json = False,
) -> None:
    """Find a data set on this machine, or download it from its publisher, and check it against its published figures.

    [bold]shoal datasets get retail[/bold]
    """
    from shoal.records.samples import datasets as known

    with progress() as tell:

        def arrived(done: int, total: int | None) -> None:
            if tell:
                tell(f"{done / 1e6:,.1f} MB of {name}", done / total if total else 0.0)

        path = known.get(name, output, progress=arrived, warn=say)
    if json:
        print_json(known.compare_figures(name, path))
    else:
        typer.echo(path)


@app.command(cls=options.Command)
def make(
    output: Annotated[
        str,
        options.output("FILE", "The file to write, in the format of its name."),
    ],
    transactions: Annotated[int, typer.Option(help="Rows.")] = 100_000,
    length: Annotated[float, typer.Option(help="Items in a row, on average.")] = 10,
    items: Annotated[int, typer.Option(help="Items to choose from.")] = 1_000,
    patterns: Annotated[
        int | None, typer.Option(help="Sets of items that are bought together.", show_default="2 per item")
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed makes the same rows.")] = 0,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Make up baskets like those of IBM's Quest generator, at any size.

    [bold]shoal datasets make -o quest.dat --transactions 1000000 --items 5000[/bold]
    """
    from shoal.records.layout import layout_for
    from shoal.records.samples.quest import quest
    from shoal.records.writing import write

    if output == "-" and json:
        raise InputError("-o - and --json both need standard output; write to a file, or leave --json out")
    if output != "-":
        layout_for(output)
        options.check_output(output, force)
    with progress() as tell:

        def made(done: int, total: int) -> None:
            if tell:
                tell(f"{done:,} rows", done / total)

        baskets = quest(transactions, length, items, patterns, seed=seed, progress=made)
        write(baskets, output, force=force)
    facts = {
        "output": output,
        "rows": len(baskets),
        "items": len(baskets.vocabulary),
        "occurrences": baskets.occurrences,
        "longest": baskets.longest,
        "seed": seed,
    }
    show_rows(baskets, output, facts, json)
