"""Prefix projection for searches: what stands behind the tokens of a block goes to the worker that counts the itemsets starting there.

Tokens are numbered rarest first, and an itemset is counted at its first token. A row is sent once to every block of which it holds
a token, from that token on; the rows of a block together are all that its itemsets can be found in. The blocks are of about
equal work, as far as supports tell (a token's rows, times what can be expected behind it), and small enough for a worker. What is
found does not depend on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.kernels.itemsets.prefixes import laid_out, moved_together
from shoal.kernels.parallel import even_blocks
from shoal.numbers import Codes, Ints
from shoal.records.baskets import Baskets
from shoal.spark.data.executors import fetch, map_groups, map_rows
from shoal.spark.data.packing import PACKED, frozen, pack_by_key, pieces, row_of, together
from shoal.spark.data.sets import SparkSets

VOLUME = 16_000_000
"""Tokens that a block sends to its worker, about."""
MOST_BLOCKS = 4096

Work = tuple[Callable[..., Any], dict[str, Any]]
"""A function that runs on workers, and what travels with it."""


@dataclass(frozen=True)
class Blocks:
    """Ranges of first tokens."""

    bounds: tuple[tuple[int, int], ...]
    n_tokens: int

    def of_token(self) -> Codes:
        """The block of each token; -1 where no itemset is to be counted from it."""
        block = np.full(self.n_tokens, -1, np.int32)
        for i, (first, last) in enumerate(self.bounds):
            block[first:last] = i
        return block


def blocks_of(support: Ints, sets: SparkSets, first: int = 0) -> Blocks:
    """Blocks of the tokens from `first` on, from the rows that hold each token."""
    behind = (np.cumsum(support[::-1])[::-1] - support) / max(1, len(sets))
    work = (support * (behind + 1.0))[first:] + 1.0
    parts = max(2 * sets.parallel, int(work.sum() // VOLUME) + 1)
    bounds = even_blocks(work, min(parts, MOST_BLOCKS))
    return Blocks(tuple((a + first, b + first) for a, b in bounds), len(support))


def search_blocks(sets: SparkSets, blocks: Blocks, recode: Work, count: Work, schema: str) -> list[dict[str, Any]]:
    """What `count(rows, first, last, **state)` returns for every block, in the order of blocks; keys and types are in `schema`.

    `recode(baskets, **state)` gives the rows as (offsets, tokens), tokens ascending and once in each row.
    """
    tails = map_rows(sets.rows, _tails, f"key int, {PACKED}", recode=recode, block_of=blocks.of_token())
    table = fetch(map_groups(tails, "key", _count_block, f"block int, {schema}", count=count, blocks=blocks))
    order = np.argsort(table["block"].to_numpy(), kind="stable")
    return [{name: table[name][int(i)].values for name in table.column_names if name != "block"} for i in order]


def recode_items(baskets: Baskets, token: Codes, n_tokens: int) -> tuple[Ints, Codes]:
    """On a worker: the rows under a recoding `token[item]` (negative: dropped)."""
    rows = laid_out(baskets.offsets, baskets.items, token, n_tokens, threads=1)
    moved: tuple[Ints, Codes] = moved_together(rows)
    return moved


def _tails(batches: Iterator[pa.RecordBatch], recode: Work, block_of: Codes) -> Iterator[pa.RecordBatch]:
    """On a worker: every row once for each block of which it holds a token, from the first such token on."""
    function, state = recode
    for rows, baskets in pieces(batches):
        offsets, tokens = function(baskets, **state)
        block, row = block_of[tokens], row_of(offsets)
        begins = block >= 0
        begins[1:] &= (block[1:] != block[:-1]) | (row[1:] != row[:-1])
        start = np.flatnonzero(begins)
        yield from pack_by_key(block[start], rows[row[start]], start, offsets[row[start] + 1] - start, tokens)


def _count_block(table: pa.Table, count: Work, blocks: Blocks) -> pa.Table:
    """On a worker: the rows of one block, in their order, laid out and counted."""
    function, state = count
    block, n_tokens = table["key"][0].as_py(), blocks.n_tokens
    _, offsets, tails = together(table)
    rows = laid_out(frozen(offsets), frozen(tails), np.arange(n_tokens, dtype=np.int32), n_tokens, threads=1)
    answer = function(rows, *blocks.bounds[block], **state)
    return pa.table(
        {"block": pa.array([block], pa.int32())} | {name: pa.array([values]) for name, values in answer.items()}
    )
