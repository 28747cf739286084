"""`shoal hierarchy build|show|check|convert`: make, look at, test and translate the trees that items move up in."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import options
from shoal.cli.terminal import console, print_json, printable, say
from shoal.errors import InputError, Message
from shoal.options import SPECS, TREE, Text

if TYPE_CHECKING:
    from rich.console import Console

    from shoal.guarantees.km import KmAnonymity
    from shoal.hierarchy.tree import Hierarchy
    from shoal.records.baskets import Baskets

UNUSABLE = 2
FORMATS = "arx, amnesia, parent-child or json"

app = typer.Typer(rich_markup_mode="rich", invoke_without_command=True)

Tree = Annotated[
    str,
    options.argument("HIERARCHY", "A hierarchy file, or a spec such as prefix together with data."),
]
Out = Annotated[
    str,
    options.output("FILE", "Where to write it (.csv, .txt, .json, also .gz or .zst)."),
]
To = Annotated[str | None, options.value("FORMAT", f"{FORMATS}; by default taken from the file's name.")]


@app.callback()
def hierarchy(context: typer.Context) -> None:
    """Make, look at, test and translate the trees that items are generalized in."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), nl=False)


@app.command(cls=options.Command)
@options.takes(
    "hierarchy",
    "unknown",
    *options.SETS,
    hierarchy=options.option_with("hierarchy", SPECS, kind=Text(), metavar="SPEC"),
)
def build(
    data: options.Data,
    output: Out,
    files: Annotated[
        list[str] | None,
        options.argument(
            "[FILE]...",
            "Where DATA is the name of a code system (icd10cm, icd9cm, atc): its publisher's file, for a tree of all its codes.",
        ),
    ] = None,
    codes: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[PREFIX=]SYSTEM:FILE[,FILE]",
            help="The items are codes of icd10cm, icd9cm, atc, omop or snomed, and these are its publisher's files. May be repeated, with "
            "the prefix that codes of each begin with.",
            rich_help_panel=TREE,
            show_default=False,
        ),
    ] = None,
    k: Annotated[int | None, typer.Option("--k", min=1, help="learned:N: the promise to learn it for.")] = None,
    m: Annotated[int | None, typer.Option("--m", min=1, help="learned:N: the promise to learn it for.")] = None,
    to: To = None,
    force: options.Force = False,
    show_values: options.ShowValues = False,
    json: options.Json = False,
    **given: Any,
) -> None:
    """Build a hierarchy over the items of a file and write it, for you to look at and edit.

    With --codes, the tree is that of a code system, above the codes that the file holds as it spells them.

    [bold]shoal hierarchy build clicks.dat --hierarchy balanced:5 -o tree.csv[/bold]

    [bold]shoal hierarchy build visits.csv --items codes --codes icd10cm:icd10cm_order_2026.txt -o tree.csv[/bold]

    [bold]shoal hierarchy build icd9cm CMS32_DESC_LONG_DX.txt -o icd9.csv[/bold]
    """
    from shoal.guarantees.km import KmAnonymity
    from shoal.hierarchy.codes.systems import SYSTEMS
    from shoal.hierarchy.files import write_hierarchy
    from shoal.models.km import HIERARCHY
    from shoal.records.source import read

    options.check_apart_from(output, data, *(files or ()))
    if (k is None) != (m is None):
        raise InputError("a promise to learn for has both --k and --m; give both, or neither")
    is_system = data in SYSTEMS and not Path(data).exists()
    if files and not is_system:
        raise InputError(
            f"further files are for a code system ({', '.join(SYSTEMS)}); name it first, or leave them out"
        )
    if (is_system or codes) and ("hierarchy" in given or k is not None):
        raise InputError("the tree of a code system needs no --hierarchy, --k or --m; leave them out")
    if is_system:
        if codes:
            raise InputError("--codes is for the codes of some data; name the data first, or leave it out")
        _build_codes({"": (data, files or [])}, None, given, output, to, force, json)
        return
    baskets = read(data, **{name: given[name] for name in options.SETS if name in given})
    if codes:
        named = _by_prefix(codes)
        options.check_apart_from(output, *(file for _, sources in named.values() for file in sources))
        _build_codes(named, baskets.vocabulary, given, output, to, force, json)
        return
    spec = given.get("hierarchy", HIERARCHY)
    if k is not None and not spec.startswith("learned:"):
        raise InputError(f"--k and --m are for learned:N, and the hierarchy is {spec}; leave them out")
    promise = None if k is None or m is None else KmAnonymity(k, m)
    tree = _resolved(spec, baskets, given.get("unknown"), promise)
    write_hierarchy(tree, output, to, force=force)
    _show(tree, json, output=output)


