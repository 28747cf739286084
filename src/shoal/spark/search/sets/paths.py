"""AA on Spark: the executors find rare paths of the count-tree, the driver repairs them in the order of Algorithm 3.

What a path's support is does not depend on the cut, and the cut only rises. So the walk of the local engine is no more than the rare
paths in the order of the tree, each repaired if none of its nodes has been generalized by then; and a block of first nodes may be
counted by any worker. When AA comes to a size, no smaller path is rare any more: a set with a node and its ancestor, or with a node
that adds nothing, cannot be rare either, and the walk of `exact` over rows with all ancestors finds exactly the rare paths.

A worker sends the first `MOST` paths of its block. Beyond the last path of a block that has more, the order is not known, and what
follows is left to the next round, on the cut as it then is.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.algorithms.km.apriori import RisingCut
from shoal.kernels.itemsets.count_tree import expanded_rows
from shoal.kernels.itemsets.rare_sets import rare_sets
from shoal.kernels.parallel import even_blocks
from shoal.numbers import Codes, Ints
from shoal.spark.data.packing import frozen
from shoal.spark.search.sets.projection import blocks_of, search_blocks
from shoal.spark.search.sets.spark_problem import SparkProblem

MOST = 20_000
"""Rare paths that a block sends in a round."""
AHEAD = 2_000
"""Supports that are asked for at a time, about."""

Path = tuple[int, ...]


class SparkCountTree(RisingCut):
    """The walk of Algorithm 3 over all paths of a given size, found on Spark."""

    def __init__(self, ground: SparkProblem) -> None:
        super().__init__(ground)
        self.ground = ground
        self._known: dict[Path, int] = {}

    def generalize(self, size: int, *, any_depth: bool) -> int:
        """Raise the cut until no path of `size` nodes is rare. All smaller ones have been dealt with before (`any_depth` is for DA)."""
        if any_depth:
            raise NotImplementedError("the count-tree on Spark is walked size by size")
        repaired, complete = 0, False
        while not complete:
            paths, complete = self._rare_paths(size)
            repaired += self._repair(paths)
        return repaired

    def _rare_paths(self, size: int) -> tuple[list[Path], bool]:
        """The first rare paths under the cut in the order of the tree, and whether these are all."""
        g, n = self.ground, len(self.order)
        support = np.where(self.gone, 0, g.support)[self.order]
        if size == 1:
            return [(v,) for v in self.order[(support > 0) & (support < g.k)].tolist()], True
        if g.k < 2 or not support.any():
            return [], True
        # Workers count rarest first, which is the order of the tree backwards.
        token = np.where(self.rank >= 0, n - 1 - self.rank, -1).astype(np.int32)
        answers = search_blocks(
            g.sets,
            blocks_of(support[::-1].copy(), g.sets),
            (_with_ancestors, {"leaf": g.leaf, "parent": g.parent, "token": token, "gone": self.gone}),
            (_rare_paths, {"k": g.k, "size": size, "most": MOST}),
            "paths array<int>, more array<int>",
        )
        ranks = [answer["paths"].to_numpy().reshape(-1, size) for answer in answers]
        rare = in_order(np.concatenate([np.zeros((0, size), np.int32), *ranks]))
        cut_off = [tuple(r[-1].tolist()) for r, answer in zip(ranks, answers, strict=True) if answer["more"][0].as_py()]
        paths = [tuple(path) for path in rare.tolist()]
        if cut_off:
            last = min(cut_off)
            paths = [path for path in paths if path <= last]
        return [tuple(int(self.order[r]) for r in path) for path in paths], not cut_off

    def _repair(self, paths: list[Path]) -> int:
        """How many of the paths were still there to be repaired; they are now."""
        repaired = 0
        for at, path in enumerate(paths):
            if self.gone[list(path)].any():
                continue
            repaired += 1
            for raised, image in choices(self, path):
                if self._support(image) is None:
                    self._ask(paths, at)
                support = self._support(image)
                if support is None:
                    (support,) = self.ground.supports_of([image])
                    self._known[image] = int(support)
                if support >= self.ground.k:
                    commit(self, raised)
                    break
        return repaired

    def _support(self, image: Path) -> int | None:
        return int(self.ground.support[image[0]]) if len(image) == 1 else self._known.get(image)

    def _ask(self, paths: list[Path], at: int) -> None:
        """Learn the supports that repairing the path at `at` and those behind it will need.

        Which ones come later depends on the answers. So they are guessed, as if items were independent of each other, and the repairs
        are made on a copy; a wrong guess costs another question and nothing else.
        """
        ahead = _Copy(self)
        wanted: dict[Path, None] = {}
        for path in paths[at:]:
            if ahead.gone[list(path)].any():
                continue
            chosen = None
            for raised, image in islice(choices(ahead, path), AHEAD if not wanted else 64):
                known = self._support(image)
                if known is None:
                    wanted[image] = None
                if (self._guess(image) if known is None else known) >= self.ground.k:
                    # After a guess the next choices too, in case it is too high.
                    chosen = chosen or raised
                    if len(wanted) >= AHEAD or known is not None:
                        break
            if chosen is None or len(wanted) >= AHEAD:
                break
            commit(ahead, chosen)
        asked = list(wanted)
        self._known.update(zip(asked, self.ground.supports_of(asked).tolist(), strict=True))

    def _guess(self, image: Path) -> float:
        n = max(1, len(self.ground.sets))
        return float(np.prod(self.ground.support[list(image)] / n)) * n


class _Copy:
    """The state of a rising cut, to try repairs on."""

    def __init__(self, tree: SparkCountTree) -> None:
        self.ground, self.gone, self.under = tree.ground, tree.gone.copy(), tree.under.copy()


def choices(tree: Any, path: Path) -> Iterator[tuple[Path, Path]]:
    """(nodes raised to, what the path then reads as), cheapest first, as in `shoal.kernels.itemsets.count_tree`: ties go to fewer levels in
    all, then to raising later members of the path."""
    cost, under, parent, span = tree.ground.cost, tree.under, tree.ground.parent, tree.ground.hierarchy.span
    up = []
    for v in path:
        above = [v]
        while parent[above[-1]] >= 0:
            above.append(int(parent[above[-1]]))
        up.append(above)
    queue = [(0, 0, (0,) * len(path))]
    while queue:
        _, levels, steps = heapq.heappop(queue)
        if levels:
            yield _image(path, up, steps, span)
        last = max((i for i, step in enumerate(steps) if step), default=0)
        for i in range(last, len(path)):
            if steps[i] + 1 < len(up[i]):
                higher = (*steps[:i], steps[i] + 1, *steps[i + 1 :])
                raised, _ = _image(path, up, higher, span)
                heapq.heappush(queue, (sum(int(cost[v] - under[v]) for v in raised), levels + 1, higher))


def commit(tree: Any, raised: Path) -> None:
    """Raise the cut to these nodes."""
    g = tree.ground
    span = g.hierarchy.span
    for top in raised:
        gain = g.cost[top] - tree.under[top]
        v = top
        while v >= 0:
            tree.under[v] += gain
            v = int(g.parent[v])
        tree.gone[:top] |= (span[top, 0] <= span[:top, 0]) & (span[:top, 1] <= span[top, 1])


def _image(path: Path, up: list[list[int]], steps: Path, span: npt.NDArray[Any]) -> tuple[Path, Path]:
    """Nodes that the path is raised to (outermost only), and the path after that, ascending."""
    targets = {up[i][step] for i, step in enumerate(steps) if step}
    raised = tuple(v for v in targets if not any(w > v and _covers(span, w, v) for w in targets))
    rest = [v for v, step in zip(path, steps, strict=True) if not step and not any(_covers(span, w, v) for w in raised)]
    return raised, tuple(sorted((*raised, *rest)))


def _covers(span: npt.NDArray[Any], above: int, below: int) -> bool:
    return bool(span[above, 0] <= span[below, 0] and span[below, 1] <= span[above, 1])


def in_order(paths: Codes) -> Codes:
    """The paths by their first node, then the second, and so on."""
    return paths[np.lexsort(paths.T[::-1])]


def _with_ancestors(
    baskets: Any, leaf: Codes, parent: Codes, token: Codes, gone: npt.NDArray[Any]
) -> tuple[Ints, Codes]:
    """On a worker: rows of the tokens of all items and their ancestors below the root that have not been generalized."""
    rows: tuple[Ints, Codes] = expanded_rows(baskets.offsets, baskets.items, leaf, frozen(parent), token, gone)
    return rows


def _rare_paths(rows: Any, first: int, last: int, k: int, size: int, most: int) -> dict[str, Any]:
    """On a worker: the first rare paths of a block in the order of the tree, as ranks in it, and whether there are more."""
    n = len(rows.support)
    kept, more = np.zeros((0, size), np.int32), False
    # Part by part, so that what is found and not kept does not pile up.
    for a, b in even_blocks(rows.volume[first:last] + 1.0, 8):
        rare = rare_sets(rows, first + a, first + b, k, size, 1 << 40)
        paths = (n - 1 - rare.reshape(-1, size))[:, ::-1]
        kept = in_order(np.concatenate((kept, paths.astype(np.int32))))
        more = more or len(kept) > most
        kept = kept[:most]
    return {"paths": kept.reshape(-1), "more": np.array([more], np.int32)}
