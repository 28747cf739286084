"""Figures on tables with items, after section 6 of the RT paper: losses, query errors, runtimes, and what BTD saves.

Seconds are those of `shoal.anonymize` on records in memory, its audit included; every release here has passed that audit.
"""

from __future__ import annotations

from typing import Any

from measuring import Row, folder, peak_mb, timed

FILES = {
    "Diabetes-130 RT": "diabetes130/diabetes130_rt.csv.gz",
    "Complete Journey RT": "completejourney/completejourney_rt.csv.gz",
}
ROLES = {
    "Diabetes-130 RT": {"quasi": "race,gender,age", "drop": "patient_nbr"},
    "Complete Journey RT": {
        "quasi": "age,income,home_ownership,marital_status,household_size,household_comp,kids_count",
        "drop": "household_id",
    },
}
TREES = {
    "Diabetes-130 RT": {"age": "balanced:2"},
    "Complete Journey RT": {"age": "balanced:2", "household_size": "balanced:2", "kids_count": "balanced:2"},
}
"""Columns whose values stand in their order by name: two neighbours under a parent, two parents under the next. Others are flat."""
RMERGES = ("rmerge-r", "rmerge-t", "rmerge-rt")
TMERGES = ("tmerge-r", "tmerge-t", "tmerge-rt")
ALL = (*RMERGES, *TMERGES, "rfirst", "tfirst")
KINDS = ("relational", "items", "mixed")


def records_of(name: str, n: int | None = None) -> Any:
    """The table, or n of its rows drawn at random; the rows of a smaller n are among those of a larger one, as in the paper."""
    import numpy as np

    from shoal.records.source import load_records

    root = folder()
    assert root is not None
    records = load_records(root / FILES[name], items="items", **ROLES[name]).records
    if n is None or n >= len(records):
        return records
    return records.take(np.sort(np.random.default_rng(1).permutation(len(records))[:n]))


def released(records: Any, name: str, algorithm: str, k: int, most: int = 3, **options: Any) -> tuple[float, Any]:
    """(seconds, release) for m = 2; the best of a few runs."""
    import shoal

    took, release = timed(
        lambda: shoal.anonymize(
            records, shoal.RTAnonymity(k, 2), algorithm=algorithm, hierarchy=TREES[name], **options
        ),
        1,
        most,
    )
    assert release.audit.holds
    assert release.rows == len(records)
    return took, release


def losses(release: Any) -> Row:
    return {
        "NCP": f"{release.loss['ncp']:.4f}",
        "UL": f"{release.loss['ul']:.3g}",
        "items NCP": f"{release.loss['items_ncp']:.4f}",
        "classes": release.details["classes"]["count"],
        "largest class": f"{release.details['classes']['largest']:,}",
    }


def query_errors(records: Any, release: Any, name: str) -> Row:
    """ARE on 100 random queries of each kind: two values, two items, or both."""
    from shoal.loss.queries import are
    from shoal.loss.workloads import random_workload
    from shoal.models.tables import hierarchies

    trees = hierarchies(records, TREES[name], None)
    errors = (are(records, release.published, random_workload(records, 100, kind), trees) for kind in KINDS)
    return {f"ARE, {kind}": f"{error:.3f}" for kind, error in zip(KINDS, errors, strict=True)}


def warm_up(name: str, *algorithms: str) -> None:
    """Load (or compile) the kernels of these algorithms on a few rows."""
    small = records_of(name, 400)
    for algorithm in algorithms:
        bound = {"delta": 1.0} if "merge" in algorithm else {}
        _, release = released(small, name, algorithm, 5, most=1, **bound)
        query_errors(small, release, name)


def section_tables() -> list[Row]:
    return [{"data": name, "algorithm": algorithm, "k": 25} for name in FILES for algorithm in ALL]


def case_tables(data_name: str, algorithm: str, k: int, n: int | None = None) -> Row:
    """All algorithms at the paper's k = 25, m = 2 and delta = 0.65."""
    warm_up(data_name, algorithm)
    records = records_of(data_name, n)
    took, release = released(records, data_name, algorithm, k)
    memory = peak_mb()  # before the queries, which are only here to measure
    return {
        "data": data_name,
        "rows": f"{len(records):,}",
        "k": k,
        "algorithm": algorithm,
        "seconds": f"{took:.2f}",
        "peak MB": memory,
        **losses(release),
        **query_errors(records, release, data_name),
    }


def section_rum() -> list[Row]:
    sweeps = {"Diabetes-130 RT": (0.1, 0.35, 0.65, 0.8, 0.95), "Complete Journey RT": (0.65, 0.8, 0.95)}
    return [
        {"data": name, "algorithm": algorithm, "delta": delta}
        for name, sweep in sweeps.items()
        for delta in sweep
        for algorithm in RMERGES
    ]


def case_rum(data_name: str, algorithm: str, delta: float, n: int | None = None, k: int = 25) -> Row:
    """RMERGE by its bound on NCP, as in Figures 4a to 4g and 6."""
    warm_up(data_name, algorithm)
    records = records_of(data_name, n)
    row: Row = {"data": data_name, "k": k, "delta": delta, "algorithm": algorithm}
    return row | _bounded(records, data_name, algorithm, k, delta)


