"""Copies of objects: what a store or a server has, brought to this machine once, and read here like any file.

A copy is one state of an object: where the store says that it changed meanwhile, it is refused. It has no name, where the system lets an
open file be read without one, so that it goes away with the process, however that ends. Inside `one_copy`, the same address is
fetched once: what is looked at, hashed and audited is then one and the same.
"""

from __future__ import annotations

import contextlib
import ssl
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from typing import IO, Any, BinaryIO

from shoal.errors import InputError, Unavailable, option
from shoal.limits import input_limit, shown_size
from shoal.records.stores.once import disk_errors, held_copy, private_file
from shoal.records.stores.remote import Remote, remote_of
from shoal.records.stores.store import opened_store, store_faults

_PIECE = 1 << 20
_WAIT = 60  # seconds without a byte
_REDIRECTIONS = 5
_CHANGED = "{name}: it was changed while it was read; read it when nothing writes to it"


class Copy:
    """What an address stood for, in a file of this machine that is gone when it is closed."""

    def __init__(self, text: str) -> None:
        remote = remote_of(text)
        self.name = remote.name
        self._stack = contextlib.ExitStack()
        try:
            self.path = self._fetched(remote)
        except BaseException:
            self._stack.close()
            raise

    def _fetched(self, remote: Remote) -> str:
        path, file = private_file(self._stack, remote.name)
        fetch = _fetch_page if remote.kind == "https" else _fetch_object
        fetch(remote, file)
        with disk_errors(remote.name):
            file.flush()
        return path

    def close(self) -> None:
        self._stack.close()


def copy_of(text: str) -> tuple[Copy, Callable[[], None]]:
    """The copy of an address, and what to call when it is read."""
    return held_copy(text, lambda: Copy(text))


def _fetch_object(remote: Remote, file: BinaryIO) -> None:
    store = opened_store(remote)
    with store_faults(remote):
        try:
            stream = store.open_input_stream(remote.path, compression=None)
        except FileNotFoundError:
            if not _is_there(store, remote.place):
                raise Unavailable(f"{remote.name}: there is no bucket {remote.place!r}; check its name") from None
            raise
        with stream:
            before = _state(stream)
            _pour(stream.read, file, remote.name)
        with store.open_input_stream(remote.path, compression=None) as again:
            if _state(again) != before or (before[0] is not None and before[0] != str(file.tell())):
                raise InputError(_CHANGED.format(name=remote.name))


def _is_there(store: Any, bucket: str) -> bool:
    from pyarrow import fs

    with contextlib.suppress(OSError):  # who may not look at the bucket may still read in it
        return bool(store.get_file_info(bucket).type != fs.FileType.NotFound)
    return True


def _state(stream: Any) -> tuple[str | None, ...]:
    """What tells one state of an object from the next: its size and its tag."""
    found = {name.lower(): value.decode() for name, value in (stream.metadata() or {}).items()}
    size = found.get("content-length") or found.get("size")
    return size or str(stream.size()), *(
        found.get(name) for name in ("etag", "generation", "version-id", "last-modified")
    )


def _pour(read: Callable[[int], bytes], file: BinaryIO, name: str, most: int | None = None) -> None:
    taken = 0
    while piece := read(_PIECE):
        taken += len(piece)
        if most is not None and taken > most:
            raise _too_large(name, most)
        with disk_errors(name):
            file.write(piece)


def _too_large(name: str, most: int) -> InputError:
    return InputError(
        f"{name}: it has more than {shown_size(most)}, which is the input limit; check that it is the right file, "
        f"or raise {option('input_limit')} if you trust it"
    )


class _OnlyHttps(urllib.request.HTTPRedirectHandler):
    """Goes on to other https addresses alone, and not for ever."""

    max_redirections = _REDIRECTIONS

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        if not newurl.lower().startswith("https://"):
            raise _RedirectedError
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class _RedirectedError(Exception):
    pass


def _fetch_page(remote: Remote, file: BinaryIO) -> None:
    """A file from a server: no credentials, no cookies, at most so many bytes as the input limit says."""
    most, name = input_limit(), remote.name
    secure = urllib.request.HTTPSHandler(context=ssl.create_default_context())
    asking = urllib.request.Request(remote.url, headers={"User-Agent": "shoal", "Accept-Encoding": "identity"})
    try:
        with urllib.request.build_opener(secure, _OnlyHttps).open(asking, timeout=_WAIT) as answer:
            said = answer.headers.get("Content-Length")
            size = int(said) if said is not None and said.isdecimal() else None
            if size is not None and size > most:
                raise _too_large(name, most)
            _pour(answer.read, file, name, most)
            if size is not None and file.tell() != size:
                raise Unavailable(f"{name}: the connection was lost before all of it had come; try again")
    except _RedirectedError:
        raise InputError(
            f"{name}: the server sends on to an address that is not https; ask for an address that is"
        ) from None
    except urllib.error.HTTPError as error:
        error.close()
        raise Unavailable(f"{name}: {_said(error.code)}") from None
    except InputError:
        raise
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "reason", error)
        why = (
            "its certificate is not one that this machine trusts; check the host, or name its authority in SSL_CERT_FILE"
            if isinstance(reason, ssl.SSLCertVerificationError)
            else "the server cannot be reached, or hung up; check host and network, and try again"
        )
        raise Unavailable(f"{name}: {why}") from None


def _said(code: int) -> str:
    if code in (401, 403):
        return f"the server does not let you in ({code}); check that the address is complete, and its token, if it has one, still good"
    if code in (404, 410):
        return f"the server has no such file ({code}); check the address"
    if 300 <= code < 400:
        return f"the server sends on and on, or nowhere ({code}); ask for another address"
    return f"the server refuses ({code}); try again later, or check the address"
