"""Snapshots: the same people again, grown or changed. All releases put together keep the promise, under one cut that never changes.

Of each person the ledger's state holds a keyed hash and, release by release, which tokens were published: no value of the data but the
names of tokens. `next_snapshot` joins a person's rows into one, expresses them under the cut, has `algorithms.snapshots` take back what
cannot be published beside what is out, and audits the history as it will be (`guarantees.series.histories`) before anything is proposed.
Who left the data, and what somebody lost, may have to stay in the release as it was published last: the state has it, the data do not.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.algorithms import OF_SERIES, algorithm
from shoal.algorithms.recoding import Deletions, Options, Recoding
from shoal.algorithms.snapshots.snapshot import Snapshot, nobody_of, snapshot
from shoal.errors import InputError, Message, Unreachable, number_of, option
from shoal.guarantees.km import KmAnonymity
from shoal.guarantees.series.histories import SnapshotAnonymity
from shoal.hierarchy.cut import Cut
from shoal.models.km import HIERARCHY, resolve_hierarchy, with_defaults
from shoal.numbers import Codes, Ints
from shoal.records.baskets import Baskets
from shoal.records.joining import joined_sets
from shoal.records.source import Source
from shoal.series.batches import cut_names, cut_of, grown_tree, series_tree, tree_facts
from shoal.series.ledger import person_marks

FOR_EVER = 10_000
"""Releases that a person may wait for, in a row, unless it is said: there is no limit."""


@dataclass(frozen=True, eq=False)
class SnapshotRelease:
    """What a run publishes of people who may have been published before."""

    rows: Baskets
    """Of all people in the data, a row each, as it is now."""
    going: Baskets
    """The rows of those of them who are in the release."""
    published: Baskets
    """What is published, as it was audited together with all that is out."""
    recoding: Recoding | None
    """With all that the release does not have of these rows, those of people who wait among it; None where nobody can be published."""
    options: Options
    state: Mapping[str, Any]
    """What the ledger holds from now on."""
    figures: Mapping[str, Any]
    """For the owner."""
    notes: tuple[str, ...] = ()


def next_snapshot(
    state: Mapping[str, Any],
    source: Source,
    guarantee: KmAnonymity,
    asked: Mapping[str, Any],
    options: Options,
    wait: int,
    key: bytes,
) -> SnapshotRelease:
    """The next release of a series of snapshots. Raises Unreachable where the limits that are given leave none."""
    name, limit = asked["algorithm"] or OF_SERIES[0], asked["suppress"]
    options = with_defaults(name, asked, options)
    past = _Past.of(state)
    known = len(past.places)
    baskets = _of_people(source, past, key)
    assert baskets.people is not None
    returned = _notes_of_return(past, baskets.people, known)
    recoding, notes = _recoding_for(state, baskets, guarantee, asked, options, name)
    if recoding is None:
        made = nobody_of(baskets)
    else:
        made = snapshot(
            past.releases,
            replace(recoding.apply(baskets, options.threads), people=baskets.people),
            guarantee.k,
            guarantee.m,
            overdue=[number for number, waited in past.waits.items() if waited >= wait],
            threads=options.threads,
            progress=lambda share: options.tell("taking back what the series cannot bear", share),
        )
    cut, kept = None, 0.0
    if recoding is not None:
        cut, (deletions, kept) = recoding.cut, _deletions(recoding, baskets, made.published)
        recoding = replace(recoding, deletions=deletions)
    if not made.published.occurrences:  # rows of which nothing is told are not a release
        recoding, made, kept = None, nobody_of(baskets), 0.0
    _check_limits(made, past, wait, 1 - kept, limit)
    if recoding is None:
        after = past.with_waiting(made.waiting, cut)
    else:
        after = past.with_release(made, recoding.cut)
        promise = SnapshotAnonymity(guarantee.k, guarantee.m)
        promise.audit((*past.releases, made.published), threads=options.threads).require()
    return SnapshotRelease(
        rows=replace(baskets, people=None),
        going=replace(baskets.take(np.flatnonzero(~np.isin(baskets.people, made.waiting))), people=None),
        published=replace(made.published, people=None),
        recoding=recoding,
        options=replace(options, suppress=1.0 if limit is None else limit),
        state=after,
        figures=_figures(made, past, baskets, kept),
        notes=_notes_of(source, baskets) + returned + notes,
    )


def _recoding_for(
    state: Mapping[str, Any],
    baskets: Baskets,
    guarantee: KmAnonymity,
    asked: Mapping[str, Any],
    options: Options,
    name: str,
) -> tuple[Recoding | None, tuple[str, ...]]:
    """The cut of the series as a recoding of these people, and what there is to say.

    A series that has no cut yet gets one, and its first release deletes what the search does for it; None if people are too few for that.
    """
    if (known := series_tree(state)) is not None:
        tree, notes = grown_tree(known[0], asked["hierarchy"], baskets, asked["unknown"])
        return Recoding(cut_of(tree, state["cut"]), baskets.vocabulary, algorithm=name), notes
    if len(baskets) - baskets.empty < guarantee.k:
        return None, ()
    spec = HIERARCHY if asked["hierarchy"] is None else asked["hierarchy"]
    tree = resolve_hierarchy(spec, baskets, unknown=asked["unknown"], promise=guarantee, options=options)
    recoding: Recoding = algorithm(guarantee.model, name)(baskets, guarantee, tree, options)
    if recoding.cut.dropped:
        return Recoding(_first_cut(recoding.cut), baskets.vocabulary, algorithm=name), ()
    return replace(recoding, algorithm=name, optimal=None, bound=None), ()


@dataclass(eq=False)
class _Past:
    """What is out, and who waits for how many releases."""

    places: dict[str, int]
    """The number of each person, by keyed hash."""
    releases: tuple[Baskets, ...]
    waits: dict[int, int]

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> _Past:
        names = tuple(state.get("tokens", ()))
        releases = tuple(
            replace(
                Baskets.from_codes(_unpacked(release["lengths"]), _unpacked(release["codes"]), names),
                people=_unpacked(release["people"]).astype(np.int32),
            )
            for release in state.get("releases", ())
        )
        places = {person: number for number, person in enumerate(state.get("people", ()))}
        return cls(places, releases, {int(number): n for number, n in state.get("waits", {}).items()})

    def with_release(self, made: Snapshot, cut: Cut) -> dict[str, Any]:
        """The state of the ledger after it."""
        return self._state((*self.releases, made.published), made.waiting, cut)

    def with_waiting(self, waiting: Ints, cut: Cut | None) -> dict[str, Any]:
        """The state where nobody was published. A cut that nothing was published under binds nobody."""
        return self._state(self.releases, waiting, cut if self.releases else None)

    def _state(self, releases: tuple[Baskets, ...], waiting: Ints, cut: Cut | None) -> dict[str, Any]:
        place: dict[str, int] = {}
        packed = []
        for release in releases:
            number = np.array([place.setdefault(name, len(place)) for name in release.vocabulary], np.int64)
            codes = number[release.items] if len(number) else release.items
            parts = {"people": release.people, "lengths": release.lengths, "codes": codes}
            packed.append({name: _packed(np.asarray(part)) for name, part in parts.items()})
        return {
            "tree": None if cut is None else tree_facts(cut.hierarchy),
            "cut": None if cut is None else cut_names(cut),
            "tokens": list(place),
            "people": list(self.places),
            "releases": packed,
            "waits": {str(number): self.waits.get(number, 0) + 1 for number in waiting.tolist()},
        }


def _packed(numbers: npt.NDArray[Any]) -> str:
    return base64.b64encode(numbers.astype("<i4").tobytes()).decode()


def _unpacked(text: str) -> Ints:
    return np.frombuffer(base64.b64decode(text), "<i4").astype(np.int64)


def _of_people(source: Source, past: _Past, key: bytes) -> Baskets:
    """A row per person, of all that stands in the person's rows; who is new to the series gets the next number."""
    sets, who = source.baskets, source.person_values
    if sets.people is None or who is None:
        raise InputError(
            f"whose are the rows? snapshots are of people: name the column that says so with {option('person')}"
        )
    marks = person_marks(who, key)
    number = np.array([past.places.setdefault(mark, len(past.places)) for mark in marks], np.int64)[sets.people]
    people, row = np.unique(number, return_inverse=True)
    united = joined_sets(sets, row.reshape(-1).astype(np.int64), len(people))
    return replace(united, people=people.astype(np.int32))


