"""Release: the file in a chosen format with the certificate that is about its very bytes, and the same as a plan, a command and a script.

A run has written its release once. Another format or name is written from that file by a worker (`tasks.rewrite`), rows in the same order,
with certificates of its own, and kept. All that can be saved lies in the folders of these jobs.
"""

from __future__ import annotations

from typing import Any

from nicegui import ui

from shoal.app.jobs.queue import Job
from shoal.app.panels import Panel
from shoal.app.panels.release.ending_cards import Signing, build_bundle
from shoal.app.panels.release.handover import (
    PLAN,
    ask_for,
    formats_of,
    made_name,
    out_of_date,
    put_plan,
    recipe,
    standing,
    stem_of,
    wanted_name,
)
from shoal.app.panels.result.result_panel import build_choice, needs_run, shown_run
from shoal.app.panels.result.results import counts_people
from shoal.app.project.own_files import read_json
from shoal.app.project.wording import COUNTED
from shoal.app.server.shell import View
from shoal.app.widgets import components as parts
from shoal.errors import number_of
from shoal.records.layout import format_of

LOOKS = 0.7
_FORMS = {
    "certificate.pdf": "Certificate, PDF",
    "certificate.html": "Certificate, web page",
    "certificate.json": "Certificate, JSON",
}


def build(view: View) -> None:
    run = shown_run(view)
    assert run is not None
    build_choice(view, run)
    _Handing(view, run).build()


