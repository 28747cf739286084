"""What a process of the command line does about its libraries: it begins and ends quickly, says what is compiled and how long that took,
and keeps out what others would import for nothing.

Numba tells when it begins and ends to compile a kernel. Pandas is imported by pyarrow only to see whether an array is one of its own, and
the whole of scipy.linalg by Numba only to see whether there is a BLAS, which no kernel needs: where a process is ours alone, both are told
that there is none. None of this is done where Shoal is a library in somebody else's process.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys
import threading
import time
from importlib import import_module
from importlib.machinery import PathFinder
from types import ModuleType, SimpleNamespace
from typing import Any

from shoal.cli.terminal import say
from shoal.errors import number_of
from shoal.processes import absent, without_pandas

_LATE = frozenset(("pyarrow.compute", "pyarrow.csv", "pyarrow.json", "pyarrow.parquet", "yaml", "numba.np.arrayobj"))
"""What modules name, but neither another kind of file nor machine code needs: imported when something of it is asked for."""
_FROM_BELOW = {"pyarrow.compute": ("call_function", "DictionaryEncodeOptions")}
"""What is there before the module is executed, which describes each of its functions: a file of sets needs no more."""
_lock = threading.RLock()

_owned = False
"""Whether this process was started for one command."""
_exit_code: int | None = None


def own_this_process() -> None:
    """Called once, by a process that was started for one command."""
    global _owned
    _owned = True
    # Importing makes objects by the hundred thousand, and no garbage.
    gc.set_threshold(300_000, 20, 20)
    # No large matrices are multiplied here, for which a thread per core would be started.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Pydantic would read what every installed package declares, to see whether one extends it.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    sys.meta_path.insert(0, _finder(_late_spec))
    # What is registered first is called last: files and children of others are seen to by then.
    atexit.register(_leave)


def end_with(exit_code: int) -> int:
    """Let the process leave with this code, and at once: to take half a gigabyte of modules apart takes as long as to help a user."""
    global _exit_code
    _exit_code = exit_code
    return exit_code


def _leave() -> None:
    if _exit_code is None:
        return
    with contextlib.suppress(OSError, ValueError):  # Python knows what to do about a reader who left
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_exit_code)


def prepare() -> None:
    """Called once a command knows that it will read data, and run kernels over them."""
    if not _owned:
        return
    without_pandas()
    from numba.core import entrypoints, event

    # Numba would do as Pydantic: no extension of its types has anything to do with kernels.
    entrypoints.init_all = lambda: None
    listener: Any = _listener()
    event.register("numba:compile", listener)  # type: ignore[no-untyped-call]
    atexit.register(listener.tell)


class _LateModule(ModuleType):
    """A module that is executed when something of it is asked for."""

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__"):
            with _lock:
                spec: Any = self.__spec__
                if isinstance(spec.loader, _LateLoader):
                    if name in _FROM_BELOW.get(self.__name__, ()):
                        return getattr(import_module("pyarrow._compute"), name)
                    spec.loader = self.__loader__ = spec.loader.own
                    spec.loader.exec_module(self)
            if name in self.__dict__:
                return self.__dict__[name]
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)


class _LateLoader:
    def __init__(self, own: Any) -> None:
        self.own = own

    def create_module(self, spec: Any) -> ModuleType:
        return _LateModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Not yet."""


def _late_spec(name: str, path: Any) -> Any:
    """How to make a module that is executed later."""
    spec = PathFinder.find_spec(name, path) if name in _LATE else None
    if spec is not None:
        spec.loader = _LateLoader(spec.loader)  # type: ignore[assignment]
    return spec


def _finder(find: Any) -> Any:
    """What Python asks for a module by its name."""
    return SimpleNamespace(find_spec=lambda name, path=None, target=None: find(name, path))


def _listener() -> Any:
    from numba.core import event

    class Compilations(event.Listener):
        """Kernels that were compiled: how many, and the seconds in each room."""

        def __init__(self) -> None:
            self.kernels, self.seconds = 0, dict[str, float]()
            self._begun: dict[int, list[float]] = {}
            self._announced = False

        def on_start(self, event: Any) -> None:
            gc.disable()
            # Callees are compiled on the way, in the same thread.
            self._begun.setdefault(threading.get_ident(), []).append(time.thread_time())
            if not self._announced:
                self._announced = True
                if "scipy.linalg" not in sys.modules and "numba.np.arraymath" not in sys.modules:
                    with absent("scipy.linalg"):  # Numba looks once
                        import_module("numba.np.arraymath")
                _announce()

        def on_end(self, event: Any) -> None:
            begun = self._begun[threading.get_ident()]
            took = time.thread_time() - begun.pop()
            module = event.data["dispatcher"].py_func.__module__
            if module.startswith("shoal.kernels."):
                self.kernels += 1
            if not begun:
                gc.freeze()  # little of what the compiler made is garbage, and looking for it takes a twentieth of its time
                gc.enable()
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
