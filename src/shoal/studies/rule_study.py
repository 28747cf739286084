"""What an attacker could know from the data itself: combinations that never occur though they could be expected to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from shoal.algorithms.recoding import Options, Progress, listener
from shoal.errors import InputError, option
from shoal.guarantees.diversity import MatchingDiversity, kinds_of_rows
from shoal.models import Roles
from shoal.models import buckets as model
from shoal.options import File, Reading, check_keywords
from shoal.records.buckets import sensitive_column
from shoal.records.database.address import with_query
from shoal.records.knowledge import Rules
from shoal.records.records import Records
from shoal.records.source import Source
from shoal.showing import watching


class RulesRequest(Reading, total=False):
    """How rules are looked for, by keyword: as with `shoal rules`."""

    hierarchy: Mapping[str, Any] | None
    unknown: str | None
    knowledge: File | None
    min_exp: float | None
    min_conf: float | None
    max_length: int | None
    fuzzy: Mapping[str, float] | None
    missing: str | Mapping[str, str]
    threads: int | None


@dataclass(frozen=True)
class MinedRules:
    """Rules, and the data they were found in."""

    rules: Rules
    source: Source

    def impossible(self) -> dict[str, int]:
        """How many rows have 0, 1, 2, ... impossible values."""
        return _impossible(self.source.records, self.rules)


def mine(
    data: Any, *, redundant: bool = False, progress: Progress | bool | None = None, **asked: Unpack[RulesRequest]
) -> MinedRules:
    """As `rules`, with the data they are about."""
    check_keywords(asked, RulesRequest.__annotations__, "rules")
    given: dict[str, Any] = {name: value for name, value in asked.items() if value is not None}
    if given.get("one_hot"):
        raise InputError(f"rules are about columns of single values; leave out {option('one_hot')}")
    roles = Roles(*(given.get(name) for name in ("sensitive", "quasi", "keep")))
    reading: dict[str, Any] = {name: given[name] for name in ("drop", "numeric", "spelling", "format") if name in given}
    source, _ = model.read(with_query(data, given.get("query")), MatchingDiversity(2), roles, reading)
    trees = model.hierarchies(source.records, given.get("hierarchy"), given.get("unknown"))
    wanted = {name: given.get(name) for name in ("min_exp", "min_conf", "max_length", "fuzzy", "knowledge")}
    missing = given.get("missing", "unknown")
    with watching(progress) as watch:
        how = Options(threads=given.get("threads"), progress=listener(watch))
        found = model.knowledge(source.records, trees, wanted, redundant=redundant, missing=missing, options=how)
    return MinedRules(found, source)


def rules(
    data: Any, *, redundant: bool = False, progress: Progress | bool | None = None, **asked: Unpack[RulesRequest]
) -> Rules:
    """Combinations that never occur in a table though they could be expected to: "men do not have ovarian cancer".

    Whoever knows such rules can cross out values in a bucket; `MatchingDiversity` makes buckets that hold against them.

    Args:
        data: A table, as for `anonymize`; `quasi` and `sensitive` name its columns.
        redundant: Whether rules that follow from more general ones are listed as well.

    Raises:
        InputError: The data or an option is not usable.

    >>> import polars, shoal
    >>> people = polars.DataFrame({"sex": ["F"] * 50 + ["M"] * 50, "job": ["nurse", "pilot"] * 25 + ["pilot"] * 50})
    >>> [str(rule) for rule in shoal.rules(people, quasi="sex", sensitive="job")]
    ['sex=M => not nurse']
    """
    return mine(data, redundant=redundant, progress=progress, **asked).rules


def _impossible(records: Records, found: Rules) -> dict[str, int]:
    kind, excluded = kinds_of_rows(records, found, sensitive_column(records).values)
    rows = np.bincount(excluded.sum(axis=1)[kind])
    return {str(number): int(n) for number, n in enumerate(rows.tolist()) if n}
