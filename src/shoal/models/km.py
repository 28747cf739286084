"""k^m-anonymity: a cut through a hierarchy, and with `hybrid` single deletions, lose NCP; with `lra` rows differ in their cuts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Unpack

import numpy as np

from shoal.algorithms import algorithm, entry
from shoal.algorithms.km.learning import learner
from shoal.algorithms.recoding import LocalRecoding, Options, Recoding, local_deleted_shares
from shoal.certificate.disclosure import Figure, disclose, untold_leaves
from shoal.certificate.facts import hierarchy_facts
from shoal.errors import InputError, option
from shoal.evaluation.advice import ends_at_root, hybrid_advice, loss_of, root_advice
from shoal.guarantees.km import KmAnonymity
from shoal.guarantees.km_local import LocalKmAnonymity
from shoal.hierarchy.files import read_hierarchy
from shoal.hierarchy.spec import Values, resolve
from shoal.hierarchy.tree import Hierarchy
from shoal.loss.common_pairs import pairs_kept
from shoal.loss.fates import Coverage, item_fates, row_fates
from shoal.loss.readers_view import exact_pairs, exact_share, most_information_lost, published_nodes
from shoal.loss.worth import Names, Worth, items_worth, worth_notes
from shoal.models import Proposal, Roles, basket_details, basket_notes, basket_source
from shoal.models.empty_words import IdleTree, idle_tree_of_items
from shoal.numbers import Ints, whole_number
from shoal.options import check_keywords
from shoal.price.information import weighted_median
from shoal.price.ncp import leaf_occurrences, local_ncp, ncp, published_ncp
from shoal.records.baskets import Baskets
from shoal.records.source import SetReading, Source
from shoal.records.source import read as read_sets
from shoal.records.stores.remote import is_elsewhere

HIERARCHY = "frequency:5"
SUPPRESS = {"hybrid": 0.05, "local": 0.1}
"""The share of occurrences that an algorithm may take away when nobody says otherwise; 0 for the others."""
SUPPRESS_IN_TABLES = {"local": 0.05, "hybrid": 0.05}
"""The same inside the classes of a table, by transaction function. It stands here because who knows it need not load what makes tables."""

DELETED = (
    "What deletion does to counts: as many rows as hold an item or a set now, or more, held it before. Rare ones lost the most, common "
    "ones little. How to correct a count, a pair or a rule for it, and how sure one can be, is in docs/guide/estimating.md."
)
"""For readers of a certificate, wherever single occurrences or categories may have been left out."""


PRICE = {"oa": "ncp", "da": "ncp", "aa": "ncp", "vpa": "ncp"}
"""What the algorithms of the 2008 paper make cheap when nobody says otherwise; the others go by information."""


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
    return proposal_of(source.baskets, guarantee, request, options)


def proposal_of(baskets: Baskets, guarantee: KmAnonymity, request: Mapping[str, Any], options: Options) -> Proposal:
    """Generalize until the promise holds. `request` has `hierarchy`, `unknown` and `algorithm`."""
    limited = request.get("memory_limit") is not None  # only exact keeps to a limit
    name, _ = entry(guarantee.model, request["algorithm"] or ("exact" if limited else None))
    options = with_defaults(name, request, options)
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
    return cut_proposal(baskets, guarantee, recoding, request, options)


def cut_proposal(
    baskets: Baskets,
    guarantee: KmAnonymity,
    recoding: Recoding,
    request: Mapping[str, Any],
    options: Options,
    *,
    snapshot: Baskets | None = None,
) -> Proposal:
    """What is published of the baskets under a cut, and its deletions, and what there is to say about it.

    A `snapshot` is published as it is: it may lack rows, of which everything has to be deleted, and hold what was published before.
    """
    tree = recoding.cut.hierarchy
    loss = ncp(recoding.cut, leaf_occurrences(tree, baskets), recoding.deletions_by_leaf(baskets))
    changes = cut_details(recoding, baskets, loss)
    published = recoding.apply(baskets, options.threads) if snapshot is None else snapshot
    worth = cut_worth(recoding, baskets, pairs_kept(baskets, published))
    loss = {**worth.lost, **loss}
    return Proposal(
        guarantee=guarantee,
        published=published,
        recoding=recoding,
        algorithm=recoding.algorithm,
        loss=loss,
        kept=worth.kept,
        remains=worth.remains,
        parameters={
            "price": options.price,
            "suppress": options.suppress,
            "time_limit": options.time_limit,
            "unknown": request["unknown"],
        },
        optimal=recoding.optimal,
        hurried=recoding.hurried,
        bound=recoding.bound,
        details={
            **basket_details(baskets, published),
            "suppressed": changes["suppressed"],
            "deleted_shares": recoding.deleted_shares(baskets),
            "levels": changes["levels"],
            "hierarchy": {"source": tree.source, "leaves": tree.n_leaves, "height": tree.height},
        },
        certified=partial(
            certified_rows,
            tree,
            published,
            guarantee.k,
            deleted=loss["deleted"] if options.suppress else None,
            unknown=request["unknown"],
        ),
        warnings=tuple(warnings_of(recoding, options.suppress, earlier=snapshot is not None)),
        notes=basket_notes(baskets, empty_stay=snapshot is None) + recoding.notes + worth_notes(loss, worth.kept),
        idle_trees=_idle_tree(recoding, baskets),
        advice=partial(_advice, baskets, guarantee, recoding, options),
        rules=partial(_rules, recoding),
        rules_note="names every original item, rare ones too",
    )


def with_defaults(
    name: str, request: Mapping[str, Any], options: Options, suppress: Mapping[str, float] = SUPPRESS
) -> Options:
    """The options with what this algorithm takes where the request says nothing."""
    if request["suppress"] is None:
        options = replace(options, suppress=suppress.get(name, 0.0))
    if request["price"] is None:
        options = replace(options, price=PRICE.get(name, options.price))
    return options


def _advice(baskets: Baskets, guarantee: KmAnonymity, recoding: Recoding, options: Options) -> tuple[str, ...]:
    tree = recoding.cut.hierarchy
    at_root = root_advice(baskets, guarantee, tree, options) if ends_at_root(recoding) else ()
    if recoding.algorithm != "exact":
        return at_root
    return at_root + hybrid_advice(loss_of(recoding, baskets, options))


def _idle_tree(recoding: Recoding, baskets: Baskets) -> tuple[IdleTree, ...]:
    """The tree, if the cut leaves most items at its root or without a node."""
    tree, supports = recoding.cut.hierarchy, baskets.supports()
    deleted = recoding.deletions_by_leaf(baskets)[tree.leaves_of(recoding.vocabulary)]
    return idle_tree_of_items(tree, np.append(recoding.node, -1), np.append(supports - deleted, deleted.sum()))


def with_knowledge(guarantee: KmAnonymity, hierarchy: Any) -> LocalKmAnonymity:
    """The guarantee with the tree that the published tokens are nodes of: a file, or a Hierarchy."""
    if not isinstance(hierarchy, Hierarchy):
        if isinstance(hierarchy, Mapping) or not (is_elsewhere(hierarchy) or os.path.exists(hierarchy)):
            raise InputError(
                f"an audit of published items needs the hierarchy that they were published under, as a file; {hierarchy!r} is none"
            )
        hierarchy = read_hierarchy(hierarchy)
    return LocalKmAnonymity(guarantee.k, guarantee.m, hierarchy, of_people=guarantee.of_people)


def _local_proposal(
    baskets: Baskets, guarantee: KmAnonymity, recoding: LocalRecoding, request: Mapping[str, Any], options: Options
) -> Proposal:
    tree, published = recoding.hierarchy, recoding.apply(baskets, options.threads)
    coverage = Coverage.of_tree(tree, baskets, published)
    names = Names(baskets.vocabulary, published.vocabulary, coverage.breadth)
    worth = items_worth(row_fates(baskets, published, coverage), pairs_kept(baskets, published), names)
    counts = recoding.counts(baskets)
    loss = {**worth.lost, **local_ncp(tree, *counts[1:])}
    local = {name: recoding.facts[name] for name in ("loss_of_cut", "parts", "passes") if name in recoding.facts}
    may_delete = options.suppress > 0 and recoding.algorithm == "local"
    return Proposal(
        guarantee=LocalKmAnonymity(guarantee.k, guarantee.m, tree, of_people=guarantee.of_people),
        published=published,
        recoding=recoding,
        algorithm=recoding.algorithm,
        loss=loss,
        kept=worth.kept,
        remains=worth.remains,
        parameters=local_parameters(recoding.algorithm, request, options),
        details={**basket_details(baskets, published), **local_details(tree, baskets.vocabulary, counts, local)},
        certified=partial(
            certified_rows,
            tree,
            published,
            guarantee.k,
            deleted=loss["deleted"] if may_delete else None,
            unknown=request["unknown"],
            local=True,
        ),
        warnings=local_warnings(tree, options.suppress if may_delete else 0.0),
        notes=basket_notes(baskets, empty_stay=True)
        + recoding.notes
        + worth_notes(loss, worth.kept)
        + ((f"one cut for all rows would lose {local['loss_of_cut']:.2%}",) if "loss_of_cut" in local else ()),
        idle_trees=idle_tree_of_items(tree, *counts[1:]),
        rules=partial(recoding.rule_lines, baskets),
        rules_note="names every original item, rare ones too",
    )


Counts = tuple[Ints, Ints, Ints]
"""(items, nodes, occurrences): how often each item is published as each node, -1 for nothing."""


def local_details(
    tree: Hierarchy, vocabulary: Sequence[str], counts: Counts, facts: Mapping[str, Any]
) -> dict[str, Any]:
    """For the owner: what became of the items, which may stand at several levels."""
    items, nodes, times = counts
    stands = nodes >= 0
    up = np.where(stands, tree.depth[tree.leaves_of(vocabulary)[items]] - tree.depth[nodes], -1)
    total, deleted = max(1, int(times.sum())), int(times[~stands].sum())
    return {
        "suppressed": {"share": deleted / total, "occurrences": deleted, "categories": 0},
        "deleted_shares": local_deleted_shares(tree, vocabulary, counts),
        "local": {**facts, "items_at_several_levels": int(np.count_nonzero(np.bincount(items[stands]) > 1))},
        # An item that stands at several levels counts at each of them.
        "levels": [
            {"levels_up": n, "items": int(np.count_nonzero(up == n)), "occurrences": int(times[up == n].sum())}
            | {"share": int(times[up == n].sum()) / total}
            for n in np.unique(up[stands]).tolist()
        ],
        "hierarchy": {"source": tree.source, "leaves": tree.n_leaves, "height": tree.height},
    }


def local_parameters(algorithm: str, request: Mapping[str, Any], options: Options) -> dict[str, Any]:
    """What a run that recodes locally was asked for."""
    own = {"suppress": options.suppress} if algorithm == "local" else {"segments": options.segments}
    return {"price": options.price, **own, "time_limit": options.time_limit, "unknown": request["unknown"]}


def local_warnings(tree: Hierarchy, suppress: float) -> tuple[str, ...]:
    """For readers of the certificate; `suppress` is 0 where nothing may be deleted."""
    return (
        *made_from_data(tree),
        "Recoding is local: the same item can stand as itself in one row and as a category in another. How often a token stands is "
        "how often it was published, not how often it occurs: rows with a category above it may hold it too.",
        *(deletion_warnings(suppress, ONE_BY_ONE) if suppress else ()),
    )


def resolve_hierarchy(
    spec: Hierarchy | str | os.PathLike[str],
    baskets: Baskets,
    *,
    unknown: str | None = None,
    promise: KmAnonymity | None = None,
    options: Options | None = None,
) -> Hierarchy:
    """The hierarchy that `spec` stands for, with a leaf for every item of the baskets. `learned:N` is learned for the promise.

    Args:
        spec: A file, `frequency:N`, `learned:N`, `balanced:N`, `prefix`, or a tree.
        baskets: Whose items it is for.
        promise: What `learned:N` is learned for.
        options: How it is learned.

    Raises:
        InputError: There is no such file or form, or the tree lacks items.

    >>> import shoal
    >>> shoal.resolve_hierarchy("prefix", shoal.read([["250.0", "250.1"], ["401.9"]])).labels
    ('250.0', '250.1', '401.9', '250*', '*')
    """
    items = Values.of_items(baskets)
    if not items.names and not isinstance(spec, Hierarchy) and not (is_elsewhere(spec) or os.path.exists(spec)):
        # Empty transactions only: a tree over one name that never occurs serves them all.
        items = Values(("*",), np.zeros(1, np.int64))
    return resolve(spec, items, unknown=unknown, learn=learner(baskets, promise, options))


def build_hierarchy(
    data: Any, spec: Any = HIERARCHY, *, unknown: str | None = None, **reading: Unpack[SetReading]
) -> Hierarchy:
    """The tree that a spec such as `balanced:5`, `frequency:5` or `prefix` makes over the items of `data`, to look at, edit and write.

    Args:
        data: The raw data, as for `shoal.read`.
        spec: The spec; a file, nested dicts or a frame are taken as well, and checked against the items.
        unknown: `root` hangs items under the root that a given tree lacks.
        **reading: How the data are read, as for `shoal.read`.

    Raises:
        InputError: The data are not usable, or the tree lacks an item.

    >>> import shoal
    >>> shoal.build_hierarchy([["milk", "bread"], ["gin"]], "balanced:2")
    Hierarchy(balanced:2: 3 leaves, 6 nodes, height 2)
    """
    check_keywords(reading, SetReading.__annotations__, "build_hierarchy")
    return resolve_hierarchy(spec, read_sets(data, **reading), unknown=unknown)


def learn_hierarchy(data: Any, guarantee: KmAnonymity, children: int = 5, **reading: Unpack[SetReading]) -> Hierarchy:
    """The tree that loses least for a promise, learned from the rows of `data`.

    Args:
        data: The raw data, as for `shoal.read`.
        guarantee: The promise it is learned for.
        children: The most children that a node gets.
        **reading: How the data are read, as for `shoal.read`.

    Raises:
        InputError: The data are not usable.

    >>> import shoal
    >>> rows = [["milk", "bread"]] * 5 + [["gin", "tonic"]] * 2
    >>> shoal.learn_hierarchy(rows, shoal.KmAnonymity(k=3, m=2), children=2).n_leaves
    4
    """
    check_keywords(reading, SetReading.__annotations__, "learn_hierarchy")
    whole_number("children", children, 2)
    return resolve_hierarchy(f"learned:{children}", read_sets(data, **reading), promise=guarantee)


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


def cut_worth(recoding: Recoding, baskets: Baskets, pairs: float | None) -> Worth:
    """What became of the items: all follows from how often each occurs, and how often it was deleted."""
    tree = recoding.cut.hierarchy
    leaf = tree.leaves_of(recoding.vocabulary)
    fates = item_fates(recoding.node, leaf, baskets.supports(), recoding.deletions_by_leaf(baskets)[leaf])
    return items_worth(fates, pairs, Names(recoding.vocabulary, tree.names, tree.leaf_count.astype(np.int64)))


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


def certified_rows(tree: Hierarchy, published: Baskets, k: int, **how: Any) -> dict[str, Any]:
    """What a certificate says of published rows."""
    return certified_facts(tree, published.vocabulary, published.supports(), k, rows=published, **how)


def certified_facts(
    tree: Hierarchy,
    tokens: Sequence[str],
    occurrences: Ints,
    k: int,
    *,
    rows: Baskets | None = None,
    deleted: float | None = None,
    unknown: str | None = None,
    local: bool = False,
) -> dict[str, Any]:
    """What a certificate says of published tokens and how often each stands there; `deleted` where occurrences may have been dropped.

    Losses, and what is kept, are those of the published occurrences, and pairs those of the published `rows`, where these are at hand: with
    the tree, all of it can be counted in the file (`shoal.loss.readers_view`). Over the original ones they would tell in how many rows a
    token stands for two items. Information needs the leaves of published tokens alone, which tokens such as rank[6:10] tell by themselves;
    where they are a secret, one more leaf could show, so that it is withheld.
    """
    nodes = published_nodes(tree, tokens)
    leaves, is_item = tree.leaf_count[nodes], nodes < tree.n_leaves
    untold = untold_leaves(tree, unknown=unknown, whole=deleted is None and not local)
    secret = None if untold_leaves(tree, unknown=unknown, whole=True) is None else 0
    loss = {
        "info": Figure(most_information_lost(tree, nodes, occurrences), secret),
        "ncp": Figure(published_ncp(occurrences, leaves, tree.n_leaves), untold),
    }
    pairs = None if rows is None else exact_pairs(rows, is_item)
    kept = {"exact": exact_share(occurrences, is_item)} | ({} if pairs is None else {"pairs": pairs})
    disclosed = disclose(
        k,
        kept={name: Figure(share) for name, share in kept.items()},
        loss=loss if deleted is None else loss | {"deleted": Figure(deleted, int(occurrences.sum()))},
    )
    if secret is None:
        disclosed["kept"]["items"] = {"width": weighted_median(leaves, occurrences)}
    return {**disclosed, "changes": {"tokens": int(np.count_nonzero(occurrences))}, "hierarchy": hierarchy_facts(tree)}


BY_CATEGORY = "by whole categories:"
ONE_BY_ONE = "one by one, so that counts are too low, and"


def deletion_warnings(suppress: float, how: str, *, earlier: bool = False) -> Iterator[str]:
    some = f"Up to {suppress:.2%} of all" if suppress < 1 else "Any number of"
    there = "was not there now or in an earlier release" if earlier else "was not there"
    yield (
        f"{some} item occurrences may have been dropped, {how} an item that is not in a row may have been. "
        f"Nothing was added that {there}."
    )
    yield DELETED


def warnings_of(recoding: Recoding, suppress: float, *, earlier: bool = False) -> Iterator[str]:
    """For readers of the certificate: what was asked for, and never how much of it came about."""
    yield from made_from_data(recoding.cut.hierarchy)
    if suppress:
        one_by_one = recoding.algorithm == "hybrid" or earlier
        yield from deletion_warnings(suppress, ONE_BY_ONE if one_by_one else BY_CATEGORY, earlier=earlier)
    if recoding.optimal is False:
        yield "The time limit ended the search: a release that loses less may exist."
