"""One table of options: every face takes what it says, and a misspelt keyword is refused with the one that may be meant."""

from __future__ import annotations

import inspect
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import typer

import shoal
from shoal.cli import command_line
from shoal.errors import InputError
from shoal.options import KEYWORDS, OPTIONS, Auditing, Choice, Keywords, Share, Switch, Whole
from shoal.plan import Plan, json_schema
from shoal.plan.model import RunOptions

ROWS = [["a", "b"], ["a", "b"], ["a"], ["b"]] * 5


def flags_of(command: str) -> set[str]:
    params = typer.main.get_command(command_line()).commands[command].params
    return {flag for param in params for flag in param.opts}


def test_every_option_is_a_flag_of_anonymize():
    assert {row.flag for row in OPTIONS.values()} <= flags_of("anonymize")


def test_every_option_has_its_place_in_a_plan():
    for row in OPTIONS.values():
        if row.place[0] == "options":
            assert row.place[1] in RunOptions.model_fields
        elif not row.place[0].startswith("the role"):
            assert row.place[0] in Plan.model_fields


def test_the_ranges_of_the_table_are_those_of_the_schema():
    fields = json_schema()["$defs"]["RunOptions"]["properties"]
    for name, row in KEYWORDS.items():
        if row.place[0] != "options":
            continue
        given = fields[name]["anyOf"][0]
        match row.kind:
            case Whole(least, most):
                assert (given["minimum"], given["maximum"]) == (least, most or given["maximum"])
            case Share():
                assert (given["minimum"], given["maximum"]) == (0, 1)
            case Choice(words):
                assert given.get("enum", [given.get("const")]) == list(words)


def test_the_table_lists_the_keywords_of_python():
    assert set(KEYWORDS) == set(Keywords.__annotations__)
    assert set(Auditing.__annotations__) < set(Keywords.__annotations__)
    assert set(KEYWORDS) <= set(inspect.signature(shoal.anonymize).parameters)


def test_help_never_speaks_of_another_face():
    for row in OPTIONS.values():
        assert "--" not in row.help.replace("shoal verify --new-key", ""), row.name


@pytest.mark.parametrize(
    ("function", "keyword", "meant"),
    [
        (shoal.anonymize, "hierachy", "is hierarchy meant"),
        (shoal.anonymize, "supress", "is suppress meant"),
        (shoal.anonymize, "zebra", "help(shoal.anonymize)"),
        (shoal.audit, "sensitve", "is sensitive meant"),
        (shoal.audit, "suppress", "audit takes no keyword 'suppress'"),
    ],
)
def test_a_misspelt_keyword_is_refused_with_the_near_miss(function, keyword, meant):
    with pytest.raises(InputError) as refused:
        function(ROWS, shoal.KmAnonymity(2, 1), **{keyword: 1})
    assert meant in str(refused.value)


def test_a_type_checker_refuses_misspelt_keywords_and_other_types(tmp_path):
    file = tmp_path / "caller.py"
    file.write_text(
        "import shoal\n"
        "shoal.anonymize('a.csv', shoal.KmAnonymity(5, 2), hierarchy='balanced:5', suppress=0.1)\n"
        "shoal.anonymize('a.csv', shoal.KmAnonymity(5, 2), hierachy='balanced:5')\n"
        "shoal.anonymize('a.csv', shoal.KmAnonymity(5, 2), suppress='much')\n"
        "shoal.anonymize('a.csv', 5)\n"
        "shoal.audit('a.csv', shoal.KmAnonymity(5, 2), suppress=0.1)\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", str(tmp_path / "cache")]
    found = subprocess.run([*command, str(file)], capture_output=True, text=True, cwd=tmp_path)
    lines = [int(line.split(":")[1]) for line in found.stdout.splitlines() if ": error:" in line]
    assert sorted(set(lines)) == [3, 4, 5, 6], found.stdout + found.stderr


def test_switches_and_numbers_say_what_they_are():
    assert [name for name, row in OPTIONS.items() if isinstance(row.kind, Switch)] == ["one_hot", "keep_order"]
    assert OPTIONS["threads"].kind == Whole(1, 1_024)


@pytest.mark.parametrize("names", [list, tuple, np.array, pd.Series, pd.Index, dict.fromkeys, ",".join])
def test_columns_are_named_by_any_collection(names):
    people = pd.DataFrame({"age": [30, 40] * 20, "sex": list("fm") * 20, "ill": list("abcd") * 10})
    release = shoal.anonymize(people, shoal.TableAnonymity(3), quasi=names(["age", "sex"]), drop=names(["ill"]))
    assert [column.name for column in release.published.columns] == ["age", "sex"]
