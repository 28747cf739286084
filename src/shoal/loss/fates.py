"""What became of each item and cell, counted from original and published rows that correspond: the `Fates` of `shoal.price.information`.

An occurrence is published as the most specific token of its row that covers it, whoever made the release: a row may hold a category
and something below it. Tokens are ordered by how much they cover, and each item knows the tokens that cover it; every pair of the two is
one counter, so that counting takes one look at each row, and memory for the pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.hierarchy.meanings import TokenMeanings, number_in
from shoal.hierarchy.tree import Hierarchy
from shoal.kernels.measures.row_fates import count_fates
from shoal.numbers import Bools, Ints
from shoal.price.edits import check_correspond
from shoal.price.information import Fates
from shoal.records.baskets import Baskets

if TYPE_CHECKING:
    from shoal.records.buckets import Buckets
    from shoal.records.records import Column


@dataclass(frozen=True, eq=False)
class Coverage:
    """Which tokens cover which items, as pairs of the two, each pair once."""

    item: Ints
    token: Ints
    breadth: Ints
    """Per token, how much it covers: of two tokens, the one that covers less is the more specific."""
    as_it_is: Bools
    """Per pair, whether the token is the item itself."""
    n_items: int

    @classmethod
    def of_meanings(cls, meanings: TokenMeanings) -> Coverage:
        member = meanings.members.astype(np.int64)
        itself = meanings.breadth[meanings.owner] <= 1
        return cls(member, meanings.owner, meanings.breadth, itself, len(meanings.domain))

    @classmethod
    def of_tree(cls, tree: Hierarchy, original: Baskets, published: Baskets) -> Coverage:
        """For published tokens that are nodes of the tree."""
        called = {name: v for v, name in enumerate(tree.names)}
        node_of = np.array([called[name] for name in published.vocabulary], np.int64)
        token_of = np.full(tree.n_nodes, -1, np.int64)
        token_of[node_of] = np.arange(len(node_of))
        leaf = tree.leaves_of(original.vocabulary).astype(np.int64)
        item, node = np.arange(len(leaf)), leaf
        items, tokens = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        while len(item):
            there = token_of[node] >= 0
            items.append(item[there])
            tokens.append(token_of[node[there]])
            below = node != tree.root
            item, node = item[below], tree.parent[node[below]].astype(np.int64)
        item, token = np.concatenate(items), np.concatenate(tokens)
        breadth = tree.leaf_count[node_of].astype(np.int64)
        # A node above one leaf alone says what the leaf says, but is not called like it.
        return cls(item, token, breadth, node_of[token] == leaf[item], len(leaf))


def row_fates(original: Baskets, published: Baskets, coverage: Coverage) -> Fates:
    """What became of the items, row by row; items and tokens are numbered as in the two vocabularies."""
    check_correspond(len(original), len(published))
    narrow = np.argsort(coverage.breadth, kind="stable")
    rank = np.empty(len(narrow), np.int64)
    rank[narrow] = np.arange(len(narrow))
    order = np.lexsort((rank[coverage.token], coverage.item))
    item, token = coverage.item[order], coverage.token[order]
    starts = np.concatenate(([0], np.cumsum(np.bincount(item, minlength=coverage.n_items)))).astype(np.int64)
    tokens = rank[published.items].astype(np.int32)
    times, deleted = count_fates(
        original.offsets, original.items, published.offsets, tokens, starts, rank[token].astype(np.int32)
    )
    return Fates(
        np.concatenate((item, np.arange(coverage.n_items))),
        np.concatenate((token, np.full(coverage.n_items, -1))),
        np.concatenate((times, deleted)),
        np.concatenate((coverage.as_it_is[order], np.zeros(coverage.n_items, np.bool_))),
    )


def item_fates(node: npt.NDArray[np.integer], own: npt.NDArray[np.integer], times: Ints, deleted: Ints) -> Fates:
    """Where item i is published as token `node[i]` wherever it is (-1: nowhere), but for `deleted[i]` of its `times[i]` occurrences.

    `own[i]` is the token that is the item itself.
    """
    n, gone = len(node), np.where(node < 0, times, deleted)
    item = np.tile(np.arange(n), 2)
    token = np.concatenate((np.asarray(node, np.int64), np.full(n, -1)))
    return Fates(
        item, token, np.concatenate((times - gone, gone)), np.concatenate((node == own, np.zeros(n, np.bool_)))
    )


def column_fates(original: Column, published: Column, tree: Hierarchy | None = None) -> Fates:
    """What became of the values of a column, row by row. A number is as it was however it is spelled, unless its tree rounds it."""
    check_correspond(len(original.codes), len(published.codes))
    width = max(1, len(published.values))
    pairs, times = np.unique(original.codes.astype(np.int64) * width + published.codes, return_counts=True)
    value, cell = np.divmod(pairs, width)
    place = {text: i for i, text in enumerate(published.values)}
    same = np.array([place.get(text, -1) for text in original.values], np.int64)[value] == cell
    if original.numbers is not None:
        numbers = [number_in(text) for text in published.values]
        same |= np.array([np.nan if n is None else n for n in numbers])[cell] == original.numbers[value]
    if tree is not None and tree.floor is not None:
        same &= ~np.isin(original.values, list(tree.coarsened))[value]
    if original.numbers is not None:
        value = np.unique(original.numbers, return_inverse=True)[1].reshape(-1)[value]
    return Fates(value, cell, times.astype(np.int64), same)


def dealt_fates(buckets: Buckets) -> Fates:
    """A bucket is to a sensitive value what a category is to an item."""
    bucket = np.repeat(np.arange(len(buckets), dtype=np.int64), np.diff(buckets.offsets))
    return Fates(buckets.values.astype(np.int64), bucket, buckets.counts, np.zeros(len(bucket), np.bool_))
