"""One copy of each address for as long as a command or a call of the library takes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

copies: ContextVar[dict[str, Any] | None] = ContextVar("copies", default=None)
"""What was fetched already, by its address; None where nothing is kept."""


@contextlib.contextmanager
def one_copy() -> Iterator[None]:
    """Inside, each address is fetched once: what is looked at, hashed and audited is one and the same."""
    if copies.get() is not None:
        yield
        return
    held: dict[str, Any] = {}
    token = copies.set(held)
    try:
        yield
    finally:
        copies.reset(token)
        for copy in held.values():
            copy.close()
