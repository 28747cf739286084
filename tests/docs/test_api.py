"""The Python reference: it is what the docstrings say now, every public name is explained, and every example does what it shows."""

from __future__ import annotations

import doctest
import importlib.util
import inspect
import sys
from pathlib import Path

import pytest

import shoal

DOCS = Path(__file__).parents[2] / "docs"
spec = importlib.util.spec_from_file_location("docs_api", DOCS / "api.py")
api = sys.modules["docs_api"] = importlib.util.module_from_spec(spec)  # where dataclasses look for it
spec.loader.exec_module(api)


def examples_of(name: str) -> list[doctest.DocTest]:
    """The examples of a public name and of its own methods. Each begins with its imports, as a reader has to."""
    thing = getattr(shoal, name)
    texts = {name: thing.__doc__ or ""}
    if inspect.isclass(thing):
        members = inspect.getmembers(thing, lambda one: inspect.isroutine(one) or isinstance(one, property))
        texts |= {f"{name}.{member}": one.__doc__ or "" for member, one in members if not member.startswith("_")}
    parser = doctest.DocTestParser()
    found = [parser.get_doctest(inspect.cleandoc(text), {}, place, None, None) for place, text in texts.items()]
    return [one for one in found if one.examples]


def test_the_page_is_up_to_date():
    assert (DOCS / "api.md").read_text(encoding="utf-8") == api.reference(), "run .venv/bin/python docs/api.py"


@pytest.mark.parametrize("name", api.public_names())
def test_a_public_name_is_explained(name):
    assert not api.gaps(name)


@pytest.mark.parametrize("name", api.public_names())
def test_examples_do_what_they_show(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for example in examples_of(name):
        runner.run(example)
    assert not runner.failures, capsys.readouterr().out


def test_a_name_that_says_nothing_is_noticed(monkeypatch):
    def compare(data, *, pairs=3, threads=None, **more):
        """Compares."""

    monkeypatch.setattr(shoal, "compare", compare, raising=False)
    monkeypatch.setattr(shoal, "__all__", [*shoal.__all__, "compare"])
    assert api.gaps("compare") == [
        "data is not explained",
        "pairs is not explained",
        "**more is not explained",
        "it has no example",
        "it does not say what it raises",
    ]
    assert "### compare" in api.reference()
