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
import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Annotated, Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from shoal.algorithms import ALGORITHMS, Entry
from shoal.errors import InputError, near_miss
from shoal.options import Place
from shoal.plan import Origin, Plan, json_schema, plan_of
from shoal.plan.faults import fault
from shoal.plan.model import Chunks, Constraints, Diversity, K, Km, Lm, Positive, Rt, RunOptions, Text
from shoal.plan.parse import read_document
from shoal.plan.places import line_of, short_form
from shoal.studies.compare.cell import Cell, distinguish

MOST_CELLS = 100_000
"""More than anybody reads: a grid with a slip in it, rather."""

T = TypeVar("T", bound=BaseModel)

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
    is_field: bool = False
    """Whether it is between all algorithms, ranked by what they keep."""

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


def read_comparison(path: str | os.PathLike[str], *, field: bool = False) -> Comparison:
    """The comparison in a file, YAML or (by its name, `.json`) JSON. Raises `InputError` for whatever is none."""
    return comparison_of(*read_document(path), field=field)


def comparison_of(document: Any, origin: Origin | None = None, *, field: bool = False) -> Comparison:
    """The comparison that a document (a dict of dicts, as YAML and JSON give it) stands for; with `field`, between all algorithms that
    there are for its promise, whichever it names."""
    origin = origin or Origin()
    if not isinstance(document, Mapping):
        plan_of(document, origin)  # which says what is wrong
    base = {key: value for key, value in document.items() if key not in ("compare", "outputs")}
    axes = _axes_in(document["compare"], origin) if "compare" in document else {("compare",): {}}
    first = _filled(base, next(iter(axes.values())))
    kind = _kind({**first, "outputs": document.get("outputs")}, origin)
    if "compare" not in document:
        axes = {(): {"algorithm": tuple(ALGORITHMS[kind])}}
    elif field:
        axes = {place: {**one, "algorithm": tuple(ALGORITHMS[kind])} for place, one in axes.items()}
    grids = [_Grid.of(place, one, base, origin) for place, one in axes.items()]
    cells, left_out = _cells(grids, base, origin)
    sound = next((cell for cell in cells if cell.refused is None), None)
    if sound is None:
        plan_of(cells[0].document, origin)  # all are refused: the plan is wrong, and this says where
        raise InputError(f"{origin.name}: {cells[0].refused}")
    plan = plan_of(sound.document, origin)
    if plan.on_spark:
        raise plan.refusal(
            ("engine",), "a comparison computes its cells on this machine; leave it out, or take engine: local"
        )
    notes = tuple(
        f"{option} is left out for {', '.join(names)}, which {'has' if len(names) == 1 else 'have'} no use for it"
        for option, names in left_out.items()
    )
    return Comparison(plan, tuple(cells), _axes(cells), notes, field)


Axes = Mapping[str, tuple[Any, ...]]


def _axes_in(given: Any, origin: Origin) -> dict[Place, Axes]:
    """The axes of each grid, by its place."""
    grids: dict[Place, Any] = {("compare",): given}
    if isinstance(given, list):
        grids = {("compare", i): one for i, one in enumerate(given)}
    if given is None or not grids:
        raise _refusal(origin, ("compare",), "it is empty; give axes such as k: [2, 5, 10], or leave it out")
    axes: dict[Place, Axes] = {}
    for place, one in grids.items():
        model = _validated(grid_model(), one, partial(_fault, place=place, document=one), origin)
        named = {name: getattr(model, name) for name in one}
        axes[place] = {name: tuple(values) for name, values in named.items() if values is not None}
    most = sum(math.prod(map(len, one.values())) for one in axes.values())
    if most > MOST_CELLS:
        raise _refusal(origin, ("compare",), f"it has {most:,} cells; give fewer values (at most {MOST_CELLS:,} cells)")
    return axes


def _validated(model: type[T], document: Any, fault_of: Callable[[Any], tuple[Place, str]], origin: Origin) -> T:
    """A document as a model of pydantic; what comes first of what is wrong with it is refused with its place."""
    try:
        return model.model_validate(document)
    except ValidationError as error:
        faults = [fault_of(wrong) for wrong in error.errors(include_url=False)]
        place, message = min(faults, key=lambda wrong: line_of(origin, wrong[0]) or 0)
        raise _refusal(origin, place, message) from None


def _refusal(origin: Origin, place: Place, message: str) -> InputError:
    return InputError(message).in_words(origin.mention).within(origin.where(place))


def _fault(wrong: Any, place: Place, document: Any) -> tuple[Place, str]:
    """As `plan.faults.fault`, of what stands in a grid."""
    kind, name = wrong["type"], str(wrong["loc"][0]) if wrong["loc"] else ""
    if kind == "extra_forbidden":
        known = list(grid_model().model_fields)
        near = difflib.get_close_matches(name, known, 1)
        hint = f"is {near[0]} meant?" if near else f"take one of {', '.join(known)}"
        return (*place, name), f"there is no such axis; {hint}"
    if kind == "too_short":
        return (*place, name), "it names no value; give a list such as [2, 5, 10], or leave it out"
    if kind == "list_type":
        examples = {"algorithm": "exact, aa", "hierarchies": "balanced:5, frequency:5"}
        example = examples.get(name, "2, 5, 10")
        return (*place, name), f"it is {short_form(wrong['input'])}; give a list of values, such as [{example}]"
    where, message = fault(wrong, document if isinstance(document, Mapping) else {})
    return (*place, *where), message


