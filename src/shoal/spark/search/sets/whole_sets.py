"""k^m-anonymity where all rows fit one task: whatever the local engine proposes, proposed there.

The task returns a report (the cut, the losses, what is kept; names and counts, as always) and, packed, the rows that would be published, in
the order that a keyed hash of their numbers gives them. So algorithms that look at whole rows run on Spark, too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa

from shoal.algorithms.recoding import Options, Recoding
from shoal.errors import InputError, Message, ShoalError, Unreachable
from shoal.guarantees.km import KmAnonymity
from shoal.guarantees.km_local import LocalKmAnonymity
from shoal.hierarchy.cut import Cut
from shoal.hierarchy.files import read_hierarchy
from shoal.hierarchy.tree import Hierarchy
from shoal.models import Proposal, km
from shoal.ordering import natural_order
from shoal.records.baskets import Baskets, row_blocks
from shoal.records.storage.digest import row_digest
from shoal.records.stores.remote import is_elsewhere
from shoal.series.batches import next_batch, series_tree
from shoal.series.turns import batch_facts
from shoal.spark.data.executors import store
from shoal.spark.data.one_task import cores_of_task, document, map_all
from shoal.spark.data.packing import MOST, PACKED, pack
from shoal.spark.data.sets import SparkSets
from shoal.spark.data.shuffling import places_of
from shoal.spark.search.proposals import Asked, PackedRows, SparkProposal, certified_sets, reports_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_FAULTS: dict[str, type[ShoalError]] = {"InputError": InputError, "Unreachable": Unreachable}
_ASKED = ("algorithm", "suppress", "price", "unknown", "hierarchy")


def propose_whole(
    rows: SparkSets, guarantee: KmAnonymity, tree: Hierarchy, asked: Asked, options: Options
) -> SparkProposal:
    """What the local engine proposes for all rows."""
    stored, report = _in_one_task(rows, _propose, guarantee, {**asked, "hierarchy": tree}, options)
    packed = _packed_rows(stored, report, rows)
    loss, facts = report["loss"], report["facts"]
    known = {"algorithm": report["algorithm"], "optimal": report["optimal"], "bound": report["bound"]}
    is_local, notes = report["cut"] is None, tuple(Message(*note) for note in report["notes"])
    cut = None if is_local else Cut(tree, np.array(report["cut"], np.int32))
    suppress = report["parameters"].get("suppress", 0.0)
    return SparkProposal(
        published=packed.by_names(),
        packed=packed,
        raw=rows,
        raw_sha256=report["sha256"],
        guarantee=LocalKmAnonymity(guarantee.k, guarantee.m, tree) if is_local else guarantee,
        loss=loss,
        recoding=None if cut is None else Recoding(cut, rows.vocabulary, facts=facts, notes=notes, **known),
        certified=certified_sets(
            tree, guarantee.k, loss["deleted"] if suppress else None, asked["unknown"], local=is_local
        ),
        warnings=tuple(report["warnings"]),
        notes=notes,
        **known,
        **{name: report[name] for name in ("kept", "remains", "parameters", "details")},
    )


def propose_batch(
    rows: SparkSets, state: Mapping[str, Any], guarantee: KmAnonymity, asked: Asked, options: Options, wait: int
) -> tuple[SparkProposal | None, dict[str, Any]]:
    """What a series publishes of the rows that waited and of these (None where nothing can be), and the facts of the batch.

    The rows that wait come to the driver, which has the ledger.
    """
    asked = {**asked, "hierarchy": _given_tree(asked["hierarchy"])}
    stored, report = _in_one_task(rows, _propose_batch, guarantee, asked, options, state=state, wait=wait)
    batch = report["batch"] | {"notes": tuple(Message(*note) for note in report["batch"]["notes"])}
    if "algorithm" not in report:
        stored.unpersist()
        return None, batch
    packed = _packed_rows(stored, report, rows)
    today = series_tree(batch["state"])
    assert today is not None
    tree, cut = today
    notes = tuple(Message(*note) for note in report["notes"])
    proposal = SparkProposal(
        published=packed.by_names(),
        packed=packed,
        raw=rows,
        guarantee=guarantee,
        recoding=Recoding(
            cut, tuple(report["items"]), algorithm=report["algorithm"], facts=report["facts"], notes=notes
        ),
        certified=certified_sets(
            tree, guarantee.k, report["loss"]["deleted"] if batch["suppress"] else None, asked["unknown"]
        ),
        warnings=tuple(report["warnings"]),
        notes=notes,
        left_out=len(rows) - batch["rows"],
        **{
            name: report[name]
            for name in ("raw_sha256", "algorithm", "loss", "kept", "remains", "parameters", "details")
        },
    )
    return proposal, batch


def _given_tree(spec: Any) -> Any:
    """The hierarchy in a file of the driver, for a worker, which has no such file; what is made from the data is made there."""
    is_file = isinstance(spec, str | os.PathLike) and (is_elsewhere(spec) or os.path.exists(spec))
    return read_hierarchy(spec) if is_file else spec


def _in_one_task(
    rows: SparkSets, function: Callable[..., Any], guarantee: KmAnonymity, asked: Asked, options: Options, **state: Any
) -> tuple[DataFrame, dict[str, Any]]:
    """What a task that has all rows makes of them: packed rows, which the executors keep, and its report."""
    options.tell(f"{asked['algorithm'] or 'searching'} in one task", 0.0)
    parts = min(rows.parallel, 1 + rows.occurrences // MOST)
    how = {
        "guarantee": guarantee,
        "asked": {name: asked[name] for name in _ASKED},
        "options": replace(options, progress=None, threads=cores_of_task(rows.session)),
        "secret": os.urandom(32),
        "size": max(1, min(MOST, rows.occurrences // (2 * parts))),
    }
    made = map_all(rows, function, f"{PACKED}, report string", **how, **state)
    packed = store(made if parts == 1 else made.repartition(parts))
    try:
        (report,) = reports_of(packed)
        if "fault" in report:
            raise _fault(report)
    except BaseException:
        packed.unpersist()
        raise
    return packed, report


def _packed_rows(stored: DataFrame, report: Mapping[str, Any], rows: SparkSets) -> PackedRows:
    """What a task made, without its report."""
    from pyspark.sql import functions as sf

    made = stored.where(sf.col("report").isNull()).select("rows", "lengths", "items")
    return PackedRows(made, tuple(report["tokens"]), rows.column, stored)


def _fault(report: dict[str, Any]) -> ShoalError:
    return _FAULTS[report["fault"]](report["text"], values=report["values"])


def _propose(
    baskets: Baskets, guarantee: KmAnonymity, asked: dict[str, Any], options: Options, secret: bytes, size: int
) -> Iterator[pa.RecordBatch]:
    """On a worker: what there is to say about the proposal of the local engine, and its rows by their places."""
    try:
        made = km.proposal_of(baskets, guarantee, asked, options)
    except (InputError, Unreachable) as fault:
        yield _refused(fault)
        return
    recoding = made.recoding
    also = {"facts": recoding.facts, "sha256": row_digest(baskets), "optimal": made.optimal, "bound": made.bound}
    also["cut"] = recoding.cut.node if isinstance(recoding, Recoding) else None
    published = _as_read(cast(Baskets, made.published))
    yield _reported(_report_of(made, published) | also)
    yield from _by_place(published, secret, size)


def _propose_batch(
    baskets: Baskets,
    guarantee: KmAnonymity,
    asked: dict[str, Any],
    options: Options,
    secret: bytes,
    size: int,
    state: dict[str, Any],
    wait: int,
) -> Iterator[pa.RecordBatch]:
    """On a worker: the facts of the next batch of a series, what there is to say about its proposal, and its rows by their places."""
    try:
        batch = next_batch(state, baskets, guarantee, asked, options, wait)
        facts = batch_facts(batch)
        report = {"batch": facts | {"notes": _noted(facts["notes"])}}
        if batch.going is None:
            yield _reported(report)
            return
        made = km.cut_proposal(batch.rows, guarantee, batch.going.recoding, asked, batch.options)
    except (InputError, Unreachable) as fault:
        yield _refused(fault)
        return
    also = {"facts": made.recoding.facts, "raw_sha256": row_digest(baskets), "items": batch.rows.vocabulary}
    published = _as_read(cast(Baskets, made.published))
    yield _reported(report | also | _report_of(made, published))
    yield from _by_place(published, secret, size)


def _as_read(published: Baskets) -> Baskets:
    """The same rows, with their names as whoever reads them has them: those that occur, in natural order."""
    names = published.vocabulary
    if published.supports().all() and natural_order(names) == [*range(len(names))]:
        return published
    return Baskets.from_codes(published.lengths, published.items, names)


def _report_of(made: Proposal, published: Baskets) -> dict[str, Any]:
    """What there is to say about a proposal, on its way to the driver."""
    said = ("algorithm", "loss", "kept", "remains", "parameters", "details", "warnings")
    return {name: getattr(made, name) for name in said} | {
        "notes": _noted(made.notes),
        "tokens": published.vocabulary,
    }


def _noted(notes: Iterable[str]) -> list[list[Any]]:
    """Notes with their values, as `Message` takes them."""
    messages = [note if isinstance(note, Message) else Message(note) for note in notes]
    return [[note.text, note.values] for note in messages]


def _by_place(published: Baskets, secret: bytes, size: int) -> Iterator[pa.RecordBatch]:
    """Rows, packed, in the order that a keyed hash of their numbers gives them."""
    place = places_of(np.arange(len(published)), secret, 8).view("<i8").reshape(-1)
    order = np.argsort(place)
    place, published = place[order], published.take(order)
    for first, last in row_blocks(published.offsets, size):
        low, high = published.offsets[first], published.offsets[last]
        columns = pack(place[first:last], published.offsets[first : last + 1] - low, published.items[low:high])
        yield pa.record_batch(columns | {"report": pa.array([None], pa.string())})


def _refused(fault: ShoalError) -> pa.RecordBatch:
    kind = "Unreachable" if isinstance(fault, Unreachable) else "InputError"
    return _reported({"fault": kind, "text": fault.message.text, "values": fault.values})


def _reported(report: dict[str, Any]) -> pa.RecordBatch:
    nothing = {name: pa.array([None], pa.binary()) for name in ("rows", "lengths", "items")}
    return pa.record_batch(nothing | {"report": pa.array([document(report)], pa.string())})
