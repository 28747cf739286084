"""What a release still tells: the information that it keeps, and how much of it is published as it was.

An original occurrence of x is published as the most specific token of its row that covers x, or deleted. With n(x,t) occurrences of x
published as t, n(t) their sum, N all original occurrences and H the entropy of the items,

    information lost = ( sum of n(x,t) log2( n(t) / n(x,t) ) + H * deleted ) / ( N * H )

is the share of what the items said that a reader of the release no longer knows: 0 where everything stands as it was, 1 at the root;
a deleted occurrence counts as one whole average occurrence. The same holds for the values and cells of a column. (A conditional entropy
over an entropy, as in the entropy measure of Gionis and Tassa, 2009.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.numbers import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Fates:
    """How often each item is published as each token: `times[i]` occurrences of `item[i]` as `token[i]`, -1 for deleted ones.

    Items and tokens are numbers of whoever counted; the same pair may come twice.
    """

    item: Ints
    token: Ints
    times: Ints | Floats
    as_it_is: Bools
    """Where the token is the item itself."""

    def with_deleted(self, times: Ints) -> Fates:
        """The same, and so many more occurrences of each item that are deleted."""
        item = np.flatnonzero(times)
        nothing = np.full(len(item), -1, self.token.dtype)
        return Fates(
            np.concatenate((self.item, item.astype(self.item.dtype))),
            np.concatenate((self.token, nothing)),
            np.concatenate((self.times, times[item])).astype(np.float64),
            np.concatenate((self.as_it_is, np.zeros(len(item), np.bool_))),
        )

    @cached_property
    def occurrences(self) -> float:
        return float(self.times.sum())

    @property
    def exact(self) -> float:
        """The share of occurrences that are published as they are."""
        return float(self.times[self.as_it_is].sum()) / max(1.0, self.occurrences)

    @property
    def deleted(self) -> float:
        return float(self.times[self.token < 0].sum()) / max(1.0, self.occurrences)

    @cached_property
    def bits(self) -> float:
        """N * H: what all occurrences say."""
        return entropy_bits(_sums(self.item, self.times))

    @cached_property
    def lost_bits(self) -> float:
        """Of these, what a reader of the release no longer knows."""
        there = self.token >= 0
        token, times = self.token[there], self.times[there]
        numbers, item = np.unique(self.item[there], return_inverse=True)
        unknown = entropy_bits(_sums(token * len(numbers) + item, times)) - entropy_bits(_sums(token, times))
        return max(0.0, unknown) + self.bits * self.deleted

    @property
    def info(self) -> float:
        """The share of the information that is lost. Over a single item, which tells nothing, the share of deleted occurrences."""
        return self.lost_bits / self.bits if self.bits > 0 else self.deleted

    def median(self, of_token: npt.NDArray[np.integer] | npt.NDArray[np.floating]) -> float:
        """The median of a figure of tokens over the occurrences that are published; 0 where none is."""
        there = self.token >= 0
        return weighted_median(np.asarray(of_token)[self.token[there]], self.times[there])


def weighted_median(
    figures: npt.NDArray[np.integer] | npt.NDArray[np.floating],
    times: npt.NDArray[np.integer] | npt.NDArray[np.floating],
) -> float:
    """The least of the figures that at least half of the occurrences do not exceed, each standing so many times; 0 for none."""
    order = np.argsort(figures, kind="stable")
    reached = np.cumsum(times[order])
    if not len(reached) or reached[-1] <= 0:
        return 0.0
    return float(figures[order[np.searchsorted(reached, reached[-1] / 2)]])


def _sums(group: Ints, times: Ints | Floats) -> Floats:
    """The occurrences of each group."""
    if not len(group):
        return np.zeros(0)
    numbers, place = np.unique(group, return_inverse=True)
    return np.bincount(place, times, minlength=len(numbers)).astype(np.float64)


def entropy_bits(counts: npt.NDArray[np.integer] | npt.NDArray[np.floating]) -> float:
    """The bits that so many occurrences of each kind say together: the sum of n log2(N / n)."""
    counts = counts[counts > 0]
    total = counts.sum()
    return float((counts * np.log2(total / counts)).sum()) if len(counts) > 1 else 0.0
