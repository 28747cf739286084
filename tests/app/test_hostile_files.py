"""Files that are broken, out of all proportion, or named to lead elsewhere: a page says what is wrong, stays short, and goes on."""

from __future__ import annotations

import gzip
import http.client
import io
import re
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from serving import until
from shoal.app.project.project import Project

MOST_NODES = 1500
"""In a page, whatever the data."""
GOOD = "age,sex\n" + "".join(f"{20 + i % 7},{'MF'[i % 2]}\n" for i in range(60))


def parquet():
    made = io.BytesIO()
    pq.write_table(pa.table({"a": list(range(1000))}), made)
    return made.getvalue()


def arrow():
    """A file whose lists lead out of it: it would crash whoever follows them."""
    made, table = io.BytesIO(), pa.table({"items": [["apple", "bread"], ["cheese"], [], ["apple"]]})
    with pa.ipc.new_file(made, table.schema) as writer:
        writer.write_table(table)
    good, bad = (
        b"".join(end.to_bytes(4, "little") for end in ends) for ends in ((0, 2, 3, 3, 4), (0, 2, 1 << 30, 3, 4))
    )
    assert good in made.getvalue()
    return made.getvalue().replace(good, bad, 1)


BROKEN = {
    "empty.csv": (b"", "it is empty"),
    "header.csv": (b"age,sex\n", "has no rows"),
    "ragged.csv": (b"age,sex\n1,M\n2,F,9\n3,M\n", "row 2 has 3 cells"),
    "quote.csv": (b'age,sex\n1,"M\n2,F\n3,M\n', "does not close"),
    "twice.csv": (b"age,age\n1,2\n", "columns 1 and 2 have the same name"),
    "latin.csv": ("name,age\nMüller,3\n".encode("latin-1"), "not UTF-8 (byte 0xFC"),
    "wide-text.csv": ("age,sex\n1,M\n".encode("utf-16"), "begins like UTF-16"),
    "picture.csv": (bytes(range(256)) * 40, "holds a NUL byte"),
    "Half.parquet": (parquet()[:-100], "not readable as Parquet"),
    "harm.arrow": (arrow(), "not readable as Arrow"),
    "half.csv.gz": (gzip.compress(GOOD.encode() * 100)[:-20], "damaged or cut short"),
    "lines.jsonl": (b'{"a": 1}\n{"a": \n', "line 2 is not JSON"),
}


def test_a_broken_file_is_refused_in_one_sentence_under_its_own_name(served, page):
    from playwright.sync_api import expect

    for name, (data, words) in BROKEN.items():
        page.goto(served.url)
        page.wait_for_selector("text=Your projects")
        page.set_input_files("input[type=file]", {"name": name, "mimeType": "text/plain", "buffer": data})
        refusal = page.locator("main .sh-notice-bad")
        expect(refusal).to_have_count(1)
        expect(refusal).to_contain_text(words)
        assert refusal.inner_text().startswith(name)  # as it is written, without a capital of ours
        taken = page.url.endswith("/data")
        assert taken == (name in ("latin.csv", "wide-text.csv"))  # the two that can be read in another way
        assert (served.folder / ".shoal" / "uploads" / name).exists() == taken
        if taken:
            expect(page.locator(".sh-step-blocked").first).to_contain_text("First choose the data")


def test_a_good_file_in_its_place_opens_the_way(served, page):
    from playwright.sync_api import expect

    id = served.upload(page, "latin.csv", BROKEN["latin.csv"][0])
    page.wait_for_selector("text=not UTF-8")
    page.get_by_role("button", name=re.compile("Use another file")).click()
    page.locator("main input[type=file]").set_input_files(
        {"name": "mended.csv", "mimeType": "text/csv", "buffer": GOOD.encode()}
    )
    expect(page.get_by_text("1 to 25 of 60 rows")).to_be_visible()
    expect(page.get_by_text("Every column has a role.")).to_be_visible()
    expect(page.locator("main .sh-notice-bad")).to_have_count(0)
    assert page.url.endswith(f"/p/{id}/data")


def test_a_row_of_50_000_items_goes_all_the_way(served, page):
    from playwright.sync_api import expect

    row = " ".join(f"item{i}" for i in range(50_000))
    id = served.upload(page, "long.dat", f"{row}\n" + "a b\nb c\n" * 20)
    expect(page.get_by_text("1 to 25 of 41 rows")).to_be_visible()
    assert_short(page)
    page.goto(f"{served.base}/p/{id}/risk")
    expect(page.locator(".sh-headline")).to_have_text("1 of 41 rows is unique by 2 items.", timeout=240_000)
    assert_short(page)
    page.goto(f"{served.base}/p/{id}/hierarchies")
    page.locator("[role=treeitem]").first.wait_for(timeout=60_000)
    assert_short(page)
    page.goto(f"{served.base}/p/{id}/run")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("li.sh-job .sh-tag-good")).to_have_count(1, timeout=120_000)
    page.goto(f"{served.base}/p/{id}/result")
    expect(page.get_by_text("The promise holds.")).to_be_visible(timeout=60_000)
    assert_short(page)
    page.get_by_text("Notes for you").click()  # some name flags in the terminal
    expect(page.get_by_text("report.json has exact figures", exact=False)).to_be_visible()
    assert "--" not in page.locator("#main").inner_text()


