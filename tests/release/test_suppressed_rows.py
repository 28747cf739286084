"""Rows that leave a table: within the share asked for, counted as lost, and not to be found out from the certificate."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.algorithms import ALGORITHMS
from shoal.cli import main
from shoal.errors import InputError, ShoalError, Unreachable
from shoal.models import tables
from shoal.records.baskets import Baskets
from shoal.records.records import Column, Records

AGES = [30, 31, 31, 30, 32, 31, 52, 51, 52, 50, 51, 50, 97]


def table(ages, other="p"):
    return Records(
        (
            Column.from_texts("age", "quasi", [str(age) for age in ages], numeric=True),
            Column.from_texts("kind", "quasi", [other[i % len(other)] for i in range(len(ages))]),
            Column.from_texts("number", "keep", [str(i) for i in range(len(ages))]),
        )
    )


def test_the_row_that_stretches_its_class_leaves_and_counts_as_lost():
    whole = shoal.anonymize(table(AGES), shoal.TableAnonymity(4), algorithm="mondrian")
    fewer = shoal.anonymize(table(AGES), shoal.TableAnonymity(4), algorithm="mondrian", suppress_rows=0.1)
    assert (whole.rows, fewer.rows) == (13, 12)
    assert "97" not in " ".join(fewer.published["age"].texts())
    # Two columns: an age costs its width of 67 years, half of it for the column; one row of thirteen is lost.
    rest = 2 / 67 / 2
    assert fewer.loss["ncp"] == pytest.approx(1 / 13 + 12 / 13 * rest)
    assert fewer.details["suppressed_rows"] == 1
    assert fewer.details["ncp_by_column"]["kind"] == pytest.approx(1 / 13)
    assert fewer.kept["cells"] == pytest.approx(12 / 13 / 2)
    assert "1 of 13 rows was left out and counts as lost" in fewer.notes


def test_no_row_leaves_where_the_others_gain_nothing():
    release = shoal.anonymize(table([30] * 12), shoal.TableAnonymity(4), suppress_rows=0.5)
    assert release.rows == 12
    assert release.loss["ncp"] == 0
    assert shoal.anonymize(table(AGES), shoal.TableAnonymity(4), suppress_rows=0.05).rows == 13  # not one of thirteen


def test_rows_that_a_limit_leaves_alone_leave():
    asked = {"limits": {"age": 10}, "algorithm": "cluster"}
    with pytest.raises(Unreachable, match="within the limits"):
        shoal.anonymize(table(AGES), shoal.TableAnonymity(4), **asked)
    with pytest.raises(Unreachable, match="within the limits"):
        shoal.anonymize(table([*AGES, 70]), shoal.TableAnonymity(4), suppress_rows=0.1, **asked)
    assert shoal.anonymize(table(AGES), shoal.TableAnonymity(4), suppress_rows=0.1, **asked).rows == 12


@given(
    st.lists(st.integers(20, 60), min_size=8, max_size=30),
    st.sampled_from(["better-of-two", "cluster", "mondrian"]),
    st.sampled_from([0.05, 0.2, 0.4]),
    st.integers(1, 2),
)
@settings(max_examples=40, deadline=None)
def test_what_is_left_keeps_the_promise_and_the_share(ages, way, share, l):  # noqa: E741
    records = table(ages, "pqr")
    secret = Column.from_texts("secret", "sensitive", ["xyz"[i % 3] for i in range(len(ages))])
    records = Records((*records.columns, secret)) if l > 1 else records
    release = shoal.anonymize(
        records, shoal.TableAnonymity(3, l=l), algorithm=way, suppress_rows=share, keep_order=True
    )
    gone = len(ages) - release.rows
    assert gone <= share * len(ages)
    texts = [column.texts() for column in release.published.columns]
    assert min(Counter(zip(*texts[:2], strict=True)).values()) >= 3
    stay = [int(number) for number in texts[2]]
    assert stay == sorted(set(stay))
    for i, (age, kind) in zip(stay, zip(*texts[:2], strict=True), strict=True):
        low, _, high = age.strip("[]").partition(":")
        assert int(low) <= ages[i] <= int(high or low)
        assert kind in ("pqr"[i % 3], "*")
    assert release.loss["ncp"] == pytest.approx((gone + release.rows * release.recoding.ncp) / len(ages))
    before = shoal.anonymize(records, shoal.TableAnonymity(3, l=l), algorithm=way)
    assert release.recoding.ncp <= before.recoding.ncp + 1e-12


def test_the_certificate_tells_the_share_and_neither_the_count_nor_how_far_values_went(tmp_path):
    random = np.random.default_rng(5)
    raw, out = tmp_path / "raw.csv", str(tmp_path / "public.csv")
    ages = [*random.integers(20, 60, 395).tolist(), 93, 94, 95, 96, 97]
    raw.write_text("age,ward\n" + "".join(f"{age},A\n" for age in ages))
    flags = ["--model", "k", "--k", "5", "--quasi", "age", "--keep", "ward", "--suppress-rows", "0.02"]
    assert main(["anonymize", str(raw), *flags, "-o", out]) == 0
    text = (tmp_path / "public.csv.certificate.json").read_text()
    certificate = json.loads(text)
    assert certificate["parameters"]["suppress_rows"] == 0.02
    assert certificate["input"]["rows"] == certificate["output"]["rows"] == certificate["risk"]["rows"] == 392
    assert (
        "Up to 2.00% of the rows may have been left out; a certificate is about the others." in certificate["warnings"]
    )
    assert "400" not in text.replace(certificate["output"]["sha256"], "").replace(
        certificate["input"]["hmac_sha256"], ""
    )
    assert "ncp" not in certificate.get("loss", {})  # it would tell how far the ages of the others went
    assert main(["verify", f"{out}.certificate.json", out]) == 0
    assert main(["verify", f"{out}.certificate.json", out, "--original", str(raw)]) == 0


def test_a_search_that_leaves_out_more_is_refused(monkeypatch):
    honest = tables.without_outliers

    def greedy(run, records, guarantee, trees, options, rt, share):
        return honest(run, records, guarantee, trees, options, rt, 0.5)

    monkeypatch.setattr(tables, "without_outliers", greedy)
    with pytest.raises(ShoalError, match="the audit refuses what mondrian proposed: it leaves out"):
        shoal.anonymize(table(AGES), shoal.TableAnonymity(3), algorithm="mondrian", suppress_rows=0.1)


def test_other_models_have_no_use_for_it():
    with pytest.raises(InputError, match="suppress_rows"):
        shoal.anonymize(table(AGES), shoal.MatchingDiversity(2), suppress_rows=0.1)


def people(n=60, seed=8, odd=3):
    """A table with items; the last rows are far from all others in age, and nobody shares their items."""
    random = np.random.default_rng(seed)
    ages = [*random.integers(30, 34, n - odd).tolist(), *(90 + i for i in range(odd))]
    held = [sorted({"AB"[i % 2], "CD"[i % 3 == 0]}) for i in range(n - odd)] + [[f"Z{i}", "A"] for i in range(odd)]
    return table_with(ages, held)


def table_with(ages, held):
    return Records(
        (
            Column.from_texts("age", "quasi", [str(age) for age in ages], numeric=True),
            Column.from_texts("number", "keep", [str(i) for i in range(len(ages))]),
        ),
        Baskets.from_rows(held),
        "codes",
    )


BESIDE_ITEMS = list(ALGORITHMS["rt"])


@pytest.mark.parametrize("algorithm", BESIDE_ITEMS)
def test_rows_with_items_leave_within_the_share_and_count_as_lost(algorithm):
    whole = {"algorithm": algorithm, **({"delta": 1.0} if "merge" in algorithm else {})}
    release = shoal.anonymize(people(), shoal.RTAnonymity(4, 2), suppress_rows=0.05, keep_order=True, **whole)
    assert release.rows >= 57
    stay = [int(number) for number in release.published["number"].texts()]
    gone = 60 - len(stay)
    assert release.details["suppressed_rows"] == gone
    assert any(f"{gone:,} of 60 rows were left out" in note for note in release.notes)
    original, published = people(), release.published
    before, after = list(original.items.rows()), list(published.items.rows())
    lost = sum(len(before[i]) for i in set(range(60)) - set(stay))
    held = sum(len(set(before[i]) & set(after[at])) for at, i in enumerate(stay))
    assert release.kept["exact"] == pytest.approx(held / original.items.occurrences)
    assert release.remains["items"]["deleted"] >= lost / original.items.occurrences - 1e-12
    assert release.loss["deleted"] == pytest.approx(release.remains["items"]["deleted"])
    assert release.loss["ncp"] == pytest.approx((gone + len(stay) * release.recoding.ncp) / 60)


def test_the_three_that_nobody_is_like_leave():
    release = shoal.anonymize(people(), shoal.RTAnonymity(4, 2), suppress_rows=0.05)
    before = shoal.anonymize(people(), shoal.RTAnonymity(4, 2))
    assert release.rows == 57
    assert not any("9" in text for text in release.published["age"].texts())
    assert release.recoding.ncp < before.recoding.ncp


def test_rows_with_items_leave_where_fewer_than_k_have_any():
    rows = table_with([30 + i % 3 for i in range(40)], [["A"] if i < 2 else [] for i in range(40)])
    with pytest.raises(Unreachable, match="only 2 rows hold any item"):
        shoal.anonymize(rows, shoal.RTAnonymity(4, 2))
    assert shoal.anonymize(rows, shoal.RTAnonymity(4, 2), suppress_rows=0.05).rows == 38


@given(
    st.lists(
        st.tuples(st.integers(20, 40), st.frozensets(st.sampled_from("ABCDE"), max_size=3)), min_size=8, max_size=24
    ),
    st.sampled_from(["joint", "rfirst", "tfirst"]),
    st.sampled_from([0.1, 0.3]),
    st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_what_is_left_beside_items_keeps_the_promise(rows, way, share, diverse):
    records = table_with([age for age, _ in rows], [sorted(held) for _, held in rows])
    promise = shoal.RTAnonymity(3, 2)
    if diverse:
        secret = Column.from_texts("secret", "sensitive", ["xyz"[i % 3] for i in range(len(rows))])
        records, promise = replace(records, columns=(*records.columns, secret)), shoal.LmDiversity(3, 2, 2)
    try:
        release = shoal.anonymize(records, promise, algorithm=way, suppress_rows=share)
    except Unreachable:
        return
    assert release.audit.holds
    assert len(rows) - release.rows <= share * len(rows)


def test_the_certificate_beside_items_tells_the_share_alone(tmp_path):
    raw, out = tmp_path / "raw.csv", str(tmp_path / "public.csv")
    original = people(400, odd=8)
    lines = zip(original["age"].texts(), original.items.rows(), strict=True)
    raw.write_text("age,codes\n" + "".join(f"{age},{' '.join(held)}\n" for age, held in lines))
    flags = ["--model", "rt", "--k", "5", "--quasi", "age", "--items", "codes", "--suppress-rows", "0.02"]
    assert main(["anonymize", str(raw), *flags, "-o", out, "--json"]) == 0
    text = (tmp_path / "public.csv.certificate.json").read_text()
    certificate = json.loads(text)
    assert certificate["parameters"]["suppress_rows"] == 0.02
    assert certificate["input"]["rows"] == certificate["output"]["rows"] == 392
    assert (
        "Up to 2.00% of the rows may have been left out; a certificate is about the others." in certificate["warnings"]
    )
    assert not {"ncp", "ul", "items_ncp"} & set(certificate.get("loss", {}))
    assert main(["verify", f"{out}.certificate.json", out, "--original", str(raw)]) == 0
