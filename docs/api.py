"""Makes api.md beside this file, the Python reference, from the public names themselves:

    .venv/bin/python docs/api.py

A name of `shoal.__all__` appears by itself, under the subject of the room that it lives in. What is said of a parameter comes from
the docstring (`Args:`), else from the table of options, else from the text below a field. `gaps` says what is missing, and tests ask.
"""

from __future__ import annotations

import ast
import functools
import inspect
import json
import re
import textwrap
import typing
from collections.abc import Iterator
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from typing import Any

import shoal
from shoal.errors import Message
from shoal.options import OPTIONS

HEAD = """# Python reference

Made by `docs/api.py` from the docstrings. Everything here is a name of `shoal`: `import shoal` and go. The examples are run by the tests,
each for itself, and `help(shoal.anonymize)` says the same in a terminal. For whole stories see the [cookbook](cookbook.md) and the guides;
the keywords that a call shares with the command line are explained in one place, the [options](#options).
"""
OPTIONS_HEAD = """
## Options

Keywords that `anonymize` takes, and others where they say so. They are the options of the [command line](reference.md), by name.
"""
SUBJECTS = {
    "Releases": ("shoal.release", "shoal.publish", "shoal.rehearsal", "shoal.certificate"),
    "Promises": ("shoal.guarantees",),
    "Measuring": (
        "shoal.evaluation",
        "shoal.estimate",
        "shoal.studies",
        "shoal.attacks",
        "shoal.loss",
        "shoal.algorithms",
    ),
    "Estimating from a release": ("shoal.analysis",),
    "Data": ("shoal.records",),
    "Hierarchies": ("shoal.hierarchy", "shoal.models"),
    "Plans": ("shoal.plan",),
    "Errors": ("shoal.errors",),
    "Others": ("",),
}
"""Which rooms a subject is about; the last takes what no other does."""
SECTION = re.compile(r"^(Args|Attributes|Raises|Returns):\n((?:[ ]{4}.*\n|\n)+)", re.MULTILINE)
ENTRY = re.compile(r"^(\*{0,2}\w+):\s*(.*(?:\n[ ]+.*)*)", re.MULTILINE)
EVERYWHERE = {
    "progress": "A function that is told what is going on, as a text, and which share of it is done.",
    "force": "Replace files that are there already.",
}
"""Parameters that mean the same wherever they stand."""
MOST = 10
"""Parameters that a signature shows one by one; of longer ones the options are left to their table."""


@dataclass(frozen=True)
class Parameter:
    """One parameter, or one field of a result."""

    name: str
    kind: str
    default: str
    text: str
    is_option: bool = False


@dataclass(frozen=True)
class Entry:
    """What there is to say about a public name, or about a method of one."""

    name: str
    signature: str
    text: str
    parameters: tuple[Parameter, ...]
    raises: tuple[tuple[str, str], ...]
    example: str
    members: tuple[Entry, ...] = field(default=())


def reference() -> str:
    """The page."""
    names = public_names()
    parts = [HEAD]
    for subject in SUBJECTS:
        if there := [name for name in names if subject_of(name) == subject]:
            parts.append(f"\n## {subject}\n\n" + " · ".join(f"[`{name}`](#{anchor_of(name)})" for name in there) + "\n")
            parts += [render(entry_of(name)) for name in there]
    return "".join([*parts, OPTIONS_HEAD, "\n", *_option_rows()])


def public_names() -> list[str]:
    """The names of the front door, functions first."""
    names = [name for name in shoal.__all__ if not name.startswith("_")]
    return sorted(names, key=lambda name: (inspect.isclass(getattr(shoal, name)), name.lower()))


def subject_of(name: str) -> str:
    home = getattr(shoal, name).__module__
    return next(head for head, rooms in SUBJECTS.items() if any(home.startswith(room) for room in rooms))


def heading_of(name: str) -> str:
    """Classes are told from functions: there is an `audit` and an `Audit`."""
    return f"class {name}" if inspect.isclass(getattr(shoal, name)) else name


