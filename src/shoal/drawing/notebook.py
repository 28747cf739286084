"""What notebooks show of a result: the figures that matter first, in the look of a certificate. Nothing runs, nothing is fetched.

Names of people's items stay out of it where they could be rare: a notebook is passed on more easily than one thinks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from html import escape
from typing import Any

from shoal.drawing.bars import Bar, bars
from shoal.drawing.web_page import html_facts, html_list, html_table
from shoal.hierarchy.survey import outline
from shoal.loss.worth import width_words

KEPT = {
    "info": "information kept",
    "exact": "items as they were",
    "cells": "cells as they were",
    "pairs": "of the commonest pairs",
}
"""What is kept, in the order in which it is told."""
_STYLE = (
    "<style>.shoal{font:14px/1.45 Georgia,'Times New Roman',serif;max-width:60rem}"
    ".shoal table{border-collapse:collapse;margin:.4rem 0;font-variant-numeric:tabular-nums}"
    ".shoal th,.shoal td{text-align:left;padding:.15rem .9rem .15rem 0;border-bottom:1px solid rgba(128,128,128,.4)}"
    ".shoal .n{text-align:right}.shoal h4{margin:.6rem 0 .2rem;font-size:1.1em}.shoal p{margin:.3rem 0}"
    ".shoal .yes{color:#1b6b72;font-weight:bold}.shoal .no{color:#c1440e;font-weight:bold}.shoal svg{max-width:100%;height:auto}"
    ".shoal svg text{fill:currentColor}</style>"
)
_LEVELS, _CHILDREN, _NOTES = 2, 8, 6


def html_of(result: Any) -> str:
    """The HTML of a result, by what it is."""
    name = next(kind.__name__ for kind in type(result).__mro__ if kind.__name__ in _SHOWN)
    return f'{_STYLE}<div class="shoal">{"".join(_SHOWN[name](result))}</div>'


def shares_kept(release: Any) -> dict[str, float]:
    """What a release keeps, the information first."""
    shares = {"info": 1 - release.loss["info"]} if "info" in release.loss else {}
    return shares | {name: release.kept[name] for name in KEPT if name in release.kept}


def _release(release: Any) -> Iterable[str]:
    yield f"<h4>{escape(str(release.guarantee))} by {escape(release.algorithm)}, {release.rows:,} rows</h4>"
    yield f"<p>{_mark(release.audit.holds)} The audit {'holds' if release.audit.holds else 'does not hold'}.</p>"
    yield _share_bars(shares_kept(release), "What the release keeps")
    lost = [(name.replace("_", " "), f"{value:.2%}") for name, value in release.loss.items() if name != "info"]
    yield html_facts([*lost, ("proven best", {True: "yes", False: "no", None: "not known"}[release.optimal])])
    columns = release.remains.get("columns", {})
    if columns:
        rows = [(name, f"{one['exact']:.1%}", width_words(one)) for name, one in columns.items()]
        yield html_table(["column", "as it was", "median width"], rows, ("", "n", "n"))
    yield from _notes(release.notes)


def _audit(audit: Any) -> Iterable[str]:
    name = escape(str(audit.guarantee["name"]))
    least = "" if audit.complete else "at least "
    yield f"<h4>{_mark(audit.holds)} {name} {'holds' if audit.holds else 'does not hold'}</h4>"
    yield f"<p>{audit.checked:,} counted, {least}{audit.violations:,} break it.</p>"
    if audit.by_size:
        rows = [(str(size), f"{checked:,}", f"{broken:,}") for size, (checked, broken) in audit.by_size.items()]
        yield html_table(["items", "counted", "break it"], rows, ("n", "n", "n"))
    if audit.witnesses:
        yield f"<p>{len(audit.witnesses):,} of them are in <code>.witnesses</code>; they name values of the data.</p>"


def _verification(found: Any) -> Iterable[str]:
    yield f"<h4>{_mark(found.holds)} {escape(found.verdict)}</h4>"
    words = {True: "yes", False: "no", None: "not checked"}
    yield html_table(["check", "", ""], [(check.name, words[check.holds], str(check.says)) for check in found.checks])


def _profile(profile: Any) -> Iterable[str]:
    yield f"<h4>{escape(profile.source)}: {profile.rows:,} rows, {profile.items:,} items</h4>"
    rows = [
        (str(one.m), f"{one.rare:,}", f"{one.exposed:,}", f"{one.exposed / max(1, profile.rows):.1%}")
        for one in profile.exposures
    ]
    head = ["known items", f"sets in fewer than {profile.k} rows", "rows they give away", ""]
    yield html_table(head, rows, ("n", "n", "n", "n"))
    if profile.outlook is not None:
        yield from _outlook(profile.outlook)
    yield from _notes(profile.notes)


def _outlook(found: Any) -> Iterable[str]:
    tried = "all rows" if found.sample == found.rows else f"{found.sample:,} of {found.rows:,} rows"
    yield f"<h4>{escape(found.guarantee)} by {escape(found.algorithm)} would keep</h4>"
    yield html_facts([(KEPT.get(name, name), str(share)) for name, share in found.kept.items()])
    yield f"<p>Tried on {tried}.</p>"


def _evaluation(found: Any) -> Iterable[str]:
    yield f"<h4>{escape(found.published.source)} against {escape(found.original.source)}</h4>"
    for part in ("kept", "loss", "utility"):
        lines = [[str(cell) for cell in line] for line in found.lines(part)]
        if lines:
            yield html_facts(lines)
    yield from _notes(found.notes)


def _hierarchy(tree: Any) -> Iterable[str]:
    yield f"<h4>{escape(tree.source)}: {tree.n_leaves:,} leaves, {tree.n_nodes:,} nodes, height {tree.height}</h4><p>"
    for line in outline(tree, _LEVELS, _CHILDREN):
        leaves = f" <small>{line.leaves:,}</small>" if line.leaves > 1 else ""
        yield f"{'&emsp;' * line.indent}{escape(line.label)}{leaves}<br>"
    yield "</p>"


def _side_by_side(found: Any) -> Iterable[str]:
    shares = [name for name in KEPT if name in found.columns]
    losses = [name for name in found.columns if name.startswith("loss.")]
    head = ["promise", "algorithm", *(KEPT[name] for name in shares), *(name[5:].replace("_", " ") for name in losses)]
    rows = []
    for row in found:
        figures = ["" if row.get(name) is None else f"{row[name]:.1%}" for name in (*shares, *losses)]
        told = f"{row['seconds']:.1f}" if row["status"] == "done" else row["reason"]
        rows.append([row["guarantee"], row["algorithm"], *figures, told])
    yield html_table([*head, "seconds"], rows, ("", "", *("n" for _ in (*shares, *losses))))


def _draft(draft: Any) -> Iterable[str]:
    yield f"<h4>{escape(draft.path)}: model {escape(draft.model)}</h4><p>{escape(draft.reason)}</p>"
    rows = [(guess.name, guess.role or "?", str(guess.reason)) for guess in draft.guesses]
    yield html_table(["column", "role", "why"], rows)
    if draft.open:
        yield "<p>Decide about those with a question mark.</p>"


def _attack(found: Any) -> Iterable[str]:
    yield f"<h4>{_mark(not found)} {escape(found.kind)}: {'somebody' if found else 'nobody'} is found</h4>{found.svg()}"


def _share_bars(shares: Mapping[str, float], title: str) -> str:
    return bars([Bar(KEPT[name], share, f"{share:.1%}", "after") for name, share in shares.items()], title)


def _mark(good: bool) -> str:
    return '<span class="yes">&#10003;</span>' if good else '<span class="no">&#10007;</span>'


def _notes(notes: Iterable[str]) -> Iterable[str]:
    told = [str(note) for note in notes]
    if told:
        more = [f"and {len(told) - _NOTES:,} more in .notes"] if len(told) > _NOTES else []
        yield f"<details><summary>Notes ({len(told):,})</summary>{html_list([*told[:_NOTES], *more])}</details>"


_SHOWN: dict[str, Callable[[Any], Iterable[str]]] = {
    "Release": _release,
    "Audit": _audit,
    "Verification": _verification,
    "Profile": _profile,
    "Outlook": _outlook,
    "Evaluation": _evaluation,
    "Hierarchy": _hierarchy,
    "SideBySide": _side_by_side,
    "Attack": _attack,
    "Draft": _draft,
}
