"""A bundle, unpacked somewhere else: its plan, its script and its notebook make the release again."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest

from plan_cases import PLANS, published, write_data
from shoal import InputError, read_plan, run, verify
from shoal.certificate.checks import check_plan, differences
from shoal.certificate.document import certificate_file
from shoal.certificate.sign import new_key, signer
from shoal.cli import main
from shoal.plan import plan_of
from shoal.plan.bundle import write_bundle
from shoal.plan.places import Origin


def packed(name, folder):
    """(the bundle, the rows of its release), made from files in several folders."""
    here = folder / "here"
    (here / "plans").mkdir(parents=True)
    write_data(here)
    if name == "km":
        (here / "tree.csv").rename(here / "plan.yaml")  # a tree that is called as the plan in the bundle is
    document = {"version": 1, **PLANS[name], "outputs": {"data": "../x.csv"}}
    document["input"] = document["input"] | {"path": f"../{document['input']['path']}"}
    if isinstance(document.get("hierarchies"), str):
        document["hierarchies"] = "../plan.yaml"
    if "sensitive_file" in document:
        document["sensitive_file"] = f"../{document['sensitive_file']}"
    plan = plan_of(document, Origin(folder=str(here / "plans")))
    run(plan)
    shutil.copy(here / "x.csv.certificate.json", here / "certificate.json")
    papers = {"x.csv": here / "x.csv", "certificate.json": here / "certificate.json"}
    names, _ = write_bundle(plan, {name: str(path) for name, path in papers.items()}, str(folder / "bundle.zip"))
    with zipfile.ZipFile(folder / "bundle.zip") as archive:
        assert archive.namelist() == names
        archive.extractall(folder / "there")
    source = here / os.path.basename(document["input"]["path"])
    there = folder / "there" / "rebuild"
    assert not (there / source.name).exists()  # what is raw is not packed
    assert str(folder).encode() not in b"".join(path.read_bytes() for path in there.iterdir())
    shutil.copy(source, there)
    shutil.rmtree(here)
    return there, published(folder / "there" / "publish" / "x.csv")


@pytest.mark.parametrize("name", PLANS)
def test_plan_and_notebook_make_the_release_again_elsewhere(name, tmp_path, monkeypatch):
    there, rows = packed(name, tmp_path)
    monkeypatch.chdir(there)
    run(read_plan("plan.yaml"))
    assert published(there / "rebuilt-x.csv") == rows
    (there / "rebuilt-x.csv").unlink()
    space = {}
    notebook = nbformat.read(there / "rebuild.ipynb", as_version=4)
    nbformat.validate(notebook)
    shown = [outcome(cell.source, space) for cell in notebook.cells if cell.cell_type == "code"]
    assert published(there / "rebuilt-x.csv") == rows
    release, verified, frame, measured = shown
    assert release.audit.holds
    assert verified.verdict != "not verified"
    assert "rebuilt-certificate.html" in frame._repr_html_()
    assert "<svg" in (there / "rebuilt-certificate.html").read_text() + release._repr_html_()
    assert measured.to_dict()


def outcome(source, space):
    """What a cell shows: the value of its last expression."""
    tree = ast.parse(source)
    last = tree.body.pop()
    exec(compile(tree, "cell", "exec"), space)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), space)


def test_the_script_makes_it_again_from_anywhere(tmp_path):
    there, rows = packed("table", tmp_path)
    done = subprocess.run(
        [sys.executable, there / "rebuild.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert published(there / "rebuilt-x.csv") == rows


def test_a_signed_bundle_says_how_it_is_checked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_data(tmp_path)
    new_key("board.key", "open sesame")
    plan = plan_of({"version": 1, **PLANS["km"], "outputs": {"data": "x.csv", "certificate": "c.json"}})
    run(plan)
    content = json.loads((tmp_path / "c.json").read_text())
    (tmp_path / "c.json").write_bytes(certificate_file(content, "c.json", signer("board.key", "open sesame")))
    papers = {name: name for name in ("x.csv", "c.json")} | {"signed-by.pub": "board.key.pub"}
    write_bundle(plan, papers, "b.zip")
    with zipfile.ZipFile("b.zip") as archive:
        archive.extractall("there")
        assert "--key SIGNER.pub" in archive.read("README.txt").decode()
    found = verify("there/publish/c.json", "there/publish/x.csv", key="there/publish/signed-by.pub")
    assert found.holds
    assert found.vouched
    assert b"PRIVATE" not in b"".join(path.read_bytes() for path in (tmp_path / "there").rglob("*") if path.is_file())
    assert (tmp_path / "b.zip").stat().st_mode & 0o077 == 0
    with pytest.raises(InputError, match="there already"):
        write_bundle(plan, papers, "b.zip")


def test_the_command_packs_what_it_verified(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_data(tmp_path)
    plan = {"version": 1, **PLANS["km"], "outputs": {"data": "x.csv", "certificate": "c.json"}}
    (tmp_path / "my plan.json").write_text(json.dumps(plan))
    assert main(["run", "my plan.json"]) == 0
    capsys.readouterr()
    assert main(["bundle", "my plan.json", "c.json", "x.csv", "-o", "b.zip", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {"publish/x.csv", "publish/c.json", "publish/c.html", "rebuild/plan.yaml", "rebuild/tree.csv"} <= {
        *told["files"]
    }
    with zipfile.ZipFile("b.zip") as archive:
        archive.extractall("there")
    assert verify("there/publish/c.html", "there/publish/x.csv").holds
    (tmp_path / "x.csv").write_text("the items\n")
    assert main(["bundle", "my plan.json", "c.json", "x.csv", "-o", "other.zip"]) == 3
    assert not (tmp_path / "other.zip").exists()


@pytest.fixture(scope="module")
def certified(tmp_path_factory):
    """(folder, certificate) of each plan, released."""
    folder = tmp_path_factory.mktemp("certified")
    write_data(folder)
    before = os.getcwd()
    os.chdir(folder)
    try:
        for number, plan in enumerate(PLANS.values()):
            run(plan_of({"version": 1, **plan, "outputs": {"data": f"{number}.csv", "certificate": f"{number}.json"}}))
        yield {name: json.loads((folder / f"{number}.json").read_text()) for number, name in enumerate(PLANS)}
    finally:
        os.chdir(before)


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_is_that_of_its_own_release_and_of_no_other(certified, name):
    plan = plan_of({"version": 1, **PLANS[name]})
    assert list(differences(plan, certified[name])) == []
    for other in PLANS:
        if other != name:
            assert list(differences(plan_of({"version": 1, **PLANS[other]}), certified[name])) != []


@pytest.mark.parametrize(
    ("name", "change", "off"),
    [
        ("km", {"algorithm": "hybrid"}, "algorithm"),
        ("km", {"options": {"suppress": 0.01}}, "suppress"),
        ("km", {"hierarchies": "balanced:2"}, "hierarchy of the items"),
        ("km", {"guarantee": {"model": "km", "k": 5, "m": 1}}, "promise (m)"),
        ("table", {"guarantee": {"model": "k", "k": 4, "l": 2, "missing": "unknown"}}, "promise (missing)"),
        ("table", {"options": {"weights": {"age": 3.0}}}, "weights"),
        ("table", {"options": {"limits": {"age": 10}, "weights": {"age": 2.0}}}, "limits"),
        ("table", {"columns": {"age": "quasi", 'se"x': "keep", "items": "drop", "ill": "sensitive", "na,me": "drop"}}, "columns"),
        ("rt", {"keep_order": False}, "keep order"),
        ("rt", {"options": {"delta": 0.7}}, "delta"),
        ("diversity", {"algorithm": "anatomy"}, "algorithm"),
        ("a path like a flag", {"input": {"path": "other.dat"}}, "original"),
    ],
)  # fmt: skip
def test_a_plan_that_was_changed_is_told_from_the_one_of_the_release(certified, tmp_path, name, change, off):
    Path("other.dat").write_text("a b\n" * 9)
    plan = plan_of({"version": 1, **PLANS[name], **change})
    assert list(differences(plan, certified[name])) == [off]
    with pytest.raises(InputError, match=f"whose {re.escape(off)} is another"):
        check_plan(plan, certified[name], "plan.yaml")


def test_a_tree_that_was_edited_is_another(certified):
    tree = Path("tree.csv")
    before = tree.read_text()
    try:
        tree.write_text(before.replace("e;high", "e;low"))
        assert list(differences(plan_of({"version": 1, **PLANS["km"]}), certified["km"])) == ["hierarchy of the items"]
    finally:
        tree.write_text(before)
