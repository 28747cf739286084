"""What the process that estimates does. It stays, so that what was loaded and read once serves the next estimate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shoal.app.project.wording import KNOWN_COLUMNS, PageOrigin
from shoal.estimates.trials import Trials
from shoal.plan import plan_of
from shoal.processes import Teller

_TRIALS = Trials(KNOWN_COLUMNS)


def estimate(request: Mapping[str, Any], tell: Teller) -> None:
    """Tells the estimates of a plan, one for each sample, as soon as they are there."""
    plan = plan_of(request["document"], PageOrigin())
    if request["rows"] is None:
        for found in _TRIALS.growing(plan, tell):
            tell.note(found=found)
    else:
        _TRIALS.warm_up(plan, tell)
        tell.note(found=_TRIALS.trial(plan, tell, int(request["rows"])))
