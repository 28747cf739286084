"""Numbers and dates as people write them: 3,5 and 1.234,50, or 03.04.2024, in the columns of which their owner says so.

Inside, a number has a point and a date stands as 2024-04-03, so that ranges, trees and limits need to know one spelling. What is read is
respelled and what is published is spelled back, text by text: a range `[3.5:4.2]` becomes `[3,5:4,2]`. A column whose values would not all
come back character by character is refused, so that nothing is merged: there one number would be spelled in two ways, or is no such number.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

from shoal.errors import VALUES, InputError, option
from shoal.records.records import Records

NUMBERS = {"comma": ",", "point": "."}
"""What separates the decimals, by what their owner says."""
DATES = {"dmy": (3, 2, 1), "mdy": (3, 1, 2), "ymd": (1, 2, 3)}
"""Which of the three figures of a date are the year, the month and the day."""
_THOUSANDS = (".", ",", " ", "\u00a0", "\u202f", "'", "\u2019")
_POINTED = re.compile(r"([0-9]+)(?:\.([0-9]+))?", re.ASCII)
_CUT = re.compile(r"[0-9][, '\u00a0\u202f\u2019][0-9]|[0-9]\.[0-9]+\.[0-9]", re.ASCII)
_THREE = re.compile(r"[0-9]+[./-][0-9]+[./-][0-9]+", re.ASCII)
_PLAIN = re.compile(r"\s*[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?\s*$", re.ASCII)
_MINUS = "\u2212"
_SIGN = re.compile(r"(?<![0-9])-(?=[0-9])", re.ASCII)
"""A minus, and not the stroke between two ends of a band."""
_ISO = re.compile(r"(?<![0-9])([0-9]{4})-([0-9]{2})-([0-9]{2})(?![0-9])", re.ASCII)


@dataclass(frozen=True)
class NumberForm:
    """Numbers with this decimal mark, this minus and, if any, this mark between thousands."""

    decimal: str
    thousands: str = ""
    minus: str = "-"

    @property
    def pattern(self) -> re.Pattern[str]:
        """A number as it stands, parts before and after the decimal mark apart."""
        grouped = rf"[1-9][0-9]{{0,2}}(?:{re.escape(self.thousands)}[0-9]{{3}})+(?![0-9])|" if self.thousands else ""
        return re.compile(rf"({grouped}[0-9]+)(?:{re.escape(self.decimal)}([0-9]+))?", re.ASCII)

    def plain(self, text: str) -> str:
        """A text with its numbers as programs write them."""
        mark = self.thousands
        text = self.pattern.sub(
            lambda m: (m[1].replace(mark, "") if mark else m[1]) + (f".{m[2]}" if m[2] else ""), text
        )
        return text if self.minus == "-" else re.sub(f"{self.minus}(?=[0-9])", "-", text)

    def own(self, text: str) -> str:
        """A text with its numbers in this form."""
        return _POINTED.sub(self._spelled, text if self.minus == "-" else _SIGN.sub(self.minus, text))

    def is_foreign(self, text: str) -> bool:
        """Whether it holds a number in another form, such as 1 234."""
        return _CUT.search(self.plain(text)) is not None

    def _spelled(self, match: re.Match[str]) -> str:
        whole = re.sub(r"(?<=[0-9])(?=(?:[0-9]{3})+$)", self.thousands, match[1])
        return whole + (f"{self.decimal}{match[2]}" if match[2] else "")


@dataclass(frozen=True)
class DateForm:
    """Dates with this order, this sign between figures, and days and months below 10 with one figure or two."""

    order: tuple[int, int, int]
    sign: str = "-"
    loose: bool = False

    @property
    def pattern(self) -> re.Pattern[str]:
        figures = ["", "", ""]
        for place, form in zip(self.order, ("([0-9]{4})", "([0-9]{1,2})", "([0-9]{1,2})"), strict=True):
            figures[place - 1] = form
        return re.compile(rf"(?<![0-9]){re.escape(self.sign).join(figures)}(?![0-9])", re.ASCII)

    def plain(self, text: str) -> str:
        """A text with its dates as 2024-04-03."""
        return self.pattern.sub(self._iso, text)

    def own(self, text: str) -> str:
        """A text with its dates in this form."""
        return _ISO.sub(self._spelled, text)

    def is_foreign(self, text: str) -> bool:
        """Whether it holds a date in another form, also one that is a date only with its day and month the other way round."""
        if _THREE.search(self.pattern.sub("", text)) is not None:
            return True
        year, month, day = self.order
        dates = self.pattern.finditer(text)
        return any(_day(m, self.order) is None and _day(m, (year, day, month)) is not None for m in dates)

    def _iso(self, match: re.Match[str]) -> str:
        day = _day(match, self.order)
        return match[0] if day is None else day.isoformat()

    def _spelled(self, match: re.Match[str]) -> str:
        figures = ["", "", ""]
        for place, text in zip(self.order, match.groups(), strict=True):
            figures[place - 1] = text if len(text) == 4 or not self.loose else text.lstrip("0")
        return self.sign.join(figures)


def _day(match: re.Match[str], order: tuple[int, int, int]) -> date | None:
    """The day that three figures mean in this order; None for the 31st of February."""
    try:
        return date(*(int(match[place]) for place in order))
    except ValueError:
        return None


Form = NumberForm | DateForm


def form_of(way: str, values: Sequence[str], column: str) -> Form:
    """How the values of a column are spelled, of all forms that its owner's word leaves; raises where one is spelled otherwise."""
    forms: list[Form]
    if way in NUMBERS:
        minus = _MINUS if any(_MINUS in text for text in values) else "-"
        forms = [NumberForm(NUMBERS[way], mark, minus) for mark in ("", *_THOUSANDS) if mark != NUMBERS[way]]
    elif way in DATES:
        forms = [DateForm(DATES[way], sign, loose) for sign in ".-/" for loose in (False, True)]
    else:
        raise InputError(
            f"{option('spelling')} of column {column!r} is {way!r}; choose one of {', '.join((*NUMBERS, *DATES))}"
        )
    good = {
        form: [text for text in values if form.own(form.plain(text)) == text and not form.is_foreign(text)]
        for form in forms
    }
    # The one that reads most as a whole: without its mark, 1 234,5 would be two numbers. Where all are ranges, the one that reads most.
    known = _PLAIN if way in NUMBERS else _ISO
    whole = {form: sum(known.match(form.plain(text)) is not None for text in good[form]) for form in forms}
    best = max(forms, key=lambda form: (whole[form], len(good[form])))
    if strange := sorted({*values} - {*good[best]}):
        raise InputError(
            f"column {column!r}: {len(strange):,} of its {len(values):,} different values are spelled otherwise than "
            f"{option('spelling', f'{column}={way}')} says, or than the rest{VALUES}; write all in one way, or leave that out",
            values=strange,
        )
    return best


def plain_records(records: Records, forms: Mapping[str, Form]) -> Records:
    """What is published, as it was reckoned with: `respell` the other way."""
    columns = (
        replace(column, values=tuple(map(forms[column.name].plain, column.values))) if column.name in forms else column
        for column in records.columns
    )
    return replace(records, columns=tuple(columns)) if forms else records


def respell(records: Records, forms: Mapping[str, Form]) -> Records:
    """What is to be published, in the spelling of the columns that it came from."""
    columns = []
    for column in records.columns:
        if (form := forms.get(column.name)) is not None:
            values = tuple(map(form.own, column.values))
            if tuple(map(form.plain, values)) != column.values:
                raise InputError(
                    f"column {column.name!r}: what would be published could not be read back in its own spelling; "
                    f"leave out its {option('spelling')}, or give it another hierarchy"
                )
            column = replace(column, values=values)
        columns.append(column)
    return replace(records, columns=tuple(columns))
