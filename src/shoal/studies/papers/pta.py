"""The experiments of Lin, Liu, Fournier-Viger and Hong (2017), section 6: PTA, Gray-TSP and GSC, with `split` beside them."""

from __future__ import annotations

from functools import partial
from typing import Any

from shoal.algorithms import algorithm
from shoal.algorithms.recoding import Options
from shoal.guarantees.k import KAnonymity
from shoal.price.edits import edits
from shoal.records.samples.quest import quest
from shoal.studies.papers import measure, sources
from shoal.studies.papers.figure import Cell, Claim, Figure, Finding, Judge, Mode, Panel, Row, claim
from shoal.studies.papers.findings import below, lines, mostly, of_all, pairs, runs, share_of, spread, values

TITLE = "PTA: An Efficient System for Anonymizing Transaction Databases (2017)"
OURS = frozenset({"split"})
THREE = ("pta", "gray-tsp", "gsc", "split")
MEDIAN = {
    "chess": 60,
    "mushroom": 150,
    "pumsb": 800,
    "connect": 1250,
    "accidents": 6000,
    "accidents-part": 152,
    "t10i4d100k": 1000,
}
"""Segments of Figures 11 and 13 as section 6.2 has them; of the part of accidents, as many as make segments of 100."""
SWEEPS = {
    "chess": (20, 40, 60, 80, 100),
    "mushroom": (50, 100, 150, 200, 250),
    "pumsb": (400, 600, 800, 1000, 1200),
    "connect": (750, 1000, 1250, 1500, 1750),
    "accidents": (4000, 5000, 6000, 7000, 8000),
    "accidents-part": (51, 102, 152, 203, 254),
    "t10i4d100k": (600, 800, 1000, 1200, 1400),
}
"""Around the medians: the paper's own numbers stand in its plots only."""
FEW = {"chess": (5, 10), "mushroom": (10, 25), "connect": (250, 500), "t10i4d100k": (100, 200, 400)}
"""Fewer segments, as Figure 8 has them: where dividing makes the difference."""
QUICK_ROWS = 20_000

_PLACE, _LINE = ("data", "segments", "k"), ("data", "segments", "algorithm")
_MACHINE = (
    "Times are this machine's and this program's, on all its cores; the paper had Java on a dual-core i3-4160. "
    "We sort neighbours once instead of searching them again, so PTA's times are not comparable in size."
)
_SWEEP = "The paper gives its numbers of segments only for the medians (60, 150, 800, 1,250, 6,000 and 1,000); ours lie around them."
_PART = "Of accidents only the first 15,224 rows are at hand: figures on them are not figures on accidents."
_GRAY = (
    "The paper gives no details of Gray-TSP's genetic algorithm; ours has 50 loops and 100 generations. The Gray-TSP of Xue and others "
    "(2012) recodes without reciprocity: a row may stand in for another that does not stand in for it. Ours forms PTA's groups along the "
    "loop and takes their majority, so that only the loop differs from PTA's."
)
_GSC = (
    "GSC is a guess: the paper refers to Wang and others (2014), which we have not seen, and says only that similar transactions are "
    "replaced by their centre. Ours takes every k transactions in Gray order, and their majority."
)


def anonymize(data: str, rows: int | None, ks: list[int], segments: int, algorithms: list[str]) -> list[Row]:
    """Seconds and loss of each algorithm for each k on one data set."""
    baskets = sources.baskets(data, rows)
    small = quest(400, length=5, items=40, seed=3)
    measured: list[Row] = []
    for name in algorithms:
        run = algorithm("k", name)
        run(small, KAnonymity(4), None, Options())  # loads what it needs
        options = Options(segments=segments if name in ("pta", "gray-tsp") else None, seed=sources.SEED)
        for k in ks:
            promise = KAnonymity(min(k, len(baskets)))
            result = measure.measure(partial(run, baskets, promise, None, options))
            published = result.answer.apply()
            measure.check_promise(promise, published)
            row: Row = {"transactions": len(baskets), "k": k, "algorithm": name, "seconds": result.seconds}
            measured.append(row | {"loss": edits(baskets, published).loss()["il"]})
    return measured


