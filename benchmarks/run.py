"""All figures of Shoal from one command: `make bench` measures, and writes benchmarks/RESULTS.md and the figures in README and docs.

Every case runs in a process of its own (so that peak memory is its own) after a warm-up that loads the compiled kernels.
Where two things are compared, they are measured in the same run and reported as a ratio. Seconds are those of the
machine at hand, ratios travel. Public data sets are taken from the folder that SHOAL_DATA names; sections without data
are left as they are and said so.

    make bench                                       everything (many minutes)
    .venv/bin/python benchmarks/run.py exact aa      only these sections; the others keep their figures, date and commit
    .venv/bin/python benchmarks/run.py --missing worth m=2 data=retail     only these cases of it, where none was recorded before
    .venv/bin/python benchmarks/run.py --changes     measure nothing, compare what is recorded with what was before (or: with a commit's)
    .venv/bin/python benchmarks/run.py --against HEAD~1     a few commands by turns with another commit's code, in CPU seconds
    .venv/bin/python benchmarks/run.py --readme      measure nothing, write RESULTS.md, README and docs from what was recorded
"""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

import against  # noqa: E402 (files beside this one)
import changes  # noqa: E402
import figures  # noqa: E402
from measuring import Row, folder, run_now  # noqa: E402
from recorded import Recorded, record, recorded  # noqa: E402
from scoreboard import everything, results_page  # noqa: E402
from sections import SECTIONS, case_of, cases_of  # noqa: E402


def stop_after(limit: int | None) -> None:
    """Let this process have no more seconds of CPU than that, over all its threads."""
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))


def measured(section: str, case: Row) -> Row:
    """One case in a process of its own."""
    order = [sys.executable, str(HERE / "run.py"), "--case", section, json.dumps(case)]
    limit = SECTIONS[section].limit
    done = subprocess.run(order, stdout=subprocess.PIPE, text=True, check=False, preexec_fn=lambda: stop_after(limit))
    if done.returncode == -signal.SIGXCPU:
        return {**case, "CPU seconds": f"stopped at {limit} s"}
    done.check_returncode()
    row: Row = json.loads(done.stdout.splitlines()[-1])  # a JVM may have said something before
    return row


def measure(names: list[str]) -> None:
    """Measure these sections, and record each as soon as it is done."""
    for name in names:
        section = SECTIONS[name]
        print(f"\n{section.title}", file=sys.stderr)
        if section.needs_data and folder() is None:
            print("  left as it is: SHOAL_DATA names no folder with the public data sets", file=sys.stderr)
            continue
        run, rows = run_now(), []
        for case in cases_of(name):
            rows.append(measured(name, case))
            print("  " + ", ".join(f"{k} {v}" for k, v in rows[-1].items() if v != ""), file=sys.stderr)
        record(name, Recorded(run, rows))
        if (before := changes.before_now(name)) is not None:
            print(*changes.report(name, before, Recorded(run, rows)), sep="\n  ", file=sys.stderr)


def measure_missing(name: str, wanted: dict[str, str]) -> None:
    """Measure the cases of a section that have these parameters and no row yet, and record each as soon as it is done."""
    cases, here = cases_of(name), run_now()
    kept = recorded(name) or Recorded(here, [])
    if kept.run.commit != here.commit and here.commit not in kept.run.remark:
        remark = f"{kept.run.remark} Rows added at {here.commit}.".strip()
        kept = Recorded(replace(kept.run, remark=remark), kept.rows)
    for case in cases:
        if all(str(case[head]) == value for head, value in wanted.items()) and not any(kept.where(**case)):
            row = measured(name, case)
            print("  " + ", ".join(f"{k} {v}" for k, v in row.items() if v != ""), file=sys.stderr)
            kept.rows.append(row)
            in_order = [row for one in cases for row in kept.where(**one)]
            record(name, Recorded(kept.run, in_order))


def write_pages() -> None:
    """RESULTS.md, and the figures in README and docs, from what was recorded."""
    results = everything()
    (HERE / "RESULTS.md").write_text(results_page(results), encoding="utf-8")
    for page in figures.pages():
        page.write_text(figures.filled(page.read_text(encoding="utf-8"), results), encoding="utf-8")
    print("\nwritten to benchmarks/RESULTS.md, README.md and docs", file=sys.stderr)


def main(wanted: list[str]) -> None:
    unknown = [name for name in wanted if name not in SECTIONS]
    if unknown:
        sys.exit(f"no section {', '.join(unknown)}; there are {', '.join(SECTIONS)}")
    names = [name for name in SECTIONS if not wanted or name in wanted]
    measure(names)
    write_pages()
    show_changes(names)
    if not wanted:
        show_against("HEAD~1")


def show_changes(names: list[str], revision: str | None = None) -> None:
    """Print ratios to a bare loop, to ARX and to the figures that were recorded before."""
    print("\nBeside a bare loop, and beside ARX as it was recorded")
    print(*(f"  {line}" for line in changes.beside_others()), sep="\n")
    earlier = f"of {revision}" if revision else "that were recorded before"
    print(f"\nBeside the figures {earlier} (more than 1 is worse)")
    print(*(f"  {line}" for line in changes.all_changes(names, revision)), sep="\n")


def show_against(revision: str) -> None:
    """Print what commands cost beside another commit. Not recorded: it is about two commits, not about one."""
    print(f"\nCPU seconds beside {revision}, by turns, the best of {against.TURNS}")
    against.compare(revision)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--case"]:
        print(json.dumps(case_of(sys.argv[2], **json.loads(sys.argv[3]))))
    elif sys.argv[1:2] == ["--missing"]:
        measure_missing(sys.argv[2], dict(word.split("=", 1) for word in sys.argv[3:]))
        write_pages()
    elif sys.argv[1:2] == ["--against"]:
        show_against(sys.argv[2] if len(sys.argv) > 2 else "HEAD~1")
    elif sys.argv[1:2] == ["--changes"]:
        show_changes([*SECTIONS], sys.argv[2] if len(sys.argv) > 2 else None)
    elif sys.argv[1:] == ["--readme"]:
        write_pages()
    else:
        main(sys.argv[1:])
