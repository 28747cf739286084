"""What the walk-throughs share: a folder and a key of their own, and the commands that a page of the guide shows."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from shoal.cli import main

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"<!-- run on made-up people -->\n```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.fixture(autouse=True)
def _own_key(tmp_path, monkeypatch):
    monkeypatch.setenv("SHOAL_KEY", str(tmp_path / "key"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def walk(capsys) -> Callable[..., None]:
    """Runs what a page of the guide shows, command by command, and looks for the lines that it says come of it; `...` is any lines."""

    def walked(page: str, put: Callable[[str], str] = str) -> None:
        text = (ROOT / "docs" / "guide" / page).read_text()
        blocks = _BLOCK.findall(text)
        assert blocks
        for name in re.findall(r"integrations/\w+/[\w.]+", text):
            assert (ROOT / name).is_file(), name
        for command in re.split(r"^\$ ", "".join(blocks).replace("\\\n", " "), flags=re.MULTILINE)[1:]:
            line, *shown = command.splitlines()
            program, *arguments = shlex.split(put(line))
            if program == "cp":
                for name in arguments[:-1]:
                    (Path(arguments[-1]) / Path(name).name).write_text(put((ROOT / name).read_text()))
                continue
            assert program == "shoal", line
            capsys.readouterr()
            status = main(arguments)
            said = capsys.readouterr()
            words = " ".join((said.out + said.err).split())
            assert status == 0, (line, words)
            for part in shown:
                assert part.strip() == "..." or " ".join(part.split()) in words, (line, part, words)

    return walked
