"""An object store for tests: as much of S3 as Arrow speaks, in memory, on a free port of the loopback interface.

Signatures are not checked, but there must be one: who asks without credentials is refused. `before` is called with each request
(method, bucket, key) before it is answered, so that a test can change an object, refuse, or hang up in the middle of a publication.
"""

from __future__ import annotations

import hashlib
import io
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, BinaryIO
from urllib.parse import parse_qs, unquote, urlsplit
from xml.etree import ElementTree
from xml.sax.saxutils import escape

_XML = '<?xml version="1.0" encoding="UTF-8"?>'
_TIME = "2024-01-01T00:00:00.000Z"


class Refused(Exception):  # noqa: N818 - reads as what it says
    """Raised in `before`: the request is answered with this status and code."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(code)
        self.status, self.code = status, code


class HungUp(Exception):  # noqa: N818 - reads as what it says
    """Raised in `before`: the connection ends without an answer."""


@dataclass
class Store:
    """Buckets with their objects, and all that was asked of them."""

    port: int
    buckets: dict[str, dict[str, bytes]]
    before: Callable[[str, str, str], None] = lambda method, bucket, key: None
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    uploads: dict[str, dict[int, bytes]] = field(default_factory=dict)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def names(self, bucket: str = "lake") -> list[str]:
        """The objects of a bucket, without the marks of empty folders."""
        return sorted(key for key in self.buckets[bucket] if not key.endswith("/"))


@contextmanager
def object_server(*buckets: str) -> Iterator[Store]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    store = Store(server.server_address[1], {name: {} for name in buckets})
    server.store = store  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield store
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _etag(data: bytes) -> str:
    return f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'


def _unchunked(file: BinaryIO) -> bytes:
    found = b""
    while size := int(file.readline().partition(b";")[0], 16):
        found += file.read(size)
        file.readline()
    while file.readline().strip():  # trailers
        pass
    return found


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Any

    def log_message(self, *_: Any) -> None:
        pass

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except (HungUp, ConnectionError):
            self.close_connection = True

    def _answer(self) -> None:
        store: Store = self.server.store
        parts = urlsplit(self.path)
        bucket, _, key = unquote(parts.path).lstrip("/").partition("/")
        query = {name: values[0] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
        body = self._body()
        store.asked.append((self.command, bucket, key))
        try:
            store.before(self.command, bucket, key)
            if not self.headers.get("Authorization"):
                raise Refused(403, "AccessDenied")
            if bucket not in store.buckets:
                raise Refused(404, "NoSuchBucket")
            getattr(self, f"_{self.command.lower()}")(store, store.buckets[bucket], key, query, body)
        except Refused as refused:
            self._send(
                refused.status, f"{_XML}<Error><Code>{refused.code}</Code><Message>no</Message></Error>".encode()
            )

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _answer  # noqa: N815

    def _body(self) -> bytes:
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Transfer-Encoding") == "chunked":
            data = _unchunked(self.rfile)
        return _unchunked(io.BytesIO(data)) if "aws-chunked" in self.headers.get("Content-Encoding", "") else data

    def _send(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        # In one piece: a client that waits for the second one waits long.
        self._headers_buffer.append(b"\r\n" + (b"" if self.command == "HEAD" else body))  # type: ignore[attr-defined]
        self.flush_headers()

    def _object(self, objects: dict[str, bytes], key: str) -> bytes:
        if key not in objects:
            raise Refused(404, "NoSuchKey")
        return objects[key]

    def _head(self, store: Store, objects: dict[str, bytes], key: str, query: dict[str, str], body: bytes) -> None:
        data = b"" if not key else self._object(objects, key)
        self._send(200, b"", Content_Length=str(len(data)), ETag=_etag(data), Last_Modified=formatdate(0, usegmt=True))

    def _get(self, store: Store, objects: dict[str, bytes], key: str, query: dict[str, str], body: bytes) -> None:
        if not key:
            self._send(200, self._listing(objects, query))
            return
        data, status, more = self._object(objects, key), 200, {}
        etag = _etag(data)
        if (asked := self.headers.get("Range")) is not None:
            first, _, last = asked.removeprefix("bytes=").partition("-")
            start, stop = int(first), min(int(last or len(data)), len(data) - 1)
            status, more = 206, {"Content_Range": f"bytes {start}-{stop}/{len(data)}"}
            data = data[start : stop + 1]
        self._send(status, data, ETag=etag, Last_Modified=formatdate(0, usegmt=True), **more)

    def _listing(self, objects: dict[str, bytes], query: dict[str, str]) -> bytes:
        prefix, mark = query.get("prefix", ""), query.get("delimiter", "")
        keys, folders = [], set()
        for key in sorted(key for key in objects if key.startswith(prefix)):
            head, found, _ = key[len(prefix) :].partition(mark) if mark else (key, "", "")
            if found:
                folders.add(prefix + head + mark)
            else:
                keys.append(key)
        most = int(query.get("max-keys", 1000))
        contents = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>{_TIME}</LastModified><ETag>{escape(_etag(objects[key]))}</ETag>"
            f"<Size>{len(objects[key])}</Size></Contents>"
            for key in keys[:most]
        ) + "".join(f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>" for name in sorted(folders))
        count = len(keys[:most]) + len(folders)
        return (
            f"{_XML}<ListBucketResult><Prefix>{escape(prefix)}</Prefix><KeyCount>{count}</KeyCount><MaxKeys>{most}</MaxKeys>"
            f"<IsTruncated>false</IsTruncated>{contents}</ListBucketResult>"
        ).encode()

    def _put(self, store: Store, objects: dict[str, bytes], key: str, query: dict[str, str], body: bytes) -> None:
        if (source := self.headers.get("x-amz-copy-source")) is not None:
            bucket, _, name = unquote(source).lstrip("/").partition("/")
            objects[key] = self._object(store.buckets[bucket], name)
            tag = escape(_etag(objects[key]))
            answer = f"<CopyObjectResult><LastModified>{_TIME}</LastModified><ETag>{tag}</ETag></CopyObjectResult>"
            self._send(200, (_XML + answer).encode())
            return
        if "uploadId" in query:
            store.uploads[query["uploadId"]][int(query["partNumber"])] = body
        else:
            objects[key] = body
        self._send(200, ETag=_etag(body))

    def _post(self, store: Store, objects: dict[str, bytes], key: str, query: dict[str, str], body: bytes) -> None:
        if "delete" in query:
            for node in ElementTree.fromstring(body).iter():
                if node.tag.endswith("Key"):
                    objects.pop(node.text or "", None)
            self._send(200, f"{_XML}<DeleteResult></DeleteResult>".encode())
        elif "uploads" in query:
            number = f"upload-{len(store.uploads) + 1}"
            store.uploads[number] = {}
            self._send(
                200,
                f"{_XML}<InitiateMultipartUploadResult><UploadId>{number}</UploadId></InitiateMultipartUploadResult>".encode(),
            )
        else:
            parts = store.uploads.pop(query["uploadId"])
            objects[key] = b"".join(parts[number] for number in sorted(parts))
            tag = escape(_etag(objects[key]))
            self._send(
                200, f"{_XML}<CompleteMultipartUploadResult><ETag>{tag}</ETag></CompleteMultipartUploadResult>".encode()
            )

    def _delete(self, store: Store, objects: dict[str, bytes], key: str, query: dict[str, str], body: bytes) -> None:
        if "uploadId" in query:
            store.uploads.pop(query["uploadId"], None)
        else:
            objects.pop(key, None)
        self._send(204)
