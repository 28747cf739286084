"""The data of the experiments: found on this machine, made up in their place, or absent with a remedy.

Public transactions come through the names of `shoal datasets`; tables and part files are looked for in the folder that SHOAL_DATA
names. What is made up in place of data that are not here is said wherever its figures are shown.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from shoal.errors import InputError
from shoal.hierarchy.files import read_hierarchy
from shoal.hierarchy.spec import column_hierarchy
from shoal.hierarchy.tree import Hierarchy
from shoal.records.baskets import Baskets
from shoal.records.records import Column, Records
from shoal.records.samples.datasets import DATASETS, listing
from shoal.records.samples.grocery import grocery
from shoal.records.samples.quest import quest
from shoal.records.source import load_records, read
from shoal.studies.papers import made_up

SEED = 1
"""Of everything that is drawn at random here."""
ADULT_QUASI = ("age", "workclass", "education", "marital-status", "race", "sex")
FLATTER = ("workclass", "marital-status", "race")
"""Columns of Adult whose hierarchy is the flatter one of the two public ones; the others have ARX's."""
TREES: dict[str, dict[str, str]] = {
    "diabetes-130-rt": {"age": "balanced:2"},
    "complete-journey-rt": {"age": "balanced:2", "household_size": "balanced:2", "kids_count": "balanced:2"},
}
"""Columns whose values stand in their order by name: two neighbours under a parent, two parents under the next. Others are flat."""
_ROLES: dict[str, dict[str, Any]] = {
    "diabetes-130-rt": {"quasi": "race,gender,age", "drop": "patient_nbr"},
    "complete-journey-rt": {
        "quasi": "age,income,home_ownership,marital_status,household_size,household_comp,kids_count",
        "drop": "household_id",
    },
}


@dataclass(frozen=True)
class Source:
    """A data set by the name that cells know it by."""

    title: str
    dataset: str | None = None
    """Its name among the public data sets of `shoal datasets`."""
    files: tuple[str, ...] = ()
    """Below the folder that SHOAL_DATA names; all of them are needed."""
    stand_in: str | None = None
    """What is made up where it is not here, in words."""


def _adult_tree(name: str) -> str:
    return f"adult/hierarchies_{'qiyuangong' if name in FLATTER else 'arx'}/adult_hierarchy_{name}.csv"


SOURCES: dict[str, Source] = {
    "webview-1": Source("WebView-1", "bms-webview-1", stand_in="Quest data of the same size"),
    "webview-2": Source("WebView-2", "bms-webview-2", stand_in="Quest data of the same size"),
    "bms-pos": Source("BMS-POS", "bms-pos"),
    "retail": Source("retail", "retail", stand_in="Quest data of the same size"),
    "chess": Source("chess", "chess"),
    "mushroom": Source("mushroom", "mushroom"),
    "pumsb": Source("pumsb", "pumsb"),
    "connect": Source("connect", "connect"),
    "accidents": Source("accidents", "accidents"),
    "accidents-part": Source("accidents, first 15,224 rows", files=("accidents_head/accidents_first15224.dat.gz",)),
    "t10i4d100k": Source("T10I4D100K", "t10i4d100k", stand_in="our own Quest generator with the same parameters"),
    "complete-journey": Source(
        "Complete Journey",
        files=("completejourney/completejourney_baskets.dat.gz", "completejourney/completejourney_hierarchy.csv.gz"),
    ),
    "diabetes-130": Source(
        "Diabetes-130", files=("diabetes130/diabetes130.dat.gz", "diabetes130/diabetes130_items.csv")
    ),
    "adult": Source(
        "Adult",
        files=("adult/adult.csv.gz", *(_adult_tree(name) for name in ADULT_QUASI)),
        stand_in="a made-up census of the same size",
    ),
    "diabetes-130-rt": Source(
        "Diabetes-130 RT",
        files=("diabetes130/diabetes130_rt.csv.gz",),
        stand_in="a made-up table of patients with Quest data as their diagnoses",
    ),
    "complete-journey-rt": Source("Complete Journey RT", files=("completejourney/completejourney_rt.csv.gz",)),
    "grocery": Source("the grocery store of shoal demo"),
}
_GENERATED = ("grocery",)


def files_of(name: str) -> tuple[Path, ...] | None:
    """The files of a source where they all are on this machine; none for what is generated anyway; None where one is missing."""
    if name in _GENERATED:
        return ()
    source = _named(name)
    if source.dataset is not None:
        path = next(one.path for one in listing() if one.dataset.name == source.dataset)
        return None if path is None else (path,)
    folder = os.environ.get("SHOAL_DATA")
    paths = tuple(Path(folder) / file for file in source.files) if folder else ()
    return paths if paths and all(path.is_file() for path in paths) else None


def first_found(*names: str) -> str:
    """The first that is here, else the last."""
    return next((name for name in names if files_of(name) is not None), names[-1])


