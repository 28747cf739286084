"""Figures on learned hierarchies: the optimum under `learned:N` and `frequency:N`, and what every construction is known to lose."""

from __future__ import annotations

import numpy as np

from km import data
from measuring import Row, peak_mb, timed

DATA = ("WebView-1", "WebView-2", "retail", "groceries", "Diabetes-130")


def section_learned() -> list[Row]:
    main = [{"data": name, "n": 5, "k": 5, "m": m} for name in DATA for m in (2, 3)]
    others = [(n, k) for n in (2, 5, 10) for k in (2, 5, 10, 25) if (n, k) != (5, 5)]
    return main + [{"data": "groceries", "n": n, "k": k, "m": m} for n, k in others for m in (2, 3)]


def case_learned(data_name: str, n: int, k: int, m: int) -> Row:
    """Proven optima under both trees, the seconds that learning and each search take, and the loss known per construction."""
    from shoal.algorithms.km.exact import exact
    from shoal.algorithms.km.learning import candidates
    from shoal.algorithms.recoding import Options
    from shoal.guarantees.km import KmAnonymity
    from shoal.hierarchy.build import frequency

    baskets, promise = data(data_name), KmAnonymity(k, m)
    candidates(baskets.take(np.arange(min(200, len(baskets)))), n, promise, Options())  # loads or compiles the kernels
    learning, found = timed(lambda: candidates(baskets, n, promise, Options()), 0.5, 1)
    best = min(found, key=lambda candidate: candidate.loss)
    plain = frequency(baskets.vocabulary, baskets.supports(), n)
    row: Row = {"data": data_name, "N": n, "k": k, "m": m}
    for name, tree in (("frequency", plain), ("learned", best.tree)):
        took, recoding = timed(lambda tree=tree: exact(baskets, promise, tree, Options()), 0.5, 1)
        row |= {name: f"{recoding.bound:.4f}", f"{name} s": f"{took:.1f}"}
    return row | {
        "kept": best.construction,
        **{f"by {candidate.construction}": f"{candidate.loss:.4f}" for candidate in found},
        "learning s": f"{learning:.1f}",
        "peak MB": peak_mb(),
    }
