"""A turn of a series: what a run may publish now, and the ledger that it leaves.

`turn_of` reads the ledger of a plan, recognises an input that was seen before, and asks the kind of the series for what goes out. The
answer, a `Turn`, holds the proposal for the audit and the next ledger; `shoal.publish` writes that ledger together with the data and the
certificate, at one commit point. Nothing can go out where `proposal` is None: then the ledger alone is written, or, for a repetition,
nothing.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from shoal.algorithms.recoding import Options
from shoal.errors import InputError, Message, number_of, option
from shoal.guarantees.km import KmAnonymity
from shoal.guarantees.registry import promised_in_people
from shoal.guarantees.series.histories import SNAPSHOTS, KmOfSnapshots
from shoal.models import Proposal
from shoal.models.km import cut_proposal
from shoal.plan.model import Plan
from shoal.records.records import Records
from shoal.records.source import Source
from shoal.series.batches import Batch, next_batch
from shoal.series.ledger import (
    Entry,
    Ledger,
    can_seal,
    check_current,
    check_unchanged,
    key_of,
    person_marks,
    read_ledger,
)
from shoal.series.snapshots import FIGURES, FOR_EVER, next_snapshot

LONGEST = {"batches": 4, SNAPSHOTS: FOR_EVER}
"""Batches that a row may wait for, unless it is said: a month of weekly ones, and longer than it took most rows that waited at all."""


@dataclass(frozen=True, eq=False)
class Turn:
    """What a run may publish, and the ledger that it leaves."""

    path: str
    ledger: Ledger
    """As it will be; its last entry does not know the output yet."""
    facts: Mapping[str, Any]
    """For `--json`."""
    source: Source | None = None
    """The rows that go out, as they were read on this machine."""
    proposal: Proposal | None = None
    """None where nothing is published."""
    notes: tuple[str, ...] = ()
    before: str | None = field(default=None, repr=False)
    """The hash of the ledger that was read."""

    @property
    def rows(self) -> int:
        """How many rows are published."""
        return self.ledger.entries[-1].rows

    def check_place(self, beside: str | None) -> None:
        """Raises if the series went on since its ledger was read, or if what lies where the certificate goes shows a newer one."""
        check_unchanged(self.path, self.before)
        check_current(replace(self.ledger, entries=self.ledger.entries[:-1]), self.path, beside)

    @property
    def repeats(self) -> bool:
        """Whether the input was seen before, so that there is nothing to write."""
        return bool(self.facts["repeated"])


def turn_of(plan: Plan, source: Source, guarantee: Any, asked: Mapping[str, Any], options: Options) -> Turn:
    """The turn of a plan that goes on with a series."""
    whose = source.records.people is not None
    path, ledger, guarantee = series_of(plan, guarantee, whose=whose)
    check_current(ledger, path, None if plan.outputs is None else certificate_of(plan))
    earlier = ledger.find(source.sha256)
    if earlier is not None:
        return repetition(path, ledger, earlier, source)
    if ledger.kind == SNAPSHOTS:
        return _turn_of_snapshot(path, ledger, source, guarantee, asked, options)
    if whose and source.person_values is None:
        raise InputError(
            f"whose are the rows? a row that waits has to be known as the same person's later on: name the column with {option('person')}"
        )
    marks = person_marks(source.person_values or (), key_of(path))
    batch = next_batch(ledger.state, source.baskets, guarantee, asked, options, ledger.wait, marks)
    records = replace(source.records, items=batch.rows, people=batch.rows.people)
    going = replace(source, records=records, person_values=None)
    made = None
    if batch.going is not None:
        made = cut_proposal(batch.rows, guarantee, batch.going.recoding, asked, batch.options)
    turn = turn_of_batch(path, ledger, source.sha256, len(source), batch_facts(batch), made, going)
    if whose and plan.series is not None and plan.series.kind is None and not ledger.entries:
        turn = replace(turn, notes=(*turn.notes, Message(f"{BATCHES_OF_PEOPLE} ({option('series_kind', SNAPSHOTS)})")))
    return turn


def batch_facts(batch: Batch) -> dict[str, Any]:
    """What a turn is about: what there is to say of a batch besides its proposal, in words and numbers alone."""
    return {
        "state": batch.state,
        "rows": 0 if batch.going is None else len(batch.going.rows),
        "occurrences": batch.rows.occurrences,
        "suppress": batch.options.suppress,
        "waiting": batch.waiting,
        "ages": dict(batch.ages),
        "cut_changed": batch.cut_changed,
        "notes": batch.notes,
    }


def turn_of_batch(
    path: str,
    ledger: Ledger,
    sha256: str,
    read: int,
    batch: Mapping[str, Any],
    made: Proposal | None,
    source: Source | None = None,
    **entry_facts: Any,
) -> Turn:
    """The turn in which rows are published for the first time: `batch` has its facts, `made` what is proposed of it, if anything is."""
    number = ledger.releases + 1 if made is not None else 0
    changed = {"ages": batch["ages"], "cut_changed": batch["cut_changed"]}
    facts = {"kind": ledger.kind, "batch": number or None, "published": made is not None, "repeated": False}
    facts |= {"read": read, "waiting": batch["waiting"], **changed}
    notes = (*batch["notes"], *_waiting_notes(batch["waiting"], ledger.wait))
    proposal = None
    if made is not None:
        proposal = _in_series(made, ledger, number)
        changed |= {"loss": dict(made.loss), "occurrences": batch["occurrences"]}
        changed |= {"algorithm": made.algorithm, "suppress": batch["suppress"]}
    else:
        notes = (NOTHING_YET, *notes)
    hashed = ledger.keyed_hash(sha256)
    entry = Entry(hashed, read, number, batch["rows"], batch["waiting"], facts={**changed, **entry_facts})
    return Turn(path, ledger.with_entry(entry, batch["state"]), facts, source, proposal, notes, ledger.on_disk)


def series_of(plan: Plan, guarantee: Any, engine: str | None = None, whose: bool = False) -> tuple[str, Ledger, Any]:
    """The path and the ledger of a plan's series, and what each release of it promises; `whose` says that rows tell whose they are.

    Raises if the plan asks for something else than the series is.
    """
    series = plan.series
    assert series is not None
    path = plan.path_of(series.ledger)
    if not can_seal():
        raise InputError(
            f"{option('series')} keeps rows that wait, encrypted, which needs the cryptography library; pip install 'shoal[sign]'"
        )
    ledger = read_ledger(path)
    kind = series.kind or ("batches" if ledger is None else ledger.kind)
    if whose and kind != SNAPSHOTS:
        guarantee = promised_in_people(guarantee)
    promise = {name: value for name, value in guarantee.to_dict().items() if name != "name"}
    if ledger is None:
        ledger = Ledger.first(path, kind, promise, LONGEST[kind] if series.wait is None else series.wait)
    _check_fits(ledger, series.kind, promise, engine)
    if series.wait is not None:
        ledger = replace(ledger, wait=series.wait)
    return path, ledger, guarantee


def _turn_of_snapshot(
    path: str, ledger: Ledger, source: Source, guarantee: Any, asked: Mapping[str, Any], options: Options
) -> Turn:
    """The turn in which people are published again."""
    key = key_of(path)
    made = next_snapshot(ledger.state, source, guarantee, asked, options, ledger.wait, key)
    goes = made.recoding is not None
    number = ledger.releases + 1 if goes else 0
    facts = {"kind": ledger.kind, "release": number or None, "published": goes, "repeated": False, "read": len(source)}
    facts |= made.figures
    notes, proposal = made.notes + _waiting_people(made.figures), None
    going = replace(source, records=Records.of(made.going), person_values=None)
    entry = Entry(ledger.keyed_hash(source.sha256), len(source), number, facts=dict(made.figures))
    entry = replace(entry, rows=len(made.published) if goes else 0, waiting=made.figures["waiting"])
    if made.recoding is not None:
        promise = KmOfSnapshots(guarantee.k, guarantee.m)
        whole = cut_proposal(made.rows, promise, made.recoding, asked, made.options, snapshot=made.published)
        proposal = _in_series(whole, ledger, number)
    else:
        notes = (NOBODY_YET, *notes)
    return Turn(path, ledger.with_entry(entry, made.state), facts, going, proposal, notes, ledger.on_disk)


def _waiting_people(figures: Mapping[str, Any]) -> tuple[str, ...]:
    """Who waits, and what is not up to date."""
    notes = []
    if figures["waiting"]:
        one = figures["waiting"] == 1
        people = (
            f"{figures['waiting']:,} of {number_of(figures['people'], 'person', 'people')} {'is' if one else 'are'}"
        )
        longest = number_of(figures["longest_wait"], "release")
        whom = "this one" if one else "them"
        notes.append(
            f"{people} not in this release yet, for want of enough others like {whom}; the longest wait is {longest}"
        )
    if figures["outdated"] or figures["staying"]:
        staying = number_of(figures["staying"], "person who is", "people who are")
        among = f", {staying} gone among it" if figures["staying"] else ""
        notes.append(
            f"{figures['outdated']:.2%} of what is published is as it was in an earlier release{among}: those who left or lost it are too "
            "few to be told apart"
        )
    return tuple(notes)


BATCHES_OF_PEOPLE = (
    "this begins a series of batches, whose rows are published once each; where the same rows come again, grown or changed, begin one of "
    "snapshots instead"
)
NOBODY_YET = "nobody can be published without breaking the promise: all people wait for others like them"
NOTHING_YET = "nothing can be published yet without breaking the promise: all rows wait for others like them"


def _check_fits(ledger: Ledger, kind: str | None, promise: Mapping[str, Any], engine: str | None) -> None:
    """Raises if a plan asks for something else than the series is."""
    if ledger.is_begun and ledger.engine != engine:
        was, way = ("the local engine", "it") if ledger.engine is None else ("Spark", option("engine", ledger.engine))
        raise InputError(
            f"the series is published by {was}, and another engine would not know its inputs again, so that one could be published twice; "
            f"go on with {way}, or begin another series"
        )
    if kind is not None and kind != ledger.kind:
        raise InputError(
            f"the series is one of {ledger.kind}, and {option('series_kind')} asks for {kind}; leave it out, or begin another series"
        )
    if promise.get("counted") != ledger.promise.get("counted"):
        ask, counts = ("name the column", "people") if "counted" in ledger.promise else ("leave it out", "rows")
        raise InputError(
            f"the series counts {counts} in all of its releases ({option('person')}); {ask}, or begin another series"
        )
    if dict(promise) != dict(ledger.promise):
        said = KmAnonymity(ledger.promise["k"], ledger.promise["m"])
        raise InputError(
            f"the series promises {said}, in all of its releases; ask for the same, or begin another series"
        )


def certificate_of(plan: Plan) -> str | None:
    """Where the certificate goes, so that others of the series are found beside it."""
    outputs = plan.outputs
    if outputs is None or (outputs.certificate is None and outputs.data == "-"):
        return None
    return plan.path_of(outputs.certificate or outputs.data)


def _waiting_notes(waiting: int, wait: int) -> tuple[str, ...]:
    if not waiting:
        return ()
    told = number_of(waiting, "row waits", "rows wait")
    return (
        f"{told} for later batches, {number_of(wait, 'batch', 'batches')} at most; the ledger holds {'it' if waiting == 1 else 'them'}",
    )


def repetition(path: str, ledger: Ledger, earlier: Entry, source: Source | None = None) -> Turn:
    """The answer to an input that was read before: what became of it."""
    facts = {
        "kind": ledger.kind,
        "published": False,
        "repeated": True,
        "read": earlier.read,
        "rows": earlier.rows,
        "waiting": earlier.waiting,
        "output": earlier.output,
        "output_sha256": earlier.output_sha256,
    }
    if ledger.kind == SNAPSHOTS:
        facts |= {"release": earlier.release or None, **{name: earlier.facts[name] for name in FIGURES}}
    else:
        facts |= {
            "batch": earlier.release or None,
            "ages": dict(earlier.facts.get("ages", {})),
            "cut_changed": bool(earlier.facts.get("cut_changed")),
            "loss": dict(earlier.facts.get("loss", {})),
        }
    one = "release" if ledger.kind == SNAPSHOTS else "batch"
    made = f"is {one} {earlier.release} of the series already" if earlier.release else "waits in the series already"
    where = ""
    if earlier.output and "://" not in earlier.output:
        where = f", in {os.path.basename(earlier.output)}"
        where += "" if os.path.exists(earlier.output) else ", which is no longer where it was written"
    return Turn(path, ledger, facts, source, None, (f"this input {made}{where}; nothing was written",), ledger.on_disk)


def _in_series(made: Proposal, ledger: Ledger, number: int) -> Proposal:
    """The proposal with what its certificate says of the series."""
    facts = {"series": {"id": ledger.id, "kind": ledger.kind, "release": number}}
    return replace(
        made,
        certified=lambda *seen: {**made.certified(*seen), **facts},
        warnings=(*made.warnings, *SAID.get(ledger.kind, ())),
    )


SAID = {
    "batches": (
        "This is one batch of a series: each row of the owner's data is published in one batch, perhaps in a later one than that in which "
        "it came, and every batch keeps the promise by itself.",
        "What the series does not promise: a person with rows in several batches is in several crowds. Whoever knows up to the promised "
        "number of items of the person in each of these batches knows more of the person than the promise is about.",
    )
}
"""For readers of a certificate, by kind of series."""
