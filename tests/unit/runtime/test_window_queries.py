"""One-shot queries over the last windows of streams, absorbed or not."""

from __future__ import annotations

import threading

import pytest

from freshet import Session
from freshet.rdf.errors import InputError, UnsupportedError
from freshet.store.slices import BufferFullError

STREAM = "http://example.org/s"
QUERY = """PREFIX : <http://example.org/>
SELECT ?s ?o ?f FROM NAMED WINDOW :w ON :s [RANGE PT2S STEP PT1S] WHERE { WINDOW :w { ?s :at ?o } ?s :floor ?f }"""


def element(time_ms: int, subject: int, place: int, predicate: str = "at") -> str:
    return (
        f"{time_ms}\t<http://example.org/{subject}> <http://example.org/{predicate}> <http://example.org/p{place}> .\n"
    )


def session_with(tmp_path, **options) -> Session:
    data = tmp_path / "floors.nt"
    data.write_text(
        "".join(f"<http://example.org/{n}> <http://example.org/floor> <http://example.org/f{n}> .\n" for n in range(4))
    )
    session = Session()
    session.load(data)
    session.stream(STREAM, **options)
    return session


def places(session: Session, query: str = QUERY) -> set[tuple[str, str]]:
    found = session.bindings(session.query(query))
    return {(row["s"].value.rpartition("/")[2], row["o"].value.rpartition("/")[2]) for row in found}


@pytest.mark.parametrize("absorb", [False, True, ["http://example.org/at"], ["http://example.org/other"]])
def test_a_window_holds_what_it_held_when_it_closed_last(tmp_path, absorb) -> None:
    session = session_with(tmp_path, absorb=absorb, keep_ms=3000)
    assert places(session) == set()
    session.push(STREAM, element(100, 0, 1) + element(900, 1, 1) + element(1500, 2, 2))
    assert places(session) == {("0", "p1"), ("1", "p1")}  # [-1000, 1000)
    session.push(STREAM, element(2100, 0, 3) + element(2500, 1, 1) + element(3000, 3, 3))
    assert places(session) == {("2", "p2"), ("0", "p3"), ("1", "p1")}  # [1000, 3000): what came again is there
    session.advance(STREAM, 4000)
    assert places(session) == {("0", "p3"), ("1", "p1"), ("3", "p3")}
    session.advance(STREAM, 9000)
    assert places(session) == set()
    assert session.stored.nbytes().slices == 0


def test_an_aggregate_over_empty_windows_is_no_answer(tmp_path) -> None:
    session = session_with(tmp_path, keep_ms=3000)
    counted = "SELECT (COUNT(*) AS ?n) FROM NAMED WINDOW <w> ON <http://example.org/s> [RANGE PT2S STEP PT1S]"
    counted += " WHERE { WINDOW <w> { ?s ?p ?o } }"
    assert list(session.bindings(session.query(counted))) == []
    session.push(STREAM, element(100, 0, 1) + element(1000, 0, 1))
    assert [row["n"].lexical for row in session.bindings(session.query(counted))] == ["1"]


def test_a_push_without_room_is_refused_whole(tmp_path) -> None:
    session = session_with(tmp_path, keep_ms=10_000, keep_bytes=32 * 3)
    session.push(STREAM, element(100, 0, 1) + element(1500, 1, 1))
    with pytest.raises(BufferFullError):
        session.push(STREAM, element(2000, 2, 1) + element(2500, 3, 1))
    assert session.engine.streams[STREAM].refused == 1
    assert session.engine.streams[STREAM].elements == 2
    assert session.engine.streams[STREAM].watermark_ms == 1500
    session.push(STREAM, element(2000, 2, 1))
    assert places(session) == {("0", "p1"), ("1", "p1")}
    session.advance(STREAM, 20_000)
    session.push(STREAM, element(20_000, 2, 1) + element(20_500, 3, 1) + element(21_000, 1, 1))  # there is room again
    assert places(session) == {("2", "p1"), ("3", "p1")}


def test_what_cannot_be_asked_says_so(tmp_path) -> None:
    session = session_with(tmp_path, keep_ms=1000)
    with pytest.raises(InputError, match="keeps 1000 ms"):
        session.query(QUERY)
    with pytest.raises(UnsupportedError, match="one-shot queries can ask"):
        session.query(QUERY.replace("[RANGE PT2S STEP PT1S]", "[COUNT 5]"))
    with pytest.raises(InputError, match="there is no such stream"):
        session.query(QUERY.replace("ON :s", "ON :other"))


def test_a_stored_triple_that_comes_again_is_in_the_window(tmp_path) -> None:
    session = session_with(tmp_path, absorb=True, keep_ms=3000)
    session.push(STREAM, element(100, 0, 0, "floor").replace("/p0", "/f0"))
    session.advance(STREAM, 1000)
    found = session.query(QUERY.replace(":at", ":floor"))
    assert len(found.rows) == 1


def test_the_end_of_a_stream_leaves_its_last_window(tmp_path) -> None:
    session = session_with(tmp_path, keep_ms=3000)
    session.push(STREAM, element(100, 0, 1) + element(1000, 1, 1))
    session.finish()
    assert places(session) == {("0", "p1")}


OTHER = "http://example.org/t"
BOTH = """PREFIX : <http://example.org/>
SELECT ?s ?o FROM NAMED WINDOW :w ON :s [RANGE PT2S STEP PT1S] FROM NAMED WINDOW :v ON :t [RANGE PT1S STEP PT1S]
WHERE { WINDOW :w { ?s :at ?o } WINDOW :v { ?s :at ?o } }"""


