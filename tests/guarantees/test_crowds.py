"""t-closeness and 1/l of sensitive columns beside items: every crowd that a class and up to m items leave, by brute force and by attack."""

from __future__ import annotations

import csv
import json
from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from naive_audits import telling_crowds
from rt_tables import column
from shoal.algorithms import ALGORITHMS
from shoal.algorithms.rt import transaction
from shoal.cli import main
from shoal.errors import InputError, ShoalError, Unreachable
from shoal.guarantees.lm import LmDiversity
from shoal.guarantees.rt import RTAnonymity
from shoal.records.baskets import Baskets
from shoal.records.records import Records

people = st.lists(
    st.tuples(
        st.integers(0, 1), st.frozensets(st.sampled_from("ABC"), max_size=3), st.integers(0, 3), st.integers(0, 2)
    ),
    min_size=1,
    max_size=14,
)


def table(rows, missing=()):
    """Rows of (class, items, pay, ward); both last ones are sensitive."""
    pay = [None if i in missing else row[2] for i, row in enumerate(rows)]
    return Records(
        (
            column("class", [f"c{row[0]}" for row in rows]),
            column("pay", pay, "sensitive", numeric=True),
            column("ward", [str(row[3]) for row in rows], "sensitive", numeric=False),
        ),
        Baskets.from_rows([sorted(row[1]) for row in rows]),
        "codes",
    )


def as_texts(rows):
    return [{"class": c, "codes": sorted(items), "pay": str(pay), "ward": str(ward)} for c, items, pay, ward in rows]


@settings(max_examples=60, deadline=None)
@given(people, st.integers(1, 3), st.sampled_from([1, 2, 3]), st.sampled_from([None, 0.1, 0.3, 0.5]), st.booleans())
def test_the_audit_counts_the_crowds_that_brute_force_counts(rows, m, l, t, ordered):  # noqa: E741
    ways = {"pay": "ordered" if ordered else "equal", "ward": "equal"}
    promise = LmDiversity(1, l, m, t=t, distance=ways if t is not None else None)
    telling = telling_crowds(as_texts(rows), m, l, t, ["class"], ["pay", "ward"], ways)
    audit = promise.audit(table(rows), witnesses=10_000)
    if l == 1 and t is None:
        assert audit.holds
        return
    assert audit.facts["telling_crowds"] == len(telling)
    assert audit.holds == (not telling)
    assert {(w.group[0], w.items) for w in audit.witnesses} == {(f"c{c}", chosen) for c, chosen in telling}
    assert all(len(w.rows) == w.support for w in audit.witnesses)
    assert promise.audit(table(rows), threads=2, yes_or_no=True).holds == audit.holds


@settings(max_examples=30, deadline=None)
@given(people.filter(lambda rows: len(rows) <= 6), st.integers(0, 2), st.sampled_from([2, 3]))
def test_no_way_to_fill_in_what_is_missing_breaks_a_promise_that_holds(rows, gaps, l):  # noqa: E741
    empty = range(min(gaps, len(rows)))
    promise = LmDiversity(1, l, 2, t=0.6, distance={"pay": "ordered", "ward": "equal"})
    if not promise.audit(table(rows, empty)).holds:
        return
    known = sorted({row[2] for row in rows[len(empty) :]})
    for values in product(known, repeat=len(empty)):
        filled = [(*row[:2], values[i] if i in empty else row[2], row[3]) for i, row in enumerate(rows)]
        assert promise.audit(table(filled)).holds


def patients(n=240, seed=3):
    random = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        pay = int(random.choice([0, 1, 2, 3], p=[0.4, 0.3, 0.2, 0.1]))
        # The items tell of the pay: a release that looks at classes alone would give it away.
        held = {f"P{pay}"} if random.random() < 0.5 else set()
        held |= set(random.choice(["A", "B", "C", "D"], int(random.integers(0, 3))).tolist())
        rows.append((int(random.integers(20, 60)), frozenset(held), pay, int(random.integers(0, 3))))
    return rows


