"""The folder of what Freshet keeps between runs: compiled kernels, classes of Spark's JVM, jars."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """`$FRESHET_CACHE_DIR`, else `freshet` in `$XDG_CACHE_HOME` or `~/.cache`."""
    own = os.environ.get("FRESHET_CACHE_DIR")
    if own:
        return Path(own)
    shared = os.environ.get("XDG_CACHE_HOME")
    return (Path(shared) if shared else Path.home() / ".cache") / "freshet"
