"""Releases by k-anonymous transactions: promise, rows, sensitive items, losses as recomputed from the files, refusals."""

from __future__ import annotations

import csv
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import InputError, Unreachable

ALGORITHMS = ("split", "pta", "gsc", "gray-tsp")
SENSITIVE = ("X", "Y", "Z")
people = st.lists(
    st.tuples(st.sets(st.sampled_from("abcdef")), st.sets(st.sampled_from(SENSITIVE), min_size=1, max_size=2)),
    min_size=2,
    max_size=30,
)


def held(rows):
    return {item for row in rows for item in row}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(people, st.integers(2, 5), st.integers(1, 3), st.sampled_from(ALGORITHMS))
def test_promise_rows_sensitive_items_and_loss(rows, k, l, algorithm):  # noqa: E741
    given = [quasi | sensitive for quasi, sensitive in rows]
    known = sorted(held(given) & set(SENSITIVE))
    everywhere = set.intersection(*(set(sensitive) for _, sensitive in rows))
    if k > len(rows) or l > len(known) or (l > 1 and everywhere):
        with pytest.raises(Unreachable):
            shoal.anonymize(given, shoal.KAnonymity(k, l), sensitive=known, algorithm=algorithm)
        return
    release = shoal.anonymize(given, shoal.KAnonymity(k, l), sensitive=known, algorithm=algorithm, keep_order=True)
    published = list(release.published)
    assert len(published) == len(given)
    added = removed = 0
    classes = {}
    for before, after in zip(given, published, strict=True):
        assert after & set(SENSITIVE) == before & set(SENSITIVE)
        added += len(after - before)
        removed += len(before - after)
        classes.setdefault(after - set(SENSITIVE), []).append(after & set(SENSITIVE))
    assert min(map(len, classes.values())) >= k
    assert all(len(held(members)) >= l for members in classes.values())
    assert l == 1 or not any(set.intersection(*map(set, members)) for members in classes.values())
    total = max(1, sum(len(row - set(SENSITIVE)) for row in given))
    assert release.loss["added"] == pytest.approx(added / total)
    assert release.loss["removed"] == pytest.approx(removed / total)
    assert release.loss["il"] == pytest.approx((added + removed) / total)
    facts = release.to_dict()
    assert sum(e["added"] for e in facts["edits"].values()) == added == sum(facts["classes"]["added"])
    assert sum(e["removed"] for e in facts["edits"].values()) == removed == sum(facts["classes"]["removed"])
    assert sum(facts["classes"]["size"]) == len(given)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_files_hold_what_was_promised(tmp_path, algorithm):
    path, out, rules = (str(tmp_path / name) for name in ("raw.csv", "public.csv", "rules.csv"))
    with open(path, "w") as file:
        file.write("items\n" + "".join(f"a b {'c' if i % 3 else 'd'} s{i % 4}\n" for i in range(40)))
    (tmp_path / "sensitive.txt").write_text("s0\ns1\n\ns2\ns3\n")
    release = shoal.anonymize(
        path, shoal.KAnonymity(4, 2), sensitive=str(tmp_path / "sensitive.txt"), algorithm=algorithm
    )
    release.write(out, rules=rules)
    assert shoal.audit(out, shoal.KAnonymity(4, 2), sensitive="s0,s1,s2,s3").holds
    certificate = json.loads((tmp_path / "public.csv.certificate.json").read_text())
    assert certificate["guarantee"] == {
        "model": "k",
        "k": 4,
        "l": 2,
        "name": "4-anonymity with 2-diversity",
        "sensitive_items": 4,
    }
    assert certificate["holds"]
    assert certificate["audit"]["smallest_class"] >= 4
    assert certificate["withheld"] == {"loss": ["il", "added", "removed"]}
    assert "s0" not in json.dumps(certificate)
    with open(rules) as file:
        told = list(csv.DictReader(file))
    assert sum(int(row["rows"]) for row in told) == 40
    assert sum(int(row["added"]) + int(row["removed"]) for row in told) == round(release.loss["il"] * 120)


