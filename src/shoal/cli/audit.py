"""`shoal audit`: does a published file keep a promise?"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import options
from shoal.cli.first_use import prepare
from shoal.cli.terminal import console, print_json, printable, progress, show_notes, table, values_shown
from shoal.errors import number_of
from shoal.options import PROMISE

if TYPE_CHECKING:
    from rich.console import Console

    from shoal.guarantees.audit import Audit

BROKEN = 3


@options.takes(
    *options.PROMISE,
    *("knowledge", "hierarchy", "threads", "memory_limit"),
    *options.TABLES,
    "engine",
    hierarchy=options.option_with(
        "hierarchy",
        "The tree that the release was made with, as a file. It is not needed: with it, items that stand at several levels are counted "
        "more exactly, and the rules of --knowledge may speak of its categories (COL=FILE).",
        metavar="[COL=]FILE",
        default=None,
    ),
)
def audit(
    data: options.Data,
    kind: Annotated[
        str | None,
        typer.Option(
            help="diversity: for comparison, distinct, entropy or recursive l-diversity of the buckets.",
            rich_help_panel=PROMISE,
        ),
    ] = None,
    show_values: options.ShowValues = False,
    json: options.Json = False,
    **given: Any,
) -> int:
    """Check whether a published file keeps a promise.

    --model km: every itemset of up to m items occurs in at least k rows. --model k: every row is equal to k - 1 others (in a table: in its
    --quasi columns). --model rt: both, the itemsets inside each class of equal values. --model lm: and no sensitive item in more than 1/l
    of them. --model diversity: every row has l possible sensitive values, even for somebody who knows the --knowledge rules. --model
    constraints: every part of every set that --policy protects matches at least k rows, or none.
    chunks: the rows are pieces of records, and whoever knows up to m items of one is left with k records.

    It needs only the file: no hierarchy, no original, whichever tool made it. Where items are published at several levels (local
    recoding), --hierarchy with the file of the tree counts more exactly: a known item then matches whatever it may be published as.

    Exit code 0: the promise holds; 3: it does not, and the itemsets or rows shown prove it.

    [bold]shoal audit public.csv --k 5 --m 2[/bold]
    """
    from shoal.records.database.address import with_query, without_password
    from shoal.release import audited_source, read_to_audit

    guarantee = options.promise(given, kind)
    given.pop("missing_quasi", None)  # what is published stands as it is
    engine = given.pop("engine", None)
    if options.is_spark(engine):
        from shoal.cli.spark import audit_on_spark

        return audit_on_spark(engine, data, guarantee, given, json=json)
    prepare()
    with progress() as tell:
        if tell:
            tell("reading", 0.0)
        source, guarantee = read_to_audit(data, guarantee, given)
        verdict = audited_source(source, guarantee, threads=given.get("threads"), progress=tell)
    if json:
        read = without_password(with_query(data, given.get("query")))
        print_json(verdict.to_dict() | {"input": read, "input_sha256": source.sha256, "rows": len(source)})
    else:
        show_audit(verdict, len(source), console())
    return 0 if verdict.holds else BROKEN


def show_audit(verdict: Audit, rows: int | None, out: Console) -> None:
    """The verdict, the counts by size, and who shows it: by items and values where they may be shown, else by numbers of rows."""
    name, k = verdict.guarantee["name"], verdict.guarantee.get("k", 0)
    people = verdict.facts.get("people")
    crowd = "rows" if people is None else "people"
    out.print()
    if verdict.holds:
        out.print(f"{name} holds", style="bold green", end="")
        of = "" if people is None else f" of {number_of(people, 'person', 'people')}"
        out.print("" if rows is None else f" for all {rows:,} rows{of}")
    else:
        out.print(f"{name} does not hold", style="bold red", end="")
        at_least = "" if verdict.complete else "at least "
        out.print(f": {at_least}{_breaches(verdict, k, crowd)}")
    tells = verdict.guarantee["model"] == "lm" or "telling_crowds" in verdict.facts
    broken = "that break the promise" if tells else f"in fewer than {k} {crowd}"
    sizes = table("items known", ">itemsets that occur", f">{broken}")
    for size, (checked, violations) in verdict.by_size.items():
        sizes.add_row(str(size), f"{checked:,}", f"{violations:,}")
    if verdict.by_size:
        out.print(sizes)
    if "classes" in verdict.facts:
        facts = verdict.facts
        sizes = table("classes", ">smallest", ">largest", ">average", title="Classes of equal rows")
        sizes.add_row(
            f"{facts['classes']:,}",
            f"{facts['smallest_class']:,}",
            f"{facts['largest_class']:,}",
            f"{facts['average_class']:.1f}",
        )
        out.print(sizes)
    if verdict.witnesses:
        witnesses = table(
            "the rarest",
            f">{crowd}",
            "which" if people is None else "rows",
            *(["why"] if any(w.reason for w in verdict.witnesses) else []),
            title="Witnesses",
        )
        for witness in verdict.witnesses:
            shown = ", ".join(f"{row:,}" for row in witness.rows[:5]) + (", ..." if len(witness.rows) > 5 else "")
            reason = [witness.reason] if witness.reason else []
            what = " + ".join(witness.items) or ("all of them" if witness.group else "(no items)")
            if not values_shown(sys.stdout):
                what = f"{number_of(len(witness.items), 'item')}" + (" of a class" if witness.group else "")
            elif witness.group:
                what = f"{', '.join(value or '(missing)' for value in witness.group)}: {what}"
            witnesses.add_row(printable(what), f"{witness.support:,}", shown, *reason)
        out.print(witnesses)
        if not values_shown(sys.stdout):
            out.print("--show-values names them here, and --json has them", soft_wrap=True)
    show_notes(verdict.notes, out)


def _breaches(verdict: Audit, k: int, crowd: str) -> str:
    """How much of what was counted breaks the promise."""
    model, broken, checked = verdict.guarantee["model"], verdict.violations, verdict.checked
    if model == "km":
        return f"{number_of(broken, 'itemset')} in fewer than {k} {crowd}"
    if model == "constraints":
        return f"{number_of(broken, 'part')} of protected sets in fewer than {k} rows, or sets outside a group"
    if model == "diversity":
        return f"{broken:,} of {checked:,} {'buckets' if 'kind' in verdict.guarantee else 'rows'}"
    if model == "k":
        return f"{broken:,} of {number_of(checked, 'class', 'classes')} of equal rows"
    if model == "chunks":
        return f"{broken:,} of {number_of(checked, 'itemset, chunk and cluster', 'itemsets, chunks and clusters')}"
    return f"{broken:,} of {number_of(checked, 'class and itemset', 'classes and itemsets')}"
