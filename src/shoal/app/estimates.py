"""Estimates in words: what an estimate task found on a sample, and what was tried before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.app.kept import key_of
from shoal.app.project import Project
from shoal.app.tasks.estimate import ROWS, SEARCH

TASK = "estimate"
SAMPLES = (500, ROWS, 10_000, 50_000)
MUCH = 0.2
"""A loss that is worth a word."""
_SOURCE = ("input", "columns", "sensitive_items", "sensitive_file")


def asked_document(project: Project) -> dict[str, Any]:
    """The plan that an estimate is about: the draft without its outputs."""
    return {name: part for name, part in project.draft.items() if name != "outputs"}


def keys_of(project: Project, document: Mapping[str, Any], rows: int) -> tuple[str, str]:
    """(what this estimate depends on, what can be compared with it: the same data, roles and rows)."""
    base = {name: document[name] for name in _SOURCE if name in document}
    return (
        key_of(project, document, task=TASK, rows=rows),
        key_of(project, base, task=TASK, rows=rows),
    )


def label(found: Mapping[str, Any]) -> str:
    """What the figures are, and are not."""
    sample, rows = found["sample"], found["rows"]
    if sample == rows:
        limit = f"with at most {SEARCH:g} seconds of search"
        return f"Estimate on all {rows:,} rows, {limit}; the release itself looks longer and can lose less."
    return (
        f"Estimate on a sample of {sample:,} of {rows:,} rows; the whole can differ. A small sample overstates the loss: a crowd of k "
        "is harder to find among fewer rows."
    )


def figures(found: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """(value, what it is, note) of the losses, the main one first."""
    loss, kind = found["loss"], found["kind"]
    if kind == "km":
        told = [
            (f"{loss['ncp']:.1%}", "of the detail of the items lost", "NCP: 0% is the original, 100% leaves nothing")
        ]
        if found["deleted"]:
            told.append((f"{found['deleted']:.1%}", "of all items deleted", "counted as lost above"))
    elif kind == "k":
        added = f"{loss['added']:.1%} added, {loss['removed']:.1%} removed"
        told = [(f"{loss['il']:.1%}", "of the items added or removed", added)]
    elif kind == "diversity":
        told = [
            (f"{loss['ambiguity']:.1%}", "of the rows get another value than their own", "when values are dealt by lot")
        ]
    else:
        told = [(f"{loss['ncp']:.1%}", "of the detail of the columns lost", _by_column(found.get("by_column")))]
        if "items_ncp" in loss:
            note = f"NCP; UL, the measure of the paper, is {loss['ul']:.3f}"
            told.append((f"{loss['items_ncp']:.1%}", "of the detail of the items lost", note))
    groups = found.get("groups")
    if groups:
        what = "buckets" if kind == "diversity" else "classes of rows that are published alike"
        told.append((f"{groups['count']:,}", what, f"of {groups['smallest']:,} to {groups['largest']:,} rows"))
    return told


def protected(found: Mapping[str, Any]) -> str | None:
    """What the promise does for the attacker who knows most: before and after."""
    if not found["raw"]:
        return None
    most = found["raw"][-1]
    if "value_certain" in most:
        return (
            f"In the raw sample, {most['value_certain']:,} rows have a sensitive value that is certain for whoever knows {most['knows']}. "
            "After it, none."
        )
    return (
        f"In the raw sample, whoever knows {most['knows']} narrows {most['fewer_than_k']:,} of {found['sample']:,} rows down to fewer than "
        f"k, and singles {most['singled_out']:,} out. After it, none."
    )


def advice(found: Mapping[str, Any]) -> str | None:
    """What to try where much is lost."""
    loss, kind, algorithm = found["loss"], found["kind"], found["algorithm"]
    if next(iter(loss.values())) <= MUCH:
        return None
    if kind == "km" and algorithm != "hybrid" and algorithm != "lra":
        return "A few rare items may cost all others their detail. hybrid deletes some of them instead, lra decides row by row: try one."
    if kind in ("rt", "lm") and algorithm.startswith("rmerge"):
        return "The columns lose this much because delta allows it, in favour of the items: try a smaller delta."
    if kind in ("rt", "lm", "table"):
        return "Many columns, or columns with many values, are hard to hide in a crowd: leave out in Data what nobody needs."
    return None


def tried(results: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, str, str]]:
    """Rows of the table of what was tried: promise, algorithm, main loss, another loss. Each once, the newest first."""
    seen: dict[tuple[str, str, str, str], None] = {}
    for found in results:
        told = [value for value, what, _ in figures(found) if "class" not in what and "bucket" not in what]
        line = (found["guarantee"], found["algorithm"], told[0], told[1] if len(told) > 1 else "–")
        seen.setdefault(line)
    return list(seen)[:8]


def _by_column(lost: Mapping[str, float] | None) -> str:
    if not lost:
        return "NCP"
    worst = sorted(lost.items(), key=lambda pair: -pair[1])[:3]
    return ", ".join(f"{name[:40]} {share:.0%}" for name, share in worst)
