"""The experiments of Li and Li (2008), section VI: Injector against Anatomy on Adult, with our `balanced` beside them."""

from __future__ import annotations

from functools import partial
from typing import Any

from shoal.reproducing import injector_claims as claims
from shoal.reproducing import sources
from shoal.reproducing.figure import Cell, Claim, Figure, Mode, Panel, Row

TITLE = "Injector: Mining Background Knowledge for Data Anonymization (2008)"
OURS = frozenset({"balanced"})
METHODS = ("anatomy", "injector", "balanced")
MIN_EXP = (0.75, 0.80, 0.85, 0.90, 0.95)
LS = (3, 4, 5, 6)
DEFAULT_L, DEFAULT_EXP = 6, 0.9
MIN_SUPPORT, MIN_CONVICTION, MAX_LENGTH = 0.01, 1.02, 3
DIM, SEL = 2, 0.5

_DATA = (
    "The paper does not say which rows of Adult it took: ours are the 30,718 training rows that are complete in its seven columns. "
    "It gives heights of hierarchies only: ours are ARX's for age, education and sex, and flatter public ones for the rest."
)
_RULES = "Negative rules have one condition: with two there would be thousands, not the tens that Figure 3 prints."
_POSITIVE = (
    f"The paper names no thresholds for positive rules: ours are a support of {MIN_SUPPORT:.0%}, a conviction of {MIN_CONVICTION} and "
    f"up to {MAX_LENGTH} conditions."
)
_MACHINE = "Times are this machine's and this program's; the paper does not name its machine."
_QUERIES = "The paper names neither dim nor sel of its plots. Our value sets are not empty, and a query that no row meets is drawn again."
_BALANCED = "`balanced` is ours."


def ruled(data: str, rows: int | None, min_exps: list[float]) -> list[Row]:
    """Negative rules of one condition, those that follow from others counted, and how many values they exclude for each row."""
    import numpy as np

    from shoal.algorithms.buckets.negative_rules import negative_rules
    from shoal.guarantees.diversity import kinds_of_rows

    del data  # there is one table
    records, trees = sources.adult(rows)
    found: list[Row] = []
    for min_exp in min_exps:
        rules = negative_rules(records, trees, min_exp=min_exp, max_length=1, redundant=True)
        kind, excluded = kinds_of_rows(records, rules, records["occupation"].values)
        shares = np.bincount(excluded.sum(axis=1)[kind], minlength=8) / len(records)
        row: Row = {"transactions": len(records), "min_exp": min_exp, "rules": len(rules)}
        row |= {f"n{number}": float(shares[number]) for number in range(5)} | {"n5": float(shares[5:].sum())}
        found.append(
            row | {"rules_printed": claims.FIGURE_3[min_exp][0], "n1_printed": claims.FIGURE_3[min_exp][1] / 100}
        )
    return found


