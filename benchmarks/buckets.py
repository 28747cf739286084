"""Figures on buckets, after section VI of the Injector paper: rules, rows that an attacker narrows down, errors of analyses, times.

Adult with the seven columns of its Table III: the 30,718 training rows that are complete in them. Rules have one condition but where
said; hierarchies are those of tests/algorithms/test_negative_rules.py. Every bucketization here has passed its audit: Injector's and
balanced's that of matching l-diversity against the rules, Anatomy's that of plain l-diversity. All three draw lots: figures are
averages of three runs, of ten where rows are attacked, as in the paper.
"""

from __future__ import annotations

import csv
import gzip
from functools import cache
from typing import Any

from measuring import Row, folder, peak_mb, timed

QUASI = ("age", "workclass", "education", "marital-status", "race", "sex")
FLATTER = ("workclass", "marital-status", "race")
"""Columns whose hierarchy is the flatter one of the two that are at hand; the others have ARX's."""
FIGURE_3 = {
    0.75: ("45", "80.4", "15.9", "2.3", "1.2", "0.2"),
    0.80: ("39", "84.6", "12.2", "2.1", "1.0", "0.1"),
    0.85: ("32", "87.5", "9.2", "2.0", "1.0", "0"),
    0.90: ("22", "87.9", "9.2", "2.5", "0.4", "0"),
    0.95: ("15", "96.2", "1.8", "2.0", "0", "0"),
}
"""As printed: rules, and the percentage of rows with 1, 2, 3, 4, and 5 or more impossible values."""
METHODS = ("anatomy", "injector", "balanced")
RUNS, ATTACKS = 3, 10
MIN_SUPPORT, MIN_CONVICTION, MAX_LENGTH = 0.01, 1.02, 3
"""Of the positive rules; the paper does not say which it took."""
SWEEP: list[Row] = [{"l": l, "min_exp": 0.9} for l in (3, 4, 5, 6)] + [  # noqa: E741
    {"l": 6, "min_exp": min_exp} for min_exp in (0.75, 0.80, 0.85, 0.95)
]
"""The paper varies one of the two and keeps the other at its default, l = 6 or minExp = 0.9."""


@cache
def adult() -> tuple[Any, Any]:
    """(records, hierarchies)."""
    from shoal.hierarchy.spec import column_hierarchy
    from shoal.records.records import Column, Records

    root = folder()
    assert root is not None
    with gzip.open(root / "adult" / "adult.csv.gz", "rt") as file:
        rows = [row for row in csv.DictReader(file) if not {"?", ""} & {row[name] for name in (*QUASI, "occupation")}]
    quasi = [Column.from_texts(name, "quasi", [row[name] for row in rows]) for name in QUASI]
    sensitive = Column.from_texts("occupation", "sensitive", [row["occupation"] for row in rows])
    trees = {
        name: column_hierarchy(
            column,
            root
            / "adult"
            / f"hierarchies_{'qiyuangong' if name in FLATTER else 'arx'}"
            / f"adult_hierarchy_{name}.csv",
        )
        for name, column in zip(QUASI, quasi, strict=True)
    }
    return Records((*quasi, sensitive)), trees


def known(min_exp: float, max_length: int | None = 1, *, redundant: bool = False) -> Any:
    """The negative rules that an attacker is taken to know."""
    from shoal.algorithms.buckets.negative_rules import negative_rules

    records, trees = adult()
    return negative_rules(records, trees, min_exp=min_exp, max_length=max_length, redundant=redundant)


def bucketized(records: Any, method: str, l: int, rules: Any, seed: int = 0) -> Any:  # noqa: E741
    """A release that has passed its audit."""
    from shoal.algorithms import algorithm
    from shoal.algorithms.recoding import Options
    from shoal.guarantees.diversity import MatchingDiversity

    promise = MatchingDiversity(l, None if method == "anatomy" else rules)
    found = algorithm("diversity", method)(records, promise, None, Options(seed=seed))
    assert promise.audit(found.buckets).holds
    return found


def section_rules() -> list[Row]:
    return [{"min_exp": min_exp} for min_exp in FIGURE_3]


