"""Anonymity under constraints (Loukides, Gkoulalas-Divanis, Malin 2011): whoever knows items that a policy protects faces k rows or none.

A published token is an item, or a set of items such as `(gout,flu)`: one of these at least, and it does not say which. A row matches a
known item if it names the item or a set with it. Every part of every protected set then has to match no row, or k of them at least. Where
each item is published in one way everywhere, that is the paper's: the image of each part has support 0, or k.

The audit takes tokens apart by itself. Items that the same tokens stand for are matched by the same rows, so one of them is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import InputError, option
from shoal.guarantees.audit import Audit, Witness, empty_sets
from shoal.guarantees.constraints.policy import AllOf, Policy
from shoal.guarantees.km import KmAnonymity, exposures
from shoal.guarantees.soundness import check_sets
from shoal.numbers import Ints, whole_number
from shoal.records.baskets import Baskets

APART = "stands for items that the policy does not put together"
_PART = re.compile(r'(?:"((?:[^"]|"")*)"|([^,"()]+))(?:,|\Z)')
_BLOCKS = 16
_BLOCK = 256
"""Sets that are worth a block of their own."""
_NO_MARKS = np.zeros(0, np.uint8)


@dataclass(frozen=True)
class ConstraintAnonymity:
    """The promise: every part of every set that the policy protects matches no row, or at least k; sets of items keep to its groups.

    Args:
        k: The smallest crowd.
        policy: What is protected, and what may be put together; a mapping with `protect` and `generalize` is taken as well.

    Raises:
        InputError: k is not a whole number of at least 2, or there is no policy.

    >>> import shoal
    >>> promise = shoal.ConstraintAnonymity(k=2, policy={"protect": [["gin", "rum"]], "generalize": [["gin", "ale"]]})
    >>> shoal.audit([["gin", "rum"], ["ale", "rum"]], promise).holds
    False
    >>> shoal.audit([["(ale,gin)", "rum"], ["(ale,gin)", "rum"]], promise).holds
    True
    """

    k: int
    policy: Any = None

    model = "constraints"

    def __post_init__(self) -> None:
        whole_number("k", self.k, 2)
        if self.policy is None:
            raise InputError(f"{option('model', 'constraints')} needs a policy; give one with {option('policy')}")
        object.__setattr__(self, "policy", Policy.of(self.policy))

    def __repr__(self) -> str:
        return f"ConstraintAnonymity(k={self.k}, {self.policy!r})"

    def __str__(self) -> str:
        return f"{self.k}-anonymity under constraints"

    def to_dict(self) -> dict[str, Any]:
        """What the promise is about, without a name of an item: how many sets, families and groups the policy has."""
        groups = self.policy.generalize
        return {
            "model": self.model,
            "k": int(self.k),
            "sets": len(self.policy.sets),
            "families": len(self.policy.families),
            "groups": None if groups is None else len(groups),
            "name": str(self),
        }

    def promise(self) -> tuple[str, ...]:
        """Which attacker is stopped, in plain words."""
        together = (
            "Items were put together as the search saw fit, for the policy allows any items together."
            if self.policy.is_free
            else f"Items were put together within the policy's {self.policy.within} alone; all others stand as they are, or were left out."
        )
        return (
            "Whoever knows items of a person that the owner's policy protects together finds either no published record that holds them, "
            f"or at least {self.k}; a record holds an item if it names the item or a set that the item is in.",
            f"The policy protects {self.policy.protects}, each with all its parts. {together}",
            "This was counted on the published data itself, with the policy. The policy may name what nobody has, so it is not here: to "
            "check the promise, ask the owner for it.",
        )

    def limits(self) -> tuple[str, ...]:
        """Which attacker is not stopped."""
        return (
            "Items that the policy does not protect, and sets that it does not protect together, may single out a record: the promise is "
            "as good as the policy.",
            "An attacker who knows that a person did not have an item, or how many items the person has, is not considered.",
            "If all candidate records share a further item, the attacker learns that item without knowing whose record is whose.",
            "Items were changed no more than the policy asks for. Whoever knows the policy can conclude why: what stands in a set, or is "
            "missing, was too rare, by itself or together with what it is protected with.",
            "Rows are counted, not people: if one person has several rows, a crowd of rows can be a smaller crowd of people.",
            "Several releases of the same people can be combined; the promise is about this release alone.",
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
        """Count what rows hold of each protected set; `yes_or_no` stops at the first part that is too rare."""
        check_sets(published, threads)
        meanings = [members_in(token, self.policy) for token in published.vocabulary]
        apart = list(self._sets_apart(published, meanings))
        atoms = _Atoms(published, meanings, self.policy)
        checked, rare, found = atoms.look_at_sets(self.policy.sets, int(self.k), witnesses, threads)
        violations, complete = len(apart) + rare, True
        for done, family in enumerate(self.policy.families):
            if yes_or_no and violations:
                complete = False
                break
            rows = atoms.rows_of(family)
            verdict = KmAnonymity(int(self.k), family.m).audit(
                rows, witnesses=witnesses, yes_or_no=yes_or_no, threads=threads
            )
            checked, violations = checked + verdict.checked, violations + verdict.violations
            complete = complete and verdict.complete
            found += list(verdict.witnesses)
            if progress:
                progress((done + 1) / len(self.policy.families))
        found.sort(key=lambda one: (one.support, len(one.items), one.items))
        named = {one.items: one for one in reversed([*apart, *found])}
        return Audit(
            guarantee=self.to_dict(),
            holds=violations == 0,
            checked=checked + sum(len(meant) > 1 for meant in meanings),
            violations=violations,
            complete=complete,
            witnesses=tuple(reversed(named.values()))[:witnesses],
            notes=empty_sets(published.empty),
        )

    def exposure(self, raw: Baskets, most: Callable[[Ints, int], int]) -> tuple[int, int]:
        """Rows of raw data that whoever knows items which are protected together narrows down to fewer than k, and to one.

        `most` says how many known items can be counted in rows of these lengths.
        """
        atoms = _Atoms(raw, [(name,) for name in raw.vocabulary], self.policy)
        exposed, unique = np.zeros(len(raw), np.uint8), np.zeros(len(raw), np.uint8)
        atoms.look_at_sets(self.policy.sets, int(self.k), 0, 1, (exposed, unique))
        for family in self.policy.families:
            rows = atoms.rows_of(family)
            exposures(rows, int(self.k), most(rows.lengths, family.m), examples=0, marks=(exposed, unique))
        return int(np.count_nonzero(exposed)), int(np.count_nonzero(unique))

    def _sets_apart(self, published: Baskets, meanings: Sequence[tuple[str, ...]]) -> Iterator[Witness]:
        """Published sets of items that do not share a group."""
        if self.policy.is_free:
            return
        of = self.policy.group_of
        for token, meant in enumerate(meanings):
            if len(meant) > 1 and (None in (groups := {of.get(name) for name in meant}) or len(groups) > 1):
                wanted = np.zeros(len(meanings), np.bool_)
                wanted[token] = True
                rows = published.rows_with(wanted)
                yield Witness((published.vocabulary[token],), len(rows), tuple((rows + 1).tolist()), APART)


def members_in(token: str, policy: Policy) -> tuple[str, ...]:
    """The items that a published token stands for: those in `(gout,flu)`, names with commas, brackets or quotes being quoted.

    What the policy names is an item, however it is spelled, and what looks like a set of which the policy names nothing is one as well.
    """
    inner = token
    while token not in policy.names and inner.startswith("(") and inner.endswith(")"):
        inner = inner[1:-1]
        names, at = list[str](), 0
        while at < len(inner) and (part := _PART.match(inner, at)):
            names.append(part[1].replace('""', '"') if part[1] is not None else part[2])
            at = part.end()
        if names and at == len(inner):
            known = policy.is_free or any(name in policy.names for name in names)
            return tuple(dict.fromkeys(names)) if known else (token,)
    return (token,)


class _Atoms:
    """The rows as sets of atoms: an atom is a set of tokens, and stands for the items that exactly these may be published as."""

    def __init__(self, published: Baskets, meanings: Sequence[tuple[str, ...]], policy: Policy) -> None:
        everything = any(family.items is None for family in policy.families)
        wanted = {name for one in policy.sets for name in one}
        wanted.update(name for family in policy.families for name in family.items or ())
        tokens_of: dict[str, list[int]] = {}
        for token, meant in enumerate(meanings):
            for name in meant:
                if everything or name in wanted:
                    tokens_of.setdefault(name, []).append(token)
        number: dict[tuple[int, ...], int] = {}
        self.atom_of = {name: number.setdefault(tuple(tokens), len(number)) for name, tokens in tokens_of.items()}
        self.n = len(number)
        atom = [atom for tokens, atom in number.items() for _ in tokens]
        token_of = [token for tokens in number for token in tokens]
        self.offsets, self.items = _spelled(published, np.array(token_of, np.int64), np.array(atom, np.int64), self.n)

    def look_at_sets(
        self,
        sets: Sequence[tuple[str, ...]],
        k: int,
        keep: int,
        threads: int | None,
        marks: tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]] = (_NO_MARKS, _NO_MARKS),
    ) -> tuple[int, int, list[Witness]]:
        """(traces that occur, those in fewer than k rows, the parts of sets that are the rarest); `marks` as `count_traces` has them."""
        from shoal.kernels.audit.threads import in_threads
        from shoal.kernels.audit.traces import count_traces, members_of, rows_of_items

        alike: dict[tuple[int, ...], tuple[str, ...]] = {}
        for one in sets:
            here = tuple(sorted({self.atom_of[name] for name in one if name in self.atom_of}))
            if here:
                alike.setdefault(here, one)
        if not alike:
            return 0, 0, []
        bounds = np.concatenate(([0], np.cumsum([len(here) for here in alike]))).astype(np.int64)
        members = np.array([atom for here in alike for atom in here], np.int64)
        starts, rows = rows_of_items(self.offsets, self.items, self.n)
        n_rows = len(self.offsets) - 1
        limit = min(k, n_rows + 1)
        edges = np.linspace(0, len(alike), min(_BLOCKS, 1 + len(alike) // _BLOCK) + 1).astype(np.int64).tolist()
        blocks = [(a, b) for a, b in pairwise(edges) if b > a]
        answers = in_threads(
            lambda a, b: count_traces(starts, rows, n_rows, bounds, members, limit, a, b, *marks), blocks, threads
        )
        checked, rare, trace, least = (np.concatenate([answer[i] for answer in answers]) for i in range(4))
        bad = np.flatnonzero(rare)
        chosen = bad[np.argsort(least[bad], kind="stable")][:keep]
        named = list(alike.values())
        held: dict[int, set[int]] = {}

        def rows_with(atoms: list[int]) -> set[int]:
            for atom in atoms:
                held.setdefault(atom, set(rows[starts[atom] : starts[atom + 1]].tolist()))
            return set.intersection(*(held[atom] for atom in atoms))

        found = []
        for s in chosen.tolist():
            atoms = members_of(int(trace[s]), members[bounds[s] : bounds[s + 1]])
            for atom in list(atoms):  # the smallest part that is as telling
                if len(atoms) > 1 and len(rows_with([a for a in atoms if a != atom])) < k:
                    atoms.remove(atom)
            holding = sorted(rows_with(atoms))
            names = tuple(next(name for name in named[s] if self.atom_of.get(name) == atom) for atom in atoms)
            found.append(Witness(tuple(sorted(names)), len(holding), tuple(row + 1 for row in holding)))
        return int(checked.sum()), int(rare.sum()), found

    def rows_of(self, family: AllOf) -> Baskets:
        """The rows as sets of the items of a family, one for each atom."""
        name_of: dict[int, str] = {}
        for name in self.atom_of if family.items is None else family.items:
            if name in self.atom_of:
                name_of.setdefault(self.atom_of[name], name)
        place = np.full(self.n + 1, -1, np.int64)
        place[list(name_of)] = np.arange(len(name_of))
        kept = place[self.items] >= 0
        lengths = np.diff(np.concatenate(([0], np.cumsum(kept)))[self.offsets])
        return Baskets.from_codes(lengths.astype(np.int64), place[self.items[kept]], tuple(name_of.values()))


def _spelled(published: Baskets, token: Ints, atom: Ints, n: int) -> tuple[Ints, Ints]:
    """(offsets, items): the atoms of each row, each once; `atom[i]` is matched by `token[i]`."""
    order = np.argsort(token, kind="stable")
    atom, many = atom[order], np.bincount(token, minlength=len(published.vocabulary))
    starts = np.cumsum(many) - many
    row = np.repeat(np.arange(len(published), dtype=np.int64), published.lengths)
    times = many[published.items]
    first = np.repeat(starts[published.items] - (np.cumsum(times) - times), times)
    pairs = np.unique(np.repeat(row, times) * max(1, n) + atom[first + np.arange(int(times.sum()))])
    lengths = np.bincount(pairs // max(1, n), minlength=len(published))
    return np.concatenate(([0], np.cumsum(lengths))).astype(np.int64), pairs % max(1, n)
