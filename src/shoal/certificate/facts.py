"""The certificate: what is promised about a release, what is not, and how it was checked, as JSON, a web page or a PDF.

It may be published with the data, so it holds parameters, hashes, what the published file tells and what is too coarse to be turned back
into a count below k (`disclosure`), and never a row, an item rarer than k, a path or a name of a person or machine. Hashes of secrets
(the raw input, the tree over its items) are keyed, see `owner_key`. The date stands
without a time of day: a second that can be matched with logs says who made it and from which state of a database.

The facts are one JSON object. A page (`pages`) and a PDF (`typeset`) say the same in words and carry the object within them, so that
`verification` reads all three alike.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import metadata
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from shoal import __version__
from shoal.certificate.disclosure import stated_risk
from shoal.certificate.owner_key import key_id, keyed, owner_key
from shoal.errors import InputError
from shoal.guarantees.audit import Audit
from shoal.hierarchy.tree import Hierarchy

if TYPE_CHECKING:
    from shoal.certificate.sign import Signer
    from shoal.evaluate.raw_risk import Exposed

FORMATS = ("shoal certificate 2",)
"""Those that can be read, the newest last."""
FORMAT = FORMATS[-1]
SUFFIXES = (".json", ".html", ".pdf")
ROWS_HASHED = "all rows, in any order"
"""What the hash of a table is of."""


def certificate(
    *,
    guarantee: Any,
    audit: Audit,
    algorithm: str,
    optimal: bool | None,
    certified: Mapping[str, Any],
    warnings: tuple[str, ...],
    parameters: Mapping[str, Any],
    keep_order: bool,
    rows: int,
    empty: int,
    input_sha256: str,
    output: str,
    output_sha256: str,
    reading: Mapping[str, Any] | None = None,
    risk: tuple[Exposed, ...] = (),
) -> dict[str, Any]:
    """Everything a reader of the release may know about how it came about. `output` is the bare name of its file.

    `certified` and `warnings` are what the model adds: what the file tells, and shares that are rounded (`disclosure`), never a rare name.
    `reading` says how the file is read again.
    """
    key = owner_key()
    row_order, own_warnings = order_facts(keep_order=keep_order, has_key=key is not None)
    return {
        "certificate": FORMAT,
        "created": datetime.now(UTC).date().isoformat(),
        "promised": list(guarantee.promise()),
        "not_promised": list(guarantee.limits()),
        "guarantee": promise_facts(guarantee),
        "holds": audit.holds,
        "audit": audit_facts(audit),
        "output": {"file": output, "sha256": output_sha256, "rows": rows, "empty": empty, **(reading or {})},
        "row_order": row_order,
        "algorithm": algorithm,
        "optimal": optimal,
        **certified,
        "risk": _risk(risk, audit, rows, guarantee),
        "parameters": {**_without_secrets(parameters), "keep_order": keep_order},
        "input": {"rows": rows} | ({"hmac_sha256": keyed(input_sha256, key)} if key else {}),
        "key_id": key_id(key) if key else None,
        "versions": {"shoal": __version__, "python": platform.python_version()}
        | {package: metadata.version(package) for package in ("numpy", "scipy", "numba")},
        "warnings": [*own_warnings, *warnings],
    }


def promise_facts(guarantee: Any) -> dict[str, Any]:
    """The guarantee as it is stated: of rules that an attacker knows, how they were found. How many the data shows is for the owner."""
    facts: dict[str, Any] = guarantee.to_dict()
    if "knowledge" in facts:
        facts["knowledge"] = {name: facts["knowledge"][name] for name in ("min_exp", "min_conf")}
    return facts


def audit_facts(audit: Audit) -> dict[str, Any]:
    """What a certificate says about the audit. What rules leave possible depends on the rules, which are not for its readers."""
    facts = dict(audit.facts)
    if "knowledge" in audit.guarantee:
        del facts["fewest_values"]
    return {
        "looked_at": "the published rows; what was written was read again and holds exactly these",
        "checked": audit.checked,
        "violations": audit.violations,
        "by_size": audit.to_dict()["by_size"],
        "complete": audit.complete,
        **facts,
    }


def order_facts(*, keep_order: bool, has_key: bool) -> tuple[str, list[str]]:
    """(in which order the rows stand, warnings about that and about hashes that are left out)."""
    found = []
    if keep_order:
        found.append(
            "The rows stand in the order of the input: whoever knows where a person stood there finds the person's row."
        )
    if not has_key:
        found.append("The owner's key could not be stored or read: the hashes of input and hierarchy are left out.")
    return "as in the input" if keep_order else "shuffled with unrecorded randomness of the system", found


def risk_left(audit: Audit, *, certain: bool) -> dict[str, Any]:
    """What the attacker of a promise gets from data that the audit has passed; `certain`: one who wants to be sure of a value."""
    if certain:
        return {"value_certain": audit.facts.get("certain_rows", 0)}
    return {"fewer_than_k": 0, "singled_out": 0}


def certificate_bytes(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")


def check_certificate_name(name: str) -> None:
    """Raises unless a certificate of this name can be written here."""
    if not name.endswith(SUFFIXES):
        raise InputError(f"{name}: certificates are JSON, HTML or PDF; let the name end in .json, .html or .pdf")
    if name.endswith(".pdf") and find_spec("typst") is None:
        raise InputError("a certificate in PDF needs typst; pip install 'shoal[report]', or let its name end in .html")


def certificate_file(content: Mapping[str, Any], name: str, signer: Signer | None = None) -> bytes:
    """The certificate in the form that its file's name tells, signed if there is somebody to sign it."""
    facts = dict(content)
    if signer is not None:
        facts["signer"] = {"algorithm": "ed25519", "public_key": signer.public_key}
    if name.endswith(".html"):
        from shoal.certificate.page import page, page_with

        text = page(facts)
        # The page is bound to the facts within it by its hash, which a signature then covers as well.
        facts["page"] = {"sha256": hashlib.sha256(text).hexdigest()}
        return page_with(text, _signed(facts, signer))
    if name.endswith(".pdf"):
        from shoal.certificate.pdf import typeset

        facts["versions"] = {**facts["versions"], "typst": metadata.version("typst")}
        return typeset(_signed(facts, signer))
    return certificate_bytes(_signed(facts, signer))


