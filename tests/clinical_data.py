"""Made-up people with conditions and drugs: as an OMOP database, and as a FHIR bulk export.

Nothing in it is of anybody: ids, names and links are drawn. What is alike to real data is that a few conditions are common, many are rare,
that they come in groups, grow with age, and bring their drugs with them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

GROUPS = {
    4329847: {"I10": 320128, "I25.10": 317576, "I48.91": 313217, "I50.9": 316139, "I63.9": 443454},
    436670: {"E11.9": 201826, "E78.5": 432867, "E66.9": 433736, "E03.9": 140673, "E55.9": 436070},
    320136: {"J45.909": 317009, "J44.9": 255573, "J18.9": 255848, "J30.9": 257007, "J20.9": 260139},
    432586: {"F32.9": 440383, "F41.9": 442077, "F17.210": 437264, "F10.20": 435243},
}
"""Categories of conditions, and per ICD-10-CM code the concept below them; those that come first are commonest."""
TOP = 441840
"""Clinical finding: above all conditions."""
INGREDIENTS = {1308216: 320128, 1503297: 201826, 1545958: 432867, 1154343: 317009, 739138: 440383, 1501700: 140673}
"""Drugs, and the condition that each is for."""
DRUG_CLASS = 21600001
_RACES = (8527, 8516, 8515)


@dataclass(frozen=True)
class Person:
    number: int
    is_female: bool
    year: int
    race: int
    postal: str
    conditions: tuple[str, ...]
    """ICD-10-CM codes."""
    drugs: tuple[int, ...]
    """Ingredients."""


def people(number: int = 900, seed: int = 4) -> Iterator[Person]:
    """The same people for the same seed."""
    draw = random.Random(seed)
    concept = {code: one for codes in GROUPS.values() for code, one in codes.items()}
    for i in range(number):
        age = min(97, int(draw.triangular(18, 100, 55)))
        found = []
        for codes in GROUPS.values():
            if draw.random() < 0.12 + age / 250:
                found += [code for rank, code in enumerate(codes) if draw.random() < 0.75 / (rank + 1) ** 1.7]
        for_conditions = {concept[code] for code in found}
        drugs = tuple(drug for drug, why in INGREDIENTS.items() if why in for_conditions and draw.random() < 0.8)
        race = draw.choices(_RACES, (75, 18, 7))[0]
        postal = draw.choices(("10011", "10012", "10453", "11201", "14201"), (4, 3, 3, 2, 1))[0]
        yield Person(i + 1, draw.random() < 0.52, 2025 - age, race, postal, tuple(found), drugs)


def omop_statements() -> Iterator[str]:
    """What builds the part of a CDM (5.4) that the walk-through reads, in a schema `cdm`."""
    yield "DROP SCHEMA IF EXISTS cdm CASCADE"
    yield "CREATE SCHEMA cdm"
    tables = {
        "person": "person_id bigint, gender_concept_id int, year_of_birth int, race_concept_id int, person_source_value text",
        "condition_occurrence": "person_id bigint, condition_concept_id int, condition_start_date date",
        "drug_exposure": "person_id bigint, drug_concept_id int, drug_exposure_start_date date",
        "concept": "concept_id int, concept_name text, domain_id text, concept_class_id text, invalid_reason text",
        "concept_ancestor": "ancestor_concept_id int, descendant_concept_id int, min_levels_of_separation int",
    }
    for name, columns in tables.items():
        yield f"CREATE TABLE cdm.{name} ({columns})"
    everyone = list(people())
    concept = {code: one for codes in GROUPS.values() for code, one in codes.items()}
    yield _rows(
        "person",
        ((p.number, 8532 if p.is_female else 8507, p.year, p.race, f"'MRN-{p.number}'") for p in everyone),
    )
    # What was not mapped has concept 0, and a condition is recorded at more than one visit.
    found = ((p.number, concept[code]) for p in everyone for code in p.conditions)
    visits = ((n, what, f"date '2025-0{day}-01'") for n, one in found for what, day in ((one, 1), (one, 2), (0, 3)))
    yield _rows("condition_occurrence", visits)
    yield _rows("drug_exposure", ((p.number, drug + 1, "date '2025-02-01'") for p in everyone for drug in p.drugs))
    links = [(TOP, TOP, 0), (DRUG_CLASS, DRUG_CLASS, 0)]
    concepts = [
        (8507, "'MALE'", "'Gender'", "'Gender'"),
        (8532, "'FEMALE'", "'Gender'", "'Gender'"),
        (8527, "'White'", "'Race'", "'Race'"),
        (8516, "'Black or African American'", "'Race'", "'Race'"),
        (8515, "'Asian'", "'Race'", "'Race'"),
        (TOP, "'Clinical finding'", "'Condition'", "'Clinical Finding'"),
        (DRUG_CLASS, "'Drugs'", "'Drug'", "'ATC 1st'"),
    ]
    for group, codes in GROUPS.items():
        links += [(group, group, 0), (TOP, group, 1)]
        concepts.append((group, f"'group {group}'", "'Condition'", "'Clinical Finding'"))
        for code, one in codes.items():
            links += [(one, one, 0), (group, one, 1), (TOP, one, 2)]
            concepts.append((one, f"'finding {code}'", "'Condition'", "'Clinical Finding'"))
    for drug in INGREDIENTS:  # a tablet below each
        links += [
            (drug, drug, 0),
            (DRUG_CLASS, drug, 1),
            (drug + 1, drug + 1, 0),
            (drug, drug + 1, 1),
            (DRUG_CLASS, drug + 1, 2),
        ]
        concepts += [
            (drug, f"'drug {drug}'", "'Drug'", "'Ingredient'"),
            (drug + 1, "'tablet'", "'Drug'", "'Clinical Drug'"),
        ]
    yield _rows("concept", ((*one, "NULL") for one in concepts))
    yield _rows("concept_ancestor", links)


def _rows(table: str, rows: object) -> str:
    return f"INSERT INTO cdm.{table} VALUES " + ", ".join(f"({', '.join(map(str, row))})" for row in rows)  # type: ignore[attr-defined]


def write_export(folder: Path) -> None:
    """A FHIR bulk export (release 4) of the same people, whose conditions have codes in two systems."""
    folder.mkdir(parents=True)
    concept = {code: one for codes in GROUPS.values() for code, one in codes.items()}
    lines: dict[str, list[object]] = {"Patient": [], "Condition": [], "MedicationRequest": []}
    for p in people():
        own = f"pat-{p.number}"
        lines["Patient"].append(
            {
                "resourceType": "Patient",
                "id": own,
                "identifier": [{"system": "http://hospital.example/mrn", "value": f"MRN-{p.number}"}],
                "name": [{"family": f"Family{p.number}", "given": ["Given"]}],
                "telecom": [{"system": "phone", "value": f"555-{p.number:04}"}],
                "gender": "female" if p.is_female else "male",
                "birthDate": f"{p.year}-04-0{1 + p.number % 9}",
                "address": [
                    {"use": "home", "line": [f"{p.number} Main Street"], "state": "NY", "postalCode": p.postal}
                ],
            }
        )
        for code in p.conditions:
            codings = [
                {"system": "http://hl7.org/fhir/sid/icd-10-cm", "code": code},
                {"system": "http://snomed.info/sct", "code": str(concept[code])},
            ]
            resource = {"resourceType": "Condition", "id": f"c-{own}-{code}", "code": {"coding": codings}}
            lines["Condition"].append(resource | {"subject": {"reference": f"Patient/{own}"}})
        for drug in p.drugs:
            coding = {"system": "http://www.nlm.nih.gov/research/umls/rxnorm", "code": str(drug)}
            resource = {"resourceType": "MedicationRequest", "status": "active", "intent": "order"}
            concept_of = {"medicationCodeableConcept": {"coding": [coding]}}
            lines["MedicationRequest"].append(resource | concept_of | {"subject": {"reference": f"Patient/{own}"}})
    for kind, resources in lines.items():
        (folder / f"{kind}.ndjson").write_text("".join(json.dumps(one) + "\n" for one in resources))
