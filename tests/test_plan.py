"""Plans: good ones, bad ones, fuzzed ones; the same release by plan, flags and Python; drafts and what they keep to themselves."""

from __future__ import annotations

import contextlib
import copy
import csv
import json
import os
from collections import Counter

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.cli import main
from shoal.errors import InputError, Unreachable
from shoal.plan import (
    Origin,
    Plan,
    json_schema,
    plan_from,
    plan_of,
    plan_yaml,
    read_plan,
)
from shoal.plan import draft as drafting
from shoal.rehearsal import checked_plan
from shoal.release import run

CODES = np.array(["A", "B", "C", "D", "E", "F"])
KM = {"version": 1, "input": {"path": "sets.csv"}, "guarantee": {"model": "km", "k": 5, "m": 2}}
RT = {
    "version": 1,
    "input": {"path": "patients.csv", "separator": " "},
    "columns": {"id": "drop", "age": "quasi", "sex": "quasi", "disease": "drop", "codes": "items"},
    "hierarchies": {"age": "intervals:10,20"},
    "guarantee": {"model": "rt", "k": 5, "m": 2},
    "algorithm": "rmerge-t",
    "options": {"delta": 0.7, "seed": 3},
    "outputs": {"data": "public.csv", "rules": "rules.csv"},
}


@pytest.fixture(autouse=True)
def own_key(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("SHOAL_KEY", str(tmp_path_factory.mktemp("key") / "owner.key"))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A folder with patients.csv (id, age, sex, disease, codes) and sets.csv (the codes alone)."""
    folder = tmp_path_factory.mktemp("data")
    random = np.random.default_rng(4)
    with open(folder / "patients.csv", "w", newline="") as table, open(folder / "sets.csv", "w", newline="") as sets:
        patients, alone = csv.writer(table), csv.writer(sets)
        patients.writerow(["id", "age", "sex", "disease", "codes"])
        alone.writerow(["items"])
        for i in range(240):
            held = set(random.choice(CODES, random.integers(1, 4), p=[0.35, 0.25, 0.15, 0.1, 0.1, 0.05]).tolist())
            held |= {"HIV"} if i % 10 == 0 else set()
            sex = "MF"[i % 2]
            own = "ovarian cancer" if sex == "F" else "prostate cancer"
            disease = random.choice([own, "flu", "asthma", "gout", "ulcer"])
            patients.writerow([1000 + i, random.integers(20, 80), sex, disease, " ".join(sorted(held))])
            alone.writerow([" ".join(sorted(held))])
    (folder / "marked.txt").write_text("HIV\n")
    return folder


@pytest.fixture
def folder(data, tmp_path, monkeypatch):
    """A folder of the test's own with the same files, which is where it runs."""
    for file in data.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def changed(plan, **parts):
    """A plan with some keys set: `guarantee__k=3`; None takes a key away."""
    found = copy.deepcopy(plan)
    for name, value in parts.items():
        *above, key = name.split("__")
        inner = found
        for part in above:
            inner = inner.setdefault(part, {})
        if value is None:
            inner.pop(key, None)
        else:
            inner[key] = value
    return found


def written(plan, path="plan.yaml"):
    with open(path, "w") as file:
        json.dump(plan, file) if path.endswith(".json") else yaml.safe_dump(plan, file, sort_keys=False)
    return path


def files(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


# Reading.


def test_yaml_and_json_say_the_same(folder):
    assert read_plan(written(RT)) == read_plan(written(RT, "plan.json"))
    assert read_plan("plan.yaml").of_role("quasi") == ("age", "sex")


def test_a_plan_of_paths_alone_takes_the_defaults():
    plan = plan_of(KM)
    assert (plan.keep_order, plan.outputs, plan.algorithm, plan.kind) == (False, None, None, "km")
    assert plan.keywords() == {}


def test_the_items_of_a_file_of_sets_have_one_hierarchy():
    plan = changed(KM, columns={"items": "items"}, hierarchies={"items": "balanced:2"})
    assert plan_of(plan).keywords() == {"items": "items", "hierarchy": "balanced:2"}


def test_keys_are_texts_however_yaml_reads_them(folder):
    text = "version: 1\ninput: {path: a.csv}\ncolumns:\n  no: quasi\n  2019: keep\n  2020-01-01: drop\n  ~: drop\n"
    (folder / "plan.yaml").write_text(text + "guarantee: {model: k, k: 5}\n")
    assert read_plan("plan.yaml").columns == {"no": "quasi", "2019": "keep", "2020-01-01": "drop", "~": "drop"}


def test_paths_are_relative_to_the_plan(folder):
    os.mkdir("plans")
    plan = changed(RT, input__path="../patients.csv", outputs__data="public.csv")
    run(read_plan(written(plan, "plans/plan.yaml")))
    assert sorted(os.listdir("plans")) == ["plan.yaml", "public.csv", "public.csv.certificate.json", "rules.csv"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "it is empty; draft a plan with shoal init"),
        ("# nothing\n", "it is empty"),
        ("[1, 2]", "a list, not the keys of a plan"),
        ("version: 1\nversion: 1\n", "version (line 2): it stands there twice"),
        ("input: {path: a, path: b}", "input.path (line 1): it stands there twice"),
        ("a: &x 1\nb: *x\n", "line 2 is not YAML (an alias (*) has no place here)"),
        ("a: !!python/object:os.system {}\n", "has the tag"),
        ("a: !!python/name:os.system x\n", "is not YAML"),
        ("a: [\n", "is not YAML"),
        ("a: 1\n--- \nb: 2\n", "line 2 is not YAML"),
        ("a: 2020-13-45\n", "put it in quotes"),
        ("? [1, 2]\n: 3\n", "as a key"),
        ("a: \x07\n", "is not YAML"),
        ("[" * 5000, "nested too deeply"),
        ("a: " + "9" * 5000, "put it in quotes"),
        ("x" * 1_000_001, "more than 1,000,000 bytes"),
    ],
)
def test_what_is_no_plan_is_refused_in_one_sentence(tmp_path, text, complaint):
    (tmp_path / "plan.yaml").write_text(text)
    with pytest.raises(InputError) as refused:
        read_plan(tmp_path / "plan.yaml")
    assert complaint in str(refused.value)
    assert str(refused.value).startswith("plan.yaml: ")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"version": 1, "version": 1}', "'version' stands there twice"),
        ('{"version": NaN}', "it holds NaN"),
        ('{"version": -Infinity}', "it holds -Infinity"),
        ('{\n"version": 1,,', "line 2 is not JSON"),
        ("[" * 200_000, "is not JSON"),
        ("", "it is empty"),
    ],
)
def test_what_is_no_json_plan_is_refused_in_one_sentence(tmp_path, text, complaint):
    (tmp_path / "plan.json").write_text(text)
    with pytest.raises(InputError, match=r"^plan.json: ") as refused:
        read_plan(tmp_path / "plan.json")
    assert complaint in str(refused.value)


