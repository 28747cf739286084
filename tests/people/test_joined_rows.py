"""A table in which people have several rows: joined to one record each (`--id`), as a brute-force twin joins them."""

from __future__ import annotations

import csv

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import InputError
from shoal.records.source import load_records

ROLES = {"quasi": ("sex", "age"), "items": "codes", "id": "patient"}


@st.composite
def visits(draw):
    """Rows of (patient, sex, age, codes); what is said of a patient agrees, but for what is missing."""
    people = draw(
        st.lists(st.tuples(st.sampled_from("fm"), st.sampled_from(["30", "41", "52"])), min_size=1, max_size=6)
    )
    rows = draw(
        st.lists(
            st.tuples(
                st.integers(0, len(people) - 1),
                st.frozensets(st.sampled_from("abcd")),
                st.booleans(),
            ),
            min_size=1,
            max_size=14,
        )
    )
    return [(f"P{who}", people[who][0], people[who][1] if told else "", codes) for who, codes, told in rows]


def write(rows, path):
    with open(path, "w", newline="") as file:
        told = [(who, sex, age, "|".join(sorted(codes))) for who, sex, age, codes in rows]
        csv.writer(file).writerows([("patient", "sex", "age", "codes"), *told])


def joined(rows):
    """By patient, in the order of their first rows."""
    found = {}
    for who, sex, age, codes in rows:
        one = found.setdefault(who, [sex, "", set()])
        one[1] = one[1] or age
        one[2] |= codes
    return [(sex, age, codes) for sex, age, codes in found.values()]


