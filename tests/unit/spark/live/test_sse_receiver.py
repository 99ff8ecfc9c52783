"""Server-sent events: how they are cut, and what becomes of a server that goes away."""

from __future__ import annotations

from pathlib import Path

import pytest

from event_server import EventServer
from freshet.spark.live.spool import Spool, read_documents
from freshet.spark.live.spooled import status
from freshet.spark.live.sse import Event, EventParser, SseReceiver
from waiting import wait_until

STREAM = b"\xef\xbb\xbf: a comment\nid: 1\ndata: one\n\nevent: other\ndata:two\ndata:  lines\r\n\rid\ndata\n\nid: 9\n\n"
EVENTS = [Event("message", b"one", "1"), Event("other", b"two\n lines", "1"), Event("message", b"", "")]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_however_they_are_cut(size: int) -> None:
    parser = EventParser()
    pieces = [STREAM[first : first + size] for first in range(0, len(STREAM), size)]
    assert [event for piece in pieces for event in parser.parse(piece)] == EVENTS
    assert parser.last_id == "9"


@pytest.mark.parametrize("piece", [b"data: 12345678\n", b"data: 1\r\n", b"data:\n", b"12345678"], ids=repr)
def test_an_event_without_an_end(piece: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("freshet.spark.live.sse._LONGEST_BYTES", 100)
    parser = EventParser()
    for _ in range(20):  # each of them is small
        parser.parse(b"data: 12345678\ndata: 1\n\n")
    with pytest.raises(OSError, match="an event has more than"):
        [parser.parse(piece) for _ in range(101)]


@pytest.fixture
def server():
    made = EventServer()
    yield made
    made.stop()


@pytest.fixture
def start(server, tmp_path):
    made = []

    def start(event: str | None = None) -> SseReceiver:
        headers = {"Authorization": "Bearer x"}
        made.append(SseReceiver(Spool(tmp_path), tmp_path, url=server.url, event=event, headers=headers))
        made[-1].start()
        return made[-1]

    yield start
    for receiver in made:
        receiver.stop()
        receiver.spool.close()


def documents(receiver: SseReceiver) -> list[tuple[str, str]]:
    spool = receiver.spool
    batches = read_documents(spool.between(0, spool.end), 0, spool.end)
    return [(row["line"], row["file"]) for batch in batches for row in batch.to_pylist()]


def test_a_server_that_closes_and_comes_again(server, start, tmp_path: Path) -> None:
    server.events += [("message", "one"), ("message", "zwei \u00e4")]
    receiver = start()
    wait_until(lambda: len(documents(receiver)) == 2)
    server.cut.set()
    wait_until(lambda: "trying again" in status(tmp_path))
    server.events.append(("message", "three"))
    server.cut.clear()
    wait_until(lambda: len(documents(receiver)) == 3)
    texts = ["one", "zwei \u00e4", "three"]
    assert documents(receiver) == [(text, f"sse:{server.url}/{at}") for at, text in enumerate(texts, 1)]
    assert server.asked[0] is None
    assert server.asked[-1] == "2"
    assert server.requests[0] == ("/events?a=1", "text/event-stream", "Bearer x")


def test_a_restart_goes_on_after_the_last_event(server, start, tmp_path: Path) -> None:
    server.events += [("message", "one")]
    first = start()
    wait_until(lambda: len(documents(first)) == 1)
    first.stop()
    server.events += [("message", "two")]
    second = SseReceiver(first.spool, tmp_path, url=server.url)
    second.start()
    wait_until(lambda: len(documents(second)) == 2)
    assert [text for text, _ in documents(second)] == ["one", "two"]
    assert server.asked[-1] == "1"
    wait_until(second.at_end)
    second.stop()


def test_events_of_one_kind(server, start) -> None:
    server.events += [("a", "one"), ("b", "two"), ("a", "three")]
    receiver = start("a")
    wait_until(lambda: len(documents(receiver)) == 2)
    assert [text for text, _ in documents(receiver)] == ["one", "three"]


@pytest.mark.parametrize(
    ("answer", "media_type", "says"),
    [(404, "text/event-stream", "the server answers 404 Not Found"), (200, "text/html", "the server sends text/html")],
)
def test_what_is_no_event_stream(server, start, tmp_path: Path, answer: int, media_type: str, says: str) -> None:
    server.status, server.media_type = answer, media_type
    start()
    wait_until(lambda: says in status(tmp_path))
    assert server.url in status(tmp_path)
