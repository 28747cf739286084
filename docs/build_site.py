"""The docs as a site: `make site` writes it to `site/`, and needs no network.

The pages are those of `docs`, the results and the changes. They are assembled in a temporary folder in which every link
leads to a page of the site, or to a copy of the file that it names, and built there by zensical with the settings of
zensical.toml. The navigation is made from the pages that are there: a new one appears by itself, but for decisions, which
have a page that lists them. Search works from a folder, too: see `FROM_A_FOLDER`.

    .venv/bin/python docs/build_site.py [FOLDER]
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DOCS = Path(__file__).parent
ROOT = DOCS.parent
ELSEWHERE = {
    "benchmarks/RESULTS.md": "results.md",
    "CHANGELOG.md": "changes.md",
    "SECURITY.md": "security.md",
    "README.md": "index.md",
}
"""Pages outside of docs, and their places in the site. The site has a first screen of its own instead of the README."""
FIRST = {
    "Start": (".", ("installation", "cookbook", "coming-from", "faq")),
    "Guides": (
        "guide",
        (
            "km",
            "hybrid",
            "transactions",
            "tables",
            "buckets",
            "constraints",
            "disassociation",
            "local",
            "learned",
            "codes",
            "omop",
            "fhir",
        ),
    ),
    "Working with it": (
        "guide",
        (
            "steward",
            "choosing",
            "app",
            "office",
            "python",
            "r",
            "plans",
            "pipeline",
            "people",
            "series",
            "gate",
            "spark",
            "large",
            "worth",
            "evaluate",
            "estimating",
            "compare",
            "reproduce",
        ),
    ),
    "Papers": ("papers", ("km-2008", "pta-2017", "rt-2013", "injector-2008", "coat-2011")),
}
"""Pages in the best order to read them; others follow by name, guides under Guides."""
TITLES = {
    "guide/km.md": "k^m-anonymity",
    "guide/hybrid.md": "Real code systems",
    "guide/transactions.md": "k-anonymous transactions",
    "guide/tables.md": "Tables with items",
    "guide/buckets.md": "Buckets",
    "guide/constraints.md": "Constraints",
    "guide/disassociation.md": "Chunks",
    "guide/local.md": "Local recoding",
    "guide/learned.md": "Learned hierarchies",
    "guide/codes.md": "Trees of code systems",
    "guide/omop.md": "From OMOP",
    "guide/fhir.md": "From FHIR",
    "guide/steward.md": "Raw file to signed certificate",
    "guide/choosing.md": "Choosing k and m",
    "guide/app.md": "The app",
    "guide/office.md": "The app in an office",
    "guide/python.md": "In Python",
    "guide/r.md": "From R",
    "guide/plans.md": "Plans",
    "guide/pipeline.md": "Databases and pipelines",
    "guide/people.md": "People with several rows",
    "guide/series.md": "Publishing again",
    "guide/gate.md": "A gate for other pipelines",
    "guide/spark.md": "Spark",
    "guide/large.md": "Data larger than memory",
    "guide/worth.md": "What a release is worth",
    "guide/evaluate.md": "Measuring a release",
    "guide/estimating.md": "Estimating from a release",
    "guide/compare.md": "Comparing",
    "guide/reproduce.md": "Reproducing the papers",
    "papers/km-2008.md": "k^m-anonymity (2008)",
    "papers/pta-2017.md": "PTA (2017)",
    "papers/rt-2013.md": "RT (2013)",
    "papers/injector-2008.md": "Injector (2008)",
    "papers/coat-2011.md": "COAT and PCTA (2011)",
    "decisions/README.md": "Decisions",
    "index.md": "Shoal",
    "installation.md": "Installation",
    "cookbook.md": "Cookbook",
    "coming-from.md": "Coming from other tools",
    "faq.md": "Questions and remedies",
    "api.md": "Python",
    "reference.md": "Command line",
    "law.md": "What the law asks",
    "formats.md": "File formats",
    "rivals.md": "Other tools",
    "results.md": "Results",
    "changes.md": "Changes",
}
"""Where the heading of a page is too long for the navigation."""
LINK = re.compile(r"(?P<before>\]\(|<(?:a|img)\b[^>]*?(?:href|src)=\")(?P<target>[^)\s\"]+)(?P<after>[)\"])")
CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.DOTALL | re.MULTILINE)
HEAD = """<meta http-equiv="Content-Security-Policy" content="default-src 'self' file: data: blob: 'unsafe-inline'">"""
"""What a browser may load: nothing from another host, whatever a page or the theme may ask for."""
SHIM = re.compile(r'<script src="https://unpkg\.com/iframe-worker/shim"[^>]*></script>')
"""What the theme would fetch from elsewhere, so that search works in a page that was opened from a folder."""
FROM_A_FOLDER = """// Search runs in a worker, and a page that was opened from a folder may not start one from a file: so from its text.
(() => {
  if (location.protocol !== "file:") return;
  const sources = %s;
  const Started = window.Worker;
  window.Worker = function (address) {
    const source = sources[new URL(address, location).pathname.split("/").pop()];
    return new Started(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
  };
})();
"""
"""A script of the site, in place of `SHIM`, with the workers' texts by file name."""
Nav = list[dict[str, "str | Nav"]]


def pages() -> dict[str, Path]:
    """Every page of the site, by its path there."""
    found = {page.relative_to(DOCS).as_posix(): page for page in sorted(DOCS.rglob("*.md"))}
    return found | {there: ROOT / here for here, there in ELSEWHERE.items() if there not in found}


def navigation(names: list[str]) -> Nav:
    """Groups of pages, every page once; of the decisions, the page that lists them."""
    left = dict.fromkeys(name for name in sorted(names) if name != "index.md" and not is_decision(name))
    groups: Nav = [{"Shoal": "index.md"}]

    def take(*wanted: str) -> Nav:
        there = [name for name in dict.fromkeys(wanted) if name in left]
        for name in there:
            del left[name]
        return [{title(name): name} for name in there]

    ordered = {
        head: take(*(f"{folder}/{stem}.md".removeprefix("./") for stem in stems))
        for head, (folder, stems) in FIRST.items()
    }
    ordered["Guides"] += take(*(name for name in left if name.startswith("guide/")))
    ordered["Papers"] += take(*(name for name in left if name.startswith("papers/")))
    ordered["Reference"] = take(
        "api.md", "reference.md", "formats.md", "glossary.md", "threats.md", "law.md", "security.md"
    )
    ordered["Measured"] = take("results.md", "rivals.md")
    last = take("decisions/README.md", "changes.md")
    groups += [{head: members} for head, members in ordered.items() if members]
    return groups + take(*left) + last


def is_decision(name: str) -> bool:
    """Whether a page is a single decision."""
    return name.startswith("decisions/") and not name.endswith("README.md")


def title(name: str) -> str:
    """The title of a page in the navigation."""
    heading = re.search(r"^# (.*)$", pages()[name].read_text(encoding="utf-8"), re.MULTILINE)
    return TITLES.get(name) or (heading[1].replace("`", "") if heading else Path(name).stem)


def build(target: Path) -> None:
    """Write the site to a folder, replacing what zensical wrote there before."""
    if target.exists() and any(target.iterdir()) and not (target / "sitemap.xml").exists():
        raise SystemExit(f"{target} holds other files; name an empty folder")
    with tempfile.TemporaryDirectory() as folder:
        space = Path(folder).resolve()
        assemble(space)
        order = [sys.executable, "-m", "zensical", "build", "--clean", "--config-file", str(space / "zensical.toml")]
        done = subprocess.run(
            order, cwd=space, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        if done.returncode or not (space / "site" / "index.html").exists():
            raise SystemExit(f"the site was not built:\n{done.stdout}")
        finish(space / "site")
        if target.exists():
            shutil.rmtree(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(space / "site", target)


def finish(site: Path) -> None:
    """Pages that load nothing from elsewhere, and search without a server."""
    scripts = site / "assets" / "javascripts"
    sources = {worker.name: worker.read_text(encoding="utf-8") for worker in (scripts / "workers").glob("*.js")}
    (scripts / "folder.js").write_text(FROM_A_FOLDER % json.dumps(sources), encoding="utf-8")
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8").replace("<head>", f"<head>\n{HEAD}", 1)
        bundle = re.search(r'<script src="([^"]*)assets/javascripts/bundle', text)
        ours = f'<script src="{bundle[1]}assets/javascripts/folder.js"></script>' if bundle else ""
        page.write_text(SHIM.sub(ours, text), encoding="utf-8")


def assemble(space: Path) -> None:
    """Pages, pictures, linked files and settings."""
    files: dict[str, Path] = {}
    for name, page in pages().items():
        place = space / "docs" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(space_lists(relink(page.read_text(encoding="utf-8"), page, name, files)), encoding="utf-8")
    for name, file in files.items():
        place = space / "docs" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, place)
    shutil.copyfile(DOCS / "style.css", space / "docs" / "style.css")
    settings = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    nav = f"[project]\nnav = {_toml(navigation(list(pages())))}\n"
    (space / "zensical.toml").write_text(settings.replace("[project]\n", nav, 1), encoding="utf-8")


def relink(text: str, page: Path, name: str, files: dict[str, Path]) -> str:
    """A page whose links lead to pages of the site or to files, which are added to `files`."""
    there = {file.resolve(): path for path, file in pages().items()} | {
        (ROOT / here).resolve(): path for here, path in ELSEWHERE.items()
    }

    def link_there(found: re.Match[str]) -> str:
        target, _, anchor = found["target"].partition("#")
        file = (page.parent / target).resolve()
        if not target or "://" in target or not file.is_file():
            return found[0]
        if file not in there:
            path = file.relative_to(ROOT.resolve()).as_posix()
            there[file] = path.removeprefix("docs/") if path.startswith("docs/") else f"files/{path}"
            files[there[file]] = file
        link = os.path.relpath(there[file], Path(name).parent).replace(os.sep, "/")
        return found["before"] + link + (f"#{anchor}" if anchor else "") + found["after"]

    parts = CODE.split(text)
    return "".join(part if at % 2 else LINK.sub(link_there, part) for at, part in enumerate(parts))


def space_lists(text: str) -> str:
    """A page with a blank line between a paragraph and a list right below it, which zensical wants and others do not."""
    lines: list[str] = []
    in_code = in_list = False
    for line in text.split("\n"):
        begins = re.match(r"(?:[-*]|1\.) ", line) is not None and not in_code
        if begins and not in_list and lines and lines[-1]:
            lines.append("")
        in_code ^= line.startswith("```")
        in_list = begins or (in_list and (not line or line[0] == " " or line[0].isdigit()))
        lines.append(line)
    return "\n".join(lines)


def _toml(nav: Nav | str) -> str:
    if isinstance(nav, str):
        return json.dumps(nav, ensure_ascii=False)
    items = (f"{{ {_toml(head)} = {_toml(below)} }}" for entry in nav for head, below in entry.items())
    return f"[{', '.join(items)}]"


if __name__ == "__main__":
    where = Path(sys.argv[1]) if sys.argv[1:] else ROOT / "site"
    build(where)
    print(f"written to {where}: open {where / 'index.html'}")
