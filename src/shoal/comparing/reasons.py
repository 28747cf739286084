"""Why a cell failed, in words that may stand in a table: sentences from a closed list, with numbers and names of the plan filled in.

What an algorithm or a reader says when it gives up may quote the data: an item that no hierarchy knows, the value that is too frequent,
a cell that is no number. Tables and pages of a comparison hold no value of the data, so a message is never kept as it is. It is matched
with the sentences below, and the sentence is kept: numbers where it counts, names that the plan itself has, and `...` where a value
stood. What matches none is told by a sentence that says how to read it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

UNTOLD = "what it says may quote the data and is not kept; run the plan of this row alone to read it (--print-plan prints it)"
"""For a message that is in no list."""

_VALUES = ("sensitive_items", "item_weights", "query")
"""Keys of a plan that name items, or may name values."""

_CLOSED = {
    "n": r"-?[0-9][0-9,]*(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?%?",
    "promise": r"(?:matching )?[0-9]+-diversity|[0-9]+\^[0-9]+-anonymity|\([0-9]+,[0-9]+\^[0-9]+\)-(?:anonymity|diversity)"
    r"|[0-9]+-anonymity(?: with [0-9]+-diversity)?",
    "remedy": r"the largest l that works is [0-9]+|no l of at least 2 works|no l above [0-9]+ works",
    "are": r"is|are|has|have|holds|hold|stands|stand",
    "nouns": r"items?|labels?|values?|rows?|does|do",
    "among": r"all|the rows with other items",
    "cuts": r"[0-9,]+|10\^[0-9]+ or more|more than 10\^1000",
    "while": r"longer than the world will last|about [0-9,]+ (?:hours|days)|about [0-9]e[-+][0-9]+ years",
    "kind": r"balanced:[0-9]+|named:[0-9]+|frequency:[0-9]+|learned:[0-9]+|prefix|mask|intervals[0-9:,]*",
    "algorithm": r"[a-z]+(?:-[a-z]+)*",
    "roles": "[a-z_, ]+",
    "form": "Parquet|Arrow|Feather|CSV|JSON",
    "key": r"input|hierarchies|options|columns|sensitive_file|guarantee|algorithm",
}
"""What may be filled in. Besides these, `name` is a text of the plan, with or without quotes, and `value` is anything and is not kept."""

SENTENCES = (
    # The promise cannot be reached.
    "<promise> cannot be reached: only <n> transactions hold any item, fewer than k = <n>; choose a smaller k",
    "<promise> cannot be reached: only <n> rows hold any item, fewer than k = <n>; choose a smaller k",
    "<promise> cannot be reached: k = <n>, but there are only <n> rows; choose a smaller k",
    "<promise> cannot be reached: there are only <n> transactions, fewer than k = <n>; choose a smaller k",
    "<promise> cannot be reached: in all, the data holds only <n> of the sensitive items; choose an l of at most that",
    "<promise> cannot be reached: <n> of the sensitive items stand in all <n> rows, and nobody is unsure of these; do not name them as "
    "sensitive",
    "<promise> cannot be reached: column <name> has only <n> different values; choose a smaller l",
    "<promise> cannot be reached by anatomy: <n> of <n> rows (<n>) have the same <name>, more than one in <n>, and it gives no value to "
    "two rows of a bucket; with anatomy <remedy>; injector and balanced have no such bound",
    "<promise> cannot be reached: there are only <n> different values of <name>; with anatomy <remedy>",
    "<promise> cannot be reached: there are only <n> different values of <name>; <remedy>",
    "<algorithm> found no buckets that keep <promise>, which does not mean that there are none; ask for a smaller l or fewer rules",
    "<promise> cannot be reached: sensitive item <value> is in <n> of <among> <n> rows, more than 1/<n>; choose a smaller l, or do not "
    "name it as sensitive",
    "<promise> cannot be reached: the rules contradict the data, no assignment of the values of <name> to the rows obeys them; strike "
    "the rules that have exceptions",
    "<promise> cannot be reached: the rules leave row <n> <n> possible values of <name>; ask for fewer rules (a larger min_exp, fewer "
    "conditions) or strike some: with these <remedy>",
    "<promise> cannot be reached: of the <n> values of <name> that the rules leave row <n>, others need all but <n>; ask for fewer "
    "rules (a larger min_exp, fewer conditions) or strike some: with these <remedy>",
    "k = <n>, but there are only <n> transactions; choose a k of at most their number",
    "no solution for delta = <n>: clusters of k = <n> already lose <n> of the relational columns; the smallest delta that works is <n>",
    "no solution for delta = <n>: merging clusters brings UL down to <n> and no further; the smallest delta that works is <n>",
    # The algorithm is not for this.
    "oa would have to search <cuts> cuts, which takes <while> at the <n> s that checking one takes here; use algorithm exact, which "
    "finds the same optimum",
    "<n> segments of <n> transactions, k = <n>: PTA and Gray-TSP compare every two transactions of a segment, and more than <n> are "
    "too many; ask for more segments, a smaller k or algorithm split",
    "transaction <name> generalizes items along a hierarchy; give one for <name>",
    "a memory limit is for k^m-anonymity, and this is <promise>: what it knows about each row is in memory; leave the limit out",
    "a memory limit is for algorithm exact, and this is <algorithm>: what it knows about each row is in memory; leave the limit out",
    "a memory limit is not for <kind>, which is learned from all rows; take frequency:5 or a file",
    "memory limit <name> is not a size; give a number with a unit, such as 2GB or 800MB",
    # What is sensitive.
    "sensitive <nouns> <value> <nouns> not occur in the data; check the spelling, or leave out what is not there",
    "<value> is named as sensitive, but no transaction holds it; correct the name or leave it out",
    "hierarchy <name>: a category is called like a sensitive item (<value>)",
    "all items of <name> are sensitive, and those are published as they are, so that none is left to generalize; leave out their "
    "hierarchy, or name fewer as sensitive",
    # Hierarchies.
    "hierarchy <name>: <n> <nouns> <are> not among its leaves (<value>); add them, or pass options: {unknown: root} to hang them under "
    "the root",
    "hierarchy <name>: leaf <value> stands in two places; give every item one parent",
    "hierarchy <name>: it has one node only; unknown items cannot hang under it",
    "hierarchy <name> is for the columns of a table, not for items; use <value>",
    "hierarchy <name> is learned from rows of items and is of no use here; use <kind>",
    "hierarchy <kind>: groups need at least 2 members; use for example balanced:5",
    "hierarchy <kind>: nodes need room for at least 2 children; use for example learned:5",
    "hierarchy <name> does not name the widths of its intervals; use for example intervals:5,10,20",
    "hierarchy <name>: intervals of width <n> do not fit into intervals of width <n>; give widths of which each divides the next, as in "
    "intervals:5,10,20",
    "<kind> is for numbers, but its values are not numeric; use mask, prefix or a hierarchy file",
    "hierarchy file <name>: it is empty; check that it is the right file",
    "hierarchy file <name>: it has <n> roots (<value>",
    "hierarchy file <name>: <n> <nouns> <are> under two parents (<value>); keep one parent for each",
    "hierarchy file <name>: <n> <nouns> <are> in two places (<value>); keep one place for each",
    "hierarchy file <name>: <n> <nouns> <are> in a circle, each the child of the next (<value>); remove one of these links",
    "hierarchy file <name>, line <n>, column <n>: not JSON (<value>); correct it there",
    # Files.
    "<name>: there is no such file; paths are relative to the plan's folder",
    "<name>: there is no such file; paths are relative to the plan's folder, or take a known form such as balanced:5",
    "<name>: it is a folder; paths are relative to the plan's folder",
    "<name>: it is a folder; paths are relative to the plan's folder, or take a known form such as balanced:5",
    "<name> has no such column; its columns are <value>",
    "<name> has no transactions; there is nothing to publish",
    "<name> has no transactions; check that it is the right file",
    "<name> has no rows; there is nothing to publish",
    "<value> of <name> stand without a role; give each one of <roles>",
    "<name>: line <n> is not UTF-8 (<value>); save the file as UTF-8",
    "<name>: line <n> is not JSON (<value>); give each line one list or one object",
    "<name>: it is not readable as <form> (<value>); check the format, or write it again",
    # A place at least.
    "hierarchy file <name>, line <n>: <value>",
    "hierarchy file <name>, under <value>",
    "<name>: line <n> <value>",
    "<name>: row <n> <value>",
    "<name>, line <n>: <value>",
    "<name>: column <name>, row <n>: <value>",
    "column <name>, row <n>: <value>",
    # Faults of ours.
    "the audit refuses what <algorithm> proposed: <promise> does not hold (<n> of <n> counted break it); this is a fault of ours, please "
    "report it; nothing was written",
)
"""What cells say, in terms of the plan's keys. A value is followed by no number that could be part of it: the end of the sentence is."""

