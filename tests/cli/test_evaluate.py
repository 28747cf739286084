"""`shoal evaluate`: what it shows, its JSON, and what it refuses."""

from __future__ import annotations

import json
import re

import pytest

import shoal
from shoal import Baskets

ROWS = [["milk", "nappies"]] * 6 + [["milk", "wipes"]] * 5 + [["brie", "wipes"]] * 2 + [["milk"]] * 3
TREE = "milk;dairy;shop\nbrie;dairy;shop\nnappies;baby;shop\nwipes;baby;shop\n"


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A folder with raw.csv, tree.csv and a release of them, which is where commands run."""
    monkeypatch.chdir(tmp_path)
    shoal.write(Baskets.from_rows(ROWS), "raw.csv")
    (tmp_path / "tree.csv").write_text(TREE)
    release = shoal.anonymize("raw.csv", shoal.KmAnonymity(5, 2), hierarchy="tree.csv", algorithm="exact")
    release.write("public.csv", rules="rules.csv")
    return tmp_path


def test_it_tells_loss_utility_and_risk_in_words(shop, run):
    code, out, _ = run("evaluate", "raw.csv", "public.csv", "--hierarchy", "tree.csv")
    assert code == 0
    for words in ("What was lost", "items (NCP)", "count of an item", "frequent pairs", "queries on items"):
        assert words in out
    for words in ("Rows that are equal", "Risk of being found", "up to 2 items", "all items", "Linkage: 16 people"):
        assert words in out
    assert "items added and removed: not defined where rows are shuffled" in out
    assert "queries on columns" not in out


@pytest.mark.parametrize("between", [("--hierarchy", "tree.csv"), ("--rules", "rules.csv")])
def test_json_is_one_document(shop, run, between):
    code, out, _ = run("evaluate", "raw.csv", "public.csv", *between, "--json", "--queries", "10")
    found = json.loads(out)
    assert code == 0
    assert set(found) == {
        "original",
        "published",
        "k",
        "m",
        "seed",
        "same_order",
        "loss",
        "utility",
        "risk",
        "kept",
        "not_defined",
        "notes",
    }
    release = shoal.anonymize("raw.csv", shoal.KmAnonymity(5, 2), hierarchy="tree.csv", algorithm="exact")
    assert found["loss"]["items"]["ncp"] == pytest.approx(release.loss["ncp"])
    assert found["utility"]["queries"]["items"]["queries"] == 10
    for path in found["not_defined"]:
        at = found
        for key in path.split("."):
            at = at[key]
        assert at is None


def test_tables_with_roles(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    lines = [f"{i},{20 + i % 30},{'MF'[i % 2]},{'A' if i % 3 else 'B'} C" for i in range(60)]
    (tmp_path / "patients.csv").write_text("\n".join(["id,age,sex,diagnoses", *lines]) + "\n")
    roles = ["--quasi", "age,sex", "--items", "diagnoses", "--drop", "id"]
    assert run("anonymize", "patients.csv", "--model", "rt", *roles, "-o", "public.csv")[0] == 0
    code, out, _ = run("evaluate", "patients.csv", "public.csv", *roles)
    assert code == 0
    for words in (
        "columns (NCP)",
        "age",
        "queries on both",
        "all columns and up to 2 items",
        "known by age, sex and 2",
    ):
        assert words in out
    (tmp_path / "asked.jsonl").write_text('{"items": ["A"], "between": {"age": [20, 30]}, "among": {"sex": ["F"]}}\n')
    code, out, _ = run("evaluate", "patients.csv", "public.csv", *roles, "--workload", "asked.jsonl")
    assert code == 0
    assert "your queries" in out


def test_a_table_without_items_has_no_words_about_items(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    lines = [f"{20 + i % 30},{'MF'[i % 2]}" for i in range(60)]
    (tmp_path / "people.csv").write_text("\n".join(["age,sex", *lines]) + "\n")
    assert run("anonymize", "people.csv", "--model", "k", "--quasi", "age,sex", "-o", "public.csv")[0] == 0
    code, out, _ = run("evaluate", "people.csv", "public.csv", "--quasi", "age,sex")
    assert code == 0
    assert re.search(r"all columns +before +60 \(100\.0%\) +0 \(0\.0%\) +50\.0% +50\.00%", out)
    assert "item" not in out


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["raw.csv", "public.csv"], "give the hierarchy or the rules"),
        (["nowhere.csv", "public.csv"], "no such file"),
        (["raw.csv", "public.csv", "--hierarchy", "tree.csv", "--rules", "tree.csv"], "not the header of a rules file"),
        (["raw.csv", "public.csv", "--hierarchy", "tree.csv", "--workload", "raw.csv"], "line 1 is not JSON"),
        (["raw.csv", "public.csv", "--quasi", "age"], "no column 'age' for --quasi"),
        (["raw.csv", "public.csv", "--m", "0"], "m must be a whole number"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(shop, run, arguments, complaint):
    code, out, err = run("evaluate", *arguments)
    assert (code, out) == (2, "")
    assert complaint in err
    assert err.count("\n") == 1


def test_linkage_finds_people_in_raw_data_and_nobody_in_the_release(shop, run):
    code, out, _ = run("attack", "public.csv", "--raw", "raw.csv", "--hierarchy", "tree.csv")
    assert code == 0
    assert "Nobody of 16 people is found among fewer than 5 rows" in out
    code, out, _ = run("attack", "raw.csv", "--raw", "raw.csv", "--json")
    found = json.loads(out)
    assert code == 3
    assert found["found"]
    assert found["linkage"]["after"]["fewer_than_k"] == 2  # the two with brie


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["public.csv"], "whom does the attacker look for?"),
        (["public.csv", "--raw", "raw.csv", "--knowledge", "rules.jsonl"], "--knowledge is for buckets"),
        (["public.csv", "--raw", "missing.csv"], "missing.csv"),
    ],
)
def test_an_attack_needs_somebody_to_look_for(shop, run, arguments, complaint):
    code, _, err = run("attack", *arguments)
    assert code == 2
    assert complaint in err
    assert err.count("\n") == 1


def test_a_plan_is_what_lies_between(shop, run):
    _, plan, _ = run(
        "anonymize", "raw.csv", "--k", "4", "--m", "1", "--hierarchy", "tree.csv", "-o", "other.csv", "--print-plan"
    )
    (shop / "plan.yaml").write_text(plan)
    _, by_plan, _ = run("evaluate", "raw.csv", "public.csv", "--plan", "plan.yaml", "--json")
    _, by_flags, _ = run(
        "evaluate", "raw.csv", "public.csv", "--hierarchy", "tree.csv", "--k", "4", "--m", "1", "--json"
    )
    assert json.loads(by_plan) == json.loads(by_flags)
    _, nearer, _ = run("evaluate", "raw.csv", "public.csv", "--plan", "plan.yaml", "--k", "2", "--json")
    assert json.loads(nearer)["risk"] != json.loads(by_plan)["risk"]


def test_a_plan_for_another_file_is_refused(shop, run):
    text = "version: 1\ninput: {path: raw.csv, sha256: %s}\nguarantee: {model: km, k: 5, m: 2}\nhierarchies: tree.csv\n"
    (shop / "plan.yaml").write_text(text % ("0" * 64))
    code, out, err = run("evaluate", "raw.csv", "public.csv", "--plan", "plan.yaml")
    assert code == 2
    assert not out
    assert "plan.yaml: input.sha256" in err


def test_weights_of_columns_count(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "raw.csv").write_text("age,sex\n20,F\n30,F\n20,M\n30,M\n")
    (tmp_path / "public.csv").write_text("age,sex\n[20:30],F\n[20:30],F\n[20:30],M\n[20:30],M\n")
    for weights, ncp in ((), 0.5), (("--weight", "age=3"), 0.75), (("--weight", "age=0"), 0.0):
        _, out, _ = run("evaluate", "raw.csv", "public.csv", "--quasi", "age,sex", "--json", *weights)
        assert json.loads(out)["loss"]["columns"]["ncp"] == ncp
    assert run("evaluate", "raw.csv", "public.csv", "--quasi", "age,sex", "--weight", "size=1")[0] == 2


def test_pictures_are_drawn_and_not_over_other_files(shop, run):
    for command in (
        ("evaluate", "raw.csv", "public.csv", "--hierarchy", "tree.csv"),
        ("profile", "raw.csv"),
        ("attack", "public.csv", "--raw", "raw.csv", "--hierarchy", "tree.csv"),
    ):
        drawn = shop / f"{command[0]}.svg"
        assert run(*command, "--plot", drawn)[0] == 0
        assert drawn.read_text().startswith("<svg")
        code, out, err = run(*command, "--plot", drawn)
        assert (code, out) == (2, "")
        assert "it is there already" in err
        assert run(*command, "--plot", "picture.png")[0] == 2


def test_homogeneity_is_an_attack(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "public.csv").write_text("age,ill\n20,hiv\n20,hiv\n30,flu\n30,cold\n")
    code, out, _ = run("attack", "public.csv", "--quasi", "age", "--sensitive", "ill", "--plot", "sure.svg")
    assert code == 3
    assert "Of 2 rows of 4 (50.00%) a sensitive value is certain" in out
    assert "hiv" not in out
    _, out, _ = run("attack", "public.csv", "--quasi", "age", "--sensitive", "ill", "--show-values")
    assert "all 2 rows of the crowd of 1, 2 have ill hiv" in out
    (tmp_path / "better.csv").write_text("age,ill\n20,hiv\n20,flu\n30,flu\n30,cold\n")
    code, out, _ = run("attack", "better.csv", "--quasi", "age", "--sensitive", "ill", "--l", "2", "--json")
    assert (code, json.loads(out)["found"]) == (0, False)
    assert run("attack", "better.csv", "--quasi", "age", "--sensitive", "ill", "--l", "3")[0] == 3
    assert run("attack", "better.csv", "--quasi", "age")[0] == 2
    assert run("attack", "better.csv", "--quasi", "age", "--sensitive", "ill", "--m", "2")[0] == 2


@pytest.mark.parametrize(("published", "separator"), [("public.csv", ","), ("public.csv", "|"), ("public.jsonl", ",")])
def test_one_separator_is_enough_where_two_files_have_different_marks(tmp_path, monkeypatch, run, published, separator):
    """Sets such as (a,b) hold the comma that parts the original's items: the release has another mark, or lists."""
    monkeypatch.chdir(tmp_path)
    rows = [f'{20 + i % 7},"{",".join("abcdef"[i % 5 : i % 5 + 1 + i % 3])}"' for i in range(60)]
    (tmp_path / "raw.csv").write_text("\n".join(["age,items", *rows, ""]))
    release = shoal.anonymize(
        "raw.csv", shoal.RTAnonymity(4, 2), quasi="age", items="items", separator=",", transaction="sets"
    )
    release.write(published)
    assert any("," in token for token in release.published.items.vocabulary)
    flags = ("--quasi", "age", "--items", "items", "--queries", "0", "--json")
    code, out, err = run("evaluate", "raw.csv", published, "--separator", separator, *flags)
    assert code == 0, err
    assert json.loads(out)["original"]["items"] == 6
    assert json.loads(out)["loss"]["ul"]["published"] == pytest.approx(release.loss["ul"])
    code, _, err = run("evaluate", "raw.csv", published, "--separator", "~", *flags)
    assert code == 2
    assert "give the hierarchy or the rules" in err or "leave out --separator" in err


@pytest.mark.parametrize("command", ["evaluate", "profile"])
def test_who_is_alone_is_counted_with_k_of_1(tmp_path, monkeypatch, run, command):
    monkeypatch.chdir(tmp_path)
    shoal.write(Baskets.from_rows([["a", "b"], ["a", "b"], ["a", "c"], ["b", "c"]]), "raw.csv")
    files = ["raw.csv"] * (2 if command == "evaluate" else 1)
    code, out, _ = run(command, *files, "--k", "1", "--m", "2", "--json")
    found = json.loads(out)
    curve = found["risk"]["uniqueness"]["after"] if command == "evaluate" else found["exposures"]
    assert code == 0
    assert [(one["rare"], one["unique"]) for one in curve] == [(0, 0), (0, 2)]


@pytest.mark.parametrize("command", [("profile", "raw.csv"), ("evaluate", "raw.csv", "raw.csv")])
def test_columns_without_a_role_may_be_what_an_attacker_knows(tmp_path, monkeypatch, run, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "raw.csv").write_text("age,items\n30,a|b\n31,a\n")
    code, _, err = run(*command)
    assert code == 2
    assert "column 'age' has no role; pass --drop age, or name what an attacker may know with --quasi" in err
