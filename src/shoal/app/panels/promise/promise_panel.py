"""Promise: what nobody shall be able to find out, how strongly, and by which algorithm; with an estimate of what it costs.

Every change is in the plan at once. The estimate is a worker's, on a sample; the one before is ended when another is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nicegui import ui

from shoal.app.panels import Panel, needs_data
from shoal.app.panels.promise.estimating import OFTEN, Estimating
from shoal.app.panels.promise.map_card import MapCard, put
from shoal.app.panels.promise.offers_card import OffersCard, put_document
from shoal.app.panels.promise.promise_words import (
    ALGORITHM_WORDS,
    DISTANCES,
    L_KINDS,
    MISSING,
    MODELS,
    PRICES,
    UNLESS_KNOWN,
    Model,
)
from shoal.app.project import promises
from shoal.app.project.knobs import KNOBS
from shoal.app.project.project import Project
from shoal.app.project.wording import COUNTED
from shoal.app.server.shell import View
from shoal.app.widgets import components as parts


class Desk:
    """The parts of the panel that change, and how a change goes through them."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.estimate = Estimating(view, self.turn)
        self.map = MapCard(view, self.go_to, lambda: self.estimate.is_settled)
        self.offers = OffersCard(view, self.take)
        self.offered: Any = None
        """The state of the estimate that the offers are about."""
        self.models = ui.refreshable(self._models)
        self.unfit = ui.refreshable(self._unfit)
        self.strength = ui.refreshable(self._strength)
        self.words = ui.refreshable(self._words)
        self.history = ui.refreshable(self._history)

    @property
    def project(self) -> Project:
        return self.view.project

    @property
    def aside(self) -> dict[str, Any]:
        """What earlier choices had and the present one has no use for."""
        return dict(self.project.settings.get("aside") or {})

    def change(self, edit: Callable[[dict[str, Any]], Any], *, all_of_it: bool = False) -> None:
        """Changes the plan: it is now the user's own promise, which no role changes any more."""
        self.project.change(lambda document: edit(document) and None)
        self.project.set(promise_chosen=True)
        self.show(all_of_it)

    def show(self, all_of_it: bool = True) -> None:
        if all_of_it:
            self.models.refresh()
            self.unfit.refresh()
            self.strength.refresh()
        self.words.refresh()
        self.history.refresh()
        self.view.refresh_steps()
        self.estimate.want()

    def turn(self, name: str, value: float) -> None:
        """Sets a knob from elsewhere than its slider."""
        self.change(lambda document: promises.turn(document, name, value), all_of_it=True)

    def go_to(self, at: Mapping[str, Any]) -> None:
        """Sets the plan to a point of the map."""
        self.change(lambda document: put(document, at), all_of_it=True)

    def take(self, offered: dict[str, Any]) -> None:
        """Sets the plan to one that was offered."""
        self.change(lambda document: put_document(document, offered), all_of_it=True)

    async def look(self) -> None:
        """Follows the estimate, then what would keep more, and then the map."""
        await self.estimate.look()
        state = self.estimate.state
        if state != self.offered:
            self.offered, told = state, self.estimate.told
            if told is None:
                self.offers.clear()
            else:
                self.offers.about(*told)
        # First a look at every offer and at every point of the map; then more of those that are not known well.
        offers_first = self.offers.comes_first or not self.map.comes_first
        self.offers.look(offers_first)
        self.map.look(not (offers_first and self.offers.waiting))

    def choose(self, kind: str) -> None:
        aside: dict[str, Any] = {}
        self.change(lambda document: aside.update(promises.choose_model(document, kind, self.aside)), all_of_it=True)
        self.project.set(aside=aside)

    # What is shown.

    def _models(self) -> None:
        document, aside = self.project.draft, self.aside
        chosen = promises.kind_of(document)
        fits = [(model, promises.misfit(model.kind, document, aside)) for model in MODELS]
        if chosen is not None and (why := {model.kind: words for model, words in fits}[chosen]):
            parts.notice(f"The promise no longer fits what the columns are. {why} Choose another.", "warn")
        with parts.element("div", "sh-columns", role="group", aria_label="Promises that fit your data"):
            for model, why in fits:
                if why is None:
                    self._model(model, model.kind == chosen)

    def _unfit(self) -> None:
        document, aside = self.project.draft, self.aside
        others = [(model, why) for model in MODELS if (why := promises.misfit(model.kind, document, aside)) is not None]
        if others:
            with parts.card(
                "Promises that your columns do not allow", "Change what a column is in Data, and they open."
            ):
                lines = [(f"{model.name} ({model.formal})", why) for model, why in others]
                parts.table(("Promise", "Why not"), lines, caption="Promises that the columns do not allow")
                with ui.expansion("What they promise").classes("sh-wide"), parts.columns():
                    for model, _ in others:
                        with ui.element("div"):
                            _explain(model)

    def _model(self, model: Model, chosen: bool) -> None:
        with parts.card() as card:
            card.classes("sh-chosen" if chosen else "").props["aria-label"] = model.name
            _explain(model)
            with parts.row():
                if chosen:
                    parts.tag("Chosen", "good")
                else:
                    label = f"Choose this: {model.name}"
                    parts.button("Choose this", lambda: self.choose(model.kind), "quiet", label)

    def _strength(self) -> None:
        document = self.project.draft
        kind = promises.kind_of(document)
        if kind is None:
            return
        with parts.card("How strong?", "More is safer, and costs more detail. The estimate shows how much."):
            for name in promises.knobs_of(document):
                _build_knob(self, kind, name, promises.value_of(document, name))
        if promises.takes_l_kind(document):
            self._word(
                "l_kind", "What is counted for l?", "Different values, or how often the commonest occurs.", L_KINDS
            )
        if promises.takes_t(document) and promises.value_of(document, "t") < 1:
            self._word("distance", "How far are two values from each other?", "For t.", DISTANCES)
        if promises.counts_missing(document):
            self._word("missing", "What is a missing sensitive value?", UNLESS_KNOWN, MISSING, usual="unknown")
        self._algorithm(kind, document)
        if promises.takes_sensitive_items(document):
            self._sensitive(document)

    def _word(self, name: str, title: str, why: str, words: dict[str, str], *, usual: str = "") -> None:
        now = (self.project.draft.get("guarantee") or {}).get(name) or usual
        if not isinstance(now, str):  # a plan from elsewhere, that says it by column
            words, now = words | {"by column": "As the plan says, column by column"}, "by column"

        def choose(event: Any) -> None:
            if event.value != "by column":
                word = "" if event.value == usual else event.value
                self.change(lambda document: promises.set_word(document, name, word))

        with parts.card(title, why):
            parts.select(words, now, title, choose)

    def _algorithm(self, kind: str, document: dict[str, Any]) -> None:
        words = ALGORITHM_WORDS[kind]
        now = promises.algorithm_of(document)
        with parts.card(
            "How is it done?",
            "All of them keep the promise: it is counted on the rows that would be published. They differ in loss and time.",
        ):
            names = {name: name for name in words} | ({} if now in words else {now: now})

            def choose(event: Any) -> None:
                self.change(lambda document: promises.choose_algorithm(document, event.value), all_of_it=True)

            parts.select(names, now, "Algorithm", choose)
            parts.text(words.get(now, ""), "p")
            if promises.takes_price(document):
                self._price(document)
            with ui.expansion("What they do").classes("sh-wide"):
                parts.table(("Algorithm", "What it does"), list(words.items()), caption="The algorithms")

    def _price(self, document: dict[str, Any]) -> None:
        def choose(event: Any) -> None:
            self.change(lambda document: promises.choose_price(document, event.value))

        parts.select(PRICES, promises.price_of(document), "What the search makes cheap", choose)

    def _sensitive(self, document: dict[str, Any]) -> None:
        given = document.get("sensitive_items") or self.aside.get("sensitive_items") or []
        shown = given if isinstance(given, str) else ", ".join(given)
        why = (
            "Items that others want to learn (a diagnosis, a film). They are published unchanged, and promises with l keep them unsure. "
            "Leave it empty if all items are alike."
        )
        with parts.card("Sensitive items", why):
            field = ui.input("Names, with commas between them", value=shown).props("outlined").classes("sh-wide")
            field.on(
                "change", parts.speaking(lambda: self._name_sensitive(promises.sensitive_names(field.value or "")))
            )

    def _name_sensitive(self, names: list[str]) -> None:
        self.project.set(aside=self.aside | {"sensitive_items": names})
        if promises.kind_of(self.project.draft) in ("k", "rt", "lm"):
            self.change(lambda document: promises.name_sensitive(document, names), all_of_it=True)
        else:
            self.models.refresh()
            self.unfit.refresh()
            ui.notify("Kept for promises that have a use for it.")

    def _words(self) -> None:
        document = self.project.draft
        guarantee = promises.guarantee_of(document)
        if guarantee is None:
            return
        with parts.card(f"What you promise: {guarantee}") as card:
            card.props["aria-live"] = "polite"
            for sentence in guarantee.promise():
                parts.text(sentence, "p", "sh-promise")
            if promises.of_role(document, "person"):
                parts.text(COUNTED, "p", "sh-promise")
            parts.quasi_term(promises.kind_of(document))
            parts.points("What it does not promise", guarantee.limits())

    def _history(self) -> None:
        with parts.row():
            parts.undo_buttons(self.project, self.show)
            if not self.project.settings.get("promise_chosen"):
                parts.text(
                    "Until you change something, the promise follows the roles of the columns.", "span", "sh-why"
                )


