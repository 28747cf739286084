"""k^m-anonymity: a cut through a hierarchy, and with `hybrid` single deletions, lose NCP; with `lra` rows differ in their cuts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.algorithms import algorithm, entry
from shoal.algorithms.km.learning import learner
from shoal.algorithms.recoding import LocalRecoding, Options, Recoding
from shoal.certificate.disclosure import DIGITS, Figure, disclose, untold_leaves
from shoal.certificate.facts import hierarchy_facts
from shoal.errors import InputError, option
from shoal.evaluation.advice import ends_at_root, hybrid_advice, root_advice
from shoal.guarantees.km import KmAnonymity
from shoal.guarantees.km_local import LocalKmAnonymity
from shoal.hierarchy.files import read_hierarchy
from shoal.hierarchy.spec import Values, resolve
from shoal.hierarchy.tree import Hierarchy
from shoal.models import Proposal, Roles, basket_details, basket_notes, basket_source
from shoal.price.ncp import leaf_occurrences, local_ncp, ncp, published_ncp
from shoal.records.baskets import Baskets
from shoal.records.source import Source

HIERARCHY = "frequency:5"
SUPPRESS = {"hybrid": 0.05}
"""The share of occurrences that an algorithm may take away when nobody says otherwise; 0 for the others."""


@dataclass(frozen=True)
class Level:
    """Items that went up the same number of levels, or were dropped (None)."""

    up: int | None
    items: int
    occurrences: int


def read(data: Any, guarantee: KmAnonymity, roles: Roles, reading: Mapping[str, Any]) -> tuple[Source, KmAnonymity]:
    roles.refuse(guarantee.model, "sensitive", "quasi", "keep")
    return basket_source(data, reading), guarantee


def proposal(source: Source, guarantee: KmAnonymity, request: Mapping[str, Any], options: Options) -> Proposal:
    """Generalize until the promise holds. `request` has `hierarchy`, `unknown` and `algorithm`."""
    baskets = source.baskets
    name, _ = entry(guarantee.model, request["algorithm"])
    if request["suppress"] is None:
        options = replace(options, suppress=SUPPRESS.get(name, 0.0))
    spec = HIERARCHY if request["hierarchy"] is None else request["hierarchy"]
    if isinstance(spec, Mapping):
        raise InputError(
            f"{option('model', 'km')} has items and no other columns: give one {option('hierarchy', 'SPEC')}, without COL="
        )
    tree = resolve_hierarchy(spec, baskets, unknown=request["unknown"], promise=guarantee, options=options)
    recoding: Recoding | LocalRecoding = algorithm(guarantee.model, name)(baskets, guarantee, tree, options)
    options.tell("recoding", 0.0)
    if isinstance(recoding, LocalRecoding):
        return _local_proposal(baskets, guarantee, recoding, request, options)
    loss = ncp(recoding.cut, leaf_occurrences(tree, baskets), recoding.deletions_by_leaf(baskets))
    changes = cut_details(recoding, baskets, loss)
    published = recoding.apply(baskets, options.threads)
    return Proposal(
        guarantee=guarantee,
        published=published,
        recoding=recoding,
        algorithm=recoding.algorithm,
        loss=loss,
        parameters={
            "suppress": options.suppress,
            "time_limit": options.time_limit,
            "unknown": request["unknown"],
        },
        optimal=recoding.optimal,
        bound=recoding.bound,
        details={
            **basket_details(baskets, published),
            "suppressed": changes["suppressed"],
            "deleted_shares": recoding.deleted_shares(baskets),
            "levels": changes["levels"],
            "hierarchy": {"source": tree.source, "leaves": tree.n_leaves, "height": tree.height},
        },
        certified=lambda: certified_facts(
            tree,
            published.vocabulary,
            published.supports(),
            guarantee.k,
            deleted=loss["deleted"] if options.suppress else None,
            unknown=request["unknown"],
        ),
        warnings=tuple(warnings_of(recoding, options.suppress)),
        notes=basket_notes(baskets, empty_stay=True) + recoding.notes,
        advice=lambda: _advice(baskets, guarantee, recoding, options, loss["ncp"]),
        rules=lambda written: _rules(recoding, written),
        rules_note="names every original item, rare ones too",
    )


def _advice(
    baskets: Baskets, guarantee: KmAnonymity, recoding: Recoding, options: Options, lost: float
) -> tuple[str, ...]:
    tree = recoding.cut.hierarchy
    at_root = root_advice(baskets, guarantee, tree, options) if ends_at_root(recoding) else ()
    exact = recoding.algorithm == "exact"
    return at_root + (hybrid_advice(baskets, guarantee, tree, options, lost) if exact else ())


def with_knowledge(guarantee: KmAnonymity, hierarchy: Any) -> LocalKmAnonymity:
    """The guarantee with the tree that the published tokens are nodes of: a file, or a Hierarchy."""
    if not isinstance(hierarchy, Hierarchy):
        if isinstance(hierarchy, Mapping) or not os.path.exists(hierarchy):
            raise InputError(
                f"an audit of published items needs the hierarchy that they were published under, as a file; {hierarchy!r} is none"
            )
        hierarchy = read_hierarchy(hierarchy)
    return LocalKmAnonymity(guarantee.k, guarantee.m, hierarchy)


def _local_proposal(
    baskets: Baskets, guarantee: KmAnonymity, recoding: LocalRecoding, request: Mapping[str, Any], options: Options
) -> Proposal:
    tree, loss = recoding.hierarchy, local_ncp(recoding.hierarchy, recoding.node)
    published = recoding.apply(baskets, options.threads)
    items, nodes, times = recoding.counts(baskets)
    up = tree.depth[tree.leaves_of(baskets.vocabulary)[items]] - tree.depth[nodes]
    total = max(1, baskets.occurrences)
    local = {
        "ncp_of_cut": recoding.facts["ncp_of_cut"],
        "parts": recoding.facts["parts"],
        "items_at_several_levels": int(np.count_nonzero(np.bincount(items) > 1)),
    }
    return Proposal(
        guarantee=LocalKmAnonymity(guarantee.k, guarantee.m, tree),
        published=published,
        recoding=recoding,
        algorithm=recoding.algorithm,
        loss=loss,
        parameters={
            "segments": options.segments,
            "time_limit": options.time_limit,
            "unknown": request["unknown"],
        },
        details={
            **basket_details(baskets, published),
            "suppressed": {"share": 0.0, "occurrences": 0, "categories": 0},
            "deleted_shares": {},
            "local": local,
            # An item that stands at several levels counts at each of them.
            "levels": [
                {"levels_up": n, "items": int(np.count_nonzero(up == n)), "occurrences": int(times[up == n].sum())}
                | {"share": int(times[up == n].sum()) / total}
                for n in np.unique(up).tolist()
            ],
            "hierarchy": {"source": tree.source, "leaves": tree.n_leaves, "height": tree.height},
        },
        certified=lambda: certified_facts(
            tree, published.vocabulary, published.supports(), guarantee.k, unknown=request["unknown"], local=True
        ),
        warnings=(
            *made_from_data(tree),
            "Recoding is local: the same item can stand as itself in one row and as a category in another. How often a token stands is "
            "how often it was published, not how often it occurs: rows with a category above it may hold it too.",
        ),
        notes=basket_notes(baskets, empty_stay=True)
        + recoding.notes
        + (f"one cut for all rows would lose {local['ncp_of_cut']:.2%}",),
        rules=lambda written: _local_rules(recoding, baskets, written),
        rules_note="names every original item, rare ones too",
    )


def _local_rules(recoding: LocalRecoding, baskets: Baskets, written: Callable[[str], str]) -> Iterator[tuple[str, ...]]:
    yield "item", "published", "rows"
    for item, token, rows in recoding.rules(baskets):
        yield item, written(token), str(rows)


def resolve_hierarchy(
    spec: Hierarchy | str | os.PathLike[str],
    baskets: Baskets,
    *,
    unknown: str | None = None,
    promise: KmAnonymity | None = None,
    options: Options | None = None,
) -> Hierarchy:
    """The hierarchy that `spec` stands for, with a leaf for every item of the baskets. `learned:N` is learned for the promise."""
    items = Values.of_items(baskets)
    if not items.names and not isinstance(spec, Hierarchy) and not os.path.exists(spec):
        # Empty transactions only: a tree over one name that never occurs serves them all.
        items = Values(("*",), np.zeros(1, np.int64))
    return resolve(spec, items, unknown=unknown, learn=learner(baskets, promise, options))


def cut_details(recoding: Recoding, baskets: Baskets, loss: Mapping[str, float]) -> dict[str, Any]:
    """What became of the items of the data: how much was dropped, and how far the others went."""
    levels = levels_of(recoding, baskets)
    total = max(1, sum(level.occurrences for level in levels))
    return {
        "suppressed": {
            "share": loss["deleted"],
            "occurrences": round(loss["deleted"] * total),
            "categories": len(recoding.cut.dropped),
        },
        "levels": [
            {"levels_up": level.up, "items": level.items, "occurrences": level.occurrences}
            | {"share": level.occurrences / total}
            for level in levels
        ],
    }


def levels_of(recoding: Recoding, baskets: Baskets) -> tuple[Level, ...]:
    """How far the items of the data went, the least first, dropped ones last."""
    tree, supports = recoding.cut.hierarchy, baskets.supports()
    kept = recoding.node >= 0
    up = tree.depth[tree.leaves_of(recoding.vocabulary)] - tree.depth[recoding.node]
    found = [
        Level(n, int(np.count_nonzero(at := kept & (up == n))), int(supports[at].sum()))
        for n in np.unique(up[kept]).tolist()
    ]
    if not kept.all():
        found.append(Level(None, int(np.count_nonzero(~kept)), int(supports[~kept].sum())))
    return tuple(found)


def _rules(recoding: Recoding, written: Callable[[str], str]) -> Iterator[tuple[str, ...]]:
    yield "item", "published"
    for item, token in recoding.rules():
        yield item, written(token)


def made_from_data(tree: Hierarchy) -> Iterator[str]:
    """What a tree that was built from the data tells about them; also one that was written down, and edited, since."""
    inner = tree.labels[tree.n_leaves :]
    if tree.source.startswith("learned:") or any(label.startswith("learned[") for label in inner):
        yield (
            "The hierarchy was learned from the data: that items share a token such as learned[6:10] tells that they are about equally "
            "frequent, or rare together with the same others. The promise is about itemsets in rows, not about the tree."
        )
    if tree.source.startswith("frequency:") or any(label.startswith("rank[") for label in inner):
        yield (
            "The hierarchy was built from how frequent items are in the data: "
            "a published token such as rank[6:10] tells the ranks of the items it stands for."
        )


def certified_facts(
    tree: Hierarchy,
    tokens: Sequence[str],
    occurrences: npt.NDArray[np.int64],
    k: int,
    *,
    deleted: float | None = None,
    unknown: str | None = None,
    local: bool = False,
) -> dict[str, Any]:
    """What a certificate says of published tokens and how often each stands there; `deleted` where occurrences may have been dropped.

    The loss is that of the published occurrences: with the tree, it can be counted in the file. Over the original ones it would tell in how
    many rows a token stands for two items.
    """
    node_called = {name: v for v, name in enumerate(tree.names)}
    leaves = tree.leaf_count[np.array([node_called[token] for token in tokens], np.int64)]
    total = int(occurrences.sum())
    untold = untold_leaves(tree, unknown=unknown, whole=deleted is None and not local)
    loss = {"ncp": Figure(published_ncp(occurrences, leaves, tree.n_leaves), untold)}
    return {
        **disclose(k, loss=loss if deleted is None else loss | {"deleted": Figure(deleted, total)}),
        "changes": {
            "tokens": int(np.count_nonzero(occurrences)),
            "exact": round(int(occurrences[leaves == 1].sum()) / max(1, total), DIGITS),
        },
        "hierarchy": hierarchy_facts(tree),
    }


def warnings_of(recoding: Recoding, suppress: float) -> Iterator[str]:
    """For readers of the certificate: what was asked for, and never how much of it came about."""
    yield from made_from_data(recoding.cut.hierarchy)
    if suppress:
        how = (
            "one by one, so that counts are too low, and" if recoding.algorithm == "hybrid" else "by whole categories:"
        )
        yield (
            f"Up to {suppress:.2%} of all item occurrences may have been dropped, {how} an item that is not in a row may have been. "
            "Nothing was added that was not there."
        )
    if recoding.optimal is False:
        yield "The time limit ended the search: a release that loses less may exist."
