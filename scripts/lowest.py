"""The oldest dependencies that pyproject.toml allows, installed and tried: `make lowest`.

Each lower bound is installed exactly, in an environment of its own (`.lowest`, made anew), with the extras that need no other program; then
`smoke.py` walks through the product. It takes some minutes and a package index, so it is no part of `make test`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / ".lowest"
EXTRAS = ("report", "sign", "sql", "app")


def lowest_versions(project: dict[str, object]) -> list[str]:
    """`name==version` of every dependency, at its lower bound."""
    extras = project["optional-dependencies"]
    assert isinstance(extras, dict)
    asked = [*project["dependencies"], *(text for name in EXTRAS for text in extras[name])]  # type: ignore[misc]
    return [f"{name}=={bound}" for name, bound in map(bound_of, asked)]


def bound_of(text: str) -> tuple[str, str]:
    """The name of a dependency and its lower bound. A dependency without both bounds is a mistake."""
    found = re.fullmatch(r"([\w-]+)>=([0-9.]+),<[0-9.]+", text)
    if found is None:
        raise SystemExit(f"{text!r} in pyproject.toml has no lower and upper bound; write NAME>=OLDEST,<NEXT")
    return found[1], found[2]


def main() -> int:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pinned = lowest_versions(project)
    shutil.rmtree(HOME, ignore_errors=True)
    venv.create(HOME, with_pip=True)
    python = HOME / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, *pinned], check=True)
    subprocess.run([*install, "--no-deps", ROOT], check=True)
    print("trying", ", ".join(pinned), flush=True)
    return subprocess.run([python, ROOT / "scripts" / "smoke.py"], cwd=HOME, env=_without_ours()).returncode


def _without_ours() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


if __name__ == "__main__":
    sys.exit(main())