def case_rules(min_exp: float) -> Row:
    """Rules of one condition, those that follow from others counted, beside Figure 3."""
    import numpy as np

    from shoal.guarantees.diversity import kinds_of_rows

    records, _ = adult()
    rules = known(min_exp, redundant=True)
    kind, excluded = kinds_of_rows(records, rules, records["occupation"].values)
    shares = 100 * np.bincount(excluded.sum(axis=1)[kind], minlength=8) / len(records)
    ours = (*(f"{share:.1f}" for share in shares[1:5]), f"{shares[5:].sum():.1f}")
    printed = FIGURE_3[min_exp]
    row: Row = {
        "minExp": f"{min_exp:.2f}",
        "rules": len(rules),
        "rules, printed": printed[0],
        "N0 %": f"{shares[0]:.1f}",
    }
    for number, ours_share, printed_share in zip(("1", "2", "3", "4", "5+"), ours, printed[1:], strict=True):
        row |= {f"N{number} %": ours_share, f"N{number} %, printed": printed_share}
    return row


def section_narrowed() -> list[Row]:
    return SWEEP


def case_narrowed(l: int, min_exp: float) -> Row:  # noqa: E741
    """Rows narrowed down below l by an attacker who knows the rules (Figure 4), and what the buckets are like."""
    import numpy as np

    from shoal.attacks.background import background_attack

    records, _ = adult()
    rules = known(min_exp)
    row: Row = {"l": l, "minExp": f"{min_exp:.2f}"}
    for method in METHODS:
        found = [bucketized(records, method, l, rules, seed) for seed in range(ATTACKS)]
        attacks = [background_attack(one.buckets, rules, l, examples=0) for one in found]
        if method != "anatomy":
            assert not any(attack.narrowed for attack in attacks)
        row[f"{method}: rows below l"] = f"{np.mean([attack.narrowed for attack in attacks]):,.0f}"
        if method == "anatomy":
            row["of these certain"] = f"{np.mean([attack.certain for attack in attacks]):,.1f}"
        row[f"{method}: average bucket"] = f"{np.mean([one.buckets.sizes.mean() for one in found]):.2f}"
        row[f"{method}: largest"] = max(int(one.buckets.sizes.max()) for one in found)
        row[f"{method}: rows left over"] = f"{np.mean([one.facts['remaining'] for one in found]):,.0f}"
    return row


def section_confidence() -> list[Row]:
    return SWEEP


def case_confidence(l: int, min_exp: float) -> Row:  # noqa: E741
    """Errors about positive rules (Figures 6 and 7)."""
    import numpy as np

    from shoal.loss.associations import associations, confidence_error, identification_error

    records, trees = adult()
    rules = known(min_exp)
    asked = {"min_support": MIN_SUPPORT, "min_conviction": MIN_CONVICTION, "max_length": MAX_LENGTH}
    true = associations(records, trees, **asked)
    row: Row = {"l": l, "minExp": f"{min_exp:.2f}", "rules": f"{len(true):,}"}
    for method in METHODS:
        found = [bucketized(records, method, l, rules, seed).buckets for seed in range(RUNS)]
        error = np.mean([confidence_error(true, buckets) for buckets in found])
        shown = [identification_error(true, associations(buckets, trees, **asked)) for buckets in found]
        row[f"{method}: confidence error"] = f"{error:.1%}"
        row[f"{method}: false +"] = f"{np.mean([one.false_positive for one in shown]):.1%}"
        row[f"{method}: false -"] = f"{np.mean([one.false_negative for one in shown]):.1%}"
    return row


def section_counts() -> list[Row]:
    cases = [case | {"dim": 2, "sel": 0.5} for case in SWEEP]
    cases += [{"l": 6, "min_exp": 0.9, "dim": dim, "sel": 0.5} for dim in (1, 3, 4)]
    return cases + [{"l": 6, "min_exp": 0.9, "dim": 2, "sel": sel} for sel in (0.1, 0.3, 0.7)]


def case_counts(l: int, min_exp: float, dim: int, sel: float) -> Row:  # noqa: E741
    """Relative errors of 1,000 counting queries (Figure 8): the mean, and the median besides, which rare answers do not rule."""
    import numpy as np

    from shoal.loss.queries import relative_errors
    from shoal.loss.workloads import subset_workload

    records, _ = adult()
    rules = known(min_exp)
    workload = subset_workload(records, 1000, dim=dim, sel=sel)
    row: Row = {"l": l, "minExp": f"{min_exp:.2f}", "dim": dim, "sel": sel}
    for method in METHODS:
        found = [bucketized(records, method, l, rules, seed).buckets for seed in range(RUNS)]
        errors = [relative_errors(records, buckets, workload) for buckets in found]
        row[f"{method}: mean error"] = f"{np.mean([one.mean() for one in errors]):.1%}"
        row[f"{method}: median"] = f"{np.mean([np.median(one) for one in errors]):.1%}"
    return row