def is_stand_in(name: str) -> bool:
    return files_of(name) is None and _named(name).stand_in is not None


def label(name: str) -> str:
    """What figures call it."""
    source = _named(name)
    return f"made up for {source.title}" if is_stand_in(name) else source.title


def stand_in_note(name: str) -> str:
    source = _named(name)
    return f"{source.title} is not on this machine: these figures are from {source.stand_in}. {_remedy(name)}"


def absence(name: str) -> str | None:
    """Why a source cannot be measured and what to do about it, or None where it can."""
    if files_of(name) is not None or is_stand_in(name):
        return None
    return f"{_named(name).title}: not on this machine. {_remedy(name)}"


def identity(name: str) -> str:
    """What tells this version of the data from any other: the hash of its files, or that it is made up."""
    files = files_of(name)
    return "made up" if not files else " ".join(_hash(path) for path in files)


def baskets(name: str, rows: int | None = None) -> Baskets:
    """The transactions of a source, all of them or the first so many."""
    files = files_of(name)
    whole = read(files[0]) if files else _made_up(name, rows)
    if rows is None or rows >= len(whole):
        return whole
    part = whole.take(np.arange(rows))
    return type(part).from_codes(part.lengths, part.items, part.vocabulary)  # without items that do not occur any more


def own_tree(name: str, vocabulary: tuple[str, ...]) -> Hierarchy:
    """The real hierarchy that comes with a data set."""
    files = files_of(name)
    if name == "grocery":
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "grocery.csv"
            path.write_text("".join(";".join(steps) + "\n" for steps in grocery(1)[1]), encoding="utf-8")
            tree = read_hierarchy(path)
    elif files and len(files) > 1:
        tree = read_hierarchy(files[1])
    else:
        raise InputError(f"{name} has no hierarchy of its own here. {_remedy(name)}")
    tree.leaves_of(vocabulary)
    return tree


def adult(rows: int | None = None) -> tuple[Records, dict[str, Hierarchy]]:
    """The training rows of Adult that are complete in the seven columns of the Injector paper, and a hierarchy for each column."""
    files = files_of("adult")
    if files is None:
        records = made_up.census(min(rows or 30_718, 30_718), SEED)
        return records, _trees((column, None) for column in records.of_role("quasi"))
    with gzip.open(files[0], "rt") as file:
        table = [r for r in csv.DictReader(file) if not {"?", ""} & {r[name] for name in (*ADULT_QUASI, "occupation")}]
    table = table[:rows]
    quasi = [Column.from_texts(name, "quasi", [row[name] for row in table]) for name in ADULT_QUASI]
    sensitive = Column.from_texts("occupation", "sensitive", [row["occupation"] for row in table])
    return Records((*quasi, sensitive)), _trees(zip(quasi, files[1:], strict=True))


def _trees(columns: Iterable[tuple[Column, Path | None]]) -> dict[str, Hierarchy]:
    trees = {column.name: column_hierarchy(column, spec) for column, spec in columns}
    return {name: tree for name, tree in trees.items() if tree is not None}


def rt_table(name: str, rows: int | None = None) -> tuple[Records, dict[str, str]]:
    """A table with items, or rows of it drawn at random (those of a smaller number are among those of a larger), and hierarchy specs."""
    files = files_of(name)
    if files is None:
        return made_up.patients(min(rows or 71_517, 71_517), SEED), {"age": "balanced:2"}
    records = load_records(files[0], items="items", **_ROLES[name]).records
    if rows is not None and rows < len(records):
        records = records.take(np.sort(np.random.default_rng(SEED).permutation(len(records))[:rows]))
    return records, TREES[name]


def _made_up(name: str, rows: int | None) -> Baskets:
    """So many rows, of the Quest generator the first ones of all."""
    if name == "grocery":
        return grocery(10_000, seed=SEED)[0]
    source = _named(name)
    if source.stand_in is None or source.dataset is None:
        raise InputError(f"{source.title} is not on this machine. {_remedy(name)}")
    figures = DATASETS[source.dataset]
    items = 1000 if name == "t10i4d100k" else figures.items  # of 1,000 items, 870 occur in the published file
    most = min(rows or figures.transactions, figures.transactions)
    return quest(most, length=figures.average or 10, items=items, seed=SEED)


def _remedy(name: str) -> str:
    source = _named(name)
    if source.dataset is None:
        return f"Put {', '.join(source.files)} into a folder and name it with SHOAL_DATA."
    dataset = DATASETS[source.dataset]
    if dataset.url:
        return f"Get it with: shoal datasets get {dataset.name}."
    return f"Get it from {dataset.publisher}, put it as {dataset.files[1]} into a folder and name that with SHOAL_DATA."


def _named(name: str) -> Source:
    if name not in SOURCES:
        raise InputError(f"there is no source {name!r}; there are {', '.join(SOURCES)}")
    return SOURCES[name]


@cache
def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]
