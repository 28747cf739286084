"""Addresses of objects in stores and of files on servers, and what may be said of them.

    s3://bucket/folder/visits.parquet        gs://bucket/visits.csv        https://host/folder/visits.csv
    az://container/visits.csv                abfss://container@account.dfs.core.windows.net/visits.csv

Nothing here touches a network. No address holds credentials: stores take them from the environment, and what follows the question mark of
an https address, which may be a token, is used and never shown.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from shoal.errors import InputError

STORES = {"s3": "s3", "gs": "gs", "gcs": "gs", "az": "az", "abfs": "az", "abfss": "az"}
"""Schemes of object stores, and which of the three they are."""

SUPPORTED = (
    "s3://, gs://, az:// (abfs://, abfss://), https:// (to read), postgresql://, sqlite:, "
    "and for reading duckdb:, delta: and iceberg: are supported"
)

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)
_KNOWN = (*STORES, "https", "http")
_NOT_READ = {
    "http": "http:// sends data in the clear",
    "file": "file:// is the way of others to write the path of a file",
    **dict.fromkeys(("s3a", "s3n"), "s3a:// and s3n:// are Hadoop's names for s3://, and for Spark alone"),
    **dict.fromkeys(("hdfs", "webhdfs", "dbfs"), "hdfs:// and dbfs:// are for Spark alone"),
    **dict.fromkeys(("wasb", "wasbs", "adl"), "wasbs:// and adl:// are old names of Azure's for abfss://"),
}
"""What there is to say of some schemes that are refused."""
_HIDDEN = "***"
_ACCOUNT = re.compile(
    r"(?P<container>[a-z0-9$-]+)@(?P<account>[a-z0-9]+)\.(?:dfs|blob)\.core\.[a-z0-9.]+", re.IGNORECASE
)


@dataclass(frozen=True, repr=False)
class Remote:
    """An object in a store, or a file on a server."""

    kind: str
    """`s3`, `gs`, `az` or `https`."""
    place: str
    """The bucket or container; the host, and perhaps its port."""
    key: str
    """What it is called there; of https the path as it stands, with its percent signs."""
    account: str | None = None
    """Of Azure, where the address names it."""
    query: str = ""
    """Of https: it may hold a token."""

    def __repr__(self) -> str:
        return f"Remote({self.shown!r})"

    @property
    def name(self) -> str:
        """What messages and certificates call it: its last part."""
        last = self.key.rstrip("/").rpartition("/")[2]
        return (unquote(last) if self.kind == "https" else last) or self.place

    @property
    def path(self) -> str:
        """What Arrow calls it."""
        return f"{self.place}/{self.key}"

    @property
    def url(self) -> str:
        """Of https, the whole address: never show it."""
        return f"https://{self.place}/{self.key}{'?' if self.query else ''}{self.query}"

    @property
    def shown(self) -> str:
        """The address without what may be a token."""
        if self.account is not None:
            return f"abfss://{self.place}@{self.account}.dfs.core.windows.net/{self.key}"
        return f"{self.kind}://{self.place}/{self.key}{f'?{_HIDDEN}' if self.query else ''}"

    def beside(self, name: str) -> Remote:
        """Another object in the same folder."""
        folder = self.key.rpartition("/")[0]
        return Remote(self.kind, self.place, f"{folder}/{name}" if folder else name, self.account)

    @property
    def folder(self) -> str:
        """Where it lies, as Arrow calls it: the bucket, or a part of it."""
        return self.path.rpartition("/")[0]


def is_remote(source: Any) -> bool:
    """Whether a source is the address of an object or of a file on a server, in a scheme that is read here or refused with a word."""
    found = _SCHEME.match(source) if isinstance(source, str) else None
    return found is not None and found[1].lower() in _KNOWN


def has_scheme(source: Any) -> bool:
    """Whether a source is an address of whatever kind."""
    return isinstance(source, str) and _SCHEME.match(source) is not None


def is_elsewhere(source: Any) -> bool:
    """Whether it is fetched, or refused with a word, and no file of this machine, which may have an odd name."""
    return has_scheme(source) and (is_remote(source) or not os.path.exists(source))


def folder_of(source: str | os.PathLike[str]) -> str:
    """What relative paths in a file are relative to; empty for the current folder. Of an address the address, without a token."""
    text = os.fspath(source)
    return os.path.dirname(re.split("[?#]", text, maxsplit=1)[0] if is_elsewhere(text) else text)


def remote_of(text: str) -> Remote:
    """The parts of an address; raises for one of a kind that nothing here reads, and for one with credentials in it."""
    found = _SCHEME.match(text)
    scheme = "" if found is None else found[1].lower()
    if found is None or scheme not in (*STORES, "https"):
        what = _NOT_READ.get(scheme, "an address has a scheme that is not known")
        raise InputError(f"{what}; {SUPPORTED}, or give the path of a file")
    rest = text[found.end() :]
    if scheme == "https":
        return _https(rest)
    if "\0" in text or "\n" in text:
        raise InputError("an address holds a line break or a NUL; give it in one line")
    place, _, key = rest.partition("/")
    account = None
    if scheme in ("abfs", "abfss") and (named := _ACCOUNT.fullmatch(place)) is not None:
        place, account = named["container"], named["account"]
    if "@" in place or ":" in place:
        raise InputError(
            f"an address of {scheme}:// holds a user or a port; leave them out: credentials and the endpoint of a store "
            "come from the environment"
        )
    if "?" in key:
        raise InputError(
            f"an address of {scheme}:// takes no options after a '?'; leave them out: settings of a store come from the environment"
        )
    if not place or not key or key.endswith("/") or any(part in ("", ".", "..") for part in key.split("/")):
        what = "a folder, whose objects would be read one by one" if key.endswith("/") else "no object"
        raise InputError(
            f"an address of {scheme}:// names {what}; write {scheme}://BUCKET/FOLDER/FILE.csv, and copy a folder of Parquet files here, or "
            "read it on Spark"
        )
    return Remote(STORES[scheme], place, key, account)


def _https(rest: str) -> Remote:
    place, slash, tail = re.fullmatch(r"([^/?#]*)(/?)(.*)", rest, re.DOTALL).groups()  # type: ignore[union-attr]
    if "@" in place:
        raise InputError("an https address holds a user or a password; leave them out, because they are not sent")
    if "#" in tail or re.search(r"\s", rest):
        raise InputError("an https address holds a '#' or a blank; write %23 and %20 for them")
    path, _, query = tail.partition("?") if slash else ("", "", "")
    if not place or not path.strip("/"):
        raise InputError("an https address names no file; write https://HOST/FILE.csv")
    return Remote("https", place, quote(path, safe="/%~!$&'()*+,;=:@"), query=quote(query, safe="/?%~!$&'()*+,;=:@[]"))


def display_remote(text: str) -> str:
    """What messages call it, whether or not it is right."""
    try:
        return remote_of(text).name
    except InputError:
        return "the address"


def without_token(text: str) -> str:
    """An address as it may be shown: without what follows a question mark, and without users."""
    head, *rest = re.split("[?#]", text, maxsplit=1)
    tail = f"?{_HIDDEN}" if rest else ""
    scheme, _, where = head.partition("://")
    place, slash, key = where.partition("/")
    if STORES.get(scheme.lower()) != "az":  # where what stands before an @ is the container
        place = place.rpartition("@")[2]
    return f"{scheme}://{place}{slash}{key}{tail}"
