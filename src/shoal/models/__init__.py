"""The models: what each promise needs to be read, how its recoding is applied, and what is told about it.

`release.py` is the same for all of them: read, propose, shuffle, audit, write. What differs is here, one file per model, and
ends in a `Proposal`. Nothing in a proposal is believed before the audit has seen what would be published.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import Any

from shoal.algorithms import kind_of
from shoal.certificate.owner import OWNER
from shoal.errors import InputError, number_of, option
from shoal.guarantees.audit import Audit
from shoal.numbers import Ints
from shoal.records.baskets import Baskets
from shoal.records.records import Records
from shoal.records.source import Source, load_sets

_HOMES = {
    "km": "shoal.models.km",
    "k": "shoal.models.transactions",
    "table": "shoal.models.tables",
    "rt": "shoal.models.tables",
    "lm": "shoal.models.tables",
    "diversity": "shoal.models.buckets",
    "constraints": "shoal.models.constraints",
    "chunks": "shoal.models.chunks",
}

Rules = Callable[[Callable[[str], str]], Iterator[tuple[str, ...]]]
"""Rows of the rules file, its header first; takes what a published token is called in the written file."""


def _no_rules(written: Callable[[str], str]) -> Iterator[tuple[str, ...]]:
    return iter(())


@dataclass(frozen=True, eq=False)
class Proposal:
    """What an algorithm proposes to publish, and what there is to say about it."""

    guarantee: Any
    published: Baskets | Records
    """In the order of the input."""
    recoding: Any
    algorithm: str
    loss: Mapping[str, float]
    """As fractions, the share of information that is lost first."""
    parameters: Mapping[str, Any]
    """What the run was asked for, for `--json` and the certificate."""
    kept: Mapping[str, float] = field(default_factory=dict)
    """As fractions: what is published as it is, and the commonest pairs that are (`shoal.loss.worth`)."""
    remains: Mapping[str, Any] = field(default_factory=dict)
    """In a clinician's words, of `columns` and `items`, beside `kept` (`shoal.loss.worth`). For the owner."""
    optimal: bool | None = None
    hurried: bool = False
    """Whether a time limit ended the search."""
    bound: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    """For the owner, in `--json` and `--report`. They may name rare items."""
    certified: Callable[[], Mapping[str, Any]] = dict
    """For the certificate: what the file tells, and shares that cannot be turned back into counts (`shoal.certificate.disclosure`)."""
    warnings: tuple[str, ...] = ()
    """For readers of the certificate."""
    notes: tuple[str, ...] = ()
    """For the owner."""
    idle_trees: tuple[Any, ...] = ()
    """The hierarchies that help little (`shoal.models.empty_words.IdleTree`). For the owner."""
    advice: Callable[[], tuple[str, ...]] = tuple
    """For the owner, once the release is made: what else there is to try. It may take seconds to find out."""
    stay: Ints | None = None
    """The rows of the input that are published, where some are left out."""
    together: tuple[str, ...] = ()
    """Columns by which rows that are alike in them stand together, in an order that is drawn."""
    rules: Rules = _no_rules
    rules_note: str = ""
    """What the owner must know about the rules file."""


@dataclass(frozen=True, eq=False, repr=False)
class Outcome:
    """A proposal that passed the audit: what every release says of it, wherever its rows are."""

    published: Any
    proposal: Any
    audit: Audit

    def __repr__(self) -> str:
        told = (
            f"{1 - self.loss['info']:.1%} of the information kept"
            if "info" in self.loss
            else "information not measured"
        )
        return f"{type(self).__name__}({self.guarantee}, {self.algorithm}, {self.rows:,} rows, {told})"

    @property
    def rows(self) -> int:
        return len(self.published)

    @property
    def guarantee(self) -> Any:
        return self.proposal.guarantee

    @property
    def recoding(self) -> Any:
        """How values change: a `Recoding` (a cut), or `Classes` of equal rows."""
        return self.proposal.recoding

    @property
    def algorithm(self) -> str:
        return str(self.proposal.algorithm)

    @property
    def loss(self) -> Mapping[str, float]:
        """As fractions: `info`, the share of information that is lost, then `ncp` or `il` and its parts."""
        loss: Mapping[str, float] = self.proposal.loss
        return loss

    @property
    def kept(self) -> Mapping[str, float]:
        """As fractions: item occurrences (`exact`) and cells (`cells`) as they are, commonest pairs that keep their count (`pairs`)."""
        kept: Mapping[str, float] = self.proposal.kept
        return kept

    @property
    def remains(self) -> Mapping[str, Any]:
        """What is left of each of the `columns` and of the `items`: the share as it was, how wide the median published value is, and what
        became of the ten commonest items."""
        remains: Mapping[str, Any] = self.proposal.remains
        return remains

    @property
    def optimal(self) -> bool | None:
        """True when nothing loses less; None when the algorithm does not know."""
        optimal: bool | None = self.proposal.optimal
        return optimal

    @property
    def bound(self) -> float | None:
        """Nothing that keeps the promise loses less than this."""
        bound: float | None = self.proposal.bound
        return bound

    def first_facts(self) -> dict[str, Any]:
        """What the owner's facts about any release begin with."""
        return {
            "for": OWNER,
            "algorithm": self.algorithm,
            "guarantee": self.guarantee.to_dict(),
            "holds": self.audit.holds,
            "loss": dict(self.loss),
            "kept": {**self.kept, **self.remains},
            "optimal": self.optimal,
            "bound": self.bound,
        }


