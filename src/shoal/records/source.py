"""Reading data: one way for sets and tables, from files, standard input, databases and Python objects.

The format comes from the file's name unless it is given. What is read comes with how it stood there, so that a release can be written
the same way, and with the hash of its bytes. A file of sets is Records without columns, whose items are the sets: what tells it from a
table is only which roles its columns have.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypedDict

from shoal.errors import VALUES, InputError, option
from shoal.limits import limited_inputs
from shoal.records.assemble import Assembled, SetRows, Table, assemble
from shoal.records.baskets import Baskets
from shoal.records.bucketed.two_tables import two_tables
from shoal.records.database.address import LAKES, is_address, refuse_format, with_query
from shoal.records.database.lake import LakeInput, opened_table
from shoal.records.database.read import DatabaseInput, Identity
from shoal.records.fhir.export import fhir_table
from shoal.records.formats.columnar import columnar_table
from shoal.records.formats.dat import dat_rows
from shoal.records.formats.delimited import delimited_table, refuse_missing_header
from shoal.records.formats.frames import object_rows, object_table
from shoal.records.formats.jsonl import jsonl_table
from shoal.records.formats.one_hot import OneHot
from shoal.records.formats.tabular import Tabular
from shoal.records.layout import FHIR, FORMATS, FORMATS_WITH_COLUMNS, TWO_TABLES, Layout
from shoal.records.records import Records
from shoal.records.roles import Roles, SetRoles, comma_parts, texts_of
from shoal.records.spelling.local_forms import Form
from shoal.records.storage.scratch import Scratch, reading_into
from shoal.records.storage.streams import BLANKS, Input, is_stream, list_lines
from shoal.records.stores.remote import is_remote

_LACKS = {
    "dat": ("FIMI text has no columns", ("items", "id", "separator", "drop", "person")),
    "jsonl": ("JSON lines hold lists", ("id", "separator")),
}
"""What sets in some formats have no use for, and why."""


@dataclass(frozen=True)
class Reading:
    """How data are read: all that a caller says about them. What is left open is found out where the data leave no doubt."""

    roles: SetRoles | Roles = SetRoles()  # noqa: RUF009 - it is frozen
    """Of the columns: for sets alone which one holds them, for a table that of each."""
    format: str | None = None
    separator: str | None = None
    """What separates the items inside a cell."""
    numeric: tuple[str, ...] | None = None
    """The columns that hold numbers; None finds out by their values."""
    query: str | None = None
    """What to ask of a database whose address names no table."""
    memory_limit: int | str | Scratch | None = None
    """Beyond it, what is read and what is made from it lie in scratch files."""
    input_limit: int | str | None = None
    """The most memory that what is read may take: 2 GB, or 64 times the size of the file, unless it is given."""
    one_hot: OneHot | None = None
    """Which columns are items, where each has one."""
    spelling: tuple[tuple[str, str], ...] = ()
    """How numbers and dates are spelled, by column."""

    @property
    def is_of_sets(self) -> bool:
        """Whether nothing but sets is read."""
        return isinstance(self.roles, SetRoles)

    @property
    def long_by(self) -> str | None:
        """The column that holds the items of a long table together; None where cells hold sets."""
        return self.roles.id if self.separator is None else None


@dataclass(frozen=True)
class Source(Tabular):
    """What was read, and from where. It becomes a frame as its records do."""

    name: str
    """What messages call it: the file's name without folders."""
    records: Records
    sha256: str
    """Of the raw bytes of the input; of a canonical form of the records for Python objects."""
    layout: Layout
    origin: Identity | None = None
    """Which table or query of which database it is: no release may write over it."""
    notes: tuple[str, ...] = ()
    """For the owner: what was taken for something else than one might expect. They may name values."""
    person_values: tuple[str, ...] | None = None
    """Who the people of the records are, by their numbers. For the owner alone: they go into no file and no message."""
    forms: tuple[tuple[str, Form], ...] = ()
    """By column, the spelling of numbers and dates that what is published has again."""

    def __repr__(self) -> str:
        return f"Source({self.name}: {self.records!r})"

    def __len__(self) -> int:
        return len(self.records)

    def arrow_parts(self) -> tuple[Any, tuple[tuple[str, str], ...], str]:
        """The rows, in the types that columns came in."""
        return self.rows, self.layout.types, self.layout.items or "items"

    @property
    def state(self) -> str | None:
        """Of a table in a lake, the address of the very state that was read, which later ones leave as it is."""
        return self.origin.select if self.origin is not None and self.origin.kind in LAKES else None

    @property
    def baskets(self) -> Baskets:
        """The sets of data that have some."""
        assert self.records.items is not None
        return self.records.items

    @property
    def rows(self) -> Baskets | Records:
        """What an audit looks at: the sets where there is nothing else, or the whole table."""
        return self.baskets if self.records.holds_sets_alone else self.records


