from __future__ import annotations

import json
import time
from importlib import import_module

import pytest

from shoal.processes import Teller, answer_to
from shoal.studies import study


class Here:
    """A child that works in this process, at once: for tests that are not about processes."""

    asked: list

    def __init__(self, work, environment=None):
        module, _, name = work.partition(":")
        self.work = getattr(import_module(module), name)
        self.begun = time.monotonic()
        self.said = []

    def ask(self, request):
        self.asked.append(request)
        self.said.append(answer_to(json.loads(json.dumps(request)), self.work, Teller(self.said.append)))

    def news(self):
        return self.said

    def end(self):
        pass


@pytest.fixture
def here(monkeypatch):
    """Cells are computed in this process; the requests that were made."""
    Here.asked = []
    monkeypatch.setattr(study, "Child", Here)
    monkeypatch.setattr(study, "PAUSE", 0)
    return Here.asked
