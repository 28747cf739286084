"""The image: what its definition promises, and an installed wheel for a user without rights where nothing may be written."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest
import typer

from shoal.cli import command_line

ROOT = Path(__file__).resolve().parents[1]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
GUIDE = (ROOT / "docs" / "guide" / "office.md").read_text(encoding="utf-8")
LOCKED = ("--read-only", "--user", "--tmpfs", "--cap-drop", "--security-opt")


def stages():
    """(name, what it is made from, instructions) of each stage; what is continued is one line."""
    found = []
    for line in re.sub(r"\\\n", " ", DOCKERFILE).splitlines():
        word, _, rest = line.partition(" ")
        if word == "FROM":
            parts = rest.split()
            found.append((parts[2] if len(parts) > 1 else "", parts[0], []))
        elif word and word != "#" and found:
            found[-1][2].append((word, rest))
    return found


def instructions(name):
    """All instructions of a stage, those that it is made from first."""
    held = {stage: (base, lines) for stage, base, lines in stages()}
    base, lines = held[name]
    return [*(instructions(base) if base in held else []), *lines]


def last(lines, word):
    return next((rest for name, rest in reversed(lines) if name == word), None)


@pytest.mark.parametrize("stage", ["", "app"])
def test_who_runs_the_image_has_no_rights_and_one_place_to_write(stage):
    lines = instructions(stage)
    assert stages()[-1][0] == ""
    assert last(lines, "USER") == "shoal"
    assert lines.index(("USER", "shoal")) > max(at for at, (word, _) in enumerate(lines) if word in ("RUN", "COPY"))
    assert (last(lines, "VOLUME"), last(lines, "WORKDIR")) == ("/data", "/data")
    settings = dict(pair.split("=") for word, rest in lines if word == "ENV" for pair in rest.split())
    assert settings["SHOAL_KEY"].startswith("/data/")
    assert settings["NUMBA_CPU_NAME"] == "generic"
    assert any(word == "RUN" and rest.startswith("shoal warm") for word, rest in lines)
    assert not [rest for _, rest in lines if re.search(r"curl|wget|apt-get|sudo", rest)]


def test_the_image_of_the_app_has_a_health_check_and_starts_what_there_is():
    lines = instructions("app")
    command = json.loads(last(lines, "ENTRYPOINT"))
    known = {name for option in typer.main.get_command(command_line()).commands["app"].params for name in option.opts}
    assert {word for word in command if word.startswith("--")} <= known
    assert command[command.index("--listen") + 1].endswith(f":{last(lines, 'EXPOSE')}")
    assert last(lines, "EXPOSE") in last(lines, "HEALTHCHECK")


def test_the_commands_of_the_guide_and_of_the_definition_lock_the_container():
    said = re.findall(r"docker run.*?(?=\n\n|```|\n#\n)", re.sub(r"\\\n#? *", "", GUIDE + DOCKERFILE), re.DOTALL)
    assert len(said) == 3
    for command in said:
        words = shlex.split(command)
        assert set(LOCKED) <= set(words)
        assert ("--network" in words) != ("--publish" in words)
        assert all(word.startswith("127.0.0.1:") for word in words if word.endswith(":8000"))


# What runs as nobody: it tells the codes and errors of commands as JSON, then those of the health check of an app.
INSIDE = """
import json, os, subprocess, sys, time
shoal = [sys.executable, "-m", "shoal.cli"]
told = [(os.getuid(), os.access("/srv/shoal", os.W_OK))]
for command in json.loads(sys.argv[1]):
    done = subprocess.run([*shoal, *command], capture_output=True, text=True)
    told.append((done.returncode, done.stderr))
