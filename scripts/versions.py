"""The versions of dependencies: the oldest and the newest that pyproject.toml allows, each tried, and those that development is locked to.

python scripts/versions.py lowest    install every lower bound exactly, and walk through the product (`make lowest`)
python scripts/versions.py newest    the same with the newest of everything (`make newest`)
python scripts/versions.py lock      write constraints.txt: what is installed where this runs (`make lock`)

The first two make an environment of their own (`.lowest`, `.newest`) with the Python that runs them and the extras that need no other
program; then `smoke.py` walks through the product. They take some minutes and a package index, so they are no part of `make test`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from importlib.metadata import distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXTRAS = ("report", "sign", "sql", "app", "pandas", "polars", "plots")
LOCK = ROOT / "constraints.txt"
NOT_LOCKED = {"shoal", "pip", "setuptools", "wheel"}

Project = dict[str, object]
Version = tuple[int, ...]


def lowest_versions(project: Project, python: Version = sys.version_info[:2]) -> list[str]:
    """`name==version` of every dependency, at the lower bound that it has for a Python."""
    extras = project["optional-dependencies"]
    assert isinstance(extras, dict)
    asked = [*project["dependencies"], *(text for name in EXTRAS for text in extras[name])]  # type: ignore[misc]
    lowest: dict[str, str] = {}
    for name, bound, since in map(bound_of, asked):
        if since <= python and parts(bound) >= parts(lowest.get(name, "0")):
            lowest[name] = bound
    return [f"{name}=={bound}" for name, bound in lowest.items()]


def bound_of(text: str) -> tuple[str, str, Version]:
    """The name of a dependency, its lower bound, and the Python from which on it is so. A dependency without both bounds is a mistake."""
    found = re.fullmatch(r"([\w-]+)>=([0-9.]+),<[0-9.]+(?:; python_version >= '([0-9.]+)')?", text)
    if found is None:
        raise SystemExit(f"{text!r} in pyproject.toml has no lower and upper bound; write NAME>=OLDEST,<NEXT")
    return found[1], found[2], parts(found[3] or "0")


def parts(version: str) -> Version:
    return tuple(map(int, version.split(".")))


def try_out(which: str) -> int:
    """Install the lowest or the newest versions into an environment of their own, and walk through the product there."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    home = ROOT / f".{which}"
    shutil.rmtree(home, ignore_errors=True)
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if which == "lowest":
        pinned = lowest_versions(project)
        subprocess.run([*install, *pinned], check=True)
        subprocess.run([*install, "--no-deps", ROOT], check=True)
    else:
        subprocess.run([*install, f"{ROOT}[{','.join(EXTRAS)}]"], check=True)
        pinned = installed([str(next(home.glob("lib/python*/site-packages")))])
    print(f"Python {sys.version.split()[0]}:", ", ".join(pinned), flush=True)
    return subprocess.run([python, ROOT / "scripts" / "smoke.py"], cwd=home, env=_without_ours()).returncode


def installed(places: list[str]) -> list[str]:
    """`name==version` of what is installed, without what installs and what is ours."""
    found = {re.sub(r"[-_.]+", "-", one.name).lower(): one.version for one in distributions(path=places)}
    return [f"{name}=={version}" for name, version in sorted(found.items()) if name not in NOT_LOCKED]


def lock() -> int:
    """Write down what is installed here. Names and versions alone: where packages come from is not ours to say."""
    python = ".".join(map(str, sys.version_info[:2]))
    lines = [
        "# What development and `make test` are locked to; `make lock` writes it, decision 47 says why it looks like this.",
        f"# Made with Python {python}.",
        *installed(sys.path),
    ]
    LOCK.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines) - 2} packages in {LOCK.name}")
    return 0


def _without_ours() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def main(words: list[str]) -> int:
    match words:
        case ["lowest" | "newest" as which]:
            return try_out(which)
        case ["lock"]:
            return lock()
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
