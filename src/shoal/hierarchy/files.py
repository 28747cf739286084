"""Hierarchy files: reading and writing the formats that others use, guessed from content or from the file's name.

    arx            CSV, one row per leaf, leaf first and root last, one column per level
    amnesia        text with lines `parent has child1 child2`
    parent-child   CSV, one row per link
    json           nested objects

A written file reads back as the same tree with the same labels. Amnesia and parent-child know a node by its label alone, so there a
label that repeats is written as the node's unique name. `.gz` and `.zst` names are compressed; reading looks at the content.
"""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from shoal.errors import InputError, option
from shoal.hierarchy.formats import amnesia, arx, nested, parent_child
from shoal.hierarchy.formats.csv_labels import read_cells, sample_rows
from shoal.hierarchy.formats.links import PLACE, Links
from shoal.hierarchy.formats.objects import tree_of
from shoal.hierarchy.tree import Hierarchy
from shoal.limits import read_part
from shoal.records.stores.once import opened_file
from shoal.records.stores.remote import display_remote, is_elsewhere


class Format(NamedTuple):
    parse: Callable[[str, str], Links]
    """From the text and the name of the place it is from."""
    render: Callable[[Hierarchy, str], str]
    """From the tree and the name of the file it goes to."""
    one_root: str
    """How a file of this format gets a single root."""


FORMATS = {
    "arx": Format(arx.parse, arx.render, arx.ONE_ROOT),
    "amnesia": Format(amnesia.parse, amnesia.render, amnesia.ONE_ROOT),
    "parent-child": Format(parent_child.parse, parent_child.render, parent_child.ONE_ROOT),
    "json": Format(nested.parse, nested.render, nested.ONE_ROOT),
}
_SURROGATE = re.compile("[\ud800-\udfff]")
_PACK: dict[str, Callable[[bytes], bytes]] = {
    ".gz": lambda data: gzip.compress(data, mtime=0),
    ".zst": lambda data: bytes(pa.compress(data, codec="zstd", asbytes=True)),
}
_CODECS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_SUFFIXES = {".csv": "arx", ".txt": "amnesia", ".json": "json"}


def read_hierarchy(
    path: str | os.PathLike[str] | Any,
    format: str | None = None,
    *,
    levels: Sequence[str] | None = None,
    root: str | None = None,
) -> Hierarchy:
    """The hierarchy in a file, refused with the labels concerned if it is not a tree.

    `levels` names the columns of an arx file to use, leaf first; `root` is the label of a root to put above several.
    Nested dicts and lists (`{"dairy": ["milk", "butter"]}`) and data frames (a column for each level, the leaf's first, or the columns
    parent and child) are read as well.

    Args:
        path: The file, plain or packed.
        format: `arx`, `amnesia`, `parent-child` or `json`; found out unless given.
        levels: The columns of an arx file to use, leaf first.
        root: The label of a root to put above several.

    Raises:
        InputError: The file cannot be read, or is not a tree.

    >>> import shoal
    >>> tree = shoal.Hierarchy.from_parents([2, 2, -1], ["brie", "feta", "cheese"])
    >>> shoal.write_hierarchy(tree, "tree.json")
    >>> shoal.read_hierarchy("tree.json")
    Hierarchy(tree.json: 2 leaves, 3 nodes, height 1)
    """
    if not isinstance(path, str | os.PathLike):
        if format is not None or levels is not None or root is not None:
            raise InputError("format, levels and root are for files; give an object alone")
        return tree_of(path)
    named = shown_path(path)
    place = f"{PLACE}{named}"
    text = read_text(path)
    if format is None:
        format = "arx" if levels is not None else _guessed_format(text, named, place)
    parse, _, one_root = _format(format)
    if levels is None:
        links = parse(text, place)
    elif format == "arx":
        links = arx.parse(text, place, levels)
    else:
        raise InputError(f"{place}: levels name the columns of an arx file, but this is read as {format}")
    if root == "":
        raise InputError(f"{place}: the root to put above it needs a label")
    return links.hierarchy(place, named.name, one_root=one_root, root=root)


