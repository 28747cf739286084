"""The command line through real processes: pipes, kills, pure standard output, and the tour."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import textwrap

import pytest

from shoal.cli.terminal import program

ROWS = "milk nappies\n" * 6 + "milk wipes\n" * 5 + "brie wipes\n" * 2 + "milk\n" * 3


def shoal(*arguments, folder, feed=None):
    return subprocess.run(
        [sys.executable, "-m", "shoal", *map(str, arguments)], cwd=folder, input=feed, capture_output=True, check=False
    )


@pytest.fixture(scope="module")
def tour(tmp_path_factory):
    """One run of the demo, and the folder it ran in."""
    folder = tmp_path_factory.mktemp("tour")
    os.environ["SHOAL_KEY"] = str(folder / "key")
    try:
        yield shoal("demo", folder=folder), folder
    finally:
        os.environ.pop("SHOAL_KEY", None)


def test_demo_shows_risk_release_audit_and_files(tour):
    done, folder = tour
    shown = done.stdout.decode()
    assert done.returncode == 0
    assert "is the only one with" in shown
    assert "5^2-anonymity holds" in shown
    assert "items as they are" in shown
    assert "proven" not in shown  # nothing is proven of a release row by row
    assert "before" in shown
    made = {file.name for file in (folder / "shoal-demo").iterdir()}
    assert made == {
        ".shoal-demo",
        "baskets.csv",
        "hierarchy.csv",
        "public.csv",
        "public.csv.certificate.json",
        "rules.csv",
    }


def test_commands_that_the_demo_suggests_work_as_they_stand(tour):
    done, folder = tour
    lines = [line.strip() for line in done.stdout.decode().splitlines()]
    suggested = lines[-4:]
    assert all(" -m shoal " in line for line in suggested)  # that is how the tour was started
    codes = [subprocess.run(line, shell=True, cwd=folder, capture_output=True).returncode for line in suggested]
    assert codes == [0, 3, 0, 0]


def test_the_program_is_called_as_it_can_be_found(tmp_path, monkeypatch):
    script = tmp_path / "bin" / "shoal"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "argv", [str(script)])
    assert program() == os.path.join("bin", "shoal")
    monkeypatch.chdir(script.parent)
    assert program() == os.path.join(".", "shoal")
    monkeypatch.chdir("/")
    monkeypatch.setenv("PATH", str(script.parent))
    assert program() == "shoal"


def test_demo_runs_again_in_its_own_folder_and_in_no_other(tour, tmp_path):
    _, folder = tour
    again = shoal("demo", "--json", folder=folder)
    assert again.returncode == 0
    facts = json.loads(again.stdout)
    assert facts["release"]["holds"] is True
    assert facts["aa"]["loss"]["ncp"] >= facts["release"]["loss"]["ncp"]
    (tmp_path / "thesis.txt").write_text("mine")
    refused = shoal("demo", tmp_path, folder=tmp_path)
    assert refused.returncode == 2
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.txt"]


def test_data_flows_through_a_pipe_and_nothing_else_does(tmp_path):
    done = shoal("anonymize", "-", "-o", "-", "--certificate", "c.json", folder=tmp_path, feed=ROWS.encode())
    assert done.returncode == 0
    lines = done.stdout.decode().splitlines()
    assert len(lines) == ROWS.count("\n")
    assert all(len(line.split()) <= 2 for line in lines)
    assert b"5^2-anonymity holds" in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["c.json"]
    checked = shoal("audit", "-", "--json", folder=tmp_path, feed=done.stdout)
    assert checked.returncode == 0
    assert json.loads(checked.stdout)["rows"] == len(lines)


def test_a_reader_that_leaves_early_is_no_error_of_ours(tmp_path):
    (tmp_path / "raw.dat").write_text(ROWS)
    command = [sys.executable, "-m", "shoal", "datasets", "make", "-o", "-", "--transactions", "20000"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path)
    process.stdout.read(10)
    process.stdout.close()
    complaint = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait() in (0, 141)
    assert "Traceback" not in complaint
    assert "cannot be written" not in complaint
    assert "bug in Shoal" not in complaint


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
@pytest.mark.parametrize("more", [["--json"], [], ["-o", "public.dat", "--json"]])
def test_a_full_standard_output_is_said_in_a_sentence(tmp_path, more):
    (tmp_path / "raw.dat").write_text(ROWS)
    command = [sys.executable, "-m", "shoal", "anonymize", "raw.dat", *more]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert b"standard output cannot be written (No space left on device)" in done.stderr
    assert b"Traceback" not in done.stderr
    assert (tmp_path / "public.dat").exists() == ("-o" in more)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_data_for_a_full_standard_output_leaves_no_certificate(tmp_path):
    (tmp_path / "raw.dat").write_text(ROWS)
    command = [sys.executable, "-m", "shoal", "anonymize", "raw.dat", "-o", "-", "--certificate", "c.json"]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert b"standard output: it cannot be written" in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["raw.dat"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs limits on address space")
@pytest.mark.parametrize("limit", [300_000, 500_000, 900_000, 1_600_000, 2_000_000])
def test_a_limit_on_address_space_is_said_in_a_sentence_or_is_wide_enough(tmp_path, limit):
    if limit == 2_000_000 and os.cpu_count() > 2:
        limit = 8_000_000
    (tmp_path / "raw.dat").write_text(ROWS)
    line = f"ulimit -v {limit}; exec {shlex.quote(sys.executable)} -m shoal anonymize raw.dat"
    done = subprocess.run(line, shell=True, capture_output=True, cwd=tmp_path, check=False, timeout=60)
    if limit < 1_900_000:
        assert done.returncode == 2
        assert f"(ulimit -v {limit}) leaves no room".encode() in done.stderr
        assert len(done.stderr.splitlines()) == 1
    else:
        assert done.returncode == 0


def test_what_the_machine_has_no_room_for_is_said_in_a_sentence(run, monkeypatch):
    errors = {
        OSError(28, "No space left on device", "/tmp/some/file"): "file: it cannot be read or written",
        OSError(122, "Disk quota exceeded", "x"): "x: it cannot be read or written (Disk quota exceeded)",
        OSError(30, "Read-only file system", "x"): "x: it cannot be read or written",
        OSError(12, "Cannot allocate memory"): "there is not enough memory",
        ImportError("core.so: failed to map segment from shared object"): "there is not enough memory",
        RuntimeError("can't start new thread"): "there is not enough memory",
        MemoryError(): "there is not enough memory (it ran out)",
    }
    for error, sentence in errors.items():

        def failing(*_, error=error):
            raise error

        monkeypatch.setattr("shoal.records.samples.datasets.listing", failing)
        code, out, err = run("datasets", "list")
        assert (code, out) == (2, "")
        assert sentence in err


@pytest.mark.skipif(os.name == "nt", reason="needs a shell that closes streams")
@pytest.mark.parametrize(
    ("closed", "code", "complaint"),
    [
        (">&-", 2, "shoal: standard output is closed; point it to a file or a terminal\n"),
        ("2>&-", 0, ""),
        ("<&-", 0, "shoal: nothing was written; name a file with -o to publish\n"),
        ("<&- >&- 2>&-", 2, ""),
    ],
)
def test_closed_streams_cost_no_traceback(tmp_path, closed, code, complaint):
    (tmp_path / "raw.dat").write_text(ROWS)
    command = f"{shlex.quote(sys.executable)} -m shoal anonymize raw.dat --json {closed}"
    done = subprocess.run(command, shell=True, capture_output=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stderr.decode()) == (code, complaint)


KILLED = """
    import os, signal, sys
    from shoal import publish
    from shoal.cli import main
    from shoal.records.storage import publication

    calls = 0

    def now(*given, **more):
        global calls
        calls += 1
        if calls < {calls}:
            return once(*given, **more)
        os.kill(os.getpid(), signal.{signal})

    once, {where} = {where}, now
    sys.exit(main(["anonymize", "raw.dat", "-o", "public.dat", "--rules", "rules.csv", "--force", "--k", "2"]))
