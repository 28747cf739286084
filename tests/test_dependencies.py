"""Every dependency has a lower bound, which `make lowest` tries, and an upper one."""

from __future__ import annotations

import importlib.util
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_every_dependency_has_both_bounds():
    spec = importlib.util.spec_from_file_location("lowest", ROOT / "scripts" / "lowest.py")
    lowest = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(lowest)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pinned = dict(text.split("==") for text in lowest.lowest_versions(project))
    assert {"numpy", "pyarrow", "typer", "cryptography", "typst", "nicegui"} <= set(pinned)
    for text in project["optional-dependencies"]["spark"]:
        assert lowest.bound_of(text)
