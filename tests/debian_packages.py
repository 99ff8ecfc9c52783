"""Programs from Debian's packages, which tests install where they are missing and this user may."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from required import lacking


def program(name: str, part: str, package: str | None = None) -> str:
    """The path of a program; `part` is what FRESHET_REQUIRE calls it."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"])
    if (found := shutil.which(name, path=path)) is not None:
        return found
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        lacking(part, f"{name} is not installed, and this user cannot install it")
    with Path(tempfile.gettempdir(), f"freshet-install-{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # other tests, in another process, may install it now
        for pause in (0, 5, 20):  # the network may fail and be well again
            time.sleep(pause)
            if (found := shutil.which(name, path=path)) is not None:
                return found
            _install(package or name)
    if (found := shutil.which(name, path=path)) is None:
        lacking(part, f"{name} cannot be installed")
    return found


def _install(package: str) -> None:
    for command in (["update"], ["install", "-y", "--no-install-recommends", package]):
        subprocess.run(
            ["apt-get", "-o", "DPkg::Lock::Timeout=300", *command],
            capture_output=True,
            check=False,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        )
