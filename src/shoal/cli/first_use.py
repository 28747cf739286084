"""What a process of the command line does about its libraries before it works: it says what is compiled and how long that took, and keeps
out what others would import for nothing.

Numba tells when it begins and ends to compile a kernel. Pandas is imported by pyarrow only to see whether an array is one of its own, and
the whole of scipy.linalg by Numba only to see whether there is a BLAS, which no kernel needs: where a process is ours alone, both are told
that there is none. None of this is done where Shoal is a library in somebody else's process.
"""

from __future__ import annotations

import atexit
import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from shoal.cli.terminal import number_of, say

own_process = False
"""Whether this process was started for one command."""


def prepare() -> None:
    """Called once a command knows that it will read data, and run kernels over them."""
    if not own_process:
        return
    _keep_out()
    from numba.core import event

    listener: Any = _listener()
    event.register("numba:compile", listener)  # type: ignore[no-untyped-call]
    atexit.register(listener.tell)


def _keep_out() -> None:
    """Let pyarrow find no pandas, and Numba no BLAS. Each looks once."""
    if "pandas" not in sys.modules:
        import pyarrow

        with _absent("pandas"):
            pyarrow.array([0]).to_numpy()
    if not {"scipy.linalg", "numba.np.arraymath"} & set(sys.modules):
        with _absent("scipy.linalg"):
            import_module("numba.np.arraymath")


@contextlib.contextmanager
def _absent(module: str) -> Iterator[None]:
    """As if a module were not installed."""
    finder: Any = SimpleNamespace(
        find_spec=lambda name, path=None, target=None: _refuse(name) if name == module else None
    )
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


def _refuse(name: str) -> None:
    raise ModuleNotFoundError(f"{name} is kept out", name=name)


def _listener() -> Any:
    from numba.core import event

    class Compilations(event.Listener):
        """Kernels that were compiled: how many, and the seconds in each room."""

        def __init__(self) -> None:
            self.kernels, self.seconds = 0, dict[str, float]()
            self._begun: dict[int, list[float]] = {}
            self._announced = False

        def on_start(self, event: Any) -> None:
            # Callees are compiled on the way, in the same thread.
            self._begun.setdefault(threading.get_ident(), []).append(time.thread_time())
            if not self._announced:
                self._announced = True
                _announce()

        def on_end(self, event: Any) -> None:
            begun = self._begun[threading.get_ident()]
            took = time.thread_time() - begun.pop()
            module = event.data["dispatcher"].py_func.__module__
            if module.startswith("shoal.kernels."):
                self.kernels += 1
            if not begun:
                room = module.removeprefix("shoal.kernels.").split(".")[0]
                self.seconds[room] = self.seconds.get(room, 0.0) + took

        def tell(self) -> None:
            if self.kernels:
                rooms = ", ".join(f"{room} {took:.1f} s" for room, took in self.seconds.items())
                say(
                    f"compiled {number_of(self.kernels, 'kernel')} in {sum(self.seconds.values()):.1f} s of CPU ({rooms})"
                )

    return Compilations()


def _announce() -> None:
    from shoal.kernels import are_kept

    if are_kept():
        say("compiling what this command needs, once after an install; shoal warm does it ahead")
    else:
        say(
            "compiling what this command needs for this run alone, for neither the package's folder nor your cache may be written; "
            "NUMBA_CACHE_DIR names a folder of yours to keep it in"
        )
