"""The experiments of Poulis, Loukides, Gkoulalas-Divanis and Skiadopoulos (2013), section 6, on tables with items.

INFORMS and YOUTUBE, the paper's data, were not at hand: patients of Diabetes-130 and households of Complete Journey take
their places. Losses, bounds, workloads and defaults (k = 25, m = 2, delta = 0.65) are the paper's.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

import shoal
from shoal.algorithms import algorithm
from shoal.algorithms.recoding import Options
from shoal.algorithms.rt.cluster_recoding import RTOptions
from shoal.algorithms.rt.merges import initial_clusters, merge_next
from shoal.algorithms.rt.merging import ItemOrder
from shoal.algorithms.rt.task import task_of
from shoal.algorithms.rt.transaction import generalize
from shoal.guarantees.table import TableAnonymity
from shoal.loss.queries import are
from shoal.loss.workloads import random_workload
from shoal.models.tables import hierarchies
from shoal.records.source import mark_sensitive
from shoal.studies.papers import measure, sources
from shoal.studies.papers.figure import CANNOT, Cell, Claim, Figure, Finding, Judge, Mode, Panel, Row, claim
from shoal.studies.papers.findings import below, lines, of_all, pairs, runs, share_of, spread, values

TITLE = "Anonymizing Data with Relational and Transaction Attributes (2013)"
RMERGES = ("rmerge-r", "rmerge-t", "rmerge-rt")
TMERGES = ("tmerge-r", "tmerge-t", "tmerge-rt")
PATIENTS, HOUSEHOLDS = "diabetes-130-rt", "complete-journey-rt"
K, L, M, DELTA = 25, 5, 2, 0.65
USEFUL = 0.5
"""The largest relative error with which we call answers useful; the paper says of its plots that data are, and gives no line."""
QUICK_ROWS = 20_000

_SIZE = ("data", "transactions", "k")
_PLACE = (*_SIZE, "delta")
_PATIENTS = (
    "INFORMS is not at hand: Diabetes-130 takes its place (71,517 patients, race, gender and age instead of five columns, 915 diagnoses, "
    "3.7 of them on average). It has 119 different rows of columns, so clusters begin larger."
)
_HOUSEHOLDS = (
    "YOUTUBE is not at hand: Complete Journey takes its place, with 801 households instead of 131,780 videos, seven columns, and 126 "
    "of 302 product categories in a row instead of 6.5 items. k is 25, not 100."
)
_TREES = "Hierarchies: two neighbours under a parent for columns in order, flat for others; items have none and are put together in sets."
_QUERIES = "ARE of 100 queries of each kind, drawn from the rows: two columns, two items, or both."
_MACHINE = "Times are this machine's and this program's, the audit included; the paper had C++ on a 2.7 GHz i5."
_SENSITIVE = (
    f"The text names neither l nor the sensitive items: ours are l = {L}, and HIV and mental disorders (31 codes)."
)
_SHARES = "UL is below the paper's bounds before any merge here, so bounds are shares of it."
_BTD = (
    "Our copy of the paper prints one sign for XOR and OR in the formula of BTD, and names XOR first: we read (ones(b1 xor b2) + 1) / "
    "(ones(b1 and b2) + 1)."
)
_T = "The paper leaves the function T that generalizes items open; ours is greedy, so UL is not the least possible."


def make_releases(
    data: str,
    rows: int | None,
    algorithms: list[str],
    k: int,
    l: int | None = None,  # noqa: E741 (the papers' name)
    orderings: list[str] | None = None,
    queries: bool = True,
    **bounds: float,
) -> list[Row]:
    """Each algorithm on one table: seconds, both losses, classes and query errors, or that there is no solution within the bound.

    The bound is `delta`, or for TMERGE a `share` of the UL before any merge; `l` asks for (k,l^m)-diversity.
    """
    records, trees = sources.rt_table(data, rows)
    promise: Any = shoal.RTAnonymity(min(k, len(records)), M)
    if l is not None:
        records, promise = _with_sensitive(records), shoal.LmDiversity(min(k, len(records)), l, M)

    def release(table: Any, name: str, asked: Any, **bound: Any) -> Any:
        return shoal.anonymize(
            table, asked, algorithm=name, transaction="sets", hierarchy=trees, seed=sources.SEED, **bound
        )

    small = _warm_up(release, records, algorithms, l)
    _errors(small, small, trees)
    delta = bounds.get("delta")
    if "share" in bounds:
        delta = bounds["share"] * release(records, "rfirst", promise).loss["ul"]
    measured: list[Row] = []
    for name in algorithms:
        for ordering in orderings or [""]:
            bound: dict[str, Any] = {"delta": delta} if "merge" in name else {}
            bound |= {"ordering": ordering} if ordering else {}
            row: Row = {"transactions": len(records), "algorithm": name, "delta": delta, "ordering": ordering or None}
            try:
                result = measure.measure(partial(release, records, name, promise, **bound), 0.5, 2)
            except shoal.Unreachable as refusal:
                measured.append(row | {"status": CANNOT, "reason": str(refusal)})
                continue
            made = result.answer
            row |= {"seconds": result.seconds} | {name: made.loss[name] for name in ("ncp", "ul", "items_ncp")}
            row |= {"classes": made.details["classes"]["count"], "largest": made.details["classes"]["largest"]}
            row |= {"merges": made.details["facts"].get("merges")}
            measured.append(row | (_errors(records, made.published, trees) if queries else {}))
    return measured


def time_merges(data: str, rows: int | None, k: int) -> list[Row]:
    """Seconds of CLUSTER alone and of each RMERGE."""
    measured = make_releases(data, rows, list(RMERGES), k, queries=False, delta=DELTA)
    records, specs = sources.rt_table(data, rows)
    trees = hierarchies(records, specs, None)
    promise = TableAnonymity(min(k, len(records)))
    result = measure.measure(
        partial(algorithm("table", "cluster"), records, promise, trees, Options(seed=sources.SEED))
    )
    measure.check_promise(promise, result.answer.apply(records))
    row = {"transactions": len(records), "algorithm": "cluster", "seconds": result.seconds, "ncp": result.answer.ncp}
    return [*measured, row]


def follow_merges(data: str, rows: int | None, k: int, ways: list[str]) -> list[Row]:
    """UL after each merge of RMERGE_R, _T and _RT, until one cluster is left. Without a bound in reach TMERGE makes the same merges."""
    records, specs = sources.rt_table(data, rows)
    promise = shoal.RTAnonymity(min(k, len(records)), M)
    rt = RTOptions(delta=1.0, transaction="sets")
    task = task_of(records, promise, hierarchies(records, specs, None), Options(seed=sources.SEED), rt)
    measured: list[Row] = []
    for way in ways:
        # The end of the path is a release, and has to pass its audit like any other.
        name = f"rmerge-{way}"
        shoal.anonymize(
            records, promise, algorithm=name, delta=rt.delta, transaction="sets", hierarchy=specs, seed=sources.SEED
        )
        merging, _ = initial_clusters(task)
        order = None if way == "r" else ItemOrder(task, merging)
        costs = {c: generalize(task, merging.rows(c)).ul for c in range(len(merging.alive)) if merging.alive[c]}
        path = [sum(costs.values()) / len(records)]
        while len(costs) > 1:
            c, other = merge_next(way, merging, order)
            costs.pop(other)
            costs[c] = generalize(task, merging.rows(c)).ul
            path.append(sum(costs.values()) / len(records))
        measured += [
            {"transactions": len(records), "algorithm": name, "merge": place, "ul": ul} for place, ul in enumerate(path)
        ]
    return measured


def _with_sensitive(records: Any) -> Any:
    """HIV and mental disorders among the diagnoses; every 25th item of made-up ones."""
    names = [
        name
        for name in records.items.vocabulary
        if name == "042" or (name.isdigit() and len(name) == 3 and "290" <= name <= "319")
    ]
    return mark_sensitive(records, names or list(records.items.vocabulary[::25]))


def _warm_up(release: Any, records: Any, algorithms: list[str], l: int | None) -> Any:  # noqa: E741
    """Loads (or compiles) what the algorithms need, on a few rows."""
    small = records.take(np.arange(min(300, len(records))))
    promise: Any = shoal.RTAnonymity(5, M) if l is None else shoal.LmDiversity(5, 1, M)
    for name in algorithms:
        release(small, name, promise, **({"delta": 1.0} if "merge" in name else {}))
    return small


def _errors(records: Any, published: Any, specs: dict[str, str]) -> Row:
    trees = hierarchies(records, specs, None)
    return {
        f"are_{kind}": are(records, published, random_workload(records, 100, kind, sources.SEED), trees)
        for kind in ("relational", "items", "mixed")
    }


MEASURES = {"released": make_releases, "scaled": time_merges, "merged": follow_merges}


@claim("A small delta keeps the columns, a large one favours the items.")
def delta_trades(rows: list[Row]) -> Finding | None:
    columns, items = _ends(rows, "delta", "are_relational"), _ends(rows, "delta", "are_items")
    return of_all(
        [first < last for first, last in columns] + [last < first for first, last in items],
        f"Over delta, ARE about columns is {_moves(columns)}, about items {_moves(items)}.",
    )


@claim("A larger delta favours the columns.")
def tum_favours_columns(rows: list[Row]) -> Finding | None:
    columns = _ends(rows, "share", "are_relational")
    return of_all([last < first for first, last in columns], f"Over delta, ARE about columns is {_moves(columns)}.")


def _ends(rows: list[Row], x: str, y: str) -> list[tuple[float, float]]:
    sweeps = lines(rows, x, y, ("data", "algorithm")).values()
    return [(points[0][1], points[-1][1]) for points in sweeps if len(points) > 1]


def _moves(ends: list[tuple[float, float]]) -> str:
    if not ends:
        return "not known"
    return f"{spread([first for first, _ in ends])} at first and {spread([last for _, last in ends])} at last"


def within_delta(y: str, name: str) -> Judge:
    """Whether a loss stays within its bound."""

    def judge(rows: list[Row]) -> Finding | None:
        within = [row[y] <= row["delta"] + 1e-9 for row in runs(rows)]
        none = len(rows) - len(within)
        some = f" {none} of {len(rows)} bounds have no solution, which is said and nothing published." if none else ""
        return of_all(within, f"{name} is within delta in {share_of(within)} releases.{some}")

    return judge


@claim("RM_R answers best about items and worst about columns, RM_T the other way round.")
def r_against_t(rows: list[Row]) -> Finding | None:
    better = [below(r, t) for r, t in pairs(rows, "rmerge-r", "rmerge-t", "are_items", _PLACE)]
    worse = [below(t, r) for r, t in pairs(rows, "rmerge-r", "rmerge-t", "are_relational", _PLACE)]
    ours = f"RM_R errs less than RM_T about items in {share_of(better)} settings, and more about columns in {share_of(worse)}."
    return of_all(better + worse, ours)


@claim("RM_RT is better than RM_R about columns and than RM_T about items.")
def rt_between(rows: list[Row]) -> Finding | None:
    columns = [below(rt, r) for rt, r in pairs(rows, "rmerge-rt", "rmerge-r", "are_relational", _PLACE)]
    items = [below(rt, t) for rt, t in pairs(rows, "rmerge-rt", "rmerge-t", "are_items", _PLACE)]
    about = f"about columns in {share_of(columns)} settings, and less than RM_T about items in {share_of(items)}"
    return of_all(columns + items, f"RM_RT errs less than RM_R {about}.")


def extreme(name: str, y: str, text: str, *, largest: bool) -> Judge:
    """Whether an RMERGE has the largest, or the smallest, y of the three."""

    def judge(rows: list[Row]) -> Finding | None:
        by_name = {one: values(rows, one, y, _PLACE) for one in RMERGES}
        tests = []
        for place, value in by_name[name].items():
            others = [by_name[one][place] for one in RMERGES if one != name and place in by_name[one]]
            if len(others) == 2:  # of fewer, none can be told to be the extreme of the three
                tests.append(all(value >= other if largest else value <= other for other in others))
        return of_all(tests, f"{text} of the three in {share_of(tests)} settings.")

    return judge


@claim("Data stay useful for queries about columns and items together.")
def useful_for_both(rows: list[Row]) -> Finding | None:
    found: dict[str, list[float]] = {}
    for row in runs(rows):
        if row.get("are_mixed") is not None:
            found.setdefault(row["algorithm"], []).append(row["are_mixed"])
    text = ", ".join(f"{_called(name)} {spread(errors)}" for name, errors in found.items())
    useful = [error <= USEFUL for errors in found.values() for error in errors]
    line = f"at most {USEFUL:g} (who always says none is off by 1)"
    return of_all(useful, f"ARE of queries about both: {text}; {line} in {share_of(useful)} settings.")


def _called(name: str) -> str:
    """RM_R for rmerge-r, as the paper has it."""
    kind, _, way = name.partition("merge-")
    return f"{kind.upper()}M_{way.upper()}" if way else name.upper()


RUM = (
    delta_trades,
    useful_for_both,
    Claim("NCP never exceeds delta.", within_delta("ncp", "NCP")),
    r_against_t,
    rt_between,
)
"""What the paper states of all merges within a bound on the columns' loss."""
TUM = (
    tum_favours_columns,
    useful_for_both,
    Claim("The loss of items stays low: UL is within delta.", within_delta("ul", "UL")),
)
"""The same of merges within a bound on the items' loss."""
RT_SLOWEST = Claim("RM_RT is the slowest.", extreme("rmerge-rt", "seconds", "RM_RT is the slowest", largest=True))
T_FASTEST = Claim(
    "RM_T is the fastest of the three.", extreme("rmerge-t", "seconds", "RM_T is the fastest", largest=False)
)


