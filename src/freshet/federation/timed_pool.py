"""Connections whose read timeout is for an answer as a whole: status, headers, body and trailers together.

A socket's timeout is for each read. An endpoint that sends a byte now and then, or one 100 Continue after another,
would never run into it; so what is left of the time is the timeout of the next read.
"""

from __future__ import annotations

import io
import socket
from http.client import HTTPResponse
from time import monotonic
from typing import Any

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection


class TimedPool(urllib3.PoolManager):
    """A pool of such connections."""

    def __init__(self, connections: int) -> None:
        super().__init__(maxsize=connections, block=False)
        self.pool_classes_by_scheme = {"http": _HttpPool, "https": _HttpsPool}


class _TimedReads(io.RawIOBase):
    """Reads from a socket until the time is over that it has as its timeout now."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._reads = sock.makefile("rb", buffering=0)
        self._end = monotonic() + (sock.gettimeout() or 0.0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._end - monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._sock.settimeout(left)
        return self._reads.readinto(buffer)

    def close(self) -> None:
        self._reads.close()
        super().close()


class _TimedResponse(HTTPResponse):
    def __init__(self, sock: socket.socket, *given: Any, **named: Any) -> None:
        super().__init__(sock, *given, **named)
        timed: io.BufferedReader = io.BufferedReader(_TimedReads(sock))
        self.fp.close()
        self.fp = timed


class _HttpConnection(HTTPConnection):
    response_class = _TimedResponse


class _HttpsConnection(HTTPSConnection):
    response_class = _TimedResponse


class _HttpPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _HttpConnection


class _HttpsPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _HttpsConnection
