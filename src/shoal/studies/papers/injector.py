"""The experiments of Li and Li (2008), section VI: Injector against Anatomy on Adult, with our `balanced` beside them."""

from __future__ import annotations

from functools import partial
from statistics import fmean
from typing import Any

import numpy as np

from shoal.algorithms import algorithm
from shoal.algorithms.buckets.negative_rules import negative_rules
from shoal.algorithms.recoding import Options
from shoal.attacks.background import background_attack
from shoal.guarantees.diversity import MatchingDiversity, kinds_of_rows
from shoal.loss.associations import associations, confidence_error, identification_error
from shoal.loss.queries import relative_errors
from shoal.loss.workloads import subset_workload
from shoal.records.knowledge import Rules
from shoal.records.records import Records
from shoal.studies.papers import measure, sources
from shoal.studies.papers.figure import Cell, Claim, Figure, Finding, Judge, Mode, Panel, Row, axis_label, claim
from shoal.studies.papers.findings import below, of_all, pairs, runs, share_of, spread

TITLE = "Injector: Mining Background Knowledge for Data Anonymization (2008)"
METHODS = ("anatomy", "injector", "balanced")
MIN_EXP = (0.75, 0.80, 0.85, 0.90, 0.95)
LS = (3, 4, 5, 6)
DEFAULT_L, DEFAULT_EXP = 6, 0.9
MIN_SUPPORT, MIN_CONVICTION, MAX_LENGTH = 0.01, 1.02, 3
DIM, SEL = 2, 0.5
RUNS = 10
"""That the paper averages."""
FIGURE_3 = {
    0.75: (45, 80.4, 15.9, 2.3, 1.2, 0.2),
    0.80: (39, 84.6, 12.2, 2.1, 1.0, 0.1),
    0.85: (32, 87.5, 9.2, 2.0, 1.0, 0.0),
    0.90: (22, 87.9, 9.2, 2.5, 0.4, 0.0),
    0.95: (15, 96.2, 1.8, 2.0, 0.0, 0.0),
}
"""As printed, by minExp: rules, and the percentage of rows with 1, 2, 3, 4, and 5 or more impossible values."""

_PLACE = ("l", "min_exp", "dim", "sel")
_DATA = (
    "The paper does not say which rows of Adult it took: ours are the 30,718 training rows that are complete in its seven columns. "
    "It gives heights of hierarchies only: ours are ARX's for age, education and sex, and flatter public ones for the rest. Race has "
    "height 3 in the paper's Table III, and 2 in both public hierarchies."
)
_GROUPS = (
    "Where remaining rows join groups, and these are merged (lines 18 to 23 of the algorithm), ours looks at 64 of the groups in turn, not "
    "at all of them."
)
_RULES = "Negative rules have one condition: with two there would be thousands, not the tens that Figure 3 prints."
_POSITIVE = (
    f"The paper names no thresholds for positive rules: ours are a support of {MIN_SUPPORT:.0%}, a conviction of {MIN_CONVICTION} and "
    f"up to {MAX_LENGTH} conditions."
)
_MACHINE = "Times are this machine's and this program's; the paper does not name its machine."
_QUERIES = "The paper names neither dim nor sel of its plots. Our value sets are not empty, and a query that no row meets is drawn again."
_BALANCED = "`balanced` is ours."


def mine_rules(data: str, rows: int | None, min_exps: list[float]) -> list[Row]:
    """Negative rules of one condition, those that follow from others counted, and how many values they exclude for each row."""
    del data  # there is one table
    records, trees = sources.adult(rows)
    measured: list[Row] = []
    for min_exp in min_exps:
        rules = negative_rules(records, trees, min_exp=min_exp, max_length=1, redundant=True)
        kind, excluded = kinds_of_rows(records, rules, records["occupation"].values)
        shares = np.bincount(excluded.sum(axis=1)[kind], minlength=8) / len(records)
        row: Row = {"transactions": len(records), "min_exp": min_exp, "rules": len(rules)}
        row["distinct"] = _distinct(records, rules)
        row |= {f"n{number}": float(shares[number]) for number in range(5)} | {"n5": float(shares[5:].sum())}
        printed = FIGURE_3[min_exp]
        measured.append(row | {"rules_printed": printed[0], "n1_printed": printed[1] / 100})
    return measured


