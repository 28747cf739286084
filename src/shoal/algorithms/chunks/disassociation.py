"""Disassociation (Terrovitis, Liagouris, Mamoulis, Skiadopoulos 2012): every item stays as it is, and which items were together is
published in pieces.

Records with common items make clusters (`horizontal`), the items of a cluster make chunks that are k^m-anonymous and a rest (`vertical`),
and clusters are joined to count what is rare in each (`refining`). What is published is a table of sub-records, described in
`shoal.guarantees.chunks`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from shoal.algorithms.chunks.horizontal import horizontal_parts
from shoal.algorithms.chunks.refining import Joint, joined_clusters
from shoal.algorithms.chunks.vertical import Cluster, masks_of, vertical_parts
from shoal.algorithms.recoding import Options, Outcome
from shoal.errors import InputError, Unreachable, only_so_many, option
from shoal.guarantees.chunks import CHUNK, CLUSTER, RECORDS, REST, ChunkAnonymity
from shoal.numbers import Ints
from shoal.records.baskets import Baskets
from shoal.records.records import Column, Records

CLUSTER_SIZE = 30
"""Records that a cluster may have unless it is said, and at least so many times k."""
TIMES_K = 2


@dataclass(frozen=True, eq=False)
class Chunked(Outcome):
    """Baskets in clusters, and their items in chunks."""

    baskets: Baskets
    nodes: tuple[Cluster | Joint, ...]

    def apply(self, random: np.random.Generator) -> Records:
        """The table that is published. The numbers of clusters and chunks, and the order of sub-records, are drawn."""
        table = _Table(self.baskets)
        for number, node in zip(random.permutation(len(self.nodes)).tolist(), self.nodes, strict=True):
            table.add(node, f"c{number + 1}", {}, random)
        return table.records()

    @cached_property
    def leaves(self) -> list[Cluster]:
        return [leaf for node in self.nodes for leaf in node.leaves]


class _Table:
    """The published table while it grows."""

    def __init__(self, baskets: Baskets) -> None:
        self.baskets = baskets
        self.clusters: list[tuple[str, int]] = []
        """Each cluster, joined ones too, with its records."""
        self.chunks: list[tuple[int, str]] = []
        """Each chunk with the number of its cluster."""
        self.chunk_of = np.full(len(baskets.items), -1, np.int64)
        """Per occurrence, the chunk it is published in, -1 for those in a rest."""
        self.rests: list[tuple[int, list[int]]] = []
        """Per rest, its chunk and its items."""

    def add(self, node: Cluster | Joint, label: str, above: Mapping[int, int], random: np.random.Generator) -> None:
        number = len(self.clusters)
        self.clusters.append((label, node.size))
        own = dict(above)
        for name, chunk in zip(random.permutation(len(node.chunks)).tolist(), node.chunks, strict=True):
            own |= dict.fromkeys(chunk, len(self.chunks))
            self.chunks.append((number, str(name + 1)))
        if isinstance(node, Joint):
            for name, part in zip(random.permutation(2).tolist(), node.parts, strict=True):
                self.add(part, f"{label}.{name + 1}", own, random)
            return
        self.rests.append((len(self.chunks), sorted(node.rest)))
        self.chunks.append((number, REST))
        lengths = np.diff(self.baskets.offsets)[node.rows]
        first = np.repeat(self.baskets.offsets[node.rows] - (np.cumsum(lengths) - lengths), lengths)
        places = first + np.arange(len(first))
        self.chunk_of[places] = [own.get(item, -1) for item in self.baskets.items[places].tolist()]

    def records(self) -> Records:
        baskets = self.baskets
        kept = np.flatnonzero(self.chunk_of >= 0)
        row = np.repeat(np.arange(len(baskets), dtype=np.int64), baskets.lengths)[kept]
        order = np.lexsort((row, self.chunk_of[kept]))
        kept, row = kept[order], row[order]
        chunk = self.chunk_of[kept]
        start = np.ones(len(kept), np.bool_)
        start[1:] = (np.diff(chunk) != 0) | (np.diff(row) != 0)
        starts = np.flatnonzero(start)
        lengths = np.diff(np.append(starts, len(kept)))
        rest_items = [item for _, items in self.rests for item in items]
        items = np.concatenate((baskets.items[kept], np.array(rest_items, np.int32)))
        of_rows = np.concatenate((chunk[starts], np.array([place for place, _ in self.rests], np.int64)))
        all_lengths = np.concatenate((lengths, np.array([len(items) for _, items in self.rests], np.int64)))
        sets = Baskets.from_codes(all_lengths, items, baskets.vocabulary)
        owner = np.array([number for number, _ in self.chunks], np.int32)[of_rows]
        labels = [label for label, _ in self.clusters]
        sizes = sorted({size for _, size in self.clusters})
        place = {size: code for code, size in enumerate(sizes)}
        of_cluster = np.array([place[size] for _, size in self.clusters], np.int32)
        names = sorted({name for _, name in self.chunks})
        of_chunk = np.array([names.index(name) for _, name in self.chunks], np.int32)
        columns = (
            Column.from_codes(CLUSTER, "keep", owner, labels, numeric=False),
            Column.from_codes(RECORDS, "keep", of_cluster[owner], list(map(str, sizes)), numeric=False),
            Column.from_codes(CHUNK, "keep", of_chunk[of_rows], names, numeric=False),
        )
        return Records(columns, sets, "items")


def disassociation(baskets: Baskets, guarantee: ChunkAnonymity, hierarchies: None, options: Options) -> Chunked:
    """Clusters of up to `cluster_size` records, their items in chunks, joined where that tells more."""
    k, m = int(guarantee.k), min(int(guarantee.m), max(1, baskets.longest))
    most = options.cluster_size or max(CLUSTER_SIZE, TIMES_K * k)
    if most < TIMES_K * k:
        raise InputError(
            f"clusters of up to {most:,} records cannot all have k = {k:,}; give {option('cluster_size')} {TIMES_K * k:,} or more"
        )
    if k > len(baskets):
        raise Unreachable(
            f"{guarantee} cannot be reached: there {only_so_many(len(baskets), 'transaction')}, fewer than k = {k:,}; choose a smaller k"
        )
    options.tell("forming clusters", 0.0)
    rows = horizontal_parts(baskets, k, most)
    clusters = list(_partitions(baskets, rows, (k, m), options))
    nodes = joined_clusters(clusters, k, m, lambda rounds, left: options.tell("joining clusters", 1 - left / len(rows)))
    facts: dict[str, Any] = {"clusters": len(clusters), "joined": len(clusters) - len(nodes), "cluster_size": most}
    return Chunked(baskets=baskets, nodes=tuple(nodes), algorithm="disassociation", facts=facts)


def _partitions(baskets: Baskets, parts: list[Ints], promise: tuple[int, int], options: Options) -> Iterator[Cluster]:
    for done, rows in enumerate(parts):
        if done % 256 == 0:
            options.tell("dividing items into chunks", done / len(parts))
        yield vertical_parts(rows, masks_of(baskets, rows), *promise)
