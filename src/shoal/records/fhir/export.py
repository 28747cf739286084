"""A FHIR bulk export as a table: one row per Patient, with the codes of the person's conditions and medications.

A folder of NDJSON files holds resources that point to each other. Of a Patient the gender, the year of birth, the state and the postal code
are taken, and nothing else: names, identifiers, lines of addresses and telephone numbers never come into the table, and the ids that hold
resources together are forgotten when all are read. A condition has often a code in each of several systems. Each system is a column of its
own (`conditions_snomed`, `conditions_icd10cm`), so that the owner chooses between them by giving columns roles.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from shoal.errors import InputError
from shoal.records.assemble import Table
from shoal.records.formats.jsonl import parsed_line
from shoal.records.storage.streams import Input

PREFIXES = {
    "http://snomed.info/sct": "snomed",
    "http://hl7.org/fhir/sid/icd-10-cm": "icd10cm",
    "http://hl7.org/fhir/sid/icd-10": "icd10",
    "http://fhir.de/CodeSystem/bfarm/icd-10-gm": "icd10gm",
    "http://hl7.org/fhir/sid/icd-9-cm": "icd9cm",
    "http://www.nlm.nih.gov/research/umls/rxnorm": "rxnorm",
    "http://www.whocc.no/atc": "atc",
    "http://fhir.de/CodeSystem/bfarm/atc": "atc",
    "http://hl7.org/fhir/sid/ndc": "ndc",
    "http://loinc.org": "loinc",
}
"""Systems of codes, and what the names of their columns end in."""
OTHER = "other"
"""What that of all other systems ends in; its items are `SYSTEM|CODE`."""
COLUMNS = {"Condition": "conditions", "MedicationRequest": "medications"}
_KINDS = ("Patient", *COLUMNS, "Medication")
_ABSENT = frozenset(("entered-in-error", "refuted"))
"""What a resource says of itself where the person does not have it."""
_REFERENCE = re.compile(
    r"(?:(?P<base>[a-z]+://.+)/)?(?P<kind>[A-Za-z]+)/(?P<id>[A-Za-z0-9.-]{1,64})(?:/_history/[^/]+)?"
)
_ITEM = 100
"""Bytes that an id, a code or a person takes, about."""


@dataclass
class _Export:
    """What has been read of an export so far."""

    source: str
    people: dict[str, tuple[str | None, int | None, str | None, str | None]] = field(default_factory=dict)
    links: list[tuple[str, Mapping[str, Any], str | None]] = field(default_factory=list)
    """From a Patient to another that is, or may be, the same person, and of which kind."""
    codes: dict[str, defaultdict[str, set[str]]] = field(default_factory=dict)
    """By column and person."""
    drugs: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """The codes of Medication resources."""
    servers: set[str] = field(default_factory=set)
    skipped: Counter[str] = field(default_factory=Counter)
    concepts: Counter[str] = field(default_factory=Counter)
    """Conditions and medications of known people, with codes or without."""
    coded: Counter[str] = field(default_factory=Counter)
    """By column, those of them that have a code in it."""

    def target_of(self, pointer: Mapping[str, Any], kind: str) -> str | None:
        """The id of the resource that a reference points to, whether it is relative, absolute or a UUID; None for another, or none."""
        base, own = _ends(pointer, kind)
        if base:
            self.servers.add(base)
            if len(self.servers) > 1:  # one id may be two people
                raise InputError(
                    f"{self.source}: its references name resources of several servers; give the export of one"
                )
        return own

    def join_people(self) -> None:
        """Patients that others replace are not rows: whose they are has their codes. Links that only may mean one person are counted."""
        after: dict[str, str] = {}
        for own, pointer, kind in self.links:
            base, other = _ends(pointer, "Patient")
            if other == own or other not in self.people or (base and base not in self.servers):
                continue
            if kind in ("replaced-by", "replaces", "replace"):
                old, new = (own, other) if kind == "replaced-by" else (other, own)
                after[old] = new
            else:
                self.skipped["links between Patients that may be one person, who then has several rows"] += 1
        for one in after:
            last, passed = one, {one}
            while last in after:
                last = after[last]
                if last in passed:
                    raise InputError(f"{self.source}: Patients replace each other in a circle; correct their links")
                passed.add(last)
            for held in self.codes.values():
                held[last] |= held.pop(one, set())
        for one in after:
            del self.people[one]
            self.skipped["Patients left out: others replace them, and have their conditions and medications"] += 1

    def table_of(self, source: Input) -> Table:
        """The table, of the people in the order of the files."""
        ids = list(self.people)
        arrays: dict[str, pa.Array] = {}
        types = (pa.string(), pa.int64(), pa.string(), pa.string())
        for place, (name, type) in enumerate(zip(("gender", "birth_year", "state", "postal_code"), types, strict=True)):
            cells = pa.array([self.people[one][place] for one in ids], type)
            if cells.null_count < len(cells):
                arrays[name] = cells
        for name, held in sorted(self.codes.items()):
            arrays[name] = pa.array([sorted(held.get(one, ())) for one in ids], pa.list_(pa.string()))

        def batches(columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
            yield pa.record_batch([arrays[column] for column in columns], list(columns))

        return Table(list(arrays), batches, self.source, rows=len(ids), room=source.room, notes=tuple(self.notes()))

    def notes(self) -> Iterator[str]:
        """What was left out, in counts."""
        for what, many in self.skipped.items():
            yield f"{self.source}: {many:,} {what}"
        for column, many in sorted(self.coded.items()):
            name = column.partition("_")[0]
            if lacking := self.concepts[name] - many:
                yield f"{self.source}: {lacking:,} of {self.concepts[name]:,} {name} have no code in {column}"


def fhir_table(source: Input) -> Table:
    """The people of an export; raises if a line is broken, or if two resources contradict each other."""
    kinds: dict[str, list[str]] = {kind: [] for kind in (*_KINDS, OTHER)}
    for name in source.files:
        with Input(os.path.join(source.source, name)) as file:
            kinds[_kind_of(file)].append(name)
    if not kinds["Patient"]:
        raise InputError(
            f"{source.name}: none of its .ndjson files begins with a Patient; name a folder with Patient.ndjson of a FHIR bulk export"
        )
    found = _Export(source.name)
    if kinds[OTHER]:
        found.skipped["of its .ndjson files not read: they begin with other resources"] = len(kinds[OTHER])
    takers: dict[str, Callable[[_Export, Mapping[str, Any], str], None]] = {
        "Patient": _take_patient,
        "Medication": _take_medication,
        "Condition": _take_codes,
        "MedicationRequest": _take_codes,
    }
    for kind, take in takers.items():  # people and drugs before what points to them
        for name in kinds[kind]:
            with Input(os.path.join(source.source, name)) as file:
                for where, resource in _resources(file):
                    if resource.get("resourceType") != kind:
                        raise InputError(f"{where} holds no {kind}, as line 1 does; a file has resources of one type")
                    source.room.take(_ITEM)
                    with _well_formed(where):
                        take(found, resource, where)
    found.join_people()
    return found.table_of(source)


def _kind_of(file: Input) -> str:
    """The type of the resources in a file, by the first; OTHER for what is not read."""
    first = next((resource.get("resourceType") for _, resource in _resources(file)), None)
    return first if isinstance(first, str) and first in _KINDS else OTHER


def _ends(pointer: Mapping[str, Any], kind: str) -> tuple[str | None, str | None]:
    """(server, id) of what a reference points to, the server where it is named; (None, None) for another kind of resource, or none."""
    text = _text(pointer.get("reference")) or ""
    if text.startswith("urn:uuid:"):
        return None, text.removeprefix("urn:uuid:")
    match = _REFERENCE.fullmatch(text)
    return (match["base"], match["id"]) if match is not None and match["kind"] == kind else (None, None)


def _resources(file: Input) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for block in file.text_blocks():
        for number, line in enumerate(block.data.split(b"\n"), block.line):
            if line.strip():
                where = f"{file.name}: line {number}"
                found = parsed_line(line, where)
                if not isinstance(found, dict):
                    raise InputError(f"{where} holds no resource; give each line one JSON object")
                yield where, found


@contextmanager
def _well_formed(where: str) -> Iterator[None]:
    """Says of what a resource holds elsewhere than FHIR has it only where it is."""
    try:
        yield
    except (AttributeError, TypeError, KeyError, ValueError):
        raise InputError(f"{where} is not built as FHIR has it; export it again, or correct the line") from None


def _take_patient(found: _Export, resource: Mapping[str, Any], where: str) -> None:
    own = _text(resource["id"])
    if not own or own in found.people:
        raise InputError(f"{where} has {'an' if own else 'no'} id{' that another Patient has' * bool(own)}; correct it")
    born = _text(resource.get("birthDate"))
    if born is not None and re.match(r"[0-9]{4}(-|$)", born, re.ASCII) is None:
        raise ValueError
    at = _address(resource.get("address") or ())
    year = None if born is None else int(born[:4])
    found.people[own] = _text(resource.get("gender")), year, _text(at.get("state")), _text(at.get("postalCode"))
    for link in resource.get("link") or ():
        pointer = {"reference": _text((link.get("other") or {}).get("reference"))}
        found.links.append((own, pointer, _text(link.get("type"))))


def _address(addresses: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Where somebody lives now: the first home, or else the first address."""
    valid = [one for one in addresses if one.get("use") != "old" and "end" not in one.get("period", {})]
    return next((one for one in valid if one.get("use") == "home"), valid[0] if valid else {})


