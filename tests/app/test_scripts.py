from __future__ import annotations

import shlex
import subprocess
import sys

import pytest

from shoal.plan import plan_of, read_plan
from shoal.plan.save import plan_yaml
from shoal.plan.scripts import command_of, script_of
from shoal.release import run

SETS = [["abcdefgh"[(i * 3 + j) % 8] for j in range(1 + i % 3)] for i in range(60)]
PEOPLE = [(20 + i * 7 % 40, "MF"[i % 2], SETS[i], "uvwxy"[i % 5], f"n{i}") for i in range(60)]


def write_data(folder):
    (folder / "my sets.csv").write_text("the items;(x)\n" + "".join("|".join(row) + ";\n" for row in SETS))
    (folder / "-sets.dat").write_text("".join(" ".join(row) + "\n" for row in SETS))
    (folder / "long.csv").write_text(
        "who,what\n" + "".join(f"{i},{item}\n" for i, row in enumerate(SETS) for item in row)
    )
    rows = "".join(f"{age},{sex},{'|'.join(items)},{ill},{name}\n" for age, sex, items, ill, name in PEOPLE)
    (folder / "people.csv").write_text('age,"se""x",items,ill,"na,me"\n' + rows)
    (folder / "tree.csv").write_text("".join(f"{x};{'low' if x < 'e' else 'high'};any\n" for x in "abcdefgh"))
    (folder / "sensitive.txt").write_text("h\n")


PLANS = {
    "km": {
        "input": {"path": "my sets.csv", "separator": "|"},
        "columns": {"the items": "items", "(x)": "drop"},
        "hierarchies": "tree.csv",
        "guarantee": {"model": "km", "k": 5, "m": 2},
        "algorithm": "exact",
        "options": {"suppress": 0.05, "threads": 1},
    },
    "a path like a flag": {"input": {"path": "-sets.dat"}, "guarantee": {"model": "km", "k": 3, "m": 1}},
    "a long table": {
        "input": {"path": "long.csv", "format": "long"},
        "columns": {"who": "id", "what": "items"},
        "guarantee": {"model": "k", "k": 3},
        "options": {"seed": 3},
    },
    "sensitive items": {
        "input": {"path": "-sets.dat"},
        "sensitive_items": ["g", "h"],
        "guarantee": {"model": "k", "k": 3},
        "algorithm": "pta",
    },
    "a file of sensitive items": {
        "input": {"path": "-sets.dat"},
        "sensitive_file": "sensitive.txt",
        "guarantee": {"model": "k", "k": 3},
    },
    "table": {
        "input": {"path": "people.csv"},
        "columns": {"age": "quasi", 'se"x': "quasi", "items": "drop", "ill": "sensitive", "na,me": "drop"},
        "hierarchies": {"age": "intervals:5,10,20"},
        "guarantee": {"model": "k", "k": 4, "l": 2, "missing": {"ill": "value"}},
        "options": {"weights": {"age": 2.0}},
    },
    "rt": {
        "input": {"path": "people.csv", "separator": "|"},
        "columns": {"age": "quasi", 'se"x': "quasi", "items": "items", "ill": "keep", "na,me": "drop"},
        "guarantee": {"model": "rt", "k": 4, "m": 2},
        "algorithm": "rmerge-r",
        "options": {"delta": 0.8, "item_weights": {"a": 0.5}},
        "keep_order": True,
    },
    "diversity": {
        "input": {"path": "people.csv", "numeric": ["age"]},
        "columns": {"age": "quasi", 'se"x': "quasi", "items": "drop", "ill": "sensitive", "na,me": "drop"},
        "guarantee": {"model": "diversity", "l": 3, "missing": "value"},
    },
}  # fmt: skip


def plan_for(name, folder, out):
    document = {"version": 1, **PLANS[name], "outputs": {"data": f"{out}.csv", "rules": f"{out} rules.csv"}}
    plan = plan_of(document)
    (folder / "plan.yaml").write_text(plan_yaml(plan))
    return plan


@pytest.mark.parametrize("name", PLANS)
def test_command_and_script_give_the_release_of_the_plan(name, tmp_path):
    write_data(tmp_path)
    plan_for(name, tmp_path, "plan's")
    run(read_plan(tmp_path / "plan.yaml"))
    rows = {"plan": published(tmp_path / "plan's.csv")}

    words = shlex.split(command_of(plan_for(name, tmp_path, "$HOME `x`")))
    assert words[:2] == ["shoal", "anonymize"]
    subprocess.run([sys.executable, "-m", *words], cwd=tmp_path, check=True, capture_output=True, timeout=120)
    rows["command"] = published(tmp_path / "$HOME `x`.csv")

    script = script_of(plan_for(name, tmp_path, 'it\'s "x"'))
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True, capture_output=True, timeout=120)
    rows["script"] = published(tmp_path / 'it\'s "x".csv')
    assert rows["command"] == rows["plan"] == rows["script"]


def published(path):
    """The rows without what is drawn by lot: their order, the ids of a long table, the numbers of buckets and the order within them."""
    header, *rows = path.read_text().splitlines()
    if header == "who,what":
        people = {}
        for row in rows:
            people.setdefault(row.split(",")[0], []).append(row.split(",")[1])
        rows = [" ".join(sorted(items)) for items in people.values()]
    if header.endswith(",bucket"):
        buckets = {}
        for row in rows:
            known, value, bucket = row.rsplit(",", 2)
            buckets.setdefault(bucket, []).append((known, value))
        rows = [str([sorted(side) for side in zip(*bucket, strict=True)]) for bucket in buckets.values()]
    return header, sorted(rows)


@pytest.mark.parametrize(
    "change",
    [
        {"sensitive_items": ["a,b"]},
        {"columns": {"a": "items", "x=y": "quasi"}, "hierarchies": {"x=y": "mask"}},
        {"columns": {" a": "items", "b": "quasi"}},
        {"columns": {"a,b": "items", "c": "items", "d": "quasi"}},
        {"outputs": None},
    ],
)
def test_what_flags_cannot_say_is_left_to_the_plan(change):
    document = {
        "version": 1,
        "input": {"path": "x.csv"},
        "columns": {"a": "items", "b": "quasi"},
        "guarantee": {"model": "rt", "k": 3, "m": 1},
        "outputs": {"data": "y.csv"},
    } | change
    assert command_of(plan_of(document), "my plan.yaml") == "shoal run 'my plan.yaml'"
