"""Makes demo.svg beside this file from the real output of `shoal demo`:

    .venv/bin/python docs/images/make.py

The picture shows the first three parts of the tour as a terminal of 110 columns does. It names the reader's own monospaced font
and nothing outside of itself, so it looks up no host when it is opened.
"""

from __future__ import annotations

import html
import io
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

COLUMNS = 110
LAST_PART = "4. Your turn"
"""Where the picture ends: what follows are file names and commands to type."""

_RUN = re.compile(r'<text ([^>]*?)x="([^"]*)"([^>]*?)textLength="([^"]*)"([^>]*)>([^<]*)</text>')


def demo_output() -> str:
    """What the demo prints, colours included, in a folder of its own and under a key that is thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        key = Path(folder, "owner.key")
        key.write_bytes(os.urandom(32))
        colours = {"FORCE_COLOR": "1", "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        command = [sys.executable, "-m", "shoal", "demo"]
        order = {"cwd": folder, "env": os.environ | colours | {"SHOAL_KEY": str(key)}}
        subprocess.run(command, check=True, capture_output=True, **order)  # the second run has its kernels compiled
        return subprocess.run(command, check=True, capture_output=True, text=True, **order).stdout


def terminal_svg(output: str) -> str:
    """A picture of a terminal with this in it."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text("$ make demo", style="bold"))
    shown = output.partition(LAST_PART)[0].rpartition("\n")[0].rstrip()
    console.print(Text.from_ansi(shown), soft_wrap=False)
    svg = console.export_svg(title="make demo", theme=DIMMED_MONOKAI, unique_id="demo")
    return _self_contained(_RUN.sub(_placed_pieces, svg))


def _placed_pieces(run: re.Match[str]) -> str:
    """A run of text cut at its wider gaps, each piece where it stands: columns stay aligned in viewers whose letters are narrower."""
    before, x, between, width, after, escaped = run.groups()
    text = html.unescape(escaped).replace("\N{NO-BREAK SPACE}", " ")
    cell = float(width) / len(text)
    return "".join(
        f'<text {before}x="{float(x) + cell * piece.start():.1f}"{between}textLength="{cell * len(piece[0]):.1f}"{after}>'
        f"{html.escape(piece[0]).replace(' ', '&#160;')}</text>\n"
        for piece in re.finditer(r"\S+(?: \S+)*", text)
    )


def _self_contained(svg: str) -> str:
    """Without the web fonts and the comment that rich puts into its pictures."""
    svg = re.sub(r"\s*@font-face \{[^}]*\}", "", svg)
    svg = re.sub(r"\s*<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = svg.replace("Fira Code, monospace", "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace")
    svg = "\n".join(line.rstrip() for line in svg.splitlines() if line.strip()) + "\n"
    hosts = set(re.findall(r"\w+://[^\s\"')]+", svg)) - {"http://www.w3.org/2000/svg"}
    assert not hosts, f"the picture refers to {hosts}"
    return svg


if __name__ == "__main__":
    picture = Path(__file__).with_name("demo.svg")
    picture.write_text(terminal_svg(demo_output()), encoding="utf-8")
    print(f"written to {os.path.relpath(picture)}")
