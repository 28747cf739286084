"""One file to hand over or to keep: a release with its certificates, and all that makes it again somewhere else.

    README.txt    what is what, how to check it, how to make it again
    publish/      the data and its certificates, and, if it is signed, the key that checks them
    rebuild/      the plan, the trees and lists it reads, a script and a notebook; for the owner and the board, not for publication

The plan's paths are bare names: whoever unpacks it anywhere lays the original file into `rebuild`, which is not packed, and runs the plan,
the script or the notebook. All three write the release once more, and a certificate with its charts, beside themselves.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

from shoal.errors import InputError
from shoal.hierarchy.spec import is_made
from shoal.plan.model import Plan
from shoal.plan.parse import plan_of
from shoal.plan.save import yaml_text
from shoal.plan.scripts import checking_command, command_of, notebook_of, rebuilding_script
from shoal.records.database.address import is_address
from shoal.records.storage.publication import Publication

PLAN, SCRIPT, NOTEBOOK, README = "plan.yaml", "rebuild.py", "rebuild.ipynb", "README.txt"
SIGNED_BY = "signed-by.pub"
"""The public key of who signed the certificate."""
PUBLISHED, OWN = "publish", "rebuild"
_WHEN = (2000, 1, 1, 0, 0, 0)
"""The time of what is packed: a second says who packed it. A certificate tells the day."""


def write_bundle(
    plan: Plan, papers: Mapping[str, str | bytes], target: str, *, force: bool = False
) -> tuple[list[str], str]:
    """Packs a release. `papers` are the files to publish, the data first, by the names that they get: paths, or bytes. Returns the
    names of all that is packed, and the hash of the bundle."""
    packed = dict(_contents(plan, papers))
    with Publication((target,), force=force) as publication:
        staged = publication.file(target, private=True)
        with zipfile.ZipFile(staged, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in packed.items():
                entry = zipfile.ZipInfo(name, _WHEN)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.external_attr = 0o600 << 16
                with archive.open(entry, "w") as file:
                    if isinstance(content, bytes):
                        file.write(content)
                    else:
                        _copy(content, file)
        staged.close()
    return list(packed), staged.sha256


def portable(plan: Plan, output: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The document of a plan that speaks of bare names, and, by those names, the files that it reads besides the data."""
    document: dict[str, Any] = plan.model_dump(exclude_defaults=True)
    taken = {PLAN, SCRIPT, NOTEBOOK}
    files: dict[str, str] = {}

    def name_of(path: str) -> str:
        name = _free_name(os.path.basename(path), taken)
        taken.add(name)
        return name

    def take(path: str) -> str:
        whole = plan.path_of(path)
        known = next(
            (name for name, other in files.items() if os.path.realpath(other) == os.path.realpath(whole)), None
        )
        if known is None:
            known = name_of(path)
            files[known] = whole
        return known

    if not is_address(plan.input.path) and "://" not in plan.input.path and plan.input.path != "-":
        document["input"]["path"] = name_of(plan.input.path)
    if plan.sensitive_file is not None:
        document["sensitive_file"] = take(plan.sensitive_file)
    if plan.options.knowledge is not None:
        document["options"]["knowledge"] = take(plan.options.knowledge)
    trees = plan.hierarchies
    if isinstance(trees, str):
        document["hierarchies"] = trees if is_made(trees) else take(trees)
    elif trees is not None:
        document["hierarchies"] = {name: spec if is_made(spec) else take(spec) for name, spec in trees.items()}
    data = name_of(f"rebuilt-{output}")
    document["outputs"] = {
        "data": data,
        "certificate": name_of("rebuilt-certificate.html"),
        "rules": name_of("rebuilt-rules.csv"),
    }
    return document, files


def _contents(plan: Plan, papers: Mapping[str, str | bytes]) -> Iterator[tuple[str, bytes | str]]:
    """(name, bytes or the path of a file) of all that is packed."""
    if plan.memory or plan.on_spark:
        raise InputError(
            "what is packed is made from files on this machine; save the data to files, and run the plan with those"
        )
    output = next(iter(papers))
    document, files = portable(plan, output)
    alone = plan_of(json.loads(json.dumps(document)))
    yield README, _readme(alone, papers).encode()
    for name, path in papers.items():
        yield f"{PUBLISHED}/{name}", path
    yield f"{OWN}/{PLAN}", yaml_text(json.loads(json.dumps(document))).encode()
    yield f"{OWN}/{SCRIPT}", rebuilding_script(PLAN).encode()
    yield f"{OWN}/{NOTEBOOK}", notebook_of(alone, PLAN).encode()
    for name, path in files.items():
        yield f"{OWN}/{name}", path


def _readme(plan: Plan, papers: Mapping[str, str | bytes]) -> str:
    data, *others = papers
    proof = next((name for name in others if name.endswith(".json")), others[0] if others else "")
    is_signed = SIGNED_BY in papers
    whose = (
        f"\n            Take the signer's key from the signer; {SIGNED_BY} is a copy, to compare." if is_signed else ""
    )
    assert plan.outputs is not None
    return f"""The release {data}, and what makes it again

{PUBLISHED}/    {", ".join(papers)}
            These can be published. Whoever has them checks the promise:
                {checking_command(f"{PUBLISHED}/{proof}", f"{PUBLISHED}/{data}", is_signed)}{whose}

{OWN}/    the plan, its trees and lists, a script and a notebook
            For you and for whoever reviews the release. Do not publish these: they name your files, your columns and values
            of the data that the release may hide.
            The original, {plan.input.path}, is not packed. Lay it into {OWN}/, then any of these, in that folder, makes the release
            and a certificate with its charts once more, as {plan.outputs.data} and {plan.outputs.certificate}:
                shoal run {PLAN}
                python {SCRIPT}
                jupyter lab {NOTEBOOK}
            or, without the plan:
                {command_of(plan, PLAN)}

Rows are shuffled anew each time, so the file that is made again has other bytes, and a certificate of its own.
"""


def _free_name(name: str, taken: set[str]) -> str:
    stem, dot, ending = name.partition(".")
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{stem}-{number}{dot}{ending}"
    return free


def _copy(path: str, file: Any) -> None:
    try:
        with open(path, "rb") as opened:
            while block := opened.read(1 << 20):
                file.write(block)
    except OSError as error:
        raise InputError(
            f"{os.path.basename(path)} cannot be read ({error.strerror}); check it, and pack again"
        ) from None
