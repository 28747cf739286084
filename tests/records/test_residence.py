"""Residence: pages of mapped files leave memory before the limit is reached, and nothing that they hold is lost."""

from __future__ import annotations

import io
import json
import mmap
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.records.baskets import Baskets
from shoal.records.formats import decoder as columnar_decoder
from shoal.records.source import load_sets
from shoal.records.storage import memory as residence
from shoal.records.storage.scratch import LEAST, Scratch
from shoal.records.writing import write

SMALL = Scratch(1 << 14)

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell the resident size in /proc")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4999), st.integers(0, 2**31 - 1), st.booleans()), max_size=60))
def test_what_was_written_is_there_after_pages_were_given_back(writes):
    array, expected = SMALL.map_array(5000, np.int32), np.zeros(5000, np.int32)
    for place, value, dropped in writes:
        array[place] = expected[place] = value
        if dropped:
            residence.give_back()
    residence.give_back()
    assert np.array_equal(array, expected)


def test_a_spool_is_the_same_after_its_pages_were_given_back():
    spool = SMALL.spool(np.int64)
    for block in range(5):
        spool.append(np.arange(1000) + 1000 * block)
    array = spool.array()
    residence.give_back()
    assert np.array_equal(array, np.arange(5000))
    array[:] = 7
    residence.give_back()
    assert array.tolist() == [7] * 5000


def test_threads_write_and_read_on_while_pages_go():
    arrays, done = [SMALL.map_array(200_000, np.int64) for _ in range(2)], threading.Event()

    def fill(array):
        for _ in range(20):
            for start in range(0, len(array), 1000):
                array[start : start + 1000] += np.arange(start, start + 1000)

    def drop():
        while not done.wait(0.001):
            residence.give_back()

    dropping = threading.Thread(target=drop)
    filling = [threading.Thread(target=fill, args=(array,)) for array in arrays]
    for thread in (dropping, *filling):
        thread.start()
    for thread in filling:
        thread.join()
    done.set()
    dropping.join()
    for array in arrays:
        assert np.array_equal(array, 20 * np.arange(200_000))


UNWATCHED = """
import json
import numpy as np
from shoal.records.storage import memory as residence
from shoal.records.storage.scratch import Scratch
residence._watch = lambda: None
array = Scratch(4096).map_array(20_000_000, np.int32)
before = residence.resident_bytes()
array[:] = 1
filled = residence.resident_bytes()
residence.give_back()
print(json.dumps([before, filled, residence.resident_bytes(), int(array.sum())]))
"""


@on_linux
def test_given_back_pages_are_no_longer_in_memory():
    done = subprocess.run([sys.executable, "-c", UNWATCHED], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    *sizes, total = json.loads(done.stdout)
    for before, filled, after in zip(*sizes, strict=True):  # of all, and of files
        assert filled - before > 75_000_000
        assert filled - after > 75_000_000
    assert total == 20_000_000


WHOLE = """
import json, re, sys
import numpy as np
from shoal.records.storage import memory as residence
from shoal.records.storage.scratch import Scratch
scratch = Scratch.of(sys.argv[1])
arrays = [scratch.map_array(100_000_000, np.int32) for _ in range(3)]
for number, array in enumerate(arrays):
    array[:] = number
totals = [int(array.sum(dtype=np.int64)) for array in arrays for _ in range(2)]
arrays[0][::1000] = 5
totals.append(int(arrays[0].sum(dtype=np.int64)))
highest = int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) * 1024
watcher = residence._watcher
del arrays, array
watcher.join(60)
print(json.dumps([highest, totals, watcher.is_alive()]))
"""


@on_linux
def test_the_resident_size_stays_below_the_limit_with_arrays_that_are_larger():
    done = subprocess.run([sys.executable, "-c", WHOLE, str(LEAST)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    highest, totals, watched = json.loads(done.stdout)
    assert highest < LEAST < 3 * 400_000_000
    assert totals == [0, 0, 10**8, 10**8, 2 * 10**8, 2 * 10**8, 500_000]
    assert not watched  # nobody uses the arrays any more


FORKED = """
import os
import numpy as np
from shoal.records.storage import memory as residence
from shoal.records.storage.scratch import Scratch
array = Scratch(4096).map_array(1000, np.int32)
array[:] = 3
with residence._lock:
    child = os.fork()
    if child == 0:
        more = Scratch(4096).map_array(1000, np.int32)
        more[:] = array
        residence.give_back()
        os._exit(0 if more.sum() == 3000 and array.sum() == 3000 else 1)
os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(residence.os, "fork"), reason="there is nothing to fork")
def test_a_forked_process_has_a_residence_of_its_own():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_an_input_that_is_mapped_gives_its_pages_back_too(tmp_path, monkeypatch, form):
    path = tmp_path / f"data.{form}"
    write(Baskets.from_rows([["a", "b"], ["b"], []]), path)
    given_back = []
    mapped = type("Mapped", (mmap.mmap,), {"madvise": lambda self, advice: given_back.append((advice, len(self)))})
    monkeypatch.setattr(columnar_decoder.mmap, "mmap", mapped)
    monkeypatch.setattr(columnar_decoder, "_limit_memory", lambda size: None)
    asked = {"form": form, "path": str(path), "columns": ["items"], "piece": 10**9, "bytes": None}
    for frugal in (False, True):
        given_back.clear()
        answers = io.BytesIO()
        columnar_decoder.serve(io.BytesIO(json.dumps(asked | {"frugal": frugal}).encode() + b"\n"), answers)
        assert answers.getvalue().endswith(b'{"end": 3}\n')
        assert given_back == ([(mmap.MADV_DONTNEED, path.stat().st_size)] if frugal else [])
    assert load_sets(path, memory_limit=Scratch.of("1GB")).baskets == load_sets(path).baskets


def test_where_the_system_does_not_tell_nothing_is_watched(monkeypatch):
    monkeypatch.setattr(residence, "resident_bytes", lambda: None)
    monkeypatch.setattr(residence, "_watcher", None)
    array = SMALL.map_array(1000, np.int32)
    array[:] = 4
    assert residence._watcher is None
    residence.give_back()
    assert array.tolist() == [4] * 1000
