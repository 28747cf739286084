"""A command imports what it needs and no more, says what it compiles, and finds what was compiled before it."""

import ast
import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import shoal
from shoal.cli.anonymize import anonymize
from shoal.cli.options import with_typed_flags
from shoal.studies.warming import KINDS, warm_kind

KERNELS = Path(shoal.__file__).parent / "kernels"
HEAVY = (
    "pandas",
    "scipy.stats",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.sparse",
    "pyspark",
    "nicegui",
    "typst",
    "matplotlib",
)

SCRIPT = """
import json, sys
from shoal.cli import main
sys.argv[0] = "shoal"
code = main()
print(json.dumps(sorted(sys.modules)))
sys.exit(code)
"""


@pytest.fixture
def baskets(tmp_path):
    path = tmp_path / "baskets.dat"
    path.write_text("".join(f"a b {'cdef'[i % 4]} {'gh'[i % 2]}\n" for i in range(40)))
    return path


def modules_after(*arguments):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1])), done.stderr


def test_help_imports_no_library_for_data():
    modules, _ = modules_after("--help")
    assert not modules & {*HEAVY, "numpy", "numba", "pyarrow", "polars"}


@pytest.mark.parametrize("command", ["anonymize", "audit"])
def test_a_command_on_sets_imports_nothing_heavy(command, baskets):
    modules_after(command, baskets, "--k", "2", "--m", "2")
    modules, _ = modules_after(command, baskets, "--k", "2", "--m", "2")
    assert not modules & {*HEAVY, "polars", "pyarrow._parquet", "pyarrow._csv", "pyarrow._json"}
    assert not modules & {"numba.np.arraymath", "numba.typed.typeddict"}, "machine code is loaded without the compiler"
    assert "pyarrow.vendored.docscrape" not in modules, (
        "a file of sets needs none of the functions that pyarrow.compute describes"
    )
    assert not modules & {"numba.cpython.unicode", "dateutil", "yaml.loader"}
    assert not modules & {"shoal.certificate.verification", "shoal.series.turns", "shoal.algorithms.km.lra"}
    other = {"shoal.cli.attack", "shoal.cli.compare", "shoal.cli.evaluate", "shoal.cli.rules", "shoal.cli.hierarchy"}
    assert not modules & other


def test_flags_that_are_typed_are_declared_alone(run, baskets):
    """Unless one is not known, or help is asked for."""
    given = [str(baskets), "--k", "2", "--m=2"]
    assert {"data", "k", "m"} == set(inspect.signature(with_typed_flags(anonymize, given)).parameters)
    assert with_typed_flags(anonymize, [*given, "--help"]) is anonymize
    _, _, err = run("anonymize", *given, "--algoritm", "exact")
    assert "--algorithm" in err
    _, out, _ = run("anonymize", "--help")
    assert "--algorithm" in out


def test_a_process_that_leaves_at_once_leaves_nothing_behind():
    """Neither what it still has to print nor folders of its own; and the exit code is the command's."""
    script = """
import sys, tempfile
from shoal.cli import main
sys.argv = ["shoal", "audit", "nowhere.dat"]
code = main()
folder = tempfile.TemporaryDirectory()
sys.stdout.write(folder.name)
sys.exit(code)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "nowhere.dat" in done.stderr
    assert done.stdout
    assert not os.path.exists(done.stdout)


def test_a_module_that_is_imported_late_is_there_when_it_is_asked_for():
    script = """
import sys
from shoal.cli.first_use import own_this_process, prepare
own_this_process()
prepare()
import pyarrow as pa, pyarrow.compute as pc, pyarrow.json as arrow_json
codes = pa.array(["b", "a", "b"]).dictionary_encode()
assert codes.indices.to_pylist() == [0, 1, 0] and "pyarrow.vendored.docscrape" not in sys.modules
assert pc.equal(pa.array([1, 2]), 2).to_pylist() == [False, True] and pc.call_function is sys.modules["pyarrow._compute"].call_function
from pyarrow import parquet
assert not hasattr(arrow_json, "__path__") and not hasattr(parquet, "__wrapped__")
assert "pyarrow._json" not in sys.modules and "pyarrow._parquet" not in sys.modules
assert arrow_json.read_json(pa.py_buffer(b'{"a": 1}')).num_rows == 1 and parquet.ParquetFile
assert not hasattr(arrow_json, "no_such_function")
from pyarrow.parquet import ParquetWriter
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_no_step_of_a_kernel_is_called_from_python():
    """It has no wrapper for that. Names are looked for wherever Python code calls something."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in KERNELS.parent.rglob("*.py")}
    steps, inside = set(), set()
    for path, tree in trees.items():
        if not path.is_relative_to(KERNELS):
            continue
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and node.decorator_list:
                inside |= {id(part) for part in ast.walk(node)}
                if any(isinstance(how, ast.Attribute) and how.attr in ("step", "part") for how in node.decorator_list):
                    steps.add(node.name)
    called = set()
    for path, tree in trees.items():
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        taken = {
            name.name for node in imports if (node.module or "").startswith("shoal.kernels") for name in node.names
        }
        called |= {
            node.func.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and id(node) not in inside
        } & (steps if path.is_relative_to(KERNELS) else taken)
    assert len(steps) > 50
    assert not steps & called


def test_a_part_stands_in_one_place_of_each_kernel():
    """It is written out wherever it is called."""
    kernels = [
        node
        for path in KERNELS.rglob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.decorator_list
    ]
    parts = {node.name for node in kernels if ast.unparse(node.decorator_list[0]) == "nb.part"}
    for node in kernels:
        called = [
            call.func.id for call in ast.walk(node) if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
        ]
        assert all(called.count(name) <= 1 for name in parts), node.name
    assert parts


def test_a_part_is_compiled_with_its_kernel_alone(kernel):
    """And what it assigns stays its own."""
    assert kernel("-c", PARTS) == ["True", "0"]


def test_a_step_says_so_when_it_is_called_from_python():
    from shoal.kernels.arrays import larger

    with pytest.raises(TypeError, match="larger is a step of other kernels"):
        larger([1, 2, 3], 5)


KERNEL = """
import numpy as np
from shoal.kernels import compiler as nb

