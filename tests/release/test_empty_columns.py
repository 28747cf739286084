"""A column or a tree of which nothing is left is never passed over in silence: the first note, JSON, and the certificate say it."""

from __future__ import annotations

import json

import pytest

import shoal
from shoal.cli import main
from shoal.records.baskets import Baskets
from shoal.records.records import Column, Records


@pytest.fixture
def raw(tmp_path):
    """Sixty people: nobody shares a city with four others, and few an item."""
    path = tmp_path / "raw.csv"
    lines = [f"{20 + i % 2},town{i},{'MF'[i % 2]},c{i % 30} d{i % 20}" for i in range(60)]
    path.write_text("age,city,sex,codes\n" + "\n".join(lines) + "\n")
    return str(path)


FLAGS = ["--model", "rt", "--k", "5", "--quasi", "age,city,sex", "--items", "codes"]


def test_the_first_note_and_the_certificate_name_a_column_that_became_one_value(raw, tmp_path, capsys):
    out = str(tmp_path / "public.csv")
    assert main(["anonymize", raw, *FLAGS, "-o", out, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["notes"][0].startswith("nothing is left of column 'city': it is * in every published row")
    assert "--balance" in facts["notes"][0]
    certificate = json.loads((tmp_path / "public.csv.certificate.json").read_text())
    assert "Column 'city' is * in every row: it says nothing that tells rows apart." in certificate["warnings"]
    assert main(["verify", f"{out}.certificate.json", out]) == 0
    assert main(["anonymize", raw, *FLAGS]) == 0
    told = capsys.readouterr()
    first = next(line for line in (told.out + told.err).splitlines() if line.startswith("note:"))
    assert "nothing is left of column 'city'" in first


def test_a_tree_that_could_not_help_is_named(raw, tmp_path):
    tree = tmp_path / "towns.csv"
    tree.write_text("".join(f"town{i};half{i % 2};*\n" for i in range(60)))
    release = shoal.anonymize(
        raw,
        shoal.TableAnonymity(40),
        quasi="age,city,sex",
        keep="codes",
        hierarchy={"city": str(tree)},
    )
    assert any("its hierarchy towns.csv could not help" in note for note in release.notes[:3])


def test_a_tree_that_helps_few_rows_is_named(tmp_path):
    tree = tmp_path / "towns.csv"
    tree.write_text("".join(f"town{i};*\n" for i in range(25)) + "same;*\n")
    ages = Column.from_texts("age", "quasi", [str(20 + i // 10) for i in range(30)], numeric=True)
    towns = Column.from_texts("city", "quasi", [f"town{i}" for i in range(25)] + ["same"] * 5)
    release = shoal.anonymize(Records((ages, towns)), shoal.TableAnonymity(5), hierarchy={"city": str(tree)})
    share = release.published["city"].texts().count("*") / 30
    assert 0.5 < share < 1
    assert f"the hierarchy towns.csv helps little with column 'city': {share:.0%} of the rows" in release.notes[0]
    assert (
        f"Column 'city' says nothing in {share:.0%} of the rows: they hold the root of its hierarchy."
        in release.proposal.warnings
    )


def test_a_column_that_had_one_value_anyway_is_no_loss():
    rows = Records(
        (
            Column.from_texts("age", "quasi", ["20"] * 5 + ["30"] * 5, numeric=True),
            Column.from_texts("ward", "quasi", ["A"] * 10),
        ),
        Baskets.from_rows([["x"]] * 10),
        "codes",
    )
    release = shoal.anonymize(rows, shoal.RTAnonymity(5, 2))
    assert not any("nothing is left" in note for note in release.notes)


def test_items_at_the_root_are_told_in_the_certificate_as_far_as_the_file_shows_them(raw, tmp_path):
    tree = tmp_path / "codes.csv"
    codes = [f"c{i}" for i in range(30)] + [f"d{i}" for i in range(20)]
    tree.write_text("".join(f"{code};{code[0]}{int(code[1:]) % 10}x;*\n" for code in codes))
    release = shoal.anonymize(
        raw,
        shoal.RTAnonymity(20, 2),
        quasi="age,sex",
        items="codes",
        keep="city",
        hierarchy={"codes": str(tree)},
        suppress=0.0,
    )
    root = release.published.items.supports()[release.published.items.vocabulary.index("*")]
    share = root / release.published.items.occurrences
    assert share > 0.5
    assert (
        f"Of the published items {share:.0%} say nothing: they are the root of the hierarchy."
        in release.proposal.warnings
    )
    assert any("helps little here" in note for note in release.notes)
