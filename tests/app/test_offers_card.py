"""Offers: advice as buttons, with the price of each as it is known."""

from __future__ import annotations

import copy
from types import SimpleNamespace

import pytest

from shoal.app.panels.promise import estimates
from shoal.app.panels.promise.offers_card import (
    OffersCard,
    idle_words,
    is_better,
    offers_for,
    price_words,
    put_document,
)
from shoal.app.project.drafts import begin
from shoal.app.project.workspace import Workspace
from shoal.estimates.decision_map import Spot, narrow
from shoal.estimates.outlook import Range
from shoal.plan import plan_of

SETS = {
    "version": 1, "input": {"path": "sets.csv", "separator": "|"}, "columns": {"items": "items"},
    "guarantee": {"model": "km", "k": 5, "m": 2}, "algorithm": "exact", "hierarchies": "icd.csv",
}  # fmt: skip
TABLE = {
    "version": 1, "input": {"path": "t.csv", "separator": "|"}, "columns": {"age": "quasi", "codes": "items"},
    "guarantee": {"model": "rt", "k": 5, "m": 2}, "algorithm": "rmerge-r", "options": {"delta": 0.6},
    "hierarchies": {"codes": "icd.csv", "age": "intervals:5,10"},
}  # fmt: skip
IDLE = {"column": "codes", "source": "icd.csv", "of_items": True, "share": 0.93}


def words(document, lost=0.5, idle=()):
    return [offer.words for offer in offers_for(document, lost, idle)]


def test_every_offer_is_a_plan_of_the_same_promise():
    for document, idle in ((SETS, [IDLE | {"column": ""}]), (TABLE, [IDLE])):
        before = copy.deepcopy(document)
        for offer in offers_for(document, 0.5, idle):
            plan_of(offer.document)
            assert offer.document["guarantee"] == document["guarantee"]
            assert offer.document != document
        assert document == before


def test_offers_say_what_they_change():
    assert words(SETS, idle=[IDLE | {"column": ""}]) == [
        "Use local",
        "Use hybrid",
        "Let 2% of the items be deleted",
        "Build the tree from how often items occur",
    ]
    assert words(TABLE, idle=[IDLE]) == [
        "Use joint",
        "Let 10% of the items be deleted",
        "Let 1% of the rows leave",
        "Set delta to 30.0%",
        "Do without the tree of “codes”",
    ]
    assert words(SETS, lost=0.01) == []


def test_a_tree_that_did_not_help_is_named_as_the_page_calls_it():
    assert idle_words(TABLE, IDLE, 2000) == (
        "In the trial on 2,000 rows, the tree icd.csv helps little: 93% of the items are published at its root, which is anything, or left "
        "out."
    )
    column = {"column": "age", "source": "intervals:5,10", "of_items": False, "share": 1.0}
    assert "intervals:5,10 helps little: 100% of the rows of column “age” are" in idle_words(TABLE, column)


def test_a_price_says_how_it_is_known():
    (tried,) = narrow([Spot({"algorithm": ""}, Range(0.81, 0.83), sample=2000)])
    (done,) = narrow([Spot({"algorithm": ""}, Range(0.9, 0.9), how="run", sample=900)])
    (vague,) = narrow([Spot({"algorithm": ""}, Range(0.3, 0.9), sample=2000)])
    here = Range(0.03, 0.03)
    assert price_words(tried, here, "run") == (
        "keeps 82% of the information instead of 3% (estimated on 2,000 rows; now: run)"
    )
    (all_of_it,) = narrow([Spot({"algorithm": ""}, Range(0.82, 0.82), sample=801, all_rows=True)])
    assert price_words(all_of_it, here, "run").endswith(
        "keeps 82% of the information instead of 3% (estimated on all 801 rows; now: run)"
    )
    (hurried,) = narrow([Spot({"algorithm": ""}, Range(0.77, 0.87), sample=801, all_rows=True)])
    assert price_words(hurried, here, "estimated on 801 rows") == (
        "keeps about 83% of the information instead of 3% (estimated on all 801 rows, with less time to search than a run has)"
    )
    assert price_words(done, here, "run") == "keeps 90% of the information instead of 3% (run)"
    assert price_words(vague, here, "run").startswith("keeps 30% to 90% of the information instead of 3%")
    assert price_words(vague, Range(0.5, 0.5), "run").startswith(
        "may keep 30% to 90% of the information instead of 50%"
    )
    assert price_words(tried, Range(0.0, 1.0), "estimated on 2,000 rows") == (
        "keeps 82% of the information (estimated on 2,000 rows); what the plan keeps is not known so well (0% to 100%, estimated on 2,000 "
        "rows)"
    )
    assert is_better(tried, here)
    assert not is_better(tried, Range(0.82, 0.82))


class Asked:
    """In place of the process that estimates: remembers what it is asked for."""

    def __init__(self):
        self.filled, self.busy = [], False

    def is_busy(self, project):
        return self.busy

    def standing(self, key):
        return None

    def fill(self, project, key, document, look):
        self.filled.append((key, look))


@pytest.fixture
def view(tmp_path):
    workspace = Workspace(tmp_path)
    (tmp_path / "sets.csv").write_text("items\n" + "a|b\n" * 9)
    project = workspace.new_project("sets")
    begin(project, tmp_path / "sets.csv")
    return SimpleNamespace(project=project, jobs=SimpleNamespace(warm=Asked(), of=lambda *asked: []))


def test_prices_are_asked_for_one_after_the_other_and_taken_from_what_is_kept(view):
    document = {**estimates.asked_document(view.project), "algorithm": "exact"}
    card, warm = OffersCard(view, lambda taken: None), view.jobs.warm
    card.panel = SimpleNamespace(refresh=lambda: None)  # there is no page
    card.about(document, Range(0.03, 0.03), "run", [])
    assert [offer.words for offer in card.offers][:2] == ["Use local", "Use hybrid"]
    warm.busy = True
    card.look()
    assert warm.filled == []
    warm.busy = False
    card.look(may_ask=False)
    assert warm.filled == []
    card.look()
    assert warm.filled == [(card.keys[0], "first")]
    estimates.keep(view.project, card.keys[0], {"sample": 9, "kept": {"info": [0.8, 0.8]}, "final": True})
    card.look()
    assert warm.filled[-1] == (card.keys[1], "first")
    assert (card.spots[0].share, card.spots[1].kept) == (0.8, None)
    card.clear()
    assert (card.offers, card.waiting) == ([], [])


def test_an_offer_leaves_the_outputs_of_the_plan(view):
    document = {"version": 1, "outputs": {"data": "x.csv"}, "algorithm": "exact"}
    put_document(document, {"version": 1, "algorithm": "local"})
    assert document == {"version": 1, "outputs": {"data": "x.csv"}, "algorithm": "local"}
