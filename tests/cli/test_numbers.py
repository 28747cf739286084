"""Numbers of any size on the command line and in Python: a clean answer, or a sentence with exit code 2 or 3; never a bug in Shoal."""

from __future__ import annotations

import json
import random

import pytest

import shoal
from shoal import InputError
from shoal.errors import ShoalError
from shoal.evaluation.raw_risk import affordable
from shoal.numbers import MOST

SIZES = ("-1", "0", "2147483648", "9223372036854775808", str(10**30), "9" * 400)
ODD = ("nan", "inf", "-0.0", "true", "1e400")
TABLE = ("people.csv", "--quasi", "age,job")
BUCKETS = ("buckets.csv", "--quasi", "age,job", "--sensitive", "illness")


@pytest.fixture
def shop(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lots = random.Random(3)
    sets = ["|".join(lots.sample("abcd", lots.randint(1, 3))) for _ in range(40)]
    (tmp_path / "sets.csv").write_text("\n".join(["items", *sets, ""]))
    people = [(20 + i % 5, lots.choice("xy"), ("flu", "cold", "gout", "asthma")[i % 4]) for i in range(40)]
    rows = [f"{age},{job},{items},{ill}" for (age, job, ill), items in zip(people, sets, strict=True)]
    (tmp_path / "people.csv").write_text("\n".join(["age,job,items,illness", *rows, ""]))
    rows = [f"{age},{job},{ill},{i // 4}" for i, (age, job, ill) in enumerate(people)]
    (tmp_path / "buckets.csv").write_text("\n".join(["age,job,illness,bucket", *rows, ""]))
    return tmp_path


AUDITS = {
    "km": ("sets.csv", "--k", "--m"),
    "k": ("sets.csv", "--model", "k", "--k"),
    "k diverse": ("sets.csv", "--model", "k", "--sensitive", "d", "--k", "--l"),
    "table": (*TABLE, "--model", "k", "--drop", "items", "--sensitive", "illness", "--k", "--l"),
    "rt": (*TABLE, "--model", "rt", "--drop", "illness", "--k", "--m"),
    "lm": (*TABLE, "--model", "lm", "--drop", "illness", "--sensitive", "d", "--k", "--l", "--m"),
    "diversity": (*BUCKETS, "--model", "diversity", "--l"),
    "entropy": (*BUCKETS, "--model", "diversity", "--kind", "entropy", "--l"),
    "recursive": (*BUCKETS, "--model", "diversity", "--kind", "recursive", "--l"),
}


def parted(case):
    """(the command so far, the options whose numbers vary)."""
    flags = [word for word in case if word in ("--k", "--m", "--l")]
    return case[: len(case) - len(flags)], flags


@pytest.mark.parametrize("name", AUDITS)
def test_an_audit_of_any_size_is_a_verdict(shop, run, name):
    base, flags = parted(AUDITS[name])
    for flag in flags:
        for size in SIZES:
            code, out, err = run("audit", *base, f"{flag}={size}", "--json")
            found = json.loads(out)
            if size in ("-1", "0"):
                assert code == 2, (flag, size, err)
            elif flag == "--m":
                assert code in (0, 3), (flag, size, err)
            else:  # nothing is in a crowd that is larger than all rows
                assert (code, found["holds"]) == (3, False), (flag, size, err)
                assert found["guarantee"][flag[2:]] == int(size)


RELEASES = {
    **{f"km {way}": ("sets.csv", "--algorithm", way) for way in ("exact", "hybrid", "lra", "oa", "da", "aa")},
    **{f"k {way}": ("sets.csv", "--model", "k", "--algorithm", way) for way in ("split", "pta", "gsc", "gray-tsp")},
    "table": (*TABLE, "--model", "k", "--drop", "items", "--sensitive", "illness"),
    "rt": (*TABLE, "--model", "rt", "--drop", "illness"),
    "rt with a tree": (*TABLE, "--model", "rt", "--drop", "illness", "--hierarchy", "items=balanced:2"),
    "lm": (*TABLE, "--model", "lm", "--drop", "illness", "--sensitive", "d"),
    **{
        f"buckets {way}": (
            *TABLE,
            "--model",
            "diversity",
            "--drop",
            "items",
            "--sensitive",
            "illness",
            "--algorithm",
            way,
        )
        for way in ("injector", "anatomy")
    },
}
"""What is released, by model and algorithm."""


@pytest.mark.parametrize("name", RELEASES)
def test_a_release_of_any_size_is_made_or_out_of_reach(shop, run, name):
    model = RELEASES[name][RELEASES[name].index("--model") + 1] if "--model" in RELEASES[name] else "km"
    flags = {
        "km": ("--k", "--m"),
        "k": ("--k",),
        "rt": ("--k", "--m"),
        "lm": ("--k", "--l", "--m"),
        "diversity": ("--l",),
    }
    crowd = () if model == "diversity" else ("--k", "2")
    for flag in flags[model]:
        for size in (str(10**9), str(10**30)):
            code, _, err = run(
                "anonymize",
                *RELEASES[name],
                *(() if flag == "--k" else crowd),
                f"{flag}={size}",
                "-o",
                "o.csv",
                "--force",
            )
            assert code in ((0, 3) if name == "lm" else (0,)) if flag == "--m" else code == 3, (flag, size, err)


OPTIONS = {
    ("sets.csv", "--k", "2"): ("--suppress", "--time-limit", "--threads"),
    ("sets.csv", "--k", "2", "--algorithm", "lra"): ("--segments",),
    ("sets.csv", "--k", "2", "--model", "k", "--algorithm", "gray-tsp"): (
        "--seed",
        "--segments",
        "--population",
        "--generations",
    ),
    (*TABLE, "--k", "2", "--model", "rt", "--drop", "illness"): ("--delta", "--seed"),
    (*TABLE, "--l", "2", "--model", "diversity", "--drop", "items", "--sensitive", "illness"): (
        "--min-exp",
        "--min-conf",
        "--max-length",
    ),
}


@pytest.mark.parametrize("base", OPTIONS)
def test_options_of_a_release_take_any_number_or_say_which(shop, run, base):
    for flag in OPTIONS[base]:
        for size in (*SIZES, *ODD):
            code, _, err = run("anonymize", *base, f"{flag}={size}", "-o", "o.csv", "--force")
            assert code in (0, 2, 3), (flag, size, err)


LOOKS = {
    ("profile", "sets.csv"): ("--k", "--m", "--threads"),
    ("evaluate", "sets.csv", "sets.csv"): ("--k", "--m", "--queries", "--pairs", "--sample", "--seed", "--threads"),
    ("attack", "sets.csv", "--raw", "sets.csv"): ("--k", "--m", "--sample", "--seed"),
    ("attack", *TABLE, "--sensitive", "illness", "--drop", "items"): ("--l", "--examples"),
    ("attack", *BUCKETS): ("--l", "--examples", "--min-exp", "--max-length"),
    ("rules", *TABLE, "--sensitive", "illness", "--drop", "items"): (
        "--min-exp",
        "--min-conf",
        "--max-length",
        "--show",
    ),
    ("datasets", "make", "-o", "made.dat", "--force"): (
        "--transactions",
        "--length",
        "--items",
        "--patterns",
        "--seed",
    ),
    ("hierarchy", "build", "sets.csv", "learned:2"): ("--k", "--m"),
}


@pytest.mark.parametrize("base", LOOKS, ids=lambda base: " ".join(base[:2]))
def test_other_commands_take_any_number_or_say_which(shop, run, base):
    for flag in LOOKS[base]:
        for size in (*SIZES, *ODD):
            code, _, err = run(*base, f"{flag}={size}")
            assert code in (0, 2, 3), (flag, size, err)
            assert "Traceback" not in err


@pytest.mark.parametrize(
    "spec",
    [
        *(
            f"{kind}:{n}"
            for kind in ("balanced", "frequency", "learned")
            for n in ("0", "1", "-1", "999999999", str(10**30))
        ),
        "balanced:nan",
        "learned:1e9",
    ],
)
def test_trees_of_any_width_are_made_or_refused(shop, run, spec):
    assert run("anonymize", "sets.csv", "--k", "2", "--hierarchy", spec, "-o", "o.csv")[0] in (0, 2)


@pytest.mark.parametrize(
    "widths", ["0", "-5", "5,0", "5,5", "nan", "inf", "5,inf", "1e400", "1e308,2e308", str(10**30), "1e-320"]
)
def test_intervals_of_any_width_are_made_or_refused(shop, run, widths):
    for model in (("rt", "--k", "2", "--drop", "illness"), ("diversity", "--drop", "items", "--sensitive", "illness")):
        code, _, err = run(
            "anonymize", *TABLE, "--model", *model, "--hierarchy", f"age=intervals:{widths}", "-o", "o.csv", "--force"
        )
        assert code in (0, 2, 3), err


@pytest.mark.parametrize("size", ["0", "-1", "nan", "inf", "true", "1e30GB", f"{'9' * 400}GB", f"{10**30}GB"])
def test_limits_on_memory_are_taken_or_refused(shop, run, size):
    assert run("anonymize", "sets.csv", "--k", "2", "--memory-limit", size, "-o", "o.csv")[0] in (0, 2)


@pytest.mark.parametrize("name", ["suppress", "time_limit", "seed", "segments", "population", "generations", "threads"])
@pytest.mark.parametrize("value", [True, "5", float("nan"), float("inf"), -1, 2**64, 10**30])
def test_python_refuses_what_is_no_number_of_the_kind(name, value):
    data, promise, way = [["a"]] * 4, shoal.KAnonymity(2), "gray-tsp"
    if name in ("suppress", "time_limit"):
        promise, way = shoal.KmAnonymity(2, 1), "exact"
    with pytest.raises(InputError):
        shoal.anonymize(data, promise, algorithm=way, **{name: value})


@pytest.mark.parametrize("witnesses", [-1, True, 1.5, 10**9, 10**30])
def test_python_refuses_witnesses_without_end(witnesses):
    with pytest.raises(InputError, match="witnesses"):
        shoal.audit([["a"]], shoal.KmAnonymity(2, 1), witnesses=witnesses)


@pytest.mark.parametrize("k", [True, 0, -1, 2.0, "5", None, float("nan")])
def test_python_refuses_crowds_that_are_no_whole_numbers(k):
    for make in (lambda: shoal.KmAnonymity(k, 1), lambda: shoal.KAnonymity(k), lambda: shoal.LmDiversity(k, 2, 1)):
        with pytest.raises(ShoalError):
            make()


def test_nobody_counts_beyond_the_longest_row():
    import numpy as np

    assert affordable(np.array([1, 3, 2]), 10**30) == 3
    assert affordable(np.zeros(4, np.int64), 10**30) <= 1


def test_a_number_that_is_too_large_is_told_with_its_limit():
    with pytest.raises(InputError, match=f"threads must be a whole number from 1 to {MOST['threads']:,}"):
        shoal.audit([["a"]], shoal.KmAnonymity(2, 1), threads=10**6)
