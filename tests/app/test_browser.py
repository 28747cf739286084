"""The app in a real browser."""

from __future__ import annotations

import re
import stat
import urllib.error
import urllib.request

import pytest

from serving import until, violations

PEOPLE = "name,age,sex,diagnoses,note\n" + "".join(
    f"p{i},{30 + i % 9},{'MF'[i % 2]},{'|'.join('ABCD'[: 1 + i % 4])},{'xyz'[i % 3]}\n" for i in range(60)
)


def status(url, **headers):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=30) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def test_only_the_start_url_opens_it(served):
    assert status(served.url) == 200
    for path in ("/", "/?token=wrong", "/static/shoal.js", "/_nicegui_ws/socket.io/?EIO=4&transport=polling"):
        assert status(served.base + path) == 403
    assert status(served.url, Host="example.org") == 403
    assert status(served.url, Origin="http://example.org") == 403


def test_without_the_token_a_page_says_where_it_is(served, page):
    answer = page.goto(served.base)
    assert answer.status == 403
    assert "address that shoal app has printed" in page.inner_text("body")


def test_the_token_leaves_the_address(served, page):
    page.goto(served.url)
    page.wait_for_selector("text=Your projects")
    assert page.url == f"{served.base}/"
    cookies = page.context.cookies()
    assert [(cookie["httpOnly"], cookie["sameSite"]) for cookie in cookies] == [(True, "Strict")]


def test_an_upload_shows_its_rows_and_roles(served, page):
    project = served.upload(page, "people.csv", PEOPLE)
    page.wait_for_selector("text=1 to 25 of 60 rows")
    assert page.locator("tbody tr", has_text="p3").count() >= 1
    assert "Leave out" in page.locator("tr", has=page.get_by_role("rowheader", name="name", exact=True)).inner_text()
    kept = next((served.folder / ".shoal" / "uploads").glob("people*.csv"))
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    page.get_by_role("button", name="Next rows: Rows of the file").click()
    page.wait_for_selector("text=26 to 50 of 60 rows")
    page.get_by_role("button", name="Last rows: Rows of the file").click()
    page.wait_for_selector("text=51 to 60 of 60 rows")
    assert project in page.url


def test_a_column_without_a_role_is_named_until_it_has_one(served, page):
    served.upload(page, "people.csv", PEOPLE)
    page.wait_for_selector("text=1 column has no role yet")
    page.get_by_label("Role of column note").click()
    page.get_by_role("option", name="Leave out").click()
    page.wait_for_selector("text=Every column has a role.")
    page.reload()
    page.wait_for_selector("text=Every column has a role.")
    page.get_by_role("button", name="Undo").click()
    page.wait_for_selector("text=1 column has no role yet")
    page.get_by_role("button", name="Redo").click()
    page.wait_for_selector("text=Every column has a role.")


def test_another_format_is_a_click_away(served, page):
    served.upload(page, "people.txt", PEOPLE)
    page.wait_for_selector("text=Every line of this file is one set")
    page.get_by_label("Format").click()
    page.get_by_role("option", name=re.compile("^CSV")).click()
    page.wait_for_selector("text=1 column has no role yet")


def test_names_from_files_are_text(served, page):
    trap = "<img src=x onerror=document.title='caught'>"
    served.upload(page, f"{trap}.csv", f'"{trap}",b\n"{trap}",1\n"{trap}",2\n')
    page.wait_for_selector("text=1 to 2 of 2 rows")
    assert page.locator("td", has_text="onerror").count() >= 2
    assert page.locator("img[src=x]").count() == 0
    assert page.title() != "caught"


def test_files_outside_cannot_be_named(served, page, tmp_path):
    (tmp_path / "secret.csv").write_text("a\n1\n")
    page.goto(served.url)
    page.get_by_label("Or its name, as seen from the workspace").fill(str(tmp_path / "secret.csv"))
    page.get_by_role("button", name="Use the file of this name").click()
    page.wait_for_selector("text=lies outside the workspace")
    (served.folder / "here.csv").write_text("age,sex\n1,M\n2,F\n")
    page.get_by_label("Or its name, as seen from the workspace").fill("here.csv")
    page.get_by_role("button", name="Use the file of this name").click()
    page.wait_for_selector("text=read where it lies")


