"""Writing plans: as YAML, and from the arguments of `shoal.anonymize`, so that flags can show the plan they stand for."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from shoal.algorithms import kind_of
from shoal.errors import InputError
from shoal.hierarchy.spec import is_made
from shoal.plan.model import Plan
from shoal.plan.read import plan_of
from shoal.records.columns import comma_parts, named_columns, numeric_columns
from shoal.records.database.address import is_address, moved, queried, without_password
from shoal.records.layout import format_of
from shoal.records.storage.streams import display_name


def plan_yaml(plan: Plan) -> str:
    """The plan as YAML, without what it leaves open."""
    return yaml_text(plan.model_dump(exclude_defaults=True))


def yaml_text(document: Mapping[str, Any]) -> str:
    """A document as YAML, names in their own script."""

    def dumped(allow_unicode: bool) -> str:
        text: str = yaml.safe_dump(
            document, sort_keys=False, width=10**9, default_flow_style=False, allow_unicode=allow_unicode
        )
        return text

    text = dumped(True)
    # YAML takes some rare characters (U+0085, U+2028) for ends of lines; then all names are spelled out.
    return text if yaml.safe_load(text) == document else dumped(False)


def plan_from(
    data: Any,
    guarantee: Any,
    *,
    output: str | os.PathLike[str] | None = None,
    certificate: str | os.PathLike[str] | None = None,
    rules: str | os.PathLike[str] | None = None,
    report: str | os.PathLike[str] | None = None,
    sign: str | os.PathLike[str] | None = None,
    folder: str = "",
    hierarchy: Any = None,
    algorithm: str | None = None,
    sensitive: Any = None,
    quasi: Any = None,
    keep: Any = None,
    items: Any = None,
    id: str | None = None,
    drop: Any = None,
    separator: str | None = None,
    format: str | None = None,
    numeric: Any = None,
    query: str | None = None,
    input_limit: str | None = None,
    keep_order: bool = False,
    engine: str | None = None,
    progress: Any = None,
    **options: Any,
) -> Plan:
    """The plan that stands for `anonymize(data, guarantee, ...)` followed by `write(output, certificate, rules, sign=sign, report=report)`.

    Takes the arguments of `shoal.anonymize`. Paths are taken as they are given, or, if the plan is to lie in another `folder`, made
    relative to it. Passwords in addresses are left out. What only lives in memory (data frames, Hierarchy objects, mined
    rules) has no path and is refused.
    """
    source = str(queried(_given_path(data, "the data"), query))
    kind = kind_of(guarantee)
    on_spark = engine is not None and engine.startswith("spark")  # where the columns are is known there
    names = [] if on_spark else _columns_of(source, format, kind, any((items, id, drop, sensitive)))
    columns = _roles(
        names,
        {"quasi": quasi, "items": items if kind not in ("km", "k") else items and (items,), "keep": keep, "drop": drop},
    )
    if id is not None:
        _give(columns, id, "id")
    wanted, file, marked = _sensitive_parts(sensitive, names, kind)
    for name in wanted:
        _give(columns, name, "sensitive")
    if also := sorted(getattr(guarantee, "sensitive", ())):
        marked = [*(comma_parts(marked) if isinstance(marked, str) else marked), *also]
    _complete(columns, names, kind, items, display_name(source))
    ordered = {name: columns[name] for name in [*names, *columns] if name in columns}

    def there(path: Any, what: str = "a file") -> str | None:
        return None if path is None else relative_path(without_password(_given_path(path, what)), folder)

    for name in ("weights", "item_weights", "fuzzy"):
        if options.get(name) is not None:
            options[name] = {key: float(value) for key, value in options[name].items()}
    options["knowledge"] = there(options.get("knowledge"))
    if getattr(guarantee, "rules", None) is not None:
        raise InputError("rules that were mined in memory have no path; give them as a file (knowledge)")
    document: dict[str, Any] = {
        "version": 1,
        "input": {
            "path": there(data),
            "query": query,
            "format": format,
            "separator": separator,
            "numeric": numeric_columns(None if numeric is None else _texts(numeric), names),
            "limit": None if input_limit is None else str(input_limit),
        },
        "columns": ordered,
        "sensitive_items": marked or None,
        "sensitive_file": there(file),
        "hierarchies": _specs(hierarchy, columns, folder),
        "guarantee": {"model": guarantee.model}
        | {name: int(getattr(guarantee, name)) for name in ("k", "m", "l") if hasattr(guarantee, name)}
        | ({"missing": guarantee.missing} if getattr(guarantee, "missing", "unknown") != "unknown" else {}),
        "algorithm": algorithm,
        "engine": engine,
        "options": {name: value for name, value in options.items() if value is not None},
        "outputs": None
        if output is None
        else {
            "data": there(output),
            "certificate": there(certificate),
            "rules": there(rules),
            "report": there(report),
            "sign": there(sign),
        },
        "keep_order": keep_order,
    }
    return plan_of(document)


def _given_path(given: Any, what: str) -> str:
    if not isinstance(given, str | os.PathLike):
        raise InputError(f"{what} is a {type(given).__name__} in memory; a plan holds paths: write it to a file first")
    return os.fspath(given)


def relative_path(path: str, folder: str) -> str:
    """A path from here as a plan in `folder` has to give it; absolute ones, standard streams and addresses stay as they are."""
    if is_address(path):
        return moved(path, lambda file: relative_path(file, folder))
    if not folder or path == "-" or "://" in path or os.path.isabs(path):
        return path
    return os.path.relpath(path, folder)


def _texts(given: Any) -> tuple[str, ...]:
    if given is None:
        return ()
    return (given,) if isinstance(given, str) else tuple(given)


def _columns_of(source: str, format: str | None, kind: str, asked: bool) -> list[str]:
    """The columns of the data, none where there are none or where nobody can tell yet."""
    from shoal.records.formats.peek import column_names

    if "://" in source and not is_address(source):
        return []
    if kind in ("km", "k") and not asked and (format or format_of(source)[0]) == "jsonl":
        return []
    try:
        return column_names(source, format)
    except InputError:  # the run says it, with a remedy
        return []


def _roles(names: Sequence[str], given: Mapping[str, Any]) -> dict[str, str]:
    columns: dict[str, str] = {}
    for role, texts in given.items():
        for name in dict.fromkeys(named_columns(_texts(texts), names)):
            _give(columns, name, role)
    return columns


def _give(columns: dict[str, str], name: str, role: str) -> None:
    if columns.get(name, role) != role:
        raise InputError(f"column {name!r} has two roles, {columns[name]} and {role}; name it once")
    columns[name] = role


def _sensitive_parts(given: Any, names: Sequence[str], kind: str) -> tuple[list[str], str | None, str | list[str]]:
    """What is said to be sensitive: columns, a file with items, items."""
    if given is None:
        return [], None, []
    if isinstance(given, os.PathLike):
        return [], os.fspath(given), []
    texts = _texts(given)
    if kind in ("table", "diversity"):
        return named_columns(texts, names), None, []
    if len(texts) == 1 and texts[0] in names:
        return [texts[0]], None, []
    if isinstance(given, str):
        return ([], given, []) if os.path.isfile(given) else ([], None, given)
    return [], None, list(texts)


def _complete(columns: dict[str, str], names: Sequence[str], kind: str, items: Any, source: str) -> None:
    """Adds the column of items that the readers would find by themselves."""
    if items or not names:
        return
    if kind in ("rt", "lm"):
        if "items" in names and "items" not in columns:
            columns["items"] = "items"
    elif kind in ("km", "k"):
        from shoal.records.columns import Choice, set_column

        id = next((name for name, role in columns.items() if role == "id"), None)
        apart = tuple(name for name, role in columns.items() if role in ("drop", "sensitive"))
        with contextlib.suppress(InputError):
            columns[set_column(names, Choice(None, id, None, apart), source)] = "items"


def _specs(given: Any, columns: Mapping[str, str], folder: str) -> Any:
    if given is None:
        return None
    if isinstance(given, Mapping):
        sets = [name for name, role in columns.items() if role == "items"]
        # A spec without a column is for the items.
        return {name or "+".join(sets): _spec(spec, folder) for name, spec in given.items()}
    return _spec(given, folder)


def _spec(given: Any, folder: str) -> str:
    text = _given_path(given, "a hierarchy")
    return text if is_made(text) else relative_path(text, folder)
