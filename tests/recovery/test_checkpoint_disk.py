"""A session with a checkpoint on a disk that is full, or cannot be written to."""

from contextlib import suppress
from pathlib import Path

import pytest

from freshet import Session
from freshet.rdf.errors import InputError
from session_lives import Life, finished, reopened
from small_disk import read_only, small_disk


def fill(file: Path) -> None:
    """Write until there is no room left."""
    with file.open("wb", buffering=0) as opened, suppress(OSError):
        while True:
            opened.write(bytes(4096))


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_full_disk_loses_nothing_that_was_acknowledged(tmp_path, whole):
    received: dict = {}
    with small_disk(tmp_path / "disk", "256k") as disk:
        life = Life(disk / "c", received, seconds=0.01)
        filler = disk / "filler"
        life.push(0, 40)
        with life.session._durable._checkpoint._making:  # which else might give room back afterwards
            fill(filler)
        for _ in range(3):
            with pytest.raises(
                InputError, match=r"journal/\d+\.log: the checkpoint cannot be written: No space"
            ) as full:
                life.push(life.taken, 90)
            assert "\n" not in str(full.value)
        refused = life.taken
        assert 40 <= refused < 90
        filler.unlink()
        life.push(refused, 100)  # the same session goes on
        life.kill()
        again = reopened(disk / "c", received)
        assert again.taken == 100
        finished(again, whole)


def test_a_folder_that_cannot_be_written_to(tmp_path, whole):
    received: dict = {}
    with small_disk(tmp_path / "disk", "4m") as disk:
        life = Life(disk / "c", received)
        life.push(0, 40)
        life.kill()
        life.session._durable._checkpoint.journal.close()
        with read_only(disk):
            with pytest.raises(InputError, match="cannot be written to: Read-only file system"):
                Session(checkpoint=disk / "c")
            with pytest.raises(InputError, match="cannot be made: Read-only file system"):
                Session(checkpoint=disk / "other")
        finished(reopened(disk / "c", received), whole)


def test_a_folder_that_is_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="the checkpoint folder cannot be made: File exists"):
        Session(checkpoint=tmp_path / "file")
