"""Pairs of items before and after: do the most frequent ones survive, and the rules `a => b` that they make?

A published token that stands for s items is taken to be one of them, all equally likely, and the tokens of a row to be independent: two
tokens of s and t items add 1/(st) of a row to each pair across them, and nothing to a pair inside one token. Items that stand in the
same tokens have the same estimates; they form an atom, and the estimates of all pairs of atoms are one sparse product. Only what can
still be among the most frequent is computed: a pair is never more frequent than its rarer item, so items go in blocks, the
most frequent first, until the bound ends it.

Survival is 1 - tKd, the top-K deviation; the errors of rules are those of section VI-C of the Injector paper (2008), for items.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from shoal.hierarchy.meanings import TokenMeanings
from shoal.numbers import Bools, Floats, Ints
from shoal.records.baskets import Baskets
from shoal.showing import fields_of

TOP = 100
MIN_CONFIDENCE = 0.2
LEAST = 2
"""A pair that occurs in a single row is nobody's pattern."""
_BLOCK = 64
_CLOSE = 1e-9
"""Estimates are sums of fractions: what differs by less is equal."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of items of the original with their support, and what the release suggests for them."""

    names: tuple[str, ...]
    """Of the items; `one` and `other` are places in it."""
    one: Ints
    other: Ints
    before: Ints
    after: Floats
    bar: float
    """As many pairs as these reach this estimate in the release."""

    def __len__(self) -> int:
        return len(self.one)

    @property
    def survives(self) -> Bools:
        """Per pair, whether it is among as many most frequent pairs of the release; those on the bar are."""
        survives: Bools = (self.after > 0) & (self.after >= self.bar * (1 - _CLOSE))
        return survives

    def to_dict(self) -> dict[str, Any]:
        errors = np.abs(self.after - self.before) / np.maximum(self.before, 1)
        return {
            "top": len(self),
            "least_support": int(self.before.min()) if len(self) else 0,
            "survival": float(self.survives.mean()) if len(self) else 1.0,
            "lost": int(np.count_nonzero(self.after <= 0)),
            "support_error": float(errors.mean()) if len(self) else 0.0,
        }


@dataclass(frozen=True)
class RuleErrors:
    """Rules `a => b` over the most frequent pairs, as the original has them and as the release suggests them."""

    min_support: int
    min_confidence: float
    rules: int
    """Of the original."""
    confidence_error: float
    """|after - before| / before of their confidence, on average."""
    shown: int
    """Rules that the release suggests."""
    missed: int
    """Rules of the original that it does not."""
    extra: int
    """Rules that it suggests and the original does not have."""

    def to_dict(self) -> dict[str, Any]:
        """The two identification errors are shares of the original's rules; None where it has no rule to compare with."""
        return {
            **fields_of(self, "min_support", "min_confidence", "rules", "confidence_error", "shown"),
            "missed": self.missed / self.rules if self.rules else 0.0,
            "extra": self.extra / self.rules if self.rules else (None if self.extra else 0.0),
        }


def pair_survival(
    original: Baskets, published: Baskets, meanings: TokenMeanings, n: int = TOP, *, sensitive: Collection[str] = ()
) -> Pairs:
    """The n most frequent pairs of the original, with all that tie with the last, and what the release suggests for them."""
    before = _of_items(original, sensitive)
    one, other, support = _top(before, n)
    after = _of_tokens(published, meanings, sensitive)
    bar = _bar(after, len(one))
    return Pairs(
        original.vocabulary,
        one,
        other,
        np.rint(support).astype(np.int64),
        after.estimates(after.atom[one], after.atom[other]),
        bar,
    )


