"""The front door: names that are there, and what opening it costs."""

from __future__ import annotations

import pkgutil
import subprocess
import sys

import pytest

import shoal

HEAVY = ("numpy", "numba", "scipy", "polars", "pyarrow", "pandas", "rich", "typer")


def modules_after(code):
    script = f"import sys\n{code}\nprint('loaded', *sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def test_import_shoal_loads_nothing_heavy():
    assert modules_after("import shoal").isdisjoint(HEAVY)


def test_help_loads_no_engine():
    code = "from shoal.cli import main\nassert main(['--help']) == 0\nassert main(['anonymize', '--help']) == 0"
    loaded = modules_after(code)
    assert loaded.isdisjoint({"numpy", "numba", "scipy", "polars", "pyarrow", "pandas", "rich.progress"})


@pytest.mark.parametrize("name", shoal.__all__)
def test_every_public_name_can_be_had(name):
    assert getattr(shoal, name) is not None
    assert name in dir(shoal)


def test_no_room_hides_a_public_name():
    rooms = {module.name for module in pkgutil.iter_modules(shoal.__path__)}
    assert rooms.isdisjoint(name for name in shoal.__all__ if callable(getattr(shoal, name)))


def test_unknown_names_are_refused_as_usual():
    with pytest.raises(AttributeError, match="no attribute 'anonymise'"):
        shoal.anonymise  # noqa: B018