@pytest.mark.parametrize("place", ["input", "outputs", "columns", "guarantee", "version", "algorithm"])
def test_a_password_in_the_wrong_place_is_not_repeated(tmp_path, place):
    plan = {"version": 1, "input": {"path": "a.csv"}, "columns": {"a": "items"}}
    plan["guarantee"] = {"model": "km", "k": 5, "m": 2}
    (tmp_path / "plan.json").write_text(json.dumps(plan | {place: "postgresql://ann:ge@heim@host/db?table=t"}))
    with pytest.raises(InputError, match=rf"{place}: a plan is no place for a password") as refused:
        read_plan(tmp_path / "plan.json")
    assert "heim" not in str(refused.value)


def test_data_in_place_of_a_plan_is_not_repeated(tmp_path):
    (tmp_path / "people.csv").write_text("name,illness\nMaria,leprosy\n")
    with pytest.raises(InputError, match=r"^people.csv: it holds text, not the keys of a plan; draft one") as refused:
        read_plan(tmp_path / "people.csv")
    assert "Maria" not in str(refused.value)


def test_text_in_another_encoding_is_refused(tmp_path):
    (tmp_path / "plan.yaml").write_bytes("version: 1 # é".encode("latin-1"))
    with pytest.raises(InputError, match="save it as UTF-8"):
        read_plan(tmp_path / "plan.yaml")
    with pytest.raises(InputError, match="no such file"):
        read_plan(tmp_path / "other.yaml")
    with pytest.raises(InputError, match="it is a folder"):
        read_plan(tmp_path)


