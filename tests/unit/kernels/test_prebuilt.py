"""Kernels that came with the package: when they are used, and that they are only read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba
import pytest

from freshet.kernels import prebuilt
from freshet.kernels.prebuilt import Target, current_target, runs_here, usable_target, write_target

ROOT = Path(__file__).parents[3]


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> dict[str, bool]:
    """The features of the processor, which a test may change."""
    features = {"avx": True, "avx2": True, "sse4.2": True, "avx512f": False}
    monkeypatch.setattr(llvm, "get_host_cpu_features", lambda: features)
    return features


def _target(**changed: Any) -> Target:
    return current_target("x86-64-v3", "+avx,+avx2", {"session": "state"})._replace(**changed)


def test_kernels_run_where_the_processor_has_their_features(host: dict[str, bool]) -> None:
    assert runs_here(_target())
    host["avx512f"] = True  # more does not matter
    assert runs_here(_target())
    host["avx2"] = False
    assert not runs_here(_target())


def test_features_that_must_be_missing_are_not_asked_for(host: dict[str, bool]) -> None:
    assert runs_here(_target(features="+avx,-avx512f"))
    assert runs_here(_target(features=""))


def test_an_unknown_processor_runs_only_what_needs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> dict[str, bool]:
        raise RuntimeError("Unknown host")

    monkeypatch.setattr(llvm, "get_host_cpu_features", unknown)
    assert not runs_here(_target())
    assert runs_here(_target(features=""))


@pytest.mark.parametrize("part", ["numba", "llvmlite", "python", "triple"])
def test_another_version_or_platform_compiles(host: dict[str, bool], part: str) -> None:
    assert not runs_here(_target(**{part: "another"}))


@pytest.mark.parametrize(
    ("setting", "value"), [("CPU_NAME", "znver5"), ("CPU_FEATURES", "+avx"), ("ENABLE_AVX", False)]
)
def test_a_processor_that_the_user_chose_compiles(
    host: dict[str, bool], monkeypatch: pytest.MonkeyPatch, setting: str, value: object
) -> None:
    monkeypatch.setattr(numba.config, setting, value)
    assert not runs_here(_target())


def test_the_description_of_a_folder(host: dict[str, bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prebuilt, "FOLDER", tmp_path)
    find = usable_target.__wrapped__
    assert find() is None  # a clone, or a wheel for all platforms
    write_target(tmp_path, _target())
    assert find() == _target()
    write_target(tmp_path, _target(numba="0.1"))
    assert find() is None
    (tmp_path / "target.json").write_text('{"numba": "0.68.1"}')
    assert find() is None
    (tmp_path / "target.json").write_text("{")
    assert find() is None


_CALL = """
import sys
from pathlib import Path
import numpy as np
from numba.core import event
from freshet.kernels import prebuilt
from freshet.kernels.hashing import xxh64

prebuilt.FOLDER = Path(sys.argv[1])
if sys.argv[2] == "lacking":
    prebuilt.llvm.get_host_cpu_features = dict
compiled = event.install_recorder("numba:compile")
with compiled as record:
    result = xxh64(np.frombuffer(b"abc", np.uint8), 0, 3)
print(int(np.uint64(result)), len(record.buffer) > 0)
"""


def _call(folder: Path, cache: Path, processor: str = "host") -> list[str]:
    """The result, and whether anything was compiled."""
    environment = {**os.environ, "FRESHET_CACHE_DIR": str(cache)}
    command = [sys.executable, "-c", _CALL, str(folder), processor]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.split()


@pytest.mark.slow
def test_prebuilt_kernels_are_read_and_the_user_s_come_first(tmp_path: Path) -> None:
    folder, cache = tmp_path / "prebuilt", tmp_path / "cache"
    subprocess.run([sys.executable, ROOT / "tools" / "compile-kernels", folder, "hashing"], check=True)
    if not runs_here(Target(**json.loads((folder / "target.json").read_bytes()))):
        pytest.skip("this processor lacks the features that wheels are built for")

    result, compiled = _call(folder, cache)
    assert compiled == "False"
    assert not [file for file in cache.rglob("*") if file.is_file()]

    assert _call(folder, cache, "lacking") == [result, "True"]  # now it is in the cache
    for file in folder.glob("hashing.*"):
        file.write_bytes(b"damaged")
    assert _call(folder, cache) == [result, "False"]
    assert _call(folder, tmp_path / "other") == [result, "True"]
