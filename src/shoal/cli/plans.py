"""`shoal init`, `shoal run` and `shoal schema`: releases from plans."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import options
from shoal.cli.first_use import prepare
from shoal.cli.terminal import console, print_json, printable, progress, say, show_notes
from shoal.errors import InputError, near_miss, number_of

if TYPE_CHECKING:
    from rich.console import Console

    from shoal.rehearsal import Checked

PLAN = "plan"
"""What the schema of plans is called."""


@options.takes("format", "query")
def init(
    data: Annotated[
        str,
        options.argument(
            "DATA",
            "A file of sets or a table: .dat, .csv, .tsv, .jsonl, .parquet or .arrow (text also .gz or .zst); "
            "postgresql://... or sqlite:... for a database.",
        ),
    ],
    output: Annotated[
        str | None,
        options.output("PLAN", "Where the plan goes.", "standard output"),
    ] = None,
    bind: Annotated[
        bool, options.flag("--bind", "Write the hash of DATA into the plan, so that a run refuses any other file.")
    ] = False,
    force: options.Force = False,
    show_values: options.ShowValues = False,
    json: options.Json = False,
    **given: Any,
) -> None:
    """Draft a plan for a file: guess format, separators, roles and the promise, and say why in comments.

    What it is not sure of stays open: a column without a role stops the run until you decide. Reasons are counts, never values.

    [bold]shoal init patients.csv > plan.yaml[/bold]
    """
    from shoal.plan.draft import draft, draft_yaml

    if output is not None and json:
        raise InputError("--json shows the draft on standard output; leave out -o, or --json")
    if output is None and force:
        raise InputError("--force needs -o; without it nothing is written")
    if output is not None:
        options.check_output(output, force, data)
    found = draft(data, format=given.get("format"), query=given.get("query"), bind=bind)
    if json:
        print_json(found.to_dict())
    elif output is None:
        typer.echo(draft_yaml(found), nl=False)
    else:
        from shoal.records.storage.publication import Publication

        text = draft_yaml(found, folder=os.path.dirname(output))
        with Publication([output], force=force) as publication, publication.file(output) as file:
            file.write(text.encode())
    if found.open:
        say(f"{number_of(len(found.open), 'column')} left open: give each a role before you run the plan")


@options.takes()
def run(
    plan: Annotated[str, options.argument("PLAN", "A plan, YAML or .json; shoal init drafts one.")],
    check: Annotated[
        bool, options.flag("--check", "Read the plan and the data, check all, estimate the cost; write nothing.")
    ] = False,
    force: options.Force = False,
    show_values: options.ShowValues = False,
    json: options.Json = False,
    **given: Any,
) -> None:
    """Make the release that a plan describes: the same as shoal anonymize with the flags it stands for.

    Paths in a plan are relative to its folder. A mistake in it is refused with its place in the file, and nothing is written.

    [bold]shoal run plan.yaml --check && shoal run plan.yaml[/bold]
    """
    from shoal.plan import read_plan
    from shoal.rehearsal import checked_plan
    from shoal.release import run as run_plan

    wanted = read_plan(plan)
    to_stdout = wanted.outputs is not None and wanted.outputs.data == "-"
    if check:
        with progress() as tell:
            found = checked_plan(wanted, force=force, progress=tell)
        if json:
            print_json(found.to_dict())
        else:
            show_check(found, console())
        return
    if to_stdout and json:
        raise wanted.refusal(
            ("outputs", "data"), "- and --json both need standard output; name a file, or leave --json out"
        )
    if wanted.on_spark:
        from shoal.cli.spark import run_on_spark

        run_on_spark(wanted, force=force, json=json)
        return
    prepare()
    with progress() as tell:
        release = run_plan(wanted, force=force, progress=tell)
    if json:
        print_json(release.to_dict() | {"plan": wanted.origin.name, "plan_sha256": wanted.origin.sha256})
    else:
        from shoal.cli.anonymize import show_release

        show_release(release, console(stderr=to_stdout))
    if wanted.outputs is None:
        say(f"nothing was written; name a file in {wanted.origin.name} (outputs: {{data: ...}}) to publish")


def schema(
    command: Annotated[
        list[str] | None,
        options.argument("[COMMAND]", "Of what this command prints with --json; plan for plans.", "plan"),
    ] = None,
    compare: Annotated[bool, options.flag("--compare", "Of plans with a grid, for shoal compare.")] = False,
    list_: Annotated[bool, options.flag("--list", "Name everything that has a schema.")] = False,
    json: options.Json = False,
) -> None:
    """Print a JSON Schema (2020-12): of plans, for editors and for pipelines that make them, or of what a command prints with --json.

    It is JSON with or without --json. The version of what a command prints is at the end of its `$id`.

    [bold]shoal schema > plan.schema.json[/bold]

    [bold]shoal schema anonymize > anonymize.schema.json[/bold]
    """
    name = " ".join(command or ())
    if (compare or list_) and (name or compare == list_):
        raise InputError("--compare, --list and a command each ask for something else; give one of them")
    if compare:
        from shoal.studies.compare import comparison_schema

        print_json(comparison_schema())
        return
    if name in ("", PLAN) and not list_:
        from shoal.plan import json_schema

        print_json(json_schema())
        if not name:
            say("this is the schema of plans; shoal schema --list names those of what commands print")
        return
    from shoal.cli.schemas import outputs, schema_of

    known = [PLAN, *outputs()]
    if list_:
        if json:
            print_json({"schemas": known})
        else:
            typer.echo("\n".join(known))
    elif name in known:
        print_json(schema_of(name))
    else:
        raise InputError(f"there is no schema of {name!r}; {near_miss(name, known)}choose among {', '.join(known)}")


def show_check(found: Checked, out: Console) -> None:
    """What was read, what is promised, what it would take."""
    from rich.table import Table

    out.print()
    out.print(f"{printable(found.plan.origin.name)} can be run", style="bold green", end="")
    out.print("; nothing was written")
    lines = Table.grid(padding=(0, 2))
    lines.add_row()
    lines.add_row("promise", found.guarantee, f"by {found.algorithm}")
    read = number_of(found.rows, "row")
    items = "" if found.items is None else f"{number_of(found.items, 'item')} in {found.occurrences:,} occurrences"
    lines.add_row("input", read, items)
    for name, role in found.columns.items():
        tree = found.hierarchies.get(name)
        lines.add_row(f"  {printable(name)}", role, f"under {printable(tree)}" if tree not in (None, "flat") else "")
    for name, tree in found.hierarchies.items():
        if name not in found.columns:  # a file of sets without columns
            lines.add_row(f"  {printable(name)}", "items", f"under {printable(tree)}")
    lines.add_row("estimate", _duration(found.estimate.seconds), _work(found))
    out.print(lines)
    show_notes(found.notes, out)


def _duration(seconds: float) -> str:
    """An order of magnitude: more would promise more than is known."""
    for limit, words in ((10, "seconds"), (60, "under a minute"), (600, "minutes"), (3600, "up to an hour")):
        if seconds <= limit:
            return words
    return "hours" if seconds <= 86_400 else "days or more"


def _work(found: Checked) -> str:
    m = getattr(found.plan.guarantee, "m", None)
    parts = []
    if found.estimate.itemsets is not None:
        parts.append(f"{found.estimate.itemsets:,} sets of up to {m} items to count")
    if found.estimate.pairs is not None:
        parts.append(f"{found.estimate.pairs:,} pairs of combinations of values to compare")
    return ", ".join(parts)
