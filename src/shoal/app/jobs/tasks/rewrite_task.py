"""Task `rewrite`: a release that was made before, once more in another format or under another name, with its own certificates.

The rows are read from the released file, whose hash must be the certified one; they keep their order, so there is no second shuffle. What
is written is read again and compared by `Release.write`, and the new certificates speak of its bytes; all else in them is as it was.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from shoal.app.jobs.files_of_runs import CERTIFICATE, check_name
from shoal.app.jobs.tasks.release_task import write_pages
from shoal.app.project.own_files import read_json
from shoal.certificate.document import certificate_file, without_signature
from shoal.certificate.facts import certificate_bytes
from shoal.certificate.sign import signer
from shoal.certificate.terms import guarantee_of, reading_of, sensitive_items_of
from shoal.errors import InputError
from shoal.guarantees.audit import Audit
from shoal.models import Proposal, Roles, model_of
from shoal.plan import Plan
from shoal.processes import Teller
from shoal.release import Release

_ID = re.compile(r"[0-9]{13}-[a-f0-9]{8}")
GONE = "the run that this release comes from is gone; run it again"


def work(plan: Plan, folder: Path, tell: Teller, *, job: str, name: str) -> dict[str, Any]:
    """`job` is the run in the same project, `name` the file to be written; its ending tells the format."""
    check_name(name)
    made = folder.parent.parent / job
    output = read_json(made / "result.json").get("release", {}).get("output")
    if not _ID.fullmatch(job) or not isinstance(output, str):
        raise InputError(GONE)
    tell.stage("Reading the release")
    content = read_json(made / "out" / CERTIFICATE)
    release = _again(plan, made / "out" / output, content)
    tell.stage("Writing it")
    release.write(folder / name, folder / CERTIFICATE, progress=tell)
    written = json.loads((folder / CERTIFICATE).read_bytes())
    facts = without_signature(content)
    facts |= {part: written[part] for part in ("output", "created") if part in facts}
    key = None if plan.outputs is None or plan.outputs.sign is None else plan.origin.folder
    vouching = None if key is None or plan.outputs is None else signer(Path(key) / str(plan.outputs.sign))
    (folder / CERTIFICATE).write_bytes(certificate_bytes(facts))
    write_pages(folder, vouching)
    if vouching is not None:
        (folder / CERTIFICATE).write_bytes(certificate_file(facts, CERTIFICATE, vouching))
    return {
        "of": job,
        "output": name,
        "sha256": facts["output"]["sha256"],
        "files": sorted(path.name for path in folder.iterdir() if not path.name.startswith(".")),
    }


def _again(plan: Plan, data: Path, content: dict[str, Any]) -> Release:
    """The release that a certificate is about, from its file. What its algorithm knew is in the certificate, and stays there."""
    if not content or not data.is_file():
        raise InputError(GONE)
    guarantee, how = guarantee_of(content), reading_of(content)
    if sensitive_items_of(content):
        how["sensitive"] = plan.sensitive
    roles = {name: how.pop(name, None) for name in ("sensitive", "quasi", "keep")}
    source, guarantee = model_of(guarantee).read(data, guarantee, Roles(**roles), how)
    if source.sha256 != content["output"]["sha256"]:
        raise InputError("the released file was changed after it was certified; run it again")
    rows = source.rows
    proposal = Proposal(
        guarantee=guarantee,
        published=rows,
        recoding=None,
        algorithm=content["algorithm"],
        loss=content["loss"],
        parameters={},
    )
    verdict = Audit(content["guarantee"], content["holds"], content["audit"]["checked"], content["audit"]["violations"])
    return Release(
        published=rows,
        proposal=proposal,
        audit=verdict,
        keep_order=True,
        source=source.name,
        inputs=(str(data),),
        input_sha256=source.sha256,
        layout=source.layout,
        seconds=0.0,
        peak_mb=None,
    )
