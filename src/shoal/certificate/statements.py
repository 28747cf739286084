"""What a certificate states about a file, place by place, held against what the file says by itself.

Counts of the audit, rows, published names and the words of the promise are found out again; what follows from these (the risk that is
left, the order of rows and its warning) must follow. All other places are known to be the owner's word, and are named as not checked:
that is what a signature is for. What is neither does not belong into a certificate.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from shoal import __version__
from shoal.algorithms import ALGORITHMS, kind_of
from shoal.certificate.compare import OWNERS, TAKEN, NotChecked, Place, dotted, is_known, leaves, names_of
from shoal.certificate.facts import FORMAT, ROWS_HASHED, audit_facts, order_facts, promise_facts, risk_left
from shoal.certificate.promised import roles_in
from shoal.certificate.vouching import Check
from shoal.errors import Message, option
from shoal.guarantees.audit import Audit
from shoal.guarantees.diversity import MatchingDiversity
from shoal.records.layout import DATABASES

_NAMED = 3
"""Places that a sentence has room for."""
_WORDED = ("certificate", "promised", "not_promised", "guarantee.name", "audit.looked_at", "row_order")
"""What another version may have worded otherwise."""
_OF_RULES = ("fewest_values", "certain_rows", "contradicted_rows")
"""What the audit of buckets counts that depends on the rules an attacker knows."""
_VERSION = re.compile(r"[0-9][0-9a-z.]{0,20}")
_ALWAYS = ("algorithm", "optimal", "loss", "risk", "parameters", "input", "key_id")
"""Parts that every certificate has, whatever they say."""


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


@dataclass(frozen=True)
class StatedRules:
    """The rules that a promise is about, which its certificate neither holds nor counts: as much of them as its words are about."""

    facts: Mapping[str, Any]

    @property
    def min_conf(self) -> float:
        return float(self.facts["min_conf"])

    def to_dict(self) -> dict[str, Any]:
        return dict(self.facts)


def stated_rules(content: Mapping[str, Any]) -> StatedRules | None:
    """The rules that the promise is about, if it is about any; None also for what no certificate says about rules."""
    facts = content["guarantee"].get("knowledge")
    if content["guarantee"].get("model") != "diversity" or not isinstance(facts, Mapping):
        return None
    found = type(facts.get("min_exp")) in (int, float, type(None)) and type(facts.get("min_conf")) in (int, float)
    return StatedRules(facts) if found and len(facts) == 2 else None


def statements_check(
    content: Mapping[str, Any], found: Recheck, *, same: bool, sha256: str, name: str | None, rules_known: bool
) -> tuple[Check, tuple[NotChecked, ...]]:
    """Whether the certificate says of this file what is so, and of what in it that was not found out.

    `same`: it is the file that was certified; `name`: what it is called; `rules_known`: it was audited with the rules of the certificate.
    """
    ours = made_by_this_version(content)
    expected = _expected(content, found, same, rules_known)
    off = [(place, told) for place, told in _differences(content, expected) if place != ("output", "sha256")]
    uncounted = tuple(_not_counted(content, found, rules_known))
    strange = list(_strange(content, expected, uncounted)) if same else []
    reworded: list[Place] = []
    if not ours:
        reworded = [place for place, told in off if told is None or dotted(place) in _WORDED] + strange
        off, strange = [(place, told) for place, told in off if place not in reworded], []
    wrong = [f"{dotted(place)} ({told})" if told else f"{dotted(place)} is missing" for place, told in off[:_NAMED]]
    wrong += [f"{len(off) - _NAMED:,} places more"] * (len(off) > _NAMED)
    wrong += [f"it holds {dotted(place)}, which no certificate does" for place in strange[:1]]
    wrong += ["the file changed while it was read"] * (found.sha256 != sha256)
    wrong += [*_that_contradict(content), *(_that_do_not_follow(content, found) if same and ours else ())]
    left = (*_not_checked(content, expected, name, reworded), *uncounted)
    if wrong:
        return Check("statements", False, f"what the certificate says is not so: {'; '.join(wrong)}"), left
    if reworded:
        return Check("statements", None, f"its words were not compared: {made_by(content)}"), left
    return Check("statements", True, "what anyone can find out from the file is as it says"), left


def made_by_this_version(content: Mapping[str, Any]) -> bool:
    return bool(content["versions"].get("shoal") == __version__ and content["certificate"] == FORMAT)


def made_by(content: Mapping[str, Any]) -> str:
    """Which version made it, and what to do about that."""
    version = content["versions"].get("shoal")
    if not isinstance(version, str) or not _VERSION.fullmatch(version) or version == __version__:
        return "it was made by another version of shoal; verify it with that one"
    return f"it was made by version {version}; verify it with that one (pip install shoal=={version})"


def _expected(content: Mapping[str, Any], found: Recheck, same: bool, rules_known: bool) -> dict[str, Any]:
    """As much of the certificate as anyone can write who has the file; of another file only what does not depend on its rows."""
    guarantee, stated = found.guarantee, stated_rules(content)
    if stated is not None and isinstance(guarantee, MatchingDiversity):
        guarantee = replace(guarantee, rules=stated)  # type: ignore[arg-type]
    output = content["output"]
    expected: dict[str, Any] = {
        "certificate": FORMAT,
        "promised": list(guarantee.promise()),
        "not_promised": list(guarantee.limits()),
        "guarantee": promise_facts(guarantee),
        "holds": True,
        "audit": {"violations": 0},
        "output": {"sha256": found.sha256, "rows": found.rows, "empty": found.empty or 0}
        | ({"sha256_of": ROWS_HASHED} if output.get("format") in DATABASES else {})
        | ({"digest": output["digest"]} if "digest" in output else {}),
    }
    if stated is not None:
        expected["guarantee"].pop("knowledge")  # how they were found is the owner's word
    if not same:
        return expected
    expected["audit"] = json.loads(json.dumps(audit_facts(found.audit)))
    if not (found.audit.complete and content["audit"].get("complete")):  # it does not always stop at the same count
        expected["audit"] = {name: expected["audit"][name] for name in ("looked_at", "complete")} | {"violations": 0}
    if stated is not None and not rules_known:
        expected["audit"] = {name: told for name, told in expected["audit"].items() if name not in _OF_RULES}
    keep_order = _in(content.get("parameters"), "keep_order") is True
    expected["row_order"] = order_facts(keep_order=keep_order, has_key=True)[0]
    expected["input"] = {"rows": found.rows}
    risk = content.get("risk")
    if risk:
        after = risk_left(found.audit, certain=_in(_in(risk, "after"), "value_certain") is not None)
        known = stated is None or rules_known
        expected["risk"] = {"rows": found.rows} | ({"after": after} if known or "fewer_than_k" in after else {})
    if found.tokens is not None and _in(content.get("changes"), "tokens") is not None:
        expected["changes"] = {"tokens": found.tokens}
    if "buckets" in content:
        expected["buckets"] = {name: told for name, told in expected["audit"].items() if "bucket" in name}
    return expected


def _differences(stated: Any, expected: Any, place: Place = ()) -> Iterator[tuple[Place, str | None]]:
    """Where the certificate says something else than what is expected, and in which words; None where it says nothing."""
    if isinstance(expected, Mapping) and isinstance(stated, Mapping):
        for name, value in expected.items():
            if name not in stated:
                yield (*place, name), None
            else:
                yield from _differences(stated[name], value, (*place, name))
    elif not _alike(stated, expected):
        counts = type(stated) is int and type(expected) is int
        yield (
            place,
            f"it says {stated:,}, there are {expected:,}" if counts and stated < 10**18 else "something else is so",
        )


def _strange(
    content: Mapping[str, Any], expected: Mapping[str, Any], uncounted: Sequence[NotChecked]
) -> Iterator[Place]:
    """Places that no certificate has."""
    counts = [tuple(place.split(".")) for part in uncounted for place in part.places]
    columns = _columns(content)
    by_column = columns and not isinstance(_in(content.get("hierarchy"), "source"), str)
    for place, value in leaves(content):
        if place[0] in ("signature", "signer", "page") or place == ("output", "file"):
            continue  # looked at by checks of their own
        counted = any(place[: len(count)] == count for count in counts)
        known = _is_expected(place, expected) or is_known(place, value) or counted
        per_column = place[0] == "ncp_by_column" or (place[0] == "hierarchy" and by_column)
        named = place[2:3] if place[:2] == ("rounded_to", "ncp_by_column") else place[1:2] if per_column else ()
        if not known or any(column not in columns for column in named):
            yield place


def _is_expected(place: Place, expected: Any) -> bool:
    for step in place:
        if not isinstance(expected, Mapping):
            return isinstance(expected, list)  # compared as a whole
        if step not in expected:
            return False
        expected = expected[step]
    return True


def _columns(content: Mapping[str, Any]) -> set[str]:
    return set(roles_in(content)) | ({"items"} if content["guarantee"].get("model") in ("rt", "lm") else set())


def _that_contradict(content: Mapping[str, Any]) -> Iterator[str]:
    """What cannot be so, or not beside other things that the certificate says."""
    roles, read = content.get("columns"), content["output"].get("columns")
    if isinstance(roles, Mapping) and isinstance(read, Mapping):
        off = [column for column, role in roles.items() if role != "drop" and read.get(column) != role]
        off += [column for column, role in read.items() if role in ("quasi", "sensitive") and column not in roles]
        if off:
            yield f"it gives column {off[0]!r} two roles"
    knowledge = content["guarantee"].get("knowledge")
    if knowledge is not None and stated_rules(content) is None:
        yield "it speaks of rules that its promise is not about"
    if not isinstance(content.get("created"), str) or not _is_day(content["created"]):
        yield "it does not say on which day it was made"


def _that_do_not_follow(content: Mapping[str, Any], found: Recheck) -> Iterator[str]:
    """What is not so, given the file and what else the certificate says."""
    lacking = [part for part in _ALWAYS if part not in content]
    if lacking:
        yield f"{lacking[0]} is missing"
    keep_order = _in(content.get("parameters"), "keep_order")
    _, warnings = order_facts(keep_order=keep_order is True, has_key=content.get("key_id") is not None)
    said = content.get("warnings")
    if not isinstance(keep_order, bool):
        yield "it does not say in which order the rows stand"
    if not isinstance(said, list) or any(warning not in said for warning in warnings):
        yield "a warning is missing"
    if content.get("algorithm") not in list(ALGORITHMS[kind_of(found.guarantee)]):
        yield "there is no such algorithm for its promise"


def _not_checked(
    content: Mapping[str, Any],
    expected: Mapping[str, Any],
    name: str | None,
    reworded: Sequence[Place],
) -> Iterator[NotChecked]:
    yield NotChecked(
        names_of(TAKEN, expected),
        "taken as stated, and so it holds; whether the owner promised this, or more, only the owner can say",
    )
    about_rules = content["guarantee"].get("model") == "diversity"
    owners = [pattern for pattern in OWNERS if about_rules or "knowledge." not in pattern]
    owners = [pattern for pattern in owners if not _is_expected(tuple(pattern.split(".")), expected)]
    yield NotChecked(names_of(owners, expected), "only the owner can know")
    if content["output"].get("file") != name:
        yield NotChecked(("output.file",), "the data have another name here, or none")
    if reworded:
        yield NotChecked(tuple(map(dotted, reworded)), made_by(content))


def _not_counted(content: Mapping[str, Any], found: Recheck, rules_known: bool) -> Iterator[NotChecked]:
    """Counts of the audit that cannot be compared."""
    if not (found.audit.complete and content["audit"].get("complete")):
        yield NotChecked(("audit.checked", "audit.by_size"), "an audit that stops early counts what it met")
    if stated_rules(content) is not None and not rules_known:
        yield NotChecked(
            tuple(f"audit.{part}" for part in _OF_RULES),
            Message(f"it depends on the rules; give them with {option('knowledge')}"),
        )


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _in(stated: Any, name: str) -> Any:
    return stated.get(name) if isinstance(stated, Mapping) else None


def _alike(one: Any, other: Any) -> bool:
    """Equal, and of the same kind all the way down: True is not 1, and 1.0 is not 1."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return math.isclose(one, other)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_alike, one, other))
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(_alike(one[name], other[name]) for name in one)
    return bool(one == other)
