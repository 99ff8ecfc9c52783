"""The wheel: what it has, what it leaves out, and what it says of itself."""

from __future__ import annotations

import email.message
import email.parser
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from freshet import __version__

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "freshet"
MOST_BYTES = 2_000_000


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _build(tmp_path_factory.mktemp("wheel"))


def _build(folder: Path, **environment: str) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder]
    subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> email.message.Message:
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(f"freshet-{__version__}.dist-info/METADATA").decode()
    return email.parser.HeaderParser().parsestr(text)


def test_it_has_the_package_and_nothing_else(names: set[str]) -> None:
    assert {name.split("/")[0] for name in names} == {"freshet", f"freshet-{__version__}.dist-info"}


def test_it_has_every_file_of_the_package(names: set[str]) -> None:
    files = {path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert {name for name in names if name.startswith("freshet/")} == {
        path.relative_to(PACKAGE.parent).as_posix() for path in files
    }
    grammars = {"freshet/syntax/grammar.lark", "freshet/syntax/update.lark"}
    assert {"freshet/py.typed", "freshet/demo/files/pipeline.yaml", *grammars} <= names


def test_it_has_the_licence(names: set[str], metadata: email.message.Message) -> None:
    assert f"freshet-{__version__}.dist-info/licenses/LICENSE" in names
    assert metadata["License-Expression"] == "Apache-2.0"


def test_its_version_is_that_of_the_package(wheel: Path, metadata: email.message.Message) -> None:
    assert metadata["Version"] == __version__
    assert wheel.name == f"freshet-{__version__}-py3-none-any.whl"


def test_it_is_small(wheel: Path) -> None:
    assert wheel.stat().st_size < MOST_BYTES


_LOAD = """
import sys
from pathlib import Path
import numpy as np
from numba.core import event
import freshet
from freshet.kernels import prebuilt
from freshet.kernels.hashing import xxh64

assert Path(freshet.__file__).is_relative_to(sys.argv[1])
compiled = event.install_recorder("numba:compile")
with compiled as record:
    xxh64(np.frombuffer(b"abc", np.uint8), 0, 3)
print(prebuilt.usable_target() is not None, len(record.buffer) == 0)
"""


@pytest.mark.slow
def test_a_wheel_for_a_platform_has_compiled_kernels(tmp_path: Path, names: set[str]) -> None:
    kernels, package = tmp_path / "kernels", tmp_path / "package"
    subprocess.run([sys.executable, ROOT / "tools" / "compile-kernels", kernels, "hashing"], check=True)
    wheel = _build(tmp_path / "dist", FRESHET_PREBUILT_KERNELS=str(kernels))
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    platform = sysconfig.get_platform().replace("-", "_")
    assert wheel.name == f"freshet-{__version__}-{python}-{python}-{platform}.whl"
    with zipfile.ZipFile(wheel) as archive:
        added = set(archive.namelist()) - names
        archive.extractall(package)
    assert added == {f"freshet/kernels/prebuilt/{file.name}" for file in kernels.iterdir()}

    environment = {**os.environ, "PYTHONPATH": str(package), "FRESHET_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-c", _LOAD, package]
    done = subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True, text=True)
    usable, loaded = done.stdout.split()
    assert loaded == usable  # a processor without the features that wheels are built for compiles
