"""The parts that panels are made of. They take texts, never markup: names come from files of strangers.

Classes are in `static/shoal.css`; Tailwind is off.
"""

from __future__ import annotations

import inspect
import logging
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from html import escape
from pathlib import Path
from typing import Any, TypeVar

from nicegui import ui

from shoal.app.project.project import Project
from shoal.app.project.wording import as_sentence, with_capital
from shoal.app.project.workspace import Workspace, too_large
from shoal.errors import ShoalError
from shoal.guarantees.registry import GUARANTEES

E = TypeVar("E", bound=ui.element)


def element(tag: str, classes: str = "", **props: str) -> ui.element:
    """An element with attributes; `aria_label` is `aria-label`."""
    return _with(ui.element(tag).classes(classes), props)


def text(words: str, tag: str = "p", classes: str = "", **props: str) -> ui.html:
    """A paragraph, or another element with nothing but text in it."""
    return _with(ui.html(escape(words), sanitize=False, tag=tag).classes(classes), props)


def _with(made: E, props: Mapping[str, str]) -> E:
    for name, value in props.items():
        made.props[name.replace("_", "-")] = address(value) if name == "href" and value.startswith("/") else value
    return made


def address(path: str) -> str:
    """An address of the app as the browser knows it: behind a proxy it may lie in a folder."""
    return f"{ui.context.client.request.headers.get('x-forwarded-prefix', '')}{path}"


def add_static(name: str) -> None:
    """Has the page load the style and the script of this name."""
    place = address(f"/static/{name}")
    ui.add_head_html(f'<link rel="stylesheet" href="{place}.css"><script src="{place}.js"></script>')


def stays(workspace: Workspace) -> str:
    """Where a file goes that a browser brings."""
    return (
        "It does not leave this machine." if workspace.host is None else f"It goes to {workspace.host}, and no further."
    )


def say(found: ui.html, words: str) -> None:
    """Changes a text that was made before, if it is another."""
    content = escape(words)
    if found.content != content:
        found.set_content(content)


def link(words: str, href: str, **props: str) -> ui.html:
    return text(words, "a", href=href, **props)


def heading(words: str, level: int = 2) -> ui.element:
    return text(words, f"h{level}")


@contextmanager
def card(title: str | None = None, why: str | None = None) -> Iterator[ui.element]:
    """A card with a heading and a line that says why it is there."""
    with element("section", "sh-card") as made:
        if title is not None:
            heading(title)
            made.props["aria-label"] = title
        if why is not None:
            why_line(why)
        yield made


def why_line(words: str) -> ui.element:
    """A quiet line that explains what stands above it."""
    return text(words, "p", "sh-why")


def notice(words: str, kind: str = "") -> ui.element:
    """A sentence in a box: kind is empty, good, warn or bad. Screen readers hear it at once."""
    role = "alert" if kind == "bad" else "status"
    return text(words, "div", f"sh-notice{f' sh-notice-{kind}' if kind else ''}", role=role)


def stat(value: str, label: str, note: str = "", kind: str = "") -> ui.element:
    """A tile with one figure: kind colours it (good, warn, bad)."""
    with element("div", f"sh-stat{f' sh-stat-{kind}' if kind else ''}") as made:
        text(value, "div", "sh-stat-value")
        text(label, "div", "sh-stat-label")
        if note:
            text(note, "div", "sh-stat-note")
    return made


def grid() -> ui.element:
    """Tiles side by side."""
    return element("div", "sh-grid")


def columns() -> ui.element:
    """Cards side by side, one below the other on a narrow screen."""
    return element("div", "sh-columns")


def row() -> ui.element:
    return element("div", "sh-row")


def main() -> ui.element:
    """What a page is about, for those who skip the rest."""
    return element("div", "sh-main", id="main", tabindex="-1")


def empty(title: str, words: str) -> ui.element:
    """What stands where nothing is yet: it says what will be here, and how it gets here. Put the way there inside."""
    with element("div", "sh-empty") as made:
        heading(title)
        text(words)
    return made


