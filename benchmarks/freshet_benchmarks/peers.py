"""Other systems to measure beside, from PyPI, each in an environment or folder of its own: their needs are not ours."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import venv
from pathlib import Path
from types import ModuleType


def peer_python(package: str) -> Path | None:
    """The Python of an environment that has a package, made the first time; None where it cannot be had."""
    home = _cache() / package.replace("==", "-")
    python = home / "bin" / "python"
    ready = home / "ready"
    if ready.exists():
        return python
    print(f"installing {package} into {home} (once)", file=sys.stderr)
    try:
        venv.create(home, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", package], check=True, stdout=sys.stderr)
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"{package} cannot be had, so it is not measured: {error}", file=sys.stderr)
        return None
    ready.touch()
    return python


def peer_module(name: str, requirement: str) -> ModuleType | None:
    """A module to measure beside, from this environment, or from a folder of its own where pip puts it the first time;
    None where it cannot be had."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        pass
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    home = _cache() / f"{name}-{version}"
    ready = home / "ready"
    if not ready.exists():
        print(f"installing {requirement} into {home} (once)", file=sys.stderr)
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(home), requirement]
        try:
            subprocess.run(command, check=True, stdout=sys.stderr)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"{requirement} cannot be had, so it is not measured: {error}", file=sys.stderr)
            return None
        ready.touch()
    sys.path.append(str(home))
    return importlib.import_module(name)


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "freshet" / "peers"
