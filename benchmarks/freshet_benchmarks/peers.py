"""Other systems to measure beside, from PyPI, each in an environment of its own: their needs are not ours."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path


def peer_python(package: str) -> Path | None:
    """The Python of an environment that has a package, made the first time; None where it cannot be had."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "freshet" / "peers"
    home = cache / package.replace("==", "-")
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
