"""All experiments of the four papers on made-up data of few rows, and the files they end in."""

from __future__ import annotations

import csv
import json
import re
import sys
from xml.etree import ElementTree

import pytest

from json_outputs import faults_of
from shoal.cli.reproduce import reproduce
from shoal.errors import InputError
from shoal.studies.papers import PAPERS, measure, paper
from shoal.studies.papers import paper_page as page
from shoal.studies.papers.figure import CANNOT, NOT_RUN, RAN, Mode, Outcome
from shoal.studies.papers.reproduction import Reproduction, machine
from shoal.studies.study import Folder

pytestmark = pytest.mark.usefixtures("no_data")

FACTS = {"shoal": "0", "papers": [], "mode": "quick", "jobs": 1, "seed": 1, "machine": machine()}


@pytest.fixture(params=PAPERS)
def outcomes(request, tmp_path, monkeypatch, here):
    once = measure.measure
    monkeypatch.setattr(measure, "measure", lambda run, *how: once(run, most=1))
    figures = paper(request.param).figures(Mode(most_rows=250))
    return Reproduction(tmp_path / "out").outcomes(figures)


def test_every_figure_runs_or_says_why_not_and_ends_in_files(outcomes, tmp_path):
    folder = tmp_path / "out"
    numbers = page.write_results(folder, outcomes, FACTS)
    assert any(outcome.ran for outcome in outcomes)
    text = (folder / page.PAGE).read_text()
    assert json.loads((folder / page.NUMBERS).read_text()) == numbers
    assert not re.search(r"(src|href)=\"(?!#)", text)
    assert "<script" not in text
    for outcome in outcomes:
        name = outcome.figure.name
        assert f'id="{name}"' in text
        assert {row["status"] for row in outcome.rows} <= {RAN, CANNOT}, outcome.why_not()
        assert outcome.figure.differs
        if not outcome.ran:
            assert outcome.verdict() == NOT_RUN
            assert outcome.why_not()
            continue
        assert outcome.stand_ins or "grocery" in str(outcome.rows) or name.startswith("km")
        with (folder / f"{name}.csv").open() as file:
            assert len(list(csv.DictReader(file))) == len(outcome.rows)
    for plot in (folder / page.PLOTS).iterdir():
        ElementTree.fromstring(plot.read_text())
    assert len(list((folder / page.PLOTS).iterdir())) >= sum(outcome.ran for outcome in outcomes)


@pytest.mark.parametrize("name", PAPERS)
@pytest.mark.parametrize("full", [False, True])
def test_figures_have_statements_sweeps_and_numbers_of_their_own(name, full):
    figures = paper(name).figures(Mode(full))
    assert len({figure.number for figure in figures}) == len(figures)
    for figure in figures:
        assert figure.claims
        assert figure.sweep
        assert figure.cells
        assert figure.panels
        assert len({panel.name for panel in figure.panels}) == len(figure.panels)
        assert {cell.measure for cell in figure.cells} <= set(paper(name).MEASURES)


def test_full_mode_measures_more():
    for name in PAPERS:
        quick, full = (sum(len(figure.cells) for figure in paper(name).figures(Mode(mode))) for mode in (False, True))
        assert quick < full


def test_quick_mode_from_the_command_to_the_page(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(sys.modules["shoal.cli.reproduce"], "SECONDS_BETWEEN_LINES", 0.0)
    folder = tmp_path / "results"
    reproduce("injector", full=False, output=str(folder), jobs=2, most_rows=300, json=True)
    shown = capfd.readouterr()
    document = json.loads(shown.out)
    assert faults_of("reproduce", document) == []
    assert shown.err.startswith("shoal: ")
    assert "4 measurements to make" in shown.err
    assert "shoal: 1 of 4 measurements, about " in shown.err  # a log tells how far it is, too
    assert document["folder"] == str(folder)
    assert (document["mode"], document["jobs"], document["seed"]) == ("quick", 2, 1)
    figures = {figure["figure"]: figure for figure in document["figures"]}
    assert list(figures) == [f"injector-{number}" for number in range(3, 9)]
    assert figures["injector-4"]["claims"][0]["verdict"] == "holds"
    assert "made-up census" in " ".join(figures["injector-4"]["differs"])
    assert (folder / "page.html").is_file()

    reproduce("injector", full=False, output=str(folder), jobs=1, most_rows=300, json=False)
    again = capfd.readouterr()
    assert "0 measurements to make" in again.err
    assert "injector-4" in again.out
    assert "note: Adult is not on this machine: these figures are from a made-up census" in again.out
    assert "no data set has more than 300 rows" in again.out
    assert "page.html" in again.out


def test_a_folder_with_other_files_is_left_alone(tmp_path):
    (tmp_path / "mine.csv").write_text("x\n")
    with pytest.raises(InputError, match="it holds other files"):
        reproduce("km", full=False, output=str(tmp_path), jobs=1, most_rows=None, json=False)
    with pytest.raises(InputError, match="it is a file"):
        Folder(str(tmp_path / "mine.csv")).make()
    assert [path.name for path in tmp_path.iterdir()] == ["mine.csv"]


def test_an_unknown_paper_is_refused_by_name(tmp_path):
    with pytest.raises(InputError, match="choose km, pta, injector, rt or all"):
        reproduce("kn", full=False, output=str(tmp_path / "x"), jobs=1, most_rows=None, json=False)


def test_texts_on_the_page_are_escaped():
    rows = [{"data": "<b>", "algorithm": "<i>", "status": CANNOT, "reason": "<u>&"}]
    outcome = Outcome(paper("km").figures(Mode())[0], rows, ("<s>",), ("<q>",))
    text = page.page_of([outcome], FACTS, {outcome.figure.name: {}}).decode()
    assert not re.search("<[biusq]>", text)
    assert "&lt;u&gt;&amp;" in text


def test_all_four_papers_stand_on_one_page_even_where_nothing_ran(tmp_path):
    outcomes = [Outcome(figure, []) for name in PAPERS for figure in paper(name).figures(Mode())]
    numbers = page.write_results(tmp_path, outcomes, FACTS)
    text = (tmp_path / page.PAGE).read_text()
    assert re.findall(r'<h2 id="(\w+)"', text) == list(PAPERS)
    assert {figure["verdict"] for figure in numbers["figures"]} == {NOT_RUN}
    assert not list(tmp_path.glob("*.csv"))


def test_files_of_others_survive_a_second_run(tmp_path):
    (tmp_path / "km-old.csv").write_text("")
    (tmp_path / "mine.csv").write_text("")
    page.write_results(tmp_path, [Outcome(paper("km").figures(Mode())[0], [])], FACTS)
    assert [path.name for path in tmp_path.glob("*.csv")] == ["mine.csv"]
