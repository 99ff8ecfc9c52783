"""The wheel: what it has, what it leaves out, and what it says of itself."""

from __future__ import annotations

import email.message
import email.parser
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from freshet import __version__

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "freshet"
MOST_BYTES = 1_500_000


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
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
