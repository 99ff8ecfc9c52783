"""Pushes into independent streams run beside each other; everything else waits for its turn, and nobody for ever."""

from __future__ import annotations

from collections.abc import Callable
from threading import Barrier, Event, Thread

import pytest

import freshet
from freshet.native.engine_lock import EngineLock
from freshet.rdf.errors import InputError
from freshet.rdf.terms import Iri
from freshet.results.answers import AnswerBatch

EX = "http://example.org/"
SECONDS = 60  # before a test that hangs is said to


def query(name: str, *streams: str, output: str = "RSTREAM", form: str = "SELECT *") -> str:
    """Reads the last two seconds of streams at every second."""
    windows = [f"FROM NAMED WINDOW <w{at}> ON <{EX}{each}> [RANGE PT2S STEP PT1S]" for at, each in enumerate(streams)]
    blocks = [f"WINDOW <w{at}> {{ ?s ?p{at} ?o{at} }}" for at, _ in enumerate(streams)]
    return f"REGISTER {output} <{EX}{name}> AS {form} {' '.join(windows)} WHERE {{ {' '.join(blocks)} }}"


def element(time_ms: int, subject: str = "s") -> tuple[int, Iri, Iri, Iri]:
    return time_ms, Iri(EX + subject), Iri(EX + "p"), Iri(EX + f"o{time_ms}")


