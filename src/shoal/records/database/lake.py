"""Tables of Delta Lake and Iceberg: one state of them, read by the libraries of those formats and taken apart like Parquet.

    delta:FOLDER   delta:s3://bucket/folder?version=12   iceberg:FOLDER   iceberg:FOLDER/metadata/00002-....metadata.json?snapshot=123

A state is a list of files that never change. So the address names the state that was read, its hash is that of the list, and of the files
only the columns that are needed are read. What the list names outside the table's own folder is not opened: a table may ask for any file
of this machine, and for any server.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from urllib.parse import unquote, urlsplit

import pyarrow as pa

from shoal.errors import InputError, Unavailable
from shoal.limits import room_for
from shoal.records.assemble import Table
from shoal.records.database.address import LAKES, Address, address_of
from shoal.records.database.read import DatabaseInput, Identity
from shoal.records.layout import Layout
from shoal.records.roles import check_repeats

_FAULTS = (
    (
        r"TableNotFound|No files in log segment|NotFound|No such file|does not exist|FileNotFound",
        "there is no such table; check the path{hint}",
    ),
    (
        r"[Cc]redential|Forbidden|Unauthorized|ACCESS_DENIED|AccessDenied|HTTP status 40[13]",
        "the store does not let you in; give credentials in its usual environment",
    ),
    (
        r"[Vv]ersion|[Ss]napshot",
        "it has no such state any more, or never had; name one that it has, or leave the number out",
    ),
)
_LIBRARIES = ("_internal", "deltalake", "pyiceberg", "pyarrow", "pydantic", "arro3")


class LakeInput:
    """A state of a table in a lake, opened to be read."""

    def __init__(self, text: str) -> None:
        address = address_of(text)
        self.name = address.name
        self._state: _Delta | _Iceberg
        with _faults(address):
            self._state = _Delta(address) if address.kind == "delta" else _Iceberg(address)
        check_repeats(self._state.columns, self.name)
        self.address = replace(address, state=self._state.number)
        where = address.uri if "://" in address.uri else os.path.realpath(address.uri)
        self.identity = Identity(address.kind, (where,), self.address.shown)

    def __enter__(self) -> LakeInput:
        return self

    def __exit__(self, *_: object) -> None:
        """The libraries close what they have opened by themselves."""

    @property
    def table(self) -> Table:
        return Table(self._state.columns, self._batches, self.name, room=room_for(self.name, None))

    def layout(self, items: str, separator: str, id: str | None = None) -> Layout:
        """How its sets stood there."""
        return Layout(self.address.kind, items, separator, id)

    def sha256(self) -> str:
        """The hash of what makes up the state: which table, which state, which files of which size."""
        stated = [self.address.kind, self._state.id, self._state.number, sorted(self._state.files)]
        return hashlib.sha256(f"shoal lake 1\n{json.dumps(stated)}".encode()).hexdigest()

    def _batches(self, wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
        with _faults(self.address, is_open=True):
            for batch in self._state.batches(list(wanted)):
                yield batch.select(list(wanted))


class _Delta:
    """A version of a table of Delta Lake."""

    def __init__(self, address: Address) -> None:
        import deltalake

        self._table = table = deltalake.DeltaTable(address.uri, address.state, storage_options=_delta_settings(address))
        self.number: int = table.version()
        self.id = str(table.metadata().id)
        self.columns = [field.name for field in table.schema().fields]
        added = pa.table(table.get_add_actions(flatten=True)).select(["path", "size_bytes"])
        self.files = [list(file.values()) for file in added.to_pylist()]
        folder = table.table_uri
        _check_inside(address, folder, (_joined(folder, unquote(path)) for path, _ in self.files))

    def batches(self, wanted: list[str]) -> Iterator[pa.RecordBatch]:
        from deltalake.exceptions import DeltaProtocolError

        try:
            rows = self._table.to_pyarrow_dataset()
        except DeltaProtocolError:  # renamed columns and deleted rows are for the engine, which keeps no order
            yield from pa.RecordBatchReader.from_stream(self._table.scan(columns=wanted))
            return
        yield from rows.to_batches(columns=wanted)


class _Iceberg:
    """A snapshot of a table of Iceberg, found without a catalog.

    A table may state how its own files are to be opened, by which class and at which server: that is not followed.
    """

    def __init__(self, address: Address) -> None:
        from pyiceberg.catalog.noop import NoopCatalog
        from pyiceberg.io.pyarrow import PyArrowFileIO
        from pyiceberg.serializers import FromInputFile
        from pyiceberg.table import StaticTable

        io = PyArrowFileIO(_iceberg_settings(address))
        at = address.uri.rstrip("/")
        if not at.endswith(".metadata.json"):
            with io.new_input(f"{at}/metadata/version-hint.text").open() as file:
                hint = file.read().decode().strip()
            at += f"/metadata/{f'v{hint}' if hint.isdecimal() else hint.removesuffix('.metadata.json')}.metadata.json"
        metadata = FromInputFile.table_metadata(io.new_input(at))
        self._table = StaticTable(("table",), metadata, at, io, NoopCatalog("none"))
        number = metadata.current_snapshot_id if address.state is None else address.state
        snapshot = None if number is None else self._table.snapshot_by_id(number)
        if snapshot is None:
            raise InputError(
                f"{address.name}: it has no snapshot of this number, or no rows yet; name one that it has, or leave it out"
            )
        self.number: int = snapshot.snapshot_id
        self.id = str(metadata.table_uuid)
        # A scan of a snapshot has the columns of its day; what the table is now, it is under the names of now.
        self._asked = None if self.number == metadata.current_snapshot_id else self.number
        scan = self._table.scan(snapshot_id=self._asked)
        self.columns = [field.name for field in scan.projection().fields]
        folder = os.path.dirname(os.path.dirname(_plain(at)))
        _check_inside(address, folder, [snapshot.manifest_list])
        _check_inside(address, folder, [manifest.manifest_path for manifest in snapshot.manifests(io)])
        listed = [file for task in scan.plan_files() for file in (task.file, *task.delete_files)]
        _check_inside(address, folder, [file.file_path for file in listed])
        self.files = [[file.file_path, file.file_size_in_bytes] for file in listed]

    def batches(self, wanted: list[str]) -> Iterator[pa.RecordBatch]:
        yield from self._table.scan(selected_fields=tuple(wanted), snapshot_id=self._asked).to_arrow_batch_reader()


def opened_table(text: str) -> DatabaseInput | LakeInput:
    """What an address of a database or of a lake stands for, opened to be read."""
    return LakeInput(text) if address_of(text).kind in LAKES else DatabaseInput(text)


def _check_inside(address: Address, folder: str, paths: Iterable[str]) -> None:
    within = _plain(folder)
    for path in map(_plain, paths):
        if not path.startswith(f"{within}/") or ".." in path.split("/"):
            raise InputError(
                f"{address.name}: it names a file outside its own folder, which is not opened; copy all its files to one folder"
            )


def _joined(folder: str, path: str) -> str:
    """A path as its table has it: within its folder, unless it says where it is."""
    return path if re.match(r"/|[a-z][a-z0-9+.-]*:", path, re.IGNORECASE) else f"{folder.rstrip('/')}/{path}"


def _plain(path: str) -> str:
    """A path of this machine as it is, an address with its scheme; both without a stroke at the end."""
    if path.startswith("file:"):
        path = unquote(urlsplit(path).path)
    return (path if "://" in path else os.path.realpath(path)).rstrip("/")


def _delta_settings(address: Address) -> dict[str, str] | None:
    """Endpoint and region of S3, from the variables that the tools of AWS take; credentials are found by the library."""
    endpoint = _endpoint(address)
    if endpoint is None:
        return None
    return {"aws_endpoint": endpoint, "aws_region": _region(), "aws_allow_http": "true"}


def _iceberg_settings(address: Address) -> dict[str, str]:
    endpoint = _endpoint(address)
    return {} if endpoint is None else {"s3.endpoint": endpoint, "s3.region": _region()}


def _endpoint(address: Address) -> str | None:
    given = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    return given if address.uri.startswith("s3://") else None


def _region() -> str:
    return os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"


@contextlib.contextmanager
def _faults(address: Address, *, is_open: bool = False) -> Iterator[None]:
    """Turns what a library says into a sentence with a remedy. Its own words may hold keys and values: none of them is repeated."""
    try:
        yield
    except ImportError:
        raise InputError(
            f"{address.name}: tables of {LAKES[address.kind]} need a reader; pip install 'shoal[{address.kind}]'"
        ) from None
    except (InputError, MemoryError):
        raise
    except Exception as error:
        is_theirs = type(error).__module__.partition(".")[0] in _LIBRARIES or isinstance(
            error, OSError | ValueError | NotImplementedError
        )
        if not is_theirs:
            raise
        text = f"{type(error).__name__} {error}"
        hint = (
            "; where a catalog keeps the table, give the .metadata.json file that it names"
            if address.kind == "iceberg"
            else ""
        )
        says = next((says for pattern, says in _FAULTS if re.search(pattern, text)), None)
        if is_open and says == _FAULTS[0][1]:
            says = "files of this state are gone, as after a vacuum; name a newer one"
        says = says or "it is damaged, or has something that the reader does not know; export it to Parquet"
        raise Unavailable(f"{address.name}: {says.format(hint=hint)}") from None
