"""Records come back from every format, compression and frame as they were written, whatever names and values are."""

import csv
import io
import json
import re
from types import SimpleNamespace

import hypothesis.strategies as st
import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
from hypothesis import example, given, settings

from shoal.errors import InputError, ShoalError
from shoal.records import records as record_module
from shoal.records.baskets import Baskets
from shoal.records.formats import jsonl
from shoal.records.formats.frames import to_arrow, to_pandas, to_polars
from shoal.records.layout import Layout
from shoal.records.records import MISSING, Column, Records, same_records
from shoal.records.source import load_records, mark_sensitive
from shoal.records.storage import streams
from shoal.records.writing import flags_to_read, settled_layout, write, write_to, written_records

FILES = [
    *(f"x.{form}{packed}" for form in ("csv", "tsv", "jsonl") for packed in ("", ".gz", ".zst")),
    "x.parquet",
    "x.arrow",
]

tricky = st.sampled_from(
    ["7", "007", "00501", "-1", "-0", "0", "+3.5", "1.50", "1e5", "1e-05", "1e+15", "9007199254740993",
     "=1+1", "'=1+1", "''@x", "'", '"', "?",
     "[19:22]", "(A,B,C)", 'say "hi"', "a,b", "a;b", "a|b", "a\tb", "a\nb", "a\r\nb", " a", "a ", "\ufeffx", "NaN", "inf", "null", "true",
     "Zoë", "牛乳", "🐟", "9" * 40, "\\", "a/b", "2020-01-01"]
)  # fmt: skip
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=5)
values = st.just(MISSING) | tricky | texts
numbers = st.just(MISSING) | st.integers(-50, 50).map(str) | st.sampled_from(["0.5", "-2.25", "1e-05", "1e+15", "-0"])
names = tricky | texts
ROLES = st.sampled_from(["quasi", "sensitive", "keep"])


@st.composite
def tables(draw, with_items=None):
    """Small tables: some columns, mostly with sets, whose items may be marked or stand partly in a column of their own."""
    n = draw(st.integers(1, 8))
    with_items = draw(st.booleans()) if with_items is None else with_items
    headers = draw(st.lists(names, unique=True, min_size=2 + (not with_items), max_size=5))
    columns = []
    for header in headers[2:]:
        cells = draw(st.lists(draw(st.sampled_from([values, numbers])), min_size=n, max_size=n))
        columns.append(Column.from_texts(header, draw(ROLES), cells))
    if not with_items:
        return Records(tuple(columns))
    items = Baskets.from_rows(draw(st.lists(st.lists(names, max_size=4), min_size=n, max_size=n)))
    marked = frozenset(draw(st.sets(st.sampled_from(items.vocabulary)))) if items.vocabulary else frozenset()
    return Records(tuple(columns), items, headers[0], marked, draw(st.sampled_from([None, headers[1]])))


