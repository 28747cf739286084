"""Flags from the table of options: `takes` gives a command those it names, and hands it what they say."""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand

from shoal.cli.terminal import on_command_line
from shoal.errors import InputError, Message
from shoal.limits import set_for_process
from shoal.options import (
    OPTIONS,
    Choice,
    Choices,
    Numbers,
    Option,
    Seconds,
    Share,
    Specs,
    Switch,
    Texts,
    Whole,
    Widths,
    Words,
)
from shoal.passwords import holds_password

SETS = ("items", "id", "drop", "separator", "format")
"""How a file of sets is read."""
TABLES = (
    *("quasi", "items", "one_hot", "keep", "numeric", "spelling"),
    *("id", "person", "drop", "separator", "format", "query"),
)
"""How sets and tables are read."""
PROMISE = ("model", "k", "m", "l", "policy", "sensitive", "missing", "l_kind", "t", "distance")
KNOWN = ("min_exp", "min_conf", "max_length", "fuzzy", "knowledge")

_ADDRESSED = frozenset({"data", "output", "raw", "original"})
"""Options that may be the address of a table."""


class Command(TyperCommand):
    """A command that refuses a password where no address is asked for: what such an option gets is cut into names, which messages show."""

    def invoke(self, ctx: Any) -> Any:
        for param in self.params:
            given = ctx.params.get(param.name)
            texts = given if isinstance(given, list | tuple) else [given]
            if (
                param.param_type_name == "option"
                and param.name not in _ADDRESSED
                and any(isinstance(text, str) and holds_password(text) for text in texts)
            ):
                raise InputError(
                    f"{param.opts[0]} holds what looks like an address with a password, which has no use there; leave it out"
                )
        return super().invoke(ctx)


def flag(name: str, help: str, panel: str | None = None) -> Any:
    """An option without a value. The empty metavar keeps Typer from showing a type for it."""
    return typer.Option(name, metavar="", help=help, rich_help_panel=panel)


def argument(metavar: str, help: str, default: str | bool = False) -> Any:
    """What a command is about; `default` says in words what it is unless given."""
    return typer.Argument(metavar=metavar, help=help, show_default=default)


def value(metavar: str, help: str, panel: str | None = None) -> Any:
    """An option with a value of one command alone."""
    return typer.Option(metavar=metavar, help=help, rich_help_panel=panel)


def output(metavar: str, help: str, default: str | bool = False) -> Any:
    """Where a command writes."""
    return typer.Option("--output", "-o", metavar=metavar, help=help, show_default=default)


Data = Annotated[
    str,
    argument(
        "DATA",
        "A file of sets: .dat, .csv, .tsv, .jsonl, .parquet or .arrow (text also .gz or .zst); - for standard input; "
        "postgresql://USER@HOST/DB?table=NAME or sqlite:FILE?table=NAME for a table of a database.",
    ),
]
Force = Annotated[bool, flag("--force", "Overwrite files that exist.")]
ShowValues = Annotated[
    bool,
    flag(
        "--show-values",
        "Let messages and tables name values of the data even where no terminal shows them, such as in a log.",
    ),
]
Json = Annotated[bool, flag("--json", "One JSON document on standard output, all else on standard error.")]


def option_with(name: str, help: str, **facts: Any) -> Option:
    """An option as one command has it."""
    return replace(OPTIONS[name], help=help, **facts)


def takes(*names: str, **other: Option) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Gives a command the flags of these options, in place of its `**given`, and those that every command has for reading.

    `given` then holds what was said, parsed, by keyword: what was not said is not in it. `other` has options that mean something else to
    this command.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        own = [p for p in inspect.signature(command).parameters.values() if p.kind is not p.VAR_KEYWORD]
        hints = get_type_hints(command, include_extras=True)
        last = [p for p in own if p.name in ("show_values", "json")]
        first = [p.replace(annotation=hints[p.name]) for p in own if p not in last]
        taken = {name: other.get(name, OPTIONS[name]) for name in (*names, "input_limit")}
        rows = [_parameter(option) for option in taken.values()]
        parameters = [*first, *rows, *(p.replace(annotation=hints[p.name]) for p in last)]

        @functools.wraps(command)
        def called(**arguments: Any) -> Any:
            said = {name: parse(option, arguments.pop(name, None)) for name, option in taken.items()}
            return command(**arguments, **{name: value for name, value in said.items() if value is not None})

        keyword = inspect.Parameter.KEYWORD_ONLY
        called.__signature__ = inspect.Signature([p.replace(kind=keyword) for p in parameters])  # type: ignore[attr-defined]
        called.__annotations__ = {p.name: p.annotation for p in parameters}
        return called

    return decorate


