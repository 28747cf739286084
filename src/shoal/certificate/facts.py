"""The facts of a certificate: what is promised about a release, what is not, and how it was checked, as one JSON object.

It may be published with the data, so it holds parameters, hashes, what the published file tells and what is too coarse to be turned back
into a count below k (`disclosure`), and never a row, an item rarer than k, a path or a name of a person or machine. Hashes of secrets
(the raw input, the tree over its items) are keyed, see `owner`. The date stands without a time of day: a second that can be matched with
logs says who made it and from which state of a database.

`PARTS` lists what a certificate may hold and who can know it. Whoever has the published file can write half of it (`Published.facts`);
`certificate` adds what only the owner knows, and `statements` holds both against the file.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata
from typing import TYPE_CHECKING, Any

from shoal import __version__
from shoal.algorithms import ALGORITHMS
from shoal.certificate.disclosure import KEPT, LOSSES, disclose_risk
from shoal.certificate.owner import hmac_of, key_id, owner_key
from shoal.guarantees.audit import Audit
from shoal.hierarchy.tree import Hierarchy

if TYPE_CHECKING:
    from shoal.evaluation.raw_risk import Exposed

FORMATS = ("shoal certificate 2",)
"""Those that can be read, the newest last."""
FORMAT = FORMATS[-1]
ROWS_HASHED = "all rows, in any order"
"""What the hash of a table is of."""


@dataclass(frozen=True)
class Part:
    """A part of a certificate, and who can know what stands there.

    Places below it are named by patterns: `*` is any name or number in one step, and an empty pattern the part itself. A place that
    belongs to nobody is found out from the file (`Published.facts`), or does not belong into a certificate.
    """

    name: str
    kind: type | None = None
    """What it must be for a certificate to be read at all."""
    always: bool = False
    """Whether every certificate has it, also where the file does not tell it."""
    taken: tuple[str, ...] = ()
    """What the audit goes by: nobody but the owner can say whether that is what was meant."""
    owners: tuple[str, ...] = ()
    """What only the owner can know."""
    worded: tuple[str, ...] = ()
    """What another version may word otherwise."""

    def places(self, patterns: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(f"{self.name}.{pattern}" if pattern else self.name for pattern in patterns)


_ITSELF = ("",)
_TREE = ("source", "hmac_sha256")
_ASKED = sorted({option for homes in ALGORITHMS.values() for home in homes.values() for option in home.options})

PARTS = (
    Part("certificate", worded=_ITSELF),
    Part("created", always=True, owners=_ITSELF),
    Part("promised", list, worded=_ITSELF),
    Part("not_promised", list, worded=_ITSELF),
    Part("holds"),
    Part("audit", dict, worded=("looked_at",)),
    Part("row_order", worded=_ITSELF),
    Part("algorithm", always=True, owners=_ITSELF),
    Part("optimal", always=True, owners=_ITSELF),
    Part("kept", owners=(*KEPT, *(f"columns.*.{name}" for name in ("exact", "width", "unit")), "items.width")),
    Part("loss", always=True, owners=tuple(LOSSES)),
    Part("rounded_to", owners=(*(f"loss.{name}" for name in LOSSES), "ncp_by_column.*")),
    Part("ncp_by_column", owners=("*",)),
    Part("withheld", owners=("loss.*", "ncp_by_column.*")),
    Part("hierarchy", owners=(*_TREE, "*", *(f"*.{name}" for name in _TREE))),
    Part("policy", owners=("hmac_sha256",)),
    Part("buckets", owners=("buckets", "smallest_bucket", "largest_bucket", "average_bucket")),
    Part(
        "guarantee",
        dict,
        taken=(
            *("model", "k", "l", "m", "l_kind", "t", "distance.*", "local"),
            *("counted", "sensitive_items", "sets", "families", "groups"),
        ),
        owners=("knowledge.min_exp", "knowledge.min_conf"),
        worded=("name",),
    ),
    Part("output", dict, taken=("format", "separator", "id", "items", "columns.*", "numeric.*", "sensitive_items")),
    Part("columns", taken=("*",)),
    Part(
        "risk",
        always=True,
        owners=(
            *(f"before.*.{name}" for name in ("knows", "fewer_than_k", "singled_out", "value_certain")),
            *("rows", "after.fewer_than_k", "after.singled_out", "after.value_certain"),
            "in_steps_of",
        ),
    ),
    Part("changes", owners=("tokens",)),
    Part(
        "parameters",
        always=True,
        owners=(
            *_ASKED,
            *("unknown", "keep_order", "engine", "weights.*", "limits.*"),
            *("missing_quasi.*", "shift.*", "item_weights.*", "fuzzy.*"),
        ),
    ),
    Part("series", owners=("id", "kind", "release", "stacked")),
    Part("input", always=True, owners=("hmac_sha256",)),
    Part("key_id", always=True, owners=_ITSELF),
    Part("versions", dict, owners=("shoal", "python", "numpy", "scipy", "numba", "typst")),
    Part("warnings", always=True, owners=("*",)),
    Part("acknowledged", owners=("", "*")),
)
TAKEN = tuple(place for part in PARTS for place in part.places(part.taken))
OWNERS = tuple(place for part in PARTS for place in part.places(part.owners))
WORDED = tuple(place for part in PARTS for place in part.places(part.worded))


@dataclass(frozen=True)
class Published:
    """A published file, read and audited: all that anyone who has it can find out."""

    guarantee: Any
    audit: Audit
    rows: int
    sha256: str
    """Of the bytes of the file, or of the rows."""
    empty: int | None = None
    """Rows without an item, where rows have items."""
    tokens: int | None = None
    """Different items in them, where rows have items."""
    sensitive_items: int = 0

    @property
    def records(self) -> int:
        """The rows of the input: as many as are published, unless these are pieces, of which the audit counts the records."""
        return int(self.audit.facts.get("records", self.rows))

    def facts(self) -> dict[str, Any]:
        """As much of its certificate as whoever has the file can write."""
        return {
            "certificate": FORMAT,
            "promised": list(self.guarantee.promise()),
            "not_promised": list(self.guarantee.limits()),
            "guarantee": self._promise(),
            "holds": self.audit.holds,
            "audit": self._audit(),
            "output": {"sha256": self.sha256, "rows": self.rows, "empty": self.empty or 0},
            "input": {"rows": self.records},
        }

    def risk_left(self, *, certain: bool) -> dict[str, Any]:
        """What the attacker of a promise gets from data that the audit has passed; `certain`: one who wants to be sure of a value."""
        if certain:
            return {"value_certain": self.audit.facts.get("certain_rows", 0)}
        return {"fewer_than_k": 0, "singled_out": 0}

    def _promise(self) -> dict[str, Any]:
        """The guarantee as it is stated: of rules that an attacker knows, how they were found. How many the data shows is for the owner."""
        facts: dict[str, Any] = self.guarantee.to_dict()
        if "knowledge" in facts:
            facts["knowledge"] = {name: facts["knowledge"][name] for name in ("min_exp", "min_conf")}
        return facts

    def _audit(self) -> dict[str, Any]:
        """What a certificate says about the audit. What rules leave possible depends on the rules, which are not for its
        readers, and how many people there are is the owner's alone to know."""
        owners = ("counted", "people", "fewest_people")
        facts = {name: fact for name, fact in self.audit.facts.items() if name not in owners}
        if "knowledge" in self.audit.guarantee:
            facts.pop("fewest_values", None)
        return {
            "looked_at": "the published rows; what was written was read again and holds exactly these",
            "checked": self.audit.checked,
            "violations": self.audit.violations,
            "by_size": self.audit.to_dict()["by_size"],
            "complete": self.audit.complete,
            **facts,
        }


