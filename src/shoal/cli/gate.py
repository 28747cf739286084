"""`shoal gate`: may these files pass? For pipelines that publish, whatever made the files."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import options
from shoal.cli.first_use import prepare
from shoal.cli.terminal import console, print_json, printable, progress, table
from shoal.errors import InputError, number_of

if TYPE_CHECKING:
    from rich.console import Console

    from shoal.gates.inspection import Inspection

_REPORTS = "For pipelines"


@options.takes("threads")
def gate(
    policy: Annotated[
        str, typer.Argument(metavar="POLICY", help="The policy, YAML or JSON: which files, and what each has to keep.")
    ],
    files: Annotated[
        list[str] | None,
        options.argument(
            "[FILE]...", "The files to look at; all below the policy's folder that a check is about unless given."
        ),
    ] = None,
    junit: Annotated[str | None, options.value("FILE", "Write a JUnit report as well.", _REPORTS)] = None,
    sarif: Annotated[str | None, options.value("FILE", "Write a SARIF report as well.", _REPORTS)] = None,
    json: options.Json = False,
    **given: Any,
) -> int:
    """Let files pass only if each keeps the promise that a policy asks of it: a gate in front of a release, for files of any tool.

    A policy lists checks. Each names files by patterns, relative to its own folder, and says of them what a plan would say: guarantee,
    columns, how to read them. It may ask for a certificate that verifies, signed by a given key, and for the least that has to be kept:

      version: 1
      checks:
        - files: public/*.csv
          guarantee: {model: km, k: 5, m: 2}
          certificate: required
          kept: {exact: 0.6}

    Exit code 0: all may pass; 3: a promise or a demand is broken; 2: a file cannot be read, or no file fits a check. What is shown and
    written holds counts and places, never a value of the data.

    [bold]shoal gate policy.yaml[/bold]

    [bold]shoal gate policy.yaml public/clicks.csv --sarif gate.sarif[/bold]
    """
    from shoal.gates.inspection import gate as inspect
    from shoal.gates.notices import junit as junit_text
    from shoal.gates.notices import sarif as sarif_text
    from shoal.gates.rulebook import local_folder
    from shoal.records.storage.publication import Publication

    forms = ((junit, junit_text), (sarif, lambda found: sarif_text(found, policy)))
    reports = {path: form for path, form in forms if path is not None}
    if junit is not None and junit == sarif:
        raise InputError("--junit and --sarif name the same file; give each its own")
    prepare()
    with progress() as tell:
        found = inspect(policy, files or None, progress=tell, threads=given.get("threads"))
    if reports:
        folder = local_folder(os.path.dirname(policy))
        looked_at = [os.path.join(folder, file.file) for file in found.files]
        for path in reports:
            options.check_apart_from(path, policy, *(files or ()), *looked_at)
        with Publication(tuple(reports), force=True) as publication:
            for path, form in reports.items():
                with publication.file(path) as file:
                    file.write(form(found).encode())
    if json:
        print_json(found.to_dict() | {"policy": os.fspath(policy), "exit_code": found.exit_code})
    else:
        _show(found, console())
    return found.exit_code


def _show(found: Inspection, out: Console) -> None:
    """The verdict, a line for each file, and below it what is wrong."""
    broken = sum(not file.passes for file in found.files)
    out.print()
    if broken:
        out.print(f"{number_of(broken, 'check')} of {len(found.files):,} failed", style="bold red")
    else:
        out.print(f"all {number_of(len(found.files), 'check')} passed", style="bold green")
    shown = table("", "file", "promise", ">counted", ">broken", "certificate")
    for file in found.files:
        counts = (f"{n:,}" if n is not None else "" for n in (file.checked, file.violations))
        mark = "yes" if file.passes else "NO"
        shown.add_row(mark, printable(file.file), file.guarantee or "", *counts, file.certificate or "")
    if found.files:
        out.print(shown)
    for file in found.files:
        for problem in file.problems:
            out.print(f"{printable(file.file)}: {printable(problem.says)}", soft_wrap=True)
    if found.ignored:
        out.print(f"{number_of(found.ignored, 'file')} given that no check is about")
