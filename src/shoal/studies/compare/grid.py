"""The comparison file: a plan (version 1) whose key `compare` holds a grid, or a list of grids whose cells are taken together.

    compare:
      algorithm: [exact, aa, oa]
      k: [2, 5, 10]
      hierarchies: ["balanced:5", "frequency:5"]

An axis is a key of the promise (k, m, l), `algorithm`, `hierarchies`, or any key of `options`, with the values to try. It is read as
plans are: strictly, with the place of what is wrong. Axes that an algorithm has no use for are left out for it, and equal cells merged.
"""

from __future__ import annotations

import difflib
import itertools
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from shoal.algorithms import ALGORITHMS, Entry
from shoal.errors import InputError
from shoal.options import Place
from shoal.plan import Origin, Plan, json_schema, plan_of
from shoal.plan.faults import fault
from shoal.plan.model import Diversity, K, Km, Lm, Positive, Rt, RunOptions, Text
from shoal.plan.parse import read_document
from shoal.plan.places import line_of, sentence, shown
from shoal.studies.compare.cell import Cell, told_apart

MOST_CELLS = 100_000
"""More than anybody reads: a grid with a slip in it, rather."""

PROMISE = ("k", "m", "l")
EVERYWHERE = ("unknown", "threads", "memory_limit")
"""Options that every algorithm takes."""


@dataclass(frozen=True)
class Comparison:
    """A plan and the cells of its grid."""

    plan: Plan
    """What the cells have in common. Its own k, algorithm and so on are those of a cell that can be."""
    cells: tuple[Cell, ...]
    axes: tuple[str, ...]
    """What differs between cells, in the order in which it was named; `algorithm` first where there are several."""
    notes: tuple[str, ...] = ()

    @property
    def origin(self) -> Origin:
        return self.plan.origin


@cache
def grid_model() -> type[BaseModel]:
    """The model of one grid: lists of values. Options come from the plan's own, so that none is forgotten."""

    def values(kind: Any, description: str) -> Any:
        return Annotated[list[kind], Field(min_length=1)] | None, Field(default=None, description=description)

    axes: dict[str, Any] = {
        "algorithm": values(Text, "Algorithms of the plan's model."),
        **{name: values(Positive, f"Values of guarantee.{name}.") for name in PROMISE},
        "hierarchies": values(Text | dict[str, Text], "Each one value of the plan's key hierarchies."),
    }
    for name, known in RunOptions.model_fields.items():
        kind = next(part for part in get_args(known.annotation) if part is not type(None))
        axes[name] = values(kind, f"Values of options.{name}. {known.description or ''}".strip())
    config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)
    made: type[BaseModel] = create_model("Grid", __config__=config, __doc__="What to try; all combinations.", **axes)
    return made


def comparison_schema() -> dict[str, Any]:
    """The JSON Schema of comparison files, for editors and for pipelines that make them."""
    schema, grid = json_schema(), grid_model().model_json_schema()
    one = {"$ref": "#/$defs/Grid"}
    schema["$defs"] = schema.get("$defs", {}) | grid.pop("$defs", {}) | {"Grid": grid}
    schema["properties"]["compare"] = {
        "description": "The grid, or several whose cells are taken together. Without it, all algorithms of the model are compared.",
        "anyOf": [one, {"type": "array", "items": one, "minItems": 1}],
    }
    # What the grid gives need not stand in the promise.
    for promise in schema["$defs"].values():
        if "model" in promise.get("properties", {}):
            promise["required"] = [name for name in promise["required"] if name not in PROMISE]
    return schema | {"title": "Comparison"}


def read_comparison(path: str | os.PathLike[str]) -> Comparison:
    """The comparison in a file, YAML or (by its name, `.json`) JSON. Raises `InputError` for whatever is none."""
    return comparison_of(*read_document(path))


def comparison_of(document: Any, origin: Origin | None = None) -> Comparison:
    """The comparison that a document (a dict of dicts, as YAML and JSON give it) stands for."""
    origin = origin or Origin()
    if not isinstance(document, Mapping):
        plan_of(document, origin)  # which says what is wrong
    base = {key: value for key, value in document.items() if key not in ("compare", "outputs")}
    grids = _grids(document.get("compare"), origin) if "compare" in document else [_Grid(("compare",), {})]
    first = _filled(base, grids[0])
    _check_structure({**first, "outputs": document.get("outputs")}, origin)
    if "compare" not in document:
        grids = [_Grid((), {"algorithm": tuple(ALGORITHMS[_kind(first)])})]
    cells, left_out = _cells(base, grids, origin)
    sound = next((cell for cell in cells if cell.refused is None), None)
    if sound is None:
        plan_of(cells[0].document, origin)  # all are refused: the plan is wrong, and this says where
        raise InputError(f"{origin.name}: {cells[0].refused}")
    plan = plan_of(sound.document, origin)
    if plan.on_spark:
        raise plan.refusal(
            ("engine",), "a comparison computes its cells on this machine; leave it out, or take engine: local"
        )
    return Comparison(plan, tuple(cells), _axes(cells), _notes(left_out))


