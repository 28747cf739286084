"""Which kind of values a column of texts holds: dates, durations, bands, or what has no order.

What is clear is taken for what it is, where nobody says otherwise; what is not is left as it is, and the reason says what is missing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from shoal.errors import InputError
from shoal.hierarchy.kinds.bands import band_order
from shoal.hierarchy.kinds.dates import UnclearDatesError, read_dates
from shoal.hierarchy.kinds.durations import read_durations

if TYPE_CHECKING:
    from shoal.records.values import Kind

GLANCE = 50
"""Values that are looked at first: they show that most columns hold nothing of the kind."""


class Recognition(NamedTuple):
    """What a column of texts holds."""

    what: str = ""
    """`dates`, `durations`, `bands`, `numbers` (which their owner has to confirm), or nothing of the kind."""
    reason: str = ""
    clear: bool = True
    """Whether it is clear which they are."""

    @property
    def spec(self) -> str | None:
        """The hierarchy that is made for them; none for what is not clear."""
        return self.what if self.what and self.clear else None


_NONE = Recognition()
_COMMA = re.compile(r"-?(?:[0-9]{1,3}(?:[. '\u00a0\u202f\u2019][0-9]{3})+|[0-9]+)(?:,[0-9]+)?", re.ASCII)
_GROUPED = re.compile(r"-?[0-9]{1,3}(?:,[0-9]{3})*(?:\.[0-9]+)?", re.ASCII)


def recognise(names: Sequence[str]) -> Recognition:
    """What these values are, missing ones left out."""
    if not names:
        return _NONE
    some = names[:: max(1, len(names) // GLANCE)]
    if _recognised(some) is _NONE:
        return _NONE
    return _recognised(names)


def recognised_kind(kind: Kind, names: Sequence[str]) -> Kind:
    """What is said of a column: as it was, unless its categories are something better."""
    reason = "" if kind.numeric else recognise([name for name in names if name.strip()]).reason
    return replace(kind, reason=reason, recognised=True) if reason else kind


def _recognised(names: Sequence[str]) -> Recognition:
    try:
        return Recognition("dates", f"dates, {read_dates(names).words}")
    except UnclearDatesError as error:
        return Recognition("dates", str(error), clear=False)
    except InputError:
        pass
    if (durations := read_durations(names)) is not None:
        return Recognition("durations", f"durations, in {'months' if durations[1] else 'days and parts of them'}")
    if band_order(names) is not None:
        return Recognition("bands", "bands that stand in an order")
    return _numbers(names)


def _numbers(names: Sequence[str]) -> Recognition:
    """Numbers with commas; whether these part decimals or thousands is for their owner to say."""
    bare = [name.strip() for name in names]
    if not any("," in name for name in bare):
        return _NONE
    decimal, grouped = (all(map(form.fullmatch, bare)) for form in (_COMMA, _GROUPED))
    if not decimal and not grouped:
        return _NONE
    if decimal and grouped:
        what, say = "numbers with a comma that may part decimals or thousands", "comma or point"
    else:
        what = "numbers with a decimal comma" if decimal else "numbers with commas between thousands"
        say = "comma" if decimal else "point"
    return Recognition(
        "numbers", f"categories, but they look like {what}: if they are, say so with the spelling {say}", False
    )
