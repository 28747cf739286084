"""Drafting: what `shoal init` guesses about a file, with a reason for every guess.

A guess is made from the name of a column and from counts over its first rows: how many values differ, how many cells hold a mark
that separates items, how often the parts return. Where neither is clear a column is left without a role, and a run of the plan stops
there: what nobody decided about is not published. Reasons hold names of columns, marks and counts, never a value of the data.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import yaml

from shoal.algorithms import ALGORITHMS
from shoal.errors import InputError, number_of, option, visible
from shoal.hierarchy.kinds.recognition import recognise, recognised_kind
from shoal.plan import relative_path
from shoal.records.assemble import is_list
from shoal.records.database.address import (
    LAKES,
    ONLY_READ,
    address_of,
    file_of,
    is_address,
    refuse_format,
    with_query,
    without_password,
)
from shoal.records.database.lake import opened_table
from shoal.records.foreign.workbooks import WORKBOOKS, workbook_of
from shoal.records.formats.frames import object_table
from shoal.records.formats.peek import column_names, source_name, table_in
from shoal.records.layout import FHIR, FORMATS, SEPARATORS, format_of
from shoal.records.roles import check_repeats
from shoal.records.source import fingerprint
from shoal.records.storage.streams import Input, display_name
from shoal.records.stores.remote import is_remote, remote_of
from shoal.records.tokens import as_text, cell_tokens
from shoal.records.values import Kind, is_number, kind_of
from shoal.showing import Shown

if TYPE_CHECKING:
    import pyarrow as pa

    from shoal.records.assemble import Table

ROWS = 100_000
"""Rows that are looked at."""
K, M, L = 5, 2, 2
"""What a draft promises until its owner decides: the same as the command line."""

_FEW = 20
"""Fewer rows than this prove nothing about their values."""


@dataclass(frozen=True)
class Guess:
    """The role that a column may have, and why; no role where it is unsure."""

    name: str
    role: str | None
    reason: str
    separator: str | None = None
    """For sets in cells: what separates their items."""
    hierarchy: str | None = None
    """For a column that generalizes well under a form that needs no file."""
    kind: Kind | None = None
    """For a column of single values: whether they would be read as numbers, and why."""
    whose: bool = False
    """Whether it seems to say whose a row is, of people who have several: its name numbers people, and values return."""


@dataclass(frozen=True)
class Draft(Shown):
    """A plan before its owner has looked at it.

    Attributes:
        path: The file, or what else the data are called.
        format: What it is written in.
        complete: Whether all rows were looked at.
        guesses: The columns, each with the role that it may have, and why.
        model: The promise that fits the roles.
        reason: Why it does.
        separator: What separates the items inside a cell.
        sha256: The hash of the data, where the plan is bound to them.
        query: What was asked of a database.

    >>> import polars, shoal
    >>> draft = shoal.draft(polars.DataFrame({"age": [20, 30, 40, 50] * 10, "sex": ["F", "M"] * 20}))
    >>> draft.model, draft.keywords()
    ('k', {'quasi': ['age', 'sex']})
    """

    path: str
    format: str
    named: bool
    """Whether the file's name tells the format."""
    rows: int
    """That were looked at."""
    complete: bool
    guesses: tuple[Guess, ...]
    model: str
    reason: str
    separator: str | None = None
    sha256: str | None = None
    query: str | None = None
    is_in_memory: bool = False
    """Whether the data have no path yet."""

    def __repr__(self) -> str:
        roles = ", ".join(f"{guess.name} ({guess.role or 'open'})" for guess in self.guesses)
        return f"Draft({self.path}, model {self.model}{': ' if roles else ''}{roles})"

    @property
    def open(self) -> tuple[Guess, ...]:
        """The columns that the owner has to decide about."""
        return tuple(guess for guess in self.guesses if guess.role is None)

    @property
    def kind(self) -> str:
        quasi = any(guess.role == "quasi" for guess in self.guesses)
        return "table" if self.model == "k" and quasi else self.model

    def keywords(self) -> dict[str, Any]:
        """The roles that were guessed, as keywords of `shoal.anonymize`; raises while a column is left open."""
        if self.open:
            names = ", ".join(repr(guess.name) for guess in self.open)
            raise InputError(f"decide about {names}: the draft leaves them open, and its guesses say why")
        by_role: dict[str, list[str]] = {}
        for guess in self.guesses:
            by_role.setdefault(str(guess.role), []).append(guess.name)
        sets = {} if "items" not in by_role else {"items": ",".join(by_role.pop("items"))}
        trees = {guess.name: guess.hierarchy for guess in self.guesses if guess.hierarchy is not None}
        return (
            {**by_role, **sets}
            | ({"hierarchy": trees} if trees else {})
            | ({} if self.separator is None else {"separator": self.separator})
        )

    def to_yaml(self, folder: str = "") -> str:
        """The plan, with the reasons as comments; paths are made relative to `folder`, if it is to lie there."""
        return draft_yaml(self, folder=folder)

    def to_dict(self) -> dict[str, Any]:
        """For --json."""
        return {
            "input": {"path": self.path, "format": self.format, "separator": self.separator, "sha256": self.sha256}
            | ({} if self.query is None else {"query": self.query}),
            "rows": self.rows,
            "complete": self.complete,
            "columns": {
                guess.name: {"role": guess.role, "reason": guess.reason} | _kind(guess) for guess in self.guesses
            },
            "model": self.model,
            "reason": self.reason,
        }


