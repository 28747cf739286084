"""Tables about people: roles, values and numbers, sets and sensitive items, and what is refused."""

import datetime
import decimal
import gzip
import io
import os
from pathlib import Path
from types import SimpleNamespace

import hypothesis.strategies as st
import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
from hypothesis import given
from pyarrow import parquet

from shoal.errors import InputError
from shoal.records.baskets import Baskets
from shoal.records.layout import Layout
from shoal.records.records import MISSING, Column, Records, same_records
from shoal.records.source import fingerprint, load_records, mark_sensitive
from shoal.records.values import is_number, ordering

CSV = "id,age,sex,town,items\n1,39,F,00501,a b\n2,,M,10001,\n3,22,F,00501,b c\n"
FLAGS = "quasi=, items=, sensitive=, keep= or drop="
ROLES = {"drop": "id", "quasi": ["age", "sex"], "keep": "town", "items": "items"}


@pytest.fixture
def table(tmp_path):
    """Writes a text to a file and gives its path."""

    def write(text, name="x.csv"):
        (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
        return tmp_path / name

    return write


def refusal(source, **options):
    with pytest.raises(InputError) as caught:
        load_records(source, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def column(source, name="x", **options):
    return load_records(source, quasi=name, **options).records[name]


# What is read


def test_a_table_with_roles(table):
    path = table(CSV)
    source = load_records(path, **ROLES)
    records = source.records
    assert repr(records) == "Records(3 rows: age (quasi), sex (quasi), town (keep), items (items))"
    assert records["age"].texts() == ["39", "", "22"]
    assert records["age"].values == ("", "22", "39")
    np.testing.assert_array_equal(records["age"].numbers, [np.nan, 22, 39])
    assert (records["town"].values, records["town"].numbers) == (("00501", "10001"), None)
    assert list(records.items.rows()) == [["a", "b"], [], ["b", "c"]]
    assert (source.layout, source.name, source.sha256) == (Layout("csv"), "x.csv", fingerprint(path))
    assert [c.name for c in records.of_role("quasi")] == ["age", "sex"]


def test_every_format_reads_as_the_same_records(table, tmp_path, monkeypatch):
    expected = load_records(table(CSV), **ROLES).records
    lines = (
        '{"id": 1, "age": 39, "sex": "F", "town": "00501", "items": ["a", "b"]}\n'
        '{"id": 2, "age": null, "sex": "M", "town": "10001", "items": null}\n\n'
        '{"town": "00501", "items": ["c", "b"], "sex": "F", "age": 22}\n'
    )
    frame = pa.table(
        {
            "id": [1, 2, 3],
            "age": pa.array([39, None, 22], pa.int32()),
            "sex": pa.array(["F", "M", "F"]).dictionary_encode(),
            "town": ["00501", "10001", "00501"],
            "items": [["a", "b"], None, ["b", "c"]],
        }
    )
    parquet.write_table(frame, tmp_path / "x.parquet")
    with pa.ipc.new_stream(tmp_path / "x.arrow", frame.schema) as writer:
        writer.write_table(frame, 1)
    objects = frame.to_pandas()
    objects["items"] = [{"a", "b"}, None, ("c", "b")]
    for source in (
        table(CSV.replace(",", "\t"), "x.tsv"),
        table(gzip.compress(CSV.encode()), "x.csv.gz"),
        table(lines, "x.jsonl"),
        tmp_path / "x.parquet",
        str(tmp_path / "x.arrow"),
        frame,
        frame.to_reader(),
        polars.DataFrame(frame),
        frame.to_pandas(),
        objects,
    ):
        assert same_records(load_records(source, **ROLES).records, expected), source
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(CSV.encode())))
    assert same_records(load_records("-", format="csv", **ROLES).records, expected)


def test_python_objects_have_a_hash_of_what_they_hold(table):
    frame = polars.DataFrame({"x": ["a", "b"], "items": [["u"], []]})
    source = load_records(frame, quasi="x", items="items")
    assert (source.name, source.layout) == ("the DataFrame", Layout("arrow", types=(("x", "text"),)))
    assert source.sha256 == load_records(frame.to_pandas(), quasi="x", items="items").sha256
    assert source.sha256 != load_records(frame, keep="x", items="items").sha256
    assert source.sha256 == fingerprint(source.records) == load_records(source.records).sha256


