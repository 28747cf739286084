"""Trees of code systems: built from lists as their publishers write them, over codes as their owners do."""

from __future__ import annotations

import csv
import gzip
import json
import os
import random
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.hierarchy.codes.concepts import has_check_digit
from shoal.hierarchy.codes.icd import spell_icd9, spell_icd10
from shoal.hierarchy.codes.systems import likely_system, parse_code_spec, read_vocabulary
from shoal.hierarchy.codes.vocabulary import Vocabulary, code_tree, furthest_parents

DATA = os.environ.get("SHOAL_DATA", "")
with_data = pytest.mark.skipif(not Path(DATA, "icd10cm").is_dir(), reason="needs the public data sets")

ORDER = """\
00001 A00     0 Cholera                                                      Cholera
00002 A000    1 Cholera due to Vibrio cholerae 01, biovar cholerae           Cholera due to Vibrio cholerae 01, biovar cholerae
00003 A001    1 Cholera due to Vibrio cholerae 01, biovar eltor              Cholera due to Vibrio cholerae 01, biovar eltor
00004 E11     0 Type 2 diabetes mellitus                                     Type 2 diabetes mellitus
00005 E1165   1 Type 2 diabetes mellitus with hyperglycemia                  Type 2 diabetes mellitus with hyperglycemia
00006 E119    1 Type 2 diabetes mellitus without complications               Type 2 diabetes mellitus without complications
00007 S52521  0 Torus fracture of lower end of right radius                  Torus fracture of lower end of right radius
00008 S52521A 1 Torus fracture of lower end of right radius, init            Torus fracture of lower end of right radius, init
"""
TABULAR = """<?xml version="1.0" encoding="utf-8"?>
<ICD10CM.tabular><chapter><name>4</name>
<section id="E08-E13"><desc>Diabetes</desc>
  <diag><name>E11</name><desc>Type 2</desc>
    <diag><name>E11.6</name><desc>other</desc><diag><name>E11.65</name><desc>hyperglycemia</desc></diag></diag>
    <diag><name>E11.9</name><desc>without</desc></diag></diag>
  <diag><name>E13</name><desc>Other</desc></diag>
</section></chapter></ICD10CM.tabular>
"""
ICD9 = """\
0010  Cholera due to vibrio cholerae
25000 Diabetes mellitus without mention of complication, type II or unspecified type
25001 Diabetes mellitus without mention of complication, type I
3860  M\xe9ni\xe8re's disease
E8000 Railway employee
V103  Personal history of breast cancer
"""
ATC = 'Code;Name\n"A10BA02";metformin\nA10BB01;glibenclamide\nC09AA02;"enalapril, A10BA99 not a code of its own"\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "order.txt").write_text(ORDER)
    (tmp_path / "tabular.xml").write_text(TABULAR)
    (tmp_path / "icd9.txt").write_bytes(ICD9.encode("latin-1"))
    (tmp_path / "atc.csv").write_text(ATC)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ways(tree):
    """What stands above each leaf, nearest first."""
    found = {}
    for leaf in range(tree.n_leaves):
        node, way = int(tree.parent[leaf]), []
        while node >= 0:
            way.append(tree.labels[node])
            node = int(tree.parent[node])
        found[tree.labels[leaf]] = way
    return found


def test_codes_stand_below_what_begins_them_and_their_chapter(folder):
    words = read_vocabulary("icd10cm", ["order.txt"])
    assert words.way_up("E11.65") == ["E11.65", "E11", "E00-E89"]
    assert words.way_up("S52.521A") == ["S52.521A", "S52.521", "S00-T88"]
    tree, placement = code_tree({"": words}, ["A00.0", "A00.1", "E11.65", "E11.9"])
    assert ways(tree)["A00.0"] == ["A00*", "*"]  # the chapter would say the same as the category
    assert placement.to_dict() == {"values": 4, "known": 4, "range": 0, "beginning": 0, "unknown": 0, "retired": 0}


