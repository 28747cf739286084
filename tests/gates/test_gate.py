"""A gate lets a file pass only if every check that is about it holds, and never says what is in it."""

from __future__ import annotations

import json
import os
import re
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from made_workbooks import workbook
from naive import is_km_anonymous
from shoal.certificate.checks import Check
from shoal.certificate.verification import Verification
from shoal.gates.rulebook import read_policy

SAFE = [["milk", "bread"]] * 5 + [["gin"]] * 5
BROKEN = [["milk", "bread"]] * 4 + [["canary", "gin"]]
KM = "guarantee: {model: km, k: 5, m: 2}"


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def write_rows(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    shoal.write(shoal.read(rows), path)


def policy(folder, *checks, more=""):
    lines = "\n".join(f"  - {{{check}}}" for check in checks)
    return write(folder / "gate.yaml", f"version: 1\n{more}\nchecks:\n{lines}\n")


def test_a_file_passes_that_keeps_its_promise_and_another_does_not(tmp_path, run):
    write_rows(tmp_path / "public" / "good.csv", SAFE)
    write_rows(tmp_path / "public" / "bad.csv", BROKEN)
    rules = policy(tmp_path, f"files: public/*.csv, {KM}")
    assert run("gate", rules, tmp_path / "public" / "good.csv")[0] == 0
    code, out, err = run("gate", rules)
    assert code == 3
    assert "public/bad.csv: 5^2-anonymity does not hold" in out
    assert "canary" not in out + err
    found = shoal.gate(rules)
    assert [file.passes for file in found.files] == [False, True]
    assert not found
    with pytest.raises(shoal.Unreachable, match="bad"):
        found.require()
    assert shoal.gate(rules, tmp_path / "public" / "good.csv").require()


def test_every_check_about_a_file_has_to_hold(tmp_path):
    write_rows(tmp_path / "a.csv", SAFE)
    rules = policy(tmp_path, f"files: a.csv, {KM}", "name: ten, files: '*.csv', guarantee: {model: km, k: 6, m: 1}")
    found = shoal.gate(rules)
    assert [(file.check, file.passes) for file in found.files] == [("a.csv", True), ("ten", False)]


def test_a_table_is_read_with_the_roles_of_the_check(tmp_path):
    write(tmp_path / "people.csv", "age,sex,ward\n" + "30-39,f,A\n" * 3 + "40-49,m,B\n" * 2)
    table = "files: people.csv, columns: {age: quasi, sex: quasi, ward: keep}, guarantee: {model: k, k: %d}"
    assert shoal.gate(policy(tmp_path, table % 2))
    found = shoal.gate(policy(tmp_path, table % 3))
    assert found.exit_code == 3
    unnamed = shoal.gate(policy(tmp_path, "files: people.csv, columns: {age: quasi}, guarantee: {model: k, k: 2}"))
    assert unnamed.exit_code == 2
    assert unnamed.files[0].problems[0].kind == "unreadable"


def test_a_file_that_got_another_name_does_not_slip_through(tmp_path, run):
    write_rows(tmp_path / "moved.csv", BROKEN)
    rules = policy(tmp_path, f"files: public.csv, {KM}")
    assert run("gate", rules)[0] == 2
    with pytest.raises(shoal.InputError, match="no file fits"):
        shoal.gate(rules).require()
    assert shoal.gate(policy(tmp_path, f"files: public.csv, optional: true, {KM}"))


def test_files_that_no_check_is_about_are_counted_or_refused(tmp_path):
    write_rows(tmp_path / "a.csv", SAFE)
    other = write(tmp_path / "README.md", "nothing")
    outside = __file__
    given = [tmp_path / "a.csv", other, outside]
    found = shoal.gate(policy(tmp_path, f"files: a.csv, {KM}"), given)
    assert (found.holds, found.ignored) == (True, 2)
    found = shoal.gate(policy(tmp_path, f"files: a.csv, {KM}", more="others: refuse"), given)
    assert [file.problems[0].kind for file in found.files if not file.passes] == ["uncovered", "uncovered"]
    assert found.exit_code == 3


def test_a_certificate_can_be_asked_for_with_a_signature_and_what_is_kept(tmp_path, run):
    rows = [[f"item {n % 7}", f"item {n % 11}"] for n in range(60)]
    release = shoal.anonymize(rows, shoal.KmAnonymity(k=5, m=2), algorithm="exact", hierarchy="balanced:4")
    release.write(tmp_path / "public.csv")
    assert release.kept["exact"] < 1
    assert shoal.gate(policy(tmp_path, f"files: public.csv, {KM}, certificate: required, loss: {{info: 1}}"))
    found = shoal.gate(policy(tmp_path, f"files: public.csv, {KM}, kept: {{exact: 1.0}}, loss: {{info: 0}}"))
    assert [problem.kind for problem in found.files[0].problems] == ["usefulness", "usefulness"]
    found = shoal.gate(policy(tmp_path, f"files: public.csv, {KM}, kept: {{cells: 0.1}}"))
    assert "does not state kept.cells" in found.files[0].problems[0].says

    key, stranger = tmp_path / "board.key", tmp_path / "stranger.key"
    for made in (key, stranger):
        assert run("verify", "--new-key", made)[0] == 0
    signed = f"files: public.csv, {KM}, key:"
    assert not shoal.gate(policy(tmp_path, f"{signed} board.key.pub"))
    certificate = tmp_path / "public.csv.certificate.json"
    assert run("sign", certificate, tmp_path / "public.csv", "--key", key)[0] == 0
    assert shoal.gate(policy(tmp_path, f"{signed} board.key.pub"))
    assert not shoal.gate(policy(tmp_path, f"{signed} stranger.key.pub"))

    facts = json.loads(certificate.read_text())
    facts["output"]["rows"] += 1
    certificate.write_text(json.dumps(facts))
    found = shoal.gate(policy(tmp_path, f"files: public.csv, {KM}, certificate: required"))
    assert [problem.kind for problem in found.files[0].problems] == ["certificate"]
    certificate.unlink()
    found = shoal.gate(policy(tmp_path, f"files: public.csv, {KM}, certificate: required"))
    assert "no certificate beside it" in found.files[0].problems[0].says


def test_a_certificate_with_a_weaker_promise_does_not_help(tmp_path):
    shoal.anonymize(BROKEN * 2, shoal.KmAnonymity(k=2, m=2)).write(tmp_path / "public.csv")
    found = shoal.gate(policy(tmp_path, f"files: public.csv, {KM}, certificate: required"))
    assert found.files[0].certificate == "verified"
    assert [problem.kind for problem in found.files[0].problems] == ["promise"]


def test_reports_for_pipelines(tmp_path, run):
    write_rows(tmp_path / "good & <fine>.csv", SAFE)
    write_rows(tmp_path / "bad file.csv", BROKEN)
    write(tmp_path / "odd.csv", 'items\n"open')
    rules = policy(tmp_path, f"files: '*.csv', {KM}", f"files: gone.csv, {KM}")
    junit, sarif = tmp_path / "junit.xml", tmp_path / "gate.sarif"
    code, out, _ = run("gate", rules, "--junit", junit, "--sarif", sarif, "--json")
    assert code == 3
    document = json.loads(out)
    assert document["exit_code"] == 3
    suite = ElementTree.fromstring(junit.read_bytes())
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("4", "1", "2")
    cases = {case.get("name"): [child.tag for child in case] for case in suite}
    assert cases == {
        "bad file.csv": ["failure"],
        "good & <fine>.csv": [],
        "odd.csv": ["error"],
        "gone.csv": ["error"],
    }
    report = json.loads(sarif.read_text())
    results = report["runs"][0]["results"]
    assert sorted(result["ruleId"] for result in results) == ["missing", "promise", "unreadable"]
    rules_named = report["runs"][0]["tool"]["driver"]["rules"]
    assert all(rules_named[result["ruleIndex"]]["id"] == result["ruleId"] for result in results)
    assert "bad%20file.csv" in sarif.read_text()
    assert "canary" not in out + junit.read_text() + sarif.read_text()


def test_a_report_never_replaces_what_is_looked_at(tmp_path, run):
    write_rows(tmp_path / "public" / "a.csv", SAFE)
    rules = policy(tmp_path, f"files: public/*.csv, {KM}")
    before = (tmp_path / "public" / "a.csv").read_bytes(), rules.read_bytes()
    for target in (tmp_path / "public" / "a.csv", rules):
        assert run("gate", rules, "--sarif", target)[0] == 2
    assert run("gate", rules, "--sarif", tmp_path / "r", "--junit", tmp_path / "r")[0] == 2
    assert before == ((tmp_path / "public" / "a.csv").read_bytes(), rules.read_bytes())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it holds no checks"),
        ("version: 1", "checks: give a list of checks"),
        ("version: 2\nchecks: [{files: a, guarantee: {model: km, k: 5, m: 2}}]", "version"),
        ("version: 1\nchekcs: []", "is checks meant|there is no such key"),
        ("version: 1\nothers: maybe\nchecks: []", "choose ignore or refuse"),
        ("version: 1\nchecks: [{guarantee: {model: km, k: 5, m: 2}}]", "files.*it is missing"),
        ("version: 1\nchecks: [{files: a.csv}]", "guarantee.*it is missing"),
        (
            "version: 1\nchecks:\n  - {files: a.csv, guarantee: {model: kn, k: 5, m: 2}}",
            r"checks\.0\.guarantee \(line 3\)",
        ),
        ("version: 1\nchecks: [{files: a.csv, guarantee: {model: km, k: 0, m: 2}}]", "at least 1"),
        ("version: 1\nchecks: [{files: /etc/passwd, guarantee: {model: km, k: 5, m: 2}}]", "leads out"),
        ("version: 1\nchecks: [{files: ../a.csv, guarantee: {model: km, k: 5, m: 2}}]", "leads out"),
        (
            "version: 1\nchecks: [{files: a, columns: {name: drop, items: items}, guarantee: {model: km, k: 5, m: 2}}]",
            r"checks\.0\.columns\.name \(line 2\): what is dropped is not in a published file",
        ),
        (
            "version: 1\nchecks: [{files: a, input: {one_hot: true}, guarantee: {model: km, k: 5, m: 2}}]",
            "publish a column of sets",
        ),
        ("version: 1\nchecks: [{files: [], guarantee: {model: km, k: 5, m: 2}}]", "give a pattern"),
        ("version: 1\nchecks: [{files: a, input: {path: b}, guarantee: {model: km, k: 5, m: 2}}]", "leave it out"),
        (
            "version: 1\nchecks: [{files: a, kept: {exact: 2}, guarantee: {model: km, k: 5, m: 2}}]",
            "a share from 0 to 1",
        ),
        ("version: 1\nchecks: [{files: a, kept: {exat: 0.2}, guarantee: {model: km, k: 5, m: 2}}]", "exact"),
        ("version: 1\nchecks: [{files: a, optional: 1, guarantee: {model: km, k: 5, m: 2}}]", "true or false"),
        (
            "version: 1\nchecks: [{files: a, certificate: yes, guarantee: {model: km, k: 5, m: 2}}]",
            "required or optional",
        ),
        *(
            (f"version: 1\nchecks: [{{files: '{pattern}', guarantee: {{model: km, k: 5, m: 2}}}}]", "fits no file")
            for pattern in ("[ab].csv", "{a,b}.csv", "!a.csv", "a//b.csv", "a/./b.csv", ".//a.csv")
        ),
        (
            "version: 1\nchecks: [{files: a, guarantee: {model: km, k: 5, m: 2}}, {files: a, guarantee: {model: km, k: 5, m: 2}}]",
            "another check has its name",
        ),
    ],
)
def test_a_policy_that_is_not_usable_says_where(tmp_path, run, text, message):
    code, _, err = run("gate", write(tmp_path / "gate.yaml", text))
    assert code == 2
    assert re.search(message, err), err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.csv", "a.csv", True),
        ("*.csv", "b/a.csv", False),
        ("**/*.csv", "a.csv", True),
        ("**/*.csv", "b/c/a.csv", True),
        ("b/**", "b/c/a.csv", True),
        ("b/?.csv", "b/a.csv", True),
        ("b/?.csv", "b/aa.csv", False),
        ("a+b(c).csv", "a+b(c).csv", True),
        ("./a.csv", "a.csv", True),
        ("clicks/", "clicks/", True),
        ("clicks/", "clicks", False),
        ("b/**", "b/c/", False),
    ],
)
def test_patterns(tmp_path, pattern, path, fits):
    assert read_policy(policy(tmp_path, f"files: '{pattern}', {KM}")).covers(path) is fits