def draft(data: Any, *, format: str | None = None, query: str | None = None, bind: bool = False) -> Draft:
    """The draft of a plan for a file, a table of a database or a data frame: what each column is guessed to be, and why.

    Args:
        data: A path, an address of a database, or a data frame.
        bind: Whether the draft holds the hash of the data, so that its plan is for no other.

    Raises:
        InputError: The data cannot be read.

    >>> import polars, shoal
    >>> people = polars.DataFrame({"age": [20, 30, 40, 50] * 10, "codes": ["E11|I10", "J45", "E11", "I10|J45"] * 10})
    >>> draft = shoal.draft(people)
    >>> {guess.name: guess.role for guess in draft.guesses}
    {'age': 'quasi', 'codes': 'items'}
    """
    if not isinstance(data, str | os.PathLike):
        return _frame_draft(data)
    path = os.fspath(data)
    if query is not None or is_address(path):
        return _database_draft(path, format, query, bind)
    if is_remote(path) and remote_of(path).query:
        raise InputError(
            f"{remote_of(path).shown}: what follows the '?' may be a token, and a plan is no place for it; "
            "save the file to this machine first"
        )
    if path == "-":
        raise InputError("standard input is read once, and a plan needs a path; save the data to a file first")
    if format is not None and format not in FORMATS:
        raise InputError(f"format {format!r} is not known; take one of {', '.join(FORMATS)}")
    name = display_name(path)
    told = "csv" if workbook_of(path) else format_of(path)[0]
    with Input(path) as opened:
        form = format or opened.form
        if form is None:
            raise InputError(
                f"{name}: its name does not tell a format; pass {option('format')} with one of {', '.join(FORMATS)}"
            )
        lists = form == "jsonl" and _begins_with_a_list(opened)
    sha256 = fingerprint(path) if bind else None
    if form == "dat" or lists:
        reason = "every line is one set of items, without columns"
        return Draft(path, form, form == told, 0, False, (), "km", reason, None, sha256)
    looked = _looks(path, form)
    return _drafted(path, form, form in (told, FHIR), looked, sha256, None)


def _frame_draft(data: Any) -> Draft:
    name = source_name(data)
    table = object_table(data, name)
    if table is None:
        raise InputError(f"{name} has no columns; give a path, a data frame or an Arrow table")
    found = _drafted(name, "arrow", True, _looks_at(table, list(table.columns), name), None, None)
    return replace(found, is_in_memory=True)


