"""The way of the data: what comes out keeps the promise, and nothing comes out that does not."""

from __future__ import annotations

import csv
import os
import stat
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import naive
import shoal
from shoal import Baskets, InputError, KmAnonymity, ShoalError, Unreachable
from shoal import publish as way
from shoal.algorithms import algorithm
from shoal.algorithms.recoding import Recoding
from shoal.errors import render
from shoal.hierarchy.cut import Cut
from shoal.hierarchy.tree import Hierarchy
from shoal.records.layout import Layout

# Two frequent departments and a rare one that forces everything to the root.
SHOP = Hierarchy.from_parents(
    [6, 6, 7, 7, 8, 8, 9, 9, 9, -1],
    ["milk", "brie", "nappies", "wipes", "rifle", "ammunition", "dairy", "baby", "hunting", "shop"],
    "shop.csv",
)
ROWS = [["milk", "nappies"]] * 6 + [["milk", "wipes"]] * 5 + [["brie", "wipes"]] * 2 + [["milk"]] * 3

names = st.sampled_from(["milk", "brie", "nappies", "two words", "=1+1", "ü|ö", '"', "-7"])
some_rows = st.lists(st.sets(names, max_size=4), min_size=1, max_size=25)


def sets(baskets):
    return [frozenset(row) for row in baskets]


def test_release_keeps_the_promise_and_says_what_it_cost():
    release = shoal.anonymize(ROWS, KmAnonymity(5, 2), hierarchy=SHOP, algorithm="exact")
    assert release.audit.holds
    assert naive.is_km_anonymous(sets(release.published), 5, 2)
    assert release.optimal
    assert release.bound == pytest.approx(release.loss["info"], abs=1e-5)
    assert release.bound > 0
    assert dict(release.rules())["brie"] == "dairy"
    assert release.rows == len(ROWS)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=some_rows,
    k=st.integers(1, 4),
    m=st.integers(1, 3),
    ending=st.sampled_from(["csv", "tsv", "jsonl", "parquet", "arrow", "csv.gz", "dat.zst"]),
    tree=st.sampled_from(["frequency:2", "balanced:3", "prefix"]),
)
def test_written_release_keeps_the_promise_in_every_format(tmp_path, rows, k, m, ending, tree):
    target = tmp_path / f"public.{ending}"
    try:
        release = shoal.anonymize(rows, KmAnonymity(k, m), hierarchy=tree, algorithm="exact")
    except Unreachable:
        assert 0 < sum(map(bool, rows)) < k
        return
    release.write(target, rules=tmp_path / "rules.csv", force=True)
    published = shoal.read(target, format="csv" if ending.startswith("csv") else None, **_columns(ending, release))
    assert naive.is_km_anonymous(sets(published), k, m)
    with (tmp_path / "rules.csv").open(newline="", encoding="utf-8") as file:
        header, *rules = csv.reader(file)
    assert header == ["item", "published"]
    became = {_unguarded(item): _unguarded(token) for item, token in rules}
    expected = [frozenset(became[item] for item in row) - {""} for row in rows]
    assert Counter(sets(published)) == Counter(expected)


def _columns(ending, release):
    """How a reader finds the same sets again: with the separator that was really used."""
    if ending.startswith(("csv", "tsv")):
        return {"separator": release.written[-1].layout.separator}
    return {}


def _unguarded(cell):
    return cell.removeprefix("'")


def test_rows_are_shuffled_unless_their_order_is_kept():
    rows = [[f"i{n}"] for n in range(300)]
    kept = shoal.anonymize(rows, KmAnonymity(1, 1), keep_order=True)
    mixed = shoal.anonymize(rows, KmAnonymity(1, 1))
    assert [list(row) for row in kept.published.rows()] == rows
    assert [list(row) for row in mixed.published.rows()] != rows
    assert Counter(sets(mixed.published)) == Counter(sets(kept.published))
    assert any("order" in note for note in kept.notes)


def test_shuffling_keeps_every_row_whole():
    baskets = Baskets.from_rows([["a", "b"], [], ["c"], ["a", "b", "c"]] * 50)
    assert Counter(sets(shoal.release.shuffle(baskets))) == Counter(sets(baskets))


def test_what_the_audit_refuses_is_not_released(monkeypatch, tmp_path):
    def careless(baskets, guarantee, hierarchy, options):
        return Recoding(Cut.leaves(hierarchy), baskets.vocabulary, algorithm="careless", optimal=True, bound=0.0)

    monkeypatch.setattr("shoal.models.km.algorithm", lambda model, name: careless)
    with pytest.raises(ShoalError, match="the audit refuses what careless proposed") as refused:
        shoal.anonymize(ROWS, KmAnonymity(5, 2), hierarchy=SHOP)
    assert refused.value.exit_code == 1


