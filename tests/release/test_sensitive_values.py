"""Missing sensitive values and sensitive cells that hold sets, on every path: formats, commands, plans, certificates, frames."""

from __future__ import annotations

import json
import sqlite3
from itertools import combinations

import numpy as np
import pandas
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.attacks.homogeneity import homogeneity
from shoal.cli import main
from shoal.errors import InputError, Unreachable
from shoal.records.records import Column, Records
from shoal.records.spelling.set_cells import cell_items, check_single_values, parting_mark

HIV = [("a", "hiv"), ("a", None), ("b", "hiv"), ("b", "flu")]
ROLES = {"quasi": "who", "sensitive": "ill"}
FLAGS = ["--quasi", "who", "--sensitive", "ill"]


def csv_text(rows, delimiter=","):
    quoted = [f"{who}{delimiter}" + ("" if ill is None else f'"{ill}"') for who, ill in rows]
    return "\n".join([f"who{delimiter}ill", *quoted]) + "\n"


def in_every_format(folder, rows):
    """The same rows, the missing ones as each format has them."""
    (folder / "t.csv").write_text(csv_text(rows))
    (folder / "blank.csv").write_text(csv_text([(who, "  " if ill is None else ill) for who, ill in rows]))
    (folder / "t.tsv").write_text(csv_text(rows, "\t"))
    (folder / "t.jsonl").write_text("".join(json.dumps({"who": who, "ill": ill}) + "\n" for who, ill in rows))
    table = pa.table({"who": [who for who, _ in rows], "ill": [ill for _, ill in rows]})
    shoal_parquet(folder / "t.parquet", table)
    with pa.OSFile(str(folder / "t.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    with sqlite3.connect(folder / "t.db") as database:
        database.execute("create table t (who text, ill text)")
        database.executemany("insert into t values (?, ?)", rows)
    names = ["t.csv", "blank.csv", "t.tsv", "t.jsonl", "t.parquet", "t.arrow"]
    frames = [table, pandas.DataFrame(rows, columns=["who", "ill"])]
    return [*(folder / name for name in names), f"sqlite:{folder / 't.db'}?table=t", *frames]


def shoal_parquet(path, table):
    import pyarrow.parquet

    pyarrow.parquet.write_table(table, path)


def test_a_missing_value_is_missing_in_every_format(tmp_path):
    for data in in_every_format(tmp_path, HIV):
        verdict = shoal.audit(data, shoal.TableAnonymity(2, 2), **ROLES)
        assert not verdict.holds, data
        assert verdict.witnesses[0].reason == "1 of 2 sensitive values"
        assert shoal.audit(data, shoal.TableAnonymity(2, 2, missing="value"), **ROLES).holds, data
        assert homogeneity(shoal.load_records(data, **ROLES).records).certain == 2


def test_a_number_that_is_nan_is_missing(tmp_path):
    table = pa.table({"who": ["a", "a"], "ill": [1.5, float("nan")]})
    shoal_parquet(tmp_path / "t.parquet", table)
    for data in (table, tmp_path / "t.parquet", pandas.DataFrame({"who": ["a", "a"], "ill": [1.5, np.nan]})):
        assert not shoal.audit(data, shoal.TableAnonymity(2, 2), **ROLES).holds
        assert shoal.audit(data, shoal.TableAnonymity(2, 2, missing="value"), **ROLES).holds


@pytest.fixture
def patients(tmp_path):
    rows = [(f"{20 + i % 9}", ["flu", "hiv", "gout", None][i % 4]) for i in range(48)]
    path = tmp_path / "patients.csv"
    path.write_text(csv_text(rows))
    return path


@pytest.mark.parametrize("reading", ["unknown", "value"])
@pytest.mark.parametrize("model", ["k", "diversity"])
def test_the_certificate_says_how_missing_values_were_read_and_verify_reads_them_so(patients, tmp_path, model, reading):
    out = tmp_path / "public.csv"
    promise = (
        shoal.TableAnonymity(4, 3, missing=reading) if model == "k" else shoal.MatchingDiversity(3, missing=reading)
    )
    release = shoal.anonymize(patients, promise, algorithm="anatomy" if model == "diversity" else None, **ROLES)
    release.write(out)
    certificate = json.loads((tmp_path / "public.csv.certificate.json").read_text())
    assert certificate["guarantee"]["missing"] == reading
    assert shoal.verify(tmp_path / "public.csv.certificate.json", out).holds
    # Against every way to fill in what is missing, from the file alone.
    kept = {"keep": "bucket"} if model == "diversity" else {}
    records = shoal.load_records(out, **ROLES, **kept).records
    by = records["bucket" if model == "diversity" else "who"]
    for crowd in range(len(by.values)):
        values = {v for v, c in zip(records["ill"].texts(), by.codes.tolist(), strict=True) if c == crowd}
        assert len(values - ({""} if reading == "unknown" else set())) >= 3


def test_a_promise_under_the_safe_reading_does_not_verify_where_it_was_made_under_the_other(tmp_path):
    (tmp_path / "t.csv").write_text(csv_text(HIV))
    release = shoal.anonymize(tmp_path / "t.csv", shoal.TableAnonymity(2, 2, missing="value"), **ROLES)
    release.write(tmp_path / "public.csv")
    path = tmp_path / "public.csv.certificate.json"
    assert shoal.verify(path, tmp_path / "public.csv").holds
    certificate = json.loads(path.read_text())
    for guarantee in (
        certificate["guarantee"] | {"missing": "unknown"},
        {name: value for name, value in certificate["guarantee"].items() if name != "missing"},
    ):
        path.write_text(json.dumps(certificate | {"guarantee": guarantee}))
        assert not shoal.verify(path, tmp_path / "public.csv").holds


def test_too_few_known_values_are_unreachable(tmp_path):
    (tmp_path / "t.csv").write_text(csv_text([("a", "hiv"), ("a", None)] * 4))
    with pytest.raises(Unreachable, match="only 1 different value"):
        shoal.anonymize(tmp_path / "t.csv", shoal.TableAnonymity(2, 2), **ROLES)
    with pytest.raises(Unreachable, match="only 1 different value"):
        shoal.anonymize(tmp_path / "t.csv", shoal.MatchingDiversity(2), **ROLES)
    for promise in (shoal.TableAnonymity(2, 2, missing="value"), shoal.MatchingDiversity(2, missing="value")):
        assert shoal.anonymize(tmp_path / "t.csv", promise, **ROLES).audit.holds


def test_no_rule_is_mined_about_what_is_unknown(tmp_path):
    rows = [("a", ["flu", "hiv", None][i % 3]) for i in range(30)] + [("b", ["flu", "hiv"][i % 2]) for i in range(30)]
    (tmp_path / "t.csv").write_text(csv_text(rows))
    unknown = shoal.anonymize(tmp_path / "t.csv", shoal.MatchingDiversity(2), **ROLES)
    assert len(unknown.guarantee.rules) == 0
    value = shoal.anonymize(tmp_path / "t.csv", shoal.MatchingDiversity(2, missing="value"), **ROLES)
    assert [rule.value for rule in value.guarantee.rules] == [""]


def run(*arguments):
    return main([str(argument) for argument in arguments])


def test_the_commands_take_the_reading(tmp_path, capsys):
    (tmp_path / "t.csv").write_text(csv_text(HIV))
    asked = ["--model", "k", "--k", "2", "--l", "2", *FLAGS]
    assert run("audit", tmp_path / "t.csv", *asked) == 3
    for reading in ("value", "ill=value"):
        assert run("audit", tmp_path / "t.csv", *asked, "--missing", reading) == 0
    assert run("attack", tmp_path / "t.csv", *FLAGS) == 3
    assert run("attack", tmp_path / "t.csv", *FLAGS, "--missing", "value") == 0
    capsys.readouterr()
    assert run("anonymize", tmp_path / "t.csv", *asked, "--missing", "ill=value", "--json") == 0
    assert json.loads(capsys.readouterr().out)["guarantee"]["missing"] == {"ill": "value"}
    assert run("anonymize", tmp_path / "t.csv", *asked, "--missing", "value", "--print-plan") == 0
    assert "missing: value" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--model", "k", "--l", "2", "--missing", "drop"], "rows are not left out of a release"),
        (["--model", "k", "--l", "2", "--missing", "ill=drop"], "rows are not left out of a release"),
        (["--model", "k", "--missing", "value"], "no use without l"),
        (["--model", "k", "--l", "2", "--missing", "value", "--missing", "ill=unknown"], "given twice"),
        (["--model", "diversity", "--missing", "who=value"], "'who': the column is not sensitive"),
    ],
)
def test_other_readings_are_refused_with_the_reason(tmp_path, capsys, flags, message):
    (tmp_path / "t.csv").write_text(csv_text(HIV))
    assert run("anonymize", tmp_path / "t.csv", *flags, *FLAGS) == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_sets_have_no_missing_values(tmp_path, capsys):
    (tmp_path / "t.csv").write_text("items\na b\n\n")
    for model in ("km", "k"):
        assert run("anonymize", tmp_path / "t.csv", "--model", model, "--missing", "value") == 2
        assert "in sets an empty cell means that there are no items" in " ".join(capsys.readouterr().err.split())
    assert run("anonymize", tmp_path / "t.csv", "--model", "rt", "--missing", "value") == 2
    assert "nothing sensitive is counted" in " ".join(capsys.readouterr().err.split())
    assert run("anonymize", tmp_path / "t.csv", "--model", "lm", "--missing", "value") == 2