def section_bucketing() -> list[Row]:
    return [{"l": l} for l in (3, 4, 5, 6)]  # noqa: E741


def case_bucketing(l: int) -> Row:  # noqa: E741
    """Seconds on Adult (Figure 5): rules, buckets against rules of one condition with minExp = 0.9, and the audit."""
    from shoal.algorithms import algorithm
    from shoal.algorithms.recoding import Options
    from shoal.guarantees.diversity import MatchingDiversity

    records, _ = adult()
    row: Row = {"l": l, "rows": f"{len(records):,}"}
    rules = known(0.9)
    for length, name in ((1, "1"), (3, "up to 3"), (None, "any")):
        took, found = timed(lambda length=length: known(0.9, length), 0.5, 3)
        row |= {f"rules of length {name}": f"{len(found):,}", f"length {name} s": f"{took:.2f}"}
    promise = MatchingDiversity(l, rules)
    for method in METHODS:
        run = algorithm("diversity", method)
        run(records, promise, None, Options())
        took, release = timed(lambda run=run: run(records, promise, None, Options()))
        row[f"{method} s"] = f"{took:.3f}"
    assert promise.audit(release.buckets).holds
    row["audit s"] = f"{timed(lambda: promise.audit(release.buckets))[0]:.3f}"
    return row | {"peak MB": peak_mb()}


def synthetic(n: int, seed: int = 1) -> Any:
    """n rows like a census: six columns, 14 values of which some are impossible for some ages, classes and sexes."""
    import numpy as np

    from shoal.records.records import Column, Records

    rng = np.random.default_rng(seed)
    sizes = {"age": 74, "class": 8, "education": 16, "status": 7, "race": 5, "sex": 2}
    codes = {name: rng.choice(size, n, p=_falling(size)).astype(np.int32) for name, size in sizes.items()}
    value = rng.choice(14, n, p=_falling(14)).astype(np.int32)
    for name, code, never in (
        ("class", 1, 12),
        ("education", 3, 5),
        ("education", 9, 2),
        ("sex", 1, 13),
        ("status", 4, 7),
    ):
        wrong = (codes[name] == code) & (value == never)
        value[wrong] = rng.choice((0, 1, 3, 4), np.count_nonzero(wrong))
    quasi = [
        Column(name, "quasi", codes[name], tuple(f"{name[0]}{i:02}" for i in range(size)))
        for name, size in sizes.items()
    ]
    return Records((*quasi, Column("job", "sensitive", value, tuple(f"j{i:02}" for i in range(14)))))


def _falling(size: int) -> Any:
    """Shares that fall slowly, as those of classes and jobs do."""
    import numpy as np

    share = 1 / (np.arange(size) + 4.0)
    return share / share.sum()


def section_census() -> list[Row]:
    return [{"n": n} for n in (30_000, 100_000, 300_000, 1_000_000)]


def case_census(n: int) -> Row:
    """Microseconds a row on synthetic tables, l = 5."""
    from shoal.algorithms import algorithm
    from shoal.algorithms.buckets.negative_rules import negative_rules
    from shoal.algorithms.recoding import Options
    from shoal.guarantees.diversity import MatchingDiversity

    def steps(rows: Any, most: int) -> Row:
        mining, mined = timed(lambda: negative_rules(rows, min_exp=0.9, max_length=3), 0.5, most)
        # So high an expectation that chance makes no rule: the five that the generator obeys, at every size.
        rules = negative_rules(rows, min_exp=0.999999, max_length=1)
        row: Row = {
            "rows": f"{len(rows):,}",
            "rules to 3": f"{len(mined):,}",
            "rules µs / row": f"{mining / len(rows) * 1e6:.2f}",
        }
        row["rules used"] = len(rules)
        promise = MatchingDiversity(5, rules)
        for method in METHODS:
            took, found = timed(
                lambda method=method: algorithm("diversity", method)(rows, promise, None, Options()), 0.5, most
            )
            row[f"{method} µs / row"] = f"{took / len(rows) * 1e6:.2f}"
            if method != "anatomy":
                auditing, audit = timed(lambda found=found: promise.audit(found.buckets), 0.5, most)
                assert audit.holds
                row |= {f"{method}: average bucket": f"{found.buckets.sizes.mean():.2f}"}
        return row | {"audit µs / row": f"{auditing / len(rows) * 1e6:.2f}"}

    steps(synthetic(2_000), 1)
    records = synthetic(n)
    before = peak_mb()
    row = steps(records, 3)
    return row | {"peak MB": peak_mb(), "peak MB while generating": before}