def rule_errors(
    pairs: Pairs,
    original: Baskets,
    published: Baskets,
    meanings: TokenMeanings,
    min_confidence: float = MIN_CONFIDENCE,
    *,
    sensitive: Collection[str] = (),
) -> RuleErrors:
    """How far the release is off about rules with the support of these pairs: their confidence, and which there are."""
    if not len(pairs):
        return RuleErrors(0, min_confidence, 0, 0.0, 0, 0, 0)
    least = int(pairs.before.min())
    support = original.supports().astype(np.float64)
    after = _of_tokens(published, meanings, sensitive)
    first = np.concatenate((pairs.one, pairs.other))
    before_both, after_both = np.tile(pairs.before, 2).astype(np.float64), np.tile(pairs.after, 2)
    confidence = before_both / support[first]
    true = confidence >= min_confidence * (1 - _CLOSE)
    there = after.support[after.atom[first]]
    suggested = np.divide(after_both, there, out=np.zeros(len(first)), where=there > 0)
    seen = true & _reaches(after_both, least) & (suggested >= min_confidence * (1 - _CLOSE))
    shown = 0
    for a, b, estimate, many in after.blocks(np.array([least], np.float64)):
        kept = _reaches(estimate, least)
        for atom in (a, b):
            sure = estimate >= min_confidence * after.support[atom] * (1 - _CLOSE)
            shown += int(many[kept & sure].sum())
    errors = np.abs(suggested - confidence)[true] / confidence[true]
    return RuleErrors(
        least,
        min_confidence,
        int(true.sum()),
        float(errors.mean()) if len(errors) else 0.0,
        shown,
        int(true.sum() - seen.sum()),
        shown - int(seen.sum()),
    )


def _reaches(estimate: Floats, least: float) -> Bools:
    reached: Bools = estimate >= least * (1 - _CLOSE)
    return reached


@dataclass(frozen=True, eq=False)
class _Atoms:
    """Items that cannot be told apart in a release, and the weights that its rows give them."""

    weight: Any
    """Rows by atoms, sparse: the sum of 1/s over the row's tokens that hold the atom."""
    columns: Any
    """The same, by atoms."""
    inside: Any
    """Tokens by atoms, sparse: 1/s times the root of the token's rows. Its square is what pairs inside one token got wrongly."""
    many: Ints
    """Items of each atom."""
    support: Floats
    """Of each item of an atom, estimated."""
    atom: Ints
    """Of each item of the domain."""
    reach: float
    """No pair is more frequent than this times its rarer item: 1 unless the tokens of some row overlap."""

    def blocks(self, least: Floats) -> Iterator[tuple[Ints, Ints, Floats, Ints]]:
        """(atom, atom, estimate, pairs of items) of pairs of atoms, block by block, those with frequent items first.

        It ends when no further pair can reach `least[0]`, which the caller may raise on the way. An atom of several items comes with
        itself.
        """
        order = np.argsort(-self.support, kind="stable")
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        for start in range(0, len(order), _BLOCK):
            block = order[start : start + _BLOCK]
            bound = self.support[block[0]] * self.reach
            if bound <= 0 or bound < least[0] * (1 - _CLOSE):
                return
            product = self._product(block).tocoo()
            a, b = block[product.row], product.col.astype(np.int64)
            estimate = product.data
            kept = (rank[b] < rank[a]) | ((a == b) & (self.many[a] > 1))
            kept &= estimate > _CLOSE
            a, b, estimate = a[kept], b[kept], estimate[kept]
            pairs = np.where(a == b, self.many[a] * (self.many[a] - 1) // 2, self.many[a] * self.many[b])
            yield a, b, estimate, pairs

    def estimates(self, one: Ints, other: Ints) -> Floats:
        """The support that the release suggests for pairs of different items of these atoms."""
        support = np.zeros(len(one), np.float64)
        order = np.argsort(one, kind="stable")
        distinct, first = np.unique(one[order], return_index=True)
        bounds = np.append(first, len(order))
        for start in range(0, len(distinct), _BLOCK):
            block = distinct[start : start + _BLOCK]
            dense = self._product(block).toarray()
            here = order[bounds[start] : bounds[min(start + _BLOCK, len(distinct))]]
            support[here] = dense[np.searchsorted(block, one[here]), other[here]]
        support[support < _CLOSE] = 0.0
        return support

    def _product(self, block: Ints) -> Any:
        """Estimates of the atoms of a block with all atoms, sparse."""
        together = self.columns[block] @ self.weight
        return together - self.inside[:, block].T @ self.inside


def _of_items(original: Baskets, sensitive: Collection[str]) -> _Atoms:
    """The original: every item is an atom of its own."""
    n = len(original.vocabulary)
    hidden = np.array([name in sensitive for name in original.vocabulary], np.bool_)
    own = np.arange(n, dtype=np.int64)
    return _atoms(original, own, own, np.ones(n, np.int64), own, n, hidden)


def _of_tokens(published: Baskets, meanings: TokenMeanings, sensitive: Collection[str]) -> _Atoms:
    """A release: items of the same tokens are one atom, those of no token together."""
    offsets, holders = meanings.holders
    n = len(meanings.domain)
    known: dict[bytes, int] = {}
    atom = np.array(
        [
            known.setdefault(holders[a:b].tobytes(), len(known))
            for a, b in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True)
        ],
        np.int64,
    )
    pairs = np.unique(meanings.owner * np.int64(n + 1) + atom[meanings.members])
    token, of_token = np.divmod(pairs, n + 1)
    hidden = np.array([name in sensitive for name in meanings.tokens], np.bool_)
    return _atoms(published, token, of_token, meanings.sizes, atom, len(known), hidden)


