"""All that is used of Numba and is not documented: how kernels are compiled, and what is kept of them.

A test compares the names and parameters that are used here with those of the Numba that is installed.

Only what Python calls is optimised and becomes machine code. Numba optimises a function with all that it calls and
makes machine code of it, on every level of calls. Here a function is first compiled to LLVM's instructions, which are
linked into its callers. For a call from Python its instructions and those of all that it calls are optimised once,
together.
"""

from copy import copy
from typing import Any

from llvmlite import ir
from llvmlite.binding import parse_bitcode
from numba.core.caching import _Cache as OverloadCache
from numba.core.callwrapper import PyCallWrapper
from numba.core.codegen import JITCodeLibrary, RuntimeLinker
from numba.core.compiler import Compiler, DefaultPassBuilder, compile_result
from numba.core.compiler_machinery import PassManager
from numba.core.environment import Environment, lookup_environment
from numba.core.pythonapi import PythonAPI
from numba.core.registry import CPUDispatcher
from numba.core.runtime.nrt import rtsys
from numba.core.serialize import dumps
from numba.core.targetconfig import ConfigStack
from numba.core.typed_passes import NopythonTypeInference, PreLowerStripPhis
from numba.core.untyped_passes import (
    DeadBranchPrune,
    FixupArgs,
    GenericRewrites,
    InlineInlinables,
    IRProcessing,
    ReconstructSSA,
    RewriteDynamicRaises,
    RewriteSemanticConstants,
    TranslateByteCode,
)

__all__ = [
    "Dispatcher",
    "InnerCompiler",
    "OuterCompiler",
    "OverloadCache",
    "dumps",
    "rebuild_inner",
    "rebuild_outer",
    "reduce_inner",
    "reduce_outer",
    "start_runtime",
]

_ENVIRONMENT = "_ZN08NumbaEnv"

# Numba's own passes without those for what kernels do not have: closures, comprehensions, `with`, literal arguments,
# arithmetic of whole arrays. Each walks over the whole function.
_PASSES = (
    TranslateByteCode,
    FixupArgs,
    IRProcessing,
    RewriteSemanticConstants,
    DeadBranchPrune,
    GenericRewrites,
    RewriteDynamicRaises,
    InlineInlinables,
    ReconstructSSA,
    NopythonTypeInference,
    PreLowerStripPhis,
)


def _optimize_definitions(library, module):
    """Numba makes a pass manager for each declaration, too: there are ten for a definition."""
    module.data_layout = library._codegen._data_layout
    for function in module.functions:
        if not function.is_declaration:
            passes, builder = library._codegen._function_pass_manager()
            passes.run(function, builder)


class Dispatcher(CPUDispatcher):
    """A function that is compiled for the types that it is called with."""

    def __init__(self, function, options, compiler, cache):
        super().__init__(function, {}, options, compiler)
        self._cache = cache

    def on_new_types(self, kinds):
        """Called before the function is compiled or loaded for types that it was not called with before."""

    def _compile_for_args(self, *args, **kws):
        self.on_new_types(tuple(map(self.typeof_pyval, args)))
        return super()._compile_for_args(*args, **kws)  # type: ignore[misc]


def start_runtime(target_context):
    """Start what manages the memory of kernels, which loaded code needs as well."""
    rtsys.initialize(target_context)


class InnerLibrary(JITCodeLibrary):
    """The instructions of a function, for kernels that call it."""

    _optimize_functions = _optimize_definitions

    def _optimize_final_module(self):
        pass

    def _finalize_final_module(self):
        self._finalize_dynamic_globals()
        if any(each.name.startswith(RuntimeLinker.PREFIX) for each in self._final_module.global_variables):
            raise NotImplementedError(f"{self.name}: a kernel may call itself, but not by way of another kernel")
        self._finalized = True

    def get_pointer_to_function(self, name):
        return 0

    @property
    def codegen(self):
        return self

    def set_env(self, name, environment):
        """Where Numba would set the environment in the machine code; `OuterLibrary` does that."""


class OuterLibrary(JITCodeLibrary):
    """The machine code of a function that Python calls, with all that it calls."""

    _optimize_functions = _optimize_definitions

    def environments(self):
        """What the code refers to of the functions that it was made of."""
        names = [each.name for each in self._final_module.global_variables if each.name.startswith(_ENVIRONMENT)]
        return tuple(found for found in map(lookup_environment, names) if found is not None)


class _WrapperAPI(PythonAPI):
    """What a wrapper calls Python with.

    Numba unpickles the class of every array that a kernel gives back, by a function in Python, at every call. Here it
    is a constant of the wrapper, as the array's dtype is.
    """

    constants: Any = None  # those of the wrapper, an EnvironmentManager

    def serialize_object(self, obj):
        return obj if isinstance(obj, type) else super().serialize_object(obj)

    def unserialize(self, structptr):
        if not isinstance(structptr, type):
            return super().unserialize(structptr)
        found = self.constants.read_const(self.constants.add_const(structptr))
        self.incref(found)  # what is unpickled belongs to the caller, too
        return found


