import gzip
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from random_trees import WORDS, shape, trees
from shoal.errors import InputError
from shoal.hierarchy.build import balanced_tree, prefix_tree
from shoal.hierarchy.files import FORMATS, hierarchy_text, read_hierarchy, write_hierarchy
from shoal.hierarchy.tree import Hierarchy


@pytest.fixture
def read(tmp_path):
    """Reads a text as a hierarchy file."""

    def reading(text, name="tree.csv", **options):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_hierarchy(path, **options)

    return reading


def nested(h, v=None):
    v = h.root if v is None else v
    return {h.labels[v]: [nested(h, c) for c in h.children[v]]} if h.children[v] else h.labels[v]


FIGURE_1 = {"ALL": [{"A": ["a1", "a2"]}, {"B": ["b1", "b2"]}]}

FIGURE_1_FILES = {
    "arx": "a1;A;ALL\na2;A;ALL\nb1;B;ALL\nb2;B;ALL\n",
    "arx with header": "item,group,root\na1,A,ALL\na2,A,ALL\nb1,B,ALL\nb2,B,ALL\n",
    "arx with tabs": "a1\tA\tALL\na2\tA\tALL\nb1\tB\tALL\nb2\tB\tALL\n",
    "arx with quotes, blank lines and a byte order mark": '\ufeff"a1";"A";"ALL"\r\na2;A;ALL\r\n\r\nb1 ; B;ALL\r\nb2;B;ALL;;\r\n;;\r\n',
    "arx that repeats a row": "a1;A;ALL\na2;A;ALL\na1;A;ALL\nb1;B;ALL\nb2;B;ALL\n",
    "amnesia": "distinct\nname tree\ntype string\nheight 3\n\nA has a1 a2\nB has b1 b2 \n\nALL has A B\n\n",
    "amnesia with names of its own header": "\nrange\nname has\n\nB has b1\nB has b2\nb2 has\nA has a1 a2\nALL has A B",
    "parent-child": "parent,child\nALL,A\nALL,B\nA,a1\nA,a2\nB,b1\nB,b2\n",
    "child-parent": "Child;Parent\na1;A\na2;A\nb1;B\nb2;B\nA;ALL\nB;ALL\nALL;\n",
    "parent-child without header": "ALL,A\nALL,B\nA,a1\nA,a2\nB,b1\nB,b2\n",
    "child-parent without header": "a1,A\na2,A\nA,ALL\nB,ALL\nb1,B\nb2,B\n",
    "child-parent with a root row": "ALL,\nA,ALL\na1,A\na2,A\nB,ALL\nb1,B\nb2,B\n",
    "parent-child with a header in other words": "above,below\nALL,A\nALL,B\nA,a1\nA,a2\nB,b1\nB,b2\n",
    "parent-child with further columns": "id,child,note,parent\n1,a1,x,A\n2,a2,x,A\n3,b1,x,B\n4,b2,,B\n5,A,,ALL\n6,B,,ALL\n",
    "json": '{"name": "ALL", "children": [{"name": "A", "children": ["a1", {"name": "a2"}]}, '
    '{"name": "B", "children": [{"name": "b1", "children": []}, "b2"], "size": 2}]}',
    "json with labels as keys": '{"ALL": {"A": ["a1", "a2"], "B": {"b1": null, "b2": {}}}}',
    "json in a list": '[{"ALL": [{"A": ["a1", "a2"]}, {"name": "B", "children": {"b1": [], "b2": []}}]}]',
}


@pytest.mark.parametrize("text", FIGURE_1_FILES.values(), ids=FIGURE_1_FILES.keys())
def test_every_format_is_recognized_and_read(read, text):
    h = read(text, "tree")
    assert nested(h) in (FIGURE_1, {"ALL": [{"B": ["b1", "b2"]}, {"A": ["a1", "a2"]}]})
    assert h.source == "tree"


@pytest.mark.parametrize("format", FORMATS)
def test_a_format_can_be_named(read, format):
    assert nested(read(FIGURE_1_FILES[format], format=format)) == FIGURE_1


def test_a_compressed_file_is_read_whatever_its_name(read):
    assert nested(read(gzip.compress(FIGURE_1_FILES["arx"].encode()), "tree.csv")) == FIGURE_1


