"""Chunks: items as they are, published in pieces of which nobody knows which belong together.

The release is a table of sub-records (`shoal.guarantees.chunks`). What is lost is which pieces are of one record, and how often what is
rare in a cluster stands there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from shoal.algorithms import algorithm, entry
from shoal.algorithms.recoding import Options
from shoal.analysis.chunk_worth import chunk_worth
from shoal.analysis.reconstruction import is_in_chunks, read_chunks
from shoal.certificate.disclosure import Figure, disclose
from shoal.errors import InputError, option
from shoal.guarantees.chunks import CHUNK, CLUSTER, ChunkAnonymity, Chunks
from shoal.models import Proposal, Roles, basket_details, basket_notes, basket_source
from shoal.records.records import Records
from shoal.records.source import Source

PIECES = (
    "A row is a piece of a record, not a record: shoal reconstruct draws sets of records that may have been the original, and a count of "
    "items that stand in different chunks is an estimate."
)


def read(data: Any, guarantee: ChunkAnonymity, roles: Roles, reading: Mapping[str, Any]) -> tuple[Source, Any]:
    """The sets to be published, or, for an audit, the table of chunks, known by its columns."""
    roles.refuse(guarantee.model, "quasi", "sensitive")
    if not is_in_chunks(data, reading.get("format")):
        if roles.keep is not None:
            roles.refuse(guarantee.model, "keep")
        return basket_source(data, reading), guarantee
    return read_chunks(data, reading), guarantee


def proposal(source: Source, guarantee: ChunkAnonymity, request: Mapping[str, Any], options: Options) -> Proposal:
    """Part the records into clusters and their items into chunks."""
    if not source.records.holds_sets_alone:
        raise InputError(f"{source.name} is a release in chunks already; give the original")
    for name in ("hierarchy", "unknown"):
        if request[name] is not None:
            raise InputError(
                f"{option(name)} has no use with {option('model', guarantee.model)}, which publishes items as they are; leave it out"
            )
    baskets = source.baskets
    name, home = entry(guarantee.model, request["algorithm"])
    found = algorithm(guarantee.model, name)(baskets, guarantee, None, options)
    published: Records = found.apply(np.random.default_rng())  # randomness of the system, of which nothing is kept
    chunks = Chunks.of(published)
    worth = chunk_worth(baskets, chunks, int(guarantee.k))
    assert published.items is not None
    shared = chunks.rest_row[chunks.cluster_of_place] < 0
    covered = int(np.count_nonzero(chunks.covered))
    listed = 1 - worth.kept["exact"]
    return Proposal(
        guarantee=guarantee,
        published=published,
        recoding=found,
        algorithm=name,
        loss={**worth.lost, "listed": listed},
        kept=worth.kept,
        parameters={option: getattr(options, option) for option in home.options},
        details={
            **basket_details(baskets, published.items),
            "chunks": {
                "clusters": len(chunks.leaves),
                "shared": int(np.count_nonzero(shared)),
                "chunks": len(chunks.places),
                "covered_clusters": covered,
            },
            "facts": dict(found.facts),
        },
        certified=partial(_certified, int(guarantee.k), worth.lost["info"], published.items.occurrences),
        warnings=(PIECES,),
        notes=basket_notes(baskets, empty_stay=True) + found.notes,
        together=(CLUSTER, CHUNK),
        rules=partial(_rules, chunks),
        rules_note="says how many records each cluster has, and how its items are divided",
    )


def _certified(k: int, lost: float, occurrences: int) -> dict[str, Any]:
    return disclose(k, loss={"info": Figure(lost, occurrences)})


def _rules(chunks: Chunks, written: Any) -> Iterator[tuple[str, ...]]:
    yield "cluster", "records", "chunk", "sub-records", "items"
    times = np.bincount(chunks.place, minlength=len(chunks.places))
    place, item = chunks.domain
    names = chunks.items.vocabulary
    for number, (cluster, chunk) in enumerate(chunks.places):
        size = chunks.sizes[chunks.cluster_of_place[number]]
        items = "|".join(written(names[i]) for i in item[place == number].tolist())
        yield cluster, str(size), chunk, str(times[number]), items
