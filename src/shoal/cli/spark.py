"""`--engine spark`: what the commands show of a release or an audit on Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shoal.cli.audit import BROKEN, show_audit
from shoal.cli.terminal import console, print_json, printable, progress, say

if TYPE_CHECKING:
    from rich.console import Console

    from shoal.spark.running import OnSpark


def anonymize_on_spark(
    engine: str | None,
    data: str,
    guarantee: Any,
    asked: Mapping[str, Any],
    *,
    output: str | None,
    certificate: str | None,
    json: bool,
) -> None:
    from shoal.engines import chosen
    from shoal.spark.running import released

    with progress() as tell:
        found = released(chosen(engine), data, guarantee, asked, output=output, certificate=certificate, progress=tell)
    if json:
        print_json(found.to_dict())
    else:
        show_on_spark(found, console())
    if output is None:
        say("nothing was written; name a folder or table:NAME with -o to publish")


def audit_on_spark(engine: str | None, data: str, guarantee: Any, asked: Mapping[str, Any], *, json: bool) -> int:
    from shoal.engines import chosen
    from shoal.spark.running import audited

    with progress() as tell:
        if tell:
            tell("counting on Spark", 0.0)
        verdict = audited(chosen(engine), data, guarantee, asked)
    if json:
        print_json(verdict.to_dict() | {"input": data, "engine": engine})
    else:
        show_audit(verdict, None, console())
    return 0 if verdict.holds else BROKEN


def show_on_spark(found: OnSpark, out: Console) -> None:
    """The promise, what it cost, and where it went."""
    facts = found.to_dict()
    release = found.release
    out.print()
    out.print(f"{release.guarantee} holds", style="bold green", end="")
    out.print(f"  {release.audit.checked:,} counted in the published rows on {printable(str(found.engine))}")
    out.print(release.guarantee.promise()[0])
    for name, share in release.loss.items():
        out.print(f"lost ({name})  {share:.2%}" + ("  proven optimal" if release.optimal and name == "ncp" else ""))
    out.print(f"algorithm   {release.algorithm}")
    out.print(f"rows        {release.rows:,}, shuffled")
    out.print(f"time        {release.seconds:.1f} s")
    for note in found.notes:
        out.print(f"note: {printable(note)}", style="yellow", soft_wrap=True)
    for what in ("output", "certificate"):
        if facts[what] is not None:
            out.print(f"{what:<12} {printable(str(facts[what]))}", soft_wrap=True)
