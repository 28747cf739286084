"""Inputs that cannot be read are refused in one sentence that names the file, the place and the remedy."""

import gzip
import io
import os
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from shoal.errors import InputError
from shoal.records.source import load_sets, read
from shoal.records.storage import streams


def refusal(source, **options):
    with pytest.raises(InputError) as caught:
        read(source, **options)
    sentence = str(caught.value)
    assert "\n" not in sentence
    return sentence


def refused(tmp_path, name, content, **options):
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    sentence = refusal(path, **options)
    assert sentence.startswith(name)
    return sentence


# Files as such


def test_an_empty_path_is_shown_as_one():
    assert refusal("").startswith("'': there is no such file")


def test_closed_standard_input_is_refused(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert "standard input is closed" in refusal("-")


def test_lines_that_end_in_a_carriage_return_alone_are_not_run_together(tmp_path):
    assert "save it with line feeds" in refused(tmp_path, "x.dat", "a b\rc\r")
    (tmp_path / "one.dat").write_text("a b\r\n", newline="")
    assert len(read(tmp_path / "one.dat")) == 1


def test_a_missing_file_is_named_with_its_path(tmp_path):
    path = tmp_path / "nothing.dat"
    assert refusal(path) == f"nothing.dat: there is no such file; check the path {str(path)!r}"


def test_a_folder_is_not_a_file(tmp_path):
    assert refusal(tmp_path, format="dat") == f"{tmp_path.name}: it is a folder; name a file in it"


def test_a_file_without_the_right_to_read_it_is_refused(tmp_path, monkeypatch):
    def forbid(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", forbid)
    assert "may not be read" in refusal(tmp_path / "x.dat")


def test_a_disk_that_fails_is_said_to_fail(monkeypatch):
    def fail(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=SimpleNamespace(read=fail)))
    assert refusal("-") == "standard input: it cannot be read (Input/output error); check the disk or the connection"


@pytest.mark.parametrize("name", ["x.dat", "x.csv", "x.tsv", "x.jsonl", "x.dat.gz"])
def test_an_empty_file_has_no_transactions(name, tmp_path):
    assert "has no transactions" in refused(tmp_path, name, b"")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.csv", "items\n"),
        ("x.csv", "items"),
        ("x.jsonl", "\n\n"),
        ("x.dat", "# nothing\n"),
        ("x.txt", "@CONVERTED_FROM_TEXT\n@ITEM=1=a\n"),
        ("x.dat.gz", gzip.compress(b"", mtime=0)),
    ],
)
def test_a_file_with_a_head_alone_has_no_transactions(name, content, tmp_path):
    assert "has no transactions" in refused(tmp_path, name, content)


def test_a_name_that_tells_no_format_asks_for_one(tmp_path):
    assert "pass format=" in refused(tmp_path, "x.data", "1 2\n")


def test_an_unknown_format_is_refused(tmp_path):
    assert "'xml' is not known" in refusal(tmp_path / "x.dat", format="xml")


@pytest.mark.parametrize("name", ["x.dat", "x.csv", "x.jsonl"])
def test_a_byte_that_is_not_utf8_is_named_with_its_line(name, tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "BLOCK", 16)
    lines = {"x.dat": b"1 2\n", "x.csv": b"items\n", "x.jsonl": b'["a"]\n'}[name] + b"[1]\n" * 9
    sentence = refused(tmp_path, name, lines + b"caf\xe9\n")
    assert f"line 11 is not UTF-8 (byte 0xE9 at {len(lines) + 3} of the file)" in sentence
    assert "save the file as UTF-8" in sentence


@pytest.mark.parametrize("name", ["x.dat", "x.csv", "x.jsonl"])
def test_utf16_is_recognised(name, tmp_path):
    assert "UTF-16" in refused(tmp_path, name, "items\n1 2\n".encode("utf-16"))


@pytest.mark.parametrize("name", ["x.dat", "x.csv", "x.jsonl"])
def test_a_nul_byte_is_named_with_its_line(name, tmp_path):
    assert "line 2 holds a NUL byte (byte 7 of the file)" in refused(tmp_path, name, b"items\n1\0002\n")


