"""`shoal rules`: what an attacker could know from the data itself."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli import options
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

if TYPE_CHECKING:
    from shoal.records.knowledge import Rules
    from shoal.records.records import Records


def rules(
    data: options.Data,
    quasi: options.Quasi = None,
    sensitive: options.Sensitive = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Write them here, one JSON object a line, to be read, added to and struck from. For you, not for publication.",
        ),
    ] = None,
    min_exp: options.MinExp = None,
    min_conf: options.MinConf = None,
    max_length: options.MaxLength = None,
    fuzzy: options.Fuzzy = None,
    knowledge: options.Knowledge = None,
    redundant: Annotated[
        bool, options.flag("--redundant", "Also those that follow from more general ones, marked.")
    ] = False,
    show: Annotated[int, typer.Option(min=0, help="Rules to show.")] = 20,
    hierarchy: options.HierarchySpecs = None,
    unknown: options.Unknown = None,
    missing: options.Missing = None,
    threads: options.Threads = None,
    keep: options.Keep = None,
    drop: options.Drop = None,
    numeric: options.Numeric = None,
    format: options.Format = None,
    query: options.Query = None,
    force: options.Force = False,
    input_limit: options.InputLimit = None,
    show_values: options.ShowValues = False,
    json: options.Json = False,
) -> None:
    """Mine a table for what never occurs though it could be expected to: "men do not have ovarian cancer".

    Whoever knows such rules can cross out values in a bucket. --model diversity makes buckets that hold against them.

    [bold]shoal rules adult.csv --quasi age,sex,race --sensitive occupation --keep income --hierarchy age=intervals:10,20[/bold]
    """
    from shoal.algorithms.buckets.rule_files import rule_lines
    from shoal.algorithms.recoding import Options
    from shoal.guarantees.diversity import MatchingDiversity
    from shoal.models import Roles
    from shoal.models import buckets as model
    from shoal.records.database.address import queried, without_password
    from shoal.records.storage.publication import Publication

    data = queried(data, query)
    if output is not None:
        specs = options.hierarchies(hierarchy)
        options.check_output(output, force, data, knowledge, *(specs.values() if isinstance(specs, dict) else [specs]))
    announce_compilation()
    with progress() as tell:
        reading = options.reading(None, None, drop, None, format, numeric)
        source, _ = model.read(data, MatchingDiversity(2), Roles(sensitive, quasi, keep), reading)
        trees = model.hierarchies(source.records, options.hierarchies(hierarchy), unknown)
        found = model.knowledge(
            source.records,
            trees,
            min_exp=min_exp,
            min_conf=min_conf,
            max_length=max_length,
            fuzzy=options.numbers(fuzzy, "--fuzzy", "age=5"),
            knowledge=knowledge,
            redundant=redundant,
            missing=options.missing_values(missing),
            options=Options(threads=threads, progress=tell),
        )
        impossible = _impossible(source.records, found)
    if output is not None:
        with Publication([output], force=force) as publication, publication.file(output, private=True) as file:
            file.write("".join(line + "\n" for line in rule_lines(found)).encode())
    shown = found if redundant else found.applied()
    if json:
        listed = [
            {
                "rule": str(rule),
                "if": dict(rule.conditions),
                "never": rule.value,
                "support": rule.support,
                "exceptions": rule.exceptions,
                "redundant": rule.redundant,
                "given": rule.given,
            }
            for rule in shown
        ]
        facts = {
            "input": without_password(data),
            "input_sha256": source.sha256,
            "rows": len(source.records),
            "output": output,
        }
        print_json({"count": len(shown), "rules": listed, "impossible": impossible, "mined": found.to_dict()} | facts)
        return
    out = console()
    out.print()
    out.print(f"{counted(len(shown), 'rule')}", style="bold", end="")
    out.print(f" about {printable(found.sensitive)} in {len(source.records):,} rows; the most general first")
    lines = table("rule", ">rows", ">exceptions", "")
    seen = values_shown(sys.stdout)
    for rule in list(shown)[:show]:
        marks = ", ".join(word for word, on in (("redundant", rule.redundant), ("yours", rule.given)) if on)
        text = printable(str(rule)) if seen else counted(len(rule.conditions), "condition")
        lines.add_row(text, f"{rule.support or 0:,.0f}", f"{rule.exceptions:,.0f}", marks)
    if show and len(shown):
        out.print(lines)
        if not seen:
            out.print(
                "--show-values names their conditions and values here; --json and -o FILE have them", soft_wrap=True
            )
    if len(shown) > show:
        out.print(f"and {len(shown) - show:,} more; --show {len(shown)} or -o FILE has them all")
    kinds = table("values that a row cannot have", ">rows", ">share")
    for number, rows in impossible.items():
        kinds.add_row(number, f"{rows:,}", f"{rows / max(1, len(source.records)):.1%}")
    out.print(kinds)
    if output is not None:
        out.print(f"rules        {printable(output)}", soft_wrap=True)


def _impossible(records: Records, found: Rules) -> dict[str, int]:
    """How many rows have 0, 1, 2, ... impossible values."""
    import numpy as np

    from shoal.guarantees.diversity import kinds_of_rows
    from shoal.records.buckets import sensitive_column

    kind, excluded = kinds_of_rows(records, found, sensitive_column(records).values)
    rows = np.bincount(excluded.sum(axis=1)[kind])
    return {str(number): int(n) for number, n in enumerate(rows.tolist()) if n}
