"""verify, of a release that is known by its rows (as Spark writes it, a folder of Parquet files), on a machine without Spark."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace

import pyarrow as pa
import pytest
from pyarrow import parquet

import certificate_cases
import shoal
from certificate_cases import CASES, provoking_folder, released, verifying
from shoal import InputError
from shoal.certificate.facts import canonical, certificate_bytes
from shoal.certificate.sign import new_key, signer
from shoal.certificate.terms import guarantee_of, reading_of
from shoal.models import Roles, model_of
from shoal.records.storage.digest import DIGEST, row_digest
from shoal.release import verify


def failed(found):
    return [check.name for check in found.checks if check.holds is False]


def says(found, name):
    return next(check.says for check in found.checks if check.name == name)


def by_rows(tmp_path, name, monkeypatch):
    """(folder of two Parquet files, certificate, what must be said) of a case, as if Spark had written it."""
    monkeypatch.setitem(certificate_cases.CASES, name, replace(CASES[name], public="one.parquet"))
    home = provoking_folder(tmp_path)
    file, certificate = released(home, name, "certificate.json")
    said = verifying(home, name)
    public = tmp_path / "public"
    public.mkdir()
    table = parquet.read_table(file)
    texts = [pa.field(f.name, f.type if pa.types.is_nested(f.type) else pa.string()) for f in table.schema]
    table = table.cast(pa.schema(texts))
    for i, part in enumerate((table.slice(0, 50), table.slice(50))):
        parquet.write_table(part, public / f"part-{i}.snappy.parquet")
    (public / "_SUCCESS").touch()
    content = json.loads(certificate.read_text())
    guarantee, reading = (
        guarantee_of(content),
        reading_of(content) | {name: told for name, told in said.items() if name == "sensitive"},
    )
    roles = Roles(*(reading.pop(role, None) for role in ("sensitive", "quasi", "keep")))
    source, _ = model_of(guarantee).read(public, guarantee, roles, reading)
    content["output"] |= {"digest": DIGEST, "sha256": row_digest(source.rows)}
    certificate.write_bytes(certificate_bytes(content))
    return public, certificate, said


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A signed release of sets."""
    _, certificate, _ = by_rows(tmp_path, "km exact", monkeypatch)
    new_key(tmp_path / "board.key")
    content = json.loads(certificate.read_text())
    board = signer(tmp_path / "board.key")
    content["signer"] = {"algorithm": "ed25519", "public_key": board.public_key}
    content["signature"] = board.sign(canonical(content))
    (tmp_path / "certificate.json").write_bytes(certificate_bytes(content))
    return tmp_path


def checked(shop, **how):
    return verify(shop / "certificate.json", shop / "public", **how)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if name != "k with a column"])
def test_every_model_is_verified_from_a_folder_and_caught_when_rows_are_gone(tmp_path, monkeypatch, name):
    public, certificate, said = by_rows(tmp_path, name, monkeypatch)
    found = verify(certificate, public, **said)
    assert found.holds, found.checks
    assert [check.name for check in found.checks] == ["signature", "folder", "file", "promise", "statements"]
    (public / "part-0.snappy.parquet").unlink()
    without = verify(certificate, public, **said)
    assert "file" in failed(without)
    assert {"promise", "statements"} & set(failed(without))


def test_sensitive_items_in_a_column_are_verified(tmp_path, monkeypatch):
    public, certificate, _ = by_rows(tmp_path, "k with a column", monkeypatch)
    assert verify(certificate, public).holds


def test_files_and_their_order_do_not_matter(shop):
    whole = parquet.read_table(shop / "public" / "part-1.snappy.parquet")
    parquet.write_table(whole.take(list(range(len(whole)))[::-1]), shop / "public" / "a-first")
    (shop / "public" / "part-1.snappy.parquet").unlink()
    found = checked(shop, key=shop / "board.key.pub")
    assert found.holds
    assert says(found, "file") == "it holds the rows that were certified, and no others"
    rows = pa.concat_tables([parquet.read_table(path) for path in (shop / "public").glob("[ap]*")])
    parquet.write_table(rows, shop / "one.parquet")
    assert verify(shop / "certificate.json", shop / "one.parquet").holds


def tampered(shop, change):
    path = shop / "public" / "part-0.snappy.parquet"
    rows = change(parquet.read_table(path)["items"].to_pylist())
    parquet.write_table(pa.table({"items": pa.array(rows, pa.list_(pa.string()))}), path)
    return checked(shop)


def test_one_changed_cell_is_caught(shop):
    common = parquet.read_table(shop / "public" / "part-1.snappy.parquet")["items"].to_pylist()
    other = next(row for row in common if row)
    found = tampered(shop, lambda rows: [other if rows[0] != other else other[1:], *rows[1:]])
    assert says(found, "file") == "its rows are not those that were certified: their hash is another"
    assert "file" in failed(found)


