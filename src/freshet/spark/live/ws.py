"""Documents from a WebSocket server (RFC 6455).

The protocol has no offsets and no acknowledgements: a server cannot be asked for what it has sent before. So messages
are kept in a spool, and neither lost nor repeated from there on; no more is read than the spool has taken, so a server
is slowed down by TCP. What is sent while no connection is open is lost, unless the first messages that Freshet sends
(`send`) make the server repeat it.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from freshet.spark.live.documents import text_of
from freshet.spark.live.spool import Document, Spool
from freshet.spark.live.spooled import Receiver, SpooledSource

if TYPE_CHECKING:
    from collections.abc import Sequence

    from websockets.sync.client import ClientConnection

_LONGEST_BYTES = 256 << 20
_CONNECT_SECONDS, _LOOK_SECONDS = 10.0, 0.2
_PING_SECONDS = 20.0
_QUIET_SECONDS = 1.0  # where a run ends with the input that is there
_MOST_AT_ONCE = 10_000
_MOST_WAITING = 64  # messages that wait for the spool before TCP slows the server down
_CONNECTIONS = "connections"


class WsReceiver(Receiver):
    """Keeps the messages that a server sends, after it was sent the messages of `send`.

    Pings find a connection that is dead. Connections are counted, also those of earlier runs, for status and notes.
    """

    def __init__(
        self,
        spool: Spool,
        folder: Path,
        *,
        url: str,
        send: Sequence[str] = (),
        headers: dict[str, str] | None = None,
        protocols: Sequence[str] = (),
    ) -> None:
        super().__init__(spool, folder)
        self._url, self._send, self._headers, self._protocols = url, send, headers or {}, protocols
        self._ended = False
        self._heard_at: float | None = None

    @property
    def connections(self) -> int:
        """How many connections there have been."""
        return int(self.read_note(_CONNECTIONS) or 0)

    def receive(self) -> None:
        from websockets.exceptions import ConnectionClosed, ConnectionClosedOK, WebSocketException
        from websockets.sync.client import connect
        from websockets.typing import Subprotocol

        try:
            connection = connect(
                self._url,
                additional_headers=self._headers,
                subprotocols=[Subprotocol(each) for each in self._protocols] or None,
                open_timeout=_CONNECT_SECONDS,
                ping_interval=_PING_SECONDS,
                max_size=_LONGEST_BYTES,
                max_queue=_MOST_WAITING,
            )
        except (WebSocketException, OSError) as error:
            raise OSError(f"cannot connect to {self._url}: {getattr(error, 'strerror', None) or error}") from error
        number = self.connections + 1
        self.note(_CONNECTIONS, str(number))
        with connection:
            try:
                for message in self._send:
                    connection.send(message)
                self.note_connected()
                self._heard_at = time.monotonic()
                while not self.stopped.is_set():
                    self._take(connection)
            except ConnectionClosed as error:
                self._ended = isinstance(error, ConnectionClosedOK)
                raise ConnectionError(f"{self._url}: {error} (connection {number})") from error

    def at_end(self) -> bool:
        """Whether the server has closed the connection in order, or nothing has come for a second."""
        return self._ended or (self._heard_at is not None and time.monotonic() - self._heard_at > _QUIET_SECONDS)

    def _take(self, connection: ClientConnection) -> None:
        """Keep what is there, at least one message; what came before the end of a connection is kept, too."""
        from websockets.exceptions import ConnectionClosed

        found: list[str] = []
        try:
            while len(found) < _MOST_AT_ONCE:
                message = connection.recv(timeout=0 if found else _LOOK_SECONDS)
                found.append(message if isinstance(message, str) else text_of(message))
        except TimeoutError:
            pass
        except ConnectionClosed:
            self._keep(found)
            raise
        self._keep(found)

    def _keep(self, texts: list[str]) -> None:
        found = [text for text in texts if text.strip()]
        if found:
            now, first = int(time.time() * 1000), self.spool.end
            self.keep([Document(text, f"ws:{self._url}/{first + at}", now) for at, text in enumerate(found)])
            self._heard_at = time.monotonic()


class WsSource(SpooledSource):
    """Options: url, send, headers and protocols (each JSON), spool."""

    @classmethod
    def name(cls) -> str:
        return "freshet-websocket"

    def receiver(self, spool: Spool, folder: Path) -> Receiver:
        send, headers, protocols = (
            orjson.loads(self.options.get(key, empty))
            for key, empty in (("send", "[]"), ("headers", "{}"), ("protocols", "[]"))
        )
        return WsReceiver(spool, folder, url=self.options["url"], send=send, headers=headers, protocols=protocols)
