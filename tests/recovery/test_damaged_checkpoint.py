"""What damage to the files of a checkpoint does: it is reported, and what is whole is used."""

from pathlib import Path

import pytest

from freshet import Session
from freshet.rdf.errors import InputError
from session_lives import finished, lived, newest, reopened


def flip(file: Path, place: int) -> None:
    data = bytearray(file.read_bytes())
    data[place] ^= 0x10
    file.write_bytes(data)


@pytest.mark.parametrize("place", [3, -30])
def test_a_damaged_manifest(tmp_path, whole, place):
    received: dict = {}
    lived(tmp_path / "c", received)
    file = newest(tmp_path / "c" / "manifests", "*.json")
    flip(file, place)
    finished(reopened(tmp_path / "c", received, file.name), whole)


def test_it_is_told_which_checkpoint_is_used(tmp_path, whole):
    """Where it is the older one that is damaged, the newest is used; where there was only one, the journal."""
    received: dict = {}
    lived(tmp_path / "c", received)
    flip(min((tmp_path / "c" / "manifests").glob("*.json")), 3)
    finished(reopened(tmp_path / "c", received, "recovery uses the checkpoint after it"), whole)

    with Session(checkpoint=tmp_path / "d") as session:
        session.stream("http://e/s")
    flip(newest(tmp_path / "d" / "manifests", "*.json"), 3)
    with pytest.warns(UserWarning, match="recovery uses the journal"):
        again = Session(checkpoint=tmp_path / "d")
    assert list(again.engine.streams) == ["http://e/s"]
    again.close()


@pytest.mark.parametrize("harm", ["flip", "cut", "remove", "empty"])
@pytest.mark.parametrize("kind", ["triples", "terms"])
def test_a_damaged_segment(tmp_path, whole, harm, kind):
    received: dict = {}
    lived(tmp_path / "c", received)
    file = newest(tmp_path / "c" / "graph", f"*-{kind}.parquet")
    harms = {
        "flip": lambda: flip(file, file.stat().st_size // 2),
        "cut": lambda: file.write_bytes(file.read_bytes()[:-7]),
        "remove": file.unlink,
        "empty": lambda: file.write_bytes(b""),
    }
    harms[harm]()
    finished(reopened(tmp_path / "c", received, file.name), whole)


def test_no_whole_checkpoint_is_an_error_that_names_the_file(tmp_path):
    lived(tmp_path / "c", {}, until=110)
    for file in (tmp_path / "c" / "manifests").glob("*.json"):
        flip(file, 40)
    for _ in range(2):
        with pytest.raises(InputError, match=r"manifests/.*\.json: .*damaged.*no checkpoint before it"):
            Session(checkpoint=tmp_path / "c")


@pytest.mark.parametrize("harm", ["flip", "cut", "zeros"])
def test_a_damaged_journal_ends_before_the_damage_and_the_source_sends_again(tmp_path, whole, harm):
    received: dict = {}
    lived(tmp_path / "c", received)
    file = newest(tmp_path / "c" / "journal", "*.log")
    size = file.stat().st_size
    if harm == "flip":
        flip(file, 2 * size // 3)
    else:
        file.write_bytes(file.read_bytes()[: 2 * size // 3] + (b"" if harm == "cut" else bytes(999)))
    life = reopened(tmp_path / "c", received, file.name)
    assert 60 <= life.taken < 80
    finished(life, whole)
    finished(reopened(tmp_path / "c", received), whole)


def test_a_lost_end_of_the_journal_is_told(tmp_path, whole):
    received: dict = {}
    lived(tmp_path / "c", received)
    files = sorted((tmp_path / "c" / "journal").glob("*.log"))
    for file in files[-2:]:
        file.unlink()
    finished(reopened(tmp_path / "c", received, "journal"), whole)
