"""Addresses of objects and of files on servers: what they are, what is shown of them, and what is refused."""

import pytest

import shoal
from shoal.errors import InputError
from shoal.records.database.address import is_address, without_password
from shoal.records.storage.streams import display_name
from shoal.records.stores.remote import is_remote, remote_of
from shoal.records.stores.store import opened_store


@pytest.mark.parametrize(
    ("text", "kind", "place", "key", "shown"),
    [
        ("s3://lake/a/b.csv", "s3", "lake", "a/b.csv", "s3://lake/a/b.csv"),
        ("S3://lake/b c.csv", "s3", "lake", "b c.csv", "s3://lake/b c.csv"),
        ("gs://lake/b.csv", "gs", "lake", "b.csv", "gs://lake/b.csv"),
        ("gcs://lake/b.csv", "gs", "lake", "b.csv", "gs://lake/b.csv"),
        ("az://box/b.csv", "az", "box", "b.csv", "az://box/b.csv"),
        (
            "abfss://box@acc.dfs.core.windows.net/b.csv",
            "az",
            "box",
            "b.csv",
            "abfss://box@acc.dfs.core.windows.net/b.csv",
        ),
        ("https://host:8443/a/b.csv?sig=abc/def", "https", "host:8443", "a/b.csv", "https://host:8443/a/b.csv?***"),
    ],
)
def test_an_address_has_a_kind_a_place_and_a_key(text, kind, place, key, shown):
    found = remote_of(text)
    assert (found.kind, found.place, found.key, found.shown) == (kind, place, key, shown)
    assert is_remote(text)
    assert not is_address(text)
    assert display_name(text) == key.rpartition("/")[2]
    assert remote_of(found.shown).shown == found.shown


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("hdfs://host/b.csv", "for Spark alone"),
        ("http://host/b.csv", "in the clear"),
        ("s3://lake", "names no object"),
        ("s3://lake/folder/", "names a folder"),
        ("s3://lake/a/../b.csv", "names no object"),
        ("s3://key:s3cret@lake/b.csv", "a user or a port"),
        ("s3://lake/b.csv?versionId=s3cret", "no options"),
        ("https://who:s3cret@host/b.csv", "a user or a password"),
        ("https://host/b.csv#s3cret", "%23"),
        ("https://host", "names no file"),
    ],
)
def test_an_address_that_cannot_be_read_is_refused_in_one_sentence_without_its_secrets(text, word):
    with pytest.raises(InputError, match=word) as refusal:
        shoal.read(text)
    assert "s3cret" not in str(refusal.value)
    assert "s3cret" not in without_password(text)


def test_an_unknown_scheme_is_answered_with_what_is_supported():
    with pytest.raises(
        InputError, match=r"s3://, gs://, az:// .*https:// .*postgresql://, sqlite:, .*duckdb:, delta: and iceberg:"
    ):
        shoal.read("hdfs://host/b.csv")


def test_an_azure_address_needs_an_account(monkeypatch):
    for name in ("AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(InputError, match="AZURE_STORAGE_ACCOUNT"):
        opened_store(remote_of("az://box/b.csv"))


def test_google_and_azure_are_opened_by_the_same_code(monkeypatch):
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://127.0.0.1:9")
    assert opened_store(remote_of("gs://lake/b.csv")).type_name == "gcs"
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT", "acc")
    monkeypatch.setenv("AZURE_STORAGE_KEY", "a2V5")
    assert opened_store(remote_of("az://box/b.csv")).type_name == "abfs"


@pytest.mark.parametrize("endpoint", ["127.0.0.1:9000", "ftp://host", "http://who:s3cret@host"])
def test_an_endpoint_that_is_no_address_is_named(monkeypatch, endpoint):
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    with pytest.raises(InputError, match="AWS_ENDPOINT_URL") as refusal:
        shoal.read("s3://lake/b.csv")
    assert "s3cret" not in str(refusal.value)
