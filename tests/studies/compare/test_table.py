"""The table, its files and the page: how rows stand beside each other, and what must not be in them."""

from __future__ import annotations

import csv
import io
import re

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.studies.compare import comparison_of, csv_text, frame_of, rows_of
from shoal.studies.compare.cell import Outcome
from shoal.studies.compare.comparison import CellTask, Results
from shoal.studies.compare.comparison_page import page_of, shown_cell, table_columns
from shoal.studies.compare.comparison_plots import plots_of
from shoal.studies.compare.comparison_table import main_loss, notes_of, ranges, reasons_of, telling_losses

BASE = {"version": 1, "input": {"path": "sets.dat"}, "guarantee": {"model": "km", "k": 5, "m": 2}}
GRID = {"algorithm": ["exact", "aa"], "k": [2, 5], "m": [1, 2], "hierarchies": ["balanced:5", "frequency:5"]}


def found_of(document, figures, jobs=1):
    """A comparison whose outcomes are made up: `figures` tells the fields of each from its settings, None what is missing."""
    comparison = comparison_of(document)
    tasks = tuple(CellTask(f"{i:032x}", None, cell=cell, repeat=1) for i, cell in enumerate(comparison.cells))
    outcomes = []
    for task in tasks:
        fields = figures(task.cell.settings)
        known = {"status": "done", "holds": True, "seconds": 1.0, "peak_mb": 300.0, "jobs": jobs, "warm": True}
        outcomes.append(None if fields is None else Outcome(**({"key": task.key} | known | fields)))
    return Results(comparison, "out", tasks, tuple(outcomes), 0, jobs, None in outcomes)


def lossy(settings):
    best = settings["k"] * settings["m"] / 100
    if settings["algorithm"] == "exact":
        return {"loss": {"ncp": best, "deleted": 0.0}, "optimal": True}
    return {"loss": {"ncp": best + 0.01, "deleted": 0.0}}


def test_heuristics_are_measured_against_the_optimum_of_the_same_cell():
    rows = rows_of(found_of(BASE | {"compare": GRID}, lossy))
    assert {round(row["above_optimum"], 9) for row in rows if row["algorithm"] == "aa"} == {0.01}
    assert {row["above_optimum"] for row in rows if row["algorithm"] == "exact"} == {0.0}


def test_an_optimum_of_another_problem_is_no_measure():
    grids = [{"algorithm": ["exact"], "suppress": [0.05]}, {"algorithm": ["aa"]}]
    assert [row["above_optimum"] for row in rows_of(found_of(BASE | {"compare": grids}, lossy))] == [0.0, None]
    grids = [{"algorithm": ["exact"], "k": [2]}, {"algorithm": ["aa"], "k": [5]}]
    assert [row["above_optimum"] for row in rows_of(found_of(BASE | {"compare": grids}, lossy))] == [0.0, None]


def test_what_was_not_proven_is_no_optimum():
    rows = rows_of(
        found_of(BASE | {"compare": {"algorithm": ["exact", "aa"]}}, lambda s: {"loss": {"ncp": 0.1}, "optimal": False})
    )
    assert [row["above_optimum"] for row in rows] == [None, None]


@given(
    st.lists(
        st.tuples(st.integers(1, 4), st.integers(1, 3), st.integers(0, 4)),
        min_size=1,
        max_size=12,
        unique_by=lambda t: t[:2],
    )
)
def test_the_front_holds_what_nothing_beats(cells):
    grids = [{"k": [k], "m": [m]} for k, m, _ in cells]
    losses = {(k, m): lost / 10 for k, m, lost in cells}
    rows = rows_of(found_of(BASE | {"compare": grids}, lambda s: {"loss": {"ncp": losses[s["k"], s["m"]]}}))
    for row in rows:
        mine = (row["k"], row["m"], -row["loss"]["ncp"])
        others = [(o["k"], o["m"], -o["loss"]["ncp"]) for o in rows if o is not row]
        beaten = any(o != mine and all(a >= b for a, b in zip(o, mine, strict=True)) for o in others)
        assert row["front"] == (not beaten)


TABLE = {
    "version": 1,
    "input": {"path": "table.csv"},
    "columns": {"age": "quasi", "codes": "items"},
    "guarantee": {"model": "rt", "k": 5, "m": 2},
    "algorithm": "rmerge-r",
}


def sided(cells):
    """A comparison of a table whose cells lose so much of columns and items, each under its k."""
    grids = [{"k": [k], "delta": [(i + 1) / 100]} for i, (k, _, _) in enumerate(cells)]
    lost = [{"info": (a + b) / 20, "info_columns": a / 10, "info_items": b / 10} for _, a, b in cells]
    return found_of(TABLE | {"compare": grids}, lambda s: {"loss": lost[round(s["delta"] * 100) - 1]})


