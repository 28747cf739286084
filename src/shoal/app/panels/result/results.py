"""What there is to say about runs, in words and pictures, from their files alone: no page, no data.

brief(project)          the plan in a few lines, each with the panel where it is changed
verdict(result)         what the audit found
worth(result)           what is kept: information, items and pairs as they are
losses(result)          what was lost, by what it is measured on
width_rows(result)      how much of each column is as it was, and how wide the rest is
commonest_rows(result)  what became of the ten commonest items
risks(result)           what the promise's attacker learns, before and after
comparison_chart(jobs)  information lost against guarantee of all runs that are done
frontier_chart(...)     what columns lose against what items lose, of the runs with one promise
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from shoal.app.jobs.queue import Job
from shoal.app.panels.hierarchies.column_tree import spec_words
from shoal.app.project.project import Project, relocate
from shoal.app.project.promises import algorithm_of
from shoal.app.project.wording import COUNTED, WORTH
from shoal.app.widgets.pictures import Bars, Group, Lines, Picture
from shoal.drawing.charts import Series
from shoal.errors import InputError, number_of
from shoal.loss.worth import fate_words, width_words

ROLE_WORDS = {
    "quasi": "others may know",
    "items": "sets of items",
    "sensitive": "others want to learn",
    "keep": "kept as they are",
    "drop": "left out",
    "id": "holding rows together",
    "person": "saying whose a row is",
}
MOST_NAMED = 4
SIDES = {"before": "original", "after": "release"}
"""What the two sides of a picture are called."""


@dataclass(frozen=True)
class Line:
    """A line of the plan in brief."""

    label: str
    words: str
    panel: str
    """Where it is changed."""


def brief(project: Project) -> list[Line]:
    """The plan in a few lines."""
    document = project.draft
    source = document.get("input") or {}
    found = [Line("Data", Path(str(source.get("path", ""))).name or "none yet", "data")]
    roles = [f"{ROLE_WORDS[role]}: {_named(names)}" for role in ROLE_WORDS if (names := project.of_role(role))]
    if project.roles:
        found.append(Line("Columns", "; ".join(roles) or "none is decided yet", "data"))
    else:
        found.append(Line("Columns", "none: every line is one set of items", "data"))
    found.append(Line("Hierarchies", _trees(document.get("hierarchies")), "hierarchies"))
    found.append(Line("Promise", promise_words(project), "promise"))
    found.append(Line("Algorithm", algorithm_words(document), "promise"))
    return found


def promise_words(project: Project) -> str:
    """The promise of the draft in the guarantee's own words, or, while the plan is incomplete, its figures."""
    try:
        return str(project.plan().promise.promise()[0])
    except InputError:
        return short_promise(project.draft.get("guarantee") or {}) or "none yet"


