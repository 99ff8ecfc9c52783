"""Jars by package name, through the Ivy that comes with Spark; kept, so that they are fetched once."""

from __future__ import annotations

import fcntl
import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

import pyspark

from freshet.cache_folder import cache_folder
from freshet.rdf.errors import InputError

_SECONDS = 600
_COMPLETE, _LOCK = "complete", "lock"


class Package(NamedTuple):
    """Maven's three names of an artifact."""

    organisation: str
    name: str
    version: str


def spark_jars() -> Path:
    """The folder of the jars that Spark itself brings."""
    return Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent) / "jars"


def jars_folder() -> Path:
    """Where fetched jars are kept."""
    return cache_folder() / "jars"


def is_complete(folder: Path) -> bool:
    """Whether everything was fetched into a folder."""
    return (folder / _COMPLETE).exists()


def fetch(
    packages: Sequence[Package],
    folder: Path,
    *,
    instead: Sequence[Package] = (),
    without: Sequence[tuple[str, str]] = (),
) -> list[Path]:
    """The jars of packages and of all they need, in a folder.

    `instead` are versions to take where another package asks for others; `without` are organisations and names (`*` is
    any) that are there already. An InputError says what could not be had.
    """
    if not is_complete(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with _alone(folder):
            if not is_complete(folder):
                _run_ivy(_module(packages, instead, without), folder, packages[0])
                (folder / _COMPLETE).touch()
    return sorted(folder.glob("*.jar"))


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time: two would write the same files, and one would take up what the other has begun."""
    with (folder / _LOCK).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run_ivy(module: str, folder: Path, package: Package) -> None:
    ivy = next(iter(sorted(spark_jars().glob("ivy-*.jar"))), None)
    if ivy is None:
        raise InputError(f"{package.name} cannot be fetched: there is no Ivy among Spark's jars")
    with tempfile.TemporaryDirectory(prefix="freshet-") as home:
        described = Path(home) / "ivy.xml"
        described.write_text(module)
        wanted = f"{folder}/[artifact]-[revision].[ext]"
        java = str(Path(os.environ["JAVA_HOME"]) / "bin" / "java") if "JAVA_HOME" in os.environ else "java"
        command = [java, "-jar", str(ivy), "-ivy", str(described), "-retrieve", wanted, "-types", "jar", "bundle"]
        try:
            ran = subprocess.run([*command, "-warn"], capture_output=True, text=True, timeout=_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise InputError(f"{package.name} {package.version} cannot be fetched: {error}") from None
    missing = [line.strip(" \t:") for line in (ran.stdout + ran.stderr).splitlines() if line.endswith(": not found")]
    if ran.returncode or missing:
        reason = "; ".join(dict.fromkeys(missing)) or (ran.stderr or ran.stdout).strip().splitlines()[-1:]
        raise InputError(f"{package.name} {package.version} cannot be fetched: {reason}")


def _module(packages: Sequence[Package], instead: Sequence[Package], without: Sequence[tuple[str, str]]) -> str:
    lines = [
        *(_element("dependency", {**_named(each, "name"), "conf": "default"}) for each in packages),
        *(_element("exclude", {"org": organisation, "module": name}) for organisation, name in without),
        *(_element("override", _named(each, "module")) for each in instead),
    ]
    head = '<ivy-module version="2.0"><info organisation="freshet" module="jars"/>'
    return "\n".join([head, "<dependencies>", *lines, "</dependencies></ivy-module>"])


def _named(package: Package, key: str) -> dict[str, str]:
    return {"org": package.organisation, key: package.name, "rev": package.version}


def _element(name: str, attributes: Mapping[str, str]) -> str:
    return f"<{name} " + " ".join(f"{key}={quoteattr(value)}" for key, value in attributes.items()) + "/>"
