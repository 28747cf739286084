"""Figures on limited memory: the whole way of a release with a limit and without, and whether both end in the same.

The limit is enforced, not trusted: the limited run has RLIMIT_DATA set to it, which on Linux counts all private memory, and its highest
resident size, pages of scratch files and of libraries with it, must stay below the limit too. That is what is noted as peak: the system's
own record (VmHWM), not a sample. Private (anonymous) memory is looked at twenty times a second.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measuring import Row

WITHOUT_DATA = ("memory",)
K, M, LENGTH = 500, 2, 10


def section_memory() -> list[Row]:
    return [{"rows": 1_000_000, "limit": "800MB"}, {"rows": 10_000_000, "limit": "2GB"}]


def case_memory(rows: int, limit: str) -> Row:
    """Local, larger than memory: Quest data, exact, m = 2, with a limit and without."""
    from shoal.records.samples.quest import quest
    from shoal.records.storage.scratch import size_in_bytes
    from shoal.records.writing import write

    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/var/tmp")) as folder:
        data = Path(folder) / "quest.dat"
        baskets = quest(rows, LENGTH)
        occurrences = baskets.occurrences
        write(baskets, data)
        del baskets
        size = data.stat().st_size
        free, free_memory = _run(data, None)
        limited, limited_memory = _run(data, limit)
    assert max(limited_memory, limited["resident"]) <= size_in_bytes(limit) / 1e6
    return {
        "rows": f"{rows:,}",
        "occurrences": f"{occurrences:,}",
        "file MB": f"{size / 1e6:,.0f}",
        "k": K,
        "m": M,
        "limit": limit,
        "NCP": f"{limited['ncp']:.6f}",
        "itemsets audited": f"{limited['checked']:,}",
        "same result": "yes" if all(free[name] == limited[name] for name in SAME) else "NO",
        "peak MB": f"{limited['resident']:,.0f}",
        "without limit peak MB": f"{free['resident']:,.0f}",
        "private MB": f"{limited_memory:,.0f}",
        "without limit private MB": f"{free_memory:,.0f}",
        "s": f"{limited['seconds']:.0f}",
        "without limit s": f"{free['seconds']:.0f}",
    }


SAME = ("ncp", "cut", "checked", "by_size", "holds", "rows")
"""What must not depend on the limit; `rows` is the same for the same published rows in any order."""


def _run(data: Path, limit: str | None) -> tuple[Row, float]:
    """What a run in a process of its own found, and the most private memory that it held, in MB."""
    order = [sys.executable, __file__, str(data), *([] if limit is None else [limit])]
    peak = 0
    with subprocess.Popen(order, stdout=subprocess.PIPE, text=True) as process:
        while process.poll() is None:
            try:
                status = Path(f"/proc/{process.pid}/status").read_text()
            except OSError:
                break
            if found := re.search(r"RssAnon:\s+(\d+) kB", status):
                peak = max(peak, int(found[1]))
            time.sleep(0.05)
        assert process.stdout is not None
        told = process.stdout.read()
    if process.returncode:
        raise RuntimeError(f"the run with limit {limit} ended with exit code {process.returncode}")
    return json.loads(told), peak * 1024 / 1e6


def _way(data: str, limit: str | None) -> Row:
    """Read, recode, shuffle, audit, write, read again, compare: what `shoal anonymize` does."""
    from shoal.records.storage.scratch import size_in_bytes

    if limit is not None:
        import resource

        size = size_in_bytes(limit)
        resource.setrlimit(resource.RLIMIT_DATA, (size, size))
    from shoal.algorithms.km.exact import exact
    from shoal.algorithms.recoding import Options
    from shoal.guarantees.km import KmAnonymity
    from shoal.hierarchy.build import frequency_tree
    from shoal.records.source import load_sets
    from shoal.records.writing import write

    started, promise = time.monotonic(), KmAnonymity(K, M)
    baskets = load_sets(data, memory_limit=limit).baskets
    recoding = exact(baskets, promise, frequency_tree(baskets.vocabulary, baskets.supports(), 5), Options(price="ncp"))
    published = recoding.apply(baskets).shuffle()
    audit = promise.audit(published)
    out = Path(data).with_name("out.dat")
    write(published, out, force=True)
    again = load_sets(out, memory_limit=published.scratch).baskets
    seconds = time.monotonic() - started
    if again != published:
        raise RuntimeError("what was written reads as other rows")
    return {
        "ncp": recoding.bound,
        "cut": recoding.cut.node.tolist(),
        "holds": audit.holds,
        "checked": audit.checked,
        "by_size": audit.to_dict()["by_size"],
        "rows": _hash_of_rows(published),
        "seconds": seconds,
        "resident": _resident(),
    }


def _hash_of_rows(baskets: Any) -> str:
    """Of the rows as a multiset: hashes of items add up to that of a row, and, mixed, those of rows to that of all."""
    import zlib

    import numpy as np

    def mixed(words: Any) -> Any:  # the finalizer of splitmix64
        words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return words ^ (words >> np.uint64(31))

    of_item = mixed(np.array([zlib.crc32(name.encode()) + 1 for name in baskets.vocabulary], np.uint64))
    total = 0
    for first, last in baskets.row_blocks():
        offsets = baskets.offsets[first : last + 1]
        upto = np.zeros(int(offsets[-1] - offsets[0]) + 1, np.uint64)
        np.cumsum(of_item[baskets.items[offsets[0] : offsets[-1]]], out=upto[1:])
        total += int(mixed(np.diff(upto[offsets - offsets[0]]) + np.uint64(1)).sum())
    return f"{total % 2**64:016x} {len(baskets)}"


def _resident() -> float:
    """The highest resident size so far, in MB. (`ru_maxrss` would begin with that of the process that started this one.)"""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found
    return int(found[1]) * 1024 / 1e6


if __name__ == "__main__":
    print(json.dumps(_way(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)))
