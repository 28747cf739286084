"""Task `release`: the release of a plan, its certificates, its rules, and what it cost, by the library's own functions.

The plan's outputs are put into the job's folder under their own names. Figures are those of `shoal anonymize --json` and of
`shoal evaluate --json`; an evaluation that is not possible is no reason to withhold a release, and the result says why. What grows with
the data (a line per item, per node, per class) goes to tables that pages leaf through.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from shoal.app.jobs.files_of_runs import CERTIFICATE, REPORT, RULES, STAGES, check_name
from shoal.app.panels.result.run_tables import class_bins, class_sizes, write_tables
from shoal.app.project.wording import KNOWN_COLUMNS, as_sentence, in_app
from shoal.certificate.document import certificate_file
from shoal.certificate.sign import Signer
from shoal.errors import InputError, ShoalError, render
from shoal.evaluation.evaluation import evaluate_pair
from shoal.evaluation.pair import Pair, read_pair
from shoal.evaluation.questions import distributions, records_before_and_after, replies, usual_questions
from shoal.evaluation.request import with_standards
from shoal.guarantees.diversity import BUCKET
from shoal.plan import Plan
from shoal.processes import Teller
from shoal.records.baskets import Baskets
from shoal.records.records import Records
from shoal.records.spelling.local_forms import Form, plain_records, respell
from shoal.rehearsal import checked_plan
from shoal.release import Release, run


def work(
    plan: Plan, folder: Path, tell: Teller, *, measure: bool = True
) -> Generator[dict[str, Any], Path, dict[str, Any]]:
    """The release as soon as the audit has passed it; then what is measured behind it."""
    if plan.outputs is None:
        raise InputError("the plan names no file for the release; choose its format")
    tell.stage(STAGES[0])
    checked = checked_plan(plan.model_copy(update={"outputs": None}), progress=tell)
    tell.note(estimate=checked.estimate.seconds, rows=checked.rows, items=checked.items)
    data = folder / os.path.basename(plan.outputs.data)
    check_name(data.name)
    named = {"data": str(data), "certificate": str(folder / CERTIFICATE)}
    named |= {"rules": str(folder / RULES), "report": str(folder / REPORT)}
    asked = plan.model_copy(update={"outputs": plan.outputs.model_copy(update=named)})
    tell.stage(STAGES[1])
    release = run(asked, progress=tell, read=checked.read)
    write_pages(folder)
    source = checked.read[0]
    original, forms = source.rows, dict(source.forms)
    found = {
        "checked": checked.to_dict() | {"plan": plan.origin.name},
        "release": _facts(plan, release, folder, data.name),
        "kind": plan.kind,
        "idle_trees": [tree.to_dict() for tree in release.proposal.idle_trees],
        "promise": list(release.guarantee.promise()),
        "limits": list(release.guarantee.limits()),
        "guarantee": str(release.guarantee),
        "risk": [exposed.to_dict(KNOWN_COLUMNS) for exposed in release.risk],
        "audit_notes": list(release.audit.notes),
        "records": records_before_and_after(in_own_spelling(original, forms), release.proposal),
        "evaluation": None,
        "evaluation_error": None,
        "files": sorted(path.name for path in folder.iterdir() if not path.name.startswith(".")),
    }
    folder = yield found
    if not measure:
        return found
    tell.stage(STAGES[2])
    found |= look_at(original, release, folder)
    try:
        published = (
            plain_records(release.published, forms) if isinstance(release.published, Records) else release.published
        )
        pair = pair_of(plan, original, published, folder / RULES)
        questions = usual_questions(pair)
        found["answers"] = {
            name: [one.to_dict(forms) for one in replies(pair, part)] for name, part in questions.items()
        }
        found["distributions"] = [with_own_labels(one, forms) for one in distributions(pair)]
        found["evaluation"] = evaluate_pair(pair, tell).to_dict()
    except ShoalError as error:
        found["evaluation_error"] = as_sentence(error)
    return found


def in_own_spelling(original: Baskets | Records, forms: Mapping[str, Form]) -> Baskets | Records:
    """The original as its owner spells it."""
    return respell(original, forms) if isinstance(original, Records) and forms else original


def with_own_labels(distribution: dict[str, Any], forms: Mapping[str, Form]) -> dict[str, Any]:
    """The distribution of a column, its values as their owner spells them."""
    form = forms.get(distribution["column"])
    return (
        distribution if form is None else distribution | {"labels": [form.own(name) for name in distribution["labels"]]}
    )


def look_at(original: Baskets | Records, release: Release, folder: Path) -> dict[str, Any]:
    """Tables for the page, and the sizes of classes before and after."""
    promise = release.guarantee
    least = int(promise.l if promise.model == "diversity" else promise.k)
    bucket = BUCKET if promise.model == "diversity" else None
    return {
        "tables": write_tables(folder, release, original),
        "classes": {
            "least": least,
            "before": class_bins(class_sizes(original), least),
            "after": class_bins(class_sizes(release.published, bucket), least),
        },
    }


def pair_of(plan: Plan, original: Any, published: Any, rules: Path, **reading: Any) -> Pair:
    """The original and its release with what published values mean, as `shoal evaluate` reads them."""
    keywords = plan.keywords()
    names = ("quasi", "sensitive", "keep", "hierarchy", "unknown", "threads", "spelling")
    asked: Any = {name: keywords[name] for name in names if name in keywords} | reading
    asked |= {name: value for name in ("k", "m") if (value := getattr(plan.guarantee, name, None)) is not None}
    if "hierarchy" not in asked and plan.kind in ("km", "k"):
        asked["rules"] = rules
    # Rows correspond where their order is kept, unless some were left out.
    same_order = plan.keep_order and not isinstance(published, Path) and len(original) == len(published)
    return read_pair(original, published, with_standards(asked | {"same_order": same_order}))


def write_pages(folder: Path, vouching: Signer | None = None) -> None:
    """The certificate once more, as a page, and as a PDF where that can be set."""
    content = json.loads((folder / CERTIFICATE).read_bytes())
    if "signature" in content and vouching is None:  # what is signed is signed as it stands
        return
    for ending in ("html", *(("pdf",) if find_spec("typst") else ())):
        name = f"certificate.{ending}"
        (folder / name).write_bytes(certificate_file(content, name, vouching))


def _facts(plan: Plan, release: Release, folder: Path, data: str) -> dict[str, Any]:
    """What the release says of itself, with bare names of files and without lists that are as long as the data."""
    facts = release.to_dict()
    facts["input"] = os.path.basename(plan.input.path)
    for name, path in (("output", data), ("certificate", CERTIFICATE), ("rules", RULES), ("report", REPORT)):
        facts[name] = path
    for name in ("edits", "deleted_shares"):
        facts.pop(name, None)
    if isinstance(classes := facts.get("classes"), Mapping):
        facts["classes"] = {name: value for name, value in classes.items() if not isinstance(value, list)}
    shown = f"{folder}{os.sep}"
    facts["notes"] = [render(note, in_app, show_values=True).replace(shown, "") for note in facts["notes"]]
    return facts
