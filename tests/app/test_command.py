from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import typer

from shoal.app.server.office import Front, Office
from shoal.cli.web import app
from shoal.errors import InputError


@pytest.fixture
def asked(monkeypatch):
    """What `serve` is called with."""
    import shoal.app.server.serve

    calls = []
    monkeypatch.setattr(shoal.app.server.serve, "serve", lambda *given, **named: calls.append((given, named)))
    return calls


def run(*arguments):
    shell = typer.Typer()
    shell.command()(app)
    shell(list(arguments), standalone_mode=False)


def test_flags_reach_the_server(asked):
    pytest.importorskip("nicegui")
    run()
    run("--demo", "--port", "8123", "--no-browser", "--workspace", "data", "--upload-limit", "500MB")
    assert asked == [
        (("shoal-workspace", 0), {"demo": False, "open_browser": True, "upload_limit": 4 * 10**9, "office": None}),
        (("data", 8123), {"demo": True, "open_browser": False, "upload_limit": 5 * 10**8, "office": None}),
    ]


def test_an_app_behind_a_proxy_is_told_where_it_is(asked):
    pytest.importorskip("nicegui")
    run("--behind", "https://shoal.example/anna", "--listen", "unix:socket", "--token-file", "token")
    office = Office(Front("shoal.example", "/anna"), "unix:socket", Path("token"))
    assert asked[0][1]["office"] == office
    for wrong in (["--listen", "0.0.0.0:80"], ["--token-file", "t"]):
        with pytest.raises(InputError, match="--behind"):
            run(*wrong)
    with pytest.raises(InputError, match="leave one of them out"):
        run("--behind", "https://shoal.example", "--listen", "unix:socket", "--port", "8101")
    assert len(asked) == 1


def test_without_nicegui_one_sentence_says_what_to_install(asked, monkeypatch):
    monkeypatch.setattr(sys.modules[app.__module__], "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'shoal\[app\]'"):
        run()
    assert asked == []


def test_a_worker_needs_no_nicegui():
    code = "import shoal.app.jobs.estimator, shoal.app.jobs.tasks.release_task, sys; sys.exit('nicegui' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


@pytest.mark.parametrize("folder", ["file", "locked"])
def test_a_workspace_that_cannot_be_used_is_refused(tmp_path, folder):
    from shoal.app.project.workspace import Workspace
    from shoal.app.server.serve import serve

    (tmp_path / "file").write_text("")
    held = Workspace(tmp_path / "locked")
    held.lock()
    with pytest.raises(InputError, match=r"name (a folder|another workspace)"):
        serve(tmp_path / folder, open_browser=False)
    held.unlock()


def test_a_port_that_is_taken_is_refused(tmp_path):
    import socket

    from shoal.app.server.serve import serve

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InputError, match="cannot be used"):
            serve(tmp_path / "w", taken.getsockname()[1], open_browser=False)
