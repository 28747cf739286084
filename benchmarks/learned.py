"""Figures on learned hierarchies: the optimum under `learned:N` beside that under `frequency:N`, every construction, and growth.

Optima are proven; seconds are one run each, after a warm-up. Growth is on Quest data, where k grows with the rows, so that the same sets
stay rare.
"""

from __future__ import annotations

from typing import Any

from km import data
from measuring import Row, peak_mb, timed

DATA = ("WebView-1", "WebView-2", "retail", "groceries", "Diabetes-130")
WITHOUT_DATA = ("learning",)
LEARNING = (40_000, 160_000, 640_000)
"""All beyond the size up to which learning also finds the optimum under every tree."""


def section_learned() -> list[Row]:
    main = [{"data": name, "n": 5, "k": 5, "m": m} for name in DATA for m in (2, 3)]
    others = [(n, k) for n in (2, 5, 10) for k in (2, 5, 10, 25) if (n, k) != (5, 5)]
    return main + [{"data": "groceries", "n": n, "k": k, "m": m} for n, k in others for m in (2, 3)]


def case_learned(data_name: str, n: int, k: int, m: int) -> Row:
    """Learned hierarchies: the optimum under learned:N and under frequency:N, and what every construction is known to lose"""
    from shoal.algorithms.km.learning import candidates
    from shoal.algorithms.recoding import Options
    from shoal.guarantees.km import KmAnonymity
    from shoal.hierarchy.build import frequency_tree

    baskets, promise = data(data_name), KmAnonymity(k, m)
    warm_up()
    learning, found = timed(lambda: candidates(baskets, n, promise, Options(price="ncp")), 0, 1)
    best = min(found, key=lambda candidate: candidate.loss)
    searches = {
        "frequency": optimum(baskets, promise, frequency_tree(baskets.vocabulary, baskets.supports(), n)),
        "learned": optimum(baskets, promise, best.tree),
    }
    row: Row = {"data": data_name, "N": n, "k": k, "m": m}
    for name, (took, loss) in searches.items():
        row |= {name: f"{loss:.5f}", f"{name} s": f"{took:.2f}"}
    return row | {
        "learning s": f"{learning:.2f}",
        "kept": best.construction,
        **{f"by {candidate.construction}": f"{candidate.loss:.5f}" for candidate in found},
        "peak MB": peak_mb(),
    }


def section_learning() -> list[Row]:
    return [{"transactions": n} for n in LEARNING]


def case_learning(transactions: int) -> Row:
    """Learned hierarchies: growth on Quest data, learned:5, m = 2"""
    from shoal.algorithms.km.learning import learned_tree
    from shoal.algorithms.recoding import Options
    from shoal.guarantees.km import KmAnonymity
    from shoal.records.samples.quest import quest

    baskets = quest(transactions, length=10, items=1000, seed=1)
    promise = KmAnonymity(max(2, transactions // 8_000), 2)
    warm_up()
    took, tree = timed(lambda: learned_tree(baskets, 5, promise, Options(price="ncp")), 0.5, 3)
    _, loss = optimum(baskets, promise, tree)
    return {
        "transactions": f"{transactions:,}",
        "k": promise.k,
        "occurrences": f"{baskets.occurrences:,}",
        "learning µs / transaction": f"{took / transactions * 1e6:.3g}",
        "NCP": f"{loss:.5f}",
        "peak MB": peak_mb(),
    }


def warm_up() -> None:
    """Load (or compile) the kernels on tiny data."""
    from shoal.algorithms.km.learning import candidates
    from shoal.algorithms.recoding import Options
    from shoal.guarantees.km import KmAnonymity
    from shoal.records.baskets import Baskets

    baskets = Baskets.from_rows([[str(i % 7), str(i % 5), str(i % 3)] for i in range(60)])
    for m in (2, 3):
        candidates(baskets, 2, KmAnonymity(4, m), Options(price="ncp"))


def optimum(baskets: Any, promise: Any, tree: Any) -> tuple[float, float]:
    """(seconds, loss) of the proven optimum under a tree."""
    from shoal.algorithms.km.exact import exact
    from shoal.algorithms.recoding import Options

    took, recoding = timed(lambda: exact(baskets, promise, tree, Options(price="ncp")), 0, 1)
    assert recoding.optimal
    assert recoding.bound is not None
    return took, recoding.bound
