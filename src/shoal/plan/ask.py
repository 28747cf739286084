"""Asking: the plan that stands for the arguments of a call or for the flags of a command.

Names of columns may come with commas between them and are told apart by the header of the data. What only lives in memory (data frames,
Hierarchy objects, mined rules) is held beside the plan: it can be run, but not saved.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from shoal.errors import InputError, option
from shoal.guarantees.registry import GUARANTEES, OF_SETS, kind_of, settings_of
from shoal.hierarchy.formats.objects import trees_of
from shoal.hierarchy.spec import is_made
from shoal.numbers import check_value
from shoal.options import LARGEST, OPTIONS, Numbers, Place, Size
from shoal.plan.model import Plan
from shoal.plan.parse import plan_of
from shoal.plan.places import Asked, Origin
from shoal.plan.save import relative_path
from shoal.records.database.address import is_address, with_query, without_password
from shoal.records.formats.one_hot import ITEMS, OneHot
from shoal.records.formats.peek import column_names, source_name
from shoal.records.layout import format_of
from shoal.records.records import Records
from shoal.records.roles import SetRoles, comma_parts, named_columns, numeric_columns, texts_of
from shoal.records.stores.remote import is_remote

OUTPUTS = {"output": "data", "certificate": "certificate", "rules": "rules", "report": "report", "sign": "sign"}
"""What is written, by option, and its key in a plan."""
_NAMING = ("quasi", "items", "keep", "drop", "id", "person", "sensitive", "numeric")


def plan_from(data: Any, guarantee: Any, *, folder: str = "", to_save: bool = True, **asked: Any) -> Plan:
    """The plan that stands for `anonymize(data, guarantee, **asked)` and, with `output` and the like, for a `write` of the release.

    A plan `to_save` names a role for every column that is known, and holds paths alone, relative to the `folder` that it is to lie in;
    passwords in addresses are left out. One that is run at once holds what it was given.
    """
    if data is None:
        raise InputError("there are no data, but None; give a path, a data frame or rows of items")
    if isinstance(guarantee, type):
        raise InputError(
            f"the guarantee is {guarantee.__name__} without its numbers; give for example shoal.KmAnonymity(k=5, m=2)"
        )
    if getattr(guarantee, "model", None) not in GUARANTEES:
        raise InputError(f"the guarantee is {guarantee!r}; give for example shoal.KmAnonymity(k=5, m=2)")
    given = {name: _names(value) if name in _NAMING else value for name, value in asked.items() if value is not None}
    if "hierarchy" in given:
        given["hierarchy"] = trees_of(given["hierarchy"], per_column=kind_of(guarantee) not in OF_SETS)
    given = {name: value for name, value in given.items() if name == "numeric" or not _is_empty(value)}
    memory: dict[Place, Any] = {}
    if not to_save:
        memory = {("input", "path"): data, ("guarantee",): guarantee}
    elif getattr(guarantee, "rules", None) is not None:
        raise InputError("rules that were mined in memory have no path; give them as a file (knowledge)")
    for name in given:
        check_value(name, given[name])

    def place(path: Any, at: Place, what: str = "a file") -> str:
        """A path as the plan has it; of what lives in memory alone, a word for it."""
        if not isinstance(path, str | os.PathLike):
            if to_save:
                raise InputError(
                    f"{what} is a {type(path).__name__} in memory; a plan holds paths: write it to a file first"
                )
            memory[at] = path
            return f"a {type(path).__name__} in memory"
        text = os.fspath(path)
        shown = without_password(text)
        if not to_save and (is_address(text) or shown != text):
            memory[at] = text
        return relative_path(shown, folder)

    path = place(data, ("input", "path"), "the data")
    source = with_query(data, given.get("query"))
    kind = kind_of(guarantee)
    hot = None
    if given.get("one_hot"):
        if path == "-":
            raise InputError(
                f"{option('one_hot')} looks at the columns before they are read; save the data to a file first"
            )
        source = OneHot.of(source, given)
        hot = named_columns(source.chosen, column_names(source.data, given.get("format"))) or True
        given["items"] = ITEMS
    names = _header(source, kind, given, to_save)
    columns, sensitive = _roles(names if path != "-" else None, kind, given, guarantee)
    if "items" in given and "items" not in columns.values():
        if to_save:
            raise InputError("a plan cannot say that the sensitive column holds sets; write one value a cell")
        memory[("items",)] = given["items"]
    if "items" not in given and names and not _is_spark(given) and (to_save or kind in ("rt", "lm")):
        _complete(columns, names, kind, source_name(source))
    ordered = {name: columns[name] for name in [*names, *columns] if name in columns}
    file = sensitive.pop("sensitive_file", None)
    document: dict[str, Any] = {
        "version": 1,
        "input": {
            "path": path,
            "query": given.get("query"),
            "format": given.get("format"),
            "separator": given.get("separator"),
            "numeric": numeric_columns(texts_of(given["numeric"]), names) if "numeric" in given else None,
            "spelling": dict(given["spelling"]) if given.get("spelling") else None,
            "one_hot": hot,
            "limit": str(given["input_limit"]) if "input_limit" in given else None,
        },
        "columns": ordered,
        **sensitive,
        "sensitive_file": None if file is None else place(file, ("sensitive_file",)),
        "hierarchies": _specs(given.get("hierarchy"), columns, place),
        "guarantee": _promise(guarantee, place),
        "algorithm": given.get("algorithm"),
        "engine": given.get("engine"),
        "options": {name: _plain(name, given[name]) for name in given if OPTIONS[name].place[0] == "options"},
        "series": _series(given, place),
        "outputs": None,
        "keep_order": bool(given.get("keep_order", False)),
    }
    if "knowledge" in given:
        document["options"]["knowledge"] = place(given["knowledge"], ("options", "knowledge"))
    if "output" in given:
        document["outputs"] = {
            key: place(given[name], ("outputs", key)) for name, key in OUTPUTS.items() if name in given
        }
    return plan_of(document, Origin() if to_save else Asked(""), memory)


def _series(given: Mapping[str, Any], place: Callable[[Any, Place, str], str]) -> dict[str, Any] | None:
    """The series of a plan, and what is said of it."""
    if "series" not in given:
        for name in ("series_kind", "wait"):
            if name in given:
                raise InputError(
                    f"{option(name)} is about a series; name its ledger with {option('series')}, or leave it out"
                )
        return None
    ledger = place(given["series"], ("series", "ledger"), "the ledger")
    return {"ledger": ledger, "kind": given.get("series_kind"), "wait": given.get("wait")}


def _is_spark(given: Mapping[str, Any]) -> bool:
    return str(given.get("engine", "")).startswith("spark")


def _header(data: Any, kind: str, given: Mapping[str, Any], to_save: bool) -> list[str]:
    """The columns of the data, none where there are none, where nobody can tell yet, or where nobody asks."""
    if _is_spark(given):
        return list(getattr(data, "columns", ()))
    if isinstance(data, Records):
        return []
    is_path = isinstance(data, str | os.PathLike)
    if not to_save and not any(name in given for name in _NAMING):
        return []
    form = given.get("format") or (format_of(os.fspath(data))[0] if is_path else None)
    if (
        kind in OF_SETS
        and form == "jsonl"
        and not any(given.get(n) for n in ("items", "id", "drop", "person", "sensitive"))
    ):
        return []
    try:
        return column_names(data, given.get("format"))
    except InputError:  # the run says it, with a remedy
        return []


def _roles(
    header: Sequence[str] | None, kind: str, given: Mapping[str, Any], guarantee: Any
) -> tuple[dict[str, str], dict[str, Any]]:
    """The role of each column that is named, and what else is said to be sensitive, as a plan has it.

    Texts with commas are taken apart by the header; without one, on standard input, they are left to the reader.
    """
    columns: dict[str, str] = {}
    names = header or ()

    def give(texts: Any, role: str) -> None:
        texts = texts_of(texts)
        for name in dict.fromkeys(texts if header is None else named_columns(texts, header)):
            if columns.get(name, role) != role:
                raise InputError(f"column {name!r} has two roles, {columns[name]} and {role}; name it once")
            columns[name] = role

    give(given.get("quasi"), "quasi")
    items = texts_of(given.get("items"))
    if kind in OF_SETS:
        columns |= dict.fromkeys(items, "items")
    elif kind != "diversity" or items != texts_of(given.get("sensitive")):  # where the cells hold sets of one value
        give(items, "items")
    give(given.get("keep"), "keep")
    give(given.get("drop"), "drop")
    for role in ("id", "person"):
        if role in given:
            give((given[role],) if given[role] in names else given[role], role)
    wanted, sensitive = given.get("sensitive"), list(getattr(guarantee, "sensitive", ()))
    texts = () if isinstance(wanted, os.PathLike) else texts_of(wanted)
    if kind in ("table", "diversity"):
        give(texts, "sensitive")
    elif len(texts) == 1 and texts[0] in names:
        columns[texts[0]] = "sensitive"
    elif kind in ("rt", "lm") and texts and set(named_columns(texts, names)) <= set(names):
        give(texts, "sensitive")
    elif isinstance(wanted, os.PathLike) or (isinstance(wanted, str) and (is_remote(wanted) or os.path.isfile(wanted))):
        return columns, {"sensitive_file": wanted, "sensitive_items": sorted(sensitive) or None}
    elif isinstance(wanted, str) and not sensitive:
        return columns, {"sensitive_items": wanted}
    else:
        sensitive = [*(comma_parts(wanted) if isinstance(wanted, str) else texts), *sorted(sensitive)]
        return columns, {"sensitive_items": sensitive or None}
    return columns, {"sensitive_items": sorted(sensitive) or None}


def _names(given: Any) -> Any:
    """Names as they were given, one or several: a list, an array or the columns of a data frame as well, whose names may be numbers."""
    if isinstance(given, str | os.PathLike):
        return given
    return tuple(map(str, given)) if isinstance(given, Iterable) else (str(given),)


def _is_empty(given: Any) -> bool:
    return isinstance(given, tuple | list) and not given


def _complete(columns: dict[str, str], names: Sequence[str], kind: str, source: str) -> None:
    """Adds the column of items that the readers would find by themselves."""
    if kind in ("rt", "lm"):
        if "items" in names and "items" not in columns:
            columns["items"] = "items"
    elif kind in OF_SETS:
        id = next((name for name, role in columns.items() if role == "id"), None)
        apart = tuple(name for name, role in columns.items() if role in ("drop", "person", "sensitive"))
        with contextlib.suppress(InputError):
            columns[SetRoles(id=id, drop=apart).set_column(names, source)] = "items"


def _specs(given: Any, columns: Mapping[str, str], place: Callable[[Any, Place, str], str]) -> Any:
    """A spec for all, or one for each column; a spec without a column is for the items."""

    def spec_of(spec: Any, at: Place) -> str:
        return spec if isinstance(spec, str) and is_made(spec) else place(spec, at, "a hierarchy")

    if given is None:
        return None
    if isinstance(given, Mapping):
        sets = "+".join(name for name, role in columns.items() if role == "items")
        return {name or sets: spec_of(spec, ("hierarchies", name or sets)) for name, spec in given.items()}
    return spec_of(given, ("hierarchies",))


def _promise(guarantee: Any, place: Callable[[Any, Place, str], str]) -> dict[str, Any]:
    numbers = {name: int(getattr(guarantee, name)) for name in ("k", "m", "l") if hasattr(guarantee, name)}
    limited = {name: min(number, LARGEST) for name, number in numbers.items()}
    settings = settings_of(guarantee)
    if "policy" in settings:
        policy = settings["policy"]
        settings["policy"] = place(policy.path or policy, ("guarantee", "policy"), "the policy")
    return {"model": guarantee.model, **limited, **settings}


def _plain(name: str, value: Any) -> Any:
    """A value as a plan holds it."""
    if isinstance(OPTIONS[name].kind, Numbers):
        return {key: float(number) for key, number in value.items()}
    if isinstance(OPTIONS[name].kind, Size):
        return str(value)
    return value.item() if hasattr(value, "item") else value
