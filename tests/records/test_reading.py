"""Reading well-formed inputs of every kind, and equality with the naive readers."""

import gzip
import hashlib
import io
import json
import os
import random
import subprocess
import sys
import threading
from types import SimpleNamespace

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from pyarrow import parquet

import naive_records
from shoal.records.baskets import Baskets
from shoal.records.layout import Layout
from shoal.records.source import Source, fingerprint, load_sets, read
from shoal.records.storage import streams


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("read")


def put(folder, name, content):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def sets(baskets):
    return [set(row) for row in baskets]


# FIMI and SPMF


def test_fimi_lines_are_transactions_and_blank_lines_are_empty_ones(tmp_path):
    baskets = read(put(tmp_path, "x.dat", "3 1 2\n\n2 2\t1  \n7"))
    assert sets(baskets) == [{"1", "2", "3"}, set(), {"1", "2"}, {"7"}]
    assert baskets.vocabulary == ("1", "2", "3", "7")
    assert (baskets.empty, baskets.duplicates) == (1, 1)


def test_windows_lines_and_a_byte_order_mark_leave_no_trace(tmp_path):
    assert sets(read(put(tmp_path, "x.dat", b"\xef\xbb\xbf1 2\r\n\r\n3\r\n"))) == [{"1", "2"}, set(), {"3"}]


def test_names_that_differ_only_in_zeros_are_two_items(tmp_path):
    assert read(put(tmp_path, "x.dat", "7 007\n")).vocabulary == ("007", "7")


def test_integers_of_any_length_are_names(tmp_path):
    huge = ["9" * 30, "9" * 31, "1" + "0" * 4999, "18446744073709551616", "9223372036854775808"]
    assert set(read(put(tmp_path, "x.dat", " ".join(huge))).vocabulary) == set(huge)


def test_spmf_marks_are_dropped(tmp_path):
    text = "1 -1 2 -1 -2\n-2\n3 -1 -2\n4\n"
    assert sets(read(put(tmp_path, "x.txt", text))) == [{"1", "2"}, set(), {"3"}, {"4"}]


@pytest.mark.parametrize("first", ["-1 5", "5 -1", "5 -2", "-1 -2", "5 -1 -1 -2", "5 -1 6 -2", "-2 5 -1 -2"])
def test_minus_one_and_two_are_items_where_the_first_line_does_not_mark_every_item(tmp_path, first):
    path = put(tmp_path, "x.dat", f"\n{first}\n5 -1\n-2 -1\n")
    assert sets(read(path)) == [set(), set(first.split()), {"-1", "5"}, {"-1", "-2"}]


def test_sequences_of_several_items_are_sets(tmp_path):
    assert sets(read(put(tmp_path, "x.txt", "1 2 -1 3 -1 -2\n"))) == [{"1", "2", "3"}]


def test_spmf_head_gives_ids_their_names(tmp_path):
    text = "@CONVERTED_FROM_TEXT\n@ITEM=1=whole milk\n@ITEM=2=a=b\n@ITEM=-1=|\n# said by hand\n1 -1 2 -1 -2\n2 -1 3 -1 -2\n"
    assert sets(read(put(tmp_path, "x.txt", text))) == [{"whole milk", "a=b"}, {"a=b", "3"}]


def test_comments_are_skipped_anywhere_and_a_hash_without_a_blank_is_an_item(tmp_path):
    assert sets(read(put(tmp_path, "x.dat", "# one\n1 2\n% two\n#3 4\n# last"))) == [{"1", "2"}, {"#3", "4"}]


line = st.text("0179a#%@-é \t", max_size=12)


@settings(max_examples=200, deadline=None)
@given(
    lines=st.lists(line, min_size=1, max_size=15),
    end=st.sampled_from(["\n", "\r\n"]),
    closed=st.booleans(),
    size=st.integers(1, 40),
)
@example(lines=["1 -1 -2", "2 -1 -2"], end="\n", closed=True, size=5)
@example(lines=["@ITEM=1=x", "@ITEM=2=y", "1 2"], end="\n", closed=False, size=3)
def test_fimi_text_reads_as_the_naive_reader_reads_it_whatever_the_block_size(lines, end, closed, size, folder):
    text = (end.join(lines) + (end if closed else "")).encode()
    rows = naive_records.dat_rows(text)
    if not rows:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "BLOCK", size)
        assert read(put(folder, "x.dat", text)) == Baskets.from_rows(rows)