@pytest.mark.parametrize("codec", ["gz", "zst"])
@pytest.mark.parametrize("damage", ["cut", "flipped", "not packed", "garbage behind"])
def test_damaged_packed_files_are_refused(codec, damage, tmp_path):
    text = b"".join(b"%d %d\n" % (i, i * 7919) for i in range(3000))
    packed = bytearray(gzip.compress(text) if codec == "gz" else pa.compress(text, "zstd", asbytes=True))
    if damage == "cut":
        del packed[-40:]
    elif damage == "flipped":
        packed[len(packed) // 2 :] = b"\xff" * (len(packed) - len(packed) // 2)
    elif damage == "not packed":
        packed[:] = text
    else:
        packed += b"garbage"
    assert "copy or download it again" in refused(tmp_path, f"x.dat.{codec}", bytes(packed))


# FIMI and SPMF


def test_text_after_the_end_mark_is_named_with_its_line(tmp_path):
    text = "@CONVERTED_FROM_TEXT\n@ITEM=1=a\n1 -1 -2\n# comment\n\n2 -1 -2 3 -1 -2\n"
    assert "line 6 goes on after -2" in refused(tmp_path, "x.txt", text)


def test_text_after_the_end_mark_is_found_in_later_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "BLOCK", 10)
    assert "line 21 " in refused(tmp_path, "x.txt", "1 -1 -2\n" * 20 + "2 -2 3\n")


@pytest.mark.parametrize("entry", ["@ITEM=5", "@ITEM=5=", "@ITEM==a"])
def test_a_broken_head_line_is_named(entry, tmp_path):
    assert "line 2 is not of the form @ITEM=id=name" in refused(
        tmp_path, "x.txt", f"@CONVERTED_FROM_TEXT\n{entry}\n1\n"
    )


def test_two_ids_may_not_share_a_name(tmp_path):
    assert "two items have the same name" in refused(tmp_path, "x.txt", "@ITEM=1=milk\n@ITEM=2=milk\n1 2\n")


@pytest.mark.parametrize("option", [{"items": "a"}, {"id": "a"}, {"separator": ","}, {"drop": "a"}])
def test_fimi_text_has_no_columns_to_choose(option, tmp_path):
    assert f"leave out {next(iter(option))}" in refused(tmp_path, "x.dat", "1 2\n", **option)


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.jsonl", "x.dat"])
def test_a_byte_order_mark_alone_is_an_empty_file(tmp_path, name):
    assert "has no transactions" in refused(tmp_path, name, b"\xef\xbb\xbf")


# Columns


def test_a_column_without_a_role_stops_the_run(tmp_path):
    assert refused(tmp_path, "x.csv", "age,items\n1,a\n") == "x.csv: column 'age' has no role; pass drop='age'"


def test_all_columns_without_a_role_are_listed_at_once(tmp_path):
    sentence = refused(tmp_path, "x.csv", "age,home town,items\n1,x,a\n")
    assert sentence == "x.csv: columns 'age', 'home town' have no role; pass drop='age' drop='home town'"


def test_doubt_about_the_set_column_lists_the_columns(tmp_path):
    assert "which of its 2 columns holds the items? pass items=" in refused(tmp_path, "x.csv", "a,b\n1,2\n")


@pytest.mark.parametrize("option", [{"items": "codes"}, {"drop": "codes"}, {"id": "codes"}])
def test_a_column_that_is_not_there_is_named_with_those_that_are(option, tmp_path):
    sentence = refused(tmp_path, "x.csv", "age,items\n1,a\n", **option)
    assert f"no column 'codes' for {next(iter(option))}=; its columns are 'age', 'items'" in sentence


def test_a_column_has_one_role(tmp_path):
    assert "'items' has two roles" in refused(tmp_path, "x.csv", "items,n\na,1\n", items="items", drop="items")


def test_two_columns_of_one_name_are_refused(tmp_path):
    assert "columns 1 and 2 have the same name" in refused(tmp_path, "x.csv", "a,a\n1,2\n")


def test_a_blank_header_is_refused(tmp_path):
    assert "line 1 is blank" in refused(tmp_path, "x.csv", "\nitems\na\n")


# CSV


@pytest.mark.parametrize(
    "content",
    ["milk bread\nmilk\nbread eggs\n", "1 2 3\n4 5\n", "a|b\nc|d\n", "milk\nmilk|eggs\n"],
)
def test_a_first_row_that_reads_like_a_transaction_is_not_taken_for_the_header(content, tmp_path):
    header = content.partition("\n")[0]
    assert "line 1 reads like a transaction" in refused(tmp_path, "x.csv", content)
    assert len(read(tmp_path / "x.csv", items=header)) == content.count("\n") - 1


def test_a_long_first_row_is_not_printed_whole(tmp_path):
    assert len(refused(tmp_path, "x.csv", " ".join(map(str, range(999))) + "\n1 2\n")) < 250


def test_cells_that_contradict_the_separator_of_earlier_blocks_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "BLOCK", 20)
    content = "items\n" + "a b\n" * 9 + "a|b\n"
    assert "row 10 holds '|'" in refused(tmp_path, "x.csv", content)
    assert "separator=" in refusal(tmp_path / "x.csv")
    assert len(read(tmp_path / "x.csv", separator=" ")) == 10


