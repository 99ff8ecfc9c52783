"""The journal: entries come back as they were written; damage is distinguished from what was never finished."""

import os
from pathlib import Path

import pytest

from freshet.rdf.errors import InputError
from freshet.runtime.durable_files import CheckpointError, DamagedError
from freshet.runtime.journal import Journal


def written(folder: Path, count: int, *, most_bytes: int = 1 << 20) -> list[tuple[int, dict, bytes]]:
    journal = Journal(folder, most_bytes=most_bytes)
    journal.recover(0)
    entries = []
    for number in range(count):
        body = bytes(range(number % 7)) * number
        sequence = journal.append({"number": number}, body[:3], memoryview(body[3:]))
        entries.append((sequence, {"number": number}, body))
    journal.close()
    return entries


def found(journal: Journal, first: int = 0) -> list[tuple[int, dict, bytes]]:
    return [(entry.sequence, entry.header, entry.body) for entry in journal.read(first)]


@pytest.mark.parametrize("most_bytes", [1, 300, 1 << 20])
@pytest.mark.parametrize("first", [0, 7, 20])
def test_entries_come_back(tmp_path, first, most_bytes):
    entries = written(tmp_path, 20, most_bytes=most_bytes)
    journal = Journal(tmp_path)
    headers, problem = journal.recover(first)
    assert (headers, problem) == ([entry[:2] for entry in entries[first:]], "")
    assert found(journal, first) == entries[first:]
    assert journal.append({}) == 20


def test_trimming_keeps_what_is_needed(tmp_path):
    entries = written(tmp_path, 20, most_bytes=300)
    journal = Journal(tmp_path)
    journal.recover(0)
    journal.trim(12)
    assert 0 < journal.first_sequence <= 12
    assert found(journal, 12) == entries[12:]


def test_an_entry_that_was_not_finished_is_taken_off(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "pwrite", lambda *_: 0)  # as if the process had ended before the file's head was written to
    for cut in range(1, 60):
        folder = tmp_path / str(cut)
        entries = written(folder, 5)
        (file,) = folder.glob("*.log")
        os.truncate(file, file.stat().st_size - cut)
        journal = Journal(folder)
        headers, problem = journal.recover(0)
        assert [sequence for sequence, _ in headers] == list(range(len(headers)))
        assert len(headers) in (3, 4)
        assert problem.startswith(str(file))
        assert "not acknowledged" in problem
        assert journal.append({"number": "new"}) == len(headers)
        assert [entry[1] for entry in found(journal)] == [*(e[1] for e in entries[: len(headers)]), {"number": "new"}]
        assert not list(folder.glob("*.damaged"))
        journal.close()


def test_a_file_that_was_cut_off_is_told_wherever_it_ends(tmp_path):
    """Also between two entries, where every entry that is left is whole."""
    entries = written(tmp_path / "whole", 5)
    (whole,) = (tmp_path / "whole").glob("*.log")
    data = whole.read_bytes()
    for size in range(len(data)):
        folder = tmp_path / str(size)
        folder.mkdir()
        file = folder / whole.name
        file.write_bytes(data[:size])
        journal = Journal(folder)
        headers, problem = journal.recover(0)
        assert problem.startswith(f"{file}: ")
        assert len(headers) < len(entries)
        assert size < 16 or "damaged" in problem
        assert found(journal) == entries[: len(headers)]
        assert journal.append({}) == len(headers)
        journal.close()
        assert Journal(folder).recover(0)[1] == ""


@pytest.mark.parametrize("end", ["sync", "rotate", "close"])
@pytest.mark.parametrize("is_known", [False, True])
def test_entries_that_nobody_waited_for_count_once_they_are_on_the_disk(tmp_path, end, is_known):
    journal = Journal(tmp_path, sync=False)
    journal.recover(0)
    journal.append({"number": 0})
    if is_known:
        getattr(journal, end)()
    (file,) = tmp_path.glob("*.log")
    os.truncate(file, 16)  # what is left is the head
    assert ("damaged" in Journal(tmp_path).recover(0)[1]) is is_known