def test_a_row_more_or_less_is_caught(shop):
    found = tampered(shop, lambda rows: [*rows, rows[0]])
    assert {"file", "statements"} <= set(failed(found))
    assert "output.rows (it says 120, there are 121)" in says(found, "statements")
    assert {"file", "statements"} <= set(failed(tampered(shop, lambda rows: rows[:-2])))


def test_a_column_that_was_added_is_caught(shop):
    path = shop / "public"
    for part in path.glob("*.parquet"):
        table = parquet.read_table(part)
        parquet.write_table(table.append_column("name", pa.array(["Maria"] * len(table))), part)
    found = checked(shop)
    assert failed(found) == ["file", "promise"]
    assert "'name'" in says(found, "promise")


def test_a_broken_file_is_caught_and_named(shop):
    part = shop / "public" / "part-1.snappy.parquet"
    part.write_bytes(part.read_bytes()[:-9])
    found = checked(shop)
    assert failed(found) == ["file", "promise"]
    assert "public/part-1.snappy.parquet: it is not readable as Parquet" in says(found, "promise")


@pytest.mark.parametrize("name", ["_raw.parquet", ".raw", "_common_metadata"])
def test_what_else_lies_in_the_folder_is_named(shop, name):
    (shop / "public" / name).write_bytes(b"PAR1 Maria Schmidt")
    found = checked(shop)
    assert failed(found) == ["folder"]
    assert repr(name) in says(found, "folder")


def test_marks_with_something_in_them_are_said_not_to_be_read(shop):
    (shop / "public" / "_SUCCESS").write_text("{}")
    found = checked(shop)
    assert found.holds
    assert says(found, "folder") == "what Spark left beside the data was not read: '_SUCCESS'"


def test_a_link_is_caught(shop):
    part = shop / "public" / "part-1.snappy.parquet"
    part.rename(shop / "elsewhere")
    os.symlink(shop / "elsewhere", part)
    with pytest.raises(InputError, match="is a link"):
        checked(shop)


def test_a_certificate_of_another_release_is_caught(shop, tmp_path_factory, monkeypatch):
    _, other, _ = by_rows(tmp_path_factory.mktemp("other"), "rt sets", monkeypatch)
    found = verify(other, shop / "public")
    assert {"file", "promise"} <= set(failed(found))
    assert says(found, "file") == "its rows are not those that were certified"


@pytest.mark.parametrize(
    ("path", "value", "check"),
    [
        (("output", "rows"), 121, "statements"),
        (("output", "empty"), 7, "statements"),
        (("output", "sha256"), "0" * 64, "file"),
        (("output", "items"), "others", "promise"),
        (("guarantee", "k"), 500, "promise"),
        (("audit", "checked"), 99, "statements"),
        (("holds",), False, "statements"),
    ],
)
def test_a_changed_certificate_is_caught(shop, path, value, check):
    content = json.loads((shop / "certificate.json").read_text())
    inner = content
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    (shop / "changed.json").write_bytes(certificate_bytes(content))
    found = verify(shop / "changed.json", shop / "public", key=shop / "board.key.pub")
    assert {"signature", check} <= set(failed(found))


def test_a_folder_without_files_is_refused(shop):
    shutil.rmtree(shop / "public")
    (shop / "public").mkdir()
    with pytest.raises(InputError, match="a folder without Parquet files"):
        checked(shop)


@pytest.mark.parametrize("data", ["table:open.visits", "hdfs:///public/clicks", "s3a://public/clicks"])
def test_what_only_spark_can_read_is_refused_with_the_remedy(shop, data):
    with pytest.raises(InputError, match=r"only Spark can read it; verify it with shoal\.spark"):
        verify(shop / "certificate.json", data)


def test_a_hash_of_another_kind_and_an_original_are_refused(shop):
    content = json.loads((shop / "certificate.json").read_text())
    content["output"]["digest"] = "of something new (shoal rows 2)"
    (shop / "changed.json").write_bytes(certificate_bytes(content))
    with pytest.raises(InputError, match="update shoal"):
        verify(shop / "changed.json", shop / "public")
    with pytest.raises(InputError, match="leave out original="):
        checked(shop, original=shop / "public")


def test_a_folder_is_no_file(shop):
    release = shoal.anonymize([["a"]] * 5, shoal.KmAnonymity(5, 2))
    release.write(shop / "a.csv")
    with pytest.raises(InputError, match="it is a folder, and the certificate is about a file"):
        verify(shop / "a.csv.certificate.json", shop / "public")


def test_the_command_tells_all_checks_of_a_folder(shop, run, monkeypatch):
    monkeypatch.chdir(shop)
    code, out, _ = run("verify", "certificate.json", "public", "--key", "board.key.pub")
    assert code == 0
    assert [line.split()[:2] for line in out.splitlines() if line.startswith("yes")] == [
        ["yes", name] for name in ("signature", "folder", "file", "promise", "statements")
    ]
    code, _, err = run("verify", "certificate.json", "table:public")
    assert code == 2
    assert "--engine spark" in err
    (shop / "public" / "_raw").touch()
    assert run("verify", "certificate.json", "public")[0] == 3
