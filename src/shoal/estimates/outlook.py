"""What a release would keep, beforehand: a range for each figure, from trials on a sample.

A crowd of k is harder to find among some of the rows than among all of them. So the release keeps at least what a sample keeps under the
same k. From above it is met three ways: the share of k that falls to the sample; what a quarter of the sample kept, carried on in the
logarithm of the rows; and for what neither sees, the gap to everything shrinks with the fourth root of the share that was tried. What was
tried on all rows is not a range, unless the search had less time than that of a release has: then it is one around what was found.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

import numpy as np

from shoal.algorithms import entry, kind_of
from shoal.algorithms.recoding import Options, Progress
from shoal.errors import ShoalError, Unreachable
from shoal.models import Proposal, model_of
from shoal.options import KEYWORDS
from shoal.records.baskets import Baskets
from shoal.records.source import Source
from shoal.showing import Plotted, fields_of

ROWS = 2_000
"""The first sample, and the least."""
GROWTH = 4
"""Each sample is so many times as large as the one before."""
MOMENT = 2.0
"""Seconds of computing that all samples together may take; the first is shown as soon as it is there."""
SEED = 0
SEARCH = 1.0
"""Seconds of search, for algorithms that can be told."""
WARM_UP = 100
"""Rows of the trial that loads the kernels, so that no measured one has to."""
LUCK = {"pairs": 0.05}
"""How far chance alone moves a figure of a sample; the others 0.01. Of pairs there are but a hundred."""

HURRY, HURRY_SHARE = 0.005, 0.25
"""How far a figure moves, up or down, when a search that was cut short has its time: so much, and so much of the gap to everything. Between
columns and items it moves either way. Tried with `joint` on Complete Journey, where it was up to 0.22 of the gap."""

Tried = TypeVar("Tried")


@dataclass(frozen=True)
class Range:
    """Between which shares a figure is taken to be."""

    low: float
    high: float

    def __str__(self) -> str:
        low, high = f"{self.low:.0%}", f"{self.high:.0%}"
        return low if low == high else f"{low} to {high}"


@dataclass(frozen=True, eq=False)
class Trial:
    """A promise tried on a sample, with the share of its k that falls to the sample, and on a quarter of the sample."""

    source: Source
    whole: int
    proposal: Proposal
    at_share: Proposal | None = None
    quarter: Proposal | None = None
    """None where the promise is out of reach there."""

    def ranges(self, shares_of: Callable[[Proposal], dict[str, float]] | None = None) -> dict[str, Range]:
        """What the release is taken to keep, by figure: those of `shares_kept`, or others."""
        shares_of = shares_of or shares_kept
        kept, n = shares_of(self.proposal), len(self.source)
        if n == self.whole:
            hurried = self.proposal.hurried or self.proposal.optimal is False
            return {name: range_around(share) if hurried else Range(share, share) for name, share in kept.items()}
        at_share = kept if self.at_share is None else shares_of(self.at_share)
        quarter = {} if self.quarter is None else shares_of(self.quarter)
        return {
            name: range_of(
                share, at_share.get(name, share), quarter.get(name, 0.0), n / self.whole, LUCK.get(name, 0.01)
            )
            for name, share in kept.items()
        }


def range_of(kept: float, at_share: float, quarter: float, tried: float, luck: float = 0.0) -> Range:
    """What the whole is taken to keep, from three trials on the share of it that was `tried`.

    Where a quarter keeps more than the sample, a search has run out of time, and nothing is known from above.
    """
    if quarter > kept + luck and tried < 1:
        return Range(max(0.0, min(kept, at_share) - luck), 1.0)
    carried = kept + (kept - quarter) * math.log(1 / tried) / math.log(GROWTH)
    gap = 1 - min(1.0, max(kept, at_share, carried))
    return Range(max(0.0, min(kept, at_share) - luck), min(1.0, 1 - gap * tried**0.25 + luck))


def range_around(kept: float) -> Range:
    """What a release is taken to keep where a search with less time kept so much of all rows."""
    room = min(1 - kept, HURRY) + HURRY_SHARE * (1 - kept)
    return Range(max(0.0, kept - room), min(1.0, kept + room))


@dataclass(frozen=True)
class Outlook(Plotted):
    """What a release would keep, as far as a moment could tell.

    Attributes:
        guarantee: The promise that was tried.
        algorithm: What it was tried by.
        sample: How many rows it was tried on.
        rows: How many there are.

    >>> import shoal
    >>> found = shoal.estimate([["milk", "bread"]] * 9 + [["milk"]] * 5, shoal.KmAnonymity(k=5, m=2))
    >>> str(found.kept["info"])
    '100%'
    """

    guarantee: str
    algorithm: str
    sample: int
    rows: int
    kept: Mapping[str, Range] = field(default_factory=dict)
    """`info`: the share of information; `exact`, `pairs`, `cells` as of a release."""

    def __repr__(self) -> str:
        told = ", ".join(f"{name} {share}" for name, share in self.kept.items())
        return f"Outlook({self.guarantee} by {self.algorithm}, {self.sample:,} of {self.rows:,} rows: {told})"

    def to_dict(self) -> dict[str, Any]:
        """Ranges as [low, high]; as of a release, information is told as what is lost."""
        kept = {name: [one.low, one.high] for name, one in self.kept.items()}
        lost = {"info": [1 - share for share in reversed(kept.pop("info"))]} if "info" in kept else {}
        return {**fields_of(self, "guarantee", "algorithm", "sample", "rows"), "loss": lost, "kept": kept}


def outlook(whole: Source, promise: Any, asked: Mapping[str, Any], progress: Progress | None = None) -> Outlook:
    """What a release of the data would keep by the default algorithm. `asked` are keywords of `shoal.anonymize`."""
    request = {**dict.fromkeys(KEYWORDS), **asked}

    def try_on(rows: int) -> Trial:
        if progress:
            progress(f"trying the promise on {min(rows, len(whole)):,} rows", 0.0)
        return try_promise(whole, rows, promise, lambda source, given: propose(source, given, request, progress))

    with suppress(ShoalError):  # k may be more than so few rows can give
        propose(sample(whole, WARM_UP), promise, request, None)
    # More rows keep more. Where they do not, the search had no time for them, and the trial before tells more.
    trials = [found for found, _ in growing(len(whole), promise, try_on)]
    found = max(trials, key=lambda trial: (shares_kept(trial.proposal).get("info", 0.0), len(trial.source)))
    return Outlook(str(promise), found.proposal.algorithm, len(found.source), len(whole), found.ranges())


def growing(
    whole: int, promise: Any, try_on: Callable[[int], Tried], moment: float | None = None
) -> Iterator[tuple[Tried, bool]]:
    """Trials on samples that grow, each as soon as it is there, and whether it is the last: another takes too long, or it had all rows.

    With a `moment` of its own, a trial goes to all rows as soon as it has the time: those take one proposal, where a sample takes three.
    """
    rows, spent, before = max(ROWS, GROWTH * int(getattr(promise, "k", 0))), 0.0, 0.0
    most = MOMENT if moment is None else moment
    while True:
        began = time.process_time()
        try:
            found = try_on(rows)
        except Unreachable:
            if whole <= rows:
                raise
            rows *= GROWTH  # it may be within reach of more rows
            continue
        took = time.process_time() - began
        spent += took
        # Time is taken to grow as it did from the sample before to this one: for sets, a larger sample can be the easier one, while
        # rows that are compared with each other take more than their share.
        power = 1 if kind_of(promise) == "km" else 1.5
        factor = took / before if before else GROWTH**power
        leap = moment is not None and spent + took / 3 * (whole / rows) ** power <= most
        final = whole <= rows or (spent + took * max(1.0, factor) > most and not leap)
        yield found, final
        if final:
            return
        rows, before = rows * GROWTH, took
        if leap or 2 * rows > whole:
            rows = whole


def try_promise(whole: Source, rows: int, promise: Any, propose_for: Callable[[Source, Any], Proposal]) -> Trial:
    """The trial on a sample of at most so many rows."""
    source = sample(whole, rows)
    proposal = propose_for(source, promise)
    if len(source) == len(whole):
        return Trial(source, len(whole), proposal)
    share = share_of_k(promise, len(source), len(whole))
    at_share = None if share is None else propose_for(source, replace(promise, k=share))
    quarter = None
    with suppress(Unreachable):
        quarter = propose_for(sample(source, len(source) // GROWTH), promise)
    return Trial(source, len(whole), proposal, at_share, quarter)


def shares_kept(proposal: Proposal) -> dict[str, float]:
    """What a proposal keeps: the information first."""
    return {name: 1 - lost for name, lost in proposal.loss.items() if name == "info"} | dict(proposal.kept)


def sides_kept(proposal: Proposal) -> dict[str, float]:
    """What is kept of the information of the columns and of the items, where there are both."""
    return {name: 1 - lost for name, lost in proposal.loss.items() if name in ("info_columns", "info_items")}


def propose(source: Source, promise: Any, asked: Mapping[str, Any], progress: Progress | None) -> Proposal:
    """What would be published of a sample; searches that can be told end after a second."""
    name, home = entry(kind_of(promise), asked["algorithm"])
    given = {row.name: asked[row.name] for row in fields(Options) if asked.get(row.name) is not None}
    if "time_limit" in home.options:
        given["time_limit"] = min(SEARCH, asked["time_limit"] or SEARCH)
    options = Options(**given, progress=progress)
    if kind_of(promise) == "km":  # its loss is about the leaves of the tree, not about the names of items
        source = replace(source, records=replace(source.records, items=_occurring(source.baskets)))
    proposal: Proposal = model_of(promise).proposal(source, promise, {**asked, "algorithm": name}, options)
    return proposal


def sample(source: Source, rows: int, seed: int = SEED) -> Source:
    """A source with at most so many of its rows, drawn without regard to what they hold, in their order."""
    if len(source) <= rows:
        return source
    taken = np.sort(np.random.default_rng(seed).choice(len(source), rows, replace=False)).astype(np.int64)
    return replace(source, records=source.records.take(taken))


def share_of_k(promise: Any, sample: int, rows: int) -> int | None:
    """The part of k that falls to a sample, 2 at least; None where there is none, or it is k."""
    k = getattr(promise, "k", None)
    share = k if k is None else max(2, math.ceil(k * sample / rows))
    return None if share is None or sample == rows or share >= k else share


def _occurring(baskets: Baskets) -> Baskets:
    """The same sets, with the names of items that occur in them alone."""
    used, items = np.unique(baskets.items, return_inverse=True)
    names = baskets.vocabulary
    return replace(baskets, items=items.reshape(-1).astype(np.int32), vocabulary=tuple(names[v] for v in used.tolist()))
