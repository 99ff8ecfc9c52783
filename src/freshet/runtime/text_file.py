"""Text files that a user names: read, or an error in one line."""

from __future__ import annotations

import os
from pathlib import Path

from freshet.rdf.errors import InputError


def read_text(path: Path) -> str:
    """The text of a file; an InputError where it cannot be had."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise InputError("not UTF-8 text", file=show_path(path), line=line, column=1) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=show_path(path)) from None


def show_path(path: Path) -> str:
    """A path as a user would type it: relative where it lies below the working folder."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith(os.pardir) else relative
