"""Codes that look like decimals, through every format, role and model.

What is published as it is must come back character by character, and the audit must agree with one that groups rows by nothing but the
texts of their cells. The readers and the audit here share no code with the product.
"""

from __future__ import annotations

import csv
import json
import sqlite3
from collections import Counter
from contextlib import closing

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import Unreachable

TEXTS = [
    "250", "250.0", "250.00", "0250", "+250", " 250", "250 ", "250.", "2.5e2", "2.5e+02", "-0", "0", "0.0", "1e400", "NaN", "inf",
    "1,000", "٢٥٠", "9007199254740992", "9007199254740993", "9007199254740992.0", "", "401.9", "401.90", "true", "null", "x",
]  # fmt: skip
BARE = [
    "250",
    "250.0",
    "250.00",
    "2.5e2",
    "2.5E+02",
    "-0",
    "0",
    "0.0",
    "9007199254740992",
    "9007199254740993",
    "9" * 30,
    "401.90",
]
NUMBERS = ["1", "2", "3", "4.5", "10"]
FORMATS = ["csv", "tsv", "jsonl", "bare.jsonl", "parquet", "arrow", "sqlite"]
COLUMNS = ("a", "b", "kept", "other")


@st.composite
def tables(draw, texts):
    """Rows of cells by column: `a` and `b` are what others know; few different values, so that some rows are alike."""
    n = draw(st.integers(4, 12))
    columns = {}
    for name in COLUMNS:
        pool = draw(st.lists(st.sampled_from(texts), min_size=1, max_size=3, unique=True))
        if draw(st.integers(0, 3)) == 0:
            pool = NUMBERS[: draw(st.integers(1, 5))]
        columns[name] = draw(st.lists(st.sampled_from(pool), min_size=n, max_size=n))
    columns["items"] = [draw(st.lists(st.sampled_from("uvw"), max_size=2, unique=True)) for _ in range(n)]
    columns["secret"] = [[draw(st.sampled_from(["7.0", "7.00", "7"]))] if draw(st.booleans()) else [] for _ in range(n)]
    return columns


def put(folder, form, columns):
    """Writes a table as others would; returns what Shoal is to read."""
    rows = list(zip(*columns.values(), strict=True))
    cells = [[cell if isinstance(cell, str) else "|".join(cell) for cell in row] for row in rows]
    path = folder / f"in.{form}"
    if form in ("csv", "tsv"):
        with open(path, "w", newline="") as file:
            writer = csv.writer(file, delimiter="\t" if form == "tsv" else ",", lineterminator="\n")
            writer.writerows([columns, *cells])
    elif form == "jsonl":
        lines = [json.dumps({name: cell or None for name, cell in zip(columns, row, strict=True)}) for row in rows]
        path.write_text("\n".join(lines) + "\n")
    elif form == "bare.jsonl":
        objects = []
        for row in rows:
            fields = [f'"{n}": {c if isinstance(c, str) else json.dumps(c)}' for n, c in zip(columns, row, strict=True)]
            objects.append("{" + ", ".join(fields) + "}")
        path.write_text("\n".join(objects) + "\n")
    elif form == "sqlite":
        path.unlink(missing_ok=True)
        with closing(sqlite3.connect(path)) as database, database:
            database.execute(f"CREATE TABLE t ({', '.join(f'{name} TEXT' for name in columns)})")
            database.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(columns))})", cells)
        return f"sqlite:{path}?table=t"
    else:
        lists = {"items": pa.list_(pa.string()), "secret": pa.list_(pa.string())}
        table = pa.table({name: pa.array(column, lists.get(name, pa.string())) for name, column in columns.items()})
        if form == "parquet":
            pq.write_table(table, path)
        else:
            with pa.ipc.new_file(path, table.schema) as writer:
                writer.write_table(table)
    return path


def bare_cells(path):
    """The cells of JSON lines as they are spelled, quotes and all."""
    decoder = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)
    rows = []
    for line in path.read_text().splitlines():
        row = decoder.decode(line)
        for name, cell in row.items():
            if isinstance(cell, str):
                quoted = f'"{name}": {json.dumps(cell, ensure_ascii=False)}' in line
                row[name] = f"quoted {cell}" if quoted else cell
        rows.append(row)
    return rows


