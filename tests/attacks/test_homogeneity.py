"""The homogeneity attack equals counting by hand."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.attacks.homogeneity import homogeneity
from shoal.errors import InputError
from shoal.records.baskets import Baskets
from shoal.records.records import Column, Records

rows = st.lists(
    st.tuples(st.sampled_from("ab"), st.frozensets(st.sampled_from("xyS")), st.sampled_from(["flu", "hiv", ""])),
    min_size=1,
    max_size=12,
)


def table(given: list[tuple[str, frozenset[str], str]]) -> Records:
    return Records(
        (
            Column.from_texts("sex", "quasi", (sex for sex, _, _ in given)),
            Column.from_texts("illness", "sensitive", (ill for _, _, ill in given)),
        ),
        Baskets.from_rows(items for _, items, _ in given),
        sensitive_items=frozenset("S"),
    )


@given(rows, st.integers(2, 4), st.sampled_from(["unknown", "value"]))
def test_it_equals_counting_by_hand(given: list[tuple[str, frozenset[str], str]], l: int, missing: str) -> None:  # noqa: E741
    crowds = defaultdict(list)
    for sex, items, ill in given:
        crowds[sex, items - {"S"}].append((items & {"S"}, ill))
    sure = []
    for crowd in crowds.values():
        unknown = sum(ill == "" for _, ill in crowd) if missing == "unknown" else 0
        held = Counter(ill for _, ill in crowd if ill or missing == "value")
        held = Counter({ill: count + unknown for ill, count in held.items()})
        held += Counter(item for items, _ in crowd for item in items)
        sure += [(max(held.values(), default=0), len(crowd))] * len(crowd)
    found = homogeneity(table(given), l, missing=missing)
    assert found.rows == len(given)
    assert found.crowds == len(crowds)
    assert found.certain == sum(most == size for most, size in sure)
    assert found.likely == sum(most * l > size for most, size in sure)
    assert found.highest == max(most / size for most, size in sure)
    assert found.average == pytest.approx(sum(most / size for most, size in sure) / len(sure))
    assert sum(found.by_confidence) == len(given)
    assert found.by_confidence[10] == found.certain


def test_an_example_names_the_value_and_the_crowd() -> None:
    found = homogeneity(table([("a", frozenset("x"), "hiv"), ("b", frozenset(), "flu"), ("a", frozenset("x"), "hiv")]))
    assert str(found.examples[0]) == "all 2 rows of the crowd of 1, 3 have illness hiv"
    assert found.certain == 3


def test_nothing_sensitive_is_refused() -> None:
    plain = Records((Column.from_texts("sex", "quasi", "ab"),))
    with pytest.raises(InputError, match="sensitive="):
        homogeneity(plain)
    with pytest.raises(InputError, match="at least 2"):
        homogeneity(table([("a", frozenset(), "")]), 1)
