"""The ledger of a series: what its owner keeps between releases, in one file of mode 0600.

    with turn_at("ledger.json"):                         # one run at a time; another one is told to wait
        ledger = read_ledger("ledger.json")              # None where no series has begun; settles an interrupted run first
        ledger = ledger or Ledger.first("ledger.json", "batches", promise, wait=4)
        ledger.find(sha256)                              # the entry of an input that was seen before: the run is a repetition
        ledger = ledger.with_entry(entry, state)         # pure: a ledger that knows one run more
        staged.write(ledger.to_bytes())                  # a private, revised file of the Publication that holds data and certificate

Two parts: `entries` (one for each run, in the clear: counts, names of outputs, hashes) and `state` (JSON of whatever kind the series
is: for batches the tree, the cut and the rows that wait; for snapshots what each person's releases held). The state is the data's own
words, so on disk it is sealed with AES-256-GCM under a key that is derived from the owner's. Where the `cryptography` library is not
installed, a state stands in the clear and must then hold nothing but references (`can_seal`): whoever makes it sees to that.

All of it is authenticated under the owner's key, which is checked before anything is parsed: a changed, damaged or foreign ledger is
refused. That an old one was put back is found out by `check_current`: the last output is not what the ledger says, or a certificate
beside the target speaks of a later release of this series.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import json
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from shoal.certificate.owner import hmac_of, key_id, key_path, owner_key
from shoal.errors import InputError
from shoal.limits import read_fixed
from shoal.options import File as Path
from shoal.records.storage.journal import settle
from shoal.records.storage.publication import Publication, display_name
from shoal.records.storage.streams import reading_errors

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


FORMAT = "shoal ledger 1"
KINDS = ("batches", "snapshots")
_LARGEST = 1 << 30
"""Bytes of a ledger, and of its state when it is unpacked: hundreds of millions of waiting occurrences."""
_PENDING = "pending"
"""The part of a state that holds what will be, once the data have their name."""
_CERTIFICATE = 1 << 20
_LOOKED = 10_000
"""Certificates that are looked through for a later release of the series."""


@dataclass(frozen=True)
class Entry:
    """One run that the ledger knows of."""

    input: str
    """The keyed hash of what was read."""
    read: int
    """Rows that were read."""
    release: int = 0
    """Which release of the series it made, from 1; 0 where nothing could be published yet."""
    rows: int = 0
    """Rows that were published."""
    waiting: int = 0
    """Rows that wait since then."""
    output: str | None = None
    """Where the data went, as they are found again from any folder; without a password."""
    output_sha256: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    """What the kind of the series adds, for the owner: what is kept, ages, the version of the cut."""


@dataclass(frozen=True)
class Ledger:
    """A series so far. Immutable: `with_entry` makes the next one."""

    id: str
    """Tells series of an owner apart, in certificates too; it follows from the owner's key and the place where the series began."""
    kind: str
    promise: Mapping[str, Any]
    wait: int
    entries: tuple[Entry, ...] = ()
    state: Mapping[str, Any] = field(default_factory=dict, repr=False)
    on_disk: str | None = None
    """The hash of the file that it was read from, if it was: nobody else may have gone on with the series meanwhile."""

    @classmethod
    def first(cls, path: Path, kind: str, promise: Mapping[str, Any], wait: int) -> Ledger:
        place = hashlib.sha256(b"shoal series" + os.fsencode(os.path.realpath(path))).hexdigest()
        return cls(hmac_of(place, key_of(path))[:16], kind, dict(promise), wait)

    @property
    def releases(self) -> int:
        """How many releases the series has."""
        return max((entry.release for entry in self.entries), default=0)

    @property
    def pending(self) -> Mapping[str, Any] | None:
        """The run that `announce` spoke of, and that did not come to say whether its data got their name."""
        pending: Mapping[str, Any] | None = self.state.get(_PENDING)
        return pending

    @property
    def is_begun(self) -> bool:
        """Whether anything was read for it."""
        return bool(self.entries) or self.pending is not None

    @property
    def engine(self) -> str | None:
        """By what it is published; None for this machine."""
        facts = self.entries[-1].facts if self.entries else (self.pending or {"entry": {"facts": {}}})["entry"]["facts"]
        return facts.get("engine")

    def after_pending(self, is_out: bool) -> Ledger:
        """The ledger without its pending run, which is an entry now if its data are out."""
        pending = self.state[_PENDING]
        rest = replace(self, state={name: part for name, part in self.state.items() if name != _PENDING})
        return rest.with_entry(Entry(**pending["entry"]), pending["state"]) if is_out else rest

    def keyed_hash(self, sha256: str) -> str:
        """What an entry says of a plain hash of an input."""
        return hmac_of(sha256, key_of(self.id))

    def find(self, sha256: str) -> Entry | None:
        """The entry of an input of this plain hash, if it was read before."""
        keyed = self.keyed_hash(sha256)
        return next((entry for entry in self.entries if entry.input == keyed), None)

    def with_entry(self, entry: Entry, state: Mapping[str, Any]) -> Ledger:
        return replace(self, entries=(*self.entries, entry), state=dict(state))

    def written_to(self, output: str | None, sha256: str, reading: Mapping[str, str]) -> Ledger:
        """The same, where its last entry knows where its release went, and what a reader of it must be told."""
        last = self.entries[-1]
        last = replace(last, output=output, output_sha256=sha256, facts={**last.facts, "reading": dict(reading)})
        return replace(self, entries=(*self.entries[:-1], last))

    def to_bytes(self) -> bytes:
        """The ledger as its file holds it."""
        key = key_of(self.id)
        told = {"id": self.id, "kind": self.kind, "promise": self.promise, "wait": self.wait}
        told["entries"] = [asdict(entry) for entry in self.entries]
        state = json.dumps(self.state, separators=(",", ":"))
        if can_seal():
            told["sealed"] = _sealed(state.encode(), key, self.id)
        else:
            told["state"] = self.state
        body = json.dumps(told, indent=1).encode()
        head = {"ledger": FORMAT, "for": "the owner; do not publish", "key_id": key_id(key), "hmac": _mac(body, key)}
        return json.dumps(head).encode() + b"\n" + body