def anchor_of(name: str) -> str:
    return heading_of(name).lower().replace(" ", "-")


def gaps(name: str) -> list[str]:
    """What the docstring of a public name lacks."""
    entry = entry_of(name)
    thing = getattr(shoal, name)
    missing = [] if entry.text else ["it does not say what it is"]
    missing += [f"{given.name} is not explained" for given in entry.parameters if not given.text]
    if not entry.example:
        missing.append("it has no example")
    if not entry.raises and (inspect.isfunction(thing) or "limits" in dir(thing)):
        missing.append("it does not say what it raises")
    return missing + [f"{one.name} does not say what it does" for one in entry.members if not one.text]


def entry_of(name: str) -> Entry:
    """What there is to say about a name of `shoal`. A class is shown as a call if its docstring has `Args:`; others are results."""
    thing = getattr(shoal, name)
    said = _docstring(thing)
    parameters = tuple(_parameters(thing, said.sections))
    is_made = not inspect.isclass(thing) or "Args:" in (thing.__doc__ or "")
    call = _call(f"shoal.{name}", thing, parameters) if is_made else ""
    members = tuple(_members(thing)) if inspect.isclass(thing) else ()
    return Entry(name, call, said.text, parameters, said.raises, said.example, members)


def render(entry: Entry) -> str:
    """A name as a part of the page."""
    lines = [
        f"\n### {heading_of(entry.name)}\n",
        f"```python\n{entry.signature}\n```\n" if entry.signature else "",
        entry.text,
        "",
    ]
    shown = [given for given in entry.parameters if not given.is_option]
    options = [given.name for given in entry.parameters if given.is_option]
    lines += _table(shown, entry.signature != "")
    if options:
        lines += [f"[Options](#options): {', '.join(f'`{name}`' for name in options)}.", ""]
    for error, when in entry.raises:
        link = f"[`{error}`](#{anchor_of(error)})" if error in shoal.__all__ else f"`{error}`"
        lines.append(f"- raises {link}: {when}")
    lines += [""] if entry.raises else []
    if entry.example:
        lines += [f"```python\n{entry.example}\n```", ""]
    for one in entry.members:
        lines += [f"{one.signature if one.signature[0] == '[' else _code(one.signature)}: {one.text}", ""]
        lines += [f"- raises `{error}`: {when}" for error, when in one.raises] + [""] * bool(one.raises)
        lines += [f"```python\n{one.example}\n```", ""] if one.example else []
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))


def _table(shown: list[Parameter], is_call: bool) -> list[str]:
    """What is given, or what there is; columns that would be empty are left out."""
    columns = {"parameter" if is_call else "attribute": [f"`{given.name}`" for given in shown]}
    columns["type"] = [_code(given.kind) for given in shown]
    columns["default"] = [_code(given.default) for given in shown] if is_call else []
    columns[""] = [_cell(given.text) for given in shown]
    columns = {head: cells for head, cells in columns.items() if any(cells)}
    rows = [list(columns), ["---"] * len(columns), *zip(*columns.values(), strict=True)] if shown else []
    return [f"| {' | '.join(row)} |" for row in rows] + [""]


@dataclass(frozen=True)
class _Said:
    text: str
    sections: dict[str, str]
    raises: tuple[tuple[str, str], ...]
    example: str


def _docstring(thing: Any) -> _Said:
    """A docstring, parted into text, what it says of parameters, what is raised, and its example."""
    whole = inspect.cleandoc(thing.__doc__ or "") + "\n"
    if is_dataclass(thing) and whole.startswith(f"{thing.__name__}("):
        whole = "\n"  # dataclasses make one up
    told, raises = dict[str, str](), list[tuple[str, str]]()
    for head, body in SECTION.findall(whole):
        entries = [(name.lstrip("*"), " ".join(text.split())) for name, text in ENTRY.findall(textwrap.dedent(body))]
        if head == "Raises":
            raises += entries
        elif head != "Returns":
            told |= dict(entries)
    rest = SECTION.sub("", whole)
    blocks = [block for block in re.split(r"\n\s*\n", rest) if block.strip()]
    examples = [block for block in blocks if block.lstrip().startswith(">>>")]
    text = "\n\n".join(block.strip("\n") for block in blocks if block not in examples)
    return _Said(_plain(text), told, tuple(raises), "\n".join(examples).strip())