MEASURES = {"anonymized": anonymize}


@claim("More segments make PTA faster, for every k.")
def faster_with_segments(rows: list[Row]) -> Finding | None:
    sweeps = _sweeps(rows, "segments", "seconds", "data", "k")
    faster = [points[-1][1] < points[0][1] for points in sweeps.values()]
    ends = {
        place[0]: f"{place[0]} {points[0][1]:.2g} s with {points[0][0]:,}, {points[-1][1]:.2g} s with {points[-1][0]:,}"
        for place, points in sweeps.items()
    }
    text = f"Faster with the most segments than with the fewest in {share_of(faster)} sweeps"
    return of_all(faster, f"{text}: {'; '.join(ends.values())}.")


def _sweeps(rows: list[Row], x: str, y: str, *by: str) -> dict[tuple[Any, ...], list[tuple[Any, Any]]]:
    """The lines that have more than one point."""
    return {place: points for place, points in lines(rows, x, y, by).items() if len(points) > 1}


@claim("k makes no difference to the time.")
def time_free_of_k(rows: list[Row]) -> Finding | None:
    sweeps = [[y for _, y in points] for points in _sweeps(rows, "k", "seconds", *_LINE).values()]
    factors = [max(times) / min(times) for times in sweeps if min(times)]
    return of_all(
        [factor <= 2 for factor in factors],
        f"Over k, the slowest run takes {spread(factors, '.1f')} times the fastest (no difference: up to twice).",
    )


@claim("The number of segments has little influence on the loss.")
def loss_free_of_segments(rows: list[Row]) -> Finding | None:
    sweeps = _sweeps(rows, "segments", "loss", "data", "k").values()
    changes = [points[-1][1] / points[0][1] - 1 for points in sweeps if points[0][1]]
    return of_all(
        [abs(change) <= 0.2 for change in changes],
        f"From the fewest to the most segments the loss changes by {spread(changes, '+.0%')} (little: up to 20%).",
    )


def loss_by_k(*, growing: bool) -> Judge:
    """Whether the loss grows with k, or falls."""

    def judge(rows: list[Row]) -> Finding | None:
        sweeps = [points for points in _sweeps(rows, "k", "loss", *_LINE).values() if points[0][1]]
        if not sweeps:
            return None
        low, high = min(points[0][0] for points in sweeps), max(points[-1][0] for points in sweeps)
        factors = [points[-1][1] / points[0][1] for points in sweeps]
        grows = [factor > 1 for factor in factors]
        ours = f"From k = {low} to {high} the loss is multiplied by {spread(factors, '.2f')}: it grows in {share_of(grows)} sweeps."
        return of_all([one == growing for one in grows], ours)

    return judge


@claim("PTA loses least of the three.")
def pta_loses_least(rows: list[Row]) -> Finding | None:
    losses = {name: values(rows, name, "loss", _PLACE) for name in THREE}
    least = {
        place: all(below(loss, losses[name][place]) for name in ("gray-tsp", "gsc"))
        for place, loss in losses["pta"].items()
        if place in losses["gray-tsp"] and place in losses["gsc"]
    }
    saved = [
        1 - losses["split"][place] / loss for place, loss in losses["pta"].items() if place in losses["split"] and loss
    ]
    but = sorted({place[0] for place, holds in least.items() if not holds})
    text = f"PTA loses least of the three in {share_of([*least.values()])} settings"
    text += f", not in all on {', '.join(but)}." if but else "."
    text += f" split, which is ours, loses {spread(saved, '.0%')} less than PTA." if saved else ""
    return of_all([*least.values()], text)


@claim("GSC loses most.")
def gsc_loses_most(rows: list[Row]) -> Finding | None:
    losses = {name: values(rows, name, "loss", _PLACE) for name in ("pta", "gray-tsp", "gsc")}
    most = [
        all(below(losses[name][place], loss) for name in ("pta", "gray-tsp"))
        for place, loss in losses["gsc"].items()
        if place in losses["pta"] and place in losses["gray-tsp"]
    ]
    return of_all(most, f"GSC loses most of the three in {share_of(most)} settings.")