def get(folder, form):
    """The rows that Shoal wrote, every cell a text; in JSON lines with a mark before what stands in quotes."""
    path = folder / f"out.{form}"
    if form in ("csv", "tsv"):
        with open(path, newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t" if form == "tsv" else ","))
    elif form.endswith("jsonl"):
        rows = bare_cells(path)
    elif form == "sqlite":
        with closing(sqlite3.connect(path)) as database:
            found = database.execute("SELECT * FROM t")
            names = [column[0] for column in found.description]
            rows = [dict(zip(names, row, strict=True)) for row in found]
    else:
        rows = (pq.read_table(path) if form == "parquet" else pa.ipc.open_file(path).read_all()).to_pylist()
    return [{name: "" if cell is None else cell for name, cell in row.items()} for row in rows]


def target(folder, form):
    path = folder / f"out.{form}"
    path.unlink(missing_ok=True)
    return f"sqlite:{path}?table=t" if form == "sqlite" else path


def expected(form, text):
    """A cell that is published as it is, as `get` reads it."""
    if form == "jsonl":
        return f"quoted {text}" if text else ""
    return f"'{text}" if form in ("csv", "tsv") and text[:1] in "=+-@" and not is_number(text) and text else text


def is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return text.strip() == text and text.isascii() and text[-1:].isdigit() and len(text) < 16 and "400" not in text


def rows_of(columns, names):
    return list(zip(*(columns[name] for name in names), strict=True))


def small_classes(rows, k):
    return sum(count < k for count in Counter(rows).values())


def rare_pairs(rows, items, k):
    """(class, item) pairs in fewer than k rows."""
    counts = Counter((row, item) for row, held in zip(rows, items, strict=True) for item in held)
    return sum(count < k for count in counts.values())


@pytest.mark.parametrize("form", FORMATS)
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_the_audit_of_raw_tables_groups_by_the_text_of_cells(form, tmp_path, data):
    columns = data.draw(tables(BARE if form == "bare.jsonl" else TEXTS))
    source = put(tmp_path, form, columns)
    numeric = data.draw(st.sampled_from([None, "none", "a,b"]))
    if numeric == "a,b" and not all(map(is_number, (*columns["a"], *columns["b"]))):
        numeric = None
    k = data.draw(st.integers(2, 3))
    rows = rows_of(columns, "ab")
    table = shoal.audit(
        source, shoal.TableAnonymity(k), quasi="a,b", keep="kept,other", drop="items,secret", numeric=numeric
    )
    assert (table.holds, table.violations) == (small_classes(rows, k) == 0, small_classes(rows, k))
    both = shoal.audit(
        source, shoal.RTAnonymity(k, 1), quasi="a,b", items="items", keep="kept,other", drop="secret", numeric=numeric
    )
    assert both.holds == (small_classes(rows, k) == 0 and rare_pairs(rows, columns["items"], k) == 0)


MODELS = {
    "k": (shoal.TableAnonymity(2), {"keep": "kept", "sensitive": "other", "drop": "items,secret"}),
    "rt": (shoal.RTAnonymity(2, 1), {"keep": "kept,other", "items": "items", "drop": "secret"}),
    "lm": (shoal.LmDiversity(2, 2, 1), {"keep": "kept,other", "items": "items", "sensitive": "secret"}),
    "diversity": (shoal.MatchingDiversity(2), {"keep": "kept", "sensitive": "other", "drop": "items,secret"}),
}


@pytest.mark.parametrize("form", FORMATS)
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(data=st.data())
def test_what_is_published_as_it_is_comes_back_as_it_was_spelled(form, tmp_path, data):
    columns = data.draw(tables(BARE if form == "bare.jsonl" else TEXTS))
    source = put(tmp_path, form, columns)
    guarantee, roles = MODELS[data.draw(st.sampled_from(sorted(MODELS)))]
    more = {"algorithm": "anatomy"} if guarantee.model == "diversity" else {}
    numeric = data.draw(st.sampled_from([None, None, "none"]))
    try:
        release = shoal.anonymize(source, guarantee, quasi="a,b", numeric=numeric, **roles, **more)
    except Unreachable:
        return
    out = target(tmp_path, form)
    release.write(out, certificate=tmp_path / "c.json", force=True)
    rows = get(tmp_path, form)

    exact = {name: [expected(form, text) for text in columns[name]] for name in COLUMNS}
    names = ("kept", "other")
    if guarantee.model == "diversity":  # values are dealt inside a bucket, all other columns stay together
        assert Counter(row["other"] for row in rows) == Counter(exact["other"])
        names = ("a", "b", "kept")
    assert Counter(tuple(row[name] for name in names) for row in rows) == Counter(rows_of(exact, names))

    again = {name: value for name, value in roles.items() if name != "drop"}
    verdict = shoal.audit(out, guarantee, quasi="a,b", **again)
    assert verdict.holds
    assert verdict.checked == release.audit.checked
    if guarantee.model != "diversity":
        cells = [(row["a"], row["b"]) for row in rows]
        assert small_classes(cells, 2) == 0
        assert release.audit.to_dict()["checked"] == verdict.to_dict()["checked"]
    if guarantee.model == "k":
        assert verdict.checked == len(set(cells))
    assert shoal.verify(tmp_path / "c.json", out).holds
    if guarantee.model in ("k", "rt"):
        shoal.evaluate(source, out, quasi="a,b", numeric=numeric, queries=0, **roles)


def test_built_groups_of_dates_and_numbers_read_as_ranges(tmp_path):
    days = [f"2020-{1 + i // 4:02}-{3 + i % 4:02}" for i in range(24)]
    path = tmp_path / "visits.csv"
    path.write_text("day,dose,town\n" + "".join(f"{day},{i / 4},T{i % 8}\n" for i, day in enumerate(days)))
    trees = {"day": "balanced:3", "dose": "balanced:3", "town": "named:4"}
    release = shoal.anonymize(path, shoal.TableAnonymity(4), quasi="day,dose,town", hierarchy=trees)
    out = tmp_path / "out.csv"
    release.write(out)
    published = get(tmp_path, "csv")
    assert not [row for row in published if "items[" in "".join(row.values()) or "dose[" in "".join(row.values())]
    shown = {row["day"] for row in published} - set(days) - {"*"}
    assert shown
    assert all(day.startswith("[2020-") and " to 2020-" in day for day in shown)
    assert shoal.audit(out, shoal.TableAnonymity(4), quasi="day,dose,town").holds
    shoal.evaluate(path, out, quasi="day,dose,town", hierarchy=trees, queries=0)
    warnings = json.loads((tmp_path / "out.csv.certificate.json").read_text())
    assert "named:4" in json.dumps(warnings)
    assert "published however rare they are" in json.dumps(warnings)