@given(st.lists(st.tuples(st.integers(2, 3), st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=10))
@settings(max_examples=40)
def test_the_frontier_holds_what_nothing_with_the_same_promise_beats_on_both_sides(cells):
    rows = rows_of(sided(cells))
    assert len(rows) == len(cells)
    for row in rows:
        mine = (row["loss"]["info_columns"], row["loss"]["info_items"])
        others = [(o["loss"]["info_columns"], o["loss"]["info_items"]) for o in rows if o["k"] == row["k"]]
        beaten = any(o != mine and o[0] <= mine[0] and o[1] <= mine[1] for o in others)
        assert row["frontier"] == (not beaten)


def test_a_comparison_of_tables_shows_the_frontier():
    found = sided([(5, 1, 5), (5, 2, 4), (5, 3, 6)])
    rows = rows_of(found)
    assert [shown_cell(row, "frontier") for row in rows] == ["yes", "yes", ""]
    assert "frontier" in table_columns(found, rows)
    plots = {plots.title: plots for plots in plots_of(rows, ["delta"])}
    (chart,) = plots["Frontier: information lost in columns against items"].charts
    assert chart.count("<circle") == 3
    assert "Frontier: no other row" in page_of(found, rows).decode()


def test_only_tables_with_items_have_a_frontier():
    found = found_of(BASE | {"compare": GRID}, lossy)
    rows = rows_of(found)
    assert {row["frontier"] for row in rows} == {None}
    assert "frontier" not in table_columns(found, rows)
    assert not [plots for plots in plots_of(rows, ["k"]) if plots.title.startswith("Frontier")]


def test_files_hold_the_same_table():
    rows = rows_of(found_of(BASE | {"compare": GRID}, lossy))
    frame = frame_of(rows)
    buffer = io.BytesIO()
    pq.write_table(frame, buffer)
    buffer.seek(0)
    assert pq.read_table(buffer).equals(frame)
    text = list(csv.DictReader(io.StringIO(csv_text(rows))))
    assert len(text) == frame.num_rows == 16
    assert list(text[0]) == frame.column_names
    for written, row in zip(text, frame.to_pylist(), strict=True):
        assert float(written["ncp"]) == row["ncp"]
        assert (written["algorithm"], int(written["k"]), written["holds"]) == (row["algorithm"], row["k"], "true")


def test_missing_cells_have_no_row_and_keep_their_number():
    rows = rows_of(found_of(BASE | {"compare": GRID}, lambda s: None if s["k"] == 2 else lossy(s)))
    assert len(rows) == 8
    assert rows[0]["row"] == 5


def test_formulas_do_not_reach_a_spreadsheet():
    rows = rows_of(found_of(BASE | {"compare": {"hierarchies": ["=cmd()", "balanced:5"]}}, lossy))
    assert "'=cmd()" in csv_text(rows)


def test_a_table_of_failures_alone_is_a_table():
    found = found_of(
        BASE | {"compare": GRID}, lambda s: {"status": "unreachable", "reason": "k is too large", "holds": None}
    )
    rows = rows_of(found)
    assert frame_of(rows).num_rows == 16
    assert main_loss(rows) is None
    assert reasons_of(rows) == ["rows 1-16: unreachable: k is too large"]
    assert plots_of(rows, found.comparison.axes) == []
    assert b"k is too large" in page_of(found, rows)


def test_row_numbers_are_told_in_ranges():
    assert ranges([1, 2, 3, 7, 9, 10]) == "1-3, 7, 9-10"


def test_measures_that_tell_nothing_are_not_shown():
    rows = rows_of(found_of(BASE | {"compare": GRID}, lossy))
    assert telling_losses(rows) == ["ncp"]


def test_notes_say_what_to_think_of_times_and_trees():
    found = found_of(BASE | {"compare": GRID}, lossy, jobs=4)
    notes = " ".join(notes_of(found, rows_of(found)))
    assert "jobs=1 measures" in notes
    assert "different hierarchies" in notes


def test_notes_say_why_a_loss_is_below_the_optimum():
    losses = {"exact": 0.2, "aa": 0.3, "lra": 0.1}
    found = found_of(
        BASE | {"compare": {"algorithm": list(losses)}},
        lambda s: {"loss": {"ncp": losses[s["algorithm"]]}, "optimal": s["algorithm"] == "exact"},
    )
    rows = rows_of(found)
    notes = " ".join(notes_of(found, rows))
    assert "lra may publish an item" in notes
    assert "hybrid" not in notes
    page = page_of(found, rows).decode()
    assert "aa 10.00% above on average, 10.00% above at worst; lra 10.00% below on average" in page


def test_trees_of_one_name_have_optima_of_their_own():
    best = {"old/tree.csv": 0.5, "new/tree.csv": 0.1}
    found = found_of(
        BASE | {"compare": {"algorithm": ["exact", "aa"], "hierarchies": list(best)}},
        lambda s: {"loss": {"ncp": best[s["hierarchies"]]}, "optimal": s["algorithm"] == "exact"},
    )
    assert [row["above_optimum"] for row in rows_of(found)] == [0.0] * 4


def test_a_parameter_that_is_not_set_is_not_mixed_with_one_that_is():
    grids = [{"k": [2, 5], "algorithm": ["exact", "aa"]}, {"k": [2, 5], "suppress": [0.5], "algorithm": ["exact"]}]
    found = found_of(BASE | {"compare": grids}, lambda s: {"loss": {"ncp": 0.25 if "suppress" in s else 0.75}})
    charts = {one.title: one.charts for one in plots_of(rows_of(found), found.comparison.axes)}["NCP against k"]
    assert len(charts) == 2
    assert sorted("suppress=unset" in chart for chart in charts) == [False, True]
    assert all("aa" in chart for chart in charts)  # which does not take it


def test_every_measure_is_plotted_against_every_parameter():
    found = found_of(BASE | {"compare": GRID}, lossy)
    plots = plots_of(rows_of(found), found.comparison.axes)
    titles = [one.title for one in plots]
    for axis in ("k", "m", "hierarchies"):
        assert {f"NCP against {axis}", f"Time against {axis}", f"Memory against {axis}"} <= set(titles)
    assert len(next(one for one in plots if one.title == "NCP against k").charts) == 4  # m x hierarchies
    assert sum(title.startswith("Trade-off") for title in titles) == 3  # 1/k, 1/m, time
    assert all("</svg>" in chart for one in plots for chart in one.charts)


def test_algorithms_without_a_parameter_stand_beside_those_with_it():
    document = {"version": 1, "input": {"path": "sets.dat"}, "guarantee": {"model": "k", "k": 5}}
    grid = {"algorithm": ["gsc", "pta"], "k": [2, 5], "segments": [1, 4]}
    found = found_of(document | {"compare": grid}, lambda s: {"loss": {"il": 0.1}})
    plots = {one.title: one.charts for one in plots_of(rows_of(found), found.comparison.axes)}
    assert len(plots["IL against k"]) == 2  # segments = 1 and 4, each with both algorithms
    assert all("gsc" in chart and "pta" in chart for chart in plots["IL against k"])
    assert len(plots["IL against segments"]) == 2  # k = 2 and 5
    assert all("gsc (without segments)" in chart for chart in plots["IL against segments"])


def test_many_combinations_do_not_make_many_plots():
    document = BASE | {"compare": {"k": [2, 3], "m": [1, 2, 3, 4], "suppress": [0.1, 0.2, 0.3, 0.4]}}
    found = found_of(document, lossy)
    plots = plots_of(rows_of(found), found.comparison.axes)
    against = next(one for one in plots if one.title == "NCP against k")
    assert len(against.charts) == 1
    assert "16 combinations" in against.note


def test_the_page_asks_nothing_of_the_network():
    found = found_of(BASE | {"compare": GRID}, lossy)
    page = page_of(found, rows_of(found)).decode()
    assert "default-src 'none'" in page
    assert "<script" not in page
    assert not re.search(r"(?:src|href)\s*=|url\(|@import", page)
    assert set(re.findall(r"https?://[^\s\"'<]+", page)) <= {"http://www.w3.org/2000/svg"}
    assert "prefers-color-scheme: dark" in page
    assert "algorithm: exact" in page  # the plans of the rows


@pytest.mark.parametrize("more", [{"sensitive_items": ["HIV"]}, {"options": {"item_weights": {"HIV": 0.5}}}])
def test_items_that_a_plan_names_are_not_on_the_page(more):
    document = {
        "version": 1,
        "input": {"path": "people.csv"},
        "columns": {"age": "quasi", "codes": "items"},
        "guarantee": {"model": "rt", "k": 2, "m": 1},
        "compare": {"k": [2, 3]},
    }
    found = found_of(document | more, lossy)
    rows = rows_of(found)
    assert b"HIV" not in page_of(found, rows)
    assert "HIV" not in csv_text(rows)


def test_a_query_is_not_on_the_page():
    document = {
        "version": 1,
        "input": {"path": "sqlite:clinic.db", "query": "SELECT age FROM visits WHERE disease = 'HIV'"},
        "columns": {"age": "quasi"},
        "guarantee": {"model": "k", "k": 2},
        "compare": {"k": [2, 3]},
    }
    found = found_of(document, lossy_table)
    assert b"HIV" not in page_of(found, rows_of(found))


def lossy_table(settings):
    return {"loss": {"ncp": settings["k"] / 10}}


def test_names_are_shown_as_text():
    found = found_of(BASE | {"compare": {"hierarchies": ["<b>x.csv", "balanced:5"]}}, lossy)
    page = page_of(found, rows_of(found)).decode()
    assert "<b>x" not in page
    assert "&lt;b&gt;x.csv" in page
