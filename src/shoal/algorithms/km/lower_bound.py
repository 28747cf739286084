"""What no cut with deletions can go below, whatever is deleted.

Take any release that keeps the promise, and a set of at most m items that fewer than k rows hold (where people are counted, rows of fewer
than k people), but some. If all its members are published as themselves (or as nodes above nothing else), then none of these rows may
show the whole set: in each, one of the members is deleted. Otherwise some member is published as a node above several items. So with
charges f(S, r) >= 0 on rare sets S in the rows r that hold them, such that

- for every item x in a row r, the charges f(S, r) with x in S add up to no more than a deletion costs, and
- for every node v above several items, the charges of all sets with an item below v add up to no more than `least_at_nodes` says v costs
  in any release,

the release costs at least the sum of all charges: each charge is covered by a deletion in its row of an item that is published as itself,
or by a node of the cut above one of its members. No deletion and no node covers more than it costs, and no two of them pay for the same
occurrence. (The charges are a solution of the dual of this covering problem.) Charges are handed out one after the other, as large
as they can be; that is not the largest sum there is, but a quick one, and valid wherever it ends.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.algorithms.km.problem import Problem
from shoal.kernels.itemsets.charges import Accounts, charge_sets
from shoal.kernels.itemsets.deletion import about_all, find_rare, new_scratch
from shoal.kernels.parallel import default_threads, even_blocks, over_blocks
from shoal.price.information import entropy_bits
from shoal.price.levels import BIT

BLOCKS = 64
"""Parts in which rare sets are found and charged, so that they need not be held all at once."""
TOGETHER = 4
"""The most parts that are found at a time, by a thread each."""


def least_loss(problem: Problem, effort: float = float("inf")) -> float:
    """No cut with deletions keeps the promise at a lower loss, in the price that is searched; it takes about so many steps to say."""
    least = max(_for_items(problem), _for_sets(problem, effort))
    return problem.price.share(least, int(problem.occurrences.sum()))


def _for_items(problem: Problem) -> int:
    """What rare items cost.

    Whatever a rare item is published as stands in at least k rows; deleting only takes rows away, so that node holds something
    in k of the original rows too. By NCP the lowest such node above the item costs least. By information, as a release is measured
    (`shoal.price.information`), a of the item's n occurrences that stand as a token of k or more cost at least a log2(k / a), and each of
    the others a deletion: that is concave in a, so it is least where all of them stand or none does.
    """
    h, price, n = problem.hierarchy, problem.price, problem.occurrences
    if price.name == "information":
        stands = np.floor(BIT * np.log2(np.maximum(1, problem.k / np.maximum(1, n)))).astype(np.int64)
        each = np.minimum(stands, price.deletion)
    else:
        node = np.arange(h.n_leaves, dtype=np.int32)
        while (rare := (problem.support[node] < problem.k) & (h.parent[node] >= 0)).any():
            node[rare] = h.parent[node[rare]]
        each = price.level[node]
    return int((each * n).sum())


def _for_sets(problem: Problem, effort: float) -> int:
    """What rare sets cost, by charges on those that are found within the effort."""
    h, baskets = problem.hierarchy, problem.baskets
    rows = problem.token_rows(np.arange(h.n_leaves, dtype=np.int32))
    accounts = Accounts(
        np.full(len(rows.tok), problem.price.deletion, np.int64),
        least_at_nodes(problem),
        np.zeros(h.n_nodes + 1, np.int64),
    )
    asked = about_all(np.unique(problem.leaf))

    def rare(first: int, last: int) -> Any:
        scratch = new_scratch(h.n_nodes, len(baskets), problem.m, problem.people)
        return *find_rare(among, scratch, asked, first, last, True), int(scratch.work[0])

    charged = made = 0
    together = min(problem.threads or default_threads(), TOGETHER)
    # Small sets first: of those that share an account they leave more to the others.
    for size in range(min(2, problem.m), problem.m + 1):
        among = rows._replace(m=size)
        blocks = even_blocks(problem.support[asked.tokens] + 1.0, BLOCKS)
        for at in range(0, len(blocks), together):
            for occ_row, occ, steps in over_blocks(rare, blocks[at : at + together], problem.threads):
                # What is found beyond the effort is not charged: the answer is the same for any number of threads.
                if made > effort:
                    return charged
                charged += int(charge_sets(among, accounts, h.parent, occ_row, occ))
                made += steps
    return charged


def least_at_nodes(problem: Problem) -> npt.NDArray[np.int64]:
    """Per node above several items, the least that a release pays for these items when it publishes them as this node; -1 elsewhere.

    Any of their occurrences may be deleted. By NCP that never pays. By information, the n(x) occurrences that are left of each item cost
    n log2 n - sum of n(x) log2 n(x), with n their sum, and the deleted ones a deletion each. That is concave in the n(x) (by the
    Cauchy-Schwarz inequality), so it is least where each item is left whole or deleted whole. And then the frequent ones are
    left: of the best choices take one with the fewest items, and of these one with the most occurrences. If it left z and
    deleted a more frequent y, then n(z) occurrences of y in the place of z would cost the same; from there, as the cost is concave in y
    alone, either all of y or none of it costs no more, against the choice. So the items are tried in order of frequency.
    """
    h, price = problem.hierarchy, problem.price
    several = h.leaf_count > 1
    if price.name != "information":
        return np.where(several, problem.cost, -1)
    least = np.where(several, 0, -1)
    mean = entropy_bits(problem.occurrences) / max(1, int(problem.occurrences.sum()))
    for v in np.flatnonzero(several & (h.sums(problem.occurrences) > 0)).tolist() if mean else []:
        lo, hi = h.span[v]
        own = np.sort(problem.occurrences[h.leaf_order[lo:hi]])[::-1].astype(np.float64)
        own = own[own > 0]
        left = np.cumsum(own)
        bits = left * np.log2(left) - np.cumsum(own * np.log2(own)) + mean * (left[-1] - left)
        # To delete everything costs more than to leave one item. Whatever floating point adds is taken off again.
        least[v] = max(0, int(bits.min() / mean * price.deletion * (1 - 1e-9)) - 1)
    return least
