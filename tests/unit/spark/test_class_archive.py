"""Where the archive of Spark's classes comes from."""

import os
import subprocess
import sys
import time

import pytest

from freshet.spark import class_archive
from freshet.spark.class_archive import archive_options, end_with_archive, makes_archive


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("FRESHET_CACHE_DIR", str(tmp_path))


def _written_by_first_run() -> str:
    (option,) = [each for each in archive_options() if each.startswith("-XX:ArchiveClassesAtExit=")]
    return option.partition("=")[2]


def _write(file: str, process: int, seconds_ago: float) -> None:
    path = f"{file.rpartition('.')[0]}.{process}"
    with open(path, "wb") as out:
        out.write(b"classes")
    os.utime(path, (time.time() - seconds_ago,) * 2)


def test_the_first_run_writes_it_and_later_ones_use_it(monkeypatch):
    file = _written_by_first_run()
    assert file.endswith(f".jsa.{os.getpid()}")
    monkeypatch.setattr(class_archive, "_is_running", lambda process: False)
    _write(file, 77, seconds_ago=60)
    archive = file.rpartition(".")[0]
    assert f"-XX:SharedArchiveFile={archive}" in archive_options()
    assert os.path.exists(archive)


@pytest.mark.parametrize(("running", "seconds_ago"), [(True, 60), (False, 0)])
def test_it_is_not_used_while_it_may_be_written(monkeypatch, running, seconds_ago):
    file = _written_by_first_run()
    monkeypatch.setattr(class_archive, "_is_running", lambda process: running)
    _write(file, 77, seconds_ago)
    assert _written_by_first_run() == file


def _jvm(file: str, status: int = 0) -> subprocess.Popen[bytes]:
    """A process that ends with its input, and writes an archive then."""
    program = f"import sys; sys.stdin.read(); open({file!r}, 'wb').write(b'classes'); sys.exit({status})"
    return subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE)


def test_the_next_run_has_it_at_once():
    file = _written_by_first_run()
    assert makes_archive(archive_options())
    end_with_archive(_jvm(file))
    assert f"-XX:SharedArchiveFile={file.rpartition('.')[0]}" in archive_options()
    assert not makes_archive(archive_options())


def test_what_a_jvm_that_failed_has_written_is_not_used():
    end_with_archive(_jvm(_written_by_first_run(), status=1))
    assert makes_archive(archive_options())


def test_processes_that_run_are_known():
    assert class_archive._is_running(os.getpid())


def test_without_java_or_a_folder_there_is_none(tmp_path, monkeypatch):
    (tmp_path / "taken").write_text("")
    monkeypatch.setenv("FRESHET_CACHE_DIR", str(tmp_path / "taken"))
    assert archive_options() == []
    monkeypatch.setattr(class_archive, "java", lambda: None)
    assert archive_options() == []
