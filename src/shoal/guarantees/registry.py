"""The guarantees by kind: what each is made from, and which roles of columns it takes.

A kind is a model, but k-anonymity of a table (with quasi-identifier columns) is the kind `table`. Whoever has a promise in words (flags, a
plan, a certificate, the app) makes the guarantee here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from importlib import import_module
from typing import Any, Protocol

from shoal.errors import InputError, option


class Guarantee(Protocol):
    """What every guarantee can do: check published data, and say what it promises and what it does not."""

    @property
    def model(self) -> str: ...

    def to_dict(self) -> dict[str, Any]: ...

    def promise(self) -> tuple[str, ...]: ...

    def limits(self) -> tuple[str, ...]: ...

    @property
    def audit(self) -> Any: ...


@dataclass(frozen=True)
class Entry:
    """Where a guarantee is at home, its numbers with the ones to take unless given, and the roles of columns that are its own."""

    module: str
    name: str
    numbers: Mapping[str, int]
    roles: tuple[str, ...]
    settings: tuple[str, ...] = ()
    """What else it may be told: how a missing sensitive value is read, and what beside its numbers is promised."""


OF_TABLES = ("missing", "l_kind", "t", "distance")
"""What is said of the sensitive columns of a table."""
BESIDE_ITEMS = ("missing", "t", "distance")
"""The same where there are items: l is then always by frequency."""
GUARANTEES = {
    "km": Entry("km", "KmAnonymity", {"k": 5, "m": 2}, ("items", "id")),
    "k": Entry("k", "KAnonymity", {"k": 5, "l": 1}, ("items", "id", "sensitive")),
    "table": Entry("table", "TableAnonymity", {"k": 5, "l": 1}, ("quasi", "sensitive", "keep", "id"), OF_TABLES),
    "rt": Entry("rt", "RTAnonymity", {"k": 5, "m": 2}, ("quasi", "items", "sensitive", "keep", "id"), BESIDE_ITEMS),
    "lm": Entry(
        "lm", "LmDiversity", {"k": 5, "l": 2, "m": 2}, ("quasi", "items", "sensitive", "keep", "id"), BESIDE_ITEMS
    ),
    "diversity": Entry("diversity", "MatchingDiversity", {"l": 3}, ("quasi", "sensitive", "keep", "id"), ("missing",)),
    "constraints": Entry("constraints.promise", "ConstraintAnonymity", {"k": 5}, ("items", "id"), ("policy",)),
    "chunks": Entry("chunks", "ChunkAnonymity", {"k": 5, "m": 2}, ("items", "id")),
}
COUNTING_PEOPLE: dict[str, tuple[str, ...]] = {
    "km": ("local", "exact", "hybrid", "oa"),
    "k": ("split", "pta", "gsc", "gray-tsp"),
    "table": ("better-of-two", "cluster", "mondrian", "full-domain", "top-down", "bottom-up"),
    "rt": ("joint", "rmerge-r", "rmerge-t", "rmerge-rt", "tmerge-r", "tmerge-t", "tmerge-rt", "rfirst", "tfirst"),
    # Merged classes can tell more of people than either did, which the mergers of the paper do not look at.
    "lm": ("joint", "rfirst", "tfirst"),
    "diversity": ("injector", "balanced", "anatomy"),
}
"""The kinds of promise whose audit counts people where rows say whose they are, and the algorithms that search by the same count."""
OF_SETS = ("km", "k", "constraints", "chunks")
"""The kinds of promise about sets without columns beside them."""
MODELS = tuple(kind for kind in GUARANTEES if kind != "table")


def roles_for(kind: str) -> tuple[str, ...]:
    """The roles that columns may have under a kind of promise."""
    return (*GUARANTEES[kind].roles, *(("person",) if kind in COUNTING_PEOPLE else ()), "drop")


def kind_of(guarantee: Any) -> str:
    """The kind of a guarantee: its model, but that of tables without items has a kind of its own."""
    kind: str = getattr(guarantee, "family", guarantee.model)
    return kind


def kind_for(model: str, *, has_quasi: bool) -> str:
    """The kind of promise that a model makes about data with quasi-identifier columns, or without."""
    return "table" if model == "k" and has_quasi else model


def promised_in_people(guarantee: Any) -> Any:
    """The guarantee as it stands where rows say whose they are. Raises for one that counts rows."""
    check_counts_people(kind_of(guarantee))
    if not hasattr(guarantee, "of_people"):
        raise InputError(f"{guarantee} counts rows, not people; leave out {option('person')}")
    return replace(guarantee, of_people=True)


def check_counts_people(kind: str, algorithm: str | None = None) -> None:
    """Raises if a promise, or an algorithm for it, counts rows and not people."""
    known = COUNTING_PEOPLE.get(kind, ())
    if not known:
        model = option("model", "k" if kind == "table" else kind)
        raise InputError(
            f"{model} counts rows, not people; leave out {option('person')}, or take {option('model', 'km')}"
        )
    if algorithm is not None and algorithm not in known:
        choose = f"choose {' or '.join(known)}" if len(known) <= 2 else f"choose one of {', '.join(known)}"
        raise InputError(f"{algorithm} counts rows, not people ({option('person')}); {choose}")


def settings_of(guarantee: Any) -> dict[str, Any]:
    """What a guarantee was told besides its numbers, without what it takes unless told."""
    usual = {field.name: field.default for field in fields(guarantee)}
    settings = GUARANTEES[kind_of(guarantee)].settings
    return {name: value for name in settings if (value := getattr(guarantee, name)) != usual[name]}


def guarantee_from(kind: str, facts: Mapping[str, Any]) -> Any:
    """The guarantee of a kind with these numbers (`k`, `m`, `l`), its settings and, for comparison, the `kind` of diversity.

    What is None was not said. Raises for what has no meaning in this kind.
    """
    model = "k" if kind == "table" else kind
    if kind not in GUARANTEES:
        raise InputError(
            f"{option('model')} {kind!r} is not known; choose one of {', '.join(MODELS[:-1])} and {MODELS[-1]}"
        )
    entry, said = GUARANTEES[kind], {name: value for name, value in facts.items() if value is not None}
    if "missing" in said and "missing" not in entry.settings:
        raise InputError(
            f"{option('missing')} is for the sensitive column of a table, one value a row ({option('model', 'k')} with {option('quasi')} "
            f"and {option('l')}, rt, lm or diversity); in sets an empty cell means that there are no items; leave it out"
        )
    if kind == "lm" and said.get("l_kind") == "frequency":
        del said["l_kind"]  # it always is
    for name in said:
        if name in OF_TABLES and name not in entry.settings:
            raise InputError(
                f"{option(name)} is for the sensitive columns of a table without items ({option('model', 'k')} with {option('quasi')}); "
                f"{'(k,l^m)-diversity always counts by frequency; ' * (kind == 'lm')}leave it out"
            )
        if name not in (*entry.numbers, *entry.settings) and (name, kind) != ("kind", "diversity"):
            raise InputError(f"{option(name)} has no meaning with {option('model', model)}; leave it out")
    make: Any = getattr(import_module(f"shoal.guarantees.{entry.module}"), entry.name)
    if "kind" in said:
        make = import_module("shoal.guarantees.diversity").PlainDiversity
    return make(**{**entry.numbers, **said})
