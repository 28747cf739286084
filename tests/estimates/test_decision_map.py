"""The decision map: the order of its points, what one tells about others, what is trusted, and what is proposed."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.errors import Unreachable
from shoal.estimates.beforehand import explore
from shoal.estimates.decision_map import (
    FACTOR,
    KS,
    LUCK,
    MS,
    SLACK,
    Spot,
    coarse_to_fine,
    figure_of,
    filling,
    grid_of,
    is_near,
    is_trusted,
    is_weaker,
    knee_of,
    narrow,
    risk_left,
)
from shoal.estimates.outlook import Range

SHARES = st.floats(0, 1)


def shop(rows, seed=3):
    lots = random.Random(seed)
    names = [f"i{n}" for n in range(30)]
    weights = [1 / (n + 1) for n in range(30)]
    return [sorted(set(lots.choices(names, weights, k=lots.randint(1, 5)))) for _ in range(rows)]


def grid(keeps):
    """A grid whose points were all run."""
    return [Spot({"k": k, "m": m}, Range(keeps(k, m), keeps(k, m)), how="run") for k in KS for m in MS]


@given(st.integers(2, 40))
def test_places_come_once_each_and_the_ends_first(places):
    order = coarse_to_fine(places)
    assert sorted(set(order)) == list(range(places))
    assert order[:2] == [0, places - 1]
    # At any moment, what is between two places that were tried is about as wide everywhere.
    for so_far in range(3, len(order)):
        tried = sorted(order[:so_far])
        gaps = [high - low for low, high in pairwise(tried)]
        assert max(gaps) <= 2 * min(gaps) + 2


def test_the_grid_begins_where_the_plan_stands_and_goes_on_with_the_corners():
    points = grid_of("km", {"k": 7, "m": 2})
    assert points[0] == {"k": 7, "m": 2}
    assert len(points) == (len(KS) + 1) * len(MS) == len({tuple(point.items()) for point in points})
    corners = [{"k": k, "m": m} for k in (2, 50) for m in (1, 3)]
    assert sorted(points[1:5], key=str) == sorted(corners, key=str)
    ways = grid_of("rt", {"algorithm": "joint", "balance": 0.5})
    assert ways[0] == {"algorithm": "joint", "balance": 0.5}
    assert {"algorithm": "rfirst"} in ways
    assert grid_of("diversity", {"l": 2})[0] == {"l": 2}


@given(SHARES, SHARES)
def test_a_figure_is_trusted_only_if_all_of_its_range_is_near(one, other):
    kept = Range(*sorted((one, other)))
    shown = 1 - figure_of(kept)
    assert kept.low - 1e-9 <= figure_of(kept) <= kept.high + 1e-9
    ends = [1 - kept.low, 1 - kept.high]
    near = [
        abs(shown - lost) <= SLACK + 1e-9 or shown / FACTOR - 1e-9 <= lost <= shown * FACTOR + 1e-9 for lost in ends
    ]
    assert is_trusted(kept) <= all(near)
    assert not is_trusted(None)


def test_what_is_near():
    assert is_near(0.10, 0.12)
    assert is_near(0.40, 0.60)
    assert not is_near(0.40, 0.61)
    assert is_trusted(Range(0.9, 0.93))
    assert not is_trusted(Range(0.4, 0.9))


@given(st.lists(SHARES, min_size=len(KS) * len(MS), max_size=len(KS) * len(MS)), st.randoms())
def test_neighbours_narrow_a_range_and_never_lose_the_truth(shares, lots):
    falling = iter(sorted(shares, reverse=True))
    truth = {(k, m): next(falling) for m in MS for k in KS}  # a stronger promise keeps less
    spots = []
    for (k, m), kept in truth.items():
        known = lots.random() < 0.5
        low, high = max(0.0, kept - lots.random() / 4), min(1.0, kept + lots.random() / 4)
        spots.append(Spot({"k": k, "m": m}, Range(low, high) if known else None))
    for before, after in zip(spots, narrow(spots), strict=True):
        if after.kept is None:
            continue
        kept = truth[before.at["k"], before.at["m"]]
        assert after.kept.low - 1e-9 <= kept <= after.kept.high + 1e-9
        if before.kept is not None:
            assert before.kept.low <= after.kept.low <= after.kept.high <= before.kept.high
        weaker = [other for other in spots if other.kept and is_weaker(other.at, before.at)]
        assert all(after.kept.high <= max(after.kept.low, other.kept.high + LUCK) + 1e-9 for other in weaker)
        assert after.how == "unknown" or is_trusted(after.kept)


@given(st.lists(st.tuples(SHARES, SHARES, st.booleans()), min_size=6, max_size=6))
def test_a_map_never_shows_more_for_a_stronger_promise(ends):
    """Unless two releases found it so; and what is shown stays near all that a point may keep."""
    spots = []
    for (k, m), (one, other, is_run) in zip([(k, m) for k in (2, 5, 20) for m in (1, 2)], ends, strict=True):
        kept = Range(one, one) if is_run else Range(*sorted((one, 0.9 * one + 0.1 * other)))
        spots.append(Spot({"k": k, "m": m}, kept, how="run" if is_run else "unknown"))
    runs = [spot for spot in spots if spot.how == "run"]
    in_order = all(
        figure_of(one.kept) >= figure_of(other.kept) for one in runs for other in runs if is_weaker(one.at, other.at)
    )
    after = narrow(spots)
    for one in after:
        for other in after:
            if one.share is not None and other.share is not None and is_weaker(one.at, other.at) and in_order:
                assert one.share >= other.share - 1e-9
        if one.how == "estimated":
            assert all(is_near(1 - one.share, 1 - end) for end in (one.kept.low, one.kept.high))


def test_the_figure_of_a_point_is_moved_between_its_neighbours():
    """99% left for k = 2 and more than 99% for k = 5: both are shown as what lies between."""
    weak, strong = Spot({"k": 2, "m": 1}, Range(0.985, 0.993)), Spot({"k": 5, "m": 1}, Range(0.99, 1.0))
    first, second = narrow([weak, strong])
    assert first.share == second.share
    assert figure_of(weak.kept) < first.share < figure_of(strong.kept)


def test_the_knee_is_where_the_fall_begins():
    cliff = knee_of(grid(lambda k, m: 0.95 if m < 3 else 0.4))
    assert cliff.at == {"k": 50, "m": 2}
    early = knee_of(grid(lambda k, m: 0.95 - (0.5 if k > 10 else 0) - (0.4 if m == 3 else 0)))
    assert early.at == {"k": 10, "m": 2}
    assert knee_of(grid(lambda k, m: 0.9)).at == {"k": 50, "m": 3}  # all cost the same: take the strongest
    assert knee_of([Spot({"k": 5, "m": 2})]) is None
    weak = [Spot({"k": 2, "m": 1}, Range(1, 1), how="run"), Spot({"k": 5, "m": 2}, Range(0.3, 0.3), how="run")]
    assert knee_of(weak).at == {"k": 5, "m": 2}  # nothing weaker is proposed


def test_nothing_is_proposed_on_a_frontier_for_being_all_that_is_known():
    known = [
        Spot({"algorithm": "joint", "balance": at}, Range(0.86, 0.86), (Range(at, at), Range(1 - at, 1 - at)), "run")
        for at in (0.0, 0.5, 1.0)
    ]
    assert [knee_of(known[:count]) for count in (1, 2)] == [None, None]
    assert knee_of(known) is not None


def test_the_knee_of_a_frontier_is_the_point_that_stands_out():
    def way(balance, columns, items):
        sides = (Range(columns, columns), Range(items, items))
        return Spot({"algorithm": "joint", "balance": balance}, sides[0], sides, "estimated")

    spots = [way(0, 0.0, 1.0), way(0.5, 0.9, 0.85), way(0.75, 0.92, 0.5), way(1, 1.0, 0.2)]
    assert knee_of(spots).at["balance"] == 0.5
    vague = Spot({"algorithm": "rfirst"}, Range(0.6, 0.62), (Range(0.9, 0.91), Range(0.2, 0.8)))
    assert narrow([vague])[0].how == "unknown"  # one of its sides is


def test_points_are_looked_at_once_before_any_is_tried_further():
    def trials(at):
        if at["k"] == 9:
            raise Unreachable("too large")
        yield f"{at['k']} first", at["k"] == 2
        yield f"{at['k']} all", True

    points = [{"k": k} for k in (2, 3, 5, 9)]
    found = list(filling(points, trials, lambda at: at["k"] == 3))
    assert [(at["k"], trial) for at, trial, _ in found] == [
        (2, "2 first"),
        (3, "3 first"),
        (5, "5 first"),
        (9, None),
        (5, "5 all"),
    ]
    assert found[3][2] == "too large"


def test_a_map_of_few_rows_says_what_releases_keep():
    rows = shop(400)
    points = [{"k": k, "m": m} for k in (2, 8) for m in (1, 2)]
    found = explore(rows, shoal.KmAnonymity(5, 2), points)
    assert [spot.at for spot in found.spots] == points
    for spot in found.spots:
        release = shoal.anonymize(rows, shoal.KmAnonymity(**spot.at))
        assert spot.how == "estimated"
        assert spot.share == pytest.approx(1 - release.loss["info"], abs=SLACK)
        assert spot.risk == risk_left(release.published)
    assert found.knee.at == {"k": 8, "m": 2}  # the only one that is strong enough
    assert found.to_dict()["knee"] == {"k": 8, "m": 2}
    assert repr(found) == "DecisionMap(4 of 4 points known, 400 rows)"


def test_the_risk_that_is_left_counts_rows_that_three_items_single_out():
    rows = [["a", "b", "c"]] + [["a", "b"]] * 3 + [["a", "c"]] * 3 + [["b", "c"]] * 3
    assert risk_left(shoal.read(rows)) == 1 / len(rows)
    assert risk_left(shoal.read([["a"]] * 3)) == 0
