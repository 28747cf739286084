"""What is fuzzed: for each kind of file good examples, tokens of its format, and what is done with a file of it."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

TABLE = "age,sex,items,ill\n" + "".join(
    f"{20 + i % 5},{'mf'[i % 2]},{'a|b' if i % 3 else 'b|c'},{('flu', 'cold', 'gout')[i % 3]}\n" for i in range(30)
)
TREE = "a;ab;all\nb;ab;all\nc;c2;all\n"
LONGEST = 1000
"""Characters of a message."""
NUMBERS = ["9" * 400, "9" * 5000, "-1", "-2", "1e999", "NaN", "-0", "0.1", "7.0"]


@dataclass(frozen=True)
class Kind:
    """A kind of file."""

    ending: str
    seeds: Sequence[bytes]
    tokens: Sequence[bytes]
    use: Callable[[str, Path], None]
    """What is done with a file, given the folder with good files beside it. Raises a ShoalError for what it refuses."""


def _ignoring_refusals(*deeds: Callable[[], Any]) -> None:
    from shoal.errors import ShoalError

    for deed in deeds:
        try:
            deed()
        except ShoalError as error:
            check_message(error)


def check_message(error: Any) -> None:
    """Raises unless it is a sentence about the input."""
    text = str(error)
    if error.exit_code == 1 or "\n" in text or len(text) > LONGEST:
        raise AssertionError(f"a message that is none: {text[:LONGEST]!r}")


def read_data(path: str, folder: Path) -> None:
    """All ways in which a file of data is read."""
    from shoal.app.widgets.preview import Preview
    from shoal.plan.draft import draft
    from shoal.records.source import load_records, load_sets

    def looked_at() -> None:
        preview = Preview(Path(path))
        preview.page(0)
        preview.rows()

    _ignoring_refusals(
        lambda: load_sets(path),
        lambda: load_sets(path, items="items", drop="age,sex,ill"),
        lambda: load_sets(path, id="id"),
        lambda: load_records(path, quasi="age,sex", items="items", sensitive="ill"),
        lambda: load_records(path, keep="age", drop="sex,items,ill"),
        lambda: draft(path),
        looked_at,
    )


def read_tree(path: str, folder: Path) -> None:
    from shoal.hierarchy.files import FORMATS, hierarchy_text, read_hierarchy

    tree = read_hierarchy(path)
    for format in FORMATS:
        _ignoring_refusals(lambda format=format: hierarchy_text(tree, format))
    _ignoring_refusals(*(lambda format=format: read_hierarchy(path, format) for format in FORMATS))


def command(*arguments: str) -> None:
    """A command as it is typed. Raises for what is a bug in Shoal, and for a message that is none."""
    from shoal.cli import main
    from shoal.errors import InputError

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
    if code not in (0, 2, 3):
        raise AssertionError(f"exit code {code}: {err.getvalue()[-500:]}")
    if code == 2:
        raise InputError(err.getvalue().strip().splitlines()[-1] if err.getvalue().strip() else "")


def check_plan(path: str, folder: Path) -> None:
    command("run", path, "--check")


def verify(path: str, folder: Path) -> None:
    command("verify", path, str(folder / "public.csv"))


def read_lists(path: str, folder: Path) -> None:
    """Everything that is given as a list in a file."""
    from shoal.evaluation.between import rules_file, workload_file
    from shoal.models.buckets import edits_of, hierarchies
    from shoal.records.source import load_records, load_sets, mark_sensitive

    table = load_records(folder / "table.csv", quasi="age,sex", sensitive="ill", drop="items").records
    baskets = load_sets(folder / "table.csv", items="items", drop="age,sex,ill").baskets
    _ignoring_refusals(
        lambda: rules_file(path),
        lambda: workload_file(path),
        lambda: edits_of(table, hierarchies(table, {"age": "intervals:5"}, None), path),
        lambda: mark_sensitive(baskets, Path(path)),
    )


def read_keys(path: str, folder: Path) -> None:
    from shoal.certificate.owner import owner_key
    from shoal.certificate.sign import public_key, signer

    os.environ["SHOAL_KEY"] = path
    _ignoring_refusals(owner_key, lambda: signer(path), lambda: public_key(path))


def kinds(folder: Path) -> dict[str, Kind]:
    """All kinds. Puts good files into the folder."""
    (folder / "table.csv").write_text(TABLE)
    (folder / "tree.csv").write_text(TREE)
    text = [
        b",",
        b";",
        b"\t",
        b"|",
        b'"',
        b'""',
        b"\n",
        b"\r\n",
        b"\r",
        b"'=",
        b"\xef\xbb\xbf",
        b"\0",
        b"\xff",
        b"items",
        b"id",
    ]
    marks = [b"-1", b"-2", b"-1 -2\n", b"@ITEM=1=x\n", b"# ", b"@CONVERTED_FROM_TEXT\n", b" "]
    brackets = [
        b"[",
        b"]",
        b"{",
        b"}",
        b'"',
        b":",
        b",",
        b"null",
        b"true",
        b"\\ud800",
        b"\\u0000",
        b"[" * 300,
        b'{"a":' * 99,
    ]
    numbers = [number.encode() for number in NUMBERS]
    sets = b"1 2 5\n\nmilk bread\n-1 -2\n"
    spmf = b"@CONVERTED_FROM_TEXT\n@ITEM=1=milk\n@ITEM=2=brown bread\n1 -1 2 -1 -2\n2 -1 -2\n-2\n"
    table = TABLE.encode()
    quoted = b'age,"items"\n1,"a|b"\n2,"say ""hi"""\n3,"x\ny"\n'
    long = b"id,item\n1,a\n1,b\n2,a\n3,\n"
    lists = b'["a", 7]\n[]\nnull\n["b", "a"]\n'
    objects = b'{"age": 3, "sex": "m", "items": ["a", "b"], "ill": "flu"}\n{"age": null, "sex": "f", "items": [], "ill": "x"}\n'
    data = text + numbers
    found = {
        "dat": Kind(".dat", [sets, spmf], data + marks, read_data),
        "csv": Kind(".csv", [table, quoted, long, b"items\na b\nc\n"], data, read_data),
        "tsv": Kind(".tsv", [table.replace(b",", b"\t")], data, read_data),
        "jsonl": Kind(".jsonl", [lists, objects], brackets + numbers + [b"\n"], read_data),
        "gz": Kind(
            ".csv.gz", [gzip.compress(table, mtime=0), gzip.compress(quoted, mtime=0)], [b"\x1f\x8b\x08"], read_data
        ),
        "zst": Kind(".dat.zst", [_zstd(sets), _zstd(spmf)], [b"\x28\xb5\x2f\xfd", b"\xff" * 8], read_data),
        "parquet": Kind(".parquet", list(_columnar("parquet")), [b"PAR1"], read_data),
        "arrow": Kind(".arrow", list(_columnar("arrow")), [b"ARROW1"], read_data),
        "stream": Kind(".arrow", list(_columnar("stream")), [b"\xff\xff\xff\xff", b"\0\0\0\0"], read_data),
        "tree": Kind(
            ".csv",
            _trees(),
            text + brackets + numbers + [b" has ", b"distinct\n", b"parent", b"child", b"name"],
            read_tree,
        ),
        "plan": Kind(
            ".yaml",
            _plans(folder),
            brackets + numbers + [b"&a", b"*a", b"!!python/object", b"- ", b": ", b"\n  "],
            check_plan,
        ),
        "json plan": Kind(".json", [_json_plan(folder)], brackets + numbers, check_plan),
        "list": Kind(".txt", _lists(), text + brackets + numbers + [b'"strike": true', b'"support": '], read_lists),
        "key": Kind(".pem", _keys(folder), [b"-----BEGIN", b"PRIVATE KEY", b"PUBLIC", b"\n", b"\0" * 80], read_keys),
    }
    certificates = _certificates(folder)
    for form, seed in certificates.items():
        found[f"certificate.{form}"] = Kind(f".{form}", [seed], brackets + numbers + [b"</script>", b"%PDF-"], verify)
    return found


