"""What a verification says: each thing that was looked at, and each that was not.

Here are also the checks of who vouches for a certificate, and for which input: they look at no published data, but at the words, a key and
the raw file.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from hmac import compare_digest
from importlib.util import find_spec
from typing import Any

from shoal.certificate.facts import canonical, limits_of
from shoal.certificate.owner import has_key, hmac_of, key_id, owner_key
from shoal.certificate.sign import is_weak, public_key, signature_holds
from shoal.errors import InputError, Message, option
from shoal.records.source import fingerprint

Path = str | os.PathLike[str]


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    name: str
    holds: bool | None
    """None where it was not checked, and `says` tells why."""
    says: str

    def __bool__(self) -> bool:
        return self.holds is True

    def to_dict(self) -> dict[str, Any]:
        return {"check": self.name, "holds": self.holds, "says": self.says}


@dataclass(frozen=True)
class NotChecked:
    """Places of which nobody found out whether they are so, and why."""

    places: tuple[str, ...]
    why: str

    def within(self, content: Mapping[str, Any]) -> tuple[str, ...]:
        """Those of its places that a certificate has."""
        return tuple(place for place in self.places if _is_in(content, place))

    def to_dict(self) -> dict[str, Any]:
        return {"places": list(self.places), "why": self.why}


def _is_in(content: Any, place: str) -> bool:
    for step in place.split("."):
        if not isinstance(content, Mapping) or step not in content:
            return False
        content = content[step]
    return True


def signature_check(content: Mapping[str, Any], key: Path | None) -> Check:
    """Whether it is as it was signed, and by the holder of the key, if one is given."""
    wanted = None if key is None else public_key(key)
    signed_with, signature = content.get("signer", {}).get("public_key"), content.get("signature")
    if signature is None or signed_with is None:
        if wanted is None and signature is None and signed_with is None:
            return Check("signature", None, "it is not signed")
        return Check(
            "signature", False, "it is not signed" if wanted else "it names a key or a signature, but not both"
        )
    if wanted is None and find_spec("cryptography") is None:
        return Check("signature", None, "it was not checked: pip install 'shoal[sign]'")
    if is_weak(str(signed_with)):
        return Check("signature", False, "it names a key for which anyone can sign anything")
    if content["signer"] != {"algorithm": "ed25519", "public_key": signed_with}:
        return Check("signature", False, "it names its signer in another way than shoal does")
    if not signature_holds(canonical(content), str(signature), str(signed_with)):
        return Check("signature", False, "it was changed after it was signed")
    if wanted is None:
        says = f"it is as it was signed with key {signed_with}; whose key that is, {option('key', 'PUBLIC')} tells"
        return Check("signature", True, Message(says))
    if wanted != signed_with:
        return Check("signature", False, f"it was signed with another key, {signed_with}")
    return Check("signature", True, "it was signed by the holder of this key")


def limits_check(content: Mapping[str, Any]) -> Check | None:
    """Whether what the owner is said to have acknowledged is what the certificate states; None where it says nothing of it."""
    if "acknowledged" not in content:
        return None
    given, limits = content["acknowledged"], limits_of(content)
    if not isinstance(given, list) or not given or any(given.count(one) > 1 or one not in limits for one in given):
        return Check("limits", False, "what it says the owner acknowledged are not the limits that it states")
    which = (
        f"all {len(limits):,} limits" if len(given) == len(limits) else f"{len(given):,} of the {len(limits):,} limits"
    )
    return Check("limits", True, f"it says that the owner acknowledged {which} that it states")


def policy_check(content: Mapping[str, Any], policy: Any) -> Check | None:
    """Whether this is the policy that was certified, which who has the owner's key can tell; None for others, and without a policy."""
    stated = content.get("policy")
    key = (owner_key() if has_key() else None) if policy is not None and isinstance(stated, Mapping) else None
    if key is None or not isinstance(stated, Mapping) or key_id(key) != content.get("key_id"):
        return None
    found = hmac_of(policy.fingerprint(), key).encode()
    if compare_digest(found, str(stated.get("hmac_sha256")).encode("utf-8", "replace")):
        return Check("policy", True, "it is the policy that was certified")
    return Check("policy", False, "it is not the policy that was certified")


def original_check(content: Mapping[str, Any], original: Path) -> Check:
    """Whether the release was made from this file: only who has the owner's key can tell."""
    key, used = (owner_key() if has_key() else None), content.get("key_id")
    stated = content["input"].get("hmac_sha256") if isinstance(content.get("input"), dict) else None
    if stated is None or used is None:
        raise InputError("the certificate holds no hash of its input; leave out the original")
    if key is None or key_id(key) != used:
        raise InputError(f"only the owner's key {used} tells which input it was; name its file in SHOAL_KEY")
    same = compare_digest(hmac_of(fingerprint(original), key).encode(), str(stated).encode("utf-8", "replace"))
    if same:
        return Check("original", True, "the release was made from this very input")
    return Check("original", False, "the release was made from another input, or from one that was no file")
