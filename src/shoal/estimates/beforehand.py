"""What a release would keep, from Python: the same trials on a sample as in a profile, for any promise and any options."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, Unpack

from shoal.algorithms import kind_of
from shoal.algorithms.recoding import Progress, listener
from shoal.errors import ShoalError
from shoal.estimates.decision_map import MOMENT, At, DecisionMap, Spot, filling, grid_of, narrow, risk_left
from shoal.estimates.outlook import WARM_UP, Outlook, Trial, growing, outlook, propose, sample, sides_kept, try_promise
from shoal.models.km import HIERARCHY, resolve_hierarchy
from shoal.options import KEYWORDS, Keywords, check_keywords, signature_of
from shoal.plan.ask import plan_from
from shoal.release import read_for
from shoal.showing import watching


def estimate(
    data: Any, guarantee: Any, *, progress: Progress | bool | None = None, **keywords: Unpack[Keywords]
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
    with _ground(data, guarantee, keywords, progress) as (source, promise, request, watch):
        return outlook(source, promise, request, watch)


def explore(
    data: Any,
    guarantee: Any,
    points: Iterable[At] | None = None,
    *,
    progress: Progress | bool | None = None,
    **keywords: Unpack[Keywords],
) -> DecisionMap:
    """What releases of `data` would keep under promises around this one: the map on the app's Promise panel.

    Keywords are those of `anonymize`. Nothing is published.

    Args:
        data: The raw data, as for `anonymize`.
        guarantee: The kind of promise, and where it stands.
        points: Settings to try, such as `{"k": 10, "m": 2}` or `{"balance": 0.7}`; a usual grid unless given.

    Raises:
        InputError: The data or an option is not usable.
    """
    check_keywords(keywords, KEYWORDS, "explore")
    with _ground(data, guarantee, keywords, progress) as (source, promise, request, watch):
        now = {name: getattr(promise, name) for name in ("k", "m", "l") if getattr(promise, name, None) is not None}
        tried = list(grid_of(kind_of(promise), now | dict(keywords))) if points is None else list(points)
        spots: dict[int, Spot] = {i: Spot(at) for i, at in enumerate(tried)}
        number = {id(at): i for i, at in enumerate(tried)}

        def trials_of(at: At) -> Iterator[tuple[Trial, bool]]:
            given = replace(promise, **{name: at[name] for name in ("k", "m", "l") if name in at})
            asked = request | {name: value for name, value in at.items() if name not in ("k", "m", "l")}
            with suppress(ShoalError):
                propose(sample(source, WARM_UP), given, asked, None)
            yield from growing(
                len(source),
                given,
                lambda rows: try_promise(source, rows, given, lambda some, one: propose(some, one, asked, watch)),
                MOMENT,
            )

        def is_known(at: At) -> bool:
            return narrow(list(spots.values()))[number[id(at)]].how != "unknown"

        for at, trial, why in filling(tried, trials_of, is_known):
            spots[number[id(at)]] = Spot(at, why=why) if trial is None else spot_of(at, trial)
        return DecisionMap(tuple(narrow(list(spots.values()))), len(source))


def spot_of(at: At, trial: Trial) -> Spot:
    """What a trial tells about a point."""
    sides = trial.ranges(sides_kept)
    both = (sides["info_columns"], sides["info_items"]) if sides else None
    risk = risk_left(trial.proposal.published)
    return Spot(at, trial.ranges().get("info"), both, risk=risk, sample=len(trial.source))


@contextmanager
def _ground(
    data: Any, guarantee: Any, keywords: Mapping[str, Any], progress: Progress | bool | None
) -> Iterator[tuple[Any, Any, dict[str, Any], Progress | None]]:
    """The data as they were read, the promise, what is asked for with a tree that serves all samples, and the listener."""
    plan = plan_from(data, guarantee, to_save=False, **keywords)
    with plan.speaking(), watching(progress) as watch:
        source, promise = read_for(plan)
        request = dict(plan.request)
        if plan.kind == "km" and len(source) and source.baskets.vocabulary:
            spec = request["hierarchy"] or HIERARCHY
            if not (isinstance(spec, str) and spec.startswith("learned:")):  # that is learned from each sample
                request["hierarchy"] = resolve_hierarchy(spec, source.baskets, unknown=request["unknown"])
        yield source, promise, request, listener(watch)


estimate.__signature__ = signature_of(estimate, KEYWORDS)  # type: ignore[attr-defined]
