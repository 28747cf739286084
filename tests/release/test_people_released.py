"""Releases that count people, from every face: what is promised, what is certified, and that nobody's name gets out."""

from __future__ import annotations

import json

import numpy as np
import polars
import pytest

import shoal
from shoal.errors import InputError
from shoal.records.source import load_sets

CANARY = "canary-patient-"


@pytest.fixture
def visits(tmp_path, monkeypatch):
    """Five visits of one patient, nine of nine others, of whom one has two."""
    monkeypatch.chdir(tmp_path)
    rows = [(0, "E11 I10")] * 5 + [(i, "J45 I10") for i in range(1, 7)] + [(i, "J45") for i in (6, 7, 8, 9)]
    lines = [f"{CANARY}{patient},{codes}\n" for patient, codes in rows]
    (tmp_path / "visits.csv").write_text("patient,codes\n" + "".join(lines))
    return tmp_path


ASKED = ("--items", "codes", "--person", "patient", "--k", "4", "--m", "2")


def test_an_audit_tells_a_patient_from_a_crowd(run, visits):
    assert run("audit", "visits.csv", "--items", "codes", "--drop", "patient", "--k", "4", "--m", "2")[0] == 0
    code, out, _ = run("audit", "visits.csv", *ASKED, "--json")
    told = json.loads(out)
    assert (code, told["counted"], told["people"], told["guarantee"]["counted"]) == (3, "people", 10, "people")
    assert told["witnesses"][0] == {"items": ["E11"], "support": 1, "rows": [1, 2, 3, 4, 5]}
    assert "in fewer than 4 people" in run("audit", "visits.csv", *ASKED)[1]


def test_a_release_is_certified_in_people_and_verified_in_rows(run, visits):
    code, out, _ = run("anonymize", "visits.csv", *ASKED, "-o", "public.csv")
    assert code == 0
    assert "records of at least 4 different people" in " ".join(out.split())
    certificate = json.loads((visits / "public.csv.certificate.json").read_text())
    assert certificate["guarantee"]["counted"] == "people"
    assert "by a column that is not published" in certificate["promised"][-1]
    assert not any("Rows are counted" in limit for limit in certificate["not_promised"])
    assert "people" not in certificate["audit"]
    code, out, _ = run("verify", "public.csv.certificate.json", "public.csv")
    assert code == 0
    assert "as many people is the owner's word" in " ".join(out.split())


def test_no_file_and_no_word_names_anybody(run, visits):
    outputs = ("--certificate", "public.html", "--rules", "rules.csv", "--report", "report.json", "--show-values")
    shown = run("anonymize", "visits.csv", *ASKED, "-o", "public.csv", *outputs, "--json")
    shown += run("anonymize", "visits.csv", *ASKED, "--show-values")
    shown += run("audit", "visits.csv", *ASKED, "--show-values") + run("audit", "visits.csv", *ASKED, "--json")
    shown += run("profile", "visits.csv", "--items", "codes", "--person", "patient", "--show-values")
    shown += run("profile", "visits.csv", "--items", "codes", "--drop", "patient", "--show-values", "--json")
    shown += run(
        "attack", "public.csv", "--raw", "visits.csv", "--items", "codes", "--drop", "patient", "--show-values"
    )
    assert CANARY not in "".join(map(str, shown))
    written = [path for path in visits.rglob("*") if path.is_file() and path.name != "visits.csv"]
    assert len(written) == 4
    assert not any(CANARY.encode() in path.read_bytes() for path in written)


def test_a_plan_has_the_role_and_gives_the_same_promise(run, visits):
    (visits / "plan.yaml").write_text(
        "version: 1\ninput: {path: visits.csv}\ncolumns: {patient: person, codes: items}\n"
        "guarantee: {model: km, k: 4, m: 2}\noutputs: {data: public.csv}\n"
    )
    code, out, _ = run("run", "plan.yaml", "--json")
    told = json.loads(out)
    assert (code, told["audit"]["counted"], told["audit"]["people"]) == (0, "people", 10)
    text = (visits / "plan.yaml").read_text()
    for other, words in (
        ("algorithm: lra\n", "choose one of local, exact, hybrid, oa"),
        ("engine: spark\n", "on Spark, rows are counted"),
    ):
        (visits / "plan.yaml").write_text(text + other)
        code, _, error = run("run", "plan.yaml", "--check")
        assert code == 2
        assert words in error


