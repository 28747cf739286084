"""The algorithms by model and name. Adding one means adding one file and one line here."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from shoal.algorithms.recoding import Recoding
from shoal.errors import InputError

ALGORITHMS: dict[str, dict[str, str]] = {
    "km": {
        "exact": "shoal.algorithms.km.exact",
        "hybrid": "shoal.algorithms.km.hybrid",
        "oa": "shoal.algorithms.km.oa",
        "da": "shoal.algorithms.km.da",
        "aa": "shoal.algorithms.km.aa",
    },
}
"""Per model, the module of each algorithm (its function has the algorithm's name); the first one is the default."""


def algorithm(model: str, name: str | None = None) -> Callable[..., Recoding]:
    """The function `name(baskets, guarantee, hierarchy, options) -> Recoding`."""
    known = ALGORITHMS[model]
    name = name or next(iter(known))
    if name not in known:
        raise InputError(f"algorithm {name!r} is not known for --model {model}; choose one of {', '.join(known)}")
    function: Callable[..., Recoding] = getattr(import_module(known[name]), name)
    return function
