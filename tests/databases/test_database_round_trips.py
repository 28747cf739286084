"""Whatever stands in a table comes back from both databases: texts of all kinds, numbers, dates, sets."""

import datetime
import itertools

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.errors import InputError
from shoal.records.database.write import TableTarget, table_rows
from shoal.records.layout import layout_for
from shoal.records.source import load_records
from shoal.records.writing import flags_to_read
from shoal.release import anonymize

TEXTS = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=6)
NAMES = st.text("abcé'\"\\|;, =\n-", min_size=1, max_size=5).map(lambda text: f"x{text}y")
COLUMNS = st.lists(NAMES, min_size=4, max_size=4, unique_by=str.lower)
ROWS = st.lists(
    st.tuples(
        st.none() | TEXTS,
        st.none() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False).map(lambda number: number * 1.5),
        st.none() | st.dates(datetime.date(1000, 1, 1)),
        st.lists(NAMES, max_size=4, unique=True),
    ),
    min_size=1,
    max_size=8,
)
_NUMBERS = itertools.count(1)


def table_of(columns, rows):
    texts, numbers, dates, sets = (list(column) for column in zip(*rows, strict=True))
    real = any(isinstance(number, float) for number in numbers)
    arrays = (
        pa.array(texts, pa.string()),
        pa.array([float(n) if real and n is not None else n for n in numbers], pa.float64() if real else pa.int64()),
        pa.array(dates, pa.date32()),
        pa.array(sets, pa.list_(pa.string())),
    )
    return pa.table(dict(zip(columns, arrays, strict=True)))


@pytest.fixture(scope="module", params=["postgresql", "sqlite"])
def database(request, tmp_path_factory):
    if request.param == "sqlite":
        return f"sqlite:{tmp_path_factory.mktemp('round') / 'trips.db'}?table=t"
    return request.getfixturevalue("server").address("t")


@settings(max_examples=25)
@given(COLUMNS, ROWS)
def test_records_come_back_as_they_were(database, columns, rows):
    keep, items = [columns[0], columns[1]], columns[3]
    records = load_records(table_of(columns, rows), quasi=[columns[2]], keep=keep, items=[items], numeric=()).records
    target = f"{database}{next(_NUMBERS)}"
    with TableTarget(target) as table:
        written, layout = table_rows(records, layout_for(target), target)
        table.write(written)
        again = table.read_again()
        assert flags_to_read(again, records, layout)  # which compares them
        inside = again.sha256()
        table.commit()
    separator = layout.separator if layout.format == "sqlite" else None
    assert load_records(target, keep=columns[:3], items=[items], separator=separator).sha256 == inside


@settings(max_examples=15)
@given(st.lists(st.lists(NAMES, max_size=4, unique=True), min_size=1, max_size=8), st.booleans())
def test_sets_come_back_as_they_were(database, sets, long):
    from dataclasses import replace

    if long:  # a long table tells sets apart by their items
        sets = [[*items, "one"] for items in sets if "one" not in items]
    baskets = shoal.read(sets)
    target = f"{database}{next(_NUMBERS)}"
    with TableTarget(target) as table:
        wanted = replace(layout_for(target), id="n" if long else None)
        written, layout = table_rows(baskets, wanted, target)
        table.write(written)
        assert flags_to_read(table.read_again(), baskets, layout) is not None  # which compares them


@pytest.mark.parametrize(
    ("value", "type"),
    [
        ("'infinity'::date", "date"),
        ("'0044-03-15 BC'::date", "date"),
        ("'-infinity'::timestamp", "timestamp without time zone"),
        ("'10000-01-01 10:00:00.000001'::timestamp", "timestamp without time zone"),
        ("'2020-07-01 10:00+02'::timestamptz", "timestamp with time zone"),
        ("'NaN'::numeric", "numeric"),
        ("-1.50::numeric(6,2)", "numeric"),
        ("32767::int2", "smallint"),
        ("9223372036854775807::int8", "bigint"),
        ("0.1::float4", "real"),
        ("1e300::float8", "double precision"),
        ("'Infinity'::float8", "double precision"),
        ("false", "boolean"),
        ("'007'::text", "text"),
    ],
)
def test_values_at_the_edge_of_their_type_stay(server, ask, value, type):
    query = f"SELECT {value} AS a, 1 AS q, array['x'] AS s FROM generate_series(1, 4)"
    release = anonymize(server.address(), shoal.RTAnonymity(2, 1), query=query, quasi="q", items="s", keep="a")
    release.write(server.address("edges"), "edges.json", force=True)
    assert ask(f"SELECT DISTINCT pg_typeof(a)::text, a = {value} FROM edges") == [(type, True)]


def test_a_nul_is_refused(database):
    records = load_records(pa.table({"a": ["x\0y"], "items": [["b"]]}), keep="a", items="items").records
    with pytest.raises(InputError, match=r"NUL|cannot stand"):
        table_rows(records, layout_for(database), database)
