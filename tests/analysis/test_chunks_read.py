"""What readers make of a release in chunks: records that are drawn, estimates with ranges, and what is kept."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.analysis.chunk_worth import chunk_worth
from shoal.analysis.reconstruction import drawn_records
from shoal.errors import InputError
from shoal.guarantees.chunks import Chunks

names = st.sampled_from("abcdefgh")
rows_of_names = st.lists(st.sets(names, min_size=1, max_size=4), min_size=6, max_size=40)


def released(rows, k=2, m=2, **how):
    return shoal.anonymize([sorted(row) for row in rows], shoal.ChunkAnonymity(k, m), cluster_size=2 * k + 2, **how)


def pieces(published):
    """Per cluster and chunk, how often each sub-record stands there."""
    found = {}
    rows = zip(published["cluster"].texts(), published["chunk"].texts(), published.items.rows(), strict=True)
    for cluster, chunk, items in rows:
        found.setdefault((cluster, chunk), Counter())[tuple(items)] += 1
    return found


@given(rows_of_names, st.integers(0, 3))
def test_records_that_are_drawn_could_have_been_published_so(rows, seed):
    """Every item stands in as many of the drawn records as the chunks say, and for rests in as many as there are lists at least."""
    release = released(rows)
    drawn = shoal.reconstruct(release, seed=seed)
    assert len(drawn) == len(rows)
    held = pieces(release.published)
    least = Counter()
    for (_, chunk), times in held.items():
        for items, n in times.items():
            least.update(dict.fromkeys(items, n if chunk != "rest" else 1))
    counted = Counter(item for row in drawn.rows() for item in row)
    assert counted == least  # with k = 2, an item of a rest stands in one record of its cluster


@given(rows_of_names, st.integers(2, 3))
def test_the_certain_range_of_any_set_holds_what_was_true(rows, k):
    release = released(rows, k)
    true = Counter(one for row in rows for size in (1, 2, 3) for one in combinations(sorted(row), size))
    wanted = sorted({item for row in rows for item in row})
    sets = [one for size in (1, 2, 3) for one in combinations(wanted, size)]
    for found in shoal.estimate_counts(release, sets):
        assert found.least <= true[found.items] <= found.most
        assert found.least <= found.low <= found.high <= found.most
        assert found.least <= found.value <= found.most


def test_sets_of_one_chunk_are_counted_exactly():
    rows = [["milk", "bread"]] * 9 + [["milk"]] * 5 + [["bread", "gin"]]
    release = shoal.anonymize(rows, shoal.ChunkAnonymity(3, 2))
    [both] = shoal.estimate_pairs(release, [("milk", "bread")])
    assert (both.value, both.least, both.most) == (9, 9, 9)
    [rule] = shoal.estimate_rules(release, [("milk", "bread")])
    assert rule.confidence.value == pytest.approx(9 / 14)
    [gin] = shoal.estimate_counts(release, ["gin"])
    assert (gin.least, gin.most) == (1, 15)


def test_the_estimate_is_about_the_mean_of_many_draws():
    draw = np.random.default_rng(4)
    rows = [sorted({f"{i}" for i in draw.zipf(1.6, 4) if i < 30} | {"0"}) for _ in range(300)]
    release = shoal.anonymize(rows, shoal.ChunkAnonymity(5, 2))
    found = shoal.estimate_pairs(release, top=10)
    chunks = Chunks.of(release.published)
    drawn = [drawn_records(chunks, 5, np.random.default_rng(seed)) for seed in range(20)]
    for pair in found:
        mean = np.mean([sum(set(pair.items) <= set(row) for row in one.rows()) for one in drawn])
        assert abs(mean - pair.value) < 0.35 * pair.value + 2


def test_a_file_and_its_certificate_say_as_much_as_the_release(tmp_path):
    rows = [["milk", "bread"]] * 9 + [["milk", "gin"]] * 3 + [["rum", "milk"]] * 2
    release = shoal.anonymize(rows, shoal.ChunkAnonymity(4, 2))
    written = release.write(tmp_path / "public.csv")
    own = shoal.estimate_counts(release, ["gin"])
    told = shoal.estimate_counts(tmp_path / "public.csv", ["gin"], certificate=written.targets.certificate)
    assert told == own
    assert told != shoal.estimate_counts(tmp_path / "public.csv", ["gin"])  # k is not in the file
    assert shoal.reconstruct(tmp_path / "public.csv", k=4).supports().sum() >= len(rows)
    with pytest.raises(InputError, match="has no use for a release in chunks"):
        shoal.estimate_counts(release, ["gin"], hierarchy="frequency:2")
    with pytest.raises(InputError, match="does not hold 1 of the items"):
        shoal.estimate_counts(release, ["tea"])
    with pytest.raises(InputError, match="a release in chunks has the columns"):
        shoal.reconstruct([["a"]])


def test_what_is_kept_is_all_where_a_cluster_has_one_chunk_and_no_rest():
    rows = [["milk", "bread"]] * 9 + [["milk"]] * 5
    release = shoal.anonymize(rows, shoal.ChunkAnonymity(3, 2))
    assert (release.loss["info"], release.kept["exact"], release.kept["pairs"]) == (0.0, 1.0, 1.0)


@given(rows_of_names)
def test_what_is_lost_is_a_share_and_evaluate_finds_the_same(rows):
    release = released(rows)
    original = shoal.Baskets.from_rows(rows)
    worth = chunk_worth(original, Chunks.of(release.published), 2)
    assert 0 <= worth.lost["info"] <= 1
    assert worth.lost["info"] == pytest.approx(release.loss["info"])
    assert worth.kept["exact"] == pytest.approx(1 - release.loss["listed"])


def test_evaluate_measures_drawn_records_and_no_risk():
    rows = [["milk", "bread"]] * 9 + [["milk", "gin"]] * 3 + [["rum", "milk"]] * 6
    release = shoal.anonymize(rows, shoal.ChunkAnonymity(4, 2))
    found = shoal.evaluate(rows, release)
    assert found["kept.info"] == pytest.approx(1 - release.loss["info"])
    assert found["risk.linkage"] is None
    assert "no row is published" in found.not_defined["risk.linkage"]
    assert found["utility.pairs"] is not None
    assert "in chunks" in found.notes[0]
    with pytest.raises(InputError, match="leave out same_order"):
        shoal.evaluate(rows, release, same_order=True)
    with pytest.raises(InputError, match="no row is a person's"):
        shoal.attack(release, raw=rows)
