"""The ledger under attack, restored from a backup, lost, under another key, and read by two at once."""

from __future__ import annotations

import json
import os
import shutil
import stat

import pytest

import shoal
from shoal.errors import InputError
from shoal.series import ledger as ledgers
from shoal.series.ledger import Entry, Ledger, read_ledger, turn_at

PROMISE = {"model": "km", "k": 2, "m": 2}
SECRET = "a secret diagnosis"
ROWS = [["milk", "bread"]] * 3 + [["milk", "gin"]] * 3


@pytest.fixture(autouse=True)
def _own_place(tmp_path, monkeypatch):
    monkeypatch.setenv("SHOAL_KEY", str(tmp_path / "owner.key"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def ledger():
    made = Ledger.first("ledger.json", "batches", PROMISE, 4)
    made = made.with_entry(Entry(made.keyed_hash("ab" * 32), 5), {"waiting": [SECRET]})
    with open("ledger.json", "wb") as file:
        file.write(made.to_bytes())
    return made


def publish(name, rows=ROWS, **keywords):
    release = shoal.anonymize(rows, shoal.KmAnonymity(2, 2), series="ledger.json", hierarchy="balanced:2", **keywords)
    release.write(f"{name}.csv")
    return release


def test_what_is_written_is_read_and_says_nothing_in_clear(ledger):
    read = read_ledger("ledger.json")
    assert (read.entries, read.state, read.id, read.wait) == (ledger.entries, ledger.state, ledger.id, 4)
    assert read.find("ab" * 32) == ledger.entries[0]
    assert read.find("cd" * 32) is None
    with open("ledger.json", "rb") as file:
        content = file.read()
    assert SECRET.encode() not in content
    assert b"ab" * 32 not in content


def test_every_flipped_byte_is_noticed(ledger):
    with open("ledger.json", "rb") as file:
        content = file.read()
    key_id = content.index(b'"key_id"')
    for place in [*range(0, len(content), 7), key_id + 12]:
        damaged = bytearray(content)
        damaged[place] ^= 0x15
        with open("ledger.json", "wb") as file:
            file.write(damaged)
        if damaged.startswith(b'{"ledger": "shoal ledger 1", "for": ') and place < key_id - 3:
            continue  # whom it is for is said to people
        with pytest.raises(InputError) as refused:
            read_ledger("ledger.json")
        assert SECRET not in str(refused.value)


@pytest.mark.parametrize("content", [b"", b"{}", b"[" * 2000, b'{"ledger": 1}\n{}', b"\xff" * 50, b"a,b\n1,2\n"])
def test_other_files_are_no_ledgers(content):
    with open("ledger.json", "wb") as file:
        file.write(content)
    with pytest.raises(InputError, match="it is not the ledger of a series"):
        read_ledger("ledger.json")


def test_a_truncated_ledger_is_noticed(ledger):
    with open("ledger.json", "rb+") as file:
        file.truncate(os.path.getsize("ledger.json") - 3)
    with pytest.raises(InputError, match="changed or damaged"):
        read_ledger("ledger.json")


def test_sealed_parts_cannot_be_swapped(ledger):
    """Nobody without the key can make a ledger of two."""
    with open("ledger.json", "rb") as file:
        head, _, body = file.read().partition(b"\n")
    facts = json.loads(body)
    facts["entries"] = []
    with open("ledger.json", "wb") as file:
        file.write(head + b"\n" + json.dumps(facts, indent=1).encode())
    with pytest.raises(InputError, match="changed or damaged"):
        read_ledger("ledger.json")


def test_another_owners_key_and_another_version_are_named(ledger, tmp_path, monkeypatch):
    with open("ledger.json", "rb") as file:
        content = file.read()
    monkeypatch.setenv("SHOAL_KEY", str(tmp_path / "other.key"))
    with pytest.raises(InputError, match=r"another owner's key .* SHOAL_KEY"):
        read_ledger("ledger.json")
    with open("ledger.json", "wb") as file:
        file.write(content.replace(b"ledger 1", b"ledger 9", 1))
    with pytest.raises(InputError, match="another version"):
        read_ledger("ledger.json")


def test_a_key_that_cannot_be_made_is_asked_for(monkeypatch, tmp_path):
    monkeypatch.setenv("SHOAL_KEY", str(tmp_path))
    with pytest.raises(InputError, match="needs your key"):
        publish("monday")


def test_a_ledger_that_is_larger_than_any_is_not_read(ledger, monkeypatch):
    monkeypatch.setattr(ledgers, "_LARGEST", 100)
    with pytest.raises(InputError, match="too much for a ledger"):
        read_ledger("ledger.json")


def test_two_runs_take_turns():
    told = "another run goes on with this series"
    with turn_at("ledger.json"), pytest.raises(InputError, match=told), turn_at("ledger.json"):
        pass
    with turn_at("ledger.json"):
        pass
    assert not os.listdir(".")


def test_the_turn_of_a_killed_run_is_nobodys():
    child = os.fork()
    if not child:
        turn_at("ledger.json").__enter__()
        os._exit(9)
    os.waitpid(child, 0)
    with turn_at("ledger.json"):
        pass


def test_a_release_that_another_overtook_is_made_again():
    late = shoal.anonymize(ROWS, shoal.KmAnonymity(2, 2), series="ledger.json", hierarchy="balanced:2")
    publish("monday", ROWS[:4])
    with pytest.raises(InputError, match="the series went on"):
        late.write("late.csv")
    assert not os.path.exists("late.csv")


def test_an_old_ledger_is_told_by_what_it_published():
    publish("monday")
    assert stat.S_IMODE(os.stat("ledger.json").st_mode) == 0o600
    shutil.copy("ledger.json", "backup.json")
    publish("tuesday", ROWS[:5])
    shutil.copy("backup.json", "ledger.json")
    plan = shoal.Plan(
        version=1,
        input={"path": "rows.dat"},
        guarantee={"model": "km", "k": 2, "m": 2},
        hierarchies="balanced:2",
        series={"ledger": "ledger.json"},
        outputs={"data": "wednesday.csv"},
    )
    with open("rows.dat", "w") as file:
        file.writelines(f"{' '.join(row)}\n" for row in ROWS)
    with pytest.raises(InputError, match=r"tuesday.csv.certificate.json is the certificate of release 2 .* knows of 1"):
        shoal.run(plan)
    os.unlink("ledger.json")
    with pytest.raises(InputError, match="this ledger is lost"):
        shoal.run(plan)
    shutil.copy("backup.json", "ledger.json")
    os.unlink("tuesday.csv.certificate.json")
    with open("monday.csv", "a") as file:
        file.write("gin\n")
    with pytest.raises(InputError, match=r"monday.csv is not the release that it speaks of last"):
        shoal.run(plan)


def test_a_series_goes_on_as_it_began():
    publish("monday")
    with pytest.raises(InputError, match=r"the series promises 2\^2-anonymity"):
        shoal.anonymize(ROWS[1:], shoal.KmAnonymity(3, 2), series="ledger.json", hierarchy="balanced:2")
    with pytest.raises(InputError, match="a ledger is for its owner alone"):
        shoal.anonymize(ROWS, shoal.KmAnonymity(2, 2), series="s3://bucket/ledger.json")
    with pytest.raises(InputError, match="a series is for"):
        shoal.anonymize(ROWS, shoal.KAnonymity(2), series="ledger.json")
    with pytest.raises(InputError, match="a series has one cut"):
        shoal.anonymize(ROWS, shoal.KmAnonymity(2, 2), algorithm="lra", series="ledger.json")
    with pytest.raises(InputError, match="name its ledger with series"):
        shoal.anonymize(ROWS, shoal.KmAnonymity(2, 2), wait=3)
    release = shoal.anonymize(ROWS[1:], shoal.KmAnonymity(2, 2), series="ledger.json")
    with pytest.raises(InputError, match="an input of this release"):
        release.write("p.csv", rules="ledger.json", force=True)
