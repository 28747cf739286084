"""A table of 150,000 rows: no page holds more of it than one can look at."""

from __future__ import annotations

import re

from shoal.app.project.project import Project

ROWS = 150_000
MOST_NODES = 1500


def table():
    """No two rows are alike: 71, 97 and 41 have no common factor."""
    return "age,town,job\n" + "".join(f"{18 + i * 7 % 71},t{i * 31 % 97:02},j{i * 17 % 41:02}\n" for i in range(ROWS))


def test_pages_do_not_grow_with_150_000_rows(served, page):
    from playwright.sync_api import expect

    id = served.upload(page, "large.csv", table())
    expect(page.get_by_text("1 to 25 of 150,000 rows")).to_be_visible(timeout=60_000)
    decide(page, "town", "Others may know it")
    decide(page, "job", "Others may know it")
    expect(page.get_by_text("Every column has a role.")).to_be_visible()
    assert_short(page)
    page.get_by_role("button", name="Last rows: Rows of the file").click()
    expect(page.get_by_text("149,976 to 150,000 of 150,000 rows")).to_be_visible(timeout=60_000)
    assert_short(page)

    page.goto(f"{served.base}/p/{id}/risk")
    expect(page.locator(".sh-headline")).to_contain_text("of 150,000 rows", timeout=120_000)
    assert_short(page)
    page.goto(f"{served.base}/p/{id}/promise")
    expect(page.get_by_text(re.compile("Estimate on a sample of [0-9,]+ of 150,000 rows"))).to_be_visible(
        timeout=120_000
    )
    assert_short(page)

    Project(served.folder / ".shoal" / "projects" / id).change({"algorithm": "mondrian"})
    page.goto(f"{served.base}/p/{id}/run")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("li.sh-job .sh-tag-good")).to_have_count(1, timeout=240_000)
    page.goto(f"{served.base}/p/{id}/result")
    expect(page.get_by_text("The promise holds.")).to_be_visible(timeout=60_000)
    expect(page.get_by_text("1 to 10 of 150,000 rows").first).to_be_visible(timeout=60_000)
    assert_short(page)
    page.get_by_role("button", name="Next rows: The release").click()
    expect(page.get_by_text("11 to 20 of 150,000 rows").first).to_be_visible()
    assert_short(page)
    page.goto(f"{served.base}/p/{id}/release")
    expect(page.get_by_text("Safe to publish")).to_be_visible()
    assert_short(page)


def decide(page, column, role):
    from playwright.sync_api import expect

    page.get_by_label(f"Role of column {column}").click()
    page.get_by_role("option", name=role).click()
    expect(page.get_by_role("option")).to_have_count(0)  # its menu fades away


def assert_short(page):
    """Nodes, and with them the time that a browser takes, and texts stay within bounds."""
    assert page.locator("*").count() < MOST_NODES
    assert len(page.content()) < 400_000
