"""Specs: the short texts that name a hierarchy on the command line and in plans, such as `balanced:5` or a file's name."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from shoal.errors import InputError, option
from shoal.hierarchy.build import balanced, frequency, prefix
from shoal.hierarchy.files import read_hierarchy
from shoal.hierarchy.tree import Hierarchy

FORMS = "learned:N, balanced:N, frequency:N (N = 2 or more), prefix, or a hierarchy file"
_GROUPS = re.compile(r"(balanced|frequency|learned):([0-9]{1,9})", re.ASCII)
_MALFORMED = re.compile(r"(balanced|frequency|learned|prefix)(:.*)?", re.DOTALL)
_FOR_COLUMNS = re.compile(r"(intervals|mask|named)(:.*)?", re.DOTALL)


def resolve(
    spec: Hierarchy | str | os.PathLike[str],
    vocabulary: Sequence[str],
    supports: npt.NDArray[np.int64],
    *,
    unknown: str | None = None,
    learn: Callable[[int], Hierarchy] | None = None,
) -> Hierarchy:
    """The hierarchy that `spec` stands for, with a leaf for every item of the vocabulary.

    `learn` makes the tree of `learned:N` from N. It needs the rows, not the supports alone, and an algorithm, so whoever has both
    passes it in (`shoal.algorithms.km.learning.learned`).

    Items that a given tree or file does not know are refused, or hung under its root with `unknown="root"`. Its leaves that do not
    occur in the data stay: they count as part of the domain.
    """
    if unknown not in (None, "root"):
        raise InputError(
            f"unknown items can be hung under the root ({option('unknown', 'root')}), not under {unknown!r}"
        )
    if isinstance(spec, str) and (made := _made(spec, vocabulary, supports, learn)) is not None:
        return made
    hierarchy = spec if isinstance(spec, Hierarchy) else _read(spec)
    if unknown == "root":
        return hierarchy.with_unknown(vocabulary)
    hierarchy.leaves_of(vocabulary)
    return hierarchy


def _made(
    spec: str, vocabulary: Sequence[str], supports: npt.NDArray[np.int64], learn: Callable[[int], Hierarchy] | None
) -> Hierarchy | None:
    """The hierarchy that is made from the data, or None where the spec names a file."""
    if spec == "prefix":
        return prefix(vocabulary)
    if (groups := _GROUPS.fullmatch(spec)) and (n := int(groups[2])) >= 2:
        if groups[1] == "learned":
            if learn is None:
                raise InputError(
                    f"hierarchy {spec!r} is learned from rows of items and is of no use here; use balanced:{n}"
                )
            return learn(n)
        return balanced(vocabulary, n) if groups[1] == "balanced" else frequency(vocabulary, supports, n)
    if Path(spec).is_file():
        return None
    if _FOR_COLUMNS.fullmatch(spec):
        raise InputError(f"hierarchy {spec!r} is for the columns of a table, not for items; use {FORMS}")
    if _MALFORMED.fullmatch(spec):
        raise InputError(f"hierarchy {spec!r} is not complete; use {FORMS}, for example balanced:5")
    return None


def _read(path: str | os.PathLike[str]) -> Hierarchy:
    if not Path(path).exists() or Path(path).is_dir():
        raise InputError(f"hierarchy {os.fspath(path)!r} is neither a file nor a known form; use {FORMS}")
    return read_hierarchy(path)
