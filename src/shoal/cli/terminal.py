"""What a command shows, and where: results on standard output, notices and progress on standard error.

Names come from files of strangers. They are shown as text, never as markup, and characters that would steer the terminal
are spelled out.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import shlex
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TextIO

from shoal.errors import Message, PromiseWarning, render, visible
from shoal.options import OPTIONS
from shoal.passwords import without_passwords

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from shoal.algorithms.recoding import Progress
    from shoal.records.baskets import Baskets
    from shoal.studies.study import Tally

show_values = False
"""Whether --show-values was given."""
WIDTH = 110
"""Of tables that go to a file or a pipe."""

_NOT_ASCII = re.compile(r"[^\x00-\x7e]")


def printable(text: str) -> str:
    """The text on one line, with control characters spelled out; a note in words of the command line."""
    return visible(render(text, on_command_line, show_values=values_shown(sys.stdout)))


def show_notes(notes: Iterable[str], out: Console) -> None:
    for note in notes:
        out.print(f"note: {printable(note)}", style="yellow", soft_wrap=True)


def share(count: int, rows: int) -> str:
    """`12 (3.4%)` of so many rows."""
    return f"{count:,} ({count / max(1, rows):.1%})"


def say(message: str) -> None:
    """A notice on standard error."""
    sys.stdout.flush()
    text = without_passwords(render(message, on_command_line, show_values=values_shown(sys.stderr)))
    print(f"shoal: {printable(text)}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def warnings_told() -> Iterator[None]:
    """Says what a promise is warned of once, in a line of its own."""
    heard: set[str] = set()

    def hear(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if not issubclass(category, PromiseWarning):
            show(message, category, *place, **more)
        elif str(message) not in heard:
            heard.add(str(message))
            say(str(message))

    with warnings.catch_warnings():
        show, warnings.showwarning = warnings.showwarning, hear
        warnings.simplefilter("always", PromiseWarning)
        yield


def on_command_line(name: str, value: str | None) -> str:
    """An option as it is typed."""
    if name == "shell":
        return str(value)
    flag = OPTIONS[name].flag if name in OPTIONS else f"--{name.replace('_', '-')}"
    return flag if value is None else f"{flag} {shlex.quote(value)}"


def values_shown(stream: TextIO) -> bool:
    """Whether messages on a stream may name values of the data: to an owner at a terminal, or when asked for, but in no log."""
    return show_values or stream.isatty()


def program() -> str:
    """How to call this program from here: by its name where a shell would find it by that, else by its path."""
    running, found = sys.argv[0], shutil.which("shoal")
    if found and os.path.exists(running) and os.path.samefile(found, running):
        return "shoal"
    if os.path.basename(running) == "shoal":
        return _path_from_here(running)
    return f"{_path_from_here(sys.executable)} -m shoal"


def _path_from_here(path: str) -> str:
    below = os.path.relpath(path) if os.path.abspath(path).startswith(os.path.join(os.getcwd(), "")) else path
    return shlex.quote(below if os.sep in below else os.path.join(os.curdir, below))


def print_json(document: Mapping[str, Any]) -> None:
    """The one document on standard output, UTF-8 whatever the terminal speaks."""
    text = json_text(document)
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()


def json_text(document: Mapping[str, Any]) -> str:
    """A document as it is printed, with characters that would steer a terminal escaped."""
    text = json.dumps(_in_words(document), indent=2, ensure_ascii=False) + "\n"
    return _NOT_ASCII.sub(lambda found: found[0] if found[0].isprintable() else json.dumps(found[0])[1:-1], text)


def _in_words(part: Any) -> Any:
    """A document whose notes speak of flags."""
    if isinstance(part, Message):
        return part.render(on_command_line, show_values=show_values)
    if isinstance(part, Mapping):
        return {key: _in_words(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [_in_words(value) for value in part]
    return part


def console(*, stderr: bool = False) -> Console:
    """Where tables and sentences go; standard error when standard output carries data."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(file=stream, markup=False, emoji=False, highlight=False, width=None if stream.isatty() else WIDTH)


def table(*columns: str, title: str | None = None) -> Table:
    """A plain table. A column whose name begins with `>` is aligned to the right."""
    from rich import box
    from rich.table import Table

    made = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        made.add_column(name.removeprefix(">"), justify="right" if name.startswith(">") else "left", overflow="fold")
    return made


def show_rows(baskets: Baskets, output: str, facts: Mapping[str, Any], as_json: bool, remark: str = "") -> None:
    """What a command drew and wrote; `facts` say how."""
    if as_json:
        print_json(facts)
        return
    figures = f"{len(baskets):,} rows, {len(baskets.vocabulary):,} items, {baskets.occurrences:,} occurrences"
    console(stderr=output == "-").print(f"{printable(output)}: {figures}{remark}", soft_wrap=True)


@contextlib.contextmanager
def progress() -> Iterator[Progress | None]:
    """Tell it what is going on and which share is done. None where nobody is watching."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn()
    with Bars(*columns, console=console(stderr=True), transient=True) as bars:
        task = bars.add_task("starting", total=1.0)

        def tell(doing: str, share: float, *, best: float | None = None, bound: float | None = None) -> None:
            bars.update(task, description=printable(doing), completed=share)

        yield tell


@contextlib.contextmanager
def study_progress(words: Callable[[Tally], str], every: float) -> Iterator[Callable[[Tally], None]]:
    """Tell it how far a study is: a bar where somebody watches, else a line on standard error every so many seconds."""
    said = [time.monotonic(), -1]
    with progress() as tell:

        def watch(tally: Tally) -> None:
            if tell is not None:
                tell(words(tally), tally.finished / max(1, tally.total))
            elif time.monotonic() - said[0] >= every and tally.finished != said[1]:
                said[:] = [time.monotonic(), tally.finished]
                say(words(tally))

        yield watch


def duration(seconds: float) -> str:
    """`40 s`, `3 min`, `2 h 5 min`."""
    if seconds < 90:
        return f"{math.ceil(seconds)} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