def test_a_file_is_looked_at_however_it_is_named(tmp_path, monkeypatch):
    inside = tmp_path / "inside"
    write_rows(inside / "public" / "bad.csv", BROKEN)
    write_rows(inside / "raw" / "bad.csv", BROKEN)
    (inside / "clicks").mkdir()
    shoal.write(shoal.read(BROKEN), inside / "clicks" / "part-0.parquet")
    (inside / "public" / "latest.csv").symlink_to(inside / "raw" / "bad.csv")
    (tmp_path / "link").symlink_to(inside, target_is_directory=True)
    rules = policy(inside, f"files: [public/*.csv, clicks/], {KM}")
    monkeypatch.chdir(inside)
    for name in (
        tmp_path / "link" / "public" / "bad.csv",
        tmp_path / "link" / "public" / "latest.csv",
        "public/../public/bad.csv",
        "clicks/part-0.parquet",
        "clicks",
        "clicks/",
        "public",
        ".",
        tmp_path,
    ):
        found = shoal.gate(rules, name)
        assert (found.exit_code, found.ignored) == (3, 0), name
        assert shoal.gate(tmp_path / "link" / "gate.yaml", name).exit_code == 3, name
    assert (shoal.gate(rules, "raw").exit_code, shoal.gate(rules, "raw/bad.csv").ignored) == (0, 1)


