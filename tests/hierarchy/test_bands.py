"""Numbers in bands, rounded and coded at their ends; bands that the data hold; durations; codes by lengths of their beginnings."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import InputError
from shoal.hierarchy.kinds.bands import band_in, band_order
from shoal.hierarchy.kinds.durations import duration_in
from shoal.hierarchy.kinds.recognition import recognise
from shoal.hierarchy.spec import column_hierarchy
from shoal.records.records import Column

AGES = ("3", "17", "18", "22", "43", "44", "45", "64", "65", "88", "91", "97", "")


def column(*values):
    return Column.from_texts("x", "quasi", values)


def paths(values, spec):
    """Per value, what it may be published as, from the lowest on."""
    tree = column_hierarchy(column(*values), spec)
    found = {}
    for name, v in zip(values, tree.lowest_of(values).tolist(), strict=True):
        found[name] = [tree.names[v]]
        while (v := int(tree.parent[v])) >= 0:
            found[name].append(tree.names[v])
    return found


def refusal(values, spec):
    with pytest.raises(InputError) as error:
        column_hierarchy(column(*values), spec)
    return str(error.value)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("bands:10", {"43": ["[40-50)", "[40-80)", "[0-80)", "*"], "97": ["[90-100)", "[80-100)", "*"]}),
        ("bands:0,18,65", {"17": ["[0-18)", "*"], "18": ["[18-65)", "18+", "*"], "65": ["65+", "18+", "*"]}),
        ("round:5", {"43": ["45", "[40:75]", "[0:75]", "*"], "17": ["15", "[0:15]", "[0:35]", "[0:75]", "*"]}),
        ("top:90", {"91": ["90+", "80+", "50+", "*"], "45": ["45", "[44:49]", "[20:49]", "[0:49]", "*"]}),
        ("bottom:18", {"17": ["<18", "<20", "<44", "<80", "*"], "18": ["18", "<20", "<44", "<80", "*"]}),
        ("bands:10,top:90", {"97": ["90+", "80+", "*"], "88": ["[80-90)", "80+", "*"]}),
        (
            "round:5,bottom:20,top:90",
            {"17": ["<20", "<40", "<80", "*"], "88": ["90+", "*"], "65": ["65", "[40:75]", "<80", "*"]},
        ),
    ],
)
def test_numbers_are_published_in_cells(spec, expected):
    found = paths(AGES, spec)
    assert {name: found[name] for name in expected} == expected
    assert found[""] == ["", "*"]


@given(
    st.sets(st.integers(-300, 300), min_size=1, max_size=30),
    st.sampled_from(["bands:7", "bands:10,top:80", "bands:-50,0,18,65", "bands:10,bottom:-20,top:50"]),
)
@settings(max_examples=60)
def test_a_number_lies_in_every_cell_that_it_may_be_published_as(numbers, spec):
    for name, labels in paths([str(n) for n in numbers], spec).items():
        for label in labels[:-1]:
            assert _holds(label, int(name)), label


def _holds(label, number):
    if label.startswith("<"):
        return number < int(label[1:])
    if label.endswith("+"):
        return number >= int(label[:-1])
    low, high = label[1:-1].split(" to ") if " to " in label else label[1:-1].split("-")
    return int(low) <= number < int(high)


@given(
    st.sets(
        st.decimals(-50, 50, places=1).map(lambda d: f"{d:.1f}").filter(lambda s: s != "-0.0"), min_size=1, max_size=20
    )
)
@settings(max_examples=40)
def test_a_number_is_rounded_by_half_a_step_at_the_most(values):
    for name, labels in paths(values, "round:2.5").items():
        if "*" not in labels[0]:
            assert abs(Fraction(labels[0]) - Fraction(name)) <= Fraction("1.25")


def test_a_rounded_number_is_told_apart_from_the_value_of_that_name():
    tree = column_hierarchy(column("43", "44", "45", "60"), "round:5")
    assert tree.names[: tree.n_leaves] == ("43", "44", "=45", "=60")
    assert tree.coarsened == {"43", "44", "45", "60"}
    assert tree.names[tree.floor[0]] == "45"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (("[0-10)", "[10-20)", "[20-30)", "[30-40)"), {"[10-20)": ["[10-20)", "[0-20)", "*"]}),
        (("<18", "18-64", "65-74", "75+"), {"18-64": ["18-64", "<=64", "*"], "75+": ["75+", "65+", "*"]}),
        (("0-9", "10-19", "20-29", "100-109"), {"100-109": ["100-109", "20-109", "*"]}),
        (("88", "89", "90+"), {"88": ["88", "88-89", "*"], "90+": ["90+", "*"]}),
        (("0-4 years", "5-9 years", "10+ years"), {"0-4 years": ["0-4 years", "0-9 years", "*"]}),
    ],
)
def test_bands_of_the_data_join_their_neighbours(values, expected):
    found = paths(values, "bands")
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(
    "values",
    [("0-10", "5-20"), ("12:30", "13:30"), ("a", "b"), ("2019-02", "2019-03"), ("1", "2"), ("0-4 years", "5-9 weeks")],
)
def test_what_does_not_stand_in_an_order_is_no_band(values):
    assert band_order(values) is None


def test_a_band_tells_its_bounds():
    assert band_in("[50-60)")[:4] == ("50", "60", "[", ")")
    assert band_in("> 64")[:4] == ("64", "", "(", "")
    assert band_in("60-50") is None


def test_durations_lie_in_days_and_weeks_and_months_in_years():
    stays = ("12h", "2 weeks", "3 days", "P1D", "36:00:00")
    assert paths(stays, "durations:1d,7d")["P1D"] == ["P1D", "[1d-2d)", "[0-7d)", "*"]
    assert paths(stays, "durations:1d,7d")["36:00:00"] == ["36:00:00", "[1d-2d)", "[0-7d)", "*"]
    assert paths(("3 y", "14 months"), "durations:1y")["14 months"] == ["14 months", "[1y-2y)", "*"]
    assert "count in months and in days" in refusal(("3 y", "14 days"), "durations")
    assert "use for example durations:1d,7d" in refusal(stays, "durations:2d,7d")
    assert duration_in("P1DT12H") == (Fraction(129_600), False)
    assert duration_in("P") is None
    assert duration_in("3 apples") is None


def test_codes_are_cut_at_the_lengths_that_are_named():
    assert paths(("80331", "80335", "80999", "81000"), "prefix:3,2")["80335"] == ["80335", "803*", "80*", "*"]


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("bands:10,top:85", "must be multiples of 10; use for example top:90"),
        ("bands:20,10", "borders ascend"),
        ("bands:0", "widths are more than 0"),
        ("bands:0,18,top:90", "have ends already"),
        ("round:5,5", "is not complete"),
        ("bands:10,round:5", "is not complete"),
        ("bottom:90,top:18", "the bottom must lie below the top"),
        ("bands", "is not complete"),
    ],
)
def test_bad_cells_are_refused_with_an_example(spec, why):
    assert why in refusal(AGES, spec)


def test_cells_of_numbers_are_for_numbers():
    assert "is for numbers" in refusal(("a", "b"), "round:5")
    assert "neither numbers nor bands" in refusal(("a", "b"), "bands")


@pytest.mark.parametrize(
    ("values", "spec", "words"),
    [
        (["05.02.2019", "28.02.2019"], "dates", "dates, day.month.year"),
        (["2019-02-05 12:00", "2019-02-06 13:00"], "dates", "dates, year-month-day with times"),
        (["05/02/2019", "01/03/2020"], None, "cannot be told apart"),
        (["3 days", "2w"], "durations", "durations, in days"),
        (["[0-10)", "[10-20)"], "bands", "bands that stand in an order"),
        (["low", "high"], None, ""),
        (["low"], None, ""),
    ],
)
def test_what_a_column_holds_is_recognised_with_a_reason(values, spec, words):
    found = recognise(values)
    assert found.spec == spec
    assert words in found.reason
    assert column_hierarchy(column(*values)).source == (spec or "flat")
    assert column_hierarchy(column(*values), "flat").source == "flat"
