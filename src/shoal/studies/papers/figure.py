"""Figures of a paper: what is printed, what we measure for it, and how the two are compared.

A figure lists cells, the measurements it needs. Cells are told apart by what they ask for, so figures that show the same measurement
from two sides (a loss here, a time there) share it. A claim is one statement of the paper, in our words, with a function that finds
from the rows whether it holds here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from shoal.drawing.charts import Series, line_chart

T = TypeVar("T")
Row = dict[str, Any]
"""One measurement: parameters, `status`, and figures by name."""

RAN, CANNOT, STOPPED, FAILED, ABSENT = "ran", "cannot run", "stopped", "failed", "not run"
HOLDS, IN_PART, FAILS = "holds", "holds in part", "does not hold"
NOT_RUN = "not run"


@dataclass(frozen=True)
class Mode:
    """How much is measured."""

    full: bool = False
    most_rows: int | None = None
    """No data set has more rows than this: for a first look, and for tests."""

    @property
    def name(self) -> str:
        return "full" if self.full else "quick"

    def of(self, quick: T, full: T) -> T:
        return full if self.full else quick

    def rows(self, rows: int | None) -> int | None:
        """The rows that a cell may take; None for all that there are."""
        if rows is None or self.most_rows is None:
            return self.most_rows if rows is None else rows
        return min(rows, self.most_rows)


@dataclass(frozen=True)
class Cell:
    """One measurement, made in a process of its own."""

    paper: str
    measure: str
    """A name in `MEASURES` of the paper's module."""
    params: Mapping[str, Any]
    """What it is called with; `data` is the name of a source."""
    limit: float = 120
    """Seconds after which it is stopped."""
    cost: float = 1.5
    """Seconds that it takes, about."""

    @property
    def key(self) -> str:
        """What it asks for, as text: equal for equal measurements."""
        return json.dumps([self.paper, self.measure, dict(self.params)], sort_keys=True)

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.params.items() if value is not None)


@dataclass(frozen=True)
class Finding:
    """What our figures say about a claim."""

    agreeing: int
    compared: int
    """Comparisons made, and how many of them came out as the paper has it."""
    ours: str

    @property
    def word(self) -> str:
        if not self.compared:
            return NOT_RUN
        return HOLDS if self.agreeing == self.compared else IN_PART if self.agreeing else FAILS


Judge = Callable[[list[Row]], Finding | None]
"""What rows say about a statement; None where they cannot tell."""


@dataclass(frozen=True)
class Claim:
    """A statement of the paper, in our words, and whether rows bear it out."""

    statement: str
    judge: Judge

    def __call__(self, rows: list[Row]) -> Finding | None:
        return self.judge(rows)


def claim(statement: str) -> Callable[[Judge], Claim]:
    """Makes a claim of a function that judges a statement."""
    return lambda judge: Claim(statement, judge)


_LABELS = {
    "data": "data set",
    "domain": "|I|, items",
    "min_exp": "minExp",
    "share": "delta, as a share of UL",
    "merge": "merges",
    "megabytes": "MB",
    "nodes": "nodes of the count-tree",
    "ncp": "NCP",
    "items_ncp": "NCP of the items",
    "ul": "UL",
    "above_optimum": "above the optimum",
    "query_error": "relative error",
}
"""What axes say, where it is not the name of the column."""
_SHARES = (
    *("ncp", "items_ncp", "above_optimum", "loss", "n1", "confidence_error"),
    *("false_positive", "false_negative", "query_error"),
)
"""Columns that are shown in percent."""


@dataclass(frozen=True)
class Panel:
    """One plot: `y` over `x`, a line for each combination of the columns `by`."""

    name: str
    title: str
    x: str
    y: str
    by: tuple[str, ...] = ("algorithm",)
    only: Mapping[str, Any] = field(default_factory=dict)
    """Rows that belong here: those with these values."""
    log_y: bool = False
    x_label: str = ""
    y_label: str = ""

    def svg(self, rows: Sequence[Row], ours: frozenset[str] = frozenset()) -> str | None:
        """The plot, or None without a point. Lines of algorithms that the paper does not have are dashed."""
        shown = [row for row in rows if self.has(row)]
        if not shown:
            return None
        steps = None
        if any(isinstance(row[self.x], str) for row in shown):
            steps = list(dict.fromkeys(str(row[self.x]) for row in shown))
        lines: dict[tuple[str, ...], list[tuple[float, float]]] = {}
        for row in shown:
            at = float(steps.index(str(row[self.x])) if steps is not None else row[self.x])
            lines.setdefault(tuple(label(row[name], name) for name in self.by), []).append((at, float(row[self.y])))
        x_label, y_label = self.x_label or axis_label(self.x), self.y_label or axis_label(self.y)
        series = [
            Series(", ".join(name) or y_label, sorted(points), any(part in ours for part in name))
            for name, points in lines.items()
        ]
        percent = self.y in _SHARES
        return line_chart(self.title, x_label, y_label, series, log_y=self.log_y, percent=percent, steps=steps)

    def has(self, row: Row) -> bool:
        belongs = all(row.get(name) == value for name, value in self.only.items())
        return belongs and row["status"] == RAN and None not in (row.get(self.x), row.get(self.y))