def back(path, used, expected):
    """What a reader makes of a written file with the roles of the records, and the right separator."""
    flags_to_read(path, expected, used)
    roles = {role: [c.name for c in expected.of_role(role)] for role in ("quasi", "sensitive", "keep")}
    if expected.items is not None:
        roles |= {"items": [expected.items_name], "sensitive_sets": expected.sensitive_name}
        roles |= {"separator": used.separator} if used.format in ("csv", "tsv") else {}
    return load_records(path, numeric=[c.name for c in expected.columns if c.numbers is not None], **roles)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("trips")


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=40, deadline=None)
@given(records=tables())
@example(records=Records((Column.from_texts("a", "quasi", [MISSING]),)))
@example(records=Records((), Baskets.from_rows([[], ["a"]]), "\ufeffitems"))
@example(records=Records((Column.from_texts("a;\nb", "quasi", ["1"]), Column.from_texts("c", "keep", ["2"]))))
@example(records=Records((), Baskets.from_rows([["a b", "c"], ["x"]]), "i", frozenset(["a b"]), "s"))
@example(records=Records((), Baskets.from_rows([["a;b,c|d"], ["x"]]), "i", frozenset(["a;b,c|d"]), "s"))
def test_what_is_written_comes_back(name, records, folder):
    path = folder / name
    try:
        expected = written_records(records, Layout(name.split(".")[1]))
        settled_layout(records, Layout(name.split(".")[1]))
    except InputError:
        assert "sv" in name
        assert cannot_stand(records)
        with pytest.raises(InputError):
            write(records, path, force=True)
        return
    used = write(records, path, force=True)
    source = back(path, used, expected)
    found = source.records
    assert source.layout.format == used.format
    assert source.layout.compression == used.compression
    if records.sensitive_name is None and records.items is not None:
        found = mark_sensitive(found, sorted(expected.sensitive_items))
    assert same_records(found, expected)
    for one, other in zip(found.columns, expected.columns, strict=True):
        assert one.values == other.values
        assert (one.numbers is None) == (other.numbers is None)
        if one.numbers is not None:
            np.testing.assert_array_equal(one.numbers, other.numbers)
    if used.format not in ("csv", "tsv"):
        assert same_records(found, records)


def cannot_stand(records):
    """Whether CSV has a reason to refuse: a name becomes nothing or another one, or no separator is left."""
    items = records.items.vocabulary if records.items is not None else ()
    bare = [guarded(name.strip()) for name in records.names]
    tokens = [item.strip(" \t\n\v\f\r") for item in items]
    tokens = [f"'{token}" if token and token[0] in "=+-@\t\r" else token for token in tokens]
    if any(len({guarded(value) for value in column.values}) < len(column.values) for column in records.columns):
        return True
    if "" in (*bare, *tokens) or len(set(bare)) < len(bare) or len(set(tokens)) < len(tokens):
        return True
    return all(any(mark in item for item in items) for mark in "|;,\t")


@settings(max_examples=60, deadline=None)
@given(records=tables())
def test_frames_come_back(records):
    roles = {role: [c.name for c in records.of_role(role)] for role in ("quasi", "sensitive", "keep")}
    if records.items is not None:
        roles |= {"items": [records.items_name], "sensitive_sets": records.sensitive_name}
    roles["numeric"] = [c.name for c in records.columns if c.numbers is not None]
    for made in (to_arrow(records), to_polars(records), to_pandas(records), to_arrow(records).to_reader()):
        found = load_records(made, **roles).records
        if records.sensitive_name is None and records.items is not None:
            found = mark_sensitive(found, sorted(records.sensitive_items))
        assert same_records(found, records)


@settings(max_examples=60, deadline=None)
@given(records=tables(), size=st.sampled_from([1, 2, 5]))
def test_blocks_make_no_difference(records, size):
    for form in ("csv", "jsonl", "parquet"):
        try:
            whole = written(records, Layout(form))
        except InputError:
            continue
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(record_module, "_BLOCK", size)
            patch.setattr(record_module, "_OCCURRENCES", size)
            parts = written(records, Layout(form))
        if form == "parquet":
            import pyarrow.parquet

            read = pyarrow.parquet.read_table
            assert read(pa.BufferReader(whole)).equals(read(pa.BufferReader(parts)))
        else:
            assert whole == parts


def written(records, layout):
    out = io.BytesIO()
    write_to(out, records, layout)
    return out.getvalue()