def test_what_a_writer_damages_is_not_published(monkeypatch, tmp_path):
    release = shoal.anonymize(ROWS, KmAnonymity(5, 2), hierarchy=SHOP)
    honest = way.write_to

    def swapping_a_token(file, baskets, layout, target):
        items = baskets.items.copy()
        longest = int(np.argmax(baskets.lengths))
        vocabulary = (*baskets.vocabulary, "zz")
        items[baskets.offsets[longest + 1] - 1] = len(baskets.vocabulary)
        return honest(file, Baskets(baskets.offsets, items, vocabulary), layout, target)

    monkeypatch.setattr(way, "write_to", swapping_a_token)
    with pytest.raises(ShoalError, match=r"what was written reads as other Baskets.*passed the audit"):
        release.write(tmp_path / "public.csv")

    def losing_a_row(file, baskets, layout, target):
        return honest(file, baskets.take(np.arange(len(baskets) - 1)), layout, target)

    monkeypatch.setattr(way, "write_to", losing_a_row)
    with pytest.raises(ShoalError, match="what was written reads as other"):
        release.write(tmp_path / "public.csv")

    def unreadable(file, baskets, layout, target):
        file.write(b"\xff\n")
        return layout

    monkeypatch.setattr(way, "write_to", unreadable)
    with pytest.raises(ShoalError, match="what was written cannot be read again"):
        release.write(tmp_path / "public.csv")
    assert list(tmp_path.iterdir()) == []
    assert release.to_dict()["output_sha256"] is None


@pytest.mark.parametrize("algorithm", ["exact", "oa", "da", "aa"])
@pytest.mark.parametrize("tree", ["frequency:5", "prefix", SHOP])
def test_transactions_without_any_item_are_published_as_they_are(tmp_path, algorithm, tree):
    release = shoal.anonymize([[], [], []], KmAnonymity(5, 2), hierarchy=tree, algorithm=algorithm)
    release.write(tmp_path / "public.jsonl")
    assert sets(shoal.read(tmp_path / "public.jsonl")) == [frozenset()] * 3
    assert release.loss["ncp"] == 0
    assert "3 transactions are empty and stay so" in release.notes


def test_no_transactions_at_all_are_refused():
    with pytest.raises(InputError, match="no transactions"):
        shoal.anonymize(Baskets.from_rows([]), KmAnonymity(2, 2))


def test_a_crowd_larger_than_the_data_is_out_of_reach():
    with pytest.raises(Unreachable, match="choose a smaller k"):
        shoal.anonymize(ROWS, KmAnonymity(100, 1))


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"suppress": 1.5}, "a share from 0 to 1"),
        ({"suppress": float("nan")}, "a share from 0 to 1"),
        ({"time_limit": 0}, "seconds, more than 0"),
        ({"threads": 0}, "threads must be"),
        ({"algorithm": "magic"}, "choose one of local"),
        ({"algorithm": "aa", "suppress": 0.1}, "suppress=: it is for local"),
        ({"algorithm": "da", "time_limit": 5.0}, "time_limit=: it is for local"),
        ({"unknown": "leaf"}, "it is 'leaf'; give root"),
        ({"hierarchy": "balanced:x"}, "balanced:5"),
    ],
)
def test_impossible_options_are_refused(options, complaint):
    with pytest.raises(InputError, match=complaint):
        shoal.anonymize(ROWS, KmAnonymity(2, 2), **options)


def test_a_guarantee_must_be_one():
    with pytest.raises(InputError, match="KmAnonymity"):
        shoal.anonymize(ROWS, 5)


def test_a_release_at_the_root_names_the_rare_category_and_a_way_out():
    rows = ROWS * 10 + [["rifle", "milk"]]
    release = shoal.anonymize(rows, KmAnonymity(5, 2), hierarchy=SHOP, algorithm="exact")
    assert release.loss["ncp"] == 1
    assert any("(hunting: 1)" in render(note, show_values=True) for note in release.notes)
    assert not any("hunting" in note for note in release.notes)
    assert any(note.startswith("suppress=0.02 would lose") and "dropped" in note for note in release.notes)
    better = shoal.anonymize(rows, KmAnonymity(5, 2), hierarchy=SHOP, suppress=0.02, algorithm="exact")
    assert better.loss["ncp"] < 0.1
    assert better.details["suppressed"] == {"share": better.loss["deleted"], "occurrences": 1, "categories": 1}
    assert dict(better.rules())["rifle"] == ""


