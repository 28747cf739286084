"""What a release in chunks is worth: the information that it keeps, what stands with its number, and the commonest pairs.

Every item is published as it is, so the measure of `shoal.price.information` (an item and the token that stands for it) would find nothing
lost. What is lost is of two kinds, and both are counted here in bits, of the N occurrences' sum of log2(N / n(x)) as there:

- an occurrence in a rest is lost whole: the reader knows that the item is somewhere in the cluster, and not how often;
- a chunk of which nobody knows whose its sub-records are loses the bits that say so: of s records, s times the entropy of their
  sub-records, none being one of them. One chunk of each cluster, the one that would lose most, loses nothing: records are known by it.
  No chunk loses more than its occurrences say.

So a cluster with a single chunk and no rest loses nothing, and one whose chunks say nothing of each other nearly all but the largest.
"""

from __future__ import annotations

import numpy as np

from shoal.analysis.chunk_counts import ChunkCounts
from shoal.guarantees.chunks import Chunks
from shoal.loss.common_pairs import common_pairs, share_kept
from shoal.loss.worth import Worth
from shoal.numbers import Floats
from shoal.price.information import entropy_bits
from shoal.records.baskets import Baskets


def chunk_worth(original: Baskets, chunks: Chunks, k: int | None = None) -> Worth:
    """`info`, and of what is kept `exact` (occurrences that stand in chunks) and `pairs` (commonest pairs whose estimate is within 10%)."""
    support = original.supports()
    total = max(1, int(support.sum()))
    bits = entropy_bits(support)
    subs = chunks.by_chunk
    lost, listed = _lost_bits(original, chunks)
    info = lost / bits if bits > 0 else listed / total
    pairs = common_pairs(original)
    counts = ChunkCounts(chunks, k)
    names = original.vocabulary
    estimates = np.array(
        [
            counts.count((names[a], names[b])).value
            for a, b in zip(pairs.one.tolist(), pairs.other.tolist(), strict=True)
        ]
    )
    kept = share_kept(pairs, estimates)
    return Worth(
        {"info": min(1.0, info)}, {"exact": subs.occurrences / total} | ({} if kept is None else {"pairs": kept})
    )


def _lost_bits(original: Baskets, chunks: Chunks) -> tuple[float, int]:
    """The bits that are lost, and how many occurrences stand in rests."""
    support = original.supports()
    total = int(support.sum())
    with np.errstate(divide="ignore"):
        says = np.where(support > 0, np.log2(total / np.maximum(support, 1)), 0.0)
    place_of = {name: code for code, name in enumerate(original.vocabulary)}
    own = np.array([place_of.get(name, -1) for name in chunks.items.vocabulary], np.int64)
    place, item = chunks.domain
    in_chunks = chunks.by_chunk.supports()
    counted = np.zeros(len(support), np.int64)
    known = own[item] >= 0
    np.add.at(counted, own[item[known]], in_chunks[known])
    rest = np.maximum(0, support - counted)
    lost = float((rest * says).sum())
    entry_bits = in_chunks * np.where(own[item] >= 0, says[own[item]], 0.0)
    said = np.bincount(place, entry_bits, minlength=len(chunks.places))
    apart = np.minimum(_link_bits(chunks), said)
    lost += float(apart.sum())
    leaf = chunks.rest_row[chunks.cluster_of_place] >= 0
    largest = np.zeros(len(chunks.labels))
    np.maximum.at(largest, chunks.cluster_of_place[leaf], apart[leaf])
    return lost - float(largest.sum()), int(rest.sum())


def _link_bits(chunks: Chunks) -> Floats:
    """Per chunk, what it would take to say whose each of its sub-records is."""
    subs = chunks.by_chunk
    kinds: dict[tuple[int, bytes], int] = {}
    offsets, items = subs.offsets, subs.items
    for row, place in enumerate(chunks.place.tolist()):
        kind = place, items[offsets[row] : offsets[row + 1]].tobytes()
        kinds[kind] = kinds.get(kind, 0) + 1
    sizes = chunks.sizes[chunks.cluster_of_place].astype(np.float64)
    of_kind = np.array([place for place, _ in kinds], np.int64)
    times = np.array(list(kinds.values()), np.float64)
    none = sizes - np.bincount(chunks.place, minlength=len(sizes))
    found: Floats = np.bincount(of_kind, times * np.log2(sizes[of_kind] / times), len(sizes)).astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        found += np.where(none > 0, none * np.log2(sizes / np.maximum(none, 1)), 0.0)
    return found
