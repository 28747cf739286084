"""What our figures say about the statements of the k^m paper."""

from __future__ import annotations

from typing import Any

from shoal.reproducing.figure import RAN, Finding, Row
from shoal.reproducing.judging import close, compared, growth, lines, of_all, pairs, spread, values

LINEAR = 1.3
"""The largest exponent that we call linear: times are not steady."""
_PLACE = ("data", "transactions", "domain", "k", "m", "degree")


def same_time(rows: list[Row]) -> Finding | None:
    both = pairs(rows, "oa", "da", "seconds", _PLACE)
    return compared(
        both,
        lambda oa, da: close(oa, da, 0.5),
        lambda agreeing, of: (
            f"OA takes {spread([oa / da for oa, da in both])} times what DA takes; within a factor of 2 in {agreeing} of {of} sizes."
        ),
    )


def aa_catches_up(rows: list[Row]) -> Finding | None:
    shares = [(place[1], aa) for place, aa in _ratios(rows, "aa", "da")]
    if len(shares) < 2:
        return None
    shares.sort()
    first, last = shares[0][1], shares[-1][1]
    ours = f"AA takes {first:.2f} of DA's time at |D| = {shares[0][0]:,} and {last:.2f} at {shares[-1][0]:,}."
    return of_all([first < 1, first < last <= 1.5], ours)


def _ratios(rows: list[Row], one: str, other: str) -> list[tuple[tuple[Any, ...], float]]:
    first, second = values(rows, one, "seconds", _PLACE), values(rows, other, "seconds", _PLACE)
    return [(place, first[place] / second[place]) for place in first if second.get(place)]


def all_optimal(rows: list[Row]) -> Finding | None:
    return _optimal(rows, ("oa", "da", "aa"))


def aa_optimal(rows: list[Row]) -> Finding | None:
    return _optimal(rows, ("aa",))


def _optimal(rows: list[Row], names: tuple[str, ...]) -> Finding | None:
    above = [
        (row["algorithm"], row["above_optimum"])
        for row in rows
        if row.get("above_optimum") is not None and row["algorithm"] in names
    ]
    worst = max(above, key=lambda one: one[1], default=None)
    if worst is None:
        return None
    reached = sum(share <= 1e-9 for _, share in above)
    most = "" if worst[1] <= 1e-9 else f" The furthest is {worst[0].upper()}, {worst[1]:.1%} above."
    who = " and ".join(name.upper() for name in names)
    return Finding(
        reached, len(above), f"{who}: {reached} of {len(above)} runs reach the optimum that exact proves.{most}"
    )


def near_optimal(rows: list[Row]) -> Finding | None:
    above = [
        row["above_optimum"]
        for row in rows
        if row.get("above_optimum") is not None and row["algorithm"] in ("da", "aa")
    ]
    return (
        of_all(
            [share <= 0.05 for share in above],
            f"DA and AA are {spread(above, '.1%')} above the optimum (hardly: up to 5%).",
        )
        if above
        else None
    )


def linear_in_domain(rows: list[Row]) -> Finding | None:
    found = {name[0]: growth(points) for name, points in lines(rows, "domain", "seconds", ("algorithm",)).items()}
    shown = {name: found[name] for name in ("da", "aa", "exact") if found.get(name) is not None}
    if not {"da", "aa"} & set(shown):
        return None
    text = ", ".join(f"{name.upper() if name != 'exact' else name} |I|^{power:.1f}" for name, power in shown.items())
    tests = [(shown[name] or 0) <= LINEAR for name in ("da", "aa") if name in shown]
    return of_all(
        tests, f"Between the smallest and the largest domain time grows as {text} (linear: up to {LINEAR:g})."
    )


def oa_ends(rows: list[Row]) -> Finding | None:
    ran = {row["domain"]: row["cuts"] for row in rows if row["algorithm"] == "oa" and row["status"] == RAN}
    refused = [row["items"] for row in rows if row["algorithm"] == "oa" and row["status"] != RAN]
    if not ran:
        return None
    solved = [row["domain"] for row in rows if row["algorithm"] == "exact" and row["status"] == RAN]
    cuts = [f"{ran[domain]:,} cuts for {domain}" for domain in sorted(ran) if ran[domain]]
    ends = f"; at {min(refused)} it cannot run any more" if refused else ""
    ours = f"OA's lattice has {', '.join(cuts)} items{ends}. exact answers up to {max(solved, default=0)}."
    return of_all([min(refused, default=10**9) > 60, bool(refused)], ours)