def test_the_tabular_list_has_blocks(folder):
    words = read_vocabulary("icd10cm", ["tabular.xml"])
    assert words.way_up("E11.65") == ["E11.65", "E11.6", "E11", "E08-E13", "E00-E89"]
    tree, _ = code_tree({"": words})
    assert ways(tree)["E11.9"] == ["E11*", "E08-E13", "*"]
    assert ways(tree)["E11"] == ["E11*", "E08-E13", "*"]  # a code that has others below it is an item as well


def test_codes_stay_spelled_as_their_owner_spells_them(folder):
    words = read_vocabulary("icd10cm", ["order.txt"])
    tree, placement = code_tree({"": words}, ["e119", "E11.9", " E11.65", "A00", "a00.0"])
    assert set(tree.labels[: tree.n_leaves]) == {"e119", "E11.9", " E11.65", "A00", "a00.0"}
    assert ways(tree)["e119"] == ways(tree)["E11.9"] == ["E11.9*", "E11*", "*"]
    assert placement.found["known"] == 5


def test_ranges_new_codes_and_unknown_ones(folder):
    words = read_vocabulary("icd10cm", ["order.txt"])
    values = ["A00.0-A00.1", "A00.0", "A00.1", "E11.651", "E11.9", "zzz"]
    with pytest.raises(shoal.InputError, match="1 of the codes is not known to ICD-10-CM") as refused:
        code_tree({"": words}, values)
    assert refused.value.values == ("zzz",)
    assert "zzz" not in str(refused.value)
    tree, placement = code_tree({"": words}, values, unknown="root")
    assert ways(tree)["A00.0-A00.1"] == ["A00*", "*"]
    assert ways(tree)["E11.651"] == ["E11*", "*"]
    assert ways(tree)["zzz"] == ["*"]
    assert placement.to_dict() == {"values": 6, "known": 3, "range": 1, "beginning": 1, "unknown": 1, "retired": 0}
    assert [str(note) for note in placement.notes()] == [
        "1 code is not known and under the root",
        "1 code is not in the file: below the longest code that begins alike",
        "1 is a range of codes: what holds both ends",
    ]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("25000", "250.00"),
        ("250.00", "250.00"),
        ("8", "008"),
        ("8.1", "008.1"),
        ("e8000", "E800.0"),
        ("V10.3", "V10.3"),
    ],
)
def test_icd9_is_read_with_and_without_dots_and_zeros(text, code):
    assert spell_icd9(text) == code


@pytest.mark.parametrize(("text", "code"), [("e119", "E11.9"), (" E11.9 ", "E11.9"), ("E11", "E11")])
def test_icd10_is_read_with_and_without_dots(text, code):
    assert spell_icd10(text) == code


def test_icd9_has_categories_blocks_and_chapters(folder):
    words = read_vocabulary("icd9cm", ["icd9.txt"])
    assert words.way_up("250.01") == ["250.01", "250.0", "250", "249-259", "240-279"]
    assert words.way_up("E800.0") == ["E800.0", "E800", "E800-E807", "E000-E999"]
    assert words.way_up("V10.3") == ["V10.3", "V10", "V10-V19", "V01-V91"]
    assert words.notes == ("it has 6 codes; version 32 has 14,567",)


def test_atc_is_its_levels(folder):
    words = read_vocabulary("atc", ["atc.csv"])
    assert words.way_up("A10BA02") == ["A10BA02", "A10BA", "A10B", "A10", "A"]
    assert "A10BA99" not in words.parent
    tree, _ = code_tree({"": words}, ["a10ba02", "A10BB01", "A10BB", "C09AA02"])
    assert ways(tree)["A10BB"] == ["A10BB*", "A10B*", "*"]
    assert ways(tree)["a10ba02"] == ["A10B*", "*"]


