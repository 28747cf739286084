"""What the library says about flags and plans, as pages say it."""

from __future__ import annotations

import pytest

from shoal.app.project.wording import PageOrigin, as_sentence
from shoal.errors import VALUES, InputError, Message, option
from shoal.plan import plan_of


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("people.csv: line 3 has 4 cells", "people.csv: line 3 has 4 cells."),
        ("my people.csv: line 3 has 4 cells", "my people.csv: line 3 has 4 cells."),
        ("diagnoses: 3 codes are new", "diagnoses: 3 codes are new."),
        ("k = 500, but there are only 120 rows", "k = 500, but there are only 120 rows."),
        ("there are only 120 rows.", "There are only 120 rows."),
        ("a file is missing", "A file is missing."),
        ("", "."),
    ],
)
def test_a_sentence_has_a_capital_and_a_name_has_not(given, said):
    assert as_sentence(given) == said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"guarantee": None}, "Guarantee: it is missing; add guarantee: {model: km, k: 5, m: 2}."),
        ({"columns": {"pay": None}}, "Column “pay”: it has no role; give it one of items, id, person, drop."),
        ({"columns": {"pay": "quasi"}}, "Column “pay”: k^m-anonymity has no use for the role “Others may know it”; give it one of "
         "items, id, person, drop; for tables with items take (k,k^m)-anonymity."),
        ({"options": {"delta": 0.5}}, "delta: it has no use with k^m-anonymity; leave it out."),
        ({"options": {"suppress": 7.0}}, "“Items that may be deleted” in Promise: it is 7.0; give at most 1.0."),
        ({"input": {"path": "a.dat", "separator": "|"}}, "“Items inside a cell are separated by” in Data: FIMI text has no columns; leave "
         "it out."),
    ],
)  # fmt: skip
def test_places_of_a_plan_become_what_a_page_shows(change, said):
    document = {"version": 1, "input": {"path": "a.csv"}, "guarantee": {"model": "km", "k": 5, "m": 2}} | change
    with pytest.raises(InputError) as refusal:
        plan_of({name: part for name, part in document.items() if part is not None}, PageOrigin())
    assert as_sentence(refusal.value) == said


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (f"a smaller {option('delta')} keeps more", "A smaller delta keeps more."),
        (f"name it with {option('sensitive')}", "Name it with the role “Others want to learn it”."),
        (f"{option('suppress', '0.05')} would lose 3%", "“Items that may be deleted” in Promise at 5% would lose 3%."),
        (
            f"leave out {option('items')}, or ask for {option('model', 'rt')}",
            "Leave out the role “A set of items”, or ask for (k,k^m)-anonymity.",
        ),
        (f"{option('algorithm', 'hybrid')}, which also deletes", "The algorithm hybrid, which also deletes."),
        (f"ask for {option('l', '2')} or more", "Ask for l = 2 or more."),
        (f"hang them under the root ({option('unknown', 'root')})", "Hang them under the root (in Hierarchies)."),
        (f"{option('numeric')} is for tables", "The option numeric of plans is for tables."),
    ],
)
def test_options_become_what_a_page_shows(given, said):
    assert as_sentence(InputError(given)) == said
    assert as_sentence(Message(given)) == said


def test_a_page_shows_its_owner_the_values_of_a_message():
    assert (
        as_sentence(InputError(f"3 items are new{VALUES}; add them", values=["a", "b", "c"]))
        == "3 items are new (a, b, c); add them."
    )
