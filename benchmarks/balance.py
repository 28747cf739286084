"""Columns against items: what `joint` keeps of both, beside every other algorithm for tables, and how it grows.

All algorithms publish the items of a class by `local` under the same tree, so that only their classes differ. What is kept is counted from
the published rows beside the original ones; every release here has passed its audit. CPU seconds are those of `shoal.anonymize` on records
in memory, audit included, of all cores together: they mean the same beside other work.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from measuring import Row, cpu_seconds, folder, peak_mb

LIMIT = 1200
WITHOUT_DATA = ("rows",)
PROMISES = tuple((k, m) for k in (5, 25, 100) for m in (1, 2, 3))
ADULT = "age,education,marital-status,race,sex,native-country"
OTHERS = (
    ("rfirst", "formation cluster"),
    ("rfirst", "formation mondrian"),
    *((f"{bound}-{way}", "") for bound in ("rmerge", "tmerge") for way in ("r", "t", "rt")),
    ("tfirst", ""),
)


@dataclass(frozen=True)
class Table:
    """Where a table comes from: a file with its roles, or the columns of Adult beside the baskets of another file."""

    file: str
    quasi: str
    drop: str = ""
    tree: str = ""
    """A file of item, categories, root: for items whose names are the numbers of its first or second column."""
    baskets: str = ""
    rows: int | None = None
    """So many rows, drawn at random; all when None."""


TABLES = {
    "Diabetes-130": Table(
        "diabetes130/diabetes130_rt.csv.gz", "race,gender,age", "patient_nbr", "diabetes130/diabetes130_items.csv"
    ),
    "Complete Journey": Table(
        "completejourney/completejourney_rt.csv.gz",
        "age,income,home_ownership,marital_status,household_size,household_comp,kids_count",
        "household_id",
        "completejourney/completejourney_rt_items.csv",
    ),
    "Diabetes-130, 5,000 rows": Table(
        "diabetes130/diabetes130_rt.csv.gz",
        "race,gender,age",
        "patient_nbr",
        "diabetes130/diabetes130_items.csv",
        rows=5_000,
    ),
    "Adult with groceries, 5,000 rows": Table(
        "adult/adult.csv.gz",
        "age,education,sex",
        tree="groceries/groceries_hierarchy.csv",
        baskets="groceries/groceries.dat.gz",
        rows=5_000,
    ),
    "Adult with WebView-1, 5,000 rows": Table(
        "adult/adult.csv.gz", "age,race,sex", baskets="bms_webview1/bms_webview1.dat.gz", rows=5_000
    ),
}


def records_of(table: Table) -> Any:
    """The rows of a table as a frame with the items as lists."""
    import csv
    import gzip

    import numpy as np
    import pandas as pd

    root = folder()
    assert root is not None
    with gzip.open(root / table.file, "rt") as file:
        rows = list(csv.DictReader(file))
    columns = table.quasi.split(",")
    frame = pd.DataFrame({name: [row[name] for row in rows] for name in columns})
    lot = np.random.default_rng(1)
    if table.baskets:
        with gzip.open(root / table.baskets, "rt") as file:
            baskets = [line.split() for line in file]
        frame = frame.iloc[lot.permutation(len(frame))[: min(len(frame), len(baskets))]].reset_index(drop=True)
        frame["items"] = [baskets[i] for i in lot.permutation(len(baskets))[: len(frame)]]
    else:
        frame["items"] = [row["items"].split() for row in rows]
    for name in columns:
        if frame[name].str.fullmatch(r"\d+").all():
            frame[name] = frame[name].astype(int)
    if table.rows is not None:
        frame = frame.iloc[np.sort(lot.permutation(len(frame))[: table.rows])].reset_index(drop=True)
    return frame


def tree_of(table: Table, items: set[str]) -> Any:
    """The tree of the items: the given one, cut to paths from its items to the root, or `frequency:5`."""
    import csv
    import tempfile
    from pathlib import Path

    if not table.tree:
        return "frequency:5"
    root = folder()
    assert root is not None
    if table.baskets:
        return root / table.tree
    with open(root / table.tree, encoding="utf-8") as file:
        lines = list(csv.reader(file))[1:]
    at = next(i for i in range(2) if items <= {line[i] for line in lines})
    paths = [[line[at], *(f"{name}, all" for name in line[at + 1 : -1]), line[-1]] for line in lines]
    place = Path(tempfile.mkdtemp(), "tree.csv")
    with open(place, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(path for path in paths if path[0] in items)
    return place


def released(frame: Any, table: Table, k: int, m: int, algorithm: str, **options: Any) -> tuple[float, Any]:
    """(CPU seconds, release) of one run."""
    import shoal

    tree = tree_of(table, {item for row in frame["items"] for item in row})
    begun = cpu_seconds()
    release = shoal.anonymize(
        frame,
        shoal.RTAnonymity(k, m),
        quasi=table.quasi,
        items="items",
        hierarchy={"items": tree},
        algorithm=algorithm,
        **options,
    )
    assert release.audit.holds
    return cpu_seconds() - begun, release


def what_is_kept(release: Any) -> Row:
    """The figures of both sides, and the objective with both alike."""
    columns, items = (release.loss[name] for name in ("info_columns", "info_items"))
    return {
        "classes": release.details["classes"]["count"],
        "columns' information": f"{1 - columns:.1%}",
        "cells as they are": f"{release.kept['cells']:.1%}",
        "items' information": f"{1 - items:.1%}",
        "items as they are": f"{release.kept['exact']:.1%}",
        "pairs": f"{release.kept['pairs']:.0%}" if release.kept.get("pairs") is not None else "",
        "deleted": f"{release.loss.get('deleted', 0.0):.1%}",
        "lost of both": f"{(columns + items) / 2:.1%}",
    }


def mixed_errors(frame: Any, table: Table, release: Any) -> Row:
    """How far off a reader's answers to 100 random questions about two columns and two items are, over the true ones."""
    import numpy as np

    from shoal.analysis.answers import reader_estimates
    from shoal.loss.queries import answers
    from shoal.loss.workloads import random_workload
    from shoal.models.tables import hierarchies
    from shoal.records.source import load_records

    records = load_records(frame, quasi=table.quasi, items="items").records
    trees = hierarchies(records, {"items": tree_of(table, set(records.items.vocabulary))}, None)
    workload, deleted = random_workload(records, 100, "mixed"), release.loss.get("deleted", 0.0)
    told, truth = (
        reader_estimates(release.published, workload, records, trees, deleted=deleted),
        answers(records, workload),
    )
    errors = np.abs(told - truth) / np.maximum(truth, 1)
    return {"error, mixed queries": f"{errors.mean():.2f}", "median error": f"{np.median(errors):.2f}"}


