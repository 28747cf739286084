"""When a column holds numbers, what happens to codes that look like some, and that the rule is the same wherever they come from."""

import gzip
import json
import sqlite3

import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import shoal
from shoal.cli import command_line
from shoal.estimates.raw_profile import profile
from shoal.plan.draft import draft, draft_yaml
from shoal.records.roles import numeric_columns
from shoal.records.source import load_records
from shoal.records.values import kind_of

NUMBERS = [
    (["39", "7", "-3", "0"], "whole numbers"),
    (["39", "2.5", "-0.25", "1e-05", "1e-7", "1e+20"], "each in its shortest spelling"),
    (["39.0", "2.5", "-0.25", "1e-05"], "all with a point"),
    (["39.00", "2.50", "0.05"], "all with 2 decimals"),
    (["-0", "5"], "whole numbers"),
    (["9007199254740992", "2251799813685247.5"], "each in its shortest spelling"),
]
CODES = [
    ["250.0", "250.00"],
    ["250", "250.0"],
    ["34", "35.0"],
    ["250.00", "250.1"],
    ["007", "7"],
    ["+5", "6"],
    [" 5", "6"],
    ["5.", "6.5"],
    [".5", "6.5"],
    ["0", "-0"],
    ["0.0", "-0.0"],
    ["1e5", "2"],
    ["1E+05", "2"],
    ["1e+3", "1000"],
    ["1e400", "2"],
    ["1e-400", "2"],
    ["NaN", "2"],
    ["inf", "2"],
    ["1,000", "2"],
    ["1_000", "2"],
    ["١٢", "2"],
    ["１２", "2"],
    ["0x10", "2"],
    ["9007199254740993", "2"],
    ["0.1000000000000000055", "2"],
    ["9" * 5000, "2"],
    ["", ""],
]


@pytest.mark.parametrize(("texts", "reason"), NUMBERS)
def test_numbers_that_one_way_of_writing_gives_back(texts, reason):
    assert kind_of(texts) == kind_of([*texts, ""])
    assert kind_of(texts).numeric
    assert kind_of(texts).reason == reason


@pytest.mark.parametrize("texts", CODES)
def test_what_might_be_codes_are_categories(texts):
    assert not kind_of(texts).numeric


@pytest.mark.parametrize("texts", [*(texts for texts, _ in NUMBERS), *CODES])
def test_a_value_stays_as_it_stands_in_every_role(texts):
    frame = pa.table({"a": texts, "b": texts, "c": texts})
    records = load_records(frame, quasi="a", sensitive="b", keep="c").records
    assert [records[name].texts() for name in "abc"] == [texts] * 3


def test_codes_that_look_like_one_decimal_are_not_one_class(tmp_path):
    path = tmp_path / "codes.csv"
    path.write_text("code,sex\n250.0,f\n250.00,f\n250.0,m\n250.00,m\n")
    found = shoal.audit(path, shoal.TableAnonymity(2), quasi="code,sex")
    assert (found.holds, found.violations) == (False, 4)
    said = shoal.audit(path, shoal.TableAnonymity(2), quasi="code,sex", numeric="code")
    assert (said.holds, said.violations) == (False, 4)


def test_collisions_of_columns_said_to_be_numeric_are_counted_without_values(tmp_path):
    path = tmp_path / "codes.csv"
    path.write_text("code,sex\n" + "250.0,f\n250.00,f\n" * 4)
    release = shoal.anonymize(path, shoal.TableAnonymity(4), quasi="code,sex", numeric="code")
    (note,) = [note for note in release.notes if "code" in note]
    assert "1 of its values are numbers that others spell differently" in note
    assert "250" not in note
    assert set(release.published["code"].texts()) == {"250.0"}


def test_sensitive_numbers_in_two_spellings_are_named(tmp_path):
    path = tmp_path / "pay.csv"
    path.write_text("sex,pay\n" + "f,10\nf,10.0\n" * 4)
    source = load_records(path, quasi="sex", sensitive="pay")
    assert [note for note in source.notes if "'pay'" in note and "count as different sensitive values" in note]
    assert set(source.records["pay"].values) == {"10", "10.0"}


