"""Sets beside columns that nobody is taken to know: no quasi-identifier, one class of all rows (section 6 of the 2008 paper)."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import naive_audits

import shoal
from shoal.algorithms.rt import transaction
from shoal.errors import InputError, ShoalError, Unreachable

CODES, ILLS = "ABCDEF", ("flu", "hiv", "asthma", "gout")


def table_of(rows):
    """A frame-like table of (codes, ill) with an id."""
    return {"id": list(range(len(rows))), "codes": [sorted(own) for own, _ in rows], "ill": [ill for _, ill in rows]}


def written(release, tmp_path):
    """The rows of a release as they stand in its file, the sensitive value among the codes as an item of its own."""
    release.write(str(tmp_path / "public.csv"), force=True)
    with open(tmp_path / "public.csv", newline="") as file:
        return [
            {"codes": [c for c in row["codes"].split("|") if c] + [f"={row['ill']}"]} for row in csv.DictReader(file)
        ]


@pytest.fixture
def patients(tmp_path):
    rng = np.random.default_rng(3)
    path = tmp_path / "patients.csv"
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "codes", "ill", "ward"])
        for i in range(120):
            held = set(rng.choice(list(CODES), rng.integers(1, 4), p=[0.3, 0.25, 0.2, 0.1, 0.1, 0.05]).tolist())
            writer.writerow([i, "|".join(sorted(held)), ILLS[int(rng.integers(4))], i % 3])
    return str(path)


def test_a_sensitive_value_hides_among_rows_with_the_same_items(patients, tmp_path):
    promise = shoal.LmDiversity(k=4, l=2, m=2)
    roles = {"items": "codes", "sensitive": "ill", "keep": "ward"}
    release = shoal.anonymize(patients, promise, drop="id", **roles)
    rows = written(release, tmp_path)
    ills = frozenset(f"={ill}" for ill in ILLS)
    assert naive_audits.lm_breaches(rows, 4, 2, 2, (), ills) == 0
    with open(patients, newline="") as file:
        raw = [{"codes": [*row["codes"].split("|"), f"={row['ill']}"]} for row in csv.DictReader(file)]
    assert naive_audits.lm_breaches(raw, 4, 2, 2, (), ills) > 0
    assert shoal.audit(str(tmp_path / "public.csv"), promise, **roles).holds
    assert not shoal.audit(patients, promise, drop="id", **roles).holds
    certificate = json.loads((tmp_path / "public.csv.certificate.json").read_text())
    assert certificate["columns"] == {"ill": "sensitive", "ward": "keep"} or certificate["columns"] == {"ward": "keep"}
    assert any("No column is a quasi-identifier" in warning for warning in certificate["warnings"])
    assert release.loss["info"] == release.loss["info_items"]
    assert np.bincount(release.recoding.of_row).tolist() == [120]


def test_columns_stay_beside_the_row_they_belong_to(patients):
    release = shoal.anonymize(
        patients, shoal.RTAnonymity(3, 2), items="codes", keep="ill,ward", drop="id", keep_order=True
    )
    with open(patients, newline="") as file:
        assert release.published["ill"].texts() == [row["ill"] for row in csv.DictReader(file)]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.sets(st.sampled_from(CODES), max_size=4), st.sampled_from(ILLS)), min_size=4, max_size=25),
    st.integers(2, 4),
    st.integers(1, 3),
    st.sampled_from(["local", "sets"]),
)
def test_any_release_keeps_the_promise(rows, k, m, transaction):
    import polars

    table = polars.DataFrame(table_of(rows), schema_overrides={"codes": polars.List(polars.String)})
    promise = shoal.LmDiversity(k, 2, m, missing="value")
    try:
        release = shoal.anonymize(table, promise, items="codes", sensitive=["ill"], drop="id", transaction=transaction)
    except Unreachable:
        return
    ills = frozenset(f"={ill}" for ill in ILLS)
    published = [
        {"codes": [*own, f"={ill}"]}
        for own, ill in zip(release.published.items.rows(), release.published["ill"].texts(), strict=True)
    ]
    assert naive_audits.lm_breaches(published, k, 2, m, (), ills) == 0


def test_the_audit_refuses_what_a_search_left_as_it_was(patients, tmp_path, monkeypatch):
    def untouched(task, part, of_row, threads):
        return task.leaf[part.items]

    monkeypatch.setattr(transaction, "_local", untouched)
    release = tmp_path / "public.csv"
    with pytest.raises(ShoalError, match="audit"):
        shoal.anonymize(patients, shoal.RTAnonymity(4, 3), items="codes", keep="ill,ward", drop="id").write(
            str(release)
        )
    assert not release.exists()


def test_sets_alone_may_hold_sensitive_items(tmp_path):
    path, public = str(tmp_path / "sets.csv"), str(tmp_path / "public.csv")
    with open(path, "w") as file:
        file.write("codes\n" + "\n".join(["A|B|HIV", "A|B|HIV", "A|B", "A|C", "A|C", "B|C", "B|C"]) + "\n")
    promise, roles = shoal.LmDiversity(2, 2, 2), {"items": "codes", "sensitive": ["HIV"]}
    release = shoal.anonymize(path, promise, **roles)
    release.write(public)
    with open(public, newline="") as file:
        rows = [{"codes": row["codes"].split("|")} for row in csv.DictReader(file)]
    assert naive_audits.lm_breaches(rows, 2, 2, 2, (), {"HIV"}) == 0
    assert shoal.audit(public, promise, **roles).holds
    assert not shoal.audit(path, promise, **roles).holds
    assert shoal.verify(f"{public}.certificate.json", public, sensitive="HIV").verdict == "verified"


def test_what_forms_classes_has_nothing_to_do(patients):
    with pytest.raises(InputError, match=r"all rows are one class, and rmerge-r has none to form"):
        shoal.anonymize(
            patients, shoal.RTAnonymity(3, 2), algorithm="rmerge-r", items="codes", keep="ill,ward", drop="id"
        )


@pytest.mark.parametrize(("role", "model"), [("sensitive", "LmDiversity"), ("keep", "RTAnonymity")])
def test_sets_alone_say_who_takes_columns(patients, role, model):
    with pytest.raises(InputError, match=f"for sets beside columns take {model}"):
        shoal.anonymize(patients, shoal.KmAnonymity(3, 2), items="codes", drop="id,ward", **{role: "ill"})
