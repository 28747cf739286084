"""The audit of chunks against the slow one, which puts the pieces of small tables together in every way there is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import naive_chunks as naive
import shoal
from shoal.algorithms.chunks.disassociation import disassociation
from shoal.algorithms.recoding import Options
from shoal.errors import InputError
from shoal.records.records import Column, Records

ITEMS = "abcdef"


def records_of(table):
    """(cluster, records, chunk, items) rows as a published table."""
    columns = [
        Column.from_texts(name, "keep", [str(row[i]) for row in table], numeric=False)
        for i, name in enumerate(("cluster", "records", "chunk"))
    ]
    return Records(tuple(columns), shoal.Baskets.from_rows([sorted(row[3]) for row in table]))


def table_of(published):
    names = ("cluster", "records", "chunk")
    texts = [published[name].texts() for name in names]
    return [
        (cluster, int(records), chunk, set(items))
        for cluster, records, chunk, items in zip(*texts, published.items.rows(), strict=True)
    ]


@st.composite
def tables(draw):
    """One cluster, or two that are joined, with items in chunks, shared chunks and rests, whoever would make such a thing."""
    leaves = draw(st.sampled_from((["c1"], ["c1.1", "c1.2"], ["c1.1", "c1.2"])))
    table, joined = [], len(leaves) > 1
    sizes = {leaf: draw(st.integers(2, 3)) for leaf in leaves}
    total = sum(sizes.values())
    shared = draw(st.sets(st.sampled_from(ITEMS), max_size=2)) if joined else set()

    def chunk(label, size, name, items):
        pieces = draw(st.lists(st.sets(st.sampled_from(sorted(items)), min_size=1), min_size=1, max_size=size))
        table.extend((label, size, name, piece) for piece in pieces)

    if shared:
        chunk("c1", total, "1", shared)
    for leaf in leaves:
        places = {item: draw(st.sampled_from(("1", "1", "2", "rest", "none", "none"))) for item in ITEMS}
        own = {name: {item for item, place in places.items() if place == name} for name in ("1", "2", "rest")}
        if draw(st.integers(0, 3)):
            own = {name: items - shared for name, items in own.items()}
        for name in ("1", "2"):
            if own[name]:
                chunk(leaf, sizes[leaf], name, own[name])
        table.append((leaf, sizes[leaf], "rest", own["rest"] - shared))
    return table


@settings(max_examples=150)
@given(tables(), st.integers(1, 3))
def test_what_it_passes_keeps_the_promise_in_every_way_that_records_may_have_been(table, m):
    try:
        verdict = shoal.ChunkAnonymity(2, m).audit(records_of(table))
    except InputError:
        assume(False)
    if verdict.holds:
        assert naive.keeps_promise(table, 2, m)
    else:
        assert verdict.witnesses


@settings(max_examples=60)
@given(st.lists(st.sets(st.sampled_from(ITEMS[:4]), min_size=1, max_size=3), min_size=4, max_size=6), st.integers(1, 3))
def test_what_the_algorithm_makes_keeps_it(rows, m):
    promise = shoal.ChunkAnonymity(2, m)
    found = disassociation(shoal.Baskets.from_rows(rows), promise, None, Options(cluster_size=4))
    published = found.apply(np.random.default_rng(3))
    assert promise.audit(published).holds
    assert naive.keeps_promise(table_of(published), 2, m)


def test_a_shared_chunk_with_an_item_of_a_cluster_below_can_break_the_promise():
    """Each piece of the shared chunk stands there twice, as the paper asks; yet in c1.1 there is room for one `y` alone."""
    table = [("c1.1", 3, "1", {"a"})] * 3 + [("c1.1", 3, "rest", set())]
    table += [("c1.2", 3, "1", {"q"})] * 3 + [("c1.2", 3, "rest", set())]
    table = [(*row[:3], set(row[3])) for row in table]
    shared = [("c1", 6, "1", {"q"})] * 2 + [("c1", 6, "1", {"y"})] * 4
    assert not naive.keeps_promise(table + shared, 2, 2)
    verdict = shoal.ChunkAnonymity(2, 2).audit(records_of(table + shared))
    assert not verdict.holds
    assert verdict.witnesses[0].items == ("q",)
    assert "stands in a chunk of a cluster below" in verdict.witnesses[0].reason


def test_a_cluster_without_a_rest_needs_pieces_for_all_records():
    """Three records with an `a` or a `b`, two of each, and nobody empty: exactly one record has both."""
    table = [("c1", 3, "1", {"a"})] * 2 + [("c1", 3, "2", {"b"})] * 2 + [("c1", 3, "rest", set())]
    assert not naive.keeps_promise(table, 2, 2)
    verdict = shoal.ChunkAnonymity(2, 2).audit(records_of(table))
    assert not verdict.holds
    assert verdict.witnesses[0].support == 4
    assert "without a rest, which needs 5" in verdict.witnesses[0].reason
    assert shoal.ChunkAnonymity(2, 1).audit(records_of(table)).holds
    with_rest = [*table[:-1], ("c1", 3, "rest", {"c"})]
    assert naive.keeps_promise(with_rest, 2, 2)
    assert shoal.ChunkAnonymity(2, 2).audit(records_of(with_rest)).holds


def test_witnesses_name_the_pieces_and_their_cluster():
    table = [("c1", 4, "1", {"a", "b"}), ("c1", 4, "1", {"a"}), ("c1", 4, "1", {"b"}), ("c1", 4, "rest", {"z"})]
    verdict = shoal.ChunkAnonymity(2, 2).audit(records_of(table))
    found = {witness.items: witness for witness in verdict.witnesses}
    assert set(found) == {("a", "b")}
    assert (found["a", "b"].support, found["a", "b"].rows, found["a", "b"].group) == (1, (1,), ("c1",))
    small = shoal.ChunkAnonymity(5, 1).audit(records_of([("c1", 4, "rest", {"z"})]))
    assert (small.holds, small.witnesses[0].support) == (False, 4)


def test_it_counts_clusters_in_which_an_item_stands_everywhere():
    table = [("c1", 2, "1", {"a"})] * 2 + [("c1", 2, "rest", {"z"})]
    table += [("c2", 3, "1", {"b"})] * 2 + [("c2", 3, "rest", {"z"})]
    verdict = shoal.ChunkAnonymity(2, 2).audit(records_of(table))
    assert (verdict.holds, verdict.facts["covered_clusters"], verdict.facts["clusters"]) == (True, 1, 2)
    assert "cover problem" in verdict.notes[0]


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ([("c1", 2, "1", {"a"})] * 2, "has one row 'rest'"),
        ([("c1", 2, "rest", {"a"}), ("c1", 2, "rest", {"b"})], "has one row 'rest'"),
        ([("c1", 2, "rest", set()), ("c1", 3, "1", {"a"})], "another number of records"),
        ([("c1", 0, "rest", {"a"})], "numbers of records, from 1 on"),
        ([("c1", 1, "1", {"a"})] * 2 + [("c1", 1, "rest", set())], "more sub-records than its cluster has records"),
        ([("c1", 2, "1", set()), ("c1", 2, "rest", {"a"})], "a sub-record without items"),
        ([("c1", 2, "1", {"a"}), ("c1", 2, "rest", {"a"})], "stands in two chunks of a cluster"),
        ([("c1", 2, "1", {"a"}), ("c1", 2, "2", {"a"}), ("c1", 2, "rest", set())], "stands in two chunks of a cluster"),
        ([("c1", 9, "1", {"a"}), ("c1.1", 2, "rest", {"b"}), ("c1.2", 2, "rest", {"c"})], "than its parts together"),
        (
            [("c1", 4, "1", {"a"}), ("c1.1", 2, "rest", {"a"}), ("c1.2", 2, "rest", {"c"})],
            "stands in two chunks of a cluster, or in a chunk and in the rest",
        ),
    ],
)
def test_what_is_no_release_in_chunks_is_refused(table, says):
    with pytest.raises(InputError, match=says):
        shoal.ChunkAnonymity(2, 2).audit(records_of(table))


def test_rows_of_sets_are_no_chunks():
    with pytest.raises(InputError, match="has the columns cluster, records, chunk"):
        shoal.audit([["a"], ["a"]], shoal.ChunkAnonymity(2, 2))
