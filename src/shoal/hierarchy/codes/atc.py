"""ATC: medicines by what they act on. The levels are the first 1, 3, 4, 5 and 7 characters of a code, so any list of codes says it all."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from shoal.errors import InputError
from shoal.hierarchy.codes.code_files import name_of, only_file, text_of
from shoal.hierarchy.codes.vocabulary import Vocabulary

GROUPS = "ABCDGHJLMNPRSV"
"""The anatomical main groups."""
LEVELS = (1, 3, 4, 5, 7)

_CODE = re.compile(rf"""(?:^|[;,\t|"'/>])\s*([{GROUPS}]\d\d[A-Z]{{2}}\d\d)(?=\s*(?:$|[;,\t|"'<]))""", re.MULTILINE)


def read_atc(paths: Sequence[str], wanted: Collection[str] | None = None) -> Vocabulary:
    """From a list with a column of codes, or from XML with codes as values."""
    path = only_file(paths, "ATC")
    codes = set(_CODE.findall(text_of(path)))
    if not codes:
        raise InputError(f"{name_of(path)}: it holds no ATC codes such as A10BA02; is it another file?")
    parent: dict[str, str] = {}
    for code in sorted(codes):
        for length, shorter in zip(LEVELS[1:], LEVELS, strict=False):
            parent.setdefault(code[:length], code[:shorter])
        parent.setdefault(code[:1], "")
    missing = sorted(set(GROUPS) - set(parent))
    notes = [f"it has {len(codes):,} substances"]
    if missing:
        notes.append(
            f"{len(missing)} of {len(GROUPS)} main groups have none ({', '.join(missing)}); the file may be cut off"
        )
    return Vocabulary("atc", "ATC", name_of(path), parent, spell_atc, by_prefix=True, notes=tuple(notes))


def spell_atc(value: str) -> str:
    """`a10ba02` and `A10 BA02` as A10BA02."""
    return "".join(value.split()).upper()
