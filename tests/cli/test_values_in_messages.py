"""No value of the data is in anything that ends up in a log: neither when a command fails, nor in its notes, nor in its tables.

Every cell and item of the files below holds a canary. Each call is made with standard output and standard error that are no terminal.
"""

from __future__ import annotations

import csv
import json
import sqlite3

import polars
import pyarrow as pa
import pytest
from pyarrow import feather

from shoal.cli import terminal

CANARY = "Zyx"
ITEMS = [[f"{CANARY}{i % 7}", f"{CANARY}{(3 * i) % 5}"] for i in range(40)]
PEOPLE = [
    {
        "age": str(20 + i % 30),
        "town": f"{CANARY}town{i % 4}",
        "disease": f"{CANARY}ill{min(i % 9, 3)}",
        "codes": f"{CANARY}{i % 5}|{CANARY}{i % 3}",
    }
    for i in range(60)
]
TREE = "".join(f"{CANARY}{i};{CANARY}g{i // 4};{CANARY}all\n" for i in range(7))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Good files and bad ones, of every format."""
    folder = tmp_path_factory.mktemp("canaries")

    def text(name, content):
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)

    rows = ["|".join(row) for row in ITEMS]
    text("sets.csv", "items\n" + "\n".join(rows) + "\n")
    text("sets.tsv", "items\n" + "\n".join(rows) + "\n")
    text("sets.dat", "\n".join(" ".join(row) for row in ITEMS) + "\n")
    text("sets.jsonl", "".join(json.dumps(row) + "\n" for row in ITEMS))
    polars.DataFrame({"items": ITEMS}).write_parquet(folder / "sets.parquet")
    feather.write_feather(pa.table({"items": ITEMS}), folder / "sets.arrow", compression="uncompressed")
    with open(folder / "people.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, PEOPLE[0])
        writer.writeheader()
        writer.writerows(PEOPLE)
    text("people.jsonl", "".join(json.dumps(row) + "\n" for row in PEOPLE))
    polars.DataFrame(PEOPLE).write_parquet(folder / "people.parquet")
    with sqlite3.connect(folder / "people.db") as base:
        base.execute("CREATE TABLE people (age TEXT, town TEXT, disease TEXT, codes TEXT)")
        base.executemany("INSERT INTO people VALUES (:age, :town, :disease, :codes)", PEOPLE)
    text("tree.csv", TREE)
    # What nobody should feed to it.
    body = (folder / "people.csv").read_text().split("\n", 1)[1]
    text("headless.csv", body)
    text("headless-words.csv", "\n".join(line.split(",", 1)[1] for line in body.splitlines()) + "\n")
    text("headless-sets.csv", "\n".join(rows) + "\n")
    text("headless-sets.tsv", "\n".join(row.replace("|", "\t") for row in rows) + "\n")
    text("same.csv", f"{CANARY},{CANARY}\n1,2\n")
    text("ragged.csv", "age,town\n" + f"1,{CANARY},{CANARY}\n")
    text("quote.csv", f'age,town\n1,"{CANARY}\n2,{CANARY}\n')
    text("quoted.csv", f'items\n"{CANARY}|a"x{CANARY}\n')
    text("latin.csv", f"items\n{CANARY}\xfc\n".encode("latin-1"))
    text("nul.dat", f"{CANARY}\0 a\n")
    text("utf16.csv", f"items\n{CANARY}\n".encode("utf-16"))
    text("names.dat", f"@CONVERTED_FROM_TEXT\n@ITEM=1={CANARY}\n@ITEM=2={CANARY}\n1 2\n")
    text("broken.jsonl", f'["{CANARY}"]\n["{CANARY}" "{CANARY}"]\n')
    text("mixed.jsonl", f'{{"a": "{CANARY}"}}\n{{"a": ["{CANARY}"]}}\n')
    text("float.jsonl", f'["{CANARY}"]\n[1.5]\n')
    text("fields.jsonl", f'{{"items": ["{CANARY}"]}}\n{{"items": "{CANARY}"}}\n')
    text("twice.jsonl", f'{{"items": ["{CANARY}"], "items": []}}\n')
    text("cut.parquet", (folder / "people.parquet").read_bytes()[:-40])
    text("fake.parquet", f"PAR1{CANARY}" * 20)
    text("fake.arrow", f"ARROW1{CANARY}" * 20)
    text("fake.csv.gz", f"{CANARY}\n")
    text("fake.db", f"{CANARY}\n" * 99)
    text("tree-short.csv", TREE.splitlines()[0] + "\n" + TREE.splitlines()[6] + "\n")
    text("tree-forest.csv", TREE + f"{CANARY}8;{CANARY}x;{CANARY}other\n")
    text("tree-twice.csv", TREE + f"{CANARY}0;{CANARY}g1;{CANARY}all\n")
    text("tree-alone.csv", TREE + f"{CANARY}9\n")
    text("tree-wide.csv", "".join(f"{line};{CANARY}{i};x\n" for i, line in enumerate(TREE.splitlines())))
    text("tree-circle.csv", f"parent,child\n{CANARY}a,{CANARY}b\n{CANARY}b,{CANARY}a\n")
    text("tree-own.csv", f"parent,child\n{CANARY}a,{CANARY}a\n")
    text("tree.json", json.dumps({f"{CANARY}r": [f"{CANARY}0", [f"{CANARY}1"]]}))
    text("tree-twins.json", json.dumps({f"{CANARY}r": [f"{CANARY}0", f"{CANARY}0"]}))
    text("tree-broken.json", f'{{"{CANARY}": ["{CANARY}",]}}')
    text("tree.txt", f"{CANARY} {CANARY} {CANARY}\n")
    text("never.jsonl", json.dumps({"if": {"town": f"{CANARY}town1"}, "never": f"{CANARY}none"}) + "\n")
    text("label.jsonl", json.dumps({"if": {"town": f"{CANARY}none"}, "never": f"{CANARY}ill1"}) + "\n")
    text("column.jsonl", json.dumps({"if": {f"{CANARY}": "x"}, "never": f"{CANARY}ill1"}) + "\n")
    text("key.jsonl", json.dumps({CANARY: 1}) + "\n")
    text(
        "struck.jsonl", json.dumps({"if": {"town": f"{CANARY}town1"}, "never": f"{CANARY}ill3", "strike": True}) + "\n"
    )
    text("query.jsonl", json.dumps({"items": [f"{CANARY}none"]}) + "\n")
    text("odd-query.jsonl", json.dumps({CANARY: 3}) + "\n")
    text("names.txt", f"{CANARY}none\n{CANARY}other\n")
    plan = {"version": 1, "input": {"path": "sets.csv"}, "guarantee": {"model": "km", "k": 3, "m": 2}}
    for name, document in {
        "plan": plan,
        "high": plan | {"guarantee": {"model": "km", "k": 900, "m": 2}},
        "tree": plan | {"hierarchies": "tree-short.csv"},
        "items": plan | {"guarantee": {"model": "k", "k": 3, "l": 2}, "sensitive_items": [f"{CANARY}none"]},
        "weights": plan | {"guarantee": {"model": "rt", "k": 3, "m": 2}, "options": {"item_weights": {CANARY: 7}}},
        "types": plan | {"sensitive_items": [{CANARY: CANARY}]},
        "other": {CANARY: CANARY},
        "rows": PEOPLE,
        "headless": plan | {"input": {"path": "headless.csv"}, "columns": {"items": "items"}},
    }.items():
        text(f"{name}.json", json.dumps(document))
    text("date.yaml", f"version: 1\n{CANARY}: 2024-13-45\n")
    text("data.yaml", f"{CANARY},{CANARY}: [\n{CANARY}\n")
    text(
        "compare.yaml",
        "version: 1\ninput: {path: sets.csv}\nguarantee: {model: km, m: 2}\nhierarchies: tree-short.csv\ncompare: {k: [3, 900]}\n",
    )
    return folder


KM, TABLE = ("--k", "3", "--m", "2"), ("--quasi", "age,town", "--sensitive", "disease", "--items", "codes")
RT = ("--model", "rt", "--k", "3", "--m", "1", "--quasi", "age,town", "--items", "codes", "--drop", "disease")
LM = ("--model", "lm", "--k", "3", "--m", "1", "--quasi", "age,town", "--items", "codes", "--drop", "disease")
DIVERSITY = ("--model", "diversity", "--l", "2", "--quasi", "age,town", "--sensitive", "disease", "--drop", "codes")
K = ("--model", "k", "--k", "3", "--quasi", "age,town", "--drop", "codes,disease")

FAILING = [
    # The data.
    *[("anonymize", f"headless{name}", *more) for name in (".csv", "-words.csv") for more in (KM, RT, DIVERSITY, K)],
    *[("profile", f"headless{name}") for name in (".csv", "-words.csv", "-sets.csv", "-sets.tsv")],
    *[("audit", name, *KM) for name in ("headless.csv", "headless-sets.csv", "same.csv", "ragged.csv", "quote.csv", "latin.csv")],
    *[("profile", name) for name in ("nul.dat", "utf16.csv", "names.dat", "broken.jsonl", "float.jsonl", "fields.jsonl", "twice.jsonl")],
    *[("profile", name) for name in ("cut.parquet", "fake.parquet", "fake.arrow", "fake.csv.gz", "sqlite:fake.db?table=x")],
    ("init", "same.csv"),
    ("init", "mixed.jsonl"),
    ("init", "fake.parquet"),
    ("profile", "mixed.jsonl", "--quasi", "a"),
    ("profile", "ragged.csv", "--quasi", "age", "--drop", "town"),
    ("evaluate", "sets.csv", "headless.csv"),
    ("evaluate", "headless-words.csv", "people.csv", "--quasi", "age"),
    ("rules", "headless-words.csv", "--quasi", "age", "--sensitive", "disease"),
    ("attack", "headless.csv", "--quasi", "age", "--sensitive", "disease"),
    # Columns, roles and items that are not there, or are something else.
    ("anonymize", "people.csv", "--model", "k", "--k", "3", "--quasi", "aeg,town"),
    ("anonymize", "people.parquet", *K, "--numeric", "town"),
    ("anonymize", "people.csv", *K, "--numeric", "town"),
    ("anonymize", "people.jsonl", *K, "--numeric", "town"),
    ("anonymize", "sqlite:people.db?table=people", *K, "--numeric", "town"),
    ("profile", "sqlite:people.db", "--query", "SELECT CAST(town AS INTEGER) + nothing FROM people"),
    ("profile", "sqlite:people.db?table=nothing"),
    ("anonymize", "people.csv", "--model", "rt", "--k", "3", "--quasi", "age", "--items", "codes"),
    ("anonymize", "people.csv", *LM, "--sensitive", f"{CANARY}none"),
    ("anonymize", "people.csv", *LM, "--sensitive", "names.txt"),
    ("anonymize", "people.csv", *LM, "--sensitive", f"{CANARY}0,{CANARY}1", "--l", "9"),
    ("anonymize", "sets.csv", "--model", "k", "--k", "3", "--l", "2", "--sensitive", f"{CANARY}none"),
    ("anonymize", "sets.csv", "--model", "k", "--k", "3", "--l", "9", "--sensitive", f"{CANARY}0,{CANARY}1"),
    ("anonymize", "people.csv", *DIVERSITY[:2], "--l", "9", *DIVERSITY[4:]),
    ("anonymize", "people.csv", *RT, "--weight", "town=-1"),
    ("anonymize", "people.csv", *K[:2], "--k", "900", *K[4:]),
    ("anonymize", "sets.csv", "--k", "900", "--m", "2"),
    ("anonymize", "sets.dat", *KM, "--items", "codes"),
    ("audit", "people.csv", *DIVERSITY),
    # Trees.
    *[
        ("anonymize", "sets.csv", *KM, "--hierarchy", name)
        for name in ("tree-short.csv", "tree-forest.csv", "tree-twice.csv", "tree-alone.csv", "tree-circle.csv")
    ],
    *[("hierarchy", "check", name) for name in ("tree-own.csv", "tree.json", "tree-twins.json", "tree-broken.json", "tree.txt")],
    ("hierarchy", "check", "tree-short.csv", "sets.csv"),
    ("hierarchy", "convert", "tree-forest.csv", "-o", "x.json"),
    ("hierarchy", "convert", "tree.csv", "--levels", "leaf,root", "-o", "x.json"),
    ("anonymize", "people.csv", *K, "--hierarchy", "town=tree.csv"),
    ("anonymize", "people.csv", *K, "--hierarchy", "town=intervals:5"),
    ("profile", "sets.csv", "--hierarchy", "tree-short.csv"),
    # Rules, queries, plans.
    *[
        ("anonymize", "people.csv", *DIVERSITY, "--knowledge", f"{name}.jsonl")
        for name in ("never", "label", "column", "key", "struck")
    ],
    ("evaluate", "sets.csv", "sets.csv", "--workload", "query.jsonl"),
    ("evaluate", "sets.csv", "sets.csv", "--workload", "odd-query.jsonl"),
    ("evaluate", "sets.csv", "people.csv", "--items", "codes", "--drop", "age,town,disease"),
    ("evaluate", "sets.csv", "sets.csv", "--rules", "people.csv"),
    *[("run", f"{name}.json") for name in ("high", "tree", "items", "weights", "types", "other", "rows", "headless")],
    *[("run", name) for name in ("date.yaml", "data.yaml", "sets.csv", "people.jsonl", "sets.parquet")],
    ("run", "tree.json", "--check"),
    ("compare", "data.yaml"),
    ("compare", "compare.yaml", "-o", "grid", "--jobs", "1"),
    ("verify", "people.jsonl", "people.csv"),
    ("verify", "sets.csv", "sets.csv"),
]  # fmt: skip

SAYING = [
    *[("profile", f"sets.{form}") for form in ("csv", "tsv", "dat", "jsonl", "parquet", "arrow")],
    ("profile", "sets.csv", "--hierarchy", "tree.csv", "--k", "12"),
    ("profile", "people.csv", "--quasi", "age,town", "--items", "codes", "--drop", "disease"),
    ("anonymize", "sets.csv", *KM),
    ("anonymize", "sets.csv", "--k", "12", "--m", "2", "--hierarchy", "tree.csv"),
    ("anonymize", "sets.csv", *KM, "-o", "-", "--hierarchy", "frequency:2"),
    ("anonymize", "people.csv", *RT),
    ("anonymize", "people.csv", *DIVERSITY),
    ("anonymize", "people.csv", *TABLE, "--model", "rt", "--k", "3"),
    ("anonymize", "sets.csv", *KM, "--hierarchy", "tree-wide.csv"),
    ("init", "headless.csv", "-o", "plan-of-headless.yaml"),
    ("init", "people.csv"),
    ("init", "sets.jsonl"),
    ("audit", "sets.csv", *KM),
    ("audit", "people.csv", *K),
    ("audit", "people.csv", *LM, "--sensitive", f"{CANARY}0"),
    ("attack", "people.csv", "--quasi", "age", "--sensitive", "disease", "--drop", "town,codes"),
    ("hierarchy", "check", "tree.csv", "sets.csv", "--k", "12"),
    ("rules", "people.csv", "--quasi", "age,town", "--sensitive", "disease", "--drop", "codes"),
    ("evaluate", "sets.csv", "sets.csv"),
    ("run", "plan.json"),
]


@pytest.mark.parametrize("call", FAILING, ids=lambda call: " ".join(call))
def test_what_fails_tells_no_value(files, run, monkeypatch, call):
    monkeypatch.chdir(files)
    code, out, err = run(*call)
    assert code in ((2, 3) if call[0] != "compare" else (0, 2, 3)), err
    asked = {text for text in call if CANARY in text}
    assert CANARY not in (out + err if not asked else err), err
    assert "bug in Shoal" not in err
    assert "\ufdd0" not in err + out
    assert "\ufdd2" not in err + out


@pytest.mark.parametrize("call", SAYING, ids=lambda call: " ".join(call))
def test_what_succeeds_tells_no_value_in_notes_and_tables(files, run, monkeypatch, call):
    monkeypatch.chdir(files)
    code, out, err = run(*call)
    assert code in (0, 2, 3), err
    assert CANARY not in (err if "-" in call else out + err)


def test_an_owner_at_a_terminal_is_told_labels_and_items(files, run, monkeypatch):
    monkeypatch.chdir(files)
    call = ("anonymize", "sets.csv", *KM, "--hierarchy", "tree-short.csv")
    assert "5 items are not among its leaves; add them, or hang them under the root (--unknown root)" in run(*call)[2]
    assert f"not among its leaves ({CANARY}1, {CANARY}2, " in run(*call, "--show-values")[2]
    monkeypatch.setattr(terminal, "values_shown", lambda stream: True)
    assert f"not among its leaves ({CANARY}1, {CANARY}2, " in run(*call)[2]
    # But no row, and no sensitive value.
    for call in FAILING:
        if call[0] in ("anonymize", "audit") and call[1].startswith("headless"):
            assert CANARY not in run(*call)[2]


def test_json_of_an_audit_is_complete(files, run, monkeypatch):
    monkeypatch.chdir(files)
    code, out, _ = run("audit", "sets.csv", "--k", "30", "--m", "1", "--json")
    assert code == 3
    assert CANARY in json.loads(out)["witnesses"][0]["items"][0]
    shown = run("audit", "sets.csv", "--k", "30", "--m", "1", "--show-values")[1]
    assert CANARY in shown


def test_a_fault_of_ours_is_told_by_its_kind_and_place(files, run, monkeypatch):
    def fail(*_, **__):
        raise KeyError(CANARY)

    monkeypatch.chdir(files)
    monkeypatch.setattr("shoal.estimates.raw_profile.profile", fail)
    code, out, err = run("profile", "sets.csv", "--json")
    assert code == 1
    assert "KeyError in profile.py, line " in err
    assert CANARY not in out + err
    monkeypatch.setenv("SHOAL_DEBUG", "1")
    _, out, err = run("profile", "sets.csv")
    assert "profile.py" in err
    assert CANARY not in out + err


def test_a_first_line_with_numbers_is_no_header_whatever_was_named():
    from shoal.records.roles import FirstLine, is_header

    assert is_header(FirstLine(("name", "age", "ill")), ["ages"])
    assert not is_header(FirstLine((CANARY, "34", "f")), ["34"])
