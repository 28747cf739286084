"""Data in Python: data frames, Arrow data and plain iterables of rows, read, and made from records.

Everything that speaks Arrow becomes a table. Columns of Python objects (pandas) and plain rows are strung together and
handed to Arrow in large pieces, so that the work per item is done in C. A numeric column whose values are all spelled as its type would
spell them is handed out as numbers, all others as text, so that 00501 stays 00501; what came as text is text again.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from shoal.errors import InputError
from shoal.records.assemble import SetRows, Table
from shoal.records.baskets import Baskets
from shoal.records.formats.tabular import Tabular
from shoal.records.records import Column, Records
from shoal.records.tokens import Tokens, row_of
from shoal.records.values import MISSING

if TYPE_CHECKING:
    import pandas
    import polars

_PandasArray = Callable[[Any, int, str], pa.Array]

_ROWS = 1 << 17  # rows of Python objects that are strung together at a time


def object_rows(data: Any, source: str) -> SetRows:
    """The sets in an iterable of rows of names."""
    return SetRows(_row_tokens(data, source), source)


def object_table(data: Any, source: str, *, of_sets: bool = False) -> Table | None:
    """The object as a table, or none if it is an iterable of rows; `of_sets` if nothing but sets is to be read from it."""
    if is_lazy(data):
        data = data.collect()
    array = _pandas_array if of_sets else _pandas_values
    if type(data).__module__.partition(".")[0] == "pandas" and (hasattr(data, "iloc") or hasattr(data, "to_frame")):
        frame = data if hasattr(data, "columns") else data.to_frame("items")
        return Table(
            [str(name) for name in frame.columns], lambda wanted: _pandas_batches(frame, wanted, source, array), source
        )
    if isinstance(data, Mapping):
        try:
            return _stream_table(pa.table({str(name): pa.array(values) for name, values in data.items()}), source)
        except (pa.ArrowException, TypeError, ValueError):
            raise InputError(
                f"{source}: its values are not columns of one length and one type each; give lists, or a data frame"
            ) from None
    if isinstance(data, pa.Array | pa.ChunkedArray):
        return _stream_table(pa.table({"items": data}), source)
    if hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__"):
        try:
            return _stream_table(pa.RecordBatchReader.from_stream(data), source)
        except (pa.ArrowException, TypeError):  # a single column, such as a polars Series
            return _stream_table(pa.table({"items": pa.chunked_array(data)}), source)
    return None


def is_lazy(data: Any) -> bool:
    """Whether it is a query of polars that has not run yet."""
    return type(data).__module__.partition(".")[0] == "polars" and type(data).__name__ == "LazyFrame"


def _stream_table(data: pa.Table | pa.RecordBatchReader, source: str) -> Table:
    def batches(wanted: Sequence[str]) -> Iterator[pa.RecordBatch]:
        try:
            for batch in data.to_batches() if isinstance(data, pa.Table) else data:
                chosen = batch.select(list(wanted))
                chosen.validate(full=True)  # it may have been mapped from a file that nobody has looked at
                yield chosen
        except pa.ArrowException:
            raise InputError(f"{source} is damaged; make it again") from None

    return Table(data.schema.names, batches, source)


def _pandas_batches(frame: Any, wanted: Sequence[str], source: str, array: _PandasArray) -> Iterator[pa.RecordBatch]:
    places = [[str(name) for name in frame.columns].index(column) for column in wanted]
    for place in places:
        _refuse_both(frame.iloc[:, place], source)
    days = {place for place in places if _holds_days(frame.iloc[:, place])}
    for start in range(0, len(frame), _ROWS):
        rows = frame.iloc[start : start + _ROWS]
        arrays = [array(rows.iloc[:, place], start, source) for place in places]
        arrays = [made.cast(pa.date32()) if place in days else made for place, made in zip(places, arrays, strict=True)]
        yield pa.record_batch(arrays, names=list(wanted))


def _holds_days(column: Any) -> bool:
    """Whether a pandas column of times holds nothing but midnights: pandas has no type for days alone."""
    if column.dtype.kind != "M" or getattr(column.dtype, "tz", None) is not None:
        return False
    there = column.dropna()
    return bool((there == there.dt.normalize()).all())


def _pandas_array(column: Any, rows_before: int, source: str) -> pa.Array:
    """A pandas column as Arrow. Sets, lists and arrays among Python objects become lists of names, missing values missing lists."""
    if hasattr(column.dtype, "fill_value"):  # a sparse one, as encoders of one-hot frames give it
        column = column.sparse.to_dense()
    if column.dtype == object:
        values = [None if _is_missing(value) else value for value in column]
        first = next((value for value in values if value is not None), None)
        if first is not None and not isinstance(first, str | int | np.integer):
            return _lists(values, rows_before, source)
        column = values
    try:
        array = pa.array(column, from_pandas=True)
    except (pa.ArrowException, TypeError, UnicodeEncodeError):
        raise InputError(f"{source}: a column mixes types; give it one type") from None
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _pandas_values(column: Any, rows_before: int, source: str) -> pa.Array:
    """A pandas column of a table with roles: as `_pandas_array`, but objects may also be single values, of several types."""
    if column.dtype != object:
        return _pandas_array(column, rows_before, source)
    values = [None if _is_missing(value) else value for value in column]
    first = next((value for value in values if value is not None), None)
    if isinstance(first, Iterable) and not isinstance(first, str | bytes):
        return _lists(values, rows_before, source)
    kinds = set(map(type, values)) - {type(None)}
    try:
        if len(kinds) == 1:
            return pa.array(values)
        if all(issubclass(kind, str | bool | int | float | np.integer | np.floating) for kind in kinds):
            spelled = [value if isinstance(value, str) or value is None else _spelled(value) for value in values]
            return pa.array(spelled, pa.large_string())
    except (pa.ArrowException, TypeError, ValueError):  # also half a surrogate pair, which is a ValueError
        raise InputError(f"{source}: column {str(column.name)!r} cannot stand as text; change its type") from None
    mixed = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise InputError(f"{source}: column {str(column.name)!r} mixes types ({mixed}); give it one type")


def _refuse_both(column: Any, source: str) -> None:
    """Raises if a column of Python objects holds a value both as text and as number: these are not the same value."""
    if column.dtype != object:
        return
    texts = {value for value in column if isinstance(value, str)}
    numbers = {_spelled(value) for value in column if isinstance(value, int | float | np.number) and value == value}
    if texts and (both := texts & numbers):
        raise InputError(
            f"{source}: column {str(column.name)!r} holds {len(both):,} of its values both as text and as number; give it one type"
        )


def _spelled(value: Any) -> str:
    """A number as Arrow spells it when a whole column is of its type."""
    return str(pa.scalar(value).cast(pa.large_string()).as_py())


def _lists(values: Sequence[Any], rows_before: int, source: str) -> pa.Array:
    tokens = _strung_together(values, rows_before, source)
    ends = np.concatenate(([0], np.cumsum(tokens.lengths)))
    return pa.LargeListArray.from_arrays(ends, tokens.names)


def _row_tokens(rows: Any, source: str) -> Iterator[Tokens]:
    """The sets of an iterable of iterables."""
    if not isinstance(rows, Iterable) or isinstance(rows, str | bytes):
        raise InputError(f"{source} holds no sets; give a path, a data frame or rows of items")
    stream, before = iter(rows), 0
    while block := list(itertools.islice(stream, _ROWS)):
        yield _strung_together(block, before, source)
        before += len(block)


def _strung_together(rows: Sequence[Any], rows_before: int, source: str) -> Tokens:
    """The items of rows of Python objects. A missing row is an empty one."""
    flat: list[Any] = []
    counts: list[int] = []
    for number, row in enumerate(rows, rows_before + 1):
        before = len(flat)
        if isinstance(row, str | bytes) or not (row is None or isinstance(row, Iterable)):
            raise InputError(
                f"{source}: row {number:,} is of type {type(row).__name__}, not a set of items; give a list of names"
            )
        flat.extend(() if row is None else row)
        counts.append(len(flat) - before)
    lengths = np.array(counts, np.int64)
    strange = [
        kind for kind in set(map(type, flat)) if issubclass(kind, bool) or not issubclass(kind, str | int | np.integer)
    ]
    if strange or "" in flat:
        at = next(i for i, item in enumerate(flat) if type(item) in strange or item == "")
        number = rows_before + row_of(at, lengths) + 1
        raise InputError(
            f"{source}: row {number:,} holds an item that is {_kind(flat[at])}; items are texts or whole numbers"
        )
    try:
        names = pa.array(map(str, flat), pa.large_string(), size=len(flat))
    except ValueError:  # half a surrogate pair, or an integer of thousands of digits
        raise InputError(
            f"{source}: an item cannot stand as text (half a surrogate pair, or a number of thousands of digits); rename it"
        ) from None
    return Tokens(lengths, names.dictionary_encode())


def _is_missing(value: Any) -> bool:
    return (
        value is None or (isinstance(value, float) and value != value) or type(value).__name__ in ("NAType", "NaTType")
    )


def _kind(value: Any) -> str:
    """What an item is, for a message that must not repeat it."""
    return "an empty text" if isinstance(value, str) else f"of type {type(value).__name__}"


class Frame:
    """Rows as Arrow batches, columns in the types that they came in where these are given; `items` is the name of sets that stand alone."""

    def __init__(self, rows: Baskets | Records, types: Sequence[tuple[str, str]] = (), items: str = "items") -> None:
        records = Records((), rows, items) if isinstance(rows, Baskets) else rows
        self._records = records
        came_in = dict(types)
        self._values = [typed_values(column, came_in.get(column.name)) for column in records.columns]
        self._sets = [(sets, pa.array(sets.vocabulary, pa.string())) for _, sets in records.set_columns()]
        kinds = [values.type for values in self._values] + [pa.list_(pa.string())] * len(self._sets)
        self.schema = pa.schema(list(zip(records.names, kinds, strict=True)))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, block by block."""
        for start, stop in self._records.row_blocks():
            arrays = [
                values.take(pa.array(column.codes[start:stop]))
                for column, values in zip(self._records.columns, self._values, strict=True)
            ]
            for sets, names in self._sets:
                ends = sets.offsets[start : stop + 1]
                items = names.take(pa.array(sets.items[ends[0] : ends[-1]]))
                arrays.append(pa.ListArray.from_arrays(pa.array((ends - ends[0]).astype(np.int32)), items))
            yield pa.record_batch(arrays, self.schema)

    def reader(self) -> pa.RecordBatchReader:
        """All rows as a stream."""
        return pa.RecordBatchReader.from_batches(self.schema, self.batches())

    def pandas(self) -> pandas.DataFrame:
        """All rows as a pandas frame. Whole numbers of which some are missing would become fractions, and so get a type that has both."""
        library = frame_library("pandas")
        table = self.reader().read_all()
        gaps = {name for name in table.column_names if pa.types.is_int64(table[name].type) and table[name].null_count}
        frame = table.to_pandas(integer_object_nulls=True)
        return frame.astype(dict.fromkeys(gaps, library.Int64Dtype()))


