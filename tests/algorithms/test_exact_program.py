"""The program behind `exact`: against the enumeration of all sets of open nodes, of all cuts, and against HiGHS."""

from __future__ import annotations

import time
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from shoal.algorithms.km import exact as search_room
from shoal.algorithms.km import problem as problem_room
from shoal.algorithms.km import program as program_room
from shoal.algorithms.km.apriori import aa
from shoal.algorithms.km.exact import exact
from shoal.algorithms.km.problem import Problem
from shoal.algorithms.km.program import Effort, Part, Program, _lists
from shoal.algorithms.recoding import Options
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.build import balanced_tree
from shoal.kernels.itemsets import conflicts as conflicts_room
from shoal.kernels.itemsets.open_sets import (
    BEST,
    LEVEL,
    NO_LIMIT,
    OpenNodes,
    bit_rows,
    cliques,
    forced_nodes,
    most_possible,
    new_search,
    search_on,
)
from shoal.kernels.itemsets.prefixes import gathered_tails, laid_out
from shoal.price.ncp import ncp
from shoal.records.baskets import Baskets
from strategies import baskets_of, naive_tree, nodes_of, worlds


def cost_of(recoding, rows, hierarchy):
    """NCP times |I| times occurrences, as a whole number."""
    occurrences = np.array([sum(leaf in row for row in rows) for leaf in range(hierarchy.n_leaves)], np.int64)
    return round(ncp(recoding.cut, occurrences)["ncp"] * hierarchy.n_leaves * int(occurrences.sum()))


def random_world(seed):
    """(baskets over 80 items, some frequent and many rare, a tree over them)."""
    rng = np.random.default_rng(seed)
    weight = 1 / np.arange(1, 81)
    draw = [set(rng.choice(80, rng.integers(1, 9), p=weight / weight.sum()).tolist()) for _ in range(2000)]
    baskets = Baskets.from_rows(map(str, row) for row in [*draw, range(80)])
    return baskets, balanced_tree(baskets.vocabulary, 3)


def program_of(parent, weight, pairs, clashes, dropped, budget):
    """The arrays of a program; conflicts are passed on to all below, and the numbers kept as the kernels want them."""
    n = len(parent)
    above = {v: {v} | (above_of(parent, v)) for v in range(n)}
    conflict = np.array(
        [
            [any((a, b) in pairs or (b, a) in pairs for a in above[u] for b in above[v]) for u in range(n)]
            for v in range(n)
        ],
        np.bool_,
    ).reshape(n, n)
    below = np.array([[v in above[u] for u in range(n)] for v in range(n)], np.bool_).reshape(n, n)
    wide = np.full((len(clashes), 5), -1, np.int64)
    for c, clash in enumerate(clashes):
        wide[c, : len(clash)] = clash
    arrays = np.array(weight, np.int64), np.array(parent, np.int64), np.array(dropped, np.int64)
    return OpenNodes(*arrays, budget, bit_rows(below), bit_rows(conflict), *_lists(wide, n))


def above_of(parent, v):
    return {parent[v]} | above_of(parent, parent[v]) if parent[v] >= 0 else set()


@st.composite
def programs(draw, most=9):
    """(parent, weight, pairs, clashes, dropped, budget), numbered so that what lies above comes first."""
    n = draw(st.integers(1, most))
    parent = [draw(st.integers(-1, v - 1)) for v in range(n)]
    related = {(u, v) for v in range(n) for u in above_of(parent, v)}
    apart = [(u, v) for u, v in combinations(range(n), 2) if (u, v) not in related]
    pairs = set(draw(st.lists(st.sampled_from(apart), max_size=12))) if apart else set()
    families = draw(st.lists(st.sets(st.integers(0, n - 1), min_size=3, max_size=5), max_size=6)) if n > 2 else []
    clashes = [sorted(f) for f in families if not any(pair in related for pair in combinations(sorted(f), 2))]
    dropping = draw(st.booleans())
    tops = [v for v in range(n) if parent[v] < 0]
    weight = [draw(st.integers(-8 if dropping and v in tops else 0, 20)) for v in range(n)]
    dropped = [draw(st.integers(1, 9)) if dropping and v in tops else 0 for v in range(n)]
    return parent, weight, pairs, clashes, dropped, draw(st.integers(0, 25)) if dropping else 0


