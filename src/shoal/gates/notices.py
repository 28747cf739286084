"""What a gate found, in the forms that pipelines read: JUnit for test reports, SARIF 2.1.0 for code scanning."""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from shoal import __version__
from shoal.gates.inspection import KINDS, Inspection
from shoal.gates.rulebook import local_folder
from shoal.records.stores.remote import is_elsewhere

SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
_NO_XML = {code: "\ufffd" for code in range(32) if code not in (9, 10, 13)} | {0xFFFE: "\ufffd", 0xFFFF: "\ufffd"}
"""What no XML may hold."""


def junit(found: Inspection) -> str:
    """A test suite with a case for each check of each file."""
    kinds = Counter("error" if _is_error(file.problems) else "failure" for file in found.files if file.problems)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<testsuite name={_attribute(f"shoal gate {found.policy}")} tests="{len(found.files)}" '
        f'failures="{kinds["failure"]}" errors="{kinds["error"]}" skipped="0">',
    ]
    for file in found.files:
        case = f"  <testcase classname={_attribute(file.check or 'no check')} name={_attribute(file.file)}"
        if file.passes:
            lines.append(f"{case}/>")
            continue
        tag = "error" if _is_error(file.problems) else "failure"
        kind = file.problems[0].kind
        text = "\n".join(f"{problem.kind}: {problem.says}" for problem in file.problems)
        message = _attribute(file.problems[0].says)
        lines += [
            f"{case}>",
            f"    <{tag} type={_attribute(kind)} message={message}>{_text(text)}</{tag}>",
            "  </testcase>",
        ]
    return "\n".join([*lines, "</testsuite>", ""])


def sarif(found: Inspection, policy: str) -> str:
    """A run with a result for each problem. Its places are from the current folder, which for a pipeline is that of the checkout."""
    folder = local_folder(os.path.dirname(policy))
    names = list(KINDS)
    results = [
        {
            "ruleId": problem.kind,
            "ruleIndex": names.index(problem.kind),
            "level": "error",
            "message": {"text": _clean(f"{file.file}: {problem.says}")},
            "locations": [_location(os.path.join(folder, file.file) if problem.kind != "missing" else policy)],
        }
        for file in found.files
        for problem in file.problems
    ]
    rules = [{"id": kind, "shortDescription": {"text": text}} for kind, text in KINDS.items()]
    run: dict[str, Any] = {
        "tool": {"driver": {"name": "shoal gate", "version": __version__, "rules": rules}},
        "results": results,
    }
    return json.dumps({"$schema": SARIF, "version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False) + "\n"


def _is_error(problems: Any) -> bool:
    return problems[0].kind in ("unreadable", "missing")


def _location(path: str) -> dict[str, Any]:
    if is_elsewhere(path):
        uri = quote(path, safe="/:")
    else:
        uri = quote(os.fsencode(os.path.relpath(path).replace(os.sep, "/") + "/" * path.endswith("/")))
    return {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": 1}}}


def _attribute(text: str) -> str:
    return quoteattr(_clean(text), {"\n": "&#10;"})


def _text(text: str) -> str:
    return escape(_clean(text))


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8").translate(_NO_XML)
