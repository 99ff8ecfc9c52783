"""Spark's classes as an earlier JVM loaded them: a class-data-sharing archive, which saves half of Spark's start.

The first JVM writes it when it ends, under a name of its own; the next run gives it its place. The JVM itself checks
that an archive was made by the same Java over the same jars, and goes without it if not.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

import pyspark

from freshet.cache_folder import cache_folder

_SETTLED_SECONDS = 5  # a JVM takes less than one to write an archive


def archive_options() -> list[str]:
    """The options of a JVM that uses the archive, or makes it."""
    java = _java()
    if java is None:
        return []
    state = f"{java} {java.stat().st_mtime_ns} {pyspark.__version__} {Path(pyspark.__file__).parent}"
    archive = cache_folder() / "spark" / f"{hashlib.sha256(state.encode()).hexdigest()[:20]}.jsa"
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        _take_finished(archive)
    except OSError:
        return []
    if archive.exists():
        return [f"-XX:SharedArchiveFile={archive}", "-Xlog:cds*=off"]
    return [f"-XX:ArchiveClassesAtExit={archive}.{os.getpid()}", "-Xlog:cds*=off"]


def _java() -> Path | None:
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    return None if found is None else Path(found).resolve()


def _take_finished(archive: Path) -> None:
    """Rename an archive that is whole: its JVM writes it after the process that started it has ended."""
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
