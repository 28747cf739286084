"""The parts that panels are made of. They take texts, never markup: names come from files of strangers.

Classes are in `static/shoal.css`; Tailwind is off.
"""

from __future__ import annotations

import inspect
import logging
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any

from nicegui import ui

from shoal.app.project.wording import as_sentence
from shoal.app.project.workspace import Workspace
from shoal.errors import ShoalError


def text(words: str, tag: str = "p", classes: str = "") -> ui.element:
    """A paragraph, or another element with nothing but text in it."""
    return ui.html(escape(words), sanitize=False, tag=tag).classes(classes)


def heading(words: str, level: int = 2) -> ui.element:
    return text(words, f"h{level}")


@contextmanager
def card(title: str | None = None, why: str | None = None) -> Iterator[ui.element]:
    """A card with a heading and a line that says why it is there."""
    with ui.element("section").classes("sh-card") as found:
        if title is not None:
            heading(title)
            found.props["aria-label"] = title
        if why is not None:
            why_line(why)
        yield found


def why_line(words: str) -> ui.element:
    """A quiet line that explains what stands above it."""
    return text(words, "p", "sh-why")


def notice(words: str, kind: str = "") -> ui.element:
    """A sentence in a box: kind is empty, good, warn or bad. Screen readers hear it at once."""
    found = text(words, "div", f"sh-notice{f' sh-notice-{kind}' if kind else ''}")
    found.props["role"] = "alert" if kind == "bad" else "status"
    return found


def stat(value: str, label: str, note: str = "", kind: str = "") -> ui.element:
    """A tile with one figure: kind colours it (good, warn, bad)."""
    with ui.element("div").classes(f"sh-stat{f' sh-stat-{kind}' if kind else ''}") as found:
        text(value, "div", "sh-stat-value")
        text(label, "div", "sh-stat-label")
        if note:
            text(note, "div", "sh-stat-note")
    return found


def grid() -> ui.element:
    """Tiles side by side."""
    return ui.element("div").classes("sh-grid")


def columns() -> ui.element:
    """Cards side by side, one below the other on a narrow screen."""
    return ui.element("div").classes("sh-columns")


def row() -> ui.element:
    return ui.element("div").classes("sh-row")


@contextmanager
def empty(title: str, words: str) -> Iterator[ui.element]:
    """What stands where nothing is yet: it says what will be here, and how it gets here. Put the way there inside."""
    with ui.element("div").classes("sh-empty") as found:
        heading(title)
        text(words)
        yield found


def term(word: str, meaning: str) -> ui.element:
    """A word that not everybody knows; a click, or Enter, shows what it means."""
    summary = f"<summary>{escape(word)}</summary><span>{escape(meaning)}</span>"
    return ui.html(summary, sanitize=False, tag="details").classes("sh-term")


def tag(words: str, kind: str = "") -> ui.element:
    return text(words, "span", f"sh-tag{f' sh-tag-{kind}' if kind else ''}")


