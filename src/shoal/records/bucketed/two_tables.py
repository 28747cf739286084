"""A release in buckets as the papers print it (Table II of Injector, Anatomy's QIT and ST): rows with the number of their bucket, and, for
each sensitive column, how often each value stands in each bucket. Both are CSV in one .zip, so that neither goes without the other.

Nothing is in it that the single table does not say: there, values are dealt to the rows of a bucket at random. A reader deals them again,
in the order of the file, which says as little about whose they are.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from shoal.errors import InputError
from shoal.limits import part_limit, shown_size
from shoal.records.assemble import Table
from shoal.records.formats.delimited import delimited_table, delimited_text
from shoal.records.layout import Layout
from shoal.records.records import Column, Records
from shoal.records.storage.publication import Target, display_name
from shoal.records.storage.streams import BLOCK, Input, reading_errors

ROWS, BUCKET, COUNT = "rows.csv", "bucket", "count"
VALUES = "values-{}.csv"
_MOST = 100
"""Tables in a file."""
_DIGITS = 9
"""Of a count: more than any table has rows."""
_MADE = (1980, 1, 1, 0, 0, 0)
"""When each table is said to have been written: the time of a release is nobody's business."""

Dealing = dict[str, Iterator[str]]
"""Per bucket, its values, each as often as it stands there."""