def warm_up(table: Table, algorithm: str, **options: Any) -> None:
    """Load (or compile) the kernels on a few rows."""
    bound = {"delta": 1.0} if "merge" in algorithm else {}
    released(records_of(table).iloc[:200], table, 5, 2, algorithm, **(options | bound))


def section_promises() -> list[Row]:
    return [{"data": name, "k": k, "m": m} for name in ("Diabetes-130", "Complete Journey") for k, m in PROMISES]


def case_promises(data_name: str, k: int, m: int) -> Row:
    """Tables by `joint`: what is kept of columns and items as k and m grow"""
    table = TABLES[data_name]
    warm_up(table, "joint")
    frame = records_of(table)
    took, release = released(frame, table, k, m, "joint")
    memory = peak_mb()
    return {
        "data": data_name,
        "rows": f"{len(frame):,}",
        "k": k,
        "m": m,
        **what_is_kept(release),
        **mixed_errors(frame, table, release),
        "CPU seconds": f"{took:.0f}",
        "peak MB": memory,
    }


def section_frontier() -> list[Row]:
    names = [name for name in TABLES if name != "Diabetes-130"]
    joint = [("joint", f"balance {w}") for w in (0.5, 0.35, 0.25, 0.15)]
    return [
        {"data": name, "algorithm": algorithm, "options": options}
        for name in names
        for algorithm, options in (*joint, *OTHERS)
    ]


def case_frontier(data_name: str, algorithm: str, options: str) -> Row:
    """Columns against items: every algorithm for tables, k = 5, m = 2, items by `local` in all of them"""
    from shoal.errors import Unreachable

    table = TABLES[data_name]
    name, _, value = options.partition(" ")
    given: Row = {} if not options else {name: float(value) if name == "balance" else value}
    warm_up(table, algorithm, **given)
    row: Row = {"data": data_name, "algorithm": algorithm, "options": options}
    frame = records_of(table)
    try:
        took, release = released(frame, table, 5, 2, algorithm, **given)
    except Unreachable:
        return row | {"classes": "its bound cannot be kept"}
    return row | what_is_kept(release) | {"CPU seconds": f"{took:.1f}"}


def section_balances() -> list[Row]:
    return [{"data": "Diabetes-130", "k": k, "balance": w} for k in (5, 25) for w in (0.5, 0.3, 0.27, 0.25, 0.2)]


def case_balances(data_name: str, k: int, balance: float) -> Row:
    """`joint` by its balance: Diabetes-130, m = 2, up to 6% deleted"""
    table = TABLES[data_name]
    warm_up(table, "joint")
    took, release = released(records_of(table), table, k, 2, "joint", balance=balance, suppress=0.06)
    kept = what_is_kept(release) | {"CPU seconds": f"{took:.0f}", "peak MB": peak_mb()}
    return {"data": data_name, "k": k, "balance": balance, **kept}


def section_adult() -> list[Row]:
    ways = ("better-of-two", "cluster", "mondrian")
    return [{"k": k, "algorithm": algorithm} for k in (5, 25, 100) for algorithm in ways]