def typed_values(column: Column, came_in: str | None) -> pa.Array:
    """The values of a column in the type that they are written in: whole numbers or numbers if that spells each as it is, else text.

    What came as text stays text, whatever it looks like.
    """
    texts = pa.array([value if value != MISSING else None for value in column.values], pa.string())
    if came_in == "text":
        return texts
    if came_in == "boolean" and {"true", "false", MISSING}.issuperset(column.values):
        return texts.cast(pa.bool_())
    # From 2^53 on, what turns whole numbers into floats (pandas, where values are missing) would change them: text then.
    if column.numbers is not None and np.nanmax(np.abs(column.numbers), initial=0.0) <= 2.0**53 - 1:
        for kind in (pa.int64(), pa.float64()):
            try:
                numbers = texts.cast(kind)
            except pa.ArrowInvalid:
                continue
            if numbers.cast(pa.string()).equals(texts):
                return numbers
    return texts


def frame_library(name: str) -> Any:
    """pandas or polars, which somebody wants a frame of."""
    try:
        return import_module(name)
    except ImportError:
        raise InputError(f"frames of {name} need {name}; run pip install 'shoal[{name}]'") from None


def to_arrow(rows: Tabular, column: str | None = None) -> pa.Table:
    """Baskets, records or a release as an Arrow table: text or numbers, and lists of strings for the sets.

    Args:
        rows: What becomes a table: a Release, Baskets or Records.
        column: Another name for the column with the sets, for Baskets.

    Raises:
        InputError: It is something else.

    >>> import shoal
    >>> shoal.to_arrow(shoal.read([["milk", "bread"], ["milk"]])).num_rows
    2
    """
    if column is not None and isinstance(rows, Baskets):
        return Frame(rows, items=column).reader().read_all()
    return _rows(rows).to_arrow()


