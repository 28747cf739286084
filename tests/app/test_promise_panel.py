"""Promise: which models fit, how a plan changes from one to another, estimates on a sample, and the panel in the browser."""

from __future__ import annotations

import json
import random
import re
from itertools import product

import pytest

from serving import until, violations
from shoal.algorithms import ALGORITHMS, Entry
from shoal.app.panels.promise import estimates
from shoal.app.panels.promise.promise_words import ALGORITHM_WORDS, MODELS, PRICES
from shoal.app.project import promises
from shoal.app.project.drafts import begin, set_role
from shoal.app.project.knobs import KNOBS
from shoal.app.project.workspace import Workspace
from shoal.errors import InputError
from shoal.estimates.outlook import sample
from shoal.estimates.trials import Trials
from shoal.guarantees.registry import GUARANTEES
from shoal.plan import plan_of
from shoal.price.levels import PRICES as PRICE_NAMES
from shoal.processes import Teller

SEX_AND_CODES = {"age": "quasi", "sex": "quasi", "codes": "items"}
COLUMNS = ("age", "sex", "codes", "pay")


def people(rows, seed=1):
    lots = random.Random(seed)
    lines = ["age,sex,codes,pay"]
    for _ in range(rows):
        codes = "|".join(sorted({lots.choice("AABBCDEFGH") for _ in range(lots.randint(1, 4))}))
        lines.append(
            f"{lots.randint(20, 60)},{lots.choice('MF')},{codes},{lots.choice(['low', 'high', 'none', 'some'])}"
        )
    return "\n".join(lines) + "\n"


def document_with(**roles):
    found = {"version": 1, "input": {"path": "people.csv", "separator": "|"}}
    return found | {"columns": dict.fromkeys(COLUMNS, "drop") | roles}


def test_every_algorithm_and_knob_has_words():
    assert {model.kind for model in MODELS} == set(ALGORITHMS) == set(ALGORITHM_WORDS)
    for kind, words in ALGORITHM_WORDS.items():
        assert list(words) == list(ALGORITHMS[kind])
    for model in MODELS:
        assert set(GUARANTEES[model.kind].numbers) <= set(KNOBS)
        assert all((model.stops, model.not_stops, model.changes, model.paper))


def test_the_documentation_has_the_pages_that_cards_name(request):
    for model in MODELS:
        assert (request.config.rootpath / "docs" / f"{model.notes}.md").is_file()


@pytest.mark.parametrize("roles", list(product(("quasi", "items", "sensitive", "keep", "drop"), repeat=3)))
def test_a_model_that_fits_gives_a_plan_and_one_that_does_not_is_refused(roles):
    """Whatever the roles are, cards and plans agree."""
    for kind in set(ALGORITHMS) - set(promises.ELSEWHERE):
        document = document_with(age=roles[0], codes=roles[1], pay=roles[2])
        why = promises.misfit(kind, document)
        if "items" not in roles:
            document["input"].pop("separator")
        promises.choose_model(document, kind, {})
        if why is None:
            assert plan_of(document).kind == kind
            assert promises.guarantee_of(document).promise()
        elif kind == "constraints":  # which needs a policy, whatever the roles
            with pytest.raises(InputError):
                plan_of(document)
        elif "items" in roles or kind not in ("km", "k"):  # a plan may leave it to the reader to find the sets
            with pytest.raises((InputError, AssertionError)):
                assert plan_of(document).kind == kind


def test_one_can_go_round_all_models_and_come_back():
    document = document_with(age="quasi", codes="items") | {
        "hierarchies": {"age": "intervals:5,10", "codes": "balanced:3"}
    }
    aside = promises.choose_model(document, "rt", {})
    document["options"] = {"delta": 0.2, "seed": 3, "threads": 1}
    document["guarantee"]["m"] = 3
    before = json.loads(json.dumps(document))
    document["columns"]["age"] = "drop"
    aside = promises.choose_model(document, "km", aside)
    assert document["hierarchies"] == "balanced:3"
    assert document["options"] == {"threads": 1}
    aside = promises.choose_model(document, "k", aside)
    assert "hierarchies" not in document
    assert document["guarantee"] == {"model": "k", "k": 5, "l": 1}
    document["columns"]["age"] = "quasi"
    promises.choose_model(document, "rt", aside)
    assert document["hierarchies"] == before["hierarchies"]
    assert document["guarantee"] == before["guarantee"]


