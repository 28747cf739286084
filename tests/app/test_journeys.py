"""The whole way in a browser, for each model: from a file to the release and its certificate, which are then checked without the app.

The first of them is the demo; with SHOAL_SCREENSHOTS=FOLDER it leaves pictures of it there (`make screenshots`).
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import shoal
from serving import until, violations

STEPS = ("Data", "Risk", "Hierarchies", "Promise", "Run", "Result", "Release")
PICTURES = os.environ.get("SHOAL_SCREENSHOTS")

BASKETS = "".join(" ".join(f"i{(i * j) % 11}" for j in range(1, 2 + i % 4)) + "\n" for i in range(150))
VISITS = "age,sex,codes\n" + "".join(
    f"{20 + i * 7 % 50},{'MF'[i % 2]},{'|'.join(sorted({'ABCDEFGH'[(i * j) % 8] for j in range(1, 2 + i % 4)}))}\n"
    for i in range(200)
)
PATIENTS = "age,sex,disease\n" + "".join(
    f"{20 + i * 7 % 50},{'MF'[i % 2]},{('flu', 'asthma', 'gastritis', 'angina', 'cold')[i * 3 % 5]}\n"
    for i in range(200)
)


@dataclass(frozen=True)
class Journey:
    """What is brought, what is chosen on the way, and what must hold in the end."""

    promise: str
    """As pages and certificates write it."""
    audited: Any
    """The guarantee that the file is audited for in the end."""
    name: str = ""
    text: str = ""
    """Of the file; the demo without one."""
    roles: Mapping[str, str] = field(default_factory=dict)
    choose: str | None = None
    """The model's name on its card, if it is another than the first."""
    columns: Mapping[str, Any] = field(default_factory=dict)
    """Roles for the audit."""


JOURNEYS = {
    "km": Journey("5^2-anonymity", shoal.KmAnonymity(5, 2), columns={"separator": "|"}),
    "k": Journey(
        "5-anonymity",
        shoal.KAnonymity(5),
        "baskets.dat",
        BASKETS,
        choose="Every set has twins",
    ),
    "rt": Journey(
        "(5,5^2)-anonymity",
        shoal.RTAnonymity(5, 2),
        "visits.csv",
        VISITS,
        columns={"quasi": ["age", "sex"], "items": "codes", "separator": "|"},
    ),
    "diversity": Journey(
        "matching 2-diversity",
        shoal.MatchingDiversity(2),
        "patients.csv",
        PATIENTS,
        {"disease": "Others want to learn it"},
        choose="The sensitive value stays one of l",
        columns={"quasi": ["age", "sex"], "sensitive": "disease"},
    ),
}


@pytest.mark.parametrize("model", JOURNEYS)
def test_from_a_file_to_a_release_that_holds(served, page, tmp_path, model):
    from playwright.sync_api import expect

    journey = JOURNEYS[model]
    if PICTURES and model == "km":
        page.set_viewport_size({"width": 1280, "height": 720})
    bring(served, page, journey)
    arrived(page, "Data")
    within_reach(page, model)
    for column, role in journey.roles.items():
        page.get_by_label(f"Role of column {column}").click()
        page.get_by_role("option", name=role).click()
        expect(page.get_by_role("option")).to_have_count(0)
    picture(page, model, "data")
    onward(page, "Risk")
    expect(page.locator(".sh-headline")).to_be_visible(timeout=240_000)
    picture(page, model, "risk")
    within_reach(page, model)
    onward(page, "Hierarchies")
    if model == "km":
        page.locator("[role=treeitem]").first.wait_for()
        if PICTURES:  # the icicle is coloured when the best cut is known
            page.get_by_role("button", name=re.compile("lost$")).wait_for(timeout=120_000)
    picture(page, model, "hierarchies", "The tree")
    within_reach(page, model)
    onward(page, "Promise")
    if journey.choose is not None:
        page.get_by_role("button", name=f"Choose this: {journey.choose}").click()
    expect(page.get_by_role("heading", name=f"What you promise: {journey.promise}")).to_be_visible()
    expect(page.get_by_text(f"{journey.promise} by ").first).to_be_visible(timeout=240_000)  # the estimate
    if PICTURES and model == "km":  # the map fills while one reads
        filled = "[...document.querySelectorAll('.sh-map-cell')].every(cell => cell.textContent.includes('%'))"
        page.wait_for_function(filled, timeout=120_000)
    picture(page, model, "promise", "The map: what each promise would keep")
    within_reach(page, model)
    onward(page, "Run")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("li.sh-job .sh-tag-good")).to_have_count(1, timeout=120_000)
    within_reach(page, model)
    onward(page, "Result")
    expect(page.get_by_text("The promise holds.")).to_be_visible()
    picture(page, model, "result", "What can an analyst still do?")
    within_reach(page, model)
    onward(page, "Release")
    expect(page.get_by_text("Safe to publish")).to_be_visible()
    picture(page, model, "release")
    within_reach(page, model)
    assert no_refusals(page)

    data = saved(page, re.compile("^Save "), tmp_path)
    certificate = saved(page, re.compile("^Certificate, JSON$"), tmp_path)
    # Buckets are verified in full with the rules alone, which the certificate does not name.
    verified = shoal.verify(certificate, data)
    assert verified.holds or (model == "diversity" and verified.verdict == "not verified in full")
    assert shoal.audit(data, journey.audited, **journey.columns).holds
    told, again = json.loads(certificate.read_text()), made_without_the_app(served, page)
    assert told["guarantee"]["name"] == journey.promise
    assert again["holds"]
    promised = [
        {name: fact for name, fact in facts["guarantee"].items() if name != "knowledge"} for facts in (again, told)
    ]
    assert promised[0] == promised[1]  # of rules the certificate says less
    assert set(told["loss"]) <= set(again["loss"])  # the certificate's is rounded, or over what is published