def _zstd(data: bytes) -> bytes:
    packed: bytes = pa.compress(data, "zstd", asbytes=True)
    return packed


def _columnar(form: str) -> Any:
    lists = pa.array([["a", "b"], ["c"], [], None, ["a"]] * 4)
    one = pa.table({"items": lists})
    two = pa.table(
        {
            "age": pa.array([1, 2, 3, None, 5] * 4),
            "sex": pa.array(["m", "f", None, "m", "f"] * 4).dictionary_encode(),
            "items": lists.cast(pa.large_list(pa.large_string())),
            "ill": pa.array([1.5, 2, 3, 4, float("nan")] * 4),
        }
    )
    three = pa.table(
        {
            "items": pa.array([[1, 2], [3], [], [4], [5]] * 4, pa.list_(pa.int32())),
            "when": pa.array([0] * 20, pa.date32()),
        }
    )
    for table in (one, two, three):
        for compression in ("NONE", "ZSTD"):
            made = io.BytesIO()
            if form == "parquet":
                parquet.write_table(table, made, compression=compression, row_group_size=9)
            else:
                options = pa.ipc.IpcWriteOptions(compression=None if compression == "NONE" else "zstd")
                new = pa.ipc.new_file if form == "arrow" else pa.ipc.new_stream
                with new(made, table.schema, options=options) as writer:
                    writer.write_table(table, max_chunksize=9)
            yield made.getvalue()