def test_a_plan_takes_the_reading(tmp_path, capsys):
    (tmp_path / "t.csv").write_text(csv_text(HIV))
    plan = tmp_path / "plan.yaml"
    text = "version: 1\ninput: {path: t.csv}\ncolumns: {who: quasi, ill: sensitive}\nguarantee: {model: k, k: 2, l: 2, missing: %s}\n"
    plan.write_text(text % "{ill: value}")
    assert shoal.run(shoal.read_plan(plan)).guarantee.missing == {"ill": "value"}
    plan.write_text(text % "drop")
    assert run("run", plan, "--check") == 2
    plan.write_text(text % "{who: value}")
    assert run("run", plan, "--check") == 2
    assert "the column is not sensitive" in " ".join(capsys.readouterr().err.split())
    plan.write_text((text % "value").replace("l: 2, ", ""))
    assert run("run", plan, "--check") == 2
    assert "no use without l" in " ".join(capsys.readouterr().err.split())


# Cells that hold sets.

FLU = [("a", "flu"), ("a", "asthma|flu"), ("b", "flu"), ("b", "gout")]


@pytest.mark.parametrize("mark", ["|", ";", ",", ", ", "\t", " ; "])
def test_sets_in_sensitive_cells_are_refused_in_every_format(tmp_path, mark):
    rows = [(who, ill.replace("|", mark)) for who, ill in FLU]
    for data in in_every_format(tmp_path, rows):
        for promise in (shoal.TableAnonymity(2, 2), shoal.MatchingDiversity(2)):
            with pytest.raises(InputError, match=r"1 of the 3 values of 'ill' hold several items") as error:
                shoal.anonymize(data, promise, **ROLES)
            assert "flu" not in str(error.value)
            assert "LmDiversity" in str(error.value)
        with pytest.raises(InputError, match="hold several items"):
            shoal.audit(data, shoal.TableAnonymity(2, 2), **ROLES)


