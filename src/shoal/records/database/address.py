"""Addresses of tables and queries in databases, and what may be said of them.

    postgresql://user@host:5432/clinic?table=visits          postgresql://host/clinic?table=clinic.visits&sslmode=require
    sqlite:clinic.db?table=visits                            sqlite:////var/data/clinic.db?table=visits
    duckdb:clinic.duckdb?table=visits                        duckdb:clinic.duckdb?table=clinic.visits
    delta:lake/visits?version=12                             iceberg:s3://bucket/visits?snapshot=3051729675574597004

A path after `sqlite:` is a path; after `sqlite:///` it is one too, as in the addresses of SQLAlchemy, so that a fourth stroke begins an
absolute path. A query may stand for the table (`?query=SELECT...`, percent-encoded); that is how a query travels. Nothing here opens a
connection. What is shown of an address (`shown`) has no password.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, unquote, urlencode, urlsplit

from shoal.errors import InputError, option
from shoal.passwords import is_database, is_foreign_address
from shoal.records.foreign.workbooks import workbook_of
from shoal.records.stores.remote import has_scheme, is_remote, remote_of, without_token

DATABASES = ("postgresql", "sqlite", "duckdb", "delta", "iceberg")
"""What an address stands for instead of a file's name: tables of databases, and of lakes."""
LAKES = {"delta": "Delta Lake", "iceberg": "Iceberg"}
"""Formats of tables in lakes, and how they write their names."""
ONLY_READ = ("duckdb", *LAKES)

_SCHEMES = {"postgres": "postgresql"}
_ADDRESS = re.compile(r"(?:(postgresql|postgres)://|(sqlite|duckdb|delta|iceberg):)", re.IGNORECASE)
_IN_FILES = {"sqlite": "SQLite", "duckdb": "DuckDB", **LAKES}
"""Databases that are files, and how they write their names."""
_STATES = {"delta": "version", "iceberg": "snapshot"}
"""What the states of a table in a lake are called."""
_SECRETS = ("password", "sslpassword")
# What libpq knows: a name that it does not know may be a part of a password.
_OPTIONS = re.compile(
    "host|hostaddr|port|dbname|user|password|passfile|require_auth|channel_binding|connect_timeout|client_encoding|options|"
    "application_name|fallback_application_name|keepalives|keepalives_idle|keepalives_interval|keepalives_count|tcp_user_timeout|"
    "gssencmode|sslmode|requiressl|sslnegotiation|sslcompression|sslcert|sslkey|sslpassword|sslcertmode|sslrootcert|sslcrl|sslcrldir|"
    "sslsni|requirepeer|ssl_min_protocol_version|ssl_max_protocol_version|krbsrvname|gsslib|gssdelegation|service|"
    "target_session_attrs|load_balance_hosts"
)
_PART = re.compile(r'"((?:[^"]|"")+)"|([^".]+)')


@dataclass(frozen=True, repr=False)
class Address:
    """A table or a query of a database, or only the database."""

    kind: str
    """One of `DATABASES`."""
    uri: str
    """The database, as its driver takes it: for SQLite and DuckDB the path of the file. It may hold a password: never show it."""
    table: str | None = None
    query: str | None = None
    state: int | None = None
    """Of a table in a lake, the number of the state that is meant; none means the last."""

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"

    @property
    def database(self) -> str:
        """The database for messages, without a password."""
        return f"{self.kind}:{self.uri}" if self.kind in _IN_FILES else _bare(self.uri)

    @property
    def shown(self) -> str:
        """The whole address without a password, as a plan can hold it."""
        given = (("table", self.table), ("query", self.query), (_STATES.get(self.kind, ""), self.state))
        asked = {name: text for name, text in given if text is not None}
        if not asked:
            return self.database
        return f"{self.database}{'&' if '?' in self.database else '?'}{urlencode(asked, safe='.', quote_via=quote)}"

    @property
    def name(self) -> str:
        """What messages and certificates call it: the table without host, path or user."""
        if self.kind in LAKES:
            return os.path.basename(self.uri.partition("/metadata/")[0].rstrip("/")) or self.kind
        return self.table if self.table is not None else "the query" if self.query is not None else self.database

    @property
    def secrets(self) -> tuple[str, ...]:
        """The passwords in it, in every form in which a driver might repeat them."""
        if self.kind in _IN_FILES:
            return ()
        parts = urlsplit(self.uri)
        raw = [value for name, value in _pairs(parts.query) if name in _SECRETS]
        if (password := _password(parts.netloc)) is not None:
            raw.append(password)
        return tuple(
            sorted({form for text in raw if text for form in (text, unquote(text), quote(text))}, key=len)[::-1]
        )

    @property
    def parts(self) -> tuple[str, ...]:
        """The table's name in parts, (schema, table) or (table,): as SQL reads it, in double quotes as it is."""
        assert self.table is not None
        found, at = [], 0
        while (part := _PART.match(self.table, at)) is not None:
            plain = part[2] if self.kind in _IN_FILES else (part[2] or "").lower()
            found.append(part[1].replace('""', '"') if part[1] is not None else plain)
            at = part.end()
            if self.table[at : at + 1] != "." or at + 1 == len(self.table):
                break
            at += 1
        if at != len(self.table) or not 1 <= len(found) <= 2 or (self.kind == "sqlite" and len(found) > 1):
            forms = "table" if self.kind == "sqlite" else "table or schema.table"
            raise InputError(
                f"{self.table!r} is not a name of a table; give {forms}, a part with special characters in double quotes"
            )
        return tuple(found)


