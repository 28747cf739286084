"""Whatever goes wrong: one sentence, no password in it, and nothing left behind."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
from types import SimpleNamespace

import pytest

import shoal
from database_server import PASSWORD
from shoal import publish
from shoal.cli import main
from shoal.errors import InputError
from shoal.records.database import session as database_sessions
from shoal.records.database import write as databases
from shoal.records.database.read import DatabaseInput
from shoal.records.database.write import TableTarget
from shoal.records.storage.journal import settle
from shoal.release import anonymize

ROLES = {"quasi": "age,sex", "items": "codes", "drop": "id,paid,share,insured,seen,at"}
CLINIC = "id,age,sex,share,seen"
OTHERS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'shoal' AND pid <> pg_backend_pid()"


@pytest.fixture
def release(server, visits):
    return anonymize(server.address(visits), shoal.RTAnonymity(5, 2), **ROLES)


def left_behind(folder):
    return sorted(name for name in os.listdir(folder) if name != "key")


def cut(ask, how):
    """Ends the connection of the release: by the server, or by killing its process."""
    if how == "terminated":
        assert ask(OTHERS)
        return
    ((process,),) = ask("SELECT pid FROM pg_stat_activity WHERE application_name = 'shoal' AND pid <> pg_backend_pid()")
    os.kill(process, signal.SIGKILL)


def answered(ask, statement):
    """The answer of a server that may still be on its feet again."""
    for _ in range(200):
        try:
            return ask(statement)
        except Exception:
            threading.Event().wait(0.05)
    return ask(statement)


@pytest.mark.parametrize("how", ["terminated", "killed"])
@pytest.mark.parametrize(
    "when", ["while rows are sent", "before the table is read again", "while it is read again", "before the commit"]
)
def test_a_lost_connection_leaves_nothing(server, visits, ask, release, tmp_path, monkeypatch, how, when):
    if when == "while rows are sent":
        honest = publish.table_rows

        def cut_rows(*given):
            rows, layout = honest(*given)

            def batches():
                for batch in rows.batches:
                    yield batch.slice(0, 50)
                    cut(ask, how)
                    yield batch.slice(50)

            return databases.Rows(rows.schema, batches(), rows.types), layout

        monkeypatch.setattr(publish, "table_rows", cut_rows)
    elif when == "while it is read again":
        batches = DatabaseInput._batches
        monkeypatch.setattr(DatabaseInput, "_batches", lambda self, wanted: (cut(ask, how), batches(self, wanted))[1])
    else:
        name = "read_again" if when.startswith("before the table") else "commit"
        once = getattr(TableTarget, name)
        monkeypatch.setattr(TableTarget, name, lambda self: (cut(ask, how), once(self))[1])
    with pytest.raises(InputError, match="the connection was lost; nothing was written") as raised:
        release.write(server.address(f"{visits}_public"), "public.json", "rules.csv")
    assert PASSWORD not in str(raised.value)
    assert answered(ask, f"SELECT to_regclass('{visits}_public')") == [(None,)]
    assert left_behind(tmp_path) == []


def test_sets_that_cannot_be_read_again_are_no_fault_of_ours(server, visits, ask, tmp_path, monkeypatch):
    sets = anonymize(server.address(visits), shoal.KmAnonymity(2, 1), items="codes", drop="age,sex," + ROLES["drop"])
    batches = DatabaseInput._batches
    monkeypatch.setattr(DatabaseInput, "_batches", lambda self, want: (cut(ask, "terminated"), batches(self, want))[1])
    with pytest.raises(InputError, match="the connection was lost; nothing was written"):
        sets.write(server.address(f"{visits}_public"), "public.json")
    assert left_behind(tmp_path) == []


def test_a_disk_that_is_full_at_the_commit_is_known_to_hold_nothing_new(clinic, tables, monkeypatch):
    release = anonymize("sqlite:clinic.db?table=visits", shoal.KmAnonymity(2, 1), items="codes", drop=CLINIC)
    once = database_sessions.Session.commit

    def full(self, is_in):
        connection = self._connection

        def commit():
            connection.rollback()
            raise OSError(28, "[SQLite] Failed to commit: database or disk is full")

        self._connection = SimpleNamespace(commit=commit, rollback=connection.rollback, close=connection.close)
        once(self, is_in)

    monkeypatch.setattr(database_sessions.Session, "commit", full)
    with pytest.raises(InputError, match=r"it cannot be written; nothing was written; make room on its disk"):
        release.write("sqlite:clinic.db?table=public", "public.json", "rules.csv")
    assert tables(clinic) == {"visits"}
    assert left_behind(clinic.parent) == ["clinic.db"]


def test_a_commit_that_arrived_is_a_release_whatever_became_of_its_answer(clinic, monkeypatch):
    release = anonymize("sqlite:clinic.db?table=visits", shoal.KmAnonymity(2, 1), items="codes", drop=CLINIC)
    once = database_sessions.Session.commit

    def unanswered(self, is_in):
        connection = self._connection

        def commit():
            connection.commit()
            raise OSError(5, "disk I/O error")

        self._connection = SimpleNamespace(commit=commit, rollback=connection.rollback, close=connection.close)
        once(self, is_in)

    monkeypatch.setattr(database_sessions.Session, "commit", unanswered)
    release.write("sqlite:clinic.db?table=public", "public.json", "rules.csv")
    monkeypatch.undo()
    assert shoal.verify(clinic.parent / "public.json", f"sqlite:{clinic}?table=public").holds
    assert left_behind(clinic.parent) == ["clinic.db", "public.json", "rules.csv"]


def test_a_lost_connection_leaves_the_old_table(server, visits, ask, release, tmp_path, monkeypatch):
    old = anonymize(server.address(visits), shoal.RTAnonymity(100, 2), **ROLES)
    old.write(server.address(f"{visits}_public"), "public.json")
    before = (tmp_path / "public.json").read_bytes()
    once = TableTarget.commit
    monkeypatch.setattr(TableTarget, "commit", lambda self: (cut(ask, "terminated"), once(self))[1])
    with pytest.raises(InputError, match="the connection was lost"):
        release.write(server.address(f"{visits}_public"), "public.json", force=True)
    assert (tmp_path / "public.json").read_bytes() == before
    assert shoal.verify("public.json", server.address(f"{visits}_public")).holds


def test_a_certificate_that_cannot_be_written_takes_the_table_with_it(
    server, visits, ask, release, tmp_path, monkeypatch
):
    folder = tmp_path / "papers"
    folder.mkdir()
    once = TableTarget.read_again

    def meanwhile(self):
        (folder / "public.json").write_text("somebody else's")
        return once(self)

    monkeypatch.setattr(TableTarget, "read_again", meanwhile)
    with pytest.raises(InputError, match="it appeared while the release was made"):
        release.write(server.address(f"{visits}_public"), "papers/public.json")
    assert ask(f"SELECT to_regclass('{visits}_public')") == [(None,)]
    assert left_behind(folder) == ["public.json"]
    assert (folder / "public.json").read_text() == "somebody else's"


def test_a_killed_process_leaves_no_table_in_sqlite(clinic, tables):
    script = """
        import os, signal, shoal
        from shoal.records.database.write import TableTarget
        from shoal.release import anonymize
        release = anonymize("sqlite:clinic.db?table=visits", shoal.RTAnonymity(5, 2), quasi="age,sex", items="codes", drop="id,share,seen")
        TableTarget.commit = lambda self: os.kill(os.getpid(), signal.SIGKILL)
        release.write("sqlite:clinic.db?table=public", "public.json")
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], cwd=clinic.parent, timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL
    settle("public.json")
    assert tables(clinic) == {"visits"}
    assert left_behind(clinic.parent) == ["clinic.db"]