def test_windows_of_several_streams_are_of_their_common_time(tmp_path) -> None:
    session = session_with(tmp_path, keep_ms=5000)
    session.stream(OTHER, keep_ms=5000)
    session.push(STREAM, "".join(element(1000 * second + 500, second, 1) for second in range(5)))
    assert places(session, BOTH) == set()  # the other has not come anywhere yet
    session.push(OTHER, element(600, 0, 1) + element(1600, 1, 1) + element(2100, 2, 1))
    assert places(session, BOTH) == {("1", "p1")}  # both at 2000
    session.advance(OTHER, 3000)
    assert places(session, BOTH) == {("2", "p1")}


def test_a_window_of_the_common_time_that_is_no_longer_kept_is_an_error(tmp_path) -> None:
    session = session_with(tmp_path, keep_ms=3000)
    session.stream(OTHER, keep_ms=3000)
    session.push(STREAM, element(500, 0, 1))
    session.push(OTHER, element(500, 0, 1) + element(1000, 1, 1))
    session.advance(STREAM, 60_000)
    with pytest.raises(InputError, match="no longer has its window that closed at 1000"):
        places(session, BOTH)
    session.advance(OTHER, 60_000)
    assert places(session, BOTH) == set()


@pytest.mark.parametrize("absorb", [False, True])
def test_windows_that_a_registered_query_reads_together_are_kept_for_their_common_time(tmp_path, absorb) -> None:
    session = session_with(tmp_path, keep_ms=3000, absorb=absorb)
    session.stream(OTHER, keep_ms=3000)
    session.register(BOTH, name="both")
    session.push(STREAM, element(500, 0, 1))
    session.push(OTHER, element(500, 0, 1) + element(1000, 1, 1))
    for time_ms in (5000, 30_000, 60_000):
        session.advance(STREAM, time_ms)
        assert places(session, BOTH) == {("0", "p1")}  # at 1000
    session.advance(OTHER, 60_000)
    assert places(session, BOTH) == set()
    session.advance(STREAM, 61_000)
    assert session.stored.nbytes().slices == 0


def test_windows_are_not_kept_for_a_common_time_where_there_is_no_room(tmp_path) -> None:
    session = session_with(tmp_path, keep_ms=3000, keep_bytes=32 * 2)
    session.stream(OTHER, keep_ms=3000)
    session.register(BOTH, name="both")
    session.push(OTHER, element(500, 0, 1) + element(1000, 1, 1))
    for second in range(0, 40, 4):
        session.push(STREAM, element(1000 * second + 500, 0, 1))
    with pytest.raises(InputError, match="no longer has its window that closed at 1000"):
        places(session, BOTH)


def test_windows_and_graph_are_of_one_moment(tmp_path) -> None:
    """Each batch has the same subject in both streams, and absorbs it: whatever is in a window is in the graph."""
    session = session_with(tmp_path, absorb=True, keep_ms=5000)
    session.stream(OTHER, absorb=True, keep_ms=5000)
    asked = """PREFIX : <http://example.org/>
        SELECT ?s ?v ?g FROM NAMED WINDOW :w ON :s [RANGE PT1S STEP PT1S]
        FROM NAMED WINDOW :v ON :t [RANGE PT1S STEP PT1S]
        WHERE { WINDOW :w { ?s :at ?o } OPTIONAL { WINDOW :v { ?s :at ?v } } OPTIONAL { ?s :at ?g } }"""
    ended, answered = threading.Event(), threading.Semaphore(0)
    wrong: list[object] = []
    sizes: set[int] = set()

    def ask() -> None:
        try:
            while not ended.is_set():
                rows = list(session.bindings(session.query(asked)))
                sizes.add(len(rows))
                wrong.extend(row for row in rows if "v" not in row or "g" not in row)
                answered.release()
        except BaseException as error:
            wrong.append(error)
            answered.release()

    readers = [threading.Thread(target=ask) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for second in range(80):
            batch = "".join(element(1000 * second + at + 1, 100 * second + at, 1) for at in range(50))
            session.push(STREAM, batch + element(1000 * second + 1000, 0, 9, "end"))
            session.push(OTHER, batch + element(1000 * second + 1000, 0, 9, "end"))
            assert answered.acquire(timeout=60)
    finally:
        ended.set()
        for reader in readers:
            reader.join(60)
    assert not wrong
    assert sizes <= {0, 50}
    assert 50 in sizes


def test_loads_and_pushes_do_not_wait_for_each_other(tmp_path) -> None:
    session = session_with(tmp_path, absorb=True)
    file = tmp_path / "more.nt"
    file.write_text("<http://example.org/x> <http://example.org/p> <http://example.org/y> .\n")
    done = threading.Event()

    def push() -> None:
        for time_ms in range(400):
            session.push(STREAM, element(time_ms, time_ms, 1))
        done.set()

    pushing = threading.Thread(target=push, daemon=True)
    pushing.start()
    while not done.is_set():
        loading = threading.Thread(target=session.load, args=(file,), daemon=True)
        loading.start()
        loading.join(300)
        assert not loading.is_alive(), "a load waits for a push that waits for the load"
    pushing.join(300)
    assert len(session.query("SELECT * { ?s <http://example.org/at> ?o }").rows) == 400