def _distinct(records: Records, rules: Rules) -> int:
    """Rules about different rows or values: nodes above one another may have the same rows, and the same rule is then found twice."""
    held = set()
    for place, value in zip(rules.nodes, rules.value.tolist(), strict=True):
        a = int(np.flatnonzero(place >= 0)[0])
        column, tree = list(rules.hierarchies.items())[a]
        there = np.isin(tree.leaf_order[slice(*tree.span[place[a]])], tree.leaves_of(records[column].values))
        below = tree.leaf_order[slice(*tree.span[place[a]])][there]
        held.add((column, frozenset(below.tolist()), value))
    return len(held)


def make_buckets(
    data: str,
    rows: int | None,
    l: int,  # noqa: E741 (the papers' name)
    min_exp: float,
    attacks: int,
    runs: int,
    queries: list[list[float]],
) -> list[Row]:
    """Each method for one l and minExp: rows narrowed down, seconds, and errors about rules and counting queries; averages of runs."""
    del data
    records, trees = sources.adult(rows)
    mining = partial(negative_rules, records, trees, min_exp=min_exp, max_length=1)
    mining()  # loads what it needs
    mined = measure.measure(mining)
    rules = mined.answer
    longer = measure.measure(partial(negative_rules, records, trees, min_exp=min_exp, max_length=MAX_LENGTH))
    asked = {"min_support": MIN_SUPPORT, "min_conviction": MIN_CONVICTION, "max_length": MAX_LENGTH}
    true = associations(records, trees, **asked)  # type: ignore[arg-type]
    workloads = {
        (int(dim), sel): subset_workload(records, 1000, dim=int(dim), sel=sel, seed=sources.SEED)
        for dim, sel in queries
    }
    measured: list[Row] = []
    for name in METHODS:
        run = algorithm("diversity", name)
        promise = MatchingDiversity(l, None if name == "anatomy" else rules)
        made = []
        for seed in range(attacks):
            made.append(run(records, promise, None, Options(seed=seed)).buckets)
            measure.check_promise(promise, made[-1])
        attacked = [background_attack(buckets, rules, l, examples=0) for buckets in made]
        few = made[:runs]
        shown = [identification_error(true, associations(buckets, trees, **asked)) for buckets in few]  # type: ignore[arg-type]
        timed = measure.measure(partial(run, records, promise, None, Options(seed=0)))
        row: Row = {
            "transactions": len(records),
            "algorithm": name,
            "rules": len(rules),
            "rules_seconds": mined.seconds,
            "rules_to_3": len(longer.answer),
            "rules_to_3_seconds": longer.seconds,
            "seconds": timed.seconds,
            "below_l": fmean(attack.narrowed for attack in attacked),
            "certain": fmean(attack.certain for attack in attacked),
            "bucket": fmean(buckets.sizes.mean() for buckets in few),
            "positive_rules": len(true),
            "confidence_error": fmean(confidence_error(true, buckets) for buckets in few) if len(true) else None,
            "false_positive": fmean(one.false_positive for one in shown) if len(true) else None,
            "false_negative": fmean(one.false_negative for one in shown) if len(true) else None,
        }
        for (dim, sel), workload in workloads.items():
            errors = [relative_errors(records, buckets, workload) for buckets in few]
            mean, median = (fmean(part(one) for one in errors) for part in (np.mean, np.median))
            measured.append(row | {"dim": dim, "sel": sel, "query_error": mean, "query_median": median})
    return measured


MEASURES = {"ruled": mine_rules, "bucketized": make_buckets}


@claim("|R| is 45, 39, 32, 22 and 15 rules.")
def rules_printed(rows: list[Row]) -> Finding | None:
    texts = [
        f"{row['rules']} ({row['distinct']} about different rows; printed {row['rules_printed']}) at {row['min_exp']:.2f}"
        for row in runs(rows)
    ]
    return of_all([row["rules"] == row["rules_printed"] for row in runs(rows)], f"Rules: {', '.join(texts)}.")


@claim("80.4, 84.6, 87.5, 87.9 and 96.2% of the rows have one impossible value.")
def shares_printed(rows: list[Row]) -> Finding | None:
    text = ", ".join(f"{row['n1']:.1%} (printed {row['n1_printed']:.1%})" for row in runs(rows))
    met = [abs(row["n1"] - row["n1_printed"]) <= 0.01 for row in runs(rows)]
    return of_all(met, f"One impossible value: {text} (met: within one point).")


