"""Compiled kernels find a place where nothing may be written, and nobody can plant code there."""

import os
import stat
import subprocess
import sys
import textwrap

import numba
import pytest

from shoal import kernels
from shoal.errors import InputError


@pytest.fixture
def nowhere(monkeypatch):
    """Neither the package nor the user's cache may be written."""
    registered = []
    monkeypatch.setattr(kernels, "_is_writable", lambda folder: False)
    monkeypatch.setattr(kernels.atexit, "register", lambda *given: registered.append(given))
    monkeypatch.setenv("NUMBA_CACHE_DIR", "")
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    return registered


def test_a_place_that_stays_is_kept_to(tmp_path, monkeypatch):
    monkeypatch.setattr(kernels, "_places", lambda: ["/dev/null/nowhere", str(tmp_path / "cache" / "numba")])
    assert kernels._cache_for_this_run() is None


def test_where_there_is_none_the_folder_is_new_private_and_goes_with_the_process(nowhere, tmp_path, monkeypatch):
    monkeypatch.setattr(kernels.tempfile, "tempdir", str(tmp_path))
    one, two = kernels._cache_for_this_run(), kernels._cache_for_this_run()
    assert one != two
    assert stat.S_IMODE(os.stat(one).st_mode) == 0o700
    assert os.environ["NUMBA_CACHE_DIR"] == numba.config.CACHE_DIR == two
    remove, *given = nowhere[0]
    remove(given[0], os.getpid() + 1)
    assert os.path.isdir(one)
    remove(*given)
    assert not os.path.exists(one)


def test_where_there_is_no_place_at_all_one_sentence_says_so(nowhere, monkeypatch):
    def full(**_):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(kernels.tempfile, "mkdtemp", full)
    with pytest.raises(InputError, match="name one in NUMBA_CACHE_DIR"):
        kernels._cache_for_this_run()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="needs the right to become somebody else")
def test_a_user_without_a_home_and_without_the_right_to_write_counts_all_the_same(tmp_path):
    script = """
        import os, tempfile
        import numba

        compiles = numba.njit(lambda x: x + 1)(1)  # the interpreter may lie where others cannot read: all of it is at hand now
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
        from shoal.kernels import are_kept
        from shoal.kernels.classes.bitmaps import ones

        assert ones(7) == 3
        assert not are_kept()
        print(os.environ["NUMBA_CACHE_DIR"])
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "XDG"))}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env=environment | {"HOME": "/nonexistent", "TMPDIR": "/tmp"},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    if "PermissionError" in done.stderr or "No module named" in done.stderr:
        pytest.skip("the package lies where nobody else may read")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("/tmp/shoal-kernels-")
    assert not os.path.exists(done.stdout.strip())