@claim("RM_RT makes slightly larger clusters than RM_T, with a lower UL.")
def rt_over_t(rows: list[Row]) -> Finding | None:
    sizes = [rt >= t for rt, t in pairs(rows, "rmerge-rt", "rmerge-t", "largest", _PLACE)]
    losses = [rt < t for rt, t in pairs(rows, "rmerge-rt", "rmerge-t", "ul", _PLACE)]  # of long rows UL is near 0
    ours = f"RM_RT's largest cluster is at least RM_T's in {share_of(sizes)} settings; its UL is lower in {share_of(losses)}."
    return of_all(sizes + losses, ours)


@claim("Time falls as k grows, for the merges and for CLUSTER.")
def faster_with_k(rows: list[Row]) -> Finding | None:
    sweeps = {
        name: points for (name,), points in lines(rows, "k", "seconds", ("algorithm",)).items() if len(points) > 1
    }
    text = ", ".join(f"{name} {points[0][1]:.2g} to {points[-1][1]:.2g} s" for name, points in sweeps.items())
    return of_all(
        [points[-1][1] < points[0][1] for points in sweeps.values()], f"From the smallest to the largest k: {text}."
    )


@claim("RM_T is faster than RM_R, up to 2.2 times.")
def t_against_r(rows: list[Row]) -> Finding | None:
    factors = [r / t for r, t in pairs(rows, "rmerge-r", "rmerge-t", "seconds", _SIZE) if t]
    if not factors:
        return None
    return of_all(
        [*(factor > 1 for factor in factors), max(factors) >= 2],
        f"RM_R takes {spread(factors, '.2f')} times what RM_T takes.",
    )


