import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
import naive_local
import strategies
from shoal.algorithms.km.exact import exact
from shoal.algorithms.km.lra import Splitting, exposed_rows, lra
from shoal.algorithms.km.problem import Problem
from shoal.algorithms.km.refinement import Refinement
from shoal.algorithms.recoding import Options
from shoal.errors import InputError, Unreachable
from shoal.guarantees.km import KmAnonymity
from shoal.guarantees.km_local import LocalKmAnonymity
from shoal.hierarchy.build import balanced_tree
from shoal.hierarchy.tree import Hierarchy
from shoal.kernels.itemsets.descents import WrittenRows, rare_beside, rows_to_fill, settle_pairs, settle_triples
from shoal.models.km import with_knowledge
from shoal.price.levels import ncp_price
from shoal.price.ncp import leaf_occurrences, local_ncp, ncp
from shoal.records.baskets import Baskets
from shoal.release import anonymize

DATA = os.environ.get("SHOAL_DATA")


def published_nodes(recoding, baskets):
    """Per row, the set of nodes that it holds."""
    return [set(recoding.node[a:b].tolist()) for a, b in zip(baskets.offsets[:-1], baskets.offsets[1:], strict=True)]


def written_rows(rows, n_children):
    """Sets of tokens as kernels that move a node down read them."""
    starts = np.cumsum([0, *map(len, rows)])
    behind = starts[:-1] + [sum(token <= n_children for token in row) for row in rows]
    return WrittenRows(starts, behind, np.array([token for row in rows for token in sorted(row)], np.int32))


def shop(n=400, seed=7):
    """Two kinds of customers, with a long tail of rare combinations."""
    lot = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        items = lot.zipf(1.6, size=lot.integers(1, 6)) % 12
        rows.append([f"{'ab'[i % 2]}{item:02}" for item in items])
    return Baskets.from_rows(rows)


@given(strategies.worlds())
def test_every_attacker_finds_k_rows_or_none(world):
    hierarchy, rows, k, m = world
    baskets = strategies.baskets_of(rows, hierarchy)
    recoding = lra(baskets, KmAnonymity(k, m), hierarchy, Options(price="ncp"))
    nodes = published_nodes(recoding, baskets)
    tree = strategies.naive_tree(hierarchy)
    assert naive.is_km_anonymous(nodes, k, m)
    assert naive_local.is_locally_anonymous(tree, nodes, k, m)
    assert LocalKmAnonymity(k, m, hierarchy).audit(recoding.apply(baskets)).holds


@given(strategies.worlds())
def test_it_loses_no_more_than_the_best_cut(world):
    hierarchy, rows, k, m = world
    baskets = strategies.baskets_of(rows, hierarchy)
    recoding = lra(baskets, KmAnonymity(k, m), hierarchy, Options(price="ncp"))
    tree = strategies.naive_tree(hierarchy)
    cost = naive_local.cost(tree, rows, published_nodes(recoding, baskets))
    assert cost <= naive.best_cut(tree, rows, k, m)
    scale = max(1, hierarchy.n_leaves * baskets.occurrences)
    assert local_ncp(hierarchy, recoding.node)["ncp"] == pytest.approx(cost / scale)


@given(strategies.worlds())
def test_every_item_is_published_as_itself_or_something_above_it(world):
    hierarchy, rows, k, m = world
    baskets = strategies.baskets_of(rows, hierarchy)
    recoding = lra(baskets, KmAnonymity(k, m), hierarchy, Options(price="ncp"))
    tree = strategies.naive_tree(hierarchy)
    leaves = hierarchy.leaves_of(baskets.vocabulary)[baskets.items].tolist()
    assert all(node in tree.ancestors(leaf) for leaf, node in zip(leaves, recoding.node.tolist(), strict=True))
    for nodes in published_nodes(recoding, baskets):
        assert not any(v != w and v in tree.ancestors(w) for v in nodes for w in nodes)


