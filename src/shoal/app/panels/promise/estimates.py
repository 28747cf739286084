"""Estimates: what a trial on a sample found, as it is kept, and in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shoal.app.project.contents import key_of
from shoal.app.project.own_files import own_folder, read_json, write_json
from shoal.app.project.project import Project
from shoal.app.project.wording import WORTH
from shoal.errors import number_of

TASK = "estimate"
KEPT = 128
"""Estimates of a project that stay; older ones make room."""
SAMPLES = (500, 2_000, 10_000, 50_000)
MUCH = 0.2
"""A loss that is worth a word."""
ENDED = "The system ended the estimate, most likely because memory ran out; take a smaller sample."
CRASHED = "This is a bug in Shoal. The file estimator.log in the workspace says where: please report it."


def asked_document(project: Project) -> dict[str, Any]:
    """The plan that an estimate is about: the draft without its outputs."""
    return {name: part for name, part in project.draft.items() if name != "outputs"}


def estimate_key(project: Project, document: Mapping[str, Any], rows: int | None = None) -> str:
    """What an estimate depends on."""
    return key_of(project, document, task=TASK, rows=rows)


# Keeping.


def keep(project: Project, key: str, found: Mapping[str, Any]) -> None:
    """Keeps an estimate, in place of one on a smaller sample, as long as the project is there."""
    if not project.folder.is_dir():
        return
    folder = own_folder(project.folder / "estimates")
    write_json(folder / f"{key}.json", found)
    for old in sorted(folder.glob("*.json"), key=lambda path: -path.stat().st_mtime_ns)[KEPT:]:
        old.unlink(missing_ok=True)


def kept_estimate(project: Project, key: str) -> dict[str, Any] | None:
    """The estimate of a key, the best so far."""
    return read_json(project.folder / "estimates" / f"{key}.json") or None


def finish(project: Project, key: str) -> None:
    """No larger sample is tried for an estimate."""
    found = kept_estimate(project, key)
    if found is not None:
        write_json(project.folder / "estimates" / f"{key}.json", found | {"final": True})


# In words.


def given_up(seconds: float) -> str:
    return (
        f"No estimate within {seconds:g} seconds, even on a sample. The release itself may take long; a smaller m, or another algorithm, "
        "is faster."
    )


def label(found: Mapping[str, Any]) -> str:
    """What the figures are, and are not."""
    sample, rows, k, share = found["sample"], found["rows"], found.get("k"), found.get("share_of_k")
    if sample == rows:
        if all(low == high for low, high in (found.get("kept") or {}).values()):
            return f"Tried on all {rows:,} rows."
        return f"Tried on all {rows:,} rows, with little time to search; the release itself looks longer, so that what is kept is a range."
    told = f"Estimate on a sample of {sample:,} of {rows:,} rows; the whole can differ."
    if k is None:
        return told
    told += f" A crowd of {k:,} is harder to find among fewer, so that what is kept is a range"
    if share is None:
        return f"{told}; the release mostly loses less than the other figures say."
    least = "the least there is" if k * sample < rows else "its share"
    return f"{told}. Of the other figures the larger asks for it, the smaller for {share:,}, {least}."


def figures(found: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """(value, what it is, note): what is kept, the losses, then the groups of rows."""
    figures = [*kept_figures(found), *loss_figures(found)]
    if groups := found.get("groups"):
        what = "buckets" if found["kind"] == "diversity" else "classes of rows that are published alike"
        what += "" if found["sample"] == found["rows"] else ", in the sample"
        figures.append((f"{groups['count']:,}", what, f"of {groups['smallest']:,} to {groups['largest']:,} rows"))
    return figures


def kept_figures(found: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """(value, what it is, note) of what a release would keep. What a sample leaves open is a range."""
    kept = found.get("kept") or {}
    return [(_between(kept[name], digits=0), words, "") for name, words in WORTH.items() if name in kept]


def loss_figures(found: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """(value, what it is, note) of the losses, the main one first. What a sample leaves open is a range."""
    loss, kind = found["loss"], found["kind"]
    less = found.get("loss_at_share") or loss

    def share(name: str) -> str:
        return _between(sorted((less[name], loss[name])))

    if kind == "k":
        added = f"{loss['added']:.1%} added, {loss['removed']:.1%} removed"
        return [(share("il"), "of the items added or removed", added)]
    if kind == "diversity":
        return [(share("ambiguity"), "of the rows get another value than their own", "when values are dealt at random")]
    if kind == "km":
        figures = [(share("ncp"), "of the detail of the items lost", "NCP: 0% is the original, 100% leaves nothing")]
        if found["deleted"]:
            figures.append((f"{found['deleted']:.1%}", "of all items deleted", "counted as lost above"))
        return figures
    figures = [(share("ncp"), "of the detail of the columns lost", _by_column(found.get("by_column")))]
    if "items_ncp" in loss:
        note = f"NCP; UL, the measure of the paper, is {loss['ul']:.3f}"
        figures.append((share("items_ncp"), "of the detail of the items lost", note))
    return figures


def protection_words(found: Mapping[str, Any]) -> str | None:
    """What the promise does for the attacker who knows most: before and after."""
    if not found["raw"]:
        return None
    most = found["raw"][-1]
    where = "raw data" if found["sample"] == found["rows"] else "raw sample"
    if "value_certain" in most:
        return (
            f"In the {where}, {number_of(most['value_certain'], 'row has', 'rows have')} a sensitive value that is certain for "
            f"whoever knows {most['knows']}. "
            "After it, none."
        )
    few, single = "fewer than k", "singles {} out"
    if found.get("people"):
        few, single = "fewer than k people", "traces {} to one person"
    return (
        f"In the {where}, whoever knows {most['knows']} narrows {most['fewer_than_k']:,} of {found['sample']:,} rows down to {few}, "
        f"and {single.format(format(most['singled_out'], ','))}. After it, none."
    )


def advice(found: Mapping[str, Any]) -> str | None:
    """What to try where much is lost, and nothing that can be tried for the user."""
    loss, kind = found["loss"], found["kind"]
    if kind not in ("rt", "lm", "table") or loss.get("info_columns", next(iter(loss.values()))) <= MUCH:
        return None
    return (
        "Many columns, or columns with many values, are hard to hide in a crowd: leave out in Data what nobody needs."
    )


def _between(shares: Sequence[float], digits: int = 1) -> str:
    """A range of shares, or one share where both ends read alike."""
    return " to ".join(dict.fromkeys(f"{share:.{digits}%}" for share in shares))


def _by_column(lost: Mapping[str, float] | None) -> str:
    if not lost:
        return "NCP"
    worst = sorted(lost.items(), key=lambda pair: -pair[1])[:3]
    return ", ".join(f"{name[:40]} {share:.0%}" for name, share in worst)
