"""The certificate: what is promised about a release, what is not, and how it was checked, as JSON beside the data.

It may be published with the data, so it holds counts, parameters and hashes, and never a row, an item, a path or a name of a
person or machine. Hashes of secrets (the raw input, the tree over its items) are keyed, see `owner_key`. The date stands
without a time of day: a second that can be matched with logs says who made it and from which state of a database.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import metadata
from typing import Any

from shoal import __version__
from shoal.guarantees.audit import Audit
from shoal.hierarchy.tree import Hierarchy
from shoal.report.owner_key import key_id, keyed, owner_key

FORMAT = "shoal certificate 1"


def certificate(
    *,
    guarantee: Any,
    audit: Audit,
    algorithm: str,
    optimal: bool | None,
    bound: float | None,
    loss: Mapping[str, float],
    certified: Mapping[str, Any],
    warnings: tuple[str, ...],
    parameters: Mapping[str, Any],
    keep_order: bool,
    rows: int,
    empty: int,
    input_sha256: str,
    output: str,
    output_sha256: str,
) -> dict[str, Any]:
    """Everything a reader of the release may know about how it came about. `output` is the bare name of its file.

    `certified` and `warnings` are what the model adds: counts and shares, never a rare name.
    """
    key = owner_key()
    return {
        "certificate": FORMAT,
        "created": datetime.now(UTC).date().isoformat(),
        "promised": list(guarantee.promise()),
        "not_promised": list(guarantee.limits()),
        "guarantee": guarantee.to_dict(),
        "holds": audit.holds,
        "audit": {
            "looked_at": "the published rows; the file was read again after writing and holds exactly these",
            "checked": audit.checked,
            "violations": audit.violations,
            "by_size": audit.to_dict()["by_size"],
            "complete": audit.complete,
            **audit.facts,
        },
        "output": {"file": output, "sha256": output_sha256, "rows": rows, "empty": empty},
        "row_order": "as in the input" if keep_order else "shuffled with unrecorded randomness of the system",
        "algorithm": algorithm,
        "optimal": optimal,
        "bound": bound,
        "loss": dict(loss),
        **certified,
        "parameters": {**parameters, "keep_order": keep_order},
        "input": {"hmac_sha256": keyed(input_sha256, key)} if key else {},
        "key_id": key_id(key) if key else None,
        "versions": {"shoal": __version__, "python": platform.python_version()}
        | {package: metadata.version(package) for package in ("numpy", "scipy", "numba")},
        "warnings": [*_warnings(keep_order=keep_order, has_key=key is not None), *warnings],
    }


def certificate_bytes(content: Mapping[str, Any]) -> bytes:
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")


def hierarchy_facts(tree: Hierarchy) -> dict[str, Any]:
    """What a certificate may say about a hierarchy: its size, and its keyed hash."""
    key = owner_key()
    return {"source": tree.source, "leaves": tree.n_leaves, "height": tree.height} | (
        {"hmac_sha256": keyed(_fingerprint(tree), key)} if key else {}
    )


def _warnings(*, keep_order: bool, has_key: bool) -> list[str]:
    found = []
    if keep_order:
        found.append(
            "The rows stand in the order of the input: whoever knows where a person stood there finds the person's row."
        )
    if not has_key:
        found.append("The owner's key could not be stored or read: the hashes of input and hierarchy are left out.")
    return found


def _fingerprint(tree: Hierarchy) -> str:
    """The SHA-256 of a tree, whatever file or spec it came from."""
    digest = hashlib.sha256(b"shoal hierarchy 1\n")
    digest.update(json.dumps([tree.n_leaves, *tree.labels]).encode())
    digest.update(tree.parent.astype("<i4", copy=False).data)
    return digest.hexdigest()
