from __future__ import annotations

import pytest


@pytest.fixture
def no_data(tmp_path, monkeypatch):
    """A machine without any of the public data sets."""
    monkeypatch.delenv("SHOAL_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
