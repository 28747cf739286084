"""Trees over dates, in whatever order the day, the month and the year are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import InputError
from shoal.hierarchy.dates import date_order, date_tree


@pytest.mark.parametrize(
    ("names", "order"),
    [
        (["05.02.2019", "28.02.2019"], "day first"),
        (["05.02.2019", "01.03.2020"], "day first"),  # nobody writes the month first with dots
        (["05/02/2019", "02/28/2019"], "month first"),
        (["5/2/19", "28/2/19"], "day first"),
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
    assert above(tree, "07.03.2021") == ["2021-03", "2021", "*"]
    assert above(tree, "24.12.2019") == ["2019-12", "2019", "*"]
    assert above(tree, "?") == ["*"]
    with pytest.raises(InputError, match="too few of these values are dates"):
        date_tree(["a", "b"])


@given(st.lists(st.dates(), min_size=1, unique=True))
def test_every_date_has_its_year_above_it(dates):
    names = [day.isoformat() for day in dates]
    tree = date_tree(names)
    for day, name in zip(dates, names, strict=True):
        assert above(tree, name) == [name[:7], f"{day.year:04}", "*"]
