"""What a gate lets through: which files there are, what each has to promise, and how much it may have lost.

    version: 1
    checks:
      - files: public/*.csv
        guarantee: {model: km, k: 5, m: 2}
        columns: {diagnoses: items}
        certificate: required
        kept: {exact: 0.6}

What a check says of promise, columns and reading is said as in a plan, and checked by the same code: a check is a plan without its data.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from shoal.errors import InputError, near_miss
from shoal.options import Place
from shoal.plan.model import Plan
from shoal.plan.parse import plan_of, read_document
from shoal.plan.places import Origin, short_form
from shoal.records.stores.remote import is_elsewhere

OF_PLANS = ("guarantee", "input", "columns", "sensitive_items", "sensitive_file", "hierarchies")
"""The keys that a check shares with plans."""
OWN = ("files", "except", "name", "optional", "certificate", "key", "kept", "loss")
FIGURES = {"kept": ("exact", "pairs", "cells"), "loss": ("info", "ncp", "items_ncp", "ul", "il", "deleted")}
"""What a certificate may state of use and loss."""
_NO_FILE = "the files of this check"
"""The path of a plan that has no data yet."""


@dataclass(frozen=True)
class Check:
    """A promise, and the files that have to keep it."""

    name: str
    files: tuple[str, ...]
    """Patterns, relative to the policy's folder."""
    without: tuple[str, ...]
    optional: bool
    """Whether it is no fault that there is no such file."""
    certified: bool
    key: str | None
    """The path of the public key that must have signed the certificate."""
    least: Mapping[str, float]
    """Per figure of `kept`, what has to be kept."""
    most: Mapping[str, float]
    """Per figure of `loss`, what may be lost."""
    document: Mapping[str, Any]
    origin: Origin = field(repr=False)

    def covers(self, path: str) -> bool:
        """Whether a file, by its path from the policy's folder with `/`, is one of its files. A folder's path ends with `/`."""
        return _fits(path, self.files) and not _fits(path, self.without)

    def plan_for(self, path: str) -> Plan:
        """The check as a plan about a file, whose trees lie beside the policy, wherever that is."""
        path = os.path.abspath(path) if is_elsewhere(self.origin.folder) else path
        document = dict(self.document)
        path = f"./{path}" if path == "-" or ":" in path else path  # whatever it is called, it is a file
        document["input"] = {**document.get("input", {}), "path": path}
        return plan_of({"version": 1, **document}, self.origin)


@dataclass(frozen=True)
class Policy:
    """The checks of a gate, and where they were read."""

    checks: tuple[Check, ...]
    refuse_others: bool
    """Whether files that no check is about are refused."""
    origin: Origin = field(repr=False)

    @property
    def folder(self) -> str:
        """Where the files are: that of the policy, or the current one where the policy is in a store or on a server."""
        return local_folder(self.origin.folder) or "."

    def paths(self, start: str = "") -> Iterator[str]:
        """The files below the policy's folder, or one in it, that a check is about, in order; a folder that is one data set as such."""
        top = self.folder
        above: dict[str, set[str]] = {}
        for folder, inner, files in os.walk(os.path.join(top, start) if start else top, followlinks=True):
            real = os.path.realpath(folder)
            passed = above.get(os.path.dirname(folder), set())
            if real in passed:  # links can lead round in a circle
                inner.clear()
                continue
            above[folder] = passed | {real}
            inner[:] = sorted(name for name in inner if not name.startswith("."))
            here = os.path.relpath(folder, top).replace(os.sep, "/")
            here = "" if here == "." else f"{here}/"
            whole = [name for name in inner if self.covers(f"{here}{name}/")]
            inner[:] = [name for name in inner if name not in whole]
            yield from (f"{here}{name}/" for name in whole)
            paths = (f"{here}{name}" for name in sorted(files) if not name.startswith("."))
            yield from filter(self.covers, paths)

    def covers(self, path: str) -> bool:
        """Whether a check is about this path."""
        return any(check.covers(path) for check in self.checks)

    def paths_of(self, given: str) -> list[str]:
        """What a check is about of a path of this process: the file, the data set that it is a part of, or what lies in the folder."""
        covered: list[str] = []
        for inside in self._ways_to(given):
            folders = [f"{inside[:end]}/" for end, sign in enumerate(inside) if sign == "/"]
            if whole := next(filter(self.covers, folders), None):
                covered.append(whole)
            elif not os.path.isdir(given):
                covered += filter(self.covers, (inside,))
            else:
                covered += [f"{inside}/"] if inside and self.covers(f"{inside}/") else self.paths(inside)
        return list(dict.fromkeys(covered))

    def _ways_to(self, given: str) -> Iterator[str]:
        """A path as patterns see it: as it was given, and where links lead. Of what holds the policy's folder, that folder, ''."""
        folder = self.folder
        real = os.path.realpath(folder)
        parent, name = os.path.split(os.path.abspath(given))
        ways = (
            (os.path.abspath(given), os.path.abspath(folder)),
            (os.path.join(os.path.realpath(parent), name), real),
            (os.path.realpath(given), real),
        )
        for path, top in ways:
            inside = _from(path, top)
            if all(part in (".", "..") for part in inside.split("/")):
                yield ""
            elif not inside.startswith("../"):
                yield inside

    def place_of(self, given: str) -> str:
        """Where a path of this process lies, from the policy's folder."""
        return _from(os.path.abspath(given), os.path.abspath(self.folder))


