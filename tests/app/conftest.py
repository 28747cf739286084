"""The app for tests: `served` runs it in a process of its own, `page` is a Chromium page that reports whatever would leave the machine.

    def test_something(served, page):
        served.upload(page, "people.csv", "age,sex\n34,F\n")

A page that asked another host for anything, or had an error in its scripts, fails its test at the end.
"""

from __future__ import annotations

import os
import re
import shutil

import pytest

from serving import serving


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist looks at the marks
def pytest_collection_modifyitems(items):
    """Tests in a browser stay in one process: each module has one app and one browser there, and two would wait for each other."""
    for item in items:
        if {"served", "browser"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.fixture(autouse=True)
def own_key(tmp_path_factory, monkeypatch):
    """A key of the test's own: the tester's stays where it is."""
    monkeypatch.setenv("SHOAL_KEY", str(tmp_path_factory.mktemp("key") / "owner.key"))


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    pytest.importorskip("nicegui", reason="the app needs NiceGUI: pip install 'shoal[app]'")
    with serving(tmp_path_factory.mktemp("app") / "workspace") as found:
        yield found


@pytest.fixture(scope="module")  # while Playwright runs, no test of the module can have an event loop of its own
def browser():
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="browser tests need Playwright: pip install playwright"
    )
    chromium = os.environ.get("SHOAL_CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        pytest.skip("browser tests need Chromium: install it, or name it in SHOAL_CHROMIUM")
    with playwright.sync_playwright() as running:
        found = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def page(browser):
    """A page in a context of its own. It must not have asked another host for anything, nor have failed."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    found = context.new_page()
    found.set_default_timeout(30_000)
    asked, faults = [], []
    context.on("request", lambda request: asked.append(request.url))
    found.on("pageerror", lambda error: faults.append(str(error)))
    found.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    yield found
    context.close()
    outside = [url for url in asked if not re.match(r"(http|ws)://(127\.0\.0\.1|localhost):|data:|blob:|about:", url)]
    assert outside == []
    assert [fault for fault in faults if "status of 403" not in fault] == []
