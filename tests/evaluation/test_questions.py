"""Questions with true and published answers, against counts by hand."""

from __future__ import annotations

import random

import polars as pl
import pytest

import shoal
from shoal.errors import InputError
from shoal.evaluation.pair import read_pair
from shoal.evaluation.questions import (
    distributions,
    query_words,
    question_of,
    records_before_and_after,
    replies,
    usual_questions,
)
from shoal.evaluation.request import with_standards
from shoal.records.source import load_records

LOTS = random.Random(4)
PEOPLE = [
    {"age": LOTS.randint(20, 60), "sex": LOTS.choice("MF"), "codes": sorted(set(LOTS.choices("ABCDEF", k=3)))}
    for _ in range(200)
]
TABLE = pl.DataFrame(PEOPLE)


def pair_of(published=TABLE):
    asked = {"quasi": ["age", "sex"], "items": "codes"}
    return read_pair(load_records(TABLE, **asked).records, published, with_standards(asked))


def rows_with(items=(), **values):
    return sum(
        {*items} <= {*one["codes"]} and all(one[name] == value for name, value in values.items()) for one in PEOPLE
    )


def test_a_release_that_changes_nothing_answers_as_the_original():
    pair = pair_of()
    asked = [
        question_of(pair.original, ["A"]),
        question_of(pair.original, ["A", "B"], "sex", "M"),
        question_of(pair.original, [], "age", str(PEOPLE[0]["age"])),
    ]
    truth = [rows_with("A"), rows_with("AB", sex="M"), rows_with(age=PEOPLE[0]["age"])]
    told = replies(pair, asked)
    assert [one.true for one in told] == truth
    assert [one.published for one in told] == pytest.approx(truth)
    assert [query_words(one.query) for one in told] == ["A", "sex is M, with A and B", f"age is {PEOPLE[0]['age']}"]


def test_the_usual_questions_are_the_commonest_pairs_and_ten_counts():
    pair = pair_of()
    asked = usual_questions(pair)
    assert [len(asked[name]) for name in ("pairs", "counts")] == [10, 10]
    told = replies(pair, asked["pairs"])
    every = sorted((rows_with(one + other) for one in "ABCDEF" for other in "ABCDEF" if one < other), reverse=True)
    assert [one.true for one in told] == every[:10]
    assert all(one.true > 0 for one in replies(pair, asked["counts"]))
    assert asked == usual_questions(pair)


def test_distributions_count_every_row_of_a_column():
    ages, sexes, items = distributions(pair_of())
    assert (ages["column"], sexes["column"], items["column"]) == ("age", "sex", "")
    assert sum(ages["before"]) == sum(sexes["before"]) == len(PEOPLE)
    assert dict(zip(sexes["labels"], sexes["before"], strict=True)) == {sex: rows_with(sex=sex) for sex in "MF"}
    assert dict(zip(items["labels"], items["before"], strict=True)) == {name: rows_with(name) for name in "ABCDEF"}
    assert ages["after"] == pytest.approx(ages["before"])


def test_what_the_data_do_not_have_is_refused_without_naming_it():
    original = pair_of().original
    for given in ((["Z"],), ([], "town", "x"), ([], "sex", "X"), ([],)):
        with pytest.raises(InputError) as refused:
            question_of(original, *given)
        assert "Z" not in str(refused.value).split()
    assert question_of(original, ["A"]).items == {"A"}


def test_a_record_is_shown_as_it_was_and_as_it_is_published():
    release = shoal.anonymize(TABLE, shoal.RTAnonymity(k=5, m=2), quasi=["age", "sex"], items="codes")
    original = load_records(TABLE, quasi=["age", "sex"], items="codes").records
    shown = records_before_and_after(original, release.proposal)
    assert len(shown) == 10
    raw = [{"age": str(one["age"]), "sex": one["sex"], "codes": one["codes"]} for one in PEOPLE]
    assert all(one["before"] in raw for one in shown)
    assert shown[0]["before"] != shown[0]["after"]
    for one in shown:  # a range holds the age that it stands for
        low, _, high = one["after"]["age"].strip("[]").partition(":")
        assert one["after"]["age"] == "*" or int(low) <= int(one["before"]["age"]) <= int(high or low)