def test_a_column_that_is_named_by_a_flag_leaves_none_for_the_items(tmp_path):
    assert "no column is left" in refused(tmp_path, "x.csv", "items\na\n", drop="items")
    assert refused(tmp_path, "x.csv", "a,b,c\n1,2,3\n", id="a").endswith("'b', 'c'")


@pytest.mark.parametrize(("row", "cells", "remedy"), [("2,b,c", "3 cells", "quote"), ("2", "1 cell", "empty cell")])
def test_a_row_with_too_many_or_too_few_cells_is_named_with_its_own_remedy(row, cells, remedy, tmp_path):
    sentence = refused(tmp_path, "x.csv", f"n,items\n1,a\n{row}\n3,c\n", drop="n")
    assert f"row 2 has {cells}, but the header has 2" in sentence
    assert remedy in sentence


def test_a_quote_that_never_closes_is_refused(tmp_path):
    assert "the quote that opens in line 2 does not close" in refused(
        tmp_path, "x.csv", 'n,items\n1,"a\n2,b\n3,c\n', drop="n"
    )


def test_a_quote_that_never_closes_is_refused_over_many_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "BLOCK", 20)
    sentence = refused(tmp_path, "x.csv", 'n,items\n1,"a\n' + "2,b\n" * 50, drop="n")
    assert "line 2 does not close" in sentence or "does not end for millions" in sentence  # whichever is met first


