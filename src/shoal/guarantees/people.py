"""What promises say where people are counted: several records may then be one person's, and a crowd is of different people.

The column that says whose a record is stays with the owner. So does the audit that counts by it: who has the file alone can count records.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.numbers import Codes, Ints

ROWS_NOT_PEOPLE = (
    "Rows are counted, not people: if one person has several rows, a crowd of rows can be a smaller crowd of people."
)
RECORDS_APART = (
    "People are counted, but each of their records is protected by itself: an attacker who knows what several records of one person "
    "hold, and that they are the same person's, is not considered."
)


def crowd_words(k: int, of_people: bool) -> str:
    """Whom an attacker faces."""
    return f"published records of at least {k} different people" if of_people else f"at least {k} published records"


def counted_facts(of_people: bool) -> dict[str, Any]:
    """What a promise says of how it counts, for --json and certificates. Nothing where it counts rows."""
    return {"counted": "people"} if of_people else {}


def of_people_words(k: int, what: str) -> str:
    """How the crowd was counted, and how much of it can be checked without the column; `what` is that which stands in k records."""
    return (
        "The owner counted people, by a column that is not published. Whoever has the published data alone can check less: that "
        f"{what} in at least {k} records."
    )


def members_of(of_row: npt.NDArray[np.integer[Any]], n_classes: int, people: Codes | None) -> Ints:
    """Per class of rows how many different people are in it; how many rows, where nobody says whose these are."""
    of_member = of_row if people is None else _members(of_row, people)[0]
    return np.bincount(of_member, minlength=n_classes).astype(np.int64)


def most_with_a_value(
    of_row: npt.NDArray[np.integer[Any]], value: npt.NDArray[np.integer[Any]], people: Codes, n_classes: int
) -> Ints:
    """Per class, the most people who have the same value, each in some row of it, or may have it: a value below 0 may be any."""
    of_member, member = _members(of_row, people)
    may_be_any = np.zeros(len(of_member), np.bool_)
    may_be_any[member[value < 0]] = True
    known = ~may_be_any[member]
    width = int(value.max(initial=-1)) + 1
    held = np.unique(member[known] * width + value[known])
    crowds, people_with = np.unique(of_member[held // max(1, width)] * width + held % max(1, width), return_counts=True)
    most = np.zeros(n_classes, np.int64)
    np.maximum.at(most, crowds // max(1, width), people_with)
    return most + np.bincount(of_member[may_be_any], minlength=n_classes)


def rows_by_class(of_row: npt.NDArray[np.integer[Any]], people: Codes | None) -> Ints:
    """The rows class by class, in each those of a person together."""
    order = np.argsort(of_row, kind="stable") if people is None else np.lexsort((people, of_row))
    return order.astype(np.int64)


def _members(of_row: npt.NDArray[np.integer[Any]], people: Codes) -> tuple[Ints, Ints]:
    """(class of each member, member of each row): a person once in each class where they have rows."""
    width = int(people.max(initial=0)) + 1
    keys, member = np.unique(of_row.astype(np.int64) * width + people, return_inverse=True)
    return keys // width, member.reshape(-1)


def people_facts(people: Codes | None) -> dict[str, Any]:
    """What an audit says where it counted people: how many there are. Nothing where every row is a person."""
    return {} if people is None else {"counted": "people", "people": len(np.unique(people))}
