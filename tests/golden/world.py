"""A small made-up world for the golden calls: the same bytes on every machine, in every format and in every kind of disrepair."""

from __future__ import annotations

import json
import random
import sqlite3
from pathlib import Path

FOODS = {
    "dairy": ["brie", "gouda", "milk", "butter"],
    "drinks": ["beer", "wine", "cola"],
    "bakery": ["bread", "rolls", "cake"],
    "garden": ["soil", "rake"],
}
CODES = {
    "E": ["E10", "E11", "E78"],
    "I": ["I10", "I25", "I50"],
    "J": ["J45", "J18"],
}
DISEASES = ["asthma", "flu", "gout", "anaemia", "migraine"]

POLICIES = {
    "policy.yaml": """\
protect:
  - [brie, soil, rake]
  - [gouda, wine]
  - {all: 2, of: [milk, beer, cake]}
generalize:
  - [brie, gouda, milk, butter]
  - [soil, rake]
""",
    "levels.yaml": """\
protect:
  - {all: 1, of: '*'}
generalize: {hierarchy: tree.csv, level: 1}
""",
    "two-groups.yaml": """\
protect: [[brie]]
generalize: [[brie, milk], [brie, beer]]
""",
}
PLANS = {
    "constraints.yaml": """\
version: 1
input: {path: baskets.csv}
columns: {items: items}
guarantee: {model: constraints, k: 3, policy: policy.yaml}
outputs: {data: constraints-public.csv}
""",
    "km.yaml": """\
version: 1
input: {path: baskets.csv}
columns: {items: items}
hierarchies: tree.csv
guarantee: {model: km, k: 3, m: 2}
algorithm: exact
outputs: {data: km-public.csv, certificate: km-public.json, rules: km-rules.csv}
""",
    "k.yaml": """\
version: 1
input: {path: clicks.dat}
guarantee: {model: k, k: 4}
outputs: {data: k-public.dat}
""",
    "rt.yaml": """\
version: 1
input: {path: patients.csv}
columns: {patient: drop, age: quasi, sex: quasi, town: quasi, ward: keep, disease: drop, codes: items}
hierarchies: {age: "intervals:10,20,40", town: mask}
guarantee: {model: rt, k: 4, m: 1}
algorithm: rfirst
outputs: {data: rt-public.csv}
""",
    "diversity.yaml": """\
version: 1
input: {path: patients.csv}
columns: {patient: drop, age: quasi, sex: quasi, town: quasi, ward: keep, disease: sensitive, codes: drop}
guarantee: {model: diversity, l: 2}
outputs: {data: buckets.csv}
""",
    "grid.yaml": """\
version: 1
input: {path: baskets.csv}
columns: {items: items}
hierarchies: tree.csv
guarantee: {model: km, m: 2}
compare: {algorithm: [exact, aa], k: [2, 3]}
""",
    "gate.yaml": """\
version: 1
checks:
  - files: out.csv
    guarantee: {model: km, k: 3, m: 2}
    certificate: required
    kept: {exact: 0.99}
  - name: raw
    files: "b*.csv"
    guarantee: {model: km, k: 3, m: 1}
""",
    "wrong-gate.yaml": "version: 1\nchecks:\n  - files: out.csv\n    guarantee: {model: km, k: 0, m: 2}\n",
    "wrong-k.yaml": "version: 1\ninput: {path: baskets.csv}\nguarantee: {model: km, k: five, m: 2}\n",
    "wrong-key.yaml": "version: 1\ninput: {path: baskets.csv}\nguarantee: {model: km, k: 5, m: 2}\nalgoritm: exact\n",
    "wrong-option.yaml": (
        "version: 1\ninput: {path: baskets.csv}\nguarantee: {model: km, k: 5, m: 2}\nalgorithm: oa\n"
        "options: {suppress: 0.02}\n"
    ),
    "open-column.yaml": (
        "version: 1\ninput: {path: patients.csv}\ncolumns: {patient: drop, codes: items}\n"
        "guarantee: {model: rt, k: 4, m: 1}\n"
    ),
    "twice.yaml": "version: 1\nversion: 1\ninput: {path: baskets.csv}\nguarantee: {model: km}\n",
    "no-data.yaml": "version: 1\ninput: {path: nowhere.csv}\nguarantee: {model: km, k: 5, m: 2}\n",
    "broken.yaml": "version: [1\n",
}