_PLACES = ("<key>.<name>: ", "<key>: ", "column <name>: ", "")
"""Where in the plan or in the data it stands."""


def reason_of(message: str, plan: Mapping[str, Any], folder: str = "") -> str:
    """The sentence of the list that a message is, with `...` in place of values."""
    names = _names(plan, folder)
    for sentence in SENTENCES:
        if max(_parts(sentence)[::2], key=len) not in message:
            continue
        for place in _PLACES:
            found = _pattern(place + sentence, names).fullmatch(message)
            if found is not None:
                return _filled(place + sentence, found)
    return UNTOLD


def refusal_of(message: str, document: Mapping[str, Any]) -> str:
    """Why a plan is none. It can quote the plan alone, so it stays as it is unless it holds one of the items that the plan names."""
    options = document.get("options")
    given: list[Any] = [document.get("sensitive_items"), (options or {}).get("item_weights")]
    items = [str(name) for part in given if isinstance(part, list | tuple | Mapping) for name in part]
    return UNTOLD if any(name in message for name in items) else message


def names_in(document: Any) -> set[str]:
    """Texts of a plan: keys and values, but not the items that it names, nor its query."""
    found: set[str] = set()
    if isinstance(document, Mapping):
        for key, value in document.items():
            found.add(str(key))
            if key not in _VALUES:
                found |= names_in(value)
    elif isinstance(document, list | tuple):
        for value in document:
            found |= names_in(value)
    elif isinstance(document, str):
        found.add(document)
    return found