def _explain(model: Model) -> None:
    parts.heading(model.name)
    parts.why_line(model.formal)
    with ui.element("dl").classes("sh-facts"):
        for title, words in (
            ("Stops", model.stops),
            ("Does not stop", model.not_stops),
            ("What changes", model.changes),
        ):
            parts.text(title, "dt")
            parts.text(words, "dd")
    parts.why_line(f"{model.paper}. How Shoal reads it: docs/{model.notes}.md")


def _build_knob(desk: Desk, kind: str, name: str, value: float) -> None:
    """A slider and a field for the same number."""
    knob = KNOBS[name]
    low, scale = promises.least_of(kind, name), 100 if knob.share else 1
    with ui.element("div").classes("sh-knob"):
        parts.text(knob.label, "div", "sh-knob-name")
        with parts.row():
            # The slider shows where it stands while it is moved; the plan changes when it is let go.
            slider = ui.slider(
                min=low * scale, max=knob.high * scale, step=knob.step * scale, value=min(value, knob.high) * scale
            )
            slider.props("label").classes("sh-slider").props["aria-label"] = knob.label
            unit = ' suffix="%"' if knob.share else ""
            field = ui.number(
                value=round(value * scale, 2) if knob.share else int(value), min=low * scale, max=knob.most * scale,
                step=knob.step * scale, precision=1 if knob.share else 0,
            )  # fmt: skip
            field.props(f'outlined dense debounce="300" input-class="sh-knob-field"{unit}').style("width: 7rem")
            field.props["aria-label"] = f"{knob.label}, as a number"
        parts.why_line(knob.why)
        parts.text(knob.paper, "p", "sh-paper")

    def put(given: Any) -> None:
        if given is None or isinstance(given, str):
            return
        wanted = float(given) / scale
        if wanted != promises.value_of(desk.project.draft, name):
            asked = _asked(desk.project.draft)
            desk.change(lambda document: promises.turn(document, name, wanted))
            if asked != _asked(desk.project.draft):
                desk.strength.refresh()
                return
        now = promises.value_of(desk.project.draft, name)
        field.value = round(now * scale, 2) if knob.share else int(now)
        slider.value = min(now, knob.high) * scale

    slider.on("change", parts.speaking(lambda event: put(event.args)))
    field.on_value_change(parts.speaking(lambda event: put(event.value)))


def _asked(document: dict[str, Any]) -> tuple[bool, ...]:
    """What besides numbers can be said of the promise as it stands."""
    is_close = promises.takes_t(document) and promises.value_of(document, "t") < 1
    return promises.counts_missing(document), promises.takes_l_kind(document), is_close


def build(view: View) -> None:
    desk = Desk(view)
    desk.history()
    desk.models()
    desk.map.panel()
    with parts.columns():
        with ui.element("div").classes("sh-main"):
            desk.strength()
        with ui.element("div"), ui.element("div").classes("sh-main sh-beside"):
            desk.estimate.panel()
            desk.offers.panel()
            desk.words()
    desk.unfit()
    ui.timer(OFTEN, desk.look)


PANEL = Panel(
    "promise",
    "Promise",
    "Say what nobody shall be able to find out, and how sure that must be. What it costs is estimated as you go.",
    build,
    needs_data,
    lambda view: view.project.problem() is None,
)
