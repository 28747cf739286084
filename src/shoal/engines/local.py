"""The local engine: this machine, with the kernels on threads. Sets are `Baskets`."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from shoal.algorithms.km.apriori import CountTree
from shoal.algorithms.km.problem import Problem
from shoal.algorithms.recoding import Options, Recoding
from shoal.guarantees.audit import Audit
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.tree import Hierarchy
from shoal.records.baskets import Baskets


class LocalEngine:
    """All rows in the memory of this process."""

    name = "local"

    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads

    def ground(self, sets: Baskets, guarantee: KmAnonymity, hierarchy: Hierarchy, options: Options) -> Problem:
        return Problem(sets, guarantee, hierarchy, options.threads)

    def count_tree(self, sets: Baskets, guarantee: KmAnonymity, hierarchy: Hierarchy, options: Options) -> CountTree:
        return CountTree(self.ground(sets, guarantee, hierarchy, options))

    def recoded(self, sets: Baskets, recoding: Recoding, options: Options) -> Baskets:
        keys = np.frombuffer(os.urandom(8 * len(sets)), np.uint64)
        return recoding.apply(sets, options.threads).take(np.argsort(keys))

    def audit(self, published: Any, guarantee: Any, *, witnesses: int = 10, yes_or_no: bool = False) -> Audit:
        verdict: Audit = guarantee.audit(published, witnesses=witnesses, yes_or_no=yes_or_no, threads=self.threads)
        return verdict
