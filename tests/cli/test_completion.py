"""What a shell offers after Tab: commands, flags, and the words of options that take one of a few."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def shoal(*arguments, **environment):
    given = {**os.environ, "SHELL": "/bin/bash", **environment}
    return subprocess.run([sys.executable, "-m", "shoal", *arguments], env=given, capture_output=True, text=True)


def offered(line: str) -> list[str]:
    """What bash is told to offer for the last word of a line."""
    words = line.split(" ")
    done = shoal(_SHOAL_COMPLETE="complete_bash", COMP_WORDS=line, COMP_CWORD=str(len(words) - 1))
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("shoal an", ["anonymize"]),
        ("shoal hierarchy c", ["check", "convert"]),
        ("shoal anonymize x.csv --suppress", ["--suppress", "--suppress-rows"]),
        ("shoal anonymize x.csv --model ", ["km", "k", "rt", "lm", "diversity", "constraints", "chunks"]),
        ("shoal audit x.csv --format p", ["parquet"]),
        (
            "shoal anonymize x.csv --model k --algorithm ",
            [
                *("split", "pta", "gsc", "gray-tsp"),
                *("better-of-two", "cluster", "mondrian", "full-domain", "top-down", "bottom-up"),
            ],
        ),
        ("shoal anonymize x.csv --model lm --algorithm rmerge", ["rmerge-r", "rmerge-t", "rmerge-rt"]),
        ("shoal anonymize x.csv --model nonsense --algorithm ", []),
        ("shoal anonymize x.csv --algorithm an", ["anatomy"]),
    ],
)
def test_a_shell_offers_what_can_be_typed(line, words):
    assert offered(line) == words


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_each_shell_is_shown(shell):
    # Which shell is running is for Typer to find out; its own tests name it so.
    done = shoal("--show-completion", shell, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert done.returncode == 0
    assert f"_SHOAL_COMPLETE=complete_{shell}" in done.stdout
