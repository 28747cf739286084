import gzip
import re

import numpy as np
import pytest

from shoal.cli.terminal import on_command_line
from shoal.errors import InputError
from shoal.hierarchy.files import hierarchy_text, read_hierarchy
from shoal.hierarchy.tree import Hierarchy

AMNESIA = "distinct\nname x\ntype string\nheight 3\n\n"

REFUSED = {
    # the file as such
    "an empty file": (b"", "tree: it is empty"),
    "a blank file": (b" \n\n", "it is empty"),
    "nothing but separators": (b";;\n;\n", "holds no values"),
    "another encoding": (
        "ok;*\nGem\xfcse;*\n".encode("latin-1"),
        "line 2: byte 0xfc is not UTF-8; save the file as UTF-8",
    ),
    "utf-16 with its mark": ("a;*\n".encode("utf-16"), "line 1: byte 0xff is not UTF-8"),
    "utf-16 without its mark": ("a;*\n".encode("utf-16-le"), "line 1: it holds a zero byte"),
    "damaged zstd": (b"\x28\xb5\x2f\xfd\x24", "packed data is damaged"),
    "damaged gzip": (gzip.compress(b"a;*\n" * 99)[:-9], "packed data is damaged"),
    # arx
    "an open quote": (b'a;A;*\n"b;A;*\n', "line 2: the row cannot be split into cells"),
    "text after a quote": (b'"a"b;A;*\nc;A;*\n', "line 1: the row cannot be split"),
    "several roots": (
        b"a;A\nb;B\nc;B\nd;D\ne;A\n",
        r"it has 3 roots \(A, B, D\); .*convert \S+/tree --add-root ALL -o tree-tree\.csv",
    ),
    "several roots in columns": (
        b"a;A;x\nb;A;y\nc;C;z\n",
        r"3 roots \(x, y, z\); add a last column with the same value",
    ),
    "seven roots": (
        b"".join(b"%d;%d;%d\n" % (i, i // 2, i // 2 + 50) for i in range(14)),
        r"7 roots \(50, 51, 52, 53, 54, \.\.\.\)",
    ),
    "a leaf under two parents": (
        b"a;A;*\nb;A;*\na;B;*\n",
        r"1 value stands in two places \(a under 'A' and 'B'\); keep one",
    ),
    "a gap in a row": (
        b"a;A;*\nb;;*\nc;;*\n",
        r"2 rows have an empty cell before their last value \(line 2, 3\); fill it in",
    ),
    "a row without leaf": (b"a;A;*\n;A;*\n", r"1 row has an empty cell .* \(line 2\)"),
    "a row of one value": (b"a;A;*\nb\n", r"1 row holds a single value \(line 2\)"),
    "a list of items": (b"a\nb\n", r"2 rows hold a single value \(line 1, 2\)"),
    "columns after the root": (
        b"code,group,root,is_leaf,text\n1,A,*,0,x\n2,A,*,1,y\n3,B,*,1,z\n",
        r"after the root, in column 3, 2 more follow \(is_leaf, text\); .*--levels LEAF,...,ROOT -o tree-tree.csv",
    ),
    "columns after the root, no header": (
        b"1,A,*,0,x\n2,A,*,1,y\n3,B,*,1,x\n",
        r"after the root, in column 3, 2 more follow \(column 4, column 5\); delete them",
    ),
    "columns after the root, short header": (
        b"code,group\n1,A,*,x\n2,A,*,y\n3,B,*,x\n",
        r"after the root, in column 3, 1 more follow \(column 4\); delete them",
    ),
    "a label with a line break": (
        b'{"*": {"A": ["a\\nb"], "B": ["a\\nb"]}}',
        r"in two places \(a\\nb under 'A' and 'B'\)",
    ),
    # parent-child
    "a cycle": (
        b"parent,child\n*,a\nb,c\nc,d\nd,b\n",
        r"3 labels stand in a circle, each the child of the next \((b|c|d), .*\)",
    ),
    "a label that is its own parent": (
        b"parent,child\n*,250\n250,250\n",
        "line 3: a label is its own parent \\(250\\); if it is both",
    ),
    "two parents": (
        b"parent,child\n*,A\n*,B\nA,a\nB,a\n",
        r"1 label stands under two parents \(a under 'A' and 'B'\); keep one",
    ),
    "two parents without header": (
        b"*,A\n*,B\nA,a\nB,a\nB,b\nA,c\n*,C\n",
        r"1 label stands under two parents \(a under 'A' and 'B'\)",
    ),
    "several roots in links": (
        b"parent,child\nA,a\nB,b\n",
        r"2 roots \(A, B\); add rows that give them one parent, or",
    ),
    "a link given twice": (
        b"parent,child\n*,a\n*,b\n*,a\n",
        "line 4: it says the same as line 2; remove one",
    ),
    "a link without child": (b"parent,child\n*,a\n*,\n", "line 3: a child has no label"),
    "a header alone": (b"parent,child\n", "holds no values"),
    # amnesia
    "a line without has": (
        AMNESIA.encode() + b"A a1 a2\n",
        "line 6: it is not of the form 'parent has child1 child2'",
    ),
    "a label with blanks": (
        AMNESIA.encode() + b"A has a1\nhome made has x\n",
        "line 7: it is not of the form",
    ),
    "an amnesia header alone": (AMNESIA.encode(), "holds no values"),
    "two parents in amnesia": (AMNESIA.encode() + b"A has a b\nB has a\n* has A B\n", r"a under 'A' and 'B'"),
    "several roots in amnesia": (
        AMNESIA.encode() + b"A has a\nB has b\n",
        r"2 roots \(A, B\); add a line that gives them",
    ),
    "a child given twice in amnesia": (
        AMNESIA.encode() + b"A has a a\n",
        "line 6: it says the same as line 6",
    ),
    # json
    "several roots in json": (b'{"A": ["a"], "B": ["b"]}', r"2 roots \(A, B\); put them under one object, or"),
    "an item in two places": (
        b'{"*": {"A": ["a", "b"], "B": ["a"]}}',
        r"1 value stands in two places \(a under 'A' and 'B'\)",
    ),
    "twins in a list": (b'{"*": ["a", "b", "a"]}', r"1 label is given to two children of one node \(under '\*', a\)"),
    "twins among keys": (
        b'{"*": {"A": ["a"], "A": ["b"]}}',
        r"1 label is given to two children of one node \(under '\*', A\)",
    ),
    "an empty label": (b'{"*": ["a", ""]}', r"a label is empty \(under '\*'\)"),
    "a child that is true": (b'{"*": ["a", true]}', r"a number or a constant is not a node \(under '\*'\)"),
    "a label for children": (b'{"*": "a"}', r"a text alone is not a node \(under '\*'\)"),
    "a list in a list": (b'{"*": [["a"]]}', r"a list inside a list is not a node \(under '\*'\)"),
    "a node alone": (b'{"name": "a"}', "one value stands alone; a hierarchy needs a root"),
    "an empty object": (b"{}", "holds no values"),
}


@pytest.mark.parametrize(("content", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_no_tree_is_refused_with_file_labels_and_remedy(tmp_path, content, words):
    path = tmp_path / "tree"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_hierarchy(path)
    assert re.search(words, caught.value.render(on_command_line, show_values=True))
    assert str(path) in str(caught.value)
    assert not set(caught.value.values) & set(str(caught.value).split("tree", 1)[1].split())
    assert "\n" not in str(caught.value)


def refusal(tmp_path, text, **options):
    path = tmp_path / "tree.json"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_hierarchy(path, **options)
    return str(caught.value)


def test_broken_json_is_refused_with_line_and_column(tmp_path):
    assert "line 2, column 7: not JSON" in refusal(tmp_path, '{"A":\n ["a" "b"]}')


def test_json_that_is_nested_without_end_is_refused(tmp_path):
    assert "nested too deep" in refusal(tmp_path, '{"a":' * 200_000 + "null" + "}" * 200_000)


def test_links_in_three_columns_are_refused(tmp_path):
    assert "2 rows have more than two columns (line 1, 2)" in refusal(tmp_path, "a,b,c\nd,e,f\n", format="parent-child")


def test_a_missing_file_and_a_folder_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.csv cannot be read \(No such file or directory\)"):
        read_hierarchy(tmp_path / "nowhere.csv")
    with pytest.raises(InputError, match="cannot be read"):
        read_hierarchy(tmp_path)


def test_levels_that_are_not_there_are_refused_with_those_that_are(tmp_path):
    said = refusal(tmp_path, "code,group,root\na,A,*\n", levels=["code", "chapter"])
    assert "names no column chapter; name those that it has" in said


@pytest.mark.parametrize("levels", [["code"], ["code", "code"]])
def test_levels_must_be_two_or_more(tmp_path, levels):
    assert "two or more different columns" in refusal(tmp_path, "code,group,root\na,A,*\n", levels=levels)


def test_levels_are_for_arx_files(tmp_path):
    assert "levels name the columns of an arx file" in refusal(
        tmp_path, '{"*": ["a"]}', format="json", levels=["a", "b"]
    )


def test_a_root_to_add_needs_a_label(tmp_path):
    assert "needs a label" in refusal(tmp_path, '{"a": null, "b": null}', root="")


def flat(*labels):
    return Hierarchy.from_parents([len(labels)] * len(labels) + [-1], [*labels, "*"])


@pytest.mark.parametrize(
    ("hierarchy", "format", "words"),
    [
        (
            flat("a", "b c"),
            "amnesia",
            r"1 label is empty or with blanks inside; replace the blanks, or write arx",
        ),
        (flat("a", ""), "amnesia", "1 label is empty"),
        (flat("a", " b"), "arx", r"1 label is empty or surrounded by blanks"),
        (flat("a", ""), "parent-child", "empty"),
        (flat("a", ""), "json", "empty"),
        (flat("a", "b\0"), "arx", "characters that a UTF-8 text file cannot"),
        (flat("a", "b\ud800"), "arx", "characters that a UTF-8 text file cannot"),
        (Hierarchy.from_parents([2, 3, 4, 4, -1], ["a", "b", "A", "A", "*"]), "arx", r"share a label"),
        (Hierarchy.from_parents([2, 3, 3, -1], ["a", "A", "A", "*"]), "json", r"share a label"),
        (Hierarchy(np.array([-1], np.int32), ("a",), 1), "arx", "single node"),
    ],
)
def test_what_a_format_cannot_say_is_not_written(hierarchy, format, words):
    with pytest.raises(InputError, match=words):
        hierarchy_text(hierarchy, format)
