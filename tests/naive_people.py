"""What promises say of people, counted as it is defined: rows are (person, values, items) and nothing is shared with the house."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations


def grouped(rows, key):
    groups = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return groups


def people(rows):
    return {row["person"] for row in rows}


def with_value(rows, name, value, *, or_missing=False):
    return {row["person"] for row in rows if row[name] == value or (or_missing and row[name] == "")}


def too_likely(rows, name, l, *, frequency):  # noqa: E741
    """Whether a value of a column is in too many rows, or of too many people; a missing one counts for none, or for any."""
    values = {row[name] for row in rows} - {""}
    if not frequency:
        return len(values) < l or any(with_value(rows, name, value) == people(rows) for value in values)
    for value in values | {""}:
        held = [row for row in rows if row[name] in (value, "")]
        if len(held) * l > len(rows) or len(with_value(rows, name, value, or_missing=True)) * l > len(people(rows)):
            return True
    return False


def table_breaches(rows, k, l, quasi, sensitive, *, frequency):  # noqa: E741
    return sum(
        len(people(group)) < k or (l > 1 and any(too_likely(group, name, l, frequency=frequency) for name in sensitive))
        for group in grouped(rows, lambda row: tuple(row[name] for name in quasi)).values()
    )


def k_breaches(rows, k, l, hidden):  # noqa: E741
    broken = 0
    for group in grouped(rows, lambda row: frozenset(row["items"]) - hidden).values():
        told = {item for row in group for item in row["items"]} & hidden
        shared = any({row["person"] for row in group if item in row["items"]} == people(group) for item in told)
        broken += len(people(group)) < k or (l > 1 and (len(told) < l or shared))
    return broken


def crowds(rows, m, quasi, hidden):
    """(class, known items, the rows that fit): every set of up to m items that occurs, the empty one too."""
    for name, group in grouped(rows, lambda row: tuple(row[name] for name in quasi)).items():
        known = {
            chosen
            for row in group
            for size in range(m + 1)
            for chosen in combinations(sorted(set(row["items"]) - hidden), size)
        }
        for chosen in known:
            yield name, chosen, [row for row in group if set(chosen) <= set(row["items"])]


def rt_breaches(rows, k, m, quasi, hidden=frozenset()):
    return sum(len(people(crowd)) < k for _, _, crowd in crowds(rows, m, quasi, hidden))


def inferences(rows, l, m, quasi, hidden):  # noqa: E741
    """Sensitive items in more than 1/l of the rows of a crowd, and those of more than 1/l of its people, each counted."""
    sure = 0
    for _, _, crowd in crowds(rows, m, quasi, hidden):
        for item in hidden:
            held = [row for row in crowd if item in row["items"]]
            sure += (len(held) * l > len(crowd)) + (len(people(held)) * l > len(people(crowd)))
    return sure


def telling_crowds(rows, l, m, quasi, name):  # noqa: E741
    return sum(too_likely(crowd, name, l, frequency=True) for _, _, crowd in crowds(rows, m, quasi, frozenset()))


def rows_beside_their_own(rows):
    """Rows in a bucket that holds another row of the same person."""
    groups = grouped(rows, lambda row: (row["bucket"], row["person"])).values()
    return sum(len(group) for group in groups if len(group) > 1)
