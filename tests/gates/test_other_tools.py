"""What calls the gate from elsewhere is run here as far as it can be: the hook, the action, the tests of dbt, two recipes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import types
from itertools import combinations
from pathlib import Path

import duckdb
import jinja2
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal

ROOT = Path(__file__).parents[2]
POLICY = "version: 1\nchecks: [{files: '*.csv', guarantee: {model: km, k: 5, m: 2}}]\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    shoal.write(shoal.read([["milk", "bread"]] * 5), tmp_path / "good.csv")
    (tmp_path / "gate.yaml").write_text(POLICY)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    return tmp_path


def break_it(folder):
    shoal.write(shoal.read([["milk", "bread"], ["gin"]]), folder / "bad.csv")


def test_the_hook_runs_as_pre_commit_calls_it(folder):
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hook["language"] == "python"
    assert hook["id"] == "shoal-gate"

    def commit(*files):
        return subprocess.run(
            [*hook["entry"].split(), "gate.yaml", *files], capture_output=True, check=False
        ).returncode

    break_it(folder)
    (folder / "README.md").touch()
    assert commit("good.csv", "README.md") == 0
    assert commit("good.csv", "bad.csv") == 3


def test_the_action_writes_its_report_and_fails_where_the_gate_does(folder):
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    gate = action["runs"]["steps"][1]
    assert set(re.findall(r"inputs\.(\w+)", str(gate["env"]))) == set(action["inputs"])

    def job(files, junit=""):
        given = {"POLICY": "gate.yaml", "FILES": files, "SARIF": "gate.sarif", "JUNIT": junit}
        done = subprocess.run(
            ["bash", "-e", "-c", gate["run"]], capture_output=True, check=False, env=os.environ | given
        )
        return done.returncode

    assert job("") == 0
    break_it(folder)
    assert job("good.csv\n", "junit.xml") == 0
    assert job("") == 3
    assert (folder / "gate.sarif").exists()
    assert (folder / "junit.xml").exists()


@pytest.mark.parametrize("tool", ["airflow", "dagster"])
def test_the_recipes_stop_what_breaks_its_promise(tool, folder, monkeypatch):
    page = (ROOT / "docs" / "guide" / "gate.md").read_text()
    recipe = re.search(rf"<!-- recipe: {tool} -->\n```python\n(.*?)```", page, re.DOTALL)[1]
    stand_in = types.ModuleType(tool)
    stand_in.asset_check = lambda **_: lambda function: function
    stand_in.AssetCheckResult = lambda passed, metadata: (passed, metadata)
    decorators = types.ModuleType("airflow.decorators")
    decorators.task = lambda function: function
    monkeypatch.setitem(sys.modules, tool, stand_in)
    monkeypatch.setitem(sys.modules, "airflow.decorators", decorators)
    made = {}
    exec(compile(recipe.replace("-> dagster.AssetCheckResult", ""), tool, "exec"), made)
    if tool == "airflow":
        assert made["gate"]("good.csv") == "good.csv"
        break_it(folder)
        with pytest.raises(shoal.Unreachable):
            made["gate"]("bad.csv")
    else:
        assert made["keeps_its_promise"]() == (True, {"problems": []})
        break_it(folder)
        passed, told = made["keeps_its_promise"]()
        assert not passed
        assert "bad.csv" in told["problems"][0]


def macro(name):
    source = (ROOT / "integrations" / "dbt" / "macros" / "shoal.sql").read_text()
    source = re.sub(r"{% test (\w+)", r"{% macro \1", source).replace("{% endtest %}", "{% endmacro %}")
    return getattr(jinja2.Environment().from_string(source).module, name)


@settings(max_examples=30)
@given(
    st.lists(st.sets(st.sampled_from("abcd"), max_size=4), min_size=1, max_size=10),
    st.integers(1, 3),
    st.integers(1, 3),
)
def test_dbt_counts_sets_as_the_audit_does(rows, k, m):
    base = duckdb.connect()
    base.execute("create table visits (visit integer, code text)")
    for number, row in enumerate(rows):
        base.execute("insert into visits values (?, null)", [number])
        for item in sorted(row):
            base.execute("insert into visits values (?, ?)", [number, item])
    failing = base.execute(str(macro("shoal_km_anonymous")("visits", row_id="visit", item="code", k=k, m=m))).fetchall()
    sets = {s for row in rows for n in range(1, m + 1) for s in combinations(sorted(row), n)}
    rare = [s for s in sets if sum(set(s) <= row for row in rows) < k]
    assert len(failing) == len(rare)
    assert all(isinstance(value, int) for row in failing for value in row)


def test_dbt_passes_no_item_without_a_record():
    base = duckdb.connect()
    base.execute("create table visits (visit integer, code text)")
    base.execute("insert into visits values (1, 'a'), (2, 'a'), (3, null), (null, null)")
    count = str(macro("shoal_km_anonymous")("visits", row_id="visit", item="code", k=2, m=2))
    assert base.execute(count).fetchall() == []
    base.execute("insert into visits values (null, 'a'), (null, 'b')")
    assert (0, 2) in base.execute(count).fetchall()


@settings(max_examples=30)
@given(st.lists(st.tuples(st.sampled_from(["a", None]), st.integers(0, 1)), min_size=1, max_size=8), st.integers(1, 3))
def test_dbt_counts_classes_as_the_audit_does(rows, k):
    base = duckdb.connect()
    base.execute("create table people (age text, sex integer)")
    base.executemany("insert into people values (?, ?)", rows)
    failing = base.execute(str(macro("shoal_k_anonymous")("people", quasi=["age", "sex"], k=k))).fetchall()
    assert len(failing) == sum(rows.count(kind) < k for kind in set(rows))
