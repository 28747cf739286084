"""Quest-like baskets and the demo's grocery store: what they promise about their data, counted plainly."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.errors import InputError
from shoal.records.baskets import Baskets
from shoal.records.samples import quest as generators
from shoal.records.samples.grocery import grocery
from shoal.records.samples.quest import quest


def rows_are_sorted_sets(baskets: Baskets) -> bool:
    step = np.diff(baskets.items.astype(np.int64))
    inner = np.ones(len(step), bool)
    inner[baskets.offsets[1:-1] - 1] = False
    return bool(np.all(step[inner] > 0))


def test_quest_rows_are_sorted_sets_without_an_empty_one() -> None:
    baskets = quest(20_000)
    assert len(baskets) == 20_000
    assert baskets.empty == 0
    assert baskets.items.dtype == np.int32
    assert baskets.offsets.dtype == np.int64
    assert rows_are_sorted_sets(baskets)


@pytest.mark.parametrize(("length", "items"), [(1, 50), (2.5, 300), (10, 1_000), (40, 5_000)])
def test_quest_rows_are_as_long_as_asked_on_average(length: float, items: int) -> None:
    baskets = quest(20_000, length=length, items=items)
    assert baskets.occurrences / len(baskets) == pytest.approx(length, rel=0.02)


def test_quest_gives_the_same_data_for_the_same_seed_only() -> None:
    assert quest(2_000, seed=3) == quest(2_000, seed=3)
    assert quest(2_000, seed=3) != quest(2_000, seed=4)


def test_quest_data_of_n_rows_are_the_first_n_rows_of_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generators, "_BLOCK", 5_000)
    few, many = quest(1_234), quest(4_000)
    assert list(few) == list(many)[:1_234]


def test_quest_names_items_by_number_and_only_those_that_occur() -> None:
    baskets = quest(30, items=500)
    assert len(baskets.vocabulary) < 500
    assert baskets.supports().min() == 1
    numbers = [int(name) for name in baskets.vocabulary]
    assert numbers == sorted(set(numbers))
    assert 1 <= numbers[0] <= numbers[-1] <= 500


def test_quest_items_are_skewed_as_in_a_shop() -> None:
    supports = np.sort(quest(20_000).supports())[::-1]
    tenth = len(supports) // 10
    assert supports[:tenth].sum() > 0.2 * supports.sum()
    assert supports[-tenth:].sum() < 0.03 * supports.sum()


def test_quest_patterns_make_items_go_together() -> None:
    baskets = quest(20_000)
    pairs = Counter(pair for row in baskets.rows() for pair in combinations(row, 2))
    supports = dict(zip(baskets.vocabulary, baskets.supports().tolist(), strict=True))
    (one, other), together = pairs.most_common(1)[0]
    assert together > 5 * supports[one] * supports[other] / len(baskets)


def test_quest_corruption_of_one_leaves_single_items_and_of_zero_whole_patterns() -> None:
    shape = {"length": 3, "items": 1_000, "patterns": 20, "pattern_length": 3, "correlation": 0}
    pairs = {
        corruption: len({pair for row in quest(5_000, corruption=corruption, **shape) for pair in combinations(row, 2)})
        for corruption in (0, 1)
    }
    assert pairs[0] < pairs[1]


@given(
    transactions=st.integers(1, 400),
    length=st.floats(1, 12),
    items=st.integers(12, 60),
    patterns=st.integers(1, 40),
    pattern_length=st.floats(1, 8),
    correlation=st.floats(0, 1),
    corruption=st.floats(0, 1),
    seed=st.integers(0, 2**40),
)
@settings(max_examples=60, deadline=None)
def test_quest_keeps_its_form_whatever_the_parameters(transactions: int, items: int, **shape: float) -> None:
    with mock.patch.object(generators, "_BLOCK", 1_000):
        baskets = quest(transactions, items=items, **shape)  # type: ignore[arg-type]
    assert len(baskets) == transactions
    assert baskets.empty == 0
    assert rows_are_sorted_sets(baskets)
    assert set(baskets.vocabulary) <= {str(i) for i in range(1, items + 1)}
    assert baskets.supports().min() >= 1


def test_quest_tells_its_progress_up_to_the_last_row() -> None:
    told: list[tuple[int, int]] = []
    quest(60_000, length=10, progress=lambda done, total: told.append((done, total)))
    assert len(told) > 1
    assert told == sorted(told)
    assert told[-1] == (60_000, 60_000)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"transactions": 0}, "transactions must be a whole number of at least 1, not 0"),
        ({"length": 0.5}, "length is 0.5; give 1 or more"),
        ({"length": float("nan")}, "length is nan; give 1 or more"),
        ({"items": 0}, "items must be a whole number of at least 1, not 0"),
        ({"items": 10**9}, "items must be a whole number from 1 to 1,000,000, not 1000000000"),
        ({"patterns": 10**8}, "100,000,000 patterns of 4 items are too many; give fewer or shorter ones"),
        ({"patterns": 0}, "patterns must be a whole number of at least 1, not 0"),
        ({"pattern_length": 0}, "pattern_length is 0; give 1 or more"),
        ({"items": 5}, "length is 10, but there are only 5 items; give a smaller length or more items"),
        ({"correlation": 1.5}, "correlation is 1.5; give a share from 0 to 1"),
        ({"corruption": -0.1}, "corruption is -0.1; give a share from 0 to 1"),
        ({"seed": -1}, "seed must be a whole number of at least 0, not -1"),
    ],
)
def test_quest_names_the_parameter_it_cannot_use(wrong: dict[str, float], said: str) -> None:
    with pytest.raises(InputError) as caught:
        quest(**({"transactions": 10} | wrong))  # type: ignore[arg-type]
    assert str(caught.value) == said


@pytest.fixture(scope="module")
def store() -> tuple[Baskets, list[tuple[str, ...]]]:
    return grocery()


Store = tuple[Baskets, list[tuple[str, ...]]]


def test_grocery_baskets_look_like_shopping(store: Store) -> None:
    baskets, _ = store
    assert len(baskets) == 10_000
    assert baskets.empty == 0
    assert baskets.duplicates == 0
    assert baskets.longest == 25
    assert 5.5 < baskets.occurrences / len(baskets) < 6.5
    assert rows_are_sorted_sets(baskets)


def test_grocery_store_is_a_tree_with_every_product_in_one_place(store: Store) -> None:
    baskets, paths = store
    products, categories, departments, roots = (set(level) for level in zip(*paths, strict=True))
    assert len(paths) == len(products) == 160
    assert len(categories) == 36
    assert len(departments) == 9
    assert roots == {"store"}
    assert len({path[1:] for path in paths}) == len(categories)
    assert len({path[2:] for path in paths}) == len(departments)
    labels = [*products, *categories, *departments, *roots]
    assert len(set(labels)) == len(labels)
    assert set(baskets.vocabulary) == products


def test_grocery_names_need_no_quotes_in_a_csv(store: Store) -> None:
    _, paths = store
    for label in {label for path in paths for label in path}:
        assert label == label.strip()
        assert not set(label) & set(",;\"'\t|\n")


def test_grocery_has_no_rare_pair_of_departments(store: Store) -> None:
    baskets, paths = store
    department = {path[0]: path[2] for path in paths}
    pairs = Counter(
        pair for row in baskets.rows() for pair in combinations(sorted({department[product] for product in row}), 2)
    )
    assert len(pairs) == 9 * 8 / 2
    assert min(pairs.values()) >= 5


def test_grocery_singles_customers_out_by_two_products(store: Store) -> None:
    baskets, _ = store
    pairs = Counter(pair for row in baskets.rows() for pair in combinations(row, 2))
    assert sum(1 for together in pairs.values() if together == 1) > 500
    supports = dict(zip(baskets.vocabulary, baskets.supports().tolist(), strict=True))
    assert 1 <= supports["pregnancy test"] < 5


def test_grocery_occasions_bring_products_together(store: Store) -> None:
    baskets, _ = store
    supports = dict(zip(baskets.vocabulary, baskets.supports().tolist(), strict=True))
    for one, other in [("nappies size 3", "baby wipes"), ("charcoal", "pork sausages"), ("flour", "sugar")]:
        together = sum(1 for row in baskets if {one, other} <= row)
        assert together > 3 * supports[one] * supports[other] / len(baskets)


def test_grocery_is_the_same_for_the_same_seed_and_grows_at_the_end() -> None:
    few, paths = grocery(300, seed=1)
    assert few == grocery(300, seed=1)[0]
    assert few != grocery(300, seed=2)[0]
    assert list(few) == list(grocery(500, seed=1)[0])[:300]
    assert len(paths) == 160


def test_grocery_refuses_numbers_it_cannot_use() -> None:
    with pytest.raises(InputError, match="transactions must be a whole number of at least 1"):
        grocery(0)
    with pytest.raises(InputError, match="seed must be a whole number of at least 0"):
        grocery(seed=-3)
