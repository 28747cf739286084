"""Fuzzing: good files of every kind, changed at random, and read. Run it with `make fuzz`, for FUZZ_SECONDS seconds (600 unless given).

Each changed file is used in a process that is told the limit of memory below (`worker.py`). A crash, an exception that is no
refusal, an exit code other than 0, 2 and 3, a message of several lines, more than ten seconds and more than a gigabyte beyond the limit are
findings: the file is kept in fuzz-findings/, and the line that repeats it is printed. A change follows from the seed, the kind and its
number alone:

    python tests/fuzz/run.py --seed 123 --kind csv --number 4711
"""

from __future__ import annotations

import argparse
import json
import os
import random
import selectors
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from cases import Kind, kinds

LIMIT = "200MB"
MOST_MB = 1000 + 200
LONGEST = 10.0
FINDINGS = Path("fuzz-findings")
_BYTES = (
    b"\0",
    b"\xff",
    b"\xff" * 4,
    b"\xff\xff\xff\x7f",
    b"\0\0\0\x80",
    b"\xff" * 8,
    b"\xff" * 7 + b"\x7f",
    b"\0" * 8,
    b"\1\0\0\0",
)


def changed(kind: Kind, name: str, seed: int, number: int) -> bytes:
    """The change of this number to one of the kind's good files."""
    chance = random.Random(f"{seed} {name} {number}")
    data = bytearray(chance.choice(kind.seeds))
    for _ in range(chance.choice((1, 1, 1, 2, 2, 3, 5, 9))):
        at = chance.randrange(len(data) + 1)
        size = chance.choice((1, 1, 2, 4, 8, 16, 64))
        match chance.randrange(9):
            case 0:
                data[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                if at < len(data):
                    data[at] ^= 1 << chance.randrange(8)
            case 2:
                put = chance.choice(_BYTES)
                data[at : at + len(put)] = put
            case 3:
                del data[at : at + size]
            case 4:
                data[at:at] = data[at : at + size] * chance.choice((1, 2, 50))
            case 5:
                del data[at:]
            case 6:
                other = chance.choice(kind.seeds)
                start = chance.randrange(len(other) + 1)
                data[at : at + size] = other[start : start + size]
            case _:
                put = chance.choice(kind.tokens)
                data[at : at + chance.choice((0, 0, len(put)))] = put * chance.choice((1, 1, 1, 2, 30))
    return bytes(data)


class Worker:
    """The process that uses files, started anew when it has crashed or hangs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._start()

    def _start(self) -> None:
        code, own = Path(__file__).with_name("worker.py"), tempfile.mkdtemp(dir=self.folder)
        environment = os.environ | {"SHOAL_INPUT_LIMIT": LIMIT, "SHOAL_DEBUG": "1", "PYTHONFAULTHANDLER": "1"}
        self._process = subprocess.Popen(
            [sys.executable, os.fspath(code), own],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            text=True,
        )
        if not self._heard(300):
            raise RuntimeError("the process that uses files does not start; run tests/fuzz/worker.py FOLDER to see why")

    def use(self, kind: str, path: Path) -> str | None:
        """What is wrong with how a file was used; None if nothing is."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"kind": kind, "path": os.fspath(path)}) + "\n")
        self._process.stdin.flush()
        answer = self._heard(LONGEST)
        if answer:
            said = json.loads(answer)
            if said["peak_mb"] > MOST_MB:
                self.close()
                self._start()
                return f"{said['peak_mb']} MB of memory"
            fault: str | None = said["fault"]
            return fault
        ended = self._process.poll()
        self.close()
        self._start()
        return f"more than {LONGEST:.0f} seconds" if ended is None else f"ended with {ended}"

    def close(self) -> None:
        self._process.kill()
        self._process.wait()

    def _heard(self, seconds: float) -> str:
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            return self._process.stdout.readline() if selector.select(seconds) else ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--kind", default=None)
    parser.add_argument("--number", type=int, default=None, help="only this change")
    asked = parser.parse_args()
    seed = random.SystemRandom().randrange(10**9) if asked.seed is None else asked.seed
    with tempfile.TemporaryDirectory(prefix="shoal-fuzz-") as place:
        own, others = Path(place, "own"), Path(place, "worker")
        own.mkdir(), others.mkdir()
        known = kinds(own)
        names = [name for name in known if asked.kind in (None, name)]
        if not names:
            parser.error(f"there is no kind {asked.kind!r}; there are {', '.join(known)}")
        print(f"seed {seed}, {asked.seconds:.0f} s, {len(names)} kinds: {', '.join(names)}", flush=True)
        return _fuzz(known, names, seed, asked.seconds, asked.number, Worker(others), own)


def _fuzz(
    known: dict[str, Kind], names: list[str], seed: int, seconds: float, only: int | None, worker: Worker, folder: Path
) -> int:
    done, faults = Counter[str](), Counter[str]()
    end, number = time.monotonic() + seconds, 0 if only is None else only
    while time.monotonic() < end and (only is None or number == only):
        for name in names:
            data = changed(known[name], name, seed, number)
            path = folder / f"x{known[name].ending}"
            path.write_bytes(data)
            fault = worker.use(name, path)
            done[name] += 1
            if fault:
                faults[name] += 1
                FINDINGS.mkdir(exist_ok=True)
                kept = FINDINGS / f"{name.replace(' ', '-')}-{seed}-{number}{known[name].ending}"
                kept.write_bytes(data)
                print(f"\n{kept}: {fault.strip()}", flush=True)
                print(f"again: python tests/fuzz/run.py --seed {seed} --kind {name!r} --number {number}", flush=True)
        number += 1
    worker.close()
    print("\n" + "\n".join(f"{name:<18} {done[name]:>8,} files  {faults[name]:>4} findings" for name in names))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
