"""Names in any script: through files, trees, the command line and certificates, as they are written, and never merged."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

import shoal
from shoal import InputError
from shoal.cli import main
from shoal.records.source import load_records, load_sets

NAMES = ("قهوة", "شاي", "咖啡", "茶", "קפה", "Cafe\u0301", "Käse", "नमक", "🍞", "👩‍👩‍👧")
"""Arabic, Chinese, Hebrew, an accent that follows its letter, an umlaut, Hindi, and characters of several code points."""


@pytest.fixture(autouse=True)
def _own_key(tmp_path, monkeypatch):
    monkeypatch.setenv("SHOAL_KEY", str(tmp_path / "key"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def baskets():
    Path("einkäufe.csv").write_text(
        "سلة\n" + "\n".join(f"{NAMES[i % 10]}|{NAMES[(i + 1) % 10]}" for i in range(60)) + "\n"
    )
    tree = "\n".join(f"{name};{'مشروبات' if i < 5 else '食品'};全部" for i, name in enumerate(NAMES))
    Path("شجرة.csv").write_text(tree + "\n")


@pytest.mark.parametrize("form", ["html", "pdf", "json"])
def test_a_release_in_many_scripts(baskets, form, capsys):
    made = f"--items سلة --hierarchy شجرة.csv --k 9 --m 2 --algorithm exact -o 公开.csv --certificate c.{form}"
    assert main(["anonymize", "einkäufe.csv", *made.split()]) == 0
    published = shoal.read("公开.csv")
    assert set(published.vocabulary) <= {*NAMES, "مشروبات", "食品", "全部"}
    if form != "pdf":
        text = Path(f"c.{form}").read_text()
        assert "公开.csv" in text or "公开.csv".encode("unicode_escape").decode() in text
    else:
        assert Path("c.pdf").read_bytes().startswith(b"%PDF")
    if form == "html":  # a name that runs from right to left leaves the text around it as it was
        assert "unicode-bidi: plaintext" in text
    capsys.readouterr()
    assert main(["profile", "einkäufe.csv", "--items", "سلة", "--show-values"]) == 0
    assert main(["hierarchy", "show", "شجرة.csv"]) == 0
    assert "مشروبات" in capsys.readouterr().out


def test_compositions_of_one_name_stay_apart_and_are_told():
    nfc, nfd = (unicodedata.normalize(form, "Café") for form in ("NFC", "NFD"))
    Path("sets.csv").write_text(f"items\n{nfc} tea\n{nfd} tea\n", encoding="utf-8")
    source = load_sets("sets.csv")
    assert set(source.baskets.vocabulary) == {nfc, nfd, "tea"}
    assert "Unicode" in " ".join(source.notes)
    Path("table.csv").write_text(f"a\n{nfc}\n{nfd}\n", encoding="utf-8")
    source = load_records("table.csv", quasi="a")
    assert len(source.records["a"].values) == 2
    assert "column 'a': 1 of its different names" in source.notes[0]
    assert nfc not in source.notes[0]


@pytest.mark.parametrize("sign", ["\u200b", "\ufeff", "\u00ad", "\u202e", "\u00a0"])
def test_a_name_with_a_sign_that_is_not_seen_is_told(sign):
    Path("table.csv").write_text(f"a,b\nflu,茶\nflu{sign},咖啡\n", encoding="utf-8")
    source = load_records("table.csv", quasi="b", sensitive="a")
    assert len(source.records["a"].values) == 2
    assert [note.split(":")[0] for note in source.notes] == ["column 'a'"]
    assert "1 of its different names" in source.notes[0]


def test_a_tree_that_composes_a_name_otherwise_says_so():
    nfc, nfd = (unicodedata.normalize(form, "Café") for form in ("NFC", "NFD"))
    Path("sets.csv").write_text(f"items\n{nfc}|tea\n{nfc}|tea\n", encoding="utf-8")
    Path("tree.csv").write_text(f"{nfd};food\ntea;food\n", encoding="utf-8")
    with pytest.raises(InputError, match="1 of them a leaf there, but composed otherwise in Unicode"):
        shoal.anonymize("sets.csv", shoal.KmAnonymity(2, 2), hierarchy="tree.csv")


@pytest.mark.parametrize("sign", ["\x1b[31m", "\u202e", "\u200b"])
def test_names_of_columns_and_trees_do_not_steer_a_terminal(sign, capfd):
    Path("table.csv").write_text(f"a{sign},b\n" + "1,x\n2,y\n" * 9, encoding="utf-8")
    Path("sets.csv").write_text("items\n" + "x y\n" * 9)
    Path(f"tree{sign}.csv").write_text("x;food\ny;food\n")
    assert main(["anonymize", "table.csv", "--model", "k", "--k", "3", "--quasi", f"a{sign},b", "-o", "1.csv"]) == 0
    assert main(["anonymize", "sets.csv", "--hierarchy", f"tree{sign}.csv", "--k", "3", "-o", "2.csv"]) == 0
    shown = capfd.readouterr()
    assert sign not in shown.out + shown.err
    assert sign.encode("unicode_escape").decode() in shown.out