def is_address(source: Any) -> bool:
    """Whether a source is the address of a database."""
    # Addresses of other databases, or in other spellings, are known so that nothing takes them for a path.
    return isinstance(source, str) and (
        _ADDRESS.match(source) is not None or (is_foreign_address(source) and not is_remote(source))
    )


def address_of(text: str) -> Address:
    """The parts of an address; raises if it is of a database that nothing here reads."""
    found = _ADDRESS.match(text)
    if found is None and has_scheme(text) and not is_database(text):
        remote_of(text)  # raises, with what is supported
    if found is None:  # what it begins with may be a part of a password
        raise InputError(
            "an address is neither postgresql://USER@HOST/DATABASE?table=NAME nor sqlite:FILE?table=NAME nor duckdb:FILE?table=NAME "
            "nor delta:FOLDER nor iceberg:FOLDER; "
            "write it so, with nothing before it and without a driver's name, or export the table to a file, such as Parquet or CSV"
        )
    kind = (found[1] or found[2]).lower()
    kind = _SCHEMES.get(kind, kind)
    if kind in LAKES:
        return _of_lake(text[found.end() :], kind)
    if "#" in text and kind == "postgresql":
        raise InputError("an address holds a '#'; write it as %23")
    before, _, options = text.partition("?")
    asked = dict[str, str]()
    passed = []
    for name, raw in _pairs(options):
        if name not in ("table", "query"):
            passed.append(f"{name}={raw}")
        elif name in asked:
            raise InputError(f"an address names its {name} twice; name it once")
        else:
            asked[name] = unquote(raw.replace("+", " ") if name == "query" else raw)
            if not asked[name].strip():
                raise InputError(f"an address has an empty {name}; write {name}=..., or leave it out")
    if len(asked) > 1:
        raise InputError("an address has both a table and a query; leave one of them out")
    if kind in _IN_FILES:
        if passed:
            raise InputError(
                f"an address of {_IN_FILES[kind]} takes table or query, not {passed[0].partition('=')[0]!r}; leave it out"
            )
        uri = _path_of_file(unquote(before[len(f"{kind}:") :]), kind)
    else:
        uri = f"postgresql://{before[found.end() :]}" + (f"?{'&'.join(passed)}" if passed else "")
        whole = re.fullmatch(r"(?:[^/@]*@)?[^/@]*/[^/@]+", before[found.end() :])
        if not whole:
            raise InputError(
                "an address names no database; write postgresql://user@host/database?table=NAME "
                "(and in a password %40 for @, %2F for /, %3F for ?)"  # shown would be what may be a part of it
            )
        if not all(_OPTIONS.fullmatch(option.partition("=")[0]) for option in passed):
            raise InputError(
                "an address has an option that PostgreSQL does not know; correct its name (in a password, write %26 for &)"
            )
    return Address(kind, uri, asked.get("table"), None if "query" not in asked else _one_query(asked["query"]))


