"""Questions about a release, answered in the process that estimates: what is true, and what a reader of the release would say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.app.jobs.files_of_runs import CERTIFICATE, RULES
from shoal.app.jobs.tasks.release_task import pair_of
from shoal.app.project.own_files import read_json
from shoal.app.project.project import Project
from shoal.certificate.terms import reading_of
from shoal.evaluation.pair import Pair
from shoal.evaluation.questions import question_of, replies
from shoal.processes import Teller
from shoal.records.spelling.local_forms import Form
from shoal.release import read_for

_PAIRS: dict[str, tuple[Pair, dict[str, Form]]] = {}
_FILE = ("format", "separator", "id", "items")
"""What a certificate says of how a release is read; roles are the plan's."""


def answer(run: Path, question: Mapping[str, Any], tell: Teller) -> dict[str, Any]:
    """Both answers to a question about a run's release. The files that were last asked about stay read."""
    tell.stage("Reading the original and the release", trying="question")
    if str(run) not in _PAIRS:
        _PAIRS.clear()
        content = read_json(run / "out" / CERTIFICATE)
        reading = {name: value for name, value in reading_of(content).items() if name in _FILE}
        plan = Project(run).plan()
        released = run / "out" / str(read_json(run / "result.json")["release"]["output"])
        with plan.speaking():
            source = read_for(plan)[0]
            pair = pair_of(plan, source.records, released, run / "out" / RULES, **reading)
            _PAIRS[str(run)] = pair, dict(source.forms)
    pair, forms = _PAIRS[str(run)]
    tell.stage("Counting")
    column, value = question["column"], question["value"]
    if column in forms:  # inside, values are spelled as programs do
        value = forms[column].plain(value)
    asked = question_of(pair.original, question["items"], column, value)
    return replies(pair, [asked])[0].to_dict(forms)