def records_of(rows):
    laid = table(rows)
    ages = column("age", [row[0] for row in rows], numeric=True)
    return Records((ages, *laid.of_role("sensitive")), laid.items, "codes")


def beliefs(published, m):
    """Per crowd of an attacker who knows the class and up to m items, (pay, ward) of its rows."""
    ages, pay, ward = (published[name].texts() for name in ("age", "pay", "ward"))
    crowds = {}
    for age, items, *told in zip(ages, published.items.rows(), pay, ward, strict=True):
        for size in range(m + 1):
            for chosen in combinations(sorted(items), size):
                crowds.setdefault((age, chosen), []).append(tuple(told))
    return crowds


@pytest.mark.parametrize("transaction", ["local", "sets"])
@pytest.mark.parametrize("algorithm", list(ALGORITHMS["rt"]))
def test_an_attacker_learns_no_more_than_t_of_anybody(algorithm, transaction):
    rows = patients()
    promise = RTAnonymity(4, 2, t=0.3, distance="equal")
    how = {"delta": 1.0} if "merge" in algorithm else {}
    release = shoal.anonymize(records_of(rows), promise, algorithm=algorithm, transaction=transaction, **how)
    for place, name in enumerate(("pay", "ward")):
        prior = Counter(release.published[name].texts())
        for told in beliefs(release.published, 2).values():
            own = Counter(values[place] for values in told)
            far = sum(abs(own[v] / len(told) - prior[v] / len(rows)) for v in prior) / 2
            assert far <= 0.3 + 1e-9
            assert len(told) >= 4


@pytest.mark.parametrize("algorithm", ["joint", "rfirst", "tfirst"])
def test_an_attacker_is_never_surer_than_one_of_l(algorithm):
    rows = [row for row in patients() if row[2] or row[0] % 2]
    release = shoal.anonymize(records_of(rows), LmDiversity(3, 2, 2), algorithm=algorithm)
    assert release.guarantee.missing == {"pay": "unknown", "ward": "unknown"}
    for told in beliefs(release.published, 2).values():
        for place in range(2):
            assert max(Counter(values[place] for values in told).values()) * 2 <= len(told)


def test_without_t_the_items_give_away_what_the_classes_hide():
    rows = patients()
    told = beliefs(shoal.anonymize(records_of(rows), RTAnonymity(4, 2)).published, 2)
    assert any(len({pay for pay, _ in crowd}) == 1 for crowd in told.values())


def test_a_search_that_overlooks_crowds_is_refused(monkeypatch):
    monkeypatch.setattr(transaction, "lacking_tokens", lambda offsets, tokens, n, rows, demands: np.zeros(n, np.bool_))
    monkeypatch.setattr(transaction, "lacking_set", lambda *args: np.zeros(0, np.int64))
    with pytest.raises(ShoalError, match="the audit refuses what rfirst proposed"):
        shoal.anonymize(records_of(patients()), RTAnonymity(4, 2, t=0.3), algorithm="rfirst")


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(20, 40),
            st.frozensets(st.sampled_from("ABCD"), max_size=3),
            st.integers(0, 2),
            st.integers(0, 1),
        ),
        min_size=6,
        max_size=30,
    ),
    st.sampled_from(["joint", "rfirst", "rmerge-r", "tfirst"]),
    st.sampled_from(["local", "sets"]),
    st.sampled_from([0.15, 0.4]),
    st.sampled_from(["equal", "ordered"]),
)
def test_random_tables_keep_the_promise_or_are_refused(rows, algorithm, transaction, t, way):
    how = {"delta": 1.0} if algorithm == "rmerge-r" else {}
    promise = RTAnonymity(2, 2, t=t, distance=way)
    try:
        release = shoal.anonymize(records_of(rows), promise, algorithm=algorithm, transaction=transaction, **how)
    except Unreachable:
        filled = [row for row in rows if row[1]]  # what no generalization changes
        shares = [[np.bincount([row[p] for row in some], minlength=3) for p in (2, 3)] for some in (rows, filled)]
        assert len(filled) < 2 or not np.array_equal(*(np.ravel(own) / np.sum(own) for own in shares))
        return
    assert release.audit.holds


