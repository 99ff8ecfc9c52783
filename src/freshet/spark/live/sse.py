"""Server-sent events over HTTP (https://html.spec.whatwg.org/multipage/server-sent-events.html).

The data of an event is a document. The id of the last event that is in the spool is sent with each new connection
(`Last-Event-ID`), also after a restart, so a server that keeps its events goes on there.
"""

from __future__ import annotations

import socket
import ssl
import time
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import orjson

from freshet.spark.live.documents import text_of
from freshet.spark.live.spool import Document, Spool
from freshet.spark.live.spooled import Receiver, SpooledSource

_CHUNK_BYTES = 1 << 20
_LONGEST_BYTES = 256 << 20  # of an event that has no end
_CONNECT_SECONDS = 10.0
_QUIET_SECONDS = 1.0  # where a run ends with the input that is there
_LAST_ID = "last-event-id"
_MEDIA_TYPE = "text/event-stream"


class Event(NamedTuple):
    """What an event has, and the last id that the stream had by then."""

    kind: str
    data: bytes
    last_id: str


class EventParser:
    """Cuts bytes into events."""

    def __init__(self, last_id: str = "") -> None:
        self.last_id = last_id
        self._rest = b""
        self._is_first = True
        self._kind, self._data, self._size = "", list[bytes](), 0

    def parse(self, chunk: bytes) -> list[Event]:
        """The events that end in a piece of the stream. Lines end with CR LF, LF or CR."""
        text = self._rest + chunk
        if self._is_first and len(text) >= 3:
            text, self._is_first = text.removeprefix(b"\xef\xbb\xbf"), False
        held = text.endswith(b"\r")  # which may be half of a line's end
        *lines, rest = (text[:-1] if held else text).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest = rest + b"\r" if held else rest
        events = [event for line in lines for event in self._line(line)]
        if self._size + len(self._rest) > _LONGEST_BYTES:
            raise OSError(f"an event has more than {_LONGEST_BYTES >> 20} MB")
        return events

    def _line(self, line: bytes) -> list[Event]:
        if not line:
            data, kind = b"\n".join(self._data), self._kind or "message"
            is_event = bool(self._data)
            self._kind, self._data, self._size = "", [], 0
            return [Event(kind, data, self.last_id)] if is_event else []
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                self._data.append(value)
                self._size += len(value) + 1
            case b"event":
                self._kind = value.decode(errors="replace")
            case b"id" if b"\0" not in value:
                self.last_id = value.decode(errors="replace")
        return []


class SseReceiver(Receiver):
    """Keeps the events of one kind, or of all kinds."""

    def __init__(
        self, spool: Spool, folder: Path, *, url: str, event: str | None = None, headers: dict[str, str] | None = None
    ) -> None:
        super().__init__(spool, folder)
        self._url, self._event, self._headers = url, event, headers or {}
        self._socket: socket.socket | None = None
        self._ended = False
        self._heard_at: float | None = None

    def stop(self) -> None:
        self.stopped.set()
        self._hang_up()
        super().stop()

    def receive(self) -> None:
        parts = urlsplit(self._url)
        connection = _connection(parts.scheme, parts.hostname or "", parts.port)
        last_id = self.read_note(_LAST_ID)
        try:
            connection.connect()
            self._socket = connection.sock
            if self.stopped.is_set():
                return
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            connection.request("GET", target, headers=self._request_headers(last_id))
            response = connection.getresponse()
            self._check(response)
            self._socket.settimeout(None)
            self.note_connected()
            self._heard_at = time.monotonic()
            self._read(response, EventParser(last_id))
        except (HTTPException, OSError) as error:
            if self.stopped.is_set():
                return
            raise OSError(
                f"{self._url}: {getattr(error, 'strerror', None) or error or type(error).__name__}"
            ) from error
        finally:
            self._hang_up()
            connection.close()

    def at_end(self) -> bool:
        """Whether the server has ended the stream, or nothing has come for a second."""
        return self._ended or (self._heard_at is not None and time.monotonic() - self._heard_at > _QUIET_SECONDS)

    def _request_headers(self, last_id: str) -> dict[str, str]:
        found = {"Accept": _MEDIA_TYPE, "Cache-Control": "no-store", **self._headers}
        if last_id:
            found["Last-Event-ID"] = last_id.encode().decode("latin-1")
        return found

    def _check(self, response: HTTPResponse) -> None:
        if response.status == 204:  # there is nothing more, and never will be
            self._ended = True
            self.stopped.wait()
        if response.status != 200:
            raise OSError(f"the server answers {response.status} {response.reason}")
        found = response.headers.get_content_type()
        if found != _MEDIA_TYPE:
            raise OSError(f"the server sends {found}, not {_MEDIA_TYPE}")

    def _read(self, response: HTTPResponse, parser: EventParser) -> None:
        while not self.stopped.is_set():
            chunk = response.read1(_CHUNK_BYTES)
            if not chunk:
                self._ended = True
                raise ConnectionError("the server has closed the connection")
            events = [each for each in parser.parse(chunk) if self._event in (None, each.kind)]
            if events:
                self._keep(events)
            self._heard_at = time.monotonic()

    def _keep(self, events: list[Event]) -> None:
        now, first = int(time.time() * 1000), self.spool.end
        self.keep(
            [
                Document(text_of(event.data), f"sse:{self._url}/{event.last_id or first + at}", now)
                for at, event in enumerate(events)
            ]
        )
        self.note(_LAST_ID, events[-1].last_id)

    def _hang_up(self) -> None:
        peer, self._socket = self._socket, None
        if peer is not None:
            with suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)


def _connection(scheme: str, host: str, port: int | None) -> HTTPConnection:
    if scheme == "https":
        return HTTPSConnection(host, port, timeout=_CONNECT_SECONDS, context=ssl.create_default_context())
    return HTTPConnection(host, port, timeout=_CONNECT_SECONDS)


class SseSource(SpooledSource):
    """Options: url, event, headers (JSON), spool."""

    @classmethod
    def name(cls) -> str:
        return "freshet-sse"

    def receiver(self, spool: Spool, folder: Path) -> Receiver:
        headers = orjson.loads(self.options.get("headers", "{}"))
        return SseReceiver(spool, folder, url=self.options["url"], event=self.options.get("event"), headers=headers)