def bucketized(
    data: str,
    rows: int | None,
    l: int,  # noqa: E741 (the papers' name)
    min_exp: float,
    attacks: int,
    runs: int,
    queries: list[list[float]],
) -> list[Row]:
    """Each method for one l and minExp: rows narrowed down, seconds, and errors about rules and counting queries; averages of runs."""
    import numpy as np

    from shoal.algorithms import algorithm
    from shoal.algorithms.buckets.negative_rules import negative_rules
    from shoal.algorithms.recoding import Options
    from shoal.attacks.background import background_attack
    from shoal.guarantees.diversity import MatchingDiversity
    from shoal.loss.associations import associations, confidence_error, identification_error
    from shoal.loss.queries import relative_errors
    from shoal.loss.workloads import subset_workload
    from shoal.reproducing.measuring import kept, measured

    del data
    records, trees = sources.adult(rows)
    mining = partial(negative_rules, records, trees, min_exp=min_exp, max_length=1)
    mining()  # loads what it needs
    mined = measured(mining)
    rules = mined.answer
    longer = measured(partial(negative_rules, records, trees, min_exp=min_exp, max_length=MAX_LENGTH))
    asked = {"min_support": MIN_SUPPORT, "min_conviction": MIN_CONVICTION, "max_length": MAX_LENGTH}
    true = associations(records, trees, **asked)  # type: ignore[arg-type]
    workloads = {
        (int(dim), sel): subset_workload(records, 1000, dim=int(dim), sel=sel, seed=sources.SEED)
        for dim, sel in queries
    }
    found: list[Row] = []
    for name in METHODS:
        run = algorithm("diversity", name)
        promise = MatchingDiversity(l, None if name == "anatomy" else rules)
        made = []
        for seed in range(attacks):
            made.append(run(records, promise, None, Options(seed=seed)).buckets)
            kept(promise, made[-1])
        attacked = [background_attack(buckets, rules, l, examples=0) for buckets in made]
        few = made[:runs]
        shown = [identification_error(true, associations(buckets, trees, **asked)) for buckets in few]  # type: ignore[arg-type]
        timed = measured(partial(run, records, promise, None, Options(seed=0)))
        row: Row = {
            "transactions": len(records),
            "algorithm": name,
            "rules": len(rules),
            "rules_seconds": mined.seconds,
            "rules_to_3": len(longer.answer),
            "rules_to_3_seconds": longer.seconds,
            "seconds": timed.seconds,
            "below_l": float(np.mean([attack.narrowed for attack in attacked])),
            "certain": float(np.mean([attack.certain for attack in attacked])),
            "bucket": float(np.mean([buckets.sizes.mean() for buckets in few])),
            "positive_rules": len(true),
            "confidence_error": float(np.mean([confidence_error(true, buckets) for buckets in few]))
            if len(true)
            else None,
            "false_positive": float(np.mean([one.false_positive for one in shown])) if len(true) else None,
            "false_negative": float(np.mean([one.false_negative for one in shown])) if len(true) else None,
        }
        for (dim, sel), workload in workloads.items():
            errors = [relative_errors(records, buckets, workload) for buckets in few]
            mean, median = (float(np.mean([part(one) for one in errors])) for part in (np.mean, np.median))
            found.append(row | {"dim": dim, "sel": sel, "query_error": mean, "query_median": median})
    return found


MEASURES = {"ruled": ruled, "bucketized": bucketized}


