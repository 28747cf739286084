"""Anatomy (Xiao and Tao 2006): rounds that take one row of each of the l most numerous values; the rest joins where it is new.

Every bucket then holds each value at most once, and at least l of them. Which rows of a value go together is drawn at random, so rows
land beside values that nobody who knows them would believe: Injector's rules show how much that gives away. Rows whose value is
unknown help no bucket to its l values: they are dealt to the buckets that the others make.

With several sensitive columns no two rows of a bucket share a value in any of them, and where rows say whose they are, no two are one
person's. Rounds no longer do; rows are dealt out in the order
of one column, and change places until that is so. Where they do not get there, the run says that it found nothing, not that there is
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shoal.algorithms.buckets.bucketization import Bucketization, figures
from shoal.algorithms.buckets.eligibility import check_shares, known_values
from shoal.algorithms.buckets.strangers import check_rows_of_one
from shoal.algorithms.recoding import Options
from shoal.errors import Unreachable, number_of
from shoal.guarantees.diversity import MatchingDiversity
from shoal.hierarchy.tree import Hierarchy
from shoal.kernels.buckets.exchanges import exchange_rows
from shoal.kernels.buckets.grouping import anatomy_groups
from shoal.records.buckets import Buckets, sensitive_column, sensitive_views
from shoal.records.records import Records


def anatomy(
    records: Records, guarantee: MatchingDiversity, hierarchies: Mapping[str, Hierarchy] | None, options: Options
) -> Bucketization:
    """Buckets of l or l + 1 rows, or a few more, with different values; drawn with `options.seed`. Rules are not looked at."""
    views = sensitive_views(records)
    check_rows_of_one(records.people, guarantee)
    if len(views) > 1 or records.people is not None:
        return _several(views, guarantee, options)
    column = sensitive_column(records)
    counted = known_values(column, guarantee.missing)
    counts = np.where(counted, np.bincount(column.codes, minlength=len(column.values)), 0)
    check_shares(column.name, counts, len(records), guarantee)
    options.tell("rounds", 0.0)
    n = len(records)
    random = np.random.default_rng(options.seed)
    drawn = random.permutation(n)
    # Rows by value, those of a value in random order, and last those whose value is unknown.
    places = drawn[np.lexsort((column.codes[drawn], ~counted[column.codes[drawn]]))]
    start = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    group, n_groups = anatomy_groups(int(guarantee.l), start, np.argsort(-counts, kind="stable"))
    rest = np.flatnonzero(group < 0)
    for place in rest.tolist():
        value = column.codes[places[place]]
        taken = np.zeros(n_groups, np.bool_)
        held = group[start[value] : start[value + 1]]
        taken[held[held >= 0]] = True
        group[place] = random.choice(np.flatnonzero(~taken))
    unknown = n - len(group)
    of_row = np.empty(n, np.int32)
    of_row[places] = np.concatenate((group, random.permutation(unknown) % max(1, n_groups))).astype(np.int32)
    buckets = Buckets.of(records, of_row)
    return Bucketization(buckets, algorithm="anatomy", facts=figures(buckets) | {"remaining": len(rest) + unknown})


def _several(views: tuple[Records, ...], guarantee: MatchingDiversity, options: Options) -> Bucketization:
    """Buckets in which no value of any sensitive column stands twice; `views` has the table once for each of them."""
    columns = [sensitive_column(view) for view in views]
    people = views[0].people
    codes = np.empty((len(views[0]), len(columns) + (people is not None)), np.int32)
    if people is not None:
        codes[:, -1] = people
    most = np.zeros(len(columns), np.int64)
    for c, column in enumerate(columns):
        known = known_values(column, guarantee.missing)
        counts = np.where(known, np.bincount(column.codes, minlength=len(column.values)), 0)
        check_shares(column.name, counts, len(codes), guarantee, alone=len(columns) == 1)
        codes[:, c] = np.where(known[column.codes], column.codes, -1)
        most[c] = counts.max(initial=0)
    options.tell("exchanges", 0.0)
    random = np.random.default_rng(options.seed)
    whole = np.asarray((codes >= 0).all(axis=1), np.bool_)
    n_groups = int(np.count_nonzero(whole)) // int(guarantee.l)
    if not n_groups and len(codes):
        raise Unreachable(
            f"anatomy found no buckets that keep {guarantee}: only "
            f"{number_of(int(np.count_nonzero(whole)), 'row knows', 'rows know')} all their sensitive values, "
            "and it builds buckets on these; leave out a column"
        )
    # By the column with the most frequent value, dealt out in turn: it is then split already. Rows that miss a value come last.
    drawn = random.permutation(len(codes))
    first = int(np.argmax(most))
    order = drawn[np.lexsort((codes[drawn, first], ~whole[drawn]))]
    group = np.arange(len(order)) % max(1, n_groups)
    by_group = np.argsort(group, kind="stable")
    start = np.searchsorted(group[by_group], np.arange(n_groups + 1)).astype(np.int64)
    member = order[by_group].astype(np.int64)
    whole_rows = np.bincount(group[by_group], whole[member], minlength=n_groups).astype(np.int64)
    remedy = "leave out a column" if people is None else "join the rows of each person"
    if not exchange_rows(codes, member, start, whole_rows, int(random.integers(2**31))):
        raise Unreachable(
            f"anatomy found no buckets that keep {guarantee} in each of {', '.join(column.name for column in columns)}, which does not "
            f"mean that there are none; ask for a smaller l or {remedy}"
        )
    of_row = np.empty(len(codes), np.int32)
    of_row[member] = group[by_group]
    buckets, *others = (Buckets.of(view, of_row) for view in views)
    return Bucketization(buckets, tuple(others), algorithm="anatomy", facts=figures(buckets))
