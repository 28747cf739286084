"""What a certificate states about a file, held against what the file says by itself.

Counts of the audit, rows, published names and the words of the promise are found out again; what follows from these (the risk that is
left, the order of rows and its warning, the sizes of classes) must follow. What only the owner can know, such as the loss, is not
among them: that is what a signature is for.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from shoal import __version__
from shoal.guarantees.audit import Audit
from shoal.report.certificate import audit_facts, order_facts, risk_left
from shoal.report.vouching import Check


@dataclass(frozen=True)
class Recheck:
    """A file, read and audited anew."""

    guarantee: Any
    audit: Audit
    rows: int
    sha256: str
    """Of the bytes of the file, or of the rows."""
    sensitive_items: int = 0
    empty: int | None = None
    """Rows without an item, where rows have items."""
    tokens: int | None = None
    """Different items in them, where rows have items."""


def statements_check(content: Mapping[str, Any], found: Recheck, same: bool, sha256: str) -> Check:
    """Whether the certificate says of this file what is so; `same` says whether it is the file that was certified."""
    wrong = [*_of_the_promise(content, found), *_of_the_file(content, found, sha256)]
    wrong += [*_of_the_audit(content, found), *_that_follow(content, found)] if same else []
    if wrong:
        return Check("statements", False, f"what the certificate says is not so: {'; '.join(wrong)}")
    return Check("statements", True, "its counts and words are those of this file and promise")


def _of_the_promise(content: Mapping[str, Any], found: Recheck) -> Iterator[str]:
    guarantee = content["guarantee"]
    if content.get("holds") is not True or content["audit"].get("violations") != 0:
        yield "it does not say that the promise holds"
    if guarantee.get("knowledge"):
        return  # its name and words depend on rules that the certificate does not hold
    if guarantee.get("name") != str(found.guarantee):
        yield f"it calls {found.guarantee} {guarantee.get('name')!r}"
    words = (list(found.guarantee.promise()), list(found.guarantee.limits()))
    if _of_this_version(content) and (content["promised"], content["not_promised"]) != words:
        yield "its words are not those of its promise"


def _of_the_file(content: Mapping[str, Any], found: Recheck, sha256: str) -> Iterator[str]:
    output = content["output"]
    if found.sha256 != sha256:
        yield "the file changed while it was read"
    if output.get("rows") != found.rows:
        yield f"it counts {output.get('rows')!r} rows, there are {found.rows:,}"
    if output.get("empty") != (found.empty or 0):
        yield f"it counts {output.get('empty')!r} rows without items, there are {found.empty or 0:,}"
    roles, read = content.get("columns"), output.get("columns")
    if isinstance(roles, Mapping) and isinstance(read, Mapping):
        off = [column for column, role in roles.items() if role != "drop" and read.get(column) != role]
        if off:
            yield f"it gives column {off[0]!r} two roles"


def _of_the_audit(content: Mapping[str, Any], found: Recheck) -> Iterator[str]:
    """What was counted; another version may count more or less."""
    if content["guarantee"].get("knowledge"):
        return
    stated, counted = content["audit"], json.loads(json.dumps(audit_facts(found.audit)))
    names = [*counted, *(name for name in stated if name not in counted)]
    if not _of_this_version(content):
        names = [name for name in counted if name in stated and name != "looked_at"]
    if not (found.audit.complete and stated.get("complete")):
        names = ["complete"]  # an audit that stops early does not always stop at the same count
    off = [name for name in names if not _alike(stated.get(name), counted.get(name))]
    if off:
        yield f"its audit has another {off[0]!r} than the one made now"


def _that_follow(content: Mapping[str, Any], found: Recheck) -> Iterator[str]:
    """What other parts of the certificate say about the same file."""
    for place in ("input", "risk"):
        if (stated := content.get(place)) and _in(stated, "rows") != found.rows:
            yield f"it counts {_in(stated, 'rows')!r} rows in its {place}, there are {found.rows:,}"
    tokens = _in(content.get("changes"), "tokens")
    if None not in (found.tokens, tokens) and tokens != found.tokens:
        yield f"it counts {tokens!r} different items, there are {found.tokens:,}"
    if not _of_this_version(content):
        return
    risk, rules = content.get("risk"), content["guarantee"].get("knowledge")
    if risk:
        after = _in(risk, "after")
        certain = isinstance(after, Mapping) and "value_certain" in after
        if not (certain and rules) and after != risk_left(found.audit, certain=certain):
            yield "the risk that it says is left is another"
    keep_order = _in(content.get("parameters"), "keep_order")
    order, warnings = order_facts(keep_order=keep_order is True, has_key=content.get("key_id") is not None)
    said = content.get("warnings")
    if not isinstance(keep_order, bool) or content.get("row_order") != order:
        yield "it does not say in which order the rows stand"
    if not isinstance(said, list) or any(warning not in said for warning in warnings):
        yield "a warning is missing"
    classes = content.get("classes")
    if classes is not None and not _are_classes(classes, found.rows, found.audit.facts):
        yield f"its classes are not those of {found.rows:,} rows that were audited"


def _are_classes(stated: Any, rows: int, facts: Mapping[str, Any]) -> bool:
    """Whether classes of these sizes make so many rows. Two that are published alike are one for the audit."""
    count, smallest, largest, average = (_in(stated, name) for name in ("count", "smallest", "largest", "average"))
    if not all(isinstance(n, int) and n > 0 for n in (count, smallest, largest)) or not isinstance(average, float):
        return False
    return (
        math.isclose(average * count, rows)
        and smallest <= average <= largest
        and facts.get("classes", 0) <= count
        and smallest <= facts.get("smallest_class", rows)
        and largest <= facts.get("largest_class", rows)
    )


def _of_this_version(content: Mapping[str, Any]) -> bool:
    return bool(content["versions"].get("shoal") == __version__)


def _in(stated: Any, name: str) -> Any:
    return stated.get(name) if isinstance(stated, Mapping) else None


def _alike(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other)
    return type(one) is type(other) and bool(one == other)
