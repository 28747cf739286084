"""Reading a plan: a document of YAML or JSON becomes a plan, or a sentence about what is wrong, with its line."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from shoal.errors import InputError
from shoal.options import Place
from shoal.passwords import holds_password
from shoal.plan.combinations import check_combinations
from shoal.plan.documents import read_text_document
from shoal.plan.faults import fault
from shoal.plan.model import Plan
from shoal.plan.places import Origin, line_of, sentence, short_form
from shoal.records.storage.streams import display_name
from shoal.records.stores.remote import folder_of

_ADDRESSED = (("input", "path"), ("outputs", "data"))  # whose addresses are looked at when all else is right


def read_plan(path: str | os.PathLike[str]) -> Plan:
    """The plan in a file, YAML or (by its name, `.json`) JSON.

    Args:
        path: The file.

    Raises:
        InputError: It is not a plan; the message names the key and the line.

    >>> import shoal
    >>> with open("plan.yaml", "w") as file:
    ...     print("version: 1", "input: {path: baskets.csv}", "guarantee: {model: km, k: 5, m: 2}", sep=chr(10), file=file)
    >>> shoal.read_plan("plan.yaml").promise
    KmAnonymity(k=5, m=2)
    """
    return plan_of(*read_document(path))


def read_document(path: str | os.PathLike[str]) -> tuple[Any, Origin]:
    """What stands in a file of YAML or JSON, and where it stood."""
    lines: dict[Place, int] = {}
    document, data = read_text_document(path, lines=lines)
    return document, Origin(display_name(path), folder_of(path), lines, hashlib.sha256(data).hexdigest())


def plan_of(document: Any, origin: Origin | None = None, memory: Mapping[Place, Any] | None = None) -> Plan:
    """The plan that a document (a dict of dicts, as YAML and JSON give it) stands for; `memory` has what only lives there, by place."""
    origin = origin or Origin()
    if document is None:
        raise InputError(f"{origin.where()}it is empty; draft a plan with shoal init DATA")
    if not isinstance(document, Mapping):
        # The text may be data, given by mistake: it is not repeated.
        held = "text" if isinstance(document, str) else short_form(document)
        raise InputError(f"{origin.where()}it holds {held}, not the keys of a plan; draft one with shoal init DATA")
    if document and not set(document) & set(Plan.model_fields):  # nor are keys that are no plan's
        raise InputError(
            f"{origin.where()}it has none of the keys of a plan; is it another file? shoal init DATA drafts a plan"
        )
    _refuse_passwords(document, (), origin)
    try:
        plan = Plan.model_validate(dict(document))
    except ValidationError as error:
        found = sorted(error.errors(include_url=False), key=lambda one: one["type"] == "missing")
        faults = [fault(one, document) for one in found]  # a misspelt key before what is missing for it
        place, message = min(faults, key=lambda one: line_of(origin, one[0]) or 0)
        raise InputError(message).in_words(origin.mention).within(origin.where(place)) from None
    plan._origin, plan._memory = origin, dict(memory or {})
    check_combinations(plan)
    return plan


def _refuse_passwords(part: Any, place: Place, origin: Origin) -> None:
    """Raises for a password anywhere in a plan."""
    if isinstance(part, Mapping):
        for key, value in part.items():
            _refuse_passwords(str(key), place, origin)
            _refuse_passwords(value, (*place, key), origin)
    elif isinstance(part, list | tuple):
        for i, value in enumerate(part):
            _refuse_passwords(value, (*place, i), origin)
    elif isinstance(part, str) and place not in _ADDRESSED and holds_password(part):
        raise InputError(
            sentence(
                origin, place, "a plan is no place for a password; leave it out, and give it in PGPASSWORD or ~/.pgpass"
            )
        )
