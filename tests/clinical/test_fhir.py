"""FHIR bulk exports: one row per Patient, codes by system, nothing that names anybody, and every fault with its line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import polars
import pytest

import shoal
from clinical_data import people, write_export
from shoal import InputError
from shoal.cli import main
from shoal.records.formats.peek import column_names
from shoal.records.source import fingerprint, load_records, load_sets

ICD = "http://hl7.org/fhir/sid/icd-10-cm"
SNOMED = "http://snomed.info/sct"


def export(folder: Path, **files: list[object]) -> Path:
    folder.mkdir()
    for name, lines in files.items():
        text = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
        (folder / f"{name}.ndjson").write_text(text)
    return folder


def patient(own: str, **more: object) -> dict[str, object]:
    return {"resourceType": "Patient", "id": own, "gender": "female", "birthDate": "1970-01-02"} | more


def coded(**codes: str) -> dict[str, object]:
    systems = {"icd": ICD, "snomed": SNOMED, "own": "urn:oid:1.2.3"}
    return {"coding": [{"system": systems[name], "code": code} for name, code in codes.items()]}


def condition(subject: str | None, code: object, **more: object) -> dict[str, object]:
    pointer = {} if subject is None else {"subject": {"reference": subject}}
    return {"resourceType": "Condition", "id": "c", "code": code} | pointer | more


def sets_of(folder: Path, column: str) -> list[list[str]]:
    others = [name for name in column_names(folder) if name != column]
    source = load_records(folder, items=column, drop=others)
    return [sorted(row) for row in source.baskets]


def test_the_walk_through(walk):
    write_export(Path("export"))
    walk("fhir.md")
    published = polars.read_csv("persons.csv", infer_schema=False)
    assert published.columns == ["gender", "birth_year", "conditions_icd10cm"]
    assert len(published) == 900


def test_the_table_of_an_export_is_what_its_people_have(tmp_path):
    folder = tmp_path / "export"
    write_export(folder)
    everyone = list(people())
    assert column_names(folder) == [
        *("gender", "birth_year", "state", "postal_code"),
        *("conditions_icd10cm", "conditions_snomed", "medications_rxnorm"),
    ]
    assert sets_of(folder, "conditions_icd10cm") == [sorted(p.conditions) for p in everyone]
    assert sets_of(folder, "medications_rxnorm") == [sorted(map(str, p.drugs)) for p in everyone]
    source = load_records(
        folder,
        quasi="gender,birth_year,postal_code",
        items="conditions_icd10cm",
        drop="state,conditions_snomed,medications_rxnorm",
    )
    assert source.records["birth_year"].texts() == [str(p.year) for p in everyone]
    assert source.records["postal_code"].texts() == [p.postal for p in everyone]
    assert source.layout.format == "jsonl"
    before = source.sha256
    assert fingerprint(folder) == before
    (folder / "log.json").write_text("{}")  # what is not NDJSON is no part of it
    assert fingerprint(folder) == before


@pytest.mark.parametrize(
    "reference",
    ["Patient/p1", "Patient/p1/_history/3", "https://ehr.example/fhir/Patient/p1", "urn:uuid:p1"],
)
def test_references(tmp_path, reference):
    folder = export(
        tmp_path / "e", Patient=[patient("p1"), patient("p2")], Condition=[condition(reference, coded(icd="I10"))]
    )
    assert sets_of(folder, "conditions_icd10cm") == [["I10"], []]


def test_what_points_nowhere_or_is_not_so_is_left_out_and_counted(tmp_path):
    refuted = {"verificationStatus": {"coding": [{"code": "refuted"}]}}
    lines = [
        condition("Patient/p1", coded(icd="I10", own="77")),
        condition("Patient/p9", coded(icd="I11")),
        condition("Group/p1", coded(icd="I12")),
        condition(None, coded(icd="I13")),
        condition("Patient/p1", coded(icd="I14"), **refuted),
        condition("Patient/p1", {"text": "free text that names somebody"}),
        condition("Patient/p1", {"coding": [{"code": "bare"}]}),
    ]
    folder = export(tmp_path / "e", Patient=[patient("p1")], Condition=lines)
    assert sets_of(folder, "conditions_icd10cm") == [["I10"]]
    assert sets_of(folder, "conditions_other") == [["bare", "urn:oid:1.2.3|77"]]
    source = load_records(folder, items="conditions_icd10cm", drop="gender,birth_year,conditions_other")
    said = "\n".join(source.notes)
    assert "3 conditions left out: they point to no Patient" in said
    assert "1 conditions left out: they are entered in error" in said
    assert "2 of 3 conditions have no code in conditions_icd10cm" in said
    assert "free text" not in said


def test_drugs_in_all_three_places_and_both_releases(tmp_path):
    def request(**more: object) -> dict[str, object]:
        return {"resourceType": "MedicationRequest", "subject": {"reference": "Patient/p1"}} | more

    def rx(code: str) -> dict[str, object]:
        return {"coding": [{"system": "http://www.nlm.nih.gov/research/umls/rxnorm", "code": code}]}

    folder = export(
        tmp_path / "e",
        Patient=[patient("p1")],
        Medication=[{"resourceType": "Medication", "id": "m1", "code": rx("2")}],
        MedicationRequest=[
            request(medicationCodeableConcept=rx("1")),
            request(medicationReference={"reference": "Medication/m1"}),
            request(
                medicationReference={"reference": "#in"},
                contained=[{"resourceType": "Medication", "id": "in", "code": rx("3")}],
            ),
            request(medication={"concept": rx("4")}),
            request(medication={"reference": {"reference": "Medication/m1"}}),
            request(medicationCodeableConcept=rx("5"), status="entered-in-error"),
            request(medicationCodeableConcept=rx("6"), doNotPerform=True),
            request(),
        ],
    )
    assert sets_of(folder, "medications_rxnorm") == [["1", "2", "3", "4"]]


def test_missing_parts_and_addresses(tmp_path):
    old = {"use": "old", "postalCode": "11111"}
    ended = {"postalCode": "22222", "period": {"start": "2001", "end": "2002"}}
    work, home = (
        {"use": "work", "postalCode": "33333"},
        {"use": "home", "postalCode": "44444", "line": ["secret street"]},
    )
    lines = [
        patient("p1", address=[old, ended, work, home]),
        patient("p2", address=[old, ended, work], birthDate="1980"),
        {"resourceType": "Patient", "id": "p3"},
    ]
    folder = export(tmp_path / "e", Patient=lines)
    records = load_records(folder, quasi="gender,birth_year,postal_code").records
    assert records["postal_code"].texts() == ["44444", "33333", ""]
    assert records["birth_year"].texts() == ["1970", "1980", ""]
    assert records["gender"].texts() == ["female", "female", ""]


@pytest.mark.parametrize("base", ["", "https://ehr.example/fhir/"])
def test_a_person_with_two_patients_is_one_row_where_one_replaces_the_other(tmp_path, base):
    def link(to: str, kind: str) -> dict[str, object]:
        return {"link": [{"other": {"reference": f"{base}Patient/{to}"}, "type": kind}]}

    folder = export(
        tmp_path / "e",
        Patient=[
            patient("p1", active=False, **link("p2", "replaced-by")),
            patient("p2"),
            patient("p3", **link("p2", "replaces")),
            patient("p4", **link("p2", "seealso")),
            patient("p5", **link("p9", "replaced-by")),
            patient(
                "p6", link=[{"other": {"reference": "https://registry.example/Patient/p4"}, "type": "replaced-by"}]
            ),
        ],
        Condition=[
            condition(f"{base}Patient/{who}", coded(icd=code))
            for who, code in (("p1", "I10"), ("p2", "I11"), ("p3", "I12"), ("p4", "I13"))
        ],
    )
    # p2 replaces p1 and is replaced by p3; who is not in the export, or on another server, replaces nobody.
    assert sets_of(folder, "conditions_icd10cm") == [["I10", "I11", "I12"], ["I13"], [], []]
    said = "\n".join(load_records(folder, quasi="gender,birth_year", drop="conditions_icd10cm").notes)
    assert "2 Patients left out: others replace them" in said
    assert "1 links between Patients that may be one person" in said


def test_what_a_medication_says_of_itself_counts(tmp_path):
    drug = {"coding": [{"system": "http://www.nlm.nih.gov/research/umls/rxnorm", "code": "2"}]}
    folder = export(
        tmp_path / "e",
        Patient=[patient("p1")],
        Medication=[{"resourceType": "Medication", "id": "m1", "status": "entered-in-error", "code": drug}],
        MedicationRequest=[
            {
                "resourceType": "MedicationRequest",
                "subject": {"reference": "Patient/p1"},
                "medicationReference": {"reference": "Medication/m1"},
            }
        ],
    )
    assert column_names(folder) == ["gender", "birth_year"]


CANARY = "Canary"


def test_nothing_that_names_anybody_gets_into_a_release(tmp_path):
    def whoever(number: int) -> dict[str, object]:
        named = [{"text": CANARY, "family": CANARY, "given": [CANARY]}]
        lists = ("identifier", "telecom", "photo", "contact", "communication", "generalPractitioner")
        return patient(
            f"{CANARY}{number}",
            name=named,
            extension=[{"url": CANARY, "valueAddress": {"state": CANARY, "postalCode": CANARY}}],
            address=[
                {
                    "line": [CANARY],
                    "city": CANARY,
                    "text": CANARY,
                    "district": CANARY,
                    "country": CANARY,
                    "state": "MA",
                    "postalCode": "02139",
                }
            ],
            text={"div": CANARY},
            _birthDate={"extension": [{"valueDateTime": CANARY}]},
            birthDate="1970-12-31",
            deceasedDateTime=CANARY,
            contained=[{"resourceType": "Patient", "id": CANARY, "name": named}],
            **{name: [{"value": CANARY, "name": named[0], "address": {"state": CANARY}}] for name in lists},
        )

    def ill(number: int) -> dict[str, object]:
        code = {"system": "http://hl7.org/fhir/sid/icd-10-cm", "code": "I10", "display": CANARY}
        return condition(f"Patient/{CANARY}{number}", {"text": CANARY, "coding": [code]}) | {
            "id": CANARY,
            "subject": {"reference": f"Patient/{CANARY}{number}", "display": CANARY, "identifier": {"value": CANARY}},
            "note": [{"text": CANARY}],
            "onsetString": CANARY,
        }

    folder = export(tmp_path / "e", Patient=[*map(whoever, range(9))], Condition=[*map(ill, range(9))])
    columns = ("gender", "birth_year", "state", "postal_code")
    release = shoal.anonymize(folder, shoal.RTAnonymity(3, 1), quasi=columns, items="conditions_icd10cm")
    release.write(tmp_path / "public.jsonl", rules=tmp_path / "rules.csv", report=tmp_path / "report.json")
    written = [path.read_text(errors="replace") for path in tmp_path.iterdir() if path.is_file()]
    assert len(written) >= 4  # data, certificate, rules, report
    assert not any(CANARY in text or "12-31" in text for text in written)


def test_several_files_packed_and_of_other_kinds(tmp_path):
    folder = export(
        tmp_path / "e",
        **{"1.Patient": [patient("p1")], "Observation": [{"resourceType": "Observation"}, "broken, and not read"]},
    )
    (folder / "2.Patient.ndjson.gz").write_bytes(gzip.compress(json.dumps(patient("p2")).encode()))
    assert len(load_records(folder, quasi="gender,birth_year").records) == 2
    assert len(load_sets(export(tmp_path / "s", Patient=[patient("p1")], Condition=[condition("Patient/p1", coded(icd="I10"))]),
                         drop="gender,birth_year").baskets) == 1  # fmt: skip


@pytest.mark.parametrize(
    ("files", "says"),
    [
        (
            {"Patient": [patient("p1"), '{"resourceType": "Patient", "name": "Smith"']},
            r"Patient\.ndjson: line 2 is not JSON",
        ),
        ({"Patient": [patient("p1"), patient("p1")]}, r"Patient\.ndjson: line 2 has an id that another Patient has"),
        ({"Patient": [{"resourceType": "Patient"}]}, "line 1 is not built as FHIR has it"),
        ({"Patient": [{"resourceType": ["Patient"]}]}, "none of its .ndjson files begins with a Patient"),
        ({"Patient": [patient("p1", link="Smith")]}, "line 1 is not built as FHIR has it"),
        (
            {
                "Patient": [
                    patient(one, link=[{"other": {"reference": f"Patient/{two}"}, "type": "replaced-by"}])
                    for one, two in ("ab", "bc", "ca")
                ]
            },
            "replace each other in a circle",
        ),
        ({"Patient": [patient("p1", birthDate="Smith")]}, "line 1 is not built as FHIR has it"),
        ({"Patient": [patient("p1", address="Smith")]}, "line 1 is not built as FHIR has it"),
        ({"Patient": [patient("p1"), {"resourceType": "Smith"}]}, "line 2 holds no Patient, as line 1 does"),
        ({"Patient": [patient("p1"), "[]"]}, "line 2 holds no resource"),
        (
            {"Patient": [patient("p1")], "Condition": [condition("Patient/p1", "Smith")]},
            r"Condition\.ndjson: line 1 is not built",
        ),
        ({"Condition": [condition("Patient/p1", coded(icd="I10"))]}, "none of its .ndjson files begins with a Patient"),
        (
            {
                "Patient": [patient("p1")],
                "Condition": [condition(f"https://{one}/Patient/p1", coded(icd="I1")) for one in "ab"],
            },
            "several servers",
        ),
    ],
)
def test_faults_are_named_with_their_line_and_without_values(tmp_path, files, says):
    with pytest.raises(InputError, match=says) as error:
        load_records(export(tmp_path / "e", **files), quasi="gender,birth_year")
    assert "Smith" not in str(error.value)


def test_a_draft_and_a_release_write_beside_the_export(tmp_path, capsys):
    export(
        tmp_path / "e",
        Patient=[patient(f"p{i}") for i in range(9)],
        Condition=[condition(f"Patient/p{i}", coded(icd="I10")) for i in range(9)],
    )
    assert main(["init", "e/"]) == 0
    draft = capsys.readouterr().out
    assert "conditions_icd10cm: items" in draft
    assert "data: e-public.jsonl" in draft
    release = shoal.anonymize("e", shoal.RTAnonymity(3, 1), quasi=("gender", "birth_year"), items="conditions_icd10cm")
    assert release.rows == 9
