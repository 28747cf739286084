import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.errors import InputError
from shoal.passwords import without_passwords
from shoal.records.database.address import (
    address_of,
    is_address,
    with_path,
    with_query,
    without_password,
)
from shoal.records.database.read import RowHash


@pytest.mark.parametrize(
    ("text", "kind", "uri", "table"),
    [
        ("postgresql://ann@host:5433/db?table=visits", "postgresql", "postgresql://ann@host:5433/db", ("visits",)),
        ("postgres://host/db?table=Clinic.Visits", "postgresql", "postgresql://host/db", ("clinic", "visits")),
        ('postgresql:///db?table="Clinic"."a.b"', "postgresql", "postgresql:///db", ("Clinic", "a.b")),
        ('postgresql:///db?table=%22a""b%22', "postgresql", "postgresql:///db", ('a"b',)),
        ("postgresql://h/db?sslmode=require&table=t", "postgresql", "postgresql://h/db?sslmode=require", ("t",)),
        ("sqlite:clinic.db?table=Visits", "sqlite", "clinic.db", ("Visits",)),
        ("sqlite:///clinic.db?table=visits", "sqlite", "clinic.db", ("visits",)),
        ("sqlite:////data/clinic.db?table=visits", "sqlite", "/data/clinic.db", ("visits",)),
        ("sqlite:/data/a%20b.db?table=visits", "sqlite", "/data/a b.db", ("visits",)),
    ],
)
def test_addresses_are_read_as_documented(text, kind, uri, table):
    found = address_of(text)
    assert (found.kind, found.uri, found.parts) == (kind, uri, table)
    assert address_of(found.shown) == found


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("postgresql://host?table=t", "names no database"),
        ("postgresql://host/db?table=", "empty table"),
        ("postgresql://host/db?table=t&query=SELECT", "both a table and a query"),
        ("postgresql://host/db?table=t&table=u", "twice"),
        ("sqlite:?table=t", "names no file"),
        ("sqlite://host/file.db?table=t", "no host"),
        ("sqlite:file.db?mode=ro&table=t", "'mode'"),
    ],
)
def test_addresses_that_make_no_sense_are_refused(text, says):
    with pytest.raises(InputError, match=says):
        address_of(text)


@pytest.mark.parametrize("table", ["a.b.c", "a.", '"a', "."])
def test_names_that_are_no_tables_are_refused(table):
    with pytest.raises(InputError, match="not a name of a table"):
        assert address_of(f"postgresql://h/db?table={table}").parts


@pytest.mark.parametrize("secret", ["hu?sh", "hu/sh", "hu@sh", "hu#sh", "hu&sh=x?table=", "hu%zzsh"])
def test_a_password_that_breaks_its_address_is_not_shown(secret):
    for text in (f"postgresql://u:{secret}@h/db?table=t", f"postgresql://u@h/db?table=t&password={secret}"):
        try:
            shown = address_of(text).shown
        except InputError as error:
            shown = str(error)
        assert "hu" not in shown
        assert "sh" not in shown.replace("%2F", "")


def test_files_are_no_addresses():
    assert not any(map(is_address, ["visits.csv", "-", "http://x/visits.csv", "postgresql.csv", 7, None]))


@given(st.text("abcXYZ019%:/?&=+ é~!", min_size=1).filter(lambda text: text not in "uhdb"))
def test_no_password_is_shown(secret):
    from urllib.parse import quote

    secret = f"<{secret}>"
    hidden = quote(secret, safe="")
    for text in (f"postgresql://u:{hidden}@h/db?table=t", f"postgresql://u@h/db?password={hidden}&table=t"):
        address = address_of(text)
        assert address.shown == without_password(text) == "postgresql://u@h/db?table=t"
        assert secret in address.secrets
        assert hidden not in repr(address)
        assert hidden not in address.database


def test_a_query_travels_in_the_address_and_comes_back_whole():
    asked = "SELECT \"a+b\" FROM t -- 100% & more?\nWHERE x = 'é;'; "
    text = with_query("postgresql://u:p@h/db?sslmode=require", asked)
    address = address_of(text)
    assert address.query == asked.strip().rstrip(";")
    assert address_of(address.shown).query == address.query
    assert address.uri == "postgresql://u:p@h/db?sslmode=require"
    assert address.name == "the query"


def test_a_query_needs_a_database_without_a_table():
    with pytest.raises(InputError, match="for databases"):
        with_query("visits.csv", "SELECT 1")
    with pytest.raises(InputError, match="names a table"):
        with_query("sqlite:a.db?table=t", "SELECT 1")


def test_files_of_sqlite_move_with_a_plan():
    assert with_path("sqlite:a.db?table=t", lambda path: os.path.join("plans", path)) == "sqlite:plans/a.db?table=t"
    assert with_path("postgresql://u:p@h/db?table=t", lambda path: "no") == "postgresql://u:p@h/db?table=t"


@given(
    st.lists(
        st.tuples(
            st.none() | st.text("a\\\x1f\x1e,", max_size=3), st.lists(st.text("a\\\x1f\x1e", max_size=2), max_size=2)
        )
    ),
    st.randoms(),
)
def test_the_hash_of_rows_is_that_of_their_content_in_any_order(rows, random):
    def hashed(some, size):
        import pyarrow as pa

        found = RowHash(["text", "lists"])
        for start in range(0, len(some), size):
            part = some[start : start + size]
            texts, lists = (
                pa.array([row[0] for row in part], pa.string()),
                pa.array([row[1] for row in part], pa.list_(pa.string())),
            )
            found.add([texts, lists])
        return found.hexdigest()

    shuffled = random.sample(rows, len(rows))
    assert hashed(rows, 3) == hashed(shuffled, 2)
    if rows:
        assert hashed(rows, 3) != hashed(rows[1:], 3)
        text, items = rows[0]
        assert hashed(rows, 3) != hashed([((text or "") + "b", items), *rows[1:]], 3)
        assert hashed(rows, 3) != hashed([(text, [*items, "b"]), *rows[1:]], 3)
        assert hashed([(text or None, items)], 3) == hashed([(text or "", items)], 3)  # missing is empty


@pytest.mark.parametrize(
    "text", ["mysql://ann:geheim@host/db", "postgresql+psycopg://ann:geheim@host/db?table=t", "Snowflake:///clinic.db"]
)
def test_addresses_of_other_databases_are_refused_without_their_password(text):
    assert is_address(text)
    with pytest.raises(InputError, match=r"neither postgresql://.* nor sqlite:") as refused:
        address_of(text)
    assert "geheim" not in str(refused.value)
    assert not is_address("hdfs://host/folder")
    assert not is_address("mysql.csv")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("postgresql://ann:ge:h@im@host/db?table=t", "postgresql://ann:***@host/db?table=t"),
        ("see mysql://ann:geheim@host/db", "see mysql://ann:***@host/db"),
        ("postgresql://host/db?password=geheim&table=t", "postgresql://host/db?password=***&table=t"),
        ("a: b, c@d", "a: b, c@d"),
    ],
)
def test_texts_are_shown_without_the_passwords_of_addresses(text, shown):
    assert without_passwords(text) == shown