@nb.step
def add(value, more):
    return value + more

@nb.njit(cache=True, nogil=True)
def total(values):
    n = 0
    for i in range(len(values)):
        n = add(n, values[i])
    return add(n, 0) + add(1, 2) + add(values[0], np.int64(3))

print(total(np.arange(5, dtype=np.int32)), len(add.signatures), sum(total.stats.cache_hits.values()))
"""

PARTS = """
import numpy as np
from shoal.kernels import compiler as nb

@nb.part
def first_above(values, least):
    n = 0
    for i in range(len(values)):
        n += values[i]
        if n > least:
            return i
    return -1

def place(values, least):
    n = 100
    at = first_above(values, least)
    return n + at, least

kernel = nb.njit(nogil=True)(place)
values, least = np.array([2, 3, 4], np.int32), (-1, 0, 4, 9)
answers, alone = [kernel(values, n) for n in least], len(first_above.signatures)
print(answers == [place(values, n) for n in least], alone)
"""


OWNERS = """
import sys
from typing import NamedTuple
import numpy as np
from shoal.kernels import compiler as nb

class Pair(NamedTuple):
    left: np.ndarray
    right: np.ndarray

@nb.step
def larger_half(pair, n):
    chosen = pair.left if n > 0 else np.empty(2, np.int64)
    for i in range(3):
        chosen = pair.right[i:] if i == n else chosen
    return chosen

@nb.njit(cache=True, nogil=True)
def parts(pair, table, n):
    left, right = pair
    table[-1, n - 2] = left[-1]
    return larger_half(pair, n), right, left[1:3]

pair, table = Pair(np.arange(5), np.arange(10, 15)), np.zeros((2, 3), np.int64)
before = sys.getrefcount(pair.left), sys.getrefcount(pair.right)
for n in (0, 1, 2) * 1000:
    half, whole, view = parts(pair, table, n)
    assert half.tolist() == pair.right[n:].tolist() and view.tolist() == [1, 2]
assert table.tolist() == [[0, 0, 0], [4, 4, 4]]
assert whole.tolist() == pair.right.tolist()
del half, whole, view
assert (sys.getrefcount(pair.left), sys.getrefcount(pair.right)) == before
print("ok")
"""


def test_arrays_of_the_caller_are_neither_kept_nor_freed(tmp_path):
    """What a kernel was given stays its caller's, and what it makes or returns is freed once."""
    path = tmp_path / "owners.py"
    path.write_text(OWNERS)
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False)
    assert done.stdout == "ok\n", done.stderr


READ_ONLY = """
import sys, tempfile

real = tempfile.TemporaryFile

def refuse(*args, dir=None, **how):
    if str(dir) == sys.argv[2]:
        raise OSError(30, "Read-only file system")
    return real(*args, dir=dir, **how)

tempfile.TemporaryFile = refuse  # with which Numba tries whether a folder may be written
exec(compile(open(sys.argv[1]).read(), sys.argv[1], "exec"))
"""


MORE = """
import sys
from shoal.cli.first_use import own_this_process, prepare
own_this_process()
prepare()
sys.path.insert(0, sys.argv[1])
from kernel import total, np, nb

@nb.njit(nogil=True)
def with_more(values):
    parts = np.sort(values)[:3].copy()
    return total(values) + len(parts)

print(with_more(np.arange(5, dtype=np.int32)))
"""


@pytest.fixture
def kernel(tmp_path):
    """Runs a kernel in a process of its own: what it counts, how often its step was compiled, whether it was found compiled."""
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "XDG"))}

    def call(*how):
        order = [sys.executable, *how, str(path), str(tmp_path / "__pycache__")]
        done = subprocess.run(
            order, env=kept | {"HOME": str(tmp_path / "home")}, capture_output=True, text=True, check=True
        )
        return done.stdout.split()

    return call


def test_a_callee_is_compiled_once_whatever_whole_numbers_it_gets(kernel):
    assert kernel() == ["16", "1", "0"]


def test_machine_code_is_found_where_it_cannot_be_written(kernel, tmp_path):
    """As in an image: one user compiles, another runs."""
    kernel()
    assert kernel("-c", READ_ONLY) == ["16", "0", "1"]
    assert not list((tmp_path / "home").rglob("*.nbc"))


def test_the_compiler_goes_on_from_machine_code_that_is_there(kernel, tmp_path):
    """What was left out to load it comes when it is needed."""
    kernel()
    done = subprocess.run([sys.executable, "-c", MORE, str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["16 0 1", "19"], done.stderr


def test_warm_knows_every_model(run):
    code, _, err = run("warm", "chess")
    assert code == 2
    assert all(model in err for model in KINDS)


def test_warming_releases_made_up_rows_of_every_kind():
    for kinds in KINDS.values():
        for kind in kinds:
            assert warm_kind(kind) > 0
