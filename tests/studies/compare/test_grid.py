"""Comparison files: cells of grids, axes that some algorithms do not take, and what is refused where."""

from __future__ import annotations

import pytest
import yaml

from shoal.algorithms import ALGORITHMS
from shoal.errors import InputError
from shoal.plan import plan_of, plan_yaml
from shoal.studies.compare import comparison_of, comparison_schema, read_comparison

KM = {"version": 1, "input": {"path": "sets.dat"}, "guarantee": {"model": "km", "k": 5, "m": 2}}
K = {"version": 1, "input": {"path": "sets.dat"}, "guarantee": {"model": "k", "k": 5}}
RT = {
    "version": 1,
    "input": {"path": "patients.csv"},
    "columns": {"age": "quasi", "codes": "items"},
    "guarantee": {"model": "rt", "k": 5, "m": 2},
    "options": {"seed": 3},
}


def settings(document):
    return [dict(cell.settings) for cell in comparison_of(document).cells]


def test_a_grid_has_every_combination():
    cells = settings(KM | {"compare": {"algorithm": ["exact", "aa"], "k": [2, 5], "m": [1, 2, 3]}})
    assert len(cells) == 12
    assert {(c["algorithm"], c["k"], c["m"]) for c in cells} == {
        (a, k, m) for a in ("exact", "aa") for k in (2, 5) for m in (1, 2, 3)
    }


def test_grids_of_a_list_are_taken_together_and_equal_cells_once():
    cells = settings(
        KM | {"compare": [{"algorithm": ["exact"], "k": [2, 5]}, {"algorithm": ["exact", "aa"], "k": [5]}]}
    )
    assert [(c["algorithm"], c["k"]) for c in cells] == [("exact", 2), ("exact", 5), ("aa", 5)]


def test_without_a_grid_all_algorithms_are_compared():
    assert [c["algorithm"] for c in settings(KM | {"algorithm": "aa"})] == list(ALGORITHMS["km"])
    assert [c["algorithm"] for c in settings(RT)] == list(ALGORITHMS["rt"])


def test_a_grid_without_algorithms_takes_that_of_the_plan():
    assert {c["algorithm"] for c in settings(KM | {"compare": {"k": [2, 3]}})} == {"local"}
    assert {c["algorithm"] for c in settings(KM | {"algorithm": "da", "compare": {"k": [2, 3]}})} == {"da"}


def test_an_axis_that_an_algorithm_does_not_take_is_left_out_for_it():
    found = comparison_of(K | {"compare": {"algorithm": ["split", "pta", "gsc"], "segments": [1, 4]}})
    assert [(c.settings["algorithm"], c.settings.get("segments")) for c in found.cells] == [
        ("split", None),
        ("pta", 1),
        ("pta", 4),
        ("gsc", None),
    ]
    assert found.notes == ("segments is left out for split, gsc, which have no use for it",)


def test_an_option_of_the_plan_is_left_out_where_it_has_no_use():
    found = comparison_of(KM | {"options": {"suppress": 0.02}, "compare": {"algorithm": ["exact", "aa"]}})
    assert [c.settings.get("suppress") for c in found.cells] == [0.02, None]
    assert found.notes == ("suppress is left out for aa, which has no use for it",)


def test_an_option_of_the_plan_may_be_for_one_grid_alone():
    grids = [{"algorithm": ["exact"]}, {"algorithm": ["aa"]}]
    found = comparison_of(KM | {"options": {"suppress": 0.02}, "compare": grids})
    assert [c.settings.get("suppress") for c in found.cells] == [0.02, None]


def test_the_promise_may_leave_parameters_to_the_grid():
    cells = settings(KM | {"guarantee": {"model": "km", "m": 2}, "compare": {"k": [2, 5]}})
    assert [(c["k"], c["m"]) for c in cells] == [(2, 2), (5, 2)]


def test_a_cell_is_a_plan_that_runs_alone(tmp_path):
    found = comparison_of(
        KM
        | {"outputs": {"data": "public.dat"}}
        | {"compare": {"algorithm": ["exact"], "hierarchies": ["balanced:3"], "suppress": [0.1], "k": [7]}}
    )
    plan = found.cells[0].plan(found.origin)
    expected = KM | {"algorithm": "exact", "hierarchies": "balanced:3", "options": {"suppress": 0.1}}
    assert plan == plan_of(expected | {"guarantee": {"model": "km", "k": 7, "m": 2}})
    assert plan.outputs is None
    assert plan_of(yaml.safe_load(plan_yaml(plan))) == plan


def test_axes_are_what_differs():
    found = comparison_of(KM | {"compare": {"k": [2, 5], "m": [2], "algorithm": ["aa", "exact"]}})
    assert found.axes == ("algorithm", "k")


