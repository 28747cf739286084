"""Charts are well-formed, say what they show, and survive any numbers and names."""

from __future__ import annotations

import math
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from shoal.drawing.charts import Series, front_of, line_chart, scatter_chart

numbers = (
    st.floats(-1e9, 1e9)
    | st.floats(0, 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([math.nan, math.inf, -math.inf, 0.0, 5e-324, -5e-324, 1e9, math.nextafter(1e9, 0)])
)
series = st.lists(
    st.builds(
        Series, st.text("ab<&\"'>é ", max_size=40), st.lists(st.tuples(numbers, numbers), max_size=6), st.booleans()
    ),
    max_size=10,
)


@given(series, st.booleans(), st.booleans(), st.booleans())
def test_any_points_make_a_picture(lines: list[Series], log_x: bool, log_y: bool, percent: bool) -> None:
    how = {"log_x": log_x, "log_y": log_y, "percent": percent}
    for svg in (line_chart("<t>", "x&", "y", lines, **how), scatter_chart("t", "x", "y", lines, front=True, **how)):
        ElementTree.fromstring(svg)
        assert "nan" not in svg
        assert "inf" not in svg


def test_every_point_says_its_figure() -> None:
    svg = line_chart("Loss", "k", "NCP", [Series("exact", [(2, 0.01), (5, 0.025)])], percent=True)
    assert "exact: 2, 1%" in svg
    assert "exact: 5, 2.5%" in svg


def test_a_line_is_broken_where_a_value_is_missing() -> None:
    svg = line_chart("t", "x", "y", [Series("a", [(1, 1), (2, math.nan), (3, 1), (4, 2)])])
    (path,) = [part for part in svg.split("<path ") if 'stroke-width="2"' in part]
    assert path.count("M") == 2
    assert path.count("L") == 1


def test_the_front_has_the_points_that_no_other_beats() -> None:
    assert front_of([(1, 5), (2, 3), (3, 4), (10, 1), (1, 6), (2, 3)]) == [(1, 5), (2, 3), (10, 1)]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=12))
def test_the_front_equals_its_definition(points: list[tuple[int, int]]) -> None:
    def beaten(point: tuple[int, int]) -> bool:
        return any(o != point and o[0] <= point[0] and o[1] <= point[1] for o in points)

    assert front_of(points) == sorted({point for point in points if not beaten(point)})


def test_steps_name_the_places() -> None:
    svg = line_chart("t", "hierarchy", "y", [Series("a", [(0, 1), (1, 2)])], steps=["balanced:5", "learned:5"])
    assert ">balanced:5<" in svg
    assert ">learned:5<" in svg


def test_nothing_is_said_to_be_nothing() -> None:
    assert "nothing to show" in line_chart("t", "x", "y", [])
    assert "nothing to show" in line_chart("t", "x", "y", [Series("a", [(1, math.nan)])])