def _names(plan: Mapping[str, Any], folder: str) -> list[str]:
    """Names of the plan as messages show them: as they are, as paths from here, as names of files, with and without quotes."""
    plain = names_in(plan)
    plain |= {os.path.join(folder, name) for name in plain} | {os.path.basename(name) for name in plain}
    shown = {*plain, *(repr(name) for name in plain)} - {"", "''"}
    return sorted(shown, key=lambda name: (-len(name), name))


def _parts(sentence: str) -> list[str]:
    """Its words and what is filled in between them, by turns."""
    return re.split(r"<(\w+)>", sentence)


def _pattern(sentence: str, names: Sequence[str]) -> re.Pattern[str]:
    parts = _parts(sentence)
    made = [re.escape(parts[0])]
    for kind, text in zip(parts[1::2], parts[2::2], strict=True):
        inside = "|".join(map(re.escape, names)) if kind == "name" else _CLOSED.get(kind, ".*")
        made.append(f"({inside}){re.escape(text)}")
    return re.compile("".join(made), re.DOTALL)


def _filled(sentence: str, found: re.Match[str]) -> str:
    parts = _parts(sentence)
    told = parts[0]
    for kind, text, value in zip(parts[1::2], parts[2::2], found.groups(), strict=True):
        told += ("..." if kind == "value" else value) + text
    return told
