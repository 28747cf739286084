"""The last two cards: sign what is published, having read its limits, and pack all of it into one file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nicegui import ui

from shoal.app.jobs.queue import Job
from shoal.app.panels.release.ending import bundle_name, certificate_of, keys_in, make_bundle, make_key, sign_release
from shoal.app.server.shell import View
from shoal.app.widgets import components as parts
from shoal.certificate.facts import limits_of
from shoal.errors import number_of
from shoal.plan.bundle import SIGNED_BY

ANOTHER = ""
"""The choice of a key that lies in the workspace."""


class Signing:
    """The limits, each to be ticked, and the key. `on_signed` is called when the certificates are new."""

    def __init__(self, view: View, job: Job, name: str, on_signed: Callable[[], None]) -> None:
        self.view, self.job, self.name, self.on_signed = view, job, name, on_signed
        self.content = certificate_of(job)
        self.limits = limits_of(self.content) if self.content else []
        kept = view.project.settings.get("acknowledged") or {}
        self.ticked = {limit for limit in self.limits if limit in (kept.get(job.id) or ())}
        self.key: str | None = None
        self.again = False
        """Whether what is signed is to be signed once more."""
        self._card = ui.refreshable(self._build)

    def build(self) -> None:
        self._card()

    def _build(self) -> None:
        signed_with = (self.content.get("signer") or {}).get("public_key")
        with parts.card(
            "Sign it", "Whoever has your public key can check that the certificate is yours, and unchanged."
        ):
            if signed_with and not self.again:
                self._build_signed(str(signed_with))
                return
            self._build_limits()
            self._build_key()

    def _build_signed(self, key: str) -> None:
        count = len(self.content.get("acknowledged") or ())
        what = f"; it says that you have read all {number_of(count, 'limit')}" if count else ""
        parts.notice(f"The certificate is signed, in all its forms, with the key {key[:16]}…{what}.", "good")
        with parts.row():
            if self.job.output(SIGNED_BY) is not None:
                address = self.view.file(self.job.id, SIGNED_BY)
                parts.link_button("Public key, for those who check", address, quiet=True, download=True)
            parts.button("Sign it again …", self._sign_again, "quiet")
        parts.why_line(
            "Give the public key to those who check by another way than the release, so that nobody can swap both."
        )

    def _sign_again(self) -> None:
        self.again = True
        self._card.refresh()

    def _build_limits(self) -> None:
        parts.text("What this release does not do. The certificate will say that you have read each of these:")
        with parts.element("ul", "sh-list", aria_label="Limits to acknowledge"):
            for limit in self.limits:
                with parts.element("li"):
                    ui.checkbox(limit, value=limit in self.ticked, on_change=parts.speaking(self._tick(limit)))

    def _tick(self, limit: str) -> Callable[[Any], None]:
        def tick(event: Any) -> None:
            (self.ticked.add if event.value else self.ticked.discard)(limit)
            kept = self.view.project.settings.get("acknowledged") or {}
            self.view.project.set(acknowledged=kept | {self.job.id: sorted(self.ticked)})
            self._button.set_enabled(len(self.ticked) == len(self.limits))

        return tick

    def _build_key(self) -> None:
        keys = keys_in(self.view.workspace)
        self.key = self.key if self.key in keys or self.key == ANOTHER else next(iter(keys), None)
        if keys or self.key == ANOTHER:
            self._build_choice(keys)
        with ui.expansion("Make a key" if not keys else "Make another key").classes("sh-wide") as making:
            making.value = not keys
            self._build_making()

    def _build_choice(self, keys: dict[str, str]) -> None:
        with parts.row():

            def choose(event: Any) -> None:
                self.key = event.value
                self._card.refresh()

            choices = keys | {ANOTHER: "A key file in the workspace"}
            parts.select(choices, self.key, "Your key", choose, width="16rem")
            named = ui.input("Name of the file").props("outlined") if self.key == ANOTHER else None
            passphrase = _secret("Its passphrase")

            async def sign() -> None:
                given, passphrase.value = str(passphrase.value or ""), ""
                place = self.view.workspace.file_called(str(named.value or "")) if named else Path(str(self.key))
                chosen = list(self.ticked)
                await asyncio.to_thread(sign_release, self.job, self.name, place, given, chosen)
                self.on_signed()

            self._button = parts.button("Sign the certificate", sign)
            self._button.set_enabled(len(self.ticked) == len(self.limits))
        parts.why_line("The passphrase opens the key for this one signature and is kept nowhere.")

    def _build_making(self) -> None:
        with parts.row():
            name = ui.input("Name of the key, such as yours").props("outlined").style("min-width: 17rem")
            first, again = _secret("A passphrase"), _secret("The same once more")

            async def make() -> None:
                given = str(first.value or ""), str(again.value or "")
                first.value = again.value = ""
                path = await asyncio.to_thread(make_key, self.view.workspace, str(name.value or ""), *given)
                self.key = str(path)
                self._card.refresh()

            parts.button("Make it", make, "quiet")
        parts.why_line(
            "It lies in the workspace, locked, for you alone. Nobody can bring back a passphrase: without it, make a new key."
        )


def _secret(label: str) -> ui.input:
    field = ui.input(label, password=True).props("outlined autocomplete=off")
    return field.style("min-width: 12rem")


def build_bundle(view: View, run: Job, job: Job, name: str) -> None:
    """The card of the bundle."""

    @ui.refreshable
    def standing() -> None:
        packed = job.output(bundle_name(name))
        with parts.row():
            if packed is None:
                parts.button("Make the bundle", make)
                if "signature" not in certificate_of(job):
                    parts.text("The certificate in it will not be signed.", "span", "sh-why")
            else:
                parts.link_button(f"Save {packed.name}", view.file(job.id, packed.name), download=True)
                parts.text(parts.size(packed.stat().st_size), "span", "sh-why")

    async def make() -> None:
        await asyncio.to_thread(make_bundle, run, job, name)
        standing.refresh()

    with parts.card("All in one file", "For your board and your archive: what is published, and what makes it again."):
        standing()
        parts.why_line(
            "In publish: the data and the certificates. In rebuild: the plan, its trees, a script and a notebook that make the release "
            "and its charts again, wherever it is unpacked. Your original is not packed; lay it there. Publish the first folder alone."
        )
