"""Options that several commands share, each explained once."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from shoal.errors import InputError
from shoal.limits import set_for_process
from shoal.passwords import holds_password

_PROMISE, _READING, _TREE, _RUNNING = "The promise", "Reading DATA", "The hierarchy", "Running"
_ADDRESSED = frozenset({"data", "output", "raw", "original"})
"""Options that may be the address of a table."""
_KNOWLEDGE = "What the attacker knows"


class Command(TyperCommand):
    """A command that refuses a password where no address is asked for: what such an option gets is cut into names, which messages show."""

    def invoke(self, ctx: Any) -> Any:
        for param in self.params:
            given = ctx.params.get(param.name)
            texts = given if isinstance(given, list | tuple) else [given]
            if (
                param.param_type_name == "option"
                and param.name not in _ADDRESSED
                and any(isinstance(text, str) and holds_password(text) for text in texts)
            ):
                raise InputError(
                    f"{param.opts[0]} holds what looks like an address with a password, which has no use there; leave it out"
                )
        return super().invoke(ctx)


def flag(name: str, help: str, panel: str | None = None) -> Any:
    """An option without a value. The empty metavar keeps Typer from showing a type for it."""
    return typer.Option(name, metavar="", help=help, rich_help_panel=panel)


def _set_input_limit(limit: str | None) -> str | None:
    """Whatever a command reads, it reads under the limit."""
    if limit is not None:
        set_for_process(limit)
    return limit


SPECS = (
    "A file (ARX csv, Amnesia txt, parent-child csv, nested json), [bold]learned:N[/bold] (learned from the rows for the promise, usually "
    "loses least), [bold]frequency:N[/bold] (groups of N items of like frequency), [bold]balanced:N[/bold] (groups of N neighbours by "
    "name) or [bold]prefix[/bold] (codes by their leading characters)."
)

Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A file of sets: .dat, .csv, .tsv, .jsonl, .parquet or .arrow (text also .gz or .zst); - for standard input; "
        "postgresql://USER@HOST/DB?table=NAME or sqlite:FILE?table=NAME for a table of a database.",
        show_default=False,
    ),
]
Model = Annotated[
    str,
    typer.Option(
        help="What is promised. [bold]km[/bold]: whoever knows up to m items faces k rows. [bold]k[/bold]: whoever knows all items (in "
        "a table, all --quasi columns) faces k equal rows. [bold]rt[/bold]: whoever knows all --quasi columns and up to m items faces k "
        "rows. [bold]lm[/bold]: and is never surer than 1/l of a sensitive item. [bold]diversity[/bold]: sensitive values stand apart, in "
        "buckets, and whoever knows the --quasi columns and rules about the values faces l of them.",
        rich_help_panel=_PROMISE,
    ),
]
K = Annotated[
    int,
    typer.Option("--k", help="The crowd: nobody is narrowed down to fewer than k rows.", rich_help_panel=_PROMISE),
]
Crowd = Annotated[
    int | None,
    typer.Option(
        "--k",
        help="The crowd: nobody is narrowed down to fewer than k rows. Not for diversity.",
        show_default="5",
        rich_help_panel=_PROMISE,
    ),
]
M = Annotated[
    int | None,
    typer.Option(
        "--m",
        help="km, rt, lm: how many items of a person an attacker may know.",
        show_default="2",
        rich_help_panel=_PROMISE,
    ),
]
L = Annotated[
    int | None,
    typer.Option(
        "--l",
        help="k: every class of equal rows holds at least so many different sensitive values. lm: no sensitive item is likelier than 1/l. "
        "diversity: so many sensitive values stay possible for every row.",
        show_default="1, lm: 2, diversity: 3",
        rich_help_panel=_PROMISE,
    ),
]
Sensitive = Annotated[
    str | None,
    typer.Option(
        metavar="COL|ITEM,ITEM|FILE",
        help="What an attacker wants to learn; it is published unchanged. A column, a list of items, or a file with one on each line.",
        rich_help_panel=_PROMISE,
    ),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        metavar="[COL=]unknown|value",
        help="k with --l, diversity: what a missing sensitive value is. [bold]unknown[/bold]: it may be any value, and counts for none. "
        "[bold]value[/bold]: a value of its own. For all sensitive columns, or per column; may be repeated.",
        show_default="unknown",
        rich_help_panel=_PROMISE,
    ),
]
MinExp = Annotated[
    float | None,
    typer.Option(
        "--min-exp",
        metavar="SHARE",
        help="diversity: an attacker may know a rule if so sure that it is not by chance.",
        show_default="0.9",
        rich_help_panel=_KNOWLEDGE,
    ),
]
MinConf = Annotated[
    float | None,
    typer.Option(
        "--min-conf",
        metavar="SHARE",
        help="diversity: a rule may have exceptions, up to 1 - SHARE of its rows.",
        show_default="1",
        rich_help_panel=_KNOWLEDGE,
    ),
]
MaxLength = Annotated[
    int | None,
    typer.Option(
        "--max-length",
        metavar="N",
        min=0,
        help="diversity: at most so many conditions in a rule; 0 for any number.",
        show_default="1",
        rich_help_panel=_KNOWLEDGE,
    ),
]
Fuzzy = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COL=DISTANCE",
        help="diversity: the nodes of this numeric column have no sharp edges when rules are looked for; membership fades over DISTANCE. "
        "May be repeated.",
        rich_help_panel=_KNOWLEDGE,
    ),
]
Knowledge = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help='diversity: rules that you add or strike, one JSON object a line: {"if": {"sex": "M"}, "never": "Ovarian cancer"}, with '
        '"strike": true to strike it.',
        rich_help_panel=_KNOWLEDGE,
    ),
]
Quasi = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COL,COL",
        help="The columns of a table that an attacker may know; may be repeated.",
        rich_help_panel=_READING,
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(metavar="COL,COL", help="Columns to publish as they are; may be repeated.", rich_help_panel=_READING),
]
Numeric = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COL,COL|none",
        help="The columns of a table that hold numbers, or none; found out by how their values are spelled when not given.",
        rich_help_panel=_READING,
    ),
]
Items = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="The column that holds the sets (or the item, with --id); in a table with --quasi also several, COL,COL.",
        rich_help_panel=_READING,
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
Query = Annotated[
    str | None,
    typer.Option(
        metavar="SELECT",
        help="What to read from a database whose address names no table.",
        rich_help_panel=_READING,
    ),
]
Engine = Annotated[
    str | None,
    typer.Option(
        metavar="local|spark[=MASTER]",
        help="Where the counting runs. On spark, DATA and -o are Parquet folders (also hdfs://..., s3a://...) or table:NAME.",
        show_default="local",
        rich_help_panel=_RUNNING,
    ),
]
MemoryLimit = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="km with exact, and audits: use at most this much memory (800MB or more, such as 2GB); the rest goes to scratch files.",
        rich_help_panel=_RUNNING,
    ),
]
InputLimit = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        callback=_set_input_limit,
        help="The most memory that what is read may take; a line of text, a tree or a list may have a 32nd part of it.",
        show_default="2GB, or 64 times the size of the file",
        rich_help_panel=_READING,
    ),
]
HierarchySpec = Annotated[
    str | None,
    typer.Option("--hierarchy", metavar="SPEC", help=SPECS, show_default="frequency:5", rich_help_panel=_TREE),
]
HierarchySpecs = Annotated[
    list[str] | None,
    typer.Option(
        "--hierarchy",
        metavar="[COL=]SPEC",
        help=SPECS
        + " For tables give one per column, [bold]COL=SPEC[/bold], also [bold]intervals:5,10,20[/bold] (numbers), "
        "[bold]named:N[/bold] (as balanced, called by the first and last value), [bold]dates[/bold] (days into months and years) "
        "and [bold]mask[/bold] (codes); numbers without one become ranges, items without one sets.",
        show_default="frequency:5, tables: none",
        rich_help_panel=_TREE,
    ),
]
PublishedUnder = Annotated[
    list[str] | None,
    typer.Option(
        "--hierarchy",
        metavar="[COL=]FILE",
        help="The tree that the release was made with, as a file. It is not needed: with it, items that stand at several levels are "
        "counted more exactly, and the rules of --knowledge may speak of its categories (COL=FILE).",
        rich_help_panel=_TREE,
    ),
]
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
ShowValues = Annotated[
    bool,
    flag(
        "--show-values",
        "Let messages and tables name values of the data also where no terminal shows them, such as in a log.",
    ),
]
Json = Annotated[bool, flag("--json", "One JSON document on standard output, all else on standard error.")]


def is_spark(engine: str | None) -> bool:
    """Whether --engine asks for Spark; raises if there is no such engine."""
    if engine is None:
        return False
    from shoal.engines import chosen

    return chosen(engine).name == "spark"


def reading(
    items: str | None,
    id: str | None,
    drop: list[str] | None,
    separator: str | None,
    format: str | None,
    numeric: list[str] | None = None,
    query: str | None = None,
) -> dict[str, Any]:
    """The reading options as `shoal.read` takes them."""
    # A tab or a newline is hard to type: \t is taken for what it means.
    separator = {"\\t": "\t", "\\n": "\n"}.get(separator or "", separator)
    given = {"format": format, "items": items, "id": id, "separator": separator, "drop": tuple(drop or ())}
    return given | ({"numeric": tuple(numeric)} if numeric else {}) | ({} if query is None else {"query": query})


def promise(
    model: str,
    k: int | None,
    m: int | None,
    l: int | None = None,  # noqa: E741 (the papers' name)
    quasi: list[str] | None = None,
    kind: str | None = None,
    missing: list[str] | None = None,
) -> Any:
    """The guarantee that --model, --k, --m, --l and --missing stand for; with --quasi, --model k is about a table."""
    if model == "diversity":
        _refuse(model, k=k, m=m)
    else:
        _refuse(model, kind=kind)
    if missing and model != "diversity" and not (model == "k" and quasi):
        raise InputError(
            "--missing is for the sensitive column of a table, one value a row (--model k with --quasi and --l, or diversity); in sets an "
            "empty cell means that there are no items; leave it out"
        )
    k = 5 if k is None else k
    if model == "km":
        _refuse(model, l=l)
        from shoal.guarantees.km import KmAnonymity

        return KmAnonymity(k, 2 if m is None else m)
    if model == "k":
        _refuse(model, m=m)
        from shoal.guarantees.k import KAnonymity
        from shoal.guarantees.table import TableAnonymity

        least = 1 if l is None else l
        return TableAnonymity(k, least, missing_values(missing)) if quasi else KAnonymity(k, least)
    if model == "rt":
        _refuse(model, l=l)
        from shoal.guarantees.rt import RTAnonymity

        return RTAnonymity(k, 2 if m is None else m)
    if model == "lm":
        from shoal.guarantees.lm import LmDiversity

        return LmDiversity(k, 2 if l is None else l, 2 if m is None else m)
    if model == "diversity":
        from shoal.guarantees.diversity import MatchingDiversity, PlainDiversity

        least = 3 if l is None else l
        read_as = missing_values(missing)
        return (
            MatchingDiversity(least, missing=read_as) if kind is None else PlainDiversity(least, kind, missing=read_as)
        )
    raise InputError(f"--model {model!r} is not known; choose one of km, k, rt, lm and diversity")


def missing_values(given: list[str] | None) -> str | dict[str, str]:
    """What --missing says: one reading for all sensitive columns, or one for each that is named."""
    found: dict[str, str] = {}
    for text in given or ["unknown"]:
        column, _, reading = text.rpartition("=")
        if column in found or (found and "" in (column, *found)):
            raise InputError("--missing is given twice; give one for all columns, or one for each, as COL=value")
        found[column] = reading
    return found[""] if set(found) == {""} else found


def hierarchies(given: list[str] | None) -> Any:
    """What --hierarchy says: one spec, or a spec per column (the empty name for the items)."""
    if not given:
        return None
    found: dict[str, str] = {}
    for text in given:
        column, equals, spec = text.partition("=")
        if not equals or os.path.exists(text):
            column, spec = "", text
        if column in found:
            what = f"column {column!r}" if column else "the items"
            raise InputError(f"--hierarchy is given twice for {what}; give each column one, as COL=SPEC")
        found[column] = spec
    return found[""] if set(found) == {""} else found


def numbers(given: list[str] | None, flag: str, example: str) -> dict[str, float] | None:
    """What a repeated flag says: a number per name."""
    if not given:
        return None
    found = {}
    for text in given:
        name, _, number = text.rpartition("=")
        try:
            found[name] = float(number)
        except ValueError:
            name = ""
        if not name or not 0 <= found[name] < float("inf"):
            raise InputError(f"{flag} {text!r} is no name with a number; give for example {flag} {example}")
    return found


def _refuse(model: str, **given: int | str | None) -> None:
    for name, value in given.items():
        if value is not None:
            raise InputError(f"--{name} has no meaning with --model {model}; leave it out")


def check_output(output: str, force: bool, *inputs: str | None) -> None:
    """Raises if a file could not be written, or is an input or the owner's key: said before the work."""
    from shoal.records.storage.publication import check_targets

    check_apart_from(output, *inputs)
    check_targets([output], force=force)


def check_apart_from(output: str, *inputs: str | None) -> None:
    """Raises if an output is one of the inputs or the owner's key."""
    from shoal.certificate.owner import owner_files
    from shoal.records.database.address import file_of
    from shoal.records.storage.publication import check_apart

    named = [file_of(given) for given in inputs if given is not None]
    check_apart([output], [*(("an input", path) for path in named if os.path.exists(path)), *owner_files()])
