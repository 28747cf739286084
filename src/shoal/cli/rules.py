"""`shoal rules`: what an attacker could know from the data itself."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from shoal.cli import options
from shoal.cli.first_use import prepare
from shoal.cli.terminal import console, print_json, printable, progress, table, values_shown
from shoal.errors import number_of


@options.takes(
    *("quasi", "sensitive", *options.KNOWN, "hierarchy", "unknown", "missing", "threads"),
    *("keep", "drop", "numeric", "spelling", "format", "query"),
)
def rules(
    data: options.Data,
    output: Annotated[
        str | None,
        options.output(
            "FILE",
            "Write them here, one JSON object per line, to read, extend and strike from. For you, not for publication.",
        ),
    ] = None,
    redundant: Annotated[
        bool, options.flag("--redundant", "Also those that follow from more general ones, marked.")
    ] = False,
    show: Annotated[int, typer.Option(min=0, help="Rules to show.")] = 20,
    force: options.Force = False,
    show_values: options.ShowValues = False,
    json: options.Json = False,
    **given: Any,
) -> None:
    """Mine a table for combinations that never occur though they could be expected to: "men do not have ovarian cancer".

    Whoever knows such rules can cross out values in a bucket. --model diversity makes buckets that hold against them.

    [bold]shoal rules adult.csv --quasi age,sex,race --sensitive occupation --keep income --hierarchy age=intervals:10,20[/bold]
    """
    from shoal.algorithms.buckets.rule_files import rule_lines
    from shoal.records.database.address import with_query, without_password
    from shoal.records.storage.publication import Publication
    from shoal.studies.rule_study import mine

    data = with_query(data, given.pop("query", None))
    if output is not None:
        options.check_output(output, force, data, given.get("knowledge"), *options.spec_files(given))
    prepare()
    with progress() as tell:
        mined = mine(data, redundant=redundant, progress=tell, **given)
        source, found, impossible = mined.source, mined.rules, mined.impossible()
    if output is not None:
        with Publication([output], force=force) as publication, publication.file(output, private=True) as file:
            file.write("".join(line + "\n" for line in rule_lines(found)).encode())
    shown = found if redundant else found.without_redundant()
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
    out.print(f"{number_of(len(shown), 'rule')}", style="bold", end="")
    out.print(f" about {printable(found.sensitive)} in {len(source.records):,} rows; the most general first")
    lines = table("rule", ">rows", ">exceptions", "")
    seen = values_shown(sys.stdout)
    for rule in list(shown)[:show]:
        marks = ", ".join(word for word, on in (("redundant", rule.redundant), ("yours", rule.given)) if on)
        text = printable(str(rule)) if seen else number_of(len(rule.conditions), "condition")
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
