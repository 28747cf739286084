"""What the documents of several commands have in common: promises, witnesses, counts, losses."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model

from shoal.plan.model import Distance, Missing

DIALECT = "https://json-schema.org/draft/2020-12/schema"
ABSENT = "x-absent"
"""What marks a key that a document may lack, until the schema is made."""
CONFIG = ConfigDict(extra="forbid", use_attribute_docstrings=True)

Share = float
"""A fraction. Rounding may carry one past its end, so none is held to it."""
Count = Annotated[int, Field(ge=0)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Scalar = str | float | bool | None
Figures = dict[str, Scalar]
"""What an algorithm counted on its way: to look at, and no part of what a version promises."""


def absent() -> Any:
    """Marks a key that is left out where there is nothing to say."""
    return Field(default=None, json_schema_extra={ABSENT: True})


class Document(BaseModel):
    model_config = CONFIG


def join(*parts: type[BaseModel]) -> type[BaseModel]:
    """One document with the keys of several."""
    name = "".join(part.__name__ for part in parts)
    asked = {
        "use_attribute_docstrings": False
    }  # no class statement describes it, and pydantic would look for one everywhere
    return create_model(name, __base__=parts, __doc__=parts[0].__doc__, __cls_kwargs__=asked)


def like(kind: type) -> type[BaseModel]:
    """A document with the fields of a dataclass or a named tuple."""
    fields: dict[str, Any] = {name: (hint, ...) for name, hint in get_type_hints(kind).items()}
    return create_model(kind.__name__, __base__=Document, __doc__=kind.__doc__, **fields)


class Error(Document):
    """What is printed instead where a command fails."""

    error: str
    """One sentence, which is also said on standard error."""
    exit_code: Literal[1, 2, 3]
    """1: a bug in Shoal; 2: bad input or usage; 3: the promise does not hold or cannot be reached."""


class Km(Document):
    """k^m-anonymity."""

    model: Literal["km"]
    k: Count
    m: Count
    name: str
    local: Literal[True] = absent()
    """Items may stand at several levels."""
    counted: Literal["people"] = absent()
    """The crowd is of different people, not of rows."""


class K(Document):
    """k-anonymity of sets."""

    model: Literal["k"]
    k: Count
    l: Count  # noqa: E741
    name: str
    sensitive_items: Count = absent()


class Values(Document):
    """What is promised about the values of sensitive columns."""

    missing: Missing | dict[str, Missing] = absent()
    t: Share = absent()
    distance: Distance | dict[str, Distance] = absent()


class Table(Values):
    """k-anonymity of tables."""

    model: Literal["k"]
    k: Count
    l: Count  # noqa: E741
    name: str
    l_kind: Literal["frequency"] = absent()


class Rt(Values):
    """(k,k^m)-anonymity."""

    model: Literal["rt"]
    k: Count
    m: Count
    name: str


class Lm(Values):
    """(k,l^m)-diversity."""

    model: Literal["lm"]
    k: Count
    l: Count  # noqa: E741
    m: Count
    name: str


class Found(Document):
    """How rules were found."""

    min_exp: float | None
    min_conf: float | None


class Mined(Found):
    """Rules that an attacker is taken to know: how many, and how they were found."""

    rules: Count
    redundant: Count
    given: Count
    longest: Count


class Diversity(Document):
    """l-diversity of buckets, against an attacker who knows the rules."""

    model: Literal["diversity"]
    l: Count  # noqa: E741
    name: str
    missing: Missing | dict[str, Missing]
    knowledge: Mined = absent()


class CertifiedDiversity(Diversity):
    """As a certificate states it: how many rules there are is for the owner."""

    knowledge: Found = absent()  # type: ignore[assignment]


class Constraints(Document):
    """Anonymity under the constraints of a policy: how many sets and families it protects, and how many groups it has."""

    model: Literal["constraints"]
    k: Count
    sets: Count
    families: Count
    groups: Count | None
    """None where any items may be put together."""
    name: str


class PlainDiversity(Document):
    """l-diversity of buckets, as others define it."""

    model: Literal["diversity"]
    kind: Literal["distinct", "entropy", "recursive"]
    l: Count  # noqa: E741
    name: str
    missing: Missing | dict[str, Missing]
    c: float = absent()


class Chunks(Document):
    """k^m-anonymity of chunks."""

    model: Literal["chunks"]
    k: Count
    m: Count
    name: str


class Shown(Document):
    """What breaks the promise: items, how many rows hold them, and which."""

    items: list[str]
    support: Count
    rows: list[int]
    """Counted from 1."""
    reason: str = absent()
    group: list[str] = absent()
    """The published values of its class."""


class OfSize(Document):
    """Of itemsets of one size."""

    checked: Count
    violations: Count


class Counts(Document):
    """What an audit counted."""

    checked: Count
    """Itemsets that occur, classes, or rows."""
    violations: Count
    by_size: dict[str, OfSize]
    """By the number of items; 0 for classes."""
    complete: bool
    """False where the verdict was clear before all was counted."""
    counted: Literal["people"] = absent()
    """What supports are numbers of, where rows said whose they are; rows unless this says otherwise."""
    people: Count = absent()
    """How many people there are."""


class ClassFacts(Document):
    """Of classes of equal rows."""

    classes: Count
    smallest_class: Count
    largest_class: Count
    average_class: float


class SetFacts(ClassFacts):
    homogeneous_classes: Count = absent()
    homogeneous_rows: Count = absent()
    fewest_sensitive: Count = absent()


class TableFacts(ClassFacts):
    fewest_sensitive: Count = absent()
    likeliest_sensitive: Share = absent()
    farthest_class: Share = absent()


class CrowdFacts(ClassFacts):
    telling_crowds: Count = absent()
    likeliest_sensitive: Share = absent()
    farthest_crowd: Share = absent()


class InferenceFacts(CrowdFacts):
    rare: Count
    inferences: Count


class Buckets(Document):
    buckets: Count
    smallest_bucket: Count
    largest_bucket: Count
    average_bucket: float


class ChunkFacts(Document):
    """Of a release in chunks."""

    records: Count
    """What its rows are pieces of."""
    clusters: Count
    smallest_cluster: Count
    largest_cluster: Count
    chunks: Count
    covered_clusters: Count
    """Those in which an item stands in every record."""


class BucketFacts(Buckets):
    fewest_values: Count
    certain_rows: Count
    contradicted_rows: Count
    largest_share: Share
