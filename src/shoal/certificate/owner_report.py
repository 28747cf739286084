"""The owner's report: all figures of a release, exact, for whoever made it and nobody else.

Losses to the last digit, what became of rare items and what the original gave away would undo what a certificate keeps back. The file is
readable for its owner alone, and says whom it is for, as `--json` does.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

FORMAT = "shoal report 1"
OWNER = "the owner; do not publish"
"""Whom exact figures are for."""


def report_bytes(facts: Mapping[str, Any]) -> bytes:
    """The facts of a release as the owner's file has them."""
    content = {**facts, "report": FORMAT}
    first = {name: content[name] for name in ("report", "for")}
    return (json.dumps(first | content, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")