def _trees() -> list[bytes]:
    nested = {"name": "all", "children": [{"name": "ab", "children": ["a", "b"]}, {"c2": ["c"]}]}
    amnesia = "distinct\nname tree\ntype string\nheight 3\n\nab has a b\nall has ab c\n"
    links = "parent,child\nall,ab\nab,a\nab,b\nall,c\n"
    return [
        TREE.encode(),
        json.dumps(nested).encode(),
        amnesia.encode(),
        links.encode(),
        gzip.compress(TREE.encode(), mtime=0),
    ]


def _plans(folder: Path) -> list[bytes]:
    sets = f"version: 1\ninput:\n  path: {folder}/table.csv\n  separator: '|'\ncolumns: {{items: items, age: drop, sex: drop, ill: drop}}\n"
    sets += f"hierarchies: {folder}/tree.csv\nguarantee: {{model: km, k: 2, m: 1}}\nalgorithm: exact\noutputs:\n  data: {folder}/out.csv\n"
    table = f"version: 1\ninput: {{path: {folder}/table.csv, numeric: [age], limit: 1GB}}\n"
    table += "columns: {age: quasi, sex: quasi, items: drop, ill: sensitive}\nhierarchies: {age: 'intervals:5,10'}\n"
    table += "guarantee: {model: k, k: 2, l: 2}\noptions: {threads: 1}\nkeep_order: true\n"
    return [sets.encode(), table.encode()]


def _json_plan(folder: Path) -> bytes:
    import yaml

    return json.dumps(yaml.safe_load(_plans(folder)[0])).encode()


def _lists() -> list[bytes]:
    rules = (
        b'{"if": {"sex": "m"}, "never": "flu"}\n{"if": {"age": "20"}, "never": "gout", "strike": true, "support": 3}\n'
    )
    queries = b'{"items": ["a"], "between": {"age": [20, 30]}, "among": {"sex": ["f"]}}\n'
    changes = b"class,rows,added,removed,published\n1,3,1,0,a b\n"
    return [rules, queries, b"item,published\na,ab\nb,ab\nc,\n", changes, b"a\nb\n"]


def _keys(folder: Path) -> list[bytes]:
    from shoal.certificate.sign import new_key

    private, public = new_key(str(folder / "key.pem"))
    return [Path(private).read_bytes(), Path(public).read_bytes(), os.urandom(32)]


def _certificates(folder: Path) -> dict[str, bytes]:
    """Certificates of a release, in each form that can be made here."""
    import shoal

    release = shoal.anonymize(
        str(folder / "table.csv"),
        shoal.KmAnonymity(2, 1),
        hierarchy=str(folder / "tree.csv"),
        items="items",
        drop="age,sex,ill",
        separator="|",
    )
    found = {}
    for form in ("json", "html", "pdf"):
        with contextlib.suppress(shoal.ShoalError):
            release.write(str(folder / "public.csv"), str(folder / f"certificate.{form}"), force=True)
            found[form] = (folder / f"certificate.{form}").read_bytes()
    return found