@claim("Injector leaves no row vulnerable.")
def injector_safe(rows: list[Row]) -> Finding | None:
    left = [row["below_l"] for row in runs(rows, "injector")]
    return of_all([one == 0 for one in left], f"Injector leaves {spread(left, '.0f')} rows below l.")


@claim("Anatomy leaves vulnerable rows.")
def anatomy_vulnerable(rows: list[Row]) -> Finding | None:
    anatomy = runs(rows, "anatomy")
    if not anatomy:
        return None
    left = [row["below_l"] for row in anatomy]
    certain = spread([row["certain"] for row in anatomy], ".0f")
    ours = f"Anatomy leaves {spread(left, ',.0f')} of {anatomy[0]['transactions']:,} rows below l; of {certain} the value is certain."
    return of_all([one > 0 for one in left], ours)


@claim("Injector's buckets take about the time of Anatomy's.")
def same_time(rows: list[Row]) -> Finding | None:
    factors = [one / other for one, other in pairs(rows, "injector", "anatomy", "seconds", _PLACE) if other]
    times = spread([row["seconds"] for row in runs(rows, "injector")], ".2g", " s")
    return of_all(
        [factor <= 3 for factor in factors],
        f"Injector takes {spread(factors, '.1f')} times what Anatomy takes (about: up to 3 times), {times}.",
    )


@claim("Mining the rules is the larger part.")
def rules_are_larger(rows: list[Row]) -> Finding | None:
    both = [(row["rules_seconds"], row["seconds"]) for row in runs(rows, "injector")]
    rules, buckets = (spread([one[part] for one in both], ".2g", " s") for part in (0, 1))
    longer = spread([row["rules_to_3_seconds"] for row in runs(rows, "injector")], ".2g", " s")
    ours = f"The rules that buckets are made by, of one condition, take {rules}, Injector's buckets {buckets}"
    return of_all(
        [mining > making for mining, making in both], f"{ours}; rules of up to three conditions would take {longer}."
    )


def smaller(error: str) -> Judge:
    """Whether Injector's error is below Anatomy's."""

    def judge(rows: list[Row]) -> Finding | None:
        both = pairs(rows, "injector", "anatomy", error, _PLACE)
        ours, theirs = (spread([one[part] for one in both], ".1%") for part in (0, 1))
        less = [below(*one) for one in both]
        return of_all(less, f"Injector {ours}, Anatomy {theirs}; Injector is smaller in {share_of(less)} settings.")

    return judge


_figure = partial(Figure, "injector", ours=frozenset({"balanced"}))


