"""What published tokens and cells may stand for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import InputError
from shoal.hierarchy.meanings import cell_meanings, set_members, token_meanings, tree_of_tokens
from shoal.records.records import Column
from strategies import naive_tree, trees


def members_of(meanings):
    """Per token, the names that it stands for."""
    return {
        token: {meanings.domain[i] for i in meanings.members[a:b].tolist()}
        for token, a, b in zip(meanings.tokens, meanings.offsets[:-1], meanings.offsets[1:], strict=True)
    }


@settings(max_examples=100)
@given(trees(min_leaves=2), st.data())
def test_a_node_stands_for_its_leaves_but_the_sensitive_ones(tree, data):
    leaves = tree.labels[: tree.n_leaves]
    items = sorted(data.draw(st.sets(st.sampled_from(leaves), min_size=1)))
    sensitive = data.draw(st.sets(st.sampled_from(items)))
    naive = naive_tree(tree)
    tokens, wanted = [], {}
    for v in range(tree.n_nodes):
        below = {leaves[leaf] for leaf in naive.leaves(v)}
        if v >= tree.n_leaves and below - sensitive:
            tokens.append(tree.names[v])
            wanted[tree.names[v]] = below - sensitive
    found = token_meanings([*tokens, *items], items, tree, sensitive=sensitive)
    assert members_of(found) == wanted | {item: {item} for item in items}
    assert found.size_of_domain == tree.n_leaves
    offsets, holders = found.holders
    for i, name in enumerate(found.domain):
        held = {found.tokens[t] for t in holders[offsets[i] : offsets[i + 1]].tolist()}
        assert held == {token for token, names in members_of(found).items() if name in names}


def test_sets_and_rules_explain_themselves():
    items = ("a", "b", 'c,"d', "e")
    found = token_meanings(("(a,b)", '(a,"c,""d")', "rank[1:2]", "e"), items, rules={"rank[1:2]": ("b", "e")})
    assert list(members_of(found).values()) == [{"a", "b"}, {"a", 'c,"d'}, {"b", "e"}, {"e"}]
    assert found.breadth.tolist() == [2, 2, 2, 1]
    assert members_of(token_meanings(("a", "b"), items, rules={"a": ("a", "e"), "b": ("b",)})) == {
        "a": {"a", "e"},
        "b": {"b"},
    }
    assert not found.disjoint
    assert token_meanings(("(a,b)", "e"), items).disjoint
    assert set_members("((a))", {"a"}) == ("a",)
    assert set_members("(a,)b", {"a"}) == ()


def test_what_means_nothing_is_named():
    with pytest.raises(InputError, match=r"1 published item is neither .*; give the hierarchy or the rules"):
        token_meanings(("milk", "dairy"), ("milk",))


def test_ranges_stars_and_missing_numbers():
    age = Column.from_texts("age", "quasi", ["20", "30", "", "40"])
    shown = Column.from_texts("age", "quasi", ["[20:30]", "", "*", "40", "[20:30)"])
    found = cell_meanings(shown, age)
    assert dict(zip(found.values, found.cost.tolist(), strict=True)) == {
        "": 0.0,
        "*": 1.0,
        "40": 0.0,
        "[20:30]": 0.5,
        "[20:30)": pytest.approx(0.5),
    }
    fits = {value: {found.values[i] for i in np.flatnonzero(found.fitting(value))} for value in age.values}
    assert fits == {
        "": {"", "*"},
        "20": {"*", "[20:30]", "[20:30)"},
        "30": {"*", "[20:30]"},
        "40": {"*", "40"},
    }
    assert not found.fitting("nothing of the kind").any()
    with pytest.raises(InputError, match=r"column 'age': a published value"):
        cell_meanings(Column.from_texts("age", "quasi", ["old"]), age)


def test_a_single_value_and_its_star():
    sex = Column.from_texts("sex", "quasi", ["F"])
    found = cell_meanings(Column.from_texts("sex", "quasi", ["F", "*"]), sex)
    assert found.cost.tolist() == [0.0, 0.0]
    assert found.fitting("F").all()


def test_rules_make_a_tree_where_tokens_nest():
    items = ("a", "b", "c", "d")
    nested = token_meanings(("x", "y", "d"), items, rules={"x": ("a", "b"), "y": ("a", "b", "c")})
    tree = tree_of_tokens(nested, ("x", "y"))
    assert tree is not None
    below = {name: set() for name in tree.names}
    for leaf in range(tree.n_leaves):
        v = leaf
        while v >= 0:
            below[tree.names[v]].add(tree.labels[leaf])
            v = int(tree.parent[v])
    assert (below["x"], below["y"]) == ({"a", "b"}, {"a", "b", "c"})
    crossing = token_meanings(("x", "y"), items, rules={"x": ("a", "b"), "y": ("b", "c")})
    assert tree_of_tokens(crossing, ("x", "y")) is None
