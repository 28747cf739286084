"""shoal sign and shoal bundle, and what a certificate says that its owner acknowledges."""

from __future__ import annotations

import json

import pytest

import shoal
from shoal import InputError, verify
from shoal.certificate.document import acknowledge, certificate_file, without_signature
from shoal.certificate.facts import limits_of
from shoal.certificate.sign import LockedKey, new_key, signer
from shoal.cli import main

ROWS = [["milk", "nappies"]] * 6 + [["milk", "wipes"]] * 5 + [["brie", "wipes"]] * 2 + [["milk"]] * 3


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    new_key("board.key")
    shoal.anonymize(ROWS, shoal.KmAnonymity(5, 2)).write("public.csv", "certificate.json")
    return tmp_path


def facts_of(path):
    return json.loads(path.read_text())


def checks(found):
    return {check.name: check.holds for check in found.checks}


@pytest.mark.parametrize("form", ["json", "html", "pdf"])
def test_a_certificate_is_signed_afterwards_with_its_limits(shop, form, capsys):
    command = ["sign", "certificate.json", "public.csv", "--key", "board.key", "--acknowledge", "-o", f"signed.{form}"]
    assert main(command) == 0
    found = verify(f"signed.{form}", "public.csv", key="board.key.pub")
    assert found.holds
    assert found.vouched
    assert checks(found)["limits"] is True
    assert list(found.certificate["acknowledged"]) == limits_of(found.certificate)
    assert main(["sign", f"signed.{form}", "public.csv", "--key", "board.key", "-o", "again.json", "--json"]) == 0
    assert "acknowledged" not in facts_of(shop / "again.json")  # nobody said so this time
    assert without_signature(facts_of(shop / "again.json")) == without_signature(facts_of(shop / "certificate.json"))


def test_only_what_verifies_is_signed(shop, capsys):
    before = (shop / "certificate.json").read_bytes()
    (shop / "public.csv").write_text((shop / "public.csv").read_text() + "milk\n")
    assert main(["sign", "certificate.json", "public.csv", "--key", "board.key"]) == 3
    assert (shop / "certificate.json").read_bytes() == before
    assert main(["sign", "certificate.json", "public.csv", "--key", "board.key", "-o", "board.key"]) == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda given: [*given, "All is well."],
        lambda given: [given[0], given[0]],
        lambda given: [given[0].replace("a", "\u0430")],
        lambda given: [],
        lambda given: "all",
        lambda given: {"all": True},
    ],
)
def test_what_was_acknowledged_is_what_is_stated(shop, change):
    content = acknowledge(facts_of(shop / "certificate.json"))
    good = verify(content, "public.csv")
    assert good.holds
    assert "acknowledged" in {place for part in good.not_checked for place in part.places}  # it is the owner's word
    content["acknowledged"] = change(content["acknowledged"])
    assert checks(verify(content, "public.csv"))["limits"] is False


def test_a_part_of_the_limits_is_named_on_the_page(shop):
    content = facts_of(shop / "certificate.json")
    some = acknowledge(content, limits_of(content)[:1])
    pages = [certificate_file(facts, "x.html").decode() for facts in (content, some, acknowledge(content))]
    assert ["What the owner acknowledges" in page for page in pages] == [False, True, True]
    assert "has read these of the limits" in pages[1]
    assert "has read all of these limits" in pages[2]
    with pytest.raises(InputError, match="not a limit of this certificate"):
        acknowledge(content, ["All is well."])


def test_locked_keys_open_with_their_passphrase_alone(tmp_path):
    private, _ = new_key(tmp_path / "locked.key", "open sesame")
    assert b"ENCRYPTED" in (tmp_path / "locked.key").read_bytes()
    for passphrase in (None, "", "open"):
        with pytest.raises(LockedKey) as refused:
            signer(private, passphrase)
        assert "sesame" not in str(refused.value)
    assert signer(private, "open sesame").sign(b"x") == signer(private, "open sesame").sign(b"x")


def test_a_passphrase_is_asked_for_at_a_terminal(shop, monkeypatch, capsys):
    new_key("locked.key", "open sesame")
    command = ["sign", "certificate.json", "public.csv", "--key", "locked.key"]
    assert main(command) == 2
    assert "terminal" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", type("Terminal", (), {"isatty": lambda self: True})())
    monkeypatch.setattr("typer.prompt", lambda *words, **how: "open sesame")
    assert main(command) == 0
    assert verify("certificate.json", "public.csv", key="locked.key.pub").vouched
    assert main(["verify", "--new-key", "other.key", "--lock"]) == 0
    assert b"ENCRYPTED" in (shop / "other.key").read_bytes()
    assert not any(b"open sesame" in path.read_bytes() for path in shop.iterdir())
