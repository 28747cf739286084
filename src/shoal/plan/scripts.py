"""The same release by hand: the command, the Python script and the notebook that a plan stands for.

They are quoted, so that they can be pasted as they stand; paths are those of the plan. Flags cannot say everything that a plan can (several
names of which one holds a comma, a column whose name holds `=`): there the command runs the plan itself.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from shoal.guarantees.constraints.policy import Policy
from shoal.guarantees.registry import OF_SETS, settings_of
from shoal.options import OPTIONS, Texts
from shoal.plan.model import Plan
from shoal.records.roles import NO_COLUMN


class _Unsayable(Exception):  # noqa: N818 - it is not an error of anybody
    """Flags cannot say this."""


def command_of(plan: Plan, plan_file: str = "plan.yaml") -> str:
    """The command for a shell: `shoal anonymize` with flags, or, where flags cannot say it, `shoal run` with the plan's file."""
    if plan.outputs is None:
        return f"shoal run {shlex.quote(plan_file)}"
    try:
        words = ["shoal", "anonymize", _as_path(plan.path_of(plan.input.path)), *_flags(plan)]
    except _Unsayable:
        return f"shoal run {shlex.quote(plan_file)}"
    return " ".join(map(shlex.quote, words))


def checking_command(certificate: str, data: str, is_signed: bool) -> str:
    """The command by which others check a release."""
    words = ["shoal", "verify", certificate, data, *(("--key", "SIGNER.pub") if is_signed else ())]
    return " ".join(map(shlex.quote, words))


def script_of(plan: Plan) -> str:
    """A Python script."""
    promise = plan.promise
    name = type(promise).__name__
    numbers = ", ".join(f"{key}={getattr(promise, key)!r}" for key in ("k", "l", "m") if hasattr(promise, key))
    numbers += "".join(f", {key}={_literal(value)}" for key, value in settings_of(promise).items())
    reads = ("read_policy",) if "policy" in settings_of(promise) else ()
    asked = [repr(plan.data), f"{name}({numbers})"]
    asked += [f"{key}={_literal(value)}" for key, value in plan.keywords().items()]
    lines = [
        f"from shoal import {', '.join(sorted((name, 'anonymize', *reads), key=str.lower))}",
        "",
        "release = anonymize(",
        *(f"    {argument}," for argument in asked),
        ")",
    ]
    if plan.outputs is not None:
        data, *papers = _outputs(plan).items()
        lines.append(f"release.write({', '.join([repr(data[1]), *(f'{name}={path!r}' for name, path in papers)])})")
    return "\n".join([*lines, "print(release)"]) + "\n"


def rebuilding_script(plan_file: str) -> str:
    """A Python script that makes the release of a plan that lies beside it once more, with its certificate and charts."""
    return f'''"""Makes the release of {plan_file}, which lies beside this script, once more, and a certificate with its charts.

The original file must lie here, too. Rows are shuffled anew: the file has other bytes, and a certificate of its own.
"""

import os

import shoal

os.chdir(os.path.dirname(os.path.abspath(__file__)))
plan = shoal.read_plan({plan_file!r})
release = shoal.run(plan, force=True)
release.audit.require()
print(release)
print("the file is", plan.outputs.data, "and its certificate, with the charts,", plan.outputs.certificate)
'''


def notebook_of(plan: Plan, plan_file: str) -> str:
    """A notebook that makes the release of a plan beside it once more, checks it, and shows its charts and what it is still good for."""
    assert plan.outputs is not None
    promise = plan.guarantee.model_dump(exclude_none=True)
    asked: dict[str, Any] = {name: promise[name] for name in ("k", "m") if name in promise}
    keywords = plan.keywords()
    known = ("quasi", "sensitive", "keep", "hierarchy", "unknown", *plan.reading())
    asked |= {name: keywords[name] for name in known if name in keywords}
    if "hierarchy" not in asked and plan.kind in OF_SETS and plan.outputs.rules is not None:
        asked["rules"] = plan.outputs.rules
    sensitive = ", sensitive=plan.sensitive" if plan.sensitive_items or plan.sensitive_file else ""
    proof = plan.outputs.certificate
    measured = "".join(f"    {name}={_literal(value)},\n" for name, value in asked.items())
    cells = [
        f"# The release {plan.outputs.data}, once more\n\nLay the original, `{plan.input.path}`, beside this notebook, and run all cells.",
        f"import shoal\n\nplan = shoal.read_plan({plan_file!r})\nrelease = shoal.run(plan, force=True)\nrelease.audit.require()\nrelease",
        "Whoever has the file and its certificate can check the promise:",
        f"shoal.verify({proof!r}, {plan.outputs.data!r}{sensitive})",
        "The certificate, with its charts:",
        f"from IPython.display import IFrame\n\nIFrame({proof!r}, width='100%', height=700)",
        "What an analyst can still do with it, and what an attacker would still learn. This needs the original, and is for its owner:",
        f"shoal.evaluate(\n    plan.data,\n    release.published,\n{measured})",
    ]
    return json.dumps(
        {
            "cells": [_cell(number, text) for number, text in enumerate(cells)],
            "metadata": {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}},
            "nbformat": 4,
            "nbformat_minor": 5,
        },
        indent=1,
    )


