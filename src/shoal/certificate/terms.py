"""The terms of a certificate: its guarantee, and how the data that it is about are read. The audit goes by them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.errors import InputError, option
from shoal.guarantees.km_local import LocalKmAnonymity
from shoal.guarantees.registry import GUARANTEES, MODELS, guarantee_from, kind_for, promised_in_people
from shoal.guarantees.series.histories import SNAPSHOTS, KmOfSnapshots
from shoal.records.storage.digest import DIGEST


def guarantee_of(content: Mapping[str, Any], policy: Any = None) -> Any:
    """The guarantee that a certificate is about; one under constraints takes the policy, which the certificate does not hold."""
    facts = content["guarantee"]
    if facts.get("model") not in MODELS:
        raise InputError(
            f"the certificate promises {facts.get('name')!r}, which this version does not know; update shoal"
        )
    kind = kind_for(facts["model"], has_quasi="quasi" in roles_in(content).values())
    numbers = {name: facts.get(name) for name in GUARANTEES[kind].numbers}
    if None in numbers.values():
        raise InputError("the certificate lacks a number of its promise; give the file that shoal wrote")
    if kind == "km" and facts.get("local"):
        return _in_people(LocalKmAnonymity(**numbers), facts)
    if needs_policy(content):
        return _under(policy, facts, numbers)
    if kind == "km" and is_of_snapshots(content):
        return KmOfSnapshots(**numbers)
    # A certificate that does not say how missing values were read is held to the safe reading.
    settings = {name: facts[name] for name in GUARANTEES[kind].settings if name in facts}
    return _in_people(guarantee_from(kind, numbers | settings), facts)


def is_of_snapshots(content: Mapping[str, Any]) -> bool:
    """Whether the release is one of a series about the same people, which makes a promise of its own."""
    series = content.get("series")
    return isinstance(series, Mapping) and series.get("kind") == SNAPSHOTS


def _in_people(guarantee: Any, facts: Mapping[str, Any]) -> Any:
    """The guarantee as its certificate states it: in people, if these were counted."""
    return promised_in_people(guarantee) if facts.get("counted") == "people" else guarantee


def needs_policy(content: Mapping[str, Any]) -> bool:
    """Whether the promise is about a policy."""
    return bool(content["guarantee"].get("model") == "constraints")


def _under(policy: Any, facts: Mapping[str, Any], numbers: Mapping[str, Any]) -> Any:
    """The guarantee under a policy, which must be as large as the one that was certified."""
    if policy is None:
        raise InputError(
            f"the certificate is about a policy, which it does not hold; ask the owner for it, and give it with {option('policy')}"
        )
    guarantee = guarantee_from("constraints", {**numbers, "policy": policy})
    for name in ("sets", "families", "groups"):
        if guarantee.to_dict()[name] != facts.get(name):
            raise InputError(
                f"the policy is not the one of the certificate: their numbers of {name} differ; give that one"
            )
    return guarantee


def reading_of(content: Mapping[str, Any]) -> dict[str, Any]:
    """How the file is to be read: a column or more per role, the format, what separates items."""
    by_role: dict[str, list[str]] = {}
    for column, role in roles_in(content).items():
        by_role.setdefault(role, []).append(column)
    reading: dict[str, Any] = {role: tuple(by_role[role]) for role in ("quasi", "keep") if role in by_role}
    # One column is named by itself: models that take items by name tell a column from them by that.
    for role, name in (("sensitive", "sensitive"), ("sensitive items", "sensitive"), ("items", "items")):
        if role in by_role:
            reading[name] = by_role[role][0] if len(by_role[role]) == 1 else tuple(by_role[role])
    output = content["output"]
    if "numeric" in output:
        if not isinstance(output["numeric"], list) or not all(isinstance(name, str) for name in output["numeric"]):
            raise InputError("the certificate does not say which columns are numeric; give the file that shoal wrote")
        reading["numeric"] = tuple(output["numeric"])
    return reading | {name: output[name] for name in ("format", "separator", "id", "items") if name in output}


def sensitive_items_of(content: Mapping[str, Any]) -> int:
    """Sensitive items that stand among the others: how many, for which is not said."""
    if "sensitive items" in roles_in(content).values():
        return 0
    stated = content["output"].get("sensitive_items", content["guarantee"].get("sensitive_items", 0))
    if type(stated) is not int or stated < 0:
        raise InputError(f"the certificate counts {stated!r} sensitive items; give the file that shoal wrote")
    return stated


def known_by_rows(content: Mapping[str, Any]) -> bool:
    """Whether the data are known by their rows, wherever they lie, as what Spark wrote; otherwise by the bytes of a file."""
    stated = content["output"].get("digest")
    if stated not in (None, DIGEST):
        raise InputError(f"the hash in the certificate is {stated!r}, which this version does not know; update shoal")
    return stated is not None


def roles_in(content: Mapping[str, Any]) -> dict[str, str]:
    """The role of each column, where there are several."""
    columns = content["output"].get("columns", content.get("columns", {}))
    if not isinstance(columns, dict) or not all(isinstance(role, str) for role in columns.values()):
        raise InputError("the certificate does not say which column has which role; give the file that shoal wrote")
    return columns
