"""The layout that a file's name tells."""

import pytest

from shoal.errors import InputError
from shoal.records.layout import Layout, format_of, layout_for


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("clicks.dat", ("dat", None)),
        ("clicks.txt.gz", ("dat", "gz")),
        ("a.b.CSV", ("csv", None)),
        ("clicks.tsv.zst", ("tsv", "zst")),
        ("clicks.ndjson", ("jsonl", None)),
        ("clicks.jsonl.gz", ("jsonl", "gz")),
        ("clicks.parquet", ("parquet", None)),
        ("clicks.feather", ("arrow", None)),
        ("clicks.ipc", ("arrow", None)),
        ("clicks.gz", (None, "gz")),
        ("clicks", (None, None)),
    ],
)
def test_a_name_tells_format_and_compression(name, told):
    assert format_of(name) == told


def test_a_target_keeps_the_columns_of_the_input_and_takes_its_own_format():
    like = Layout("csv", items="codes", separator="|", compression="gz", delimiter=";")
    assert layout_for("out.csv", like) == Layout("csv", items="codes", separator="|", delimiter=";")
    assert layout_for("out.tsv", like) == Layout("tsv", items="codes", separator="|")
    assert layout_for("out.parquet", like) == Layout("parquet", items="codes")
    assert layout_for("-", like) == Layout("csv", items="codes", separator="|", delimiter=";")


def test_a_long_table_stays_long_only_among_delimited_files():
    like = Layout("long", items="code", id="patient", delimiter="\t")
    assert layout_for("out.csv", like) == Layout("long", items="code", id="patient")
    assert layout_for("out.tsv", like) == like
    assert layout_for("out.dat", like) == Layout("dat", items="code")


def test_bare_json_lists_get_a_column_name_in_other_formats():
    assert layout_for("out.jsonl", Layout("jsonl", items="")) == Layout("jsonl", items="")
    assert layout_for("out.csv", Layout("jsonl", items="")) == Layout("csv")


@pytest.mark.parametrize("name", ["out", "out.xlsx", "out.gz"])
def test_a_name_without_a_format_is_refused_whatever_the_input_is(name):
    for like in (None, Layout("jsonl")):
        with pytest.raises(InputError, match=rf"^{name}: .*\.parquet"):
            layout_for(name, like)


def test_formats_that_pack_themselves_are_not_packed_again():
    with pytest.raises(InputError, match=r"^out\.parquet\.gz: "):
        layout_for("out.parquet.gz")
    with pytest.raises(InputError, match="arrow packs"):
        Layout("arrow", compression="zst")


@pytest.mark.parametrize(
    "wrong", [{"format": "xml"}, {"format": "dat", "compression": "bz2"}, {"format": "csv", "separator": ""}]
)
def test_a_layout_refuses_what_it_does_not_know(wrong):
    with pytest.raises(InputError):
        Layout(**wrong)
