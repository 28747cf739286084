"""The background knowledge attack on buckets (Li and Li 2008, sections II and VI-A).

The attacker has found the rows of people and knows rules: such people never have that value. In each bucket they cross out what
cannot be, and then reason on: a value that only one row can have is that row's, and so on. What is left is exactly what some
assignment of the values to the rows allows. Anatomy draws its buckets at random, so the attack narrows rows down; Injector's buckets
are made to withstand it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.guarantees.diversity import counted_in, kinds_of_rows
from shoal.guarantees.values.missing import UNKNOWN, Missing
from shoal.kernels.audit.assignments import keep_open, open_values
from shoal.numbers import Bools, Codes, Ints, whole_number
from shoal.records.buckets import Buckets
from shoal.records.knowledge import Rules, covers
from shoal.showing import fields_of


@dataclass(frozen=True)
class Narrowed:
    """A row that the attack narrows down, for reading."""

    row: int
    """Counted from 1."""
    bucket: str
    """What its bucket is called in the release."""
    known: Mapping[str, str]
    """Its values in the columns that the rules speak of."""
    values: tuple[str, ...]
    """What its bucket shows."""
    left: tuple[str, ...]
    """What is possible for it."""
    rules: tuple[str, ...]
    """The rules that cross out values for this very row."""

    def __str__(self) -> str:
        who = ", ".join(f"{name}={value}" for name, value in self.known.items())
        by = f"; {'; '.join(self.rules)}" if self.rules else ""
        left = " or ".join(self.left) if self.left else "no value that is known"
        others = "" if len(self.rules) >= len(self.values) - len(self.left) else " (other rows need the rest)"
        return f"row {self.row:,} ({who}) is in bucket {self.bucket} with {', '.join(self.values)}{by}: that leaves {left}{others}"


@dataclass(frozen=True)
class BackgroundAttack:
    """What an attacker with rules makes of a bucketized release."""

    l: int  # noqa: E741 (the papers' name)
    rows: int
    buckets: int
    rules: int
    """Rules that the attacker knows, those that follow from others left out."""
    crossed_out: int
    """Rows with fewer than l values after crossing out what the rules exclude for them."""
    narrowed: int
    """Rows with fewer than l values when the other rows of the bucket are taken into account: the paper's vulnerable tuples."""
    certain: int
    """Rows of which one value is left."""
    contradicted: int
    """Rows in buckets that the rules contradict. They are not counted as narrowed: the attacker learns that a rule is wrong."""
    by_values: tuple[int, ...]
    """How many rows have 0, 1, 2, ... values left."""
    examples: tuple[Narrowed, ...]

    @property
    def share(self) -> float:
        """The share of rows that are narrowed below l."""
        return self.narrowed / self.rows if self.rows else 0.0

    def to_dict(self) -> dict[str, Any]:
        return {
            **fields_of(self, "l", "rows", "buckets", "rules", "crossed_out", "narrowed"),
            "narrowed_share": self.share,
            **fields_of(self, "certain", "contradicted"),
            "by_values": list(self.by_values),
            "examples": [str(example) for example in self.examples],
        }


def background_attack(
    published: Buckets,
    rules: Rules,
    l: int,  # noqa: E741
    *,
    missing: Missing = UNKNOWN,
    examples: int = 5,
    threads: int | None = None,
) -> BackgroundAttack:
    """How many rows the rules narrow down to fewer than l values, and to a single one. `missing` is as for MatchingDiversity."""
    whole_number("l", l, 1)
    whole_number("examples", examples, 0)
    used = rules.without_redundant()
    counted = counted_in(published, missing)
    kind, excluded = kinds_of_rows(published.rows, rules, published.vocabulary, threads, counted)
    group, bucket, kind_of, number = open_values(
        published.of_row, kind, excluded, published.offsets, published.values, published.counts, counted, threads
    )
    many = np.bincount(group, minlength=len(number))
    not_excluded = _open(published, bucket, kind_of, excluded, counted)
    weak = (number < l) & (number >= 0)
    worst = np.flatnonzero(weak)
    worst = worst[np.argsort(number[worst], kind="stable")][:examples]
    first_row = np.full(len(number), len(group), np.int64)
    np.minimum.at(first_row, group, np.arange(len(group)))
    return BackgroundAttack(
        int(l),
        len(group),
        len(published),
        len(used),
        int(many[not_excluded < l].sum()),
        int(many[weak].sum()),
        int(many[number == 1].sum()),
        int(many[number < 0].sum()),
        tuple(np.bincount(number.clip(0), many).astype(int).tolist()) if len(number) else (),
        tuple(_example(published, used, kind, excluded, counted, int(first_row[g])) for g in worst.tolist()),
    )


def _open(published: Buckets, bucket: Ints, kind_of: Ints, excluded: Bools, counted: Bools) -> Ints:
    """Per group of rows, the values of its bucket that count and that the rules do not exclude for it."""
    lengths = np.diff(published.offsets)[bucket]
    owner = np.repeat(np.arange(len(bucket)), lengths)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    values = published.values[published.offsets[bucket][owner] + within]
    open_to = ~excluded[kind_of[owner], values] & counted[values]
    return np.bincount(owner, open_to, minlength=len(bucket)).astype(np.int64)


def _example(published: Buckets, rules: Rules, kind: Codes, excluded: Bools, counted: Bools, row: int) -> Narrowed:
    b = int(published.of_row[row])
    part = slice(published.offsets[b], published.offsets[b + 1])
    values = published.values[part]
    kinds, rows = np.unique(kind[published.of_row == b], return_counts=True)
    allowed = ~excluded[kinds][:, values]
    keep_open(rows.astype(np.int64), published.counts[part], allowed)
    left = values[allowed[np.searchsorted(kinds, kind[row])] & counted[values]]
    shown = {published.vocabulary[v] for v in values.tolist()}
    columns = {name: published.rows[name] for name in rules.hierarchies}
    above = covers(published.rows.take(np.array([row])), rules.hierarchies)
    nodes = [
        set(above.node[above.start[p] : above.start[p + 1]].tolist())
        for p in (base + code for base, code in zip(above.base.tolist(), above.codes[:, 0].tolist(), strict=True))
    ]
    used: dict[str, str] = {}  # one rule per value is enough
    for i in np.flatnonzero(np.isin(np.array(rules.values)[rules.value], sorted(shown))).tolist():
        if all(node < 0 or node in nodes[a] for a, node in enumerate(rules.nodes[i].tolist())):
            rule = rules[i]
            used.setdefault(rule.value, str(rule))
    return Narrowed(
        row + 1,
        published.label(b),
        {name: column.values[column.codes[row]] for name, column in columns.items()},
        tuple(published.vocabulary[v] or "(missing)" for v in values.tolist()),
        tuple(published.vocabulary[v] or "(missing)" for v in left.tolist()),
        tuple(used.values()),
    )
