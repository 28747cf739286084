"""What is measured for the RT paper: releases within a bound, times, and UL along a path of merges."""

from __future__ import annotations

from functools import partial
from typing import Any

from shoal.reproducing import sources
from shoal.reproducing.figure import CANNOT, Row

M, DELTA = 2, 0.65
RMERGES = ("rmerge-r", "rmerge-t", "rmerge-rt")


def released(
    data: str,
    rows: int | None,
    algorithms: list[str],
    k: int,
    delta: float | None = None,
    share: float | None = None,
    l: int | None = None,  # noqa: E741 (the papers' name)
    orderings: list[str] | None = None,
    queries: bool = True,
) -> list[Row]:
    """Each algorithm on one table: seconds, both losses, classes and query errors, or that there is no solution within the bound.

    For TMERGE the bound may be given as a share of the UL before any merge; `l` asks for (k,l^m)-diversity.
    """
    import shoal
    from shoal.reproducing.measuring import measured

    records, trees = sources.rt_table(data, rows)
    promise: Any = shoal.RTAnonymity(min(k, len(records)), M)
    if l is not None:
        records, promise = _with_sensitive(records), shoal.LmDiversity(min(k, len(records)), l, M)

    def release(table: Any, name: str, asked: Any, **bound: Any) -> Any:
        return shoal.anonymize(table, asked, algorithm=name, hierarchy=trees, seed=sources.SEED, **bound)

    _, small = _warm_up(release, records, algorithms, l)
    _errors(small, small, trees)
    if share is not None:
        delta = share * release(records, "rfirst", promise).loss["ul"]
    found: list[Row] = []
    for name in algorithms:
        for ordering in orderings or [""]:
            bound: dict[str, Any] = {"delta": delta} if "merge" in name else {}
            bound |= {"ordering": ordering} if ordering else {}
            row: Row = {"transactions": len(records), "algorithm": name, "delta": delta, "ordering": ordering or None}
            try:
                result = measured(partial(release, records, name, promise, **bound), 0.5, 2)
            except shoal.Unreachable as refusal:
                found.append(row | {"status": CANNOT, "reason": str(refusal)})
                continue
            made = result.answer
            row |= {
                "seconds": result.seconds,
                "ncp": made.loss["ncp"],
                "ul": made.loss["ul"],
                "items_ncp": made.loss["items_ncp"],
            }
            row |= {"classes": made.details["classes"]["count"], "largest": made.details["classes"]["largest"]}
            row |= {"merges": made.details["facts"].get("merges")}
            found.append(row | (_errors(records, made.published, trees) if queries else {}))
    return found


def scaled(data: str, rows: int | None, k: int) -> list[Row]:
    """Seconds of CLUSTER alone and of each RMERGE."""
    from shoal.algorithms import algorithm
    from shoal.algorithms.recoding import Options
    from shoal.guarantees.table import TableAnonymity
    from shoal.models.tables import hierarchies
    from shoal.reproducing.measuring import kept, measured

    found = released(data, rows, list(RMERGES), k, DELTA, queries=False)
    records, specs = sources.rt_table(data, rows)
    trees = hierarchies(records, specs, None)
    promise = TableAnonymity(min(k, len(records)))
    result = measured(partial(algorithm("table", "cluster"), records, promise, trees, Options(seed=sources.SEED)))
    kept(promise, result.answer.apply(records))
    return [
        *found,
        {"transactions": len(records), "algorithm": "cluster", "seconds": result.seconds, "ncp": result.answer.ncp},
    ]


def merged(data: str, rows: int | None, k: int) -> list[Row]:
    """UL after each merge of RMERGE_R, until one cluster is left."""
    import shoal
    from shoal.algorithms.recoding import Options
    from shoal.algorithms.rt.cluster_recoding import RTOptions
    from shoal.algorithms.rt.merges import initial_clusters
    from shoal.algorithms.rt.task import task_of
    from shoal.algorithms.rt.transaction import generalize
    from shoal.models.tables import hierarchies

    records, specs = sources.rt_table(data, rows)
    promise = shoal.RTAnonymity(min(k, len(records)), M)
    # The end of the path is a release, and has to pass its audit like any other.
    shoal.anonymize(records, promise, algorithm="rmerge-r", delta=1.0, hierarchy=specs, seed=sources.SEED)
    task = task_of(records, promise, hierarchies(records, specs, None), Options(seed=sources.SEED), RTOptions())
    merging, _ = initial_clusters(task)
    costs = {c: generalize(task, merging.rows(c)).ul for c in range(len(merging.alive)) if merging.alive[c]}
    path = [sum(costs.values()) / len(records)]
    while len(costs) > 1:
        seed = merging.seed()
        costs.pop(merging.join_nearest(seed))
        costs[seed] = generalize(task, merging.rows(seed)).ul
        path.append(sum(costs.values()) / len(records))
    return [
        {"transactions": len(records), "algorithm": "rmerge-r", "merge": place, "ul": ul}
        for place, ul in enumerate(path)
    ]


def _with_sensitive(records: Any) -> Any:
    """HIV and mental disorders among the diagnoses; every 25th item of made-up ones."""
    from shoal.records.record_reading import mark_sensitive

    names = [
        name
        for name in records.items.vocabulary
        if name == "042" or (name.isdigit() and len(name) == 3 and "290" <= name <= "319")
    ]
    return mark_sensitive(records, names or list(records.items.vocabulary[::25]))


def _warm_up(release: Any, records: Any, algorithms: list[str], l: int | None) -> tuple[Any, Any]:  # noqa: E741
    """Loads (or compiles) what the algorithms need, on a few rows."""
    import numpy as np

    import shoal

    small = records.take(np.arange(min(300, len(records))))
    promise: Any = shoal.RTAnonymity(5, M) if l is None else shoal.LmDiversity(5, 1, M)
    for name in algorithms:
        release(small, name, promise, **({"delta": 1.0} if "merge" in name else {}))
    return promise, small


def _errors(records: Any, published: Any, specs: dict[str, str]) -> Row:
    from shoal.loss.queries import are
    from shoal.loss.workloads import random_workload
    from shoal.models.tables import hierarchies

    trees = hierarchies(records, specs, None)
    return {
        f"are_{kind}": are(records, published, random_workload(records, 100, kind, sources.SEED), trees)
        for kind in ("relational", "items", "mixed")
    }
