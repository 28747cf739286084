"""Anatomy (Xiao and Tao 2006): rounds that take one row of each of the l most numerous values; the rest joins where it is new.

Every bucket then holds each value at most once, and at least l of them. Which rows of a value go together is drawn at random, so rows
land beside values that nobody who knows them would believe: Injector's rules show how much that gives away. Rows whose value is
unknown help no bucket to its l values: they are dealt to the buckets that the others make.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shoal.algorithms.buckets.bucketization import Bucketization, figures
from shoal.algorithms.buckets.eligibility import check_shares, known_values
from shoal.algorithms.recoding import Options
from shoal.guarantees.diversity import MatchingDiversity
from shoal.hierarchy.tree import Hierarchy
from shoal.kernels.buckets.grouping import anatomy_groups
from shoal.records.buckets import Buckets, sensitive_column
from shoal.records.records import Records


def anatomy(
    records: Records, guarantee: MatchingDiversity, hierarchies: Mapping[str, Hierarchy] | None, options: Options
) -> Bucketization:
    """Buckets of l or l + 1 rows, or a few more, with different values; drawn with `options.seed`. Rules are not looked at."""
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
