"""Fresh figures beside those recorded before, and beside what is not ours: `make bench` ends with it, and each section does.

What was recorded before is the newest committed file of a section that says something else than the one at hand: git has it, so nothing
is recorded about two commits. A figure is called slower or worse only where it changed by more than noise: losses are the same from run to
run, CPU seconds move by some percent, seconds by the clock only compare where both runs had the machine to themselves. Each is also
rounded as printed, and a step of that is no change.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from measuring import Row, Run
from recorded import NUMBER, RESULTS, Recorded, number, read_record, recorded
from scoreboard import Results, audit_tables, everything, km_tables

NOISE = {"time": 1.25, "memory": 1.2, "loss": 1.01, "kept": 1.01}
"""By how much a figure may change between two runs of the same code on a machine of its own."""
NOISE_OF_A_SHARED_MACHINE = 1.5
"""CPU seconds beside other work: the second thread of a core, and colder caches, cost that much."""
STEPS = 2
"""In units of the last digit that is printed."""
_KINDS = {
    "": re.compile(r"of the data|file MB|times|other tool|generating|printed|of the (first|release)|bare loop$|ratio"),
    "time": re.compile(r"(^|\s)s($|,)|seconds|µs"),
    "memory": re.compile(r"MB"),
    "kept": re.compile(r"information|as they are|^pairs$|recall"),
    "loss": re.compile(
        r"\b(NCP|UL|ARE|loss|lost|errors?|deleted|median)\b|^(GSC|PTA|Gray-TSP|split|frequency|learned)(, k = \d+)?$"
    ),
}
_RESULTS = {"classes"}
"""What stands before the first figure of a row and is no parameter of it."""
_LOOKED_AT = 12
"""Commits of a file."""


@dataclass(frozen=True)
class Change:
    """One figure, before and now."""

    row: str
    figure: str
    kind: str
    before: str
    now: str
    noise: float | None
    """The ratio from which on it is a change; None where the two runs do not compare."""

    @property
    def ratio(self) -> float | None:
        """Now over before; of what is kept, before over now, so that more than 1 is worse in every case."""
        one, other = (self.before, self.now) if self.kind == "kept" else (self.now, self.before)
        return number(one) / number(other) if number(other) and number(one) else None

    @property
    def verdict(self) -> str:
        """`slower`, `faster`, `worse`, `better`, `more memory`, `less memory`, or nothing where it is noise."""
        was, now = number(self.before), number(self.now)
        step = STEPS * max(_last_digit(self.before), _last_digit(self.now))
        if self.noise is None or abs(now - was) <= step * 1.000001:  # 0.05 - 0.03 is a little more than 0.02
            return ""
        if 1 / self.noise <= now / max(was, 1e-12) <= self.noise:
            return ""
        up = now > was
        if self.kind == "time":
            return "slower" if up else "faster"
        if self.kind == "memory":
            return "more memory" if up else "less memory"
        return "better" if up == (self.kind == "kept") else "worse"

    def line(self) -> str:
        shown = "" if self.ratio is None else f", {self.ratio:.2f} times"
        sign = "!" if self.verdict in ("slower", "worse", "more memory") else "+"
        return f"{sign} {self.row}: {self.figure} {self.before} -> {self.now}{shown}: {self.verdict.upper()}"


def kind_of(head: str) -> str:
    """What a column holds: `time`, `memory`, `loss`, `kept`, or nothing that two runs are compared by."""
    return next((kind for kind, heads in _KINDS.items() if heads.search(head)), "")


def changes(before: Recorded, now: Recorded) -> list[Change]:
    """Every figure of a section that both records have."""
    earlier, found = _by_parameters(before.rows), []
    for key, row in _by_parameters(now.rows).items():
        for head, cell in row.items():
            kind, old = kind_of(head), earlier.get(key, {}).get(head, "")
            if kind and all(NUMBER.match(str(one)) for one in (old, cell)):
                noise = noise_of(kind, head, before.run, now.run)
                found.append(Change(", ".join(key[0]), head, kind, str(old), str(cell), noise))
    return found


def noise_of(kind: str, head: str, before: Run, now: Run) -> float | None:
    """The ratio up to which a figure is the same one; None where nothing can be said."""
    if kind != "time":
        return NOISE[kind]
    if (before.cores, before.python.rpartition(".")[0]) != (now.cores, now.python.rpartition(".")[0]):
        return None
    if before.processor and now.processor and before.processor != now.processor:
        return None
    if before.is_quiet() and now.is_quiet():
        return NOISE["time"]
    return NOISE_OF_A_SHARED_MACHINE if "CPU" in head else None


def report(name: str, before: Recorded, now: Recorded) -> Iterator[str]:
    """The lines about one section: medians of all ratios, and every figure that changed."""
    every = changes(before, now)
    parts = [f"{name}: beside {before.run.date}, commit {before.run.commit}"]
    for kind, word in (("time", "times"), ("memory", "memory"), ("loss", "losses"), ("kept", "shares kept")):
        ratios = [c.ratio for c in every if c.kind == kind and c.ratio is not None]
        if ratios:
            parts.append(f"{word} {median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
    if any(change.noise is None for change in every):
        parts.append("seconds by the clock not judged: another machine, or other work beside one of the runs")
    yield "; ".join(parts)
    yield from (f"  {change.line()}" for change in every if change.verdict)


def before_now(name: str, revision: str | None = None, folder: Path = RESULTS) -> Recorded | None:
    """What a commit has of a section; unless it is named, the newest that says something else than the file at hand."""
    here, path = recorded(name, folder), folder / f"{name}.json"
    commits = revision or _git(folder, "log", f"-{_LOOKED_AT}", "--format=%h", "--", str(path)) or ""
    for commit in commits.split():
        text = _git(folder, "show", f"{commit}:./{name}.json")
        if text and (kept := read_record(json.loads(text))) is not None and (revision or kept != here):
            return kept
    return None


def all_changes(names: list[str], revision: str | None = None) -> Iterator[str]:
    """The lines about these sections, and how many figures became worse in all."""
    worse, compared = 0, 0
    for name in names:
        before, now = before_now(name, revision), recorded(name)
        if before is None or now is None:
            continue
        lines = [*report(name, before, now)]
        worse += sum(line.startswith("  !") for line in lines)
        compared += 1
        yield from lines
    if compared:
        yield f"{f'{worse:,} figures' if worse else 'nothing'} became worse by more than noise"
    else:
        yield "nothing was recorded before that these could be compared with"


def beside_others(results: Results | None = None) -> Iterator[str]:
    """Ratios to a bare loop and to the recorded figures of ARX, from what is recorded now."""
    results = everything() if results is None else results
    for row in audit_tables(results)[0]:
        yield f"audit, {row['data']}, {row['setting']}: {row['× s']} times {row['reference']}"
    for row in km_tables(results)[0]:
        if row["reference"] == "ARX":
            loss = f", {row['× loss']} times its loss" if row["× loss"] else ""
            yield f"{row['algorithm']}, {row['data']}, {row['setting']}: {row['× s']} times ARX's seconds{loss}"


def _by_parameters(rows: list[Row]) -> dict[tuple[tuple[str, ...], int], Row]:
    """Rows by what they are about, which stands before their first figure; and by their place, where several are about the same."""
    keyed: dict[tuple[tuple[str, ...], int], Row] = {}
    for row in rows:
        about: list[str] = []
        for head, cell in row.items():
            if kind_of(head):
                break
            if head not in _RESULTS:
                about.append(str(cell) if isinstance(cell, str) and not NUMBER.fullmatch(cell) else f"{head} {cell}")
        key = tuple(about)
        keyed[key, sum(other == key for other, _ in keyed)] = row
    return keyed


def _last_digit(cell: str) -> float:
    """The size of a unit in the last digit of a figure, in its own unit."""
    found = NUMBER.search(cell)
    digits = found[0].partition(".")[2] if found else ""
    share = 100 if found and cell[found.end() :].startswith("%") else 1
    return 10.0 ** -len(digits.partition("e")[0]) / share if digits or "e" not in (found[0] if found else "") else 0.0


def _git(folder: Path, *words: str) -> str | None:
    done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None
