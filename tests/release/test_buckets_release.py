"""Releases by buckets: the table that is published, what is known, files that read back, refusals, and the commands around them."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import shoal
from shoal.cli import main
from shoal.errors import InputError, Unreachable

QUASI = {"quasi": "age,sex", "sensitive": "disease"}
FLAGS = ["--quasi", "age,sex", "--sensitive", "disease"]


@pytest.fixture
def patients(tmp_path):
    """600 made-up patients: only women have ovarian cancer, only men prostate cancer."""
    rng = np.random.default_rng(7)
    path = tmp_path / "patients.csv"
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "sex", "disease"])
        for i in range(600):
            sex = "MF"[i % 2]
            own = "ovarian cancer" if sex == "F" else "prostate cancer"
            writer.writerow([20 + int(rng.integers(50)), sex, rng.choice([own, "flu", "asthma", "gout", "ulcer"])])
    return str(path)


def table_of(path):
    with open(path) as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("algorithm", ["injector", "balanced", "anatomy"])
def test_everything_but_the_link_is_published(patients, tmp_path, algorithm):
    out = str(tmp_path / "public.csv")
    release = shoal.anonymize(patients, shoal.MatchingDiversity(3), algorithm=algorithm, **QUASI)
    release.write(out, rules=str(tmp_path / "rules.csv"))
    raw, public = table_of(patients), table_of(out)
    for columns in (("age", "sex"), ("disease",)):
        assert sorted(tuple(row[c] for c in columns) for row in raw) == sorted(
            tuple(row[c] for c in columns) for row in public
        )
    assert shoal.audit(out, shoal.MatchingDiversity(3), **QUASI).holds
    buckets = {}
    for row in public:
        buckets.setdefault(row["bucket"], []).append(row["disease"])
    assert all(len(set(values)) >= 3 for values in buckets.values())
    certificate = json.loads((tmp_path / "public.csv.certificate.json").read_text())
    assert certificate["holds"]
    assert "cancer" not in json.dumps(certificate)
    known = certificate["guarantee"].get("knowledge")
    assert known == (None if algorithm == "anatomy" else {"min_exp": 0.9, "min_conf": 1.0})
    assert certificate["loss"] == pytest.approx({"ambiguity": release.loss["ambiguity"]}, abs=1e-6)


def test_values_are_dealt_by_lot_and_the_lot_is_not_the_seed(patients):
    dealt = [
        shoal.anonymize(patients, shoal.MatchingDiversity(3), seed=1, keep_order=True, **QUASI).published["disease"]
        for _ in range(2)
    ]
    assert dealt[0].texts() != dealt[1].texts()


def test_the_attack_narrows_anatomy_and_not_injector(patients, tmp_path, capsys):
    found = {}
    for algorithm in ("injector", "anatomy"):
        out = str(tmp_path / f"{algorithm}.csv")
        shoal.anonymize(patients, shoal.MatchingDiversity(3), algorithm=algorithm, **QUASI).write(out)
        capsys.readouterr()
        code = main(["attack", out, "--raw", patients, "--l", "3", *FLAGS, "--json"])
        found[algorithm] = (code, json.loads(capsys.readouterr().out)["narrowed"])
    assert found["injector"] == (0, 0)
    assert found["anatomy"][0] == 3
    assert found["anatomy"][1] > 0


def test_a_release_alone_may_show_what_is_impossible(patients, tmp_path, capsys):
    """Buckets of one sex each: no value of the other sex stands beside anyone, so the attacker needs no other source."""
    out = str(tmp_path / "public.csv")
    rows = table_of(patients)
    with open(out, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "sex", "disease", "bucket"])
        for sex in "MF":
            for i, row in enumerate(r for r in rows if r["sex"] == sex):
                writer.writerow([row["age"], sex, row["disease"], f"{sex}{i // 30}"])
    assert main(["attack", out, "--l", "2", *FLAGS, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["rules"] >= 2
    assert found["narrowed"] == 0


def test_rules_are_found_written_struck_and_used(patients, tmp_path, capsys):
    file = str(tmp_path / "rules.jsonl")
    assert main(["rules", patients, *FLAGS, "-o", file, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["count"] == len(found["rules"])
    assert {"sex=M => not ovarian cancer", "sex=F => not prostate cancer"} <= {r["rule"] for r in found["rules"]}
    assert sum(found["impossible"].values()) == 600
    out = str(tmp_path / "public.csv")
    assert main(["anonymize", patients, "--model", "diversity", "--l", "3", *FLAGS, "-o", out]) == 0
    assert main(["audit", out, "--model", "diversity", "--l", "3", "--knowledge", file, *FLAGS]) == 0
    assert shoal.audit(out, shoal.MatchingDiversity(3), knowledge=file, **QUASI).guarantee["knowledge"]["rules"] > 0
    anatomy = str(tmp_path / "anatomy.csv")
    shoal.anonymize(patients, shoal.MatchingDiversity(3), algorithm="anatomy", **QUASI).write(anatomy)
    assert not shoal.audit(anatomy, shoal.MatchingDiversity(3), knowledge=file, **QUASI).holds
    with pytest.raises(InputError, match="knowledge has no use"):
        shoal.audit([["a"]] * 5, shoal.KmAnonymity(5, 2), knowledge=file)
    edits = tmp_path / "edits.jsonl"
    edits.write_text('{"if": {"sex": "M"}, "never": "ovarian cancer", "strike": true}\n')
    capsys.readouterr()
    assert main(["rules", patients, *FLAGS, "--knowledge", str(edits), "--json"]) == 0
    left = {r["rule"] for r in json.loads(capsys.readouterr().out)["rules"]}
    assert "sex=M => not ovarian cancer" not in left
    edits.write_text('{"if": {"sex": "X"}, "never": "flu"}\n')
    assert main(["rules", patients, *FLAGS, "--knowledge", str(edits)]) == 2
    assert "edits.jsonl, line 1" in capsys.readouterr().err


def test_sets_of_one_item_are_sensitive_values_and_larger_ones_are_refused(tmp_path):
    import polars

    path = str(tmp_path / "raw.parquet")
    frame = polars.DataFrame({"age": [1, 2, 3] * 8, "codes": [["a"], ["b"], ["c"], ["d"]] * 6})
    frame.write_parquet(path)
    roles = {"quasi": "age", "sensitive": "codes", "items": "codes"}
    release = shoal.anonymize(path, shoal.MatchingDiversity(2), **roles)
    release.write(str(tmp_path / "public.csv"))
    assert shoal.audit(str(tmp_path / "public.csv"), shoal.MatchingDiversity(2), quasi="age", sensitive="codes").holds
    polars.DataFrame({"age": [1, 2], "codes": [["a"], ["b", "c"]]}).write_parquet(path)
    with pytest.raises(InputError, match="row 2 holds 2 items"):
        shoal.anonymize(path, shoal.MatchingDiversity(2), **roles)


@pytest.mark.parametrize("kind", ["distinct", "entropy", "recursive"])
def test_older_kinds_of_diversity_are_for_buckets_alone(patients, tmp_path, kind, capsys):
    out = str(tmp_path / "public.csv")
    shoal.anonymize(patients, shoal.MatchingDiversity(3), **QUASI).write(out)
    assert main(["audit", out, "--model", "diversity", "--l", "2", "--kind", kind, *FLAGS]) in (0, 3)
    assert main(["audit", out, "--model", "k", "--kind", kind]) == 2
    assert "--kind has no meaning with --model k" in capsys.readouterr().err


def test_a_crowd_is_no_matter_of_buckets(patients, capsys):
    for flag in ("--k", "--m"):
        assert main(["anonymize", patients, "--model", "diversity", flag, "2", *FLAGS]) == 2
        assert f"{flag} has no meaning with --model diversity" in capsys.readouterr().err


def test_a_value_that_is_too_frequent_cannot_be_hidden(patients):
    with pytest.raises(Unreachable, match="largest l that works"):
        shoal.anonymize(patients, shoal.MatchingDiversity(9), **QUASI)


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({"quasi": "age,sex,disease"}, "no column is sensitive"),
        ({"quasi": "age", "sensitive": "sex,disease"}, "sensitive"),
        ({**QUASI, "items": "age"}, "column 'age' has two roles"),
        ({**QUASI, "hierarchy": "balanced:5"}, "a hierarchy needs its column"),
        ({**QUASI, "hierarchy": {"zip": "mask"}}, "for 'zip': there is no such column"),
        ({**QUASI, "algorithm": "anatomy", "min_exp": 0.8}, "min_exp=: it is for injector and balanced"),
        ({**QUASI, "min_exp": 1.5}, "1.5"),
        ({**QUASI, "knowledge": "missing.jsonl"}, "missing.jsonl"),
        ({"sensitive": "disease", "drop": "age,sex"}, "quasi"),
    ],
)
def test_refusals(patients, asked, complaint):
    with pytest.raises(InputError, match=complaint):
        shoal.anonymize(patients, shoal.MatchingDiversity(2), **asked)


def test_what_is_no_release_cannot_be_audited(patients):
    with pytest.raises(InputError, match="is this a release"):
        shoal.audit(patients, shoal.MatchingDiversity(2), **QUASI)


def test_a_moved_row_is_caught(patients, tmp_path):
    out = tmp_path / "public.csv"
    release = shoal.anonymize(patients, shoal.MatchingDiversity(3), **QUASI)
    release.write(str(out))
    rows = table_of(out)
    worst = rows[0]["bucket"]
    for row in rows:
        if row["bucket"] == worst:
            row["disease"] = "flu"
    with open(out, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    verdict = shoal.audit(str(out), shoal.MatchingDiversity(3), **QUASI)
    assert not verdict.holds
    assert verdict.witnesses[0].items == ("flu",)