app = [*shoal, *json.loads(sys.argv[2]), "--behind", "https://shoal.example/anna"]
running = subprocess.Popen(app, stderr=subprocess.PIPE, text=True)
told.append((0, running.stderr.readline() + running.stderr.readline()))
check = json.loads(sys.argv[3])
told.append((subprocess.run([sys.executable, *check[1:]]).returncode, ""))
running.terminate()
running.communicate()
told.append((subprocess.run([sys.executable, *check[1:]], stderr=subprocess.DEVNULL).returncode, ""))
print(json.dumps(told))
"""

# In a room of its own: the package in /srv, what it needs in /opt, Python in /media, all only to be read; work in /mnt.
ROOM = """
set -e
mount --make-rprivate /
mount --bind "$1" /srv; mount --bind "$2" /opt; mount --bind "$3" /media; mount --bind "$4" /mnt
for place in /srv /opt /media /; do mount -o remount,bind,ro "$place"; done
mount -t tmpfs -o mode=1777 tmpfs /tmp
shift 4
cd /mnt
exec setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs --bounding-set=-all env -i "$@"
"""


@pytest.fixture
def room():
    if os.name != "posix" or os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("setpriv"):
        pytest.skip("needs the right to mount, unshare and setpriv")
    if subprocess.run(["unshare", "-m", "mount", "--make-rprivate", "/"], capture_output=True, check=False).returncode:
        pytest.skip("this machine lets nobody have mounts of their own")
    if not all(map(os.path.isdir, ("/srv", "/opt", "/media", "/mnt"))):
        pytest.skip("needs the folders /srv, /opt, /media and /mnt to mount on")


def installed_wheel(folder):
    """The package as a wheel has it, with the machine code that the checkout has: the sources are as old as there."""
    pytest.importorskip("hatchling", reason="a wheel needs hatchling")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=ROOT, check=True)
    site = folder / "site"
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(site)
    source = ROOT / "src"
    for path in source.rglob("*"):
        there = site / path.relative_to(source)
        if path.suffix in (".nbi", ".nbc"):
            there.parent.mkdir(exist_ok=True)
            shutil.copy(path, there)
        elif path.suffix == ".py":
            shutil.copystat(path, there)
    return site


def test_an_installed_wheel_works_for_nobody_where_nothing_may_be_written_and_compiles_nothing(room, tmp_path):
    pytest.importorskip("nicegui", reason="the app needs NiceGUI: pip install 'shoal[app]'")
    rows = "".join(f"{'bread|milk' if n % 2 else 'bread|beer'}\n" for n in range(40))
    work, here = tmp_path / "work", tmp_path / "here"
    for folder in (work, here):
        folder.mkdir(mode=0o777)
        (folder / "baskets.csv").write_text(f"items\n{rows}")
    work.chmod(0o777)
    commands = [
        ["anonymize", "baskets.csv", "--k", "2", "--m", "2", "-o", "public.csv"],
        ["audit", "public.csv", "--k", "2", "--m", "2"],
    ]
    for command in commands:  # what the checkout has not compiled yet, as `shoal warm` does it in the image
        environment = os.environ | {"SHOAL_KEY": str(here / "key")}
        subprocess.run(
            [sys.executable, "-m", "shoal.cli", *command], cwd=here, env=environment, check=True, capture_output=True
        )
    entry = json.loads(last(instructions("app"), "ENTRYPOINT"))
    app = ["/mnt" if word == "/data" else word.replace("/data/", "/mnt/") for word in entry[1:]]
    health = json.loads(last(instructions("app"), "HEALTHCHECK").partition("CMD ")[2])
    python = f"/media/bin/python{sysconfig.get_python_version()}"
    variables = ["PYTHONPATH=/srv:/opt", "LD_LIBRARY_PATH=/media/lib", "SHOAL_KEY=/mnt/.shoal-key", "HOME=/home/shoal"]
    places = [installed_wheel(tmp_path), sysconfig.get_path("purelib"), sys.base_prefix, work]
    given = ["unshare", "--mount", "sh", "-c", ROOM, "room", *map(str, places), *variables, python, "-c", INSIDE]
    done = subprocess.run(
        [*given, json.dumps(commands), json.dumps(app), json.dumps(health)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    (who, writable), *told = json.loads(done.stdout)
    assert (who, writable) == (65534, False)
    assert [code for code, _ in told] == [0, 0, 0, 0, 1], told
    assert not [said for _, said in told if "compiling" in said or "Traceback" in said]
    assert "give it the token in /mnt/.shoal-token" in told[2][1]
    kept = {path.name: path.stat().st_mode & 0o777 for path in work.iterdir()}
    assert {"public.csv", "public.csv.certificate.json", ".shoal-key", ".shoal-token", ".shoal"} <= set(kept)
    assert (kept[".shoal-key"], kept[".shoal-token"], kept[".shoal"]) == (0o600, 0o600, 0o700)
