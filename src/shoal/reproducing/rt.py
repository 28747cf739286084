"""The experiments of Poulis, Loukides, Gkoulalas-Divanis and Skiadopoulos (2013), section 6, on tables with items.

INFORMS and YOUTUBE, the paper's data, were not at hand: patients of Diabetes-130 and households of Complete Journey take
their places. Losses, bounds, workloads and defaults (k = 25, m = 2, delta = 0.65) are the paper's.
"""

from __future__ import annotations

from typing import Any

from shoal.reproducing import rt_claims as claims
from shoal.reproducing import sources
from shoal.reproducing.figure import Cell, Claim, Figure, Mode, Panel
from shoal.reproducing.rt_measures import DELTA, RMERGES, merged, released, scaled

TITLE = "Anonymizing Data with Relational and Transaction Attributes (2013)"
TMERGES = ("tmerge-r", "tmerge-t", "tmerge-rt")
PATIENTS, HOUSEHOLDS = "diabetes-130-rt", "complete-journey-rt"
K, L = 25, 5
QUICK_ROWS = 20_000

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
_T = "The paper leaves the function T that generalizes items open; ours is greedy, so UL is not the least possible."


MEASURES = {"released": released, "scaled": scaled, "merged": merged}


def figures(mode: Mode) -> list[Figure]:
    deltas = mode.of((0.1, 0.65, 0.95), (0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95))
    tight = mode.of((0.65, 0.95), (0.6, 0.65, 0.7, 0.8, 0.9, 0.95))
    shares = mode.of((0.75, 0.25), (0.9, 0.75, 0.5, 0.25))
    informs = tuple(_cell(mode, PATIENTS, RMERGES, delta=delta) for delta in deltas)
    youtube = tuple(_cell(mode, HOUSEHOLDS, RMERGES, delta=delta) for delta in tight)
    tum = tuple(_cell(mode, PATIENTS, TMERGES, share=share) for share in shares)
    diverse = tuple(_cell(mode, PATIENTS, RMERGES, delta=delta, l=L) for delta in deltas[:: mode.of(2, 1)])
    sizes, ks = (
        mode.of((2_000, QUICK_ROWS), (2_000, 10_000, 20_000, 36_553, 71_517)),
        mode.of((10, 100), (5, 10, 25, 50, 100)),
    )
    largest = mode.of(QUICK_ROWS, None)
    quick = () if mode.full else (f"Quick mode takes {QUICK_ROWS:,} patients, drawn at random.",)
    rum = (
        Claim("A small delta keeps the columns, a large one favours the items.", claims.delta_trades),
        Claim("NCP never exceeds delta.", claims.within_delta),
        Claim("RM_R answers best about items and worst about columns, RM_T the other way round.", claims.r_against_t),
        Claim("RM_RT is better than RM_R about columns and than RM_T about items.", claims.rt_between),
    )
    bounds = "delta, the bound on NCP, from 0.1 to 0.95; k = 25, m = 2."
    return [
        Figure(
            "rt",
            "4a-c",
            "Query errors within a bound on the columns' loss",
            bounds,
            rum,
            (_PATIENTS, _TREES, _QUERIES, *quick),
            informs,
            _errors_by("delta"),
        ),
        Figure(
            "rt",
            "4d-g",
            "Query errors within a bound, second data set",
            f"delta = {tight[0]} to 0.95; m = 2.",
            rum,
            (_HOUSEHOLDS, _TREES, _QUERIES),
            youtube,
            _errors_by("delta"),
        ),
        Figure(
            "rt",
            "4h",
            "Query errors within a bound on the items' loss",
            "delta, the bound on UL, as a share of the UL before any merge; k = 25, m = 2.",
            (
                Claim("A larger delta favours the columns.", claims.tum_favours_columns),
                Claim("The loss of items stays low: UL is within delta.", claims.ul_within_delta),
            ),
            (
                _PATIENTS,
                _TREES,
                _QUERIES,
                "UL is below the paper's bounds before any merge here, so bounds are shares of it.",
                *quick,
            ),
            tum,
            _errors_by("share"),
        ),
        Figure(
            "rt",
            "5",
            "Query errors with (k,l^m)-diversity",
            f"delta from {deltas[0]} to {deltas[-1]}; k = 25, l = {L}, m = 2.",
            rum,
            (
                _PATIENTS,
                _TREES,
                _QUERIES,
                f"The text names neither l nor the sensitive items: ours are l = {L}, and HIV and mental disorders (31 codes).",
                *quick,
            ),
            diverse,
            _errors_by("delta"),
        ),
        Figure(
            "rt",
            "6",
            "Largest cluster and UL",
            "The runs of Figures 4a to 4g.",
            (
                Claim("RM_R makes the largest clusters.", claims.r_largest),
                Claim("These have a low UL: RM_R's is the lowest of the three.", claims.r_lowest_ul),
                Claim("RM_RT makes slightly larger clusters than RM_T, with a lower UL.", claims.rt_over_t),
            ),
            (_PATIENTS, _HOUSEHOLDS, _TREES, _T, *quick),
            informs + youtube,
            (
                *_on(PATIENTS, "a", "Largest cluster", "largest", "rows", log=True),
                *_on(HOUSEHOLDS, "b", "Largest cluster", "largest", "rows"),
                *_on(PATIENTS, "c", "UL", "ul", "UL"),
                *_on(HOUSEHOLDS, "d", "UL", "ul", "UL", log=True),
            ),
        ),
        Figure(
            "rt",
            "7a",
            "Time by number of rows",
            f"{sizes[0]:,} to {sizes[-1]:,} patients, the fewer among the more; k = 25, m = 2, delta = 0.65.",
            (
                Claim("RM_T is the fastest of the three.", claims.t_fastest),
                Claim("RM_RT is the slowest.", claims.rt_slowest),
            ),
            (_PATIENTS, _MACHINE),
            tuple(_cell(mode, PATIENTS, None, rows=rows, measure="scaled") for rows in sizes),
            (Panel("a", "Seconds by rows", "transactions", "seconds", ("algorithm",), "rows", "seconds", log_y=True),),
        ),
        Figure(
            "rt",
            "7b",
            "Time by k",
            f"k = {ks[0]} to {ks[-1]}; m = 2, delta = 0.65.",
            (
                Claim("Time falls as k grows, for the merges and for CLUSTER.", claims.faster_with_k),
                Claim("RM_T is faster than RM_R, up to 2.2 times.", claims.t_against_r),
                Claim("RM_RT is the slowest.", claims.rt_slowest),
            ),
            (_PATIENTS, _MACHINE, *quick),
            tuple(_cell(mode, PATIENTS, None, rows=largest, k=k, measure="scaled") for k in ks),
            (Panel("b", "Seconds by k", "k", "seconds", ("algorithm",), "k", "seconds", log_y=True),),
        ),
        Figure(
            "rt",
            "7c-f",
            "What BTD saves",
            "Ordering clusters by BTD against ordering them by UL itself; k = 25, m = 2.",
            (
                Claim("UL comes out the same with BTD as with UL itself.", claims.same_ul),
                Claim("BTD is at least 10 times as fast.", claims.btd_faster),
            ),
            (
                _PATIENTS,
                _MACHINE,
                "The same is taken as at most a tenth higher. For TMERGE, delta is half of the UL before any merge.",
            ),
            _btd_cells(mode),
            (
                Panel("time", "Seconds", "algorithm", "seconds", ("ordering",), "algorithm", "seconds", log_y=True),
                Panel("ul", "UL", "algorithm", "ul", ("ordering",), "algorithm", "UL"),
            ),
        ),
        Figure(
            "rt",
            "7g-h",
            "UL while clusters merge",
            "RM_R with delta = 1, merge by merge; m = 2.",
            (Claim("UL never rises when clusters are merged.", claims.ul_only_falls),),
            (_PATIENTS, _T),
            tuple(
                Cell("rt", "merged", {"data": PATIENTS, "rows": mode.rows(4_000), "k": k}, cost=4)
                for k in mode.of((25,), (5, 10, 25))
            ),
            (Panel("g", "UL by merges", "merge", "ul", ("k",), "merges", "UL"),),
        ),
        Figure(
            "rt",
            "defaults",
            "All eight algorithms",
            "k = 25, m = 2, delta = 0.65.",
            (
                Claim(
                    "Without merging (RFIRST) the columns lose least; items first (TFIRST) the items lose least.",
                    claims.extremes,
                ),
                Claim("No algorithm is best for columns and items at once.", claims.no_best),
            ),
            (_PATIENTS, _TREES, _QUERIES, *quick),
            (_cell(mode, PATIENTS, (*RMERGES, *TMERGES, "rfirst", "tfirst"), delta=DELTA),),
            (
                Panel("loss", "Loss of columns", "algorithm", "ncp", (), "algorithm", "NCP", percent=True),
                Panel(
                    "items",
                    "Loss of items",
                    "algorithm",
                    "items_ncp",
                    (),
                    "algorithm",
                    "NCP of the items",
                    percent=True,
                ),
                Panel("time", "Seconds", "algorithm", "seconds", (), "algorithm", "seconds"),
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
    label = "delta" if x == "delta" else "delta, as a share of UL"
    return tuple(
        Panel(kind, f"ARE of queries on {what}", x, f"are_{kind}", ("algorithm",), label, "ARE")
        for kind, what in kinds.items()
    )


def _on(data: str, name: str, title: str, y: str, y_label: str, *, log: bool = False) -> tuple[Panel, ...]:
    where = sources.label(data)
    return (
        Panel(name, f"{where}: {title}", "delta", y, ("algorithm",), "delta", y_label, log_y=log, only={"data": where}),
    )
