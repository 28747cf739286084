"""Promises in a draft: which kinds fit the roles of its columns, what can be set in it, and how it changes from one kind to another.

All that is changed is the document of a plan. What a kind takes, and how it is made, says `shoal.guarantees.registry`; whether all of it
fits together, a plan.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from shoal.algorithms import ALGORITHMS
from shoal.app.project.knobs import KNOBS
from shoal.app.project.wording import ROLES, PageOrigin, as_sentence
from shoal.errors import InputError
from shoal.guarantees.registry import GUARANTEES, guarantee_from, kind_for
from shoal.models.km import HIERARCHY
from shoal.plan import plan_of
from shoal.plan.draft import L
from shoal.records.database.address import is_address
from shoal.records.foreign.workbooks import workbook_of
from shoal.records.knowledge import Rules
from shoal.records.spelling.local_forms import DATES

Document = dict[str, Any]

NUMBERS = ("k", "m", "l")
"""Of a promise, in the order in which they are shown."""
SPELLED = ("table", "rt", "lm")
"""Promises under which numbers and dates can be spelled as their owner says."""
_LEAST_L = {"lm": 2, "diversity": 2}


def of_role(document: Mapping[str, Any], role: str) -> list[str]:
    """The columns with a role."""
    return [name for name, given in (document.get("columns") or {}).items() if given == role]


def kind_of(document: Mapping[str, Any]) -> str | None:
    """The kind of promise that a draft has chosen."""
    model = (document.get("guarantee") or {}).get("model")
    kind = kind_for(str(model), has_quasi=bool(of_role(document, "quasi")))
    return kind if kind in GUARANTEES else None


def usual_kind(document: Mapping[str, Any]) -> str:
    """The kind of promise that fits the roles of a draft, until the user decides."""
    roles = set((document.get("columns") or {}).values())
    if "items" in roles or not roles:
        return "rt" if "quasi" in roles else "k" if "sensitive" in roles else "km"
    return "table" if "quasi" in roles else "k"


ELSEWHERE = {
    "constraints": "It goes by a policy, a file that the command line and Python take, and the app does not.",
    "chunks": "The app shows rows, and this publishes pieces of them; the command line makes such releases (model chunks).",
}
"""Promises that are not made here, and where they are."""


def elsewhere(document: Mapping[str, Any]) -> str | None:
    """Why a plan runs on the command line and not here, in a sentence; None if it runs here."""
    source, model = document.get("input") or {}, (document.get("guarantee") or {}).get("model")
    path = str(source.get("path") or "")
    if document.get("series"):
        return "It belongs to a series of releases, whose ledger only the command line and Python keep."
    if str(document.get("engine") or "").startswith("spark"):
        return "It runs on Spark, which the app does not start."
    if source.get("one_hot"):
        return (
            "Its items have a column each, which the app does not show; the command line and Python read such tables."
        )
    if is_address(path) or "://" in path or path == "-":
        return (
            "Its data are not a file of the workspace; the command line and Python read databases, lakes and servers."
        )
    if workbook_of(path) is not None:
        return "It reads a sheet of a workbook, of which the app takes a copy; bring the workbook itself here."
    return ELSEWHERE.get(str(model))


def misfit(kind: str, document: Mapping[str, Any], aside: Mapping[str, Any] = {}) -> str | None:
    """Why a kind cannot be had with the roles of a draft, in a sentence with the remedy; None if it can."""
    if kind in ELSEWHERE:
        return ELSEWHERE[kind]
    takes, columns = GUARANTEES[kind].roles, document.get("columns")
    if "quasi" in takes and "items" not in takes and not of_role(document, "quasi"):
        return "It is about columns that others may know, and no column has that role."
    if "items" in takes and columns and not of_role(document, "items"):
        return "It is about sets, and no column is a set of items."
    for role in ROLES:
        if role not in (*takes, "drop", "person") and (names := of_role(document, role)):
            has = "has" if len(names) == 1 else "have"
            return f"It has no use for the role “{ROLES[role][0]}”, which {_listed(names)} {has}. Change that in Data."
    if kind == "lm" and not (_is_sensitive(document) or aside.get("sensitive_items")):
        return "It needs items that others want to learn: name them under Sensitive items, or give a column of them that role in Data."
    changed = copy.deepcopy({name: part for name, part in document.items() if name != "outputs"})
    choose_model(changed, kind, aside)
    try:
        plan_of(changed, PageOrigin())
    except InputError as error:
        return as_sentence(error)
    return None


def choose_model(document: Document, kind: str, aside: Mapping[str, Any]) -> dict[str, Any]:
    """Puts a kind of promise into a draft. Numbers that both have stay; hierarchies and options that it has no use for go, and are
    returned to be put aside. `aside` is what earlier changes took: what fits comes back."""
    old = dict(document.get("guarantee") or {})
    taken = {name: old[name] for name in NUMBERS if name in old}
    trees = dict(aside.get("hierarchies") or {}) | trees_of(document)
    if kind in ("km", "table", "diversity"):
        for name in ("sensitive_items", "sensitive_file"):
            if name in document:
                taken[name] = document.pop(name)
    elif not _is_sensitive(document) and aside.get("sensitive_items"):
        document["sensitive_items"] = aside["sensitive_items"]
    fresh: dict[str, Any] = {"model": "k" if kind == "table" else kind}
    _fit_spelling(document, kind, aside, taken)
    for name, usual in GUARANTEES[kind].numbers.items():
        fresh[name] = max(int(least_of(kind, name)), old.get(name, aside.get(name, usual)))
    if kind in ("k", "table"):
        fresh["l"] = old.get("l", aside.get("l", L)) if _is_sensitive(document) else 1
    kept = {name: old[name] for name in ("t", "distance", "l_kind", "missing") if name in old}
    document["guarantee"] = fresh | kept
    fit_settings(document)
    document["algorithm"] = next(iter(ALGORITHMS[kind]))
    put_trees(document, kind, trees)
    if kind in ("table", "diversity"):
        document.get("input", {}).pop("separator", None)  # there are no cells to split
    fit_options(document)
    return dict(aside) | taken | {"hierarchies": trees}


def takes_spelling(document: Mapping[str, Any]) -> bool:
    """Whether it can be said how numbers and dates of columns are spelled."""
    return kind_of(document) in SPELLED


def _fit_spelling(document: Document, kind: str, aside: Mapping[str, Any], taken: Document) -> None:
    """Puts aside how columns are spelled where values are read as they stand, and brings it back where they are not."""
    said = dict(document.get("input", {}).pop("spelling", None) or {})
    if not takes_spelling(document):  # what was put aside is as it was said last
        said = dict(aside.get("spelling") or {}) | said
    taken["spelling"] = said
    if kind in SPELLED and (fits := {name: way for name, way in said.items() if is_spelled(document, name, way)}):
        document["input"]["spelling"] = fits


def is_spelled(document: Mapping[str, Any], column: str, way: str) -> bool:
    """Whether a column has a role for which it matters how its numbers or dates are spelled."""
    roles = ("quasi", "keep") if way in DATES else ("quasi",)
    return (document.get("columns") or {}).get(column) in roles


def takes_t(document: Mapping[str, Any]) -> bool:
    """Whether values of sensitive columns can be asked to be close to the whole table."""
    kind = kind_of(document)
    return kind is not None and "t" in GUARANTEES[kind].settings and bool(of_role(document, "sensitive"))


def takes_l_kind(document: Mapping[str, Any]) -> bool:
    """Whether there are two ways to count l."""
    return kind_of(document) == "table" and _is_sensitive(document) and value_of(document, "l") > 1


def set_word(document: Document, name: str, word: str) -> None:
    """Says how l is counted (`l_kind`), or how far values are from each other (`distance`); nothing leaves it to what is usual."""
    promise = document.setdefault("guarantee", {})
    promise.pop(name, None)
    if word:
        promise[name] = word


def fit_settings(document: Document) -> None:
    """Takes away what is said of sensitive values where nothing is promised about them any more."""
    promise = document.get("guarantee") or {}
    if not takes_t(document):
        promise.pop("t", None)
    if promise.get("t") is None:
        promise.pop("distance", None)
    if not takes_l_kind(document):
        promise.pop("l_kind", None)
    if not counts_missing(document):
        promise.pop("missing", None)


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
    names = [name for name in NUMBERS if name in GUARANTEES[kind].numbers]
    if kind in ("k", "table") and not _is_sensitive(document):
        names.remove("l")  # nothing is sensitive: there is nothing to be different
    names += ["t"] if takes_t(document) else []
    entry = ALGORITHMS[kind].get(algorithm_of(document))
    turned = ("balance", "delta", "suppress", "suppress_rows", "min_exp")
    return names + [name for name in turned if entry and name in entry.options]


def value_of(document: Mapping[str, Any], name: str) -> float:
    """What a knob stands at, the default where the plan does not say."""
    if name in NUMBERS:
        found = (document.get("guarantee") or {}).get(name)
        return float(GUARANTEES[kind_of(document) or "km"].numbers.get(name, 1) if found is None else found)
    found = (document.get("guarantee" if name == "t" else "options") or {}).get(name)
    return float(KNOBS[name].default(algorithm_of(document)) if found is None else found)


def least_of(kind: str, name: str) -> float:
    """The least that a knob can be set to."""
    return float(_LEAST_L.get(kind, 1)) if name == "l" else KNOBS[name].low


def turn(document: Document, name: str, value: float) -> None:
    """Sets a knob. It is kept within what the plan allows."""
    knob = KNOBS[name]
    value = min(knob.most, max(least_of(kind_of(document) or "", name), value))
    if name in NUMBERS:
        document.setdefault("guarantee", {})[name] = round(value)
    elif name == "t":
        set_word(document, "t", "")
        if value < 1:  # 1 is as far as values can be
            document["guarantee"]["t"] = round(value, 4)
    else:
        document.setdefault("options", {})[name] = round(value, 4)
    fit_settings(document)


def takes_price(document: Mapping[str, Any]) -> bool:
    """Whether the algorithm can be told what to make cheap."""
    entry = ALGORITHMS.get(kind_of(document) or "", {}).get(algorithm_of(document))
    return entry is not None and "price" in entry.options


def price_of(document: Mapping[str, Any]) -> str:
    """What the search is to make cheap; nothing where that is left to the algorithm."""
    return str((document.get("options") or {}).get("price") or "")


def choose_price(document: Document, price: str) -> None:
    """Says what the search is to make cheap; nothing leaves it to the algorithm."""
    options = document.setdefault("options", {})
    options.pop("price", None)
    if price:
        options["price"] = price
    if not options:
        del document["options"]


def counts_missing(document: Mapping[str, Any]) -> bool:
    """Whether it makes a difference what a missing sensitive value is."""
    kind = kind_of(document)
    promise = document.get("guarantee") or {}
    if kind in ("rt", "lm"):
        return promise.get("t") is not None
    looks = value_of(document, "l") > 1 or promise.get("t") is not None
    return kind == "diversity" or (kind == "table" and _is_sensitive(document) and looks)


def guarantee_of(document: Mapping[str, Any]) -> Any:
    """The guarantee itself, which has its promise and its limits in words; None while no kind is chosen."""
    kind = kind_of(document)
    if kind is None:
        return None
    facts: dict[str, Any] = {name: int(value_of(document, name)) for name in GUARANTEES[kind].numbers}
    if counts_missing(document):
        settings = GUARANTEES[kind].settings
        facts |= {name: value for name, value in document["guarantee"].items() if name in settings}
    guarantee = guarantee_from(kind, facts)
    if kind == "k":
        marked = document.get("sensitive_items") or of_role(document, "sensitive")
        return replace(guarantee, sensitive=frozenset(sensitive_names(marked) if isinstance(marked, str) else marked))
    entry = ALGORITHMS[kind].get(algorithm_of(document))
    if kind == "diversity" and entry and "min_exp" in entry.options:  # the release will find rules in the data
        none, number, sure = np.zeros(0, np.int32), np.zeros(0), np.zeros(0, bool)
        rules = Rules({}, "", (), np.zeros((0, 0), np.int32), none, number, number, sure, sure)
        return replace(guarantee, rules=rules)
    return guarantee


def sensitive_names(text: str) -> list[str]:
    """Items that a user has typed, with commas or line breaks between them; each once."""
    names = (part.strip() for part in text.replace("\n", ",").split(","))
    return list(dict.fromkeys(name for name in names if name))


def takes_sensitive_items(document: Mapping[str, Any]) -> bool:
    """Whether naming sensitive items makes a difference: sets are published, and no column has them already."""
    columns = document.get("columns")
    has_sets = bool(of_role(document, "items")) or not columns
    return has_sets and not of_role(document, "sensitive") and not document.get("sensitive_file")


def name_sensitive(document: Document, names: list[str]) -> None:
    """Says which items are sensitive. A number of different ones that nobody can have any more goes back to 1."""
    document.pop("sensitive_items", None)
    if names:
        document["sensitive_items"] = names
    elif (document.get("guarantee") or {}).get("model") == "k":
        document["guarantee"]["l"] = 1


def _is_sensitive(document: Mapping[str, Any]) -> bool:
    return bool(of_role(document, "sensitive") or document.get("sensitive_items") or document.get("sensitive_file"))


def trees_of(document: Mapping[str, Any]) -> dict[str, str]:
    """The hierarchies by column. Those of items go by their column, several columns joined by +, and nothing where there are none."""
    given = document.get("hierarchies")
    return {"+".join(of_role(document, "items")): given} if isinstance(given, str) else dict(given or {})


def put_trees(document: Document, kind: str, trees: Mapping[str, str]) -> None:
    """Puts those hierarchies into a draft that its promise has a use for."""
    document.pop("hierarchies", None)
    items = "+".join(of_role(document, "items"))
    if kind == "km":
        document["hierarchies"] = trees.get(items, HIERARCHY)
        return
    fits = {*of_role(document, "quasi"), *((items,) if kind in ("rt", "lm") else ())} if kind != "k" else set()
    if found := {name: spec for name, spec in trees.items() if name in fits}:
        document["hierarchies"] = found


def _listed(names: list[str]) -> str:
    shown = [f"“{name}”" for name in names[:3]]
    if len(names) > 3:
        return f"{', '.join(shown)} and {len(names) - 3} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
