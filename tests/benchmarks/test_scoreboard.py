"""The scoreboard: pages show what was recorded, ratios are those of the recorded figures, and every section can be run."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
MODULES = ("measuring", "recorded", "sections", "scoreboard", "figures")


@pytest.fixture
def bench(monkeypatch):
    """The modules of the benchmarks, for one test."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    before = set(sys.modules)
    names = {name: __import__(name) for name in MODULES}
    yield type("Bench", (), names)
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(BENCHMARKS)):
            del sys.modules[name]


def test_the_figures_of_readme_and_docs_are_the_recorded_ones(bench):
    results = bench.scoreboard.everything()
    pages = bench.figures.pages()
    assert BENCHMARKS.parent / "README.md" in pages
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert text == bench.figures.filled(text, results), f"{page.name}: run benchmarks/run.py --readme"


def test_the_results_are_the_recorded_ones(bench):
    page = bench.scoreboard.results_page(bench.scoreboard.everything())
    assert (BENCHMARKS / "RESULTS.md").read_text(encoding="utf-8") == page, "run benchmarks/run.py --readme"


def test_a_figure_inside_a_sentence_does_not_begin_its_line(bench):
    """A line that begins with a comment ends the paragraph before it."""
    for page in bench.figures.pages():
        for found in bench.figures.MARKED.finditer(page.read_text(encoding="utf-8")):
            if "\n" not in found["text"]:
                line = page.read_text(encoding="utf-8")[: found.start()].rsplit("\n", 1)[-1]
                assert line.strip(" -*"), f"{page.name}: {found['name']}"


def test_a_name_without_figures_is_named(bench):
    with pytest.raises(KeyError, match="no figures are named speed"):
        bench.figures.filled("<!-- figures:speed -->7<!-- /figures -->", {})


def test_every_section_of_the_registry_can_be_run(bench):
    for name in bench.sections.SECTIONS:
        assert bench.sections.cases_of(name), name
        assert callable(bench.sections._function(name, "case"))


def test_a_new_module_brings_its_sections(bench, monkeypatch, tmp_path):
    (tmp_path / "invented.py").write_text(
        'WITHOUT_DATA = ("small",)\n\ndef section_small():\n    return [{"n": 3}]\n\n'
        'def case_small(n):\n    """Small tables. Slowly."""\n    return {"n": n}\n'
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert bench.sections.sections_of("invented") == {
        "small": bench.sections.Section("invented", "Small tables. Slowly", False)
    }
    assert bench.sections.sections_of("not_there_at_all") == {}


def test_every_recorded_file_is_of_a_section(bench):
    assert {path.stem for path in bench.recorded.RESULTS.glob("*.json")} <= {*bench.sections.SECTIONS, "rivals"}


def test_what_is_recorded_is_read_back(bench, tmp_path):
    run = bench.measuring.Run("2026-01-02", "abc1234+", 2, 24, "3.11.0", 0.5, "Beside other work.")
    what = bench.recorded.Recorded(run, [{"data": "naïve | x", "s": "0.10"}, {"data": "y", "s": "1,000"}])
    bench.recorded.record("exact", what, tmp_path)
    assert bench.recorded.recorded("exact", tmp_path) == what
    assert bench.recorded.recorded("hybrid", tmp_path) is None
    assert run.line() == (
        "2026-01-02, commit abc1234+, 2 cores, 24 GiB, Python 3.11.0, load 0.5 at the start. Beside other work."
    )


def test_every_section_of_the_page_says_when_where_and_at_which_commit(bench):
    results = bench.scoreboard.everything()
    page = bench.scoreboard.results_page(results)
    for name, section in bench.sections.SECTIONS.items():
        if name in results:
            said = page.partition(f"## {section.title}\n\n`{name}`: ")[2].partition("\n")[0]
            assert re.match(r"\d{4}-\d\d-\d\d, commit [0-9a-f]{7}\+?, \d+ cores, ", said), name


def test_a_run_says_where_it_was_made(bench):
    run = bench.measuring.run_now()
    assert run.cores >= 1
    assert run.memory_gib >= 1
    assert re.fullmatch(r"[0-9a-f]{7,}\+?|unknown", run.commit)
    assert run.processor
    assert run.processor in run.line()


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("11.52%", 0.1152),
        ("0.0641 (0.0056 dropped)", 0.0641),
        ("1,000,000", 1e6),
        ("3.77e-19", 3.77e-19),
        (5, 5),
        (".5", 0.5),
    ],
)
def test_a_cell_is_read_as_its_first_number(bench, cell, value):
    assert bench.recorded.number(cell) == pytest.approx(value)


def test_a_cell_without_a_number_is_refused(bench):
    with pytest.raises(ValueError, match="holds no number"):
        bench.recorded.number("no solution")


