"""Figures on Spark: the same optimum as the local engine, at how much more time, memory and traffic.

Spark runs on this machine with one core or two, so these are the costs of going through Spark, not of a cluster. Bytes shuffled
come from Spark's own event log; memory is the largest seen of the driver, its JVM and the Python workers, sampled while it runs.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
import time
from pathlib import Path

from measuring import Row, peak_mb

WITHOUT_DATA = ("spark",)


def section_spark() -> list[Row]:
    return [{"transactions": n, "cores": cores} for n in (100_000, 1_000_000, 10_000_000) for cores in (1, 2)]


def case_spark(transactions: int, cores: int) -> Row:
    """k^m-anonymity by exact on Spark (Quest data, m = 2) beside the local engine"""
    from shoal import spark
    from shoal.guarantees.km import KmAnonymity
    from shoal.records.samples.quest import quest
    from shoal.records.writing import write
    from shoal.release import anonymize
    from shoal.spark.data.spark_session import missing, start_session

    if why := missing():
        return {"transactions": f"{transactions:,}", "cores": cores, "not run": why}
    promise = KmAnonymity(max(2, transactions // 20_000), 2)
    with tempfile.TemporaryDirectory() as place:
        path, log = Path(place, "quest.parquet"), Path(place, "log")
        log.mkdir()
        write(quest(transactions, length=10, items=1000, seed=1), path)
        how: Row = {"hierarchy": "balanced:5", "algorithm": "exact", "price": "ncp"}
        anonymize(path, promise, threads=cores, **how)  # compiles
        begun = time.perf_counter()
        local = anonymize(path, promise, threads=cores, **how)
        here, memory = time.perf_counter() - begun, peak_mb()
        session = start_session(
            f"local[{cores}]",
            {
                "spark.eventLog.enabled": "true",
                "spark.eventLog.dir": log.as_uri(),
                "spark.eventLog.compress": "false",
                "spark.driver.memory": "4g",
                "spark.sql.shuffle.partitions": str(4 * cores),
            },
        )
        with _Watched() as seen:
            begun = time.perf_counter()
            release = spark.anonymize(session.read.parquet(str(path)), promise, **how)
            there = time.perf_counter() - begun
        release.forget()
        session.stop()
        shuffled = _shuffled(log)
    assert release.recoding.cut.nodes.tolist() == local.recoding.cut.nodes.tolist()
    assert release.loss == local.loss
    return {
        "transactions": f"{transactions:,}",
        "cores": cores,
        "local s": f"{here:.1f}",
        "Spark s": f"{there:.1f}",
        "Spark / local": f"{there / here:.1f}",
        "local peak MB": memory,
        "driver JVM MB": seen.jvm,
        "Python workers MB": seen.workers,
        "shuffled bytes / basket": f"{shuffled / transactions:,.0f}",
        "same cut and NCP": "yes",
        "peak MB": memory,
    }


class _Watched:
    """The largest resident memory of the JVM below this process, and of all Python workers together, looked at twice a second."""

    def __enter__(self) -> _Watched:
        self.jvm = self.workers = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(0.5):
            below = _descendants(os.getpid())
            self.jvm = max(self.jvm, sum(mb for name, mb in below if name == "java"))
            self.workers = max(self.workers, sum(mb for name, mb in below if name.startswith("python")))


def _descendants(root: int) -> list[tuple[str, int]]:
    """(name, resident MB) of all processes below one."""
    parent, facts = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name, _, rest = (folder / "stat").read_text().partition("(")[2].rpartition(")")
            fields = rest.split()
        except OSError:
            continue
        pid = int(folder.name)
        parent[pid] = int(fields[1])
        facts[pid] = (name, int(fields[21]) * os.sysconf("SC_PAGE_SIZE") // 2**20)
    below = {root}
    for _ in range(6):
        below |= {pid for pid, above in parent.items() if above in below}
    return [facts[pid] for pid in below - {root}]


def _shuffled(log: Path) -> int:
    """Bytes that tasks wrote for other tasks to read."""
    total = 0
    for file in log.rglob("*"):
        if file.is_file():
            for line in file.read_text(errors="replace").splitlines():
                if '"SparkListenerTaskEnd"' in line:
                    metrics = json.loads(line).get("Task Metrics") or {}
                    total += metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
    return total