def read_ledger(path: Path) -> Ledger | None:
    """The ledger at a path; None where there is none. What an interrupted run left is settled first.

    Raises:
        InputError: It is not a ledger, it was changed since it was written, or it is that of another owner.
    """
    settle(path)
    name = display_name(path)
    try:
        os.lstat(path)
    except FileNotFoundError:
        return None
    with reading_errors(path), open(path, "rb") as file:
        content = read_fixed(file, name, _LARGEST, "a ledger")
    head, _, body = content.partition(b"\n")
    try:
        said = json.loads(head) if len(head) < 1024 else None
    except ValueError:
        said = None
    if not isinstance(said, dict) or not isinstance(said.get("ledger"), str):
        raise InputError(
            f"{name}: it is not the ledger of a series; name another file, or put back the ledger from a backup"
        )
    if said["ledger"] != FORMAT:
        raise InputError(f"{name}: it is a ledger of another version of Shoal; use that version, or a newer one")
    key = key_of(path)
    if said.get("key_id") != key_id(key):
        raise InputError(
            f"{name}: it was written under another owner's key than {key_path()}; name the key that it was written under in SHOAL_KEY"
        )
    if not hmac.compare_digest(str(said.get("hmac", "")).encode(), _mac(body, key).encode()):
        raise InputError(f"{name}: it was changed or damaged since Shoal wrote it; put it back from a backup")
    told = json.loads(body)  # ours: nobody else can have written it
    state = json.loads(_opened(told["sealed"], key, told["id"], name)) if "sealed" in told else told["state"]
    entries = tuple(Entry(**entry) for entry in told["entries"])
    digest = hashlib.sha256(content).hexdigest()
    return Ledger(told["id"], told["kind"], told["promise"], told["wait"], entries, state, digest)


def write_ledger(path: Path, ledger: Ledger) -> None:
    """The ledger alone, whole or as it was."""
    with Publication([path], revised=[path]) as publication, publication.file(path, private=True) as file:
        file.write(ledger.to_bytes())


def announce(path: Path, then: Ledger, certificate: str | None) -> None:
    """Says in the ledger what it will be when the data of its last entry have their name, where both cannot happen in one step.

    Whoever reads it next looks whether they have (`Ledger.pending`), and settles it.
    """
    before = read_ledger(path)
    pending = {"entry": asdict(then.entries[-1]), "state": then.state, "certificate": certificate}
    state = {**({} if before is None else before.state), _PENDING: pending}
    write_ledger(path, replace(then, entries=then.entries[:-1], state=state))


def was_read(path: Path, sha256: str) -> bool:
    """Whether the series at a path knows an input of this plain hash."""
    ledger = read_ledger(path)
    return ledger is not None and ledger.find(sha256) is not None


def key_of(what: Path) -> bytes:
    """The owner's key, without which there is no series."""
    key = owner_key()
    if key is None:
        raise InputError(
            f"{display_name(what)}: a series needs your key, and {key_path()} can neither be read nor made; name a file for it in SHOAL_KEY"
        )
    return key


def person_marks(names: Sequence[str], key: bytes) -> list[str]:
    """What a state says of people instead of their names: hashes under the owner's key."""
    return [hmac.new(key, b"person" + name.encode(), hashlib.sha256).hexdigest()[:32] for name in names]