def _rows(rows: Any) -> Tabular:
    if not isinstance(rows, Tabular):
        raise InputError(f"a {type(rows).__name__} is no Release, Baskets or Records; shoal.read makes Baskets of sets")
    return rows


def to_polars(rows: Tabular, column: str | None = None) -> polars.DataFrame:
    """As `to_arrow`, as a polars frame.

    Args:
        rows: What becomes a frame: a Release, Baskets or Records.
        column: Another name for the column with the sets, for Baskets.

    Raises:
        InputError: It is something else, or polars is not installed.

    >>> import shoal
    >>> shoal.to_polars(shoal.read([["milk", "bread"], ["milk"]]))["items"].to_list()
    [['bread', 'milk'], ['milk']]
    """
    frame: polars.DataFrame = frame_library("polars").DataFrame(to_arrow(rows, column))
    return frame


def to_pandas(rows: Tabular, column: str | None = None) -> pandas.DataFrame:
    """As `to_arrow`, as a pandas frame, the sets as arrays of strings.

    Args:
        rows: What becomes a frame: a Release, Baskets or Records.
        column: Another name for the column with the sets, for Baskets.

    Raises:
        InputError: It is something else, or pandas is not installed.

    >>> import shoal
    >>> list(shoal.to_pandas(shoal.read([["milk", "bread"], ["milk"]]), "bought").columns)
    ['bought']
    """
    if column is not None and isinstance(rows, Baskets):
        return Frame(rows, items=column).pandas()
    return _rows(rows).to_pandas()