def lay_out(folder: Path) -> None:
    """Writes the world into a folder."""
    draw = random.Random(11)
    items = [item for group in FOODS.values() for item in group]
    baskets = [sorted(_some(draw, items)) for _ in range(160)]
    _write(folder / "baskets.csv", "items\n" + "".join("|".join(row) + "\n" for row in baskets))
    _write(folder / "baskets.jsonl", "".join(json.dumps(row) + "\n" for row in baskets))
    lines = [f"{number},{item}\n" for number, row in enumerate(baskets, 1) for item in row]
    _write(folder / "long.csv", "basket,item\n" + "".join(lines))
    _write(folder / "tree.csv", "".join(f"{item};{group};food\n" for group, leaves in FOODS.items() for item in leaves))
    _write(
        folder / "small-tree.csv", "".join(f"{item};{group};food\n" for group in ("dairy",) for item in FOODS[group])
    )
    clicks = [sorted(_some(draw, list(range(1, 15)))) for _ in range(120)]
    _write(folder / "clicks.dat", "".join(" ".join(map(str, row)) + "\n" for row in clicks))
    _write(folder / "patients.csv", _patients(draw))
    _write(folder / "codes.csv", "".join(f"{code};{group};*\n" for group, codes in CODES.items() for code in codes))
    _write(folder / "knowledge.jsonl", '{"if": {"sex": "m"}, "never": "anaemia"}\n')
    _write(folder / "wrong-knowledge.jsonl", '{"if": {"sex": "m"}, "never": "plague"}\n')
    _write(folder / "sensitive.txt", "wine\nbeer\n")
    for name, text in (PLANS | POLICIES).items():
        _write(folder / name, text)
    chunks = [
        "c1.1,3,1,milk|wine",
        "c1.1,3,1,milk|wine",
        "c1.1,3,rest,beer",
        "c1.2,2,1,tea",
        "c1.2,2,1,tea",
        "c1.2,2,rest,",
    ]
    _write(folder / "chunks.csv", "cluster,records,chunk,items\n" + "\n".join([*chunks, *["c1,5,1,rice"] * 2]) + "\n")
    _write(folder / "unsound-chunks.csv", "cluster,records,chunk,items\n" + "\n".join([*chunks, "c1,6,1,rice"]) + "\n")
    _disrepair(folder)
    _database(folder / "clinic.db", folder / "patients.csv")


def _some(draw: random.Random, items: list) -> set:
    return {items[int(len(items) * draw.random() ** 2)] for _ in range(draw.randint(1, 4))}


def _patients(draw: random.Random) -> str:
    codes = [code for group in CODES.values() for code in group]
    rows = ["patient,age,sex,town,ward,disease,codes\n"]
    for number in range(1, 141):
        known = f"{draw.randint(20, 79)},{draw.choice('fm')},{draw.choice(['3011', '3012', '8001', '8004'])}"
        disease = DISEASES[int(len(DISEASES) * draw.random() ** 1.5)]
        rows.append(f"P{number},{known},{draw.choice('AB')},{disease},{'|'.join(sorted(_some(draw, codes)))}\n")
    return "".join(rows)


def _disrepair(folder: Path) -> None:
    _write(folder / "empty.csv", "")
    _write(folder / "header-only.csv", "items\n")
    _write(folder / "no-header.csv", "P1,34,f,3011\nP2,35,m,3012\nP3,36,f,8001\n")
    _write(folder / "ragged.csv", "a,b\n1,2\n1,2,3\n")
    _write(folder / "quote.csv", 'items\n"milk|beer\nwine\n')
    _write(folder / "broken.jsonl", '["milk"]\n["beer"\n')
    _write(folder / "object.jsonl", '{"milk": 1}\n')
    (folder / "latin.csv").write_bytes("items\nrösti|käse\n".encode("latin-1"))
    (folder / "not.parquet").write_bytes(b"PAR1 this is not parquet")
    (folder / "cut.gz").write_bytes(b"\x1f\x8b\x08\x00\x00")
    _write(folder / "letters.dat", "1 2 x\n")
    _write(folder / "loop.csv", "child,parent\na,b\nb,a\n")
    _write(folder / "two-roots.csv", "a;x\nb;y\n")
    _write(folder / "not-a-certificate.json", "{}\n")


def _database(path: Path, table: Path) -> None:
    header, *rows = [line.split(",") for line in table.read_text().splitlines()]
    with sqlite3.connect(path) as connection:
        connection.execute(f"create table patients ({', '.join(f'{name} text' for name in header)})")
        connection.executemany(f"insert into patients values ({', '.join('?' * len(header))})", rows)
    connection.close()


def _write(path: Path, text: str) -> None:
    path.write_bytes(text.encode())
