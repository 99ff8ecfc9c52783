"""What the windows of registered queries may hold: a push beyond it is refused whole, until windows have moved on."""

from __future__ import annotations

import pytest

from declaring import register
from freshet import Session
from freshet.rdf.errors import BudgetError, InputError
from freshet.runtime.recordings import Recordings
from freshet.runtime.replay import replay
from freshet.store.slices import BufferFullError
from short_lives import begun, killed

S, T = "http://example.org/s", "http://example.org/t"
JOINED = """PREFIX : <http://example.org/>
REGISTER RSTREAM <joined> AS SELECT ?a ?b FROM NAMED WINDOW :w ON :s [RANGE PT2S STEP PT1S]
FROM NAMED WINDOW :v ON :t [RANGE PT2S STEP PT1S] WHERE { WINDOW :w { ?a :p ?x } WINDOW :v { ?b :p ?x } }"""
COUNTED = """PREFIX : <http://example.org/>
REGISTER RSTREAM <counted> AS SELECT (COUNT(*) AS ?n) FROM NAMED WINDOW :w ON :s [RANGE PT10S STEP PT10S]
WHERE { WINDOW :w { ?s ?p ?o } }"""
EVERY_ARRIVAL = """PREFIX : <http://example.org/>
SELECT ?a ?b WHERE { STREAM :s [RANGE 2s] { ?a :p ?x } STREAM :t [RANGE 2s] { ?b :p ?x } }"""
DERIVED = """PREFIX : <http://example.org/>
REGISTER RSTREAM <derived> AS SELECT ?a FROM NAMED WINDOW :w ON :s [RANGE PT2S @:at] WHERE { WINDOW :w { ?a :p ?x } }"""


def line(time_ms: int, subject: str = "", predicate: str = "p") -> str:
    subject = subject or f"e{time_ms}"
    return f"{time_ms}\t<http://example.org/{subject}> <http://example.org/{predicate}> <http://example.org/x> .\n"


def pushed(session: Session, stream: str, times: range) -> int:
    """How many elements find room, one after the other."""
    count = 0
    for time_ms in times:
        try:
            session.push(stream, line(time_ms))
        except BudgetError:
            break
        count += 1
    return count


@pytest.mark.parametrize("query", [JOINED, EVERY_ARRIVAL])
def test_a_stream_that_runs_ahead_is_refused_until_the_other_comes(query: str) -> None:
    session = Session(window_bytes=20_000)
    register(session, query, name="q")
    session.push(T, line(0))
    taken = pushed(session, S, range(0, 1_000_000, 100))
    state = session.engine.streams[S]
    assert 50 < taken < 20_000 // 32
    assert (state.refused, state.elements, state.watermark_ms) == (1, taken, 100 * (taken - 1))
    held = session.engine.window_room(S).held_bytes
    assert 10_000 - 1000 < held <= 10_000  # half is left to the stream that holds it back
    session.push(T, line(100 * taken))  # the windows of both move on, and let go of what is too old
    assert session.engine.window_room(S).held_bytes < held / 2
    session.push(S, line(100 * taken))
    assert state.refused == 1


def test_nothing_of_a_refused_batch_is_taken() -> None:
    session = Session(window_bytes=10_000)
    query = register(session, COUNTED)
    session.push(S, line(0) + line(1))
    with pytest.raises(BudgetError, match=r"a push of 1,000 elements of the stream <http://example.org/s> does not"):
        session.push(S, "".join(line(time_ms) for time_ms in range(2, 1002)))
    assert session.engine.streams[S].elements == 2
    session.push(S, line(2))
    session.finish()
    assert [row["n"].lexical for report in query.take() for row in session.bindings(report)] == ["3"]


def test_windows_never_hold_more_than_they_may() -> None:
    session = Session(window_bytes=5_000)
    register(session, COUNTED)
    for time_ms in range(0, 40_000, 10):
        try:
            session.push(S, line(time_ms))
        except BudgetError:
            session.advance(S, time_ms)
        assert session.engine.window_room(S).held_bytes <= 5_000
    assert session.engine.streams[S].refused > 0
    assert session.engine.streams[S].elements > 2 * 40  # of more than one window


