"""Algorithms and promises side by side, from Python: one audited release each, in memory, one row each.

    shoal.compare(frame, [KmAnonymity(5, 2), KmAnonymity(25, 2)], algorithms=["local", "exact"])

For grids of many options, processes of their own, time limits and folders that can be resumed there is `shoal compare`.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

from shoal.algorithms import ALGORITHMS, entry, kind_of
from shoal.algorithms.recoding import Progress, listener
from shoal.errors import InputError, ShoalError, Unreachable
from shoal.guarantees.registry import Guarantee
from shoal.options import KEYWORDS, Keywords, check_keywords
from shoal.records.formats.frames import frame_library
from shoal.release import Release, anonymize
from shoal.showing import Plotted, watching

if TYPE_CHECKING:
    import pandas
    import polars

_SHARES = ("info", "exact", "cells", "pairs")


@dataclass(frozen=True)
class SideBySide(Plotted):
    """What each algorithm made of each promise: a row each, in the order in which they ran. Frames hold the same.

    Attributes:
        releases: The release of each row; None where there is none.

    >>> import shoal
    >>> found = shoal.compare([["milk", "bread"]] * 9, shoal.KmAnonymity(k=5, m=2), ["local", "exact"])
    >>> found
    SideBySide(2 rows, 2 releases)
    >>> found.best.loss["info"]
    0.0
    """

    entries: tuple[Mapping[str, Any], ...]
    """By row: `guarantee`, `algorithm`, `status` (`done`, `unreachable`, `refused`), what is kept as shares (`info`, `exact`, `cells`,
    `pairs`), `loss.*`, `optimal`, `seconds`, and the `reason` where there is no release."""
    releases: tuple[Release | None, ...] = field(repr=False)

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        made = sum(release is not None for release in self.releases)
        return f"SideBySide({_counted(len(self), 'row')}, {_counted(made, 'release')})"

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return iter(self.entries)

    @property
    def best(self) -> Release:
        """The release that keeps most information; raises Unreachable if there is none."""
        made = [release for release in self.releases if release is not None]
        if not made:
            raise Unreachable("no algorithm came to a release; the rows say why")
        return min(made, key=lambda release: release.loss.get("info", 1.0))

    @property
    def columns(self) -> tuple[str, ...]:
        """What rows have in common, the figures that all lack left out."""
        names = dict.fromkeys(name for row in self.entries for name in row)
        return tuple(name for name in names if any(row.get(name) is not None for row in self.entries))

    def to_dict(self) -> dict[str, Any]:
        return {"rows": [dict(row) for row in self.entries]}

    def to_polars(self) -> polars.DataFrame:
        """The rows as a polars frame."""
        frame: polars.DataFrame = frame_library("polars").DataFrame(self._by_column())
        return frame

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a pandas frame."""
        frame: pandas.DataFrame = frame_library("pandas").DataFrame(self._by_column())
        return frame

    def _by_column(self) -> dict[str, list[Any]]:
        return {name: [row.get(name) for row in self.entries] for name in self.columns}


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def compare(
    data: Any,
    guarantees: Guarantee | Iterable[Guarantee],
    algorithms: str | Sequence[str] | None = None,
    *,
    progress: Progress | bool | None = None,
    **keywords: Unpack[Keywords],
) -> SideBySide:
    """One audited release of `data` for each promise and algorithm (all of its model unless given), and what each keeps.

    Keywords are those of `anonymize`; an option that an algorithm has no use for is a row with the reason. The releases are kept:
    `compare(...).best` is the one that keeps most information.

    Args:
        data: The raw data, as for `anonymize`.
        guarantees: One promise, or several.
        algorithms: One algorithm, or several.

    Raises:
        InputError: There is nothing to compare, or a keyword or an algorithm is not known.

    >>> import shoal
    >>> rows = [["milk", "bread"]] * 9 + [["gin"]]
    >>> found = shoal.compare(rows, [shoal.KmAnonymity(k=2, m=2), shoal.KmAnonymity(k=99, m=2)], "exact", hierarchy="balanced:3")
    >>> [row["status"] for row in found]
    ['done', 'unreachable']
    """
    check_keywords(keywords, KEYWORDS, "compare")
    asked: dict[str, Any] = dict(keywords)
    if asked.pop("algorithm", None) is not None:
        raise InputError("compare takes algorithms=, one or several")
    promises = [guarantees] if hasattr(guarantees, "model") else list(guarantees)
    if not promises:
        raise InputError("there is no guarantee to compare for; give for example shoal.KmAnonymity(k=5, m=2)")
    wanted = [
        (promise, name)
        for promise in promises
        for name in ([algorithms] if isinstance(algorithms, str) else algorithms or ALGORITHMS[kind_of(promise)])
    ]
    for promise, name in wanted:
        if not any(name in known for known in ALGORITHMS.values()):
            entry(kind_of(promise), name)  # which raises; one of another model is a row that says so
    rows, releases = [], []
    with watching(progress) as watch:
        tell = listener(watch)
        for number, (promise, name) in enumerate(wanted):
            if tell is not None:
                tell(f"{promise} by {name}", number / len(wanted))
            row, release = _entry(data, promise, name, asked)
            rows.append(row)
            releases.append(release)
    return SideBySide(tuple(rows), tuple(releases))


def _entry(data: Any, promise: Any, name: str, asked: Mapping[str, Any]) -> tuple[dict[str, Any], Release | None]:
    row: dict[str, Any] = {"guarantee": str(promise), "algorithm": name}
    began = time.perf_counter()
    try:
        release = anonymize(data, promise, algorithm=name, **asked)
    except ShoalError as error:
        if not isinstance(error, InputError | Unreachable):
            raise
        status = "unreachable" if isinstance(error, Unreachable) else "refused"
        return row | {"status": status, "reason": str(error)}, None
    kept = {"info": 1 - release.loss["info"]} if "info" in release.loss else {}
    kept |= dict(release.kept)
    row |= {"status": "done", **{name: kept.get(name) for name in _SHARES}}
    row |= {f"loss.{name}": lost for name, lost in release.loss.items() if name != "info"}
    return row | {"optimal": release.optimal, "seconds": round(time.perf_counter() - began, 3)}, release
