"""What a plan stands for, as a call."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from shoal.plan.model import Plan

__all__ = ["Call", "call_of", "in_terms_of"]


@dataclass(frozen=True)
class Call:
    """The call of `shoal.release.anonymize` that a plan stands for."""

    data: Any
    guarantee: Any
    arguments: Mapping[str, Any]


def call_of(plan: Plan) -> Call:
    return Call(plan.data, plan.promise, plan.keywords())


def in_terms_of(plan: Plan) -> AbstractContextManager[None]:
    return plan.speaking()
