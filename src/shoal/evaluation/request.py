"""What `evaluate` may be told, by keyword; None is as if it was not said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from shoal.hierarchy.tree import Hierarchy
from shoal.numbers import whole_number
from shoal.options import File, Reading, check_keywords


class Request(Reading, total=False):
    """What there is to say about an original and its release."""

    hierarchy: Hierarchy | File | Mapping[str, Hierarchy | File] | None
    """What published values mean, as for `anonymize`."""
    rules: File | None
    """The rules file of the release, which says the same."""
    unknown: str | None
    weights: Mapping[str, float] | None
    """How much the loss of a column counts, 1 unless given."""
    same_order: bool
    """Whether rows of the two files correspond."""
    queries: int
    """Random queries of each kind."""
    workload: File | None
    """A file with queries of one's own."""
    pairs: int
    """How many of the most frequent pairs of items are followed."""
    sample: int
    """How many people the linkage attack looks for, by m items each."""
    k: int
    m: int
    seed: int
    threads: int | None
    progress: Callable[[str, float], None] | bool | None


STANDARD: Request = {"k": 5, "m": 2, "seed": 0, "queries": 100, "pairs": 100, "sample": 1000, "same_order": False}
_LEAST = {"k": 1, "m": 1, "seed": 0, "queries": 0, "pairs": 0, "sample": 0, "threads": 1}


def with_own_words(asked: Mapping[str, Any], published: Any) -> Request:
    """The request, with what a release knows of how it was made (`Release.request`) where nothing is said."""
    given = {name: value for name, value in asked.items() if value is not None}
    leave = ("hierarchy", "unknown") if "rules" in given else ()
    own = {name: value for name, value in getattr(published, "request", {}).items() if name not in leave}
    return cast(Request, {name: own[name] for name in own if name in Request.__annotations__} | given)


def with_standards(asked: Request) -> Request:
    """The request, with what is standard where nothing is said; raises for keywords and numbers that cannot be meant."""
    check_keywords(asked, Request.__annotations__, "evaluate")
    request: dict[str, Any] = dict(STANDARD) | {name: value for name, value in asked.items() if value is not None}
    for name, least in _LEAST.items():
        if name in request:
            whole_number(name, request[name], least)
            request[name] = int(request[name])
    return cast(Request, request)