class _Handing:
    """What is handed over of one run, under the name that is chosen."""

    def __init__(self, view: View, run: Job) -> None:
        self.view = view
        self.run = run
        kept = view.project.settings.get("release") or {}
        self.name = str(kept["name"]) if kept.get("run") == run.id else made_name(run)
        self._files = ui.refreshable(self._build_files)
        self._recipe = ui.refreshable(self._build_recipe)
        self.seen: Any = None

    def build(self) -> None:
        forms = formats_of(self.run)
        form = format_of(self.name)[0] or "csv"
        forms.setdefault(form, form)
        with (
            parts.card(
                "The file", "Choose how the release is written. Rows and their order stay the same in every format."
            ),
            parts.row(),
        ):
            self.form = parts.select(forms, form, "Format", lambda event: self._choose(), width="16rem")
            self.stem = ui.input("Name of the file", value=stem_of(self.name), on_change=parts.speaking(self._choose))
            self.stem.props("outlined debounce=500").style("min-width: 18rem")
        self._files()
        self._recipe()
        self.timer = ui.timer(LOOKS, parts.speaking(self._look), active=self._standing().is_coming)

    def _standing(self) -> Any:
        return standing(self.view.jobs, self.view.project, self.run, self.name)

    def _choose(self) -> None:
        if not str(self.stem.value or "").strip():  # somebody is typing
            return
        name = wanted_name(str(self.stem.value), str(self.form.value))
        made = made_name(self.run)
        if (stem_of(made), format_of(made)[0]) == (stem_of(name), format_of(name)[0]):
            name = made  # endings such as .csv.gz or .txt are the run's own
        if name != self.name:
            self.name = name
            self.view.project.set(release={"run": self.run.id, "name": name})
            self._refresh()

    def _refresh(self) -> None:
        self.timer.active = self._standing().is_coming
        self._files.refresh()
        self._recipe.refresh()

    def _look(self) -> None:
        found = self._standing()
        now = None if found.job is None else found.job.status
        if now != self.seen:
            self._refresh()

    def _write(self) -> None:
        ask_for(self.view.jobs, self.view.project, self.run, self.name)
        self._refresh()

    def _build_files(self) -> None:
        found = self._standing()
        self.seen = None if found.job is None else found.job.status
        with parts.card(
            "To publish", "These two belong together: whoever has both can check the promise with shoal verify."
        ):
            if found.is_there:
                self._build_public(found.job)
            elif found.is_coming:
                if found.job.status == "queued":
                    parts.notice(self.view.jobs.waiting_words(found.job))
                else:
                    parts.notice(f"{self.name} is being written and read again. It goes on if you leave this page.")
                parts.button("Cancel", lambda: self._cancel(found.job), "danger")
            else:
                if found.job is not None and found.job.status == "failed":
                    parts.notice(found.job.error or "It failed, and did not say why.", "bad")
                parts.text(f"{self.name} is not written yet. It takes about as long as reading the release.")
                parts.button(f"Write {self.name}", self._write)
        if found.is_there:
            Signing(self.view, found.job, self.name, self._refresh).build()
            build_bundle(self.view, self.run, found.job, self.name)
        with parts.card("For you, not for publication"):
            parts.notice(
                "Do not publish these. The rules tell what became of what, rare values by name, and help to undo the release; the report "
                "has exact figures, from which counts of rare things follow; the plan names your files and columns.",
                "warn",
            )
            text = recipe(self.view.workspace, self.run, self.name).plan
            put_plan(self.run, text)
            with parts.row():
                if self.run.output("rules.csv") is not None:
                    parts.link_button("Rules, CSV", self.view.file(self.run.id, "rules.csv"), quiet=True, download=True)
                if self.run.output("report.json") is not None:
                    parts.link_button(
                        "Report, JSON", self.view.file(self.run.id, "report.json"), quiet=True, download=True
                    )
                parts.link_button(
                    "Plan for this workspace, YAML", self.view.file(self.run.id, PLAN), quiet=True, download=True
                )

    def _cancel(self, job: Job) -> None:
        self.view.jobs.cancel(job)
        self._refresh()

    def _build_public(self, job: Job) -> None:
        parts.notice(
            "Safe to publish, as far as the promise goes: the audit passed these very rows, and the file was read again after writing.",
            "good",
        )
        release = self.run.result["release"]
        if counts_people(self.run.result):
            parts.why_line(COUNTED)
        for warning in read_json(job.folder / "out" / "certificate.json").get("warnings", ()):
            parts.notice(str(warning), "warn")
        path = job.output(self.name)
        with parts.row():
            if path is not None:
                parts.link_button(f"Save {self.name}", self.view.file(job.id, self.name), download=True)
                parts.text(f"{number_of(release['rows'], 'row')}, {parts.size(path.stat().st_size)}", "span", "sh-why")
        with parts.row():
            for name, words in _FORMS.items():
                if job.output(name) is not None:
                    parts.link_button(words, self.view.file(job.id, name), quiet=True, download=True)
            if job.output("certificate.html") is not None:
                address = f"{self.view.file(job.id, 'certificate.html')}?show"
                parts.link("Read the certificate", address, target="_blank", rel="noopener")
        sha256 = job.result.get("sha256") or release["output_sha256"]
        parts.why_line(f"SHA-256 of the file, as in its certificate: {sha256}")
        parts.why_line(
            "Think of what the promise does not cover before you publish: it is listed in the certificate. Several releases of the same "
            "people can be combined; publish one of them, or publish in a series, which the command line and Python do."
        )

    def _build_recipe(self) -> None:
        found = recipe(self.view.workspace, self.run, self.name)
        with parts.card(
            "The same without the app",
            "For a shell or a script in the folder of the workspace. It keeps the same promise in the same way; rows are shuffled anew, so "
            "the file has other bytes and gets a certificate of its own.",
        ):
            parts.heading("The folder", 3)
            parts.code(str(self.view.workspace.folder), "The folder of the workspace")
            parts.heading("As a command", 3)
            parts.code(found.command, "The command")
            parts.heading("As Python", 3)
            parts.code(found.script, "The Python script")
            with ui.expansion("As a plan, for shoal run plan.yaml").classes("sh-wide"):
                parts.code(found.plan, "The plan")


PANEL = Panel(
    "release",
    "Release",
    "Save the release and its certificate, and what you need to make it again.",
    build,
    needs_run,
    stale=out_of_date,
)