BAD = [
    (KM, {"version": 2}, "version (line 1): it is 2; this Shoal reads version 1"),
    (KM, {"version": None}, "version: it is missing; add version: 1"),
    (KM, {"input": None}, "input: it is missing"),
    (KM, {"input__path": None, "input__format": "csv"}, "input.path (line 2): it is missing; add path: data.csv"),
    (KM, {"input__path": 7}, "input.path (line 3): it is 7; give a text"),
    (KM, {"input__path": ""}, "a text that is not empty"),
    (KM, {"input__path": "a\0b"}, "a text without NUL"),
    (KM, {"input": "sets.csv"}, "input (line 2): it is 'sets.csv'; give a mapping"),
    (KM, {"input__sha256": "abc"}, "the 64 hexadecimal digits"),
    (KM, {"input__format": "xls"}, "choose one of dat, csv, tsv, long, jsonl, parquet, arrow"),
    (KM, {"guarantee__k": "five"}, "guarantee.k (line 6): it is 'five'; give a whole number"),
    (KM, {"guarantee__k": 2.5}, "give a whole number"),
    (KM, {"guarantee__k": True}, "give a whole number"),
    (KM, {"guarantee__k": 0}, "guarantee.k (line 6): it is 0; give at least 1"),
    (KM, {"guarantee__k": 10**30}, "at most 1,000,000,000"),
    (KM, {"guarantee__k": None}, "guarantee.k (line 4): it is missing; add k: 5"),
    (KM, {"guarantee__l": 2}, "guarantee.l (line 8): it has no meaning with model km; leave it out"),
    (KM, {"guarantee__kk": 2}, "guarantee.kk (line 8): there is no such key; is k meant?"),
    (KM, {"guarantee__model": "mk"}, "choose one of km, k, rt, lm, diversity"),
    (KM, {"guarantee__model": None}, "its model is missing"),
    (KM, {"guarantee": [1]}, "guarantee (line 4)"),
    (KM, {"guarantees": 1}, "guarantees (line 8): there is no such key; is guarantee meant?"),
    (KM, {"options__supress": 0.1}, "options.supress (line 9): there is no such key; is suppress meant?"),
    (KM, {"options__suppress": 1.5}, "options.suppress (line 9): it is 1.5; give at most 1"),
    (KM, {"options__suppress": float("nan")}, "a number that is finite"),
    (KM, {"options__time_limit": 0}, "give more than 0"),
    (KM, {"options__delta": 0.5}, "options.delta (line 9): it has no use with model km; leave it out"),
    (KM, {"options__suppress": 0.1, "algorithm": "da"}, "it is for local, exact and hybrid, not for da; leave it out"),
    (KM, {"algorithm": "magic"}, "algorithm (line 8): 'magic' is not known for model km; choose one of local"),
    (KM, {"keep_order": "no"}, "keep_order (line 8): it is 'no'; give true or false"),
    (KM, {"columns__age": "quasi"}, "columns.age (line 9): model km has no use for the role quasi"),
    (KM, {"columns__age": "secret"}, "columns.age (line 9): it is 'secret'; choose one of"),
    (KM, {"columns": {"a b": "keep"}}, "columns.'a b' (line 9)"),
    (KM, {"columns": {"a": "items", "b": "items"}}, "columns.b (line 10): 'a' is there already (the role items)"),
    (
        KM,
        {"columns": {"a": "items", "b": "id"}, "input__separator": "|", "input__format": "long"},
        "input.separator (line 4): a long table",
    ),
    (KM, {"sensitive_items": ["HIV"]}, "sensitive_items (line 8): model km has no sensitive items"),
    (KM, {"input__path": "a.dat", "columns__items": "items"}, "FIMI text has no columns"),
    (KM, {"input__path": "a.dat", "input__separator": "|"}, "FIMI text has no columns"),
    (KM, {"input__path": "a.dat", "guarantee__model": "rt"}, "guarantee.model (line 5): rt is about tables"),
    (KM, {"input__numeric": ["a"]}, "input.numeric (line 4): a file of sets has no columns of numbers"),
    (KM, {"hierarchies__items": "tree.csv"}, "hierarchies (line 8): there is one domain of items"),
    (KM, {"hierarchies": 5}, "hierarchies (line 8): it is 5; give a text"),
    (KM, {"outputs": {"rules": "r.csv"}}, "outputs.data (line 8): it is missing; add data: public.csv"),
    (KM, {"outputs": {"data": "a.csv", "rules": "-"}}, "outputs.rules (line 10): rules go to a file of their own"),
    (RT, {"columns__codes": "drop"}, "no column holds items"),
    (RT, {"hierarchies": {"weight": "mask"}}, "hierarchies.weight (line 12): there is no such column"),
    (RT, {"options__weights": {"weight": 2.0}}, "options.weights.weight"),
    (RT, {"options__weights": {"age": float("inf")}}, "a number that is finite"),
    (RT, {"options__weights": {"age": 0, "sex": 0}}, "options.weights (line 21): they are all 0"),
    (RT, {"options__transaction": "aa"}, "aa generalizes items along a hierarchy, and there is none for them"),
    (RT, {"options__formation": "magic"}, "options.formation"),
    (RT, {"guarantee": {"model": "lm", "k": 5, "m": 2, "l": 2}}, "lm needs sensitive items"),
    (RT, {"sensitive_items": ["HIV"], "sensitive_file": "a.txt"}, "sensitive_items says already what is sensitive"),
    (RT, {"input__numeric": ["codes"]}, "input.numeric.0 (line 5)"),
    (RT, {"guarantee": {"model": "k", "k": 5}, "algorithm": None}, "for tables with items take model rt"),
    (RT, {"guarantee": {"model": "k", "k": 1}}, "guarantee.k (line 15): it is 1; give at least 2"),
    (RT, {"guarantee": {"model": "diversity", "l": 3}, "columns__codes": "drop"}, "no column is sensitive"),
]


