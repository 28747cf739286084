"""What all tests share."""

from __future__ import annotations

import os
import sys

import pytest
from hypothesis import settings

import json_outputs

# Every process that a test starts would compile all of Shoal again where the environment asks for no byte code.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Property tests are about what is true, not about how long it took: a busy machine must not fail them. The same commit gives the
# same verdict (`shoal`); `make search` draws at random, and more, to find what the fixed examples miss.
settings.register_profile("shoal", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("SHOAL_EXAMPLES", "shoal"))


@pytest.fixture(autouse=True, scope="session")
def a_key_of_the_tests(tmp_path_factory):
    """The tester's own key stays where it is."""
    before = os.environ.get("SHOAL_KEY")
    os.environ["SHOAL_KEY"] = str(tmp_path_factory.mktemp("keys") / "owner.key")
    yield
    if before is None:
        os.environ.pop("SHOAL_KEY", None)
    else:
        os.environ["SHOAL_KEY"] = before


_faults: list[str] = []
json_outputs.watch(_faults)


@pytest.fixture(autouse=True)
def documents_keep_their_schemas():
    """Whatever a test is about: what it makes a command print with --json is as `shoal schema` says."""
    _faults.clear()
    yield
    assert not _faults


@pytest.fixture
def run(capfd):
    """Runs a command; gives its exit code, standard output and standard error."""
    from shoal.cli import main

    def command(*arguments):
        capfd.readouterr()
        code = main([str(argument) for argument in arguments])
        shown = capfd.readouterr()
        return code, shown.out, shown.err

    return command
