"""Kernels compiled ahead of their first use: each model's default algorithm and its audit on made-up rows, in a process of its own.

Numba compiles one kernel at a time in a process, so models are warmed side by side, as many as there are cores.
"""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

from shoal.guarantees.registry import guarantee_from
from shoal.kernels.parallel import default_threads
from shoal.processes import Answer, Child, Teller
from shoal.release import anonymize

_ROWS = 600
_SETS: dict[str, Any] = {"items": "codes", "drop": ("age", "sex", "disease")}
_TABLE: dict[str, Any] = {"quasi": ("age", "sex")}
_ROLES: dict[str, dict[str, Any]] = {
    "rt": _TABLE | {"items": "codes", "drop": "disease"},
    "lm": _TABLE | {"items": "codes", "drop": "disease", "sensitive": ("c1",)},
    "km": _SETS,
    "constraints": _SETS,
    "diversity": _TABLE | {"drop": "codes", "sensitive": "disease"},
    "k": _SETS,
    "chunks": _SETS,
    "table": _TABLE | {"drop": "codes", "keep": "disease"},
}
"""Per kind of promise, those that take longest first: the roles of the made-up columns."""

_FACTS: dict[str, dict[str, Any]] = {
    "constraints": {"policy": {"protect": [["c1", "c2", "c30"], {"all": 2, "of": "*"}], "generalize": "*"}}
}
"""What a promise cannot be made without."""

KINDS = {
    "km": ("km",),
    "k": ("k", "table"),
    "rt": ("rt",),
    "lm": ("lm",),
    "diversity": ("diversity",),
    "constraints": ("constraints",),
    "chunks": ("chunks",),
}
"""Per model, the kinds of data that have kernels of their own."""


def warm(models: Sequence[str], done: Callable[[str, float], None]) -> None:
    """Compile what these models need and has not been compiled yet; `done` hears of each kind of promise, and its seconds."""
    waiting = [kind for kind in _ROLES if any(kind in KINDS[model] for model in models)]
    running: dict[str, Child] = {}
    try:
        while waiting or running:
            while waiting and len(running) < default_threads():
                kind = waiting.pop(0)
                running[kind] = Child("shoal.studies.warming:warm_kind")
                running[kind].ask(kind)
            time.sleep(0.05)
            for kind, child in list(running.items()):
                for news in child.news():
                    if isinstance(news, Answer):
                        if news.error is not None:
                            raise news.error
                        running.pop(kind).end()
                        done(kind, float(news.result))
    finally:
        for child in running.values():
            child.end()


def warm_kind(kind: str, tell: Teller | None = None) -> float:
    """Release made-up rows under a promise of this kind: the seconds it took."""
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.csv")
        _write_rows(path)
        anonymize(path, guarantee_from(kind, _FACTS.get(kind, {})), **_ROLES[kind])
    return time.monotonic() - begun


def _write_rows(path: str) -> None:
    """Enough rows for every step of the algorithms to have something to do."""
    draw = random.Random(1)
    with open(path, "w", encoding="utf-8") as file:
        file.write("age,sex,disease,codes\n")
        for _ in range(_ROWS):
            codes = {f"c{min(40, int(draw.expovariate(0.12)) + 1)}" for _ in range(draw.randint(1, 8))}
            disease = draw.choice(("flu", "cold", "asthma", "gout", "ulcer", "migraine"))
            file.write(f"{draw.randint(18, 90)},{draw.choice('fm')},{disease},{'|'.join(sorted(codes))}\n")
