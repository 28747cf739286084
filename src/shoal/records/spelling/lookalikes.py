"""Names that look alike and are two: é as one character (NFC), or as e with an accent that follows (NFD); or with a sign that is not seen.

They are never merged, for a name is its text; but whoever has both in one column should know.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from unicodedata import normalize

_UNSEEN = re.compile("[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufe00-\ufe0f\ufeff]")
"""Soft hyphens, joiners, marks of direction and variants, and the mark of byte order."""
_BLANKS = re.compile(r"[\s\u2800\u3164]+")


def lookalike_note(column: str, names: Collection[str]) -> list[str]:
    """A word about the values of a column, or names of items, that differ only in how they are composed or in signs that are not seen."""
    known = [name for name in names if not name.isascii()]
    plain = {name for name in names if name.isascii()}
    twins = len(known) - len({_seen(name) for name in known} - plain)
    if not twins:
        return []
    return [
        f"column {column!r}: {twins:,} of its different names differ from others only in how Unicode composes them (NFC, NFD), or in signs "
        "that are not seen; they stay apart: normalize them first if they are the same"
    ]


def _seen(name: str) -> str:
    """What a reader sees of a name."""
    return _BLANKS.sub(" ", _UNSEEN.sub("", normalize("NFC", name))).strip()