@dataclass(frozen=True)
class _Grid:
    place: Place
    axes: Mapping[str, tuple[Any, ...]]


def _grids(given: Any, origin: Origin) -> list[_Grid]:
    places: list[tuple[Place, Any]] = [(("compare",), given)]
    if isinstance(given, list):
        places = [(("compare", i), one) for i, one in enumerate(given)]
    if given is None or not places:
        raise InputError(
            sentence(origin, ("compare",), "it is empty; give axes such as k: [2, 5, 10], or leave it out")
        )
    found = []
    for place, one in places:
        try:
            model = grid_model().model_validate(one)
        except ValidationError as error:
            faults = [_fault(wrong, place, one) for wrong in error.errors(include_url=False)]
            where, message = min(faults, key=lambda wrong: line_of(origin, wrong[0]) or 0)
            raise InputError(sentence(origin, where, message)) from None
        named = {name: getattr(model, name) for name in one}
        found.append(_Grid(place, {name: tuple(values) for name, values in named.items() if values is not None}))
    return found


def _fault(found: Any, place: Place, document: Any) -> tuple[Place, str]:
    """As `plan.faults.fault`, of what stands in a grid."""
    kind, name = found["type"], str(found["loc"][0]) if found["loc"] else ""
    if kind == "extra_forbidden":
        known = list(grid_model().model_fields)
        near = difflib.get_close_matches(name, known, 1)
        hint = f"is {near[0]} meant?" if near else f"take one of {', '.join(known)}"
        return (*place, name), f"there is no such axis; {hint}"
    if kind == "too_short":
        return (*place, name), "it names no value; give a list such as [2, 5, 10], or leave it out"
    if kind == "list_type":
        return (*place, name), f"it is {shown(found['input'])}; give a list of values, such as [{_example(name)}]"
    where, message = fault(found, document if isinstance(document, Mapping) else {})
    return (*place, *where), message


def _example(name: str) -> str:
    return {"algorithm": "exact, aa", "hierarchies": "balanced:5, frequency:5"}.get(name, "2, 5, 10")


def _filled(base: Mapping[str, Any], grid: _Grid) -> dict[str, Any]:
    """The document with what its promise leaves to the grid: the largest value, for a cell that asks for too little is a row, too."""
    promise = base.get("guarantee")
    if not isinstance(promise, Mapping):
        return dict(base)
    missing = {
        name: max(grid.axes[name])
        for name in PROMISE
        if name in grid.axes and name not in promise and _has(promise.get("model"), name)
    }
    return {**base, "guarantee": {**promise, **missing}}


def _check_structure(document: Mapping[str, Any], origin: Origin) -> None:
    """Raises for keys and types that are wrong whatever the cell."""
    try:
        Plan.model_validate(dict(document))
    except ValidationError as error:
        faults = [fault(found, document) for found in error.errors(include_url=False)]
        place, message = min(faults, key=lambda found: line_of(origin, found[0]) or 0)
        raise InputError(message).worded(origin.mention).within(origin.where(place)) from None


def _kind(document: Mapping[str, Any]) -> str:
    return Plan.model_validate(dict(document)).kind


def _cells(
    base: Mapping[str, Any], grids: list[_Grid], origin: Origin
) -> tuple[list[Cell], dict[str, dict[str, None]]]:
    """The cells, each once, and per option the algorithms that have no use for it."""
    found: list[Cell] = []
    left_out: dict[str, dict[str, None]] = {}
    plain = Origin(origin.name, origin.folder)
    most = sum(_product(grid) for grid in grids)
    if most > MOST_CELLS:
        raise InputError(
            sentence(origin, ("compare",), f"it has {most:,} cells; give fewer values (at most {MOST_CELLS:,} cells)")
        )
    algorithms: dict[str, Entry] = {}
    for grid in grids:
        filled = _filled(base, grid)
        _check_structure(filled, origin)
        kind = _kind(filled)
        _check_axes(grid, filled, kind, origin)
        algorithms |= {name: ALGORITHMS[kind][name] for name in _algorithms(filled, grid, kind)}
    _check_options(base, algorithms, origin)
    seen: set[Any] = set()
    for grid in grids:
        filled = _filled(base, grid)
        for document in _documents(filled, grid, _kind(filled), left_out):
            cell = Cell.of(document, plain)
            if cell.identity not in seen:
                seen.add(cell.identity)
                found.append(cell)
    return told_apart(found), left_out


