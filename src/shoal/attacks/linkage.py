"""The linkage attack: somebody knows a few facts about some people of the original, and looks for them in the release.

People are drawn at random, each is known by all quasi-identifier columns and by up to m items, also drawn at random. A published record
matches if it may stand for all that is known: generalized values and tokens are read as what they may mean. The same search in the
original itself says what the release changed. Who is not matched at all was changed by more than generalization: items were deleted,
added or removed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.hierarchy.meanings import CellMeanings, TokenMeanings, cell_meanings, token_meanings
from shoal.hierarchy.tree import Hierarchy
from shoal.numbers import Bools, Ints, whole_number
from shoal.records.baskets import Baskets
from shoal.records.records import Records, row_classes

Trees = Mapping[str, Hierarchy | None] | Hierarchy | None
"""A tree per column, the items' one under the name of their column; for baskets, that tree alone."""

SAMPLE = 1000


@dataclass(frozen=True, eq=False)
class Linkage:
    """How many records match each person of a sample."""

    k: int
    m: int
    people: Ints
    """Rows of the original, counted from 0, ascending."""
    known: tuple[tuple[str, ...], ...]
    """The items that the attacker knows of each."""
    columns: tuple[str, ...]
    """The columns that the attacker knows of everybody."""
    before: Ints
    """Records of the original that match each."""
    after: Ints
    """Records of the release."""

    def __len__(self) -> int:
        return len(self.people)

    def to_dict(self) -> dict[str, Any]:
        """Counts only, never who or what."""
        return {
            "people": len(self),
            "items_known": self.m,
            "columns_known": list(self.columns),
            "before": _figures(self.before, self.k),
            "after": _figures(self.after, self.k),
        }


def linkage(
    original: Records | Baskets,
    published: Records | Baskets,
    hierarchies: Trees = None,
    *,
    meanings: TokenMeanings | None = None,
    sample: int = SAMPLE,
    m: int = 2,
    k: int = 5,
    seed: int = 0,
) -> Linkage:
    """Look for a sample of the original's people in both files; the same seed gives the same sample.

    `hierarchies` say what published values mean; `meanings`, where at hand, does so for tokens.
    """
    for name, value, least in (("sample", sample, 0), ("m", m, 0), ("k", k, 1), ("seed", seed, 0)):
        whole_number(name, value, least)
    original, published = Records.of(original), Records.of(published)
    trees = {original.items_name: hierarchies} if isinstance(hierarchies, Hierarchy) else dict(hierarchies or {})
    columns = tuple(column.name for column in original.of_role("quasi"))
    if meanings is None and original.items is not None and published.items is not None:
        meanings = token_meanings(
            published.items.vocabulary,
            original.items.vocabulary,
            trees.get(original.items_name),
            sensitive=original.sensitive_items,
        )
    rng = np.random.default_rng(seed)
    people = np.sort(rng.choice(len(original), min(sample, len(original)), replace=False)).astype(np.int64)
    known = [_known(original, row, m, rng) for row in people.tolist()]
    own = None if original.items is None else token_meanings(original.items.vocabulary, original.items.vocabulary)
    cells = {name: cell_meanings(published[name], original[name], trees.get(name)) for name in columns}
    itself = {name: cell_meanings(original[name], original[name], trees.get(name)) for name in columns}
    return Linkage(
        k,
        m,
        people,
        tuple(tuple(original.items.vocabulary[i] for i in items) for items in known)
        if original.items is not None
        else ((),) * len(people),
        columns,
        _Search(original, itself, own).matches(original, people, known),
        _Search(published, cells, meanings).matches(original, people, known),
    )


class _Search:
    """A file made ready to be searched: rows by token, and rows in classes by the columns that are known."""

    def __init__(self, records: Records, cells: Mapping[str, CellMeanings], meanings: TokenMeanings | None) -> None:
        self.cells, self.meanings = cells, meanings
        self.columns = [records[name] for name in cells]
        self.of_row, first = row_classes(self.columns, len(records))
        self.sizes = np.bincount(self.of_row, minlength=len(first))
        self.codes = [column.codes[first] for column in self.columns]
        self.seen: dict[tuple[str, str], Bools] = {}
        if records.items is not None:
            sets = records.items
            order = np.argsort(sets.items, kind="stable")
            self.rows = np.repeat(np.arange(len(sets), dtype=np.int64), sets.lengths)[order]
            self.starts = np.concatenate(([0], np.cumsum(sets.supports())))

    def matches(self, original: Records, people: Ints, known: list[list[int]]) -> Ints:
        matches = np.zeros(len(people), np.int64)
        for number, (row, items) in enumerate(zip(people.tolist(), known, strict=True)):
            fits = self._classes(original, row)
            if not items or self.meanings is None:
                matches[number] = int(self.sizes[fits].sum())
                continue
            rows, *others = sorted(map(self._rows, items), key=len)
            for longer in others:
                rows = rows[_holds(longer, rows)]
            matches[number] = np.count_nonzero(fits[self.of_row[rows]]) if self.columns else len(rows)
        return matches

    def _classes(self, original: Records, row: int) -> Bools:
        """Which classes may stand for the person's values."""
        fits = np.ones(len(self.sizes), np.bool_)
        for (name, meaning), codes in zip(self.cells.items(), self.codes, strict=True):
            column = original[name]
            value = column.values[column.codes[row]]
            if (name, value) not in self.seen:
                self.seen[name, value] = meaning.fitting(value)
            fits &= self.seen[name, value][codes]
        return fits

    def _rows(self, item: int) -> Ints:
        """Rows with a token that may stand for the item, ascending."""
        assert self.meanings is not None
        offsets, holders = self.meanings.holders
        parts = [
            self.rows[self.starts[token] : self.starts[token + 1]]
            for token in holders[offsets[item] : offsets[item + 1]].tolist()
        ]
        if len(parts) == 1:
            return parts[0]
        return np.unique(np.concatenate([np.zeros(0, np.int64), *parts]))


def _holds(rows: Ints, wanted: Ints) -> Bools:
    """Whether ascending rows hold each of the wanted ones."""
    if not len(rows):
        return np.zeros(len(wanted), np.bool_)
    held: Bools = rows[np.minimum(np.searchsorted(rows, wanted), len(rows) - 1)] == wanted
    return held


def _known(original: Records, row: int, m: int, rng: np.random.Generator) -> list[int]:
    """Up to m items of a person that are not sensitive, drawn at random."""
    if original.items is None or not m:
        return []
    sets = original.items
    held = sets.items[sets.offsets[row] : sets.offsets[row + 1]].tolist()
    held = [item for item in held if sets.vocabulary[item] not in original.sensitive_items]
    if len(held) > m:
        held = sorted(rng.choice(held, m, replace=False).tolist())
    return held


def _figures(matches: Ints, k: int) -> dict[str, Any]:
    some = matches[matches > 0]
    return {
        "singled_out": int(np.count_nonzero(matches == 1)),
        "fewer_than_k": int(np.count_nonzero((matches > 0) & (matches < k))),
        "not_found": int(np.count_nonzero(matches == 0)),
        "smallest": int(some.min()) if len(some) else 0,
        "median": float(np.median(some)) if len(some) else 0.0,
    }