def test_roles_may_be_texts_with_commas(table):
    path = table('a,"b,c",d\n1,2,3\n')
    records = load_records(path, quasi="a,d", keep="b,c").records
    assert [(c.name, c.role) for c in records.columns] == [("a", "quasi"), ("b,c", "keep"), ("d", "quasi")]
    assert load_records(path, quasi=["a", "d", "a"], keep=["b,c"]).records.names == records.names


def test_dropped_columns_are_not_read():
    untouchable = pa.array([b"\xff"], pa.binary())
    frame = pa.table({"x": ["a"], "secret": untouchable})
    assert load_records(frame, quasi="x", drop="secret").records.names == ("x",)
    assert "no text form" in refusal(frame, quasi="x", keep="secret")


# Values and numbers


@pytest.mark.parametrize(
    "text", ["0", "-0", "7", "-7", "+7", "3.25", ".5", "5.", "1e-05", "1e+20", "1.5e7", " 39", "0.0"]
)
def test_numbers(text):
    assert is_number(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "00501",
        "-07",
        "1E5",
        "12E3",
        "NaN",
        "inf",
        "1e+999",
        "1,5",
        "0x1",
        "1_000",
        "٣",
        "?",
        "5+",
        "--1",
        "1 2",
        ".",
    ],
)
def test_texts_that_are_no_numbers(text):
    assert not is_number(text)


def test_one_text_among_numbers_makes_categories_and_a_note(table):
    path = table("x\n" + "1\n2\n" * 10 + "n/a\n")
    source = load_records(path, quasi="x")
    assert source.records["x"].numbers is None
    assert source.notes == (
        "column 'x' is taken for categories: 1 of 3 different values are not spelled as numbers are; if it holds numbers, name it with "
        "numeric=",
    )
    assert "column 'x', row 21: the value is not a number" in refusal(path, quasi="x", numeric=["x"])
    assert load_records(path, quasi="x", numeric=[]).notes == ()
    assert load_records(table("x\na\n1\n"), quasi="x").notes == ()


def test_the_caller_may_say_what_is_numeric(table):
    path = table("zip,x\n00501,1\n10001,2\n")
    assert column(path, "zip", keep="x").numbers is None
    forced = column(path, "zip", keep="x", numeric="zip")
    assert (forced.values, forced.numbers.tolist()) == (("00501", "10001"), [501.0, 10001.0])
    assert load_records(path, quasi="zip", keep="x", numeric="zip").records["x"].numbers is None
    assert "'y' for numeric= is not one of its columns" in refusal(path, quasi="zip", keep="x", numeric="y")


def test_a_column_said_to_be_numeric_keeps_every_spelling_and_says_so(table):
    path = table("x\n39.0\n39\n 39\n4\n+4\n")
    assert column(path).numbers is None
    source = load_records(path, quasi="x", numeric="x")
    found = source.records["x"]
    assert found.values == ("4", "+4", "39", " 39", "39.0")
    assert found.numbers.tolist() == [4, 4, 39, 39, 39]
    assert found.texts() == ["39.0", "39", " 39", "4", "+4"]
    assert [note for note in source.notes if "3 of its values are numbers that others spell differently" in note]


def test_numbers_too_long_to_be_told_apart_are_codes(table):
    path = table("x\n9007199254740993\n9007199254740992\n")
    assert column(path).values == ("9007199254740992", "9007199254740993")
    assert column(path).numbers is None
    assert "row 2: the number is too long to be told apart from another" in refusal(path, quasi="x", numeric="x")


def test_question_marks_and_blanks_are_values_and_empty_cells_are_missing(table):
    found = column(table('x,y\n?,\n,\n" ",\nNaN,\n'), keep="y")
    assert found.texts() == ["?", "", " ", "NaN"]
    assert found.values == ("", " ", "?", "NaN")


