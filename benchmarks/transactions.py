"""Figures on k-anonymous transactions: all four algorithms, PTA's segments, and growth."""

from __future__ import annotations

from typing import Any

from measuring import Row, folder, peak_mb, timed

FILES = {
    "chess": "chess/chess.dat.gz",
    "mushroom": "mushroom/mushroom.dat.gz",
    "connect": "connect/connect.dat.gz",
    "T10I4D100K": "t10i4d100k/t10i4d100k.dat.gz",
    "accidents, first 15,224": "accidents_head/accidents_first15224.dat.gz",
    "WebView-1": "bms_webview1/bms_webview1.dat.gz",
}
SEGMENTS = {"chess": 60, "mushroom": 150, "connect": 1250, "T10I4D100K": 1000}
"""The paper's, in section 6.2; about 100 transactions a segment elsewhere."""
SWEEPS = {
    "chess": (20, 40, 60, 80, 100),
    "mushroom": (50, 100, 150, 200, 250),
    "connect": (750, 1000, 1250, 1500, 1750),
    "T10I4D100K": (600, 800, 1000, 1200, 1400),
}


def baskets_of(name: str) -> Any:
    from shoal.records.source import read

    root = folder()
    assert root is not None
    return read(root / FILES[name])


def run_of(baskets: Any, name: str, k: int, segments: int | None = None) -> tuple[float, float]:
    """(seconds, loss) of one algorithm, the loss as recomputed from the rows; the best of a few runs."""
    from shoal.algorithms import algorithm
    from shoal.algorithms.recoding import Options
    from shoal.guarantees.k import KAnonymity
    from shoal.price.edits import edits

    promise = KAnonymity(k)
    anonymized = algorithm("k", name)
    took, classes = timed(lambda: anonymized(baskets, promise, None, Options(segments=segments)), 0.3, 3)
    published = classes.apply()
    assert promise.audit(published).holds
    return took, edits(baskets, published).loss()["il"]


def warm_up() -> None:
    from shoal.records.samples.quest import quest

    small = quest(400, length=5, items=40, seed=3)
    for name in ("split", "pta", "gsc", "gray-tsp"):
        run_of(small, name, 4)


def section_transactions() -> list[Row]:
    return [{"data": name, "k": k} for name in FILES for k in (5, 10, 15, 25)]


def case_transactions(data_name: str, k: int) -> Row:
    """All four algorithms on one data set."""
    warm_up()
    baskets = baskets_of(data_name)
    segments = SEGMENTS.get(data_name, max(1, len(baskets) // 100))
    split, pta = run_of(baskets, "split", k), run_of(baskets, "pta", k, segments)
    gsc, gray = run_of(baskets, "gsc", k), run_of(baskets, "gray-tsp", k, segments)
    return {
        "data": data_name,
        "k": k,
        "segments": segments,
        "GSC": f"{gsc[1]:.2%}",
        "Gray-TSP": f"{gray[1]:.2%}",
        "PTA": f"{pta[1]:.2%}",
        "split": f"{split[1]:.2%}",
        "split below PTA by": f"{1 - split[1] / pta[1]:.0%}",
        "GSC s": f"{gsc[0]:.3f}",
        "Gray-TSP s": f"{gray[0]:.2f}",
        "PTA s": f"{pta[0]:.3f}",
        "split s": f"{split[0]:.3f}",
        "time, split / PTA": f"{split[0] / pta[0]:.2f}",
    }


def section_segments() -> list[Row]:
    return [{"data": name, "segments": segments} for name, sweep in SWEEPS.items() for segments in sweep]


def case_segments(data_name: str, segments: int) -> Row:
    """PTA by number of segments, as in Figures 8 to 10 and 12."""
    warm_up()
    baskets = baskets_of(data_name)
    row: Row = {"data": data_name, "segments": segments}
    for k in (5, 15, 25):
        took, loss = run_of(baskets, "pta", k, segments)
        row |= {f"PTA, k = {k}": f"{loss:.2%}", f"s, k = {k}": f"{took:.3f}"}
    took, loss = run_of(baskets, "gray-tsp", 15, segments)
    return row | {"Gray-TSP, k = 15": f"{loss:.2%}", "Gray-TSP s": f"{took:.2f}"}


def section_quest() -> list[Row]:
    return [{"transactions": n} for n in (125_000, 250_000, 500_000, 1_000_000)]


def case_quest(transactions: int) -> Row:
    """Growth of time and memory on Quest data."""
    from shoal.records.samples.quest import quest

    warm_up()
    baskets = quest(transactions, length=10, items=1000, seed=1)
    before = peak_mb()
    split, pta = run_of(baskets, "split", 15), run_of(baskets, "pta", 15)
    return {
        "transactions": f"{transactions:,}",
        "split": f"{split[1]:.2%}",
        "PTA": f"{pta[1]:.2%}",
        "split µs / transaction": f"{split[0] / transactions * 1e6:.2f}",
        "PTA µs / transaction": f"{pta[0] / transactions * 1e6:.2f}",
        "MB of the data": (baskets.items.nbytes + baskets.offsets.nbytes) // 2**20,
        "peak MB": peak_mb(),
        "peak MB while generating": before,
    }