def test_several_systems_in_one_column_by_prefix(folder, run):
    rows = ["items", "ICD:E11.9|ATC:A10BA02", "ICD:E11.65|ATC:A10BB01", "ICD:A00.0"]
    (folder / "rows.csv").write_text("\n".join(rows) + "\n")
    codes = ("--codes", "ICD:=icd10cm:order.txt", "--codes", "ATC:=atc:atc.csv")
    code, out, err = run("hierarchy", "build", "rows.csv", *codes, "-o", "tree.csv", "--json")
    assert code == 0
    assert json.loads(out)["codes"]["known"] == 5
    assert "order.txt: it has" in err
    found = ways(shoal.read_hierarchy("tree.csv"))
    assert found["ICD:E11.9"] == ["ICD:E11*", "ICD:*", "*"]
    assert found["ATC:A10BA02"] == ["ATC:A10B*", "*"]
    release = ["anonymize", "rows.csv", "--hierarchy", "tree.csv", "--k", "1", "--m", "1", "-o", "public.csv"]
    assert run(*release)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("build icd10cm -o t.csv", "name icd10cm_order_YEAR.txt"),
        ("build icd10cm nowhere.txt -o t.csv", "cannot be read"),
        ("build icd10cm atc.csv -o t.csv", "line 1: it is not a line of an order file"),
        ("build icd9cm atc.csv -o t.csv", "line 1: it does not begin with a code"),
        ("build atc order.txt -o t.csv", "it holds no ATC codes"),
        ("build icd10cm order.txt tabular.xml -o t.csv", "built from one file"),
        ("build snomed order.txt -o t.csv", "columns"),
        ("build rows.csv order.txt -o t.csv", "further files are for a code system"),
        ("build rows.csv --codes icd10:order.txt -o t.csv", "icd10cm"),
        ("build rows.csv --codes icd10cm -o t.csv", "is not complete"),
        ("build rows.csv --codes icd10cm:order.txt --codes atc:atc.csv -o t.csv", "the same prefix"),
        ("build rows.csv --codes icd10cm:order.txt --hierarchy prefix -o t.csv", "leave them out"),
        ("build rows.csv --codes icd10cm:bad.xml -o t.csv", "line 1 is not XML"),
        ("build rows.csv --codes icd10cm:bomb.xml -o t.csv", "declares entities"),
        ("build rows.csv --codes icd10cm:order.txt -o order.txt --force", "is an input"),
    ],
)
def test_what_cannot_be_built_says_why(folder, run, arguments, message):
    (folder / "rows.csv").write_text("items\nE11.9\n")
    (folder / "bad.xml").write_text("<a>")
    (folder / "bomb.xml").write_text('<!DOCTYPE a [<!ENTITY b "cc">]><a>&b;</a>')
    before = sorted(os.listdir())
    code, _, err = run("hierarchy", *arguments.split())
    assert code == 2
    assert message in err
    assert sorted(os.listdir()) == before


def write_table(path, *rows):
    path.write_text("\n".join("\t".join(row) for row in rows) + "\n")


@pytest.fixture
def concepts(tmp_path):
    """1 over 2 and 3; 4 below both; 5 below 4 and 2; 9 alone and retired."""
    links = {"2": ["1"], "3": ["2"], "4": ["2", "3"], "5": ["4", "2"], "1": [], "9": []}
    above = {}
    for code in ("1", "9", "2", "3", "4", "5"):
        above[code] = {code}.union(*(above[p] for p in links[code]))
    write_table(
        tmp_path / "CONCEPT.csv",
        ("concept_id", "concept_name", "invalid_reason"),
        *((code, f'name "{code}', "U" if code == "9" else "") for code in links),
    )
    write_table(
        tmp_path / "CONCEPT_ANCESTOR.csv",
        ("ancestor_concept_id", "descendant_concept_id", "min_levels_of_separation", "max_levels_of_separation"),
        *((a, c, "0" if a == c else "1" if a in links[c] else "2", "9") for c in links for a in sorted(above[c])),
    )
    write_table(
        tmp_path / "relations.txt",
        ("id", "effectiveTime", "active", "sourceId", "destinationId", "typeId"),
        *(("7", "20260101", "1", c, p, "116680003") for c in links for p in links[c]),
        ("7", "20260101", "0", "5", "9", "116680003"),
        ("7", "20260101", "1", "5", "9", "363698007"),
    )
    write_table(tmp_path / "states.txt", ("id", "active"), *((code, "0" if code == "9" else "1") for code in links))
    return tmp_path