def test_a_file_that_somebody_writes_to_is_left_alone(clinic, tables):
    release = anonymize(
        "sqlite:clinic.db?table=visits", shoal.RTAnonymity(5, 2), quasi="age,sex", items="codes", drop="id,share,seen"
    )
    # Another process: locks are between processes, and two copies of SQLite in one do not see each other's.
    script = "import sqlite3; c = sqlite3.connect('clinic.db'); c.execute('BEGIN IMMEDIATE'); print('ready', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=clinic.parent, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "ready\n"
        with pytest.raises(InputError, match="somebody else writes to it; nothing was written"):
            release.write("sqlite:clinic.db?table=public", "public.json")
        other.communicate("\n", timeout=60)
    assert tables(clinic) == {"visits"}


def test_a_new_file_goes_when_the_release_fails(clinic, monkeypatch):
    release = anonymize(
        "sqlite:clinic.db?table=visits", shoal.RTAnonymity(5, 2), quasi="age,sex", items="codes", drop="id,share,seen"
    )

    def broken(self):
        raise InputError("no")

    monkeypatch.setattr(TableTarget, "read_again", broken)
    with pytest.raises(InputError, match="no"):
        release.write("sqlite:new.db?table=public", "public.json")
    assert left_behind(clinic.parent) == ["clinic.db"]


def test_faults_of_the_server_are_sentences_with_a_remedy_and_without_a_password(server, visits, capsys):
    good = server.address(visits)
    bad = {
        good.replace(PASSWORD, f"{PASSWORD}x"): "PGPASSWORD",
        server.address(visits, password=None): "PGPASSWORD",
        good.replace(f":{server.port}", ":1"): "check host and port",
        good.replace("127.0.0.1", "host.invalid"): "check host and port",
        server.address(visits, database="nowhere"): "there is no such database",
        server.address("nothing"): "there is no table 'nothing'",
        good.replace(PASSWORD, f"{PASSWORD}%zz"): "check host and port",
        f"{good}&sslmode={PASSWORD}": "check",
    }
    for address, says in bad.items():
        for command in (["audit", address], ["anonymize", address], ["init", address], ["profile", address]):
            assert main(command) == 2
            shown = capsys.readouterr()
            assert says in shown.err.replace("\n", " "), shown.err
            if "sslmode" not in address:
                assert PASSWORD not in shown.err + shown.out


def test_rights_that_are_missing_are_named(server, visits, ask):
    ask("DROP ROLE IF EXISTS reader")
    ask(f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'")
    address = server.address(visits).replace("shoal:", "reader:")
    with pytest.raises(InputError, match=r"you may not do this; ask"):
        shoal.read(address, items="codes", drop="age,sex,id,paid,share,insured,seen,at")
    ask(f"GRANT SELECT ON {visits} TO reader")
    assert len(shoal.read(address, items="codes", drop="age,sex,id,paid,share,insured,seen,at")) == 120
    ask("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    target = shoal.release.Targets.of(address.replace(visits, "its_own"), "public.json")
    with pytest.raises(InputError, match="you may not make tables in schema 'public'"):
        target.check()
    ask(f"REVOKE ALL ON {visits} FROM reader")
    ask("DROP ROLE reader")


def test_drivers_are_imported_only_for_databases():
    script = "import shoal, sys; shoal.read('x.dat'); print([name for name in sys.modules if 'adbc' in name])"
    with open("x.dat", "w") as file:
        file.write("a b\n")
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    assert shown.stdout.strip() == "[]"
    assert database_sessions.Session
