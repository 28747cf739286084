"""k^m-anonymity (Terrovitis, Mamoulis, Kalnis 2008): whoever knows up to m items of a transaction faces at least k of them.

The audit sees published tokens and nothing else: no hierarchy, no recoding, no original. Every itemset of at most m
tokens that occurs must occur in at least k rows. A transaction without items carries nothing to know and is safe.

Where several rows may be one person's, sets are counted in people: a set is in as many people as have a row that holds it. Whoever knows
items of a row then faces k people, not k rows of a few.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from shoal.errors import number_of
from shoal.guarantees.audit import Audit, Witness, empty_sets
from shoal.guarantees.people import RECORDS_APART, ROWS_NOT_PEOPLE, counted_facts, of_people_words, people_facts
from shoal.guarantees.soundness import check_sets
from shoal.numbers import Codes, Ints, warn_of_one, whole_number
from shoal.records.baskets import Baskets

COUNTED = 2e10
"""Sizes are counted in full while the data holds no more subsets than this; beyond, a breach ends the walk."""
FEW_PAIRS = 1 << 22
"""Pairs of items up to which each has a counter that the caches hold, where that many items stand in the rows, ..."""
LITTLE = 1 << 20
"""... and however few do."""
FEW_TO_SORT = 1 << 18
"""Pairs in all rows up to which they are sorted, which takes some hundredths of a second more than a walk, and no walk to be compiled."""
Counted: TypeAlias = tuple[Ints, Ints, tuple[Witness, ...]]
"""Per size, how many sets occur and how many of them are rare; and the rarest."""


@dataclass(frozen=True)
class KmAnonymity:
    """The promise: every itemset of at most m items that occurs in the published data occurs in at least k rows.

    Args:
        k: The smallest crowd.
        m: How many items of a person an attacker may know.

    Raises:
        InputError: k or m is not a whole number of at least 1.

    >>> import shoal
    >>> promise = shoal.KmAnonymity(k=5, m=2)
    >>> str(promise)
    '5^2-anonymity'
    >>> print(promise.promise()[0])
    Whoever knows up to 2 items of a person's record finds either no published record that holds them, or at least 5.
    """

    k: int
    m: int
    of_people: bool = field(default=False, kw_only=True, repr=False)
    """Whether the crowd is promised in people, by a column that said whose each row is, and not in rows."""

    model = "km"

    def __post_init__(self) -> None:
        for name, value in (("k", self.k), ("m", self.m)):
            whole_number(name, value, 1)
        if type(self) is KmAnonymity:  # what audits make of it says nothing new
            warn_of_one(self.k)

    def __str__(self) -> str:
        return f"{self.k}^{self.m}-anonymity"

    def to_dict(self) -> dict[str, Any]:
        numbers = {"model": self.model, "k": int(self.k), "m": int(self.m), "name": str(self)}
        return numbers | counted_facts(self.of_people)

    def promise(self) -> tuple[str, ...]:
        """Which attacker is stopped, in plain words."""
        return (
            f"{self._crowd()}.",
            "This holds for every combination of published items, common or rare, and was counted on the published data itself.",
            *self._counting(),
        )

    def _crowd(self) -> str:
        items = "one item" if self.m == 1 else f"up to {self.m} items"
        crowd = f"records of at least {self.k} different people" if self.of_people else f"at least {self.k}"
        return (
            f"Whoever knows {items} of a person's record finds either no published record that holds them, or {crowd}"
        )

    def _counting(self) -> tuple[str, ...]:
        return (of_people_words(int(self.k), "the same combinations are"),) if self.of_people else ()

    def limits(self) -> tuple[str, ...]:
        """Which attacker is not stopped."""
        return (
            f"An attacker who knows more than {number_of(self.m, 'item')} of a record may still single it out.",
            "An attacker who knows that a person did not have an item, or how many items the person has, is not considered.",
            "If all candidate records share a further item, the attacker learns that item without knowing whose record is whose.",
            "Items were changed no more than the promise needs. Whoever knows that can conclude why: of items that are published as "
            "their category, one at least was too rare, by itself or together with others; and with k = 2, a category that stands in 2 "
            "rows may well be one item in each.",
            RECORDS_APART if self.of_people else ROWS_NOT_PEOPLE,
            "Several releases of the same people can be combined; the promise is about this release alone.",
        )

    def audit(
        self,
        published: Baskets,
        *,
        witnesses: int = 10,
        yes_or_no: bool = False,
        threads: int | None = None,
        progress: Callable[[float], None] | None = None,
    ) -> Audit:
        """Count every itemset of up to m published tokens, in people where rows say whose they are, else in rows; with `yes_or_no`,
        stop at the first that is too rare."""
        check_sets(published, threads)
        walk = _Walk(published, int(self.k), threads, progress)
        m = min(int(self.m), published.longest)
        if yes_or_no:
            checked, rare, found = walk(m, witnesses, only_one=True)
            complete = not rare.any()
        else:
            full = affordable(published.lengths, m)
            checked, rare, found = walk(full, witnesses, only_one=False)
            complete = full == m
            if full < m and not rare.any():
                # No breach among the sizes that can be counted: the larger ones decide, and the first breach is enough.
                checked, rare, found = walk(m, witnesses, only_one=True)
                complete = not rare.any()
        sizes = range(1, len(checked))
        return Audit(
            guarantee=self.to_dict(),
            holds=not rare.any(),
            checked=int(checked.sum()),
            violations=int(rare.sum()),
            by_size={size: (int(checked[size]), int(rare[size])) for size in sizes},
            complete=complete,
            witnesses=found,
            notes=empty_sets(published.empty),
            facts=people_facts(published.people),
        )


@dataclass(frozen=True)
class Exposure:
    """What m known items give away in raw data, for one m."""

    m: int
    itemsets: int
    """Itemsets of exactly m items that occur."""
    rare: int
    """Those that occur in fewer than k rows."""
    exposed: int
    """Transactions that m or fewer items narrow down to fewer than k, rows or, where rows say whose they are, people."""
    unique: int
    """Transactions that m or fewer items single out."""
    examples: tuple[Witness, ...]


def exposures(
    baskets: Baskets,
    k: int,
    up_to: int,
    *,
    examples: int = 3,
    threads: int | None = None,
    known: Ints | None = None,
    marks: tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]] | None = None,
) -> list[Exposure]:
    """For m = 1, 2, ..., `up_to`: rare itemsets, and transactions that they give away.

    `known` says to how many rows an attacker who knows no item has narrowed each row down already, where that is not all. `marks` are
    rows that are exposed, and unique, for other reasons, and take those that are found.
    """
    walk = _Walk(baskets, k, threads, None)
    marks = marks or (np.zeros(len(baskets), np.uint8), np.zeros(len(baskets), np.uint8))
    if known is not None:
        marks[0][known < k] = marks[1][known < min(k, 2)] = 1
    exposed, unique = (mark[walk.places] for mark in marks)
    found = []
    walk.mark_rare_items(exposed, unique)
    for m in range(1, min(up_to, baskets.longest, 255) + 1):
        checked, rare, witnesses = walk(m, examples, only_one=False, exposed=exposed, unique=unique, size=m)
        found.append(
            Exposure(
                m,
                int(checked[m]),
                int(rare[m]),
                int(np.count_nonzero(exposed)),
                int(np.count_nonzero(unique)),
                witnesses,
            )
        )
    for mark, own in zip(marks, (exposed, unique), strict=True):
        mark[walk.places] = own
    return found


class _Walk:
    """Baskets with their items numbered rarest first, over which itemsets of different sizes are counted.

    Where rows say whose they are, those of a person stand together here, and all supports are numbers of people.
    """

    def __init__(self, baskets: Baskets, k: int, threads: int | None, progress: Callable[[float], None] | None) -> None:
        from shoal.kernels.audit.itemset_counts import count_items
        from shoal.kernels.audit.threads import blocks_of_places, in_threads

        self.places: Any = slice(None)  # of the rows among those that were given
        if baskets.people is not None:
            self.places = np.argsort(baskets.people, kind="stable")
            baskets = baskets.take(self.places)
        self.baskets, self.threads, self.progress = baskets, threads, progress
        self.people = baskets.people
        self.k = min(k, len(baskets) + 1)  # more is as rare, and need not be a number that machines have
        items, n = baskets.items, len(baskets.vocabulary)
        if self.people is None:
            counts = in_threads(lambda a, b: count_items(items, n, a, b), blocks_of_places(len(items)), threads)
            self.support: Ints = np.sum(counts, axis=0)
        else:
            self.support = np.bincount(_people_of(items, np.repeat(self.people, baskets.lengths)), minlength=n)
        self.by_rank = np.argsort(self.support, kind="stable")
        self.rank = np.empty(len(self.support), np.int32)
        self.rank[self.by_rank] = np.arange(len(self.support), dtype=np.int32)

    @cached_property
    def rows(self) -> Any:
        """The rows in these numbers, and where each number stands."""
        from shoal.kernels.audit.numbered_rows import numbered_rows

        return numbered_rows(self.baskets.offsets, self.baskets.items, self.rank, self.threads)

    def __call__(
        self,
        m: int,
        keep: int,
        *,
        only_one: bool,
        exposed: npt.NDArray[np.uint8] | None = None,
        unique: npt.NDArray[np.uint8] | None = None,
        size: int = 0,
    ) -> Counted:
        from shoal.kernels.audit.itemset_counts import counted_itemsets, work_by_first_item
        from shoal.kernels.audit.threads import blocks_of_rows, in_threads

        if m < 1:
            return np.zeros(1, np.int64), np.zeros(1, np.int64), ()
        n_items = len(self.rank)
        if m == 1 and not only_one:
            return self._items(keep)
        has_counters = n_items**2 <= min(FEW_PAIRS, max(LITTLE, self.baskets.occurrences))
        if m == 2 and (has_counters or self._are_soon_sorted()):
            answer = (self._pairs if has_counters else self._sorted_pairs)(keep, exposed, unique, size)
            if not (only_one and answer[1].any()):
                return answer
        none = np.zeros(0, np.uint8)
        stop = np.zeros(1, np.bool_)
        rows = self.rows
        work: Any = 1.0 + rows.volume - np.diff(rows.starts)  # what stands behind: the pairs
        if m > 2:
            shares = blocks_of_rows(rows.offsets, 8 if len(rows.tails) > 8 * n_items else 1)
            prices = in_threads(
                lambda a, b: work_by_first_item(rows.offsets, rows.tails, n_items, a, b), shares, self.threads
            )
            work = np.sum(prices, axis=0)

        def count(first: int, last: int) -> Any:
            marks = (none if exposed is None else exposed, none if unique is None else unique)
            return counted_itemsets(rows, first, last, self.k, m, keep, only_one, stop, *marks, self.people)

        answers = in_threads(count, rows.blocks(work), self.threads, self.progress)
        checked = np.array([a[0] for a in answers]).sum(axis=0)
        rare = np.array([a[1] for a in answers]).sum(axis=0)
        return checked, rare, self._witnesses(rows, answers, keep, size)

    def mark_rare_items(self, exposed: npt.NDArray[np.uint8], unique: npt.NDArray[np.uint8]) -> None:
        """Marks rows with an item rarer than k, and with one that nobody else has: what m = 1 gives away."""
        for mark, rare in ((exposed, self.support < self.k), (unique, self.support < min(self.k, 2))):
            if rare.any():
                mark[self.baskets.rows_with(rare)] = 1

    def _items(self, keep: int) -> Counted:
        """As a call for m = 1."""
        is_rare = (self.support > 0) & (self.support < self.k)
        checked, rare = (np.array([0, np.count_nonzero(which)]) for which in (self.support, is_rare))
        found = []
        for rank in np.flatnonzero(is_rare[self.by_rank])[:keep].tolist():
            item = self.by_rank[rank]
            holding = self.baskets.rows_with(np.arange(len(self.rank)) == item)
            found.append(self._witness([rank], int(self.support[item]), holding))
        return checked, rare, tuple(found)

    def _pairs(
        self, keep: int, exposed: npt.NDArray[np.uint8] | None, unique: npt.NDArray[np.uint8] | None, size: int
    ) -> Counted:
        """As a call for m = 2, where pairs are few enough for a counter each: the rows are read once, as they lie."""
        from shoal.kernels.audit.itemset_counts import count_pairs, mark_pairs
        from shoal.kernels.audit.threads import blocks_of_rows, in_threads

        baskets, n, longest = self.baskets, len(self.rank), self.baskets.longest
        offsets, items = baskets.offsets, baskets.items
        blocks = blocks_of_rows(offsets, max(1, min(16, FEW_PAIRS // n**2, len(items) // n**2)))
        if self.people is not None:
            blocks = _whole_people(blocks, self.people)

        def count(first: int, last: int) -> Any:
            return count_pairs(offsets, items, self.rank, longest, first, last, self.people)

        def mark(first: int, last: int) -> None:
            mark_pairs(offsets, items, self.rank, longest, counts, self.k, first, last, exposed, unique)

        counts, *others = in_threads(count, blocks, self.threads, self.progress)
        for more in others:
            counts += more
        if exposed is not None:
            in_threads(mark, blocks, self.threads)
        # An item is a pair with itself.
        single = slice(None, None, n + 1)
        is_rare = (counts > 0) & (counts < self.k)
        checked, rare = (
            np.array([0, ones, np.count_nonzero(which) - ones])
            for which in (counts, is_rare)
            for ones in [np.count_nonzero(which[single])]
        )
        # What stands beside an item of a single row is as rare, and says no more than the item.
        is_rare &= (counts[single] != 1).repeat(n)
        is_rare[single] = (counts[single] > 0) & (counts[single] < self.k) & (size != 2)
        places = np.flatnonzero(is_rare)
        return checked, rare, self._rarest_of(places, counts[places], keep, size)

    def _are_soon_sorted(self) -> bool:
        """Whether rows, items in them and pairs of those are few."""
        if max(len(self.baskets), self.baskets.occurrences) > FEW_TO_SORT:
            return False
        lengths = self.baskets.lengths.astype(np.int64)
        return int((lengths * (lengths - 1) // 2).sum()) <= FEW_TO_SORT

    def _sorted_pairs(
        self, keep: int, exposed: npt.NDArray[np.uint8] | None, unique: npt.NDArray[np.uint8] | None, size: int
    ) -> Counted:
        """As a call for m = 2, where all pairs of all rows are few: they are listed and sorted, with nothing to compile."""
        baskets, n = self.baskets, max(1, len(self.rank))
        ends = np.repeat(baskets.offsets[1:], baskets.lengths)
        behind = ends - np.arange(len(ends)) - 1
        first = np.repeat(np.arange(len(ends)), behind)
        # The places behind each, one after the other.
        second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(behind) - behind, behind)
        one, other = (self.rank[baskets.items[at]].astype(np.int64) for at in (first, second))
        of_place = np.minimum(one, other) * n + np.maximum(one, other)
        row = np.repeat(np.arange(len(baskets)), baskets.lengths)[first]
        each = of_place if self.people is None else _people_of(of_place, self.people[row])
        pairs, times = np.unique(each, return_counts=True)
        if exposed is not None and unique is not None:
            for mark, fewer in ((exposed, self.k), (unique, min(self.k, 2))):
                held = row[np.isin(of_place, pairs[times < fewer])]
                mark[held[mark[held] == 0]] = 2
        support = self.support[self.by_rank]
        rare_items = np.flatnonzero((support > 0) & (support < self.k))
        rare = np.array([0, len(rare_items), np.count_nonzero(times < self.k)])
        checked = np.array([0, np.count_nonzero(support), len(pairs)])
        kept = (times < self.k) & (support[pairs // n] != 1)
        places, counts = pairs[kept], times[kept]
        if size != 2:
            places, counts = np.append(places, rare_items * (n + 1)), np.append(counts, support[rare_items])
        return checked, rare, self._rarest_of(places, counts, keep, size)

    def _rarest_of(self, places: Ints, counts: npt.NDArray[Any], keep: int, size: int) -> tuple[Witness, ...]:
        """The rarest pairs and items among those at these places, where a <= b is at a * n + b: then the smallest, then lower numbers."""
        n = max(1, len(self.rank))
        some = np.flatnonzero(counts <= np.partition(counts, keep)[keep]) if len(counts) > keep else slice(None)
        places, counts = places[some], counts[some]
        order = np.lexsort((places, places % (n + 1) > 0, counts))[:keep]
        return self._rarest_with(np.unique(places[order] // n), keep, size)

    def _rarest_with(self, first_items: Ints, keep: int, size: int) -> tuple[Witness, ...]:
        """The rarest pairs and items whose rarest item is one of these, as a walk meets them: as their rows come, then by number."""
        wanted = np.zeros(len(self.rank), np.bool_)
        wanted[self.by_rank[first_items]] = True
        places = self.baskets.rows_with(wanted)
        some = self.baskets.take(places)
        whose = np.arange(len(some)) if some.people is None else some.people
        row = np.repeat(np.arange(len(some)), some.lengths)
        number = self.rank[some.items]
        number = number[np.lexsort((number, row))]
        found: list[tuple[int, list[int]]] = []
        for a in first_items.tolist():
            of_a = row[number == a]
            in_row = np.zeros(len(some), np.bool_)
            in_row[of_a] = True
            beside = in_row[row] & (number > a)
            other, met = np.unique(number[beside], return_index=True)
            support = np.unique(_people_of(number[beside], whose[row[beside]]), return_counts=True)[1]
            held_by = len(np.unique(whose[of_a]))
            if held_by < self.k and size < 2:
                found.append((held_by, [a]))
            order = np.argsort(met)
            order = order[(support[order] < self.k) & (held_by > 1)]
            found += [(held, [a, b]) for b, held in zip(other[order].tolist(), support[order].tolist(), strict=True)]
        found.sort(key=lambda one: (one[0], len(one[1])))
        return tuple(
            self._witness(ranks, support, places[np.intersect1d(row[number == ranks[0]], row[number == ranks[-1]])])
            for support, ranks in found[:keep]
        )

    def _witness(self, ranks: Any, support: int, holding: Ints) -> Witness:
        """Items by name, and where in the data they stand together, from 1."""
        names = tuple(self.baskets.vocabulary[i] for i in sorted(self.by_rank[ranks].tolist()))
        if self.people is not None:
            holding = np.sort(self.places[holding])
        return Witness(names, support, tuple((holding + 1).tolist()))

    def _witnesses(self, rows: Any, answers: list[Any], keep: int, size: int = 0) -> tuple[Witness, ...]:
        """The rarest of what was kept, then the smallest."""
        from shoal.kernels.audit.numbered_rows import rows_holding

        kept = [
            (int(support), int(length), members[:length])
            for _, _, supports, sizes, sets in answers
            for support, length, members in zip(supports, sizes, sets, strict=True)
        ]
        kept.sort(key=lambda w: (w[0], w[1]))
        return tuple(
            self._witness(ranks, support, rows_holding(rows, np.sort(ranks)))
            for support, _, ranks in [w for w in kept if size in (0, w[1])][:keep]
        )


def _people_of(things: npt.NDArray[Any], people: npt.NDArray[Any]) -> Ints:
    """Each thing once for each person who has it, ascending."""
    n = int(people.max(initial=0)) + 1
    return np.unique(things.astype(np.int64) * n + people) // n


def _whole_people(blocks: list[tuple[int, int]], people: Codes) -> list[tuple[int, int]]:
    """The blocks of rows with all rows of a person in one of them."""
    cuts = {int(np.searchsorted(people, people[first])) for first, _ in blocks}
    return list(pairwise(sorted({*cuts, len(people)})))


def affordable(lengths: Ints, m: int) -> int:
    """The largest size, at least 2, up to which all subsets of all rows are few enough to be counted."""
    rows = np.bincount(lengths)  # of each length: a row's subsets depend on nothing else
    lengths = np.flatnonzero(rows)
    return affordable_size(lengths, rows[lengths], m)


def affordable_size(lengths: Ints, rows: Ints, m: int) -> int:
    """The same from the different lengths and how many rows have each."""
    ways = (rows * lengths).astype(np.float64)
    total = ways.sum()
    for size in range(2, m + 1):
        ways *= np.maximum(lengths - size + 1, 0) / size
        total += ways.sum()
        if size > 2 and total > COUNTED:
            return size - 1
    return m
