"""The command line: a thin shell over `release.py`.

A command parses, calls, and shows. What it found goes to standard output, as a table or with --json as one document; all else
goes to standard error. Nothing heavy is imported before a command runs, so that `shoal --help` answers at once.
Exit codes: 0 done, 1 a bug in Shoal, 2 bad input or usage, 3 the promise does not hold or cannot be reached.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated

import typer

from shoal import __version__
from shoal.cli import first_use, terminal
from shoal.cli.machine import check_room, is_of_standard_output, sentence_of
from shoal.cli.options import Command, flag, with_typed_flags
from shoal.cli.terminal import print_json, say, values_shown, warnings_told
from shoal.errors import VALUES, Message, ShoalError, way_to
from shoal.limits import own_limit
from shoal.passwords import without_passwords
from shoal.records.stores.once import one_copy

INTERRUPTED, BROKEN_PIPE = 130, 141

_HOMES = {
    "demo": "demo",
    "profile": "profile",
    "anonymize": "anonymize",
    "init": "plans",
    "run": "plans",
    "schema": "plans",
    "audit": "audit",
    "gate": "gate",
    "verify": "verify",
    "sign": "sign",
    "bundle": "bundle",
    "evaluate": "evaluate",
    "reconstruct": "reconstruct",
    "stack": "stack",
    "compare": "compare",
    "reproduce": "reproduce",
    "rules": "rules",
    "attack": "attack",
    "warm": "warm",
    "app": "web",
    "hierarchy": "hierarchy",
    "datasets": "datasets",
}
"""Per command, in the order of the help, the module of this room that has it."""


def command_line(arguments: Sequence[str] = ()) -> typer.Typer:
    """All commands, or the one that is asked for alone, with its typed flags: to declare the flags of all takes longer than most run."""
    app = typer.Typer(name="shoal", rich_markup_mode="rich", pretty_exceptions_enable=False)
    app.callback(invoke_without_command=True)(shoal)
    asked = arguments[:1] if arguments and arguments[0] in _HOMES else ()
    for name in asked or _HOMES:
        home = import_module(f"shoal.cli.{_HOMES[name]}")
        if name in ("hierarchy", "datasets"):
            app.add_typer(home.app, name=name)
        else:
            command = getattr(home, name)
            app.command(name, cls=Command)(with_typed_flags(command, arguments[1:]) if asked else command)
    return app


def shoal(
    context: typer.Context,
    version: Annotated[bool, flag("--version", "Show the version and exit.")] = False,
) -> None:
    """Publish baskets, click-streams or diagnosis codes so that every record hides in a crowd of k, and prove it.

    New here? [bold]shoal demo[/bold] shows all of it on a made-up grocery store, in under a minute.

    Exit codes: 0 done, 1 a bug in Shoal, 2 bad input or usage, 3 the promise does not hold or cannot be reached.
    """
    if version:
        typer.echo(f"shoal {__version__}")
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help(), nl=False)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; without arguments, the one that this process was started for."""
    if arguments is not None:
        return _run(list(arguments))
    first_use.own_this_process()
    return first_use.end_with(_run(sys.argv[1:]))


def _run(arguments: list[str]) -> int:
    as_json = "--json" in arguments
    terminal.show_values = "--show-values" in arguments
    if not _streams_are_open():
        say("standard output is closed; point it to a file or a terminal")
        return 2
    _spell_out_what_cannot_be_shown()
    try:
        check_room(arguments)
        with own_limit(), one_copy(), warnings_told():
            code = command_line(arguments)(arguments, standalone_mode=False, prog_name="shoal")
        sys.stdout.flush()
        if code == INTERRUPTED:
            say("interrupted")
        return int(code or 0)
    except ShoalError as error:
        return _failed(error.message, error.exit_code, as_json)
    except (KeyboardInterrupt, typer.Abort):
        say("interrupted")
        return INTERRUPTED
    except SystemExit as stop:
        # Typer's answer to a reader of standard output who left (`shoal profile ... | head`).
        return _left_alone() if isinstance(stop.__context__, BrokenPipeError) else int(stop.code or 0)
    except BrokenPipeError:
        return _left_alone()
    except Exception as error:
        if hasattr(error, "format_message"):  # Typer's usage errors share no public class
            return _failed(_usage(error), 2, as_json)
        if is_of_standard_output(error):
            return _not_shown(error)
        if (sentence := sentence_of(error)) is not None:
            return _failed(sentence, 2, as_json)
        return _failed(_fault(error), 1, as_json)


def _streams_are_open() -> bool:
    """Whether anybody can read the result. Closed streams are pointed to nowhere, or the next file would take their number."""
    closed = [name for name in ("stdin", "stdout", "stderr") if getattr(sys, name) is None]
    if closed:
        while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
            pass
        os.close(number)
    for name in set(closed) - {"stdin"}:  # a closed standard input is for the reader to complain about
        setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    return "stdout" not in closed


def _failed(message: str, exit_code: int, as_json: bool) -> int:
    say(message)
    if as_json:
        try:
            shown = message if isinstance(message, Message) else without_passwords(message)
            print_json({"error": shown, "exit_code": exit_code})
        except OSError:
            _left_alone()
    return exit_code


def _usage(error: Exception) -> str:
    message: str = error.format_message()  # type: ignore[attr-defined]
    context = getattr(error, "ctx", None)
    return f"{message.rstrip('.')}; see {context.command_path} --help" if context else message


def _fault(error: Exception) -> str:
    """A bug in Shoal, by its kind and its place. Its text may quote the data, so it is shown only on request."""
    if os.environ.get("SHOAL_DEBUG"):
        way = "".join(traceback.format_exception(error)) if values_shown(sys.stderr) else way_to(error)
        print(without_passwords(way), file=sys.stderr, end="")
    place = next(
        (f for f in reversed(traceback.extract_tb(error.__traceback__)) if f"{os.sep}shoal{os.sep}" in f.filename), None
    )
    where = "" if place is None else f" in {os.path.basename(place.filename)}, line {place.lineno}"
    return Message(
        f"a bug in Shoal: {type(error).__name__}{where}{VALUES}; please report it (SHOAL_DEBUG=1 shows the way there)",
        [str(error)] if str(error) else (),
    )


def _not_shown(error: Exception) -> int:
    """Standard output cannot be written: a full disk, for one."""
    _left_alone()
    reason = f"standard output cannot be written ({getattr(error, 'strerror', None)})"
    say(f"{reason}, so the result is not shown; files that were asked for are complete")
    return 2


def _left_alone() -> int:
    """Nobody reads standard output any more: point it to nowhere, or Python complains on its way out."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return BROKEN_PIPE


def _spell_out_what_cannot_be_shown() -> None:
    """Do not fail on a name that the terminal cannot show."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