def with_typed_flags(command: Callable[..., Any], arguments: Iterable[str]) -> Callable[..., Any]:
    """The command with no other flags than are typed, if it has all of those: Typer readies a check of types for each that is declared."""
    typed = {text.partition("=")[0] for text in arguments if text.startswith("-")}
    signature, flags = getattr(command, "__signature__", inspect.Signature()), dict[inspect.Parameter, set[str]]()
    for given in signature.parameters.values():
        info = given.annotation.__metadata__[0]  # Typer takes the first flag for a default
        flags[given] = {text for text in (info.default, *(info.param_decls or ())) if str(text).startswith("-")}
    if not flags or not typed <= set[str]().union(*flags.values()):
        return command  # Typer words what is wrong, or helps
    called = functools.wraps(command)(lambda **arguments: command(**arguments))
    kept = [given for given, own in flags.items() if not own or given.default is given.empty or typed & own]
    called.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
    return called


@functools.cache
def _parameter(option: Option) -> inspect.Parameter:
    words = Message(option.help).render(on_command_line)
    flags = ("--output", "-o") if option.name == "output" else (option.flag,)
    how: dict[str, Any] = {
        "metavar": option.metavar,
        "help": re.sub(r"`([^`]*)`", r"[bold]\1[/bold]", words.replace("[COL=]", r"\[COL=]")),
        "show_default": option.default or False,
        "rich_help_panel": option.group,
    }
    kind: Any = str | None
    match option.kind:
        case Whole():
            kind = int | None
        case Share() | Seconds():
            kind = float | None
        case Texts() | Numbers() | Widths() | Choices() | Specs() | Words():
            kind = list[str] | None
        case Switch():
            kind, how["metavar"] = bool, ""
    if option.name == "input_limit":
        how["callback"] = _set_input_limit
    if isinstance(option.kind, Choice) or option.name == "algorithm":
        how["autocompletion"] = _offers(option)
    default = False if kind is bool else None
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, typer.Option(*flags, **how)],
    )


def _offers(option: Option) -> Callable[[typer.Context, str], list[str]]:
    """What a shell offers for the value of an option that is one of a few words; of algorithms those of the model, if that was typed."""

    def offer(ctx: typer.Context, incomplete: str) -> list[str]:
        words: Iterable[str] = option.kind.words if isinstance(option.kind, Choice) else ()
        if option.name == "algorithm":
            from shoal.algorithms import ALGORITHMS

            model = ctx.params.get("model")
            kinds = ALGORITHMS if model is None else ("k", "table") if model == "k" else (model,)
            words = dict.fromkeys(name for kind in kinds for name in ALGORITHMS.get(kind, ()))
        return [word for word in words if word.startswith(incomplete)]

    return offer


def _set_input_limit(limit: str | None) -> str | None:
    """Whatever a command reads, it reads under the limit."""
    if limit is not None:
        set_for_process(limit)
    return limit


def parse(option: Option, said: Any) -> Any:
    """What a flag says, as the keyword of its option has it; None if it was not given."""
    if said is None or said == [] or said is False:
        return None
    match option.kind:
        case Whole() | Share() | Seconds():
            from shoal.numbers import check_value

            check_value(option.name, said)
        case Texts():
            return tuple(said)
        case Numbers(example):
            return numbers(said, option.flag, example)
        case Widths(example):
            return once_each(said, option.flag, "a width", example, bool)
        case Choices(of):
            return once_each(said, option.flag, f"one of {', '.join(of)}", f"COL={of[0]}", of.__contains__)
        case Specs():
            return hierarchies(said)
        case Words(example):
            return words(said, option.flag, example)
    # A tab or a newline is hard to type: \t is taken for what it means.
    return {"\\t": "\t", "\\n": "\n"}.get(said, said) if option.name == "separator" else said


