"""Files appear whole and together or not at all, even when the writer is killed."""

import hashlib
import io
import os
import signal
import stat
import subprocess
import sys

import numpy as np
import pytest

from shoal.errors import InputError
from shoal.records.baskets import Baskets
from shoal.records.storage.publication import Publication, check_targets
from shoal.records.writing import write

OLD = b"the old release\n"


def content(folder):
    """What stands in a folder, by name."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def publish(targets, *, force=False, before_the_end=lambda: None):
    with Publication(targets, force=force) as publication:
        for target in targets:
            publication.file(target).write(b"new " + target.name.encode())
        before_the_end()


# The way it should go


def test_files_appear_when_the_block_ends_and_nothing_else_is_left(tmp_path):
    targets = [tmp_path / "data.dat", tmp_path / "certificate.json"]
    with Publication(targets) as publication:
        with publication.file(targets[0]) as file:
            file.write(b"1 2\n")
        assert not targets[0].exists()
        assert all(name.startswith(".") and name.endswith((".tmp", ".shoal")) for name in content(tmp_path))
        with io.TextIOWrapper(publication.file(targets[1]), "utf-8") as text:
            text.write("{}")
    assert content(tmp_path) == {"data.dat": b"1 2\n", "certificate.json": b"{}"}


def test_a_staged_file_knows_the_hash_of_its_bytes(tmp_path):
    with Publication([tmp_path / "x"]) as publication, publication.file(tmp_path / "x") as file:
        file.write(b"abc")
        file.write(memoryview(b"def"))
    assert file.sha256 == hashlib.sha256(b"abcdef").hexdigest()


def test_rights_follow_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        publish([tmp_path / "x"])
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o640


def test_a_replacement_keeps_the_rights_of_what_it_replaces(tmp_path):
    (tmp_path / "x").write_bytes(OLD)
    (tmp_path / "x").chmod(0o600)
    publish([tmp_path / "x"], force=True)
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o600


def test_a_private_file_is_for_its_owner_alone_whatever_it_replaces(tmp_path):
    (tmp_path / "old").write_bytes(OLD)
    (tmp_path / "old").chmod(0o644)
    before = os.umask(0)
    try:
        with Publication([tmp_path / "new", tmp_path / "old"], force=True) as publication:
            for name in ("new", "old"):
                publication.file(tmp_path / name, private=True).write(b"secret")
                assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob(".*")} == {0o600}
    finally:
        os.umask(before)
    assert {stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("new", "old")} == {0o600}


def test_a_file_on_its_way_is_never_open_to_more_people_than_what_it_replaces(tmp_path):
    (tmp_path / "x").write_bytes(OLD)
    (tmp_path / "x").chmod(0o600)
    before = os.umask(0)
    try:
        with Publication([tmp_path / "x"], force=True) as publication:
            publication.file(tmp_path / "x").write(b"new")
            assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob(".*")} == {0o600}
    finally:
        os.umask(before)


def test_force_replaces_and_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_bytes(OLD)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    publish([tmp_path / "link"], force=True)
    assert (tmp_path / "link").is_symlink()
    assert content(tmp_path) == {"real": b"new link", "link": b"new link"}


# Refused before any work


def test_existing_files_are_refused_without_force(tmp_path):
    (tmp_path / "x.dat").write_bytes(OLD)
    with pytest.raises(InputError, match=r"^x\.dat: it is there already; pass force=True"):
        Publication([tmp_path / "new", tmp_path / "x.dat"])
    check_targets([tmp_path / "x.dat"], force=True)
    assert content(tmp_path) == {"x.dat": OLD}


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("folder", r"^folder: it is a folder"),
        ("missing/x.dat", r"^x\.dat: its folder '.*missing' is not there"),
        ("pipe", r"^pipe: it is not a regular file; write to -"),
    ],
)
def test_targets_that_cannot_be_files_are_refused(target, sentence, force, tmp_path):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match=sentence):
        check_targets([tmp_path / target], force=force)


def test_a_name_that_is_too_long_is_refused_before_any_work(tmp_path):
    with pytest.raises(InputError, match=r"^x+: it cannot be written \(File name too long\); choose another name"):
        check_targets([tmp_path / ("x" * 300)])


def test_devices_are_never_replaced():
    with pytest.raises(InputError, match="not a regular file"):
        check_targets([os.devnull], force=True)


def test_two_outputs_need_two_names(tmp_path):
    with pytest.raises(InputError, match="two outputs have this name"):
        check_targets([tmp_path / "x", tmp_path / "." / "x"])


def test_a_folder_without_the_right_to_write_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(InputError, match=r"^x: it may not be written"):
        check_targets([tmp_path / "x"])


# What goes wrong on the way


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_failure_leaves_nothing_behind(failure, tmp_path):
    (tmp_path / "b").write_bytes(OLD)

    def fail():
        raise failure

    with pytest.raises(failure):
        publish([tmp_path / "a", tmp_path / "b"], force=True, before_the_end=fail)
    assert content(tmp_path) == {"b": OLD}


def test_a_full_disk_is_said_in_a_sentence_and_leaves_nothing(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"^x\.dat: it cannot be written \(No space left on device\)"):
        write(Baskets.from_rows([["a"]]), tmp_path / "x.dat")
    assert content(tmp_path) == {}


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of POSIX")
@pytest.mark.parametrize("name", ["x.dat", "x.csv.gz", "x.jsonl.zst", "x.parquet"])
def test_a_limit_that_is_hit_while_writing_is_said_in_a_sentence(name, tmp_path):
    script = """