def test_the_same_seed_gives_the_same_rows_whatever_the_threads():
    rows = [[f"i{(i * j) % 17}" for j in range(1, 6)] for i in range(300)]
    for algorithm in ALGORITHMS:
        found = [
            sorted(map(sorted, shoal.anonymize(rows, shoal.KAnonymity(5), algorithm=algorithm, threads=t).published))
            for t in (1, 2)
        ]
        assert found[0] == found[1]


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({"hierarchy": "balanced:5"}, "hierarchy=: KAnonymity adds and removes items"),
        ({"suppress": 0.1}, "suppress=: it has no use with KAnonymity"),
        ({"segments": 3}, "segments=: it is for pta and gray-tsp, not for split"),
        ({"algorithm": "exact"}, "'exact' is not known for KAnonymity"),
        ({"sensitive": ["nothing"]}, "1 of the sensitive items that are named do not occur in the data"),
        ({"sensitive": " , "}, "do not occur in the data"),
        ({"quasi": "age"}, "KAnonymity has no use for quasi="),
        ({"algorithm": "pta", "segments": 0}, "segments must be a whole number of at least 1"),
        ({"algorithm": "gray-tsp", "population": 0}, "population must be a whole number of at least 1"),
    ],
)
def test_refusals(asked, complaint):
    with pytest.raises(InputError, match=complaint):
        shoal.anonymize([["a"], ["a"]], shoal.KAnonymity(2), **asked)


def test_diversity_needs_sensitive_items():
    with pytest.raises(InputError, match="nothing is sensitive"):
        shoal.anonymize([["a"], ["a"]], shoal.KAnonymity(2, 2))


def test_sensitive_items_have_no_use_for_km():
    with pytest.raises(InputError, match="sensitive=: KmAnonymity has no sensitive items"):
        shoal.anonymize([["a"], ["a"]], shoal.KmAnonymity(2, 2), sensitive=["a"])


def test_a_larger_k_than_there_are_rows_cannot_be_reached():
    with pytest.raises(Unreachable, match="only 2 transactions"):
        shoal.anonymize([["a"], ["a"]], shoal.KAnonymity(3))


def test_more_segments_than_fit_are_capped_with_a_note():
    release = shoal.anonymize([["a"], ["b"]] * 6, shoal.KAnonymity(3), algorithm="pta", segments=100)
    assert release.details["facts"]["segments"] == 4
    assert any("100 segments" in note for note in release.notes)


def test_an_unknown_sensitive_item_of_the_guarantee_is_refused():
    with pytest.raises(InputError, match="1 of the sensitive items that are named do not occur in the data"):
        shoal.anonymize([["a"], ["a"]], shoal.KAnonymity(2, sensitive=["HIV"]))


@pytest.mark.parametrize("name", ["raw.csv", "raw.tsv", "raw.jsonl", "raw.parquet"])
def test_a_column_of_sensitive_items_stays_a_column(tmp_path, name):
    import polars

    rows = [["a", "b" if i % 2 else "c"] for i in range(12)]
    ill = [[("heart disease", "flu", "asthma")[i % 3]] + (["gout"] if i == 5 else []) for i in range(12)]
    raw, out = str(tmp_path / name), str(tmp_path / f"public-{name}")
    if name.endswith(("csv", "tsv")):
        mark = "," if name.endswith("csv") else "\t"
        cells = [f"{' '.join(a)}{mark}{'|'.join(b)}\n" for a, b in zip(rows, ill, strict=True)]
        (tmp_path / name).write_text(f"symptoms{mark}disease\n" + "".join(cells))
    else:
        frame = polars.DataFrame({"symptoms": rows, "disease": ill})
        frame.write_ndjson(raw) if name.endswith("jsonl") else frame.write_parquet(raw)
    release = shoal.anonymize(raw, shoal.KAnonymity(3, 2), sensitive="disease")
    release.write(out)
    verdict = shoal.audit(out, shoal.KAnonymity(3, 2), sensitive="disease")
    assert verdict.holds
    assert verdict.guarantee["sensitive_items"] == 4
    before = sorted(map(sorted, ill))
    if name.endswith("parquet"):
        assert sorted(map(sorted, polars.read_parquet(out)["disease"].to_list())) == before
    assert not shoal.audit(raw, shoal.KAnonymity(7, 2), sensitive="disease").holds


def test_an_item_both_sensitive_and_not_is_refused(tmp_path):
    (tmp_path / "raw.csv").write_text("symptoms,disease\na b,flu\na flu,gout\n")
    with pytest.raises(InputError, match="an item stands both in"):
        shoal.anonymize(str(tmp_path / "raw.csv"), shoal.KAnonymity(2), sensitive="disease")
