"""This code beside another commit: the same few commands by turns, in CPU seconds of whole processes, all kernels compiled.

The other commit is checked out beside this one for the time being and runs with the same libraries, so the ratio is that of our code
alone. Turns and the best of several keep other work on the machine out of it.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from first_use import COMMANDS, write_rows
from measuring import Row

HERE = Path(__file__).resolve().parents[1]
TURNS = 5
_QUEST = ("--transactions", "30000", "--items", "500")
_SETS = ("--k", "5", "--m", "2", "--hierarchy", "balanced:5")
_ALGORITHMS = ("local", "exact", "hybrid", "lra")
_TABLES = ("k, cluster", "diversity, injector")


def orders(place: Path) -> dict[str, list[str]]:
    """The commands: sets by the 30,000 and tables by the 2,000, made up by this code for both."""
    sets, table = place / "sets.dat", place / "rows.csv"
    cpu(HERE, ["datasets", "make", "-o", str(sets), *_QUEST])
    write_rows(table)
    chosen = {
        "--help": ["--help"],
        "audit": ["audit", str(sets), "--k", "5", "--m", "3"],
        "audit, m = 2": ["audit", str(sets), "--k", "5", "--m", "2"],
    }
    for name in _ALGORITHMS:
        chosen[f"km, {name}"] = ["anonymize", str(sets), *_SETS, "--algorithm", name]
    for name in _TABLES:
        verb, *flags = COMMANDS[name]
        chosen[name] = [verb, str(table), *flags]
    return chosen


def cpu(tree: Path, order: list[str]) -> float:
    """CPU seconds of `shoal ...` with the code of a tree."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "shoal", *order],
        env=kept | {"PYTHONPATH": str(tree / "src")},
        cwd=tree,
        capture_output=True,
        text=True,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 3):
        sys.exit(f"{' '.join(order)} in {tree}: {done.stderr}")
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(revision: str) -> list[Row]:
    """A row per command: CPU seconds there and here, and here over there."""
    git = ["git", "-C", str(HERE)]
    name = subprocess.run(
        [*git, "rev-parse", "--short", f"{revision}^{{commit}}"], capture_output=True, text=True, check=False
    ).stdout.strip()
    if not name:
        sys.exit(f"{revision} is not a commit")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder) / "other"
        subprocess.run([*git, "worktree", "add", "--quiet", "--detach", str(other), name], check=True)
        try:
            for command, order in orders(Path(folder)).items():
                for tree in (other, HERE):
                    cpu(tree, order)  # compiles
                turns = [(cpu(other, order), cpu(HERE, order)) for _ in range(TURNS)]
                there, here = map(min, zip(*turns, strict=True))
                rows.append(
                    {"command": command, name: f"{there:.2f}", "now": f"{here:.2f}", "ratio": f"{here / there:.2f}"}
                )
                print("  " + ", ".join(f"{head} {cell}" for head, cell in rows[-1].items()), flush=True)
        finally:
            subprocess.run([*git, "worktree", "remove", "--force", str(other)], check=True)
    return rows