def test_a_given_file_that_is_not_there_does_not_pass(tmp_path):
    write_rows(tmp_path / "a.csv", SAFE)
    found = shoal.gate(policy(tmp_path, f"files: a.csv, {KM}"), [tmp_path / "a.csv", tmp_path / "aa.csv"])
    assert (found.exit_code, found.files[1].file, found.files[1].problems[0].kind) == (2, "aa.csv", "unreadable")


def test_require_raises_where_nothing_was_looked_at(tmp_path):
    write_rows(tmp_path / "elsewhere" / "a.csv", BROKEN)
    found = shoal.gate(policy(tmp_path, f"files: a.csv, {KM}"), tmp_path / "elsewhere" / "a.csv")
    assert found.exit_code == 0  # before a commit, other files are none of its business
    with pytest.raises(shoal.InputError, match="no check is about any"):
        found.require()


def test_two_ways_to_one_folder_are_both_gone(tmp_path):
    write_rows(tmp_path / "drafts" / "a.csv", BROKEN)
    (tmp_path / "public").symlink_to(tmp_path / "drafts", target_is_directory=True)
    found = shoal.gate(policy(tmp_path, f"files: public/*.csv, {KM}"))
    assert [file.file for file in found.files if not file.passes] == ["public/a.csv"]


def test_names_that_look_like_addresses_or_are_no_text_are_files(tmp_path, run):
    folder = tmp_path / "public"
    folder.mkdir()
    write_rows(folder / "good.csv", SAFE)
    good = (folder / "good.csv").read_bytes()
    for name in (b"-", b"delta:x", b"duckdb:a?table=t", b'odd\xff\x01 "<&>.csv'):
        with open(os.fsencode(folder) + b"/" + name, "wb") as file:
            file.write(good)
    rules = policy(tmp_path, f"files: public/*, input: {{format: csv}}, {KM}")
    policy(folder, f"files: '*', except: gate.yaml, input: {{format: csv}}, {KM}")
    for at in (rules, folder / "gate.yaml"):
        except_policy = [file for file in shoal.gate(at).files if "gate.yaml" not in file.file]
        broken = [file for file in except_policy if not file.passes]
        assert (len(except_policy), [file.problems[0].kind for file in broken]) == (5, ["unreadable"])
    code, out, _ = run("gate", folder / "gate.yaml", "--json", "--sarif", tmp_path / "s", "--junit", tmp_path / "j")
    assert (code, json.loads(out)["holds"]) == (2, False)
    ElementTree.fromstring((tmp_path / "j").read_bytes())
    assert "odd%FF%01%20%22%3C%26%3E.csv" in (tmp_path / "s").read_text(encoding="utf-8")


