"""Sets of records that a release in chunks may have come from, drawn at random.

The pieces of each chunk are dealt to different records of its cluster, of a shared chunk to those of all its parts, and each item of a
rest to as many as an item of fewer than k usually has, one where k is not known. Where that leaves records empty while others have several
pieces, pieces move to those that have none: data without empty records are what readers usually have. Whatever tool takes rows takes
these; what it finds in several of them shows how far it depends on chance. Items of one chunk are together as they were, others as chance
has it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from shoal.analysis.chunk_counts import LISTED
from shoal.analysis.gaps import k_of_certificate
from shoal.errors import InputError, option
from shoal.guarantees.chunks import COLUMNS, Chunks
from shoal.numbers import Ints, whole_number
from shoal.records.baskets import Baskets
from shoal.records.formats.peek import column_names
from shoal.records.records import Records
from shoal.records.source import Source, load_records


def is_in_chunks(data: Any, form: str | None = None) -> bool:
    """Whether data have the columns of a release in chunks. What is wrong with data that cannot be read, their reader says."""
    if isinstance(data, Records | Baskets):
        return isinstance(data, Records) and set(COLUMNS) <= set(data.names)
    try:
        return set(COLUMNS) <= set(column_names(data, form))
    except InputError:
        return False


def read_chunks(data: Any, reading: Mapping[str, Any]) -> Source:
    """A table of chunks. Its columns are texts: no spelling of a number is taken for another."""
    given = {name: value for name, value in reading.items() if value is not None and name != "memory_limit"}
    if given.pop("id", None) is not None:
        raise InputError(f"{option('id')} is for long tables of items; a release in chunks has its items in one column")
    if isinstance(data, Records):
        return load_records(data)
    items = given.pop("items", None) or "items"
    return load_records(data, items=items, keep=COLUMNS, **{**given, "numeric": ()})


def release_in_chunks(
    release: Any, k: int | None = None, certificate: Any = None, form: str | None = None
) -> tuple[Chunks, int | None]:
    """The chunks of a release (a path, a frame, Records, or the owner's Release, which knows its k), and k where that is known."""
    if hasattr(release, "published") and hasattr(release, "guarantee"):
        k = k if k is not None else getattr(release.guarantee, "k", None)
        release = release.published
    if not is_in_chunks(release, form):
        raise InputError(f"a release in chunks has the columns {', '.join(COLUMNS)} and one of items; give one")
    source = read_chunks(release, {"format": form})
    if certificate is not None:
        k = k_of_certificate(certificate, source.sha256 if isinstance(release, str | os.PathLike) else None)
    return Chunks.of(source.records), None if k is None else int(k)


def reconstruct(release: Any, *, seed: int = 0, k: int | None = None) -> Baskets:
    """A set of records that a release in chunks (`ChunkAnonymity`) may have come from, drawn at random.

    Args:
        release: What was published: a path, a data frame, Records, or the owner's Release, which knows its k.
        seed: Another seed draws other records; the same draws the same.
        k: The k of its promise: items in rests then stand in 1 to k - 1 records of their cluster, else in one.

    Raises:
        InputError: The release cannot be read, or is not in chunks.

    >>> import shoal
    >>> rows = [["milk", "bread"]] * 3 + [["milk", "gin"], ["milk", "rum"]]
    >>> release = shoal.anonymize(rows, shoal.ChunkAnonymity(k=2, m=2))
    >>> drawn = shoal.reconstruct(release, seed=1)
    >>> len(drawn), sorted(drawn.vocabulary)
    (5, ['bread', 'gin', 'milk', 'rum'])
    """
    whole_number("seed", seed, 0)
    if k is not None:
        whole_number("k", k, 1)
    return drawing(*release_in_chunks(release, k), seed)


def drawing(chunks: Chunks, k: int | None, seed: int) -> Baskets:
    """The records that are drawn with a seed, in an order that is drawn as well."""
    random = np.random.default_rng(seed)
    drawn = drawn_records(chunks, k, random)
    return drawn.take(random.permutation(len(drawn)))


def drawn_records(chunks: Chunks, k: int | None, random: np.random.Generator) -> Baskets:
    """The records of one draw, cluster by cluster."""
    leaves = sorted(
        chunks.leaves.tolist(), key=lambda leaf: chunks.labels[leaf].split(".")
    )  # parts of one stand side by side
    first = dict(zip(leaves, np.cumsum([0, *chunks.sizes[leaves][:-1]]).tolist(), strict=True))
    start: dict[int, int] = {}
    """The first record of each cluster, joined ones too."""
    for leaf in leaves:
        for cluster in (leaf, *chunks.above(leaf)):
            start.setdefault(cluster, first[leaf])
    slot = np.empty(len(chunks.row), np.int64)
    order = np.argsort(chunks.place, kind="stable")
    bounds = np.searchsorted(chunks.place[order], np.arange(len(chunks.places) + 1))
    for place, cluster in enumerate(chunks.cluster_of_place.tolist()):
        own = order[bounds[place] : bounds[place + 1]]
        slot[own] = start[cluster] + random.permutation(int(chunks.sizes[cluster]))[: len(own)]
    listed_slot, listed_item = _dealt_rests(chunks, first, k, random)
    slots = np.concatenate((slot, listed_slot))
    _fill(slots, [(first[leaf], int(chunks.sizes[leaf])) for leaf in leaves], random)
    subs = chunks.items.take(chunks.row)
    record = np.concatenate((np.repeat(slots[: len(slot)], subs.lengths), slots[len(slot) :]))
    items = np.concatenate((subs.items, listed_item.astype(np.int32)))
    by_record = np.argsort(record, kind="stable")
    lengths = np.bincount(record, minlength=int(chunks.sizes[chunks.leaves].sum())).astype(np.int64)
    return Baskets.from_codes(lengths, items[by_record], chunks.items.vocabulary)


def _dealt_rests(
    chunks: Chunks, first: Mapping[int, int], k: int | None, random: np.random.Generator
) -> tuple[Ints, Ints]:
    """(record, item): the items of rests, each dealt to some records of its cluster."""
    most = 1 if k is None else max(1, k - 1)
    chance = np.arange(1.0, most + 1) ** -LISTED
    slots, items = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    offsets, codes = chunks.items.offsets, chunks.items.items
    for leaf, at in first.items():
        row, size = int(chunks.rest_row[leaf]), int(chunks.sizes[leaf])
        own = codes[offsets[row] : offsets[row + 1]].astype(np.int64)
        times = np.minimum(random.choice(most, len(own), p=chance / chance.sum()) + 1, size)
        for item, n in zip(own.tolist(), times.tolist(), strict=True):
            slots.append(at + random.permutation(size)[:n])
            items.append(np.full(n, item, np.int64))
    return np.concatenate(slots), np.concatenate(items)


def _fill(slots: Ints, clusters: list[tuple[int, int]], random: np.random.Generator) -> None:
    """Moves pieces from records of a cluster that have several to those that have none."""
    pieces = np.bincount(slots, minlength=sum(size for _, size in clusters))
    by_slot = np.argsort(slots, kind="stable")
    bounds = np.concatenate(([0], np.cumsum(pieces)))
    for start, size in clusters:
        held = pieces[start : start + size]
        empty = np.flatnonzero(held == 0)
        if not len(empty):
            continue
        # All pieces of a record but one may go, whichever is drawn first.
        spare = [
            int(piece)
            for record in np.flatnonzero(held > 1).tolist()
            for piece in random.permutation(by_slot[bounds[start + record] : bounds[start + record + 1]])[1:]
        ]
        moved = random.permutation(np.array(spare, np.int64))[: len(empty)]
        slots[moved] = start + empty[: len(moved)]