def test_ragged_rows_hang_a_leaf_under_what_follows_it(read):
    h = read("level0,level1,level2\nNever-married,*\nMarried-civ,Married,*\nMarried-AF,Married,*\n")
    assert nested(h) == {"*": ["Never-married", {"Married": ["Married-civ", "Married-AF"]}]}


def test_a_header_is_told_from_a_first_row_that_shares_a_category(read):
    assert read("a;A;x\nb;A;y\nc;C;y\n", root="*").n_leaves == 3
    assert read("leaf;group\na;A\nb;A\nc;B\n", format="arx", root="*").labels == ("a", "b", "c", "A", "B", "*")


def test_one_row_is_data_and_not_a_header(read):
    assert nested(read("a;*\n")) == {"*": ["a"]}
    assert nested(read("item;root\na;*\n")) == {"*": ["a"]}


def test_labels_that_repeat_on_levels_and_branches_stay_distinct_nodes(read):
    h = read("sausage;sausage;meat;*\nham;ham;meat;*\nham roll;ham;bread;*\n")
    assert nested(h) == {
        "*": [{"meat": [{"sausage": ["sausage"]}, {"ham": ["ham"]}]}, {"bread": [{"ham": ["ham roll"]}]}]
    }
    assert len(set(h.names)) == h.n_nodes


def test_a_leaf_may_stand_beside_a_category_of_its_name(read):
    assert nested(read("250;*\n250.1;250;*\n")) == {"*": ["250", {"250": ["250.1"]}]}


def test_quoted_labels_may_hold_separators(read):
    h = read('1,"1,5","1,9",*\n2,"1,5","1,9",*\n7,"6,9","1,9",*\n')
    assert nested(h) == {"*": [{"1,9": [{"1,5": ["1", "2"]}, {"6,9": ["7"]}]}]}


def test_commas_in_every_label_do_not_hide_a_semicolon(read):
    assert nested(read("1,0;0,5;0,9;*\n2,0;0,5;0,9;*\n")) == {"*": [{"0,9": [{"0,5": ["1,0", "2,0"]}]}]}


def test_levels_choose_columns_by_name(read):
    text = "code,category,root,is_leaf,description\n001,A,*,0,x\n002,B,*,1,y\n003,B,*,1,\n"
    assert nested(read(text, levels=["code", "category", "root"])) == {"*": [{"A": ["001"]}, {"B": ["002", "003"]}]}
    assert nested(read(text, levels=["code", "root"])) == {"*": ["001", "002", "003"]}


def test_amnesia_ranges_are_labels(read):
    h = read("range\nname age\ntype int\nheight 3\n\n0,20 has 0,10 10,20\n\n0,99 has 0,20 20,99\n")
    assert nested(h) == {"0,99": ["20,99", {"0,20": ["0,10", "10,20"]}]}


def test_json_numbers_keep_their_digits(read):
    assert nested(read('{"*": [1, 2.50, "x"]}')) == {"*": ["1", "2.50", "x"]}


def test_a_root_is_put_above_several_only_where_there_are_several(read):
    assert nested(read("a;A\nb;B\nc;A\n", root="all")) == {"all": [{"A": ["a", "c"]}, {"B": ["b"]}]}
    assert nested(read('{"A": ["a"], "B": ["b"]}', root="all")) == {"all": [{"A": ["a"]}, {"B": ["b"]}]}
    assert nested(read(FIGURE_1_FILES["arx"], root="all")) == FIGURE_1


@pytest.mark.parametrize(
    "name", ["tree.csv", "tree.json", "tree.txt", "tree.csv.gz", "tree.json.gz", "my tree.txt.gz", "tree.csv.zst"]
)
def test_a_written_file_reads_back_by_its_name(tmp_path, name):
    h = balanced_tree([str(i) for i in range(23)], 3)
    write_hierarchy(h, tmp_path / name)
    back = read_hierarchy(tmp_path / name)
    assert back.labels[: back.n_leaves] == h.labels[: h.n_leaves]
    assert shape(back) == shape(h, h.names if ".txt" in name else None)
    assert os.listdir(tmp_path) == [name]


