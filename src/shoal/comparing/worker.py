"""One cell in a process of its own: the plan comes on standard input, the outcome goes to standard output, one JSON document a line.

The first line says that the warm-up is over and the clock runs. The process ends with its parent: when standard input closes, nobody waits
for the outcome any more. Whatever libraries print goes to standard error.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import traceback
from typing import Any

from shoal.comparing.cells import DONE, FAULT, MEMORY, REFUSED, UNREACHABLE, finite
from shoal.errors import InputError, ShoalError, Unreachable
from shoal.plan import Origin, Plan, call_of, plan_of
from shoal.records.storage.memory import resident_bytes


def main() -> None:
    """What `workers.py` starts."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    request = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("800")  # if memory runs out, this process goes before the one that keeps the results

    def tell(document: dict[str, Any]) -> None:
        out.write(json.dumps(document) + "\n")
        out.flush()

    tell(outcome_of(request, lambda: tell({"started": True})))


def outcome_of(request: dict[str, Any], started: Any = lambda: None) -> dict[str, Any]:
    """What came of a plan: the fields of an `Outcome` that this process knows."""
    from shoal.comparing.warming import warm_up
    from shoal.plan.running import in_terms_of
    from shoal.release import check_files

    origin = Origin(request["name"], request["folder"])
    threads: int = request["threads"]
    try:
        plan = plan_of(request["document"], origin)
        warm = warm_up(plan, threads)
        now = resident_bytes()
        started()
        check_files(plan)
        with in_terms_of(plan):
            found = _released(plan, threads)
    except (InputError, Unreachable) as error:
        status = UNREACHABLE if isinstance(error, Unreachable) else REFUSED
        return {"status": status, "reason": str(error).removeprefix(f"{origin.name}: ")}
    except MemoryError:
        return {"status": MEMORY, "reason": "there is not enough memory; take fewer rows, or a larger machine"}
    except ShoalError as error:
        return {"status": FAULT, "reason": str(error).removeprefix(f"{origin.name}: ")}
    except Exception as error:
        return {"status": FAULT, "reason": f"{type(error).__name__} in {_place(error)}; please report it"}
    return found | {"start_mb": None if now is None else round(now[0] / (1 << 20), 1), "warm": warm}


def _released(plan: Plan, threads: int) -> dict[str, Any]:
    from shoal.release import anonymize

    call = call_of(plan)
    release = anonymize(call.data, call.guarantee, **{"threads": threads, **call.arguments})
    classes = release.details.get("classes") or release.details.get("buckets") or {}
    return {
        "status": DONE,
        "guarantee": str(release.guarantee),
        "holds": bool(release.audit.holds),
        "checked": int(release.audit.checked),
        "loss": {name: finite(value) for name, value in release.loss.items()},
        "optimal": release.optimal,
        "bound": finite(release.bound),
        "seconds": round(release.seconds, 4),
        "peak_mb": release.peak_mb,
        "rows": release.rows,
        "classes": classes.get("count"),
        "threads": call.arguments.get("threads", threads),
        "input_sha256": release.input_sha256,
    }


def _place(error: Exception) -> str:
    """Where it happened. The message of a fault is not kept: it may quote the data."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if f"{os.sep}shoal{os.sep}" in frame.filename] or list(frames)
    path = ours[-1].filename
    return f"{path[path.rfind(f'{os.sep}shoal{os.sep}') + 1 :]}, line {ours[-1].lineno}"


def _end_with_parent() -> None:
    while os.read(0, 4096):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