def test_a_release_that_no_suppression_helps_says_so():
    rows = [["milk", "rifle"]] * 3 + [["milk"]] * 2 + [["rifle"]] * 3
    release = shoal.anonymize(rows, KmAnonymity(5, 2), hierarchy=SHOP, algorithm="exact")
    assert any("not even suppress=0.05 is enough" in note for note in release.notes)


def test_unknown_items_hang_under_the_root_when_asked():
    rows = [*ROWS, *[["truffles"]] * 5]
    with pytest.raises(InputError, match="1 item is not among its leaves"):
        shoal.anonymize(rows, KmAnonymity(5, 2), hierarchy=SHOP)
    assert shoal.anonymize(rows, KmAnonymity(5, 2), hierarchy=SHOP, unknown="root").audit.holds


def test_levels_count_every_item_and_occurrence_once():
    release = shoal.anonymize(
        ROWS * 10 + [["rifle"]], KmAnonymity(5, 2), hierarchy=SHOP, suppress=0.02, algorithm="exact"
    )
    levels = {level["levels_up"]: (level["items"], level["occurrences"]) for level in release.details["levels"]}
    assert levels == {0: (4, sum(map(len, ROWS)) * 10), None: (1, 1)}


def test_files_that_exist_are_kept_unless_forced(tmp_path):
    release = shoal.anonymize(ROWS, KmAnonymity(5, 2), hierarchy=SHOP)
    (tmp_path / "public.csv.certificate.json").write_text("precious")
    with pytest.raises(InputError, match="force=True"):
        release.write(tmp_path / "public.csv")
    assert [file.name for file in tmp_path.iterdir()] == ["public.csv.certificate.json"]
    release.write(tmp_path / "public.csv", force=True)
    assert "precious" not in (tmp_path / "public.csv.certificate.json").read_text()


def test_an_input_is_never_overwritten(tmp_path):
    raw = tmp_path / "raw.csv"
    shoal.write(Baskets.from_rows(ROWS), raw, layout=Layout("csv"))
    before = raw.read_bytes()
    release = shoal.anonymize(raw, KmAnonymity(5, 2))
    with pytest.raises(InputError, match="an input of this release"):
        release.write(raw, force=True)
    assert raw.read_bytes() == before


@pytest.mark.parametrize("what", ["path", "certificate", "rules"])
@pytest.mark.parametrize("by", ["name", "link", "hard link"])
def test_keys_are_never_written_over(tmp_path, monkeypatch, what, by):
    from shoal.certificate.sign import new_key

    owner, board = ("owner.csv", "board.csv") if what == "path" else ("owner.json", "board.json")
    release = shoal.anonymize(ROWS, KmAnonymity(5, 2), hierarchy=SHOP)
    monkeypatch.setenv("SHOAL_KEY", str(tmp_path / owner))
    given = {"path": tmp_path / "public.csv"}
    if by == "name":  # also before there is a key
        with pytest.raises(InputError, match="your key for the hashes in certificates"):
            release.write(**given | {what: tmp_path / owner}, force=True)
    (tmp_path / owner).write_bytes(b"k" * 32)
    new_key(tmp_path / board)
    for key, says in ((owner, "your key for the hashes"), (board, "an input of this release")):
        target = tmp_path / key
        if by != "name":
            target = tmp_path / f"other-{key}"
            (target.symlink_to if by == "link" else target.hardlink_to)(tmp_path / key)
        before = (tmp_path / key).read_bytes()
        with pytest.raises(InputError, match=says):
            release.write(**given | {what: target}, sign=tmp_path / board, force=True)
        assert (tmp_path / key).read_bytes() == before
    assert not (tmp_path / "public.csv").exists()


@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        ({"path": "public.csv", "certificate": "public.txt"}, "end in .json"),
        ({"path": "public.csv", "rules": "public.csv"}, "two outputs"),
        ({"path": "missing/public.csv"}, "folder"),
        ({"path": "public.csv", "rules": "-"}, "file of their own"),
    ],
)
def test_impossible_targets_are_refused(tmp_path, monkeypatch, files, complaint):
    monkeypatch.chdir(tmp_path)
    release = shoal.anonymize(ROWS, KmAnonymity(5, 2), hierarchy=SHOP)
    with pytest.raises(InputError, match=complaint):
        release.write(**files)
    assert list(tmp_path.iterdir()) == []


