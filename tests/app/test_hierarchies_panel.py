"""The panel of hierarchies: its state without a browser, then the page in one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serving import until
from shoal.app.jobs.queue import LIVE, Jobs
from shoal.app.panels.hierarchies.column_tree import ColumnTree, hang_unknown
from shoal.app.panels.hierarchies.loaded_tree import Loaded
from shoal.app.panels.hierarchies.tree_browser import DEEPEST, MOST_ROWS, PAGE, Browser
from shoal.app.panels.hierarchies.tree_forms import form_of, forms_for
from shoal.app.panels.hierarchies.tree_values import Need, keep_values, kept_values, needs, submit
from shoal.app.panels.result.results import _trees
from shoal.app.project.drafts import begin, set_role
from shoal.app.project.workspace import Workspace
from shoal.errors import InputError
from shoal.hierarchy.build import balanced_tree
from shoal.hierarchy.edit import rename
from shoal.hierarchy.files import read_hierarchy
from shoal.hierarchy.spec import Values
from shoal.hierarchy.tree import Hierarchy
from strategies import trees

FRUIT = "A|B\nA|C\nB|C|D\nA\nA|B|D\nC|D\n"
TREE = "parent,child\nX,A\nX,B\nY,C\nY,D\n*,X\n*,Y\n"
RT = "age,town,items\n" + "".join(f"{20 + i},{'ab'[i % 2]},{'|'.join('pqrs'[: 1 + i % 4])}\n" for i in range(8))


class Desk:
    """A project with data, and what the panel does with it."""

    def __init__(self, folder: Path, name: str, text: str) -> None:
        self.workspace = Workspace(folder)
        (self.workspace.folder / name).write_text(text)
        self.project = self.workspace.new_project(name)
        begin(self.project, self.workspace.folder / name)
        self.jobs = Jobs(self.workspace)

    @property
    def need(self):
        return needs(self.project)[0]

    def values(self, need=None):
        if kept_values(self.project, self.jobs) is None:
            keep_values(self.project)
        return kept_values(self.project, self.jobs)[(need or self.need).column]

    def tree(self, need=None):
        return ColumnTree(self.project, need or self.need, self.values(need))

    def loaded(self, need=None):
        return self.tree(need).load(self.workspace, self.jobs)

    def file(self, name, text):
        (self.workspace.folder / name).write_text(text)
        self.tree().take(f"../../../{name}", f"took {name}")

    def edit(self, verb, did="did it"):
        self.tree().edit(self.loaded(), verb, did)


@pytest.fixture
def desk(tmp_path):
    found = Desk(tmp_path / "w", "fruit.csv", "items\n" + FRUIT)
    assert [need.model for need in needs(found.project)] == ["km"]
    return found


def node(loaded, name):
    return loaded.tree.names.index(name)


def test_a_built_tree_is_held_against_the_data(desk):
    assert desk.tree().spec == "frequency:5"
    loaded = desk.loaded()
    assert loaded.missing == {}
    assert loaded.counts[loaded.tree.root] == 13
    assert desk.loaded() is loaded


def test_missing_values_are_counted_and_can_be_hung_in(desk):
    desk.file("tree.csv", TREE.replace("X,B\n", "").replace("Y,C\n", ""))
    loaded = desk.loaded()
    assert (loaded.missing, loaded.known) == ({"B": 3, "C": 3}, 2)
    desk.tree().hang(loaded, list(loaded.missing), node(loaded, "X"))
    after = desk.loaded()
    assert after.missing == {}
    assert after.counts[node(after, "X")] == 10
    assert desk.tree().step(-1)
    assert list(desk.loaded().missing) == ["B", "C"]


def test_the_root_takes_what_the_tree_does_not_know(desk):
    desk.file("tree.csv", TREE.replace("X,B\n", ""))
    hang_unknown(desk.project, True)
    assert desk.project.draft["options"] == {"unknown": "root"}
    assert desk.project.problem() is None
    hang_unknown(desk.project, False)
    assert "options" not in desk.project.draft


def test_a_tree_is_checked_as_the_command_does(desk):
    desk.file("tree.csv", TREE.replace("Y,D\n", "Y,D\n*,Z\nZ,E\n"))
    found = desk.loaded().notes(9)
    assert [grade for grade, _ in found] == ["warning", "note", "note"]
    assert "rarer than k = 9 (Y, X)" in found[0][1]
    assert "--" not in "".join(text for _, text in found)


def test_edits_are_files_of_their_own_and_can_be_undone(desk):
    desk.file("tree.csv", TREE)
    before = desk.loaded()
    desk.edit(lambda tree: rename(tree, node(before, "X"), "fruit"), "renamed it")
    spec = desk.tree().spec
    path = desk.project.folder / spec
    assert path.read_text().startswith("parent,child\n")
    assert path.stat().st_mode & 0o777 == 0o600
    assert set(read_hierarchy(path).names) == {"A", "B", "C", "D", "fruit", "Y", "*"}
    assert desk.tree().steps.undoes == "renamed it"
    # As after a restart: the steps are in files.
    again = ColumnTree(Workspace(desk.workspace.folder).project(desk.project.id), desk.need, desk.values())
    assert again.step(-1)
    assert again.spec == "../../../tree.csv"
    assert (desk.workspace.folder / "tree.csv").read_text() == TREE
    assert again.step(1)
    assert again.spec == spec
    assert not again.step(1)


def test_what_was_undone_goes_with_the_next_edit(desk):
    desk.file("tree.csv", TREE)
    desk.edit(lambda tree: rename(tree, tree.root, "all"))
    desk.tree().step(-1)
    desk.edit(lambda tree: rename(tree, tree.root, "every"))
    assert desk.tree().steps.redoes is None
    assert "every" in desk.loaded().tree.names


def test_steps_go_on_from_what_the_plan_says(desk):
    desk.file("tree.csv", TREE)
    desk.project.change({"hierarchies": "balanced:2"})
    found = desk.tree().steps
    assert (found.undoes, found.redoes) == ("took balanced:2", None)
    assert desk.tree().step(-1)
    assert desk.tree().spec == "../../../tree.csv"


def test_a_refused_edit_changes_nothing(desk):
    desk.file("tree.csv", TREE)
    before = desk.project.draft
    with pytest.raises(InputError, match="item of the data"):
        desk.edit(lambda tree: rename(tree, 0, "x"))
    assert desk.project.draft == before


def test_a_release_follows_the_edited_tree(desk):
    from shoal.release import run

    desk.file("tree.csv", TREE)
    desk.edit(lambda tree: rename(tree, tree.names.index("X"), "fruit"))
    desk.project.change({"guarantee": {"model": "km", "k": 3, "m": 2}, "outputs": None})
    release = run(desk.project.plan())
    assert set(release.published.vocabulary) <= {"A", "B", "C", "D", "fruit", "Y", "*"}


def test_columns_of_a_table_have_trees_of_their_own(tmp_path):
    desk = Desk(tmp_path / "w", "people.csv", RT)
    for column, role in (("age", "quasi"), ("town", "quasi"), ("items", "items")):
        set_role(desk.project, column, role)
    items, age, town = needs(desk.project)
    assert [need.column for need in (items, age, town)] == ["items", "age", "town"]
    desk.project.change({"hierarchies": None})
    assert desk.loaded(items) is None
    assert desk.loaded(age) is None
    assert desk.loaded(town).tree.names == ("a", "b", "*")
    desk.tree(age).take("intervals:5,10", "took intervals")
    assert "[20:24]" in desk.loaded(age).tree.names
    assert desk.project.draft["hierarchies"] == {"age": "intervals:5,10"}
    with pytest.raises(InputError, match="do not fit"):
        desk.tree(age).check("intervals:7,10")
    desk.tree(town).check("balanced:2")
    assert {form.name for form in forms_for(age, desk.values(age))} >= {"none", "intervals", "mask", "file"}
    set_role(desk.project, "town", "drop")  # a tree that was chosen stays
    assert desk.project.draft["hierarchies"] == {"age": "intervals:5,10"}
    set_role(desk.project, "town", "quasi")
    desk.project.set(promise_chosen=True)
    set_role(desk.project, "age", "drop")  # and goes with its column
    assert "hierarchies" not in desk.project.draft


def test_large_data_are_read_and_trees_learned_by_jobs(desk):
    need, project, jobs = desk.need, desk.project, desk.jobs

    def finished(job):
        def is_over():
            jobs.tick()
            return jobs.get(project, job.id).status not in LIVE

        until(is_over)
        assert jobs.get(project, job.id).error is None

    assert kept_values(project, jobs) is None
    job = submit(project, jobs)
    assert submit(project, jobs).id == job.id
    finished(job)
    assert kept_values(project, jobs)[need.column].counts.tolist() == [4, 3, 3, 3]
    if "learned" not in {form.name for form in forms_for(need, desk.values())}:
        return
    desk.tree().take("learned:2", "took learned:2")
    assert desk.loaded() is None
    job = submit(project, jobs, 2)
    assert desk.loaded().id == job.id
    finished(job)
    assert desk.loaded().tree.n_leaves == 4
    project.change({"guarantee": {"model": "km", "k": 3, "m": 1}})  # another promise, another tree
    assert desk.loaded() is None


def test_the_items_of_a_table_have_a_learned_tree_too(tmp_path):
    desk = Desk(tmp_path / "w", "people.csv", RT)
    for column, role in (("age", "quasi"), ("town", "quasi"), ("items", "items")):
        set_role(desk.project, column, role)
    items, *columns = needs(desk.project)
    assert "learned" in {form.name for form in forms_for(items, desk.values(items))}
    assert not any("learned" in {form.name for form in forms_for(need, desk.values(need))} for need in columns)
    desk.tree(items).take("learned:2", "took learned:2")
    assert desk.project.problem() is None
    job = submit(desk.project, desk.jobs, 2)
    until(lambda: (desk.jobs.tick(), desk.jobs.get(desk.project, job.id).status not in LIVE)[1])
    assert desk.jobs.get(desk.project, job.id).error is None
    assert set(desk.loaded(items).tree.names[:4]) == {"p", "q", "r", "s"}


def test_no_tree_where_nothing_is_generalized(desk):
    desk.project.change({"guarantee": {"model": "k", "k": 2}, "hierarchies": None})
    assert needs(desk.project) == []


def test_trees_outside_the_workspace_are_not_read(desk, tmp_path):
    (tmp_path / "secret.csv").write_text(TREE)
    desk.project.change({"hierarchies": "../../../../secret.csv"})
    with pytest.raises(InputError, match="outside the workspace"):
        desk.loaded()


def test_the_way_is_offered_for_dates_alone_and_known_again():
    need = Need("seen", False, "rt")
    dates = Values(("05.02.2019", "28.02.2019"), np.ones(2, np.int64))
    names = [form.name for form in forms_for(need, dates)]
    assert "dates" in names
    assert forms_for(need, dates)[0].title == "As recognised: dates"  # what a release takes them for, unless told
    assert forms_for(need, Values(("a", "b"), np.ones(2, np.int64)))[0].title == "No steps: the value or nothing"
    assert "dates" not in [form.name for form in forms_for(need, Values(("a", "b"), np.ones(2, np.int64)))]
    assert form_of("dates")[0] == "dates"
    assert form_of("trees/seen-0123456789.csv")[0] == "file"


def test_the_plan_in_brief_calls_trees_of_the_app_by_what_they_are():
    given = {
        "seen": "dates",
        "zip": "mask",
        "sex": "../../trees/sex-0123456789.csv",
        "x": "up/x.csv",
    }
    assert _trees(given) == "seen: days, months and years, zip: mask, sex: your edited tree, x: x.csv"


# What a page shows.


def browser_of(tree: Hierarchy) -> Browser:
    return Browser(Loaded.of(tree, Values(tree.labels[: tree.n_leaves], np.ones(tree.n_leaves, np.int64))))


def test_a_page_shows_a_window_of_many_children():
    browser = browser_of(balanced_tree([f"i{v}" for v in range(5_000)], 5_000))
    rows = list(browser.rows())
    assert len(rows) == PAGE + 2
    assert rows[-1].more == (1, PAGE, 5_000)
    browser.turn(browser.top, True)
    assert list(browser.rows())[-1].more == (PAGE + 1, 2 * PAGE, 5_000)
    browser.turn(browser.top, False)
    browser.turn(browser.top, False)
    assert list(browser.rows()) == rows


def test_what_is_sought_is_opened_wherever_it_is():
    browser = browser_of(balanced_tree([f"i{v:05}" for v in range(70_000)], 40))
    hits, count = browser.search("I0123")
    assert count == 10
    assert hits[0].name == "i01230"
    assert hits[0].path.startswith("* › items[1:64000]")
    browser.show(hits[0].node)
    assert hits[0].node in {row.node for row in browser.rows()}
    assert list(browser.chosen) == [hits[0].node]
    hits, count = browser.search("i")
    assert (len(hits), count) == (50, browser.loaded.tree.n_nodes - 1)
    assert browser.search("  ") == ([], 0)


def test_a_deep_tree_is_shown_from_further_down():
    n = 4_000
    parent = np.array([2, 2, *range(3, n), -1], np.int32)
    tree = Hierarchy(parent, tuple(f"n{v}" for v in range(n)), 2)
    browser = browser_of(tree)
    browser.show(0)
    assert 0 in {row.node for row in browser.rows()}
    assert len(list(browser.rows())) <= DEEPEST + 2
    assert len(browser.trail()) == n - 2 - (DEEPEST - 1)
    browser.start_at(tree.root)
    assert browser.trail() == []


@given(st.data())
def test_pages_stay_short_whatever_is_opened(data):
    tree = data.draw(st.sampled_from([balanced_tree([f"i{v}" for v in range(3_000)], n) for n in (3, 20, 200)]))
    browser = browser_of(tree)
    for _ in range(data.draw(st.integers(1, 30))):
        rows = [row for row in browser.rows() if row.more is None]
        inner = [row.node for row in rows if row.is_open is not None]
        v = data.draw(st.sampled_from(inner))
        data.draw(st.sampled_from([browser.toggle, browser.start_at, lambda v: browser.turn(v, True), browser.show]))(v)
        shown = [row.node for row in browser.rows() if row.more is None]
        assert len(set(shown)) == len(shown)
        assert len(list(browser.rows())) <= MOST_ROWS + PAGE


@given(trees(max_leaves=9))
def test_all_that_is_opened_is_all_there_is(tree):
    browser = browser_of(tree)
    for v in range(tree.n_leaves, tree.n_nodes - 1):
        if v not in browser.opened:
            browser.toggle(v)
    assert {row.node for row in browser.rows()} == set(range(tree.n_nodes))


# In a browser.


def row(page, name):
    return page.locator("[role=treeitem]", has=page.locator("b", has_text=re.compile(f"^{re.escape(name)}$")))


def opened(served, page, files=()):
    for name, text in files:
        (served.folder / name).write_text(text)
    project = served.upload(page, "fruit.csv", "items\n" + FRUIT)
    page.goto(f"{served.base}/p/{project}/hierarchies")
    page.wait_for_selector("[role=treeitem]")
    return project


def take_file(page, name):
    page.get_by_label("Tree", exact=True).click()
    page.get_by_role("option", name="A tree of your own, from a file").click()
    page.get_by_label("A file of the workspace").click()
    page.get_by_role("option", name=name).click()


def hierarchies(served, project):
    import yaml

    return yaml.safe_load((served.folder / ".shoal/projects" / project / "plan.yaml").read_text())["hierarchies"]


def test_a_wrong_file_is_refused_and_can_be_mended(served, page):
    circle = "parent,child\nA,B\nB,A\n"
    roots = TREE.replace("*,X\n*,Y\n", "")
    project = opened(served, page, [("circle.csv", circle), ("roots.csv", roots)])
    take_file(page, "circle.csv")
    page.wait_for_selector("text=circle.csv was not taken")
    page.wait_for_selector("text=in a circle")
    assert hierarchies(served, project) == "frequency:5"
    page.get_by_label("A file of the workspace").click()
    page.get_by_role("option", name="roots.csv").click()
    page.wait_for_selector("text=It has 2 roots (X, Y)")
    page.get_by_role("button", name="Put one root above them").click()
    page.wait_for_selector("text=The tree knows all 4 items of the data.")
    assert hierarchies(served, project).startswith("trees/")


def test_missing_items_are_a_click_away_from_their_place(served, page):
    project = opened(served, page, [("short.csv", "parent,child\nX,A\nY,D\n*,X\n*,Y\n")])
    take_file(page, "short.csv")
    page.wait_for_selector("text=2 items of the data are not in the tree")
    page.wait_for_selector("text=No release can be made before each has a place.")
    row(page, "X").locator("b").click()
    page.locator("tr", has_text="B").get_by_role("button", name="Hang under “X”").click()
    page.wait_for_selector("text=1 item of the data is not in the tree")
    assert page.get_by_text("2 items of the data").count() == 0  # nothing is left of what was said of the tree before
    page.reload()
    page.get_by_role("button", name="Hang it under the root").click()
    page.wait_for_selector("text=They are hung right under the root")
    plan = (served.folder / ".shoal/projects" / project / "plan.yaml").read_text()
    assert "unknown: root" in plan


def test_nodes_are_renamed_moved_merged_and_all_of_it_undone(served, page):
    opened(served, page, [("tree.csv", TREE)])
    take_file(page, "tree.csv")
    page.wait_for_selector("text=The tree knows all 4 items")
    other = page.context.new_page()
    other.goto(page.url)
    row(page, "X").locator("b").click()
    page.get_by_label("Name", exact=True).fill("fruit")
    page.get_by_role("button", name="Rename").click()
    page.wait_for_selector("text=Last: renamed “X” to “fruit”")
    other.wait_for_selector("text=Another window has changed the plan")
    assert page.get_by_text("Another window has changed the plan").count() == 0
    other.get_by_role("button", name="Show it as it stands").click()
    row(other, "fruit").wait_for()
    other.close()
    row(page, "fruit").locator("[data-act=toggle]").click()
    row(page, "A").locator("b").click()
    page.get_by_label("Move it under (search)").fill("y")
    page.locator(".sh-side .sh-hit", has_text="Y").click()
    page.wait_for_selector("text=Last: moved “A” under “Y”")
    row(page, "C").locator("[data-act=also]").click()  # A is chosen still
    page.get_by_label("Name of the new node").fill("pair")
    page.get_by_role("button", name="Merge them").click()
    page.wait_for_selector("text=Last: merged 2 nodes into “pair”")
    page.reload()
    row(page, "pair").wait_for()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the tree").click()
    tree = read_hierarchy(download.value.path())
    links = {tree.labels[v]: tree.labels[p] for v, p in enumerate(tree.parent.tolist()) if p >= 0}
    assert links == {"A": "pair", "C": "pair", "pair": "Y", "D": "Y", "B": "fruit", "fruit": "*", "Y": "*"}
    for last in ("moved “A” under “Y”", "renamed “X” to “fruit”", "took tree.csv"):
        page.get_by_role("button", name="Undo").click()
        page.wait_for_selector(f"text=Last: {last}")
    row(page, "X").wait_for()
    page.get_by_role("button", name="Redo").click()
    row(page, "fruit").wait_for()


def test_a_tree_of_70_000_nodes_is_never_in_the_page(served, page):
    lines = "".join(f"g{i // 25},item{i}\n" for i in range(70_000)) + "".join(f"*,g{i}\n" for i in range(2_800))
    opened(served, page, [("large.csv", "parent,child\n" + lines)])
    take_file(page, "large.csv")
    page.wait_for_selector("text=70,000 items under 2,801 nodes")
    most = "document.querySelectorAll('*').length"
    sizes = [page.evaluate(most)]
    for number in range(6):
        found = row(page, f"g{number}")
        found.locator("[data-act=toggle]").click()
        found.and_(page.locator("[aria-expanded=true]")).wait_for()
        sizes.append(page.evaluate(most))
    page.get_by_label("Search in the tree").fill("item69999")
    page.locator(".sh-hits .sh-hit", has_text="item69999").click()
    row(page, "item69999").and_(page.locator("[aria-selected=true]")).wait_for()
    sizes.append(page.evaluate(most))
    assert max(sizes) < 1_500, sizes
    assert page.locator("[role=treeitem]").count() <= MOST_ROWS + PAGE


def test_the_tree_is_walked_by_keys(served, page):
    opened(served, page, [("tree.csv", TREE)])
    take_file(page, "tree.csv")
    page.wait_for_selector("text=The tree knows all 4 items")
    row(page, "*").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    row(page, "A").wait_for()
    focused = "document.activeElement.querySelector('b')?.textContent"
    page.wait_for_function(f"{focused} === 'X'")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Space")
    row(page, "A").and_(page.locator("[aria-selected=true]")).wait_for()
    page.wait_for_function(f"{focused} === 'A'")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    row(page, "X").and_(page.locator("[aria-expanded=false]")).wait_for()
    page.wait_for_function(f"{focused} === 'X'")


def test_names_in_trees_are_text(served, page):
    trap = "<img src=x onerror=document.title='caught'>"
    text = json.dumps({"name": "*", "children": [{"name": trap, "children": [{"name": n} for n in "ABCD"]}]})
    opened(served, page)
    page.get_by_label("Tree", exact=True).click()
    page.get_by_role("option", name="A tree of your own, from a file").click()
    page.locator("input[type=file]").set_input_files(
        {"name": "trap.json", "mimeType": "application/json", "buffer": text.encode()}
    )
    row(page, trap).locator("b").click()
    page.wait_for_selector("h3:has-text('onerror')")
    assert page.locator("img[src=x]").count() == 0
    assert page.title() != "caught"


def test_the_column_of_a_tree_that_fits_is_a_click_away(served, page):
    codes = [str(2 * n) for n in range(1, 61)]
    project = served.upload(
        page, "codes.csv", "items\n" + "".join(f"{code}|{codes[n // 2]}\n" for n, code in enumerate(codes))
    )
    lines = "".join(f"{n + 1};{code};block {n // 6};any\n" for n, code in enumerate(codes))
    page.goto(f"{served.base}/p/{project}/hierarchies")
    page.get_by_label("Tree", exact=True).first.click()
    page.get_by_role("option", name="A file", exact=False).first.click()
    tree = {"name": "tree.csv", "mimeType": "text/plain", "buffer": f"no;code;block;root\n{lines}".encode()}
    page.locator("input[type=file]").last.set_input_files(tree)
    page.get_by_text(
        "30 items of the data are not in the tree"
    ).wait_for()  # running numbers know the others by accident
    page.get_by_role("button", name="Take column code: fits 60 of 60").click()
    page.get_by_text("The tree knows all 60 items of the data.").wait_for()
