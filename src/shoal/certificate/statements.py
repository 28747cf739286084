"""What a certificate states about a file, place by place (`audit.checked`, `loss.ncp`), held against what the file says by itself.

Counts of the audit, rows, published names and the words of the promise are found out again; what follows from these (the risk that is
left, the order of rows and its warning) must follow. All other places are known to be the owner's word (`facts.PARTS`), and are named as
not checked: that is what a signature is for. What is neither does not belong into a certificate.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import Any

from shoal.algorithms import ALGORITHMS, kind_of
from shoal.certificate.checks import Check, NotChecked
from shoal.certificate.document import made_by, made_by_this_version
from shoal.certificate.facts import OWNERS, PARTS, ROWS_HASHED, TAKEN, WORDED, Published, order_facts
from shoal.certificate.sections import plain_text
from shoal.certificate.terms import roles_in
from shoal.errors import Message, option
from shoal.guarantees.diversity import MatchingDiversity
from shoal.records.database.address import DATABASES

Place = tuple[str, ...]

_NAMED = 3
"""Places that a sentence has room for."""
_OF_RULES = ("fewest_values", "certain_rows", "contradicted_rows")
"""What the audit of buckets counts that depends on the rules an attacker knows."""
_LONGEST_COUNT = 10**18


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
    told = type(facts.get("min_exp")) in (int, float, type(None)) and type(facts.get("min_conf")) in (int, float)
    return StatedRules(facts) if told and len(facts) == 2 else None


@dataclass(frozen=True)
class Comparison:
    """A certificate beside the file that it is said to be about."""

    content: Mapping[str, Any]
    file: Published
    same: bool
    """Whether it is the file that was certified."""
    rules_known: bool
    """Whether it was audited with the rules of the certificate."""

    def check(self, sha256: str, name: str | None) -> tuple[Check, tuple[NotChecked, ...]]:
        """Whether the certificate says of this file what is so, and of what in it that was not found out.

        `sha256` is what the file was when the verification began, `name` what it is called.
        """
        content, ours = self.content, made_by_this_version(self.content)
        off = [(place, says) for place, says in _differences(content, self.expected) if place != ("output", "sha256")]
        strange = list(self._strange()) if self.same else []
        reworded: list[Place] = []
        if not ours:
            reworded = [place for place, says in off if says is None or place_name(place) in WORDED] + strange
            off, strange = [(place, says) for place, says in off if place not in reworded], []
        wrong = [f"{place_name(place)} {f'({says})' if says else 'is missing'}" for place, says in off[:_NAMED]]
        wrong += [f"{len(off) - _NAMED:,} places more"] * (len(off) > _NAMED)
        wrong += [f"it holds {place_name(place)}, which no certificate does" for place in strange[:1]]
        wrong += ["the file changed while it was read"] * (self.file.sha256 != sha256)
        wrong += [*self._contradictions(), *(self._non_sequiturs() if self.same and ours else ())]
        left = (*self._not_checked(name, reworded), *self._not_counted)
        if wrong:
            return Check("statements", False, f"what the certificate says is not so: {'; '.join(wrong)}"), left
        if reworded:
            return Check("statements", None, f"its words were not compared: {made_by(content)}"), left
        return Check("statements", True, "what anyone can find out from the file is as it says"), left

    @cached_property
    def _rules(self) -> StatedRules | None:
        return stated_rules(self.content)

    @property
    def _counts_all(self) -> bool:
        """Whether both audits went to the end: one that stops early does not always stop at the same count."""
        return bool(self.file.audit.complete and self.content["audit"].get("complete"))

    @cached_property
    def expected(self) -> dict[str, Any]:
        """As much of the certificate as anyone can write who has the file; of another file only what does not depend on its rows."""
        content, file, stated = self.content, self.file, self._rules
        if stated is not None and isinstance(file.guarantee, MatchingDiversity):
            file = replace(file, guarantee=replace(file.guarantee, rules=stated))  # type: ignore[arg-type]
        output = content["output"]
        expected = file.facts()
        audit: dict[str, Any] = json.loads(json.dumps(expected["audit"]))
        expected |= {"holds": True, "audit": {"violations": 0}}
        expected["output"] |= {"sha256_of": ROWS_HASHED} if output.get("format") in DATABASES else {}
        expected["output"] |= {"digest": output["digest"]} if "digest" in output else {}
        if stated is not None:
            expected["guarantee"].pop("knowledge")  # how they were found is the owner's word
        if not self.same:
            del expected["input"]
            return expected
        if not self._counts_all:
            audit = {name: audit[name] for name in ("looked_at", "complete")} | {"violations": 0}
        known = stated is None or self.rules_known
        expected["audit"] = {name: value for name, value in audit.items() if known or name not in _OF_RULES}
        keep_order = _in(content.get("parameters"), "keep_order") is True
        expected["row_order"] = order_facts(keep_order=keep_order, has_key=True)[0]
        risk = content.get("risk")
        if risk:
            after = file.risk_left(certain=_in(_in(risk, "after"), "value_certain") is not None)
            expected["risk"] = {"rows": file.records} | ({"after": after} if known or "fewer_than_k" in after else {})
        if file.tokens is not None and _in(content.get("changes"), "tokens") is not None:
            expected["changes"] = {"tokens": file.tokens}
        if "buckets" in content:
            expected["buckets"] = {name: value for name, value in expected["audit"].items() if "bucket" in name}
        return expected

    def _strange(self) -> Iterator[Place]:
        """Places that no certificate has."""
        content = self.content
        counts = [tuple(place.split(".")) for part in self._not_counted for place in part.places]
        columns = set(roles_in(content)) | ({"items"} if content["guarantee"].get("model") in ("rt", "lm") else set())
        by_column = columns and not isinstance(_in(content.get("hierarchy"), "source"), str)
        for place, value in leaves(content):
            if place[0] in ("signature", "signer", "page") or place == ("output", "file"):
                continue  # looked at by checks of their own
            counted = any(place[: len(count)] == count for count in counts)
            known = _is_expected(place, self.expected) or is_known(place, value) or counted
            per_column = place[0] == "ncp_by_column" or (place[0] == "hierarchy" and by_column)
            below = place[:2] in (("rounded_to", "ncp_by_column"), ("kept", "columns"))
            named = place[2:3] if below else place[1:2] if per_column else ()
            if not known or any(column not in columns for column in named):
                yield place

    def _contradictions(self) -> Iterator[str]:
        """What cannot be so, or not beside other things that the certificate says."""
        content = self.content
        roles, read = content.get("columns"), content["output"].get("columns")
        if isinstance(roles, Mapping) and isinstance(read, Mapping):
            off = [column for column, role in roles.items() if role != "drop" and read.get(column) != role]
            off += [column for column, role in read.items() if role in ("quasi", "sensitive") and column not in roles]
            if off:
                yield f"it gives column {off[0]!r} two roles"
        if content["guarantee"].get("knowledge") is not None and self._rules is None:
            yield "it speaks of rules that its promise is not about"
        if not _is_day(content.get("created")):
            yield "it does not say on which day it was made"

    def _non_sequiturs(self) -> Iterator[str]:
        """What is not so, given the file and what else the certificate says."""
        content = self.content
        lacking = [part.name for part in PARTS if part.always and part.name not in content]
        if lacking:
            yield f"{lacking[0]} is missing"
        keep_order = _in(content.get("parameters"), "keep_order")
        _, warnings = order_facts(keep_order=keep_order is True, has_key=content.get("key_id") is not None)
        given = content.get("warnings")
        if not isinstance(keep_order, bool):
            yield "it does not say in which order the rows stand"
        if not isinstance(given, list) or any(warning not in given for warning in warnings):
            yield "a warning is missing"
        if content.get("algorithm") not in list(ALGORITHMS[kind_of(self.file.guarantee)]):
            yield "there is no such algorithm for its promise"

    def _not_checked(self, name: str | None, reworded: Sequence[Place]) -> Iterator[NotChecked]:
        yield NotChecked(
            names_of(TAKEN, self.expected),
            "taken as stated, and so it holds; whether the owner promised this, or more, only the owner can say",
        )
        about_rules = self.content["guarantee"].get("model") == "diversity"
        owners = [place for place in OWNERS if about_rules or "knowledge." not in place]
        owners = [place for place in owners if not _is_expected(tuple(place.split(".")), self.expected)]
        yield NotChecked(names_of(owners, self.expected), "only the owner can know")
        if self.content["output"].get("file") != name:
            yield NotChecked(("output.file",), "the data have another name here, or none")
        if reworded:
            yield NotChecked(tuple(map(place_name, reworded)), made_by(self.content))

    @cached_property
    def _not_counted(self) -> tuple[NotChecked, ...]:
        """Counts of the audit that cannot be compared."""
        parts = []
        if not self._counts_all:
            parts.append(NotChecked(("audit.checked", "audit.by_size"), "an audit that stops early counts what it met"))
        if self._rules is not None and not self.rules_known:
            why = Message(f"it depends on the rules; give them with {option('knowledge')}")
            parts.append(NotChecked(tuple(f"audit.{part}" for part in _OF_RULES), why))
        return tuple(parts)


def leaves(content: Any, above: Place = ()) -> Iterator[tuple[Place, Any]]:
    """All values that hold no others, and where they stand."""
    if isinstance(content, Mapping | list) and content:
        named = content.items() if isinstance(content, Mapping) else enumerate(content)
        for name, value in named:
            yield from leaves(value, (*above, str(name)))
    else:
        yield above, content


def is_known(place: Place, value: Any) -> bool:
    """Whether a certificate may have this place: a plain value stands at the end of a pattern, and a part of one may be empty."""
    part = isinstance(value, Mapping | list)
    return any(below.keys() - {""} if part else "" in below for below in _below(_KNOWN, place))


def _below(tree: Mapping[str, Any], place: Place) -> Iterator[Mapping[str, Any]]:
    """What may follow on a place, by every pattern that leads there."""
    if not place:
        yield tree
        return
    for step in {place[0], "*"} & tree.keys():
        yield from _below(tree[step], place[1:])


def _as_tree(patterns: Iterable[str]) -> dict[str, Any]:
    """The steps of patterns under each other; one that ends where others go on is marked by an empty step."""
    tree: dict[str, Any] = {}
    for pattern in patterns:
        at = tree
        for step in pattern.split("."):
            at = at.setdefault(step, {})
        at[""] = {}
    return tree


_KNOWN = _as_tree((*TAKEN, *OWNERS))


def names_of(patterns: Iterable[str], looked_at: Mapping[str, Any]) -> tuple[str, ...]:
    """Patterns as readers see them: a part of which nothing was looked at goes by its own name."""
    names: dict[str, None] = {}
    for pattern in patterns:
        seen: Any = looked_at
        name = []
        for step in pattern.split("."):
            if step == "*":
                break
            name.append(step)
            if not isinstance(seen, Mapping) or step not in seen:
                break
            seen = seen[step]
        names[".".join(name)] = None
    return tuple(names)


def place_name(place: Place) -> str:
    """A place as text. The names come from strangers."""
    return ".".join(map(plain_text, place))


def _differences(stated: Any, expected: Any, place: Place = ()) -> Iterator[tuple[Place, str | None]]:
    """Where the certificate says something else than what is expected, and in which words; None where it says nothing."""
    if isinstance(expected, Mapping) and isinstance(stated, Mapping):
        for name, value in expected.items():
            if name not in stated:
                yield (*place, name), None
            else:
                yield from _differences(stated[name], value, (*place, name))
    elif not _alike(stated, expected):
        counts = type(stated) is int and type(expected) is int and stated < _LONGEST_COUNT
        yield place, f"it says {stated:,}, there are {expected:,}" if counts else "something else is so"


def _is_expected(place: Place, expected: Any) -> bool:
    for step in place:
        if not isinstance(expected, Mapping):
            return isinstance(expected, list)  # compared as a whole
        if step not in expected:
            return False
        expected = expected[step]
    return True


def _is_day(text: Any) -> bool:
    try:
        return isinstance(text, str) and date.fromisoformat(text).isoformat() == text
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
