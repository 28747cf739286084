"""Knobs: the numbers of a promise and of its algorithms, each with what it means, its range, and where it comes from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shoal.algorithms import ALGORITHMS
from shoal.models.km import SUPPRESS, SUPPRESS_IN_TABLES
from shoal.options import LARGEST, OPTIONS, Share


@dataclass(frozen=True)
class Knob:
    """A number that a user may set."""

    label: str
    low: float
    high: float
    """Where the slider ends; the field beside it takes more, up to `most`."""
    step: float
    most: float
    why: str
    paper: str
    default: Callable[[str], float] = lambda algorithm: 0.0
    share: bool = False
    """Shown as percent."""


def _range_of(name: str) -> tuple[float, float]:
    """From where to where the table of options lets a share go."""
    kind = OPTIONS[name].kind
    assert isinstance(kind, Share)
    return kind.least, kind.most


_T, _ROWS = _range_of("t"), _range_of("suppress_rows")

# In brackets: where the slider begins and ends, its step, and the most that the field takes.
KNOBS = {
    "k": Knob(
        "k, the crowd",
        *(2, 50, 1, LARGEST),
        "Nobody is narrowed down to fewer than k rows: whoever picks one of them is right once in k.",
        "Samarati and Sweeney 1998; Terrovitis and others 2008, Definition 1; Lin and others 2017, Definition 1",
    ),
    "m": Knob(
        "m, items an attacker knows",
        *(1, 5, 1, LARGEST),
        "How much somebody may know of a person's set. Each more costs detail, and time to count.",
        "Terrovitis and others 2008, Definition 1",
    ),
    "l": Knob(
        "l, different sensitive values",
        *(1, 10, 1, LARGEST),
        "Among the candidates an attacker is left with, so many sensitive values stay possible. 1 asks for none.",
        "Machanavajjhala and others 2006; Li and Li 2008, Definition 1; Poulis and others 2013, section 5",
    ),
    "t": Knob(
        "t, how far a crowd may be from the whole table",
        *(_T[0], _T[1], 0.05, _T[1]),
        "The values of a sensitive column occur in every crowd about as often as in the whole table: so far apart at the most. 100% lets "
        "them be anything.",
        "Li, Li and Venkatasubramanian 2007 (t-closeness)",
        default=lambda algorithm: 1.0,
        share=True,
    ),
    "balance": Knob(
        "Weight of the columns",
        *(0, 1, 0.05, 1),
        "How much the information of the columns counts against that of the items: with more the columns stay finer, with less the items.",
        "Ours; see the guide to tables",
        default=lambda algorithm: 0.5,
        share=True,
    ),
    "delta": Knob(
        "delta, the loss of the bounded side",
        *(0, 1, 0.05, 1),
        "Columns and items cannot both keep their detail. rmerge lets the columns lose up to delta and then spares the items; tmerge the "
        "other way round.",
        "Poulis and others 2013 (Rum-bound, Tum-bound); 0.65 is the bound of its experiments",
        default=lambda algorithm: 0.65,
        share=True,
    ),
    "suppress": Knob(
        "Items that may be deleted",
        *(0, 0.2, 0.005, 1),
        "The largest share of all items that may be left out: single items with local and hybrid, whole categories with exact. A few rare "
        "ones can cost all others their detail.",
        "Ours; see the guide to what a release is worth",
        default=lambda algorithm: SUPPRESS.get(
            algorithm, SUPPRESS_IN_TABLES.get("local", 0.0) if algorithm in ALGORITHMS["rt"] else 0.0
        ),
        share=True,
    ),
    "suppress_rows": Knob(
        "Rows that may be left out",
        *(_ROWS[0], 0.1, 0.005, _ROWS[1]),
        "The largest share of rows that may leave so that the others stay finer: those that a limit leaves alone first, then those "
        "that are unlike all others. They count as lost.",
        "Ours; see the guide to tables",
        share=True,
    ),
    "min_exp": Knob(
        "How sure a rule must be",
        *(0.5, 1, 0.01, 1),
        "An attacker may know “such people never have that value” where that is so unlikely to be chance. A lower share takes more rules "
        "into account, and asks for more.",
        "Li and Li 2008, section IV (minExp)",
        default=lambda algorithm: 0.9,
        share=True,
    ),
}
