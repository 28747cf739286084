"""Files that are made to do harm: they crash nothing, take no more memory than they may, and nothing of them is lost or merged unsaid."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from shoal.errors import InputError
from shoal.hierarchy.files import read_hierarchy
from shoal.limits import DEFAULT, VARIABLE, checked_limit, input_limit, limited_inputs, part_limit
from shoal.records.baskets import Baskets
from shoal.records.formats import columnar
from shoal.records.formats.peek import column_names
from shoal.records.source import load_records, load_sets, mark_sensitive, read
from shoal.records.storage.streams import Input


def refusal(source, **options):
    with pytest.raises(InputError) as caught:
        read(source, **options)
    sentence = str(caught.value)
    assert "\n" not in sentence
    assert len(sentence) < 600
    return sentence


def put(folder, name, content):
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def sets(baskets):
    return [set(row) for row in baskets]


# Columnar files


def arrow_file(table, **options):
    made = io.BytesIO()
    with pa.ipc.new_file(made, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return made.getvalue()


def parquet_file(table, **options):
    made = io.BytesIO()
    parquet.write_table(table, made, **options)
    return made.getvalue()


LISTS = pa.table({"items": pa.array([["apple", "bread"], ["cheese"], [], ["apple"]] * 3)})
CODES = pa.table({"items": pa.array(["apple", "bread"] * 9).dictionary_encode()})


@pytest.mark.parametrize(
    ("table", "good", "bad"),
    [
        (LISTS, np.array([0, 2, 3, 3, 4], np.int32), np.array([0, 2, 3, 3, 1 << 30], np.int32)),  # offsets of the lists
        (LISTS, np.array([0, 5, 10, 16, 21], np.int32), np.array([0, 5, 1 << 30, 16, 21], np.int32)),  # of the texts
        (CODES, np.array([0, 1, 0, 1], np.int32), np.array([0, 1, 1 << 30, 1], np.int32)),  # codes
    ],
)
def test_an_arrow_file_with_offsets_or_codes_that_lead_out_of_it_is_refused(table, good, bad, tmp_path):
    data = arrow_file(table)
    assert good.tobytes() in data
    path = put(tmp_path, "x.arrow", data.replace(good.tobytes(), bad.tobytes(), 1))
    assert refusal(path).startswith("x.arrow: it is not readable as Arrow;")


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_no_change_to_a_columnar_file_crashes_its_reader(data, tmp_path_factory):
    form, made = data.draw(st.sampled_from(SEEDS))
    changed = bytearray(made)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(changed) - 1))
        what = data.draw(
            st.binary(min_size=1, max_size=8) | st.sampled_from([b"\xff" * 4, b"\0" * 8, b"\xff\xff\xff\x7f"])
        )
        changed[at : at + len(what)] = what
    path = put(tmp_path_factory.mktemp("x"), f"x.{form}", bytes(changed))
    for reading in (lambda: load_sets(path, items="items", drop="n"), lambda: column_names(path)):
        with contextlib.suppress(InputError):
            reading()


WIDE = LISTS.append_column("n", pa.array([1, 2, None, 4] * 3))
SEEDS = [
    ("arrow", arrow_file(WIDE)),
    ("arrow", arrow_file(WIDE, compression="zstd")),
    ("parquet", parquet_file(WIDE)),
    ("parquet", parquet_file(WIDE, compression="zstd", use_dictionary=False)),
]


@pytest.mark.parametrize(
    "deed",
    ["import os; os.abort()", "raise SystemExit", "print('{', flush=True)", "print('{\"stream\": 1}', flush=True)"],
)
def test_a_crash_of_the_decoder_is_a_sentence_and_the_next_file_is_read(deed, tmp_path, monkeypatch):
    good, bad = put(tmp_path, "good.parquet", parquet_file(LISTS)), put(tmp_path, "bad.parquet", parquet_file(LISTS))
    with monkeypatch.context() as patch:
        patch.setattr(columnar, "_waiting", [])
        patch.setattr(columnar, "_CODE", put(tmp_path, "decoder.py", f"import sys\nsys.stdin.readline()\n{deed}\n"))
        assert "ended in a crash" in refusal(bad)
        assert columnar._waiting == []
    assert len(read(good)) == 12


def test_a_decoder_that_was_ended_meanwhile_is_replaced(tmp_path):
    path = put(tmp_path, "x.parquet", parquet_file(LISTS))
    assert len(read(path)) == 12
    columnar._waiting[0]._process.kill()
    columnar._waiting[0]._process.wait()
    assert len(read(path)) == 12


def test_a_reader_that_leaves_early_leaves_no_decoder_behind(tmp_path):
    path = put(tmp_path, "x.parquet", parquet_file(LISTS, row_group_size=2))
    with Input(path) as opened:
        batches = columnar.columnar_table(opened, "parquet").batches(["items"])
        next(batches)
        batches.close()
    assert sets(read(path))[:2] == [{"apple", "bread"}, {"cheese"}]


def test_several_threads_read_at_the_same_time(tmp_path):
    path = put(tmp_path, "x.parquet", parquet_file(LISTS))
    found = []
    threads = [threading.Thread(target=lambda: found.append(len(read(path)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [12] * 4


def test_dictionaries_that_change_from_row_group_to_row_group_come_through(tmp_path):
    first = pa.array([["a", "b"], ["b"]], pa.list_(pa.dictionary(pa.int32(), pa.string())))
    second = pa.array([["c"], ["b", "c"]], pa.list_(pa.dictionary(pa.int32(), pa.string())))
    table = pa.table({"items": pa.chunked_array([first, second])})
    path = put(tmp_path, "x.parquet", parquet_file(table, row_group_size=2))
    assert sets(read(path)) == [{"a", "b"}, {"b"}, {"c"}, {"b", "c"}]


def test_a_file_that_is_replaced_between_two_looks_is_refused(tmp_path):
    path = put(tmp_path, "x.parquet", parquet_file(LISTS))
    with Input(path) as opened:
        table = columnar.columnar_table(opened, "parquet")
        os.replace(put(tmp_path, "y.parquet", parquet_file(LISTS.slice(0, 3))), path)
        with pytest.raises(InputError, match="changed while it was read"):
            list(table.batches(["items"]))


def test_text_that_is_written_to_while_it_is_read_is_refused(tmp_path):
    path = put(tmp_path, "x.dat", "a b\n")
    with Input(path) as opened:
        assert [block.data for block in opened.text_blocks()] == [b"a b\n"]
        path.write_text("a b\nc d e\n")
        with pytest.raises(InputError, match="changed while it was read"):
            opened.sha256()


def test_arrow_data_in_memory_is_looked_at_too():
    ends = pa.py_buffer(np.array([0, 900, 2], np.int32))
    broken = pa.Array.from_buffers(pa.list_(pa.string()), 2, [None, ends], children=[pa.array(["a", "b"])])
    with pytest.raises(InputError, match="is damaged"):
        read(pa.table({"items": broken}))


# Bombs


def bomb_of_rows(rows, folder):
    """A small Parquet file of so many equal rows."""
    block = pa.table({"items": pa.ListArray.from_arrays(np.arange(100_001, dtype=np.int32), pa.array(["a"] * 100_000))})
    path = folder / "rows.parquet"
    with parquet.ParquetWriter(path, block.schema, compression="zstd") as writer:
        for _ in range(rows // 100_000):
            writer.write_table(block)
    return path


def test_the_default_is_two_gigabytes_and_can_be_set(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    assert (input_limit(), part_limit()) == (DEFAULT, DEFAULT // 32)
    monkeypatch.setenv(VARIABLE, "64MB")
    assert (input_limit(), part_limit()) == (64 * 10**6, 2 * 10**6)
    with limited_inputs("1GB"):
        assert input_limit() == 10**9
    for wrong in ("much", "10KB", -5, True):
        with pytest.raises(InputError):
            checked_limit(wrong)


@pytest.mark.parametrize("name", ["x.dat", "x.csv", "x.jsonl", "x.dat.gz", "x.csv.zst"])
def test_a_line_may_have_a_part_of_the_limit(name, tmp_path):
    text = {"dat": b"a " * 40_000, "csv": b"items\n" + b"a " * 40_000, "jsonl": b"[" + b'"a",' * 20_000 + b'"a"]'}
    data = text[name.split(".")[1]]
    packed = gzip.compress(data) if name.endswith("gz") else data
    path = put(tmp_path, name, pa.compress(data, "zstd", asbytes=True) if name.endswith("zst") else packed)
    assert len(read(path, input_limit="3MB")) == 1
    sentence = refusal(path, input_limit="2MB")
    assert "a line in it has more than 1 MB" in sentence
    assert "raise input_limit=" in sentence


def test_packed_text_that_unfolds_beyond_the_limit_is_refused(tmp_path):
    path = put(tmp_path, "x.dat.gz", gzip.compress(b"a b c\n" * 500_000))
    assert "it takes more than 2 MB of memory, which is the input limit" in refusal(path, input_limit="2MB")
    assert len(read(path, input_limit="1GB")) == 500_000


def test_packed_text_that_is_mostly_rows_is_refused(tmp_path):
    path = put(tmp_path, "x.dat.zst", pa.compress(b"\n" * 900_000 + b"a\n", "zstd", asbytes=True))
    assert "raise input_limit= if you trust it" in refusal(path, input_limit="20MB")


@pytest.mark.parametrize("how", ["sets", "long", "table", "json"])
def test_a_small_file_of_many_rows_is_refused(how, tmp_path):
    path = bomb_of_rows(400_000, tmp_path)
    long = pa.table({"id": np.arange(400_000), "item": pa.array(["a"] * 400_000)})
    reading = {
        "sets": lambda: load_sets(path),
        "table": lambda: load_records(path, items="items"),
        "json": lambda: load_records(put(tmp_path, "x.jsonl.gz", gzip.compress(b'{"x": "a"}\n' * 400_000)), quasi="x"),
        "long": lambda: load_sets(put(tmp_path, "long.parquet", parquet_file(long, row_group_size=50_000)), id="id"),
    }
    with limited_inputs("12MB"), pytest.raises(InputError, match="takes more than 12 MB of memory"):
        reading[how]()


def test_a_plain_file_may_take_what_its_size_tells(tmp_path):
    path = put(tmp_path, "x.dat", b"\n" * 100_000 + b"a\n")
    with Input(path) as opened:
        assert opened.room.limit == max(DEFAULT, 64 * path.stat().st_size)


def test_a_batch_that_claims_or_takes_too_much_is_refused(tmp_path):
    path = put(tmp_path, "x.parquet", parquet_file(pa.table({"items": [["a" * 4_000_000]]}), compression="zstd"))
    assert "row group 1 takes 4 MB in one piece, too much for an input limit of 8 MB" in refusal(
        path, input_limit="8MB"
    )
    packed = arrow_file(pa.table({"items": pa.array(["ab" * 50_000_000])}), compression="zstd")
    sentence = refusal(put(tmp_path, "x.arrow", packed), input_limit="80MB")
    assert "takes more than 20 MB in one piece" in sentence


def test_a_pipe_has_the_limit_and_no_more(monkeypatch, tmp_path):
    data = parquet_file(pa.table({"items": [["a"], ["b"]]}))
    for limit, size in (("1MB", 0), ("1MB", 130_000)):
        monkeypatch.setattr(sys, "stdin", type("In", (), {"buffer": io.BytesIO(data + b"\0" * size)}))
        if size:
            assert "too large to be held in memory (more than 1 MB)" in refusal("-", input_limit=limit)
        else:
            assert len(read("-", input_limit=limit)) == 2


def test_trees_and_lists_may_have_a_part_of_the_limit(tmp_path):
    tree = "".join(f"item{i};root\n" for i in range(9000)).encode()
    packed = pa.compress(tree, "zstd", asbytes=True)
    for name, data in (("t.csv", tree), ("t.csv.gz", gzip.compress(tree)), ("t.csv.zst", packed)):
        path = put(tmp_path, name, data)
        assert read_hierarchy(path).n_leaves == 9000
        with limited_inputs("2MB"), pytest.raises(InputError, match="too much for a tree"):
            read_hierarchy(path)
    names = put(tmp_path, "names.txt", "a\n" * 50_000)
    with limited_inputs("2MB"), pytest.raises(InputError, match="too much for a list of items"):
        mark_sensitive(Baskets.from_rows([["a"]]), names)


HUNGRY = """
import contextlib, io, os, resource, sys
from shoal.cli import main
from shoal.records.storage.memory import peak_bytes
folder = sys.argv[1]
for case in open(os.path.join(folder, "cases.txt")).read().splitlines():
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(case.split())
    said = err.getvalue()
    assert code == 2 and len(said) < 600 and "bug in Shoal" not in said, (case, code, said[-2000:])