def test_a_lone_quote_inside_a_cell_is_a_character(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text('items\n5"pipe a\nb\n')
    assert list(read(path)) == [{'5"pipe', "a"}, {"b"}]


def test_an_empty_separator_is_refused(tmp_path):
    assert "separator between items is empty" in refusal(tmp_path / "x.csv", separator="")


# Long tables


@pytest.mark.parametrize("blank", ["", "  ", '""'])
def test_a_row_without_an_id_is_named(blank, tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "BLOCK", 12)
    assert "row 3 has no 'id'" in refused(tmp_path, "x.csv", f"id,item\n1,a\n2,b\n{blank},c\n", id="id")


def test_a_long_table_needs_an_id(tmp_path):
    assert "pass id=" in refused(tmp_path, "x.csv", "id,item\n1,a\n", format="long")


def test_a_long_table_has_nothing_to_separate(tmp_path):
    told = refused(tmp_path, "x.csv", "id,item\n1,a\n", id="id", separator=" ", format="long")
    assert "a long table has one item per row; leave out separator=" in told


# JSON lines


@pytest.mark.parametrize(
    ("item", "kind"),
    [
        ("1.5", "a number with a point or an exponent"),
        ("7.0", "a number with a point"),
        ("70e-1", "a number with a point"),
        ("1e400", "a number with a point"),
        ("NaN", "NaN"),
        ("-Infinity", "-Infinity"),
        ("true", "true or false"),
        ("null", "null"),
        ("[1]", "a list"),
        ('{"a": 1}', "an object"),
        ('""', "an empty text"),
    ],
)
@pytest.mark.parametrize("form", ["[{}]", '{{"items": [{}]}}'])
def test_an_item_that_is_neither_text_nor_whole_is_refused_with_its_line(item, kind, form, tmp_path):
    content = "\n".join([form.format('"a"'), form.format("1"), form.format(item)])
    assert f"line 3 holds {kind}" in refused(tmp_path, "x.jsonl", content)


@pytest.mark.parametrize(
    "broken", ["[1", "[1,]", "[01]", "{", "[1] [2]", "a", "[" * 100_000, '{"items": [1], "items": [2]}']
)
def test_a_line_that_is_not_json_is_named(broken, tmp_path):
    assert "line 2 is not JSON" in refused(tmp_path, "x.jsonl", f'{{"items": ["a"]}}\n{broken}\n')


@pytest.mark.parametrize("value", ["5", '"a b"', "true", '{"items": "a b"}', '{"items": 5}'])
def test_a_line_without_a_list_is_named(value, tmp_path):
    assert "line 2 holds no list of items" in refused(tmp_path, "x.jsonl", f'{{"items": ["a"]}}\n{value}\n')


def test_half_a_surrogate_pair_is_refused(tmp_path):
    assert "line 3 holds half a surrogate pair" in refused(tmp_path, "x.jsonl", '["a"]\n\n["b", "\\ud83d"]\n')


def test_fields_of_json_objects_need_a_role(tmp_path):
    assert "column 'age' has no role" in refused(tmp_path, "x.jsonl", '{"items": ["a"]}\n{"items": [], "age": 5}\n')
    assert "pass items= with one of 'a', 'b'" in refused(tmp_path, "x.jsonl", '{"a": [1], "b": [2]}\n')
    assert "no line has a field 'age' for drop=; its fields are 'items'" in refused(
        tmp_path, "x.jsonl", '{"items": []}\n', drop="age"
    )
    assert "no line has a field 'age' for items=" in refused(
        tmp_path, "x.jsonl", '{"items": []}\n', items="age", drop="items"
    )
    assert "leave out separator=" in refused(tmp_path, "x.jsonl", "[]", separator=",")


# Parquet, Arrow and Python objects


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow"])
@pytest.mark.parametrize("content", [b"", b"nonsense", b"PAR1", b"ARROW1\0\0"])
def test_files_that_are_not_what_they_are_called_are_refused(name, content, tmp_path):
    assert "it is not readable as" in refused(tmp_path, name, content)


def test_a_damaged_parquet_file_is_refused(tmp_path):
    data = io.BytesIO()
    parquet.write_table(pa.table({"items": [[str(i)] for i in range(5000)]}), data)
    damaged = bytearray(data.getvalue())
    damaged[50:2000] = os.urandom(1950)
    assert refused(tmp_path, "x.parquet", bytes(damaged))


def test_packed_parquet_is_refused(tmp_path):
    assert "unpack the .gz first" in refused(tmp_path, "x.parquet.gz", gzip.compress(b"PAR1"))


def test_a_missing_item_in_a_list_is_named_with_its_row(tmp_path):
    for items in ([["a"], None, ["b", None]], [["a"], [], ["b", ""]]):
        table = pa.table({"items": items})
        parquet.write_table(table, tmp_path / "x.parquet", row_group_size=1)
        coded = pa.array(items, pa.list_(pa.dictionary(pa.int32(), pa.string())))
        for source in (tmp_path / "x.parquet", table, pl.DataFrame(table), coded):
            assert "row 3 holds an item" in refusal(source)


@pytest.mark.parametrize("value", [1.0, 1.5, True, b"x"])
def test_items_of_other_types_are_refused_with_a_remedy(value):
    sentence = refusal(pa.table({"items": [[value]]}))
    assert sentence.startswith("the Table: ")
    assert "cast them to integer or string" in sentence


def test_a_column_of_single_values_holds_no_sets():
    assert "column 'items' is of type int64" in refusal(pa.table({"items": [1, 2]}))
    assert "pass id=" in refusal(pd.DataFrame({"items": [1, 2]}))


def test_a_list_column_has_no_separator_and_no_id():
    table = pa.table({"n": [1], "items": [["a"]]})
    assert "holds lists; leave out separator=" in refusal(table, drop="n", separator=",")
    assert "leave out id=" in refusal(table, id="n")


@pytest.mark.parametrize("value", [1.5, None, True, ("a",), b"x", float("nan"), ""])
def test_a_strange_item_in_plain_rows_is_named_with_its_row(value):
    told = "an empty text" if value == "" else f"of type {type(value).__name__}"
    assert (
        refusal([["a"], [1, value]])
        == f"the list: row 2 holds an item that is {told}; items are texts or whole numbers"
    )
    assert "row 2 holds an item that is " in refusal(pd.Series([["a"], ["b", value]]))


@pytest.mark.parametrize("row", ["ab", b"ab", 5])
def test_a_row_that_is_no_set_is_named(row):
    assert f"row 2 is of type {type(row).__name__}, not a set of items" in refusal([["a"], row])


@pytest.mark.parametrize("data", [5, None, 3.5, b"1 2"])
def test_an_object_without_rows_is_refused(data):
    assert "holds no sets" in refusal(data)


@pytest.mark.parametrize("data", [[["\ud83d"]], [[10**5000]], [["a", "\udc00"]]])
def test_an_item_that_cannot_be_text_is_refused(data):
    assert "cannot stand as text" in refusal(data)


@pytest.mark.parametrize(
    "data", [[], iter([]), pd.DataFrame({"items": []}), pa.table({"items": pa.array([], pa.list_(pa.string()))})]
)
def test_objects_without_rows_have_no_transactions(data):
    assert "has no transactions" in refusal(data)


def test_what_pandas_groups_is_refused_on_one_line():
    assert "row 1 holds an item that is " in refusal(pd.DataFrame({"n": [1, 1], "x": ["a", "b"]}).groupby("n"))


def test_ids_that_have_no_text_form_are_refused():
    assert "holds no ids" in refusal(pa.table({"id": [[1], [2]], "item": ["a", "b"]}), id="id")


def test_rows_have_no_columns_to_choose():
    assert "leave out items, id, person, separator and drop" in refusal([["a"]], items="x")
    with pytest.raises(InputError):
        load_sets(np.array([[1.5]]))


def test_text_that_is_not_utf8_inside_parquet_is_refused(tmp_path):
    broken = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.array([0, 2], np.int32)), pa.py_buffer(b"\xff\xfe")]
    )
    assert "is damaged" in refusal(pa.table({"items": pa.ListArray.from_arrays([0, 1], broken)}))
