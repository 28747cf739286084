"""Matching l-diversity of a bucketized release (Li and Li 2008, Definition 1), and the older kinds of l-diversity beside it.

A bucket shows which sensitive values its rows have, not whose they are. Whoever knows that a row cannot have some of them, and
that every value belongs to exactly one row, may narrow a row down to few values or to one. Matching l-diversity promises that
at least l values stay possible for every row against an attacker who knows the given rules. The audit sees what is published
and the rules, nothing else: one assignment of its values per bucket, and the exchanges that it allows, say what is possible for whom.
A missing value, unless it is read as a value, may be any, so that no rule excludes it for anybody, and is none of the l.
Several sensitive columns are promises of their own, each of which has to hold; rules are about one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from shoal.errors import InputError, number_of, option
from shoal.guarantees.audit import Audit, Witness
from shoal.guarantees.people import RECORDS_APART, counted_facts, people_facts
from shoal.guarantees.soundness import check_buckets, check_table
from shoal.guarantees.table import canonical
from shoal.guarantees.values.missing import (
    UNKNOWN,
    Missing,
    check_named,
    checked_missing,
    counted_values,
    reading_of,
    words_of,
)
from shoal.hierarchy.tree import Hierarchy
from shoal.numbers import Bools, Codes, Floats, Ints, whole_number
from shoal.records.buckets import Buckets, sensitive_column, sensitive_views
from shoal.records.knowledge import Rules
from shoal.records.records import Column, Records

BUCKET = "bucket"
"""The column of a release that says which rows share their sensitive values."""
KINDS = ("distinct", "entropy", "recursive")
STRANGERS = (
    "The rows of a bucket are those of different people. The owner saw to that by a column that is not published; whoever has the "
    "published data alone cannot check it."
)
NAMED = 100
"""Rows that a witness names: rows that are alike in a large bucket may be many."""


class _Look(NamedTuple):
    """What the audit finds in one sensitive column."""

    per_row: Ints
    """How many values are possible for each row; -1 where the rules contradict its bucket."""
    witnesses: tuple[Witness, ...]
    largest_share: float


@dataclass(frozen=True)
class MatchingDiversity:
    """The promise: whoever knows the rules still finds at least l sensitive values possible for every row.

    Args:
        l: How many values stay possible, 2 or more.

    Raises:
        InputError: l is out of range, or `missing` is not a reading of missing values.

    >>> import polars, shoal
    >>> table = polars.DataFrame({"age": [34, 35, 51, 52], "illness": ["flu", "HIV", "flu", "gout"]})
    >>> release = shoal.anonymize(table, shoal.MatchingDiversity(l=2), quasi="age", sensitive="illness")
    >>> release.audit.holds, release.published.names
    (True, ('age', 'illness', 'bucket'))
    """

    l: int  # noqa: E741 (the papers' name)
    rules: Rules | None = None
    """What the attacker is taken to know; without rules it is plain l-diversity, at least l different values in each bucket."""
    missing: Missing = UNKNOWN
    """What a missing value counts for: `unknown` (nothing, and it may be any) or `value`."""
    of_people: bool = field(default=False, kw_only=True, repr=False)
    """Whether no bucket has two rows of a person, by a column that said whose each row is."""

    model = "diversity"

    def __post_init__(self) -> None:
        _check_l(self.l)
        object.__setattr__(self, "missing", checked_missing(self.missing))

    def __str__(self) -> str:
        return f"{self.l}-diversity" if self.rules is None else f"matching {self.l}-diversity"

    def to_dict(self) -> dict[str, Any]:
        """For --json: how many rules, not which. A certificate does not say how many."""
        numbers = {"model": self.model, "l": int(self.l), "name": str(self), "missing": self.missing}
        known = {} if self.rules is None else {"knowledge": self.rules.to_dict()}
        return numbers | known | counted_facts(self.of_people)

    def promise(self) -> tuple[str, ...]:
        """Which attacker is stopped, in plain words."""
        strangers = [STRANGERS] if self.of_people else []
        if self.rules is None:
            return (
                f"Whoever finds a person's row and its bucket learns a list of at least {self.l} different values of each sensitive "
                f"column{words_of(self.missing)}, one of which is the person's unless that is missing.",
                *strangers,
            )
        return (
            "Whoever finds a person's row and its bucket, and knows all rules of the kind 'such people never have that value' that the "
            f"owner took into account, still finds at least {self.l} different sensitive values possible for the "
            f"person{words_of(self.missing)}.",
            "This takes into account that every value of a bucket belongs to exactly one of its rows, and was computed from the published "
            "buckets and the rules alone.",
            *strangers,
        )

    def limits(self) -> tuple[str, ...]:
        """Which attacker is not stopped."""
        rules = self.rules
        return (
            "All columns that are not sensitive are published as they are: whoever knows a person finds their row.",
            *(
                [
                    "An attacker who knows that a person cannot have some of the values may rule them out: no such knowledge was assumed."
                ]
                if rules is None
                else [
                    "An attacker who knows more than the rules, for example about a single person or whose value is missing, may rule "
                    "out further values."
                ]
            ),
            *(
                [
                    f"Some rules have exceptions in the data (a confidence of at least {rules.min_conf:g} was asked for): an attacker who "
                    "trusts them is wrong about some rows, and one who knows better is not stopped by them."
                ]
                if rules is not None and rules.min_conf < 1
                else []
            ),
            f"{self.l} possible values can be of very different frequency: the attacker may still be nearly sure of one.",
            "Which rows share a bucket was decided by looking at their values, and no bucket is larger than it must be: what an attacker "
            "who knows how buckets are formed might conclude from that is not considered.",
            RECORDS_APART
            if self.of_people
            else "Rows are counted, not people: several rows of one person can be combined.",
            "Several releases of the same people can be combined; the promise is about this release alone.",
        )

    def audit(
        self,
        published: Buckets | Records,
        *,
        witnesses: int = 10,
        yes_or_no: bool = False,
        threads: int | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> Audit:
        """Count the valid sensitive values of every row, once for each sensitive column. All is counted also with `yes_or_no`: it takes one
        pass over the buckets."""
        each = _each_column(published)
        if self.rules is not None and len(each) > 1:
            raise InputError(
                f"rules are about one sensitive column, and {len(each)} are named; leave out the rules, or name one column with "
                f"{option('sensitive')}"
            )
        check_named(self.missing, [buckets.sensitive for buckets in each])
        looks = []
        for buckets in each:
            looks.append(self._look(buckets, witnesses, threads, named=len(each) > 1))
            if progress:
                progress(len(looks) / len(each))
        per_row = np.minimum.reduce([look.per_row for look in looks])
        twice, of_one = rows_beside_their_own(each[0], witnesses)
        sizes, broken = each[0].sizes, int(np.count_nonzero(per_row < 0))
        shown = sorted((*of_one, *(w for look in looks for w in look.witnesses)), key=lambda witness: witness.support)
        return Audit(
            guarantee=self.to_dict(),
            holds=not ((per_row < self.l) | twice).any(),
            checked=len(per_row),
            violations=int(np.count_nonzero((per_row < self.l) | twice)),
            witnesses=tuple(shown[:witnesses]),
            notes=contradiction_notes(broken),
            facts={
                "buckets": len(sizes),
                "smallest_bucket": int(sizes.min()) if len(sizes) else 0,
                "largest_bucket": int(sizes.max(initial=0)),
                "average_bucket": float(sizes.mean()) if len(sizes) else 0.0,
                "fewest_values": max(0, int(per_row.min())) if len(per_row) else 0,
                "certain_rows": int(np.count_nonzero(per_row == 1)),
                "contradicted_rows": broken,
                "largest_share": max(look.largest_share for look in looks),
            }
            | people_facts(each[0].rows.people),
        )

    def _look(self, published: Buckets, witnesses: int, threads: int | None, *, named: bool) -> _Look:
        """One sensitive column; `named` if its name has to be said."""
        from shoal.kernels.audit.assignments import open_values

        counted = counted_in(published, reading_of(self.missing, published.sensitive))
        kind, excluded = kinds_of_rows(published.rows, self.rules, published.vocabulary, threads, counted)
        group, bucket, kind_of, number = open_values(
            published.of_row, kind, excluded, published.offsets, published.values, published.counts, counted, threads
        )
        bad = np.flatnonzero(number < self.l)
        order = np.argsort(group, kind="stable")  # rows of a group, ascending
        bounds = np.searchsorted(group[order], np.arange(len(number) + 1))
        worst = bad[np.argsort(number[bad], kind="stable")][:witnesses]
        found = [
            self._witness(
                published, int(bucket[g]), kind, int(kind_of[g]), excluded, counted, order[bounds[g] : bounds[g + 1]]
            )
            for g in worst.tolist()
        ]
        if named:
            found = [replace(witness, reason=f"{published.sensitive}, {witness.reason}") for witness in found]
        share = (likeliest(published, counted) / published.sizes).max() if len(published) else 0.0
        return _Look(number[group], tuple(found), float(share))

    def _witness(
        self, published: Buckets, bucket: int, kind: Codes, this_kind: int, excluded: Bools, counted: Bools, rows: Ints
    ) -> Witness:
        left = values_left(published, bucket, kind, excluded, counted)
        numbers = tuple((rows[:NAMED] + 1).tolist())
        if left is None:
            reason = f"bucket {published.label(bucket)}: the rules contradict it, no assignment of its values to its rows obeys them"
            return Witness((), 0, numbers, reason)
        reason = f"bucket {published.label(bucket)}: {len(left[this_kind]):,} of {self.l:,} values are possible"
        reason += f" for {len(rows):,} rows alike" if len(rows) > NAMED else ""
        return Witness(left[this_kind], len(left[this_kind]), numbers, reason)


def _each_column(published: Buckets | Records) -> tuple[Buckets, ...]:
    """What is published, once for each sensitive column."""
    if isinstance(published, Buckets):
        return (buckets_of(published),)
    return tuple(buckets_of(view) for view in sensitive_views(published))


def buckets_of(published: Buckets | Records) -> Buckets:
    """What is published, as the audit sees it: of a table, the rows with their `bucket`, and what each bucket holds."""
    if isinstance(published, Buckets):
        check_buckets(published)
        return published
    check_table(published)
    bucket = next((column for column in published.of_role("keep") if column.name == BUCKET), None)
    if bucket is None:
        raise InputError(
            f"there is no column {BUCKET!r} that says which rows share their sensitive values; is this a release?"
        )
    sensitive = sensitive_column(published)
    others = tuple(column for column in published.columns if column is not bucket and column is not sensitive)
    if not others:
        raise InputError(f"{sensitive.name!r} is the only column; there is nothing to publish beside the buckets")
    # Labels that read the same are the same bucket, values that read the same the same value. Buckets are numbered as they appear.
    label, value = (canonical(column.values)[column.codes] for column in (bucket, sensitive))
    first = np.full(len(bucket.values), len(published), np.int64)
    np.minimum.at(first, label, np.arange(len(published)))
    used = np.argsort(first, kind="stable")[: np.count_nonzero(first < len(published))]
    number = np.empty(len(bucket.values), np.int32)
    number[used] = np.arange(len(used))
    of_row = number[label]
    order = np.lexsort((value, of_row))
    new = np.ones(len(order), np.bool_)
    new[1:] = (np.diff(of_row[order]) != 0) | (np.diff(value[order]) != 0)
    start = np.flatnonzero(new)
    names, place = np.unique(canonical(sensitive.values), return_inverse=True)
    return Buckets(
        Records(others, people=published.people),
        of_row,
        sensitive.name,
        tuple(sensitive.values[i] for i in names.tolist()),
        np.searchsorted(of_row[order][start], np.arange(len(used) + 1)).astype(np.int64),
        place.reshape(-1)[value[order][start]].astype(np.int32),
        np.diff(np.append(start, len(order))).astype(np.int64),
        tuple(bucket.values[i] for i in used.tolist()),
    )


def rows_beside_their_own(published: Buckets, witnesses: int) -> tuple[Bools, tuple[Witness, ...]]:
    """Which rows share a bucket with another row of the same person, so that fewer people than rows stand behind it; and some of them."""
    people = published.rows.people
    if people is None:
        return np.zeros(len(published.of_row), np.bool_), ()
    pair = np.unique(np.stack((published.of_row, people)), axis=1, return_inverse=True)[1].reshape(-1)
    rows = np.bincount(pair)
    worst = np.argsort(-rows, kind="stable")[: min(witnesses, int(np.count_nonzero(rows > 1)))]
    shown = [np.flatnonzero(pair == number) for number in worst.tolist()]
    return rows[pair] > 1, tuple(
        Witness(
            (),
            1,
            tuple((own[:NAMED] + 1).tolist()),
            f"bucket {published.label(int(published.of_row[own[0]]))}: {len(own):,} of its rows are one person's",
        )
        for own in shown
    )


def contradiction_notes(rows: int) -> tuple[str, ...]:
    """A word about rows in buckets that the rules contradict."""
    if not rows:
        return ()
    return (
        f"{number_of(rows, 'row is', 'rows are')} in buckets that the rules contradict: "
        f"no assignment of the values to the rows obeys them, "
        "so a rule is wrong for this data",
    )


def counted_in(published: Buckets, missing: Missing) -> Bools:
    """Which values of buckets count towards l."""
    check_named(missing, [published.sensitive])
    return counted_values(published.vocabulary, published.sensitive, missing)


def kinds_of_rows(
    rows: Records,
    rules: Rules | None,
    vocabulary: tuple[str, ...],
    threads: int | None = None,
    counted: Bools | None = None,
) -> tuple[Codes, Bools]:
    """(kind, excluded): the kind of each row, and per kind which sensitive values the rules exclude, of those that count (None: all):
    what does not count may be any value."""
    from shoal.kernels.audit.exclusions import excluded_kinds

    # All rules, also those that are marked as following from others: who marked them is not asked.
    value = np.zeros(0, np.int32) if rules is None else rules.values_among(vocabulary)
    which = np.flatnonzero((value >= 0) if counted is None else (value >= 0) & counted[value])
    if rules is None or not len(which) or not len(rows):
        return np.zeros(len(rows), np.int32), np.zeros((min(len(rows), 1), len(vocabulary)), np.bool_)
    named = np.flatnonzero((rules.nodes >= 0).any(axis=0))
    attributes = [list(rules.hierarchies.items())[a] for a in named.tolist()]
    return excluded_kinds(
        [rows[name].codes for name, _ in attributes],
        [_leaves(rows[name], tree) for name, tree in attributes],
        [tree.parent for _, tree in attributes],
        rules.nodes[which][:, named],
        value[which],
        len(vocabulary),
        len(rows),
        threads,
    )


def _leaves(column: Column, tree: Hierarchy) -> Codes:
    try:
        return tree.leaves_of(column.values)
    except InputError as error:
        raise error.within(f"column {column.name!r}: ") from None


def values_left(
    published: Buckets, bucket: int, kind: Codes, excluded: Bools, counted: Bools
) -> dict[int, tuple[str, ...]] | None:
    """Per kind of row in a bucket, the values that are valid for it and count; None if no assignment obeys the rules."""
    from shoal.kernels.audit.assignments import keep_open

    kinds, rows = np.unique(kind[published.of_row == bucket], return_counts=True)
    part = slice(published.offsets[bucket], published.offsets[bucket + 1])
    values = published.values[part]
    allowed = ~excluded[kinds][:, values]
    if not keep_open(rows.astype(np.int64), published.counts[part], allowed):
        return None
    return {
        k: tuple(published.vocabulary[v] for v in values[valid & counted[values]].tolist())
        for k, valid in zip(kinds.tolist(), allowed, strict=True)
    }


@dataclass(frozen=True)
class PlainDiversity:
    """l-diversity of the buckets alone (Machanavajjhala and others 2006), for comparison: no knowledge of the attacker counts.

    `distinct`: at least l different values in each bucket. `entropy`: the entropy of each bucket is at least log(l). `recursive`: the
    most frequent value of a bucket is less than c times as frequent as all values from the l-th most frequent one on together. A missing
    value that is unknown is taken for the most frequent one, which is the worst it can be.

    Args:
        l: How diverse each bucket is.
        kind: `distinct`, `entropy` or `recursive`.
        c: The factor of `recursive`.
        missing: What a missing value counts for: `unknown` (see above) or `value`.

    Raises:
        InputError: l, the kind or c is not one of these.

    >>> import polars, shoal
    >>> table = polars.DataFrame({"age": [34, 35, 51, 52], "bucket": [1, 1, 2, 2], "illness": ["flu", "HIV", "flu", "flu"]})
    >>> shoal.audit(table, shoal.PlainDiversity(l=2), quasi="age", sensitive="illness").holds
    False
    """

    l: int  # noqa: E741
    kind: str = "distinct"
    c: float = 3.0
    missing: Missing = UNKNOWN

    model = "diversity"

    def __post_init__(self) -> None:
        _check_l(self.l)
        object.__setattr__(self, "missing", checked_missing(self.missing))
        if self.kind not in KINDS:
            raise InputError(f"diversity of kind {self.kind!r} is not known; choose one of {', '.join(KINDS)}")
        if not (isinstance(self.c, int | float) and math.isfinite(self.c) and self.c > 0):
            raise InputError(f"c must be a number greater than 0, not {self.c!r}")

    def __str__(self) -> str:
        if self.kind == "recursive":
            return f"recursive ({self.c:g}, {self.l})-diversity"
        return f"{self.kind} {self.l}-diversity"

    def to_dict(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "kind": self.kind,
            "l": int(self.l),
            "name": str(self),
            "missing": self.missing,
        } | ({"c": float(self.c)} if self.kind == "recursive" else {})

    def audit(
        self,
        published: Buckets | Records,
        *,
        witnesses: int = 10,
        yes_or_no: bool = False,
        threads: int | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> Audit:
        """Look at the counts of every bucket."""
        published = buckets_of(published)
        l = min(self.l, len(published.of_row) + 1)  # noqa: E741 - more changes nothing, and may be too large for a float
        found = diversities(published, l, self.missing)[self.kind]
        # The sum of logarithms may end just below that of l equal shares.
        bad = found >= self.c if self.kind == "recursive" else found < l * (1 - 1e-12)
        worst = np.flatnonzero(bad)
        worst = worst[np.argsort(-found[worst] if self.kind == "recursive" else found[worst], kind="stable")][
            :witnesses
        ]
        if progress:
            progress(1.0)
        name = {"distinct": "different values", "entropy": "values by entropy", "recursive": "times the rest"}[
            self.kind
        ]
        return Audit(
            guarantee=self.to_dict(),
            holds=not bad.any(),
            checked=len(published),
            violations=int(np.count_nonzero(bad)),
            witnesses=tuple(
                Witness(
                    tuple(published.content(b)),
                    int(published.sizes[b]),
                    tuple((np.flatnonzero(published.of_row == b)[:NAMED] + 1).tolist()),
                    f"bucket {published.label(b)}: {found[b]:.4g} {name}",
                )
                for b in worst.tolist()
            ),
        )


def diversities(
    published: Buckets,
    l: int,  # noqa: E741
    missing: Missing = UNKNOWN,
) -> dict[str, Floats]:
    """Per bucket: its different values (`distinct`), the l its entropy stands for (`entropy`, the exponential of it), and how many times
    as frequent its first value is as the l-th and all rarer ones together (`recursive`, infinite with fewer than l values).

    Values that are unknown count as copies of the most frequent one: any other way to fill them in leaves more entropy, and more behind
    the first value.
    """
    counted = counted_in(published, missing)
    owner = _owner(published)
    n = len(published)
    order = np.lexsort((-published.counts, ~counted[published.values], owner))  # unknown ones last
    owner, known = owner[order], counted[published.values[order]]
    first = np.arange(len(order)) == published.offsets[owner]
    counts = np.where(first, likeliest(published, counted)[owner], np.where(known, published.counts[order], 0))
    rank = np.arange(len(order)) - published.offsets[owner]
    share = counts / published.sizes[owner]
    rest = np.bincount(owner, np.where(rank >= l - 1, counts, 0), minlength=n)
    most = np.bincount(owner, np.where(first, counts, 0), minlength=n)
    surprise = share * np.log(share, out=np.zeros(len(share)), where=share > 0)
    return {
        "distinct": np.bincount(owner, known, minlength=n).astype(np.float64),
        "entropy": np.exp(-np.bincount(owner, surprise, minlength=n)),
        "recursive": np.divide(most, rest, out=np.full(n, np.inf), where=rest > 0),
    }


def likeliest(published: Buckets, counted: Bools) -> Ints:
    """Per bucket, how many rows the most frequent value can have: its own, and those whose value is unknown."""
    owner, known = _owner(published), counted[published.values]
    most = np.zeros(len(published), np.int64)
    np.maximum.at(most, owner[known], published.counts[known])
    return most + np.bincount(owner, np.where(known, 0, published.counts), minlength=len(published)).astype(np.int64)


def _owner(published: Buckets) -> Ints:
    """The bucket of each of the listed values."""
    return np.repeat(np.arange(len(published), dtype=np.int64), np.diff(published.offsets))


def _check_l(l: object) -> None:  # noqa: E741
    whole_number("l", l, 2)