@dataclass(frozen=True)
class Making:
    """How a release was made, as far as its certificate says it: what only the owner knows."""

    algorithm: str
    optimal: bool | None
    parameters: Mapping[str, Any]
    disclosed: Mapping[str, Any]
    """What the model adds: what the file tells, and shares that are rounded (`disclosure`), never a rare name."""
    warnings: tuple[str, ...]
    input_sha256: str
    keep_order: bool = False
    risk: tuple[Exposed, ...] = ()


def certificate(file: Published, made: Making, output: Mapping[str, Any]) -> dict[str, Any]:
    """Everything a reader of the release may know about how it came about. `output` is the bare name of its file, and how it is read."""
    key = owner_key()
    row_order, own_warnings = order_facts(keep_order=made.keep_order, has_key=key is not None)
    found_out = file.facts()
    return {
        "certificate": FORMAT,
        "created": datetime.now(UTC).date().isoformat(),
        **{part: found_out[part] for part in ("promised", "not_promised", "guarantee", "holds", "audit")},
        "output": {"file": output["file"], **found_out["output"], **output},
        "row_order": row_order,
        "algorithm": made.algorithm,
        "optimal": made.optimal,
        **made.disclosed,
        "risk": _risk(made.risk, file),
        "parameters": {**_without_secrets(made.parameters), "keep_order": made.keep_order},
        "input": found_out["input"] | ({"hmac_sha256": hmac_of(made.input_sha256, key)} if key else {}),
        "key_id": key_id(key) if key else None,
        "versions": {"shoal": __version__, "python": platform.python_version()}
        | {package: metadata.version(package) for package in ("numpy", "scipy", "numba")},
        "warnings": [*own_warnings, *made.warnings],
    }