@pytest.mark.parametrize(("plan", "parts", "complaint"), BAD, ids=[" ".join(map(str, parts)) for _, parts, _ in BAD])
def test_bad_plans_are_refused_with_their_place_and_a_remedy(folder, plan, parts, complaint):
    path = written(changed(plan, **parts))
    with pytest.raises(InputError) as refused:
        read_plan(path)
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)


def test_every_column_without_a_role_stops_the_plan():
    columns = {"id": "drop", "age": "quasi", "job": None, "pay": None}
    with pytest.raises(InputError, match=r"columns.job: it has no role \(nor have 1 more\); give it one of quasi"):
        plan_of(changed(RT, columns=columns, hierarchies=None, guarantee={"model": "k", "k": 5}))


# Fuzzing.

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.dates()
WORDS = st.sampled_from(
    [
        "km",
        "k",
        "rt",
        "quasi",
        "items",
        "drop",
        "a",
        "csv",
        "exact",
        "frequency:5",
        "patients.csv",
        "age",
        "-",
        "",
        "\0",
    ]
)
VALUES = st.recursive(
    SCALARS | WORDS | st.integers(-1, 9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS | st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
PLACES = [
    *((name,) for name in Plan.model_fields),
    *(("options", name) for name in Plan.model_fields["options"].annotation.model_fields),
    *(("input", name) for name in ("path", "format", "separator", "numeric", "sha256")),
    *(("guarantee", name) for name in ("model", "k", "m", "l")),
    *(("columns", name) for name in ("id", "age", "codes", "new")),
    *(("outputs", name) for name in ("data", "certificate", "rules")),
    ("unknown",),
]


def with_value(plan, place, value):
    found = inner = copy.deepcopy(plan)
    for key in place[:-1]:
        if not isinstance(inner.get(key), dict):
            inner[key] = {}
        inner = inner[key]
    inner[place[-1]] = value
    return found


@given(st.text(max_size=60) | st.text("ab:-[]{}&*!|>\n '\"#,?%@", max_size=40))
def test_no_text_raises_anything_but_input_errors(tmp_path_factory, text):
    for name in ("plan.yaml", "plan.json"):
        path = tmp_path_factory.getbasetemp() / name
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        with pytest.raises(InputError):
            read_plan(path)


@given(st.sampled_from([KM, RT]), st.lists(st.tuples(st.sampled_from(PLACES), VALUES), min_size=1, max_size=3))
@settings(max_examples=400)
def test_no_document_raises_anything_but_input_errors(plan, edits):
    for place, value in edits:
        plan = with_value(plan, place, value)
    try:
        found = plan_of(plan)
    except InputError:
        return
    assert plan_of(yaml.safe_load(plan_yaml(found))) == found
    assert found.promise is not None
    assert found.keywords() is not None


@given(VALUES)
def test_no_value_is_a_plan(document):
    with pytest.raises(InputError):
        plan_of(document)


@given(st.sampled_from([KM, RT]), st.lists(st.tuples(st.sampled_from(PLACES), VALUES), max_size=2))
@settings(max_examples=150)
def test_checks_raise_what_a_user_can_act_on_and_write_nothing(data, plan, edits):
    for place, value in edits:
        plan = with_value(plan, place, value)
    before = files(data)
    try:
        found = checked_plan(plan_of(plan, Origin(folder=str(data))))
    except (InputError, Unreachable):
        pass
    else:
        assert found.rows == 240
    assert files(data) == before


# The same release by plan, flags and Python.


def rows_of(path):
    with open(path) as file:
        return sorted(tuple(row.items()) for row in csv.DictReader(file))


def buckets_of(path):
    """What a release by buckets says: per bucket its people and its values, whose link and number are by lot."""
    found = {}
    with open(path) as file:
        for row in csv.DictReader(file):
            people, values = found.setdefault(row["bucket"], ([], []))
            people.append((row["age"], row["sex"]))
            values.append(row["disease"])
    return Counter((tuple(sorted(people)), tuple(sorted(values))) for people, values in found.values())


KEPT = {"quasi": "age,sex", "drop": "id,disease", "items": "codes"}
KEPT_FLAGS = ["--quasi", "age,sex", "--drop", "id,disease", "--items", "codes"]
WAYS = {
    "km": ("sets.csv", shoal.KmAnonymity(5, 2), {"hierarchy": "balanced:2", "algorithm": "exact"}, []),
    "k": ("sets.csv", shoal.KAnonymity(4), {"algorithm": "gray-tsp", "seed": 5, "segments": 2}, []),
    "k sensitive": ("sets.csv", shoal.KAnonymity(4), {"sensitive": "HIV", "seed": 5}, []),
    "table": (
        "patients.csv",
        shoal.TableAnonymity(5, 2),
        {"quasi": "age,sex", "sensitive": "disease", "drop": "id,codes", "seed": 2, "weights": {"age": 2.0}},
        ["--weight", "age=2"],
    ),
    "rt": (
        "patients.csv",
        shoal.RTAnonymity(5, 2),
        {**KEPT, "hierarchy": {"age": "intervals:10,20", "": "balanced:2"}, "balance": 0.7, "seed": 3},
        ["--hierarchy", "age=intervals:10,20", "--hierarchy", "balanced:2"],
    ),
    "lm": ("patients.csv", shoal.LmDiversity(5, 2, 2), {**KEPT, "sensitive": "marked.txt", "algorithm": "rfirst"}, []),
    "diversity": (
        "patients.csv",
        shoal.MatchingDiversity(3),
        {"quasi": "age,sex", "sensitive": "disease", "drop": "id,codes", "seed": 3},
        [],
    ),
}


def flags_of(guarantee, arguments, extra):
    flags = ["--model", guarantee.model]
    for name in ("k", "m", "l"):
        flags += [f"--{name}", str(getattr(guarantee, name))] if hasattr(guarantee, name) else []
    for name, value in arguments.items():
        flags += [] if isinstance(value, dict) else [f"--{name.replace('_', '-')}", str(value)]
    return flags + extra


@pytest.mark.parametrize("model", WAYS)
def test_plan_flags_and_python_give_the_same_release(folder, model):
    source, guarantee, arguments, extra = WAYS[model]
    shoal.anonymize(source, guarantee, **arguments).write("python.csv")
    assert main(["anonymize", source, "-o", "flags.csv", *flags_of(guarantee, arguments, extra)]) == 0
    plan = plan_from(source, guarantee, output="plan.csv", **arguments)
    (folder / "plan.yaml").write_text(plan_yaml(plan))
    assert read_plan("plan.yaml") == plan
    release = run(read_plan("plan.yaml"))
    seen = buckets_of if model == "diversity" else rows_of
    assert seen("plan.csv") == seen("flags.csv") == seen("python.csv")
    assert release.rows == 240


def test_a_hand_written_plan_gives_the_release_of_the_call_that_it_stands_for(folder):
    release = run(read_plan(written(RT)))
    plan = read_plan("plan.yaml")
    shoal.anonymize(plan.data, plan.promise, **plan.keywords()).write("python.csv")
    assert rows_of("public.csv") == rows_of("python.csv")
    assert release.written[0].targets.rules == "rules.csv"
    with pytest.raises(InputError, match=r"plan.yaml: outputs .*force=True"):
        run(read_plan("plan.yaml"))
    run(read_plan("plan.yaml"), force=True)


def test_plans_from_arguments_name_what_readers_would_find(folder):
    plan = plan_from("sets.csv", shoal.KmAnonymity(5, 2), hierarchy="tree.csv", separator=" ", keep_order=True)
    assert plan.columns == {"items": "items"}
    assert yaml.safe_load(plan_yaml(plan)) == {
        "version": 1,
        "input": {"path": "sets.csv", "separator": " "},
        "columns": {"items": "items"},
        "hierarchies": "tree.csv",
        "guarantee": {"model": "km", "k": 5, "m": 2},
        "keep_order": True,
    }
    marked = plan_from("sets.csv", shoal.KAnonymity(5, 2, sensitive=["HIV"]), sensitive="A,B")
    assert marked.sensitive_items == ["A", "B", "HIV"]
    moved = plan_from("sets.csv", shoal.KmAnonymity(5, 2), hierarchy="tree.csv", output="out.csv", folder="plans")
    assert (moved.input.path, moved.hierarchies) == ("../sets.csv", "../tree.csv")
    assert moved.outputs.data == "../out.csv"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"hierarchy": shoal.Hierarchy.from_parents([1, -1], ["a", "*"])}, "a hierarchy is a Hierarchy in memory"),
        ({"quasi": "age"}, "no use for the role quasi"),
        ({"drop": "items", "items": "items"}, "two roles"),
        ({"id": "items", "items": "items"}, "two roles"),
        ({"delta": 0.5}, "options.delta"),
    ],
)
def test_arguments_that_make_no_plan_are_refused(folder, arguments, complaint):
    with pytest.raises(InputError, match=complaint):
        plan_from("sets.csv", shoal.KmAnonymity(5, 2), **arguments)
    with pytest.raises(InputError, match="a list in memory"):
        plan_from([["a"]], shoal.KmAnonymity(5, 2))