def test_hierarchies_and_weights_are_named_in_short():
    document = RT | {"compare": {"hierarchies": [{"age": "trees/age.csv", "codes": "balanced:4"}]}}
    assert settings(document)[0]["hierarchies"] == "age=age.csv; codes=balanced:4"
    weights = settings(RT | {"compare": {"item_weights": [{"Z99": 0.5}, {"Z99": 0.1}]}})
    assert all("Z99" not in c["item_weights"] for c in weights)
    assert weights[0]["item_weights"] != weights[1]["item_weights"]


def test_files_of_one_name_in_two_folders_are_told_apart():
    trees = ["old/tree.csv", "new/tree.csv", "more/other.csv"]
    found = comparison_of(KM | {"compare": {"hierarchies": trees}})
    assert [cell.settings["hierarchies"] for cell in found.cells] == ["old/tree.csv", "new/tree.csv", "other.csv"]
    assert found.axes == ("hierarchies",)


def test_an_algorithm_with_and_without_an_option_differs_in_it():
    grids = [{"algorithm": ["exact", "aa"]}, {"algorithm": ["exact"], "suppress": [0.02]}]
    assert comparison_of(KM | {"compare": grids}).axes == ("algorithm", "suppress")
    assert comparison_of(KM | {"compare": grids[0]}).axes == ("algorithm",)
    assert comparison_of(KM | {"compare": [{"algorithm": ["aa"]}, grids[1]]}).axes == ("algorithm",)


def test_an_impossible_value_may_come_first_where_the_grid_fills_the_promise():
    found = comparison_of(K | {"guarantee": {"model": "k"}, "compare": {"k": [1, 2]}})
    assert [cell.refused for cell in found.cells] == ["guarantee.k: it is 1; give at least 2", None]


def test_an_impossible_cell_keeps_its_reason():
    found = comparison_of(K | {"compare": {"k": [1, 2]}})
    assert [cell.refused for cell in found.cells] == ["guarantee.k: it is 1; give at least 2", None]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (KM | {"compare": {"k": []}}, "compare.k: it names no value"),
        (KM | {"compare": {"k": 5}}, "compare.k: it is 5; give a list of values"),
        (KM | {"compare": {"k": [2, "five"]}}, "compare.k.1: it is 'five'; give a whole number"),
        (KM | {"compare": {"k": [0]}}, "compare.k.0: it is 0; give at least 1"),
        (KM | {"compare": {"sed": [1]}}, "compare.sed: there is no such axis; is seed meant?"),
        (KM | {"compare": {"algorithm": ["exakt"]}}, "compare.algorithm.0: 'exakt' is not known for model km"),
        (KM | {"compare": {"delta": [0.1]}}, r"compare.delta: none of the algorithms \(local\) takes it"),
        (KM | {"compare": {"l": [2]}}, "compare.l: it has no meaning with model km"),
        (KM | {"compare": None}, "compare: it is empty"),
        (KM | {"compare": []}, "compare: it is empty"),
        (KM | {"compare": [{"k": [2]}, {"m": ["x"]}]}, "compare.1.m.0: it is 'x'"),
        (KM | {"compare": {"k": [2]}, "colums": {}}, "colums: there is no such key"),
        (KM | {"compare": {"k": [2]}, "outputs": {"file": "x"}}, "outputs.data: it is missing"),
        (KM | {"options": {"delta": 0.1}}, "options.delta: none of the algorithms"),
        (KM | {"guarantee": {"model": "km", "m": 2}}, "guarantee.k: it is missing"),
        (K | {"compare": {"hierarchies": ["balanced:5"]}}, "hierarchies: model k adds and removes items"),
        (KM | {"compare": {"k": list(range(1, 1001)), "m": list(range(1, 1001))}}, "it has 1,000,000 cells"),
        (KM | {"engine": "spark"}, "engine: a comparison computes its cells on this machine"),
        (None, "it is empty"),
        ([1], "it holds a list"),
    ],
)
def test_what_is_wrong_is_refused_with_its_place(document, message):
    with pytest.raises(InputError, match=message):
        comparison_of(document)


def test_a_refusal_names_the_line(tmp_path):
    path = tmp_path / "plan.yaml"
    path.write_text(yaml.safe_dump(KM, sort_keys=False) + "compare:\n  m: [1]\n  k: [2, -3]\n")
    with pytest.raises(InputError, match=r"plan.yaml: compare.k.1 \(line 10\): it is -3; give at least 1"):
        read_comparison(path)


def test_schema_knows_the_grid():
    schema = comparison_schema()
    grid = schema["$defs"]["Grid"]["properties"]
    assert {"algorithm", "k", "m", "l", "hierarchies", "delta", "segments", "min_exp"} <= set(grid)
    assert "compare" in schema["properties"]
    assert "k" not in schema["$defs"]["Km"]["required"]
    assert "model" in schema["$defs"]["Km"]["required"]
