"""Blocks over threads that are kept: in order, without a wait for one another, and in a child process."""

import os
import signal
import threading

import pytest

from shoal.kernels.parallel import over_blocks

BLOCKS = [(i, i + 1) for i in range(8)]


def test_answers_come_in_order_and_from_the_same_threads():
    used = set()

    def run(first, last):
        used.add(threading.current_thread())
        return first, last

    for _ in range(20):
        assert over_blocks(run, BLOCKS, 2) == BLOCKS
    assert len(used) <= 2


def test_a_block_may_have_blocks_of_its_own():
    assert over_blocks(lambda a, b: sum(over_blocks(lambda c, d: c, BLOCKS, 2)), BLOCKS, 2) == [28] * len(BLOCKS)


def test_after_a_failure_nothing_runs_on():
    begun, may_go_on = [], threading.Event()

    def run(first, last):
        begun.append(first)
        if first == 0:
            raise KeyError(first)
        may_go_on.wait(10)
        return first

    def stop(share):
        raise AssertionError("no block has answered")

    threading.Timer(0.05, may_go_on.set).start()
    with pytest.raises(KeyError):
        over_blocks(run, BLOCKS, 2, stop)
    assert may_go_on.is_set() or begun == [0]
    before = len(begun)
    assert over_blocks(lambda a, b: a, BLOCKS, 2) == list(range(8))
    assert len(begun) == before < 8


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is nothing to fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_process_starts_threads_of_its_own():
    over_blocks(lambda a, b: a, BLOCKS, 2)
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        os._exit(0 if over_blocks(lambda a, b: a, BLOCKS, 2) == list(range(8)) else 1)
    assert os.waitpid(child, 0)[1] == 0
