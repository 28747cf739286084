"""Advice as buttons: changes of the plan that may keep more, each with its price, which is tried on the data and says how it is known.

What there is to try says `shoal.estimates.remedies`. The process that estimates tries each as it tries points of the map: while nothing
else is asked of it, on a small sample first. An estimate is kept under the plan that it is about, so that who takes an offer has its
estimate at once.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from nicegui import ui

from shoal.app.panels.hierarchies.column_tree import spec_words
from shoal.app.panels.promise import estimates
from shoal.app.panels.promise.map_card import known_spot, range_words, runs_of, share_words, still_to_try
from shoal.app.project import promises
from shoal.app.project.knobs import KNOBS
from shoal.app.server.shell import View
from shoal.app.widgets import components as parts
from shoal.estimates.decision_map import LUCK, Spot, figure_of, is_trusted, narrow
from shoal.estimates.outlook import Range
from shoal.estimates.remedies import NOTHING, Remedy, remedies
from shoal.models.km import HIERARCHY

Document = dict[str, Any]


@dataclass(frozen=True)
class Offer:
    """A change of a plan, in words, with the plan that it leads to."""

    words: str
    document: Document


def offers_for(document: Document, lost: float, idle: Sequence[Mapping[str, Any]]) -> list[Offer]:
    """What to try with a plan that loses so much of the information. `idle` are its trees that help little, as estimates and runs tell."""
    kind = promises.kind_of(document)
    if kind is None:
        return []
    trees = _trees_of(document, kind)
    unhelpful = [(column, trees[column]) for tree in idle if (column := _column_of(document, tree)) in trees]
    now = {name: promises.value_of(document, name) for name in promises.knobs_of(document)}
    found = []
    for remedy in remedies(kind, promises.algorithm_of(document), now, lost, unhelpful):
        changed = copy.deepcopy(document)
        _apply(changed, kind, remedy, trees)
        if changed != document:
            found.append(Offer(_words(remedy, kind), changed))
    return found


def idle_words(document: Document, tree: Mapping[str, Any], sample: int | None = None) -> str:
    """That a tree did not help: in a trial on so many rows, or in a run."""
    column = _column_of(document, tree)
    spec = _trees_of(document, promises.kind_of(document) or "").get(column)
    which = f"the tree {spec_words(spec) if spec else tree['source']} helps little"
    of_what = "items" if tree["of_items"] else f"rows of column “{column}”"
    how = "at its root, which is anything, or left out" if tree["of_items"] else "at its root, which is anything"
    where = "" if sample is None else f"in the trial on {sample:,} rows, "
    said = f"{where}{which}: {tree['share']:.0%} of the {of_what} are published {how}."
    return said[:1].upper() + said[1:]


def _column_of(document: Mapping[str, Any], tree: Mapping[str, Any]) -> str:
    return "+".join(promises.of_role(document, "items")) if tree["of_items"] else str(tree["column"])


def _trees_of(document: Document, kind: str) -> dict[str, str]:
    trees = promises.trees_of(document)
    return trees if kind != "km" else {"+".join(promises.of_role(document, "items")): HIERARCHY} | trees


def _apply(document: Document, kind: str, remedy: Remedy, trees: Mapping[str, str]) -> None:
    for name, value in remedy.options.items():
        if name == "algorithm":
            promises.choose_algorithm(document, str(value))
        else:
            promises.turn(document, name, float(value))
    if remedy.column is not None:
        others = {name: spec for name, spec in trees.items() if name != remedy.column}
        given = others if remedy.tree == NOTHING else others | {remedy.column: remedy.tree}
        promises.put_trees(document, kind, given)


def _words(remedy: Remedy, kind: str) -> str:
    if remedy.column is not None:
        whose = "the items" if not remedy.column else f"“{remedy.column}”"
        if remedy.tree == NOTHING:
            return f"Do without the tree of {whose}"
        return "Build the tree from how often items occur" if kind == "km" else f"Take {remedy.tree} for {whose}"
    (name, value), *_ = remedy.options.items()
    if name == "algorithm":
        return f"Use {value}"
    if name == "suppress":
        return f"Let {value:.0%} of the items be deleted"
    if name == "suppress_rows":
        return f"Let {value:.0%} of the rows leave"
    return f"Set {KNOBS[name].label.partition(',')[0]} to {value:.1%}"


# What an offer is worth.


def price_words(spot: Spot, now: Range, how: str) -> str:
    """`keeps 82% instead of 3%`, with how each is known."""
    assert spot.kept is not None
    kept = share_words(spot.share) if spot.share is not None else range_words(spot.kept)
    on = "run" if spot.how == "run" else f"estimated on {spot.sample:,} rows"
    same = "" if how == on else f"; now: {how}"
    if spot.how != "run" and spot.all_rows:
        on = f"estimated on all {spot.sample:,} rows"
        if spot.kept.low < spot.kept.high:
            on, kept = f"{on}, with less time to search than a run has", f"about {kept}"
    if not is_trusted(now):
        known = f"what the plan keeps is not known so well ({range_words(now)}, {how})"
        return f"keeps {kept} of the information ({on}); {known}"
    keeps = "keeps" if spot.share is not None or spot.kept.low > now.high else "may keep"
    return f"{keeps} {kept} of the information instead of {share_words(figure_of(now))} ({on}{same})"


def is_better(spot: Spot, now: Range) -> bool:
    """Whether an offer is taken to keep more than the plan: in the middle of what is known of both."""
    return spot.kept is not None and figure_of(spot.kept) > figure_of(now) + LUCK


class OffersCard:
    """The offers for a plan, and what is known of each."""

    def __init__(self, view: View, take: Callable[[Document], Any]) -> None:
        self.view, self.take = view, take
        self.now: Range | None = None
        """What the plan keeps."""
        self.how = ""
        self.offers: list[Offer] = []
        self.keys: list[str] = []
        self.spots: list[Spot] = []
        self.waiting: list[tuple[str, int]] = []
        self.notes: list[str] = []
        self.base: Any = None
        self.shown: Any = None
        self.panel = ui.refreshable(self._build)

    def clear(self) -> None:
        """There is no plan to make offers for, or too little is known of it."""
        self.now, self.offers, self.notes, self.waiting, self.base = None, [], [], [], None
        self._show()

    def about(
        self,
        document: Document,
        kept: Range | None,
        how: str,
        idle: Sequence[Mapping[str, Any]],
        sample: int | None = None,
    ) -> None:
        """Says which plan the offers are for, what it keeps, and how that is known."""
        if kept is None:
            return self.clear()
        base = (repr(document), kept, how)
        if base == self.base:
            return None
        self.base, self.now, self.how = base, kept, how
        self.offers = offers_for(document, 1 - figure_of(kept), idle)
        self.keys = [estimates.estimate_key(self.view.project, offer.document) for offer in self.offers]
        self.notes = [idle_words(document, tree, sample) for tree in idle]
        return self.read()

    def read(self) -> None:
        """Takes in what is known of the offers."""
        project, runs = self.view.project, runs_of(self.view) if self.offers else {}
        kept = [estimates.kept_estimate(project, key) for key in self.keys]
        found = zip(self.offers, self.keys, kept, strict=True)
        spots = [known_spot(self.view, {"algorithm": ""}, offer.document, key, one, runs) for offer, key, one in found]
        self.spots = [narrow([spot])[0] for spot in spots]
        self.waiting = [] if self.now is None else still_to_try(self.spots, kept)
        self._show()

    @property
    def comes_first(self) -> bool:
        """Whether there is an offer that nobody has looked at."""
        return bool(self.waiting) and self.waiting[0][0] == "first"

    def look(self, may_ask: bool = True) -> None:
        """Shows what has come, and asks for the next price where nothing else is asked for."""
        warm = self.view.jobs.warm
        if not self.waiting or warm.is_busy(self.view.project):
            return
        self.read()
        if self.waiting and may_ask:
            how, place = self.waiting[0]
            warm.fill(self.view.project, self.keys[place], self.offers[place].document, how)

    def _show(self) -> None:
        state = (self.base, bool(self.waiting), [spot.to_dict() for spot in self.spots])
        if state != self.shown:
            self.shown = state
            self.panel.refresh()

    def _build(self) -> None:
        now = self.now
        if now is None or not (self.offers or self.notes):
            return
        with parts.card(
            "What would keep more?", "Each was tried on your data, under the same promise; a click changes the plan."
        ):
            for note in self.notes:
                parts.notice(note, "warn")
            known = [
                (offer, spot) for offer, spot in zip(self.offers, self.spots, strict=True) if spot.kept is not None
            ]
            better = [(offer, spot) for offer, spot in known if is_better(spot, now)]
            for offer, spot in sorted(better, key=lambda one: -figure_of(one[1].kept or now)):
                with parts.row():
                    parts.button(offer.words, partial(self._take, offer), "quiet")
                    parts.text(price_words(spot, now, self.how), "span")
            if others := [offer.words for offer, spot in known if not is_better(spot, now)]:
                parts.why_line(f"Tried, and no better: {'; '.join(others)}.")
            if self.waiting:
                parts.text("Others are being tried …", "p", "sh-why", role="status")
            elif not known and self.offers:
                parts.why_line("Nothing that was tried can keep this promise.")

    def _take(self, offer: Offer) -> None:
        self.take(offer.document)


def put_document(document: Document, offered: Mapping[str, Any]) -> None:
    """Makes a draft the plan of an offer; what it writes stays."""
    outputs = document.get("outputs")
    document.clear()
    document.update(copy.deepcopy(dict(offered)))
    if outputs is not None:
        document["outputs"] = outputs
