"""The certificate as an adversary's tool: with file and tree at hand, it tells nothing about counts below k that they do not tell."""

from __future__ import annotations

import json
import random
from itertools import islice

import pytest

import shoal
from certificate_attacks import (
    TREE,
    WORLDS,
    certified,
    counts_of,
    derived,
    facts_in,
    originals,
    released,
    same_files,
    seen_in_pdf,
    seen_on_page,
    write_trees,
)
from shoal import Baskets
from shoal.certificate.disclosure import CROWDS, STEPS, at_least, nearest_step, step_for

ENOUGH = 4
"""Pairs of originals with the same file that are compared."""
LEAVES = {line.split(";")[0]: 1 for line in TREE.splitlines()} | {"x": 3, "y": 2, "z": 2, "all": 7}


@pytest.mark.parametrize("name", WORLDS)
def test_originals_of_the_same_file_have_the_same_certificate(tmp_path, name):
    write_trees(tmp_path)
    world, met = WORLDS[name], 0
    for seed in range(12):
        for first, near, seen, again in same_files(
            world, tmp_path, seed, 6, lambda release: facts_in(certified(release, tmp_path))
        ):
            met += 1
            assert again == seen, f"{first} and {near}"
        if met >= ENOUGH:
            break
    assert met, "no two originals gave the same file: the attack was none"


@pytest.mark.parametrize(("form", "see"), [("html", seen_on_page), ("pdf", seen_in_pdf)])
@pytest.mark.parametrize("name", ["exact", "hybrid", "split", "rt, sets", "injector"])
def test_pages_and_pdfs_show_no_difference_either(tmp_path, name, form, see):
    write_trees(tmp_path)
    world, met = WORLDS[name], 0
    for seed in range(12):
        for _, _, seen, again in same_files(
            world, tmp_path, seed, 3, lambda release: see(certified(release, tmp_path, form))
        ):
            met += 1
            assert again == seen
        if met >= 2:
            break
    assert met


def test_text_of_a_pdf_is_read_whole(tmp_path):
    write_trees(tmp_path)
    release = released(WORLDS["exact"], next(originals(WORLDS["exact"], 3)), tmp_path)
    text, drawn = seen_in_pdf(certified(release, tmp_path, "pdf"))
    together = text.replace("\n", " ")
    assert "holds for all 9 rows" in together
    assert "What it cost" in together
    assert "no more than the promise needs" in together
    assert "%" in together
    assert drawn


@pytest.mark.parametrize(
    "name", ["exact", "exact, k = 2", "exact, suppressed", "hybrid", "local", "da", "split", "gsc"]
)
def test_no_sum_turns_a_figure_back_into_a_count_below_k(tmp_path, name):
    write_trees(tmp_path)
    world = WORLDS[name]
    for original in (rows for seed in range(8) for rows in islice(originals(world, seed), 2)):
        release = released(world, original, tmp_path)
        if release is None:
            continue
        content = json.loads(certified(release, tmp_path))
        sets = [row["items"] for row in original]
        truth = counts_of(release, sets)
        for found in derived(content, list(release.published.rows()), LEAVES):
            count = round(found.count)
            if 0 < count < world.least and abs(found.count - count) < 1e-6:
                assert count not in truth[found.what], f"{found} follows"


LARGE = {
    "hybrid": (
        shoal.KmAnonymity(3, 2),
        {"algorithm": "hybrid", "hierarchy": "tree.csv", "suppress": 0.2},
        ("deleted",),
    ),
    "exact": (shoal.KmAnonymity(3, 2), {"hierarchy": "prefix"}, ()),
    "split": (shoal.KAnonymity(3), {}, ("il", "added", "removed")),
}


@pytest.mark.parametrize("name", LARGE)
def test_figures_of_much_data_stay_useful_and_stand_for_crowds(tmp_path, name):
    write_trees(tmp_path)
    guarantee, options, rough = LARGE[name]
    if options.get("hierarchy") == "tree.csv":
        options = options | {"hierarchy": str(tmp_path / "tree.csv")}
    lots = random.Random(5)
    rows = [lots.sample("abdf", 2) for _ in range(700)] + [lots.sample("abcdefg", 3) for _ in range(60)]
    release = shoal.anonymize(Baskets.from_rows(rows), guarantee, **options)
    content = json.loads(certified(release, tmp_path))
    published = release.published.occurrences
    for figure in rough:
        step = content["rounded_to"]["loss"][figure]
        assert step * published >= CROWDS * guarantee.k
        assert content["loss"][figure] == nearest_step(release.loss[figure], step)
        assert abs(content["loss"][figure] - release.loss[figure]) <= step / 2 + 1e-9
    step = content["risk"]["in_steps_of"]
    assert step * len(rows) >= CROWDS * guarantee.k
    for stated, exact in zip(content["risk"]["before"], release.risk, strict=True):
        assert stated["knows"] == exact.knows
        for part, count in (("fewer_than_k", exact.few), ("singled_out", exact.single)):
            assert stated[part] == at_least(count / len(rows), step) <= count / len(rows) + 1e-9


def test_steps_stand_for_twenty_crowds_whatever_is_counted():
    assert step_for(0, 2) is None
    assert step_for(399, 2) is None
    for k in (1, 2, 5, 100):
        for step in STEPS:
            enough = round(CROWDS * k / step)
            assert step_for(enough, k) == step
            assert step_for(enough - 1, k) != step
    assert (nearest_step(0.0349, 0.01), nearest_step(0.0351, 0.01), nearest_step(0.00049, 0.001)) == (0.03, 0.04, 0.0)
    assert (at_least(0.0399, 0.01), at_least(0.3, 0.1), at_least(1.0, 0.05)) == (0.03, 0.3, 1.0)


def test_longest_row_does_not_show_in_the_risk_before(tmp_path):
    rows = [["a", "b"]] * 400 + [["a", "c"]] * 400
    seen = []
    for longer in ([], [["a", "b", "c"]] * 2):
        release = shoal.anonymize(Baskets.from_rows(rows + longer), shoal.KmAnonymity(2, 4), hierarchy="balanced:2")
        content = json.loads(certified(release, tmp_path))
        seen.append([known["knows"] for known in content["risk"]["before"]])
    assert seen == [["one item", "up to 2 items", "up to 3 items"]] * 2


def test_range_of_numbers_that_no_class_shows_is_not_told(tmp_path):
    (tmp_path / "t.csv").write_text("age,sex\n" + "20,f\n21,f\n22,f\n" * 2 + ",m\n97,m\n40,m\n")
    release = shoal.anonymize(str(tmp_path / "t.csv"), shoal.TableAnonymity(3), quasi="age,sex", numeric="age")
    assert "*" in release.recoding.values["age"]
    content = json.loads(certified(release, tmp_path))
    assert content["withheld"] == {"loss": ["ncp"], "ncp_by_column": ["age"]}
    assert content["ncp_by_column"] == {"sex": 0.0}