def test_a_column_of_missing_values_is_not_numeric():
    found = column(pa.table({"x": pa.nulls(2)}))
    assert (found.values, found.numbers) == ((MISSING,), None)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array([1.5, None, float("nan"), 2.0]), ["1.5", "", "", "2"]),
        (pa.array([True, None]), ["true", ""]),
        (pa.array([datetime.date(2020, 1, 2)]), ["2020-01-02"]),
        (pa.array([decimal.Decimal("1.50")]), ["1.50"]),
        (pa.array(["a", None], pa.string_view()), ["a", ""]),
        (pa.array(["a", None, "a"]).dictionary_encode(), ["a", "", "a"]),
        (pa.array([-0.0, 0.0]), ["-0", "0"]),
        (pa.array([float("inf"), 1.0]), ["inf", "1"]),
    ],
)
def test_typed_values_stand_as_text(values, expected):
    assert column(pa.table({"x": values})).texts() == expected


def test_pandas_objects_may_be_of_several_types():
    mixed = pandas.DataFrame({"x": pandas.Series([39, "?", None, 2.0, True, np.int64(4), float("nan")], dtype=object)})
    assert column(mixed).texts() == ["39", "?", "", "2", "true", "4", ""]
    assert column(pandas.DataFrame({"x": [1, None]})).texts() == ["1", ""]
    assert column(pandas.DataFrame({"x": pandas.Series([1.5, 2], dtype=object)})).texts() == ["1.5", "2"]
    dates = pandas.DataFrame({"x": pandas.Series([datetime.date(2020, 1, 2), None], dtype=object)})
    assert column(dates).texts() == ["2020-01-02", ""]
    odd = pandas.DataFrame({"x": pandas.Series([1, object()], dtype=object)})
    assert "column 'x' mixes types (int, object)" in refusal(odd, quasi="x")


@given(st.lists(st.sampled_from(["", "7", "10", "9", "a", "1.5", "07", "-3"]), min_size=1, max_size=8))
def test_columns_equal_those_of_an_obvious_reader(texts):
    found = Column.from_texts("x", "keep", texts)
    given_values = sorted({text for text in texts if text})
    numeric = bool(given_values) and all(text not in ("a", "07") for text in given_values)
    assert found.texts() == texts
    assert (found.numbers is not None) == numeric
    if numeric:
        given_values.sort(key=float)
    elif all(text.lstrip("-").isdigit() for text in given_values):
        given_values.sort(key=lambda text: (int(text), text))
    assert found.values == (*([""] if "" in texts else []), *given_values)
    if numeric:
        np.testing.assert_array_equal(found.numbers, [float(v) if v else np.nan for v in found.values])


def test_unused_names_are_left_out():
    found = Column.from_codes("x", "keep", np.array([2, 0, 2]), ["b", "unused", "a"])
    assert (found.values, found.texts()) == (("a", "b"), ["a", "b", "a"])
    assert ordering([]).values == ()


# Sets


def test_several_item_columns_make_one_domain(table):
    path = table("x,drugs,codes\n1,a|b,a\n2,,250.1 b\n")
    records = load_records(path, quasi="x", items="codes,drugs").records
    assert records.items_name == "drugs+codes"
    assert list(records.items.rows()) == [["codes.a", "drugs.a", "drugs.b"], ["codes.250.1", "codes.b"]]


def test_items_of_two_columns_that_would_have_one_name_are_refused(table):
    path = table("a,a.b\nb.c,c\n")
    assert "a name stands for items of two columns" in refusal(path, items="a,a.b")


def test_the_one_column_gets_a_name_of_its_own(table):
    path = table("a,b,a+b\nx,y,z\n")
    records = load_records(path, items=["a", "b"], keep="a+b").records
    assert records.names == ("a+b", "a+b+")


def test_sensitive_sets_join_the_items_and_blanks_belong_to_them(table):
    path = table("x,items,illness\n1,a b,HIV|heart failure\n2,b c, depression \n3,,\n")
    records = load_records(path, quasi="x", items="items", sensitive_sets="illness").records
    assert list(records.items.rows()) == [["HIV", "a", "b", "heart failure"], ["b", "c", "depression"], []]
    assert records.sensitive_items == {"HIV", "heart failure", "depression"}
    assert records.sensitive_name == "illness"
    assert [c.name for c in records.columns] == ["x"]