def case_adult(k: int, algorithm: str) -> Row:
    """Adult, six columns without items: what k-anonymity keeps"""
    import shoal

    root = folder()
    assert root is not None
    path = root / "adult/adult.csv.gz"
    with_all = {"quasi": ADULT, "algorithm": algorithm}
    drop = (
        "workclass,fnlwgt,education-num,occupation,relationship,capital-gain,capital-loss,hours-per-week,salary-class"
    )
    begun = cpu_seconds()
    release = shoal.anonymize(path, shoal.TableAnonymity(k), drop=drop, **with_all)
    return {
        "k": k,
        "algorithm": algorithm,
        "classes": release.details["classes"]["count"],
        "columns' information": f"{1 - release.loss['info']:.1%}",
        "cells as they are": f"{release.kept['cells']:.1%}",
        "NCP": f"{release.loss['ncp']:.4f}",
        "CPU seconds": f"{cpu_seconds() - begun:.1f}",
    }


LEVELS = {
    "Adult": "sex,age,race,marital-status,education,native-country,workclass,occupation",
    "Diabetes-130": "race,gender,age",
}
"""Quasi columns of tables under trees: Adult's are ARX's, for the 30,162 rows without missing values; the others are flat, or bands."""


def section_levels() -> list[Row]:
    shares = [("full-domain", price, share) for price in ("information", "ncp") for share in (0.0, 0.02, 0.05, 1.0)]
    cuts = [
        (name, price, share)
        for name in ("top-down", "bottom-up")
        for price in ("information", "ncp")
        for share in (0.0, 0.05)
    ]
    local = [(name, "", share) for name in ("better-of-two", "cluster", "mondrian") for share in (0.0, 0.05)]
    plain = [one for one in (*shares, *cuts, *local) if not one[2]]
    return [
        {"data": data, "algorithm": name, "price": price, "rows may leave": share}
        for data, ways in (("Adult", [*shares, *cuts, *local]), ("Diabetes-130", plain))
        for name, price, share in ways
    ]


def case_levels(data_name: str, algorithm: str, price: str, **share: float) -> Row:
    """One level or cut a column for all rows, k = 5, beside classes that differ: what the columns keep"""
    import polars

    import shoal

    root, may_leave = folder(), share["rows may leave"]
    assert root is not None
    quasi, trees = LEVELS[data_name].split(","), {}
    if data_name == "Adult":
        table = polars.read_csv(root / "adult/adult.csv.gz", infer_schema_length=0).select(
            polars.all().str.strip_chars()
        )
        table = table.filter(polars.all_horizontal(polars.col(*quasi) != "?")).select(quasi)
        trees = {name: root / f"adult/hierarchies_arx/adult_hierarchy_{name}.csv" for name in quasi}
    else:
        table = polars.read_csv(root / TABLES[data_name].file, infer_schema_length=0).select(quasi)
    asked = {"quasi": quasi, "hierarchy": trees, "algorithm": algorithm, "suppress_rows": may_leave}
    asked |= {"price": price} if price else {}
    shoal.anonymize(table.head(2_000), shoal.TableAnonymity(5), **asked)
    begun = cpu_seconds()
    release = shoal.anonymize(table, shoal.TableAnonymity(5), **asked)
    took, facts = cpu_seconds() - begun, release.details["facts"]
    return {
        "data": data_name,
        "algorithm": algorithm,
        "price": price,
        "rows may leave": may_leave,
        "left": table.height - release.rows,
        "classes": release.details["classes"]["count"],
        "columns' information": f"{1 - release.loss['info']:.1%}",
        "cells as they are": f"{release.kept['cells']:.1%}",
        "NCP": f"{release.loss['ncp']:.4f}",
        "counted of all choices": f"{facts['counted']:,} of {facts['choices']:,}" if "choices" in facts else "",
        "proven": "yes" if release.optimal else "",
        "CPU seconds": f"{took:.1f}",
    }


def section_rows() -> list[Row]:
    return [{"rows": n} for n in (10_000, 100_000, 1_000_000)]


def case_rows(rows: int) -> Row:
    """`joint` by rows: Quest baskets over 1,000 items beside three columns drawn at random, k = 25, m = 2"""
    import numpy as np
    import pandas as pd

    from shoal.records.samples.quest import quest

    def frame_of(n: int) -> Any:
        baskets, lot = quest(n, length=6, items=1_000, seed=1), np.random.default_rng(1)
        names = np.array(baskets.vocabulary, object)
        return pd.DataFrame(
            {
                "age": lot.integers(18, 90, n),
                "sex": lot.choice(["f", "m"], n),
                "town": lot.zipf(1.5, n) % 50,
                "items": np.split(names[baskets.items], baskets.offsets[1:-1]),
            }
        )

    table = Table("", "age,sex,town")
    released(frame_of(400), table, 5, 2, "joint")
    took, release = released(frame_of(rows), table, 25, 2, "joint")
    return {"rows": f"{rows:,}", **what_is_kept(release), "CPU seconds": f"{took:.0f}", "peak MB": peak_mb()}
