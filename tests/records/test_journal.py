"""However a writer ends, at whatever line: after the next start there are the old files or the new ones, and nothing else."""

import json
import os
import shutil

import pytest

from killing import KILLED, killed_at, lines_that_change, raised_at
from shoal.errors import InputError
from shoal.records.storage import journal, publication
from shoal.records.storage.journal import Journal, Seen, settle
from shoal.records.storage.publication import Publication, check_targets

WRITER = (journal, publication)
NAMES = ("certificate.json", "rules.csv", "data.csv")
OLD = {name: f"old {name}".encode() for name in NAMES}
NEW = {name: f"new {name}".encode() for name in NAMES}


def content(*folders):
    return {path.name: path.read_bytes() for folder in folders for path in folder.iterdir()}


def publish(targets, *, force=False):
    with Publication(targets, force=force) as publication:
        for target in targets:
            with publication.file(target, private=target.name == "rules.csv") as file:
                file.write(NEW[target.name])


def no_links(*_, **__):
    raise PermissionError(1, "Operation not permitted")


class Scene:
    """Folders with the targets of a publication, made anew for each end of it."""

    def __init__(self, folder, force, folders=1, names=NAMES):
        self.places = [folder / f"place-{number}" for number in range(folders)]
        self.targets = [self.places[i % folders] / name for i, name in enumerate(names)]
        self.force = force
        self.old = {name: OLD[name] for name in names} if force else {}
        self.new = {name: NEW[name] for name in names}

    def fresh(self):
        for place in self.places:
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
        for target in self.targets if self.force else ():
            target.write_bytes(OLD[target.name])

    def publish(self):
        publish(self.targets, force=self.force)

    @property
    def content(self):
        return content(*self.places)

    @property
    def shown(self):
        return {name: data for name, data in self.content.items() if not name.startswith(".")}

    def states(self):
        """The lines of the writer at which a kill makes a difference."""
        self.fresh()
        changes, lines = lines_that_change(self.places, WRITER, self.publish)
        assert self.content == NEW
        assert lines > changes[-1]
        return changes


