"""Publication in a store: the data never without their certificate, at whatever request everything ends."""

import hashlib
import json
import os
import signal
import subprocess
import sys

import pytest

import shoal
from object_server import HungUp, Refused
from shoal.errors import InputError
from shoal.records.stores.upload import Upload

TARGET, PROOF = "out/r.csv", "out/r.csv.certificate.json"
ADDRESS = f"s3://lake/{TARGET}"


def release_of(n):
    return shoal.anonymize([["milk", "bread"], ["milk"], ["bread", "milk"]] * n, shoal.KmAnonymity(k=2, m=2))


@pytest.fixture(scope="module")
def releases():
    return release_of(3), release_of(5)


def objects(store):
    return {name: store.buckets["lake"][name] for name in store.names()}


def is_a_pair(found):
    """Whether the data are those of the certificate."""
    return json.loads(found[PROOF])["output"]["sha256"] == hashlib.sha256(found[TARGET]).hexdigest()


def test_a_release_and_its_certificate_appear_and_leave_nothing_else(store, releases):
    written = releases[0].write(ADDRESS)
    assert store.names() == [TARGET, PROOF]
    assert is_a_pair(objects(store))
    assert written.sha256 == hashlib.sha256(store.buckets["lake"][TARGET]).hexdigest()
    named = [key for method, _, key in store.asked if method == "PUT" and key in (TARGET, PROOF)]
    assert named == [PROOF, TARGET]


def test_rules_and_report_stay_on_this_machine(store, releases, tmp_path):
    releases[0].write(ADDRESS, rules="rules.csv", report="report.json", certificate="c.json")
    assert store.names() == [TARGET]
    assert {"rules.csv", "report.json", "c.json"} <= set(os.listdir(tmp_path))
    for name in ("rules", "report"):
        with pytest.raises(InputError, match="owner alone"):
            releases[0].write("s3://lake/x.csv", **{name: "s3://lake/x.json"})


def test_what_is_there_is_replaced_by_force_alone(store, releases):
    releases[0].write(ADDRESS)
    before = objects(store)
    with pytest.raises(InputError, match="it is there already; pass force=True"):
        releases[1].write(ADDRESS)
    assert objects(store) == before
    releases[1].write(ADDRESS, force=True)
    after = objects(store)
    assert sorted(after) == sorted(before)
    assert is_a_pair(after)
    assert after[TARGET] != before[TARGET]


@pytest.mark.parametrize(
    ("targets", "word"),
    [
        ({"path": "https://host/r.csv"}, "for reading"),
        ({"path": "r.csv", "certificate": "s3://lake/c.json"}, "together with its data"),
        ({"path": "s3://lake/r.csv.certificate.json", "certificate": None}, "format"),
        ({"path": "s3://nix/r.csv"}, "no bucket"),
        ({"path": "s3://lake/r.json", "certificate": "s3://lake/r.json"}, "format|two outputs"),
    ],
)
def test_what_cannot_be_published_is_said_before(store, releases, targets, word):
    with pytest.raises(InputError, match=word):
        releases[0].write(**targets)
    assert store.names() == []


def test_an_input_is_never_written_over(store):
    store.buckets["lake"]["b.csv"] = b"items\nmilk\nmilk\n"
    release = shoal.anonymize("s3://lake/b.csv", shoal.KmAnonymity(k=2, m=1))
    with pytest.raises(InputError, match="input of this release"):
        release.write("s3://lake/b.csv", force=True)


def publish(letter):
    """Data of one letter, with what stands for their certificate: no more than the test needs, because it does so often."""
    data = letter * 3000
    facts = json.dumps({"output": {"sha256": hashlib.sha256(data).hexdigest()}}).encode()
    with Upload((f"{ADDRESS}.certificate.json", ADDRESS), force=True) as upload:
        for target, content in ((f"{ADDRESS}.certificate.json", facts), (ADDRESS, data)):
            with upload.file(target) as file:
                file.write(content)
        upload.send()
        upload.place()


@pytest.mark.parametrize("is_cut", [False, True], ids=["a request fails", "everything fails from a request on"])
@pytest.mark.parametrize("replaces", [False, True])
def test_whatever_request_fails_nobody_finds_data_without_their_certificate(store, replaces, is_cut):
    if replaces:
        publish(b"a")
    before = objects(store)
    n = done = 0
    while not done:
        seen = 0

        def fail(*_, n=n):
            nonlocal seen
            seen += 1
            if seen == n + 1 or (is_cut and seen > n):
                raise HungUp if is_cut else Refused(403, "AccessDenied")

            now = {name: data for name, data in store.buckets["lake"].items() if not name.startswith("out/.shoal-")}
            assert TARGET not in now or is_a_pair(now)

        store.before = fail
        try:
            publish(b"b")
            done = seen <= n
            refusal = ""
        except InputError as error:
            refusal = str(error)
        store.before = lambda *_: None
        now = objects(store)
        assert TARGET not in now or is_a_pair(now)
        hidden = [name for name in now if name.startswith("out/.shoal-")]
        if refusal and not hidden:
            assert now == before
        elif refusal and not is_cut:
            assert all(f"s3://lake/{name}" in refusal for name in hidden)
        if refusal and replaces and TARGET not in now:  # what was there is not lost
            assert before[TARGET] in (now[name] for name in hidden)
        store.buckets["lake"] = dict(before)
        n += 1
    assert n > 20


