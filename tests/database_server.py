"""A PostgreSQL server for tests: its own data folder, a free port of the loopback interface, gone when the tests are.

The programs are those of Debian's package or of the PATH. PostgreSQL refuses to run as root: then it runs as `postgres`, or as `nobody`.
"""

from __future__ import annotations

import contextlib
import glob
import os
import pwd
import shlex
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PASSWORD = "s3cret-of-the-tests"
USER = "shoal"
_ATTEMPTS = 3


@dataclass(frozen=True)
class Server:
    """A running server whose only way in is a password."""

    port: int
    process: int
    """Of the postmaster."""

    def address(self, table: str | None = None, *, password: str | None = PASSWORD, database: str = "postgres") -> str:
        secret = f":{password}" if password else ""
        asked = f"?table={table}" if table else ""
        return f"postgresql://{USER}{secret}@127.0.0.1:{self.port}/{database}{asked}"


class NoServerError(Exception):
    """Why there is no server here."""


def programs() -> Path:
    """The folder with `initdb` and `postgres`, the newest of Debian's first."""
    folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: float(Path(path).parent.name))
    found = [Path(folder) for folder in reversed(folders) if os.access(Path(folder) / "initdb", os.X_OK)]
    if found:
        return found[0]
    if initdb := shutil.which("initdb"):
        return Path(initdb).parent
    raise NoServerError("PostgreSQL is not installed; apt-get install postgresql, then these tests run as well")


@contextlib.contextmanager
def running_server() -> Iterator[Server]:
    """A server until the block ends."""
    bin = programs()
    folder = Path(tempfile.mkdtemp(prefix="shoal-postgres-", dir="/tmp" if os.path.isdir("/tmp") else None))
    try:
        account = _account()
        (folder / "password").write_text(PASSWORD)
        if account is not None:
            for path in (folder, folder / "password"):
                os.chown(path, account.pw_uid, account.pw_gid)
        _run(
            f"{bin}/initdb -D {folder}/data -U {USER} --auth=scram-sha-256 --no-sync --no-locale --encoding=UTF8 "
            f"--pwfile={folder}/password",
            account,
            folder,
        )
        port = _started(bin, folder, account)
        process = int((folder / "data" / "postmaster.pid").read_text().split()[0])
        try:
            yield Server(port, process)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, 0)
                _run(f"{bin}/pg_ctl -D {folder}/data -m immediate -w stop", account, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _started(bin: Path, folder: Path, account: pwd.struct_passwd | None) -> int:
    """Starts the server on a port that is free; another process may take it first, so it is tried again."""
    options = "-c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off -c shared_buffers=16MB -c max_connections=20"
    for attempt in range(_ATTEMPTS):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        try:
            _run(
                f'{bin}/pg_ctl -D {folder}/data -l {folder}/data/server.log -w -o "{options} -p {port}" start',
                account,
                folder,
            )
        except NoServerError:
            if attempt == _ATTEMPTS - 1:
                raise
        else:
            return int(port)
    raise AssertionError


def _account() -> pwd.struct_passwd | None:
    """Who runs the server: whoever runs the tests, unless that is root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise NoServerError("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")


def _run(command: str, account: pwd.struct_passwd | None, folder: Path) -> None:
    who = {} if account is None else {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    done = subprocess.run(
        shlex.split(command),
        cwd=folder,
        env=environment | {"HOME": str(folder), "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,  # the server keeps it open: a pipe would never end
        stderr=subprocess.DEVNULL,
        timeout=120,
        **who,
    )
    if done.returncode:
        log = folder / "data" / "server.log"
        says = log.read_text().strip().splitlines()[-1:] if log.is_file() else []
        raise NoServerError(
            f"PostgreSQL does not start here ({Path(command.split()[0]).name}: {' '.join(says) or 'no reason'})"
        )
