"""The frame, with panels of the tests' own: what panels rely on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from serving import serving

PEOPLE = "age,sex,note\n" + "".join(f"{30 + i % 5},{'MF'[i % 2]},{'xyz'[i % 3]}\n" for i in range(60))
RISK = """
from shoal.app.widgets import components as parts
from shoal.app.panels import Panel, needs_data
from shoal.app.widgets.figures import figure
from shoal.app.widgets.pictures import Bars, Group
from shoal.errors import InputError

def build(view):
    with parts.card("Crowds", "Why this matters."):
        parts.term("quasi-identifier", "What others may know.")
        parts.stat("5", "rows at least", "counted", "good")
        figure(Bars("A square", ["here"], [Group("rows", [1.0], ["<b>5</b> rows"], "after")]))
        parts.code("shoal run 'plan.yaml' <&>", "The command")
        parts.notice("Mind this.", "warn")
        with parts.empty("Nothing here", "It will come."):
            parts.link_button("Go", view.address("data"))

        parts.button("Refuse", lambda: refuse("age: it has no tree; choose one"))
        parts.button("Break", lambda: 1 / 0)

def refuse(sentence):
    raise InputError(sentence)

PANEL = Panel("risk", "Risk", "See who stands out.", build, needs_data)
"""
RESULT = """
from shoal.app.panels import Panel, never

def build(view):
    raise KeyError("secret")

PANEL = Panel("result", "Result", "See it.", build, never)
"""
RUN = """
from nicegui import ui
from shoal.app.widgets import components as parts
from shoal.app.panels import Panel, needs_data

def build(view):
    @ui.refreshable
    def state():
        job = view.jobs.latest(view.project)
        parts.text("none" if job is None else f"job {job.status}", "p")
        if job is not None and job.status == "done":
            parts.link_button("Certificate", view.file(job.id, "certificate.json"), download=True)
            parts.link_button("Look", view.file(job.id, "certificate.html") + "?show")
    state()
    ui.timer(0.3, state.refresh)
    parts.button("Run it", lambda: view.jobs.submit(view.project))

PANEL = Panel("run", "Run", "Make the release.", build, needs_data)
"""
START = (
    "import sys, shoal.app.panels as panels\n"
    "panels.__path__.insert(0, sys.argv[2]); panels.ORDER = ('data', 'risk', 'run', 'result')\n"
    "from shoal.app.server.serve import serve; serve(sys.argv[1], 0, open_browser=False)\n"
)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    pytest.importorskip("nicegui", reason="the app needs NiceGUI: pip install 'shoal[app]'")
    folder = tmp_path_factory.mktemp("shell")
    for name, text in {"risk": RISK, "run": RUN, "result": RESULT}.items():
        (folder / "panels" / name).mkdir(parents=True)
        (folder / "panels" / name / "__init__.py").touch()
        (folder / "panels" / name / f"{name}_panel.py").write_text(text)
    with serving(folder / "workspace", START, str(folder / "panels")) as found:
        yield found


def decide(page):
    page.get_by_label("Role of column note").click()
    page.get_by_role("option", name="Leave out").click()
    page.wait_for_selector("text=Every column has a role.")


def test_an_undecided_column_blocks_the_way_with_a_sentence(served, page):
    project = served.upload(page, "people.csv", PEOPLE)
    steps = page.get_by_label("Steps")
    page.wait_for_selector("text=First decide in Data: column “note” has no role.")
    assert steps.get_by_role("link", name=re.compile("Risk")).count() == 0
    page.goto(f"{served.base}/p/{project}/risk")
    page.wait_for_selector("main >> text=First decide in Data: column “note” has no role.")
    assert page.locator("text=Crowds").count() == 0
    page.goto(f"{served.base}/p/{project}")
    decide(page)
    steps.get_by_role("link", name=re.compile("Risk")).click()
    page.wait_for_selector("text=Crowds")
    assert page.locator("[aria-current=step]").inner_text().split()[1] == "Risk"
    page.get_by_role("link", name="Back: Data").click()
    page.wait_for_selector("text=Every column has a role.")


def test_components_show_what_they_are_given(served, page):
    project = served.upload(page, "people.csv", PEOPLE)
    decide(page)
    page.goto(f"{served.base}/p/{project}/risk")
    page.wait_for_selector("text=Crowds")
    chart = page.get_by_role("img", name="A square")
    chart.locator("svg").wait_for()
    chart.press("ArrowDown")
    page.locator(".sh-figure-says", has_text="here, rows: <b>5</b> rows").wait_for()
    chart.get_by_text("here, rows: <b>5</b> rows").wait_for()  # a text, not markup
    assert page.get_by_label("The command").inner_text() == "shoal run 'plan.yaml' <&>"
    meaning = page.locator("text=What others may know.")
    assert not meaning.is_visible()
    page.locator("summary", has_text="quasi-identifier").press("Enter")
    assert meaning.is_visible()


def test_refusals_and_faults_are_sentences(served, page):
    project = served.upload(page, "people.csv", PEOPLE)
    decide(page)
    page.goto(f"{served.base}/p/{project}/risk")
    page.get_by_role("button", name="Refuse").click()
    page.wait_for_selector("text=Age: it has no tree; choose one.")
    page.get_by_role("button", name="Break").click()
    page.wait_for_selector("text=This is a bug in Shoal")
    page.goto(f"{served.base}/p/{project}/result")
    page.wait_for_selector("text=This is a bug in Shoal")
    assert "secret" not in page.content()
    assert page.get_by_role("link", name="Back: Run").is_visible()
    log = (served.folder / ".shoal" / "server.log").read_text()
    assert "ZeroDivisionError" in log
    assert "KeyError" in log


def test_a_job_goes_on_without_its_page(served, page):
    project = served.upload(page, "people.csv", PEOPLE)
    decide(page)
    page.goto(f"{served.base}/p/{project}/run")
    page.get_by_role("button", name="Run it").click()
    page.wait_for_selector("text=/job (queued|running)/")
    page.goto("about:blank")
    page.goto(f"{served.base}/p/{project}/run")
    page.wait_for_selector("text=job done", timeout=60_000)
    with page.expect_download() as download:
        page.get_by_role("link", name="Certificate").click()
    assert '"holds": true' in Path(download.value.path()).read_text()
    page.get_by_role("link", name="Look").click()
    page.wait_for_selector("h1")
    assert "anonym" in page.inner_text("body").lower()


def test_the_way_can_be_walked_by_keyboard(served, page):
    served.upload(page, "people.csv", PEOPLE)
    page.wait_for_selector("text=1 column has no role yet")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    role = page.get_by_label("Role of column note")
    role.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("[role=option]")
    for _ in range(5):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Every column has a role.")


def contrast(one, other):
    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [":root", "body.body--dark"])
def test_colours_can_be_told_apart(theme):
    import shoal.app

    css = (Path(shoal.app.__file__).parent / "static" / "shoal.css").read_text()
    block = css[css.index(f"{theme} {{") :].partition("}")[0]
    colour = dict(re.findall(r"--sh-([a-z-]+): (#[0-9a-f]{6})", block))
    pairs = [(ink, ground) for ink in ("ink", "soft", "accent") for ground in ("page", "card", "tint")]
    pairs += [("accent-ink", "accent")]
    pairs += [(kind, ground) for kind in ("good", "warn", "bad") for ground in (f"{kind}-tint", "card")]
    pairs += [("ink", f"{kind}-tint") for kind in ("good", "warn", "bad")]
    for ink, ground in pairs:
        assert contrast(colour[ink], colour[ground]) >= 4.5, (ink, ground)
