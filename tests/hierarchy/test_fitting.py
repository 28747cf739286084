"""Choosing the column of a tree's file by what fits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.cli import main
from shoal.hierarchy.files import read_hierarchy
from shoal.hierarchy.fitting import best_column

CODES = [f"{100 + 7 * i}" for i in range(90)]
HEADER = "no;code;text;block;chapter\n"
LINES = [f"{i + 1};{code};text of {code};B{i // 10};C{i // 30}\n" for i, code in enumerate(CODES)]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "icd.csv"
    path.write_text(HEADER + "".join(LINES))
    return path


def test_running_numbers_fit_by_accident_and_the_right_column_is_found(file):
    data = CODES[:60]
    by_number = read_hierarchy(file, root="*")
    assert 0 < sum(code in by_number.leaf_called for code in [*data, "1", "2"]) < len(data)
    fit = best_column(file, data)
    assert fit.names == ("code", "block", "chapter")
    assert (fit.known, fit.values) == (60, 60)
    tree = fit.tree()
    assert tree.n_leaves == len(CODES)
    assert tree.height == 3  # block, chapter, the root above
    leaf = tree.leaf_called["100"]
    assert tree.labels[tree.parent[leaf]] == "B0"


def test_files_without_a_header_number_their_columns(file):
    file.write_text("".join(LINES))
    assert best_column(file, CODES).names == ("column 2", "column 4", "column 5")
    assert best_column(file, CODES).tree().n_leaves == len(CODES)


def test_the_order_of_columns_does_not_matter(file):
    rows = [line.strip().split(";") for line in [HEADER, *LINES]]
    file.write_text("".join(f"{';'.join(reversed(row))}\n" for row in rows))
    assert best_column(file, CODES).names == ("code", "block", "chapter")


@pytest.mark.parametrize("text", ["parent,child\na,b\n", "a\nb\n", '{"a": ["b"]}', "x;y\n1;2\n", ""])
def test_what_has_no_columns_to_choose_from_is_left_alone(file, text):
    file.write_text(text)
    assert best_column(file, CODES) is None


@given(st.lists(st.tuples(*[st.sampled_from("abc")] * 3), min_size=2, max_size=8), st.sets(st.sampled_from("abcz")))
def test_the_best_column_knows_as_many_values_as_any(tmp_path_factory, rows, values):
    path = tmp_path_factory.mktemp("trees") / "t.csv"
    path.write_text("one;two;three\n" + "".join(f"{';'.join(row)}\n" for row in rows))
    fit = best_column(path, values)
    if fit is not None:
        known = [len({row[column] for row in rows} & values) for column in range(3)]
        assert fit.known == max(known)
        tree = fit.tree()
        assert set(tree.labels[: tree.n_leaves]) == {row[fit.columns[0]] for row in rows}


def test_the_command_names_the_column_that_fits(file, monkeypatch, capsys):
    monkeypatch.chdir(file.parent)
    (file.parent / "sets.csv").write_text("items\n" + "".join(f"{code}\n" for code in CODES))
    assert (
        main(
            ["hierarchy", "convert", "icd.csv", "--levels", "no,block,chapter", "--add-root", "ALL", "-o", "by-no.csv"]
        )
        == 0
    )
    assert main(["hierarchy", "check", "by-no.csv", "sets.csv"]) == 2
    assert "its column" not in capsys.readouterr().err  # there is none in it
    file.write_text(file.read_text().replace("\n", ";all\n").replace("chapter;all", "chapter;root"))
    assert main(["hierarchy", "check", "icd.csv", "sets.csv"]) == 2
    told = capsys.readouterr().err
    assert "its column 'code' knows 90 of 90 values, the leaves 0" in told
    assert main(["anonymize", "sets.csv", "--k", "2", "--hierarchy", "icd.csv"]) == 2
    assert told.removeprefix("shoal: ").strip() in capsys.readouterr().err
    command = told.partition("shoal hierarchy convert")[2].partition(" makes a tree")[0].split()
    assert main(["hierarchy", "convert", *command[:-1], "new.csv"]) == 0
    assert main(["hierarchy", "check", "new.csv", "sets.csv"]) == 0
