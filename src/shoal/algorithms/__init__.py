"""The algorithms by model and name. Adding one means adding one file and one line here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from shoal.errors import InputError, near_miss, option


@dataclass(frozen=True)
class Entry:
    """Where an algorithm is at home, and which options it has a use for."""

    module: str
    options: tuple[str, ...] = ()
    uniform: bool = False
    """Whether it recodes all rows of a table alike: then limits, and rows that leave, are its own business."""


_OF_ITEMS = ("seed", "formation", "transaction", "price", "suppress", "item_weights")
_ROWS = ("weights", "limits", "missing_quasi", "shift", "suppress_rows")
_ITEMS = (*_OF_ITEMS, *_ROWS)
_MERGE = ("delta", "ordering", "rum", *_ITEMS)
_KNOWING = ("seed", "min_exp", "min_conf", "max_length", "fuzzy", "knowledge")

ALGORITHMS: dict[str, dict[str, Entry]] = {
    "km": {
        "local": Entry("shoal.algorithms.km.local", ("price", "suppress", "time_limit")),
        "exact": Entry("shoal.algorithms.km.exact", ("price", "suppress", "time_limit")),
        "hybrid": Entry("shoal.algorithms.km.hybrid", ("price", "suppress", "time_limit")),
        "lra": Entry("shoal.algorithms.km.lra", ("price", "segments", "time_limit")),
        "vpa": Entry("shoal.algorithms.km.apriori", ("price", "segments")),
        "oa": Entry("shoal.algorithms.km.oa", ("price",)),
        "da": Entry("shoal.algorithms.km.apriori", ("price",)),
        "aa": Entry("shoal.algorithms.km.apriori", ("price",)),
    },
    "k": {
        "split": Entry("shoal.algorithms.transactions.split", ("seed", "time_limit")),
        "pta": Entry("shoal.algorithms.transactions.pta", ("segments",)),
        "gsc": Entry("shoal.algorithms.transactions.gsc"),
        "gray-tsp": Entry("shoal.algorithms.transactions.pta", ("seed", "segments", "population", "generations")),
    },
    "rt": {
        "joint": Entry("shoal.algorithms.rt.joint", ("balance", *_ITEMS, "time_limit")),
        "rmerge-r": Entry("shoal.algorithms.rt.merges", _MERGE),
        "rmerge-t": Entry("shoal.algorithms.rt.merges", _MERGE),
        "rmerge-rt": Entry("shoal.algorithms.rt.merges", _MERGE),
        "tmerge-r": Entry("shoal.algorithms.rt.merges", _MERGE),
        "tmerge-t": Entry("shoal.algorithms.rt.merges", _MERGE),
        "tmerge-rt": Entry("shoal.algorithms.rt.merges", _MERGE),
        "rfirst": Entry("shoal.algorithms.rt.merges", _ITEMS),
        "tfirst": Entry("shoal.algorithms.rt.tfirst", _ITEMS),
    },
    "diversity": {
        "injector": Entry("shoal.algorithms.buckets.injector", _KNOWING),
        "balanced": Entry("shoal.algorithms.buckets.balanced", _KNOWING),
        "anatomy": Entry("shoal.algorithms.buckets.anatomy", ("seed",)),
    },
    "constraints": {
        "weigh": Entry("shoal.algorithms.constraints.weigh", ("suppress",)),
        "coat": Entry("shoal.algorithms.constraints.coat", ("suppress",)),
        "pcta": Entry("shoal.algorithms.constraints.pcta", ("suppress",)),
    },
    "chunks": {"disassociation": Entry("shoal.algorithms.chunks.disassociation", ("cluster_size",))},
    "table": {
        "better-of-two": Entry("shoal.algorithms.rt.clusters", ("seed", *_ROWS)),
        "cluster": Entry("shoal.algorithms.rt.clusters", ("seed", *_ROWS)),
        "mondrian": Entry("shoal.algorithms.rt.clusters", _ROWS),
        "full-domain": Entry("shoal.algorithms.tables.full_domain", ("price", *_ROWS, "time_limit"), uniform=True),
        "top-down": Entry("shoal.algorithms.tables.top_down", ("price", *_ROWS), uniform=True),
        "bottom-up": Entry("shoal.algorithms.tables.bottom_up", ("price", *_ROWS), uniform=True),
    },
}
"""Per kind of data and promise, the home of each algorithm (its function has the algorithm's name); the first is the default."""
ALGORITHMS["lm"] = ALGORITHMS["rt"]
OF_SERIES = ("hybrid", "exact")
"""What may choose the cut of a series, which all of its rows share; the first unless it is said."""


def kind_of(guarantee: Any) -> str:
    """The entry of `ALGORITHMS` for a guarantee: its model, but tables without items have algorithms of their own."""
    kind: str = getattr(guarantee, "family", guarantee.model)
    return kind


def entry(kind: str, name: str | None = None) -> tuple[str, Entry]:
    """The name (the default one for None) and home of an algorithm."""
    known = ALGORITHMS[kind]
    name = name or next(iter(known))
    if name not in known:
        raise InputError(
            f"algorithm {name!r} is not known for {_words(kind)}; {near_miss(name, known)}choose one of {', '.join(known)}"
        )
    return name, known[name]


def _words(kind: str) -> str:
    return "tables without items" if kind == "table" else option("model", kind)


def algorithm(kind: str, name: str | None = None) -> Callable[..., Any]:
    """The function `name(data, guarantee, hierarchy, options)`; it returns the recoding of its model."""
    name, home = entry(kind, name)
    function: Callable[..., Any] = getattr(import_module(home.module), name.replace("-", "_"))
    return function