@pytest.fixture
def raw(tmp_path):
    path = tmp_path / "raw.csv"
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "codes", "pay", "ward"])
        writer.writerows([age, " ".join(sorted(held)), pay, f"W{ward}"] for age, held, pay, ward in patients())
    return str(path)


FLAGS = ["--quasi", "age", "--items", "codes", "--sensitive", "pay,ward"]


@pytest.mark.parametrize("model", [["--model", "rt"], ["--model", "lm", "--l", "2", "--l-kind", "frequency"]])
def test_the_command_line_writes_certifies_and_verifies_it(raw, tmp_path, model, capsys):
    out = str(tmp_path / "public.csv")
    promise = [*model, "--k", "4", "--m", "2", "--t", "0.35", "--distance", "pay=ordered"]
    assert main(["anonymize", raw, *promise, *FLAGS, "-o", out]) == 0
    certificate = json.loads((tmp_path / "public.csv.certificate.json").read_text())
    assert certificate["guarantee"]["t"] == 0.35
    assert certificate["guarantee"]["distance"] == {"pay": "ordered", "ward": "equal"}
    assert certificate["output"]["columns"]["pay"] == "sensitive"
    assert certificate["audit"]["farthest_crowd"] <= 0.35
    assert "among the records that fit is close" in " ".join(certificate["promised"])
    assert main(["verify", f"{out}.certificate.json", out, "--original", raw]) == 0
    assert main(["audit", out, *promise, *FLAGS]) == 0
    assert main(["audit", raw, *promise, *FLAGS]) == 3
    capsys.readouterr()
    certificate["guarantee"]["t"] = 0.01
    (tmp_path / "forged.json").write_text(json.dumps(certificate))
    assert main(["verify", str(tmp_path / "forged.json"), out]) == 3


def test_what_makes_no_sense_is_refused(raw):
    with pytest.raises(InputError, match="none is named"):
        shoal.anonymize(raw, RTAnonymity(4, 2, t=0.3), quasi="age", items="codes", keep="pay,ward")
    with pytest.raises(InputError, match="sensitive columns of one value a row"):
        shoal.anonymize(raw, RTAnonymity(4, 2, t=0.3), quasi="age", items="codes", keep="pay,ward", sensitive="A")
    with pytest.raises(InputError, match="without t"):
        RTAnonymity(4, 2, distance="equal")
    with pytest.raises(InputError, match="without l or t"):
        RTAnonymity(4, 2, missing="value")
    with pytest.raises(InputError, match="from 0 to 1"):
        LmDiversity(4, 2, 2, t=1.5)
    with pytest.raises(InputError, match="limits"):
        shoal.anonymize(
            raw, RTAnonymity(4, 2, t=0.3), quasi="age", items="codes", sensitive="pay,ward", limits={"age": 10}
        )
    assert main(["anonymize", raw, "--model", "lm", "--l-kind", "distinct", *FLAGS]) == 2
    assert main(["anonymize", raw, "--model", "rt", "--l", "2", *FLAGS]) == 2


def test_a_column_alone_beside_items_is_a_set_unless_something_is_said_of_its_values(raw):
    alone = {"quasi": "age", "items": "codes", "sensitive": "ward", "keep": "pay"}
    assert shoal.anonymize(raw, LmDiversity(4, 2, 2), **alone).published.sensitive_items == {"W0", "W1", "W2"}
    read = shoal.anonymize(raw, LmDiversity(4, 2, 2, missing="value"), **alone)
    assert [c.name for c in read.published.of_role("sensitive")] == ["ward"]
    assert read.audit.facts["likeliest_sensitive"] <= 0.5
