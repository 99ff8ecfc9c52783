"""A name for all runs that continue one checkpoint, so that their output can be distinguished from that of others."""

from __future__ import annotations

import uuid
from pathlib import Path

from freshet.rdf.errors import InputError


def run_id(checkpoint: Path | None) -> str:
    """The name that is kept in a checkpoint, made by its first run; without a checkpoint no other run continues it."""
    made = uuid.uuid4().hex
    if checkpoint is None:
        return made
    file = checkpoint / "run-id"
    try:
        if file.exists():
            return file.read_text()
        unfinished = file.with_suffix(".unfinished")
        unfinished.write_text(made)
        unfinished.rename(file)
    except OSError as error:
        raise InputError(f"the checkpoint cannot be written: {error.strerror}", file=str(file)) from error
    return made