class SetReading(TypedDict, total=False):
    """The keywords of `read`, for those who hand them on."""

    format: str | None
    items: str | None
    id: str | None
    separator: str | None
    drop: str | Collection[str]
    query: str | None
    memory_limit: int | str | None
    input_limit: int | str | None


def read(
    source: Any,
    *,
    format: str | None = None,
    items: str | None = None,
    id: str | None = None,
    person: str | None = None,
    separator: str | None = None,
    drop: str | Collection[str] = (),
    query: str | None = None,
    memory_limit: int | str | None = None,
    input_limit: int | str | None = None,
) -> Baskets:
    """The baskets in a file, in standard input (`-`), in a table of a database, in a data frame or in any iterable of rows of names.

    `items` names the column with the sets, `id` the column that holds a long table together, `person` the column that says whose a row
    is, where people are to be counted and not rows, `separator` what separates the items inside a cell, `drop` the columns to leave out,
    `query` what to ask of a database whose address names no table. All are found out where the data leave no doubt, but for the person.
    With a `memory_limit` such as `2GB`, what is read from a file and what is made from it lie in scratch files. `input_limit` is the most
    memory that what is read may take: 2 GB, or 64 times the size of the file, unless it is given.

    Args:
        source: A path, `-`, an address of a database, a data frame, an Arrow table, or rows of names.

    Raises:
        InputError: It cannot be read, or leaves open where its sets are.

    >>> import shoal
    >>> shoal.read([["milk", "bread"], ["milk"]])
    Baskets(2 transactions, 2 items, 3 occurrences)
    """
    roles = SetRoles(items, id, texts_of(drop), person)
    return load(source, Reading(roles, format, separator, None, query, memory_limit, input_limit)).baskets


def load_records(
    source: Any,
    *,
    items: str | Sequence[str] = (),
    quasi: str | Sequence[str] = (),
    sensitive: str | Sequence[str] = (),
    sensitive_sets: str | None = None,
    keep: str | Sequence[str] = (),
    drop: str | Sequence[str] = (),
    id: str | Sequence[str] = (),
    person: str | Sequence[str] = (),
    numeric: str | Collection[str] | None = None,
    format: str | None = None,
    separator: str | None = None,
    query: str | None = None,
    input_limit: int | str | None = None,
    spelling: Mapping[str, str] | None = None,
) -> Source:
    """The records in a file, in standard input (`-`), in a database or in a data frame, with how they stood there and their hash.

    Every column has one role. `items` are sets: several such columns make one domain, of items called `column.item`. `sensitive`
    columns hold one value per row; what is named there and is not a column marks items, as `mark_sensitive` does. `sensitive_sets` is a
    column of sets of sensitive items, which join the items and are marked.
    `drop` is for identifiers: never read, never kept. `person` is the column that says whose a row is: it is counted by, and never
    published. `id` is the column that says which rows are one record: they are joined, to the union of their sets and the values they
    share, and it is not published. `numeric` names the numeric columns; None finds them out by their values.
    `separator` separates the items of cells, `query` is asked of a database, `input_limit` is as for `read`. `spelling` says how the
    numbers (`comma`, `point`) or dates (`dmy`, `mdy`, `ymd`) of a column are spelled.
    Names are given one by one or with commas between them.

    Args:
        source: A path, `-`, an address of a database, a data frame or an Arrow table.
        sensitive_sets: The column with the sets of sensitive items, if there is one.

    Raises:
        InputError: It cannot be read, or a column has no role.

    >>> import polars, shoal
    >>> table = polars.DataFrame({"name": ["Ann"], "age": [34], "codes": [["E11", "I10"]]})
    >>> shoal.load_records(table, drop="name", quasi="age", items="codes").records
    Records(1 row: age (quasi), codes (items))
    """
    roles = Roles(*map(texts_of, (quasi, items, sensitive, sensitive_sets, keep, drop, person, id)))
    said = None if numeric is None else texts_of(numeric)
    how = tuple((spelling or {}).items())
    return load(source, Reading(roles, format, separator, said, query, input_limit=input_limit, spelling=how))


