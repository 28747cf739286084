"""What a change costs: the price that a search goes by, and what a finished release has cost, each in a file of its own."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt


class Price(Protocol):
    """What an optimising search asks: how much it costs to publish an item as a node of a hierarchy, or to delete it.

    Prices are whole numbers, so that equal losses compare equal; `share` turns a sum of them into a loss from 0 to 1.
    """

    @property
    def as_node(self) -> npt.NDArray[np.int64]:
        """Per node, what an occurrence of an item below it costs that is published as this node."""

    @property
    def deletion(self) -> int:
        """What a deleted occurrence costs."""

    def of_nodes(self, occurrences: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Per node, what all items below it cost when they are published as this node; occurrences are per leaf."""

    def share(self, price: float, occurrences: int) -> float:
        """The price as a share of what so many occurrences can cost at most."""
