"""What can an analyst still do? What is kept, real questions with true and published answers, distributions, one record before and after.

What a release keeps is known as soon as it is there; the rest is measured behind it, and appears when it is done. A question that the
user asks is answered by the process that estimates, and kept with the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui

from shoal.app.jobs.queue import Job
from shoal.app.panels.result.results import losses, worth
from shoal.app.project.own_files import read_json, write_json
from shoal.app.project.promises import sensitive_names
from shoal.app.project.wording import WORTH, WORTH_MEANS, as_sentence, with_capital
from shoal.app.server.shell import View
from shoal.app.widgets import components as parts
from shoal.app.widgets.figures import figure
from shoal.app.widgets.pictures import Bars, Group
from shoal.errors import InputError

QUESTIONS = "questions.json"
LOOKS = 0.3
SIDES = {"before": "original", "after": "release"}


def build_worth(run: Job, result: Any) -> None:
    """The figures that matter first."""
    release = result["release"]
    with parts.grid():
        kept, by_information = worth(result), release["parameters"].get("price") == "information"
        for name, share in kept.items():
            parts.stat(f"{share:.1%}", WORTH[name], how_good(release) if name == "info" and by_information else "")
        for measure, share in () if kept else losses(result):
            parts.stat(f"{share:.2%}", measure, how_good(release) if "ncp" in release["loss"] else "")
    if worth(result):
        parts.term("How worth is counted", WORTH_MEANS)


def how_good(release: Any) -> str:
    if release["optimal"]:
        return (
            "no choice of levels loses less"
            if release["algorithm"] == "full-domain"
            else "no cut of this tree loses less"
        )
    return "" if release["bound"] is None else f"nothing loses less than {release['bound']:.2%}"


def build_answers(result: Any) -> None:
    """The commonest pairs and some counts, true and as a reader of the release would answer."""
    told = result.get("answers") or {}
    names = {"pairs": "The ten commonest pairs", "counts": "Ten counts, as somebody might ask for them"}
    with parts.columns():
        for name, title in names.items():
            if told.get(name):
                with ui.element("div"):
                    parts.heading(title, 3)
                    parts.table(ANSWERED, answer_rows(told[name]), caption=title)


ANSWERED = ("Rows with", "In truth", "From the release", "Off by")


def answer_rows(told: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, str, str]]:
    """(question, true count, what a reader of the release would say, how far off that is)."""
    return [(str(one["question"]), f"{one['true']:,}", f"{one['published']:,.0f}", off_words(one)) for one in told]


def off_words(one: Mapping[str, Any]) -> str:
    """`0%`, `+12%`; of nothing there is no share."""
    true, told = float(one["true"]), float(one["published"])
    if true == 0:
        return "0" if round(told) == 0 else f"{told:+,.0f} rows"
    share = (told - true) / true
    return "0%" if abs(share) < 0.005 else f"{share:+.0%}"


def build_distributions(result: Any) -> None:
    """What each column, and the commonest items, looked like and look like now."""
    found = result.get("distributions") or []
    if not found:
        return
    with parts.card("Before and after, value by value", DISTRIBUTED), parts.columns():
        for one in found:
            with ui.element("div"):
                figure(distribution_picture(one))


DISTRIBUTED = "Rows with each of the commonest values, in the original and as a reader of the release takes them to be."


def distribution_picture(one: Mapping[str, Any]) -> Bars:
    title = f"Column {one['column']}" if one["column"] else "The commonest items"
    most = max([*one["before"], *one["after"], 1])
    groups = [
        Group(SIDES[side], [count / most for count in one[side]], [f"{count:,.0f}" for count in one[side]], side)
        for side in SIDES
    ]
    return Bars(title, one["labels"], groups)


class RecordCard:
    """One record as it was and as it is published; others by a click."""

    def __init__(self, records: Sequence[Mapping[str, Any]]) -> None:
        self.records, self.at = records, 0
        self.panel = ui.refreshable(self._build)

    def build(self) -> None:
        with parts.card("One record, before and after", RECORDED):
            self.panel()
            if len(self.records) > 1:
                with parts.row():
                    parts.button("Another record", self._turn, "quiet")

    def _turn(self) -> None:
        self.at = (self.at + 1) % len(self.records)
        self.panel.refresh()

    def _build(self) -> None:
        header = ("", "Original", "Release")
        parts.table(header, record_rows(self.records[self.at]), caption="The record, column by column")


RECORDED = "For your eyes: rows of the release stand in another order, and nobody who has it can tell which of them this one became."


def record_rows(record: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """(column, what it was, what it is)."""

    def words(cell: Any) -> str:
        return ", ".join(cell) if isinstance(cell, list) else str(cell)

    before, after = record["before"], record["after"]
    return [
        (name, words(before.get(name, "")), words(after.get(name, "")) or "left out") for name in {**before, **after}
    ]


class QuestionCard:
    """Questions of the user's own, each with its two answers."""

    def __init__(self, view: View, run: Job) -> None:
        self.view, self.run = view, run
        self.key = ""
        self.answers = ui.refreshable(self._build_answers)
        self.standing = ui.refreshable(self._build_standing)
        self.error = ""

    @property
    def asked(self) -> list[dict[str, Any]]:
        return list(read_json(self.run.folder / QUESTIONS).get("answers", ()))

    def build(self) -> None:
        result = self.run.result
        columns = result["checked"].get("columns") or {}
        known = [name for name, role in columns.items() if role in ("quasi", "sensitive", "keep")]
        has_items = result["kind"] in ("km", "k", "rt", "lm")
        with parts.card("Ask one of your own", "How many rows have an item, two of them, or a value in a column?"):
            with parts.row():
                self.items = self.value = self.column = None
                if has_items:
                    self.items = ui.input("Item, or items with commas").props("outlined").style("min-width: 16rem")
                if known:
                    names = {"": "any column"} | {name: name for name in known}
                    self.column = parts.select(names, "", "Column", lambda event: None)
                    self.value = ui.input("Its value").props("outlined").style("min-width: 10rem")
                parts.button("Count it", self._ask)
            self.standing()
            self.answers()
        self.timer = ui.timer(LOOKS, parts.speaking(self._look), active=False)

    def _ask(self) -> None:
        items = sensitive_names(str(self.items.value or "")) if self.items is not None else []
        column, value = (str(field.value or "") if field is not None else "" for field in (self.column, self.value))
        if not items and not column:
            raise InputError("a question asks for an item, or for a value of a column; say one")
        question = {"items": items, "column": column, "value": value if column else ""}
        self.key = f"{self.run.id} {question}"
        asked = {"question": question, "run": str(self.run.folder.resolve())}
        self.error = ""
        self.view.jobs.warm.question(self.view.project, self.key, asked, self._keep)
        self.timer.active = True
        self.standing.refresh()

    def _keep(self, found: Mapping[str, Any]) -> None:
        before = [one for one in self.asked if one["question"] != found["question"]]
        write_json(self.run.folder / QUESTIONS, {"answers": [dict(found), *before][:50]})

    def _look(self) -> None:
        standing = self.view.jobs.warm.standing(self.key)
        if standing is None or standing[0] == "failed":
            self.timer.active = False
            self.error = "" if standing is None else standing[1]
            self.answers.refresh()
        self.standing.refresh()

    def _build_standing(self) -> None:
        standing = self.view.jobs.warm.standing(self.key) if self.key else None
        if self.error:
            parts.notice(self.error, "warn")
        elif standing is not None and standing[0] != "failed":
            parts.waiting(f"{with_capital(standing[1]) or 'Waiting for an estimate'} …", "The answer is on its way")

    def _build_answers(self) -> None:
        if told := self.asked:
            parts.table(ANSWERED, answer_rows(told), caption="Your questions")


def build_measuring(run: Job, result: Any) -> None:
    """A word on what is still measured, or why it is not."""
    if run.is_measuring:
        parts.waiting("The file is ready. What else it is worth is being measured behind it …", "Measuring")
    elif result.get("evaluation_error"):
        parts.why_line(f"It could not be measured further: {as_sentence(result['evaluation_error'])}")