@pytest.mark.parametrize(
    ("system", "files"), [("omop", "CONCEPT_ANCESTOR.csv CONCEPT.csv"), ("snomed", "relations.txt states.txt")]
)
def test_concepts_keep_the_parent_that_is_furthest_from_the_top(concepts, system, files):
    paths = [str(concepts / name) for name in files.split()]
    words = read_vocabulary(system, paths, ["5", "3"])
    assert words.way_up("5") == ["5", "4", "3", "2", "1"]
    assert any("2 of its concepts have several parents" in note for note in words.notes)
    tree, _ = code_tree({"": words}, ["5", "3", "2"])
    assert ways(tree)["5"] == ["3*", "2*", "*"]
    with pytest.raises(shoal.InputError, match="name the data"):
        read_vocabulary(system, paths)


def test_retired_and_unknown_concepts_are_told(concepts):
    words = read_vocabulary(
        "omop", [str(concepts / name) for name in ("CONCEPT.csv", "CONCEPT_ANCESTOR.csv")], ["9", "5", "77"]
    )
    _, placement = code_tree({"": words}, ["9", "5", "77"], unknown="root")
    assert (placement.retired, placement.unknown) == (("9",), ("77",))


def test_the_files_of_concepts_are_told_apart_by_their_columns(concepts):
    with pytest.raises(shoal.InputError, match="is missing"):
        read_vocabulary("omop", [str(concepts / "CONCEPT.csv")], ["5"])
    with pytest.raises(shoal.InputError, match="its columns are not"):
        read_vocabulary("omop", [str(concepts / "relations.txt")], ["5"])
    (concepts / "CONCEPT_ANCESTOR.csv").write_text(
        "ancestor_concept_id\tdescendant_concept_id\tmin_levels_of_separation\n1\t2\n"
    )
    with pytest.raises(shoal.InputError, match="number of cells"):
        read_vocabulary("omop", [str(concepts / "CONCEPT_ANCESTOR.csv")], ["5"])


def longest_way(links, code):
    return 1 + max((longest_way(links, parent) for parent in links[code]), default=-1)


@given(st.integers(0, 2**30), st.integers(1, 12))
def test_one_parent_each_as_counted_by_hand(seed, n):
    draw = random.Random(seed)
    codes = [f"c{i}" for i in draw.sample(range(100), n)]
    links = {code: draw.sample(codes[:i], draw.randint(0, min(i, 3))) for i, code in enumerate(codes)}
    expected = {
        code: min(parents, key=lambda p: (-longest_way(links, p), p), default="") for code, parents in links.items()
    }
    assert furthest_parents(links) == expected


def test_a_circle_is_opened():
    assert furthest_parents({"a": ["b"], "b": ["c"], "c": ["a", "c"], "d": ["a"]}) == {
        "a": "",
        "c": "a",
        "d": "a",
        "b": "c",
    }


@given(st.integers(0, 2**30), st.integers(1, 15), st.integers(1, 15))
def test_what_stands_above_values_is_what_the_vocabulary_says(seed, n, m):
    """But for what holds one thing alone."""
    draw = random.Random(seed)
    codes = [f"k{i}" for i in range(n)]
    parent = {code: draw.choice([*codes[:i], ""]) for i, code in enumerate(codes)}
    words = Vocabulary("made", "Made up", "here", parent, str.lower)
    values = draw.sample([*codes, *(code.upper() for code in codes)], min(m, 2 * n))
    tree, _ = code_tree({"": words}, values)
    assert set(tree.labels[: tree.n_leaves]) == set(values)
    under = {code: [v for v in values if code in words.way_up(v.lower())] for code in codes}
    for value, way in ways(tree).items():
        above = [code for code in words.way_up(value.lower()) if len(under[code]) > 1]
        assert way[-1] == "*"
        kept = [label.removesuffix("*") for label in way[:-1]]
        assert [code for code in above if code in kept] == kept
        # Whatever is left out holds the same values as what is kept below it, or as the value's own place.
        for code in set(above) - set(kept):
            assert any(sorted(under[code]) == sorted(under[other]) for other in kept)


