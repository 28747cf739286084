"""What a release in chunks says about items, pairs and larger sets: estimates, with the range that is certain.

Items of one chunk were counted together, exactly. For items of different chunks of a cluster only their numbers are known: of n records, a
hold the one and b the other, so that between a + b - n and min(a, b) hold both. The estimate takes sub-records to fall on records
independently, given that no record is empty: with p the share of the records that each chunk (or item of the rest) takes, a share z
of the records would not be empty if each took z p, where z = 1 - (1 - z p) ... (1 - z q). Two chunks then meet in z p q of the records,
which is nothing where there are just enough sub-records for all records, and p q where there are many.

An item of a rest stands in one of the records at least, and in all at most. The estimate takes it to be one, since the algorithm puts
what is rare there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np

from shoal.guarantees.chunks import Chunks
from shoal.numbers import Floats, Ints

LISTED, BESIDE = 2.0, 1.0
"""An item of a rest is taken to stand in x records with a chance of 1 / x to this power, by itself and beside other items: items that are
together in a cluster are together in its records more often than independent ones would be."""
ROUNDS = 60
"""Of finding z, which each brings closer."""


@dataclass(frozen=True)
class Found:
    """In how many records some items are together: the estimate, and what is certain."""

    value: float
    exact: int
    """Of these, in records that were counted: all items stand in one chunk there."""
    least: int
    most: int
    spread: float
    """About how far chance alone takes the number from the estimate: its standard deviation."""

    @property
    def guess(self) -> float:
        """The part of the estimate that is not counted."""
        return self.value - self.exact


class ChunkCounts:
    """The items of chunks, counted cluster by cluster."""

    def __init__(self, chunks: Chunks, k: int | None = None) -> None:
        self.chunks = chunks
        self.alone, self.listed = (1.0, 1.0) if k is None else (usual_times(k, LISTED), usual_times(k, BESIDE))
        """In how many records an item of a rest stands, by the estimate, by itself and beside others."""
        self.code = {name: code for code, name in enumerate(chunks.items.vocabulary)}
        self.records = int(chunks.sizes[chunks.leaves].sum())

    @cached_property
    def _of_item(self) -> dict[int, list[int]]:
        """Per item, the entries of the chunks' domain that it is."""
        entries: dict[int, list[int]] = {}
        for entry, item in enumerate(self.chunks.domain[1].tolist()):
            entries.setdefault(item, []).append(entry)
        return entries

    @cached_property
    def _leaves_below(self) -> dict[int, list[int]]:
        below: dict[int, list[int]] = {}
        for leaf in self.chunks.leaves.tolist():
            for cluster in (leaf, *self.chunks.above(leaf)):
                below.setdefault(cluster, []).append(leaf)
        return below

    @cached_property
    def _rests(self) -> dict[int, list[int]]:
        """Per item, the clusters whose rest lists it."""
        found: dict[int, list[int]] = {}
        items = self.chunks.items
        for leaf in self.chunks.leaves.tolist():
            row = int(self.chunks.rest_row[leaf])
            for item in items.items[items.offsets[row] : items.offsets[row + 1]].tolist():
                found.setdefault(item, []).append(leaf)
        return found

    @cached_property
    def meeting(self) -> Floats:
        """Per cluster without parts, the factor z."""
        chunks = self.chunks
        times = np.bincount(chunks.place, minlength=len(chunks.places))
        taken = times / chunks.sizes[chunks.cluster_of_place] if len(times) else np.zeros(0)
        own: dict[int, list[float]] = {}
        for place, share in enumerate(taken.tolist()):
            own.setdefault(int(chunks.cluster_of_place[place]), []).append(share)
        factor = np.ones(len(chunks.labels))
        for leaf in chunks.leaves.tolist():
            shares = [share for cluster in (leaf, *chunks.above(leaf)) for share in own.get(cluster, ())]
            shares += [min(1.0, self.listed / float(chunks.sizes[leaf]))] * int(chunks.rest_lengths[leaf])
            factor[leaf] = _meeting(np.array(shares))
        return factor

    @cached_property
    def _rows_of_item(self) -> tuple[Ints, Ints]:
        """Where the sub-records of each entry of the domain begin among all of them, and their numbers."""
        subs = self.chunks.by_chunk
        order = np.argsort(subs.items, kind="stable")
        owner = np.repeat(np.arange(len(subs), dtype=np.int64), subs.lengths)[order]
        return np.concatenate(([0], np.cumsum(subs.supports()))).astype(np.int64), owner

    def together(self, entries: Sequence[int]) -> int:
        """The sub-records that hold all of some entries of one chunk."""
        offsets, owner = self._rows_of_item
        held = owner[offsets[entries[0]] : offsets[entries[0] + 1]]
        for entry in entries[1:]:
            held = np.intersect1d(held, owner[offsets[entry] : offsets[entry + 1]], assume_unique=True)
        return len(held)

    def count(self, items: Iterable[str]) -> Found:
        """In how many records these items are together."""
        wanted = sorted({self.code[name] for name in items if name in self.code})
        if len(wanted) < len(set(items)):
            return Found(0.0, 0, 0, 0, 0.0)
        chunks = self.chunks
        places: dict[int, dict[int, int]] = {item: {} for item in wanted}
        """Per item and cluster without parts, the entry of its chunk there, -1 for the rest."""
        for item in wanted:
            for entry in self._of_item.get(item, ()):
                cluster = int(chunks.cluster_of_place[chunks.domain[0][entry]])
                for leaf in self._leaves_below[cluster]:
                    places[item].setdefault(leaf, entry)
            for leaf in self._rests.get(item, ()):
                places[item][leaf] = -1
        leaves = sorted(set.intersection(*(set(places[item]) for item in wanted)))
        whole: dict[int, int] = {}
        """Shared chunks that hold all items, with the records that do."""
        value = variance = 0.0
        least = most = 0
        for leaf in leaves:
            n = int(chunks.sizes[leaf])
            entries: dict[int, list[int]] = {}
            listed = 0
            for item in wanted:
                entry = places[item][leaf]
                if entry < 0:
                    listed += 1
                else:
                    entries.setdefault(int(chunks.domain[0][entry]), []).append(entry)
            if len(entries) == 1 and not listed:
                ((place, own),) = entries.items()
                whole[place] = self.together(own)
                continue
            share, own_least, own_most, shared = 1.0, 0, n, False
            for place, own in entries.items():
                held, size = self.together(own), int(chunks.sizes[chunks.cluster_of_place[place]])
                share *= held / size
                own_most = min(own_most, held)
                if chunks.cluster_of_place[place] == leaf:
                    own_least += held - n
                else:
                    shared = True
            times = self.alone if len(wanted) == 1 else self.listed
            share *= min(1.0, times / n) ** listed
            several = len(entries) + listed - 1
            share *= float(self.meeting[leaf]) ** several
            sure = 1 if listed == 1 and not entries else 0 if listed or shared else max(0, own_least + n)
            value += n * share
            variance += n * share * (1 - share)
            least += sure
            most += own_most
        value += sum(whole.values())
        least += sum(whole.values())
        most = min(most + sum(whole.values()), self.records)
        exact = sum(whole.values())
        return Found(min(max(value, least), most), exact, least, most, sqrt(variance))


def usual_times(k: int, power: float) -> float:
    """In how many records an item stands on average that stands in 1 to k - 1.

    >>> usual_times(2, 1.0), round(usual_times(5, 1.0), 2), round(usual_times(5, 2.0), 2)
    (1.0, 1.92, 1.46)
    """
    times = np.arange(1.0, max(2, k))
    return float((times ** (1 - power)).sum() / (times**-power).sum())


def _meeting(shares: Floats) -> float:
    """z, as above; 1 where nothing is known."""
    if shares.sum() <= 1:
        return 0.0 if len(shares) > 1 else 1.0
    factor = 1.0
    for _ in range(ROUNDS):
        nearer = 1 - float(np.prod(1 - factor * np.minimum(shares, 1)))
        if abs(nearer - factor) < 1e-6:
            break
        factor = nearer
    return factor
