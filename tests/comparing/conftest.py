from __future__ import annotations

import pytest

from shoal.comparing import workers
from shoal.comparing.worker import outcome_of
from shoal.records.samples.grocery import grocery
from shoal.records.writing import write


@pytest.fixture(scope="session")
def baskets():
    return grocery(300, seed=3)[0]


@pytest.fixture
def shop(tmp_path, monkeypatch, baskets):
    """A folder with sets.dat, which is where comparisons run."""
    monkeypatch.chdir(tmp_path)
    write(baskets, "sets.dat")
    return tmp_path


class InProcess(workers.Worker):
    """A worker that computes its cell in this process, at once: for tests that are not about processes."""

    started: list[str]

    @classmethod
    def start(cls, cell, origin, **about):
        cls.started.append(about["key"])
        worker = cls(cell, _process=None, _told=None, **about)
        request = {"document": dict(cell.document), "name": origin.name, "folder": origin.folder, "threads": 1}
        worker.told = outcome_of(request)
        return worker

    def outcome(self):
        self.told.pop("input_sha256", None)
        return self._made(self.told)

    def stop(self):
        pass


@pytest.fixture
def in_process(monkeypatch):
    """Cells are computed in this process; the keys of those that were."""
    from shoal.comparing import running, warming

    InProcess.started = []
    monkeypatch.setattr(running, "Worker", InProcess)
    monkeypatch.setattr(running, "PAUSE", 0)
    monkeypatch.setattr(warming, "warm_up", lambda plan, threads: True)
    return InProcess.started
