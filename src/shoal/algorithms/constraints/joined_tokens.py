"""What each item is published as while a search goes on: items in groups, tokens left out, and the protected sets that still lack rows.

All searches under constraints work on a `Grouping`. They join two tokens that the policy lets be together, or leave tokens out, of all
rows or of some, until no protected set has a bad row (`shoal.kernels.constraints.protected_sets`). Items that no search could ever
touch have no bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.algorithms.recoding import LocalRecoding
from shoal.algorithms.rt.transaction import set_label
from shoal.errors import VALUES, InputError, Unreachable, number_of, option
from shoal.guarantees.constraints.policy import AllOf, Policy
from shoal.hierarchy.build import ROOT
from shoal.hierarchy.tree import Hierarchy, them
from shoal.numbers import Bools, Ints
from shoal.price.information import entropy_bits
from shoal.records.baskets import Baskets

MOST_SETS = 2_000_000
"""Sets of items that occur, and that a policy protects, at most: each is looked at one by one."""


@dataclass(frozen=True, eq=False)
class Task:
    """The rows and what the policy says of their items, in numbers that begin at 0 with the items that matter."""

    baskets: Baskets
    k: int
    own: Ints
    """Per item that matters, its place in the vocabulary."""
    group: Ints
    """Per item that matters, which others it may be put together with: those of the same number; -1 for none."""
    sets: Any
    """As `shoal.kernels.constraints.protected_sets.Sets`."""
    in_family: Bools
    """Per item and family."""
    bits: npt.NDArray[np.uint64]
    """Per item, a bit for each row."""
    times: Ints
    """Per item, its rows."""

    @cached_property
    def bits_each(self) -> float:
        """What an occurrence says, in bits: what it costs to leave one out."""
        supports = self.baskets.supports()
        return max(entropy_bits(supports) / max(1, int(supports.sum())), 1e-9)

    @property
    def n_sets(self) -> int:
        return len(self.sets.bounds) - 1


def task_of(baskets: Baskets, policy: Policy, k: int) -> Task:
    """The task; raises where the policy stands for too many sets."""
    from shoal.kernels.constraints.protected_sets import Sets, rows_as_bits

    _check_names(baskets, policy)
    number = {name: i for i, name in enumerate(baskets.vocabulary)}
    of = policy.group_of
    groups: dict[int, list[int]] = {}
    for name, i in number.items():
        if policy.is_free or name in of:
            groups.setdefault(0 if policy.is_free else of[name], []).append(i)
    group_of = {i: g for g, members in groups.items() for i in members}

    def with_mates(items: Iterable[int]) -> set[int]:
        own = set(items)
        return own.union(*(groups[g] for g in {group_of[i] for i in own if i in group_of}))

    asked = [(tuple(number[name] for name in one if name in number), -1) for one in policy.sets]
    members: list[set[int]] = []
    for f, family in enumerate(policy.families):
        here = set(number.values()) if family.items is None else {number[n] for n in family.items if n in number}
        members.append(here)
        asked += [(one, f) for one in _occurring(baskets, sorted(with_mates(here)), family)]
    asked = list(dict.fromkeys(one for one in asked if one[0]))
    own = np.array(sorted(with_mates(i for items, _ in asked for i in items)), np.int64)
    place = np.full(len(number), -1, np.int64)
    place[own] = np.arange(len(own))
    bounds = np.concatenate(([0], np.cumsum([len(items) for items, _ in asked]))).astype(np.int64)
    items = place[np.array([i for one, _ in asked for i in one], np.int64)]
    order = np.argsort(items, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(items, minlength=len(own))))).astype(np.int64)
    of_set = np.repeat(np.arange(len(asked), dtype=np.int64), np.diff(bounds))
    in_family = np.zeros((len(own), max(1, len(members))), np.bool_)
    for f, here in enumerate(members):
        in_family[place[[i for i in here if place[i] >= 0]], f] = True
    return Task(
        baskets,
        min(k, len(baskets) + 1),
        own,
        np.array([group_of.get(i, -1) for i in own.tolist()], np.int64),
        Sets(bounds, items, np.array([f for _, f in asked], np.int64), starts, of_set[order]),
        in_family,
        rows_as_bits(baskets.offsets, baskets.items, place, len(own)),
        baskets.supports()[own],
    )


def _check_names(baskets: Baskets, policy: Policy) -> None:
    """Raises where an item is called like a set of items: nobody could tell the two apart."""
    known = {name for name in baskets.vocabulary if policy.is_free or name in policy.group_of}
    strange = [
        name for name in baskets.vocabulary if name.startswith("(") and name.endswith(")") and name not in policy.names
    ]
    if known and strange:
        raise InputError(
            f"{number_of(len(strange), 'item has a name', 'items have names')} in brackets{VALUES}, as sets of items are published; "
            f"rename {them(strange)}, or name {them(strange)} in the "
            "policy",
            values=strange,
        )


def _occurring(baskets: Baskets, items: list[int], family: AllOf) -> set[tuple[int, ...]]:
    """The sets of so many of these items that occur, and what rows hold of them that hold fewer."""
    wanted = np.zeros(len(baskets.vocabulary), np.bool_)
    wanted[items] = True
    found: set[tuple[int, ...]] = set()
    kept = wanted[baskets.items]
    ends = np.concatenate(([0], np.cumsum(kept)))[baskets.offsets].tolist()
    held = baskets.items[kept].tolist()
    rows = {tuple(held[a:b]) for a, b in pairwise(ends) if b > a}
    for row in rows:
        if len(row) <= family.m:
            found.add(row)
        elif math.comb(len(row), family.m) > MOST_SETS:
            raise _too_many(family)
        else:
            found.update(combinations(row, family.m))
        if len(found) > MOST_SETS:
            raise _too_many(family)
    return found


def _too_many(family: AllOf) -> InputError:
    return InputError(
        f"all sets of up to {family.m} items are more than {MOST_SETS:,} in these data; protect fewer items, or take "
        f"{option('model', 'km')}, which is made for all sets of all items"
    )


class Grouping:
    """Items in tokens, which may be joined and left out."""

    def __init__(self, task: Task) -> None:
        from shoal.kernels.constraints.protected_sets import State, room_for

        self.task = task
        n = len(task.own)
        self.members: dict[int, list[int]] = {i: [i] for i in range(n)}
        self.state = State(np.arange(n, dtype=np.int64), task.bits.copy(), task.times.copy(), task.in_family.copy())
        self.times = task.times.astype(np.float64)
        """Per token, the occurrences of its items."""
        self.room = room_for(self.state, task.n_sets)
        self.left_out: list[int] = []
        """Items that are left out of all rows."""
        self.gone: list[tuple[int, int]] = []
        """(row, token): tokens that are left out of one row."""
        of_item = np.split(task.sets.of_item, task.sets.starts[1:-1])
        self._sets = dict(enumerate(of_item))
        """Per token, the sets that it is in."""
        self._counts = np.ones(task.n_sets, np.bool_)
        """Per set, whether no other of the same tokens counts in its place."""
        self.bad = np.zeros(task.n_sets, np.int64)
        """Per set, the rows that show too much of it."""
        self.whole = np.zeros(task.n_sets, np.int64)
        """Per set, the rows that hold all its tokens."""
        self.count(np.arange(task.n_sets, dtype=np.int64))

    def count(self, which: Ints) -> None:
        """Counts the bad rows of these sets anew."""
        from shoal.kernels.constraints.protected_sets import bad_rows_of_sets

        bad, whole = bad_rows_of_sets(self.task.sets, self.state, self.task.k, which, self.room)
        self.bad[which], self.whole[which] = bad, whole

    def sets_of(self, token: int, *, open_only: bool = False) -> Ints:
        """The sets that a token is in; `open_only`: those that not k rows hold whole, for a join can change no others."""
        found: Ints = self._sets[token]
        return (
            found[self._counts[found] & (self.whole[found] < self.task.k)] if open_only else found[self._counts[found]]
        )

    def mates(self, token: int) -> Ints:
        """The tokens that this one may be joined with."""
        group = self.task.group[token]
        if group < 0:
            return np.zeros(0, np.int64)
        return np.array([t for t in self._in_group.get(int(group), ()) if t != token], np.int64)

    @cached_property
    def _in_group(self) -> dict[int, dict[int, None]]:
        """The tokens of each group."""
        found: dict[int, dict[int, None]] = {}
        for i, group in enumerate(self.task.group.tolist()):
            found.setdefault(group, {})[i] = None
        return found

    def tokens_in(self, s: int) -> list[int]:
        """The tokens of a set that rows hold."""
        sets, state = self.task.sets, self.state
        tokens = {int(state.token[i]) for i in sets.items[sets.bounds[s] : sets.bounds[s + 1]].tolist()}
        family = int(sets.family[s])
        return sorted(
            t for t in tokens if t >= 0 and state.support[t] > 0 and (family < 0 or state.of_family[t, family])
        )

    def join(self, one: int, other: int) -> None:
        """Makes two tokens one, which is called as the first."""
        state = self.state
        state.rows[one] |= state.rows[other]
        state.support[one] = int(np.bitwise_count(state.rows[one]).sum())
        state.of_family[one] |= state.of_family[other]
        state.token[self.members[other]] = one
        self.members[one] += self.members.pop(other)
        self._sets[one] = np.union1d(self._sets[one], self._sets.pop(other))
        self.times[one] += self.times[other]
        self._in_group[int(self.task.group[one])].pop(other)
        self._fold(self.sets_of(one))
        self.count(self.sets_of(one, open_only=True))

    def _fold(self, which: Ints) -> None:
        """Lets one set count for all that have the same tokens now."""
        from shoal.kernels.constraints.protected_sets import images

        if not len(which):
            return
        sets = self.task.sets
        width = int((sets.bounds[which + 1] - sets.bounds[which]).max())
        first = np.unique(images(sets, self.state, which, width), axis=0, return_index=True)[1]
        same = np.delete(which, first)
        self._counts[same] = False
        self.bad[same] = 0

    def leave_out(self, token: int) -> None:
        """Takes a token out of all rows."""
        sets = self.sets_of(token)
        self.left_out += self.members[token]
        self.state.token[self.members.pop(token)] = -1
        self._in_group[int(self.task.group[token])].pop(token)
        self.count(sets)

    @property
    def deleted(self) -> int:
        """Occurrences that are left out."""
        whole = int(self.task.times[self.left_out].sum()) if self.left_out else 0
        return whole + sum(self._held(row, token) for row, token in self.gone)

    def _held(self, row: int, token: int) -> int:
        """How many items of a token a row holds."""
        word, bit = row >> 6, np.uint64(1) << np.uint64(row & 63)
        return int(np.count_nonzero(self.task.bits[self.members[token], word] & bit))

    @property
    def sets_made(self) -> int:
        """Tokens that stand for several items."""
        return sum(len(items) > 1 for items in self.members.values())

    def recoding(self, algorithm: str, **facts: Any) -> LocalRecoding:
        """What every occurrence is published as: nodes of a tree over the items, whose categories are the sets."""
        baskets, n = self.task.baskets, len(self.task.baskets.vocabulary)
        names = baskets.vocabulary or (ROOT,)
        labels, parent = list(names), [-1] * max(n, 1)
        node = np.arange(max(n, 1), dtype=np.int64)
        taken = set(names)
        token_node = np.arange(len(self.task.own), dtype=np.int64)
        for token, items in self.members.items():
            own = sorted(self.task.own[items].tolist())
            token_node[token] = own[0]
            if len(own) > 1:
                token_node[token] = len(labels)
                for i in own:
                    parent[i] = len(labels)
                node[own] = len(labels)
                labels.append(set_label([names[i] for i in own], taken))
                parent.append(-1)
        node[self.task.own[self.left_out]] = -1
        root = len(labels)
        tree = Hierarchy.from_parents([p if p >= 0 else root for p in parent] + [-1], [*labels, ROOT], "policy")
        where = {name: v for v, name in enumerate(tree.labels[: tree.n_nodes - 1])}
        in_tree = np.array([where[label] for label in labels], np.int64)
        of = np.where(node >= 0, in_tree[node], -1)[baskets.items] if n else np.zeros(0, np.int64)
        if self.gone:
            row = np.repeat(np.arange(len(baskets), dtype=np.int64), baskets.lengths)
            width = tree.n_nodes + 1
            gone = np.array([r * width + in_tree[token_node[t]] for r, t in self.gone], np.int64)
            of = np.where(np.isin(row * width + of, gone), -1, of)
        return LocalRecoding(
            algorithm=algorithm,
            hierarchy=tree,
            node=of.astype(np.int32),
            vocabulary=baskets.vocabulary,
            facts={"sets": self.sets_made} | facts,
        )


def refusal(k: int) -> Unreachable:
    return Unreachable(
        f"{k}-anonymity under constraints cannot be reached: what its groups let be put together is too rare, and no more may be left out; "
        f"allow more with {option('suppress')}, or widen the groups of the policy"
    )


def notes_of(policy: Policy, baskets: Baskets) -> tuple[str, ...]:
    """For the owner: what the policy names that nobody has."""
    protected = {name for one in policy.sets for name in one}.union(*(f.items or () for f in policy.families))
    absent = len(protected - set(baskets.vocabulary))
    if not absent:
        return ()
    return (
        f"{absent:,} of the {number_of(len(protected), 'item')} that the policy protects "
        f"{'does' if absent == 1 else 'do'} not occur in the data: is each spelt as there?",
    )
