"""Questions an analyst asks: counts on the original beside what a reader of the release would answer.

The ten commonest pairs, ten counts as a desk would ask for them, what each column and the commonest items looked like before and look like
now; and whatever else somebody asks. Answers are those of `evaluate`: true counts from the original, and from the release what a sensible
reader takes them to be (`shoal.analysis.answers`). For the owner: they name items and values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from shoal.analysis.answers import reader_estimates
from shoal.errors import VALUES, InputError
from shoal.evaluation.pair import Pair
from shoal.loss.common_pairs import common_pairs
from shoal.loss.queries import Among, Between, Query, answers, estimates
from shoal.loss.workloads import random_workload
from shoal.records.records import Column, Records
from shoal.records.spelling.local_forms import Form
from shoal.records.values import MISSING

PAIRS, COUNTS, RECORDS = 10, 10, 10
"""The commonest pairs and the counts that are asked for, and the records that are shown before and after."""
BARS = 10
"""Values of a column, and items, whose counts are compared."""
LONGEST = 60
"""Items of a record that are shown."""


@dataclass(frozen=True)
class Reply:
    """A question with both answers."""

    query: Query
    true: int
    published: float

    def to_dict(self, forms: Mapping[str, Form] = {}) -> dict[str, Any]:
        """For pages; `forms` is how the values of columns are spelled there."""
        return {"question": query_words(self.query, forms), "true": self.true, "published": round(self.published, 1)}


def replies(pair: Pair, queries: Sequence[Query]) -> list[Reply]:
    """Both answers to each question."""
    if not queries:
        return []
    truth, given = answers(pair.original, queries), (queries, pair.original, pair.meanings.trees)
    if pair.buckets:
        told = estimates(pair.buckets, *given)
    else:
        deleted = pair.deleted if any(query.items for query in queries) else 0.0
        told = reader_estimates(pair.published, *given, meanings=pair.meanings.tokens, deleted=deleted)
    return [Reply(*one) for one in zip(queries, truth.tolist(), told.tolist(), strict=True)]


def usual_questions(pair: Pair) -> dict[str, list[Query]]:
    """`pairs`: the commonest ones. `counts`: on columns and items together where there are both, drawn from rows, always the same."""
    original, found = pair.original, dict[str, list[Query]]()
    sets = original.items
    if sets is not None and sets.vocabulary:
        commonest = common_pairs(sets, PAIRS)
        names = sets.vocabulary
        found["pairs"] = [
            Query(items=frozenset((names[one], names[other])))
            for one, other in zip(commonest.one.tolist(), commonest.other.tolist(), strict=True)
        ]
    found["counts"] = list(dict.fromkeys(_counts(pair)))[:COUNTS]
    return found


def _counts(pair: Pair) -> Iterable[Query]:
    original, sets = pair.original, pair.original.items
    columns = [*(column.name for column in original.of_role("quasi")), *(each.sensitive for each in pair.buckets)]
    has_items = sets is not None and bool(sets.occurrences)
    if columns:
        yield from random_workload(original, COUNTS // 2, "relational", columns=columns, n_columns=min(2, len(columns)))
        if has_items:
            yield from random_workload(original, COUNTS, "mixed", columns=columns, n_columns=1, n_items=1)
        else:
            yield from random_workload(original, COUNTS, "relational", seed=1, columns=columns, n_columns=1)
    elif has_items and sets is not None:
        common = np.argsort(-sets.supports(), kind="stable")[: COUNTS // 2].tolist()
        yield from (Query(items=frozenset((sets.vocabulary[i],))) for i in common)
        # What rows hold by chance: rarer items too.
        yield from random_workload(original, COUNTS, "items", n_items=1)


def distributions(pair: Pair) -> list[dict[str, Any]]:
    """Per column, and for the commonest items: how many rows have each of the commonest values, truly and as a reader takes it."""
    found = []
    for column in pair.original.of_role("quasi"):
        asked = _values(column)
        found.append(
            _distribution(column.name, replies(pair, [query for _, query in asked]), [name for name, _ in asked])
        )
    for each in pair.buckets:
        asked = _values(pair.original[each.sensitive])
        found.append(
            _distribution(each.sensitive, replies(pair, [query for _, query in asked]), [name for name, _ in asked])
        )
    sets = pair.original.items
    if sets is not None and sets.vocabulary:
        names = [sets.vocabulary[i] for i in np.argsort(-sets.supports(), kind="stable")[:BARS].tolist()]
        found.append(_distribution("", replies(pair, [Query(items=frozenset((name,))) for name in names]), names))
    return [one for one in found if one["labels"]]


def _distribution(name: str, told: Sequence[Reply], labels: Sequence[str]) -> dict[str, Any]:
    return {
        "column": name,
        "labels": list(labels),
        "before": [reply.true for reply in told],
        "after": [round(reply.published, 1) for reply in told],
    }


def _values(column: Column) -> list[tuple[str, Query]]:
    """The commonest values of a column; of one with many numbers, ranges of about as many rows each, in order."""
    times = np.bincount(column.codes, minlength=len(column.values))
    if column.numbers is not None and len(column.values) > BARS:
        known = np.flatnonzero(~np.isnan(column.numbers))
        numbers, weight = column.numbers[known], times[known]
        cuts = np.searchsorted(np.cumsum(weight), np.linspace(0, weight.sum(), BARS + 1)[1:-1])
        edges = np.unique(np.concatenate(([0], cuts + 1, [len(numbers)])))
        spans = [(numbers[low], numbers[high - 1]) for low, high in pairwise(edges.tolist())]
        return [
            (
                f"{low:g}" if low == high else f"{low:g} to {high:g}",
                Query((Between(column.name, float(low), float(high)),)),
            )
            for low, high in spans
        ]
    most = sorted(np.argsort(-times, kind="stable")[:BARS].tolist()) if column.numbers is not None else np.argsort(
        -times, kind="stable"
    )[:BARS].tolist()  # fmt: skip
    return [
        (_value_words(column.values[i]), Query((Among(column.name, frozenset((column.values[i],))),)))
        for i in most
        if times[i]
    ]


def records_before_and_after(original: Any, proposal: Any) -> list[dict[str, Any]]:
    """Some records as they were and as they are published: a typical one of those that change, then from the most to the least changed.

    A proposal has its rows in the order of the input; the release does not, so this cannot be told from the two files.
    """
    before, after = Records.of(original), Records.of(proposal.published)
    if proposal.stay is not None:
        before = before.take(proposal.stay)
    n = len(before)
    if n != len(after) or not n:
        return []
    changed = np.zeros(n, np.float64)
    if before.items is not None and after.items is not None:
        names = set(before.items.vocabulary)
        itself = np.array([name in names for name in after.items.vocabulary], np.bool_)
        rows = np.repeat(np.arange(n), after.items.lengths)
        same = np.bincount(rows, itself[after.items.items], minlength=n) if len(after.items.items) else np.zeros(n)
        changed += 1 - same / np.maximum(before.items.lengths, 1)
    for column in before.of_role("quasi"):
        texts = after[column.name]
        known = {value: i for i, value in enumerate(column.values)}
        place = np.array([known.get(value, -1) for value in texts.values], np.int64)
        changed += place[texts.codes] != column.codes
    order = np.argsort(changed, kind="stable")
    places = np.unique(np.linspace(0, n - 1, min(RECORDS, n)).astype(np.int64))
    # What changes about as much as others that change at all comes first.
    usual = float(np.median(changed[changed > 0])) if (changed > 0).any() else 0.0
    typical = int(np.argmin(np.abs(changed - usual)))
    chosen = dict.fromkeys([typical, *order[places].tolist()[::-1]])
    return [{"before": _record(before, row), "after": _record(after, row)} for row in list(chosen)[:RECORDS]]


def _record(records: Records, row: int) -> dict[str, Any]:
    one = records.take(np.array([row], np.int64))
    found: dict[str, Any] = {column.name: column.texts()[0] for column in one.columns}
    for name, sets in one.set_columns():
        names = [sets.vocabulary[i] for i in sets.items.tolist()]
        found[name] = names[:LONGEST] + ([f"and {len(names) - LONGEST:,} more"] if len(names) > LONGEST else [])
    return found


def question_of(original: Records, items: Sequence[str], column: str = "", value: str = "") -> Query:
    """The question that somebody typed. Raises `InputError` where the data have no such item, column or value."""
    known = set() if original.items is None else set(original.items.vocabulary)
    strange = [name for name in items if name not in known]
    if strange:
        raise InputError(f"no row of the original holds such an item{VALUES}; check how it is spelled", values=strange)
    conditions: tuple[Among, ...] = ()
    if column:
        if column not in original.names:
            raise InputError(f"there is no column {column!r} in what is published; choose another")
        if value not in original[column].values:
            raise InputError(f"column {column!r} has no such value{VALUES}; check how it is spelled", values=[value])
        conditions = (Among(column, frozenset((value,))),)
    if not items and not conditions:
        raise InputError("a question asks for an item, or for a value of a column; say one")
    return Query(conditions, frozenset(items))


def query_words(query: Query, forms: Mapping[str, Form] = {}) -> str:
    """`age from 30 to 39, with milk and bread`."""
    said = []
    for condition in query.conditions:
        form = forms.get(condition.column)
        if isinstance(condition, Between):
            words = f"from {condition.low:g} to {condition.high:g}"
        else:
            words = f"is {' or '.join(map(_value_words, sorted(condition.values)))}"
        said.append(f"{condition.column} {words if form is None else form.own(words)}")
    if query.items:
        said.append(("with " if said else "") + " and ".join(sorted(query.items)))
    return ", ".join(said)


def _value_words(value: str) -> str:
    return "missing" if value == MISSING else value
