"""k^m-anonymity under local recoding: the same item stands as itself in one row and as a category in another.

Whoever knows an item then matches every row that publishes it or a category above it. A set of up to m known items must match
no row or at least k. Two facts carry the audit:

- If every set of up to m *tokens* that occurs occurs in k rows, tokens counted as they stand, the promise holds whatever the
  hierarchy: in a row that matches, each known item is covered by a token; these tokens stand together in k rows, and all of those
  match. So the audit of global recoding is never wrong when it says yes, and needs no hierarchy for it.
- When it says no, the hierarchy decides. Leaves under the same lowest published token are matched by the same rows, so at most one
  leaf per token needs to be looked at. Spelled out in these, the rows are plain sets again, which the walk of the plain audit counts;
  where that would be too much, `shoal.kernels.audit.local_sets` finds a set that is too rare, or that there is none, without.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from shoal.errors import VALUES, InputError
from shoal.guarantees.audit import Audit, Witness
from shoal.guarantees.km import KmAnonymity, affordable
from shoal.guarantees.people import people_facts
from shoal.hierarchy.tree import Hierarchy, count_of
from shoal.numbers import Codes, Ints
from shoal.records.baskets import Baskets

SPELLED_OUT = 30_000_000
"""Occurrences up to which rows are spelled out in leaves."""


@dataclass(frozen=True)
class LocalKmAnonymity(KmAnonymity):
    """The promise: a set of at most m items matches no row, or at least k; an item matches itself and every category above it.

    Releases row by row (`local`, `lra`) promise this. Where each set of published tokens is in k rows as it stands, no tree is needed.

    Args:
        k: The smallest crowd.
        m: How many items of a person an attacker may know.

    Raises:
        InputError: k or m is not a whole number of at least 1.

    >>> import shoal
    >>> tree = shoal.Hierarchy.from_parents([2, 2, -1], ["milk", "cheese", "dairy"])
    >>> shoal.audit([["milk"], ["dairy"]], shoal.LocalKmAnonymity(k=2, m=1, hierarchy=tree)).holds
    False
    """

    hierarchy: Hierarchy | None = field(default=None, compare=False, repr=False)
    """The tree that the tokens are nodes of. Without it the audit can say yes, but not tell a no from a perhaps."""

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "local": True}

    def promise(self) -> tuple[str, ...]:
        """Which attacker is stopped, in plain words."""
        return (
            f"{self._crowd()}; a record holds an item if it names the item or a category above it.",
            "This holds for every combination of items, common or rare, and was counted on the published data itself.",
            *self._counting(),
        )

    def limits(self) -> tuple[str, ...]:
        """Which attacker is not stopped."""
        return (
            *super().limits(),
            "The same item can stand as itself in one record and as a category in another: to count an item, count the categories "
            "above it too, as records that may hold it.",
        )

    def audit(
        self,
        published: Baskets,
        *,
        witnesses: int = 10,
        yes_or_no: bool = False,
        threads: int | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> Audit:
        """Count every set of tokens as it stands; if one is too rare, count what known items match."""
        if self.hierarchy is not None:
            nodes_of(
                published.vocabulary, self.hierarchy
            )  # a token from elsewhere is an error, whatever the counts say
        plain = super().audit(published, witnesses=witnesses, yes_or_no=True, threads=threads, progress=progress)
        if plain.holds:
            return plain
        if self.hierarchy is None:
            note = (
                "some tokens stand together in too few rows; whether known items then match too few rows depends on the hierarchy, "
                "which was not given"
            )
            return replace(plain, notes=(*plain.notes, note))
        rows = _Published(published, self.hierarchy)
        if not rows.affordable(int(self.m)):
            return rows.first_breach(self, threads, progress)
        exact = KmAnonymity(self.k, self.m, of_people=self.of_people).audit(
            rows.spelled_out(), witnesses=witnesses, yes_or_no=yes_or_no, threads=threads, progress=progress
        )
        return replace(exact, guarantee=self.to_dict())


class _Published:
    """Published rows as nodes of the tree, numbered in depth-first order; what lies below another token of its row is left out.

    It adds nothing: whoever knows a leaf below it matches the row by the token above already.
    """

    def __init__(self, published: Baskets, hierarchy: Hierarchy) -> None:
        h = self.hierarchy = hierarchy
        self.places: Any = slice(None)  # of the rows among those that were given
        if published.people is not None:  # those of a person together, as the kernels take them
            self.places = np.argsort(published.people, kind="stable")
            published = published.take(self.places)
        self.people = published.people
        node = nodes_of(published.vocabulary, h)
        used, token = np.unique(node, return_inverse=True)
        order = np.lexsort((-h.leaf_count[used], h.span[used, 0]))
        self.nodes = used[order]
        place = np.empty(len(used), np.int64)
        place[order] = np.arange(len(used))
        n = len(used)
        start, stop = h.span[self.nodes, 0], h.span[self.nodes, 1]
        self.end = np.searchsorted(start, stop)
        self.above = _nearest_above(self.end)
        covered = np.zeros(n + 1, np.int64)  # the last entry serves those with nothing above
        np.add.at(covered, self.above, h.leaf_count[self.nodes])
        self.has_leaf = h.leaf_count[self.nodes] > covered[:n]
        self.atoms_before = np.concatenate(([0], np.cumsum(self.has_leaf)))
        # Each token of each row once, row after row: several names may stand for the same node.
        n_rows = len(published.offsets) - 1
        held_by = np.repeat(np.arange(n_rows, dtype=np.int64), np.diff(published.offsets))
        here = np.unique(held_by * (n + 1) + (place[token][published.items] if n else 0))
        row, tokens = here // (n + 1), here % (n + 1)
        # The furthest end so far in the row, as one running maximum over all rows.
        reach = np.maximum.accumulate(row * (n + 1) + self.end[tokens]) if n else row
        outer = np.ones(len(row), np.bool_)
        outer[1:] = here[1:] >= reach[:-1]
        self.offsets = np.concatenate(([0], np.cumsum(np.bincount(row[outer], minlength=n_rows))))
        self.tokens = tokens[outer].astype(np.int32)
        self.row = row[outer]

    @cached_property
    def _lengths(self) -> Ints:
        """Per row, the leaves it would be spelled out in."""
        width = self.atoms_before[self.end] - self.atoms_before[:-1]
        held = width[self.tokens].astype(np.float64)
        return np.bincount(self.row, held, minlength=len(self.offsets) - 1).astype(np.int64)

    def affordable(self, m: int) -> bool:
        """Whether rows may be spelled out and counted in full."""
        m = min(m, int(self._lengths.max(initial=0)))
        return int(self._lengths.sum()) <= SPELLED_OUT and affordable(self._lengths, m) == m

    def spelled_out(self) -> Baskets:
        """The rows as sets of leaves, one leaf for all that are matched alike."""
        low, high = self.atoms_before[self.tokens], self.atoms_before[self.end[self.tokens]]
        offsets = np.concatenate(([0], np.cumsum(self._lengths)))
        width = high - low
        shift = np.repeat(low - (np.cumsum(width) - width), width)
        items = (shift + np.arange(len(shift))).astype(np.int32)
        names = tuple(self.leaf_name(t) for t in np.flatnonzero(self.has_leaf).tolist())
        spelled = Baskets(offsets, items, names, people=self.people)
        return spelled if self.people is None else spelled.take(np.argsort(self.places))

    def leaf_name(self, token: int) -> str:
        """A leaf that this token covers and none below it."""
        h = self.hierarchy
        at = int(h.span[self.nodes[token], 0])
        below = token + 1
        while below < self.end[token] and h.span[self.nodes[below], 0] == at:
            at = int(h.span[self.nodes[below], 1])
            below = int(self.end[below])
        return str(h.labels[h.leaf_order[at]])

    def first_breach(
        self, guarantee: LocalKmAnonymity, threads: int | None, progress: Callable[[float], None] | None
    ) -> Audit:
        """The verdict without spelling anything out, with the first breach as its witness."""
        from shoal.kernels.audit.local_sets import rare_choice
        from shoal.kernels.audit.threads import blocks_of_work, in_threads

        n = len(self.nodes)
        by_token = np.argsort(self.tokens, kind="stable")
        holders = self.row[by_token].astype(np.int32)
        starts = np.concatenate(([0], np.cumsum(np.bincount(self.tokens, minlength=n))))
        next_atom = np.searchsorted(np.flatnonzero(self.has_leaf), np.arange(n + 1))
        next_atom = np.append(np.flatnonzero(self.has_leaf), n)[next_atom]
        stop = np.zeros(1, np.bool_)
        # More than there are changes nothing, and need not be numbers that machines have.
        k, m = min(int(guarantee.k), len(self.offsets)), min(int(guarantee.m), int(self._lengths.max(initial=1)))
        answers = in_threads(
            lambda a, b: rare_choice(
                self.offsets,
                self.tokens,
                starts,
                holders,
                self.above,
                self.end,
                self.atoms_before,
                next_atom,
                a,
                b,
                k,
                m,
                stop,
                self.people,
            ),
            blocks_of_work(np.diff(starts) + 1.0, 64),
            threads,
            progress,
        )
        found = [(support, members[members >= 0]) for _, support, members in answers if support]
        witnesses = tuple(self._witness(members) for _, members in found[:1])
        return Audit(
            guarantee=guarantee.to_dict(),
            holds=not found,
            checked=sum(int(met) for met, _, _ in answers),
            violations=len(found),
            complete=not found,
            witnesses=witnesses,
            notes=("sets of items that the rows do not tell apart were counted once",),
            facts=people_facts(self.people),
        )

    def _witness(self, members: Codes) -> Witness:
        matched = np.ones(len(self.offsets) - 1, np.bool_)
        for v in members.tolist():
            covers = (self.tokens <= v) & (self.end[self.tokens] > v)
            matched &= np.bincount(self.row[covers], minlength=len(matched)) > 0
        support = np.count_nonzero(matched) if self.people is None else len(np.unique(self.people[matched]))
        rows = np.sort(np.arange(len(matched))[self.places][matched])
        return Witness(
            tuple(self.leaf_name(v) for v in sorted(members.tolist())), int(support), tuple((rows + 1).tolist())
        )


def nodes_of(vocabulary: Sequence[str], hierarchy: Hierarchy) -> Ints:
    """The node of each published token, the lowest that covers the same leaves; raises for tokens that the tree does not know.

    Text has its own ways with blanks (around a name in cells, within one in FIMI files) and with what spreadsheets would run: a token read
    from it is known all the same.
    """
    known: dict[str, int] = {}
    unclear: set[str] = set()
    for written in (str, str.strip, _without_blanks, _with_apostrophe):
        forms: dict[str, int] = {}
        for v, name in enumerate(hierarchy.names):
            form = written(name)
            if forms.setdefault(form, v) != v:
                unclear.add(form)
        for form, v in forms.items():
            known.setdefault(form, v)
    unclear -= set(hierarchy.names)
    missing = [token for token in vocabulary if token not in known or token in unclear]
    if missing:
        raise InputError(
            f"hierarchy {hierarchy.source}: {count_of(missing, 'published token is', 'published tokens are')} not in it"
            f"{VALUES}; give the hierarchy that the release was made with",
            values=missing,
        )
    node = np.array([known[token] for token in vocabulary], np.int64)
    only = hierarchy.only_child
    while np.any(climbs := only[node] >= 0):
        node = np.where(climbs, only[node], node)
    return node


def _with_apostrophe(name: str) -> str:
    bare = name.strip()
    return f"'{bare}" if bare[:1] in ("=", "+", "-", "@") else bare


def _without_blanks(name: str) -> str:
    """As a name stands in FIMI text."""
    return re.sub(r"[ \t\n\v\f\r]", "_", name)


def _nearest_above(end: Ints) -> Ints:
    """Per token in depth-first order, the nearest one that it lies below, else -1."""
    above = np.full(len(end), -1, np.int64)
    around: list[int] = []
    stops = end.tolist()
    for t in range(len(stops)):
        while around and stops[around[-1]] <= t:
            around.pop()
        if around:
            above[t] = around[-1]
        around.append(t)
    return above