def can_seal() -> bool:
    """Whether the library is there that seals what the state of a ledger holds."""
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: F401
    except ImportError:
        return False
    return True


def _sealed(text: bytes, key: bytes, id: str) -> dict[str, str]:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = os.urandom(12)
    sealed = AESGCM(_derived(key, b"seal")).encrypt(nonce, zlib.compress(text, 6), id.encode())
    return {"cipher": "AES-256-GCM", "nonce": nonce.hex(), "text": base64.b64encode(sealed).decode()}


def _opened(sealed: Mapping[str, str], key: bytes, id: str, name: str) -> bytes:
    if not can_seal():
        raise InputError(
            f"{name}: what waits in it is encrypted, which needs the cryptography library; pip install 'shoal[sign]'"
        )
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    text = base64.b64decode(sealed["text"])
    packed = AESGCM(_derived(key, b"seal")).decrypt(bytes.fromhex(sealed["nonce"]), text, id.encode())
    return zlib.decompressobj().decompress(packed, _LARGEST)


def _derived(key: bytes, purpose: bytes) -> bytes:
    """A key of its own for each purpose: what certificates hold under the owner's key says nothing about it."""
    return hmac.new(key, b"shoal ledger " + purpose, hashlib.sha256).digest()


def _mac(body: bytes, key: bytes) -> str:
    return hmac.new(_derived(key, b"authenticity"), FORMAT.encode() + b"\n" + body, hashlib.sha256).hexdigest()


@contextlib.contextmanager
def turn_at(path: Path | None) -> Iterator[None]:
    """One run at a time may go on with a series: the turn is this process's until the block ends, or the process, however that happens.

    Without a path there is nothing to take turns at.
    """
    if path is None:
        yield
        return
    folder, base = os.path.split(os.path.realpath(path))
    lock = os.path.join(folder, f".{base}.turn")
    name = display_name(path)
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    while True:
        try:
            handle = os.open(lock, flags, 0o600)
        except OSError as error:
            raise InputError(
                f"{name}: it may not be written ({error.strerror}); choose a folder where you may write"
            ) from None
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.lexists(lock) and os.path.samestat(os.fstat(handle), os.lstat(lock)):
                break  # else whoever had the turn before has removed it
        except OSError:
            os.close(handle)
            raise InputError(f"{name}: another run goes on with this series now; wait until that has ended") from None
        os.close(handle)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.unlink(lock)
        os.close(handle)


def check_unchanged(path: Path, before: str | None) -> None:
    """Raises if somebody went on with the series since its ledger, of this hash, was read."""
    now = read_ledger(path)
    if (None if now is None else now.on_disk) != before:
        raise InputError(f"{display_name(path)}: the series went on since this release was made; make it again")


def check_current(ledger: Ledger, path: Path, beside: Path | None) -> None:
    """Raises if outputs show that this is not the newest ledger of its series. `beside` is where the next certificate goes.

    Whoever has lost a ledger begins anew under the same name, and so with the same id: its certificates are found as well.
    """
    name = display_name(path)
    last = next((entry for entry in reversed(ledger.entries) if entry.output is not None), None)
    if last is not None and last.output is not None and "://" not in last.output and os.path.isfile(last.output):
        with reading_errors(last.output), open(last.output, "rb") as file:
            same = hashlib.file_digest(file, "sha256").hexdigest() == last.output_sha256
        if not same:
            raise InputError(
                f"{name}: {display_name(last.output)} is not the release that it speaks of last (release {last.release}); put back the "
                "newest ledger, or, if it is the newest, that file"
            )
    if beside is None or "://" in os.fspath(beside):
        return
    for found, number in _certificates(os.path.dirname(os.path.realpath(beside)), ledger.id):
        if number > ledger.releases:
            why = "this ledger is lost" if not ledger.entries else f"this ledger knows of {ledger.releases}"
            raise InputError(
                f"{name}: {found} is the certificate of release {number} of this series, and {why}; put back the newest ledger, or begin "
                "another series under another name, which promises nothing together with this one"
            )


def _certificates(folder: str, id: str) -> Iterator[tuple[str, int]]:
    """The certificates of a series in a folder, each with the number of its release."""
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".json"))[:_LOOKED]
    except OSError:
        return
    for name in names:
        path = os.path.join(folder, name)
        try:
            if not os.path.isfile(path) or os.path.getsize(path) > _CERTIFICATE:
                continue
            with open(path, "rb") as file:
                series = json.loads(file.read(_CERTIFICATE))["series"]
            if series["id"] == id:
                yield name, int(series["release"])
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            continue