def test_a_given_separator_parts_sensitive_items_too_unless_it_is_a_blank(table):
    path = table("items,s\na+b,u v+w\n")
    assert load_records(path, items="items", sensitive_sets="s", separator="+").records.sensitive_items == {"u v", "w"}
    path = table("items,s\na b,u v\n")
    assert load_records(path, items="items", sensitive_sets="s", separator=" ").records.sensitive_items == {"u v"}


def test_sensitive_lists_hold_one_item_per_element():
    frame = polars.DataFrame({"items": ["a b"], "s": [["u v", "w,x"]]})
    records = load_records(frame, items="items", sensitive_sets="s", separator=" ").records
    assert records.sensitive_items == {"u v", "w,x"}


def test_an_item_in_both_columns_is_refused(table):
    path = table("items,s\na b,b\n")
    assert "an item stands both in 'items' and in the sensitive 's'" in refusal(path, items="items", sensitive_sets="s")


def test_a_sensitive_column_has_one_value_per_row(table):
    records = load_records(table("x,s\n1,u v|w\n"), quasi="x", sensitive="s").records
    assert (records["s"].role, records["s"].texts(), records.items) == ("sensitive", ["u v|w"], None)


def test_items_may_be_marked_as_sensitive(tmp_path):
    baskets = Baskets.from_rows([["a", "b,c"], ["d"]])
    assert mark_sensitive(baskets, "a,d").sensitive_items == {"a", "d"}
    assert mark_sensitive(baskets, ["b,c"]).sensitive_items == {"b,c"}
    assert mark_sensitive(baskets, "b,c").sensitive_items == {"b,c"}
    (tmp_path / "names.txt").write_text("\ufeffa\n\n b,c \n")
    for path in (tmp_path / "names.txt", str(tmp_path / "names.txt")):
        marked = mark_sensitive(Records((), baskets, "x"), path)
        assert (marked.sensitive_items, marked.items_name) == ({"a", "b,c"}, "x")
    with pytest.raises(InputError, match="1 of the sensitive items that are named do not occur in the data"):
        mark_sensitive(baskets, "a,x")
    with pytest.raises(InputError, match=r"2 of the sensitive items that are named do not occur"):
        mark_sensitive(baskets, ["x", "y"])
    with pytest.raises(InputError, match="there are no items"):
        mark_sensitive(Records((Column.from_texts("a", "quasi", ["1"]),)), "a")
    with pytest.raises(InputError, match="stand in column 's'"):
        mark_sensitive(Records((), baskets, "x", frozenset("a"), "s"), "d")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\n")
    with pytest.raises(InputError, match="binary: line 1 begins like UTF-16"):
        mark_sensitive(baskets, tmp_path / "binary")
    with pytest.raises(InputError, match="there is no such file"):
        mark_sensitive(baskets, tmp_path / "nothing")


def test_sensitive_names_that_are_no_columns_are_items(table):
    path = table("x,s,items\n1,u,a b\n2,v,c\n")
    records = load_records(path, quasi="x", sensitive=["s", "a,c"], items="items").records
    assert records.sensitive_items == {"a", "c"}
    assert records["s"].role == "sensitive"
    assert refusal(path, quasi="x,s", sensitive="a,z", items="items") == (
        "x.csv: 1 of the sensitive items that are named do not occur in the data; check the spelling, or leave out what is not there"
    )
    assert "there is no column 'a' for sensitive=" in refusal(path, quasi="x", sensitive="s,a", items="items")
    assert "there is no column 'a' for sensitive=" in refusal(path, quasi="x,s,items", sensitive="a")