def points(title: str, sentences: Iterable[str]) -> None:
    """Sentences behind a click."""
    with ui.expansion(title).classes("sh-wide"), element("ul"):
        for sentence in sentences:
            text(sentence, "li")


def waiting(words: str, label: str | None = None) -> None:
    """What is being waited for, and a bar that says so."""
    text(words, "p", "sh-why", role="status")
    bar = ui.linear_progress(show_value=False).props("indeterminate").classes("sh-wide")
    bar.props["aria-label"] = label or words


def term(word: str, meaning: str) -> ui.element:
    """A word that not everybody knows; a click, or Enter, shows what it means."""
    summary = f"<summary>{escape(word)}</summary><span>{escape(meaning)}</span>"
    return ui.html(summary, sanitize=False, tag="details").classes("sh-term")


def quasi_term(kind: str | None) -> None:
    """Explains a word that promises about columns have in them."""
    if kind in GUARANTEES and "quasi" in GUARANTEES[kind].roles:
        term("What are quasi-identifiers?", "The columns that others may know of a person, as you said in Data.")


def tag(words: str, kind: str = "") -> ui.element:
    return text(words, "span", f"sh-tag{f' sh-tag-{kind}' if kind else ''}")


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, caption: str, first: int | None = None
) -> ui.element:
    """A plain table of texts; `first` numbers the rows. For a page of rows: keep it under a few hundred."""
    number = "" if first is None else '<th scope="col" class="sh-number">row</th>'
    head = number + "".join(f'<th scope="col">{escape(name)}</th>' if name else "<td></td>" for name in header)
    lines = []
    for place, cells in enumerate(rows):
        count = "" if first is None else f'<td class="sh-number">{first + place:,}</td>'
        lines.append(f"<tr>{count}{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>")
    body = (
        f'<table class="sh-table"><caption class="sh-hidden">{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    )
    made = ui.html(body, sanitize=False).classes("sh-table-box")
    return _with(made, {"tabindex": "0", "role": "region", "aria_label": caption})


Cell = str | Callable[[], Any]
"""A text, or what builds the cell."""


def live_table(caption: str, titles: Sequence[str], rows: Iterable[Sequence[Cell]]) -> None:
    """A table whose cells may be more than texts. The first cell of a row names it; without titles there is no header."""
    with element("div", "sh-table-box"), element("table", "sh-table"):
        text(caption, "caption", "sh-hidden")
        if titles:
            with element("thead"), element("tr"):
                for title in titles:
                    text(title, "th", scope="col") if title else element("td")
        with element("tbody"):
            for first, *cells in rows:
                with element("tr"):
                    text(str(first), "th", scope="row")
                    for cell in cells:
                        if callable(cell):
                            with element("td"):
                                cell()
                        else:
                            text(cell, "td")


def turning(
    start: int,
    at_once: int,
    total: int | None,
    on_turn: Callable[[int], Any],
    what: str,
    *,
    shown: int | None = None,
    of: str = "",
) -> None:
    """Where one is in a list of which a page shows a part, and the buttons to turn to other parts; `on_turn` gets their start.

    While nobody has counted, `total` is None, and `shown` says how much there is to see.
    """
    last = min(start + at_once, total) if shown is None and total is not None else start + (shown or 0)
    is_last = (shown or at_once) < at_once if total is None else last >= total
    ways = [("First", 0, start > 0), ("Previous", max(0, start - at_once), start > 0), ("Next", last, not is_last)]
    if total is not None:
        ways.append(("Last", max(0, (total - 1) // at_once * at_once), not is_last))
    with row():
        for words, to, can in ways:
            if words == "Next":
                text(
                    f"{start + 1:,} to {last:,}{'' if total is None else f' of {total:,}'} {what}",
                    "span",
                    "sh-why",
                    role="status",
                )
            if start or not is_last:
                button(words, partial(on_turn, to), "quiet", f"{words} {what}{of and f': {of}'}").set_enabled(can)


OURS = "This is a bug in Shoal. The file server.log in the workspace says where: please report it."


def speaking(handler: Callable[..., Any]) -> Callable[..., Any]:
    """A handler whose refusals are shown as sentences: what the user can put right as it is, a bug of Shoal as one."""

    async def run(*arguments: Any) -> None:
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
        await run(event)

    async def without() -> None:
        await run()

    wanted = (p for p in inspect.signature(handler).parameters.values() if p.default is p.empty)
    return with_event if any(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in wanted) else without


def button(words: str, on_click: Callable[[], Any], kind: str = "button", label: str | None = None) -> ui.button:
    """A button: kind is button (the one thing to do next), quiet or danger. `label` says more to those who do not see where it stands."""
    made = ui.button(words, on_click=speaking(on_click), color=None).classes(f"sh-{kind}").props("no-caps unelevated")
    if label is not None:
        made.props["aria-label"] = label
    return made


def undo_buttons(project: Project, on_step: Callable[[], Any]) -> None:
    """Undo and redo for the draft of a project."""

    def go(step: Callable[[], bool]) -> None:
        if step():
            on_step()

    button("Undo", lambda: go(project.undo), "quiet").set_enabled(project.can_undo)
    button("Redo", lambda: go(project.redo), "quiet").set_enabled(project.can_redo)


def search_field(label: str, on_change: Callable[[str], Any]) -> ui.input:
    """A field whose text is searched for a moment after it was typed."""
    field = ui.input(label, on_change=speaking(lambda event: on_change(str(event.value or "").strip())))
    return field.props("outlined dense clearable debounce=300").style("max-width: 22rem")


def select(
    options: Any, value: Any, label: str, on_change: Callable[[Any], Any], *, width: str = "14rem", quiet: bool = False
) -> ui.select:
    """A choice out of a few. `quiet` shows no label, for a choice in a table; screen readers hear it all the same.

    Quasar gives its label, and no `aria-label`, to the element that has the focus: do not leave it out.
    """
    made = ui.select(options, value=value, label=label, on_change=speaking(on_change)).style(f"min-width: {width}")
    return made.props("outlined dense options-dense").classes("sh-unlabelled") if quiet else made.props("outlined")


def link_button(words: str, target: str, *, quiet: bool = False, download: bool = False) -> ui.element:
    """A link that looks like a button."""
    more = {"download": ""} if download else {}
    return text(words, "a", f"sh-link-button{' sh-link-quiet' if quiet else ''}", href=target, **more)


def code(words: str, label: str) -> ui.element:
    """Text to copy, with a button that does."""
    name = f"code-{secrets.token_hex(4)}"
    with element("div") as made:
        ui.html(
            f'<pre class="sh-code" id="{name}" tabindex="0" aria-label="{escape(label)}">{escape(words)}</pre>'
            f'<button type="button" class="sh-copy" data-of="{name}" onclick="shoalCopy(this)">Copy</button>',
            sanitize=False,
        )
    return made


def upload(workspace: Workspace, label: str, on_file: Callable[[Path], Any], *, accept: str = "") -> ui.element:
    """A place to drop a file on, or to choose one; it is copied into the workspace and handed to `on_file`."""
    hint = stays(workspace)
    event = f"upload-{secrets.token_hex(6)}"
    made = ui.html(
        f'<label class="sh-drop" data-event="{event}" data-limit="{workspace.upload_limit}" '
        f'data-hint="{escape(hint)}" '
        f'data-too-large="{escape(with_capital(too_large("This file", workspace.upload_limit)))}."><strong>{escape(label)}</strong>'
        f'<span class="sh-drop-says" role="status">{escape(hint)}</span>'
        f'<progress max="1" value="0" hidden aria-label="Upload"></progress>'
        f'<input type="file" aria-label="{escape(label)}" accept="{escape(accept)}" onchange="shoalUpload(this)"></label>',
        sanitize=False,
    )

    async def take(arguments: Any) -> None:
        name = str((arguments.args or {}).get("name", ""))
        path = workspace.uploads / Path(name).name
        if path.is_file() and not path.is_symlink():
            await speaking(on_file)(path)

    ui.on(event, take)
    return made


async def is_sure(question: str, consequence: str, yes: str) -> bool:
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