def reread(h, format, folder):
    path = folder / "tree"
    write_hierarchy(h, path, format, force=True)
    return [read_hierarchy(path), read_hierarchy(path, format)]


@settings(max_examples=60)
@given(h=trees(distinct_siblings=True))
def test_arx_and_json_keep_every_label_in_its_place(h, tmp_path_factory):
    for format in ("arx", "json"):
        for back in reread(h, format, tmp_path_factory.getbasetemp()):
            assert shape(back) == shape(h)
            assert format == "json" or back.labels[: back.n_leaves] == h.labels[: h.n_leaves]


@settings(max_examples=60)
@given(h=trees(labels=WORDS))
def test_amnesia_and_parent_child_keep_every_unique_name_in_its_place(h, tmp_path_factory):
    for format in ("amnesia", "parent-child"):
        for back in reread(h, format, tmp_path_factory.getbasetemp()):
            assert shape(back) == shape(h, h.names)


@settings(max_examples=60)
@given(st.lists(st.text(st.characters(exclude_categories=("C",)), min_size=1).map(str.strip), min_size=1, unique=True))
def test_labels_in_any_script_survive(tmp_path_factory, names):
    h = prefix_tree([name for name in names if name] or ["a"])
    for format in ("arx", "parent-child", "json"):
        for back in reread(h, format, tmp_path_factory.getbasetemp()):
            assert shape(back) == shape(h, h.names if format == "parent-child" else None)


def test_line_breaks_inside_labels_survive_in_csv(tmp_path):
    h = Hierarchy.from_parents([2, 2, -1], ["one\ntwo", "three\r\nfour", "*"])
    for format in ("arx", "parent-child", "json"):
        assert [shape(back) for back in reread(h, format, tmp_path)] == [shape(h)] * 2


def test_amnesia_files_have_the_layout_of_its_own_exports():
    h = Hierarchy.from_parents([2, 2, 4, 4, -1], ["a1", "a2", "A", "b", "ALL"])
    assert hierarchy_text(h, "amnesia", "my items.txt") == (
        "distinct\nname my_items\ntype string\nheight 3\n\nA has a1 a2\n\nALL has b A\n\n"
    )


def test_an_existing_file_is_overwritten_with_force_only(tmp_path):
    path = tmp_path / "tree.csv"
    path.write_text("mine")
    with pytest.raises(InputError, match=r"tree\.csv exists; .*force=True"):
        write_hierarchy(balanced_tree(["a"], 2), path)
    assert path.read_text() == "mine"
    write_hierarchy(balanced_tree(["a"], 2), path, force=True)
    assert path.read_text() == "a;*\n"


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "tree.csv"
    path.write_text("mine")

    def full_disk(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(InputError, match=r"cannot be written \(No space left"):
        write_hierarchy(balanced_tree(["a"], 2), path, force=True)
    assert path.read_text() == "mine"
    assert os.listdir(tmp_path) == ["tree.csv"]


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="needs a device")
def test_devices_are_never_replaced_by_a_hierarchy():
    with pytest.raises(InputError, match="not a regular file"):
        write_hierarchy(balanced_tree(["a", "b"], 2), "/dev/null", "arx", force=True)


def test_a_link_to_a_hierarchy_stays_a_link(tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to(tmp_path / "real.csv")
    write_hierarchy(balanced_tree(["a", "b"], 2), tmp_path / "link.csv", force=True)
    assert (tmp_path / "link.csv").is_symlink()
    assert read_hierarchy(tmp_path / "real.csv").n_leaves == 2


def test_a_missing_folder_is_reported(tmp_path):
    with pytest.raises(InputError, match="cannot be written"):
        write_hierarchy(balanced_tree(["a"], 2), tmp_path / "no" / "tree.csv")


def test_a_name_that_tells_no_format_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"does not tell the format; end it in \.csv, \.txt, \.json"):
        write_hierarchy(balanced_tree(["a"], 2), tmp_path / "tree.xml")


def test_an_unknown_format_is_refused_with_the_known_ones(read):
    with pytest.raises(InputError, match="'xml' is unknown; use one of arx, amnesia, parent-child, json"):
        read("a;*", format="xml")