@pytest.mark.parametrize(
    ("one", "other", "shown"),
    [
        ("0.5", "2", "0.25"),
        ("3", "3", "1.0"),
        ("200", "1", "200"),
        ("12", "1", "12"),
        ("0.001", "1", "0.001"),
        ("", "2", ""),
        ("2", "", ""),
        ("3e-19", "2e-24", "-"),
        ("1.4", "0.0", ""),
    ],
)
def test_a_ratio_has_two_digits(bench, one, other, shown):
    assert bench.scoreboard.ratio(one, other) == shown


def test_growth_is_relative_to_the_fewest_rows(bench):
    rows = [{"rows": "2,000", "a s": "0.006"}, {"rows": "1,000", "a s": "0.002", "peak MB": 7}]
    shown = bench.scoreboard.growth(rows, "rows", {"a": bench.scoreboard.spread("a s", "rows")})
    assert shown == [
        {"rows": "1,000", "a, µs per row": "2 (1.00)", "peak MB": 7},
        {"rows": "2,000", "a, µs per row": "3 (1.50)", "peak MB": ""},
    ]


def test_the_page_has_a_table_for_every_engine_that_was_measured(bench):
    results = bench.scoreboard.everything()
    page = bench.scoreboard.results_page(results)
    for engine in bench.scoreboard.ENGINES:
        if any(name in results for name in engine.sections):
            assert f"### {engine.title}\n" in page
    alone = bench.scoreboard.results_page({"audit": results["audit"]})
    assert "### The audit" in alone
    assert "hybrid" not in alone


def made_up(bench, rows):
    """Rows as if they had been recorded."""
    return bench.recorded.Recorded(bench.measuring.Run("2026-01-02", "abc1234", 2, 24, "3.11.0", 0.1), rows)


def test_learned_hierarchies_stand_beside_those_by_frequency(bench):
    one = {"data": "retail", "N": 5, "k": 5, "m": 2, "frequency": "0.00290", "frequency s": "1.00"}
    one |= {"learned": "0.00130", "learned s": "0.50", "learning s": "1.50", "kept": "support", "peak MB": 300}
    grown = [
        {"transactions": "80,000", "k": 20, "learning µs / transaction": "9", "peak MB": 280},
        {"transactions": "20,000", "k": 5, "learning µs / transaction": "6", "peak MB": 250},
    ]
    results = {"learned": made_up(bench, [one]), "learning": made_up(bench, grown)}
    assert bench.scoreboard.learned_tables(results) == [
        [
            {
                "data": "retail",
                "setting": "k = 5, m = 2",
                "algorithm": "learned:5",
                "s": "2.00",
                "peak MB": 300,
                "loss": "0.0013",
                "reference": "frequency:5",
                "× s": "2.0",
                "× loss": "0.45",
            }
        ],
        [
            {"rows": "20,000", "learning, µs per row": "6 (1.00)", "peak MB": 250},
            {"rows": "80,000", "learning, µs per row": "9 (1.50)", "peak MB": 280},
        ],
    ]
    page = bench.scoreboard.results_page(results)
    assert "### Learned hierarchies" in page
    assert "From `learned` (2026-01-02, abc1234), `learning` (2026-01-02, abc1234)." in page
    assert "| retail | 5 | 5 | 2 | 0.00290 | 1.00 | 0.00130 | 0.50 | 1.50 | support | 300 |" in page
    assert "### Learned" not in bench.scoreboard.results_page({})


def test_a_case_on_learned_hierarchies_has_what_the_scoreboard_shows(bench, monkeypatch):
    import learned
    from shoal.records.samples.grocery import grocery

    monkeypatch.setattr(learned, "data", lambda name: grocery(300, seed=3)[0])
    monkeypatch.setattr(learned, "LEARNING", (8_000,))
    rows = [bench.sections.case_of("learned", data="groceries", n=5, k=5, m=2)]
    grown = [bench.sections.case_of("learning", **case) for case in bench.sections.cases_of("learning")]
    results = {"learned": made_up(bench, rows), "learning": made_up(bench, grown)}
    (shown,), (growth,) = bench.scoreboard.learned_tables(results)
    assert 0 < bench.recorded.number(shown["× loss"]) <= 1
    assert bench.recorded.number(rows[0]["learned"]) <= bench.recorded.number(rows[0]["frequency"])
    assert growth["rows"] == "8,000"
    assert not bench.sections.SECTIONS["learning"].needs_data


def test_a_command_is_compared_with_that_of_another_commit(bench, monkeypatch):
    """The other commit's code runs, not this one's, and nothing of it stays."""
    against = __import__("against")
    if not (against.HERE / ".git").exists():
        pytest.skip("there is no other commit at hand")
    trees = []
    real = against.cpu
    monkeypatch.setattr(against, "cpu", lambda tree, order: trees.append(tree) or real(tree, order))
    monkeypatch.setattr(against, "orders", lambda place: {"--version": ["--version"]})
    monkeypatch.setattr(against, "TURNS", 1)
    [row] = against.compare("HEAD")
    assert float(row["ratio"]) > 0
    assert trees == [trees[0], against.HERE, trees[0], against.HERE]
    assert trees[0] != against.HERE
    assert not trees[0].exists()
    with pytest.raises(SystemExit, match="not a commit"):
        against.compare("no-such-branch")
