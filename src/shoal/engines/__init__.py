"""Engines: where the heavy counting runs, on this machine or on Spark. One small interface, two rooms behind it.

An algorithm asks for supports of nodes and for rare sets, a release for a recoding that is applied and an audit; the engine says who
counts. Only the hierarchy, the cut, the names of items with their counts and the violations found are ever where the
algorithm runs. Both engines give the same cut, the same loss and the same verdict, bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from shoal.algorithms.km.apriori import Walked
from shoal.algorithms.km.problem import Counts
from shoal.algorithms.recoding import Options, Recoding
from shoal.errors import InputError
from shoal.guarantees.audit import Audit
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.tree import Hierarchy

NAMES = ("local", "spark")


class Sets(Protocol):
    """What is known of set-valued data without looking at its rows. `Baskets` are such sets, and so are sets on Spark."""

    @property
    def vocabulary(self) -> tuple[str, ...]: ...

    @property
    def empty(self) -> int: ...

    @property
    def longest(self) -> int: ...

    @property
    def occurrences(self) -> int: ...

    @property
    def duplicates(self) -> int: ...

    def __len__(self) -> int: ...

    def supports(self) -> npt.NDArray[np.int64]: ...


S = TypeVar("S", contravariant=True)


class Engine(Protocol[S]):
    """The heavy steps of a release of sets."""

    name: str

    def ground(self, sets: S, guarantee: KmAnonymity, hierarchy: Hierarchy, options: Options) -> Counts:
        """Supports of nodes, counted, and rare sets under any cut, to be asked for."""

    def count_tree(self, sets: S, guarantee: KmAnonymity, hierarchy: Hierarchy, options: Options) -> Walked:
        """The count-tree of AA, to be walked size by size."""

    def recoded(self, sets: S, recoding: Recoding, options: Options) -> Any:
        """The sets as they would be published, in an order that says nothing about that of the input."""

    def audit(self, published: Any, guarantee: Any, *, witnesses: int = 10, yes_or_no: bool = False) -> Audit:
        """Whether what would be published keeps the guarantee, from nothing else."""


@dataclass(frozen=True)
class Choice:
    """What `--engine` and a plan say: `local`, `spark`, or `spark=MASTER`."""

    name: str = "local"
    master: str | None = None

    def __str__(self) -> str:
        return self.name if self.master is None else f"{self.name}={self.master}"


def chosen(spec: str | None) -> Choice:
    """The choice that a spec stands for; raises if there is no such engine."""
    name, given, master = (spec or "local").partition("=")
    if name not in NAMES:
        raise InputError(f"engine {spec!r} is not known; use local, spark or spark=MASTER, such as spark=local[4]")
    if given and (name == "local" or not master):
        raise InputError(
            f"engine {spec!r} is not complete; use spark=MASTER, such as spark=spark://host:7077"
            if name == "spark"
            else f"engine {spec!r}: the local engine takes nothing behind its name; use local"
        )
    return Choice(name, master or None)
