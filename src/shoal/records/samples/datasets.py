"""The public data sets by name: their published figures, where they lie on this machine, and where they come from.

A data set is looked for by its exact file names, in the folder that SHOAL_DATA names and in the user's cache; failing that
it is downloaded from its publisher, once. The published number of transactions, of items and the longest row are the
check: a download that does not agree with them is thrown away, a local file that does not is handed out with a warning.
"""

from __future__ import annotations

import csv
import errno
import http.client
import os
import re
import socket
import urllib.error
import urllib.request
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoal.errors import InputError
from shoal.records.source import read

_NO_ROUTE = (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN)


@dataclass(frozen=True)
class Dataset:
    """What is published about a data set. A figure that is not known for certain is None."""

    name: str
    title: str
    transactions: int
    items: int
    longest: int | None
    average: float | None
    publisher: str
    """The page that offers it."""
    url: str | None
    """The file itself; None where it can only be had from the publisher's page, by hand."""
    terms: str
    """Licence as far as it is known, and whom to cite."""
    files: tuple[str, ...]
    """The names that the file may have in a data folder, there or in a folder called like the first of them."""

    def path_in(self, folder: Path) -> Path | None:
        """The file in a data folder, by its exact names: a part of the data under a name of its own is not taken for it."""
        stem = self.files[0].partition(".")[0]
        candidates = (place / file for place in (folder / stem, folder) for file in self.files)
        return next((path for path in candidates if path.is_file()), None)


@dataclass(frozen=True)
class Listed:
    """A data set and where it lies on this machine, if it does."""

    dataset: Dataset
    path: Path | None

    @property
    def where(self) -> str:
        if self.path is not None:
            return str(self.path)
        return "to download" if self.dataset.url else "only from the publisher's page"


def _files(*stems: str) -> tuple[str, ...]:
    return tuple(stem + ending for stem in stems for ending in (".dat.gz", ".dat", ".txt.gz", ".txt"))


def _published() -> dict[str, Dataset]:
    """What `datasets.csv` says, in which an empty figure is not known and an empty address is not there."""
    with Path(__file__).with_name("datasets.csv").open(encoding="utf-8", newline="") as file:
        return {
            row["name"]: Dataset(
                name=row["name"],
                title=row["title"],
                transactions=int(row["transactions"]),
                items=int(row["items"]),
                longest=int(row["longest"]) if row["longest"] else None,
                average=float(row["average"]) if row["average"] else None,
                publisher=row["publisher"],
                url=row["url"] or None,
                terms=row["terms"],
                files=_files(*row["stems"].split()),
            )
            for row in csv.DictReader(file)
        }


DATASETS = _published()


def listing(folder: Path | str | None = None) -> list[Listed]:
    """Every data set and where it lies: in `folder`, in the folder that SHOAL_DATA names, in the cache, or nowhere yet."""
    return [Listed(dataset, _local(dataset, folder)) for dataset in DATASETS.values()]


def get(
    name: str,
    folder: Path | str | None = None,
    *,
    progress: Callable[[int, int | None], None] | None = None,
    warn: Callable[[str], None] = warnings.warn,
    timeout: float = 30,
) -> Path:
    """The file of a data set, looked for in `folder`, in SHOAL_DATA's and in the cache, else downloaded (into `folder`, or the cache).

    `progress` is told the bytes that came and, where the publisher says so, the bytes in all; `warn` is told when a local file
    does not agree with the published figures.
    """
    dataset = _named(name)
    path = _local(dataset, folder)
    if path is None:
        return _downloaded(dataset, Path(folder) if folder else _cache(), progress, timeout)
    figures = compare_figures(dataset.name, path)
    if not figures["agrees"]:
        warn(
            f"{path} is not the published {dataset.name}: {_differences(figures)}; "
            "do not report results on it under that name, or remove the file to get the published one"
        )
    return path


