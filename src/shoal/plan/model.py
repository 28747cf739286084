"""The plan itself: one pydantic model, version 1, from which the JSON Schema comes.

It is strict: unknown keys and other types than those named are refused. A promise has its own parameters by model, so that `m` beside
`model: k` is an unknown key.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr

from shoal.errors import InputError
from shoal.numbers import LONGEST, MOST
from shoal.plan.places import Origin, Place
from shoal.records.columns import NO_COLUMN

LARGEST = 10**9
"""Of k, l, m and the like: more people than any table holds, and safe in every counter."""

Text = Annotated[str, Field(min_length=1, pattern=r"^[^\x00]*$")]
Share = Annotated[float, Field(ge=0, le=1)]
Whole = Annotated[int, Field(ge=0, le=LARGEST)]
Positive = Annotated[int, Field(ge=1, le=LARGEST)]
Loops = Annotated[int, Field(ge=1, le=MOST["population"])]
Rounds = Annotated[int, Field(ge=0, le=MOST["generations"])]
Threads = Annotated[int, Field(ge=1, le=MOST["threads"])]
Crowd = Annotated[int, Field(ge=2, le=LARGEST)]
Role = Literal["quasi", "items", "sensitive", "keep", "drop", "id"]
ROLES: tuple[str, ...] = ("quasi", "items", "sensitive", "keep", "drop", "id")


def _no_columns(given: Any) -> Any:
    """The word for no column as a list without any."""
    return [] if given == NO_COLUMN else given


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


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
        default=None, description="When the name does not tell."
    )
    separator: Text | None = Field(
        default=None, description="What parts the items inside a cell; found out when it is not given."
    )
    numeric: Annotated[list[Text], BeforeValidator(_no_columns)] | None = Field(
        default=None,
        description="The columns that hold numbers, or none if no column does; found out by how their values are spelled when it is not "
        "given.",
    )
    limit: Text | None = Field(
        default=None,
        description="The most memory that what is read may take, such as 8GB; a line, a tree or a list may have a 32nd part of it.",
    )
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = Field(
        default=None,
        description="The hash of the file's bytes, or of a table's rows in any order. Data that differ are refused.",
    )


Missing = Literal["unknown", "value"]
"""What a missing sensitive value is: any value, which counts for none, or a value of its own."""
_MISSING = (
    "What a missing sensitive value is: unknown (it may be any, and counts for none) or value (one of its own); for all sensitive columns, "
    "or by column."
)


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
    missing: Missing | dict[str, Missing] | None = Field(
        default=None, description=f"For columns of a table, with l. {_MISSING}"
    )


class Rt(_Part):
    """Whoever knows all quasi-identifiers and up to m items of a person faces at least k rows."""

    model: Literal["rt"]
    k: Positive
    m: Positive


class Lm(_Part):
    """As rt, and no sensitive item is likelier than 1/l."""

    model: Literal["lm"]
    k: Positive
    m: Positive
    l: Positive  # noqa: E741


class Diversity(_Part):
    """At least l sensitive values stay possible for every row, for an attacker who knows the rules."""

    model: Literal["diversity"]
    l: Crowd  # noqa: E741
    missing: Missing | dict[str, Missing] | None = Field(default=None, description=_MISSING)


class RunOptions(_Part):
    """What the algorithm may do. Each option is for certain algorithms; the others refuse it."""

    suppress: Share | None = Field(
        default=None, description="exact, hybrid: the largest share of item occurrences that may go."
    )
    time_limit: Annotated[float, Field(gt=0, le=LONGEST)] | None = Field(
        default=None, description="exact, hybrid, lra, split: seconds after which the best found so far is taken."
    )
    seed: Annotated[int, Field(ge=0, le=MOST["seed"])] | None = Field(default=None, description="For what draws lots.")
    segments: Positive | None = Field(
        default=None,
        description="pta, gray-tsp: parts into which the sorted rows are cut; lra: the most parts with a cut of their own.",
    )
    population: Loops | None = Field(default=None, description="gray-tsp: loops that evolve.")
    generations: Rounds | None = Field(default=None, description="gray-tsp: rounds of evolution.")
    delta: Share | None = Field(
        default=None, description="rmerge, tmerge: the largest loss of the side that is bounded."
    )
    formation: Literal["cluster", "mondrian"] | None = Field(
        default=None, description="rt, lm: how clusters are formed."
    )
    transaction: Literal["sets", "aa", "exact"] | None = Field(
        default=None, description="rt, lm: how items are generalized inside a cluster."
    )
    ordering: Literal["btd", "ul"] | None = Field(
        default=None, description="rt, lm: how near two clusters are in items."
    )
    weights: dict[str, Annotated[float, Field(ge=0)]] | None = Field(
        default=None, description="Tables: how much the loss of a column counts; 1 unless given."
    )
    item_weights: dict[str, Share] | None = Field(
        default=None, description="rt, lm: how much an item matters; 1 unless given."
    )
    min_exp: Share | None = Field(
        default=None, description="diversity: how sure an attacker must be of a rule to use it."
    )
    min_conf: Share | None = Field(
        default=None, description="diversity: a rule may have exceptions, up to 1 minus this share."
    )
    max_length: Whole | None = Field(default=None, description="diversity: conditions in a rule; 0 for any number.")
    fuzzy: dict[str, Annotated[float, Field(ge=0)]] | None = Field(
        default=None, description="diversity: numeric columns whose nodes have no sharp edges, and how far they fade."
    )
    knowledge: Text | None = Field(default=None, description="diversity: a file of rules to add or strike.")
    unknown: Literal["root"] | None = Field(
        default=None, description="root: hang what a hierarchy does not know under its root instead of refusing it."
    )
    threads: Threads | None = Field(default=None, description="Threads to use; all cores unless given.")
    memory_limit: Text | None = Field(
        default=None, description="km with exact: memory to use at most, such as 2GB; the rest goes to scratch files."
    )


class Outputs(_Part):
    """What is written. The files, or the table and the files, appear together or not at all."""

    data: Text = Field(
        description="The release, in the format its name tells; - for standard output; an address for a table of a database."
    )
    certificate: Text | None = Field(
        default=None, description="Beside the data unless given; a table needs one to be given."
    )
    rules: Text | None = Field(default=None, description="What became of what. For you, not for publication.")
    report: Text | None = Field(
        default=None, description="All figures, exact, as JSON. For you, not for publication; not with engine: spark."
    )
    sign: Text | None = Field(
        default=None, description="The file of the ed25519 private key to sign the certificate with."
    )


Guarantee = Annotated[Km | K | Rt | Lm | Diversity, Field(discriminator="model")]


class Plan(_Part):
    """A release, written down: what is read, what is promised, how, and what is written."""

    version: Literal[1] = Field(description="Of this format.")
    input: Input
    columns: dict[str, Role | None] = Field(
        default_factory=dict,
        description="The role of every column: quasi (an attacker may know it), items (sets), sensitive (an attacker wants to learn "
        "it), keep (published as it is), drop (identifiers; not even read), id (holds the rows of a long table together). A column "
        "without a role stops the run.",
    )
    sensitive_items: Text | list[Text] | None = Field(
        default=None, description="Items that an attacker wants to learn, as a list or with commas between them."
    )
    sensitive_file: Text | None = Field(default=None, description="A file with one sensitive item on each line.")
    hierarchies: Text | dict[str, Text] | None = Field(
        default=None,
        description="A hierarchy per column, or one for the items: a file, learned:N (items alone), frequency:N, balanced:N, prefix, and "
        "for columns also named:N, dates, mask and intervals:5,10,20.",
    )
    guarantee: Guarantee
    algorithm: Text | None = Field(default=None, description="The first of its model unless given.")
    engine: Annotated[str, Field(pattern=r"^(local|spark(=.+)?)$")] | None = Field(
        default=None,
        description="Where the counting runs: local unless given, or spark, spark=MASTER. On Spark, input and output are Parquet folders "
        "or table:NAME.",
    )
    options: RunOptions = Field(default_factory=RunOptions)
    outputs: Outputs | None = Field(
        default=None, description="Without them, a run only shows what the release would cost."
    )
    keep_order: bool = Field(default=False, description="Do not shuffle the rows. Their order can give people away.")

    _origin: Origin = PrivateAttr(default_factory=Origin)

    def __eq__(self, other: object) -> bool:
        """Whether they say the same, wherever they were read."""
        return isinstance(other, Plan) and self.model_dump() == other.model_dump()

    @property
    def origin(self) -> Origin:
        return self._origin

    @property
    def kind(self) -> str:
        """The entry of `ALGORITHMS` that it is about: its model, but tables without items have algorithms of their own."""
        is_table = self.guarantee.model == "k" and bool(self.of_role("quasi"))
        return "table" if is_table else self.guarantee.model

    @property
    def on_spark(self) -> bool:
        return self.engine is not None and self.engine.startswith("spark")

    def of_role(self, role: str) -> tuple[str, ...]:
        """The columns with a role, in the order in which they stand."""
        return tuple(name for name, given in self.columns.items() if given == role)

    def refusal(self, place: Place, message: str) -> InputError:
        """The error for what stands in a place of the plan."""
        return self.refused(place, InputError(message))

    def refused(self, place: Place, error: InputError) -> InputError:
        """An error of the library about what stands in a place of the plan."""
        return error.worded(self.origin.mention).within(self.origin.where(place))


def json_schema() -> dict[str, Any]:
    """The JSON Schema of plans, for editors and for pipelines that make them."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema"} | Plan.model_json_schema()
