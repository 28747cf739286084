"""Work cut into blocks and done in threads. The blocks depend on the work alone, and answers come back in their order."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T")


def blocks_of_work(work: npt.NDArray[np.floating[Any]], blocks: int) -> list[tuple[int, int]]:
    """All places, in ranges of about equal work (positive for each place)."""
    if not len(work):
        return []
    done = np.cumsum(work)
    # The block in which the work on a place ends; places of one block stand together, for it never falls.
    block = np.minimum(done / done[-1] * blocks, blocks - 1).astype(np.int64)
    cuts = (np.flatnonzero(np.diff(block)) + 1).tolist()
    return list(pairwise([0, *cuts, len(work)]))


def blocks_of_rows(offsets: npt.NDArray[np.int64], blocks: int) -> list[tuple[int, int]]:
    """All rows, in ranges that hold about equally much. Makes no array as long as the rows."""
    n_rows = len(offsets) - 1
    if n_rows < 1:
        return []
    cuts = np.searchsorted(offsets, np.linspace(0, int(offsets[-1]), blocks + 1)[1:-1])
    return list(pairwise(sorted({0, n_rows, *np.minimum(cuts, n_rows).tolist()})))


def blocks_of_places(size: int) -> list[tuple[int, int]]:
    """All places of an array, in ranges of a million and more."""
    cuts = np.linspace(0, size, 1 + max(1, min(16, size >> 20))).astype(np.int64).tolist()
    return list(pairwise(cuts))


def in_threads(
    run: Callable[[int, int], T],
    blocks: Sequence[tuple[int, int]],
    threads: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> list[T]:
    """`run(first, last)` of every block, in the order of blocks; kernels let other threads run."""
    answers: list[T] = []

    def collect(coming: Iterable[T]) -> list[T]:
        for answer in coming:
            answers.append(answer)
            if progress:
                progress(len(answers) / len(blocks))
        return answers

    at_once = min(threads or _cores(), len(blocks))
    if at_once <= 1:
        return collect(run(*block) for block in blocks)
    with ThreadPoolExecutor(at_once) as pool:
        try:
            return collect(pool.map(lambda block: run(*block), blocks))
        except BaseException:  # a time limit or Ctrl-C: start no further block
            pool.shutdown(cancel_futures=True)
            raise


def _cores() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
