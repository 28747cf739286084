"""Risks in words: what a risk task found, as sentences and rows of tables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from shoal.app.widgets.pictures import Lines
from shoal.drawing.charts import Series
from shoal.errors import number_of

Found = Mapping[str, Any]
USUAL_M = 2
"""The number of known items that the headline is about, where so many were counted."""
MOST_PAIRS = 10
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


def known_document(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """A plan for the risk task: what others may know of a person, and nothing else. None where they know nothing.

    Only columns and sets that others may know matter: all others are left out, whatever the promise of the plan is. Sensitive items among
    the sets are what others want to learn, not what they know.
    """
    given = dict(document.get("columns") or {})
    columns = {name: role if role in ("quasi", "items", "id", "person") else "drop" for name, role in given.items()}
    roles = set(columns.values())
    has_sets = "items" in roles or not given
    marked = {name: document[name] for name in ("sensitive_items", "sensitive_file") if document.get(name) and has_sets}
    if "quasi" in roles:
        promise = {"model": "rt", "k": 2, "m": 1} if has_sets else {"model": "k", "k": 2}
    elif has_sets:
        promise = {"model": "k", "k": 2} if marked else {"model": "km", "k": 2, "m": 1}
    else:
        return None
    source = {name: value for name, value in document["input"].items() if name != "numeric"}
    if given and not has_sets:
        source.pop("separator", None)
    found = {"version": 1, "input": source, "guarantee": promise} | marked
    return found | ({"columns": columns} if columns else {})


def headline(found: Found) -> str:
    """`312 of 10,000 rows are unique by 2 items.`"""
    profile = found["profile"]
    one = _usual(profile["exposures"])
    if one is None:
        return f"None of the {profile['rows']:,} rows holds anything that others may know."
    known = known_words(profile, one["m"])
    if found.get("people"):
        leads = "leads" if one["unique"] == 1 else "lead"
        count = f"{one['unique']:,}" if one["unique"] else "None"
        return f"{count} of {profile['rows']:,} rows, which {found['people']:,} people have, {leads} to one person by {known}."
    return f"{_of(one['unique'], profile['rows'])} unique by {known}."


def second_line(found: Found) -> str:
    """What the headline leaves out: those who are not alone, but among few."""
    profile = found["profile"]
    one = _usual(profile["exposures"])
    if one is None:
        return "There is nothing to find anybody by."
    few = f"fewer than {profile['k']}"
    among = f"{few} people" if found.get("people") else few
    return (
        f"{_of(one['exposed'], profile['rows'])} among {among}: whoever knows that much of one of these people is left with "
        f"{few} candidates."
    )


def not_known(found: Found) -> str | None:
    """What was left out of account."""
    number = found.get("sensitive", 0)
    if not number:
        return None
    what = "The sensitive item is" if number == 1 else f"The {number:,} sensitive items are"
    return f"{what} not counted as known: that is what others want to learn."


def severity(found: Found) -> str:
    """good, warn or bad, for colours: nobody among few, nobody alone, somebody alone."""
    one = _usual(found["profile"]["exposures"])
    if one is None or not one["exposed"]:
        return "good"
    return "bad" if one["unique"] else "warn"


def known_words(profile: Found, m: int) -> str:
    """`2 items`; `age and sex`; `age, sex and 2 items`."""
    columns = [f"“{visible(name)}”" for name in profile["columns"][:4]]
    if len(profile["columns"]) > 4:
        columns = [*columns[:3], f"{len(profile['columns']) - 3} more columns"]
    parts = columns + ([] if m == 0 else ["1 item" if m == 1 else f"{m} items"])
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def over_m(found: Found) -> list[tuple[str, ...]]:
    """Rows of the table over m: what is known, combinations that occur, rare ones, rows among few, rows alone."""
    profile = found["profile"]
    rows = profile["rows"]
    names = {0: "the columns alone", 1: "1 item"}
    besides = "the columns and " if profile["columns"] else ""
    return [
        (
            names[0] if one["m"] == 0 else besides + ("1 item" if one["m"] == 1 else f"up to {one['m']} items"),
            f"{one['itemsets']:,}",
            f"{one['rare']:,}",
            count_words(one["exposed"], rows),
            count_words(one["unique"], rows),
        )
        for one in profile["exposures"]
    ]


def examples(found: Found, most: int = 12) -> list[tuple[str, str]]:
    """(what is known, who it leads to): the rarest first, at most two for each number of items. They name rare rows."""
    told = []
    for one in found["profile"]["exposures"]:
        for witness in one["examples"][:2]:
            group = [f"{name} {value or '(missing)'}" for name, value in _pairs(found, witness)]
            told.append((visible(", ".join([*group, *witness["items"]])), _leads_to(witness["rows"])))
    return told[:most]


def by_columns(found: Found) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Rows of the tables of single columns and of pairs: name, different values, rows alone, rows among few; for single columns also the
    rows that are alone when all others are known without it."""
    columns, rows = found["columns"], found["profile"]["rows"]
    if not columns:
        return [], []
    single: list[tuple[str, ...]] = []
    for place, one in enumerate(columns["single"]):
        without = columns["without"][place] if columns["without"] else None
        line = (
            visible(one["columns"][0]),
            f"{one['combinations']:,}",
            count_words(one["unique"], rows),
            count_words(one["few"], rows),
        )
        single.append((*line, count_words(without["unique"], rows)) if without else line)
    pairs: list[tuple[str, ...]] = [
        (
            " and ".join(map(visible, one["columns"])),
            f"{one['combinations']:,}",
            count_words(one["unique"], rows),
            count_words(one["few"], rows),
        )
        for one in columns["pairs"][:MOST_PAIRS]
    ]
    return single, pairs


