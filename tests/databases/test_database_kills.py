"""However the writer of a table ends: after the next start table, certificate and rules are the old ones or the new ones."""

import json
import os
import sqlite3
from contextlib import closing

import pytest

import shoal
from killing import KILLED, killed_at, lines_that_change
from shoal.errors import InputError
from shoal.records.database import session as database_sessions
from shoal.records.database import write as database_writing
from shoal.records.database.write import TableTarget
from shoal.records.storage import journal, publication
from shoal.records.storage.journal import settle
from shoal.release import anonymize

FILES = (journal, publication)
DATABASES = (database_writing, database_sessions)
ROWS = [("a;b", "F")] * 6 + [("b;c", "M")] * 6 + [("a;c", "F")] * 8
CLINIC = "sqlite:clinic.db?table=visits"


@pytest.fixture(autouse=True)
def _quick_disk(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def releases(tmp_path):
    """An old release and a new one of the same visits."""
    with closing(sqlite3.connect(tmp_path / "clinic.db")) as connection, connection:
        connection.execute("CREATE TABLE visits (codes TEXT, sex TEXT)")
        connection.executemany("INSERT INTO visits VALUES (?, ?)", ROWS)
    return [anonymize(CLINIC, shoal.KmAnonymity(k, 2), items="codes", drop="sex") for k in (2, 9)]


class Scene:
    """A table with its certificate and rules, made anew for each end of a run that writes them."""

    def __init__(self, releases, target, force, drop):
        self.old, self.new = releases
        self.target, self.force, self.drop = target, force, drop
        self.before = {}

    def fresh(self):
        self.drop()
        for name in ("public.json", "rules.csv"):
            if os.path.exists(name):
                os.unlink(name)
        if self.before and self.target.startswith("sqlite"):
            for name, content in self.before.items():
                with open(name, "wb") as file:
                    file.write(content)
        elif self.force:
            self.old.write(self.target, "public.json", "rules.csv")
            for name in os.listdir("."):
                if os.path.isfile(name):
                    with open(name, "rb") as file:
                        self.before[name] = file.read()

    def write(self):
        self.new.write(self.target, "public.json", "rules.csv", force=self.force)

    def settled(self, number):
        """Whether the new ones are there, after the next start. Raises if they are neither new nor old, or if anything else is left."""
        on_server = self.target.startswith("postgresql")  # where a name of a table leads to no folder
        touched = ("public.json", "rules.csv", "public.json" if on_server else self.target, None)[number % 4]
        if touched is not None:
            settle(touched, self.target)
        elif self.force:
            shoal.verify("public.json", self.target)
        else:
            shoal.release.Targets.of(self.target, "public.json").check(force=True)
        assert not [name for name in os.listdir(".") if name.startswith(".")]
        assert os.path.exists("public.json") == os.path.exists("rules.csv")
        if not os.path.exists("public.json"):
            assert not self.force
            with pytest.raises(InputError, match="there is no"):
                shoal.read(self.target)
            return False
        assert shoal.verify("public.json", self.target).holds
        with open("public.json") as file:
            return json.load(file)["guarantee"]["k"] == 9


def removed(path):
    def drop():
        for ending in ("", "-journal"):
            if os.path.exists(path + ending):
                os.unlink(path + ending)

    return drop


def dropped(path, table):
    def drop():
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(f"DROP TABLE IF EXISTS {table}")

    return drop


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("database", ["new.db", "clinic.db"])
def test_a_kill_at_any_line_leaves_the_old_table_and_files_or_the_new_ones(database, force, releases, tmp_path):
    target = f"sqlite:{database}?table=public"
    drop = removed(database) if database == "new.db" else dropped(database, "public")
    scene = Scene(releases, target, force, drop)
    scene.fresh()
    changes, _ = lines_that_change([tmp_path], (*FILES, *DATABASES), scene.write)
    committed = []
    for line in changes:
        scene.fresh()
        killed_at(line, (*FILES, *DATABASES), scene.write)
        committed.append(scene.settled(line))
        assert os.path.exists(database) or not committed[-1]
        assert not os.path.exists(f"{database}-journal")
    assert committed == sorted(committed)
    assert (committed[0], committed[-1]) == (False, True)
    if database == "new.db" and not force:
        scene.fresh()
        killed_at(changes[len(changes) // 2], (*FILES, *DATABASES), scene.write)
        settle("public.json")
        assert not os.path.exists("new.db")


def killed_around_commit(scene, after):
    once = TableTarget.commit

    def commit(self):
        if after:
            once(self)
        os._exit(KILLED)

    TableTarget.commit = commit
    try:
        killed_at(-1, FILES, scene.write)
    finally:
        TableTarget.commit = once


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("force", [False, True])
def test_the_rows_of_a_table_tell_whether_it_was_committed(after, force, releases):
    scene = Scene(releases, "sqlite:new.db?table=public", force, removed("new.db"))
    for number in range(4):
        scene.fresh()
        killed_around_commit(scene, after)
        assert scene.settled(number) == after


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("force", [False, True])
def test_a_server_is_asked_which_rows_it_has(after, force, releases, server, ask):
    table = f"public_{after}_{force}".lower()
    scene = Scene(releases, server.address(table), force, lambda: ask(f"DROP TABLE IF EXISTS {table}"))
    for number in (1, 3):
        scene.fresh()
        killed_around_commit(scene, after)
        assert scene.settled(number) == after


def test_what_a_server_does_not_tell_stays_in_doubt_until_it_does(releases, server, ask, tmp_path):
    table = "public_in_doubt"
    scene = Scene(releases, server.address(table), True, lambda: ask(f"DROP TABLE IF EXISTS {table}"))
    scene.fresh()
    killed_around_commit(scene, True)
    left = sorted(os.listdir(tmp_path))
    with pytest.raises(
        InputError, match=r"public\.json, rules\.csv: writing this with a table was interrupted"
    ) as raised:
        settle("public.json")  # without the password
    assert "s3cret" not in str(raised.value)
    (tmp_path / "other.csv").write_text("items\na\n")
    shoal.read("other.csv")  # which is no concern of theirs
    os.unlink("other.csv")
    assert sorted(os.listdir(tmp_path)) == left
    assert not any("s3cret" in (tmp_path / name).read_text(errors="replace") for name in left if name.startswith("."))
    assert shoal.verify("public.json", server.address(table)).holds
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]
