"""`--engine spark`: what the commands show of a release or an audit on Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from shoal.cli.anonymize import show_promise, words_of_series
from shoal.cli.audit import BROKEN, show_audit
from shoal.cli.terminal import console, print_json, printable, progress, say, show_notes

if TYPE_CHECKING:
    from rich.console import Console

    from shoal.plan.model import Plan
    from shoal.spark import SparkRelease


def run_on_spark(plan: Plan, *, force: bool, json: bool) -> None:
    from shoal.spark import run

    with progress() as tell:
        release = run(plan, force=force, progress=tell)
    if json:
        origin = {} if plan.is_asked else {"plan": plan.origin.name, "plan_sha256": plan.origin.sha256}
        print_json(release.to_dict() | origin)
    else:
        show_on_spark(release, console())
    if plan.outputs is None and plan.is_asked:
        say("nothing was written; name a folder or table:NAME with -o to publish")


def audit_on_spark(engine: str, data: str, guarantee: Any, asked: Mapping[str, Any], *, json: bool) -> int:
    from shoal.spark.release import audit_place

    with progress() as tell:
        if tell:
            tell("counting on Spark", 0.0)
        verdict = audit_place(engine, data, guarantee, asked)
    if json:
        print_json(verdict.to_dict() | {"input": data, "engine": engine})
    else:
        show_audit(verdict, None, console())
    return 0 if verdict.holds else BROKEN


def show_on_spark(release: SparkRelease, out: Console) -> None:
    """The promise, what it cost, and where it went."""
    facts = release.to_dict()
    counted = f"{release.audit.checked:,} counted in the published rows on {printable(release.engine)}"
    if not show_promise(release, facts, counted, out):
        return
    for name, share in release.loss.items():
        if name.startswith("info"):
            continue
        out.print(f"lost ({name})  {share:.2%}")
    proof = "  proven optimal" if release.optimal else ""
    out.print(f"algorithm   {release.algorithm}{proof}")
    out.print(f"rows        {release.rows:,}, shuffled")
    if (series := facts.get("series")) is not None:
        out.print("series      " + ", ".join(words_of_series(series)))
    out.print(f"time        {release.seconds:.1f} s")
    show_notes(release.notes, out)
    for what in ("output", "certificate"):
        if facts[what] is not None:
            out.print(f"{what:<12} {printable(str(facts[what]))}", soft_wrap=True)