# Not RUSAGE_SELF, in which the size of the process that started this one counts as well.
print((peak_bytes() >> 20) + (resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10))
"""


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="there is no device without end")
def test_whatever_is_hostile_takes_less_than_a_gigabyte(tmp_path):
    long_line = io.BytesIO()
    with gzip.GzipFile(fileobj=long_line, mode="wb", compresslevel=1) as file:
        for _ in range(100):
            file.write(b"a " * 500_000)
    put(tmp_path, "line.dat.gz", long_line.getvalue())
    put(tmp_path, "tree.csv.gz", long_line.getvalue())
    put(tmp_path, "good.csv", "age,items,ill\n" + "1,a b,flu\n2,a,cold\n" * 4)
    put(tmp_path, "deep.jsonl", '{"a": 1, "x": ' + "[" * 2_000_000 + "\n")
    put(tmp_path, "deep.json", "[" * 2_000_000)
    put(tmp_path, "wide.csv", ",".join(f"column{i}" for i in range(300_000)) + "\n")
    put(tmp_path, "alias.yaml", "a: &a [x]\n" + "".join(f"{n}: &{n} [{','.join(['*a'] * 9)}]\n" for n in "bcdefgh"))
    put(tmp_path, "number.json", '{"version": ' + "9" * 100_000 + "}")
    zero, good = "/dev/zero", tmp_path / "good.csv"
    roles = "--quasi age --items items --drop ill"
    cases = [
        *(
            f"{command} {zero} --format {form}"
            for command in ("profile", "audit")
            for form in ("dat", "csv", "jsonl", "arrow")
        ),
        f"init {zero} --format csv",
        f"audit {tmp_path / 'line.dat.gz'}",
        f"anonymize {good} --items items --drop age --drop ill --hierarchy {zero}",
        f"anonymize {good} --items items --drop age --drop ill --hierarchy {tmp_path / 'tree.csv.gz'}",
        f"anonymize {good} --items items --drop age --drop ill --hierarchy {tmp_path / 'deep.json'}",
        f"anonymize {good} --model diversity --quasi age --sensitive ill --drop items --l 2 --knowledge {zero}",
        f"run {zero}",
        f"run {tmp_path / 'alias.yaml'}",
        f"run {tmp_path / 'number.json'}",
        f"run {tmp_path / 'deep.json'}",
        f"verify {zero} {good}",
        f"verify {tmp_path / 'number.json'} {good}",
        f"hierarchy check {zero}",
        f"evaluate {good} {good} {roles} --rules {zero}",
        f"evaluate {good} {good} {roles} --workload {zero}",
        f"profile {tmp_path / 'deep.jsonl'}",
        f"profile {tmp_path / 'wide.csv'}",
        f"anonymize {good} --items items --drop age --drop ill -o {tmp_path / 'out.csv'} --sign {zero}",
    ]
    put(tmp_path, "cases.txt", "\n".join(cases))
    done = subprocess.run(
        [sys.executable, "-c", HUNGRY, str(tmp_path)], capture_output=True, text=True, timeout=300, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout) < 1000
    assert not (tmp_path / "out.csv").exists()


# What is read is read whole


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('n,items\n1,"a\n', "the quote that opens in line 2 does not close"),
        ('n,items\n1,"a', "line 2 does not close"),
        ('n,items\n1,"a ""b', "line 2 does not close"),
        ('n,"items\n1,a\n', "line 1 does not close"),
        ('n,items\n1,"a|b"x\n', "line 2 has a cell that goes on after its closing quote"),
        ('n,items\n1,"a|b""\n', "line 2 does not close"),
        ('n,items\n1,5" a\n2,"b" c\n', "line 3 has a cell that goes on"),
        ('n,items\n1,"a\nb"c\n', "line 3 has a cell that goes on"),
    ],
)
def test_quotes_that_do_not_close_a_cell_are_refused(text, words, tmp_path):
    assert words in refusal(put(tmp_path, "x.csv", text), drop="n")
    assert words in refusal(put(tmp_path, "x.tsv", text.replace(",", "\t")), drop="n")


cells = st.text('a"\n ,', max_size=5)


@settings(max_examples=200, deadline=None)
@given(rows=st.lists(st.tuples(cells, cells), min_size=1, max_size=6), size=st.integers(1, 40))
def test_whatever_a_program_writes_as_csv_is_read_as_it_was(rows, size, tmp_path_factory):
    import csv

    from shoal.records.storage import streams

    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([("x", "y"), *rows])
    path = put(tmp_path_factory.mktemp("x"), "x.csv", text.getvalue())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "BLOCK", max(size, 24))
        found = load_records(path, keep="x,y").records
    assert list(zip(found["x"].texts(), found["y"].texts(), strict=True)) == rows


def test_a_quote_inside_a_cell_that_is_not_quoted_is_a_character(tmp_path):
    path = put(tmp_path, "x.csv", 'n,items\n1,5" a\n2,"b c" \n3,d"\n')
    assert sets(read(path, drop="n")) == [{'5"', "a"}, {"b", "c"}, {'d"'}]


def test_whole_numbers_in_json_are_told_apart_by_their_digits(tmp_path):
    assert sets(read(put(tmp_path, "x.jsonl", "[7, 70, -0]\n[0]\n"))) == [{"7", "70", "-0"}, {"0"}]
    assert sets(read(put(tmp_path, "y.jsonl", '[7, "7.0", "70e-1"]\n'))) == [{"7", "7.0", "70e-1"}]


def test_deep_json_is_refused_whatever_line_it_stands_in(tmp_path):
    for deep in ("[" * 300_000, '{"a":' * 300_000, '["a", ' + "[" * 100_000 + "]" * 100_000 + "]"):
        path = put(tmp_path, "x.jsonl", '{"items": ["a"]}\n' * 3 + '{"items": ["a"], "x": ' + deep + "}\n")
        assert "line 4 is not JSON" in refusal(path, drop="x")
        with pytest.raises(InputError, match="line 4 is not JSON"):
            load_records(path, items="items", drop="x")


def test_brackets_inside_texts_are_no_depth(tmp_path):
    names = [f"[{i}" for i in range(500)]
    assert sets(read(put(tmp_path, "x.jsonl", json.dumps(names)))) == [set(names)]


@pytest.mark.parametrize("line", ["2 -1 3 -2", "2 -1 -1 -2", "-1 2 -1 -2", "2 -1", "2 -1 3", "2 -2"])
def test_marks_of_spmf_in_other_places_are_refused_with_their_line(line, tmp_path):
    text = f"1 -1 -2\n\n# a comment\n{line}\n"
    assert "line 4 has -1 or -2 elsewhere" in refusal(put(tmp_path, "x.txt", text))


def test_an_id_with_two_names_is_refused(tmp_path):
    text = "@CONVERTED_FROM_TEXT\n@ITEM=1=a\n@ITEM=1=b\n1 -1 -2\n"
    assert "line 3 gives an id a second name" in refusal(put(tmp_path, "x.txt", text))


def test_a_carriage_return_inside_a_line_is_refused_with_its_line(tmp_path):
    assert "line 2 holds a carriage return" in refusal(put(tmp_path, "x.dat", b"a b\r\nc\rd\r\ne\r\n"))
    assert sets(read(put(tmp_path, "y.dat", b"a b\r\r\nc\r\n"))) == [{"a", "b"}, {"c"}]


def test_names_that_differ_in_a_blank_of_another_script_or_a_form_of_an_accent_stay_apart(tmp_path):
    names = {"é", "e\u0301", "a\u00a0", "a", "\u2003a", "a\u2028b", "x\x85y", "\ufeffz"}
    listed = json.dumps(sorted(names), ensure_ascii=False)
    assert sets(read(put(tmp_path, "x.jsonl", f"{listed}\n"))) == [names]
    assert sets(read(put(tmp_path, "x.dat", f"k {' '.join(sorted(names))}\n"))) == [names | {"k"}]
    assert sets(read(put(tmp_path, "x.csv", f"items\nk|{'|'.join(sorted(names))}\n"))) == [names | {"k"}]
    marked = mark_sensitive(
        Baskets.from_rows([names]), put(tmp_path, "names.txt", "\n".join(["a\u2028b", "x\x85y", "a\u00a0"]))
    )
    assert marked.sensitive_items == {"a\u2028b", "x\x85y", "a\u00a0"}


@pytest.mark.parametrize("form", ["arx", "parent-child", "amnesia"])
def test_blanks_of_other_scripts_are_part_of_a_label(form, tmp_path):
    labels = ["a", "a\u00a0", "\u2003a", "b\u3000c"]
    rows = {
        "arx": "".join(f"{label};root\n" for label in labels),
        "parent-child": "parent,child\n" + "".join(f"root,{label}\n" for label in labels),
        "amnesia": f"distinct\nroot has {' '.join(labels)}\n",
    }
    assert set(read_hierarchy(put(tmp_path, "t.txt", rows[form])).labels) == {*labels, "root"}


@pytest.mark.parametrize("codec", ["gz", "zst"])
def test_several_packed_parts_are_one_text_and_a_part_that_is_cut_short_is_refused(codec, tmp_path):
    def packed(text):
        return gzip.compress(text) if codec == "gz" else pa.compress(text, "zstd", asbytes=True)

    both = packed(b"a b\n" * 2000) + packed(b"c d\n" * 2000)
    assert len(read(put(tmp_path, f"x.dat.{codec}", both))) == 4000
    for cut in (1, 5, 9, len(packed(b"c d\n" * 2000)) - 1):
        assert "damaged or cut short" in refusal(put(tmp_path, f"y.dat.{codec}", both[:-cut]))
        tree = packed(b"a;r\nb;r\n" * 500)
        with pytest.raises(InputError, match=r"damaged|cut short"):
            read_hierarchy(put(tmp_path, f"t.csv.{codec}", tree[: -min(cut, len(tree) - 5)]))


def test_a_message_about_very_many_columns_is_short(tmp_path):
    wide = ",".join(f"column{i}" for i in range(20_000))
    path = put(tmp_path, "x.csv", f"{wide}\n{',' * 19_999}\n")
    assert "and 19,9" in refusal(path, items="column1")
    for sentence in (refusal(path), refusal(path, items="column1"), refusal(path, items="nothing")):
        assert len(sentence) < 600
    with pytest.raises(InputError) as caught:
        load_records(path, quasi="column1")
    assert len(str(caught.value)) < 600


def test_names_of_columns_without_end_are_cut(tmp_path):
    assert len(refusal(put(tmp_path, "x.csv", f"{'a' * 100_000},b\n1,2\n"), items="c")) < 400


def test_readers_need_no_path_to_be_writable(tmp_path):
    path = put(tmp_path, "x.parquet", parquet_file(LISTS))
    Path(path).chmod(0o400)
    assert len(read(path)) == 12


def test_what_spreadsheets_would_run_goes_all_the_way(tmp_path, monkeypatch):
    import shoal
    from shoal.evaluation.evaluation import evaluate

    monkeypatch.setenv("SHOAL_KEY", str(tmp_path / "owner.key"))
    raw = put(tmp_path, "raw.csv", "items\n" + "=x|b\nb|=x\n+y|b|-5\n-5|+y|a\na|=x\n'tis|a\n'tis|b\n" * 6)
    tree = put(
        tmp_path,
        "tree.csv",
        "=x;@signs;all\n+y;@signs;all\n-5;@signs;all\na;letters;all\nb;letters;all\n'tis;letters;all\n",
    )
    promise = shoal.KmAnonymity(3, 2)
    release = shoal.anonymize(str(raw), promise, hierarchy=str(tree), algorithm="exact")
    public = tmp_path / "public.csv"
    release.write(str(public), str(tmp_path / "certificate.json"))
    named = read(public, separator=None)
    assert not any(name[0] in "=+-@" for name in named.vocabulary)
    assert shoal.audit(str(public), promise).holds
    found = evaluate(str(raw), str(public), hierarchy=str(tree))
    assert found.to_dict()["loss"]["items"]["ncp"] == pytest.approx(release.loss["ncp"])
    assert shoal.verify(str(tmp_path / "certificate.json"), str(public)).holds


@pytest.mark.parametrize("key", ["hierarchies", "columns"])
def test_a_key_of_a_plan_that_is_as_long_as_a_text_is_cut(key, tmp_path):
    from shoal.plan import read_plan

    plan = {"version": 1, "input": {"path": "x.csv"}, key: {"9" * 5000: 7}, key + "9" * 5000: 1}
    with pytest.raises(InputError) as caught:
        read_plan(put(tmp_path, "plan.json", json.dumps(plan)))
    assert len(str(caught.value)) < 400


def test_rules_and_queries_with_numbers_and_depths_without_measure_are_refused(tmp_path):
    from shoal.evaluation.between import rules_file, workload_file

    for line in (
        "[" * 100_000,
        '{"items": [' + "9" * 5000 + "]}",
        '{"between": {"age": [1, ' + "9" * 400 + "]}}",
        '{"items": [], "items": ["a"]}',
    ):
        with pytest.raises(InputError, match="line 1"):
            workload_file(put(tmp_path, "queries.jsonl", line))
    for row in (f"1,3,{'9' * 5000},0,a", '1,3,1,0,"a'):
        with pytest.raises(InputError, match="line 2"):
            rules_file(put(tmp_path, "rules.csv", f"class,rows,added,removed,published\n{row}\n"))