@pytest.mark.parametrize("most_bytes", [200, 1 << 20])
def test_every_flipped_bit_is_found(tmp_path, most_bytes):
    entries = written(tmp_path / "whole", 12, most_bytes=most_bytes)
    files = sorted((tmp_path / "whole").glob("*.log"))
    sizes = [file.stat().st_size for file in files]
    for place in range(0, sum(sizes), 17):
        folder = tmp_path / str(place)
        folder.mkdir()
        for file in files:
            (folder / file.name).write_bytes(file.read_bytes())
        number = next(at for at in range(len(files)) if place < sum(sizes[: at + 1]))
        harmed = folder / files[number].name
        data = bytearray(harmed.read_bytes())
        data[place - sum(sizes[:number])] ^= 1 << (place % 8)
        harmed.write_bytes(data)
        journal = Journal(folder)
        headers, problem = journal.recover(0)
        assert harmed.name in problem
        is_in_head = place - sum(sizes[:number]) < 16  # then all entries of the file are whole
        assert len(headers) < len(entries) or (is_in_head and number == len(files) - 1)
        assert len(headers) > 0 or not is_in_head
        assert found(journal) == entries[: len(headers)]
        assert (folder / f"{harmed.name}.damaged").exists()
        assert journal.append({}) == len(headers)
        journal.close()
        again = Journal(folder)
        assert len(again.recover(0)[0]) == len(headers) + 1


def test_a_journal_of_an_earlier_version_is_refused_and_left_as_it_is(tmp_path):
    written(tmp_path, 3)
    (file,) = tmp_path.glob("*.log")
    file.write_bytes(before := file.read_bytes()[16:])  # which had no head
    with pytest.raises(InputError, match=r"\.log: an earlier version of Freshet wrote this journal"):
        Journal(tmp_path).recover(0)
    assert file.read_bytes() == before


def test_a_missing_file_is_told(tmp_path):
    entries = written(tmp_path, 20, most_bytes=300)
    files = sorted(tmp_path.glob("*.log"))
    files[1].unlink()
    journal = Journal(tmp_path)
    headers, problem = journal.recover(0)
    assert "are missing" in problem
    assert files[2].name in problem
    assert found(journal) == entries[: len(headers)]


def test_entries_are_dropped_from_one_on(tmp_path):
    entries = written(tmp_path, 20, most_bytes=300)
    journal = Journal(tmp_path)
    journal.recover(0)
    journal.drop_from(9)
    assert found(journal) == entries[:9]
    assert journal.append({}) == 9


def test_nothing_stays_of_what_could_not_be_written(tmp_path, monkeypatch):
    journal = Journal(tmp_path)
    journal.recover(0)
    journal.append({"number": 0})
    real = os.write

    def half(descriptor, data):
        real(descriptor, bytes(data)[: len(data) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", half)
    for _ in range(2):
        with pytest.raises(CheckpointError, match=r"\.log: the checkpoint cannot be written: No space left on device"):
            journal.append({"number": 1}, b"body")
    monkeypatch.setattr(os, "write", real)
    assert journal.append({"number": 2}) == 1
    again = Journal(tmp_path)
    assert again.recover(0) == ([(0, {"number": 0}), (1, {"number": 2})], "")


def synced(monkeypatch) -> list[tuple[Path, int]]:
    """Which files were brought to the disk, and how long they were."""
    found: list[tuple[Path, int]] = []

    def note(descriptor):
        found.append((Path(os.readlink(f"/proc/self/fd/{descriptor}")), os.fstat(descriptor).st_size))

    monkeypatch.setattr(os, "fsync", note)
    monkeypatch.setattr(os, "fdatasync", note)
    return found


def test_a_torn_end_is_taken_off_on_the_disk_too(tmp_path, monkeypatch):
    written(tmp_path, 5)
    (file,) = tmp_path.glob("*.log")
    os.truncate(file, file.stat().st_size - 3)
    found = synced(monkeypatch)
    Journal(tmp_path).recover(0)
    assert (file, file.stat().st_size) in found


def test_files_that_are_done_with_are_on_the_disk(tmp_path, monkeypatch):
    """Also where no call waits for each entry, since a checkpoint syncs the last file only."""
    journal = Journal(tmp_path, sync=False, most_bytes=300)
    journal.recover(0)
    found = synced(monkeypatch)
    for number in range(19):
        journal.append({"number": number})
        if number == 12:
            journal.rotate()
    files = sorted(tmp_path.glob("*.log"))
    assert len(files) == 3
    for file in files[:-1]:
        assert (file, file.stat().st_size) in found
    assert (files[-1], files[-1].stat().st_size) not in found


def test_a_file_that_cannot_be_read_is_named_in_one_line(tmp_path):
    written(tmp_path, 5)
    (file,) = tmp_path.glob("*.log")
    file.unlink()
    file.mkdir()
    with pytest.raises(DamagedError, match=r"\.log: a file of the checkpoint cannot be read: Is a directory"):
        Journal(tmp_path).recover(0)
