"""Reading a plan: YAML or JSON text, safely, with the line of each key.

Keys are texts however YAML would read them, so that a column may be called `no` or `2019` without quotes. Aliases are refused: a plan has
no use for them, and a few lines of them can stand for gigabytes.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from typing import Any

import yaml
from pydantic import ValidationError

from shoal.errors import InputError
from shoal.options import Place
from shoal.passwords import holds_password
from shoal.plan.combinations import check_combinations
from shoal.plan.faults import fault
from shoal.plan.model import Plan
from shoal.plan.places import Origin, dotted_path, line_of, sentence, short_form
from shoal.records.storage.journal import settle
from shoal.records.storage.streams import display_name, reading_errors

MOST_BYTES = 1_000_000
_ADDRESSED = (("input", "path"), ("outputs", "data"))  # whose addresses are looked at when all else is right


def read_plan(path: str | os.PathLike[str]) -> Plan:
    """The plan in a file, YAML or (by its name, `.json`) JSON.

    Args:
        path: The file.

    Raises:
        InputError: It is no plan; the message names the key and the line.

    >>> import shoal
    >>> with open("plan.yaml", "w") as file:
    ...     print("version: 1", "input: {path: baskets.csv}", "guarantee: {model: km, k: 5, m: 2}", sep=chr(10), file=file)
    >>> shoal.read_plan("plan.yaml").promise
    KmAnonymity(k=5, m=2)
    """
    return plan_of(*read_document(path))


def read_document(path: str | os.PathLike[str]) -> tuple[Any, Origin]:
    """What stands in a file of YAML or JSON, and where it stood."""
    name = display_name(path)
    settle(path)
    with reading_errors(path), open(path, "rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise InputError(
            f"{name}: it has more than {MOST_BYTES:,} bytes; a plan holds paths, not data: is it another file?"
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{name}: it is not UTF-8 text; save it as UTF-8") from None
    lines: dict[Place, int] = {}
    document = _json_document(text, name) if name.lower().endswith(".json") else _yaml_document(text, name, lines)
    return document, Origin(name, os.path.dirname(os.fspath(path)), lines, hashlib.sha256(data).hexdigest())


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


class _Loader(yaml.SafeLoader):
    """YAML without aliases."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(problem="an alias (*) has no place in a plan", problem_mark=mark)
        return super().compose_node(parent, index)


def _yaml_document(text: str, name: str, lines: dict[Place, int]) -> Any:
    """What stands in YAML text, and on which line each key."""
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            return None if node is None else _node_value(loader, node, (), name, lines)
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}" if mark else "somewhere"
        what = (error.problem or error.context or "it cannot be parsed").splitlines()[0]
        raise InputError(f"{name}: {where} is not YAML ({what}); correct it, or put the text in quotes") from None
    except yaml.YAMLError:
        raise InputError(f"{name}: it is not YAML; save it as plain text") from None
    except RecursionError:
        raise InputError(f"{name}: it is nested too deeply; a plan has at most three levels") from None


def _node_value(loader: _Loader, node: Any, place: Place, name: str, lines: dict[Place, int]) -> Any:
    line = node.start_mark.line + 1
    if isinstance(node, yaml.MappingNode) and node.tag == "tag:yaml.org,2002:map":
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            at = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise InputError(f"{name}: line {at} has a list or a mapping as a key; give a text")
            key = key_node.value
            if key in found:
                raise InputError(
                    f"{name}: {dotted_path((*place, key))} (line {at}): it stands there twice; leave one of them out"
                )
            lines[(*place, key)] = at
            found[key] = _node_value(loader, value_node, (*place, key), name, lines)
        return found
    if isinstance(node, yaml.SequenceNode) and node.tag == "tag:yaml.org,2002:seq":
        return [_node_value(loader, part, (*place, i), name, lines) for i, part in enumerate(node.value)]
    if not isinstance(node, yaml.ScalarNode):
        raise InputError(
            f"{name}: line {line} has the tag {node.tag}; a plan has texts, numbers, lists and mappings alone"
        )
    try:
        return loader.construct_object(node)
    except yaml.YAMLError:
        raise
    except Exception:  # a date in month 13, a number of 5,000 digits: whatever the constructors stumble over
        raise InputError(f"{name}: line {line} holds what is no value; put it in quotes") from None


def _json_document(text: str, name: str) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in found if keys.count(key) > 1)
            raise InputError(f"{name}: the key {short_form(twice)} stands there twice; leave one of them out")
        return found

    def refuse(constant: str) -> Any:
        raise InputError(f"{name}: it holds {constant}, which is no number; give one, or leave the key out")

    try:
        return json.loads(text, object_pairs_hook=unique, parse_constant=refuse) if text.strip() else None
    except json.JSONDecodeError as error:
        raise InputError(f"{name}: line {error.lineno} is not JSON ({error.msg}); correct it") from None
    except (ValueError, RecursionError):
        raise InputError(f"{name}: it is not JSON; correct it") from None