"""
MOMENTS = {
    "before the check": ("publish.flags_to_read", 1),
    "before the first file is in place": ("publication._place", 1),
    "before the second file is in place": ("publication._place", 2),
    "before the third file is in place": ("publication._place", 3),
    "before all of it is final": ("publication.Journal.commit", 1),
    "after that": ("publication.Journal.settle", 1),
}
NEXT = {
    "verify": ["verify", "public.dat.certificate.json", "public.dat"],
    "audit": ["audit", "public.dat"],
    "evaluate": ["evaluate", "raw.dat", "public.dat"],
    "attack": ["attack", "public.dat"],
    "profile": ["profile", "raw.dat"],
    "init": ["init", "public.dat"],
    "anonymize": ["anonymize", "raw.dat", "-o", "other.csv", "--certificate", "public.dat"],
}


@pytest.mark.parametrize(("moment", "following"), list(zip(MOMENTS, NEXT, strict=False)))
def test_a_killed_process_leaves_all_old_files_or_all_new_ones_to_the_next(
    tmp_path, run, monkeypatch, moment, following
):
    (tmp_path / "raw.dat").write_text(ROWS)
    names = ("public.dat", "public.dat.certificate.json", "rules.csv")
    for name in names:
        (tmp_path / name).write_text("an older one")
    where, calls = MOMENTS[moment]
    script = textwrap.dedent(KILLED).format(signal="SIGKILL", where=where, calls=calls)
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL
    assert any(name.startswith(".") for name in os.listdir(tmp_path))
    monkeypatch.chdir(tmp_path)
    run(*NEXT[following])
    assert sorted(os.listdir(tmp_path)) == sorted((*names, "raw.dat"))
    old = {(tmp_path / name).read_text() == "an older one" for name in names}
    assert old == {moment != "after that"}


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="needs files that can be read without a name")
def test_a_killed_process_leaves_nothing_of_what_was_for_standard_output(tmp_path):
    (tmp_path / "raw.dat").write_text(ROWS)
    (tmp_path / "temporary").mkdir()
    script = textwrap.dedent(KILLED).format(signal="SIGKILL", where="publish.flags_to_read", calls=1)
    script = script.replace('"public.dat", "--rules", "rules.csv", "--force"', '"-"')
    environment = os.environ | {"TMPDIR": str(tmp_path / "temporary")}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, b"")
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_terminated_process_cleans_up(tmp_path):
    (tmp_path / "raw.dat").write_text(ROWS)
    where, calls = MOMENTS["before the check"]
    script = textwrap.dedent(KILLED).format(signal="SIGTERM", where=where, calls=calls)
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 143
    assert [file.name for file in tmp_path.iterdir()] == ["raw.dat"]
