"""What is written comes back, in every format and compression, whatever the names are."""

import io
import re

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given, settings

import naive_records
from shoal.errors import InputError
from shoal.records import records as record_module
from shoal.records.baskets import Baskets
from shoal.records.formats import delimited
from shoal.records.formats.frames import to_arrow, to_pandas, to_polars
from shoal.records.layout import Layout
from shoal.records.source import load_sets, read
from shoal.records.storage import streams
from shoal.records.writing import with_separator, write, write_to, written_tokens

BLANKS = " \t\n\v\f\r"
FILES = [
    *(f"x.{form}{packed}" for form in ("dat", "csv", "tsv", "jsonl") for packed in ("", ".gz", ".zst")),
    "x.parquet",
    "x.arrow",
]

tricky = st.sampled_from(
    ["7", "007", "-1", "-2", "0", "-5", "+3.5", "=1+1", "'=1+1", "''@x", "@ITEM=1=2", "#", "%", "# a", "whole milk", 'say "hi"', "a,b",
     "a;b", "a|b", "a\tb", "a\nb", "a\r\nb", "'", '"', "\ufeffx", "NaN", "null", "Zoë", "牛乳", "🐟", "9" * 40, "1e5", "[1-5]", "\\", "a/b"]
)  # fmt: skip
names = tricky | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6)
rows = st.lists(st.lists(names, max_size=5), min_size=1, max_size=12)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("trips")


@pytest.mark.parametrize("name", [*FILES, "long.csv", "long.tsv.gz"])
@settings(max_examples=25, deadline=None)
@given(rows=rows)
@example(rows=[[]])
@example(rows=[[], ["a"], []])
@example(rows=[["#", "b"], ["@ITEM=1=2"], ["\ufeffx", "%"]])
@example(rows=[["'", "x"], ["=1+1", "-2"], ["-5"], ["-5", "-6"], ["'-5"]])
def test_names_survive_every_format(name, rows, folder):
    baskets = Baskets.from_rows(rows)
    path, layout = folder / name, Layout("long", id="id") if name.startswith("long") else None
    if names_cannot_stand(baskets.vocabulary, name):
        with pytest.raises(InputError):
            write(baskets, path, layout=layout, force=True)
        return
    used = write(baskets, path, layout=layout, force=True)
    source = load_sets(path, separator=used.separator if used.format in ("csv", "tsv") else None, id=used.id)
    assert source.layout == used
    assert source.baskets == as_written(baskets, used)
    if used.format in ("jsonl", "parquet", "arrow"):
        assert source.baskets == baskets


def as_written(baskets, layout):
    """The baskets with every name as the layout writes it."""
    tokens = dict(zip(baskets.vocabulary, written_tokens(baskets.vocabulary, layout), strict=True))
    return Baskets.from_rows([tokens[name] for name in row] for row in baskets.rows())


def with_apostrophe(name, *, alone):
    """A name as spreadsheets do not run it; a number is none that they run if it stands alone."""
    number = alone and re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", name)
    return f"'{name}" if name[:1] and name[0] in "=+-@\t\r" and not number else name


def names_cannot_stand(vocabulary, file):
    """Whether there is a reason to refuse these names: two become one, one becomes none, or no separator is left."""
    if ".dat" in file:
        forms = [re.sub(f"[{BLANKS}]", "_", name) for name in vocabulary]
        return len(set(forms)) < len(forms) or not {"-1", "-2"}.isdisjoint(forms)
    if "sv" not in file:
        return False
    forms = [with_apostrophe(name.strip(BLANKS), alone=file.startswith("long")) for name in vocabulary]
    crowded = all(any(mark in form for form in forms) for mark in "|;,\t") and not file.startswith("long")
    return len(set(forms)) < len(forms) or "" in forms or crowded


@settings(max_examples=50, deadline=None)
@given(rows=rows)
def test_python_objects_come_back(rows):
    baskets = Baskets.from_rows(rows)
    for made in (
        to_arrow(baskets, "x"),
        to_polars(baskets, "x"),
        to_pandas(baskets, "x"),
        list(baskets.rows()),
        iter(baskets),
    ):
        assert read(made) == baskets


plain = st.text("abc01-=+'\"", min_size=1, max_size=4).filter(
    lambda name: name not in ("-1", "-2") and not re.match(r"'[-=+]", name)
)


