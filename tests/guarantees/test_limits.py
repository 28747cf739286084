"""What no promise stops is said by each of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoal import ChunkAnonymity, KAnonymity, KmAnonymity, LmDiversity, LocalKmAnonymity, RTAnonymity, TableAnonymity
from shoal.guarantees.diversity import MatchingDiversity

GUIDES = Path(__file__).parents[2] / "docs" / "guide"
GUARANTEES = (
    KmAnonymity(2, 1),
    LocalKmAnonymity(2, 1),
    KAnonymity(2),
    TableAnonymity(2),
    RTAnonymity(2, 1),
    LmDiversity(2, 2, 1),
    MatchingDiversity(2),
    ChunkAnonymity(2, 1),
)


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=str)
def test_changing_no_more_than_needed_tells_something(guarantee):
    told = " ".join(guarantee.limits())
    words = (
        "no more than the promise needs",
        "no bucket is larger than it must be",
        "how clusters and chunks are formed",
    )
    assert any(told_so in told for told_so in words)


@pytest.mark.parametrize("page", ["km", "hybrid", "local", "transactions", "tables", "buckets", "disassociation"])
def test_every_guide_names_the_attacker_who_reasons_about_the_search(page):
    text = (GUIDES / f"{page}.md").read_text(encoding="utf-8")
    assert "about **why**" in text or "**Reasoning about the algorithm.**" in text