def bring(served: Any, page: Any, journey: Journey) -> None:
    if journey.name:
        served.upload(page, journey.name, journey.text)
        return
    page.goto(served.url)
    page.get_by_role("button", name="Try it with a made-up grocery store").click()
    page.wait_for_selector("text=1 to 25 of 10,000 rows")


def onward(page: Any, step: str) -> None:
    page.get_by_role("link", name=f"Next: {step}").click()
    arrived(page, step)


def arrived(page: Any, step: str) -> None:
    """The page says where one is, both as its title and among the steps."""
    from playwright.sync_api import expect

    expect(page.get_by_role("heading", level=1)).to_have_text(step)
    expect(page.locator("[aria-current=step]")).to_contain_text(step)
    assert no_refusals(page)


def within_reach(page: Any, model: str) -> None:
    """A panel is within everybody's reach: in both themes, at the width of a telephone, each chart by keyboard and with a table behind it.

    Looked at on the ways of the demo and of a table with items, which have most on their panels.
    """
    if model not in ("km", "rt"):
        return
    size = page.viewport_size
    for scheme in ("dark", "light") if model == "km" else ("light",):
        page.emulate_media(
            color_scheme=scheme, reduced_motion="reduce"
        )  # else colours fade from one theme to the other
        assert violations(page) == []
    page.set_viewport_size({"width": 390, "height": 800})
    until(lambda: page.evaluate("document.documentElement.scrollWidth") <= 390)
    page.set_viewport_size(size)
    bare = "charts => charts.filter(one => one.tabIndex < 0 || !one.closest('.sh-card')?.querySelector('table')).length"
    assert page.locator(".sh-figure").evaluate_all(bare) == 0


def no_refusals(page: Any) -> bool:
    return page.locator("main .sh-notice-bad").count() == 0


def saved(page: Any, link: re.Pattern[str], folder: Path) -> Path:
    with page.expect_download() as arriving:
        page.get_by_role("link", name=link).click()
    path = folder / arriving.value.suggested_filename
    arriving.value.save_as(path)
    return path


def made_without_the_app(served: Any, page: Any) -> dict[str, Any]:
    """What the command on the last page says, run in the folder that the page names."""
    assert page.get_by_label("The folder of the workspace").inner_text().strip() == str(served.folder)
    words: Sequence[str] = shlex.split(page.get_by_label("The command", exact=True).inner_text().replace("\\\n", " "))
    assert words[0] == "shoal"
    done = subprocess.run(
        [sys.executable, "-m", *words, "--json"], cwd=served.folder, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def picture(page: Any, model: str, step: str, top: str | None = None) -> None:
    """For the docs, when they ask for it; `top` is the heading that the page is scrolled to."""
    if PICTURES and model == "km":
        if top is not None:
            heading = page.get_by_role("heading", name=top, exact=True)
            heading.evaluate("element => window.scrollTo(0, element.getBoundingClientRect().top + window.scrollY - 90)")
        page.mouse.move(0, 0)
        page.screenshot(path=Path(PICTURES) / f"app-{step}.png", animations="disabled")
