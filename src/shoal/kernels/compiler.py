"""How kernels are compiled. A kernel is Numba's `njit`, but what one kernel does for others is compiled as little as it can be.

Numba compiles a callee anew for every type of its arguments, and takes a constant for a type of its own: `walk(rows, 0)` and
`walk(rows, n)` are two compilations, and an int32 read from an array makes a third. Inside kernels all whole numbers are computed in 64
bits anyway, so calls from one kernel to another pass them as that. A `step` is for kernels alone: it gets no wrapper to be called from
Python, which takes long to compile where arguments are tuples of arrays. No kernel gets one to be called from C. A `part` is written
into the one kernel that needs it, and not compiled by itself.

Machine code is also found where it may be read and not written: in an image, `shoal warm` leaves it beside the package.
"""

from __future__ import annotations

import functools
import gc
import os
from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba.core import caching, cgutils
from numba.core.runtime import nrt
from numba.extending import intrinsic

from shoal.showing import log

Function = Callable[..., Any]
_nb: Any = numba
_internals: Any = caching
_memory: Any = nrt.rtsys


def njit(**options: Any) -> Callable[[Function], Any]:
    """As `numba.njit`; calls from other kernels pass whole numbers in 64 bits."""

    def compile_later(function: Function) -> Any:
        # Division as NumPy divides: no exception to raise, no branch for it.
        kernel = _nb.njit(**options | {"cache": False}, no_cfunc_wrapper=True, error_model="numpy")(function)
        template_of, compile_now = kernel.get_call_template, kernel._compiler.compile

        def with_wide_numbers(args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
            return template_of(tuple(map(_wide, args)), {name: _wide(kind) for name, kind in kws.items()})

        kernel.get_call_template = with_wide_numbers
        kernel._compiler.compile = lambda *args: _without_collection(compile_now, *args)
        if options.get("cache"):
            kernel._cache = _Code(function)
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


def part(function: Function) -> Any:
    """A piece of the kernels that call it, written into each of them instead of being compiled by itself first: for one that is long and
    called in one place."""
    return _nb.njit(inline="always")(function)


def _fetch(typing: Any, array: Any, at: Any) -> Any:
    """`fetch(array, at)` in a kernel has that entry brought into the cache, without waiting for it.

    Rows that are read one after the other lie anywhere, and where one ends is a guess that the processor gets wrong: without this it
    waits for memory at every row.
    """
    entry: Any = cgutils

    def instruct(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = signature.args[0]
        entries = context.make_array(kind)(context, builder, arguments[0])
        place = entry.get_item_pointer(context, builder, kind, entries, [arguments[1]])
        number, address = ir.IntType(32), ir.IntType(8).as_pointer()
        form = ir.FunctionType(ir.VoidType(), [address, number, number, number])
        prefetch = entry.get_or_insert_function(builder.module, form, "llvm.prefetch.p0")
        # To read, to be kept in all caches, as data.
        builder.call(prefetch, [builder.bitcast(place, address), number(0), number(3), number(1)])
        return context.get_dummy_value()

    return _nb.types.void(array, _nb.types.intp), instruct


fetch: Any = intrinsic(_fetch)


def _wide(kind: Any) -> Any:
    """The type as which a callee takes it."""
    kind = _nb.types.unliteral(kind)
    is_narrow = isinstance(kind, _nb.types.Integer) and kind.signed and kind.bitwidth < 64
    return _nb.types.int64 if is_narrow else kind


def _without_collection(compile_now: Function, *args: Any) -> Any:
    """The compiler makes objects by the million, and little of it is garbage: looking for that takes a tenth of its time."""
    _tell_once()
    if not gc.isenabled():
        return compile_now(*args)
    gc.disable()
    try:
        return compile_now(*args)
    finally:
        gc.enable()


@functools.cache
def _tell_once() -> None:
    log.info("compiling what is needed, once after an install; shoal warm does it ahead")


class _Code(_internals.FunctionCache):  # type: ignore[misc, name-defined, unused-ignore]
    """The machine code of a kernel, on disk.

    Numba makes all its compiler knows ready before it loads any, which takes longer than to load it; a library for memory is all that
    the code needs. The compiler sees to the rest itself, where nothing is found. Numba looks at no place that it may not write to.
    """

    def __init__(self, function: Function) -> None:
        super().__init__(function)
        locator, where = self._impl.locator, function.__code__.co_filename
        folders = [os.path.join(os.path.dirname(where), "__pycache__")]
        if _nb.config.CACHE_DIR:
            folders.insert(0, os.path.join(_nb.config.CACHE_DIR, locator.get_suitable_cache_subpath(where)))
        self._others = [
            _internals.IndexDataCacheFile(
                cache_path=folder, filename_base=self._impl.filename_base, source_stamp=locator.get_source_stamp()
            )
            for folder in folders
            if folder != self.cache_path and os.path.isdir(folder)
        ]

    def load_overload(self, signature: Any, context: Any) -> Any:
        _memory.initialize(context)
        with self._guard_against_spurious_io_errors():
            key = self._index_key(signature, context.codegen())
            files = (self._cache_file, *self._others)
            code = next((code for file in files if (code := file.load(key)) is not None), None)
            return None if code is None else self._impl.rebuild(context, code)
