"""What a plan's promise would cost, tried on a sample of the rows.

The sample is drawn with a fixed seed, so that two promises are compared on the same rows. Values and items keep the domain of the whole
file, so that shares of it mean the same. Nothing is published: the proposal is audited, measured and forgotten. What a release would keep
is a range (`outlook`); other losses are told under k and under its share, and the release is mostly between the two, or below.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from shoal.errors import ShoalError, Unreachable
from shoal.estimates.decision_map import risk_left
from shoal.estimates.outlook import ROWS, WARM_UP, Trial, growing, propose, sample, share_of_k, sides_kept, try_promise
from shoal.evaluation.raw_risk import COLUMNS, raw_risk
from shoal.hierarchy.spec import Values, resolve
from shoal.hierarchy.tree import Hierarchy
from shoal.models import Proposal
from shoal.models.km import HIERARCHY, resolve_hierarchy
from shoal.plan.model import Plan
from shoal.processes import Teller
from shoal.publish import check_files
from shoal.records.records import Records
from shoal.records.source import Source
from shoal.release import audited_source, read_for

Estimate = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Ground:
    """What trials of a plan share, whatever its numbers are: the data as they were read."""

    whole: Source
    sensitive: Any
    """Of the guarantee, once the data have told which items they are."""

    def asked_of(self, promise: Any) -> Any:
        """A promise about these data."""
        return promise if self.sensitive is None else replace(promise, sensitive=self.sensitive)


class Trials:
    """Trials of plans, one after the other. The data that were last read are kept, and so is the last tree."""

    def __init__(self, columns: str = COLUMNS) -> None:
        """`columns` is what readers call all quasi-identifier columns."""
        self.columns = columns
        self._ground: tuple[Any, Ground] | None = None
        self._tree: tuple[Any, Any] | None = None
        self._warm: set[tuple[str, str]] = set()

    def growing(self, plan: Plan, tell: Teller, moment: float | None = None) -> Iterator[Estimate]:
        """Trials on samples that grow: each as soon as it is there, until another would take too long, or all rows were tried."""
        ground = self._read(plan, tell)
        self.warm_up(plan, tell)
        trials = growing(len(ground.whole), plan.promise, lambda rows: self.trial(plan, tell, rows), moment)
        for estimate, final in trials:
            yield estimate | {"final": final}

    def warm_up(self, plan: Plan, tell: Teller) -> None:
        """Loads what an algorithm needs at its first time, by a trial that nobody sees."""
        way = plan.kind, str(plan.algorithm)
        if way not in self._warm:
            ground = self._read(plan, tell)
            if len(ground.whole) > WARM_UP:
                tell.stage("Loading the algorithm", trying="algorithm")
                with suppress(ShoalError):  # k may be more than so few rows can give
                    self._trial(plan, tell, ground, WARM_UP)
            self._warm.add(way)

    def trial(self, plan: Plan, tell: Teller, rows: int = ROWS) -> Estimate:
        """Loss, classes and raw risk of a sample of at most `rows` rows."""
        ground = self._read(plan, tell)
        tell.stage(f"Trying the promise on {min(rows, len(ground.whole)):,} rows", trying="promise")
        return self._trial(plan, tell, ground, rows)

    def _trial(self, plan: Plan, tell: Teller, ground: Ground, rows: int) -> Estimate:
        started = time.monotonic()
        whole, promise, threads = ground.whole, ground.asked_of(plan.promise), plan.options.threads
        n = min(rows, len(whole))
        asked = plan.request | {"hierarchy": self._hierarchy(plan, whole)}
        with plan.speaking():
            share = share_of_k(promise, n, len(whole))
            try:
                found = try_promise(whole, n, promise, lambda source, given: propose(source, given, asked, tell))
            except Unreachable as error:
                if share is None:
                    raise
                raise Unreachable(
                    f"there is no estimate: {promise} cannot be reached on a sample of {n:,} rows; take a larger one"
                ) from error
            proposal, source = found.proposal, found.source
            tell.stage("Checking it")
            raw = raw_risk(source, promise, threads=threads)
            published = replace(source, records=Records.of(proposal.published))
            verdict = audited_source(published, proposal.guarantee, yes_or_no=True, threads=threads)
        details = proposal.details
        return {
            "sample": len(source),
            "rows": len(whole),
            "guarantee": str(proposal.guarantee),
            "kind": plan.kind,
            "k": getattr(promise, "k", None),
            "people": whole.records.people is not None,
            "algorithm": proposal.algorithm,
            "holds": bool(verdict.holds),
            "loss": dict(proposal.loss),
            "share_of_k": share,
            "loss_at_share": None if found.at_share is None else dict(found.at_share.loss),
            "kept": {name: [one.low, one.high] for name, one in found.ranges().items()},
            "sides": {name: [one.low, one.high] for name, one in found.ranges(sides_kept).items()},
            "left": risk_left(proposal.published, threads),
            "optimal": proposal.optimal,
            "groups": _groups(details),
            "by_column": details.get("ncp_by_column"),
            "idle_trees": [tree.to_dict() for tree in _idle_trees(found)],
            "deleted": details.get("suppressed", {}).get("share", 0.0),
            "raw": [exposed.to_dict(self.columns) for exposed in raw],
            "seconds": round(time.monotonic() - started, 2),
            "final": True,
        }

    def losses(self, plan: Plan, tree: Hierarchy, tell: Teller, moment: float) -> Iterator[Estimate]:
        """What a plan for sets would lose of their information under another tree: a range, on samples that grow."""
        ground = self._read(plan, tell)
        whole, promise = ground.whole, ground.asked_of(plan.promise)
        asked = plan.request | {"hierarchy": tree}

        def propose_for(source: Source, given: Any) -> Proposal:
            return propose(source, given, asked, tell)

        def try_on(rows: int) -> Trial:
            tell.stage(f"Trying the plan on {min(rows, len(whole)):,} rows", trying="promise")
            with plan.speaking():
                return try_promise(whole, rows, promise, propose_for)

        if (way := (plan.kind, str(plan.algorithm))) not in self._warm:
            tell.stage("Loading the algorithm", trying="algorithm")
            with suppress(ShoalError):  # k may be more than so few rows can give
                propose_for(sample(whole, WARM_UP), promise)
            self._warm.add(way)
        for found, final in growing(len(whole), promise, try_on, moment):
            kept = found.ranges()["info"]
            lost = [1 - kept.high, 1 - kept.low]
            yield {"lost": lost, "sample": len(found.source), "rows": len(whole), "final": final}

    def source(self, plan: Plan, tell: Teller) -> Source:
        """The data of a plan."""
        return self._read(plan, tell).whole

    def _read(self, plan: Plan, tell: Teller) -> Ground:
        """The data of a plan: those that were read last, if they are the same, in the same roles."""
        check_files(plan.model_copy(update={"outputs": None}))
        roles = (plan.of_role("quasi"), plan.of_role("keep"), plan.sensitive)
        mark = (
            plan.kind,
            _mark(plan.data),
            _mark(plan.sensitive),
            repr(plan.reading()),
            repr((roles, plan.input.one_hot)),
            # A promise that does not look at the values of a sensitive column reads it in another way.
            repr((getattr(plan.promise, "looks_at_values", None), plan.options.missing_quasi, plan.options.shift)),
        )
        if self._ground is None or self._ground[0] != mark:
            self._ground = self._tree = None  # before others take their place in memory
            tell.stage("Reading the data")
            with plan.speaking():
                whole, guarantee = read_for(plan)
            self._ground = mark, Ground(whole, getattr(guarantee, "sensitive", None))
        return self._ground[1]

    def _hierarchy(self, plan: Plan, whole: Source) -> Any:
        """What the proposal gets: a tree of items is read, or made from their frequency, once, for the whole file, as the release will do.

        One that is to be learned is learned from the sample.
        """
        given, unknown = plan.hierarchy, plan.options.unknown
        items = whole.records.items_name
        spec = given if plan.kind == "km" else given.get(items) if isinstance(given, dict) else None
        if plan.kind not in ("km", "rt", "lm") or (isinstance(spec, str) and spec.startswith("learned:")):
            return given
        if plan.kind == "km":
            spec = spec or HIERARCHY
            return self._keep_tree(spec, unknown, lambda: resolve_hierarchy(spec, whole.baskets, unknown=unknown))
        sets = whole.baskets
        if spec is None or not isinstance(given, dict) or whole.records.sensitive_items or not sets.vocabulary:
            return given
        tree = self._keep_tree(spec, unknown, lambda: resolve(spec, Values.of_items(sets), unknown=unknown))
        return {**given, items: tree}

    def _keep_tree(self, spec: Any, unknown: Any, make: Callable[[], Any]) -> Any:
        mark = _mark(spec), unknown
        if self._tree is None or self._tree[0] != mark:
            self._tree = None
            self._tree = mark, make()
        return self._tree[1]


def _idle_trees(found: Trial) -> Iterator[Any]:
    """The trees that help little: on a sample those that do so even for its share of k, for a crowd is harder to find there."""
    at_share = None if found.at_share is None else {tree.column for tree in found.at_share.idle_trees}
    return (tree for tree in found.proposal.idle_trees if at_share is None or tree.column in at_share)


def _mark(given: Any) -> Any:
    """What tells whether a file is still the same; anything else is what it says."""
    if isinstance(given, str | os.PathLike):
        with suppress(OSError, ValueError):
            status = os.stat(given)
            return os.fspath(given), status.st_size, status.st_mtime_ns, status.st_ino
    return repr(given)


def _groups(details: Any) -> dict[str, Any] | None:
    """How many groups of rows there are, and how large."""
    if isinstance(classes := details.get("classes"), dict):
        return {name: classes[name] for name in ("count", "smallest", "largest", "average")}
    if isinstance(buckets := details.get("buckets"), dict):
        names = {"count": "buckets", "smallest": "smallest_bucket", "largest": "largest_bucket"}
        return {name: buckets[key] for name, key in names.items()} | {"average": buckets["average_bucket"]}
    return None
