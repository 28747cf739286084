"""Office: how the app of one person stands behind the reverse proxy of a small office.

The proxy ends TLS and passes requests on as they came. What the app has to know of the outside is stated once, at its start: the public
address, where it listens for the proxy, and the file of the token. So no header that says where a request came from is ever believed.
One person has one app: a process, a workspace and a token of their own.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import re
import secrets
import socket
import stat
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from shoal.errors import InputError

SHORTEST = 32
"""Characters of a token: enough of them at random cannot be guessed."""
_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?")
_PREFIX = re.compile(r"(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*")
_TOKEN = re.compile(rb"[A-Za-z0-9._~-]+")


@dataclass(frozen=True)
class Front:
    """The address by which browsers reach the app: `https://` host and prefix."""

    host: str
    """With its port, unless that is the usual one."""
    prefix: str = ""
    """The folder of the app on that host, without a stroke at its end."""

    @classmethod
    def of(cls, url: str) -> Front:
        parts = urlsplit(url)
        if parts.scheme != "https":
            raise InputError(
                "the public address is not https, and passwords and data would travel in the clear; write https://HOST/PATH"
            )
        host, prefix = parts.netloc.lower().removesuffix(":443"), parts.path.rstrip("/")
        if not _HOST.fullmatch(host) or not _PREFIX.fullmatch(prefix) or parts.query or parts.fragment:
            raise InputError("the public address is more than a host and a plain path; write https://HOST/PATH")
        return cls(host, prefix)

    @property
    def origin(self) -> str:
        return f"https://{self.host}"

    @property
    def url(self) -> str:
        return f"{self.origin}{self.prefix}/"


@dataclass(frozen=True)
class Office:
    """What an app behind a proxy is told at its start."""

    front: Front
    listen: str | None = None
    """`unix:FILE`, or an address of this machine and a port; without it a port of loopback."""
    token_file: Path | None = None


def listening_at(text: str) -> socket.socket:
    """A socket that waits at `unix:FILE` or at `ADDRESS:PORT`."""
    if text.startswith("unix:"):
        return _at_file(Path(text.removeprefix("unix:")))
    host, _, port = text.rpartition(":")
    try:
        address = ipaddress.ip_address(host.strip("[]"))
        number = int(port)
        if not 0 < number < 65536:
            raise ValueError
    except ValueError:
        raise InputError(
            "the address to listen at is neither unix:FILE nor an IP address and a port, as in 127.0.0.1:8101"
        ) from None
    found = socket.socket(socket.AF_INET6 if address.version == 6 else socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return _bound(found, (str(address), number), text)


def _at_file(path: Path) -> socket.socket:
    """A Unix socket for its owner and its group, in which the proxy is. One that a killed app has left is replaced."""
    with contextlib.suppress(OSError):
        if stat.S_ISSOCK(path.stat().st_mode):
            with socket.socket(socket.AF_UNIX) as asking:
                if asking.connect_ex(str(path)):
                    path.unlink()
    found = _bound(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM), str(path), f"unix:{path}")
    path.chmod(0o660)
    return found


def _bound(found: socket.socket, place: object, text: str) -> socket.socket:
    try:
        found.bind(place)  # type: ignore[arg-type]
        found.listen(128)
    except OSError as error:
        found.close()
        raise InputError(f"{text}: nobody can listen there ({error.strerror}); name another place") from None
    return found


def token_in(path: Path) -> str:
    """The token in a file for its owner alone, which is made where there is none yet."""
    try:
        with contextlib.suppress(FileExistsError):
            number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(number, "w") as file:
                file.write(secrets.token_urlsafe(32) + "\n")
        with path.open("rb") as held:
            if os.fstat(held.fileno()).st_mode & 0o077:
                raise InputError(f"{path}: others may read the token; give it to its owner alone (chmod 600)")
            token = held.read(4096).strip()
    except OSError as error:
        raise InputError(f"{path}: the token cannot be kept there ({error.strerror}); name another file") from None
    if len(token) < SHORTEST or not _TOKEN.fullmatch(token):
        raise InputError(
            f"{path}: it holds no token of {SHORTEST} letters and digits or more; delete it, and a new one is made"
        )
    return token.decode()