# The data and the plan.


def test_another_file_than_the_one_planned_for_is_refused(folder):
    good = shoal.anonymize("sets.csv", shoal.KmAnonymity(5, 2)).input_sha256
    plan = changed(KM, input__sha256=good, outputs__data="public.csv")
    checked_plan(plan_of(plan))
    (folder / "sets.csv").write_text((folder / "sets.csv").read_text() + "A\n")
    before = files(folder)
    for act in (run, checked_plan):
        with pytest.raises(InputError, match=r"input.sha256.*another file than the one the plan was made for"):
            act(read_plan(written(plan)))
    assert set(files(folder)) == {*before, "plan.yaml"}


@pytest.mark.parametrize(
    ("plan", "parts", "complaint"),
    [
        (KM, {"input__path": "none.csv"}, r"input.path \(line 3\): 'none.csv': there is no such file"),
        (KM, {"hierarchies": "none.csv"}, r"hierarchies \(line 8\): 'none.csv': there is no such file; .*balanced:5"),
        (KM, {"hierarchies": "balanced:1"}, r"plan.yaml: hierarchy 'balanced:1' is not complete"),
        (KM, {"hierarchies": "tree.csv"}, r"plan.yaml: .*options: \{unknown: root\}"),
        (KM, {"columns__item": "items"}, r"columns.item \(line 9\): sets.csv has no such column"),
        (KM, {"input__path": "patients.csv", "columns__codes": "items"}, r"'id', 'age', 'sex', 'disease' of patients"),
        (RT, {"hierarchies__sex": "intervals:5"}, r"plan.yaml: column 'sex': intervals:5 is for numbers"),
        (RT, {"sensitive_items": ["XXX"]}, r"plan.yaml: .*1 of the sensitive items that are named do not occur"),
        (RT, {"outputs__data": "patients.csv"}, r"outputs \(line \d+\): .*it is an input of this release"),
        (RT, {"outputs__rules": "plan.yaml"}, r"outputs \(line \d+\): plan.yaml: it is an input of this release"),
        (RT, {"outputs__data": "public.xls"}, r"outputs \(line \d+\): public.xls: its name does not tell a format"),
        (RT, {"outputs__certificate": "rules.csv"}, r"outputs \(line \d+\)"),
        (RT, {"outputs__sign": "key.pem"}, r"outputs.sign \(line \d+\): 'key.pem': there is no such file"),
        (RT, {"input__numeric": ["sex"]}, r"plan.yaml: .*leave 'sex' out of the numeric columns"),
    ],
)
def test_what_does_not_fit_the_data_is_refused_alike_by_run_and_check(folder, plan, parts, complaint):
    (folder / "tree.csv").write_text("A;x;*\nB;x;*\n")
    path = written(changed(plan, **parts))
    before = files(folder)
    for act in (run, checked_plan):
        with pytest.raises(InputError, match=complaint):
            act(read_plan(path))
    assert files(folder) == before


