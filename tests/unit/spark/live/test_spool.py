"""A spool gives back what it was given, by number, also after it was cut off anywhere."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from freshet.rdf.errors import InputError
from freshet.spark.live import spool as spools
from freshet.spark.live.spool import Document, Spool, read_documents


def documents(first, count):
    return [Document(f"text {at}", f"place/{at}", at, f"{at}:x") for at in range(first, first + count)]


def lines(spool, start, end):
    batches = read_documents(spool.between(start, end), start, end)
    return [line for batch in batches for line in batch.column("line").to_pylist()]


def texts(start, end):
    return [f"text {at}" for at in range(start, end)]


def test_any_range_can_be_read_again(tmp_path, monkeypatch):
    monkeypatch.setattr(spools, "_SEGMENT_BYTES", 1500)
    spool = Spool(tmp_path)
    for first in range(0, 60, 6):
        spool.append(documents(first, 6))
    assert len(list(tmp_path.glob("*.documents"))) > 2
    for start, end in ((0, 60), (3, 4), (5, 31), (59, 60), (7, 7)):
        assert lines(spool, start, end) == texts(start, end)


def test_a_spool_opened_again_goes_on(tmp_path):
    spool = Spool(tmp_path)
    spool.append(documents(0, 5))
    spool.close()
    again = Spool(tmp_path)
    assert again.end == 5
    again.append(documents(5, 2))
    assert lines(again, 3, 7) == texts(3, 7)
    assert again.tokens() == [f"{at}:x" for at in range(7)]


@settings(deadline=None)  # it waits for the disk
@given(cut=st.integers(1, 2000))
def test_what_a_crash_tore_off_is_written_anew(tmp_path_factory, cut):
    folder = tmp_path_factory.mktemp("spool")
    spool = Spool(folder)
    sizes = []
    for first in (0, 4, 8):
        spool.append(documents(first, 4))
        (file,) = folder.glob("*.documents")
        sizes.append(file.stat().st_size)
    spool._file.close()
    spools.os.close(spool._held)
    kept = max(0, sizes[-1] - cut)
    with file.open("r+b") as torn:
        torn.truncate(kept)
    whole = 4 * sum(size <= kept for size in sizes)
    again = Spool(folder)
    assert again.end == whole
    again.append(documents(whole, 3))
    assert lines(again, 0, again.end) == texts(0, whole + 3)
    again.close()


def test_what_is_committed_is_deleted_but_numbers_go_on(tmp_path, monkeypatch):
    monkeypatch.setattr(spools, "_SEGMENT_BYTES", 1)
    spool = Spool(tmp_path)
    for first in (0, 3, 6):
        spool.append(documents(first, 3))
    spool.trim(5)
    assert lines(spool, 3, 9) == texts(3, 9)
    spool.trim(9)
    assert len(list(tmp_path.glob("*.documents"))) == 1
    spool.close()
    assert Spool(tmp_path).end == 9


def test_two_cannot_write(tmp_path, monkeypatch):
    monkeypatch.setattr(spools, "_LOCK_SECONDS", 0.1)
    spool = Spool(tmp_path)
    with pytest.raises(InputError, match="another run"):
        Spool(tmp_path)
    spool.close()
    Spool(tmp_path).close()