def test_a_plan_goes_on_where_it_stands(served, page):
    (served.folder / "prices.csv").write_text(
        "price,sex\n" + "".join(f'"{i % 9},50",{"MF"[i % 2]}\n' for i in range(40))
    )
    plan = "version: 1\ninput: {path: prices.csv, spelling: {price: comma}}\nguarantee: {model: k, k: 3}\n"
    (served.folder / "prices.yaml").write_text(f"{plan}columns: {{price: quasi, sex: quasi}}\n")
    sets = "version: 1\ninput: {path: prices.csv}\ncolumns: {sex: items, price: drop}\nguarantee: {model: km, k: 3, m: 2}\n"
    (served.folder / "daily.yaml").write_text(f"{sets}series: {{ledger: mine.ledger}}\n")
    page.goto(served.url)
    for name in ("daily.yaml", "prices.yaml"):
        page.get_by_label("Or its name, as seen from the workspace").fill(name)
        page.get_by_role("button", name="Use the file of this name").click()
        if name == "daily.yaml":
            page.wait_for_selector("text=It belongs to a series of releases")
            page.wait_for_selector("text=Run it there: shoal run daily.yaml")
            assert violations(page) == []
    page.wait_for_selector("text=1 to 25 of 40 rows")
    page.get_by_role("combobox", name="How column price is spelled").press("Enter")
    page.get_by_role("option", name="Decimal point").press("Enter")
    until(lambda: any("price: point" in path.read_text() for path in served.folder.glob(".shoal/projects/*/plan.yaml")))
    page.get_by_role("option").first.wait_for(state="detached")
    assert violations(page) == []


def test_the_demo_is_there_without_data_of_ones_own(served, page):
    page.goto(served.url)
    page.get_by_role("button", name="Try it with a made-up grocery store").click()
    page.wait_for_selector("text=1 to 25 of 10,000 rows")
    assert page.locator("h1").inner_text() == "Data"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_follows_the_choice(served, page, scheme):
    page.goto(served.url)
    page.get_by_label("Theme").click()
    page.get_by_role("option", name=scheme.capitalize()).click()
    page.wait_for_selector(f"body.body--{scheme}")
    page.reload()
    page.wait_for_selector(f"body.body--{scheme}")


def test_removing_a_project_asks_and_names_what_goes(served, page):
    served.upload(page, "gone.csv", PEOPLE)
    served.upload(page, "stays.csv", PEOPLE)
    page.goto(served.base)
    page.get_by_role("button", name="Remove the project gone.csv").click()
    page.get_by_text("gone.csv, ", exact=False).get_by_text("as you brought it").wait_for()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("dialog").wait_for(state="detached")
    assert (served.folder / ".shoal" / "uploads" / "gone.csv").is_file()
    page.get_by_role("button", name="Remove the project gone.csv").click()
    page.get_by_role("button", name="Remove it").click()
    page.get_by_role("link", name="gone.csv").wait_for(state="detached")
    uploads = {path.name for path in (served.folder / ".shoal" / "uploads").iterdir()}
    assert "gone.csv" not in uploads
    assert "stays.csv" in uploads


def test_nothing_is_wider_than_the_page(served, page):
    served.upload(page, "people.csv", PEOPLE)
    for width in (1280, 700, 400):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_selector("text=1 to 25 of 60 rows")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_every_page_has_one_main_part_that_one_can_skip_to(served, page):
    project = served.upload(page, "people.csv", PEOPLE)
    for address in ("/", f"/p/{project}/data", "/p/000000000000/data"):
        page.goto(served.base + address)
        page.locator("#main").wait_for()
        assert page.locator("main, [role=main]").count() == 1
        assert page.locator("main #main").count() == 1
    page.goto(f"{served.base}/p/{project}/data")
    page.wait_for_selector("text=What is in the columns?")
    page.get_by_text("Skip to the content").focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_missing_projects_lead_back(served, page):
    page.goto(served.url)
    page.wait_for_selector("text=Your projects")
    page.goto(f"{served.base}/p/000000000000/data")
    page.wait_for_selector("text=There is no such page")
    assert status(f"{served.base}/p/000000000000/jobs/x/y") == 403


def test_a_page_that_is_left_says_what_is_going_on(served, page):
    """Playwright does not look at a page while the next one is on its way, so the browser's own events are sent by hand."""
    served.upload(page, "people.csv", PEOPLE)
    page.evaluate("window.dispatchEvent(new Event('beforeunload'))")
    says = page.get_by_role("status").filter(has_text="Opening the page")
    says.wait_for()
    page.evaluate("window.dispatchEvent(new Event('pageshow'))")
    says.wait_for(state="detached")
