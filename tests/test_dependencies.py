"""Every dependency has a lower bound, which `make lowest` tries, and an upper one; what development is locked to lies between them."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def versions():
    spec = importlib.util.spec_from_file_location("versions", ROOT / "scripts" / "versions.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def locked():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


@pytest.mark.parametrize("python", [(3, 11), (3, 12), (3, 13), (3, 14)])
def test_every_dependency_has_both_bounds(python):
    pinned = dict(text.split("==") for text in versions().lowest_versions(project(), python))
    assert {"numpy", "pyarrow", "typer", "cryptography", "typst", "nicegui", "pandas", "matplotlib"} <= set(pinned)
    assert pinned["numba"] == {11: "0.60", 12: "0.60", 13: "0.61", 14: "0.63"}[python[1]]
    assert f"Programming Language :: Python :: 3.{python[1]}" in project()["classifiers"]


def test_development_is_locked_within_the_bounds():
    known, tool = locked(), versions()
    extras = project()["optional-dependencies"]
    asked = [*project()["dependencies"], *(text for texts in extras.values() for text in texts)]
    for text in asked:
        if text.startswith("shoal["):
            continue
        name, lowest, _ = tool.bound_of(text)
        newest = re.search(r"<([0-9.]+)", text)[1]
        version = tool.parts(re.match(r"[0-9.]*[0-9]", known[name.lower()])[0])
        assert tool.parts(lowest) <= version < tool.parts(newest), text


def test_the_lock_names_no_place():
    text = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    assert re.fullmatch(r"(#[^\n]*\n)*([a-z0-9-]+==[\w.!+]+\n)+", text)