@claim("UL comes out the same with BTD as with UL itself.")
def same_ul(rows: list[Row]) -> Finding | None:
    both = _orderings(rows, "ul")
    low = [btd <= ul * 1.1 + 1e-12 for btd, ul in both]
    factors = spread([btd / ul for btd, ul in both if ul])
    return of_all(low, f"UL with BTD is {factors} times that with UL; no higher by a tenth in {share_of(low)}.")


@claim("BTD is at least 10 times as fast.")
def btd_faster(rows: list[Row]) -> Finding | None:
    factors = [ul / btd for btd, ul in _orderings(rows, "seconds") if btd]
    ours = f"Ordering by UL takes {spread(factors, ',.0f')} times as long."
    return of_all([factor >= 10 for factor in factors], ours)


def _orderings(rows: list[Row], y: str) -> list[tuple[float, float]]:
    return pairs(rows, "btd", "ul", y, ("algorithm", *_SIZE), column="ordering")


@claim("UL never rises when clusters are merged.")
def ul_only_falls(rows: list[Row]) -> Finding | None:
    steps: list[float] = []
    texts = []
    for (k, name), points in lines(rows, "merge", "ul", ("k", "algorithm")).items():
        changes = [after[1] - before[1] for before, after in pairwise(points)]
        rises = [change for change in changes if change > 1e-12]
        steps += changes
        most = f", by {max(rises):.4f} at most" if rises else ""
        ends = f"it ends at {points[-1][1]:.4f} after {points[0][1]:.4f}"
        texts.append(f"{_called(name)}, k = {k}: {len(rises)} of {len(changes)} merges raise UL{most}; {ends}")
    return of_all([step <= 1e-12 for step in steps], f"{'. '.join(texts)}.")


