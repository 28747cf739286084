"""The certificate as a file: its facts alone (JSON), or a page or a PDF that says the same in words and carries the facts within it.

Whoever reads it gets the facts, which are a stranger's words, and a check of whether a page or PDF shows what its facts say: it is set
once more, and must come out the same.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from typing import Any

from shoal import __version__
from shoal.certificate import page as webpage
from shoal.certificate import pdf
from shoal.certificate.checks import Check
from shoal.certificate.facts import FORMAT, FORMATS, PARTS, canonical, certificate_bytes, limits_of
from shoal.certificate.sections import plain_text
from shoal.certificate.sign import Signer
from shoal.errors import InputError, number_of
from shoal.limits import read_fixed, unique_keys
from shoal.options import File as Path
from shoal.records.storage.journal import settle
from shoal.records.storage.streams import Input, display_name, reading_errors
from shoal.records.stores.remote import is_remote

SUFFIXES = (".json", ".html", ".pdf")
_LARGEST = 16 * 10**6
"""Bytes of a certificate: a page with its charts has a fraction of a megabyte."""
_VERSION = re.compile(r"[0-9][0-9a-z.]{0,20}")


@dataclass(frozen=True)
class CertificateFile:
    """A certificate as it was found: its facts, and whether what people see of it agrees with them."""

    content: Mapping[str, Any]
    page: Check | None
    """None for JSON, which shows nothing but its facts."""
    page_hashed: bool = True
    """Whether the facts hold a hash of all that is shown, so that a signature covers it."""


def check_certificate_name(name: str) -> None:
    """Raises unless a certificate of this name can be written here."""
    if not name.endswith(SUFFIXES):
        raise InputError(f"{name}: certificates are JSON, HTML or PDF; let the name end in .json, .html or .pdf")
    if name.endswith(".pdf") and find_spec("typst") is None:
        raise InputError(pdf.NEEDS_TYPST)


def certificate_file(content: Mapping[str, Any], name: str, signer: Signer | None = None) -> bytes:
    """The certificate in the form that its file's name tells, signed if there is somebody to sign it."""
    facts = dict(content)
    if signer is not None:
        facts["signer"] = {"algorithm": "ed25519", "public_key": signer.public_key}
    if name.endswith(".html"):
        text = webpage.page(facts)
        # The page is bound to the facts within it by its hash, which a signature then covers as well.
        facts["page"] = {"sha256": hashlib.sha256(text).hexdigest()}
        return webpage.page_with(text, _sign(facts, signer))
    if name.endswith(".pdf"):
        facts["versions"] = {**facts["versions"], "typst": metadata.version("typst")}
        return pdf.typeset(_sign(facts, signer))
    return certificate_bytes(_sign(facts, signer))


def without_signature(content: Mapping[str, Any]) -> dict[str, Any]:
    """The facts as they were when the release was written: without who vouches for them, what they acknowledge, and the form of a file."""
    own = {"signer", "signature", "acknowledged", "page"}
    facts = {name: value for name, value in content.items() if name not in own}
    return facts | {"versions": {name: value for name, value in facts["versions"].items() if name != "typst"}}


def acknowledge(content: Mapping[str, Any], sentences: Sequence[str] | None = None) -> dict[str, Any]:
    """The facts of a certificate, not signed, with limits that the owner has read and publishes under; all that it states, unless told."""
    limits = limits_of(content)
    if strange := [sentence for sentence in sentences or () if sentence not in limits]:
        raise InputError(
            f"{number_of(len(strange), 'sentence to acknowledge is not a limit', 'sentences to acknowledge are not limits')} "
            f"of this certificate; take {'it' if len(strange) == 1 else 'them'} from it"
        )
    chosen = limits if sentences is None else [limit for limit in limits if limit in sentences]
    return without_signature(content) | ({"acknowledged": chosen} if chosen else {})


def _sign(facts: Mapping[str, Any], signer: Signer | None) -> Mapping[str, Any]:
    return facts if signer is None else {**facts, "signature": signer.sign(canonical(facts))}


def read_certificate(path: Path) -> CertificateFile:
    """The certificate in a JSON file, a page or a PDF."""
    settle(path)
    with reading_errors(path), _opened(path) as file:
        data = read_fixed(file, display_name(path), _LARGEST, "a certificate")
    return certificate_in(data, display_name(path))


def _opened(path: Path) -> Any:
    return Input(path) if is_remote(path) else open(path, "rb")


def given_certificate(content: Path | bytes | Mapping[str, Any] | CertificateFile) -> CertificateFile:
    """The certificate in a file or in the bytes of one, or its facts."""
    if isinstance(content, CertificateFile):
        return content
    if isinstance(content, str | os.PathLike):
        return read_certificate(content)
    name = "the certificate"
    try:
        data = content if isinstance(content, bytes) else certificate_bytes(content)
    except (TypeError, ValueError):
        raise InputError(f"{name} holds what JSON has no form for; give the facts as shoal gave them") from None
    return certificate_in(data, name)


