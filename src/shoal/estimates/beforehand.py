"""What a release would keep, from Python: the same trials on a sample as in a profile, for any promise and any options."""

from __future__ import annotations

from typing import Any, Unpack

from shoal.algorithms.recoding import Progress, listener
from shoal.estimates.outlook import Outlook, outlook
from shoal.models.km import HIERARCHY, resolve_hierarchy
from shoal.options import KEYWORDS, Keywords, check_keywords, signature_of
from shoal.plan.ask import plan_from
from shoal.release import read_for
from shoal.showing import watching


def estimate(
    data: Any,
    guarantee: Any,
    *,
    progress: Progress | bool | None = None,
    **keywords: Unpack[Keywords],
) -> Outlook:
    """What a release of `data` would keep, tried on a sample for a moment: a range for each figure, or one figure if all rows were tried.

    Keywords are those of `anonymize`. Nothing is published.

    Args:
        data: The raw data, as for `anonymize`.
        guarantee: The promise to try.

    Raises:
        InputError: The data or an option is not usable.
        Unreachable: No release keeps the promise.

    >>> import shoal
    >>> shoal.estimate([["milk", "bread"]] * 9 + [["milk"]] * 5, shoal.KmAnonymity(k=5, m=2))
    Outlook(5^2-anonymity by local, 14 of 14 rows: info 100%, exact 100%, pairs 100%)
    """
    check_keywords(keywords, KEYWORDS, "estimate")
    plan = plan_from(data, guarantee, to_save=False, **keywords)
    with plan.speaking(), watching(progress) as watch:
        source, promise = read_for(plan)
        request = dict(plan.request)
        if plan.kind == "km" and len(source) and source.baskets.vocabulary:
            spec = request["hierarchy"] or HIERARCHY
            if not (isinstance(spec, str) and spec.startswith("learned:")):  # that is learned from each sample
                request["hierarchy"] = resolve_hierarchy(spec, source.baskets, unknown=request["unknown"])
        return outlook(source, promise, request, listener(watch))


estimate.__signature__ = signature_of(estimate, KEYWORDS)  # type: ignore[attr-defined]