def _atoms(
    rows: Baskets, token: Ints, atom_of_token: Ints, sizes: Ints, atom: Ints, n_atoms: int, hidden: Bools
) -> _Atoms:
    """From (token, atom) pairs, the size of each token and the atom of each item; hidden tokens say nothing."""
    n_tokens = len(sizes)
    share = np.where(hidden, 0.0, 1.0 / np.maximum(sizes, 1))
    held = sparse.csr_array(
        (np.ones(len(rows.items)), rows.items.astype(np.int64), rows.offsets), shape=(len(rows), n_tokens)
    )
    meaning = sparse.csr_array((share[token], (token, atom_of_token)), shape=(n_tokens, n_atoms))
    meaning.eliminate_zeros()
    weight = sparse.csr_array(held @ meaning)
    roots = np.sqrt(rows.supports().astype(np.float64))
    inside = sparse.csc_array(((share * roots)[token], (token, atom_of_token)), shape=(n_tokens, n_atoms))
    support = np.asarray(weight.sum(axis=0)).reshape(-1)
    return _Atoms(
        weight,
        sparse.csr_array(weight.T),
        inside,
        np.bincount(atom, minlength=n_atoms).astype(np.int64),
        support,
        atom,
        max(1.0, float(weight.data.max(initial=0.0))),
    )


def _top(atoms: _Atoms, n: int) -> tuple[Ints, Ints, Floats]:
    """The n most frequent pairs of an original, with all that tie with the last; frequent first, then by place."""
    least = np.array([LEAST], np.float64)
    one, other, support = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float64))
    for a, b, count, _ in atoms.blocks(least):
        one, other = (np.concatenate(both) for both in ((one, np.minimum(a, b)), (other, np.maximum(a, b))))
        support = np.concatenate((support, count))
        if n and len(support) >= n:
            least[0] = max(least[0], np.partition(support, len(support) - n)[len(support) - n])
        kept = _reaches(support, least[0])
        one, other, support = one[kept], other[kept], support[kept]
    if not n:
        one, other, support = one[:0], other[:0], support[:0]
    order = np.lexsort((other, one, -support))
    return one[order], other[order], support[order]


def _bar(atoms: _Atoms, n: int) -> float:
    """The largest estimate that at least n pairs of items reach; 0 if there are not as many."""
    least = np.zeros(1, np.float64)
    values, many = np.zeros(0, np.float64), np.zeros(0, np.int64)
    for _, _, estimate, pairs in atoms.blocks(least):
        values, many = np.concatenate((values, estimate)), np.concatenate((many, pairs))
        order = np.argsort(-values, kind="stable")
        values, many = values[order], many[order]
        enough = int(np.searchsorted(np.cumsum(many), n))
        if enough < len(values):
            least[0] = values[enough]
            kept = _reaches(values, least[0])
            values, many = values[kept], many[kept]
    return float(least[0])
