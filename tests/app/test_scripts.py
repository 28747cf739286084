from __future__ import annotations

import shlex
import subprocess
import sys

import pytest

from plan_cases import PLANS, published, write_data
from shoal.plan import plan_of, read_plan
from shoal.plan.save import plan_yaml
from shoal.plan.scripts import command_of, script_of
from shoal.release import run


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


def test_errors_of_the_script_speak_of_its_keywords(tmp_path):
    write_data(tmp_path)
    plan = plan_for("km", tmp_path, "out")
    script = script_of(plan)
    (tmp_path / "out.csv").write_text("")  # what is there already is not written over
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode
    assert "force=True" in done.stderr
    assert "--" not in done.stderr.splitlines()[-1]
