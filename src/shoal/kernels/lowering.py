"""How a kernel becomes LLVM's code: what Numba would write, with less of it.

Most of a first run's wait goes into code that the optimizer throws away again, and three habits of Numba make most of that. It counts
references to every array at every use, though what a kernel is given is its caller's for as long as it runs: here, only arrays that a
kernel makes itself are counted. It loads all of an array's description, or all arrays of a tuple, to use one field of it. And it
optimizes a step, and makes machine code of it, before it does so with each kernel that contains it: here, a step waits for the kernel.
"""

from __future__ import annotations

from typing import Any

from numba.core import cgutils, codegen, compiler, ir, lowering, typed_passes
from numba.core import types as _types
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.environment import lookup_environment

_build: Any = cgutils
types: Any = _types
_SCALAR = {"loop_vectorize": False, "slp_vectorize": False}
_DATA, _SHAPE = 4, 5
"""Places in the description of an array."""


class _Lower(lowering.Lower):
    """From Numba's code of one function to LLVM's."""

    def pre_lower(self) -> None:
        super().pre_lower()
        self._borrowed = _borrowed(self.func_ir.blocks.values(), self.typeof)
        self._uncounted = dict[str, bool]()

    def _is_uncounted(self, name: str) -> bool:
        """Whether no reference of this variable is counted: it holds no array, or one of the caller's."""
        if name not in self._uncounted:
            model = self.context.data_model_manager[self.typeof(name)]
            self._uncounted[name] = name in self._borrowed or not model.contains_nrt_meminfo()
        return self._uncounted[name]

    def lower_inst(self, inst: Any) -> Any:
        if isinstance(inst, ir.Assign) and inst.target.name in self._borrowed:
            self.context.enable_nrt = False
            try:
                return super().lower_inst(inst)
            finally:
                self.context.enable_nrt = True
        return super().lower_inst(inst)

    def delvar(self, name: str) -> None:
        if not self._is_uncounted(name):
            super().delvar(name)

    def storevar(self, value: Any, name: str, argidx: Any = None) -> None:
        if argidx is None and name not in self._singly_assigned_vars and self._is_uncounted(name):
            self.builder.store(value, self.getvar(name))
        else:
            super().storevar(value, name, argidx)

    def lower_expr(self, kind: Any, expr: Any) -> Any:
        if expr.op == "getattr" and isinstance(whole := self.typeof(expr.value.name), types.BaseNamedTuple):
            place = whole.fields.index(expr.attr)
            if whole.types[place] == kind:
                part = self._part(expr.value.name, place)
                self.incref(kind, part)
                return part
        return super().lower_expr(kind, expr)

    def lower_getitem(self, kind: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        array = self.typeof(value.name)
        if not _is_plain(array, signature.args[1]):
            return super().lower_getitem(kind, expr, value, index, signature)
        place = self._place(value, array, index, signature.args[1])
        entry = self.context.unpack_value(self.builder, array.dtype, place)
        return self.context.cast(self.builder, entry, array.dtype, kind)

    def lower_setitem(self, target: Any, index: Any, value: Any, signature: Any) -> Any:
        array = self.typeof(target.name)
        if not _is_plain(array, signature.args[1]):
            return super().lower_setitem(target, index, value, signature)
        entry = self.context.cast(self.builder, self.loadvar(value.name), self.typeof(value.name), array.dtype)
        self.context.pack_value(self.builder, array.dtype, entry, self._place(target, array, index, signature.args[1]))
        return None

    def _part(self, name: str, *path: int) -> Any:
        """One field of a variable."""
        if name in self._blk_local_varmap:
            return self.builder.extract_value(self.loadvar(name), path)
        return self.builder.load(_build.gep_inbounds(self.builder, self.getvar(name), 0, *path))

    def _place(self, array: Any, kind: Any, index: Any, index_kind: Any) -> Any:
        """Where an entry of an array is; a negative index counts from the end."""
        given = self.context.cast(self.builder, self.loadvar(index.name), self.typeof(index.name), index_kind)
        if isinstance(index_kind, types.Integer):
            parts = [(given, index_kind)]
        else:
            parts = [(self.builder.extract_value(given, i), part) for i, part in enumerate(index_kind.types)]
        place = None
        for axis, (at, part) in enumerate(parts):
            at = self.context.cast(self.builder, at, part, types.intp if part.signed else types.uintp)
            size = self._part(array.name, _SHAPE, axis) if axis or part.signed else None
            if part.signed:
                is_behind = self.builder.icmp_signed("<", at, at.type(0))
                at = self.builder.select(is_behind, self.builder.add(at, size), at)
            place = at if place is None else self.builder.add(self.builder.mul(place, size), at)
        return self.builder.gep(self._part(array.name, _DATA), [place])


def _is_plain(array: Any, index: Any) -> bool:
    """Whether this is a number of an array of numbers, one after the other in memory."""
    parts = [index] if isinstance(index, types.Integer) else getattr(index, "types", ())
    return (
        type(array) is types.Array
        and array.layout == "C"
        and array.aligned
        and isinstance(array.dtype, types.Integer | types.Float | types.Boolean)
        and len(parts) == array.ndim <= 2
        and all(isinstance(part, types.Integer) for part in parts)
    )


def _borrowed(blocks: Any, typeof: Any) -> set[str]:
    """Variables that only ever hold what the caller gave, a part of that, or a view of it."""
    sources: dict[str, set[str]] = {}
    others: set[str] = set()
    for block in blocks:
        for assign in block.find_insts(ir.Assign):
            name, value = assign.target.name, assign.value
            if isinstance(value, ir.Arg):
                if typeof(name) != typeof("arg." + value.name):
                    others.add(name)
                sources.setdefault(name, set())
            elif (source := _source(value, typeof)) is not None and typeof(name) is not None:
                sources.setdefault(name, set()).add(source)
            else:
                others.add(name)
    names = sources.keys() - others
    while left := {name for name in names if not sources[name] <= names}:
        names = names - left
    return set(names)


def _source(value: Any, typeof: Any) -> str | None:
    """The variable that this one shares its arrays with, where it makes none."""
    if isinstance(value, ir.Var):
        return str(value.name)
    if not isinstance(value, ir.Expr) or value.op not in ("getattr", "exhaust_iter", "static_getitem", "getitem"):
        return None
    whole = typeof(value.value.name)
    if isinstance(whole, types.BaseTuple):
        return str(value.value.name)
    if value.op == "getitem" and type(whole) is types.Array and isinstance(typeof(value.index.name), types.SliceType):
        return str(value.value.name)
    return None


class _Code(codegen.JITCodeLibrary):
    """The code of a kernel. Hardly any of their loops can be done in vectors, and looking for those that can takes long."""

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout
        for function in module.functions:
            if not function.is_declaration:
                passes, builder = self._codegen._function_pass_manager(opt=1, **_SCALAR)
                passes.run(function, builder)

    def _optimize_final_module(self) -> None:
        for how in ({"opt": 0, "cost": "cheap"}, {"opt": 2}):
            passes, builder = self._codegen._module_pass_manager(**how, **_SCALAR)
            passes.run(self._final_module, builder)


class _StepCode(_Code):
    """The code of a step, to be put into kernels: optimized there, and not made machine code of by itself."""

    def finalize(self) -> None:
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        return _NowhereYet()


class _NowhereYet:
    """A step has no place in memory at which something could be set."""

    def set_env(self, *where: Any) -> None:
        """Done for each kernel that contains the step."""


@register_pass(mutates_CFG=True, analysis_only=False)
class _KernelLowering(typed_passes.NativeLowering):
    _name = "kernel_lowering"
    _code: type = _Code

    @property
    def lowering_class(self) -> Any:
        return _Lower

    def run_pass(self, state: Any) -> Any:
        state.library = library = self._code(state.targetctx.codegen(), state.func_id.func_qualname)
        library.enable_object_caching()
        done = super().run_pass(state)
        # Each function has an environment of Python's; those of steps have their first place in memory here.
        for variable in library._final_module.global_variables:
            if variable.name.startswith("_ZN08NumbaEnv") and (own := lookup_environment(variable.name)) is not None:
                library.codegen.set_env(variable.name, own)
        return done


@register_pass(mutates_CFG=True, analysis_only=False)
class _StepLowering(_KernelLowering):
    _name = "step_lowering"
    _code = _StepCode

    def run_pass(self, state: Any) -> Any:
        # Only now: what Numba compiles on the way is compiled once for all kernels that have the same flags.
        state.flags.no_cpython_wrapper = True
        return super().run_pass(state)


class KernelCompiler(compiler.CompilerBase):
    """Numba's passes, with another at their end."""

    _last: Any = _KernelLowering

    def define_pipelines(self) -> list[Any]:
        usual = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes = PassManager(usual.pipeline_name)
        passes.passes = [
            (self._last if kind is typed_passes.NativeLowering else kind, what) for kind, what in usual.passes
        ]
        passes.finalize()
        return [passes]


class StepCompiler(KernelCompiler):
    _last = _StepLowering
