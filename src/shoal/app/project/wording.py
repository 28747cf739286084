"""Wording: sentences of the library as pages say them. It speaks of options, and of keys of plans; a page speaks of what can be seen in it.

Names of files, columns and items stay as they are: only the first word of a sentence that is no name gets a capital.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from shoal.app.panels.promise.knobs import KNOBS
from shoal.errors import Message

_PHRASES = (
    (r"pass options: \{unknown: root\} to hang them under the root", "hang them under the root, in Hierarchies"),
    (r"hierarchies: \{COL: SPEC\}", "a tree for each column, in Hierarchies"),
    (
        r"no solution for delta = ([0-9.]+): clusters of k = ([0-9,]+) already lose ([0-9.]+) of the relational columns",
        r"delta = \1 cannot be kept: to be alike in groups of \2 rows, the columns have to lose \3 of their detail",
    ),
    (r"options: \{transaction: aa\} or options: \{transaction: exact\} keeps", "the option transaction (aa or exact) of plans keeps"),
)  # fmt: skip
"""What is said in another way altogether."""
_TERM = re.compile(
    r"\b(?:options|guarantee|input|outputs)\.[a-z_]+(?: [0-9.]*[0-9])?"
    r"|\bthe role (?:quasi|items|sensitive|keep|drop|id)\b"
    r"|\bmodel (?:km|k|rt|lm|diversity)\b"
)
_MODELS = {
    "km": "k^m-anonymity",
    "k": "k-anonymity",
    "rt": "(k,k^m)-anonymity",
    "lm": "(k,l^m)-diversity",
    "diversity": "matching l-diversity",
}
_FIELDS = {
    "separator": "“Items inside a cell are parted by” in Data",
    "format": "“Format” in Data",
    "algorithm": "the algorithm",
    "model": "the promise",
    "hierarchy": "a tree, in Hierarchies",
    "unknown": "unknown values, in Hierarchies,",
    "sensitive_items": "“Sensitive items” in Promise",
}


_PLACES = frozenset(("algorithm", "columns", "guarantee", "hierarchies", "input", "options", "outputs"))


def in_app(name: str, value: str | None) -> str:
    """An option in the words of the panels."""
    if name == "unknown" and value == "root":
        return "options: {unknown: root}"  # which `in_words` says in another way altogether
    if name == "hierarchy" and value is not None:
        return "a tree for each column, in Hierarchies" if "=" in value else f"the tree {value}"
    if name == "shell":
        return str(value)
    return _word(name, value or "")


def in_app_words(part: Any) -> Any:
    """A document of texts and numbers whose notes are in the words of the panels. Its reader is the owner, who may see values."""
    if isinstance(part, Message):
        return part.told(in_app, show_values=True)
    if isinstance(part, Mapping):
        return {key: in_app_words(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [in_app_words(value) for value in part]
    return part


def in_words(text: str) -> str:
    """A sentence about keys of a plan in the words of the panels."""
    text = re.sub(r"^columns\.(.+?): ", r"column “\1”: ", text)
    for pattern, words in _PHRASES:
        text = re.sub(pattern, words, text)
    return _TERM.sub(_word_of, text)


def with_capital(text: str) -> str:
    """The sentence with a capital, unless it begins with a name or a symbol."""
    return text if _begins_with_a_name(text) else text[:1].upper() + text[1:]


def _begins_with_a_name(text: str) -> bool:
    first = text.split(maxsplit=1)[0] if text.strip() else ""
    before = text.partition(": ")[0]  # "my file.csv: line 3 …"
    return (
        (first.endswith(":") and first[:-1] not in _PLACES)
        or "." in first.rstrip(".,;")
        or re.search(r"\.[A-Za-z][A-Za-z0-9]{0,7}$", before) is not None
        or first.rstrip(",:") in ("k", "l", "m", "delta")
    )


def _word_of(found: re.Match[str]) -> str:
    head, _, value = found[0].partition(" ")
    if found[0].startswith("the role "):
        return _roles()[found[0].removeprefix("the role ")]
    return _word(re.sub(r"^(?:options\.|guarantee\.|input\.|outputs\.)", "", head), value)


def _word(name: str, value: str) -> str:
    if value in _MODELS:
        return _MODELS[value]
    if name in ("k", "m", "l", "delta"):
        return f"{name} = {value}" if value else name
    knob = KNOBS.get(name)
    if knob is not None:
        at = f" at {100 * float(value):g}%" if value else ""  # those with a flag of their own are shares
        return f"“{knob.label}” in Promise{at}"
    word = _roles().get(name) or _FIELDS.get(name) or f"the option {name.replace('_', '-')} of plans"
    return f"{word} {value}" if value else word


@cache
def _roles() -> dict[str, str]:
    from shoal.app.project.drafts import ROLES  # which itself needs a project, and so this module

    return {role: f"the role “{words}”" for role, (words, _) in ROLES.items()}
