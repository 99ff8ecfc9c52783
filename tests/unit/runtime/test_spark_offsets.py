"""Spark is taken back to the last batch that the journal has, and not further."""

from pathlib import Path

import pytest

from freshet.rdf.errors import InputError
from freshet.runtime.spark_offsets import go_back


def spark_folder(folder: Path, planned: int, committed: int) -> Path:
    for name, count in (("offsets", planned), ("commits", committed)):
        (folder / name).mkdir(parents=True)
        for number in range(count):
            (folder / name / str(number)).write_text("v1")
            (folder / name / f".{number}.crc").write_text("")
    return folder


def left(folder: Path) -> list[list[int]]:
    names = [[file.name for file in (folder / name).iterdir()] for name in ("offsets", "commits")]
    assert all(len(each) % 2 == 0 for each in names)  # checksums go with their files
    return [sorted(int(name) for name in each if name.isdigit()) for each in names]


@pytest.mark.parametrize(("planned", "committed"), [(5, 5), (6, 5), (0, 0), (1, 0)])
def test_nothing_changes_where_the_journal_has_everything(tmp_path, planned, committed):
    folder = spark_folder(tmp_path, planned, committed)
    assert not go_back(folder, committed - 1)
    assert not go_back(folder, committed + 3)
    assert left(folder) == [list(range(planned)), list(range(committed))]


@pytest.mark.parametrize(("batch", "planned", "committed"), [(2, 4, 3), (-1, 1, 0), (3, 5, 4)])
def test_batches_that_are_missing_come_again(tmp_path, batch, planned, committed):
    folder = spark_folder(tmp_path, 6, 5)
    assert go_back(folder, batch)
    assert left(folder) == [list(range(planned)), list(range(committed))]


def test_there_may_be_nothing(tmp_path):
    assert not go_back(tmp_path / "none", -1)


@pytest.mark.parametrize(("batch", "missing"), [(-1, 0), (2, 2), (3, 3), (3, 4)])
def test_more_is_missing_than_spark_has_offsets_for(tmp_path, batch, missing):
    folder = spark_folder(tmp_path, 9, 8)
    for name in ("offsets", "commits"):
        for number in range(missing + 1):
            (folder / name / str(number)).unlink()
            (folder / name / f".{number}.crc").unlink()
    before = left(folder)
    with pytest.raises(InputError, match=f"no offsets of batch {max(batch, 0)} any more"):
        go_back(folder, batch)
    assert left(folder) == before
