"""How kernels are compiled. A kernel is Numba's `njit`, but what one kernel does for others is compiled as little as it can be.

Numba compiles a callee anew for every type of its arguments, and takes a constant for a type of its own: `walk(rows, 0)` and
`walk(rows, n)` are two compilations, and an int32 read from an array makes a third. Inside kernels all whole numbers are computed in 64
bits anyway, so calls from one kernel to another pass them as that. A `step` is for kernels alone: it gets no wrapper to be called from
Python, which takes long to compile where arguments are tuples of arrays. No kernel gets one to be called from C.

Machine code is also found where it may be read and not written: in an image, `shoal warm` leaves it beside the package.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from typing import Any

import numba
from numba.core import caching

Function = Callable[..., Any]
_nb: Any = numba


def njit(**options: Any) -> Callable[[Function], Any]:
    """As `numba.njit`; calls from other kernels pass whole numbers in 64 bits."""

    def compile_later(function: Function) -> Any:
        # Division as NumPy divides: no exception to raise, no branch for it.
        kernel = _nb.njit(**options, no_cfunc_wrapper=True, error_model="numpy")(function)
        template_of, compile_now = kernel.get_call_template, kernel._compiler.compile

        def with_wide_numbers(args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
            return template_of(tuple(map(_wide, args)), {name: _wide(kind) for name, kind in kws.items()})

        kernel.get_call_template = with_wide_numbers
        kernel._compiler.compile = lambda *args: _without_collection(compile_now, *args)
        _look_further(kernel)
        return kernel

    return compile_later


def step(function: Function) -> Any:
    """A kernel that only kernels call."""
    kernel = njit(cache=True, nogil=True, no_cpython_wrapper=True)(function)

    def refuse(*args: Any) -> Any:
        raise TypeError(
            f"{function.__name__} is a step of other kernels, not to be called from Python; njit would let it be"
        )

    # Nothing is found for a call from Python, which then asks for a compilation.
    kernel._insert, kernel._compile_for_args = lambda *entry: None, refuse
    return kernel


def _wide(kind: Any) -> Any:
    """The type as which a callee takes it."""
    kind = _nb.types.unliteral(kind)
    is_narrow = isinstance(kind, _nb.types.Integer) and kind.signed and kind.bitwidth < 64
    return _nb.types.int64 if is_narrow else kind


def _without_collection(compile_now: Function, *args: Any) -> Any:
    """The compiler makes objects by the million, and little of it is garbage: looking for that takes a tenth of its time."""
    if not gc.isenabled():
        return compile_now(*args)
    gc.disable()
    try:
        return compile_now(*args)
    finally:
        gc.enable()


class _CodeFiles:
    """Where the machine code of a kernel is kept, and where it may lie besides. Numba looks at no place that it may not write to."""

    def __init__(self, own: Any, other: Any) -> None:
        self._own, self._other = own, other

    def load(self, key: Any) -> Any:
        code = self._own.load(key)
        return self._other.load(key) if code is None else code

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)


def _look_further(kernel: Any) -> None:
    """Let a kernel find its machine code beside the package, or in the folder that NUMBA_CACHE_DIR names, writable or not."""
    cache = kernel._cache
    own = getattr(cache, "_cache_file", None)
    if own is None:  # not cached at all
        return
    internals: Any = caching
    locator, where = cache._impl.locator, kernel.py_func.__code__.co_filename
    if _nb.config.CACHE_DIR:
        folder = os.path.join(_nb.config.CACHE_DIR, locator.get_suitable_cache_subpath(where))
    else:
        folder = os.path.join(os.path.dirname(where), "__pycache__")
    if folder == cache.cache_path or not os.path.isdir(folder):
        return
    base, stamp = cache._impl.filename_base, locator.get_source_stamp()
    other = internals.IndexDataCacheFile(cache_path=folder, filename_base=base, source_stamp=stamp)
    cache._cache_file = _CodeFiles(own, other)
