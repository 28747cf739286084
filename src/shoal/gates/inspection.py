"""A gate for files, whoever made them: each is audited, and its certificate verified, as a policy asks.

It looks at what is published and at certificates, never at an original, and what it says holds counts and places, never a value.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from shoal.algorithms.recoding import Progress
from shoal.errors import InputError, ShoalError, Unreachable, number_of
from shoal.gates.rulebook import Check, Policy, read_policy
from shoal.options import Auditing
from shoal.options import File as Path
from shoal.plan.model import Plan
from shoal.records.foreign.workbooks import workbook_of
from shoal.records.formats.folders import beside, entries_of, export_files
from shoal.records.storage.streams import display_name, reading_errors
from shoal.records.stores.remote import is_elsewhere
from shoal.release import audit, verify
from shoal.showing import fields_of, watching

BROKEN, UNUSABLE = 3, 2
FORMS = (".json", ".html", ".pdf")
"""Of certificates, in the order in which they are looked for: beside the data, as FILE.certificate.json."""
KINDS = {
    "promise": "A file does not keep the promise that the policy asks of it.",
    "certificate": "A file has no certificate that can be verified, though the policy asks for one.",
    "usefulness": "A file keeps less, or lost more, than the policy allows.",
    "unreadable": "A file cannot be read as the policy says.",
    "missing": "No file is there that a check is about.",
    "uncovered": "A file was given, or lies in a data set, that no check is about.",
}
"""What can be wrong, as a policy's reader would say it."""
MORE_THAN_CELLS = (
    "a workbook holds more than cells (copies of rows in pivot tables, comments, hidden sheets), which nobody audits; "
    "publish CSV"
)
NOT_THERE = "there is no such file; check the path"
_UNUSABLE = ("unreadable", "missing")
"""What is wrong with these is the input, and not a promise."""


@dataclass(frozen=True)
class Problem:
    """Something that is wrong with a file.

    Attributes:
        kind: promise, certificate, usefulness, unreadable, missing or uncovered.
        says: A sentence, without values of the data.
    """

    kind: str
    says: str


@dataclass(frozen=True)
class Inspected:
    """What came of a check of a file.

    Attributes:
        file: Its path from the policy's folder, or the pattern that no file fits.
        check: The name of the check; None where no check is about the file.
        guarantee: The promise that was asked for.
        problems: Nothing, where it passes.
    """

    file: str
    check: str | None
    guarantee: str | None = None
    checked: int | None = None
    violations: int | None = None
    certificate: str | None = None
    """The verdict on the certificate, where one was asked for and found."""
    problems: tuple[Problem, ...] = ()

    @property
    def passes(self) -> bool:
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        facts = fields_of(self, "file", "check", "passes", "guarantee", "checked", "violations", "certificate")
        return facts | {"problems": [{"kind": problem.kind, "says": problem.says} for problem in self.problems]}


@dataclass(frozen=True)
class Inspection:
    """What a gate found. It is true where every file passes, so that it can be asserted.

    Attributes:
        policy: The file of the policy.
        files: Every file with every check that is about it.

    >>> import shoal
    >>> used = shoal.write(shoal.read([["milk", "bread"], ["milk", "bread"]]), "public.csv")
    >>> with open("gate.yaml", "w") as file:
    ...     print("version: 1", "checks: [{files: '*.csv', guarantee: {model: km, k: 2, m: 2}}]", sep=chr(10), file=file)
    >>> shoal.gate("gate.yaml")
    Inspection(1 passes)
    """

    policy: str
    policy_sha256: str | None
    """Of the policy's file: which of its versions was asked."""
    files: tuple[Inspected, ...]
    ignored: int = 0
    """Files that were given and that no check is about, where the policy does not refuse them."""

    @property
    def holds(self) -> bool:
        return all(file.passes for file in self.files)

    @property
    def exit_code(self) -> int:
        """As the command ends: 0, 3 where a promise or a demand is broken, 2 where something could not be looked at."""
        kinds = {problem.kind for file in self.files for problem in file.problems}
        return 0 if not kinds else UNUSABLE if kinds <= set(_UNUSABLE) else BROKEN

    def __bool__(self) -> bool:
        return self.holds

    def __repr__(self) -> str:
        broken = sum(not file.passes for file in self.files)
        passing = len(self.files) - broken
        said = [f"{passing:,} {'passes' if passing == 1 else 'pass'}"] if passing or not broken else []
        said += [f"{broken:,} {'does' if broken == 1 else 'do'} not"] if broken else []
        return f"Inspection({', '.join(said)})"

    def require(self) -> Inspection:
        """The inspection itself where all files pass; raises where one does not, with its first problem, or where none was looked at."""
        if self.ignored and not self.files:
            raise InputError(
                f"{self.policy}: no check is about any of the files that were given; name its files, or add a check"
            )
        for file in self.files:
            for problem in file.problems:
                kind = InputError if self.exit_code == UNUSABLE else Unreachable
                raise kind(f"{file.file}: {problem.says}")
        return self

    def to_dict(self) -> dict[str, Any]:
        return {
            "holds": self.holds,
            "policy": self.policy,
            "policy_sha256": self.policy_sha256,
            "ignored": self.ignored,
            "files": [file.to_dict() for file in self.files],
        }