def test_a_store_that_gives_back_other_bytes_is_not_believed(store, releases):
    def spoil(method, bucket, key):
        if method == "HEAD" and key.endswith("r.csv.part"):
            store.buckets["lake"][key] = store.buckets["lake"][key][::-1]

    store.before = spoil
    with pytest.raises(InputError, match="other bytes"):
        releases[0].write(ADDRESS)
    assert store.names() == []


def test_what_appears_or_changes_meanwhile_is_not_replaced(store, releases):
    def appear(method, bucket, key):
        if method == "POST" and key.endswith("r.csv.part"):
            store.buckets["lake"][TARGET] = b"of somebody else"

    store.before = appear
    for force in (False, True):
        with pytest.raises(InputError, match="appeared while the release was made"):
            releases[0].write(ADDRESS, force=force)
        assert objects(store) == {TARGET: b"of somebody else"}
        del store.buckets["lake"][TARGET]


def test_local_files_lose_their_names_again_when_the_store_fails(store, releases, tmp_path):
    def refuse(method, bucket, key):
        if method == "PUT" and key == TARGET:
            raise Refused(403, "AccessDenied")

    store.before = refuse
    with pytest.raises(InputError, match="nothing was published"):
        releases[0].write(ADDRESS, rules="rules.csv")
    assert os.listdir(tmp_path) == []
    assert store.names() == []


_WRITER = f"""
import shoal
rows = [["milk", "bread"], ["milk"], ["bread", "milk"]] * 7
shoal.anonymize(rows, shoal.KmAnonymity(k=2, m=2)).write({ADDRESS!r}, force=True)
"""


def test_a_killed_publication_leaves_the_old_release_and_is_named_by_the_next(store, releases):
    releases[0].write(ADDRESS)
    before = objects(store)
    process = None

    def kill(method, bucket, key):
        if method == "PUT" and key.endswith("r.csv.before"):
            process.send_signal(signal.SIGKILL)
            raise HungUp

    store.before = kill
    process = subprocess.Popen([sys.executable, "-c", _WRITER])
    assert process.wait(timeout=120) == -signal.SIGKILL
    store.before = lambda *_: None
    now = objects(store)
    left = [name for name in now if name.startswith("out/.shoal-")]
    assert {name: now[name] for name in now if name not in left} == before
    assert sorted(name.rpartition(".r.csv")[2] for name in left) == [".certificate.json.part", ".part"]
    written = releases[1].write(ADDRESS, force=True)
    assert any(f"s3://lake/{left[0]}" in note for note in written.notes)
    assert is_a_pair(objects(store))


_SERIES = f"""
import shoal
rows = [["milk", "bread"], ["milk"], ["bread", "milk"]] * 7
shoal.anonymize(rows, shoal.KmAnonymity(k=2, m=2), series="ledger.json").write({ADDRESS!r})
"""


@pytest.mark.parametrize("after", [False, True])
def test_a_ledger_asks_the_store_what_became_of_a_run_that_was_killed(store, after, tmp_path, monkeypatch):
    """Whether it ended before its data had their name, or after it: no batch is out that the ledger does not know."""
    monkeypatch.setenv("SHOAL_KEY", str(tmp_path / "owner.key"))
    process = None

    def kill(method, bucket, key):
        if (TARGET in store.names()) if after else (method == "PUT" and key == TARGET):
            process.send_signal(signal.SIGKILL)
            raise HungUp

    store.before = kill
    process = subprocess.Popen([sys.executable, "-c", _SERIES])
    assert process.wait(timeout=120) == -signal.SIGKILL
    assert (TARGET in store.names()) == after

    def refuse(*_):
        raise HungUp

    rows, promise = [["milk", "bread"], ["milk"], ["bread", "milk"]] * 7, shoal.KmAnonymity(k=2, m=2)
    store.before = refuse
    with pytest.raises(InputError, match="whether these got their name cannot be found out"):
        shoal.anonymize(rows, promise, series="ledger.json")
    store.before = lambda *_: None
    again = shoal.anonymize(rows, promise, series="ledger.json")
    assert (again.series["repeated"], again.series["batch"]) == (after, 1)
    if after:
        assert is_a_pair(objects(store))


def test_a_store_that_goes_away_while_the_data_get_their_name_leaves_the_files_in_doubt(store, releases, tmp_path):
    def hang_up(method, bucket, key):
        if TARGET in store.names():
            raise HungUp

    store.before = hang_up
    with pytest.raises(InputError, match=r"rules\.csv: writing this with data in a store was interrupted"):
        releases[0].write(ADDRESS, rules="rules.csv")
    store.before = lambda *_: None
    with pytest.raises(InputError, match="it is there already"):
        releases[1].write(ADDRESS, rules="rules.csv")
    assert is_a_pair(objects(store))
    assert os.listdir(tmp_path) == ["rules.csv"]