@pytest.mark.parametrize("plan", [KM, RT, changed(KM, guarantee={"model": "k", "k": 5})])
def test_a_crowd_larger_than_the_data_cannot_be_reached(folder, plan):
    wanted = read_plan(written(changed(plan, guarantee__k=241)))
    with pytest.raises(Unreachable, match=r"plan.yaml: guarantee.k \(line \d+\): it is 241, and .* only 240 rows"):
        checked_plan(wanted)
    with pytest.raises(Unreachable, match=r"plan.yaml: "):
        run(wanted)
    assert not os.path.exists("public.csv")


def test_checks_count_what_there_is_to_do(folder):
    found = checked_plan(plan_of(RT))
    with open("patients.csv") as file:
        rows = list(csv.DictReader(file))
    lengths = [len(row["codes"].split()) for row in rows]
    assert (found.rows, found.items, found.occurrences) == (240, 7, sum(lengths))
    assert found.estimate.itemsets == sum(n + n * (n - 1) // 2 for n in lengths)
    assert found.estimate.pairs == len({(row["age"], row["sex"]) for row in rows}) ** 2
    assert found.columns == {"age": "quasi", "sex": "quasi", "codes": "items"}
    assert found.hierarchies == {"age": "intervals:10,20", "sex": "flat"}
    assert json.loads(json.dumps(found.to_dict()))["estimate"]["seconds"] < 1
    everything = checked_plan(plan_of(changed(KM, guarantee__m=10**9)))
    assert everything.estimate.itemsets == sum(2**n - 1 for n in lengths)


def test_the_schema_names_every_key():
    schema = json_schema()
    assert set(schema["properties"]) == set(Plan.model_fields)
    assert schema["additionalProperties"] is False
    assert set(schema["required"]) == {"version", "input", "guarantee"}
    assert set(schema["$defs"]["Km"]["required"]) == {"model", "k", "m"}
    json.dumps(schema)


# Drafts.


def drafted(path, **options):
    found = drafting.draft(path, **options)
    return found, {guess.name: guess.role for guess in found.guesses}


def test_a_draft_of_a_table_with_sets(folder):
    found, roles = drafted("patients.csv")
    assert roles == {"id": "drop", "age": "quasi", "sex": "quasi", "disease": None, "codes": "items"}
    assert (found.model, found.separator, found.complete, found.rows) == ("rt", " ", True, 240)
    text = drafting.draft_yaml(found)
    assert "disease:  # OPEN: " in text
    (folder / "plan.yaml").write_text(text)
    with pytest.raises(InputError, match=r"columns.disease \(line \d+\): it has no role"):
        read_plan("plan.yaml")
    (folder / "plan.yaml").write_text(text.replace("disease:  #", "disease: drop  #"))
    assert run(read_plan("plan.yaml")).audit.holds
    assert os.path.exists("patients-public.csv")


def test_a_draft_of_a_table_without_sets(folder):
    rows = rows_of("patients.csv")
    with open("table.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["patientName", "zip code", "born", "disease", "salary", "score"])
        for i, row in enumerate(rows):
            held = dict(row)
            day = f"19{30 + i % 60}-0{1 + i % 9}-11"
            writer.writerow([f"person {i}", f"{10000 + i % 50}", day, held["disease"], i % 7, i % 11])
    found, roles = drafted("table.csv")
    assert roles == {
        "patientName": "drop",
        "zip code": "quasi",
        "born": "quasi",
        "disease": "sensitive",
        "salary": None,
        "score": None,
    }
    assert {guess.name: guess.hierarchy for guess in found.guesses if guess.hierarchy} == {
        "zip code": "mask",
        "born": "dates",
    }
    assert found.model == "k"
    text = drafting.draft_yaml(found)
    (folder / "plan.yaml").write_text(
        text.replace("salary:  #", "salary: drop  #").replace("score:  #", "score: keep  #")
    )
    assert checked_plan(read_plan("plan.yaml")).guarantee == "5-anonymity with 2-diversity"


def test_drafts_of_files_of_sets_can_be_run(folder):
    (folder / "clicks.dat").write_text("1 2 3\n2 3\n1 2\n" * 10)
    (folder / "lists.jsonl").write_text('["a", "b"]\n["b"]\n' * 10)
    (folder / "objects.jsonl").write_text('{"basket": ["a", "b"]}\n{"basket": ["b"]}\n' * 10)
    for name in ("clicks.dat", "lists.jsonl", "objects.jsonl", "sets.csv"):
        found, _ = drafted(name, bind=True)
        assert found.model == "km", name
        (folder / "plan.yaml").write_text(drafting.draft_yaml(found))
        assert run(read_plan("plan.yaml")).audit.holds
        assert read_plan("plan.yaml").input.sha256 == found.sha256


def test_a_draft_does_not_drop_all_there_is(folder):
    """A plan without any column could not be run, and would not say at which column to decide."""
    (folder / "codes.csv").write_text("code,name\n" + "".join(f"x{i},Ann {i}\n" for i in range(30)))
    found, roles = drafted("codes.csv")
    assert roles == {"code": None, "name": None}
    (folder / "plan.yaml").write_text(drafting.draft_yaml(found))
    with pytest.raises(InputError, match=r"columns.code .* it has no role"):
        read_plan("plan.yaml")


def test_drafts_leave_open_what_is_not_clear(folder):
    n = 60
    columns = {
        "2019": [i % 5 for i in range(n)],
        "store_nr": [i % 5 for i in range(n)],
        "street name": [f"{i} Main Street" for i in range(n)],
        "place of work": [f"Town {i % 9}, East" for i in range(n)],
        "amount": [f"{i},5" for i in range(n)],
        "tags": ["a|b", "b", "c|a"] * (n // 3),
        "notes": [""] * n,
        "reading": [i / 7 for i in range(n)],
        "token": [f"x{i}" for i in range(n)],
        "product_name": [f"p{i % 4}" for i in range(n)],
    }
    with open("odd.csv", "w", newline="") as file:
        csv.writer(file).writerows([columns.keys(), *zip(*columns.values(), strict=True)])
    _, roles = drafted("odd.csv")
    assert roles == {
        "2019": None,
        "store_nr": None,
        "street name": "drop",
        "place of work": None,
        "amount": "drop",
        "tags": "items",
        "notes": None,
        "reading": None,
        "token": "drop",
        "product_name": None,
    }


CELLS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12)


@given(
    st.lists(
        st.sampled_from(["id", "age", "items", "codes", "x", "no", "salary", "a: b", "#c", "ä\u2028b"]),
        min_size=1,
        max_size=5,
        unique=True,
    ),
    st.data(),
)
@settings(max_examples=60)
def test_drafts_read_back_and_tell_no_value(tmp_path_factory, names, drawn):
    path = tmp_path_factory.getbasetemp() / "drawn.csv"
    seps = st.sampled_from(["", " ", "|", ";"])
    cell = st.builds(lambda a, s, b: f"zq{a}{s}zq{b}" if s else f"zq{a}", CELLS, seps, CELLS)
    rows = drawn.draw(st.lists(st.lists(cell, min_size=len(names), max_size=len(names)), min_size=1, max_size=30))
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, quoting=csv.QUOTE_ALL).writerows([names, *rows])
    try:
        text = drafting.draft_yaml(drafting.draft(str(path)))
    except InputError:
        return
    assert "zq" not in text
    document = yaml.safe_load(text)
    assert [str(name) for name in document["columns"]] == names
    # Filled in, it is a plan, unless its columns of sets and of single values do not go together.
    document["columns"] = {name: role or "drop" for name, role in document["columns"].items()}
    with contextlib.suppress(InputError):
        assert plan_of(document).guarantee.model == document["guarantee"]["model"]


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("a.csv", "", "empty"),
        ("a.csv", "x,y\n", "no rows"),
        ("a.csv", "x,x\n1,2\n", "columns 1 and 2 have the same name"),
        ("a.csv", "x,\n1,2\n", "has no name"),
        ("a.doc", "x", "its name does not tell a format"),
        ("a.parquet", "x", "Parquet"),
    ],
)
def test_data_that_cannot_be_drafted_for_is_refused(tmp_path, name, text, complaint):
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=complaint):
        drafting.draft(str(tmp_path / name))
    with pytest.raises(InputError, match="save the data to a file"):
        drafting.draft("-")