@settings(max_examples=50, deadline=None)
@given(rows=st.lists(st.lists(plain, max_size=4), min_size=1, max_size=10))
@pytest.mark.parametrize("size", [1, 3, 1 << 20])
def test_text_equals_that_of_a_naive_writer(rows, size):
    baskets = Baskets.from_rows(rows)
    named = list(baskets.rows())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_module, "_OCCURRENCES", size)
        for layout, text in [
            (Layout("dat"), naive_records.dat_text(named)),
            (Layout("csv"), naive_records.csv_text(named, " ")),
            (Layout("csv", separator=","), naive_records.csv_text(named, ",")),
            (Layout("tsv", separator="|"), naive_records.csv_text(named, "|", "\t")),
            (Layout("jsonl"), naive_records.jsonl_text(named)),
        ]:
            out = io.BytesIO()
            write_to(out, baskets, layout)
            assert out.getvalue() == text


def test_fimi_text_writes_blanks_as_underscores():
    assert written_tokens(("whole milk", "a\tb"), Layout("dat")) == ("whole_milk", "a_b")


def test_two_names_that_fimi_text_cannot_tell_apart_are_refused(tmp_path):
    baskets = Baskets.from_rows([["whole milk", "whole_milk"]])
    with pytest.raises(InputError, match=r"^x\.dat: two items would both be .*\.csv, \.jsonl or \.parquet"):
        write(baskets, tmp_path / "x.dat")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["-1", "-2", "a\0b"])
def test_a_name_that_fimi_text_would_take_for_something_else_is_refused(name, tmp_path):
    with pytest.raises(InputError, match=r"^x\.dat: an item cannot stand in dat text"):
        write(Baskets.from_rows([[name]]), tmp_path / "x.dat")


@pytest.mark.parametrize(
    ("names", "asked", "used"),
    [
        (["a", "b"], " ", " "),
        (["whole milk"], " ", "|"),
        (["whole milk", "a|b"], " ", ";"),
        (["a b", "a|b", "a;b"], " ", ","),
        (["a b", "a|b", "a;b", "a,b"], " ", "\t"),
        (["a/b"], "/", "|"),
        (["a b"], "/", "/"),
        (["a,b"], " ", "|"),  # a reader that is not told would cut at the comma
        (["a|"], "||", ";"),  # a||| is cut one character too early
    ],
)
def test_a_separator_that_occurs_in_names_is_replaced(names, asked, used):
    assert with_separator(names, Layout("csv", separator=asked)).separator == used


def test_names_that_leave_no_separator_are_refused():
    with pytest.raises(InputError, match=r"write \.jsonl or \.parquet"):
        with_separator(["a b", "a|b", "a;b", "a,b", "a\tb"], Layout("csv"))


guessable = st.lists(st.sampled_from(["a", "b", "whole milk", "a,b", "x;y", "=1+1", "-5", 'say "hi"']), max_size=3)


@settings(max_examples=150, deadline=None)
@given(rows=st.lists(guessable, min_size=1, max_size=8), separator=st.sampled_from([" ", ",", ";", "|"]))
@example(rows=[["whole store"]] * 3, separator=" ")
@example(rows=[[], ["-5"], ["whole milk"]], separator=";")
@pytest.mark.parametrize("name", ["x.csv", "x.tsv"])
def test_a_reader_who_is_not_told_the_separator_finds_it(name, rows, separator, folder):
    baskets = Baskets.from_rows(rows)
    write(baskets, folder / name, layout=Layout(name[2:], separator=separator), force=True)
    assert read(folder / name) == as_written(baskets, Layout(name[2:]))


def test_only_a_first_row_that_would_mislead_ends_in_the_separator(tmp_path):
    def text(rows):
        write(Baskets.from_rows(rows), tmp_path / "x.csv", force=True)
        return (tmp_path / "x.csv").read_text()

    assert text([[], ["whole store"], ["whole store"]]) == 'items\n""\nwhole store|\nwhole store\n'
    assert text([["whole store"], ["whole store", "b"]]) == "items\nwhole store\nb|whole store\n"
    assert text([["a"], ["b"]]) == "items\na\nb\n"