@pytest.mark.parametrize("lists", [[["flu"], ["asthma", "flu"]], [None, ["flu"]]])
def test_a_column_of_lists_is_refused(lists):
    table = pa.table({"who": ["a", "a"], "ill": lists})
    for promise in (shoal.TableAnonymity(2, 2), shoal.MatchingDiversity(2)):
        with pytest.raises(InputError, match="holds lists"):
            shoal.anonymize(table, promise, **ROLES)


def test_the_attack_looks_into_cells_that_hold_sets(tmp_path):
    (tmp_path / "t.csv").write_text(csv_text(FLU))
    assert run("attack", tmp_path / "t.csv", *FLAGS) == 3
    found = homogeneity(shoal.load_records(tmp_path / "t.csv", **ROLES).records)
    assert found.certain == 2
    assert str(found.examples[0]) == "all 2 rows of the crowd of 1, 2 have ill flu"


@pytest.mark.parametrize(
    "cells",
    [
        ["Heart Disease", "Lung Disease"],
        ["a|b", "c"],
        ["x, y", "z"],
        ["type 1", "type 2"],
        ["flu", "gout"],
        ["", "flu"],
        [" ", ""],
    ],
)
def test_texts_that_share_no_item_are_single_values(cells):
    assert parting_mark(cells) is None


