"""Scratch files: nameless, for their owner alone, and read into with the same result as without."""

from __future__ import annotations

import errno
import gzip
import os
import signal
import stat
import subprocess
import sys
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from shoal.errors import InputError
from shoal.limits import size_in_bytes
from shoal.records.baskets import Baskets
from shoal.records.source import load_sets, read
from shoal.records.storage import streams
from shoal.records.storage.scratch import LEAST, Scratch, scratch_of
from shoal.records.writing import write

TINY = Scratch(working=1 << 14, threads=1024)
"""So little that every array goes to a file and a block is 64 occurrences; just enough for the names."""

names = st.sampled_from(["milk", "bread", "7", "007", "é", "x y", "a,b"])
rows = st.lists(st.sets(names), min_size=1, max_size=40)


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (5, 5),
        ("5", 5),
        ("2GB", 2 * 10**9),
        ("2 gb", 2 * 10**9),
        ("1.5GiB", 3 << 29),
        ("800M", 800 << 20),
        ("3kB", 3000),
    ],
)
def test_sizes_are_read_with_their_units(size, expected):
    assert size_in_bytes(size, "memory limit") == expected


@pytest.mark.parametrize("size", ["", "GB", "-2GB", "2 GBit", "1e9", True])
def test_what_is_no_size_is_refused_with_an_example(size):
    with pytest.raises(InputError, match="such as 2GB"):
        size_in_bytes(size, "memory limit")


@pytest.mark.parametrize("limit", [0, "100MB", LEAST - 1])
def test_a_limit_below_what_python_needs_is_refused_with_the_least(limit):
    with pytest.raises(InputError, match=r"give at least 800 MB"):
        Scratch.of(limit)
    assert Scratch.of(LEAST).limit == LEAST


def test_a_scratch_file_has_no_name_and_is_for_its_owner_alone(tmp_path):
    scratch = Scratch(4096, folder=str(tmp_path))
    spool = scratch.spool(np.int32)
    spool.append(np.arange(5))
    found = os.fstat(spool._file.fileno())
    assert stat.S_IMODE(found.st_mode) == 0o600
    assert found.st_nlink == 0
    array, other = spool.array(), scratch.map_array(1000, np.int64)
    assert os.listdir(tmp_path) == []
    assert array.tolist() == [0, 1, 2, 3, 4]
    assert len(other) == 1000


