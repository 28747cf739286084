"""The rules of the house that neither ruff nor mypy nor import-linter know: sizes, names, and words that belong to one face.

python scripts/house.py            what breaks a rule, and the lines of each room; exit code 1 if anything does
python scripts/house.py records    the same for one room
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "shoal"
MOST_FILES, MOST_PARAMETERS, MOST_LINES = 12, 8, 97_000

MODELS_AND_PAPERS = {
    *("km", "k", "rt", "lm", "transactions", "tables", "buckets", "chunks", "diversity", "pta", "injector"),
}
"""File names that stand in every room that treats models or papers one by one."""
SAME_NAME = MODELS_AND_PAPERS | {"__init__", "__main__", "release"}

_IRREGULAR = """
begun bound bought brought built chosen cut dealt done drawn found given gone grown heard held hidden hung kept known laid led left lent
lost made meant met paid put read said seen sent set shown spelt spent split spoken stood sunk taken taught thought thrown told
understood undone won worn written
"""
IRREGULAR = frozenset(_IRREGULAR.split())
VERBS = {"cut", "put", "read", "set", "split"}
"""Participles that are verbs as well."""
NOUNS = {"seed", "speed", "need", "feed", "bound", "balanced"}
"""Not participles, or, like balanced, the name of an algorithm."""

LATE = ("shoal.kernels", "shoal.records.stores.copies", "scipy", "pyarrow", "polars")
"""What takes long to import, which an error in a request should not have to wait for."""
LATE_IN = {"release.py": ("shoal.series", "shoal.certificate")}
"""Rooms that a release may not need: most belong to no series, and are not verified."""
PLATFORM = {"resource", "fcntl", "ctypes"}
"""What some systems lack."""
AGREED = {
    "hierarchy/formats/arx.py": "a command to type",
    "hierarchy/formats/links.py": "a command to type",
    "hierarchy/fitting.py": "a command to type",
    "plan/draft.py": "commands to type, in the comments of a plan",
    "records/samples/quest.py": "the parameters of the Quest generator are its paper's",
    "records/samples/datasets.py": "reading a sample needs the readers, which know the samples",
    "records/formats/tabular.py": "rows turn into frames, whose maker needs the rows",
    "records/storage/journal.py": "a journal settles tables, whose writer keeps a journal",
    "app/server/serve.py": "NiceGUI must not be started before its port is known",
}
"""Files with a reason to break one of the rules, which is then not looked for in them."""
EXTRAS = {
    "typst",
    "cryptography",
    "adbc_driver_manager",
    "nicegui",
    "pyspark",
    "pandas",
    "rich",
    "typer",
    "fastapi",
    "starlette",
    "matplotlib",
    "python_calamine",
    "deltalake",
    "pyiceberg",
}
FRONT_DOOR = {"release.py", "records/source.py", "spark/release.py", "estimates/raw_profile.py"}
LAZY_ROOMS = ("cli/",)
"""The command line imports late, so that help comes at once."""
SPEAK_OF_FLAGS = ("cli/", "options.py", "plan/scripts.py")
FLAG = re.compile(r"(?<!var\()(?<![\w-])--[a-z][a-z-]+\b(?!:)")
"""Not the variables of a style sheet."""


def main(rooms: list[str]) -> int:
    files = {path.relative_to(SOURCE).as_posix(): path for path in sorted(SOURCE.rglob("*.py"))}
    trees = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in files.items()}
    faults = [*crowded(files), *same_names(files)]
    for name, tree in trees.items():
        if name not in AGREED:
            faults += [f"{name}:{line}: {what}" for line, what in sorted({*faults_of(name, tree)})]
    faults = [fault for fault in faults if not rooms or fault.startswith(tuple(rooms))]
    lines = Counter[str]()
    for name, path in files.items():
        lines[name.partition("/")[0] if "/" in name else "(root)"] += path.read_text(encoding="utf-8").count("\n")
    if not rooms and lines.total() >= MOST_LINES:
        faults.append(f"there are {lines.total():,} lines, and may be {MOST_LINES:,}: what can go?")
    print(*faults, sep="\n")
    print(", ".join(f"{room} {n:,}" for room, n in lines.most_common() if not rooms or room in rooms))
    print(f"{len(faults)} faults, {len(files)} files, {lines.total():,} lines")
    return 1 if faults else 0


def crowded(files: dict[str, Path]) -> Iterator[str]:
    # The command line has a file for each command, called by its name.
    for folder, n in Counter(name.rpartition("/")[0] for name in files if not name.endswith("__init__.py")).items():
        if n > MOST_FILES and folder != "cli":
            yield f"{folder or '(root)'}: {n} files in one folder; {MOST_FILES} at the most"


def same_names(files: dict[str, Path]) -> Iterator[str]:
    homes = defaultdict(list)
    for name, path in files.items():
        if not name.startswith("cli/"):
            homes[path.stem].append(name)
    for stem, names in homes.items():
        if len(names) > 1 and stem not in SAME_NAME:
            yield from (
                f"{name}: the same file name as {', '.join(other for other in names if other != name)}"
                for name in names
            )


def faults_of(name: str, tree: ast.Module) -> Iterator[tuple[int, str]]:
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from faults_of_function(name, node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            # What begins with `shoal` is a command to type, whoever reads it.
            speaks = name.startswith(SPEAK_OF_FLAGS) or node.value.startswith("shoal ")
            flags = [] if speaks else FLAG.findall(node.value)
            yield from ((node.lineno, f"{flag} is a flag: only the command line speaks of flags") for flag in flags)
    for home in (tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))):
        for node in home.body:
            if isinstance(node, ast.FunctionDef) and is_participle(node.name) and not is_property(node):
                yield node.lineno, f"{node.name} is a bare participle: say what it returns, or what it does"


def faults_of_function(name: str, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[tuple[int, str]]:
    given = node.args
    parameters = [a for a in (*given.posonlyargs, *given.args, *given.kwonlyargs) if a.arg not in ("self", "cls")]
    if len(parameters) > MOST_PARAMETERS and not name.startswith(("kernels/", "cli/")) and name not in FRONT_DOOR:
        yield node.lineno, f"{node.name} has {len(parameters)} parameters; {MOST_PARAMETERS} at the most"
    for inner in ast.walk(node):
        if isinstance(inner, ast.Import | ast.ImportFrom) and not name.startswith(LAZY_ROOMS):
            module = inner.module or "" if isinstance(inner, ast.ImportFrom) else inner.names[0].name
            if module.partition(".")[0] not in EXTRAS | PLATFORM and not module.startswith(
                (*LATE, *LATE_IN.get(name, ()))
            ):
                yield inner.lineno, f"{module} is imported inside a function"


def is_participle(name: str) -> bool:
    """One word, public, that tells what happened instead of what is returned or done."""
    if "_" in name or name in VERBS | NOUNS:
        return False
    return name in IRREGULAR or (name.endswith("ed") and name not in NOUNS)


def is_property(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any("property" in ast.unparse(decorator) for decorator in node.decorator_list)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