def test_rules_are_for_their_owner_whatever_the_umask(tmp_path):
    release = shoal.anonymize([["a", "b"]] * 5, shoal.KmAnonymity(2, 2))
    before = os.umask(0)
    try:
        release.write(tmp_path / "public.csv", rules=tmp_path / "rules.csv")
    finally:
        os.umask(before)
    rights = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert rights == {"public.csv": 0o666, "public.csv.certificate.json": 0o666, "rules.csv": 0o600}


def test_rules_speak_of_tokens_as_they_are_written(tmp_path):
    rows = [["goat milk", "brie"]] * 3
    release = shoal.anonymize(rows, KmAnonymity(3, 2))
    release.write(tmp_path / "public.dat", rules=tmp_path / "rules.csv")
    assert "goat milk,goat_milk,3" in (tmp_path / "rules.csv").read_text().splitlines()
    assert "goat_milk" in (tmp_path / "public.dat").read_text()


def test_rules_do_not_run_in_a_spreadsheet(tmp_path):
    release = shoal.anonymize([["=cmd()", "b"]] * 3, KmAnonymity(3, 2))
    release.write(tmp_path / "public.csv", rules=tmp_path / "rules.csv")
    assert (
        "'=cmd(),''=cmd(),3" in (tmp_path / "rules.csv").read_text().splitlines()
    )  # as the release has it, and guarded here


def test_release_goes_out_in_the_layout_of_its_input(tmp_path):
    raw = tmp_path / "raw.csv"
    raw.write_text("person;what\n" + "".join(f"{n};milk,wipes\n" for n in range(6)))
    release = shoal.anonymize(raw, KmAnonymity(5, 2), items="what", drop="person")
    release.write(tmp_path / "public.csv")
    assert (tmp_path / "public.csv").read_text().splitlines()[0] == "what"
    assert sets(shoal.read(tmp_path / "public.csv")) == [{"milk", "wipes"}] * 6
    assert (release.to_dict()["format"], release.to_dict()["separator"]) == ("csv", ",")


def test_format_and_separator_are_those_of_the_written_file(tmp_path):
    release = shoal.anonymize([["whole milk", "rye bread"]] * 5, KmAnonymity(5, 2))
    release.write(tmp_path / "public.csv")
    assert (release.to_dict()["format"], release.to_dict()["separator"]) == ("csv", "|")
    release.write(tmp_path / "public.dat")
    assert (release.to_dict()["format"], release.to_dict()["separator"]) == ("dat", None)


def test_what_a_reader_must_be_told_is_noted(tmp_path):
    release = shoal.anonymize([["a|b", "c;d", "e,f"]] * 5, KmAnonymity(5, 2))
    release.write(tmp_path / "public.csv")
    assert "to read public.csv back, pass separator=' '" in release.to_dict()["notes"]
    assert len(shoal.read(tmp_path / "public.csv", separator=" ").vocabulary) == 3
    (tmp_path / "long.csv").write_text("who am I,item\n1,a\n2,a\n")
    release = shoal.anonymize(tmp_path / "long.csv", KmAnonymity(2, 1), id="who am I")
    release.write(tmp_path / "public-long.csv")
    assert "to read public-long.csv back, pass id='who am I'" in release.to_dict()["notes"]


def test_a_release_of_names_with_blanks_that_ends_in_one_token_reads_back_as_it_is(tmp_path):
    tree = Hierarchy.from_parents([2, 2, -1], ["milk", "brie", "the whole store"])
    release = shoal.anonymize([["milk"], ["brie"], ["milk", "brie"]], KmAnonymity(3, 1), hierarchy=tree)
    release.write(tmp_path / "public.csv")
    assert release.to_dict()["notes"] == [note for note in release.to_dict()["notes"] if "to read" not in note]
    assert sets(shoal.read(tmp_path / "public.csv")) == [{"the whole store"}] * 3


def test_names_that_occur_nowhere_do_not_stop_a_release(tmp_path):
    spare = Baskets(np.array([0, 1, 2], np.int64), np.array([0, 0], np.int32), ("a", "never seen"))
    shoal.anonymize(spare, KmAnonymity(2, 1)).write(tmp_path / "public.dat")
    assert (tmp_path / "public.dat").read_text() == "a\na\n"


def test_a_target_whose_name_tells_no_format_is_refused_before_the_work(tmp_path):
    with pytest.raises(InputError, match=r"^public\.xlsx: its name does not tell a format"):
        way.Targets.of(tmp_path / "public.xlsx").check()


