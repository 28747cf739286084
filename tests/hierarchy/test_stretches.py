"""Ranges of dates and of bands: from the first to the last of a class, read back by everybody, and never wider than asked."""

from __future__ import annotations

import json
from collections import Counter
from datetime import date, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.cli import main
from shoal.errors import InputError
from shoal.hierarchy.kinds.bands import category_tree
from shoal.hierarchy.kinds.dates import date_tree
from shoal.hierarchy.kinds.stretches import stretches_of
from shoal.hierarchy.meanings import cell_meanings
from shoal.records.baskets import Baskets
from shoal.records.records import Column, Records

BANDS = ["<10", "[10-20)", "[20-30)", "[30-40)", "[40-50)", "[50-60)", "[60-70)", "70+"]
DAYS = [str(date(2024, 1, 1) + timedelta(days)) for days in range(500)]


@settings(max_examples=60)
@given(st.lists(st.sampled_from(DAYS), min_size=2, max_size=25, unique=True), st.data())
def test_a_range_of_dates_means_all_days_from_its_first_to_its_last(days, data):
    stretches = stretches_of(date_tree(days, "ranges"))
    ordered = sorted(days)
    low = data.draw(st.integers(0, len(days) - 1))
    high = data.draw(st.integers(low, len(days) - 1))
    label = stretches.label(low, high)
    tree = stretches.tree
    if label in tree.names:
        start, stop = tree.span[tree.names.index(label)]
        meant = {tree.names[v] for v in tree.leaf_order[start:stop].tolist()}
    else:
        assert label == f"{ordered[low]}..{ordered[high]}"
        meant = {tree.names[v] for v in stretches.members(label)}
    assert meant == {day for day in days if ordered[low] <= day <= ordered[high]}


@pytest.mark.parametrize("low", range(8))
def test_bands_join_wherever_they_stand(low):
    stretches = stretches_of(category_tree(tuple(reversed(BANDS)), "bands:ranges"))
    assert stretches.texts == tuple(BANDS)
    for high in range(low + 1, 8):
        label = stretches.label(low, high)
        if label not in stretches.tree.names:
            assert [stretches.tree.names[v] for v in stretches.members(label)] == BANDS[low : high + 1]
    assert stretches.label(1, 2) == "[10-30)"
    assert stretches.label(5, 7) == "50+"


def test_days_before_months_are_ordered_by_time_not_by_name():
    stretches = stretches_of(date_tree(["31.01.2024", "01.02.2024", "15.03.2023"], "ranges"))
    assert stretches.texts == ("15.03.2023", "31.01.2024", "01.02.2024")
    assert stretches.label(1, 2) == "2024-Q1"  # all of it that there is
    assert stretches.label(0, 1) == "15.03.2023..31.01.2024"


def test_what_is_no_range_means_nothing():
    stretches = stretches_of(date_tree(DAYS[:40], "ranges"))
    for text in (
        "2024-01-05..2023-01-01",
        "2024-01-05..",
        "..",
        "2024-02-05..2024-01-05",
        "2024-01-01..2024-01-02..2024-01-03",
    ):
        assert not stretches.members(text)
    with pytest.raises(InputError, match="stand in an order"):
        stretches_of(date_tree([*DAYS, "soon"], "ranges"))
    assert stretches_of(date_tree(DAYS, "")) is None
    assert stretches_of(None) is None


def table(n=120, seed=5, missing=0):
    random = np.random.default_rng(seed)
    days = [DAYS[i] for i in random.integers(0, 400, n)]
    days[:missing] = [""] * missing
    ages = [BANDS[i] for i in random.integers(0, 8, n)]
    return Records((Column.from_texts("day", "quasi", days), Column.from_texts("age", "quasi", ages)))


RANGES = {"day": "dates:ranges", "age": "bands:ranges"}


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1_000), st.sampled_from(["cluster", "mondrian"]), st.integers(0, 3))
def test_every_value_lies_in_its_range_and_every_measure_reads_it(seed, algorithm, missing):
    records = table(60, seed, missing)
    release = shoal.anonymize(records, shoal.TableAnonymity(4), hierarchy=RANGES, algorithm=algorithm, keep_order=True)
    texts = [release.published[name].texts() for name in ("day", "age")]
    assert min(Counter(zip(*texts, strict=True)).values()) >= 4
    for published, original in zip(texts[0], records["day"].texts(), strict=True):
        first, mark, last = published.partition("..")
        if mark:
            assert first <= original <= last
        else:
            assert published == "*" or original.startswith(published) or (original and "Q" in published)
    losses = []
    for name in ("day", "age"):
        tree = shoal.models.tables.hierarchies(records, RANGES, None)[name]
        cells = cell_meanings(release.published[name], records[name], tree)
        losses.append(float(cells.cost[release.published[name].codes].mean()))
        for i, original in enumerate(records[name].texts()):
            published = int(release.published[name].codes[i])
            assert cells.fitting(original)[published] or (not original and cells.values[published] == "*")
    assert release.loss["ncp"] == pytest.approx(float(np.mean(losses)))


def test_ranges_lose_less_than_the_nodes_of_the_tree():
    for algorithm in ("cluster", "mondrian"):
        ranges, nodes = (
            shoal.anonymize(table(), shoal.TableAnonymity(5), hierarchy=trees, algorithm=algorithm).loss["info"]
            for trees in (RANGES, {"day": "dates", "age": "bands"})
        )
        assert ranges < nodes


def test_a_limit_holds_for_ranges_too():
    release = shoal.anonymize(
        table(300), shoal.TableAnonymity(3), hierarchy=RANGES, limits={"day": "year"}, algorithm="mondrian"
    )
    for text in release.published["day"].texts():
        first, mark, last = text.partition("..")
        assert not mark or first[:4] == last[:4]


def test_the_file_is_audited_evaluated_verified_and_attacked(tmp_path, capsys):
    raw, out = tmp_path / "raw.csv", str(tmp_path / "public.csv")
    records = table(200)
    random = np.random.default_rng(1)
    codes = Baskets.from_rows([sorted(set(random.choice(list("ABCD"), 2).tolist())) for _ in range(200)])
    lines = zip(records["day"].texts(), records["age"].texts(), codes.rows(), strict=True)
    raw.write_text("day,age,codes\n" + "".join(f"{day},{age},{' '.join(held)}\n" for day, age, held in lines))
    roles = ["--quasi", "day,age", "--items", "codes"]
    trees = ["--hierarchy", "day=dates:ranges", "--hierarchy", "age=bands:ranges"]
    assert (
        main(["anonymize", str(raw), "--model", "rt", "--k", "4", *roles, *trees, "--balance", "0.9", "-o", out]) == 0
    )
    assert ".." in (tmp_path / "public.csv").read_text()
    assert main(["audit", out, "--model", "rt", "--k", "4", *roles]) == 0
    assert main(["verify", f"{out}.certificate.json", out, "--original", str(raw)]) == 0
    capsys.readouterr()
    assert main(["evaluate", str(raw), out, *roles, *trees, "--json"]) == 0
    text = capsys.readouterr().out
    assert json.loads(text)
    assert main(["attack", out, "--raw", str(raw), "--k", "4", *roles, *trees]) == 0