@pytest.mark.parametrize(
    ("file", "model", "roles"),
    [
        (
            "diabetes130/diabetes130_rt.csv.gz",
            "rt",
            {"patient_nbr": "drop", "race": "quasi", "gender": "quasi", "age": "quasi", "items": "items"},
        ),
        (
            "adult/adult.csv.gz",
            "k",
            {"age": "quasi", "sex": "quasi", "race": "quasi", "occupation": None, "salary-class": None, "fnlwgt": None},
        ),
        ("retail/retail.dat.gz", "km", {}),
    ],
)
def test_drafts_of_public_data(file, model, roles):
    path = os.path.join(os.environ.get("SHOAL_DATA") or "", file)
    if not os.path.isfile(path):
        pytest.skip("SHOAL_DATA names no folder with the public data sets")
    found, guessed = drafted(path)
    assert found.model == model
    assert roles.items() <= guessed.items()


@pytest.mark.parametrize("model", ["rt", "diversity", "k"])
def test_a_column_whose_name_holds_a_comma_can_be_named(tmp_path, monkeypatch, model):
    rows = [f'{i},{20 + i % 7},"{"AB"[i % 2]}",{"xyz"[i % 3]}|w,{["flu", "gout", "cold"][i % 3]}' for i in range(60)]
    text = "\n".join(['id,age,"town, area",codes,ill', *rows]) + "\n"
    (tmp_path / "people.csv").write_text(text)
    monkeypatch.chdir(tmp_path)
    ways = {
        "rt": ["--m", "1", "--items", "codes", "--drop", "id,ill", "--keep", "town, area", "--k", "3"],
        "diversity": ["--l", "2", "--sensitive", "ill", "--drop", "id,codes", "--keep", "town, area"],
        "k": ["--k", "3", "--drop", "id,codes", "--drop", "ill", "--keep", "town, area", "--weight", "age=2"],
    }
    given = ["--model", model, "--quasi", "age", *ways[model]]
    assert main(["anonymize", "people.csv", *given, "-o", "file.csv"]) == 0
    with open(tmp_path / "people.csv") as piped:
        monkeypatch.setattr("sys.stdin", piped)
        assert main(["anonymize", "-", "--format", "csv", *given, "-o", "piped.csv"]) == 0
    assert all("town, area" in (tmp_path / name).read_text() for name in ("file.csv", "piped.csv"))