def _parameters(thing: Any, told: dict[str, str]) -> Iterator[Parameter]:
    if inspect.isclass(thing) and issubclass(thing, BaseException):
        yield from (Parameter(name, "", "", text) for name, text in told.items())
        return
    notes = _field_notes(thing)
    fields = getattr(thing, "model_fields", None)
    if fields is not None:
        for name, one in fields.items():
            text = told.get(name) or one.description or inspect.getdoc(one.annotation) or ""
            yield Parameter(name, "", "", text)
        return
    for given in _signature(thing).parameters.values():
        if given.kind is given.VAR_KEYWORD:
            yield from _keywords(given, thing, told)
        elif given.name not in ("self", "cls"):
            in_table = given.name in OPTIONS and given.kind is given.KEYWORD_ONLY and given.name not in told
            text = told.get(given.name) or notes.get(given.name) or EVERYWHERE.get(given.name, "")
            if in_table and not text:
                text = _help(given.name)
            default = "" if given.default is given.empty else _value(given.default)
            yield Parameter(given.name, _type(given.annotation), default, text, in_table and not notes.get(given.name))


def _keywords(given: inspect.Parameter, thing: Any, told: dict[str, str]) -> Iterator[Parameter]:
    """The keywords of a typed dictionary, one by one."""
    hint = given.annotation
    if isinstance(hint, str):  # by itself: others may be names that only a type checker imports
        hint = eval(hint, inspect.unwrap(thing).__globals__)
    home = next(iter(typing.get_args(hint)), None)
    if home is None:
        yield Parameter(f"**{given.name}", "", "", told.get(given.name, ""))
        return
    notes = _field_notes(home)
    for name, kind in home.__annotations__.items():
        text = told.get(name) or notes.get(name) or EVERYWHERE.get(name, "")
        yield Parameter(name, "" if text == "" else _type(kind), "", text or _help(name), not text and name in OPTIONS)


def _help(name: str) -> str:
    return Message(OPTIONS[name].help).render() if name in OPTIONS else ""


def _members(thing: Any) -> Iterator[Entry]:
    """Properties and methods that are defined here, each with what it says."""
    seen: set[str] = set()
    for home in thing.__mro__:
        if not home.__module__.startswith("shoal."):
            continue
        if home is not thing and home.__name__ in shoal.__all__:  # it has an entry of its own
            yield Entry(
                "", f"[`{home.__name__}`](#{anchor_of(home.__name__)})", "what it has, this has, too.", (), (), ""
            )
            return
        for name, one in vars(home).items():
            plain = one.__func__ if isinstance(one, classmethod | staticmethod) else one
            if name in seen or name.startswith("_"):
                continue
            if isinstance(plain, property | functools.cached_property):
                seen.add(name)
                text = _docstring(plain).text
                if text:
                    yield Entry(name, name, text, (), (), "")
            elif inspect.isfunction(plain) and plain.__module__.startswith("shoal."):
                seen.add(name)
                said = _docstring(plain)
                parameters = tuple(_parameters(plain, said.sections))
                short = _call(name if plain is one else f"{thing.__name__}.{name}", plain, parameters)
                told = "; ".join(f"`{given.name}`: {given.text}" for given in parameters if given.name in said.sections)
                text = said.text or STANDARD.get(name, "")
                yield Entry(name, short, " ".join(filter(None, (text, told))), (), said.raises, said.example)


STANDARD = {"to_dict": "All of it as plain values, as JSON has it."}
"""Methods whose name says everything."""


def _signature(thing: Any) -> inspect.Signature:
    try:
        return inspect.signature(thing)
    except (TypeError, ValueError):
        return inspect.Signature()