def gate(
    policy: Path,
    files: Path | Iterable[Path] | None = None,
    *,
    threads: int | None = None,
    progress: Progress | bool | None = None,
) -> Inspection:
    """Whether files may pass: every one that the policy is about, or the given ones among them.

    Args:
        policy: The file of the policy (YAML or JSON).
        files: Files to look at; without them, all below the policy's folder that a check is about.

    Raises:
        InputError: The policy is not usable. What is wrong with a file is not an error: see `Inspection.require`.

    >>> import shoal
    >>> used = shoal.write(shoal.read([["milk", "bread"], ["milk"]]), "public.csv")
    >>> with open("gate.yaml", "w") as file:
    ...     print("version: 1", "checks: [{files: '*.csv', guarantee: {model: km, k: 2, m: 1}}]", sep=chr(10), file=file)
    >>> found = shoal.gate("gate.yaml", "public.csv")
    >>> found.holds, found.files[0].violations
    (False, 1)
    """
    rules = read_policy(policy)
    given = None if files is None else [files] if isinstance(files, str | os.PathLike) else list(files)
    with watching(progress) as watch:
        if given is None:
            found = [*_of_policy(rules, threads, watch), *_missing(rules)]
            ignored = 0
        else:
            if any(map(is_elsewhere, given)):
                raise InputError(
                    "a gate looks at files of this machine; copy those that lie elsewhere, and name the copies"
                )
            wanted: list[str] = []
            others: list[Inspected] = []
            ignored = 0
            for path in [os.fspath(one) for one in given]:
                if covered := rules.paths_of(path):
                    wanted += covered
                elif not os.path.lexists(path):
                    others.append(Inspected(rules.place_of(path), None, problems=(Problem("unreadable", NOT_THERE),)))
                elif rules.refuse_others:
                    others.append(Inspected(rules.place_of(path), None, problems=(_uncovered(),)))
                else:
                    ignored += 1
            found = [*_inspected(rules, list(dict.fromkeys(wanted)), threads, watch), *others]
    return Inspection(rules.origin.name, rules.origin.sha256, tuple(found), ignored)


def _of_policy(rules: Policy, threads: int | None, watch: Progress | None) -> Iterator[Inspected]:
    yield from _inspected(rules, list(rules.paths()), threads, watch)


def _missing(rules: Policy) -> Iterator[Inspected]:
    paths = list(rules.paths())
    for check in rules.checks:
        if not check.optional and not any(check.covers(path) for path in paths):
            says = "no file fits; correct the pattern, or say optional: true"
            yield Inspected(", ".join(check.files), check.name, problems=(Problem("missing", says),))


def _uncovered() -> Problem:
    return Problem("uncovered", "no check of the policy is about it; add one, or say others: ignore")


def _inspected(rules: Policy, paths: Sequence[str], threads: int | None, watch: Progress | None) -> Iterator[Inspected]:
    for number, path in enumerate(paths):
        if watch is not None:
            watch(f"checking {path}", number / len(paths))
        yield from (_look_at(path, check, threads) for check in rules.checks if check.covers(path))