def load_sets(
    source: Any,
    *,
    items: str | None = None,
    id: str | None = None,
    drop: str | Collection[str] = (),
    person: str | None = None,
    **how: Any,
) -> Source:
    """As `read`, with how the sets stood there and the hash of the input; `how` is as for `Reading`."""
    return load(source, Reading(SetRoles(items, id, texts_of(drop), person), **how))


def load(data: Any, reading: Reading) -> Source:
    """The records in a file, in standard input (`-`), in a database or in a Python object, with how they stood there and their hash."""
    with limited_inputs(reading.input_limit):
        if reading.separator == "":
            raise InputError("the separator between items is empty; give at least one character")
        data = with_query(data, reading.query)
        if reading.memory_limit is None:
            return _load(data, reading)
        limit = reading.memory_limit
        scratch = limit if isinstance(limit, Scratch) else Scratch.of(limit)
        _check_limit(data)
        if reading.roles.person:
            raise InputError(f"under a memory limit, rows are counted, not people; leave it out, or {option('person')}")
        if isinstance(reading.roles, Roles) and reading.roles.joined_by:
            raise InputError(f"under a memory limit, rows of a table are not joined; leave it out, or {option('id')}")
        with reading_into(scratch):
            return _load(data, reading)


def _load(data: Any, reading: Reading) -> Source:
    if isinstance(data, OneHot):
        reading, data = replace(reading, one_hot=data), with_query(data.data, reading.query)
    if isinstance(data, Records) and (data.holds_sets_alone or not reading.is_of_sets):
        if replace(reading, format=None, query=None, input_limit=None) != Reading(type(reading.roles)()):
            raise InputError("Records have their roles already; give them alone")
        return Source("the Records", data, fingerprint(data), Layout("arrow", data.items_name))
    if isinstance(data, Baskets) and reading.is_of_sets:
        if reading.roles.person:
            raise InputError("Baskets know whose their rows are, or do not; name the person where they are read")
        return Source("the Baskets", Records((), data), fingerprint(data), Layout("arrow"))
    if is_address(data):
        refuse_format(data, reading.format)
        with opened_table(data) as opened:
            return _of_database(opened, reading)
    if isinstance(data, DatabaseInput):  # it was opened already
        return _of_database(data, reading)
    if reading.format not in (None, *FORMATS, TWO_TABLES):
        raise InputError(f"format {reading.format!r} is not known; take one of {', '.join(reading.roles.formats)}")
    if isinstance(data, str | os.PathLike) or is_stream(data):
        with Input(data) as file:
            return _of_file(file, reading)
    return _of_object(data, reading)


def _check_limit(data: Any) -> None:
    """Raises for what is not read piece by piece."""
    if is_address(data):
        raise InputError(
            "a memory limit is for files: Shoal cannot limit what the driver of a database holds; "
            "write the table to a Parquet file, or leave out the limit"
        )
    if not isinstance(data, str | os.PathLike):
        raise InputError("a memory limit is for files, and these rows are in memory already; leave it out")


