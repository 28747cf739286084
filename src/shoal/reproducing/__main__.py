"""`python -m shoal.reproducing`: one cell, asked for on standard input, in a process that does nothing else.

Its rows are the last line of standard output. What cannot be run by the rules of an algorithm is a result, too; anything else that
goes wrong ends the process with its traceback.
"""

from __future__ import annotations

import json
import sys

from shoal.errors import InputError, Unreachable
from shoal.reproducing.figure import CANNOT, Row
from shoal.reproducing.papers import paper


def rows_of(name: str, measure: str, params: Row) -> list[Row]:
    """What a cell measures, or why it cannot."""
    try:
        rows: list[Row] = paper(name).MEASURES[measure](**params)
    except (InputError, Unreachable) as refusal:
        return [{"status": CANNOT, "reason": str(refusal)}]
    return rows


if __name__ == "__main__":
    asked = json.load(sys.stdin)
    found = rows_of(asked["paper"], asked["measure"], asked["params"])
    sys.stdout.write("\n" + json.dumps(found) + "\n")
