"""What a verification says: each thing that was looked at, and each that was not.

Here are also the checks of who vouches for a certificate, and for which input: they look at no published data, but at the words, a key and
the raw file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hmac import compare_digest
from importlib.util import find_spec
from typing import Any

from shoal.algorithms import entry
from shoal.certificate.facts import canonical, limits_of, tree_fingerprint
from shoal.certificate.owner import has_key, hmac_of, key_id, owner_key
from shoal.certificate.sign import is_weak, public_key, signature_holds
from shoal.certificate.terms import roles_in
from shoal.errors import InputError, Message, option
from shoal.hierarchy.files import read_hierarchy
from shoal.hierarchy.spec import is_made
from shoal.options import File as Path
from shoal.plan.model import Plan
from shoal.records.database.address import file_of
from shoal.records.source import fingerprint


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
    return Check("original", False, "the release was made from another input, or from one that was not a file")


# Whether a plan is the one that a release was made with.

_NUMBERS = ("model", "k", "m", "l", "t", "l_kind", "distance", "missing")
_LEFT_OPEN = ("delta", "limits", "missing_quasi", "shift", "suppress_rows", "weights")
"""Options that a certificate says nothing of unless they were given; others stand there with what they are by themselves."""
_TOLD_OTHERWISE = ("item_weights", "knowledge")
"""Options that a certificate does not repeat as they were given."""


def check_plan(plan: Plan, content: Mapping[str, Any], name: str) -> None:
    """Raises if a plan is not the one that the release of a certificate was made with. `name` is what the plan is called."""
    if off := list(dict.fromkeys(differences(plan, content))):
        parts = off[0] if len(off) == 1 else f"{', '.join(off[:-1])} and {off[-1]}"
        others = "is another" if len(off) == 1 else "are others"
        raise InputError(
            f"{name}: it is not the plan of this release, whose {parts} {others}; give the one it was made with"
        )


def differences(plan: Plan, content: Mapping[str, Any]) -> Iterator[str]:
    """What a certificate says otherwise than the plan, of all that both say. Files and hashes of them count where they can be compared:
    the files are there, and the owner's key is the one that was used."""
    stated, promised = content["guarantee"], plan.promise.to_dict()
    yield from (f"promise ({name})" for name in _NUMBERS if not _agree(stated.get(name), promised.get(name)))
    limited = plan.options.memory_limit is not None
    with suppress(InputError):
        name, _ = entry(plan.kind, plan.algorithm or ("exact" if limited and plan.kind == "km" else None))
        if content.get("algorithm") not in (None, name):
            yield "algorithm"
    if "columns" in content.get("output", {}) and _other_roles(plan, roles_in(content)):
        yield "columns"
    yield from _other_options(plan, content.get("parameters") or {})
    key = owner_key() if has_key() else None
    keyed = key if key is not None and key_id(key) == content.get("key_id") else None
    yield from _other_trees(plan, content.get("hierarchy") or {}, keyed)
    stated_input = content.get("input", {}).get("hmac_sha256")
    if (
        keyed is not None
        and stated_input is not None
        and isinstance(plan.data, str)
        and os.path.isfile(file_of(plan.data))
    ):
        with suppress(InputError):
            if not compare_digest(hmac_of(fingerprint(plan.data), keyed), stated_input):
                yield "original"


def _other_options(plan: Plan, stated: Mapping[str, Any]) -> Iterator[str]:
    given = plan.options.model_dump(exclude_none=True) | {"keep_order": plan.keep_order}
    for name, value in stated.items():
        if name in _TOLD_OTHERWISE:
            continue
        if name in given:
            if not _agree(value, given[name]):
                yield name.replace("_", " ")
        elif value is not None and name in _LEFT_OPEN:
            yield name.replace("_", " ")


def _other_roles(plan: Plan, stated: Mapping[str, str]) -> bool:
    """Whether columns have other roles. What a release adds, such as the number of a bucket, is in no plan; a column of sensitive items
    is called otherwise."""
    named = {
        role: {name for name, given in stated.items() if given == role and (name in plan.columns or role == "quasi")}
        for role in ("quasi", "keep", "sensitive")
    }
    exact = any(named[role] != set(plan.of_role(role)) for role in ("quasi", "keep"))
    return exact or not named["sensitive"] <= set(plan.of_role("sensitive"))


def _other_trees(plan: Plan, stated: Mapping[str, Any], key: bytes | None) -> Iterator[str]:
    given = plan.hierarchies
    if isinstance(stated.get("source"), str):  # one tree, of the items
        specs = {"the items": next(iter(given.values()), None) if isinstance(given, dict) else given}
        stated = {"the items": stated}
    else:
        specs = {} if isinstance(given, str) or given is None else dict(given)
    for name, tree in stated.items():
        spec = specs.get(name)
        if isinstance(tree, Mapping) and isinstance(tree.get("source"), str) and _is_other_tree(plan, spec, tree, key):
            yield f"hierarchy of {name}"


def _is_other_tree(plan: Plan, spec: str | None, stated: Mapping[str, Any], key: bytes | None) -> bool:
    if spec is None or is_made(spec):
        return bool(os.path.splitext(stated["source"])[1]) and not is_made(stated["source"])  # it was a file
    if stated["source"] != os.path.basename(spec):
        return True
    if key is None or "hmac_sha256" not in stated or plan.options.unknown is not None:
        return False
    with suppress(InputError, OSError):
        own = hmac_of(tree_fingerprint(read_hierarchy(plan.path_of(spec))), key)
        return not compare_digest(own, str(stated["hmac_sha256"]))
    return False


def _agree(one: Any, other: Any) -> bool:
    return bool(json.loads(json.dumps(one)) == json.loads(json.dumps(other)))
