"""Child processes: what they say, how they fail, and how they end. The functions below are what the children do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from serving import until
from shoal import processes
from shoal.errors import VALUES, InputError, Unavailable, Unreachable, option
from shoal.processes import Answer, Child, GivenUp, Teller, answer_to
from shoal.records.roles import NoRoleError


def double(request, tell):
    tell.stage("Doubling")
    tell("at it", 0.5, best=0.25, bound=0.125)
    print("a library's words")
    return 2 * request


def fail(request, tell):
    if request == "refuse":
        raise NoRoleError(f"the column has no role{VALUES}; pass {option('drop')}", values=["age"])
    if request == "unreachable":
        raise Unreachable("it cannot be", witnesses=["a"])
    if request == "unavailable":
        raise Unavailable("the disk failed")
    if request == "memory":
        raise MemoryError
    if request == "file":
        raise PermissionError(13, "Permission denied")
    if request == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    raise KeyError("HIV")


def wait(request, tell):
    while True:
        tell("waiting", 0.0)
        time.sleep(0.01)


def spawn(request, tell):
    """Starts a process that does nothing for long."""
    tell.note(pid=subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid)
    time.sleep(600)


@pytest.fixture
def start(monkeypatch):
    """Starts a child that runs a function of this file."""
    monkeypatch.syspath_prepend(Path(__file__).parent)
    children = []

    def start(work, **how):
        children.append(Child(f"{Path(__file__).stem}:{work.__name__}", **how))
        return children[-1]

    yield start
    for child in children:
        child.end()


def heard(child, wanted=lambda facts, answer: answer is not None):
    """(all facts, the answer), as soon as they are as wanted."""
    facts, answers = {}, []

    def look():
        for news in child.news():
            answers.append(news) if isinstance(news, Answer) else facts.update(news)
        return wanted(facts, answers[-1] if answers else None)

    until(look)
    return facts, answers[-1] if answers else None


def is_alive(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_child_answers_one_request_after_another(start, tmp_path):
    child = start(double, log=tmp_path / "log.txt")
    child.ask(21)
    facts, answer = heard(child)
    assert answer == Answer(42)
    assert (facts["stage"], facts["phase"], facts["share"], facts["best"], facts["bound"]) == (
        "Doubling",
        "at it",
        0.5,
        0.25,
        0.125,
    )
    assert [stage["name"] for stage in facts["phases"]] == ["Doubling"]
    child.ask("ab")
    assert heard(child)[1] == Answer("abab")
    assert not child.busy
    child.end()
    assert "a library's words" in (tmp_path / "log.txt").read_text()


def test_errors_arrive_with_all_that_they_carry(start):
    child = start(fail)
    child.ask("refuse")
    error = heard(child)[1].error
    assert (type(error), error.exit_code, error.values) == (InputError, 2, ("age",))
    assert (
        error.render(lambda name, value: f"--{name}", show_values=True) == "the column has no role (age); pass --drop"
    )
    assert str(error) == "the column has no role; pass drop="
    child.ask("unreachable")
    assert isinstance(heard(child)[1].error, Unreachable)
    child.ask("unavailable")
    assert type(heard(child)[1].error) is Unavailable


def test_crashes_tell_what_they_were_and_where(start):
    child = start(fail)
    for request, kind, strerror in (
        ("memory", "MemoryError", None),
        ("file", "PermissionError", "Permission denied"),
        ("", "KeyError", None),
    ):
        child.ask(request)
        error = heard(child)[1].error
        assert (error.kind, error.strerror, error.code) == (kind, strerror, None)
        assert ", line " in error.place
    assert "HIV" in error.says
    child.ask("kill")
    error = heard(child)[1].error
    assert error.killed
    assert child.code == -signal.SIGKILL


def test_a_death_without_a_request_is_noticed(start):
    child = start(double)
    os.kill(child.pid, signal.SIGKILL)
    until(lambda: list(child.news()) == [] and child.code is not None)
    child.ask(1)  # which nobody hears


def test_a_child_gives_up_what_nobody_waits_for(start):
    child = start(wait)
    child.ask(1)
    heard(child, lambda facts, answer: "phase" in facts)
    child.give_up()
    assert heard(child)[1] == Answer()


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_ending_a_child_ends_what_it_started(start):
    child = start(spawn)
    child.ask(1)
    facts, _ = heard(child, lambda facts, answer: "pid" in facts)
    assert is_alive(facts["pid"])
    child.end()
    until(lambda: not is_alive(facts["pid"]))


@pytest.mark.parametrize("close", [True, False])
@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_a_child_ends_with_its_parent(close):
    script = (
        f"import sys, time; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        f"from shoal.processes import Child; child = Child('{Path(__file__).stem}:spawn'); child.ask(1)\n"
        "while not (news := list(child.news())): time.sleep(0.05)\n"
        "print(child.pid, news[0]['pid'], flush=True); sys.stdin.read(); child._process.stdin.close(); time.sleep(600)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        child, grandchild = map(int, parent.stdout.readline().split())
        assert is_alive(child)
        parent.stdin.close() if close else parent.kill()
        until(lambda: not is_alive(child))
        if close:  # of a parent that is killed, the kernel ends the child alone
            until(lambda: not is_alive(grandchild))
        parent.kill()
    if is_alive(grandchild):
        os.kill(grandchild, signal.SIGKILL)


def test_progress_is_told_now_and_then_and_numbers_are_not_lost(monkeypatch):
    said = []
    tell = Teller(said.append)
    monkeypatch.setattr(processes, "EVERY", 1e9)
    tell._said = time.monotonic()
    tell("depth 1", 0.1, bound=0.03)
    tell("depth 2", 2.0, best=0.04)
    assert said == []
    tell.stage("Next")
    assert said == [{"phase": "Next", "share": 0.0, "bound": 0.03, "best": 0.04, "stage": "Next"}]
    given_up = Teller(said.append, lambda: True)
    for tell_it in (lambda: given_up("x", 0.0), lambda: given_up.stage("x"), lambda: given_up.note(x=1)):
        with pytest.raises(GivenUp):
            tell_it()


def test_a_request_can_be_answered_in_this_process():
    assert answer_to(3, double, Teller(lambda facts: None)) == Answer(6)
    assert isinstance(answer_to("refuse", fail, Teller(lambda facts: None)).error, NoRoleError)
