"""The owner's report: all figures, exact, in a file that nobody else may read, written with the release or not at all."""

from __future__ import annotations

import json
import os
import stat

import pytest

import shoal
from shoal import Baskets, InputError, KmAnonymity
from shoal.certificate.owner import OWNER
from shoal.plan import read_plan
from shoal.release import run

ROWS = [["milk", "beer"]] * 20 + [["milk", "tea"]] * 2 + [["tea"]] * 3
SETS = {"hierarchy": "balanced:2", "suppress": 0.2}


@pytest.fixture
def open_mask():
    before = os.umask(0)
    yield
    os.umask(before)


def written(folder, rows=ROWS, guarantee=None, **options):
    release = shoal.anonymize(Baskets.from_rows(rows), guarantee or KmAnonymity(4, 2), **(options or SETS))
    release.write(folder / "out.csv", report=folder / "report.json", force=True)
    return release, json.loads((folder / "report.json").read_text())


def test_report_has_what_the_certificate_rounds_or_keeps_back(tmp_path):
    release, report = written(tmp_path)
    assert (report["report"], report["for"]) == ("shoal report 1", OWNER)
    assert report["loss"] == dict(release.loss)
    assert report["bound"] == release.bound
    assert report["levels"] == release.details["levels"]
    assert report["suppressed"] == release.details["suppressed"]
    assert report["risk"] == [exposed.to_dict() for exposed in release.risk]
    assert report["input_sha256"] == release.input_sha256
    assert report["output_sha256"] == release.written[-1].sha256
    assert report["hierarchy"]["leaves"] == 3
    assert any("report.json" in note and "do not publish" in note for note in report["notes"])


@pytest.mark.parametrize("guarantee", [shoal.KAnonymity(4), shoal.KAnonymity(3)])
def test_report_of_transactions_counts_every_edit(tmp_path, guarantee):
    release, report = written(tmp_path, guarantee=guarantee, seed=1)
    assert report["edits"] == release.details["edits"]
    assert report["classes"]["size"] == release.details["classes"]["size"]


def test_report_is_for_its_owner_alone_whatever_the_umask_and_whatever_was_there(tmp_path, open_mask):
    (tmp_path / "report.json").write_text("old")
    os.chmod(tmp_path / "report.json", 0o666)
    written(tmp_path)
    assert stat.S_IMODE((tmp_path / "report.json").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "out.csv").stat().st_mode) == 0o666


def test_report_appears_with_the_release_or_not_at_all(tmp_path):
    release = shoal.anonymize(Baskets.from_rows(ROWS), KmAnonymity(4, 2), **SETS)
    (tmp_path / "report.json").write_text("mine")
    with pytest.raises(InputError, match="there already"):
        release.write(tmp_path / "out.csv", report=tmp_path / "report.json")
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]
    with pytest.raises(InputError, match="a file of its own"):
        release.write(tmp_path / "out.csv", report="-")
    with pytest.raises(InputError, match="two outputs"):
        release.write(tmp_path / "out.csv", report=tmp_path / "out.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]


def test_plan_names_the_report(tmp_path):
    (tmp_path / "raw.csv").write_text("items\n" + "".join("|".join(row) + "\n" for row in ROWS))
    (tmp_path / "plan.yaml").write_text(
        "version: 1\ninput: {path: raw.csv}\ncolumns: {items: items}\nguarantee: {model: km, k: 4, m: 2}\n"
        "outputs: {data: out.csv, report: report.json}\n"
    )
    release = run(read_plan(tmp_path / "plan.yaml"))
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["loss"] == dict(release.loss)
    assert stat.S_IMODE((tmp_path / "report.json").stat().st_mode) == 0o600
    (tmp_path / "plan.yaml").write_text(
        (tmp_path / "plan.yaml").read_text().replace("report: report.json", "report: '-'")
    )
    with pytest.raises(InputError, match=r"outputs\.report"):
        read_plan(tmp_path / "plan.yaml")


def test_json_says_whom_it_is_for(tmp_path):
    release, _ = written(tmp_path)
    assert release.to_dict()["for"] == OWNER
    assert release.to_dict()["report"] == str(tmp_path / "report.json")


def test_spark_refuses_a_report_with_the_reason():
    from shoal.plan import plan_from
    from shoal.spark import run

    plan = plan_from("raw", KmAnonymity(2, 1), engine="spark", output="out", report="report.json")
    with pytest.raises(InputError, match="cannot be kept to its owner"):
        run(plan)