def figures(mode: Mode) -> list[Figure]:
    ls, min_exps = mode.of((3, 6), LS), mode.of((0.75,), (0.75, 0.80, 0.85, 0.95))
    plain = [[DIM, SEL]]
    more = mode.of([[1, SEL], [4, SEL]], [[1, SEL], [3, SEL], [4, SEL], [DIM, 0.1], [DIM, 0.3], [DIM, 0.7]])
    places = [(l, DEFAULT_EXP) for l in ls] + [(DEFAULT_L, min_exp) for min_exp in min_exps]  # noqa: E741
    sweep = tuple(
        _cell(mode, l, min_exp, plain + more if (l, min_exp) == (DEFAULT_L, DEFAULT_EXP) else plain)
        for l, min_exp in places  # noqa: E741
    )
    both = f"l = {ls[0]} to {ls[-1]} with minExp = 0.9, and minExp from 0.75 with l = 6"
    shared = (_DATA, _RULES, _BALANCED)
    return [
        Figure(
            "injector",
            "3",
            "Negative rules in Adult",
            "minExp = 0.75 to 0.95, rules of one condition.",
            (
                Claim("|R| is 45, 39, 32, 22 and 15 rules.", claims.rules_printed),
                Claim("80.4, 84.6, 87.5, 87.9 and 96.2% of the rows have one impossible value.", claims.shares_printed),
            ),
            (
                _DATA,
                "The paper does not say how long rules may be; tens of rules mean one condition.",
                "Met is a share within one point.",
            ),
            (Cell("injector", "ruled", {"data": "adult", "rows": mode.rows(None), "min_exps": list(MIN_EXP)}, cost=3),),
            (
                Panel("rules", "Rules", "min_exp", "rules", (), "minExp", "rules"),
                Panel(
                    "shares",
                    "Rows with one impossible value",
                    "min_exp",
                    "n1",
                    (),
                    "minExp",
                    "share of rows",
                    percent=True,
                ),
            ),
        ),
        Figure(
            "injector",
            "4",
            "Rows that background knowledge narrows down",
            f"Rows left with fewer than l possible values; {both}.",
            (
                Claim("Injector leaves no row vulnerable.", claims.injector_safe),
                Claim("Anatomy leaves vulnerable rows.", claims.anatomy_vulnerable),
            ),
            shared,
            sweep,
            _panels("below_l", "rows below l", percent=False),
            OURS,
            _usual,
        ),
        Figure(
            "injector",
            "5",
            "Time",
            f"Mining rules and making buckets; {both}.",
            (
                Claim("Injector's buckets take about the time of Anatomy's.", claims.same_time),
                Claim("Mining the rules is the larger part.", claims.rules_are_larger),
            ),
            (
                *shared,
                _MACHINE,
                "About the same is taken as within a factor of 3; the rules are those of up to three conditions.",
            ),
            sweep,
            (
                *_panels("seconds", "seconds for buckets", percent=False),
                Panel(
                    "rules",
                    "Seconds for rules of up to three conditions",
                    "min_exp",
                    "rules_to_3_seconds",
                    (),
                    "minExp",
                    "seconds",
                    only={"l": DEFAULT_L, "algorithm": "injector", "dim": DIM, "sel": SEL},
                ),
            ),
            OURS,
            _usual,
        ),
        Figure(
            "injector",
            "6",
            "Errors in the confidence of rules",
            f"Positive rules, estimated from buckets; {both}.",
            (
                Claim(
                    "Injector's error is smaller than Anatomy's in all experiments.", claims.smaller("confidence_error")
                ),
            ),
            (*shared, _POSITIVE),
            sweep,
            _panels("confidence_error", "confidence error"),
            OURS,
            _usual,
        ),
        Figure(
            "injector",
            "7",
            "Errors in finding rules",
            f"Positive rules shown that are none, and hidden ones; {both}.",
            (
                Claim("Injector shows fewer rules that are none (false positives).", claims.smaller("false_positive")),
                Claim("Injector hides fewer rules (false negatives).", claims.smaller("false_negative")),
            ),
            (*shared, _POSITIVE),
            sweep,
            (
                *_panels("false_positive", "false positives"),
                *_panels("false_negative", "false negatives", prefix="negative-"),
            ),
            OURS,
            _usual,
        ),
        Figure(
            "injector",
            "8",
            "Errors of counting queries",
            f"1,000 queries on {DIM} columns and half of the values; {both}; and other dimensions and selectivities.",
            (Claim("Injector's error is smaller than Anatomy's in all experiments.", claims.smaller("query_error")),),
            (
                *shared,
                _QUERIES,
            ),
            sweep,
            (
                *_panels("query_error", "relative error"),
                Panel(
                    "dim",
                    "By the columns asked for",
                    "dim",
                    "query_error",
                    ("algorithm",),
                    "dim",
                    "relative error",
                    percent=True,
                    only={"l": DEFAULT_L, "min_exp": DEFAULT_EXP, "sel": SEL},
                ),
                Panel(
                    "sel",
                    "By selectivity",
                    "sel",
                    "query_error",
                    ("algorithm",),
                    "sel",
                    "relative error",
                    percent=True,
                    only={"l": DEFAULT_L, "min_exp": DEFAULT_EXP, "dim": DIM},
                ),
            ),
            OURS,
        ),
    ]


def _cell(mode: Mode, l: int, min_exp: float, queries: list[list[float]]) -> Cell:  # noqa: E741
    params: dict[str, Any] = {"data": "adult", "rows": mode.rows(None), "l": l, "min_exp": min_exp}
    params |= {"attacks": mode.of(3, 10), "runs": mode.of(1, 3), "queries": queries}
    return Cell(
        "injector", "bucketized", params, limit=mode.of(90, 600), cost=mode.of(5, 12) + 2 * len(queries) * mode.of(1, 3)
    )


def _usual(rows: list[Row]) -> list[Row]:
    """Each l and minExp once: other queries of the same buckets are for Figure 8 alone."""
    return [row for row in rows if (row.get("dim", DIM), row.get("sel", SEL)) == (DIM, SEL)]


def _panels(y: str, y_label: str, *, percent: bool = True, prefix: str = "") -> tuple[Panel, ...]:
    by, usual = ("algorithm",), {"dim": DIM, "sel": SEL}
    return (
        Panel(
            f"{prefix}l",
            f"By l: {y_label}",
            "l",
            y,
            by,
            "l",
            y_label,
            percent=percent,
            only={"min_exp": DEFAULT_EXP, **usual},
        ),
        Panel(
            f"{prefix}minexp",
            f"By minExp: {y_label}",
            "min_exp",
            y,
            by,
            "minExp",
            y_label,
            percent=percent,
            only={"l": DEFAULT_L, **usual},
        ),
    )