def run_all(*work: Callable[[], None]) -> None:
    """Run each in a thread of its own, and raise what goes wrong in any."""
    errors: list[BaseException] = []

    def run(each: Callable[[], None]) -> None:
        try:
            each()
        except BaseException as error:
            errors.append(error)

    threads = [Thread(target=run, args=(each,), daemon=True) for each in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert not any(thread.is_alive() for thread in threads), "they wait for each other"
    for error in errors:
        raise error


def meet_in_pushes(session: freshet.Session, *streams: str) -> None:
    """Push into streams from a thread each; returns when all have been in the middle of a push at the same time."""
    met = Barrier(len(streams))
    pushed = session.engine._push

    def push(*arguments: object) -> None:
        met.wait(SECONDS)
        pushed(*arguments)  # type: ignore[arg-type]

    session.engine._push = push  # type: ignore[method-assign]
    try:
        run_all(*(lambda each=each: session.push(EX + each, element(5000)) for each in streams))  # type: ignore[misc]
    finally:
        session.engine._push = pushed  # type: ignore[method-assign]


def test_pushes_into_streams_with_queries_of_their_own_run_at_the_same_time() -> None:
    session = freshet.Session()
    for stream in "ab":
        session.stream(EX + stream)
        session.register(query(f"q{stream}", stream))
    meet_in_pushes(session, "a", "b")


def _joined(session: freshet.Session) -> None:
    session.register(query("both", "a", "b"))


def _constructed(session: freshet.Session) -> None:
    session.register(query("made", "a", form="CONSTRUCT { ?s ?p0 ?o0 }"))
    session.register(query("reads", "b", "made"))


def _stored(session: freshet.Session) -> None:
    session.stream(EX + "c", absorb=True)
    for stream in "ab":
        text = f"SELECT * WHERE {{ STREAM <{EX}{stream}> [NOW] {{ ?s <{EX}p> ?o }} ?s <{EX}stored> ?x }}"
        session.register(text, name=f"stored{stream}")


@pytest.mark.parametrize("connect", [_joined, _constructed, _stored])
def test_streams_that_queries_connect_are_pushed_to_one_after_the_other(
    connect: Callable[[freshet.Session], None],
) -> None:
    session = freshet.Session()
    for stream in "ab":
        session.stream(EX + stream)
    connect(session)
    connected = session.engine._lock.connected
    assert {EX + "a", EX + "b"} <= connected[EX + "a"] == connected[EX + "b"]


def test_streams_are_independent_again_when_the_query_that_read_both_is_gone() -> None:
    session = freshet.Session()
    for stream in "ab":
        session.stream(EX + stream)
    session.register(query("both", "a", "b"))
    session.unregister(EX + "both")
    meet_in_pushes(session, "a", "b")


def test_callbacks_run_one_at_a_time_and_may_register() -> None:
    """Two that ask to be alone in the middle of their pushes do not wait for each other."""
    session = freshet.Session()
    inside: list[str] = []
    began = Event()

    def called(batch: AnswerBatch) -> None:
        inside.append(batch.query)
        assert len(inside) == 1, "another callback runs"
        began.set()
        stream = batch.query[-1]
        for at in range(20):
            session.register(query(f"more{stream}", "a", "b"))
            session.unregister(f"{EX}more{stream}")
            session.push(f"{EX}later", element(at))
        inside.remove(batch.query)

    session.stream(EX + "later")
    for stream in "ab":
        session.stream(EX + stream)
        session.register(query(f"q{stream}", stream), on_batch=called)

    def push(stream: str) -> None:
        for time_ms in range(0, 10_000, 500):
            session.push(EX + stream, element(time_ms))

    run_all(lambda: push("a"), lambda: push("b"))
    assert began.is_set()
    assert not session.failures
    assert session.engine.streams[EX + "later"].elements == 2 * 9 * 20


def test_answers_are_those_of_one_thread_while_others_register_and_ask() -> None:
    """Streams are pushed to by threads of their own, beside queries that come and go, and one-shot ones."""

    def make() -> tuple[freshet.Session, list[freshet.RegisteredQuery]]:
        session = freshet.Session()
        for stream in "abcd":
            session.stream(EX + stream, absorb=stream == "d", keep_ms=5000 if stream == "c" else 0)
        found = [session.register(query(f"q{stream}", stream, output="ISTREAM")) for stream in "abcd"]
        return session, [*found, session.register(query("ab", "a", "b"))]

    def push(session: freshet.Session, stream: str) -> None:
        for first_ms in range(0, 40_000, 250):
            rows = [element(first_ms + at, f"s{first_ms % 3000 + at}") for at in range(5)]
            session.push(EX + stream, rows)

    expected_session, expected = make()
    for stream in "abcd":
        push(expected_session, stream)
    session, found = make()

    def disturb() -> None:
        for at in range(30):
            session.register(query(f"other{at}", "b", "c"))
            session.query(f"SELECT (COUNT(*) AS ?n) {{ ?s <{EX}p> ?o }}")
            session.sizes()
            session.unregister(f"{EX}other{at}")

    pushes = [lambda stream=stream: push(session, stream) for stream in "abcd"]  # type: ignore[misc]
    run_all(*pushes, disturb)
    assert not session.failures
    expected_session.finish()
    session.finish()
    for one, other in zip(expected, found, strict=True):
        given = [(report.time_ms, sorted(map(tuple, report.rows.tolist()))) for report in one.take()]
        assert len(given) > 30
        assert [(report.time_ms, sorted(map(tuple, report.rows.tolist()))) for report in other.take()] == given


def test_a_query_that_fails_in_one_stream_leaves_pushes_into_others_alone() -> None:
    failures: list[str] = []
    session = freshet.Session(on_failure=lambda failure: failures.append(failure.query))

    def fail(batch: AnswerBatch) -> None:
        raise ValueError("as expected")

    for stream in "ab":
        session.stream(EX + stream)
        for at in range(10):
            session.register(query(f"fails{stream}{at}", stream), on_batch=fail)
    kept = [session.register(query(f"kept{stream}", stream)) for stream in "ab"]

    def push(stream: str) -> None:
        for time_ms in range(0, 10_000, 500):
            session.push(EX + stream, element(time_ms))

    run_all(lambda: push("a"), lambda: push("b"))
    assert len(failures) == 20
    assert [len(each.take()) for each in kept] == [9, 9]


def test_who_is_alone_may_be_so_again_and_push() -> None:
    lock = EngineLock()
    with lock:
        with lock:
            lock.enter("a")
            assert lock.is_pushing
            with lock:
                assert lock.is_mine
            lock.leave()
        assert lock.is_mine
        assert not lock.is_pushing
    assert not lock.is_mine
    assert not lock.is_occupied


def test_a_push_that_was_refused_leaves_its_stream_free() -> None:
    session = freshet.Session()
    session.stream(EX + "a")
    with pytest.raises(InputError):
        session.advance(EX + "b", 5)
    session.push(EX + "a", element(1))
    assert not session.engine._lock.is_occupied