def _by_prefix(codes: Sequence[str]) -> dict[str, tuple[str, list[str]]]:
    from shoal.hierarchy.codes.systems import parse_code_spec

    found: dict[str, tuple[str, list[str]]] = {}
    for spec in codes:
        prefix, system, files = parse_code_spec(spec)
        if prefix in found:
            raise InputError(
                "two --codes are for the same prefix; say which codes are of which: --codes PREFIX=SYSTEM:FILE"
            )
        found[prefix] = system, files
    return found


def _build_codes(
    named: dict[str, tuple[str, list[str]]],
    values: Sequence[str] | None,
    given: dict[str, Any],
    output: str,
    to: str | None,
    force: bool,
    json: bool,
) -> None:
    """The tree of one or more code systems, above the values or above all codes."""
    from shoal.hierarchy.codes.systems import read_vocabularies
    from shoal.hierarchy.codes.vocabulary import code_tree
    from shoal.hierarchy.files import write_hierarchy
    from shoal.records.database.address import is_address
    from shoal.records.database.concept_tables import vocabulary_files

    with ExitStack() as stack:
        for prefix, (system, files) in named.items():
            if any(map(is_address, files)):
                if system != "omop" or len(files) > 1 or values is None:
                    raise InputError(
                        "a database holds the vocabulary of OMOP; give --codes omop:ADDRESS?table=SCHEMA.concept alone, and the data"
                    )
                wanted = [value[len(prefix) :] for value in values if value.startswith(prefix)]
                named[prefix] = system, stack.enter_context(vocabulary_files(files[0], wanted))
        vocabularies = read_vocabularies(named, values)
    tree, placement = code_tree(vocabularies, values, unknown=given.get("unknown"))
    write_hierarchy(tree, output, to, force=force)
    notes = [f"{words.source}: {note}" for words in vocabularies.values() for note in words.notes]
    for note in [*notes, *placement.notes()]:
        say(note)
    if json:
        _show(tree, json, output=output, codes=placement.to_dict(), notes=[*notes, *map(str, placement.notes())])
    else:
        _show(tree, json, output=output)


@app.command(cls=options.Command)
@options.takes(*options.SETS)
def show(
    hierarchy: Tree,
    depth: Annotated[int | None, typer.Option(min=0, help="Levels to show below the root.", show_default="all")] = None,
    data: Annotated[
        str | None, options.value("DATA", "The file whose items a spec such as balanced:5 is built over.")
    ] = None,
    show_values: options.ShowValues = False,
    json: options.Json = False,
    **given: Any,
) -> None:
    """Show a hierarchy as an outline, with the number of leaves under each node.

    [bold]shoal hierarchy show tree.csv --depth 2[/bold]
    """
    from shoal.hierarchy.survey import outline

    baskets = _baskets(data, given)
    tree = _tree(hierarchy, baskets)
    # A few children of each node say what it is about; JSON holds them all.
    lines = list(outline(tree, depth, limit=None if json else 12))
    if json:
        _show(tree, json, outline=[line._asdict() for line in lines])
        return
    out = console()
    for line in lines:
        out.print("  " * line.indent + printable(line.label), end="", soft_wrap=True)
        out.print(f"  {line.leaves:,}" if line.leaves > 1 else "", style="dim")
    _show(tree, json)


