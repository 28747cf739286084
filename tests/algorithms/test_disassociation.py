"""Disassociation: the fast one and the slow one make the same clusters and chunks, and the audit passes what comes of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_chunks as naive
import shoal
from shoal.algorithms.chunks.disassociation import disassociation
from shoal.algorithms.chunks.refining import MOST_JOINED
from shoal.algorithms.recoding import Options
from shoal.errors import InputError, Unreachable
from shoal.guarantees.chunks import Chunks

rows_of_numbers = st.lists(st.sets(st.integers(0, 9), min_size=0, max_size=5), min_size=4, max_size=60)


def baskets_of(rows):
    return shoal.Baskets.from_rows([[f"{item:02d}" for item in row] for row in rows])


def structure(node, baskets):
    """A cluster as texts: its chunks, its rest, its records or parts."""
    names = baskets.vocabulary
    chunks = sorted(sorted(names[item] for item in chunk) for chunk in node.chunks)
    if hasattr(node, "parts"):
        return chunks, sorted(map(repr, (structure(part, baskets) for part in node.parts)))
    return chunks, sorted(names[item] for item in node.rest), sorted(node.rows.tolist())


def naive_structure(node):
    chunks = sorted(sorted(f"{item:02d}" for item in chunk) for chunk in node.chunks)
    if hasattr(node, "parts"):
        return chunks, sorted(map(repr, map(naive_structure, node.parts)))
    return chunks, sorted(f"{item:02d}" for item in node.rest), sorted(node.numbers)


@given(rows_of_numbers, st.integers(2, 3), st.integers(1, 3), st.sampled_from((6, 10)))
def test_it_makes_the_clusters_and_chunks_of_the_slow_one(rows, k, m, most):
    baskets = baskets_of(rows)
    found = disassociation(baskets, shoal.ChunkAnonymity(k, m), None, Options(cluster_size=most))
    m = min(m, max(1, baskets.longest))
    slow = naive.disassociated(rows, k, m, most, MOST_JOINED)
    assert sorted(repr(structure(node, baskets)) for node in found.nodes) == sorted(
        map(repr, map(naive_structure, slow))
    )


@given(rows_of_numbers, st.integers(2, 3), st.integers(1, 3))
def test_what_it_publishes_passes_the_audit_and_holds_every_occurrence_once(rows, k, m):
    baskets = baskets_of(rows)
    promise = shoal.ChunkAnonymity(k, m)
    found = disassociation(baskets, promise, None, Options(cluster_size=2 * k))
    published = found.apply(np.random.default_rng(1))
    verdict = promise.audit(published)
    assert verdict.holds, verdict.witnesses
    assert verdict.facts["records"] == len(rows)
    chunks = Chunks.of(published)
    listed = sum(mask.bit_count() for leaf in found.leaves for mask in leaf.rest.values())
    assert chunks.by_chunk.occurrences + listed == baskets.occurrences


def test_the_example_of_a_cluster():
    """Five records: what two hold goes to the rest, and the others make chunks of items that are 3^2-anonymous together."""
    rows = [
        ["itunes", "flu", "madonna", "ikea"],
        ["madonna", "flu", "viagra"],
        ["itunes", "madonna"],
        ["itunes", "flu"],
    ]
    rows += [["itunes", "flu", "madonna"]]
    release = shoal.anonymize(rows, shoal.ChunkAnonymity(k=3, m=2), cluster_size=6)
    pieces = zip(release.published["chunk"].texts(), map(tuple, release.published.items.rows()), strict=True)
    assert sorted(pieces) == [
        ("1", ("flu", "itunes")),
        ("1", ("flu", "itunes", "madonna")),
        ("1", ("flu", "itunes", "madonna")),
        ("1", ("flu", "madonna")),
        ("1", ("itunes", "madonna")),
        ("rest", ("ikea", "viagra")),
    ]


def test_what_is_rare_in_each_cluster_is_counted_in_all_of_them():
    """`x` stands in one record of each of four clusters: two that are joined say that it stands in two of their records."""
    rows = [[f"a{i}", *(["x"] if j == 0 else [])] for i in range(4) for j in range(4)]
    published = shoal.anonymize(rows, shoal.ChunkAnonymity(k=2, m=2), cluster_size=4).published
    held = list(zip(published["cluster"].texts(), published["records"].texts(), published.items.rows(), strict=True))
    shared = [(cluster, records) for cluster, records, items in held if items == ["x"]]
    assert [records for _, records in shared] == ["8"] * 4
    assert {cluster.rpartition(".")[0] for cluster, _, items in held if "x" not in items} == {c for c, _ in shared}


def test_what_cannot_be_is_refused():
    with pytest.raises(Unreachable, match="only 3 transactions, fewer than k = 5"):
        shoal.anonymize([["a"]] * 3, shoal.ChunkAnonymity(5, 2))
    with pytest.raises(InputError, match="cannot all have k = 5"):
        shoal.anonymize([["a"]] * 30, shoal.ChunkAnonymity(5, 2), cluster_size=7)
    with pytest.raises(InputError, match="pieces of a record could be put together again"):
        shoal.anonymize([["a"]] * 30, shoal.ChunkAnonymity(5, 2), keep_order=True)
    with pytest.raises(InputError, match="publishes items as they are"):
        shoal.anonymize([["a"]] * 30, shoal.ChunkAnonymity(5, 2), hierarchy="frequency:2")
    release = shoal.anonymize([["a"]] * 30, shoal.ChunkAnonymity(5, 2))
    with pytest.raises(InputError, match="in chunks already"):
        shoal.anonymize(release.published, shoal.ChunkAnonymity(5, 2))
