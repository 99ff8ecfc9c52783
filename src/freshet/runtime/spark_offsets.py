"""What Spark remembers of a stream, taken back to what the journal has.

Spark keeps for each micro-batch which offsets it has (`offsets/N`) and that it was taken (`commits/N`). A batch is
committed after it is in the journal. Where the journal has lost its end nevertheless, because a file was damaged, Spark
is to take the batches again that are missing.
"""

from __future__ import annotations

from pathlib import Path

from freshet.rdf.errors import InputError
from freshet.runtime.durable_files import writing


def go_back(folder: Path, batch: int) -> bool:
    """Have Spark go on after a batch, if it believes that later ones were taken; says whether it did."""
    committed = _numbered_files(folder / "commits")
    if max(committed, default=-1) <= batch:
        return False
    planned = _numbered_files(folder / "offsets")
    for needed in (number for number in (batch, batch + 1) if number >= 0):  # from where to where the next one goes
        if needed not in planned:
            raise InputError(
                f"the journal has no batch after {batch}, and Spark has no offsets of batch {needed} any more to read"
                " it again: choose a new checkpoint folder",
                file=str(folder),
            )
    for number in sorted(planned, reverse=True):  # from the end, so that being cut off in between does no harm
        if number > batch + 1:
            _remove(planned[number])
    for number in sorted(committed, reverse=True):
        if number > batch:
            _remove(committed[number])
    return True


def _numbered_files(folder: Path) -> dict[int, Path]:
    files = folder.iterdir() if folder.is_dir() else ()
    return {int(file.name): file for file in files if file.name.isdigit()}


def _remove(file: Path) -> None:
    with writing(file):
        file.unlink()
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
