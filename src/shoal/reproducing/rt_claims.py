"""What our figures say about the statements of the RT paper."""

from __future__ import annotations

from itertools import pairwise

from shoal.reproducing.figure import RAN, Finding, Row
from shoal.reproducing.judging import below, compared, lines, of_all, pairs, spread, values

_PLACE = ("data", "transactions", "k", "delta")
_SIZE = ("data", "transactions", "k")


def delta_trades(rows: list[Row]) -> Finding | None:
    columns = _ends(rows, "delta", "are_relational")
    items = _ends(rows, "delta", "are_items")
    tests = [first < last for first, last in columns] + [last < first for first, last in items]
    if not tests:
        return None
    return of_all(
        tests,
        f"Over delta, ARE about columns is {_moves(columns)}, about items {_moves(items)}.",
    )


def tum_favours_columns(rows: list[Row]) -> Finding | None:
    columns = _ends(rows, "share", "are_relational")
    return (
        of_all(
            [last < first for first, last in columns],
            f"Over delta, ARE about columns is {_moves(columns)}.",
        )
        if columns
        else None
    )


def _ends(rows: list[Row], x: str, y: str) -> list[tuple[float, float]]:
    found = lines(rows, x, y, ("data", "algorithm"))
    return [(points[0][1], points[-1][1]) for points in found.values() if len(points) > 1]


def _moves(ends: list[tuple[float, float]]) -> str:
    if not ends:
        return "not known"
    return f"{spread([first for first, _ in ends])} at first and {spread([last for _, last in ends])} at last"


def within_delta(rows: list[Row]) -> Finding | None:
    return _within(rows, "ncp", "NCP")


def ul_within_delta(rows: list[Row]) -> Finding | None:
    return _within(rows, "ul", "UL")


def _within(rows: list[Row], y: str, name: str) -> Finding | None:
    ran = [row for row in rows if row["status"] == RAN]
    none = sum(row["status"] != RAN for row in rows)
    kept = [row[y] <= row["delta"] + 1e-9 for row in ran]
    some = f" {none} of {len(rows)} bounds have no solution, which is said and nothing published." if none else ""
    return of_all(kept, f"{name} is within delta in {sum(kept)} of {len(kept)} releases.{some}")


def r_against_t(rows: list[Row]) -> Finding | None:
    items = pairs(rows, "rmerge-r", "rmerge-t", "are_items", _PLACE)
    columns = pairs(rows, "rmerge-r", "rmerge-t", "are_relational", _PLACE)
    better, worse = [below(r, t) for r, t in items], [below(t, r) for r, t in columns]
    ours = f"RM_R errs less than RM_T about items in {_of(better)} settings, and more about columns in {_of(worse)}."
    return of_all(better + worse, ours)


def rt_between(rows: list[Row]) -> Finding | None:
    columns = pairs(rows, "rmerge-rt", "rmerge-r", "are_relational", _PLACE)
    items = pairs(rows, "rmerge-rt", "rmerge-t", "are_items", _PLACE)
    one, other = [below(rt, r) for rt, r in columns], [below(rt, t) for rt, t in items]
    ours = f"RM_RT errs less than RM_R about columns in {_of(one)} settings, and less than RM_T about items in {_of(other)}."
    return of_all(one + other, ours)


def _of(tests: list[bool]) -> str:
    return f"{sum(tests)} of {len(tests)}"


def r_largest(rows: list[Row]) -> Finding | None:
    return _extreme(rows, "rmerge-r", "largest", largest=True, text="RM_R has the largest cluster")


def r_lowest_ul(rows: list[Row]) -> Finding | None:
    return _extreme(rows, "rmerge-r", "ul", largest=False, text="RM_R has the lowest UL")


def rt_slowest(rows: list[Row]) -> Finding | None:
    return _extreme(rows, "rmerge-rt", "seconds", largest=True, text="RM_RT is the slowest")


def t_fastest(rows: list[Row]) -> Finding | None:
    return _extreme(rows, "rmerge-t", "seconds", largest=False, text="RM_T is the fastest")


def _extreme(rows: list[Row], name: str, y: str, *, largest: bool, text: str) -> Finding | None:
    found = {one: values(rows, one, y, _PLACE) for one in ("rmerge-r", "rmerge-t", "rmerge-rt")}
    tests = []
    for place, value in found[name].items():
        others = [found[one][place] for one in found if one != name and place in found[one]]
        if len(others) == 2:  # of fewer, none can be told to be the extreme of the three
            tests.append(all(value >= other if largest else value <= other for other in others))
    return of_all(tests, f"{text} of the three in {sum(tests)} of {len(tests)} settings.")