def _signed(facts: Mapping[str, Any], signer: Signer | None) -> Mapping[str, Any]:
    return facts if signer is None else {**facts, "signature": signer.sign(canonical(facts))}


def canonical(content: Mapping[str, Any]) -> bytes:
    """What a signature covers: all of a certificate but the signature, its names sorted, in ASCII, without a blank."""
    facts = {name: value for name, value in content.items() if name != "signature"}
    return json.dumps(facts, sort_keys=True, separators=(",", ":")).encode("ascii")


def hierarchy_facts(tree: Hierarchy) -> dict[str, Any]:
    """What a certificate may say about a hierarchy: its name and its keyed hash. One made from the data has as many leaves as the data."""
    key = owner_key()
    named = {"source": os.path.basename(tree.source)}
    return named | ({"hmac_sha256": keyed(_fingerprint(tree), key)} if key else {})


def _risk(before: tuple[Exposed, ...], audit: Audit, rows: int, guarantee: Any) -> dict[str, Any]:
    """What the attacker of this promise gets from the raw and from the published data; what the audit has passed has none."""
    if not before:
        return {}
    least = getattr(guarantee, "k", None) or guarantee.l
    stated = stated_risk(before, rows, int(least), getattr(guarantee, "m", None))
    after = risk_left(audit, certain=before[0].alone is not None)
    told = {} if stated.step is None else {"in_steps_of": stated.step}
    return {"rows": rows, "before": [dict(one) for one in stated.before], "after": after, **told}


def _without_secrets(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters without the folders of files and without names of items, which may be rare."""
    found = dict(parameters)
    for name, value in found.items():
        if isinstance(value, os.PathLike) or (name == "knowledge" and isinstance(value, str)):
            found[name] = os.path.basename(value)
        elif name == "item_weights" and value is not None:
            found[name] = {"items": len(value)}
    return found


def _fingerprint(tree: Hierarchy) -> str:
    """The SHA-256 of a tree, whatever file or spec it came from."""
    digest = hashlib.sha256(b"shoal hierarchy 1\n")
    digest.update(json.dumps([tree.n_leaves, *tree.labels]).encode())
    digest.update(tree.parent.astype("<i4", copy=False).data)
    return digest.hexdigest()
