"""What our figures say about the statements of the PTA paper."""

from __future__ import annotations

from shoal.reproducing.figure import RAN, Finding, Row
from shoal.reproducing.judging import below, lines, mostly, of_all, pairs, spread, values

_PLACE = ("data", "segments", "k")


def faster_with_segments(rows: list[Row]) -> Finding | None:
    sweeps = {
        place: points for place, points in lines(rows, "segments", "seconds", ("data", "k")).items() if len(points) > 1
    }
    tests = [points[-1][1] < points[0][1] for points in sweeps.values()]
    ends = {
        place[0]: f"{place[0]} {points[0][1]:.2g} s with {points[0][0]:,}, {points[-1][1]:.2g} s with {points[-1][0]:,}"
        for place, points in sweeps.items()
    }
    return of_all(
        tests,
        f"Faster with the most segments than with the fewest in {sum(tests)} of {len(tests)} sweeps: {'; '.join(ends.values())}.",
    )


def time_free_of_k(rows: list[Row]) -> Finding | None:
    found = [
        [y for _, y in points]
        for points in lines(rows, "k", "seconds", ("data", "segments", "algorithm")).values()
        if len(points) > 1
    ]
    factors = [max(times) / min(times) for times in found if min(times)]
    return (
        of_all(
            [factor <= 2 for factor in factors],
            f"Over k, the slowest run takes {spread(factors, '.1f')} times the fastest (no difference: up to twice).",
        )
        if factors
        else None
    )


def loss_free_of_segments(rows: list[Row]) -> Finding | None:
    sweeps = [
        [y for _, y in points] for points in lines(rows, "segments", "loss", ("data", "k")).values() if len(points) > 1
    ]
    changes = [sweep[-1] / sweep[0] - 1 for sweep in sweeps if sweep[0]]
    return (
        of_all(
            [abs(change) <= 0.2 for change in changes],
            f"From the fewest to the most segments the loss changes by {spread(changes, '+.0%')} (little: up to 20%).",
        )
        if changes
        else None
    )


def loss_grows_with_k(rows: list[Row]) -> Finding | None:
    return _by_k(rows, growing=True)


def loss_falls_with_k(rows: list[Row]) -> Finding | None:
    return _by_k(rows, growing=False)


def _by_k(rows: list[Row], *, growing: bool) -> Finding | None:
    sweeps = [
        points for points in lines(rows, "k", "loss", ("data", "segments", "algorithm")).values() if len(points) > 1
    ]
    factors = [points[-1][1] / points[0][1] for points in sweeps if points[0][1]]
    if not factors:
        return None
    low, high = min(points[0][0] for points in sweeps), max(points[-1][0] for points in sweeps)
    rises = sum(factor > 1 for factor in factors)
    ours = f"From k = {low} to {high} the loss is multiplied by {spread(factors, '.2f')}: it grows in {rises} of {len(factors)} sweeps."
    return of_all([(factor > 1) == growing for factor in factors], ours)


def pta_loses_least(rows: list[Row]) -> Finding | None:
    found = {name: values(rows, name, "loss", _PLACE) for name in ("pta", "gray-tsp", "gsc", "split")}
    tests = {
        place: all(below(loss, found[name][place]) for name in ("gray-tsp", "gsc"))
        for place, loss in found["pta"].items()
        if place in found["gray-tsp"] and place in found["gsc"]
    }
    if not tests:
        return None
    saved = [
        1 - found["split"][place] / loss for place, loss in found["pta"].items() if place in found["split"] and loss
    ]
    but = sorted({place[0] for place, least in tests.items() if not least})
    text = f"PTA loses least of the three in {sum(tests.values())} of {len(tests)} settings" + (
        f", not in all on {', '.join(but)}" if but else ""
    )
    return of_all(
        list(tests.values()),
        f"{text}." + (f" split, which is ours, loses {spread(saved, '.0%')} less than PTA." if saved else ""),
    )


def gsc_loses_most(rows: list[Row]) -> Finding | None:
    found = {name: values(rows, name, "loss", _PLACE) for name in ("pta", "gray-tsp", "gsc")}
    tests = [
        all(below(found[name][place], loss) for name in ("pta", "gray-tsp"))
        for place, loss in found["gsc"].items()
        if place in found["pta"] and place in found["gray-tsp"]
    ]
    return of_all(tests, f"GSC loses most of the three in {sum(tests)} of {len(tests)} settings.")


def gsc_mostly_loses_most(rows: list[Row]) -> Finding | None:
    found = gsc_loses_most(rows)
    if found is None:
        return None
    return mostly([number < found.agreeing for number in range(found.compared)], found.ours)


def loss_falls_with_segments(rows: list[Row]) -> Finding | None:
    found = lines(
        [row for row in rows if row.get("algorithm") in ("pta", "gray-tsp")], "segments", "loss", ("algorithm", "data")
    )
    falls = {place: below(points[-1][1], points[0][1]) for place, points in found.items() if len(points) > 1}
    if not falls:
        return None
    which = [
        f"{name} in {sum(fall for place, fall in falls.items() if place[0] == name)} of {sum(place[0] == name for place in falls)}"
        for name in ("pta", "gray-tsp")
    ]
    return of_all(list(falls.values()), f"Sweeps that end lower than they begin: {', '.join(which)}.")


def mushroom(rows: list[Row]) -> Finding | None:
    printed = {("pta", 100): 0.195, ("pta", 200): 0.19, ("gray-tsp", 100): 0.28, ("gray-tsp", 200): 0.23}
    ours = {
        (row["algorithm"], row["segments"]): row["loss"]
        for row in rows
        if row["status"] == RAN and row["data"] == "mushroom"
    }
    both = {place: (ours[place], loss) for place, loss in printed.items() if place in ours}
    if not both:
        return None
    text = ", ".join(f"{name} with {segments} segments {mine:.1%}" for (name, segments), (mine, _) in both.items())
    return of_all([abs(mine - theirs) <= 0.01 for mine, theirs in both.values()], f"{text} (met: within one point).")


def pta_like_gsc(rows: list[Row]) -> Finding | None:
    factors = [pta / gsc for pta, gsc in pairs(rows, "pta", "gsc", "seconds", _PLACE) if gsc]
    return (
        of_all(
            [1 / 3 <= factor <= 3 for factor in factors],
            f"PTA takes {spread(factors)} times what GSC takes (about: up to 3 times).",
        )
        if factors
        else None
    )


def gray_is_slow(rows: list[Row]) -> Finding | None:
    texts, tests = [], []
    for name in ("pta", "gsc"):
        factors = [gray / one for one, gray in pairs(rows, name, "gray-tsp", "seconds", _PLACE) if one]
        if factors:
            tests += [factor >= 10 for factor in factors]
            texts.append(f"{spread(factors)} times what {name.upper()} takes")
    return of_all(tests, f"Gray-TSP takes {' and '.join(texts)}.")
