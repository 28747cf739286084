"""Stacks: published batches put together, each expressed under today's cut of their series.

Only the published files and the ledger are read. Every token of an older batch is a node at or below a node of today's cut, for the cut has
only become coarser: it is replaced by that node, and the rows of all batches are one set of rows then. What is rare in none of the batches
is rare in no stack of them, but that is for the audit to say. It counts rows. Where the batches counted people, the files do not say whose
rows are; but any set of tokens in a row of the stack comes from a set in that row of its batch, which k people of the batch have.
"""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from shoal.algorithms.recoding import Recoding
from shoal.errors import InputError, option
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.cut import Cut
from shoal.hierarchy.tree import Hierarchy
from shoal.loss.readers_view import exact_pairs, exact_share, most_information_lost, published_nodes
from shoal.models import Proposal, basket_details, basket_source
from shoal.models.km import certified_rows, warnings_of
from shoal.options import File as Path
from shoal.price.ncp import published_ncp
from shoal.records.baskets import Baskets
from shoal.records.records import Records
from shoal.records.source import Source, fingerprint
from shoal.records.storage.digest import row_digest
from shoal.records.storage.publication import display_name
from shoal.records.writing import written_as
from shoal.series.batches import joined_rows, series_tree
from shoal.series.ledger import Entry, Ledger, read_ledger

Stacked = tuple[Source, Proposal, Mapping[str, Any]]
"""The rows of the files, what is published of them, and what there is to say about the series."""


def stacked_batches(path: Path, files: Sequence[Path], reading: Mapping[str, Any]) -> Stacked:
    """The batches in these files, under today's cut of the series."""
    ledger = read_ledger(path)
    if ledger is None:
        raise InputError(
            f"{path}: there is no such ledger; name that of the series (it is {option('series')} of its runs)"
        )
    if ledger.kind != "batches":
        raise InputError(
            f"{path}: its series is one of {ledger.kind}, which hold the same people: they are not put together"
        )
    today = series_tree(ledger.state)
    if today is None:
        raise InputError(f"{path}: its series has no release yet; there is nothing to put together")
    if not files:
        raise InputError("there are no files to put together; name batches of the series")
    cut = today[1]
    entries = _entries_of(ledger, files)
    told = [dict(entry.facts["reading"]) | dict(reading) for entry in entries]
    sources = [basket_source(file, how) for file, how in zip(files, told, strict=True)]
    published = joined_rows(tuple(_under(cut, source) for source in sources))
    guarantee = KmAnonymity(ledger.promise["k"], ledger.promise["m"], of_people="counted" in ledger.promise)
    digest = hashlib.sha256("".join(sorted(source.sha256 for source in sources)).encode()).hexdigest()
    together = Source("the batches", Records((), published), digest, sources[-1].layout)
    series = {"id": ledger.id, "kind": ledger.kind, "release": ledger.releases, "stacked": len(entries)}
    facts = {"kind": ledger.kind, "batches": sorted(entry.release for entry in entries), "of": ledger.releases}
    return together, _proposal(published, guarantee, cut, entries, series), facts


def _entries_of(ledger: Ledger, files: Sequence[Path]) -> list[Entry]:
    """What the ledger knows of each file. Of batches that are alike to the byte, each stands for one."""
    left = [entry for entry in ledger.entries if entry.release]
    entries: list[Entry] = []
    for file in files:
        name, is_folder = display_name(file), isinstance(file, str | os.PathLike) and os.path.isdir(file)
        # A folder is what Spark writes, and known by its rows.
        sha256 = row_digest(basket_source(file, {}).baskets) if is_folder else fingerprint(file)
        entry = next((entry for entry in left if entry.output_sha256 == sha256), None)
        if entry is None and any(taken.output_sha256 == sha256 for taken in entries):
            raise InputError(f"{name}: it is named twice; name each batch once, or its rows would count twice")
        if entry is None:
            raise InputError(
                f"{name}: it is no release of this series, or was changed since; name files as the series published them, and its newest "
                "ledger"
            )
        left.remove(entry)
        entries.append(entry)
    return entries


