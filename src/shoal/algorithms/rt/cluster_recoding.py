"""ClusterRecoding: rows in clusters, each with its own values for relational columns and its own generalized items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import numpy.typing as npt

from shoal.algorithms.recoding import Outcome
from shoal.errors import InputError
from shoal.ordering import natural_order
from shoal.records.baskets import Baskets
from shoal.records.records import MISSING, Column, Records

DELTA = 0.65
"""The bound of the paper's experiments."""


@dataclass(frozen=True)
class RTOptions:
    """What a user may set for the algorithms of this room."""

    delta: float | None = None
    """The largest NCP that RMERGE, the largest UL that TMERGE may leave; `DELTA` when None."""
    formation: Literal["cluster", "mondrian"] = "cluster"
    transaction: Literal["sets", "aa", "exact"] | None = None
    """How items are generalized inside a cluster: in sets without a tree (the default, and with None where there is no tree), or by
    a cut through the item hierarchy (with None: `aa` where there is a tree, and sets in clusters where that leaves only its root)."""
    ordering: Literal["btd", "ul"] = "btd"
    """How clusters are ordered by their items: by BTD, or by UL itself, the paper's slow baseline."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """Per relational column, how much its NCP counts; 1 where not given."""
    item_weights: Mapping[str, float] = field(default_factory=dict)
    """Per item, how much it matters, from 0 to 1; 1 where not given. A generalized item has the mean of its items."""

    def __post_init__(self) -> None:
        if self.delta is not None and not 0 <= self.delta <= 1:
            raise InputError(f"delta = {self.delta!r}: a bound on a loss is a share between 0 and 1")
        for name, value, known in (
            ("formation", self.formation, ("cluster", "mondrian")),
            ("transaction", self.transaction, ("sets", "aa", "exact", None)),
            ("ordering", self.ordering, ("btd", "ul")),
        ):
            if value not in known:
                raise InputError(f"{name} {value!r} is not known; choose one of {', '.join(k for k in known if k)}")

    @property
    def bound(self) -> float:
        return DELTA if self.delta is None else float(self.delta)


@dataclass(frozen=True, eq=False)
class ItemRules:
    """What items are published as, cluster by cluster: `token[i]` for item `item[i]`, cluster c holding [offsets[c], offsets[c + 1])."""

    offsets: npt.NDArray[np.int64]
    item: npt.NDArray[np.int32]
    """Ascending inside a cluster; ids of the vocabulary without sensitive items."""
    token: npt.NDArray[np.int32]
    vocabulary: tuple[str, ...]
    """The original items that may be generalized."""
    tokens: tuple[str, ...]
    sizes: npt.NDArray[np.int64]
    """Per token, how many items it stands for."""
    weights: npt.NDArray[np.float64]
    """Per token, w(u)."""


@dataclass(frozen=True, eq=False)
class ClusterRecoding(Outcome):
    """Clusters of rows, and what every cluster is published as."""

    of_row: npt.NDArray[np.int32]
    """The cluster of each row, numbered from 0 without gaps."""
    values: Mapping[str, tuple[str, ...]]
    """Per quasi-identifier column, the published value of each cluster."""
    rules: ItemRules | None
    """None for tables without items."""
    ncp: float
    """Of the relational columns."""
    ncp_by_column: Mapping[str, float] = field(default_factory=dict)
    ul: float | None = None
    items_ncp: float | None = None

    @property
    def loss(self) -> dict[str, float]:
        """`ncp`, and for tables with items `ul` and `items_ncp`."""
        measures = {"ncp": self.ncp, "ul": self.ul, "items_ncp": self.items_ncp}
        return {name: value for name, value in measures.items() if value is not None}

    def apply(self, records: Records) -> Records:
        """The records as they would be published, in the original order of rows."""
        columns = tuple(
            published_column(column, self.values[column.name], self.of_row) if column.name in self.values else column
            for column in records.columns
        )
        items = records.items
        if items is not None and self.rules is not None:
            items = self._generalized(items, records.sensitive_items)
        return Records(columns, items, records.items_name, records.sensitive_items, records.sensitive_name)

    def _generalized(self, items: Baskets, sensitive: frozenset[str]) -> Baskets:
        """Items as their cluster's tokens, sensitive ones as they are."""
        assert self.rules is not None
        rules = self.rules
        n = len(rules.vocabulary)
        position = {name: i for i, name in enumerate(rules.vocabulary)}
        place = np.array([position.get(name, -1) for name in items.vocabulary], np.int64)
        kept = np.array([name in sensitive for name in items.vocabulary], bool)
        row = np.repeat(np.arange(len(items), dtype=np.int64), items.lengths)
        stays = kept[items.items]
        cluster = np.repeat(np.arange(len(rules.offsets) - 1, dtype=np.int64), np.diff(rules.offsets))
        known = cluster * n + rules.item  # ascending: clusters one after another, items ascending inside
        wanted = self.of_row[row[~stays]] * np.int64(n) + place[items.items[~stays]]
        at = np.searchsorted(known, wanted)
        if len(wanted) and (at.max() >= len(known) or not np.array_equal(known[at], wanted)):
            raise InputError("these are not the records that were recoded: a cluster holds an item it has no rule for")
        own = np.flatnonzero(kept)
        code = np.empty(len(items.items), np.int64)
        code[~stays] = rules.token[at]
        code[stays] = len(rules.tokens) + np.searchsorted(own, items.items[stays])
        names = [*rules.tokens, *(items.vocabulary[i] for i in own.tolist())]
        published = Baskets.from_codes(items.lengths, code, names)
        return Baskets(published.offsets, published.items, published.vocabulary)

    def item_rules(self) -> Iterator[tuple[int, str, str]]:
        """(cluster, original item, published token), clusters counted from 0."""
        if self.rules is None:
            return
        rules = self.rules
        for c, (start, stop) in enumerate(zip(rules.offsets[:-1].tolist(), rules.offsets[1:].tolist(), strict=True)):
            for item, token in zip(rules.item[start:stop].tolist(), rules.token[start:stop].tolist(), strict=True):
                yield c, rules.vocabulary[item], rules.tokens[token]


def published_column(column: Column, values: tuple[str, ...], of_row: npt.NDArray[np.int32]) -> Column:
    """The column with the value of its cluster in each row."""
    names = list(dict.fromkeys(values))
    names = [names[i] for i in natural_order(names)]
    if MISSING in names:
        names.remove(MISSING)
        names.insert(0, MISSING)
    code = {name: i for i, name in enumerate(names)}
    of_cluster = np.array([code[value] for value in values], np.int32)
    return Column(column.name, column.role, of_cluster[of_row], tuple(names))