def _of_lake(rest: str, kind: str) -> Address:
    """A folder of this machine or of a store, and perhaps the number of a state."""
    path, _, options = rest.partition("?")
    state = None
    for name, raw in _pairs(options):
        if name != _STATES[kind] or state is not None or not re.fullmatch(r"[0-9]{1,19}", raw):
            raise InputError(
                f"an address of {LAKES[kind]} takes one {_STATES[kind]}=NUMBER, and nothing else; leave the rest out"
            )
        state = int(raw)
    if not path.strip("/") or path.endswith("://") or "\0" in path:
        raise InputError(f"an address of {LAKES[kind]} names no table; write {kind}:FOLDER")
    if "://" not in path:
        return Address(kind, unquote(path), state=state)
    remote = remote_of(path.rstrip("/"))
    if remote.kind == "https":
        raise InputError(
            f"a table of {LAKES[kind]} is many files, which https does not list; name its folder elsewhere"
        )
    return Address(kind, path.rstrip("/"), state=state)


def without_password(text: Any) -> Any:
    """The same address without a password or what may be a token; whatever is not an address, as it is."""
    if is_remote(text):
        return without_token(text)
    if not is_address(text):
        return text
    return address_of(text).shown


def with_query(data: Any, query: str | None) -> Any:
    """The data with the query that is asked of it, as one address."""
    if query is None:
        return data
    if not is_address(data):
        raise InputError(
            f"a query is for databases; give postgresql://... or sqlite:..., or leave out {option('query')}"
        )
    address = address_of(data)
    if address.kind in LAKES:
        raise InputError(
            f"{address.name}: a table of {LAKES[address.kind]} takes no query; leave out {option('query')}"
        )
    if address.table is not None or address.query is not None:
        raise InputError(
            f"{address.shown}: it names a table or a query already; leave that out, or leave out {option('query')}"
        )
    query = _one_query(query)
    mark = "&" if "?" in data else "?"
    return f"{data}{mark}query={quote(query, safe='')}"


def with_path(text: str, move: Any) -> str:
    """The address with the path of its file changed by `move`; addresses of servers have none."""
    address = address_of(text)
    if address.kind not in _IN_FILES or "://" in address.uri:
        return text
    return replace(address, uri=move(address.uri)).shown


def file_of(text: str) -> str:
    """The file that an address of SQLite or DuckDB, or a sheet of a workbook, is about; whatever else is given, as it is."""
    if (book := workbook_of(text)) is not None:
        return book[0]
    return address_of(text).uri if is_address(text) and address_of(text).kind in _IN_FILES else text


def refuse_format(text: str, format: str | None) -> None:
    """Raises if a format is asked for that the address does not have."""
    if format is not None and format not in DATABASES:
        raise InputError(f"{address_of(text).name}: a database has no {format} format; leave out {option('format')}")


def _one_query(text: str) -> str:
    text = text.strip().rstrip(";").rstrip()
    if not text or "\0" in text:
        raise InputError("the query is empty; give a SELECT, or name a table in the address (?table=NAME)")
    return text


def _pairs(options: str) -> list[tuple[str, str]]:
    """Names and values as they stand, not yet decoded."""
    found = []
    for part in options.split("&"):
        if part:
            name, _, value = part.partition("=")
            found.append((unquote(name), value))
    return found


def _password(place: str) -> str | None:
    who, at, _ = place.rpartition("@")
    _, colon, password = who.partition(":")
    return password if at and colon else None


def _bare(uri: str) -> str:
    """An address of a server without passwords."""
    head, _, options = uri.partition("?")
    scheme, _, rest = head.partition("://")
    # A password may hold strokes by mistake: all up to the last @ is about who, not where.
    who, at, where = rest.rpartition("@")
    kept = [f"{name}={value}" for name, value in _pairs(options) if name not in _SECRETS]
    return f"{scheme}://{who.partition(':')[0]}{at}{where}" + (f"?{'&'.join(kept)}" if kept else "")


def _path_of_file(path: str, kind: str) -> str:
    if path.startswith("///"):
        path = path[3:]  # sqlite:///relative.db and sqlite:////absolute.db
    elif path.startswith("//"):
        raise InputError(
            f"an address of {_IN_FILES[kind]} has no host; write {kind}:file.db?table=NAME or {kind}:///file.db?table=NAME"
        )
    if not path or path.endswith(os.sep) or path == ":memory:":
        raise InputError(f"an address of {_IN_FILES[kind]} names no file; write {kind}:file.db?table=NAME")
    return path
