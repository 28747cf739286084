"""Workloads: queries drawn at random from the rows of an original, to be asked of what was published of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from shoal.errors import InputError
from shoal.loss.queries import MOST_ITEMS, Among, Between, Query, answers, is_whole
from shoal.records.baskets import Baskets
from shoal.records.buckets import sensitive_column
from shoal.records.records import Column, Records

DRAWS = 1000
"""How often a query of random subsets is drawn at most, for each that is asked for, until some row meets it."""
NEAR = 0.1
"""How far a random range reaches to either side of a number, as a share of the distinct numbers."""


def random_workload(
    records: Records | Baskets,
    n: int = 100,
    kind: Literal["relational", "items", "mixed"] = "relational",
    seed: int = 0,
    *,
    columns: Sequence[str] | None = None,
    n_columns: int = 2,
    n_items: int = 2,
) -> tuple[Query, ...]:
    """`n` queries on columns, on items (pairs unless told otherwise, as in the paper), or on both; the same seed gives the same ones.

    Each query is drawn from a row drawn at random, so that none has the answer 0 and what is frequent is asked for often: `n_columns` of
    the row's values (of the quasi-identifiers, or the `columns` given) and `n_items` of its items. A category is asked for as
    it is, a number as a range around it that reaches over at most a tenth of the distinct numbers to either side.
    """
    records = Records.of(records)
    if kind not in ("relational", "items", "mixed"):
        raise InputError(f"queries of kind {kind!r} are not known; choose relational, items or mixed")
    if n < 0 or n_columns < 1 or not 1 <= n_items <= MOST_ITEMS:
        raise InputError(f"a query asks for at least one column and for 1 to {MOST_ITEMS} items")
    asked = [records[name] for name in columns] if columns is not None else list(records.of_role("quasi"))
    rows = np.arange(len(records))
    if kind != "relational":
        if records.items is None:
            raise InputError(f"queries of kind {kind} ask for items; the table has none")
        rows = np.flatnonzero(records.items.lengths >= n_items)
    if kind != "items" and not asked:
        raise InputError(f"queries of kind {kind} ask for columns; no column is a quasi-identifier and none is named")
    if n and not len(rows):
        raise InputError(f"no row holds {n_items} items to ask for; ask for fewer")
    rng = np.random.default_rng(seed)
    queries = []
    for _ in range(n):
        row = int(rows[rng.integers(len(rows))])
        conditions: tuple[Between | Among, ...] = ()
        items: frozenset[str] = frozenset()
        if kind != "items":
            picked = np.sort(rng.choice(len(asked), min(n_columns, len(asked)), replace=False))
            conditions = tuple(_condition(asked[j], row, rng) for j in picked.tolist())
        if kind != "relational" and records.items is not None:
            sets = records.items
            held = sets.items[sets.offsets[row] : sets.offsets[row + 1]]
            items = frozenset(sets.vocabulary[i] for i in rng.choice(held, n_items, replace=False).tolist())
        queries.append(Query(conditions, items))
    return tuple(queries)


def subset_workload(records: Records, n: int = 1000, *, dim: int, sel: float, seed: int = 0) -> tuple[Query, ...]:
    """`n` queries of the form that section VI-D of the Injector paper asks; the same seed gives the same ones.

    `dim` of the quasi-identifiers, drawn at random, and the sensitive column: of each, some of its values, drawn at random as well, from 1
    up to the share `sel` of them. A query that no row meets is drawn again: there is no relative error of 0.
    """
    sensitive = sensitive_column(records)
    quasi = records.of_role("quasi")
    if not 0 <= dim <= len(quasi):
        raise InputError(f"dim must be a number of quasi-identifiers, from 0 to {len(quasi)}, not {dim!r}")
    if not 0 < sel <= 1:
        raise InputError(f"sel must be a share of the values, greater than 0 and at most 1, not {sel!r}")
    if n and not len(records):
        raise InputError("there are no rows to ask for")
    rng = np.random.default_rng(seed)
    queries: list[Query] = []
    for _ in range(DRAWS):
        drawn = []
        for _ in range(n - len(queries)):
            picked = np.sort(rng.choice(len(quasi), dim, replace=False)).tolist()
            drawn.append(Query(tuple(_subset(c, sel, rng) for c in (*(quasi[j] for j in picked), sensitive))))
        queries += [query for query, count in zip(drawn, answers(records, drawn), strict=True) if count]
        if len(queries) == n:
            return tuple(queries)
    raise InputError(
        f"hardly any row meets {dim} conditions on at most {sel:.0%} of the values; ask for a smaller dim or a larger sel"
    )


def _subset(column: Column, sel: float, rng: np.random.Generator) -> Among:
    """From 1 up to a share of the values of a column."""
    size = int(rng.integers(1, max(1, math.floor(sel * len(column.values) + 1e-9)) + 1))
    picked = rng.choice(len(column.values), size, replace=False)
    return Among(column.name, frozenset(column.values[code] for code in picked.tolist()))


def _condition(column: Column, row: int, rng: np.random.Generator) -> Between | Among:
    code = int(column.codes[row])
    if column.numbers is None or np.isnan(column.numbers[code]):
        return Among(column.name, frozenset((column.values[code],)))
    numbers = column.numbers[~np.isnan(column.numbers)]
    place, reach = int(np.searchsorted(numbers, column.numbers[code])), math.ceil(NEAR * len(numbers))
    low = int(rng.integers(max(0, place - reach), place + 1))
    high = int(rng.integers(place, min(len(numbers) - 1, place + reach) + 1))
    if low == high and not is_whole(numbers):
        # A single number has no length: nothing but itself would ever be expected to meet it.
        low, high = (low, high + 1) if high + 1 < len(numbers) else (max(0, low - 1), high)
    return Between(column.name, float(numbers[low]), float(numbers[high]))
