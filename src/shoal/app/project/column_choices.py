"""What can be said of each column that others may know: what kind its values are, how coarse it may become, what a missing one is.

All that is changed is the document of a plan: the kind is the column's hierarchy, in the words of `shoal.hierarchy.spec`; limits and
missing values are options, which only some promises take.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shoal.algorithms import ALGORITHMS
from shoal.app.project.promises import Document, algorithm_of, is_spelled, kind_of, takes_spelling, trees_of
from shoal.hierarchy.spec import is_made
from shoal.options import OPTIONS, Choices
from shoal.records.spelling.local_forms import NUMBERS

MISSING = {"value": "A value of its own", "unknown": "Unknown: published as *", "drop": "The row is left out"}
"""What a missing value of such a column is; the first is usual."""


SPELLINGS = {
    "": "As programs write: 3.5, 2024-04-03",
    "comma": "Decimal comma: 3,5 or 1.234,50",
    "point": "Decimal point: 1,234.50",
    "dmy": "Day, month, year: 03.04.2024",
    "mdy": "Month, day, year: 04/03/2024",
    "ymd": "Year, month, day: 2024/04/03",
}
"""How numbers and dates of a column are written."""


@dataclass(frozen=True)
class ColumnKind:
    """A way to make the values of a column coarser."""

    name: str
    title: str
    numbers: bool | None = None
    """Whether it is for numbers; None for any column."""
    asks: str = ""
    """What its parameter is called."""
    usual: str = ""
    must: bool = False
    """Whether it needs its parameter."""


AS_FOUND = ""
"""The kind that is recognised, which needs no word in a plan."""
OWN_TREE = "file"
KINDS = (
    ColumnKind("bands", "Numbers in bands", True, "Width", "10", True),
    ColumnKind("round", "Rounded numbers", True, "To multiples of", "5", True),
    ColumnKind("top", "Top coding: all above become one", True, "From", "90", True),
    ColumnKind("bottom", "Bottom coding: all below become one", True, "Up to", "18", True),
    ColumnKind("dates", "Dates, into months, quarters and years", False, "Steps", ""),
    ColumnKind("dates:ranges", "Dates, in ranges that fit", False),
    ColumnKind("durations", "Durations", False, "Steps", ""),
    ColumnKind("bands", "Bands that stand in the data", False),
    ColumnKind("bands:ranges", "Bands that stand in the data, in ranges that fit", False),
    ColumnKind("prefix", "Codes, by their first characters", None, "Lengths", ""),
    ColumnKind("mask", "Codes, the last characters hidden", None),
    ColumnKind("flat", "The value or nothing", None),
)


def kinds_for(guess: Mapping[str, Any], spelling: str = "") -> dict[str, ColumnKind]:
    """What can be chosen for a column, by what was seen of it and how it is spelled."""
    numbers = bool(guess.get("numeric")) or spelling in NUMBERS
    return {kind.name: kind for kind in KINDS if kind.numbers in (None, numbers)}


def found_words(guess: Mapping[str, Any], spelling: str = "") -> tuple[str, str]:
    """What a column is taken for where nobody says otherwise, and why."""
    reason = str(guess.get("kind") or "")
    if spelling in NUMBERS or guess.get("numeric"):
        return "As recognised: numbers, in ranges that fit", "" if spelling else reason
    if spelling:
        return "As recognised: dates", ""
    what = reason.partition(",")[0] if guess.get("recognised") else ""
    known = {"dates": "dates", "durations": "durations"}.get(what) or ("bands" if what.startswith("bands") else "")
    return (f"As recognised: {known}" if known else "As recognised: categories, the value or nothing"), reason


def chosen_kind(document: Mapping[str, Any], column: str) -> tuple[str, str]:
    """(name, parameter) of the kind that a plan says."""
    spec = trees_of(document).get(column)
    if spec is None:
        return AS_FOUND, ""
    if any(spec == kind.name for kind in KINDS):
        return spec, ""
    name, _, parameter = spec.partition(":")
    return (name, parameter) if is_made(spec) else (OWN_TREE, "")


def choose_kind(document: Document, column: str, kind: ColumnKind | None, parameter: str = "") -> None:
    """Says what a column is; None leaves it to what is recognised."""
    trees = trees_of(document)
    trees.pop(column, None)
    if kind is not None:
        given = "".join(parameter.split()) or (kind.usual if kind.must else "")
        trees[column] = f"{kind.name}:{given}" if kind.asks and given else kind.name
    document.pop("hierarchies", None)
    if trees:
        document["hierarchies"] = trees


def asks_spelling(document: Mapping[str, Any], column: str, guess: Mapping[str, Any]) -> bool:
    """Whether it matters how a column is spelled: its values are more than categories, or it was said already."""
    has_more = bool(guess.get("recognised")) and not guess.get("numeric")
    return takes_spelling(document) and (has_more or bool(spelling_of(document, column)))


def spelling_of(document: Mapping[str, Any], column: str) -> str:
    """How the numbers or dates of a column are spelled, as a plan says it; nothing where it does not."""
    return str((document["input"].get("spelling") or {}).get(column) or "")


def put_spelling(document: Document, column: str, way: str) -> None:
    """Says how a column is spelled. What it was to become was about its values as they stood, and goes."""
    said = {name: one for name, one in (document["input"].pop("spelling", None) or {}).items() if name != column}
    if way:
        said[column] = way
    if said:
        document["input"]["spelling"] = said
    choose_kind(document, column, None)


def takes(document: Mapping[str, Any], option: str) -> bool:
    """Whether the algorithm of a draft has a use for an option."""
    entry = ALGORITHMS.get(kind_of(document) or "", {}).get(algorithm_of(document))
    return entry is not None and option in entry.options


def limit_of(document: Mapping[str, Any], column: str) -> str:
    """How coarse a column may become, as the plan says it; nothing where it does not."""
    given = ((document.get("options") or {}).get("limits") or {}).get(column)
    return "" if given is None else f"{given:g}" if isinstance(given, float) else str(given)


def put_limit(document: Document, column: str, limit: str) -> None:
    """Says how coarse a column may become; nothing lets it become anything."""
    _put(document, "limits", column, limit.strip() or None)


def missing_in(document: Mapping[str, Any], column: str) -> str:
    """What a missing value of a column is."""
    return str(((document.get("options") or {}).get("missing_quasi") or {}).get(column) or next(iter(MISSING)))


def put_missing(document: Document, column: str, reading: str) -> None:
    """Says what a missing value of a column is; what is usual needs no word."""
    known = OPTIONS["missing_quasi"].kind
    assert isinstance(known, Choices)
    if reading in known.words:
        _put(document, "missing_quasi", column, None if reading == next(iter(MISSING)) else reading)


def _put(document: Document, option: str, column: str, value: str | None) -> None:
    options = dict(document.get("options") or {})
    given = {name: one for name, one in (options.get(option) or {}).items() if name != column}
    if value is not None:
        given[column] = value
    options.pop(option, None)
    if given:
        options[option] = given
    document.pop("options", None)
    if options:
        document["options"] = options


def fit_columns(document: Document) -> None:
    """Takes away what is said of columns whose role has no use for it any more."""
    for column, way in dict(document.get("input", {}).get("spelling") or {}).items():
        if not is_spelled(document, column, way):
            put_spelling(document, column, "")
    roles = document.get("columns") or {}
    for option in ("limits", "missing_quasi", "weights", "shift"):
        for column in list((document.get("options") or {}).get(option) or {}):
            if roles.get(column) not in (("quasi", "keep") if option == "shift" else ("quasi",)):
                _put(document, option, column, None)
