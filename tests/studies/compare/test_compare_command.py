"""`shoal compare`: exit codes, files, JSON, and comparisons that are interrupted and go on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import polars
import pytest
import yaml

from shoal.cli import main
from shoal.plan import read_plan
from shoal.release import run

PLAN = {
    "version": 1,
    "input": {"path": "sets.dat"},
    "hierarchies": "frequency:5",
    "guarantee": {"model": "km", "k": 3, "m": 1},
    "compare": {"algorithm": ["exact", "aa"], "k": [2, 5]},
}
UNTIMED = ("seconds", "peak_mb", "start_mb", "jobs", "threads")


@pytest.fixture
def plan(shop):
    def written(**changes):
        (shop / "plan.yaml").write_text(yaml.safe_dump(PLAN | changes, sort_keys=False))
        return "plan.yaml"

    written()
    return written


def untimed(document):
    return [{name: value for name, value in row.items() if name not in UNTIMED} for row in document["rows"]]


def test_a_comparison_is_shown_and_written(plan, shop, in_process, capsys):
    assert main(["compare", "plan.yaml"]) == 0
    shown = capsys.readouterr().out
    assert "optimal" in shown
    assert "optimum" in shown
    assert "info" in shown
    assert "4 audited releases" in shown
    made = shop / "plan-comparison"
    assert sorted(os.listdir(made)) == ["cells", "comparison.csv", "comparison.html", "comparison.parquet"]
    assert polars.read_parquet(made / "comparison.parquet").height == 4
    assert len(os.listdir(made / "cells")) == 4


def test_json_is_the_whole_comparison(plan, in_process, capsys):
    assert main(["compare", "plan.yaml", "-o", "out", "--json", "--jobs", "1"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["cells"], found["done"], found["kept"], found["axes"]) == (4, 4, 0, ["algorithm", "k"])
    assert all(row["holds"] and row["loss"]["ncp"] >= 0 and row["warm"] for row in found["rows"])
    assert main(["compare", "plan.yaml", "-o", "out", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["kept"] == 4
    assert again["rows"] == found["rows"]


def test_no_item_of_the_data_is_in_any_file(plan, shop, in_process, baskets, capsys):
    (shop / "named.csv").write_text("".join(f"{name};x;r\n" for name in names(baskets)[1:]))
    plan(input={"path": "sets.csv"}, compare={"hierarchies": ["named.csv", "frequency:5"], "k": [2, 3]})
    (shop / "sets.csv").write_text("items\n" + "\n".join("|".join(row) for row in named_rows(baskets)) + "\n")
    assert main(["compare", "plan.yaml", "-o", "out"]) == 0
    assert "not among its leaves" in capsys.readouterr().out
    written = b"".join(file.read_bytes() for file in (shop / "out").rglob("*") if file.is_file())
    assert b"item-of-" not in written


def names(baskets):
    return [f"item-of-{name.replace(' ', '-')}" for name in baskets.vocabulary]


def named_rows(baskets):
    called = names(baskets)
    return [
        [called[i] for i in baskets.items[a:b]] for a, b in zip(baskets.offsets[:-1], baskets.offsets[1:], strict=True)
    ]


def test_the_plan_of_a_row_makes_the_same_release(plan, shop, in_process, capsys):
    assert main(["compare", "plan.yaml", "-o", "out", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert main(["compare", "plan.yaml", "--print-plan", "4"]) == 0
    (shop / "cell.yaml").write_text(capsys.readouterr().out)
    assert dict(run(read_plan("cell.yaml")).loss) == rows[3]["loss"]
    assert main(["compare", "plan.yaml", "--print-plan", "5"]) == 2
    assert "there is no row 5" in capsys.readouterr().err


def test_check_computes_nothing(plan, shop, in_process, capsys):
    plan(compare={"algorithm": ["exact"], "k": [2]})
    assert main(["compare", "plan.yaml", "-o", "out"]) == 0
    plan()
    capsys.readouterr()
    assert main(["compare", "plan.yaml", "-o", "out", "--check"]) == 0
    assert "4 cells, 1 there already; nothing was computed" in capsys.readouterr().out
    assert main(["compare", "plan.yaml", "-o", "out", "--check", "--json"]) == 0
    assert [cell["kept"] for cell in json.loads(capsys.readouterr().out)["cells"]] == [True, False, False, False]
    assert len(in_process) == 1


def test_failures_do_not_fail_the_comparison_unless_all_do(plan, in_process, capsys):
    plan(compare={"k": [2, 1000]})
    assert main(["compare", "plan.yaml", "-o", "out"]) == 0
    assert "row 2: unreachable" in capsys.readouterr().out
    plan(compare={"k": [1000, 2000]})
    assert main(["compare", "plan.yaml", "-o", "out"]) == 3
    assert "no cell came to a release" in capsys.readouterr().err


def test_mistakes_are_told_with_their_place(plan, shop, capsys):
    plan(compare={"k": ["five"]})
    assert main(["compare", "plan.yaml"]) == 2
    assert "plan.yaml: compare.k.0 (line 10): it is 'five'; give a whole number" in capsys.readouterr().err
    assert not (shop / "plan-comparison").exists()


def test_an_interrupted_comparison_goes_on_and_ends_as_if_it_had_not_been(plan, shop, in_process, capsys):
    command = [sys.executable, "-m", "shoal", "compare", "plan.yaml", "--jobs", "1", "--json"]
    process = subprocess.Popen([*command, "-o", "out"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=shop)
    cells = shop / "out" / "cells"
    until = time.monotonic() + 240
    while not (cells.is_dir() and any(name.endswith(".json") for name in os.listdir(cells))):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert b"the same command goes on from here" in err
    first = json.loads(out)
    assert first["interrupted"]
    assert 1 <= first["done"] < 4
    assert first["done"] + first["missing"] == 4
    assert (shop / "out" / "comparison.html").is_file()
    assert polars.read_parquet(shop / "out" / "comparison.parquet").height == first["done"]
    assert not [name for name in os.listdir(cells) if not name.endswith(".json")]

    done = subprocess.run([*command, "-o", "out"], capture_output=True, cwd=shop, timeout=300, check=True)
    resumed = json.loads(done.stdout)
    assert (resumed["kept"], resumed["done"], resumed["interrupted"]) == (first["done"], 4, False)
    assert [row["seconds"] for row in resumed["rows"][: first["done"]]] == [row["seconds"] for row in first["rows"]]
    assert main(["compare", "plan.yaml", "-o", "whole", "--json"]) == 0
    assert untimed(json.loads(capsys.readouterr().out)) == untimed(resumed)


def test_a_table_fits_on_a_terminal_of_80_columns(plan, shop, in_process):
    import io

    from rich.console import Console

    from shoal.cli.compare import show
    from shoal.studies.compare import compare, read_comparison, rows_of

    grid = {"algorithm": ["exact", "hybrid", "aa"], "k": [2, 500], "hierarchies": ["balanced:5", "frequency:5"]}
    found = compare(read_comparison(plan(compare=grid)), "out")
    out = io.StringIO()
    show(found, rows_of(found), Console(file=out, width=80))
    lines = out.getvalue().split("note:")[0].splitlines()
    shown = [line for line in lines if "balanced:5" in line or "frequency:5" in line]
    assert len(shown) == 12  # nothing is broken over two lines
    assert any("optimum" in line for line in lines)
    assert all(len(line) <= 80 for line in shown)