def section_tum() -> list[Row]:
    # Not Complete Journey: with 126 items a row, UL is near 1e-20 before any merge, and no bound on it makes a difference.
    return [
        {"data": "Diabetes-130 RT", "algorithm": algorithm, "share": share}
        for share in (0.75, 0.5, 0.25)
        for algorithm in TMERGES
    ]


def case_tum(data_name: str, algorithm: str, share: float, n: int | None = None, k: int = 25) -> Row:
    """TMERGE by its bound on UL, as in Figure 4h; the bound is a share of the UL that clusters have before they are merged."""
    warm_up(data_name, algorithm, "rfirst")
    records = records_of(data_name, n)
    _, apart = released(records, data_name, "rfirst", k, most=1)
    delta = share * apart.loss["ul"]
    row: Row = {"data": data_name, "k": k, "delta": f"{share:g} of {apart.loss['ul']:.3g}", "algorithm": algorithm}
    return row | _bounded(records, data_name, algorithm, k, delta)


def _bounded(records: Any, name: str, algorithm: str, k: int, delta: float) -> Row:
    """Seconds, losses and query errors under a bound, or that there is no solution for it."""
    from shoal.errors import Unreachable

    try:
        took, release = released(records, name, algorithm, k, most=1, delta=delta)
    except Unreachable:
        heads = ("NCP", "UL", "items NCP", "classes", "largest class", *(f"ARE, {kind}" for kind in KINDS))
        return {"seconds": "no solution", **dict.fromkeys(heads, "")}
    assert release.loss["ncp" if algorithm in RMERGES else "ul"] <= delta + 1e-9
    return {"seconds": f"{took:.2f}", **losses(release), **query_errors(records, release, name)}


def section_scale() -> list[Row]:
    cases: list[Row] = [{"n": n, "k": 25} for n in (2_000, 10_000, 30_000, 71_517)]
    return cases + [{"n": 71_517, "k": k} for k in (5, 10, 50, 100)]


def case_scale(n: int, k: int) -> Row:
    """Runtime against the number of rows and against k, as in Figures 7a and 7b, with the cost of CLUSTER alone."""
    from shoal.algorithms import algorithm
    from shoal.algorithms.recoding import Options
    from shoal.guarantees.table import TableAnonymity
    from shoal.models.tables import hierarchies

    name = "Diabetes-130 RT"
    warm_up(name, *RMERGES)
    records = records_of(name, n)
    trees = hierarchies(records, TREES[name], None)
    clustered = algorithm("table", "cluster")
    alone, _ = timed(lambda: clustered(records, TableAnonymity(k), trees, Options()), 0.5, 3)
    row: Row = {"rows": f"{len(records):,}", "k": k, "CLUSTER s": f"{alone:.3f}"}
    for merge in RMERGES:
        took, release = released(records, name, merge, k)
        row |= {f"{merge} s": f"{took:.2f}", f"{merge}: NCP": f"{release.loss['ncp']:.4f}"}
        row[f"{merge}: UL"] = f"{release.loss['ul']:.3g}"
    return row | {"peak MB": peak_mb()}


def section_btd() -> list[Row]:
    cases: list[Row] = [
        {"data": "Diabetes-130 RT", "n": 4_000, "k": k, "algorithm": f"{bound}merge-{way}"}
        for k in (5, 25)
        for bound in "rt"
        for way in ("t", "rt")
    ]
    return cases + [
        {"data": "Complete Journey RT", "n": 801, "k": 10, "algorithm": algorithm}
        for algorithm in ("rmerge-t", "rmerge-rt")
    ]


def case_btd(data_name: str, n: int, k: int, algorithm: str) -> Row:
    """BTD against ordering by UL itself, as in Figures 7c to 7f: delta = 0.65 for RMERGE, half of the unmerged UL for TMERGE."""
    warm_up(data_name, algorithm, "rfirst")
    records = records_of(data_name, n)
    delta = 0.65
    if algorithm in TMERGES:
        delta = released(records, data_name, "rfirst", k, most=1)[1].loss["ul"] / 2
    fast, btd = released(records, data_name, algorithm, k, delta=delta, ordering="btd")
    slow, exact = released(records, data_name, algorithm, k, most=1, delta=delta, ordering="ul")
    return {
        "data": data_name,
        "rows": f"{n:,}",
        "k": k,
        "algorithm": algorithm,
        "delta": f"{delta:.3g}",
        "BTD s": f"{fast:.3f}",
        "exact UL s": f"{slow:.2f}",
        "times faster": f"{slow / fast:.0f}",
        "NCP, BTD": f"{btd.loss['ncp']:.4f}",
        "NCP, exact UL": f"{exact.loss['ncp']:.4f}",
        "UL, BTD": f"{btd.loss['ul']:.3g}",
        "UL, exact UL": f"{exact.loss['ul']:.3g}",
        "merges, BTD": btd.recoding.facts["merges"],
        "merges, exact UL": exact.recoding.facts["merges"],
    }
