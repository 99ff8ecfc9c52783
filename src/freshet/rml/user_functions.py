"""Functions that users write in Python, over Arrow arrays, and declare by the IRIs that mappings call them by.

    from freshet.rml.user_functions import mapping_function

    @mapping_function("http://example.org/fn#shout", ["http://example.org/fn#text"], "http://example.org/fn#out")
    def shout(text: pa.Array) -> pa.Array:
        return pc.binary_join_element_wise(pc.utf8_upper(text), "!", "")

Each call gets the values of a batch of records, as strings with nulls, and gives as many.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from freshet.rdf.errors import InputError
from freshet.rdf.terms import Iri
from freshet.rml.functions import TEXT, Function

ArrowFunction = Callable[..., pa.Array]
_MARK = "__mapping_function__"


@dataclass(frozen=True, slots=True)
class UserFunction:
    """A declaration, the function itself, and a digest of the file that it is in."""

    declared: Function
    apply: ArrowFunction
    code: str = ""


def mapping_function(
    iri: str, parameters: Sequence[str], output: str, *, datatype: str | None = None
) -> Callable[[ArrowFunction], ArrowFunction]:
    """Declare a function that mappings may call. Its results are texts, or literals of a datatype."""

    def declare(function: ArrowFunction) -> ArrowFunction:
        result = TEXT if datatype is None else Iri(datatype)
        declared = Function(iri, tuple(parameters), len(parameters), frozenset({output}), result)
        setattr(function, _MARK, UserFunction(declared, function))
        return function

    return declare


def load_functions(file: Path) -> dict[str, UserFunction]:
    """The functions that a Python file declares, by their IRIs."""
    name = f"freshet_functions_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None or not file.is_file():
        raise InputError("is no Python file", file=str(file))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"cannot be loaded: {type(error).__name__}: {error}", file=str(file)) from error
    marked = [getattr(value, _MARK) for value in vars(module).values() if hasattr(value, _MARK)]
    if not marked:
        raise InputError("declares no mapping_function", file=str(file))
    code = hashlib.sha256(file.read_bytes()).hexdigest()
    return {each.declared.name: replace(each, code=code) for each in marked}
