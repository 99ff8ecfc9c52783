"""A connection as uvicorn has it, with a limit on the size of its headers and on the time they take.

A client that sends a byte a minute, or headers without an end, is cut off; it costs a timer until then.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from freshet.server.settings import Limits


def connection_class(limits: Limits) -> type[HttpToolsProtocol]:
    """The class of connections under these limits."""

    class Connection(HttpToolsProtocol):
        _header_bytes = 0
        _header_timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._expect_headers()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_timer()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            self._header_bytes += len(data)
            super().data_received(data)
            if self._header_timer is not None and self._header_bytes > limits.header_bytes:
                self._refuse(b"431 Request Header Fields Too Large")

        def on_message_begin(self) -> None:
            super().on_message_begin()
            if self._header_timer is None:
                self._expect_headers()

        def on_headers_complete(self) -> None:
            self._stop_timer()
            super().on_headers_complete()

        def _expect_headers(self) -> None:
            self._header_bytes = 0
            self._header_timer = self.loop.call_later(limits.header_seconds, self._refuse, b"408 Request Timeout")

        def _stop_timer(self) -> None:
            if self._header_timer is not None:
                self._header_timer.cancel()
                self._header_timer = None

        def _refuse(self, status: bytes) -> None:
            self._stop_timer()
            if not self.transport.is_closing():
                self.transport.write(b"HTTP/1.1 %b\r\nconnection: close\r\ncontent-length: 0\r\n\r\n" % status)
                self.transport.close()

    return Connection
