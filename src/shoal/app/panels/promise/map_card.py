"""The decision map on the panel: what each promise around the plan would keep, as a heat map, or for tables with items as a frontier.

Points are the estimates and runs that the project has; the process that estimates tries the missing ones, one after the other, while
nothing else is asked of it (`shoal.estimates.decision_map` says which). A change of the plan ends that; what was found stays.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from nicegui import ui

from shoal.app.jobs.queue import Job
from shoal.app.panels.promise import estimates
from shoal.app.panels.result.results import asked_again
from shoal.app.project import promises
from shoal.app.server.shell import View
from shoal.app.widgets import components as parts
from shoal.app.widgets.figures import figure
from shoal.app.widgets.pictures import Lines
from shoal.drawing.charts import Series
from shoal.estimates.decision_map import FACTOR, KNOWN, SLACK, At, Spot, axes_of, figure_of, grid_of, knee_of, narrow
from shoal.estimates.outlook import Range

LAYERS = {"info": "Information kept", "risk": "Risk left"}
TINTS = {"info": "var(--sh-accent)", "risk": "var(--sh-bad)"}
DARKEST = 45
"""Percent of the accent in a full cell: text is readable on all of them."""
Document = dict[str, Any]


def put(document: Document, at: At) -> None:
    """Sets a draft to a point of the map."""
    if "algorithm" in at and promises.algorithm_of(document) != at["algorithm"]:
        promises.choose_algorithm(document, str(at["algorithm"]))
    for name, value in at.items():
        if name != "algorithm":
            promises.turn(document, name, float(value))


def place_of(document: Mapping[str, Any]) -> At:
    """Where a draft stands on the map."""
    if promises.kind_of(document) in ("rt", "lm"):
        algorithm = promises.algorithm_of(document)
        balance = {"balance": promises.value_of(document, "balance")} if algorithm == "joint" else {}
        return {"algorithm": algorithm, **balance}
    return {
        name: int(promises.value_of(document, name)) for name in promises.NUMBERS if name in promises.knobs_of(document)
    }


def points_of(document: Document) -> list[tuple[At, Document]]:
    """The points around a draft, each with the draft that stands there; coarse to fine."""
    kind, now = promises.kind_of(document), place_of(document)
    points = [] if kind is None else grid_of(kind, now)
    if kind in ("rt", "lm") and now not in points:
        points = [now, *points]
    found = []
    for at in points:
        changed = copy.deepcopy(document)
        if any(now.get(name) != value for name, value in at.items()):
            put(changed, at)
        found.append((at, changed))
    return found


def spot_of_estimate(at: At, found: Mapping[str, Any]) -> Spot:
    """What a kept estimate tells about a point."""
    kept, sides = found.get("kept") or {}, found.get("sides") or {}
    both = (Range(*sides["info_columns"]), Range(*sides["info_items"])) if "info_columns" in sides else None
    info = kept.get("info")
    range_kept, rows = None if info is None else Range(*info), int(found["sample"])
    return Spot(at, range_kept, both, risk=found.get("left"), sample=rows, all_rows=found.get("rows") == rows)


def spot_of_run(at: At, result: Mapping[str, Any]) -> Spot | None:
    """What a release tells about a point; None where it did not measure that."""
    lost = result["release"]["loss"]
    if "info" not in lost:
        return None
    both = tuple(Range(1 - lost[name], 1 - lost[name]) for name in ("info_columns", "info_items") if name in lost)
    curve = ((((result.get("evaluation") or {}).get("risk") or {}).get("uniqueness") or {}).get("after")) or ()
    risk = next((one["share_unique"] for one in curve if one["m"] == KNOWN), None)
    kept = Range(1 - lost["info"], 1 - lost["info"])
    sides = (both[0], both[1]) if len(both) == 2 else None
    return Spot(at, kept, sides, "run", risk, int(result["release"]["rows"]))


def runs_of(view: View) -> dict[str, Job]:
    """The runs of the project that are done, by their plans; of several with one plan, the newest."""
    return {
        _text({name: part for name, part in asked_again(view.project, job).items() if name != "outputs"}): job
        for job in reversed(view.jobs.of(view.project, "release"))
        if job.status == "done"
    }


def known_spot(
    view: View, at: At, document: Document, key: str, found: Mapping[str, Any] | None, runs: Mapping[str, Job]
) -> Spot:
    """What the project knows about a plan: by a run of it, else by the estimate of its key (`found`), or why there is none."""
    job = runs.get(_text(document))
    spot = None if job is None or not job.result else spot_of_run(at, job.result)
    if spot is not None:
        return spot
    standing = view.jobs.warm.standing(key)
    why = standing[1] if standing is not None and standing[0] == "failed" else ""
    return Spot(at, why=why) if found is None else spot_of_estimate(at, found)


def still_to_try(spots: Sequence[Spot], kept: Sequence[Mapping[str, Any] | None]) -> list[tuple[str, int]]:
    """(how far, which point), in the order in which they are tried; `kept` are the estimates that there are."""
    open_ones = [i for i, spot in enumerate(spots) if spot.how != "run" and not spot.why]
    unsure = [
        i for i in open_ones if (had := kept[i]) is not None and not had.get("final") and spots[i].how == "unknown"
    ]
    return [*(("first", i) for i in open_ones if kept[i] is None), *(("all", i) for i in unsure)]


class MapCard:
    """The map of the plan as it stands: made once for a grid, then told what to say, so that the focus stays where it is."""

    def __init__(self, view: View, choose: Callable[[At], None], is_settled: Callable[[], bool]) -> None:
        self.view, self.choose, self.is_settled = view, choose, is_settled
        self.layer = "info"
        self.points: list[tuple[At, Document]] = []
        self.grid: list[At] = []
        self.keys: list[str] = []
        self.document: Document | None = None
        self.spots: list[Spot] = []
        self.waiting: list[tuple[str, int]] = []
        """What is still to be tried: how far, and which point."""
        self.cells: dict[tuple[Any, ...], ui.html] = {}
        self.shown: Any = None
        self.stamp: Any = None
        self.panel = ui.refreshable(self._build)
        self.read()

    def read(self) -> None:
        """Takes in where the plan stands, and what is known about the points around it."""
        project = self.view.project
        document = estimates.asked_document(project)
        if document != self.document:
            self.document = document
            self.points = points_of(document)
            self.keys = [estimates.estimate_key(project, there) for _, there in self.points]
        runs, kept = runs_of(self.view), [estimates.kept_estimate(project, key) for key in self.keys]
        spots = [
            known_spot(self.view, at, there, key, found, runs)
            for (at, there), key, found in zip(self.points, self.keys, kept, strict=True)
        ]
        self.spots = narrow(spots)
        self.waiting = still_to_try(self.spots, kept)

    @property
    def comes_first(self) -> bool:
        """Whether there is a point that nobody has looked at."""
        return bool(self.waiting) and self.waiting[0][0] == "first"

    def look(self, may_ask: bool = True) -> None:
        """Shows what has come, and asks for the next point. Files are only read where something has changed."""
        project, warm = self.view.project, self.view.jobs.warm
        busy = warm.is_busy(project)
        stamp = (busy, self.layer, *(_changed(project.folder / name) for name in ("plan.yaml", "estimates")))
        if stamp == self.stamp and (busy or not self.is_settled()):
            return
        self.read()
        self.stamp = stamp
        if may_ask and not busy and self.is_settled():
            self._ask_next()
        state = (self.layer, place_of(self.document or {}), bool(self.waiting), [spot.to_dict() for spot in self.spots])
        if state != self.shown:
            grid = [at for at, _ in self.points]
            is_same = self.shown is not None and grid == self.grid and bool(self.cells)
            self.shown, self.grid = state, grid
            if is_same:
                self._say()
            else:
                self.panel.refresh()

    def _ask_next(self) -> None:
        """Asks for the first point that nobody has looked at; else for the first that is not known well enough and can be tried further."""
        if self.waiting:
            look, place = self.waiting[0]
            self.view.jobs.warm.fill(self.view.project, self.keys[place], self.points[place][1], look)

    # What is shown.

    def _build(self) -> None:
        self.cells = {}
        kind = promises.kind_of(self.document or {})
        if not self.points or kind is None:
            return
        if kind in ("rt", "lm"):
            self._build_frontier()
        else:
            self._build_grid(kind)

    def _build_grid(self, kind: str) -> None:
        axes = axes_of(kind, place_of(self.document or {}))
        names = list(axes)
        rows: Sequence[Any] = axes[names[1]] if len(names) > 1 else (None,)
        with parts.card(
            "The map: what each promise would keep",
            "Each cell is a promise, tried on your data. Choose one, and the plan stands there.",
        ):
            with parts.row():
                ui.toggle(LAYERS, value=self.layer, on_change=parts.speaking(self._choose_layer)).props(
                    'no-caps unelevated toggle-color="primary"'
                ).props["aria-label"] = "What the map shows"
            with parts.element("div", "sh-table-box"), parts.element("table", "sh-map"):
                self.caption = parts.text("", "caption", "sh-hidden")
                with parts.element("thead"), parts.element("tr"):
                    parts.text(f"{names[1]} below, k across" if len(names) > 1 else "", "td", "sh-why")
                    for value in axes[names[0]]:
                        parts.text(f"{names[0]} = {value}", "th", scope="col")
                with parts.element("tbody"):
                    for other in rows:
                        with parts.element("tr"):
                            parts.text(
                                "" if other is None else f"{names[1]} = {other}", "th" if other is not None else "td"
                            )
                            for value in axes[names[0]]:
                                at = {names[0]: value} | ({} if other is None else {names[1]: other})
                                self._build_cell(at)
            self.standing = parts.text("", "p", "sh-why", role="status")
            self._build_proposal()
            self._legend()
        self._say()

    def _build_cell(self, at: At) -> None:
        with parts.element("td"):
            cell = parts.text("", "button", "sh-map-cell", type="button")
            cell.on("click", parts.speaking(lambda: self.choose(at)))
            self.cells[_name(at)] = cell

    def _build_proposal(self) -> None:
        with parts.row():
            self.proposal = parts.text("", "span")
            self.take = parts.button("Take it", self._take, "quiet", "Take the proposal of the map")
        self.take.set_visibility(False)

    def _legend(self) -> None:
        parts.points(
            "How to read it",
            (
                f"A figure is shown where all that is known allows a loss within a factor of {FACTOR:g} of it, or within {SLACK:.0%} of "
                "the information. “?” is a point that is not known so well.",
                "“run” is what a release of this project kept. All others are estimates, made on some of the rows, or on all of them.",
                f"Risk left: the share of published rows that somebody who knows {KNOWN} items of a person still singles out, counted on "
                "the rows that were tried. The promise itself is about m of them.",
                "★ is the proposal: beyond it, a stronger promise costs more than up to there. It is never weaker than k = 5 and m = 2.",
            ),
        )

    def _choose_layer(self, event: Any) -> None:
        self.layer = str(event.value)
        self._say()

    def _take(self) -> None:
        knee = knee_of(self.spots)
        if knee is not None:
            self.choose(knee.at)

    def _say(self) -> None:
        """Puts what is known into the cells."""
        now, knee = place_of(self.document or {}), knee_of(self.spots)
        for spot in self.spots:
            cell = self.cells.get(_name(spot.at))
            if cell is None:
                continue
            is_now, is_knee = spot.at == now, knee is not None and spot.at == knee.at
            share = spot.share if self.layer == "info" else spot.risk
            figure, mark = cell_words(spot, self.layer)
            content = f"<strong>{escape(figure)}</strong><small>{escape(('★ ' if is_knee else '') + mark)}</small>"
            if cell.content != content:
                cell.set_content(content)
            tint = (
                0
                if share is None
                else round(3 + (DARKEST - 3) * (_above(share) if self.layer == "info" else min(1.0, share * 4)))
            )
            cell.style(replace=f"background: color-mix(in srgb, {TINTS[self.layer]} {tint}%, var(--sh-card))")
            words = spot_words(spot, is_now, is_knee)
            changed = {"aria-label": words, "title": words, "aria-pressed": "true" if is_now else "false"}
            if any(cell.props.get(name) != value for name, value in changed.items()):
                cell.props.update(changed)
                cell.update()
            cell.classes(replace=f"sh-map-cell{' sh-map-now' if is_now else ''}{' sh-map-knee' if is_knee else ''}")
        self._say_standing(knee)

    def _say_standing(self, knee: Spot | None) -> None:
        busy = bool(self.waiting)
        known = sum(spot.how != "unknown" for spot in self.spots)
        words = f"{known} of {len(self.spots)} points are known." + (" Others are being tried …" if busy else "")
        parts.say(self.standing, words)
        now = place_of(self.document or {})
        offers = knee is not None and knee.at != now
        words = "★ The plan stands at the proposal."
        if knee is not None and offers:
            words = f"★ Proposal: {at_words(knee.at)} keeps {_percent(knee)} of the information."
        proposal = "" if knee is None else words
        parts.say(self.proposal, proposal)
        self.take.set_visibility(offers)

    def _build_frontier(self) -> None:
        knee, now = knee_of(self.spots), place_of(self.document or {})
        with parts.card(
            "The map: columns or items?",
            "Columns and items cannot both stay fine. Each point is a way to keep this promise, tried on your data; the nearer to the "
            "lower left corner, the better.",
        ):
            drawn = [spot for spot in self.spots if spot.sides is not None and spot.how != "unknown"]
            if drawn:
                figure(
                    frontier_picture(drawn, knee),
                    lambda series, place: self.choose(by_series(drawn)[series][place].at),
                    table=False,
                )
            self.standing = parts.text("", "p", "sh-why", role="status")
            self._build_proposal()
            titles = ("Way", "Columns' information kept", "Items' information kept", "Known", "")
            parts.live_table("Ways to keep the promise", titles, [self._way(spot, knee, now) for spot in self.spots])
            self._legend()
        self._say_standing(knee)

    def _way(self, spot: Spot, knee: Spot | None, now: At) -> tuple[parts.Cell, ...]:
        sides = ("–", "–") if spot.sides is None else tuple(range_words(side) for side in spot.sides)

        def build_take() -> None:
            if spot.at == now:
                parts.tag("the plan", "good")
            else:
                label = f"Take {at_words(spot.at)}"
                parts.button("Take", lambda: self.choose(spot.at), "quiet", label).props("dense")

        star = "★ " if knee is not None and spot.at == knee.at else ""
        return f"{star}{at_words(spot.at)}", sides[0], sides[1], how_words(spot), build_take


# In words.


def by_series(spots: Sequence[Spot]) -> list[list[Spot]]:
    """The points of a frontier, algorithm by algorithm, in the order in which they are drawn."""
    names = list(dict.fromkeys(str(spot.at["algorithm"]) for spot in spots))
    return [[spot for spot in spots if spot.at["algorithm"] == name] for name in names]


def frontier_picture(spots: Sequence[Spot], knee: Spot | None) -> Lines:
    """Columns against items, as shares that are lost."""
    series = []
    for group in by_series(spots):
        points, labels = [], {}
        for spot in group:
            assert spot.sides is not None
            point = (1 - figure_of(spot.sides[0]), 1 - figure_of(spot.sides[1]))
            points.append(point)
            star = "★ proposal: " if knee is not None and spot.at == knee.at else ""
            labels[point] = (
                f"{star}{at_words(spot.at)}, {point[0]:.1%} of the columns lost, {point[1]:.1%} of the items, {how_words(spot)}"
            )
        series.append(Series(str(group[0].at["algorithm"]), points, labels=labels))
    return Lines(
        "Information lost in columns against items", "lost in columns", "lost in items", series,
        percent=True, percent_x=True, scatter=True, front=True,
    )  # fmt: skip


def at_words(at: At) -> str:
    """`k = 5, m = 2`, `joint, columns 50%`."""
    if "algorithm" in at:
        balance = f", weight of the columns {at['balance']:.0%}" if "balance" in at else ""
        return f"{at['algorithm']}{balance}"
    return ", ".join(f"{name} = {value}" for name, value in at.items())


def how_words(spot: Spot) -> str:
    if spot.why:
        return "cannot be kept"
    if spot.how == "run":
        return "run"
    if spot.kept is None:
        return "not tried yet"
    on = f" on {spot.sample:,} rows" if spot.sample else " from its neighbours"
    return f"estimated{on}" if spot.how == "estimated" else f"unknown: tried{on}"


def cell_words(spot: Spot, layer: str) -> tuple[str, str]:
    """The figure of a cell, and the word below it."""
    if spot.why:
        return "–", "none"
    if layer == "risk":
        return ("?" if spot.risk is None else f"{spot.risk:.1%}"), ("run" if spot.how == "run" else "est.")
    if spot.share is None:
        return "?", "…" if spot.kept is None else "unknown"
    return share_words(spot.share), "run" if spot.how == "run" else "est."


def spot_words(spot: Spot, is_now: bool, is_knee: bool) -> str:
    """All that is known about a point, for those who hover over it or hear it."""
    said = [at_words(spot.at)]
    if spot.why:
        said.append(spot.why)
    elif spot.share is not None:
        said.append(f"keeps {_percent(spot)} of the information")
    elif spot.kept is not None:
        said.append(f"keeps between {spot.kept.low:.0%} and {spot.kept.high:.0%} of the information")
    said.append(how_words(spot))
    if spot.risk is not None:
        said.append(f"{spot.risk:.1%} of the rows are singled out by {KNOWN} items")
    said += ["the plan stands here"] * is_now + ["proposed"] * is_knee
    return "; ".join(said)


def _percent(spot: Spot) -> str:
    return "?" if spot.share is None else share_words(spot.share) if spot.how == "estimated" else f"{spot.share:.1%}"


def share_words(share: float) -> str:
    """A share in percent; what is not all does not read as if it were."""
    return ">99%" if 0.995 <= share < 1 else f"{share:.0%}"


def range_words(side: Range) -> str:
    low, high = f"{side.low:.0%}", f"{side.high:.0%}"
    return low if low == high else f"{low} to {high}"


def _above(share: float) -> float:
    """How full a cell is: what matters is between a half and all."""
    return max(0.0, (share - 0.4) / 0.6)


def _changed(path: Path) -> int:
    return path.stat().st_mtime_ns if path.exists() else 0


def _name(at: At) -> tuple[Any, ...]:
    return tuple(sorted(at.items()))


def _text(document: Mapping[str, Any]) -> str:
    return repr(sorted((name, repr(part)) for name, part in document.items()))
