"""Documents from a TCP server that Freshet connects to.

TCP has no offsets: the server cannot be asked for what it has sent before, and does not learn what was taken. So what
has been read is kept in a spool, and neither lost nor repeated from there on; what is under way when the process is
killed (in the buffers of the two systems) is lost, and what a server sends again to a new connection is read again.
"""

from __future__ import annotations

import socket
import time
from pathlib import Path

from freshet.spark.live.documents import text_of
from freshet.spark.live.spool import Document, Spool
from freshet.spark.live.spooled import Receiver, SpooledSource

_CHUNK_BYTES = 1 << 20
_LONGEST_BYTES = 256 << 20  # without a delimiter: the peer speaks something else
_CONNECT_SECONDS, _LOOK_SECONDS = 10.0, 0.2


class TcpReceiver(Receiver):
    """Cuts what comes at a delimiter. A peer that closes the connection in order ends a document too.

    What has come of a document when the connection breaks or the run stops is half a document, and is not kept.
    Lines may end with CR and LF, in the delimiter too.
    """

    def __init__(self, spool: Spool, folder: Path, *, host: str, port: int, delimiter: bytes) -> None:
        super().__init__(spool, folder)
        self._host, self._port, self._delimiter = host, port, delimiter.replace(b"\r\n", b"\n")
        self._ended = False

    def receive(self) -> None:
        try:
            peer = socket.create_connection((self._host, self._port), _CONNECT_SECONDS)
        except OSError as error:
            raise OSError(f"cannot connect to {self._host}:{self._port}: {error.strerror or error}") from error
        with peer:
            peer.settimeout(_LOOK_SECONDS)
            self.note_connected()
            rest = b""
            while not self.stopped.is_set():
                try:
                    chunk = peer.recv(_CHUNK_BYTES)
                except TimeoutError:
                    continue
                if not chunk:
                    self._keep([rest])
                    self._ended = True
                    raise ConnectionError(f"{self._host}:{self._port} has closed the connection")
                *whole, rest = self._cut(rest, chunk)
                self._keep(whole)

    def at_end(self) -> bool:
        return self._ended

    def _cut(self, rest: bytes, chunk: bytes) -> list[bytes]:
        whole = (rest + chunk).replace(b"\r\n", b"\n").split(self._delimiter)
        if len(whole[-1]) > _LONGEST_BYTES:
            whole.append(b"")
        return whole

    def _keep(self, documents: list[bytes]) -> None:
        now = int(time.time() * 1000)
        first, place = self.spool.end, f"tcp:{self._host}:{self._port}"
        kept = [
            Document(text_of(text), f"{place}/{first + at}", now)
            for at, text in enumerate(filter(bytes.strip, documents))
        ]
        if kept:
            self.keep(kept)


class TcpSource(SpooledSource):
    """Options: host, port, delimiter, spool."""

    @classmethod
    def name(cls) -> str:
        return "freshet-tcp"

    def receiver(self, spool: Spool, folder: Path) -> Receiver:
        delimiter = self.options.get("delimiter", "\n").encode()
        return TcpReceiver(
            spool, folder, host=self.options["host"], port=int(self.options["port"]), delimiter=delimiter
        )