import resource, sys, numpy as np
from shoal.errors import InputError
from shoal.records.baskets import Baskets
from shoal.records.writing import write
items = np.random.default_rng(0).permutation(300_000).astype(np.int32)
baskets = Baskets(np.arange(0, 300_001, 10), items, tuple(map(str, range(300_000))))
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    write(baskets, sys.argv[1])
except InputError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script, tmp_path / name], capture_output=True, text=True)
    assert done.stdout.startswith(f"{name}: it cannot be written (File too large)"), done.stderr
    assert content(tmp_path) == {}


@pytest.mark.parametrize("links", [True, False])
def test_a_file_that_appears_meanwhile_is_not_overwritten_and_the_others_are_taken_back(links, tmp_path, monkeypatch):
    if not links:
        monkeypatch.setattr(os, "link", no_links)
    targets = [tmp_path / "a", tmp_path / "b"]
    with pytest.raises(InputError, match=r"^b: it appeared while"):
        publish(targets, before_the_end=lambda: targets[1].write_bytes(b"someone else's"))
    assert content(tmp_path) == {"b": b"someone else's"}


def test_a_replacement_that_fails_brings_the_old_files_back(tmp_path, monkeypatch):
    targets = [tmp_path / "a", tmp_path / "b", tmp_path / "c"]
    for target in targets:
        target.write_bytes(OLD)
    replace = os.replace

    def replace_all_but_c(source, target):
        if str(source).endswith(".tmp") and target == str(targets[2]):
            raise OSError(5, "Input/output error")
        replace(source, target)

    monkeypatch.setattr(os, "replace", replace_all_but_c)
    with pytest.raises(InputError, match=r"^c: it cannot be written"):
        publish(targets, force=True)
    assert content(tmp_path) == dict.fromkeys("abc", OLD)


def test_file_systems_without_links_are_served_too(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "link", no_links)
    publish([tmp_path / "a"])
    publish([tmp_path / "a", tmp_path / "b"], force=True)
    assert content(tmp_path) == {"a": b"new a", "b": b"new b"}


def no_links(*_, **__):
    raise PermissionError(1, "Operation not permitted")


# A writer that is told to end (test_journal.py kills one at every line)

WRITER = """
import os, sys
from shoal.records.storage.publication import Publication, StagedFile

where, target = sys.argv[1:]
home = StagedFile if where == "write" else os
real = getattr(home, where)

def halting(*arguments):
    setattr(home, where, real)
    print("halted", flush=True)
    sys.stdin.read()
    os._exit(9)

with Publication([target]) as publication, publication.file(target) as file:
    setattr(home, where, halting)
    file.write(b"a b c d e f g h i j\\n" * 2000)
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGINT, -signal.SIGINT)])
@pytest.mark.parametrize("where", ["write", "fsync", "link"])
def test_a_writer_that_is_told_to_end_cleans_up(number, code, where, tmp_path):
    command = [sys.executable, "-c", WRITER, where, str(tmp_path / "x.dat")]
    writer = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert writer.stdout.readline() == b"halted\n"
    writer.send_signal(number)
    writer.communicate()
    assert writer.returncode == code
    assert content(tmp_path) == {}


def test_the_way_to_handle_signals_is_given_back(tmp_path):
    before = signal.getsignal(signal.SIGTERM)
    publish([tmp_path / "x"])
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_large_write_is_streamed_in_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("shoal.records.records._OCCURRENCES", 7)
    rng = np.random.default_rng(3)
    rows = [set(rng.integers(0, 50, rng.integers(0, 12)).tolist()) for _ in range(500)]
    baskets = Baskets.from_rows(rows)
    write(baskets, tmp_path / "x.dat")
    assert (tmp_path / "x.dat").read_text() == "".join(" ".join(row) + "\n" for row in baskets.rows())