def figures(mode: Mode) -> list[Figure]:
    ls, min_exps = mode.of((3, 6), LS), mode.of((0.75,), (0.75, 0.80, 0.85, 0.95))
    plain = [[DIM, SEL]]
    more = mode.of([[1, SEL], [4, SEL]], [[1, SEL], [3, SEL], [4, SEL], [DIM, 0.1], [DIM, 0.3], [DIM, 0.7]])
    usual = DEFAULT_L, DEFAULT_EXP
    places = [(l, DEFAULT_EXP) for l in ls] + [(DEFAULT_L, min_exp) for min_exp in min_exps]  # noqa: E741
    sweep = tuple(_cell(mode, *place, plain + more if place == usual else plain) for place in places)
    both = f"l = {ls[0]} to {ls[-1]} with minExp = 0.9, and minExp from 0.75 with l = 6"
    attacks, few = _repeats(mode)
    averaged = (
        f"Rows below l are averages of {attacks} runs, errors of {few}; the paper's are of ten."
        if (attacks, few) != (RUNS, RUNS)
        else f"Figures are averages of {RUNS} runs, as the paper's."
    )
    shared = (_DATA, _RULES, _GROUPS, _BALANCED, averaged)
    at_default = {"l": DEFAULT_L, "min_exp": DEFAULT_EXP}
    return [
        Figure(
            "injector",
            "3",
            "Negative rules in Adult",
            "minExp = 0.75 to 0.95, rules of one condition.",
            (rules_printed, shares_printed),
            (
                _DATA,
                "The paper does not say how long rules may be; tens of rules mean one condition.",
                "Nodes above one another may have the same rows, and then give the same rule twice: both counts are given. The printed "
                "ones are compared with all rules.",
                "Met is a share within one point.",
            ),
            (Cell("injector", "ruled", {"data": "adult", "rows": mode.rows(None), "min_exps": list(MIN_EXP)}, cost=3),),
            (
                Panel("rules", "Rules", "min_exp", "rules", ()),
                Panel("shares", "Rows with one impossible value", "min_exp", "n1", (), y_label="share of rows"),
            ),
        ),
        _figure(
            "4",
            "Rows that background knowledge narrows down",
            f"Rows left with fewer than l possible values; {both}.",
            (injector_safe, anatomy_vulnerable),
            shared,
            sweep,
            _panels("below_l", "rows below l"),
            derive=_usual,
        ),
        _figure(
            "5",
            "Time",
            f"Mining rules and making buckets; {both}.",
            (same_time, rules_are_larger),
            (*shared, _MACHINE, "About the same is taken as within a factor of 3."),
            sweep,
            (
                *_panels("seconds", "seconds for buckets"),
                Panel(
                    "rules",
                    "Seconds for rules of one condition",
                    "min_exp",
                    "rules_seconds",
                    (),
                    {"l": DEFAULT_L, "algorithm": "injector", "dim": DIM, "sel": SEL},
                    y_label="seconds",
                ),
            ),
            derive=_usual,
        ),
        _figure(
            "6",
            "Errors in the confidence of rules",
            f"Positive rules, estimated from buckets; {both}.",
            (Claim("Injector's error is smaller than Anatomy's in all experiments.", smaller("confidence_error")),),
            (*shared, _POSITIVE),
            sweep,
            _panels("confidence_error"),
            derive=_usual,
        ),
        _figure(
            "7",
            "Errors in finding rules",
            f"Positive rules shown that are none, and hidden ones; {both}.",
            (
                Claim("Injector shows fewer rules that are none (false positives).", smaller("false_positive")),
                Claim("Injector hides fewer rules (false negatives).", smaller("false_negative")),
            ),
            (*shared, _POSITIVE),
            sweep,
            (
                *_panels("false_positive", "false positives"),
                *_panels("false_negative", "false negatives", prefix="negative-"),
            ),
            derive=_usual,
        ),
        _figure(
            "8",
            "Errors of counting queries",
            f"1,000 queries on {DIM} columns and half of the values; {both}; and other dimensions and selectivities.",
            (Claim("Injector's error is smaller than Anatomy's in all experiments.", smaller("query_error")),),
            (*shared, _QUERIES),
            sweep,
            (
                *_panels("query_error"),
                Panel("dim", "By the columns asked for", "dim", "query_error", only=at_default | {"sel": SEL}),
                Panel("sel", "By selectivity", "sel", "query_error", only=at_default | {"dim": DIM}),
            ),
        ),
    ]


def _repeats(mode: Mode) -> tuple[int, int]:
    """How often buckets are made to be attacked, and how many of these are asked for errors, which take longer."""
    return mode.of(3, RUNS), mode.of(1, RUNS)


def _cell(mode: Mode, l: int, min_exp: float, queries: list[list[float]]) -> Cell:  # noqa: E741
    params: dict[str, Any] = {"data": "adult", "rows": mode.rows(None), "l": l, "min_exp": min_exp}
    attacks, few = _repeats(mode)
    params |= {"attacks": attacks, "runs": few, "queries": queries}
    cost = mode.of(5, 20) + 2 * len(queries) * few
    return Cell("injector", "bucketized", params, limit=mode.of(90, 600), cost=cost)


def _usual(rows: list[Row]) -> list[Row]:
    """Each l and minExp once: other queries of the same buckets are for Figure 8 alone."""
    return [row for row in rows if (row.get("dim", DIM), row.get("sel", SEL)) == (DIM, SEL)]


def _panels(y: str, y_label: str = "", *, prefix: str = "") -> tuple[Panel, ...]:
    label, usual = y_label or axis_label(y), {"dim": DIM, "sel": SEL}
    by_l, by_exp = usual | {"min_exp": DEFAULT_EXP}, usual | {"l": DEFAULT_L}
    return (
        Panel(f"{prefix}l", f"By l: {label}", "l", y, only=by_l, y_label=label),
        Panel(f"{prefix}minexp", f"By minExp: {label}", "min_exp", y, only=by_exp, y_label=label),
    )