def order_facts(*, keep_order: bool, has_key: bool) -> tuple[str, list[str]]:
    """(in which order the rows stand, warnings about that and about hashes that are left out)."""
    warnings = []
    if keep_order:
        warnings.append(
            "The rows stand in the order of the input: whoever knows where a person stood there finds the person's row."
        )
    if not has_key:
        warnings.append("The owner's key could not be stored or read: the hashes of input and hierarchy are left out.")
    return "as in the input" if keep_order else "shuffled with unrecorded randomness of the system", warnings


def limits_of(content: Mapping[str, Any]) -> list[str]:
    """What a certificate says that its promise does not do, and what is to be kept in mind: what whoever publishes should have read."""
    warnings = content.get("warnings")
    return [*content["not_promised"], *(warnings if isinstance(warnings, list) else ())]


def certificate_bytes(content: Mapping[str, Any]) -> bytes:
    """The facts as a file holds them."""
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")


def canonical(content: Mapping[str, Any]) -> bytes:
    """What a signature covers: all of a certificate but the signature, its names sorted, in ASCII, without a blank."""
    facts = {name: value for name, value in content.items() if name != "signature"}
    return json.dumps(facts, sort_keys=True, separators=(",", ":")).encode("ascii")


def hierarchy_facts(tree: Hierarchy) -> dict[str, Any]:
    """What a certificate may say about a hierarchy: its name and its keyed hash. One made from the data has as many leaves as the data."""
    key = owner_key()
    named = {"source": os.path.basename(tree.source)}
    return named | ({"hmac_sha256": hmac_of(tree_fingerprint(tree), key)} if key else {})


def _risk(before: tuple[Exposed, ...], file: Published) -> dict[str, Any]:
    """What the attacker of this promise gets from the raw and from the published data; what the audit has passed has none."""
    if not before:
        return {}
    stated, step = disclose_risk(before, file.records, file.guarantee)
    after = file.risk_left(certain=before[0].alone is not None)
    return {"rows": file.records, "before": stated, "after": after} | ({} if step is None else {"in_steps_of": step})


def _without_secrets(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters without the folders of files and without names of items, which may be rare."""
    public = dict(parameters)
    for name, value in public.items():
        if isinstance(value, os.PathLike) or (name == "knowledge" and isinstance(value, str)):
            public[name] = os.path.basename(value)
        elif name == "item_weights" and value is not None:
            public[name] = {"items": len(value)}
    return public


def tree_fingerprint(tree: Hierarchy) -> str:
    """The SHA-256 of a tree, whatever file or spec it came from."""
    digest = hashlib.sha256(b"shoal hierarchy 1\n")
    digest.update(json.dumps([tree.n_leaves, *tree.labels]).encode())
    digest.update(tree.parent.astype("<i4", copy=False).data)
    return digest.hexdigest()