@pytest.fixture(autouse=True)
def _quick_disk(monkeypatch):
    """What a power cut would lose, a kill does not."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.mark.parametrize("folders", [1, 2, 3])
@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("force", [False, True])
def test_a_writer_that_is_killed_at_any_line_leaves_the_old_files_or_the_new_ones(
    force, links, folders, tmp_path, monkeypatch
):
    if not links:
        monkeypatch.setattr(os, "link", no_links)
    scene = Scene(tmp_path, force, folders)
    committed = []
    for line in scene.states():
        scene.fresh()
        killed_at(line, WRITER, scene.publish)
        settle(scene.targets[line % len(NAMES)])  # whichever file the next start touches
        assert scene.shown in (scene.old, NEW)
        if folders > 1:  # what was begun in one folder alone is not known in the others
            settle(*scene.targets)
        assert scene.content == scene.shown
        committed.append(scene.content == NEW)
    assert committed == sorted(committed)  # there is one commit point
    assert (committed[0], committed[-1]) == (False, True)


def write_folder(folder, force, place):
    """A folder with its certificate, as Spark writes them."""
    with Publication([place / "public.json"], force=force, folder=str(folder)) as made:
        os.mkdir(made.staged_folder)
        with open(os.path.join(made.staged_folder, "part-0"), "w") as file:
            file.write("new")
        with made.file(place / "public.json") as file:
            file.write(b"new")


@pytest.mark.parametrize("force", [False, True])
def test_a_folder_and_its_certificate_appear_together(force, tmp_path):
    place, folder = tmp_path / "place", tmp_path / "place" / "public"

    def fresh():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        if force:
            folder.mkdir()
            (folder / "part-old").write_text("old")
            (place / "public.json").write_text("old")

    def found():
        return {str(path.relative_to(place)): path.read_text() for path in place.rglob("*") if path.is_file()}

    old = {"public.json": "old", "public/part-old": "old"} if force else {}
    new = {"public.json": "new", "public/part-0": "new"}
    fresh()
    changes, _ = lines_that_change([place], WRITER, lambda: write_folder(folder, force, place))
    assert found() == new
    committed = []
    for line in changes:
        fresh()
        killed_at(line, WRITER, lambda: write_folder(folder, force, place))
        settle(folder if line % 2 else place / "public.json")
        assert found() in (old, new)
        assert {path.name for path in place.iterdir()} <= {"public", "public.json"}
        committed.append(found() == new)
    assert committed == sorted(committed)
    assert (committed[0], committed[-1]) == (False, True)


@pytest.mark.parametrize(("error", "force"), [(KeyboardInterrupt, True), (SystemExit, False)])
def test_a_writer_that_is_told_to_end_at_any_line_leaves_the_old_files_or_the_new_ones(error, force, tmp_path):
    scene = Scene(tmp_path, force, names=NAMES[::2])
    line, reached, committed = 0, True, []
    while reached:
        line += 1
        scene.fresh()
        reached = raised_at(line, error, WRITER, scene.publish)
        settle(scene.targets[line % 2])
        assert scene.content in (scene.old, scene.new)
        committed.append(scene.content == scene.new)
    assert committed == sorted(committed)


def test_whoever_settles_may_be_killed_too(tmp_path):
    scene = Scene(tmp_path, True)
    for line in scene.states():
        scene.fresh()
        killed_at(line, WRITER, scene.publish)
        changes = _settling(scene, line)
        for at in changes[line % 4 :: 4]:
            scene.fresh()
            killed_at(line, WRITER, scene.publish)
            killed_at(at, WRITER, lambda: settle(scene.targets[0]))
            settle(scene.targets[1])
            assert scene.content in (OLD, NEW)


def _settling(scene, line):
    """The lines at which it makes a difference to kill whoever settles what a writer left that was killed at `line`."""
    scene.fresh()
    killed_at(line, WRITER, scene.publish)
    return lines_that_change(scene.places, WRITER, lambda: settle(scene.targets[0]))[0]


def killed_while_placing(targets, force):
    """Ends a writer that has put some of its files in place and not all."""
    made = []

    def placed_one(*given):
        if made:
            os._exit(KILLED)
        made.append(place(*given))

    place = publication._place
    publication._place = placed_one
    try:
        killed_at(-1, WRITER, lambda: publish(targets, force=force))
    finally:
        publication._place = place


@pytest.mark.parametrize("force", [False, True])
def test_any_file_of_the_same_folder_is_enough(force, tmp_path):
    targets = [tmp_path / name for name in NAMES]
    for target in targets if force else ():
        target.write_bytes(OLD[target.name])
    killed_while_placing(targets, force)
    (tmp_path / "other.csv").write_text("other")
    settle(tmp_path / "other.csv")
    assert content(tmp_path) == {"other.csv": b"other"} | (OLD if force else {})


def test_a_moved_folder_is_settled_where_it_is(tmp_path):
    targets = [tmp_path / folder / name for folder, name in zip("ab", NAMES, strict=False)]
    for folder in "ab":
        (tmp_path / folder).mkdir()
    killed_while_placing(targets, False)
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    for folder in "ab":
        (tmp_path / folder).rename(moved / folder)
    settle(moved / "b" / "anything")
    assert content(moved / "a", moved / "b") == {}


def test_what_somebody_made_of_a_file_in_the_meantime_is_theirs(tmp_path):
    targets = [tmp_path / name for name in NAMES]
    for target in targets:
        target.write_bytes(OLD[target.name])
    killed_while_placing(targets, True)
    for target in targets:
        target.write_bytes(b"theirs " + target.name.encode())
    settle(targets[0])
    assert content(tmp_path) == {name: b"theirs " + name.encode() for name in NAMES}


def test_of_two_runs_with_the_same_targets_one_is_refused(tmp_path):
    targets = [tmp_path / name for name in NAMES]
    for target in targets:
        target.write_bytes(OLD[target.name])
    with Publication(targets, force=True) as first:
        first.file(targets[0]).write(b"first")
        for claimed in (targets, targets[:1], targets[2:], targets[::-1]):
            with pytest.raises(InputError, match=r": another run is writing it now; wait until"):
                publish(claimed, force=True)
        settle(targets[0])  # and nobody takes it for one that has ended
        for target in targets[1:]:
            first.file(target).write(b"first")
    assert content(tmp_path) == dict.fromkeys(NAMES, b"first")


def test_only_targets_that_are_claimed_are_in_the_way(tmp_path):
    with Publication([tmp_path / "a"]) as first:
        first.file(tmp_path / "a").write(b"a")
        publish([tmp_path / "data.csv"])
    assert content(tmp_path) == {"a": b"a", "data.csv": NEW["data.csv"]}


# Journals that somebody else wrote


def planted(place, victim, **more):
    """A claim that would have a victim removed: it is said to be what was published there."""
    entries = {
        "shoal": "publication 1",
        "id": "0" * 16,
        "state": "placing",
        "parts": [
            {
                "folder": ".",
                "name": victim.name,
                "kind": "file",
                "size": victim.stat().st_size,
                "sha256": "0" * 64,
                "after": None,
                "before": None,
            }
            | more
        ],
        "table": None,
    }
    claim = journal._claim_of(str(place / victim.name))
    with open(os.open(claim, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(entries, file)
    return claim


@pytest.mark.parametrize("more", [{}, {"name": "../victim"}, {"folder": ".."}, {"kind": "folder"}, {"kind": "device"}])
def test_a_journal_removes_nothing_that_is_not_what_it_says(more, tmp_path):
    folder = tmp_path / "shared"
    folder.mkdir()
    for place in (tmp_path, folder):
        (place / "victim").write_text("precious")
    planted(folder, folder / "victim", **more)
    settle(folder / "x")
    assert content(folder) == {"victim": b"precious"}
    assert (tmp_path / "victim").read_text() == "precious"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs the right to give files away")
def test_a_journal_of_another_user_is_not_believed(tmp_path):
    (tmp_path / "data.csv").write_bytes(OLD["data.csv"])
    old = Seen.at(str(tmp_path / "data.csv"))
    claim = planted(tmp_path, tmp_path / "data.csv", before=[old.owner, old.size, old.changed])
    os.chown(claim, 65534, 65534)
    settle(tmp_path / "data.csv")
    assert os.path.exists(claim)
    with pytest.raises(InputError, match="another user's claim"):
        publish([tmp_path / "data.csv"], force=True)
    assert (tmp_path / "data.csv").read_bytes() == OLD["data.csv"]


@pytest.mark.parametrize("how", ["link", "hard link", "writable by all", "folder", "pipe"])
def test_only_plain_files_that_nobody_else_can_write_are_believed(how, tmp_path):
    (tmp_path / "data.csv").write_bytes(NEW["data.csv"])
    claim = planted(tmp_path, tmp_path / "data.csv")
    if how == "link":
        os.rename(claim, tmp_path / "aside")
        os.symlink(tmp_path / "aside", claim)
    elif how == "hard link":
        os.link(claim, tmp_path / "aside")
    elif how == "writable by all":
        os.chmod(claim, 0o666)
    else:
        os.unlink(claim)
        os.mkdir(claim) if how == "folder" else os.mkfifo(claim)
    settle(tmp_path / "data.csv")
    assert os.path.lexists(claim)
    assert (tmp_path / "data.csv").read_bytes() == NEW["data.csv"]
    with pytest.raises(InputError, match="another user's claim"):
        publish([tmp_path / "data.csv"], force=True)


def test_a_claim_that_was_never_written_is_removed(tmp_path):
    open(os.open(journal._claim_of(str(tmp_path / "x")), os.O_WRONLY | os.O_CREAT, 0o600), "w").close()
    check_targets([tmp_path / "x"])
    assert content(tmp_path) == {}


def test_where_there_are_no_locks_time_tells(tmp_path, monkeypatch):
    class NoLocks:
        LOCK_EX = LOCK_NB = 0

        @staticmethod
        def flock(*_):
            raise OSError(95, "Operation not supported")

    monkeypatch.setattr(journal, "fcntl", NoLocks)
    target = str(tmp_path / "data.csv")
    Journal({target: "file"}).release()
    settle(target)
    (claim,) = tmp_path.iterdir()  # as young as can be: its process may live on another machine
    os.utime(claim, (0, 0))
    publish([tmp_path / "data.csv"])
    assert content(tmp_path) == {"data.csv": NEW["data.csv"]}


def test_long_names_that_begin_alike_are_told_apart(tmp_path):
    targets = [tmp_path / ("x" * 60 + ending) for ending in "ab"]
    with Publication(targets) as made:
        for target in targets:
            made.file(target).write(target.name.encode())
    assert content(tmp_path) == {target.name: target.name.encode() for target in targets}
