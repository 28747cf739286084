"""ClassTree: the table cut in two again and again, down to classes that the promise allows no cut of.

A class is cut in the column, and there at the place, that tells most about its rows: numbers between two values as near to the middle
as can be, a node of a tree into one of its children and the rest. Tuples that are equal stay together. Every pruning of the tree is a
partition of the rows into classes that can be published.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.loss.relational import Space
from shoal.numbers import Floats, Ints

TRIED = 8
"""Places of each column that a cut is tried at."""


@dataclass(frozen=True, eq=False)
class ClassTree:
    """Node 0 is the whole table; `tuples[v]` are the distinct tuples of node v, in the order of `shoal.loss.relational.Space`."""

    tuples: list[Ints]
    halves: list[tuple[int, int] | None]
    """Per node its two children, both behind it; None for a class that is not cut."""

    def __len__(self) -> int:
        return len(self.tuples)

    @cached_property
    def depth(self) -> Ints:
        depth = np.zeros(len(self), np.int64)
        for v, halves in enumerate(self.halves):
            if halves is not None:
                depth[list(halves)] = depth[v] + 1
        return depth

    def levels(self) -> Iterator[Ints]:
        """The nodes of each depth."""
        for level in range(int(self.depth.max()) + 1):
            yield np.flatnonzero(self.depth == level)

    def cheapest_pruning(self, cost: Floats) -> Ints:
        """The nodes of the pruning that costs least, when every node has its cost."""
        least, stays = cost.copy(), np.ones(len(self), np.bool_)
        for v in range(len(self) - 1, -1, -1):
            halves = self.halves[v]
            if halves is not None and least[halves[0]] + least[halves[1]] < least[v]:
                least[v], stays[v] = least[halves[0]] + least[halves[1]], False
        chosen, waiting = [], [0]
        while waiting:
            v = waiting.pop()
            halves = self.halves[v]
            if stays[v] or halves is None:
                chosen.append(v)
            else:
                waiting += halves
        return np.array(sorted(chosen), np.int64)


def grow(space: Space, allowed: Callable[[Ints], bool]) -> ClassTree:
    """The tree down to classes of which every cut would leave tuples that are not `allowed` as a class."""
    tuples = [np.arange(len(space.points), dtype=np.int64)]
    halves: list[tuple[int, int] | None] = []
    while len(halves) < len(tuples):
        cut = next((cut for cut in _cuts(space, tuples[len(halves)]) if all(map(allowed, cut))), None)
        if cut is None:
            halves.append(None)
        else:
            halves.append((len(tuples), len(tuples) + 1))
            tuples += cut
    return ClassTree(tuples, halves)


def _cuts(space: Space, tuples: Ints) -> Iterator[tuple[Ints, Ints]]:
    """Ways to cut a class, those that tell most first."""
    found: list[tuple[float, int, int]] = []
    sizes = space.sizes[tuples].astype(np.float64)
    places = []
    box = space.boxes_of_tuples(tuples)
    for j, (tree, weight) in enumerate(zip(space.trees, space.weight.tolist(), strict=True)):
        value = space.points[tuples, j, 0].astype(np.int64)
        if tree is not None:
            children = np.array(tree.children[int(box[j, 0])], np.int64)
            children = children[np.argsort(tree.span[children, 0])]
            value = np.searchsorted(tree.span[children, 0], tree.span[value, 0], side="right") - 1
        kinds, place = np.unique(value, return_inverse=True)
        places.append(place.reshape(-1))
        rows = np.bincount(places[-1], sizes, minlength=len(kinds))
        if len(kinds) < 2:
            continue
        share = (rows if tree is not None else np.cumsum(rows)[:-1]) / rows.sum()
        told = weight * -(share * np.log2(share) + (1 - share) * np.log2(1 - share))
        best = np.argsort(-told, kind="stable")[:TRIED].tolist()
        found += [(-float(told[at]), j, at) for at in best]
    for _, j, at in sorted(found):
        first = places[j] == at if space.trees[j] is not None else places[j] <= at
        yield tuples[first], tuples[~first]
