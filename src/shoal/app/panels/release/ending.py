"""The end of the way: a key, a signature under the limits that were read, and one file with all that is handed over.

A passphrase opens a key in the server's memory and is kept nowhere: signing is not a job, which would be a folder. Keys that are made here
lie among the app's own files, locked, with the public one beside each; they stay when projects go.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from shoal.app.jobs.files_of_runs import CERTIFICATE
from shoal.app.jobs.queue import Job
from shoal.app.panels.release.handover import stem_of
from shoal.app.project.own_files import own_folder, read_json, safe_name, write_own
from shoal.app.project.project import Project
from shoal.app.project.workspace import CERTIFICATES, Workspace
from shoal.certificate.checks import check_plan
from shoal.certificate.document import acknowledge, certificate_file
from shoal.certificate.facts import limits_of
from shoal.certificate.sign import new_key, public_pem, signer
from shoal.errors import InputError
from shoal.plan.bundle import SIGNED_BY, write_bundle
from shoal.records.source import fingerprint

SHORTEST = 8
"""Characters of a passphrase."""


def keys_in(workspace: Workspace) -> dict[str, str]:
    """The keys that were made here: paths, and what they are called."""
    return {str(path): path.stem for path in sorted(_keys(workspace).glob("*.key"))}


def make_key(workspace: Workspace, name: str, passphrase: str, again: str) -> Path:
    """A new key, locked with a passphrase."""
    if not name.strip():
        raise InputError("The key has no name; type one, such as yours")
    if len(passphrase) < SHORTEST:
        raise InputError(f"The passphrase is short; take {SHORTEST} characters or more")
    if passphrase != again:
        raise InputError("The two passphrases differ; type the same one twice")
    path = _keys(workspace) / f"{safe_name(name.strip())}.key"
    if path.exists():
        raise InputError(f"There is a key called {path.stem} already, and a key is never replaced; take another name")
    new_key(path, passphrase)
    return path


def _keys(workspace: Workspace) -> Path:
    return own_folder(workspace.own / "keys")


def certificate_of(job: Job) -> dict[str, Any]:
    """The facts of the certificate of a release, or of a rewrite of it."""
    return read_json(job.folder / "out" / CERTIFICATE)


def sign_release(job: Job, name: str, key: Path, passphrase: str, limits: list[str]) -> None:
    """Signs the certificate of a file in all its forms, with all of its limits acknowledged."""
    content = certificate_of(job)
    if set(limits_of(content)) - set(limits):
        raise InputError("Some limits are not ticked; read them, and tick each")
    vouching = signer(key, passphrase)
    _check_data(job, name, content)
    facts = acknowledge(content)
    out = job.folder / "out"
    made = {form: certificate_file(facts, form, vouching) for form in CERTIFICATES if (out / form).is_file()}
    forget_bundle(job, name)
    write_own(out / SIGNED_BY, public_pem(vouching.public_key))
    for form, data in made.items():
        write_own(out / form, data)


def bundle_name(name: str) -> str:
    return f"{stem_of(name)}-bundle.zip"


def forget_bundle(job: Job, name: str) -> None:
    """Removes a bundle that no longer holds what would be handed over."""
    (job.folder / "out" / bundle_name(name)).unlink(missing_ok=True)


def make_bundle(run: Job, job: Job, name: str) -> Path:
    """Packs a file of a run, as `job` wrote it, with its certificates and all that makes it again."""
    content = certificate_of(job)
    _check_data(job, name, content)
    plan = Project(run.folder).plan()
    check_plan(plan, content, "the plan")
    out = job.folder / "out"
    papers: dict[str, str | bytes] = {file: str(out / file) for file in (name, *CERTIFICATES) if (out / file).is_file()}
    if "signature" in content:
        papers[SIGNED_BY] = str(out / SIGNED_BY)
    target = out / bundle_name(name)
    write_bundle(plan, papers, str(target), force=True)
    return target


def _check_data(job: Job, name: str, content: dict[str, Any]) -> None:
    path = job.output(name)
    if path is None or not content or fingerprint(path) != content["output"]["sha256"]:
        raise InputError("the released file was changed after it was certified; run it again")
