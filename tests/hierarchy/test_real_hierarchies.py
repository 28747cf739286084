"""The public hierarchies, where the folder that SHOAL_DATA names holds them; their figures are the published ones."""

import os
from pathlib import Path

import pytest

from shoal.errors import InputError
from shoal.hierarchy.files import read_hierarchy

DATA = Path(os.environ.get("SHOAL_DATA") or "nowhere")
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="SHOAL_DATA names no folder")

FIGURES = {  # leaves, nodes per level from the root down
    "groceries/groceries_hierarchy.csv": [1, 10, 55, 169, 169],
    "diabetes130/diabetes130_items.csv": [1, 18, 137, 881, 915, 915],
    "completejourney/completejourney_hierarchy.csv.gz": [1, 31, 340, 3431, 68509],
    "completejourney/completejourney_rt_items.csv": [1, 22, 302, 302],
    "bms_webview2/bms_webview2_hierarchy.csv.gz": [1, 4, 14, 53, 209, 835, 3340],
    "adult/hierarchies_arx/adult_hierarchy_age.csv": [1, 5, 10, 20, 100],
    "adult/hierarchies_arx/adult_hierarchy_education.csv": [1, 3, 5, 16],
    "adult/hierarchies_arx/adult_hierarchy_sex.csv": [1, 2],
    "adult/hierarchies_qiyuangong/adult_hierarchy_workclass.csv": [1, 4, 7],
    "adult/hierarchies_qiyuangong/adult_hierarchy_marital-status.csv": [1, 4, 6],
}


def data_file(name):
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{name} is not there")
    return path


@pytest.mark.parametrize("name", FIGURES)
def test_a_public_hierarchy_has_its_published_levels(name):
    h = read_hierarchy(data_file(name))
    per_level = [int((h.depth == depth).sum()) for depth in range(h.height + 1)]
    assert per_level == FIGURES[name]
    assert len(set(h.names)) == h.n_nodes


@pytest.mark.parametrize(
    ("name", "levels", "leaves", "categories"),
    [
        ("icd9cm", "code,subcategory,category,section,chapter,root", 17553, 1234),
        ("icd10cm", "code,category,section,chapter,root", 46881, 1918),
    ],
)
def test_diagnosis_codes_are_read_by_the_names_of_their_levels(name, levels, leaves, categories):
    path = data_file(f"{name}/{name}_hierarchy.csv.gz")
    with pytest.raises(InputError, match=r"after the root, in column \d, 2 more follow; "):
        read_hierarchy(path)
    h = read_hierarchy(path, levels=levels.split(","))
    assert h.n_leaves == leaves
    assert (h.depth == 3).sum() == categories


def test_an_item_table_without_a_root_is_refused():
    with pytest.raises(InputError, match=r"6 roots"):
        read_hierarchy(data_file("connect/connect_items.csv"))
