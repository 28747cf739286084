"""Charges on rare itemsets, row by row, that no release can avoid paying for."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from shoal.kernels import compiler as nb
from shoal.kernels.itemsets.deletion import AHEAD


class Accounts(NamedTuple):
    """What is still free to be charged."""

    place: npt.NDArray[np.int64]
    """Per place of the rows: of the price of deleting that token there."""
    node: npt.NDArray[np.int64]
    """Per node above several leaves: of the least that publishing them as it costs. -1 elsewhere: nobody asks."""
    mark: npt.NDArray[np.int64]
    """A stamp per node; the last entry is the last stamp used."""


@nb.njit(cache=True, nogil=True)
def charge_sets(rows, accounts, parent, occ_row, occ):
    """Charge each occurrence of a rare itemset as much as all accounts concerned still allow: the sum of the charges.

    Those are the places of its members, and each node above any of them, once.
    """
    offsets, tok, m = rows.offsets, rows.tok, rows.m
    free_place, free_node, mark = accounts
    places = np.empty(m, np.int64)
    total = np.int64(0)
    for i in range(len(occ_row)):
        if i + AHEAD < len(occ_row):
            nb.fetch(tok, offsets[occ_row[i + AHEAD]] + occ_row[i + AHEAD])
        # What nodes allow is known without a look at the row, and most often it is nothing any more.
        charge = np.int64(1) << 62
        for j in range(m):
            v = occ[i * m + j]
            while charge > 0 and v >= 0:
                if 0 <= free_node[v] < charge:
                    charge = free_node[v]
                v = parent[v]
        n_places = 0
        for j in range(m):
            if charge > 0 and occ[i * m + j] >= 0:
                p = offsets[occ_row[i]] + occ_row[i]
                while tok[p] != occ[i * m + j]:
                    p += 1
                places[n_places] = p
                n_places += 1
                charge = min(charge, free_place[p])
        if charge <= 0:
            continue
        mark[-1] += 1
        for j in range(n_places):
            free_place[places[j]] -= charge
            v = tok[places[j]]
            while v >= 0 and mark[v] != mark[-1]:
                mark[v] = mark[-1]
                if free_node[v] >= 0:
                    free_node[v] -= charge
                v = parent[v]
        total += charge
    return total