def _take_medication(found: _Export, resource: Mapping[str, Any], where: str) -> None:
    absent = resource.get("status") in _ABSENT
    found.drugs[str(_text(resource["id"]))] = [] if absent else _codings(resource.get("code") or {})


def _take_codes(found: _Export, resource: Mapping[str, Any], where: str) -> None:
    kind = resource["resourceType"]
    name = COLUMNS[kind]
    states = [
        resource.get("status"),
        *(one.get("code") for one in _codings_in(resource.get("verificationStatus") or {})),
    ]
    if _ABSENT.intersection(filter(None, states)) or resource.get("doNotPerform"):
        found.skipped[f"{name} left out: they are entered in error, refuted or not to be given"] += 1
        return
    person = found.target_of(resource.get("subject") or {}, "Patient")
    if person is None or person not in found.people:
        found.skipped[f"{name} left out: they point to no Patient of the export"] += 1
        return
    codings = _codings(resource.get("code") or {}) if kind == "Condition" else _drug_codings(found, resource)
    found.concepts[name] += 1
    for column in {f"{name}_{PREFIXES.get(system, OTHER)}" for system, _ in codings}:
        found.coded[column] += 1
    for system, code in codings:
        prefix = PREFIXES.get(system, OTHER)
        item = code if prefix != OTHER or not system else f"{system}|{code}"
        found.codes.setdefault(f"{name}_{prefix}", defaultdict(set))[person].add(sys.intern(item))


def _drug_codings(found: _Export, resource: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The codes of what is prescribed: its own, or those of the Medication that it points to; release 5 has both in one field."""
    either = resource.get("medication") or {}
    concept = resource.get("medicationCodeableConcept") or either.get("concept")
    if concept is not None:
        return _codings(concept)
    pointer = resource.get("medicationReference") or either.get("reference") or {}
    if str(pointer.get("reference", "")).startswith("#"):
        own = [one for one in resource.get("contained") or () if f"#{one.get('id')}" == pointer["reference"]]
        return _codings(own[0].get("code") or {}) if own else []
    return found.drugs.get(found.target_of(pointer, "Medication") or "", [])


def _codings(concept: Mapping[str, Any]) -> list[tuple[str, str]]:
    """System and code of each coding that has a code."""
    texts = [(_text(one.get("system")) or "", _text(one.get("code"))) for one in _codings_in(concept)]
    return [(system, code) for system, code in texts if code is not None]


def _codings_in(concept: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return concept.get("coding") or ()


def _text(value: Any) -> str | None:
    if value is not None and not isinstance(value, str):
        raise TypeError
    return (value or "").strip() or None