def _database_draft(path: str, format: str | None, query: str | None, bind: bool) -> Draft:
    """The draft for a table or a query of a database, its address without a password."""
    address = with_query(path, query)
    refuse_format(address, format)
    with opened_table(address) as opened:
        looked = _looks_at(opened.table, opened.table.columns, opened.name)
        sha256 = opened.sha256() if bind else None
    return _drafted(without_password(path), opened.address.kind, True, looked, sha256, query)


def _drafted(
    path: str, form: str, named: bool, looked: tuple[list[Look], int, bool], sha256: str | None, query: str | None
) -> Draft:
    looks, rows, complete = looked
    guesses = tuple(replace(_guess(look), kind=look.kind, whose=_says_whose(look)) for look in looks)
    if form == "long":
        guesses = tuple(_long(guess, look) for guess, look in zip(guesses, looks, strict=True))
    separator, guesses = _one_separator(guesses)
    if all(guess.role == "drop" for guess in guesses):
        guesses = tuple(
            replace(guess, role=None, reason=f"{guess.reason}; but without it nothing is left to release: decide")
            for guess in guesses
        )
    model, reason = _model(guesses)
    if model in ("km", "rt"):
        # These promise nothing about columns of single sensitive values: the owner has to choose.
        guesses = tuple(_left_open(guess) if guess.role == "sensitive" else guess for guess in guesses)
    return Draft(path, form, named, rows, complete, guesses, model, reason, separator, sha256, query)


def _left_open(guess: Guess) -> Guess:
    return replace(
        guess, role=None, reason=f"{guess.reason}; as it stands beside items, decide: drop it, or let it be quasi"
    )


def _begins_with_a_list(opened: Input) -> bool:
    first = next(opened.text_blocks(), None)
    return first is not None and first.data.lstrip()[:1] == b"["


# What is counted about a column.


@dataclass(frozen=True)
class Look:
    """Counts over the first rows of a column."""

    name: str
    rows: int
    filled: int
    """Cells that are neither missing nor blank."""
    distinct: int
    numeric: bool
    whole: bool
    """Whether all of its numbers are whole."""
    dates: bool
    """Whether its values are dates, whether or not they can be told apart."""
    codes: bool
    """Whether all values are digits of one length, as in postal codes."""
    lists: bool
    cells: Mapping[str, Cells] = field(default_factory=dict)
    """Per mark that occurs, what the cells would be as sets."""
    kind: Kind | None = None
    """Whether its values would be read as numbers."""
    spec: str | None = None
    """The hierarchy that is made for what they are recognised to be."""


@dataclass(frozen=True)
class Cells:
    """The cells of a column, split at a mark."""

    share: float
    """Of the cells that hold the mark."""
    shortest: int
    longest: int
    parts: int
    """Different parts."""
    occurrences: int
    repeated: float
    """The share of parts that stand twice in their cell, as items of a set seldom do."""


_DATE = re.compile(
    r"[0-9]{4}-[0-9]{1,2}(-[0-9]{1,2}([T ][0-9:.+Z-]*)?)?|[0-9]{1,2}[./][0-9]{1,2}[./][0-9]{2,4}", re.ASCII
)


def _looks(path: str, form: str) -> tuple[list[Look], int, bool]:
    """Counts of each column, the rows that were looked at, and whether they are all."""
    columns = column_names(path, form)
    with Input(path) as opened:
        table = table_in(opened, form, columns)
        return _looks_at(table, columns, opened.name)


def _looks_at(table: Table, columns: Sequence[str], name: str) -> tuple[list[Look], int, bool]:
    _refuse_repeats(columns, name)
    arrays, rows, complete = _first_rows(table, columns)
    if not rows:
        raise InputError(f"{name} has no rows; there is nothing to plan for")
    return [_look(name, array) for name, array in zip(columns, arrays, strict=True)], rows, complete


def _refuse_repeats(columns: Sequence[str], source: str) -> None:
    check_repeats(columns, source)
    if "" in columns:
        raise InputError(f"{source}: column {list(columns).index('') + 1} has no name; give it one")


