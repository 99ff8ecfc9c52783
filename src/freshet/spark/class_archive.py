"""Spark's classes as an earlier JVM loaded them: a class-data-sharing archive, which saves half of Spark's start.

The first JVM writes it when it ends, under a name of its own. Its process waits for that and gives the archive its
place, so that the next run has it, however soon it starts; of a process that was killed the next run does so. The JVM
itself checks that an archive was made by the same Java over the same jars, and goes without it if not.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

from freshet.cache_folder import cache_folder

_SETTLED_SECONDS = 5  # a JVM takes less than one to write an archive
_END_SECONDS = 120  # for the JVM to end, archive included: some seconds on an idle machine
_MAKES = "-XX:ArchiveClassesAtExit="
_CLASS_PATH = 2  # a number for each order of the jars that `jvm.py` has made


def archive_options() -> list[str]:
    """The options of a JVM that uses the archive, or makes it."""
    archive = _archive()
    if archive is None:
        return []
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        _take_finished(archive)
    except OSError:
        return []
    if archive.exists():
        return [f"-XX:SharedArchiveFile={archive}", "-Xlog:cds*=off"]
    return [f"{_MAKES}{archive}.{os.getpid()}", "-Xlog:cds*=off"]


def makes_archive(options: list[str]) -> bool:
    """Whether a JVM with these options writes an archive when it ends."""
    return any(option.startswith(_MAKES) for option in options)


def end_with_archive(jvm: subprocess.Popen[bytes]) -> None:
    """End a JVM that makes an archive, and give the archive its place. The JVM ends with its standard input."""
    archive = _archive()
    if archive is None or jvm.stdin is None:
        return
    with suppress(OSError, subprocess.TimeoutExpired):
        jvm.stdin.close()
        if jvm.wait(_END_SECONDS) == 0:
            os.replace(f"{archive}.{os.getpid()}", archive)


def _archive() -> Path | None:
    """Where the archive of this Java and this Spark is, or will be. None where there is no Java."""
    program = java()
    if program is None:
        return None
    jars = sorted(jar.name for jar in (spark_folder() / "jars").glob("*.jar"))
    state = f"{program} {program.stat().st_mtime_ns} {spark_folder()} {jars} {_CLASS_PATH}"
    return cache_folder() / "spark" / f"{hashlib.sha256(state.encode()).hexdigest()[:20]}.jsa"


def java() -> Path | None:
    """The program that runs Spark's JVM."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    return None if found is None else Path(found).resolve()


def spark_folder() -> Path:
    """Where Spark is installed. PySpark is not imported for that."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def _take_finished(archive: Path) -> None:
    """Rename an archive that is whole. The JVM of a process that was killed writes it after that has ended."""
    for written in archive.parent.glob(f"{archive.name}.*"):
        if _is_running(int(written.suffix[1:])) or time.time() - written.stat().st_mtime < _SETTLED_SECONDS:
            continue
        with suppress(FileNotFoundError):  # another run was faster
            os.replace(written, archive)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