def test_a_mixed_file_over_many_blocks_reads_as_a_naive_reader_reads_it(tmp_path, monkeypatch):
    chance = random.Random(5)

    def number():
        return str(chance.randrange(300))

    def padded():
        return f"0{chance.randrange(30)}"

    def word():
        return f"milk{chance.randrange(40)}"

    phases = [[number], [number, padded], [number, padded, word, lambda: "é" * 30], [word]]
    rows = [[chance.choice(phases[i // 700])() for _ in range(chance.randrange(9))] for i in range(2800)]
    path = put(tmp_path, "x.dat", naive_records.dat_text(rows))
    monkeypatch.setattr(streams, "BLOCK", 1000)
    assert read(path) == Baskets.from_rows(rows)


def test_public_data_have_their_published_size():
    root = os.environ.get("SHOAL_DATA")
    path = f"{root}/t10i4d100k/t10i4d100k.dat.gz"
    if not root or not os.path.exists(path):
        pytest.skip("SHOAL_DATA names no folder with T10I4D100K")
    baskets = read(path)
    assert (len(baskets), len(baskets.vocabulary)) == (100_000, 870)


# CSV and TSV


def test_the_only_column_of_a_csv_holds_the_sets(tmp_path):
    source = load_sets(put(tmp_path, "x.csv", "basket\na b\n\nb\n"))
    assert sets(source.baskets) == [{"a", "b"}, set(), {"b"}]
    assert source.layout == Layout("csv", items="basket")


@pytest.mark.parametrize(
    ("cells", "separator", "expected"),
    [
        ("a b;c | d", None, [{"a b;c", "d"}]),
        ("a b;c", None, [{"a b", "c"}]),
        ('"a b,c"', None, [{"a b", "c"}]),
        ("a b", None, [{"a", "b"}]),
        ("a || b", "||", [{"a", "b"}]),
        ("a||b", "|", [{"a", "b"}]),
        ("a|b", " ", [{"a|b"}]),
    ],
)
def test_the_separator_inside_cells_is_given_or_guessed(cells, separator, expected, tmp_path):
    assert sets(read(put(tmp_path, "x.csv", f"items\n{cells}\n"), separator=separator)) == expected


def test_cells_of_one_item_each_leave_the_separator_open(monkeypatch, tmp_path):
    monkeypatch.setattr(streams, "BLOCK", 20)
    (tmp_path / "x.csv").write_text("items\n" + "a\n" * 20 + "a|b c\n")
    assert sets(read(tmp_path / "x.csv"))[-1] == {"a", "b c"}
    chunks = [pa.array([], pa.string()), pa.array([None, "a"]), pa.array(["a;b c"])]
    assert sets(read(pa.chunked_array(chunks)))[-1] == {"a", "b c"}


def test_nothing_is_guessed_about_types(tmp_path):
    baskets = read(put(tmp_path, "x.csv", "items\n007 7\nNaN null\ntrue 1.0\n"))
    assert sets(baskets) == [{"007", "7"}, {"NaN", "null"}, {"true", "1.0"}]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_quotes_line_breaks_and_any_delimiter_are_read(delimiter, tmp_path):
    rows = [("age", "items"), ("4", '"a|b,c;d"'), ("5", '"say ""x""|two\nlines"'), ("6", ""), ('"7"', "b")]
    source = load_sets(put(tmp_path, "x.csv", "".join(f"{delimiter.join(row)}\r\n" for row in rows)), drop=["age"])
    assert sets(source.baskets) == [{"a", "b,c;d"}, {'say "x"', "two\nlines"}, set(), {"b"}]
    assert source.layout == Layout("csv", separator="|", delimiter=delimiter)


def test_a_delimiter_inside_a_quoted_header_is_not_counted(tmp_path):
    assert sets(read(put(tmp_path, "x.csv", '"a,b,c";items\n1;x y\n'), drop="a,b,c")) == [{"x", "y"}]


def test_an_apostrophe_is_a_character(tmp_path):
    cells = ["'=1+1", "=1+1", "''=x", "'tis", "-5", "'-5"]
    assert sets(read(put(tmp_path, "x.csv", "items\n" + "".join(f"{cell}\n" for cell in cells)))) == [
        {cell} for cell in cells
    ]


def test_columns_are_chosen_by_name(tmp_path):
    path = put(tmp_path, "x.csv", "id, codes,age\n1,a b,30\n2,c,40\n")
    source = load_sets(path, items="codes", drop=("id", "age"))
    assert sets(source.baskets) == [{"a", "b"}, {"c"}]
    assert source.layout.items == "codes"


def test_columns_without_a_name_and_names_with_commas_can_be_dropped(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(',items,"Age, years",b,c\n0,x y,30,1,2\n')
    assert sets(read(path, drop=["", "Age, years", "b, c"])) == [{"x", "y"}]
    (tmp_path / "x.jsonl").write_text('{"items": ["x"], "a,b": 1}\n{"items": ["y"], "c": 1, "d": 2}\n')
    assert sets(read(tmp_path / "x.jsonl", drop=["a,b", "c,d"])) == [{"x"}, {"y"}]


def test_a_csv_row_may_be_longer_than_a_block(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "BLOCK", 100)
    rows = [["a"], [str(i) for i in range(500)], ["b"]]
    text = naive_records.csv_text(rows, " ")
    assert read(put(tmp_path, "x.csv", text)) == Baskets.from_rows(naive_records.csv_rows(text, "items", " "))


cell = st.text("ab7 |\"',=-\n", max_size=8)


@settings(max_examples=100, deadline=None)
@given(cells=st.lists(cell, min_size=1, max_size=10))
def test_csv_reads_as_the_naive_reader_reads_it(cells, folder):
    quoted = ['"' + text.replace('"', '""') + '"' for text in cells]
    text = "n,items\n" + "".join(f"{i},{cell}\n" for i, cell in enumerate(quoted))
    baskets = read(put(folder, "x.csv", text), separator="|", drop="n")
    assert baskets == Baskets.from_rows(naive_records.csv_rows(text.encode(), "items", "|"))


# Long tables


def test_rows_of_a_long_table_are_grouped_in_order_of_first_appearance(tmp_path):
    path = put(tmp_path, "x.csv", "visit,code\n9,whole milk\n4,b\n9,a\n7,\n4,b\n7,\n4,\n")
    source = load_sets(path, id="visit")
    assert list(source.baskets) == [{"whole milk", "a"}, {"b"}, set()]
    assert source.baskets.duplicates == 1
    assert source.layout == Layout("long", items="code", id="visit")


@pytest.mark.parametrize("column", ["item", "items"])
def test_a_long_table_with_more_columns_takes_the_one_called_item(column, tmp_path):
    path = put(tmp_path, "x.tsv", f"id\t{column}\tprice\n1\ta\t3\n1\tb\t4\n")
    assert sets(read(path, id="id", drop="price")) == [{"a", "b"}]


@settings(max_examples=100, deadline=None)
@given(
    pairs=st.lists(st.tuples(st.integers(1, 6), st.sampled_from(["", "a", "b", "c d", "=x"])), min_size=1, max_size=30)
)
def test_long_tables_read_as_the_naive_reader_reads_them(pairs, folder):
    text = "id,item\n" + "".join(f"{id},{item}\n" for id, item in pairs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "BLOCK", 20)
        baskets = read(put(folder, "x.csv", text), id="id")
    assert baskets == Baskets.from_rows(naive_records.long_rows(text.encode(), "id", "item"))


# JSON lines


def test_json_lines_are_lists_or_objects(tmp_path):
    bare = load_sets(put(tmp_path, "x.jsonl", '["a", 7]\n[]\n\nnull\n[-0, 0]\n'))
    assert sets(bare.baskets) == [{"a", "7"}, set(), set(), {"0", "-0"}]
    assert bare.layout == Layout("jsonl", items="")
    named = load_sets(
        put(tmp_path, "y.jsonl", '{"id": 1, "items": ["b"]}\r\n{"items": null, "id": 2}\r\n{"id": 3}\r\n'),
        drop="id",
    )
    assert sets(named.baskets) == [{"b"}, set(), set()]
    assert named.layout == Layout("jsonl")


def test_integers_in_json_are_exact_whatever_their_length(tmp_path):
    numbers = ["9007199254740993", "-9223372036854775808", "9" * 5000]
    assert set(read(put(tmp_path, "x.jsonl", f"[{', '.join(numbers)}]")).vocabulary) == set(numbers)


def test_texts_in_json_are_not_taken_for_dates_or_numbers(tmp_path):
    assert set(read(put(tmp_path, "x.jsonl", '["2020-01-01", "007", "\\u00e9\\ud83d\\ude00"]')).vocabulary) == {
        "2020-01-01",
        "007",
        "é😀",
    }


item = st.integers(-(10**20), 10**20) | st.text('a"\\é\n7', min_size=1, max_size=4)


@settings(max_examples=100, deadline=None)
@given(
    rows=st.lists(st.lists(item, max_size=4) | st.none(), min_size=1, max_size=8),
    named=st.booleans(),
    size=st.integers(1, 60),
)
def test_json_lines_read_as_the_naive_reader_reads_them(rows, named, size, folder):
    text = "".join(json.dumps({"items": row} if named else row) + "\n" for row in rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "BLOCK", size)
        assert read(put(folder, "x.jsonl", text)) == Baskets.from_rows(naive_records.jsonl_rows(text.encode()))


# Parquet and Arrow

LISTS = [["a", "b"], None, [], ["b"]]
EXPECTED = [{"a", "b"}, set(), set(), {"b"}]


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.string()),
        pa.large_list(pa.large_string()),
        pa.list_(pa.dictionary(pa.int8(), pa.string())),
        pa.large_list(pa.string_view()),
    ],
    ids=str,
)
@pytest.mark.parametrize("form", ["parquet", "arrow", "stream"])
def test_list_columns_of_any_text_are_sets(kind, form, tmp_path):
    table = pa.table({"n": range(4), "items": pa.array(LISTS, kind)})
    path = tmp_path / f"x.{'parquet' if form == 'parquet' else 'arrow'}"
    if form == "parquet":
        parquet.write_table(table, path, row_group_size=2)
    else:
        make = pa.ipc.new_file if form == "arrow" else pa.ipc.new_stream
        with make(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=3)
    source = load_sets(path, drop="n")
    assert sets(source.baskets) == EXPECTED
    assert source.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


def test_whole_numbers_and_separated_text_in_parquet_are_sets_too(tmp_path):
    parquet.write_table(pa.table({"n": pa.array([[1, 2**63 - 1], [7]]), "t": ["a|b", None]}), tmp_path / "x.parquet")
    assert sets(read(tmp_path / "x.parquet", items="n", drop="t")) == [{"1", str(2**63 - 1)}, {"7"}]
    assert sets(read(tmp_path / "x.parquet", items="t", drop="n")) == [{"a", "b"}, set()]


def test_slices_of_lists_and_missing_lists_over_values_are_read_right():
    lists = pa.ListArray.from_arrays(
        pa.array([0, 2, 3, 5]), pa.array(["a", "b", "x", "c", "d"]), mask=pa.array([False, True, False])
    )
    assert sets(read(lists)) == [{"a", "b"}, set(), {"c", "d"}]
    assert sets(read(lists.slice(1))) == [set(), {"c", "d"}]
    assert sets(read(pa.array([["a", "b"], None], pa.list_(pa.string(), 2)))) == [{"a", "b"}, set()]


# Python objects


class Stream:
    """Something that speaks Arrow and nothing else."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


TABLE = pa.table({"items": pa.array(LISTS)})


@pytest.mark.parametrize(
    "data",
    [
        TABLE,
        TABLE.to_reader(),
        TABLE.to_batches()[0],
        TABLE.column("items"),
        pa.array(LISTS),
        Stream(TABLE),
        pl.DataFrame({"items": LISTS}),
        pl.Series(LISTS),
        pl.DataFrame({"items": LISTS}, schema={"items": pl.List(pl.Categorical)}),
        pd.DataFrame({"items": LISTS}),
        pd.Series(LISTS),
        pd.Series([{"a", "b"}, float("nan"), (), np.array(["b"])]),
        pd.Series(pd.array(LISTS, dtype=pd.ArrowDtype(pa.list_(pa.string())))),
        pd.DataFrame({"items": ["a b", None, "", "b"]}),
        pd.Series(["a|b", None, "", "b"], dtype=object),
        pl.DataFrame({"items": ["a;b", None, "", "b"]}),
        pl.DataFrame({"items": ["a;b", None, "", "b"]}, schema={"items": pl.Categorical}),
        pl.DataFrame({"items": ["a b", None, "", "b"]}, schema={"items": pl.Enum(["", "b", "a b"])}),
        [["a", "b"], None, [], {"b"}],
        iter([("a", "b"), [], [], ["b", "b"]]),
        np.array([["a", "b"], ["a", "b"]])[:1],
    ],
    ids=lambda data: type(data).__name__,
)
def test_frames_arrow_data_and_rows_are_read(data):
    source = load_sets(data)
    assert sets(source.baskets) == EXPECTED[: len(source.baskets)]
    assert source.layout.format == "arrow"
    assert source.sha256 == fingerprint(source.baskets)


def test_integers_of_any_make_become_their_decimal_text():
    assert sets(read([[1, np.int64(2), "3"], [10**30]])) == [{"1", "2", "3"}, {str(10**30)}]
    assert sets(read(pl.DataFrame({"items": [[1, 2], [3]]}))) == [{"1", "2"}, {"3"}]
    assert sets(read(pd.DataFrame({"items": [[1, "a"], [3]]}))) == [{"1", "a"}, {"3"}]


def test_long_frames_are_grouped_by_id():
    pairs = {"id": [3, 1, 3], "code": ["a", "a", "b"]}
    assert list(read(pd.DataFrame(pairs), id="id")) == [{"a", "b"}, {"a"}]
    assert list(read(pl.DataFrame(pairs), id="id")) == [{"a", "b"}, {"a"}]
    assert list(read(pd.DataFrame({"id": ["x", "x"], "code": [5, None]}).astype({"code": "Int64"}), id="id")) == [{"5"}]


def test_categories_are_ids_and_items_too():
    frame = pl.DataFrame({"id": ["x", "y", "x"], "item": ["a", "a", "b"]})
    frame = frame.cast({"id": pl.Categorical, "item": pl.Enum(["a", "b"])})
    assert sets(read(frame, id="id")) == [{"a", "b"}, {"a"}]


def test_baskets_pass_through():
    baskets = Baskets.from_rows([["a"]])
    assert read(baskets) is baskets


# Compression, standard input, hashes


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_packed_files_are_known_by_their_first_bytes_and_may_have_several_members(codec, tmp_path):
    first, second = (
        gzip.compress(part) if codec == "gzip" else pa.compress(part, codec, asbytes=True)
        for part in (b"1 2\n3", b" 4\n")
    )
    source = load_sets(put(tmp_path, "x.dat", first + second))
    assert sets(source.baskets) == [{"1", "2"}, {"3", "4"}]
    assert source.layout.compression == {"gzip": "gz", "zstd": "zst"}[codec]
    assert source.sha256 == hashlib.sha256(first + second).hexdigest()


def test_a_hash_is_that_of_the_raw_bytes(tmp_path):
    path = put(tmp_path, "x.dat", "1 2\n3\n")
    source = load_sets(path)
    assert source.baskets == read(path)
    assert source == Source("x.dat", source.records, hashlib.sha256(b"1 2\n3\n").hexdigest(), Layout("dat"))
    assert fingerprint(path) == load_sets(path).sha256


def test_the_hash_of_baskets_tells_rows_names_and_items_apart():
    rows = [[["a", "b"]], [["a"], ["b"]], [["a", "c"]], [["a"], ["a"]], [["a\0b"]], [["a", "b"], []]]
    assert len({fingerprint(Baskets.from_rows(each)) for each in rows}) == len(rows)
    assert fingerprint(Baskets.from_rows([["b", "a"]])) == fingerprint(Baskets.from_rows([["a", "b", "a"]]))


def test_standard_input_is_fimi_text_unless_told_otherwise(monkeypatch):
    def feed(data):
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))

    feed(b"1 2\n")
    source = load_sets("-")
    assert (sets(source.baskets), source.name, source.sha256) == (
        [{"1", "2"}],
        "standard input",
        hashlib.sha256(b"1 2\n").hexdigest(),
    )
    feed(gzip.compress(b"items\na b\n"))
    assert sets(read("-", format="csv")) == [{"a", "b"}]
    whole = io.BytesIO()
    parquet.write_table(TABLE, whole)
    feed(whole.getvalue())
    source = load_sets("-")
    assert sets(source.baskets) == EXPECTED
    assert source.sha256 == hashlib.sha256(whole.getvalue()).hexdigest()


def test_a_real_pipe_carries_any_format_in_and_out(tmp_path):
    script = "import shoal; shoal.write(shoal.read('-', format='jsonl'), '-')"
    done = subprocess.run([sys.executable, "-c", script], input=b'["b", "a"]\n', capture_output=True, check=True)
    assert done.stdout == b"a b\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe_is_read_once(tmp_path):
    path = tmp_path / "pipe.dat"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(b"1 2\n",))
    writer.start()
    assert sets(read(path)) == [{"1", "2"}]
    writer.join()


def test_the_first_block_is_as_large_as_the_others(tmp_path):
    with streams.Input(put(tmp_path, "x.dat", "1\n" * 100)) as opened:
        assert [len(block.data) for block in opened.text_blocks()] == [200]
