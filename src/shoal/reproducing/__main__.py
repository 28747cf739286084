"""`python -m shoal.reproducing`: one cell, asked for on standard input, in a process that does nothing else.

Its rows are the last line of standard output. What cannot be run by the rules of an algorithm is a result, too; anything else that
goes wrong ends the process with its traceback. However the command ends that asked for it, the cell ends with it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time

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


def end_with(parent: int, pause: float = 1.0) -> None:
    """Ends this process when that one, its parent, is no more: nobody waits for the rows then."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(pause)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    end_with(os.getppid())
    asked = json.load(sys.stdin)
    found = rows_of(asked["paper"], asked["measure"], asked["params"])
    sys.stdout.write("\n" + json.dumps(found) + "\n")
