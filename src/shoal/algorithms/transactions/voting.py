"""The anonymization module of PTA (section 4.3): groups of k neighbours on the loop vote for their centre, groups that lose
least become classes, and who is left over joins the nearest class.

Algorithm 2 is followed as printed. For every k from 2 on its ranges give k consecutive nodes, the middle one in the middle
for odd k and one side longer for even k: the side whose end is nearer to the middle, the one ahead if both are equally
near. They are k different nodes on every loop of at least k, also on one of just k or k + 1: for even k and a loop of k
both ends are the same node, and it is taken once. (For k = 1 the printed lines 8 and 9 would enter the node twice; here it
enters once.) "More than k/2" is strictly more than half, with whole or real division alike. Groups that lose the same are
taken in loop order, which Algorithm 3 leaves open; its line 14 is read as choosing among the classes, not among the groups
left (there are none).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.algorithms.transactions.loops import Loop
from shoal.algorithms.transactions.segments import Segment


class Groups(NamedTuple):
    """The candidates, one per node of the loop and in loop order: k nodes from place `starts[i]` on, around the loop."""

    starts: npt.NDArray[np.int32]
    losses: npt.NDArray[np.int64]


class Chosen(NamedTuple):
    """A segment's classes, numbered from 0 as they were chosen."""

    voters: npt.NDArray[np.int32]
    """One row per class: the k nodes whose majority is the centre."""
    of_node: npt.NDArray[np.int32]
    """The class of each node, leftovers among them."""


def mapped_groups(segment: Segment, loop: Loop, k: int) -> Groups:
    """Algorithm 2, MapAndMajorityVote: the group around each node, and what its majority centre loses."""
    from shoal.kernels.classes.groups import group_starts, window_losses

    starts = group_starts(loop.nodes, segment.distance, k)
    losses = window_losses(segment.offsets, segment.columns, segment.n_columns, loop.nodes, k)
    return Groups(starts, losses[starts])


def chosen_classes(segment: Segment, loop: Loop, groups: Groups, k: int) -> Chosen:
    """Algorithm 3: groups by ascending loss, none that overlaps a class; then each leftover to its nearest class."""
    from shoal.kernels.classes.groups import classes_of_nodes, disjoint_groups

    chosen = disjoint_groups(groups.starts, np.argsort(groups.losses, kind="stable"), k)
    chosen = chosen[chosen >= 0]
    of_node = classes_of_nodes(segment.offsets, segment.columns, segment.bitmaps, loop.nodes, chosen, k)
    voters = loop.nodes[(chosen[:, None] + np.arange(k)) % len(segment)]
    return Chosen(voters, of_node)