@dataclass(frozen=True)
class _Inside(Origin):
    """Where a check was read: its places are those of a plan, inside the list of checks."""

    number: int = 0

    def where(self, place: Place = ()) -> str:
        return super().where(("checks", self.number, *(("files",) if place == ("input", "path") else place)))


def read_policy(path: str | os.PathLike[str]) -> Policy:
    """The policy in a file, YAML or (by its name, `.json`) JSON."""
    document, origin = read_document(path)
    if not isinstance(document, Mapping) or not document:
        raise InputError(f"{origin.where()}it holds no checks; give version: 1 and a list of checks")
    _known(origin, (), document, ("version", "checks", "others"))
    if document.get("version") != 1 or isinstance(document.get("version"), bool):
        raise InputError(f"{origin.where(('version',))}give version: 1, which this Shoal reads")
    others = document.get("others", "ignore")
    if others not in ("ignore", "refuse"):
        raise InputError(f"{origin.where(('others',))}it is {short_form(others)}; choose ignore or refuse")
    checks = document.get("checks")
    if not isinstance(checks, list) or not checks:
        raise InputError(
            f"{origin.where(('checks',))}give a list of checks, such as - {{files: public/*.csv, guarantee: {{model: km, k: 5, m: 2}}}}"
        )
    made = tuple(_check(one, origin, number) for number, one in enumerate(checks))
    names = [check.name for check in made]
    for number, name in enumerate(names):
        if name in names[:number]:
            raise InputError(f"{origin.where(('checks', number))}another check has its name; give it one with name:")
    return Policy(made, others == "refuse", origin)


def _check(given: Any, origin: Origin, number: int) -> Check:
    place: Place = ("checks", number)
    if not isinstance(given, Mapping):
        raise InputError(f"{origin.where(place)}it is {short_form(given)}; give a mapping, key: value")
    _known(origin, place, given, (*OWN, *OF_PLANS))
    for needed, example in (("files", "files: public/*.csv"), ("guarantee", "guarantee: {model: km, k: 5, m: 2}")):
        if needed not in given:
            raise InputError(f"{origin.where((*place, needed))}it is missing; add {example}")
    reading = given.get("input", {})
    if isinstance(reading, Mapping) and "path" in reading:
        raise InputError(f"{origin.where((*place, 'input', 'path'))}the files of a check are its files; leave it out")
    if not isinstance(reading, Mapping):
        raise InputError(
            f"{origin.where((*place, 'input'))}it is {short_form(reading)}; give a mapping, key: value, or leave it out"
        )
    if reading.get("one_hot"):
        raise InputError(
            f"{origin.where((*place, 'input', 'one_hot'))}audits read sets, not a column for each item; publish a column of sets"
        )
    roles = given.get("columns", {})
    for column, role in roles.items() if isinstance(roles, Mapping) else ():
        if role == "drop":  # it would pass with names in it
            raise InputError(
                f"{origin.where((*place, 'columns', column))}what is dropped is not in a published file, and nobody would look at it; "
                "leave it out, or if all may see it, give it the role keep or id"
            )
    files = _patterns(given["files"], origin, (*place, "files"))
    certified = given.get("certificate", "optional")
    if certified not in ("required", "optional"):
        raise InputError(
            f"{origin.where((*place, 'certificate'))}it is {short_form(certified)}; choose required or optional"
        )
    name, key, optional = given.get("name", files[0] if files else ""), given.get("key"), given.get("optional", False)
    for what, value in (("name", name), ("key", key)):
        if value is not None and (not isinstance(value, str) or not value.strip()):
            raise InputError(f"{origin.where((*place, what))}it is {short_form(value)}; give a text")
    if not isinstance(optional, bool):
        raise InputError(f"{origin.where((*place, 'optional'))}it is {short_form(optional)}; give true or false")
    limits = {side: _limits(given.get(side, {}), origin, (*place, side), FIGURES[side]) for side in FIGURES}
    inside = _Inside(origin.name, origin.folder, origin.lines, origin.sha256, number)
    made = Check(
        name=name,
        files=files,
        without=_patterns(given["except"], origin, (*place, "except")) if "except" in given else (),
        optional=optional,
        certified=certified == "required" or key is not None or any(limits.values()),
        key=None if key is None else os.path.join(origin.folder, key),
        least=limits["kept"],
        most=limits["loss"],
        document={name: given[name] for name in OF_PLANS if name in given},
        origin=inside,
    )
    plan = made.plan_for(_NO_FILE)  # raises for what no file could be checked against
    try:
        _ = plan.promise
    except InputError as error:
        raise error.in_words(inside.mention).within(inside.where()) from None
    return made


