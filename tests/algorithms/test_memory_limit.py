"""Limited memory changes nothing but where arrays lie: the same cut, the same counts, the same witnesses."""

from __future__ import annotations

import json
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.algorithms.km.exact import exact
from shoal.algorithms.km.problem import Problem
from shoal.algorithms.recoding import Options
from shoal.guarantees.km import KmAnonymity, exposures
from shoal.hierarchy.build import frequency_tree
from shoal.kernels.itemsets.nodes import joint_rows
from shoal.kernels.itemsets.prefixes import _gathered_bytes, laid_out
from shoal.kernels.parallel import even_blocks, even_row_blocks
from shoal.records.baskets import Baskets
from shoal.records.samples.quest import quest
from shoal.records.storage.memory import give_back
from shoal.records.storage.scratch import LEAST, Scratch, scratch_of
from strategies import baskets_of, worlds

WORKING = [1, 1 << 12, 1 << 16]
"""From every array in a file and every block a single token, to a few thousand tokens a block."""


def in_scratch(baskets: Baskets, working: int) -> Baskets:
    scratch = Scratch(working, threads=2)
    offsets, items = scratch.map_array(len(baskets.offsets), np.int64), scratch.map_array(len(baskets.items), np.int32)
    offsets[:], items[:] = baskets.offsets, baskets.items
    return Baskets(offsets, items, baskets.vocabulary)


@settings(max_examples=60, deadline=None)
@given(worlds(max_rows=20), st.sampled_from(WORKING))
def test_exact_and_the_audit_find_the_same(world, working):
    hierarchy, rows, k, m = world
    free = baskets_of(rows, hierarchy)
    limited = in_scratch(free, working)
    promise = KmAnonymity(k, m)
    expected, found = (exact(baskets, promise, hierarchy, Options()) for baskets in (free, limited))
    assert found.cut.node.tolist() == expected.cut.node.tolist()
    assert (found.bound, found.facts) == (expected.bound, expected.facts)
    published = found.apply(limited)
    assert published == expected.apply(free)
    assert published.scratch is limited.scratch
    assert promise.audit(published) == promise.audit(expected.apply(free))
    assert promise.audit(limited) == promise.audit(free)
    assert exposures(limited, k, m) == exposures(free, k, m)


@pytest.mark.parametrize("working", WORKING)
@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_larger_data_and_long_rows_count_the_same(m, working):
    rng = np.random.default_rng(m)
    rows = [rng.choice(60, rng.integers(0, 9), replace=False) for _ in range(400)]
    rows += [rng.choice(400, 300, replace=False) for _ in range(2)] if m < 4 else []
    free = Baskets.from_rows([map(str, row) for row in rows])
    limited = in_scratch(free, working)
    promise = KmAnonymity(3, m)
    assert promise.audit(limited) == promise.audit(free)
    tree = frequency_tree(free.vocabulary, free.supports(), 5)
    expected, found = (exact(baskets, promise, tree, Options()) for baskets in (free, limited))
    assert found.cut.node.tolist() == expected.cut.node.tolist()
    assert found.facts == expected.facts


def test_nothing_changes_when_pages_are_given_back_all_the_time():
    free = quest(2000, 8, items=100)
    limited, promise, done = in_scratch(free, 1 << 12), KmAnonymity(5, 3), threading.Event()
    tree = frequency_tree(free.vocabulary, free.supports(), 5)
    expected = exact(free, promise, tree, Options())

    def drop():
        while not done.wait(0.001):
            give_back()

    dropping = threading.Thread(target=drop)
    dropping.start()
    try:
        found = exact(limited, promise, tree, Options(threads=2))
        published = found.apply(limited)
        assert promise.audit(published.shuffle(), threads=2) == promise.audit(expected.apply(free))
    finally:
        done.set()
        dropping.join()
    assert found.cut.node.tolist() == expected.cut.node.tolist()
    assert published == expected.apply(free)


def test_blocks_are_cut_so_that_all_threads_fit():
    free = quest(3000, 8, items=100)
    limited = in_scratch(free, 1 << 18)
    same = np.arange(len(free.vocabulary), dtype=np.int32)
    plain, laid = (laid_out(b.offsets, b.items, same, len(same)) for b in (free, limited))
    assert np.array_equal(plain.volume, laid.volume)
    assert scratch_of(laid.tails) is limited.scratch
    size = _gathered_bytes(laid.support, laid.volume)
    share = Scratch(1 << 18, threads=2).share
    assert all(last == first + 1 or size[first:last].sum() <= share for first, last in laid.blocks())
    assert [first for first, _ in laid.blocks()] == [0, *(last for _, last in laid.blocks()[:-1])]
    assert len(laid.blocks()) > len(plain.blocks())


@settings(max_examples=60, deadline=None)
@given(worlds(max_rows=20), st.data())
def test_joint_rows_are_those_that_hold_something_under_every_node(world, draw):
    hierarchy, rows, k, m = world
    limited = in_scratch(baskets_of(rows, hierarchy), 1)
    problem = Problem(limited, KmAnonymity(k, m), hierarchy)
    nodes = draw.draw(st.lists(st.integers(0, hierarchy.n_nodes - 1), max_size=4))
    under_nodes = problem.leaf_rows
    below = [{hierarchy.labels[v] for v in range(hierarchy.n_leaves) if under(hierarchy, v, node)} for node in nodes]
    expected = sum(all(row & labels for labels in below) for row in limited)
    assert joint_rows(np.array(nodes, np.int64), under_nodes, len(limited)).sum() == expected
    assert problem.support_of(nodes) == expected
    assert scratch_of(under_nodes.rows) is limited.scratch


def under(hierarchy, leaf, node):
    while leaf >= 0 and leaf != node:
        leaf = hierarchy.parent[leaf]
    return leaf == node


@given(st.lists(st.integers(0, 9), max_size=50), st.integers(1, 40))
def test_blocks_of_rows_need_no_array_of_their_work(lengths, blocks):
    offsets = np.concatenate(([3], 3 + np.cumsum(lengths))).astype(np.int64)
    assert even_row_blocks(offsets, blocks) == even_blocks(np.diff(offsets) + 1.0, blocks)


PROGRAM = """
import json, re, resource, sys
limit = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
from shoal.algorithms.km.exact import exact
from shoal.algorithms.km.problem import Problem
from shoal.algorithms.recoding import Options
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.build import frequency_tree
from shoal.records.source import read
baskets, promise = read(sys.argv[1], memory_limit=limit), KmAnonymity(20, 2)
recoding = exact(baskets, promise, frequency_tree(baskets.vocabulary, baskets.supports(), 5), Options(threads=2))
audit = promise.audit(recoding.apply(baskets).shuffle(), threads=2)
highest = int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) * 1024
print(json.dumps([recoding.cut.node.tolist(), recoding.bound, audit.to_dict(), highest]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems count mapped files as data, or do not count at all")
def test_the_least_limit_is_enough_for_the_whole_way(tmp_path):
    baskets, promise = quest(40_000, 10, items=300), KmAnonymity(20, 2)
    path = tmp_path / "data.dat"
    from shoal.records.writing import write

    write(baskets, path)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path), str(LEAST)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    node, bound, audit, highest = json.loads(done.stdout)
    assert highest < LEAST
    recoding = exact(baskets, promise, frequency_tree(baskets.vocabulary, baskets.supports(), 5), Options())
    assert node == recoding.cut.node.tolist()
    assert bound == recoding.bound
    assert audit == json.loads(json.dumps(promise.audit(recoding.apply(baskets)).to_dict()))
