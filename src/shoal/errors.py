"""The errors a user may want to catch. Each knows the exit code the command line gives it.

    ShoalError
    ├── InputError    the data, a file or a parameter is not usable (exit code 2); as Unavailable, a disk or a server failed
    └── Unreachable   the input is fine, but the promise does not hold or cannot be reached (exit code 3)

A message is one sentence that names the place (file, line, column) and the remedy, and never a value of the data: messages end up in
logs. Values that the owner of the data may see, such as an item that a tree lacks, travel beside the text (`values`); `VALUES` in the
text marks where they belong. Options are mentioned by name (`option`). So each face says the same sentence its own way: the command line
speaks of `--force` and shows values at a terminal, a plan speaks of its keys, and Python, where `str(error)` is read, of `force=True`.
"""

from __future__ import annotations

import difflib
import re
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

from shoal.passwords import without_passwords

VALUES = "\ufdd2"
"""Where the values of a message stand, in brackets, if they are shown at all."""

Wording = Callable[[str, str | None], str]
"""How a face mentions an option: from its name as a keyword, and the value to give it if one is meant."""

_OPTION = re.compile("\ufdd0([^\ufdd0\ufdd1]*)\ufdd1")  # code points that no text may hold
_SWITCHES = frozenset({"force", "keep_order", "same_order", "one_hot"})
_GUARANTEES = {
    "km": "KmAnonymity",
    "k": "KAnonymity",
    "rt": "RTAnonymity",
    "lm": "LmDiversity",
    "diversity": "MatchingDiversity",
    "constraints": "ConstraintAnonymity",
    "chunks": "ChunkAnonymity",
}
_MOST, _LONGEST, _LOOKED = 5, 60, 200


def option(name: str, value: object = None) -> str:
    """A mention of an option inside a message, by its keyword; with the value that is meant, if one is. `shell` is a whole command."""
    return f"\ufdd0{name}\ufdd1" if value is None else f"\ufdd0{name} {value}\ufdd1"


def in_python(name: str, value: str | None) -> str:
    """An option as a caller of the library writes it."""
    if name == "model" and value is not None:
        return _GUARANTEES.get(value, value)
    if name == "engine":
        return "shoal.spark"
    if name == "shell" and value is not None:
        return value.partition(" --")[0]
    if value is None:
        return f"{name}=True" if name in _SWITCHES else f"{name}="
    if name == "hierarchy" and value == "COL=SPEC":
        return "hierarchy={COL: SPEC}"
    return f"{name}={value}" if value.replace(".", "", 1).isdecimal() or value.isupper() else f"{name}={value!r}"


class Message(str):
    """A sentence as Python reads it, with what other faces need to say it their way."""

    text: str
    """The sentence with its mentions of options, and the mark where values stand."""
    values: tuple[str, ...]

    def __new__(cls, text: str, values: Iterable[object] = ()) -> Self:
        text = without_passwords(text)
        made = super().__new__(cls, _worded(text, in_python).replace(VALUES, ""))
        made.text, made.values = text, tuple(map(str, values))
        return made

    def render(self, wording: Wording = in_python, *, show_values: bool = False) -> str:
        """The sentence in the words of a face."""
        shown = f" ({short_list(self.values)})" if show_values and self.values else ""
        return _worded(self.text, wording).replace(VALUES, without_passwords(shown))


class ShoalError(Exception):
    """Base of everything Shoal raises on purpose.

    Attributes:
        exit_code: What the command line ends with: 1, 2 (InputError) or 3 (Unreachable).

    >>> import shoal
    >>> try:
    ...     shoal.read("nofile.csv")
    ... except shoal.ShoalError as error:
    ...     print(error.exit_code, error)
    2 nofile.csv: there is no such file; check the path 'nofile.csv'
    """

    exit_code = 1

    def __init__(self, text: str, *, values: Iterable[object] = ()) -> None:
        self.message = Message(text, values)
        super().__init__(str(self.message))

    @property
    def values(self) -> tuple[str, ...]:
        """Values of the data that its owner may see beside the message. `str(error)` shows none."""
        return self.message.values

    def within(self, before: str, after: str = "") -> Self:
        """The same error with more about its place before the sentence, or another remedy after it."""
        return self._saying(f"{before}{self.message.text}{after}")

    def in_words(self, wording: Wording) -> Self:
        """The same error, whose mentions of options are now words of a face."""
        return self._saying(_worded(self.message.text, wording))

    def render(self, wording: Wording = in_python, *, show_values: bool = False) -> str:
        """The message in the words of a face."""
        return self.message.render(wording, show_values=show_values)

    def _saying(self, text: str) -> Self:
        """The same error, with all that it carries, in other words."""
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__, message=Message(text, self.values))
        made.args = (str(made.message),)
        return made