def _cell(number: int, text: str) -> dict[str, Any]:
    """Words and code take turns."""
    cell = {"id": f"cell-{number}", "metadata": {}, "source": text.splitlines(keepends=True)}
    if number % 2 == 0:
        return {"cell_type": "markdown", **cell}
    return {"cell_type": "code", "execution_count": None, "outputs": [], **cell}


def _literal(value: Any) -> str:
    """A value as Python reads it back."""
    if isinstance(value, Policy):
        return f"read_policy({value.path!r})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_literal(inner)}" for key, inner in value.items()) + "}"
    return repr(list(value) if isinstance(value, tuple | list) else value)


def _outputs(plan: Plan) -> dict[str, str]:
    """What is written where, the data first."""
    assert plan.outputs is not None
    return {
        "output" if name == "data" else name: plan.path_of(path)
        for name, path in plan.outputs.model_dump(exclude_none=True).items()
    }


def _flags(plan: Plan) -> Iterator[str]:
    if plan.engine is not None or plan.input.query is not None:
        raise _Unsayable
    yield from _flag("--output", _outputs(plan)["output"])
    promise = plan.guarantee.model_dump(exclude_none=True)
    if promise["model"] == "k" and promise["l"] == 1:
        del promise["l"]
    if "policy" in promise:
        promise["policy"] = plan.path_of(promise["policy"])
    papers = {name: path for name, path in _outputs(plan).items() if name != "output"}
    for name, value in {**papers, **promise, **plan.keywords()}.items():
        flag = OPTIONS[name].flag
        if isinstance(value, Mapping):
            for key, given in value.items():
                if name == "hierarchy" and "=" in key:
                    raise _Unsayable
                yield from _flag(flag, f"{key}={given if isinstance(given, str) else repr(given)}")
        elif isinstance(OPTIONS[name].kind, Texts):
            for text in _names(plan, value):
                yield from _flag(flag, text)
        elif value is True:
            yield flag
        else:
            yield from _flag(flag, _text(plan, name, value))


def _names(plan: Plan, given: Any) -> Iterator[str]:
    """Names of columns for a flag that can be repeated. Each stands for its column, commas and all."""
    if not given and NO_COLUMN in plan.columns:
        raise _Unsayable
    yield from map(_bare, given or (NO_COLUMN,))


def _text(plan: Plan, name: str, given: Any) -> str:
    """What a flag takes that stands once; several names have commas between them."""
    if isinstance(given, tuple | list):
        if any("," in text for text in given) and (len(given) > 1 or given == plan.sensitive_items):
            raise _Unsayable
        given = ",".join(map(_bare, given))
    elif name in ("items", "id", "person", "sensitive") and given in plan.columns:
        _bare(given)
    elif name == "separator":
        if given in ("\\t", "\\n"):  # taken for a tab and a newline
            raise _Unsayable
        given = {"\t": "\\t", "\n": "\\n"}.get(given, given)
    elif name == "hierarchy" and "=" in given:
        raise _Unsayable
    return given if isinstance(given, str) else repr(given)


def _bare(name: str) -> str:
    """A name that keeps its blanks on a command line, as there are none around it."""
    if name != name.strip():
        raise _Unsayable
    return name


def _flag(flag: str, text: str) -> Iterator[str]:
    if text.startswith("-") or not text:  # or it would be taken for another flag
        yield f"{flag}={text}"
    else:
        yield flag
        yield text


def _as_path(path: str) -> str:
    """A path in the place of an argument: one that begins with a dash would be taken for a flag."""
    return os.path.join(os.curdir, path) if path.startswith("-") and path != "-" else path