def _first_rows(table: Table, columns: Sequence[str]) -> tuple[list[Any], int, bool]:
    stretches: list[list[pa.Array]] = [[] for _ in columns]
    rows = 0
    for batch in table.batches(columns):
        if rows == ROWS:
            return stretches, rows, False
        taken = batch.slice(0, ROWS - rows)
        for place, stretch in enumerate(stretches):
            stretch.append(taken.column(place))
        rows += len(taken)
        if len(taken) < len(batch):
            return stretches, rows, False
    return stretches, rows, True


def _look(name: str, arrays: Sequence[Any]) -> Look:
    rows = sum(map(len, arrays))
    if any(is_list(array.type) for array in arrays):
        return Look(name, rows, rows, rows, False, False, False, False, True)
    try:
        texts = pa.concat_arrays([pc.fill_null(as_text(array), "") for array in arrays])
    except pa.ArrowException:  # a type without a text form: nothing can be said about it
        return Look(name, rows, 0, 0, False, False, False, False, False)
    kind = kind_of(pc.unique(texts).to_pylist())
    texts = pc.utf8_trim_whitespace(texts)
    texts = texts.filter(pc.not_equal(texts, ""))
    values = pc.unique(texts).to_pylist()
    numeric = bool(values) and all(map(is_number, values))
    recognised = recognise([] if numeric else values)
    marks = () if numeric or recognised.what == "numbers" else (*SEPARATORS, " ")
    return Look(
        name,
        rows,
        len(texts),
        len(values),
        numeric,
        numeric and all(value.lstrip("+-").isdecimal() for value in values),
        bool(values) and (recognised.what == "dates" or all(map(_DATE.fullmatch, values))),
        len({len(value) for value in values}) == 1 and all(value.isdecimal() for value in values),
        False,
        {mark: cells for mark in marks if (cells := _cells(texts, mark)) is not None},
        recognised_kind(kind, values),
        recognised.spec,
    )


def _cells(texts: Any, mark: str) -> Cells | None:
    held = pc.match_substring(texts, mark)
    with_mark = pc.sum(held).as_py() or 0
    if not with_mark:
        return None
    tokens = cell_tokens(texts, mark)
    codes = tokens.codes.astype(np.int64)
    row = np.repeat(np.arange(len(tokens.lengths), dtype=np.int64), tokens.lengths)
    n = max(1, len(tokens.names.dictionary))
    return Cells(
        with_mark / len(texts),
        int(tokens.lengths.min()),
        int(tokens.lengths.max()),
        len(tokens.names.dictionary),
        len(codes),
        1 - len(np.unique(row * n + codes)) / max(1, len(codes)),
    )


# What names of columns tell.

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_IDENTITY = {
    "ssn", "email", "mail", "phone", "telephone", "tel", "mobile", "fax", "passport", "iban", "mrn", "surname", "firstname",
    "lastname", "fullname", "forename", "address", "street", "username", "login", "url", "ip", "licence", "license", "plate",
}  # fmt: skip
_NAMED = {"name", "names", "first", "last", "full", "given", "family", "middle", "maiden", "nick", "patient", "person", "customer",
          "client", "employee", "user", "member", "student", "my"}  # fmt: skip