def _of_file(opened: Input, reading: Reading) -> Source:
    form, roles = _format(opened, reading), reading.roles
    if reading.one_hot is not None and form not in FORMATS_WITH_COLUMNS:
        raise InputError(
            f"{opened.name}: {option('one_hot')} is for tables, in one of {', '.join(FORMATS_WITH_COLUMNS)}"
        )
    if reading.is_of_sets:
        reason, options = _LACKS.get(form, ("", ()))
        given = [option(name) for name in options if getattr(roles, name, None) or getattr(reading, name, None)]
        if given:
            raise InputError(f"{opened.name}: {reason}; leave out {' and '.join(given)}")
        if form == "long" and roles.id is None:
            raise InputError(
                f"{opened.name}: a long table needs the column that holds a transaction together; pass {option('id')}"
            )
    if reading.is_of_sets and form == "jsonl" and roles.person and roles.items is None:
        raise InputError(f"{opened.name}: beside {option('person')}, name the field with the sets ({option('items')})")
    if form == "long" and reading.separator is not None:
        raise InputError(f"{opened.name}: a long table has one item per row; leave out {option('separator')}")
    table = file_table(opened, form, roles)
    found = _assembled(table, reading)
    records, separator = found.records, found.separator
    if reading.is_of_sets and form in ("csv", "tsv", "long"):
        if roles.items is None and isinstance(table, Table) and len(table.columns) == 1:
            assert records.items is not None
            refuse_missing_header(records.items_name, separator, records.items.vocabulary, opened.name)
        form = form if reading.long_by is None else "long"
    elif reading.is_of_sets:
        separator = " "
    form = "jsonl" if form == FHIR else form
    layout = Layout(
        form, records.items_name, separator, reading.long_by, opened.compression, table.delimiter, found.types
    )
    return Source(opened.name, records, opened.sha256(), layout, None, found.notes, found.person_values, found.forms)


def _format(opened: Input, reading: Reading) -> str:
    """The format that is asked for, or that the name or the first bytes tell; sets from standard input are FIMI text unless these do."""
    form = reading.format or opened.form
    if form is None and reading.is_of_sets and opened.name == "standard input":
        form = "dat"
    formats = ", ".join(reading.roles.formats)
    if form is None:
        raise InputError(
            f"{opened.name}: its name does not tell a format; pass {option('format')} with one of {formats}"
        )
    if form not in (FHIR, *reading.roles.formats):
        reasons = {"dat": "FIMI text has no columns", TWO_TABLES: "a .zip holds a release in buckets, and no sets"}
        reason = reasons.get(
            form, f"a long table has one item per row; columns beside them are joined by {option('id')}"
        )
        so = ", so that they cannot have roles" if form == "dat" else ""
        raise InputError(f"{opened.name}: {reason}{so}; give one of {formats}")
    return form


def file_table(opened: Input, form: str, roles: SetRoles | Roles) -> Table | SetRows:
    """The table in a file, or its rows where these are sets."""
    if form == "dat":
        return dat_rows(opened)
    if form == "jsonl":
        return jsonl_table(opened, roles)
    if form == FHIR:
        return fhir_table(opened)
    if form == TWO_TABLES:
        return two_tables(opened)
    if form in ("parquet", "arrow"):
        if opened.compression:
            raise InputError(f"{opened.name}: {form} packs its own columns; unpack the .{opened.compression} first")
        return columnar_table(opened, form)
    return delimited_table(opened, "\t" if form == "tsv" else None)


def _of_database(opened: DatabaseInput | LakeInput, reading: Reading) -> Source:
    found = _assembled(opened.table, reading)
    layout = opened.layout(found.records.items_name, found.separator, reading.long_by)
    if isinstance(opened, LakeInput):
        layout = replace(layout, types=found.types)
    origin = opened.identity
    return Source(
        opened.name, found.records, opened.sha256(), layout, origin, found.notes, found.person_values, found.forms
    )


def _of_object(data: Any, reading: Reading) -> Source:
    name = f"the {type(data).__name__}"
    is_table = reading.one_hot is not None
    table: Table | SetRows | None = object_table(data, name, of_sets=reading.is_of_sets and not is_table)
    if table is None and (is_table or not reading.is_of_sets):
        raise InputError(f"{name} has no columns; give a path, a data frame or an Arrow table")
    if table is None:
        if reading.roles != SetRoles() or reading.separator is not None:
            raise InputError(
                f"{name}: rows of items have no columns and no cells; leave out items, id, person, separator and drop"
            )
        table = object_rows(data, name)
    found = _assembled(table, reading)
    records = found.records
    if reading.is_of_sets:
        assert records.items is not None
        layout, sha256 = Layout("arrow", records.items_name), fingerprint(records.items)
    else:
        layout = Layout("arrow", records.items_name, found.separator, types=found.types)
        sha256 = fingerprint(records)
    if records.people is not None:  # whose rows are belongs to what was read
        whose = json.dumps(found.person_values).encode() + records.people.astype("<i4", copy=False).tobytes()
        sha256 = hashlib.sha256(sha256.encode() + whose).hexdigest()
    return Source(name, records, sha256, layout, None, found.notes, found.person_values, found.forms)