def test_what_waits_for_a_derived_time_counts() -> None:
    session = Session(window_bytes=5_000)
    session.stream(S, lateness_ms=1_000_000)
    register(session, DERIVED)
    assert 10 < pushed(session, S, range(0, 100_000, 10)) < 5_000 // 32
    assert session.engine.window_room(S).held_bytes > 500


def test_streams_that_no_window_reads_and_stored_data_do_not_count(tmp_path) -> None:
    data = tmp_path / "data.nt"
    data.write_text("".join(line(at).partition("\t")[2] for at in range(1000)))
    session = Session(window_bytes=5_000)
    session.load(data)
    session.stream(T, absorb=True)
    register(session, COUNTED.replace("?s ?p ?o }", "?s ?p ?o } ?a <http://example.org/p> ?b"))
    session.push(T, "".join(line(time_ms) for time_ms in range(1000, 3000)))
    session.push(S, line(0) + line(20_000))
    assert session.engine.streams[T].refused == 0


def test_a_query_that_comes_later_counts_at_once() -> None:
    session = Session(window_bytes=10_000)
    session.stream(S)
    session.push(S, "".join(line(time_ms) for time_ms in range(1000)))  # which no query holds
    register(session, COUNTED)
    with pytest.raises(BudgetError):
        session.push(S, "".join(line(time_ms) for time_ms in range(1000, 2000)))
    session.unregister("counted")
    session.push(S, "".join(line(time_ms) for time_ms in range(1000, 2000)))


def test_a_refused_push_is_not_in_the_journal_and_a_restart_refuses_nothing(tmp_path) -> None:
    session = begun(tmp_path, window_bytes=10_000)
    register(session, COUNTED)
    taken = pushed(session, S, range(1000))
    assert 0 < taken < 1000
    killed(session)
    again = begun(tmp_path, window_bytes=2_000)  # less than what the windows held
    assert again.positions()[S] == (taken, taken)
    with pytest.raises(BudgetError):
        again.push(S, line(taken))
    query = again.registered("counted")
    again.finish()
    assert [row["n"].lexical for report in query.take() for row in again.bindings(report)] == [str(taken)]
    again.close()


def test_a_budget_must_be_some_bytes() -> None:
    for wrong in (0, -1):
        with pytest.raises(InputError, match="must be a positive number"):
            Session(window_bytes=wrong)


def test_both_kinds_of_budget_are_one_kind_of_error() -> None:
    assert issubclass(BufferFullError, BudgetError)


def test_a_recording_that_has_ended_holds_no_other_back(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("freshet.runtime.recordings._CHUNK_BYTES", 500)
    recordings = {S: [tmp_path / "s.tnt"], T: [tmp_path / "t.tnt"]}
    recordings[S][0].write_text("".join(line(time_ms, "a") for time_ms in range(0, 60_000, 50)))
    recordings[T][0].write_text("".join(line(time_ms, "b") for time_ms in range(0, 1_000, 100)))
    found = []
    for window_bytes in (None, 40_000):
        session = Session(window_bytes=window_bytes)
        query = register(session, JOINED)
        replay(session, Recordings(recordings))
        found.append([session.ndjson(report) for report in query.take()])
    assert found[0] == found[1]
    assert found[0]
    assert session.engine.streams[S].refused > 0
    session = Session(window_bytes=1_000)
    register(session, JOINED)
    with pytest.raises(BudgetError, match="does not fit"):
        replay(session, Recordings(recordings))


def test_sizes_say_what_is_for_what() -> None:
    session = Session()
    session.stream(S, absorb=True, keep_ms=10_000)
    register(session, COUNTED)
    before = session.sizes()
    assert before["stream_index"] == before["appended"] == 0
    assert before["windows"] < 200  # the one group of a query without GROUP BY
    session.push(S, "".join(line(time_ms) for time_ms in range(1000)))
    after = session.sizes()
    assert after["windows"] >= 1000 * 32
    assert after["appended"] >= 1000 * 24
    assert 8 * 1000 < after["stream_index"] < 20 * 1000
    assert after["dictionary"] > before["dictionary"]
    session.advance(S, 100_000)
    assert session.sizes()["windows"] < 200
    assert session.sizes()["stream_index"] == 0
