"""Disassociation beside local and hybrid: what is kept of pairs and of rules at the same k and m. The promises are not the same.

In each row, readers take what they have (the release, its tree, its certificate) and estimate, with `shoal.estimate_pairs` and
`estimate_rules`, the counts of the 100 and of the 1,000 commonest pairs of the original, and the confidence of the rules both ways of the
100. Errors of counts are relative, those of confidences in points, both on average. Local and hybrid delete up to 10% and optimise the
price of information. CPU seconds are one release in memory, search and audit, after a warm-up.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from km import TREES, data
from measuring import Row, cpu_seconds, folder

LIMIT = 300
DATA = ("groceries", "WebView-1", "Diabetes-130")
ALGORITHMS = ("disassociation", "local", "hybrid")
NEAR = 0.1


def section_chunks() -> list[Row]:
    return [{"data": name, "k": 5, "m": m, "algorithm": way} for name in DATA for m in (2, 3) for way in ALGORITHMS]


def case_chunks(data_name: str, k: int, m: int, algorithm: str) -> Row:
    """Disassociation beside local and hybrid: pairs and rules at the same k and m"""
    import shoal
    from shoal.loss.common_pairs import common_pairs

    baskets, root = data(data_name), folder()
    assert root is not None
    tree = root / TREES[data_name] if data_name in TREES else "frequency:5"

    def release(rows: Any) -> Any:
        if algorithm == "disassociation":
            return shoal.anonymize(rows, shoal.ChunkAnonymity(k, m))
        how = {"algorithm": algorithm, "hierarchy": tree, "suppress": 0.1, "unknown": "root"}
        return shoal.anonymize(rows, shoal.KmAnonymity(k, m), **how)

    release(baskets.take(np.arange(2_000)))
    before = cpu_seconds()
    made = release(baskets)
    seconds = cpu_seconds() - before
    names = baskets.vocabulary
    pairs = common_pairs(baskets, 1_000)
    wanted = [(names[a], names[b]) for a, b in zip(pairs.one.tolist(), pairs.other.tolist(), strict=True)]
    told = np.array([found.value for found in shoal.estimate_pairs(made, wanted)])
    off = np.abs(told - pairs.rows) / pairs.rows
    support = dict(zip(names, baskets.supports().tolist(), strict=True))
    both = [
        (pair, rows)
        for one, rows in zip(wanted[:100], pairs.rows[:100].tolist(), strict=True)
        for pair in (one, one[::-1])
    ]
    rules = shoal.estimate_rules(made, [pair for pair, _ in both])
    confidence = [rows / support[pair[0]] for pair, rows in both]
    errors = [abs(rule.confidence.value - true) for rule, true in zip(rules, confidence, strict=True)]
    return {
        "data": data_name,
        "k": k,
        "m": m,
        "algorithm": algorithm,
        "information kept": f"{1 - made.loss['info']:.1%}",
        "items as they are": f"{made.kept['exact']:.1%}",
        "100 pairs within 10%": f"{np.mean(off[:100] <= NEAR):.0%}",
        "error": f"{off[:100].mean():.1%}",
        "1,000 pairs within 10%": f"{np.mean(off <= NEAR):.0%}",
        "their error": f"{off.mean():.1%}",
        "rules: confidence off by": f"{100 * np.mean(errors):.1f}",
        "CPU seconds": f"{seconds:.1f}",
    }
