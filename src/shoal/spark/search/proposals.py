"""What every proposal on Spark has, and what several models need to make one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from shoal.errors import InputError
from shoal.hierarchy.tree import Hierarchy
from shoal.models import Proposal, km
from shoal.numbers import Codes
from shoal.ordering import natural_order
from shoal.spark.data.executors import fetch, map_rows
from shoal.spark.data.frame_records import SparkRecords
from shoal.spark.data.packing import names_of, pieces
from shoal.spark.data.sets import SparkSets, packed_sets

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Asked = Mapping[str, Any]
"""The keywords of a plan: algorithm, hierarchies, options; None for what nobody asked for."""


@dataclass(frozen=True, eq=False)
class PackedRows:
    """Published rows of tokens, which become texts when somebody reads them."""

    rows: DataFrame
    names: tuple[str, ...]
    """Of the tokens, in natural order."""
    column: str
    stored: DataFrame
    """What the executors keep: the rows, and what else their tasks had to say."""

    def by_names(self) -> DataFrame:
        """Sets of names, in the order in which the rows are packed."""
        named = map_rows(self.rows, _name_tokens, "items array<string>", names=self.names)
        return named.withColumnRenamed("items", self.column)

    def as_sets(self) -> SparkSets:
        """The rows as an audit sees them."""
        return packed_sets(self.rows, self.names, self.column)


@dataclass(frozen=True, eq=False, kw_only=True)
class SparkProposal(Proposal):
    """What would be published: a data frame, in an order that says nothing about that of the input."""

    published: Any
    recoding: Any = None
    """The cut, where the model has one."""
    certified: Callable[..., Mapping[str, Any]]
    """As in `Proposal`. Takes what was published, as the audit sees it."""
    raw: SparkSets | SparkRecords
    """What was read."""
    stored: DataFrame | None = None
    """What the executors keep for the published rows to be computed from."""
    packed: PackedRows | None = None
    """The published rows, where they are packed until somebody reads them; else the executors keep them as they are."""
    raw_sha256: str | None = None
    """Of the raw rows, where the search has counted it."""
    left_out: int = 0
    """Rows that are not published; of a batch in a series, less those that waited and are published with it."""

    @property
    def rows(self) -> int:
        return len(self.raw) - self.left_out

    def forget(self) -> None:
        """Let the executors drop what the published rows are computed from."""
        self.raw.forget()
        if self.stored is not None:
            self.stored.unpersist()


def tokens_of(tree: Hierarchy, nodes: npt.ArrayLike) -> tuple[Codes, tuple[str, ...]]:
    """Per node of the tree the number of its token, and the names of tokens, in natural order; the last number serves -1, for nothing."""
    used = [node for node in np.unique(nodes).tolist() if node >= 0]
    used = [used[i] for i in natural_order([tree.names[v] for v in used])]
    token = np.full(tree.n_nodes + 1, -1, np.int32)
    token[used] = np.arange(len(used), dtype=np.int32)
    return token, tuple(tree.names[v] for v in used)


def certified_sets(
    tree: Hierarchy, k: int, deleted: float | None, unknown: str | None, *, local: bool = False
) -> Callable[..., Mapping[str, Any]]:
    """What a certificate says of sets, as it is told of what the audit saw; `deleted` where occurrences may have been dropped."""

    def facts(published: SparkSets) -> Mapping[str, Any]:
        seen = published.sets
        return km.certified_facts(tree, seen.vocabulary, seen.counts, k, deleted=deleted, unknown=unknown, local=local)

    return facts


def check_filled(rows: SparkSets | SparkRecords) -> None:
    """Raises if there is nothing to publish."""
    if not len(rows):
        raise InputError("the data frame has no rows; there is nothing to publish")


def check_specs(hierarchy: Any) -> None:
    """Raises for trees that would need more of a table than the driver has of it."""
    for spec in hierarchy.values() if isinstance(hierarchy, Mapping) else [hierarchy]:
        if isinstance(spec, str) and spec.startswith(("frequency:", "learned")):
            raise InputError(
                f"hierarchy {spec} cannot be made on Spark for a table: it needs more of the data than names; write it to a file first"
            )


def text_columns(records: SparkRecords) -> list[Any]:
    """The columns of single values in the order of the data frame, from texts in `values` and `kept`; empty ones are missing."""
    from pyspark.sql import functions as sf

    cells = {column.name: sf.col("values")[i] for i, column in enumerate(records.template.columns)}
    cells |= {column: sf.col("kept")[i] for i, column in enumerate(records.kept)}
    return [sf.nullif(cells[column], sf.lit("")).alias(column) for column in records.order]


def _name_tokens(batches: Iterator[pa.RecordBatch], names: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """On a worker: rows by the names of their tokens."""
    for _, baskets in pieces(batches):
        yield pa.record_batch({"items": names_of(baskets, names)})


def reports_of(rows: DataFrame) -> list[dict[str, Any]]:
    """What each part has to say: a document in `report` of one of its rows."""
    from pyspark.sql import functions as sf

    texts = fetch(rows.where(sf.col("report").isNotNull()).select("report"))["report"].to_pylist()
    return [json.loads(text) for text in texts]
