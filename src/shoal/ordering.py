"""The one order of item names that the whole house agrees on."""

import re
from collections.abc import Sequence

# Python refuses to turn much longer digit strings into a number; names that long are ordered as text.
_INTEGER = re.compile(r"-?[0-9]{1,4000}", re.ASCII)


def natural_order(names: Sequence[str]) -> list[int]:
    """Positions of `names` in natural order: by value when all are integers (ties such as 7 and 007 by text), else by code point."""
    if all(_INTEGER.fullmatch(name) for name in names):
        return sorted(range(len(names)), key=lambda i: (int(names[i]), names[i]))
    return sorted(range(len(names)), key=lambda i: names[i])