def local_folder(place: str) -> str:
    """Where the files are whose policy lies in a folder: that folder, or the current one (nothing) if it is none of this machine."""
    return "" if is_elsewhere(place) else place


def _from(path: str, top: str) -> str:
    """A path from a folder, with `/`; on another drive, the path itself below what is no folder of it."""
    try:
        return os.path.relpath(path, top).replace(os.sep, "/")
    except ValueError:
        return f"../{path}".replace(os.sep, "/")


def _known(origin: Origin, place: Place, given: Mapping[str, Any], known: Collection[str]) -> None:
    for key in given:
        if key not in known:
            raise InputError(
                f"{origin.where((*place, key))}there is no such key; "
                f"{near_miss(str(key), known)}take one of {', '.join(known)}"
            )


def _limits(given: Any, origin: Origin, place: Place, known: Collection[str]) -> dict[str, float]:
    if not isinstance(given, Mapping):
        raise InputError(f"{origin.where(place)}it is {short_form(given)}; give a mapping, such as {{exact: 0.5}}")
    _known(origin, place, given, known)
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise InputError(f"{origin.where((*place, name))}it is {short_form(value)}; give a share from 0 to 1")
    return {name: float(value) for name, value in given.items()}


def _patterns(given: Any, origin: Origin, place: Place) -> tuple[str, ...]:
    patterns = [given] if isinstance(given, str) else given
    if not isinstance(patterns, list) or not patterns or not all(isinstance(one, str) and one for one in patterns):
        raise InputError(
            f"{origin.where(place)}it is {short_form(given)}; give a pattern such as public/*.csv, or a list"
        )
    for pattern in patterns:
        if pattern.startswith(("/", "~")) or ".." in pattern.split("/") or "\\" in pattern or "\0" in pattern:
            raise InputError(
                f"{origin.where(place)}{short_form(pattern)} leads out of the policy's folder; patterns are relative to it, with /"
            )
        parts = pattern.removeprefix("./").removesuffix("/").split("/")
        if pattern.startswith("!") or re.search(r"[][{}]", pattern) or not {"", "."}.isdisjoint(parts):
            raise InputError(
                f"{origin.where(place)}{short_form(pattern)} fits no file: patterns have *, ? and **/ alone, and ? for a bracket; "
                "list what else you mean, or say except:"
            )
    return tuple(pattern.removeprefix("./") for pattern in patterns)


def _fits(path: str, patterns: Collection[str]) -> bool:
    """Patterns of folders, with `/` at the end, are for folders alone, and others for files."""
    alike = (pattern for pattern in patterns if pattern.endswith("/") == path.endswith("/"))
    return any(re.fullmatch(_expression(pattern), path) for pattern in alike)


def _expression(pattern: str) -> str:
    """A pattern as a regular expression: `*` and `?` stay inside a name, `**/` stands for any folders, none included."""
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    meanings = {"**/": r"(?:[^/]+/)*", "**": r".*", "*": r"[^/]*", "?": r"[^/]"}
    return "".join(meanings.get(part, re.escape(part)) for part in parts)
