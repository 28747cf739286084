"""Releases on a Spark session that you already have: a data frame in, a data frame out, and no row of data on the driver.

    release = shoal.spark.anonymize(df, shoal.KmAnonymity(k=5, m=2), hierarchy="tree.csv")
    release.audit.holds, release.loss["ncp"], release.optimal
    release.write("hdfs:///public/clicks")
    shoal.spark.verify(spark.read.parquet("hdfs:///public/clicks"), "clicks.certificate.json").holds

The way of the data is that of `release.py`: the algorithm proposes, the audit decides, and nothing is published that the audit has not
seen. Of k^m-anonymity the cut, the loss and the verdict are those of the local engine, bit for bit; what is grouped block by block
(see `shoal.spark.search`) loses about as much as there. Audits are the local ones.

Names are imported when they are first used: a worker that counts needs little of the package.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.spark.frame_verification import verify
    from shoal.spark.release import SparkRelease, anonymize, audit, rules, run

__all__ = ["SparkRelease", "anonymize", "audit", "rules", "run", "verify"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "shoal.spark.frame_verification" if name == "verify" else "shoal.spark.release"
    value = globals()[name] = getattr(import_module(home), name)
    return value