_PEOPLE = {
    *("patient", "person", "customer", "client", "employee", "user"),
    *("member", "student", "subject", "participant", "household"),
}
_NUMBERED = {
    *("id", "ids", "nr", "no", "nbr", "num", "number", "key", "uuid"),
    *("guid", "identifier", "identity", "account", "record", "index"),
}
_QUASI = {
    "age": "an age", "birth": "a birth date", "birthday": "a birth date", "birthdate": "a birth date", "dob": "a birth date",
    "born": "a birth date", "sex": "a sex", "gender": "a sex", "race": "an origin", "ethnicity": "an origin", "ethnic": "an origin",
    "zip": "a place", "zipcode": "a place", "postcode": "a place", "postal": "a place", "plz": "a place", "city": "a place",
    "town": "a place", "county": "a place", "district": "a place", "state": "a place", "region": "a place", "country": "a place",
    "nationality": "an origin", "citizenship": "an origin", "native": "an origin", "marital": "a family status",
    "married": "a family status", "education": "an education", "kids": "a household", "children": "a household",
    "household": "a household",
}  # fmt: skip
_FINDINGS = {"diagnosis", "disease", "illness", "disorder", "cancer", "hiv"}
_PRIVATE = {
    "diagnoses", "diseases", "condition", "symptom", "drug", "medication", "treatment", "salary", "income", "wage", "wages", "pay",
    "debt", "credit", "occupation", "job", "profession", "employer", "religion", "faith", "party", "vote", "crime", "offence",
    "offense", "orientation", "disability", "pregnant", "pregnancy", "result", "gain", "loss",
}  # fmt: skip
_SETS = {
    "items", "basket", "baskets", "codes", "diagnoses", "diseases", "drugs", "medications", "products", "purchases", "tags", "pages",
    "clicks", "symptoms", "procedures", "genres", "interests", "conditions",
}  # fmt: skip


def _words(name: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(name)]


def _says_whose(look: Look) -> bool:
    said = set(_words(look.name))
    numbers_people = bool(said & _PEOPLE) and said <= _PEOPLE | _NUMBERED
    return numbers_people and not look.lists and _FEW <= look.distinct < look.filled


def _guess(look: Look) -> Guess:
    words = _words(look.name)
    said = set(words)
    if look.lists:
        return Guess(look.name, "items", "its cells are lists")
    if not look.filled:
        return Guess(look.name, None, f"nothing in the first {number_of(look.rows, 'row')} tells what it holds")
    if is_number(look.name) or _DATE.fullmatch(look.name):
        return Guess(look.name, None, "its name reads like a value: is the first line of the file a header?")
    if (found := _as_sets(look, said)) is not None:
        return found
    if said & _IDENTITY or ("name" in said and said <= _NAMED) or ("names" in said and said <= _NAMED):
        return Guess(look.name, "drop", "its name says that it identifies people")
    different = look.distinct == look.filled and look.filled >= _FEW
    if said & _NUMBERED and (look.distinct >= 0.9 * look.filled):
        much = "all of its values differ" if look.distinct == look.filled else "nearly all of its values differ"
        return Guess(look.name, "drop", f"its name says that it numbers rows or people, and {much}")
    if (known := next((_QUASI[word] for word in words if word in _QUASI), None)) is not None:
        shape = look.spec or ("mask" if look.codes and look.distinct > _FEW and known == "a place" else None)
        return Guess(
            look.name, "quasi", f"its name speaks of {known}, which others may know{_counted(look)}", None, shape
        )
    if look.dates:
        return Guess(
            look.name, "quasi", f"its values are dates, which others may know{_counted(look)}", None, look.spec
        )
    if different and (look.whole or not look.numeric):
        return Guess(look.name, "drop", f"all of its {look.filled:,} values differ, so that it points to single rows")
    if said & _FINDINGS and not look.numeric and 3 <= look.distinct <= look.filled / 20:
        return Guess(
            look.name,
            "sensitive",
            f"its name speaks of health, and it has {look.distinct:,} values: others want to learn it",
        )
    if said & (_FINDINGS | _PRIVATE):
        return Guess(
            look.name, None, f"it may be sensitive (its name says so), or quasi, if others know it{_counted(look)}"
        )
    if said & _NUMBERED and look.filled >= _FEW:
        why = (
            "its name says that it numbers something, but values return: does it say whose a row is (person), or, in a long table, hold "
            "rows together (id)?"
        )
        return Guess(look.name, None, why)
    return Guess(look.name, None, f"neither its name nor its values tell{_counted(look)}")


def _counted(look: Look) -> str:
    return f" ({look.distinct:,} different values in {number_of(look.filled, 'row')})"