def _call(name: str, thing: Any, parameters: tuple[Parameter, ...]) -> str:
    shown = [given for given in _signature(thing).parameters.values() if given.name not in ("self", "cls")]
    options = {given.name for given in parameters if given.is_option} if len(shown) > MOST else set()
    parts, starred = list[str](), False
    for given in shown:
        if given.name in options:
            continue
        if given.kind is given.KEYWORD_ONLY and not starred:
            parts.append("*")
            starred = True
        star = {given.VAR_POSITIONAL: "*", given.VAR_KEYWORD: "**"}.get(given.kind, "")
        default = "" if given.default is given.empty else f"={_value(given.default)}"
        parts.append(f"{star}{given.name}{default}")
    if options:
        parts.append("**options")
    call = f"{name}({', '.join(parts)})"
    if len(call) > 110 and "." in name and name.startswith("shoal."):
        call = f"{name}(\n    " + ",\n    ".join(parts) + ",\n)"
    return call


def _value(default: Any) -> str:
    if inspect.isfunction(default):
        return default.__name__
    if (
        type(default).__name__ == "_HAS_DEFAULT_FACTORY_CLASS"
    ):  # what dataclasses show for a list or a dictionary of its own
        return "..."
    if default == frozenset():
        return "()"
    shown = json.dumps(default) if isinstance(default, str) else repr(default)
    return shown if len(shown) < 40 else "..."


_ARRAYS = {"Ints": "int64", "Codes": "int32", "Floats": "float64", "Bools": "bool_"}
"""What `shoal.numbers` calls arrays."""


def _type(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty:
        return ""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    if text.startswith("Annotated[") or "Option(" in text:
        return ""
    text = re.sub(r"\b(?:collections\.abc|typing|npt|np|numpy\.typing|os|shoal(?:\.\w+)*)\.(?=[A-Z])", "", text)
    text = re.sub(r"\bForwardRef\('([^']*)'[^)]*\)", r"\1", text)
    for name, kind in _ARRAYS.items():
        text = re.sub(rf"\b{name}\b", f"NDArray[np.{kind}]", text)
    text = text.replace("PathLike[str]", "Path").replace("str | Path", "path")
    return "" if text in ("Any", "dict[str, Any]") else text.replace(" | ", " or ")


def _field_notes(thing: Any) -> dict[str, str]:
    """The texts below the fields of a class, its bases' among them."""
    notes = dict[str, str]()
    if not inspect.isclass(thing):
        return notes
    for home in reversed([thing, *getattr(thing, "__orig_bases__", ()), *thing.__mro__[1:]]):
        if getattr(home, "__module__", "").startswith("shoal."):
            notes |= _notes_of(home) | _docstring(home).sections
    return notes


@functools.cache
def _notes_of(home: type) -> dict[str, str]:
    """A text may be about several fields right above it."""
    body = ast.parse(textwrap.dedent(inspect.getsource(home))).body[0]
    assert isinstance(body, ast.ClassDef)
    notes, waiting = dict[str, str](), list[str]()
    for node in body.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            waiting.append(node.target.id)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and waiting:
            notes[waiting[-1]] = _plain(inspect.cleandoc(str(node.value.value)))
            waiting = []
        else:
            waiting = []
    return notes


def _option_rows() -> Iterator[str]:
    yield "| option | default | |\n|---|---|---|\n"
    for name in shoal.options.KEYWORDS:
        row = OPTIONS[name]
        default = row.default if isinstance(row.default, str) else "" if row.default is None else str(row.default)
        yield f"| `{name}` | {_cell(default)} | {_cell(_plain(_help(name)))} |\n"


def _plain(text: str) -> str:
    """Text that no mark of Markdown gets wrong: a star or a tilde outside of code stands for itself."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if at % 2 else re.sub(r"(?<!\\)([*_<])(?=\S)", r"\\\1", part) for at, part in enumerate(parts))


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    page = Path(__file__).with_suffix(".md")
    page.write_text(reference(), encoding="utf-8")
    print(f"written to docs/{page.name}")
    for public in public_names():
        print(*(f"{public}: {gap}\n" for gap in gaps(public)), sep="", end="")
