"""The docs as a site: it builds without network, loads nothing from elsewhere, every link in it leads somewhere, and its search works
without a server."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

pytest.importorskip("zensical")
ROOT = Path(__file__).parents[2]
LOADS = {
    "script": "src",
    "img": "src",
    "link": "href",
    "iframe": "src",
    "source": "src",
    "object": "data",
    "image": "href",
}


class Links(HTMLParser):
    """What a page links to, what it loads, and where one may link to in it."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = {""}
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        values = {name: value or "" for name, value in attributes}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if LOADS.get(tag) in values:
            self.loads.append(values[LOADS[tag]])


@pytest.fixture(scope="module")
def site_builder():
    spec = importlib.util.spec_from_file_location("build_site", ROOT / "docs" / "build_site.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site(site_builder, tmp_path_factory):
    """The built site, with proxies that lead nowhere: a build that asked the network for something would fail or miss it."""
    folder = tmp_path_factory.mktemp("site") / "site"
    with pytest.MonkeyPatch.context() as patch:
        for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
            patch.setenv(name, "http://127.0.0.1:9")
        site_builder.build(folder)
    return folder


@pytest.fixture(scope="module")
def parsed(site):
    return {page: Links(page) for page in sorted(site.rglob("*.html"))}


def test_the_site_has_every_page(site, site_builder):
    for name in site_builder.pages():
        page = site / re.sub(r"README\.md$", "index.md", name)
        assert page.with_suffix(".html").is_file(), name


def test_the_navigation_names_every_page_once_and_decisions_by_their_list(site_builder):
    def names(nav):
        for entry in nav:
            for below in entry.values():
                yield from [below] if isinstance(below, str) else names(below)

    named = list(names(site_builder.navigation(list(site_builder.pages()))))
    assert sorted(named) == sorted(name for name in site_builder.pages() if not site_builder.is_decision(name))
    decisions = (ROOT / "docs" / "decisions").glob("0*.md")
    listed = (ROOT / "docs" / "decisions" / "README.md").read_text()
    assert all(f"({decision.name})" in listed for decision in decisions)


def test_a_new_guide_appears_by_itself(site_builder, monkeypatch, tmp_path):
    (tmp_path / "new.md").write_text("# Something new\n")
    pages = site_builder.pages() | {"guide/new.md": tmp_path / "new.md"}
    monkeypatch.setattr(site_builder, "pages", lambda: pages)
    guides = next(entry["Guides"] for entry in site_builder.navigation(list(pages)) if "Guides" in entry)
    assert {"Something new": "guide/new.md"} in guides


def test_every_internal_link_leads_somewhere(site, parsed):
    for page, found in parsed.items():
        if page.name == "404.html":  # served from any address, so its links start at the root
            continue
        for link in found.links + found.loads:
            if re.match(r"[a-z]+:", link):
                continue
            name, _, anchor = unquote(link).partition("#")
            there = (page.parent / name).resolve() if name else page
            there = there / "index.html" if there.is_dir() else there
            assert there.is_file(), f"{page.relative_to(site)}: {link} leads nowhere"
            if anchor and there.suffix == ".html":
                assert anchor in parsed[there].anchors, f"{page.relative_to(site)}: {link} leads to no heading"


def test_nothing_is_loaded_from_elsewhere(site, parsed):
    for page, found in parsed.items():
        outside = [load for load in found.loads if re.match(r"(?!data:)[a-z]+:|//", load)]
        assert not outside, f"{page.relative_to(site)} loads {outside}"
        assert "Content-Security-Policy" in page.read_text(encoding="utf-8")
    for sheet in (*site.rglob("*.css"), *site.rglob("*.svg")):
        text = sheet.read_text(encoding="utf-8")
        assert not re.search(r"url\(\s*['\"]?(?:https?:)?//|@import", text), (
            f"{sheet.relative_to(site)} loads something"
        )


def test_no_markdown_is_left_over(site):
    for page in site.rglob("*.html"):
        article = re.search(r"<article.*?</article>", page.read_text(encoding="utf-8"), re.DOTALL)
        if article is None:
            continue
        shown = re.sub(r"<(pre|code|script|style)\b.*?</\1>|<!--.*?-->", "", article[0], flags=re.DOTALL)
        text = re.sub(r"<[^>]+>", "", shown)
        left = re.findall(r"^(?:-|\*|\|) .*$|```.*$|\*\*.*$|\]\(.*$", text, re.MULTILINE)
        assert not left, f"{page.relative_to(site)} shows {left[0]!r}"


@pytest.mark.xdist_group("browser")
@pytest.mark.parametrize("page", ["index.html", "guide/km.html"])
def test_search_works_from_a_folder(site, page):
    playwright = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    chromium = os.environ.get("SHOAL_CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        pytest.skip("browser tests need Chromium: install it, or name it in SHOAL_CHROMIUM")
    asked, failed = [], []
    with (
        playwright.sync_playwright() as running,
        running.chromium.launch(executable_path=chromium, args=["--no-sandbox"]) as browser,
    ):
        shown = browser.new_page()
        shown.on("request", lambda request: asked.append(request.url))
        shown.on("pageerror", lambda error: failed.append(str(error)))
        shown.goto((site / page).as_uri())
        shown.get_by_role("button", name="Search").first.click()
        shown.get_by_role("combobox", name="Search").fill("closeness")
        shown.get_by_role("option").filter(has_text="Likely values, and crowds that differ from the table").click()
        shown.wait_for_url("**/guide/tables.html*")
    assert not failed
    assert not [address for address in asked if not address.startswith(("file:", "blob:", "data:"))]


def test_a_folder_with_other_files_is_left_alone(site_builder, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(SystemExit, match="holds other files"):
        site_builder.build(tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "mine"
