"""Options that several commands share, each explained once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.errors import InputError

if TYPE_CHECKING:
    from shoal.guarantees.km import KmAnonymity

_PROMISE, _READING, _TREE, _RUNNING = "The promise", "Reading DATA", "The hierarchy", "Running"


def flag(name: str, help: str, panel: str | None = None) -> Any:
    """An option without a value. The empty metavar keeps Typer from showing a type for it."""
    return typer.Option(name, metavar="", help=help, rich_help_panel=panel)


SPECS = (
    "A file (ARX csv, Amnesia txt, parent-child csv, nested json), [bold]frequency:N[/bold] (groups of N items of like frequency, usually "
    "loses least), [bold]balanced:N[/bold] (groups of N neighbours by name) or [bold]prefix[/bold] (codes by their leading characters)."
)

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A file of sets: .dat, .csv, .tsv, .jsonl, .parquet or .arrow (text also .gz or .zst); - for standard input.",
        show_default=False,
    ),
]
Model = Annotated[str, typer.Option(help="What is promised; km is k^m-anonymity.", rich_help_panel=_PROMISE)]
K = Annotated[
    int,
    typer.Option(
        "--k", help="The crowd: every itemset that occurs, occurs in at least k rows.", rich_help_panel=_PROMISE
    ),
]
M = Annotated[
    int,
    typer.Option("--m", help="How many items of a person an attacker may know.", rich_help_panel=_PROMISE),
]
Items = Annotated[
    str | None,
    typer.Option(
        metavar="COL", help="The column that holds the sets (or the item, with --id).", rich_help_panel=_READING
    ),
]
Id = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="For long tables: the column that says which rows belong together.",
        rich_help_panel=_READING,
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="COL,COL", help="Columns to leave out; may be repeated.", rich_help_panel=_READING),
]
Separator = Annotated[
    str | None,
    typer.Option(help="What parts the items inside a cell; found out when not given.", rich_help_panel=_READING),
]
Format = Annotated[
    str | None,
    typer.Option(
        help="dat, csv, tsv, long, jsonl, parquet or arrow, when the name does not tell.", rich_help_panel=_READING
    ),
]
HierarchySpec = Annotated[str, typer.Option("--hierarchy", metavar="SPEC", help=SPECS, rich_help_panel=_TREE)]
Unknown = Annotated[
    str | None,
    typer.Option(
        metavar="root", help="root: hang items that the hierarchy does not know under its root.", rich_help_panel=_TREE
    ),
]
Threads = Annotated[
    int | None, typer.Option(min=1, help="Threads to use; all cores when not given.", rich_help_panel=_RUNNING)
]
Force = Annotated[bool, flag("--force", "Overwrite files that exist.")]
Json = Annotated[bool, flag("--json", "One JSON document on standard output, all else on standard error.")]


def reading(
    items: str | None, id: str | None, drop: list[str] | None, separator: str | None, format: str | None
) -> dict[str, Any]:
    """The reading options as `shoal.read` takes them."""
    # A tab or a newline is hard to type: \t is taken for what it means.
    separator = {"\\t": "\t", "\\n": "\n"}.get(separator or "", separator)
    return {"format": format, "items": items, "id": id, "separator": separator, "drop": tuple(drop or ())}


def promise(model: str, k: int, m: int) -> KmAnonymity:
    """The guarantee that --model, --k and --m stand for."""
    if model != "km":
        raise InputError(f"--model {model!r} is not known; the one model now is km (k^m-anonymity)")
    from shoal.guarantees.km import KmAnonymity

    return KmAnonymity(k, m)
