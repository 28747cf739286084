"""What an index and a host of repositories are shown: links that lead somewhere, one version, forms and hooks that can be read."""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import shoal

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
LINKS = re.compile(r"\]\(([^)\s]+)\)")


def described(address):
    """The long description and the addresses that a build gives the package."""
    hook = importlib.import_module("hatch_build")
    return hook.with_absolute_links(README, address), hook.addresses(address)


@pytest.fixture(autouse=True)
def from_the_root(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))


def test_links_of_the_long_description_lead_somewhere():
    text, urls = described("https://host.example/people/shoal")
    assert LINKS.findall(text)
    assert all(link.startswith(("https://", "#")) for link in LINKS.findall(text))
    assert set(urls) == {"Source", "Documentation", "Changelog", "Issues"}
    for link in LINKS.findall(text):
        if "/HEAD/" in link:
            assert (ROOT / link.partition("/HEAD/")[2].partition("#")[0]).exists()


def test_without_an_address_nothing_leads_nowhere():
    text, urls = described("")
    assert urls == {}
    assert all(link.startswith(("https://", "#")) for link in LINKS.findall(text))
    assert "[others]" not in text
    assert "there are others" in text


def test_the_version_is_the_same_everywhere():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == shoal.__version__


@pytest.mark.parametrize("path", sorted(ROOT.glob(".github/**/*.yml")), ids=lambda path: path.name)
def test_forms_and_workflows_are_yaml(path):
    assert isinstance(yaml.safe_load(path.read_text(encoding="utf-8")), dict)


def test_the_matrix_tries_every_python_that_is_named():
    jobs = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8"))["jobs"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = re.findall(r":: (3\.[0-9]+)", " ".join(project["classifiers"]))
    assert jobs["versions"]["strategy"]["matrix"]["python"] == named


def test_hooks_are_what_make_check_runs():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"][0]["hooks"]
    for hook in hooks:
        tool = Path(hook["entry"].split()[0]).name
        assert shutil.which(tool, path=str(Path(sys.executable).parent)), tool
        assert f"$(BIN)/{tool}" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_the_image_gets_what_a_build_needs():
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").split()
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    for name in " ".join(copied).split():
        assert (ROOT / name).exists()
        assert f"!{name}" in ignored


def test_make_demo_installs_no_more_than_shoal():
    told = subprocess.run(
        ["make", "--dry-run", "--always-make", "demo"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert "--editable ." in told
    assert "[dev]" not in told
