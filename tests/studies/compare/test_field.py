"""The whole field: all algorithms of a promise, in the order of what they keep."""

from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.algorithms import ALGORITHMS
from shoal.studies.compare import comparison_of, csv_text, rows_of
from shoal.studies.compare.cell import Outcome
from shoal.studies.compare.comparison import CellTask, Results
from shoal.studies.compare.comparison_page import page_of, table_columns
from shoal.studies.compare.field import MEASURES, by_rank, field_charts, kept_of

BASE = {"version": 1, "input": {"path": "sets.dat"}, "guarantee": {"model": "km", "k": 5, "m": 2}}


def field_of(document, figures):
    """A field whose outcomes are made up: `figures` has (information lost, items as they are, pairs) of each algorithm, or a reason."""
    comparison = comparison_of(document, field=True)
    tasks = tuple(CellTask(f"{i:032x}", None, cell=cell, repeat=1) for i, cell in enumerate(comparison.cells))
    outcomes = []
    for task in tasks:
        found = figures.get(task.cell.settings["algorithm"], "it was not asked")
        if isinstance(found, str):
            outcomes.append(Outcome(task.key, "refused", found, jobs=1))
            continue
        lost, exact, pairs = found
        kept = {"exact": exact, "pairs": pairs}
        outcomes.append(
            Outcome(task.key, "done", loss={"info": lost}, kept=kept, holds=True, seconds=1.0, jobs=1, warm=True)
        )
    return Results(comparison, "out", tasks, tuple(outcomes), 0, 1, False)


def test_every_algorithm_of_the_promise_runs_whichever_the_plan_names(shop):
    named = BASE | {"algorithm": "aa", "compare": {"algorithm": ["exact"], "k": [2, 5]}}
    comparison = comparison_of(named, field=True)
    ran = {(cell.settings["algorithm"], cell.settings["k"]) for cell in comparison.cells}
    assert ran == {(name, k) for name in ALGORITHMS["km"] for k in (2, 5)}
    assert {cell.settings["algorithm"] for cell in comparison_of(BASE | {"algorithm": "aa"}, field=True).cells} == {
        *ALGORITHMS["km"]
    }
    assert not comparison_of(BASE).is_field


def test_the_most_useful_release_comes_first(shop):
    figures = {"exact": (0.2, 0.5, 0.5), "aa": (0.2, 0.6, 0.1), "da": (0.2, 0.5, 0.5), "local": (0.1, 0.1, 0.1)}
    rows = rows_of(field_of(BASE, figures))
    assert [(row["algorithm"], row["rank"]) for row in rows[:4]] == [("local", 1), ("aa", 2), ("exact", 3), ("da", 3)]
    assert {row["rank"] for row in rows[4:]} == {None}
    assert all(row["reason"] == "it was not asked" for row in rows[4:])
    table = list(csv.DictReader(io.StringIO(csv_text(rows))))
    assert [row["rank"] for row in table][:5] == ["1", "2", "3", "3", ""]


def test_promises_are_ranked_apart(shop):
    rows = rows_of(field_of(BASE | {"compare": {"k": [2, 5]}}, {"exact": (0.2, 0.5, 0.5), "aa": (0.3, 0.6, 0.1)}))
    done = [(row["k"], row["algorithm"], row["rank"]) for row in rows if row["rank"] is not None]
    assert done == [(2, "exact", 1), (2, "aa", 2), (5, "exact", 1), (5, "aa", 2)]


def test_the_page_shows_ranks_and_what_is_kept(shop):
    results = field_of(BASE, {"exact": (0.2, 0.5, 0.5), "aa": (0.3, 0.6, 0.1)})
    rows = rows_of(results)
    assert table_columns(results, rows)[:2] == ["row", "rank"]
    page = page_of(results, rows).decode()
    assert "Information kept (k = 5, m = 2)" in page
    assert "1. exact" in page
    assert "80.0%" in page
    plain = rows_of(Results(comparison_of(BASE), "out", results.tasks, results.outcomes, 0, 1, False))
    assert "rank" not in plain[0]
    assert not any("rank" in name for name in table_columns(results, plain))


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.1, 0.5, None]), st.sampled_from([0.0, 0.2, 1.0]), st.sampled_from([2, 5])),
        max_size=9,
    )
)
def test_nobody_ranks_above_one_that_keeps_more(figures):
    rows = [
        {
            "row": i,
            "algorithm": str(i),
            "k": k,
            "status": "refused" if lost is None else "done",
            "loss": {} if lost is None else {"info": lost},
            "kept": {"exact": exact},
        }
        for i, (lost, exact, k) in enumerate(figures)
    ]
    found = by_rank(rows, ["k"])
    assert sorted(row["row"] for row in found) == list(range(len(rows)))
    done = [row for row in found if row["rank"] is not None]
    for one in done:
        better = sum(
            other["k"] == one["k"]
            and [kept_of(other, name) or 0 for name in MEASURES] > [kept_of(one, name) or 0 for name in MEASURES]
            for other in done
        )
        assert one["rank"] == better + 1
    assert all(svg.startswith("<svg") for _, svg in field_charts(found))


@pytest.mark.usefixtures("in_process")
def test_the_command_ranks_what_it_computed(shop, run):
    (shop / "plan.yaml").write_text(
        "version: 1\ninput: {path: sets.dat}\nguarantee: {model: km, k: 3, m: 1}\nhierarchies: balanced:5\n"
    )
    code, out, _ = run("compare", "plan.yaml", "--field", "--jobs", "1", "--json")
    assert code == 0
    rows = json.loads(out)["rows"]
    assert {row["algorithm"] for row in rows} == {*ALGORITHMS["km"]}
    ranks = [row["rank"] for row in rows if row["rank"] is not None]
    assert ranks == sorted(ranks)
    assert ranks[0] == 1
