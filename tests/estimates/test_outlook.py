"""What a release would keep, beforehand: ranges from samples, against what releases do keep."""

import random
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.estimates import outlook as home
from shoal.estimates.outlook import Range, outlook, range_of, sample, share_of_k
from shoal.guarantees.km import KmAnonymity
from shoal.records.baskets import Baskets
from shoal.records.source import load_sets

SHARES = st.floats(0, 1)


def shop(rows, items=80, seed=3):
    lots = random.Random(seed)
    names = [f"i{n}" for n in range(items)]
    weights = [1 / (n + 1) for n in range(items)]
    return Baskets.from_rows([sorted(set(lots.choices(names, weights, k=lots.randint(1, 6)))) for _ in range(rows)])


@given(SHARES, SHARES, SHARES, st.floats(0.001, 1), st.floats(0, 0.1))
def test_a_range_holds_what_was_tried(kept, at_share, quarter, tried, luck):
    found = range_of(kept, at_share, quarter, tried, luck)
    assert 0 <= found.low <= min(kept, at_share) <= max(kept, at_share) <= found.high + 1e-12 <= 1 + 1e-12


@given(SHARES, SHARES, SHARES, st.floats(0.001, 0.9))
def test_a_range_is_wider_where_less_was_tried(kept, at_share, quarter, tried):
    less, more = (range_of(kept, at_share, min(kept, quarter), share) for share in (tried, 1.0))
    assert less.high >= more.high - 1e-12
    assert less.low == more.low


@dataclass(frozen=True)
class Proposed:
    """A proposal, as far as ranges look at it."""

    loss: dict
    kept: dict
    hurried: bool
    optimal: bool | None


def test_what_was_tried_on_all_rows_is_no_range():
    baskets = shop(1_500)
    found = shoal.profile(baskets, 5, 2).outlook
    release = shoal.anonymize(baskets, KmAnonymity(5, 2))
    assert (found.sample, found.rows, found.algorithm) == (1_500, 1_500, release.algorithm)
    assert found.kept["info"].low == found.kept["info"].high == pytest.approx(1 - release.loss["info"])
    assert {name: one.low for name, one in found.kept.items() if name != "info"} == pytest.approx(dict(release.kept))
    told = found.to_dict()
    assert told["loss"]["info"] == pytest.approx([release.loss["info"]] * 2)
    assert told["kept"]["exact"] == pytest.approx([release.kept["exact"]] * 2)


@pytest.mark.parametrize(("hurried", "optimal"), [(True, None), (False, False)])
def test_a_search_that_had_less_time_than_a_release_has_leaves_a_range(hurried, optimal):
    found = Proposed({"info": 0.2}, {"exact": 0.6, "pairs": 1.0}, hurried, optimal)
    ranges = home.Trial([0] * 9, 9, found).ranges()
    assert ranges["info"] == home.Range(pytest.approx(0.745), pytest.approx(0.855))
    assert ranges["exact"] == home.Range(pytest.approx(0.495), pytest.approx(0.705))
    assert ranges["pairs"] == home.Range(1.0, 1.0)
    assert home.Trial([0] * 9, 9, replace(found, hurried=False, optimal=None)).ranges()["info"] == home.Range(0.8, 0.8)


@pytest.mark.parametrize(("k", "seed"), [(5, 1), (5, 2), (5, 3), (20, 2)])
def test_a_sample_gives_ranges_around_what_a_release_keeps(monkeypatch, k, seed):
    monkeypatch.setattr(home, "MOMENT", 0.0)
    baskets = shop(6_000, seed=seed)
    found = shoal.profile(baskets, k, 2).outlook
    assert found.sample == 2_000
    release = shoal.anonymize(baskets, KmAnonymity(k, 2))
    truth = {"info": 1 - release.loss["info"], **release.kept}
    assert all(found.kept[name].low <= truth[name] <= found.kept[name].high for name in ("info", "exact"))


def test_the_release_that_is_tried_is_the_one_that_is_asked_for(tmp_path):
    (tmp_path / "tree.csv").write_text("".join(f"i{n};g{n // 4};all\n" for n in range(80)))
    baskets = shop(1_000)
    assert shoal.profile(baskets, 3).outlook.guarantee == str(KmAnonymity(3, 2))
    assert len(shoal.profile(baskets, 3).exposures) == 3
    found = shoal.profile(baskets, 3, 1, hierarchy=tmp_path / "tree.csv").outlook
    release = shoal.anonymize(baskets, KmAnonymity(3, 1), hierarchy=tmp_path / "tree.csv")
    assert found.guarantee == str(KmAnonymity(3, 1))
    assert found.kept["exact"].low == pytest.approx(release.kept["exact"])


def test_a_learned_tree_is_learned_from_the_sample():
    assert shoal.profile(shop(400), 3, 2, hierarchy="learned:4").outlook.kept["info"].low > 0


def test_a_table_has_an_outlook_on_its_columns_and_items():
    lots = random.Random(5)
    rows = [{"age": lots.randint(20, 40), "sex": lots.choice("fm"), "items": lots.sample("abcd", 2)} for _ in range(90)]
    kept = shoal.profile(pl.DataFrame(rows), 3, 1, quasi="age,sex").outlook.kept
    assert {"info", "cells", "exact"} <= set(kept)
    alone = shoal.profile(pl.DataFrame(rows).drop("items"), 3, quasi="age,sex").outlook
    assert alone.kept.keys() == {"info", "cells"}


def test_a_promise_out_of_reach_is_said_to_be():
    found = shoal.profile([["a", "b"], ["a"], ["b"]], 5, 2)
    assert found.outlook is None
    assert any("what a release would keep is not known" in note for note in found.notes)
    assert shoal.profile([[], []], 5, 2).outlook is None


def test_samples_are_drawn_once_and_their_share_of_k_is_two_at_least():
    source = load_sets(shop(500))
    one, again = sample(source, 50), sample(source, 50)
    assert len(one) == 50
    assert np.array_equal(one.baskets.items, again.baskets.items)
    assert sample(source, 500) is source
    assert [share_of_k(KmAnonymity(20, 2), n, 500) for n in (10, 100, 250, 500)] == [2, 4, 10, None]


def test_progress_is_told():
    said = []
    outlook(load_sets(shop(300)), KmAnonymity(3, 2), {}, lambda doing, share, **more: said.append(doing))
    assert said[0] == "trying the promise on 300 rows"


def test_ranges_read_as_percent():
    assert str(Range(0.621, 0.709)) == "62% to 71%"
    assert str(Range(0.621, 0.622)) == "62%"


def test_a_search_that_ran_out_of_time_tells_nothing_from_above():
    assert range_of(0.0, 0.1, 0.75, 0.5) == Range(0.0, 1.0)