@claim("GSC mostly loses most.")
def gsc_mostly_loses_most(rows: list[Row]) -> Finding | None:
    finding = gsc_loses_most(rows)
    if finding is None:
        return None
    return mostly([number < finding.agreeing for number in range(finding.compared)], finding.ours)


@claim("The losses of PTA and Gray-TSP mostly fall as segments grow in number.")
def loss_falls_with_segments(rows: list[Row]) -> Finding | None:
    falls = {
        place: below(points[-1][1], points[0][1])
        for place, points in _sweeps(rows, "segments", "loss", "algorithm", "data").items()
        if place[0] in ("pta", "gray-tsp")
    }
    which = [
        f"{name} in {share_of([fall for place, fall in falls.items() if place[0] == name])}"
        for name in ("pta", "gray-tsp")
    ]
    return of_all([*falls.values()], f"Sweeps that end lower than they begin: {', '.join(which)}.")


@claim("Mushroom: PTA loses 19.5% with 100 segments and 19% with 200, Gray-TSP about 28% and 23%.")
def mushroom(rows: list[Row]) -> Finding | None:
    printed = {("pta", 100): 0.195, ("pta", 200): 0.19, ("gray-tsp", 100): 0.28, ("gray-tsp", 200): 0.23}
    ours = {(row["algorithm"], row["segments"]): row["loss"] for row in runs(rows) if row["data"] == "mushroom"}
    both = {place: (ours[place], loss) for place, loss in printed.items() if place in ours}
    text = ", ".join(f"{name} with {segments} segments {mine:.1%}" for (name, segments), (mine, _) in both.items())
    return of_all([abs(mine - theirs) <= 0.01 for mine, theirs in both.values()], f"{text} (met: within one point).")


@claim("PTA and GSC take about the same time.")
def pta_like_gsc(rows: list[Row]) -> Finding | None:
    factors = [pta / gsc for pta, gsc in pairs(rows, "pta", "gsc", "seconds", _PLACE) if gsc]
    return of_all(
        [1 / 3 <= factor <= 3 for factor in factors],
        f"PTA takes {spread(factors)} times what GSC takes (about: up to 3 times).",
    )


@claim("Both are one to two orders of magnitude faster than Gray-TSP.")
def gray_is_slow(rows: list[Row]) -> Finding | None:
    texts, tests = [], []
    for name in ("pta", "gsc"):
        factors = [gray / one for one, gray in pairs(rows, name, "gray-tsp", "seconds", _PLACE) if one]
        if factors:
            tests += [factor >= 10 for factor in factors]
            texts.append(f"{spread(factors)} times what {name.upper()} takes")
    return of_all(tests, f"Gray-TSP takes {' and '.join(texts)}.")


