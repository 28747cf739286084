"""Pictures of risk: what few known items give away, before and after a release, and how sure an attacker's guess is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shoal.drawing.bars import Bar, bars
from shoal.drawing.charts import Series, line_chart

if TYPE_CHECKING:
    from shoal.attacks.background import BackgroundAttack
    from shoal.attacks.homogeneity import Homogeneity
    from shoal.estimates.raw_profile import Profile
    from shoal.evaluation.evaluation import Evaluation
    from shoal.guarantees.km import Exposure


def exposure_plot(found: Profile) -> str:
    """The share of people that m known items give away, over m."""
    return line_chart(
        f"What {found.source} gives away",
        "items known" + (" besides the columns" if found.columns else ""),
        "share of all rows",
        [
            Series(f"among fewer than {found.k}", _curve(found.exposures, found.rows), tone="before"),
            Series("singled out", _curve(found.exposures, found.rows, alone=True), tone="bad"),
        ],
        percent=True,
    )


def before_after_plot(found: Evaluation) -> str:
    """The share of people among fewer than k, over the number of known items, in the original and in the release."""
    return line_chart(
        f"Rows among fewer than {found.k}, before and after",
        "items known" + (" besides the columns" if found["loss.columns"] else ""),
        "share of all rows",
        [
            Series(
                {"before": "original", "after": "release"}[side],
                _curve(curve.exposures, curve.rows),
                dashed=side == "before",
                tone=side,
            )
            for side, curve in (found["risk.uniqueness"] or {}).items()
        ],
        percent=True,
    )


def values_left_plot(found: BackgroundAttack) -> str:
    """How many rows have how many possible values left."""
    return bars(
        [
            Bar(_values(number), rows / max(1, found.rows), f"{rows:,} rows", "bad" if number < found.l else "after")
            for number, rows in enumerate(found.by_values)
            if rows
        ],
        "Sensitive values that stay possible for a row",
    )


def confidence_plot(found: Homogeneity) -> str:
    """How many rows an attacker guesses how surely."""
    names = [f"up to {tenth}0%" for tenth in range(1, 10)] + ["up to 100%", "certain"]
    return bars(
        [
            Bar(name, rows / max(1, found.rows), f"{rows:,} rows", "bad" if name == "certain" else "plain")
            for name, rows in zip(names, found.by_confidence, strict=True)
        ],
        "How sure an attacker is of the most frequent sensitive value of a crowd",
    )


def _curve(exposures: Sequence[Exposure], rows: int, *, alone: bool = False) -> list[tuple[float, float]]:
    return [(one.m, (one.unique if alone else one.exposed) / max(1, rows)) for one in exposures]


def _values(number: int) -> str:
    return "1 value" if number == 1 else f"{number:,} values"
