"""The whole field: every algorithm that the data and the promise allow, side by side, ranked by what is left for analysts.

An algorithm that joins `shoal.algorithms` joins the field by itself. Of releases with one promise the first is the one that keeps most of
the information; of those that keep the same, the one that publishes more items as they are, then the one that keeps more of the commonest
pairs. Cells that came to no release have no rank, and say why.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shoal.drawing.bars import Bar, bars
from shoal.studies.compare.cell import DONE

Row = dict[str, Any]

MEASURES = {
    "info": "Information kept",
    "exact": "Items as they are",
    "pairs": "Commonest pairs kept",
    "cells": "Cells as they are",
}
"""What releases are ranked by, the first first, and what it is called."""
_SAME = 9
"""Digits behind the point beyond which shares are the same."""


def kept_of(row: Row, measure: str) -> float | None:
    """The share that a row keeps by a measure."""
    if measure != "info":
        kept: float | None = row["kept"].get(measure)
        return kept
    lost = row["loss"].get("info")
    return None if lost is None else 1 - lost


def by_rank(rows: Sequence[Row], promise: Sequence[str]) -> list[Row]:
    """The rows with their rank among those of one promise, the best first; rows without a release come last."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row.get(name) for name in promise), []).append(row)
    found: list[Row] = []
    for group in groups.values():
        done = sorted((row for row in group if row["status"] == DONE), key=_order)
        orders = [_order(row) for row in done]
        found += [{**row, "rank": orders.index(own) + 1} for row, own in zip(done, orders, strict=True)]
        found += [{**row, "rank": None} for row in group if row["status"] != DONE]
    return found


def _order(row: Row) -> tuple[float, ...]:
    """Smaller is better. What was not measured stands behind what was."""
    return tuple(-round(kept, _SAME) if (kept := kept_of(row, name)) is not None else 1.0 for name in MEASURES)


def field_charts(rows: Sequence[Row], what: str = "") -> list[tuple[str, str]]:
    """Per measure its title and bars, an algorithm each, in the order of their ranks; nothing for measures that no row has."""
    charts = []
    for name, title in MEASURES.items():
        shares = [(row, kept_of(row, name)) for row in rows if row["status"] == DONE]
        drawn = [
            Bar(f"{row['rank']}. {row['algorithm']}", share, f"{share:.1%}", "plain")
            for row, share in shares
            if share is not None
        ]
        if drawn:
            told = f"{title}{f' ({what})' if what else ''}"
            charts.append((told, bars(drawn, told)))
    return charts
