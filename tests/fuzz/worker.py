"""A process that uses one file after the other as it is told, and says what came of it. It may crash: that is a finding."""

from __future__ import annotations

import json
import os
import resource
import sys
import traceback
from pathlib import Path

from cases import check_message, kinds


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    folder = Path(sys.argv[1])
    known = kinds(folder)
    from shoal.errors import ShoalError

    print(json.dumps({"kinds": list(known)}), file=answers, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        fault = None
        try:
            known[asked["kind"]].use(asked["path"], folder)
        except ShoalError as error:
            try:
                check_message(error)
            except AssertionError as wrong:
                fault = str(wrong)
        except BaseException:
            fault = traceback.format_exc()
        peak = sum(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        print(json.dumps({"fault": fault, "peak_mb": peak >> 10}), file=answers, flush=True)


if __name__ == "__main__":
    main()
