"""Figures, claims and how they are judged."""

from __future__ import annotations

import pytest

from shoal.studies.papers import km
from shoal.studies.papers.figure import (
    CANNOT,
    FAILS,
    HOLDS,
    IN_PART,
    NOT_RUN,
    RAN,
    Cell,
    Claim,
    Figure,
    Finding,
    Mode,
    Outcome,
    Panel,
)
from shoal.studies.papers.findings import close, growth, lines, mostly, of_all, pairs, spread


def row(algorithm, x, y, **more):
    return {"data": "d", "algorithm": algorithm, "x": x, "y": y, "status": RAN} | more


@pytest.mark.parametrize(
    ("agreeing", "compared", "word"), [(3, 3, HOLDS), (1, 3, IN_PART), (0, 3, FAILS), (0, 0, NOT_RUN)]
)
def test_a_finding_holds_as_far_as_its_comparisons_agree(agreeing, compared, word):
    assert Finding(agreeing, compared, "").word == word


def test_a_majority_is_enough_for_what_is_stated_to_be_mostly_so():
    assert mostly([True, True, False], "").word == HOLDS
    assert mostly([True, False], "").word == FAILS
    assert mostly([], "") is None
    assert of_all([], "") is None


def test_quick_mode_takes_fewer_and_never_more_rows_than_asked_for():
    assert Mode().of(1, 2) == 1
    assert Mode(full=True).of(1, 2) == 2
    assert Mode().rows(None) is None
    assert Mode(most_rows=50).rows(None) == 50
    assert Mode(most_rows=50).rows(10) == 10
    assert Mode(most_rows=50).rows(100) == 50


def test_lines_are_sorted_and_leave_out_what_did_not_run():
    rows = [row("a", 2, 5.0), row("a", 1, 4.0), row("b", 1, None), row("a", 3, 9.0, status=CANNOT)]
    assert lines(rows, "x", "y", ("algorithm",)) == {("a",): [(1, 4.0), (2, 5.0)]}


def test_pairs_are_made_where_both_were_measured():
    rows = [row("a", 1, 4.0), row("b", 1, 5.0), row("a", 2, 6.0)]
    assert pairs(rows, "a", "b", "y", ("x",)) == [(4.0, 5.0)]


def test_growth_is_the_exponent_between_the_ends():
    assert growth([(1, 1.0), (2, 3.0), (4, 16.0)]) == pytest.approx(2)
    assert growth([(1, 1.0)]) is None
    assert growth([(1, 0.0), (2, 1.0)]) is None


def test_spread_names_both_ends_or_the_one_number():
    assert spread([0.1234, 0.5]) == "0.12 to 0.5"
    assert spread([250.4, 1200]) == "250 to 1,200"
    assert spread([0.2, 0.2], ".0%", " s") == "20% s"
    assert close(1.0, 1.04)
    assert not close(1.0, 1.2)


def test_a_panel_draws_a_line_for_each_algorithm_and_names_categories():
    panel = Panel("a", "Time", "x", "y", y_label="seconds")
    svg = panel.svg([row("<oa>", 1, 2.0), row("<oa>", 2, 3.0), row("exact", 1, 1.0)], frozenset({"exact"}))
    assert svg.startswith("<svg")
    assert "&lt;oa&gt;" in svg
    assert "stroke-dasharray" in svg
    assert ">retail<" in panel.svg([row("a", "retail", 2.0), row("a", "chess", 3.0)])
    assert panel.svg([row("a", 1, None)]) is None


def test_a_panel_shows_only_its_own_rows():
    panel = Panel("a", "Time", "x", "y", (), {"data": "d"})
    assert panel.has(row("a", 1, 2.0))
    assert not panel.has(row("a", 1, 2.0, data="e"))


def test_cells_that_ask_for_the_same_are_the_same_whatever_they_may_cost():
    one = Cell("km", "recoded", {"data": "retail", "k": 5})
    assert one.key == Cell("km", "recoded", {"k": 5, "data": "retail"}, limit=9, cost=9).key
    assert one.key != Cell("km", "recoded", {"k": 6, "data": "retail"}).key


def test_distance_from_the_optimum_needs_a_proven_optimum_for_the_same_parameters():
    def measured(algorithm, ncp, k=5, proven=False):
        return {"data": "d", "k": k, "algorithm": algorithm, "ncp": ncp, "proven": proven, "status": RAN}

    rows = km.add_distances([measured("aa", 0.3), measured("exact", 0.2, proven=True), measured("aa", 0.3, k=9)])
    assert [one.get("above_optimum") for one in rows] == [pytest.approx(0.5), 0.0, None]
    unproven = km.add_distances([measured("aa", 0.3), measured("exact", 0.2)])
    assert [one.get("above_optimum") for one in unproven] == [None, None]


def test_an_outcome_without_rows_is_not_run_and_says_why():
    figure = Figure("km", "8", "t", "s", (Claim("states", lambda rows: Finding(1, 1, "ours")),), (), (), ())
    nothing = Outcome(figure, [], ("chess: not on this machine.",))
    assert (nothing.verdict(), nothing.words(), nothing.ran) == (NOT_RUN, [NOT_RUN], False)
    assert nothing.why_not() == ("chess: not on this machine.",)
    refused = Outcome(figure, [{"algorithm": "oa", "data": "d", "status": CANNOT, "reason": "too many cuts"}])
    assert refused.why_not() == ("oa on d: cannot run, too many cuts",)
    assert refused.to_dict()["claims"][0]["verdict"] == NOT_RUN


def test_a_verdict_on_several_claims_is_that_of_all_or_in_part():
    def figure(*holds):
        claims = tuple(Claim("", lambda rows, held=held: Finding(int(held), 1, "")) for held in holds)
        return Outcome(Figure("km", "8", "t", "s", claims, (), (), ()), [row("a", 1, 1.0)]).verdict()

    assert (figure(True, True), figure(False), figure(True, False)) == (HOLDS, FAILS, IN_PART)
