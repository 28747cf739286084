"""Which kind of values a column of texts holds: dates, durations, bands, or what has no order.

What is clear is taken for what it is, where nobody says otherwise; what is not is left as it is, and the reason says what is missing.
"""

from __future__ import annotations

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
"""Values that are looked at first: most columns are told by them to hold nothing of the kind."""


class Recognition(NamedTuple):
    """What a column of texts holds."""

    what: str = ""
    """`dates`, `durations`, `bands`, or nothing of the kind."""
    reason: str = ""
    clear: bool = True
    """Whether it is clear which they are."""

    @property
    def spec(self) -> str | None:
        """The hierarchy that is made for them; none for what is not clear."""
        return self.what if self.what and self.clear else None


_NONE = Recognition()


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
    return _NONE
