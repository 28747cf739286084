"""OMOP and SNOMED CT: concepts with several parents each, in files of gigabytes.

Only what stands above the wanted codes is kept. A tree has one parent for each: the one furthest from the top (`furthest_parents`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from shoal.errors import InputError
from shoal.hierarchy.codes.code_files import columns_of, header_of, name_of
from shoal.hierarchy.codes.vocabulary import Vocabulary, furthest_parents

IS_A = "116680003"
"""The relationship of SNOMED CT that makes a hierarchy."""
_PERMUTATION = (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)
_CONCEPTS = ("concept_id", "invalid_reason")
_ANCESTORS = ("ancestor_concept_id", "descendant_concept_id", "min_levels_of_separation")
_RELATIONS = ("active", "sourceId", "destinationId", "typeId")
_STATES = ("id", "active")


def read_omop(paths: Sequence[str], wanted: Collection[str] | None = None) -> Vocabulary:
    """From CONCEPT.csv and CONCEPT_ANCESTOR.csv, in either order; the data hold concept ids."""
    ancestors, concepts = _by_columns(paths, _ANCESTORS, _CONCEPTS, "OMOP")
    codes = _wanted(wanted, "OMOP")
    known: set[str] = set()
    retired: set[str] = set()
    if concepts is not None:
        for ids, reasons in columns_of(concepts, _CONCEPTS):
            for one, reason in zip(ids, reasons, strict=True):
                if one in codes:
                    known.add(one)
                    if reason and reason.strip():
                        retired.add(one)
    # A concept's ancestors are all listed with it, so one pass tells who is needed and a second how they hang together.
    needed = set(codes)
    for above, below, _ in columns_of(ancestors, _ANCESTORS):
        needed.update(a for a, b in zip(above, below, strict=True) if b in codes)
    links: dict[str, list[str]] = {}
    for above, below, levels in columns_of(ancestors, _ANCESTORS):
        for a, b, level in zip(above, below, levels, strict=True):
            if b in needed and a in needed:
                known.add(b)
                if level == "1" and a != b:
                    links.setdefault(b, []).append(a)
    return _vocabulary("omop", "OMOP", (ancestors, concepts), known | set(links), links, retired)


def read_snomed(paths: Sequence[str], wanted: Collection[str] | None = None) -> Vocabulary:
    """From the snapshot of relationships and, for what is retired, that of concepts."""
    relations, concepts = _by_columns(paths, _RELATIONS, _STATES, "SNOMED CT")
    codes = _wanted(wanted, "SNOMED CT")
    every: dict[str, list[str]] = {}
    for active, sources, targets, types in columns_of(relations, _RELATIONS):
        for is_active, source, target, kind in zip(active, sources, targets, types, strict=True):
            if is_active == "1" and kind == IS_A:
                every.setdefault(source, []).append(target)
    links: dict[str, list[str]] = {}
    waiting = [code for code in codes if code in every]
    known = set(waiting)
    while waiting:
        code = waiting.pop()
        links[code] = every.get(code, [])
        new = [one for one in links[code] if one not in known]
        known.update(new)
        waiting += new
    retired: set[str] = set()
    if concepts is not None:
        for ids, states in columns_of(concepts, _STATES):
            retired.update(one for one, state in zip(ids, states, strict=True) if state == "0" and one in codes)
    return _vocabulary("snomed", "SNOMED CT", (relations, concepts), known, links, retired)


def spell_id(value: str) -> str:
    """A number without blanks and leading zeros."""
    return value.strip().lstrip("0") or value.strip()


def has_check_digit(number: str) -> bool:
    """Whether the last digit of an identifier of SNOMED CT checks the others (Verhoeff 1969: the multiplication of a dihedral group)."""
    check = 0
    for place, digit in enumerate(reversed(number)):
        check = _product(check, _permuted(int(digit), place))
    return check == 0


def _product(a: int, b: int) -> int:
    """In the group of the ten symmetries of a pentagon: 0 to 4 turn it, 5 to 9 turn it over."""
    if a < 5:
        return (a + b) % 5 if b < 5 else 5 + (a + b - 5) % 5
    return 5 + (a - 5 - b) % 5 if b < 5 else (a - b) % 5


def _permuted(digit: int, place: int) -> int:
    for _ in range(place % 8):
        digit = _PERMUTATION[digit]
    return digit


def _wanted(wanted: Collection[str] | None, title: str) -> frozenset[str]:
    if wanted is None:
        raise InputError(f"{title} has hundreds of thousands of concepts; name the data whose codes the tree is for")
    return frozenset(map(spell_id, wanted))


def _by_columns(
    paths: Sequence[str], first: Sequence[str], second: Sequence[str], title: str
) -> tuple[str, str | None]:
    """The file with the first columns, and the one with the second, if it was given."""
    found: dict[Sequence[str], str] = {}
    for path in paths:
        names = {name.lower() for name in header_of(path)[0]}
        kind = next((columns for columns in (first, second) if {name.lower() for name in columns} <= names), None)
        if kind is None:
            ways = " nor ".join(", ".join(columns) for columns in (first, second))
            raise InputError(f"{name_of(path)}: its columns are not those of a file of {title}: neither {ways}")
        if kind in found:
            raise InputError(f"{name_of(path)}: it has the columns of {name_of(found[kind])}; give one of the two")
        found[kind] = path
    if first not in found:
        raise InputError(f"{title}: the file with the columns {', '.join(first)} is missing; name it as well")
    return found[first], found.get(second)


def _vocabulary(
    system: str,
    title: str,
    paths: Sequence[str | None],
    known: Iterable[str],
    links: Mapping[str, Collection[str]],
    retired: set[str],
) -> Vocabulary:
    tops = {above for parents in links.values() for above in parents}
    none: Collection[str] = ()
    parent = furthest_parents({**dict.fromkeys(sorted({*known, *tops}), none), **links})
    several = sum(len(set(parents)) > 1 for parents in links.values())
    notes = []
    if several:
        notes.append(
            f"{several:,} of its concepts have several parents: each stands below the one furthest from the top, of equals the first"
        )
    if paths[1] is None:
        notes.append("without its list of concepts nobody knows which are retired")
    source = ",".join(name_of(path) for path in paths if path is not None)
    return Vocabulary(system, title, source, parent, spell_id, retired=frozenset(retired), notes=tuple(notes))
