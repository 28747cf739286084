"""Makes reference.md beside this file, the command-line reference, from the commands themselves:

    .venv/bin/python docs/reference.py

A test compares the page with what this makes, so that it cannot fall behind.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

HEAD = """# Command-line reference

Made by `docs/reference.py` from the commands themselves. Every command takes `--help`, and `--json` if it has a result: then
one JSON document goes to standard output and everything else to standard error. Exit codes: 0 done, 1 a bug in Shoal, 2 bad input
or usage, 3 the promise does not hold or cannot be reached; with 2 and 3 nothing is written.
"""


def reference() -> str:
    """The page."""
    import typer

    from shoal.cli import command_line

    root: Any = typer.main.get_command(command_line())
    return HEAD + "".join(_command(f"shoal {name}", command) for name, command in root.commands.items())


def _command(name: str, command: Any) -> str:
    inner = getattr(command, "commands", None)
    if inner:
        return f"\n## {name}\n\n{_plain(command.help)}\n" + "".join(
            _command(f"{name} {part}", one).replace("\n## ", "\n### ") for part, one in inner.items()
        )
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and not p.hidden]
    usage = " ".join([name, *(str(p.metavar or p.name.upper()) for p in arguments), "[OPTIONS]"])
    lines = [f"\n## {name}\n", f"    {usage}\n", _plain(command.help) + "\n"]
    if options:
        lines += ["| option | default | |", "|---|---|---|"]
        lines += [f"| {_names(option)} | {_default(option)} | {_cell(_plain(option.help))} |" for option in options]
        lines.append("")
    return "\n".join(lines)


def _names(option: Any) -> str:
    names = ", ".join(f"`{name}`" for name in sorted([*option.opts, *option.secondary_opts], key=len, reverse=True))
    return f"{names} {_cell(option.metavar or '')}".strip()


def _default(option: Any) -> str:
    if isinstance(option.show_default, str):
        return _cell(option.show_default)
    if option.is_flag or option.default is None or callable(option.default):
        return ""
    return _cell(str(option.default))


def _plain(help: str | None) -> str:
    """Help without the marks of the terminal; what is bold there is code here."""
    text = inspect.cleandoc(help or "").replace("\f", "")
    return re.sub(r"\[bold\](.*?)\[/bold\]", r"`\1`", text)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    page = Path(__file__).with_suffix(".md")
    page.write_text(reference())
    print(f"written to docs/{page.name}")
