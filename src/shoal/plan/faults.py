"""What pydantic finds wrong in a plan, as a sentence with a remedy."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from shoal.errors import near_miss, option
from shoal.options import Place
from shoal.plan.model import Chunks, Constraints, Diversity, Input, K, Km, Lm, Outputs, Plan, Rt, RunOptions, Series
from shoal.plan.places import short_form

_PARTS: dict[str, type[BaseModel]] = {"input": Input, "options": RunOptions, "outputs": Outputs, "series": Series}
_PROMISES: dict[str, type[BaseModel]] = {
    "km": Km,
    "k": K,
    "rt": Rt,
    "lm": Lm,
    "diversity": Diversity,
    "constraints": Constraints,
    "chunks": Chunks,
}
_EXAMPLES = {
    "version": "version: 1",
    "input": "input: {path: data.csv}",
    "path": "path: data.csv",
    "guarantee": "guarantee: {model: km, k: 5, m: 2}",
    "model": "model: km",
    "data": "data: public.csv",
    "k": "k: 5",
    "m": "m: 2",
    "l": "l: 2",
    "policy": "policy: policy.yaml",
}


def fault(found: Any, document: Mapping[str, Any]) -> tuple[Place, str]:
    """Where and what is wrong, from what pydantic found. Its location also names branches of unions, which are not keys of a plan."""
    place: list[str | int] = []
    value: Any = document
    rest = list(found["loc"])
    missing = rest.pop() if found["type"] == "missing" else None
    for key in rest:
        inside = key in value if isinstance(value, Mapping) else isinstance(value, list) and key in range(len(value))
        if inside:
            place, value = [*place, key], value[key]
    if missing is not None:
        return (*place, missing), f"it is missing; add {_EXAMPLES.get(str(missing), missing)}"
    return tuple(place), _reason(found, tuple(place), document)


def _reason(found: Any, place: Place, document: Mapping[str, Any]) -> str:
    kind, context, value = found["type"], found.get("ctx", {}), found["input"]
    if place[:1] == ("sensitive_items",) or place[:2] == ("options", "item_weights"):
        value = _Item()  # which is not repeated
    if kind == "extra_forbidden":
        return _unknown_key(place, document)
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        model = value.get("model") if isinstance(value, Mapping) else None
        return (
            f"its model is {short_form(model)}; {near_miss(str(model), _PROMISES)}choose one of {', '.join(_PROMISES)}"
            if model is not None
            else "its model is missing; add model: km, k, rt, lm, diversity or constraints"
        )
    if kind == "literal_error":
        if place == ("version",):
            return f"it is {short_form(value)}; this Shoal reads version 1"
        words = context.get("expected", "").replace(" or ", ", ").replace("'", "")
        near = near_miss(str(value), words.split(", "))
        return f"it is {short_form(value)}; {near}{'choose one of' if ',' in words else 'give'} {words}"
    if kind == "string_pattern_mismatch" and place == ("input", "sha256"):
        return f"it is {short_form(value)}; give the 64 hexadecimal digits that sha256sum prints"
    limits = {
        "greater_than_equal": ("ge", "at least"),
        "less_than_equal": ("le", "at most"),
        "greater_than": ("gt", "more than"),
        "less_than": ("lt", "less than"),
    }
    if kind in limits:
        name, words = limits[kind]
        return f"it is {short_form(value)}; give {words} {context.get(name):,}"
    wanted = {
        "int_type": "a whole number",
        "int_from_float": "a whole number",
        "float_type": "a number",
        "finite_number": "a number that is finite",
        "string_type": "a text (in quotes, if it looks like a number, a date, yes or no)",
        "string_unicode": "a text in UTF-8; a file whose name is none needs another",
        "string_too_short": "a text that is not empty",
        "string_pattern_mismatch": "a text without NUL",
        "bool_type": "true or false",
        "list_type": "a list",
        "dict_type": "a mapping, key: value",
        "model_type": "a mapping, key: value",
        "model_attributes_type": "a mapping, key: value",
    }.get(kind)
    if wanted is None:
        return f"it is {short_form(value)}, which has no use here; correct it"
    return f"it is {short_form(value)}; give {wanted}"


class _Item:
    """Stands for a value that names an item, or should."""

    def __str__(self) -> str:
        return "something else"


def _unknown_key(place: Place, document: Mapping[str, Any]) -> str:
    key = str(place[-1])
    if place == ("compare",):
        return "a grid of releases is for shoal compare; leave it out to run a single one"
    if len(place) == 1:
        known = list(Plan.model_fields)
    elif place[0] == "guarantee":
        model = document["guarantee"].get("model")
        known = list(_PROMISES[model].model_fields)
        if key in ("k", "m", "l"):
            return f"it has no meaning with {option('model', model)}; leave it out"
    else:
        known = list(_PARTS[str(place[0])].model_fields)
    near = difflib.get_close_matches(key, known, 1)
    return "there is no such key; " + (f"is {near[0]} meant?" if near else f"take one of {', '.join(known)}")
