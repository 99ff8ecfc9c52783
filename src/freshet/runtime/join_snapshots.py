"""What waits to be joined in this process, saved with every checkpoint.

A snapshot is of the end of the journal, so it serves every checkpoint there is: entries that it has already are passed
over when they are replayed. One that is damaged, or has entries that the journal lost, is not used.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from freshet.runtime.durable_files import DamagedError, checksum, make_folder, reading, write_whole

if TYPE_CHECKING:
    from freshet.mapper.stream_join import StreamJoin


class JoinSnapshots:
    """A folder with a file for each join."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._joins: Mapping[str, StreamJoin] = {}
        self._saved: dict[str, int] = {}  # up to which entry of the journal each is saved

    def restore(self, joins: Mapping[str, StreamJoin], next_sequence: int) -> list[str]:
        """Take up what was saved; gives what is wrong with it, a line each."""
        from freshet.mapper.stream_join import snapshot_of

        self._joins = joins
        problems = []
        for name, join in joins.items():
            file = self._folder / f"{name}.arrow"
            if not file.exists():
                continue
            try:
                snapshot = snapshot_of(_read_checked(file))
                if snapshot.sequence >= next_sequence:
                    raise DamagedError("has more than the journal, which lost its end", file=str(file))
            except DamagedError as error:
                problems.append(f"{error}; what waited to be joined before the checkpoint meets nothing more")
                continue
            join.restore(snapshot)
            self._saved[name] = snapshot.sequence
        return problems

    def save(self) -> None:
        """Save what waits now, where that is something else than before."""
        from freshet.mapper.stream_join import snapshot_bytes

        for name, join in self._joins.items():
            snapshot = join.snapshot
            if snapshot is None or snapshot.sequence <= self._saved.get(name, -1):
                continue
            make_folder(self._folder)
            body = snapshot_bytes(snapshot)
            write_whole(self._folder, f"{name}.arrow", checksum(body).encode() + b"\n" + body)
            self._saved[name] = snapshot.sequence


def _read_checked(file: Path) -> bytes:
    with reading(file):
        first, _, body = file.read_bytes().partition(b"\n")
    if first.decode(errors="replace") != checksum(body):
        raise DamagedError("a file of the checkpoint is damaged: its checksum is another", file=str(file))
    return body