@settings(max_examples=80, deadline=None)
@given(records=tables(with_items=True))
def test_text_equals_that_of_a_naive_writer(records):
    layout = Layout("csv", separator="|")
    plain = "".join((*records.names, *records.items.vocabulary, *(v for c in records.columns for v in c.values)))
    if "|" in plain or any(item != item.strip() for item in records.items.vocabulary) or "\ufeff" in plain:
        return
    try:
        text = written(records, layout).decode()
    except InputError:
        return
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert rows[0] == [guarded(name.strip()) for name in records.names]
    single = len(records.columns)
    sets = [sorted_names(row, records, False) for row in records.items.rows()]
    apart = [sorted_names(row, records, True) for row in records.items.rows()]
    for i, row in enumerate(rows[1:]):
        assert row[:single] == [guarded(column.texts()[i]) for column in records.columns]
        found = [{name for name in cell.split("|") if name} for cell in row[single:]]
        expected = [sets[i], apart[i]] if records.sensitive_name is not None else [sets[i]]
        assert found == [{f"'{name}" if name[0] in "=+-@\t\r" else name for name in held} for held in expected]


def sorted_names(row, records, sensitive):
    """The items of a row for the set column, or for the sensitive one."""
    if records.sensitive_name is None:
        return [] if sensitive else row
    return [name for name in row if (name in records.sensitive_items) == sensitive]


def guarded(cell):
    """What a plain CSV reader sees of a cell: what spreadsheets would run has an apostrophe."""
    number = re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", cell)
    return f"'{cell}" if cell and cell[0] in "=+-@\t\r" and not number else cell


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.tuples(values, values, st.lists(st.text("ab1", min_size=1, max_size=2), max_size=3)), min_size=1, max_size=6
    )
)
def test_text_is_read_as_by_a_naive_reader(rows):
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerows([("x", "y", "items"), *((x, y, "|".join(items)) for x, y, items in rows)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(text.getvalue().encode())))
        found = load_records("-", format="csv", quasi="x,y", items="items", numeric=()).records
    assert found["x"].texts() == [x for x, _, _ in rows]
    assert found["y"].texts() == [y for _, y, _ in rows]
    assert [set(row) for row in found.items.rows()] == [set(items) for *_, items in rows]


json_values = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from([2**63, 1.5, 2.0, 1e300, -0.0, "2020-01-01", "", "a", "7"])
)
json_lists = st.none() | st.lists(st.sampled_from(["a", "b c", 7, 2**70]), max_size=3) | st.just(["", None])


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {}, optional={"x": json_values, "y": json_values, "items": json_lists, "id": json_values}
        ),
        min_size=1,
        max_size=4,
    ),
    st.integers(1, 3),
)
def test_json_read_by_arrow_is_what_is_read_line_by_line(objects, sample):
    text = "".join(json.dumps(one) + "\n" for one in objects)
    columns = {name for one in objects for name in one}
    roles = {"quasi": columns & {"x", "y"}, "items": columns & {"items"}, "drop": columns & {"id"}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jsonl, "_SAMPLE", sample)
        quick = read_or_refused(text, patch, roles)
        patch.setattr(jsonl, "_arrow_fields", lambda *_: None)
        slow = read_or_refused(text, patch, roles)
    assert same_records(quick, slow) if isinstance(quick, Records) else quick == slow


def read_or_refused(text, patch, roles):
    """The records, or what is said instead."""
    patch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
    try:
        return load_records("-", format="jsonl", **{role: sorted(names) for role, names in roles.items()}).records
    except InputError as error:
        return str(error)


def small():
    return Records(
        (
            Column.from_texts("age", "quasi", ["19", "", "[20:24]"]),
            Column.from_texts("zip", "keep", ["00501", "00501", ""]),
            Column.from_texts("visits", "keep", ["3", "12", ""]),
            Column.from_texts("weight", "keep", ["70.5", "81", ""]),
        ),
        Baskets.from_rows([["E", "F", "(A,B)"], [], ["=E", "HIV"]]),
        "bought",
        frozenset(["HIV"]),
        "illness",
    )


def test_cells_are_quoted_and_guarded():
    assert written(small(), Layout("csv")).decode() == (
        'age,zip,visits,weight,bought,illness\n19,00501,3,70.5,"(A,B)|E|F",\n,00501,12,81,,\n[20:24],,,,\'=E,HIV\n'
    )