def _as_sets(look: Look, said: set[str]) -> Guess | None:
    """The guess for a column whose cells hold sets, or might; none for single values."""
    if look.dates:
        return None
    named = bool(said & _SETS)
    for mark, cells in look.cells.items():
        returning = cells.occurrences >= 2 * cells.parts
        varying = cells.longest > cells.shortest
        many = cells.share >= 0.2 or (named and cells.share >= 0.05)
        if not many or (cells.repeated > 0.05 and mark not in ("|", ";")):
            continue
        what = {" ": "blanks", "\t": "tabs"}.get(mark, repr(mark))
        why = f"{cells.share:.0%} of its cells hold {what}, and the parts return in other rows"
        if mark in ("|", ";"):
            sure = returning and (varying or named)
        elif mark == " ":
            # Names and addresses hold blanks, too: sets have fewer different items than different cells.
            sure = (
                returning
                and varying
                and (named or (cells.longest > 3 and cells.shortest < 2 and look.distinct > 2 * cells.parts))
            )
        else:
            sure = returning and varying and (named or (cells.longest > 2 and look.distinct > 2 * cells.parts))
        if sure:
            return Guess(look.name, "items", why, mark)
        if mark != " " and returning and varying:
            return Guess(
                look.name,
                None,
                f"it may hold sets: {cells.share:.0%} of its cells hold {what}; if so, its role is items",
            )
    if named and look.name.lower() == "items":
        return Guess(look.name, "items", "its name says that it holds sets, here of one item each")
    return None


def _one_separator(guesses: tuple[Guess, ...]) -> tuple[str | None, tuple[Guess, ...]]:
    """What separates the items of all set columns; a column that another mark would split is left open."""
    marks = [guess.separator for guess in guesses if guess.separator is not None]
    if not marks:
        return None, guesses
    first = marks[0]
    return first, tuple(
        Guess(guess.name, None, f"{guess.reason}; but a plan has one separator, and another column has {first!r}")
        if guess.separator not in (None, first)
        else guess
        for guess in guesses
    )


def _long(guess: Guess, look: Look) -> Guess:
    """In a long table one column holds rows together and one has the item; which is which is for the owner to say."""
    return Guess(guess.name, None, f"a long table has one column with the role id and one with items{_counted(look)}")


def _model(guesses: Sequence[Guess]) -> tuple[str, str]:
    roles = {guess.role for guess in guesses}
    if {"quasi", "items"} <= roles:
        return "rt", "there are columns that others may know, and sets"
    if "items" in roles:
        return "km", "there are sets, and no column beside them that others are sure to know"
    if "quasi" in roles:
        return "k", "there are columns that others may know, and no sets"
    return "k", "no column is clearly a set; once the roles are decided, look at it again"


# The draft as text.


def draft_yaml(found: Draft, *, folder: str = "") -> str:
    """The draft as YAML, with its reasons as comments; paths are made relative to `folder`, if the plan is to lie there."""
    path = "data.parquet" if found.is_in_memory else relative_path(found.path, folder)
    unsaved = f"  # {found.path} has none: save it, and name the file here" if found.is_in_memory else ""
    looked = f"all {found.rows:,}" if found.complete else f"the first {found.rows:,}"
    lines = [
        f"# A draft for {visible(display_name(found.path if found.is_in_memory else path))}. Read it, decide what is left open, then:",
        "#   shoal run PLAN --check    reads the data and checks the plan; writes nothing",
        "#   shoal run PLAN            writes the release and its certificate",
        "version: 1",
        "",
        "input:",
        f"  path: {_scalar(path)}{unsaved}",
    ]
    if found.query is not None:
        lines.append(f"  query: {_scalar(found.query)}")
    if not found.named:
        lines.append(f"  format: {found.format}  # the name does not tell")
    if found.separator is not None:
        lines.append(f"  separator: {_scalar(found.separator)}  # what separates the items inside a cell")
    if found.sha256 is not None:
        lines.append(f"  sha256: {found.sha256}  # other data are refused")
    lines.append("")
    if found.guesses:
        lines += [f"# Looked at {looked} rows.", "columns:"]
        lines += [_column_line(guess) for guess in found.guesses]
        lines.append("")
    return "\n".join([*lines, *_promise_lines(found), *_output_lines(path, found)]) + "\n"


