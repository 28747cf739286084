"""The background knowledge attack: what it makes of Anatomy's buckets and of Injector's."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_buckets
from shoal.algorithms.buckets.anatomy import anatomy
from shoal.algorithms.buckets.injector import injector
from shoal.algorithms.buckets.negative_rules import negative_rules, value_hierarchies
from shoal.algorithms.buckets.rule_files import rule_edits
from shoal.algorithms.recoding import Options
from shoal.attacks.background import background_attack
from shoal.errors import InputError
from shoal.guarantees.diversity import MatchingDiversity
from shoal.hierarchy.spec import column_hierarchy
from shoal.records.buckets import Buckets
from shoal.records.records import Column, Records

TABLE_I = (
    ["F", "F", "M", "M", "F", "M", "M", "M", "M"],
    ["Ovarian Cancer"] * 2 + ["Prostate Cancer", "Flu"] + ["Heart Disease"] * 2 + ["Heart Disease", "Flu", "Flu"],
)


def patients():
    return Records(
        (Column.from_texts("sex", "quasi", TABLE_I[0]), Column.from_texts("disease", "sensitive", TABLE_I[1]))
    )


def census(n=600, seed=3):
    """Women never have o, men never have t; both have the other values alike."""
    random = np.random.default_rng(seed)
    sex = random.choice(["F", "M"], n)
    value = np.where(random.random(n) < 0.2, np.where(sex == "F", "t", "o"), random.choice(list("pqrs"), n))
    return Records(
        (Column.from_texts("sex", "quasi", sex.tolist()), Column.from_texts("s", "sensitive", value.tolist()))
    )


def test_bob_has_prostate_cancer():
    """Section II: Bob is the man of the first group of Table II."""
    published = Buckets.of(patients(), np.repeat([0, 1, 2], 3))
    assert published.content(0) == {"Ovarian Cancer": 2, "Prostate Cancer": 1}
    assert published.content(1) == {"Flu": 1, "Heart Disease": 2}
    assert published.content(2) == {"Flu": 2, "Heart Disease": 1}
    rules = negative_rules(patients(), min_exp=0.75)
    attack = background_attack(published, rules, 2)
    # Crossing out leaves Bob one value; that he has it leaves the two women the other.
    assert (attack.crossed_out, attack.narrowed, attack.certain) == (1, 3, 3)
    assert attack.by_values == (0, 3, 6)
    bob = next(example for example in attack.examples if example.row == 3)
    assert bob.left == ("Prostate Cancer",)
    assert bob.rules == ("sex=M => not Ovarian Cancer",)
    assert str(bob) == (
        "row 3 (sex=M) is in bucket 1 with Ovarian Cancer, Prostate Cancer; sex=M => not Ovarian Cancer: that leaves Prostate Cancer"
    )
    woman = next(example for example in attack.examples if example.row == 1)
    assert woman.rules == ()
    assert str(woman).endswith("that leaves Ovarian Cancer (other rows need the rest)")
    assert attack.share == pytest.approx(1 / 3)
    assert attack.to_dict()["narrowed"] == 3


@pytest.mark.parametrize("l", [2, 3, 4])
def test_anatomy_is_thinned_out_and_injector_is_not(l):  # noqa: E741
    records = census()
    rules = negative_rules(records, min_exp=0.9)
    assert {str(rule) for rule in rules} == {"sex=F => not o", "sex=M => not t"}
    guarantee = MatchingDiversity(l, rules)
    by_lot = background_attack(anatomy(records, guarantee, None, Options()).buckets, rules, l)
    by_rules = background_attack(injector(records, guarantee, None, Options()).buckets, rules, l)
    assert by_lot.narrowed > 0
    assert by_lot.share > 0.1
    assert by_rules.narrowed == by_rules.certain == by_rules.crossed_out == 0
    assert by_lot.certain > 0


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("pqr"), st.integers(0, 1)), min_size=1, max_size=7),
    st.sets(st.tuples(st.sampled_from("ab"), st.sampled_from("pqr"))),
    st.integers(1, 3),
)
@settings(max_examples=150)
def test_the_attack_finds_what_all_assignments_find(rows, pairs, l):  # noqa: E741
    records = Records(
        (
            Column.from_texts("a", "quasi", [r[0] for r in rows]),
            Column.from_texts("s", "sensitive", [r[1] for r in rows]),
        )
    )
    lines = [
        f'{{"if": {{"a": "{a}"}}, "never": "{s}"}}'
        for a, s in sorted(pairs)
        if a in records["a"].values and s in records["s"].values
    ]
    rules = rule_edits(lines, value_hierarchies(records, {}), records["s"]).added
    attack = background_attack(Buckets.of(records, np.array([r[2] for r in rows])), rules, l, examples=10)
    left, crossed = [], 0
    for b in (0, 1):
        members = [r for r in rows if r[2] == b]
        sets = [{s for a, s in pairs if a == r[0]} for r in members]
        found = naive_buckets.valid(sets, [r[1] for r in members])
        crossed += sum(len({r[1] for r in members} - bad) < l for bad in sets)
        left += [len(values) for values in found]
    assert attack.narrowed == sum(0 < n < l for n in left)
    assert attack.certain == left.count(1)
    assert attack.contradicted == left.count(0)
    assert attack.crossed_out == crossed
    assert all(len(example.left) < l and str(example) for example in attack.examples)


def test_without_rules_only_the_buckets_speak():
    records = patients()
    none = negative_rules(records, min_exp=0.99)
    assert len(none) == 0
    attack = background_attack(Buckets.of(records, np.repeat([0, 1, 2], 3)), none, 2)
    assert attack.narrowed == 0
    assert attack.by_values == (0, 0, 9)
    with pytest.raises(InputError, match="l must be"):
        background_attack(Buckets.of(records, np.zeros(9)), none, 0)


@pytest.mark.skipif(not os.environ.get("SHOAL_DATA"), reason="needs the Adult data in SHOAL_DATA")
@pytest.mark.parametrize("l", [3, 6])
def test_figure_4_on_adult(l):  # noqa: E741
    """Injector has no vulnerable tuples, Anatomy some hundreds, and more for larger l."""
    pl = pytest.importorskip("polars")
    folder = Path(os.environ["SHOAL_DATA"]) / "adult"
    names = ["age", "workclass", "education", "marital-status", "race", "sex"]
    frame = pl.read_csv(folder / "adult.csv.gz", null_values=["?"]).drop_nulls([*names, "occupation"])
    columns = [Column.from_texts(name, "quasi", map(str, frame[name].to_list())) for name in names]
    records = Records((*columns, Column.from_texts("occupation", "sensitive", frame["occupation"].to_list())))
    trees = {c.name: column_hierarchy(c, folder / "hierarchies_arx" / f"adult_hierarchy_{c.name}.csv") for c in columns}
    rules = negative_rules(records, trees, min_exp=0.9, max_length=1)
    guarantee = MatchingDiversity(l, rules)
    injected = injector(records, guarantee, trees, Options()).buckets
    assert guarantee.audit(injected).holds
    assert background_attack(injected, rules, l).narrowed == 0
    by_lot = background_attack(anatomy(records, guarantee, trees, Options()).buckets, rules, l)
    assert 300 < by_lot.narrowed < 1200
    assert by_lot.certain > 0