def test_advice_does_not_outlast_the_time_limit(monkeypatch):
    given = []
    exact = algorithm("km", "exact")

    def watched(baskets, guarantee, hierarchy, options):
        given.append(options.time_limit)
        return exact(baskets, guarantee, hierarchy, options)

    monkeypatch.setattr("shoal.evaluation.advice.algorithm", lambda model, name: watched)
    rows = [*ROWS, ["rifle"], ["ammunition"]]
    assert shoal.anonymize(rows, KmAnonymity(5, 2), hierarchy=SHOP, time_limit=2.5, algorithm="exact").notes
    assert max(given) == 2.5
    given.clear()
    assert shoal.anonymize(rows, KmAnonymity(5, 2), hierarchy=SHOP, algorithm="exact").notes
    assert max(given) == 10.0


def test_data_frames_go_in_and_parquet_comes_out(tmp_path):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"items": ROWS})
    release = shoal.anonymize(frame, KmAnonymity(5, 2), hierarchy=SHOP)
    release.write(tmp_path / "public.parquet")
    assert len(shoal.read(tmp_path / "public.parquet")) == len(ROWS)
    assert release.inputs == ()


def test_to_dict_has_what_a_pipeline_needs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shoal.write(Baskets.from_rows(ROWS), "raw.dat")
    release = shoal.anonymize("raw.dat", KmAnonymity(5, 2), hierarchy=SHOP)
    before = release.to_dict()
    assert before["output"] is before["certificate"] is before["output_sha256"] is None
    written = release.write("public.dat")
    facts = release.to_dict()
    assert facts["output_sha256"] == written.sha256
    assert (facts["input"], facts["output"]) == ("raw.dat", "public.dat")
    assert facts["certificate"] == "public.dat.certificate.json"
    assert facts["guarantee"] == {"model": "km", "k": 5, "m": 2, "name": "5^2-anonymity", "local": True}
    assert facts["audit"]["violations"] == 0
    assert facts["seconds"] > 0


def test_a_time_limit_still_releases_something_that_holds():
    rows = [[f"i{(a * b) % 40}" for b in range(1, 5)] for a in range(60)]
    release = shoal.anonymize(rows, KmAnonymity(5, 2), hierarchy="balanced:3", time_limit=1e-6, algorithm="exact")
    assert release.audit.holds
    assert release.bound <= release.loss["info"]


def test_audit_tells_whether_any_data_keeps_the_promise(tmp_path):
    shoal.write(Baskets.from_rows(ROWS), tmp_path / "raw.dat")
    verdict = shoal.audit(tmp_path / "raw.dat", KmAnonymity(5, 2))
    assert not verdict.holds
    assert verdict.witnesses[0].support == 2
    assert not shoal.audit(ROWS, KmAnonymity(5, 2), yes_or_no=True).holds
    assert shoal.audit(ROWS, KmAnonymity(2, 2)).holds


def test_progress_is_told_what_is_going_on():
    heard = []
    shoal.anonymize(ROWS, KmAnonymity(5, 2), hierarchy=SHOP, progress=lambda doing, share, **facts: heard.append(doing))
    assert heard[0] == "reading"
    assert "auditing" in heard


def test_profile_counts_what_a_brute_force_count_finds():
    rows = [set(row) for row in ROWS] + [{"rifle", "brie"}]
    found = shoal.profile(rows, k=5, m=2)
    rare = naive.violations([frozenset(row) for row in rows], 5, 2)
    assert [exposure.rare for exposure in found.exposures] == [sum(len(s) == size for s in rare) for size in (1, 2)]
    exposed = sum(any(set(itemset) <= row for itemset in rare) for row in rows)
    assert found.exposures[-1].exposed == exposed
    assert found.to_dict()["rows"] == len(rows)


def test_profile_warns_about_categories_that_would_force_the_root():
    found = shoal.profile(ROWS * 10 + [["rifle", "milk"]], k=5, m=2, hierarchy=SHOP)
    assert [category.names for category in found.rare_categories] == [("hunting",)]
    assert "(hunting: 1)" in render(found.notes[0], show_values=True)
    assert "hunting" not in found.notes[0]


def test_profile_says_when_no_release_can_reach_the_crowd():
    found = shoal.profile([["a"], ["b"]], k=5, hierarchy="balanced:2")
    assert "choose a smaller k" in found.notes[0]


def test_hierarchies_resolve_without_a_release():
    tree = shoal.resolve_hierarchy("balanced:2", Baskets.from_rows(ROWS))
    assert tree.n_leaves == 4
    assert os.fspath(tree.source) == "balanced:2"


def test_a_plain_callback_hears_what_is_going_on():
    heard = []
    shoal.anonymize(ROWS, KmAnonymity(5, 2), hierarchy=SHOP, progress=lambda doing, share: heard.append(doing))
    assert "reading" in heard
    assert "auditing" in heard