def is_spark(engine: str | None) -> bool:
    """Whether --engine asks for Spark; raises if there is no such engine."""
    if engine is None:
        return False
    from shoal.spark.data.spark_session import master_of

    return master_of(engine) is not None


def promise(given: dict[str, Any], kind: str | None = None) -> Any:
    """The guarantee that the flags of the promise stand for, which it takes out; with --quasi, --model k is about a table."""
    from shoal.guarantees.registry import guarantee_from, kind_for

    facts = {name: given.pop(name, None) for name in PROMISE if name not in ("model", "sensitive")}
    model = given.pop("model", "km")
    if facts["policy"] is not None:
        from shoal.plan.policy_file import read_policy

        facts["policy"] = read_policy(facts["policy"])
    if isinstance(facts["missing"], dict) and model in ("k", "rt", "lm"):
        # The same flag speaks of columns that are known, of which the promise says nothing.
        known = ",".join(given.get("quasi") or ()).split(",")
        of_quasi = {name: reading for name, reading in facts["missing"].items() if name in known}
        facts["missing"] = {name: told for name, told in facts["missing"].items() if name not in of_quasi} or None
        given |= {"missing_quasi": of_quasi} if of_quasi else {}
    return guarantee_from(kind_for(model, has_quasi=bool(given.get("quasi"))), facts | {"kind": kind})


def words(given: list[str], flag: str, example: str) -> str | dict[str, str]:
    """What a repeated flag says: one word for all columns, or one for each that is named."""
    chosen: dict[str, str] = {}
    for text in given:
        column, _, word = text.rpartition("=")
        if column in chosen or (chosen and "" in (column, *chosen)):
            raise InputError(f"{flag} is given twice; give one for all columns, or one for each, as {example}")
        chosen[column] = word
    return chosen[""] if set(chosen) == {""} else chosen


def hierarchies(given: list[str]) -> str | dict[str, str]:
    """What --hierarchy says: one spec, or a spec per column (the empty name for the items)."""
    specs: dict[str, str] = {}
    for text in given:
        column, equals, spec = text.partition("=")
        if not equals or os.path.exists(text):
            column, spec = "", text
        if column in specs:
            what = f"column {column!r}" if column else "the items"
            raise InputError(f"--hierarchy is given twice for {what}; give each column one, as COL=SPEC")
        specs[column] = spec
    return specs[""] if set(specs) == {""} else specs


def spec_files(given: Mapping[str, Any]) -> list[Any]:
    """The hierarchies that are given, as paths or specs."""
    specs = given.get("hierarchy")
    return [*specs.values()] if isinstance(specs, dict) else [specs]


def numbers(given: list[str], flag: str, example: str) -> dict[str, float]:
    """What a repeated flag says: a number per name."""
    values = {}
    for text in given:
        name, _, number = text.rpartition("=")
        try:
            values[name] = float(number)
        except ValueError:
            name = ""
        if not name or not 0 <= values[name] < float("inf"):
            raise InputError(f"{flag} {text!r} is not a name with a number; give for example {flag} {example}")
    return values


def once_each(given: list[str], flag: str, what: str, example: str, is_one: Callable[[str], bool]) -> dict[str, str]:
    """What a repeated flag says: a word per name."""
    values = {}
    for text in given:
        name, _, word = text.rpartition("=")
        if not name or not is_one(word) or name in values:
            raise InputError(
                f"{flag} {text!r} is not a name with {what}, each name once; give for example {flag} {example}"
            )
        values[name] = word
    return values


def check_output(output: str, force: bool, *inputs: str | None) -> None:
    """Raises if a file could not be written, or is an input or the owner's key: said before the work."""
    from shoal.records.storage.publication import check_targets

    check_apart_from(output, *inputs)
    check_targets([output], force=force)


def check_apart_from(output: str, *inputs: str | None) -> None:
    """Raises if an output is one of the inputs or the owner's key."""
    from shoal.certificate.owner import owner_files
    from shoal.records.database.address import file_of
    from shoal.records.storage.publication import check_apart

    named = [file_of(given) for given in inputs if given is not None]
    check_apart([output], [*(("an input", path) for path in named if os.path.exists(path)), *owner_files()])