def test_profile_says_whose_rows_they_may_be(run, visits):
    found = shoal.profile("visits.csv", k=4, items="codes", drop="patient")
    assert any("15 rows are of 10" in str(note) and "5 of the rows" in str(note) for note in found.notes)
    counted = shoal.profile("visits.csv", k=4, items="codes", person="patient")
    assert [one.exposed for one in counted.exposures] == [5, 5]
    assert not any("looks like" in str(note) for note in counted.notes)


def test_a_release_in_python_hands_the_people_on_and_not_their_names(visits):
    frame = polars.read_csv("visits.csv")
    release = shoal.anonymize(frame, shoal.KmAnonymity(k=4, m=2), items="codes", person="patient")
    assert release.audit.facts == {"counted": "people", "people": 10}
    assert release.published.people is not None
    assert release.to_polars().columns == ["codes"]
    assert release.guarantee.of_people
    assert release.risk[-1].few == 5
    assert not shoal.audit(frame, shoal.KmAnonymity(k=4, m=2), items="codes", person="patient")
    source = load_sets("visits.csv", items="codes", person="patient")
    assert source.person_values == tuple(f"{CANARY}{i}" for i in range(10))
    assert CANARY not in repr(source) + repr(source.records)


@pytest.mark.parametrize(
    ("model", "words"), [("chunks", "counts rows, not people"), ("constraints", "counts rows, not people")]
)
def test_who_counts_rows_refuses_people(run, visits, model, words):
    (visits / "policy.yaml").write_text("protect: [[E11]]\n")
    policy = ("--policy", "policy.yaml") if model == "constraints" else ()
    code, _, error = run("anonymize", "visits.csv", "--model", model, "--k", "2", *policy, *ASKED[:4])
    assert code == 2
    assert words in error


def test_every_format_with_columns_says_whose_rows_are(visits):
    frame = polars.read_csv("visits.csv")
    expected = load_sets("visits.csv", items="codes", person="patient").records.people.tolist()
    frame.write_csv("visits.tsv", separator="\t")
    frame.write_parquet("visits.parquet")
    frame.write_ipc("visits.arrow")
    frame.with_columns(polars.col("codes").str.split(" ")).write_ndjson("visits.jsonl")
    address = f"sqlite:{visits / 'visits.db'}?table=visits"
    frame.write_database("visits", f"sqlite:///{visits / 'visits.db'}", engine="adbc")
    for data in ("visits.tsv", "visits.parquet", "visits.arrow", "visits.jsonl", frame, address):
        assert load_sets(data, items="codes", person="patient").records.people.tolist() == expected
    hot = polars.DataFrame({"who": ["a", "a", "b"], "x": [1, 0, 1], "y": [0, 0, 1]})
    release = shoal.audit(hot, shoal.KmAnonymity(k=2, m=1), one_hot=True, person="who")
    assert release.facts["people"] == 2


def test_a_long_table_has_a_person_for_each_id(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "long.csv").write_text("id,item,who\n1,a,p\n2,a,q\n1,b,p\n3,a,p\n")
    sets = shoal.read("long.csv", id="id", items="item", person="who")
    assert (list(sets.rows()), sets.people.tolist()) == ([["a", "b"], ["a"], ["a"]], [0, 1, 0])
    (tmp_path / "long.csv").write_text("id,item,who\n1,a,p\n1,b,q\n")
    with pytest.raises(InputError, match="row 2 has another 'who'"):
        shoal.read("long.csv", id="id", items="item", person="who")


@pytest.mark.parametrize("nobody", ["", "  "])
def test_a_row_without_a_person_is_named_by_its_number(tmp_path, monkeypatch, nobody):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text(f"who,items\n{CANARY},x\n{nobody},x\n")
    with pytest.raises(InputError, match="row 2 does not say in 'who' whose it is") as caught:
        shoal.read("rows.csv", items="items", person="who")
    assert CANARY not in str(caught.value)


def test_rows_that_go_take_their_people_with_them():
    rows = shoal.read(polars.DataFrame({"who": list("aab"), "items": [["x"], [], ["y"]]}), items="items", person="who")
    assert rows.take(np.array([2, 0])).people.tolist() == [1, 0]
    assert sorted(rows.shuffle().people.tolist()) == [0, 0, 1]
    with pytest.raises(InputError, match="memory limit"):
        shoal.anonymize("rows.csv", shoal.KmAnonymity(2, 2), items="items", person="who", memory_limit="1GB")
