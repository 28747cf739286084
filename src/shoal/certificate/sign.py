"""Signatures: who vouches for a certificate, with ed25519 keys in PEM files.

`new_key` makes a pair, as `openssl genpkey -algorithm ed25519` would: the private key for its owner alone, the public one beside it, with
.pub at its end, to be given to whoever should be able to check. The curve is that of the `cryptography` library, which is
imported where it is used; the same certificate signed with the same key gives the same bytes.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from shoal.errors import InputError, option
from shoal.limits import read_fixed
from shoal.options import File as Path
from shoal.records.storage.publication import display_name, writing_errors
from shoal.records.storage.streams import reading_errors
from shoal.records.stores.remote import is_elsewhere

_LARGEST = 1 << 16  # a PEM key has a few hundred bytes
_HEX = {length: re.compile(f"[0-9a-f]{{{2 * length}}}") for length in (32, 64)}
_PRIME = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_OF_ORDER_EIGHT = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
_WEAK = (0, 1, _PRIME - 1, _OF_ORDER_EIGHT, _PRIME - _OF_ORDER_EIGHT)
"""The y of the eight points of small order. With such a key, one signature fits a great part of all contents, or all of them."""


class LockedKey(InputError):  # noqa: N818 - reads as what it says
    """A key that opens with a passphrase, which was not given, or with another one."""


@dataclass(frozen=True)
class Signer:
    """The holder of a private key, which stays inside."""

    public_key: str
    """In hex."""
    sign: Callable[[bytes], str]
    """The signature of some bytes, in hex."""
    notes: tuple[str, ...] = ()
    """For the owner."""


def signer(path: Path, passphrase: str | None = None) -> Signer:
    """The holder of the private key in a PEM file, which may be locked with a passphrase."""
    ed25519, serialization = _cryptography()
    name = display_name(path)
    data = _read(path)
    locked = b"ENCRYPTED" in data
    if locked and not passphrase:
        asking = option("shell", "shoal sign CERTIFICATE DATA --key FILE")
        raise LockedKey(f"{name}: this key is locked with a passphrase; sign afterwards, {asking} asks for it")
    try:
        key = serialization.load_pem_private_key(data, password=passphrase.encode() if locked and passphrase else None)
    except Exception as error:  # whatever the library makes of a damaged file
        if b"PUBLIC KEY" in data:
            raise InputError(f"{name}: it is a public key; sign with the private key that belongs to it") from None
        if locked:
            raise LockedKey(f"{name}: this is not the passphrase of this key; type it again") from None
        raise InputError(f"{name}: {_NO_KEY} ({option('shell', 'shoal verify --new-key FILE')} makes one)") from error
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise InputError(
            f"{name}: it is a key of another kind; give an ed25519 key ({option('shell', 'shoal verify --new-key FILE')} makes one)"
        )
    raw = key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return Signer(raw.hex(), lambda content: key.sign(content).hex(), _seen_by_others(path))


def public_key(path: Path) -> str:
    """The public key in a PEM file, in hex."""
    ed25519, serialization = _cryptography()
    name = display_name(path)
    data = _read(path)
    if b"PRIVATE KEY" in data:
        raise InputError(f"{name}: it is a private key, which only its owner should have; give the public one")
    try:
        key = serialization.load_pem_public_key(data)
    except Exception as error:
        raise InputError(f"{name}: {_NO_KEY}") from error
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise InputError(f"{name}: it is a key of another kind; give an ed25519 key")
    raw: bytes = key.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    if is_weak(raw.hex()):
        raise InputError(f"{name}: anyone can sign anything for this key; ask its owner for a new one")
    return raw.hex()


def public_pem(key: str) -> bytes:
    """A public key in hex as the file that others check with."""
    ed25519, serialization = _cryptography()
    loaded = ed25519.Ed25519PublicKey.from_public_bytes(bytes.fromhex(key))
    pem: bytes = loaded.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return pem


def is_weak(key: str) -> bool:
    """Whether a public key is a point of small order, or is written as no key is."""
    if not _HEX[32].fullmatch(key):
        return True
    y = int.from_bytes(bytes.fromhex(key), "little") % 2**255  # without the bit that says which of two points it is
    return y >= _PRIME or y in _WEAK


def signature_holds(content: bytes, signature: str, key: str) -> bool:
    """Whether the signature of these bytes was made with the private key of this public one."""
    ed25519, _ = _cryptography()
    from cryptography.exceptions import InvalidSignature

    if is_weak(key) or not _HEX[64].fullmatch(signature):
        return False
    if int.from_bytes(bytes.fromhex(signature)[32:], "little") >= _ORDER:  # a second spelling of the same signature
        return False
    try:
        ed25519.Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(bytes.fromhex(signature), content)
    except (InvalidSignature, ValueError):  # ValueError: what is not hex, or of another length
        return False
    return True


def new_key(path: Path, passphrase: str | None = None) -> tuple[str, str]:
    """Make a private key that only its owner may read, locked if there is a passphrase, and the public one beside it. Nothing is ever
    overwritten."""
    ed25519, serialization = _cryptography()
    private = os.fspath(path)
    public = f"{private}.pub"
    for file in (private, public):
        if os.path.lexists(file):
            raise InputError(
                f"{display_name(file)}: it is there already, and a key is never replaced; name another file"
            )
    key = ed25519.Ed25519PrivateKey.generate()
    lock = serialization.BestAvailableEncryption(passphrase.encode()) if passphrase else serialization.NoEncryption()
    secret = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, lock)
    raw = key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    for file, data, rights in ((private, secret, 0o600), (public, public_pem(raw.hex()), 0o644)):
        with writing_errors(file), open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, rights), "wb") as opened:
            opened.write(data)
            opened.flush()
            os.fsync(opened.fileno())
    return private, public


_NO_KEY = "it holds no ed25519 key in PEM"


def _read(path: Path) -> bytes:
    if is_elsewhere(path):
        raise InputError("a key is read from a file of this machine alone; copy it here, and name the copy")
    with reading_errors(path), open(path, "rb") as file:
        return read_fixed(file, display_name(path), _LARGEST, "a key")


def _seen_by_others(path: Path) -> tuple[str, ...]:
    if os.name != "posix" or not os.stat(path).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        return ()
    return (f"{display_name(path)}: others can read this private key; chmod 600 it",)


def _cryptography() -> tuple[Any, Any]:
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise InputError("signatures need the cryptography library; pip install 'shoal[sign]'") from None
    return ed25519, serialization
