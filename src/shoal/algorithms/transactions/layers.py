"""Classes of different people, where a person may have several transactions: these are dealt to layers in which nobody stands twice.

Any algorithm then makes its classes inside each layer, where k transactions are k people. Who comes often stands in the later layers, of
which the last, with fewer than k people, go where they lose least. One layer of all transactions is tried as well: what it leaves in
classes of few people is merged (diversity.py). Whichever way loses less is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from shoal.algorithms.recoding import Options
from shoal.algorithms.transactions.classes import Classes, majority_centres
from shoal.algorithms.transactions.diversity import classes_of_strangers
from shoal.guarantees.k import KAnonymity
from shoal.kernels.classes.centres import class_centres, members
from shoal.numbers import Codes, Ints
from shoal.records.baskets import Baskets

Run = Callable[[Baskets, KAnonymity, None, Options], Classes]


def classes_of_people(run: Run, baskets: Baskets, guarantee: KAnonymity, hierarchy: None, options: Options) -> Classes:
    """Classes of at least k different people, by an algorithm that counts transactions."""
    nothing = baskets.take(np.arange(len(baskets))).split_off(baskets.vocabulary)[0]
    at_once = classes_of_strangers(
        baskets, nothing, run(baskets, guarantee, None, options), guarantee.k, 1, options.threads
    )
    in_layers = _joined_layers(run, baskets, guarantee, options)
    best = min((at_once, in_layers), key=lambda classes: _lost(baskets, classes, options.threads))
    return replace(
        best, bound=at_once.bound, facts={**best.facts, "layers": 1 if best is at_once else _layers(baskets)[1]}
    )


def _joined_layers(run: Run, baskets: Baskets, guarantee: KAnonymity, options: Options) -> Classes:
    layer, n_layers = _layers(baskets)
    of_row, classes, found = np.full(len(baskets), -1, np.int32), 0, None
    for number in range(n_layers):
        rows = np.flatnonzero(layer == number)
        if len(rows) < guarantee.k:
            break  # layers only become smaller
        found = run(baskets.take(rows), guarantee, None, options)
        of_row[rows] = found.of_row + classes
        classes += len(found.centres)
    assert found is not None  # the first layer has everybody
    order, bounds = members(of_row[of_row >= 0], classes)
    centres = majority_centres(baskets, np.flatnonzero(of_row >= 0)[order], bounds, options.threads)
    for row in np.flatnonzero(of_row < 0).tolist():
        of_row[row] = _nearest(centres, baskets.items[baskets.offsets[row] : baskets.offsets[row + 1]])
    order, bounds = members(of_row, classes)
    centres = majority_centres(baskets, order, bounds, options.threads)
    return replace(found, of_row=of_row, centres=centres, bound=None, facts={"classes": classes})


def _layers(baskets: Baskets) -> tuple[Ints, int]:
    """(layer of each row: how many earlier ones are the same person's, how many layers)."""
    assert baskets.people is not None
    order = np.argsort(baskets.people, kind="stable")
    owner = baskets.people[order]
    layer = np.empty(len(order), np.int64)
    layer[order] = np.arange(len(order)) - np.searchsorted(owner, owner)
    return layer, int(layer.max(initial=-1)) + 1


def _nearest(centres: Baskets, items: Codes) -> int:
    """The class whose centre differs in the fewest items."""
    held = np.concatenate(([0], np.cumsum(np.isin(centres.items, items))))[centres.offsets]
    return int(np.argmin(centres.lengths - 2 * np.diff(held)))


def _lost(baskets: Baskets, classes: Classes, threads: int | None) -> int:
    """Occurrences that are added and removed."""
    order, bounds = members(classes.of_row, len(classes.centres))
    voted = class_centres(baskets.offsets, baskets.items, len(baskets.vocabulary), order, bounds, threads)
    return int((voted.added + voted.removed).sum())
