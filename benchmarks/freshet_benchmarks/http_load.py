"""A client that costs little: raw sockets, so that what is measured is the server."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterable, Sequence
from itertools import cycle


class Connection:
    """One connection that is kept, and requests one after another."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._rest = b""

    def request(self, request: bytes) -> tuple[int, bytes]:
        """The status and the body of the answer."""
        self.socket.sendall(request)
        return self.answer()

    def answer(self) -> tuple[int, bytes]:
        """The next answer, with a length or in chunks; only the status where it is a stream of events."""
        data, self._rest = self._rest, b""
        while (end := data.find(b"\r\n\r\n")) < 0:
            data += self.more()
        head, data = data[:end].lower(), data[end + 4 :]
        status = int(head.split(b" ", 2)[1])
        at = head.find(b"content-length:")
        if at >= 0:
            size = int(head[at + 15 :].split(b"\r\n", 1)[0])
            while len(data) < size:
                data += self.more()
            self._rest = data[size:]
            return status, data[:size]
        if b"text/event-stream" in head or b"transfer-encoding: chunked" not in head:  # the first has no end
            self._rest = data
            return status, b""
        while not data.endswith(b"0\r\n\r\n"):
            data += self.more()
        self._rest = b""
        return status, data

    def more(self) -> bytes:
        """What has come since, at least a byte."""
        if self._rest:
            piece, self._rest = self._rest, b""
            return piece
        piece = self.socket.recv(1 << 18)
        if not piece:
            raise ConnectionError("the server closed the connection")
        return piece

    def close(self) -> None:
        self.socket.close()


def message(method: str, path: str, body: bytes = b"", **headers: str) -> bytes:
    """A request as bytes; names of headers are written with `_`."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def latencies(port: int, request: bytes, times: int) -> list[float]:
    """Seconds of each of some requests, one after another on one connection."""
    connection = Connection(port)
    found = []
    for _ in range(times):
        began = time.perf_counter()
        status, _ = connection.request(request)
        found.append(time.perf_counter() - began)
        assert status == 200, status
    connection.close()
    return found


def rate(port: int, requests: Iterable[bytes], seconds: float, connections: int) -> float:
    """Requests a second over some connections, each with one request at a time; the requests come again and again."""
    waiting = cycle(requests)
    opened = {each.socket.fileno(): each for each in (Connection(port) for _ in range(connections))}
    poll = select.epoll()
    for number, each in opened.items():
        poll.register(number, select.EPOLLIN)
        each.socket.sendall(next(waiting))
    count, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        for number, _ in poll.poll(1):
            status, _ = opened[number].answer()
            assert status == 200, status
            opened[number].socket.sendall(next(waiting))
            count += 1
    elapsed = time.perf_counter() - began
    for each in opened.values():
        each.close()
    return count / elapsed


class Listeners:
    """Many subscribers in one thread: when each got the next event."""

    def __init__(self, port: int, path: str, count: int) -> None:
        self._poll = select.epoll()
        self._connections = {}
        request = message("GET", path, Accept="text/event-stream")
        for _ in range(count):
            each = Connection(port)
            each.socket.sendall(request)
            status, _ = each.answer()
            assert status == 200, status
            each.socket.setblocking(False)
            self._poll.register(each.socket.fileno(), select.EPOLLIN)
            self._connections[each.socket.fileno()] = each.socket

    def next_event(self, began: float) -> Sequence[float]:
        """Seconds from a time until each subscriber has got something."""
        waiting, found = set(self._connections), []
        while waiting:
            for number, _ in self._poll.poll(10, len(self._connections)):
                data = self._connections[number].recv(1 << 16)
                if b"data:" in data and number in waiting:
                    waiting.discard(number)
                    found.append(time.perf_counter() - began)
        return found

    def close(self) -> None:
        for each in self._connections.values():
            each.close()
        self._poll.close()


class EventReader:
    """One connection that takes events, one after another."""

    def __init__(self, port: int, path: str) -> None:
        self._connection = Connection(port)
        status, _ = self._connection.request(message("GET", path, Accept="text/event-stream"))
        assert status == 200, status
        self._data = b""

    def next_event(self, kind: bytes) -> None:
        """Wait for the whole of an event of a kind."""
        start = b"event: %b\n" % kind
        while (at := self._data.find(start)) < 0 or (end := self._data.find(b"\n\n", at)) < 0:
            self._data += self._connection.more()
        self._data = self._data[end:]

    def close(self) -> None:
        self._connection.close()