class PromiseWarning(UserWarning):
    """A promise that is kept by any data, and so says nothing."""


class InputError(ShoalError):
    """Bad input or usage: a missing file, a broken line, an unknown item, an impossible parameter.

    >>> import shoal
    >>> try:
    ...     shoal.KmAnonymity(k=0, m=2)
    ... except shoal.InputError as error:
    ...     print(error)
    k must be a whole number of at least 1, not 0
    """

    exit_code = 2


class Unavailable(InputError):  # noqa: N818 - reads as what it says
    """A disk or a server failed, which says nothing about what it holds."""


class Unreachable(ShoalError):  # noqa: N818 - reads as what it says
    """The guarantee does not hold, or no recoding can reach it.

    Attributes:
        witnesses: Who shows it, where somebody does: values of the data, which the message never holds.
        remedy: Options with a value that would do, where one is known.

    >>> import shoal
    >>> try:
    ...     shoal.audit([["milk"], ["milk"], ["gin"]], shoal.KmAnonymity(k=2, m=1)).require()
    ... except shoal.Unreachable as error:
    ...     print(error.witnesses[0].items)
    ('gin',)
    """

    exit_code = 3

    def __init__(
        self,
        text: str = "",
        witnesses: Sequence[Any] = (),
        *,
        values: Iterable[object] = (),
        remedy: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__(text, values=values)
        self.remedy = dict(remedy or {})
        """Options with a value that would do, where one is known."""
        self.witnesses = tuple(witnesses)
        """Who shows it, where somebody does: values of the data, which the message never holds."""


def render(message: str, wording: Wording = in_python, *, show_values: bool = False) -> str:
    """A note in the words of a face; a plain text as it is."""
    return message.render(wording, show_values=show_values) if isinstance(message, Message) else message


def near_miss(name: str, known: Iterable[str]) -> str:
    """A question for the middle of a sentence, where one of the known names is near the given one."""
    near = difflib.get_close_matches(name, list(known)[:_LOOKED], 1)
    return f"is {short_list(near)!r} meant? " if near else ""


def way_to(error: BaseException) -> str:
    """The way to a bug in Shoal, for whoever fixes it: its kind and the lines of code, without what it says, which may quote the data."""
    return "".join(traceback.format_tb(error.__traceback__)) + f"{type(error).__name__}\n"


def short_list(names: Sequence[str], limit: int = _MOST) -> str:
    """The first few names for a message of one line: long ones are shortened, line breaks and the like written out."""
    plain = [name if name.isprintable() else repr(name)[1:-1] for name in names[:limit]]
    shown = [name if len(name) <= _LONGEST else f"{name[: _LONGEST - 3]}..." for name in plain]
    return ", ".join(shown) + (", ..." if len(names) > limit else "")


def _worded(text: str, wording: Wording) -> str:
    def mention(found: re.Match[str]) -> str:
        name, _, value = found[1].partition(" ")
        return wording(name, value or None)

    return _OPTION.sub(mention, text)


def number_of(count: int, one: str, many: str | None = None) -> str:
    """How many they are, in words: `1 row`, `2,345 rows`; `many` where an s does not do."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def visible(text: str) -> str:
    """The text on one line, with characters that would steer a terminal or a page spelled out."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def check_rows(rows: int, guarantee: Any) -> None:
    """Raises where there are fewer rows than have to be alike."""
    if rows < guarantee.k:
        raise Unreachable(
            f"{guarantee} cannot be reached: k = {guarantee.k:,}, but there {only_so_many(rows, 'row')}; choose a smaller k"
        )


def only_so_many(count: int, one: str) -> str:
    """What goes on after `there`: `is only 1 row`, `are only 12 rows`."""
    return f"{'is' if count == 1 else 'are'} only {number_of(count, one)}"
