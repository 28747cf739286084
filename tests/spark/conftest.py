"""A Spark of the tests' own: one session in this process, or a master with two workers on loopback. No network, little memory."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from pathlib import Path

import pytest

from shoal.spark.data.spark_session import missing, start_session

SMALL = {
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "1g",
    # For a few rows, compiling takes longer than running.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.catalogImplementation": "in-memory",
}


@pytest.fixture(autouse=True)
def own_key(tmp_path_factory, monkeypatch):
    """A key of the test's own: the tester's stays where it is."""
    path = tmp_path_factory.mktemp("key") / "owner.key"
    monkeypatch.setenv("SHOAL_KEY", str(path))
    return path


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """A session on two cores of this machine."""
    _skip_without_spark()
    folder = tmp_path_factory.mktemp("spark")
    session = start_session(
        "local[2]",
        SMALL | {"spark.sql.warehouse.dir": f"{folder}/tables", "spark.local.dir": f"{folder}/scratch"},
    )
    yield session
    session.stop()


@pytest.fixture
def brought(monkeypatch):
    """What comes to the driver while it is asked for: every table, in order. All ways but one are closed."""
    from pyspark.sql.classic.dataframe import DataFrame

    found = []
    as_it_is = DataFrame.toArrow

    @contextlib.contextmanager
    def watching():
        with monkeypatch.context() as watched:
            for name in ("collect", "toPandas", "toLocalIterator", "take", "head", "first", "tail"):
                watched.setattr(DataFrame, name, lambda *_, name=name, **__: pytest.fail(f"{name} was called"))
            watched.setattr(DataFrame, "toArrow", lambda self: found.append(as_it_is(self)) or found[-1])
            yield found

    return watching


class Cluster:
    """A standalone master with two workers, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        import pyspark

        self.folder, self.processes = folder, []
        self.home = Path(pyspark.__file__).parent
        told = self._start("master.Master", "Starting Spark master at", "--port", "0")
        self.master = told.split()[-1]
        for _ in range(2):
            self._start(
                "worker.Worker",
                "Successfully registered with master",
                *("--port", "0", "--cores", "1", "--memory", "1g", "--work-dir", str(folder / "work"), self.master),
            )

    def _start(self, name: str, sentence: str, *arguments: str) -> str:
        """Start a process, and wait for the line in which it says so."""
        command = [self.home / "bin" / "spark-class", f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1"]
        process = subprocess.Popen(
            [*map(str, command), "--webui-port", "0", *arguments],
            env=os.environ
            | {
                "SPARK_HOME": str(self.home),
                "SPARK_LOCAL_IP": "127.0.0.1",
                "SPARK_DAEMON_MEMORY": "256m",
                "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
                "SPARK_LOCAL_DIRS": str(self.folder),
            },
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.processes.append(process)
        lines, said, found = [], threading.Event(), []

        def listen() -> None:
            for line in process.stderr:
                lines.append(line)
                if sentence in line and not found:
                    found.append(line)
                    said.set()
            said.set()

        threading.Thread(target=listen, daemon=True).start()
        assert said.wait(120), f"{name} does not start"
        assert found, f"{name} ended:\n" + "".join(lines[-20:])
        return found[0]

    @property
    def workers(self) -> list[int]:
        return [process.pid for process in self.processes[1:]]

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.terminate()
        for process in self.processes:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(30)
            process.kill()
            process.wait()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    _skip_without_spark()
    started_here = Cluster(tmp_path_factory.mktemp("cluster"))
    yield started_here
    started_here.stop()


def _skip_without_spark() -> None:
    why = missing()
    if why is not None:
        pytest.skip(why)
