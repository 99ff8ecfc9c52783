"""The docstrings of the public API: their examples run, and they name every parameter."""

from __future__ import annotations

import doctest
import importlib
import inspect
import subprocess
import sys

import pytest

import freshet

MODULES = (
    "freshet.rdf.deadline",
    "freshet.rdf.errors",
    "freshet.results.readable",
    "freshet.results.report",
    "freshet.runtime.query_failure",
    "freshet.runtime.registered_query",
    "freshet.runtime.session",
)
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def examples() -> list[doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    found = [test for name in MODULES for test in finder.find(importlib.import_module(name), globs={})]
    return [test for test in found if test.examples]


@pytest.mark.parametrize("example", examples(), ids=lambda test: test.name)
def test_the_example_runs_as_it_is_written(example: doctest.DocTest) -> None:
    runner = doctest.DebugRunner(optionflags=OPTIONS)
    runner.run(example)


def public_methods() -> list[tuple[str, object]]:
    classes = (freshet.Session, freshet.RegisteredQuery)
    return [
        (f"{owner.__name__}.{name}", member)
        for owner in classes
        for name, member in vars(owner).items()
        if inspect.isfunction(member) and (name == "__init__" or not name.startswith("_"))
        if owner is freshet.Session or name != "__init__"
    ]


METHODS = public_methods()


@pytest.mark.parametrize(("name", "method"), METHODS, ids=[name for name, _ in METHODS])
def test_every_parameter_is_described(name: str, method: object) -> None:
    text = inspect.getdoc(method)
    assert text
    described = {line.split(":")[0].strip().lstrip("*") for line in text.splitlines() if ":" in line}
    missing = [each for each in inspect.signature(method).parameters if each != "self" and each not in described]  # type: ignore[arg-type]
    assert not missing


def test_every_public_name_is_there_and_importing_freshet_imports_nothing_heavy() -> None:
    assert all(getattr(freshet, name).__name__ == name for name in freshet.__all__ if name != "__version__")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        freshet.nothing  # noqa: B018
    code = "import sys, freshet; freshet.FreshetError, freshet.Iri; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numba", "pyarrow", "pandas", "pyspark", "freshet.runtime.session"} & set(loaded)
