"""Blocks of work over threads. Kernels release the interpreter lock, so plain threads use all cores.

The blocks do not depend on the number of threads and results come back in block order: same input, same answer.
"""

from __future__ import annotations

import functools
import os
import threading
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

T = TypeVar("T")


def default_threads() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def even_blocks(work: npt.NDArray[np.floating[Any]], blocks: int) -> list[tuple[int, int]]:
    """Consecutive ranges of about equal work."""
    if len(work) == 0:
        return []
    total = np.cumsum(work)
    edges = np.searchsorted(total, np.linspace(0, total[-1], blocks + 1)[1:-1], side="right")
    bounds = np.unique(np.concatenate(([0], edges, [len(work)]))).tolist()
    return list(pairwise(bounds))


def even_row_blocks(offsets: npt.NDArray[np.int64], blocks: int) -> list[tuple[int, int]]:
    """As `even_blocks`, of rows whose work is what they hold and one for themselves, without an array as long as the rows."""
    n_rows = len(offsets) - 1
    if n_rows <= 0:
        return []
    upto = np.linspace(0, int(offsets[-1]) - int(offsets[0]) + n_rows, blocks + 1)[1:-1].tolist()
    done = lambda row: int(offsets[row + 1]) - int(offsets[0]) + row + 1  # noqa: E731 - the work of all rows up to this one
    edges = {bisect_right(range(n_rows), share, key=done) for share in upto}
    return list(pairwise(sorted(edges | {0, n_rows})))


def over_blocks(
    run: Callable[[int, int], T],
    blocks: Sequence[tuple[int, int]],
    threads: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> list[T]:
    """`run(first, last)` for every block, in block order."""
    results: list[T] = []
    workers = min(threads or default_threads(), len(blocks))

    def collect(answers: Iterable[T]) -> None:
        for answer in answers:
            results.append(answer)
            if progress:
                progress(len(results) / len(blocks))

    if workers <= 1 or getattr(
        _here, "is_worker", False
    ):  # a block that waits for others of its own threads waits for ever
        collect(run(first, last) for first, last in blocks)
    else:
        pool = _threads(workers)
        futures = [pool.submit(run, *block) for block in blocks]
        try:
            collect(future.result() for future in futures)
        except BaseException:
            # A time limit or Ctrl-C: let the blocks under way finish, start no other.
            for future in futures:
                future.cancel()
            wait(futures)
            raise
    return results


_here = threading.local()


def _become_worker() -> None:
    _here.is_worker = True


@functools.cache
def _threads(number: int) -> ThreadPoolExecutor:
    """So many threads, kept for what comes next: a search asks hundreds of times, and to start one takes as long as a small block."""
    return ThreadPoolExecutor(number, "shoal", initializer=_become_worker)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.cache_clear)  # a child process has none of them
