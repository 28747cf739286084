"""The Spark engine: the executors count, recode and audit; the driver holds the hierarchy, the cut, names and violations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.algorithms.recoding import Options, Recoding
from shoal.engines.spark.audits import audited
from shoal.engines.spark.encoding import encoded
from shoal.engines.spark.ground import SparkGround
from shoal.engines.spark.paths import SparkCountTree
from shoal.engines.spark.publishing import published
from shoal.engines.spark.records import SparkRecords
from shoal.engines.spark.sets import SparkSets
from shoal.guarantees.audit import Audit
from shoal.guarantees.km import KmAnonymity
from shoal.hierarchy.tree import Hierarchy

if TYPE_CHECKING:
    from typing import Any

    from pyspark.sql import DataFrame


class SparkEngine:
    """Sets on the executors of a Spark session."""

    name = "spark"

    def sets(self, df: DataFrame, items: str | None = None) -> SparkSets:
        return encoded(df, items)

    def ground(self, sets: SparkSets, guarantee: KmAnonymity, hierarchy: Hierarchy, options: Options) -> SparkGround:
        return SparkGround(sets, guarantee, hierarchy)

    def count_tree(
        self, sets: SparkSets, guarantee: KmAnonymity, hierarchy: Hierarchy, options: Options
    ) -> SparkCountTree:
        return SparkCountTree(self.ground(sets, guarantee, hierarchy, options))

    def recoded(self, sets: SparkSets, recoding: Recoding, options: Options) -> DataFrame:
        return published(sets, recoding)

    def audit(
        self, published: SparkSets | SparkRecords, guarantee: Any, *, witnesses: int = 10, yes_or_no: bool = False
    ) -> Audit:
        return audited(published, guarantee, witnesses=witnesses, yes_or_no=yes_or_no)
