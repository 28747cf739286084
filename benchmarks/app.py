"""Figures on the app: what one step in a large tree costs the server, and what an estimate costs once its process is warm.

Seconds are those of processor time in the process that works (of all its threads), so that other work on the machine counts little;
beside them stands the ratio to what was measured in the same run: to reading the tree from its file, and to the first estimate, which has
to load, read and compile.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from measuring import Row

WITHOUT_DATA = ("app", "estimates")
NODES = 72_000
FANOUT = (20, 19, 9)
"""Inner nodes below the root, level by level: 20 departments, 19 categories in each, 9 kinds in each of those."""
STEPS = ("open a node", "search", "rename", "move", "merge", "undo")
ROWS = 150_000
TRUST_ROWS = 10_000
"""Rows of a data set that are released for each point; the points are tried on 2,000 of them."""
TRUST_TABLE_ROWS = 5_000
TRUST_PROMISES = ("rt", "table")
TRUST_WAYS = (*({"algorithm": "joint", "balance": balance} for balance in (0.25, 0.5, 0.75)), {"algorithm": "rfirst"})
TRUST_CROWDS = tuple({"k": k} for k in (2, 5, 10, 25, 50))
TRUST_GRID = tuple({"k": k, "m": m} for k in (2, 5, 20) for m in (1, 2))


def section_app() -> list[Row]:
    return [{"step": step} for step in STEPS]


def case_app(step: str) -> Row:
    """The app: a step in a tree of 72,000 nodes, beside reading the tree from its file."""
    with _workspace() as folder:
        bench = _Bench(folder)
        reading = _seconds(bench.read)
        bench.do("rename")  # loads what the first edit loads
        if step == "undo":
            bench.do("move")
        found = min(_seconds(lambda: bench.do(step)) for _ in range(1 if step == "undo" else 3))
        nodes = bench.loaded().tree.n_nodes
    return {
        "step": step,
        "nodes": f"{nodes:,}",
        "s": f"{found:.3f}",
        "reading s": f"{reading:.2f}",
        "of reading": f"{found / reading:.1%}",
        "rows in the page": bench.shown,
    }


class _Bench:
    """A project with a tree of 72,000 nodes, and what the panel does with it."""

    def __init__(self, folder: Path) -> None:
        from shoal.app.jobs.queue import Jobs
        from shoal.app.panels.hierarchies.column_tree import ColumnTree
        from shoal.app.panels.hierarchies.tree_values import keep_values, kept_values, needs
        from shoal.app.project.drafts import begin
        from shoal.app.project.workspace import Workspace

        items = _write_tree(folder / "tree.csv")
        (folder / "data.csv").write_text("items\n" + "".join(f"{name}\n" for name in items))
        self.workspace = Workspace(folder)
        self.jobs = Jobs(self.workspace)
        self.project = self.workspace.new_project("data")
        begin(self.project, folder / "data.csv")
        need = needs(self.project)[0]
        keep_values(self.project)
        values = kept_values(self.project, self.jobs)
        assert values is not None
        self.tree = ColumnTree(self.project, need, values[need.column])
        self.tree.take("../../../tree.csv", "took tree.csv")
        self.shown = 0
        self.edits = 0

    def read(self) -> None:
        from shoal.app.panels.hierarchies import column_tree

        column_tree._LOADED.clear()
        column_tree._READ.clear()
        self.loaded()

    def loaded(self) -> Any:
        return self.tree.load(self.workspace, self.jobs)

    def do(self, step: str) -> None:
        """A step, and the rows that the page shows after it."""
        from shoal.app.panels.hierarchies.tree_browser import Browser
        from shoal.app.panels.hierarchies.tree_page import tree_html
        from shoal.hierarchy.edit import merge, move, rename

        loaded = self.loaded()
        tops = loaded.children(loaded.tree.root)
        self.edits += 1
        verbs: dict[str, Callable[[Any], Any]] = {
            "rename": lambda tree: rename(tree, tops[3], f"another {self.edits}"),
            "move": lambda tree: move(tree, loaded.children(tops[2])[:1], tops[5]),
            "merge": lambda tree: merge(tree, loaded.children(tops[4])[:2], f"both {self.edits}"),
        }
        if step in verbs:
            self.tree.edit(loaded, verbs[step], step)
        elif step == "undo":
            assert self.tree.step(-1)
        browser = Browser(self.loaded())
        if step == "search":
            hits, _ = browser.search("item 04711")
            browser.show(hits[0].node)
        else:
            browser.toggle(loaded.children(browser.top)[6])
        self.shown = len(list(browser.rows()))
        tree_html(browser, "times")


def _write_tree(path: Path) -> list[str]:
    """A tree of departments, categories, kinds and items with the wanted number of nodes; returns its items."""
    tops = [f"department {a}" for a in range(FANOUT[0])]
    middles = [f"category {a}.{b}" for a in range(FANOUT[0]) for b in range(FANOUT[1])]
    kinds = [f"kind {at}.{c}" for at in range(len(middles)) for c in range(FANOUT[2])]
    items = [f"item {at:05}" for at in range(NODES - 1 - len(tops) - len(middles) - len(kinds))]
    links: Iterator[tuple[str, str]] = iter(
        [("*", top) for top in tops]
        + [(tops[at // FANOUT[1]], name) for at, name in enumerate(middles)]
        + [(middles[at // FANOUT[2]], name) for at, name in enumerate(kinds)]
        + [(kinds[at % len(kinds)], name) for at, name in enumerate(items)]
    )
    path.write_text("parent,child\n" + "".join(f"{parent},{child}\n" for parent, child in links))
    return items


def section_estimates() -> list[Row]:
    return [
        {"data": "demo", "algorithm": "exact"},
        {"data": "demo", "algorithm": "hybrid"},
        {"data": "baskets", "algorithm": "exact"},
        {"data": "people", "algorithm": "rmerge-r"},
        {"data": "people", "algorithm": "cluster"},
    ]


def case_estimates(data_name: str, algorithm: str) -> Row:
    """The app: an estimate for another k, beside the first one and beside the release."""
    from shoal.estimates.trials import Trials
    from shoal.plan import plan_of
    from shoal.release import run

    with _workspace() as folder:
        document = _document(data_name, algorithm, folder)
        trials = Trials()
        first = _seconds(lambda: _last(trials, plan_of(document(5))))
        shown: list[float] = []
        found: dict[str, Any] = {}

        def again() -> None:
            began = time.process_time()
            for one in trials.growing(plan_of(document(6)), _Silence()):
                shown.append(time.process_time() - began)
                found.update(one)

        whole = _seconds(again)
        release: dict[str, float] = {}
        took = 0.0
        if data_name != "people":  # which would take minutes
            took = _seconds(lambda: release.update(run(plan_of(document(6))).loss))
    name = next(iter(found["loss"]))
    low, high = sorted(((found["loss_at_share"] or found["loss"])[name], found["loss"][name]))
    return {
        "data": data_name,
        "algorithm": algorithm,
        "rows": f"{found['rows']:,}",
        "tried": f"{found['sample']:,}",
        "first s": f"{first:.2f}",
        "shown after s": f"{shown[0]:.2f}",
        "s": f"{whole:.2f}",
        "of the first": f"{whole / first:.0%}",
        "of the release": f"{whole / took:.0%}" if release else "",
        "estimate": f"{low:.2%} to {high:.2%}",
        "release": f"{release[name]:.2%}" if release else "",
    }


class _Silence:
    def __call__(self, doing: str, share: float) -> None: ...

    def stage(self, name: str) -> None: ...


def _last(trials: Any, plan: Any) -> None:
    for _ in trials.growing(plan, _Silence()):
        pass


def _document(name: str, algorithm: str, folder: Path) -> Callable[[int], dict[str, Any]]:
    """A plan for each k."""
    import random

    from shoal.app.project.project import relocate
    from shoal.app.project.workspace import Workspace
    from shoal.app.server.demo_project import demo_project
    from shoal.records.samples.quest import quest
    from shoal.records.writing import write

    if name == "demo":
        project = demo_project(Workspace(folder))
        base = relocate(project.draft, project.folder, Path())
        base.pop("outputs", None)
    elif name == "baskets":
        write(quest(ROWS, 10), folder / "baskets.dat")
        base = {"version": 1, "input": {"path": str(folder / "baskets.dat")}, "hierarchies": "frequency:5"}
        base["guarantee"] = {"model": "km", "k": 5, "m": 2}
    else:
        lots = random.Random(1)
        lines = (
            f"{lots.randint(18, 90)},{lots.choice('MF')},{lots.randint(100, 999)},{lots.choice('ABC')}|{lots.choice('DEFG')}\n"
            for _ in range(ROWS)
        )
        (folder / "people.csv").write_text("age,sex,zip,codes\n" + "".join(lines))
        sets = algorithm != "cluster"
        base = {"version": 1, "input": {"path": str(folder / "people.csv")} | ({"separator": "|"} if sets else {})}
        base["columns"] = dict.fromkeys(("age", "sex", "zip"), "quasi") | {"codes": "items" if sets else "drop"}
        base["guarantee"] = {"model": "rt", "k": 5, "m": 2} if sets else {"model": "k", "k": 5}
    return lambda k: base | {"algorithm": algorithm, "guarantee": base["guarantee"] | {"k": k}}


def _seconds(work: Callable[[], Any]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


@contextmanager
def _workspace() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="shoal-bench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def section_trust() -> list[Row]:
    from worth import DATA

    return [{"data": name} for name in DATA]


def case_trust(data_name: str) -> Row:
    """The decision map: points tried on 2,000 rows, against releases of 10,000.

    Of the points that a figure is shown for: how many releases are within the factor, or the slack, that the map states.
    """
    import shoal
    from km import TREES, data, tree
    from measuring import cpu_seconds
    from shoal.estimates import beforehand
    from shoal.estimates.decision_map import is_near
    from shoal.estimates.outlook import sample
    from shoal.records.source import load_sets

    whole = sample(load_sets(data(data_name)), TRUST_ROWS).baskets
    spec = tree(data_name, whole, "its own tree" if data_name in TREES else "frequency:5")
    beforehand.MOMENT = 0.0  # the first sample alone, however much time there is
    began = cpu_seconds()
    found = beforehand.explore(whole, shoal.KmAnonymity(5, 2), TRUST_GRID, hierarchy=spec)
    took = cpu_seconds() - began
    truth = [shoal.anonymize(whole, shoal.KmAnonymity(**spot.at), hierarchy=spec).loss["info"] for spot in found.spots]
    known = [(spot, lost) for spot, lost in zip(found.spots, truth, strict=True) if spot.share is not None]
    ranges = sum(
        spot.kept.low - 1e-9 <= 1 - lost <= spot.kept.high + 1e-9 for spot, lost in zip(found.spots, truth, strict=True)
    )
    return {
        "data": data_name,
        "rows": f"{len(whole):,}",
        "points": len(found.spots),
        "shown": len(known),
        "within the factor": sum(is_near(1 - spot.share, lost) for spot, lost in known),
        "in their range": ranges,
        "map, CPU s": f"{took:.1f}",
    }


def section_canvas() -> list[Row]:
    return [{"edits": number} for number in range(3)]


def case_canvas(edits: int) -> Row:
    """The tree as a canvas: CPU seconds on Complete Journey (72,312 nodes, 155,848 rows), k = 5, m = 2.

    After so many of the merges that are offered, each for the costliest node that one helps.
    """
    import shoal
    from km import data, tree
    from measuring import cpu_seconds
    from shoal.drawing.icicle import Widths, icicle
    from shoal.estimates.tree_cut import blame, edit_of, remedies, tree_cut
    from shoal.price.ncp import leaf_occurrences

    def timed(work: Callable[[], Any]) -> tuple[Any, float]:
        began = cpu_seconds()
        return work(), cpu_seconds() - began

    baskets = shoal.read(data("Complete Journey"))
    hierarchy, promise = tree("Complete Journey", baskets, "its own tree"), shoal.KmAnonymity(5, 2)
    tree_cut(baskets, promise, hierarchy)  # loads what the first cut loads
    did = "none"
    for _ in range(edits):
        found = tree_cut(baskets, promise, hierarchy)
        offers = (
            (remedy, why)
            for node in found.closed_nodes()
            for why in [blame(found, node)]
            for remedy in remedies(found, why)
            if remedy.info < found.info - 1e-6 and remedy.act == "merge"
        )
        best, why = next(offers)
        did = f"merge {len(best.nodes)} below {hierarchy.labels[why.node]}"
        hierarchy = edit_of(best.act, hierarchy, best.nodes, best.label)
    counts = hierarchy.sums(leaf_occurrences(hierarchy, baskets))
    widths, ordering = timed(lambda: Widths.of(hierarchy, counts))
    cells, laying = timed(lambda: icicle(widths, hierarchy.root, width=1000.0))
    found, cutting = timed(lambda: tree_cut(baskets, promise, hierarchy))
    why, blaming = timed(lambda: blame(found, found.closed_nodes()[0]))
    _, trying = timed(lambda: list(remedies(found, why)))
    return {
        "last edit": did,
        "lost": f"{found.info:.1%}",
        "cells": len(cells),
        "order and lay out": f"{ordering + laying:.3f}",
        "best cut": f"{cutting:.2f}",
        "blame": f"{blaming:.2f}",
        "what helps": f"{trying:.2f}",
    }


def section_trust_tables() -> list[Row]:
    from balance import TABLES

    with_items = [name for name in TABLES if name != "Diabetes-130"]
    return [{"data": name, "promise": promise} for promise in TRUST_PROMISES for name in with_items]


def case_trust_tables(data_name: str, promise: str) -> Row:
    """The decision map of tables: points tried on 2,000 rows, against releases of 5,000.

    `rt`: ways to keep a promise for columns and items, shown where both sides are known; `table`: k of the columns alone.
    """
    import shoal
    from balance import TABLES, records_of, tree_of
    from measuring import cpu_seconds
    from shoal.estimates import beforehand
    from shoal.estimates.decision_map import figure_of, is_near
    from shoal.estimates.outlook import Range

    table = TABLES[data_name]
    frame = records_of(table).head(TRUST_TABLE_ROWS)
    beforehand.MOMENT = 0.0
    known: dict[str, Any] = {"quasi": table.quasi}
    if promise == "rt":
        tree = tree_of(table, {item for row in frame["items"] for item in row})
        known |= {"items": "items", "hierarchy": {"items": tree}}
        guarantee, grid = shoal.RTAnonymity(5, 2), TRUST_WAYS
    else:
        frame = frame.drop(columns="items")
        guarantee, grid = shoal.TableAnonymity(5), TRUST_CROWDS
    began = cpu_seconds()
    found = beforehand.explore(frame, guarantee, grid, **known)
    took = cpu_seconds() - began
    shown = near = inside = 0
    for spot in found.spots:
        asked = {name: value for name, value in spot.at.items() if name != "k"}
        given = shoal.TableAnonymity(int(spot.at["k"])) if "k" in spot.at else guarantee
        lost = shoal.anonymize(frame, given, **known, **asked).loss
        truths = [lost["info"]] if spot.sides is None else [lost["info"], lost["info_columns"], lost["info_items"]]
        ranges: list[Range] = [spot.kept, *(spot.sides or ())]
        inside += all(one.low - 1e-9 <= 1 - true <= one.high + 1e-9 for one, true in zip(ranges, truths, strict=True))
        if spot.share is not None:
            shown += 1
            near += all(is_near(1 - figure_of(one), true) for one, true in zip(ranges, truths, strict=True))
    return {
        "data": data_name, "promise": promise, "rows": f"{len(frame):,}", "points": len(found.spots), "shown": shown,
        "within the factor": near, "in their range": inside, "map, CPU s": f"{took:.1f}",
    }  # fmt: skip
