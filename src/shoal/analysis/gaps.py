"""What is known about deleted occurrences, and how many of an item they may be.

Deletion takes from rare combinations. While little is deleted that is about as much from every token, however common; the more is deleted,
the more it follows how often a token stands. With a share d deleted, a token that stands in q rows is taken to have lost in proportion
to q^d, all tokens together what d says; at the most it lost its share of d and twice the mean of all tokens besides.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shoal.certificate.document import given_certificate
from shoal.errors import InputError
from shoal.numbers import Ints
from shoal.numbers import share as checked_share

BESIDES = 2
"""Times the mean of all tokens that an item may have lost besides its own share."""


@dataclass(frozen=True)
class Gaps:
    """The share of all original occurrences that was deleted, the largest that it can be, and what else is known."""

    share: float = 0.0
    most: float = 0.0
    by_token: Mapping[str, float] = field(default_factory=dict)
    """The owner knows the share of each token that lost any."""
    occurrences: int | None = None
    """How many were deleted, where that is known."""
    k: int | None = None

    @property
    def any(self) -> bool:
        return self.most > 0


def gaps_of_release(release: Any) -> Gaps:
    """What a Release knows: everything."""
    share = float(release.loss.get("deleted", 0.0))
    number = release.details.get("suppressed", {}).get("occurrences")
    return Gaps(share, share, dict(release.deleted_shares), number, getattr(release.guarantee, "k", None))


def gaps_of_certificate(certificate: Any, sha256: str | None) -> Gaps:
    """What a certificate tells: a share that is rounded, or only what was allowed. `sha256` is that of the file it should be about."""
    facts = _facts_about(certificate, sha256)
    asked = _number((facts.get("parameters") or {}).get("suppress")) or 0.0
    told = _number((facts.get("loss") or {}).get("deleted"))
    k = facts["guarantee"].get("k")
    k = k if isinstance(k, int) else None
    if told is None:
        return Gaps(asked / 2, asked, k=k)
    step = _number(((facts.get("rounded_to") or {}).get("loss") or {}).get("deleted")) or 0.0
    return Gaps(told, min(asked, told + step / 2) if asked else told, k=k)


def gaps_of_share(deleted: float) -> Gaps:
    """What the reader says."""
    checked_share("deleted", deleted, "0.02")
    return Gaps(float(deleted), float(deleted))


def _number(fact: Any) -> float | None:
    return float(fact) if isinstance(fact, int | float) and 0 <= fact <= 1 else None


@dataclass(frozen=True, eq=False)
class Losses:
    """Gaps, over tokens that stand so often."""

    gaps: Gaps
    support: Ints
    """Rows of each published token."""

    def times(self, q: float, token: str | None = None) -> tuple[float, float]:
        """By which factor a count of q is too low by deletion: by the guess, and at the most. `token` is what the item stands as."""
        gaps, q = self.gaps, max(q, 1.0)
        if not gaps.any or not len(self.support):
            return 1.0, 1.0
        if gaps.by_token:
            own = _odds(gaps.by_token.get(token or "", 0.0))
            return 1 + own, 1 + 2 * own
        total, most = (int(self.support.sum()) * _odds(share) for share in (gaps.share, gaps.most))
        followed = float((self.support.astype(np.float64) ** gaps.share).sum())
        return 1 + total * q**gaps.share / followed / q, 1 + _odds(gaps.most) + BESIDES * most / len(self.support) / q

    def occurrences(self, leaf_count: Ints) -> float:
        """The most occurrences that can have been deleted. `leaf_count` is, per token, how many items it may stand for at once."""
        if self.gaps.occurrences is not None:
            return self.gaps.occurrences
        return int((self.support * leaf_count).sum()) * _odds(self.gaps.most)


def _odds(share: float) -> float:
    return share / (1 - share) if share < 1 else float("inf")


def k_of_certificate(certificate: Any, sha256: str | None) -> int | None:
    """The k that a certificate states."""
    stated = _facts_about(certificate, sha256)["guarantee"].get("k")
    return stated if type(stated) is int else None


def _facts_about(certificate: Any, sha256: str | None) -> Mapping[str, Any]:
    """The facts of a certificate. Raises if it is about another file than that with this hash."""
    facts = given_certificate(certificate).content
    known_by_rows = {"sha256_of", "digest"} & set(facts["output"])
    if sha256 is not None and not known_by_rows and facts["output"]["sha256"] != sha256:
        name = os.fspath(certificate) if isinstance(certificate, str | os.PathLike) else "it"
        raise InputError(f"{name} is the certificate of another file; give the one of this release")
    return facts