@claim("Without merging (RFIRST) the columns lose least; items first (TFIRST) the items lose least.")
def extremes(rows: list[Row]) -> Finding | None:
    by_name = {row["algorithm"]: row for row in runs(rows)}
    if not {"rfirst", "tfirst"} <= set(by_name):
        return None
    r, t = by_name["rfirst"], by_name["tfirst"]
    ours = " ".join(
        f"{row['algorithm'].upper()}: NCP {row['ncp']:.3f}, UL {row['ul']:.3g}, NCP of the items {row['items_ncp']:.4f}."
        for row in (r, t)
    )
    ncp, ul = (min(row[name] for row in by_name.values()) for name in ("ncp", "ul"))
    return of_all([r["ncp"] <= ncp + 1e-9, t["ul"] <= ul + 1e-12], ours)


@claim("No algorithm is best for columns and items at once.")
def no_best(rows: list[Row]) -> Finding | None:
    ran = runs(rows)
    if len(ran) < 2:
        return None
    ncp, ul = (min(row[name] for row in ran) for name in ("ncp", "ul"))
    both = [row["algorithm"] for row in ran if row["ncp"] <= ncp + 1e-9 and row["ul"] <= ul + 1e-12]
    none = f"None of {len(ran)} has both the least NCP ({ncp:.3f}) and the least UL ({ul:.3g})."
    return of_all([not both], f"Best in both: {', '.join(both)}." if both else none)


