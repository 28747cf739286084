"""The warm-up runs every algorithm to its end, with whatever options a plan has."""

from __future__ import annotations

import pytest

from shoal.algorithms import ALGORITHMS
from shoal.plan import plan_of
from shoal.studies.compare.cell_work import warm_up

SETS = {"version": 1, "input": {"path": "sets.dat"}}
TABLE = {"version": 1, "input": {"path": "people.csv"}}
PLANS = {
    "chunks": SETS | {"guarantee": {"model": "chunks", "k": 50, "m": 3}},
    "km": SETS | {"guarantee": {"model": "km", "k": 50, "m": 3}},
    "k": SETS | {"guarantee": {"model": "k", "k": 50}},
    "table": TABLE | {"columns": {"zip": "quasi"}, "guarantee": {"model": "k", "k": 50}},
    "rt": TABLE | {"columns": {"zip": "quasi", "sets": "items"}, "guarantee": {"model": "rt", "k": 50, "m": 3}},
    "lm": TABLE
    | {"columns": {"zip": "quasi", "sets": "items"}, "sensitive_items": ["x"]}
    | {"guarantee": {"model": "lm", "k": 50, "m": 3, "l": 4}},
    "diversity": TABLE | {"columns": {"zip": "quasi", "ill": "sensitive"}, "guarantee": {"model": "diversity", "l": 7}},
}


@pytest.mark.parametrize(("kind", "algorithm"), [(kind, name) for kind in PLANS for name in ALGORITHMS[kind]])
def test_every_algorithm_is_warmed_up(kind, algorithm):
    plan = plan_of(PLANS[kind] | {"algorithm": algorithm})
    assert plan.kind == kind
    assert warm_up(plan, 1)


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("km", {"algorithm": "exact", "options": {"suppress": 0.1, "time_limit": 100.0}, "hierarchies": "no/such.csv"}),
        ("k", {"algorithm": "gray-tsp", "options": {"segments": 1000, "population": 500, "generations": 10**6}}),
        ("k", {"guarantee": {"model": "k", "k": 5, "l": 3}, "sensitive_items": "x,y"}),
        ("table", {"guarantee": {"model": "k", "k": 5, "l": 3}, "columns": {"zip": "quasi", "ill": "sensitive"}}),
        ("rt", {"options": {"balance": 0.9, "formation": "mondrian", "weights": {"zip": 3}}}),
        ("rt", {"options": {"transaction": "aa"}, "hierarchies": {"sets": "no/such.csv"}}),
        ("rt", {"options": {"transaction": "exact"}, "hierarchies": "balanced:5"}),
        ("diversity", {"options": {"min_exp": 0.99, "max_length": 2, "knowledge": "no/such.txt", "fuzzy": {"zip": 1}}}),
    ],
)
def test_options_of_the_data_do_not_matter(kind, more):
    assert warm_up(plan_of(PLANS[kind] | more), 1)