# Refusals


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"items": "items"}, f"columns 'id', 'age', 'sex', 'town' have no role; name them with {FLAGS}"),
        (ROLES | {"keep": ()}, f"column 'town' has no role; name it with {FLAGS}"),
        (ROLES | {"sensitive": "sex"}, "column 'sex' has two roles; name it in only one of quasi= and sensitive="),
        (ROLES | {"drop": "id,who"}, "there is no column 'who' for drop=; its columns are 'id', 'age', 'sex', 'town', 'items'"),
        (
            ROLES | {"items": (), "sensitive_sets": "items"},
            "sensitive sets ('items') stand in one column beside the items; name one, and name the items with items=",
        ),
        ({"drop": "id,age,sex,town,items"}, f"all of its columns are dropped; give one a role with {FLAGS}"),
        (ROLES | {"items": (), "keep": "town,items", "separator": "|"}, "it has no set column; leave out separator="),
    ],
)  # fmt: skip
def test_roles_that_do_not_fit(table, options, sentence):
    assert refusal(table(CSV), **options) == f"x.csv: {sentence}"


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("x.csv", "x,x\n1,2\n", "x.csv: columns 1 and 2 have the same name; rename one"),
        ("x.csv", "x,\n1,2\n", "x.csv: column 2 has no name; give it one"),
        ("x.csv", "x\n", "x.csv has no rows; check that it is the right one"),
        ("x.csv", "x\n1,2\n", "x.csv: row 1 has 2 cells, but the header has 1"),
        ("x.csv", b"x\n\xff\n", "x.csv: line 2 is not UTF-8"),
        ("x.dat", "1 2\n", "x.dat: FIMI text has no columns"),
        ("x", "x\n1\n", "x: its name does not tell a format; pass format="),
        ("x.jsonl", "[1]\n", "x.jsonl: line 1 holds no object"),
        ("x.jsonl", '{"x": 1}\n{"x": {"y": 2}}\n', "x.jsonl: line 2 holds an object in field 'x'"),
        ("x.jsonl", '{"x": 1}\n{"x": [2]}\n', "x.jsonl: line 2 holds a list in field 'x'"),
        ("x.jsonl", '{"x": [2]}\n', "x.jsonl: column 'x' holds lists, not single values; name it with items="),
        ("x.jsonl", '{"x": 1}\n\n{"x"}\n', "x.jsonl: line 3 is not JSON"),
        ("x.jsonl", '{"x": 1, "x": 2}\n', "x.jsonl: line 1 is not JSON (a field stands twice,"),
        ("x.jsonl", '{"x": "\\ud800"}\n', "x.jsonl: line 1 holds half a surrogate pair"),
        ("x.jsonl", '{"x": 1}\n{"x": 2, "y": 1}\n', "x.jsonl: column 'y' has no role"),
        ("x.jsonl", '{"": 1, "x": 2}\n', "x.jsonl: column 1 has no name"),
        ("x.jsonl", "", "x.jsonl has no rows; check that it is the right one"),
        ("x.parquet", b"PAR1", "x.parquet: it is not readable as Parquet"),
    ],
)
def test_files_that_do_not_fit(table, name, text, sentence):
    assert refusal(table(text, name), quasi="x").startswith(sentence)


def test_items_in_json_are_texts_or_whole_numbers(table):
    path = table('{"x": 1, "items": ["a", 7]}\n{"x": 1, "items": ["a", 1.5]}\n', "x.jsonl")
    assert refusal(path, quasi="x", items="items") == (
        "x.jsonl: line 2 holds a number with a point or an exponent as an item; items are texts or whole numbers"
    )


def test_json_values_of_any_kind(table):
    path = table('{"x": 1e2}\n{"x": true}\n{"x": NaN}\n{"x": "a"}\n{"x": 1.50}\n{}\n{"x": ""}\n', "x.jsonl")
    assert column(path).texts() == ["1e2", "true", "", "a", "1.50", "", ""]


def test_sets_that_do_not_fit():
    assert "column 's' holds lists" in refusal(pa.table({"s": [["a"]]}), sensitive="s")
    assert "is of type int64, which holds no sets; give lists or text" in refusal(pa.table({"s": [1]}), items="s")
    assert "column 's' holds lists; leave out separator=" in refusal(pa.table({"s": [["a"]]}), items="s", separator="|")
    assert "row 2 holds an item that is missing" in refusal(pa.table({"s": [["a"], [None]]}), items="s")


def test_sources_that_are_no_tables():
    assert "the list has no columns" in refusal([["a"]], items="items")
    assert "Records have their roles already" in refusal(Records((), Baskets.from_rows([["a"]])), items="items")
    assert "format 'xls' is not known" in refusal(os.devnull, format="xls")
    assert "a long table has one item per row; columns beside them are joined by id=" in refusal(
        os.devnull, format="long"
    )
    assert "the separator between items is empty" in refusal("x.csv", separator="")


def test_standard_input_needs_a_format(monkeypatch):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"x\n1\n")))
    assert "standard input: its name does not tell a format" in refusal("-", quasi="x")


