"""ClusterRecoding: rows in clusters, each with its own values for relational columns and its own generalized items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from shoal.algorithms.recoding import Outcome
from shoal.errors import InputError
from shoal.loss.fates import Coverage
from shoal.numbers import Codes, Floats, Ints
from shoal.ordering import natural_order
from shoal.records.baskets import Baskets
from shoal.records.records import MISSING, Column, Records

TRANSACTIONS = ("local", "hybrid", "exact", "aa", "sets")
DELTA = 0.65
"""The bound of the paper's experiments."""


@dataclass(frozen=True)
class RTOptions:
    """What a user may set for the algorithms of this room."""

    delta: float | None = None
    """The largest NCP that RMERGE, the largest UL that TMERGE may leave; `DELTA` when None."""
    formation: Literal["cluster", "mondrian"] = "cluster"
    transaction: str = "local"
    """How items are generalized inside a class: along the item hierarchy, by an algorithm of the k^m room, or in sets without one."""
    balance: float = 0.5
    """How much the information of columns counts for `joint`; that of items counts the rest."""
    ordering: Literal["btd", "ul"] = "btd"
    """How clusters are ordered by their items: by BTD, or by UL itself, the paper's slow baseline."""
    rum: Literal["ncp", "discernibility", "c-avg"] = "ncp"
    """What RMERGE takes for the loss of relational columns, and merges go by (`shoal.algorithms.rt.merging`)."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """Per relational column, how much its NCP counts; 1 where not given."""
    limits: Mapping[str, str | float] = field(default_factory=dict)
    """Per relational column, how coarse its values may be published; no limit where not given."""
    item_weights: Mapping[str, float] = field(default_factory=dict)
    """Per item, how much it matters, from 0 to 1; 1 where not given. A generalized item has the mean of its items."""
    suppress_rows: float = 0.0
    """The share of the rows that may leave, for algorithms that see to that themselves."""

    def __post_init__(self) -> None:
        if self.delta is not None and not 0 <= self.delta <= 1:
            raise InputError(f"delta = {self.delta!r}: a bound on a loss is a share between 0 and 1")
        if not 0 <= self.balance <= 1:
            raise InputError(f"balance = {self.balance!r}: how much the columns count is a share between 0 and 1")
        for name, value, known in (
            ("formation", self.formation, ("cluster", "mondrian")),
            ("transaction", self.transaction, TRANSACTIONS),
            ("ordering", self.ordering, ("btd", "ul")),
            ("rum", self.rum, ("ncp", "discernibility", "c-avg")),
        ):
            if value not in known:
                raise InputError(f"{name} {value!r} is not known; choose one of {', '.join(known)}")

    @property
    def bound(self) -> float:
        return DELTA if self.delta is None else float(self.delta)


@dataclass(frozen=True, eq=False)
class ItemTokens:
    """What each occurrence of an item is published as."""

    items: Baskets
    """The original ones, without sensitive ones."""
    token: Codes
    """Per occurrence in them, -1 where it is deleted."""
    tokens: tuple[str, ...]
    sizes: Ints
    """Per token, how many items it stands for."""
    weights: Floats
    """Per token, w(u)."""

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """The original items that may be generalized."""
        return self.items.vocabulary

    @property
    def deleted(self) -> float:
        """The share of occurrences that is left out."""
        return float(np.count_nonzero(self.token < 0)) / max(1, len(self.token))

    def counts(self) -> tuple[Ints, Ints, Ints]:
        """(item, token, times): how often each item is published as each token, -1 for deleted ones."""
        width = len(self.tokens) + 1
        pairs, times = np.unique(self.items.items.astype(np.int64) * width + self.token + 1, return_counts=True)
        return pairs // width, pairs % width - 1, times.astype(np.int64)

    def coverage(self, published: Sequence[str]) -> Coverage:
        """Which of the published tokens cover which items, as some class has it; tokens are numbered as they are published."""
        item, token, _ = self.counts()
        place = {name: i for i, name in enumerate(published)}
        number = np.array([place.get(name, -1) for name in self.tokens] + [-1], np.int64)
        there = number[token] >= 0
        token, item = token[there], item[there]
        breadth = np.zeros(len(published), np.int64)
        breadth[number[token]] = self.sizes[token]
        return Coverage(item, number[token], breadth, self.sizes[token] == 1, len(self.vocabulary))


@dataclass(frozen=True, eq=False)
class ClusterRecoding(Outcome):
    """Clusters of rows, and what every cluster is published as."""

    of_row: Codes
    """The cluster of each row, numbered from 0 without gaps."""
    values: Mapping[str, tuple[str, ...]]
    """Per quasi-identifier column, the published value of each cluster."""
    tokens: ItemTokens | None
    """None for tables without items."""
    ncp: float
    """Of the relational columns."""
    ncp_by_column: Mapping[str, float] = field(default_factory=dict)
    ul: float | None = None
    items_ncp: float | None = None
    stay: Ints | None = None
    """The rows that `of_row` is about, where the algorithm itself let some leave."""

    @property
    def loss(self) -> dict[str, float]:
        """`ncp`, and for tables with items `ul`, `items_ncp` and `deleted`, the share of their occurrences that is left out."""
        deleted = None if self.tokens is None else self.tokens.deleted
        measures = {"ncp": self.ncp, "ul": self.ul, "items_ncp": self.items_ncp, "deleted": deleted}
        return {name: value for name, value in measures.items() if value is not None}

    def apply(self, records: Records) -> Records:
        """The records as they would be published, in the original order of rows."""
        columns = tuple(
            published_column(column, self.values[column.name], self.of_row) if column.name in self.values else column
            for column in records.columns
        )
        items = records.items
        if items is not None and self.tokens is not None:
            items = _published_items(self.tokens, items, records.sensitive_items)
        return replace(records, columns=columns, items=items)

    def item_rules(self) -> Iterator[tuple[int, str, str, int]]:
        """(class, original item, published token, rows), classes counted from 0; the token is empty where the item is deleted."""
        if self.tokens is None:
            return
        items, names = self.tokens.items, (*self.tokens.tokens, "")
        of_class = np.repeat(self.of_row.astype(np.int64), items.lengths)
        n, width = len(items.vocabulary), len(names)
        keys, times = np.unique((of_class * n + items.items) * width + self.tokens.token + 1, return_counts=True)
        for key, rows in zip(keys.tolist(), times.tolist(), strict=True):
            at, item = divmod(key // width, n)
            yield at, items.vocabulary[item], names[key % width - 1], rows


def _published_items(tokens: ItemTokens, items: Baskets, sensitive: frozenset[str]) -> Baskets:
    """Items as their tokens, sensitive ones as they are."""
    own = np.array([name in sensitive for name in items.vocabulary], bool)
    stays = own[items.items]
    at = {name: i for i, name in enumerate(tokens.vocabulary)}
    place = np.array([at.get(name, -1) for name in items.vocabulary], np.int64)
    if not np.array_equal(place[items.items[~stays]], tokens.items.items):
        raise InputError("these are not the records that were recoded: their items are others")
    kept = np.flatnonzero(own)
    code = np.empty(len(items.items), np.int64)
    code[~stays] = tokens.token
    code[stays] = len(tokens.tokens) + np.searchsorted(kept, items.items[stays])
    there = code >= 0
    row = np.repeat(np.arange(len(items), dtype=np.int64), items.lengths)
    lengths = np.bincount(row[there], minlength=len(items)).astype(np.int64)
    names = [*tokens.tokens, *(items.vocabulary[i] for i in kept.tolist())]
    published = Baskets.from_codes(lengths, code[there], names)
    return Baskets(published.offsets, published.items, published.vocabulary, people=items.people)


def published_column(column: Column, values: tuple[str, ...], of_row: Codes) -> Column:
    """The column with the value of its cluster in each row."""
    names = list(dict.fromkeys(values))
    names = [names[i] for i in natural_order(names)]
    if MISSING in names:
        names.remove(MISSING)
        names.insert(0, MISSING)
    code = {name: i for i, name in enumerate(names)}
    of_cluster = np.array([code[value] for value in values], np.int32)
    return Column(column.name, column.role, of_cluster[of_row], tuple(names))