def test_a_killed_process_leaves_no_scratch_file(tmp_path):
    program = (
        "import os, signal, sys, numpy as np; from shoal.records.storage.scratch import Scratch\n"
        "array = Scratch(4096, folder=sys.argv[1]).map_array(100_000, np.int32); array[:] = 7\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], timeout=60)
    assert done.returncode == -signal.SIGKILL
    assert os.listdir(tmp_path) == []


def test_a_full_disk_is_named_before_anything_is_stored(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(InputError, match=r"does not fit there \(No space left on device\).*TMPDIR"):
        Scratch(4096, folder=str(tmp_path)).map_array(10, np.int32)


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(InputError, match="no scratch file can be made there"):
        Scratch(4096, folder=str(tmp_path / "none")).map_array(10, np.int32)


def test_files_go_where_tmpdir_says(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "none"))
    with pytest.raises(InputError, match="none"):
        TINY.map_array(10, np.int32)


def test_arrays_and_their_views_know_their_scratch():
    array = TINY.map_array(10, np.int32)
    assert scratch_of(array) is TINY
    assert scratch_of(array[2:8][1:]) is TINY
    assert scratch_of(TINY.map_array(0, np.int32)) is TINY
    assert scratch_of(array + 1) is None
    assert scratch_of(np.arange(3)[1:]) is None


def test_small_arrays_stay_in_memory():
    scratch = Scratch(1 << 20)
    assert scratch_of(scratch.empty(scratch.share // 16, np.int32)) is None
    assert scratch_of(scratch.empty(scratch.share // 16 + 1, np.int32)) is scratch


@settings(max_examples=40, deadline=None)
@given(rows, st.sampled_from(["dat", "csv", "jsonl", "parquet", "arrow", "csv.gz"]), st.integers(1, 60))
def test_readers_give_the_same_with_and_without_a_limit(tmp_path_factory, data, form, block):
    path = tmp_path_factory.mktemp("scratch") / f"data.{form}"
    if form == "dat":
        data = [{name.replace(" ", "_") for name in row} for row in data]
    write(Baskets.from_rows(data), path)
    how = {"separator": "|", "items": "items"} if "csv" in form else {}
    with pytest.MonkeyPatch.context() as patch:
        if form in ("dat", "jsonl"):  # cut into many stretches, between lines
            patch.setattr(streams, "BLOCK", block)
        free = load_sets(path, **how)
        limited = load_sets(path, memory_limit=TINY, **how)
    assert limited.baskets == free.baskets
    assert limited.sha256 == free.sha256
    assert limited.layout == free.layout
    assert limited.baskets.scratch is TINY
    assert scratch_of(limited.baskets.offsets) is TINY


def test_repeats_are_folded_and_named_items_renamed(tmp_path):
    path = tmp_path / "data.dat"
    path.write_text("@ITEM=1=milk\n1 1 3 -1 -2\n\n3 1 1 -1 -2\n")
    free, limited = load_sets(path).baskets, load_sets(path, memory_limit=TINY).baskets
    assert limited == free
    assert limited.duplicates == free.duplicates == 2
    assert limited.empty == 1


def test_standard_text_is_read_packed_too(tmp_path):
    path = tmp_path / "data.dat.gz"
    path.write_bytes(gzip.compress(b"1 2\n2 3\n"))
    assert read(path, memory_limit="2GB") == read(path)


def test_an_empty_file_is_refused_as_without_a_limit(tmp_path):
    path = tmp_path / "data.dat"
    path.write_text("")
    with pytest.raises(InputError, match="has no transactions"):
        read(path, memory_limit="2GB")


def test_what_is_not_read_piece_by_piece_is_refused_with_the_reason(tmp_path):
    long = tmp_path / "long.csv"
    long.write_text("id,item\n1,a\n1,b\n")
    with pytest.raises(InputError, match="a long table is put together in memory"):
        read(long, id="id", memory_limit="2GB")
    with pytest.raises(InputError, match="a long table is put together in memory"):
        read(long, id="id", separator="|", memory_limit="2GB")
    with pytest.raises(InputError, match="in memory already"):
        read([["a"]], memory_limit="2GB")
    with pytest.raises(InputError, match="the driver of a database"):
        read("sqlite:///shop.db?table=sales", memory_limit="2GB")


def test_a_row_group_that_does_not_fit_is_named(tmp_path):
    path = tmp_path / "data.parquet"
    cells = [[f"item {i} {j}" for j in range(20)] for i in range(100)]
    parquet.write_table(pa.table({"items": cells}), path, row_group_size=50)
    with pytest.raises(InputError, match=r"row group 1 takes .* in one piece"):
        load_sets(path, memory_limit=Scratch(4096))
    assert load_sets(path, memory_limit=Scratch(1 << 21)).baskets == read(path)


def test_a_vocabulary_that_does_not_fit_is_named_with_the_limit_that_it_needs(tmp_path):
    path = tmp_path / "data.dat"
    path.write_text("\n".join(map(str, range(1000))) + "\n")
    with pytest.raises(
        InputError, match=r"its 1,000 different items do not fit .* raise the limit to 4\d\d MB or more"
    ):
        load_sets(path, memory_limit=Scratch(1 << 16))


def in_scratch(baskets: Baskets, scratch: Scratch = TINY) -> Baskets:
    lengths = scratch.spool(np.int64)
    lengths.append(baskets.lengths)
    items = scratch.spool(np.int32)
    items.append(baskets.items)
    return Baskets.from_codes(lengths.array(), items.array(), baskets.vocabulary)


@settings(max_examples=40, deadline=None)
@given(rows, st.data())
def test_what_is_made_from_limited_baskets_is_the_same_and_limited(data, draw):
    free = Baskets.from_rows(data)
    limited = in_scratch(free)
    assert limited == free
    assert (limited.empty, limited.longest) == (free.empty, free.longest)
    assert (free.empty, free.longest) == (sum(not row for row in data), max(map(len, data)))
    assert limited.lengths.tolist() == free.lengths.tolist()
    assert limited.supports().tolist() == free.supports().tolist()
    chosen = np.array(draw.draw(st.lists(st.integers(0, len(free) - 1), max_size=30)), np.int64)
    assert limited.take(chosen) == free.take(chosen)
    assert limited.take(chosen).scratch is TINY
    wanted = np.array(draw.draw(st.lists(st.booleans(), min_size=7, max_size=7)))[: len(free.vocabulary)]
    held = [i for i, row in enumerate(free.rows()) if any(wanted[free.vocabulary.index(name)] for name in row)]
    assert limited.rows_with(wanted).tolist() == free.rows_with(wanted).tolist() == held


@settings(max_examples=40, deadline=None)
@given(rows, st.sampled_from([1 << 8, 1 << 12, 1 << 20]))
def test_shuffling_keeps_every_row(data, working):
    free = Baskets.from_rows(data)
    scratch = Scratch(working)
    mixed = in_scratch(free, scratch).shuffle()
    assert Counter(mixed) == Counter(free) == Counter(free.shuffle())
    assert mixed.vocabulary == free.vocabulary
    assert mixed.scratch is scratch


def test_shuffling_deals_to_as_many_buckets_as_a_byte_can_name():
    free = Baskets.from_rows([[str(number), str(number % 7)] for number in range(500)])
    scratch = Scratch(working=1)
    mixed = in_scratch(free, scratch).shuffle()
    assert Counter(mixed) == Counter(free)
    assert list(mixed) != list(free)


def test_every_order_is_as_likely_as_any_other():
    limited = in_scratch(Baskets.from_rows([["a"], ["b"], ["c", "d"]]), Scratch(working=256))
    found = Counter(tuple(map(tuple, limited.shuffle().rows())) for _ in range(600))
    assert len(found) == 6
    assert all(abs(times - 100) < 60 for times in found.values())  # more than six standard deviations


def test_baskets_that_differ_in_one_place_are_not_equal():
    one, other = np.zeros(5000, np.int32), np.zeros(5000, np.int32)
    other[4999] = 1
    offsets = np.arange(5001)
    assert in_scratch(Baskets(offsets, one, ("a", "b"))) != Baskets(offsets, other, ("a", "b"))
