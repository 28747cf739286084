"""k^m-anonymity on any engine: the same algorithm, on ground that the engine has laid."""

from __future__ import annotations

import time
from typing import TypeVar

from shoal.algorithms import check_options, entry
from shoal.algorithms.km.apriori import aa_on
from shoal.algorithms.km.exact import exact_on
from shoal.algorithms.recoding import Options, Recoding
from shoal.engines import Engine
from shoal.errors import InputError
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.tree import Hierarchy

S = TypeVar("S")

ON_ANY_ENGINE = ("exact", "aa")
_WHY_NOT = {
    "oa": "it looks at every cut, each of which would be a pass over the cluster; exact finds the same optimum",
    "da": "it walks all itemsets in one thread, changing the cut under way; aa does the same size by size",
    "hybrid": "it deletes single occurrences, which it chooses by looking at whole rows in one place",
}


def check_algorithm(name: str | None, given: dict[str, object]) -> str:
    """The name of an algorithm that any engine can run; raises with the reason for others, and for options it has no use for."""
    name, _ = entry("km", name)
    if name not in ON_ANY_ENGINE:
        why = _WHY_NOT.get(name, "it needs all rows in one place")
        raise InputError(f"algorithm {name} does not run on Spark: {why}; use exact or aa, or the local engine")
    check_options("km", name, given)
    return name


def recoding(
    engine: Engine[S], sets: S, guarantee: KmAnonymity, hierarchy: Hierarchy, name: str, options: Options
) -> Recoding:
    """The recoding that algorithm `name` proposes: the same on every engine."""
    started = time.monotonic()
    if name == "aa":
        return aa_on(engine.count_tree(sets, guarantee, hierarchy, options), options)
    return exact_on(engine.ground(sets, guarantee, hierarchy, options), options, started)
