"""The cache of compiled kernels, in processes of their own: a folder is chosen when the kernels are imported."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from freshet.kernels import cache
from freshet.kernels.cache import source_state

_KERNELS = Path(cache.__file__).parent

_CALL = """
import sys
import numpy as np
from numba.core import event
from freshet.kernels.hashing import xxh64

compiled = event.install_recorder("numba:compile")
with compiled as record:
    result = xxh64(np.frombuffer(b"abc", np.uint8), 0, 3)
print(int(np.uint64(result)), len(record.buffer))
"""

_CALL_OF_BOTH = """
import numpy as np
from numba.core import event
from freshet.kernels.jit import njit

@njit
def squares(count):
    made = np.empty(count, np.int64)
    for at in range(count):
        made[at] = at * at
    return made

@njit
def last_square(count):
    return squares(count)[-1]

compiled = event.install_recorder("numba:compile")
with compiled as record:
    result = last_square(4), squares(3)[-1]  # what returns an array after what calls it
print(f"{result[0]},{result[1]}", len(record.buffer))
"""


def _start(folder: Path, code: str = _CALL) -> "subprocess.Popen[str]":
    environment = {**os.environ, "FRESHET_CACHE_DIR": str(folder)}
    return subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def _call(folder: Path, code: str = _CALL) -> tuple[str, str, str]:
    """The result, how many compilations began or ended, and what was written to standard error."""
    process = _start(folder, code)
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    result, compilations = out.split()
    return result, compilations, errors


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.is_file())


def test_a_second_process_loads_what_the_first_compiled(tmp_path):
    first, compilations, _ = _call(tmp_path)
    assert int(compilations) > 0
    assert _call(tmp_path) == (first, "0", "")


def test_a_kernel_that_python_and_a_kernel_call(tmp_path):
    result, compilations, _ = _call(tmp_path, _CALL_OF_BOTH)
    assert result == "9,4"
    assert int(compilations) > 0
    assert _call(tmp_path, _CALL_OF_BOTH) == (result, "0", "")


@pytest.mark.slow
def test_processes_fill_one_cache_at_once(tmp_path):
    processes = [_start(tmp_path) for _ in range(3)]
    results = {process.communicate(timeout=120)[0].split()[0] for process in processes}
    assert len(results) == 1
    assert _call(tmp_path) == (results.pop(), "0", "")
    assert not [file for file in _files(tmp_path) if file.name.startswith(".")]


@pytest.mark.parametrize("kept", [pytest.param(0, marks=pytest.mark.slow), 100])
def test_damaged_files_are_compiled_again(tmp_path, kept):
    result, _, _ = _call(tmp_path)
    for file in _files(tmp_path):
        file.write_bytes(file.read_bytes()[:kept])
    again, compilations, _ = _call(tmp_path)
    assert again == result
    assert int(compilations) > 0
    assert _call(tmp_path)[1] == "0"


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_costs_a_warning(tmp_path):
    (tmp_path / "taken").write_text("a file where a folder should be")
    result, _, errors = _call(tmp_path / "taken")
    assert result == _call(tmp_path / "free")[0]
    assert "compiled kernels cannot be kept in" in errors


def _imported(tree: ast.AST) -> set[str]:
    """The modules of kernels that a module imports, by its syntax tree."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "freshet.kernels":
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("freshet.kernels."):
            found.add(node.module.split(".")[2])
        elif isinstance(node, ast.Import):
            assert not any(each.name.startswith("freshet") for each in node.names), "write from ... import"
    return found


@pytest.mark.parametrize("file", sorted(_KERNELS.glob("*.py")), ids=lambda file: file.stem)
def test_the_state_of_a_module_has_all_that_it_imports(file):
    assert cache._imports(file.stem)[1] == _imported(ast.parse(file.read_text()))


def test_a_change_makes_anew_what_imports_it(tmp_path, monkeypatch):
    before = {name: source_state(name) for name in ("wide", "values", "moments", "hashing")}
    copy = tmp_path / "kernels"
    shutil.copytree(_KERNELS, copy, ignore=shutil.ignore_patterns("__pycache__"))
    with (copy / "wide.py").open("a") as file:
        file.write("# changed\n")
    monkeypatch.setattr(cache, "_KERNELS", copy)
    _forget()
    changed = {name for name, state in before.items() if source_state(name) != state}
    monkeypatch.undo()
    _forget()
    assert changed == {"wide", "values", "moments"}


def _forget() -> None:
    cache._imports.cache_clear()
    source_state.cache_clear()
