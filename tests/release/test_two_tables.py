"""Releases in buckets as two tables: the rows with their bucket, and how often each value stands in each (Table II of Injector)."""

from __future__ import annotations

import csv
import io
import json
import random
import zipfile
from collections import Counter

import pytest

import shoal
from shoal.errors import InputError
from shoal.guarantees.diversity import buckets_of

ROLES = {"quasi": "age,sex", "sensitive": "ill"}
ILLS = ("flu", "hiv", "=1+1", "gout", "")


@pytest.fixture
def people(tmp_path):
    draw = random.Random(7)
    path = tmp_path / "people.csv"
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "ill", "sex", "ward"])
        writer.writerows(
            [draw.randint(20, 60), draw.choice(ILLS), draw.choice("mf"), draw.randint(1, 3)] for _ in range(90)
        )
    return str(path)


def tables(path):
    """Each table of a file as a list of rows."""
    with zipfile.ZipFile(path) as archive:
        return {
            name: list(csv.DictReader(io.StringIO(archive.read(name).decode(), newline="")))
            for name in archive.namelist()
        }


def made(people, tmp_path, **asked):
    release = shoal.anonymize(people, shoal.MatchingDiversity(3), keep="ward", **ROLES, **asked)
    return release, release.write(str(tmp_path / "public.zip")).targets.data


def test_no_table_says_whose_value_is_whose(people, tmp_path):
    release, path = made(people, tmp_path)
    rows, values = tables(path)["rows.csv"], tables(path)["values-1.csv"]
    assert list(rows[0]) == ["age", "sex", "ward", "bucket"]
    assert list(values[0]) == ["bucket", "ill", "count"]
    assert Counter(row["bucket"] for row in rows) == Counter(
        bucket for one in values for bucket in [one["bucket"]] * int(one["count"])
    )
    with open(people, newline="") as file:
        before = [row["ill"] for row in csv.DictReader(file)]
    after = Counter(value.removeprefix("'") for one in values for value in [one["ill"]] * int(one["count"]))
    assert after == Counter(before)
    buckets = release.audit.facts["buckets"]
    assert buckets == len({row["bucket"] for row in rows})


def test_it_is_audited_verified_and_read_like_the_single_table(people, tmp_path):
    release, path = made(people, tmp_path)
    single = str(tmp_path / "public.csv")
    release.write(single)
    promise = shoal.MatchingDiversity(3)
    for name in (path, single):
        assert shoal.audit(name, promise, keep="ward,bucket", **ROLES).holds
    both = [buckets_of(shoal.load_records(name, keep="ward,bucket", **ROLES).records) for name in (path, single)]
    contents = [sorted((one.label(b), sorted(one.content(b).items())) for b in range(len(one))) for one in both]
    assert contents[0] == contents[1]
    certificate = f"{path}.certificate.json"
    facts = json.loads((tmp_path / "public.zip.certificate.json").read_text())
    assert facts["output"]["format"] == "zip"
    assert shoal.verify(certificate, path).verdict != "not verified"
    changed = tables(path)
    changed["values-1.csv"][0]["ill"], changed["values-1.csv"][1]["ill"] = "new", "newer"
    assert shoal.verify(certificate, packed(tmp_path / "other.zip", changed)).verdict == "not verified"


def packed(path, contents):
    with zipfile.ZipFile(path, "w") as archive:
        for name, rows in contents.items():
            text = io.StringIO(newline="")
            writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
            archive.writestr(name, text.getvalue())
    return str(path)


def test_several_sensitive_columns_have_a_table_each(people, tmp_path):
    promise = shoal.MatchingDiversity(2)
    roles = {"quasi": "age,sex", "sensitive": "ill,ward"}
    release = shoal.anonymize(people, promise, algorithm="anatomy", **roles)
    path = release.write(str(tmp_path / "public.zip")).targets.data
    assert [list(rows[0])[1] for name, rows in tables(path).items() if name != "rows.csv"] == ["ill", "ward"]
    assert shoal.audit(path, promise, keep="bucket", **roles).holds


def less(contents):
    contents["values-1.csv"][0]["count"] = "1000"
    return contents


def more(contents):
    contents["rows.csv"].append(dict(contents["rows.csv"][0]))
    return contents


def negative(contents):
    contents["values-1.csv"][0]["count"] = "-1"
    return contents


def without_bucket(contents):
    for row in contents["rows.csv"]:
        del row["bucket"]
    return contents


def renamed(contents):
    return {name.replace("rows", "people"): rows for name, rows in contents.items()}


def twice(contents):
    return contents | {"values-2.csv": contents["values-1.csv"]}


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        (less, "more values of 'ill' than rows"),
        (more, "fewer values than rows"),
        (negative, "a count is not a whole number"),
        (without_bucket, "has no column 'bucket'"),
        (renamed, "it is no .zip that holds rows.csv"),
        (twice, "is there already"),
    ],
)
def test_tables_that_do_not_fit_are_refused(people, tmp_path, damage, complaint):
    _, path = made(people, tmp_path)
    other = packed(tmp_path / "other.zip", damage(tables(path)))
    keep = "ward" if damage is without_bucket else "ward,bucket"
    with pytest.raises(InputError, match=complaint):
        shoal.audit(other, shoal.MatchingDiversity(3), keep=keep, **ROLES)


def test_damaged_bytes_are_one_sentence(people, tmp_path):
    made(people, tmp_path)
    whole = (tmp_path / "public.zip").read_bytes()
    draw = random.Random(1)
    refused = []
    for _ in range(60):
        damaged = bytearray(whole)
        damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
        other = tmp_path / "damaged.zip"
        other.write_bytes(damaged[: draw.choice([len(damaged), draw.randrange(len(damaged))])])
        try:
            shoal.audit(str(other), shoal.MatchingDiversity(3), keep="ward,bucket", **ROLES)
        except InputError as error:
            refused.append(str(error))
    assert refused
    assert not any("\n" in text for text in refused)


def test_a_bomb_is_refused(tmp_path):
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("rows.csv", "age,bucket\n" + "1,1\n" * 2_000_000)
        archive.writestr("values-1.csv", "bucket,ill,count\n1,flu,2000000\n")
    with pytest.raises(InputError, match="input limit"):
        shoal.audit(
            str(path), shoal.MatchingDiversity(2), quasi="age", sensitive="ill", keep="bucket", input_limit="2MB"
        )


def test_sets_have_no_place_in_it(tmp_path):
    release = shoal.anonymize([["a", "b"], ["a", "b"]], shoal.KmAnonymity(2, 2))
    with pytest.raises(InputError, match="holds the two tables of a release in buckets"):
        release.write(str(tmp_path / "sets.zip"))
    assert not (tmp_path / "sets.zip").exists()