def test_none_says_that_no_column_is_numeric(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,none\n34,1\n35,2\n")
    assert load_records(path, quasi="age", drop="none").records["age"].numbers is not None
    (tmp_path / "plain.csv").write_text("age,sex\n34,1\n35,2\n")
    for numeric in ("none", ["none"], (), ["sex"]):
        records = load_records(tmp_path / "plain.csv", quasi="age,sex", numeric=numeric).records
        assert records["age"].numbers is None
    # A column of that name is that column.
    records = load_records(path, quasi="age,none", numeric="none").records
    assert records["age"].numbers is None
    assert records["none"].numbers is not None
    assert numeric_columns(None, ["a"]) is None
    assert numeric_columns(["a,b"], ["a", "b"]) == ["a", "b"]


@pytest.mark.parametrize(("model", "more"), [("k", []), ("diversity", ["--sensitive", "ill"])])
def test_none_on_the_command_line_and_in_plans(model, more, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [f"{age},{ill}" for age in (34, 35, 36) for ill in ("flu", "cold", "gout")]
    (tmp_path / "p.csv").write_text("age,ill\n" + "\n".join(rows) + "\n")
    keep = more or ["--keep", "ill"]
    number = ["--l", "2"] if model == "diversity" else ["--k", "4"]
    flags = ["anonymize", "p.csv", "-o", "out.csv", "--model", model, *number, "--quasi", "age", *keep]
    assert run([*flags, "--numeric", "none"]) == 0
    ages = {line.split(",")[0] for line in (tmp_path / "out.csv").read_text().splitlines()[1:]}
    assert ages == ({"34", "35", "36"} if model == "diversity" else {"*"})
    role = "sensitive" if more else "keep"
    promise = {"diversity": "{model: diversity, l: 2}", "k": "{model: k, k: 4}"}[model]
    for numeric in ("none", "[]"):
        (tmp_path / "plan.yaml").write_text(
            f"version: 1\ninput: {{path: p.csv, numeric: {numeric}}}\ncolumns: {{age: quasi, ill: {role}}}\n"
            f"guarantee: {promise}\noutputs: {{data: planned.csv}}\n"
        )
        assert run(["run", "plan.yaml", "--force"]) == 0
        planned = {line.split(",")[0] for line in (tmp_path / "planned.csv").read_text().splitlines()[1:]}
        assert planned == ages


def run(words):
    with pytest.raises(SystemExit) as ended:
        command_line()(words)
    return ended.value.code


def test_the_command_of_a_plan_says_none(tmp_path):
    from shoal.plan import plan_of
    from shoal.plan.scripts import command_of, script_of

    document = {
        "version": 1,
        "input": {"path": "p.csv", "numeric": "none"},
        "columns": {"age": "quasi", "ill": "keep"},
        "guarantee": {"model": "k", "k": 2},
        "outputs": {"data": "out.csv"},
    }
    plan = plan_of(document)
    assert "--numeric none" in command_of(plan)
    assert "numeric=[]" in script_of(plan)
    taken = plan_of(document | {"columns": {"none": "quasi", "ill": "keep"}})
    assert command_of(taken) == "shoal run plan.yaml"


COLUMNS = {
    "age": ["34", "35", "36", "34"],
    "weight": ["70.5", "81", "66.25", "70.5"],
    "price": ["2.50", "10.00", "3.75", "2.50"],
    "icd": ["250.0", "250.00", "401.9", "250.0"],
    "zip": ["00501", "10001", "10002", "00501"],
    "mixed": ["34", "34.0", "35", "34"],
}
NUMERIC = ["age", "weight", "price"]


def sources(folder):
    """The same texts in every format that has columns of text."""
    rows = list(zip(*COLUMNS.values(), strict=True))
    text = "\n".join([",".join(COLUMNS), *map(",".join, rows)]) + "\n"
    (folder / "t.csv").write_text(text)
    (folder / "t.tsv").write_text(text.replace(",", "\t"))
    (folder / "t.csv.gz").write_bytes(gzip.compress(text.encode()))
    lines = [json.dumps(dict(zip(COLUMNS, row, strict=True))) for row in rows]
    (folder / "t.jsonl").write_text("\n".join(lines) + "\n")
    bare = [
        "{" + ", ".join(f'"{n}": {v}' for n, v in zip(COLUMNS, row, strict=True) if n != "zip") + "}" for row in rows
    ]
    (folder / "bare.jsonl").write_text("\n".join(bare) + "\n")
    table = pa.table(COLUMNS)
    pq.write_table(table, folder / "t.parquet")
    with sqlite3.connect(folder / "t.db") as database:
        database.execute(f"CREATE TABLE t ({', '.join(f'{name} TEXT' for name in COLUMNS)})")
        database.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(COLUMNS))})", rows)
    database.close()
    return [
        *(folder / name for name in ("t.csv", "t.tsv", "t.csv.gz", "t.jsonl", "bare.jsonl", "t.parquet")),
        f"sqlite:{folder / 't.db'}?table=t",
        table,
        pandas.DataFrame(COLUMNS),
        polars.DataFrame(COLUMNS),
    ]