def axis_label(column: str) -> str:
    """What an axis says."""
    return _LABELS.get(column, column.replace("_", " "))


def label(value: Any, name: str) -> str:
    """A value as it is named in a legend: words by themselves, numbers with what they are."""
    return value if isinstance(value, str) else f"{name} = {value:,}" if isinstance(value, int) else f"{name} = {value}"


@dataclass(frozen=True)
class Figure:
    """An experiment of a paper, or one that goes beyond it."""

    paper: str
    number: str
    title: str
    sweep: str
    """What is varied, what is fixed, on which data."""
    claims: tuple[Claim, ...]
    differs: tuple[str, ...]
    """Where data, hierarchies, measures or machine are not the paper's."""
    cells: tuple[Cell, ...]
    panels: tuple[Panel, ...]
    ours: frozenset[str] = frozenset()
    """Algorithms that the paper does not have."""
    derive: Callable[[list[Row]], list[Row]] = list
    """Adds columns that need several rows, such as the distance from the optimum."""

    @property
    def name(self) -> str:
        return f"{self.paper}-{self.number}"

    @property
    def heading(self) -> str:
        return f"Figure {self.number}" if self.number[0].isdigit() else "Beyond the paper"


@dataclass(frozen=True)
class Outcome:
    """A figure with what was measured for it."""

    figure: Figure
    rows: list[Row]
    absent: tuple[str, ...] = ()
    """Data sets that are not here, each with its remedy."""
    stand_ins: tuple[str, ...] = ()
    """Data that were made up in place of those of the paper."""
    unmeasured: int = 0
    """Measurements that did not come to an end: their data are not here, they were stopped or they cannot be made."""

    @property
    def ran(self) -> bool:
        return any(row["status"] == RAN for row in self.rows)

    def findings(self) -> list[tuple[Claim, Finding | None]]:
        return [(claim, claim(self.rows) if self.ran else None) for claim in self.figure.claims]

    def verdict(self) -> str:
        words = {*self.words()} - {NOT_RUN}
        if not words:
            return NOT_RUN
        return words.pop() if len(words) == 1 else IN_PART

    def gap(self) -> str:
        """What a verdict is not about; nothing where all was measured."""
        if not self.unmeasured or not self.ran:
            return ""
        return f"{self.unmeasured:,} of {len(self.figure.cells):,} measurements did not run"

    def told_verdict(self) -> str:
        """The verdict, with what it is not about."""
        return self.verdict() + (f" ({gap})" if (gap := self.gap()) else "")

    def words(self) -> list[str]:
        """The verdict on each statement."""
        return [NOT_RUN if finding is None else finding.word for _, finding in self.findings()]

    def why_not(self) -> tuple[str, ...]:
        """Why measurements are missing: data, limits, refusals; each reason once."""
        reasons = []
        for row in self.rows:
            if row["status"] != RAN:
                who = f"{row['algorithm']} on {row['data']}" if row.get("algorithm") else str(row["data"])
                size = f" with {row['items']} items" if row.get("items") else ""
                reasons.append(f"{who}{size}: {row['status']}, {row['reason']}")
        return (*self.absent, *dict.fromkeys(reasons))

    def to_dict(self) -> dict[str, Any]:
        return {
            "figure": self.figure.name,
            "title": self.figure.title,
            "sweep": self.figure.sweep,
            "verdict": self.verdict(),
            "measurements": len(self.figure.cells),
            "unmeasured": self.unmeasured,
            "claims": [
                {
                    "paper": claim.statement,
                    "ours": None if finding is None else finding.ours,
                    "verdict": NOT_RUN if finding is None else finding.word,
                    "agreeing": 0 if finding is None else finding.agreeing,
                    "compared": 0 if finding is None else finding.compared,
                }
                for claim, finding in self.findings()
            ],
            "differs": [*self.figure.differs, *self.stand_ins],
            "not_run": list(self.why_not()),
            "rows": self.rows,
        }
