"""Trees over dates, in whatever order the day, the month and the year are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import InputError
from shoal.hierarchy.kinds.dates import date_order, date_tree


@pytest.mark.parametrize(
    ("names", "order"),
    [
        (["05.02.2019", "28.02.2019"], "day first"),
        (["05.02.2019", "01.03.2020"], "day first"),  # nobody writes the month first with dots
        (["05/02/2019", "02/28/2019"], "month first"),
        (["5/2/19", "28/2/19"], None),  # of which century?
        (["5 Feb 2019", "28-mar-2020"], "day first"),
        (["February 5th, 2019", "Mar 28, 2020"], "month first"),
        (["20190205", "20201231"], "year first"),
        (["05/05/2019"], "day first"),  # either way the same day
        (["13/02/2019"] * 6 + ["02/13/2019"] * 6, None),
        (["2019-02-05", "2020-12-31"], "year first"),
        (["2019-02-05T12:00:00", "2020-01-01 10:00"], "year first"),
        (["05/02/2019", "01/03/2020"], None),  # nobody can tell
        (["30.02.2019"], None),
        (["80331", "80332"], None),
        ([], None),
    ],
)
def test_the_order_is_found_where_it_can_be(names, order):
    assert date_order(names) == order


def above(tree, name):
    found, v = [], tree.labels.index(name)
    while (v := int(tree.parent[v])) >= 0:
        found.append(tree.labels[v])
    return found


def test_days_go_to_months_and_months_to_years():
    names = [f"{day:02}.03.2021" for day in range(1, 29)] + ["24.12.2019", "?"]
    tree = date_tree(names)
    assert tree.labels[: tree.n_leaves] == ("24.12.2019", *names[:-2], "?")  # in the order of time
    assert above(tree, "07.03.2021") == ["2021-03", "2021-Q1", "2021", "*"]
    assert above(tree, "24.12.2019") == ["2019-12", "2019-Q4", "2019", "*"]
    assert above(tree, "?") == ["*"]
    with pytest.raises(InputError, match="too few of these values are dates"):
        date_tree(["a", "b"])


@given(st.lists(st.dates(), min_size=1, unique=True))
def test_every_date_has_its_year_above_it(dates):
    names = [day.isoformat() for day in dates]
    tree = date_tree(names)
    for day, name in zip(dates, names, strict=True):
        assert above(tree, name) == [name[:7], f"{name[:4]}-Q{(day.month - 1) // 3 + 1}", name[:4], "*"]


def test_levels_are_those_that_are_named_and_weeks_stand_alone():
    names = ["2018-12-31 08:15", "2019-01-01 23:00", "2019-01-01 23:30"]
    assert above(date_tree(names, "year,month"), names[0]) == ["2018-12", "2018", "*"]
    assert above(date_tree(names, "day,week"), names[1]) == ["2019-01-01", "2019-W01", "*"]
    assert above(date_tree(names, "day,week"), names[0]) == ["2018-12-31", "2019-W01", "*"]
    assert above(date_tree(names, "hour,year"), names[2]) == ["2019-01-01T23", "2019", "*"]
    assert above(date_tree(["1/2/2019 1:00 pm"], "mdy,hour"), "1/2/2019 1:00 pm") == ["2019-01-02T13", "*"]
    assert above(date_tree(["1/2/2019 1:00 pm"], "dmy,hour"), "1/2/2019 1:00 pm") == ["2019-02-01T13", "*"]


@pytest.mark.parametrize(
    ("names", "parameter", "why"),
    [
        (
            ["05/02/2019", "01/03/2020"],
            "",
            "cannot be told apart, for no day is above the 12th; .* dates:dmy or dates:mdy",
        ),
        (["13/02/2019"] + ["02/11/2019"] * 18 + ["02/13/2019"], "", "some have the day first and others the month"),
        (["5/2/19", "28/2/19"], "", "years of two digits, which may be of any century; write them with four"),
        (["2019-02-05"], "decade", "is not known; name levels among year, quarter"),
        (["2019-02-05"], "month,week", "a week may lie in two months"),
        (["2019-02"], "week", "some of its dates are months without a day"),
    ],
)
def test_nothing_is_guessed(names, parameter, why):
    with pytest.raises(InputError, match=why):
        date_tree(names, parameter)
