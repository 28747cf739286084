from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def own_key(tmp_path_factory, monkeypatch):
    """A key of the test's own: the tester's stays where it is."""
    path = tmp_path_factory.mktemp("key") / "owner.key"
    monkeypatch.setenv("SHOAL_KEY", str(path))
    return path
