"""The decision map of the app: where drafts stand, what estimates and runs tell, and the words of points."""

from __future__ import annotations

import copy
from types import SimpleNamespace

import pytest

from shoal.app.panels.promise import estimates
from shoal.app.panels.promise.map_card import (
    cell_words,
    frontier_picture,
    how_words,
    place_of,
    points_of,
    put,
    spot_of_estimate,
    spot_of_run,
    spot_words,
)
from shoal.app.panels.result.results import SIDES
from shoal.app.panels.risk.risk_words import curve_picture
from shoal.app.widgets.pictures import Bars, Group, Lines, options_of, rows_of
from shoal.drawing.charts import Series
from shoal.drawing.palette import DARK_SERIES, DARK_TONES, SERIES, TONES
from shoal.drawing.risk_plots import values_left_plot
from shoal.estimates.decision_map import Spot, knee_of, narrow
from shoal.estimates.outlook import Range
from shoal.plan import plan_of

SETS = {
    "version": 1, "input": {"path": "sets.csv", "separator": "|"}, "columns": {"items": "items"},
    "guarantee": {"model": "km", "k": 7, "m": 2}, "algorithm": "local",
}  # fmt: skip
TABLE = {
    "version": 1, "input": {"path": "t.csv", "separator": "|"}, "columns": {"age": "quasi", "codes": "items"},
    "guarantee": {"model": "rt", "k": 5, "m": 2}, "algorithm": "rmerge-r", "options": {"delta": 0.3},
}  # fmt: skip


@pytest.mark.parametrize("document", [SETS, TABLE])
def test_every_point_is_a_plan_and_the_first_is_the_draft(document):
    points = points_of(copy.deepcopy(document))
    assert points[0] == (place_of(document), document)
    for at, there in points:
        plan_of(there)
        assert place_of(there) == at


def test_a_point_can_be_taken_and_options_that_do_not_fit_go():
    document = copy.deepcopy(TABLE)
    put(document, {"algorithm": "joint", "balance": 0.75})
    assert (document["algorithm"], document["options"]) == ("joint", {"balance": 0.75})
    put(document, {"algorithm": "tfirst"})
    assert "balance" not in document.get("options", {})
    document = copy.deepcopy(SETS)
    put(document, {"k": 20, "m": 3})
    assert document["guarantee"] == {"model": "km", "k": 20, "m": 3}


def test_what_estimates_and_runs_tell():
    found = {"kept": {"info": [0.8, 0.84]}, "sides": {}, "left": 0.01, "sample": 2000}
    (spot,) = narrow([spot_of_estimate({"k": 5, "m": 2}, found)])
    assert (spot.how, cell_words(spot, "info"), cell_words(spot, "risk")) == (
        "estimated",
        ("82%", "est."),
        ("1.0%", "est."),
    )
    assert "keeps 82% of the information; estimated on 2,000 rows; 1.0% of the rows" in spot_words(spot, True, True)
    assert spot_words(spot, True, True).endswith("the plan stands here; proposed")
    (vague,) = narrow([spot_of_estimate({"k": 5, "m": 2}, found | {"kept": {"info": [0.3, 0.9]}})])
    assert (vague.how, cell_words(vague, "info")[0], how_words(vague)) == (
        "unknown",
        "?",
        "unknown: tried on 2,000 rows",
    )
    curve = {"after": [{"m": 3, "share_unique": 0.25}]}
    run = {"release": {"loss": {"info": 0.1}, "rows": 90}, "evaluation": {"risk": {"uniqueness": curve}}}
    (done,) = narrow([spot_of_run({"k": 5, "m": 2}, run)])
    assert (done.how, done.share, done.risk, cell_words(done, "info")) == ("run", 0.9, 0.25, ("90%", "run"))
    assert spot_of_run({"k": 5}, {"release": {"loss": {"il": 0.1}, "rows": 90}}) is None
    refused = Spot({"k": 99, "m": 3}, why="There are too few rows.")
    assert (cell_words(refused, "info"), how_words(refused)) == (("–", "none"), "cannot be kept")


def test_a_frontier_is_drawn_with_its_knee():
    def way(balance, columns, items):
        sides = (Range(columns, columns), Range(items, items))
        return Spot({"algorithm": "joint", "balance": balance}, sides[0], sides, "estimated", sample=90)

    spots = [way(0.0, 0.0, 1.0), way(0.5, 0.9, 0.8), way(1.0, 1.0, 0.1)]
    header, rows = rows_of(frontier_picture(spots, knee_of(spots)))
    assert header[1:3] == ["lost in columns", "lost in items"]
    assert [row[-1].startswith("★") for row in rows] == [False, True, False]


def test_pictures_are_told_to_the_chart_and_to_the_table_alike():
    bars = Bars(
        "Rows",
        ["<b>", "y"],
        [Group("original", [1.0, 0.5], ["2", "1"], "before"), Group("release", [0.5, 0], ["1", "0"], "after")],
    )
    told = options_of(bars)
    assert [one["itemStyle"]["color"] for one in told["series"]] == ["var(--sh-tone-before)", "var(--sh-tone-after)"]
    assert [point["tip"] for point in told["series"][0]["data"]] == ["<b>, original: 2", "y, original: 1"]
    assert rows_of(bars) == (["", "original", "release"], [["<b>", "2", "1"], ["y", "1", "0"]])
    lines = Lines(
        "Risk", "items known", "share", [Series("original", [(1, 0.5), (2, 0.25)], tone="before")], percent=True
    )
    assert [point["value"] for point in options_of(lines)["series"][0]["data"]] == [[1, 0.5], [2, 0.25]]
    assert rows_of(lines)[1] == [["original", "1", "50.00%"], ["original", "2", "25.00%"]]


def test_the_style_sheet_has_the_palette():
    from shoal.app import STATIC

    css = (STATIC / "shoal.css").read_text()
    light, dark = css.split("/* Charts and the map")[1].split("body.body--dark", 1)
    for part, tones, series in ((light, TONES, SERIES), (dark, DARK_TONES, DARK_SERIES)):
        assert all(f"--sh-tone-{name}: {colour};" in part for name, colour in tones.items())
        assert all(f"--sh-series-{number}: {colour};" in part for number, colour in enumerate(series))


def test_estimates_of_a_whole_map_are_kept():
    assert len(points_of(copy.deepcopy(SETS))) < estimates.KEPT


def test_raw_released_and_at_risk_have_one_colour_each_wherever_they_are_drawn():
    """What is raw is never called released or at risk, nor the other way round: red is for rows that are at risk, and for nothing else."""
    profile = {"rows": 9, "k": 3, "columns": [], "exposures": [{"m": 1, "exposed": 4, "unique": 2}]}
    assert [(one.name, one.tone) for one in curve_picture(profile).series] == [
        ("among fewer than 3", "before"),
        ("singled out", "bad"),
    ]
    assert set(SIDES) <= set(TONES)
    found = SimpleNamespace(by_values=[0, 2, 3, 4], l=2, rows=9)
    drawn = values_left_plot(found)
    assert drawn.count(TONES["bad"]) == 1  # rows with one possible value; those with two and three are fine
    assert drawn.count(TONES["after"]) == 2
