"""`compare` and `reproduce`: tables of many measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, create_model

from shoal.cli.schemas.parts import Count, Document, Scalar, Share, absent
from shoal.plan.model import RunOptions
from shoal.studies.compare.cell import WORDS
from shoal.studies.papers.figure import FAILS, HOLDS, IN_PART, NOT_RUN

if TYPE_CHECKING:
    Settings = BaseModel
else:
    Settings = create_model(
        "Settings",
        __base__=Document,
        __doc__="What a cell sets, flat; what it leaves open is left out.",
        algorithm=(str, ...),
        hierarchies=(str, absent()),
        **{name: (Count, absent()) for name in ("k", "m", "l")},
        **{name: (Scalar, absent()) for name in RunOptions.model_fields},
    )


class Row(Settings):
    """A cell of the grid that was computed."""

    row: Count
    rank: Count | None = absent()
    """Of the rows with the same promise, with --field: 1 keeps most of the information, then most items and pairs as they are."""
    repeat: Count
    status: Literal[tuple(WORDS)]  # type: ignore[valid-type]
    holds: bool | None
    loss: dict[str, float]
    kept: dict[str, Share]
    price_of_search: str | None
    optimal: bool | None
    bound: Share | None
    above_optimum: float | None
    front: bool | None
    frontier: bool | None
    seconds: float | None
    peak_mb: float | None
    start_mb: float | None
    rows: Count | None
    classes: Count | None
    checked: Count | None
    threads: Count | None
    jobs: Count | None
    warm: bool | None
    limit: float | None
    guarantee: str | None
    reason: str | None
    key: str


class Comparison(Document):
    plan: str
    folder: str
    axes: list[str]
    cells: Count
    done: Count
    failed: Count
    missing: Count
    kept: Count
    interrupted: bool
    jobs: Count
    notes: list[str]
    rows: list[Row]


class Cell(Settings):
    """A cell of the grid, before it is computed."""

    row: Count
    repeat: Count
    kept: bool
    refused: str | None


class Cells(Document):
    """With --check."""

    plan: str
    folder: str
    axes: list[str]
    notes: list[str]
    cells: list[Cell]


class RowPlan(Document):
    """With --print-plan: a plan, whose own schema is `shoal schema plan`."""

    model_config = ConfigDict(extra="allow")

    version: Literal[1]


class Machine(Document):
    cores: Count | None
    python: str
    system: str


Verdict = Literal[HOLDS, IN_PART, FAILS, NOT_RUN]  # type: ignore[valid-type]


class Claim(Document):
    paper: str
    """What it states, in our words."""
    ours: str | None
    verdict: Verdict
    agreeing: Count
    compared: Count


class Figure(Document):
    figure: str
    title: str
    sweep: str
    verdict: Verdict
    """On what ran."""
    measurements: Count
    unmeasured: Count
    """Of them, those that did not run: no data, stopped, or not possible."""
    claims: list[Claim]
    differs: list[str]
    not_run: list[str]
    rows: list[dict[str, Any]]
    """Measurements: parameters, `status`, and figures by name."""


class Reproduction(Document):
    """The experiments of papers."""

    shoal: str
    papers: list[str]
    mode: str
    jobs: Count
    most_rows: Count | None
    seed: Count
    machine: Machine
    figures: list[Figure]
    folder: str


OUTPUTS: dict[str, tuple[Any, ...]] = {"compare": (Comparison, Cells, RowPlan), "reproduce": (Reproduction,)}