def _product(grid: _Grid) -> int:
    size = 1
    for values in grid.axes.values():
        size *= len(values)
    return size


def _algorithms(document: Mapping[str, Any], grid: _Grid, kind: str) -> tuple[str, ...]:
    return grid.axes.get("algorithm") or (document.get("algorithm") or next(iter(ALGORITHMS[kind])),)


def _check_axes(grid: _Grid, document: Mapping[str, Any], kind: str, origin: Origin) -> None:
    """Raises for axes of which no cell has a use: a slip, which would be a grid smaller than it looks."""
    known, model = ALGORITHMS[kind], document["guarantee"]["model"]
    algorithms = _algorithms(document, grid, kind)
    for i, name in enumerate(algorithms):
        if name not in known:
            place = (*grid.place, "algorithm", i) if "algorithm" in grid.axes else ("algorithm",)
            words = "tables" if kind == "table" else f"model {kind}"
            raise InputError(
                sentence(origin, place, f"{shown(name)} is not known for {words}; choose one of {', '.join(known)}")
            )
    takes = {option for name in algorithms for option in known[name].options} | {*EVERYWHERE}
    for axis in grid.axes:
        place = (*grid.place, axis)
        if axis in PROMISE and not _has(model, axis):
            raise InputError(sentence(origin, place, f"it has no meaning with model {model}; leave it out"))
        if axis in RunOptions.model_fields and axis not in takes:
            raise InputError(
                sentence(origin, place, f"none of the algorithms ({', '.join(algorithms)}) takes it; leave it out")
            )


def _check_options(base: Mapping[str, Any], algorithms: Mapping[str, Entry], origin: Origin) -> None:
    """Raises for an option of the plan that no cell of any grid has a use for."""
    takes = {option for home in algorithms.values() for option in home.options} | {*EVERYWHERE}
    for option, value in (base.get("options") or {}).items():
        if value is not None and option not in takes:
            message = f"none of the algorithms ({', '.join(algorithms)}) takes it; leave it out"
            raise InputError(sentence(origin, ("options", option), message))


def _has(model: Any, parameter: str) -> bool:
    known: dict[str, type[BaseModel]] = {"km": Km, "k": K, "rt": Rt, "lm": Lm, "diversity": Diversity}
    return isinstance(model, str) and model in known and parameter in known[model].model_fields


def _documents(
    base: Mapping[str, Any], grid: _Grid, kind: str, left_out: dict[str, dict[str, None]]
) -> Iterator[dict[str, Any]]:
    """The plans of a grid, in the order of its axes, the first changing slowest."""
    axes = {"algorithm": _algorithms(base, grid, kind)} | dict(grid.axes)
    order = [name for name in (*grid.axes, "algorithm") if name in axes]
    order = list(dict.fromkeys(order))
    for values in itertools.product(*(axes[name] for name in order)):
        chosen = dict(zip(order, values, strict=True))
        name = chosen.pop("algorithm")
        takes = {*ALGORITHMS[kind][name].options, *EVERYWHERE}
        document = {**base, "guarantee": dict(base["guarantee"]), "options": dict(base.get("options") or {})}
        document["algorithm"] = name
        for axis, value in chosen.items():
            if axis in PROMISE:
                document["guarantee"][axis] = value
            elif axis == "hierarchies":
                document[axis] = value
            else:
                document["options"][axis] = value
        for option in [option for option in document["options"] if option not in takes]:
            left_out.setdefault(option, {})[name] = None
            del document["options"][option]
        yield document


def _axes(cells: list[Cell]) -> tuple[str, ...]:
    """The settings in which cells differ."""
    names = list(dict.fromkeys(name for cell in cells for name in cell.settings))

    def differs(name: str) -> bool:
        having = [cell for cell in cells if name in cell.settings]
        users = {cell.settings["algorithm"] for cell in having}  # an algorithm with and without it differs, too
        among = [cell for cell in cells if cell.settings["algorithm"] in users]
        return len(having) < len(among) or len({repr(cell.settings[name]) for cell in having}) > 1

    return tuple(name for name in names if differs(name))


def _notes(left_out: Mapping[str, Mapping[str, None]]) -> tuple[str, ...]:
    return tuple(
        f"{option} is left out for {', '.join(names)}, which {'has' if len(names) == 1 else 'have'} no use for it"
        for option, names in left_out.items()
    )