def _named(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _trees(given: Any) -> str:
    if not given:
        return "none: values are put together in ranges and sets"
    if isinstance(given, str):
        return spec_words(given)
    return _named([f"{column}: {spec_words(str(spec))}" for column, spec in given.items()])


def algorithm_words(document: Mapping[str, Any]) -> str:
    """The algorithm, and what was set for it."""
    options = "; ".join(f"{name} {_option_words(value)}" for name, value in (document.get("options") or {}).items())
    return (algorithm_of(document) or "none yet") + (f" ({options})" if options else "")


def _option_words(value: Any) -> str:
    """`0.25`, or `age 20, born month` of what is said by column."""
    if isinstance(value, Mapping):
        return _named([f"{column} {_option_words(one)}" for column, one in value.items()])
    return f"{value:g}" if isinstance(value, float) else str(value)


def is_of_draft(project: Project, job: Job) -> bool:
    """Whether a job runs the plan as it stands now."""
    return relocate(job.document, job.folder, project.folder) == project.draft


def asked_again(project: Project, job: Job) -> dict[str, Any]:
    """The plan of a job, as a document of the project's folder."""
    return relocate(job.document, job.folder, project.folder)


def queued_at(job: Job) -> str:
    when = job.about.get("queued")
    return "" if when is None else datetime.fromtimestamp(float(when)).strftime("%d %b, %H:%M:%S")


def run_name(job: Job) -> str:
    """What a run is called in lists: its promise, its algorithm and when it was asked for."""
    document = job.document
    return f"{short_promise(document.get('guarantee') or {})}, {algorithm_words(document)}, {queued_at(job)}"


def short_promise(promise: Mapping[str, Any]) -> str:
    """`k = 5, m = 2`, with the model where that does not tell it."""
    shown = {name: promise[name] for name in "klm" if promise.get(name) is not None}
    if promise.get("model") == "k" and shown.get("l") == 1:
        del shown["l"]
    figures = ", ".join(f"{name} = {value}" for name, value in shown.items())
    return {"diversity": "buckets, "}.get(str(promise.get("model")), "") + figures


# What a run found.


@dataclass(frozen=True)
class Verdict:
    """What the audit found, in words."""

    holds: bool
    title: str
    counted: str


def verdict(result: Mapping[str, Any]) -> Verdict:
    release = result["release"]
    audit = release["audit"]
    holds = bool(release["holds"])
    what = "combinations of items" if audit.get("by_size") else "classes of equal rows"
    if result.get("kind") == "diversity":
        what = "rows"
    counted = f"The audit counted {audit['checked']:,} {what} in the published rows; {audit['violations']:,} break the promise."
    if audit.get("people"):
        counted += f" {COUNTED} There are {audit['people']:,} people."
    return Verdict(holds, "The promise holds." if holds else "The promise does not hold.", counted)


ITEMS_LOST, COLUMNS_LOST = "of the items' detail is lost", "of the columns' detail is lost"
ITEMS_UNKNOWN, COLUMNS_UNKNOWN = "of the items' information is lost", "of the columns' information is lost"
NCP = (
    "A value published as itself loses nothing, one that could be any value of the data loses everything, and a category loses the share "
    "of all values that it covers. The figure is the mean over all cells (in papers: NCP). Where there are many values it looks small "
    "however little can be read: go by the information."
)


def worth(result: Mapping[str, Any]) -> dict[str, float]:
    """What is kept, as shares: `info` first. Runs of older versions did not measure it."""
    release = result["release"]
    kept = {**({"info": 1 - release["loss"]["info"]} if "info" in release["loss"] else {}), **release.get("kept", {})}
    return {name: kept[name] for name in WORTH if name in kept}


def worth_words(result: Mapping[str, Any]) -> str:
    """What is kept in a line; of older runs, what is lost."""
    kept = [f"{share:.1%} {WORTH[name]}" for name, share in worth(result).items()]
    return "; ".join(kept or [f"{share:.2%} {measure}" for measure, share in losses(result)])


def losses(result: Mapping[str, Any]) -> list[tuple[str, float]]:
    """(what is measured, share lost): the figures of the papers, as the run itself told them."""
    lost = result["release"]["loss"]
    if "il" in lost:
        return [("of the items were added or removed", lost["il"])]
    if "ambiguity" in lost:
        return [("of guesses at a sensitive value miss it", lost["ambiguity"])]
    if result.get("kind") == "km":
        return [(ITEMS_LOST, lost["ncp"])]
    return [(COLUMNS_LOST, lost["ncp"]), *((ITEMS_LOST, lost[name]) for name in ("items_ncp",) if name in lost)]


def unknown(result: Mapping[str, Any]) -> list[tuple[str, float]]:
    """(of what, share of its information that is lost): columns and items apart. Of older runs, what was measured then."""
    lost = result["release"]["loss"]
    if "info_columns" in lost:
        return [(COLUMNS_UNKNOWN, lost["info_columns"]), (ITEMS_UNKNOWN, lost["info_items"])]
    if "info" in lost:
        return [(COLUMNS_UNKNOWN if result.get("kind") == "table" else ITEMS_UNKNOWN, lost["info"])]
    return losses(result)


def column_losses(result: Mapping[str, Any]) -> list[tuple[str, str, float]]:
    """(column, its role, share of its detail that is lost)."""
    release = result["release"]
    by_column = release.get("ncp_by_column") or {}
    roles = (result.get("checked") or {}).get("columns") or {}
    found = [(name, ROLE_WORDS["quasi"], float(lost)) for name, lost in by_column.items()]
    items = next((name for name, role in roles.items() if role == "items"), None)
    lost = release["loss"]
    overall = lost.get("items_ncp", lost.get("ncp") if "generalized" in lost else lost.get("il"))
    if items is not None and overall is not None:
        found.append((items, ROLE_WORDS["items"], float(overall)))
    return found


def width_rows(result: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """(column, share of it that is as it was, how wide its median published value is), the items last. Older runs did not measure it."""
    kept = result["release"].get("kept", {})
    rows = [(name, f"{one['exact']:.1%}", width_words(one)) for name, one in kept.get("columns", {}).items()]
    if items := kept.get("items"):
        width = f"{items['width']:,.0f} item{'' if items['width'] == 1 else 's'}"
        rows.append(("the items", f"{items['exact']:.1%}", width))
    return rows


def commonest_rows(result: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """(item, its occurrences, the share of them that is as it was, what became of the others), of the ten commonest items."""
    items = result["release"].get("kept", {}).get("items", {})
    return [
        (one["item"], f"{one['occurrences']:,}", f"{one['exact']:.1%}", fate_words(one))
        for one in items.get("commonest", ())
    ]


@dataclass(frozen=True)
class Risk:
    """Rows that an attacker gets hold of."""

    knows: str
    before: int
    after: int
    alone_before: int | None
    alone_after: int | None


def counts_people(result: Mapping[str, Any]) -> bool:
    """Whether the promise of a run counted people, not rows."""
    return bool(result["release"]["audit"].get("people"))


def risks(result: Mapping[str, Any]) -> list[Risk]:
    """What the attacker whom the promise is about learns. What the audit has passed leaves no row among fewer than k."""
    audit = result["release"]["audit"]
    found = []
    for known in result.get("risk") or ():
        knows = str(known["knows"])
        if "value_certain" in known:
            found.append(Risk(knows, known["value_certain"], audit.get("certain_rows", 0), None, None))
        else:
            found.append(Risk(knows, known["fewer_than_k"], 0, known["singled_out"], 0))
    return found


def risk_chart(result: Mapping[str, Any]) -> Picture | None:
    """Rows among fewer than k over the number of known items, before and after; bars where there is no such number."""
    evaluation = result.get("evaluation")
    if not evaluation:
        return None
    risk, k = evaluation["risk"], evaluation["k"]
    curves, title = risk["uniqueness"], f"Rows among fewer than {k}, before and after"
    if max((len(curve) for curve in curves.values()), default=0) > 1:
        series = [
            Series(SIDES[side], [(one["m"], one["share_over"]) for one in curve], dashed=side == "before", tone=side)
            for side, curve in curves.items()
        ]
        steps = sorted({one["m"] for curve in curves.values() for one in curve})
        if steps == list(range(len(steps))):
            named = ["columns", *(f"and {m} item{'s' if m > 1 else ''}" for m in steps[1:])]
            return Lines(title, "known", "share of rows", series, percent=True, steps=named)
        return Lines(title, "items known", "share of rows", series, percent=True)
    groups = [
        Group(
            name, [risk["prosecutor"][side]["share_over"]], [number_of(risk["prosecutor"][side]["over"], "row")], side
        )
        for side, name in SIDES.items()
    ]
    return Bars(title, [f"among fewer than {k}"], groups)


def class_chart(result: Mapping[str, Any]) -> Bars:
    """In classes of which size the rows stand, before and after."""
    classes = result["classes"]
    total = {side: max(1, sum(one["rows"] for one in classes[side])) for side in SIDES}
    shown = [
        {side: next((one for one in classes[side] if one["size"] == size), None) for side in SIDES}
        for size in dict.fromkeys(one["size"] for side in SIDES for one in classes[side])
        if any(one["rows"] for side in SIDES for one in classes[side] if one["size"] == size)
    ]
    sizes = [next(one["size"] for one in both.values() if one) for both in shown]
    groups = [
        Group(
            name,
            [(both[side] or _NONE)["rows"] / total[side] for both in shown],
            [number_of((both[side] or _NONE)["rows"], "row") for both in shown],
            side,
        )
        for side, name in SIDES.items()
    ]
    return Bars(
        "Rows by the size of their class", [f"{size} row{'' if size == '1' else 's'}" for size in sizes], groups
    )


_NONE = {"rows": 0}


# Several runs.


def comparison_chart(jobs: Sequence[Job]) -> Lines | None:
    """Information lost against guarantee: one point a run and measure. None unless there is something to compare.

    Across stands 1/k (for buckets 1/l), the chance that the promise leaves to an attacker's guess, so that little is good both ways; the
    front is drawn where all points mean the same.
    """
    points: dict[str, list[tuple[float, float]]] = {}
    labels: dict[tuple[float, float], str] = {}
    for number, job in reversed(list(enumerate(reversed(jobs), 1))):
        result = job.result
        if not result:
            continue
        promise = result["release"]["guarantee"]
        crowd = promise.get("k") or promise.get("l")
        if not crowd:
            continue
        for words, lost in unknown(result):
            point = (1 / float(crowd), float(lost))
            points.setdefault(_family(promise, words, result), []).append(point)
            told = f"run {number}: {result['guarantee']}, {result['release']['algorithm']}, {lost:.2%} {words}"
            labels[point] = f"{labels[point]}; {told}" if point in labels else told
    if not points:
        return None
    series = [Series(name, sorted(set(found)), labels=labels) for name, found in sorted(points.items())]
    return Lines(
        "Information lost against guarantee",
        "chance of a right guess that the promise leaves (1 in k)",
        "share lost",
        series,
        percent=True,
        log_x=True,
        scatter=True,
        front=len(series) == 1,
    )


def frontier_chart(jobs: Sequence[Job], run: Job) -> Lines | None:
    """What columns lose against what items lose: one point for each run with the promise of `run`. None unless there are several."""
    promise = run.result["release"]["guarantee"]
    series: dict[str, list[tuple[float, float]]] = {}
    labels: dict[tuple[float, float], str] = {}
    for number, job in enumerate(reversed(jobs), 1):
        release = (job.result or {}).get("release") or {}
        lost = release.get("loss", {})
        if "info_columns" not in lost or release["guarantee"] != promise:
            continue
        point = (float(lost["info_columns"]), float(lost["info_items"]))
        series.setdefault(release["algorithm"], []).append(point)
        told = f"run {number}: {algorithm_words(job.document)}, {point[0]:.1%} {COLUMNS_UNKNOWN}, {point[1]:.1%} {ITEMS_UNKNOWN}"
        labels[point] = f"{labels[point]}; {told}" if point in labels else told
    if sum(map(len, series.values())) < 2:
        return None
    return Lines(
        "Columns against items",
        "share of the columns' information that is lost",
        "share of the items' information lost",
        [Series(name, sorted(set(points)), labels=labels) for name, points in sorted(series.items())],
        percent=True,
        percent_x=True,
        scatter=True,
        front=True,
    )


def _family(promise: Mapping[str, Any], words: str, result: Mapping[str, Any]) -> str:
    """What points can be compared with each other: the kind of promise, its m and l, and what is measured. Short, for a legend."""
    kind = str(result.get("kind") or promise.get("model"))
    part = "columns" if words in (COLUMNS_LOST, COLUMNS_UNKNOWN) else "items"
    name = {
        "km": "sets",
        "k": "equal sets",
        "table": "columns",
        "rt": f"table {part}",
        "lm": part,
        "diversity": "buckets",
    }.get(kind, kind)
    more = [f"{letter} = {promise[letter]}" for letter in ("l", "m") if (promise.get(letter) or 0) > 1]
    return ", ".join([name, *([] if kind == "diversity" else more)])