_figure = partial(Figure, "rt")


def figures(mode: Mode) -> list[Figure]:
    deltas = mode.of((0.1, 0.65, 0.95), (0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95))
    tight = mode.of((0.65, 0.95), (0.6, 0.65, 0.7, 0.8, 0.9, 0.95))
    shares = mode.of((0.75, 0.25), (0.9, 0.75, 0.5, 0.25))
    informs = tuple(_cell(mode, PATIENTS, RMERGES, delta=delta) for delta in deltas)
    youtube = tuple(_cell(mode, HOUSEHOLDS, RMERGES, delta=delta) for delta in tight)
    tum = tuple(_cell(mode, PATIENTS, TMERGES, share=share) for share in shares)
    diverse = tuple(_cell(mode, PATIENTS, RMERGES, delta=delta, l=L) for delta in deltas[:: mode.of(2, 1)])
    sizes = mode.of((2_000, QUICK_ROWS), (2_000, 10_000, 20_000, 36_553, 71_517))
    ks = mode.of((10, 100), (5, 10, 25, 50, 100))
    largest = mode.of(QUICK_ROWS, None)
    quick = () if mode.full else (f"Quick mode takes {QUICK_ROWS:,} patients, drawn at random.",)
    bounds = "delta, the bound on NCP, from 0.1 to 0.95; k = 25, m = 2."
    return [
        _figure(
            "4a-c",
            "Query errors within a bound on the columns' loss",
            bounds,
            RUM,
            (_PATIENTS, _TREES, _QUERIES, *quick),
            informs,
            _errors_by("delta"),
        ),
        _figure(
            "4d-g",
            "Query errors within a bound, second data set",
            f"delta = {tight[0]} to 0.95; m = 2.",
            RUM,
            (_HOUSEHOLDS, _TREES, _QUERIES),
            youtube,
            _errors_by("delta"),
        ),
        _figure(
            "4h",
            "Query errors within a bound on the items' loss",
            "delta, the bound on UL, as a share of the UL before any merge; k = 25, m = 2.",
            TUM,
            (_PATIENTS, _TREES, _QUERIES, _SHARES, *quick),
            tum,
            _errors_by("share"),
        ),
        _figure(
            "5a-c",
            "Query errors with (k,l^m)-diversity",
            f"delta from {deltas[0]} to {deltas[-1]}; k = 25, l = {L}, m = 2.",
            RUM,
            (_PATIENTS, _TREES, _QUERIES, _SENSITIVE, *quick),
            diverse,
            _errors_by("delta"),
        ),
        _figure(
            "5d",
            "Query errors with (k,l^m)-diversity, within a bound on the items' loss",
            f"delta, the bound on UL, as a share of the UL before any merge; k = 25, l = {L}, m = 2.",
            TUM,
            (_PATIENTS, _TREES, _QUERIES, _SENSITIVE, _SHARES, *quick),
            tuple(_cell(mode, PATIENTS, TMERGES, share=share, l=L) for share in shares),
            _errors_by("share"),
        ),
        _figure(
            "6",
            "Largest cluster and UL",
            "The runs of Figures 4a to 4g.",
            (
                Claim(
                    "RM_R makes the largest clusters.",
                    extreme("rmerge-r", "largest", "RM_R has the largest cluster", largest=True),
                ),
                Claim(
                    "These have a low UL: RM_R's is the lowest of the three.",
                    extreme("rmerge-r", "ul", "RM_R has the lowest UL", largest=False),
                ),
                rt_over_t,
            ),
            (_PATIENTS, _HOUSEHOLDS, _TREES, _T, *quick),
            informs + youtube,
            (
                _on(PATIENTS, "a", "Largest cluster", "largest", y_label="rows", log_y=True),
                _on(HOUSEHOLDS, "b", "Largest cluster", "largest", y_label="rows"),
                _on(PATIENTS, "c", "UL", "ul"),
                _on(HOUSEHOLDS, "d", "UL", "ul", log_y=True),
            ),
        ),
        _figure(
            "7a",
            "Time by number of rows",
            f"{sizes[0]:,} to {sizes[-1]:,} patients, the fewer among the more; k = 25, m = 2, delta = 0.65.",
            (T_FASTEST, RT_SLOWEST),
            (_PATIENTS, _MACHINE),
            tuple(_cell(mode, PATIENTS, None, rows=rows, measure="scaled") for rows in sizes),
            (Panel("a", "Seconds by rows", "transactions", "seconds", x_label="rows", log_y=True),),
        ),
        _figure(
            "7b",
            "Time by k",
            f"k = {ks[0]} to {ks[-1]}; m = 2, delta = 0.65.",
            (faster_with_k, t_against_r, RT_SLOWEST),
            (_PATIENTS, _MACHINE, *quick),
            tuple(_cell(mode, PATIENTS, None, rows=largest, k=k, measure="scaled") for k in ks),
            (Panel("b", "Seconds by k", "k", "seconds", log_y=True),),
        ),
        _figure(
            "7c-f",
            "What BTD saves",
            "Ordering clusters by BTD against ordering them by UL itself; k = 25, m = 2.",
            (same_ul, btd_faster),
            (
                _PATIENTS,
                _MACHINE,
                _BTD,
                "The same is taken as at most a tenth higher. For TMERGE, delta is half of the UL before any merge.",
            ),
            _btd_cells(mode),
            (
                Panel("time", "Seconds", "algorithm", "seconds", ("ordering",), log_y=True),
                Panel("ul", "UL", "algorithm", "ul", ("ordering",)),
            ),
        ),
        _figure(
            "7g-h",
            "UL while clusters merge",
            "RM_R, RM_T and RM_RT with delta = 1, merge by merge; m = 2.",
            (ul_only_falls,),
            (
                _PATIENTS,
                _T,
                "7g (Rum-bound) and 7h (Tum-bound) are one: with no bound in reach both make the same merges in ours, to the last.",
            ),
            tuple(
                Cell(
                    "rt",
                    "merged",
                    {"data": PATIENTS, "rows": mode.rows(4_000), "k": k, "ways": ["r", "t", "rt"]},
                    cost=12,
                )
                for k in mode.of((25,), (5, 10, 25))
            ),
            (Panel("g", "UL by merges", "merge", "ul", ("algorithm", "k")),),
        ),
        _figure(
            "defaults",
            "All eight algorithms",
            "k = 25, m = 2, delta = 0.65.",
            (extremes, no_best),
            (_PATIENTS, _TREES, _QUERIES, *quick),
            (_cell(mode, PATIENTS, (*RMERGES, *TMERGES, "rfirst", "tfirst"), delta=DELTA),),
            (
                Panel("loss", "Loss of columns", "algorithm", "ncp", ()),
                Panel("items", "Loss of items", "algorithm", "items_ncp", ()),
                Panel("time", "Seconds", "algorithm", "seconds", ()),
            ),
        ),
    ]


