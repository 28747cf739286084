from __future__ import annotations

import pytest

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


@pytest.fixture
def in_process(monkeypatch, here):
    """Cells are computed in this process, without a warm-up; what was asked for."""
    from shoal.studies.compare import cell_work

    monkeypatch.setattr(cell_work, "warm_up", lambda plan, threads: True)
    return here