def test_sensitive_items_travel_with_the_models_that_have_a_use_for_them():
    document = document_with(age="quasi", codes="items")
    assert "name them" in promises.misfit("lm", document)
    assert promises.misfit("lm", document, {"sensitive_items": ["A"]}) is None
    aside = promises.choose_model(document, "lm", {"sensitive_items": ["A"]})
    assert document["sensitive_items"] == ["A"]
    assert document["guarantee"]["l"] == 2
    document["columns"]["age"] = "drop"
    aside = promises.choose_model(document, "km", aside)
    assert "sensitive_items" not in document
    promises.choose_model(document, "k", aside)
    assert document["sensitive_items"] == ["A"]
    assert "l" in promises.knobs_of(document)
    promises.turn(document, "l", 3)
    promises.name_sensitive(document, [])
    assert document["guarantee"]["l"] == 1
    assert "l" not in promises.knobs_of(document)
    assert promises.sensitive_names(" A, B\nA,, C d ") == ["A", "B", "C d"]


def test_what_a_missing_sensitive_value_is_can_be_said_where_it_counts():
    document = document_with(age="quasi", pay="sensitive")
    document["input"].pop("separator")
    promises.choose_model(document, "table", {})
    promises.turn(document, "l", 2)
    assert promises.counts_missing(document)
    assert promises.guarantee_of(document).missing == "unknown"
    assert "missing ones not counted" in promises.guarantee_of(document).promise()[1]
    promises.set_word(document, "missing", "value")
    assert plan_of(document).guarantee.missing == promises.guarantee_of(document).missing == "value"
    assert "a missing value counted as one of them" in promises.guarantee_of(document).promise()[1]
    promises.turn(document, "l", 1)
    assert not promises.counts_missing(document)
    assert "missing" not in document["guarantee"]
    plan_of(document)
    promises.choose_model(document, "diversity", {})
    promises.set_word(document, "missing", "value")
    assert promises.guarantee_of(document).missing == "value"
    promises.set_word(document, "missing", "")
    assert "missing" not in document["guarantee"]
    promises.choose_model(document, "table", {})
    assert promises.guarantee_of(document).missing == "unknown"


def test_knobs_stay_within_what_plans_allow():
    document = document_with(codes="items")
    promises.choose_model(document, "km", {})
    promises.choose_algorithm(document, "hybrid")
    assert promises.knobs_of(document) == ["k", "m", "suppress"]
    assert promises.value_of(document, "suppress") == 0.05
    for name, value, expected in (("k", -3, 2), ("m", 0, 1), ("suppress", 7, 1), ("k", 10**12, 10**9)):
        promises.turn(document, name, value)
        assert promises.value_of(document, name) == expected
        plan_of(document)
    promises.choose_algorithm(document, "aa")
    assert promises.knobs_of(document) == ["k", "m"]
    assert "options" not in document


def test_the_heading_calls_the_promise_as_the_certificate_does(table, monkeypatch):
    monkeypatch.chdir(table)
    document = document_with(age="quasi", sex="quasi", pay="sensitive")
    promises.choose_model(document, "diversity", {})
    for name, formal in (
        ("injector", "matching 3-diversity"),
        ("balanced", "matching 3-diversity"),
        ("anatomy", "3-diversity"),
    ):
        promises.choose_algorithm(document, name)
        assert str(promises.guarantee_of(document)) == formal
        assert Trials().trial(plan_of(document), Teller(lambda facts: None))["guarantee"] == formal
        assert "0 rules" not in "".join(promises.guarantee_of(document).promise())
    assert "knows all that the data show of the kind" not in promises.guarantee_of(document).promise()[0]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("people")
    (folder / "people.csv").write_text(people(600))
    return folder


@pytest.mark.parametrize(
    ("kind", "roles"),
    [
        ("km", {"codes": "items"}),
        ("k", {"codes": "items"}),
        ("table", {"age": "quasi", "sex": "quasi", "pay": "sensitive"}),
        ("rt", SEX_AND_CODES),
        ("lm", SEX_AND_CODES),
        ("diversity", {"age": "quasi", "sex": "quasi", "pay": "sensitive"}),
    ],
)
def test_every_model_is_estimated_on_a_sample(table, monkeypatch, kind, roles):
    monkeypatch.chdir(table)
    document = document_with(**roles)
    promises.choose_model(document, kind, {"sensitive_items": ["H"]} if kind == "lm" else {})
    if kind == "diversity":
        promises.turn(document, "l", 2)
    found = Trials().trial(plan_of(document), Teller(lambda facts: None), rows=200)
    again = Trials().trial(plan_of(document), Teller(lambda facts: None), rows=200)
    assert {**found, "seconds": 0} == {**again, "seconds": 0}
    assert (found["sample"], found["rows"], found["kind"], found["holds"]) == (200, 600, kind, True)
    assert "sample of 200 of 600 rows; the whole can differ" in estimates.label(found)
    for value, _, _ in estimates.figures(found):
        for figure in value.split(" to "):
            assert figure.rstrip("%").replace(",", "").replace(".", "").isdigit()
    assert (found["share_of_k"], found["k"]) == ((None, None) if kind == "diversity" else (2, 5))
    assert "After it, none." in estimates.protection_words(found)
    json.dumps(found)