@given(strategies.worlds())
def test_every_single_move_keeps_the_promise(world):
    hierarchy, rows, k, m = world
    baskets = strategies.baskets_of(rows, hierarchy)
    problem = Problem(baskets, KmAnonymity(k, m), hierarchy, price="ncp")
    cells = Refinement(problem, np.full(len(baskets.items), hierarchy.root, np.int32))
    for u in range(hierarchy.n_nodes - 1, hierarchy.n_leaves - 1, -1):
        before = cells.cost
        moved = cells.descend(u)
        nodes = [set(cells.node[a:b].tolist()) for a, b in zip(baskets.offsets[:-1], baskets.offsets[1:], strict=True)]
        assert naive.is_km_anonymous(nodes, k, m)
        assert cells.cost < before if moved and hierarchy.leaf_count[u] > 1 else cells.cost == before


@given(st.lists(st.sets(st.integers(0, 6), max_size=4), min_size=1, max_size=12), st.integers(1, 4), st.integers(1, 4))
def test_clean_rows_are_the_largest_set_that_keeps_the_promise(rows, k, m):
    baskets = Baskets.from_rows([str(item) for item in row] for row in rows)
    tree = balanced_tree(baskets.vocabulary or ("*",), 2)
    splitting = Splitting(baskets, KmAnonymity(k, m), tree, ncp_price(tree), Options(price="ncp"))
    clean = splitting._clean(baskets, np.arange(tree.n_leaves, dtype=np.int32))
    assert set(np.flatnonzero(clean).tolist()) == naive_local.clean_rows(rows, k, m)


@given(st.lists(st.sets(st.integers(0, 6), max_size=5), min_size=1, max_size=12), st.integers(1, 4), st.integers(1, 4))
def test_exposed_rows_hold_a_rare_set(rows, k, m):
    rare = naive.violations(rows, k, m)
    expected = [any(itemset <= row for itemset in rare) for row in rows]
    baskets = Baskets.from_rows([str(item) for item in row] for row in rows)
    assert exposed_rows(baskets, k, m).tolist() == expected


@given(
    st.lists(st.tuples(st.sets(st.integers(0, 5), max_size=5), st.booleans()), min_size=1, max_size=8),
    st.lists(st.sets(st.integers(0, 5), min_size=1, max_size=3), min_size=1, max_size=4),
    st.integers(1, 4),
)
def test_rows_join_one_by_one_until_every_set_has_enough(rows, sets, k):
    padded = np.array([[0] + [token + 2 for token in sorted(one)] + [-1] * (3 - len(one)) for one in sets], np.int32)
    written = written_rows([{1} | {token + 2 for token in row} for row, _ in rows], 1)
    found = rows_to_fill(written, padded, np.array([stays for _, stays in rows]), k)
    assert np.flatnonzero(found).tolist() == naive_local.rows_to_fill(rows, sets, k)


def test_rows_with_rare_company_do_not_pull_the_others_up():
    tree = Hierarchy.from_parents([4, 4, 5, 5, 6, 6, -1], ["a1", "a2", "b1", "b2", "A", "B", "*"])
    rows = [["a1"]] * 5 + [["a2"]] * 5 + [["a1", "b1"]] * 2 + [["a2", "b2"]] * 3
    baskets = Baskets.from_rows(rows)
    guarantee = KmAnonymity(5, 2)
    whole = exact(baskets, guarantee, tree, Options(price="ncp"))
    recoding = lra(baskets, guarantee, tree, Options(price="ncp"))
    # One cut needs A and B, or worse, everywhere; ten rows can do without.
    assert ncp(whole.cut, leaf_occurrences(tree, baskets))["ncp"] == 0.5
    assert local_ncp(tree, recoding.node)["ncp"] == pytest.approx(10 * 2 / (4 * 20))
    assert [sorted(row) for row in recoding.apply(baskets).rows()] == ([["a1"]] * 5 + [["a2"]] * 5 + [["A", "B"]] * 5)


def test_the_answer_does_not_depend_on_threads():
    baskets, guarantee = shop(), KmAnonymity(4, 2)
    tree = balanced_tree(baskets.vocabulary, 3)
    one, two = (lra(baskets, guarantee, tree, Options(price="ncp", threads=n)) for n in (1, 2))
    assert np.array_equal(one.node, two.node)
    assert local_ncp(tree, one.node)["ncp"] < one.facts["loss_of_cut"]


