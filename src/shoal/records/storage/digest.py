"""A hash of rows that depends neither on their order nor on the files that they lie in: what a release on Spark is known by.

"shoal rows 1" is the SHA-256 of the number of rows and all names, and of the hashes of all rows, sorted. A row is hashed as codes
(32 bits, little endian) into names that stand in their natural order, so it hashes alike wherever it is read. Hashes are sorted in
groups of about a million, by their first bytes, so that no machine has to sort them all.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.numbers import Codes, Ints
from shoal.records.baskets import Baskets
from shoal.records.records import Records

DIGEST = "of the sorted hashes of all rows (shoal rows 1)"
"""What a certificate says that its hash is of."""

_HASHES = 1 << 20
"""Hashes of rows that are sorted at a time, about."""
_ROWS = 1 << 16
"""Rows whose texts are spelled out at a time."""

Hashes = npt.NDArray[np.bytes_]
"""32 bytes each."""


def row_digest(rows: Baskets | Records) -> str:
    """The hash of sets, or of a table with its roles."""
    if isinstance(rows, Baskets):
        return _digest(len(rows), [*rows.vocabulary], _packed(set_hashes(rows.offsets, rows.items), len(rows)))
    coded = [column for column in rows.columns if column.role != "keep"]
    kept = [column for column in rows.columns if column.role == "keep"]
    columns = [[column.name, column.role, *column.values] for column in coded]
    names = [*(column.name for column in kept), rows.items_name, rows.sensitive_name, *sorted(rows.sensitive_items)]
    vocabulary = () if rows.items is None else rows.items.vocabulary
    return _digest(len(rows), [columns, names, *vocabulary], _packed(_hashes_of(rows), len(rows)))


def set_hashes(offsets: Ints, ids: Codes) -> Iterable[bytes]:
    """The hash of each set of ids."""
    little, empty = np.ascontiguousarray(ids, "<i4").data.cast("B"), hashlib.sha256()
    for start, stop in pairwise((4 * offsets).tolist()):
        one = empty.copy()  # a quarter cheaper than a new one
        one.update(little[start:stop])
        yield one.digest()


def record_hash(codes: bytes, ids: bytes, kept: Sequence[str]) -> bytes:
    """The hash of one row of a table: the codes of its values, of its items, and the texts kept beside them."""
    return hashlib.sha256(codes + json.dumps([len(ids), *kept]).encode() + ids).digest()


def groups_for(rows: int) -> int:
    """In how many groups the hashes of so many rows are sorted."""
    return 1 + rows // _HASHES


def whole_digest(rows: int, names: Sequence[Any], of_group: Mapping[int, bytes]) -> str:
    """The hash of everything, from those of the groups that are not empty."""
    whole = hashlib.sha256(b"shoal rows 1\n" + json.dumps([rows, *names]).encode())
    for group in sorted(of_group):
        whole.update(group.to_bytes(4) + of_group[group])
    return whole.hexdigest()


def _digest(rows: int, names: Sequence[Any], hashes: Hashes) -> str:
    groups = groups_for(rows)
    group = hashes.view(">u4")[:: 32 // 4] % groups
    found = {int(g): hashlib.sha256(np.sort(hashes[group == g]).tobytes()).digest() for g in np.unique(group)}
    return whole_digest(rows, names, found)


def _packed(hashes: Iterable[bytes], rows: int) -> Hashes:
    return np.fromiter(hashes, np.dtype("S32"), rows)


def _hashes_of(records: Records) -> Iterable[bytes]:
    """The hash of each row of a table."""
    coded = [column.codes.astype("<i4", copy=False) for column in records.columns if column.role != "keep"]
    kept = [column for column in records.columns if column.role == "keep"]
    none = Baskets(np.zeros(len(records) + 1, np.int64), np.zeros(0, np.int32), ())
    sets = none if records.items is None else records.items
    ids = sets.items.astype("<i4", copy=False)
    for first in range(0, len(records), _ROWS):
        last = min(first + _ROWS, len(records))
        codes = np.stack([column[first:last] for column in coded], axis=1) if coded else None
        texts = [[column.values[code] for code in column.codes[first:last].tolist()] for column in kept]
        beside: Iterable[Sequence[str]] = zip(*texts, strict=True) if texts else ((),) * (last - first)
        bounds = pairwise(sets.offsets[first : last + 1].tolist())
        for i, (own, (start, stop)) in enumerate(zip(beside, bounds, strict=True)):
            yield record_hash(b"" if codes is None else codes[i].tobytes(), ids[start:stop].tobytes(), own)