def test_a_file_that_is_small_enough_is_taken_whole(table, monkeypatch):
    monkeypatch.chdir(table)
    document = document_with(age="quasi")
    promises.choose_model(document, "table", {})
    found = Trials().trial(plan_of(document), Teller(lambda facts: None))
    assert found["sample"] == found["rows"] == 600
    assert estimates.label(found).startswith("Tried on all 600 rows")


def test_a_sample_is_drawn_once_and_for_all(table):
    from shoal.records.source import load_sets

    whole = load_sets(str(table / "people.csv"), items="codes", separator="|", drop=("age", "sex", "pay"))
    one, other = sample(whole, 50), sample(whole, 50)
    assert one.baskets == other.baskets
    assert one.baskets.vocabulary == whole.baskets.vocabulary
    assert sample(whole, 600) is whole
    assert sample(whole, 50, seed=1).baskets != one.baskets


def test_changes_that_do_not_matter_keep_the_estimate(tmp_path):
    (tmp_path / "work").mkdir()
    data = tmp_path / "work" / "people.csv"
    data.write_text(people(60))
    project = Workspace(tmp_path / "work").new_project("people")
    begin(project, data)
    key = estimates.estimate_key(project, estimates.asked_document(project), 2000)
    project.change({"outputs": {"data": "other.csv"}})
    assert estimates.estimate_key(project, estimates.asked_document(project), 2000) == key
    project.change(lambda document: promises.turn(document, "k", 9))
    assert estimates.estimate_key(project, estimates.asked_document(project), 2000) != key


def test_a_table_whose_sets_are_left_out_can_be_estimated_at_once(tmp_path):
    (tmp_path / "work").mkdir()
    data = tmp_path / "work" / "people.csv"
    data.write_text(people(60))
    project = Workspace(tmp_path / "work").new_project("people")
    begin(project, data)
    for name, role in (("pay", "sensitive"), ("codes", "drop")):
        set_role(project, name, role)
    assert "separator" not in project.draft["input"]
    assert Trials().trial(project.plan(), Teller(lambda facts: None))["kind"] == "table"
    set_role(project, "codes", "items")
    assert project.draft["input"]["separator"] == "|"


def opened(served, page, name="people.csv", rows=300):
    """A project with people, at its promise."""
    project = served.upload(page, name, people(rows))
    page.wait_for_selector("text=What is in the columns?")
    page.get_by_label("Role of column pay").click()
    page.get_by_role("option", name="Leave out").click()
    page.wait_for_selector("text=Every column has a role.")
    page.goto(f"{served.base}/p/{project}/promise")
    page.wait_for_selector("text=Tried on all 300 rows", timeout=240_000)
    return project


def plan_file(served, project):
    return (served.folder / ".shoal" / "projects" / project / "plan.yaml").read_text()


def test_a_slider_changes_the_plan_and_the_estimate_and_can_be_undone(served, page):
    project = opened(served, page)
    assert "k: 5" in plan_file(served, project)
    page.get_by_role("slider", name="k, the crowd").locator("[tabindex]").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("text=at least 6.")
    page.wait_for_selector("text=(6,6^2)-anonymity by joint", timeout=240_000)
    assert "k: 6" in plan_file(served, project)
    field = page.get_by_label("k, the crowd, as a number")
    assert field.input_value() == "6"
    field.fill("60")  # beyond the slider
    page.wait_for_selector("text=at least 60.")
    until(lambda: "k: 60" in plan_file(served, project))
    page.reload()
    page.wait_for_selector("text=at least 60.")
    assert page.get_by_label("k, the crowd, as a number").input_value() == "60"
    page.get_by_role("button", name="Undo").click()
    page.wait_for_selector("text=at least 6.")
    page.get_by_role("button", name="Undo").click()
    page.wait_for_selector("text=(5,5^2)-anonymity by joint", timeout=240_000)