def test_a_range_that_only_everything_holds_is_not_put_below_one_end(folder):
    words = read_vocabulary("icd10cm", ["order.txt"])
    values = ["A00.0", "A00.1", "E11.65", "E11.9", "A00.0-E11.9", "A00.0–zzz"]
    tree, placement = code_tree({"": words}, values)
    assert ways(tree)["A00.0-E11.9"] == ["*"]
    assert ways(tree)["A00.0–zzz"] == ["A00.0*", "A00*", "*"]  # as what it begins with, and told
    assert (placement.found["range"], placement.found["beginning"]) == (1, 1)
    two = {"I:": words, "A:": read_vocabulary("atc", ["atc.csv"])}
    tree, _ = code_tree(two, ["I:A00.0-E11.9", "I:A00.0", "A:A10BA02"])
    assert ways(tree)["I:A00.0-E11.9"] == ["I:*", "*"]


@given(
    st.lists(
        st.sampled_from(["I:K0", "I:K1", "I:zz", "I:yy", "A:K0", "A:zz", "A:K1", "other"]), unique=True, min_size=1
    )
)
def test_leaves_are_the_values_and_nothing_else(values):
    words = {
        prefix: Vocabulary("made", "Made up", "here", {"K0": "K", "K1": "K", "K": ""}, str) for prefix in ("I:", "A:")
    }
    tree, _ = code_tree(words, values, unknown="root")
    assert list(tree.labels[: tree.n_leaves]) == values
    inner = range(tree.n_leaves, tree.n_nodes - 1)
    assert all((tree.parent == node).sum() > 1 for node in inner)
    assert all(way == ["*"] for value, way in ways(tree).items() if value[2:] in ("zz", "yy") or value == "other")


@pytest.mark.parametrize("change", [str.upper, lambda text: text.replace("\t", ","), lambda text: f"\ufeff{text}"])
@pytest.mark.parametrize("packed", [False, True])
def test_tables_of_concepts_as_databases_write_them(concepts, change, packed):
    path = concepts / "CONCEPT_ANCESTOR.csv"
    head, rest = path.read_text().split("\n", 1)
    data = f"{change(head)}\n{rest if ',' not in change(head) else rest.replace(chr(9), ',')}".encode()
    path.write_bytes(data)
    if packed:
        path = concepts / "CONCEPT_ANCESTOR.csv.gz"
        path.write_bytes(gzip.compress(data))
    assert read_vocabulary("omop", [str(path)], ["5"]).way_up("5") == ["5", "4", "3", "2", "1"]


def test_an_order_file_in_another_order_and_with_odd_titles_says_the_same(folder):
    whole = read_vocabulary("icd10cm", ["order.txt"])
    lines = (folder / "order.txt").read_text().strip().split("\n")
    odd = [f"{line} T\x85\x0byp" for line in reversed(lines)]
    (folder / "odd.txt").write_bytes("\r\n".join(odd).encode("latin-1"))
    assert read_vocabulary("icd10cm", ["odd.txt"]).parent == whole.parent


@pytest.mark.parametrize("system", ["icd10cm", "icd9cm", "atc", "omop", "snomed"])
def test_an_archive_or_a_folder_is_said_to_be_one(folder, system):
    with zipfile.ZipFile("codes.zip", "w") as packed:
        packed.write("order.txt")
    with pytest.raises(shoal.InputError, match="it is a zip archive; unpack it"):
        read_vocabulary(system, ["codes.zip"], ["5"])
    with pytest.raises(shoal.InputError, match=r"[Ii]s a directory|it is a folder"):
        read_vocabulary(system, ["."], ["5"])


