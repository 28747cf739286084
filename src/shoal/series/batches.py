"""Batches: rows that are published once each. Every batch keeps the promise by itself, under one cut that only becomes coarser.

The first batch chooses the cut, by `hybrid` (or `exact`, which deletes nothing). Later ones keep it, so that a token means the same in
all of them and batches can be put together; what would break the promise waits, is deleted within the budget or, when it has waited long
enough, makes the cut coarser (`holding`). What the ledger's state holds between batches is here: the tree, the cut, and the rows that wait.

Where people are counted, a row that waits has the keyed hash of its person, so that a row of the same person in a later batch makes no
other person of it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.algorithms import OF_SERIES, algorithm
from shoal.algorithms.km.problem import crowd_of
from shoal.algorithms.recoding import Options, Recoding
from shoal.errors import InputError, number_of, option
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.cut import Cut
from shoal.hierarchy.spec import is_made
from shoal.hierarchy.tree import Hierarchy
from shoal.models.km import HIERARCHY, resolve_hierarchy, with_defaults
from shoal.numbers import Ints
from shoal.records.baskets import Baskets
from shoal.series.holding import Going, going_out


@dataclass(frozen=True, eq=False)
class Waiting:
    """Rows that wait, and for how many batches each has waited."""

    baskets: Baskets
    ages: Ints
    marks: tuple[str, ...] = ()
    """The keyed hashes of their people, by number, where people are counted."""

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> Waiting:
        rows = state.get("waiting") or {"items": [], "lengths": [], "codes": [], "ages": []}
        lengths, codes = np.array(rows["lengths"], np.int64), np.array(rows["codes"], np.int64)
        whose = np.array(rows["people"], np.int32) if "people" in rows else None
        baskets = replace(Baskets.from_codes(lengths, codes, rows["items"]), people=whose)
        return cls(baskets, np.array(rows["ages"], np.int64), tuple(rows.get("marks", ())))

    def to_dict(self) -> dict[str, Any]:
        baskets = self.baskets
        rows = {
            "items": list(baskets.vocabulary),
            "lengths": baskets.lengths.tolist(),
            "codes": baskets.items.tolist(),
            "ages": self.ages.tolist(),
        }
        if baskets.people is None:
            return rows
        people, number = np.unique(baskets.people, return_inverse=True)
        return {**rows, "people": number.tolist(), "marks": [self.marks[person] for person in people.tolist()]}

    def then(self, new: Baskets, marks: Sequence[str] = ()) -> Waiting:
        """These rows, then new ones; `marks` are the hashes of their people."""
        baskets, place = joined_rows((self.baskets, new)), {mark: number for number, mark in enumerate(self.marks)}
        if new.people is not None:
            number = np.array([place.setdefault(mark, len(place)) for mark in marks], np.int32)[new.people]
            before = np.zeros(0, np.int32) if self.baskets.people is None else self.baskets.people
            baskets = replace(baskets, people=np.concatenate((before, number)))
        return Waiting(baskets, np.concatenate((self.ages, np.zeros(len(new), np.int64))), tuple(place))


@dataclass(frozen=True, eq=False)
class Batch:
    """What a run publishes of the rows that waited and those that are new."""

    going: Going | None
    """None where nothing can be published yet."""
    rows: Baskets
    """Those that go out, as they were."""
    options: Options
    state: Mapping[str, Any]
    """What the ledger holds from now on."""
    waiting: int
    ages: Mapping[str, int]
    """How many rows wait, by the number of batches that each has waited for."""
    cut_changed: bool
    notes: tuple[str, ...] = ()


def next_batch(
    state: Mapping[str, Any],
    new: Baskets,
    guarantee: KmAnonymity,
    asked: Mapping[str, Any],
    options: Options,
    wait: int,
    marks: Sequence[str] = (),
) -> Batch:
    """The next batch of a series, and the state after it. `marks` are the keyed hashes of the people of the new rows, by number."""
    name = asked["algorithm"] or OF_SERIES[0]
    options = with_defaults(name, asked, options)
    queue = Waiting.of(state).then(new, marks)
    baskets = queue.baskets
    notes: tuple[str, ...] = ()
    going, tree, cut, changed = None, None, None, False
    if state.get("cut") is not None:
        before = _tree_of(state["tree"])
        tree, notes = grown_tree(before, asked["hierarchy"], baskets, asked["unknown"])
        cut = cut_of(tree, state["cut"])
    if crowd_of(baskets) >= guarantee.k:
        if cut is None or tree is None:
            spec = HIERARCHY if asked["hierarchy"] is None else asked["hierarchy"]
            tree = resolve_hierarchy(spec, baskets, unknown=asked["unknown"], promise=guarantee, options=options)
            going = _first(baskets, guarantee, tree, options, name)
        else:
            going = going_out(baskets, guarantee, cut, queue.ages >= wait, options, name)
            changed = len(going.recoding.cut.lowest().nodes) != len(cut.lowest().nodes)
        cut = going.recoding.cut
    if going is not None and not baskets.lengths[going.rows].any():
        going = None
    out = np.zeros(len(baskets), np.bool_)
    if going is not None:
        out[going.rows] = True
        going = replace(going, recoding=replace(going.recoding, notes=()))
    left = Waiting(with_own_names(baskets.take(np.flatnonzero(~out))), queue.ages[~out] + 1, queue.marks)
    ages, rows = np.unique(left.ages, return_counts=True)
    return Batch(
        going=going,
        rows=baskets.take(np.flatnonzero(out)),
        options=options,
        state={
            "tree": None if tree is None else tree_facts(tree),
            "cut": None if cut is None else cut_names(cut),
            "waiting": left.to_dict(),
        },
        waiting=len(left.ages),
        ages={str(age): int(many) for age, many in zip(ages, rows, strict=True)},
        cut_changed=changed,
        notes=notes,
    )


def _first(baskets: Baskets, guarantee: KmAnonymity, tree: Hierarchy, options: Options, name: str) -> Going:
    """The batch that chooses the cut. What `exact` inside `hybrid` would drop as a whole stays at the top, and goes one by one."""
    recoding: Recoding = algorithm(guarantee.model, name)(baskets, guarantee, tree, options)
    if not recoding.cut.dropped:
        return Going(
            np.arange(len(baskets), dtype=np.int64), replace(recoding, algorithm=name, optimal=None, bound=None)
        )
    node = recoding.cut.node.copy()
    for top in recoding.cut.dropped:
        node[tree.leaf_order[slice(*tree.span[top])]] = top
    nobody = np.zeros(len(baskets), np.bool_)
    return going_out(baskets, guarantee, Cut(tree, node), nobody, options, name)


def joined_rows(parts: tuple[Baskets, ...]) -> Baskets:
    """The rows of several baskets, one after the other, over all their items."""
    place: dict[str, int] = {}
    codes = []
    for part in parts:
        at = np.array([place.setdefault(name, len(place)) for name in part.vocabulary], np.int64)
        codes.append(at[part.items] if len(at) else np.zeros(0, np.int64))
    return Baskets.from_codes(np.concatenate([part.lengths for part in parts]), np.concatenate(codes), list(place))


def with_own_names(baskets: Baskets) -> Baskets:
    """The same rows, over the items that occur in them."""
    return replace(Baskets.from_codes(baskets.lengths, baskets.items, baskets.vocabulary), people=baskets.people)


def grown_tree(tree: Hierarchy, spec: Any, baskets: Baskets, unknown: str | None) -> tuple[Hierarchy, tuple[str, ...]]:
    """The tree of a series with the items that came since, from the file that is named now or, without one, under the root.

    Raises unless all that it had before stands where it stood: a token must go on meaning what it meant.
    """
    known = set(tree.labels[: tree.n_leaves])
    notes: tuple[str, ...] = ()
    if spec is None or (isinstance(spec, str) and not os.path.exists(spec) and is_made(spec)):
        new = [name for name in baskets.vocabulary if name not in known]
        grown = tree.with_unknown(new)
        if new:
            told = number_of(
                len(new), "item that the series did not know hangs", "items that the series did not know hang"
            )
            notes = (f"{told} under the root of its hierarchy; name a file that has a place for them",)
    else:
        grown = resolve_hierarchy(spec, baskets, unknown=unknown)
        there = set(grown.labels[: grown.n_leaves])
        hung = tree.parent[: tree.n_leaves] == tree.root
        grown = grown.with_unknown(
            [name for name, top in zip(tree.labels, hung, strict=False) if top and name not in there]
        )
    place = {name: v for v, name in enumerate(grown.names)}
    at = [place.get(name, -1) for name in tree.names]
    moved = sum(a < 0 or (p >= 0 and grown.parent[a] != at[p]) for a, p in zip(at, tree.parent.tolist(), strict=True))
    if moved or at[tree.root] != grown.root:
        raise InputError(
            f"{option('hierarchy')} {grown.source} moves, renames or lacks {number_of(max(1, moved), 'node', 'nodes')} of the hierarchy "
            "that the series began with; items may be added, and nothing else may change: take that hierarchy, or begin another series"
        )
    return grown, notes


def cut_names(cut: Cut) -> list[str]:
    """The nodes of a cut, by name, lowest where several cover the same."""
    names = cut.hierarchy.names
    return [names[v] for v in cut.lowest().nodes.tolist()]


def cut_of(tree: Hierarchy, names: list[str]) -> Cut:
    """The cut through these nodes; leaves that are below none of them came later, and are published as themselves."""
    place = {name: v for v, name in enumerate(tree.names)}
    node = np.arange(tree.n_leaves, dtype=np.int32)
    for name in names:
        v = place[name]
        node[tree.leaf_order[slice(*tree.span[v])]] = v
    return Cut(tree, node)


def tree_facts(tree: Hierarchy) -> dict[str, Any]:
    return {"parent": tree.parent.tolist(), "labels": list(tree.labels), "leaves": tree.n_leaves, "source": tree.source}


def _tree_of(facts: Mapping[str, Any]) -> Hierarchy:
    return Hierarchy(np.array(facts["parent"], np.int32), tuple(facts["labels"]), facts["leaves"], facts["source"])


def series_tree(state: Mapping[str, Any]) -> tuple[Hierarchy, Cut] | None:
    """The tree and the cut of a series today; None before its first release."""
    if state.get("cut") is None:
        return None
    tree = _tree_of(state["tree"])
    return tree, cut_of(tree, state["cut"])
