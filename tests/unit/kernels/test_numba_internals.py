"""What is used of Numba that it does not document: a version that changes it fails here, by name."""

from __future__ import annotations

import ast
import inspect
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.caching import _Cache
from numba.core.callconv import CPUCallConv
from numba.core.callwrapper import PyCallWrapper
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen, RuntimeLinker
from numba.core.compiler import CR_FIELDS, Compiler, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager
from numba.core.cpu import CPUContext
from numba.core.environment import Environment
from numba.core.pythonapi import EnvironmentManager, PythonAPI
from numba.core.registry import CPUDispatcher
from numba.core.runtime.nrt import rtsys

import freshet
from freshet.kernels.jit import njit

PACKAGE = Path(freshet.__file__).parent
ADAPTER = PACKAGE / "kernels" / "numba_internals.py"
DOCUMENTED = {  # also Numba's interface for extensions
    "numba",
    "numba.core.cgutils",
    "numba.core.imputils",
    "numba.core.types",
    "numba.extending",
    "numba.np.numpy_support",
    "numba.types",
}

USED = {
    CPUDispatcher: {
        "__init__": ["self", "py_func", "locals", "targetoptions", "pipeline_class"],
        "_compile_for_args": ["self", "args", "kws"],
        "compile": ["self", "sig"],
        "get_call_template": ["self", "args", "kws"],
        "get_overload": ["self", "sig"],
        "typeof_pyval": ["self", "val"],
    },
    _Cache: {
        "cache_path": None,
        "disable": ["self"],
        "enable": ["self"],
        "flush": ["self"],
        "load_overload": ["self", "sig", "target_context"],
        "save_overload": ["self", "sig", "data"],
    },
    JITCodeLibrary: {
        "__init__": ["self", "codegen", "name"],
        "_finalize_dynamic_globals": ["self"],
        "_finalize_final_module": ["self"],
        "_get_compiled_object": ["self"],
        "_get_module_for_linking": ["self"],
        "_optimize_final_module": ["self"],
        "_optimize_functions": ["self", "ll_module"],
        "_set_compiled_object": ["self", "value"],
        "add_linking_library": ["self", "library"],
        "codegen": None,
        "enable_object_caching": ["self"],
        "finalize": ["self"],
        "get_pointer_to_function": ["self", "name"],
        "has_dynamic_globals": None,
    },
    JITCPUCodegen: {
        "_function_pass_manager": ["self", "kwargs"],
        "magic_tuple": ["self"],
        "set_env": ["self", "env_name", "env"],
    },
    RuntimeLinker: {"PREFIX": None},
    Compiler: {
        "__init__": ["self", "typingctx", "targetctx", "library", "args", "return_type", "flags", "locals"],
        "compile_extra": ["self", "func"],
        "define_pipelines": ["self"],
    },
    DefaultPassBuilder: {"define_nopython_lowering_pipeline": ["state", "name"]},
    PassManager: {"add_pass": ["self", "pss", "description"], "finalize": ["self"]},
    Environment: {"from_fndesc": ["fndesc"]},
    CPUContext: {
        "codegen": ["self"],
        "create_cpython_wrapper": ["self", "library", "fndesc", "env", "call_helper", "release_gil"],  # done anew
        "create_module": ["self", "name"],
        "get_executable": ["self", "library", "fndesc", "env"],
    },
    CPUCallConv: {"get_function_type": ["self", "restype", "argtypes"]},
    EnvironmentManager: {"add_const": ["self", "const"], "read_const": ["self", "index"]},
    PyCallWrapper: {
        "__init__": ["self", "context", "module", "func", "fndesc", "env", "call_helper", "release_gil"],
        "build": ["self"],
        "build_wrapper": ["self", "api", "builder", "closure", "args", "kws"],
        "get_env": ["self", "api", "builder"],
    },
    PythonAPI: {
        "__init__": ["self", "context", "builder"],
        "incref": ["self", "obj"],
        "nrt_adapt_ndarray_to_python": ["self", "aryty", "ary", "dtypeptr"],
        "serialize_object": ["self", "obj"],
        "unserialize": ["self", "structptr"],
    },
    type(rtsys): {"initialize": ["self", "ctx"]},
}


@pytest.mark.parametrize("owner", USED, ids=lambda owner: owner.__name__)
def test_numba_has_what_is_used_of_it(owner: type) -> None:
    found = {
        name: None if parameters is None else list(inspect.signature(getattr(owner, name)).parameters)
        for name, parameters in USED[owner].items()
        if hasattr(owner, name)
    }
    assert found == USED[owner]


def test_a_result_of_a_compilation_has_the_fields_that_are_set() -> None:
    tree = ast.parse(ADAPTER.read_text())
    (call,) = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _name(node.func) == "compile_result"]
    assert {each.arg for each in call.keywords} <= set(CR_FIELDS)


@njit
def halves(numbers):  # type: ignore[no-untyped-def]
    first, second = np.empty(numbers.shape[0], np.int64), np.empty(numbers.shape[0], np.int64)
    for at in range(numbers.shape[0]):
        first[at] = numbers[at] // 2
        second[at] = numbers[at] - first[at]
    return first, second


def test_no_python_runs_where_a_kernel_gives_arrays_back() -> None:
    called: list[str] = []
    numbers = np.arange(3)
    halves(numbers)  # what compiles or loads a kernel does
    sys.setprofile(lambda frame, event, _: called.append(frame.f_code.co_name) if event == "call" else None)
    first, second = halves(numbers)
    sys.setprofile(None)
    assert called == ["halves"]  # Numba says so of kernels, too
    assert (first.tolist(), second.tolist(), type(first)) == ([0, 0, 1], [0, 1, 1], np.ndarray)


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def test_one_module_alone_uses_what_is_not_documented() -> None:
    used = {
        (path.relative_to(PACKAGE).as_posix(), module)
        for path in PACKAGE.rglob("*.py")
        if path != ADAPTER
        for module in _numba_modules(ast.parse(path.read_text()))
    }
    assert {each for each in used if each[1] not in DOCUMENTED} == set()


def _numba_modules(tree: ast.Module) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {each.name for each in node.names if each.name.partition(".")[0] == "numba"}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "numba":
            inner = node.module in ("numba", "numba.core")
            found |= {f"{node.module}.{each.name}" if inner else str(node.module) for each in node.names}
    return found