def test_a_click_on_the_map_sets_the_plan(served, page):
    project = served.upload(
        page, "sets.csv", "codes\n" + "".join(f"{'|'.join('ABCD'[i % 3 : 2 + i % 3])}\n" for i in range(80))
    )
    page.wait_for_selector("text=Every column has a role.")
    page.goto(f"{served.base}/p/{project}/promise")
    page.get_by_role("button", name=re.compile("^k = 5, m = 2; keeps .* estimated .* the plan stands here")).wait_for(
        timeout=240_000
    )
    page.wait_for_selector("text=18 of 18 points are known.", timeout=120_000)
    cell = page.get_by_role("button", name=re.compile("^k = 20, m = 1;"))
    cell.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("text=at least 20.")
    assert "k: 20" in plan_file(served, project)
    page.get_by_role("button", name=re.compile("^k = 20, m = 1;.*the plan stands here")).wait_for()
    page.get_by_role("button", name="Take the proposal of the map").click()
    page.wait_for_selector("text=The plan stands at the proposal.")
    page.get_by_role("button", name="Risk left").click()
    page.get_by_role("button", name="Undo").click()
    page.wait_for_selector("text=at least 20.")
    for scheme, width in (("light", 1280), ("dark", 390)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        page.reload()  # colours fade from one theme to the other
        page.wait_for_selector(f"body.body--{scheme} >> text=points are known.")
        page.wait_for_selector("text=Tried on all 80 rows")
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_models_are_chosen_with_their_words_and_reasons(served, page):
    project = opened(served, page)
    page.get_by_text("It needs items that others want to learn").wait_for()
    page.get_by_label("Names, with commas between them").fill("H, G")
    page.keyboard.press("Tab")
    page.get_by_role("button", name="Choose this: And sensitive items stay unsure").click()
    page.wait_for_selector("text=no sensitive item stands in more than 1 of 2")
    page.wait_for_selector("text=(5,2^2)-diversity by", timeout=240_000)
    assert "model: lm" in plan_file(served, project)
    page.get_by_role("combobox", name="Algorithm").click()
    page.get_by_role("option", name="rfirst").click()
    page.get_by_text("The columns come first: nothing is merged for the items.").first.wait_for()
    assert page.get_by_role("slider", name="delta").count() == 0
    page.get_by_label("Names, with commas between them").fill("nowhere")
    page.keyboard.press("Tab")
    page.wait_for_selector("text=nowhere", timeout=240_000)
    # A role that the promise has no use for: the choice stays, and is said not to fit.
    page.goto(f"{served.base}/p/{project}/data")
    page.get_by_label("Role of column codes").click()
    page.get_by_role("option", name="Leave out").click()
    page.wait_for_selector("text=Every column has a role.")
    page.goto(f"{served.base}/p/{project}/promise")
    page.wait_for_selector("text=The promise no longer fits what the columns are.")
    page.get_by_role("button", name="Choose this: Every combination of columns has a crowd").click()
    page.wait_for_selector("text=5-anonymity by better-of-two", timeout=240_000)
    for width in (900, 500):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_missing_sensitive_value_is_read_as_the_user_says(served, page):
    project = opened(served, page)
    page.goto(f"{served.base}/p/{project}/data")
    for column, role in (("codes", "Leave out"), ("pay", "Others want to learn it")):
        page.get_by_label(f"Role of column {column}").click()
        page.get_by_role("option", name=role).click()
        page.wait_for_function("!document.querySelector('[role=option]')")
    until(lambda: {"codes: drop", "pay: sensitive"} <= set(map(str.strip, plan_file(served, project).splitlines())))
    page.goto(f"{served.base}/p/{project}/promise")
    page.get_by_role("button", name="Choose this: The sensitive value stays one of l").click()
    page.wait_for_selector("text=missing ones not counted")
    page.wait_for_selector("text=matching 2-diversity by injector", timeout=240_000)
    page.get_by_role("combobox", name="A missing sensitive value").click()
    page.get_by_role("option", name="A value of its own").click()
    page.wait_for_selector("text=a missing value counted as one of them")
    until(lambda: "missing: value" in plan_file(served, project))


def test_a_price_is_asked_for_where_the_algorithm_takes_one(monkeypatch):
    document = document_with(items="items")
    promises.choose_model(document, "km", {})
    monkeypatch.setitem(ALGORITHMS["km"], "exact", Entry("shoal.algorithms.km.exact", ("price", "suppress")))
    monkeypatch.setitem(ALGORITHMS["km"], "aa", Entry("shoal.algorithms.km.apriori"))
    promises.choose_algorithm(document, "exact")
    assert promises.takes_price(document)
    assert promises.price_of(document) == ""
    promises.choose_price(document, "ncp")
    assert (document["options"], promises.price_of(document)) == ({"price": "ncp"}, "ncp")
    assert set(PRICES) == {"", *PRICE_NAMES}
    promises.choose_price(document, "")
    assert "options" not in document
    promises.choose_price(document, "ncp")
    promises.choose_algorithm(document, "aa")
    assert not promises.takes_price(document)
    assert "options" not in document
