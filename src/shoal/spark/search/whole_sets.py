"""k^m-anonymity where all rows fit one task: whatever the local engine proposes, proposed there.

The task returns a report (the cut, the losses, what is kept; names and counts, as always) and, packed, the rows that would be published, in
the order that a keyed hash of their numbers gives them. So algorithms that look at whole rows run on Spark, too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pyarrow as pa

from shoal.algorithms.recoding import Options, Recoding
from shoal.errors import InputError, Message, ShoalError, Unreachable
from shoal.guarantees.km import KmAnonymity
from shoal.guarantees.km_local import LocalKmAnonymity
from shoal.hierarchy.cut import Cut
from shoal.hierarchy.tree import Hierarchy
from shoal.models import km
from shoal.records.baskets import Baskets, row_blocks
from shoal.records.storage.digest import row_digest
from shoal.spark.data.executors import store
from shoal.spark.data.one_task import cores_of_task, document, map_all
from shoal.spark.data.packing import MOST, PACKED, pack
from shoal.spark.data.sets import SparkSets
from shoal.spark.data.shuffling import places_of
from shoal.spark.search.proposals import Asked, SparkProposal, named_rows, reports_of

_FAULTS: dict[str, type[ShoalError]] = {"InputError": InputError, "Unreachable": Unreachable}
_ASKED = ("algorithm", "suppress", "price", "unknown")


def propose_whole(
    rows: SparkSets, guarantee: KmAnonymity, tree: Hierarchy, asked: Asked, options: Options
) -> SparkProposal:
    """What the local engine proposes for all rows."""
    from pyspark.sql import functions as sf

    options.tell(f"{asked['algorithm']} in one task", 0.0)
    parts = min(rows.parallel, 1 + rows.occurrences // MOST)
    how = {
        "guarantee": guarantee,
        "asked": {name: asked[name] for name in _ASKED} | {"hierarchy": tree},
        "options": replace(options, progress=None, threads=cores_of_task(rows.session)),
        "secret": os.urandom(32),
        "size": max(1, min(MOST, rows.occurrences // (2 * parts))),
    }
    made = map_all(rows, _propose, f"{PACKED}, report string", **how)
    packed = store(made if parts == 1 else made.repartition(parts))
    try:
        (report,) = reports_of(packed)
        if "fault" in report:
            raise _fault(report)
    except BaseException:
        packed.unpersist()
        raise
    loss, facts = report["loss"], report["facts"]
    known = {"algorithm": report["algorithm"], "optimal": report["optimal"], "bound": report["bound"]}
    is_local, notes = report["cut"] is None, tuple(Message(*note) for note in report["notes"])
    cut = None if is_local else Cut(tree, np.array(report["cut"], np.int32))
    suppress = report["parameters"].get("suppress", 0.0)
    return SparkProposal(
        published=named_rows(packed.where(sf.col("report").isNull()), report["tokens"], rows.column),
        packed=packed,
        raw=rows,
        raw_sha256=report["sha256"],
        guarantee=LocalKmAnonymity(guarantee.k, guarantee.m, tree) if is_local else guarantee,
        loss=loss,
        recoding=None if cut is None else Recoding(cut, rows.vocabulary, facts=facts, notes=notes, **known),
        certified=lambda published: km.certified_facts(
            tree,
            published.sets.vocabulary,
            published.sets.counts,
            guarantee.k,
            deleted=loss["deleted"] if suppress else None,
            unknown=asked["unknown"],
            local=is_local,
        ),
        warnings=tuple(report["warnings"]),
        notes=notes,
        **known,
        **{name: report[name] for name in ("kept", "remains", "parameters", "details")},
    )


def _fault(report: dict[str, Any]) -> ShoalError:
    return _FAULTS[report["fault"]](report["text"], values=report["values"])


def _propose(
    baskets: Baskets, guarantee: KmAnonymity, asked: dict[str, Any], options: Options, secret: bytes, size: int
) -> Iterator[pa.RecordBatch]:
    """On a worker: what there is to say about the proposal of the local engine, and its rows by their places."""
    try:
        made = km.proposal_of(baskets, guarantee, asked, options)
    except (InputError, Unreachable) as fault:
        kind = "Unreachable" if isinstance(fault, Unreachable) else "InputError"
        yield _reported({"fault": kind, "text": fault.message.text, "values": fault.values})
        return
    recoding, published = made.recoding, cast(Baskets, made.published)
    notes = [note if isinstance(note, Message) else Message(note) for note in made.notes]
    yield _reported(
        {name: getattr(made, name) for name in ("algorithm", "loss", "kept", "remains", "parameters", "details")}
        | {name: getattr(made, name) for name in ("warnings", "optimal", "bound")}
        | {"notes": [[note.text, note.values] for note in notes], "facts": recoding.facts}
        | {"cut": recoding.cut.node if isinstance(recoding, Recoding) else None}
        | {"tokens": published.vocabulary, "sha256": row_digest(baskets)}
    )
    place = places_of(np.arange(len(published)), secret, 8).view("<i8").reshape(-1)
    order = np.argsort(place)
    place, published = place[order], published.take(order)
    for first, last in row_blocks(published.offsets, size):
        low, high = published.offsets[first], published.offsets[last]
        columns = pack(place[first:last], published.offsets[first : last + 1] - low, published.items[low:high])
        yield pa.record_batch(columns | {"report": pa.array([None], pa.string())})


def _reported(report: dict[str, Any]) -> pa.RecordBatch:
    nothing = {name: pa.array([None], pa.binary()) for name in ("rows", "lengths", "items")}
    return pa.record_batch(nothing | {"report": pa.array([document(report)], pa.string())})
