"""All figures of Shoal from one command: `make bench`. Prints tables and writes benchmarks/RESULTS.md.

Every case runs in a process of its own (so that peak memory is its own) after a warm-up that loads the compiled kernels.
Where two things are compared, they are measured in the same process and reported as a ratio. Seconds are those of the
machine at hand, ratios travel. Public data sets are taken from the folder that SHOAL_DATA names; cases without data
are left out and said so.

    make bench                      everything (several minutes)
    .venv/bin/python benchmarks/run.py exact aa      only these sections; the others stay as they are in RESULTS.md
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

import buckets  # noqa: E402 (files beside this one)
import tables  # noqa: E402
import transactions  # noqa: E402
from measuring import Row, folder, peak_mb, timed  # noqa: E402

FILES = {
    "WebView-1": "bms_webview1/bms_webview1.dat.gz",
    "WebView-2": "bms_webview2/bms_webview2.dat.gz",
    "retail": "retail/retail.dat.gz",
    "Complete Journey": "completejourney/completejourney_baskets.dat.gz",
    "Diabetes-130": "diabetes130/diabetes130.dat.gz",
    "groceries": "groceries/groceries.dat.gz",
}
TREES = {
    "Complete Journey": "completejourney/completejourney_hierarchy.csv.gz",
    "Diabetes-130": "diabetes130/diabetes130_items.csv",
    "groceries": "groceries/groceries_hierarchy.csv",
}
RIVALS = {  # best existing tool, k = 5, balanced:5, measured 2026-11-15 on two cores: (seconds, NCP)
    ("WebView-1", 2): (2.8, 0.0400),
    ("WebView-1", 3): (2.7, 0.1081),
    ("WebView-2", 2): (21.5, 0.0203),
    ("WebView-2", 3): (30.0, 0.0373),
    ("retail", 2): (488.0, 0.0035),
}


def data(name: str) -> Any:
    from shoal.records.reading import read

    root = folder()
    assert root is not None
    return read(root / FILES[name])


def tree(name: str, baskets: Any, spec: str) -> Any:
    from shoal.hierarchy.spec import resolve

    root = folder()
    assert root is not None
    return resolve(root / TREES[name] if spec == "its own tree" else spec, baskets.vocabulary, baskets.supports())


def warm_up() -> None:
    """Load (or compile) every kernel once on tiny data."""
    from shoal.algorithms import ALGORITHMS, algorithm
    from shoal.algorithms.recoding import Options
    from shoal.guarantees.km import KmAnonymity
    from shoal.hierarchy.build import balanced
    from shoal.records.baskets import Baskets

    rows = [[str(j) for j in range(12) if (i * (j + 3)) % 7 < 3] for i in range(60)]
    baskets = Baskets.from_rows(rows)
    hierarchy = balanced(baskets.vocabulary, 3)
    for name in ALGORITHMS["km"]:
        if name != "oa":
            recoding = algorithm("km", name)(baskets, KmAnonymity(4, 3), hierarchy, Options())
            KmAnonymity(4, 3).audit(recoding.apply(baskets))


# Sections: each returns the parameters of its cases; `case_<section>` measures one of them in a fresh process.


def section_audit() -> list[Row]:
    return [{"data": "Complete Journey", "m": 3}]


def case_audit(data_name: str, m: int) -> Row:
    """The audit of raw data against a bare loop over the same subsets that adds to 1,024 slots."""
    from bare import three_subsets
    from shoal.guarantees.km import KmAnonymity

    baskets = data(data_name)
    promise = KmAnonymity(5, m)
    three_subsets(baskets.offsets[:2], baskets.items)
    bare, slots = timed(lambda: three_subsets(baskets.offsets, baskets.items), 2)
    one, audit = timed(lambda: promise.audit(baskets, threads=1), 4)
    two, _ = timed(lambda: promise.audit(baskets, threads=2), 4)
    return {
        "data": data_name,
        "3-subsets": f"{int(slots.sum()):,}",
        "itemsets counted": f"{audit.checked:,}",
        "bare loop s": f"{bare:.2f}",
        "one thread s": f"{one:.2f}",
        "one thread / bare loop": f"{one / bare:.1f}",
        "two threads s": f"{two:.2f}",
        "speed-up": f"{one / two:.2f}",
    }


def section_exact() -> list[Row]:
    cases: list[Row] = [{"data": d, "m": m, "hierarchy": "balanced:5", "suppress": 0.0} for d, m in RIVALS]
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
    from shoal.algorithms.km.aa import aa
    from shoal.algorithms.km.exact import exact
    from shoal.algorithms.recoding import Options
    from shoal.guarantees.km import KmAnonymity
    from shoal.loss.ncp import leaf_occurrences, ncp

    baskets = data(data_name)
    where = tree(data_name, baskets, hierarchy)
    promise = KmAnonymity(5, m)
    took, best = timed(lambda: exact(baskets, promise, where, Options(suppress=suppress)), 1, 3)
    published = best.apply(baskets)
    checking, audit = timed(lambda: promise.audit(published))
    memory = peak_mb()  # before AA, which is only here for comparison
    assert audit.holds
    assert best.optimal
    occurrences = leaf_occurrences(where, baskets)
    loss = ncp(best.cut, occurrences)
    greedy = ncp(aa(baskets, promise, where, Options()).cut, occurrences)["ncp"]
    rival = RIVALS.get((data_name, m)) if hierarchy == "balanced:5" else None
    return {
        "data": data_name,
        "m": m,
        "hierarchy": hierarchy + (f", --suppress {suppress}" if suppress else ""),
        "seconds": f"{took:.2f}",
        "audit s": f"{checking:.3f}",
        "peak MB": memory,
        "NCP, proven optimal": f"{loss['ncp']:.4f}" + (f" ({loss['deleted']:.4f} dropped)" if suppress else ""),
        "NCP of AA": f"{greedy:.4f}",
        "best other tool: s / NCP": f"{rival[0]} / {rival[1]:.4f}" if rival else "",
        "times faster": f"{rival[0] / took:,.0f}" if rival else "",
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
    from shoal.loss.ncp import leaf_occurrences, ncp

    baskets = data(data_name)
    where = tree(data_name, baskets, hierarchy)
    promise = KmAnonymity(5, m)
    took, best = timed(lambda: hybrid(baskets, promise, where, Options(suppress=suppress)), 0, 1)
    memory = peak_mb()
    assert promise.audit(best.apply(baskets)).holds
    occurrences = leaf_occurrences(where, baskets)
    loss = ncp(best.cut, occurrences, best.deleted(baskets))
    paper = ncp(exact(baskets, promise, where, Options()).cut, occurrences)["ncp"]
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
    from shoal.hierarchy.build import balanced
    from shoal.loss.ncp import leaf_occurrences, ncp
    from shoal.records.baskets import Baskets

    rng = np.random.default_rng(1)
    found, best, reached = 0, 0, 0
    for _ in range(worlds):
        rows = [set(rng.choice(4, rng.integers(1, 4), replace=False).tolist()) for _ in range(5)]
        baskets = Baskets.from_rows(map(str, row) for row in [*rows, range(4)][: 5 + (len(set().union(*rows)) < 4)])
        rows = [set(map(int, row)) for row in baskets.rows()]
        where = balanced(baskets.vocabulary, 2)
        total = baskets.occurrences
        answer = hybrid(baskets, KmAnonymity(2, 2), where, Options(suppress=0.5))
        loss = ncp(answer.cut, leaf_occurrences(where, baskets), answer.deleted(baskets))["ncp"]
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
    from shoal.algorithms.km.aa import aa
    from shoal.algorithms.recoding import Options
    from shoal.guarantees.km import KmAnonymity

    baskets = data(data_name)
    where = tree(data_name, baskets, "balanced:5")
    took, fast = timed(lambda: aa(baskets, KmAnonymity(5, m), where, Options()))
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
    from shoal.hierarchy.build import balanced
    from shoal.records.generators import quest

    baskets = quest(transactions, length=10, items=1000, seed=1)
    # k grows with the data, so that the same itemsets stay rare and the sizes are comparable.
    promise = KmAnonymity(transactions // 20_000, 2)
    where = balanced(baskets.vocabulary, 5)
    before = peak_mb()
    auditing, audit = timed(lambda: promise.audit(baskets), 0.5, 5)
    solving, best = timed(lambda: exact(baskets, promise, where, Options()), 0.5, 3)
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


@dataclass(frozen=True)
class Section:
    """One table of the results."""

    title: str
    cases: Callable[[], list[Row]]
    case: Callable[..., Row]
    needs_data: bool = True


SECTIONS = {
    "audit": Section("Audit of raw data, m = 3, against a bare loop", section_audit, case_audit),
    "exact": Section("exact, k = 5, and the published figures of other tools", section_exact, case_exact),
    "hybrid": Section("hybrid, k = 5, beside exact", section_hybrid, case_hybrid),
    "tiny": Section("hybrid against brute force on tiny data", section_tiny, case_tiny, False),
    "aa": Section("AA against a straightforward Python count-tree", section_aa, case_aa),
    "growth": Section("Growth: Quest data, m = 2", section_growth, case_growth, False),
    "transactions": Section(
        "k-anonymous transactions: items added and removed, over the original occurrences",
        transactions.section_transactions,
        transactions.case_transactions,
    ),
    "segments": Section(
        "PTA and Gray-TSP by number of segments", transactions.section_segments, transactions.case_segments
    ),
    "quest": Section(
        "k-anonymous transactions: growth on Quest data, k = 15",
        transactions.section_quest,
        transactions.case_quest,
        False,
    ),
    "tables": Section(
        "(k,k^m)-anonymous tables: all algorithms, m = 2, delta = 0.65", tables.section_tables, tables.case_tables
    ),
    "rum": Section("RMERGE by its bound on NCP, m = 2", tables.section_rum, tables.case_rum),
    "tum": Section("TMERGE by its bound on UL, m = 2", tables.section_tum, tables.case_tum),
    "scale": Section(
        "RMERGE by rows and by k: Diabetes-130 RT, m = 2, delta = 0.65", tables.section_scale, tables.case_scale
    ),
    "btd": Section("BTD against ordering by UL itself, m = 2", tables.section_btd, tables.case_btd),
    "rules": Section(
        "Negative rules on Adult, one condition, beside Figure 3 of the Injector paper",
        buckets.section_rules,
        buckets.case_rules,
    ),
    "narrowed": Section(
        "Buckets on Adult: rows narrowed down below l by the rules", buckets.section_narrowed, buckets.case_narrowed
    ),
    "confidence": Section(
        "Buckets on Adult: errors about positive rules, support 1%, conviction 1.02, up to three conditions",
        buckets.section_confidence,
        buckets.case_confidence,
    ),
    "counts": Section(
        "Buckets on Adult: relative errors of 1,000 counting queries", buckets.section_counts, buckets.case_counts
    ),
    "bucketing": Section("Buckets on Adult: seconds", buckets.section_bucketing, buckets.case_bucketing),
    "census": Section("Buckets: growth on synthetic tables, l = 5", buckets.section_census, buckets.case_census, False),
}


def measured(section: str, case: Row) -> Row:
    """One case in a process of its own."""
    order = [sys.executable, str(HERE / "run.py"), "--case", section, json.dumps(case)]
    done = subprocess.run(order, stdout=subprocess.PIPE, text=True, check=True)
    row: Row = json.loads(done.stdout)
    return row


def table(rows: list[Row]) -> str:
    heads = list(rows[0])
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    lines += ["| " + " | ".join(str(row[h]) for h in heads) + " |" for row in rows]
    return "\n".join(lines)


def main(wanted: list[str]) -> None:
    unknown = [name for name in wanted if name not in SECTIONS]
    if unknown:
        sys.exit(f"no section {', '.join(unknown)}; there are {', '.join(SECTIONS)}")
    results = HERE / "RESULTS.md"
    kept = dict(part.split("\n", 1) for part in results.read_text().split("\n## ")[1:]) if results.exists() else {}
    parts = []
    for name, section in SECTIONS.items():
        title = section.title
        if wanted and name not in wanted:
            if title in kept:
                parts.append(f"## {title}\n{kept[title].rstrip()}\n")
            continue
        print(f"\n{title}", file=sys.stderr)
        if section.needs_data and folder() is None:
            text = "Left out: SHOAL_DATA names no folder with the public data sets."
        else:
            rows = []
            for case in section.cases():
                rows.append(measured(name, case))
                print("  " + ", ".join(f"{k} {v}" for k, v in rows[-1].items() if v != ""), file=sys.stderr)
            text = table(rows)
        print(f"## {title}\n\n{text}\n")
        parts.append(f"## {title}\n\n{text}\n")
    heading = (
        "# Results\n\nWritten by `make bench`, section by section, not all in one run. Best of several runs after a warm-up "
        "(hybrid, the count-tree, the sweeps of tables and the exact UL order: one run), every case in a process of its own; "
        f"{os.cpu_count()} cores, Python {platform.python_version()}, {time.strftime('%Y-%m-%d')}. "
        "Figures of other tools were taken on 2026-11-15 on a machine of the same size.\n\n"
    )
    results.write_text(heading + "\n".join(parts))
    print("\nwritten to benchmarks/RESULTS.md", file=sys.stderr)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--case"]:
        if not SECTIONS[sys.argv[2]].case.__module__.endswith(("transactions", "tables", "buckets")):
            warm_up()
        arguments = json.loads(sys.argv[3])
        if "data" in arguments:
            arguments["data_name"] = arguments.pop("data")
        print(json.dumps(SECTIONS[sys.argv[2]].case(**arguments)))
    else:
        main(sys.argv[1:])