def _cell(mode: Mode, data: str, names: tuple[str, ...] | None, *, measure: str = "released", **params: Any) -> Cell:
    whole = params.pop("rows", None if mode.full or data == HOUSEHOLDS else QUICK_ROWS)
    asked: dict[str, Any] = {"data": data, "rows": mode.rows(whole), "k": K, **params}
    if names is not None:
        asked["algorithms"] = list(names)
    return Cell("rt", measure, asked, limit=mode.of(120, 900), cost=mode.of(3, 8))


def _btd_cells(mode: Mode) -> tuple[Cell, ...]:
    rows = mode.of(1_500, 4_000)
    both: dict[str, Any] = {"rows": rows, "orderings": ["btd", "ul"], "queries": False}
    return (
        _cell(mode, PATIENTS, ("rmerge-t", "rmerge-rt"), delta=DELTA, **both),
        _cell(mode, PATIENTS, ("tmerge-t", "tmerge-rt"), share=0.5, **both),
    )


def _errors_by(x: str) -> tuple[Panel, ...]:
    kinds = {"relational": "two columns", "mixed": "columns and items", "items": "two items"}
    return tuple(
        Panel(kind, f"ARE of queries on {what}", x, f"are_{kind}", y_label="ARE") for kind, what in kinds.items()
    )


def _on(data: str, name: str, title: str, y: str, **how: Any) -> Panel:
    where = sources.label(data)
    return Panel(name, f"{where}: {title}", "delta", y, only={"data": where}, **how)
