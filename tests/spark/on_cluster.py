"""A release on a standalone cluster, as a process of its own: prints what came out. Ends an executor half way if asked to.

python on_cluster.py MASTER FOLDER [WORKER_PID ...]
"""

import contextlib
import json
import os
import signal
import sys
from pathlib import Path

import numpy as np

import shoal
import shoal.spark
from shoal.spark.data.one_task import SETTING
from shoal.spark.data.spark_session import start_session


def data():
    """200 rows of up to six of 24 items."""
    rng = np.random.default_rng(7)
    return [sorted({f"i{i}" for i in (rng.zipf(1.4, rng.integers(0, 7)) % 24).tolist()}) for _ in range(200)]


def executor_of(workers):
    """The process in which one of the workers runs its tasks."""
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            status = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(status[1]) in workers and b"CoarseGrainedExecutorBackend" in (entry / "cmdline").read_bytes():
                return int(entry.name)
    return None


def main():
    master, folder, workers = sys.argv[1], sys.argv[2], set(map(int, sys.argv[3:]))
    session = start_session(
        master,
        {
            "spark.executor.memory": "512m",
            "spark.executor.cores": "1",
            "spark.driver.memory": "512m",
            "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
            # Whoever is asked for what a dead executor held need not be asked for long.
            "spark.shuffle.io.maxRetries": "1",
            "spark.shuffle.io.retryWait": "1s",
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
            "spark.sql.shuffle.partitions": "2",
            "spark.default.parallelism": "2",
            SETTING: "0",
        },
    )
    killed, executors = [], []

    def progress(doing, share, **facts):
        # The second depth: rows are stored, sets have been found, more are to come.
        if workers and not killed and doing.startswith("depth 2"):
            executors.append(session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1)
            killed.append(executor_of(workers))
            os.kill(killed[0], signal.SIGKILL)

    df = session.createDataFrame([(row,) for row in data()], "items array<string>")
    release = shoal.spark.anonymize(
        df, shoal.KmAnonymity(3, 2), hierarchy="balanced:3", algorithm="exact", progress=progress
    )
    release.write(f"file://{folder}/public")
    found = {
        "node": release.recoding.cut.node.tolist(),
        "facts": dict(release.recoding.facts),
        "loss": dict(release.loss),
        "audit": release.audit.to_dict(),
        "killed": killed,
        "executors": sum(executors),
    }
    # What Spark grants an executor's Python is enough for all rows.
    session.conf.set(SETTING, str(384 << 20))
    whole = shoal.spark.anonymize(df, shoal.KmAnonymity(3, 2), hierarchy="balanced:3")
    found["whole"] = {"algorithm": whole.algorithm, "loss": dict(whole.loss), "holds": whole.audit.holds}
    session.stop()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
