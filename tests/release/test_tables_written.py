"""Every release of a table with sets can be written in every format, reads back and passes the audit, whatever its tree is called."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import shoal
from random_trees import trees
from rt_tables import column
from shoal.errors import Unreachable
from shoal.hierarchy.tree import Hierarchy
from shoal.records.baskets import Baskets
from shoal.records.records import Records

ALGORITHMS = ("rmerge-r", "rmerge-t", "rmerge-rt", "tmerge-r", "tmerge-t", "tmerge-rt", "rfirst", "tfirst")
FORMATS = ("csv", "tsv", "jsonl", "parquet", "arrow")
# Few letters, and the signs that sets, paths and numbered names are written with.
LABELS = st.text(alphabet='ab(),"/#1', min_size=1, max_size=4)


@st.composite
def worlds(draw):
    """(records, promise, item tree, algorithm, transaction): some items sensitive for (k,l^m)-diversity."""
    tree = draw(trees(LABELS, most_leaves=8))
    names = tree.labels[: tree.n_leaves]
    hidden = [f"s{i}" for i in range(4)]
    with_l = draw(st.booleans())
    rows = draw(st.lists(st.sets(st.sampled_from(names), max_size=3), min_size=4, max_size=16))
    ages = draw(st.lists(st.integers(0, 1), min_size=len(rows), max_size=len(rows)))
    assume(any(rows))  # a hierarchy needs items to generalize
    sets = [sorted(row) + ([hidden[i % 4]] if with_l else []) for i, row in enumerate(rows)]
    table = Records(
        (column("age", ages),), Baskets.from_rows(sets), sensitive_items=frozenset(hidden if with_l else ())
    )
    k, m = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    promise = shoal.LmDiversity(k, 2, m) if with_l else shoal.RTAnonymity(k, m)
    way = draw(st.sampled_from([None, None, "sets", "hybrid", "aa", "exact"]))
    return table, promise, tree, draw(st.sampled_from(ALGORITHMS)), way


def check_written(release, folder, formats=FORMATS):
    """The release in every format: written, read back, audited from the file alone."""
    flags = {"quasi": "age", "items": "items"}
    for form in formats:
        out = folder / f"public.{form}"
        release.write(out, force=True)  # reads it again and compares
        verdict = shoal.audit(
            out, release.guarantee, sensitive=sorted(release.published.sensitive_items) or None, **flags
        )
        assert verdict.holds
    vocabulary = release.published.items.vocabulary
    assert len(set(vocabulary)) == len(vocabulary)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(world=worlds())
def test_every_release_can_be_written_and_read(world, tmp_path):
    table, promise, tree, algorithm, way = world
    try:
        release = shoal.anonymize(
            table,
            promise,
            hierarchy={"items": tree},
            algorithm=algorithm,
            transaction=way,
            delta=1.0 if "merge" in algorithm else None,
        )
    except Unreachable:
        return
    check_written(release, tmp_path)
    # One meaning, one token: what is published for a set of items is the same in every class.
    meanings: dict[frozenset[str], set[str]] = {}
    rules = itertools.groupby(sorted(release.recoding.item_rules(), key=lambda r: (r[0], r[2])), lambda r: (r[0], r[2]))
    for (_, token), members in rules:
        if not token:  # deleted
            continue
        below = _leaves_called(tree, token)
        meanings.setdefault(below or frozenset(item for _, item, _, _ in members), set()).add(token)
    assert all(len(tokens) == 1 for tokens in meanings.values())


def _leaves_called(tree: Hierarchy, name: str) -> frozenset[str]:
    if name not in tree.names:
        return frozenset()
    start, stop = tree.span[tree.names.index(name)]
    return frozenset(tree.labels[leaf] for leaf in tree.leaf_order[start:stop].tolist())


def _world(rows, parents):
    nodes = list(dict.fromkeys([*parents, *parents.values()]))
    tree = Hierarchy.from_parents([nodes.index(parents[v]) if v in parents else -1 for v in nodes], nodes)
    table = Records((column("age", [age for age, _ in rows]),), Baskets.from_rows(items for _, items in rows))
    return table, tree


@pytest.mark.parametrize("label", ["a", "(a,b)", "((a,b))"])
def test_a_category_called_like_an_item_or_a_set_is_told_from_it(label, tmp_path):
    rows = [(1, "ac"), (1, "bc"), (1, "dc"), (1, "ec"), (2, "d"), (2, "e"), (2, "d")]
    table, tree = _world(rows, {"a": "*", "b": "*", "c": "*", "d": "t", "e": "t", "t": "*"})
    tree = replace(tree, labels=tuple(label if name == "t" else name for name in tree.labels))
    release = shoal.anonymize(
        table, shoal.RTAnonymity(2, 1), hierarchy={"items": tree}, algorithm="rfirst", transaction="aa"
    )
    check_written(release, tmp_path)
    assert tree.names[tree.labels.index(label, tree.n_leaves)] in release.published.items.vocabulary


def test_the_tokens_of_a_large_table_with_a_tree_are_told_apart(tmp_path):
    random = np.random.default_rng(3)
    leaves = [f"{i:02d}" for i in range(40)]
    table = Records(
        (column("age", random.integers(0, 30, 400).tolist()),),
        Baskets.from_rows(random.choice(leaves, random.integers(1, 5), replace=False).tolist() for _ in range(400)),
    )
    release = shoal.anonymize(table, shoal.RTAnonymity(5, 1), hierarchy={"items": "balanced:3"}, algorithm="rfirst")
    check_written(release, tmp_path, ("csv", "jsonl"))
