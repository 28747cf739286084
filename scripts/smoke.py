"""A short walk through the whole product, for an install whose dependencies nobody has tried: `python scripts/smoke.py`.

It makes up data, releases it under every model, in every format, with every kind of certificate, and reads, audits and verifies what came
out. It says what failed and ends with code 1 if anything did.
"""

from __future__ import annotations

import contextlib
import io
import os
import random
import sys
import tempfile
from pathlib import Path

from shoal.cli import main

TABLE = ("--quasi", "age,sex", "--items", "codes", "--keep", "town")
CODES = [f"c{i}" for i in range(6)]
DISEASE = ("--quasi", "age,sex", "--drop", "town,codes", "--sensitive", "disease")


def calls() -> list[tuple[str, ...]]:
    """What a user would type, in order: later ones read what earlier ones wrote."""
    sets = ("--k", "3", "--m", "2")
    found: list[tuple[str, ...]] = [("demo", "demo")]
    for ending in ("dat", "csv", "tsv", "jsonl", "parquet", "arrow", "csv.gz", "csv.zst"):
        out = f"sets.{ending}"
        found += [("anonymize", "baskets.csv", *sets, "-o", out), ("audit", out, *sets)]
        found += [("verify", f"{out}.certificate.json", out)]
    found += [
        ("anonymize", "baskets.csv", *sets, "-o", "page.csv", "--certificate", "page.html"),
        ("verify", "page.html", "page.csv"),
    ]
    found += [
        ("anonymize", "baskets.csv", *sets, "-o", "paper.csv", "--certificate", "paper.pdf"),
        ("verify", "paper.pdf", "paper.csv"),
    ]
    found += [("verify", "--new-key", "board.key")]
    found += [("anonymize", "baskets.csv", *sets, "-o", "signed.csv", "--sign", "board.key", "--rules", "rules.csv")]
    found += [("verify", "signed.csv.certificate.json", "signed.csv", "--key", "board.key.pub")]
    for number, algorithm in enumerate(("exact", "hybrid", "lra", "oa", "da", "aa")):
        tree = "frequency:3" if algorithm != "oa" else "balanced:3"
        found += [
            ("anonymize", "small.csv", *sets, "--hierarchy", tree, "--algorithm", algorithm, "-o", f"km{number}.csv")
        ]
    for number, algorithm in enumerate(("split", "pta", "gsc", "gray-tsp")):
        found += [
            ("anonymize", "baskets.csv", "--model", "k", "--k", "3", "--algorithm", algorithm, "-o", f"k{number}.csv")
        ]
    for model in ("rt", "lm"):
        more = ("--sensitive", "c0,c1") if model == "lm" else ()
        asked = ("--model", model, "--k", "3", "--m", "1", *TABLE, "--drop", "disease", *more)
        found += [
            ("anonymize", "people.csv", *asked, "-o", f"{model}.{ending}") for ending in ("csv", "parquet", "jsonl")
        ]
        found += [("audit", f"{model}.parquet", "--model", model, "--k", "3", "--m", "1", *TABLE, *more)]
    found += [
        (
            "anonymize",
            "people.csv",
            "--model",
            "k",
            "--k",
            "3",
            "--quasi",
            "age,sex",
            "--drop",
            "town,codes,disease",
            "-o",
            "table.csv",
        )
    ]
    found += [("anonymize", "people.csv", "--model", "diversity", "--l", "2", *DISEASE, "-o", "buckets.csv")]
    found += [("evaluate", "baskets.csv", "sets.csv"), ("profile", "baskets.csv"), ("rules", "people.csv", *DISEASE)]
    found += [
        ("init", "people.csv", "-o", "plan.yaml"),
        ("hierarchy", "build", "baskets.csv", "-o", "tree.csv"),
        ("hierarchy", "show", "tree.csv"),
        ("schema", "anonymize"),
    ]
    found += [("anonymize", "baskets.csv", *sets, "-o", "sqlite:shop.db?table=public", "--certificate", "shop.json")]
    found += [
        ("audit", "sqlite:shop.db?table=public", *sets, "--separator", "|"),
        ("verify", "shop.json", "sqlite:shop.db?table=public"),
    ]
    return found


def write_data() -> None:
    draw = random.Random(1)
    for name, rows, items in (("baskets.csv", 400, 12), ("small.csv", 200, 6)):
        lines = ("|".join(sorted({f"i{int(items * draw.random() ** 2)}" for _ in range(4)})) for _ in range(rows))
        Path(name).write_text("items\n" + "".join(f"{line}\n" for line in lines))
    people = (
        f"{draw.randint(20, 70)},{draw.choice('fm')},t{draw.randint(0, 3)},{'|'.join(draw.sample(CODES, 2))},d{draw.randint(0, 5)}"
        for _ in range(300)
    )
    Path("people.csv").write_text("age,sex,town,codes,disease\n" + "".join(f"{row}\n" for row in people))


def walk() -> int:
    failed = 0
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        os.environ["SHOAL_KEY"] = os.path.join(folder, "owner.key")
        write_data()
        for call in calls():
            told = io.StringIO()
            with contextlib.redirect_stderr(told):
                code = _quietly(list(call))
            if code:
                failed += 1
                print(f"{code}: shoal {' '.join(call)}\n   {told.getvalue().strip()}", file=sys.stderr)
    import shoal.app.server.shell  # noqa: F401 - the pages can be built

    print(f"{len(calls()):,} calls, {failed:,} failed")
    return 1 if failed else 0


def _quietly(call: list[str]) -> int:
    with open("out.txt", "w", encoding="utf-8") as out, contextlib.redirect_stdout(out):
        return main(call)


if __name__ == "__main__":
    sys.exit(walk())