# The noun


def test_columns_of_one_table_have_different_names_and_one_length():
    one = Column.from_texts("a", "quasi", ["1"])
    with pytest.raises(InputError, match="two columns of one table are called 'a'"):
        Records((one, one))
    with pytest.raises(InputError, match="the same number of rows"):
        Records((one, Column.from_texts("b", "quasi", ["1", "2"])))
    with pytest.raises(InputError, match="there is no column 'b'; there are a"):
        Records((one,))["b"]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("39,F,a\n", ()),
        ("39,,\n,,a\n", ()),
        (
            "39,F,a\n,,\n",
            ("1 row holds nothing, and counts as a record like any other; unless it is about people, take it out",),
        ),
        (
            ",,\n39,F,a\n, ,\n",
            ("2 rows hold nothing, and count as records like any other; unless they are about people, take them out",),
        ),
    ],
)
def test_rows_that_hold_nothing_are_counted_in_a_note(table, lines, said):
    source = load_records(table(f"age,sex,items\n{lines}"), quasi="age,sex", items="items")
    assert tuple(note for note in source.notes if "nothing" in note) == said


def test_rows_can_be_taken():
    records = Records((Column.from_texts("a", "quasi", ["1", "2", "3"]),), Baskets.from_rows([["x"], ["y"], []]))
    taken = records.take(np.array([2, 0]))
    assert (taken["a"].texts(), list(taken.items.rows())) == (["3", "1"], [[], ["x"]])
    assert len(taken) == 2


def test_records_are_the_same_if_they_say_the_same():
    records = Records((Column.from_texts("a", "quasi", ["1", "2"]),), Baskets.from_rows([["x", "y"], ["z"]]))
    again = Records(
        (Column("a", "quasi", np.array([1, 0], np.int32), ("2", "1", "unused")),),
        Baskets(np.array([0, 2, 3]), np.array([1, 2, 0], np.int32), ("z", "y", "x", "unused")),
        sensitive_items=frozenset(["never"]),
    )
    assert same_records(records, again)
    for other in (
        records.take(np.array([0])),
        records.take(np.array([1, 0])),
        Records((Column.from_texts("a", "keep", ["1", "2"]),), records.items),
        Records((Column.from_texts("b", "quasi", ["1", "2"]),), records.items),
        Records((Column.from_texts("a", "quasi", ["1", "2.0"]),), records.items),
        Records(records.columns),
        Records(records.columns, records.items, "bought"),
        Records(records.columns, records.items, "items", frozenset(["x"])),
        Records(records.columns, records.items, "items", frozenset(), "s"),
        Records(records.columns, Baskets.from_rows([["x", "y"], ["u"]])),
    ):
        assert not same_records(records, other)
        assert not same_records(other, records)


# Public data


@pytest.fixture
def public():
    folder = os.environ.get("SHOAL_DATA")
    if not folder:
        pytest.skip("SHOAL_DATA names no folder with the public data sets")
    return Path(folder)


def test_diabetes_patients(public):
    path = public / "diabetes130" / "diabetes130_rt.csv.gz"
    records = load_records(path, drop="patient_nbr", quasi="race,gender,age", items="items").records
    assert len(records) == 71_517
    assert records.items.occurrences == 266_756
    assert [len(c.values) for c in records.columns] == [6, 3, 10]
    assert "?" in records["race"].values


def test_households_with_missing_values(public):
    path = public / "completejourney" / "completejourney_rt.csv.gz"
    quasi = "age,income,home_ownership,marital_status,household_size,household_comp,kids_count"
    source = load_records(path, drop="household_id", quasi=quasi, items="items")
    assert len(source.records) == 801
    assert source.records["marital_status"].values == (MISSING, "Married", "Unmarried")
    assert [note.split("'")[1] for note in source.notes] == ["household_size", "kids_count"]


def test_adult_has_six_numeric_columns(public):
    path = public / "adult" / "adult.csv.gz"
    with gzip.open(path, "rt") as file:
        columns = file.readline().strip().split(",")
    records = load_records(path, quasi=columns[:-1], sensitive="salary-class").records
    assert len(records) == 32_561
    numeric = [c.name for c in records.columns if c.numbers is not None]
    assert numeric == ["age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
