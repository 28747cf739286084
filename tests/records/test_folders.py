"""Folders of Parquet files: read as one table, the same files as Spark's, and refused where that is not plain."""

from __future__ import annotations

import os

import pyarrow as pa
import pytest
from pyarrow import parquet

import shoal
from shoal import InputError
from shoal.records.formats.folders import Entry, beside, data_files, entries_of
from shoal.records.formats.peek import column_names
from shoal.records.source import load_records, load_sets


@pytest.fixture
def folder(tmp_path):
    """As Spark writes it: two files, marks, checksums."""
    home = tmp_path / "public"
    home.mkdir()
    for name, rows in (("part-1.snappy.parquet", [["c"], []]), ("part-0.snappy.parquet", [["a", "b"], None, ["b"]])):
        parquet.write_table(pa.table({"items": pa.array(rows, pa.list_(pa.string()))}), home / name)
        size = (home / name).stat().st_size
        (home / f".{name}.crc").write_bytes(bytes(8 + 4 * -(-size // 512)))
    (home / "_SUCCESS").touch()
    (home / "._SUCCESS.crc").write_bytes(bytes(8))
    return home


def rows_of(folder):
    return list(map(sorted, shoal.read(folder)))


def test_files_are_read_one_after_the_other_by_name(folder):
    assert rows_of(folder) == [["a", "b"], [], ["b"], ["c"], []]
    assert rows_of(f"{folder}/") == rows_of(folder)
    assert column_names(folder) == ["items"]
    source = load_sets(folder)
    assert (source.name, source.layout.format) == ("public", "parquet")
    assert load_sets(f"{folder}/").sha256 == source.sha256
    assert shoal.audit(folder, shoal.KmAnonymity(1, 2)).holds


def test_tables_are_read_with_their_roles(tmp_path):
    for i in range(2):
        table = pa.table({"age": ["1", None], "items": [["a"], []]})
        parquet.write_table(table, tmp_path / f"{i}")
    records = load_records(tmp_path, quasi="age", items="items").records
    assert records["age"].texts() == ["1", "", "1", ""]


def test_the_hash_is_of_names_and_bytes_of_the_data_alone(folder):
    before = load_sets(folder).sha256
    (folder / ".hidden").write_text("other")
    assert load_sets(folder).sha256 == before
    (folder / "part-1.snappy.parquet").rename(folder / "part-2.snappy.parquet")
    assert load_sets(folder).sha256 != before


@pytest.mark.parametrize(
    "name", ["_raw.parquet", ".raw.parquet", "x.parquet._COPYING_", "_metadata", "_common_metadata"]
)
def test_what_spark_does_not_read_is_not_read(folder, name):
    parquet.write_table(pa.table({"items": [["secret"]]}), folder / name)
    assert rows_of(folder) == [["a", "b"], [], ["b"], ["c"], []]
    assert beside(entries_of(folder)).strange == (name,)


@pytest.mark.parametrize("name", ["more", "more.bin", "_a=b", "part-2.parquet.crc"])
def test_what_spark_reads_is_read_whatever_its_name(folder, name):
    parquet.write_table(pa.table({"items": [["more"]]}), folder / name)
    assert ["more"] in rows_of(folder)


def refusal(folder, **how):
    with pytest.raises(InputError) as caught:
        shoal.read(folder, **how)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_folder_without_parquet_files_is_named(tmp_path):
    assert "it is a folder without Parquet files" in refusal(tmp_path)
    (tmp_path / "_SUCCESS").touch()
    assert "it is a folder without Parquet files" in refusal(tmp_path)


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1junkPAR1", b"items\na\n"])
def test_a_broken_file_is_named(folder, data):
    (folder / "part-2.parquet").write_bytes(data)
    assert refusal(folder).startswith("public/part-2.parquet: it is not readable as Parquet")


def test_a_file_cut_short_is_named(folder):
    file = folder / "part-1.snappy.parquet"
    file.write_bytes(file.read_bytes()[:-7])
    assert refusal(folder).startswith("public/part-1.snappy.parquet: it is not readable as Parquet")


def test_a_link_is_refused_wherever_it_leads(folder, tmp_path):
    parquet.write_table(pa.table({"items": [["elsewhere"]]}), tmp_path / "elsewhere.parquet")
    os.symlink(tmp_path / "elsewhere.parquet", folder / "part-2.parquet")
    assert refusal(folder) == "public: 'part-2.parquet' in it is a link; put the file itself there"
    (folder / "part-2.parquet").unlink()
    os.symlink(folder, tmp_path / "alias")  # the folder itself may be named in any way
    assert rows_of(tmp_path / "alias") == rows_of(folder)


def test_what_is_no_plain_file_is_refused(folder):
    os.mkfifo(folder / "pipe")
    assert "is not a plain file" in refusal(folder)


@pytest.mark.parametrize("name", ["year=2020", "more"])
def test_a_folder_within_is_refused(folder, name):
    (folder / name).mkdir()
    assert f"there is a folder in it, {name!r}" in refusal(folder)


@pytest.mark.parametrize(("name", "kind"), [("_delta_log", "Delta"), (".hoodie", "Hudi")])
def test_table_formats_over_files_are_refused(folder, name, kind):
    (folder / name).mkdir()
    assert f"it is a {kind} table" in refusal(folder)


def test_a_file_with_another_column_is_refused(folder):
    parquet.write_table(pa.table({"items": [["a"]], "name": ["Maria"]}), folder / "part-2.parquet")
    assert "part-2.parquet has other columns ('items', 'name') than part-0.snappy.parquet ('items')" in refusal(folder)


def test_a_folder_is_read_as_parquet_alone(folder):
    for form in ("dat", "csv", "jsonl", "arrow"):
        assert refusal(folder, format=form) == "public: it is a folder; name a file in it"


def test_marks_and_checksums_are_no_strangers(folder):
    assert beside(entries_of(folder)) == beside(())
    (folder / "_SUCCESS").write_text("{}")  # as the committers of object stores write it
    (folder / "_committed_123").write_text("{}")
    (folder / "_started_123").touch()
    assert beside(entries_of(folder)).marks == ("_SUCCESS", "_committed_123")
    assert not beside(entries_of(folder)).strange


@pytest.mark.parametrize("name", [".part-0.snappy.parquet.crc", ".nothing.crc", "_SUCCESS_", "_temporary"])
def test_other_data_does_not_pass_for_marks(folder, name):
    (folder / name).write_bytes(bytes(10_000))
    assert beside(entries_of(folder)).strange == (name,)


def test_hidden_folders_and_links_are_strangers():
    entries = [Entry("a.parquet", "file", 9), Entry("_SUCCESS", "link"), Entry(".old", "folder")]
    assert data_files(entries, "x") == ("a.parquet",)
    assert beside(entries).strange == (".old", "_SUCCESS")