def test_the_separator_is_shown_where_the_reader_looks_for_it(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "BLOCK", 64)
    monkeypatch.setattr(streams, "BLOCK", 64)
    baskets = Baskets.from_rows([["whole milk"]] * 20 + [["a b", "whole milk"]])
    write(baskets, tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text().startswith("items\nwhole milk|\n")
    assert read(tmp_path / "x.csv") == baskets


def test_a_header_that_holds_a_delimiter_is_quoted(tmp_path):
    baskets = Baskets.from_rows([["a", "b"]])
    for column in ("x;y", "x\ty", "x,y"):
        for layout in (Layout("csv", column), Layout("long", column, id="p;q")):
            write(baskets, tmp_path / "x.csv", layout=layout, force=True)
            assert read(tmp_path / "x.csv", id=layout.id) == baskets


def test_a_release_that_cannot_be_written_names_the_file(tmp_path):
    for name in ("x.dat", "x.csv"):
        with pytest.raises(InputError, match=rf"^{name}: an item cannot stand"):
            write(Baskets.from_rows([["a\0b"]]), tmp_path / name)
    with pytest.raises(InputError, match=r"^x\.csv: items can be separated neither"):
        write(Baskets.from_rows([["a b", "a|b", "a;b", "a,b", "a\tb"]]), tmp_path / "x.csv")
    assert list(tmp_path.iterdir()) == []


def test_what_spreadsheets_would_run_has_an_apostrophe_wherever_it_stands(tmp_path):
    baskets = Baskets.from_rows([["=1+1"], ["-5"], ["*", "+x"], ["-5", "-6"], ["@a"], ["'=b"], ["+3.5e7"], ["a-b"]])
    write(baskets, tmp_path / "x.csv")
    lines = (tmp_path / "x.csv").read_text().splitlines()
    assert sorted(lines[1:]) == sorted(["'=1+1", "'-5", "* '+x", "'-5 '-6", "'@a", "'=b", "'+3.5e7", "a-b"])
    assert set(read(tmp_path / "x.csv").vocabulary) == {
        "'=1+1",
        "'-5",
        "'-6",
        "*",
        "'+x",
        "'@a",
        "'=b",
        "'+3.5e7",
        "a-b",
    }
    write(baskets, tmp_path / "long.csv", layout=Layout("long", id="id"))
    long = (tmp_path / "long.csv").read_text()
    assert "\n2,-5\n" in long  # a number that stands by itself is none that anything is run for
    assert "\n1,'=1+1\n" in long


def test_names_that_differ_in_that_apostrophe_alone_are_refused(tmp_path):
    for name in ("x.csv", "x.tsv"):
        with pytest.raises(InputError, match="would both be written as"):
            write(Baskets.from_rows([["=a"], ["'=a"]]), tmp_path / name)
    write(Baskets.from_rows([["=a"], ["'=a"]]), tmp_path / "x.jsonl")
    assert set(read(tmp_path / "x.jsonl").vocabulary) == {"=a", "'=a"}


def test_the_same_baskets_give_the_same_packed_bytes_without_name_or_time(tmp_path):
    baskets = Baskets.from_rows([["a", "b"], ["c"]])
    for name in ("x.dat.gz", "y.dat.gz"):
        write(baskets, tmp_path / name)
    first, second = ((tmp_path / name).read_bytes() for name in ("x.dat.gz", "y.dat.gz"))
    assert first == second
    assert first[3:8] == bytes(5), "no flags, so no file name; time 0"


def test_long_tables_count_their_rows_and_keep_empty_ones(tmp_path):
    baskets = Baskets.from_rows([["a", "b"], [], ["b"]])
    write(baskets, tmp_path / "x.csv", layout=Layout("long", items="code", id="patient"))
    assert (tmp_path / "x.csv").read_text() == "patient,code\n1,a\n1,b\n2,\n3,b\n"


def test_a_million_items_in_one_row_survive(tmp_path, monkeypatch):
    n = 1_000_000
    baskets = Baskets(
        np.array([0, n, n, n + 1]), np.append(np.arange(n, dtype=np.int32), np.int32(7)), tuple(map(str, range(n)))
    )
    monkeypatch.setattr("shoal.records.storage.streams.BLOCK", 1 << 16)
    for name in ("x.dat", "x.csv.zst"):
        write(baskets, tmp_path / name)
        assert read(tmp_path / name) == baskets


def test_standard_output_takes_the_format_of_the_layout(capfdbinary):
    baskets = Baskets.from_rows([["b", "a"], []])
    write(baskets, "-", layout=Layout("jsonl", compression="gz"))
    write(baskets, "-")
    assert capfdbinary.readouterr().out == b'{"items": ["a", "b"]}\n{"items": []}\na b\n\n'
