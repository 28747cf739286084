"""The risk in raw data: what somebody who knows a few items of a person gives away, before anything is released."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import Any

from shoal.algorithms.km.categories import RareCategories, rare_categories
from shoal.algorithms.recoding import Options
from shoal.errors import Unreachable
from shoal.guarantees.km import Exposure, KmAnonymity, exposures
from shoal.hierarchy.spec import resolve
from shoal.hierarchy.tree import Hierarchy
from shoal.records.reading import load
from shoal.report.advice import described, prospects


@dataclass(frozen=True)
class Profile:
    """The size of raw data and what m known items single out in it."""

    source: str
    k: int
    rows: int
    items: int
    occurrences: int
    longest: int
    average: float
    empty: int
    duplicates: int
    sha256: str
    exposures: tuple[Exposure, ...]
    """For m = 1, 2, ..."""
    hierarchy: str | None = None
    rare_categories: tuple[RareCategories, ...] = ()
    """What would force a release to the root of the hierarchy, each set from m = its size on."""
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "input_sha256": self.sha256,
            "k": self.k,
            "rows": self.rows,
            "items": self.items,
            "occurrences": self.occurrences,
            "longest": self.longest,
            "average": self.average,
            "empty": self.empty,
            "duplicates": self.duplicates,
            "exposures": [asdict(exposure) for exposure in self.exposures],
            "hierarchy": self.hierarchy,
            "rare_categories": [
                {"names": list(c.names), "support": c.support, "from_m": len(c.names)} for c in self.rare_categories
            ],
            "notes": list(self.notes),
        }


def profile(
    data: Any,
    k: int = 5,
    up_to: int = 3,
    *,
    hierarchy: Hierarchy | str | os.PathLike[str] | None = None,
    unknown: str | None = None,
    examples: int = 3,
    threads: int | None = None,
    **reading: Any,
) -> Profile:
    """How many itemsets of 1, 2, ..., `up_to` items are rarer than k, and how many transactions they give away.

    With a hierarchy, also the top-level categories that would force a release to its root, and what a release for m = 2 would
    lose. `reading` is as for `shoal.read`.
    """
    guarantee = KmAnonymity(k, up_to)
    source = load(data, **reading)
    baskets = source.baskets
    found = exposures(baskets, k, up_to, examples=examples, threads=threads)
    tree, rare = None, list[RareCategories]()
    notes, outlook = list[str](), tuple[str, ...]()
    if hierarchy is not None and baskets.vocabulary:
        tree = resolve(hierarchy, baskets.vocabulary, baskets.supports(), unknown=unknown)
        try:
            rare = rare_categories(baskets, guarantee, tree)
            outlook = prospects(baskets, KmAnonymity(k, min(2, up_to)), tree, Options(threads=threads))
        except Unreachable as reason:
            notes.append(str(reason))
        if rare:
            notes.append(
                f"with m = {len(rare[0].names)} or more, every release goes to the root of {tree.source}, because of top-level "
                f"categories in fewer than {k} transactions: {described(rare)}; merge them with others, or let --suppress drop them"
            )
    return Profile(
        source.name,
        k,
        len(baskets),
        len(baskets.vocabulary),
        baskets.occurrences,
        baskets.longest,
        baskets.occurrences / max(1, len(baskets)),
        baskets.empty,
        baskets.duplicates,
        source.sha256,
        tuple(found),
        tree.source if tree else None,
        tuple(rare),
        (*notes, *outlook),
    )
