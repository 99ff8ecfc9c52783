"""Messages of a WebSocket server: kept once, also where it goes away and comes again."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from freshet.spark.live.documents import NOT_TEXT
from freshet.spark.live.spool import Spool, read_documents
from freshet.spark.live.spooled import status
from freshet.spark.live.ws import WsReceiver
from waiting import wait_until
from web_socket_server import WebSocketServer

Start = Callable[..., WsReceiver]


@pytest.fixture
def server() -> Iterator[WebSocketServer]:
    made = WebSocketServer(subscribe=True)
    yield made
    made.stop()


@pytest.fixture
def start(server: WebSocketServer, tmp_path: Path) -> Iterator[Start]:
    made: list[WsReceiver] = []

    def begin(**options: object) -> WsReceiver:
        given = {"url": server.url, "send": ['{"topic":"rooms"}'], "headers": {"Authorization": "Bearer x"}, **options}
        spool = made[0].spool if made else Spool(tmp_path)
        made.append(WsReceiver(spool, tmp_path, **given))
        made[-1].start()
        return made[-1]

    yield begin
    for receiver in made:
        receiver.stop()
    made[0].spool.close()


def documents(receiver: WsReceiver) -> list[tuple[str, str]]:
    spool = receiver.spool
    batches = read_documents(spool.between(0, spool.end), 0, spool.end)
    return [(row["line"], row["file"]) for batch in batches for row in batch.to_pylist()]


def test_messages_are_kept_in_order(server: WebSocketServer, start: Start) -> None:
    server.messages += [f"text {at}" for at in range(50)] + ["zwei \u00e4".encode(), " ", b"\xff", "last"]
    receiver = start()
    wait_until(lambda: len(documents(receiver)) == 53)
    texts = [text for text, _ in documents(receiver)]
    assert texts[:51] == [*(f"text {at}" for at in range(50)), "zwei \u00e4"]
    assert texts[51].startswith(NOT_TEXT)
    assert texts[52] == "last"
    assert documents(receiver)[7][1] == f"ws:{server.url}/7"
    assert server.received == ['{"topic":"rooms"}']
    assert server.headers == ["Bearer x"]


@pytest.mark.parametrize("code", [1000, 1011])
def test_a_server_that_closes_is_asked_again(server: WebSocketServer, start: Start, tmp_path: Path, code: int) -> None:
    server.messages += ["one"]
    server.close_code = code
    receiver = start()
    wait_until(lambda: len(documents(receiver)) == 1)
    server.cut.set()
    wait_until(lambda: "; trying again" in status(tmp_path))
    assert re.search(rf"{code}.* \(connection [0-9]+\); trying again$", status(tmp_path))
    assert receiver._ended == (code == 1000)
    server.cut.clear()
    server.messages += ["two"]
    wait_until(lambda: len(documents(receiver)) == 2)
    wait_until(lambda: not status(tmp_path))
    assert [text for text, _ in documents(receiver)] == ["one", "two"]
    wait_until(lambda: receiver.connections == len(server.headers) == len(server.received))  # each subscribes
    assert receiver.connections >= 2


def test_a_restart_goes_on_numbering(server: WebSocketServer, start: Start) -> None:
    server.messages += ["one"]
    first = start()
    wait_until(lambda: len(documents(first)) == 1)
    first.stop()
    second = start()
    wait_until(lambda: len(server.received) == 2)
    server.messages += ["two"]
    wait_until(lambda: len(documents(second)) == 2)
    assert documents(second) == [("one", f"ws:{server.url}/0"), ("two", f"ws:{server.url}/1")]
    assert second.connections == 2
    wait_until(second.at_end)


def test_a_long_message_and_many(server: WebSocketServer, start: Start) -> None:
    server.messages += ["x" * 3_000_000, *(str(at) for at in range(2_000))]
    receiver = start()
    wait_until(lambda: len(documents(receiver)) == 2_001)
    assert len(documents(receiver)[0][0]) == 3_000_000
    assert documents(receiver)[-1][0] == "1999"


def test_nothing_answers(start: Start, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    start(url=f"ws://127.0.0.1:{port}/")
    wait_until(lambda: f"cannot connect to ws://127.0.0.1:{port}/" in status(tmp_path))


def test_a_server_of_something_else(start: Start, tmp_path: Path) -> None:
    other = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    threading.Thread(target=other.serve_forever, args=(0.01,), daemon=True).start()
    start(url=f"ws://127.0.0.1:{other.server_port}/")
    wait_until(lambda: "cannot connect" in status(tmp_path))
    other.shutdown()
    other.server_close()
