"""Promises: which models fit the roles of a plan, what can be set in it, and how it changes from one to another.

`kind` is the entry of `ALGORITHMS`: a model, but k-anonymity of tables is called `table`. All that is changed is the document of a plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.algorithms import ALGORITHMS
from shoal.app.panels.promise.knobs import KNOBS
from shoal.app.panels.promise.promise_words import MODELS, Model
from shoal.guarantees.missing import UNKNOWN
from shoal.plan.draft import K, L, M

Document = dict[str, Any]

_DEFAULTS = {"k": K, "m": M, "l": L}
_LEAST_L = {"lm": 2, "diversity": 2}
_DIVERSE = 3
"""The l of `shoal anonymize --model diversity`."""


def model_of_kind(kind: str) -> Model:
    return next(model for model in MODELS if model.kind == kind)


def kind_of(document: Mapping[str, Any]) -> str | None:
    """Which of the models a plan has chosen."""
    model = (document.get("guarantee") or {}).get("model")
    if model == "k":
        return "table" if _named(document, "quasi") else "k"
    return model if model in ALGORITHMS else None


def misfit(kind: str, document: Mapping[str, Any], aside: Mapping[str, Any] = {}) -> str | None:
    """Why a model cannot be had with the roles of a plan, in a sentence with the remedy; None if it can."""
    quasi, items, sensitive = (_named(document, role) for role in ("quasi", "items", "sensitive"))
    has_sets = bool(items) or not document.get("columns")
    if kind in ("km", "k"):
        if not has_sets:
            return "It is about sets, and no column is a set of items."
        if quasi:
            return f"Others may know {_listed(quasi)}, too: this promise would leave that out of account."
        if kind == "km" and sensitive:
            return f"It has no use for {_listed(sensitive)}, which others want to learn: leave it out in Data, or let every set have twins."
        if len(items) > 1:
            return f"It takes one column of sets, and there are {len(items)}: {_listed(items)}."
    elif not quasi:
        return "It is about columns that others may know, and no column has that role."
    elif kind in ("rt", "lm") and not items:
        return "It is about columns and sets together, and no column is a set of items."
    elif kind in ("table", "diversity") and items:
        return f"It is about columns alone, and {_listed(items)} holds sets."
    if kind == "diversity" and len(sensitive) != 1:
        return f"It needs one column that others want to learn, and there {'are' if sensitive else 'is'} {len(sensitive) or 'none'}."
    if kind == "lm" and not (_is_sensitive(document) or aside.get("sensitive_items")):
        return "It needs items that others want to learn: name them under Sensitive items, or give a column of them that role in Data."
    if kind in ("km", "k") and (kept := _named(document, "keep")):
        return f"It publishes the sets alone; {_listed(kept)} cannot be kept beside them. Leave it out in Data."
    if kind != "table" and kind != "diversity" and len(sensitive) > 1:
        return f"It takes one column that others want to learn, and there are {len(sensitive)}: {_listed(sensitive)}."
    if (held := _named(document, "id")) and kind not in ("km", "k"):
        return f"It needs one row a person, and {_listed(held)} holds several rows together."
    return None


def choose_model(document: Document, kind: str, aside: Mapping[str, Any]) -> dict[str, Any]:
    """Puts a model into a plan. Numbers that both have stay; hierarchies and options that it has no use for go, and are returned to be
    put aside. `aside` is what earlier changes took: what fits comes back."""
    old = dict(document.get("guarantee") or {})
    taken = {name: old[name] for name in ("k", "m", "l") if name in old}
    trees = dict(aside.get("hierarchies") or {}) | _by_column(document)
    if kind in ("km", "table", "diversity"):
        for name in ("sensitive_items", "sensitive_file"):
            if name in document:
                taken[name] = document.pop(name)
    elif not _is_sensitive(document) and aside.get("sensitive_items"):
        document["sensitive_items"] = aside["sensitive_items"]
    model = model_of_kind(kind)
    fresh: dict[str, Any] = {"model": model.model}
    for name in model.knobs:
        value = old.get(name, aside.get(name))
        if value is None:
            value = _DIVERSE if kind == "diversity" and name == "l" else _DEFAULTS[name]
        if name == "l" and kind in ("k", "table") and not _is_sensitive(document):
            value = 1
        if name == "l":
            value = max(value, _LEAST_L.get(kind, 1))
        fresh[name] = max(2, value) if name == "k" else value
    document["guarantee"] = fresh
    document["algorithm"] = next(iter(ALGORITHMS[kind]))
    _put_hierarchies(document, kind, trees)
    if kind in ("table", "diversity"):
        document.get("input", {}).pop("separator", None)  # there are no cells to part
    fit_options(document)
    return dict(aside) | taken | {"hierarchies": trees}


def choose_algorithm(document: Document, name: str) -> None:
    document["algorithm"] = name
    fit_options(document)


def fit_options(document: Document) -> None:
    """Takes away the options that the chosen algorithm has no use for."""
    kind = kind_of(document)
    if kind is None:
        return
    entry = ALGORITHMS[kind].get(algorithm_of(document))
    fits = {*(entry.options if entry else ()), "threads", *(() if kind == "k" else ("unknown",))}
    options = {name: value for name, value in (document.get("options") or {}).items() if name in fits}
    document.pop("options", None)
    if options:
        document["options"] = options


def algorithm_of(document: Mapping[str, Any]) -> str:
    """The algorithm of a plan; the first of its model unless it says otherwise."""
    kind = kind_of(document)
    return str(document.get("algorithm") or (next(iter(ALGORITHMS[kind])) if kind else ""))


def knobs_of(document: Mapping[str, Any]) -> list[str]:
    """What can be turned: the numbers of the promise, then those of the algorithm."""
    kind = kind_of(document)
    if kind is None:
        return []
    names = list(model_of_kind(kind).knobs)
    if kind in ("k", "table") and not _is_sensitive(document):
        names.remove("l")  # nothing is sensitive: there is nothing to be different
    entry = ALGORITHMS[kind].get(algorithm_of(document))
    return names + [name for name in ("delta", "suppress", "min_exp") if entry and name in entry.options]


def value_of(document: Mapping[str, Any], name: str) -> float:
    """What a knob stands at, the default where the plan does not say."""
    if name in _DEFAULTS:
        found = (document.get("guarantee") or {}).get(name)
        return float(1 if found is None and name == "l" else _DEFAULTS[name] if found is None else found)
    found = (document.get("options") or {}).get(name)
    return float(KNOBS[name].default(algorithm_of(document)) if found is None else found)


def least_of(kind: str, name: str) -> float:
    """The least that a knob can be set to."""
    return float(_LEAST_L.get(kind, 1)) if name == "l" else KNOBS[name].low


def turn(document: Document, name: str, value: float) -> None:
    """Sets a knob. It is kept within what the plan allows."""
    knob = KNOBS[name]
    value = min(knob.most, max(least_of(kind_of(document) or "", name), value))
    if name in _DEFAULTS:
        document.setdefault("guarantee", {})[name] = round(value)
        if not counts_missing(document):
            document["guarantee"].pop("missing", None)
    else:
        document.setdefault("options", {})[name] = round(value, 4)


def missing_of(document: Mapping[str, Any]) -> Any:
    """What a missing sensitive value is read as."""
    return (document.get("guarantee") or {}).get("missing") or UNKNOWN


def counts_missing(document: Mapping[str, Any]) -> bool:
    """Whether it makes a difference what a missing sensitive value is."""
    kind = kind_of(document)
    return kind == "diversity" or (kind == "table" and _is_sensitive(document) and value_of(document, "l") > 1)


def read_missing(document: Document, reading: str) -> None:
    """Says what a missing sensitive value is; the safe reading needs no word."""
    promise = document.setdefault("guarantee", {})
    promise.pop("missing", None)
    if reading != UNKNOWN:
        promise["missing"] = reading


def guarantee_of(document: Mapping[str, Any]) -> Any:
    """The guarantee itself, which has its promise and its limits in words; None while no model is chosen."""
    kind, given = kind_of(document), document.get("guarantee") or {}
    k, m, l = (int(value_of(document, name)) for name in ("k", "m", "l"))  # noqa: E741
    if kind is None or not given:
        return None
    if kind == "km":
        from shoal.guarantees.km import KmAnonymity

        return KmAnonymity(k, m)
    if kind == "k":
        from shoal.guarantees.k import KAnonymity

        marked = document.get("sensitive_items") or _named(document, "sensitive")
        names = [part.strip() for part in marked.split(",")] if isinstance(marked, str) else list(marked)
        return KAnonymity(k, l, frozenset(names))
    if kind == "table":
        from shoal.guarantees.table import TableAnonymity

        return TableAnonymity(k, l, missing_of(document) if l > 1 else UNKNOWN)
    if kind == "rt":
        from shoal.guarantees.rt import RTAnonymity

        return RTAnonymity(k, m)
    if kind == "lm":
        from shoal.guarantees.lm import LmDiversity

        return LmDiversity(k, max(l, 1), m)
    from shoal.guarantees.diversity import MatchingDiversity

    entry = ALGORITHMS[kind].get(algorithm_of(document))
    rules = _no_rules_yet() if entry and "min_exp" in entry.options else None
    return MatchingDiversity(max(l, 2), rules, missing_of(document))


def promise_of(document: Mapping[str, Any]) -> list[str]:
    """What a plan promises, in sentences."""
    return list(guarantee_of(document).promise())


def _no_rules_yet() -> Any:
    """The rules that an attacker may know, before the release has found them in the data."""
    import numpy as np

    from shoal.records.knowledge import Rules

    none, number, sure = np.zeros(0, np.int32), np.zeros(0), np.zeros(0, bool)
    return Rules({}, "", (), np.zeros((0, 0), np.int32), none, number, number, sure, sure)


def sensitive_names(text: str) -> list[str]:
    """Items that a user has typed, with commas or line breaks between them; each once."""
    names = (part.strip() for part in text.replace("\n", ",").split(","))
    return list(dict.fromkeys(name for name in names if name))


def takes_sensitive_items(document: Mapping[str, Any]) -> bool:
    """Whether naming sensitive items makes a difference: sets are published, and no column has them already."""
    columns = document.get("columns")
    has_sets = bool(_named(document, "items")) or not columns
    return has_sets and not _named(document, "sensitive") and not document.get("sensitive_file")


def name_sensitive(document: Document, names: list[str]) -> None:
    """Says which items are sensitive. A number of different ones that nobody can have any more goes back to 1."""
    document.pop("sensitive_items", None)
    if names:
        document["sensitive_items"] = names
    elif (document.get("guarantee") or {}).get("model") == "k":
        document["guarantee"]["l"] = 1


def _is_sensitive(document: Mapping[str, Any]) -> bool:
    return bool(_named(document, "sensitive") or document.get("sensitive_items") or document.get("sensitive_file"))


def _named(document: Mapping[str, Any], role: str) -> list[str]:
    return [name for name, given in (document.get("columns") or {}).items() if given == role]


def _items_name(document: Mapping[str, Any]) -> str:
    """What hierarchies call the items: their column, several columns joined by +, and nothing where there are no columns."""
    return "+".join(_named(document, "items"))


def _by_column(document: Mapping[str, Any]) -> dict[str, str]:
    given = document.get("hierarchies")
    if isinstance(given, str):
        return {_items_name(document): given}
    return dict(given or {})


def _put_hierarchies(document: Document, kind: str, trees: Mapping[str, str]) -> None:
    document.pop("hierarchies", None)
    items, quasi = _items_name(document), _named(document, "quasi")
    if kind == "km":
        document["hierarchies"] = trees.get(items, "frequency:5")
        return
    fits = {*quasi, *((items,) if kind in ("rt", "lm") else ())} if kind != "k" else set()
    found = {name: spec for name, spec in trees.items() if name in fits}
    if found:
        document["hierarchies"] = found


def _listed(names: list[str]) -> str:
    shown = [f"“{name}”" for name in names[:3]]
    if len(names) > 3:
        return f"{', '.join(shown)} and {len(names) - 3} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
