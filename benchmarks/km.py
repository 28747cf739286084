"""Figures on k^m-anonymity by NCP: the audit, exact, hybrid, AA, whole commands beside other tools, and growth."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measuring import Row, folder, peak_mb, timed
from recorded import number, recorded

FILES = {
    "WebView-1": "bms_webview1/bms_webview1.dat.gz",
    "WebView-2": "bms_webview2/bms_webview2.dat.gz",
    "retail": "retail/retail.dat.gz",
    "Complete Journey": "completejourney/completejourney_baskets.dat.gz",
    "Diabetes-130": "diabetes130/diabetes130.dat.gz",
    "groceries": "groceries/groceries.dat.gz",
    "T10I4D100K": "t10i4d100k/t10i4d100k.dat.gz",
    "mushroom": "mushroom/mushroom.dat.gz",
    "chess": "chess/chess.dat.gz",
    "connect": "connect/connect.dat.gz",
    "accidents, 15,224 rows": "accidents_head/accidents_first15224.dat.gz",
    "pumsb, 2,000 rows": "pumsb_subset/pumsb_2000.dat.gz",
}
TREES = {
    "Complete Journey": "completejourney/completejourney_hierarchy.csv.gz",
    "Diabetes-130": "diabetes130/diabetes130_items.csv",
    "groceries": "groceries/groceries_hierarchy.csv",
}
CASES = (("WebView-1", 2), ("WebView-1", 3), ("WebView-2", 2), ("WebView-2", 3), ("retail", 2))
"""On which other tools were measured as well, with k = 5 and balanced:5."""


def best_rival(data_name: str, m: int) -> tuple[float, float]:
    """The least seconds and the least NCP among other tools, which need not be of the same one."""
    kept = recorded("rivals")
    assert kept is not None
    finished = [row for row in kept.where(data=data_name, m=m) if row["NCP"]]
    return min(number(row["seconds"]) for row in finished), min(number(row["NCP"]) for row in finished)


def data(name: str) -> Any:
    from shoal.records.source import read

    root = folder()
    assert root is not None
    return read(root / FILES[name])


def tree(name: str, baskets: Any, spec: str) -> Any:
    from shoal.hierarchy.spec import Values, resolve

    root = folder()
    assert root is not None
    return resolve(root / TREES[name] if spec == "its own tree" else spec, Values.of_items(baskets))


def warm_up() -> None:
    """Load (or compile) every kernel once on tiny data."""
    from shoal.algorithms import ALGORITHMS, algorithm
    from shoal.algorithms.recoding import Options
    from shoal.guarantees.km import KmAnonymity
    from shoal.hierarchy.build import balanced_tree
    from shoal.records.baskets import Baskets

    rows = [[str(j) for j in range(12) if (i * (j + 3)) % 7 < 3] for i in range(60)]
    baskets = Baskets.from_rows(rows)
    hierarchy = balanced_tree(baskets.vocabulary, 3)
    for name in ALGORITHMS["km"]:
        if name != "oa":
            recoding = algorithm("km", name)(baskets, KmAnonymity(4, 3), hierarchy, Options())
            KmAnonymity(4, 3).audit(recoding.apply(baskets))


def section_audit() -> list[Row]:
    return [{"data": "Complete Journey", "m": 3}, {"data": "T10I4D100K", "m": 2}]


def case_audit(data_name: str, m: int) -> Row:
    """The audit of raw data against a bare loop over the same subsets that adds to 1,024 slots."""
    from bare import three_subsets, two_subsets
    from shoal.guarantees.km import KmAnonymity

    warm_up()
    baskets = data(data_name)
    promise, subsets = KmAnonymity(5, m), {2: two_subsets, 3: three_subsets}[m]
    subsets(baskets.offsets[:2], baskets.items)
    bare, slots = timed(lambda: subsets(baskets.offsets, baskets.items), 2)
    one, audit = timed(lambda: promise.audit(baskets, threads=1), 4)
    two, _ = timed(lambda: promise.audit(baskets, threads=2), 4)
    return {
        "data": data_name,
        "m": m,
        "subsets of m items": f"{int(slots.sum()):,}",
        "itemsets counted": f"{audit.checked:,}",
        "bare loop s": f"{bare:.3f}",
        "one thread s": f"{one:.3f}",
        "one thread / bare loop": f"{one / bare:.1f}",
        "two threads s": f"{two:.3f}",
        "speed-up": f"{one / two:.2f}",
    }


def section_exact() -> list[Row]:
    cases: list[Row] = [{"data": d, "m": m, "hierarchy": "balanced:5", "suppress": 0.0} for d, m in CASES]
    cases += [{"data": "retail", "m": 3, "hierarchy": "balanced:5", "suppress": 0.0}]
    cases += [
        {"data": d, "m": 2, "hierarchy": "frequency:5", "suppress": 0.0} for d in ("WebView-1", "WebView-2", "retail")
    ]
    cases += [
        {"data": d, "m": m, "hierarchy": "its own tree", "suppress": 0.02}
        for d in ("Diabetes-130", "Complete Journey")
        for m in (2, 3)
    ]
    return cases


def case_exact(data_name: str, m: int, hierarchy: str, suppress: float) -> Row:
    from shoal.algorithms.km.apriori import aa
    from shoal.algorithms.km.exact import exact
    from shoal.algorithms.recoding import Options
    from shoal.guarantees.km import KmAnonymity
    from shoal.price.ncp import leaf_occurrences, ncp

    warm_up()
    baskets = data(data_name)
    where = tree(data_name, baskets, hierarchy)
    promise = KmAnonymity(5, m)
    took, best = timed(lambda: exact(baskets, promise, where, Options(price="ncp", suppress=suppress)), 1, 3)
    published = best.apply(baskets)
    checking, audit = timed(lambda: promise.audit(published))
    memory = peak_mb()  # before AA, which is only here for comparison
    assert audit.holds
    assert best.optimal
    occurrences = leaf_occurrences(where, baskets)
    loss = ncp(best.cut, occurrences)
    greedily, greedy = timed(lambda: aa(baskets, promise, where, Options(price="ncp")), 0.5, 3)
    rival = best_rival(data_name, m) if hierarchy == "balanced:5" and (data_name, m) in CASES else None
    return {
        "data": data_name,
        "m": m,
        "hierarchy": hierarchy + (f", --suppress {suppress}" if suppress else ""),
        "seconds": f"{took:.2f}",
        "audit s": f"{checking:.3f}",
        "peak MB": memory,
        "NCP, proven optimal": f"{loss['ncp']:.4f}" + (f" ({loss['deleted']:.4f} dropped)" if suppress else ""),
        "NCP of AA": f"{ncp(greedy.cut, occurrences)['ncp']:.4f}",
        "AA s": f"{greedily:.3f}",
        "best other tool: s / NCP": f"{rival[0]} / {rival[1]:.4f}" if rival else "",
        "times faster": f"{rival[0] / took:,.0f}" if rival else "",
    }


def section_command() -> list[Row]:
    return [{"data": d, "m": m} for d, m in CASES]


def case_command(data_name: str, m: int) -> Row:
    """The whole command as a user runs it: start Python, read, search, audit, count the risk before, write, read again, compare."""
    root = folder()
    assert root is not None
    with tempfile.TemporaryDirectory() as space:
        order = [sys.executable, "-m", "shoal", "anonymize", str(root / FILES[data_name]), "--hierarchy", "balanced:5"]
        order += ["--algorithm", "exact", "--price", "ncp", "--k", "5", "--m", str(m)]
        order += ["-o", str(Path(space) / "public.dat"), "--force", "--json"]

        def answer() -> Any:
            done = subprocess.run(order, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
            return json.loads(done.stdout)

        answer()  # loads (or compiles) the kernels
        took, release = timed(answer, 10, 4)
    rival = best_rival(data_name, m)
    return {
        "data": data_name,
        "m": m,
        "seconds": f"{took:.1f}",
        "peak MB": peak_mb(of_children=True),
        "NCP": f"{release['loss']['ncp']:.4f}",
        "fastest other tool s": rival[0],
        "times faster": f"{rival[0] / took:,.1f}",
    }


def section_hybrid() -> list[Row]:
    own = [("Diabetes-130", 2, 0.05), ("Diabetes-130", 3, 0.05), ("groceries", 2, 0.05), ("Complete Journey", 2, 0.05)]
    own.append(("Complete Journey", 3, 0.1))
    cases: list[Row] = [{"data": d, "m": m, "hierarchy": "its own tree", "suppress": s} for d, m, s in own]
    cases += [{"data": "WebView-1", "m": m, "hierarchy": "balanced:5", "suppress": 0.05} for m in (2, 3)]
    cases += [{"data": d, "m": 2, "hierarchy": "balanced:5", "suppress": 0.05} for d in ("WebView-2", "retail")]
    cases += [
        {"data": d, "m": 2, "hierarchy": "frequency:5", "suppress": 0.05} for d in ("WebView-1", "WebView-2", "retail")
    ]
    return cases


def case_hybrid(data_name: str, m: int, hierarchy: str, suppress: float) -> Row:
    """Generalization and deletion together, beside the optimum of generalization alone and of dropping categories."""
    from shoal.algorithms.km.exact import exact
    from shoal.algorithms.km.hybrid import hybrid
    from shoal.algorithms.recoding import Options
    from shoal.guarantees.km import KmAnonymity
    from shoal.price.ncp import leaf_occurrences, ncp

    warm_up()
    baskets = data(data_name)
    where = tree(data_name, baskets, hierarchy)
    promise = KmAnonymity(5, m)
    took, best = timed(lambda: hybrid(baskets, promise, where, Options(price="ncp", suppress=suppress)), 0, 1)
    memory = peak_mb()
    assert promise.audit(best.apply(baskets)).holds
    occurrences = leaf_occurrences(where, baskets)
    loss = ncp(best.cut, occurrences, best.deletions_by_leaf(baskets))
    alone, _ = timed(lambda: exact(baskets, promise, where, Options(price="ncp", suppress=suppress)), 0.5, 3)
    paper = ncp(exact(baskets, promise, where, Options(price="ncp")).cut, occurrences)["ncp"]
    return {
        "data": data_name,
        "m": m,
        "hierarchy": hierarchy,
        "--suppress": suppress,
        "seconds": f"{took:.1f}",
        "peak MB": memory,
        "hybrid NCP": f"{loss['ncp']:.4f}",
        "generalized": f"{loss['generalized']:.4f}",
        "deleted": f"{loss['deleted']:.4f}",
        "exact, same budget": f"{best.facts['exact']:.4f}",
        "exact s": f"{alone:.2f}",
        "exact, nothing dropped": f"{paper:.4f}",
    }


def section_tiny() -> list[Row]:
    return [{"worlds": 150}]


def case_tiny(worlds: int) -> Row:
    """hybrid against brute force over all cuts and all deletions, on tiny random data."""
    import numpy as np

    import naive
    from shoal.algorithms.km.hybrid import hybrid
    from shoal.algorithms.recoding import Options
    from shoal.guarantees.km import KmAnonymity
    from shoal.hierarchy.build import balanced_tree
    from shoal.price.ncp import leaf_occurrences, ncp
    from shoal.records.baskets import Baskets

    warm_up()
    rng = np.random.default_rng(1)
    found, best, reached = 0, 0, 0
    for _ in range(worlds):
        rows = [set(rng.choice(4, rng.integers(1, 4), replace=False).tolist()) for _ in range(5)]
        baskets = Baskets.from_rows(map(str, row) for row in [*rows, range(4)][: 5 + (len(set().union(*rows)) < 4)])
        rows = [set(map(int, row)) for row in baskets.rows()]
        where = balanced_tree(baskets.vocabulary, 2)
        total = baskets.occurrences
        answer = hybrid(baskets, KmAnonymity(2, 2), where, Options(price="ncp", suppress=0.5))
        loss = ncp(answer.cut, leaf_occurrences(where, baskets), answer.deletions_by_leaf(baskets))["ncp"]
        mine = round(loss * total * where.n_leaves)
        least = naive.best_with_deletions(naive.Tree(where.parent, 4), rows, 2, 2, int(0.5 * total + 1e-9))
        assert least is not None
        assert mine >= least
        found, best, reached = found + mine, best + least, reached + (mine == least)
    return {
        "worlds": worlds,
        "k, m": "2, 2",
        "best reached": f"{reached / worlds:.0%}",
        "loss above the best, in all": f"{found / max(1, best) - 1:.1%}",
        "promise broken": 0,
    }


def section_aa() -> list[Row]:
    return [{"data": "WebView-1", "m": 2}]


def case_aa(data_name: str, m: int) -> Row:
    """AA against a straightforward Python count-tree, the naive twin that the tests compare it with."""
    import naive
    from shoal.algorithms.km.apriori import aa
    from shoal.algorithms.recoding import Options
    from shoal.guarantees.km import KmAnonymity

    warm_up()
    baskets = data(data_name)
    where = tree(data_name, baskets, "balanced:5")
    took, fast = timed(lambda: aa(baskets, KmAnonymity(5, m), where, Options(price="ncp")))
    leaf = dict(zip(baskets.vocabulary, where.leaves_of(baskets.vocabulary).tolist(), strict=True))
    rows = [{leaf[name] for name in row} for row in baskets.rows()]
    start = time.perf_counter()
    slow = naive.aa(naive.Tree(where.parent, where.n_leaves), rows, 5, m)
    twin = time.perf_counter() - start
    assert frozenset(fast.cut.nodes.tolist()) == slow
    return {
        "data": data_name,
        "m": m,
        "AA s": f"{took:.3f}",
        "Python count-tree s": f"{twin:.1f}",
        "ratio": f"{twin / took:,.0f}",
        "same cut": "yes",
    }


def section_growth() -> list[Row]:
    return [{"transactions": n} for n in (100_000, 1_000_000, 10_000_000)]


def case_growth(transactions: int) -> Row:
    from shoal.algorithms.km.exact import exact
    from shoal.algorithms.recoding import Options
    from shoal.guarantees.km import KmAnonymity
    from shoal.hierarchy.build import balanced_tree
    from shoal.records.samples.quest import quest

    warm_up()
    baskets = quest(transactions, length=10, items=1000, seed=1)
    # k grows with the data, so that the same itemsets stay rare and the sizes are comparable.
    promise = KmAnonymity(transactions // 20_000, 2)
    where = balanced_tree(baskets.vocabulary, 5)
    before = peak_mb()
    auditing, audit = timed(lambda: promise.audit(baskets), 0.5, 5)
    solving, best = timed(lambda: exact(baskets, promise, where, Options(price="ncp")), 0.5, 3)
    return {
        "transactions": f"{transactions:,}",
        "k": promise.k,
        "occurrences": f"{baskets.occurrences:,}",
        "audit µs / transaction": f"{auditing / transactions * 1e6:.3f}",
        "exact µs / transaction": f"{solving / transactions * 1e6:.2f}",
        "rounds": best.facts["rounds"],
        "NCP": f"{best.bound:.4f}",
        "rare itemsets before": f"{audit.violations:,}",
        "MB of the data": (baskets.items.nbytes + baskets.offsets.nbytes) // 2**20,
        "peak MB": peak_mb(),
        "peak MB while generating": before,
    }