@dataclass(frozen=True)
class Roles:
    """What the caller says about columns and items, beyond what every reader takes."""

    sensitive: Any = None
    quasi: Any = None
    keep: Any = None
    missing: Mapping[str, str] | None = None
    """What missing values of quasi columns are, where that is said."""
    shift: Mapping[str, float] | None = None
    """By how many days the dates of a column move, at most."""

    def refuse(self, model: str, *names: str) -> None:
        """Raises if one of these was given: the model has no use for it."""
        for name in names:
            if getattr(self, name) is not None:
                raise InputError(f"{option(name)} has no use with {option('model', model)}; leave it out")


def refuse_for_sets(reading: Mapping[str, Any]) -> None:
    """Raises for what is about columns of single values."""
    for name in ("numeric", "spelling"):
        if name in reading:
            raise InputError(f"{option(name)} is for the columns of tables; a file of sets has none")


def basket_source(data: Any, reading: Mapping[str, Any]) -> Source:
    """The sets of data without columns to be published."""
    refuse_for_sets(reading)
    source = load_sets(data, **reading)
    if not len(source.baskets):
        raise InputError(f"{source.name} has no transactions; there is nothing to publish")
    return source


def basket_details(original: Baskets, published: Baskets) -> dict[str, Any]:
    return {
        "items": len(original.vocabulary),
        "tokens": len(published.vocabulary),
        "empty": published.empty,
        "duplicates": original.duplicates,
    }


def basket_notes(baskets: Baskets, *, empty_stay: bool) -> tuple[str, ...]:
    """What the owner should know about the sets that were read."""
    notes = []
    if baskets.duplicates:
        notes.append(f"{number_of(baskets.duplicates, 'repeated item was', 'repeated items were')} folded into one")
    if baskets.empty:
        notes.append(
            f"{number_of(baskets.empty, 'transaction is', 'transactions are')} empty"
            + (f" and {'stays' if baskets.empty == 1 else 'stay'} so" if empty_stay else "")
        )
    return tuple(notes)


def model_of(guarantee: Any) -> ModuleType:
    """The module of a guarantee's model. It has two functions:

    `read(data, guarantee, roles, reading) -> (source, guarantee)` reads what the promise is about, the guarantee then knowing what in
    it is sensitive; `proposal(source, guarantee, request, options) -> Proposal`.
    """
    home = _HOMES.get(kind_of(guarantee)) if hasattr(guarantee, "model") else None
    if home is None:
        raise InputError(f"the guarantee is {guarantee!r}; give for example shoal.KmAnonymity(k=5, m=2)")
    return import_module(home)


def with_knowledge(guarantee: Any, records: Records | None, knowledge: Any, hierarchy: Any = None) -> Any:
    """The guarantee against an attacker who knows the rules of a file, or, for k^m, the tree that published tokens are nodes of.

    `records` is the table with all its values, with or without rows; None for data that are sets alone.
    """
    if knowledge is None and hierarchy is None:
        return guarantee
    if guarantee.model == "km" and knowledge is None:
        return model_of(guarantee).with_knowledge(guarantee, hierarchy)
    if guarantee.model != "diversity" or records is None:
        given = "knowledge" if knowledge is not None else "hierarchy"
        raise InputError(f"{given} has no use for {guarantee}; leave it out")
    if knowledge is None:
        raise InputError(f"a hierarchy is for the rules of {option('knowledge')}; give them, or leave it out")
    return model_of(guarantee).with_knowledge(guarantee, records, knowledge, hierarchy)