def open_sets(parent, pairs, clashes, dropped, budget):
    """All sets that may be open together, by trying every one: the naive twin."""
    n = len(parent)
    for number in range(1 << n):
        chosen = {v for v in range(n) if number >> v & 1}
        if (
            all(parent[v] < 0 or parent[v] in chosen for v in chosen)
            and not any(u in chosen and v in chosen for u, v in pairs)
            and not any(set(clash) <= chosen for clash in clashes)
            and sum(dropped[v] for v in range(n) if v not in chosen) <= budget
        ):
            yield chosen


def naive_best(parent, weight, pairs, clashes, dropped, budget):
    return max((sum(weight[v] for v in s) for s in open_sets(parent, pairs, clashes, dropped, budget)), default=None)


def new_trail():
    return np.empty(1, np.int64), np.empty(1, np.uint64), 0


def sorted_by_conflicts(program):
    """As `Program` numbers nodes: whatever lies above a node has no more conflicts, and comes first."""
    parent, weight, pairs, clashes, dropped, budget = program
    n = len(parent)
    around = {v: {v} | above_of(parent, v) for v in range(n)}
    degree = [
        sum(any((a, b) in pairs or (b, a) in pairs for a in around[u] for b in around[v]) for u in range(n))
        for v in range(n)
    ]
    order = sorted(range(n), key=lambda v: (degree[v], len(around[v]), v))
    new = {v: i for i, v in enumerate(order)} | {-1: -1}
    return (
        [new[parent[v]] for v in order],
        [weight[v] for v in order],
        {tuple(sorted((new[u], new[v]))) for u, v in pairs},
        [sorted(new[v] for v in clash) for clash in clashes],
        [dropped[v] for v in order],
        budget,
    )


@settings(max_examples=400, deadline=None)
@given(programs(), st.integers(0, 60))
def test_the_search_finds_the_heaviest_of_all_open_sets_and_its_bound_holds_wherever_it_stops(program, steps):
    program = sorted_by_conflicts(program)
    best = naive_best(*program)
    nodes = program_of(*program)
    search, branches = new_search(nodes), np.flatnonzero(nodes.dropped)
    trail = search_on(nodes, search, branches, steps, new_trail())
    assert best is None or most_possible(nodes, search) >= best >= search.numbers[BEST]
    search_on(nodes, search, branches, NO_LIMIT, trail)
    assert search.numbers[LEVEL] == -1
    if best is None:
        assert search.numbers[BEST] == -NO_LIMIT
    else:
        chosen = set(np.flatnonzero(search.best).tolist())
        assert search.numbers[BEST] == best == sum(program[1][v] for v in chosen)
        assert chosen in list(open_sets(program[0], *program[2:]))
    assert (nodes.conflicts == program_of(*program).conflicts).all()  # all conflicts that clashes made are gone again


@settings(max_examples=150, deadline=None)
@given(programs())
def test_cliques_cover_every_conflict_and_nothing_else(program):
    nodes = program_of(*sorted_by_conflicts(program))
    n = len(nodes.weight)
    starts, members = cliques(nodes.conflicts)
    groups = [members[a:b].tolist() for a, b in pairwise(starts.tolist())]
    covered = {pair for group in groups for pair in combinations(sorted(group), 2)}
    flags = np.unpackbits(nodes.conflicts.view(np.uint8), axis=1, bitorder="little")[:, :n]
    assert covered == {(u, v) for u, v in combinations(range(n), 2) if flags[u, v]}


@settings(max_examples=200, deadline=None)
@given(programs(), st.integers(0, 60))
def test_what_is_decided_is_so_in_every_set_of_that_weight(program, least):
    program = sorted_by_conflicts(program)
    nodes = program_of(*program)
    must_open, must_close, bound = forced_nodes(nodes.weight, nodes.below, nodes.conflicts, least)
    for chosen in open_sets(program[0], *program[2:]):
        weight = sum(program[1][v] for v in chosen)
        assert weight <= bound
        if weight >= least:
            assert all(
                (not must_open[v] or v in chosen) and (not must_close[v] or v not in chosen)
                for v in range(len(nodes.weight))
            )


@settings(max_examples=60, deadline=None)
@given(programs(most=14), st.booleans())
def test_highs_and_our_own_search_agree(program, highs):
    program = sorted_by_conflicts(program)
    nodes = program_of(*program)
    part = Part(nodes, np.arange(len(nodes.weight)), 1e3)
    effort = Effort(1e12, None, time.monotonic())
    if highs:
        part._ask_highs(nodes.conflicts.copy(), effort, 1.0)
    else:
        part.improve(np.zeros(len(nodes.weight), np.bool_), effort, 1.0, lambda: None)
    best = naive_best(*program)
    assert part.is_settled
    assert part.is_infeasible == (best is None)
    if best is not None:
        assert part.gain == part.most == best


