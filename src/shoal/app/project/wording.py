"""What pages call roles, options and places of a plan, so that sentences of the library speak of what can be seen in the app."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.app.project.knobs import KNOBS
from shoal.errors import Message, ShoalError, render
from shoal.options import Place
from shoal.plan import Origin
from shoal.plan.places import dotted_path

ROLES = {
    "quasi": ("Others may know it", "Age, sex, postcode: what a neighbour or another data set could tell. It is made coarser."),
    "items": ("A set of items", "Products, codes, pages: several values in each cell, or, in a long table, one a row."),
    "sensitive": ("Others want to learn it", "A diagnosis, an income: what must not be pinned on a person. It is published as it is."),
    "keep": ("Keep as it is", "Published unchanged. Choose it only for what nobody can know and nobody wants to learn."),
    "drop": ("Leave out", "Names, numbers, addresses: what identifies people is not even read."),
    "id": ("Holds rows together", "Rows with the same value are one record: joined, with all of their items. It is not published."),
    "person": ("Whose row it is", "A patient's number, where people have several rows: people are counted then. It is not published."),
}  # fmt: skip
"""Per role: what a page calls it, and what it means."""
_MODELS = {
    "km": "k^m-anonymity",
    "k": "k-anonymity",
    "rt": "(k,k^m)-anonymity",
    "lm": "(k,l^m)-diversity",
    "diversity": "matching l-diversity",
    "constraints": "anonymity under constraints",
    "chunks": "k^m-anonymity in chunks",
}
_FIELDS = {
    "separator": "“Items inside a cell are separated by” in Data",
    "format": "“Format” in Data",
    "algorithm": "the algorithm",
    "model": "the promise",
    "hierarchy": "a tree, in Hierarchies",
    "unknown": "unknown values, in Hierarchies,",
    "sensitive_items": "“Sensitive items” in Promise",
    "spelling": "how it is spelled, in Data",
    "limits": "“Never coarser than” in Data",
    "missing_quasi": "“A missing value is” in Data",
    "l_kind": "“What is counted for l?” in Promise",
    "distance": "“How far are two values from each other?” in Promise",
}
COUNTED = "Counted in people, not rows: all rows of a person count as one."
KNOWN_COLUMNS = "all columns that others may know"
"""All quasi-identifier columns."""
_SYMBOLS = ("k", "m", "l", "delta")


class PageOrigin(Origin):
    """A plan that the user made by clicking: no message speaks of its file, its lines or its keys."""

    def where(self, place: Place = ()) -> str:
        if place[:1] == ("columns",):
            return f"Column “{place[1]}”: " if len(place) > 1 else ""
        if len(place) > 1 and place[0] in ("guarantee", "options", "input", "outputs"):
            return f"{in_app(str(place[1]), None)}: "
        return f"{dotted_path(place).capitalize()}: " if place else ""

    def mention(self, name: str, value: str | None) -> str:
        return in_app(name, value)


WORTH = {
    "info": "of the information is kept",
    "exact": "of the items are published as they are",
    "cells": "of the cells are published as they are",
    "pairs": "of the 100 commonest pairs keep their count",
}
"""What a release is worth, the first things to say of it."""
WORTH_MEANS = (
    "Information: of what the items and cells said, the share that a reader of the release still knows. A pair keeps its count if both "
    "items are published as they are, together in as many rows as before, give or take a tenth."
)


def in_app(name: str, value: str | None) -> str:
    """An option in the words of the panels."""
    if name == "shell" or (name == "model" and value is not None):
        return _MODELS.get(str(value), str(value))
    if name == "unknown" and value == "root":
        return "in Hierarchies"
    if name == "hierarchy" and value is not None:
        return "a tree for each column, in Hierarchies" if "=" in value else f"the tree {value}"
    if name in _SYMBOLS:
        return f"{name} = {value}" if value else name
    if name in KNOBS:
        at = "" if value is None else f" at {100 * float(value):g}%"  # all of them are shares
        return f"“{KNOBS[name].label}” in Promise{at}"
    if name in ROLES and value:
        return f"the role “{ROLES[name][0]}” for {', '.join(part.strip() for part in value.split(','))}"
    word = f"the role “{ROLES[name][0]}”" if name in ROLES else _FIELDS.get(name)
    word = word or f"the option {name.replace('_', '-')} of plans"
    return f"{word} {value}" if value else word


def in_app_words(part: Any) -> Any:
    """A document of texts and numbers whose notes are in the words of the panels. Its reader is the owner, who may see values."""
    if isinstance(part, Message):
        return part.render(in_app, show_values=True)
    if isinstance(part, Mapping):
        return {key: in_app_words(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [in_app_words(value) for value in part]
    return part


def as_sentence(said: str | ShoalError) -> str:
    """An error or a note as a page says it. Whoever reads it is the owner of the data, and may see the values that come with it."""
    message = said.message if isinstance(said, ShoalError) else said
    text = with_capital(render(message, in_app, show_values=True))
    return text + ("" if text.endswith((".", "?", "!")) else ".")


def with_capital(text: str) -> str:
    """The sentence with a capital, unless it begins with a name (of a file, a column, an item) or a symbol."""
    first, head, colon = text.split(" ", 1)[0], *text.partition(": ")[:2]
    is_name = "." in first.rstrip(".,;") or first.endswith(":") or (colon and "." in head)
    return text if is_name or first.rstrip(",:") in _SYMBOLS else text[:1].upper() + text[1:]
