"""Names that look alike and are two: é as one character (NFC), or as e with an accent that follows (NFD).

They are never merged, for a name is its text; but whoever has both in one column should know.
"""

from __future__ import annotations

from collections.abc import Iterable
from unicodedata import normalize


def lookalike_note(column: str, names: Iterable[str]) -> list[str]:
    """A word about the values of a column, or names of items, that differ only in how Unicode composes them."""
    known = [name for name in names if not name.isascii()]
    twins = len(known) - len({normalize("NFC", name) for name in known})
    if not twins:
        return []
    return [
        f"column {column!r}: {twins:,} of its different names differ from others only in how Unicode composes them (NFC, NFD); they stay "
        "apart: normalize them first if they are the same"
    ]
