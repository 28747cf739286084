"""Series on Spark: batches, whose ledger is on the driver's disk and whose rows are searched in one task, as the local engine would.

A turn goes as there (`shoal.series.turns`): an input that was read before is recognised, by the hash of its rows, and what goes out keeps
the promise under the cut of the series. A folder of this machine, its certificate and the ledger become current in one step. To a table,
and to a folder elsewhere, no step reaches both: so the ledger says beforehand what is about to get its name, with the hash of its rows,
and says afterwards that it has. A run that finds the first without the second looks at the place (`_settled`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from shoal.algorithms.recoding import Options
from shoal.errors import InputError
from shoal.guarantees.km import KmAnonymity
from shoal.guarantees.series.histories import SNAPSHOTS
from shoal.limits import shown_size
from shoal.plan.combinations import NO_SNAPSHOTS
from shoal.plan.model import Plan
from shoal.series.batches import Waiting
from shoal.series.ledger import Ledger, check_current, read_ledger, write_ledger
from shoal.series.turns import Turn, certificate_of, repetition, series_of, turn_of_batch
from shoal.spark.data.one_task import SETTING, TO_CHANGE, bytes_needed, bytes_of, fits, task_memory
from shoal.spark.data.sets import SparkSets, encode_sets
from shoal.spark.data.storage import Files, frame_of
from shoal.spark.search.sets.whole_sets import propose_batch

ENGINE = "spark"


def batch_turn(
    plan: Plan, rows: SparkSets, guarantee: KmAnonymity, asked: Mapping[str, Any], options: Options
) -> tuple[Turn, str]:
    """The turn of a plan that goes on with a series: what may be published of a data frame now, and the ledger after that; and the hash of
    the frame's rows."""
    path, ledger, guarantee = series_of(plan, guarantee, ENGINE)
    if ledger.kind == SNAPSHOTS:
        raise InputError(NO_SNAPSHOTS)
    if ledger.pending is not None:
        ledger = _settled(path, ledger, ledger.pending, Files(rows.session))
    check_current(ledger, path, None if plan.outputs is None else certificate_of(plan))
    sha256 = rows.digest()
    if (earlier := ledger.find(sha256)) is not None:
        return repetition(path, ledger, earlier), sha256
    waiting = Waiting.of(ledger.state).baskets
    beside = bytes_of(len(waiting), waiting.occurrences, TO_CHANGE)
    if not fits(rows, TO_CHANGE, beside):
        raise InputError(
            "a batch of a series is searched in one task, which has to hold all its rows and those that wait; they take about "
            f"{shown_size(bytes_needed(rows, TO_CHANGE) + beside)}, and a task may take {shown_size(task_memory(rows.session))} "
            f"({SETTING}); publish in smaller batches, or set it higher"
        )
    proposal, batch = propose_batch(rows, ledger.state, guarantee, asked, options, ledger.wait)
    return turn_of_batch(path, ledger, sha256, len(rows), batch, proposal, engine=ENGINE), sha256


def _settled(path: str, ledger: Ledger, pending: Mapping[str, Any], files: Files) -> Ledger:
    """The ledger after a run that was interrupted while its rows got their name, in a table or elsewhere than here.

    It is an entry if they are there, all of them and with their certificate; nothing if they are not. Raises in between.
    """
    entry, proof = pending["entry"], pending["certificate"]
    output, is_there = entry["output"], proof is not None and files.is_there(proof)
    if is_out := files.is_there(output):
        written = encode_sets(frame_of(files.session, output), for_one_task=True)
        try:
            whole = written.digest() == entry["output_sha256"]
        finally:
            written.forget()
        if not whole or not (is_there or proof is None):
            raise InputError(
                f"{output}: a run of this series was interrupted while it wrote this, and it is not complete; remove it, and what has its "
                "name and -not-audited beside it, and run again"
            )
    elif proof is not None and is_there and _is_of(files.read(proof), ledger.id, entry["release"]):
        files.remove(proof)
    write_ledger(path, ledger.after_pending(is_out))
    now = read_ledger(path)
    assert now is not None
    return replace(now, wait=ledger.wait)


def _is_of(certificate: bytes, id: str, release: int) -> bool:
    """Whether this is the certificate of a release of a series, as far as JSON tells."""
    try:
        series = json.loads(certificate)["series"]
        return bool((series["id"], series["release"]) == (id, release))
    except (ValueError, TypeError, KeyError):
        return False
