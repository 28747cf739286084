"""What the library says about flags and plans, as pages say it."""

from __future__ import annotations

import pytest

from shoal.app.project.project import spoken
from shoal.app.project.wording import in_words
from shoal.errors import VALUES, InputError, Message, option


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("people.csv: line 3 has 4 cells", "people.csv: line 3 has 4 cells."),
        ("my people.csv: line 3 has 4 cells", "my people.csv: line 3 has 4 cells."),
        ("plan.yaml: diagnoses: 3 codes are new", "diagnoses: 3 codes are new."),
        ("the plan: guarantee (line 7): it is missing", "Guarantee: it is missing."),
        ("plan.yaml: columns.pay (line 4): it has no role", "Column “pay”: it has no role."),
        ("k = 500, but there are only 120 rows", "k = 500, but there are only 120 rows."),
        ("there are only 120 rows.", "There are only 120 rows."),
        ("a file is missing", "A file is missing."),
        ("", "."),
    ],
)
def test_a_sentence_has_a_capital_and_a_name_has_not(given, said):
    assert spoken(given) == said


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("take a smaller options.delta", "take a smaller delta"),
        ("with the role quasi", "with the role “Others may know it”"),
        ("ask for model k", "ask for k-anonymity"),
        ("ask for guarantee.l 2 or more", "ask for l = 2 or more"),
        ("pass options: {unknown: root} to hang them under the root", "hang them under the root, in Hierarchies"),
        ("leave out input.separator", "leave out “Items inside a cell are parted by” in Data"),
        (
            "no solution for delta = 0.65: clusters of k = 9 already lose 0.6679 of the relational columns; 0.6679 works",
            "delta = 0.65 cannot be kept: to be alike in groups of 9 rows, the columns have to lose 0.6679 of their detail; 0.6679 works",
        ),
        ("well-known items – two--three", "well-known items – two--three"),
    ],
)  # fmt: skip
def test_keys_become_what_a_page_shows(given, said):
    assert in_words(given) == said


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
        (f"pass {option('unknown', 'root')} to hang them under the root", "Hang them under the root, in Hierarchies."),
        (f"{option('numeric')} is for tables", "The option numeric of plans is for tables."),
    ],
)
def test_options_become_what_a_page_shows(given, said):
    assert spoken(InputError(given)) == said
    assert spoken(Message(given)) == said


def test_a_page_shows_its_owner_the_values_of_a_message():
    assert (
        spoken(InputError(f"3 items are new{VALUES}; add them", values=["a", "b", "c"]))
        == "3 items are new (a, b, c); add them."
    )
