"""The data of the experiments where none, or some, are on the machine."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from shoal.errors import InputError
from shoal.studies.papers import sources

pytestmark = pytest.mark.usefixtures("no_data")


def test_every_source_is_here_made_up_or_absent_with_a_remedy():
    for name, source in sources.SOURCES.items():
        absent = sources.absence(name)
        if name == "grocery":
            assert absent is None
            assert not sources.is_stand_in(name)
        elif source.stand_in:
            assert absent is None
            assert sources.label(name) == f"made up for {source.title}"
            assert "SHOAL_DATA" in sources.stand_in_note(name) or "shoal datasets get" in sources.stand_in_note(name)
        else:
            assert "SHOAL_DATA" in absent or "shoal datasets get" in absent


def test_a_file_in_the_folder_of_data_is_found_and_tells_its_content(tmp_path, monkeypatch):
    monkeypatch.setenv("SHOAL_DATA", str(tmp_path))
    (tmp_path / "retail.dat").write_text("1 2\n3\n2 3\n")
    assert sources.files_of("retail") == (tmp_path / "retail.dat",)
    assert (sources.label("retail"), sources.is_stand_in("retail")) == ("retail", False)
    assert sources.first_found("bms-pos", "retail") == "retail"
    assert sources.first_found("retail", "bms-pos") == "retail"
    assert sources.identity("retail") != "made up"
    assert list(sources.baskets("retail", 2).rows()) == [["1", "2"], ["3"]]
    assert sources.baskets("retail", 1).vocabulary == ("1", "2")


def test_files_of_one_source_are_needed_together(tmp_path, monkeypatch):
    monkeypatch.setenv("SHOAL_DATA", str(tmp_path))
    (tmp_path / "diabetes130").mkdir()
    with gzip.open(tmp_path / "diabetes130" / "diabetes130.dat.gz", "wt") as file:
        file.write("1 2\n")
    assert sources.files_of("diabetes-130") is None
    with pytest.raises(InputError, match="is not on this machine"):
        sources.baskets("diabetes-130")


def test_made_up_rows_are_the_first_of_more():
    few, many = sources.baskets("webview-2", 50), sources.baskets("webview-2", 200)
    assert list(few.rows()) == list(many.rows())[:50]
    table, more = sources.rt_table("diabetes-130-rt", 50)[0], sources.rt_table("diabetes-130-rt", 200)[0]
    for column in table.columns:
        assert column.texts() == more[column.name].texts()[:50]
    assert list(table.items.rows()) == list(more.items.rows())[:50]


def test_the_made_up_census_has_jobs_that_some_people_never_have():
    records, trees = sources.adult(2_000)
    assert set(trees) == set(sources.ADULT_QUASI)
    women = records["sex"].codes == records["sex"].values.index("sex01")
    jobs = np.array(records["occupation"].texts())
    assert "job13" not in set(jobs[women])
    assert "job13" in set(jobs[~women])


def test_the_grocery_store_has_a_hierarchy_of_its_own():
    baskets = sources.baskets("grocery", 100)
    assert sources.own_tree("grocery", baskets.vocabulary).height == 3
    with pytest.raises(InputError, match="no hierarchy of its own"):
        sources.own_tree("retail", ("1",))
    with pytest.raises(InputError, match="there is no source"):
        sources.baskets("nonsense")
