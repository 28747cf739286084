"""Classes of rows that nobody can tell apart, as a measure of what a release costs: the larger they are, the less a row says.

`average` is rows per class, `relative` the same over k (LeFevre and others 2006, C_AVG: 1 is what k asks for), `discernibility`
(Bayardo and Agrawal 2005) charges every row the size of its class, and a row that was left out the size of the whole table.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shoal.numbers import Ints


def class_figures(sizes: Ints, k: int, suppressed: int = 0) -> dict[str, Any]:
    """Figures about classes of these sizes; `suppressed` rows of the original are in none of them."""
    rows, classes = int(sizes.sum()), len(sizes)
    return {
        "classes": classes,
        "smallest": int(sizes.min()) if classes else 0,
        "largest": int(sizes.max(initial=0)),
        "average": rows / classes if classes else 0.0,
        "relative": rows / (classes * int(k)) if classes else 0.0,
        "discernibility": discernibility(sizes, suppressed),
        "discernibility_share": discernibility(sizes, suppressed) / max(1, rows + suppressed) ** 2,
    }


def discernibility(sizes: Ints, suppressed: int = 0) -> int:
    """The sum of the squares of the classes, and all rows for each suppressed one."""
    total = int(sizes.sum()) + suppressed
    return sum(size * size * many for size, many in _counted(sizes)) + suppressed * total


def _counted(sizes: Ints) -> list[tuple[int, int]]:
    """How often each size occurs, as Python's numbers, which do not overflow."""
    distinct, many = np.unique(sizes, return_counts=True)
    return list(zip(distinct.tolist(), many.tolist(), strict=True))
