"""`shoal verify` on the command line: what it prints, its exit codes, its JSON, and keys."""

from __future__ import annotations

import json
import stat

import pytest

import shoal
from shoal import KmAnonymity

ROWS = [["milk", "nappies"]] * 6 + [["milk", "brie"]] * 2 + [["milk"]] * 3


@pytest.fixture
def shop(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    assert run("verify", "--new-key", "board.key")[0] == 0
    release = shoal.anonymize(shoal.Baskets.from_rows(ROWS), KmAnonymity(5, 2))
    release.write("public.csv", certificate="certificate.html", sign="board.key")
    return tmp_path


def test_everything_in_order_is_exit_code_0(shop, run):
    code, out, err = run("verify", "certificate.html", "public.csv", "--key", "board.key.pub")
    assert code == 0
    assert [line.split()[:2] for line in out.splitlines() if line][1:] == [
        ["yes", "page"],
        ["yes", "signature"],
        ["yes", "file"],
        ["yes", "promise"],
        ["yes", "statements"],
        ["-", "not"],
        ["-", "not"],
    ]
    assert "verified" in out
    taken, owners = [line for line in out.splitlines() if "not checked" in line]
    assert "guarantee.k" in taken
    assert "loss" in owners
    assert "deleted_shares" not in taken + owners.replace("deleted_shares", "", 1)  # named once, and only where it is
    assert all("the holder of the key vouches for it" in line for line in (taken, owners))
    assert "compiling" in err or not err


def test_tampered_data_is_exit_code_3_with_each_verdict(shop, run):
    with open("public.csv", "a") as file:
        file.write("milk|rifle\n")
    code, out, _ = run("verify", "certificate.html", "public.csv")
    assert code == 3
    assert "not verified" in out
    assert "NO  file" in out
    assert "NO  promise" in out
    assert "yes signature" in out


def test_json_has_every_check(shop, run):
    code, out, _ = run("verify", "certificate.html", "public.csv", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["holds"] is True
    assert found["guarantee"]["name"] == "5^2-anonymity"
    assert {check["check"]: check["holds"] for check in found["checks"]} == dict.fromkeys(
        ("page", "signature", "file", "promise", "statements"), True
    )
    assert found["audit"]["violations"] == 0
    assert (found["verdict"], found["vouched"]) == ("verified", False)
    assert any("loss" in part["places"] and "owner" in part["why"] for part in found["not_checked"])
    assert (found["certificate"], found["data"]) == ("certificate.html", "public.csv")
    assert len(found["signed_by"]) == 64


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "give a certificate and the data"),
        (["certificate.html"], "give a certificate and the data"),
        (["nowhere.json", "public.csv"], "no such file"),
        (["certificate.html", "nowhere.csv"], "no such file"),
        (["public.csv", "public.csv"], "not a certificate"),
        (["certificate.html", "public.csv", "--key", "board.key"], "private key"),
        (["certificate.html", "public.csv", "--sensitive", "milk"], "leave it out"),
        (["certificate.html", "public.csv", "--hierarchy", "a=b"], "--knowledge"),
        (["certificate.html", "public.csv", "--new-key", "x"], "only makes a key"),
        (["--new-key", "board.key"], "never replaced"),
    ],
)
def test_unusable_input_is_exit_code_2(shop, run, arguments, reason):
    code, out, err = run("verify", *arguments)
    assert code == 2
    assert reason in err
    assert not out


def test_new_key_is_made_for_its_owner(shop, run):
    code, out, _ = run("verify", "--new-key", "my.key", "--json")
    assert code == 0
    assert json.loads(out) == {"private": "my.key", "public": "my.key.pub"}
    assert stat.S_IMODE((shop / "my.key").stat().st_mode) == 0o600
