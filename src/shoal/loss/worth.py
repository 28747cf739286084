"""What a release is worth to an analyst: the information that it keeps, what stands as it was, which of the commonest pairs can be counted.

All models say it in the same names. `info` is the share of the information that is lost, and stands first among the losses; with
columns and items it is the mean of the two, `info_columns` and `info_items`, unless a `balance` gives one of them more weight. What is
kept is told as shares: `exact` of the item occurrences and `cells` of the quasi-identifier cells are published as they are, and `pairs` of
the 100 commonest pairs, in about as many rows.

What remains is told in a clinician's words: of each column and of the items, the share that is as it was and how wide the median published
value is, and what became of the ten commonest items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from typing_extensions import TypedDict

from shoal.hierarchy.meanings import CellMeanings
from shoal.loss.relational import column_shares
from shoal.numbers import Ints
from shoal.price.information import Fates

LITTLE = 0.1
"""An NCP below this is read as harmless."""
MUCH, TIMES, FEW = 0.2, 4, 0.5
"""It is not if more information than this is lost, or fewer stand as they are, and the information is so many times the NCP."""
COMMONEST, WAYS = 10, 3
"""Items whose fate is told, and how many of the tokens that each became."""
_LONG = 24
"""Characters of a token in a sentence, at most."""
_LITTLE_SHARE = 0.0005
"""Less would be shown as 0.0%."""


@dataclass(frozen=True)
class Worth:
    """What is lost of the information, and what is kept, each by name."""

    lost: Mapping[str, float]
    kept: Mapping[str, float]
    remains: Mapping[str, Any] = field(default_factory=dict)
    """`columns`: per column a `ColumnRemains`; `items`: an `ItemsRemains`."""

    def among_all(self, share: float) -> Worth:
        """The same counted over all rows: this is what `share` of them are worth, and the others are lost."""
        columns = {
            name: {**one, "exact": share * one["exact"]} for name, one in self.remains.get("columns", {}).items()
        }
        return Worth(
            {name: 1 - share * (1 - lost) for name, lost in self.lost.items()},
            {name: share * kept for name, kept in self.kept.items()},
            {**self.remains, "columns": columns},
        )


class ColumnRemains(TypedDict):
    """What is left of a column."""

    exact: float
    """The share of its cells that are published as they were."""
    width: float
    """Of the median published cell, in units."""
    unit: str
    """As `CellMeanings.unit`."""


class ItemsRemains(TypedDict):
    """What is left of the items."""

    exact: float
    deleted: float
    width: float
    """How many items the median published token stands for."""
    commonest: list[ItemRemains]


class ItemRemains(TypedDict):
    """What became of one item, as shares of its occurrences."""

    item: str
    occurrences: int
    exact: float
    deleted: float
    published_as: list[Way]
    """The tokens that most of the others became."""
    otherwise: float
    """What became something else still."""


class Way(TypedDict):
    """A token in place of an item."""

    token: str
    items: int
    """How many it stands for."""
    share: float


@dataclass(frozen=True, eq=False)
class Names:
    """What the items and tokens of fates are called, by their numbers."""

    items: Sequence[str]
    tokens: Sequence[str]
    breadth: Ints
    """Per token, how many items it stands for."""


def items_worth(fates: Fates, pairs: float | None, names: Names | None = None) -> Worth:
    """Of items alone; `pairs` is the share of the commonest pairs, if there are any and somebody counted them."""
    return Worth(
        {"info": fates.info},
        {"exact": fates.exact} | ({} if pairs is None else {"pairs": pairs}),
        {} if names is None else {"items": items_remains(fates, names)},
    )


def items_remains(fates: Fates, names: Names) -> ItemsRemains:
    """What is left of the items, and what became of the commonest."""
    times = np.bincount(fates.item, fates.times, minlength=len(names.items))
    first = np.argsort(-times, kind="stable")[:COMMONEST]
    return {
        "exact": fates.exact,
        "deleted": fates.deleted,
        "width": fates.median(names.breadth),
        "commonest": [_item_remains(fates, names, i, float(times[i])) for i in first.tolist() if times[i] > 0],
    }


def _item_remains(fates: Fates, names: Names, item: int, times: float) -> ItemRemains:
    here = fates.item == item
    token, share, itself = fates.token[here], fates.times[here] / times, fates.as_it_is[here]
    exact, deleted = float(share[itself].sum()), float(share[token < 0].sum())
    changed = ~itself & (token >= 0)
    of_token = np.bincount(token[changed], share[changed])
    most = np.argsort(-of_token, kind="stable")[:WAYS]
    ways: list[Way] = [
        {"token": names.tokens[t], "items": int(names.breadth[t]), "share": float(of_token[t])}
        for t in most.tolist()
        if of_token[t] > 0
    ]
    rest = float(of_token.sum()) - sum(way["share"] for way in ways)
    return {
        "item": names.items[item],
        "occurrences": round(times),
        "exact": exact,
        "deleted": deleted,
        "published_as": ways,
        "otherwise": rest if len(ways) == WAYS and rest > 1e-9 else 0.0,
    }


def columns_remains(fates: Mapping[str, Fates], cells: Mapping[str, CellMeanings]) -> dict[str, ColumnRemains]:
    """What is left of each column; the tokens of its fates are numbered as its cells."""
    return {
        name: {"exact": fates[name].exact, "width": fates[name].median(cell.width), "unit": cell.unit}
        for name, cell in cells.items()
    }


def width_words(remains: ColumnRemains) -> str:
    """`10`, `31 days`, `1 value`."""
    width, unit = remains["width"], remains["unit"]
    return f"{width:,.6g} {unit.removesuffix('s') if width == 1 else unit}".rstrip()


def fate_words(remains: ItemRemains, *, named: bool = True) -> str:
    """What became of an item that is not as it was: `30.0% as 401-405 (5 items), 4.0% otherwise, 2.0% deleted`.

    Unless tokens may be `named`, `30.0% as one of 5 items`.
    """
    told = []
    for way in remains["published_as"][:1]:
        many = f"{way['items']:,} item{'s' * (way['items'] != 1)}"
        what = f"as {_short(way['token'])} ({many})" if named else f"as one of {many}"
        rest = sum(other["share"] for other in remains["published_as"][1:]) + remains["otherwise"]
        told += [(way["share"], what), (rest, "otherwise")]
    told.append((remains["deleted"], "deleted"))
    return ", ".join(f"{share:.1%} {what}" for share, what in told if share >= _LITTLE_SHARE)


def _short(token: str) -> str:
    """A token that fits into a sentence: sets of items can be very long."""
    return token if len(token) <= _LONG else f"{token[: _LONG - 3]}..."


def columns_worth(
    fates: Mapping[str, Fates],
    weights: Mapping[str, float] | None = None,
    cells: Mapping[str, CellMeanings] | None = None,
) -> Worth:
    """Of quasi-identifier columns alone: what they lose together of what they say together, each by its weight."""
    if not fates:
        return Worth({"info": 0.0}, {"cells": 1.0}, {"columns": {}})
    shares = column_shares(list(fates), weights or {}).tolist()
    lost, said = (
        sum(share * getattr(one, bits) for share, one in zip(shares, fates.values(), strict=True))
        for bits in ("lost_bits", "bits")
    )
    return Worth(
        {"info": lost / said if said else 0.0},
        {"cells": sum(one.exact for one in fates.values()) / len(fates)},
        {} if cells is None else {"columns": columns_remains(fates, cells)},
    )


def table_worth(columns: Worth, items: Worth | None, balance: float = 0.5) -> Worth:
    """Of columns, and items beside them; `balance` is how much the columns count, the items count for the rest of 1."""
    if items is None:
        return columns
    of_columns, of_items = columns.lost["info"], items.lost["info"]
    both = balance * of_columns + (1 - balance) * of_items
    lost = {"info": both, "info_columns": of_columns, "info_items": of_items}
    return Worth(lost, {**items.kept, **columns.kept}, {**columns.remains, **items.remains})


def worth_notes(loss: Mapping[str, float], kept: Mapping[str, float]) -> tuple[str, ...]:
    """A word to the owner where NCP calls harmless what takes the items their information."""
    ncp, info, exact = loss.get("items_ncp", loss["ncp"]), loss.get("info_items", loss["info"]), kept.get("exact", 1.0)
    if ncp >= LITTLE or info <= TIMES * ncp or (info <= MUCH and exact >= FEW):
        return ()
    return (
        f"NCP says that the items lose {ncp:.1%}, but {info:.0%} of their information is lost and {exact:.0%} of them are published as "
        "they are: NCP measures a category against the whole domain; go by the information",
    )
