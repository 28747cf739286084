"""A vocabulary: the codes of a system, and what stands above each, as its publisher's own files say; and the tree of codes in some data.

A code in the data is spelled as its owner spells it (`e11.9`, `E119`, `250.0`, `2500`), and stays spelled so: it is a leaf below what it
means. Where a code itself has others below it and stands in the data as well, it is a leaf of its own below its category, which is
called `E11*`, as in trees of prefixes.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from shoal.errors import VALUES, InputError, Message, option
from shoal.hierarchy.build import ROOT
from shoal.hierarchy.tree import Hierarchy, count_of


@dataclass(frozen=True)
class Vocabulary:
    """The codes of a system, as its publisher writes them, and what stands above them."""

    system: str
    title: str
    source: str
    """The names of its files."""
    parent: Mapping[str, str]
    """What each code and each group stands below; what stands at the top is below nothing, ''."""
    spell: Callable[[str], str]
    """A code of the data as the publisher writes it."""
    groups: frozenset[str] = frozenset()
    """What stands above codes and is none."""
    retired: frozenset[str] = frozenset()
    """Codes that are no longer to be used. They may be among the others."""
    by_prefix: bool = False
    """Whether the beginning of a code is the code above it, so that one that is not known stands below the longest that is."""
    notes: tuple[str, ...] = ()
    """What its owner should know of the files."""

    def place_of(self, value: str) -> tuple[str, str]:
        """(where a value of the data stands, how it was found: known, range, beginning or unknown)."""
        code = self.spell(value)
        if code in self.parent:
            return code, "known"
        if (ends := re.fullmatch(r"\s*(\S+?)\s*(?:-|–|\.\.)\s*(\S+)\s*", value)) is not None:
            ways = [self.way_up(self.spell(end)) for end in ends.groups()]
            if all(ways):  # what only everything holds stands at the top
                return next((node for node in ways[0] if node in ways[1]), ""), "range"
        if self.by_prefix:
            for length in range(len(code) - 1, 2, -1):
                if (shorter := code[:length].rstrip(".")) in self.parent:
                    return shorter, "beginning"
        return "", "unknown"

    def way_up(self, code: str) -> list[str]:
        """The code and all that stands above it, without the root; nothing for one that is not known."""
        way = []
        while code and code in self.parent:
            way.append(code)
            code = self.parent[code]
        return way


@dataclass(frozen=True)
class Placement:
    """How the values of some data were found in vocabularies."""

    values: int
    found: Counter[str] = field(default_factory=Counter)
    retired: tuple[str, ...] = ()
    beginnings: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    def notes(self) -> list[Message]:
        """What to know of them, without naming any."""
        made = []
        if self.unknown:
            made.append(
                Message(
                    f"{count_of(self.unknown, 'code is', 'codes are')} not known and under the root{VALUES}",
                    self.unknown,
                )
            )
        if self.beginnings:
            below = "below the longest code that begins alike"
            made.append(
                Message(
                    f"{count_of(self.beginnings, 'code is', 'codes are')} not in the file: {below}{VALUES}",
                    self.beginnings,
                )
            )
        if self.retired:
            made.append(Message(f"{count_of(self.retired, 'code is', 'codes are')} retired{VALUES}", self.retired))
        if ranges := self.found["range"]:
            made.append(
                Message(f"{ranges:,} {'is a range' if ranges == 1 else 'are ranges'} of codes: what holds both ends")
            )
        return made

    def to_dict(self) -> dict[str, int]:
        known = {how: self.found[how] for how in ("known", "range", "beginning", "unknown")}
        return {"values": self.values, **known, "retired": len(self.retired)}


def code_tree(
    vocabularies: Mapping[str, Vocabulary], values: Iterable[str] | None = None, *, unknown: str | None = None
) -> tuple[Hierarchy, Placement]:
    """The tree above the codes of some data, each of the vocabulary whose prefix it begins with; without data, above all codes.

    `vocabularies` are by prefix, '' for what begins with none of the others. Codes that are not known are refused, or hung under the root
    with `unknown="root"`.
    """
    if values is None:
        values = [
            prefix + code for prefix, words in vocabularies.items() for code in words.parent if code not in words.groups
        ]
    names = list(dict.fromkeys(values))
    if not names:
        raise InputError("there are no codes to build a tree over; the data holds empty transactions only")
    at: dict[str, tuple[str, str] | None] = {}
    found: Counter[str] = Counter()
    kinds: dict[str, list[str]] = {"beginning": [], "unknown": [], "retired": []}
    for name in names:
        prefix = prefix_of(name, vocabularies)
        place, how = ("", "unknown") if prefix is None else vocabularies[prefix].place_of(name[len(prefix) :])
        found[how] += 1
        if how in kinds:
            kinds[how].append(name)
        if prefix is not None:
            words = vocabularies[prefix]
            if place in words.retired or words.spell(name[len(prefix) :]) in words.retired:
                kinds["retired"].append(name)
        at[name] = None if prefix is None or how == "unknown" else (prefix, place)
    if kinds["unknown"] and unknown != "root":
        systems = " and ".join(dict.fromkeys(words.title for words in vocabularies.values()))
        raise InputError(
            f"{count_of(kinds['unknown'], 'of the codes is', 'of the codes are')} not known to {systems}{VALUES}; correct them, leave them "
            f"out, give the file of their year, or hang them under the root ({option('unknown', 'root')})",
            values=kinds["unknown"],
        )
    placement = Placement(len(names), found, *(tuple(kinds[kind]) for kind in ("retired", "beginning", "unknown")))
    return _tree(vocabularies, at), placement


def prefix_of(value: str, prefixes: Iterable[str]) -> str | None:
    """The longest of the prefixes that a value begins with."""
    return max((prefix for prefix in prefixes if value.startswith(prefix)), key=len, default=None)


def _tree(vocabularies: Mapping[str, Vocabulary], at: Mapping[str, tuple[str, str] | None]) -> Hierarchy:
    """Leaves in the order of the data, below what they mean, or if that is not known (None), the root; what stands above one thing alone is
    left out, for it would say the same.
    """
    below: Counter[tuple[str, str]] = Counter()
    counted: set[tuple[str, str]] = set()
    for prefix, place in filter(None, at.values()):
        below[prefix, place] += 1
        way = vocabularies[prefix].way_up(place) if place else []
        for code in way:
            if (prefix, code) in counted:
                break
            counted.add((prefix, code))
            below[prefix, vocabularies[prefix].parent[code]] += 1
    stands = [node for node in counted if below[node] > 1]
    many = len(vocabularies) > 1
    number = {node: len(at) + i for i, node in enumerate(sorted(stands))}
    labels = list(at)
    labels += [_label(vocabularies[prefix], prefix if many else "", code) for prefix, code in sorted(stands)]
    tops = [prefix for prefix in vocabularies if many and below[prefix, ""] > 1]
    top_number = {prefix: len(labels) + i for i, prefix in enumerate(tops)}
    labels += [f"{prefix}*" if prefix else vocabularies[prefix].title for prefix in tops]
    root = len(labels)

    def above(prefix: str, code: str) -> int:
        while code:
            if (prefix, code) in number:
                return number[prefix, code]
            code = vocabularies[prefix].parent[code]
        return top_number.get(prefix, root)

    parent = [root if place is None else above(*place) for place in at.values()]
    parent += [above(prefix, vocabularies[prefix].parent[code]) for prefix, code in sorted(stands)]
    parent += [root] * len(tops) + [-1]
    source = "+".join(dict.fromkeys(f"{words.system}:{words.source}" for words in vocabularies.values()))
    return Hierarchy.from_parents(parent, [*labels, ROOT], source)


def _label(words: Vocabulary, prefix: str, code: str) -> str:
    return f"{prefix}{code}" if code in words.groups else f"{prefix}{code}*"


def furthest_parents(links: Mapping[str, Collection[str]]) -> dict[str, str]:
    """One parent for each code where there may be several: the one furthest from the top, by the longest way, and of equals the one that
    sorts first. It is the most specific that the system has. Every parent is a code of `links` itself; a circle is opened at the code in
    it that sorts first.
    """
    above = {code: set(parents) - {code} for code, parents in links.items()}
    below: dict[str, list[str]] = {code: [] for code in above}
    for code, parents in above.items():
        for parent in parents:
            below[parent].append(code)
    open_parents = {code: len(parents) for code, parents in above.items()}
    ready = deque(code for code, count in open_parents.items() if not count)
    in_order = iter(sorted(above))
    depth: dict[str, int] = {}
    chosen: dict[str, str] = {}
    while len(depth) < len(above):
        code = ready.popleft() if ready else next(code for code in in_order if code not in depth)
        if code in depth:
            continue
        known = above[code] & depth.keys()
        chosen[code] = min(known, key=lambda parent: (-depth[parent], parent), default="")
        depth[code] = 1 + depth.get(chosen[code], -1)
        for child in below[code]:
            open_parents[child] -= 1
            if not open_parents[child]:
                ready.append(child)
    return chosen
