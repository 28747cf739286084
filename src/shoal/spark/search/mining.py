"""Negative rules mined on Spark: the local search, on counts that the executors have added up.

A search asks for nothing but how many rows have certain values of some attributes and a certain sensitive value. So rows are projected to
the attributes that may stand together in a rule (at most `max_length`), equal ones are added up where they lie and then by Spark, and
one worker searches the counts of one choice of attributes; where they are many, a block of nodes of the first of them. The
walk along a rule depends on its own attributes only, so the rules, their figures and their order are those of the local engine.
The driver sees how often each value occurs, and the rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.algorithms.buckets.negative_rules import Mined, Search, distinct_rows, search_for
from shoal.algorithms.buckets.rule_files import CoveredValues, covered_values, rows_covered
from shoal.errors import InputError
from shoal.hierarchy.tree import Hierarchy
from shoal.kernels.parallel import even_blocks
from shoal.numbers import Bools, Codes, Ints
from shoal.records.buckets import sensitive_column
from shoal.records.knowledge import Rules, covers
from shoal.spark.data.executors import count_keys, fetch, map_groups, map_rows, store, total_batch
from shoal.spark.data.frame_records import SparkRecords, codes_of
from shoal.spark.data.packing import equal_lists, flat

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CHOICES = 200
"""Choices of attributes that are counted apart, at most: with more, all attributes from the first condition on are counted together."""
COUNTS = 1_000_000
"""Counts that a worker searches, about."""
MOST_COUNTS = 5_000_000
"""Counts that a worker may have to search at most."""


@dataclass(frozen=True, eq=False)
class Task:
    """Rules about these attributes, whose first condition is a node of the first of them, from `low` up to `high`."""

    attributes: tuple[int, ...]
    low: int
    high: int
    under: Bools
    """Which values of the first attribute are under one of these nodes."""


def mine_rules(
    records: SparkRecords,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    *,
    threads: int | None = None,
    progress: Callable[[float], None] | None = None,
    **asked: Any,
) -> Rules:
    """As `shoal.algorithms.buckets.negative_rules`, of records on Spark. Supports of fuzzy nodes agree but for rounding."""
    table = records.template
    rows = value_counts(records)
    sensitive = records.place(sensitive_column(table).name)
    search = search_for(table, hierarchies, rows[sensitive], **asked)
    places = [records.place(name) for name in search.names]
    tasks = tasks_of(search, [rows[place] for place in places], len(records))
    if not tasks:
        return search.rules([])
    if progress:
        progress(0.1)
    sent = map_rows(
        records.rows,
        _project_rows,
        "task int, key array<int>, count bigint",
        tasks=tasks,
        places=places,
        sensitive=sensitive,
        rank=search.rank,
    )
    counts = add_up_tasks(sent, search)
    schema = "nodes array<int>, value int, support double, exceptions double"
    try:
        mined = fetch(map_groups(counts, "task", _mine_task, schema, search=search, tasks=tasks))
    finally:
        counts.unpersist()
    return search.rules([each_once(mined, len(search.names))] if mined.num_rows else [])


def count_covered(records: SparkRecords, rules: Rules) -> Rules:
    """The same rules with the rows that they cover and their exceptions counted. For few rules: each takes a pass over every batch."""
    table = records.template
    code = {name: code for code, name in enumerate(table[rules.sensitive].values)}
    counts = count_keys(
        records.rows,
        _count_covered,
        2 * len(rules),
        covered=covered_values(rules, covers(table, rules.hierarchies)),
        never=[code.get(rules.values[value], -1) for value in rules.value.tolist()],
        places=[records.place(name) for name in rules.hierarchies],
        sensitive=records.place(rules.sensitive),
    ).astype(np.float64)
    return replace(rules, support=counts[: len(rules)], exceptions=counts[len(rules) :])


def value_counts(records: SparkRecords) -> list[Ints]:
    """Per column, how many rows have each of its values."""
    widths = [len(column.values) for column in records.template.columns]
    ends = np.cumsum(widths)
    counts = count_keys(records.rows, _count_values, int(ends[-1]), start=ends - widths, wide=int(ends[-1]))
    return np.split(counts, ends[:-1])


def tasks_of(search: Search, rows: list[Ints], n: int) -> list[Task]:
    """Which attributes are counted together, and in which blocks of first conditions; `rows` are those of each value."""
    supports = search.supports(rows)
    values = search.n_values
    many = len(search.names)
    tasks = []
    for a, support in enumerate(supports):
        enough = support >= search.least
        if not enough.any():
            continue
        for attributes in _choices(a, many, search.max_length):
            different = math.prod(int(values[b]) for b in attributes) * len(search.by_need)
            blocks = -(-min(n, different) // COUNTS)
            for low, high in even_blocks(np.where(enough, support, 0) + 1e-9, blocks):
                if enough[low:high].any():
                    wanted = np.zeros(len(support), np.bool_)
                    wanted[low:high] = enough[low:high]
                    tasks.append(Task(attributes, low, high, _values_under(search, a, wanted)))
    return tasks


def _choices(first: int, many: int, length: int) -> list[tuple[int, ...]]:
    """The attributes that may follow the first in a rule, with it: as many as a rule may have, or all."""
    after = range(first + 1, many)
    size = min(length - 1, len(after))
    if math.comb(many, min(length, many)) > CHOICES:
        return [(first, *after)]
    return [(first, *others) for others in combinations(after, size)]


def _values_under(search: Search, a: int, wanted: Bools) -> Bools:
    """Which values of an attribute are under (or, if those are fuzzy, near) one of the wanted nodes."""
    above, base = search.above, int(search.above.base[a])
    start = above.start[base : base + int(search.n_values[a]) + 1]
    under = np.concatenate(([0], np.cumsum(wanted[above.node[start[0] : start[-1]]])))
    return np.asarray(np.diff(under[start - start[0]]) > 0)


def add_up_tasks(sent: DataFrame, search: Search) -> DataFrame:
    """Counts of the same task and key as one, which the executors keep; raises if one worker would have to search too many."""
    from pyspark.sql import functions as sf

    counts = store(sent.groupBy("task", "key").agg(sf.sum("count").alias("count")))
    sizes = fetch(counts.groupBy("task").agg(sf.count("*").alias("count")))["count"].to_pylist()
    if max(sizes, default=0) > MOST_COUNTS:
        counts.unpersist()
        raise InputError(
            f"rules of up to {search.max_length} conditions: one worker would have to search {max(sizes):,} different combinations of "
            f"values, more than {MOST_COUNTS:,}; ask for fewer conditions (max_length), round the values, or use the local engine"
        )
    return counts


def each_once(mined: pa.Table, width: int) -> Mined:
    """The rules of all workers, each once: different choices of attributes find the same short rules."""
    value, support, exceptions = (mined[name].to_numpy() for name in ("value", "support", "exceptions"))
    nodes = flat(mined["nodes"])[1].reshape(len(value), width)
    # By their figures, too: those of fuzzy nodes may differ in their last digits, and the order of workers is not to decide.
    order = np.lexsort((exceptions, support, value, *nodes.T[::-1]))
    nodes, value = nodes[order], value[order].astype(np.int32)
    new = np.ones(len(value), np.bool_)
    new[1:] = np.any(nodes[1:] != nodes[:-1], axis=1) | (value[1:] != value[:-1])
    return np.ascontiguousarray(nodes[new]), value[new], support[order][new], exceptions[order][new]


def _by_column(batch: pa.RecordBatch) -> Codes:
    """The codes of a batch, a row for each column."""
    return np.ascontiguousarray(codes_of(batch).T)


def _count_values(batches: Iterator[pa.RecordBatch], start: Ints, wide: int) -> Iterator[pa.RecordBatch]:
    """On a worker: its rows by column and value."""
    total = np.zeros(wide, np.int64)
    for batch in batches:
        total += np.bincount((_by_column(batch) + start[:, None]).reshape(-1), minlength=wide)
    yield total_batch(total)


def _project_rows(
    batches: Iterator[pa.RecordBatch], tasks: list[Task], places: list[int], sensitive: int, rank: Codes
) -> Iterator[pa.RecordBatch]:
    """On a worker: for every task, its rows by their values of the attributes of the task and by their sensitive value."""
    for batch in batches:
        if not len(batch):
            continue
        codes = _by_column(batch)
        own, has = codes[places], rank[codes[sensitive]]
        known: dict[tuple[int, ...], tuple[Codes, Codes, npt.NDArray[np.float64]]] = {}
        for number, task in enumerate(tasks):
            if task.attributes not in known:
                known[task.attributes] = distinct_rows(own[list(task.attributes)], has)
            values, value, many = known[task.attributes]
            under = task.under[values[0]]
            key = np.concatenate((values, value[None]))[:, under].T.astype(np.int32)
            yield pa.record_batch(
                {
                    "task": np.full(len(key), number, np.int32),
                    "key": equal_lists(key),
                    "count": many[under].astype(np.int64),
                }
            )


def _mine_task(table: pa.Table, search: Search, tasks: list[Task]) -> pa.Table:
    """On a worker: the rules of one task."""
    task = tasks[table["task"][0].as_py()]
    key = flat(table["key"])[1].reshape(table.num_rows, len(task.attributes) + 1)
    order = np.lexsort(key.T)  # a shuffle keeps no order, and sums of fuzzy shares follow it
    key = key[order]
    codes, sensitive = np.ascontiguousarray(key[:, :-1].T), np.ascontiguousarray(key[:, -1])
    weight = table["count"].to_numpy()[order].astype(np.float64)
    nodes, value, support, exceptions = search.mine(task.attributes, codes, sensitive, weight, task.low, task.high)
    return pa.table(
        {
            "nodes": equal_lists(nodes),
            "value": value,
            "support": support,
            "exceptions": exceptions,
        }
    )


def _count_covered(
    batches: Iterator[pa.RecordBatch], covered: CoveredValues, never: list[int], places: list[int], sensitive: int
) -> Iterator[pa.RecordBatch]:
    """On a worker: the rows that satisfy each rule, and behind them those that have its value."""
    total = np.zeros(2 * len(never), np.int64)
    for batch in batches:
        codes = _by_column(batch)
        total += np.concatenate(rows_covered(covered, codes[places], never, codes[sensitive]))
    yield total_batch(total)
