"""Small tables of relational columns with items: the paper's example, random ones, and bridges to the naive twins."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

import naive_rt as naive
from shoal.hierarchy.tree import Hierarchy
from shoal.records.baskets import Baskets
from shoal.records.records import MISSING, Column, Records

ORIGIN = {
    **dict.fromkeys(["France", "Greece", "Germany", "Spain"], "Europe"),
    **dict.fromkeys(["Algeria", "Nigeria"], "Africa"),
    "Europe": "All",
    "Africa": "All",
}
GENDER = {"Male": "All", "Female": "All"}

FIGURE_1A = [
    ((19, "France", "Male"), "EFBG"),
    ((22, "Greece", "Male"), "EFDH"),
    ((28, "Germany", "Female"), "BCEG"),
    ((39, "Spain", "Female"), "FDH"),
    ((70, "Algeria", "Female"), "EG"),
    ((55, "Nigeria", "Male"), "AFH"),
]
FIGURE_1B = [
    (("[19:22]", "Europe", "Male"), ["E", "F", "(A,B,C,D)", "G"]),
    (("[19:22]", "Europe", "Male"), ["E", "F", "(A,B,C,D)", "H"]),
    (("[28:39]", "Europe", "Female"), ["E", "(A,B,C,D)", "G"]),
    (("[28:39]", "Europe", "Female"), ["F", "(A,B,C,D)", "H"]),
    (("[55:70]", "Africa", "All"), ["E", "G"]),
    (("[55:70]", "Africa", "All"), ["F", "(A,B,C,D)", "H"]),
]
NAMES = ("Age", "Origin", "Gender")


def tree(above):
    """A hierarchy from a dict of parents; leaves in the order of the dict."""
    nodes = list(dict.fromkeys([*above, *above.values()]))
    return Hierarchy.from_parents([nodes.index(above[v]) if v in above else -1 for v in nodes], nodes)


HIERARCHIES = {"Age": None, "Origin": tree(ORIGIN), "Gender": tree(GENDER)}


def column(name, values, role="quasi", *, numeric=None):
    """A column from a value per row: numbers (None: missing) or names."""
    if numeric is None:
        numeric = all(v is None or isinstance(v, int | float) for v in values) and any(v is not None for v in values)
    texts = [MISSING if v is None else str(v) for v in values]
    if numeric:
        order = sorted({(v is not None, v or 0, t) for v, t in zip(values, texts, strict=True)})
        distinct = [t for _, _, t in order]
        numbers = np.array([v if known else np.nan for known, v, _ in order], np.float64)
    else:
        distinct, numbers = sorted(set(texts)), None
    codes = np.array([distinct.index(t) for t in texts], np.int32)
    return Column(name, role, codes, tuple(distinct), numbers)


def records(rows, names=NAMES, sensitive=()):
    """Records from (values, items) per row."""
    columns = zip(*(values for values, _ in rows), strict=True)
    return Records(
        tuple(column(name, values) for name, values in zip(names, columns, strict=True)),
        Baskets.from_rows(items for _, items in rows),
        sensitive_items=frozenset(sensitive),
    )


def example():
    """Figure 1a. G and H, underlined in the figures, are sensitive: with them, not even Figure 1b would be 2^2-anonymous."""
    return records(FIGURE_1A, sensitive="GH")


KINDS = {"a": "ab", "b": "ab", "c": "cd", "d": "cd", "e": "*", "ab": "*", "cd": "*"}
"""A tree over five names."""


@st.composite
def tables(draw, min_rows=1, max_rows=14, items="ABCDEF", missing=True, empty=True):
    """Rows of (number or missing, name under `KINDS`), items; few different values, so that tuples repeat."""
    number = st.integers(0, 6)
    if missing:
        number = st.one_of(st.none(), number, number, number)
    row = st.tuples(
        st.tuples(number, st.sampled_from("abcde")),
        st.sets(st.sampled_from(items), min_size=0 if empty else 1).map(sorted),
    )
    return draw(st.lists(row, min_size=min_rows, max_size=max_rows))


def as_records(rows, sensitive=()):
    """A drawn table as records, with its hierarchies."""
    numbers = [values[0] for values, _ in rows]
    columns = (column("n", numbers, numeric=True), column("name", [values[1] for values, _ in rows]))
    return Records(columns, Baskets.from_rows(i for _, i in rows), sensitive_items=frozenset(sensitive)), {
        "n": None,
        "name": tree(KINDS),
    }


def as_naive(rows, sensitive=(), weights=None):
    """The same table for the naive twins."""
    return naive.Table([v for v, _ in rows], [set(i) - set(sensitive) for _, i in rows], [None, KINDS], weights)


def published_rows(published):
    """(values, items) of each row of published records."""
    values = zip(*(c.texts() for c in published.of_role("quasi")), strict=True)
    return list(zip(values, published.items.rows(), strict=True))
