"""What the process that estimates does. It stays, so that what was loaded and read once serves the next estimate, and the next question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from shoal.algorithms import entry
from shoal.algorithms.recoding import Options
from shoal.app.jobs.tree_shape import read_shape
from shoal.app.project.wording import KNOWN_COLUMNS, PageOrigin
from shoal.errors import ShoalError
from shoal.estimates.decision_map import MOMENT
from shoal.estimates.tree_cut import AT_ONCE, TreeCut, blame, remedies, tree_cut
from shoal.estimates.trials import Trials
from shoal.models.km import with_defaults
from shoal.plan import plan_of
from shoal.plan.model import Plan
from shoal.processes import Teller
from shoal.showing import fields_of

_TRIALS = Trials(KNOWN_COLUMNS)
_CUT: tuple[Any, Any, TreeCut] | None = None
"""The data, what else was asked, and the cut that was last looked for."""
_SEARCH = ("suppress", "price")


def work(request: Mapping[str, Any], tell: Teller) -> None:
    """Answers a question about a release, says what a tree allows, or tells estimates of a plan."""
    if "tree" in request:
        _look_at_tree(request, tell)
    elif "question" in request:
        # Estimates do without what measures a release, which takes longer to load than a first estimate takes to make.
        answer = import_module("shoal.app.jobs.question_answers").answer
        tell.note(found=answer(Path(request["run"]), request["question"], tell))
    else:
        _estimate(request, tell)


def _look_at_tree(request: Mapping[str, Any], tell: Teller) -> None:
    """Tells what one cut through a tree loses, why a node of it is closed, what the plan's own algorithm would lose on some rows, what
    would help, and then what that loses on more rows: each as soon as it is known."""
    global _CUT
    plan = plan_of(request["document"], PageOrigin())
    source = _TRIALS.source(plan, tell)
    tell.stage("Looking for the best cut", trying=True)
    name, _ = entry(plan.kind, plan.algorithm)
    options = with_defaults(
        name, plan.request, Options(**{key: plan.request[key] for key in _SEARCH if plan.request[key]})
    )
    options = replace(options, time_limit=AT_ONCE.time_limit, threads=plan.options.threads, progress=tell)
    about = request["tree"], repr(plan.promise), options.suppress, options.price
    if _CUT is None or _CUT[0] is not source or _CUT[1] != about:
        with plan.speaking():
            _CUT = source, about, tree_cut(source.baskets, plan.promise, read_shape(Path(request["tree"])), options)
    found = replace(_CUT[2], options=options)
    closed = found.closed_nodes()
    losses = fields_of(found, "info", "exact", "deleted", "optimal")
    tell.note(found={**losses, "suppress": options.suppress, "closed": closed, "dropped": list(found.cut.dropped)})
    why = None
    if closed:
        why = blame(found, request["node"] if request["node"] in closed else closed[0])
        tell.note(found={"blame": asdict(why)})
    own = _own_losses(plan, name, found, tell)
    tell.note(found={"own": next(own, None)})
    helps = []
    for remedy in remedies(found, why) if why is not None else ():
        helps.append(asdict(remedy))
        tell.note(found={"remedies": helps})
    tell.note(found={"tried": True})
    for more in own:
        tell.note(found={"own": more})
    tell.note(found={"final": True})


def _own_losses(plan: Plan, name: str, found: TreeCut, tell: Teller) -> Iterator[dict[str, Any]]:
    """What the plan's algorithm would lose under the tree, on samples that grow; nothing for the one whose cut it is."""
    if name != "exact":
        with suppress(ShoalError):  # there is the cut to go by
            for lost in _TRIALS.losses(plan, found.cut.hierarchy, tell, MOMENT):
                yield {"algorithm": name, **lost}


def _estimate(request: Mapping[str, Any], tell: Teller) -> None:
    """Tells the estimates of a plan, one for each sample, as soon as they are there."""
    plan = plan_of(request["document"], PageOrigin())
    if request["look"] is not None:  # a point of the map: a first look, or as far as it takes
        for found in _TRIALS.growing(plan, tell, MOMENT):
            tell.note(found=found)
            if request["look"] == "first":
                return
    elif request["rows"] is None:
        for found in _TRIALS.growing(plan, tell):
            tell.note(found=found)
    else:
        _TRIALS.warm_up(plan, tell)
        tell.note(found=_TRIALS.trial(plan, tell, int(request["rows"])))
