"""A Spark session of our own, on the master that an engine stands for (`spark`, `spark=MASTER`). One that the user has is used as it is.

Spark shuffles into 200 partitions unless told otherwise, a number for clusters. A session of ours on local[N] takes four for each core, as
our benchmarks do, unless the user's settings name a number (`spark.sql.shuffle.partitions`).

A JVM of ours on this machine collects its garbage serially where there are few cores and nobody has said otherwise: the default, G1, works
beside it on other cores, which are not there, and lets the heap grow to twice the size (docs/guide/spark.md has figures).

Workers must run the Python that has the package: on this machine that is the one that runs now, so PYSPARK_PYTHON names it unless the
user has named another. A master on this machine listens on loopback only.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from shoal.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = "local[*]"
"""All cores of this machine."""
JAVA = 17
"""The oldest Java that Spark 4 runs on."""
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.worker.reuse": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
}
_PARTITIONS = "spark.sql.shuffle.partitions"
_PER_CORE = 4
_FEW_CORES = 4
_SERIAL = {"spark.driver.extraJavaOptions": "-XX:+UseSerialGC"}
_OPTIONS_OF_JAVA = "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS", "PYSPARK_SUBMIT_ARGS"
"""What may name a garbage collector, besides Spark's settings: Java refuses to start with two."""
_LOOPBACK = {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
_ON_THIS_MACHINE = re.compile(r"local(\[.*\])?|spark://(localhost|127\.0\.0\.1)(:\d+)?")


def master_of(engine: str | None) -> str | None:
    """The Spark master that an engine stands for, None if it is the local engine; raises if there is no such engine."""
    name, given, master = (engine or "local").partition("=")
    if name not in ("local", "spark"):
        raise InputError(f"engine {engine!r} is not known; use local, spark or spark=MASTER, such as spark=local[4]")
    if name == "local" and given:
        raise InputError(f"engine {engine!r}: the local engine takes nothing behind its name; use local")
    if given and not master:
        raise InputError(f"engine {engine!r} is not complete; use spark=MASTER, such as spark=spark://host:7077")
    return None if name == "local" else master or HERE


def is_here(master: str) -> bool:
    """Whether the master is this machine, so that a relative path is one of this folder."""
    return master.startswith("local")


def start_session(master: str = HERE, settings: dict[str, str] | None = None) -> SparkSession:
    """A session on `master` (all cores of this machine unless given); raises if Spark or Java is missing."""
    why = missing()
    if why is not None:
        raise InputError(why)
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    is_ours = SparkContext._active_spark_context is None
    python = os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", python)
    chosen = _SETTINGS | (_LOOPBACK if _ON_THIS_MACHINE.fullmatch(master) else {})
    chosen |= (garbage_collector(master) if is_ours else {}) | (settings or {})
    builder = SparkSession.Builder().master(master).appName("shoal")
    for name, value in chosen.items():
        builder = builder.config(name, value)
    try:
        session = builder.getOrCreate()
    except Exception as error:  # a master that is not there is reported by Spark in many ways
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InputError(f"Spark does not start on {master} ({reason}); check that the master is there") from error
    session.sparkContext.setLogLevel("ERROR")
    if is_ours and is_here(master) and not session.sparkContext.getConf().contains(_PARTITIONS):
        session.conf.set(_PARTITIONS, str(_PER_CORE * session.sparkContext.defaultParallelism))
    return session


def garbage_collector(master: str) -> dict[str, str]:
    """The setting for a JVM that starts on this machine, unless something else may name options of Java."""
    if not is_here(master) or (os.cpu_count() or 1) > _FEW_CORES or any(map(os.environ.get, _OPTIONS_OF_JAVA)):
        return {}
    folder = os.environ.get("SPARK_CONF_DIR") or os.path.join(os.environ.get("SPARK_HOME", ""), "conf")
    try:
        with open(os.path.join(folder, "spark-defaults.conf"), encoding="utf-8", errors="replace") as file:
            return {} if "JavaOptions" in file.read() else _SERIAL
    except OSError:
        return _SERIAL


def missing() -> str | None:
    """What Spark lacks here, and how to get it, in one sentence; None if nothing."""
    if find_spec("pyspark") is None:
        return "the Spark engine needs pyspark; pip install 'shoal[spark]', or use the local engine"
    java = _java()
    if java is None:
        return f"Spark needs Java {JAVA} or later, and there is none; install it (Debian: openjdk-17-jre-headless), or set JAVA_HOME"
    version = _java_version(java)
    if version is not None and version < JAVA:
        return f"Spark needs Java {JAVA} or later, and {java} is Java {version}; set JAVA_HOME to a later one"
    return None


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    return shutil.which(os.path.join(home, "bin", "java")) if home else shutil.which("java")


def _java_version(java: str) -> int | None:
    """The major version, or None where it does not tell."""
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    version = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    return int(version[1]) if version else None
