"""`shoal schema`: a schema for each command that has --json, which real documents keep and spoilt ones break.

`tests/conftest.py` holds whatever any test makes a command print against its schema; here are calls that other tests leave out.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import jsonschema
import pytest
import typer

from golden.world import lay_out
from json_outputs import command_in, faults_of, validator_of
from shoal.cli import command_line, main
from shoal.cli.schemas import VERSION, outputs, schema_of

EXPECTED = Path(__file__).resolve().parents[1] / "golden" / "expected"
BASKETS = "baskets.csv --hierarchy tree.csv --k 3 --m 2"
PEOPLE = "patients.csv --quasi age,sex,town --drop patient"
CALLS = (
    f"anonymize {BASKETS} -o out.csv --rules rules.csv --report report.json --json",
    f"anonymize {BASKETS} --suppress 0 --keep-order --time-limit 60 --threads 1 --json",
    f"anonymize {PEOPLE},disease --model rt --k 4 --m 1 --items codes --keep ward --balance 0.4 --weight age=2 --limit age=30 --json",
    f"anonymize {PEOPLE},codes --model lm --k 4 --l 2 --m 1 --items ward --sensitive disease --t 0.6 --json",
    f"anonymize {PEOPLE},codes --model diversity --l 2 --sensitive disease --keep ward --min-exp 0.5 -o buckets.csv --json",
    "attack buckets.csv --quasi age,sex,town --sensitive disease --keep ward --l 2 --json",
    f"attack {PEOPLE},codes --keep ward --sensitive disease --l 3 --json",
    f"evaluate patients.csv buckets.csv {PEOPLE.partition(' ')[2]},codes --sensitive disease --keep ward --json",
    "anonymize baskets.csv --model chunks --k 3 --m 2 --cluster-size 8 -o pieces.csv --json",
    "evaluate baskets.csv pieces.csv --k 3 --json",
    "reconstruct chunks.csv --k 2 -o drawn.csv --json",
    f"audit {PEOPLE},codes,disease --model k --k 4 --keep ward --json",
    f"audit {PEOPLE},disease --model rt --k 4 --m 1 --items codes --keep ward --json",
    f"anonymize {BASKETS} --series ledger.json -o batch.csv --json",
    "stack ledger.json batch.csv --json",
    "gate gate.yaml --json",
    f"rules {PEOPLE},codes --sensitive disease --keep ward --knowledge knowledge.jsonl --redundant --min-exp 0.1 --json",
    f"profile {PEOPLE},codes,disease,ward --k 3 --json",
    "verify --new-key steward.key --json",
    f"anonymize {BASKETS} --algorithm exact -o signed.csv --sign steward.key --json",
    "verify signed.csv.certificate.json signed.csv --key steward.key.pub --json",
    "verify signed.csv.certificate.json out.csv --json",
    "sign signed.csv.certificate.json signed.csv --key steward.key --acknowledge --json",
    "sign signed.csv.certificate.json out.csv --key steward.key --json",
    "bundle km.yaml signed.csv.certificate.json signed.csv -o b.zip --json",
    "init patients.csv --json",
    "init sqlite:clinic.db?table=patients --json",
    "run rt.yaml --check --json",
    "compare grid.yaml --check --json",
    "compare grid.yaml --print-plan 2 --json",
    "hierarchy build baskets.csv --hierarchy balanced:3 -o built.csv --json",
    "hierarchy convert tree.csv -o other.json --json",
    "hierarchy check small-tree.csv baskets.csv --json",
    "hierarchy show tree.csv --json",
    "datasets list --json",
    "datasets make -o quest.dat --transactions 50 --items 20 --json",
    "schema --list --json",
    "schema anonymize --json",
    "demo tour --json",
    "nonsense --json",
)


@pytest.fixture
def world(tmp_path, monkeypatch):
    lay_out(tmp_path)
    monkeypatch.chdir(tmp_path)


def commands_with_json():
    group = typer.main.get_command(command_line())
    for name, command in group.commands.items():
        for words, one in [(name, command)] + [(f"{name} {n}", c) for n, c in getattr(command, "commands", {}).items()]:
            if any("--json" in param.opts for param in one.params):
                yield words


def test_every_command_with_json_has_a_schema():
    assert set(outputs()) == set(commands_with_json())


@pytest.mark.parametrize("command", outputs())
def test_schemas_are_valid_and_versioned(command, run):
    code, out, err = run("schema", *command.split())
    assert (code, err) == (0, "")
    schema = json.loads(out)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema == schema_of(command)
    assert schema["$schema"].endswith("2020-12/schema")
    assert schema["$id"].endswith(f":{VERSION}")


def test_schemas_are_listed_and_others_refused(run):
    code, out, _ = run("schema", "--list")
    assert code == 0
    assert out.split("\n")[:2] == ["plan", "anonymize"]
    assert json.loads(run("schema", "--list", "--json")[1])["schemas"] == out.split("\n")[:-1]
    assert run("schema", "plan")[1] == run("schema")[1]
    assert run("schema", "anonymise")[0] == 2
    for both in (["plan", "--list"], ["--list", "--compare"], ["audit", "--compare"]):
        assert "give one of them" in run("schema", *both)[2]


def test_what_commands_print_keeps_its_schema(world, capfd):
    """The fixture of all tests checks it; here it is made sure that there was something to check."""
    printed = set()
    for call in CALLS:
        code, out = main(shlex.split(call)), capfd.readouterr().out
        document = json.loads(out)
        assert ("error" in document) == call.startswith("nonsense"), (call, code, out)
        printed.add(command_in(call.split()))
    assert printed >= set(outputs()) - {"reproduce", "warm", "datasets get"}


def golden_documents():
    """What commands printed, with plausible values for what the golden files leave out."""
    for file in sorted(EXPECTED.glob("*.txt")):
        for part in re.split(r"^\$ shoal ", file.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            call, _, rest = part.partition("\n")
            shown = re.search(r"^-- output\n(\{.*?^\})", rest, flags=re.MULTILINE | re.DOTALL)
            if shown is not None and "--json" in call:
                text = re.sub(r'("(?:seconds|peak_mb)": )<volatile>', r"\g<1>1.5", shown[1])
                text = re.sub(r": <\w+>", r': "x"', text).replace("<sha256>", "0" * 64)
                yield command_in(call.split()), json.loads(text)


DOCUMENTS = [(command, document) for command, document in golden_documents() if command != "schema"]


def test_golden_documents_keep_their_schemas():
    assert len(DOCUMENTS) > 70
    assert [fault for command, document in DOCUMENTS for fault in faults_of(command, document)] == []


@pytest.mark.parametrize("command", sorted({command for command, _ in DOCUMENTS}))
def test_a_key_that_is_misspelt_missing_or_of_another_type_breaks_the_schema(command):
    optional = {
        "suppressed_rows",
        "local",
        "kept",
        "rows",
        "input_sha256",
        "series",
    }  # not in every document of its kind
    optional |= {
        "homogeneous_classes",
        "homogeneous_rows",
        "fewest_sensitive",
        "farthest_class",
    }  # of classes with values
    keeps = validator_of(command).is_valid
    shapes = {frozenset(document): document for name, document in DOCUMENTS if name == command}  # one of each is enough
    for document in shapes.values():
        for key in document:
            rest = {other: value for other, value in document.items() if other != key}
            assert not keeps({**rest, f"{key}x": document[key]}), key
            assert not keeps({**document, key: {"of": ["another", "type"]}}), key
            assert key in optional or not keeps(rest), key


@pytest.mark.parametrize(
    ("command", "place", "key"),
    [
        ("anonymize", ("loss",), "info"),
        ("anonymize", ("guarantee",), "name"),
        ("anonymize", ("audit",), "checked"),
        ("anonymize", ("risk", 0), "knows"),
        ("audit", ("guarantee",), "model"),
        ("profile", ("exposures", 0), "rare"),
        ("profile", ("exposures", 0, "examples", 0), "reason"),
        ("evaluate", ("risk", "linkage", "after"), "median"),
        ("evaluate", ("original",), "sha256"),
        ("verify", ("checks", 0), "says"),
    ],
)
def test_parts_are_as_strict_as_the_whole(command, place, key):
    def reach(document):
        for step in place:
            try:
                document = document[step]
            except (KeyError, IndexError):
                return None
        return document

    tried = 0
    for _, document in (one for one in DOCUMENTS if one[0] == command):
        document = json.loads(json.dumps(document))
        part = reach(document)
        if part is not None and key in part:
            part[f"{key}x"] = part.pop(key)
            assert not validator_of(command).is_valid(document)
            tried += 1
    assert tried