def test_thousands_of_columns_are_shown_a_page_at_a_time(served, page):
    from playwright.sync_api import expect

    line = ",".join("1" for _ in range(3000))
    served.upload(page, "columns.csv", ",".join(f"c{i}" for i in range(3000)) + f"\n{line}\n{line}\n")
    expect(page.get_by_text("1 to 40 of 3,000 columns")).to_be_visible(timeout=60_000)
    assert_short(page)
    page.get_by_role("button", name="Leave out these 3,000").click()
    expect(page.get_by_text("Every column has a role.")).to_be_visible()
    page.get_by_role("button", name="Undo").click()  # it was one change
    expect(page.get_by_text("3,000 columns have no role yet")).to_be_visible()


@pytest.mark.parametrize(
    "name",
    ["../../evil.csv", "/etc/evil.csv", "..\\..\\evil.csv", "a/../../../evil.csv", ".shoal/evil.csv", "evil.csv\0.png", ".."],
)  # fmt: skip
def test_names_of_uploads_lead_nowhere(served, page, name):
    page.goto(served.url)
    page.wait_for_selector("text=Your projects")
    before = outside(served)
    kept = page.evaluate(
        "async (name) => (await fetch('/upload?name=' + encodeURIComponent(name), {method: 'PUT', body: 'a\\n1\\n'})).json()",
        name,
    )
    assert (served.folder / ".shoal" / "uploads" / kept["name"]).read_text() == "a\n1\n"
    assert outside(served) == before


def outside(served):
    """All files around the uploads."""
    uploads = served.folder / ".shoal" / "uploads"
    return {path for path in served.folder.parent.rglob("*") if uploads not in path.parents and path.is_file()}


def test_addresses_lead_to_files_of_a_run_and_nowhere_else(served, page):
    from playwright.sync_api import expect

    id = served.upload(page, "people.csv", GOOD)
    page.goto(f"{served.base}/p/{id}/run")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.locator("li.sh-job .sh-tag-good")).to_have_count(1, timeout=240_000)
    jobs = served.folder / ".shoal" / "projects" / id / "jobs"
    job = next(path.name for path in jobs.iterdir() if (path / "out" / "rules.csv").is_file())
    cookie = "; ".join(f"{one['name']}={one['value']}" for one in page.context.cookies())
    assert answer(served, f"/p/{id}/jobs/{job}/rules.csv", cookie) == 200
    for path in (
        f"/p/{id}/jobs/{job}/../plan.yaml",
        f"/p/{id}/jobs/{job}/{quote('../plan.yaml', safe='')}",
        f"/p/{id}/jobs/{job}/{quote('../../../plan.yaml', safe='')}",
        f"/p/{id}/jobs/{job}/{quote('/etc/passwd', safe='')}",
        f"/p/{id}/jobs/{job}/.",
        f"/p/{id}/jobs/{quote('..', safe='')}/plan.yaml",
        f"/p/{quote('../uploads', safe='')}/jobs/{job}/rules.csv",
        f"/static/{quote('../server.py', safe='')}",
        "/static/../server.py",
        "/static/%2e%2e/server.py",
    ):
        assert answer(served, path, cookie) == 404, path
    assert answer(served, f"/p/{id}/jobs/{job}/rules.csv", "") == 403


def answer(served, path, cookie):
    """The status of a request whose path is sent as it stands: browsers and urllib would tidy it up."""
    connection = http.client.HTTPConnection(served.base.removeprefix("http://"), timeout=30)
    connection.request("GET", path, headers={"Cookie": cookie} if cookie else {})
    with connection.getresponse() as found:
        return found.status


def test_a_release_cannot_be_named_out_of_its_folder(served, page):
    id = served.upload(page, "people.csv", GOOD)
    page.goto(f"{served.base}/p/{id}/run")
    page.get_by_role("button", name="Run", exact=True).click()
    page.locator("li.sh-job .sh-tag-good").wait_for(timeout=240_000)
    page.goto(f"{served.base}/p/{id}/release")
    page.get_by_label("Name of the file").fill("../../../evil")
    page.get_by_role("button", name="Write evil.csv").click()
    page.get_by_role("link", name="Save evil.csv").wait_for(timeout=60_000)
    project = Project(served.folder / ".shoal" / "projects" / id)
    until(lambda: [*project.folder.glob("jobs/*/out/evil.csv")])
    assert not [path for path in outside(served) if path.name == "evil.csv" and project.folder not in path.parents]


def assert_short(page):
    """Neither nodes nor texts grow with the data."""
    assert page.locator("*").count() < MOST_NODES
    assert len(page.content()) < 400_000