class _Wrapper(PyCallWrapper):
    """What Python calls: it takes the arguments apart, calls the function, and makes Python's objects of the result."""

    def build_wrapper(self, api, builder, closure, args, kws):
        super().build_wrapper(_WrapperAPI(self.context, builder), builder, closure, args, kws)

    def get_env(self, api, builder):
        api.constants = super().get_env(api, builder)
        return api.constants


def _add_wrapper(context, library, description, environment, release_gil):
    """As Numba's own `create_cpython_wrapper`."""
    module = context.create_module("wrapper")
    kind = context.call_conv.get_function_type(description.restype, description.argtypes)
    function = ir.Function(module, kind, description.llvm_func_name)
    _Wrapper(context, module, function, description, environment, call_helper=None, release_gil=release_gil).build()
    library.add_ir_module(module)


class InnerCompiler(Compiler):
    """Compiles a function to instructions."""

    def __init__(self, typing_context, target_context, library, *others):
        super().__init__(typing_context, target_context, library, *others)
        self._codegen = target_context.codegen()

    def define_pipelines(self):
        passes = PassManager("kernel")
        for each in _PASSES:
            passes.add_pass(each, each.__name__)
        passes.passes.extend(DefaultPassBuilder.define_nopython_lowering_pipeline(self.state).passes)
        passes.finalize()
        return [passes]

    def compile_extra(self, func):
        self.state.library = InnerLibrary(self._codegen, func.__qualname__)
        return super().compile_extra(func)


class OuterCompiler(Compiler):
    """Compiles the instructions of a function, `inner`, to machine code."""

    def __init__(self, inner, typing_context, target_context, library, *others):
        super().__init__(typing_context, target_context, library, *others)
        self._codegen = target_context.codegen()
        self._inner = inner

    def compile_extra(self, func):
        flags, context, arguments = self.state.flags, self.state.targetctx, tuple(self.state.args)
        self._inner.compile(arguments)
        inner = self._inner.overloads[arguments]
        library = OuterLibrary(self._codegen, inner.library.name)
        library.enable_object_caching()
        library.add_linking_library(inner.library)
        description = _describe_outer(inner.fndesc)
        environment = Environment.from_fndesc(description)
        with ConfigStack().enter(flags.copy()):
            _add_wrapper(context, library, description, environment, flags.release_gil)
        library.finalize()
        return _compiled(context, library, description, environment, inner.signature, inner.reload_init)


def _describe_outer(inner):
    """The description of a function with an environment of its own.

    A call from Python needs other constants. They must not get into the environment that is kept with callers.
    """
    outer = copy(inner)
    outer.env_name = f"{inner.env_name}.outer"
    return outer


def _compiled(context, library, description, environment, signature, reload_init, environments=None):
    entry_point = context.get_executable(library, description, environment)
    environments = library.environments() if environments is None else environments
    for each in environments:
        library.codegen.set_env(each.env_name, each)
    return compile_result(
        target_context=context,
        typing_context=context.typing_context,
        library=library,
        environment=environment,
        entry_point=entry_point,
        fndesc=description,
        signature=signature,
        type_annotation="",
        objectmode=False,
        lifted=(),
        reload_init=reload_init,
        referenced_envs=environments,
    )


def reduce_inner(compiled):
    """What is kept of a function for kernels that call it."""
    return compiled.library._get_module_for_linking().as_bitcode(), *_reduce(compiled)


def rebuild_inner(context, code, name, description, environment, signature, reload_init):
    """What `reduce_inner` was given."""
    library = InnerLibrary(context.codegen(), name)
    library._final_module = parse_bitcode(code)
    library._finalize_final_module()
    return _compiled(context, library, description, environment, signature, reload_init, ())


def reduce_outer(compiled):
    """What is kept of a function that Python calls."""
    return compiled.library._get_compiled_object(), compiled.referenced_envs, *_reduce(compiled)


def rebuild_outer(context, code, environments, name, description, environment, signature, reload_init):
    """What `reduce_outer` was given."""
    library = OuterLibrary(context.codegen(), name)
    library.enable_object_caching()
    library._set_compiled_object(code)
    library._finalize_final_module()
    defined = {description.llvm_cpython_wrapper_name, environment.env_name, *(each.env_name for each in environments)}
    context.codegen()._engine._defined_symbols |= defined
    return _compiled(context, library, description, environment, signature, reload_init, environments)


def _reduce(compiled):
    compiled.fndesc.typemap = compiled.fndesc.calltypes = None  # not needed, and may not be picklable
    return compiled.library.name, compiled.fndesc, compiled.environment, compiled.signature, compiled.reload_init
