"""Plans of every model with the files they read, and what they publish, for tests of commands, scripts and bundles."""

from __future__ import annotations

SETS = [["abcdefgh"[(i * 3 + j) % 8] for j in range(1 + i % 3)] for i in range(60)]
PEOPLE = [(20 + i * 7 % 40, "MF"[i % 2], SETS[i], "uvwxy"[i % 5], f"n{i}") for i in range(60)]


def write_data(folder):
    (folder / "my sets.csv").write_text("the items;(x)\n" + "".join("|".join(row) + ";\n" for row in SETS))
    (folder / "-sets.dat").write_text("".join(" ".join(row) + "\n" for row in SETS))
    (folder / "long.csv").write_text(
        "who,what\n" + "".join(f"{i},{item}\n" for i, row in enumerate(SETS) for item in row)
    )
    rows = "".join(f"{age},{sex},{'|'.join(items)},{ill},{name}\n" for age, sex, items, ill, name in PEOPLE)
    (folder / "people.csv").write_text('age,"se""x",items,ill,"na,me"\n' + rows)
    (folder / "tree.csv").write_text("".join(f"{x};{'low' if x < 'e' else 'high'};any\n" for x in "abcdefgh"))
    (folder / "sensitive.txt").write_text("h\n")


PLANS = {
    "km": {
        "input": {"path": "my sets.csv", "separator": "|"},
        "columns": {"the items": "items", "(x)": "drop"},
        "hierarchies": "tree.csv",
        "guarantee": {"model": "km", "k": 5, "m": 2},
        "algorithm": "exact",
        "options": {"suppress": 0.05, "threads": 1},
    },
    "a path like a flag": {"input": {"path": "-sets.dat"}, "guarantee": {"model": "km", "k": 3, "m": 1}},
    "a long table": {
        "input": {"path": "long.csv", "format": "long"},
        "columns": {"who": "id", "what": "items"},
        "guarantee": {"model": "k", "k": 3},
        "options": {"seed": 3},
    },
    "sensitive items": {
        "input": {"path": "-sets.dat"},
        "sensitive_items": ["g", "h"],
        "guarantee": {"model": "k", "k": 3},
        "algorithm": "pta",
    },
    "a file of sensitive items": {
        "input": {"path": "-sets.dat"},
        "sensitive_file": "sensitive.txt",
        "guarantee": {"model": "k", "k": 3},
    },
    "table": {
        "input": {"path": "people.csv"},
        "columns": {"age": "quasi", 'se"x': "quasi", "items": "drop", "ill": "sensitive", "na,me": "drop"},
        "hierarchies": {"age": "intervals:5,10,20"},
        "guarantee": {"model": "k", "k": 4, "l": 2, "missing": {"ill": "value"}},
        "options": {"weights": {"age": 2.0}},
    },
    "rt": {
        "input": {"path": "people.csv", "separator": "|"},
        "columns": {"age": "quasi", 'se"x': "quasi", "items": "items", "ill": "keep", "na,me": "drop"},
        "guarantee": {"model": "rt", "k": 4, "m": 2},
        "algorithm": "rmerge-r",
        "options": {"delta": 0.8, "item_weights": {"a": 0.5}},
        "keep_order": True,
    },
    "diversity": {
        "input": {"path": "people.csv", "numeric": ["age"]},
        "columns": {"age": "quasi", 'se"x': "quasi", "items": "drop", "ill": "sensitive", "na,me": "drop"},
        "guarantee": {"model": "diversity", "l": 3, "missing": "value"},
    },
}  # fmt: skip


def published(path):
    """The rows without what is drawn by lot: their order, the ids of a long table, the numbers of buckets and the order within them."""
    header, *rows = path.read_text().splitlines()
    if header == "who,what":
        people = {}
        for row in rows:
            people.setdefault(row.split(",")[0], []).append(row.split(",")[1])
        rows = [" ".join(sorted(items)) for items in people.values()]
    if header.endswith(",bucket"):
        buckets = {}
        for row in rows:
            known, value, bucket = row.rsplit(",", 2)
            buckets.setdefault(bucket, []).append((known, value))
        rows = [str([sorted(side) for side in zip(*bucket, strict=True)]) for bucket in buckets.values()]
    return header, sorted(rows)
