"""The tree as a canvas: what its window shows, what it asks and answers, and the page in a browser."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import shoal
from serving import until, violations
from shoal.app.jobs.estimator import work
from shoal.app.jobs.queue import Jobs
from shoal.app.jobs.tree_shape import read_shape, write_shape
from shoal.app.panels.hierarchies.canvas import cut_words
from shoal.app.panels.hierarchies.canvas.cut_question import CutQuestion, answer_to, forget_answers, keep_answer
from shoal.app.panels.hierarchies.canvas.icicle_window import (
    ABOVE,
    BELOW,
    DROPPED,
    PUBLISHED,
    UNKNOWN,
    Fate,
    IcicleWindow,
    own_name,
)
from shoal.app.panels.hierarchies.canvas.tree_canvas import allow_deletions
from shoal.app.panels.hierarchies.column_tree import ColumnTree
from shoal.app.panels.hierarchies.loaded_tree import Loaded
from shoal.app.panels.hierarchies.tree_values import keep_values, kept_values, needs
from shoal.app.project.drafts import begin
from shoal.app.project.wording import PageOrigin
from shoal.app.project.workspace import Workspace
from shoal.estimates import outlook
from shoal.hierarchy.build import balanced_tree
from shoal.hierarchy.cut import Cut
from shoal.hierarchy.spec import Values
from shoal.plan import plan_of
from shoal.processes import Teller
from strategies import trees

TREE = (
    "parent,child\nfruit,apple\nfruit,pear\ngreens,leek\ngreens,kale\nfish,cod\nfish,eel\n*,fruit\n*,greens\n*,fish\n"
)
ROWS = "apple|leek\napple|kale\npear|leek\npear|kale\n" * 3 + "cod\neel|apple\n"


def loaded_of(tree, counts=None):
    counts = np.arange(1, tree.n_leaves + 1) if counts is None else np.array(counts)
    return Loaded.of(tree, Values(tree.labels[: tree.n_leaves], counts)).warm()


# The window.


@given(trees(max_leaves=9), st.data())
def test_the_fate_of_a_node_is_what_one_reads_off_the_cut(tree, data):
    def cut_below(v, may_drop):
        if v < tree.n_leaves:
            return [(v, False)]
        kind = data.draw(st.sampled_from(["open", "closed", "dropped"] if may_drop else ["open", "closed"]))
        if kind == "open":
            return [one for child in tree.children[v] for one in cut_below(child, v == tree.root)]
        return [(v, kind == "dropped")]

    nodes = cut_below(tree.root, False)
    cut = Cut.at(tree, [v for v, gone in nodes if not gone], [v for v, gone in nodes if gone]).lowest()
    inner = [v for v in cut.nodes.tolist() if v >= tree.n_leaves]
    fate = Fate(tree, inner, cut.dropped)
    for v in range(tree.n_nodes):
        leaves = [leaf for leaf in range(tree.n_leaves) if tree.span[v, 0] <= tree.span[leaf, 0] < tree.span[v, 1]]
        shown = {int(cut.node[leaf]) for leaf in leaves}
        state, up = fate.of(v)
        if shown == {-1}:
            assert state == DROPPED
        elif len(shown) > 1:
            assert state == ABOVE
        else:
            (node,) = shown
            same = tree.leaf_count[node] == len(leaves)
            assert state == (PUBLISHED if same else BELOW)
            assert up == (0 if same else tree.depth[v] - tree.depth[node])


def test_a_window_opens_where_one_looks_and_goes_back():
    tree = balanced_tree([f"i{v:05}" for v in range(9_000)], 3_000)
    window = IcicleWindow(loaded_of(tree, np.ones(9_000, np.int64)), tree.root, width=600.0)
    branch = window.widths.children(tree.root)[0]
    assert not window.open_at(0)
    assert window.open_at(branch)
    more = next(cell for cell in window.cells() if cell.level == 1 and cell.more)
    assert window.open_at(branch, more.more[0])
    assert window.go_up() == branch
    assert (window.top, window.first) == (branch, 0)
    assert window.go_up() == branch
    assert window.top == tree.root
    for leaf in (0, 4_711, 8_999):
        window.show(leaf)
        assert leaf in {cell.node for cell in window.cells() if cell.more is None}
    assert window.resize(1e9)
    assert not window.resize(1e9)
    assert window.width == 4_000


def test_what_is_drawn_says_what_becomes_of_it():
    tree = balanced_tree(["a", "b", "c", "d", "e", "f"], 3)
    window = IcicleWindow(loaded_of(tree), tree.root)
    before = window.to_draw([], None, "times")
    assert {line[7] for line in before["cells"]} == {UNKNOWN}
    first, second = window.widths.children(tree.root)
    window.fate, window.blamed, window.marked = Fate(tree, [first], [second]), {0: 1}, (first,)
    drawn = window.to_draw([first], first, "times")
    by_node = {line[0]: line for line in drawn["cells"] if line[10] < 0}
    assert by_node[first][7:10] == [PUBLISHED, 0, 1 + 4 + 8]
    assert by_node[second][7:10] == [DROPPED, 0, 8]
    assert by_node[0][9] == 2
    assert {line[7] for node, line in by_node.items() if int(tree.parent[node]) == first} == {BELOW}
    json.dumps(drawn)


def test_who_is_to_blame_and_too_narrow_is_marked_above():
    tree = balanced_tree(["a", "b", "c", "d"], 2)
    window = IcicleWindow(loaded_of(tree, [100_000, 100_000, 100_000, 1]), tree.root)
    window.blamed = {3: 1}
    lines = {line[0]: line for line in window.to_draw([], None, "rows")["cells"] if line[10] < 0}
    assert 3 not in lines
    assert lines[int(tree.parent[3])][9] & 32


def test_a_name_leaves_out_what_stands_above_it():
    assert own_name("soups|canned", "soups") == "canned"
    assert own_name("soupspoon", "soups") == "soupspoon"
    assert own_name("soups|", "soups") == "soups|"
    assert len(own_name("x" * 500, "")) == 60


# What is asked, and what is answered.


class Shop:
    def __init__(self, folder):
        self.workspace = Workspace(folder)
        (folder / "shop.csv").write_text("items\n" + ROWS)
        (folder / "tree.csv").write_text(TREE)
        self.project = self.workspace.new_project("shop.csv")
        begin(self.project, folder / "shop.csv")
        self.project.change({"guarantee": {"model": "km", "k": 3, "m": 2}})
        keep_values(self.project)
        self.jobs = Jobs(self.workspace)
        need = needs(self.project)[0]
        self.tree = ColumnTree(self.project, need, kept_values(self.project, self.jobs)[need.column])
        self.tree.take("../../../tree.csv", "took tree.csv")

    @property
    def question(self):
        return CutQuestion(self.tree, self.tree.load(self.workspace, self.jobs), self.jobs.warm)


@pytest.fixture
def shop(tmp_path):
    forget_answers()
    yield Shop(tmp_path)
    forget_answers()


def asked_here(question, node=None):
    """The answer, found in this process."""
    said = []
    question.warm.question = lambda project, key, asked, keep: said.append((asked, keep))
    key = question.ask(node)
    asked, keep = said[0]
    work(asked, Teller(lambda facts: keep(facts["found"]) if "found" in facts else None))
    return answer_to(key)


def test_two_fish_are_to_blame_and_what_helps_is_priced(shop):
    shop.project.change({"options": {"suppress": 0.0}})
    question = shop.question
    found, names = asked_here(question), question.loaded.tree.names
    assert (found["info"], found["final"]) == (1.0, True)
    assert [names[v] for v in found["closed"]] == ["*"]
    assert [names[one["node"]] for one in found["blame"]["culprits"]] == ["fish"]
    merge, apart = found["remedies"]
    assert cut_words.remedy_words(merge, found["blame"]).startswith("Merge this one and the next rarest beside: ")
    assert cut_words.remedy_words(apart, found["blame"]).startswith("Set this one apart: ")
    assert merge["info"] < 1.0
    assert "would stand in fewer than 3 rows" in cut_words.blame_words(found["blame"], "*", 3)
    assert question.answer_before(question.key()) == {}
    shop.tree.edit(question.loaded, lambda tree: tree, "did nothing")
    before = shop.question.answer_before(shop.question.key())
    assert cut_words.loss_words(found | {"info": 0.5}, before) == (
        "One cut for all rows loses 50.0% of the information (before the last change: 100.0%)."
    )


def test_what_the_plans_own_algorithm_loses_is_tried_on_rows_that_grow(shop, monkeypatch):
    (shop.workspace.folder / "shop.csv").write_text("items\n" + ROWS * 40)
    monkeypatch.setattr(outlook, "ROWS", 50)
    shop.project.change({"guarantee": {"model": "km", "k": 30, "m": 2}, "options": {"suppress": 0.0}})
    said = []
    question = shop.question
    question.warm.question = lambda project, key, asked, keep: said.append(asked)
    question.ask()
    told = []
    work(said[0], Teller(lambda facts: told.append(facts["found"]) if "found" in facts else None))
    own = [found["own"] for found in told if "own" in found]
    assert [one["sample"] for one in own] == sorted({one["sample"] for one in own})
    assert (own[0]["algorithm"], own[0]["sample"] < own[-1]["sample"], own[-1]["sample"]) == ("local", True, 560)
    release = shoal.run(plan_of(said[0]["document"], PageOrigin()))
    for one in own:
        assert one["lost"][0] - 1e-9 <= release.loss["info"] <= one["lost"][1] + 1e-9
    assert own[-1]["lost"] == pytest.approx([release.loss["info"]] * 2)
    assert list(told[0]) == [
        "info",
        "exact",
        "deleted",
        "optimal",
        "suppress",
        "closed",
        "dropped",
    ]  # the cut comes first
    phases = []
    work(said[0], Teller(lambda facts: phases.append(str(facts.get("phase")))))
    assert "Trying the plan on 560 rows" in phases
    assert "Loading the algorithm" not in phases  # after an edit it is loaded
    shop.project.change({"algorithm": "exact"})
    assert asked_here(shop.question)["own"] is None


def test_what_is_lost_is_one_figure_where_it_is_known_well():
    whole = {"algorithm": "local", "lost": [0.123, 0.123], "sample": 500, "rows": 500}
    assert cut_words.own_words(whole, None) == (
        "Local, which will run, loses 12.3% of the information (tried on all rows)."
    )
    some = whole | {"lost": [0.1, 0.4], "rows": 9_000}
    assert cut_words.own_words(some, some | {"lost": [0.2, 0.25]}) == (
        "Local, which will run, loses 10.0% to 40.0% of the information (tried on 500 of 9,000 rows; before the last change: about 22.4%)."
    )
    assert "loses at most 40.0% of" in cut_words.own_words(some | {"lost": [0.0, 0.4]}, None)


def test_what_was_answered_is_not_asked_again(shop):
    question = shop.question
    found = asked_here(question)
    assert found["final"]
    question.warm.question = None  # nobody is asked
    assert question.ask() == question.key()
    assert question.key(7) != question.key()
    shop.project.change({"options": {"suppress": 0.25}})
    assert not answer_to(question.key())
    keep_answer("other", {"info": 0.5})
    forget_answers()
    assert not answer_to("other")


def test_setting_apart_lets_the_plan_leave_out_as_much_and_no_less(shop):
    usual = asked_here(shop.question)["suppress"]
    assert usual == 0.1  # of local
    allow_deletions(shop.tree, 0.05, usual)
    assert "options" not in shop.project.draft
    allow_deletions(shop.tree, 0.2, usual)
    assert shop.project.draft["options"] == {"suppress": 0.2}
    assert asked_here(shop.question)["suppress"] == 0.2


@given(trees(max_leaves=9))
def test_a_tree_arrives_as_it_was_sent(tmp_path_factory, tree):
    folder = tmp_path_factory.mktemp("shape")
    (folder / "shape-old.npz").touch()
    path = write_shape(tree, folder)
    there = read_shape(path)
    assert (there.labels, there.n_leaves) == (tree.labels, tree.n_leaves)
    assert there.parent.tolist() == tree.parent.tolist()
    assert [other.name for other in folder.iterdir()] == [path.name]
    assert path.stat().st_mode & 0o777 == 0o600


# In a browser.


def at_tree(served, page):
    (served.folder / "tree.csv").write_text(TREE)
    project = served.upload(page, "shop.csv", "items\n" + ROWS)
    plan = served.folder / ".shoal/projects" / project / "plan.yaml"
    draft = yaml.safe_load(plan.read_text())
    plan.write_text(yaml.safe_dump(draft | {"guarantee": {"model": "km", "k": 3, "m": 2}, "options": {"suppress": 0}}))
    page.goto(f"{served.base}/p/{project}/hierarchies")
    page.get_by_label("Tree", exact=True).click()
    page.get_by_role("option", name="A tree of your own, from a file").click()
    page.get_by_label("A file of the workspace").click()
    page.get_by_role("option", name="tree.csv").click()
    page.wait_for_selector("text=The tree knows all 6 items")
    page.locator(".sh-cut-loss").wait_for(timeout=120_000)


def says(page, words):
    page.wait_for_function(
        "words => document.querySelector('[id^=says-]')?.textContent.includes(words)", arg=words, timeout=20_000
    )


def loss(page):
    """What one cut loses, once it is known."""
    return float(re.search(r"([\d.]+)%", page.locator(".sh-cut-loss").inner_text())[1])


def test_the_tree_is_walked_merged_and_moved_by_keys_and_the_loss_follows(served, page):
    at_tree(served, page)
    before = loss(page)
    icicle = page.locator("shoal-icicle")
    icicle.focus()
    says(page, "*, 27 times, 6 below")
    page.keyboard.press("ArrowDown")
    says(page, "fruit, 13 times")
    page.keyboard.press("w")  # it is published as the root
    page.get_by_role("button", name="Look at fish").wait_for()
    page.get_by_text("“*” is published instead of what is below it.").wait_for()
    page.keyboard.press("Enter")
    page.get_by_label("The way to this part of the icicle").get_by_text("fruit").wait_for()
    page.keyboard.press("ArrowDown")
    says(page, "apple, 7 times")
    page.keyboard.press("Escape")
    says(page, "fruit, 13 times")
    page.keyboard.press("ArrowRight")
    says(page, "greens")
    page.keyboard.press("Shift+ArrowRight")
    page.wait_for_selector("text=2 are chosen")
    says(page, "fish")
    page.keyboard.press("m")
    page.wait_for_function("document.activeElement.getAttribute('aria-label') === 'Name of the new node'")
    page.keyboard.type("fresh")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Last: merged 2 nodes into “fresh”")
    until(lambda: loss(page) < before)
    page.wait_for_function("document.activeElement.tagName === 'SHOAL-ICICLE'")
    says(page, "fresh, 14 times, 4 below")
    # An item is taken up and put elsewhere; then both edits are undone.
    page.keyboard.press("ArrowDown")
    page.keyboard.press("x")
    page.wait_for_selector("text=Taken up: ")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("v")
    page.wait_for_selector("text=under “fruit”")
    page.keyboard.press("z")
    page.wait_for_selector("text=Last: merged 2 nodes into “fresh”")
    page.keyboard.press("z")
    page.wait_for_selector("text=Last: took tree.csv")
    until(lambda: loss(page) == before)


def test_what_closes_a_node_is_put_right_by_a_button(served, page):
    at_tree(served, page)
    page.get_by_role("button", name="Look at fish").wait_for()
    page.get_by_text("1 top-level node is rarer than k = 3 (fish)").wait_for()
    page.get_by_text(re.compile("^Local, which will run, loses .* of the information")).wait_for(timeout=120_000)
    before = loss(page)
    button = page.get_by_role("button", name=re.compile("^Merge this one and the next rarest beside: "))
    button.wait_for()
    told = float(re.search(r"([\d.]+)%", button.inner_text())[1])
    button.click()
    until(lambda: loss(page) < before)
    assert loss(page) == told
    page.get_by_text("top-level node is rarer than k").wait_for(
        state="detached"
    )  # what was said of the old tree is gone
    own = page.get_by_text(re.compile("^Local, which will run, loses .*tried on all rows; before the last change: "))
    own.wait_for(timeout=120_000)


def test_a_node_is_dragged_under_another(served, page):
    at_tree(served, page)
    box = page.locator("shoal-icicle canvas").bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + 90)  # an item below the first node
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 50, steps=4)
    page.mouse.move(box["x"] + box["width"] * 0.75, box["y"] + 54, steps=4)
    page.mouse.up()
    page.wait_for_selector("text=Last: moved “")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_canvas_is_within_reach_of_everybody(served, page, scheme):
    page.emulate_media(color_scheme=scheme)
    at_tree(served, page)
    page.locator("shoal-icicle").focus()
    page.set_viewport_size({"width": 390, "height": 800})
    until(lambda: page.evaluate("document.documentElement.scrollWidth") <= 390)
    assert violations(page) == []
    assert page.locator("[role=treeitem]").count() >= 4  # the list with the same nodes
