"""A standalone master with two workers: the same release as locally, also when an executor dies half way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import shoal
from spark.on_cluster import data

pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="finding the executor's process needs /proc"),
]


def released(cluster, folder, *workers):
    """What the release on the cluster prints; one executor of the workers named is ended half way."""
    folder.mkdir()
    script = Path(__file__).with_name("on_cluster.py")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script), cluster.master, str(folder), *map(str, workers)],
        env={name: value for name, value in os.environ.items() if name != "PYSPARK_PYTHON"},
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_an_executor_that_dies_half_way_changes_nothing(cluster, tmp_path):
    here = shoal.anonymize(data(), shoal.KmAnonymity(3, 2), hierarchy="balanced:3", algorithm="exact")
    found = released(cluster, tmp_path / "out", *cluster.workers)
    assert found["executors"] == 2
    assert found["killed"]
    assert found["node"] == here.recoding.cut.node.tolist()
    assert found["loss"] == dict(here.loss)
    assert found["audit"] == json.loads(json.dumps(here.audit.to_dict()))
    whole = shoal.anonymize(data(), shoal.KmAnonymity(3, 2), hierarchy="balanced:3")
    assert found["whole"] == {"algorithm": "local", "loss": dict(whole.loss), "holds": True}
    written = Counter(row for file in (tmp_path / "out" / "public").glob("*.parquet") for row in shoal.read(file))
    assert written == Counter(here.published)