@app.command(cls=options.Command)
@options.takes(
    "k", *options.SETS, k=options.option_with("k", "The crowd: nobody is narrowed down to fewer than k rows.")
)
def check(
    hierarchy: Tree,
    data: Annotated[str | None, options.argument("DATA", "The file that it is meant for.")] = None,
    show_values: options.ShowValues = False,
    json: options.Json = False,
    **given: Any,
) -> int:
    """Check a hierarchy, alone or against the data it is meant for: items it lacks, categories that would force a release to the root.

    Exit code 0: usable; 2: not usable as it is.

    [bold]shoal hierarchy check tree.csv baskets.csv --k 5[/bold]
    """
    from shoal.hierarchy.fitting import better_column
    from shoal.hierarchy.spec import Values
    from shoal.hierarchy.survey import Fit, shape_findings

    baskets = _baskets(data, given)
    tree = _tree(hierarchy, baskets)
    findings = Fit.of(tree, Values.of_items(baskets)).findings(given.get("k", 5)) if baskets else shape_findings(tree)
    usable = not any(finding.grade == "error" for finding in findings)
    is_file = Path(hierarchy).exists()
    if baskets and not usable and is_file and (better := better_column(hierarchy, tree, baskets.vocabulary)):
        say(Message(better))
    facts = [{"kind": f.kind, "grade": f.grade, "labels": list(f.labels), "text": f.text} for f in findings]
    _show(tree, json, usable=usable, findings=facts)
    return 0 if usable else UNUSABLE


@app.command(cls=options.Command)
@options.takes()
def convert(
    file: Annotated[str, options.argument("IN", "A hierarchy file.")],
    output: Out,
    source_format: Annotated[
        str | None, typer.Option("--from", metavar="FORMAT", help=f"{FORMATS}; by default guessed.")
    ] = None,
    to: To = None,
    levels: Annotated[
        str | None, options.value("COL,COL", "The columns of an ARX file to use, leaf first, root last.")
    ] = None,
    add_root: Annotated[
        str | None, options.value("LABEL", "If there are several roots, put one of this name above them.")
    ] = None,
    force: options.Force = False,
    show_values: options.ShowValues = False,
    json: options.Json = False,
    **given: Any,
) -> None:
    """Translate a hierarchy from one tool's format to another's.

    [bold]shoal hierarchy convert amnesia.txt -o arx.csv[/bold]
    """
    from shoal.hierarchy.files import read_hierarchy, write_hierarchy

    options.check_apart_from(output)
    columns = [name.strip() for name in levels.split(",")] if levels else None
    tree = read_hierarchy(file, source_format, levels=columns, root=add_root)
    write_hierarchy(tree, output, to, force=force)
    _show(tree, json, output=output)


def _baskets(data: str | None, given: dict[str, Any]) -> Baskets | None:
    if data is None:
        return None
    from shoal.records.source import read

    return read(data, **{name: given[name] for name in options.SETS if name in given})


def _tree(spec: str, baskets: Baskets | None) -> Hierarchy:
    """The tree in a file, as it is there, or one built over the items of the data."""
    from shoal.hierarchy.files import read_hierarchy
    from shoal.records.stores.remote import is_elsewhere

    if is_elsewhere(spec) or Path(spec).exists():
        return read_hierarchy(spec)
    if baskets is None:
        raise InputError(f"there is no hierarchy file {spec!r}; name one, or name the data to build the tree over")
    return _resolved(spec, baskets, None)


def _resolved(spec: str, baskets: Baskets, unknown: str | None, promise: KmAnonymity | None = None) -> Hierarchy:
    from shoal.models.km import resolve_hierarchy

    return resolve_hierarchy(spec, baskets, unknown=unknown, promise=promise)


def _show(
    tree: Hierarchy, as_json: bool, *, output: str | None = None, findings: Sequence[dict[str, Any]] = (), **more: Any
) -> None:
    """The tree in figures, what was found about it, and the file it went to."""
    from shoal.hierarchy.survey import summary

    facts = summary(tree)
    if as_json:
        print_json(
            facts
            | more
            | ({"findings": list(findings)} if "usable" in more else {})
            | ({"output": output} if output else {})
        )
        return
    out = console()
    out.print()
    out.print(printable(tree.source), style="bold", end="")
    out.print(f"  {tree.n_leaves:,} leaves, {tree.n_nodes:,} nodes, {tree.height} levels above the leaves")
    _show_findings(out, findings, more.get("usable"))
    if output:
        out.print(f"written to {printable(output)}", soft_wrap=True)


def _show_findings(out: Console, findings: Sequence[dict[str, Any]], usable: bool | None) -> None:
    colours = {"error": "red", "warning": "yellow", "note": None}
    for finding in findings:
        out.print(f"{finding['grade']}: {printable(finding['text'])}", style=colours[finding["grade"]], soft_wrap=True)
    if usable is not None:
        out.print("usable" if usable else "not usable as it is", style="bold green" if usable else "bold red")