def _filled(base: Mapping[str, Any], axes: Axes) -> dict[str, Any]:
    """The document with what its promise leaves to the grid: the largest value, for a cell that asks for too little is a row, too."""
    promise = base.get("guarantee")
    if not isinstance(promise, Mapping):
        return dict(base)
    missing = {
        name: max(axes[name])
        for name in PROMISE
        if name in axes and name not in promise and _has(promise.get("model"), name)
    }
    return {**base, "guarantee": {**promise, **missing}}


def _kind(document: Mapping[str, Any], origin: Origin) -> str:
    """The kind of plan that a document stands for. Raises for keys and types that are wrong whatever the cell."""
    return _validated(Plan, dict(document), lambda wrong: fault(wrong, document), origin).kind


def _has(model: Any, parameter: str) -> bool:
    known: dict[str, type[BaseModel]] = {
        "km": Km,
        "k": K,
        "rt": Rt,
        "lm": Lm,
        "diversity": Diversity,
        "constraints": Constraints,
        "chunks": Chunks,
    }
    return isinstance(model, str) and model in known and parameter in known[model].model_fields


@dataclass(frozen=True)
class _Grid:
    """A grid with the plan that it varies."""

    axes: Axes
    document: Mapping[str, Any]
    algorithms: Mapping[str, Entry]

    @classmethod
    def of(cls, place: Place, axes: Axes, base: Mapping[str, Any], origin: Origin) -> _Grid:
        """Raises for algorithms that there are not, and for axes of which no cell has a use: a slip, which would be a smaller grid than
        it looks."""
        document = _filled(base, axes)
        kind, model = _kind(document, origin), document["guarantee"]["model"]
        known = ALGORITHMS[kind]
        names = axes.get("algorithm") or (document.get("algorithm") or next(iter(known)),)
        for i, name in enumerate(names):
            if name not in known:
                at = (*place, "algorithm", i) if "algorithm" in axes else ("algorithm",)
                words = "tables" if kind == "table" else f"model {kind}"
                message = f"{short_form(name)} is not known for {words}; {near_miss(name, known)}choose one of {', '.join(known)}"
                raise _refusal(origin, at, message)
        grid = cls(axes, document, {name: known[name] for name in names})
        for axis in axes:
            if axis in PROMISE and not _has(model, axis):
                raise _refusal(origin, (*place, axis), f"it has no meaning with model {model}; leave it out")
            if axis in RunOptions.model_fields:
                _check_taken(axis, grid.algorithms, (*place, axis), origin)
        return grid

    def documents(self, left_out: dict[str, dict[str, None]]) -> Iterator[dict[str, Any]]:
        """The plans of the grid, in the order of its axes, the first changing slowest."""
        axes = {**self.axes, "algorithm": tuple(self.algorithms)}
        for values in itertools.product(*axes.values()):
            chosen = dict(zip(axes, values, strict=True))
            name = chosen.pop("algorithm")
            options = dict(self.document.get("options") or {})
            document = {**self.document, "guarantee": dict(self.document["guarantee"]), "algorithm": name}
            for axis, value in chosen.items():
                place = document["guarantee"] if axis in PROMISE else document if axis == "hierarchies" else options
                place[axis] = value
            useless = [option for option in options if option not in (*self.algorithms[name].options, *EVERYWHERE)]
            for option in useless:
                left_out.setdefault(option, {})[name] = None
            yield document | {"options": {key: value for key, value in options.items() if key not in useless}}


def _check_taken(option: str, algorithms: Mapping[str, Entry], place: Place, origin: Origin) -> None:
    """Raises for an option that no algorithm has a use for."""
    if option not in EVERYWHERE and not any(option in entry.options for entry in algorithms.values()):
        message = f"none of the algorithms ({', '.join(algorithms)}) takes it; leave it out"
        raise _refusal(origin, place, message)


def _cells(
    grids: list[_Grid], base: Mapping[str, Any], origin: Origin
) -> tuple[list[Cell], dict[str, dict[str, None]]]:
    """The cells, each once, and per option the algorithms that have no use for it."""
    algorithms = {name: entry for grid in grids for name, entry in grid.algorithms.items()}
    for option, value in (base.get("options") or {}).items():
        if value is not None:
            _check_taken(option, algorithms, ("options", option), origin)
    cells: dict[str, Cell] = {}
    left_out: dict[str, dict[str, None]] = {}
    plain = Origin(origin.name, origin.folder)
    for grid in grids:
        for document in grid.documents(left_out):
            cell = Cell.of(document, plain)
            cells.setdefault(cell.identity, cell)
    return distinguish(list(cells.values())), left_out


def _axes(cells: list[Cell]) -> tuple[str, ...]:
    """The settings in which cells differ."""
    names = list(dict.fromkeys(name for cell in cells for name in cell.settings))

    def differs(name: str) -> bool:
        having = [cell for cell in cells if name in cell.settings]
        users = {cell.settings["algorithm"] for cell in having}  # an algorithm with and without it differs, too
        among = [cell for cell in cells if cell.settings["algorithm"] in users]
        return len(having) < len(among) or len({repr(cell.settings[name]) for cell in having}) > 1

    return tuple(name for name in names if differs(name))
