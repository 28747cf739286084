"""The code systems that trees are built for, from the files that their publishers give out and the user has.

icd10cm    the order file (icd10cm_order_2026.txt) or the tabular list (icd10cm_tabular_2026.xml) of CDC and CMS
icd9cm     the list of diagnoses with their titles (CMS32_DESC_LONG_DX.txt) of CMS
atc        any list with a column of ATC codes, plain or as the XML of the WHO centre
omop       CONCEPT.csv and CONCEPT_ANCESTOR.csv of an OMOP vocabulary; the data hold concept ids
snomed     the relationship snapshot of SNOMED CT, and its concept snapshot for what is retired
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from shoal.errors import InputError, near_miss
from shoal.hierarchy.codes import atc, concepts, icd
from shoal.hierarchy.codes.vocabulary import Vocabulary, prefix_of


class System(NamedTuple):
    """A code system."""

    title: str
    files: str
    """What it is built from, for people."""
    read: Callable[[Sequence[str], Collection[str] | None], Vocabulary]
    """From the paths of the files and the codes that are wanted (None: all)."""


SYSTEMS = {
    "icd10cm": System("ICD-10-CM", "icd10cm_order_YEAR.txt or icd10cm_tabular_YEAR.xml", icd.read_icd10cm),
    "icd9cm": System("ICD-9-CM", "CMS32_DESC_LONG_DX.txt", icd.read_icd9cm),
    "atc": System("ATC", "a list of ATC codes, csv or xml", atc.read_atc),
    "omop": System("OMOP", "CONCEPT.csv,CONCEPT_ANCESTOR.csv", concepts.read_omop),
    "snomed": System(
        "SNOMED CT", "sct2_Relationship_Snapshot_*.txt[,sct2_Concept_Snapshot_*.txt]", concepts.read_snomed
    ),
}


LOOKED_AT, ALIKE = 20, 0.9
"""Values from which on a system is recognised, and the share of them that has to look like its codes."""
_LOOKS = {
    "atc": re.compile(rf"[{atc.GROUPS}][0-9]{{2}}[A-Z]{{2}}[0-9]{{2}}"),
    "icd10cm": re.compile(r"[A-TV-Z][0-9][0-9A-Z](\.?[0-9A-Z]{1,4})?"),
    "icd9cm": re.compile(r"[0-9]{3}(\.[0-9]{1,2})?|V[0-9]{2}(\.[0-9]{1,2})?|E[0-9]{3}(\.[0-9])?"),
    "snomed": re.compile(r"[1-9][0-9]{5,17}"),
}


_SPEC = re.compile(r"(?:(?P<prefix>.*?)=)?(?P<system>[^:=]*):(?P<files>.+)", re.DOTALL)


def likely_system(values: Sequence[str]) -> str | None:
    """The code system that most of these values look like the codes of; None where they look like none, or are too few to tell."""
    if len(values) < LOOKED_AT:
        return None
    for system, look in _LOOKS.items():
        alike = [value for value in values if look.fullmatch(value.upper())]
        if system == "icd9cm":  # three digits alone may be anything, and with a point they may be prices
            told = sum("." in value or value[0] in "VEve" for value in alike)
            alike = alike if told * 10 >= len(alike) and any(value[0] in "VEve0" for value in alike) else []
        elif system == "icd10cm":  # and so may a letter and two digits
            alike = alike if len({value[:1].upper() for value in alike}) > 2 else []
        elif system == "snomed":
            alike = [value for value in alike if concepts.has_check_digit(value)]
        if len(alike) >= ALIKE * len(values):
            return system
    return None


def read_vocabulary(system: str, files: Sequence[str], wanted: Collection[str] | None = None) -> Vocabulary:
    """The vocabulary of a system in its files; where they are large, of the wanted codes and what stands above them."""
    if system not in SYSTEMS:
        raise InputError(
            f"code system {system!r} is not known; {near_miss(system, SYSTEMS)}choose one of {', '.join(SYSTEMS)}"
        )
    if not files:
        raise InputError(f"{SYSTEMS[system].title} is built from its publisher's files; name {SYSTEMS[system].files}")
    return SYSTEMS[system].read(files, wanted)


def read_vocabularies(
    named: Mapping[str, tuple[str, Sequence[str]]], values: Collection[str] | None = None
) -> dict[str, Vocabulary]:
    """The vocabularies for values that begin with these prefixes: each of a system and its files."""
    wanted: dict[str, list[str] | None] = {prefix: None if values is None else [] for prefix in named}
    for value in values or ():
        prefix = prefix_of(value, named)
        if prefix is not None and (of_prefix := wanted[prefix]) is not None:
            of_prefix.append(value[len(prefix) :])
    return {prefix: read_vocabulary(system, files, wanted[prefix]) for prefix, (system, files) in named.items()}


def parse_code_spec(spec: str) -> tuple[str, str, list[str]]:
    """(prefix, system, files) of `[PREFIX=]SYSTEM:FILE[,FILE]`."""
    found = _SPEC.fullmatch(spec)  # an equals sign may be in the name of a file, too
    if found is None:
        raise InputError(
            f"{spec!r} is not complete; give [PREFIX=]SYSTEM:FILE[,FILE], such as icd10cm:icd10cm_order_2026.txt"
        )
    return found["prefix"] or "", found["system"], [file for file in found["files"].split(",") if file]
