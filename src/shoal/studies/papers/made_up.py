"""Tables that stand in for people's: a census with impossible jobs, and patients with diagnoses. No row is about anybody."""

from __future__ import annotations

import numpy as np

from shoal.numbers import Floats
from shoal.records.records import Column, Records
from shoal.records.samples.quest import quest

_SIZES = {"age": 74, "workclass": 8, "education": 16, "marital-status": 7, "race": 5, "sex": 2}
_NEVER = (("workclass", 1, 12), ("education", 3, 5), ("education", 9, 2), ("sex", 1, 13), ("marital-status", 4, 7))
"""Column, value, and the occupation that nobody with it has."""
_USUAL = (0, 1, 3, 4)


def census(n: int, seed: int) -> Records:
    """n rows with six columns and 14 occupations, of which five do not occur with some value of a column."""
    rng = np.random.default_rng(seed)
    codes = {name: rng.choice(size, n, p=_falling(size)).astype(np.int32) for name, size in _SIZES.items()}
    job = rng.choice(14, n, p=_falling(14)).astype(np.int32)
    for name, code, never in _NEVER:
        wrong = (codes[name] == code) & (job == never)
        job[wrong] = rng.choice(_USUAL, np.count_nonzero(wrong))
    quasi = [
        Column.from_codes(name, "quasi", codes[name], [f"{name}{value:02}" for value in range(size)])
        for name, size in _SIZES.items()
    ]
    return Records(
        (*quasi, Column.from_codes("occupation", "sensitive", job, [f"job{value:02}" for value in range(14)]))
    )


def patients(n: int, seed: int) -> Records:
    """n rows with race, gender and age, and items of the Quest generator in place of diagnoses."""
    # A stream for each column, as the items have theirs: the first rows of more are those of fewer.
    race, gender, age = (np.random.default_rng((seed, number)) for number in range(3))
    ages = [f"[{low}-{low + 10})" for low in range(0, 100, 10)]
    columns = [
        Column.from_codes("race", "quasi", race.choice(5, n, p=_falling(5)), [f"race {value}" for value in range(5)]),
        Column.from_codes("gender", "quasi", gender.choice(2, n), ["Female", "Male"]),
        Column.from_codes("age", "quasi", age.binomial(9, 0.65, n), ages),
    ]
    return Records(tuple(columns), quest(n, length=3.7, items=915, seed=seed))


def _falling(size: int) -> Floats:
    """Shares that fall slowly, as those of classes and jobs do."""
    share: Floats = 1 / (np.arange(size) + 4.0)
    return share / float(share.sum())