def worst_column(found: Found) -> str | None:
    """A sentence about the column that gives most away: without it, the fewest are alone."""
    columns, profile = found["columns"], found["profile"]
    if not columns or not columns["single"] or not profile["exposures"]:
        return None
    alone = profile["exposures"][0]["unique"]
    if not alone:
        return None
    if columns["without"]:
        left = min(one["unique"] for one in columns["without"])
        if left >= alone:
            return None
        ties = [
            f"“{visible(one['columns'][0])}”"
            for one, without in zip(columns["single"], columns["without"], strict=True)
            if without["unique"] == left
        ]
        if len(ties) > 3:
            return None
        many = "no row would" if left == 0 else f"{left:,} {'row' if left == 1 else 'rows'} would"
        return f"Leave out {' or '.join(ties)}, and {many} be unique by the columns instead of {alone:,}."
    one = columns["single"][0]
    if len(profile["columns"]) > 1 and one["unique"]:
        return f"“{visible(one['columns'][0])}” gives most away: by it alone, {number_of(one['unique'], 'row is', 'rows are')} unique."
    return None


def count_words(count: int, rows: int) -> str:
    """`312 (3.1%)`."""
    share = count / max(1, rows)
    shown = "<0.1%" if 0 < share < 0.0005 else ">99.9%" if 0.9995 <= share < 1 else f"{share:.1%}"
    return f"{count:,} ({shown})"


def visible(text: str, longest: int = 120) -> str:
    """A name from a file as a page can show it: on one line, without what nobody sees, not too long."""
    text = _UNSEEN.sub("·", text)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _usual(exposures: Sequence[Found]) -> Found | None:
    fits = [one for one in exposures if one["m"] <= USUAL_M]
    return fits[-1] if fits else None


def _of(count: int, rows: int) -> str:
    return f"{count:,} of {rows:,} rows {'is' if count == 1 else 'are'}" if count else f"None of {rows:,} rows is"


def _pairs(found: Found, witness: Found) -> list[tuple[str, str]]:
    return list(zip(found["profile"]["columns"], witness["group"], strict=False))


def _leads_to(rows: Sequence[int]) -> str:
    if len(rows) == 1:
        return f"row {rows[0]:,} alone"
    shown = ", ".join(f"{row:,}" for row in rows[:6])
    return f"rows {shown}" + (f" and {len(rows) - 6} more" if len(rows) > 6 else "")


def curve_picture(profile: Found) -> Lines:
    """The share of rows that are unique, or among few, over the number of known items."""
    rows = max(1, profile["rows"])
    names = {"exposed": (f"among fewer than {profile['k']}", "before"), "unique": ("singled out", "bad")}
    series = [
        Series(name, [(one["m"], one[figure] / rows) for one in profile["exposures"]], tone=tone)
        for figure, (name, tone) in names.items()
    ]
    known = "items known" + (" besides the columns" if profile["columns"] else "")
    return Lines("What the raw data give away", known, "share of all rows", series, percent=True)