def _under(cut: Cut, source: Source) -> Baskets:
    """The rows of a batch under today's cut."""
    tree, now = cut.hierarchy, cut.lowest()
    leaf = tree.leaf_order[tree.span[:, 0]]
    coarser = tree.leaf_count > tree.leaf_count[cut.node[leaf]]
    above = now.node[leaf]
    form = written_as(source.layout)
    meant: dict[str, set[int]] = defaultdict(set)
    for v, name in enumerate(tree.names):
        meant[form(name)].add(-1 if coarser[v] else int(above[v]))
    nodes = []
    for token in source.baskets.vocabulary:
        known = meant.get(token, set())
        if not known:
            raise InputError(f"{source.name}: it holds what is not a token of this series; name its newest ledger")
        if len(known - {-1}) > 1:
            raise InputError(
                f"{source.name}: two items of the series are written as the same text in {source.layout.format}, so that it cannot be told "
                "which of them stands there; leave it out, and publish in .jsonl or .parquet"
            )
        nodes.append(max(known))
    if -1 in nodes:
        raise InputError(
            f"{source.name}: it was published under a coarser cut than the ledger has; name the newest ledger"
        )
    tokens, place = np.unique(np.array(nodes, np.int64), return_inverse=True)
    baskets = source.baskets
    return Baskets.from_codes(baskets.lengths, place[baskets.items], [tree.names[v] for v in tokens.tolist()])


def _proposal(
    published: Baskets, guarantee: KmAnonymity, cut: Cut, entries: Sequence[Entry], series: Mapping[str, Any]
) -> Proposal:
    """What there is to say of a stack: losses as its readers see them, for the originals are not read."""
    tree, occurrences = cut.hierarchy, published.supports()
    nodes = published_nodes(tree, published.vocabulary)
    is_item = nodes < tree.n_leaves
    suppress = max(float(entry.facts["suppress"]) for entry in entries)
    read = np.array([entry.facts["occurrences"] for entry in entries], np.float64)
    deleted = float(read @ [entry.facts["loss"]["deleted"] for entry in entries] / max(1.0, read.sum()))
    pairs = exact_pairs(published, is_item)
    name = str(entries[-1].facts["algorithm"])
    recoding = Recoding(cut, (), algorithm=name)
    return Proposal(
        guarantee=guarantee,
        published=published,
        recoding=recoding,
        algorithm=name,
        loss={
            "info": most_information_lost(tree, nodes, occurrences),
            "ncp": published_ncp(occurrences, tree.leaf_count[nodes], tree.n_leaves),
            "deleted": deleted,
        },
        kept={"exact": exact_share(occurrences, is_item)} | ({} if pairs is None else {"pairs": pairs}),
        parameters={"suppress": suppress},
        details={
            **basket_details(published, published),
            "hierarchy": {"source": tree.source, "leaves": tree.n_leaves, "height": tree.height},
        },
        certified=partial(_certified, tree, published, guarantee.k, deleted if suppress else None, series),
        warnings=(*warnings_of(recoding, suppress), STACKED, *((OF_PEOPLE,) if guarantee.of_people else ())),
        notes=(AS_SEEN,),
    )


STACKED = (
    "These are batches of a series, put together: the rows of each are those that were published, their items expressed under the cut that "
    "the series has now. What the batches told one by one, they go on telling."
)
OF_PEOPLE = (
    "People were counted in each batch when it was published, and records in the stack: what a row of the stack holds, at least as many "
    "people of its batch have in a row as the promise asks for. Rows of the same people in other batches make no crowd smaller."
)
AS_SEEN = (
    "losses are those that a reader of the stack can see, of published occurrences: the original rows were not read"
)


def _certified(
    tree: Hierarchy, published: Baskets, k: int, deleted: float | None, series: Mapping[str, Any]
) -> dict[str, Any]:
    return {**certified_rows(tree, published, k, deleted=deleted), "series": dict(series)}
