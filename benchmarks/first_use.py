"""Figures on waiting: what a command costs before and around its work, in CPU seconds of the whole process (so that other work on the
machine counts little). `first` runs with an empty cache of kernels, `startup` with a warm one; the best of several is taken for the latter.
"""

from __future__ import annotations

import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import shoal
from measuring import Row, folder, peak_mb

TIMES = 5
WITHOUT_DATA = ("first",)
_SETS = ["--items", "codes", "--drop", "age,sex,disease"]
_TABLE = ["--quasi", "age,sex"]
COMMANDS = {
    "km, local": ["anonymize", "--k", "5", "--m", "2", *_SETS],
    "km, exact": ["anonymize", "--k", "5", "--m", "2", "--algorithm", "exact", *_SETS],
    "audit": ["audit", "--k", "1", "--m", "2", *_SETS],
    "k, split": ["anonymize", "--model", "k", *_SETS],
    "k, cluster": ["anonymize", "--model", "k", *_TABLE, "--keep", "disease", "--drop", "codes"],
    "rt, joint": ["anonymize", "--model", "rt", *_TABLE, "--items", "codes", "--drop", "disease"],
    "lm, joint": ["anonymize", "--model", "lm", *_TABLE, "--items", "codes", "--drop", "disease", "--sensitive", "c1"],
    "diversity, injector": ["anonymize", "--model", "diversity", *_TABLE, "--sensitive", "disease", "--drop", "codes"],
}


def section_first() -> list[Row]:
    return [{"command": name} for name in COMMANDS]


def case_first(command: str) -> Row:
    """The first use of a command: CPU seconds with an empty cache of kernels, and with a warm one, on 2,000 made-up rows.

    The package is copied, without what was compiled beside it, where kernels are found as well.
    """
    verb, *flags = COMMANDS[command]
    with tempfile.TemporaryDirectory() as place:
        rows = Path(place) / "rows.csv"
        write_rows(rows)
        package = Path(place) / "package"
        shutil.copytree(Path(shoal.__file__).parent, package / "shoal", ignore=shutil.ignore_patterns("*.nbi", "*.nbc"))
        kept = {"NUMBA_CACHE_DIR": str(Path(place) / "cache"), "PYTHONPATH": str(package)}
        first, said = _cpu([verb, str(rows), *flags], kept)
        warm = min(_cpu([verb, str(rows), *flags], kept)[0] for _ in range(3))
    told = next((line for line in said.splitlines() if "compiled" in line), "compiled 0 kernels")
    return {
        "command": command,
        "first, CPU s": f"{first:.1f}",
        "warm, CPU s": f"{warm:.2f}",
        "compiling, CPU s": f"{first - warm:.1f}",
        "kernels": told.split("compiled ")[1].split()[0],
        "peak MB": peak_mb(of_children=True),
    }


def section_startup() -> list[Row]:
    return [{"command": name} for name in ("--help", "audit", "anonymize", "anonymize --algorithm exact")]


def case_startup(command: str) -> Row:
    """A warm command on WebView-1, k = 5, m = 2, frequency:5: CPU seconds of the whole process."""
    data = folder()
    assert data is not None
    verb, *more = command.split()
    order = [verb]
    if verb != "--help":
        order += [str(data / "bms_webview1" / "bms_webview1.dat.gz"), "--k", "5", "--m", "2", *more]
    if verb == "anonymize":
        order += ["--hierarchy", "frequency:5"]
    _cpu(order, {})
    best = min(_cpu(order, {})[0] for _ in range(TIMES))
    return {"command": command, "CPU s": f"{best:.2f}", "peak MB": peak_mb(of_children=True)}


def _cpu(order: list[str], environment: dict[str, str]) -> tuple[float, str]:
    """CPU seconds of `shoal ...` as a process of its own, and what it said."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "shoal", *order], env=kept | environment, capture_output=True, text=True, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode in (0, 3), done.stderr
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stderr


def write_rows(path: Path) -> None:
    """2,000 made-up people."""
    draw = random.Random(1)
    with path.open("w") as file:
        file.write("age,sex,codes,disease\n")
        for _ in range(2000):
            codes = sorted({f"c{min(60, int(draw.expovariate(0.12)) + 1)}" for _ in range(draw.randint(1, 8))})
            disease = draw.choice(("flu", "cold", "asthma", "gout", "ulcer", "migraine"))
            file.write(f"{draw.randint(18, 90)},{draw.choice('fm')},{'|'.join(codes)},{disease}\n")