def _column_line(guess: Guess) -> str:
    role = f" {guess.role}" if guess.role else ""
    question = "" if guess.role else "OPEN: "
    kind = f"; read as {guess.kind}" if guess.kind is not None and guess.role in ("quasi", None) else ""
    return f"  {_scalar(guess.name)}:{role}  # {question}{visible(guess.reason)}{kind}"


def _kind(guess: Guess) -> dict[str, Any]:
    """Whether it would be read as numbers, for --json."""
    if guess.kind is None or guess.role not in ("quasi", "sensitive", "keep", None):
        return {}
    return {"numeric": guess.kind.numeric, "numeric_reason": guess.kind.reason}


_TREES = {
    "mask": "its end is hidden first",
    "dates": "days go into months, quarters and years; dates:year,month has these alone",
    "durations": "in days, weeks and more; durations:1d,7d has these widths alone",
    "bands": "bands are joined with their neighbours",
}


def _promise_lines(found: Draft) -> list[str]:
    trees = {guess.name: guess.hierarchy for guess in found.guesses if guess.hierarchy and guess.role == "quasi"}
    lines = []
    if found.model == "km":
        lines += [
            "hierarchies: frequency:5  # or a file with the categories of the items, which usually reads better",
            "",
        ]
    elif trees:
        lines += ["hierarchies:", *(f"  {_scalar(name)}: {spec}  # {_TREES[spec]}" for name, spec in trees.items()), ""]
    sensitive = found.model == "k" and any(guess.role == "sensitive" for guess in found.guesses)
    lines += ["guarantee:", f"  model: {found.model}  # {found.reason}"]
    lines.append(f"  k: {K}  # nobody is narrowed down to fewer rows")
    if found.model in ("km", "rt"):
        lines.append(f"  m: {M}  # items of a person that an attacker may know")
    if sensitive:
        lines.append(f"  l: {L}  # different sensitive values in every class of equal rows")
    return [*lines, "", f"algorithm: {next(iter(ALGORITHMS[found.kind]))}", ""]


def _output_lines(path: str, found: Draft) -> list[str]:
    shuffled = "# The rows are shuffled: their order can give people away."
    if is_address(path):
        address = address_of(path)
        named = address.name if address.kind in LAKES else None if address.table is None else address.parts[-1]
        name = "release" if named is None else f"{named}_public"
        if address.kind not in ONLY_READ:
            parts = [*(() if address.table is None else address.parts[:-1]), name]
            plain = all(re.fullmatch(r"[a-z_][a-z0-9_]*", part) for part in parts)
            table = ".".join(parts if plain else ('"' + part.replace('"', '""') + '"' for part in parts))
            return [
                "outputs:",
                f"  data: {_scalar(replace(address, table=table, query=None).shown)}  # a new table; or a file, such as {name}.parquet",
                f"  certificate: {_scalar(f'{name}.certificate.json')}",
                shuffled,
            ]
        file = f"{name}.parquet"
    else:
        stem = os.path.basename(file_of(path).rstrip("/"))
        while format_of(stem)[0] or format_of(stem)[1] or stem.endswith((".gz", ".zst", *WORKBOOKS)):
            stem = os.path.splitext(stem)[0]
        ending = {"long": "csv", "dat": "dat", FHIR: "jsonl"}.get(found.format, found.format)
        file = f"{stem}-public.{ending}"
    return ["outputs:", f"  data: {_scalar(file)}  # and its certificate beside it", shuffled]


def _scalar(text: str) -> str:
    """A text as YAML reads it back, on one line."""
    if not text.isprintable():
        return yaml.safe_dump(text, default_style='"', width=10**9).strip()
    return yaml.safe_dump(text, allow_unicode=True, width=10**9).removesuffix("...\n").strip()
