"""`shoal init`, `shoal run` and `shoal schema`, run in this process: exit codes, JSON, what is shown, written and refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

PLAN = """\
version: 1
input:
  path: raw.csv
columns:
  id: drop
  basket: items
guarantee:
  model: km
  k: 5
  m: 2
hierarchies: tree.csv
outputs:
  data: public.csv
"""
BASKETS = ["milk|nappies"] * 6 + ["milk|wipes"] * 5 + ["brie|wipes"] * 2 + ["milk|nappies|wipes"] * 13


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A folder with raw.csv, tree.csv and plan.yaml, which is where commands run."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{100 + i},{basket}\n" for i, basket in enumerate(BASKETS))
    (tmp_path / "raw.csv").write_text(f"id,basket\n{rows}")
    (tmp_path / "tree.csv").write_text("milk;dairy;shop\nbrie;dairy;shop\nnappies;baby;shop\nwipes;baby;shop\n")
    (tmp_path / "plan.yaml").write_text(PLAN)
    return tmp_path


def files(folder):
    return sorted(file.name for file in folder.iterdir())


def test_a_draft_can_be_checked_and_run(shop, run):
    code, text, err = run("init", "raw.csv")
    assert (code, err) == (0, "")
    assert yaml.safe_load(text)["columns"] == {"id": "drop", "basket": "items"}
    assert "separator: '|'  #" in text
    (shop / "draft.yaml").write_text(text)
    assert run("run", "draft.yaml", "--check")[0] == 0
    assert "raw-public.csv" not in files(shop)
    code, out, _ = run("run", "draft.yaml")
    assert code == 0
    assert "5^2-anonymity holds" in out
    assert {"raw-public.csv", "raw-public.csv.certificate.json"} <= set(files(shop))
    assert run("audit", "raw-public.csv", "--k", "5", "--m", "2")[0] == 0


def test_init_writes_a_plan_beside_others_with_paths_from_there(shop, run):
    (shop / "plans").mkdir()
    assert run("init", "raw.csv", "-o", "plans/plan.yaml", "--bind")[:2] == (0, "")
    plan = yaml.safe_load((shop / "plans" / "plan.yaml").read_text())
    assert plan["input"]["path"] == "../raw.csv"
    assert len(plan["input"]["sha256"]) == 64
    assert run("run", "plans/plan.yaml", "--check")[0] == 0
    code, _, err = run("init", "raw.csv", "-o", "plans/plan.yaml")
    assert code == 2
    assert "--force" in err
    assert run("init", "raw.csv", "-o", "plans/plan.yaml", "--force")[0] == 0


def test_init_says_which_columns_it_leaves_open_and_a_run_stops_there(shop, run):
    rows = "".join(f"{20 + i},{i % 3},{i % 4}\n" for i in range(30))
    (shop / "people.csv").write_text(f"age,salary,club\n{rows}")
    code, text, err = run("init", "people.csv")
    assert code == 0
    assert "2 columns left open" in err
    (shop / "people.yaml").write_text(text)
    code, out, err = run("run", "people.yaml")
    assert (code, out) == (2, "")
    assert "people.yaml: columns.salary (line 12): it has no role (nor have 1 more)" in err
    shown = json.loads(run("init", "people.csv", "--json")[1])
    assert shown["columns"]["age"]["role"] == "quasi"
    assert shown["columns"]["club"]["role"] is None


def test_run_writes_what_the_plan_names(shop, run):
    code, out, _ = run("run", "plan.yaml")
    assert code == 0
    assert "5^2-anonymity holds" in out
    assert files(shop) == ["plan.yaml", "public.csv", "public.csv.certificate.json", "raw.csv", "tree.csv"]
    code, _, err = run("run", "plan.yaml")
    assert code == 2
    assert "plan.yaml: outputs (line 12): " in err
    assert "--force" in err
    assert run("run", "plan.yaml", "--force")[0] == 0


def test_run_json_is_the_document_of_anonymize_with_the_plan(shop, run):
    code, out, _ = run("run", "plan.yaml", "--json")
    facts = json.loads(out)
    assert code == 0
    assert (facts["plan"], facts["output"], facts["rows"]) == ("plan.yaml", "public.csv", len(BASKETS))
    assert len(facts["plan_sha256"]) == 64
    flags = ["--items", "basket", "--drop", "id", "--hierarchy", "tree.csv", "--k", "5", "--m", "2"]
    other = json.loads(run("anonymize", "raw.csv", "-o", "flags.csv", *flags, "--json")[1])
    assert set(facts) == {*other, "plan", "plan_sha256"}
    for name in ("algorithm", "guarantee", "loss", "levels", "input_sha256", "parameters"):
        assert facts[name] == other[name]
    assert sorted((shop / "public.csv").read_text().splitlines()) == sorted(
        (shop / "flags.csv").read_text().splitlines()
    )


def test_check_says_rows_items_and_cost_and_writes_nothing(shop, run):
    before = files(shop)
    code, out, _ = run("run", "plan.yaml", "--check")
    assert code == 0
    assert "plan.yaml can be run; nothing was written" in out
    assert "26 rows" in out
    assert "4 items in 65 occurrences" in out
    assert "  basket  items          under tree.csv" in out
    assert "117 sets of up to 2 items to count" in out
    facts = json.loads(run("run", "plan.yaml", "--check", "--json")[1])
    assert (facts["rows"], facts["items"], facts["algorithm"]) == (26, 4, "local")
    assert set(facts["estimate"]) == {"seconds", "itemsets", "pairs"}
    assert files(shop) == before


@pytest.mark.parametrize(
    ("old", "new", "code", "complaint"),
    [
        ("k: 5", "k: five", 2, "plan.yaml: guarantee.k (line 9): it is 'five'; give a whole number"),
        ("k: 5", "k: 500", 3, "plan.yaml: "),
        ("m: 2", "m: 2\n  l: 2", 2, "plan.yaml: guarantee.l (line 11): it has no meaning with model km"),
        ("  id: drop\n", "", 2, "plan.yaml: columns (line 4): 'id' of raw.csv stand without a role"),
        ("  id: drop", "  id:", 2, "plan.yaml: columns.id (line 5): it has no role"),
        ("  id: drop", "  id: quasi", 2, "plan.yaml: columns.id (line 5): model km has no use for the role quasi"),
        ("tree.csv", "forest.csv", 2, "plan.yaml: hierarchies (line 11): 'forest.csv': there is no such file"),
        ("public.csv", "raw.csv", 2, "it is an input of this release"),
        ("version: 1", "version: 1\nversion: 1", 2, "plan.yaml: version (line 2): it stands there twice"),
        (PLAN, "", 2, "it is empty"),
    ],
)
@pytest.mark.parametrize("flags", [[], ["--check"]])
def test_refusals_name_the_place_and_write_nothing(shop, run, old, new, code, complaint, flags):
    (shop / "plan.yaml").write_text(PLAN.replace(old, new))
    before = files(shop)
    found, out, err = run("run", "plan.yaml", *flags)
    assert (found, out) == (code, "")
    assert complaint in err
    assert err.startswith("shoal: ")
    assert len(err.splitlines()) == 1
    assert files(shop) == before
    assert json.loads(run("run", "plan.yaml", "--json", *flags)[1])["exit_code"] == code


def test_a_plan_without_outputs_only_shows_the_cost(shop, run):
    (shop / "plan.yaml").write_text(PLAN[: PLAN.index("outputs")])
    before = files(shop)
    code, out, err = run("run", "plan.yaml")
    assert code == 0
    assert "5^2-anonymity holds" in out
    assert "nothing was written; name a file in plan.yaml" in err
    assert files(shop) == before


def test_data_on_standard_output_leaves_no_room_for_json(shop, run):
    (shop / "plan.yaml").write_text(PLAN.replace("public.csv", "'-'"))
    code, out, _ = run("run", "plan.yaml")
    assert code == 0
    assert len(out.splitlines()) == 1 + len(BASKETS)
    code, _, err = run("run", "plan.yaml", "--json")
    assert code == 2
    assert "plan.yaml: outputs.data (line 13): - and --json both need standard output" in err


def test_schema_is_json(run):
    code, out, _ = run("schema")
    assert code == 0
    assert json.loads(out)["title"] == "Plan"
    assert run("schema", "--json")[1] == out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["init", "none.csv"], "no such file"),
        (["init", "-"], "save the data to a file"),
        (["init", "raw.csv", "--force"], "--force needs -o"),
        (["init", "raw.csv", "-o", "p.yaml", "--json"], "leave out -o"),
        (["init", "raw.csv", "-o", "raw.csv", "--force"], "it is an input"),
        (["init", "raw.csv", "--format", "xls"], "is not known"),
        (["run", "none.yaml"], "no such file"),
        (["run", "raw.csv"], "raw.csv: "),
        (["run"], "PLAN"),
    ],
)
def test_bad_usage_is_exit_code_2_and_writes_nothing(shop, run, arguments, complaint):
    before = files(shop)
    code, _, err = run(*arguments)
    assert code == 2
    assert complaint in err
    assert files(shop) == before


def test_flags_print_the_plan_they_stand_for_and_it_gives_the_same_release(shop, run):
    flags = ["raw.csv", "--items", "basket", "--drop", "id", "--hierarchy", "tree.csv", "--k", "5", "-o", "flags.csv"]
    code, text, _ = run("anonymize", *flags, "--print-plan")
    assert code == 0
    assert files(shop) == ["plan.yaml", "raw.csv", "tree.csv"]
    (shop / "printed.yaml").write_text(text.replace("flags.csv", "planned.csv"))
    assert run("anonymize", *flags)[0] == 0
    assert run("run", "printed.yaml")[0] == 0
    assert sorted((shop / "flags.csv").read_text().split()) == sorted((shop / "planned.csv").read_text().split())


def test_a_plan_keeps_names_that_yaml_would_break():
    import yaml

    from shoal.plan import plan_of, plan_yaml

    document = {
        "version": 1,
        "input": {"path": "d.csv"},
        "columns": {"a\x85b": "quasi", "c\u2028": "drop", "naïve": "keep"},
        "guarantee": {"model": "k", "k": 5, "l": 1},
    }
    assert yaml.safe_load(plan_yaml(plan_of(document)))["columns"] == document["columns"]


def test_one_hot_files_are_read_by_flag_and_by_plan(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("hot.csv").write_text("age,green tea,milk\n" + "20,1,0\n30,true,1\n20,0,\n" * 4)
    said = ("hot.csv", "--one-hot", "--quasi", "age", "--model", "rt", "--k", "2", "--m", "1")
    plan = run("anonymize", *said, "-o", "public.csv", "--print-plan")[1]
    assert "one_hot: true" in plan
    assert "items: items" in plan
    Path("plan.yaml").write_text(plan)
    assert run("run", "plan.yaml")[0] == 0
    verified = run("verify", "public.csv.certificate.json", "public.csv", "--original", "hot.csv")
    assert verified[0] == 0  # the input is known by its bytes
    assert Path("public.csv").read_text().splitlines()[0] == "age,items"
    assert run("audit", "hot.csv", "--one-hot", "--drop", "age", "--k", "4", "--m", "1")[0] == 0
    assert "'age' does not say yes or no" in run("profile", "hot.csv", "--one-hot")[2]
    assert "save the data to a file" in run("anonymize", "-", "--one-hot")[2]
    named = plan.replace("one_hot: true", "one_hot: [green tea]").replace("age: quasi", "age: quasi\n  milk: drop")
    Path("plan.yaml").write_text(named)
    assert run("run", "plan.yaml", "--force")[0] == 0
    assert "milk" not in Path("public.csv").read_text()