def write_two_tables(records: Records, target: Target = "the output") -> bytes:
    """The file of a release in buckets."""
    bucket, secrets = _parts(records, target)
    layout = Layout("csv")
    rows = replace(records, columns=tuple(column for column in records.columns if column.role != "sensitive"))
    tables = {ROWS: rows} | {
        VALUES.format(number): _counts(bucket, column) for number, column in enumerate(secrets, start=1)
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, table in tables.items():
            member = zipfile.ZipInfo(name, _MADE)
            member.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(member, "w", force_zip64=True) as file:
                for block in delimited_text(table, layout):
                    file.write(block)
    return out.getvalue()


def dealt_again(records: Records, target: Target = "the output") -> Records:
    """The same release as a reader of its two tables has it: sensitive columns last, their values dealt in order."""
    bucket, secrets = _parts(records, target)
    by_bucket = np.argsort(bucket.codes, kind="stable")
    columns = [column for column in records.columns if column.role != "sensitive"]
    for column in secrets:
        codes = np.empty_like(column.codes)
        codes[by_bucket] = column.codes[np.lexsort((column.codes, bucket.codes))]
        columns.append(replace(column, codes=codes))
    return replace(records, columns=tuple(columns))


def _parts(records: Records, target: Target) -> tuple[Column, list[Column]]:
    """The column of buckets and the sensitive ones."""
    bucket = next((column for column in records.columns if column.name == BUCKET), None)
    secrets = [column for column in records.columns if column.role == "sensitive"]
    if bucket is None or not secrets or records.items is not None:
        raise InputError(
            f"{display_name(target)}: a .zip holds the two tables of a release in buckets; for others name a .csv, .jsonl or .parquet"
        )
    if any(column.name == COUNT for column in secrets):
        raise InputError(
            f"{display_name(target)}: a column of it is called {COUNT!r} already; rename the sensitive one"
        )
    return bucket, secrets


def _counts(bucket: Column, column: Column) -> Records:
    """How often each value stands in each bucket."""
    width = max(1, len(column.values))
    pairs, times = np.unique(bucket.codes.astype(np.int64) * width + column.codes, return_counts=True)
    held, value = np.divmod(pairs, width)
    numbers = [str(number) for number in times.tolist()]
    return Records(
        (
            replace(bucket, codes=held.astype(np.int32)),
            replace(column, codes=value.astype(np.int32)),
            Column.from_texts(COUNT, "keep", numbers, numeric=False),
        )
    )


def two_tables(source: Input) -> Table:
    """The single table that the two say together."""
    members = _members(source)
    rows = _table(members, ROWS, source.name)
    if BUCKET not in rows.columns:
        raise InputError(f"{source.name}: its {ROWS} has no column {BUCKET!r}")
    dealings: dict[str, Dealing] = {}
    for name in members:
        if name != ROWS:
            column, dealing = _dealing(_table(members, name, source.name), f"{source.name}: {name}")
            if column in dealings or column in rows.columns:
                raise InputError(f"{source.name}: {name} is about column {column!r}, which is there already")
            dealings[column] = dealing

    def batches(wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
        asked = [name for name in rows.columns if name in wanted or name == BUCKET]
        for batch in rows.batches(asked):
            arrays = dict(zip(asked, batch.columns, strict=True))
            labels = batch.column(asked.index(BUCKET)).to_pylist()
            arrays |= {
                name: pa.array(_dealt(dealings[name], labels, source.name)) for name in wanted if name in dealings
            }
            yield pa.RecordBatch.from_arrays([arrays[name] for name in wanted], names=list(wanted))
        for name in wanted:
            if any(next(left, None) is not None for left in dealings.get(name, {}).values()):
                raise InputError(
                    f"{source.name}: a bucket has more values of {name!r} than rows; take the file as it was written"
                )

    return Table((*rows.columns, *dealings), batches, source.name, None, room=source.room)


def _members(source: Input) -> dict[str, bytes]:
    """The texts of the tables, which together may take what an input may."""
    damaged = f"{source.name}: it is no .zip that holds {ROWS} and {VALUES.format(1)}, or is damaged; copy it again"
    try:
        with zipfile.ZipFile(_bytes_of(source)) as archive:
            names = archive.namelist()
            numbered = [VALUES.format(number) for number in range(1, len(names))]
            if len(names) > _MOST or sorted(names) != sorted([ROWS, *numbered]) or not numbered:
                raise InputError(damaged)
            texts = {}
            for name in (ROWS, *numbered):
                with archive.open(name) as file:
                    texts[name] = file.read(source.room.limit - source.room.taken + 1)
                source.room.take(len(texts[name]))
            return texts
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, ValueError, OSError):
        raise InputError(damaged) from None


def _bytes_of(source: Input) -> io.BytesIO:
    """The file as it is, in memory."""
    whole = io.BytesIO()
    with reading_errors(source.source):
        while block := source.read(BLOCK):
            source.room.take(len(block))
            whole.write(block)
    return whole


class _Member(io.BytesIO):
    """The text of a table, with a name for messages."""

    name = ""


def _table(members: Mapping[str, bytes], name: str, source: str) -> Table:
    text = _Member(members[name])
    text.name = f"{source} {name}"
    return delimited_table(Input(text), ",")


def _dealing(table: Table, where: str) -> tuple[str, Dealing]:
    """The sensitive column that a table is about, and the values of each bucket."""
    columns = list(table.columns)
    if len(columns) != 3 or columns[0] != BUCKET or columns[2] != COUNT:
        raise InputError(
            f"{where}: its columns are not {BUCKET}, a sensitive column and {COUNT}; take the file as it was written"
        )
    held: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for batch in table.batches(columns):
        for bucket, value, count in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            if not (count and count.isascii() and count.isdigit() and len(count) <= _DIGITS and int(count)):
                raise InputError(
                    f"{where}: a count is not a whole number of at least 1; take the file as it was written"
                )
            held[bucket or ""].append((value or "", int(count)))
    if sum(map(len, held)) > part_limit():
        raise InputError(
            f"{where}: it holds more than {shown_size(part_limit())} of buckets; check that it is the right file"
        )
    return columns[1], {bucket: _values(pairs) for bucket, pairs in held.items()}


def _values(pairs: Sequence[tuple[str, int]]) -> Iterator[str]:
    for value, count in pairs:
        for _ in range(count):
            yield value


def _dealt(dealing: Dealing, labels: Sequence[str | None], source: str) -> list[str]:
    """The next value of each row's bucket."""
    values = []
    for label in labels:
        value = next(dealing.get(label or "", iter(())), None)
        if value is None:
            raise InputError(f"{source}: a bucket has fewer values than rows; take the file as it was written")
        values.append(value)
    return values
