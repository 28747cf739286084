"""The columns that others may know: what kind each is, how coarse it may become, and what a missing value is; each a click to change."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from nicegui import ui

from shoal.app.project import column_choices as choices
from shoal.app.project.wording import as_sentence
from shoal.app.server.shell import View
from shoal.app.widgets import components as parts

AT_ONCE = 40
"""Columns that are listed at a time."""


class QuasiCard:
    """The card; it is built anew when roles change."""

    def __init__(self, view: View) -> None:
        self.view, self.first = view, 0
        self.show = ui.refreshable(self._build)

    def _build(self) -> None:
        names = self.view.project.of_role("quasi")
        if not names:
            return
        self.first = min(self.first, (len(names) - 1) // AT_ONCE * AT_ONCE)
        document = self.view.project.draft
        limits, missing = (choices.takes(document, option) for option in ("limits", "missing_quasi"))
        titles = ["Column", "Kind, and why"]
        titles += [*(["Never coarser than"] if limits else []), *(["A missing value is"] if missing else [])]
        why = "What a column is decides what its values become. Hierarchies has trees of your own, and shows what each looks like."
        with parts.card("How columns that others may know become coarser", why):
            cells = []
            for name in names[self.first : self.first + AT_ONCE]:
                cell: list[parts.Cell] = [name, partial(self._kind, name)]
                cell += [partial(self._limit, name)] if limits else []
                cell += [partial(self._missing, name)] if missing else []
                cells.append(cell)
            parts.live_table("Columns that others may know, and their kinds", titles, cells)
            parts.turning(self.first, AT_ONCE, len(names), self._turn, "columns")
            if limits:
                parts.why_line(
                    "Never coarser than: 10 for numbers and bands, month for dates, 7d for durations, 3 for codes of which three "
                    "characters stay. Empty: as coarse as the promise needs."
                )

    def _turn(self, start: int) -> None:
        self.first = start
        self.show.refresh()

    def _guess(self, name: str) -> dict[str, Any]:
        return dict(self.view.project.settings.get("guesses", {}).get(name) or {})

    def _change(self, edit: Callable[[dict[str, Any]], None], *, anew: bool = False) -> None:
        self.view.project.change(edit)
        self.view.refresh_steps()
        if anew:
            self.show.refresh()

    def _kind(self, name: str) -> None:
        guess, document = self._guess(name), self.view.project.draft
        spelling = choices.spelling_of(document, name)
        known, (found, reason) = choices.kinds_for(guess, spelling), choices.found_words(guess, spelling)
        now, parameter = choices.chosen_kind(document, name)
        words = {choices.AS_FOUND: found} | {k: kind.title for k, kind in known.items()}
        if now not in words:
            words[now] = "A tree, as Hierarchies shows it"

        def choose(event: Any) -> None:
            if event.value in known or event.value == choices.AS_FOUND:
                self._change(lambda document: choices.choose_kind(document, name, known.get(event.value)), anew=True)

        parts.select(words, now, f"Kind of column {name}", choose, quiet=True, width="16rem")
        kind = known.get(now)
        if kind is not None and kind.asks:
            self._field(
                f"{kind.asks}, column {name}",
                parameter,
                lambda given: self._change(lambda document: choices.choose_kind(document, name, kind, given)),
                kind.asks,
            )
        if choices.asks_spelling(document, name, guess):
            self._spelling(name, spelling)
        if reason:
            parts.why_line(as_sentence(reason))

    def _spelling(self, name: str, now: str) -> None:
        def choose(event: Any) -> None:
            self._change(lambda document: choices.put_spelling(document, name, str(event.value)), anew=True)

        parts.select(choices.SPELLINGS, now, f"How column {name} is spelled", choose, quiet=True, width="16rem")

    def _limit(self, name: str) -> None:
        now = choices.limit_of(self.view.project.draft, name)
        put = choices.put_limit
        self._field(f"Column {name} never coarser than", now, lambda given: self._change(lambda d: put(d, name, given)))

    def _missing(self, name: str) -> None:
        def choose(event: Any) -> None:
            self._change(lambda document: choices.put_missing(document, name, event.value))

        now = choices.missing_in(self.view.project.draft, name)
        parts.select(choices.MISSING, now, f"A missing value of column {name}", choose, quiet=True, width="12rem")

    def _field(self, label: str, value: str, put: Callable[[str], None], hint: str = "") -> None:
        """A short text, which changes the plan when one leaves it."""
        field = ui.input(value=value, placeholder=hint).props("outlined dense").style("width: 7rem")
        field.props["aria-label"] = label
        field.on("change", parts.speaking(lambda: put(field.value or "")))
