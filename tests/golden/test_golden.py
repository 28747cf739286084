"""What the commands say and write, kept as text: a change of structure must not change any of it, and a change of behaviour shows up in
the diff of `expected/`. `make golden` writes the files anew.

Each call is kept with its exit code, standard output, standard error and the files it wrote. What differs between machines and runs
(times, memory, versions, dates, hashes, the order of rows) is replaced by a word in brackets, or sorted.
"""

from __future__ import annotations

import contextlib
import gzip
import html
import json
import os
import re
import shlex
from pathlib import Path

import pytest

from golden.calls import GROUPS
from golden.world import lay_out

EXPECTED = Path(__file__).parent / "expected"
VOLATILE = (
    (re.compile(r"\b[0-9a-f]{64}\b"), "<sha256>"),
    (re.compile(r"^[0-9a-f]{8}$", re.MULTILINE), "<part of a sha256>"),
    (re.compile(r'("id": )"[0-9a-f]{16}"'), r'\1"<series>"'),
    (re.compile(r'("(?:seconds|peak_mb|key_id|public_key|signature)": )("[^"]*"|[-0-9.e+]+)'), r"\1<volatile>"),
    (re.compile(r'("(?:shoal|python|numpy|scipy|numba|typst)": )"[^"]*"'), r"\1<version>"),
    (re.compile(r"\b20[0-9]{2}-[0-9]{2}-[0-9]{2}\b"), "<date>"),
    (re.compile(r"\b[0-9][0-9,]*(?:\.[0-9]+)? (?:ms|s)\b *"), "<time> "),
    (re.compile(r"\b[0-9][0-9,]*(?:\.[0-9]+)? (?:MB|GB)\b *"), "<size> "),
    (re.compile(r"shoal [0-9]+\.[0-9.a-z]+"), "shoal <version>"),
)
FLOAT = re.compile(r"-?[0-9]+\.[0-9]{7,}(?:e-?[0-9]+)?")
BINARY = (".pdf", ".zip", ".db", ".svg", ".key", ".pub", ".gz", ".parquet", ".arrow")


@pytest.mark.parametrize("group", GROUPS)
def test_commands_say_and_write_what_they_did(group, tmp_path, monkeypatch, capfd):
    record = record_of(group, tmp_path, monkeypatch, capfd)
    kept = EXPECTED / f"{group}.txt"
    if os.environ.get("SHOAL_GOLDEN") == "write":
        EXPECTED.mkdir(exist_ok=True)
        kept.write_text(record, encoding="utf-8")
    assert record == kept.read_text(encoding="utf-8"), "see the diff; `make golden` keeps it, if it is meant"


def record_of(group: str, folder: Path, monkeypatch, capfd) -> str:
    from shoal.cli import main

    monkeypatch.setenv("SHOAL_KEY", str(folder / "keys" / "owner.key"))
    monkeypatch.delenv("SHOAL_DATA", raising=False)
    monkeypatch.setenv("COLUMNS", "110")
    monkeypatch.setattr("shoal.evaluation.advice.SECONDS", 600.0)  # advice is given however slow the machine is
    world = folder / "world"
    world.mkdir()
    lay_out(world)
    monkeypatch.chdir(world)
    parts = []
    for call in GROUPS[group]:
        before = contents_of(world)
        capfd.readouterr()
        code = main(shlex.split(call))
        shown = capfd.readouterr()
        parts.append(f"$ shoal {call}\nexit code {code}\n")
        parts += [_part("output", shown.out), _part("messages", shown.err)]
        parts += [_part(name, text) for name, text in contents_of(world).items() if before.get(name) != text]
        parts.append("\n")
    return steady("".join(parts).replace(str(world), "<folder>").replace(str(folder), "<home>"))


def _part(title: str, text: str) -> str:
    lines = [line.rstrip() for line in text.splitlines()]
    return "".join([f"-- {title}\n", *(f"{line}\n" for line in lines if line)]) if text.strip() else ""


def contents_of(folder: Path) -> dict[str, str]:
    """The files of a folder as text by which a reader can tell what changed."""
    return {path.relative_to(folder).as_posix(): _text_of(path) for path in sorted(folder.rglob("*")) if path.is_file()}


def _text_of(path: Path) -> str:
    if path.name == "ledger.json":
        return "(a ledger)"
    if path.name.endswith(".csv.gz"):
        return _sorted(gzip.decompress(path.read_bytes()).decode())
    if path.suffix in BINARY:
        return f"({path.suffix})" + (" " + rows if (rows := _rows_of(path)) else "")
    with contextlib.suppress(UnicodeDecodeError):
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".html":
            text = re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.DOTALL)
            return html.unescape("\n".join(filter(None, map(str.strip, re.sub(r"<[^>]*>", "\n", text).splitlines()))))
        return _sorted(text) if path.suffix in (".csv", ".tsv", ".dat", ".jsonl") else text
    return "(not text)"


def _rows_of(path: Path) -> str:
    if path.suffix not in (".parquet", ".arrow"):
        return ""
    try:
        import polars as pl

        frame = pl.read_parquet(path) if path.suffix == ".parquet" else pl.read_ipc(path, memory_map=False)
    except Exception:
        return "(broken)"
    return "\n" + "\n".join(sorted(json.dumps(row, default=str) for row in frame.rows()))


def _sorted(text: str) -> str:
    """Rows are shuffled on purpose: the header stays, the rest is sorted. Buckets are numbered and dealt by lot: there each column is
    sorted by itself."""
    first, *rest = text.splitlines() or [""]
    if first.endswith(",bucket"):
        columns = zip(*(row.split(",") for row in rest), strict=True)
        return "\n".join([first, *map(",".join, zip(*map(sorted, columns), strict=True))])
    if first == "cluster,records,chunk,items":  # clusters and chunks are numbered by lot
        pieces = (row.split(",", 3) for row in rest)
        return "\n".join(
            [first, *sorted(f"c,{n},{'rest' if chunk == 'rest' else '#'},{items}" for _, n, chunk, items in pieces)]
        )
    has_header = any(not c.isdigit() and c != " " for c in first)
    return "\n".join([first, *sorted(rest)] if has_header else sorted([first, *rest]))


def steady(text: str) -> str:
    """The text without what differs between machines and runs."""
    for pattern, word in VOLATILE:
        text = pattern.sub(word, text)
    text = re.sub(r" +$", "", text, flags=re.MULTILINE)
    return FLOAT.sub(lambda number: f"{float(number[0]):.6g}", text)
