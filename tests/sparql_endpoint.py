"""A real SPARQL endpoint on this machine: pyoxigraph behind HTTP, in a process of its own, that misbehaves on command.

`python tests/sparql_endpoint.py [DATA.ttl]` prints its port. POST /sparql answers queries; POST /control takes a JSON
object with what it should do from then on; POST /update takes SPARQL Update; GET /seen lists the queries that came.
What it does `held` waits, however long, until it gets another mode.
"""

from __future__ import annotations

import json
import os
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pyoxigraph as ox
import urllib3

JSON = "application/sparql-results+json"
Answer = Callable[[str, str], tuple[bytes, str]]


class RefusedQueryError(Exception):
    """A query that the endpoint answers with status 400."""


class Endpoint(ThreadingHTTPServer):
    """Answers queries by calling `answer` with the path that was asked and the query."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, answer: Answer, update: Callable[[str], None] | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.update = update
        self.behaviour: dict[str, Any] = {}
        self.seen: list[dict[str, str]] = []

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # the other side hung up, as it should


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if parts.path == "/seen":
            self.reply(200, json.dumps(self.server.seen).encode(), "application/json")
        else:
            self.query(parts.path, parse_qs(parts.query).get("query", [""])[0])

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        parts = urlsplit(self.path)
        if parts.path == "/control":
            self.server.seen.clear()  # before those who are held go on
            self.server.behaviour = json.loads(body)
            self.reply(200, b"{}", "application/json")
        elif parts.path == "/update" and self.server.update is not None:
            self.server.update(body)
            self.reply(200, b"{}", "application/json")
        else:
            self.query(parts.path, parse_qs(body).get("query", [""])[0])

    def query(self, path: str, query: str) -> None:
        behaviour = self.server.behaviour
        self.server.seen.append({"query": query, "authorization": self.headers.get("Authorization", "")})
        time.sleep(behaviour.get("delay_seconds", 0))
        while self.server.behaviour.get("mode") == "held":
            time.sleep(0.01)
            behaviour = self.server.behaviour
        if behaviour.get("only_first") is not None and len(self.server.seen) > behaviour["only_first"]:
            behaviour = {}
        mode = behaviour.get("mode", "well")
        if handle := getattr(self, f"do_{mode}", None):
            handle(query)
            return
        if mode == "no_values" and "VALUES" in query:
            self.reply(400, b"Lexical error: VALUES", "text/plain")
            return
        try:
            data, kind = self.server.answer(path, query)
        except RefusedQueryError as error:
            self.reply(400, str(error).encode(), "text/plain")
            return
        self.reply(200, data, behaviour.get("content_type", kind))

    def do_status(self, query: str) -> None:
        self.reply(self.server.behaviour["status"], b"out of order", "text/plain")

    def do_gone(self, query: str) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def do_wrong_type(self, query: str) -> None:
        self.reply(200, b"<html>welcome</html>", "text/html; charset=utf-8")

    def do_broken_json(self, query: str) -> None:
        self.reply(200, b'{"head":{"vars":["a"]},"results":{"bindings":[{', JSON)

    def do_endless(self, query: str) -> None:
        self._start_endless()
        self.wfile.write(b'{"head":{"vars":["a"]},"results":{"bindings":[')
        while True:
            self.wfile.write(b'{"a":{"type":"literal","value":"x"}},' * 1000)

    def do_drip(self, query: str) -> None:
        self._start_endless()
        while True:
            self.wfile.write(b" ")
            self.wfile.flush()
            time.sleep(0.02)

    def do_drip_headers(self, query: str) -> None:
        self.close_connection = True
        self._send_slowly(b"HTTP/1.1 200 OK\r\n", b"X")

    def do_continue(self, query: str) -> None:
        self.close_connection = True
        self._send_slowly(b"", b"HTTP/1.1 100 Continue\r\n\r\n")

    def do_drip_trailers(self, query: str) -> None:
        self.close_connection = True
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {JSON}\r\nTransfer-Encoding: chunked\r\n\r\n"
        self._send_slowly(head.encode() + b"2\r\n{}\r\n0\r\n", b"X: 1\r\n")

    def _send_slowly(self, first: bytes, again: bytes) -> None:
        self.wfile.write(first)
        while True:
            self.wfile.write(again)
            self.wfile.flush()
            time.sleep(self.server.behaviour.get("pause_seconds", 0.1))

    def _start_endless(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", JSON)
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def do_redirect(self, query: str) -> None:
        self.send_response(self.server.behaviour.get("status", 307))
        self.send_header("Location", self.server.behaviour["location"])
        self.send_header("Content-Length", "0")
        self.end_headers()

    def reply(self, status: int, data: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def served(answer: Answer, tls: ssl.SSLContext | None = None) -> Iterator[Endpoint]:
    """An endpoint in this process."""
    server = Endpoint(answer)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def port_of(server: Endpoint) -> int:
    return int(server.server_address[1])


class EndpointProcess:
    """An endpoint in a process of its own, and its controls."""

    def __init__(self, data: str = "") -> None:
        command = [sys.executable, __file__]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(data)
        self.process.stdin.close()
        self.port = int(self.process.stdout.readline())
        self.host = f"127.0.0.1:{self.port}"
        self.url = f"http://{self.host}/sparql"
        self._pool = urllib3.PoolManager()

    def does(self, mode: str = "well", **behaviour: Any) -> None:
        """Say what it does from now on; what it has seen is forgotten."""
        self._post("control", json.dumps({"mode": mode, **behaviour}))

    def update(self, text: str) -> None:
        self._post("update", text)

    @property
    def seen(self) -> list[dict[str, str]]:
        found: list[dict[str, str]] = self._pool.request("GET", f"http://{self.host}/seen", timeout=300.0).json()
        return found

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()

    def _post(self, path: str, body: str) -> None:
        assert self._pool.request("POST", f"http://{self.host}/{path}", body=body, timeout=300.0).status == 200


def _oxigraph(store: ox.Store) -> Answer:
    def answer(path: str, query: str) -> tuple[bytes, str]:
        xml = path.endswith("/xml")
        try:
            found = store.query(query)
        except (SyntaxError, OSError, ValueError) as error:
            raise RefusedQueryError(str(error)) from None
        form = ox.QueryResultsFormat.XML if xml else ox.QueryResultsFormat.JSON
        return found.serialize(format=form), "application/sparql-results+xml" if xml else JSON  # type: ignore[union-attr]

    return answer


def _end_with(parent: int) -> None:
    """End this process when the one that started it is gone."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(0)


def main() -> None:
    store = ox.Store()
    store.load(sys.stdin.buffer.read(), ox.RdfFormat.TURTLE, base_iri="http://example.org/")
    server = Endpoint(_oxigraph(store), store.update)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
