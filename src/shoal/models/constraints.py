"""Anonymity under constraints: sets of items in place of items, and deletions, as a policy allows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from shoal.algorithms import algorithm, entry
from shoal.algorithms.constraints.joined_tokens import notes_of
from shoal.algorithms.recoding import LocalRecoding, Options
from shoal.certificate.disclosure import Figure, disclose
from shoal.certificate.owner import hmac_of, owner_key
from shoal.errors import InputError, option
from shoal.guarantees.constraints.policy import Policy
from shoal.guarantees.constraints.promise import ConstraintAnonymity
from shoal.hierarchy.tree import Hierarchy
from shoal.loss.common_pairs import pairs_kept
from shoal.loss.fates import Coverage, row_fates
from shoal.loss.readers_view import exact_pairs, exact_share, most_information_lost, published_nodes
from shoal.loss.worth import Names, items_worth, worth_notes
from shoal.models import Proposal, Roles, basket_details, basket_notes, basket_source
from shoal.price.information import weighted_median
from shoal.price.ncp import local_ncp
from shoal.price.ul import ul
from shoal.records.baskets import Baskets
from shoal.records.source import Source

SUPPRESS = 0.1
"""The share of occurrences that may be left out when nobody says otherwise."""


def read(
    data: Any, guarantee: ConstraintAnonymity, roles: Roles, reading: Mapping[str, Any]
) -> tuple[Source, ConstraintAnonymity]:
    roles.refuse(guarantee.model, "sensitive", "quasi", "keep")
    return basket_source(data, reading), guarantee


def proposal(source: Source, guarantee: ConstraintAnonymity, request: Mapping[str, Any], options: Options) -> Proposal:
    """Put items together, and leave some out, until the promise holds. `request` has `algorithm` and `suppress`."""
    for name in ("hierarchy", "unknown"):
        if request.get(name) is not None:
            raise InputError(
                f"{option(name)} has no use with {option('model', guarantee.model)}, which goes by the groups of its policy; leave it out"
            )
    baskets = source.baskets
    if request["suppress"] is None:
        options = replace(options, suppress=SUPPRESS)
    name, _ = entry(guarantee.model, request["algorithm"])
    recoding: LocalRecoding = algorithm(guarantee.model, name)(baskets, guarantee, None, options)
    options.tell("recoding", 0.0)
    tree, published = recoding.hierarchy, recoding.apply(baskets, options.threads)
    coverage = Coverage.of_tree(tree, baskets, published)
    names = Names(baskets.vocabulary, published.vocabulary, coverage.breadth)
    worth = items_worth(row_fates(baskets, published, coverage), pairs_kept(baskets, published), names)
    loss = {**worth.lost, **local_ncp(tree, recoding.node), **ul(published, coverage.breadth)}
    joined = coverage.breadth[coverage.breadth > 1]
    return Proposal(
        guarantee=guarantee,
        published=published,
        recoding=recoding,
        algorithm=name,
        loss=loss,
        kept=worth.kept,
        remains=worth.remains,
        parameters={"suppress": options.suppress},
        details={
            **basket_details(baskets, published),
            "suppressed": {"share": loss["deleted"], "occurrences": recoding.deleted},
            "deleted_shares": recoding.deleted_shares(baskets),
            "sets": {"count": len(joined), "items": int(joined.sum()), "largest": int(joined.max(initial=0))},
            "facts": dict(recoding.facts),
        },
        certified=partial(certified_facts, tree, published, guarantee, loss["deleted"] if options.suppress else None),
        warnings=tuple(_warnings(name, options.suppress)),
        notes=basket_notes(baskets, empty_stay=True)
        + notes_of(guarantee.policy, baskets)
        + recoding.notes
        + worth_notes(loss, worth.kept),
        rules=partial(recoding.rule_lines, baskets),
        rules_note="names every original item, rare ones too",
    )


def _warnings(name: str, suppress: float) -> Iterator[str]:
    yield (
        "A published set such as (A,B) stands for at least one of the items that it names. Each of these is in the original, a rare one "
        "perhaps, and how often is not said."
    )
    if suppress:
        how = "one by one" if name == "weigh" else "by whole items"
        yield (
            f"Up to {suppress:.2%} of all item occurrences may have been left out, {how}: an item that is not in a row may have been. "
            "Nothing was added that was not there."
        )


def certified_facts(
    tree: Hierarchy, published: Baskets, guarantee: ConstraintAnonymity, deleted: float | None
) -> dict[str, Any]:
    """What a certificate says of published rows: what they tell by themselves, what was deleted, and of the policy a keyed hash.

    How many items the original has is no business of readers: some may have vanished. So there is no NCP, whose unit they would be.
    """
    nodes, occurrences = published_nodes(tree, published.vocabulary), published.supports()
    is_item, leaves = nodes < tree.n_leaves, tree.leaf_count[nodes]
    pairs = exact_pairs(published, is_item)
    kept = {"exact": exact_share(occurrences, is_item)} | ({} if pairs is None else {"pairs": pairs})
    loss = {"info": Figure(most_information_lost(tree, nodes, occurrences))}
    if deleted is not None:
        loss["deleted"] = Figure(deleted, int(occurrences.sum()))
    disclosed = disclose(int(guarantee.k), kept={name: Figure(share) for name, share in kept.items()}, loss=loss)
    disclosed["kept"]["items"] = {"width": weighted_median(leaves, occurrences)}
    return {**disclosed, "changes": {"tokens": int(np.count_nonzero(occurrences))}, **policy_facts(guarantee.policy)}


def policy_facts(policy: Policy) -> dict[str, Any]:
    """A policy may have been made from the data, and a plain hash would let anyone test a guess of it."""
    key = owner_key()
    return {"policy": {"hmac_sha256": hmac_of(policy.fingerprint(), key)}} if key else {}