def certificate_in(data: bytes, name: str) -> CertificateFile:
    """The certificate in the bytes of such a file."""
    if data.startswith(b"%PDF-"):
        content = _facts(pdf.attached_facts(data, name), name)
        return CertificateFile(content, _pdf_check(content, data), page_hashed=False)
    if data.lstrip()[:9].lower().startswith((b"<!doctype", b"<html")):
        page, facts = webpage.split_page(data, name)
        content = _facts(facts, name)
        return CertificateFile(content, _page_check(content, data, page))
    content = _facts(data, name)
    return CertificateFile(content, _shown(False) if "page" in content else None)


def made_by_this_version(content: Mapping[str, Any]) -> bool:
    return bool(content["versions"].get("shoal") == __version__ and content["certificate"] == FORMAT)


def made_by(content: Mapping[str, Any]) -> str:
    """Which version made it, and what to do about that."""
    version = content["versions"].get("shoal")
    if not isinstance(version, str) or not _VERSION.fullmatch(version) or version == __version__:
        return "it was made by another version of shoal; verify it with that one"
    return f"it was made by version {version}; verify it with that one (pip install shoal=={version})"


def _facts(data: bytes, name: str) -> dict[str, Any]:
    """The facts of a stranger's certificate; raises for what is none, or is of a shape that no check could go by."""
    try:
        content = json.loads(
            data.decode("utf-8"), object_pairs_hook=unique_keys, parse_float=_finite, parse_constant=_finite
        )
    except (ValueError, RecursionError):  # also for what is no UTF-8
        raise InputError(
            f"{name}: it is not a certificate (no JSON, page or PDF that shoal wrote); check the file"
        ) from None
    if not isinstance(content, dict) or not isinstance(content.get("certificate"), str):
        raise InputError(f"{name}: it is not a certificate; give the file that shoal wrote beside the data")
    if content["certificate"] == "shoal certificate 1":
        raise InputError(
            f"{name}: it is of an earlier format, which stated exact counts of the original that can tell how few people have something; "
            "release the data again, hand out the new certificate in its place, and do not pass this one on"
        )
    if content["certificate"] not in FORMATS:
        raise InputError(f"{name}: it is a certificate of a kind that this version does not know; update shoal")
    wrong = [part.name for part in PARTS if part.kind and not isinstance(content.get(part.name), part.kind)]
    if wrong or not isinstance(content["output"].get("sha256"), str):
        raise InputError(
            f"{name}: {(wrong or ['the hash of the data'])[0]} is missing in it; give the file that shoal wrote"
        )
    output, guarantee = content["output"], content["guarantee"]
    texts = [output.get(part, "") for part in ("format", "separator", "id", "items")] + [guarantee.get("model")]
    objects = [content.get("signer", {}), guarantee.get("knowledge") or {}]
    if not all(isinstance(text, str) for text in texts) or not all(isinstance(part, dict) for part in objects):
        raise InputError(f"{name}: it was changed, and cannot be understood any more; give the file that shoal wrote")
    return content


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("not a number")
    return number


def _shown(same: bool) -> Check:
    if same:
        return Check("page", True, "what it shows is what its facts say")
    return Check("page", False, "what it shows was changed: it does not belong to the facts within it")


def _not_compared(why: str) -> Check:
    return Check("page", None, f"what it shows was not compared with its facts: {why}")


def _page_check(content: Mapping[str, Any], data: bytes, page: bytes) -> Check:
    """Sets the page once more. Its hash alone says little: whoever forges the page forges that as well."""
    if content.get("page") != {"sha256": hashlib.sha256(page).hexdigest()}:
        return _shown(False)
    again = _set_again(lambda: webpage.page_with(webpage.page(content), content))
    if again != data and not made_by_this_version(content):
        return _not_compared(made_by(content))
    return _shown(again == data)


def _pdf_check(content: Mapping[str, Any], data: bytes) -> Check:
    """Sets the PDF once more, where that gives the same bytes."""
    made_with = content["versions"].get("typst")
    if made_with is None or "page" in content:  # the facts of a certificate in another form
        return _shown(False)
    if find_spec("typst") is None:
        return _not_compared("pip install 'shoal[report]'")
    again = _set_again(lambda: pdf.typeset(content))
    if again == data:
        return _shown(True)
    if not made_by_this_version(content):
        return _not_compared(made_by(content))
    if made_with != (here := metadata.version("typst")):
        return _not_compared(f"it was set by typst {plain_text(made_with)}, not {here}")
    if again is not None and pdf.needs_system_fonts(content):
        return _not_compared("a name needs fonts that differ between machines")
    return _shown(False)


def _set_again(setting: Callable[[], bytes]) -> bytes | None:
    try:
        return setting()
    except Exception:  # facts that no certificate has, which may be anything
        return None
