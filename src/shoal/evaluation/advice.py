"""What to tell an owner whose release ended at the root: which categories force it there, and what dropping a little would give.

The paper's model has no way around a rare top-level category: a single one takes all detail from all items. The sentences
name rare categories, so they are for the owner alone.
"""

from __future__ import annotations

from dataclasses import replace

from shoal.algorithms import algorithm
from shoal.algorithms.km.problem import RareCategories, rare_categories
from shoal.algorithms.recoding import Options, Recoding
from shoal.errors import VALUES, Message, option
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.tree import Hierarchy
from shoal.price.levels import price_for
from shoal.price.ncp import leaf_occurrences
from shoal.records.baskets import Baskets

SHARES = (0.02, 0.05, 0.1)
SECONDS = 10.0
WORTH_A_LOOK = 0.05
"""A loss above this is worth trying something else."""


def ends_at_root(recoding: Recoding) -> bool:
    """Whether nothing but the root is published, of a tree that has more to offer."""
    tree = recoding.cut.hierarchy
    return tree.n_leaves > 1 and recoding.cut.nodes.tolist() == [tree.root]


def root_advice(baskets: Baskets, guarantee: KmAnonymity, hierarchy: Hierarchy, options: Options) -> tuple[str, ...]:
    """Why every cut below the root breaks the promise, and what to do about it; nothing if the root is not forced."""
    rare = rare_categories(baskets, guarantee, hierarchy)
    if not rare:
        return ()
    crowd = "transactions" if baskets.people is None else "people"
    return (
        Message(
            f"the root is all that {guarantee} leaves, because of {len(rare):,} top-level categories, or pairs of them, in fewer than "
            f"{guarantee.k} {crowd}{VALUES}",
            describe(rare),
        ),
        _way_out(baskets, guarantee, hierarchy, options),
    )


def hybrid_advice(loss: float) -> tuple[str, ...]:
    """What else there is, where generalizing alone loses a lot. Nobody asked for it, so it is not tried."""
    if loss <= WORTH_A_LOOK:
        return ()
    most = f"5% at most unless {option('suppress')} says otherwise"
    return (
        Message(f"{option('algorithm', 'hybrid')}, which also deletes single occurrences ({most}), may lose far less"),
    )


def loss_of(recoding: Recoding, baskets: Baskets, options: Options) -> float:
    """What a cut with its deletions loses, by the price that the options name."""
    tree = recoding.cut.hierarchy
    occurrences = leaf_occurrences(tree, baskets)
    price = price_for(options.price, tree, occurrences)
    cost = price.of_cut(recoding.cut.node, occurrences, recoding.deletions_by_leaf(baskets))
    return price.share(cost, baskets.occurrences)


def describe(rare: list[RareCategories]) -> list[str]:
    """Each with the number of transactions that hold it, or of people who have one."""
    return [f"{' with '.join(c.names)}: {c.support:,}" for c in rare]


def _way_out(baskets: Baskets, guarantee: KmAnonymity, hierarchy: Hierarchy, options: Options) -> str:
    """The smallest share of dropped occurrences, of two tried, that leads below the root."""
    exact = algorithm(guarantee.model, "exact")
    occurrences = leaf_occurrences(hierarchy, baskets)
    seconds = min(SECONDS, options.time_limit or SECONDS)
    tried = [share for share in SHARES if share > options.suppress][:2]
    for share in tried:
        options.tell(f"looking at what dropping {share:.0%} would give", 0.0)
        recoding = exact(
            baskets, guarantee, hierarchy, replace(options, suppress=share, time_limit=seconds, progress=None)
        )
        if not ends_at_root(recoding):
            dropped = int(occurrences[recoding.cut.node < 0].sum()) / max(1, baskets.occurrences)
            at_most = "" if recoding.optimal else "at most "
            lost = f"{at_most}{loss_of(recoding, baskets, options):.1%} ({dropped:.1%} dropped)"
            return Message(f"{option('suppress', f'{share:g}')} would lose {lost}")
    without = f" (not even {option('suppress', f'{tried[-1]:g}')} is enough)" if tried else ""
    return Message(f"merge these categories with others in the hierarchy, or choose a smaller k or m{without}")
