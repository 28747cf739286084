import numpy as np
import pytest

from shoal.errors import InputError
from shoal.hierarchy.build import balanced_tree, frequency_tree, prefix_tree
from shoal.hierarchy.spec import Values, resolve

ITEMS = ("a1", "a2", "b1", "b2")
SUPPORTS = np.array([1, 4, 2, 3])
VALUES = Values(ITEMS, SUPPORTS)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("balanced:3", balanced_tree(ITEMS, 3)),
        ("frequency:2", frequency_tree(ITEMS, SUPPORTS, 2)),
        ("prefix", prefix_tree(ITEMS)),
    ],
)
def test_a_spec_stands_for_a_made_hierarchy(spec, expected):
    h = resolve(spec, VALUES)
    assert (h.labels, h.parent.tolist(), h.source) == (expected.labels, expected.parent.tolist(), spec)


def test_a_hierarchy_stands_for_itself():
    h = balanced_tree(ITEMS, 2)
    assert resolve(h, Values(ITEMS[:2], SUPPORTS[:2])) is h


def test_a_path_is_read_and_may_hold_leaves_without_data(tmp_path):
    path = tmp_path / "tree.csv"
    path.write_text("".join(f"{item};*\n" for item in (*ITEMS, "c")))
    for spec in (path, str(path)):
        assert resolve(spec, VALUES).n_leaves == 5


def test_a_file_may_be_called_like_a_form(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mask").write_text("a;*\n")
    assert resolve("mask", Values(["a"], np.ones(1))).source == "mask"


def test_unknown_items_are_refused_or_hung_under_the_root():
    h = balanced_tree(["a1", "a2"], 2)
    with pytest.raises(InputError, match=r"2 items are not among its leaves; .*unknown='root'"):
        resolve(h, VALUES)
    assert resolve(h, VALUES, unknown="root").labels == (*ITEMS, "*")
    with pytest.raises(InputError, match="not under 'drop'"):
        resolve(h, VALUES, unknown="drop")


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("balanced", "not complete"),
        ("balanced:", "not complete"),
        ("balanced:x", "not complete"),
        ("balanced:1", "not complete"),
        ("frequency:-2", "not complete"),
        ("frequency:2.5", "not complete"),
        ("balanced:99999999999", "not complete"),
        ("prefix:x", "not complete"),
        ("intervals:5,10", "for the columns of a table, not for items"),
        ("mask", "for the columns of a table, not for items"),
        ("nowhere.csv", "neither a file nor a known form"),
        ("balance:5", "neither a file nor a known form"),
        ("", "neither a file nor a known form"),
    ],
)
def test_a_bad_spec_is_refused_with_the_valid_forms(spec, words):
    with pytest.raises(InputError, match=words) as caught:
        resolve(spec, VALUES)
    assert repr(spec) in str(caught.value)
    assert "balanced:N, frequency:N (N = 2 or more), prefix, or a hierarchy file" in str(caught.value)