@settings(max_examples=250, deadline=None)
@given(worlds())
def test_conflicts_at_all_levels_allow_the_cuts_that_keep_the_promise_and_no_others(world):
    hierarchy, rows, k, m = world
    problem = Problem(baskets_of(rows, hierarchy), KmAnonymity(k, m), hierarchy, price="ncp")
    program = Program(problem, 0)
    for size in range(2, problem.m + 1):
        known = program.knowledge(hierarchy.height)
        tokens = program.tokens(hierarchy.height)
        found = problem.conflicts_at_all_levels(tokens, len(tokens), size, known.relations)
        program.add(known.free[found.pairs], np.where(found.clashes >= 0, known.free[found.clashes], -1))
    tree = naive_tree(hierarchy)
    pairs = [divmod(int(code), len(program.price)) for code in program.pairs]
    clashes = [{v for v in clash if v >= 0} for clash in program.clashes.tolist()]
    for cut in tree.cuts():
        is_open = {v for u in cut for v in above_of(hierarchy.parent.tolist(), u)}
        allowed = (
            not any(program.is_closed[v] for v in is_open)
            and not any(u in is_open and v in is_open for u, v in pairs)
            and not any(clash <= is_open for clash in clashes)
        )
        assert allowed == naive.is_km_anonymous(tree.generalized(rows, cut), k, problem.m)


ROADS = {
    "round by round": [(problem_room, "MOST_SETS", -1.0)],
    "from listed sets": [(search_room, "LARGEST", -1)],
    "by HiGHS": [(program_room, "QUICK", 0.0), (problem_room, "MOST_SETS", 30.0)],
    "few clashes at a time": [(conflicts_room, "MOST_CLASHES", 1)],
    "without trials": [(program_room, "MOST_TRIALS", -1), (problem_room, "MOST_SETS", 30.0)],
}


@pytest.mark.parametrize("road", ROADS)
@settings(max_examples=60, deadline=None)
@given(worlds(), st.sampled_from([0.0, 0.3, 0.6]))
def test_every_road_leads_to_the_optimum(road, world, share):
    hierarchy, rows, k, m = world
    tree, budget = naive_tree(hierarchy), int(share * sum(map(len, rows)) + 1e-9)
    with pytest.MonkeyPatch.context() as patch:
        for room, name, value in ROADS[road]:
            patch.setattr(room, name, value)
        recoding = exact(
            baskets_of(rows, hierarchy), KmAnonymity(k, m), hierarchy, Options(price="ncp", suppress=share)
        )
    assert recoding.optimal
    best = naive.best_cut_with_dropping(tree, rows, k, m, budget) if budget else naive.best_cut(tree, rows, k, m)
    assert cost_of(recoding, rows, hierarchy) == best


@pytest.mark.parametrize("effort", [0.0, 1e4, 3e4, 1e5])
def test_after_its_effort_the_search_returns_a_cut_its_gap_and_how_to_go_on(effort, monkeypatch):
    baskets, tree = random_world(3)
    promise = KmAnonymity(5, 3)
    best = exact(baskets, promise, tree, Options(price="ncp"))
    monkeypatch.setattr(search_room, "EFFORT", effort)
    runs = [exact(baskets, promise, tree, Options(price="ncp", threads=t)) for t in (1, 2)]
    assert nodes_of(runs[0].cut) == nodes_of(runs[1].cut)
    assert runs[0].bound == runs[1].bound
    assert promise.audit(runs[0].apply(baskets)).holds
    assert runs[0].bound <= best.bound <= runs[0].bound + runs[0].facts["gap"] + 1e-12
    if not runs[0].optimal:
        assert "time_limit" in runs[0].notes[0] or "time limit" in runs[0].notes[0]
    assert effort > 0 or not runs[0].optimal


def test_a_program_that_is_not_proven_at_once_is_given_more_patience(monkeypatch):
    """With no patience to begin with, neither our own search nor HiGHS proves anything in the first rounds."""
    baskets, tree = random_world(4)
    promise = KmAnonymity(5, 3)
    best = exact(baskets, promise, tree, Options(price="ncp"))
    for name in ("QUICK", "LONG", "NODES", "ENTRIES"):
        monkeypatch.setattr(program_room, name, 1)
    patient = exact(baskets, promise, tree, Options(price="ncp"))
    assert patient.optimal
    assert patient.bound == best.bound


