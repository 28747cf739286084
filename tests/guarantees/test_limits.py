"""What no promise stops is said by each of them."""

from __future__ import annotations

import pytest

from shoal import KAnonymity, KmAnonymity, LmDiversity, LocalKmAnonymity, RTAnonymity, TableAnonymity
from shoal.guarantees.diversity import MatchingDiversity

GUARANTEES = (
    KmAnonymity(2, 1),
    LocalKmAnonymity(2, 1),
    KAnonymity(2),
    TableAnonymity(2),
    RTAnonymity(2, 1),
    LmDiversity(2, 2, 1),
    MatchingDiversity(2),
)


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=str)
def test_changing_no_more_than_needed_tells_something(guarantee):
    told = " ".join(guarantee.limits())
    assert "no more than the promise needs" in told or "no bucket is larger than it must be" in told
