"""Slow, obvious audits of what stands in a file, for the fast ones to be compared with: no code of the house, no codes, only texts.

A file is read into rows of texts, its sets as lists that may name an item twice (no name has a blank or a bar in it); every promise is
then counted as it is defined.
"""

from __future__ import annotations

import csv
import io
import json
import re
import sqlite3
from collections import Counter, defaultdict
from contextlib import closing
from itertools import combinations, permutations

import numpy as np
import pyarrow.feather
import pyarrow.parquet
from scipy.optimize import linprog

SETS = ("items", "codes")
"""Columns that hold sets."""


def table(path, delimiter=","):
    """The rows of a file as dictionaries: cells as texts, missing ones empty, sets as lists."""
    kind = path.suffix
    if kind == ".db":
        with closing(sqlite3.connect(path)) as connection:
            connection.row_factory = sqlite3.Row
            found = [dict(row) for row in connection.execute("SELECT * FROM t")]
    elif kind == ".parquet":
        found = pyarrow.parquet.read_table(path).to_pylist()
    elif kind == ".arrow":
        found = pyarrow.feather.read_table(path).to_pylist()
    elif kind == ".jsonl":
        found = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    elif kind == ".dat":
        return [{"items": line.split()} for line in path.read_text().removesuffix("\n").split("\n")]
    else:
        text = io.StringIO(path.read_text(), newline="")
        found = list(csv.DictReader(text, delimiter="\t" if kind == ".tsv" else delimiter))
    return [{name: cell(value, name in SETS) for name, value in row.items()} for row in found]


def cell(value, is_set):
    if not is_set:
        return "" if value is None else str(value)
    if isinstance(value, str):
        value = re.split(r"[| ]+", value)
    return [item for item in value or [] if item]


def grouped(rows, *names):
    """The rows by what they say in these columns."""
    groups = defaultdict(list)
    for row in rows:
        groups[tuple(row[name] for name in names)].append(row)
    return list(groups.values())


def rare_sets(sets, k, m):
    """The sets of at most m items that stand together in some of these rows, but in fewer than k."""
    support = Counter(
        frozenset(chosen) for row in sets for size in range(1, m + 1) for chosen in combinations(sorted(set(row)), size)
    )
    return {chosen for chosen, rows in support.items() if rows < k}


def km_breaches(rows, k, m):
    return len(rare_sets([row["items"] for row in rows], k, m))


def k_breaches(rows, k, l, sensitive):  # noqa: E741
    """Classes of equal rows that are too small, hold too few different sensitive items, or one that all share."""
    classes = defaultdict(list)
    for row in rows:
        classes[frozenset(row["items"]) - sensitive].append(frozenset(row["items"]) & sensitive)
    return sum(
        len(held) < k or (l > 1 and (len(frozenset().union(*held)) < l or bool(frozenset.intersection(*held))))
        for held in classes.values()
    )


def table_breaches(rows, k, l, quasi, sensitive):  # noqa: E741
    return sum(
        len(group) < k or (l > 1 and len({row[sensitive] for row in group}) < l) for group in grouped(rows, *quasi)
    )


def rt_breaches(rows, k, m, quasi, sensitive=frozenset()):
    return sum(
        (len(group) < k) + len(rare_sets([set(row["codes"]) - sensitive for row in group], k, m))
        for group in grouped(rows, *quasi)
    )


def lm_breaches(rows, k, l, m, quasi, sensitive):  # noqa: E741
    """Besides, per class and set of at most m items that occurs (the empty one too), sensitive items in more than 1/l of its rows."""
    sure = 0
    for group in grouped(rows, *quasi):
        sets = [(set(row["codes"]) - sensitive, set(row["codes"]) & sensitive) for row in group]
        known = {chosen for own, _ in sets for size in range(m + 1) for chosen in combinations(sorted(own), size)}
        for chosen in known:
            told = [hidden for own, hidden in sets if set(chosen) <= own]
            sure += sum(count * l > len(told) for count in Counter(item for hidden in told for item in hidden).values())
    return rt_breaches(rows, k, m, quasi, sensitive) + sure


def bucket_breaches(rows, l, sensitive, never):  # noqa: E741
    """Rows that fewer than l values are possible for; `never(row, value)` says what the attacker's rules exclude."""
    broken = 0
    for group in grouped(rows, "bucket"):
        possible = [set() for _ in group]
        for given in set(permutations(row[sensitive] for row in group)):
            if not any(never(row, value) for row, value in zip(group, given, strict=True)):
                for own, value in zip(possible, given, strict=True):
                    own.add(value)
        broken += sum(len(own) < l for own in possible)
    return broken


def telling_crowds(rows, m, l, t, quasi, sensitive, ways):  # noqa: E741
    """Crowds (the rows of a class that hold a set of at most m items that occurs, the empty one too) that tell too much of a column."""
    telling = []
    for group in grouped(rows, *quasi):
        known = {
            chosen for row in group for size in range(m + 1) for chosen in combinations(sorted(set(row["codes"])), size)
        }
        for chosen in known:
            crowd = [row for row in group if set(chosen) <= set(row["codes"])]
            for name in sensitive:
                own, all_values = Counter(row[name] for row in crowd), Counter(row[name] for row in rows)
                too_sure = l > 1 and max(own.values()) * l > len(crowd)
                if too_sure or (
                    t is not None and moved_earth(own, all_values, sorted(all_values, key=float), ways[name]) > t + 1e-7
                ):
                    telling.append((group[0][quasi[0]], chosen))
                    break
    return telling


def moved_earth(own, table, values, way):
    """The least work that turns one distribution (counts by value) into another, as a transport problem."""
    far = np.array([[abs(i - j) / max(1, len(values) - 1) for j in range(len(values))] for i in range(len(values))])
    far = (far > 0).astype(float) if way == "equal" else far
    n = len(values)
    leaves, arrives = np.zeros((n, n, n)), np.zeros((n, n, n))
    for i in range(n):
        leaves[i, i, :] = arrives[i, :, i] = 1
    shares = [count[v] / count.total() for count in (own, table) for v in values]
    found = linprog(far.ravel(), A_eq=np.concatenate((leaves, arrives)).reshape(2 * n, -1), b_eq=shares)
    return found.fun
