"""Prefix projection for searches: what stands behind the tokens of a block goes to the worker that counts the itemsets starting there.

Tokens are numbered rarest first, and an itemset is counted at its first token. A row is sent once to every block of which it holds
a token, from that token on; the rows of a block together are all that its itemsets can be found in. The blocks are of about
equal work, as far as supports tell (a token's rows, times what can be expected behind it), and small enough for a worker. What is
found does not depend on them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.engines.spark.packing import PACKED, packed_by, pieces, together
from shoal.engines.spark.ragged import Ints, Longs, frozen, row_of
from shoal.engines.spark.sets import SparkSets
from shoal.engines.spark.workers import collected, on_workers
from shoal.kernels.parallel import even_blocks

if TYPE_CHECKING:
    from shoal.kernels.itemsets.prefixes import Rows

VOLUME = 16_000_000
"""Tokens that a block sends to its worker, about."""
MOST_BLOCKS = 4096


@dataclass(frozen=True)
class Blocks:
    """Ranges of first tokens."""

    bounds: tuple[tuple[int, int], ...]
    n_tokens: int

    def of_token(self) -> Ints:
        """The block of each token; -1 where no itemset is to be counted from it."""
        block = np.full(self.n_tokens, -1, np.int32)
        for i, (first, last) in enumerate(self.bounds):
            block[first:last] = i
        return block


def blocks_of(support: npt.NDArray[np.int64], n_rows: int, parallel: int, first: int = 0) -> Blocks:
    """Blocks of the tokens from `first` on, from the rows that hold each token."""
    behind = (np.cumsum(support[::-1])[::-1] - support) / max(1, n_rows)
    work = (support * (behind + 1.0))[first:] + 1.0
    parts = max(2 * parallel, int(work.sum() // VOLUME) + 1)
    bounds = even_blocks(work, min(parts, MOST_BLOCKS))
    return Blocks(tuple((a + first, b + first) for a, b in bounds), len(support))


def parallelism(sets: SparkSets) -> int:
    """Tasks that the cluster runs at a time."""
    return max(1, int(sets.session.sparkContext.defaultParallelism))


def found_in_blocks(
    sets: SparkSets,
    blocks: Blocks,
    recoded: Callable[..., Any],
    recoding: dict[str, Any],
    counted: Callable[..., Any],
    state: dict[str, Any],
    schema: str,
) -> list[dict[str, Any]]:
    """What `counted(rows, first, last, **state)` returns for every block, in the order of blocks; keys and types are in `schema`.

    `recoded(baskets, **recoding)` gives the rows as (offsets, tokens), tokens ascending and once in each row.
    """
    tails = sets.rows.mapInArrow(
        on_workers(_tails, recoded=recoded, recoding=recoding, block_of=blocks.of_token()),
        f"key int, {PACKED}",
    )
    found = tails.groupBy("key").applyInArrow(
        on_workers(_counted, counted=counted, state=state, bounds=blocks.bounds, n_tokens=blocks.n_tokens),
        f"block int, {schema}",
    )
    table = collected(found)
    order = np.argsort(table["block"].to_numpy(), kind="stable")
    return [{name: table[name][int(i)].values for name in table.column_names if name != "block"} for i in order]


def by_items(baskets: Any, token: Ints, n_tokens: int) -> tuple[Longs, Ints]:
    """On a worker: the rows under a recoding `token[item]` (negative: dropped)."""
    from shoal.kernels.itemsets.prefixes import laid_out, moved_together

    rows = laid_out(baskets.offsets, baskets.items, token, n_tokens, threads=1)
    found: tuple[Longs, Ints] = moved_together(rows)
    return found


def _tails(
    batches: Iterator[pa.RecordBatch], recoded: Callable[..., Any], recoding: dict[str, Any], block_of: Ints
) -> Iterator[pa.RecordBatch]:
    """On a worker: every row once for each block of which it holds a token, from the first such token on."""
    for rows, baskets in pieces(batches):
        offsets, tokens = recoded(baskets, **recoding)
        block, row = block_of[tokens], row_of(offsets)
        begins = block >= 0
        begins[1:] &= (block[1:] != block[:-1]) | (row[1:] != row[:-1])
        start = np.flatnonzero(begins)
        lengths = offsets[row[start] + 1] - start
        # One row of many tokens stands in many blocks: what is gathered at a time is bounded as well.
        for part in np.array_split(np.arange(len(start)), 1 + int(lengths.sum()) // (1 << 22)):
            at = start[part]
            yield from packed_by(block[at], rows[row[at]], at, lengths[part], tokens)


def _counted(
    table: pa.Table,
    counted: Callable[..., Any],
    state: dict[str, Any],
    bounds: tuple[tuple[int, int], ...],
    n_tokens: int,
) -> pa.Table:
    """On a worker: the rows of one block, in their order, laid out and counted."""
    from shoal.kernels.itemsets.prefixes import laid_out

    block = table["key"][0].as_py()
    _, offsets, tails = together(table)
    rows: Rows = laid_out(frozen(offsets), frozen(tails), np.arange(n_tokens, dtype=np.int32), n_tokens, threads=1)
    found = counted(rows, *bounds[block], **state)
    return pa.table(
        {"block": pa.array([block], pa.int32())} | {name: pa.array([values]) for name, values in found.items()}
    )