def test_systems_are_recognised_by_their_codes():
    assert likely_system([f"{letter}{n:02}.{n % 10}" for letter in "ABC" for n in range(10)]) == "icd10cm"
    assert likely_system([f"{n:03}.{n % 10}" for n in range(90, 130)]) == "icd9cm"
    assert likely_system([f"{n:03}.{n % 10}" for n in range(100, 130)]) is None  # prices
    assert likely_system([f"{letter}{n:02}.{n % 10}" for letter in "abc" for n in range(10)]) == "icd10cm"
    assert likely_system([f"{n:03}" for n in range(100, 130)]) is None
    assert likely_system([f"{g}10BA{n:02}" for g in "ACN" for n in range(8)]) == "atc"
    assert likely_system([str(n) for n in range(100_000, 100_030)]) is None
    assert likely_system([str(n) for n in range(100_000, 101_000) if has_check_digit(str(n))]) == "snomed"
    assert likely_system(["milk", "bread"] * 20) is None
    assert likely_system(["A00.0"]) is None


@pytest.mark.parametrize("number", ["73211009", "404684003", "138875005", "116680003"])
def test_check_digits_of_snomed(number):
    assert has_check_digit(number)
    assert not has_check_digit(f"{number[:-1]}{(int(number[-1]) + 1) % 10}")


def test_profile_proposes_the_tree_of_a_code_system(tmp_path, run):
    rows = [f"{letter}{n:02}.{n % 10}" for letter in "ABC" for n in range(10)]
    (tmp_path / "visits.csv").write_text("items\n" + "\n".join(rows) + "\n")
    assert (
        "codes of ICD-10-CM: shoal hierarchy build DATA --codes icd10cm:FILE"
        in run("profile", tmp_path / "visits.csv")[1]
    )


def test_specs_of_codes():
    assert parse_code_spec("icd10cm:a.txt") == ("", "icd10cm", ["a.txt"])
    assert parse_code_spec("ICD:=icd10cm:a.txt,b.txt") == ("ICD:", "icd10cm", ["a.txt", "b.txt"])
    assert parse_code_spec("icd10cm:year=2026.txt") == ("", "icd10cm", ["year=2026.txt"])


@with_data
@pytest.mark.parametrize(
    ("system", "folder", "categories"), [("icd9cm", "icd9cm", 1_234), ("icd10cm", "icd10cm", 1_918)]
)
def test_trees_of_the_public_files_agree(tmp_path, system, folder, categories):
    with gzip.open(Path(DATA, folder, f"{folder}_hierarchy.csv.gz"), "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    lines = [
        f"{row['code'].replace('.', ''):<6}{row['description']}"
        if system == "icd9cm"
        else f"{n:05d} {row['code'].replace('.', ''):<7} {row['is_leaf']} {row['description'][:60]:<60} {row['description']}"
        for n, row in enumerate(rows, 1)
        if system == "icd10cm" or row["is_leaf"] == "1"
    ]
    (tmp_path / "list.txt").write_text("\n".join(lines))
    words = read_vocabulary(system, [str(tmp_path / "list.txt")])
    assert {row["code"] for row in rows} == set(words.parent) - words.groups
    assert len({row["category"] for row in rows}) == categories
    for row in rows:
        way = words.way_up(row["code"])
        assert row["category"] in way
        if system == "icd9cm":
            assert way[-1] == row["chapter"]
            assert row["section"] in way
    if system == "icd10cm":
        chapter = {row["chapter"]: words.way_up(row["code"])[-1] for row in rows}
        assert len(set(chapter.values())) == len(chapter) == 22
        assert all(words.way_up(row["code"])[-1] == chapter[row["chapter"]] for row in rows)