def test_segments_cap_the_number_of_parts():
    baskets, guarantee = shop(), KmAnonymity(4, 2)
    tree = balanced_tree(baskets.vocabulary, 3)
    assert lra(baskets, guarantee, tree, Options(price="ncp", segments=1)).facts["parts"] == 1
    whole = Splitting(baskets, guarantee, tree, ncp_price(tree), Options(price="ncp"))
    start = whole.part(np.arange(len(baskets)))
    for parts in whole.partitions(start, 3, 10**9, lambda share: True):
        assert len(parts) <= 3
        assert np.array_equal(np.sort(np.concatenate([part.rows for part in parts])), np.arange(len(baskets)))
        assert sum(part.cost for part in parts) < start.cost


def test_a_time_limit_ends_the_search_with_what_there_is():
    baskets, guarantee = shop(), KmAnonymity(4, 2)
    tree = balanced_tree(baskets.vocabulary, 3)
    recoding = lra(baskets, guarantee, tree, Options(price="ncp", time_limit=1e-9))
    assert "time limit" in recoding.notes[0]
    assert LocalKmAnonymity(4, 2, tree).audit(recoding.apply(baskets)).holds


@pytest.mark.parametrize("rows", [[["a"]] * 3, [["a", "b"]] * 3, [[], ["a"], ["a"], ["a"]], [[], []]])
def test_small_and_equal_rows_stay_as_they_are(rows):
    baskets = Baskets.from_rows(rows)
    tree = balanced_tree(("a", "b"), 2)
    assert lra(baskets, KmAnonymity(3, 2), tree, Options(price="ncp")).apply(baskets) == baskets


def test_too_few_rows_are_refused():
    with pytest.raises(Unreachable):
        lra(Baskets.from_rows([["a"], ["b"]]), KmAnonymity(3, 2), balanced_tree(("a", "b"), 2), Options(price="ncp"))


def test_a_local_recoding_is_for_its_own_rows():
    baskets = shop(60)
    recoding = lra(baskets, KmAnonymity(3, 2), balanced_tree(baskets.vocabulary, 3), Options(price="ncp"))
    with pytest.raises(InputError, match="the rows that it was made for"):
        recoding.apply(baskets.take(np.arange(10)))


def test_a_release_tells_what_became_of_what(tmp_path):
    baskets = shop()
    release = anonymize(baskets, KmAnonymity(4, 2), hierarchy="balanced:3", algorithm="lra", price="ncp")
    assert release.audit.holds
    assert release.guarantee.to_dict()["local"] is True
    assert release.loss["ncp"] < release.details["local"]["loss_of_cut"]
    rules = list(release.rules())
    assert sum(int(rows) for _, _, rows in rules) == baskets.occurrences
    assert sum(level["occurrences"] for level in release.details["levels"]) == baskets.occurrences
    written = release.write(tmp_path / "out.csv", rules=tmp_path / "rules.csv")
    assert (tmp_path / "rules.csv").read_text().startswith("item,published,rows\n")
    tree = balanced_tree(baskets.vocabulary, 3)
    from shoal.records.source import load_sets

    again = load_sets(written.targets.data, separator=written.layout.separator).baskets
    assert with_knowledge(KmAnonymity(4, 2), tree).audit(again).holds


def test_an_audit_needs_the_tree_itself():
    with pytest.raises(InputError, match="as a file"):
        with_knowledge(KmAnonymity(4, 2), "frequency:5")


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 1000), st.integers(2, 6), st.integers(1, 3))
def test_larger_data_keeps_the_promise(seed, k, m):
    baskets = shop(250, seed)
    tree = balanced_tree(baskets.vocabulary, 2)
    recoding = lra(baskets, KmAnonymity(k, m), tree, Options(price="ncp"))
    assert naive.is_km_anonymous(published_nodes(recoding, baskets), k, m)