def chart(svg: str, label: str) -> ui.element:
    """A picture of ours (`shoal.drawing.charts`, `shoal.drawing.bars`), whose texts are escaped already."""
    found = ui.html(svg, sanitize=False).classes("sh-chart")
    found.props["role"], found.props["aria-label"] = "img", label
    return found


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, caption: str, first: int | None = None
) -> ui.element:
    """A plain table of texts; `first` numbers the rows. For a page of rows: keep it under a few hundred."""
    number = "" if first is None else '<th scope="col" class="sh-number">row</th>'
    head = number + "".join(f'<th scope="col">{escape(name)}</th>' for name in header)
    lines = []
    for place, cells in enumerate(rows):
        count = "" if first is None else f'<td class="sh-number">{first + place:,}</td>'
        lines.append(f"<tr>{count}{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>")
    body = (
        f'<table class="sh-table"><caption class="sh-hidden">{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    )
    found = ui.html(body, sanitize=False).classes("sh-table-box")
    found.props["tabindex"], found.props["role"], found.props["aria-label"] = "0", "region", caption
    return found


@contextmanager
def live_table(caption: str, titles: Sequence[str]) -> Iterator[ui.element]:
    """A table whose cells are elements: build its rows inside."""
    with ui.element("div").classes("sh-table-box"), ui.element("table").classes("sh-table"):
        text(caption, "caption", "sh-hidden")
        with ui.element("thead"), ui.element("tr"):
            for title in titles:
                text(title, "th").props["scope"] = "col"
        with ui.element("tbody") as rows:
            yield rows


def turning(
    start: int, at_once: int, total: int, on_turn: Callable[[int], Any], words: tuple[str, str] = ("Before", "More")
) -> None:
    """The buttons below a page of a list that is longer; `on_turn` gets the start of the page to show."""
    if total <= at_once:
        return
    last = min(start + at_once, total)
    with row():
        button(words[0], lambda: on_turn(max(0, start - at_once)), "quiet").set_enabled(start > 0)
        text(f"{start + 1:,} to {last:,} of {total:,}", "span", "sh-why")
        button(words[1], lambda: on_turn(last), "quiet").set_enabled(last < total)


OURS = "This is a bug in Shoal. The file server.log in the workspace says where: please report it."


def said(handler: Callable[..., Any]) -> Callable[..., Any]:
    """A handler whose refusals are shown as sentences: what the user can put right as it is told, a bug in Shoal as such."""

    async def handled(*arguments: Any) -> None:
        try:
            done = handler(*arguments)
            if inspect.isawaitable(done):
                await done
        except ShoalError as error:
            ui.notify(as_sentence(error), type="negative", multi_line=True, timeout=0, close_button="Close")
        except Exception:
            logging.getLogger("shoal.app").exception("in a handler")
            ui.notify(OURS, type="negative", multi_line=True, timeout=0, close_button="Close")

    # As NiceGUI does it: the event goes to functions with a parameter for it, and one with a default is none.
    async def with_event(event: Any) -> None:
        await handled(event)

    async def without() -> None:
        await handled()

    wanted = (p for p in inspect.signature(handler).parameters.values() if p.default is p.empty)
    return with_event if any(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in wanted) else without


def button(words: str, on_click: Callable[[], Any], kind: str = "button") -> ui.button:
    """A button: kind is button (the one thing to do next), quiet or danger."""
    return ui.button(words, on_click=said(on_click), color=None).classes(f"sh-{kind}").props("no-caps unelevated")


def select(
    options: Any, value: Any, label: str, on_change: Callable[[Any], Any], *, width: str = "14rem", quiet: bool = False
) -> ui.select:
    """A choice out of a few. `quiet` shows no label, for a choice in a table; screen readers hear it all the same.

    Quasar gives its label, and no `aria-label`, to the element that has the focus: do not leave it out.
    """
    found = ui.select(options, value=value, label=label, on_change=said(on_change)).style(f"min-width: {width}")
    return found.props("outlined dense options-dense").classes("sh-unlabelled") if quiet else found.props("outlined")


def link_button(words: str, target: str, *, quiet: bool = False, download: bool = False) -> ui.element:
    """A link that looks like a button."""
    found = text(words, "a", f"sh-link-button{' sh-link-quiet' if quiet else ''}")
    found.props["href"] = target
    if download:
        found.props["download"] = ""
    return found


def code(words: str, label: str) -> ui.element:
    """Text to copy, with a button that does."""
    name = f"code-{secrets.token_hex(4)}"
    with ui.element("div") as found:
        ui.html(
            f'<pre class="sh-code" id="{name}" tabindex="0" aria-label="{escape(label)}">{escape(words)}</pre>'
            f'<button type="button" class="sh-copy" data-of="{name}" onclick="shoalCopy(this)">Copy</button>',
            sanitize=False,
        )
    return found


def upload(
    workspace: Workspace,
    label: str,
    hint: str,
    on_file: Callable[[Path], Any],
    *,
    accept: str = "",
) -> ui.element:
    """A place to drop a file on, or to choose one; it is copied into the workspace and handed to `on_file`."""
    event = f"upload-{secrets.token_hex(6)}"
    says = escape(hint)
    found = ui.html(
        f'<label class="sh-drop" data-event="{event}"><strong>{escape(label)}</strong>'
        f'<span class="sh-drop-says" role="status">{says}</span>'
        f'<progress max="1" value="0" hidden aria-label="Upload"></progress>'
        f'<input type="file" aria-label="{escape(label)}" accept="{escape(accept)}" onchange="shoalUpload(this)"></label>',
        sanitize=False,
    )

    async def arrived(arguments: Any) -> None:
        name = str((arguments.args or {}).get("name", ""))
        path = workspace.uploads / Path(name).name
        if path.is_file() and not path.is_symlink():
            await said(on_file)(path)

    ui.on(event, arrived)
    return found


async def confirmed(question: str, consequence: str, yes: str) -> bool:
    """Asks before something is gone for good."""
    with ui.dialog() as dialog, ui.card():
        heading(question)
        text(consequence)
        with row():
            button("Cancel", lambda: dialog.submit(False), "quiet")
            button(yes, lambda: dialog.submit(True), "danger")
    answer = bool(await dialog)
    dialog.delete()
    return answer


def size(count: int) -> str:
    """`12 bytes`, `3.4 MB`."""
    amount = float(count)
    for unit in ("bytes", "KB", "MB", "GB"):
        if amount < 1000 or unit == "GB":
            return f"{amount:,.0f} {unit}" if unit == "bytes" or amount >= 100 else f"{amount:,.1f} {unit}"
        amount /= 1000
    raise AssertionError


def duration(seconds: float) -> str:
    """`4 s`, `3 min 20 s`, `2 h 5 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
