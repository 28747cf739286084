"""Rows exchanged between groups until no two rows of a group share a value in any column.

A row that shares one looks at rows of other groups, drawn at random, and changes places with the one that leaves the fewest shared values
in both groups. Groups are small, so that an exchange is judged by looking at their members; only groups that changed are looked at again.
"""

import numpy as np
import numpy.typing as npt

from shoal.kernels import compiler as nb

ROUNDS = 200
"""Times that groups with shared values are gone through."""
LOOKED = 64
"""Rows that one row looks at in a round."""


@nb.njit(cache=True, nogil=True)
def exchange_rows(
    codes: npt.NDArray[np.int32],
    member: npt.NDArray[np.int64],
    start: npt.NDArray[np.int64],
    whole: npt.NDArray[np.int64],
    seed: int,
) -> bool:
    """Whether all groups could be cleared of shared values; `member` is changed in place.

    `codes` has a row for each row and a column for each sensitive one, -1 where the value is unknown. Group g holds `member[start[g] :
    start[g + 1]]`, of which the first `whole[g]` rows know all their values: they change places among themselves, as do the others.
    """
    np.random.seed(seed)
    n, n_groups = len(member), len(start) - 1
    group = np.empty(n, np.int64)
    for g in range(n_groups):
        group[start[g] : start[g + 1]] = g
    stale = np.ones(n_groups, np.bool_)
    for _ in range(ROUNDS):
        clear = True
        for g in range(n_groups):
            if not stale[g]:
                continue
            stale[g] = False
            for here in range(start[g], start[g + 1]):
                if _shared(codes, member, start, member[here], g, here) == 0:
                    continue
                stale[g] = True
                clear = False
                best, least = -1, 1
                for _ in range(LOOKED):
                    there = np.random.randint(0, n)
                    other = group[there]
                    if other == g or (here - start[g] < whole[g]) != (there - start[other] < whole[other]):
                        continue
                    one, two = member[here], member[there]
                    now = _shared(codes, member, start, one, g, here) + _shared(codes, member, start, two, other, there)
                    then = _shared(codes, member, start, two, g, here) + _shared(
                        codes, member, start, one, other, there
                    )
                    if then - now < least:
                        best, least = there, then - now
                    if then == 0:
                        break
                if best >= 0:
                    member[here], member[best] = member[best], member[here]
                    stale[group[best]] = True
        if clear:
            return True
    return False


@nb.njit(cache=True, nogil=True)
def _shared(
    codes: npt.NDArray[np.int32],
    member: npt.NDArray[np.int64],
    start: npt.NDArray[np.int64],
    row: int,
    g: int,
    place: int,
) -> int:
    """Values that a row has in common with members of group g, if it stood at `place` there."""
    many = 0
    for other in range(start[g], start[g + 1]):
        if other == place:
            continue
        for c in range(codes.shape[1]):
            if codes[row, c] >= 0 and codes[row, c] == codes[member[other], c]:
                many += 1
    return many