def aa_gentler_in_m(rows: list[Row]) -> Finding | None:
    times = {name[0]: points for name, points in lines(rows, "m", "seconds", ("algorithm",)).items()}
    factor = {name: points[-1][1] / points[0][1] for name, points in times.items() if len(points) > 1}
    if "aa" not in factor:
        return None
    (low, _), (high, _) = times["aa"][0], times["aa"][-1]
    text = ", ".join(f"{name.upper() if name != 'exact' else name} {share:.1f}" for name, share in factor.items())
    power = growth(times["aa"]) or 0.0
    tests = [factor[name] > factor["aa"] for name in ("oa", "da") if name in factor] + [power <= LINEAR]
    return of_all(
        tests,
        f"From m = {low} to {high} time is multiplied by: {text}; that of AA grows as m^{power:.1f} (linear: up to {LINEAR:g}).",
    )


def low_loss(rows: list[Row]) -> Finding | None:
    ran = [row for row in rows if row["algorithm"] == "aa" and row["status"] == RAN]
    best = values(rows, "exact", "ncp", ("data",))
    if not ran:
        return None
    text = "; ".join(
        f"{row['data']} {row['ncp']:.1%} in {row['seconds']:.2f} s"
        + (f" (optimum {best[(row['data'],)]:.1%})" if (row["data"],) in best else "")
        for row in ran
    )
    return of_all([row["ncp"] <= 0.03 for row in ran], f"AA: {text}.")


def steady_in_k(rows: list[Row]) -> Finding | None:
    ran = [row for row in rows if row["algorithm"] == "aa" and row["status"] == RAN]
    if len(ran) < 2:
        return None
    times, memory = [row["seconds"] for row in ran], [row["megabytes"] for row in ran]
    losses = spread([row["ncp"] for row in ran], ".1%")
    ours = f"AA takes {spread(times, '.2f', ' s')} and {spread(memory, '.0f', ' MB')}, losing {losses}; steady means within a factor of 2."
    return of_all([max(times) <= 2 * min(times), max(memory) <= 2 * min(memory) + 5], ours)


def flatter_is_worse(rows: list[Row]) -> Finding | None:
    ran = sorted(
        (row["h"], row["seconds"], row["ncp"]) for row in rows if row["algorithm"] == "aa" and row["status"] == RAN
    )
    if len(ran) < 2:
        return None
    flat, deep = ran[0], ran[-1]
    ours = f"With h = {flat[0]} AA takes {flat[1]:.2f} s and loses {flat[2]:.1%}, with h = {deep[0]} {deep[1]:.2f} s and {deep[2]:.1%}."
    return of_all([flat[1] < deep[1], flat[2] > deep[2], flat[2] >= 1 - 1e-9], ours)


def grows_with_m(rows: list[Row]) -> Finding | None:
    ran = sorted(
        (row["m"], row["seconds"], row["ncp"]) for row in rows if row["algorithm"] == "aa" and row["status"] == RAN
    )
    if len(ran) < 2:
        return None
    (low, fast, less), (high, slow, more) = ran[0], ran[-1]
    return of_all(
        [slow > fast, less < more <= less + 0.05],
        f"From m = {low} to {high} AA goes from {fast:.2f} to {slow:.2f} s and from {less:.1%} to {more:.1%} (slightly: 5 points).",
    )


def oa_never(rows: list[Row]) -> Finding | None:
    oa = [row for row in rows if row["algorithm"] == "oa"]
    exact = [row for row in rows if row["algorithm"] == "exact"]
    done = [row for row in exact if row["status"] == RAN and row["proven"]]
    if not oa or not exact:
        return None
    refused = sum(row["status"] != RAN for row in oa)
    times = spread([row["seconds"] for row in done], ".2g", " s") if done else "no time"
    ours = f"OA cannot run on {refused} of {len(oa)}. Yet the optimum is in reach: exact proves {len(done)} of {len(exact)}, in {times}."
    return of_all([row["status"] != RAN for row in oa] + [row["status"] != RAN for row in exact], ours)


def checked_now(rows: list[Row]) -> Finding | None:
    above = {
        f"{row['data']}{'' if row['degree'] else ' (own hierarchy)'}": row["above_optimum"]
        for row in rows
        if row["algorithm"] == "aa" and row.get("above_optimum") is not None
    }
    if not above:
        return None
    text = ", ".join(f"{name} {share:.1%}" for name, share in above.items())
    return of_all(
        [share <= 0.05 for share in above.values()], f"Now it can. AA above the optimum: {text} (close: up to 5%)."
    )
