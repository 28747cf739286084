"""Task `estimate`: what a plan's promise would cost, tried on a sample of the rows in a few seconds.

The sample is drawn with a fixed seed, so that two promises are compared on the same rows. Values and items keep the domain of the whole
file, so that shares of it mean the same. Nothing is published: the proposal is audited, measured and forgotten.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from shoal.app.worker import Teller
from shoal.plan import Plan, call_of
from shoal.plan.running import check_files, in_terms_of

ROWS = 2_000
SEED = 0
LIMIT = 25.0
"""Seconds after which an estimate that is not there yet is given up; reading the file is not counted."""
SEARCH = 4.0
"""Seconds of search, for algorithms that can be told."""
_READING = ("format", "items", "id", "separator", "drop", "numeric")
_ROLES = ("sensitive", "quasi", "keep")
_RUN = ("suppress", "seed", "segments", "population", "generations", "threads")


def work(
    plan: Plan, folder: Path, tell: Teller, *, rows: int = ROWS, limit: float = LIMIT, key: str = "", base: str = ""
) -> dict[str, Any]:
    return estimated(plan, tell, rows, limit)


def estimated(plan: Plan, tell: Any, rows: int = ROWS, limit: float | None = None) -> dict[str, Any]:
    """Loss, classes and raw risk of a sample of at most `rows` rows. With `limit`, the process ends if it takes longer, reading aside."""
    from shoal.algorithms import entry
    from shoal.algorithms.recoding import Options
    from shoal.models import Roles, model_of
    from shoal.records.reading import Source
    from shoal.release import audited_source
    from shoal.report.raw_risk import raw_risk

    started = time.monotonic()
    check_files(plan.model_copy(update={"outputs": None}))
    call = call_of(plan)
    asked = dict(call.arguments)
    tell.stage("Reading the data")
    with in_terms_of(plan):
        reading = {name: asked[name] for name in _READING if name in asked}
        model = model_of(call.guarantee)
        whole, guarantee = model.read(call.data, call.guarantee, Roles(*(asked.get(name) for name in _ROLES)), reading)
    source = sampled(whole, rows)
    name, home = entry(plan.kind, plan.algorithm)
    given = {option: asked[option] for option in _RUN if option in asked}
    if "time_limit" in home.options:
        given["time_limit"] = min(SEARCH, asked.get("time_limit", SEARCH))
    request = dict.fromkeys(type(plan.options).model_fields) | asked | {"algorithm": name}
    tell.stage("Trying the promise")
    with in_terms_of(plan), given_up_after(limit, tell):
        request["hierarchy"] = _hierarchy(plan, whole, asked.get("hierarchy"), asked.get("unknown"))
        proposal = model.proposal(source, guarantee, request, Options(**given, progress=tell))
        tell.stage("Checking it")
        raw = raw_risk(source, guarantee, threads=asked.get("threads"))
        found = {"baskets" if isinstance(source, Source) else "records": proposal.published}
        published = replace(source, **found)
        verdict = audited_source(published, proposal.guarantee, yes_or_no=True, threads=asked.get("threads"))
    details = proposal.details
    return {
        "sample": len(source),
        "rows": len(whole),
        "guarantee": str(guarantee),
        "kind": plan.kind,
        "algorithm": proposal.algorithm,
        "holds": verdict.holds,
        "loss": dict(proposal.loss),
        "optimal": proposal.optimal,
        "groups": _groups(details),
        "by_column": details.get("ncp_by_column"),
        "deleted": details.get("suppressed", {}).get("share", 0.0),
        "raw": [exposed.to_dict() for exposed in raw],
        "seconds": round(time.monotonic() - started, 2),
    }


def sampled(source: Any, rows: int, seed: int = SEED) -> Any:
    """A source with at most so many of its rows, drawn without regard to what they hold, in their order."""
    import numpy as np

    from shoal.records.reading import Source

    if len(source) <= rows:
        return source
    taken = np.sort(np.random.default_rng(seed).choice(len(source), rows, replace=False)).astype(np.int64)
    if isinstance(source, Source):
        return replace(source, baskets=source.baskets.take(taken))
    return replace(source, records=source.records.take(taken))


def _hierarchy(plan: Plan, whole: Any, given: Any, unknown: str | None) -> Any:
    """What the proposal gets. A tree of items that is made from their frequency is made from the whole file, as the release will do."""
    from shoal.hierarchy.spec import resolve
    from shoal.models.km import HIERARCHY, resolve_hierarchy

    if plan.kind == "km":
        return resolve_hierarchy(HIERARCHY if given is None else given, whole.baskets, unknown=unknown)
    if plan.kind not in ("rt", "lm") or given is None:
        return given
    sets, specs = whole.records.items, given if isinstance(given, dict) else {whole.records.items_name: given}
    spec = specs.get(whole.records.items_name)
    if spec is None or whole.records.sensitive_items or not sets.vocabulary:
        return given
    return {**specs, whole.records.items_name: resolve(spec, sets.vocabulary, sets.supports(), unknown=unknown)}


def _groups(details: Any) -> dict[str, Any] | None:
    """How many groups of rows there are, and how large."""
    if isinstance(found := details.get("classes"), dict):
        return {name: found[name] for name in ("count", "smallest", "largest", "average")}
    if isinstance(found := details.get("buckets"), dict):
        names = {"count": "buckets", "smallest": "smallest_bucket", "largest": "largest_bucket"}
        return {name: found[key] for name, key in names.items()} | {"average": found["average_bucket"]}
    return None


@contextmanager
def given_up_after(seconds: float | None, tell: Teller) -> Iterator[None]:
    """Ends the process after a time, with a sentence: a search inside a kernel cannot be interrupted otherwise."""
    if seconds is None:
        yield
        return

    def give_up() -> None:
        tell.end(
            "failed",
            f"No estimate within {seconds:g} seconds, even on a sample. The release itself may take long; a smaller m, or another "
            "algorithm, is faster.",
        )
        os._exit(3)

    timer = threading.Timer(seconds, give_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
