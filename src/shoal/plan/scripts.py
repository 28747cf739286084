"""The same release without the app: as one command, and as Python.

Both are made from the plan and quoted, so that they can be pasted as they stand; paths are those of the plan. Flags cannot say everything
that a plan can (several names of which one holds a comma, a column whose name holds `=`): there the command runs the plan itself.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from typing import Any

from shoal.hierarchy.spec import is_made
from shoal.plan import Plan
from shoal.records.roles import NO_COLUMN

_SEVERAL = {"quasi": "--quasi", "keep": "--keep", "drop": "--drop"}
_PAIRS = {"weights": "--weight", "item_weights": "--item-weight", "fuzzy": "--fuzzy"}


class _Unsayable(Exception):  # noqa: N818 - it is no error of anybody
    """Flags cannot say this."""


def command_of(plan: Plan, plan_file: str = "plan.yaml") -> str:
    """The command for a shell: `shoal anonymize` with flags, or, where flags cannot say it, `shoal run` with the plan's file."""
    if plan.outputs is None:
        return f"shoal run {shlex.quote(plan_file)}"
    try:
        words = ["shoal", "anonymize", _as_path(plan, plan.input.path), *_flags(plan)]
    except _Unsayable:
        return f"shoal run {shlex.quote(plan_file)}"
    return " ".join(map(shlex.quote, words))


def script_of(plan: Plan) -> str:
    """A Python script."""
    promise = plan.promise
    name = type(promise).__name__
    numbers = ", ".join(f"{key}={getattr(promise, key)!r}" for key in ("k", "l", "m") if hasattr(promise, key))
    if getattr(promise, "missing", "unknown") != "unknown":
        numbers += f", missing={_literal(promise.missing)}"
    asked = [repr(plan.data), f"{name}({numbers})"]
    asked += [f"{key}={_literal(value)}" for key, value in plan.keywords().items()]
    lines = [
        f"from shoal import {', '.join(sorted((name, 'anonymize'), key=str.lower))}",
        "",
        "release = anonymize(",
        *(f"    {argument}," for argument in asked),
        ")",
    ]
    outputs = plan.outputs
    if outputs is not None:
        names = ("certificate", "rules", "report", "sign")
        wanted = {name: getattr(outputs, name) for name in names}
        given = [f"{key}={_joined(plan, path)!r}" for key, path in wanted.items() if path is not None]
        lines.append(f"release.write({', '.join([repr(_joined(plan, outputs.data)), *given])})")
    return "\n".join([*lines, "print(release)"]) + "\n"


def _literal(value: Any) -> str:
    """A value as Python reads it back."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_literal(inner)}" for key, inner in value.items()) + "}"
    return repr(list(value) if isinstance(value, tuple | list) else value)


def _flags(plan: Plan) -> Iterator[str]:
    assert plan.outputs is not None
    yield from _flag("--output", _joined(plan, plan.outputs.data))
    for name in ("certificate", "rules", "report", "sign"):
        if (path := getattr(plan.outputs, name)) is not None:
            yield from _flag(f"--{name}", _joined(plan, path))
    for name, value in plan.guarantee.model_dump(exclude_none=True).items():
        if isinstance(value, dict):
            for column, reading in value.items():
                yield from _flag(f"--{name}", f"{column}={reading}")
        elif name != "l" or plan.guarantee.model != "k" or value != 1:
            yield from _flag(f"--{name}", value)
    for role, flag in _SEVERAL.items():
        for name in plan.of_role(role):
            yield from _flag(flag, _one_name(plan, name))
    yield from _listed("--items", [_one_name(plan, name) for name in plan.of_role("items")])
    yield from _listed("--id", plan.of_role("id"))
    yield from _sensitive(plan)
    yield from _hierarchies(plan)
    if plan.algorithm is not None:
        yield from _flag("--algorithm", plan.algorithm)
    for name, value in plan.options.model_dump(exclude_none=True).items():
        if name in _PAIRS:
            for key, number in value.items():
                yield from _flag(_PAIRS[name], f"{key}={number!r}")
        else:
            yield from _flag(f"--{name.replace('_', '-')}", _joined(plan, value) if name == "knowledge" else value)
    if plan.input.format is not None:
        yield from _flag("--format", plan.input.format)
    if (mark := plan.input.separator) is not None:
        if mark in ("\\t", "\\n"):  # taken for a tab and a newline
            raise _Unsayable
        yield from _flag("--separator", {"\t": "\\t", "\n": "\\n"}.get(mark, mark))
    if plan.input.numeric == []:
        if NO_COLUMN in plan.columns:
            raise _Unsayable
        yield from _flag("--numeric", NO_COLUMN)
    for name in plan.input.numeric or ():
        yield from _flag("--numeric", _one_name(plan, name))
    if plan.keep_order:
        yield "--keep-order"


def _flag(flag: str, value: Any) -> Iterator[str]:
    text = value if isinstance(value, str) else repr(value)
    if text.startswith("-") or not text:  # or it would be taken for another flag
        yield f"{flag}={text}"
    else:
        yield flag
        yield text


def _one_name(plan: Plan, name: str) -> str:
    """A column's name stands for it, commas and all, once the file is read; FIMI text has none."""
    if name != name.strip():
        raise _Unsayable
    return name


def _listed(flag: str, names: Any) -> Iterator[str]:
    """Several names in one text, for a flag that cannot be repeated."""
    if len(names) > 1 and any("," in name for name in names):
        raise _Unsayable
    if names:
        yield from _flag(flag, ",".join(names))


def _sensitive(plan: Plan) -> Iterator[str]:
    columns = plan.of_role("sensitive")
    if columns:
        yield from _listed("--sensitive", [_one_name(plan, name) for name in columns])
    elif plan.sensitive_file is not None:
        yield from _flag("--sensitive", _joined(plan, plan.sensitive_file))
    elif isinstance(plan.sensitive_items, str):
        yield from _flag("--sensitive", plan.sensitive_items)
    elif plan.sensitive_items is not None:
        if any("," in item or item != item.strip() for item in plan.sensitive_items):
            raise _Unsayable
        yield from _flag("--sensitive", ",".join(plan.sensitive_items))


def _hierarchies(plan: Plan) -> Iterator[str]:
    trees = plan.hierarchies
    if trees is None:
        return
    if isinstance(trees, str) or plan.kind == "km":
        spec = trees if isinstance(trees, str) else next(iter(trees.values()), None)
        if spec is not None:
            text = _spec(plan, spec)
            if "=" in text:
                raise _Unsayable
            yield from _flag("--hierarchy", text)
        return
    for name, spec in trees.items():
        if "=" in name:
            raise _Unsayable
        yield from _flag("--hierarchy", f"{name}={_spec(plan, spec)}")


def _spec(plan: Plan, spec: str) -> str:
    return spec if is_made(spec) else _joined(plan, spec)


def _joined(plan: Plan, path: str) -> str:
    return path if path == "-" or "://" in path else os.path.join(plan.origin.folder, path)


def _as_path(plan: Plan, path: str) -> str:
    """A path in the place of an argument: one that begins with a dash would be taken for a flag."""
    joined = _joined(plan, path)
    return os.path.join(os.curdir, joined) if joined.startswith("-") and joined != "-" else joined
