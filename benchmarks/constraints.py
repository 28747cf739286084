"""What COAT, PCTA and our own search lose under the same random policies.

    SHOAL_DATA=... python benchmarks/constraints.py [groceries diabetes webview]

A policy protects sets that stand in rows, or any sets at random, or all pairs; its groups are items at random. The Diabetes-130 rows are
10,000 drawn at random. Times are CPU seconds of the search alone.
"""

from __future__ import annotations

import os
import random
import sys
import time
from typing import Any

import numpy as np

import shoal
from shoal.algorithms import ALGORITHMS, algorithm
from shoal.algorithms.recoding import Options
from shoal.loss.fates import Coverage, row_fates

FILES = {
    "groceries": "groceries/groceries.dat.gz",
    "diabetes": "diabetes130/diabetes130.dat.gz",
    "webview": "bms_webview1/bms_webview1.dat.gz",
}
K, ROWS, SEED = 5, 10_000, 1


def policies(baskets: shoal.Baskets) -> dict[str, shoal.Policy]:
    """Five of them, the same on every run."""
    draw = random.Random(SEED)
    rows, names = [row for row in baskets.rows() if len(row) > 1], list(baskets.vocabulary)
    draw.shuffle(names)
    tens, fifties = ([names[i : i + n] for i in range(0, len(names), n)] for n in (10, 50))

    def of_rows() -> list[str]:
        row = draw.choice(rows)
        return draw.sample(row, min(len(row), draw.randint(2, 4)))

    from_rows: Any = [of_rows() for _ in range(500)]
    anywhere = [draw.sample(names, draw.randint(1, 3)) for _ in range(1000)]
    quarter = draw.sample(names, len(names) // 4)
    return {
        "500 sets of rows, groups of 10": shoal.Policy(from_rows, tens),
        "500 sets of rows, any together": shoal.Policy(from_rows, "*"),
        "1,000 sets at random, groups of 50": shoal.Policy(anywhere, fifties),
        "all pairs of a quarter of the items, groups of 10": shoal.Policy([{"all": 2, "of": quarter}], tens),
        "all pairs, any together": shoal.Policy([{"all": 2, "of": "*"}], "*"),
    }


def rows_of(name: str) -> shoal.Baskets:
    baskets = shoal.read(os.path.join(os.environ["SHOAL_DATA"], FILES[name]))
    if name != "diabetes":
        return baskets
    rows = np.sort(np.random.default_rng(SEED).permutation(len(baskets))[:ROWS])
    return shoal.Baskets.from_rows(baskets.take(rows).rows())


def main(names: list[str]) -> None:
    for name in names or list(FILES):
        baskets = rows_of(name)
        print(name, baskets, flush=True)
        for what, policy in policies(baskets).items():
            promise = shoal.ConstraintAnonymity(K, policy)
            for suppress in (0.1, 0.0):
                told = []
                for search in ALGORITHMS["constraints"]:
                    began = time.process_time()
                    try:
                        found = algorithm("constraints", search)(baskets, promise, None, Options(suppress=suppress))
                    except shoal.Unreachable:
                        told.append(f"{search} cannot")
                        continue
                    seconds, sets = time.process_time() - began, found.apply(baskets)
                    promise.audit(sets).require()
                    fates = row_fates(baskets, sets, Coverage.of_tree(found.hierarchy, baskets, sets))
                    told.append(f"{search} {fates.info:.2%} ({fates.deleted:.2%} deleted, {seconds:.1f} s)")
                print(f"  {what}, suppress {suppress}: {'; '.join(told)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