def compare_figures(name: str, path: Path | str) -> dict[str, Any]:
    """What the file at `path` measures beside what is published; `agrees` says whether all figures are equal.

    The average is shown but not compared: papers round it, and some count repeated items.
    """
    dataset = _named(name)
    baskets = read(path)
    measured = {
        "transactions": len(baskets),
        "items": len(baskets.vocabulary),
        "longest": baskets.longest,
        "average": round(baskets.occurrences / max(1, len(baskets)), 3),
    }
    published = {figure: getattr(dataset, figure) for figure in measured}
    compared = [f for f in ("transactions", "items", "longest") if published[f] is not None]
    agrees = all(measured[f] == published[f] for f in compared)
    return {"name": dataset.name, "path": str(path), "agrees": agrees, "measured": measured, "published": published}


def _differences(figures: dict[str, Any]) -> str:
    measured, published = figures["measured"], figures["published"]
    return ", ".join(
        f"{figure} {measured[figure]:,} instead of {published[figure]:,}"
        for figure in ("transactions", "items", "longest")
        if published[figure] not in (None, measured[figure])
    )


def _named(name: str) -> Dataset:
    """The data set of that name, however its words are joined: `BMS_WebView1` is bms-webview-1."""

    def bare(text: str) -> str:
        return re.sub(r"[^a-z0-9]", "", text.lower())

    for dataset in DATASETS.values():
        if bare(dataset.name) == bare(name):
            return dataset
    raise InputError(f"there is no data set {name!r}; choose one of {', '.join(DATASETS)}")


def _local(dataset: Dataset, folder: Path | str | None) -> Path | None:
    places = [Path(place) for place in (folder, os.environ.get("SHOAL_DATA")) if place]
    return next((path for place in [*places, _cache()] if (path := dataset.path_in(place))), None)


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shoal"


def _downloaded(
    dataset: Dataset, folder: Path, progress: Callable[[int, int | None], None] | None, timeout: float
) -> Path:
    by_hand = f"get it by hand and put it as {dataset.files[1]} into the folder that SHOAL_DATA names"
    if dataset.url is None:
        raise InputError(
            f"{dataset.name} is only to be had from the page of its publisher, {dataset.publisher}; {by_hand}"
        )
    target = folder / dataset.url.rpartition("/")[2]
    arriving = folder / f".{os.getpid()}-{target.name}"  # the ending stays: it may tell the reader the format
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise InputError(
            f"{folder} is not a folder that {dataset.name} can be downloaded into ({cause.strerror})"
        ) from cause
    try:
        _fetch(dataset.url, arriving, progress, timeout)
        figures = compare_figures(dataset.name, arriving)
        if not figures["agrees"]:
            raise InputError(f"it is not the published {dataset.name}: {_differences(figures)}")
        arriving.replace(target)
    except InputError as cause:
        raise InputError(
            f"{dataset.url} did not send what it should ({cause}); try again later, or {by_hand}"
        ) from cause
    except (OSError, http.client.HTTPException) as cause:
        reason = getattr(cause, "reason", cause)  # what urllib wraps: no route, no name, no answer
        if isinstance(reason, socket.gaierror) or getattr(reason, "errno", None) in _NO_ROUTE:
            reason = f"this machine seems to be offline: {reason}"
        raise InputError(f"{dataset.name} cannot be downloaded from {dataset.url} ({reason}); {by_hand}") from cause
    finally:
        arriving.unlink(missing_ok=True)
    return target


def _fetch(url: str, path: Path, progress: Callable[[int, int | None], None] | None, timeout: float) -> None:
    """The bytes at `url`, all of them, in the file `path`."""
    request = urllib.request.Request(url, headers={"User-Agent": "shoal"})
    try:
        response = urllib.request.urlopen(request, timeout=timeout)
    except urllib.error.HTTPError as refusal:
        with refusal:  # it holds the connection
            raise http.client.HTTPException(f"HTTP error {refusal.code}, {refusal.reason}") from refusal
    with response, path.open("wb") as file:
        length = response.headers.get("Content-Length", "")
        total = int(length) if length.isdecimal() else None
        done = 0
        while chunk := response.read(1 << 16):
            file.write(chunk)
            done += len(chunk)
            if progress is not None:
                progress(done, total)
        if total is not None and done != total:
            raise http.client.HTTPException(f"only {done:,} of {total:,} bytes came")
