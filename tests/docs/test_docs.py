"""The pages keep their word: a block after `<!-- run -->` is run, and what it shows must be what happens.

Every page gets a folder in which `shoal demo` has been run, as its reader has. In a console block a line `$ ...` is a command
and the lines below it are its output, without blank lines; `...` stands for any number of lines. Python prints what its `# ->`
comments say. `<!-- run with FILE FILE -->` asks for files of the public data sets, and is left out where they are not at hand.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest

from shoal.cli import command_line, main

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(
    r"<!-- run(?: with (?P<files>[^>]*?))? -->\n```(?P<language>console|python)\n(?P<text>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
LINK = re.compile(r"\]\(([^)\s]+)\)|<(?:a|img)\b[^>]*?(?:href|src)=\"([^\"]+)\"")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    line: int
    files: tuple[str, ...]
    """Public data that it needs, below the folder that SHOAL_DATA names."""


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text()
    return [
        Block(
            found["language"],
            found["text"],
            text.count("\n", 0, found.start()) + 1,
            tuple((found["files"] or "").split()),
        )
        for found in FENCE.finditer(text)
    ]


def pages_with(public_data: bool) -> list[str]:
    return [str(page.relative_to(ROOT)) for page in PAGES if any(bool(b.files) == public_data for b in blocks_of(page))]


@pytest.fixture(scope="session")
def demo_left(tmp_path_factory):
    """What `shoal demo` leaves, once for all pages: its folder, and the key beside it."""
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SHOAL_KEY", str(folder / "key" / "owner.key"))
        patch.chdir(folder)
        status, output = outcome_of("shoal demo", 0)
    assert status == 0, output
    return folder


@pytest.fixture
def demo_folder(demo_left, tmp_path, monkeypatch):
    """A reader's folder after `make demo`, with a key that is not the tester's."""
    shutil.copytree(demo_left, tmp_path, dirs_exist_ok=True)
    monkeypatch.setenv("SHOAL_KEY", str(tmp_path / "key" / "owner.key"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    command_line()  # so that all modules are there
    for module in [module for name, module in sys.modules.items() if name.startswith("shoal.cli")]:
        if hasattr(module, "values_shown"):  # a reader sits at a terminal
            monkeypatch.setattr(module, "values_shown", lambda stream: True)
    return tmp_path


@pytest.mark.parametrize("page", pages_with(public_data=False))
def test_page_shows_what_happens(page, demo_folder):
    run_blocks(page, [block for block in blocks_of(ROOT / page) if not block.files])


@pytest.mark.parametrize("page", pages_with(public_data=True))
def test_page_shows_what_happens_with_public_data(page, demo_folder):
    folder = Path(os.environ.get("SHOAL_DATA") or demo_folder)
    ready = [b for b in blocks_of(ROOT / page) if b.files and all((folder / file).is_file() for file in b.files)]
    if not ready:
        pytest.skip("SHOAL_DATA names no folder with the public data sets")
    for file in {file for block in ready for file in block.files}:
        (demo_folder / Path(file).name).symlink_to(folder / file)
    run_blocks(page, ready)


@pytest.mark.parametrize("page", [str(page.relative_to(ROOT)) for page in PAGES])
def test_links_lead_somewhere(page):
    here = ROOT / page
    for target in (one or other for one, other in LINK.findall(here.read_text())):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        there = here.parent / name if name else here
        assert there.exists(), f"{page}: {target} leads nowhere"
        if anchor:
            assert anchor in anchors_of(there), f"{page}: {target} leads to no heading"


def test_installation_names_every_extra():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    page = (ROOT / "docs" / "installation.md").read_text()
    assert [extra for extra in extras if extra != "dev" and f"`{extra}`" not in page] == []


def anchors_of(page: Path) -> set[str]:
    """The headings as a link names them: lower case, blanks as hyphens, without punctuation."""
    titles = HEADING.findall(re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def run_blocks(page: str, blocks: list[Block]) -> None:
    names: dict[str, object] = {}
    for block in blocks:
        where = f"{page}, line {block.line}"
        if block.language == "python":
            shown = [line[5:] for line in block.text.splitlines() if line.startswith("# -> ")]
            with captured() as output:
                exec(compile(block.text, where, "exec"), names)
            assert output().splitlines() == shown, where
        else:
            run_commands(block.text, where)


def run_commands(text: str, where: str) -> None:
    status = 0
    for command, shown in commands_in(text):
        # A command that fails is followed by one that shows its exit code.
        assert status == 0 or command == "echo $?", f"{where}: exit code {status} before {command}"
        status, output = outcome_of(command, status)
        happened = "".join(f"{line.rstrip()}\n" for line in output.splitlines() if line.strip())
        wanted = "".join("(?:.*\n)*" if line == "..." else f"{re.escape(line)}\n" for line in shown)
        assert not shown or re.fullmatch(wanted, happened), f"{where}: {command} now shows\n{output}"
    assert status == 0, f"{where}: exit code {status}"


def commands_in(text: str) -> list[tuple[str, list[str]]]:
    """The commands of a console block, each with the lines it is said to print."""
    found: list[tuple[str, list[str]]] = []
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("$ "):
            command = line[2:]
            while command.endswith("\\"):
                command = command[:-1] + next(lines).strip()
            found.append((command, []))
        elif line.strip():
            found[-1][1].append(line.rstrip())
    return found


def outcome_of(command: str, status: int) -> tuple[int, str]:
    """The exit code and output of a command, `status` being that of the one before. A plain call of shoal runs in this process."""
    words = list(shlex.shlex(command, posix=True, punctuation_chars=True))
    if words[0] == "shoal" and not {"|", ">", "<", ";"} & set(words):
        with captured() as output:
            code = main(shlex.split(command)[1:])
        return code, output()
    script = f"(exit {status})\n{command}"
    done = subprocess.run(
        ["bash", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return done.returncode, done.stdout


@contextlib.contextmanager
def captured():
    """Standard output and standard error, as one stream in which they come."""
    stream = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
        yield lambda: stream.buffer.getvalue().decode()
