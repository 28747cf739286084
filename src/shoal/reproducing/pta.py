"""The experiments of Lin, Liu, Fournier-Viger and Hong (2017), section 6: PTA, Gray-TSP and GSC, with `split` beside them."""

from __future__ import annotations

from functools import partial
from typing import Any

from shoal.reproducing import pta_claims as claims
from shoal.reproducing import sources
from shoal.reproducing.figure import Cell, Claim, Figure, Mode, Panel, Row

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

_MACHINE = (
    "Times are this machine's and this program's, on all its cores; the paper had Java on a dual-core i3-4160. "
    "We sort neighbours once instead of searching them again, so PTA's times are not comparable in size."
)
_SWEEP = "The paper gives its numbers of segments only for the medians (60, 150, 800, 1,250, 6,000 and 1,000); ours lie around them."
_PART = "Of accidents only the first 15,224 rows are at hand: figures on them are not figures on accidents."
_GRAY = "The paper gives no details of Gray-TSP's genetic algorithm; ours has 50 loops and 100 generations."


def anonymized(data: str, rows: int | None, ks: list[int], segments: int, algorithms: list[str]) -> list[Row]:
    """Seconds and loss of each algorithm for each k on one data set."""
    from shoal.algorithms import algorithm
    from shoal.algorithms.recoding import Options
    from shoal.guarantees.k import KAnonymity
    from shoal.price.edits import edits
    from shoal.records.samples.quest import quest
    from shoal.reproducing.measuring import kept, measured

    baskets = sources.baskets(data, rows)
    small = quest(400, length=5, items=40, seed=3)
    found: list[Row] = []
    for name in algorithms:
        run = algorithm("k", name)
        run(small, KAnonymity(4), None, Options())  # loads what it needs
        options = Options(segments=segments if name in ("pta", "gray-tsp") else None, seed=sources.SEED)
        for k in ks:
            promise = KAnonymity(min(k, len(baskets)))
            result = measured(partial(run, baskets, promise, None, options))
            published = result.answer.apply()
            kept(promise, published)
            row: Row = {"transactions": len(baskets), "k": k, "algorithm": name, "seconds": result.seconds}
            found.append(row | {"loss": edits(baskets, published).loss()["il"]})
    return found


MEASURES = {"anonymized": anonymized}


def figures(mode: Mode) -> list[Figure]:
    data = mode.of(
        ("chess", "mushroom", "t10i4d100k"),
        ("chess", "mushroom", "pumsb", "connect", "accidents", "accidents-part", "t10i4d100k"),
    )
    ks = mode.of((5, 15, 25), (5, 10, 15, 20, 25))
    by_segments = _cells(mode, data, ks, ("pta",), few=True)
    at_15 = _cells(mode, data, (15,), THREE)
    by_k = tuple(_cell(mode, name, ks, MEDIAN[name], THREE) for name in data)
    part = (_PART,) if "accidents-part" in data else ()
    quick = (
        ()
        if mode.full
        else (f"Quick mode takes the first {QUICK_ROWS:,} rows of larger data, and as many fewer segments.",)
    )
    shared = (_MACHINE, _SWEEP, *part, *quick)
    return [
        Figure(
            "pta",
            "8",
            "Time by number of segments",
            f"Segments, for k = {_listed(ks)}; PTA.",
            (
                Claim("More segments make PTA faster, for every k.", claims.faster_with_segments),
                Claim("k makes no difference to the time.", claims.time_free_of_k),
            ),
            shared,
            by_segments,
            _panels(data, "segments", "seconds", ("k",), "segments", "seconds"),
        ),
        Figure(
            "pta",
            "9",
            "Loss by number of segments",
            f"Segments, for k = {_listed(ks)}; PTA.",
            (
                Claim("The number of segments has little influence on the loss.", claims.loss_free_of_segments),
                Claim("The loss grows quickly with k.", claims.loss_grows_with_k),
            ),
            (*shared, "Little influence is taken as a fifth of the loss from one end of the sweep to the other."),
            by_segments,
            _panels(data, "segments", "loss", ("k",), "segments", "loss"),
        ),
        Figure(
            "pta",
            "10",
            "Loss by number of segments, three algorithms",
            "Segments, for k = 15; PTA, Gray-TSP, GSC, and our split.",
            (
                Claim("PTA loses least of the three.", claims.pta_loses_least),
                Claim("GSC loses most.", claims.gsc_loses_most),
                Claim(
                    "The losses of PTA and Gray-TSP mostly fall as segments grow in number.",
                    claims.loss_falls_with_segments,
                ),
                Claim(
                    "Mushroom: PTA loses 19.5% with 100 segments and 19% with 200, Gray-TSP about 28% and 23%.",
                    claims.mushroom,
                ),
            ),
            (*shared, _GRAY),
            at_15,
            _panels(data, "segments", "loss", ("algorithm",), "segments", "loss"),
            OURS,
        ),
        Figure(
            "pta",
            "11",
            "Loss by k",
            f"k = {_listed(ks)}, segments as printed in section 6.2 (60, 150, 800, 1,250, 6,000, 1,000).",
            (
                Claim("PTA loses least of the three, whatever k.", claims.pta_loses_least),
                Claim("GSC mostly loses most.", claims.gsc_mostly_loses_most),
                Claim(
                    "As printed in section 6.2, the loss falls as k grows (section 6.1 has it growing).",
                    claims.loss_falls_with_k,
                ),
            ),
            (*shared, _GRAY),
            by_k,
            _panels(data, "k", "loss", ("algorithm",), "k", "loss"),
            OURS,
        ),
        Figure(
            "pta",
            "12",
            "Time by number of segments, three algorithms",
            "Segments, for k = 15.",
            (
                Claim("PTA and GSC take about the same time.", claims.pta_like_gsc),
                Claim("Both are one to two orders of magnitude faster than Gray-TSP.", claims.gray_is_slow),
            ),
            (*shared, _GRAY, "About the same is taken as within a factor of 3."),
            at_15,
            _panels(data, "segments", "seconds", ("algorithm",), "segments", "seconds"),
            OURS,
        ),
        Figure(
            "pta",
            "13",
            "Time by k",
            f"k = {_listed(ks)}, segments as in Figure 11.",
            (
                Claim("PTA and GSC are one to two orders of magnitude faster than Gray-TSP.", claims.gray_is_slow),
                Claim(
                    "Times of Gray-TSP and GSC are steady in k; that of PTA depends on it slightly.",
                    claims.time_free_of_k,
                ),
            ),
            (*shared, _GRAY, "Steady is taken as within a factor of 2."),
            by_k,
            _panels(data, "k", "seconds", ("algorithm",), "k", "seconds"),
            OURS,
        ),
    ]


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


def _panels(
    data: tuple[str, ...], x: str, y: str, by: tuple[str, ...], x_label: str, y_label: str
) -> tuple[Panel, ...]:
    return tuple(
        Panel(
            name,
            f"{sources.label(name)}: {y_label}",
            x,
            y,
            by,
            x_label,
            y_label,
            log_y=y == "seconds",
            percent=y == "loss",
            only={"data": sources.label(name)},
        )
        for name in data
    )


def _listed(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers[:-1])) + f" and {numbers[-1]}"
