"""`init`, `schema`, `hierarchy`, `datasets` and `warm`: what is around releases."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from shoal.cli.schemas.parts import DIALECT, Count, Document, Sha256, absent, join, like
from shoal.hierarchy.survey import Line
from shoal.plan.model import Role
from shoal.records.samples.datasets import Dataset


class DraftInput(Document):
    path: str
    format: str
    separator: str | None
    sha256: Sha256 | None
    query: str = absent()


class Guess(Document):
    """What a column seems to be; null where the owner has to say."""

    role: Role | None
    reason: str
    numeric: bool = absent()
    numeric_reason: str = absent()


class Draft(Document):
    """A plan before its owner has looked at it."""

    input: DraftInput
    rows: Count
    """That were looked at."""
    complete: bool
    columns: dict[str, Guess]
    model: Literal["km", "k", "rt", "lm", "diversity", "chunks"]
    reason: str


class Widest(Document):
    label: str
    children: Count


class Tree(Document):
    """A hierarchy in figures."""

    source: str
    leaves: Count
    nodes: Count
    height: Count
    nodes_per_level: list[Count]
    widest: Widest
    single_child_nodes: Count
    repeated_labels: Count


class WrittenTree(Tree):
    output: str


class PlacedCodes(Document):
    """How the codes of the data were found in their systems."""

    values: Count
    known: Count
    range: Count
    """Ranges of codes: what holds both ends."""
    beginning: Count
    """Not in the files, and below the longest code that begins alike."""
    unknown: Count
    """Under the root."""
    retired: Count


class CodeTree(WrittenTree):
    codes: PlacedCodes
    notes: list[str]


class OutlinedTree(Tree):
    outline: list[like(Line)]  # type: ignore[valid-type]


class TreeFinding(Document):
    kind: Literal["missing", "unused", "rare", "chain", "repeated"]
    grade: Literal["error", "warning", "note"]
    labels: list[str]
    text: str


class CheckedTree(Tree):
    usable: bool
    findings: list[TreeFinding]


class Placed(Document):
    """A data set, and where it is on this machine."""

    path: str | None


class DataSets(Document):
    datasets: list[join(Placed, like(Dataset))]  # type: ignore[valid-type]


class SetFigures(Document):
    transactions: Count
    items: Count
    longest: Count | None
    average: float | None


class FoundDataSet(Document):
    name: str
    path: str
    agrees: bool
    measured: SetFigures
    published: SetFigures


class MadeDataSet(Document):
    output: str
    rows: Count
    items: Count
    occurrences: Count
    longest: Count
    seed: int


class Reconstruction(Document):
    """Records that a release in chunks may have come from."""

    input: str
    output: str
    rows: Count
    items: Count
    occurrences: Count
    k: Count | None
    """That of the promise; null where items of rests were dealt to one record each."""
    seed: Count


class Warmth(Document):
    """How long each model took to compile."""

    seconds: dict[str, float]


class Schemas(Document):
    """With --list."""

    schemas: list[str]


class JsonSchema(Document):
    """A schema."""

    model_config = ConfigDict(extra="allow")

    dialect: Literal[DIALECT] = Field(alias="$schema")  # type: ignore[valid-type]


OUTPUTS: dict[str, tuple[Any, ...]] = {
    "init": (Draft,),
    "schema": (JsonSchema, Schemas),
    "hierarchy build": (WrittenTree, CodeTree),
    "hierarchy show": (OutlinedTree,),
    "hierarchy check": (CheckedTree,),
    "hierarchy convert": (WrittenTree,),
    "datasets list": (DataSets,),
    "datasets get": (FoundDataSet,),
    "datasets make": (MadeDataSet,),
    "reconstruct": (Reconstruction,),
    "warm": (Warmth,),
}
