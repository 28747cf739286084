"""Releases of every model from data made to provoke a leak: rare items, values, categories and sensitive values, all of them marked.

Rare names, which must never reach a certificate, hold `zqrare`, sensitive ones `zqsecret`; columns and common items hold neither.
The folder is called after a person.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import shoal

RARE, SENSITIVE = "zqrare", "zqsecret"
PERSON = "zqraremaria_zqrareschmidt"
ROWS = 120


@dataclass(frozen=True)
class Case:
    """A release of one kind, and what must be said to verify it."""

    guarantee: Any
    data: str
    public: str
    options: dict[str, Any]
    verify: dict[str, Any] = field(default_factory=dict)


TABLE = {"quasi": "age,town,job", "drop": "name"}
CASES = {
    "km exact": Case(shoal.KmAnonymity(4, 2), "sets.csv", "public.csv", {"hierarchy": "tree.csv"}),
    "km hybrid": Case(
        shoal.KmAnonymity(4, 2),
        "sets.csv",
        "public.dat",
        {"hierarchy": "tree.csv", "algorithm": "hybrid", "suppress": 0.3},
    ),
    "km suppressed": Case(
        shoal.KmAnonymity(4, 2), "sets.jsonl", "public.jsonl", {"hierarchy": "tree.csv", "suppress": 0.5}
    ),
    "km frequency": Case(shoal.KmAnonymity(3, 3), "sets.jsonl", "public.parquet", {}),
    "k": Case(shoal.KAnonymity(4), "sets.csv", "public.csv.gz", {}),
    "k with items": Case(
        shoal.KAnonymity(4, 2),
        "sets.csv",
        "public.csv",
        {"sensitive": "sensitive.txt"},
        {"sensitive": "sensitive.txt"},
    ),
    "k with a column": Case(
        shoal.KAnonymity(4, 2), "two.jsonl", "public.jsonl", {"sensitive": "illness", "items": "items"}
    ),
    "table": Case(
        shoal.TableAnonymity(4),
        "people.csv",
        "public.csv",
        TABLE | {"drop": "name,items,illness", "hierarchy": {"town": "towns.csv"}},
    ),
    "table diverse": Case(
        shoal.TableAnonymity(4, 2), "people.csv", "public.tsv", TABLE | {"drop": "name,items", "sensitive": "illness"}
    ),
    "rt": Case(
        shoal.RTAnonymity(4, 2),
        "people.csv",
        "public.csv",
        TABLE | {"drop": "name,illness", "items": "items", "hierarchy": {"items": "tree.csv", "town": "towns.csv"}},
    ),
    "rt sets": Case(
        shoal.RTAnonymity(4, 1),
        "people.csv",
        "public.csv",
        TABLE | {"drop": "name", "items": "items", "keep": "illness"},
    ),
    "lm with items": Case(
        shoal.LmDiversity(4, 2, 1),
        "people.csv",
        "public.csv",
        TABLE | {"drop": "name,illness", "items": "items", "sensitive": "sensitive.txt"},
        {"sensitive": "sensitive.txt"},
    ),
    "injector": Case(
        shoal.MatchingDiversity(3),
        "people.csv",
        "public.csv",
        TABLE | {"drop": "name,items", "sensitive": "illness", "knowledge": "rules.jsonl"},
        {"knowledge": "rules.jsonl"},
    ),
    "anatomy": Case(
        shoal.MatchingDiversity(3),
        "people.csv",
        "public.parquet",
        TABLE | {"drop": "name,items", "sensitive": "illness", "algorithm": "anatomy"},
    ),
}
FILES = ("hierarchy", "sensitive", "knowledge")


def provoking_folder(parent: Path) -> Path:
    """A folder with the raw files, named after a person."""
    folder = parent / PERSON
    folder.mkdir()
    lots = random.Random(7)
    common = ["milk", "bread", "eggs", "tea"]
    rare = [f"zqrareitem{i}zq" for i in range(9)]
    sensitive = ["zqsecretpregnancyzq", "zqsecretinsulinzq", "zqsecretstatinzq"]
    sets = []
    for i in range(ROWS):
        row = lots.sample(common, lots.randint(1, 3))
        if i % 20 == 0:
            row.append(rare[i // 20])
        if i in (3, 4):
            row.append(rare[7])
        sets.append([*row, sensitive[i % 3]])
    illnesses = ["zqsecretfluzq", "zqsecretcoldzq", "zqsecretasthmazq", "zqsecretgoutzq"]
    people = [
        {
            "name": f"zqrareperson{i}zq",
            "age": 20 + i % 40,
            "town": f"zqrarevillage{i}zq" if i % 30 == 0 else lots.choice(["Bern", "Basel"]),
            "job": "zqrarebishopzq" if i == 17 else lots.choice(["cook", "nurse"]),
            "illness": "zqrareleprosyzq" if i == 5 else illnesses[i % 4],
            "items": sets[i],
        }
        for i in range(ROWS)
    ]
    _write(folder, "sets.csv", "items\n" + "".join(f"{'|'.join(row)}\n" for row in sets))
    _write(folder, "sets.jsonl", "".join(f"{json.dumps(row)}\n" for row in sets))
    two = [{"items": row[:-1], "illness": [row[-1]]} for row in sets]
    _write(folder, "two.jsonl", "".join(f"{json.dumps(row)}\n" for row in two))
    lines = [",".join("|".join(v) if isinstance(v, list) else str(v) for v in person.values()) for person in people]
    _write(folder, "people.csv", "\n".join([",".join(people[0]), *lines, ""]))
    items = [f"{item};zqrarerarities;zqrareodd things;all" for item in rare]
    items += [f"{item};zqsecretdrugs;zqrareodd things;all" for item in sensitive]
    _write(folder, "tree.csv", "\n".join([*items, *(f"{item};food;plain things;all" for item in common), ""]))
    towns = {person["town"] for person in people}
    named = [f"{town};{'zqrarehamlets' if 'zq' in town else 'cities'};land" for town in sorted(towns)]
    _write(folder, "towns.csv", "\n".join([*named, ""]))
    _write(folder, "sensitive.txt", "\n".join([*sensitive, ""]))
    _write(folder, "rules.jsonl", json.dumps({"if": {"job": "cook"}, "never": "zqsecretgoutzq"}) + "\n")
    return folder


def released(folder: Path, name: str, certificate: str, **writing: Any) -> tuple[Path, Path]:
    """(the published file, its certificate) of a case."""
    case = CASES[name]
    options = dict(case.options)
    for option in FILES:
        if option in options:
            options[option] = _paths(folder, options[option])
    release = shoal.anonymize(folder / case.data, case.guarantee, **options)
    release.write(folder / case.public, certificate=folder / certificate, **writing)
    return folder / case.public, folder / certificate


def verifying(folder: Path, name: str) -> dict[str, Any]:
    """What must be said to verify a case."""
    return {option: _paths(folder, given) for option, given in CASES[name].verify.items()}


def _paths(folder: Path, given: Any) -> Any:
    if isinstance(given, dict):
        return {column: str(folder / file) for column, file in given.items()}
    return str(folder / given) if (folder / given).exists() else given


def _write(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text, encoding="utf-8")