def test_the_rule_is_the_same_wherever_the_texts_come_from(tmp_path):
    for source in sources(tmp_path):
        there = [name for name in COLUMNS if name != "zip" or "bare" not in str(source)]
        records = load_records(source, quasi=there).records
        assert {name: records[name].texts() for name in there} == {name: COLUMNS[name] for name in there}, source
        assert [name for name in there if records[name].numbers is not None] == NUMERIC, source


def test_numbers_by_type_are_numbers():
    from decimal import Decimal

    frame = pandas.DataFrame({"n": [34, None, 36]})  # whole numbers with a gap are floats in pandas
    assert load_records(frame, quasi="n").records["n"].texts() == ["34", "", "36"]
    table = pa.table(
        {
            "a": pa.array([1, 2**53], pa.int64()),
            "b": pa.array([0.1, 1e10], pa.float32()),
            "c": pa.array([34.0, 1e-7], pa.float64()),
            "d": pa.array([Decimal("2.50"), Decimal("10.00")]),
            "e": pa.array([2**53 + 1, 2**53], pa.int64()),
        }
    )
    records = load_records(table, quasi=list("abcde")).records
    assert [name for name in "abcde" if records[name].numbers is not None] == list("abcd")
    assert records["e"].texts() == [str(2**53 + 1), str(2**53)]


def test_profile_and_init_say_which_columns_are_numbers_and_why(tmp_path, capsys):
    path = sources(tmp_path)[0]
    found = profile(path, k=2, quasi=list(COLUMNS))
    assert [name for name, kind in found.columns.items() if kind.numeric] == NUMERIC
    assert found.to_dict()["kinds"]["price"] == {"numeric": True, "reason": "all with 2 decimals", "recognised": False}
    assert profile(path, k=2, quasi=list(COLUMNS), numeric="none").columns["age"].reason == "as you say"
    assert run(["profile", str(path), "--k", "2", "--quasi", ",".join(COLUMNS)]) == 0
    shown = capsys.readouterr().out
    assert (
        "Read as numbers: age (whole numbers), weight (each in its shortest spelling), price (all with 2 decimals); "
        in shown
    )
    assert "categories: icd (its numbers are not all spelled in one way" in shown
    drafted = draft(str(path))
    assert {guess.name: guess.kind.numeric for guess in drafted.guesses} == {n: n in NUMERIC for n in COLUMNS}
    assert "read as numbers: whole numbers" in draft_yaml(drafted)
    assert drafted.to_dict()["columns"]["age"]["numeric"] is True


def test_durations_are_seconds():
    stays = pandas.to_timedelta(["1 days", "2 days 12:00:00", None, "0.5s", "-1s"])
    records = load_records(pandas.DataFrame({"stay": stays}), quasi="stay").records
    assert records["stay"].texts() == ["86400", "216000", "", "0.5", "-1"]
    assert records["stay"].numbers is not None
    for unit, one in (("s", 1), ("ms", 1000), ("us", 10**6), ("ns", 10**9)):
        table = pa.table({"stay": pa.array([90 * one, None], pa.duration(unit))})
        assert load_records(table, quasi="stay").records["stay"].texts() == ["90", ""]
    huge = pa.table({"stay": pa.array([-(2**63) + 1, 2**63 - 1], pa.duration("ns"))})
    assert load_records(huge, keep="stay").records["stay"].values == ("-9223372036.854775807", "9223372036.854775807")