@pytest.mark.skipif(not DATA, reason="SHOAL_DATA is not set")
def test_local_recoding_loses_less_than_half_of_the_optimal_cut_on_groceries():
    from shoal.records.source import load_sets

    folder = Path(DATA) / "groceries"
    baskets = load_sets(folder / "groceries.dat.gz").baskets
    release = anonymize(
        baskets, KmAnonymity(5, 2), hierarchy=folder / "groceries_hierarchy.csv", algorithm="lra", price="ncp"
    )
    assert release.loss["ncp"] < 0.5 * release.details["local"]["loss_of_cut"]


@given(strategies.worlds())
def test_moves_without_pair_counters_keep_the_promise_too(world):
    hierarchy, rows, k, m = world
    baskets = strategies.baskets_of(rows, hierarchy)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shoal.algorithms.km.refinement.MOST_COUNTERS", 0)
        recoding = lra(baskets, KmAnonymity(k, m), hierarchy, Options(price="ncp"))
    assert naive.is_km_anonymous(published_nodes(recoding, baskets), k, m)


@st.composite
def moves(draw, largest=10):
    """(rows with children 1 to 3 in place of u, k)."""
    children, others = st.sets(st.integers(1, 3), min_size=1), st.sets(st.integers(4, 7))
    rows = [a | b for a, b in draw(st.lists(st.tuples(children, others), min_size=1, max_size=largest))]
    return rows, draw(st.integers(1, 4))


@given(moves(), st.integers(1, 2))
def test_pairs_are_settled_as_by_counting_anew(move, m):
    rows, k = move
    down = np.ones(len(rows), np.bool_)
    settle_pairs(written_rows(rows, 3), len(rows), 3, 8, k, m > 1, down)
    assert down.tolist() == naive_local.rows_that_go_down(rows, len(rows), 3, k, m)


@given(moves(largest=14))
def test_triples_are_settled_as_by_counting_anew(move):
    rows, k = move
    down, asked = np.ones(len(rows), np.bool_), np.ones(4, np.bool_)
    assert settle_triples(written_rows(rows, 3), len(rows), 3, 8, k, 64, down, asked) >= 0
    assert set(np.flatnonzero(down).tolist()) == naive_local.clean_rows(rows, k, 3, {1, 2, 3})


def test_triples_of_too_much_company_are_left_to_others():
    down, asked = np.ones(2, np.bool_), np.ones(2, np.bool_)
    assert settle_triples(written_rows([{1, 2, 3, 4}] * 2, 1), 2, 1, 5, 2, 8, down, asked) == -1


@given(moves(), st.integers(1, 3))
def test_rare_company_of_rows_that_stay_is_found_smallest_first(move, m):
    rows, k = move
    stay = np.arange(len(rows)) % 2 == 0
    found = rare_beside(written_rows(rows, 3), stay, 8, k, m, 1000)
    staying = [(row - {1, 2, 3}) | {0} for row in rows[::2]]
    rare = [one for one in naive.violations(staying, k, m) if 0 in one]
    least = min(map(len, rare), default=0)
    assert {frozenset(one.tolist()) for one in found} == {frozenset(one) for one in rare if len(one) == least}


def test_figure_2_of_the_paper_loses_less_than_its_cut():
    # Figure 1's tree and Figure 2a's rows, for 2^2-anonymity: the optimal cut {A, b1, b2} costs 2.5/11.
    tree = Hierarchy.from_parents([4, 4, 5, 5, 6, 6, -1], ["a1", "a2", "b1", "b2", "A", "B", "*"])
    rows = [["a1", "b1", "b2"], ["a2", "b1"], ["a2", "b1", "b2"], ["a1", "a2", "b2"]]
    baskets = Baskets.from_rows(rows)
    recoding = lra(baskets, KmAnonymity(2, 2), tree, Options(price="ncp"))
    assert recoding.facts["loss_of_cut"] == pytest.approx(2.5 / 11)
    assert local_ncp(tree, recoding.node)["ncp"] <= 2.5 / 11
    assert LocalKmAnonymity(2, 2, tree).audit(recoding.apply(baskets)).holds