def test_numbers_stay_numbers_in_json_and_columns():
    lines = [json.loads(line) for line in written(small(), Layout("jsonl")).splitlines()]
    assert lines[0] == {
        "age": "19", "zip": "00501", "visits": 3, "weight": 70.5, "bought": ["(A,B)", "E", "F"], "illness": []
    }  # fmt: skip
    assert lines[2]["visits"] is None
    types = to_arrow(small()).schema.types
    assert types == [pa.string(), pa.string(), pa.int64(), pa.float64(), pa.list_(pa.string()), pa.list_(pa.string())]
    assert to_polars(small()).schema["visits"] == polars.Int64
    assert isinstance(to_pandas(small()), pandas.DataFrame)


def test_the_flags_to_read_are_those_that_are_needed(tmp_path):
    used = write(small(), tmp_path / "x.csv")
    flags = (
        ("quasi", "age"),
        ("keep", "zip,visits,weight"),
        ("items", "bought"),
        ("sensitive", "illness"),
    )
    assert flags_to_read(tmp_path / "x.csv", small(), used) == flags
    odd = Records((Column.from_texts("a,b", "quasi", ["1"]), Column.from_texts("c d", "quasi", ["1"])))
    used = write(odd, tmp_path / "odd.csv")
    assert flags_to_read(tmp_path / "odd.csv", odd, used) == (("quasi", "a,b"), ("quasi", "c d"))


def test_a_file_that_holds_something_else_is_refused(tmp_path):
    path = tmp_path / "x.csv"
    used = write(small(), path)
    path.write_text(path.read_text().replace("[20:24]", "[20:29]"))
    with pytest.raises(ShoalError, match="reads as other"):
        flags_to_read(path, small(), used)
    path.write_text(path.read_text().replace("illness", "ill"))
    with pytest.raises(ShoalError, match="cannot be read again"):
        flags_to_read(path, small(), used)


def test_a_number_spelled_differently_is_not_the_same_file(tmp_path):
    records = Records((Column.from_texts("age", "quasi", ["39"]),))
    path = tmp_path / "x.csv"
    used = write(records, path)
    path.write_text("age\n39.0\n")
    with pytest.raises(ShoalError, match="reads as other"):
        flags_to_read(path, records, used)


def test_formats_without_columns_are_refused(tmp_path):
    with pytest.raises(InputError, match="dat has no columns"):
        write(small(), tmp_path / "x.dat")
    with pytest.raises(InputError, match="long has no columns"):
        write_to(io.BytesIO(), small(), Layout("long"))


def test_the_output_keeps_the_layout_of_the_input(tmp_path):
    (tmp_path / "in.csv").write_text("id;age;items\n1;30;a,b\n2;31;b\n")
    source = load_records(tmp_path / "in.csv", drop="id", quasi="age", items="items")
    assert (source.layout.delimiter, source.layout.separator) == (";", ",")
    write(source.records, tmp_path / "out.csv", layout=source.layout)
    assert (tmp_path / "out.csv").read_text() == "age;items\n30;a,b\n31;b\n"


def test_records_on_standard_output(capfdbinary):
    used = write(small(), "-")
    assert used.format == "csv"
    assert capfdbinary.readouterr().out == written(small(), Layout("csv"))


def test_many_blocks_of_text_are_read_as_one(tmp_path, monkeypatch):
    n = 3000
    records = Records(
        (
            Column.from_texts("n", "keep", map(str, range(n))),
            Column.from_texts("t", "quasi", ("x" * (i % 7) for i in range(n))),
        ),
        Baskets.from_rows([f"i{i % 11}", f"j{i % 13}"] for i in range(n)),
    )
    monkeypatch.setattr(streams, "BLOCK", 1000)
    for name in ("x.csv.gz", "x.tsv", "x.jsonl", "x.jsonl.zst"):
        write(records, tmp_path / name)
        assert same_records(load_records(tmp_path / name, keep="n", quasi="t", items="items").records, records)
