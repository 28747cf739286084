"""What notebooks and plots show of results: figures, and no value of a person."""

import logging
import random
import sys
from html.parser import HTMLParser

import pytest

import shoal
from shoal.showing import watching

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

SETS = [["tea", "milk"], ["tea"], ["milk", "bread"], ["tea", "bread"], ["<i>", "tea"]] * 4
PEOPLE = {"age": [20, 30, 40, 50] * 5, "items": SETS}


@pytest.fixture(scope="module")
def results():
    import polars as pl

    people = pl.DataFrame(PEOPLE)
    release = shoal.anonymize(SETS, shoal.KmAnonymity(3, 2))
    table = shoal.anonymize(people, shoal.RTAnonymity(2, 1), quasi="age")
    side = shoal.compare(SETS, [shoal.KmAnonymity(3, 2), shoal.KmAnonymity(99, 2)], ["local", "exact"])
    return {
        "release": release,
        "table": table,
        "audit": shoal.audit(SETS, shoal.KmAnonymity(5, 2)),
        "verification": shoal.verify(release.certificate(), release),
        "profile": shoal.profile(SETS, m=2),
        "outlook": shoal.estimate(SETS, shoal.KmAnonymity(3, 2)),
        "evaluation": shoal.evaluate(SETS, release.published),
        "hierarchy": shoal.read_hierarchy({"drinks": ["tea", "<b>"], "food": ["bread"]}),
        "side": side,
        "attack": shoal.attack(release, raw=SETS, k=3, m=2),
        "draft": shoal.draft(people),
    }


class Balance(HTMLParser):
    """Whether every element that is opened is closed, and nothing runs or is fetched."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        assert tag not in ("script", "link", "img", "iframe", "i", "b")
        assert not [name for name, _ in attrs if name.startswith("on") or name in ("src", "href")]
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_results_are_shown_as_whole_and_harmless_html(results):
    for name, result in results.items():
        found = Balance()
        found.feed(result._repr_html_())
        found.close()
        assert not found.open, name


def test_usefulness_comes_first(results):
    shown = results["release"]._repr_html_()
    assert 0 < shown.index("information kept") < shown.index("ncp")
    assert "unreachable" in results["side"].to_pandas()["status"].tolist()
    assert "choose a smaller k" in results["side"]._repr_html_()


def test_an_audit_names_no_item(results):
    audit = results["audit"]
    assert not audit
    assert audit.witnesses
    for text in (audit._repr_html_(), repr(audit), repr(results["verification"]), repr(results["evaluation"])):
        assert "bread" not in text
        assert "milk" not in text


@pytest.mark.parametrize("name", ["release", "table", "audit", "profile", "outlook", "evaluation", "hierarchy", "side"])
def test_plots_go_into_given_or_new_axes(results, name):
    from matplotlib import pyplot

    _, axes = pyplot.subplots()
    assert results[name].plot(axes) is axes
    assert axes.get_title()
    assert axes.patches or axes.lines
    assert results[name].plot() is not axes
    pyplot.close("all")


def test_a_method_to_plot_is_there_where_there_is_a_plot(results):
    assert {name for name, one in results.items() if not hasattr(one, "plot")} == {"verification", "attack", "draft"}


def test_results_say_in_a_line_what_they_are(results):
    for name, result in results.items():
        assert len(repr(result)) < 160, name
        assert "milk" not in repr(result), name


def test_plots_without_the_extra_say_what_to_install(results, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(shoal.InputError, match=r"shoal\[plots\]"):
        results["release"].plot()


def test_progress_is_a_line_that_goes_away(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with watching(True) as tell:
        tell("searching", 0.5, best=0.1)
    said = capsys.readouterr().err
    assert "searching 50%" in said
    assert "10.00% lost" in said
    assert said.endswith("\x1b[K")
    with watching(None) as tell:
        assert tell is None
    assert shoal.anonymize(SETS, shoal.KmAnonymity(3, 2), progress=True).audit


def test_runs_are_logged_without_values(caplog):
    draw = random.Random(1)
    rows = [draw.sample(["secret-a", "secret-b", "secret-c"], 2) for _ in range(30)]
    with caplog.at_level(logging.INFO, "shoal"):
        release = shoal.anonymize(rows, shoal.KmAnonymity(3, 2))
        shoal.audit(release, release.guarantee)
    assert "3^2-anonymity by local: 30 rows" in caplog.text
    assert "secret" not in caplog.text
