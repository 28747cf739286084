"""What releases are worth: every k^m algorithm under every price, in what an analyst would ask of them.

All figures of a row are counted from the published rows beside the original ones, whichever algorithm made them; every release here has
passed the plain audit. AA by NCP stands for other tools, which search for the same cut. CPU seconds are one run of the search on baskets in
memory, over all threads, after a warm-up; learning a tree is not in them. A case that takes more CPU than LIMIT, reading and measuring
included, is stopped and says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from km import TREES, data
from measuring import Row, cpu_seconds, folder

LIMIT = 300
OWN, BUILT, LEARNED = "its own tree", "frequency:5", "learned:5"
DATA = (
    "groceries",
    "WebView-1",
    "Diabetes-130",
    "mushroom",
    "chess",
    "WebView-2",
    "T10I4D100K",
    "retail",
    "accidents, 15,224 rows",
    "pumsb, 2,000 rows",
    "connect",
    "Complete Journey",
)
WAYS: tuple[Row, ...] = (
    {"algorithm": "aa", "price": "ncp", "suppress": 0},
    {"algorithm": "exact", "price": "ncp", "suppress": 0},
    {"algorithm": "exact", "price": "information", "suppress": 0},
    {"algorithm": "hybrid", "price": "ncp", "suppress": 0.1},
    {"algorithm": "hybrid", "price": "information", "suppress": 0.1},
    {"algorithm": "lra", "price": "ncp", "suppress": 0},
    {"algorithm": "lra", "price": "information", "suppress": 0},
    {"algorithm": "local", "price": "information", "suppress": 0},
    {"algorithm": "local", "price": "information", "suppress": 0.1},
)
DRAWN = (("groceries", OWN), ("Diabetes-130", OWN), ("WebView-1", BUILT))
CURVES = (*((k, 2) for k in (2, 10, 25, 50)), *((5, m) for m in (1, 4)))
"""Besides k = 5 with m = 2 and 3, which `worth` has."""


def section_worth() -> list[Row]:
    return [
        {"data": name, "hierarchy": spec, "k": 5, "m": m, **way}
        for name in DATA
        for m in (2, 3)
        for spec in ((OWN,) if name in TREES else (BUILT, LEARNED))
        for way in (WAYS if spec != LEARNED else WAYS[-1:])  # what a learned tree is good for shows in the default
    ]


def case_worth(**case: Any) -> Row:
    """What releases are worth: every k^m algorithm and price"""
    return worth(**case)


def section_curves() -> list[Row]:
    return [
        {"data": name, "hierarchy": spec, "k": k, "m": m, **way}
        for name, spec in DRAWN
        for k, m in CURVES
        for way in drawn_ways()
    ]


def case_curves(**case: Any) -> Row:
    """What releases are worth as k and m grow"""
    return worth(**case)


def drawn_ways() -> Iterator[Row]:
    """AA by NCP, and the others by information, with the deletions that they are made for."""
    for way in WAYS:
        name, price = way["algorithm"], way["price"]
        if price == ("ncp" if name == "aa" else "information") and (name != "local" or way["suppress"]):
            yield way


def worth(data_name: str, hierarchy: str, k: int, m: int, algorithm: str, price: str, suppress: float) -> Row:
    """One release, and what can still be asked of it."""
    from shoal.algorithms import algorithm as algorithm_of
    from shoal.algorithms.recoding import Options
    from shoal.evaluation.measures import MEASURES
    from shoal.evaluation.pair import read_pair
    from shoal.evaluation.request import with_standards
    from shoal.guarantees.km import KmAnonymity
    from shoal.loss.common_pairs import pairs_kept
    from shoal.loss.fates import Coverage, row_fates
    from shoal.models.km import resolve_hierarchy

    root = folder()
    assert root is not None
    options, promise, search = Options(price=price, suppress=suppress), KmAnonymity(k, m), algorithm_of("km", algorithm)
    warm_up(search, options, m)
    baskets = data(data_name)
    spec = root / TREES[data_name] if hierarchy == OWN else hierarchy
    tree = resolve_hierarchy(spec, baskets, promise=promise, options=options)
    begun = cpu_seconds()
    recoding = search(baskets, promise, tree, options)
    took = cpu_seconds() - begun
    published = recoding.apply(baskets)
    assert promise.audit(published).holds
    coverage = Coverage.of_tree(tree, baskets, published)
    fates = row_fates(baskets, published, coverage)
    breadth = (coverage.breadth * (coverage.breadth > 1))[fates.token] * fates.times * (fates.token >= 0)
    pairs = pairs_kept(baskets, published)
    pair = read_pair(baskets, published, with_standards({"hierarchy": tree, "same_order": True}))
    asked = {measure.name: measure for measure in MEASURES}
    rules = asked["utility.rules"].value(pair).to_dict()
    errors = query_errors(baskets, published, tree, fates.deleted)
    return {
        "data": data_name,
        "hierarchy": hierarchy,
        "k": k,
        "m": m,
        "algorithm": algorithm,
        "price": price,
        "suppress": suppress,
        "information kept": f"{1 - fates.info:.1%}",
        "as they are": f"{fates.exact:.1%}",
        "pairs": "" if pairs is None else f"{pairs:.0%}",
        "rule recall": f"{1 - rules['missed']:.0%} of {rules['rules']}" if rules["rules"] else "no rules",
        "query error, mean / median": f"{errors.mean():.0%} / {np.median(errors):.0%}",
        "deleted": f"{fates.deleted:.1%}",
        "NCP": f"{breadth.sum() / (baskets.occurrences * tree.n_leaves) + fates.deleted:.4f}",
        "CPU seconds": f"{took:.2f}",
    }


def query_errors(original: Any, published: Any, tree: Any, deleted: float) -> Any:
    """How far off the answers are, over the true ones: in how many rows two items stand together, for 100 pairs from random rows, as
    `shoal.estimate_counts` estimates it for a reader."""
    from shoal import estimate_counts
    from shoal.loss.queries import answers
    from shoal.loss.workloads import random_workload

    drawn = random_workload(original, 100, "items", 0, n_items=2)
    counts = estimate_counts(published, [list(query.items) for query in drawn], hierarchy=tree, deleted=deleted)
    true = answers(original, drawn)
    return np.abs(np.array([count.value for count in counts]) - true) / true


def warm_up(search: Any, options: Any, m: int) -> None:
    """Load (or compile) the kernels of a search on tiny data."""
    from shoal.guarantees.km import KmAnonymity
    from shoal.hierarchy.build import balanced_tree
    from shoal.records.baskets import Baskets

    baskets = Baskets.from_rows([[str(i % 7), str(i % 5 + 7), str(i % 3 + 12)] for i in range(60)])
    promise = KmAnonymity(4, m)
    promise.audit(search(baskets, promise, balanced_tree(baskets.vocabulary, 2), options).apply(baskets))