def write_hierarchy(
    hierarchy: Hierarchy, path: str | os.PathLike[str], format: str | None = None, *, force: bool = False
) -> None:
    """Write to a temporary file beside the target, then rename it: the target is whole or untouched. Overwrites only with `force`.

    Args:
        hierarchy: The tree.
        path: Where it goes.
        format: As for `read_hierarchy`; from the file's name unless given.

    Raises:
        InputError: The file is there, cannot be written, or its name tells no format.

    >>> import shoal
    >>> tree = shoal.Hierarchy.from_parents([2, 2, -1], ["brie", "feta", "cheese"])
    >>> shoal.write_hierarchy(tree, "cheese.csv")
    >>> print(open("cheese.csv").read(), end="")
    brie;cheese
    feta;cheese
    """
    path = Path(path)
    plain = path.with_suffix("") if path.suffix in _PACK else path
    if format is None and plain.suffix not in _SUFFIXES:
        raise InputError(
            f"{path}: its name does not tell the format; end it in {', '.join(_SUFFIXES)}, or name one of {', '.join(FORMATS)}"
        )
    text = hierarchy_text(hierarchy, format or _SUFFIXES[plain.suffix], plain.name)
    if path.exists() and not path.is_file():
        raise InputError(f"{path} is not a regular file; name a file to write the hierarchy to")
    if path.exists() and not force:
        raise InputError(f"{path} exists; choose another name, or overwrite it with {option('force')}")
    pack = _PACK.get(path.suffix, bytes)
    _replace(path, pack(text.encode()))


def hierarchy_text(hierarchy: Hierarchy, format: str, name: str = "hierarchy") -> str:
    """What `write_hierarchy` would write; `name` is the file's name, which Amnesia's header repeats."""
    if hierarchy.n_nodes == 1:
        raise InputError(f"hierarchy {hierarchy.source}: a single node without a root above it cannot be written")
    text = _format(format).render(hierarchy, name)
    if "\0" in text or (not text.isascii() and _SURROGATE.search(text)):
        raise InputError(f"hierarchy {hierarchy.source}: its labels hold characters that a UTF-8 text file cannot")
    return text


def _format(name: str) -> Format:
    if name not in FORMATS:
        raise InputError(f"hierarchy format {name!r} is unknown; use one of {', '.join(FORMATS)}")
    return FORMATS[name]


def shown_path(path: str | os.PathLike[str]) -> Path:
    """The path of a tree's file for messages; of an address the last part, without what may be a token."""
    return Path(display_remote(os.fspath(path)) if is_elsewhere(path) else path)


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a tree's file, plain or packed."""
    place = f"{PLACE}{shown_path(path)}"
    data = read_unpacked(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{place}, line {line}: byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8"
        ) from error
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise InputError(f"{place}, line {line}: it holds a zero byte, so it is not UTF-8 text; save the file as UTF-8")
    if not text.strip():
        raise InputError(f"{place}: it is empty; check that it is the right file")
    return text


def read_unpacked(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a tree's file, plain or packed."""
    place = f"{PLACE}{shown_path(path)}"
    try:
        with opened_file(path) as file:
            data = read_part(file, place, "a tree")
    except OSError as error:
        raise InputError(f"{place} cannot be read ({error.strerror}); check the path") from error
    if codec := next((codec for magic, codec in _CODECS.items() if data.startswith(magic)), None):
        try:
            with pa.CompressedInputStream(pa.BufferReader(data), codec) as unpacked:
                data = read_part(unpacked, place, "a tree")
        except OSError as error:
            raise InputError(f"{place}: its packed data is damaged ({error}); fetch or pack it again") from error
    return data


def _guessed_format(text: str, path: Path, place: str) -> str:
    start = text.lstrip()
    if start[0] in "{[" and (".json" in path.suffixes or nested.is_json(text)):
        return "json"
    if start.split("\n", 1)[0].strip().casefold() in amnesia.KINDS:
        return "amnesia"
    rows = sample_rows(text)
    if not rows:  # broken or empty cells, which arx refuses with the line
        return "arx"
    if parent_child.named_columns(rows[0]):
        return "parent-child"
    if any(len(row) > 2 for row in rows):
        return "arx"
    # Two columns: a flat arx file ends in one root, and reads the same either way. Anything else is a list of links.
    rows = read_cells(text, place).rows
    below = rows[1:] if arx.has_header(rows) else rows
    return "arx" if len({row[-1] for row in below}) == 1 or max(map(len, rows)) != 2 else "parent-child"


def _replace(path: Path, data: bytes) -> None:
    path = path.resolve()  # a link stays a link
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        try:
            with temporary.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror}); check the folder and its free space") from error