def _assembled(table: Table | SetRows, reading: Reading) -> Assembled:
    """The records of a table. What is said to be sensitive and is not a column is a name of items, or a file with such names."""
    if reading.one_hot is not None:
        if not isinstance(table, Table):
            raise InputError(f"{table.source} has no columns; {option('one_hot')} is for data frames and tables")
        table = reading.one_hot.table(table)
    roles, marked = reading.roles, tuple[str, ...]()
    if isinstance(roles, Roles) and isinstance(table, Table):
        roles, marked = roles.sensitive_apart(table.columns)
    found = assemble(table, roles, reading.numeric, reading.separator, reading.spelling)
    if not marked:
        return found
    try:
        return replace(found, records=mark_sensitive(found.records, marked))
    except InputError as error:
        raise error.within(f"{table.source}: ") from None


def mark_sensitive(data: Records | Baskets, names: str | os.PathLike[str] | Iterable[str]) -> Records:
    """The same sets with some of their items sensitive: given one by one, with commas between them, or as a file with one name per line."""
    records = Records.of(data)
    if records.items is None:
        raise InputError(
            f"there are no items among which some could be sensitive; name the set column with {option('items')}"
        )
    if records.sensitive_name is not None:
        raise InputError(
            f"the sensitive items stand in column {records.sensitive_name!r}; move others there, too, or leave out {option('sensitive')}"
        )
    known = set(records.items.vocabulary)
    given = [names] if isinstance(names, str | os.PathLike) else list(names)
    marked = [name for text in given for name in item_names(text, known)]
    unknown = [name for name in dict.fromkeys(marked) if name not in known]
    if unknown:
        raise InputError(
            f"{len(unknown):,} of the sensitive items that are named do not occur in the data{VALUES}; check the spelling, or leave out "
            "what is not there",
            values=unknown,
        )
    return replace(records, sensitive_items=records.sensitive_items | set(marked))


def item_names(text: str | os.PathLike[str], known: Collection[str]) -> list[str]:
    """The names in a text or, where it is not an item but a file, in its lines."""
    if text in known:
        return [str(text)]
    if isinstance(text, os.PathLike) or is_remote(text) or os.path.isfile(text):
        names = [line.strip(BLANKS) for line in list_lines(text, "a list of items")]
        return [name for name in names if name]
    return comma_parts(text)


def fingerprint(data: str | os.PathLike[str] | Baskets | Records) -> str:
    """The SHA-256 of a file's bytes, of the rows of a table in a database, of the files of one in a lake, or of a canonical form."""
    if is_address(data):
        with opened_table(str(data)) as table:
            return table.sha256()
    if isinstance(data, str | os.PathLike):
        with Input(data) as opened:
            return opened.sha256()
    if isinstance(data, Baskets):
        digest = hashlib.sha256(b"shoal baskets 1\n")
        digest.update(json.dumps([len(data), *data.vocabulary]).encode())
        digest.update(data.offsets.astype("<i8", copy=False).data)
        digest.update(data.items.astype("<i4", copy=False).data)
        return digest.hexdigest()
    digest = hashlib.sha256(b"shoal records 1\n")
    for column in data.columns:
        digest.update(json.dumps([column.name, column.role, *column.values]).encode())
        digest.update(column.codes.astype("<i4", copy=False).data)
    if data.items is not None:
        marks = [data.items_name, data.sensitive_name, *sorted(data.sensitive_items)]
        digest.update(json.dumps(marks).encode())
        digest.update(fingerprint(data.items).encode())
    return digest.hexdigest()