def _notes_of(source: Source, baskets: Baskets) -> tuple[str, ...]:
    if (more := len(source) - len(baskets)) <= 0:
        return ()
    return (
        f"{number_of(more, 'row was', 'rows were')} joined with another of the same person: a snapshot has one row for each",
    )


def _notes_of_return(past: _Past, people: Codes, known: int) -> tuple[str, ...]:
    """What to say where most people of the last release are gone: their ids may have changed. Raises where nobody is `known`."""
    if not past.releases:
        return ()
    if (people >= known).all():
        raise InputError(
            f"nobody whom the series knows is in these data, by what {option('person')} says; a series knows people by it alone: give it "
            "as before, not under new pseudonyms, or, if these are other people, begin another series"
        )
    last = past.releases[-1].people
    assert last is not None
    gone = int(np.count_nonzero(~np.isin(last, people)))
    if 2 * gone <= len(last):
        return ()
    return (
        Message(
            f"{gone:,} of the {len(last):,} people of the last release are not in these data, by what {option('person')} says; if it "
            "is spelled in another way now, or under new pseudonyms, the same people count twice, and nothing is promised about them"
        ),
    )


def _first_cut(cut: Cut) -> Cut:
    """The cut of the first release, which all later ones share. What it drops as a whole stays at the top, and goes one by one."""
    tree, node = cut.hierarchy, cut.node.copy()
    for top in cut.dropped:
        node[tree.leaf_order[slice(*tree.span[top])]] = top
    return Cut(tree, node)


