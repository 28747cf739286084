"""The plan itself: the one request for a release. One pydantic model, version 1, from which the JSON Schema comes.

It is strict: unknown keys and other types than those named are refused. A promise has its own parameters by model, so that `m` beside
`model: k` is an unknown key. Options come from the table of options (`shoal.options`).

A plan is read from a file, or made from the arguments of a call (`shoal.plan.ask`). One that was made may hold what only lives in
memory, such as a data frame: it runs like any other, and cannot be saved.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from types import GenericAlias
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, create_model

from shoal.errors import InputError, Unreachable
from shoal.guarantees.registry import guarantee_from, kind_for, kind_of
from shoal.hierarchy.spec import is_made
from shoal.limits import limited_inputs
from shoal.options import (
    KEYWORDS,
    LARGEST,
    LONGEST,
    OPTIONS,
    Choice,
    Choices,
    Kind,
    Numbers,
    Place,
    Seconds,
    Share,
    Whole,
    Widths,
    help_of,
)
from shoal.plan.places import Asked, Origin, in_plan
from shoal.plan.policy_file import read_policy
from shoal.records.database.address import is_address, with_path, with_query
from shoal.records.formats.one_hot import ITEMS, OneHot
from shoal.records.roles import NO_COLUMN

Text = Annotated[str, Field(min_length=1, pattern=r"^[^\x00]*$")]
Positive = Annotated[int, Field(ge=1, le=LARGEST)]
Crowd = Annotated[int, Field(ge=2, le=LARGEST)]
Role = Literal["quasi", "items", "sensitive", "keep", "drop", "id", "person"]
ROLES: tuple[str, ...] = ("quasi", "items", "sensitive", "keep", "drop", "id", "person")


def plan_help(name: str) -> str:
    """The help of an option in the words of plans."""
    return help_of(name).render(in_plan).replace("`", "")


def _no_columns(given: Any) -> Any:
    """The word for no column as a list without any."""
    return [] if given == NO_COLUMN else given


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, defer_build=True)


class Input(_Part):
    """What is read."""

    path: Text = Field(
        description="The data, relative to the plan's folder; - for standard input; postgresql://... or sqlite:... for a database, "
        "without a password."
    )
    query: Text | None = Field(
        default=None, description="A SELECT to ask of a database whose address names no table (?table=NAME)."
    )
    format: Literal["dat", "csv", "tsv", "long", "jsonl", "parquet", "arrow"] | None = Field(
        default=None, description=plan_help("format")
    )
    separator: Text | None = Field(default=None, description=plan_help("separator"))
    numeric: Annotated[list[Text], BeforeValidator(_no_columns)] | None = Field(
        default=None, description=plan_help("numeric")
    )
    spelling: dict[str, Literal["comma", "point", "dmy", "mdy", "ymd"]] | None = Field(
        default=None, description=plan_help("spelling")
    )
    one_hot: bool | list[Text] | None = Field(
        default=None,
        description="Every item has a column, which says 1 or true where a row holds it: true for all columns that the plan does not "
        "name, or a list of those that are (there, counts are taken as well). They are read as one column of sets, items.",
    )
    limit: Text | None = Field(default=None, description=plan_help("input_limit"))
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = Field(
        default=None,
        description="The hash of the file's bytes, or of a table's rows in any order. Data that differ are refused.",
    )


Missing = Literal["unknown", "value"]
"""What a missing sensitive value is: any value, which counts for none, or a value of its own."""
Distance = Literal["equal", "ordered"]
"""How far two sensitive values are from each other."""


class Km(_Part):
    """Whoever knows up to m items of a person faces at least k rows."""

    model: Literal["km"]
    k: Positive
    m: Positive


class K(_Part):
    """Every row is equal to k - 1 others: in all items, or, where columns are quasi-identifiers, in those."""

    model: Literal["k"]
    k: Crowd
    l: Positive = Field(default=1, description="Different sensitive values in every class of equal rows.")  # noqa: E741
    l_kind: Literal["distinct", "frequency"] | None = Field(default=None, description=plan_help("l_kind"))
    t: Annotated[float, Field(ge=0, le=1)] | None = Field(default=None, description=plan_help("t"))
    distance: Distance | dict[str, Distance] | None = Field(default=None, description=plan_help("distance"))
    missing: Missing | dict[str, Missing] | None = Field(default=None, description=plan_help("missing"))


class Rt(_Part):
    """Whoever knows all quasi-identifiers and up to m items of a person faces at least k rows."""

    model: Literal["rt"]
    k: Positive
    m: Positive
    t: Annotated[float, Field(ge=0, le=1)] | None = Field(default=None, description=plan_help("t"))
    distance: Distance | dict[str, Distance] | None = Field(default=None, description=plan_help("distance"))
    missing: Missing | dict[str, Missing] | None = Field(default=None, description=plan_help("missing"))


class Lm(_Part):
    """As rt, and no sensitive item or value is likelier than 1/l."""

    model: Literal["lm"]
    k: Positive
    m: Positive
    l: Positive  # noqa: E741
    l_kind: Literal["frequency"] | None = Field(
        default=None, description="`frequency`: what l counts beside items; it need not be said."
    )
    t: Annotated[float, Field(ge=0, le=1)] | None = Field(default=None, description=plan_help("t"))
    distance: Distance | dict[str, Distance] | None = Field(default=None, description=plan_help("distance"))
    missing: Missing | dict[str, Missing] | None = Field(default=None, description=plan_help("missing"))


class Diversity(_Part):
    """At least l sensitive values stay possible for every row, for an attacker who knows the rules."""

    model: Literal["diversity"]
    l: Crowd  # noqa: E741
    missing: Missing | dict[str, Missing] | None = Field(default=None, description=plan_help("missing"))


class Constraints(_Part):
    """Whoever knows items that a policy protects together faces at least k rows."""

    model: Literal["constraints"]
    k: Crowd
    policy: Text = Field(description=plan_help("policy"))


class Chunks(_Part):
    """In chunks of items: up to m known items leave k records of a cluster possible."""

    model: Literal["chunks"]
    k: Positive
    m: Positive


def _type_of(kind: Kind) -> Any:
    match kind:
        case Whole(least, most):
            return Annotated[int, Field(ge=least, le=LARGEST if most is None else most)]
        case Share(least=least, most=most):
            return Annotated[float, Field(ge=least, le=most)]
        case Seconds():
            return Annotated[float, Field(gt=0, le=LONGEST)]
        case Numbers(most=most):
            return dict[str, Annotated[float, Field(ge=0, le=most)]]
        case Widths():
            return dict[str, Text | Annotated[float, Field(gt=0)]]
        case Choices(words):
            return GenericAlias(dict, (str, Literal[words]))
        case Choice(words):
            return Literal[words]
        case _:
            return Text


_RUN_OPTIONS: dict[str, Any] = {
    name: (_type_of(option.kind) | None, Field(default=None, description=plan_help(name)))
    for name, option in OPTIONS.items()
    if option.place[0] == "options"
}

if TYPE_CHECKING:

    class RunOptions(_Part):
        """What the algorithm may do."""

        def __getattr__(self, name: str) -> Any: ...

else:
    RunOptions = create_model(
        "RunOptions",
        __base__=_Part,
        __doc__="What the algorithm may do. Each option is for certain algorithms; the others refuse it.",
        **_RUN_OPTIONS,
    )


class Outputs(_Part):
    """What is written. The files, or the table and the files, appear together or not at all."""

    data: Text = Field(description=plan_help("output"))
    certificate: Text | None = Field(
        default=None, description="Beside the data unless given; a table needs one to be given."
    )
    rules: Text | None = Field(default=None, description=plan_help("rules"))
    report: Text | None = Field(default=None, description=f"{plan_help('report')} Not with engine: spark.")
    sign: Text | None = Field(
        default=None, description="The file of the ed25519 private key to sign the certificate with."
    )


class Series(_Part):
    """The series of releases that this one belongs to."""

    ledger: Text = Field(description=plan_help("series"))
    kind: Literal["batches", "snapshots"] | None = Field(default=None, description=plan_help("series_kind"))
    wait: Annotated[int, Field(ge=0, le=10_000)] | None = Field(default=None, description=plan_help("wait"))


Promise = Annotated[Km | K | Rt | Lm | Diversity | Constraints | Chunks, Field(discriminator="model")]


class Plan(_Part):
    """A release, written down: what is read, what is promised, how, and what is written.

    Attributes:
        guarantee: The promise: its model and its numbers.

    >>> import shoal
    >>> plan = shoal.Plan(version=1, input={"path": "baskets.csv"}, guarantee={"model": "km", "k": 5, "m": 2})
    >>> str(plan.promise), plan.keywords()
    ('5^2-anonymity', {})
    """

    version: Literal[1] = Field(description="Of this format.")
    input: Input
    columns: dict[str, Role | None] = Field(
        default_factory=dict,
        description="The role of every column: quasi (an attacker may know it), items (sets), sensitive (an attacker wants to learn "
        "it), keep (published as it is), drop (identifiers; not even read), id (says which rows are one record, and is not published), "
        "person (says whose a row is; counted by, and not published). A column without a role stops the run.",
    )
    sensitive_items: Text | list[Text] | None = Field(
        default=None, description="Items that an attacker wants to learn, as a list or with commas between them."
    )
    sensitive_file: Text | None = Field(default=None, description="A file with one sensitive item on each line.")
    hierarchies: Text | dict[str, Text] | None = Field(
        default=None,
        description="A hierarchy per column, or one for the items: a file, learned:N (items alone), frequency:N, balanced:N, prefix, and "
        "for columns also bands:10, round:5, top:90, intervals:5,10,20, bands, dates, durations, mask and named:N.",
    )
    guarantee: Promise
    algorithm: Text | None = Field(default=None, description="The first of its model unless given.")
    engine: Annotated[str, Field(pattern=r"^(local|spark(=.+)?)$")] | None = Field(
        default=None,
        description="Where the counting runs: local unless given, or spark, spark=MASTER. On Spark, input and output are Parquet folders "
        "or table:NAME.",
    )
    options: RunOptions = Field(default_factory=RunOptions)
    series: Series | None = Field(
        default=None, description="The series that the release belongs to, if it is not alone."
    )
    outputs: Outputs | None = Field(
        default=None, description="Without them, a run only shows what the release would cost."
    )
    keep_order: bool = Field(default=False, description=plan_help("keep_order"))

    _origin: Origin = PrivateAttr(default_factory=Origin)
    _memory: dict[Place, Any] = PrivateAttr(default_factory=dict)

    def __eq__(self, other: object) -> bool:
        """Whether they say the same, wherever they were read."""
        return isinstance(other, Plan) and self.model_dump() == other.model_dump()

    @property
    def origin(self) -> Origin:
        return self._origin

    @property
    def is_asked(self) -> bool:
        """Whether it was made from options, and not read."""
        return isinstance(self._origin, Asked)

    @property
    def memory(self) -> Mapping[Place, Any]:
        """What lives in memory alone, by its place: data, trees, a guarantee that holds mined rules."""
        return self._memory

    @property
    def kind(self) -> str:
        """The kind of its promise: its model, but k-anonymity of tables is a kind of its own."""
        if ("guarantee",) in self._memory:
            return kind_of(self._memory["guarantee",])
        return kind_for(self.guarantee.model, has_quasi=bool(self.of_role("quasi")))

    @property
    def on_spark(self) -> bool:
        return self.engine is not None and self.engine.startswith("spark")

    @property
    def ledger(self) -> str | None:
        """The path of the ledger of its series, if it belongs to one."""
        return None if self.series is None else self.path_of(self.series.ledger)

    def of_role(self, role: str) -> tuple[str, ...]:
        """The columns with a role, in the order in which they stand."""
        return tuple(name for name, given in self.columns.items() if given == role)

    @property
    def data(self) -> Any:
        """What is read: a path, an address with the query that is asked there, or what is in memory."""
        held = self._memory.get(("input", "path"))
        return with_query(self.path_of(self.input.path) if held is None else held, self.input.query)

    @property
    def content(self) -> Any:
        """The data as they are read: where each item has a column, as one column of sets."""
        hot = self.input.one_hot
        if not hot:
            return self.data
        apart = tuple(name for name in self.columns if name != ITEMS)
        return OneHot(self.data, apart, tuple(hot) if isinstance(hot, list) else ())

    @property
    def promise(self) -> Any:
        """The guarantee that it asks for."""
        if ("guarantee",) in self._memory:
            return self._memory["guarantee",]
        facts = self.guarantee.model_dump(exclude={"model"})
        if isinstance(self.guarantee, Constraints):
            facts["policy"] = read_policy(self.path_of(self.guarantee.policy))
        return guarantee_from(self.kind, facts)

    @property
    def hierarchy(self) -> Any:
        """One spec or tree, or one for each column."""
        given = self.hierarchies
        if isinstance(given, str):
            return self._tree(("hierarchies",), given)
        if given is None:
            return None
        trees = {name: self._tree(("hierarchies", name), spec) for name, spec in given.items()}
        return next(iter(trees.values()), None) if self.kind == "km" else trees

    def _tree(self, place: Place, spec: str) -> Any:
        held = self._memory.get(place)
        return held if held is not None else spec if is_made(spec) else self.path_of(spec)

    @property
    def sensitive(self) -> Any:
        """What is named as sensitive: a column or several, items, or the file that lists them."""
        if self.sensitive_file is not None:
            return self.path_of(self.sensitive_file)
        columns = self.of_role("sensitive")
        return columns[0] if len(columns) == 1 else columns or self.sensitive_items or None

    @property
    def request(self) -> dict[str, Any]:
        """All keywords of `shoal.anonymize`, None for those that it leaves open."""
        return {**dict.fromkeys(KEYWORDS), **self.keywords()}

    def keywords(self) -> dict[str, Any]:
        """The keywords of `shoal.anonymize` that it stands for, without those that it leaves open."""
        roles = {role: self.of_role(role) for role in ROLES}
        given = {
            "hierarchy": self.hierarchy,
            "algorithm": self.algorithm,
            "sensitive": self.sensitive,
            "quasi": roles["quasi"],
            "keep": roles["keep"],
            **self.reading(),
            **self.options.model_dump(exclude_none=True),
            "input_limit": self.input.limit,
            "keep_order": self.keep_order,
        }
        if self.series is not None:
            given |= {"series": self.ledger}
            given |= {"series_kind": self.series.kind, "wait": self.series.wait}
        if self.options.knowledge is not None:
            given["knowledge"] = self.path_of(self.options.knowledge)
        if self.input.one_hot:  # then the items that are named are columns of the file
            given |= {"one_hot": True, "items": self.input.one_hot if isinstance(self.input.one_hot, list) else None}
        return {name: value for name, value in given.items() if not (value is None or value is False or value == ())}

    def reading(self) -> dict[str, Any]:
        """How the data are read, besides the roles of a table: only what the plan says."""
        items = self.of_role("items")
        given = {
            "format": self.input.format,
            "separator": self.input.separator,
            "numeric": self.input.numeric,
            "spelling": self.input.spelling,
            "items": items[0] if len(items) == 1 else items or self._memory.get(("items",)),
            "id": next(iter(self.of_role("id")), None),
            "drop": self.of_role("drop") or None,
            "person": next(iter(self.of_role("person")), None),
        }
        return {name: value for name, value in given.items() if value is not None}

    def path_of(self, path: str) -> str:
        """A path of the plan as this process finds it. Standard streams and addresses of servers are not paths, but SQLite is a file."""
        if self.on_spark and path.startswith("table:"):
            return path
        if is_address(path):
            return with_path(path, lambda file: os.path.join(self.origin.folder, file))
        return path if path == "-" or "://" in path else os.path.join(self.origin.folder, path)

    def refusal(self, place: Place, message: str) -> InputError:
        """The error for what stands in a place of the plan."""
        return self.refusal_of(place, InputError(message))

    def refusal_of(self, place: Place, error: InputError) -> InputError:
        """An error of the library about what stands in a place of the plan."""
        return error.in_words(self.origin.mention).within(self.origin.where(place))

    @contextlib.contextmanager
    def speaking(self) -> Iterator[None]:
        """What is refused inside speaks of the plan's keys, if it was read; inputs are held to its limit."""
        try:
            with limited_inputs(self.input.limit):
                yield
        except (InputError, Unreachable) as error:
            raise error.in_words(self.origin.mention).within(self.origin.where()) from None


def json_schema() -> dict[str, Any]:
    """The JSON Schema of plans, for editors and for pipelines that make them."""
    schema = Plan.model_json_schema()
    schema["description"] = schema["description"].partition("\n")[0]  # without the example for Python
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | schema
