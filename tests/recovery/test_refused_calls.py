"""Calls that a session with a checkpoint refuses leave nothing in its folder, and the next start finds all others."""

from collections import deque
from pathlib import Path

import numpy as np
import pytest

from freshet import Session
from freshet.rdf.elements import Elements
from freshet.rdf.errors import InputError
from freshet.runtime.registered_query import RegisteredQuery
from freshet.store.dataset import StoredDataset
from freshet.store.slices import BufferFullError
from short_lives import IRI, QUERY, begun, killed, line

ELEMENT_BYTES = 32


def entries(folder: Path) -> int:
    return sum(file.stat().st_size for file in (folder / "journal").glob("*.log"))


def test_a_push_without_room_is_not_in_the_journal(tmp_path):
    session = begun(tmp_path)
    session.stream(IRI, keep_ms=10_000, keep_bytes=3 * ELEMENT_BYTES)
    for time_ms in (1000, 2000, 3000):
        session.push(IRI, line(time_ms))
    size = entries(tmp_path)
    for _ in range(2):
        with pytest.raises(BufferFullError, match="does not fit"):
            session.push(IRI, line(4000))
    assert entries(tmp_path) == size
    assert session.positions()[IRI] == (3, 3)
    assert session.engine.streams[IRI].watermark_ms == 3000
    assert session.engine.streams[IRI].refused == 2
    session.push(IRI, line(20_000))  # by then no window needs those before
    killed(session)
    again = begun(tmp_path)
    assert again.positions()[IRI] == (4, 4)
    again.close()


@pytest.mark.parametrize("wrong", ["12:00", 1.5, None, 2**70])
def test_a_wrong_watermark_is_refused_and_the_folder_stays_usable(tmp_path, wrong):
    session = begun(tmp_path)
    session.stream(IRI)
    with pytest.raises(InputError, match="a watermark in milliseconds"):
        session.advance(IRI, wrong)
    killed(session)
    again = begun(tmp_path)
    assert IRI in again.engine.streams
    again.close()


def test_numbers_of_other_types_are_kept(tmp_path):
    session = begun(tmp_path)
    session.stream(IRI, lateness_ms=np.int64(5))
    session.register(QUERY, every_ms=np.int32(1000), limit_seconds=np.float64(50))
    session.advance(IRI, np.int64(7))
    killed(session)
    again = begun(tmp_path)
    assert again.engine.streams[IRI].lateness_ms == 5
    assert again.engine.streams[IRI].watermark_ms == 7
    assert again.engine.names == ["q"]
    again.register(QUERY, every_ms=1000, limit_seconds=50)
    again.close()


def test_what_is_no_graph_directory_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    session = begun(tmp_path / "c")
    with pytest.raises(InputError, match="empty"):
        session.load(tmp_path / "empty")
    killed(session)
    begun(tmp_path / "c").close()


@pytest.mark.parametrize("options", [{"lateness_ms": "5"}, {"absorb": [7]}])
def test_wrong_options_of_a_stream_are_refused(tmp_path, options):
    session = begun(tmp_path)
    with pytest.raises(InputError, match="must be"):
        session.stream(IRI, **options)
    killed(session)
    again = begun(tmp_path)
    assert IRI not in again.engine.streams
    again.close()


def test_wrong_columns_are_refused(tmp_path):
    session = begun(tmp_path)
    session.stream(IRI)
    one, two = np.zeros(1, np.int64), np.zeros(2, np.int64)
    with pytest.raises(InputError, match="all of one length"):
        session.push(IRI, Elements(one, two, two, two))
    assert session.positions()[IRI].batches == 0
    session.close()


def test_a_session_with_a_checkpoint_has_its_own_stored_data(tmp_path):
    with pytest.raises(InputError, match="'checkpoint' or 'stored'"):
        Session(checkpoint=tmp_path / "c", stored=StoredDataset())
    assert not (tmp_path / "c").exists()


def test_a_report_that_is_taken_while_it_comes_is_not_taken_for_received(tmp_path):
    """It is taken as soon as it waits, in any order of the notes."""
    session = begun(tmp_path)
    session.stream(IRI)
    session.register(QUERY)
    box = session._durable._outboxes["q"]

    class Eager(deque):
        def append(self, each):
            super().append(each)
            if not took:
                took.append(True)
                taken.extend(query.take())

    took: list[bool] = []
    taken: list = []
    box.waiting, box.made = Eager(), Eager()
    query = box.query = RegisteredQuery("q", box.query.variables, box.waiting, box.made)
    session.push(IRI, line(500))
    session.push(IRI, line(1500))
    assert took
    taken = taken or query.take()
    assert len(taken) == 1
    session.push(IRI, line(1600))
    killed(session)
    assert len(begun(tmp_path).registered("q").take()) == 1  # it was not acknowledged


def test_accuracy_and_latency_go_with_services_only(tmp_path):
    session = begun(tmp_path)
    session.stream(IRI)
    for options in ({"accuracy": 0.5}, {"latency_ms": 5.0}):
        with pytest.raises(InputError, match="has no SERVICE, so there is no accuracy or latency"):
            session.register(QUERY, **options)
    assert session.engine.names == []
    session.close()