def test_a_workbook_does_not_pass_for_nobody_audits_what_else_is_in_it(tmp_path):
    workbook(tmp_path / "public.xlsx", {"Public": [["items"], *[["milk bread"]] * 5]})
    found = shoal.gate(policy(tmp_path, f"files: public.xlsx, {KM}"))
    assert (found.exit_code, found.files[0].problems[0].kind) == (2, "unreadable")
    assert "publish CSV" in found.files[0].problems[0].says


def test_places_of_code_scanning_are_from_where_the_gate_was_called(tmp_path, run, monkeypatch):
    write_rows(tmp_path / "privacy" / "public" / "bad.csv", BROKEN)
    policy(tmp_path / "privacy", f"files: public/*.csv, {KM}", f"files: gone.csv, {KM}")
    monkeypatch.chdir(tmp_path)
    run("gate", "privacy/gate.yaml", "--sarif", "found.sarif")
    results = json.loads((tmp_path / "found.sarif").read_text())["runs"][0]["results"]
    places = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in results]
    assert places == ["privacy/public/bad.csv", "privacy/gate.yaml"]


@pytest.mark.parametrize("figure", ["NaN", "Infinity", "true", '"0.9"', "null"])
def test_a_figure_of_a_certificate_that_is_no_number_does_not_pass(tmp_path, monkeypatch, figure):
    write_rows(tmp_path / "public.csv", SAFE)
    stated = Verification({"kept": {"exact": json.loads(figure)}}, (Check("output", True, "as certified"),))
    monkeypatch.setattr("shoal.gates.inspection.verify", lambda *_, **__: stated)
    (tmp_path / "public.csv.certificate.json").write_text("{}")
    found = shoal.gate(policy(tmp_path, f"files: public.csv, {KM}, kept: {{exact: 0.5}}"))
    assert [problem.kind for problem in found.files[0].problems] == ["usefulness"]