def test_progress_carries_best_and_bound_as_numbers_that_close_in_on_each_other():
    baskets, tree = random_world(3)
    told = []
    options = Options(price="ncp", progress=lambda doing, share, best, bound: told.append((best, bound)))
    recoding = exact(baskets, KmAnonymity(5, 2), tree, options)
    bounds = [bound for _, bound in told]
    assert bounds == sorted(bounds)
    bests = [best for best, _ in told if best is not None]
    assert bests == sorted(bests, reverse=True)
    assert bests[-1] >= recoding.bound == bounds[-1]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sets(st.sampled_from("abcdefg"), min_size=1), min_size=1, max_size=20), st.integers(2, 4))
def test_pairs_in_conflict_are_those_of_the_walk(rows, k):
    baskets = Baskets.from_rows(rows)
    n = len(baskets.vocabulary)
    order = np.argsort(baskets.supports(), kind="stable")
    token = np.empty(n, np.int32)
    token[order] = np.arange(n, dtype=np.int32)
    laid = laid_out(baskets.offsets, baskets.items, token, n, 1)
    itself, none = bit_rows(np.eye(n, dtype=np.bool_)), bit_rows(np.zeros((n, n), np.bool_))
    relations = conflicts_room.Relations(np.arange(n, dtype=np.int32), itself, none)
    quick = conflicts_room.conflicts(laid, 0, n, k, 2, relations)
    by_walk = none.copy()
    gathered = gathered_tails(laid, 0, n, 2)
    _, steps = conflicts_room.find_conflicts(
        gathered, laid.support, laid.crowd, None, 0, n, k, 2, relations, by_walk, 9
    )
    assert quick.steps == steps
    assert {tuple(pair) for pair in quick.pairs.tolist()} == {
        (v, u) for v in range(n) for u in range(n) if int(by_walk[v, u >> 6]) >> (u & 63) & 1
    }


def test_a_time_limit_leaves_a_good_cut_before_all_levels_are_looked_at(monkeypatch):
    baskets, tree = random_world(3)
    options = Options(price="ncp", time_limit=1e9)
    best = exact(baskets, KmAnonymity(5, 3), tree, Options(price="ncp"))
    greedy = aa(baskets, KmAnonymity(5, 3), tree, options)

    def expire(*_):
        raise program_room.Expired

    monkeypatch.setattr(problem_room.Problem, "conflicts_at_all_levels", expire)
    recoding = exact(baskets, KmAnonymity(5, 3), tree, options)
    occurrences = baskets.supports()
    assert KmAnonymity(5, 3).audit(recoding.apply(baskets)).holds
    assert best.bound <= ncp(recoding.cut, occurrences)["ncp"] <= ncp(greedy.cut, occurrences)["ncp"] < 1


@settings(max_examples=40, deadline=None)
@given(worlds(), st.sampled_from([0.0, 0.3, 0.6]), st.sampled_from([0, 500]))
def test_wherever_the_clock_stops_the_cut_keeps_the_promise_and_only_gets_better(world, share, many):
    """The clock is looked at a number of times, and then time is up."""
    hierarchy, rows, k, m = world
    tree, budget = naive_tree(hierarchy), int(share * sum(map(len, rows)) + 1e-9)
    best = naive.best_cut_with_dropping(tree, rows, k, m, budget) if budget else naive.best_cut(tree, rows, k, m)
    baskets, whole = baskets_of(rows, hierarchy), hierarchy.n_leaves * max(1, sum(map(len, rows)))
    last, is_optimal, looks = np.inf, False, 0
    while not is_optimal:
        left = iter(range(looks))

        def check(_effort, _share=0.0, left=left):
            if next(left, None) is None:
                raise program_room.Expired

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(search_room, "MANY", many)
            patch.setattr(program_room.Effort, "check", check)
            options = Options(price="ncp", suppress=share, time_limit=1e9, threads=1)
            recoding = exact(baskets, KmAnonymity(k, m), hierarchy, options)
        cost, is_optimal, looks = cost_of(recoding, rows, hierarchy), recoding.optimal, 2 * looks + 1
        assert KmAnonymity(k, m).audit(recoding.apply(baskets)).holds
        assert sum(recoding.cut.node[leaf] < 0 for row in rows for leaf in row) <= budget
        assert best <= cost <= last
        assert recoding.bound <= best / whole + 1e-12
        last = cost
    assert last == best
