"""`shoal audit`: does a published file keep a promise?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.cli import options
from shoal.cli.terminal import announce_compilation, console, counted, print_json, printable, progress, table

if TYPE_CHECKING:
    from rich.console import Console

    from shoal.guarantees.audit import Audit

BROKEN = 3


def audit(
    data: options.Data,
    model: options.Model = "km",
    k: options.K = 5,
    m: options.M = 2,
    threads: options.Threads = None,
    items: options.Items = None,
    id: options.Id = None,
    drop: options.Drop = None,
    separator: options.Separator = None,
    format: options.Format = None,
    json: options.Json = False,
) -> int:
    """Count every itemset of up to m items in a file and say whether all of them occur in at least k rows.

    It looks at the file alone: no hierarchy, no original, no matter which tool made it. Exit code 0: the promise holds; 3: it does
    not, and the itemsets shown, with their rows, prove it.

    [bold]shoal audit public.csv --k 5 --m 2[/bold]
    """
    from shoal import release as way
    from shoal.records.reading import load

    guarantee = options.promise(model, k, m)
    announce_compilation()
    with progress() as tell:
        if tell:
            tell("reading", 0.0)
        source = load(data, **options.reading(items, id, drop, separator, format))
        verdict = way.audit(source.baskets, guarantee, threads=threads, progress=tell)
    if json:
        print_json(verdict.to_dict() | {"input": data, "input_sha256": source.sha256, "rows": len(source.baskets)})
    else:
        show_audit(verdict, len(source.baskets), console())
    return 0 if verdict.holds else BROKEN


def show_audit(verdict: Audit, rows: int, out: Console) -> None:
    """The verdict, the counts by size, and who shows it."""
    name, k = verdict.guarantee["name"], verdict.guarantee["k"]
    out.print()
    if verdict.holds:
        out.print(f"{name} holds", style="bold green", end="")
        out.print(f" for all {rows:,} rows")
    else:
        out.print(f"{name} does not hold", style="bold red", end="")
        at_least = "" if verdict.complete else "at least "
        out.print(f": {at_least}{counted(verdict.violations, 'itemset')} in fewer than {k} rows")
    sizes = table("items known", ">itemsets that occur", f">in fewer than {k} rows")
    for size, (checked, violations) in verdict.by_size.items():
        sizes.add_row(str(size), f"{checked:,}", f"{violations:,}")
    if verdict.by_size:
        out.print(sizes)
    if verdict.witnesses:
        witnesses = table("the rarest", ">rows", "which", title="Witnesses")
        for witness in verdict.witnesses:
            shown = ", ".join(f"{row:,}" for row in witness.rows[:5]) + (", ..." if len(witness.rows) > 5 else "")
            witnesses.add_row(printable(" + ".join(witness.items)), f"{witness.support:,}", shown)
        out.print(witnesses)
    for note in verdict.notes:
        out.print(f"note: {printable(note)}", style="yellow", soft_wrap=True)