def test_exceptions_and_links_that_lead_round(tmp_path):
    write_rows(tmp_path / "public" / "a.csv", SAFE)
    write_rows(tmp_path / "public" / "raw.csv", BROKEN)
    (tmp_path / "public" / "round").symlink_to(tmp_path / "public", target_is_directory=True)
    found = shoal.gate(policy(tmp_path, f"files: '**/*.csv', except: '**/raw.csv', {KM}"))
    assert [file.file for file in found.files] == ["public/a.csv"]


def test_a_folder_that_is_one_data_set(tmp_path):
    (tmp_path / "clicks").mkdir()
    shoal.write(shoal.read(SAFE), tmp_path / "clicks" / "part-0.parquet")
    rules = policy(tmp_path, f"files: clicks/, {KM}")
    found = shoal.gate(rules)
    assert (found.holds, found.files[0].file) == (True, "clicks/")
    (tmp_path / "clicks" / "_SUCCESS").touch()
    assert shoal.gate(rules)
    write_rows(tmp_path / "clicks" / "_raw.csv", BROKEN)  # which Spark does not read, but who gets the folder does
    found = shoal.gate(rules)
    assert (found.exit_code, found.files[0].problems[0].kind) == (3, "uncovered")
    (tmp_path / "clicks" / "_raw.csv").rename(tmp_path / "clicks" / "Patient.ndjson")
    assert "FHIR export" in shoal.gate(rules).files[0].problems[0].says


@given(st.lists(st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True), min_size=1, max_size=12))
def test_the_gate_agrees_with_a_count_by_hand(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("gate")
    write_rows(folder / "rows.csv", rows)
    found = shoal.gate(policy(folder, "files: rows.csv, guarantee: {model: km, k: 3, m: 2}"))
    assert found.holds == is_km_anonymous(rows, 3, 2)
