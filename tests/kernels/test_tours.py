"""Loops: PrimTSP against the printed algorithm, and the parts of the genetic algorithm."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive_transactions as naive
from shoal.kernels.classes.evolution import cross, draw, evolved_loop, loop_length
from shoal.kernels.classes.tours import neighbour_lists, shortest_loop


@st.composite
def distances(draw, max_nodes=12, largest=9):
    """Any symmetric matrix: small numbers, so that ties abound."""
    n = draw(st.integers(1, max_nodes))
    edges = draw(st.lists(st.integers(0, largest), min_size=n * n, max_size=n * n))
    matrix = np.array(edges, np.int32).reshape(n, n)
    matrix = np.triu(matrix, 1)
    return matrix + matrix.T


@settings(max_examples=300)
@given(distances() | distances(largest=2) | distances(max_nodes=25))
def test_prim_tsp_is_the_printed_one(distance):
    loop, length = shortest_loop(distance)
    assert (loop.tolist(), length) == naive.prim_loop(distance.tolist())
    assert length == loop_length(distance, loop)


def test_prim_tsp_on_transactions():
    """Distances of real sets, more of them: the search is left early here."""
    rng = np.random.default_rng(1)
    for n_items, share in ((12, 0.3), (40, 0.5), (30, 0.1)):
        bits = (rng.random((70, n_items)) < share).astype(np.int32)
        distance = (bits[:, None] != bits[None]).sum(2).astype(np.int32)
        loop, length = shortest_loop(distance)
        assert (loop.tolist(), length) == naive.prim_loop(distance.tolist())


@given(distances(largest=3))
def test_neighbours_by_distance_then_order(distance):
    for i, row in enumerate(neighbour_lists(distance).tolist()):
        assert row == sorted(set(range(len(distance))) - {i}, key=lambda j: (distance[i, j], j))


@given(st.integers(1, 9).flatmap(lambda n: st.tuples(*[st.permutations(range(n))] * 2, *[st.integers(0, n)] * 2)))
def test_order_crossover(case):
    one, other, low, high = case
    low, high = min(low, high), max(low, high)
    child = np.full(len(one), -1, np.int32)
    cross(np.array(one, np.int32), np.array(other, np.int32), low, high, np.zeros(len(one), np.bool_), child)
    assert child.tolist() == naive.order_crossover(one, other, low, high)
    assert sorted(child.tolist()) == list(range(len(one)))


@settings(max_examples=100)
@given(distances(), st.integers(1, 6), st.integers(0, 8), st.integers(0, 2**64 - 1))
def test_evolution_keeps_its_best(distance, population, generations, seed):
    loop, length = evolved_loop(distance, population, generations, np.uint64(seed))
    assert sorted(loop.tolist()) == list(range(len(distance)))
    assert length == loop_length(distance, loop)
    again, _ = evolved_loop(distance, population, generations, np.uint64(seed))
    assert loop.tolist() == again.tolist()
    assert length <= evolved_loop(distance, population, 0, np.uint64(seed))[1]


def test_evolution_finds_the_way_around_a_circle():
    angle = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    points = 1000 * np.stack([np.cos(angle), np.sin(angle)], 1)
    distance = np.linalg.norm(points[:, None] - points[None], axis=2).astype(np.int32)
    around = loop_length(distance, np.arange(12))
    assert evolved_loop(distance, 50, 200, np.uint64(1))[1] == around


def test_draws_are_splitmix64_and_even():
    state = np.array([1234567], np.uint64)
    # The first outputs of SplitMix64 for this seed are 6457827717110365317 and 3203168211198807973.
    assert [draw(state, 1000), draw(state, 1000)] == [
        6457827717110365317 * 1000 >> 64,
        3203168211198807973 * 1000 >> 64,
    ]
    counts = np.bincount([draw(state, 7) for _ in range(7000)], minlength=7)
    assert counts.min() > 850
    assert counts.max() < 1150


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_nodes_have_one_loop(n):
    distance = (1 - np.eye(n)).astype(np.int32)
    assert shortest_loop(distance)[1] == evolved_loop(distance, 3, 5, np.uint64(0))[1] == (0 if n == 1 else n)
