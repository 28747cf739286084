"""What the process that estimates does. It stays, so that what was loaded and read once serves the next estimate, and the next question."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.app.jobs.tasks.release_task import CERTIFICATE, RULES, pair_of
from shoal.app.project.own_files import read_json
from shoal.app.project.project import Project
from shoal.app.project.wording import KNOWN_COLUMNS, PageOrigin
from shoal.certificate.terms import reading_of
from shoal.estimates.decision_map import MOMENT
from shoal.estimates.trials import Trials
from shoal.evaluation.pair import Pair
from shoal.evaluation.questions import question_of, replies
from shoal.plan import plan_of
from shoal.processes import Teller
from shoal.release import read_for

_TRIALS = Trials(KNOWN_COLUMNS)
_PAIRS: dict[str, Pair] = {}
_FILE = ("format", "separator", "id", "items")
"""What a certificate says of how a release is read; roles are the plan's."""


def work(request: Mapping[str, Any], tell: Teller) -> None:
    """Answers a question about a release, or tells estimates of a plan."""
    if "question" in request:
        tell.note(found=_answer(Path(request["run"]), request["question"], tell))
    else:
        _estimate(request, tell)


def _answer(run: Path, question: Mapping[str, Any], tell: Teller) -> dict[str, Any]:
    """Both answers to a question about a run's release. The files that were last asked about stay read."""
    tell.stage("Reading the original and the release", trying="question")
    if str(run) not in _PAIRS:
        _PAIRS.clear()
        content = read_json(run / "out" / CERTIFICATE)
        reading = {name: value for name, value in reading_of(content).items() if name in _FILE}
        plan = Project(run).plan()
        released = run / "out" / str(read_json(run / "result.json")["release"]["output"])
        with plan.speaking():
            original = read_for(plan)[0].records
            _PAIRS[str(run)] = pair_of(plan, original, released, run / "out" / RULES, **reading)
    pair = _PAIRS[str(run)]
    tell.stage("Counting")
    asked = question_of(pair.original, question["items"], question["column"], question["value"])
    return replies(pair, [asked])[0].to_dict()


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