def _deletions(recoding: Recoding, rows: Baskets, published: Baskets) -> tuple[Deletions | None, float]:
    """What the rows lose: tokens of a person that are not published of the person. And the share of tokens that are."""
    assert rows.people is not None
    assert published.people is not None
    names = {name: node for node, name in enumerate(recoding.cut.hierarchy.names)}
    n = len(names)
    node_of = np.array([names[name] for name in published.vocabulary], np.int64)
    stays = np.repeat(published.people.astype(np.int64), published.lengths) * n + node_of[published.items]
    row = np.repeat(np.arange(len(rows), dtype=np.int64), rows.lengths)
    tokens, first = np.unique(row * n + recoding.node[rows.items], return_index=True)
    gone = tokens[~np.isin(rows.people[row[first]] * np.int64(n) + tokens % n, stays)]
    deletions = Deletions(gone // n, (gone % n).astype(np.int32)) if len(gone) else None
    return deletions, 1 - len(gone) / max(1, len(tokens))


def _check_limits(made: Snapshot, past: _Past, wait: int, lost: float, limit: float | None) -> None:
    """Raises where people would wait longer than they may, or more would be left out than may be."""
    late = sum(past.waits.get(number, 0) >= wait for number in made.waiting.tolist())
    if late:
        raise Unreachable(
            f"{number_of(len(made.waiting), 'person', 'people')} would have to wait at least, as far as was found, {late:,} of them longer "
            f"than {option('wait')} allows ({number_of(wait, 'release')} in a row), for want of enough others like them; allow more, or "
            "take coarser items in another series"
        )
    if limit is not None and lost > limit:
        raise Unreachable(
            f"{lost:.1%} of what there is to publish would have to be left out at least, as far as was found, and "
            f"{number_of(len(made.waiting), 'person', 'people')} would have to wait; {option('suppress')} allows {limit:.1%}: allow more, "
            "or take coarser items in another series"
        )


FIGURES = ("people", "new", "waiting", "longest_wait", "staying", "outdated", "kept")


def _figures(made: Snapshot, past: _Past, baskets: Baskets, kept: float) -> dict[str, Any]:
    """For the owner, by the names of `FIGURES`."""
    assert baskets.people is not None
    before = np.unique(np.concatenate([np.zeros(0, np.int64), *(release.people for release in past.releases)]))
    longest = max((past.waits.get(number, 0) + 1 for number in made.waiting.tolist()), default=0)
    return {
        "people": len(baskets),
        "new": int(np.count_nonzero(~np.isin(baskets.people, before))),
        "waiting": len(made.waiting),
        "longest_wait": longest,
        "staying": len(made.staying),
        "outdated": made.outdated / max(1, made.published.occurrences),
        "kept": kept,
    }
