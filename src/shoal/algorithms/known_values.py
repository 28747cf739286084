"""Which values of a sensitive column help a class or a bucket to its l: all but missing ones, unless these are read as a value.

The audit reads the promise for itself (`shoal.guarantees.missing`): what is wrong here makes it refuse, not agree.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.guarantees.missing import Missing
from shoal.records.records import Column


def known_values(column: Column, missing: Missing) -> npt.NDArray[np.bool_]:
    """Per value of the column, whether it counts."""
    read_as = missing if isinstance(missing, str) else missing.get(column.name, "unknown")
    is_missing = [not value or value.isspace() for value in column.values]
    return np.array([read_as == "value" or not one for one in is_missing], np.bool_)