@settings(max_examples=60)
@given(visits())
def test_rows_are_joined_as_by_hand(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("visits") / "visits.csv"
    write(rows, path)
    records = load_records(str(path), separator="|", **ROLES).records
    told = zip(records["sex"].texts(), records["age"].texts(), map(set, records.items.rows()), strict=True)
    assert list(told) == joined(rows)
    assert records.names == ("sex", "age", "codes")


CLINIC = [
    (f"P{i % 40}", "fm"[i % 2], str(30 + 5 * (i % 3)), frozenset(("flu", "gout")[: 1 + i % 2])) for i in range(100)
]


@pytest.fixture(autouse=True)
def _own_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHOAL_KEY", str(tmp_path / "owner.key"))


def test_a_release_of_records_is_audited_evaluated_attacked_and_verified(run):
    rows = [(who, sex, "35", codes) for who, sex, _, codes in CLINIC]
    write(rows, "visits.csv")
    asked = ("--quasi", "sex,age", "--items", "codes", "--separator", "|")
    made = ("anonymize", "visits.csv", "-o", "public.csv", "--model", "rt", "--id", "patient", "--k", "5", "--m", "2")
    _, out, err = run(*made, *asked)
    assert "100 rows were joined to 40 records (--id)" in " ".join((out + err).split())
    with open("public.csv") as file:
        head, *published = list(csv.reader(file))
    assert (head, len(published)) == (["sex", "age", "codes"], 40)
    assert run("audit", "public.csv", "--model", "rt", "--k", "5", "--m", "2", *asked)[0] == 0
    assert run("evaluate", "visits.csv", "public.csv", "--id", "patient", *asked)[0] == 0
    assert run("attack", "public.csv", "--raw", "visits.csv", "--id", "patient", *asked)[0] == 0
    assert run("verify", "public.csv.certificate.json", "public.csv", "--original", "visits.csv")[0] == 0
    assert run("profile", "visits.csv", "--id", "patient", *asked)[0] == 0


def test_what_rows_of_a_record_say_must_agree(run):
    write(CLINIC, "visits.csv")
    made = ("anonymize", "visits.csv", "-o", "public.csv", "--model", "rt", "--id", "patient", "--items", "codes")
    status, _, err = run(*made, "--quasi", "sex,age", "--separator", "|")
    assert status == 2
    assert "column 'age' says different things in the rows of 40 records" in " ".join(err.split())
    assert "P0" not in err


def test_two_spellings_of_a_number_agree():
    write([("P1", "f", "30", frozenset("a")), ("P1", "f", "30.0", frozenset("b"))], "visits.csv")
    records = load_records("visits.csv", separator="|", numeric="age", **ROLES).records
    assert [set(row) for row in records.items.rows()] == [{"a", "b"}]


def test_a_row_has_to_say_which_record_it_belongs_to():
    write([("P1", "f", "30", frozenset("a")), ("", "f", "30", frozenset("b"))], "visits.csv")
    with pytest.raises(InputError, match=r"row 2 does not say in 'patient' which record it belongs to \(id=\)"):
        load_records("visits.csv", separator="|", **ROLES)


def test_people_may_have_several_records():
    """Stays that have several rows, of patients who have several stays."""
    rows = [("stay", "patient", "sex", "codes")]
    rows += [(f"S{i // 2}", f"P{i // 4}", "fm"[i // 4 % 2], "flu") for i in range(80)]
    with open("stays.csv", "w", newline="") as file:
        csv.writer(file).writerows(rows)
    release = shoal.anonymize(
        "stays.csv", shoal.RTAnonymity(5, 1), quasi="sex", items="codes", id="stay", person="patient"
    )
    assert release.rows == 40
    assert release.audit.facts["people"] == 20
    rows[1] = ("S0", "P9", "f", "flu")
    with open("stays.csv", "w", newline="") as file:
        csv.writer(file).writerows(rows)
    with pytest.raises(InputError, match="give all rows of an id one person"):
        load_records("stays.csv", quasi="sex", items="codes", id="stay", person="patient")


@settings(max_examples=30)
@given(visits())
def test_rows_of_sets_alone_are_joined_as_well(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("visits") / "visits.csv"
    write(rows, path)
    source = shoal.read(str(path), items="codes", id="patient", drop=["sex", "age"], separator="|")
    assert [set(row) for row in source.rows()] == [codes for _, _, codes in joined(rows)]


def test_sets_in_cells_are_joined_where_it_is_said_what_parts_them(run):
    rows = [(f"P{i // 2}", "J45 I10" if i % 2 else "J45", f"S{i // 4}") for i in range(16)]
    with open("visits.csv", "w", newline="") as file:
        csv.writer(file).writerows([("patient", "codes", "house"), *rows])
    asked = ("anonymize", "visits.csv", "--items", "codes", "--id", "patient", "--k", "4", "--hierarchy", "prefix")
    code, out, err = run(*asked, "--drop", "house", "-o", "cells.csv")
    assert code == 0, err
    assert "each cell of 'codes' is one item" in " ".join(out.split())
    code, out, err = run(*asked, "--drop", "house", "--separator", " ", "-o", "sets.csv")
    assert code == 0, err
    assert "16 rows were joined to 8 records (--id)" in out
    with open("sets.csv") as file:
        assert [set(line.split()) for line in file] == [{"codes"}, *[{"J45", "I10"}] * 8]
    assert run("verify", "sets.csv.certificate.json", "sets.csv")[0] == 0
    release = shoal.anonymize(
        *("visits.csv", shoal.KmAnonymity(4, 2)),
        items="codes",
        id="patient",
        person="house",
        separator=" ",
        hierarchy="prefix",
    )
    assert (release.rows, release.audit.facts["people"]) == (8, 4)
    code, _, err = run(*asked, "--drop", "house", "--separator", " ", "--format", "long")
    assert (code, "has one item per row" in " ".join(err.split())) == (2, True)


def test_buckets_and_classes_of_joined_rows(run):
    """One value a row stays one value a record, and a column without sets is joined as well."""
    with open("stays.csv", "w", newline="") as file:
        told = [(f"P{i // 2}", "fm"[i // 2 % 2], ("flu", "gout", "cold", "HIV")[i // 2 % 4]) for i in range(80)]
        csv.writer(file).writerows([("patient", "sex", "illness"), *told])
    asked = ("--id", "patient", "--quasi", "sex", "--sensitive", "illness")
    for model in (("--model", "diversity", "--l", "2"), ("--model", "k", "--k", "5", "--l", "2")):
        status, _, err = run("anonymize", "stays.csv", "-o", "public.csv", *model, *asked, "--force")
        assert status == 0, err
        with open("public.csv") as file:
            assert len(list(csv.reader(file))) == 41
