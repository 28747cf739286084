"""k^m-anonymity of chunks (Terrovitis, Liagouris, Mamoulis, Skiadopoulos 2012): a release in pieces, and what can be concluded from them.

The published table has four columns. `cluster` names a cluster of records, `records` says how many it has, `chunk` names one of its chunks,
and `items` is a sub-record: what one of these records has of the items of the chunk. Records that have none of them have no sub-record
there. One row of each cluster has the chunk `rest`: a list of items that each stand in at least one of its records. A cluster such as
`c7.2` is part of `c7`, whose chunks are shared: their sub-records belong to records of any of its parts.

An item of a record stands in one place: in a chunk of its cluster, in one that is shared above it, or in its rest. The audit reads that
from the table alone. Whoever made it, the promise is that for any m items there is either nobody who may have them all, or there is a way
in which k records have them (the paper's Guarantee 1), and k sub-records hold those that stand together. What is checked is enough for
that:

- every cluster has k records;
- every chunk, shared ones too, is k^m-anonymous;
- no item stands both in a shared chunk and in a chunk of a cluster below. The paper asks for k-anonymity of the shared chunk there; but
  sub-records with such an item cannot lie in that cluster, and others may then have too little room for k of them to do so;
- a cluster without a rest has sub-records enough for all of its records, also if k of each of m chunks fell on the same ones: an
  attacker knows that nobody's record is empty (the paper's Lemma 2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.errors import InputError, number_of, option
from shoal.guarantees.audit import Audit, Witness
from shoal.guarantees.km import KmAnonymity
from shoal.guarantees.soundness import check_table
from shoal.numbers import Bools, Ints, warn_of_one, whole_number
from shoal.records.baskets import Baskets
from shoal.records.records import Records

CLUSTER, RECORDS, CHUNK, REST = "cluster", "records", "chunk", "rest"
COLUMNS = (CLUSTER, RECORDS, CHUNK)
"""The columns beside the items."""


@dataclass(frozen=True)
class ChunkAnonymity:
    """The promise: in chunks, up to m known items never narrow a person down to fewer than k records of a cluster.

    It is weaker than `KmAnonymity`, which is about whole rows: here no row is published, and what counts is what rows there may have been.

    Args:
        k: The smallest crowd.
        m: How many items of a person an attacker may know.

    Raises:
        InputError: k or m is not a whole number of at least 1.

    >>> import shoal
    >>> release = shoal.anonymize([["milk", "bread"]] * 3 + [["milk", "gin"]], shoal.ChunkAnonymity(k=2, m=2))
    >>> release.audit.holds, release.published.names
    (True, ('cluster', 'records', 'chunk', 'items'))
    """

    k: int
    m: int

    model = "chunks"

    def __post_init__(self) -> None:
        for name, value in (("k", self.k), ("m", self.m)):
            whole_number(name, value, 1)
        warn_of_one(self.k)

    def __str__(self) -> str:
        return f"{self.k}^{self.m}-anonymity in chunks"

    def to_dict(self) -> dict[str, Any]:
        return {"model": self.model, "k": int(self.k), "m": int(self.m), "name": str(self)}

    def promise(self) -> tuple[str, ...]:
        """Which attacker is stopped, in plain words."""
        items = "one item" if self.m == 1 else f"up to {self.m} items"
        return (
            f"Whoever knows {items} of a person finds either no cluster of records that may hold the person, or clusters in which at least "
            f"{self.k} records may be the person's; known items that stand in one chunk stand together in at least {self.k} of its "
            "sub-records.",
            "Nothing in the file says which sub-records of different chunks belong to one person. This was checked on the published chunks "
            "alone.",
        )

    def limits(self) -> tuple[str, ...]:
        """Which attacker is not stopped."""
        return (
            "It is not the k^m-anonymity of rows: that some records may hold the known items together does not mean that as many do. "
            "Which is likely can be guessed.",
            "Every item is published as it is, also one that a single person has: that it occurs is not hidden, nor in which cluster of "
            f"records. The items in the rest of a cluster may stand in fewer than {self.k} of its records.",
            "Records of a cluster were put together for what they have in common. If an item stands in all or nearly all of them, whoever "
            "finds a person's cluster, by one rare item, learns it (the cover problem). The audit counts such clusters.",
            f"An attacker who knows more than {number_of(self.m, 'item')} of a record, "
            f"or that a person did not have an item, may still single it out.",
            "Clusters and chunks depend on the records: what an attacker who knows how clusters and chunks are formed might conclude from "
            "that is not considered.",
            "Records are counted, not people: if one person has several, a crowd of records can be a smaller crowd of people.",
            "Several releases of the same people can be combined; the promise is about this release alone.",
        )

    def audit(
        self,
        published: Baskets | Records,
        *,
        witnesses: int = 10,
        yes_or_no: bool = False,
        threads: int | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> Audit:
        """Check clusters and chunks; with `yes_or_no`, stop counting sets of items at the first that is too rare."""
        chunks = Chunks.of(published)
        counted = KmAnonymity(self.k, self.m).audit(
            chunks.by_chunk, witnesses=witnesses, yes_or_no=yes_or_no, threads=threads, progress=progress
        )
        found = [
            *(_in_chunk(chunks, witness) for witness in counted.witnesses),
            *self._small(chunks),
            *self._twice(chunks),
            *self._uncovered(chunks),
        ]
        broken = len(found) - len(counted.witnesses)
        covered = chunks.covered
        return Audit(
            guarantee=self.to_dict(),
            holds=counted.holds and not broken,
            checked=counted.checked + len(chunks.leaves) + len(chunks.places),
            violations=counted.violations + broken,
            by_size=counted.by_size,
            complete=counted.complete,
            witnesses=tuple(sorted(found, key=lambda witness: (witness.support, len(witness.items)))[:witnesses]),
            notes=_notes(int(np.count_nonzero(covered)), len(chunks.leaves)),
            facts={
                "records": int(chunks.sizes[chunks.leaves].sum()),
                "clusters": len(chunks.leaves),
                "smallest_cluster": int(chunks.sizes[chunks.leaves].min(initial=len(published))),
                "largest_cluster": int(chunks.sizes[chunks.leaves].max(initial=0)),
                "chunks": len(chunks.places),
                "covered_clusters": int(np.count_nonzero(covered)),
            },
        )

    def _small(self, chunks: Chunks) -> list[Witness]:
        """Clusters of fewer than k records."""
        small = [leaf for leaf in chunks.leaves.tolist() if chunks.sizes[leaf] < self.k]
        reason = "records in the cluster, fewer than {}"
        return [
            Witness((), int(chunks.sizes[leaf]), chunks.rows_of_cluster(leaf), reason.format(self.k), chunks.name(leaf))
            for leaf in small
        ]

    def _twice(self, chunks: Chunks) -> list[Witness]:
        """Items of shared chunks that stand in a chunk of a cluster below as well."""
        reason = "an item of a shared chunk stands in a chunk of a cluster below, which cannot hold its sub-records"
        found: dict[tuple[int, int], Witness] = {}
        for item, place in chunks.blocked:
            there = chunks.items.take(chunks.row[chunks.place == place])
            rows = chunks.row[chunks.place == place][there.rows_with(np.arange(len(there.vocabulary)) == item)]
            cluster = chunks.name(int(chunks.cluster_of_place[place]))
            name = chunks.items.vocabulary[item]
            found[item, place] = Witness((name,), len(rows), tuple((rows + 1).tolist()), reason, cluster)
        return list(found.values())

    def _uncovered(self, chunks: Chunks) -> list[Witness]:
        """Clusters without a rest whose chunks have too few sub-records for all records and k of each chunk on the same ones."""
        found = []
        times = np.bincount(chunks.place, minlength=len(chunks.places))
        for leaf in chunks.leaves.tolist():
            own = np.flatnonzero(chunks.cluster_of_place == leaf)
            if chunks.rest_lengths[leaf] or (not len(own) and not chunks.shares(leaf)):
                continue
            needed = int(chunks.sizes[leaf]) + self.k * (max(1, min(self.m, len(own))) - 1)
            if (total := int(times[own].sum())) < needed:
                reason = f"sub-records in a cluster without a rest, which needs {needed:,}"
                found.append(Witness((), total, chunks.rows_of_cluster(leaf), reason, chunks.name(leaf)))
        return found


@dataclass(frozen=True, eq=False)
class Chunks:
    """A published table of chunks, as what it says. Clusters, joined ones too, are numbered; so are chunks but for rests."""

    labels: tuple[str, ...]
    sizes: Ints
    """Records of each cluster."""
    parent: Ints
    """The cluster that each is a part of, -1 for none."""
    leaves: Ints
    """The clusters without parts."""
    items: Baskets
    """All rows of the table."""
    row: Ints
    """The rows that are sub-records."""
    place: Ints
    """The chunk of each of these."""
    places: tuple[tuple[str, str], ...]
    """The cluster and the name of each chunk."""
    cluster_of_place: Ints
    rest_row: Ints
    """Per cluster, the row of its rest, -1 for joined ones."""
    cluster_of_row: Ints

    @classmethod
    def of(cls, published: Baskets | Records) -> Chunks:
        """A published table as chunks. Raises for tables that are none, or in which an item of a record stands in two places."""
        return _chunks_of(published)

    def name(self, cluster: int) -> tuple[str, ...]:
        return (self.labels[cluster],)

    def rows_of_cluster(self, cluster: int) -> tuple[int, ...]:
        return tuple((np.flatnonzero(self.cluster_of_row == cluster) + 1).tolist())

    @cached_property
    def rest_lengths(self) -> Ints:
        """How many items the rest of each cluster lists."""
        return np.where(self.rest_row >= 0, self.items.lengths[self.rest_row], 0)

    @cached_property
    def domain(self) -> tuple[Ints, Ints]:
        """(chunk, item): every item of every chunk once, by chunk and then by item."""
        subs = self.items.take(self.row)
        n = max(1, len(self.items.vocabulary))
        keys = np.unique(np.repeat(self.place, subs.lengths) * n + subs.items)
        return keys // n, keys % n

    @cached_property
    def by_chunk(self) -> Baskets:
        """The sub-records, an item of one chunk being another than the same in another."""
        subs = self.items.take(self.row)
        place, item = self.domain
        n = max(1, len(self.items.vocabulary))
        codes = np.searchsorted(place * n + item, np.repeat(self.place, subs.lengths) * n + subs.items)
        names = tuple(map(str, range(len(place))))  # numbers: what they are called is `item_name`
        return Baskets(subs.offsets, codes.astype(np.int32), names)

    def item_name(self, code: int) -> str:
        return self.items.vocabulary[int(self.domain[1][code])]

    def above(self, cluster: int) -> list[int]:
        """The clusters that it is part of, the nearest first."""
        found = []
        while (cluster := int(self.parent[cluster])) >= 0:
            found.append(cluster)
        return found

    def shares(self, cluster: int) -> bool:
        """Whether a chunk is shared with it."""
        return bool(np.isin(self.above(cluster), self.cluster_of_place).any())

    @cached_property
    def blocked(self) -> list[tuple[int, int]]:
        """(item, chunk): items of shared chunks that stand in a chunk of a cluster below as well."""
        place, item = self.domain
        n = max(1, len(self.items.vocabulary))
        shared = {
            int(self.cluster_of_place[p]) * n + i: p
            for p, i in zip(place.tolist(), item.tolist(), strict=True)
            if self.rest_row[self.cluster_of_place[p]] < 0
        }
        found = set()
        for p, i in zip(place.tolist(), item.tolist(), strict=True) if shared else ():
            found |= {
                (i, shared[key])
                for cluster in self.above(int(self.cluster_of_place[p]))
                if (key := cluster * n + i) in shared
            }
        return sorted(found)

    @cached_property
    def covered(self) -> Bools:
        """Per leaf, whether an item of its chunks stands in all of its records."""
        place, _ = self.domain
        cluster = self.cluster_of_place[place]
        full = self.by_chunk.supports() == self.sizes[cluster]
        covered = np.zeros(len(self.labels), np.bool_)
        covered[cluster[full]] = True
        return covered[self.leaves]


def _chunks_of(published: Baskets | Records) -> Chunks:
    columns = {} if isinstance(published, Baskets) else {column.name: column for column in published.columns}
    if isinstance(published, Baskets) or published.items is None or set(columns) != set(COLUMNS):
        raise InputError(
            f"a release in chunks has the columns {', '.join(COLUMNS)} and one of items; is this one ({option('model', 'chunks')})?"
        )
    check_table(published)
    if not len(published):
        raise InputError("there are no rows, and so no clusters; give a release in chunks")
    items = published.items
    labels = columns[CLUSTER].values
    cluster = columns[CLUSTER].codes.astype(np.int64)
    number = np.array([_size(text) for text in columns[RECORDS].values], np.int64)[columns[RECORDS].codes]
    sizes = np.zeros(len(labels), np.int64)
    sizes[cluster] = number
    if (sizes[cluster] != number).any():
        differing = int(np.argmax(sizes[cluster] != number))
        raise InputError(f"row {differing + 1:,}: its cluster has another number of records elsewhere; correct it")
    known = {label: code for code, label in enumerate(labels)}
    parent = np.full(len(labels), -1, np.int64)
    for code, label in enumerate(labels):
        above = label
        while "." in above and parent[code] < 0:
            above = above.rpartition(".")[0]
            parent[code] = known.get(above, -1)
    is_rest = np.array([name == REST for name in columns[CHUNK].values], np.bool_)[columns[CHUNK].codes]
    rest_row = np.full(len(labels), -1, np.int64)
    rest_row[cluster[is_rest]] = np.flatnonzero(is_rest)
    leaves = np.flatnonzero(~np.isin(np.arange(len(labels)), parent))
    _check_rests(labels, np.bincount(cluster[is_rest], minlength=len(labels)), leaves)
    sums = np.zeros(len(labels), np.int64)
    for leaf in leaves.tolist():
        at = leaf
        while at >= 0:
            sums[at] += sizes[leaf]
            at = int(parent[at])
    if (sums != sizes).any():
        raise InputError("a joined cluster has another number of records than its parts together; correct it")
    row = np.flatnonzero(~is_rest).astype(np.int64)
    blank = row[items.lengths[row] == 0]
    if len(blank):
        raise InputError(f"row {blank[0] + 1:,}: a sub-record without items says nothing; leave it out")
    n = len(columns[CHUNK].values)
    keys, place = np.unique(cluster[row] * n + columns[CHUNK].codes[row], return_inverse=True)
    place = place.reshape(-1).astype(np.int64)
    places = tuple((labels[key // n], columns[CHUNK].values[key % n]) for key in keys.tolist())
    chunks = Chunks(labels, sizes, parent, leaves, items, row, place, places, keys // n, rest_row, cluster)
    if (np.bincount(place, minlength=len(places)) > sizes[chunks.cluster_of_place]).any():
        raise InputError("a chunk has more sub-records than its cluster has records; this is not a release in chunks")
    _check_places(chunks)
    return chunks


def _size(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 16 and int(text) > 0):
        raise InputError(f"column {RECORDS!r} is about numbers of records, from 1 on; correct it")
    return int(text)


def _check_rests(labels: tuple[str, ...], rests: npt.NDArray[np.intp], leaves: Ints) -> None:
    wanted = np.zeros(len(labels), np.int64)
    wanted[leaves] = 1
    if (rests != wanted).any():
        cluster = labels[int(np.argmax(rests != wanted))]
        raise InputError(
            f"cluster {cluster}: every cluster without parts has one row {REST!r}, even an empty one, and a joined one has none; correct it"
        )


def _check_places(chunks: Chunks) -> None:
    """Raises where an item of a cluster stands in two places, so that nobody knows what that would mean."""
    n = max(1, len(chunks.items.vocabulary))
    place, item = chunks.domain
    keys = chunks.cluster_of_place[place] * n + item
    rests = chunks.items.take(chunks.rest_row[chunks.leaves])
    listed = np.repeat(chunks.leaves, rests.lengths) * n + rests.items
    everywhere = np.concatenate((keys, listed))
    twice = len(np.unique(everywhere)) < len(everywhere)
    # What a rest lists is not in a chunk that is shared above it either.
    owner = np.repeat(chunks.leaves, rests.lengths)
    while not twice and (owner >= 0).any():
        owner = np.where(owner >= 0, chunks.parent[owner], -1)
        there = owner >= 0
        twice = bool(np.isin(owner[there] * n + rests.items[there], keys).any())
    if twice:
        raise InputError(
            "an item stands in two chunks of a cluster, or in a chunk and in the rest; publish each item of a cluster in one place"
        )


def _in_chunk(chunks: Chunks, witness: Witness) -> Witness:
    """A witness of the sub-records, in terms of the table."""
    codes = [int(code) for code in witness.items]
    rows = tuple((chunks.row[np.array(witness.rows, np.int64) - 1] + 1).tolist())
    cluster = int(chunks.cluster_of_place[chunks.domain[0][codes[0]]])
    names = tuple(sorted(map(chunks.item_name, codes)))
    return Witness(names, witness.support, rows, "sub-records of a chunk", chunks.name(cluster))


def _notes(covered: int, clusters: int) -> tuple[str, ...]:
    if not covered:
        return ()
    return (
        f"in {covered:,} of {number_of(clusters, 'cluster')} an item stands in every record: "
        f"whoever knows that a person is in such a cluster learns "
        "it (the cover problem)",
    )