def rt_over_t(rows: list[Row]) -> Finding | None:
    sizes = [rt >= t for rt, t in pairs(rows, "rmerge-rt", "rmerge-t", "largest", _PLACE)]
    losses = [rt < t for rt, t in pairs(rows, "rmerge-rt", "rmerge-t", "ul", _PLACE)]  # of long rows UL is near 0
    return of_all(
        sizes + losses,
        f"RM_RT's largest cluster is at least RM_T's in {_of(sizes)} settings; its UL is lower in {_of(losses)}.",
    )


def faster_with_k(rows: list[Row]) -> Finding | None:
    found = {
        place[0]: points for place, points in lines(rows, "k", "seconds", ("algorithm",)).items() if len(points) > 1
    }
    text = ", ".join(f"{name} {points[0][1]:.2g} to {points[-1][1]:.2g} s" for name, points in found.items())
    return of_all(
        [points[-1][1] < points[0][1] for points in found.values()], f"From the smallest to the largest k: {text}."
    )


def t_against_r(rows: list[Row]) -> Finding | None:
    factors = [r / t for r, t in pairs(rows, "rmerge-r", "rmerge-t", "seconds", _SIZE) if t]
    if not factors:
        return None
    return of_all(
        [*(factor > 1 for factor in factors), max(factors) >= 2],
        f"RM_R takes {spread(factors, '.2f')} times what RM_T takes.",
    )


def same_ul(rows: list[Row]) -> Finding | None:
    both = _orderings(rows, "ul")
    return compared(
        both,
        lambda btd, ul: btd <= ul * 1.1 + 1e-12,
        lambda agreeing, of: (
            f"UL with BTD is {spread([btd / ul for btd, ul in both if ul])} times that with UL; no higher by a tenth in {agreeing} of {of}."
        ),
    )


def btd_faster(rows: list[Row]) -> Finding | None:
    factors = [ul / btd for btd, ul in _orderings(rows, "seconds") if btd]
    return (
        of_all([factor >= 10 for factor in factors], f"Ordering by UL takes {spread(factors, ',.0f')} times as long.")
        if factors
        else None
    )


def _orderings(rows: list[Row], y: str) -> list[tuple[float, float]]:
    return pairs(rows, "btd", "ul", y, ("algorithm", *_SIZE), column="ordering")


def ul_only_falls(rows: list[Row]) -> Finding | None:
    steps: list[float] = []
    texts = []
    for (k,), points in lines(rows, "merge", "ul", ("k",)).items():
        changes = [after[1] - before[1] for before, after in pairwise(points)]
        rises = [change for change in changes if change > 1e-12]
        steps += changes
        most = f", by {max(rises):.4f} at most" if rises else ""
        texts.append(
            f"k = {k}: {len(rises)} of {len(changes)} merges raise UL{most}; it ends at {points[-1][1]:.4f} after {points[0][1]:.4f}"
        )
    return of_all([step <= 1e-12 for step in steps], f"{'. '.join(texts)}.")


def extremes(rows: list[Row]) -> Finding | None:
    ran = {row["algorithm"]: row for row in rows if row["status"] == RAN}
    if not {"rfirst", "tfirst"} <= set(ran):
        return None
    r, t = ran["rfirst"], ran["tfirst"]
    ours = " ".join(
        f"{row['algorithm'].upper()}: NCP {row['ncp']:.3f}, UL {row['ul']:.3g}, NCP of the items {row['items_ncp']:.4f}."
        for row in (r, t)
    )
    others = list(ran.values())
    return of_all(
        [r["ncp"] <= min(row["ncp"] for row in others) + 1e-9, t["ul"] <= min(row["ul"] for row in others) + 1e-12],
        ours,
    )


def no_best(rows: list[Row]) -> Finding | None:
    ran = [row for row in rows if row["status"] == RAN]
    if len(ran) < 2:
        return None
    columns, items = min(row["ncp"] for row in ran), min(row["ul"] for row in ran)
    both = [row["algorithm"] for row in ran if row["ncp"] <= columns + 1e-9 and row["ul"] <= items + 1e-12]
    ours = (
        f"Best in both: {', '.join(both)}."
        if both
        else f"None of {len(ran)} has both the least NCP ({columns:.3f}) and the least UL ({items:.3g})."
    )
    return of_all([not both], ours)
