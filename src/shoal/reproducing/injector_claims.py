"""What our figures say about the statements of the Injector paper."""

from __future__ import annotations

from collections.abc import Callable

from shoal.reproducing.figure import RAN, Finding, Row
from shoal.reproducing.judging import below, of_all, pairs, spread

FIGURE_3 = {
    0.75: (45, 80.4, 15.9, 2.3, 1.2, 0.2),
    0.80: (39, 84.6, 12.2, 2.1, 1.0, 0.1),
    0.85: (32, 87.5, 9.2, 2.0, 1.0, 0.0),
    0.90: (22, 87.9, 9.2, 2.5, 0.4, 0.0),
    0.95: (15, 96.2, 1.8, 2.0, 0.0, 0.0),
}
"""As printed, by minExp: rules, and the percentage of rows with 1, 2, 3, 4, and 5 or more impossible values."""
_PLACE = ("l", "min_exp", "dim", "sel")


def rules_printed(rows: list[Row]) -> Finding | None:
    ran = [row for row in rows if row["status"] == RAN]
    text = ", ".join(f"{row['rules']} (printed {row['rules_printed']}) at {row['min_exp']:.2f}" for row in ran)
    return of_all([row["rules"] == row["rules_printed"] for row in ran], f"Rules: {text}.")


def shares_printed(rows: list[Row]) -> Finding | None:
    ran = [row for row in rows if row["status"] == RAN]
    text = ", ".join(f"{row['n1']:.1%} (printed {row['n1_printed']:.1%})" for row in ran)
    return of_all(
        [abs(row["n1"] - row["n1_printed"]) <= 0.01 for row in ran],
        f"One impossible value: {text} (met: within one point).",
    )


def injector_safe(rows: list[Row]) -> Finding | None:
    ran = [row for row in rows if row["status"] == RAN and row["algorithm"] == "injector"]
    return (
        of_all(
            [row["below_l"] == 0 for row in ran],
            f"Injector leaves {spread([row['below_l'] for row in ran], '.0f')} rows below l.",
        )
        if ran
        else None
    )


def anatomy_vulnerable(rows: list[Row]) -> Finding | None:
    ran = [row for row in rows if row["status"] == RAN and row["algorithm"] == "anatomy"]
    if not ran:
        return None
    certain = spread([row["certain"] for row in ran], ".0f")
    rows_below = spread([row["below_l"] for row in ran], ",.0f")
    ours = f"Anatomy leaves {rows_below} of {ran[0]['transactions']:,} rows below l; of {certain} the value is certain."
    return of_all([row["below_l"] > 0 for row in ran], ours)


def same_time(rows: list[Row]) -> Finding | None:
    factors = [one / other for one, other in pairs(rows, "injector", "anatomy", "seconds", _PLACE) if other]
    times = [row["seconds"] for row in rows if row["status"] == RAN and row["algorithm"] == "injector"]
    return (
        of_all(
            [factor <= 3 for factor in factors],
            f"Injector takes {spread(factors, '.1f')} times what Anatomy takes (about: up to 3 times), {spread(times, '.2g', ' s')}.",
        )
        if factors
        else None
    )


def rules_are_larger(rows: list[Row]) -> Finding | None:
    ran = [row for row in rows if row["status"] == RAN and row["algorithm"] == "injector"]
    if not ran:
        return None
    rules = spread([row["rules_to_3_seconds"] for row in ran], ".2g", " s")
    buckets = spread([row["seconds"] for row in ran], ".2g", " s")
    larger = [row["rules_to_3_seconds"] > row["seconds"] for row in ran]
    return of_all(larger, f"Rules take {rules}, Injector's buckets {buckets}.")


def smaller(error: str) -> Callable[[list[Row]], Finding | None]:
    """Whether Injector's error is below Anatomy's."""

    def judge(rows: list[Row]) -> Finding | None:
        both = pairs(rows, "injector", "anatomy", error, _PLACE)
        if not both:
            return None
        tests = [below(injector, anatomy) for injector, anatomy in both]
        ours = spread([injector for injector, _ in both], ".1%")
        theirs = spread([anatomy for _, anatomy in both], ".1%")
        return of_all(
            tests, f"Injector {ours}, Anatomy {theirs}; Injector is smaller in {sum(tests)} of {len(tests)} settings."
        )

    return judge