def _look_at(path: str, check: Check, threads: int | None) -> Inspected:
    """A file against a check: the promise first, then what its certificate says."""
    try:
        plan = check.plan_for(path.removesuffix("/"))
    except InputError as error:  # by its name: the rest was looked at with the policy
        return Inspected(path, check.name, problems=(Problem("unreadable", str(error)),))
    name = str(plan.promise)
    facts: dict[str, Any] = {}
    problems: list[Problem] = []
    try:
        if (unseen := _unseen(plan.path_of(plan.input.path))) is not None:
            return Inspected(path, check.name, name, problems=(unseen,))
        with plan.speaking():
            given = plan.keywords()
            asked = {key: given[key] for key in Auditing.__annotations__ if key in given}
            verdict = audit(plan.content, plan.promise, witnesses=0, threads=threads, **asked)
        facts = {"checked": verdict.checked, "violations": verdict.violations}
        if not verdict:
            problems.append(
                Problem(
                    "promise", f"{name} does not hold: {verdict.violations:,} of {verdict.checked:,} counted break it"
                )
            )
    except InputError as error:
        return Inspected(path, check.name, name, problems=(Problem("unreadable", _unplaced(error, plan)),))
    if check.certified:
        said, more = _certificate(plan, check, threads)
        facts["certificate"] = said
        problems += more
    return Inspected(path, check.name, name, problems=tuple(problems), **facts)


def _unseen(path: str) -> Problem | None:
    """What a reader would pass over though it is published with the rest."""
    if workbook_of(path) is not None:
        return Problem("unreadable", MORE_THAN_CELLS)
    if not os.path.isdir(path):
        return None
    with reading_errors(path):
        entries = entries_of(path)
    if export_files(entries, display_name(path)):
        return Problem("unreadable", "a FHIR export holds more than what is read of it, such as names; publish a table")
    if others := beside(entries).strange:
        held = number_of(len(others), "entry", "entries")
        return Problem(
            "uncovered", f"it also holds {held} that no reader of the data set looks at; remove what is not part of it"
        )
    return None


def _unplaced(error: ShoalError, plan: Plan) -> str:
    """What is wrong, without the place of the check that is named already."""
    path = plan.path_of(plan.input.path)
    return str(error).removeprefix(plan.origin.where()).removeprefix(f"{display_name(path)}: ")


def _certificate(plan: Plan, check: Check, threads: int | None) -> tuple[str | None, list[Problem]]:
    """The verdict on the certificate beside a file, and what is wrong with it or with the figures that it states."""
    data = plan.path_of(plan.input.path)
    path = next((data + ending for form in FORMS if os.path.exists(data + (ending := f".certificate{form}"))), None)
    if path is None:
        return None, [
            Problem("certificate", "there is no certificate beside it (FILE.certificate.json, .html or .pdf)")
        ]
    try:
        found = verify(path, data, key=check.key, threads=threads, **_sensitive(plan))
    except InputError as error:
        return None, [Problem("certificate", str(error))]
    if not found.holds:
        failed = [c.name for c in found.checks if c.holds is False] or [c.name for c in found.checks if c.holds is None]
        return found.verdict, [Problem("certificate", f"{found.verdict}: {', '.join(failed)}; shoal verify says why")]
    return found.verdict, list(_below_limits(found.certificate, check))


def _sensitive(plan: Plan) -> dict[str, Any]:
    """The sensitive items, which a certificate does not name; a column it does."""
    items = plan.sensitive_items if plan.sensitive_file is None else plan.sensitive
    return {} if items is None else {"sensitive": items}


def _below_limits(certificate: Mapping[str, Any], check: Check) -> Iterator[Problem]:
    for side, limits, word in (("kept", check.least, "at least"), ("loss", check.most, "at most")):
        stated = certificate.get(side, {})
        for name, limit in limits.items():
            value = stated.get(name) if isinstance(stated, Mapping) else None
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                yield Problem("usefulness", f"its certificate does not state {side}.{name}; ask for another figure")
            elif value < limit if side == "kept" else value > limit:
                yield Problem("usefulness", f"{side}.{name} is {value:.4g}; the policy asks for {word} {limit:.4g}")
