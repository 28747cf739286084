"""Figures on Spark: the same optimum as the local engine, at how much more CPU, memory and traffic.

CPU seconds are those of the driver, its JVM (on two workers: all JVMs) and the Python workers, for three releases of a session, in
the first of which the JVM compiles its own code. Bytes shuffled come from Spark's own event log; memory is the largest seen, sampled
while it runs. The cluster is a master with two workers of one core each on this machine: processes of their own, a network of none.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from measuring import Row, cpu_seconds, peak_mb

WITHOUT_DATA = ("spark",)
RUNS = 3
"""Releases in one session."""
HEAP = "2g"


def section_spark() -> list[Row]:
    cases = [(300_000, "local[2]", "in one task"), (1_000_000, "local[2]", "in one task")]
    cases += [(300_000, "two workers", "in one task"), (300_000, "local[2]", "in blocks")]
    cases.append((10_000_000, "local[2]", "in one task"))
    return [{"transactions": n, "Spark": where, "rows": rows} for n, where, rows in cases]


_ROOM = {"in one task": "16g", "in blocks": "0"}


def case_spark(transactions: int, Spark: str, rows: str) -> Row:  # noqa: N803 - a column of the results
    """k^m-anonymity by exact on Spark (Quest data, m = 2) beside the local engine, CPU seconds"""
    from shoal import spark
    from shoal.guarantees.km import KmAnonymity
    from shoal.records.samples.quest import quest
    from shoal.records.writing import write
    from shoal.release import anonymize
    from shoal.spark.data.one_task import SETTING
    from shoal.spark.data.spark_session import missing, start_session

    if why := missing():
        return {"transactions": f"{transactions:,}", "Spark": Spark, "rows": rows, "not run": why}
    promise = KmAnonymity(max(2, transactions // 20_000), 2)
    with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as cluster:
        path, log = Path(place, "quest.parquet"), Path(place, "log")
        log.mkdir()
        write(quest(transactions, length=10, items=1000, seed=1), path)
        how: Row = {"hierarchy": "balanced:5", "algorithm": "exact", "price": "ncp"}
        anonymize(path, promise, threads=2, **how)  # compiles
        begun = cpu_seconds()
        local = anonymize(path, promise, threads=2, **how)
        here, memory = cpu_seconds() - begun, peak_mb()
        master = cluster.enter_context(_two_workers(place)) if Spark == "two workers" else Spark
        session = start_session(
            master,
            {
                "spark.eventLog.enabled": "true",
                "spark.eventLog.dir": log.as_uri(),
                "spark.eventLog.compress": "false",
                "spark.driver.memory": HEAP,
                "spark.executor.memory": HEAP,
                "spark.executor.cores": "1",
                "spark.sql.shuffle.partitions": "8",
                SETTING: _ROOM[rows],
            },
        )
        spent = []
        with _Watched() as seen:
            for _ in range(RUNS):
                before = (cpu_seconds(), *seen.cpu())
                release = spark.anonymize(session.read.parquet(str(path)), promise, **how)
                spent.append([now - then for now, then in zip((cpu_seconds(), *seen.cpu()), before, strict=True)])
                release.forget()
        session.stop()
        shuffled = _shuffled(log) / RUNS
    assert release.optimal
    assert math.isclose(release.loss["ncp"], local.loss["ncp"])  # of several optimal cuts it may take another
    sums = [sum(each) for each in spent]
    return {
        "transactions": f"{transactions:,}",
        "Spark": Spark,
        "rows": rows,
        "local CPU s": f"{here:.1f}",
        "first CPU s": f"{sums[0]:.1f}",
        "second CPU s": f"{sums[1]:.1f}",
        "third CPU s": f"{sums[2]:.1f}",
        "third / local": f"{sums[2] / here:.1f}",
        "of the third: JVM CPU s": f"{spent[2][1]:.1f}",
        "Python CPU s": f"{spent[2][2]:.1f}",
        "JVM MB": seen.jvm,
        "Python workers MB": seen.workers,
        "shuffled bytes / basket": f"{shuffled / transactions:,.0f}",
        "same NCP": "yes",
        "peak MB": memory,
    }


QUEST = "Quest, a million rows"


def section_blocks() -> list[Row]:
    cases = [("groceries", 2), ("groceries", 3), ("WebView-2", 2), ("WebView-2", 3), ("retail", 2), ("retail", 3)]
    rows = [{"data": data, "m": m, "blocks": blocks} for data, m in cases for blocks in (1, 4, 16, 0)]
    return rows + [{"data": QUEST, "m": 2, "blocks": blocks} for blocks in (1, 3, 8, 0)]


def case_blocks(data_name: str, m: int, blocks: int) -> Row:
    """local on Spark by blocks of rows (0: exact, which has one cut for all rows), k = 5, price of information: what is kept"""
    from km import data, tree
    from shoal import spark
    from shoal.guarantees.km import KmAnonymity
    from shoal.records.samples.quest import quest
    from shoal.spark.data.one_task import SETTING
    from shoal.spark.data.spark_session import missing, start_session
    from shoal.spark.search.sets import parted

    if why := missing():
        return {"data": data_name, "m": m, "blocks": blocks, "not run": why}
    baskets = quest(1_000_000, length=10, items=1000, seed=1) if data_name == QUEST else data(data_name)
    where = tree(data_name, baskets, "its own tree" if data_name == "groceries" else "frequency:5")
    parted.LEAST = baskets.occurrences // max(1, blocks)
    session = start_session("local[2]", {"spark.driver.memory": HEAP, SETTING: "0"})
    rows = session.createDataFrame([(row,) for row in baskets.rows()], "items array<string>")
    name = "local" if blocks else "exact"
    release = spark.anonymize(rows, KmAnonymity(5, m), hierarchy=where, algorithm=name)
    session.stop()
    return {
        "data": data_name,
        "m": m,
        "blocks": release.details.get("local", {}).get("blocks", "exact"),
        "information lost": f"{release.loss['info']:.1%}",
        "as they are": f"{release.kept['exact']:.1%}",
        "pairs": f"{release.kept['pairs']:.0%}",
    }


@contextlib.contextmanager
def _two_workers(folder: str) -> Iterator[str]:
    """A standalone master with two workers of one core each on this machine: its address."""
    import pyspark

    home = Path(pyspark.__file__).parent
    settings = {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"}
    processes: list[subprocess.Popen[str]] = []

    def start(name: str, sentence: str, *words: str) -> str:
        command = [home / "bin" / "spark-class", f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1"]
        process = subprocess.Popen(
            [*map(str, command), "--port", "0", "--webui-port", "0", *words],
            env=os.environ | settings,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        assert process.stderr is not None
        line = next(line for line in process.stderr if sentence in line)
        threading.Thread(target=lambda: [*process.stderr], daemon=True).start()  # what is not read would block it
        return line.split()[-1]

    try:
        master = start("master.Master", "Starting Spark master at")
        for _ in range(2):
            place = ("--cores", "1", "--memory", "4g", "--work-dir", f"{folder}/work")
            start("worker.Worker", "Successfully registered with master", *place, master)
        yield master
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait(60)


class _Watched:
    """The JVMs below this process and all Python workers together, looked at twice a second: memory at its largest, and CPU.

    A worker that has nothing to do for a minute is ended, and what it used is told nowhere: so it is noted while it runs.
    """

    def __enter__(self) -> _Watched:
        self.jvm = self.workers = 0
        self._spent: dict[tuple[int, str], tuple[str, float]] = {}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def cpu(self) -> tuple[float, float]:
        """CPU seconds that the JVMs, and the Python workers, have used so far."""
        self._look()
        spent = [*self._spent.values()]
        return tuple(sum(cpu for name, cpu in spent if name.startswith(kind)) for kind in ("java", "python"))  # type: ignore[return-value]

    def _watch(self) -> None:
        while not self._done.wait(0.5):
            self._look()

    def _look(self) -> None:
        below = _descendants(os.getpid())
        self.jvm = max(self.jvm, sum(mb for name, mb, _ in below.values() if name == "java"))
        self.workers = max(self.workers, sum(mb for name, mb, _ in below.values() if name.startswith("python")))
        self._spent |= {process: (name, cpu) for process, (name, _, cpu) in below.items()}


def _descendants(root: int) -> dict[tuple[int, str], tuple[str, int, float]]:
    """Of all processes below one, by number and beginning: (name, resident MB, CPU seconds)."""
    parent, facts = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name, _, rest = (folder / "stat").read_text().partition("(")[2].rpartition(")")
            fields = rest.split()
        except OSError:
            continue
        pid = int(folder.name)
        parent[pid] = int(fields[1])
        seconds = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        facts[pid] = ((pid, fields[19]), (name, int(fields[21]) * os.sysconf("SC_PAGE_SIZE") // 2**20, seconds))
    below = {root}
    for _ in range(6):
        below |= {pid for pid, above in parent.items() if above in below}
    return dict(facts[pid] for pid in below - {root})


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