@pytest.mark.parametrize(
    ("cells", "mark"),
    [
        (["250 401", "250"], " "),
        (["{flu,asthma}", "{flu}"], ","),
        (['["flu", "asthma"]', '["flu"]'], ","),
        (["flu|", "flu"], "|"),
        (["a|b", "b|c"], "|"),
        (["a;b,c", "c,d"], ","),
    ],
)
def test_sets_are_found_out(cells, mark):
    assert parting_mark(cells) == mark


def test_what_belongs_to_single_values_can_be_said_and_is_certified(tmp_path):
    rows = [("a", "Diabetes, type 1"), ("a", "Diabetes, type 2"), ("b", "Diabetes, type 1"), ("b", "Gout")]
    (tmp_path / "t.csv").write_text(csv_text(rows))
    with pytest.raises(InputError, match="separated by ','"):
        shoal.anonymize(tmp_path / "t.csv", shoal.TableAnonymity(2, 2), **ROLES)
    for promise, algorithm in ((shoal.TableAnonymity(2, 2), "cluster"), (shoal.MatchingDiversity(2), "anatomy")):
        for form in ("csv", "parquet"):
            out = tmp_path / f"public.{form}"
            release = shoal.anonymize(tmp_path / "t.csv", promise, algorithm=algorithm, separator="|", **ROLES)
            release.write(out, force=True)
            certificate = tmp_path / f"public.{form}.certificate.json"
            assert json.loads(certificate.read_text())["output"]["separator"] == "|"
            assert shoal.verify(certificate, out).holds


items = st.frozensets(st.sampled_from("pqr"), min_size=1, max_size=2)


@given(st.lists(st.tuples(st.sampled_from("ab"), items), min_size=1, max_size=8), st.sampled_from("|;,"))
@settings(max_examples=150)
def test_where_whole_cells_are_compared_no_item_is_surer_than_they_say(rows, mark):
    """The attacker names items: as many as it takes until every row of a class has one of them."""
    records = Records(
        (
            Column.from_texts("who", "quasi", [who for who, _ in rows]),
            Column.from_texts("ill", "sensitive", [mark.join(sorted(held)) for _, held in rows]),
        )
    )
    shared = any(a & b for (_, a), (_, b) in combinations(rows, 2) if a != b)
    if shared:
        with pytest.raises(InputError, match="hold several items"):
            check_single_values(records, "the table")
        return
    check_single_values(records, "the table")
    for who in {who for who, _ in rows}:
        crowd = [held for own, held in rows if own == who]
        needed = next(
            n for n in range(1, 4) if any(all(set(named) & held for held in crowd) for named in combinations("pqr", n))
        )
        assert needed == len({mark.join(sorted(held)) for held in crowd})


def test_items_of_a_cell():
    assert cell_items('{"a", b,,a}', ",") == ("a", "b")