def figures(mode: Mode) -> list[Figure]:
    data = mode.of(
        ("chess", "mushroom", "t10i4d100k"),
        ("chess", "mushroom", "pumsb", "connect", "accidents", "accidents-part", "t10i4d100k"),
    )
    ks = mode.of((5, 15, 25), (5, 10, 15, 20, 25))
    of_ks = ", ".join(map(str, ks[:-1])) + f" and {ks[-1]}"
    by_segments = _cells(mode, data, ks, ("pta",), few=True)
    at_15 = _cells(mode, data, (15,), THREE)
    by_k = tuple(_cell(mode, name, ks, MEDIAN[name], THREE) for name in data)
    part = (_PART,) if "accidents-part" in data else ()
    first = f"Quick mode takes the first {QUICK_ROWS:,} rows of larger data, and as many fewer segments."
    shared = (_MACHINE, _SWEEP, *part, *(() if mode.full else (first,)))
    return [
        _figure(
            "8",
            "Time by number of segments",
            f"Segments, for k = {of_ks}; PTA.",
            (faster_with_segments, time_free_of_k),
            shared,
            by_segments,
            _panels(data, "segments", "seconds", "k"),
        ),
        _figure(
            "9",
            "Loss by number of segments",
            f"Segments, for k = {of_ks}; PTA.",
            (loss_free_of_segments, Claim("The loss grows quickly with k.", loss_by_k(growing=True))),
            (*shared, "Little influence is taken as a fifth of the loss from one end of the sweep to the other."),
            by_segments,
            _panels(data, "segments", "loss", "k"),
        ),
        _figure(
            "10",
            "Loss by number of segments, three algorithms",
            "Segments, for k = 15; PTA, Gray-TSP, GSC, and our split.",
            (pta_loses_least, gsc_loses_most, loss_falls_with_segments, mushroom),
            (*shared, _GRAY, _GSC),
            at_15,
            _panels(data, "segments", "loss"),
            OURS,
        ),
        _figure(
            "11",
            "Loss by k",
            f"k = {of_ks}, segments as printed in section 6.2 (60, 150, 800, 1,250, 6,000, 1,000).",
            (
                Claim("PTA loses least of the three, whatever k.", pta_loses_least),
                gsc_mostly_loses_most,
                Claim(
                    "As printed in section 6.2, the loss falls as k grows (section 6.1 has it growing).",
                    loss_by_k(growing=False),
                ),
            ),
            (*shared, _GRAY, _GSC),
            by_k,
            _panels(data, "k", "loss"),
            OURS,
        ),
        _figure(
            "12",
            "Time by number of segments, three algorithms",
            "Segments, for k = 15.",
            (pta_like_gsc, gray_is_slow),
            (*shared, _GRAY, _GSC, "About the same is taken as within a factor of 3."),
            at_15,
            _panels(data, "segments", "seconds"),
            OURS,
        ),
        _figure(
            "13",
            "Time by k",
            f"k = {of_ks}, segments as in Figure 11.",
            (
                Claim("PTA and GSC are one to two orders of magnitude faster than Gray-TSP.", gray_is_slow),
                Claim("Times of Gray-TSP and GSC are steady in k; that of PTA depends on it slightly.", time_free_of_k),
            ),
            (*shared, _GRAY, _GSC, "Steady is taken as within a factor of 2."),
            by_k,
            _panels(data, "k", "seconds"),
            OURS,
        ),
    ]


_figure = partial(Figure, "pta")


def _cells(
    mode: Mode, data: tuple[str, ...], ks: tuple[int, ...], names: tuple[str, ...], *, few: bool = False
) -> tuple[Cell, ...]:
    cells = []
    for name in data:
        sweep = SWEEPS[name] if mode.full else SWEEPS[name][1::2]
        if few:
            sweep = (*(FEW.get(name, ()) if mode.full else FEW.get(name, ())[-1:]), *sweep)
        cells += [_cell(mode, name, ks, segments, names) for segments in sweep]
    return tuple(cells)


def _cell(mode: Mode, data: str, ks: tuple[int, ...], segments: int, names: tuple[str, ...]) -> Cell:
    whole = {"t10i4d100k": 100_000, "connect": 67_557, "pumsb": 49_046, "accidents": 340_183}.get(data, 10_000)
    most = mode.rows(None if mode.full else QUICK_ROWS)
    if most is not None and most < whole:
        segments = max(1, segments * most // whole)  # segments as long as those of the whole data
    long = (whole / segments) ** 2 * whole / 1e10 if mode.full else 0.3
    params: dict[str, Any] = {
        "data": data,
        "rows": most,
        "ks": list(ks),
        "segments": segments,
        "algorithms": list(names),
    }
    return Cell(
        "pta",
        "anonymized",
        params,
        limit=mode.of(60, 900),
        cost=1.5 + len(ks) * (long + len(names) * (most or whole) / 1e5),
    )


def _panels(data: tuple[str, ...], x: str, y: str, by: str = "algorithm") -> tuple[Panel, ...]:
    labels = {name: sources.label(name) for name in data}
    return tuple(
        Panel(name, f"{label}: {y}", x, y, (by,), {"data": label}, log_y=y == "seconds")
        for name, label in labels.items()
    )
